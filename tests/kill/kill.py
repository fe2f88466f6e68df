#!/usr/bin/env python3
"""Kill -9, again and again: at every named place of the program, and at random moments.

usage: kill.py WEFT CHECK [--points N] [--random N] [--agent-points N] [--agent-random N] [--tree-points N]
               [--tree-random N] [--async-points N] [--async-random N] [--cast NAME] [--only NAME] [--seed N] [--keep]   (TAP)

Each life of `weft serve` gets the same clients, of one of four casts. "loop": runs with tools of every class, children,
waits, answers, approvals, cancels, second inputs of all kinds, keys, readers. "agents": react, plans with waves of steps
at the same time, two levels of sub-agents, handoffs, middleware, with waits, cancels and readers among them. "trees":
threads that are forked, put back, imported, deleted, erased and swept (trees.py, with changes of keys and versions).
"async": those of "loop", on a server that waits for no sync: a kill must take nothing from it either. It dies at
the n-th hit of a crash point (WEFT_CRASHPOINT), or by a kill at some moment. Then it is started again, every run that a
client knows of is seen through to its end, all streams are read again, and CHECK compares the database with what the
tools did and what the clients were told (tests/kill/check.c). What readers saw is compared here: the same event is the
same bytes, and only what a void took back may be missing.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import trees

LOOP_POINTS = """c1.before c1.after c2.before c2.after c3.after c4.before c4.after end.before end.after
ask.open ask.said tool.start tool.end commit.before commit.after void.before void.after
wait.before wait.after answer.before answer.after answer.child cancel.before cancel.after
child.before child.after child.ended queue.before queue.after dequeue.before dequeue.after
takeover.before takeover.after rollback recover.begin recover.before recover.after metadata.before metadata.after thread.before thread.after
store.applied store.commit.before store.commit.after""".split()
AGENT_POINTS = """c1.before c1.after c2.before c2.after c3.after c4.before c4.after end.before end.after
ask.open ask.said tool.start tool.end void.after wait.before wait.after answer.before answer.after answer.child
cancel.before cancel.after child.before child.after child.ended around.before around.after
branch.before branch.after branch.adopt handoff.before handoff.after
recover.begin recover.before recover.after store.commit.before store.commit.after""".split()

ASYNC_POINTS = """c1.after c2.before c2.after c3.after c4.before c4.after end.before end.after commit.before commit.after
store.applied store.commit.before store.commit.after""".split()

LOOPS = ["--loops", os.environ["WEFT_TEST_LOOPS"]] if "WEFT_TEST_LOOPS" in os.environ else []  # default: by the processors
TOOL = 'echo "{0} {1} $WEFT_CALL_KEY" >>ledger; cat >/dev/null; {2}echo \'"{0} done"\''
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
log: {level: error}
models:
"""
RETRY = "retry: {strategy: exponential, max_attempts: 3, base_delay_ms: 1}"
SCRIPTS = {
    "main": [{"parts": [{"text": "As I was saying"}], "delta_bytes": 3, "delay_ms": 1,
              "error": {"code": "NETWORK_ERROR", "after": 3}},
             {"parts": [{"reasoning": "so"}, {"text": "Let me see what there is."}, {"tool_call": {"id": "c1", "name": "note"}},
                        {"tool_call": {"id": "c2", "name": "again"}}, {"tool_call": {"id": "c3", "name": "helper"}}],
              "delta_bytes": 4, "delay_ms": 1, "usage": {"input_tokens": 4, "output_tokens": 2}},
             {"parts": [{"tool_call": {"id": "c4", "name": "look"}}]},
             {"parts": [{"text": "That was it."}], "delta_bytes": 2, "delay_ms": 1}],
    "helper": [{"parts": [{"text": "I help."}, {"tool_call": {"id": "h1", "name": "note"}}]}, {"parts": [{"text": "Helped."}]}],
    "asker": [{"parts": [{"tool_call": {"id": "a1", "name": "picker"}}, {"tool_call": {"id": "a2", "name": "note"}}]},
              {"parts": [{"text": "Thank you."}]}],
    "picker": [{"parts": [{"tool_call": {"id": "p1", "name": "pick"}}]}, {"parts": [{"text": "Picked."}]}],
    "careful": [{"parts": [{"tool_call": {"id": "d1", "name": "danger"}}, {"tool_call": {"id": "d2", "name": "pick"}}]},
                {"parts": [{"text": "Careful."}]}],
    "slow": [{"parts": [{"text": "one two three four five six seven eight nine ten"}, {"tool_call": {"id": "s1", "name": "nap"}}],
              "delta_bytes": 5, "delay_ms": 4}, {"parts": [{"text": "Slowly."}]}],
}


