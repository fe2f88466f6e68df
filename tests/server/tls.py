#!/usr/bin/env python3
"""The server over TLS, from outside: versions, streams, large bodies, slow and rude clients, certificates that change.

usage: tls.py WEFT CERTIFICATE   (TAP; CERTIFICATE is the program of certificate.c)
"""
import atexit
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import warnings

import served

WEFT, CERTIFICATE = (os.path.abspath(a) for a in sys.argv[1:3])
HERE = tempfile.mkdtemp(prefix="weft-tls-")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)
warnings.simplefilter("ignore", DeprecationWarning)  # of the old versions that are tried

CONFIG = """
server: {listen: "127.0.0.1:0", tls: {certificate: server.pem, key: server.key}}
store: sqlite:tls.db
durability: async
log: {level: debug}
models: {echo: {provider: scripted, echo: true}, slow: {provider: scripted, script: slow.json}}
agents: {echo: {model: echo}, slow: {model: slow}}
"""

with open(f"{HERE}/slow.json", "w") as f:  # 40 deltas, two seconds
    json.dump({"replies": [{"parts": [{"text": "0123456789" * 4}], "delta_bytes": 1, "delay_ms": 50}], "again": True}, f)


def make(name):
    subprocess.run([CERTIFICATE, HERE, name], check=True)
    return f"{HERE}/ca-{name}.pem"


def install(name):
    """The files of the server are those of this certificate from now on, each replaced at once."""
    for kind in ("key", "pem"):
        shutil.copy(f"{HERE}/{name}.{kind}", f"{HERE}/new")
        os.chmod(f"{HERE}/new", 0o600)
        os.replace(f"{HERE}/new", f"{HERE}/server.{kind}")


CAS = {name: make(name) for name in ("one", "two")}


def start():
    install("one")
    return served.Server(WEFT, HERE, CONFIG, ca=CAS["one"])


def session(s, context=None):
    raw = socket.create_connection(("127.0.0.1", s.port), timeout=60)
    return (context or s.tls).wrap_socket(raw, server_hostname="localhost")


