#!/usr/bin/env python3
"""/v1/responses from outside: answers, events, tools and approvals, which thread a response continues.

usage: responses.py WEFT   (TAP)
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-responses-")
URL = "/v1/responses"
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:responses.db
log: {level: warn}
models:
  echo: {provider: scripted, echo: true}
  pick: {provider: scripted, script: pick.json}
  remove: {provider: scripted, script: remove.json}
  erase: {provider: scripted, script: erase.json}
  slow: {provider: scripted, script: slow.json}
  fails: {provider: scripted, script: fails.json}
  tells: {provider: scripted, script: tells.json}
  hands: {provider: scripted, script: hands.json}
  late: {provider: scripted, script: late.json}
tools:
  pick: {description: Picks, parameters: {type: object}}
  remove: {description: Removes, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"]}
  erase: {description: Erases, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}
agents:
  echo: {model: echo}
  picks: {model: pick, tools: [pick]}
  removes: {model: remove, tools: [remove]}
  erases: {model: erase, tools: [erase]}
  slow: {model: slow}
  fails: {model: fails}
  tells: {model: tells}
  hands: {model: hands}
  late: {model: late, tools: [pick, remove]}
  alone: {model: tells, gateway: true}
"""
OUTER = """
server: {listen: "127.0.0.1:0"}
store: sqlite:outer.db
log: {level: warn}
models: {inner: {provider: openai, model: echo, base_url: "http://127.0.0.1:%d/v1", api_key: none}}
agents: {outer: {model: inner}}
"""


def call(id, name):
    return {"tool_call": {"id": id, "name": name, "arguments": {}}}


SCRIPTS = {
    "pick": [{"parts": [{"text": "Wait."}, call("c1", "pick"), call("c2", "pick")]}, {"parts": [{"text": "Picked."}]}],
    "remove": [{"parts": [{"reasoning": "Let us see."}, call("r1", "remove")]}, {"parts": [{"text": "Gone."}]}],
    "erase": [{"parts": [call("e1", "erase")]}, {"parts": [{"text": "Over."}]}],
    "slow": [{"parts": [{"text": "0123456789" * 4}], "delta_bytes": 4, "delay_ms": 60}],
    "tells": [{"parts": [{"request": True}]}],
    "late": [{"when": {"contains": "late"}, "parts": [{"request": True}]}, {"parts": [call("c1", "pick"), call("r1", "remove"), call("c2", "pick")]}],
    "hands": [{"parts": [call("h1", "transfer_to_other")]}, {"parts": [{"request": True}]}],
    "fails": [{"error": {"code": "PROVIDER_ERROR", "message": "too much"}}],
}


def folder(name):
    path = f"{HERE}/{name}"
    os.makedirs(path, exist_ok=True)
    for script, replies in SCRIPTS.items():
        with open(f"{path}/{script}.json", "w") as f:
            json.dump({"replies": replies, "at_end": "restart"}, f)
    with open(f"{path}/weft.yaml", "w") as f:
        f.write(CONFIG)
    return path


def ask(s, **body):
    return s.good("POST", URL, body)


def text(response):
    return "|".join(p["text"] for i in response["output"] if i["type"] == "message" for p in i["content"])


def frames(s, method, path, body=None, headers=None, limit=None):
    """The events of a stream: (id, name, data)."""
    c = s.connection()
    c.request(method, path, json.dumps(body) if body else None, headers or {})
    r = c.getresponse()
    assert r.status == 200, (r.status, r.read())
    found, id, name = [], None, None
    for line in r:
        line = line.decode().rstrip("\n")
        if line.startswith("id: "):
            id = line[4:]
        elif line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            found.append((id, name, json.loads(line[6:])))
            if len(found) == limit:
                break
    c.close()
    return found


def threads(s):
    return [t["id"] for t in s.good("GET", "/v1/threads?limit=100")["data"]]


def test_an_agent_is_a_model():
    with Server(WEFT, folder("model")) as s:
        a = ask(s, model="echo", input="hello", instructions="Be kind.", metadata={"k": "v"}, temperature=0.5)
        assert a["object"] == "response" and a["status"] == "completed" and a["model"] == "echo" and text(a) == "hello", a
        assert a["instructions"] == "Be kind." and a["metadata"] == {"k": "v"} and a["temperature"] == 0.5, a
        assert a["output"][0]["id"].startswith("msg_") and a["output"][0]["role"] == "assistant"
        assert s.good("GET", f"{URL}/{a['id']}") == a
        status, e = s.ask("POST", URL, {"model": "nobody", "input": "x"})
        assert status == 404 and e["error"]["code"] == "model_not_found", (status, e)
        status, e = s.ask("GET", f"{URL}/resp_00000000000000000000000000000000")
        assert status == 404 and e["error"]["code"] == "not_found", (status, e)


def test_a_stored_assistant_is_a_model():
    with Server(WEFT, folder("assistant")) as s:
        id = s.good("POST", "/v1/assistants", {"model": "echo", "name": "Guide", "temperature": 0.25})["id"]
        a = ask(s, model=id, input="hello")
        assert text(a) == "hello" and a["model"] == id and a["temperature"] == 0.25, a
        b = s.good("POST", "/v1/chat/completions", {"model": id, "messages": [{"role": "user", "content": "hi"}]})
        assert b["choices"][0]["message"]["content"] == "hi" and b["model"] == id, b
        status, e = s.ask("POST", URL, {"model": "asst_" + "0" * 32, "input": "x"})
        assert status == 404, (status, e)


def upload(s, name, data):
    body = (b'--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="'
            + name.encode() + b'"\r\n\r\n' + data + b"\r\n--b--\r\n")
    c = s.connection()
    c.request("POST", "/v1/files", body, {"content-type": "multipart/form-data; boundary=b"})
    r = c.getresponse()
    assert r.status == 200, r.read()
    return json.loads(r.read())["id"]


