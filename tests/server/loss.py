#!/usr/bin/env python3
"""What was acknowledged and is gone is said: a write-ahead log that was damaged, cut or deleted after a kill, a database
that is deleted or replaced while the server runs.

usage: loss.py WEFT   (TAP)
"""
import glob
import http.client
import json
import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-loss-")
THREADS, PAGE, FRAME = 60, 4096, 4096 + 24

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:%s
log: {level: warn}
models:
  echo: {provider: scripted, echo: true}
agents:
  echo: {model: echo}
"""


class Server:
    """With `good`: it must start; else .said() says why it did not."""

    def __init__(self, db, *args, good=True):
        self.config = f"{os.path.dirname(db)}/weft.yaml"
        with open(self.config, "w") as f:
            f.write(CONFIG % db)
        self.errors = f"{db}.errors"
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen([WEFT, "serve", "--config", self.config, *args], stdout=subprocess.PIPE,
                                            stderr=errors, text=True)
        found = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", self.process.stdout.readline())
        self.port = int(found[1]) if found else 0
        assert bool(found) == good, (found, self.said())
        if not good:
            assert self.process.wait(timeout=60) == 1, self.said()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0, self.said()

    def said(self):
        with open(self.errors) as f:
            return f.read()

    def says(self, text):
        """Whether its log has this, now or soon: a thread writes it."""
        end = time.monotonic() + 30
        while text not in self.said() and time.monotonic() < end:
            time.sleep(0.02)
        return text in self.said()

    def ask(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        c.request(method, path, None if body is None else json.dumps(body))
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, json.loads(text)

    def good(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        assert status == 200, (status, answer, self.said())
        return answer

    def thread(self):
        return self.good("POST", "/v1/threads", {})["id"]

    def has(self, threads):
        return sum(self.ask("GET", f"/v1/threads/{t}/messages")[0] == 200 for t in threads)


def folder():
    return tempfile.mkdtemp(dir=HERE)


def killed(threads=THREADS):
    """A database whose server was killed after that many threads."""
    db = f"{folder()}/weft.db"
    with Server(db) as s:
        made = [s.thread() for _ in range(threads)]
    assert frames(db) > threads
    return db, made


def copied(db):
    """The whole folder under another name: its record is of files with other numbers."""
    to = folder()
    shutil.copytree(os.path.dirname(db), to, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.sock"))
    return f"{to}/weft.db"


def frames(db):
    return (os.path.getsize(f"{db}-wal") - 32) // FRAME


def change(path, at, mask=0x40):
    with open(path, "r+b") as f:
        f.seek(at)
        b = f.read(1)[0]
        f.seek(at)
        f.write(bytes([b ^ mask]))


def zero(path):
    size = os.path.getsize(path)
    with open(path, "wb") as f:
        f.write(bytes(size))


def bytes_of(db):
    return {p: open(p, "rb").read() for p in (db, f"{db}-wal") if os.path.exists(p)}


def doctor(db, *args):
    return subprocess.run([WEFT, "doctor", "--store", f"sqlite:{db}", *args], capture_output=True, text=True, timeout=240,
                          cwd=os.path.dirname(db))


def exported(db):
    """Exit code, report, threads that were written."""
    out = folder()
    p = doctor(db, "--export", out)
    assert p.returncode in (0, 1), p
    with open(f"{out}/report.json") as f:
        report = json.load(f)
    return p, report, {n[:-5] for n in os.listdir(out) if n.startswith("thread_")}


# What was done to the log, whose name is in every message; how much of it (of THREADS) a start without can still have,
# and how much can be saved at least.
def header(db):
    change(f"{db}-wal", 17)


def header_checksum(db):
    change(f"{db}-wal", 25)


def middle(db):
    change(f"{db}-wal", 32 + frames(db) // 2 * FRAME + 24 + 3000)


def middle_of_a_frames_head(db):
    change(f"{db}-wal", 32 + frames(db) // 2 * FRAME + 17)


def salt_of_a_frame(db):
    change(f"{db}-wal", 32 + frames(db) // 2 * FRAME + 9)


def last_bit(db):
    change(f"{db}-wal", 32 + frames(db) * FRAME - 1, 1)


def deleted(db):
    os.unlink(f"{db}-wal")


def cut(db):
    os.truncate(f"{db}-wal", 32 + frames(db) // 2 * FRAME + 1000)


def cut_to_nothing(db):
    os.truncate(f"{db}-wal", 0)


def zeroed(db):
    zero(f"{db}-wal")


DAMAGES = {  # (at most there after --accept-loss, at least saved)
    header: (0, THREADS), header_checksum: (0, THREADS), middle: (THREADS - 10, THREADS - 20),
    middle_of_a_frames_head: (THREADS - 10, THREADS), salt_of_a_frame: (THREADS - 10, THREADS),
    last_bit: (THREADS - 1, THREADS - 20), deleted: (0, 0), cut: (THREADS - 10, 10), cut_to_nothing: (0, 0), zeroed: (0, 0),
}


def one_damage(db, threads, damage, most, least):
    damage(db)
    before = bytes_of(db)
    for _ in range(2):  # it stays refused
        s = Server(db, good=False)
        assert f"{db}-wal: is " in s.said() and "acknowledged" in s.said() and "--accept-loss" in s.said(), s.said()
        assert bytes_of(db) == before, "it was changed"
    for args in (["threads"], ["run", "echo", "hello"]):
        p = subprocess.run([WEFT, *args, "--config", s.config], capture_output=True, text=True, cwd=os.path.dirname(db))
        assert p.returncode == 1 and f"{db}-wal: is " in p.stderr, p
    p = doctor(db)
    assert p.returncode == 1 and re.search(r"^bad +log +\S+-wal is .* pages .* missing", p.stdout, re.M), p.stdout
    p, report, saved = exported(db)
    assert len(saved) >= least and saved <= set(threads), (damage, len(saved), report["tables"])
    if len(saved) < THREADS:
        assert p.returncode == 1 and "write-ahead log" in p.stdout + p.stderr, p
        assert any(t["table"] == "write-ahead log" for t in report["tables"]), report["tables"]
    assert bytes_of(db) == before, "it was changed"
    with Server(db, "--accept-loss") as s:
        assert s.says("opened without what is missing"), s.said()
        n = s.has(threads)
        assert n <= most, (damage, n)
        more = [s.thread() for _ in range(3)]
        s.stop()
    kept = glob.glob(f"{db}-wal.damaged-*")
    assert len(kept) == (f"{db}-wal" in before), kept
    assert all(open(k, "rb").read() == before[f"{db}-wal"] for k in kept)
    p = doctor(db)
    assert p.returncode == 0 and re.search(r"^warn +log +.*20\d\d-.*Z: the write-ahead log is ", p.stdout, re.M), p.stdout
    with Server(db) as s:  # and nothing is said any more
        assert s.has(threads) == n and s.has(more) == 3 and not s.said(), (n, s.said())


def test_a_log_that_is_whole():
    db, threads = killed()
    assert doctor(db).returncode == 0
    p, report, saved = exported(db)
    assert p.returncode == 0 and saved == set(threads), (p, report["tables"])
    with Server(db) as s:
        assert s.has(threads) == THREADS and not s.said()


def test_a_damaged_log():
    first, threads = killed()
    for damage, (most, least) in DAMAGES.items():
        try:
            one_damage(copied(first), threads, damage, most, least)
        except AssertionError as e:
            raise AssertionError(damage.__name__) from e
    one_damage(first, threads, middle, *DAMAGES[middle])  # in its place


def test_what_does_not_fit_together_is_not_accepted():
    first, _ = killed()
    for damage in (header, middle):
        db = copied(first)
        damage(db)
        with open(db, "r+b") as f:  # and the database, too, where the log has nothing newer
            for page in range(20, os.path.getsize(db) // PAGE):
                f.seek(page * PAGE)
                f.write(random.Random(page).randbytes(PAGE))
        before = bytes_of(db)
        s = Server(db, "--accept-loss", good=False)
        assert f"{db}: is damaged" in s.said() and "doctor --export" in s.said(), s.said()
        assert bytes_of(db) == before and not glob.glob(f"{db}-wal.damaged-*"), os.listdir(os.path.dirname(db))


def test_the_reserve_says_what_it_is():
    db = f"{folder()}/weft.db"
    open(f"{db}-reserve", "w").close()  # as it was called once
    with Server(db):
        with open(f"{db}-full_disk_reserve", "rb") as f:
            text = f.read()
        assert len(text) == 1 << 20 and text.startswith(b"Room that weft keeps for a full disk"), text[:80]
        assert not os.path.exists(f"{db}-reserve")


def test_others_may_move_the_log():
    first, threads = killed()

    def elsewhere(sql):
        def go(db):
            c = sqlite3.connect(db)
            c.execute(sql).fetchall()
            c.commit()
            c.close()
        return go

    for what in (elsewhere("PRAGMA wal_checkpoint(TRUNCATE)"), elsewhere("PRAGMA wal_checkpoint(PASSIVE)"),
                 elsewhere("UPDATE meta SET value = value WHERE name = 'learned'")):
        db = copied(first)
        what(db)
        assert doctor(db).returncode == 0
        with Server(db) as s:
            assert s.has(threads) == THREADS and not s.said(), s.said()
        db = f"{folder()}/weft.db"
        with Server(db) as s:  # while it runs
            made = [s.thread() for _ in range(5)]
            what(db)
            made += [s.thread() for _ in range(5)]
            what(db)
        with Server(db) as s:
            assert s.has(made) == 10 and not s.said(), s.said()


def test_a_page_that_is_as_before_proves_nothing():
    """A run that has ended leaves indexes of live runs as they were: those pages of its last transaction are in a database that
    lacks the rest of it."""
    db = f"{folder()}/weft.db"
    with Server(db) as s:
        def run(text):
            p = subprocess.run([WEFT, "run", "echo", text, "--config", s.config], capture_output=True, text=True, timeout=240)
            assert p.returncode == 0, p

        for n in (20, 1500, 6):
            run("word " * n)
        c = sqlite3.connect(db)
        c.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        c.close()
        for n in (5, 300, 40):
            run("more " * n)
    os.unlink(f"{db}-wal")
    p = doctor(db)
    assert p.returncode == 1 and f"{db}-wal is gone" in p.stdout + p.stderr, p
    p, report, _ = exported(db)
    assert p.returncode == 1 and report["tables"], report
    s = Server(db, good=False)
    assert f"{db}-wal: is gone" in s.said(), s.said()


def test_a_bad_lock_file():
    first, threads = killed()
    for what in (os.unlink, lambda p: os.truncate(p, 0), lambda p: os.truncate(p, 65600), zero,
                 lambda p: open(p, "r+b").write(random.Random(3).randbytes(os.path.getsize(p))),
                 lambda p: [change(p, at) for at in range(65536, 65536 + 4096, 97)]):
        db = copied(first)
        what(f"{db}.lock")
        with Server(db) as s:
            assert s.has(threads) == THREADS
        with Server(db) as s:
            os.truncate(f"{db}.lock", 0)  # while it runs
            time.sleep(1.1)
            threads_now = [s.thread() for _ in range(3)]
            assert s.says("the lock of the database was cut"), s.said()
        with Server(db) as s:
            assert s.has(threads_now) == 3


def test_a_clean_stop_leaves_no_questions():
    db = f"{folder()}/weft.db"
    with Server(db) as s:
        old = s.thread()
        s.stop()
    shutil.copy(db, f"{db}.backup")
    with Server(db) as s:
        s.thread()
        s.stop()
    os.replace(f"{db}.backup", db)  # an older copy
    with Server(db) as s:
        assert s.has([old]) == 1 and not s.said()
        s.stop()
    os.unlink(db)  # a new one
    with Server(db) as s:
        assert s.has([old]) == 0 and not s.said()


def stops(s, name):
    """Within a second or two nothing is acknowledged any more, and it ends."""
    end = time.monotonic() + 30
    status = 200
    while status == 200 and time.monotonic() < end:
        try:
            status, answer = s.ask("POST", "/v1/threads", {})
        except OSError:
            break
        time.sleep(0.05)
    assert status != 200 or s.process.poll() is not None
    assert s.process.wait(timeout=60) == 1
    assert f"{name}: was deleted, or another file was put in its place" in s.said(), s.said()


def test_the_database_is_deleted_while_it_runs():
    db = f"{folder()}/weft.db"
    with Server(db) as s:
        s.thread()
        os.unlink(db)
        stops(s, db)
    s = Server(db, good=False)
    assert f"{db}: is missing, and its write-ahead log is there" in s.said(), s.said()
    assert not os.path.exists(db) and frames(db) > 0
    assert doctor(db).returncode == 1
    with Server(db, "--accept-loss") as s:
        s.thread()
    assert len(glob.glob(f"{db}-wal.damaged-*")) == 1
    assert "the database is missing" in doctor(db).stdout


def test_the_database_is_replaced_while_it_runs():
    other, threads = killed(20)
    with Server(other) as s:
        s.stop()
    db = f"{folder()}/weft.db"
    with Server(db) as s:
        s.thread()
        shutil.copy(other, f"{db}.new")
        os.replace(f"{db}.new", db)
        stops(s, db)
    with open(db, "rb") as f:
        assert f.read() == open(other, "rb").read(), "the other one was written to"
    s = Server(db, good=False)
    assert f"{db}-wal: is not of this database" in s.said(), s.said()
    with open(db, "rb") as f:
        assert f.read() == open(other, "rb").read(), "the other one was written to"
    with Server(db, "--accept-loss") as s:
        assert s.has(threads) == 20
    p = sqlite3.connect(db)
    assert p.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    p.close()


def test_nothing_is_acknowledged_in_a_file_that_was_replaced():
    """Clients write all the time. What began after the replacement is refused, what was acknowledged is in the old file, and no
    start takes the other one for it."""
    other, _ = killed(20)
    with Server(other) as s:
        s.stop()
    for take in (os.unlink, lambda db: None, lambda db: os.rename(db, f"{db}.elsewhere")):
        db = f"{folder()}/weft.db"
        shutil.copy(other, f"{db}.new")
        with Server(db) as s:
            told, late, replaced = [], [], threading.Event()

            def write():
                while s.process.poll() is None:
                    after = replaced.is_set()
                    try:
                        status, answer = s.ask("POST", "/v1/threads", {})
                    except (OSError, http.client.HTTPException, ValueError):
                        continue
                    if status == 200:
                        told.append(answer["id"])
                        if after:
                            late.append(answer["id"])
            clients = [threading.Thread(target=write) for _ in range(3)]
            for c in clients:
                c.start()
            while len(told) < 30:
                time.sleep(0.01)
            os.link(db, f"{db}.old")
            take(db)
            os.replace(f"{db}.new", db)
            replaced.set()
            assert s.process.wait(timeout=60) == 1
            for c in clients:
                c.join()
        assert f"{db}: was deleted, or another file was put in its place" in s.said(), s.said()
        assert not late, (len(late), len(told))
        os.rename(f"{db}-wal", f"{db}.old-wal")
        s = Server(db, good=False)  # also without the log that would give it away
        assert f"{db}: is another file than the one that was in use here" in s.said(), s.said()
        p = doctor(db)
        assert p.returncode == 1 and "is another file" in p.stdout, p
        assert subprocess.run([WEFT, "threads", "--store", f"sqlite:{db}"], capture_output=True, cwd=HERE).returncode == 1
        with Server(f"{db}.old") as s:
            assert s.has(told) == len(told)
        with Server(db, "--accept-loss") as s:
            assert s.has(told) == 0
            s.stop()
        with Server(db):
            pass


def test_a_copy_without_the_log():
    """cp of a database in use has none of what is only in its log; other copies have all, and nobody is asked anything."""
    db = f"{folder()}/weft.db"
    with Server(db) as s:
        threads = [s.thread() for _ in range(5)]
        cp, both, vacuumed, backed_up, stopped = (f"{folder()}/weft.db" for _ in range(5))
        shutil.copy(db, cp)
        shutil.copy(db, both)
        shutil.copy(f"{db}-wal", f"{both}-wal")
        c = sqlite3.connect(db, timeout=60)
        c.execute("VACUUM INTO ?", (vacuumed,))
        to = sqlite3.connect(backed_up)
        c.backup(to)
        to.close()
        c.close()
        s.stop()
    shutil.copy(db, stopped)
    why = f"{cp}-wal: is missing: the database was in use when it was copied"
    p = subprocess.run([WEFT, "threads", "--store", f"sqlite:{cp}"], capture_output=True, text=True, cwd=HERE)
    assert p.returncode == 1 and why in p.stderr, p
    p = doctor(cp)
    assert p.returncode == 1 and why in p.stdout and "has all" not in p.stdout, p
    assert [l.split()[0] for l in p.stdout.splitlines() if l.split()[1] == "log"] == ["bad"], p
    s = Server(cp, good=False)
    assert why in s.said(), s.said()
    p, report, _ = exported(cp)
    assert p.returncode == 1 and report["tables"][0]["table"] == "write-ahead log", report
    p = subprocess.run([WEFT, "backup", f"{cp}.backup", "--store", f"sqlite:{cp}"], capture_output=True, text=True, cwd=HERE)
    assert p.returncode == 1 and why in p.stderr, p
    with Server(cp, "--accept-loss") as s:
        assert s.has(threads) == 0
        s.stop()
    assert "is missing: the database was in use when it was copied" in doctor(cp).stdout
    for copy in (cp, both, vacuumed, backed_up, stopped):
        with Server(copy) as s:
            assert s.has(threads) == (0 if copy == cp else 5), copy
            s.stop()
            assert not s.said(), s.said()


def test_the_database_is_written_over():
    """The same file, other bytes, after a kill: its log is still the old one's."""
    other, _ = killed(20)
    with Server(other) as s:
        s.stop()
    db, threads = killed(20)
    with open(db, "r+b") as f:
        f.truncate(0)
        f.write(open(other, "rb").read())
    s = Server(db, good=False)
    assert f"{db}-wal: is not of this database" in s.said(), s.said()
    os.rename(f"{db}-wal", f"{db}.old-log")  # as it says
    s = Server(db, good=False)  # whoever did that may not have wanted it
    assert f"{db}: is another file than the one that was in use here" in s.said(), s.said()
    with Server(db, "--accept-loss") as s:
        assert s.has(threads) == 0


