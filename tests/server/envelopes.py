#!/usr/bin/env python3
"""POST /v1/envelopes from outside: answers, streams, reflections, next actions, limits, handshakes, repetitions, peers.

usage: envelopes.py WEFT   (TAP)
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import uuid

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-envelopes-")
URL = "/v1/envelopes"
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:envelopes.db
log: {level: warn}
models:
  gpt-5: {provider: scripted, script: gpt.json}
  claude-3: {provider: scripted, script: claude.json}
  gemini-2: {provider: scripted, script: gemini.json}
  other: {provider: scripted, script: other.json}
  again: {provider: scripted, script: again.json}
  doubts: {provider: scripted, script: doubts.json}
  fails: {provider: scripted, script: fails.json}
  slow: {provider: scripted, script: slow.json}
  echo: {provider: scripted, echo: true}
tools:
  look: {description: Looks, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo seen"], delivery: pure}
  write: {description: Writes, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo x >>written; echo done"]}
  pick: {description: Picks, parameters: {type: object}}
agents:
  planner: {model: gpt-5}
  analyst: {model: claude-3}
  worker: {model: gemini-2, tools: [look, write]}
  spare: {model: other}
  critic: {model: doubts}
  fails: {model: fails}
  slow: {model: slow}
  picker: {model: again, tools: [pick]}
  echo: {model: echo}
"""
ROUTES = """
routes:
  - {intent: [plan, reflect, finalize], when: {tags: [echo]}, to: echo}
  - {intent: analyze, when: {tags: [fail]}, to: fails}
  - {intent: analyze, when: {tags: [fallback]}, to: fails, fallback: [spare]}
  - {intent: analyze, when: {tags: [slow]}, to: slow}
  - {intent: execute, when: {tags: [pick]}, to: picker}
  - {intent: [plan, reflect, finalize], to: planner, fallback: [critic]}
  - {intent: [decompose, summarize, analyze], to: analyst}
  - {intent: [execute, tool.call, retrieve], to: worker}
"""


def reply(score=0.9, intent="analyze", type="text", text=None, data=None, actions=None, **more):
    """An envelope as a model writes it."""
    e = {"protocol": "multiagent-1.0", "role": "agent", "agent": {"id": "own", "name": "Own", "model": "m"},
         "timestamp": "2025-10-10T12:40:00Z", "intent": intent, "task": "t", "content": {"type": type}}
    if text is not None:
        e["content"]["text"] = text
    if data is not None:
        e["content"]["data"] = data
    if actions:
        e["outputs"] = {"next_actions": actions}
    e["confidence"] = {"score": score}
    return {"parts": [{"text": json.dumps({**e, **more})}], "usage": {"input_tokens": 10, "output_tokens": 4}}


def when(text, r):
    return {"when": {"contains": text}, **r}


def call(id, name):
    return {"tool_call": {"id": id, "name": name, "arguments": {}}}


SHOWS = {"parts": [{"request": True}], "usage": {"input_tokens": 3, "output_tokens": 2}}
SCRIPTS = {
    "gpt": [when("Check the answer", reply(0.3, "reflect", text="still unsure")), when("Act", reply(0.8, text="acted")), SHOWS],
    "claude": [when("Doubt me", reply(0.2, text="a doubt")), when("Data", reply(0.7, type="json", data={"a": 1}, text="one member")),
               when("Tokens", {**reply(text="long"), "usage": {"input_tokens": 1, "output_tokens": 900}}),
               when("Plan", reply(0.9, text="do", actions=[{"intent": "execute", "task": "Act 1", "args": {"n": 1}},
                                                          {"intent": "execute", "task": "Act 2"}, {"intent": "plan", "task": "Act 3"}])),
               SHOWS],
    "gemini": [when("Act", reply(0.8, text="acted")), when("Use", {"parts": [call("l", "look"), call("w", "write")]}),
               {"when": {"tool_result": "write"}, "parts": [{"request": True}]}, SHOWS],
    "other": [{"parts": [{"text": "spare here"}]}],
    "doubts": [reply(0.3, "reflect", text="unsure too")],
    "again": [{"parts": [call("p", "pick")]}, {"parts": [{"text": "picked"}]}],
    "slow": [{"parts": [{"text": "too late"}], "delta_bytes": 1, "delay_ms": 2000}],
    "fails": [{"error": {"code": "INVALID_REQUEST", "message": "I will not"}}],
}


def folder(name, scripts=SCRIPTS):
    path = f"{HERE}/{name}"
    os.makedirs(path, exist_ok=True)
    for script, replies in scripts.items():
        with open(f"{path}/{script}.json", "w") as f:
            json.dump({"replies": replies, "again": True} if script != "again" else {"replies": replies, "at_end": "restart"}, f)
    return path


