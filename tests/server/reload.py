"""weft serve reads its configuration again on SIGHUP: agents and models change, streams do not break, a bad file changes nothing."""
import json
import os
import signal
import sys
import tempfile
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


def start(folder, agents, **env):
    with open(f"{folder}/slow.json", "w") as f:
        json.dump({"replies": [{"parts": [{"text": WORDS}], "delta_bytes": 4, "delay_ms": 100}], "again": True}, f)
    write(folder, agents)
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
                    + 'telemetry: {otlp: "http://127.0.0.1:9"}\n')
        hang_up(s, "the configuration was reloaded")
        for key in ("store", "server.loops", "telemetry"):
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


def in_a_folder(test):
    def run():
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
    run.__name__ = test.__name__
    return run


served.main({name: in_a_folder(t) for name, t in list(globals().items()) if name.startswith("test_")})
