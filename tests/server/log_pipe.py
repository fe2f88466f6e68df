"""Standard error is a pipe that nobody reads: the server answers, counts the log lines it cannot write, and stops."""
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

import served
from served import LOOPS, Server

WEFT = os.path.abspath(sys.argv[1])
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
models: {echo: {provider: scripted, echo: true}}
agents: {a: {model: echo}}
"""
FEW = 100      # more lines than the pipe has room for
MANY = 8000    # more than the pipe and the ring have
F_SETPIPE_SZ = 1031


class Unread(Server):
    """Its log is a pipe of one page; `log()` reads nothing."""

    def __init__(self, folder):
        with open(f"{folder}/weft.yaml", "w") as f:
            f.write(CONFIG)
        self.folder, self.tls = folder, None
        self.end, write = os.pipe()
        fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
        self.process = subprocess.Popen([WEFT, "serve", "--config", f"{folder}/weft.yaml", *LOOPS], stdout=subprocess.PIPE,
                                        stderr=write, text=True, cwd=folder)
        os.close(write)
        self.port = int(re.search(r":(\d+)\n", self.process.stdout.readline())[1])

    def log(self):
        return ""


def ask_often(s, times):
    """Requests that are sent a hundred at a time: the server answers one after the other."""
    with socket.create_connection(("127.0.0.1", s.port), timeout=120) as c:
        for _ in range(times // 100):
            c.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
            text = b""
            while text.count(b"HTTP/1.1 200 OK") < 100:
                more = c.recv(65536)
                assert more, text[-300:]
                text += more


def in_a_folder(test):
    def run():
        with tempfile.TemporaryDirectory() as folder:
            s = Unread(folder)
            try:
                test(s)
            finally:
                s.process.kill()
                s.process.wait()
                s.process.stdout.close()
                os.close(s.end)
    return run


@in_a_folder
def test_a_full_pipe_stops_nothing(s):
    ask_often(s, FEW)
    assert s.run("a")["status"] == "completed"
    s.process.send_signal(signal.SIGTERM)
    assert s.process.wait(timeout=60) == 0


@in_a_folder
def test_what_is_lost_is_counted_and_said(s):
    ask_often(s, MANY)
    lost, text = int(s.metrics()["weft_log_lines_lost_total"]), b""
    while b"log lines are missing here" not in text:
        text += os.read(s.end, 65536)
    s.process.send_signal(signal.SIGTERM)
    while more := os.read(s.end, 65536):
        text += more
    assert s.process.wait(timeout=60) == 0
    lines = text.decode().splitlines()
    missing = [int(re.search(r" lines=(\d+)", x)[1]) for x in lines if "log lines are missing here" in x]
    assert sum(missing) >= lost > 0, (missing, lost)
    assert all(x.startswith("time=") for x in lines), [x for x in lines if not x.startswith("time=")][:3]
    requests = sum("route=/livez" in x for x in lines)
    assert MANY - sum(missing) <= requests < MANY, (requests, missing)
    assert 'msg="stopped"' in lines[-1], lines[-3:]


served.main(dict(globals()))
