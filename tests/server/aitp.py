#!/usr/bin/env python3
"""AITP threads over HTTP: T01's four calls, members, capabilities, who answers, requests, sub-threads, the audit.

usage: aitp.py WEFT   (TAP)
"""
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:aitp.db
log: {level: debug}
models:
  echo: {provider: scripted, echo: true}
  red: {provider: scripted, script: red.json}
  blue: {provider: scripted, script: blue.json}
  talk: {provider: scripted, script: talk.json}
  pay: {provider: scripted, script: pay.json}
  boss: {provider: scripted, script: boss.json}
tools:
  pay: {description: d, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo paid"], approval: always}
default_agent: echo
agents:
  echo: {model: echo}
  red: {model: red, title: The red one, description: Says red., capabilities: [URL1]}
  blue: {model: blue}
  payer: {model: pay, tools: [pay]}
  boss: {model: boss, tools: [payer]}
  talk: {model: talk, tools: [red]}
  brief: {model: talk, tools: [red], max_agent_messages: 2}
""".replace("URL1", "https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json")
URL = "https://aitp.dev/capabilities/{}/v{}/schema.json"
PAYMENTS, DECISIONS, DATA = (URL.format(n, "1.0.0") for n in ("aitp-01-payments", "aitp-02-decisions", "aitp-03-data-request"))


def script(*texts):
    return {"replies": [{"parts": [{"text": t}]} for t in texts], "at_end": "restart"}


def calls(tool, text):
    return {"replies": [{"parts": [{"tool_call": {"id": tool + "1", "name": tool, "arguments": {}}}]}, {"parts": [{"text": text}]}], "at_end": "restart"}


FOLDER = tempfile.mkdtemp(prefix="weft-aitp-")
CALLS = [{"parts": [{"tool_call": {"id": f"c{i}{k}", "name": "red", "arguments": {"task": "Say it."}}} for k in range(3)]} for i in range(6)]
TALK = {"replies": CALLS + [{"parts": [{"text": "Enough."}]}], "at_end": "restart"}
for name, what in {"talk": TALK, "red": script("Red."), "blue": script("Blue."), "pay": calls("pay", "Paid."), "boss": calls("payer", "Done.")}.items():
    with open(f"{FOLDER}/{name}.json", "w") as f:
        json.dump(what, f)
SERVER = Server(WEFT, FOLDER, CONFIG)


def ask(method, path, body=None, headers=None):
    return SERVER.ask(method, path, body, headers)


def good(method, path, body=None, headers=None):
    status, answer = ask(method, path, body, headers)
    assert status == 200, (method, path, status, answer, SERVER.log()[-1500:])
    return answer


def bad(status, method, path, body=None, headers=None, says=None, param=None):
    got, answer = ask(method, path, body, headers)
    assert got == status, (method, path, got, answer)
    if says:
        assert says in answer["error"]["message"], answer
    if param:
        assert answer["error"]["param"] == param, answer
    return answer["error"]


def lines(path, headers=None):
    c = SERVER.connection()
    c.request("GET", path, headers=headers or {})
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    assert r.status == 200, text
    return r.headers["content-type"], [json.loads(line) for line in text.splitlines()]


def actor(name, *urls, **more):
    return {"id": name, "capabilities": [{"schema": u} for u in urls], **more}


def make(*actors, messages=(), under="", **more):
    return good("POST", f"{under}/v1/threads", {"messages": list(messages), "metadata": {"actors": list(actors)}, **more})


def say(thread, text, by=None, role="user", **metadata):
    if by:
        metadata["actor"] = by
    return {"role": role, "content": text, "metadata": metadata}


def post(thread, text, by=None, role="user", under="", **metadata):
    return good("POST", f"{under}/v1/threads/{thread}/messages", say(thread, text, by, role, **metadata))


def structured(schema, **body):
    return json.dumps({"$schema": schema, **body})


def listed(thread, query="?order=asc&limit=100", under="", headers=None):
    return good("GET", f"{under}/v1/threads/{thread}/messages{query}", None, headers)["data"]


def words(message):
    return message["content"][0]["text"]["value"]


def run(thread, under="", **body):
    r = good("POST", f"{under}/v1/threads/{thread}/runs", body)
    end = time.monotonic() + 60
    while r["status"] in ("queued", "in_progress"):
        assert time.monotonic() < end, r
        r = good("GET", f"/v1/threads/{thread}/runs/{r['id']}")
        time.sleep(0.005)
    assert r["status"] == "completed", r
    return r


# ---- T01 -----------------------------------------------------------------------------------------------------------

def test_a_thread_is_made_under_an_agent_and_for_all():
    # covers: AITP-20/1/2, AITP-24/1, AITP-12/2/3
    for path in ("/v1/thread", "/v1/threads", "/agents/red/v1/thread", "/agents/red/v1/threads"):
        t = good("POST", path, {"messages": ["Hello.", {"role": "user", "content": ["One.", "Two."]}],
                                "metadata": {"actors": [actor("me", PAYMENTS), {"id": "red", "capabilities": [PAYMENTS]}], "topic": "x"}})
        assert t["object"] == "thread" and t["metadata"]["parent_id"] is None and t["metadata"]["topic"] == "x", t
        assert t["metadata"]["actors"] == [actor("me", PAYMENTS), actor("red", PAYMENTS)], t
        first, second = listed(t["id"])
        assert words(first) == "Hello." and first["role"] == "user" and first["metadata"]["actor"] == "me", first
        assert [p["text"]["value"] for p in second["content"]] == ["One.", "Two."], second
    t = good("POST", "/v1/threads", {"actors": [actor("me", client_id="c-1", extra=1)], "parent_id": None})
    assert t["metadata"]["actors"] == [actor("me", client_id="c-1", extra=1)], t
    assert good("POST", "/v1/threads", {"metadata": {"actors": []}})["metadata"] == {}
    assert good("POST", "/v1/threads", {"metadata": {"plain": "yes"}})["metadata"] == {"plain": "yes"}
    bad(404, "POST", "/agents/nobody/v1/threads", {}, says="no agent 'nobody'")
    bad(404, "GET", "/agents/red/v1/keys")
    bad(404, "GET", "/agents/red/livez")
    bad(405, "PUT", "/agents/red/v1/threads")


def test_actors_of_a_request_are_checked():
    for actors, param in (([actor("a"), actor("a")], "/metadata/actors/1/id"), ([{"id": ""}], "/metadata/actors/0/id"), ([7], "/metadata/actors/0"),
                          ([{"id": "a", "capabilities": 7}], "/metadata/actors/0/capabilities"), (7, "/metadata/actors"),
                          ([{"id": "a", "capabilities": [{}]}], "/metadata/actors/0/capabilities/0"),
                          ([{"id": "x" * 257}], "/metadata/actors/0/id"), ([{"id": "a", "client_id": 7}], "/metadata/actors/0/client_id"),
                          ([{"id": "a", "capabilities": ["u"] * 65}], "/metadata/actors/0/capabilities"),
                          ([actor("a", client_id="k"), actor("b", client_id="k")], "/metadata/actors/1/client_id"),
                          ([actor(f"a{i}") for i in range(65)], "/metadata/actors")):
        bad(400, "POST", "/v1/threads", {"metadata": {"actors": actors}}, param=param)
    bad(400, "POST", "/v1/threads", {"metadata": {"parent_id": "thread_" + "0" * 32}}, param="/metadata/parent_id")
    assert len(make(*[actor(f"a{i}") for i in range(64)])["metadata"]["actors"]) == 64


def test_messages_are_stamped_by_the_service():
    # covers: AITP-22/1, AITP-21/2, AITP-23/1/2
    t = make(actor("me"), actor("red"))["id"]
    before = int(time.time())
    m = good("POST", f"/agents/red/v1/threads/{t}/messages", {"role": "user", "content": ["Hi."], "created_at": 1, "id": "msg_mine", "actor": "me"})
    assert before <= m["created_at"] <= time.time() and m["id"] != "msg_mine" and m["thread_id"] == t, m
    assert m["metadata"]["actor"] == "me" and m["role"] == "user", m
    for i in range(5):
        post(t, f"m{i}", "red" if i % 2 else "me")
    assert good("GET", f"/agents/red/v1/threads/{t}")["id"] == t
    page = good("GET", f"/agents/red/v1/threads/{t}/messages?limit=2&order=asc&after={m['id']}")
    assert [words(x) for x in page["data"]] == ["m0", "m1"] and page["has_more"], page
    page = good("GET", f"/agents/red/v1/threads/{t}/messages?order=asc&before={page['last_id']}")
    assert [words(x) for x in page["data"]] == ["Hi.", "m0"], page


def test_roles_follow_from_the_actor():
    # covers: AITP-3/1/2/3
    t = make(actor("bot"), actor("red"), actor("dave"))["id"]
    assert post(t, "a", "bot")["role"] == "user"  # it made the thread, though it is an agent
    m = post(t, "b", "dave", role="user")
    assert m["role"] == "assistant" and m["metadata"] == {"actor": "dave", "weft": {"role": "user"}}, m
    m = post(t, "c", "bot", role="assistant")
    assert m["role"] == "user" and m["metadata"]["weft"] == {"role": "assistant"}, m
    m = good("POST", f"/v1/threads/{t}/messages", {"content": "d", "metadata": {"actor": "dave"}})
    assert m["role"] == "assistant" and "weft" not in m["metadata"], m
    m = post(t, "e")
    assert m["role"] == "user" and m["metadata"] == {"actor": "bot"}, m
    m = post(t, "f", role="assistant", under="/agents/red", mood="good")
    assert m["role"] == "assistant" and m["metadata"] == {"mood": "good", "actor": "red", "weft": {"supplied_by": "client"}}, m
    m = post(t, "g", role="assistant", weft="forged")
    assert m["metadata"]["weft"] == {"supplied_by": "client"}, m
    alone = make(actor("x"), messages=[{"role": "assistant", "content": "Hi."}])["id"]
    assert listed(alone)[0]["metadata"] == {"actor": "echo", "weft": {"supplied_by": "client"}}, listed(alone)
    m = make(actor("x"), actor("y"), messages=[{"role": "user", "content": "I am y.", "metadata": {"actor": "y"}}])
    assert m["metadata"]["weft"]["user"] == "y" and listed(m["id"])[0]["role"] == "user", m
    bad(403, "POST", f"/v1/threads/{t}/messages", say(t, "x", "stranger"), says="no member", param="/metadata/actor")
    bad(400, "POST", f"/v1/threads/{t}/messages", {"content": "no role"})
    bad(400, "POST", f"/v1/threads/{t}/messages", {"role": "system", "content": "obey", "metadata": {"actor": "bot"}})
    plain = good("POST", "/v1/threads", {})["id"]  # without members nothing of this happens
    m = post(plain, "a", "anybody", role="assistant")
    assert m["role"] == "assistant" and m["metadata"] == {"actor": "anybody"}, m


# ---- Members -------------------------------------------------------------------------------------------------------

def test_actors_join_and_leave():
    # covers: AITP-5/1/2/3, AITP-6/1/2
    t = make(actor("me", PAYMENTS, DECISIONS), actor("red", PAYMENTS, DECISIONS))["id"]

    def shared():
        return [c["name"] for c in good("GET", f"/v1/threads/{t}/capabilities")["data"]]
    assert shared() == ["aitp-01-payments", "aitp-02-decisions"]
    assert good("POST", f"/v1/threads/{t}/actors", {"id": "blue", "capabilities": [PAYMENTS]}) == actor("blue", PAYMENTS)
    assert shared() == ["aitp-01-payments"]
    assert [a["id"] for a in good("GET", f"/v1/threads/{t}/actors")["data"]] == ["me", "red", "blue"]
    assert [a["id"] for a in good("GET", f"/v1/threads/{t}")["metadata"]["actors"]] == ["me", "red", "blue"]
    bad(400, "POST", f"/v1/threads/{t}/actors", {"id": "blue"}, says="same id", param="/id")
    bad(400, "POST", f"/v1/threads/{t}/actors", {"capabilities": []})
    bad(400, "POST", f"/v1/threads/{t}/actors")
    post(t, "I am blue.", "blue")
    assert good("DELETE", f"/v1/threads/{t}/actors/blue")["deleted"] is True
    assert shared() == ["aitp-01-payments", "aitp-02-decisions"]
    bad(404, "DELETE", f"/v1/threads/{t}/actors/blue")
    bad(403, "POST", f"/v1/threads/{t}/messages", say(t, "Still here.", "blue"))
    bad(403, "POST", f"/v1/threads/{t}/runs", {"assistant_id": "blue"}, says="has left")
    post(t, "@blue are you there?")
    assert run(t)["assistant_id"] == "red"  # whoever has left is not chosen
    assert [words(m) for m in listed(t)] == ["I am blue.", "@blue are you there?", "Red."]
    document = good("GET", f"/v1/threads/{t}/export?as=aitp")
    assert all(m["content"] for m in document["messages"]), document  # who comes and goes is no message
    events = document["metadata"]["weft"]["events"]
    assert [(e["before"], e["event"]["type"], e["event"]["data"]["actor"]["id"]) for e in events] == [(0, "actor.joined", "blue"), (1, "actor.left", "blue")], events
    copy = good("POST", "/v1/threads/import?from=aitp&on_conflict=copy", document)["id"]
    again = good("GET", f"/v1/threads/{copy}/export?as=aitp")
    assert again["metadata"]["weft"]["events"] == events and [m["content"] for m in again["messages"]] == [m["content"] for m in document["messages"]], again
    good("POST", f"/v1/threads/{t}/actors", {"id": "blue"})  # and comes back
    post(t, "Back.", "blue")
    assert run(t, assistant_id="blue", additional_messages=[say(t, "Well?")])["assistant_id"] == "blue"
    plain = good("POST", "/v1/threads", {})["id"]
    good("POST", f"/v1/threads/{plain}/actors", {"id": "red"})
    assert [a["id"] for a in good("GET", f"/v1/threads/{plain}/actors")["data"]] == ["user", "red"]


def test_capabilities_are_shared_by_name_and_highest_major():
    # covers: AITP-6/2
    v = [URL.format("aitp-02-decisions", x) for x in ("1.0.0", "2.0.0", "2.3.1", "3.0.0")]
    t = make(actor("a", *v), actor("b", URL.format("aitp-02-decisions", "2.9.0"), v[0], "urn:own"), actor("c", v[0], v[1]))
    shared = good("GET", f"/v1/threads/{t['id']}/capabilities")["data"]
    assert shared == [{"schema": v[1], "name": "aitp-02-decisions", "major": 2}], shared
    t = make(actor("a", "urn:own"), actor("b", "urn:own"))
    assert good("GET", f"/v1/threads/{t['id']}/capabilities")["data"] == [{"schema": "urn:own"}]
    plain = good("POST", "/v1/threads", {})["id"]
    assert good("GET", f"/v1/threads/{plain}/capabilities")["data"] == []


# ---- Who answers ---------------------------------------------------------------------------------------------------

def test_the_right_agent_answers():
    # covers: AITP-13/1/2, AITP-24/2
    t = make(actor("me"), actor("red"), actor("blue"))["id"]
    post(t, "Hello.")
    assert run(t)["assistant_id"] == "red"  # the first member that is an agent here
    post(t, "@blue, and you?")
    assert run(t)["assistant_id"] == "blue"
    post(t, "Go on.")
    assert run(t)["assistant_id"] == "blue"  # it spoke last
    post(t, "And red?", to="red")
    assert run(t)["assistant_id"] == "red"
    assert run(t, assistant_id="blue", additional_messages=[say(t, "@red hi")])["assistant_id"] == "blue"
    assert run(t, additional_messages=[say(t, "@red: hi")])["assistant_id"] == "red"
    bad(400, "POST", f"/v1/threads/{t}/runs", {"assistant_id": "red"}, says="itself")
    bad(400, "POST", f"/v1/threads/{t}/runs", {}, says="itself")
    assert run(t, assistant_id="blue")["assistant_id"] == "blue"  # another may answer it
    assert run(t, under="/agents/red")["assistant_id"] == "red"
    bad(400, "POST", f"/agents/red/v1/threads/{t}/runs", {"assistant_id": "blue"}, param="/assistant_id")
    spoken = [(m["metadata"]["actor"], m["role"]) for m in listed(t)]
    assert ("red", "assistant") in spoken and ("blue", "assistant") in spoken and ("me", "user") in spoken, spoken
    plain = good("POST", "/v1/threads", {"messages": ["Hello."]})["id"]
    assert run(plain)["assistant_id"] == "echo"  # the default agent
    assert run(plain, additional_messages=[say(plain, "@red hello")])["assistant_id"] == "red"
    nobody = make(actor("me"), actor("someone"))["id"]
    post(nobody, "Hello.")
    assert run(nobody)["assistant_id"] == "echo"


def test_agents_exchange_at_most_sixteen_messages_in_a_run():
    # covers: AITP-13/3
    for agent, members, most in (("talk", True, 16), ("brief", True, 2), ("brief", False, 2), ("talk", False, 18)):
        t = (make(actor("me"), actor(agent)) if members else good("POST", "/v1/threads", {}))["id"]
        r = run(t, assistant_id=agent, additional_messages=[{"role": "user", "content": "Talk."}])
        steps = good("GET", f"/v1/threads/{t}/runs/{r['id']}/steps?limit=100&order=asc")["data"]
        results = [c["function"]["output"] for s in steps if s["type"] == "tool_calls" for c in s["step_details"]["tool_calls"]]
        assert len(results) == 18 and results[:most] == ["Red."] * most, results
        assert all(f"at most {most} messages" in x for x in results[most:]), results
        assert words(listed(t)[-1]) == "Enough."
        assert "weft_agent_messages" not in json.dumps(good("GET", f"/v1/threads/{t}/runs/{r['id']}"))
    t = good("POST", "/v1/threads/runs", {"assistant_id": "talk", "thread": {"messages": ["Talk."], "metadata": {"actors": [actor("me"), actor("talk")]}}})
    end = time.monotonic() + 60
    while good("GET", f"/v1/threads/{t['thread_id']}/runs/{t['id']}")["status"] != "completed":
        assert time.monotonic() < end
        time.sleep(0.01)
    steps = good("GET", f"/v1/threads/{t['thread_id']}/runs/{t['id']}/steps?limit=100&order=asc")["data"]
    assert json.dumps(steps).count("at most 16 messages") == 2, steps


def test_an_agent_has_a_card():
    # covers: AITP-29
    card = good("GET", "/agents/red")
    assert card["name"] == "red" and card["title"] == "The red one" and card["description"] == "Says red.", card
    assert card["capabilities"] == [{"schema": DECISIONS}] and card["doors"]["threads"] == "/agents/red/v1", card
    t = good("POST", f"{card['doors']['threads']}/threads", {"messages": ["Hello."]})["id"]
    run(t, under=card["url"])
    assert words(listed(t)[-1]) == "Red."
    bad(404, "GET", "/agents/nobody")
    model = good("GET", "/v1/models")["data"][0]["id"]
    a = good("POST", "/v1/assistants", {"model": model, "name": "Guide", "description": "Knows the way."})["id"]
    card = good("GET", f"/agents/{a}")
    assert (card["id"], card["title"], card["description"]) == (a, "Guide", "Knows the way."), card
    assert card["url"] == f"/agents/{a}" and card["doors"]["threads"] == f"/agents/{a}/v1", card
    bad(404, "GET", "/agents/asst_" + 32 * "0")
    bad(405, "POST", "/agents/red", {})


# ---- Requests ------------------------------------------------------------------------------------------------------

def asks(id, **more):
    return structured(DECISIONS, request_decision={"id": id, "options": [{"id": "a"}, {"id": "b"}], **more})


def decides(id, *options):
    return structured(DECISIONS, decision={"request_decision_id": id, "options": [{"id": o} for o in options]})


def states(thread):
    return {r["id"]: r["state"] for r in good("GET", f"/v1/threads/{thread}/requests")["data"]}


def test_decisions_and_data_requests_have_states():
    # covers: AITP-14/2/3, AITP-8/1/2/3/4
    t = make(actor("me", DECISIONS, DATA), actor("red", DECISIONS, DATA))["id"]
    where = f"/v1/threads/{t}/messages"
    asked = post(t, asks("r1"), "red")
    assert states(t) == {"r1": "open"}
    bad(400, "POST", where, say(t, decides("other", "a"), "me"), says="no 'request_decision' of that id")
    bad(400, "POST", where, say(t, decides("r1", "a", "b"), "me"), says="exactly one option")
    bad(400, "POST", where, say(t, decides("r1", "z"), "me"), says="no option")
    bad(400, "POST", where, say(t, decides("r1", "a"), "red"), says="whoever asks does not answer")
    bad(400, "POST", where, say(t, structured(DECISIONS, decision={}), "me"), says="AITP-8")
    assert states(t) == {"r1": "open"}  # what is refused changes nothing
    reply = post(t, decides("r1", "b"), "me")
    m = post(t, decides("r1", "a"), "me")  # a second answer is stored, and counts for nothing
    assert m["metadata"]["weft"]["problems"][0]["severity"] == "warning", m
    request, = good("GET", f"/v1/threads/{t}/requests")["data"]
    assert request["state"] == "decided" and request["actor"] == "red", request
    assert (request["message_id"], request["reply_message_id"]) == (asked["id"], reply["id"]), request
    form = {"fields": [{"id": "name", "required": True}, {"id": "mail", "type": "email"}], "json_url": "http://127.0.0.1:9/form"}
    post(t, structured(DATA, request_data={"id": "d1", "description": "Who?", "form": form}), "red")

    def data(**fields):
        return structured(DATA, data={"request_data_id": "d1", "fields": [{"id": k, "value": v} for k, v in fields.items()]})
    bad(400, "POST", where, say(t, data(mail="SECRET-MAIL"), "me"), says="no email address")
    bad(400, "POST", where, say(t, data(mail="a@b.example"), "me"), says="required")
    post(t, data(name="SECRET-NAME", mail="a@b.example"), "me")
    assert states(t) == {"r1": "decided", "d1": "answered"}
    assert "SECRET" not in SERVER.log()  # personal data is not logged; and nobody connected to json_url, or it would have failed


def test_payments_are_followed_and_never_made():
    # covers: AITP-14/3
    t = make(actor("me", PAYMENTS), actor("shop", PAYMENTS))["id"]
    where = f"/v1/threads/{t}/messages"
    plan = [{"amount": "5.00", "currency": "USD", "payment_methods": [{"type": "near_payment_channel", "token": "t", "recipient": "r"}]}]

    def quote(id, **more):
        return structured(PAYMENTS, quote={"quote_id": id, "merchant_id": "m", "description": "d", "payment_options": plan, "merchant_signature": "s", **more})

    def pays(id, at="2026-01-01T00:00:00Z"):
        return structured(PAYMENTS, payment={"quote_id": id, "payer_id": "p", "timestamp": at, "payer_signature": "s",
                                             "payment_method": {"type": "near_payment_channel", "token": "t", "channel_id": "c", "currency": "USD"}})

    def confirms(id, result):
        return structured(PAYMENTS, payment_confirmation={"quote_id": id, "payment_id": "p1", "result": result, "timestamp": "2026-01-01T00:00:00Z", "merchant_signature": "s"})
    post(t, quote("q1"), "shop")
    post(t, quote("q2", expiration="2020-01-01T00:00:00Z"), "shop")
    bad(400, "POST", where, say(t, pays("q9"), "me"), says="no 'quote'")
    bad(400, "POST", where, say(t, pays("q2"), "me"), says="expired")
    bad(400, "POST", where, say(t, confirms("q1", "success"), "shop"), says="no payment to confirm")
    post(t, pays("q1"), "me")
    assert post(t, pays("q1"), "me")["metadata"]["weft"]["problems"], "the same payment again counts once"
    bad(400, "POST", where, say(t, pays("q1", "2026-01-02T00:00:00Z"), "me"), says="cannot be paid")
    post(t, confirms("q1", "pending"), "shop")
    post(t, confirms("q1", "success"), "shop")
    bad(400, "POST", where, say(t, confirms("q1", "failure"), "shop"))
    assert states(t) == {"q1": "success", "q2": "expired"}


SEED = {
    "metadata": {"parent_id": None, "actors": [actor("user-agent.near", PAYMENTS, DECISIONS), actor("travel-agent.near", PAYMENTS, DATA)]},
    "messages": [
        {"role": "user", "content": ["I need to book a flight to Miami next month"], "metadata": {"actor": "user-agent.near"}},
        {"role": "assistant", "metadata": {"actor": "travel-agent.near"}, "content": [structured(DECISIONS, request_decision={
            "id": "flight_options", "type": "radio", "options": [{"id": "f1", "name": "Economy: $299"}, {"id": "f2", "name": "Business: $799"}]})]},
        {"role": "user", "metadata": {"actor": "user-agent.near"}, "content": [structured(DECISIONS, decision={"request_decision_id": "flight_options", "options": [{"id": "f2"}]})]}]}


def test_the_example_of_the_specification_live():
    """Not all of its actors have the capability: it is stored as text, flagged, and still followed."""
    whole = good("POST", "/agents/red/v1/thread", SEED)["id"]
    t = good("POST", "/agents/red/v1/thread", {**SEED, "messages": []})["id"]
    for m in SEED["messages"]:
        good("POST", f"/agents/red/v1/threads/{t}/messages", m)
    for thread in (whole, t):
        assert states(thread) == {"flight_options": "decided"}
        document = good("GET", f"/v1/threads/{thread}/export?as=aitp")
        assert document["metadata"]["actors"] == SEED["metadata"]["actors"], document
        assert [(m["content"], m["role"], m["metadata"]["actor"]) for m in document["messages"]] == [(m["content"], m["role"], m["metadata"]["actor"]) for m in SEED["messages"]], document
        shown = listed(thread)
        assert "weft" not in shown[0]["metadata"] and shown[1]["metadata"]["weft"] == {"plain": ["aitp-02-decisions"]}, shown[1]
    m = post(t, decides("nothing", "x"), "user-agent.near")  # of an unshared capability nothing is refused
    assert m["metadata"]["weft"]["plain"] == ["aitp-02-decisions"] and m["metadata"]["weft"]["problems"][0]["severity"] == "error", m


def test_of_many_problems_some_are_shown_and_the_others_counted():
    t = good("POST", "/agents/red/v1/thread", {**SEED, "messages": SEED["messages"][:2]})["id"]
    few = post(t, decides("flight_options", *(f"x{i}" for i in range(15))), "user-agent.near")["metadata"]["weft"]
    assert len(few["problems"]) == 16 and "more_problems" not in few, few  # one for each, and that they are several
    found = good("GET", f"/v1/threads/{t}/requests")
    assert len(found["problems"]) == 16 and not found["has_more_problems"], found
    t = good("POST", "/agents/red/v1/thread", {**SEED, "messages": SEED["messages"][:2]})["id"]
    many = post(t, decides("flight_options", *(f"x{i}" for i in range(120))), "user-agent.near")["metadata"]["weft"]
    assert len(many["problems"]) == 16 and many["more_problems"] == 105, many
    found = good("GET", f"/v1/threads/{t}/requests")
    assert len(found["problems"]) == 100 and found["has_more_problems"], found


# ---- Children ------------------------------------------------------------------------------------------------------

def test_forks_and_subthreads_name_their_parent():
    # covers: AITP-9/1/2, AITP-3/4
    t = make(actor("me"), actor("red"), actor("dave"), topic="x")["id"]
    ids = [post(t, f"m{i}", "red" if i % 2 else "me")["id"] for i in range(4)]
    fork = good("POST", f"/v1/threads/{t}/fork", {})
    assert fork["metadata"]["parent_id"] == t and len(fork["metadata"]["actors"]) == 3, fork
    assert [words(m) for m in listed(fork["id"])] == ["m0", "m1", "m2", "m3"]
    sub = good("POST", f"/v1/threads/{t}/subthread", {"messages_to_copy": [ids[1], ids[2]], "actor": "red",
                                                      "new_messages": ["From red.", say(t, "From me.", "me")]})
    assert sub["metadata"]["parent_id"] == t and sub["metadata"]["weft"]["user"] == "red", sub
    assert [(words(m), m["role"], m["metadata"]["actor"]) for m in listed(sub["id"])] == [
        ("m1", "user", "red"), ("m2", "assistant", "me"), ("From red.", "user", "red"), ("From me.", "assistant", "me")]
    assert [words(m) for m in listed(t)] == ["m0", "m1", "m2", "m3"]  # this thread only
    for child in (fork["id"], sub["id"]):
        assert good("GET", f"/v1/threads/{child}/export?as=aitp")["metadata"]["parent_id"].replace("-", "").endswith(t[-32:])
    below = good("POST", "/v1/threads", {"metadata": {"parent_id": sub["id"]}, "messages": ["Deeper."]})
    assert below["metadata"] == {"parent_id": sub["id"]}, below
    everything = listed(t, "?order=asc&limit=100&include_subthreads=true")
    assert [words(m) for m in everything] == ["m0", "m1", "m2", "m3", "From red.", "From me.", "Deeper."] or sorted(words(m) for m in everything) == sorted(
        ["m0", "m1", "m1", "m2", "m2", "m3", "From red.", "From me.", "Deeper."]), everything
    seen, after = [], ""
    while True:
        page = good("GET", f"/v1/threads/{t}/messages?order=asc&limit=2&include_subthreads=true{after}")
        seen += page["data"]
        if not page["has_more"]:
            break
        after = f"&after={page['last_id']}"
    assert [m["id"] for m in seen] == [m["id"] for m in everything]
    assert [m["id"] for m in listed(t, "?limit=100&include_subthreads=true")] == [m["id"] for m in everything][::-1]
    bad(400, "GET", f"/v1/threads/{t}/messages?include_subthreads=perhaps")
    bad(400, "POST", f"/v1/threads/{t}/subthread", {"messages_to_copy": ["msg_" + "0" * 32]}, param="/messages_to_copy/0")
    bad(400, "POST", f"/v1/threads/{sub['id']}/subthread", {"messages_to_copy": [ids[0]]}, param="/messages_to_copy/0")
    bad(400, "POST", f"/v1/threads/{t}/subthread", {"messages_to_copy": ids * 65}, param="/messages_to_copy")
    bad(403, "POST", f"/v1/threads/{t}/subthread", {"actor": "stranger"})
    made = good("POST", "/v1/threads/runs", {"assistant_id": "echo", "thread": {"parent_id": t, "messages": [{"role": "user", "content": "below"}]}})
    assert "below" in str(listed(t, "?limit=100&include_subthreads=true")), made
    good("DELETE", f"/v1/threads/{t}")
    assert good("GET", f"/v1/threads/{sub['id']}")["metadata"]["parent_id"] == t  # children stay, and still name it


def test_an_export_lists_the_members_of_its_point():
    # covers: AITP-5/4
    t = make(actor("me"), actor("red"))["id"]
    first = post(t, "one")["id"]
    good("POST", f"/v1/threads/{t}/actors", {"id": "blue"})
    second = post(t, "two")["id"]
    good("DELETE", f"/v1/threads/{t}/actors/red")
    post(t, "three")

    def members(thread):
        return {a["id"] for a in good("GET", f"/v1/threads/{thread}/export?as=aitp")["metadata"]["actors"]}
    assert members(t) == {"me", "blue"}
    for at, want in ((first, {"me", "red"}), (second, {"me", "red", "blue"}), (None, {"me", "blue"})):
        fork = good("POST", f"/v1/threads/{t}/fork", {"at": at} if at else {})["id"]
        assert members(fork) == want, (at, members(fork))
        assert {a["id"] for a in good("GET", f"/v1/threads/{fork}/actors")["data"]} == want
    run(t, assistant_id="blue")
    checkpoints = good("GET", f"/v1/threads/{t}/checkpoints?order=asc")["data"]
    good("DELETE", f"/v1/threads/{t}/actors/blue")
    good("POST", f"/v1/threads/{t}/restore", {"checkpoint_id": checkpoints[-1]["id"]})
    assert members(t) == {"me", "blue"}
    post(t, "four", "blue")


def test_a_moved_thread_has_its_members_in_the_same_commit():
    """Whoever kills the server after the commit that forks or moves a thread finds the members of its new position."""
    for point, what, want in (("fork.after:1", "fork", {"me", "red"}), ("restore.after:1", "restore", {"me", "red"}), ("restore.after:1", "checkout", {"me", "red", "blue"})):
        folder = tempfile.mkdtemp(prefix="weft-aitp-kill-")

        def life(**env):
            return Server(WEFT, folder, "server: {listen: '127.0.0.1:0'}\nstore: sqlite:a.db\nmodels: {echo: {provider: scripted, echo: true}}\nagents: {echo: {model: echo}}\n", **env)
        with life() as s:
            t = s.good("POST", "/v1/threads", {"actors": [actor("me"), actor("red")]})["id"]
            first = s.good("POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "one"})["id"]
            s.good("POST", f"/v1/threads/{t}/actors", {"id": "blue"})
            trunk = s.good("GET", f"/v1/threads/{t}/tree")["nodes"][0]["id"]
            if what == "checkout":
                s.good("POST", f"/v1/threads/{t}/restore", {"after": first})
        with life(WEFT_CRASHPOINT=point) as s:
            body = {"fork": {"at": first}, "restore": {"after": first}, "checkout": {"node_id": trunk}}[what]
            try:
                s.ask("POST", f"/v1/threads/{t}/{what}", body)
                raise AssertionError("it answered")
            except (ConnectionError, OSError, http.client.HTTPException):
                s.process.wait(timeout=30)
        with life() as s:
            threads = [x["id"] for x in s.good("GET", "/v1/threads")["data"]]
            at = next(x for x in threads if x != t) if what == "fork" else t
            assert {a["id"] for a in s.good("GET", f"/v1/threads/{at}/actors")["data"]} == want, (what, s.good("GET", f"/v1/threads/{at}"))
            assert len(threads) == 1 + (what == "fork")


# ---- The audit -----------------------------------------------------------------------------------------------------

def test_the_audit_has_everything_in_order():
    # covers: AITP-30/1/3
    t = make(actor("me"), actor("red"), messages=["Hello."])["id"]
    good("POST", f"/v1/threads/{t}/actors", {"id": "blue"})
    run(t, assistant_id="red")
    gone = post(t, "SECRET-WORDS")["id"]
    good("DELETE", f"/v1/threads/{t}/actors/blue")
    good("DELETE", f"/v1/threads/{t}/messages/{gone}")
    kind, audit = lines(f"/v1/threads/{t}/audit")
    assert kind == "application/x-ndjson" and [a["number"] for a in audit] == list(range(1, len(audit) + 1)), (kind, audit)
    assert [a["time"] for a in audit] == sorted(a["time"] for a in audit), audit
    assert [a["id"] for a in audit[0]["actors"]] == ["me", "red"] and audit[0]["type"] == "thread.created", audit[0]
    told = [(a["type"], a.get("who"), a.get("status") or a.get("event", {}).get("type")) for a in audit]
    assert told == [("thread.created", None, None), ("message", "me", None), ("event", "blue", "actor.joined"), ("run", "red", "running"),
                    ("message", "red", None), ("run", "red", "completed"), ("message", "me", None), ("event", "blue", "actor.left"),
                    ("event", None, "message.deleted")], told
    assert audit[1]["parts"] and audit[6]["deleted"]["why"] == "deleted" and "SECRET" not in json.dumps(audit), audit
    pages, after = [], 0
    while True:
        *page, last = lines(f"/v1/threads/{t}/audit?limit=4&after={after}")[1]
        if last["type"] != "more":
            pages += page + [last]
            break
        assert len(page) == 4 and last == {"type": "more", "after": page[-1]["number"]}, (page, last)
        pages, after = pages + page, last["after"]
    assert pages == audit and after == 8, (pages, audit)
    assert lines(f"/v1/threads/{t}/audit?limit=9")[1] == audit and lines(f"/v1/threads/{t}/audit?after=9")[1] == []
    bad(400, "GET", f"/v1/threads/{t}/audit?limit=0", says="limit is 1 to 100000")
    bad(400, "GET", f"/v1/threads/{t}/audit?after=x", says="after is the number of a line")
    good("DELETE", f"/v1/threads/{t}")
    bad(404, "GET", f"/v1/threads/{t}")
    line, = lines(f"/v1/threads/{t}/audit")[1]
    assert line["type"] == "thread.deleted" and line["id"] == t and line["time"] >= audit[-1]["time"], line
    bad(404, "GET", "/v1/threads/thread_" + "0" * 32 + "/audit")


def test_an_audit_that_is_too_long_for_one_answer_has_pages():
    t = make(actor("me"))["id"]
    for i in range(20):
        post(t, f"{i}." + "x" * (4 << 20))
    after, texts, pages = 0, [], 0
    while after is not None:
        *page, last = lines(f"/v1/threads/{t}/audit?after={after}")[1]
        after, page = (last["after"], page) if last["type"] == "more" else (None, page + [last])
        texts += [a["parts"][0]["text"].split(".")[0] for a in page if a["type"] == "message"]
        pages += 1
    assert texts == [str(i) for i in range(20)] and pages == 5, (texts, pages)


def waiting(thread, headers=None, **body):
    r = good("POST", f"/v1/threads/{thread}/runs", body, headers)
    end = time.monotonic() + 60
    while r["status"] in ("queued", "in_progress"):
        assert time.monotonic() < end, r
        r = good("GET", f"/v1/threads/{thread}/runs/{r['id']}", None, headers)
    assert r["status"] == "requires_action", r
    return r["id"]


def answered(thread, headers=None):
    return [(a["type"], a["call"], a.get("granted"), a.get("who"), a.get("api_key")) for a in lines(f"/v1/threads/{thread}/audit", headers)[1]
            if a["type"] in ("approval", "answer")]


def test_the_audit_says_who_approved():
    # covers: AITP-30/1
    for agent in ("payer", "boss"):  # its own call, and that of a sub-agent
        for granted in (True, False):
            t = good("POST", "/v1/threads", {"messages": ["Pay."]}, {"weft-user": "ann"})["id"]
            r = waiting(t, {"weft-user": "ann"}, assistant_id=agent)
            before = time.time()
            good("POST", f"/v1/runs/{r}/answers", {"answers": [{"call_id": "pay1", "approved": granted}]}, {"weft-user": "ann"})
            assert answered(t, {"weft-user": "ann"}) == [("approval", "pay1", granted, "ann", None)], agent
            told = [a for a in lines(f"/v1/threads/{t}/audit", {"weft-user": "ann"})[1] if a["type"].startswith("approval")]
            assert told[0]["type"] == "approval.asked" and told[0]["time"] <= told[1]["time"], told


def test_no_route_rewrites_what_was_said():
    # covers: AITP-22/2, AITP-30/2
    t = make(actor("me"), actor("red"), messages=["One."])["id"]
    m = listed(t)[0]
    before = [a for a in lines(f"/v1/threads/{t}/audit")[1]]
    for method in ("PUT", "PATCH"):
        bad(405, method, f"/v1/threads/{t}/messages/{m['id']}", {"content": "Other."})
        bad(405, method, f"/v1/threads/{t}/audit", {})
        bad(405, method, f"/v1/threads/{t}", {"messages": []})
    ask("POST", f"/v1/threads/{t}/messages/{m['id']}", {"content": "Other.", "role": "assistant", "created_at": 1})
    ask("POST", f"/v1/threads/{t}", {"messages": ["Other."], "metadata": {"actors": [actor("thief")]}})
    bad(405, "POST", f"/v1/threads/{t}/audit", {})
    bad(405, "DELETE", f"/v1/threads/{t}/audit")
    assert words(listed(t)[0]) == "One." and listed(t)[0]["role"] == "user"
    assert lines(f"/v1/threads/{t}/audit")[1] == before
    assert [a["id"] for a in good("GET", f"/v1/threads/{t}/actors")["data"]] == ["me", "red"]


# ---- Keys (last: from here on the server wants one) ----------------------------------------------------------------

def key(name, *more):
    added = subprocess.run([WEFT, "keys", "add", name, *more], cwd=FOLDER, capture_output=True, text=True, check=True)
    return {"Authorization": f"Bearer {added.stdout.strip()}"}, added.stdout.strip().split("_")[1]


def test_with_keys_members_speak_for_themselves():
    # covers: AITP-5/1/3
    owner, _ = key("owner", "--tenant", "one", "--scope", "run,admin")
    mine, my_id = key("member", "--tenant", "one", "--scope", "run")
    other, _ = key("other", "--tenant", "two", "--scope", "run")
    t = good("POST", "/v1/threads", {"metadata": {"actors": [actor("me"), actor("bob", client_id=my_id)]}}, owner)["id"]
    for method, path, body in (("GET", "", None), ("GET", "/actors", None), ("POST", "/actors", {"id": "x"}), ("DELETE", "/actors/bob", None), ("GET", "/audit", None),
                               ("GET", "/requests", None), ("GET", "/capabilities", None), ("POST", "/subthread", {}), ("POST", "/messages", say(t, "x", "bob"))):
        bad(404, method, f"/v1/threads/{t}{path}", body, other)  # another tenant
    m = good("POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "I am bob."}, mine)
    assert m["metadata"]["actor"] == "bob" and m["role"] == "assistant", m
    bad(403, "POST", f"/v1/threads/{t}/messages", say(t, "I am me.", "me"), mine, says="cannot speak for")
    good("POST", f"/v1/threads/{t}/actors", {"id": "carol"}, mine)  # members may
    good("DELETE", f"/v1/threads/{t}/actors/bob", None, owner)
    assert bad(403, "POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "Still here."}, mine)["code"] == "not_a_member"
    bad(403, "POST", f"/v1/threads/{t}/actors", {"id": "dora"}, mine)  # who has left may not
    conv, said = f"conv_{t[7:]}", [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
    for path, body in ((f"/v1/conversations/{conv}/items", {"items": [{"role": "user", "content": "x"}]}),  # through no door
                       ("/v1/responses", {"model": "red", "input": "x", "conversation": conv}),
                       ("/process", {"model": "red", "session_id": t, "input": said, "stream": False}),
                       ("/api/chat", {"agent": "red", "id": t, "message": {"id": "u", "role": "user", "parts": said[0]["content"]}})):
        status, answer = SERVER.ask("POST", path, body, mine)
        assert status == 403 and "has left" in json.dumps(answer), (path, status, answer)
    bad(403, "POST", f"/v1/threads/{t}/runs", {"additional_messages": [{"role": "user", "content": "x"}]}, mine)
    good("DELETE", f"/v1/threads/{t}", None, owner)
    bad(404, "GET", f"/v1/threads/{t}/audit", None, other)
    t = good("POST", "/v1/threads", {"metadata": {"actors": [actor("me"), actor("bob", client_id=my_id)]}}, mine)
    assert t["metadata"]["weft"]["user"] == "bob", t  # whose key made it



def test_with_keys_the_audit_names_actors_and_keys():
    # covers: AITP-30/1
    owner, owner_id = key("desk", "--tenant", "three", "--scope", "run,admin")
    mine, my_id = key("hand", "--tenant", "three", "--scope", "run")
    for headers, who, ident in ((owner, "desk", owner_id), (mine, "bob", my_id)):
        t = good("POST", "/v1/threads", {"messages": ["Pay."], "metadata": {"actors": [actor("me"), actor("bob", client_id=my_id), actor("payer")]}}, owner)["id"]
        r = waiting(t, headers, assistant_id="payer")
        good("POST", f"/v1/runs/{r}/answers", {"answers": [{"call_id": "pay1", "approved": True}]}, headers)
        assert answered(t, owner) == [("approval", "pay1", True, who, ident)], who


def test_with_keys_those_who_left_change_nothing():
    # covers: AITP-5/3
    owner, _ = key("o2", "--tenant", "four", "--scope", "run,admin")
    mine, my_id = key("m2", "--tenant", "four", "--scope", "run")
    gone = good("POST", "/v1/threads", {"messages": ["Pay."], "metadata": {"actors": [actor("me"), actor("bob", client_id=my_id), actor("payer")]}}, owner)["id"]
    good("DELETE", f"/v1/threads/{gone}/actors/bob", None, owner)
    m = listed(gone, headers=owner)[0]["id"]
    r = waiting(gone, owner, assistant_id="payer")
    conv = f"conv_{gone[7:]}"
    for method, path, body in (("POST", f"/v1/runs/{r}/answers", {"answers": [{"call_id": "pay1", "approved": True}]}), ("POST", f"/v1/threads/{gone}/runs/{r}/cancel", None),
                               ("POST", f"/v1/runs/{r}/cancel", None), ("POST", f"/v1/threads/{gone}/runs/{r}", {"metadata": {"a": "b"}}),
                               ("POST", f"/v1/threads/{gone}/fork", {}), ("POST", f"/v1/threads/{gone}/restore", {"checkpoint_id": "x"}),
                               ("POST", f"/v1/threads/{gone}/checkout", {"node_id": "x"}), ("POST", f"/v1/threads/{gone}", {"metadata": {"a": "b"}}),
                               ("POST", f"/v1/threads/{gone}/messages/{m}", {"metadata": {"a": "b"}}), ("DELETE", f"/v1/threads/{gone}/messages/{m}", None),
                               ("POST", f"/v1/threads/{gone}/subthread", {}), ("POST", f"/v1/conversations/{conv}", {"metadata": {"a": "b"}}),
                               ("DELETE", f"/v1/conversations/{conv}", None), ("DELETE", f"/v1/threads/{gone}", None)):
        status, answer = SERVER.ask(method, path, body, mine)
        assert status == 403 and "has left" in json.dumps(answer), (method, path, status, answer)
    assert good("GET", f"/v1/threads/{gone}/runs/{r}", None, owner)["status"] == "requires_action"
    assert good("POST", f"/v1/runs/{r}/answers", {"answers": [{"call_id": "pay1", "approved": False}]}, owner)["id"] == r


def test_with_keys_messages_of_other_doors_have_authors():
    # covers: AITP-3/1
    owner, _ = key("o3", "--tenant", "five", "--scope", "run,admin")
    mine, my_id = key("m3", "--tenant", "five", "--scope", "run")
    t = good("POST", "/v1/threads", {"metadata": {"actors": [actor("me"), actor("bob", client_id=my_id), actor("red")]}}, owner)["id"]
    conv, said = f"conv_{t[7:]}", [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
    for path, body in ((f"/v1/conversations/{conv}/items", {"items": [{"type": "message", "role": "user", "content": "x"}]}),
                       ("/v1/responses", {"model": "red", "input": "x", "conversation": conv}),
                       ("/process", {"model": "red", "session_id": t, "input": said, "stream": False})):
        for headers, who in ((owner, ("me", "user")), (mine, ("bob", "assistant"))):
            before = len(listed(t, headers=owner))
            status, answer = SERVER.ask("POST", path, body, headers)
            assert status == 200, (path, status, answer)
            m = listed(t, headers=owner)[before]
            assert (m["metadata"].get("actor"), m["role"]) == who, (path, m)


if __name__ == "__main__":
    with SERVER:
        main(globals())
