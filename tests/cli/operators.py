#!/usr/bin/env python3
"""Commands of an operator, in a shell that has neither the server's secrets nor its folder.

usage: operators.py WEFT   (TAP)
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import Server, main  # noqa: E402

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-operator-")
SECRETS = {"MODEL_KEY": "sk-model-0123456789", "HOOK_SECRET": "whsec-hook-0123456789abcdef", "TOOL_TOKEN": "t0ken-0123456789"}

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
log: {level: warn}
webhooks: {on_end: {url: "http://127.0.0.1:9/", secret: "${HOOK_SECRET}"}}
models:
  echo: {provider: scripted, echo: true}
  ask: {provider: scripted, script: ask.json}
  vendor: {provider: openai, model: gpt-4o-mini, api_key: "${MODEL_KEY}"}
tools:
  remove: {parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always, env: {TOKEN: "${TOOL_TOKEN}"}}
agents:
  echo: {model: echo}
  ask: {model: ask, tools: [remove]}
  vendor: {model: vendor}
default_agent: echo
"""
SCRIPT = [{"parts": [{"tool_call": {"id": "c1", "name": "remove", "arguments": {}}}]}, {"parts": [{"text": "Done."}]}]
MEMORY = "the store is memory:, which keeps nothing that another process could read"


class Folder:
    def __init__(self, name, config=CONFIG):
        self.path = f"{HERE}/{name}"
        os.makedirs(self.path, exist_ok=True)
        with open(f"{self.path}/ask.json", "w") as f:
            json.dump({"replies": SCRIPT, "at_end": "restart"}, f)
        with open(f"{self.path}/weft.yaml", "w") as f:
            f.write(config)

    def weft(self, want, *args, cwd=None, stdin="", **env):
        """Standard output of a command that exits so; standard error is in self.said."""
        p = subprocess.run([WEFT, *args], cwd=cwd or self.path, capture_output=True, text=True, input=stdin, timeout=60,
                           env={**os.environ, **env})
        assert p.returncode == want, (args, p)
        self.said = p.stderr
        return p.stdout

    def line(self, want, *args, **more):
        return json.loads(self.weft(want, *args, "--json", **more))

    def waits(self, *more, **env):
        found = self.line(1, "run", "ask", "please", *more, **env)
        assert found["status"] == "waiting", found
        return found

    def fails(self, why, *args, **more):
        self.weft(1, *args, **more)
        assert why in self.said, (args, self.said)


def every_reader(f, *more, **where):
    """All commands that need no agents; the store has a thread and a run that waits."""
    thread = f.weft(0, "threads", *more, **where).split()[0]
    f.weft(0, "runs", *more, **where)
    f.weft(0, "show", thread, *more, **where)
    f.weft(0, "tree", thread, *more, **where)
    document = f.weft(0, "export", thread, "--as", "uap", *more, **where)
    f.weft(0, "approvals", *more, **where)
    f.weft(0, "keys", "list", *more, **where)
    forked = f.weft(0, "fork", thread, *more, **where).strip()
    assert forked.startswith("thread_"), forked
    f.weft(0, "import", "-", "--on-conflict", "copy", *more, stdin=document, **where)


def test_a_running_server_needs_no_secrets_in_the_shell():
    f = Folder("served")
    with Server(WEFT, f.path, **SECRETS):
        first, second, third = f.waits()["run"], f.waits()["run"], f.waits()["run"]  # the server runs them
        every_reader(f)
        f.weft(0, "doctor", "--ready")
        assert "Done." in f.weft(0, "approve", first, "--yes")
        assert "Done." in f.weft(0, "deny", second)
        f.weft(0, "cancel", third)
        assert "hello" in f.weft(0, "run", "echo", "hello")


def test_without_a_server_only_commands_that_run_agents_need_them():
    f = Folder("alone")
    run = f.waits(**SECRETS)["run"]
    every_reader(f)
    for args in (("run", "echo", "hi"), ("approve", run), ("serve",)):
        f.weft(1, *args)
        for name in SECRETS:
            assert f"the environment variable '{name}' is not set" in f.said.replace('"', "'"), f.said
    f.weft(0, "cancel", run)


