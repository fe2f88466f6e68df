"""What must hold when the clients have left: runs end, threads take one more run, and the store has what was acknowledged."""
import asyncio
import json
import re
import time

from client import Client
from ledger import ENDED, WORD

REPORTS = re.compile(r"(WARNING: ThreadSanitizer|ERROR: \w+Sanitizer|runtime error:|DEADLYSIGNAL|Assertion|assertion)")


class Inspection:
    def __init__(self, site, ledger, owners, seconds=60):
        self.site, self.ledger, self.seconds = site, ledger, seconds
        self.clients = {o: Client(site.server.port, site.keys[o[0]], {"weft-user": o[1]} if o[1] else {}) for o in owners}
        self.gate = asyncio.Semaphore(8)
        self.threads, self.runs, self.order = {}, {}, {}  # id: owner; id: (owner, the run's object); id: its place in the thread

    async def ask(self, owner, method, path, body=None):
        async with self.gate:
            client = self.clients[owner].another()
            try:
                return await client.ask(method, path, body)
            finally:
                client.close()

    async def pages(self, owner, path):
        items, after = [], ""
        while True:
            a = await self.ask(owner, "GET", f"{path}{'&' if '?' in path else '?'}limit=100{after}")
            if not a.good:
                raise AssertionError(f"GET {path}: {a}")
            items += a.value["data"]
            if not a.value["has_more"]:
                return items
            after = f"&after={a.value['last_id']}"

    async def each(self, function, items):
        await asyncio.gather(*(function(*i) if isinstance(i, tuple) else function(i) for i in items))

    # ---- Runs

    async def look(self):
        """All threads and runs that are there."""
        self.threads, self.runs, self.order = {}, {}, {}
        for owner in self.clients:
            for t in await self.pages(owner, "/v1/threads"):
                self.threads[t["id"]] = owner

        async def runs_of(thread, owner):
            try:
                for n, r in enumerate(await self.pages(owner, f"/v1/threads/{thread}/runs?order=asc")):
                    self.runs[r["id"]], self.order[r["id"]] = (owner, r), n
            except AssertionError as e:
                self.ledger.say_wrong(f"runs of {thread}: {e}")

        await self.each(runs_of, list(self.threads.items()))

    async def waits_for_something(self, id):
        """None, or why a run neither has ended nor waits for something real."""
        owner, run = self.runs[id]
        if run["status"] in ENDED:
            return None
        if run["status"] == "requires_action":
            a = await self.ask(owner, "GET", f"/v1/approvals?kind=any&run={id}")
            return None if a.good and a.value["data"] else f"waits for nothing: {a}"
        if run["status"] == "queued":
            others = [r for o, r in self.runs.values() if r["thread_id"] == run["thread_id"] and r["status"] not in ENDED]
            if any(r["status"] != "queued" or self.order[r["id"]] < self.order[id] for r in others):
                return None  # an earlier one of the queue, or who holds the thread (an interruption is ahead of the queue): looked at itself
            return "queued behind nothing"
        return f"still {run['status']}"

    async def settle(self):
        """Waits until each run has ended or waits for something real; who does not is wrong."""
        end = time.monotonic() + self.seconds
        while True:
            await self.look()
            why = {}

            async def one(id):
                if reason := await self.waits_for_something(id):
                    why[id] = reason

            await self.each(one, [i for i, (_, r) in self.runs.items() if r["status"] not in ENDED])
            if not why or time.monotonic() > end:
                break
            await asyncio.sleep(1)
        for id, reason in why.items():
            self.ledger.say_wrong(f"{id} of {self.runs[id][1]['assistant_id']} on {self.runs[id][1]['thread_id']} "
                                  f"({self.ledger.runs.get(id, (0, 0, 'a door'))[2]}), {self.seconds} s after the load: {reason}")
        for id, (thread, owner, story) in self.ledger.runs.items():
            known = self.ledger.threads.get(thread)
            if id not in self.runs and known and known.state == "there":
                a = await self.ask(owner, "GET", f"/v1/threads/{thread}/runs/{id}")  # a thread that changes may miss its page of the list
                if not a.good:
                    self.ledger.say_wrong(f"the acknowledged run {id} of {story} on {thread} is not there: {a}")

    async def one_more(self):
        """Each thread takes one more run, after what waits there is cancelled."""
        words = {}

        async def free(thread, owner):
            for id, (_, r) in self.runs.items():
                if r["thread_id"] == thread and r["status"] not in ENDED:
                    a = await self.ask(owner, "POST", f"/v1/runs/{id}/cancel")
                    if not a.good and a.status != 400:
                        self.ledger.say_wrong(f"{id} cannot be cancelled: {a}")

        async def start(thread, owner):
            word = f"tok{len(self.ledger.texts)}n0"
            self.ledger.text(word, owner, "unknown", thread, None, "one more run")
            end = time.monotonic() + self.seconds
            while True:  # a cancelled run ends a moment later
                a = await self.ask(owner, "POST", f"/v1/threads/{thread}/runs",
                                   {"assistant_id": "echo", "on_busy": "reject", "additional_messages": [{"role": "user", "content": word}]})
                if a.good or a.status != 400 or (a.value.get("error") or {}).get("code") != "conflict" or time.monotonic() > end:
                    break
                await asyncio.sleep(0.5)
            if a.good:
                self.ledger.texts[word].state = "acknowledged"
                words[a.value["id"]] = (thread, owner)
            else:
                self.ledger.say_wrong(f"the thread {thread} takes no more runs: {a}")

        async def end(run):
            thread, owner = words[run]
            until = time.monotonic() + self.seconds
            while True:
                a = await self.ask(owner, "GET", f"/v1/threads/{thread}/runs/{run}")
                if a.good and a.value["status"] in ENDED:
                    break
                if time.monotonic() > until:
                    return self.ledger.say_wrong(f"one more run on {thread} does not end: {a}")
                await asyncio.sleep(0.3)
            if a.value["status"] != "completed":
                self.ledger.say_wrong(f"one more run on {thread} is {a.value['status']}: {a.value['last_error']}")

        await self.each(free, list(self.threads.items()))
        await self.each(start, list(self.threads.items()))
        await self.each(end, list(words))

    async def replays(self, random):
        """Runs that have ended are read again: each stream ends with an end."""
        dialects = ["weft", "ui", "assistants", "agentapi", "chat", "responses", "upp"]
        ended = sorted(i for i, (_, r) in self.runs.items() if r["status"] in ENDED)

        async def one(id, dialect):
            client = self.clients[self.runs[id][0]].another()
            async with self.gate:
                s = await client.stream("GET", f"/v1/runs/{id}/events?as={dialect}")
                if self.site.speed > 1 and not s.complete:  # perhaps it was swept in the middle, and is gone now
                    s = await client.stream("GET", f"/v1/runs/{id}/events?as={dialect}")
            run = self.runs[id][1]
            if s.status == 404 or (not run["started_at"] and not s.frames):
                return None  # in three dialects, a run that was cancelled in the queue has no frame
            if not s.complete or not s.ended(dialect):
                return self.ledger.say_wrong(f"{id} of {run['assistant_id']}, {run['status']}, as {dialect} again: no end: {s}")
            return None

        await self.each(one, [(i, random.choice(dialects)) for i in random.sample(ended, min(400, len(ended)))])

    # ---- The store

    async def contents(self):
        """The words of users in all threads: {word: {message: {threads}}}."""
        found = {}

        async def one(thread, owner):
            a = await self.ask(owner, "GET", f"/v1/threads/{thread}/export?as=uap")
            if not a.good:
                return self.ledger.say_wrong(f"the thread {thread} cannot be exported: {a}")
            for node in a.value["threadTree"]["nodes"]:
                for m in node["thread"]["messages"]:
                    for word in WORD.findall(json.dumps(m["content"])) if m["type"] == "user" else ():
                        found.setdefault(word, {}).setdefault(m["id"], set()).add(thread)
            return None

        await self.each(one, list(self.threads.items()))
        return found

    async def compare(self):
        for id, (_, run) in self.runs.items():  # the input of a run that never began is not on its thread
            if run["status"] in ENDED and not run["started_at"]:
                for text in self.ledger.texts.values():
                    if text.run == id:
                        text.optional = True
        self.ledger.compare(await self.contents(), self.threads)
        for id, (owner, data) in self.ledger.files.items():
            a = await self.ask(owner, "GET", f"/v1/files/{id}/content")
            if not a.good or a.data != data:
                self.ledger.say_wrong(f"the acknowledged file {id} is {a.status}, {len(a.data)} bytes of {len(data)}")

    # ---- The server

    async def hooks(self):
        """Each run that ended was reported."""
        end = time.monotonic() + self.seconds
        while True:
            missing = [i for i, (_, r) in self.runs.items() if r["status"] in ENDED and "run.end" not in self.site.hooks.seen.get(i, ())]
            if not missing or time.monotonic() > end:
                break
            await asyncio.sleep(1)
        if missing:
            self.ledger.say_wrong(f"{len(missing)} of {len(self.runs)} runs ended without a webhook: {missing[:5]}")

    async def poll(self, path, good, what):
        owner, end = next(iter(self.clients)), time.monotonic() + self.seconds
        while not good(a := await self.ask(owner, "GET", path)):
            if time.monotonic() > end:
                return self.ledger.say_wrong(f"{what}: {a}")
            await asyncio.sleep(1)
        return None

    async def ready(self):
        """Before anybody writes again."""
        await self.poll("/readyz", lambda a: a.good, "/readyz after the load")

    async def idle(self):
        """Nothing works any more, children included."""
        await self.poll("/health", lambda a: a.good and a.value["runs"] == 0, "/health after the load")

    async def stop(self):
        code = await self.site.stop()
        if code != 0:
            self.ledger.say_wrong(f"SIGTERM: the server ended with {code}" if code is not None else "SIGTERM: the server does not stop")
            if code is None:
                self.site.server.process.kill()
        reports = REPORTS.findall(self.site.log())
        if reports:
            self.ledger.say_wrong(f"{len(reports)} reports in the server's log, {self.site.folder}/log: {sorted(set(reports))}")
        code, out, err = await self.site.command("doctor", "--store", f"sqlite:{self.site.folder}/weft.db")
        if code != 0:
            self.ledger.say_wrong(f"weft doctor: {code} {out} {err}")
