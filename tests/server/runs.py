#!/usr/bin/env python3
"""Runs as the Assistants API has them: created with a thread, tool outputs, approvals, steps, metadata, cancel, expiry, a kill in the middle.

usage: runs.py WEFT   (TAP)
"""
import http.client
import json
import os
import shutil
import sys
import tempfile
import time
import urllib.parse

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-runs-")

CONFIG = """
server: {{listen: "127.0.0.1:0"}}
store: sqlite:runs.db
log: {{level: warn}}
{more}
models:
  echo: {{provider: scripted, echo: true}}
  own: {{provider: scripted, script: own.json}}
  main: {{provider: scripted, script: main.json, retry: {{strategy: none}}}}
tools:
  locate: {{description: Says where it is, parameters: {{type: object}}}}
  clock: {{description: Says the time, parameters: {{type: object}}}}
  remove: {{description: Removes a file, parameters: {{type: object}}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}}
  weather: {{parameters: {{type: object}}, command: [sh, -c, "cat >/dev/null; echo 18"], delivery: pure}}
agents:
  echo: {{model: echo}}
  own: {{model: own}}
  main: {{model: main, tools: [locate, clock, remove, weather]}}
"""


def call(id, name, **arguments):
    return {"tool_call": {"id": id, "name": name, "arguments": arguments}}


# What the user says chooses.
SCRIPT = {"again": True, "delta_bytes": 4, "replies": [
    {"when": {"contains": "where and when"}, "parts": [{"text": "Both."}, call("c1", "locate", far=True), call("c2", "clock")]},
    {"when": {"contains": "where"}, "parts": [call("c1", "locate")]},
    {"when": {"contains": "remove and where"}, "parts": [call("c1", "remove", path="x"), call("c2", "locate")]},
    {"when": {"contains": "mixed"}, "parts": [call("c1", "remove", path="x"), call("c2", "locate")]},
    {"when": {"contains": "remove"}, "parts": [call("c1", "remove", path="x")]},
    {"when": {"contains": "weather"}, "parts": [{"text": "Let me see."}, call("c1", "weather")]},
    {"when": {"contains": "endless"}, "delay_ms": 1000, "delta_bytes": 2, "parts": [{"text": "Once upon a time there was a weaver. " * 4}]},
    {"when": {"contains": "slow"}, "delay_ms": 50, "parts": [{"text": "Once upon a time there was a weaver. " * 4}]},
    {"when": {"contains": "half"}, "parts": [{"text": "Well, half of it"}], "error": {"code": "NETWORK_ERROR", "after": 2}},
    {"parts": [{"text": "All done."}]}]}


def folder(name, more=""):
    path = f"{HERE}/{name}"
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/main.json", "w") as f:
        json.dump(SCRIPT, f)
    with open(f"{path}/own.json", "w") as f:
        json.dump({"replies": [{"parts": [call("o1", "mine")]}, {"parts": [{"request": True}]}], "at_end": "restart"}, f)
    with open(f"{path}/weft.yaml", "w") as f:
        f.write(CONFIG.format(more=more))
    return path


class Stream:
    """The frames of a response: (event, data, id)."""

    def __init__(self, s, method, path, body=None, headers=None):
        self.connection = s.connection()
        self.connection.request(method, path, None if body is None else json.dumps(body), headers or {})
        self.r = self.connection.getresponse()
        assert self.r.status == 200, (self.r.status, self.r.read())

    def __iter__(self):
        frame = {}
        for line in self.r:
            line = line.decode().rstrip("\n")
            if line:
                name, _, value = line.partition(": ")
                frame[name] = value
            elif "data" in frame:
                data = frame["data"]
                yield frame.get("event"), data if data == "[DONE]" else json.loads(data), frame.get("id")
                frame = {}
            else:
                frame = {}


def names(frames):
    return [f[0] for f in frames]


def at(thread, run, rest=""):
    return f"/v1/threads/{thread}/runs/{run}{rest}"


def start(s, text, agent="main", **members):
    run = s.good("POST", "/v1/threads/runs", {"assistant_id": agent, "thread": {"messages": [{"role": "user", "content": text}]}, **members})
    return run["thread_id"], run["id"]


def until(s, thread, run, *status):
    end = time.monotonic() + 60
    while True:
        now = s.good("GET", at(thread, run))
        if now["status"] in status:
            return now
        assert time.monotonic() < end, now
        time.sleep(0.02)


