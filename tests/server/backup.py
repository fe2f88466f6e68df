#!/usr/bin/env python3
"""The backup that the documentation describes, while clients write: it ends, it is whole, and has what was acknowledged before.

usage: backup.py WEFT   (TAP)
"""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

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


def test_a_backup_while_clients_write_has_all_that_was_acknowledged_before():
    with Server(WEFT, HERE, CONFIG) as s:
        threads = [s.good("POST", "/v1/threads", {})["id"] for _ in range(4)]
        with Writers(s, threads) as w:
            while len(w.posted) < 100:
                assert not w.failed, w.failed
                w.over.wait(0.01)
            before = list(w.posted)
            db = sqlite3.connect(f"{HERE}/weft.db", isolation_level=None, timeout=60)
            db.execute(BACKUP.replace("backup.db", f"{HERE}/backup.db"))
            db.close()
            at_end = len(w.posted)
            while len(w.posted) < at_end + 20:  # and it does not stop them
                assert not w.failed, w.failed
                w.over.wait(0.01)
    os.mkdir(f"{HERE}/restored")
    shutil.copy(f"{HERE}/backup.db", f"{HERE}/restored/weft.db")
    said = subprocess.run([WEFT, "doctor", "--store", "sqlite:weft.db"], cwd=f"{HERE}/restored", capture_output=True, text=True, timeout=240)
    assert said.returncode == 0, said.stdout + said.stderr
    with Server(WEFT, f"{HERE}/restored", CONFIG) as s:
        for thread in threads:
            has = texts(s, thread)
            missing = [text for t, text in before if t == thread and text not in has]
            assert not missing, (len(missing), missing[:3])
        s.good("POST", f"/v1/threads/{threads[0]}/messages", {"role": "user", "content": "it goes on"})
        found = s.good("GET", "/v1/search?q=client&limit=1")
        assert found["data"], found


if __name__ == "__main__":
    try:
        main(globals())
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
