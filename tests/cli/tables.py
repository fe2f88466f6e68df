#!/usr/bin/env python3
"""Lists on a terminal: aligned, coloured, cut to its width, without control characters of strangers; plain lines elsewhere.

usage: tables.py WEFT   (TAP)
"""
import fcntl
import json
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


def terminal(*args, columns=100, streams=("stdout",), code=0, **env):
    """What a terminal of that width is sent, as standard output, error or both."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    p = subprocess.Popen([WEFT, *args], cwd=HERE, env={**ENV, "TERM": "xterm", **env},
                         **{s: theirs if s in streams else subprocess.DEVNULL for s in ("stdout", "stderr")})
    os.close(theirs)
    out = b""
    try:
        while piece := os.read(ours, 65536):
            out += piece
    except OSError:
        pass  # the command has ended
    os.close(ours)
    assert p.wait() == code, out
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


def both(*args, **more):
    """What a terminal is sent as standard output and error together, and what is left on it at the end."""
    sent = terminal(*args, streams=("stdout", "stderr"), **more)
    return sent, [line.rsplit("\r\x1b[K", 1)[-1] for line in sent.split("\n")]


def longest(sent):
    """Columns of the longest line that was ever on the terminal."""
    return max(len(re.sub(r"\x1b\[[0-9;]*[mK]", "", piece)) for piece in re.split(r"[\r\n]", sent))


def write(name, text):
    with open(f"{HERE}/{name}", "w") as f:
        f.write(text)


def test_a_bar_for_long_work():
    """Each on a terminal; with --json, with --quiet and elsewhere none. It is gone when the command has ended."""
    os.mkdir(f"{HERE}/in")
    write("one.json", plain("export", thread(), "--as", "upp"))
    for i in range(60):
        shutil.copy(f"{HERE}/one.json", f"{HERE}/in/{i}.json")
    files = [f"in/{i}.json" for i in range(1, 60)]
    write("many.jsonl", open(f"{HERE}/one.json").read() * 50)
    message = {"object": "thread.message", "role": "user", "content": [{"type": "text", "text": {"value": "Hi", "annotations": []}}]}
    write("dump.jsonl", "".join(json.dumps({**message, "id": f"msg_{i}", "thread_id": f"thread_{i}", "created_at": 1700000000 + i}) + "\n" for i in range(7)))
    envelope = {"protocol": "multiagent-1.0", "role": "user", "timestamp": "2026-01-01T00:00:00Z", "intent": "plan", "task": "t", "content": {"type": "text", "text": "t"}}
    write("log.jsonl", "".join(json.dumps({**envelope, "trace": {"id": f"m{i}"}}) + "\n" for i in range(9)))
    write("log.json", json.dumps([{**envelope, "trace": {"id": f"m{i}"}} for i in range(9)]))
    write("routes.yaml", "store: sqlite:weft.db\nmodels: {m: {provider: scripted, echo: true}}\nagents: {echo: {model: m}}\nroutes: [{intent: plan, to: echo}]\n")
    for what, code, args in (
        ("59 of 59 files", 0, ["convert", "--to", "thread", "--out", "made", *files]),
        ("59 of 59 files", 0, ["validate", *files]),
        ("7 of 7 objects", 0, ["import", "dump.jsonl", "--from", "assistants", "--on-conflict", "copy"]),
        ("2 of 2 entries", 0, ["export", thread(), "--as", "log", "-o", "log"]),
        (r"0\.0 of 0\.0 MiB", None, ["replay", "log.jsonl", "--config", "routes.yaml"]),
        ("9 of 9 envelopes", None, ["replay", "log.json", "--config", "routes.yaml"]),
        (r"\d+ rows", 0, ["doctor", "--rebuild-search"]),
        (r"\d+ threads", 0, ["doctor", "--export", "saved"]),
    ):
        if code is None:
            code = subprocess.run([WEFT, *args], cwd=HERE, env=ENV, capture_output=True).returncode
        sent, left = both(*args, code=code)
        assert re.search(what, sent) and not re.search(r"\r.*" + what, "\n".join(left)), (args, sent)
        assert args[0] != "convert" or longest(both(*args, code=code, columns=40)[0]) < 40, args
        for bare in (both(*args, "--quiet", code=code), both(*args, code=code, TERM="dumb")) + (() if args[0] == "convert" else (both(*args, "--json", code=code),)):
            assert "\r" not in bare[0], (args, bare)
        p = subprocess.run([WEFT, *args], cwd=HERE, env=ENV, capture_output=True, text=True)
        assert p.returncode == code and "\r" not in p.stdout + p.stderr, (args, p)
    ids = [line for line in both("import", "dump.jsonl", "--from", "assistants", "--on-conflict", "copy")[1] if line]
    assert len(ids) == 7 and all(re.fullmatch("thread_[0-9a-f]{32}", i) for i in ids), ids
    bar = terminal("convert", "--to", "thread", "--out", "made", *files, streams=("stderr",))
    assert "] 59 of 59" in bar and bar.endswith("\r\x1b[K"), bar[-200:]
    with open(f"{HERE}/many.jsonl") as lines, open(f"{HERE}/made/lines", "w") as out:  # bytes of a file; documents go elsewhere
        ours, theirs = pty.openpty()
        p = subprocess.run([WEFT, "convert", "--to", "thread", "--lines", "many.jsonl"], cwd=HERE, env={**ENV, "TERM": "xterm"}, stdout=out, stderr=theirs)
        sent = os.read(ours, 65536).decode()
        os.close(theirs)
        os.close(ours)
        assert p.returncode == 0 and " MiB" in sent and sent.endswith("\r\x1b[K"), sent
        assert len(open(f"{HERE}/made/lines").readlines()) == len(lines.readlines())


def test_a_bar_for_the_rotation_of_keys():
    for name in ("old", "new"):
        write(name, plain("encryption", "new-key"))
        os.chmod(f"{HERE}/{name}", 0o600)
    write("sealed.yaml", "store: sqlite:sealed.db\nencryption: {key_file: old}\nmodels: {m: {provider: scripted, echo: true}}\nagents: {echo: {model: m}}\n")
    for tenant in "abc":
        plain("run", "echo", "Hello", "--config", "sealed.yaml", "--tenant", tenant)
    sent, left = both("encryption", "rotate", "--to", "new", "--config", "sealed.yaml")
    assert re.search(r"0 of \d tenants", sent) and re.search(r"(\d) of \1 tenants", sent), sent
    assert [line for line in left if line] == ["from now on the store opens with the key in new alone"], left


def test_colours_of_a_thread_and_its_tree():
    for args in (("show", thread()), ("tree", thread(), "--checkpoints")):
        coloured = terminal(*args, columns=200)
        assert f"\x1b[36m{thread()}\x1b[0m" in coloured, coloured
        assert ESCAPE.sub("", coloured) == terminal(*args, "--no-color", columns=200), coloured
        assert "\x1b" not in terminal(*args, NO_COLOR="1") + plain(*args)
    assert ESCAPE.sub("", terminal("show", thread(), columns=200)) == plain("show", thread())


def test_keys_are_a_table():
    for name in ("ci", "a_longer_name"):
        plain("keys", "add", name, "--limits", "runs=8") if name == "ci" else plain("keys", "add", name)
    plain("keys", "revoke", "ci")
    for columns in (60, 90, 200):
        lines = ESCAPE.sub("", terminal("keys", "list", columns=columns)).splitlines()
        assert lines[0].split()[:3] == ["KEY", "NAME", "TENANT"] and len(lines) == 3, lines
        at = lines[0].index("TENANT")
        assert all(line[at - 2:at] == "  " and line[at] != " " for line in lines), lines
    assert "\x1b[1ma_longer_name\x1b[0m" in terminal("keys", "list") and "\x1b" not in terminal("keys", "list", "--no-color")
    rows = plain("keys", "list").splitlines()
    assert re.fullmatch(r"[0-9a-f]{16}  a_longer_name  local  run  -       created \S+Z  used -", rows[0]), rows
    assert re.fullmatch(r"[0-9a-f]{16}  ci             local  run  runs=8  created \S+Z  used -  revoked \S+Z", rows[1]), rows


def test_mistakes_are_coloured():
    write("bad.yaml", "stroe: x\n")
    sent, _ = both("config", "check", "bad.yaml", code=1)
    assert "\x1b[1mbad.yaml:1:" in sent and "\x1b" not in both("config", "check", "bad.yaml", "--no-color", code=1)[0], sent


def thread():
    return plain("threads").split()[0]


if __name__ == "__main__":
    try:
        main(globals().copy())
    finally:
        shutil.rmtree(HERE)
