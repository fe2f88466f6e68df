#!/usr/bin/env python3
"""--json: every command of the table has it, prints what docs/cli.md says, and tells its errors as JSON, too.

usage: json_output.py WEFT   (TAP)
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
HERE = tempfile.mkdtemp(prefix="weft-json-")
ENV = {k: v for k, v in os.environ.items() if k not in ("WEFT_CONFIG", "WEFT_ENCRYPTION_KEY") and not k.endswith("_API_KEY")}
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
models: {m: {provider: scripted, echo: true}, asks: {provider: scripted, script: asks.json}}
tools: {pay: {parameters: {type: object}}}
agents: {echo: {model: m}, bank: {model: asks, tools: [pay]}}
routes: [{intent: plan, to: echo}]
"""
ASKS = {"replies": [{"parts": [{"tool_call": {"id": "c1", "name": "pay", "arguments": {"euros": 20}}}]}, {"parts": [{"text": "Done."}]}], "at_end": "restart"}
ENVELOPE = {"protocol": "multiagent-1.0", "role": "user", "timestamp": "2026-01-01T00:00:00Z", "intent": "plan", "task": "t",
            "content": {"type": "text", "text": "t"}, "trace": {"id": "m1"}}

# Commands without --json, and why.
WITHOUT = {
    "chat": "a conversation with a person; programs have `weft run --json` and the routes",
    "completion": "prints a script for a shell",
    "answer": "its --json JSON is the result of the call; it prints what the run says then, and `weft runs --json` its state",
}


def weft(*args, code=0):
    p = subprocess.run([WEFT, *args], cwd=HERE, env=ENV, capture_output=True, text=True, timeout=60)
    assert p.returncode == code, (args, p)
    return p


def write(name, text):
    with open(f"{HERE}/{name}", "w") as f:
        f.write(text)
    os.chmod(f"{HERE}/{name}", 0o600)


def commands():
    return json.loads(weft("help", "--json").stdout)["commands"]


def test_every_command_has_it():
    for c in commands():
        flag = [o for o in c["options"] if o["name"] == "--json" and "value" not in o]
        assert bool(flag) != (c["name"] in WITHOUT), (c["name"], "has no --json, and WITHOUT does not say why" if not flag else "has --json: WITHOUT says that it has none")


def prepare():
    write("weft.yaml", CONFIG)
    write("asks.json", json.dumps(ASKS))
    write("bad.json", '{"turns": [{"id": 7}]}')
    write("bad.jsonl", "nonsense\n")
    write("envelope.json", json.dumps(ENVELOPE))
    write("log.jsonl", json.dumps(ENVELOPE) + "\n")
    write("sealed.yaml", CONFIG.replace("weft.db", "sealed.db") + "encryption: {key_file: old}\n")
    for name in ("old", "new"):
        write(name, weft("encryption", "new-key").stdout)
    thread = json.loads(weft("run", "echo", "Hello", "--json").stdout)["thread"]
    write("thread.json", weft("export", thread, "--as", "uap").stdout)
    weft("run", "echo", "Hello", "--config", "sealed.yaml")
    tree = json.loads(weft("tree", thread, "--json").stdout)
    waits = [json.loads(weft("run", "bank", "Pay", "--json", code=1).stdout)["run"] for _ in range(3)]
    return {"THREAD": thread, "CHECKPOINT": json.dumps(tree), "RUN": waits}


# Arguments, exit code, how many lines (0: some), and members of each of them. THREAD and RUN are of the store.
SHAPES = (
    ("init made", 0, 1, "folder template agent files"),
    ("run echo Hi", 0, 1, "run thread status text incomplete usage error pending"),
    ("threads", 0, 0, "id created updated agent entries title metadata"),
    ("show THREAD", 0, 2, "id kind origin who run step message event"),
    ("tree THREAD", 0, 1, "thread_id"),
    ("fork THREAD", 0, 1, "thread"),
    ("restore THREAD CHECKPOINT", 0, 1, "thread_id node_id entries"),
    ("export THREAD --as upp", 0, 1, ""),
    ("import thread.json --on-conflict copy", 0, 1, "thread"),
    ("convert --to ui thread.json", 0, 1, ""),
    ("validate bad.json", 1, 0, "file pointer rule severity sentence"),
    ("lineage --log log.jsonl m1", 0, 1, ""),
    ("replay log.jsonl", None, 0, "kind"),
    ("route envelope.json", 0, 1, "agent rule why model adapter"),
    ("route --explain envelope.json", 0, 1, "agent rule why model adapter explanation"),
    ("runs", 0, 0, "id state agent thread created duration_ms input_tokens output_tokens why"),
    ("approvals", 0, 3, "run_id call_id kind expires_at function"),
    ("cancel RUN", 0, 1, "run status"),
    ("config check", 0, 1, "file good agents models tools mistakes"),
    ("keys add ci", 0, 1, "id key name tenant scopes"),
    ("keys list", 0, 1, "id name tenant scopes created_at"),
    ("keys revoke ci", 0, 1, "id name revoked_at"),
    ("audit --limit 1", 0, 1, "id object time action target outcome actor tenant user"),
    ("usage", 0, 0, "object day tenant user key key_name requests runs input_tokens output_tokens"),
    ("encryption new-key", 0, 1, "key"),
    ("encryption rotate --to new --config sealed.yaml", 0, 1, "key_file"),
    ("backup backup.db", 0, 1, "backup store bytes threads runs rows blobs encrypted"),
    ("backup --restore backup.db --store sqlite:restored.db", 0, 1, "restored store bytes threads runs rows blobs encrypted"),
    ("doctor", 0, 1, "version state checks"),
    ("doctor --rebuild-search", 0, 1, "rows"),
    ("doctor --rewrite", 0, 1, "before after wrong"),
    ("doctor --export saved", 0, 1, "store threads tables whole cut lost"),
    ("version", 0, 1, "name version"),
    ("help", 0, 1, "version options commands"),
)
ELSEWHERE = {"serve", "approve", "deny"}  # below


