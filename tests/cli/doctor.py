#!/usr/bin/env python3
"""Damaged databases: every command names them and leaves them alone; `weft doctor --export` saves what can be read.

usage: doctor.py WEFT   (TAP)
"""
import hashlib
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
import traceback

WEFT = os.path.abspath(sys.argv[1])
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.umask(0o077)  # a key that others can read is refused
HERE = tempfile.mkdtemp(prefix="weft-doctor-")
PAGE = 4096
HINT = "`weft doctor --export DIR` saves what can be read"

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:%s
log: {level: error}
models:
  echo: {provider: scripted, echo: true}
agents:
  echo: {model: echo}
"""


def weft(*args, db="good.db", **more):
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(CONFIG % f"{HERE}/{db}")
        if db.startswith("sealed"):
            f.write(f"encryption: {{key_file: {HERE}/key}}\n")
    return subprocess.run([WEFT, *args], cwd=HERE, capture_output=True, text=True, timeout=240, **more)


def export(db, exits=None):
    """The report and the files."""
    shutil.rmtree(f"{HERE}/out", ignore_errors=True)
    before = digest(db)
    p = weft("doctor", "--export", "out", db=db)
    assert p.returncode in ((0, 1) if exits is None else (exits,)), (p.returncode, p.stdout, p.stderr)
    assert digest(db) == before, "the damaged store was changed"
    with open(f"{HERE}/out/report.json") as f:
        report = json.load(f)
    files = {n: open(f"{HERE}/out/{n}").read() for n in os.listdir(f"{HERE}/out") if n.startswith("thread_")}
    left = [n for n in os.listdir(f"{HERE}/out") if not n.endswith(".json")]
    assert not left, left
    lost = report["tables"] or any(t["losses"] for t in report["threads"])
    assert p.returncode == (1 if lost else 0), (p.returncode, report)
    return report, files


def digest(db):
    """Of the file, its log and their times. (That a reader makes an empty log is no change.)"""
    text = ""
    for name in (f"{HERE}/{db}", f"{HERE}/{db}-wal"):
        if os.path.exists(name) and os.path.getsize(name):
            with open(name, "rb") as f:
                text += hashlib.sha256(f.read()).hexdigest() + str(os.stat(name).st_mtime_ns)
    return text


def build():
    """Conversations of several sizes, and an old file's: tools, an agent below another, one that waits."""
    shutil.copy(f"{SOURCE}/fixtures/stores/schema-1.db", f"{HERE}/good.db")
    r = random.Random(6)
    for size in (10, 3000, 30, 9000, 100, 500, 20000):
        said = weft("run", "echo", "".join(r.choice("abcdefghij ") for _ in range(size)))
        assert said.returncode == 0, said
    for _ in range(3):
        said = weft("run", "echo", "once more", "--thread", weft("threads").stdout.split()[0])
        assert said.returncode == 0, said
    for name in os.listdir(HERE):
        if name.startswith("good.db-") or name.startswith("good.db."):
            os.unlink(f"{HERE}/{name}")
    with open(f"{HERE}/good.db", "rb") as f:
        return f.read()