def serve(name, more="", scripts=SCRIPTS, **env):
    return Server(WEFT, folder(name, scripts), CONFIG + ROUTES + more, **env)


def envelope(task="Do it", intent="analyze", id=None, **more):
    e = {"protocol": "multiagent-1.0", "role": "user", "timestamp": "2025-10-10T12:40:00Z", "intent": intent, "task": task,
         "content": {"type": "text", "text": task}, "trace": {"id": id or str(uuid.uuid4())}}
    e["trace"].update(more.pop("trace", {}))
    return {**e, **more}


def post(s, e, status=200, query="", headers=None):
    got, answer = s.ask("POST", URL + query, e, headers)
    assert got == status, (got, answer, s.log()[-2000:])
    return answer


def lines(s, path):
    c = s.connection()
    c.request("GET", path)
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    assert r.status == 200, (r.status, text)
    return [json.loads(line) for line in text.splitlines()]


def stream(s, e, headers=None, query="?stream=true", method="POST", path=URL):
    """The frames: (id, name, JSON)."""
    c = s.connection()
    c.request(method, path + query, json.dumps(e) if e else None, headers or {})
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    assert r.status == 200 and r.headers["content-type"].startswith("text/event-stream"), (r.status, text)
    frames = []
    for block in text.split("\n\n"):
        frame = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith(":"))
        if "data" in frame:
            frames.append((frame["id"], frame.get("event"), json.loads(frame["data"])))
    return frames


def ids(list):
    return [e["trace"]["id"] for e in list]


def valid(list):
    """`weft validate` finds no error in the log."""
    with open(f"{HERE}/log.json", "w") as f:
        json.dump(list, f)
    r = subprocess.run([WEFT, "validate", "--as", "envelope", f"{HERE}/log.json"], capture_output=True, text=True)
    assert r.returncode == 0, r.stdout + r.stderr


# ---- Answers -----------------------------------------------------------------------------------------------------------


def test_an_answer():
    # covers: ENV-6/1, ENV-6/4, ENV-14/1
    with serve("answer") as s:
        a = post(s, envelope(id="m1", trace={"parents": ["m0"], "tags": ["t"]}))
        assert a["role"] == "agent" and a["agent"]["model"] == "claude-3" and a["intent"] == "analyze", a
        assert a["protocol"] == "multiagent-1.0" and a["trace"]["parents"] == ["m0", "m1"], a
        assert str(uuid.UUID(a["trace"]["id"])) == a["trace"]["id"] and a["trace"]["cost"] == {"input_tokens": 3, "output_tokens": 2}, a
        assert a["confidence"] == {"score": 0.5, "rationale": "not stated by the model"}, a
        shown = json.loads(a["content"]["text"])
        assert shown["messages"] == ["user: [INTENT:analyze] [TASK:Do it]\nCONTEXT:\n\nCONTENT:\nDo it"], shown
        assert post(s, {k: v for k, v in envelope().items() if k != "trace"})["trace"]["parents"][0], "an id was given"


def test_context_and_parameters_reach_the_model():
    # covers: ENV-13/1, ENV-13/2
    with serve("parameters") as s:
        a = post(s, envelope(inputs={"context": "in June", "parameters": {"temperature": 0.25, "max_tokens": 77},
                                     "resources": [{"type": "db", "id": "customers"}]}))
        shown = json.loads(a["content"]["text"])
        assert shown["params"]["temperature"] == 0.25 and shown["params"]["max_completion_tokens"] == 77, shown
        assert "in June" in shown["messages"][0] and "risks" not in a["confidence"], (shown, a)
        assert "db customers" in shown["messages"][0], shown


def test_parameters_that_cannot_be_honoured_are_named():
    # covers: ENV-13/1
    with serve("risks") as s:
        a = post(s, envelope(inputs={"parameters": {"temperature": 9, "top_p": 0.5, "flux": {"a": 1}}}))
        risks = a["confidence"]["risks"]
        assert len(risks) == 2 and "'temperature'" in risks[0] and "'flux'" in risks[1], risks
        shown = json.loads(a["content"]["text"])
        assert shown["params"] == {"top_p": 0.5} and 'Parameters: {"flux":{"a":1}}' in shown["messages"][0] and "flux" not in (shown.get("system") or ""), shown
        s.wait_for_log("could not be honoured", 2)
        said = [line for line in s.log().splitlines() if "could not be honoured" in line]
        assert len(said) >= 2 and all(line.count(" agent=") == 1 for line in said), s.log()