def ended(s, thread, run):
    return until(s, thread, run, "completed", "failed", "cancelled", "expired", "incomplete")


def waiting(s, text, **members):
    thread, run = start(s, text, **members)
    return thread, run, until(s, thread, run, "requires_action")


def steps(s, thread, run, query=""):
    return s.good("GET", at(thread, run, "/steps" + query))["data"]


def outputs(**texts):
    return {"tool_outputs": [{"tool_call_id": id, "output": text} for id, text in texts.items()]}


def refused(s, method, path, body=None):
    status, answer = s.ask(method, path, body)
    assert status == 400, (status, answer)
    return answer["error"]["message"]


def messages(s, thread):
    return s.good("GET", f"/v1/threads/{thread}/messages?order=asc")["data"]


def timeless(message):
    """A stream tells when a message was begun, a poll when it was stored."""
    return {k: v for k, v in message.items() if not k.endswith("_at")}


def texts(s, thread):
    return [m["content"][0]["text"]["value"] for m in messages(s, thread)]


def test_a_thread_and_its_run_are_created_together():
    with Server(WEFT, folder("together")) as s:
        thread = {"messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}],
                  "metadata": {"of": "thread"}}
        run = s.good("POST", "/v1/threads/runs", {"assistant_id": "echo", "thread": thread, "metadata": {"of": "run"}})
        assert run["metadata"] == {"of": "run"} and ended(s, run["thread_id"], run["id"])["status"] == "completed"
        assert s.good("GET", f"/v1/threads/{run['thread_id']}")["metadata"] == {"of": "thread"}
        assert texts(s, run["thread_id"]) == ["one", "two", "three", "three"]
        # Without a thread there is an empty one, and nothing to answer.
        bare = s.good("POST", "/v1/threads/runs", {"assistant_id": "main"})
        assert ended(s, bare["thread_id"], bare["id"])["status"] == "completed"


def test_a_refused_run_leaves_no_thread():
    with Server(WEFT, folder("neither")) as s:
        for status, body in ((404, {"assistant_id": "nobody"}), (400, {}), (400, {"assistant_id": "echo", "thread": {"messages": [{"role": "x"}]}}),
                             (400, {"assistant_id": "echo", "thread": 1}), (400, {"assistant_id": "echo", "answers": [{"call_id": "c", "output": 1}]}),
                             (400, {"assistant_id": "echo", "thread": {"metadata": 1}})):
            got, answer = s.ask("POST", "/v1/threads/runs", body)
            assert got == status, (got, answer)
            assert s.good("GET", "/v1/threads")["data"] == [], body


def test_a_key_makes_one_thread():
    with Server(WEFT, folder("key")) as s:
        body = {"assistant_id": "echo", "thread": {"messages": [{"role": "user", "content": "hi"}]}}
        runs = [s.ask("POST", "/v1/threads/runs", body, {"idempotency-key": "k1"})[1] for _ in range(3)]
        assert len({r["id"] for r in runs}) == 1 and len(s.good("GET", "/v1/threads")["data"]) == 1, runs
        assert s.ask("POST", "/v1/threads/runs", {**body, "metadata": {}}, {"idempotency-key": "k1"})[0] == 400
        of = [s.ask("POST", "/v1/threads/runs", body, {"idempotency-key": "k1", "weft-user": u})[1] for u in ("ann", "bob", "ann")]
        assert of[0]["id"] == of[2]["id"] and len({r["thread_id"] for r in (runs[0], *of)}) == 3, of


def test_its_stream_begins_with_the_thread():
    with Server(WEFT, folder("created")) as s:
        frames = list(Stream(s, "POST", "/v1/threads/runs", {"assistant_id": "echo", "stream": True, "thread": {
            "messages": [{"role": "user", "content": "hi"}], "metadata": {"a": "b"}}}))
        assert frames[0][0] == "thread.created" and frames[0][2] is None, frames[0]
        thread = frames[0][1]
        assert thread == s.good("GET", f"/v1/threads/{thread['id']}") and thread["metadata"] == {"a": "b"}
        assert names(frames[1:4]) == ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]
        assert names(frames[-3:]) == ["thread.run.step.completed", "thread.run.completed", "done"]
        assert frames[-2][1] == s.good("GET", at(thread["id"], frames[1][1]["id"]))


