#!/usr/bin/env python3
"""Help, man pages and completions: each has every option of every command, and the shells complete with them.

usage: help.py WEFT MAN-FOLDER   (TAP)
"""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import main  # noqa: E402

WEFT, MAN = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HERE = tempfile.mkdtemp(prefix="weft-help-")
os.symlink(WEFT, f"{HERE}/weft")
ENV = {**os.environ, "PATH": f"{HERE}:{os.environ['PATH']}", "HOME": HERE}
ENV.pop("WEFT_CONFIG", None)


def weft(want, *args, **more):
    p = subprocess.run([WEFT, *args], capture_output=True, text=True, timeout=60, cwd=HERE, env={**ENV, **more})
    assert p.returncode == want, (args, p)
    return p


TABLES = json.loads(weft(0, "help", "--json").stdout)
COMMANDS = TABLES["commands"]
COMMON = TABLES["options"]


def test_every_command_has_its_table():
    for c in COMMANDS:
        assert c["summary"] and c["help"], c
        assert c["examples"] and all("weft " + c["name"] in e or "weft " in e for e in c["examples"]), c["name"]
        have = {o["name"] for o in c["options"]}
        used = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", c["usage"]))
        assert used - {"-o"} <= have | {"-o"}, (c["name"], used - have)  # the usage names nothing else
        for o in c["options"]:
            assert o["help"] and not o["help"].endswith("."), (c["name"], o)
            assert ("words" in o) == (o.get("is") == "choice"), o


def test_the_parser_takes_what_is_listed_and_nothing_else():
    for c in COMMANDS:
        for o in c["options"]:
            given = [o["name"] + "=x"] if "value" in o else [o["name"]]
            if c["name"] in ("help", "version"):
                weft(0, c["name"], *given)
                continue
            p = weft(2, c["name"], *given, "--no-such-option")  # the first mistake is reported
            assert "does not take '--no-such-option'" in p.stderr, (c["name"], o, p.stderr)


def test_help_has_every_option_and_example():
    for c in COMMANDS:
        text = weft(0, c["name"], "--help").stdout
        assert text == weft(0, "help", c["name"]).stdout
        for o in c["options"] + COMMON:
            head = o["name"] + (" " + o["value"] if "value" in o else "")
            assert re.search(rf"^  {re.escape(head)}(  |$)", text, re.M), (c["name"], o["name"])
            assert " ".join(o["help"].split()) in " ".join(text.split()), (c["name"], o)
        for e in c["examples"]:
            assert f"\n  {e}\n" in text, (c["name"], e)
        assert max(map(len, text.splitlines())) <= 240, c["name"]


def test_man_pages_have_every_option():
    main_page = open(f"{MAN}/weft.1").read()
    for c in COMMANDS:
        assert f"weft\\-{c['name']} (1)" in main_page, c["name"]
        text = open(f"{MAN}/weft-{c['name']}.1").read()
        for o in c["options"] + COMMON:
            name = o["name"].replace("-", "\\-")
            assert re.search(rf"^\.BI? {re.escape(name)}( |$)", text, re.M), (c["name"], o["name"])
    assert "@COMMANDS@" not in main_page
    if shutil.which("groff"):
        for f in os.listdir(MAN):
            p = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", f"{MAN}/{f}"], capture_output=True, text=True)
            assert p.returncode == 0 and not p.stderr, (f, p.stderr)


def test_scripts_have_every_option():
    for shell in ("bash", "zsh", "fish"):
        text = weft(0, "completion", shell).stdout
        for c in COMMANDS:
            for o in c["options"]:
                if shell == "bash":
                    part = re.search(rf"^    {c['name']}\)$(.*?)^    [a-z]+\)", text + "    x)", re.S | re.M)[1]
                    assert re.search(rf"[' ]{o['name']} ", part), (c["name"], o["name"])
                elif shell == "zsh" and c["name"] != "help":
                    part = re.search(rf"^    {c['name']}\)$(.*?);;", text, re.S | re.M)[1]
                    assert re.search(rf"'{o['name']}[=+]?\[", part), (c["name"], o["name"])
                elif shell == "fish":
                    flag = f"-l {o['name'][2:]} " if o["name"].startswith("--") else f"-s {o['name'][1:]} "
                    assert f"__fish_seen_subcommand_from {c['name']}' {flag}" in text, (c["name"], o["name"])


