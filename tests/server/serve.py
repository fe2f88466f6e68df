#!/usr/bin/env python3
"""The real program, from outside: `weft serve` on SQLite, every route of /v1, and what survives a kill.

usage: serve.py WEFT   (TAP)
"""
import concurrent.futures
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

from served import LOOPS

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-serve-")
PATIENCE = 120  # seconds until it hangs
WORDS = " ".join(f"w{i:03}" for i in range(150))

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:serve.db
log: {level: warn}
retention: {tapes_days: 30, deleted_days: 7, every_seconds: 1}
models:
  echo: {provider: scripted, echo: true}
  slow: {provider: scripted, script: slow.json}
  weather: {provider: scripted, script: weather.json}
  client: {provider: scripted, script: client.json}
  ask: {provider: scripted, script: ask.json}
  broken: {provider: scripted, script: broken.json}
  sleepy: {provider: scripted, script: sleepy.json}
  first: {provider: scripted, script: first.json}
  two: {provider: scripted, script: two.json}
  boss: {provider: scripted, script: boss.json}
  torn: {provider: scripted, script: torn.json}
  tattered: {provider: scripted, script: tattered.json}
  garbled: {provider: scripted, script: garbled.json}
tools:
  get_weather: {description: d, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo 18"], delivery: pure}
  pick_date: {description: d, parameters: {type: object}}
  nap: {description: d, parameters: {type: object}, command: [sh, -c, "echo x >>naps; sleep 321; echo up"]}
  remove: {description: d, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}
agents:
  echo: {model: echo}
  slow: {model: slow}
  weather: {model: weather, tools: [get_weather]}
  client: {model: client, tools: [pick_date]}
  ask: {model: ask, tools: [remove]}
  broken: {model: broken}
  sleepy: {model: sleepy, tools: [nap]}
  first: {model: first, handoff: [{agent: second, prompt: Go on.}]}
  second: {model: echo, title: The Second}
  two: {model: two, tools: [pick_date, get_weather]}
  boss: {model: boss, tools: [weather, get_weather]}
  torn: {model: torn}
  tattered: {model: tattered, tools: [get_weather]}
  garbled: {model: garbled, tools: [get_weather]}
  short: {model: weather, tools: [get_weather], middleware: [{budget: {max_steps: 1}}]}
"""
SCRIPTS = {
    "slow": [{"parts": [{"text": WORDS}], "delta_bytes": 5, "delay_ms": 10}],
    "weather": [{"parts": [{"text": "Let me look."}, {"tool_call": {"id": "c1", "name": "get_weather"}}], "delta_bytes": 3},
                {"parts": [{"reasoning": "mild"}, {"text": "18 degrees."}], "delta_bytes": 3,
                 "usage": {"input_tokens": 4, "output_tokens": 3}}],
    "client": [{"parts": [{"tool_call": {"id": "c1", "name": "pick_date", "arguments": {"a": 1}}}]}, {"parts": [{"text": "Booked."}]}],
    "ask": [{"parts": [{"tool_call": {"id": "c1", "name": "remove", "arguments": {"p": "x"}}}]}, {"parts": [{"text": "Done."}]}],
    "sleepy": [{"parts": [{"tool_call": {"id": "c1", "name": "nap"}}]}, {"parts": [{"text": "Awake."}]}],
    "first": [{"parts": [{"text": "Over."}, {"tool_call": {"id": "c1", "name": "handoff_to_second", "arguments": {"reason": "r"}}}]}],
    "two": [{"when": {"contains": "hello"}, "parts": [{"text": "Which day?"}, {"tool_call": {"id": "c1", "name": "pick_date", "arguments": {"a": 1}}},
                                                      {"tool_call": {"id": "c2", "name": "get_weather"}}]},
            {"when": {"contains": "day"}, "parts": [{"text": "Booked."}]}],
    "boss": [{"parts": [{"reasoning": "both"}, {"tool_call": {"id": "b1", "name": "weather", "arguments": {"task": "look"}}},
                        {"tool_call": {"id": "b2", "name": "get_weather"}}], "delta_bytes": 4, "delay_ms": 1},
             {"parts": [{"text": "Mild there."}], "delta_bytes": 3, "delay_ms": 2, "usage": {"input_tokens": 3, "output_tokens": 2}}],
    "torn": [{"parts": [{"reasoning": "well"}, {"text": "As I was saying"}], "delta_bytes": 3, "delay_ms": 30, "error": {"code": "NETWORK_ERROR", "after": 4}},
             {"parts": [{"reasoning": "well"}, {"text": "As I say now"}], "delta_bytes": 3}],
    "tattered": [{"parts": [{"text": "Let me look."}, {"tool_call": {"id": "c1", "name": "get_weather", "arguments": {"city": "Kiel"}}}],
                  "delta_bytes": 4, "delay_ms": 10, "error": {"code": "NETWORK_ERROR", "after": after}} for after in (9, 5)] +
                [{"parts": [{"text": "I look."}, {"tool_call": {"id": "c1", "name": "get_weather", "arguments": {"city": "Kiel"}}}], "delta_bytes": 4},
                 {"parts": [{"text": "18 degrees."}], "delta_bytes": 4, "delay_ms": 10, "error": {"code": "NETWORK_ERROR", "after": 3}},
                 {"parts": [{"text": "Now: 18 degrees."}], "delta_bytes": 4}],
    "garbled": [{"parts": [{"tool_call": {"id": "c1", "name": "get_weather", "arguments": '{"city": '}}]}, {"parts": [{"text": "Sorry."}]}],
    "broken": [{"error": {"code": "AUTHENTICATION_FAILED", "message": "no such key"}}],
}


class Server:
    """One life of the program."""

    def __init__(self, **env):
        self.process = subprocess.Popen([WEFT, "serve", "--config", f"{HERE}/weft.yaml", *LOOPS], stdout=subprocess.PIPE,
                                        stderr=open(f"{HERE}/log", "a"), text=True, env={**os.environ, **env})
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", line)
        assert found, f"it said {line!r}"
        self.port = int(found[1])

    def ask(self, method, path, body=None, headers=None):
        """Status and JSON."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        c.request(method, path, None if body is None else json.dumps(body), headers or {})
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, json.loads(text)

    def good(self, method, path, body=None, headers=None):
        status, answer = self.ask(method, path, body, headers)
        assert status == 200, (status, answer)
        return answer

    def refused(self, status, method, path, body=None, headers=None):
        got, answer = self.ask(method, path, body, headers)
        assert got == status, (got, answer)
        return answer["error"]["message"]

    def stream(self, method, path, body=None, headers=None):
        return Stream(self.port, method, path, body, headers or {})

    def thread(self):
        return self.good("POST", "/v1/threads", {})["id"]

    def start(self, agent, text="hello", thread=None, **more):
        """A run that streams: the stream, the thread's and the run's id."""
        thread = thread or self.thread()
        s = self.stream("POST", f"/v1/threads/{thread}/runs?as=weft",
                        {"assistant_id": agent, "stream": True, "additional_messages": [{"role": "user", "content": text}], **more})
        run = s.next()[1]["uap"]["data"]["runId"]
        return s, thread, run

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """SIGTERM: the exit code."""
        self.process.terminate()
        return self.process.wait(timeout=PATIENCE)


class Stream:
    """Server-sent events: (id or None, data), [DONE] as it is."""

    def __init__(self, port, method, path, body, headers):
        self.c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.c.request(method, path, None if body is None else json.dumps(body), headers)
        self.r = self.c.getresponse()
        self.last, self.comments, self.raw = None, [], b""
        assert self.r.status == 200, (self.r.status, self.r.read())
        assert self.r.headers["content-type"].startswith("text/event-stream")

    def next(self):
        """The next event; None at the end."""
        id = data = None
        while line := self.r.readline():
            self.raw += line
            text = line.decode().rstrip("\n")
            if text.startswith("id: "):
                id = self.last = text[4:]
            elif text.startswith("data: "):
                data = text[6:]
            elif text.startswith(":"):
                self.comments.append(text)
            elif not text and data is not None:
                return id, data if data == "[DONE]" else json.loads(data)
        return None

    def __iter__(self):
        while event := self.next():
            yield event

    def close(self):
        self.c.close()


def text_of(events):
    """What was said, with what was taken back left out: (id, data) of the uap dialect."""
    said = ""
    for _, e in events:
        inner = e.get("upp") or e["uap"]
        if inner["type"] in ("message_start", "attempt_void"):
            said = ""
        elif inner["type"] == "text_delta":
            said += inner["delta"]["text"]
    return said


def last_state(events):
    return [e["uap"]["data"] for _, e in events if "uap" in e and e["uap"]["type"] == "run"][-1]


def wait_for(server, thread, run, *statuses):
    for _ in range(50 * PATIENCE):
        r = server.good("GET", f"/v1/threads/{thread}/runs/{run}")
        if r["status"] in statuses:
            return r
        time.sleep(0.02)
    raise AssertionError(f"still {r['status']}")


def connections_refused(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) != 0


# ---- The tests, in the order of the file, on one server ----------------------------------------------------------------

def test_signs_of_life(s):
    assert s.good("GET", "/livez") == {"status": "ok"}
    assert s.good("GET", "/readyz") == {"status": "ok"}


def test_it_leaves_no_core_file(s):
    with open(f"/proc/{s.process.pid}/limits", encoding="ascii") as limits:
        line, = [line for line in limits if line.startswith("Max core file size")]
    assert line.split()[4:6] == ["0", "0"], line


def test_the_unix_socket_has_the_same_routes(s):
    with socket.socket(socket.AF_UNIX) as u:
        u.connect(f"{HERE}/serve.db.sock")
        u.sendall(b"GET /v1/threads HTTP/1.0\r\n\r\n")
        answer = b""
        while piece := u.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 200") and b'"object":"list"' in answer, answer
    assert os.stat(f"{HERE}/serve.db.sock").st_mode & 0o777 == 0o600


def found(s, query, want):
    """The search follows the log: asked again until it has read all of it."""
    for _ in range(20 * PATIENCE):
        r = s.good("GET", f"/v1/search?{query}")
        if r["index"]["rows_behind"] == 0:
            break
        time.sleep(0.05)
    assert r["object"] == "list" and len(r["data"]) == want, r
    return r


def test_search(s):
    t = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": "A Zebra crosses the road"}]})
    u = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": "no zebra here"}]})
    r = found(s, "q=zebra", 2)
    assert [d["threads"][0]["id"] for d in r["data"]] == [u["id"], t["id"]] and not r["has_more"], r
    assert r["data"][1]["snippet"] == {"before": "A ", "match": "Zebra", "after": " crosses the road"}, r
    assert r["data"][1]["threads"] == [{"id": t["id"], "abandoned": False}] and r["data"][1]["role"] == "user"
    first = found(s, "q=zebra&limit=1", 1)
    assert first["has_more"] and first["data"] == r["data"][:1]
    assert found(s, f"q=zebra&limit=1&cursor={first['cursor']}", 1)["data"] == r["data"][1:]
    found(s, f"q=zebra&thread={t['id']}", 1)
    found(s, "q=zebra&agent=nobody", 0)
    found(s, "q=zebra&tool=none", 0)
    found(s, "q=zebra&before=2020-01-01T00:00:00Z", 0)
    found(s, "q=zebra&after=1577836800", 2)
    for bad in ("", "q=", "q=a&limit=0", "q=a&limit=101", "q=a&after=noon", "q=a&cursor=x"):
        assert s.ask("GET", f"/v1/search?{bad}")[0] == 400, bad
    assert s.ask("GET", "/v1/search?thread=thread_" + 32 * "0")[0] == 404


def test_threads_and_messages(s):
    t = s.good("POST", "/v1/threads", {"metadata": {"a": "b"}, "messages": [{"role": "user", "content": "one"}]})
    assert t["object"] == "thread" and t["metadata"] == {"a": "b"} and re.fullmatch("thread_[0-9a-f]{32}", t["id"])
    m = s.good("POST", f"/v1/threads/{t['id']}/messages", {"role": "user", "content": "two"})
    assert m["object"] == "thread.message" and m["content"][0]["text"]["value"] == "two"
    page = s.good("GET", f"/v1/threads/{t['id']}/messages?order=asc")
    assert [x["content"][0]["text"]["value"] for x in page["data"]] == ["one", "two"]
    assert page["object"] == "list" and page["has_more"] is False and page["last_id"] == m["id"]
    listed = s.good("GET", "/v1/threads?limit=1")
    assert listed["data"][0]["id"] == t["id"] == listed["first_id"], listed


def texts(s, thread):
    page = s.good("GET", f"/v1/threads/{thread}/messages?order=asc")
    return [x["content"][0]["text"]["value"] for x in page["data"]]


def test_a_message_is_deleted(s):
    stream, thread, run = s.start("weather", "a hidden question")
    list(stream)
    assert texts(s, thread) == ["a hidden question", "Let me look.", "18 degrees."]
    found(s, f"q=hidden&thread={thread}", 1)
    page = s.good("GET", f"/v1/threads/{thread}/messages?order=asc")["data"]
    for m in page[:2]:
        assert s.good("DELETE", f"/v1/threads/{thread}/messages/{m['id']}") == \
            {"id": m["id"], "object": "thread.message.deleted", "deleted": True}
        assert s.refused(404, "DELETE", f"/v1/threads/{thread}/messages/{m['id']}")
    assert texts(s, thread) == ["18 degrees."]
    found(s, f"q=hidden&thread={thread}", 0)
    assert "swept" in s.refused(404, "GET", f"/v1/runs/{run}/events")
    stream, _, _ = s.start("echo", "and now", thread=thread)
    assert last_state(list(stream))["status"] == "completed" and texts(s, thread)[1:] == ["and now", "and now"]
    other = s.thread()
    for bad in (f"{other}/messages/{page[2]['id']}", f"{thread}/messages/x", f"{thread}/messages/msg_" + 32 * "0"):
        assert s.refused(404, "DELETE", f"/v1/threads/{bad}")
    stream, _, run = s.start("slow", thread=thread)
    assert s.refused(400, "DELETE", f"/v1/threads/{thread}/messages/{page[2]['id']}")
    s.good("POST", f"/v1/runs/{run}/cancel")
    list(stream)
    assert s.good("DELETE", f"/v1/threads/{thread}/messages/{page[2]['id'][4:]}")["id"] == page[2]["id"]


def test_a_thread_is_deleted(s):
    t = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": "an okapi"}]})["id"]
    found(s, "q=okapi", 1)
    assert s.good("DELETE", f"/v1/threads/{t}") == {"id": t, "object": "thread.deleted", "deleted": True}
    assert s.refused(404, "DELETE", f"/v1/threads/{t}") and s.refused(404, "GET", f"/v1/threads/{t}/messages")
    assert t not in [x["id"] for x in s.good("GET", "/v1/threads?limit=100")["data"]]
    found(s, "q=okapi", 0)
    stream, thread, run = s.start("slow")  # what runs is ended, and what waits for it never begins
    body = {"assistant_id": "echo", "additional_messages": [{"role": "user", "content": "next"}], "on_busy": "enqueue"}
    queued = [s.good("POST", f"/v1/threads/{thread}/runs", body)["id"] for _ in range(2)]
    assert s.good("DELETE", f"/v1/threads/{thread}")["deleted"]
    assert last_state(list(stream))["status"] == "cancelled"
    for q in queued:
        assert list(s.stream("GET", f"/v1/runs/{q}/events")) == []


def test_a_tree_is_erased(s):
    stream, thread, run = s.start("weather", "an erased question")
    list(stream)
    assert s.refused(400, "DELETE", f"/v1/threads/{thread}?erase=all")
    assert s.good("DELETE", f"/v1/threads/{thread}?erase=tree") == \
        {"id": thread, "object": "thread.deleted", "deleted": True, "erased_threads": []}
    assert s.refused(404, "GET", f"/v1/threads/{thread}/messages")
    found(s, "q=erased", 0)


def test_losses_of_an_export(s):
    stream, thread, _ = s.start("weather", "and Tokyo?")
    list(stream)
    counts = {}
    for dialect in ("uap", "thread", "pydantic", "ui", "aitp", "assistants", "agentapi", "envelope", "upp"):
        said = s.good("GET", f"/v1/threads/{thread}/export?as={dialect}&losses=true")
        assert said["object"] == "export.losses" and said["more"] == 0, said
        assert all(set(x) == {"pointer", "what", "why"} and x["what"] and x["why"] for x in said["data"]), said
        counts[dialect] = len(said["data"])
        assert s.good("GET", f"/v1/threads/{thread}/export?as={dialect}&losses=false") == s.good("GET", f"/v1/threads/{thread}/export?as={dialect}")
    assert counts["uap"] == 0 and any(counts.values()), counts
    assert s.refused(400, "GET", f"/v1/threads/{thread}/export?as=ui&losses=maybe")


def test_messages_of_another_branch(s):
    t = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": "one"}]})["id"]
    list(s.start("echo", "two", thread=t)[0])
    first = s.good("GET", f"/v1/threads/{t}/checkpoints?order=asc&limit=1")["first_id"]
    list(s.start("echo", "three", thread=t)[0])
    before = s.good("GET", f"/v1/threads/{t}/tree")["current_id"]
    s.good("POST", f"/v1/threads/{t}/restore", {"checkpoint_id": first})
    list(s.start("echo", "four", thread=t)[0])
    after = s.good("GET", f"/v1/threads/{t}/tree")["current_id"]
    assert before != after

    def said(query):
        return [m["content"][0]["text"]["value"] for m in s.good("GET", f"/v1/threads/{t}/messages?order=asc&limit=100{query}")["data"]]
    old, new = ["one", "two", "two", "three", "three"], ["one", "two", "two", "four", "four"]
    assert said(f"&node_id={before}") == old and said(f"&node_id={after}") == new and said("") == new
    page = s.good("GET", f"/v1/threads/{t}/messages?node_id={before}&limit=2")  # cursors are of that path
    assert [m["content"][0]["text"]["value"] for m in page["data"]] == ["three", "three"] and page["has_more"]
    rest = s.good("GET", f"/v1/threads/{t}/messages?node_id={before}&after={page['last_id']}")["data"]
    assert [m["content"][0]["text"]["value"] for m in rest] == old[2::-1]
    for bad in ("x", "00000000-0000-4000-8000-000000000000"):
        assert s.refused(404, "GET", f"/v1/threads/{t}/messages?node_id={bad}")
    other = s.thread()
    assert s.refused(404, "GET", f"/v1/threads/{other}/messages?node_id={before}")


def test_threads_are_listed_in_pages(s):
    made = [s.thread() for _ in range(3)]
    seen, after = [], ""
    while True:
        page = s.good("GET", f"/v1/threads?limit=2{after}")
        seen += [t["id"] for t in page["data"]]
        if not page["has_more"]:
            break
        after = f"&after={page['last_id']}"
    assert len(seen) == len(set(seen)) and set(made) <= set(seen)
    for bad in ("limit=0", "limit=101", "order=asc", "before=x", "after=x", "after=thread_" + "0" * 32):
        assert s.refused(400, "GET", f"/v1/threads?{bad}")


def test_a_run_streams_in_uap(s):
    stream, thread, run = s.start("weather", "weather?")
    events = list(stream)
    assert last_state(events)["status"] == "completed" and text_of(events) == "18 degrees."
    kinds = [(e.get("upp") or e["uap"])["type"] for _, e in events]
    assert kinds.index("tool_execution_start") < kinds.index("tool_execution_end") < kinds.index("observation")
    r = s.good("GET", f"/v1/threads/{thread}/runs/{run}")
    assert r["status"] == "completed" and r["usage"]["total_tokens"] == 7 and r["assistant_id"] == "weather"
    said = s.good("GET", f"/v1/threads/{thread}/messages")["data"]
    assert [m["content"][0]["text"]["value"] for m in said] == ["18 degrees.", "Let me look.", "weather?"]


def test_checkpoints_that_are_told_can_be_restored(s):
    """UAP-12.2: also with events of agents below; and each has the tokens used so far (UAP-11.6)."""
    stream, thread, run = s.start("boss")
    list(stream)
    events = [e["uap"] for _, e in s.stream("GET", f"/v1/runs/{run}/events?children=1") if "uap" in e]
    told = [e["data"]["checkpointId"] for e in events if e["type"] == "checkpoint"]
    session = s.good("GET", f"/v1/threads/{thread}/export?as=uap")
    assert [c["id"] for c in session["checkpoints"]] == told and len(told) == 2, (told, session["checkpoints"])
    assert [c["state"]["metadata"]["totalTokens"] for c in session["checkpoints"]] == [7, 12], session["checkpoints"]
    for id in told:
        s.good("POST", f"/v1/threads/{thread}/restore", {"checkpoint_id": id})


def test_events_of_agents_below_say_who_called_them(s):
    stream, thread, run = s.start("boss")
    list(stream)
    events = [e for _, e in s.stream("GET", f"/v1/runs/{run}/events?children=1")]
    boss = events[0]["uap"]["agentId"]
    below = [e["uap"]["data"] if "uap" in e else e for e in events if ("uap" in e and "depth" in e["uap"]["data"]) or "depth" in e]
    own = [e for e in events if "uap" in e and "depth" not in e["uap"]["data"]]
    assert len(below) > 10 and {(e["parentAgentId"], e["parentTurnId"]) for e in below} == {(boss, run)}, below
    assert {e["runId"] for e in below} != {run} and not any("parentTurnId" in e["uap"]["data"] for e in own)


def test_a_run_is_handed_over(s):
    stream, thread, run = s.start("first", "hello")
    events = list(stream)
    assert last_state(events)["status"] == "completed" and text_of(events) == "Go on."
    told = [e["uap"] for _, e in events if "uap" in e]
    handed = [e for e in told if e["type"] == "system_event"]
    assert [e["data"] for e in handed] == [{"eventType": "agent.handoff", "eventData": {"from": "first", "to": "second", "reason": "r"},
                                            "sourceAgent": "first", "targetAgents": ["second"]}]
    assert told[0]["agentId"] == handed[0]["agentId"] != told[-1]["agentId"]
    said = s.good("GET", f"/v1/threads/{thread}/messages?order=asc")["data"]
    assert [(m["role"], m["assistant_id"], m["content"][0]["text"]["value"]) for m in said] == [
        ("user", None, "hello"), ("assistant", "first", "Over."), ("assistant", "second", "Go on.")]  # the prompt of a handoff is nobody's message
    chunks = [e for _, e in s.stream("GET", f"/v1/runs/{run}/events?as=ui")]
    assert [c["type"] for c in chunks if c != "[DONE]" and c["type"].startswith("data-")] == ["data-agent.handoff"]
    assert [c["messageId"] for c in chunks if c != "[DONE]" and c["type"] == "start"] == [chunks[0]["messageId"]]


def test_a_run_streams_in_ui(s):
    t = s.thread()
    stream = s.stream("POST", f"/v1/threads/{t}/runs?as=ui",
                      {"assistant_id": "weather", "stream": True, "additional_messages": [{"role": "user", "content": "w"}]})
    assert stream.r.headers["x-vercel-ai-ui-message-stream"] == "v1"
    chunks = [e for _, e in stream]
    assert chunks[0]["type"] == "start" and chunks[-1] == "[DONE]"
    assert {"type": "tool-output-available", "toolCallId": "c1", "output": 18} in chunks


def test_a_run_streams_as_a_response(s):
    t = s.thread()
    frames = [e for _, e in s.stream("POST", f"/v1/threads/{t}/runs?as=agentapi",
                                     {"assistant_id": "weather", "stream": True, "additional_messages": [{"role": "user", "content": "w"}]})]
    assert [f["sequence_number"] for f in frames] == list(range(len(frames)))
    assert frames[0]["object"] == "response" and frames[-1]["status"] == "completed", frames[-1]
    assert [m["content"][0]["data"]["output"] for m in frames[-1]["output"] if m["type"] == "plugin_call_output"] == ["18"]
    history = s.good("GET", f"/v1/threads/{t}/export?as=agentapi")
    assert [m["type"] for m in history[1:]] == [m["type"] for m in frames[-1]["output"]], history


def test_a_response_ends_at_an_approval(s):
    t = s.thread()
    stream = s.stream("POST", f"/v1/threads/{t}/runs?as=agentapi",
                      {"assistant_id": "ask", "stream": True, "additional_messages": [{"role": "user", "content": "x"}]})
    last = [e for _, e in stream][-1]
    assert last["status"] == "completed" and last["output"][-1]["type"] == "mcp_approval_request", last
    run = s.good("GET", f"/v1/threads/{t}/messages?limit=1")["data"][0]["run_id"]
    s.good("POST", f"/v1/runs/{run}/answers", {"answers": [{"call_id": "c1", "approved": True}]})
    frames = [e for _, e in s.stream("GET", f"/v1/runs/{run}/events?as=agentapi")]
    assert [f["status"] for f in frames if f["object"] == "response"] == ["created", "in_progress", "completed"] * 2
    assert frames[-1]["output"][0]["content"][0]["data"]["output"] == '"gone"', frames[-1]


def test_a_run_without_a_stream_is_polled(s):
    t = s.thread()
    r = s.good("POST", f"/v1/threads/{t}/runs", {"assistant_id": "echo", "additional_messages": [{"role": "user", "content": "hey"}]})
    assert r["object"] == "thread.run" and r["status"] in ("queued", "in_progress", "completed") and r["thread_id"] == t
    assert wait_for(s, t, r["id"], "completed")["completed_at"]


def test_a_run_chooses_its_model(s):
    t = s.thread()
    body = {"assistant_id": "client", "model": "echo", "temperature": 0.2, "top_q": 1, "additional_messages": [{"role": "user", "content": "say this"}]}
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=PATIENCE)
    c.request("POST", f"/v1/threads/{t}/runs", json.dumps(body))
    r = c.getresponse()
    run = json.loads(r.read())
    assert r.status == 200 and run["model"] == "echo" and run["temperature"] == 0.2, run
    assert r.headers["weft-ignored"] == "top_q", r.headers
    wait_for(s, t, run["id"], "completed")
    assert texts(s, t) == ["say this", "say this"], texts(s, t)
    assert "no model 'gpt-9'" in s.refused(404, "POST", f"/v1/threads/{t}/runs", {**body, "model": "gpt-9"})
    assert len(texts(s, t)) == 2, "a refused run appended something"
    wait_for(s, t, s.good("POST", f"/v1/threads/{t}/runs", {**body, "model": None})["id"], "requires_action")