def carry_out(step, *parts):
    return {"when": {"contains": f"Carry out step '{step}'"}, "parts": list(parts), "delta_bytes": 5, "delay_ms": 1,
            "usage": {"input_tokens": 3, "output_tokens": 1}}


def after(tool, text):
    return {"when": {"tool_result": tool}, "parts": [{"text": text}], "usage": {"input_tokens": 2, "output_tokens": 1}}


def call(id, name):
    return {"tool_call": {"id": id, "name": name}}


def step(id, *needs):
    return {"id": id, "description": f"do {id}", "dependsOn": list(needs)}


AGENT_SCRIPTS = {
    "reactor": [{"parts": [{"text": "Let me think"}], "delta_bytes": 3, "delay_ms": 1, "error": {"code": "NETWORK_ERROR", "after": 2}},
                {"parts": [{"text": "I should note it, twice."}], "delta_bytes": 4, "delay_ms": 1,
                 "usage": {"input_tokens": 5, "output_tokens": 3}},
                {"parts": [{"text": "Noting."}, call("r1", "note"), call("r2", "again")], "usage": {"input_tokens": 6, "output_tokens": 3}},
                {"parts": [{"text": "And ask somebody."}], "delta_bytes": 4, "delay_ms": 1},
                {"parts": [call("r3", "deputy"), call("r4", "look")], "usage": {"input_tokens": 7, "output_tokens": 2}},
                {"parts": [{"text": "Nothing is left."}]},
                {"parts": [{"text": "It is done."}], "delta_bytes": 2, "delay_ms": 1, "usage": {"input_tokens": 8, "output_tokens": 2}}],
    "planner": [{"when": {"contains": "Make a"}, "usage": {"input_tokens": 9, "output_tokens": 4},
                 "data": {"steps": [step("a"), step("b"), step("c"), step("d", "a", "b"), step("e", "d"), step("f", "d")]}},
                carry_out("a", {"text": "First."}, call("a1", "note"), call("a2", "again")), after("note", "Noted."),
                carry_out("b", call("b1", "deputy")), after("deputy", "Asked."),
                carry_out("c", call("c1", "pick")), after("pick", "Picked."),
                carry_out("d", call("d1", "look")), after("look", "Looked."),
                carry_out("e", {"text": "The one end."}),
                carry_out("f", call("f1", "danger")), after("danger", "The other end.")],
    "boss": [{"parts": [call("b1", "deputy"), call("b2", "clerk"), call("b3", "note")], "usage": {"input_tokens": 5, "output_tokens": 3}},
             {"parts": [{"text": "All of them are back."}], "delta_bytes": 4, "delay_ms": 1, "usage": {"input_tokens": 5, "output_tokens": 3}}],
    "deputy": [{"parts": [{"text": "I pass it on."}, call("w1", "worker"), call("w2", "worker")], "delta_bytes": 4, "delay_ms": 1,
                "usage": {"input_tokens": 3, "output_tokens": 2}},
               {"parts": [{"text": "Both worked."}], "usage": {"input_tokens": 3, "output_tokens": 2}}],
    "worker": [{"parts": [call("n1", "note"), call("n2", "nap")], "usage": {"input_tokens": 2, "output_tokens": 1}},
               {"parts": [{"text": "Worked."}], "usage": {"input_tokens": 2, "output_tokens": 1}}],
    "clerk": [{"parts": [{"text": "Which one?"}, call("p1", "picker")], "usage": {"input_tokens": 1, "output_tokens": 1}},
              {"parts": [{"text": "That one."}]}],
    "giver": [{"parts": [{"text": "One thing first."}, call("g1", "note")], "usage": {"input_tokens": 4, "output_tokens": 1}},
              {"parts": [{"text": "That is for somebody else."}, call("g2", "handoff_to_taker")], "delta_bytes": 4, "delay_ms": 1}],
    "taker": [{"parts": [{"text": "I think it over."}]},
              {"parts": [{"text": "I took over."}, call("t1", "note"), call("t2", "worker")], "delta_bytes": 4, "delay_ms": 1,
               "usage": {"input_tokens": 4, "output_tokens": 1}},
              {"parts": [{"text": "So that is that."}]},
              {"parts": [{"text": "Taken."}]}],
}
AGENTS = {"reactor": "strategy: {react: {max_steps: 5}}, tools: [note, again, look, deputy], middleware: [{budget: {max_tokens: 100000}}]",
          "planner": "strategy: {plan: {max_parallel: 3}}, tools: [note, again, look, pick, danger, deputy]",
          "boss": "tools: [deputy, clerk, note]", "deputy": "tools: [worker]", "worker": "tools: [note, nap]",
          "clerk": "tools: [picker]", "giver": "tools: [note], handoff: [taker], middleware: [{budget: {max_steps: 1000}}]",
          "taker": "strategy: react, tools: [note, worker]"}
