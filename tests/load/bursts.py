"""Bursts in which a store fails: calls on its files refused, torn or slow, or another process that holds the lock."""
import asyncio
import sqlite3
import time

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
GRACE = 15


class Bursts:
    """The bursts of one life. GRACE seconds after one, requests may still be refused."""

    def __init__(self, site, random, kinds=None):
        self.site, self.random = site, random
        self.kinds = [k for k in KINDS if not kinds or k[0] in kinds]
        self.now, self.ended, self.count, self.hits = None, 0, 0, 0

    def ill(self):
        return self.now is not None or time.monotonic() < self.ended + GRACE

    async def burst(self, kind, seconds):
        name, calls, files, act, error, chance = kind
        faults = self.site.faults
        before, self.now, self.count = faults.hits(), name, self.count + 1
        if name == "busy":
            await asyncio.to_thread(self.hold, seconds)
        else:
            faults.on(calls, files, act, error, chance, self.random.choice([5, 50, 400]))
            await asyncio.sleep(seconds)
            faults.off()
        self.now, self.ended = None, time.monotonic()
        return faults.hits() - before

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
            # Once in a while so long that an answer of a server that is well again counts.
            await asyncio.sleep(self.random.choice([0.2, 0.2, 0.5, 0.5, 1, 1, 3, 3, GRACE + 5]))
            kind, seconds = self.random.choice(self.kinds), self.random.choice(LENGTHS)
            hits = await self.burst(kind, seconds)
            self.hits += hits
            say(f"{kind[0]} for {seconds} s: {hits} calls")
