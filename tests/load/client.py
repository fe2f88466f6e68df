"""HTTP for one client of the load: requests on a kept connection, and streams of server-sent events on their own."""
import asyncio
import json
import re
import time

DONE = {  # dialect: the last frame of a stream, or of a part of it that ends with a wait
    "weft": lambda f: '"type":"run"' in f and re.search(r'"status":"(completed|failed|cancelled|expired|incomplete|waiting)"', f),
    "upp": lambda f: f == "[DONE]" or f.startswith('{"error":'),
    "ui": lambda f: f == "[DONE]",
    "assistants": lambda f: f == "[DONE]",
    "chat": lambda f: f == "[DONE]" or f.startswith('{"error":'),
    "agentapi": lambda f: '"object":"response"' in f and re.search(r'"status":"(completed|failed|canceled|incomplete)"', f),
    "responses": lambda f: re.search(r'"type":"response\.(completed|failed|incomplete)"', f),
    "envelope": lambda f: f.startswith("{"),
}


class Broken(Exception):
    """The connection ended before its response did."""


def listener(port):
    """What the kernel says of a port that was listened on: why it may have dropped a connection."""
    with open("/proc/net/tcp") as f:
        sockets = [line.split() for line in f][1:]
    waiting = [int(s[4].split(":")[1], 16) for s in sockets if s[1].endswith(f":{port:04X}") and s[3] == "0A"]
    with open("/proc/net/netstat") as f:
        names, values = (line.split() for line in f.readlines()[:2])
    counts = dict(zip(names, values))
    return f"{waiting} connections wait to be accepted; of the machine: ListenOverflows {counts['ListenOverflows']}, ListenDrops {counts['ListenDrops']}"


class Answer:
    def __init__(self, status, headers, data):
        self.status, self.headers, self.data = status, headers, data

    @property
    def good(self):
        return 200 <= self.status < 300

    @property
    def value(self):
        try:
            return json.loads(self.data)
        except ValueError:
            return None

    def __str__(self):
        return f"{self.status} {self.data[:300].decode(errors='replace')}"


class Connection:
    """One connection; the caller reads each response to its end before the next request."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    def close(self):
        if self.writer:
            self.writer.transport.abort()
        self.reader = self.writer = None

    async def connect(self, what):
        began = time.monotonic()
        try:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 26)
        except OSError as e:
            raise Broken(f"{what}: {e!r} after {time.monotonic() - began:.0f} s; {listener(self.port)}") from e

    async def send(self, method, path, body, headers):
        """Sends a request and reads the head of its response: status and headers."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(data)}", *(f"{k}: {v}" for k, v in headers.items())]
        try:
            if not self.writer:
                await self.connect(f"{method} {path}")
            self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
            await self.writer.drain()
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        except (OSError, asyncio.IncompleteReadError) as e:
            self.close()
            raise Broken(f"{method} {path}: {e!r}") from e
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        return int(head[0].split(" ")[1]), fields

    async def chunks(self, headers):
        """The body, piece by piece. Broken, if its last piece never came."""
        try:
            if "chunked" in headers.get("transfer-encoding", ""):
                while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                    yield (await self.reader.readexactly(size + 2))[:-2]
                await self.reader.readuntil(b"\r\n")
            elif "content-length" in headers:
                yield await self.reader.readexactly(int(headers["content-length"]))
        except (OSError, asyncio.IncompleteReadError, ValueError) as e:
            self.close()
            raise Broken(repr(e)) from e
        if headers.get("connection", "") == "close":
            self.close()


class Client:
    """A key, a connection for requests, and as many streams as it opens."""

    PATIENCE = 180  # seconds until a request counts as lost

    def __init__(self, port, key=None, headers=None):
        self.port, self.connection = port, Connection(port)
        self.headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}

    def another(self):
        """The same client on another connection, for requests at the same time."""
        other = Client(self.port)
        other.headers = self.headers
        return other

    def close(self):
        self.connection.close()

    async def ask(self, method, path, body=None, headers=None):
        async def exchange():
            fresh = self.connection.writer is None
            try:
                status, fields = await self.connection.send(method, path, body, {**self.headers, **(headers or {})})
            except Broken:
                if fresh or method != "GET":
                    raise
                status, fields = await self.connection.send(method, path, body, {**self.headers, **(headers or {})})
            nothing = status in (204, 304)
            return Answer(status, fields, b"" if nothing else b"".join([c async for c in self.connection.chunks(fields)]))

        try:
            return await asyncio.wait_for(exchange(), self.PATIENCE)
        except asyncio.TimeoutError as e:
            self.close()
            raise Broken(f"{method} {path}: no answer in {self.PATIENCE} s") from e

    async def stream(self, method, path, body=None, headers=None, frames=None, silence=20):
        """A stream, read to its end, for so many frames, or until it has none for so many seconds: its run may wait for long."""
        s = Stream(self.port)
        await s.read(method, path, body, {**self.headers, **(headers or {})}, frames, silence)
        return s


class Stream:
    """What came of a stream: status, frames, the id of the last one, and whether the response was complete."""

    def __init__(self, port):
        self.connection, self.status, self.frames, self.last, self.comment = Connection(port), 0, [], None, ""
        self.complete, self.cut, self.silent, self.data, self.headers, self.heard = False, False, False, b"", {}, 0

    @property
    def good(self):
        return 200 <= self.status < 300

    @property
    def value(self):
        try:
            return json.loads(self.data)
        except ValueError:
            return None

    async def read(self, method, path, body, headers, frames, silence):
        try:
            self.status, self.headers = await asyncio.wait_for(self.connection.send(method, path, body, headers), Client.PATIENCE)
            rest, self.heard = b"", time.monotonic()
            async for piece in self.connection.chunks(self.headers):
                if "text/event-stream" not in self.headers.get("content-type", ""):
                    self.data += piece
                    continue
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self.line(line.decode())
                self.silent = time.monotonic() > self.heard + silence
                if self.silent or (frames is not None and len(self.frames) >= frames):
                    self.cut = True
                    break
            else:
                self.complete = True
        except (Broken, asyncio.TimeoutError) as e:
            self.comment = self.comment or repr(e)
        finally:
            self.connection.close()

    def line(self, line):
        if line.startswith("id: "):
            self.last = line[4:]
        elif line.startswith("data: "):
            self.frames.append(line[6:])
            self.heard = time.monotonic()
        elif line.startswith(": ") and "ping" not in line:
            self.comment = line[2:]

    def ended(self, dialect):
        return bool(self.frames) and bool(DONE[dialect](self.frames[-1]))

    def __str__(self):
        return (f"status {self.status}, {len(self.frames)} frames, {'complete' if self.complete else 'broken'}, {self.comment!r}, "
                f"last {self.last}: {(self.frames or [self.data.decode(errors='replace')])[-1][:200]}")