CONFIG = "models: {m: {provider: scripted, echo: true}}\nagents: {desk: {model: m}, helper: {model: m}}\n"
# What is typed so far, and what is offered, of which these are some; and what is not.
TYPED = (
    ("weft thr", {"threads"}, {"tree"}), ("weft res", {"restore"}, {"run"}), ("weft run --th", {"--thread"}, {"--title"}),
    ("weft export T --as pyd", {"pydantic"}, {"ui"}), ("weft runs --state w", {"waiting"}, {"queued"}),
    ("weft config ch", {"check"}, set()), ("weft keys r", {"revoke"}, {"add"}), ("weft serve --log-level d", {"debug"}, {"info"}),
    ("weft run d", {"desk"}, {"helper"}), ("weft convert --view he", {"helper"}, {"desk"}), ("weft import some", {"some.json"}, set()),
    ("weft init --template pl", {"plan"}, {"weather"}), ("weft help en", {"encryption"}, {"run"}), ("weft serve --config some", {"some.json"}, set()),
)


def folder():
    open(f"{HERE}/weft.yaml", "w").write(CONFIG)
    open(f"{HERE}/some.json", "w").close()


def test_bash_completes():
    folder()
    script = """source <(weft completion bash)
    offer() { COMP_LINE=$1 COMP_POINT=${#1}; read -ra COMP_WORDS <<<"$1"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _weft; echo "${COMPREPLY[@]}"; }
    while IFS= read -r line; do offer "$line"; done"""
    lines = [typed for typed, _, _ in TYPED] + ["weft export T --as = th"]
    p = subprocess.run(["bash", "-c", script], input="\n".join(lines) + "\n", capture_output=True, text=True, cwd=HERE, env=ENV, timeout=60)
    assert p.returncode == 0 and not p.stderr, p
    offers = [set(line.split()) for line in p.stdout.splitlines()]
    for (typed, some, others), offered in zip(TYPED, offers):
        assert some <= offered and not others & offered, (typed, offered)
    assert offers[-1] == {"thread"}, offers[-1]


def test_fish_completes():
    if not shutil.which("fish"):
        return "fish is not installed"
    folder()
    script = "weft completion fish | source; " + "; ".join(f"complete -C '{typed}'; echo --" for typed, _, _ in TYPED)
    p = subprocess.run(["fish", "-c", script], capture_output=True, text=True, cwd=HERE, env=ENV, timeout=60)
    assert p.returncode == 0, p
    for (typed, some, others), part in zip(TYPED, p.stdout.split("--\n")):
        offered = {line.split("\t")[0] for line in part.splitlines()}
        assert some <= offered and not others & offered, (typed, part)


def test_zsh_completes():
    if not shutil.which("zsh"):
        return "zsh is not installed"
    folder()
    subprocess.run("weft completion zsh >_weft", shell=True, cwd=HERE, env=ENV, check=True)
    os.mkfifo(f"{HERE}/lines")
    lines = open(os.open(f"{HERE}/lines", os.O_RDWR))  # also to be written, so that it has no end
    one = [(typed, some) for typed, some, _ in TYPED if len(some) == 1]
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(HERE)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**ENV, "TERM": "xterm"})
    threading.Thread(target=drain, args=(fd,), daemon=True).start()
    try:
        # A key of its own hands the line over, as TAB has made it.
        os.write(fd, b"PS1=; fpath=($PWD $fpath); autoload -U compinit; compinit -u -d $PWD/.zcompdump; unsetopt beep\n"
                     b"hand() { print -r -- \"$BUFFER\" >$HOME/lines; BUFFER=; }; zle -N hand; bindkey '^X' hand\n")
        for typed, some in one:
            os.write(fd, typed.encode() + b"\t\x18")
            line = lines.readline()
            assert line.rstrip(" =\n").rsplit(" ", 1)[-1] in some, (typed, line)
    finally:
        lines.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def drain(fd):
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass  # zsh has ended


def test_help_of_all():
    text = weft(0, "help").stdout
    for c in COMMANDS:
        assert re.search(rf"^  {c['name']} +{re.escape(c['summary'])}$", text, re.M), c["name"]


if __name__ == "__main__":
    signal.alarm(300)  # a shell that never answers
    try:
        main(globals().copy())
    finally:
        shutil.rmtree(HERE)