def test_the_last_risk_says_how_many_are_left_out():
    with serve("risks-many") as s:
        risks = post(s, envelope(inputs={"parameters": {f"p{i}": i for i in range(70)}}))["confidence"]["risks"]
        assert len(risks) == 64 and "'p62'" in risks[62] and risks[63] == "7 more parameters could not be honoured", risks[60:]


def test_resources_limit_the_tools():
    # covers: ENV-13/3
    with serve("tools") as s:
        a = post(s, envelope("Use both", "execute", inputs={"resources": [{"type": "tool", "id": "look"}]}))
        assert "Tool 'write' is not allowed here" in json.dumps(a), a
        a = post(s, envelope("Use both", "execute", inputs={"resources": [{"type": "db", "id": "d", "hint": "readonly"}]}))
        assert "read-only" in json.dumps(a) and not os.path.exists(f"{s.folder}/written"), a
        post(s, envelope("Use both", "execute"))
        assert os.path.exists(f"{s.folder}/written")


def test_a_doubt_is_reflected_on_by_another_model():
    # covers: ENV-6/3
    with serve("doubt") as s:
        frames = stream(s, envelope("Doubt me", id="d1"))
        log = [f[2] for f in frames if f[1] != "answer"]
        assert [e["intent"] for e in log][:4] == ["analyze", "analyze", "reflect", "reflect"], log
        doubted, asked = log[1], log[2]
        assert doubted["confidence"]["score"] == 0.2 and asked["trace"]["parents"] == [doubted["trace"]["id"]], log
        assert log[3]["confidence"]["score"] == 0.3, log
        answer = frames[-1]
        assert answer[1] == "answer" and "reflect:exhausted" in answer[2]["trace"]["tags"], answer
        assert answer[2]["confidence"]["score"] == 0.3, answer
        assert len(set(ids(log))) == len(log), ids(log)
        assert post(s, envelope("Doubt me", id="d1")) == answer[2]


MUX = "envelopes: {unknown_intent: reflect, doubtful: reflect}\n"
LETTER = {"role": "agent", "agent": {"id": "a", "name": "A", "model": "gpt-5"}}


def test_by_a_setting_an_unknown_intent_goes_to_reflect():
    # covers: ENV-4/3
    with serve("unknown-refused") as s:
        a = post(s, envelope("Sing it", "sing"), 400)
        assert [p["pointer"] for p in a["content"]["data"]["problems"]] == ["/intent"], a
    with serve("unknown", MUX) as s:
        frames = stream(s, envelope("Sing it", "sing", id="u1"))
        answer = frames[-1][2]
        assert (answer["agent"]["id"], answer["intent"], answer["trace"]["parents"]) == ("planner", "sing", ["u1"]), answer
        assert post(s, envelope("Sing it", "sing", id="u1")) == answer  # a repetition gets the recorded one
        assert s.good("GET", URL + "/u1") == envelope("Sing it", "sing", id="u1")  # as it came
        assert ids(lines(s, URL + "/u1/exchange")) == ["u1", answer["trace"]["id"]]
        assert [n["intent"] for n in s.good("GET", URL + "/u1/lineage")["nodes"]] == ["sing", "sing"]
        s.__exit__()
        with serve("unknown", MUX) as again:
            assert post(again, envelope("Sing it", "sing", id="u1")) == answer
            for bad in ("", "x" * 65, 5):
                assert post(again, {**envelope(), "intent": bad}, 400)["content"]["data"]["problems"][0]["pointer"] == "/intent", bad
            a = post(again, {**envelope("Sing it", "sing"), "role": "king"}, 400)  # other mistakes are mistakes
            assert {p["pointer"] for p in a["content"]["data"]["problems"]} == {"/intent", "/role"}, a
            assert post(again, envelope("Sing on", "x" * 64))["agent"]["id"] == "planner"


def test_by_a_setting_a_doubtful_envelope_goes_to_reflect():
    # covers: ENV-6/3
    doubtful = {**LETTER, "confidence": {"score": 0.2}}
    with serve("doubtful-routed") as s:
        frames = stream(s, envelope("Is it so?", "summarize", **doubtful))
        assert frames[-1][2]["agent"]["id"] == "analyst", frames[-1]
    with serve("doubtful", MUX) as s:
        answer = post(s, envelope("Is it so?", "summarize", id="d1", **{**doubtful, "agent": {**LETTER["agent"], "model": "claude-3"}}))
        assert answer["agent"]["id"] == "planner" and answer["trace"]["parents"] == ["d1"], answer  # the agent of reflect
        answer = post(s, envelope("Is it so?", "summarize", **doubtful))
        assert answer["agent"]["model"] != "gpt-5", answer  # another model than the one that wrote it
        assert post(s, envelope("It is so", "summarize", **{**LETTER, "confidence": {"score": 0.5}}))["agent"]["id"] == "analyst"
        assert post(s, envelope("It is so", "summarize", **LETTER))["agent"]["id"] == "analyst"  # none is no doubt


