"""A small server of the Agent API, and what can go wrong with one; for tests of the client.

The last text of a request says what happens: a word of Stub.ways, or else the text is echoed in pieces.
"""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Frames:
    """Writes the frames of one response, numbered."""

    def __init__(self, handler, session):
        self.handler, self.session, self.n = handler, session, 0
        self.id = f"response_{handler.server.next_id()}"
        self.output = []

    def raw(self, text):
        self.handler.wfile.write(text.encode())
        self.handler.wfile.flush()

    def put(self, **frame):
        self.raw(f"data: {json.dumps({'sequence_number': self.n, 'error': None, **frame})}\n\n")
        self.n += 1

    def response(self, status, **more):
        over = status not in ("created", "in_progress")
        self.put(object="response", status=status, id=self.id, created_at=1700000000, session_id=self.session,
                 completed_at=1700000003 if over else None, output=self.output or None if over else None, usage=None, **more)

    def begin(self):
        self.response("created")
        self.response("in_progress")

    def message(self, id, type="message", status="in_progress", **more):
        m = {"object": "message", "status": status, "id": id, "type": type, "role": more.pop("role", "assistant"),
             "content": None, "code": None, "message": None, "usage": None, "metadata": None, **more}
        if status == "completed":
            self.output.append(m)
        self.put(**m)

    def text(self, id, pieces, type="message", finish=True):
        self.message(id, type)
        for piece in pieces:
            self.put(object="content", status="in_progress", type="text", index=0, delta=True, msg_id=id, text=piece)
        if finish:
            whole = {"object": "content", "status": "completed", "type": "text", "index": 0, "delta": False, "msg_id": id,
                     "text": "".join(pieces)}
            self.put(**whole)
            self.message(id, type, "completed", content=[whole])

    def data(self, id, type, data, role="assistant"):
        self.message(id, type, role=role)
        part = {"object": "content", "status": "completed", "type": "data", "index": 0, "delta": False, "msg_id": id, "data": data}
        self.put(**part)
        self.message(id, type, "completed", role=role, content=[part])


