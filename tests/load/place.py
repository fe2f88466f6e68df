"""The folder of a server under load: its configuration, the scripts of its models, its keys, and who receives its webhooks."""
import asyncio
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from faults import Faults  # noqa: E402
from served import Server  # noqa: E402

CONFIG = """
server: {listen: "127.0.0.1:0", loops: 2, metrics: open, ping: %(ping)ds, hosts: [localhost], origins: ["http://page%(ping)d.example"]}
waits: {tool: %(ping)dh, approval: %(ping)dh}
store: sqlite:weft.db
durability: %(durability)s
search: words
retention: {deleted_days: 1, tapes_days: 1, every_seconds: 7}
log: {level: %(level)s, access: false}
default_agent: echo
webhooks:
  on_end: {url: "http://127.0.0.1:%(hooks)d/end", secret: "a secret of the load test"}
  on_wait: {url: "http://127.0.0.1:%(hooks)d/wait", secret: "a secret of the load test"}
models:
  echo: {provider: scripted, echo: true}
  slow: {provider: scripted, script: slow.json}
  worker: {provider: scripted, script: worker.json}
  picker: {provider: scripted, script: picker.json}
  careful: {provider: scripted, script: careful.json}
  boss: {provider: scripted, script: boss.json}
  planner: {provider: scripted, script: planner.json}
  reactor: {provider: scripted, script: reactor.json}
  giver: {provider: scripted, script: giver.json}
  flaky: {provider: scripted, script: flaky.json, retry: {base_delay_ms: 1, max_attempts: 4}}
  fails: {provider: scripted, script: fails.json}
tools:
  look: {description: Looks, parameters: {type: object}, command: [cat], delivery: pure}
  note: {description: Notes, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo noted"]}
  again: {description: Again, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; sleep 0.1; echo again"], delivery: idempotent}
  pick: {description: Picks, parameters: {type: object}}
  remove: {description: Removes, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}
agents:
  echo: {model: echo}
  slow: {model: slow}
  worker: {model: worker, tools: [look, note, again]}
  picker: {model: picker, tools: [pick]}
  careful: {model: careful, tools: [remove, pick]}
  boss: {model: boss, tools: [worker, echo]}
  asker: {model: boss, tools: [careful]}
  planner: {model: planner, strategy: {plan: {max_parallel: 3}}, tools: [look, note, worker]}
  reactor: {model: reactor, strategy: {react: {max_steps: 3}}, tools: [look]}
  giver: {model: giver, handoff: [taker]}
  taker: {model: giver, tools: [look], middleware: [{budget: {max_tokens: 100000}}, {memory: {max_tokens: 4000, mode: truncate}}]}
  flaky: {model: flaky, middleware: [logging]}
  fails: {model: fails}
%(more)s
"""


def call(id, name, **arguments):
    return {"tool_call": {"id": id, "name": name, "arguments": arguments}}


def after(tool, text):
    return {"when": {"tool_result": tool}, "parts": [{"text": text}], "usage": {"input_tokens": 3, "output_tokens": 2}}


def step(id, *needs):
    return {"id": id, "description": f"do {id}", "dependsOn": list(needs)}


def carry_out(id, *parts):
    return {"when": {"contains": f"Carry out step '{id}'"}, "parts": list(parts), "delta_bytes": 5, "delay_ms": 1}


LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen."
SCRIPTS = {  # the first reply that matches, each time: no order of the clients changes what a run does
    "slow": [{"parts": [{"reasoning": "Hm."}, {"text": LONG}], "delta_bytes": 6, "delay_ms": 20, "usage": {"input_tokens": 9, "output_tokens": 30}}],
    "worker": [after("look", "Looked."), after("note", "Noted."), after("again", "Again."),
               {"parts": [{"text": "To work."}, call("w1", "look", at="it"), call("w2", "note"), call("w3", "again")], "delta_bytes": 3, "delay_ms": 1}],
    "picker": [after("pick", "Picked."), {"parts": [{"text": "Which one?"}, call("p1", "pick", of="two")], "delta_bytes": 4, "delay_ms": 1}],
    "careful": [after("remove", "Gone."), after("pick", "Picked."), {"parts": [{"text": "May I?"}, call("c1", "remove", path="x"), call("c2", "pick")]}],
    "boss": [after("worker", "All done."), after("echo", "All said."), after("careful", "With care."),
             {"when": {"tool": "careful"}, "parts": [call("b1", "careful", task="remove it")]},
             {"parts": [call("b1", "worker", task="do it"), call("b2", "echo", task="say it"), call("b3", "worker", task="do it too")]}],
    "planner": [{"when": {"contains": "Make a"}, "data": {"steps": [step("a"), step("b"), step("c", "a"), step("d", "b", "c")]}},
                after("look", "Looked."), after("note", "Noted."), after("worker", "Worked."),
                carry_out("a", {"text": "First."}, call("a1", "note")), carry_out("b", call("b1", "worker", task="do it")),
                carry_out("c", call("c1", "look")), {"parts": [{"text": "That is the end of it."}]}],
    "reactor": [after("look", "Seen."), {"when": {"tool": "look"}, "parts": [{"text": "I look."}, call("r1", "look")], "delta_bytes": 2, "delay_ms": 1},
                {"parts": [{"text": "I think that I should look."}]}],
    "giver": [after("look", "Taken."), {"when": {"tool": "handoff_to_taker"}, "parts": [{"text": "Not mine."}, call("g1", "handoff_to_taker")]},
              {"parts": [{"text": "Mine."}, call("t1", "look")]}],
    "fails": [{"error": {"code": "PROVIDER_ERROR", "message": "no luck"}}],
}
ORDERED = {  # replies that are used up
    "flaky": [{"parts": [{"text": "This breaks o"}], "delta_bytes": 3, "delay_ms": 1, "error": {"code": "NETWORK_ERROR", "after": 3}},
              {"error": {"code": "RATE_LIMITED", "status": 429, "retry_after_ms": 10}}, {"parts": [{"text": "At last."}]}],
}
TENANTS = ("one", "two")
SCOPES = "run,admin,act-as,instructions"


class Hooks:
    """Receives webhooks: the type of message by run. Each fifth attempt is refused once."""

    def __init__(self):
        self.seen, self.attempts, self.server, self.port = {}, 0, None, 0

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                size = int(head.split("content-length:")[1].split("\r\n")[0])
                message = json.loads(await reader.readexactly(size))
                self.attempts += 1
                good = self.attempts % 5 != 0
                if good:
                    self.seen.setdefault(message["run"]["id"], set()).add(message["type"])
                writer.write(b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % (b"200 OK" if good else b"503 Busy"))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


class Site:
    def __init__(self, weft, folder, durability="sync", level="warn", library=None, speed=1):
        self.weft, self.folder, self.durability, self.level = os.path.abspath(weft), folder, durability, level
        self.hooks, self.server, self.keys, self.reloads, self.speed = Hooks(), None, {}, 0, speed
        os.makedirs(folder, exist_ok=True)
        self.faults = Faults(library, f"{folder}/faults") if library else None
        if speed != 1:
            self.faults.speed_up(speed)
        for name, replies in {**SCRIPTS, **ORDERED}.items():
            again = {"again": True} if name in SCRIPTS else {"at_end": "restart"}
            with open(f"{folder}/{name}.json", "w") as f:
                json.dump({"replies": replies, **again}, f)

    def write(self, more=""):
        """The configuration; what a reload can change of the server changes each time."""
        with open(f"{self.folder}/weft.yaml.new", "w") as f:
            f.write(CONFIG % {"ping": 3 + self.reloads % 4, "durability": self.durability, "level": self.level, "hooks": self.hooks.port, "more": more})
        os.replace(f"{self.folder}/weft.yaml.new", f"{self.folder}/weft.yaml")

    async def start(self):
        await self.hooks.start()
        self.write()
        self.server = await asyncio.to_thread(lambda: Server(self.weft, self.folder, loops=[], **self.env()))
        for tenant in TENANTS:
            self.keys[tenant] = await self.add_key("load", "--tenant", tenant, "--scope", SCOPES)

    def env(self):
        return self.faults.env if self.faults else {}

    def since(self, at):
        """The seconds since the server's wall clock said this."""
        return self.faults.since(at) if self.faults else time.time() - at

    async def command(self, *args):
        p = await asyncio.create_subprocess_exec(self.weft, *args, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                 env={**os.environ, **self.env()})
        out, err = await p.communicate()
        return p.returncode, out.decode(), err.decode()

    async def add_key(self, name, *args):
        code, out, err = await self.command("keys", "add", name, *args)
        assert code == 0, err
        return out.strip()

    async def reload(self, more=""):
        """Another configuration, and SIGHUP."""
        self.reloads += 1
        self.write(more)
        self.server.process.send_signal(signal.SIGHUP)

    async def stop(self):
        """SIGTERM; the exit code, or None if it does not stop."""
        self.server.process.terminate()
        for _ in range(1200):
            if self.server.process.poll() is not None:
                return self.server.process.returncode
            await asyncio.sleep(0.1)
        return None

    def log(self):
        return self.server.log()
