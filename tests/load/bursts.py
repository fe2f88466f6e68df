"""Bursts in which a store fails: calls of the file refused, torn or slow (faults.c), or another process that holds the lock."""
import asyncio
import errno
import mmap
import sqlite3
import struct
import time

# As in faults.c.
CALLS = {"read": 1, "write": 2, "sync": 4, "truncate": 8, "allocate": 16}
FILES = {"db": 1, "wal": 2, "shm": 4, "other": 8}
ACTS = {"refuse": 1, "short": 2, "torn": 3, "stall": 4}
SIZE = 4096

# (name, calls, files, act, errno, per thousand calls)
KINDS = [
    ("full", ["write", "truncate", "allocate"], ["db", "wal", "shm", "other"], "refuse", "ENOSPC", 1000),
    ("write-eio", ["write"], ["db", "wal"], "refuse", "EIO", 1000),
    ("some-writes-eio", ["write"], ["db", "wal"], "refuse", "EIO", 60),
    ("read-eio", ["read"], ["db", "wal"], "refuse", "EIO", 1000),
    ("some-reads-eio", ["read"], ["db", "wal"], "refuse", "EIO", 30),
    ("short", ["write"], ["db", "wal"], "short", "EIO", 300),
    ("torn", ["write"], ["db", "wal"], "torn", "EIO", 100),
    ("stall", ["write", "sync", "read"], ["db", "wal"], "stall", "EIO", 200),
    ("busy", [], [], None, None, 0),
]
LENGTHS = [0.1, 0.1, 0.3, 0.3, 1, 1, 2, 4, 8, 20]
GRACE = 15  # seconds after a burst in which requests may still be refused


class Bursts:
    """Steers the faults of one server."""

    def __init__(self, site, random, kinds=None):
        self.site, self.random = site, random
        self.kinds = [k for k in KINDS if not kinds or k[0] in kinds]
        with open(f"{site.folder}/faults", "wb") as f:
            f.write(bytes(SIZE))
        self.file = open(f"{site.folder}/faults", "r+b")
        self.map = mmap.mmap(self.file.fileno(), SIZE)
        self.now, self.ended, self.count = None, 0, 0

    def ill(self):
        return self.now is not None or time.monotonic() < self.ended + GRACE

    def rule(self, calls, files, act, error, chance, stall_ms=0):
        on = 0 if act is None else 1
        self.map[0:4] = struct.pack("<I", 0)
        if on:
            mask = sum(CALLS[c] for c in calls), sum(FILES[f] for f in files)
            self.map[4:28] = struct.pack("<6I", *mask, ACTS[act], getattr(errno, error), chance, stall_ms)
            self.map[0:4] = struct.pack("<I", 1)

    def hits(self):
        return struct.unpack("<I", self.map[28:32])[0]

    async def burst(self, kind, seconds):
        name, calls, files, act, error, chance = kind
        before, self.now, self.count = self.hits(), name, self.count + 1
        if name == "busy":
            await asyncio.to_thread(self.hold, seconds)
        else:
            self.rule(calls, files, act, error, chance, self.random.choice([5, 50, 400]))
            await asyncio.sleep(seconds)
            self.rule(calls, files, None, None, 0)
        self.now, self.ended = None, time.monotonic()
        return self.hits() - before

    def hold(self, seconds):
        """Another process's transaction, for so long."""
        c = sqlite3.connect(f"{self.site.folder}/weft.db", timeout=10, isolation_level=None)
        try:
            c.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            c.execute("ROLLBACK")
        except sqlite3.OperationalError:
            pass  # the server's own commits were in the way
        finally:
            c.close()

    async def go_on(self, over, say):
        """One burst after another, with pauses in which the server recovers."""
        while not over():
            await asyncio.sleep(self.random.choice([0.2, 0.5, 1, 3]))
            kind, seconds = self.random.choice(self.kinds), self.random.choice(LENGTHS)
            hits = await self.burst(kind, seconds)
            say(f"{kind[0]} for {seconds} s: {hits} calls")

    def stop(self):
        self.rule([], [], None, None, 0)