def test_outputs_are_submitted_and_polled():
    with Server(WEFT, folder("submit")) as s:
        thread, run, now = waiting(s, "where and when")
        calls = now["required_action"]["submit_tool_outputs"]["tool_calls"]
        assert now["required_action"]["type"] == "submit_tool_outputs" and "approval" not in now["required_action"]
        assert [(c["id"], c["function"]["name"]) for c in calls] == [("c1", "locate"), ("c2", "clock")] and now["expires_at"] > time.time()
        s.good("POST", at(thread, run, "/submit_tool_outputs"), outputs(c1="here", c2="now"))
        assert ended(s, thread, run)["status"] == "completed"
        step = steps(s, thread, run, "?order=asc")[1]
        assert [c["function"]["output"] for c in step["step_details"]["tool_calls"]] == ["here", "now"], step


def test_outputs_are_submitted_and_streamed():
    with Server(WEFT, folder("streamed")) as s:
        first = list(Stream(s, "POST", "/v1/threads/runs", {"assistant_id": "main", "stream": True, "thread": {"messages": [{"role": "user", "content": "where and when"}]}}))
        assert names(first[-2:]) == ["thread.run.requires_action", "done"]
        run = first[-2][1]
        open_step = [f[1] for f in first if f[0] == "thread.run.step.created"][-1]["id"]
        rest = list(Stream(s, "POST", at(run["thread_id"], run["id"], "/submit_tool_outputs"), {**outputs(c2="now", c1="here"), "stream": True}))
        assert names(rest)[:7] == ["thread.run.step.completed", "thread.run.queued", "thread.run.in_progress", "thread.run.step.created",
                                   "thread.run.step.in_progress", "thread.message.created", "thread.message.in_progress"], names(rest)
        assert names(rest)[-4:] == ["thread.message.completed", "thread.run.step.completed", "thread.run.completed", "done"]
        step = rest[0][1]
        assert step["id"] == open_step and [c["function"]["output"] for c in step["step_details"]["tool_calls"]] == ["here", "now"], step
        # Read again from the beginning it is the same.
        again = list(Stream(s, "GET", f"/v1/runs/{run['id']}/events?as=assistants"))
        assert again == first[1:] + rest


def test_wrong_outputs_are_refused_by_name_and_nothing_is_stored():
    with Server(WEFT, folder("wrong")) as s:
        thread, run, before = waiting(s, "where and when")
        submit = at(thread, run, "/submit_tool_outputs")
        for body, says in ((outputs(c1="x"), ["'c2'", "requires_action", "no output"]),
                           (outputs(c1="x", c2="y", c9="z"), ["'c9'", "requires_action", "not open"]),
                           ({"tool_outputs": outputs(c1="x", c2="y")["tool_outputs"] + outputs(c1="z")["tool_outputs"]}, ["'c1'", "requires_action", "two outputs"]),
                           ({"tool_outputs": []}, ["1 to 128"]), ({}, ["tool_outputs"]), ({"tool_outputs": [1]}, ["object"]),
                           ({"tool_outputs": [{"output": "x"}]}, ["tool_call_id"]), ({"tool_outputs": [{"tool_call_id": "c1", "output": 1}]}, ["string"]),
                           ({**outputs(c1="x", c2="y"), "stream": 1}, ["1"]),
                           ({"tool_outputs": outputs(**{f"k{i}": "" for i in range(129)})["tool_outputs"]}, ["1 to 128"])):
            message = refused(s, "POST", submit, body)
            assert all(w in message for w in says), (body, message)
            assert s.good("GET", at(thread, run)) == before
        s.good("POST", submit, outputs(c1="x", c2="y"))
        assert ended(s, thread, run)["status"] == "completed"
        message = refused(s, "POST", submit, outputs(c1="x", c2="y"))  # late
        assert "'completed'" in message and "'c1'" in message, message
        slow = start(s, "slow")
        until(s, *slow, "in_progress")
        assert "'in_progress'" in refused(s, "POST", at(*slow, "/submit_tool_outputs"), outputs(c1="x"))
        s.good("POST", at(*slow, "/cancel"))
        assert s.ask("POST", at(slow[0], run, "/submit_tool_outputs"), outputs(c1="x"))[0] == 404  # of another thread


