#!/usr/bin/env python3
"""Webhooks of `weft serve`: signed, retried, delivered at least once over kill -9, and never in the way of a run.

usage: webhooks.py WEFT   (TAP). With the package standardwebhooks its verification is used too.
"""
import atexit
import base64
import concurrent.futures
import hashlib
import hmac
import http.server
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from served import Server, main

try:
    from standardwebhooks.webhooks import Webhook
except ImportError:
    Webhook = None

WEFT = os.path.abspath(sys.argv[1])
KEY = b"a key of 24 bytes or so."
SECRET = "whsec_" + base64.b64encode(KEY).decode()
CONFIG = """
server: {listen: "127.0.0.1:0", loops: %(loops)d}
store: sqlite:weft.db
log: {level: warn}
webhooks:
  on_end: {url: "http://127.0.0.1:%(port)d/end", secret: "${HOOK_SECRET}"}
  on_wait: {url: "http://127.0.0.1:%(port)d/wait", secret: "plain secret of the other"}
models:
  echo: {provider: scripted, echo: true}
  client: {provider: scripted, script: client.json}
  boss: {provider: scripted, script: boss.json}
  careful: {provider: scripted, script: careful.json}
tools:
  pick_date: {description: d, parameters: {type: object}}
  remove: {description: d, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}
agents:
  echo: {model: echo}
  client: {model: client, tools: [pick_date]}
  boss: {model: boss, tools: [echo]}
  careful: {model: careful, tools: [remove, pick_date]}
"""
SCRIPTS = {
    "careful": {"replies": [{"parts": [{"tool_call": {"id": "r1", "name": "remove", "arguments": {"path": "a.txt"}}},
                                       {"tool_call": {"id": "d1", "name": "pick_date", "arguments": {}}}]}, {"parts": [{"text": "Gone."}]}]},
    "client": {"replies": [{"parts": [{"tool_call": {"id": "c1", "name": "pick_date", "arguments": {"a": 1}}}]}, {"parts": [{"text": "Booked."}]}]},
    "boss": {"replies": [{"parts": [{"tool_call": {"id": "b1", "name": "echo", "arguments": {"task": "look"}}}]}, {"parts": [{"text": "Done."}]}]},
}