def test_a_stream_is_what_openai_clients_read(s):
    t = s.thread()
    stream = s.stream("POST", f"/v1/threads/{t}/runs", {"assistant_id": "echo", "stream": True, "additional_messages": [{"role": "user", "content": "hey"}]})
    while stream.next():
        pass
    events = re.findall(rb"event: (\S+)\n", stream.raw)
    assert events[0] == b"thread.run.created" and events[-2:] == [b"thread.run.completed", b"done"], events
    assert all(re.fullmatch(r"\d+-\d+\.\d+", number or "") for number, _ in frames_of(stream.raw.rpartition(b"\n\n")[0])), stream.raw


def test_a_run_that_a_limit_cut_short_is_incomplete(s):
    t = s.thread()
    body = {"assistant_id": "short", "stream": True, "additional_messages": [{"role": "user", "content": "hello"}]}
    stream = s.stream("POST", f"/v1/threads/{t}/runs", body)
    while stream.next():
        pass
    assert b"event: thread.run.incomplete\n" in stream.raw and b"thread.run.completed" not in stream.raw, stream.raw
    run = re.search(rb'"id":"(run_[0-9a-f]+)"', stream.raw)[1].decode()
    run = s.good("GET", f"/v1/threads/{t}/runs/{run}")
    assert run["status"] == "incomplete" and run["incomplete_details"] == {"reason": "max_steps"}, run
    assert run["last_error"] is None and run["completed_at"], run
    stream, _, _ = s.start("short")
    last = last_state(list(stream))
    assert last["status"] == "incomplete" and last["incomplete"] == {"reason": "max_steps"} and "error" not in last, last
    stream, t, run = s.start("weather")
    list(stream)
    run = s.good("GET", f"/v1/threads/{t}/runs/{run}")
    assert run["status"] == "completed" and run["incomplete_details"] is None, run


