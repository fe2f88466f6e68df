#!/usr/bin/env python3
"""docs/cli.md: each command has a section and an example, and the examples say what the page says.

usage: command.py SOURCE-ROOT WEFT   (TAP)
"""
import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, WEFT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "tests" / "server"))
from served import main  # noqa: E402

PAGE = (ROOT / "docs" / "cli.md").read_text()
HERE = Path(tempfile.mkdtemp(prefix="weft-command-"))
atexit.register(shutil.rmtree, HERE, True)
ENV = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and k not in ("WEFT_CONFIG", "NO_COLOR")}
ENV["PATH"] = f"{WEFT.parent}:{ENV['PATH']}"

# Commands whose example is not typed here, and why.
NOT_TYPED = {"serve": "it does not end: tests/server/serve.py", "chat": "docs/chat.md and tests/cli/chat.py",
             "deny": "as approve: tests/cli/waits.py", "answer": "as approve: tests/cli/waits.py", "help": "tests/cli/help.py", "version": "it is in the table"}

# What the page's variables are, before the first command that has them.
VARIABLES = {
    "$T": "T=$(weft threads --json | tail -1 | sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/')",
    "$C": "C=$(weft tree $T --checkpoints | tail -1 | awk '{print $2}')",
    "$R": "R=$(weft approvals | cut -d' ' -f1)",
}


def examples():
    """(command, what the page says that it says) of the blocks with prompts."""
    found = []
    for block in re.findall(r"^```\n(\$ .*?)^```$", PAGE, re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append([line[2:], []])
            else:
                found[-1][1].append(line)
    return [e for e in found if e[0] != "weft serve"]


def plain(line):
    """Without what differs each time: ids, times, durations, numbers of a machine."""
    line = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", line)
    line = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b((thread|run|msg|call)_)?[0-9a-f]{32}\b|\bcall_\w+|\b[0-9a-f]{16}\b|^[0-9a-f]{8}$|\bB-\d+", "ID", line)
    line = re.sub(r"\d+\.\d+s\b|\d+ ns|\d+ open files", "N", line)
    return re.sub(r"(ok    \w+ +).*", r"\1", line).replace(str(HERE), "").rstrip()


def says(wanted, got):
    """`...` stands for any lines."""
    if wanted and wanted[0] == "...":
        return any(says(wanted[1:], got[i:]) for i in range(len(got) + 1))
    return (not wanted and not got) or bool(wanted and got and wanted[0] == got[0] and says(wanted[1:], got[1:]))


def test_every_command_has_a_section_and_an_example():
    table = json.loads(subprocess.run([WEFT, "help", "--json"], capture_output=True, text=True, check=True).stdout)["commands"]
    typed = " ".join(command for command, _ in examples())
    for c in table:
        name = c["name"]
        assert re.search(rf"^## .*weft {name}\b|^\| `weft {name}\b", PAGE, re.M), f"docs/cli.md does not have weft {name}"
        assert (f"weft {name}" in typed) != (name in NOT_TYPED), f"no example of weft {name} is typed"
        section = re.search(rf"^## .*weft {name}\b.*?(?=^## |\Z)", PAGE, re.M | re.S)
        for o in c["options"] if section else ():
            assert o["name"] in section[0] or f"`{o['name']}" in PAGE[:PAGE.index("## Who owns the store")], (name, o["name"])


def test_the_examples_say_what_the_page_says():
    folder = HERE / "demo"
    shutil.copytree(ROOT / "demo", folder)
    script, known = "", set()
    list_ = examples()
    for n, (command, _) in enumerate(list_):
        for name, line in VARIABLES.items():
            if name in command and name not in known:
                known.add(name)
                script += line + "\n"
        script += f"echo '@@{n}'\n{command}\n"
    p = subprocess.run(["sh", "-u", "-c", script], cwd=folder, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    answers = dict(re.findall(r"^@@(\d+)\n(.*?)(?=^@@|\Z)", p.stdout, re.M | re.S))
    bad = []
    for n, (command, wanted) in enumerate(list_):
        got = [plain(line) for line in answers.get(str(n), "(nothing)").splitlines() if not line.startswith("time=")]
        if not says([plain(line) for line in wanted], got) and sorted(got) != sorted(plain(line) for line in wanted):
            bad.append(f"$ {command}\npage: {wanted}\nsaid: {got}")
    print(f"# {len(list_)} examples")
    assert len(list_) > 25 and not bad, "\n".join(bad)


main(globals())
