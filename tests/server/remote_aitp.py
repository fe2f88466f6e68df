#!/usr/bin/env python3
"""An agent behind an AITP service, with runs and without.

usage: remote_aitp.py WEFT   (TAP)
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from aitp_stub import Service
from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-aitp-")
KEY = "key-of-the-aitp-service"
CONFIG = """
server: {{listen: "127.0.0.1:0"}}
store: sqlite:remote.db
log: {{level: warn}}
models:
  boss: {{provider: scripted, script: boss.json}}
  planner: {{provider: scripted, script: planner.json}}
agents:
  far: {{remote: aitp, url: "{url}", api_key: "${{FAR_KEY}}", timeout_ms: {timeout}, retry: {{base_delay_ms: 10}}}}
  boss: {{model: boss, tools: [far]}}
  planner: {{model: planner, strategy: plan, tools: [far]}}
  named: {{remote: aitp, url: "{url}", actor: {{id: travel.near, capabilities: ["{decisions}"]}}}}
"""
DECISIONS = "https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json"
BOSS = {"replies": [{"parts": [{"tool_call": {"id": "b1", "name": "far", "arguments": {"task": "from the boss"}}}]},
                    {"parts": [{"text": "The boss has heard."}]}], "at_end": "restart"}


class Case:
    def __init__(self, name, old=False, timeout=30000):
        self.folder = f"{HERE}/{name}"
        os.makedirs(self.folder)
        with open(f"{self.folder}/boss.json", "w") as f:
            json.dump(BOSS, f)
        with open(f"{self.folder}/planner.json", "w") as f:
            json.dump({"replies": [{"parts": [{"text": json.dumps({"steps": [{"id": "a", "description": "a"}, {"id": "b", "description": "b"}]})}]}] + BOSS["replies"],
                       "at_end": "restart"}, f)
        self.service = Service(old)
        self.config = CONFIG.format(url=self.service.url, timeout=timeout, decisions=DECISIONS)

    def serve(self):
        return Server(WEFT, self.folder, self.config, FAR_KEY=KEY)

    def __enter__(self):
        self.service.__enter__()
        self.server = self.serve()
        return self.server, self.service

    def __exit__(self, *what):
        self.server.__exit__(*what)
        self.service.__exit__(*what)


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
    done = over(s, thread, run)
    last = s.good("GET", f"/v1/threads/{thread}/messages")["data"][0]
    return thread, done, "".join(c["text"]["value"] for c in last["content"] if c["type"] == "text")


def conversation(name, old, **how):
    # covers: AITP-28/1, AITP-28/2, AITP-28/3
    case = Case(name, old)
    with case as (s, service):
        for key, value in how.items():
            setattr(service, key, value)
        thread, run, text = say(s, "one")
        assert (run["status"], text) == ("completed", "echo: one"), (run, text)
        created = service.calls[0 if not old else 1]
        assert created[1] == ("/v1/thread" if old else "/v1/threads") and created[3] == f"Bearer {KEY}", created
        assert created[2]["metadata"]["actors"] == [{"id": "user", "capabilities": []}], created
        answered = s.good("GET", f"/v1/threads/{thread}/messages")["data"][0]  # the actor there wrote it
        assert answered["metadata"]["actor"] == "agent.far", answered
        assert s.good("GET", f"/v1/threads/{thread}/messages/{answered['id']}")["metadata"]["actor"] == "agent.far"
        assert say(s, "two", thread)[2] == "echo: two"
        s.__exit__()
        case.server = s = case.serve()  # the thread of the service is found in the notes of the messages
        assert say(s, "three", thread)[2] == "echo: three"
        said = [(m["metadata"]["actor"], m["content"]) for m in service.threads["thread_0"] if m["role"] == "user"]
        assert said == [("user", "one"), ("user", "two"), ("user", "three")], said
        assert len(service.threads) == 1
        status, doc = s.ask("GET", f"/v1/threads/{thread}/export?as=uap")
        for word in ('"thread": "thread_0"', '"actor": "agent.far"', '"replies": 3'):
            assert word in json.dumps(doc), (word, doc)
        exported = s.good("GET", f"/v1/threads/{thread}/export?as=aitp")
        assert [m["metadata"]["actor"] for m in exported["messages"]] == ["user", "agent.far"] * 3, exported
        assert exported["metadata"]["actors"][-1]["id"] == "agent.far", exported
        copy = s.good("POST", "/v1/threads/import?from=aitp&on_conflict=copy", exported)["id"]
        again = s.good("GET", f"/v1/threads/{copy}/export?as=aitp")
        assert again["metadata"] == exported["metadata"] and [m["metadata"]["actor"] for m in again["messages"]] == ["user", "agent.far"] * 3, again
        fork = s.good("POST", f"/v1/threads/{thread}/fork", {})["id"]
        text = say(s, "other", fork)[2]
        assert len(service.threads) == 2 and "user: one" in text and "assistant: echo: two" in text and text.endswith("user: other")


def test_the_agent_there_has_the_same_name():
    """The two servers of docs/remote.md."""
    far, near = f"{HERE}/same-far", f"{HERE}/same-near"
    os.makedirs(far)
    os.makedirs(near)
    echo = 'server: {listen: "127.0.0.1:0"}\nstore: sqlite:far.db\nmodels: {echo: {provider: scripted, echo: true}}\nagents: {parrot: {model: echo}}\n'
    with Server(WEFT, far, echo) as other:
        config = f'server: {{listen: "127.0.0.1:0"}}\nstore: sqlite:near.db\nagents:\n  parrot: {{remote: aitp, url: "{other.url}", params: {{assistant_id: parrot}}}}\n'
        with Server(WEFT, near, config) as s:
            thread, run, text = say(s, "one", agent="parrot")
            assert (run["status"], text) == ("completed", "one"), (run, text)
            assert say(s, "two", thread, "parrot")[2] == "two"


def test_a_service_with_runs():
    conversation("runs", False)


def test_a_service_with_the_four_calls_of_T01():
    # covers: AITP-28/4
    conversation("t01", True)


def test_a_service_that_lists_the_newest_first():
    conversation("newest", True, reversed=True)


def test_as_a_sub_agent():
    # covers: AITP-28/1
    with Case("child") as (s, service):
        _, run, text = say(s, "ask him", agent="boss")
        assert run["status"] == "completed" and text == "The boss has heard."
        assert service.threads["thread_0"][0]["content"] == "from the boss"
        # the caller is the agent above it, also in the steps of its plan
        assert say(s, "in steps", agent="planner")[1]["status"] == "completed"
        say(s, "hello")
        actors = [body["metadata"]["actors"][0]["id"] for method, path, body, _ in service.calls if method == "POST" and path == "/v1/threads"]
        assert actors == ["boss", "planner", "planner", "user"], actors
        assert [service.threads[f"thread_{i}"][0]["metadata"]["actor"] for i in range(4)] == actors


def test_the_caller_is_named_and_announces_what_it_can():
    # covers: AITP-28/2
    with Case("caller") as (s, service):
        thread, run, _ = say(s, "hello", agent="named")
        assert run["status"] == "completed", run
        say(s, "again", thread, "named")
        actors = service.calls[0][2]["metadata"]["actors"]
        assert actors == [{"id": "travel.near", "capabilities": [{"schema": DECISIONS}]}], actors
        assert [m["metadata"]["actor"] for m in service.threads["thread_0"] if m["role"] == "user"] == ["travel.near"] * 2


def test_in_a_thread_with_members_the_agent_is_the_member():
    # covers: AITP-28/3
    with Case("members") as (s, service):
        for members, actor, weft in ((("me", "far"), "far", {"remote_actor": "agent.far"}), (("me", "far", "agent.far"), "agent.far", None)):
            thread = s.good("POST", "/v1/threads", {"metadata": {"actors": [{"id": id, "capabilities": []} for id in members]}})["id"]
            say(s, "hello", thread)
            metadata = s.good("GET", f"/v1/threads/{thread}/messages")["data"][0]["metadata"]
            assert (metadata["actor"], metadata.get("weft")) == (actor, weft), metadata


def test_mistakes_about_the_caller():
    for actor, says in (("{id: [x]}", "id"), ("{name: x}", "name"), ("{id: " + 257 * "x" + "}", "256"), ("{capabilities: [" + "u," * 65 + "]}", "64")):
        for protocol in ("aitp", "agentapi"):
            with open(f"{HERE}/weft.yaml", "w") as f:
                f.write(f"agents: {{x: {{remote: {protocol}, url: 'http://x/', actor: {actor}}}}}\n")
            r = subprocess.run([WEFT, "config", "check"], cwd=HERE, capture_output=True, text=True)
            assert r.returncode and says in r.stdout + r.stderr, (actor, r)
            assert ("only 'remote: aitp'" in r.stdout + r.stderr) == (protocol == "agentapi"), r


def test_attachments_are_fetched_by_id_alone():
    # covers: AITP-28/2
    with Case("files") as (s, service):
        thread, run, _ = say(s, "attach")
        assert run["status"] == "completed", run
        fetched = [path for method, path, _, _ in service.calls if "files" in path]
        assert fetched == ["/v1/files/file-1/content"], fetched
        assert "Ynl0ZXMgb2YgZmlsZS0x" in json.dumps(s.ask("GET", f"/v1/threads/{thread}/export?as=uap")[1])


def test_attachments_that_are_not_fetched_are_counted():
    with Case("many-files") as (s, service):
        thread, run, _ = say(s, "attach many")
        assert run["status"] == "completed", run
        assert len([path for _, path, _, _ in service.calls if "files" in path]) == 16, service.calls
        assert '"dropped": 4' in json.dumps(s.ask("GET", f"/v1/threads/{thread}/export?as=uap")[1])


def test_a_long_thread_is_listed_from_where_the_last_call_ended():
    with Case("long") as (s, service):
        thread, seen = None, []
        for i in range(6):  # two messages each, two on a page
            before = len(service.calls)
            thread, run, text = say(s, f"say {i}", thread)
            assert (run["status"], text) == ("completed", f"echo: say {i}"), (run, text)
            seen.append([path.partition("after=")[2] for method, path, _, _ in service.calls[before:] if method == "GET" and "/messages" in path])
        assert seen == [[""], ["", "msg_1"], ["msg_1", "msg_3"], ["msg_3", "msg_5"], ["msg_5", "msg_7"], ["msg_7", "msg_9"]], seen


PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
PDF = b"%PDF-1.4\r\n--weft-file\r\nis in it"  # the boundary that the client would choose


def upload(s, name, kind, data, purpose):
    c = s.connection()
    body = (f'--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'
            f"content-type: {kind}\r\n\r\n").encode() + data + b"\r\n--b--\r\n"
    c.request("POST", "/v1/files", body, {"content-type": "multipart/form-data; boundary=b"})
    r = c.getresponse()
    answer = json.loads(r.read())
    assert r.status == 200, answer
    return answer["id"]


def with_files(s, agent, text, n=1):
    note = upload(s, "note.pdf", "application/pdf", PDF, "assistants")
    text_file = upload(s, "note.txt", "text/plain", b"Short.", "assistants")
    image = upload(s, "dot.png", "image/png", PIXEL, "vision")
    thread = s.good("POST", "/v1/threads", {})["id"]
    content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]
    run = s.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": agent, "additional_messages": [
        {"role": "user", "content": content + [{"type": "image_file", "image_file": {"file_id": image}}] * n, "attachments": [{"file_id": note}, {"file_id": text_file}]}]})
    return thread, over(s, thread, run["id"])


def test_attachments_are_uploaded():
    # covers: AITP-28/2
    with Case("sends") as (s, service):
        thread, run = with_files(s, "far", "look")
        assert run["status"] == "completed", run
        (said,) = [m for m in service.threads["thread_0"] if m["role"] == "user"]
        assert said["content"] == "look\nhttps://example.com/a.png\n[file note.txt]\nShort.\n[end of file note.txt]", said  # texts are inline
        assert said["attachments"] == [{"file_id": "file-1"}, {"file_id": "file-2"}], said
        sent = {}
        for f in service.files:
            purpose, file = f.get_payload()
            assert purpose.get_payload() == "assistants", purpose
            sent[file.get_filename()] = (file.get_content_type(), file.get_payload(decode=True))
        assert sorted(kind for kind, _ in sent.values()) == ["application/pdf", "image/png"], sent
        assert {data for _, data in sent.values()} == {PIXEL, PDF}, sent
        assert say(s, "and now?", thread)[2] == "echo: and now?" and len(service.files) == 2  # not again
        run = with_files(s, "far", "many", 20)[1]
        assert run["status"] == "completed" and len(service.files) == 18, (run, len(service.files))  # sixteen of a message


def test_a_service_without_files_gets_the_text():
    for old in (True, False):
        with Case(f"no-files-{old}", old) as (s, service):
            service.takes_files = False
            thread, run = with_files(s, "far", "look")
            assert run["status"] == "completed", run
            (said,) = [m for m in service.threads["thread_0"] if m["role"] == "user"]
            assert said["content"].startswith("look") and "attachments" not in said, said


def test_attachments_between_two_servers():
    # covers: AITP-28/2, AITP-28/4
    far, near = f"{HERE}/files-far", f"{HERE}/files-near"
    os.makedirs(far)
    os.makedirs(near)
    echo = 'server: {listen: "127.0.0.1:0"}\nstore: sqlite:far.db\nmodels: {echo: {provider: scripted, echo: true}}\nagents: {parrot: {model: echo}}\n'
    with Server(WEFT, far, echo) as other:
        config = f'server: {{listen: "127.0.0.1:0"}}\nstore: sqlite:near.db\nagents:\n  far: {{remote: aitp, url: "{other.url}", params: {{assistant_id: parrot}}}}\n'
        with Server(WEFT, near, config) as s:
            run = with_files(s, "far", "look")[1]
            assert run["status"] == "completed", (run, other.log(), s.log())
            (thread,) = other.good("GET", "/v1/threads")["data"]
            said = other.good("GET", f"/v1/threads/{thread['id']}/messages?order=asc")["data"][0]
            assert len(said["attachments"]) == 2, said
            kinds = []
            for a in said["attachments"]:
                c = other.connection()
                c.request("GET", f"/v1/files/{a['file_id']}/content")
                r = c.getresponse()
                kinds.append((r.getheader("content-type"), r.read()))
            assert sorted(k for k, _ in kinds) == ["application/pdf", "image/png"] and ("image/png", PIXEL) in kinds, kinds


def test_a_run_that_fails_there_fails_here_once():
    with Case("fail") as (s, service):
        _, run, _ = say(s, "fail")
        assert run["status"] == "failed" and "it broke" in run["last_error"]["message"], run
        assert len([c for c in service.calls if c[1].endswith("/runs")]) == 1


def test_polls_survive_a_service_that_is_busy():
    with Case("busy") as (s, service):
        service.fails = 3
        assert say(s, "one")[2] == "echo: one"
        service.fails = 100
        thread, run, _ = say(s, "two")
        assert run["status"] == "failed" and len(service.threads["thread_1"]) == 2, (run, service.threads)
        service.fails = 0
        assert say(s, "three")[2] == "echo: three"


def test_nobody_replies():
    with Case("silent", old=True, timeout=3000) as (s, service):
        service.polls = 0
        _, run, _ = say(s, "one")
        assert run["status"] == "failed" and "no reply" in run["last_error"]["message"], run
        polls = [c for c in service.calls if c[0] == "GET"]
        assert 2 <= len(polls) <= 10 and len(service.threads) == 1, (len(polls), service.threads)


def test_a_cancel_is_passed_on():
    # covers: AITP-28/3
    with Case("cancel") as (s, service):
        thread, run = start(s, "slow")
        assert service.begun.wait(30)
        while not any(c[0] == "GET" for c in service.calls):
            time.sleep(0.01)
        s.good("POST", f"/v1/threads/{thread}/runs/{run}/cancel")
        assert over(s, thread, run)["status"] == "cancelled" and service.cancelled.wait(10)


def test_killed_while_it_waits():
    case = Case("killed")
    with case as (s, service):
        thread, run = start(s, "slow")
        assert service.begun.wait(30)
        s.process.kill()
        s.process.wait()
        service.threads["thread_0"][0]["content"] = "was slow"
        case.server = s = case.serve()
        while len(service.threads) < 2 or not service.threads["thread_1"]:
            time.sleep(0.01)
        s.good("POST", f"/v1/threads/{thread}/runs/{run}/cancel")
        assert over(s, thread, run)["status"] == "cancelled"


def test_two_weft_servers_back_to_back():
    # covers: AITP-28/4
    folder = f"{HERE}/back"
    os.makedirs(f"{folder}/far")
    with open(f"{folder}/far/slow.json", "w") as f:
        json.dump({"replies": [{"parts": [{"text": "one two three"}], "delta_bytes": 1, "delay_ms": 1000}], "at_end": "restart"}, f)
    with Server(WEFT, f"{folder}/far", """
