#!/usr/bin/env python3
"""The real program on bad disks: full, with a limit of a file's size, with syncs that fail, with a damaged file.

usage: disk.py WEFT FAULTS.so   (TAP)
"""
import http.client
import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

from faults import Faults

WEFT, SHIM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HERE = os.environ.get("WEFT_DISK_TEST") or tempfile.mkdtemp(prefix="weft-disk-")
SMALL = f"{HERE}/small"  # a file system of a few megabytes

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:%s
log: {level: error}
models:
  echo: {provider: scripted, echo: true}
  slow: {provider: scripted, script: slow.json}
agents:
  echo: {model: echo}
  slow: {model: slow}
"""


class Server:
    def __init__(self, db, preexec=None, config="", **env):
        with open(f"{HERE}/weft.yaml", "w") as f:
            f.write(CONFIG % db + config)
        with open(f"{HERE}/slow.json", "w") as f:
            json.dump({"replies": [{"parts": [{"text": "word " * 100}], "delta_bytes": 5, "delay_ms": 1000}]}, f)
        self.errors = open(f"{HERE}/errors", "w+")
        self.process = subprocess.Popen([WEFT, "serve", "--config", f"{HERE}/weft.yaml"], stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, preexec_fn=preexec, env={**os.environ, **env})
        found = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", self.process.stdout.readline())
        assert found, self.said()
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def said(self):
        with open(f"{HERE}/errors") as f:
            return f.read()

    def says(self, text):
        """Whether its log has this, now or soon: a thread writes it."""
        end = time.monotonic() + 30
        while text not in self.said() and time.monotonic() < end:
            time.sleep(0.02)
        return text in self.said()

    def ask(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        c.request(method, path, None if body is None else json.dumps(body))
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, json.loads(text)

    def good(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        assert status == 200, (status, answer, self.said())
        return answer

    def thread(self):
        return self.good("POST", "/v1/threads", {})["id"]

    def run(self, thread, agent, text="hello"):
        return self.ask("POST", f"/v1/threads/{thread}/runs",
                        {"assistant_id": agent, "additional_messages": [{"role": "user", "content": text}]})

    def wait(self, thread, run, seconds=120):
        end = time.monotonic() + seconds
        while True:
            status = self.good("GET", f"/v1/threads/{thread}/runs/{run}")["status"]
            if status not in ("queued", "in_progress", "cancelling") or time.monotonic() > end:
                return status
            time.sleep(0.05)

    def wait_until_ready(self, seconds=120):
        end = time.monotonic() + seconds
        while self.ask("GET", "/readyz")[0] != 200:
            assert time.monotonic() < end, self.ask("GET", "/readyz")
            time.sleep(0.05)

    def write_until_full(self, thread):
        """Messages until one is refused: its answer."""
        for _ in range(2000):
            status, answer = self.ask("POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": "x" * 12000})
            if status != 200:
                return status, answer
        raise AssertionError("the disk is not full yet")


def refused(answer):
    status, body = answer
    assert status == 507, answer
    e = body["error"]
    assert e["code"] == "insufficient_storage" and e["type"] == "server_error" and e["param"] is None, e
    assert "the disk is full" in e["message"], e


def test_full_disk():
    os.makedirs(SMALL, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", SMALL], check=True)
    with Server(f"{SMALL}/weft.db") as s:
        a, b = s.thread(), s.thread()
        status, slow = s.run(a, "slow")
        assert status == 200, slow
        status, waiting = s.run(b, "slow")
        assert status == 200, waiting
        c = s.thread()
        refused(s.write_until_full(c))
        # Whatever is new is refused.
        refused(s.run(c, "echo"))
        refused(s.ask("POST", "/v1/threads", {}))
        # Whatever is there can be read; it says so itself.
        assert len(s.good("GET", f"/v1/threads/{c}/messages?limit=100")["data"]) > 10
        assert s.good("GET", f"/v1/threads/{a}/runs/{slow['id']}")["status"] == "in_progress"
        status, ready = s.ask("GET", "/readyz")
        assert status == 503 and ready["status"] == "disk_full" and "the disk is full" in ready["message"], ready
        assert s.ask("GET", "/livez")[0] == 200
        # Runs can be cancelled.
        for thread, run in ((a, slow), (b, waiting)):
            s.good("POST", f"/v1/threads/{thread}/runs/{run['id']}/cancel")
            assert s.wait(thread, run["id"]) == "cancelled"
        assert s.says("the disk is full"), s.said()
        # There is room again: the server finds out, although nobody writes, and goes on.
        subprocess.run(["mount", "-o", "remount,size=32m", SMALL], check=True)
        s.wait_until_ready()
        status, run = s.run(c, "echo", "again")
        assert status == 200, run
        assert s.wait(c, run["id"]) == "completed"
        assert s.ask("GET", "/readyz")[0] == 200
        before = s.good("GET", f"/v1/threads/{c}/messages?limit=100")["data"]
    with Server(f"{SMALL}/weft.db") as s:  # and nothing is lost
        assert s.good("GET", f"/v1/threads/{c}/messages?limit=100")["data"] == before
        assert s.good("GET", f"/v1/threads/{a}/runs/{slow['id']}")["status"] == "cancelled"
    subprocess.run(["umount", SMALL], check=True)


def test_limit_of_a_files_size():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, resource.RLIM_INFINITY))

    with Server(f"{HERE}/limit.db", preexec=limit) as s:
        t = s.thread()
        refused(s.write_until_full(t))
        assert len(s.good("GET", f"/v1/threads/{t}/messages?limit=100")["data"]) > 10
        assert s.process.poll() is None
    with Server(f"{HERE}/limit.db") as s:
        assert len(s.good("GET", f"/v1/threads/{t}/messages?limit=100")["data"]) > 10
        status, run = s.run(t, "echo")
        assert status == 200 and s.wait(t, run["id"]) == "completed"


def test_log_does_not_fill_the_disk():
    """A conversation that is replaced again and again: the database stays small, and so must its log."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", SMALL], check=True)
    with Server(f"{SMALL}/weft.db") as s:
        t = s.thread()
        for i in range(1000):  # of a few pages each: together far more than fits
            s.good("POST", f"/v1/threads/{t}", {"metadata": {"n": f"{i} " + "x" * 400}})
        assert s.ask("GET", "/readyz")[0] == 200 and "the disk is full" not in s.said(), s.said()
    subprocess.run(["umount", SMALL], check=True)


