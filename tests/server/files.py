#!/usr/bin/env python3
"""Files from outside: uploads, lists, downloads, what is refused, how much memory they take, and what an upload that does
not end leaves behind.

usage: files.py WEFT   (TAP)
"""
import atexit
import base64
import hashlib
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import served

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-files-")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)
SANITIZED = b"__asan_init" in open(WEFT, "rb").read()

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:files.db
durability: async
log: {level: info}
models: {echo: {provider: scripted, echo: true}}
agents: {echo: {model: echo}}
"""
BOUNDARY = "----weft-0123456789"
MIB = 1 << 20


def folder(name):
    path = f"{HERE}/{name}"
    os.mkdir(path)
    return path


def start(name, config=CONFIG, **more):
    path = f"{HERE}/{name}"
    return served.Server(WEFT, path if os.path.isdir(path) else folder(name), config, **more)


def part(name, content, filename=None, kind=None):
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"'
    if filename is not None:
        head += f'; filename="{filename}"'
    if kind:
        head += f"\r\nContent-Type: {kind}"
    content = content.encode() if isinstance(content, str) else content
    return head.encode() + b"\r\n\r\n" + content + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()
TYPE = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


def form(content=b"hello", filename="a.txt", purpose="assistants", kind="text/plain", more=b""):
    return part("file", content, filename, kind) + part("purpose", purpose) + more + END


def send(s, body, headers=TYPE, key=None):
    c = s.connection()
    c.request("POST", "/v1/files", body, {**headers, **({"Authorization": f"Bearer {key}"} if key else {})})
    r = c.getresponse()
    answer = json.loads(r.read())
    c.close()
    return r.status, answer


def upload(s, *args, **more):
    status, answer = send(s, form(*args, **more))
    assert status == 200, (status, answer, s.log()[-1000:])
    return answer


def content(s, file, headers=None):
    c = s.connection()
    c.request("GET", f"/v1/files/{file}/content", headers=headers or {})
    r = c.getresponse()
    return r, r.read()


# covers: AITP-10/1, AITP-10/2
def test_a_file_is_uploaded_shown_listed_downloaded_and_deleted():
    with start("life") as s:
        before = time.time()
        f = upload(s, b"hello\r\n--" + BOUNDARY.encode()[:-1] + b"\r\nworld", "notes.txt")
        assert f["id"].startswith("file-") and f["object"] == "file" and f["purpose"] == "assistants", f
        assert f["filename"] == "notes.txt" and f["status"] == "processed" and f["expires_at"] is None, f
        assert f["bytes"] == 9 + len(BOUNDARY) - 1 + 7 and before - 2 <= f["created_at"] <= time.time() + 1, f
        assert s.good("GET", f"/v1/files/{f['id']}") == f
        r, bytes_ = content(s, f["id"])
        assert r.status == 200 and bytes_ == b"hello\r\n--" + BOUNDARY.encode()[:-1] + b"\r\nworld", bytes_
        assert r.getheader("content-type") == "text/plain" and r.getheader("x-content-type-options") == "nosniff"
        assert r.getheader("content-disposition") == "attachment; filename=\"notes.txt\"; filename*=UTF-8''notes.txt"
        c = s.connection()
        c.request("HEAD", f"/v1/files/{f['id']}/content")
        head = c.getresponse()
        assert head.status == 200 and int(head.getheader("content-length")) == f["bytes"] and head.read() == b""
        assert s.good("GET", "/v1/files")["data"] == [f]
        assert s.good("DELETE", f"/v1/files/{f['id']}") == {"id": f["id"], "object": "file", "deleted": True}
        for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
            status, answer = s.ask(method, f"/v1/files/{f['id']}{path}")
            assert status == 404 and f["id"] in answer["error"]["message"], answer
        assert s.good("GET", "/v1/files") == {"object": "list", "data": [], "first_id": None, "last_id": None,
                                              "has_more": False}


def test_any_bytes_and_sizes_come_back_and_survive_a_restart():
    files = []
    with start("sizes") as s:
        for n in (0, 1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3 * MIB + 7):
            bytes_ = os.urandom(n)
            files.append((upload(s, bytes_, f"{n}.bin", kind=None), bytes_))
    with start("sizes") as s:
        for f, bytes_ in files:
            r, got = content(s, f["id"])
            assert got == bytes_ and f["bytes"] == len(bytes_), f
            assert r.getheader("content-type") == "application/octet-stream"


def test_purpose_may_come_first_and_unknown_parts_are_named():
    with start("order") as s:
        c = s.connection()
        body = part("purpose", "user_data") + part("color", "red") + part("file", b"x" * 70000, "x") + END
        c.request("POST", "/v1/files", body, TYPE)
        r = c.getresponse()
        assert r.status == 200 and r.getheader("weft-ignored") == "color", r.read()
        assert json.loads(r.read())["purpose"] == "user_data"
        # The connection is used again.
        c.request("POST", "/v1/files", form(), TYPE)
        assert c.getresponse().status == 200


def test_a_chunked_body_and_expect_are_taken():
    with start("chunked") as s:
        body = form(os.urandom(200000))
        c = s.connection()
        c.request("POST", "/v1/files", (body[i:i + 777] for i in range(0, len(body), 777)), TYPE, encode_chunked=True)
        r = c.getresponse()
        assert r.status == 200 and json.loads(r.read())["bytes"] == 200000
        with socket.create_connection(("127.0.0.1", s.port), timeout=30) as raw:
            raw.sendall(b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n"
                        b"Content-Type: %s\r\n\r\n" % (len(body), TYPE["Content-Type"].encode()))
            assert raw.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
            raw.sendall(body)
            assert raw.recv(15) == b"HTTP/1.1 200 OK"


def test_names_are_checked():
    good = {"a b.txt": "a b.txt", "../../etc/passwd": "passwd", "C:\\\\temp\\\\x.doc": "x.doc", "gr\u00fc\u00dfe \u2603.md":
            "gr\u00fc\u00dfe \u2603.md", "quo%22te": 'quo"te'}
    bad = ["", "..", "a/", "x\x01y", "x" * 256]
    with start("names") as s:
        for given, want in good.items():
            status, f = send(s, part("file", "x", "?").replace(b'"?"', b'"' + given.encode() + b'"') + part("purpose", "vision") + END)
            assert status == 200 and f["filename"] == want, (given, f)
            r, _ = content(s, f["id"])
            assert r.getheader("content-disposition").startswith("attachment; filename=\""), r.headers
        for given in bad:
            status, e = send(s, part("file", "x", given) + part("purpose", "vision") + END)
            assert status == 400 and "name" in e["error"]["message"] and e["error"]["param"] == "file", (given, e)
        status, e = send(s, b'--' + BOUNDARY.encode() + b'\r\nContent-Disposition: form-data; name="file"; filename="\xff"\r\n\r\nx\r\n'
                         + part("purpose", "vision") + END)
        assert status == 400 and "UTF-8" in e["error"]["message"], e
        assert len(s.good("GET", "/v1/files")["data"]) == len(good)


def test_what_is_wrong_is_named():
    cases = [
        (part("purpose", "vision") + END, TYPE, "'file' is missing"),
        (part("file", "x", "x") + END, TYPE, "'purpose' is missing: it is one of assistants, "),
        (form(purpose="tea"), TYPE, "unknown purpose 'tea': it is one of assistants, assistants_output, batch, "),
        (part("file", "x") + part("purpose", "vision") + END, TYPE, "no filename"),
        (form() [:-len(END)] + part("file", "y", "y") + END, TYPE, "there twice"),
        (form(purpose="x" * 200), TYPE, "longer than 128 bytes"),
        (form(more=part("expires_after[anchor]", "created_at") + part("expires_after[seconds]", "12")), TYPE, "3600"),
        (form()[:-6], TYPE, "before its last boundary"),
        (b"", TYPE, "has no part"),
        (b"x" * 5000, TYPE, "byte 5000: no boundary"),
        (b"--" + BOUNDARY.encode() + b"x", TYPE, f"byte {len(BOUNDARY) + 2}"),
        (b"--" + BOUNDARY.encode() + b"\r\nhello\r\n\r\n", TYPE, "in part 1: a header without a name"),
        (b"--" + BOUNDARY.encode() + b"\r\n\r\nhello", TYPE, "in part 1: it has no name"),
        (b"--" + BOUNDARY.encode() + b"\r\nA: " + b"x" * 9000, TYPE, "longer than 8 KiB"),
        (b"--" + BOUNDARY.encode() + b"\r\nContent-Disposition: form-data" + b";" * 8000 + b"\r\n\r\n", TYPE, "in part 1: it has no name"),
        (form(), {"Content-Type": "application/json"}, "not multipart/form-data"),
        (form(), {"Content-Type": "multipart/form-data"}, "no boundary"),
        (form(), {}, "Content-Type is missing"),
    ]
    with start("wrong") as s:
        for body, headers, want in cases:
            status, e = send(s, body, headers)
            assert status == 400 and want in e["error"]["message"], (want, status, e)
            assert e["error"]["type"] == "invalid_request_error", e
        assert s.good("GET", "/v1/files")["data"] == []


def test_too_long_is_refused_before_it_is_read():
    with start("long") as s:
        for head in (b"Content-Length: %d\r\n" % (513 * MIB), b"Transfer-Encoding: chunked\r\n"):
            with socket.create_connection(("127.0.0.1", s.port), timeout=30) as raw:
                raw.sendall(b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: %s\r\n\r\n%s"
                            % (head, TYPE["Content-Type"].encode(), b"" if b"Length" in head else b"30000000\r\nx"))
                assert raw.recv(12) == b"HTTP/1.1 413"


def pages(s, query):
    ids, after = [], ""
    while True:
        page = s.good("GET", f"/v1/files?{query}{after}")
        ids += [f["id"] for f in page["data"]]
        if not page["has_more"]:
            return ids
        assert page["data"] and page["first_id"] == page["data"][0]["id"] and page["last_id"] == page["data"][-1]["id"]
        after = f"&after={page['last_id']}"


def test_lists_have_pages_orders_and_purposes():
    with start("lists") as s:
        ids = [upload(s, b"%d" % i, f"{i}", "vision" if i % 3 else "batch")["id"] for i in range(150)]
        newest = pages(s, "limit=100")
        assert sorted(newest) == sorted(ids) and newest == sorted(newest, reverse=True)
        for limit in (1, 7, 64, 150, 10000):
            assert pages(s, f"limit={limit}") == newest, limit
            assert pages(s, f"limit={limit}&order=asc") == newest[::-1], limit
        batch = {f for i, f in enumerate(ids) if i % 3 == 0}
        assert set(pages(s, "purpose=batch&limit=7")) == batch and set(pages(s, "purpose=batch&limit=7&order=asc")) == batch
        assert pages(s, "purpose=none") == []
        for query in ("limit=0", "limit=10001", "order=up", "after=x"):
            assert s.ask("GET", f"/v1/files?{query}")[0] == 400, query


def test_uploads_and_downloads_take_little_memory():
    if SANITIZED:
        return "the sanitizer keeps what is freed"
    clients = 10
    block = os.urandom(MIB)
    head = part("file", b"", "big.bin")[:-2]
    tail = b"\r\n" + part("purpose", "user_data") + END
    with start("memory") as s:
        failed, ids = [], []

        def one(i, size):
            try:
                c = s.connection()
                c.putrequest("POST", "/v1/files")
                c.putheader("Content-Length", str(len(head) + size + len(tail)))
                c.putheader("Content-Type", TYPE["Content-Type"])
                c.endheaders(head)
                mine = bytes([i]) + block[1:]
                for _ in range(size // MIB):
                    c.send(mine)
                c.send(tail)
                f = json.loads(c.getresponse().read())
                assert f["bytes"] == size, f
                ids.append((i, f["id"]))
            except Exception as e:
                failed.append(repr(e))
        most = []
        for size in (20 * MIB, 100 * MIB):  # the first round fills the caches of the store
            ids.clear()
            threads = [threading.Thread(target=one, args=(i + size // MIB, size)) for i in range(clients)]
            [t.start() for t in threads]
            [t.join() for t in threads]
            assert not failed, failed
            most.append(s.memory("VmHWM"))
        print(f"# {clients} uploads of 20 MiB: {most[0]:.0f} MiB at most, of 100 MiB: {most[1]:.0f} MiB", flush=True)
        with open(WEFT, "rb") as program:
            shadow = 4 if b"__tsan_init" in program.read() else 1  # the thread sanitizer keeps that much for each byte
        assert most[1] < most[0] + 32 and most[1] < 128 * shadow, most
        i, f = ids[0]
        c = s.connection()
        c.request("GET", f"/v1/files/{f}/content")
        r, digest = c.getresponse(), hashlib.sha256()
        while more := r.read(MIB):
            digest.update(more)
        assert digest.digest() == hashlib.sha256((bytes([i]) + block[1:]) * (size // MIB)).digest()
        assert s.memory("VmHWM") < most[1] + 16 * shadow, s.memory("VmHWM")
    shutil.rmtree(f"{HERE}/memory")


def blobs(name):
    """How many blobs the database has, and how many of them nothing refers to."""
    db = sqlite3.connect(f"file:{HERE}/{name}/files.db?mode=ro", uri=True)
    all_, loose = db.execute("SELECT count(*), coalesce(sum(refs = 0), 0) FROM blobs").fetchone()
    db.close()
    return all_, loose


def begin(s, n):
    """Half an upload."""
    raw = socket.create_connection(("127.0.0.1", s.port), timeout=30)
    body = part("file", os.urandom(n), "half.bin")
    raw.sendall(b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nContent-Type: %s\r\n\r\n%s"
                % (n + 100000, TYPE["Content-Type"].encode(), body))
    return raw


def until(what, fn):
    end = time.monotonic() + 30
    while not fn():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def test_a_client_that_goes_away_leaves_nothing():
    with start("away") as s:
        upload(s, b"stays" * 100000, "stays")
        for _ in range(3):
            raw = begin(s, 2 * MIB)
            until("the pieces", lambda: blobs("away")[1] == 1)
            raw.close()
            until("nothing", lambda: blobs("away") == (1, 0))
        assert len(s.good("GET", "/v1/files")["data"]) == 1


def test_a_killed_server_leaves_no_file_and_only_what_the_sweep_removes():
    with start("killed", CONFIG.replace("async", "sync")) as s:
        kept = upload(s, b"stays" * 100000, "stays")
        raw = begin(s, 2 * MIB)
        until("the pieces", lambda: blobs("killed")[1] == 1)
        s.process.send_signal(signal.SIGKILL)
        s.process.wait()
        raw.close()
    with start("killed", CONFIG.replace("async", "sync")) as s:
        assert s.good("GET", "/v1/files")["data"] == [kept]
        assert content(s, kept["id"])[1] == b"stays" * 100000
        all_, loose = blobs("killed")
        assert all_ - loose == 1, (all_, loose)  # what is loose for an hour is swept: unit test blob_file_*


def test_stopping_does_not_wait_for_a_client_that_sends_nothing():
    with start("stop") as s:
        raw = begin(s, 1 * MIB)
        until("the pieces", lambda: blobs("stop")[1] == 1)
        began = time.monotonic()
    assert time.monotonic() - began < 20  # stopping does not wait for the client
    raw.close()
    assert blobs("stop") == (0, 0), blobs("stop")


def test_same_bytes_are_stored_once_and_live_as_long_as_one_file_has_them():
    with start("once") as s:
        a, b = upload(s, b"same" * 100000, "a"), upload(s, b"same" * 100000, "b")
        assert a["id"] != b["id"] and blobs("once") == (1, 0)
        s.good("DELETE", f"/v1/files/{a['id']}")
        assert blobs("once") == (1, 0) and content(s, b["id"])[1] == b"same" * 100000
        s.good("DELETE", f"/v1/files/{b['id']}")
        assert blobs("once") == (1, 1)


def keys(name, *adds):
    path = folder(name)
    with open(f"{path}/weft.yaml", "w") as f:
        f.write(CONFIG)
    secrets = []
    for add in adds:
        out = subprocess.run([WEFT, "keys", "add", "--config", f"{path}/weft.yaml", *add], capture_output=True, text=True,
                             cwd=path, check=True).stdout
        secrets.append(next(w for w in out.split() if w.startswith("weft_") or w.startswith("wk_") or w.startswith("sk")))
    return secrets


def test_tenants_and_users_do_not_see_each_others_files():
    a, b = keys("tenants", ["a", "--tenant", "one"], ["b", "--tenant", "two"])
    with start("tenants") as s:
        status, f = send(s, form(b"mine"), key=a)
        assert status == 200, f
        for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
            status, e = s.ask(method, f"/v1/files/{f['id']}{path}", headers={"Authorization": f"Bearer {b}"})
            assert status == 404, e
        assert s.ask("GET", "/v1/files", headers={"Authorization": f"Bearer {b}"})[1]["data"] == []
        assert s.ask("GET", "/v1/files", headers={"Authorization": f"Bearer {a}"})[1]["data"] == [f]
        status, e = send(s, form(b"mine"))
        assert status == 401, e


def test_stored_bytes_of_a_key_are_limited_during_an_upload():
    (key,) = keys("quota", ["a", "--limits", "bytes=2MiB"])
    with start("quota") as s:
        status, e = send(s, form(os.urandom(6 * MIB)), key=key)
        assert status == 429 and e["error"]["code"] == "insufficient_quota", (status, e)
        assert s.ask("GET", "/v1/files", headers={"Authorization": f"Bearer {key}"})[1]["data"] == []
        until("nothing", lambda: blobs("quota") == (0, 0))


# ---- In messages ----

PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000") + b"picture"


class Model:
    """A model that says ok, and keeps what it was sent."""

    def __init__(self):
        model = self
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                model.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                lines = [{"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "ok"}}]},
                         {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                          "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}]
                text = "".join(f"data: {json.dumps(x)}\n\n" for x in lines) + "data: [DONE]\n\n"
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def config(self, more=""):
        return CONFIG.replace("models: {", "models: {real: {provider: openai, api: chat, model: m, base_url: "
                              f"'http://127.0.0.1:{self.server.server_port}/v1', api_key: k}}, ").replace(
                              "agents: {", "agents: {real: {model: real" + more + "}, ")

    def last(self):
        """The content of the newest user message."""
        return [m for m in self.requests[-1]["messages"] if m["role"] == "user"][-1]["content"]


def run(s, thread, agent="real"):
    r = s.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": agent})
    end = time.monotonic() + 60
    while r["status"] in ("queued", "in_progress"):
        assert time.monotonic() < end, r
        time.sleep(0.01)
        r = s.good("GET", f"/v1/threads/{thread}/runs/{r['id']}")
    assert r["status"] == "completed", r
    return r


# covers: AITP-10/3
def test_images_and_attachments_are_shown_again_and_reach_the_model():
    model = Model()
    with start("images", model.config()) as s:
        png, text = upload(s, PNG, "a.png", "vision")["id"], upload(s, "# hi\n\u00fc", "a.md")["id"]
        pdf, zip_ = upload(s, b"%PDF-1.4 x", "a.pdf")["id"], upload(s, b"PK\x03\x04\0\xff", "a.zip")["id"]
        thread = s.good("POST", "/v1/threads", {})["id"]
        content = [{"type": "text", "text": "look"}, {"type": "image_file", "image_file": {"file_id": png, "detail": "low"}},
                   {"type": "image_url", "image_url": {"url": "https://example.com/x.png", "detail": "high"}},
                   {"type": "image_file", "image_file": {"file_id": png}}]
        attachments = [{"file_id": text}, {"file_id": pdf, "tools": []}, {"file_id": zip_}]
        m = s.good("POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": content, "attachments": attachments,
                                                             "metadata": {"a": "b"}})
        assert m["content"][1:] == content[1:] and m["attachments"] == attachments and m["metadata"] == {"a": "b"}, m
        assert s.good("GET", f"/v1/threads/{thread}/messages")["data"] == [m]
        run(s, thread)
        picture = base64.b64encode(PNG).decode()
        assert model.last() == [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/x.png", "detail": "high"}},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
            {"type": "text", "text": "[file a.md]\n# hi\n\u00fc\n[end of file a.md]"},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,"
                                      + base64.b64encode(b"%PDF-1.4 x").decode()}},
            {"type": "text", "text": "[file a.zip: neither text nor PDF nor an image: it is not sent]"}], model.last()
        # A message that refers to a deleted file stays, and the model is told.
        s.good("DELETE", f"/v1/files/{png}")
        s.good("DELETE", f"/v1/files/{text}")
        assert s.good("GET", f"/v1/threads/{thread}/messages?order=asc")["data"][0] == m
        run(s, thread)
        got = model.last()
        assert got[1] == got[3] == {"type": "text", "text": f"[file {png}: it was deleted]"}, got
        assert got[4] == {"type": "text", "text": f"[file {text}: it was deleted]"}, got
        # Threads and runs take the same messages.
        t2 = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": "a", "attachments": [{"file_id": pdf}]}]})["id"]
        assert s.good("GET", f"/v1/threads/{t2}/messages")["data"][0]["attachments"] == [{"file_id": pdf}]


def test_an_image_is_stored_once_however_many_messages_have_it():
    with start("big") as s:
        png = upload(s, PNG + os.urandom(3 * MIB), "a.png", "vision")["id"]
        thread = s.good("POST", "/v1/threads", {})["id"]
        for _ in range(8):
            s.good("POST", f"/v1/threads/{thread}/messages",
                   {"role": "user", "content": [{"type": "image_file", "image_file": {"file_id": png}}]})
        assert blobs("big") == (1, 0)
        assert sum(os.path.getsize(f"{HERE}/big/{f}") for f in os.listdir(f"{HERE}/big")) < 8 * MIB + 16 * MIB


def test_a_page_gets_a_url_of_a_file():
    """GET /api/chat shows a URN; POST takes it and the path of the content, of the user's own files alone."""
    png = b"\x89PNG\r\n\x1a\n" + b"x" * 20
    CHAT = lambda id, url: {"id": id, "message": {"id": "m-" + id, "role": "user", "parts": [
        {"type": "text", "text": "look"}, {"type": "file", "mediaType": "image/png", "url": url}]}}
    k = dict(zip("ab", keys("page", ["a", "--tenant", "one"], ["b", "--tenant", "two"])))
    with start("page") as s:
        def post(id, url, key="a"):
            c = s.connection()
            c.request("POST", "/api/chat", json.dumps(CHAT(id, url)), {"Authorization": f"Bearer {k[key]}"})
            r = c.getresponse()
            return r.status, r.read().decode()

        def ask_as(method, path, body=None):
            status, answer = s.ask(method, path, body, {"Authorization": f"Bearer {k['a']}"})
            assert status == 200, (status, answer)
            return answer

        def shown(id, key="a"):
            c = s.connection()
            c.request("GET", f"/api/chat/{id}", headers={"Authorization": f"Bearer {k[key]}"})
            return [p for m in json.loads(c.getresponse().read()) for p in m["parts"] if p["type"] == "file"]
        status, file = send(s, form(png, "a.png", "vision", "image/png"), key=k["a"])
        assert status == 200, file
        url = f"/v1/files/{file['id']}/content"
        for i, given in enumerate((url, f"http://127.0.0.1:{s.port}{url}", "urn:weft:file:" + file["id"])):
            status, text = post(f"c{i}", given)
            assert status == 200, text
            [p] = shown(f"c{i}")
            assert p["url"] == "urn:weft:file:" + file["id"] and p["mediaType"] == "image/png", p
        # A document names it as the page does, and comes back.
        thread = ask_as("GET", "/v1/threads?limit=1")["data"][0]["id"]
        doc = ask_as("GET", f"/v1/threads/{thread}/export?as=ui")
        assert [p["url"] for m in doc for p in m["parts"] if p["type"] == "file"][0] == "urn:weft:file:" + file["id"], doc
        again = ask_as("POST", "/v1/threads/import?from=ui&on_conflict=copy", doc)
        assert ask_as("GET", f"/v1/threads/{again['id']}/export?as=ui") == doc
        c = s.connection()
        c.request("GET", url, headers={"Authorization": f"Bearer {k['a']}"})
        assert c.getresponse().read() == png
        for key, given in (("b", url), ("b", "urn:weft:file:" + file["id"]), ("a", "urn:weft:file:file-" + "0" * 32), ("a", "/v1/files/file-" + "0" * 32 + "/content"), ("a", "weft:" + file["id"]), ("b", "weft:" + file["id"]), ("a", "urn:weft:file:nope")):
            status, text = post("d", given, key)
            assert status == 400 and json.loads(text)["error"]["param"].startswith("/message/parts"), (given, status, text)