def test_uploaded_files_are_parts():
    with Server(WEFT, folder("files")) as s:
        png = upload(s, "a.png", b"\x89PNG\r\n\x1a\n" + 64 * b"\0")
        notes = upload(s, "notes.txt", b"Bring a hat.")
        parts = [{"type": "input_text", "text": "look"}, {"type": "input_image", "file_id": png}, {"type": "input_file", "file_id": notes}]
        c = s.good("POST", "/v1/conversations", {})["id"]
        a = ask(s, model="echo", conversation=c, input=[{"role": "user", "content": parts}])
        assert a["status"] == "completed" and text(a).startswith("look"), a
        items = s.good("GET", f"/v1/conversations/{c}/items?order=asc")["data"]
        assert [p.get("file_id") for p in items[0]["content"]] == [None, png, notes], items
        thread = s.good("GET", f"/v1/threads/thread_{c[5:]}/messages?order=asc")["data"][0]  # as the other APIs have it
        assert thread["content"][1]["image_file"]["file_id"] == png and thread["attachments"][0]["file_id"] == notes, thread
        chat = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"file_id": png}}, {"type": "file", "file": {"file_id": notes}}]
        b = s.good("POST", "/v1/chat/completions", {"model": "echo", "messages": [{"role": "user", "content": chat}]})
        assert b["choices"][0]["message"]["content"].startswith("look"), b
        for bad in ({"file_id": "file-" + 32 * "0"}, {"file_id": "nothing"}, {"file_id": notes}, {"image_url": f"weft:{png}"}, {}):
            for url, body in ((URL, {"input": [{"role": "user", "content": [{"type": "input_image", **bad}]}]}),
                              ("/v1/conversations", {"items": [{"type": "message", "role": "user", "content": [{"type": "input_image", **bad}]}]})):
                status, e = s.ask("POST", url, {"model": "echo", **body})
                assert status == 400 and e["error"]["param"], (bad, status, e)
        for bad in ({"file_id": "file-" + 32 * "0"}, {"file_data": f"weft:{notes}"}, {}):
            status, e = s.ask("POST", "/v1/chat/completions", {"model": "echo", "messages": [{"role": "user", "content": [{"type": "file", "file": bad}]}]})
            assert status == 400 and e["error"]["param"], (bad, status, e)
        assert len(threads(s)) == 2


def test_events_add_up_to_the_response():
    with Server(WEFT, folder("events")) as s:
        found = frames(s, "POST", URL, {"model": "removes", "input": "do it", "stream": True})
        assert [d["sequence_number"] for _, _, d in found] == list(range(len(found)))
        assert all(d["type"] == name for _, name, d in found)
        output = {}
        for _, _, d in found:
            if d["type"] == "response.output_item.done":
                output[d["output_index"]] = d["item"]
        last = found[-1][2]
        assert last["type"] == "response.completed"
        assert [output[i] for i in sorted(output)] == last["response"]["output"]
        assert [i["type"] for i in last["response"]["output"]] == ["reasoning", "mcp_call", "message"]
        assert last["response"]["output"][1]["status"] == "completed" and "gone" in last["response"]["output"][1]["output"]
        assert s.good("GET", f"{URL}/{last['response']['id']}") == last["response"]
        said = "".join(d["delta"] for _, _, d in found if d["type"] == "response.output_text.delta")
        assert said == "Gone."


def test_a_cut_stream_is_joined_at_every_frame():
    with Server(WEFT, folder("cut")) as s:
        whole = frames(s, "POST", URL, {"model": "slow", "input": "go", "stream": True})
        id = whole[0][2]["response"]["id"]
        assert len(whole) > 12, "it was not streamed"
        for cut in range(1, len(whole)):
            rest = frames(s, "GET", f"{URL}/{id}?stream=true", headers={"Last-Event-ID": whole[cut - 1][0]})
            assert rest == whole[cut:], cut


def test_a_response_continues_another():
    with Server(WEFT, folder("previous")) as s:
        one = ask(s, model="echo", input="one")
        two = ask(s, input="two", previous_response_id=one["id"])
        assert text(two) == "two" and two["model"] == "echo" and two["previous_response_id"] == one["id"]
        assert two["conversation"] == one["conversation"] and len(threads(s)) == 1
        other = ask(s, input="TWO", previous_response_id=one["id"])
        assert other["conversation"] != one["conversation"] and len(threads(s)) == 2, "it is a branch"
        branch = "thread_" + other["conversation"]["id"][5:]
        listed = s.good("GET", f"/v1/threads/{branch}/messages?order=asc")["data"]
        assert [m["content"][0]["text"]["value"] for m in listed] == ["one", "one", "TWO", "TWO"]
        three = ask(s, model="echo", input="three", conversation=one["conversation"]["id"])
        assert three["conversation"] == one["conversation"]
        status, e = s.ask("POST", URL, {"input": "x", "previous_response_id": "resp_1", "model": "echo"})
        assert status == 404 and e["error"]["param"] == "/previous_response_id", (status, e)
        status, e = s.ask("POST", URL, {"input": "x", "previous_response_id": one["id"], "conversation": "conv_1"})
        assert status == 400, (status, e)


def test_a_client_may_send_the_whole_conversation():
    with Server(WEFT, folder("whole")) as s:
        talk = [{"role": "user", "content": "one"}]
        for more in ("two", "three"):
            a = ask(s, model="echo", input=talk)
            talk += a["output"] + [{"role": "user", "content": [{"type": "input_text", "text": more}]}]
        assert text(ask(s, model="echo", input=talk)) == "three" and len(threads(s)) == 1


def test_tools_of_the_client():
    with Server(WEFT, folder("tools")) as s:
        a = ask(s, model="picks", input="pick two")
        calls = [i for i in a["output"] if i["type"] == "function_call"]
        assert len({c["call_id"] for c in calls}) == 2 and text(a) == "Wait.", a
        output = [{"type": "function_call_output", "call_id": c["call_id"], "output": "this"} for c in calls]
        status, e = s.ask("POST", URL, {"previous_response_id": a["id"], "input": output[:1] + [{**output[0], "call_id": "c9"}]})
        assert status == 400 and "c9" in e["error"]["message"], (status, e)
        status, e = s.ask("POST", URL, {"previous_response_id": a["id"], "input": "never mind"})
        assert status == 400, (status, e)
        b = ask(s, previous_response_id=a["id"], input=output)
        assert text(b) == "Picked." and b["id"] == a["id"] + "_2" and b["previous_response_id"] == a["id"], b
        assert s.ask("GET", f"/v1/responses/{a['id']}_3")[0] == 404  # there are two
        assert s.ask("DELETE", f"/v1/responses/{a['id']}_2")[0] == 400
        assert s.good("GET", f"{URL}/{a['id']}") == a and s.good("GET", f"{URL}/{b['id']}") == b
        # A client that keeps the conversation itself.
        a = ask(s, model="picks", input=[{"role": "user", "content": "once more"}])
        talk = [{"role": "user", "content": "once more"}] + a["output"]
        talk += [{"type": "function_call_output", "call_id": i["call_id"], "output": "this"}
                 for i in a["output"] if i["type"] == "function_call"]
        assert text(ask(s, model="picks", input=talk)) == "Picked." and len(threads(s)) == 2


