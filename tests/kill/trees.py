"""The third cast of kill.py: threads that are forked, put back, imported, deleted, erased and swept, under kills; and
stores whose key is changed or whose tables are brought to a new version, killed in the middle.

Here a model in the client says what each thread must read like: what was acknowledged is there, what was not is there
whole or not at all. What runs there are is checked by the program, as in the other casts.
"""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from sums import stamp_pages, weft_sum  # noqa: E402

POINTS = """fork.before fork.after restore.before restore.after import.before import.after
message.delete.before message.delete.after delete.before delete.after erase.node erase.after
store.commit.before store.commit.after""".split()
RECORD = 64 << 10  # its place in FILE.lock: stores/sqlite/lock.h
SWEEP_POINTS = "sweep.node sweep.run sweep.after".split()
ROTATE_POINTS = "store.commit.before store.applied store.commit.after".split()
MIGRATE_POINTS = "migrate.tables migrate.filled migrate.after".split()
ALL_POINTS = {*POINTS, *SWEEP_POINTS, *ROTATE_POINTS, *MIGRATE_POINTS}
WEEK = 8 * 86400 * 1000  # and a day: then what was deleted is swept
GONE = "gone"


class Model:
    """What a thread must read like: one of these lists of texts, or GONE."""

    def __init__(self, *may):
        self.may = list(may)