TOOLS = {"note": "at_most_once", "again": "idempotent", "look": "pure", "danger": "at_most_once", "nap": "at_most_once"}


def config():
    text = CONFIG + "  echo: {provider: scripted, echo: true}\n"
    for name in {**SCRIPTS, **AGENT_SCRIPTS}:
        text += f"  {name}: {{provider: scripted, script: {name}.json, {RETRY}}}\n"
    text += "tools:\n  pick: {description: d, parameters: {type: object}}\n"
    for name, delivery in TOOLS.items():
        line = json.dumps(TOOL.format(name, delivery, "sleep 0.1; " if name == "nap" else ""))
        approval = ", approval: always" if name == "danger" else ""
        text += f"  {name}: {{description: d, parameters: {{type: object}}, delivery: {delivery}, command: [sh, -c, {line}]{approval}}}\n"
    text += "agents:\n  echo: {model: echo}\n"
    tools = {"main": "note, again, look, helper", "helper": "note", "asker": "picker, note", "picker": "pick",
             "careful": "danger, pick", "slow": "nap"}
    for name, list in tools.items():
        text += f"  {name}: {{model: {name}, tools: [{list}]}}\n"
    for name, rest in AGENTS.items():
        text += f"  {name}: {{model: {name}, {rest}}}\n"
    return text


class Wrong(Exception):
    """Something that must never be."""


class Gone(Exception):
    """The server died under us."""


