#!/usr/bin/env python3
"""What `weft serve` tells the service manager: ready, alive, stopping. The manager here is a datagram socket.

usage: notify.py WEFT   (TAP)
"""
import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
log: {level: warn}
models:
  echo: {provider: scripted, echo: true}
  slow: {provider: scripted, script: slow.json}
agents: {echo: {model: echo}, slow: {model: slow}}
"""
SLOW = '{"replies": [{"parts": [{"text": "%s"}], "delta_bytes": 5, "delay_ms": 200}], "again": true}' % ("word " * 200)


class Manager:
    def __init__(self, folder, abstract=False):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.address = f"@weft-test-{os.getpid()}-{id(self)}" if abstract else f"{folder}/notify"
        self.socket.bind(self.address.replace("@", "\0"))

    def next(self, seconds=60):
        """The next message as a dict; None: there is none in time."""
        self.socket.settimeout(seconds)
        try:
            return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().split("\n"))
        except (socket.timeout, BlockingIOError):
            return None

    def until(self, name):
        while True:
            message = self.next()
            assert message, f"no {name} came"
            if name in message:
                return message


def folder():
    path = tempfile.mkdtemp(prefix="weft-notify-")
    atexit.register(shutil.rmtree, path, True)
    with open(f"{path}/slow.json", "w") as f:
        f.write(SLOW)
    return path


def ready(abstract):
    here = folder()
    manager = Manager(here, abstract)
    with Server(WEFT, here, CONFIG, NOTIFY_SOCKET=manager.address) as s:
        first = manager.next()
        assert first == {"READY": "1", "STATUS": f"listening on http://127.0.0.1:{s.port}; runs resumed: 0"}, first
        assert s.ask("GET", "/readyz")[0] == 200
        assert manager.next(0.3) is None, "nobody asked for a watchdog"
    assert s.process.returncode == 0
    assert manager.next()["STOPPING"] == "1"
    assert manager.next(0) is None


def test_ready_and_stopping():
    ready(False)


def test_an_abstract_socket():
    ready(True)


def test_ready_comes_after_runs_are_resumed():
    here = folder()
    manager = Manager(here)
    with Server(WEFT, here, CONFIG) as s:
        thread = s.good("POST", "/v1/threads", {})["id"]
        run = s.good("POST", f"/v1/threads/{thread}/runs",
                     {"assistant_id": "slow", "additional_messages": [{"role": "user", "content": "hello"}]})
        s.process.kill()
        s.process.wait()
    with Server(WEFT, here, CONFIG, NOTIFY_SOCKET=manager.address) as s:
        assert manager.next()["STATUS"].endswith("; runs resumed: 1")
        assert s.good("GET", f"/v1/threads/{thread}/runs/{run['id']}")["status"] == "in_progress"


def test_the_watchdog():
    here = folder()
    manager = Manager(here)
    with Server(WEFT, here, CONFIG, NOTIFY_SOCKET=manager.address, WATCHDOG_USEC="400000") as s:
        manager.until("READY")
        times = []
        for _ in range(4):
            assert manager.next() == {"WATCHDOG": "1"}
            times.append(time.monotonic())
        assert times[-1] - times[0] >= 0.5, times  # three pauses of 200 ms; a busy machine makes them longer
        os.kill(s.process.pid, signal.SIGSTOP)     # a loop that does not turn
        while manager.next(0):
            pass
        assert manager.next(1) is None, "it is stuck and says that it lives"
        os.kill(s.process.pid, signal.SIGCONT)
        assert manager.next() == {"WATCHDOG": "1"}


def test_a_watchdog_for_another_process():
    here = folder()
    manager = Manager(here)
    with Server(WEFT, here, CONFIG, NOTIFY_SOCKET=manager.address, WATCHDOG_USEC="100000", WATCHDOG_PID="1"):
        manager.until("READY")
        assert manager.next(0.5) is None


def test_no_manager_is_no_reason_to_stop():
    here = folder()
    with Server(WEFT, here, CONFIG, NOTIFY_SOCKET=f"{here}/nobody", WATCHDOG_USEC="100000") as s:
        assert s.run("echo")["status"] == "completed"
        s.wait_for_log("the service manager was not notified")
        time.sleep(0.3)  # several more messages fail, and are not logged
        assert s.log().count("the service manager was not notified") == 1, s.log()
    assert s.process.returncode == 0


def test_doctor_asks_whether_it_is_ready():
    here = folder()
    ask = [WEFT, "doctor", "--ready", "--config", f"{here}/weft.yaml"]

    def answer():
        r = subprocess.run(ask, capture_output=True, text=True, timeout=60)
        return r.returncode, r.stdout

    with Server(WEFT, here, CONFIG) as s:
        assert answer() == (0, '{"status":"ok"}\n')
        os.kill(s.process.pid, signal.SIGSTOP)
        since = time.monotonic()
        assert answer() == (1, "")
        assert time.monotonic() - since >= 4.9, "it has five seconds"
        os.kill(s.process.pid, signal.SIGCONT)
    assert answer() == (1, ""), "it has stopped"
    assert subprocess.run(ask[:-2] + ["--store", "memory:"], cwd=here, capture_output=True).returncode == 1
    assert subprocess.run(ask + ["--export"], capture_output=True).returncode == 2


main(globals())