def test_a_late_result_is_shown_on_a_branch():
    """Each call has one result: the client's where it has sent one, else what the log has."""
    with Server(WEFT, folder("late"), CONFIG + "waits: {tool: 1s}\n") as s:
        for of, many, end in ((0, 2, "expired"), (0, 1, "cancelled"), (1, 2, "cancelled")):
            a = b = ask(s, model="late", input="pick")
            calls = [[i for i in a["output"] if i["type"] == "function_call"]]
            output = lambda which, text: [{"type": "function_call_output", "call_id": c["call_id"], "output": text} for c in which]
            if of:  # the calls before were answered in time
                b = ask(s, previous_response_id=a["id"], input=output(calls[0], "in time"))
                calls.append([i for i in b["output"] if i["type"] == "function_call"])
            if end == "cancelled":
                s.good("POST", f"{URL}/{a['id']}/cancel")
            deadline = time.monotonic() + 30
            run = f"/v1/threads/thread_{a['conversation']['id'][5:]}/runs/run_{a['id'][5:]}"
            while s.good("GET", run)["status"] == "requires_action":
                assert time.monotonic() < deadline
                time.sleep(0.05)
            c = ask(s, previous_response_id=b["id"], input=output(calls[of][:many], "late"))
            shown = json.loads(text(c))["messages"]
            assert shown[-1].count("late") == many and shown[-1].count("not run") == 2 - many and "gone" in shown[-1], shown
            assert c["id"][:37] != a["id"] and c["conversation"] != a["conversation"], "what there was stays"
            status, e = s.ask("POST", URL, {"previous_response_id": b["id"], "input": output(calls[of][:1] * 2, "late")})
            assert status == 400 and "has two" in e["error"]["message"], e
            asked = {"role": "user", "content": "late"}
            status, e = s.ask("POST", URL, {"previous_response_id": b["id"], "input": [asked] + output(calls[of], "late")})
            assert status == 400 and "right after its call" in e["error"]["message"], e
            [own] = [i for i in b["output"] if i["type"] == "mcp_call"]
            status, e = s.ask("POST", URL, {"previous_response_id": b["id"], "input": output([{"call_id": own["id"][4:]}], "late")})
            assert status == 400 and "no call" in e["error"]["message"], e
            # Without the id: not that conversation.
            before = len(threads(s))
            talk = [{"role": "user", "content": "pick"}] + a["output"] + output(calls[0], "late")
            shown = json.loads(text(ask(s, model="late", input=talk)))["messages"]
            assert shown[-1].count("late") == 2 and len(shown) == 3 and len(threads(s)) == before + 1, shown
        for t in threads(s):
            with open(f"{HERE}/late.json", "w") as f:
                json.dump(s.good("GET", f"/v1/threads/{t}/export?as=thread"), f)
            found = subprocess.run([WEFT, "validate", f"{HERE}/late.json"], capture_output=True, text=True, cwd=HERE)
            assert found.returncode == 0, found.stdout + found.stderr


def test_a_tool_of_the_request():
    with Server(WEFT, folder("own")) as s:
        tool = {"type": "function", "name": "look", "parameters": {"type": "object"}}
        a = ask(s, model="echo", input="x", tools=[tool], tool_choice={"type": "function", "name": "look"})
        assert a["tools"][0]["name"] == "look", a
        status, e = s.ask("POST", URL, {"model": "removes", "input": "x", "tools": [{**tool, "name": "remove"}]})
        assert status == 400, (status, e)
        status, e = s.ask("POST", URL, {"model": "echo", "input": "x", "tools": [{"type": "web_search"}]})
        assert status == 400 and "web_search" in e["error"]["message"], (status, e)


def test_an_approval_is_an_item_and_answered_by_one():
    with Server(WEFT, folder("approval")) as s:
        a = ask(s, model="erases", input="erase it")
        asked = a["output"][-1]
        assert asked["type"] == "mcp_approval_request" and asked["name"] == "erase", a
        b = ask(s, previous_response_id=a["id"],
                input=[{"type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": True}])
        assert text(b) == "Over." and b["output"][0]["type"] == "mcp_call" and b["output"][0]["status"] == "completed", b
        a = ask(s, model="erases", input="erase it")
        b = ask(s, previous_response_id=a["id"],
                input=[{"type": "mcp_approval_response", "approval_request_id": a["output"][-1]["id"], "approve": False, "reason": "no"}])
        assert text(b) == "Over." and not any(i["type"] == "mcp_call" and i["status"] == "completed" for i in b["output"]), b


def test_the_same_conversations_wait_each_for_its_own_answers():
    """Clients that send everything each time, without an id of a response."""
    with Server(WEFT, folder("same")) as s:
        talk = [{"role": "user", "content": "pick"}]
        both = [ask(s, model="picks", input=talk) for _ in "ab"]
        for a in both:
            output = [{"type": "function_call_output", "call_id": i["call_id"], "output": a["id"]} for i in a["output"] if i["type"] == "function_call"]
            b = ask(s, model="picks", input=talk + a["output"] + output)
            assert b["id"] == a["id"] + "_2" and text(b) == "Picked.", b
        both = [ask(s, model="erases", input="erase it") for _ in "ab"]
        for a, good in zip(both, (False, True)):
            asked = a["output"][-1]
            reply = {"type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": good}
            elsewhere = ask(s, model="erases", input=[{"role": "user", "content": "another"}, asked, reply])
            assert elsewhere["output"][-1]["type"] == "mcp_approval_request", "no authority over another conversation"
            b = ask(s, model="erases", input=[{"role": "user", "content": "erase it"}, asked, reply])
            assert b["id"] == a["id"] + "_2" and text(b) == "Over.", b
            assert good == any(i["type"] == "mcp_call" and i["status"] == "completed" for i in b["output"]), b


def test_a_streamed_call_begins_without_arguments():
    """LangChain and others add what comes to what the item began with."""
    with Server(WEFT, folder("arguments")) as s:
        found = [d for _, _, d in frames(s, "POST", URL, {"model": "picks", "input": "pick", "stream": True})]
        begun = [d["item"] for d in found if d["type"] == "response.output_item.added" and d["item"]["type"] == "function_call"]
        ended = [d["item"] for d in found if d["type"] == "response.output_item.done" and d["item"]["type"] == "function_call"]
        assert [(i["arguments"], i["status"]) for i in begun] == [("", "in_progress")] * 2, begun
        assert [(i["arguments"], i["status"]) for i in ended] == [("{}", "completed")] * 2, ended
        assert [i["id"] for i in begun] == [i["id"] for i in ended]


