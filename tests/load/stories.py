"""What clients do: one function per door, chosen at random, with the client's own random numbers."""
import asyncio
import json
import re
import uuid

from client import Broken, Client
from ledger import ENDED, WORD

AGENTS = ["echo", "echo", "slow", "worker", "boss", "planner", "reactor", "giver", "flaky", "fails"]
DIALECTS = ["weft", "upp", "ui", "assistants", "agentapi", "chat", "responses"]
BUSY = ["reject", "enqueue", "enqueue", "interrupt", "rollback"]
BOUNDARY = "the-load"


class Person:
    """One client of the server: an owner's key, threads that it made, and a source of words."""

    def __init__(self, number, site, owner, ledger, random):
        self.number, self.site, self.owner, self.ledger, self.random = number, site, owner, ledger, random
        tenant, user = owner
        self.client = Client(site.server.port, site.keys[tenant], {"weft-user": user} if user else {})
        self.threads, self.words, self.operations, self.files = [], 0, 0, []
        self.over = lambda: False

    # ---- Words, threads, requests

    def word(self):
        self.words += 1
        return f"tok{self.number}n{self.words}"

    def text(self, word):
        return self.random.choice(["Please take {}.", "What about {} and the rest?", "{}", "Some words before {} and some behind it."]).format(word)

    def user(self, word):
        return {"role": "user", "content": self.text(word)}

    async def ask(self, method, path, body=None, headers=None, client=None):
        """The answer, or None if there was none."""
        self.operations += 1
        try:
            a = await (client or self.client).ask(method, path, body, headers)
        except Broken as e:
            self.ledger.count("broken")
            if not self.ledger.ill():
                self.ledger.say_wrong(f"a connection broke: {e}")
            return None
        self.ledger.answered(method, path, a)
        return a

    def record(self, word, answer, thread=None, run=None, why="", vague=False):
        """What became of a text. vague: the answer is that of the run, so a failure says nothing about the text; nor does one
        that says itself that it must not be repeated."""
        good = answer is not None and answer.good
        vague = vague or (answer is not None and answer.headers.get("x-should-retry") == "false")
        state = "acknowledged" if good else "unknown" if answer is None or (vague and answer.status >= 500) else "refused"
        status = "no answer" if answer is None else answer.status
        self.ledger.text(word, self.owner, state, thread, run, f"{why} {status}")
        return good

    async def write(self, path, body, word, thread=None, why="", vague=False, headers=None, client=None, method="POST"):
        a = await self.ask(method, path, body, headers, client)
        self.record(word, a, thread, None, why, vague)
        return a

    async def thread(self):
        """One of its threads, or a new one; never more than 12, so that they grow."""
        there = [t for t in self.threads if self.ledger.threads[t].state == "there"]
        if len(there) >= 12 or (there and self.random.random() < 0.7):
            return self.random.choice(there)
        word = self.word()
        a = await self.write("/v1/threads", {"messages": [self.user(word)], "metadata": {"by": str(self.number)}}, word, why="new thread")
        return self.made(a, word) if a and a.good else None

    def made(self, answer, word=None, family=None):
        """A thread, as its creation answered: its id."""
        id = answer.value["id"]
        id = "thread_" + id[5:] if id.startswith("conv_") else id
        self.ledger.thread(id, self.owner, family)
        self.threads.append(id)
        if word:
            self.ledger.texts[word].thread = id
        return id

    async def start(self, thread, agent, on_busy="reject", **more):
        """A run on a thread: its object, or None."""
        word = self.word()
        a = await self.write(f"/v1/threads/{thread}/runs", {"assistant_id": agent, "on_busy": on_busy, "additional_messages": [self.user(word)], **more},
                             word, thread, f"run of {agent}, {on_busy}")
        if not a or not a.good:
            return None
        run = a.value
        self.ledger.run(run["id"], thread, self.owner, agent)
        self.ledger.texts[word].run = run["id"]
        return run

    async def until(self, thread, run, *states, seconds=90):
        """The run when it has ended, or is in one of these states; None if its thread goes, or the load is over first."""
        for _ in range(seconds * 5):
            if self.over():
                break
            a = await self.ask("GET", f"/v1/threads/{thread}/runs/{run}")
            if a and a.good and a.value["status"] in (*ENDED, *states):
                return a.value
            if a and a.status == 404:
                return None
            await asyncio.sleep(0.2)
        return None

    async def watch(self, dialect, method, path, body=None, word=None, thread=None, run=None, vague=False, frames=None, why="stream"):
        """A stream to its end; one that breaks is joined again. Says whether it was good."""
        self.operations += 1
        s = await self.client.stream(method, path, body, None, frames)
        if s.silent:
            await self.check_silence(s, thread, run or self.run_of(s))
        if s.status:
            self.ledger.answered(method, path, s)
        if word:
            self.record(word, s if s.status else None, thread, run, f"{why} {dialect}", vague)
        if s.good and not s.cut and not s.ended(dialect):
            if s.complete and "the server stops" not in s.comment and s.frames:
                self.ledger.say_wrong(f"{method} {path} as {dialect}: complete, without an end: {s}")
            elif not s.complete:
                self.ledger.count("streams that broke")
                if not self.ledger.ill():
                    self.ledger.say_wrong(f"{method} {path} as {dialect}: broke: {s}")
        return s

    async def check_silence(self, stream, thread, run):
        """A stream that says nothing for long is of a run that has not ended."""
        a = thread and run and await self.ask("GET", f"/v1/threads/{thread}/runs/{run}")
        if a and a.good and a.value["status"] in ENDED:
            ended = a.value["completed_at"] or a.value["failed_at"] or a.value["cancelled_at"]
            if ended and self.site.since(ended) > 15:
                self.ledger.say_wrong(f"a stream never ends, and its run {run} has ended: {stream}")
        self.ledger.count("streams left in silence")

    def run_of(self, stream):
        """The run that a stream is of, if its frames say so."""
        for frame in stream.frames[:8]:
            for pattern, form in ((r'"id":"(run_[0-9a-f]{32})"', "{}"), (r'"runId":"([0-9a-f-]{36})"', "run_{}"),
                                  (r'"id":"chatcmpl-([0-9a-f]{32})"', "run_{}"), (r'"id":"resp_([0-9a-f]{32})"', "run_{}")):
                if found := re.search(pattern, frame):
                    return form.format(found[1].replace("-", ""))
        return None

    # ---- Stories

    async def messages(self):
        t = await self.thread()
        if not t:
            return
        word = self.word()
        a = await self.write(f"/v1/threads/{t}/messages", self.user(word), word, t, "message")
        await self.ask("GET", f"/v1/threads/{t}/messages?limit=20&order={self.random.choice(['asc', 'desc'])}")
        if not a or not a.good:
            return
        m = a.value["id"]
        if self.random.random() < 0.4:
            await self.ask("POST", f"/v1/threads/{t}/messages/{m}", {"metadata": {"seen": "yes"}})
        if self.random.random() < 0.2:
            d = await self.ask("DELETE", f"/v1/threads/{t}/messages/{m}")
            if not d or d.good:
                self.ledger.text(word, self.owner, "refused" if d else "unknown", t, None, "deleted message")
        await self.ask("GET", f"/v1/threads/{t}/entries?limit=50")

    async def run(self):
        t = await self.thread()
        if not t:
            return
        agent, on_busy = self.random.choice(AGENTS), self.random.choice(BUSY)
        if self.random.random() < 0.5:
            word, dialect = self.word(), self.random.choice(["assistants", "weft", "ui", "agentapi", "upp"])
            body = {"assistant_id": agent, "on_busy": on_busy, "stream": True, "additional_messages": [self.user(word)]}
            s = await self.watch(dialect, "POST", f"/v1/threads/{t}/runs?as={dialect}", body, word, t, frames=self.random.choice([None, None, 3]), why=f"run of {agent}, {on_busy}")
            if s and s.good and (run := self.run_of(s)):
                self.ledger.run(run, t, self.owner, agent)
                self.ledger.texts[word].run = run
            elif s and s.good:
                self.ledger.texts[word].optional = True  # of a run that is not known, and may have been cancelled in the queue
            return
        r = await self.start(t, agent, on_busy, metadata={"note": "n" * self.random.randint(1, 300)})
        if r:
            await self.until(t, r["id"], "requires_action")
            await self.ask("GET", f"/v1/threads/{t}/runs/{r['id']}/steps?limit=10")
            await self.ask("GET", f"/v1/runs/{r['id']}/trace")

    async def same_key_twice(self):
        """The same request at the same time, with one Idempotency-Key: one run."""
        t = await self.thread()
        if not t:
            return
        word, key = self.word(), str(uuid.UUID(int=self.random.getrandbits(128)))
        body = {"assistant_id": "echo", "on_busy": "enqueue", "additional_messages": [{"role": "user", "content": f"once {word}"}]}
        other = self.client.another()
        both = await asyncio.gather(*(self.ask("POST", f"/v1/threads/{t}/runs", body, {"Idempotency-Key": key}, c) for c in (self.client, other)))
        other.close()
        good = [a for a in both if a and a.good]
        if len({a.value["id"] for a in good}) > 1:
            self.ledger.say_wrong(f"one Idempotency-Key, two runs: {[str(a) for a in good]}")
        self.record(word, good[0] if good else None if None in both else both[0], t, good[0].value["id"] if good else None, "twice with a key")
        if good:
            self.ledger.run(good[0].value["id"], t, self.owner, "echo")

    async def thread_and_run(self):
        word = self.word()
        agent = self.random.choice(AGENTS)
        body = {"assistant_id": agent, "thread": {"messages": [self.user(word)], "title": "Both"}}
        a = await self.write("/v1/threads/runs", body, word, None, f"thread and run of {agent}")
        if a and a.good:
            t = a.value["thread_id"]
            self.ledger.thread(t, self.owner)
            self.threads.append(t)
            self.ledger.texts[word].thread = t
            self.ledger.run(a.value["id"], t, self.owner, agent)

    async def assistants(self):
        a = await self.ask("POST", "/v1/assistants", {"model": "echo", "name": "Stored", "temperature": 0.5, "instructions": "Be kind."})
        if not a or not a.good:
            return
        id = a.value["id"]
        await self.ask("POST", f"/v1/assistants/{id}", {"metadata": {"version": "2"}})
        await self.ask("GET", "/v1/assistants?limit=10")
        t = await self.thread()
        if t and (r := await self.start(t, id, "enqueue")):
            await self.until(t, r["id"], "requires_action")
        d = await self.ask("DELETE", f"/v1/assistants/{id}")
        if d and d.good:
            g = await self.ask("GET", f"/v1/assistants/{id}")
            if g and g.good:
                self.ledger.say_wrong(f"the deleted assistant {id} is there")

    async def outputs(self):
        """A run that waits for the client's tool, and gets what it waits for, sometimes twice at once."""
        t = await self.thread()
        r = t and await self.start(t, "picker", self.random.choice(BUSY))
        r = r and await self.until(t, r["id"], "requires_action")
        if not r or r["status"] != "requires_action":
            return
        calls = r["required_action"]["submit_tool_outputs"]["tool_calls"]
        body = {"tool_outputs": [{"tool_call_id": c["id"], "output": "two"} for c in calls]}
        path = f"/v1/threads/{t}/runs/{r['id']}/submit_tool_outputs"
        what = self.random.random()
        if what < 0.4:
            await self.watch("assistants", "POST", path, {**body, "stream": True}, thread=t, run=r["id"], why="outputs")
        elif what < 0.8:
            other = self.client.another()
            await asyncio.gather(self.ask("POST", path, body), self.ask("POST", path, body, client=other))
            other.close()
        await self.until(t, r["id"], "requires_action")

    async def approvals(self):
        t = await self.thread()
        r = t and await self.start(t, self.random.choice(["careful", "asker"]), self.random.choice(BUSY))
        if not r or not await self.until(t, r["id"], "requires_action"):
            return
        a = await self.ask("GET", f"/v1/approvals?kind=any&run={r['id']}")
        if not a or not a.good:
            return
        answers = [{"call_id": w["call_id"], **({"approved": self.random.random() < 0.7} if w["kind"] == "approval" else {"output": {"n": 2}})} for w in a.value["data"]]
        if not answers:
            return
        if self.random.random() < 0.3:  # one by one
            for one in answers:
                await self.ask("POST", f"/v1/runs/{r['id']}/answers", {"answers": [one]})
        elif self.random.random() < 0.3:  # and a cancel at the same time
            other = self.client.another()
            await asyncio.gather(self.ask("POST", f"/v1/runs/{r['id']}/answers", {"answers": answers}),
                                 self.ask("POST", f"/v1/runs/{r['id']}/cancel", client=other))
            other.close()
        else:
            await self.ask("POST", f"/v1/runs/{r['id']}/answers", {"answers": answers})
        if self.random.random() < 0.5:
            await self.until(t, r["id"], "requires_action")

    async def cancels(self):
        """Cancels, metadata and readers beside a run that works."""
        t = await self.thread()
        r = t and await self.start(t, self.random.choice(["slow", "worker", "planner", "boss"]), self.random.choice(BUSY))
        if not r:
            return
        run, others = r["id"], [self.client.another() for _ in range(3)]

        async def later(client, *request):
            await asyncio.sleep(self.random.random() * 0.4)
            await self.ask(*request, client=client)

        await asyncio.gather(later(others[0], "POST", f"/v1/threads/{t}/runs/{run}", {"metadata": {"o": "z" * self.random.randint(10, 480)}}),
                             later(others[1], "POST", f"/v1/runs/{run}/cancel"), later(others[2], "POST", f"/v1/threads/{t}/runs/{run}/cancel"),
                             self.join(run))
        for c in others:
            c.close()
        a = await self.ask("GET", f"/v1/threads/{t}/runs/{run}")
        if a and a.good and (o := (a.value["metadata"] or {}).get("o")) is not None and set(o) != {"z"}:
            self.ledger.say_wrong(f"the metadata of {run} is garbage: {a}")

    async def queue(self):
        t = await self.thread()
        if not t:
            return
        runs = [r for r in [await self.start(t, self.random.choice(["slow", "echo", "worker"]), "enqueue") for _ in range(self.random.randint(2, 5))] if r]
        for r in runs[1:]:
            if self.random.random() < 0.25:
                await self.ask("POST", f"/v1/runs/{r['id']}/cancel")
        await self.ask("GET", f"/v1/threads/{t}/runs?limit=10&order=asc")
        if runs and self.random.random() < 0.5:
            await self.until(t, runs[-1]["id"], "requires_action")

    async def join(self, run=None):
        """Reads a run in some dialect, leaves, and comes back for the rest."""
        if not run:
            known = [r for r, (_, owner, _) in list(self.ledger.runs.items())[-200:] if owner == self.owner]
            if not known:
                return
            run = self.random.choice(known)
        dialect = self.random.choice(DIALECTS)
        path = f"/v1/runs/{run}/events?as={dialect}"
        s = await self.client.stream("GET", path, frames=self.random.randint(1, 6), silence=6)
        if s.good and s.cut and s.last:
            s = await self.client.stream("GET", path, None, {"Last-Event-ID": s.last}, silence=6)
        if s.silent:
            await self.check_silence(s, self.ledger.runs.get(run, [None])[0], run)

    async def chat(self):
        messages, tools = [], None
        agent = self.random.choice(["echo", "slow", "worker", "picker", "giver", "reactor"])
        for _ in range(self.random.randint(1, 3)):
            word = self.word()
            body = {"model": agent, "messages": [*messages, self.user(word)], **({"tools": tools} if tools else {})}
            messages = body["messages"]
            if self.random.random() < 0.5:
                s = await self.watch("chat", "POST", "/v1/chat/completions", {**body, "stream": True}, word, vague=True, frames=self.random.choice([None, None, 2]), why="chat")
                if s and s.good and (run := self.run_of(s)):
                    self.ledger.run(run, None, self.owner, "chat")
                    self.ledger.texts[word].run = run
                return
            a = await self.write("/v1/chat/completions", body, word, why="chat", vague=True)
            if not a or not a.good:
                return
            self.ledger.run("run_" + a.value["id"][9:], None, self.owner, "chat")
            message = a.value["choices"][0]["message"]
            messages = [*messages, {k: v for k, v in message.items() if v is not None}]
            if message.get("tool_calls"):
                messages = [*messages, *({"role": "tool", "tool_call_id": c["id"], "content": "two"} for c in message["tool_calls"])]
                a = await self.ask("POST", "/v1/chat/completions", {"model": agent, "messages": messages})
                return

    async def responses(self):
        word, more, t = self.word(), {}, None
        if self.random.random() < 0.4 and (t := await self.thread()):
            more = {"conversation": "conv_" + t[7:]}
        agent = self.random.choice(["echo", "slow", "worker", "careful", "picker"])
        what = self.random.random()
        body = {"model": agent, "input": self.text(word), **more}
        if what < 0.3:
            s = await self.watch("responses", "POST", "/v1/responses", {**body, "stream": True}, word, t, vague=True, why="response")
            if s and s.good and (run := self.run_of(s)):
                self.ledger.run(run, t, self.owner, "responses")
                self.ledger.texts[word].run = run
            return
        a = await self.write("/v1/responses", {**body, "background": what < 0.6}, word, t, "response", vague=True)
        if not a or not a.good:
            return
        id = a.value["id"]
        run = "run_" + id[5:37]
        self.ledger.run(run, t, self.owner, "responses")
        self.ledger.texts[word].run = run
        await self.ask("GET", f"/v1/responses/{id}")
        await self.ask("GET", f"/v1/responses/{id}/input_items?limit=5")
        then = self.random.random()
        if then < 0.3:
            await self.ask("POST", f"/v1/responses/{id}/cancel")
        elif then < 0.6 and what >= 0.6:
            word2 = self.word()
            await self.write("/v1/responses", {"model": agent, "input": self.text(word2), "previous_response_id": id}, word2, t, "next response", vague=True)
        elif then < 0.75:
            d = await self.ask("DELETE", f"/v1/responses/{id}")
            if not d or d.good or d.status >= 500:
                self.ledger.texts[word].optional = True
                del self.ledger.runs[run]
        elif then < 0.9:
            await self.watch("responses", "GET", f"/v1/responses/{id}?stream=true", why="response again")

    async def conversations(self):
        words = [self.word() for _ in range(2)]
        items = [{"type": "message", "role": "user", "content": self.text(w)} for w in words]
        a = await self.ask("POST", "/v1/conversations", {"items": items, "metadata": {"c": "1"}})
        for w in words:
            self.record(w, a, why="conversation")
        if not a or not a.good:
            return
        t = self.made(a)
        for w in words:
            self.ledger.texts[w].thread = t
        c, w = "conv_" + t[7:], self.word()
        a = await self.write(f"/v1/conversations/{c}/items", {"items": [{"type": "message", "role": "user", "content": self.text(w)}]}, w, t, "item")
        await self.ask("GET", f"/v1/conversations/{c}/items?limit=10")
        await self.ask("POST", f"/v1/conversations/{c}", {"metadata": {"c": "2"}})
        if a and a.good and self.random.random() < 0.3:
            d = await self.ask("DELETE", f"/v1/conversations/{c}/items/{a.value['data'][0]['id']}")
            if not d or d.good:
                self.ledger.text(w, self.owner, "refused" if d else "unknown", t, None, "deleted item")
        if self.random.random() < 0.2:
            await self.delete(t, f"/v1/conversations/{c}")

    async def ui(self):
        t = await self.thread() if self.random.random() < 0.5 else None
        chat, agent = t or f"chat-{self.number}-{self.words}", self.random.choice(["echo", "slow", "worker", "careful", "giver"])
        word = self.word()
        body = {"id": chat, "agent": agent, "messages": [{"id": f"u-{word}", "role": "user", "parts": [{"type": "text", "text": self.text(word)}]}]}
        target = self.random.choice(["5", "6", "7"])
        reading = asyncio.create_task(self.watch("ui", "POST", f"/api/chat?target={target}", body, word, t, frames=self.random.choice([None, None, 2]), why=f"useChat {target} {agent}"))
        other, what = self.client.another(), self.random.random()
        if what < 0.5:
            await asyncio.sleep(self.random.random() * 0.5)
        if what < 0.2:
            await self.ask("POST", f"/api/chat/{chat}/stop", client=other)
        elif what < 0.5:
            s = await other.stream("GET", f"/api/chat/{chat}/stream", frames=self.random.choice([None, 3]))
            if s.status == 200 and s.complete and not s.ended("ui"):
                self.ledger.say_wrong(f"useChat resumed: complete, without an end: {s}")
        other.close()
        if what > 0.4 and target == "5" and agent == "careful":
            await self.ask("POST", f"/api/chat/{chat}/stop")  # it goes on through approvals
        s = await reading
        self.ledger.texts[word].optional = True  # a message while the run waits cancels it; on_busy may be another's
        if not s or not s.good or not s.complete:
            return
        a = await self.ask("GET", f"/api/chat/{chat}")
        if agent == "careful" and a and a.good and a.value:
            last = a.value[-1]
            for p in last["parts"]:
                if p.get("state") == "approval-requested":
                    p.update(state="approval-responded", approval={**p["approval"], "approved": True})
                elif p.get("state") == "input-available":
                    p.update(state="output-available", output={"n": 2})
            await self.watch("ui", "POST", "/api/chat", {"id": chat, "agent": agent, "messages": a.value, "messageId": last["id"], "trigger": "submit-message"}, why="useChat approval")
        elif a and a.good and a.value and self.random.random() < 0.3:
            await self.watch("ui", "POST", "/api/chat", {"id": chat, "agent": agent, "trigger": "regenerate-message"}, why="useChat again")

    async def process(self):
        t = await self.thread() if self.random.random() < 0.5 else None
        session, word = t or f"s-{self.number}-{self.words}", self.word()
        body = {"session_id": session, "model": self.random.choice(["echo", "slow", "worker", "picker"]),
                "input": [{"role": "user", "type": "message", "content": [{"type": "text", "text": self.text(word)}]}]}
        if self.owner[1]:
            body["user_id"] = self.owner[1]
        what = self.random.random()
        if what < 0.4:
            reading = asyncio.create_task(self.watch("agentapi", "POST", "/process", body, word, t, vague=True, frames=self.random.choice([None, None, 4]), why="process"))
            other = self.client.another()
            if self.random.random() < 0.3:
                await asyncio.sleep(self.random.random() * 0.4)
                await self.ask("POST", "/process/cancel", {"session_id": session, **({"user_id": self.owner[1]} if self.owner[1] else {})}, client=other)
            await self.ask("GET", f"/process/sessions/{session}/response", client=other)
            other.close()
            await reading
        elif what < 0.7:
            await self.write("/process", {**body, "stream": False}, word, t, "process", vague=True)
        else:
            a = await self.write("/process/task", body, word, t, "task")
            for _ in range(20):
                if not a or not a.good or "task_id" not in a.value:
                    break
                g = await self.ask("GET", f"/process/task/{a.value['task_id']}")
                if g and g.good and g.value.get("status") == "finished":
                    break
                await asyncio.sleep(0.2)
        self.ledger.texts[word].optional = True  # it may have been cancelled in the queue, by somebody else

    async def aitp(self):
        words = [self.word() for _ in range(2)]
        a = await self.ask("POST", "/v1/threads", {"messages": [self.user(w) for w in words], "metadata": {"actors": [{"id": "me"}, {"id": "echo"}]}})
        for w in words:
            self.record(w, a, why="members")
        if not a or not a.good:
            return
        t = self.made(a)
        for w in words:
            self.ledger.texts[w].thread = t
        w = self.word()
        a = await self.write(f"/agents/echo/v1/threads/{t}/messages", self.user(w), w, t, "message of a member")
        await self.ask("POST", f"/v1/threads/{t}/actors", {"id": "guest"})
        await self.ask("GET", f"/v1/threads/{t}/capabilities")
        w = self.word()
        r = await self.write(f"/agents/echo/v1/threads/{t}/runs", {"additional_messages": [self.user(w)]}, w, t, "run of a member")
        if r and r.good:
            self.ledger.run(r.value["id"], t, self.owner, "echo")
        await self.ask("DELETE", f"/v1/threads/{t}/actors/guest")
        w = self.word()
        s = await self.write(f"/v1/threads/{t}/subthread", {"new_messages": [self.user(w)]}, w, None, "subthread")
        if s and s.good:
            self.made(s, w)
        for path in ("audit", "requests", "actors"):
            await self.ask("GET", f"/v1/threads/{t}/{path}")
        await self.ask("GET", f"/agents/{self.random.choice(['echo', 'worker', 'giver'])}")

    async def envelopes(self):
        word, id = self.word(), str(uuid.UUID(int=self.random.getrandbits(128)))
        e = {"protocol": "multiagent-1.0", "role": "user", "timestamp": "2025-10-10T12:40:00Z", "intent": self.random.choice(["analyze", "plan", "summarize"]),
             "task": "Do it", "content": {"type": "text", "text": self.text(word)}, "trace": {"id": id}}
        if self.random.random() < 0.3:
            await self.watch("envelope", "POST", "/v1/envelopes?stream=true", e, word, vague=True, why="envelope")
        else:
            a = await self.write("/v1/envelopes", e, word, why="envelope", vague=True)
            if a and a.good and self.random.random() < 0.5:
                b = await self.ask("POST", "/v1/envelopes", e)
                if b and b.good and b.value != a.value:
                    self.ledger.say_wrong(f"the same envelope, another answer: {a} {b}")
        self.ledger.texts[word].optional = True  # a message of the exchange, not of a user
        for path in ("", "/exchange", "/lineage"):
            await self.ask("GET", f"/v1/envelopes/{id}{path}")

    async def branches(self):
        t = await self.thread()
        if not t:
            return
        c = await self.ask("GET", f"/v1/threads/{t}/checkpoints?limit=5")
        at = [x["id"] for x in c.value["data"]] if c and c.good else []
        f = await self.ask("POST", f"/v1/threads/{t}/fork", {"at": self.random.choice(at)} if at and self.random.random() < 0.5 else {})
        if f and f.good:
            fork, word = self.made(f, family=t), self.word()
            await self.write(f"/v1/threads/{fork}/messages", self.user(word), word, fork, "message of a fork")
        if at and self.random.random() < 0.5:
            await self.ask("POST", f"/v1/threads/{t}/restore", {"checkpoint_id": self.random.choice(at)})
        tree = await self.ask("GET", f"/v1/threads/{t}/tree")
        if tree and tree.good and self.random.random() < 0.5:
            await self.ask("POST", f"/v1/threads/{t}/checkout", {"node_id": self.random.choice(tree.value["nodes"])["id"]})

    async def documents(self):
        t = await self.thread()
        if not t:
            return
        dialect = self.random.choice(["upp", "ui", "uap", "assistants", "agentapi", "pydantic", "thread", "aitp", "envelope"])
        await self.ask("GET", f"/v1/threads/{t}/export?as={dialect}&losses=true")
        a = await self.ask("GET", f"/v1/threads/{t}/export?as=upp")
        if not a or not a.good:
            return
        words = {w: self.word() for w in sorted(set(WORD.findall(a.data.decode())))}
        document = WORD.sub(lambda w: words[w[0]], a.data.decode())
        users = {w for m in json.loads(document)["messages"] if m["type"] == "user" for w in WORD.findall(json.dumps(m))}
        b = await self.ask("POST", "/v1/threads/import?from=upp&on_conflict=copy", document.encode())
        for w in users:
            self.record(w, b, why="import")
        if b and b.good:
            id = self.made(b)
            for w in users:
                self.ledger.texts[w].thread = id

    async def search(self):
        word = f"tok{self.number}n{self.random.randint(1, self.words + 1)}"
        a = await self.ask("GET", f"/v1/search?q={word}&limit=10")
        if a and a.good and any(not r["threads"] for r in a.value["data"]):
            self.ledger.say_wrong(f"a search result without a thread: {a}")
        await self.ask("GET", f"/v1/search?q=words&agent={self.random.choice(AGENTS)}&limit=5")

    async def deletes(self):
        t = await self.thread()
        if t and self.random.random() < 0.6:
            if self.random.random() < 0.5:
                await self.start(t, self.random.choice(["slow", "worker"]), "enqueue")
            await self.delete(t, f"/v1/threads/{t}", self.random.random() < 0.3)

    async def delete(self, thread, path, erase=False):
        a = await self.ask("DELETE", path + ("?erase=tree" if erase else ""))
        good = None if a is None or a.status >= 500 and self.ledger.ill() else a.good or a.status == 404
        self.ledger.deleted(thread, good, (a.value or {}).get("erased_threads", []) if erase and a and a.good else [] if erase else None)

    async def uploads(self):
        data = bytes(self.random.getrandbits(8) for _ in range(self.random.choice([10, 3000, 70000])))
        form = (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--{BOUNDARY}\r\n'
                'Content-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n').encode() + data + f"\r\n--{BOUNDARY}--\r\n".encode()
        a = await self.ask("POST", "/v1/files", form, {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"})
        if a and a.good:
            self.ledger.files[a.value["id"]] = (self.owner, data)
            self.files.append(a.value["id"])
        if self.files and self.random.random() < 0.5:
            f = self.files.pop(self.random.randrange(len(self.files)))
            g = await self.ask("GET", f"/v1/files/{f}/content")
            if g and g.good and g.data != self.ledger.files[f][1]:
                self.ledger.say_wrong(f"the content of {f} is another")
            d = await self.ask("DELETE", f"/v1/files/{f}")
            if not d or d.good or d.status >= 500:
                del self.ledger.files[f]
        await self.ask("GET", "/v1/files?limit=5")

    async def keys(self):
        """A key of its own, its limits, and its end, beside a stream."""
        if self.owner[1]:
            return
        await self.revoked_stream()
        a = await self.ask("POST", "/v1/keys", {"name": f"k{self.number}-{self.words}-{self.random.getrandbits(32)}", "scopes": ["read"], "limits": "requests=5/m"})
        if not a or not a.good:
            return
        own = Client(self.site.server.port, a.value["key"])
        got = [await self.ask("GET", "/v1/threads?limit=2", client=own) for _ in range(8)]
        if all(g and g.good for g in got):
            self.ledger.say_wrong("a key of 5 requests a minute made 8")
        refused = await self.ask("POST", "/v1/threads", {}, client=own)
        if refused and refused.good:
            self.ledger.say_wrong("a key that may read made a thread")
        await self.ask("GET", "/v1/keys?limit=10")
        d = await self.ask("DELETE", f"/v1/keys/{a.value['id']}")
        if d and d.good and (g := await self.ask("GET", "/v1/threads", client=own)) and g.status not in (401, 429):
            self.ledger.say_wrong(f"a revoked key got {g}")
        own.close()

    async def revoked_stream(self):
        """A run with a key that may have one, whose stream ends when the key does; the run goes on."""
        a = await self.ask("POST", "/v1/keys", {"name": f"s{self.number}-{self.words}-{self.random.getrandbits(32)}", "limits": "runs=1,tokens=100000/d"})
        if not a or not a.good:
            return
        own, word = Client(self.site.server.port, a.value["key"]), self.word()
        t = await self.write("/v1/threads", {"messages": [self.user(word)]}, word, why="thread with a key", client=own)
        if t and t.good:
            t = self.made(t, word)
            body = {"assistant_id": "slow", "stream": True, "on_busy": "enqueue"}
            reading = asyncio.create_task(own.stream("POST", f"/v1/threads/{t}/runs", body))
            await asyncio.sleep(self.random.random() * 0.5)
            await self.ask("DELETE", f"/v1/keys/{a.value['id']}")
            s = await reading
            if s.complete and s.good and not s.ended("assistants") and "revoked" not in s.comment:
                self.ledger.say_wrong(f"the stream of a revoked key: complete, without an end: {s}")
        own.close()

    async def strangers(self):
        """What belongs to another owner is not found."""
        others = [(t, x.owner) for t, x in list(self.ledger.threads.items())[-100:] if x.owner[0] != self.owner[0]]
        for t, owner in self.random.sample(others, min(3, len(others))):
            for path in (f"/v1/threads/{t}", f"/v1/threads/{t}/messages", f"/v1/threads/{t}/export?as=upp"):
                a = await self.ask("GET", path)
                if a and a.good:
                    self.ledger.say_wrong(f"{self.owner} reads the thread {t} of {owner}: {a}")

    async def operators(self):
        for path in self.random.sample(["/livez", "/health", "/version", "/metrics", "/openapi.json", "/v1/models", "/v1/threads?limit=100", "/v1/approvals?kind=any", "/"], 4):
            await self.ask("GET", path)

    STORIES = {messages: 10, run: 14, same_key_twice: 4, thread_and_run: 4, assistants: 3, outputs: 6, approvals: 6, cancels: 8, queue: 6, join: 8, chat: 6,
               responses: 7, conversations: 3, ui: 8, process: 6, aitp: 3, envelopes: 4, branches: 5, documents: 3, search: 4, deletes: 4, uploads: 3,
               keys: 2, strangers: 2, operators: 3}

    async def live(self, over):
        """Story after story, until over() says that it is enough."""
        self.over = over
        stories, weights = list(self.STORIES), list(self.STORIES.values())
        while not over():
            story = self.random.choices(stories, weights)[0]
            self.ledger.count(f"story {story.__name__}")
            await story(self)
        self.client.close()