def test_failed_writes():
    faults = Faults(SHIM, f"{HERE}/faults")
    with Server(f"{HERE}/write.db", **faults.env) as s:
        t = s.thread()
        _, run = s.run(t, "slow")
        faults.on(["write"], ["db", "wal", "shm", "other"])
        status, answer = s.ask("POST", "/v1/threads", {})
        assert status == 500 and answer["error"]["code"] == "store_error", answer
        status, ready = s.ask("GET", "/readyz")
        assert status == 503 and ready["status"] == "store_failing", ready
        assert s.ask("GET", f"/v1/threads/{t}")[0] == 200  # reading works
        time.sleep(1)  # nobody writes
        assert s.ask("GET", "/readyz")[0] == 503
        faults.off()
        s.wait_until_ready()
        s.thread()
        s.good("POST", f"/v1/threads/{t}/runs/{run['id']}/cancel")
        assert s.wait(t, run["id"]) == "cancelled"


def test_failed_sync():
    faults = Faults(SHIM, f"{HERE}/faults")
    with Server(f"{HERE}/sync.db", **faults.env) as s:
        t = s.thread()
        s.good("POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "one"})
        faults.on(["sync"], ["db", "wal", "shm", "other"])
        status, answer = s.ask("POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "two"})
        assert status == 500 and answer["error"]["code"] == "store_error", answer  # never acknowledged
        faults.off()  # a sync would succeed again; it is not believed
        assert s.process.wait(timeout=120) == 1
        assert "sync.db: a sync failed: nothing is written any more until the store is opened again" in s.said(), s.said()
    with Server(f"{HERE}/sync.db", **faults.env) as s:
        texts = [m["content"][0]["text"]["value"] for m in s.good("GET", f"/v1/threads/{t}/messages")["data"]]
        assert "one" in texts and len(texts) <= 2, texts
        s.good("POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "three"})


def test_pages_of_another_program():
    """It knows no checksums. The server says that it cannot sweep, doctor finds what is only in the log, and a start refuses it."""
    path = f"{HERE}/other.db"
    with Server(path, config="retention: {every_seconds: 1}\n") as s:
        t = s.thread()
        status, run = s.run(t, "echo")
        assert status == 200 and s.wait(t, run["id"]) == "completed", run
        db = sqlite3.connect(path)
        db.execute("UPDATE runs SET u_input = u_input + 7")
        db.commit()
        db.close()
        end = time.monotonic() + 120
        while True:
            status, ready = s.ask("GET", "/readyz")
            assert status == 200 and ready["status"] == "ok", ready
            if "sweep" in ready:
                break
            assert time.monotonic() < end, s.said()
            time.sleep(0.05)
        assert ready["sweep"] == {"damaged": 0, "failing": True}, ready
        s.process.terminate()
        assert s.process.wait(timeout=120) == 0, s.said()
    doctor = subprocess.run([WEFT, "doctor", "--store", f"sqlite:{path}"], capture_output=True, text=True)
    assert doctor.returncode == 1 and "wrong checksum" in doctor.stdout, doctor
    serve = subprocess.run([WEFT, "serve", "--config", f"{HERE}/weft.yaml"], capture_output=True, text=True, timeout=120)
    assert serve.returncode == 1 and "is damaged (page" in serve.stderr, serve


def main():
    results = []
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            fn()
            results.append(True)
            print(f"ok {len(results)} - {name[5:].replace('_', ' ')}", flush=True)
        except Exception:
            results.append(False)
            print(f"not ok {len(results)} - {name[5:].replace('_', ' ')}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if "WEFT_DISK_TEST" not in os.environ:  # in a name space of its own: what is mounted goes with it
    space = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*space, "true"], capture_output=True).returncode == 0:
        code = subprocess.run([*space, sys.executable, *sys.argv], env={**os.environ, "WEFT_DISK_TEST": HERE}).returncode
    else:
        print("1..0 # SKIP this system lets nobody mount: a full disk cannot be made")
        code = 0
    shutil.rmtree(HERE, ignore_errors=True)
    sys.exit(code)
sys.exit(main())