def test_an_item_is_referred_to():
    """As the AI SDK sends every second turn: what was received before is its id."""
    with Server(WEFT, folder("reference")) as s:
        refer = lambda i: {"type": "item_reference", "id": i["id"]}
        user = lambda t: {"role": "user", "content": [{"type": "input_text", "text": t}]}
        a = ask(s, model="removes", input=[user("one")])
        talk = [user("one")] + [refer(i) for i in a["output"]] + [user("two")]
        b = ask(s, model="removes", input=talk)
        assert text(b) == "Gone." and b["conversation"] == a["conversation"] and len(threads(s)) == 1, b
        c = ask(s, model="picks", input=[user("pick")])
        calls = [i for i in c["output"] if i["type"] == "function_call"]
        talk = [user("pick")] + [refer(i) for i in c["output"]] + [
            {"type": "function_call_output", "call_id": i["call_id"], "output": "x"} for i in calls]
        d = ask(s, model="picks", input=talk)
        assert d["id"] == c["id"] + "_2" and text(d) == "Picked.", d
        e = ask(s, model="picks", input=talk + [refer(i) for i in d["output"]] + [user("more")])
        assert e["conversation"] == c["conversation"] and len(threads(s)) == 2, e
        listed = s.good("GET", f"/v1/conversations/{c['conversation']['id']}/items?order=asc&limit=100")["data"]
        f = ask(s, model="tells", input=[{"id": i["id"]} for i in listed[:8]])  # elsewhere, and without a type
        assert all(w in text(f) for w in ("pick", "Wait.", "Picked.", "more")) and f["conversation"] != c["conversation"], f
        c = s.connection()  # what was posted has no run
        c.request("POST", "/v1/conversations", json.dumps({"items": [user("of ann")]}), {"weft-user": "ann"})
        theirs = json.loads(c.getresponse().read())["id"]
        c.request("GET", f"/v1/conversations/{theirs}/items", headers={"weft-user": "ann"})
        theirs = json.loads(c.getresponse().read())["data"][0]["id"]
        own = s.good("POST", "/v1/conversations", {"items": [user("posted")]})["id"]
        [item] = s.good("GET", f"/v1/conversations/{own}/items")["data"]
        assert "posted" in text(ask(s, model="tells", input=[refer(item), user("and?")]))
        for bad in (theirs, "msg_" + "0" * 32, "fc_call_" + "0" * 32, "fc_c1", "nothing", f"msg_{a['id'][5:]}"):
            status, e = s.ask("POST", URL, {"model": "echo", "input": [refer({"id": bad}), user("x")]})
            assert (status, e["error"]["param"]) == (400, "/input/0"), (bad, status, e)


def test_a_request_that_continues_brings_its_own_tools():
    """Handoffs of openai-agents: the next agent's tools and instructions come with the result of the handoff."""
    tool = lambda name: {"type": "function", "name": name, "parameters": {"type": "object"}}
    with Server(WEFT, folder("hands")) as s:
        for stateless in (True, False):
            for again in ({"tools": [tool("search")], "instructions": "You search.", "temperature": 0.5}, {}):
                first = [{"role": "user", "content": "go"}]
                a = ask(s, model="hands", input=first, tools=[tool("transfer_to_other")], instructions="You triage.")
                done = [{"type": "function_call_output", "call_id": a["output"][0]["call_id"], "output": "ok"}]
                b = ask(s, **({"input": first + a["output"] + done} if stateless else {"input": done, "previous_response_id": a["id"]}),
                        model="hands", **again)
                assert b["id"] == a["id"] + "_2", b
                assert [t["name"] for t in b["tools"]] == (["search"] if again else []) and b["instructions"] == again.get("instructions"), b
                assert ("search" in text(b)) == bool(again) and "transfer_to_other\",\"descr" not in text(b), text(b)
                assert ("You search." in text(b)) == bool(again) and "You triage." not in text(b), text(b)
        status, e = s.ask("POST", URL, {"model": "hands", "input": "go", "tools": [{"type": "function", "name": "a b"}]})
        assert status == 400 and e["error"]["param"] == "/tools/0/name", e


def test_another_model_is_asked_where_a_run_waits():
    """Handoffs of openai-agents between models: the model that is asked for answers, or the response says who does."""
    outputs = lambda a, n=2: [{"type": "function_call_output", "call_id": i["call_id"], "output": "found it"}
                              for i in a["output"] if i["type"] == "function_call"][:n]
    state = lambda s, a: s.good("GET", f"/v1/threads/thread_{a['conversation']['id'][5:]}/runs/run_{a['id'][5:37]}")["status"]

    def ignored(s, **body):
        c = s.connection()
        c.request("POST", URL, json.dumps(body))
        r = c.getresponse()
        found = r.status, json.loads(r.read()), r.headers["weft-ignored"]
        c.close()
        return found

    with Server(WEFT, folder("asked")) as s:
        tool = {"type": "function", "name": "search", "parameters": {"type": "object"}}
        for named in ("previous_response_id", "conversation"):
            for n in (2, 1):  # a call without an output gets a result that says so
                a = ask(s, model="picks", input="pick two")
                at = {named: a["id"] if named == "previous_response_id" else a["conversation"]["id"]}
                body = {"model": "tells", "input": outputs(a, n), "tools": [tool], "instructions": "You search.", **at}
                status, b, names = ignored(s, **body)
                assert (status, b.get("model"), names) == (200, "tells", None), (b, names)
                shown = json.loads(text(b))
                assert json.dumps(shown["messages"]).count("found it") == n and "search" in text(b) and "You search." in text(b), shown
                assert b["id"][:37] != a["id"] and b["conversation"] == a["conversation"], "in the same conversation"
                assert s.good("GET", f"{URL}/{b['id']}") == b and state(s, a) == "cancelled" and s.good("GET", f"{URL}/{a['id']}")["model"] == "picks"
                if named == "previous_response_id":
                    assert ask(s, **body)["id"] == b["id"], "the same request again joins"
                c = ask(s, model="tells", previous_response_id=b["id"], input="more")
                assert c["conversation"] == a["conversation"] and text(c).count("found it") >= n, c
        # A refused request ends nothing.
        a = ask(s, model="picks", input="pick two")
        for bad in ({"tools": [{**tool, "name": "a b"}]}, {"input": outputs(a) + outputs(a, 1)}, {"input": "never mind"}, {"store": False}):
            status, e, _ = ignored(s, **{"model": "tells", "previous_response_id": a["id"], "input": outputs(a), **bad})
            assert status == 400 and state(s, a) == "requires_action", (bad, status, e)
        # An agent whose own calls wait goes on itself: nothing that it does for the calls is lost.
        a = ask(s, model="erases", input="erase it")
        reply = {"type": "mcp_approval_response", "approval_request_id": a["output"][-1]["id"], "approve": True}
        status, b, names = ignored(s, model="tells", previous_response_id=a["id"], input=[reply])
        assert (status, b["model"], names, text(b)) == (200, "erases", "model", "Over.") and b["id"] == a["id"] + "_2", (b, names)
        assert s.good("GET", f"{URL}/{b['id']}") == b
        a = ask(s, model="late", input="pick")  # a tool of the server's ran beside the client's
        status, b, names = ignored(s, model="tells", previous_response_id=a["id"], input=outputs(a))
        assert (status, b["model"], names) == (200, "late", "model") and b["id"] == a["id"] + "_2", (b, names)