def test_answers_on_the_thread_bring_their_options():
    """The run that waits goes on with them; without any it keeps its own."""
    tool = lambda name: {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    with Server(WEFT, folder("brings")) as s:
        for more in ({"instructions": "You search.", "tools": [tool("search")], "temperature": 0.5}, {}):
            thread, id, run = waiting(s, "own", agent="own", instructions="You triage.", tools=[tool("mine")], metadata={"k": "v"})
            answers = [{"call_id": "o1", "output": "x"}]
            c = s.connection()
            c.request("POST", f"/v1/threads/{thread}/runs", json.dumps({"assistant_id": "own" if more else "echo", "answers": answers, **more}))
            r = c.getresponse()
            assert (r.status, json.loads(r.read())["id"], r.headers["weft-ignored"]) == (200, id, None if more else "assistant_id"), r.headers
            c.close()
            run = ended(s, thread, id)
            assert run["metadata"] == {"k": "v"} and run["instructions"] == more.get("instructions", "You triage."), run
            shown = texts(s, thread)[-1]
            assert ("You search." in shown, "You triage." in shown) == (bool(more), not more), shown
            assert "search" in json.loads(shown)["tools"] if more else "mine" in json.loads(shown)["tools"], shown
        thread, id, run = waiting(s, "own", agent="own", tools=[tool("mine")])
        said = refused(s, "POST", f"/v1/threads/{thread}/runs", {"assistant_id": "own", "answers": answers, "tools": [tool("a b")]})
        assert "name" in said and until(s, thread, id, "requires_action"), said


def test_an_output_may_be_left_out():
    with Server(WEFT, folder("silent")) as s:
        thread, run, _ = waiting(s, "where")
        s.good("POST", at(thread, run, "/submit_tool_outputs"), {"tool_outputs": [{"tool_call_id": "c1"}]})
        assert ended(s, thread, run)["status"] == "completed"
        assert steps(s, thread, run)[-1]["step_details"]["tool_calls"][0]["function"]["output"] == ""


def test_an_approval_is_an_action_of_its_own():
    with Server(WEFT, folder("approval")) as s:
        for approved in (True, False):
            frames = list(Stream(s, "POST", "/v1/threads/runs", {"assistant_id": "main", "stream": True, "thread": {"messages": [{"role": "user", "content": "remove"}]}}))
            assert names(frames[-2:]) == ["thread.run.requires_action", "done"], names(frames)
            run = frames[-2][1]
            action = {"type": "approval", "approval": {"calls": [{"id": "c1", "name": "remove", "arguments": '{"path":"x"}'}]}}
            assert run["required_action"] == action and run["metadata"] == {}, run
            polled = s.good("GET", at(run["thread_id"], run["id"]))
            assert polled["required_action"] == action and polled["status"] == "requires_action", polled
            assert polled["expires_at"] == run["expires_at"] > time.time() + 6 * 86400, (polled, run)
            message = refused(s, "POST", at(run["thread_id"], run["id"], "/submit_tool_outputs"), outputs(c1="gone"))
            assert "'c1'" in message and "approval" in message and "requires_action" in message, message
            s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": "c1", "approved": approved}]})
            rest = list(Stream(s, "GET", f"/v1/runs/{run['id']}/events?as=assistants", headers={"last-event-id": frames[-1][2]}))
            assert names(rest)[-2:] == ["thread.run.completed", "done"] and "thread.run.step.completed" in names(rest), names(rest)
            output = steps(s, run["thread_id"], run["id"])[-1]["step_details"]["tool_calls"][0]["function"]["output"]
            assert (output == "gone") is approved and ("denied" in output) is not approved, output


def test_a_client_does_its_part_of_a_mixed_action():
    with Server(WEFT, folder("mixed")) as s:
        approval = {"calls": [{"id": "c1", "name": "remove", "arguments": '{"path":"x"}'}]}
        for client_first in (True, False):
            thread, run, now = waiting(s, "mixed")
            action = now["required_action"]
            assert action["type"] == "submit_tool_outputs" and action["approval"] == approval, action
            assert [c["id"] for c in action["submit_tool_outputs"]["tool_calls"]] == ["c2"], action
            for own in (client_first, not client_first):
                if own:
                    assert "'c1'" in refused(s, "POST", at(thread, run, "/submit_tool_outputs"), outputs(c1="x", c2="here"))
                    if client_first:
                        rest = list(Stream(s, "POST", at(thread, run, "/submit_tool_outputs"), {**outputs(c2="here"), "stream": True}))
                        assert names(rest)[-2:] == ["thread.run.requires_action", "done"], names(rest)
                        assert rest[-2][1]["required_action"] == {"type": "approval", "approval": approval}, rest[-2]
                    else:
                        s.good("POST", at(thread, run, "/submit_tool_outputs"), outputs(c2="here"))
                else:
                    s.good("POST", f"/v1/runs/{run}/answers", {"answers": [{"call_id": "c1", "approved": True}]})
                    if not client_first:
                        action = s.good("GET", at(thread, run))["required_action"]
                        assert action["type"] == "submit_tool_outputs" and "approval" not in action, action
            assert ended(s, thread, run)["status"] == "completed"
            (step,) = [t for t in steps(s, thread, run) if t["type"] == "tool_calls"]
            assert [c["function"]["output"] for c in step["step_details"]["tool_calls"]] == ["gone", "here"], step


def test_steps_are_those_of_the_stream():
    with Server(WEFT, folder("steps")) as s:
        frames = list(Stream(s, "POST", "/v1/threads/runs", {"assistant_id": "main", "stream": True, "thread": {"messages": [{"role": "user", "content": "weather"}]}}))
        run = frames[-2][1]
        where = run["thread_id"], run["id"]
        told = [f[1] for f in frames if f[0] == "thread.run.step.completed"]
        assert [t["type"] for t in told] == ["message_creation", "tool_calls", "message_creation"]
        assert steps(s, *where, "?order=asc") == told and steps(s, *where) == told[::-1]
        for t in told:
            assert s.good("GET", at(*where, f"/steps/{t['id']}")) == t
        ids = [t["id"] for t in told]
        for order in ("asc", "desc"):
            want = ids if order == "asc" else ids[::-1]
            for limit in (1, 2, 3, 100):
                got, after = [], ""
                while True:
                    page = s.good("GET", at(*where, f"/steps?order={order}&limit={limit}{after}"))
                    data = [t["id"] for t in page["data"]]
                    assert page["first_id"] == data[0] and page["last_id"] == data[-1], page
                    got += data
                    if not page["has_more"]:
                        break
                    after = "&after=" + data[-1]
                assert got == want, (order, limit, got)
            assert [t["id"] for t in steps(s, *where, f"?order={order}&before={want[2]}")] == want[:2]
            assert [t["id"] for t in steps(s, *where, f"?order={order}&before={want[2]}&limit=1")] == want[1:2]
            assert [t["id"] for t in steps(s, *where, f"?order={order}&after={want[0]}&before={want[2]}")] == want[1:2]
            assert steps(s, *where, f"?order={order}&after={want[2]}") == [] and steps(s, *where, f"?order={order}&before={want[0]}") == []
            assert steps(s, *where, f"?order={order}&after={want[2]}&before={want[0]}") == []
        include = urllib.parse.quote("step_details.tool_calls[*].file_search.results[*].content")
        assert steps(s, *where, f"?include[]={include}&order=asc") == told and steps(s, *where, f"?include%5B%5D={include}&order=asc") == told
        assert s.good("GET", at(*where, f"/steps/{ids[0]}?include[]={include}")) == told[0]
        for query in ("include[]=x", "limit=0", "limit=101", "order=up", "after=x", f"after=step_{'1' * 32}", f"before=step_{'1' * 32}", f"after=step_{'0' * 32}"):
            refused(s, "GET", at(*where, f"/steps?{query}"))
        for id in ("x", f"step_{'1' * 32}", run["id"]):
            assert s.ask("GET", at(*where, f"/steps/{id}"))[0] == 404, id
        assert s.ask("GET", at(where[0], f"run_{'1' * 32}", "/steps"))[0] == 404


def test_an_open_step_is_listed_with_its_calls():
    with Server(WEFT, folder("open")) as s:
        thread, run, _ = waiting(s, "where and when")
        step = steps(s, thread, run)[0]
        assert step["status"] == "in_progress" and step["completed_at"] is None, step
        assert [(c["id"], c["function"]["arguments"], c["function"]["output"]) for c in step["step_details"]["tool_calls"]] == [
            ("c1", '{"far":true}', None), ("c2", "{}", None)], step
        assert s.good("GET", at(thread, run, f"/steps/{step['id']}")) == step
        s.good("POST", at(thread, run, "/cancel"))
        step = s.good("GET", at(thread, run, f"/steps/{step['id']}"))
        assert step["status"] == "cancelled" and step["cancelled_at"], step
        slow = start(s, "slow")
        end = time.monotonic() + 30
        while not (now := steps(s, *slow)):
            assert time.monotonic() < end
            time.sleep(0.02)
        assert now[0]["type"] == "message_creation" and now[0]["status"] == "in_progress", now
        s.good("POST", at(*slow, "/cancel"))


def test_metadata_is_modified_in_every_state():
    with Server(WEFT, folder("metadata")) as s:
        def modify(thread, run, what):
            now = s.good("POST", at(thread, run), {"metadata": what})
            assert now["metadata"] == what and s.good("GET", at(thread, run))["metadata"] == what, now
            return now

        thread, run, _ = waiting(s, "where", metadata={"a": "1"}, instructions="Be kind.")
        assert modify(thread, run, {"b": "2"})["instructions"] == "Be kind."
        assert s.good("POST", at(thread, run), {})["metadata"] == {"b": "2"}
        s.good("POST", at(thread, run, "/submit_tool_outputs"), outputs(c1="here"))
        assert ended(s, thread, run)["metadata"] == {"b": "2"}
        assert modify(thread, run, {})["status"] == "completed" and modify(thread, run, {"c": "3"})["instructions"] == "Be kind."
        refused(s, "POST", at(thread, run), {"metadata": 1})
        assert s.ask("POST", at(thread, f"run_{'1' * 32}"), {"metadata": {}})[0] == 404

        slow = start(s, "slow")
        until(s, *slow, "in_progress")
        for i in range(5):
            modify(*slow, {"n": str(i)})
        queued = s.good("POST", f"/v1/threads/{slow[0]}/runs", {"assistant_id": "echo", "on_busy": "enqueue", "metadata": {"q": "0"}, "additional_messages": [{"role": "user", "content": "x"}]})
        assert queued["status"] == "queued" and queued["metadata"] == {"q": "0"} and modify(slow[0], queued["id"], {"q": "1"})["status"] == "queued"
        s.good("POST", at(*slow, "/cancel"))
        assert ended(s, *slow)["metadata"] == {"n": "4"} and ended(s, slow[0], queued["id"])["metadata"] == {"q": "1"}


def test_changes_of_a_working_run_take_little_memory():
    """It keeps its options before each change, 4 MiB here, until it ends: not any number of them."""
    tools = [{"type": "function", "function": {"name": f"f{i}", "description": "d" * (38 << 10), "parameters": {"type": "object"}}} for i in range(100)]
    with Server(WEFT, folder("replaced")) as s:
        run = start(s, "endless", tools=tools)
        until(s, *run, "in_progress")
        status = [s.ask("POST", at(*run), {"metadata": {"n": str(i)}})[0] for i in range(16)]
        assert status[:2] == [200, 200] and status[-1] == 400, status
        s.good("POST", at(*run, "/cancel"))
        ended(s, *run)
        assert s.good("POST", at(*run), {"metadata": {"n": "last"}})["metadata"] == {"n": "last"}


def test_a_run_is_cancelled_in_every_state():
    with Server(WEFT, folder("cancel", "waits: {tool: 1s}")) as s:
        cancel = lambda *where: s.good("POST", at(*where, "/cancel"))["status"]
        slow = start(s, "slow")
        until(s, *slow, "in_progress")
        queued = s.good("POST", f"/v1/threads/{slow[0]}/runs", {"assistant_id": "echo", "on_busy": "enqueue", "additional_messages": [{"role": "user", "content": "x"}]})["id"]
        assert cancel(slow[0], queued) == "cancelled"
        assert cancel(*slow) in ("cancelling", "cancelled")
        assert ended(s, *slow)["status"] == "cancelled"
        thread, run, _ = waiting(s, "where")
        assert cancel(thread, run) == "cancelled"
        for t, r in ((slow[0], queued), slow, (thread, run)):
            assert refused(s, "POST", at(t, r, "/cancel")) == "Cannot cancel run with status 'cancelled'."
            assert s.good("POST", f"/v1/runs/{r}/cancel")["status"] == "cancelled"  # our own route is for those who try again
        for text, status in (("hello", "completed"), ("half", "failed"), ("where", "expired")):
            where = start(s, text)
            assert ended(s, *where)["status"] == status
            assert refused(s, "POST", at(*where, "/cancel")) == f"Cannot cancel run with status '{status}'."


def test_a_stream_tells_of_a_cancel():
    with Server(WEFT, folder("cancelled")) as s:
        stream = Stream(s, "POST", "/v1/threads/runs", {"assistant_id": "main", "stream": True, "thread": {"messages": [{"role": "user", "content": "slow"}]}})
        seen, run = [], None
        for f in stream:
            seen.append(f)
            if f[0] == "thread.run.created":
                run = f[1]
            if names(seen).count("thread.message.delta") == 2 and f[0] == "thread.message.delta":
                s.good("POST", at(run["thread_id"], run["id"], "/cancel"))
        end = [n for n in names(seen) if n != "thread.message.delta"][8:]
        assert sorted(end) == sorted(["thread.run.cancelling", "thread.message.incomplete", "thread.run.step.cancelled", "thread.run.cancelled", "done"]), end
        assert end[-2:] == ["thread.run.cancelled", "done"] and end.index("thread.message.incomplete") < end.index("thread.run.step.cancelled")
        (said,) = [f[1] for f in seen if f[0] == "thread.message.incomplete"]
        assert said["incomplete_details"] == {"reason": "run_cancelled"} and said["content"][0]["text"]["value"].startswith("Once"), said
        assert timeless(messages(s, run["thread_id"])[-1]) == timeless(said)


def test_a_queued_run_that_is_cancelled_ends_its_stream():
    with Server(WEFT, folder("queued")) as s:
        slow = start(s, "slow")
        until(s, *slow, "in_progress")
        stream = Stream(s, "POST", f"/v1/threads/{slow[0]}/runs", {"assistant_id": "echo", "on_busy": "enqueue", "stream": True, "additional_messages": [{"role": "user", "content": "x"}]})
        end = time.monotonic() + 30
        while not (queued := [r for r in s.good("GET", f"/v1/threads/{slow[0]}/runs")["data"] if r["status"] == "queued"]):
            assert time.monotonic() < end
        s.good("POST", at(slow[0], queued[0]["id"], "/cancel"))
        frames = list(stream)
        assert names(frames) == ["thread.run.created", "thread.run.queued", "thread.run.cancelling", "thread.run.cancelled", "done"], names(frames)
        assert frames[-2][1] == s.good("GET", at(slow[0], queued[0]["id"])), frames[-2]
        assert steps(s, slow[0], queued[0]["id"]) == []
        s.good("POST", at(*slow, "/cancel"))


def test_what_a_failed_run_said_is_incomplete():
    with Server(WEFT, folder("failed")) as s:
        frames = list(Stream(s, "POST", "/v1/threads/runs", {"assistant_id": "main", "stream": True, "thread": {"messages": [{"role": "user", "content": "half"}]}}))
        run = frames[-2][1]
        assert run["status"] == "failed" and names(frames)[-4:] == ["thread.message.incomplete", "thread.run.step.failed", "thread.run.failed", "done"], names(frames)
        said = frames[-4][1]
        assert said["status"] == "incomplete" and said["incomplete_details"] == {"reason": "run_failed"} and said["content"], said
        assert timeless(messages(s, run["thread_id"])[-1]) == timeless(said), messages(s, run["thread_id"])[-1]
        step = steps(s, run["thread_id"], run["id"])[0]
        assert step["status"] == "failed" and step["last_error"]["code"] == "server_error", step


def test_a_run_expires():
    with Server(WEFT, folder("expired", "waits: {tool: 1s, approval: 1s}")) as s:
        for text in ("where and when", "remove"):
            thread, run, now = waiting(s, text)
            assert now["expires_at"] is not None and 0 <= now["expires_at"] - now["created_at"] <= 3, now
            over = until(s, thread, run, "expired")
            assert over["expires_at"] is None and over["required_action"] is None and over["last_error"] is None, over
            frames = list(Stream(s, "GET", f"/v1/runs/{run}/events?as=assistants"))
            assert names(frames)[-2:] == ["thread.run.expired", "done"] and frames[-2][1] == over, frames[-2:]
            step = steps(s, thread, run)[0]
            assert step["type"] == "tool_calls" and step["status"] == "expired" and step["expired_at"], step
            assert "'expired'" in refused(s, "POST", at(thread, run, "/submit_tool_outputs"), outputs(c1="x", c2="y"))


def test_runs_have_pages():
    with Server(WEFT, folder("pages")) as s:
        thread, run = start(s, "hello", "echo")
        ended(s, thread, run)
        runs = [run]
        for _ in range(4):
            run = s.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "echo", "additional_messages": [{"role": "user", "content": "x"}]})["id"]
            ended(s, thread, run)
            runs.append(run)
        for order in ("asc", "desc"):
            want = runs if order == "asc" else runs[::-1]
            list_ = lambda q: [r["id"] for r in s.good("GET", f"/v1/threads/{thread}/runs?order={order}&{q}")["data"]]
            assert list_("limit=2") == want[:2] and list_(f"limit=2&after={want[1]}") == want[2:4]
            assert list_(f"limit=2&before={want[4]}") == want[2:4] and list_(f"after={want[0]}&before={want[3]}") == want[1:3]


