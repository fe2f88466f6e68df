#!/usr/bin/env python3
"""An agent behind an Agent API server: what is sent, what is passed on, and what goes wrong.

usage: remote.py WEFT   (TAP)
"""
import json
import os
import shutil
import sys
import tempfile
import time

from agentapi_stub import Stub
from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-remote-")

CONFIG = """
server: {{listen: "127.0.0.1:0"}}
store: sqlite:remote.db
log: {{level: warn}}
models:
  boss: {{provider: scripted, script: boss.json}}
tools:
  clock: {{description: Tells the time, parameters: {{type: object}}, command: [sh, -c, "cat >/dev/null; echo noon"]}}
agents:
  far:
    remote: agentapi
    url: "{url}"
    api_key: ${{FAR_KEY}}
    headers: {{X-Team: weft}}
    system: Be brief.
    params: {{temperature: 0.5}}
    tools: [clock]
    idle_ms: {idle}
    timeout_ms: {idle}
    max_answer_bytes: 1000000
    retry: {{base_delay_ms: 10, max_attempts: 3}}
  boss: {{model: boss, tools: [far]}}
"""
BOSS = {"replies": [{"parts": [{"tool_call": {"id": "b1", "name": "far", "arguments": {"task": "from the boss"}}}]},
                    {"parts": [{"text": "The boss has heard."}]}], "at_end": "restart"}
KEY = "key-of-the-far-server"


class Case:
    """A stub, and a Weft server whose agent `far` is behind it."""

    def __init__(self, name, idle=20000):
        self.folder = f"{HERE}/{name}"
        os.makedirs(self.folder)
        with open(f"{self.folder}/boss.json", "w") as f:
            json.dump(BOSS, f)
        self.stub = Stub()
        self.config = CONFIG.format(url=self.stub.url, idle=idle)

    def serve(self):
        return Server(WEFT, self.folder, self.config, FAR_KEY=KEY)

    def __enter__(self):
        self.stub.__enter__()
        self.server = self.serve()
        return self.server, self.stub

    def __exit__(self, *what):
        self.server.__exit__(*what)
        self.stub.__exit__(*what)


def texts(s, thread):
    """All messages, oldest first."""
    list = s.good("GET", f"/v1/threads/{thread}/messages?order=asc&limit=100")["data"]
    return [(m["role"], "".join(c["text"]["value"] for c in m["content"] if c["type"] == "text")) for m in list]


def start(s, text, thread=None, agent="far"):
    thread = thread or s.good("POST", "/v1/threads", {})["id"]
    run = s.good("POST", f"/v1/threads/{thread}/runs",
                 {"assistant_id": agent, "additional_messages": [{"role": "user", "content": text}]})
    return thread, run["id"]


def over(s, thread, run):
    end = time.monotonic() + 60
    while True:
        now = s.good("GET", f"/v1/threads/{thread}/runs/{run}")
        if now["status"] not in ("queued", "in_progress", "cancelling"):
            return now
        assert time.monotonic() < end, now
        time.sleep(0.01)


def say(s, text, thread=None, agent="far"):
    thread, run = start(s, text, thread, agent)
    return thread, over(s, thread, run)


def input_texts(body):
    return [(m["role"], "".join(c.get("text", "") for c in m["content"])) for m in body["input"]]


def test_an_answer_is_streamed_through():
    # covers: AAP-15/1
    with Case("stream") as (s, stub):
        thread = s.good("POST", "/v1/threads", {})["id"]
        c = s.connection()
        c.request("POST", f"/v1/threads/{thread}/runs", json.dumps(
            {"assistant_id": "far", "stream": True, "additional_messages": [{"role": "user", "content": "slow"}]}))
        r, seen = c.getresponse(), ""
        while "on it" not in seen:  # the stub waits until it is stopped: this came while it was still answering
            line = r.readline().decode()
            assert line, seen
            seen += line
        assert "thread.message.delta" in seen, seen
        stub.stopped.set()
        rest = r.read().decode()
        c.close()
        assert "unheard" in rest and "thread.run.completed" in rest, rest
        assert texts(s, thread)[-1] == ("assistant", "working on itunheard")


def test_the_request():
    with Case("request") as (s, stub):
        thread, run = say(s, "hello")
        assert run["status"] == "completed", run
        path, headers, body = stub.requests[0]
        headers = {k.lower(): v for k, v in headers.items()}
        assert path == "/process" and headers["authorization"] == f"Bearer {KEY}" and headers["x-team"] == "weft", headers
        assert input_texts(body) == [("system", "Be brief."), ("user", "hello")], body
        assert body["stream"] is True and body["temperature"] == 0.5 and body["session_id"] and "user_id" not in body, body
        assert [t["function"]["name"] for t in body["tools"]] == ["clock"], body
        assert texts(s, thread) == [("user", "hello"), ("assistant", "echo: hello")]
        assert KEY not in s.log()