def test_small_members():
    with Server(WEFT, folder("small")) as s:
        a = ask(s, model="echo", input="one")
        # The name that was asked for.
        for body in ({"model": "slow", "input": "x"}, {"model": "echo", "input": "x"}):
            assert ask(s, **body)["model"] == body["model"]
        # Nothing new after a response.
        b = ask(s, previous_response_id=a["id"])
        assert b["status"] == "completed" and b["conversation"] == a["conversation"] and text(b) == "one", b
        status, e = s.ask("POST", URL, {"model": "echo"})
        assert (status, e["error"]["message"][:7]) == (400, "'input'"), e
        # Parameters that do nothing.
        c = s.connection()
        c.request("GET", f"{URL}/{a['id']}?include[]=reasoning.encrypted_content&stream=false&zzz=1")
        r = c.getresponse()
        assert r.status == 200 and r.headers["weft-ignored"] == "include[], zzz", r.headers
        r.read()
        c.request("GET", f"{URL}/{a['id']}?stream=true&odd=1%0d%0aset-cookie:x=1&b%0d%0aad=1")
        r = c.getresponse()
        assert r.headers["weft-ignored"] == "odd, ?" and "set-cookie" not in r.headers, r.headers
        c.close()
        # A conversation begins with as many items as a request takes, and each request adds as many.
        assert s.good("POST", "/v1/conversations", {"items": []})["object"] == "conversation"
        items = [{"type": "message", "role": "user", "content": f"{i}"} for i in range(4097)]
        made = s.good("POST", "/v1/conversations", {"items": items[:4096]})["id"]
        added = s.good("POST", f"/v1/conversations/{made}/items", {"items": items[1:]})["data"]
        assert [i["content"][0]["text"] for i in added] == [f"{i}" for i in range(1, 4097)], added
        first = s.good("GET", f"/v1/conversations/{made}/items?order=asc&limit=100")
        last = s.good("GET", f"/v1/conversations/{made}/items?limit=100")
        assert first["has_more"] and [i["content"][0]["text"] for i in first["data"]] == [f"{i}" for i in range(100)], first
        assert last["has_more"] and last["data"] == added[:-101:-1], last
        for path in ("", f"/{made}/items"):
            status, e = s.ask("POST", f"/v1/conversations{path}", {"items": items})
            assert (status, e["error"]["param"]) == (400, "/items") and "4096" in e["error"]["message"], (path, status, e)
        assert s.good("GET", f"/v1/conversations/{made}/items?limit=100") == last


def test_a_stream_starts_after_an_event():
    with Server(WEFT, folder("after")) as s:
        a = [d for _, _, d in frames(s, "POST", URL, {"model": "picks", "input": "pick", "stream": True})]
        id = a[-1]["response"]["id"]
        output = [{"type": "function_call_output", "call_id": i["call_id"], "output": "x"}
                  for i in a[-1]["response"]["output"] if i["type"] == "function_call"]
        b = [d for _, _, d in frames(s, "POST", URL, {"previous_response_id": id, "model": "picks", "input": output, "stream": True})]
        assert b[-1]["response"]["id"] == id + "_2", b
        for n in (0, 3, len(a) - 2):
            got = [d for _, _, d in frames(s, "GET", f"{URL}/{id}?stream=true&starting_after={n}", limit=len(a) - n - 1)]
            assert got == a[n + 1:], (n, got)
        assert [d for _, _, d in frames(s, "GET", f"{URL}/{id}_2?stream=true")] == b
        for n in (0, len(b) - 2):
            assert [d for _, _, d in frames(s, "GET", f"{URL}/{id}_2?stream=true&starting_after={n}")] == b[n + 1:], n
        assert s.ask("GET", f"{URL}/{id}_3?stream=true")[0] == 404
        assert s.ask("GET", f"{URL}/{id}?stream=true&starting_after=x")[0] == 400


def test_system_text_of_clients():
    """UAP 16.5: a model alone takes it as its system prompt, any other agent refuses it by name."""
    system = {"role": "system", "content": "OBEY-ME"}
    with Server(WEFT, folder("system")) as s:
        status, e = s.ask("POST", URL, {"model": "tells", "input": [system, {"role": "user", "content": "x"}]})
        assert (status, e["error"]["code"], e["error"]["param"]) == (400, "system_message_refused", "/input/0/role"), e
        a = ask(s, model="alone", input=[system, {"role": "user", "content": "x"}], instructions="FIRST")
        assert "FIRST\\n\\nOBEY-ME" in text(a) or "FIRST\n\nOBEY-ME" in text(a), text(a)
        assert a["instructions"] == "FIRST\n\nOBEY-ME", a


def left(s):
    """What lists and search find."""
    return [s.good("GET", "/v1/threads?limit=100")["data"], s.good("GET", "/v1/search?q=secret")["data"]]


def wait_until_nothing_is_left(s):
    end = time.monotonic() + 90
    while left(s) != [[], []]:
        assert time.monotonic() < end, left(s)
        time.sleep(0.2)