def test_the_log_is_deleted_while_it_runs():
    db = f"{folder()}/weft.db"
    with Server(db) as s:
        s.thread()
        os.unlink(f"{db}-wal")
        stops(s, f"{db}-wal")
    Server(db, good=False)


def test_after_the_machine_went_down():
    """Another boot id: what was synced is asked for, no more."""
    first, threads = killed()

    def another_boot(db):
        with open(f"{db}.lock", "r+b") as f:
            text = f.read()
            with open("/proc/sys/kernel/random/boot_id") as b:
                boot = b.read().strip().encode()
            assert boot in text
            text = text.replace(boot, b"0" * 36)
            for at in (65536, 65536 + 1024):
                slot = bytearray(text[at:at + 1024])
                n = slot_size(slot)
                slot[n:n + 8] = struct.pack("<Q", checksum(bytes(slot[:n])))
                text = text[:at] + bytes(slot) + text[at + 1024:]
            f.seek(0)
            f.write(text)

    def checksum(b):
        h = 0xcbf29ce484222325
        for (x,) in struct.iter_unpack("<Q", b):
            h = ((h ^ x) * 0x9e3779b97f4a7c15) & (1 << 64) - 1
            h ^= h >> 32
        return h

    def slot_size(slot):
        """Where the checksum stands: behind it is nothing."""
        return (len(bytes(slot).rstrip(b"\0")) - 1) // 8 * 8

    db = copied(first)
    another_boot(db)
    with Server(db) as s:
        assert s.has(threads) == THREADS and not s.said()
    for damage in (middle, cut):  # all of it was synced
        db = copied(first)
        another_boot(db)
        damage(db)
        s = Server(db, good=False)
        assert f"{db}-wal: is " in s.said(), s.said()


def main():
    results = []
    for name, fn in list(globals().items()):
        if not name.startswith("test_") or (len(sys.argv) > 2 and sys.argv[2] not in name):
            continue
        try:
            fn()
            results.append(True)
            print(f"ok {len(results)} - {name[5:].replace('_', ' ')}", flush=True)
        except Exception:
            results.append(False)
            print(f"not ok {len(results)} - {name[5:].replace('_', ' ')}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
    print(f"1..{len(results)}")
    shutil.rmtree(HERE, ignore_errors=True)
    return 0 if all(results) else 1


sys.exit(main())