def test_next_actions():
    # covers: ENV-7/1, ENV-7/2
    with serve("actions", "envelopes: {actions: {enabled: true}}\n") as s:
        frames = stream(s, envelope("Plan it", id="p1"))
        log = [f[2] for f in frames[:-1]]
        planned = log[1]
        asked = [e for e in log if e["task"].startswith("Act") and e["trace"]["parents"] == [planned["trace"]["id"]]]
        assert sorted(e["task"] for e in asked) == ["Act 1", "Act 2", "Act 3"], log
        assert [e["inputs"]["parameters"] for e in asked if e["task"] == "Act 1"] == [{"n": 1}], asked
        assert len(log) == 8 and len(set(ids(log))) == 8, ids(log)
        valid(log)
    with serve("no-actions") as s:
        assert len(stream(s, envelope("Plan it"))) == 3


def test_budgets_end_an_exchange_with_what_is_best():
    with serve("budget", "envelopes: {actions: {enabled: true, max_tokens: 5}}\n") as s:
        a = post(s, envelope("Plan it"))
        assert a["content"]["text"] == "do" and "actions:limit" in a["trace"]["tags"], a


def test_a_budget_ends_an_exchange_with_what_is_best():
    for budget, score, asked in (("max_tokens: 10", 0.2, 2), ("max_tokens: 20", 0.3, 4), ("max_steps: 2", 0.2, 2),
                                 ("max_cost: 0.00001, input_price: 1, output_price: 1", 0.2, 2), ("max_time_ms: 60000", 0.3, 6)):
        with serve("spent", f"envelopes: {{budget: {{{budget}}}}}\n") as s:
            e = envelope("Doubt me", id=f"b {budget}", trace={"parents": ["far"]})
            frames = stream(s, e)
            a = frames[-1][2]
            assert frames[-1][1] == "answer" and a["confidence"]["score"] == score and len(frames) - 1 == asked, (budget, frames)
            assert ("budget:limit" in a["trace"]["tags"]) == (asked < 6) and a["trace"]["id"] in ids([f[2] for f in frames[:-1]]), (budget, a)
            assert post(s, e) == a, budget
    with serve("spent", "envelopes: {budget: {max_tokens: 10}}\n") as s:
        assert "tags" not in post(s, envelope("Data"))["trace"], "nothing was left to do"
        text = json.dumps(envelope("Doubt me", id="run"))
        out = subprocess.run([WEFT, "run", "weft.router", text, "--json"], cwd=s.folder, capture_output=True, text=True)
        run = json.loads(out.stdout)
        assert out.returncode == 3 and run["incomplete"] == {"reason": "max_tokens"}, out
        assert json.loads(run["text"])["content"]["text"] == "a doubt", run


def test_a_budget_that_the_last_step_exceeds():
    """It had nothing left to do: it is complete. An agent that the limit ended had."""
    def run(s, *e, **more):
        out = subprocess.run([WEFT, "run", "weft.router", json.dumps(envelope(*e, **more)), "--json"], cwd=s.folder, capture_output=True, text=True)
        run = json.loads(out.stdout)
        return out.returncode, run.get("incomplete"), json.loads(run["text"])["trace"].get("tags", [])
    # "Doubt me" has 42 tokens and 7 steps: a reply and two reflections, each a step of the router and one of the agent, and the answer.
    for limit, task, left in (("max_tokens: 41", "Doubt me", None), ("max_tokens: 27", "Doubt me", "max_tokens"), ("max_steps: 6", "Doubt me", None),
                              ("max_steps: 5", "Doubt me", None), ("max_steps: 4", "Doubt me", "max_steps"), ("max_steps: 1", "Data", None)):
        with serve("last", f"envelopes: {{budget: {{{limit}}}}}\n") as s:
            code, incomplete, tags = run(s, task)
            assert (code, incomplete) == ((3, {"reason": left}) if left else (0, None)) and ("budget:limit" in tags) == bool(left), (limit, code, incomplete, tags)
    with serve("ended", "envelopes: {budget: {max_steps: 1}}\n") as s:
        code, incomplete, tags = run(s, "Use", "execute")
        assert code == 3 and incomplete == {"reason": "max_steps"}, (code, incomplete, tags)
    said = {**SCRIPTS, "gemini": [when("Use", {"parts": [{"text": "I look."}, call("l", "look")]}), *SCRIPTS["gemini"]]}
    with serve("said", "envelopes: {budget: {max_steps: 1}}\n", scripts=said) as s:
        code, incomplete, tags = run(s, "Use", "execute")
        assert code == 3 and incomplete == {"reason": "max_steps"} and tags == ["budget:limit"], (code, incomplete, tags)