class Receiver:
    """Answers with `answers`, one after another, then 200. A number is a status, an event what 200 waits for. Requests for
    the path `silent` are never answered."""

    def __init__(self, answers=(), port=0, silent=None):
        self.answers, self.got, self.changed, self.over = list(answers), [], threading.Condition(), threading.Event()
        self.busy = self.most = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with outer.changed:
                    outer.busy += 1
                    outer.most = max(outer.most, outer.busy)
                    outer.got.append((time.monotonic(), self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                    answer = outer.answers.pop(0) if outer.answers else 200
                    outer.changed.notify_all()
                if self.path == silent:
                    outer.over.wait()
                if not isinstance(answer, int):
                    answer.wait()
                    answer = 200
                with outer.changed:
                    outer.busy -= 1
                try:
                    self.send_response(answer)
                    if answer == 302:
                        self.send_header("location", "/elsewhere")
                    self.send_header("content-length", "0")
                    self.end_headers()
                except OSError:
                    pass  # the server was killed

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass  # the server was killed

            def log_message(self, *_):
                pass

        class Threads(http.server.ThreadingHTTPServer):
            request_queue_size = 128
            allow_reuse_address = True

        self.server = Threads(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def wait(self, n, seconds=60):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.got) >= n, seconds), f"{len(self.got)} of {n} came"
            return list(self.got)


def verify(path, headers, body):
    secret = KEY if path == "/end" else b"plain secret of the other"
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    assert headers["webhook-signature"] == "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    if Webhook:  # as the documentation says: a text is base64, with or without whsec_
        Webhook(SECRET if path == "/end" else secret).verify(body, headers)
    message = json.loads(body)
    assert headers["content-type"] == "application/json" and message["id"] == headers["webhook-id"]
    assert re.fullmatch(r"weft/\d+\.\d+\.\d+\S*", headers["user-agent"]) and "shortened" not in message
    assert message["tenant"] == "local" and abs(message["created_at"] - time.time()) < 600
    return message


def folder():
    path = tempfile.mkdtemp(prefix="weft-webhooks-")
    atexit.register(shutil.rmtree, path, True)
    for name, script in SCRIPTS.items():
        with open(f"{path}/{name}.json", "w") as f:
            json.dump(script, f)
    return path


def serve(here, port, loops=1):
    return Server(WEFT, here, CONFIG % {"port": port, "loops": loops}, HOOK_SECRET=SECRET)


def removed(here):
    """Waits until the store has no message: a stop before that delivers it once more."""
    end = time.monotonic() + 60
    with sqlite3.connect(f"file:{here}/weft.db?mode=ro", uri=True) as db:
        while db.execute("SELECT count(*) FROM vals WHERE CAST(space AS TEXT) = 'outbox'").fetchone() != (0,):
            assert time.monotonic() < end
            time.sleep(0.02)


def closed_port():
    with Receiver() as r:
        return r.port


def test_the_end_of_a_run():
    with Receiver() as hook, serve(folder(), hook.port) as s:
        run = s.run("echo")
        (_, path, headers, body), = hook.wait(1)
        message = verify(path, headers, body)
        assert path == "/end" and message["type"] == "run.end"
        assert message["run"] == s.good("GET", f"/v1/threads/{run['thread_id']}/runs/{run['id']}")
        assert message["run"]["status"] == "completed" and "pending" not in message
        assert SECRET not in s.log()


def test_a_run_that_waits_and_goes_on():
    with Receiver() as hook, serve(folder(), hook.port) as s:
        run = s.run("client")
        assert run["status"] == "requires_action"
        message = verify(*hook.wait(1)[0][1:])
        assert message["type"] == "run.wait" and message["run"]["id"] == run["id"]
        assert message["run"]["required_action"] == run["required_action"]
        assert message["pending"] == [{"call_id": "c1", "kind": "tool", "name": "pick_date", "arguments": '{"a":1}'}]
        s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": "c1", "output": "Monday"}]})
        got = hook.wait(2)
        end = verify(*got[1][1:])
        assert end["type"] == "run.end" and end["run"]["status"] == "completed" and end["id"] != message["id"]


def test_what_an_approval_is_for():
    with Receiver() as hook, serve(folder(), hook.port) as s:
        thread = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": "hi"}]})["id"]
        run = s.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "careful"})
        message = verify(*hook.wait(1)[0][1:])
        assert message["type"] == "run.wait" and message["run"]["id"] == run["id"]
        action = message["run"]["required_action"]
        assert [c["id"] for c in action["approval"]["calls"]] == ["r1"] and [c["id"] for c in action["submit_tool_outputs"]["tool_calls"]] == ["d1"], action
        assert message["pending"] == [{"call_id": "r1", "kind": "approval", "name": "remove", "arguments": '{"path":"a.txt"}'},
                                      {"call_id": "d1", "kind": "tool", "name": "pick_date", "arguments": "{}"}]
        listed = s.good("GET", "/v1/approvals?kind=any")["data"]
        assert [(p["call_id"], p["kind"], p["name"], p["arguments"]) for p in message["pending"]] == \
            [(a["call_id"], a["kind"], a["function"]["name"], a["function"]["arguments"]) for a in listed]
        s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": "r1", "approved": True}, {"call_id": "d1", "output": "Monday"}]})
        assert verify(*hook.wait(2)[1][1:])["run"]["status"] == "completed"


def test_waits_on_every_loop():
    with Receiver() as hook, serve(folder(), hook.port, 4) as s:
        runs = {s.run("client")["id"] for _ in range(16)}  # by their ids they are on all of them
        messages = [verify(*g[1:]) for g in hook.wait(16)]
        assert {m["run"]["id"] for m in messages} == runs
        assert all([p["call_id"] for p in m["pending"]] == ["c1"] and m["run"]["status"] == "requires_action" for m in messages)


