#!/usr/bin/env python3
"""All doors of `weft serve` at once: clients that do everything a server is asked for, from a fixed seed, and what must hold then.

usage: mixed.py WEFT [--seed N] [--seconds N | --operations N] [--clients N] [--faults LIBRARY [--kinds LIST] [--clock N]]
                [--durability LIST] [--keep FOLDER]   (TAP)

--faults  the store fails in bursts (tests/server/faults.c is the library); --kinds: only these, as in bursts.py
--clock   the server's wall clock goes so many times as fast: waits expire, and sweeps remove what is days old
--durability  lives of the server, one after another, on stores of their own; they share the time
"""
import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
import traceback

from bursts import Bursts
from inspection import Inspection
from ledger import Ledger
from place import Site
from stories import Person

OWNERS = [("one", None), ("one", None), ("two", None), ("two", "ann")]


class Life:
    """One server under load, and its inspection."""

    def __init__(self, options, durability, folder):
        self.options, self.durability = options, durability
        self.random = random.Random(f"{options.seed} {durability}")
        self.site = Site(options.weft, folder, durability, library=options.faults, speed=options.clock)
        self.ledger, self.people, self.bursts = Ledger(), [], None
        self.began, self.end = time.monotonic(), 0

    def over(self):
        if self.options.operations:
            return sum(p.operations for p in self.people) >= self.options.operations
        return time.monotonic() > self.end

    def gone(self):
        return self.site.server.process.poll() is not None

    async def reload(self):
        """Agents come and go, and now and then the file has a mistake."""
        for n in range(1 << 30):
            await asyncio.sleep(self.random.choice([1, 2, 4]))
            if self.over() or self.gone():
                break
            await self.site.reload(self.random.choice(["  spare: {model: echo}\n", f"  spare{n % 5}: {{model: slow, tools: [look]}}\n", "  bad: {model: none}\n", ""]))
        await self.site.reload()

    async def watch_readiness(self):
        """/readyz is true: well in health; not well while nothing can be written for long."""
        client, ill_since = self.people[0].client.another(), None
        while not self.over() and not self.gone():
            kind = self.bursts.now if self.bursts else None
            ill_since = (ill_since or time.monotonic()) if kind in ("full", "write-eio") else None
            a = await self.people[0].ask("GET", "/readyz", client=client)
            if a and not a.good and not self.ledger.ill():
                self.ledger.say_wrong(f"/readyz of a healthy server: {a}")
            if a and a.good and ill_since and time.monotonic() - ill_since > 10 and self.bursts.now == kind:
                self.ledger.say_wrong(f"/readyz says ok, {time.monotonic() - ill_since:.0f} s after every write began to fail ({kind})")
            await asyncio.sleep(0.5)
        client.close()

    async def load(self):
        await self.site.start()
        count = self.options.clients
        self.people = [Person(n, self.site, OWNERS[n % len(OWNERS)], self.ledger, random.Random(f"{self.options.seed} {self.durability} {n}")) for n in range(count)]
        self.end = time.monotonic() + self.options.seconds
        others = [self.reload(), self.watch_readiness()]
        if self.bursts:
            others.append(self.bursts.go_on(lambda: self.over() or self.gone(), lambda text: print(f"# {text}", flush=True)))
        await asyncio.gather(*others, *(p.live(lambda: self.over() or self.gone()) for p in self.people))
        if self.gone():
            raise AssertionError(f"the server ended with {self.site.server.process.returncode}: {self.site.log()[-3000:]}")

    def check(self, what, results):
        """One result of TAP: everything wrong that was said until now."""
        print(f"# {time.monotonic() - self.began:.0f} s")
        wrong, self.ledger.wrong = self.ledger.wrong, []
        results.append(not wrong)
        print(f"{'not ' if wrong else ''}ok {len(results)} - {self.durability}: {what}", flush=True)
        for w in wrong:
            print(f"# {w}"[:1500], flush=True)
        if self.ledger.hidden:
            print(f"# and {self.ledger.hidden} more")
            self.ledger.hidden = 0

    async def go(self, results):
        if self.options.faults:
            self.bursts = Bursts(self.site, self.random, self.options.kinds and self.options.kinds.split(","))
            self.ledger.ill = self.bursts.ill
        await self.load()
        if self.bursts and not self.bursts.hits:
            self.ledger.say_wrong("no call on the store's files was made to fail")
        counts = self.ledger.counts
        print(f"# {self.durability}, seed {self.options.seed}: {sum(n for k, n in counts.items() if k.startswith('status'))} answers, "
              f"{len(self.ledger.texts)} texts, {len(self.ledger.runs)} runs, {self.site.reloads} reloads, {self.bursts.count if self.bursts else 0} bursts")
        print("# " + ", ".join(f"{k} {n}" for k, n in sorted(counts.items())))
        self.check("what clients saw while the server worked", results)
        seconds = 60 if self.site.speed == 1 else 120  # the server looks once a minute whether its clock was set
        i = Inspection(self.site, self.ledger, dict.fromkeys(OWNERS), seconds)
        self.ledger.ill = lambda: False
        for what, step in (("the server is ready", i.ready), ("each run ends or waits for something real", i.settle), ("each thread takes one more run", i.one_more),
                           ("nothing works any more", i.idle), ("each run is read again to its end", lambda: self.again(i)),
                           ("what was acknowledged is there once, and what was refused is not", i.compare),
                           ("the end of each run was reported", i.hooks), ("it stops, and doctor finds nothing", i.stop)):
            try:
                await step()
            except Exception:
                self.ledger.say_wrong(f"the inspection failed: {traceback.format_exc()}")
            self.check(what, results)

    async def again(self, inspection):
        await inspection.look()
        await inspection.replays(self.random)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("weft", type=os.path.abspath)
    p.add_argument("--seed", type=int, default=1, help="0: a new one")
    p.add_argument("--seconds", type=float, default=30)
    p.add_argument("--operations", type=int)
    p.add_argument("--clients", type=int, default=24)
    p.add_argument("--faults", type=os.path.abspath)
    p.add_argument("--kinds")
    p.add_argument("--clock", type=int, default=1)
    p.add_argument("--durability", default="sync")
    p.add_argument("--keep", type=os.path.abspath)
    options = p.parse_args()
    if options.clock != 1 and not options.faults:
        p.error("--clock needs the library of --faults")
    here = options.keep or tempfile.mkdtemp(prefix="weft-load-")
    lives, results = options.durability.split(","), []
    options.seconds /= len(lives)
    options.seed = options.seed or random.randrange(1, 1 << 30)  # every life prints it
    for durability in lives:
        shutil.rmtree(f"{here}/{durability}", ignore_errors=True)
        life = Life(options, durability, f"{here}/{durability}")
        try:
            asyncio.run(life.go(results))
        except Exception:
            life.ledger.say_wrong(traceback.format_exc().replace("\n", "\n# "))
            life.check("the load", results)
        finally:
            if life.site.server and life.site.server.process.poll() is None:
                life.site.server.process.kill()
    print(f"1..{len(results)}")
    if not options.keep and all(results):
        shutil.rmtree(here, ignore_errors=True)
    else:
        print(f"# kept: {here}")
    sys.exit(0 if all(results) else 1)


main()
