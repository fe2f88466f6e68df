"""Steers faults.c, a library that makes calls on the files of a database fail, and the wall clock fast: what both map, in its layout."""
import errno
import mmap
import os
import struct
import time

CALLS = {"read": 1, "write": 2, "sync": 4, "truncate": 8, "allocate": 16}
FILES = {"db": 1, "wal": 2, "shm": 4, "other": 8}
ACTS = {"refuse": 1, "short": 2, "torn": 3, "stall": 4}
SIZE = 4096


class Faults:
    """The rule of one server, whose environment `env` loads the library."""

    def __init__(self, library, path):
        with open(path, "wb") as f:
            f.write(bytes(SIZE))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), SIZE)
        self.speed, self.start = 1, 0
        self.env = {"LD_PRELOAD": library, "FAULTS": path, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def on(self, calls, files, act="refuse", error="EIO", per_thousand=1000, stall_ms=0):
        self.off()
        masks = sum(CALLS[c] for c in calls), sum(FILES[f] for f in files)
        self.map[4:28] = struct.pack("<6I", *masks, ACTS[act], getattr(errno, error), per_thousand, stall_ms)
        self.map[0:4] = struct.pack("<I", 1)

    def off(self):
        self.map[0:4] = struct.pack("<I", 0)

    def hits(self):
        return struct.unpack("<I", self.map[28:32])[0]

    def speed_up(self, speed):
        """From now on, before the server starts, its wall clock goes so many times as fast."""
        self.speed, self.start = speed, int(time.time())
        self.map[32:48] = struct.pack("<IxxxxQ", speed, self.start)

    def since(self, at):
        """The seconds since the server's wall clock said this."""
        return time.time() - self.start - (at - self.start) / self.speed