def test_threads_are_listed_by_their_last_change(s):
    def first():
        return [x["id"] for x in s.good("GET", "/v1/threads?limit=2")["data"]]
    stream, t, run = s.start("client")
    list(stream)
    stream, u, _ = s.start("echo")
    list(stream)
    assert first() == [u, t], (t, u)
    s.good("POST", f"/v1/runs/{run}/answers", {"answers": [{"call_id": "c1", "output": 1}]})
    wait_for(s, t, run, "completed")  # its end is a change, too
    assert first() == [t, u], (t, u)


def test_a_failed_run_says_why(s):
    stream, thread, run = s.start("broken")
    state = last_state(list(stream))
    assert state["status"] == "failed" and state["error"]["message"].endswith("no such key"), state
    assert s.good("GET", f"/v1/threads/{thread}/runs/{run}")["last_error"]["message"].endswith("no such key")


DIALECTS = ("weft", "uap", "upp", "ui", "assistants", "agentapi")


def frames_of(raw):
    """The frames of a stream, without comments: (id, the rest of its bytes)."""
    blocks = [b for b in raw.split(b"\n\n") if b and not b.startswith(b":")]
    return [(b.partition(b"\n")[0][4:].decode() if b.startswith(b"id: ") else None, b) for b in blocks]


def rest_of(s, path, last):
    rest = s.stream("GET", path, headers={"Last-Event-ID": last} if last else {})
    list(rest)
    return frames_of(rest.raw)


