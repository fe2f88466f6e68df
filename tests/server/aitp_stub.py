"""Two small AITP services, for tests of the client: one with the four calls of T01 alone, one with runs as well.

What the agent does is said by the last message: a word of the ways below, or else it echoes.
"""
import email
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        kind = self.headers.get("content-type") or ""
        body = {"type": kind, "body": body} if kind.startswith("multipart/") else json.loads(body or b"{}")
        self.server.calls.append(("POST", self.path, body, self.headers.get("authorization")))
        with self.server.lock:
            self.route("POST", self.path.split("?")[0].strip("/").split("/")[1:], body)

    def do_GET(self):
        self.server.calls.append(("GET", self.path, None, self.headers.get("authorization")))
        with self.server.lock:
            self.route("GET", self.path.split("?")[0].strip("/").split("/")[1:], None)

    def route(self, method, path, body):
        s = self.server
        if method == "POST" and path == ["thread" if s.old else "threads"]:
            s.threads[f"thread_{len(s.threads)}"] = []
            return self.reply(200, {"id": f"thread_{len(s.threads) - 1}", "metadata": body["metadata"]})
        if len(path) == 3 and path[0] == "threads" and path[2] == "messages":
            messages = s.threads[path[1]]
            if method == "POST":
                messages.append({"role": "user", **body, **({} if s.old else {"id": f"msg_{len(messages)}"}), "created_at": len(messages)})
                if s.old:
                    s.due[path[1]] = s.polls
                return self.reply(200, messages[-1])
            if s.fails:
                s.fails -= 1
                return self.reply(503, {"detail": "later"})
            if path[1] in s.due:
                s.due[path[1]] -= 1
                if s.due[path[1]] <= 0 and s.polls:
                    del s.due[path[1]]
                    self.answer(messages)
            if s.old:  # T01 has no ids, and lists what it likes
                return self.reply(200, messages[::-1] if s.reversed else messages)
            after = next((i + 1 for i, m in enumerate(messages) if f"after={m['id']}" in self.path), 0)
            page = messages[after:after + s.page]
            return self.reply(200, {"object": "list", "data": page, "has_more": after + s.page < len(messages)})
        if s.old:
            return self.reply(404, {"detail": "Not Found"})
        if method == "POST" and path == ["files"] and s.takes_files:
            s.files.append(email.message_from_bytes(b"content-type: " + body["type"].encode() + b"\r\n\r\n" + body["body"]))
            return self.reply(200, {"id": f"file-{len(s.files)}", "object": "file"})
        if method == "GET" and path[0] == "files":
            return self.reply(200, b"bytes of " + path[1].encode())
        if method == "POST" and path[-1] == "runs":
            s.due[path[1]] = 2
            s.begun.set()
            return self.reply(200, {"id": "run_1", "status": "queued"})
        if method == "POST" and path[-1] == "cancel":
            s.cancelled.set()
            return self.reply(200, {"id": "run_1", "status": "cancelled"})
        if method == "GET" and path[2] == "runs":
            messages = s.threads[path[1]]
            text = messages[-1]["content"]
            if text == "slow":
                return self.reply(200, {"id": "run_1", "status": "in_progress"})
            if text == "fail":
                return self.reply(200, {"id": "run_1", "status": "failed", "last_error": {"code": "server_error", "message": "it broke"}})
            s.due[path[1]] -= 1
            if s.due[path[1]]:
                return self.reply(200, {"id": "run_1", "status": "in_progress"})
            del s.due[path[1]]
            self.answer(messages)
            return self.reply(200, {"id": "run_1", "status": "completed"})
        self.reply(404, {"detail": "Not Found"})

    def answer(self, messages):
        text = messages[-1]["content"]
        m = {"role": "assistant", "created_at": len(messages), "metadata": {"actor": "agent.far"}, "content": [f"echo: {text}"]}
        if not self.server.old:
            m.update(id=f"msg_{len(messages)}", content=[{"type": "text", "text": {"value": f"echo: {text}", "annotations": []}}])
        if text == "attach":
            m["attachments"] = [{"file_id": "file-1"}, {"file_id": "../../secret"}]
        if text == "attach many":
            m["attachments"] = [{"file_id": f"file-{i}"} for i in range(20)]
        messages.append(m)


class Service(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, old=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.old = old  # T01 alone
        self.takes_files, self.files = not old, []
        self.polls, self.page, self.fails, self.reversed = 3, 2, 0, False
        self.calls, self.threads, self.due = [], {}, {}
        self.lock, self.begun, self.cancelled = threading.Lock(), threading.Event(), threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
