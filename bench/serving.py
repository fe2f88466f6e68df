"""`weft serve` under measurement, and its clients: what bench/server and bench/routes share. BUILD is their first argument."""
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
SCALE = 10 if "quick" in sys.argv[2:] else 1
CONFIG = """
server: {{listen: "127.0.0.1:0", loops: {loops}}}
store: "{store}"
log: {{level: warn, access: false}}
waits: {{tool: 24h}}
models:
  fast: {{provider: scripted, script: fast.json}}
  paced: {{provider: scripted, script: paced.json}}
  slow: {{provider: scripted, script: slow.json}}
  long: {{provider: scripted, script: long.json}}
  pick: {{provider: scripted, script: pick.json}}
  echo: {{provider: scripted, echo: true}}
  thousand: {{provider: scripted, script: thousand.json}}
  million: {{provider: scripted, script: million.json}}
  quick: {{provider: scripted, script: quick.json}}
  boss: {{provider: scripted, script: boss.json}}
  vendor: {{provider: vllm, model: m, base_url: "http://127.0.0.1:{vendor}/v1"}}
  one_by_one: {{provider: vllm, model: m, base_url: "http://127.0.0.1:{vendor}/paced/v1"}}
tools: {{pick: {{description: d, parameters: {{type: object}}}}}}
default_agent: echo
agents:
  fast: {{model: fast}}
  paced: {{model: paced}}
  slow: {{model: slow}}
  long: {{model: long}}
  asks: {{model: pick, tools: [pick]}}
  echo: {{model: echo}}
  thousand: {{model: thousand}}
  million: {{model: million}}
  vendor: {{model: vendor}}
  one_by_one: {{model: one_by_one}}
  quick: {{model: quick}}
  boss: {{model: boss, tools: [quick]}}
routes: [{{intent: analyze, to: quick}}]
"""
TEXT = "".join(f"word{i:04d} " for i in range(100))  # 100 deltas of nine bytes
SCRIPTS = {
    "fast": [{"parts": [{"text": TEXT}], "delta_bytes": 9}],
    "paced": [{"parts": [{"text": TEXT}], "delta_bytes": 9, "delay_ms": 2}],   # each delta is flushed alone
    "slow": [{"parts": [{"text": TEXT}], "delta_bytes": 9, "delay_ms": 50}],   # 20 a second, five seconds
    "long": [{"parts": [{"text": TEXT}], "delta_bytes": 9, "delay_ms": 600000}],  # a stream that is open and idle
    "thousand": [{"parts": [{"text": "word" * 1000}], "delta_bytes": 4}],
    "million": [{"parts": [{"text": "word" * (1000000 // SCALE)}], "delta_bytes": 4}],
    "quick": [{"parts": [{"text": '{"text": "Hello", "confidence": 0.9}'}]}],
    "boss": [{"parts": [{"tool_call": {"id": "c1", "name": "quick", "arguments": {"task": "Say hello"}}}]}, {"parts": [{"text": "Hello"}]}],
    "pick": [{"parts": [{"tool_call": {"id": "c1", "name": "pick"}}]}, {"parts": [{"text": "ok"}]}],
}


class Server:
    def __init__(self, loops=1, store="memory:", folder=None, vendor=1):
        self.folder = folder or tempfile.mkdtemp(prefix="weft-bench-")
        for name, replies in SCRIPTS.items():
            with open(f"{self.folder}/{name}.json", "w") as f:
                json.dump({"replies": replies, "at_end": "restart"}, f)
        with open(f"{self.folder}/weft.yaml", "w") as f:
            f.write(CONFIG.format(loops=loops, store=store, vendor=vendor))
        began = time.monotonic()
        self.process = subprocess.Popen([f"{BUILD}/weft", "serve"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)$", self.process.stdout.readline().strip())[1])
        self.started = time.monotonic() - began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def threads(self):
        """CPU seconds of each thread, by its id."""
        pid, found = self.process.pid, {}
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat") as f:
                found[task] = int(f.read().split()[0]) / 1e9
        return found

    def cpu(self):
        return sum(self.threads().values())

    def rss(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(r"^VmRSS:\s+(\d+)", f.read(), re.M)[1])  # KiB


class Client:
    """One connection that stays open."""

    def __init__(self, server):
        self.server = server

    async def open(self, local=False):
        """local: over the Unix socket, with the rights of an operator."""
        if local:
            self.reader, self.writer = await asyncio.open_unix_connection(f"{self.server.folder}/bench.db.sock", limit=1 << 20)
        else:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=1 << 20)
        return self

    async def send(self, method, path, body=None, kind="application/json"):
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head[:16], head + await self.reader.read(500)
        return head

    async def ask(self, method, path, body=None):
        head = await self.send(method, path, body)
        n = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        return json.loads(await self.reader.readexactly(n))

    async def send_and_read(self, *request, **more):
        """A response with a length or in chunks."""
        head = await self.send(*request, **more)
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length:
            return await self.reader.readexactly(int(length[1]))
        data = b""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            data += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)
        return data

    async def stream(self, method, path, body=None):
        """Reads a whole stream; how many bytes it had."""
        await self.send(method, path, body)
        n = 0
        while True:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            await self.reader.readexactly(size + 2)
            n += size
            if not size:
                return n

    def close(self):
        self.writer.close()


def run_body(agent, stream=True):
    return {"assistant_id": agent, "stream": stream, "additional_messages": [{"role": "user", "content": "go"}]}


async def many(server, clients, times, fn):
    """fn(client, i) `times` times over some connections, after a tenth as a warm-up: CPU seconds, and of each thread."""
    pool = [await Client(server).open() for _ in range(clients)]

    async def work(c, first, last):
        for i in range(first, last, clients):
            await fn(c, i)
    await asyncio.gather(*(work(c, k, times // 10) for k, c in enumerate(pool)))
    before = server.threads()
    await asyncio.gather(*(work(c, k, times) for k, c in enumerate(pool)))
    after = server.threads()
    for c in pool:
        c.close()
    return {t: after[t] - before.get(t, 0) for t in after}


def show(row, what, value, unit, goal=""):
    print(f"{row:4} {what:58} {value:10.1f} {unit:10} {goal}", flush=True)