def test_a_poll_is_told_when_to_come_again():
    with Server(WEFT, folder("poll")) as s:
        thread, run = start(s, "hello", "echo")
        c = s.connection()
        c.request("GET", at(thread, run))
        r = c.getresponse()
        r.read()
        assert 1 <= int(r.getheader("openai-poll-after-ms")) <= 1000


def test_a_kill_in_the_middle_loses_nothing():
    where = folder("kill")
    with Server(WEFT, where) as s:
        waits = waiting(s, "where and when")
        before = steps(s, *waits[:2])
        stream = Stream(s, "POST", "/v1/threads/runs", {"assistant_id": "main", "stream": True, "thread": {"messages": [{"role": "user", "content": "slow"}]}})
        seen = []
        try:
            for f in stream:
                seen.append(f)
                if names(seen).count("thread.message.delta") == 3:
                    s.process.kill()
                    s.process.wait()
        except http.client.HTTPException:
            pass
        except ConnectionError:
            pass
    run = seen[1][1]
    with Server(WEFT, where) as s:
        assert steps(s, *waits[:2]) == before
        rest = list(Stream(s, "GET", f"/v1/runs/{run['id']}/events?as=assistants", headers={"last-event-id": seen[-1][2]}))
        assert names(rest)[-2:] == ["thread.run.completed", "done"], names(rest)
        assert ended(s, run["thread_id"], run["id"]) == rest[-2][1]
        said = {f[1]["id"]: f[1] for f in rest if f[0] == "thread.message.completed"}
        assert [timeless(m) for m in messages(s, run["thread_id"]) if m["role"] == "assistant"] == [timeless(m) for m in said.values()]
        whole = list(Stream(s, "GET", f"/v1/runs/{run['id']}/events?as=assistants"))
        told = {f[1]["id"]: f[1] for f in whole if f[0] and f[0].startswith("thread.run.step.") and f[0] != "thread.run.step.delta"}
        assert steps(s, run["thread_id"], run["id"], "?order=asc") == list(told.values())
        s.good("POST", at(*waits[:2], "/submit_tool_outputs"), outputs(c1="here", c2="now"))
        assert ended(s, *waits[:2])["status"] == "completed"


