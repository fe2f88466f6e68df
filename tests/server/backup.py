#!/usr/bin/env python3
"""weft backup, and the backup by sqlite3 alone that the documentation describes, while clients write: it ends, is whole, and has
what was acknowledged before. What interrupts one leaves nothing; a restore is whole or did not happen.

usage: backup.py WEFT   (TAP)
"""
import glob
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-backup-")
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
log: {level: warn}
models: {echo: {provider: scripted, echo: true}}
agents: {echo: {model: echo}}
"""
# As in docs/storage.md.
BACKUP = "VACUUM INTO 'backup.db'"


class Writers:
    """Clients that post messages until the block ends. `posted` has what was acknowledged."""

    def __init__(self, s, threads, clients=4):
        self.s, self.threads, self.posted, self.over, self.failed = s, threads, [], threading.Event(), []
        self.clients = [threading.Thread(target=self.write, args=(k,)) for k in range(clients)]

    def write(self, k):
        i = 0
        try:
            while not self.over.is_set():
                text = f"client {k} message {i} " + "and more of it " * 20
                self.s.good("POST", f"/v1/threads/{self.threads[k]}/messages", {"role": "user", "content": text})
                self.posted.append((self.threads[k], text))
                i += 1
        except Exception as e:
            self.failed.append(e)

    def __enter__(self):
        for c in self.clients:
            c.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for c in self.clients:
            c.join()
        assert not self.failed, self.failed


def texts(s, thread):
    found, after = set(), ""
    while True:
        page = s.good("GET", f"/v1/threads/{thread}/messages?order=asc&limit=100{after}")
        found |= {m["content"][0]["text"]["value"] for m in page["data"]}
        if not page["has_more"]:
            return found
        after = f"&after={page['last_id']}"


def weft(folder, *args, code=0, **more):
    p = subprocess.run([WEFT, *args], cwd=folder, capture_output=True, text=True, timeout=240, **more)
    assert p.returncode == code, (args, p)
    return p


def folder(config=CONFIG):
    made = tempfile.mkdtemp(dir=HERE)
    with open(f"{made}/weft.yaml", "w") as f:
        f.write(config)
    return made


def left(made):
    """What there is in a folder but for the store of its own."""
    return sorted(n for n in os.listdir(made) if not n.startswith(("weft.", "log", "master")))


def by_sqlite(made):
    db = sqlite3.connect(f"{made}/weft.db", isolation_level=None, timeout=60)
    db.execute(BACKUP.replace("backup.db", f"{made}/backup.db"))
    db.close()


def by_weft(made):
    weft(made, "backup", "backup.db")


def restored_by_sqlite(made):
    to = folder()
    shutil.copy(f"{made}/backup.db", f"{to}/weft.db")
    return to


def restored_by_weft(made):
    to = folder()
    weft(to, "backup", "--restore", f"{made}/backup.db")
    return to


def has_what_was_acknowledged(back_up, restore):
    made = folder()
    with Server(WEFT, made) as s:
        threads = [s.good("POST", "/v1/threads", {})["id"] for _ in range(4)]
        with Writers(s, threads) as w:
            while len(w.posted) < 100:
                assert not w.failed, w.failed
                w.over.wait(0.01)
            before = list(w.posted)
            back_up(made)
            at_end = len(w.posted)
            while len(w.posted) < at_end + 20:  # and it does not stop them
                assert not w.failed, w.failed
                w.over.wait(0.01)
    assert left(made) == ["backup.db"], left(made)
    to = restore(made)
    doctor = weft(to, "doctor", "--store", "sqlite:weft.db")
    assert ("pages have their checksums" in doctor.stdout) == (back_up is not by_sqlite), doctor
    with Server(WEFT, to) as s:
        for thread in threads:
            has = texts(s, thread)
            missing = [text for t, text in before if t == thread and text not in has]
            assert not missing, (len(missing), missing[:3])
        s.good("POST", f"/v1/threads/{threads[0]}/messages", {"role": "user", "content": "it goes on"})
        found = s.good("GET", "/v1/search?q=client&limit=1")
        assert found["data"], found


def test_a_backup_by_sqlite3_while_clients_write_has_all_that_was_acknowledged_before():
    has_what_was_acknowledged(by_sqlite, restored_by_sqlite)


def test_weft_backup_while_clients_write_has_all_that_was_acknowledged_before():
    has_what_was_acknowledged(by_weft, restored_by_weft)


def upload(s, name, content, headers):
    c, edge = s.connection(), "edge-of-a-part"
    body = (f'--{edge}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nassistants\r\n'
            f'--{edge}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'
            f'content-type: application/octet-stream\r\n\r\n').encode() + content + f"\r\n--{edge}--\r\n".encode()
    c.request("POST", "/v1/files", body, {"content-type": f"multipart/form-data; boundary={edge}", **headers})
    r = c.getresponse()
    text = r.read()
    c.close()
    assert r.status == 200, (r.status, text)
    return json.loads(text)["id"]


def download(s, file, headers):
    c = s.connection()
    c.request("GET", f"/v1/files/{file}/content", headers=headers)
    r = c.getresponse()
    content = r.read()
    c.close()
    return r.status, content


def start(text):
    return {"assistant_id": "echo", "thread": {"messages": [{"role": "user", "content": text}]}}


def everything(config, encrypted):
    """Threads, runs, files, long texts, API keys, the search, encrypted or not; in and out while the server runs."""
    made, to = folder(config), folder(config)
    os.umask(0o077)
    if encrypted:
        for where in (made, to):
            with open(f"{where}/master.key", "w") as f:
                f.write("5a" * 32)
    key = weft(made, "keys", "add", "me").stdout.split()[-1]
    content, long = random.Random(7).randbytes(700_000), "A long text. " * 20_000
    bearer = {"authorization": f"Bearer {key}"}
    with Server(WEFT, made) as s:
        assert s.ask("GET", "/v1/threads")[0] == 401
        file = upload(s, "f.bin", content, bearer)
        _, run = s.ask("POST", "/v1/threads/runs", start("the quick brown fox"), bearer)
        thread = run["thread_id"]
        end = time.monotonic() + 60
        while run["status"] != "completed" and time.monotonic() < end:
            _, run = s.ask("GET", f"/v1/threads/{thread}/runs/{run['id']}", headers=bearer)
        assert s.ask("POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": long}, bearer)[0] == 200
        said = weft(made, "backup", "all.db", "--json")
        before = {p: s.ask("GET", p, headers=bearer) for p in (f"/v1/threads/{thread}", f"/v1/threads/{thread}/messages",
                                                              f"/v1/threads/{thread}/runs", "/v1/files")}
    counts = json.loads(said.stdout)
    assert counts["encrypted"] == encrypted and counts["threads"] == 1 and counts["runs"] == 1 and counts["blobs"] >= 2, counts
    assert counts["bytes"] == os.path.getsize(f"{made}/all.db") and os.stat(f"{made}/all.db").st_mode & 0o777 == 0o600
    told = [json.loads(line)["progress"] for line in said.stderr.splitlines()]
    assert {t["stage"] for t in told} == {"copy", "check"} and all(t["done"] <= t["all"] for t in told), told
    plain = sqlite3.connect(f"file:{made}/all.db?mode=ro", uri=True)  # any sqlite3 can open it
    assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert plain.execute("SELECT count(*) FROM threads").fetchone() == (1,)
    plain.close()
    again = json.loads(weft(to, "backup", "--restore", f"{made}/all.db", "--json").stdout)
    assert {k: again[k] for k in ("threads", "runs", "rows", "blobs")} == {k: counts[k] for k in ("threads", "runs", "rows", "blobs")}
    if encrypted:
        os.rename(f"{to}/master.key", f"{to}/elsewhere")
        p = subprocess.run([WEFT, "serve"], cwd=to, capture_output=True, text=True, timeout=60)
        assert p.returncode == 1 and "the encryption key" in p.stderr, p
        os.rename(f"{to}/elsewhere", f"{to}/master.key")
    with Server(WEFT, to) as s:
        assert s.ask("GET", "/v1/threads")[0] == 401
        for path, answer in before.items():
            assert s.ask("GET", path, headers=bearer) == answer, path
        assert download(s, file, bearer) == (200, content)
        end = time.monotonic() + 60
        found = s.ask("GET", "/v1/search?q=quick", headers=bearer)[1]
        while found["index"]["rows_behind"] and time.monotonic() < end:  # the backup is of a moment at which it may have been behind
            time.sleep(0.05)
            found = s.ask("GET", "/v1/search?q=quick", headers=bearer)[1]
        assert found["data"] and thread in json.dumps(found["data"][0]), found
        assert s.ask("POST", "/v1/threads/runs", start("and again"), bearer)[0] == 200


def test_everything_is_there_again():
    everything(CONFIG, False)


def test_everything_is_there_again_of_an_encrypted_store():
    everything(CONFIG + "encryption: {key_file: master.key}\n", True)


def test_nothing_is_written_over():
    made, to = folder(), folder()
    weft(made, "run", "echo", "one")
    weft(made, "backup", "b.db")
    first = open(f"{made}/b.db", "rb").read()
    assert "exists already; --force replaces it" in weft(made, "backup", "b.db", code=1).stderr
    assert open(f"{made}/b.db", "rb").read() == first
    weft(made, "run", "echo", "two")
    weft(made, "backup", "b.db", "--force")
    assert open(f"{made}/b.db", "rb").read() != first
    for args in (["weft.db"], ["weft.db", "--force"], ["./weft.db", "--force"]):
        assert "is the database itself" in weft(made, "backup", *args, code=1).stderr
    weft(made, "backup", ".", "--force", code=1)
    weft(made, "backup", "--restore", "b.db", "--force", code=2)
    weft(made, "backup", code=2)
    error = json.loads(weft(made, "backup", "--restore", "none.db", "--json", code=1).stderr)["error"]
    assert error["code"] == "NOT_FOUND" and error["where"] == "none.db", error
    assert "already: a backup is restored into an empty store" in weft(made, "backup", "--restore", "b.db", code=1).stderr
    weft(to, "backup", "--restore", f"{made}/b.db")
    kept = open(f"{to}/weft.db", "rb").read()
    weft(to, "backup", "--restore", f"{made}/b.db", code=1)
    assert open(f"{to}/weft.db", "rb").read() == kept
    empty = folder()
    with Server(WEFT, empty):
        assert "in use by process" in weft(empty, "backup", "--restore", f"{made}/b.db", code=1).stderr
    weft(empty, "backup", "--restore", f"{made}/b.db")  # a server has made the tables, and nothing is in them
    assert len(weft(empty, "threads").stdout.splitlines()) == 2
    killed = folder()
    with Server(WEFT, killed) as s:
        s.process.kill()
    weft(killed, "backup", "--restore", f"{made}/b.db")
    assert len(weft(killed, "threads").stdout.splitlines()) == 2
    assert left(made) == ["b.db"] and left(to) == left(empty) == left(killed) == []
    with Server(WEFT, killed) as s:
        s.good("POST", "/v1/threads", {})


def large(megabytes=12):
    """A store whose backup takes a while."""
    made = folder()
    with Server(WEFT, made) as s:
        for i in range(megabytes):
            upload(s, f"{i}.bin", random.Random(i).randbytes(1 << 20), {})
    return made


def started(made, *args):
    """A backup that has begun to copy, or a restore."""
    p = subprocess.Popen([WEFT, "backup", *args, "--json"], cwd=made, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = p.stderr.readline()
    assert json.loads(line)["progress"]["stage"] == "copy", line
    return p


def test_what_ends_it_leaves_nothing():
    made = large()
    for stop in (signal.SIGINT, signal.SIGTERM):
        p = started(made, "b.db")
        assert left(made) and all(name.startswith("b.db.partial-") for name in left(made)), left(made)
        p.send_signal(stop)
        out, err = p.communicate(timeout=120)
        assert p.returncode == 130 and not out and "CANCELLED" in err, (p.returncode, out, err)
        assert left(made) == [], left(made)

    def little():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
    p = weft(made, "backup", "b.db", code=1, preexec_fn=little)  # counts as a full disk
    assert "b.db: the disk is full: nothing was written" in p.stderr, p
    assert left(made) == [], left(made)
    p = started(made, "b.db")
    p.kill()
    p.wait()
    assert left(made) and all(name.startswith("b.db.partial-") for name in left(made)), left(made)  # with its journal, or not
    weft(made, "backup", "b.db")  # removes what was left
    assert left(made) == ["b.db"], left(made)


def test_a_restore_that_is_killed_is_whole_or_did_not_happen():
    made, to = large(6), folder()
    weft(made, "backup", "b.db")
    began = time.monotonic()
    weft(folder(), "backup", "--restore", f"{made}/b.db")
    takes, whole = time.monotonic() - began, 0
    for i in range(10):
        p = started(to, "--restore", f"{made}/b.db")
        time.sleep(takes * i / 10)
        p.kill()
        p.wait()
        if os.path.exists(f"{to}/weft.db"):
            with Server(WEFT, to) as s:
                assert len(s.good("GET", "/v1/files")["data"]) == 6
            whole += 1
            to = folder()
    weft(to, "backup", "--restore", f"{made}/b.db")
    assert left(to) == [] and not glob.glob(f"{to}/*partial*"), os.listdir(to)


def test_a_damaged_store_gives_no_backup():
    made = folder()
    weft(made, "run", "echo", "a word that is easy to find")
    with open(f"{made}/weft.db", "r+b") as f:
        at = f.read().index(b"easy to find")
        f.seek(at)
        f.write(b"hard")
    p = weft(made, "backup", "b.db", code=1)
    assert "is damaged (" in p.stderr and "weft doctor --export" in p.stderr, p
    assert left(made) == []
    blob = folder()
    with Server(WEFT, blob) as s:
        upload(s, "f.bin", b"x" * 300_000, {})
    db = sqlite3.connect(f"{blob}/weft.db")  # a piece that is gone, without a trace in a checksum
    db.execute("DELETE FROM pieces WHERE id % 2 = 1")
    db.commit()
    db.execute("VACUUM")  # pages without checksums: SQLite's own of them would be wrong
    db.close()
    p = weft(blob, "backup", "b.db", code=1)
    assert "is not what its key says" in p.stderr, p
    assert left(blob) == []


def test_an_old_log_next_to_a_restored_copy_is_never_replayed():
    """A copy of the backup over the database, as people do, while the write-ahead log of a killed server is left."""
    made = folder()
    with Server(WEFT, made) as s:
        old = s.good("POST", "/v1/threads", {})["id"]
        weft(made, "backup", "b.db")
        for _ in range(5):
            s.good("POST", "/v1/threads", {})
        s.process.kill()
        s.process.wait()
    with open(f"{made}/weft.db", "r+b") as f:
        f.truncate(0)
        f.write(open(f"{made}/b.db", "rb").read())
    p = subprocess.run([WEFT, "serve"], cwd=made, capture_output=True, text=True, timeout=60)
    assert p.returncode == 1 and "is not of this database" in p.stderr, p
    for name in ("weft.db-wal", "weft.db-shm", "weft.db.lock"):
        if os.path.exists(f"{made}/{name}"):
            os.unlink(f"{made}/{name}")
    with Server(WEFT, made) as s:
        assert s.ask("GET", f"/v1/threads/{old}")[0] == 200


if __name__ == "__main__":
    try:
        main(globals())
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