def resume_everywhere(s, run, dialect):
    """Reads the whole, then cuts it behind every single frame: with the last id seen the rest comes, and nothing else."""
    path = f"/v1/runs/{run}/events?as={dialect}"
    whole = s.stream("GET", path)
    list(whole)
    frames, last = frames_of(whole.raw), None
    for k, (id, _) in enumerate(frames):
        last = id or last
        rest = rest_of(s, path, last)
        assert frames[:k + 1] + rest == frames, (dialect, k, last, frames[k], rest[:2])
    assert len({id for id, _ in frames}) == len(frames), frames
    return whole.raw


def cut_everywhere(s, agent, dialect, answer=None):
    """A run that works, read by somebody who is cut off behind every frame: what a reader of the whole gets."""
    t = s.thread()
    run = s.good("POST", f"/v1/threads/{t}/runs", {"assistant_id": agent, "additional_messages": [{"role": "user", "content": "go"}]})["id"]
    path, last, got = f"/v1/runs/{run}/events?as={dialect}", None, []
    while len(got) < 500:
        stream = s.stream("GET", path, headers={"Last-Event-ID": last} if last else {})
        event = stream.next()
        stream.close()
        if not event:
            if not answer or s.good("GET", f"/v1/threads/{t}/runs/{run}")["status"] not in ("requires_action", "in_progress"):
                break
            s.good("POST", f"/v1/runs/{run}/answers", {"answers": [answer]})
            answer = None
            continue
        last = event[0] or last
        got += frames_of(stream.raw)
        if answer and dialect == "weft" and event[1].get("uap", {}).get("data", {}).get("status") == "waiting":
            s.good("POST", f"/v1/runs/{run}/answers", {"answers": [answer]})  # uap goes on through waits
            answer = None
    assert got == rest_of(s, path, None), (agent, dialect)