def common_name(s):
    """Of the certificate that a new client gets, whoever signed it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for ca in CAS.values():
        context.load_verify_locations(ca)
    with session(s, context) as t:
        return dict(x[0] for x in t.getpeercert()["subject"])["commonName"]


def test_tls_1_2_and_1_3_are_spoken():
    # covers: AITP-26/1
    with start() as s:
        assert s.url.startswith("https://"), s.url
        for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
            context = ssl.create_default_context(cafile=CAS["one"])
            context.minimum_version = context.maximum_version = version
            context.set_alpn_protocols(["h2", "http/1.1"])
            with session(s, context) as t:
                assert t.version() == name and t.selected_alpn_protocol() == "http/1.1", t.version()
                t.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert t.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")
        assert s.run("echo")["status"] == "completed"


def test_older_versions_are_refused():
    # covers: AITP-26/2
    with start() as s:
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, version
            try:
                session(s, context).close()
                assert False, f"{version} was accepted"
            except ssl.SSLError as e:
                assert "PROTOCOL_VERSION" in str(e).upper(), e
        s.good("GET", "/livez")


def test_plain_http_on_the_port_gets_an_answer():
    with start() as s:
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=20)
        c.request("GET", "/livez")
        r = c.getresponse()
        assert r.status == 400 and b"https://" in r.read(), r.status


def test_commands_use_the_unix_socket_without_tls():
    with start() as s:
        s.good("POST", "/v1/threads", {"title": "over tls"})
        out = subprocess.run([WEFT, "threads", "--config", f"{HERE}/weft.yaml"], capture_output=True, text=True, cwd=HERE)
        assert out.returncode == 0 and "over tls" in out.stdout, out


def events(s, agent, headers=None):
    """Frames of a run as they come."""
    thread = s.good("POST", "/v1/threads", {})["id"]
    c = s.connection()
    c.request("POST", f"/v1/threads/{thread}/runs?as=weft", json.dumps(
        {"assistant_id": agent, "stream": True, "additional_messages": [{"role": "user", "content": "hello"}]}), headers or {})
    r = c.getresponse()
    assert r.status == 200 and r.headers["content-type"].startswith("text/event-stream"), r.status
    frame = []
    for line in r:
        if line == b"\n":
            yield b"".join(frame)
            frame = []
        else:
            frame.append(line)
    c.close()


def test_a_stream_goes_on_while_the_certificate_changes():
    with start() as s:
        assert common_name(s) == "one"
        stream = events(s, "slow")
        frames = [next(stream) for _ in range(5)]
        install("two")
        s.process.send_signal(signal.SIGHUP)
        s.wait_for_log("the certificate was reloaded")
        assert common_name(s) == "two"  # new clients, while the old one still reads
        frames += stream
        assert b"completed" in frames[-1] and len(frames) > 40, (len(frames), frames[-1])

        # Bad files: the old certificate stays, and the log says why.
        bad = {"server.key": (b"no key", "no private key in PEM"),
               "server.pem": (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "no certificate in PEM")}
        for n, (name, (text, why)) in enumerate(bad.items()):
            install("two")
            with open(f"{HERE}/{name}", "wb") as f:
                f.write(text)
            s.process.send_signal(signal.SIGHUP)
            s.wait_for_log("the certificate was not reloaded: the old one stays", n + 1)
            assert why in s.log() and name in s.log(), s.log()[-1000:]
            assert common_name(s) == "two"
        install("two")
        shutil.copy(f"{HERE}/one.key", f"{HERE}/server.key")  # of another certificate: renewed in halves
        s.process.send_signal(signal.SIGHUP)
        s.wait_for_log("this is not the key of the certificate")
        assert common_name(s) == "two"
        install("one")
        s.process.send_signal(signal.SIGHUP)
        s.wait_for_log("the certificate was reloaded", 2)
        assert common_name(s) == "one"


def test_a_bad_certificate_is_told_at_start():
    install("one")
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(CONFIG.replace("server.key", "two.key"))
    out = subprocess.run([WEFT, "serve", "--config", f"{HERE}/weft.yaml"], capture_output=True, text=True, cwd=HERE, timeout=20)
    assert out.returncode == 1 and "two.key: this is not the key of the certificate" in out.stderr, out
    os.chmod(f"{HERE}/one.key", 0o644)
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(CONFIG.replace("server.key", "one.key"))
    out = subprocess.run([WEFT, "config", "check", f"{HERE}/weft.yaml"], capture_output=True, text=True, cwd=HERE, timeout=60)
    assert "others can read the file with the private key of the certificate: chmod 600" in out.stdout + out.stderr, out


def big_thread(s):
    """15.5 MiB in one request; the thread, and its messages."""
    texts = [f"{i:03d}" + "x" * 65000 for i in range(250)]
    return s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": t} for t in texts]})["id"], texts


def test_large_bodies_go_both_ways():
    with start() as s:
        thread, texts = big_thread(s)
        doc = s.good("GET", f"/v1/threads/{thread}/export?as=thread")
        whole = json.dumps(doc)
        assert len(whole) > 15 << 20 and all(t in whole for t in texts[::50]), len(whole)
        status, answer = s.ask("POST", "/v1/threads", {"metadata": {"a": "x" * (16 << 20)}})
        assert status == 413, (status, answer)

        # A slow reader holds nobody up, and gets all of it.
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", s.port))
        with s.tls.wrap_socket(raw, server_hostname="localhost") as t:
            t.sendall(f"GET /v1/threads/{thread}/export?as=thread HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            got = bytearray(t.recv(1000))
            end = time.monotonic() + 1
            while time.monotonic() < end:
                s.good("GET", "/livez")  # who waits for the reader waits for ever: it reads when this has come
                got += t.recv(1000)
            while more := t.recv(65536):
                got += more
        head, _, body = bytes(got).partition(b"\r\n\r\n")
        assert len(body) == int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]), len(body)
        assert json.loads(body) == doc


def client_hello():
    out = ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        return out.read()


def test_clients_that_do_not_finish_the_handshake():
    with start() as s:
        hello = client_hello()
        silent = []
        for n in (0, 1, 5, len(hello) // 2, len(hello)):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=60)
            c.sendall(hello[:n])
            silent.append(c)
        began = time.monotonic()
        for n in range(0, len(hello) + 1, 16):  # gone in the middle, with a reset
            c = socket.create_connection(("127.0.0.1", s.port), timeout=60)
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            c.sendall(hello[:n])
            c.close()
        assert s.run("echo")["status"] == "completed"
        assert time.monotonic() - began < 8, "others waited for them"
        for c in silent:
            while c.recv(65536):  # the last one got an answer before the end
                pass
            c.close()
        took = time.monotonic() - began
        assert 8 < took < 60, took
        s.good("GET", "/livez")


def test_sessions_are_resumed():
    with start() as s:
        context = ssl.create_default_context(cafile=CAS["one"])
        with session(s, context) as t:
            t.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            t.recv(4096)
            ticket = t.session
        raw = socket.create_connection(("127.0.0.1", s.port), timeout=60)
        with context.wrap_socket(raw, server_hostname="localhost", session=ticket) as t:
            t.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert t.recv(4096).startswith(b"HTTP/1.1 200") and t.session_reused


def test_the_end_is_announced():
    """close_notify: a client can tell the end of a response from a cut connection."""
    with start() as s:
        with session(s) as t:
            t.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
            got = b""
            while more := t.recv(4096):  # raises without it
                got += more
            assert got.endswith(b'{"status":"ok"}'), got


def test_it_stops_with_streams_open():
    with start() as s:
        stream = events(s, "slow")
        next(stream)
        s.process.send_signal(signal.SIGTERM)
        rest = b"".join(stream)  # ends in order
        assert s.process.wait(timeout=30) == 0, rest


served.main(dict(globals()))