def test_variables_of_the_store_are_needed():
    f = Folder("named", CONFIG.replace("sqlite:weft.db", "sqlite:${DATABASE}"))
    f.fails("DATABASE", "threads")
    f.weft(0, "run", "echo", "hi", DATABASE="x.db", **SECRETS)
    assert f.weft(0, "threads", DATABASE="x.db").startswith("thread_")
    f = Folder("keyed", CONFIG + 'encryption: {key_file: "${KEY_FILE}"}\n')
    f.fails("KEY_FILE", "threads")


def test_a_misspelled_store_is_no_store_in_memory():
    f = Folder("misspelled", CONFIG.replace("store:", "stroe:"))
    f.fails("has no key", "threads")
    f = Folder("syntax", CONFIG + "  : : [\n")
    f.fails("weft.yaml:", "threads")


def test_store_is_enough_without_a_file():
    f = Folder("file")
    empty = f"{HERE}/empty"
    os.makedirs(empty)
    more = ("--store", f"sqlite:{f.path}/weft.db")
    run = f.waits(**SECRETS)["run"]
    every_reader(f, *more, cwd=empty)
    with Server(WEFT, f.path, **SECRETS):
        every_reader(f, *more, cwd=empty)
        f.weft(0, "doctor", "--ready", *more, cwd=empty)
        assert "Done." in f.weft(0, "approve", run, "--yes", *more, cwd=empty)
    f.fails("there is no weft.yaml: give one with --config FILE or WEFT_CONFIG", "threads", cwd=empty)
    f.fails("there is no weft.yaml", "run", "echo", "hi", *more, cwd=empty)
    f.fails("none.yaml", "threads", *more, cwd=empty, WEFT_CONFIG="none.yaml")
    f.fails("none.yaml", "threads", *more, "--config", "none.yaml", cwd=empty)


def test_without_a_word_about_it_the_store_is_a_file():
    # covers: UAP-6.1b/4
    f = Folder("default", "models: {echo: {provider: scripted, echo: true}}\nagents: {echo: {model: echo}}\n")
    with Server(WEFT, f.path) as s:
        s.run("echo", "remember me")
    assert os.path.exists(f"{f.path}/weft.db")
    elsewhere = f"{HERE}/elsewhere"  # it is beside the configuration
    os.makedirs(elsewhere)
    assert "remember me" in f.weft(0, "threads", "--config", f"{f.path}/weft.yaml", cwd=elsewhere)
    assert not os.listdir(elsewhere)


def test_a_store_in_memory_is_refused():
    f = Folder("memory", "store: memory\nmodels: {echo: {provider: scripted, echo: true}}\nagents: {echo: {model: echo}}\n")
    run = "run_" + "1" * 32
    for args in (("threads",), ("runs",), ("keys", "add", "x"), ("keys", "list"), ("import", "-"), ("fork", "t"),
                 ("restore", "t", "c"), ("approvals",), ("approve", run), ("deny", run), ("answer", run, "c", "x"),
                 ("cancel", run)):
        f.fails(MEMORY, *args, stdin="{}")
    assert "hi" in f.weft(0, "run", "echo", "hi")


def test_tenant_and_user_reach_every_command():
    f = Folder("tenants")
    mine = ("--tenant", "acme", "--user", "ann")
    with Server(WEFT, f.path, **SECRETS):
        tenants(f, mine)
    f = Folder("tenants-alone")
    tenants(f, mine, **SECRETS)
    f.fails("tenant", "approvals", "--tenant", "a\r\nx: y")
    f.fails("user", "approvals", "--user", "a\nb")