class Oracle:
    """What a thread needs, row by row, by the keys of the tables; and whether a damaged file still has it."""

    def __init__(self, path):
        db = sqlite3.connect(path)
        db.text_factory = bytes
        self.needs = {}
        threads = db.execute("SELECT tenant, id, tree, parent, kind FROM threads").fetchall()
        for tenant, thread, _, _, kind in threads:
            if kind == 1:
                self.needs[f"thread_{thread.hex()}"] = self.rows(db, tenant, self.family(threads, thread))
        db.close()

    @staticmethod
    def family(threads, root):
        found = {root}
        while True:
            more = {t[1] for t in threads if t[3] in found} - found
            if not more:
                return [t for t in threads if t[1] in found]
            found |= more

    @staticmethod
    def rows(db, tenant, family):
        asks = [("SELECT * FROM tenants WHERE id = ?", (tenant,))]
        for _, thread, tree, _, _ in family:
            asks.append(("SELECT * FROM threads WHERE tenant = ? AND id = ?", (tenant, thread)))
            asks += [("SELECT * FROM runs WHERE number = ?", n)
                     for n in db.execute("SELECT number FROM runs WHERE tenant = ? AND thread = ?", (tenant, thread))]
            for (key,) in db.execute("SELECT key FROM nodes WHERE tenant = ? AND tree = ?", (tenant, tree)).fetchall():
                asks.append(("SELECT * FROM nodes WHERE tenant = ? AND key = ?", (tenant, key)))
                asks += [("SELECT * FROM log WHERE id = ?", n)
                         for n in db.execute("SELECT id FROM log WHERE tenant = ? AND node = ?", (tenant, key))]
        asks += [("SELECT * FROM pieces WHERE id = ?", n) for n in db.execute("SELECT id FROM pieces")]
        asks += [("SELECT * FROM blobs WHERE number = ?", n) for n in db.execute("SELECT number FROM blobs")]
        return [(sql, key, db.execute(sql, key).fetchall()) for sql, key in asks]

    def untouched(self, path):
        db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        db.text_factory = bytes
        whole = set()
        for thread, rows in self.needs.items():
            try:
                if all(db.execute(sql, key).fetchall() == want for sql, key, want in rows):
                    whole.add(thread)
            except sqlite3.Error:
                pass
        db.close()
        return whole


def damaged(good, page, kind):
    r = random.Random(page)
    old = good[page * PAGE:(page + 1) * PAGE]
    new = {"flipped": bytes(b ^ 0xff for b in old), "zero": bytes(PAGE), "random": r.randbytes(PAGE),
           "spotted": bytes(b ^ (1 << r.randrange(8)) if r.random() < 0.02 else b for b in old)}[kind]
    with open(f"{HERE}/bad.db", "wb") as f:
        f.write(good[:page * PAGE] + new + good[(page + 1) * PAGE:])


def test_a_whole_store(good):
    report, files = export("good.db", exits=0)
    assert len(files) == report["whole"] >= 12 and report["cut"] == report["lost"] == 0, report


def test_every_page_once(good):
    oracle = Oracle(f"{HERE}/good.db")
    _, whole = export("good.db", exits=0)
    assert set(whole) == {f"{t}.json" for t in oracle.needs}
    kinds = ("flipped", "zero", "random", "spotted")
    pages, saved, missed, doubtful = len(good) // PAGE, 0, 0, 0
    for page in range(pages):
        for kind in kinds if os.environ.get("WEFT_DOCTOR_ALL") else (kinds[page % 4],):
            damaged(good, page, kind)
            expected = oracle.untouched(f"{HERE}/bad.db")
            report, files = export("bad.db")
            for t in expected:
                same = files.get(f"{t}.json") == whole[f"{t}.json"]
                quiet = any(x["id"] == t and not x["losses"] for x in report["threads"])
                if kind == "spotted":  # what is left of the page may claim to be something else
                    doubtful += not (same and quiet)
                else:
                    assert same and quiet, (page, kind, t, report)
            for t in report["threads"]:
                assert (t["file"] in files) == (t["file"] is not None)
            saved += len(expected)
            missed += len(oracle.needs) - len(expected)
    print(f"# {pages} pages: {saved} threads untouched and saved, {missed} touched")
    assert saved > missed > 0 and doubtful < 10, doubtful