def test_what_is_wrong_in_a_message_is_pointed_at():
    (a, b) = keys("pointed", ["a", "--tenant", "one"], ["b", "--tenant", "two"])
    with start("pointed") as s:
        mine, other = (send(s, form(PNG, "a.png", "vision"), key=k)[1]["id"] for k in (a, b))
        text = send(s, form(b"hello"), key=a)[1]["id"]
        H = {"Authorization": f"Bearer {a}"}
        thread = s.ask("POST", "/v1/threads", {}, H)[1]["id"]
        image = lambda x: {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_file", "image_file": x}]}
        attach = lambda *x: {"role": "user", "content": "x", "attachments": list(x)}
        unknown = "file-" + "0" * 32
        cases = [(image({"file_id": unknown}), "/content/1/image_file/file_id", "No such File"),
                 (image({"file_id": other}), "/content/1/image_file/file_id", "No such File"),
                 (image({"file_id": text}), "/content/1/image_file/file_id", "no image"),
                 (image({}), "/content/1", "image_file.file_id"), (image({"file_id": "x"}), "/content/1/image_file/file_id", "file-"),
                 (image({"file_id": mine, "detail": "most"}), "/content/1/image_file/detail", "auto, low or high"),
                 (attach({"file_id": unknown}), "/attachments/0/file_id", "No such File"),
                 (attach({"file_id": text}, {"file_id": other}), "/attachments/1/file_id", "No such File"),
                 (attach({}), "/attachments/0", "file_id"), (attach(3), "/attachments/0", "object"),
                 (attach({"file_id": text, "tools": [{"type": "file_search"}]}), "/attachments/0/tools/0/type", "file_search"),
                 (attach({"file_id": text, "tools": [{"type": "tea"}]}), "/attachments/0/tools/0/type", "tea"),
                 (attach(*[{"file_id": text}] * 65), "/attachments", "64"),
                 ({"role": "assistant", "content": "x", "attachments": [{"file_id": text}]}, "/attachments", "user"),
                 ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "weft:" + mine}}]},
                  "/content/0/image_url/url", "image_file")]
        for body, param, want in cases:
            status, e = s.ask("POST", f"/v1/threads/{thread}/messages", body, H)
            assert status == 400 and e["error"]["param"] == param and want in e["error"]["message"], (body, e)
        assert s.ask("GET", f"/v1/threads/{thread}/messages", headers=H)[1]["data"] == []