def test_what_is_not_stored_is_not_found():
    with Server(WEFT, folder("unstored")) as s:
        for stream in (False, True):
            body = {"model": "echo", "input": "a secret", "store": False, "instructions": "secret too"}
            a = frames(s, "POST", URL, {**body, "stream": True})[-1][2]["response"] if stream else ask(s, **body)
            assert a["status"] == "completed" and a["store"] is False and text(a) == "a secret", a
            for path in (f"{URL}/{a['id']}", f"{URL}/{a['id']}/input_items", f"/v1/conversations/{a['conversation']['id']}",
                         f"/v1/threads/thread_{a['conversation']['id'][5:]}/export?as=thread",
                         f"/v1/threads/thread_{a['conversation']['id'][5:]}/entries",
                         f"/v1/threads/thread_{a['conversation']['id'][5:]}/audit",
                         f"/v1/threads/thread_{a['conversation']['id'][5:]}/runs/run_{a['id'][5:]}", f"/v1/runs/run_{a['id'][5:]}/events"):
                assert s.ask("GET", path)[0] == 404, path
            chat = {"model": "echo", "messages": [{"role": "user", "content": "a secret"}], "store": False}
            if stream:
                frames_ = s.connection()
                frames_.request("POST", "/v1/chat/completions", json.dumps({**chat, "stream": True}))
                assert frames_.getresponse().read().endswith(b"data: [DONE]\n\n")
            else:
                assert s.good("POST", "/v1/chat/completions", chat)["choices"][0]["message"]["content"] == "a secret"
            assert left(s) == [[], []], left(s)
        # A run that waits stays until it has ended.
        talk = [{"role": "user", "content": "a secret"}]
        a = ask(s, model="picks", input=talk, store=False)
        assert s.good("GET", f"{URL}/{a['id']}")["store"] is False
        talk += a["output"] + [{"type": "function_call_output", "call_id": i["call_id"], "output": "x"} for i in a["output"] if i["type"] == "function_call"]
        b = ask(s, model="picks", input=talk, store=False)
        assert b["id"] == a["id"] + "_2" and text(b) == "Picked.", b
        a = ask(s, model="picks", input="a secret", store=False)
        b = ask(s, previous_response_id=a["id"], store=False, input=[{"type": "function_call_output", "call_id": i["call_id"], "output": "x"}
                                                                     for i in a["output"] if i["type"] == "function_call"])
        assert text(b) == "Picked." and left(s) == [[], []], left(s)
        # One that fails, too; and nothing is added to what is stored.
        ask(s, model="fails", input="a secret", store=False)
        assert left(s) == [[], []], left(s)
        kept = ask(s, model="echo", input="kept")
        status, e = s.ask("POST", URL, {"previous_response_id": kept["id"], "input": "a secret", "store": False})
        assert status == 400 and "store" in e["error"]["message"], e
        status, e = s.ask("POST", URL, {"conversation": kept["conversation"]["id"], "model": "echo", "input": "a secret", "store": False})
        assert status == 400 and "store" in e["error"]["message"], e
        again = ask(s, model="echo", store=False, input=[{"role": "user", "content": "kept"}, {"role": "assistant", "content": "kept"}, {"role": "user", "content": "a secret"}])
        assert text(again) == "a secret" and len(threads(s)) == 1 and left(s)[1] == [], left(s)


def test_what_is_not_stored_is_erased_after_a_kill():
    path = folder("unstored-kill")
    with Server(WEFT, path) as s:
        frames(s, "POST", URL, {"model": "slow", "input": "a secret", "store": False, "stream": True}, limit=6)
        s.process.kill()
        s.process.wait()
    with Server(WEFT, path) as s:
        wait_until_nothing_is_left(s)


def blobs(path):
    db = sqlite3.connect(f"{path}/responses.db", timeout=30)
    try:
        return db.execute("SELECT count(*) FROM pieces").fetchone()[0]
    finally:
        db.close()


def wait_for_blobs(path, n):
    end = time.monotonic() + 60
    while blobs(path) != n:
        assert time.monotonic() < end, (blobs(path), n)
        time.sleep(0.2)


def test_large_texts_of_what_is_not_stored_are_erased():
    """In the minute after the end, also after a kill, and by every other erasure; what something else has stays."""
    path = folder("unstored-large")
    secret, kept = (os.urandom(10000).hex() for _ in "ab")
    with Server(WEFT, path) as s:
        thread = ask(s, model="echo", input=kept)["conversation"]["id"]
        n = blobs(path)
        ask(s, model="echo", input=secret, store=False)
        ask(s, model="echo", input=kept, store=False)
        s.good("POST", "/v1/chat/completions", {"model": "echo", "store": False, "messages": [{"role": "user", "content": secret + "x"}]})
        assert blobs(path) > n > 0, "they are large"
        wait_for_blobs(path, n)
        ask(s, model="echo", input=secret, store=False)
        s.process.kill()
        s.process.wait()
        assert blobs(path) > n
    with Server(WEFT, path) as s:
        wait_for_blobs(path, n)
        assert kept in json.dumps(s.good("GET", f"/v1/threads/thread_{thread[5:]}/messages"))
        s.good("DELETE", f"/v1/threads/thread_{thread[5:]}?erase=tree")
        wait_for_blobs(path, 0)


def test_what_is_not_stored_has_a_long_answer():
    long = "secret " * 30000  # the last event is longer than what is sent in one piece
    with Server(WEFT, folder("unstored-long")) as s:
        a = frames(s, "POST", URL, {"model": "echo", "input": long, "store": False, "stream": True})[-1][2]["response"]
        assert text(a) == long and left(s) == [[], []], a["status"]


def test_two_clients_send_what_is_not_stored():
    with Server(WEFT, folder("unstored-two")) as s, ThreadPoolExecutor(4) as pool:
        body = {"model": "slow", "input": "a secret", "store": False, "stream": True}
        keys = [{"Idempotency-Key": "same"}] * 2 + [{}] * 2
        ends = list(pool.map(lambda h: frames(s, "POST", URL, body, h)[-1], keys))
        assert [e[1] for e in ends] == ["response.completed"] * 4, ends
        assert {text(e[2]["response"]) for e in ends} == {"0123456789" * 4} and left(s) == [[], []], left(s)


def test_an_answer_need_not_say_that_nothing_is_stored():
    with Server(WEFT, folder("unstored-answer")) as s:
        a = ask(s, model="picks", input="a secret", store=False)
        b = ask(s, previous_response_id=a["id"], input=[{"type": "function_call_output", "call_id": i["call_id"], "output": "x"}
                                                        for i in a["output"] if i["type"] == "function_call"])
        assert b["store"] is False and text(b) == "Picked.", b
        wait_until_nothing_is_left(s)


def test_a_client_leaves_what_is_not_stored():
    with Server(WEFT, folder("unstored-left")) as s:
        frames(s, "POST", URL, {"model": "slow", "input": "a secret", "store": False, "stream": True}, limit=6)
        wait_until_nothing_is_left(s)


def test_weft_is_the_model_of_weft():
    """Weft's own provider of this API says `store: false`."""
    path = folder("unstored-outer")
    with Server(WEFT, folder("unstored-inner")) as inner, Server(WEFT, path, OUTER % inner.port) as outer:
        for _ in range(2):
            run = outer.good("POST", "/v1/responses", {"model": "outer", "input": "a secret"})
            assert text(run) == "a secret", run
            assert left(inner) == [[], []], left(inner)
        assert len(threads(outer)) == 2