class World(trees.Trees):
    """One folder, one database, any number of lives."""

    def __init__(self, weft, seed, cast):
        super().__init__(Wrong, Gone)
        self.weft, self.random, self.cast = weft, random.Random(seed), cast
        self.folder = tempfile.mkdtemp(prefix="weft-kill-")
        self.runs, self.seen, self.lock = {}, {}, threading.Lock()
        self.noted, self.tried = {}, {}  # changes of metadata: acknowledged, and tried
        self.made = set()  # threads that were made with messages, and acknowledged
        self.process, self.port, self.inputs = None, None, 0
        with open(f"{self.folder}/weft.yaml", "w") as f:
            f.write(config() + {"trees": "retention: {every_seconds: 1}\n", "async": "durability: async\n"}.get(cast, ""))
        for name, replies in {**SCRIPTS, **AGENT_SCRIPTS}.items():
            with open(f"{self.folder}/{name}.json", "w") as f:
                json.dump({"replies": replies, "at_end": "restart"}, f)

    # ---- Lives

    def open(self, crashpoint=""):
        """False: it died before it was ready."""
        env = {**os.environ, "WEFT_CRASHPOINT": crashpoint}
        self.process = subprocess.Popen([self.weft, "serve", *LOOPS], stdout=subprocess.PIPE, stderr=open(f"{self.folder}/log", "a"),
                                        text=True, env=env, cwd=self.folder)
        found = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", self.process.stdout.readline())
        self.port = int(found[1]) if found else None
        return bool(found)

    def over(self):
        """How the life ended; waits for it."""
        code = self.process.wait(timeout=120)
        self.process.stdout.close()
        return code

    def say(self, *words):
        with self.lock, open(f"{self.folder}/clients", "a") as f:
            f.write("\t".join(words) + "\n")

    # ---- Requests

    def ask(self, method, path, body=None, headers=None):
        try:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            c.request(method, path, None if body is None else json.dumps(body), headers or {})
            r = c.getresponse()
            text = r.read()
            c.close()
            return r.status, json.loads(text)
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise Gone(str(e))

    def thread(self):
        status, t = self.ask("POST", "/v1/threads", {})
        if status != 200:
            raise Wrong(f"a thread: {status} {t}")
        return t["id"]

    def start(self, agent, thread, on_busy="reject", key="", tell=True):
        """tell: those who check are told of it. Not where the run may be deleted."""
        with self.lock:
            self.inputs += 1
            text = f"input {key or self.inputs}"
        status, r = self.ask("POST", f"/v1/threads/{thread}/runs",
                             {"assistant_id": agent, "on_busy": on_busy, "additional_messages": [{"role": "user", "content": text}]},
                             {"Idempotency-Key": key} if key else {})
        if status == 400 and "already has an active run" in json.dumps(r):
            return None
        if status != 200:
            raise Wrong(f"a start: {status} {r}")
        if tell:
            self.say("start", r["id"], thread, key, text)
            with self.lock:
                self.runs[r["id"]] = thread
        return r["id"]

    def cancel(self, run):
        status, r = self.ask("POST", f"/v1/runs/{run}/cancel", {})
        if status == 200:
            self.say("cancel", run)
        elif status != 400:
            raise Wrong(f"a cancel: {status} {r}")

    def note(self, run):
        """Changes the metadata of a run, in whatever state it is. What was acknowledged is never taken back."""
        n = self.tried[run] = self.tried.get(run, 0) + 1
        status, r = self.ask("POST", f"/v1/threads/{self.runs[run]}/runs/{run}", {"metadata": {"n": str(n)}})
        if status != 200:
            raise Wrong(f"metadata: {status} {r}")
        self.noted[run] = n

    def answer(self, run, pending):
        answers = [{"call_id": p["toolCallId"], "approved": True} if p.get("approval") else
                   {"call_id": p["toolCallId"], "output": "picked " + p["toolCallId"]} for p in pending]
        status, r = self.ask("POST", f"/v1/runs/{run}/answers", {"answers": answers})
        if status == 200:
            for a in answers:
                self.say("approve" if "approved" in a else "answer", run, a["call_id"],
                         "yes" if "approved" in a else json.dumps(a["output"]))
        elif status != 400:
            raise Wrong(f"an answer: {status} {r}")

    # ---- Reading

    def saw(self, run, id, frames):
        with self.lock:
            before = self.seen.setdefault(run, {}).setdefault(id, frames)
        if before != frames:
            raise Wrong(f"{run} {id}: {before} and then {frames}")

    def read(self, run, waiting=None, last=None):
        """All events, from `last` on; waiting(pending) is called where it waits, and may say to stop."""
        events, frames = [], []
        try:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            c.request("GET", f"/v1/runs/{run}/events", None, {"Last-Event-ID": last} if last else {})
            r = c.getresponse()
            if r.status != 200:
                raise Wrong(f"reading: {r.status} {r.read()}")
            id = None
            while line := r.readline():
                line = line.decode().rstrip("\n")
                if line.startswith("data: "):
                    frames.append(line[6:])
                elif line.startswith("id: "):
                    id = line[4:]
                elif not line and id:
                    self.saw(run, id, frames)
                    events.append((id, frames))
                    state = json.loads(frames[-1]).get("uap", {})
                    id, frames = None, []
                    if state.get("type") == "run" and state["data"]["status"] == "waiting" and waiting:
                        if waiting(state["data"]["pending"]):
                            break
                    if state.get("type") == "run" and state["data"]["status"] in ("completed", "failed", "cancelled", "expired"):
                        c.close()
                        return events
            c.close()
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise Gone(str(e))
        if not waiting:
            raise Gone("the stream ended before the run")
        return events

    def through(self, run, last=None):
        """Reads a run to its end, and answers what it waits for."""
        self.read(run, lambda pending: self.answer(run, pending), last)

    # ---- Clients: each does its things until the server is gone

    def queue_client(self):
        t = self.thread()
        run = self.start("main", t, key=f"key-{self.random.random()}")
        for _ in range(2):
            self.start("echo", t, "enqueue")
        self.through(run)

    def waiting_client(self):
        run = self.start("asker", self.thread())
        self.through(run)

    def making_client(self):
        """Threads that come with their first messages: by themselves, as conversations, and with a run."""
        says = [{"role": "user", "content": text} for text in ("one", "two", "three")]
        for _ in range(3):
            for path, name in (("/v1/threads", "messages"), ("/v1/conversations", "items")):
                status, t = self.ask("POST", path, {name: says, "metadata": {"made": "3"}})
                if status != 200:
                    raise Wrong(f"{path}: {status} {t}")
                with self.lock:
                    self.made.add(t["id"].split("_")[1])
            status, r = self.ask("POST", "/v1/threads/runs", {"assistant_id": "echo", "thread": {"messages": says, "metadata": {"made": "3"}}})
            if status != 200:
                raise Wrong(f"create and run: {status} {r}")
            with self.lock:
                self.made.add(r["thread_id"].split("_")[1])
                self.runs[r["id"]] = r["thread_id"]
            self.through(r["id"])

    def leaving_client(self):
        run = self.start("asker", self.thread())
        self.read(run, lambda pending: True)
        self.cancel(run)

    def noting_client(self):
        t = self.thread()
        run = self.start("slow", t)
        queued = self.start("echo", t, "enqueue")
        for _ in range(4):
            self.note(run)
            self.note(queued)
        self.through(run)
        self.note(run)
        run = self.start("asker", self.thread())
        self.read(run, lambda pending: self.note(run) or self.answer(run, pending))

    def taking_client(self):
        t = self.thread()
        self.start("slow", t)
        time.sleep(0.02)
        self.start("echo", t, "interrupt")
        t = self.thread()
        self.start("slow", t)
        time.sleep(0.07)
        run = self.start("echo", t, "rollback")
        self.through(run)

    def careful_client(self):
        self.through(self.start("careful", self.thread()))
        run = self.start("slow", self.thread())
        time.sleep(0.03)
        self.cancel(run)

    def react_client(self):
        t = self.thread()
        run = self.start("reactor", t, key=f"key-{self.random.random()}")
        self.start("giver", t, "enqueue")
        self.through(run)

    def plan_client(self):
        self.through(self.start("planner", self.thread()))

    def plan_leaver(self):
        run = self.start("planner", self.thread())
        time.sleep(self.random.uniform(0.01, 0.25))
        self.cancel(run)
        self.come_and_go("planner")

    def boss_client(self):
        self.through(self.start("boss", self.thread()))

    def boss_leaver(self):
        run = self.start("boss", self.thread())
        time.sleep(self.random.uniform(0.01, 0.25))
        self.cancel(run)

    def giving_client(self):
        t = self.thread()
        self.through(self.start("giver", t))
        self.through(self.start("planner", t))

    def coming_and_going(self):
        self.come_and_go("main")

    def come_and_go(self, agent):
        run = self.start(agent, self.thread())
        events = self.read_some(run, None, 7)
        while events:
            last = events[-1][0]
            events = self.read_some(run, last, 7)

    def read_some(self, run, last, n):
        count = [0]
        events = []

        class Enough(Exception):
            pass

        saw = self.saw

        def counting(r, id, frames):
            saw(r, id, frames)
            events.append((id, frames))
            count[0] += 1
            if count[0] >= n and '"status":"waiting"' not in frames[-1]:  # what it waits for is answered first
                raise Enough

        view = Reader(self, counting)
        try:
            view.read(run, lambda pending: self.answer(run, pending), last)
        except Enough:
            return events
        return []

    def clients(self):
        """Runs all of them; the first thing that is wrong, or None."""
        wrong = []

        def safely(what):
            try:
                what()
            except Gone:
                pass
            except Exception as e:  # pylint: disable=broad-except
                if self.process.poll() is None or isinstance(e, Wrong):
                    wrong.append(f"{what.__name__}: {e!r}")

        loop = (self.queue_client, self.making_client, self.noting_client, self.waiting_client, self.leaving_client, self.taking_client, self.careful_client,
                self.coming_and_going)
        cast = {"loop": loop, "async": loop,
                "agents": (self.react_client, self.plan_client, self.plan_leaver, self.boss_client, self.boss_leaver,
                           self.giving_client),
                "trees": self.tree_clients()}[self.cast]
        threads = [threading.Thread(target=safely, args=(c,)) for c in cast]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if wrong:
            raise Wrong(wrong[0])

    # ---- In the end

    def finish(self):
        """Everything that a client knows of comes to its end, and its replay is what was seen."""
        for run in list(self.runs):
            self.through(run)
        for run in self.runs:
            self.compare(run, self.read(run))
        for run, n in self.noted.items():
            now = int(self.ask("GET", f"/v1/threads/{self.runs[run]}/runs/{run}")[1]["metadata"].get("n", 0))
            if not n <= now <= self.tried[run]:
                raise Wrong(f"{run}: the metadata {n} of {self.tried[run]} was acknowledged, {now} is stored")
        self.finish_made()
        self.finish_trees()

    def finish_made(self):
        """A thread that was made with messages has all of them, whether its client heard of it or not."""
        found, after = set(), ""
        while True:
            page = self.ask("GET", f"/v1/threads?limit=100{after}")[1]
            for t in page["data"]:
                if t["metadata"].get("made") != "3":
                    continue
                found.add(t["id"].split("_")[1])
                says = [m["content"][0]["text"]["value"] for m in self.ask("GET", f"/v1/threads/{t['id']}/messages?order=asc")[1]["data"]]
                if says[:3] != ["one", "two", "three"]:
                    raise Wrong(f"{t['id']} was made with three messages, and has {says}")
            if not page["has_more"]:
                break
            after = f"&after={page['last_id']}"
        if not self.made <= found:
            raise Wrong(f"acknowledged and gone: {self.made - found}")

    def compare(self, run, events):
        stored = dict(events)
        voids = []
        for id, frames in events:
            epoch, number = map(int, id.partition(".")[0].split("-"))
            if any('"type":"attempt_void"' in f for f in frames):
                voids.append((epoch, number))
        for id, frames in self.seen.get(run, {}).items():
            if id in stored:
                if stored[id] != frames:
                    raise Wrong(f"{run} {id}: {frames} was seen, {stored[id]} is stored")
                continue
            epoch, number = map(int, id.partition(".")[0].split("-"))
            if not any(e > epoch and n <= number for e, n in voids):
                raise Wrong(f"{run} {id} was seen and is gone: {frames}")
            kinds = [json.loads(f) for f in frames]
            types = [(k.get("upp") or k["uap"])["type"] for k in kinds]
            if any(t in ("run", "step_end", "message_stop", "tool_execution_end", "observation", "attempt_void") for t in types):
                raise Wrong(f"the record {run} {id} was seen and is void: {frames}")

    def check(self, program):
        r = subprocess.run([program, "weft.db", "ledger", "clients"], cwd=self.folder, capture_output=True, text=True)
        if r.returncode:
            raise Wrong(f"check: {r.stderr.strip()}")
        return [int(n) for n in re.findall(r"\d+", r.stdout)]