def test_the_server_remembers_the_rest():
    case = Case("session")
    with case as (s, stub):
        thread, _ = say(s, "one")
        say(s, "two", thread)
        s.__exit__()
        case.server = s = case.serve()  # nothing is remembered but what is stored
        say(s, "three", thread)
        first, second, third = stub.bodies()
        assert input_texts(second) == [("user", "two")] and input_texts(third) == [("user", "three")], (second, third)
        assert first["session_id"] == second["session_id"] == third["session_id"], stub.bodies()
        assert len({m["id"] for b in (second, third) for m in b["input"]}) == 2


def test_a_fork_is_another_session_with_the_history():
    with Case("fork") as (s, stub):
        thread, _ = say(s, "one")
        say(s, "two", thread)
        fork = s.good("POST", f"/v1/threads/{thread}/fork", {})["id"]
        say(s, "three", fork)
        say(s, "four", fork)
        say(s, "more", thread)
        _, _, third, fourth, fifth = stub.bodies()
        assert input_texts(third) == [("system", "Be brief."), ("user", "one"), ("assistant", "echo: one"), ("user", "two"),
                                      ("assistant", "echo: two"), ("user", "three")], third
        assert third["session_id"] != fifth["session_id"] and third["session_id"] == fourth["session_id"]
        assert input_texts(fourth) == [("user", "four")] and input_texts(fifth) == [("user", "more")]


def test_a_deleted_message_begins_a_new_session():
    with Case("deleted") as (s, stub):
        thread, _ = say(s, "one")
        first = s.good("GET", f"/v1/threads/{thread}/messages?order=asc")["data"][0]["id"]
        assert s.ask("DELETE", f"/v1/threads/{thread}/messages/{first}")[0] == 200
        say(s, "two", thread)
        a, b = stub.bodies()
        assert a["session_id"] != b["session_id"], b
        assert ("user", "one") not in input_texts(b) and input_texts(b)[-1] == ("user", "two"), b


def test_the_note_is_exported():
    # covers: AAP-15/5
    with Case("note") as (s, stub):
        thread, _ = say(s, "tools")
        status, doc = s.ask("GET", f"/v1/threads/{thread}/export?as=uap")
        assert status == 200, doc
        text = json.dumps(doc)
        note = text[text.index('"agentapi"'):]
        for word in ('"session"', '"seen"', '"response": "response_1"', '"latency_seconds": 3', "plugin_call", "found"):
            assert word in note, (word, note[:1500])
        assert texts(s, thread)[-1] == ("assistant", "It is found.")


def test_as_a_sub_agent():
    # covers: AAP-15/2
    with Case("child") as (s, stub):
        thread, run = say(s, "ask him", agent="boss")
        assert run["status"] == "completed", run
        assert input_texts(stub.bodies()[0])[-1] == ("user", "from the boss"), stub.bodies()
        assert texts(s, thread)[-1] == ("assistant", "The boss has heard.")
        say(s, "ask him again", thread, agent="boss")
        assert stub.bodies()[0]["session_id"] != stub.bodies()[1]["session_id"]


def test_a_tool_of_ours():
    with Case("call") as (s, stub):
        thread, run = say(s, "call clock")
        assert run["status"] == "completed", run
        assert len(stub.bodies()) == 2
        result = stub.bodies()[1]["input"]
        assert [m["type"] for m in result] == ["function_call_output"], result
        assert result[0]["content"][0]["data"]["call_id"] == "f1" and "noon" in result[0]["content"][0]["data"]["output"]
        assert texts(s, thread)[-1][1].startswith('echo: ') or "noon" in texts(s, thread)[-1][1], texts(s, thread)


def test_a_tool_that_nobody_has():
    with Case("nobody") as (s, stub):
        say(s, "call none")
        data = stub.bodies()[1]["input"][0]["content"][0]["data"]
        assert data["call_id"] == "f1" and "none" in data["output"], data


def test_an_image_is_not_fetched():
    with Case("image") as (s, stub):
        thread, run = say(s, "image")
        assert run["status"] == "completed", run
        content = s.good("GET", f"/v1/threads/{thread}/messages")["data"][0]["content"]
        assert content[0]["image_url"]["url"] == "http://127.0.0.1:1/never-fetched.png", content


