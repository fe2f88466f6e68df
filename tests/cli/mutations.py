#!/usr/bin/env python3
"""Databases and write-ahead logs with bits, bytes, pages and rows that are others, cut or exchanged: `weft doctor --export`
gives out what the unharmed store holds, or exits with 1 and names a loss. Never another content with exit 0, never a crash.

usage: mutations.py WEFT   (TAP)
WEFT_MUTATIONS=N: so many in all (60): half of the database, a quarter of the log after kill -9 (it has begun anew, old frames stand
behind the new ones), a quarter of a log that is far ahead of its database.
WEFT_MUTATIONS_SEED=N: other ones. WEFT_MUTATIONS_ONE=I: the I-th of each alone, and what the last left stays.
"""
import collections
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

WEFT = os.path.abspath(sys.argv[1])
# In memory where that can be had: it is about bytes, and most of its time would be waiting for syncs.
HERE = tempfile.mkdtemp(prefix="weft-mutations-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
COUNT = int(os.environ.get("WEFT_MUTATIONS", "60"))
SEED = int(os.environ.get("WEFT_MUTATIONS_SEED", "20"))
ONE = os.environ.get("WEFT_MUTATIONS_ONE")
PAGE = 4096
HEAD, FRAME = 32, 24 + PAGE  # of the log: its own head, and a page with the frame's

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:%s
log: {level: error}
models:
  echo: {provider: scripted, echo: true}
  weather: {provider: scripted, script: weather.json}
  chief: {provider: scripted, script: chief.json}
tools:
  get_weather: {command: [cat], delivery: pure, parameters: {type: object}}
agents:
  echo: {model: echo}
  weather: {model: weather, tools: [get_weather]}
  chief: {model: chief, tools: [echo]}
"""
WEATHER = {"replies": [
    {"parts": [{"text": "Let me look."}, {"tool_call": {"id": "c1", "name": "get_weather", "arguments": {"city": "Tokyo"}}}]},
    {"parts": [{"text": "It is 18 degrees."}]}], "at_end": "restart"}
CHIEF = {"replies": [
    {"parts": [{"tool_call": {"id": "c3", "name": "echo", "arguments": {"task": "hello from the chief"}}}]},
    {"parts": [{"text": "Done."}]}], "at_end": "restart"}


def weft(*args, db):
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(CONFIG % f"{HERE}/{db}")
    return subprocess.run([WEFT, *args], cwd=HERE, capture_output=True, text=True, timeout=240)


def good(*args, db):
    p = weft(*args, db=db)
    assert p.returncode == 0, (args, p.returncode, p.stderr)
    return p.stdout


def read(name):
    with open(f"{HERE}/{name}", "rb") as f:
        return f.read()


def write(name, data):
    with open(f"{HERE}/{name}", "wb") as f:
        f.write(data)


def some_words(r, n):
    words = ("the", "river", "runs", "over", "stones", "and", "under", "bridges", "where", "nobody", "waits", "for", "it")
    return " ".join(r.choice(words) for _ in range(n))


def build():
    """Threads of several sizes; a tool, an agent below another, a branch, a text in pieces, one that was imported."""
    r, db = random.Random(1), "good.db"
    with open(f"{HERE}/weather.json", "w") as f:
        json.dump(WEATHER, f)
    with open(f"{HERE}/chief.json", "w") as f:
        json.dump(CHIEF, f)
    for n in (2, 600, 6, 1500, 20, 100):
        good("run", "echo", some_words(r, n), db=db)
    said = good("run", "echo", "the first", "--json", db=db)
    thread = re.search(r'"thread":"([^"]*)"', said)[1]
    good("run", "echo", "the second", "--thread", thread, db=db)
    good("fork", thread, db=db)
    first = re.search(r'"checkpoints":\[{"id":"([^"]*)"', good("tree", thread, "--json", db=db))[1]
    good("restore", thread, first, db=db)
    good("run", "echo", "the second, otherwise", "--thread", thread, db=db)
    good("run", "weather", "What is it like in Tokyo?", db=db)
    good("run", "chief", "Ask the team.", db=db)
    good("run", "echo", "large " + "x" * 17000, db=db)
    with open(f"{HERE}/document.json", "w") as f:
        f.write(good("export", thread, "--as", "uap", db=db))
    good("import", "document.json", "--on-conflict", "copy", db=db)
    good("doctor", "--rebuild-search", db=db)
    for name in os.listdir(HERE):
        if name.startswith("good.db-") or name.startswith("good.db."):
            os.unlink(f"{HERE}/{name}")
    return read(db)


def moved(name):
    """The log is moved into the database as far as its readers let it: frames of the log, and how many of them were."""
    db = sqlite3.connect(f"{HERE}/{name}")
    try:
        return db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1:]
    finally:
        db.close()


def build_log(name, before, behind):
    """Whether the log has begun anew depends on when the server moved it: what came out otherwise is made once more."""
    for tries in range(10):
        files, salts = try_log(name, before, behind)
        if len(salts) == (1 if behind else 2):
            return files
        for file in files:
            os.unlink(f"{HERE}/{file}")
    raise AssertionError(salts)


def try_log(name, before, behind):
    """kill -9: what was acknowledged last stands in the log alone. `before`: lengths of texts that the database has already;
    `behind`: a reader keeps the rest from being moved; else the log begins anew, and old frames stand behind its end. With the
    record of what the log must hold, NAME.lock."""
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(CONFIG % f"{HERE}/{name}")
    server = subprocess.Popen([WEFT, "serve"], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    reader = None
    try:
        assert re.match("listening", server.stdout.readline())
        r = random.Random(2)
        for n in before:
            good("run", "echo", some_words(r, n), db=name)
        if behind:
            reader = sqlite3.connect(f"{HERE}/{name}", isolation_level=None)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM log").fetchone()
            for n in (5, 300, 40, 900, 12, 2000, 7):
                good("run", "echo", some_words(r, n), db=name)
            frames, done = moved(name)
            assert 0 < done < frames // 2, (done, frames)
        else:
            frames, done = moved(name)
            assert 0 < done == frames, (done, frames)
            for n in (5, 300, 40):
                good("run", "echo", some_words(r, n), db=name)
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
    files = {n: read(n) for n in (name, f"{name}-wal", f"{name}.lock")}
    if reader:
        reader.close()  # only now: who closes it last moves the log
    assert b"weftlog1" in files[f"{name}.lock"][65536:], "no record of the log"
    log = files[f"{name}-wal"]
    salts = {log[i + 8:i + 16] for i in range(HEAD, len(log) - FRAME + 1, FRAME)}
    return files, salts


# ---- What is done to a file: each gives the new bytes

def at_page(r, data):
    return r.randrange(len(data) // PAGE) * PAGE


def flip_bit(r, data):
    i = r.randrange(len(data))
    return data[:i] + bytes([data[i] ^ 1 << r.randrange(8)]) + data[i + 1:]


def set_byte(r, data):
    i = r.randrange(len(data))
    return data[:i] + bytes([r.randrange(256)]) + data[i + 1:]


def set_bytes(r, data):
    n = r.randrange(2, 64)
    i = r.randrange(len(data) - n)
    return data[:i] + r.randbytes(n) + data[i + n:]


def spot_page(r, data):
    at, data = at_page(r, data), bytearray(data)
    for _ in range(r.randrange(2, 40)):
        data[at + r.randrange(PAGE)] ^= 1 << r.randrange(8)
    return bytes(data)


def zero_page(r, data):
    at = at_page(r, data)
    return data[:at] + bytes(PAGE) + data[at + PAGE:]


def fill_page(r, data):
    at = at_page(r, data)
    return data[:at] + r.randbytes(PAGE) + data[at + PAGE:]


def zero_sector(r, data):
    at = r.randrange(len(data) // 512) * 512
    return data[:at] + bytes(512) + data[at + 512:]


def copy_page(r, data):
    a, b = at_page(r, data), at_page(r, data)
    return data[:a] + data[b:b + PAGE] + data[a + PAGE:]


def swap_pages(r, data):
    a, b = sorted((at_page(r, data), at_page(r, data)))
    return data if a == b else data[:a] + data[b:b + PAGE] + data[a + PAGE:b] + data[a:a + PAGE] + data[b + PAGE:]


def cut_short(r, data):
    return data[:r.randrange(len(data))]


def cut_pages(r, data):
    return data[:at_page(r, data)]


COLUMNS = {"log": ("body", "run", "format", "n", "node", "tape"), "threads": ("title", "head", "tree", "metadata", "at", "user"),
           "nodes": ("parent", "parent_length", "id", "tree"), "runs": ("thread", "agent", "options", "node", "status", "u_input"),
           "branches": ("name", "origin", "metadata"), "vals": ("bytes", "name"), "pieces": ("bytes",), "aliases": ("object",),
           "blobs": ("key", "pieces")}


def swap_rows(r, data):
    """A column of two rows exchanged, as an old page among new ones would: every row is one that SQLite likes."""
    write("bad.db", data)
    db = sqlite3.connect(f"{HERE}/bad.db")
    try:
        for _ in range(20):
            table = r.choice(list(COLUMNS))
            column = r.choice(COLUMNS[table])
            key = "rowid" if table in ("log", "runs", "pieces", "blobs") else {"threads": "id", "nodes": "key", "branches": "key",
                                                                              "vals": "name", "aliases": "text"}[table]
            rows = db.execute(f"SELECT {key}, {column} FROM {table}").fetchall()
            if len(rows) < 2:
                continue
            (a, x), (b, y) = r.sample(rows, 2)
            if x == y:
                continue
            try:
                with db:
                    if key == column:
                        raise sqlite3.IntegrityError
                    db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (y, a))
                    db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (x, b))
                break
            except sqlite3.IntegrityError:
                pass
    finally:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
    for more in ("-wal", "-shm"):
        if os.path.exists(f"{HERE}/bad.db{more}"):
            os.unlink(f"{HERE}/bad.db{more}")
    return read("bad.db")


KINDS = (flip_bit, flip_bit, set_byte, set_bytes, spot_page, zero_page, fill_page, zero_sector, copy_page, swap_pages,
         cut_short, cut_pages, swap_rows, swap_rows)


def at_frame(r, data):
    return HEAD + r.randrange((len(data) - HEAD) // FRAME) * FRAME


def zero_frame(r, data):
    at = at_frame(r, data)
    return data[:at] + bytes(FRAME) + data[at + FRAME:]


def copy_frame(r, data):
    a, b = at_frame(r, data), at_frame(r, data)
    return data[:a] + data[b:b + FRAME] + data[a + FRAME:]


def swap_frames(r, data):
    a, b = sorted((at_frame(r, data), at_frame(r, data)))
    return data if a == b else data[:a] + data[b:b + FRAME] + data[a + FRAME:b] + data[a:a + FRAME] + data[b + FRAME:]


def cut_frames(r, data):
    return data[:at_frame(r, data)]


def gone(r, data):
    return None


def only_head(r, data):
    """Cut to its head, or with the head of another log."""
    return data[:HEAD] if r.randrange(2) else data[:16] + r.randbytes(16) + data[HEAD:]


LOG_KINDS = (flip_bit, flip_bit, set_byte, set_bytes, zero_sector, zero_frame, copy_frame, swap_frames, cut_short, cut_frames, gone,
             only_head)


# ---- What the doctor says

def export(db):
    """Its exit code, the report (None: there is none), the threads, and what it said."""
    shutil.rmtree(f"{HERE}/out", ignore_errors=True)
    p = weft("doctor", "--export", "out", db=db)
    try:
        with open(f"{HERE}/out/report.json") as f:
            report = json.load(f)
    except FileNotFoundError:
        report = None
    files = {}
    for name in os.listdir(f"{HERE}/out") if os.path.isdir(f"{HERE}/out") else ():
        if name.startswith("thread_"):
            files[name] = read(f"out/{name}")
    return p.returncode, report, files, p.stderr


def judge(whole, db):
    """None, or what is wrong; and what it was: same, named or refused."""
    code, report, files, said = export(db)
    if code not in (0, 1):
        return f"exit {code}: {said[-2000:]}", "crash"
    if code == 0 and files != whole:
        return f"another content with exit 0: {sorted(set(whole) ^ set(files))} {[n for n in files if whole.get(n) != files[n]]}", "altered"
    if code == 0:
        return (None, "same") if report and not report["tables"] else (f"exit 0 and a loss: {report}", "same")
    if report is None:
        return (None, "refused") if said.startswith("weft doctor: ") else (f"no reason: {said}", "refused")
    lost = report["tables"] or any(t["losses"] for t in report["threads"])
    return (None, "named") if lost else (f"exit 1 and no loss is named: {report}", "named")


def put(files):
    for n, data in files.items():
        if data is not None:
            write(n, data)
        elif os.path.exists(f"{HERE}/{n}"):
            os.unlink(f"{HERE}/{n}")


def mutate(what, count, kinds, files, name, whole):
    """True: all of them are as they should be. `files`: all that belongs to the store, written in their places each time; of
    these, `name` is changed."""
    seen, bad = collections.Counter(), []
    db = min(files, key=len)
    for i in [int(ONE)] if ONE else range(count):
        r = random.Random(f"{SEED} {what} {i}")
        kind = r.choice(kinds)
        put({**files, name: kind(r, files[name])})
        wrong, was = judge(whole, db)
        seen[was] += 1
        if wrong or ONE:
            bad += [1] if wrong else []
            print(f"# {what} {i}, {kind.__name__}: {wrong or was}"[:3000], flush=True)
    print(f"# {count} mutations of the {what}, seed {SEED}: " + ", ".join(f"{n} {w}" for w, n in sorted(seen.items())))
    return not bad


def main():
    results = []

    def group(what, count, kinds, files, changed, threads):
        put(files)
        code, report, whole, said = export(min(files, key=len))
        assert code == 0 and len(whole) >= threads and not report["tables"], (code, report, said)
        results.append((what, mutate(what, count, kinds, files, changed, whole)))

    group("database", COUNT - COUNT // 2, KINDS, {"good.db": build()}, "good.db", 11)
    killed = build_log("killed.db", (20, 1500, 6), False)
    group("log of a killed server", COUNT // 4, LOG_KINDS, killed, "killed.db-wal", 6)
    ahead = build_log("behind.db", (20, 6), True)
    # Under another name: a record that was copied along with its files, as a backup has it.
    ahead = {n.replace("behind", "copied"): data for n, data in ahead.items()}
    group("log that is far ahead", COUNT // 2 - COUNT // 4, LOG_KINDS, ahead, "copied.db-wal", 9)
    for i, (what, ok) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {i} - mutations of the {what} are named, or change nothing")
    print(f"1..{len(results)}")
    if ONE:
        print(f"# {HERE}")
    else:
        shutil.rmtree(HERE, ignore_errors=True)
    return 0 if all(ok for _, ok in results) else 1


sys.exit(main())