def cut(text):
    return [text[i:i + 4] for i in range(0, len(text), 4)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def head(self, status=200, type="text/event-stream", **more):
        self.send_response(status)
        self.send_header("content-type", type)
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def refuse(self, status, body, **more):
        self.head(status, "application/json", **more)
        self.wfile.write(json.dumps(body).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.path != "/process":
            self.server.stopped.set()
            return self.refuse(200, {"status": "ok"})
        texts = [c["text"] for m in body["input"] if m["role"] == "user" for c in m["content"] if c["type"] == "text"]
        text = texts[-1] if texts else ""
        way = getattr(self, f"way_{text.split(' ')[0]}", None)
        try:
            (way or self.way_echo)(body, text)
        except OSError:
            self.server.gone.set()

    def begin(self, body, **more):
        self.head(**more)
        f = Frames(self, body.get("session_id"))
        f.begin()
        return f

    def way_echo(self, body, text):
        outputs = [c["data"]["output"] for m in body["input"] if m["type"] == "function_call_output" for c in m["content"]]
        f = self.begin(body)
        f.text("msg_t", ["think", "ing"], "reasoning")
        f.text("msg_a", cut(outputs[-1] if outputs and not text else f"echo: {text}"))
        f.response("completed")

    def way_tools(self, body, text):
        """The server runs a tool of its own."""
        f = self.begin(body)
        f.data("msg_c", "plugin_call", {"call_id": "k1", "name": "look", "arguments": "{\"q\": 1}"})
        f.data("msg_o", "plugin_call_output", {"call_id": "k1", "name": "look", "output": "\"found\""}, role="tool")
        f.text("msg_a", ["It is ", "found."])
        f.response("completed")

    def way_call(self, body, text):
        """A tool of the client."""
        f = self.begin(body)
        f.data("msg_c", "function_call", {"call_id": "f1", "name": text.split(" ")[1], "arguments": "{}"})
        f.response("completed")

    def way_image(self, body, text):
        f = self.begin(body)
        part = {"object": "content", "status": "completed", "type": "image", "index": 0, "msg_id": "msg_i",
                "image_url": "http://127.0.0.1:1/never-fetched.png"}
        f.message("msg_i")
        f.put(**part)
        f.message("msg_i", "message", "completed", content=[part])
        f.response("completed")

    def way_fail(self, body, text):
        f = self.begin(body)
        f.text("msg_a", ["half of "], finish=False)
        f.response("failed", error={"code": "AGENT_UNKNOWN_ERROR", "message": "the agent broke"})

    def way_failfast(self, body, text):
        f = self.begin(body)
        f.response("failed", error={"code": "MODEL_CONTEXT_LENGTH_EXCEEDED", "message": "too long"})

    def way_reject(self, body, text):
        f = self.begin(body)
        f.response("rejected", error={"code": "POLICY", "message": "not here"})

    def way_die(self, body, text):
        self.begin(body).text("msg_a", ["half of ", "it"], finish=False)

    def way_diefirst(self, body, text):
        """The connection breaks before any output, twice."""
        f = self.begin(body)
        if self.server.count("diefirst") > 2:
            f.text("msg_a", ["third time"])
            f.response("completed")

    def way_busy(self, body, text):
        if self.server.count("busy") <= 2:
            return self.refuse(409, {"detail": "this session has a run"})
        self.way_echo(body, "free")

    def way_running(self, body, text):
        """As agentscope-runtime says that a session is busy."""
        if self.server.count("running") <= 1:
            self.head()
            self.wfile.write(b'data: {"error": "Task u:s is already in RUNNING state."}\n\n')
            return
        self.way_echo(body, "free")

    def way_overload(self, body, text):
        if self.server.count("overload") <= 2:
            return self.refuse([503, 429][self.server.counts["overload"] - 1], {"detail": "later"}, retry_after="0")
        self.way_echo(body, "at last")

    def way_moved(self, body, text):
        self.head(307, location=f"http://127.0.0.1:{self.server.server_port}/elsewhere")

    def way_gap(self, body, text):
        f = self.begin(body)
        f.n += 3
        f.text("msg_a", ["after a gap"])
        f.response("completed")

    def way_garbage(self, body, text):
        self.head()
        self.wfile.write(b"data: {\"object\": \"response\", oops\n\n")

    def way_changes(self, body, text):
        f = self.begin(body)
        f.text("msg_a", ["one ", "text"], finish=False)
        f.put(object="content", status="completed", type="text", index=0, delta=False, msg_id="msg_a", text="another text")
        f.response("completed")

    def way_turns(self, body, text):
        f = self.begin(body)
        f.text("msg_a", ["one ", "text"], finish=False)
        f.put(object="message", status="completed", id="msg_a", type="message", role="tool")
        f.response("completed")

    def way_withdraws(self, body, text):
        f = self.begin(body)
        f.text("msg_a", ["one text"], finish=False)
        f.put(object="content", status="in_progress", type="text", index=1, delta=True, msg_id="msg_a", text="two")
        f.put(object="message", status="completed", id="msg_a", type="message", role="assistant",
              content=[{"type": "text", "text": "one text"}])
        f.response("completed")

    def wrong(self, body, **content):
        """A text and its end, and then a frame that cannot be."""
        f = self.begin(body)
        f.text("msg_a", ["one text"], finish=False)
        f.put(object="content", status="completed", type="text", index=0, delta=False, msg_id="msg_a", text="one text")
        f.put(object="content", status="in_progress", delta=True, msg_id="msg_a", **content)
        f.response("completed")

    def way_late(self, body, text):
        self.wrong(body, type="text", index=0, text=" and more")

    def way_skips(self, body, text):
        self.wrong(body, type="text", index=2, text="two")

    def way_mixes(self, body, text):
        f = self.begin(body)
        f.text("msg_a", ["one text"], finish=False)
        f.put(object="content", status="in_progress", type="data", index=0, delta=True, msg_id="msg_a", data={})
        f.response("completed")

    def way_huge(self, body, text):
        f = self.begin(body)
        f.message("msg_a")
        f.raw('data: {"object":"content","type":"text","index":0,"delta":true,"msg_id":"msg_a","text":"')
        for _ in range(64):
            f.raw("x" * (1 << 20))

    def way_endless(self, body, text):
        f = self.begin(body)
        f.message("msg_a")
        while not self.server.stopped.is_set():
            f.put(object="content", status="in_progress", type="text", index=0, delta=True, msg_id="msg_a", text="more " * 100)

    def way_drip(self, body, text):
        """A byte now and then, never a frame."""
        self.head()
        while True:
            self.wfile.write(b":")
            self.wfile.flush()
            time.sleep(0.02)

    def way_silent(self, body, text):
        self.begin(body)
        self.server.stopped.wait(60)

    def way_quiet(self, body, text):
        """Not even a head until somebody stops it."""
        self.server.begun.set()
        self.server.stopped.wait(60)
        self.begin(body)

    def way_slow(self, body, text):
        """Some output, then nothing until somebody stops it."""
        f = self.begin(body)
        f.text("msg_a", ["working ", "on it"], finish=False)
        self.server.begun.set()
        self.server.stopped.wait(60)
        f.text("msg_b", ["unheard"])
        f.response("completed")


class Stub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests, self.counts, self.ids = [], {}, 0
        self.stopped, self.gone, self.begun = (threading.Event() for _ in range(3))
        self.url = f"http://127.0.0.1:{self.server_port}/process"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1
        return self.counts[what]

    def next_id(self):
        self.ids += 1
        return self.ids

    def bodies(self):
        return [body for path, _, body in self.requests if path == "/process"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.shutdown()
        self.server_close()