FAILURES = {  # what the stub does: the error, how many requests were made, what was kept
    "fail": ("the agent broke", 1, "half of "),
    "failfast": ("too long", 1, None),
    "reject": ("not here", 1, None),
    "die": ("before its response was over", 1, "half of it"),
    "changes": ("changed a text", 1, "one text"),
    "turns": ("changed the role or type", 1, "one text"),
    "withdraws": ("withdrew a text", 1, "one text"),
    "late": ("goes on after its end", 1, "one text"),
    "skips": ("content 2 of a message that has 1", 1, "one text"),
    "mixes": ("was of another", 1, "one text"),
    "gap": ("comes after frame", 4, None),
    "garbage": ("stream is wrong", 4, None),
    "moved": ("307", 1, None),
    "huge": ("", 1, None),
    "endless": ("", 1, "more "),
}


def test_failures():
    # covers: AAP-15/3, AAP-15/4, AAP-15/6, AAP-16/2
    with Case("failures") as (s, stub):
        for way, (why, requests, kept) in FAILURES.items():
            before = len(stub.bodies())
            stub.stopped.clear()
            thread, run = say(s, way)
            assert run["status"] in ("failed", "incomplete"), (way, run)
            assert why in run["last_error"]["message"], (way, run["last_error"])
            assert len(stub.bodies()) - before == requests, (way, len(stub.bodies()) - before)
            last = texts(s, thread)[-1]
            assert last[1].startswith(kept) if kept else last == ("user", way), (way, last[1][:100])
        assert s.memory("VmHWM") < 200
        assert "AGENT_UNKNOWN_ERROR" in json.dumps(s.run("far", "fail")["last_error"])
        assert not any(path == "/elsewhere" for path, _, _ in stub.requests)
        assert s.run("far", "and it still works")["status"] == "completed"


def test_retried_before_the_first_output():
    # covers: AAP-15/4
    with Case("retry") as (s, stub):
        for way, requests, answer in (("busy", 3, "echo: free"), ("running", 2, "echo: free"), ("overload", 3, "echo: at last"),
                                      ("diefirst", 3, "third time")):
            before = len(stub.bodies())
            thread, run = say(s, way)
            assert run["status"] == "completed" and texts(s, thread)[-1] == ("assistant", answer), (way, run, texts(s, thread))
            sent = stub.bodies()[before:]
            assert len(sent) == requests and all(b == sent[0] for b in sent), (way, sent)


def test_silence_has_a_limit():
    with Case("silence", idle=300) as (s, stub):
        thread, run = say(s, "silent")
        assert run["status"] == "failed" and stub.stopped.is_set(), run


def test_a_cancel_is_passed_on():
    for name, text, path in (("cancel", "slow", "/stop"), ("cancel-early", "quiet", "/stop")):
        with Case(name) as (s, stub):
            thread, run = start(s, text)
            assert stub.begun.wait(30)
            s.good("POST", f"/v1/threads/{thread}/runs/{run}/cancel")
            assert over(s, thread, run)["status"] == "cancelled"
            assert stub.stopped.wait(10)
            found, headers, body = stub.requests[-1]
            assert found == path and headers["authorization"] == f"Bearer {KEY}", stub.requests[-1]
            assert body["input"] == [] and body["session_id"] == stub.bodies()[0]["session_id"], body
            # of an interrupted answer the server may know more than we do: a new session
            thread, run = say(s, "go on", thread)
            assert run["status"] == "completed"
            assert stub.bodies()[-1]["session_id"] != stub.bodies()[0]["session_id"]
            assert input_texts(stub.bodies()[-1])[-2:] == [("assistant", "working on it") if text == "slow" else ("user", text),
                                                           ("user", "go on")]


def test_a_cancel_of_the_parent_is_passed_on():
    case = Case("cancel-child")
    with open(f"{case.folder}/boss.json", "w") as f:
        f.write(json.dumps(BOSS).replace("from the boss", "slow"))
    with case as (s, stub):
        thread, run = start(s, "ask him", agent="boss")
        assert stub.begun.wait(30)
        s.good("POST", f"/v1/threads/{thread}/runs/{run}/cancel")
        assert over(s, thread, run)["status"] == "cancelled" and stub.stopped.wait(10)