HOSTED = """
server: {listen: "127.0.0.1:0"}
store: sqlite:files.db
models: {scripted: {provider: scripted, script: script.json}}
tools:
  search: {description: d, parameters: {type: object}, command: ["/bin/echo", "found it"]}
  python: {description: d, parameters: {type: object}, command: ["/bin/echo", "42"]}
agents:
  main: {model: scripted, hosted: {file_search: search, code_interpreter: python}}
"""


def test_tools_of_the_api_are_tools_of_the_agent():
    path = folder("hosted")
    with open(f"{path}/script.json", "w") as f:
        json.dump({"replies": [{"parts": [{"tool_call": {"id": "c1", "name": "file_search", "arguments": {"query": "x"}}},
                                          {"tool_call": {"id": "c2", "name": "code_interpreter", "arguments": {"input": "6*7"}}}]},
                               {"parts": [{"text": "done"}]}]}, f)
    with start("hosted", HOSTED) as s:
        f = upload(s, b"hello")["id"]
        attached = [{"file_id": f, "tools": [{"type": "file_search"}, {"type": "code_interpreter"}]}]
        thread = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": "go", "attachments": attached}]})["id"]
        assert s.good("GET", f"/v1/threads/{thread}/messages")["data"][0]["attachments"] == attached
        c = s.connection()
        c.request("POST", f"/v1/threads/{thread}/runs", json.dumps({"assistant_id": "main", "stream": True}))
        text = c.getresponse().read().decode()
        steps = [json.loads(block.split("data: ", 1)[1]) for block in text.split("\n\n") if "event: thread.run.step.completed\n" in block]
        calls = [call for step in steps for call in step["step_details"].get("tool_calls", [])]
        assert [c["type"] for c in calls] == ["file_search", "code_interpreter"], calls
        assert calls[1]["code_interpreter"] == {"input": "6*7", "outputs": [{"type": "logs", "logs": "42"}]}, calls
        assert calls[0]["file_search"]["results"][0]["content"] == [{"type": "text", "text": "found it"}], calls
    for hosted, want in (("{tea: search}", "is not file_search or code_interpreter"), ("{file_search: none}", "none")):
        with open(f"{path}/bad.yaml", "w") as f:
            f.write(HOSTED.replace("{file_search: search, code_interpreter: python}", hosted))
        bad = subprocess.run([WEFT, "serve", "--config", "bad.yaml"], cwd=path, capture_output=True, text=True, timeout=30)
        assert bad.returncode and want in bad.stderr, bad


if __name__ == "__main__":
    only = sys.argv[2:]
    served.main({k: v for k, v in globals().items() if not only or k.startswith("test_") and any(o in k for o in only)})