def test_in_the_background_and_cancelled():
    with Server(WEFT, folder("background")) as s:
        a = ask(s, model="slow", input="go", background=True)
        assert a["status"] in ("queued", "in_progress") and a["output"] == [] and a["usage"] is None and a["background"] is True, a
        end = time.monotonic() + 60
        while (b := s.good("GET", f"{URL}/{a['id']}"))["status"] in ("queued", "in_progress"):
            assert time.monotonic() < end
            time.sleep(0.02)
        assert text(b) == "0123456789" * 4 and b["background"] is True
        for more in ({"background": True}, {"background": False}, {}):
            sent = [d for _, _, d in frames(s, "POST", URL, {"model": "echo", "input": "go", "stream": True, **more})]
            told = [(d["type"], d["response"]["background"]) for d in sent if "response" in d]
            id = sent[-1]["response"]["id"]
            again = [(d["type"], d["response"]["background"]) for _, _, d in frames(s, "GET", f"{URL}/{id}?stream=true") if "response" in d]
            assert [t for t, _ in told] == ["response.created", "response.in_progress", "response.completed"], told
            assert again == told and {b for _, b in told} == {more.get("background", False)}, (more, told, again)
        a = ask(s, model="slow", input="go", background=True)
        b = s.good("POST", f"{URL}/{a['id']}/cancel")
        assert b["status"] == "cancelled" and b["id"] == a["id"], b


