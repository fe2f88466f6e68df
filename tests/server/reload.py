"""weft serve reads its configuration again on SIGHUP: agents and models change, streams do not break, a bad file changes nothing."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import served
from served import Server

WEFT = os.path.abspath(sys.argv[1])
WORDS = "one two three four five six seven eight nine ten"
CONFIG = """
server: {{listen: "127.0.0.1:0"{more}}}
store: sqlite:weft.db
models:
  slow: {{provider: scripted, script: slow.json}}
  echo: {{provider: scripted, echo: true}}
agents:
{agents}
"""


def write(folder, agents, more=""):
    with open(f"{folder}/weft.yaml", "w") as f:
        f.write(CONFIG.format(agents="".join(f"  {name}: {{{text}}}\n" for name, text in agents.items()), more=more))


def start(folder, agents, more="", **env):
    with open(f"{folder}/slow.json", "w") as f:
        json.dump({"replies": [{"parts": [{"text": WORDS}], "delta_bytes": 4, "delay_ms": 100}], "again": True}, f)
    write(folder, agents, more)
    return Server(WEFT, folder, **env)


def hang_up(s, line):
    """Sends SIGHUP and waits for a line of the log."""
    before = s.log().count(line)
    s.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 60
    while s.log().count(line) == before:
        assert time.monotonic() < end, s.log()
        time.sleep(0.02)


def ask(s, agent, thread=None, **more):
    thread = thread or s.good("POST", "/v1/threads", {})["id"]
    return s.ask("POST", f"/v1/threads/{thread}/runs",
                 {"assistant_id": agent, "additional_messages": [{"role": "user", "content": "hello"}], **more})


def test_agents_change_and_streams_go_on(folder):
    with start(folder, {"old": "model: slow"}) as s:
        thread = s.good("POST", "/v1/threads", {})["id"]
        c = s.connection()
        c.request("POST", f"/v1/threads/{thread}/runs",
                  json.dumps({"assistant_id": "old", "stream": True, "additional_messages": [{"role": "user", "content": "go"}]}))
        r = c.getresponse()
        head = b""
        while b"thread.message.delta" not in head:
            head += r.read1()
        write(folder, {"new": "model: echo"})
        hang_up(s, "the configuration was reloaded")
        assert ask(s, "new")[0] == 200
        status, answer = ask(s, "old")
        assert status == 404 and "old" in answer["error"]["message"], answer
        rest = head + r.read()
        assert rest.rstrip().endswith(b"data: [DONE]") and b"thread.run.completed" in rest, rest[-300:]
        message = s.good("GET", f"/v1/threads/{thread}/messages")["data"][0]
        assert message["content"][0]["text"]["value"] == WORDS, message


def test_a_mistake_changes_nothing(folder):
    with start(folder, {"old": "model: echo"}) as s:
        write(folder, {"new": "model: none"})
        hang_up(s, "the configuration was not reloaded")
        assert "there is no model 'none'" in s.log() and "line=8" in s.log(), s.log()
        assert ask(s, "old")[0] == 200 and ask(s, "new")[0] == 404
        os.remove(f"{folder}/weft.yaml")
        hang_up(s, "the configuration was not reloaded")
        assert ask(s, "old")[0] == 200
        write(folder, {"new": "model: echo"})
        hang_up(s, "the configuration was reloaded")
        assert ask(s, "new")[0] == 200


def test_variables_are_remembered(folder):
    with start(folder, {"old": "model: echo, system: '${RELOAD_SECRET}'"}, RELOAD_SECRET="sesame-open-1") as s:
        with open(f"/proc/{s.process.pid}/environ", "rb") as f:
            assert b"sesame-open-1" not in f.read()
        write(folder, {"new": "model: echo, system: 'I say ${RELOAD_SECRET}'"})
        hang_up(s, "the configuration was reloaded")
        assert ask(s, "new")[0] == 200
        assert "sesame-open-1" not in s.log()


def test_what_requests_may_do_changes(folder):
    with start(folder, {"a": "model: echo"}) as s:
        assert ask(s, "a", instructions="Be short.")[0] == 200
        assert s.ask("GET", "/livez", headers={"Host": "weft.example.org"})[0] == 421
        write(folder, {"a": "model: echo"}, ", instructions: false, hosts: [weft.example.org]")
        hang_up(s, "the configuration was reloaded")
        assert ask(s, "a", instructions="Be short.")[0] == 400
        assert s.ask("GET", "/livez", headers={"Host": "weft.example.org"})[0] == 200


def test_what_needs_a_restart_is_named(folder):
    with start(folder, {"a": "model: echo"}) as s:
        with open(f"{folder}/weft.yaml") as f:
            text = f.read()
        with open(f"{folder}/weft.yaml", "w") as f:
            f.write(text.replace("weft.db", "other.db").replace('listen: "127.0.0.1:0"', 'listen: "127.0.0.1:0", loops: 2')
                    + 'store_cache_mb: 8\ntelemetry: {otlp: "http://127.0.0.1:9"}\n')
        hang_up(s, "the configuration was reloaded")
        for key in ("store", "store_cache_mb", "server.loops", "telemetry"):
            assert f'msg="this change needs a restart" key={key}' in s.log(), s.log()
        assert ask(s, "a")[0] == 200 and not os.path.exists(f"{folder}/other.db")


def test_log_and_metrics_change(folder):
    with start(folder, {"a": "model: echo"}) as s:
        s.good("GET", "/livez")
        s.wait_for_log("route=/livez")
        with open(f"{folder}/weft.yaml", "a") as f:
            f.write("log: {format: json, access: false}\n")
        hang_up(s, "the configuration was reloaded")
        before = s.log()
        s.good("GET", "/livez")
        hang_up(s, "the configuration was reloaded")  # its line comes after that of a request before it
        assert "/livez" not in s.log()[len(before):] and '"msg":"the configuration was reloaded"' in s.log(), s.log()


class Client(threading.Thread):
    """Requests of many kinds, on all loops, until told to stop. What the reloads change decides between two answers."""

    def __init__(self, s, key):
        super().__init__()
        self.s, self.key, self.stop, self.done, self.wrong = s, {"Authorization": f"Bearer {key}"}, False, 0, []

    def post(self, path, body, *wanted):
        c = self.s.connection()
        c.request("POST", path, json.dumps(body), self.key)
        r = c.getresponse()
        text = r.read()
        c.close()
        if r.status not in wanted:
            self.wrong.append((path, r.status, text[:300]))
        return json.loads(text) if text.startswith(b"{") else {}

    def run(self):
        message = {"role": "user", "content": "hello"}
        while not self.stop and not self.wrong:
            thread = self.post("/v1/threads", {}, 200)["id"]
            self.post(f"/v1/threads/{thread}/runs", {"assistant_id": "a", "stream": True, "additional_messages": [message]}, 200)
            self.post(f"/v1/threads/{thread}/runs", {"assistant_id": "a", "instructions": "Be short."}, 200, 400, 403)
            self.post("/v1/responses", {"model": "a", "input": "hello"}, 200)
            self.post("/v1/responses", {"model": "a", "input": "hello", "stream": True}, 200)
            self.post("/process", {"model": "a", "input": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]}, 200)
            self.post("/api/chat", {"agent": "a", "id": f"chat-{self.done}-{id(self)}", "messages": [
                {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}]}, 200)
            self.done += 1


def test_reloads_while_clients_work(folder):
    """Built with ThreadSanitizer it ends with a failure if a reload writes what a request reads."""
    agents = {"a": "model: echo"}
    with start(folder, agents, ", loops: 2") as s:
        key = subprocess.run([WEFT, "keys", "add", "k", "--scope", "run,instructions", "--limits", "requests=1000000/m,runs=1000,tokens=1000000000/d,bytes=10GiB"],
                             cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        clients = [Client(s, key) for _ in range(4)]
        for c in clients:
            c.start()
        for i in range(10):
            before = [c.done for c in clients]
            write(folder, agents if i % 2 else {**agents, "b": "model: echo"},
                  ", loops: 2" if i % 2 else ', loops: 2, instructions: false, hosts: [weft.example.org], origins: ["https://app.example.org"]')
            hang_up(s, "the configuration was reloaded")
            end = time.monotonic() + 60  # each client works with this configuration, too
            while any(c.is_alive() and c.done <= n for c, n in zip(clients, before)):
                assert time.monotonic() < end, s.log()[-2000:]
                time.sleep(0.01)
        for c in clients:
            c.stop = True
        for c in clients:
            c.join()
        assert not any(c.wrong for c in clients), [c.wrong for c in clients]
    assert s.process.returncode == 0, [x for x in s.log().splitlines() if "SUMMARY: " in x] or s.log()[-3000:]


def in_a_folder(test):
    def run():
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
    run.__name__ = test.__name__
    return run


served.main({name: in_a_folder(t) for name, t in list(globals().items()) if name.startswith("test_")})
