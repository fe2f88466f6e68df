#!/usr/bin/env python3
"""What the server refuses and how much memory it takes, from outside: requests, lists that nobody reads, descriptors.

usage: limits.py WEFT [memory]   (TAP; memory: the tests with hundreds of megabytes, which the others leave out)
"""
import atexit
import json
import os
import re
import resource
import select
import shutil
import socket
import sys
import tempfile
import threading
import time

import served

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-limits-")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)
SANITIZED = b"__asan_init" in open(WEFT, "rb").read()  # then what is freed stays with the sanitizer for a while

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:limits.db
durability: async
log: {level: warn}
models: {echo: {provider: scripted, echo: true}}
agents: {echo: {model: echo}}
"""


def start(**more):
    return served.Server(WEFT, HERE, CONFIG, **more)


def exchange(port, *pieces, wait=60):
    """What comes back for these bytes, until the server closes: the status."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as s:
        for piece in pieces:
            s.sendall(piece)
        answer = b""
        while b"\r\n\r\n" not in answer and (more := s.recv(65536)):
            answer += more
        return int(answer.split()[1])


HEAD = b"POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_chunk_that_announces_too_much_is_refused_at_once():
    with start() as s:
        # A server that waits for the rest says 408.
        assert exchange(s.port, HEAD + b"7fffffff\r\n{") == 413
        assert exchange(s.port, HEAD + b"2\r\n{}\r\nffffff\r\n") == 413  # with what came before it


def test_long_extensions_of_a_chunk_are_refused():
    with start() as s:
        assert exchange(s.port, HEAD + b"2;a=" + b"x" * 4000 + b"\r\n{}\r\n0\r\n\r\n") == 200
        assert exchange(s.port, HEAD + b"2;a=" + b"x" * 4200 + b"\r\n{}\r\n0\r\n\r\n") == 400
        many = b";".join(b"n%d=v" % i for i in range(1200))
        assert exchange(s.port, HEAD + b"2;" + many + b"\r\n{}\r\n0\r\n\r\n") == 400


def test_two_blanks_in_a_request_line_are_refused():
    with start() as s:
        for line, want in ((b"GET /livez HTTP/1.1", 200), (b"GET  /livez HTTP/1.1", 400), (b"GET /livez  HTTP/1.1", 400),
                           (b"GET /livez HTTP/1.1 ", 400), (b"\r\nGET  /livez HTTP/1.1", 400)):
            status = exchange(s.port, *(bytes([b]) for b in line), b"\r\nHost: localhost\r\n\r\n")
            assert status == want, (line, status)


def test_mistakes_of_a_client_are_not_failures_of_the_server():
    with start() as s:
        for path in ("/v1/search?q=" + "a" * 1025, "/v1/search?q=" + "+".join("abc" for _ in range(200))):
            status, answer = s.ask("GET", path)
            assert status == 400 and answer["error"]["type"] == "invalid_request_error", (status, answer)
        status, answer = s.ask("POST", "/v1/threads", {"metadata": {"actors": ["x" * (1 << 20)]}})
        assert status == 400 and answer["error"]["type"] == "invalid_request_error", (status, answer)
        assert s.ask("GET", "/v1/search?q=" + "a" * 1024)[0] == 200


def ask_and_do_not_read(port, path):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", port))
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return s


def slowest_until_answered(s, unread):
    """The slowest of the answers to GET /livez until each of these has the beginning of its own."""
    over, worst = threading.Event(), [0]

    def ask():
        while not over.is_set():
            began = time.monotonic()
            s.good("GET", "/livez")
            worst[0] = max(worst[0], time.monotonic() - began)
            time.sleep(0.01)

    asking = threading.Thread(target=ask)
    asking.start()
    for u in unread:
        u.settimeout(60)
        u.recv(12, socket.MSG_PEEK)
    time.sleep(1)
    over.set()
    asking.join()
    return worst[0]


def falls(s, mib, seconds=20):
    end = time.monotonic() + (0 if SANITIZED else seconds)
    while s.memory("VmRSS") > mib and time.monotonic() < end:
        time.sleep(0.1)
    return s.memory("VmRSS")