def at_once(fn, calls):
    """Calls that mostly wait, of all these arguments."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        list(pool.map(lambda args: fn(*args), calls))


def test_events_resume_behind_every_frame(s):
    stream, _, run = s.start("weather", "weather?")
    list(stream)
    resumed[run] = {d: resume_everywhere(s, run, d) for d in DIALECTS}
    assert resumed[run]["weft"] == stream.raw
    for bad in ("x", "1-", "1-5.", "1-5.0", "1-5.x", "1-5.01", "1-5.1.1", "-1-5", "1-5.4294967296"):
        assert "EPOCH-NUMBER" in s.refused(400, "GET", f"/v1/runs/{run}/events", headers={"Last-Event-ID": bad}), bad
    assert s.refused(400, "GET", f"/v1/runs/{run}/events?as=klingon")
    later = s.stream("GET", f"/v1/runs/{run}/events?from=5").next()
    assert later[0] == "1-5.1"


SEED = {"step_start", "step_end", "reasoning", "action", "observation", "checkpoint"}  # UAP 12.2
OURS = {"run", "system_event", "attempt_void"}


def test_as_uap_has_the_types_of_the_specification_alone(s):
    # covers: UAP-12.2/2
    answers = {"client": {"call_id": "c1", "output": 3}}
    for agent, ours in (("boss", {"run"}), ("first", {"run", "system_event"}), ("torn", {"run", "attempt_void"}), ("client", {"run"}), ("weather", {"run"})):
        thread = s.thread()
        body = {"assistant_id": agent, "stream": True, "additional_messages": [{"role": "user", "content": "go"}]}
        posted = [e for _, e in s.stream("POST", f"/v1/threads/{thread}/runs?as=uap", body)]
        run = s.good("GET", f"/v1/threads/{thread}/runs")["data"][0]["id"]
        if agent in answers:
            s.good("POST", f"/v1/runs/{run}/answers", {"answers": [answers[agent]]})
        with_ours = [e for _, e in s.stream("GET", f"/v1/runs/{run}/events")]
        assert [e for _, e in s.stream("GET", f"/v1/runs/{run}/events?as=weft")] == with_ours
        pure = [e for _, e in s.stream("GET", f"/v1/runs/{run}/events?as=uap")]
        assert {e["uap"]["type"] for e in posted + pure if "uap" in e} <= SEED, (agent, pure)
        assert {e["uap"]["type"] for e in with_ours if "uap" in e} - SEED == ours, (agent, with_ours)
        assert pure == [e for e in with_ours if "upp" in e or e["uap"]["type"] in SEED], agent  # nothing else is different
        assert pure[:len(posted)] == posted and {e["source"] for e in pure} == {"uap", "upp"}, agent


def test_an_id_without_a_part_means_all_of_its_event(s):
    stream, _, run = s.start("weather", "weather?")
    list(stream)
    for dialect in DIALECTS:
        path = f"/v1/runs/{run}/events?as={dialect}"
        frames = rest_of(s, path, None)
        for id, _ in frames:
            event = id.partition(".")[0]
            behind = [i for i, (x, _) in enumerate(frames) if x.startswith(event + ".")][-1] + 1
            assert rest_of(s, path, event) == frames[behind:], (dialect, event)


def test_runs_of_every_sort_resume_behind_every_frame(s):
    """Sub-agents, handoffs, waits that were answered, voids and failures."""
    answers = {"client": {"call_id": "c1", "output": 3}, "ask": {"call_id": "c1", "approved": True}}
    for agent in ("boss", "first", "client", "ask", "broken", "torn"):
        stream, thread, run = s.start(agent)
        list(stream)
        if agent in answers:
            paused = {d: resume_everywhere(s, run, d) for d in ("ui", "assistants", "agentapi") if agent == "client" or d != "assistants"}
            s.good("POST", f"/v1/runs/{run}/answers", {"answers": [answers[agent]]})
            wait_for(s, thread, run, "completed")
        whole = {d: resume_everywhere(s, run, d) for d in DIALECTS}
        for d in paused if agent in answers else ():
            assert whole[d].startswith(paused[d]), d
        if agent == "boss":
            resumed[run] = {d: resume_everywhere(s, run, d) for d in ("uap&children=1", "ui&target=7&children=1")}


def test_arguments_that_are_no_json_are_answered_with_an_error(s):
    # covers: AAP-4/3, UPP-17/3
    stream, thread, run = s.start("garbled")
    list(stream)
    frames = [json.loads(b.partition(b"data: ")[2]) for _, b in rest_of(s, f"/v1/runs/{run}/events?as=agentapi", None)]
    call, output = ([m for m in frames[-1]["output"] if m["type"] == kind] for kind in ("plugin_call", "plugin_call_output"))
    assert call[0]["content"][0]["data"]["arguments"] == '{"city": ', call
    assert output[0]["status"] == "failed" and "JSON" in output[0]["content"][0]["data"]["output"], output
    assert frames[-1]["status"] == "completed" and texts(s, thread)[-1] == "Sorry."
    doc = s.good("GET", f"/v1/threads/{thread}/export?as=thread")
    returned = [p for t in doc["turns"] for m in t.get("messages", []) for p in m.get("parts", []) if p["part_kind"] == "tool-return"]
    assert [(p["tool_call_id"], p["status"]) for p in returned] == [("c1", "validation_error")], returned
    there = s.good("POST", "/v1/threads/import?from=thread&agent=garbled&on_conflict=copy", doc)["id"]
    again = s.good("GET", f"/v1/threads/{there}/export?as=thread")
    assert [p["status"] for t in again["turns"] for m in t.get("messages", []) for p in m.get("parts", []) if "status" in p] == ["validation_error"]


TARGETS = DIALECTS + ("ui&target=5", "ui&target=7")


def behind_every_frame(s, run, dialect, live):
    """What was shown while the run worked is shown again, and behind each frame, also those that are void now, the rest of it."""
    path = f"/v1/runs/{run}/events?as={dialect}"
    assert rest_of(s, path, None) == live, dialect
    for k, (id, _) in enumerate(live):
        assert rest_of(s, path, id) == live[k + 1:], (dialect, k, id)


def test_who_saw_what_was_taken_back_gets_the_rest(s):
    """Streams that broke after output, read by one who stays, by one who is cut off behind every frame, and later."""
    def read(agent, dialect):
        t = s.thread()
        stream = s.stream("POST", f"/v1/threads/{t}/runs?as={dialect}",
                          {"assistant_id": agent, "stream": True, "additional_messages": [{"role": "user", "content": "go"}]})
        list(stream)
        live = frames_of(stream.raw)
        run = s.good("GET", f"/v1/threads/{t}/messages?limit=1")["data"][0]["run_id"]
        epochs = [int(id.partition("-")[0]) for id, _ in live]
        assert max(epochs) == (2 if agent == "torn" else 4) and epochs == sorted(epochs), (dialect, epochs)
        assert len({id for id, _ in live}) == len(live), (dialect, live)
        behind_every_frame(s, run, dialect, live)
        torn[run, dialect] = live
        cut_everywhere(s, agent, dialect)
    at_once(read, [(agent, dialect) for agent in ("torn", "tattered") for dialect in TARGETS])


def test_live_runs_resume_behind_every_frame(s):
    answer = {"call_id": "c1", "output": 3}
    at_once(cut_everywhere, [(s, "weather", d) for d in DIALECTS] + [(s, "client", d, answer) for d in DIALECTS if d != "upp"] +
            [(s, "boss", "uap&children=1"), (s, "first", "ui")])


def test_a_client_tool_waits_for_its_result(s):
    stream, thread, run = s.start("client")
    state = last_state(list(stream))
    assert state["status"] == "waiting" and state["pending"][0]["toolCallId"] == "c1"
    r = s.good("GET", f"/v1/threads/{thread}/runs/{run}")
    assert r["status"] == "requires_action"
    assert r["required_action"]["submit_tool_outputs"]["tool_calls"][0]["function"] == {"name": "pick_date", "arguments": '{"a":1}'}
    answers = f"/v1/runs/{run}/answers"
    assert "c9" in s.refused(400, "POST", answers, {"answers": [{"call_id": "c9", "output": 1}]})
    assert s.refused(400, "POST", answers, {"answers": []})
    assert s.refused(400, "POST", answers, {"answers": [{"call_id": "c1", "approved": True}]})
    s.good("POST", answers, {"answers": [{"call_id": "c1", "output": {"day": 3}}]})
    events = list(s.stream("GET", f"/v1/runs/{run}/events"))
    assert last_state(events)["status"] == "completed" and text_of(events) == "Booked."
    assert s.refused(400, "POST", answers, {"answers": [{"call_id": "c1", "output": 1}]})


def open_calls(thread):
    """getPendingToolCalls of ThreadProtocol, over all turns."""
    parts = [p for t in thread["turns"] for m in t.get("messages", []) for p in m.get("parts", [])]
    answered = {p["tool_call_id"] for p in parts if p["part_kind"] == "tool-return"}
    return [p["tool_call_id"] for p in parts if p["part_kind"] == "tool-call" and p["tool_call_id"] not in answered]


def test_open_calls_go_to_another_place_and_are_answered_there(s):
    """A run that waits is a document with open calls; imported, their answers begin the next run."""
    stream, thread, run = s.start("two")
    assert [p["toolCallId"] for p in last_state(list(stream))["pending"]] == ["c1"]
    for dialect in ("thread", "pydantic", "ui", "agentapi", "assistants", "upp", "aitp", "envelope", "uap"):
        doc = s.good("GET", f"/v1/threads/{thread}/export?as={dialect}")
        if dialect == "thread":
            turn = doc["turns"][-1]
            assert open_calls(doc) == ["c1"] and turn["x_weft"]["partial"] is True, doc
            assert turn["completed_at"] == turn["messages"][-1]["timestamp"], turn
        there = s.good("POST", f"/v1/threads/import?from={dialect}&agent=two&on_conflict=copy", doc)["id"]
        assert open_calls(s.good("GET", f"/v1/threads/{there}/export?as=thread")) == ["c1"], dialect
        if dialect == "uap":  # nothing is said there yet that was not said here
            again = s.good("GET", f"/v1/threads/{there}/export?as=uap")
            assert again["threadTree"] == doc["threadTree"], again
        runs = f"/v1/threads/{there}/runs"

        def answer(*answers, **more):
            return {"assistant_id": "two", "answers": list(answers), **more}

        assert "c9" in s.refused(400, "POST", runs, answer({"call_id": "c9", "output": 1}))
        assert "c2" in s.refused(400, "POST", runs, answer({"call_id": "c1", "output": 1}, {"call_id": "c2", "output": 1}))
        assert "twice" in s.refused(400, "POST", runs, answer({"call_id": "c1", "output": 1}, {"call_id": "c1", "output": 1}))
        assert "not run here" in s.refused(400, "POST", runs, answer({"call_id": "c1", "approved": True}))
        assert "not both" in s.refused(400, "POST", runs, answer({"call_id": "c1", "output": 1},
                                                                 additional_messages=[{"role": "user", "content": "x"}]))
        assert s.refused(400, "POST", runs, answer())
        key = {"Idempotency-Key": "answers"}
        r = s.good("POST", runs, answer({"call_id": "c1", "output": {"day": 3}}), key)
        assert s.good("POST", runs, answer({"call_id": "c1", "output": {"day": 3}}), key)["id"] == r["id"]
        wait_for(s, there, r["id"], "completed")
        after = s.good("GET", f"/v1/threads/{there}/export?as=thread")
        assert open_calls(after) == [] and texts(s, there)[-1] == "Booked.", after
        last = after["turns"][-1]
        assert last["turn_type"] == "agent" and [p["part_kind"] for m in last["messages"] for p in m["parts"]] == ["tool-return", "text"], last
        assert last["messages"][0]["parts"][0]["content"] == {"day": 3} and "x_weft" not in last or not last["x_weft"].get("partial"), last
        assert "no call" in s.refused(400, "POST", runs, answer({"call_id": "c1", "output": 1}))
    # Where the run still is, the same door lets it go on.
    r = s.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "two", "answers": [{"call_id": "c1", "output": {"day": 3}}]})
    assert r["id"].replace("_", "").endswith(run.replace("-", "")) and wait_for(s, thread, r["id"], "completed")
    assert texts(s, thread)[-1] == "Booked." and open_calls(s.good("GET", f"/v1/threads/{thread}/export?as=thread")) == []


def test_pydantic_and_ui_get_from_each_other_what_both_have(s):
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
    with open(os.path.join(golden, "pydantic/every.json"), encoding="utf-8") as f:
        t = s.good("POST", "/v1/threads/import?from=pydantic", json.load(f))["id"]
    ui = s.good("GET", f"/v1/threads/{t}/export?as=ui")
    assert [m["role"] for m in ui] == ["system", "user", "assistant", "system", "user", "assistant"], ui
    assert [p["toolCallId"] for m in ui for p in m["parts"] if p.get("providerExecuted")] == ["b1"] and ui[1]["metadata"]["app"] == {"tenant": 7}
    with open(os.path.join(golden, "ui/documents/every.json"), encoding="utf-8") as f:
        t = s.good("POST", "/v1/threads/import?from=ui", json.load(f))["id"]
    messages = s.good("GET", f"/v1/threads/{t}/export?as=pydantic")
    assert [p["part_kind"] for p in messages[0]["parts"]] == ["system-prompt", "system-prompt", "user-prompt"], messages
    assert "builtin-tool-return" in [p["part_kind"] for p in messages[1]["parts"]]
    assert messages[-1]["metadata"]["weft"]["approvals"]["c3"] == {"id": "ap3"}, messages[-1]


def test_an_approval_is_given_or_denied(s):
    for approved in (True, False):
        stream, thread, run = s.start("ask")
        assert last_state(list(stream))["pending"][0]["approval"] is True
        action = s.good("GET", f"/v1/threads/{thread}/runs/{run}")["required_action"]
        assert action["type"] == "approval" and [c["id"] for c in action["approval"]["calls"]] == ["c1"], action
        s.good("POST", f"/v1/runs/{run}/answers", {"answers": [{"call_id": "c1", "approved": approved}]})
        events = list(s.stream("GET", f"/v1/runs/{run}/events"))
        ended = [e["upp"]["delta"] for _, e in events if "upp" in e and e["upp"]["type"] == "tool_execution_end"]
        assert last_state(events)["status"] == "completed"
        assert ended[0]["isError"] is not approved and (ended[0]["result"] == "gone") is approved, ended


def test_a_ui_stream_ends_at_an_approval_but_for_5(s):
    # What 5 is sent cannot say that an approval is waited for, so its stream goes on; those of 6 and 7 end there.
    for target in (5, 6, 7):
        t = s.thread()
        stream = s.stream("POST", f"/v1/threads/{t}/runs?as=ui&target={target}",
                          {"assistant_id": "ask", "stream": True, "additional_messages": [{"role": "user", "content": "x"}]})
        assert stream.r.headers.get_all("x-accel-buffering") == ["no"]
        run = s.good("GET", f"/v1/threads/{t}/messages?limit=1")["data"][0]["run_id"]
        while s.good("GET", f"/v1/threads/{t}/runs/{run}")["status"] != "requires_action":
            time.sleep(0.02)
        if target > 5:
            assert [e for _, e in stream][-2:] == [{"type": "finish", "finishReason": "tool-calls"}, "[DONE]"]
        s.good("POST", f"/v1/runs/{run}/answers", {"answers": [{"call_id": "c1", "approved": True}]})
        rest = stream if target == 5 else s.stream("GET", f"/v1/runs/{run}/events?as=ui&target={target}")
        chunks = [e for _, e in rest]
        assert {"type": "tool-output-available", "toolCallId": "c1", "output": "gone"} in chunks, chunks
        assert chunks[-1] == "[DONE]" and chunks.count("[DONE]") == (1 if target == 5 else 2), chunks


def test_a_run_is_cancelled(s):
    stream, thread, run = s.start("slow")
    for _ in range(10):
        stream.next()
    assert s.good("POST", f"/v1/runs/{run}/cancel")["status"] in ("cancelling", "cancelled")
    assert last_state(list(stream))["status"] == "cancelled"
    assert s.good("GET", f"/v1/threads/{thread}/runs/{run}")["status"] == "cancelled"
    m = s.good("GET", f"/v1/threads/{thread}/messages?limit=1")["data"][0]
    assert m["status"] == "incomplete" and WORDS.startswith(m["content"][0]["text"]["value"]), m
    stream, _, run = s.start("echo", thread=thread)  # the thread goes on
    assert last_state(list(stream))["status"] == "completed"
    assert s.refused(400, "POST", f"/v1/runs/{run}/cancel") == "Cannot cancel run with status 'completed'."


def test_a_busy_thread_refuses_with_the_known_sentences(s):
    stream, thread, run = s.start("slow")
    hexed = "run_" + run.replace("-", "")
    assert s.refused(400, "POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": "x"}) == \
        f"Can't add messages to {thread} while a run {hexed} is active."
    body = {"assistant_id": "echo", "additional_messages": [{"role": "user", "content": "next"}]}
    assert s.refused(400, "POST", f"/v1/threads/{thread}/runs", body) == f"Thread {thread} already has an active run {hexed}."
    queued = s.good("POST", f"/v1/threads/{thread}/runs", {**body, "on_busy": "enqueue"})
    assert queued["status"] == "queued"
    never = s.good("POST", f"/v1/threads/{thread}/runs", {**body, "on_busy": "enqueue"})
    reading = s.stream("GET", f"/v1/runs/{never['id']}/events")
    assert s.good("POST", f"/v1/runs/{never['id']}/cancel")["status"] == "cancelled"
    assert list(reading) == list(s.stream("GET", f"/v1/runs/{never['id']}/events")) == []  # it has never said anything
    s.good("POST", f"/v1/runs/{run}/cancel")
    list(stream)
    wait_for(s, thread, queued["id"], "completed")


def test_a_full_queue_says_so(s):
    stream, thread, run = s.start("slow")
    body = {"assistant_id": "echo", "on_busy": "enqueue", "additional_messages": [{"role": "user", "content": "next"}]}
    for _ in range(16):
        assert s.good("POST", f"/v1/threads/{thread}/runs", body)["status"] == "queued"
    assert "the queue of the thread is full" in s.refused(429, "POST", f"/v1/threads/{thread}/runs", body)
    s.good("DELETE", f"/v1/threads/{thread}")
    list(stream)


def test_an_unknown_route_is_named(s):
    """A client with a wrong base URL sees what it asked for; a path that is long or no plain text is not repeated."""
    for method, path in (("POST", "/v1/embeddings"), ("GET", "/v1/models/"), ("POST", "/v1/v1/chat/completions")):
        said = s.refused(404, method, path, {"model": "x"} if method == "POST" else None)
        assert f"there is no route {path}" in said, said
    for path in ("/" + 64 * "x", "/%c3%28" + 64 * "y"):
        assert "there is no such route" in s.refused(404, "GET", path)
    assert "there is no route /" + 63 * "x" in s.refused(404, "GET", "/" + 63 * "x")


def test_unknown_things_are_404(s):
    stream, thread, run = s.start("echo")
    list(stream)
    other, none = s.thread(), "0" * 31 + "1"
    for method, path in (("GET", "/v1/nothing"), ("GET", f"/v1/threads/thread_{none}/messages"), ("GET", "/v1/threads/x/messages"),
                         ("GET", f"/v1/threads/{other}/runs/{run}"), ("GET", f"/v1/threads/{thread}/runs/run_{none}"),
                         ("GET", f"/v1/runs/run_{none}/events"), ("POST", f"/v1/runs/run_{none}/cancel")):
        assert s.refused(404, method, path)
    assert s.refused(404, "POST", f"/v1/threads/thread_{none}/runs", {"assistant_id": "echo"})
    assert s.refused(404, "POST", f"/v1/runs/run_{none}/answers", {"answers": [{"call_id": "c", "output": 1}]})
    assert s.refused(404, "POST", f"/v1/threads/{thread}/runs",
                     {"assistant_id": "nobody", "additional_messages": [{"role": "user", "content": "x"}]})
    status, answer = s.ask("DELETE", "/v1/threads")
    assert status == 405 and answer["error"]["code"] == "method_not_allowed", answer
    assert s.ask("GET", "/v1/nothing")[1]["error"]["code"] == "not_found"


def test_bad_requests_are_400(s):
    t = s.thread()
    for path, body in (("/v1/threads", []), ("/v1/threads", {"messages": 3}), (f"/v1/threads/{t}/messages", {"role": "system", "content": "x"}),
                       (f"/v1/threads/{t}/messages", {"role": "user"}), (f"/v1/threads/{t}/runs", {}),
                       (f"/v1/threads/{t}/runs", {"assistant_id": "echo", "on_busy": "explode"})):
        assert s.refused(400, "POST", path, body)


def test_an_idempotency_key_joins(s):
    t = s.thread()
    body = {"assistant_id": "echo", "additional_messages": [{"role": "user", "content": "once"}]}
    key = {"Idempotency-Key": "k1"}
    first, second = (s.good("POST", f"/v1/threads/{t}/runs", body, key) for _ in range(2))
    assert first["id"] == second["id"]
    assert s.refused(400, "POST", f"/v1/threads/{t}/runs", {**body, "metadata": {"x": "y"}}, key)
    wait_for(s, t, first["id"], "completed")
    assert len(s.good("GET", f"/v1/threads/{t}/messages")["data"]) == 2


def test_agents_are_found_by_id(s):
    stream, _, run = s.start("echo")
    list(stream)
    event = s.stream("GET", f"/v1/runs/{run}/events").next()[1]
    ids["echo"] = event["uap"]["agentId"]
    by_id, _, _ = s.start("asst_" + ids["echo"].replace("-", ""), "by id")
    assert text_of(list(by_id)) == "by id"


# ---- Across deaths -------------------------------------------------------------------------------------------------------

def after_kill(s):
    """kill -9 in the middle of a run: the next server goes on with it, and so does the reader."""
    stream, thread, run = s.start("slow")
    had = [stream.next() for _ in range(20)]
    client, _, waiting = s.start("client")
    list(client)
    s.kill()
    s = Server()
    rest = s.stream("GET", f"/v1/runs/{run}/events", headers={"Last-Event-ID": stream.last})
    events = had + list(rest)
    assert last_state(events)["status"] == "completed"
    assert "attempt_void" in [e["uap"]["type"] for _, e in events if "uap" in e]
    assert text_of(events) == WORDS == text_of(list(s.stream("GET", f"/v1/runs/{run}/events")))
    said = s.good("GET", f"/v1/threads/{thread}/messages")["data"]
    assert [m["content"][0]["text"]["value"] for m in said] == [WORDS, "hello"]
    s.good("POST", f"/v1/runs/{waiting}/answers", {"answers": [{"call_id": "c1", "output": 1}]})
    assert last_state(list(s.stream("GET", f"/v1/runs/{waiting}/events")))["status"] == "completed"
    return s


def shown(dialect, frames):
    """What a client of the dialect shows at the end: the texts of its messages, those that never ended last."""
    data = [json.loads(b.partition(b"data: ")[2]) for _, b in frames if b"[DONE]" not in b]
    texts, ended, order = {}, {}, []
    for d in data:
        if dialect.startswith("ui"):
            if d["type"] == "text-start":
                assert d["id"] not in texts, d
                texts[d["id"]] = ""
            elif d["type"] == "text-delta":
                texts[d["id"]] += d["delta"]
            elif d["type"] == "text-end":
                ended[d["id"]] = texts[d["id"]]
            elif d["type"] == "reset-step":
                texts = {k: v for k, v in texts.items() if k in ended}
        elif dialect == "assistants":
            if d["object"] == "thread.message.delta":
                texts[d["id"]] = texts.get(d["id"], "") + d["delta"]["content"][0]["text"]["value"]
            elif d["object"] == "thread.message" and d["status"] == "completed":
                ended[d["id"]] = texts[d["id"]]
                assert ended[d["id"]] == d["content"][0]["text"]["value"], d
        elif d["object"] == "content" and d["delta"]:
            texts[d["msg_id"]] = texts.get(d["msg_id"], "") + d["text"]
        elif d["object"] == "message" and d["status"] == "completed":
            ended[d["id"]] = texts[d["id"]]
            assert ended[d["id"]] == d["content"][0]["text"], d
        elif d["object"] == "response" and d["status"] == "completed":  # its output is what counts
            assert [m["id"] for m in d["output"]] == list(ended), d
            texts = {m["id"]: m["content"][0]["text"] for m in d["output"]}
    return list(ended.values()), [t for k, t in texts.items() if k not in ended]


def after_kill_in_every_dialect(s):
    """kill -9 in the middle of streams: nobody has what was said, and readers end with the whole text once all the same."""
    had = {}
    for dialect in TARGETS[3:]:
        t = s.thread()
        stream = s.stream("POST", f"/v1/threads/{t}/runs?as={dialect}",
                          {"assistant_id": "slow", "stream": True, "additional_messages": [{"role": "user", "content": "go"}]})
        while stream.raw.count(b"\n\n") < 20:
            stream.next()
        had[dialect] = s.good("GET", f"/v1/threads/{t}/messages?limit=1")["data"][0]["run_id"], stream
    s.kill()
    s = Server()
    for dialect, (run, stream) in had.items():
        path, seen = f"/v1/runs/{run}/events?as={dialect}", frames_of(stream.raw.rpartition(b"\n\n")[0])
        rest = rest_of(s, path, seen[-1][0])
        assert [id[0] for id, _ in seen + rest] == ["1"] * len(seen) + ["2"] * len(rest), dialect
        whole, half = shown(dialect, seen + rest)
        assert whole == [WORDS], (dialect, whole)
        assert all(WORDS.startswith(h) for h in half), (dialect, half)
        assert bool(half) == (dialect in ("ui", "ui&target=5", "assistants")), (dialect, half)
        for k, (id, _) in enumerate(rest):
            assert rest_of(s, path, id) == rest[k + 1:], (dialect, k, id)
        again = rest_of(s, path, None)  # who comes new sees nothing of it
        assert shown(dialect, again) == ([WORDS], []) and again[-1] == rest[-1], dialect
    return s


def after_restart(s):
    """What was streamed before is streamed again, byte for byte; agents keep their ids."""
    for run, streams in resumed.items():
        for dialect, raw in streams.items():
            assert resume_everywhere(s, run, dialect) == raw
    for (run, dialect), live in torn.items():
        behind_every_frame(s, run, dialect, live)
    stream, _, run = s.start("echo")
    list(stream)
    assert s.stream("GET", f"/v1/runs/{run}/events").next()[1]["uap"]["agentId"] == ids["echo"]
    return s


def after_crashpoint(s):
    """Killed between the message and its tools: the tool runs once more, the thread is whole."""
    assert s.stop() == 0
    for _ in range(20):  # it may die before it has said which run it was
        s = Server(WEFT_CRASHPOINT="c2.after:1")
        run = None
        try:
            stream, thread, run = s.start("weather", "weather?")
            for _ in stream:
                pass
        except (ConnectionError, http.client.HTTPException):
            pass
        assert s.process.wait(timeout=PATIENCE) == -signal.SIGKILL
        if run:
            break
    assert run
    s = Server()
    assert wait_for(s, thread, run, "completed")
    said = s.good("GET", f"/v1/threads/{thread}/messages")["data"]
    assert [m["content"][0]["text"]["value"] for m in said] == ["18 degrees.", "Let me look.", "weather?"]
    return s


def after_sigterm(s):
    """SIGTERM with a live stream: goodbye, exit 0, and the run goes on at the next start."""
    stream, thread, run = s.start("slow")
    had = [stream.next() for _ in range(10)]
    s.process.terminate()
    had += list(stream)
    code = s.process.wait(timeout=PATIENCE)
    assert code == 0 and any("come back" in c for c in stream.comments), (code, stream.comments)
    assert connections_refused(s.port) and not os.path.exists(f"{HERE}/serve.db.sock")
    s = Server()
    had += list(s.stream("GET", f"/v1/runs/{run}/events", headers={"Last-Event-ID": stream.last}))
    assert last_state(had)["status"] == "completed" and text_of(had) == WORDS
    return s


def with_a_tool(s):
    """SIGTERM while a tool works: it is ended, and not run a second time."""
    stream, thread, run = s.start("sleepy")
    while not os.path.exists(f"{HERE}/naps"):
        time.sleep(0.02)
    assert s.stop() == 0
    sleeping = subprocess.run(["pgrep", "-f", "^sleep 321$"], capture_output=True, text=True) if shutil.which("pgrep") else None
    assert not sleeping or not sleeping.stdout, sleeping
    s = Server()
    assert wait_for(s, thread, run, "completed")
    assert open(f"{HERE}/naps").read() == "x\n"
    events = list(s.stream("GET", f"/v1/runs/{run}/events"))
    ended = [e["upp"]["delta"] for _, e in events if "upp" in e and e["upp"]["type"] == "tool_execution_end"]
    assert len(ended) == 1 and ended[0]["isError"] is True, ended
    return s


def at_the_end(s):
    """A taken port is said; an idle server stops."""
    taken = subprocess.run([WEFT, "serve", "--config", f"{HERE}/weft.yaml", "--store", "memory:", "--listen", f"127.0.0.1:{s.port}"],
                           capture_output=True, text=True, timeout=PATIENCE)
    assert taken.returncode == 1 and "cannot listen on 127.0.0.1" in taken.stderr, taken
    assert s.stop() == 0
    return s


resumed, torn, ids = {}, {}, {}
results = []


def judge(name, fn, s):
    try:
        r = fn(s)
        results.append(True)
        print(f"ok {len(results)} - {name.replace('_', ' ')}", flush=True)
        return r
    except Exception:
        results.append(False)
        print(f"not ok {len(results)} - {name.replace('_', ' ')}")
        for line in (traceback.format_exc() + open(f"{HERE}/log").read()[-2000:]).splitlines():
            print(f"# {line}")
        sys.stdout.flush()
        return None


def main():
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(CONFIG)
    for name, replies in SCRIPTS.items():
        with open(f"{HERE}/{name}.json", "w") as f:
            json.dump({"replies": replies, "at_end": "restart"}, f)
    s = Server()
    try:
        for name, fn in list(globals().items()):
            if name.startswith("test_"):
                judge(name[5:], fn, s)
        for fn in (after_kill, after_kill_in_every_dialect, after_restart, after_crashpoint, after_sigterm, with_a_tool, at_the_end):
            next_one = judge(fn.__doc__.rstrip("."), fn, s)
            if not next_one:
                break
            s = next_one
    finally:
        s.process.kill()
        shutil.rmtree(HERE, ignore_errors=True)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


sys.exit(main())