class Reader:
    """A reader of a world with its own idea of what is done with events."""

    def __init__(self, world, saw):
        self.port, self.saw = world.port, saw

    read = World.read


def cycle(weft, check, cast, seed, point, n, keep):
    """One world. True: it died where it should. Raises Wrong."""
    w = World(weft, seed, cast)
    died = False
    ok = False
    try:
        sweeping = point in trees.SWEEP_POINTS
        in_recovery = point.startswith("recover.") or sweeping
        ready = w.open("" if in_recovery or point == "random" else f"{point}:{n}")
        timer = None
        if (in_recovery and not sweeping) or point == "random":
            timer = threading.Timer(w.random.uniform(0.005, 0.45), lambda: w.process.send_signal(signal.SIGKILL))
            timer.start()
        if ready:
            w.clients()
        if timer:
            timer.cancel()
            timer.join()
        died = w.process.poll() is not None or (point != "random" and not ready)
        if w.process.poll() is None and (in_recovery or point == "random"):
            w.process.send_signal(signal.SIGKILL)
            died = True
        elif w.process.poll() is None:
            w.process.terminate()
        code = w.over()
        if died and code != -signal.SIGKILL:
            raise Wrong(f"it ended with {code}")
        if in_recovery:
            if sweeping:
                w.age()
            died = not w.open(f"{point}:{n}")
            if not died and sweeping:
                died = w.dies_or_is_swept()
            if not died:
                w.process.terminate()
            code = w.over()
            if died and code != -signal.SIGKILL:
                raise Wrong(f"it ended with {code} in recovery")
        if not w.open():
            w.over()
            raise Wrong("it did not start again")
        w.finish()
        if sweeping:
            w.swept()
            w.finish()
        w.process.terminate()
        if w.over() != 0:
            raise Wrong("it did not stop well")
        counts = w.check(check)
        ok = True
        return died, counts
    except (Gone, subprocess.TimeoutExpired) as e:
        raise Wrong(f"it went away: {e}")
    except Wrong as e:
        raise Wrong(f"{e} [{w.folder}]" if keep else str(e))
    finally:
        if w.process and w.process.poll() is None:
            w.process.kill()
            w.over()
        if ok or not keep:
            shutil.rmtree(w.folder, ignore_errors=True)