def test_a_lost_row_is_named(good):
    """The page with the end of the long conversation."""
    db = sqlite3.connect(f"file:{HERE}/good.db?mode=ro&immutable=1", uri=True)
    node, pos = db.execute("SELECT node, max(pos) FROM log GROUP BY tenant, node ORDER BY count(*) DESC LIMIT 1").fetchone()
    body = db.execute("SELECT body FROM log WHERE node = ? AND pos = ?", (node, pos)).fetchone()[0]
    at = good.find(bytes(body))
    assert at > 0
    damaged(good, at // PAGE, "flipped")
    report, files = export("bad.db", exits=1)
    losses = [x for t in report["threads"] for x in t["losses"] if t["file"]]
    assert report["cut"] >= 1 and len(losses) >= 1, report
    assert {f"{node & 0xffffffffffffffff:016x}"} & {x.get("node") for x in losses}, (node, report)
    assert all(x["reason"] for x in losses) and any(isinstance(x.get("position"), int) for x in losses), report
    assert [t["table"] for t in report["tables"]] == ["log"], report


def test_what_stands_in_the_log(good):
    """kill -9: what was acknowledged is in the write-ahead log alone."""
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(CONFIG % f"{HERE}/live.db")
    server = subprocess.Popen([WEFT, "serve"], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert re.match("listening", server.stdout.readline())
        said = weft("run", "echo", "in the log", db="live.db")
        assert said.returncode == 0, said
        refused = weft("doctor", "--export", "out", db="live.db")
        assert refused.returncode == 1 and f"process {server.pid} has" in refused.stderr, refused
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
    assert os.path.getsize(f"{HERE}/live.db-wal") > 0
    report, files = export("live.db", exits=0)
    assert report["whole"] == 1 and "in the log" in list(files.values())[0], report


def refuses(db, pattern, commands):
    for args in commands:
        before = digest(db)
        p = weft(*args, db=db)
        assert p.returncode == 1 and re.search(pattern, p.stderr), (args, p.returncode, p.stderr)
        assert p.stderr.startswith(f"weft {args[0]}: "), p.stderr
        assert digest(db) == before, args


def test_commands_name_a_damaged_file(good):
    every = (("serve",), ("run", "echo", "hello"), ("threads",), ("show", "thread_" + "0" * 32))
    for kind in ("flipped", "zero", "random"):
        damaged(good, 0, kind)
        refuses("bad.db", r"bad\.db: is (no database, or is )?damaged \(.*\): " + re.escape(HINT), every)
    with open(f"{HERE}/bad.db", "wb") as f:
        f.write(good[:len(good) // 2])
    refuses("bad.db", r"is damaged \(.*\): " + re.escape(HINT), every)
    with open(f"{HERE}/bad.db", "wb") as f:
        f.write(good[:60] + b"\0\0\0\0" + good[64:68] + b"\0\0\0\7" + good[72:])
    refuses("bad.db", "database of another program", every)
    with open(f"{HERE}/bad.db", "wb") as f:
        f.write(b"these are no pages of a database\n" * 400)
    refuses("bad.db", "no database", every)


def test_reading_meets_a_damaged_page(good):
    db = sqlite3.connect(f"file:{HERE}/good.db?mode=ro&immutable=1", uri=True)
    body = bytes(db.execute("SELECT body FROM log ORDER BY length(body) BETWEEN 500 AND 3000 DESC LIMIT 1").fetchone()[0])
    thread = [t for t in weft("threads").stdout.split() if t.startswith("thread_")]
    damaged(good, good.find(body) // PAGE, "zero")
    said = [weft("show", t, db="bad.db") for t in thread]
    bad = [p for p in said if p.returncode]
    assert bad and any(p.returncode == 0 for p in said)
    for p in bad:
        assert p.returncode == 1 and "is damaged (" in p.stderr and HINT in p.stderr, p


def test_the_first_page_is_gone(good):
    for i in range(4):
        assert weft("run", "echo", f"hello {i}", db="new.db").returncode == 0
    _, whole = export("new.db", exits=0)
    with open(f"{HERE}/new.db", "rb") as f:
        new = f.read()
    for kind in ("zero", "random", "flipped"):
        damaged(new, 0, kind)
        report, files = export("bad.db", exits=1)
        assert files == whole and [t["table"] for t in report["tables"]] == ["file"], (kind, report)


def test_nothing_is_left(good):
    """A file that was cut to nothing is no new store."""
    for size in (0, 1, 100, 3000):
        with open(f"{HERE}/bad.db", "wb") as f:
            f.write(good[:size])
        report, files = export("bad.db", exits=1)
        assert not files and [t["table"] for t in report["tables"]][0] == "file", (size, report)


def test_an_encrypted_store(good):
    """Texts that were changed do not open: they are lost, and named."""
    with open(f"{HERE}/key", "w", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
        f.write(weft("keys", "new").stdout)
    for i in range(6):
        said = weft("run", "echo", f"secret {i} " + "x" * 2500, db="sealed.db")
        assert said.returncode == 0, said
    report, files = export("sealed.db", exits=0)
    assert report["whole"] == 6 and all("secret" in text for text in files.values()), report
    db = sqlite3.connect(f"{HERE}/sealed.db")
    db.execute("UPDATE log SET body = substr(body, 1, 500) || x'00' || substr(body, 502) WHERE id = (SELECT max(id) FROM log"
               " WHERE length(body) > 600)")
    db.commit()
    db.close()
    report, files = export("sealed.db", exits=1)
    assert report["whole"] == 5 and report["cut"] == 1 and len(files) == 6, report
    assert [t["table"] for t in report["tables"]] == ["log"] and "checksum" in report["tables"][0]["reason"], report
    os.rename(f"{HERE}/key", f"{HERE}/other")
    p = weft("doctor", "--export", "out", db="sealed.db")
    assert p.returncode == 1 and "key" in p.stderr, p


def test_a_changed_text_is_named(good):
    """A text that is still a text: what is changed is not given out, by no command; the rest is."""
    said = weft("run", "echo", "four apples", db="sums.db")
    assert said.returncode == 0 and weft("run", "echo", "pears", db="sums.db").returncode == 0
    threads = {"apples" in weft("show", t, db="sums.db").stdout: t for t in weft("threads", db="sums.db").stdout.split()
               if t.startswith("thread_")}
    db = sqlite3.connect(f"{HERE}/sums.db", isolation_level=None)
    db.execute("VACUUM")  # without checksums of pages: rows have their own
    db.close()
    with open(f"{HERE}/sums.db", "rb") as f:
        new = f.read()
    at = new.find(b"four apples")
    with open(f"{HERE}/sums.db", "wb") as f:
        f.write(new[:at] + b"five" + new[at + 4:])
    p = weft("show", threads[True], db="sums.db")
    assert p.returncode == 1 and "five" not in p.stdout and HINT in p.stderr, p
    place = re.search(r"is damaged \(a row of log, node ([0-9a-f]{16}), position (\d+)\.\d+: its checksum is wrong\)", p.stderr)
    assert place, p
    assert "pears" in weft("show", threads[False], db="sums.db").stdout
    report, files = export("sums.db", exits=1)
    assert report["whole"] == 1 and report["cut"] == 1 and "pears" in files[f"{threads[False]}.json"], report
    assert "five" not in files[f"{threads[True]}.json"], files
    assert [t["table"] for t in report["tables"]] == ["log"] and place[0][12:-1] in report["tables"][0]["reason"], report
    losses = [x for t in report["threads"] for x in t["losses"]]
    assert [(x["node"], x["position"]) for x in losses] == [(place[1], int(place[2]))], report


def test_rows_in_the_place_of_others(good):
    """The same text in two places, exchanged: both are named."""
    for text in ("one of two", "two of two"):
        assert weft("run", "echo", text, db="swapped.db").returncode == 0
    with open(f"{HERE}/swapped.db", "rb") as f:
        new = f.read()
    with open(f"{HERE}/swapped.db", "wb") as f:
        f.write(new.replace(b"one of two", b"@@@").replace(b"two of two", b"one of two").replace(b"@@@", b"two of two"))
    report, _ = export("swapped.db", exits=1)
    assert report["cut"] == 2 and report["whole"] == 0, report


def test_a_damaged_search_index_is_named(good):
    """Of no command but the search: nothing is lost with it."""
    def line(name):
        p = weft("doctor", db="index.db")
        found = re.search(rf"^(\w+) +{name} +(.*)$", p.stdout, re.M)
        assert p.returncode == 0 and found, p
        return found[1], found[2]

    def rebuild():
        p = weft("doctor", "--rebuild-search", db="index.db")
        assert p.returncode == 0, p

    def change(sql):
        db = sqlite3.connect(f"{HERE}/index.db")
        db.executescript(sql)
        db.close()

    for name in ("index.db-wal", "index.db-shm"):
        if os.path.exists(f"{HERE}/{name}"):
            os.unlink(f"{HERE}/{name}")
    with open(f"{HERE}/index.db", "wb") as f:
        f.write(good)
    rebuild()
    assert line("search") == ("ok", "the index can be read"), line("search")
    for sql in ("UPDATE words_text_data SET block = x'0102'", "DELETE FROM words_text_data WHERE id = 10"):
        change(sql)
        state, text = line("search")
        assert state == "warn" and "the search index is damaged" in text and "`weft doctor --rebuild-search`" in text, (sql, text)
        assert line("database")[0] == "ok"
        rebuild()
        assert line("search")[0] == "ok", sql


def pages(db, exits=0):
    """What doctor says of the pages."""
    p = weft("doctor", "--store", f"sqlite:{HERE}/{db}", db=db)
    found = re.search(r"^(\w+) +pages +(.*)$", p.stdout, re.M)
    assert p.returncode == exits and found, p
    return found[1], found[2]


def read(name):
    with open(f"{HERE}/{name}", "rb") as f:
        return f.read()


def write(name, data):
    for more in ("-wal", "-shm", ".lock"):
        if os.path.exists(f"{HERE}/{name}{more}"):
            os.unlink(f"{HERE}/{name}{more}")
    with open(f"{HERE}/{name}", "wb") as f:
        f.write(data)


def root_of(db, table):
    c = sqlite3.connect(f"file:{HERE}/{db}?mode=ro&immutable=1", uri=True)
    page = c.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
    c.close()
    return page


def test_damaged_rows_are_counted(good):
    """In a file without checksums of pages only a row's own shows that it was changed."""
    shutil.copy(f"{SOURCE}/fixtures/stores/schema-3.db", f"{HERE}/rows.db")
    assert weft("run", "echo", "newer", db="rows.db").returncode == 0  # it becomes a present one
    p = weft("doctor", "--store", f"sqlite:{HERE}/rows.db", db="rows.db")
    assert p.returncode == 0 and re.search(r"^ok +rows +all have their checksums$", p.stdout, re.M), p
    db = sqlite3.connect(f"{HERE}/rows.db")
    changed = db.execute("UPDATE runs SET agent = CAST('aged' AS BLOB) WHERE number <= 2").rowcount
    db.commit()
    db.close()
    p = weft("doctor", "--store", f"sqlite:{HERE}/rows.db", db="rows.db")
    assert changed == 2 and p.returncode == 1 and re.search(r"^bad +rows +2 have a wrong checksum \(a row of runs", p.stdout, re.M), p


def test_a_page_of_an_index_is_named(good):
    """A thread whose rows cannot be found is not an empty one: by no command."""
    for text in ("first words", "second words"):
        assert weft("run", "echo", text, db="pages.db").returncode == 0
    new, thread = read("pages.db"), weft("threads", db="pages.db").stdout.split()[0]
    assert pages("pages.db")[0] == "ok" and "words" in weft("show", thread, db="pages.db").stdout
    page = root_of("pages.db", "log_at")
    named = f"is damaged (page {page}: its checksum is wrong): {HINT}"
    for at in (0, 3, 9, 4000, 4079, 4080, 4090):  # its kind, its cells, its rows, its sum
        bad = bytearray(new)
        bad[(page - 1) * PAGE + at] ^= 4
        write("bad-pages.db", bad)
        for args in (("show", thread), ("export", thread, "--as", "uap"), ("tree", thread), ("run", "echo", "more", "--thread", thread)):
            p = weft(*args, db="bad-pages.db")
            assert p.returncode == 1 and named in p.stderr and not p.stdout, (at, args, p)
        state, text = pages("bad-pages.db", exits=1)
        assert state == "bad" and f"the first is {page})" in text, text
        report, files = export("bad-pages.db")
        assert len(files) == 2 and report["whole"] == 2, report
        p = weft("doctor", "--rewrite", db="bad-pages.db")
        assert p.returncode == 1 or "another program" in p.stdout, p
    write("bad-pages.db", new)
    assert weft("run", "echo", "more", "--thread", thread, db="bad-pages.db").returncode == 0


def test_copies_of_sqlite_are_converted(good):
    """They are whole, but have no checksums; what another program writes has wrong ones."""
    for text in ("first words", "second words"):
        assert weft("run", "echo", text, db="pages.db").returncode == 0
    threads = weft("threads", db="pages.db").stdout
    for how in ("VACUUM INTO", "backup", "VACUUM"):
        write("copy.db", read("pages.db") if how == "VACUUM" else b"")
        c = sqlite3.connect(f"{HERE}/copy.db" if how == "VACUUM" else f"{HERE}/pages.db", isolation_level=None)
        if how == "backup":
            to = sqlite3.connect(f"{HERE}/copy.db")
            c.backup(to)
            to.close()
        else:
            c.execute(how if how == "VACUUM" else f"VACUUM INTO '{HERE}/copy.db'")
        c.close()
        state, text = pages("copy.db")
        assert state == ("ok" if how == "backup" else "warn"), (how, text)
        assert weft("threads", db="copy.db").stdout == threads, how
        assert weft("run", "echo", "more", db="copy.db").returncode == 0
        before, mode = weft("threads", db="copy.db").stdout, os.stat(f"{HERE}/copy.db").st_mode
        p = weft("doctor", "--rewrite", "--json", db="copy.db")
        assert p.returncode == 0 and json.loads(p.stdout)["wrong"] == 0, p
        assert pages("copy.db")[0] == "ok" and weft("threads", db="copy.db").stdout == before
        assert os.stat(f"{HERE}/copy.db").st_mode & 0o777 == 0o600 and not os.path.exists(f"{HERE}/copy.db.rewrite"), mode
    c = sqlite3.connect(f"{HERE}/copy.db")
    c.execute("DELETE FROM vals")
    c.execute("INSERT INTO stray_threads VALUES(1, x'00', x'01')")
    c.commit()
    c.close()
    state, text = pages("copy.db", exits=1)
    assert state == "bad" and "another program" in text, text
    p = weft("doctor", "--rewrite", db="copy.db")
    assert p.returncode == 0 and "another program wrote them" in p.stdout, p
    assert pages("copy.db")[0] == "ok" and weft("threads", db="copy.db").stdout == before
    new = read("copy.db")
    write("copy.db", new.replace(b"first words", b"fifth words"))  # a row that is not what was written
    p = weft("doctor", "--rewrite", db="copy.db")
    assert p.returncode == 1 and "its checksum is wrong" in p.stderr and "stays as it is" in p.stderr, p
    assert b"fifth words" in read("copy.db") and not os.path.exists(f"{HERE}/copy.db.rewrite")


def test_misuse(good):
    for args in (("doctor", "--export"), ("doctor", "--export", "out", "--ready")):
        assert weft(*args).returncode == 2, args
    for args in (("doctor", "--export", "out", "--store", "memory:"), ("doctor", "--export", "out", "--store", "sqlite:none.db"),
                 ("doctor", "--export", "weft.yaml/out")):
        p = weft(*args)
        assert p.returncode == 1 and p.stderr.startswith("weft doctor: "), p


def main():
    good, results = build(), []
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            fn(good)
            results.append(True)
            print(f"ok {len(results)} - {name[5:].replace('_', ' ')}", flush=True)
        except Exception:
            results.append(False)
            print(f"not ok {len(results)} - {name[5:].replace('_', ' ')}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line[:2000]}")
    shutil.rmtree(HERE, ignore_errors=True)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


sys.exit(main())
