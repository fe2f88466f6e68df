#!/usr/bin/env python3
"""Many streams of runs that wait for their model, open at the same time: what they take, and that each gets its end.

usage: many.py WEFT [N]   (TAP; default: 1000 streams)
"""
import asyncio
import json
import os
import re
import resource
import sys
import tempfile

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
N = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: "memory:"
log: {level: warn}
models: {long: {provider: scripted, script: long.json}}
agents: {long: {model: long}}
"""
SCRIPT = {"replies": [{"parts": [{"text": "one two"}], "delta_bytes": 4, "delay_ms": 3600000}], "at_end": "restart"}
SANITIZED = b"__asan_init" in open(WEFT, "rb").read()
KIB = 64  # of a stream with its run, at most


async def request(reader, writer, method, path, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head[:16], head + await reader.read(1000)
    return head


async def ask(reader, writer, method, path, body=None):
    head = await request(reader, writer, method, path, body)
    return json.loads(await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1])))


class Stream:
    """A run, and the connection that follows it."""

    async def open(self, s, control):
        thread = (await ask(*control, "POST", "/v1/threads"))["id"]
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", s.port)
        await request(self.reader, self.writer, "POST", f"/v1/threads/{thread}/runs?as=weft",
                      {"assistant_id": "long", "stream": True, "additional_messages": [{"role": "user", "content": "go"}]})
        self.run = None
        while not self.run:
            line = await asyncio.wait_for(self.reader.readline(), 60)
            found = re.search(rb'"runId":"([0-9a-f-]{36})"', line)
            self.run = found and "run_" + found[1].decode().replace("-", "")
        return self

    async def end(self):
        text = await asyncio.wait_for(self.reader.readuntil(b"\r\n0\r\n\r\n"), 300)
        self.writer.close()
        return b'"cancelled"' in text


async def open_all(s):
    streams, together = [], 50
    pool = [await asyncio.open_connection("127.0.0.1", s.port) for _ in range(together)]
    for i in range(0, N, together):
        streams += await asyncio.gather(*(Stream().open(s, pool[k]) for k in range(min(together, N - i))))
    return streams, pool


async def play(s):
    before = s.memory("VmRSS")
    streams, pool = await open_all(s)
    each = (s.memory("VmRSS") - before) * 1024 / N
    print(f"# {N} open streams with their runs: {each:.0f} KiB each, {s.memory('VmRSS'):.0f} MiB in all", flush=True)
    assert SANITIZED or each < KIB, each
    health = await ask(*pool[0], "GET", "/health")
    assert health["runs"] == N and health["connections"] >= N, health
    ends = asyncio.gather(*(x.end() for x in streams))

    async def cancel(k):
        for x in streams[k::len(pool)]:
            await ask(*pool[k], "POST", f"/v1/runs/{x.run}/cancel", {})
    await asyncio.gather(*(cancel(k) for k in range(len(pool))))
    assert all(await ends)
    health = await ask(*pool[0], "GET", "/health")
    assert health["status"] == "ok" and health["runs"] == 0, health


def test_many_idle_streams():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < N + 200:
        return f"at most {hard} files may be open"
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    here = tempfile.mkdtemp(prefix="weft-many-")
    with open(f"{here}/long.json", "w") as f:
        json.dump(SCRIPT, f)
    with Server(WEFT, here, CONFIG) as s:
        asyncio.run(play(s))
    return None


main(globals())