def test_what_it_prints():
    have = prepare()
    tree = json.loads(have["CHECKPOINT"])
    have["CHECKPOINT"] = json.loads(weft("export", have["THREAD"], "--as", "uap").stdout)["checkpoints"][0]["id"] if "checkpoints" not in tree else tree["checkpoints"][0]["id"]
    tried = {shape[0].split()[0] for shape in SHAPES} | ELSEWHERE | set(WITHOUT)
    assert {c["name"] for c in commands()} == tried, {c["name"] for c in commands()} ^ tried
    for typed, code, lines, members in SHAPES:
        args = [have["RUN"].pop() if word == "RUN" else have.get(word, word) for word in typed.split()]
        p = subprocess.run([WEFT, *args, "--json"], cwd=HERE, env=ENV, capture_output=True, text=True, timeout=60)
        assert p.returncode == code or code is None, (typed, p)
        got = [json.loads(line) for line in p.stdout.splitlines()]
        assert len(got) == lines if lines else got, (typed, p)
        for one in got:
            missing = [m for m in members.split() if m not in one]
            assert not missing, (typed, missing, one)
    for run in have["RUN"]:
        weft("cancel", run)


def test_a_server_and_answers():
    with Server(WEFT, HERE, CONFIG) as s:
        assert s.good("GET", "/readyz") == json.loads(weft("doctor", "--ready", "--json").stdout)
    p = subprocess.Popen([WEFT, "serve", "--json", "--log-level", "off"], cwd=HERE, env=ENV, stdout=subprocess.PIPE, text=True)
    try:
        assert json.loads(p.stdout.readline())["listening"].startswith("http://127.0.0.1:")
    finally:
        p.terminate()
        assert p.wait(60) == 0
        p.stdout.close()


def test_approve_and_deny():
    write("asking.yaml", CONFIG.replace("weft.db", "asking.db").replace("pay: {parameters: {type: object}}", "pay: {parameters: {type: object}, approval: always, command: [sh, -c, 'cat >/dev/null; echo paid']}"))
    for command, *more in (("approve", "--yes"), ("deny",)):
        run = json.loads(weft("run", "bank", "Pay", "--json", "--config", "asking.yaml", code=1).stdout)["run"]
        one = json.loads(weft(command, run, *more, "--json", "--config", "asking.yaml").stdout)
        assert one["run"] == run and one["status"] == "completed", one


def error_of(p):
    e = json.loads(p.stderr.splitlines()[-1])["error"]
    assert e["code"] and e["message"], p
    return e


def test_errors():
    for c in commands():
        if c["name"] in WITHOUT or c["name"] in ("help", "version"):
            continue
        e = error_of(weft(c["name"], "--json", "--no-such-option", code=2))
        assert e["command"] == c["name"] and e["code"] == "USAGE" and "--no-such-option" in e["message"], e
        assert "usage:" not in e["message"], e
    for args, code, want in (
        (("show", "thread_nothing"), 1, {"code": "NOT_FOUND", "message": "there is no thread 'thread_nothing'"}),
        (("fork", "thread_nothing"), 1, {"code": "NOT_FOUND"}),
        (("export", "x", "--as", "upq"), 2, {"code": "USAGE", "where": "--as"}),
        (("convert", "--to", "ui", "none.json"), 1, {"code": "NOT_FOUND", "file": "none.json"}),
        (("convert", "--to", "ui", "--lines", "bad.jsonl"), 1, {"file": "bad.jsonl", "line": 1}),
        (("validate", "none.json"), 1, {"file": "none.json"}),
        (("config", "check", "none.yaml"), 1, {"code": "NOT_FOUND"}),
        (("runs", "--state", "runing"), 2, {"code": "USAGE"}),
        (("threads", "--config", "none.yaml"), 1, {"code": "NOT_FOUND"}),
    ):
        e = error_of(weft(*args, "--json", code=code))
        assert e["command"] == args[0] and {k: e.get(k) for k in want} == want, (args, e)
    # Names that are no UTF-8, or long.
    for args, code, name, want in (
        (("convert", "--to", "ui", b"\xff.json"), 1, "file", "\ufffd.json"),
        (("convert", "--to", b"a\xe9", "x"), 2, "message", "there is no dialect 'a\ufffd'"),
        (("convert", "--to", "ui", "\x01" * 120000), 1, "file", "\x01" * 16384 + "..."),
        (("runs", "--" + "x" * 100000), 2, "message", "x" * 10000),
    ):
        e = error_of(weft(*args, "--json", code=code))
        assert want in e[name], (args, e)
    # The value of an option is no option, and what follows -- is none.
    for args in (("run", "nobody", "hi", "--title", "--json"), ("run", "nobody", "--", "--json")):
        assert weft(*args, code=1).stderr.startswith("weft run: "), args


def test_quiet_has_errors_only():
    folder = f"{HERE}/empty"
    os.mkdir(folder)
    for args in (("threads",), ("runs",)):
        for more, said in (((), True), (("--quiet",), False)):
            p = weft(*args, "--store", f"sqlite:{folder}/none.db", *more)
            assert bool(p.stderr) == said, p
    assert "there is no thread" in weft("show", "nothing", "--quiet", code=1).stderr
    assert not weft("keys", "add", "silent", "--quiet").stderr


if __name__ == "__main__":
    try:
        main(globals().copy())
    finally:
        shutil.rmtree(HERE)