def sweep_store(args, once, point, wanted):
    """A store that is changed as a whole dies at the first, second ... hit of a point, until it lives, `wanted` times."""
    deaths = 0
    for i in range(wanted):
        n, died = 1, True
        while died:
            folder = tempfile.mkdtemp(prefix="weft-kill-")
            try:
                died = once(args, Wrong, folder, point, n)
            except Wrong as e:
                return deaths, [0] * 7, f"{point}:{n}: {e}"
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            deaths += died
            n += 1
    return deaths, [0] * 7, None if deaths >= wanted else f"{point} was hit {deaths} times only"


HITS = [1, 2, 3, 1, 4, 2, 5, 1, 3, 6]


def sweep_point(args, point, wanted):
    """Dies `wanted` times at one point; what it found."""
    deaths, counts = 0, [0] * 7
    for i in range(4 * wanted + 4):
        n = HITS[i % len(HITS)] if i < 2 * wanted else 1
        seed = args.seed + i
        try:
            died, c = cycle(args.weft, args.check, args.cast, seed, point, n, args.keep)
        except Wrong as e:
            return deaths, counts, f"{point}:{n}, seed {seed}: {e}"
        deaths += died
        counts = [a + b for a, b in zip(counts, c)]
        if deaths >= wanted:
            return deaths, counts, None
    return deaths, counts, f"{point} was hit {deaths} times only"