server: {listen: "127.0.0.1:0"}
store: sqlite:far.db
models: {slow: {provider: scripted, script: slow.json}, echo: {provider: scripted, echo: true}}
agents: {echo: {model: echo}, slow: {model: slow}}
""") as far:
        with Server(WEFT, folder, f"""
server: {{listen: "127.0.0.1:0"}}
store: sqlite:near.db
agents:
  far: {{remote: aitp, url: "{far.url}", params: {{assistant_id: echo}}}}
  slow: {{remote: aitp, url: "{far.url}", params: {{assistant_id: slow}}}}
""") as near:
            thread, run, text = say(near, "hello")
            assert (run["status"], text) == ("completed", "hello"), (run, text, far.log()[-1500:])
            assert say(near, "again", thread)[2] == "again"
            threads = far.good("GET", "/v1/threads")["data"]
            assert len(threads) == 1, threads
            there = far.good("GET", f"/v1/threads/{threads[0]['id']}/messages?order=asc")["data"]
            assert [m["role"] for m in there] == ["user", "assistant"] * 2, there
            thread, run = start(near, "please", agent="slow")
            runs = []
            while not runs:  # it has begun there
                found = [t["id"] for t in far.good("GET", "/v1/threads")["data"] if t["id"] != threads[0]["id"]]
                runs = found and far.good("GET", f"/v1/threads/{found[0]}/runs")["data"]
                time.sleep(0.01)
            far.wait_for_log("route=/v1/threads/{t}/runs/{r} ")
            near.good("POST", f"/v1/threads/{thread}/runs/{run}/cancel")
            assert over(near, thread, run)["status"] == "cancelled"
            assert over(far, found[0], runs[0]["id"])["status"] == "cancelled"


if __name__ == "__main__":
    try:
        main(dict(globals()))
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