def tenants(f, mine, **env):
    first, second, third = (f.waits(*mine, **env) for _ in range(3))
    runs = [r["run"] for r in (first, second, third)]
    for other in ((), ("--tenant", "acme"), ("--user", "ann"), ("--tenant", "acme", "--user", "bob")):
        assert f.weft(0, "runs", *other) == "" and f.weft(0, "approvals", *other) == "", other
        for command in ("cancel", "approve", "deny"):
            f.fails(f"no run '{runs[0]}'", command, runs[0], *other, **env)
        f.fails(f"no run '{runs[0]}'", "answer", runs[0], "c1", "x", *other, **env)
        f.fails("no thread", "fork", first["thread"], *other)
    assert [line.split()[0] for line in f.weft(0, "runs", *mine).splitlines()] == runs[::-1]
    assert len(f.weft(0, "approvals", *mine).splitlines()) == 3
    assert "Done." in f.weft(0, "approve", runs[0], "--yes", *mine, **env)
    assert "Done." in f.weft(0, "deny", runs[1], *mine, **env)
    assert "cancelled" in f.weft(0, "cancel", runs[2], *mine)
    forked = f.weft(0, "fork", first["thread"], *mine).strip()
    document = f.weft(0, "export", forked, "--as", "uap", *mine)
    copy = f.weft(0, "import", "-", *mine, "--on-conflict", "copy", stdin=document).strip()
    listed = f.weft(0, "threads", *mine)
    assert forked in listed and copy in listed and f.weft(0, "threads") == ""
    points = [json.loads(x) for x in f.weft(0, "tree", first["thread"], "--checkpoints", "--json", *mine).splitlines()]
    assert points
    f.fails("checkpoint", "restore", first["thread"], "1" * 32, *mine)
    f.fails("thread", "restore", first["thread"], "1" * 32)
    assert "hello" in f.weft(0, "run", "echo", "hello", "--thread", forked, *mine, **env)
    f.weft(1, "run", "echo", "hello", "--thread", forked, **env)


def test_a_missing_run_has_one_sentence():
    f = Folder("missing")
    f.weft(0, "run", "echo", "hi", **SECRETS)
    for typed in ("run_" + "A" * 32, "aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa", "x"):
        for args in (("cancel", typed), ("approve", typed), ("deny", typed), ("answer", typed, "c", "x")):
            f.weft(1, *args, **SECRETS)
            assert f.said == f"weft {args[0]}: no run '{typed}'\n", (args, f.said)


def test_runs_of_deleted_threads_are_marked():
    f = Folder("deleted")
    kept = f.line(0, "run", "echo", "hi", **SECRETS)["run"]
    gone = f.line(0, "run", "echo", "hi", **SECRETS)
    with Server(WEFT, f.path, **SECRETS) as server:
        server.good("DELETE", "/v1/threads/" + gone["thread"])
    lines = f.weft(0, "runs").splitlines()
    assert lines[0].startswith(gone["run"]) and lines[0].endswith("  thread deleted"), lines
    assert lines[1].startswith(kept) and "deleted" not in lines[1] and lines[1] == lines[1].rstrip(), lines
    assert [json.loads(x)["thread_deleted"] for x in f.weft(0, "runs", "--json").splitlines()] == [True, False]


def test_config_check_looks_for_the_files_of_tls():
    f = Folder("tls", CONFIG.replace("server: {", "server: {tls: {certificate: c.pem, key: k.pem}, "))
    out = f.weft(1, "config", "check", **SECRETS)
    assert f"there is no file '{f.path}/c.pem'" in out and f"there is no file '{f.path}/k.pem'" in out, out
    assert "1 agent, 1 model, 0 tools" in Folder("one", "models: {e: {provider: scripted, echo: true}}\n"
                                                 "agents: {e: {model: e}}\n").weft(0, "config", "check")


def test_help_of_help():
    f = Folder("help")
    for args in (("help", "help"), ("help", "--help"), ("--help", "help")):
        assert f.weft(0, *args).startswith("usage: weft help [COMMAND]\n"), args
    listing = f.weft(0, "help")
    assert "\n  help       this page" in listing and listing == f.weft(0, "--help"), listing
    for command in [line.split()[0] for line in listing.splitlines() if line.startswith("  ")]:
        assert f.weft(0, "help", command).startswith(f"usage: weft {command}"), command


if __name__ == "__main__":
    try:
        main(globals().copy())
    finally:
        shutil.rmtree(HERE)
