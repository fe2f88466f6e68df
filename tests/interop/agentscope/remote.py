"""A Weft agent that is an agent of the real agentscope-runtime. usage: remote.py WEFT   (results: ok or bad, TAB, title, TAB, why)
"""
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
WEFT = os.path.abspath(sys.argv[1])
CONFIG = """
server: {{listen: "127.0.0.1:0"}}
store: sqlite:far.db
agents: {{far: {{remote: agentapi, url: "http://127.0.0.1:{port}/process", retry: {{base_delay_ms: 50}}}}}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(what, seconds=120):
    end = time.monotonic() + seconds
    while True:
        try:
            found = what()
            if found:
                return found
        except OSError:
            pass
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


class World:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="weft-agentscope-")
        self.port = free_port()
        self.log = open(f"{self.folder}/app.log", "w+")
        self.app = subprocess.Popen([sys.executable, f"{HERE}/app.py", str(self.port)], stdout=self.log, stderr=self.log,
                                    cwd=self.folder)
        until(lambda: self.app.poll() is not None or self.ask("GET", "/health", port=self.port)[0] == 200)
        with open(f"{self.folder}/weft.yaml", "w") as f:
            f.write(CONFIG.format(port=self.port))
        self.weft = subprocess.Popen([WEFT, "serve", "--config", "weft.yaml"], stdout=subprocess.PIPE, stderr=self.log, text=True,
                                     cwd=self.folder)
        self.weft_port = int(re.search(r":(\d+)$", self.weft.stdout.readline())[1])

    def close(self):
        for p in (self.weft, self.app):
            p.terminate()
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, path, body=None, port=None):
        c = http.client.HTTPConnection("127.0.0.1", port or self.weft_port, timeout=60)
        c.request(method, path, None if body is None else json.dumps(body), {"content-type": "application/json"})
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, text.decode()

    def good(self, method, path, body=None):
        status, text = self.ask(method, path, body)
        assert status == 200, (status, text)
        return json.loads(text)

    def start(self, text, thread=None, **more):
        thread = thread or self.good("POST", "/v1/threads", {})["id"]
        return thread, {"assistant_id": "far", "additional_messages": [{"role": "user", "content": text}], **more}

    def say(self, text, thread=None):
        thread, body = self.start(text, thread)
        run = self.good("POST", f"/v1/threads/{thread}/runs", body)
        run = until(lambda: (lambda r: r if r["status"] not in ("queued", "in_progress", "cancelling") else None)(
            self.good("GET", f"/v1/threads/{thread}/runs/{run['id']}")))
        last = self.good("GET", f"/v1/threads/{thread}/messages")["data"][0]
        return thread, run, "".join(c["text"]["value"] for c in last["content"])

    def app_log(self):
        with open(f"{self.folder}/app.log") as f:
            return f.read()


def streams(w):
    thread, body = w.start("hello there", stream=True)
    status, text = w.ask("POST", f"/v1/threads/{thread}/runs", body)
    deltas = re.findall(r'"object":"thread.message.delta".*?"value":"(.*?)"', text)
    assert status == 200 and len(deltas) > 3 and "".join(deltas) == "1: hello there (1)", (deltas, text[-500:])


def remembers(w):
    thread, run, text = w.say("one")
    assert (run["status"], text) == ("completed", "1: one (1)"), (run, text)
    assert w.say("two", thread)[2] == "2: two (1)"


def fails(w):
    _, run, text = w.say("break")
    assert run["status"] == "failed" and "the agent broke" in run["last_error"]["message"] and text == "half", (run, text)


def stops(w):
    thread, body = w.start("wait", stream=True)
    c = http.client.HTTPConnection("127.0.0.1", w.weft_port, timeout=60)
    c.request("POST", f"/v1/threads/{thread}/runs", json.dumps(body), {"content-type": "application/json"})
    r, seen = c.getresponse(), ""
    while "(1)" not in seen:  # all of its output; now it waits
        line = r.readline().decode()
        assert line, seen
        seen += line
    run = re.search(r"run_[0-9a-f]+", seen)[0]
    w.good("POST", f"/v1/threads/{thread}/runs/{run}/cancel", {})
    until(lambda: "stopped" in w.app_log(), 30)
    until(lambda: w.good("GET", f"/v1/threads/{thread}/runs/{run}")["status"] == "cancelled", 30)
    c.close()


def main():
    w = World()
    try:
        for title, fn in (("an agent of agentscope-runtime streams through a Weft agent", streams),
                          ("the session is continued with the new message only", remembers),
                          ("a failure there is a failed run here", fails),
                          ("a cancel is passed on", stops)):
            try:
                fn(w)
                print(f"ok\t{title}\t", flush=True)
            except Exception:
                print(f"bad\t{title}\t{traceback.format_exc()!r} {w.app_log()[-1500:]!r}", flush=True)
    finally:
        w.close()


if __name__ == "__main__":
    main()