def test_a_run_that_is_too_long():
    """Its message has only what is short. The arguments are in the long one twice, with three backslashes a character."""
    here = folder()
    with open(f"{here}/client.json", "w") as f:
        json.dump({"replies": [{"parts": [{"tool_call": {"id": "c1", "name": "pick_date", "arguments": {"a": '"' * 2000000}}}]}]}, f)
    with Receiver() as hook, serve(here, hook.port) as s:
        thread = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": "hi"}]})["id"]
        run = s.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "client", "instructions": "x" * 3000000})
        _, _, headers, body = hook.wait(1)[0]
        message = json.loads(body)
        assert message["id"] == headers["webhook-id"] and message["type"] == "run.wait" and message["shortened"] is True
        assert message["run"] == {"id": run["id"], "object": "thread.run", "assistant_id": "client", "thread_id": thread, "status": "requires_action"}
        assert message["pending"] == [{"call_id": "c1", "kind": "tool", "name": "pick_date"}]
        assert "a webhook" not in s.log()


def test_a_sub_agent_has_no_message_of_its_own():
    with Receiver() as hook, serve(folder(), hook.port) as s:
        run = s.run("boss")
        assert run["status"] == "completed"
        s.run("echo")
        got = hook.wait(2)
        assert [json.loads(g[3])["run"]["assistant_id"] for g in got][0] == run["assistant_id"]
        assert len({g[2]["webhook-id"] for g in got}) == 2 == len(hook.got)


def test_failures_are_retried_with_the_same_id():
    here = folder()
    with Receiver([500, 302, 429]) as hook:
        with serve(here, hook.port) as s:
            s.run("echo")
            got = hook.wait(4)
            for g in got:
                verify(*g[1:])
            assert len({g[2]["webhook-id"] for g in got}) == 1
            pauses = [b[0] - a[0] for a, b in zip(got, got[1:])]
            assert pauses[0] >= 0.4 and pauses[1] >= 0.9 and pauses[2] >= 1.9, pauses
            s.wait_for_log("a webhook failed", 3)
            failed = re.findall(r'msg="a webhook failed" hook=on_end id=(\S+) attempts=(\d)', s.log())
            assert failed == [(got[0][2]["webhook-id"], str(i)) for i in (1, 2, 3)], s.log()
            removed(here)
        with serve(here, hook.port) as s:  # it is delivered: nothing comes after a restart but the next run's
            s.run("echo")
            assert len({g[2]["webhook-id"] for g in hook.wait(5)}) == 2
        assert len(hook.got) == 5


def many_clients(loops):
    """Every message once: nothing but a kill delivers one twice."""
    clients, each, here = 8, 25, folder()
    with Receiver() as hook, serve(here, hook.port, loops) as s, concurrent.futures.ThreadPoolExecutor(clients) as pool:
        def client(_):
            thread = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": "hi"}]})["id"]
            return s.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "echo"})["id"]

        runs = list(pool.map(client, range(clients * each)))
        hook.wait(clients * each)
        removed(here)  # and nothing comes after that
        assert sorted(verify(*g[1:])["run"]["id"] for g in hook.got) == sorted(runs)
        assert s.process.poll() is None and "stays in the store" not in s.log()


def test_many_clients():
    many_clients(1)


def test_many_clients_and_loops():
    many_clients(4)


def test_a_slow_hook_does_not_slow_runs():
    answers = threading.Event()
    with Receiver([answers] * 30) as hook, serve(folder(), hook.port) as s:
        for _ in range(30):
            assert s.run("echo")["status"] == "completed"
        hook.wait(8)
        answers.set()
        got = hook.wait(30)
        assert hook.most <= 8, hook.most
        assert len({g[2]["webhook-id"] for g in got}) == 30


def test_a_hook_that_never_answers_does_not_delay_the_other():
    with Receiver(silent="/end") as hook, serve(folder(), hook.port) as s:
        for _ in range(20):
            assert s.run("echo")["status"] == "completed"
        hook.wait(8)
        run, since = s.run("client"), time.monotonic()
        got = hook.wait(9)[-1]
        assert got[0] - since < 20, "an attempt takes 30 s"
        message = verify(*got[1:])
        assert message["type"] == "run.wait" and message["run"]["id"] == run["id"] and len(hook.got) == 9