def test_a_budget_of_time():
    with serve("late", "envelopes: {budget: {max_time_ms: 300}}\n") as s:
        a = post(s, envelope("Sleep", trace={"tags": ["slow"]}))
        cut = "budget:limit" in a["trace"].get("tags", []) or a["content"]["data"]["code"] == "unanswered"  # it was late even for asking
        assert a["content"]["type"] == "error" and cut, a


def test_failures_are_envelopes():
    with serve("failure") as s:
        a = post(s, envelope(trace={"tags": ["fail"]}))
        assert a["content"]["type"] == "error" and "I will not" in a["content"]["text"] and a["confidence"]["score"] == 0, a
        a = post(s, envelope(trace={"tags": ["fallback"]}))
        assert a["content"] == {"type": "text", "text": "spare here"}, a
    with Server(WEFT, folder("no-route"), CONFIG + "routes: [{intent: plan, to: planner}]\n") as s:
        a = post(s, envelope())
        assert a["content"]["type"] == "error" and a["content"]["data"]["code"] == "no_route", a


def test_an_agent_that_waits():
    with serve("waits") as s:
        e = envelope("Choose", "execute", trace={"tags": ["pick"]})
        a = post(s, e)
        assert a["content"]["data"] == {"code": "input_required", "retryable": True}, a
        run = "run_" + a["trace"]["id"].replace("-", "")
        thread = s.good("GET", "/v1/threads?limit=1")["data"][0]["id"]
        look = s.good("GET", f"/v1/threads/{thread}/runs/{run}")
        calls = look["required_action"]["submit_tool_outputs"]["tool_calls"]
        s.good("POST", f"/v1/threads/{thread}/runs/{run}/submit_tool_outputs",
               {"tool_outputs": [{"tool_call_id": calls[0]["id"], "output": "red"}]})
        s.ended(s.good("GET", f"/v1/threads/{thread}/runs/{run}"), thread)
        a = post(s, e)
        assert a["content"]["text"] == "picked", a


# ---- Invalid, repeated ------------------------------------------------------------------------------------------------------


def test_problems_are_named_with_their_pointers():
    # covers: ENV-12
    with serve("invalid") as s:
        a = post(s, {**envelope(), "role": "king", "confidence": {"score": 2}, "content": {"type": "song"}}, 400)
        assert a["protocol"] == "multiagent-1.0" and a["content"]["type"] == "error", a
        assert {p["pointer"] for p in a["content"]["data"]["problems"]} == {"/role", "/confidence/score", "/content/type"}, a
        for body in ("[]", "nonsense", "", '{"a":1,"a":2}'):
            c = s.connection()
            c.request("POST", URL, body)
            r = c.getresponse()
            a = json.loads(r.read())
            c.close()
            assert r.status == 400 and a["content"]["type"] == "error", (body, a)
        assert s.ask("GET", URL + "/none")[1]["content"]["data"]["code"] == "not_found"