def not_swept():
    """Crash points of the source that are in no list, and the other way round."""
    source, found = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src"), set()
    for folder, _, files in os.walk(source):
        for name in files:
            if name.endswith(".c"):
                with open(os.path.join(folder, name)) as f:
                    found |= set(re.findall(r'wb_crashpoint\("([^"]+)"\)', f.read()))
    return sorted(found ^ {*LOOP_POINTS, *AGENT_POINTS, *trees.ALL_POINTS})


def jobs_of(args, cast, points, times, moments):
    """What one cast goes through: each point so many times, then so many moments, in shares of about 20."""
    mine = argparse.Namespace(**{**vars(args), "cast": cast})
    jobs = [(f"{cast}: {name}", sweep_point, mine, name, times) for name in points if args.only in (None, name)]
    for i, left in enumerate(range(moments if args.only in (None, "random") else 0, 0, -20)):
        share = argparse.Namespace(**{**vars(mine), "seed": args.seed + 1000 * i})
        jobs.append((f"{cast}: random moments {i + 1}", sweep_point, share, "random", min(left, 20)))
    return jobs


def store_jobs(args):
    mine = argparse.Namespace(**{**vars(args), "cast": "trees"})
    return [(f"{what}: {name}", sweep_whole[what], mine, name, args.tree_points)
            for what, points in (("rotate", trees.ROTATE_POINTS), ("migrate", trees.MIGRATE_POINTS))
            for name in points if args.only in (None, name)]