def test_stored_bytes_are_limited():
    here = folder()
    with Receiver() as hook, serve(here, hook.port) as s:
        key = subprocess.run([WEFT, "keys", "add", "k", "--limits", "bytes=200000"], check=True, cwd=here, capture_output=True, text=True,
                             env={**os.environ, "HOOK_SECRET": SECRET}).stdout.strip()
        headers = {"Authorization": f"Bearer {key}"}
        status, thread = s.ask("POST", "/v1/threads", {}, headers)
        assert status == 200, thread
        answers = [s.ask("POST", f"/v1/threads/{thread['id']}/messages", {"role": "user", "content": f"{i}" * 50000}, headers) for i in range(8)]
        assert [a[0] for a in answers] == [200] * 4 + [429] * 4, [a[0] for a in answers]
        assert answers[-1][1]["error"]["code"] == "insufficient_quota"


def test_killed_between_end_and_delivery():
    here, port = folder(), closed_port()
    with serve(here, port) as s:
        run = s.run("echo")
        s.process.kill()
        s.process.wait()
    with Receiver(port=port) as hook, serve(here, port):
        message = verify(*hook.wait(1)[0][1:])
        assert message["run"]["id"] == run["id"] and message["type"] == "run.end"


def test_killed_during_the_delivery():
    here = folder()
    answers = threading.Event()
    with Receiver([answers]) as hook:
        with serve(here, hook.port) as s:
            run = s.run("echo")
            hook.wait(1)
            s.process.kill()
            s.process.wait()
        answers.set()
        with serve(here, hook.port):
            got = hook.wait(2)
            assert got[0][2]["webhook-id"] == got[1][2]["webhook-id"]
            assert verify(*got[1][1:])["run"]["id"] == run["id"]


def test_a_command_records_and_the_server_delivers():
    here = folder()
    with Receiver() as hook:
        with open(f"{here}/weft.yaml", "w") as f:
            f.write(CONFIG % {"port": hook.port, "loops": 1})
        subprocess.run([WEFT, "run", "echo", "hi", "--config", f"{here}/weft.yaml"], check=True, cwd=here,
                       env={**os.environ, "HOOK_SECRET": SECRET}, capture_output=True)
        assert not hook.got
        with serve(here, hook.port):
            verify(*hook.wait(1)[0][1:])


def test_a_deleted_thread_has_no_message():
    here, port = folder(), closed_port()
    with serve(here, port) as s:
        run = s.run("echo")
        s.good("DELETE", f"/v1/threads/{run['thread_id']}")
    with Receiver(port=port) as hook, serve(here, port) as s:
        other = s.run("echo")
        assert json.loads(hook.wait(1)[0][3])["run"]["id"] == other["id"]
        assert len(hook.got) == 1


def test_mistakes_of_the_configuration():
    here = folder()
    for hook, words in ((f'{{url: "ftp://x", secret: "{SECRET}"}}', "begins with https:// or http://"),
                        ('{url: "https://x/"}', "secret"),
                        ('{url: "https://x/", secret: short}', "16 to 512 bytes"),
                        ('{url: "https://x/", secret: "whsec_%%%"}', "16 to 512 bytes"),
                        (f'{{secret: "{SECRET}"}}', "url")):
        with open(f"{here}/weft.yaml", "w") as f:
            f.write(f"webhooks: {{on_end: {hook}}}\nmodels: {{e: {{provider: scripted, echo: true}}}}\nagents: {{e: {{model: e}}}}\n")
        r = subprocess.run([WEFT, "config", "check", "--config", f"{here}/weft.yaml"], capture_output=True, text=True)
        assert r.returncode == 1 and words in r.stdout + r.stderr, (hook, r.stdout, r.stderr)
        assert SECRET not in r.stdout + r.stderr


if os.environ.get("WEFT_STANDARDWEBHOOKS") and not Webhook:
    sys.exit("the package standardwebhooks is missing")
main(globals())