def test_killed_in_mid_answer():
    """The run is asked again after a restart, with the same session and the same ids; the end of the server tells nobody."""
    case = Case("killed")
    with case as (s, stub):
        thread, run = start(s, "slow")
        assert stub.begun.wait(30)
        s.process.kill()
        s.process.wait()
        assert not stub.stopped.is_set()
        stub.stopped.set()
        case.server = s = case.serve()
        assert over(s, thread, run)["status"] == "completed"
        first, second = stub.bodies()
        assert first == second
        assert texts(s, thread)[-1] == ("assistant", "working on itunheard")


def test_a_shutdown_does_not_stop_the_remote_run():
    case = Case("shutdown")
    with case as (s, stub):
        thread, run = start(s, "slow")
        assert stub.begun.wait(30)
        s.__exit__()
        assert not stub.stopped.is_set()
        stub.stopped.set()
        case.server = s = case.serve()
        assert over(s, thread, run)["status"] == "completed"


def test_mistakes_in_the_file():
    import subprocess
    for agent, why in (("{remote: agentapi}", "needs 'url'"),
                       ("{remote: agentapi, url: ftp://x}", "http"),
                       ("{remote: agentapi, url: 'http://u:p@x/'}", "api_key"),
                       ("{remote: nothing, url: http://x/}", "protocol"),
                       ("{url: http://x/}", "only an agent with 'remote"),
                       ("{remote: agentapi, url: http://x/, model: m}", "model")):
        with open(f"{HERE}/bad.yaml", "w") as f:
            f.write(f"models: {{m: {{provider: scripted, echo: true}}}}\nagents: {{x: {agent}}}\n")
        done = subprocess.run([WEFT, "config", "check", "--config", f"{HERE}/bad.yaml"], capture_output=True, text=True)
        assert done.returncode != 0 and why in done.stdout + done.stderr, (agent, done)


def test_two_weft_servers_back_to_back():
    # covers: AAP-15/2
    folder = f"{HERE}/back"
    os.makedirs(f"{folder}/far")
    for script, reply in (("slow", {"parts": [{"text": "one two three"}], "delta_bytes": 4, "delay_ms": 1000}),
                          ("think", {"parts": [{"reasoning": "hm"}, {"text": "Thought."}]})):
        with open(f"{folder}/far/{script}.json", "w") as f:
            json.dump({"replies": [reply], "at_end": "restart"}, f)
    with Server(WEFT, f"{folder}/far", """
server: {listen: "127.0.0.1:0"}
store: sqlite:far.db
models: {slow: {provider: scripted, script: slow.json}, think: {provider: scripted, script: think.json}, echo: {provider: scripted, echo: true}}
agents: {echo: {model: echo}, slow: {model: slow}, think: {model: think}}
""") as far:
        if far.ask("POST", "/process", {"input": []})[0] == 404:
            return "this server has no POST /process"
        with Server(WEFT, folder, f"""
server: {{listen: "127.0.0.1:0"}}
store: sqlite:near.db
agents:
  far: {{remote: agentapi, url: "{far.url}/process", params: {{model: echo}}}}
  think: {{remote: agentapi, url: "{far.url}/process", params: {{model: think}}}}
  slow: {{remote: agentapi, url: "{far.url}/process", params: {{model: slow}}}}
""") as near:
            thread, run = say(near, "hello")
            assert run["status"] == "completed", (run, far.log()[-1500:])
            say(near, "again", thread)
            assert texts(near, thread) == [("user", "hello"), ("assistant", "hello"), ("user", "again"), ("assistant", "again")]
            threads = far.good("GET", "/v1/threads")["data"]
            assert len(threads) == 1 and texts(far, threads[0]["id"]) == texts(near, thread), threads
            fork = near.good("POST", f"/v1/threads/{thread}/fork", {})["id"]
            _, run = say(near, "elsewhere", fork)
            assert run["status"] == "completed", run
            both = far.good("GET", "/v1/threads")["data"]
            assert sorted(len(texts(far, t["id"])) for t in both) == [4, 6], both
            thought, run = say(near, "think", agent="think")
            assert texts(near, thought)[-1] == ("assistant", "Thought."), run
            thread, run = start(near, "please", agent="slow")
            runs = []
            while not runs:  # it has begun there
                for t in far.good("GET", "/v1/threads")["data"]:
                    found = far.good("GET", f"/v1/threads/{t['id']}/runs")["data"]
                    runs += [(t["id"], r["id"]) for r in found if r["status"] == "in_progress"]
                time.sleep(0.01)
            near.good("POST", f"/v1/threads/{thread}/runs/{run}/cancel")
            assert over(near, thread, run)["status"] == "cancelled"
            assert over(far, *runs[0])["status"] == "cancelled"


if __name__ == "__main__":
    try:
        main(dict(globals()))
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