def sweep_rotate(args, point, wanted):
    return sweep_store(args, trees.rotate_once, point, wanted)


def sweep_migrate(args, point, wanted):
    return sweep_store(args, trees.migrate_once, point, wanted)


sweep_whole = {"rotate": sweep_rotate, "migrate": sweep_migrate}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("weft")
    p.add_argument("check")
    p.add_argument("--points", type=int, default=10, help="how often it dies at each, loop agents")
    p.add_argument("--random", type=int, default=200)
    p.add_argument("--agent-points", type=int, default=6, help="the same for react, plan, sub-agents and handoffs")
    p.add_argument("--agent-random", type=int, default=100)
    p.add_argument("--tree-points", type=int, default=6, help="the same for trees, keys and versions")
    p.add_argument("--tree-random", type=int, default=60)
    p.add_argument("--async-points", type=int, default=4, help="the same for loop agents that wait for no sync")
    p.add_argument("--async-random", type=int, default=60)
    p.add_argument("--only", help="one point, or random")
    p.add_argument("--cast", choices=("loop", "agents", "trees", "async"))
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", action="store_true", help="keep the folder of what failed")
    args = p.parse_args()
    args.weft, args.check = os.path.abspath(args.weft), os.path.abspath(args.check)
    begin = time.monotonic()
    jobs = []
    if args.cast in (None, "loop"):
        jobs += jobs_of(args, "loop", LOOP_POINTS, args.points, args.random)
    if args.cast in (None, "agents"):
        jobs += jobs_of(args, "agents", AGENT_POINTS, args.agent_points, args.agent_random)
    if args.cast in (None, "trees"):
        jobs += jobs_of(args, "trees", trees.POINTS + trees.SWEEP_POINTS, args.tree_points, args.tree_random) + store_jobs(args)
    if args.cast in (None, "async"):
        jobs += jobs_of(args, "async", ASYNC_POINTS, args.async_points, args.async_random)
    kills = {"loop": 0, "agents": 0, "trees": 0, "async": 0}
    swept = len({job[3] for job in jobs} - {"random"})
    missing = not_swept()
    counts, bad = [0] * 7, bool(missing)
    print(f"1..{len(jobs) + 1}")
    print(f"{'not ok' if missing else 'ok'} 1 - every crash point of the source is swept")
    for name in missing:
        print(f"# {name} is in the source or in the lists of kill.py, and not in both")
    with concurrent.futures.ProcessPoolExecutor(2 * os.cpu_count()) as pool:  # a life waits more than it works
        for i, ((name, _, mine, _, _), f) in enumerate([(j, pool.submit(*j[1:])) for j in jobs]):
            deaths, c, wrong = f.result()
            kills[mine.cast] += deaths
            counts = [a + b for a, b in zip(counts, c)]
            bad += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} {i + 2} - {name} ({deaths} deaths)", flush=True)
            if wrong:
                print(f"# {wrong}", flush=True)
    runs, events, voids, ran, starts, answers, cancels = counts
    print(f"# {swept} crash points, {sum(kills.values())} kills ({kills['loop']} of loop agents, {kills['agents']} of react, plan, "
          f"sub-agents and handoffs, {kills['trees']} of trees, keys and versions, {kills['async']} without syncs), {runs} runs, {events} events, {voids} voids, {ran} tools ran, "
          f"{starts} starts, {answers} answers, {cancels} cancels acknowledged, {time.monotonic() - begin:.0f} s")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