def test_a_conversation_and_its_items_page_by_page():
    with Server(WEFT, folder("conversation")) as s:
        c = s.good("POST", "/v1/conversations", {"items": [{"role": "user", "content": "before"}], "metadata": {"k": "v"}})
        assert c["object"] == "conversation" and c["metadata"] == {"k": "v"} and s.good("GET", f"/v1/conversations/{c['id']}") == c
        a = ask(s, model="removes", input="do it", conversation=c["id"])
        ask(s, model="echo", input=[{"role": "user", "content": [{"type": "input_text", "text": "look"},
                                     {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]}],
            conversation={"id": c["id"]})
        made = s.good("POST", f"/v1/conversations/{c['id']}/items", {"items": [{"role": "user", "content": "after"}]})["data"]
        base = f"/v1/conversations/{c['id']}/items"
        all = s.good("GET", f"{base}?order=asc&limit=100")["data"]
        assert [i["type"] for i in all] == ["message", "message", "reasoning", "function_call", "function_call_output",
                                            "message", "message", "message", "message"], all
        assert all[-1] == made[0] and all[5]["id"] == a["output"][-1]["id"]
        assert all[6]["content"][1]["image_url"].startswith("data:image/png;base64,"), all[6]
        for order in ("asc", "desc"):
            for limit in (1, 2, 3):
                got, after = [], ""
                while True:
                    page = s.good("GET", f"{base}?order={order}&limit={limit}{after}")
                    got += page["data"]
                    if not page["has_more"]:
                        break
                    after = f"&after={page['last_id']}"
                assert got == (all if order == "asc" else all[::-1]), (order, limit, got)
        for i in all:
            assert s.good("GET", f"{base}/{i['id']}") == i
        assert s.good("POST", f"/v1/conversations/{c['id']}", {"metadata": {"k": "w"}})["metadata"] == {"k": "w"}
        assert s.good("GET", f"/v1/conversations/{c['id']}")["metadata"] == {"k": "w"}
        assert s.ask("POST", f"/v1/conversations/{c['id']}", {})[0] == 400
        assert s.good("DELETE", f"{base}/{all[-1]['id']}")["id"] == c["id"]
        assert s.good("GET", f"{base}?order=asc&limit=100")["data"] == all[:-1] and s.ask("GET", f"{base}/{all[-1]['id']}")[0] == 404
        assert s.ask("DELETE", f"{base}/{all[3]['id']}")[0] == 400, "a call stays with its message"
        assert s.good("DELETE", f"/v1/conversations/{c['id']}") == {"id": c["id"], "object": "conversation.deleted", "deleted": True}
        assert s.ask("GET", f"/v1/conversations/{c['id']}")[0] == 404


def test_a_deleted_item_is_not_there():
    with Server(WEFT, folder("deleted")) as s:
        c = s.good("POST", "/v1/conversations", {"items": [{"role": "user", "content": "secret"}, {"role": "user", "content": "open"}]})
        base = f"/v1/conversations/{c['id']}/items"
        open_, secret = s.good("GET", base)["data"]
        s.good("DELETE", f"/v1/threads/thread_{c['id'][5:]}/messages/{secret['id']}")
        assert s.ask("GET", f"{base}/{secret['id']}")[0] == 404
        assert s.good("GET", f"{base}/{open_['id']}") == open_ and s.good("GET", base)["data"] == [open_]


def inputs(s, id, query=""):
    return s.good("GET", f"{URL}/{id}/input_items?order=asc{query}")


def kinds(items):
    return [(i["type"], (i.get("content") or [{}])[0].get("text") or i.get("call_id")) for i in items]


def test_the_input_of_a_response():
    """What its model was given: all that is before its output, wherever the thread has gone since."""
    with Server(WEFT, folder("inputs")) as s:
        a = ask(s, model="echo", input=[{"role": "user", "content": "one"}, {"role": "user", "content": "two"}])
        b = ask(s, previous_response_id=a["id"], input="three")
        c = ask(s, previous_response_id=a["id"], input="other")
        assert kinds(inputs(s, a["id"])["data"]) == [("message", "one"), ("message", "two")]
        whole = inputs(s, b["id"])["data"]
        assert kinds(whole) == [("message", "one"), ("message", "two"), ("message", "two"), ("message", "three")], whole
        assert [i["role"] for i in whole] == ["user", "user", "assistant", "user"], whole
        assert kinds(inputs(s, c["id"])["data"])[-1] == ("message", "other")
        page = inputs(s, b["id"], "&limit=3")
        assert page["has_more"] and inputs(s, b["id"], f"&after={page['last_id']}")["data"] == whole[3:], page
        assert s.good("GET", f"{URL}/{b['id']}/input_items")["data"] == whole[::-1], "the newest is first"
        # A response after results of the client: its input has the calls and the results.
        w = ask(s, model="picks", input="go")
        done = ask(s, previous_response_id=w["id"], input=[{"type": "function_call_output", "call_id": i["call_id"], "output": "x"}
                                                             for i in w["output"] if i["type"] == "function_call"])
        assert done["id"] == w["id"] + "_2", done
        assert kinds(inputs(s, w["id"])["data"]) == [("message", "go")]
        found = kinds(inputs(s, done["id"])["data"])
        assert [k for k, _ in found] == ["message", "message", "function_call", "function_call", "function_call_output", "function_call_output"], found
        assert s.ask("GET", f"{URL}/resp_{'0' * 32}/input_items")[0] == 404


def test_a_deleted_response_is_gone():
    path = folder("gone")
    with Server(WEFT, path) as s:
        a = ask(s, model="echo", input="the first secret")
        b = ask(s, previous_response_id=a["id"], input="the second one")
        assert s.good("DELETE", f"{URL}/{a['id']}") == {"id": a["id"], "object": "response", "deleted": True}
        for method, route in (("GET", ""), ("DELETE", ""), ("GET", "/input_items"), ("POST", "/cancel")):
            status, e = s.ask(method, f"{URL}/{a['id']}{route}")
            assert (status, e["error"]["code"]) == (404, "not_found"), (method, route, e)
        assert s.ask("POST", URL, {"previous_response_id": a["id"], "input": "x"})[0] == 404
        left = json.dumps(s.good("GET", f"/v1/conversations/{b['conversation']['id']}/items"))
        assert "second" in left and "secret" not in left, left
        assert "secret" not in json.dumps(s.good("GET", f"/v1/threads/thread_{b['conversation']['id'][5:]}/export?as=thread"))
        assert text(s.good("GET", f"{URL}/{b['id']}")) == "the second one"
        assert text(ask(s, previous_response_id=b["id"], input="goes on")) == "goes on"
        c = ask(s, model="slow", input="x", background=True)
        status, e = s.ask("DELETE", f"{URL}/{c['id']}")
        assert (status, e["error"]["code"]) == (400, "conflict") and "cancel" in e["error"]["message"], e
        s.good("POST", f"{URL}/{c['id']}/cancel")
        s.good("DELETE", f"{URL}/{c['id']}")
        assert s.ask("GET", f"{URL}/{c['id']}")[0] == 404
    with Server(WEFT, path) as s:
        assert s.ask("GET", f"{URL}/{a['id']}")[0] == 404 and text(s.good("GET", f"{URL}/{b['id']}")) == "the second one"


def thread_ids(s):
    return {t["id"][7:] for t in s.good("GET", "/v1/threads?limit=100")["data"]}


def test_a_thread_goes_with_its_last_response():
    with Server(WEFT, folder("empty")) as s:
        alone = ask(s, model="echo", input="alone")
        place = alone["conversation"]["id"][5:]
        assert place in thread_ids(s)
        s.good("DELETE", f"{URL}/{alone['id']}")
        assert place not in thread_ids(s) and s.ask("GET", f"/v1/conversations/conv_{place}")[0] == 404

        a = ask(s, model="echo", input="first")
        b = ask(s, previous_response_id=a["id"], input="second")
        c = ask(s, previous_response_id=b["id"], input="third")
        place = c["conversation"]["id"][5:]
        for one in (a, c, b):
            assert place in thread_ids(s)
            s.good("DELETE", f"{URL}/{one['id']}")
        assert place not in thread_ids(s)

        whole = [{"role": "user", "content": "one"}]
        a = ask(s, model="echo", input=whole)
        whole += [{"role": "assistant", "content": text(a)}, {"role": "user", "content": "two"}]
        b = ask(s, model="echo", input=whole)
        assert a["conversation"] == b["conversation"]
        s.good("DELETE", f"{URL}/{a['id']}")
        s.good("DELETE", f"{URL}/{b['id']}")
        assert a["conversation"]["id"][5:] not in thread_ids(s)

        chat = s.good("POST", "/v1/chat/completions", {"model": "echo", "messages": [{"role": "user", "content": "chat"}]})
        assert len(thread_ids(s)) == 1
        s.good("DELETE", f"{URL}/resp_{chat['id'].split('-')[1]}")
        assert not thread_ids(s)


def test_a_thread_that_is_used_stays():
    with Server(WEFT, folder("used")) as s:
        made = s.good("POST", "/v1/conversations", {})["id"]
        a = ask(s, model="echo", conversation=made, input="asked for")
        b = ask(s, previous_response_id=a["id"], input="more")
        s.good("DELETE", f"{URL}/{a['id']}")
        s.good("DELETE", f"{URL}/{b['id']}")
        assert thread_ids(s) == {made[5:]}, "the client made it"
        c = ask(s, model="echo", input="mine")
        place = c["conversation"]["id"][5:]
        s.good("POST", f"/v1/threads/thread_{place}/messages", {"role": "user", "content": "a note"})
        s.good("DELETE", f"{URL}/{c['id']}")
        assert place in thread_ids(s), "it has a message of the client"
        assert "a note" in json.dumps(s.good("GET", f"/v1/threads/thread_{place}/messages"))


def test_failures():
    with Server(WEFT, folder("fails")) as s:
        a = ask(s, model="fails", input="x")
        assert a["status"] == "failed" and a["error"]["code"] == "server_error", a
        found = frames(s, "POST", URL, {"model": "fails", "input": "x", "stream": True})
        assert found[-1][1] == "response.failed", found[-1]


def test_bad_requests_name_the_place():
    cases = [
        ({"input": []}, "/input"),
        ({"input": 5}, "/input"),
        ({"input": [{"role": "who", "content": "x"}]}, "/input/0/role"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "/input/0/content/0/type"),
        ({"input": [{"type": "computer_call"}]}, "/input/0/type"),
        ({"input": [{"type": "function_call_output", "call_id": "c9", "output": "x"}]}, "/input/0"),
        ({"input": "x", "store": "no"}, "/store"),
        ({"input": "x", "store": False, "background": True}, "/background"),
        ({"input": "x", "truncation": "auto"}, "/truncation"),
        ({"input": "x", "temperature": 3}, "/temperature"),
        ({"input": "x", "prompt": {"id": "p"}}, "/prompt"),
        ({"input": "x", "tools": [{"type": "function", "name": "a b"}]}, "/tools/0/name"),
        ({"input": "x", "text": {"format": {"type": "json_schema", "name": 5}}}, "/text/format/name"),
        ({"input": "x", "reasoning": {"effort": "much"}}, "/reasoning/effort"),
    ]
    with Server(WEFT, folder("bad")) as s:
        for body, place in cases:
            status, a = s.ask("POST", URL, {"model": "echo", **body})
            assert (status, a["error"]["param"]) == (400, place), (body, status, a)
        assert threads(s) == []


def test_it_survives_a_kill():
    path = folder("kill")
    with Server(WEFT, path) as s:
        first = frames(s, "POST", URL, {"model": "slow", "input": "go", "stream": True}, limit=6)
        id = first[0][2]["response"]["id"]
        s.process.kill()
        s.process.wait()
    with Server(WEFT, path) as s:
        rest = frames(s, "GET", f"{URL}/{id}?stream=true")
        assert rest[-1][1] == "response.completed" and text(rest[-1][2]["response"]) == "0123456789" * 4
        assert text(ask(s, previous_response_id=id, input="more")) == "0123456789" * 4 and len(threads(s)) == 1


try:
    main(globals())
finally:
    shutil.rmtree(HERE, ignore_errors=True)
