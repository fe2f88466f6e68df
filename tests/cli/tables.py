#!/usr/bin/env python3
"""Lists on a terminal: aligned, coloured, cut to its width, without control characters of strangers; plain lines elsewhere.

usage: tables.py WEFT   (TAP)
"""
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import main  # noqa: E402

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-tables-")
ENV = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "WEFT_CONFIG")}
TITLES = ("short", "a title that is much longer than every terminal of this test is wide, and goes on and on", "evil \x1b[31mred\x07\nline", "")
ESCAPE = re.compile(r"\x1b\[\d+m")


def plain(*args):
    p = subprocess.run([WEFT, *args], cwd=HERE, env=ENV, capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p
    return p.stdout


def terminal(*args, columns=100, stream="stdout", **env):
    """What a terminal of that width is sent, as standard output or error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    p = subprocess.Popen([WEFT, *args], cwd=HERE, env={**ENV, "TERM": "xterm", **env}, **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs})
    os.close(theirs)
    out = b""
    try:
        while piece := os.read(ours, 65536):
            out += piece
    except OSError:
        pass  # the command has ended
    os.close(ours)
    assert p.wait() == 0
    return out.decode().replace("\r\n", "\n")


def test_a_store():
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write("store: sqlite:weft.db\nmodels: {m: {provider: scripted, echo: true}}\nagents: {echo: {model: m}, a_longer_name: {model: m}}\n")
    for i, title in enumerate(TITLES):
        plain("run", "a_longer_name" if i % 2 else "echo", "Hello", *(["--title", title] if title else []))


def test_plain_lines_elsewhere():
    lines = plain("threads").splitlines()
    assert len(lines) == len(TITLES) and "\x1b" not in plain("threads") + plain("runs"), lines
    assert all(re.match(r"thread_[0-9a-f]{32}  \d{4}-\S+Z  (echo        |a_longer_name)  +2  \S", line) for line in lines), lines
    assert TITLES[1] in plain("threads")


def test_columns_are_aligned_and_cut():
    for columns in (90, 100, 140, 200):
        for command, titles in (("threads", ("THREAD", "AGENT", "ENTRIES", "TITLE")), ("runs", ("RUN", "STATE", "AGENT", "TIME", "TOKENS"))):
            lines = ESCAPE.sub("", terminal(command, columns=columns)).splitlines()
            assert len(lines) == len(TITLES) + 1, lines
            assert all(t in lines[0] for t in titles) and max(map(len, lines)) <= columns, (columns, lines)
            at = lines[0].index("AGENT")
            assert all(line[at - 2:at] == "  " and line[at] != " " for line in lines), lines
    assert "CHANGED" not in terminal("threads", columns=80) and "CHANGED" in terminal("threads", columns=140)
    assert "..." in terminal("threads", columns=80)


def test_colours():
    coloured = terminal("runs")
    assert "\x1b[32mcompleted\x1b[0m" in coloured, coloured
    for bare in (terminal("runs", "--no-color"), terminal("runs", NO_COLOR="1"), terminal("runs", TERM="dumb")):
        assert "\x1b" not in bare and "completed" in bare, bare
    assert "\x1b[32mok" in terminal("doctor") and "\x1b" not in terminal("doctor", "--no-color")


def test_hostile_titles_are_shown_on_one_line():
    for out in (terminal("threads", "--no-color", columns=200), plain("threads")):
        assert "\x1b" not in out and "\x07" not in out and "evil [31mred line" in out, out


def test_a_bar_for_long_work():
    os.mkdir(f"{HERE}/in")
    for i in range(60):
        shutil.copy(f"{HERE}/one.json", f"{HERE}/in/{i}.json") if i else open(f"{HERE}/one.json", "w").write(plain("export", thread(), "--as", "upp"))
    files = [f"in/{i}.json" for i in range(1, 60)]
    bar = terminal("convert", "--to", "thread", "--out", "made", *files, stream="stderr")
    assert "] 59 of 59" in bar and bar.endswith("\r\x1b[K"), bar[-200:]
    p = subprocess.run([WEFT, "convert", "--to", "thread", "--out", "made", *files], cwd=HERE, env=ENV, capture_output=True, text=True)
    assert " of 59" not in p.stdout + p.stderr, p


def thread():
    return plain("threads").split()[0]


if __name__ == "__main__":
    try:
        main(globals().copy())
    finally:
        shutil.rmtree(HERE)