def at_once(s, e, n):
    """The answers to the same envelope, sent n times."""
    answers, start = [], threading.Barrier(n)

    def send():
        start.wait()
        answers.append(post(s, e))
    threads = [threading.Thread(target=send) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(answers) == n, (e, answers)
    return answers


def test_a_repeated_id():
    # covers: ENV-9/1
    with serve("again") as s:
        e = envelope("Doubt me", id="once")
        first = post(s, e)
        assert post(s, e) == first
        refused = post(s, {**e, "task": "Something else"}, 400)
        assert refused["content"]["data"]["code"] == "id_taken" and refused["trace"]["parents"] == ["once"], refused
        own = {x["trace"]["id"] for x in lines(s, f"{URL}/once/exchange")} - {"once"}
        assert first["trace"]["id"] in own and len(own) >= 2, own
        for id in own:  # those of the server are taken, too
            refused = post(s, envelope(id=id, trace={"parents": [first["trace"]["id"]]}), 400)
            assert refused["content"]["data"]["code"] == "id_taken", refused
        for i in range(60):  # some look while the first one begins: they wait for the same answer
            many = at_once(s, envelope("Together", id=f"together-{i}"), 4)
            assert len({m["trace"]["id"] for m in many}) == 1, many
    with Server(WEFT, f"{HERE}/again") as s:
        assert post(s, envelope("Doubt me", id="once")) == first


# ---- Exchanges ---------------------------------------------------------------------------------------------------------------


def test_ids():
    with serve("ids") as s:
        for id in ("n\x00one", "n\x00two", "n"):  # three of them
            post(s, envelope(id=id))
        e = post(s, envelope(id="x" * 1025), 400)
        assert "1024" in e["content"]["text"], e
        thread = s.good("POST", "/v1/threads/runs", {"assistant_id": "echo", "thread": {"messages": [{"role": "user", "content": "hi"}]}})
        run = str(uuid.UUID(thread["id"][4:]))
        post(s, envelope(trace={"id": "of-a-chat", "parents": [run]}))  # a run of another agent is no envelope
        assert len(s.good("GET", f"/v1/threads/{thread['thread_id']}/messages")["data"]) <= 2
        assert s.ask("GET", f"{URL}/{run}")[0] == 404


def test_users_of_a_tenant_are_apart():
    with serve("users") as s:
        a = post(s, envelope("PRIVATE", id="p1"), headers={"weft-user": "ann"})
        for headers in ({}, {"weft-user": "bob"}):
            for id in ("p1", a["trace"]["id"]):
                assert s.ask("GET", f"{URL}/{id}/exchange", None, headers)[0] == 404, (id, headers)
            post(s, envelope("another", trace={"parents": [a["trace"]["id"]]}), headers=headers)
        assert len(lines_of(s, "p1", {"weft-user": "ann"})) == 2


def lines_of(s, id, headers):
    c = s.connection()
    c.request("GET", f"{URL}/{id}/exchange", headers=headers)
    return c.getresponse().read().decode().splitlines()


def test_a_request_is_found_in_a_large_family():
    with serve("family") as s:
        post(s, envelope("Doubt me", id="f1"))
        asked = lines(s, f"{URL}/f1/exchange")[2]
        thread = s.good("GET", "/v1/threads")["data"][0]["id"]
        first = s.good("GET", f"/v1/threads/{thread}/messages?order=asc")["data"][0]["id"]
        for _ in range(40):  # none of them has the request
            s.good("POST", f"/v1/threads/{thread}/fork", {"at": first})
        s.good("POST", f"/v1/threads/{thread}/fork", {})
        s.good("DELETE", f"/v1/threads/{thread}")  # its id is the first one of the family
        assert asked["role"] == "system" and s.good("GET", f"{URL}/{asked['trace']['id']}") == asked, asked


def test_an_exchange_is_a_thread():
    # covers: ENV-9/1
    with serve("exchange") as s:
        first = envelope("Doubt me", id="e1")
        a = post(s, first)
        log = lines(s, f"{URL}/e1/exchange")
        assert log[0] == first and a["trace"]["id"] in ids(log), log
        valid(log)
        for e in log:
            assert s.good("GET", f"{URL}/{e['trace']['id']}") == e
            assert lines(s, f"{URL}/{e['trace']['id']}/exchange") == log
        second = envelope("More", id="e2", trace={"parents": [a["trace"]["id"]]})
        b = post(s, second)
        both = lines(s, f"{URL}/e1/exchange")
        assert both[:len(log)] == log and both[len(log):] == [second, b], both
        assert lines(s, f"{URL}/{b['trace']['id']}/exchange") == both
        threads = s.good("GET", "/v1/threads?limit=100")["data"]
        assert len(threads) == 1, threads
        assert s.good("GET", f"/v1/threads/{threads[0]['id']}/export?as=envelope") == both
        out = subprocess.run([WEFT, "export", "--as", "envelope", threads[0]["id"]], cwd=s.folder, capture_output=True, text=True)
        assert json.loads(out.stdout) == both, out


def test_a_stream_is_resumed():
    with serve("stream") as s:
        e = envelope("Doubt me")
        whole = stream(s, e, {"Accept": "text/event-stream"}, "")
        assert stream(s, e) == whole
        for i in range(len(whole)):
            assert stream(s, e, {"Last-Event-ID": whole[i][0]}) == whole[i + 1:], i
        thread = s.good("GET", "/v1/threads?limit=1")["data"][0]["id"]
        run = s.good("GET", f"/v1/threads/{thread}/runs")["data"][0]["id"]
        joined = stream(s, None, {}, "?as=envelope", "GET", f"/v1/runs/{run}/events")
        assert joined == whole, joined


def test_after_a_kill_nothing_is_lost_or_said_twice():
    for point in ("c1.after", "child.after", "tool.end", "c3.after", "end.before"):
        e = envelope("Doubt me", id=f"kill-{point}")
        try:
            with serve("kill", WEFT_CRASHPOINT=f"{point}:1") as s:
                post(s, e)
        except (ConnectionError, OSError, AssertionError):
            pass
        with serve("kill") as s:
            a = post(s, e)
            log = lines(s, f"{URL}/{e['trace']['id']}/exchange")
            assert len(log) == 6 and len(set(ids(log))) == 6 and log[0] == e, (point, log)
            assert a["trace"]["id"] in ids(log) and a["confidence"]["score"] == 0.3, (point, a)


# ---- What the log has --------------------------------------------------------------------------------------------------------


def stored(value, to=lambda e: e):
    """The document with other envelopes that Weft wrote, which are objects or texts there."""
    if isinstance(value, str):
        return json.dumps(to(json.loads(value)), separators=(",", ":")) if value.startswith('{"protocol":"multiagent-1.0"') else value
    if isinstance(value, list):
        return [stored(v, to) for v in value]
    if not isinstance(value, dict):
        return value
    return to(value) if value.get("protocol") else {k: stored(v, to) for k, v in value.items()}


def converted(s, document):
    with open(f"{s.folder}/document.json", "w") as f:
        json.dump(document, f)
    out = subprocess.run([WEFT, "convert", "--from", "thread", "--to", "envelope", "document.json"], cwd=s.folder, capture_output=True, text=True)
    assert out.returncode == 0, out
    return json.loads(out.stdout)


def chain(e):
    return e["trace"].get("parents", [])


def test_the_log_has_direct_parents():
    # covers: ENV-6/3
    with serve("parents", "envelopes: {actions: {enabled: true}}\n") as s:
        far = [f"far-{i}" for i in range(20)]
        log, answers, last = [], [], None
        for i, (task, tags) in enumerate([("Doubt me", []), ("Plan it", []), ("More", ["fallback"]), ("None", ["fail"])]):
            above = chain(last) + [last["trace"]["id"]] if last else far
            e = envelope(task, id=f"w{i}", trace={"parents": above, "tags": tags})
            frames = stream(s, e)
            last = post(s, e)
            answers.append(last)
            assert frames[-1][2] == last and frames[0][2] == e, frames
            log += [f[2] for f in frames[:-1]]
            assert stream(s, e, {"Last-Event-ID": frames[2][0]}) == frames[3:]
        by_id = {e["trace"]["id"]: e for e in log}
        replies = [e for e in log if e["role"] == "agent" or e["content"]["type"] == "error"]
        assert len(replies) == 10 and chain(replies[0]) == far + ["w0"], replies
        for e in replies + answers:
            asked = by_id[chain(e)[-1]]
            assert chain(e) == chain(asked) + [asked["trace"]["id"]] and "above" not in e["trace"], (e, asked)
        arrived, log = log, lines(s, f"{URL}/w0/exchange")  # actions of one reply come in any order
        assert len(log) == len(arrived) and {e["trace"]["id"]: e for e in log} == by_id, log
        for e in log:
            assert s.good("GET", f"{URL}/{e['trace']['id']}") == e
        thread = s.good("GET", "/v1/threads?limit=1")["data"][0]["id"]
        assert s.good("GET", f"/v1/threads/{thread}/export?as=envelope") == log
        out = subprocess.run([WEFT, "replay", thread], cwd=s.folder, capture_output=True, text=True)
        assert out.returncode == 0 and ": 0 differences" in out.stdout, out
        # The log: what Weft wrote has one parent. What came in is as it came: the message, and the first request.
        document = s.good("GET", f"/v1/threads/{thread}/export?as=thread")
        kept = []
        assert stored(document, lambda e: kept.append(e) or e) == document
        kept = [e for e in kept if e["role"] != "user"]
        assert len(kept) >= 16 and all(len(chain(e)) == 1 for e in kept), kept
        db = sqlite3.connect(f"file:{s.folder}/envelopes.db?mode=ro", uri=True)
        brought = sum(bytes(r[0]).count(b"far-7") for r in db.execute("SELECT CAST(body AS BLOB) FROM log"))
        assert brought == 3, brought  # the message, the call and its start; no reply, and no answer
        db.close()
        assert converted(s, document) == log
        # A log from before: it has the whole chains.
        assert converted(s, stored(document, lambda e: by_id[e["trace"]["id"]])) == log


def test_direct_parents_on_the_wire():
    with serve("wire", "envelopes: {parents: direct}\n") as s:
        frames = stream(s, envelope("Doubt me", id="v1", trace={"parents": ["a", "b"]}))
        assert [len(chain(f[2])) for f in frames] == [2] + [1] * (len(frames) - 1), frames
        assert all("above" not in f[2]["trace"] for f in frames), frames


def test_a_long_artifact_is_stored_once():
    name = "artifact"
    report = [{"kind": "report", "name": "long", "inline": "A long report. " * 4000}]
    with serve(name) as s:
        e = envelope("Long", id="l1", outputs={"artifacts": report})
        post(s, e)
        assert s.good("GET", f"{URL}/l1")["outputs"]["artifacts"] == report
        db = sqlite3.connect(f"file:{s.folder}/envelopes.db?mode=ro", uri=True)
        rows = db.execute("SELECT count(*) FROM log WHERE instr(body, 'A long report. A long report.')").fetchone()[0]
        blobs = db.execute("SELECT hex(key), refs FROM blobs").fetchall()
        assert len(blobs) == 1 and rows == 0, (blobs, rows)
        assert db.execute("SELECT count(*) FROM refs").fetchone()[0] == 2  # the message, and the call that sends it
        db.close()


# ---- Handshakes, peers -----------------------------------------------------------------------------------------------------


def handshake(*types, **more):
    return envelope("Announce", "reflect", role="system", content={"type": "json", "data": {"supports": list(types), **more}})


def test_a_client_gets_only_what_it_announced():
    # covers: ENV-8/1, ENV-8/2
    with serve("announced") as s:
        h = s.good("GET", f"{URL}/handshake")
        assert h["role"] == "system" and h["content"]["data"] == {
            "supports": ["text", "code", "json", "tool_result", "error"], "max_tokens": 16000}, h
        assert post(s, envelope("Data"))["content"]["data"] == {"a": 1}
        a = post(s, handshake("text", "error", max_tokens=100))
        assert a["content"]["data"] == h["content"]["data"] and a["role"] == "system", a
        assert post(s, envelope("Data"))["content"] == {"type": "text", "text": "one member"}
        for _, _, e in stream(s, envelope("Data")):
            assert e["content"]["type"] == "text", e
        a = post(s, envelope("Tokens"))
        assert a["content"]["type"] == "error" and a["content"]["data"]["code"] == "max_tokens", a
        post(s, handshake("text", "json", "error"))
        assert post(s, envelope("Data"))["content"]["data"] == {"a": 1}


def test_no_envelope_has_the_name_of_the_handshake():
    """It could never be fetched: GET /v1/envelopes/handshake is what the server announces."""
    with serve("named") as s:
        a = post(s, {**envelope("Data"), "trace": {"id": "handshake"}}, 400)
        assert a["content"]["data"]["code"] == "invalid_envelope" and "'handshake'" in json.dumps(a), a
        assert s.good("GET", f"{URL}/handshake")["role"] == "system" and s.good("GET", "/v1/threads")["data"] == []


def test_a_server_announces_itself_at_its_start():
    # covers: ENV-8/1
    with Server(WEFT, folder("start"), CONFIG.replace("level: warn", "level: info") + ROUTES) as s:
        s.wait_for_log("handshake")
        assert "supports" in s.log() and "16000" in s.log()


def peer_config(url):
    return CONFIG + f"""
  far: {{remote: envelopes, url: "{url}", retry: {{strategy: none}}}}
routes:
  - {{intent: [analyze, plan, reflect], to: far, fallback: [spare]}}
"""


def test_two_servers_back_to_back():
    # covers: ENV-8/2
    with serve("far") as far, Server(WEFT, folder("near"), peer_config(far.url)) as near:
        e = envelope(id="through", inputs={"context": "in June"})
        a = post(near, e)
        assert a["agent"]["id"] in ("analyst", "far") and a["trace"]["parents"] == ["through"], a
        assert "in June" in json.loads(a["content"]["text"])["messages"][0], a
        there = lines(far, f"{URL}/through/exchange")
        assert there[0] == e and len(there) == 2 and len(lines(near, f"{URL}/through/exchange")) == 2, there
        assert post(near, e) == a and len(lines(far, f"{URL}/through/exchange")) == 2
        a = post(near, envelope("Data", id="data"))
        assert a["content"]["data"] == {"a": 1} and a["confidence"]["score"] == 0.7, a
        a = post(near, envelope(trace={"tags": ["fail"]}))
        assert a["content"]["text"] == "spare here", a
        a = post(near, envelope(inputs={"parameters": {"max_tokens": 20000}}))
        assert a["content"]["text"] == "spare here", a
        run = near.run("far", "Hello there")
        assert run["status"] == "completed", run


def test_a_peer_that_is_gone():
    with serve("gone") as far:
        url = far.url
    with Server(WEFT, folder("alone"), peer_config(url)) as near:
        assert post(near, envelope())["content"]["text"] == "spare here"


if __name__ == "__main__":
    try:
        main(globals())
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
