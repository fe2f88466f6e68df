#!/usr/bin/env python3
"""`weft convert --log`: a long log is converted in pieces, and becomes the same document as a list of its lines.

usage: logs.py WEFT   (TAP)
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-logs-")
WORDS = "the quick brown fox jumps over the lazy dog " * 8
ENV = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1"}  # what is freed is not memory that it needs


def envelope(i):
    """A question, a call, a second question, the result of the call, the answer."""
    agent, user = {"id": "planner", "name": "Planner", "model": "gpt-5"}, {"id": "user", "name": "User", "model": "n/a"}
    trace = {"parents": [f"m{i - 1}"], "id": f"m{i}", "cost": {"input_tokens": i % 7, "output_tokens": 2}}
    e = lambda role, who, intent, task, content, trace: {
        "protocol": "multiagent-1.0", "role": role, "agent": who, "timestamp": f"2026-01-{1 + i // 86400:02}T{i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}Z",
        "intent": intent, "task": task, "content": content, "trace": trace}
    kinds = (lambda: e("user", user, "execute", f"Question {i}", {"type": "text", "text": f"{i} {WORDS}"}, {}),  # has no id
             lambda: e("agent", agent, "tool.call", "Call look", {"type": "json", "text": "look", "data": {"id": f"c{i}", "name": "look", "arguments": {"q": f"{i} {WORDS}"}}}, trace),
             lambda: e("user", user, "execute", f"Hurry {i}", {"type": "text", "text": f"{i} {WORDS}"}, {"id": f"m{i}"}),
             lambda: e("tool", agent, "tool.call", "Result", {"type": "tool_result", "text": "seen", "data": [i, {"x": WORDS}]}, {**trace, "parents": [f"m{i - 2}"]}),
             lambda: {**e("agent", agent, "analyze", f"Answer {i}", {"type": "text", "text": f"{i} {WORDS}"}, trace), "confidence": {"score": 0.8}})
    return json.dumps(kinds[i % 5](), separators=(",", ":"))


def log_of(n, name):
    path = f"{HERE}/{name}"
    with open(path, "w") as f:
        f.writelines(envelope(i) + "\n" for i in range(n))
    return path


def convert(*words, stdin=None):
    return subprocess.run([WEFT, "convert", *words], stdin=stdin, capture_output=True, cwd=HERE, env=ENV, timeout=600)


def most_memory(path):
    with open(os.devnull, "w") as null:
        child = subprocess.Popen([WEFT, "convert", "--log", "--to", "thread", path], stdout=null, stderr=null, env=ENV)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, child.returncode
    return used.ru_maxrss


# covers: ENV-9/1
def test_memory_does_not_grow_with_the_lines():
    few, many = (most_memory(log_of(n, f"{n}.jsonl")) for n in (17000, 51000))  # 3 pieces, and 9
    assert many < few + 20_000, (few, many)


# covers: ENV-11/1
def test_pieces_become_the_document_of_the_whole():
    path = log_of(20000, "log.jsonl")
    assert os.path.getsize(path) > 3 * (4 << 20)
    with open(path) as f, open(f"{HERE}/list.json", "w") as whole:
        whole.write("[" + ",".join(f.read().splitlines()) + "]")
    for to in ("thread", "pydantic", "ui", "agentapi", "envelope"):
        whole, pieces = convert("--to", to, "list.json"), convert("--log", "--to", to, "log.jsonl")
        assert whole.returncode == pieces.returncode == 0, (to, pieces.stderr[:500])
        assert whole.stdout == pieces.stdout, to
        assert pieces.stderr.count(b": lost: ") <= 21, pieces.stderr[:3000]
    with open(path) as f:
        assert convert("--log", "--to", "envelope", stdin=f).stdout == pieces.stdout


def test_a_bad_line_of_a_late_piece():
    """Nothing is written, and the piece is named by its first line."""
    with open(log_of(12000, "bad.jsonl"), "a") as f:
        f.write("{\n")
    r = convert("--log", "--to", "thread", "bad.jsonl")
    assert r.returncode == 1 and not r.stdout, r
    line = int(r.stderr.decode().partition("bad.jsonl:")[2].partition(":")[0])
    assert 4000 < line <= 12000, r.stderr


main(globals())