def test_lists_that_nobody_reads():
    with start() as s:
        for i in range(50):
            s.good("POST", "/v1/threads", {"metadata": {"n": str(i), "actors": [{"id": "a", "note": "x" * (1000 << 10)}]}})
    with start() as s:
        s.good("GET", "/livez")
        before = s.memory("VmRSS")
        unread = [ask_and_do_not_read(s.port, "/v1/threads?limit=50") for _ in range(30)]
        worst = slowest_until_answered(s, unread)
        most, now = s.memory("VmHWM"), s.memory("VmRSS")
        for u in unread:
            u.close()
        after = falls(s, before + 64)  # caches of the database are some of it
        print(f"# 30 unread lists of 50 threads with 1 MB of metadata each: {before:.0f} MiB before, at most {most:.0f}, "
              f"{now:.0f} while they wait, {after:.0f} after; /livez at most {worst * 1000:.0f} ms")
        assert SANITIZED or (most - before < 96 and after - before <= 64), (before, most, after)
        assert worst < 10, worst  # 0.1 s on a machine that has nothing else to do
        # What a page leaves out it tells, and the thread itself has it.
        page = s.good("GET", "/v1/threads?limit=50")
        assert len(page["data"]) == 50 and len(json.dumps(page)) < 64 << 10
        for t in page["data"]:
            assert t["metadata"] == {} and t["metadata_bytes"] > 1000 << 10, t
        whole = s.good("GET", f"/v1/threads/{page['data'][0]['id']}")
        assert len(whole["metadata"]["actors"][0]["note"]) == 1000 << 10 and "metadata_bytes" not in whole
        small = s.good("POST", "/v1/threads", {"metadata": {"actors": [{"id": "a", "note": "x" * 16000}]}})
        listed = s.good("GET", "/v1/threads?limit=1")["data"][0]
        assert listed == s.good("GET", f"/v1/threads/{small['id']}") == small, listed


def test_answers_that_nobody_reads_have_one_budget():
    with start() as s:
        t = s.good("POST", "/v1/threads", {})["id"]
        for _ in range(20):
            s.good("POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "x" * (1 << 20)})
    with start() as s:
        s.good("GET", "/livez")
        before, path = s.memory("VmRSS"), f"/v1/threads/{t}/messages?limit=20"
        unread = [ask_and_do_not_read(s.port, path) for _ in range(30)]
        worst = slowest_until_answered(s, unread)
        most = s.memory("VmHWM")
        heads = [u.recv(800) for u in unread]
        statuses = [int(h.split()[1]) for h in heads]
        # 20 MiB each: six fit into the 128 MiB, and the others are told to come again (429: it never was their turn).
        assert statuses.count(200) == 6 and set(statuses) <= {200, 429, 503} and 503 in statuses, statuses
        assert all(b"Retry-After" in h for h, status in zip(heads, statuses) if status != 200)
        assert s.ask("GET", path)[0] == 503 and s.ask("GET", "/v1/threads?limit=1")[0] == 200
        # What a reader has taken goes back, before it has all: two that stop behind 16 of 20 MiB leave room for another.
        for u in [u for u, status in zip(unread, statuses) if status == 200][:2]:
            left = 16 << 20
            while left > 0:
                left -= len(u.recv(min(left, 1 << 20)))
        assert s.ask("GET", path)[0] == 200
        for u in unread:
            u.close()
        after = falls(s, before + 64)
        print(f"# 30 unread pages of 20 MiB: {before:.0f} MiB before, at most {most:.0f}, {after:.0f} after; "
              f"/livez at most {worst * 1000:.0f} ms; {statuses.count(200)} answered")
        assert SANITIZED or (most - before < 512 and after - before <= 64), (before, most, after)
        assert s.ask("GET", path)[0] == 200
        # Bodies of requests are in it too: sixteen of 15 MiB that do not end.
        bodies = []
        for _ in range(16):
            b = socket.create_connection(("127.0.0.1", s.port), timeout=60)
            b.sendall(b"POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15728640\r\n\r\n")
            bodies.append(b)
        for b in bodies:
            try:
                b.sendall(b" " * ((15 << 20) - 1))
            except OSError:
                pass
        told = select.select(bodies, [], [], 60)[0]
        assert told and any(b.recv(100).startswith(b"HTTP/1.1 503") for b in told), "no body was refused"
        for b in bodies:
            b.close()
        assert s.ask("GET", "/livez")[0] == 200


def test_without_descriptors_it_waits_and_says_so_once_a_second():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with start(preexec=few) as s:
        s.wait_for_log("few files may be open")
        os.truncate(f"{HERE}/log", 0)
        conns = []
        for _ in range(100):
            c = socket.socket()
            c.settimeout(10)
            c.connect(("127.0.0.1", s.port))
            conns.append(c)
        s.wait_for_log("cannot take a connection")
        since, cpu = time.monotonic(), s.cpu_seconds()
        time.sleep(2.5)
        took, cpu = time.monotonic() - since, s.cpu_seconds() - cpu
        lines = [line for line in s.log().splitlines() if "cannot take a connection" in line]
        assert 2 <= len(lines) <= took + 2, lines
        assert re.search("EMFILE", lines[0]), lines[0]
        assert cpu < took / 4, f"{cpu} s of {took}"  # no busy loop
        for c in conns:
            c.close()
        assert s.ask("GET", "/livez")[0] == 200


MEMORY = ["test_lists_that_nobody_reads", "test_answers_that_nobody_reads_have_one_budget"]
served.main({name: test for name, test in globals().items() if (name in MEMORY) == (sys.argv[2:] == ["memory"])})