class Trees:
    """Mixed into a world (kill.py): clients that change trees, and what must be true of them afterwards."""

    def __init__(self, wrong, gone):
        self.Wrong, self.Gone, self.models, self.searched = wrong, gone, {}, []

    # ---- What is done

    def told(self, status, answer, what):
        if status != 200:
            raise self.Wrong(f"{what}: {status} {answer}")
        return answer

    def lines(self, thread):
        """(id, text) of all its messages; GONE."""
        status, page = self.ask("GET", f"/v1/threads/{thread}/messages?order=asc&limit=100")
        if status == 404:
            return GONE
        return [(m["id"], m["content"][0]["text"]["value"] if m["content"] else "")
                for m in self.told(status, page, "messages")["data"]]

    def texts(self, thread):
        lines = self.lines(thread)
        return GONE if lines == GONE else [text for _, text in lines]

    def known(self, thread):
        """From now on it must read as it reads now."""
        lines = self.lines(thread)
        with self.lock:
            self.models[thread] = Model(lines if lines == GONE else [text for _, text in lines])
        return lines

    def change(self, thread, then, method, path, body=None):
        """A request after which it reads like `then`; like that or as before if nobody answers."""
        with self.lock:
            if self.models[thread].may:
                self.models[thread].may.append(then)
        answer = self.told(*self.ask(method, path, body), path)
        with self.lock:
            self.models[thread].may = [then]
        return answer

    def new(self, n):
        thread = self.thread()
        with self.lock:
            self.models[thread] = Model([])
        for _ in range(n):
            self.add(thread)
        return thread

    def add(self, thread):
        with self.lock:
            self.inputs += 1
            text = f"said {self.inputs}"
        self.change(thread, self.models[thread].may[0] + [text], "POST", f"/v1/threads/{thread}/messages",
                    {"role": "user", "content": text})

    def fork(self, thread, at=None):
        """Behind its at-th message; None: at its end."""
        lines = self.lines(thread)
        body = {} if at is None else {"at": lines[at][0]}
        fork = self.told(*self.ask("POST", f"/v1/threads/{thread}/fork", body), "a fork")["id"]
        with self.lock:
            self.models[fork] = Model([text for _, text in lines][:None if at is None else at + 1])
        return fork

    def talk(self, thread, tell=True):
        """A run that says what it was told; then the thread reads as it does."""
        with self.lock:
            self.models[thread].may = []  # anything: the program checks runs
        run = self.start("echo", thread, tell=tell)
        self.through(run)
        self.known(thread)

    # ---- Clients

    def forking_client(self):
        t = self.new(3)
        f = self.fork(t, 1)
        self.add(f)
        self.talk(f)
        g = self.fork(self.fork(f), 0)
        self.add(t)
        self.talk(g)
        self.add(g)

    def restoring_client(self):
        t = self.new(1)
        self.talk(t)
        then = self.texts(t)
        points = self.told(*self.ask("GET", f"/v1/threads/{t}/checkpoints?limit=100"), "checkpoints")["data"]
        self.talk(t)
        self.change(t, then, "POST", f"/v1/threads/{t}/restore", {"checkpoint_id": points[0]["id"]})
        self.add(t)
        self.talk(t)

    def importing_client(self):
        t = self.new(2)
        self.talk(t)
        document = self.told(*self.ask("GET", f"/v1/threads/{t}/export?as=uap"), "an export")
        copy = self.told(*self.ask("POST", "/v1/threads/import?from=uap&on_conflict=copy", document), "an import")
        if self.texts(copy["id"]) != self.texts(t):
            raise self.Wrong(f"{t} was imported as {self.texts(copy['id'])}")
        lines = self.known(copy["id"])
        self.searched.append((copy["id"], lines[1][1]))  # stands in one row with the one that is erased
        self.found(*self.searched[-1])
        self.change(copy["id"], [text for _, text in lines[1:]], "DELETE", f"/v1/threads/{copy['id']}/messages/{lines[0][0]}")
        self.talk(copy["id"])

    def deleting_client(self):
        t = self.new(3)
        lines = self.lines(t)
        texts = [text for _, text in lines]
        f = self.fork(t)
        without = texts[:1] + texts[2:]
        with self.lock:
            self.models[f].may = [texts, without]  # it shares them
        self.change(t, without, "DELETE", f"/v1/threads/{t}/messages/{lines[1][0]}")
        with self.lock:
            self.models[f].may = [without]
        self.talk(t, tell=False)
        self.change(t, GONE, "DELETE", f"/v1/threads/{t}")
        self.add(f)
        alone = self.new(2)
        self.talk(alone, tell=False)
        self.change(alone, GONE, "DELETE", f"/v1/threads/{alone}")

    def erasing_client(self):
        t = self.new(3)
        self.talk(t, tell=False)
        f, g = self.fork(t, 1), self.fork(t)
        self.add(g)
        with self.lock:
            for one in (t, f, g):  # until it is done, some of it or all: the rest goes when it is asked for again
                self.models[one].may = []
        answer = self.change(t, GONE, "DELETE", f"/v1/threads/{t}?erase=tree")
        if sorted(answer["erased_threads"]) != sorted((f, g)):
            raise self.Wrong(f"{(f, g)} lost text, not {answer['erased_threads']}")
        for other in (f, g):
            if any(text.startswith("said") for text in self.texts(other)):
                raise self.Wrong(f"{other} still says {self.texts(other)}")
            self.known(other)

    def tree_clients(self):
        return (self.forking_client, self.restoring_client, self.importing_client, self.deleting_client, self.erasing_client)

    # ---- What must be true

    def finish_trees(self):
        for thread, model in self.models.items():
            texts = self.texts(thread)
            if model.may and texts not in model.may:
                raise self.Wrong(f"{thread} reads {texts}, and must be one of {model.may}")
            status, tree = self.ask("GET", f"/v1/threads/{thread}/tree")
            if (status == 404) != (texts == GONE) or status not in (200, 404):
                raise self.Wrong(f"the tree of {thread}: {status} {tree}")

        for thread, text in self.searched:
            self.found(thread, text)

    def found(self, thread, text):
        """The search finds it in the thread; waits until it knows the log."""
        until = time.monotonic() + 120
        while True:
            page = self.told(*self.ask("GET", f"/v1/search?q={text.replace(' ', '%20')}&thread={thread}"), "a search")
            if page["data"]:
                return
            if time.monotonic() > until:
                raise self.Wrong(f"{thread} says {text!r}, and the search does not find it: {page['index']}")
            time.sleep(0.05)

    def age(self):
        """What was deleted was deleted a week ago."""
        with sqlite3.connect(f"{self.folder}/weft.db") as db:
            db.create_function("weft_sum", -1, weft_sum)
            db.execute("DELETE FROM meta WHERE name = 'in_use'")  # else it is a copy of a database in use, without its log
            for tenant, name, text in db.execute("SELECT tenant, name, bytes FROM vals WHERE space = CAST('deleted' AS BLOB)").fetchall():
                value = json.loads(text)
                value["time"] -= WEEK
                db.execute("UPDATE vals SET bytes = CAST(?1 AS BLOB), sum = weft_sum('vals', tenant, space, name, CAST(?1 AS BLOB))"
                           " WHERE tenant = ?2 AND space = CAST('deleted' AS BLOB) AND name = ?3",
                           (json.dumps(value, separators=(",", ":")), tenant, name))
        db.close()
        stamp_pages(f"{self.folder}/weft.db")
        # The record of what the WAL must hold knows nothing of this: if the last transaction was a deletion, its pages differ.
        with open(f"{self.folder}/weft.db.lock", "r+b") as lock:
            lock.seek(RECORD)
            lock.write(bytes(4096))

    def left(self):
        with sqlite3.connect(f"file:{self.folder}/weft.db?mode=ro", uri=True) as db:
            n = db.execute("SELECT count(*) FROM vals WHERE space = CAST('deleted' AS BLOB)").fetchone()[0]
        db.close()
        return n

    def dies_or_is_swept(self):
        """True: the process died while it swept."""
        until = time.monotonic() + 120
        while time.monotonic() < until and self.process.poll() is None and self.left():
            time.sleep(0.02)
        time.sleep(0.2)
        return self.process.poll() is not None

    def swept(self):
        """Nothing that was deleted is left to sweep; waits for it."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if not self.left():
                return
            time.sleep(0.05)
        raise self.Wrong(f"{self.left()} deleted threads were not swept")


# ---- Stores that are changed as a whole

def weft(args, folder, *words, point="", key=None):
    env = {**os.environ, "WEFT_CRASHPOINT": point}
    if key:
        env["WEFT_ENCRYPTION_KEY"] = key
    return subprocess.run([args.weft, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=240)


def must(wrong, r, what):
    if r.returncode:
        raise wrong(f"{what}: {r.returncode} {r.stderr.strip()}")
    return r.stdout


def rotate_once(args, wrong, folder, point, n):
    """The key of a store is changed and killed at the n-th hit of a point; did it die?"""
    with open(f"{folder}/weft.yaml", "w") as f:
        f.write("store: sqlite:sealed.db\nlog: {level: error}\nmodels: {echo: {provider: scripted, echo: true}}\n"
                "agents: {echo: {model: echo}}\n")
    keys = [must(wrong, weft(args, folder, "keys", "new"), "keys new").strip() for _ in range(2)]
    must(wrong, weft(args, folder, "run", "echo", "kept", key=keys[0]), "a run")
    before = must(wrong, weft(args, folder, "threads", "--json", key=keys[0]), "threads")
    with open(f"{folder}/new.key", "w") as f:
        f.write(keys[1] + "\n")
    os.chmod(f"{folder}/new.key", 0o600)
    r = weft(args, folder, "keys", "rotate", "--to", "new.key", point=f"{point}:{n}", key=keys[0])
    died = r.returncode == -9
    if r.returncode and not died:
        raise wrong(f"rotate: {r.returncode} {r.stderr.strip()}")
    opens = [weft(args, folder, "threads", "--json", key=k) for k in keys]
    if not any(o.returncode == 0 for o in opens):
        raise wrong(f"no key opens it: {opens[0].stderr.strip()}")
    if any(o.returncode == 0 and o.stdout != before for o in opens):
        raise wrong("it reads otherwise than before")
    if died and opens[1].returncode:  # the new key is not known yet: again
        must(wrong, weft(args, folder, "keys", "rotate", "--to", "new.key", key=keys[0]), "rotate again")
    elif died and opens[0].returncode == 0:  # both are: go on
        r = weft(args, folder, "keys", "rotate", "--to", "new.key", key=keys[0])
        must(wrong, r, "go on")
    if must(wrong, weft(args, folder, "threads", "--json", key=keys[1]), "with the new key") != before:
        raise wrong("it reads otherwise than before")
    if weft(args, folder, "threads", key=keys[0]).returncode == 0:
        raise wrong("the old key still opens it")
    must(wrong, weft(args, folder, "run", "echo", "more", key=keys[1]), "a run afterwards")
    return died


def migrate_once(args, wrong, folder, point, n):
    """A store of the first version is opened and killed at the n-th hit of a point; did it die?"""
    fixture = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures/stores/schema-1.db")
    with open(f"{folder}/weft.yaml", "w") as f:
        f.write("store: sqlite:old.db\nlog: {level: error}\nmodels: {echo: {provider: scripted, echo: true}}\n"
                "agents: {echo: {model: echo}}\n")
    for name in ("old.db", "whole.db"):
        shutil.copy(fixture, f"{folder}/{name}")
    whole = ("--store", "sqlite:whole.db")
    must(wrong, weft(args, folder, "run", "echo", "new", *whole), "the one that lives")
    r = weft(args, folder, "run", "echo", "new", point=f"{point}:{n}")
    died = r.returncode == -9
    if r.returncode and not died:
        raise wrong(f"it ended with {r.returncode}: {r.stderr.strip()}")
    if died:
        must(wrong, weft(args, folder, "run", "echo", "new"), "again")

    def shown(*store):
        ids = [t["id"] for t in map(json.loads, must(wrong, weft(args, folder, "threads", "--json", *store), "threads").splitlines())]
        texts = [must(wrong, weft(args, folder, "show", id, "--json", *store), "show") for id in sorted(ids)]
        return sorted(ids), [re.sub(r'"timestamp":"[^"]*"', "", text) for text in texts]  # of what recovery said now

    (ids, texts), (other_ids, others) = shown(), shown(*whole)
    common = set(ids) & set(other_ids)
    if len(common) < 1 or len(ids) - len(common) not in (1, 2):
        raise wrong(f"threads {ids} instead of {other_ids}")
    for id in common:  # what recovery adds may be there already in one of them, and not in the other
        one, other = sorted((texts[ids.index(id)], others[other_ids.index(id)]), key=len)
        if not one or not other.startswith(one):
            raise wrong(f"thread {id} reads otherwise")
    return died
