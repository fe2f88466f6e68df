#!/usr/bin/env python3
"""Random exchanges of envelopes on a server that is killed again and again: nothing lost, no envelope twice.

usage: exchanges.py WEFT [--n N] [--seed N]   (TAP)

Clients send N envelopes: new ones, ones that continue an exchange, some of them more than once and at the same time. The
server dies by kill -9 at random moments and is started again; whoever got no answer sends the same envelope again. In the
end each envelope that was sent has exactly one answer, every answer that anybody got is still the answer, and in each
exchange every id occurs once, every parent is there, and every request of the router has one reply.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import Server  # noqa: E402

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
log: {level: error}
models:
  sure: {provider: scripted, script: sure.json}
  unsure: {provider: scripted, script: unsure.json}
  plans: {provider: scripted, script: plans.json}
  fails: {provider: scripted, script: fails.json}
agents:
  sure: {model: sure}
  unsure: {model: unsure}
  plans: {model: plans}
  fails: {model: fails}
routes:
  - {intent: [analyze, execute], to: sure}
  - {intent: [summarize, decompose], to: [{agent: unsure, weight: 2}, {agent: sure, weight: 1}]}
  - {intent: plan, to: plans}
  - {intent: retrieve, to: fails, fallback: [sure]}
  - {intent: reflect, to: sure}
envelopes: {actions: {enabled: true, depth: 1}}
"""
INTENTS = ["analyze", "execute", "summarize", "decompose", "plan", "retrieve"]


def reply(score, **more):
    e = {"protocol": "multiagent-1.0", "role": "agent", "timestamp": "2025-10-10T12:40:00Z", "intent": "analyze", "task": "t",
         "content": {"type": "text", "text": "said"}, "confidence": {"score": score}, **more}
    return {"replies": [{"parts": [{"text": json.dumps(e)}], "delta_bytes": 64, "delay_ms": 1,
                         "usage": {"input_tokens": 2, "output_tokens": 1}}], "again": True}


SCRIPTS = {"sure": reply(0.9), "unsure": reply(0.2),
           "plans": reply(0.8, outputs={"next_actions": [{"intent": "execute", "task": "one"}, {"intent": "summarize", "task": "two"}]}),
           "fails": {"replies": [{"error": {"code": "INVALID_REQUEST", "message": "no"}}], "again": True}}


class World:
    def __init__(self, weft, n, seed):
        self.weft, self.n, self.rng, self.lock = weft, n, random.Random(seed), threading.Lock()
        self.folder = tempfile.mkdtemp(prefix="weft-exchanges-")
        for name, script in SCRIPTS.items():
            with open(f"{self.folder}/{name}.json", "w") as f:
                json.dump(script, f)
        self.server = Server(weft, self.folder, CONFIG)
        self.answers, self.sent, self.kills, self.over = {}, {}, 0, threading.Event()

    def ask(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            c.request(method, path, body)
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def until(self, method, path, body=None):
        """The answer of whichever life gives one."""
        end = time.monotonic() + 120
        while True:
            try:
                return self.ask(method, path, body)
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < end, "no life has answered"
                time.sleep(0.01)

    def exchange(self, i):
        with self.lock:
            parents = [self.rng.choice(list(self.answers.values()))["trace"]["id"]] if self.answers and self.rng.random() < 0.3 else []
            e = {"protocol": "multiagent-1.0", "role": "user", "timestamp": "2025-10-10T12:40:00Z", "intent": self.rng.choice(INTENTS),
                 "task": f"number {i}", "content": {"type": "text", "text": "x"}, "trace": {"parents": parents, "id": f"m{i}"}}
            self.sent[e["trace"]["id"]] = e
            times = self.rng.choice([1, 1, 2])
        text = json.dumps(e)
        for _ in range(times):
            status, body = self.until("POST", "/v1/envelopes", text)
            assert status == 200, (status, body)
            answer = json.loads(body)
            with self.lock:
                assert self.answers.setdefault(e["trace"]["id"], answer) == answer, (e, answer)

    def killer(self):
        while not self.over.wait(self.rng.uniform(0.15, 0.6)):
            self.server.process.send_signal(signal.SIGKILL)
            self.server.process.wait()
            self.server.process.stdout.close()
            self.kills += 1
            self.server = Server(self.weft, self.folder)

    def check(self, log):
        ids = [e["trace"]["id"] for e in log]
        assert len(set(ids)) == len(ids), ids
        replied, by_id = {}, dict(zip(ids, log))
        for e in log:
            direct = e["trace"].get("parents", [])[-1:]
            assert all(p in ids for p in direct) or e["role"] == "user", (e, ids)
            if e["role"] == "agent" or e["content"]["type"] == "error":
                replied[direct[0]] = replied.get(direct[0], 0) + 1
                asked = by_id[direct[0]]["trace"]
                assert e["trace"]["parents"] == asked.get("parents", []) + [asked["id"]], (e, asked)
        asked = [e["trace"]["id"] for e in log if e["role"] in ("user", "system") and e["content"]["type"] != "error"]
        for id in asked:
            assert replied.get(id, 0) >= 1, (id, log)

    def run(self):
        t = threading.Thread(target=self.killer)
        t.start()
        try:
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                for f in [pool.submit(self.exchange, i) for i in range(self.n)]:
                    f.result()
        finally:
            self.over.set()
            t.join()
        seen = set()
        for id, answer in self.answers.items():
            status, body = self.until("GET", f"/v1/envelopes/{id}/exchange")
            assert status == 200, (id, body)
            log = [json.loads(line) for line in body.splitlines()]
            mine = {e["trace"]["id"] for e in log}
            assert id in mine and answer["trace"]["id"] in mine, (id, answer, log)
            assert self.sent[id] in log
            if id not in seen:
                assert not seen & mine, "an envelope is in two exchanges"
                seen |= mine
                self.check(log)
        assert set(self.answers) == set(self.sent) and len(self.sent) == self.n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("weft")
    p.add_argument("--n", type=int, default=200)
    p.add_argument("--seed", type=int, default=1, help="0: a new one")
    o = p.parse_args()
    o.seed = o.seed or random.randrange(1, 1 << 30)
    print(f"1..1\n# seed {o.seed}", flush=True)
    w = World(os.path.abspath(o.weft), o.n, o.seed)
    try:
        w.run()
        print(f"# {w.n} exchanges, {w.kills} kills\nok 1 - random exchanges with kills")
        shutil.rmtree(w.folder)
    except BaseException as e:
        print(f"not ok 1 - random exchanges with kills\n# {type(e).__name__}: {str(e)[:2000]}\n# {w.folder}")
        sys.exit(1)
    finally:
        w.server.__exit__()


main()