def test_a_kill_leaves_a_thread_with_its_run_or_neither():
    said = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": "hello"}]
    on_new = ("/v1/threads/runs", {"assistant_id": "echo", "thread": {"messages": said[:2], "metadata": {"k": "v"}}, "additional_messages": said[2:]})
    key = {"Idempotency-Key": "again"}
    for point in ("c1.before:1", "c1.after:1", "store.commit.before:1", "store.commit.after:1", "store.commit.after:2"):
        for own in (True, False):
            where = folder(f"crash-{point}-{own}")
            with Server(WEFT, where) as s:
                thread = None if own else s.good("POST", "/v1/threads", {})["id"]
            path, body = on_new if own else (f"/v1/threads/{thread}/runs", {"assistant_id": "echo", "additional_messages": said})
            with Server(WEFT, where, WEFT_CRASHPOINT=point) as s:
                try:
                    s.ask("POST", path, body, key)
                except (http.client.HTTPException, ConnectionError):
                    s.process.wait()
            with Server(WEFT, where) as s:
                for t in s.good("GET", "/v1/threads")["data"]:
                    runs = s.good("GET", f"/v1/threads/{t['id']}/runs")["data"]
                    assert len(runs) == (1 if own else bool(messages(s, t["id"]))), (point, own, t, runs)
                status, run = s.ask("POST", path, body, key)
                assert status == 200, (point, run)
                ended(s, run["thread_id"], run["id"])
                (t,) = s.good("GET", "/v1/threads")["data"]
                assert t["id"] == run["thread_id"] and t["metadata"] == ({"k": "v"} if own else {}), t
                assert [m["content"][0]["text"]["value"] for m in messages(s, t["id"])][:3] == ["one", "two", "hello"], (point, own)
                assert len(messages(s, t["id"])) == 4 and len(s.good("GET", f"/v1/threads/{t['id']}/runs")["data"]) == 1, (point, own)


if __name__ == "__main__":
    try:
        main(dict(globals()))
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
