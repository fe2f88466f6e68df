#!/usr/bin/env python3
"""Live means true: what a run wrote is in every export that has a place for it, and where there is none the export says so.

usage: live.py WEFT   (TAP)
covers: TP-61

The scripted model reports everything that a model can report, with words and numbers that occur nowhere else.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import main  # noqa: E402

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-live-")
DIALECTS = "thread pydantic ui aitp assistants agentapi envelope upp uap".split()
FILES = {
    "clock.json": {"name": "model-of-clocks", "at_end": "restart", "replies": [
        {"id": "vendor-id-1", "parts": [{"reasoning": "a thought about noon"}, {"text": "Let me look."},
                                        {"tool_call": {"id": "call-of-clock", "name": "clock", "arguments": {"zone": "JST"}}}],
         "usage": {"input_tokens": 51111, "output_tokens": 52222, "reasoning_tokens": 53333, "cache_read_tokens": 54444, "cache_write_tokens": 55555}},
        {"id": "vendor-id-2", "when": {"tool_result": "clock"}, "parts": [{"text": "It is noon. Travel Planner, go on."}], "stop": "max_tokens",
         "usage": {"input_tokens": 61111, "output_tokens": 62222}}]},
    "travel.json": {"name": "model-of-travel", "at_end": "restart", "replies": [
        {"id": "vendor-id-3", "parts": [{"text": "A park."}], "usage": {"input_tokens": 71111, "output_tokens": 72222}}]},
}
CONFIG = """
store: sqlite:live.db
models:
  clock: {provider: scripted, script: clock.json}
  travel: {provider: scripted, script: travel.json}
tools:
  clock: {description: The time, parameters: {type: object}, command: [sh, -c, 'cat >/dev/null; echo "{\\"time\\":\\"twelve-of-the-clock\\"}"'],
          as: mcp, server_label: house-of-clocks}
agents:
  clocks:
    title: Keeper of Clocks
    model: clock
    tools: [clock]
    handoff: [{agent: travel, on_mention: true, prompt: "And what comes next?"}]
    middleware: [{guardrails: {input: [{action: rewrite, pattern: '^what time$', instead: 'Please tell the time of day.'}]}}]
  travel: {title: Travel Planner, model: travel}
"""
# What was said, and by which of the words above an export is known to have it.
FACTS = {
    "question": ["what time"], "answers": ["Let me look.", "It is noon. Travel Planner, go on.", "A park."], "call": ["call-of-clock", "JST"],
    "source of the tool": ["mcp", "house-of-clocks"], "result": ["twelve-of-the-clock"], "prompt of the handoff": ["And what comes next?"],
    "models": ["model-of-clocks", "model-of-travel"], "providers": ["scripted"], "vendor's ids": ["vendor-id-1", "vendor-id-2", "vendor-id-3"],
    "thought": ["a thought about noon"], "usage of each call": [51111, 52222, 61111, 62222, 71111, 72222], "tokens thought": [53333],
    "tokens of caches": [54444, 55555], "why it stopped": [("max_tokens", "length")],
    "titles of agents": ["Keeper of Clocks", "Travel Planner"], "enriched texts": ["Please tell the time of day."],
    "event": ["agent.handoff", "explicit_mention"], "title": ["All about noon"], "parent": [None],
}
# Facts for which a dialect has no place, and the words with which the export says so; None: it has them in another form.
LOST = {
    "pydantic": {"title": "the thread's title, metadata and parent", "parent": "the thread's title, metadata and parent",
                 "event": "a system event", "enriched texts": "a system event"},
    "ui": {"title": "the thread's title, metadata and parent", "parent": "the thread's title, metadata and parent", "vendor's ids": "why the model stopped, and its ids",
           "why it stopped": "why the model stopped, and its ids", "usage of each call": None, "prompt of the handoff": "what one agent asked another"},
    "assistants": {"source of the tool": "what providers said of parts", "title": "the thread's title, metadata and parent", "parent": "the thread's title, metadata and parent", "thought": "what was thought",
                   "models": "the model and the usage of an agent that took over", "providers": "how the agents were made", "vendor's ids": "what providers said of a message", "usage of each call": None,
                   "tokens thought": "tokens of caches and of reasoning", "tokens of caches": "tokens of caches and of reasoning", "event": "an event", "enriched texts": "an event",
                   "why it stopped": "what providers said of a message"},
    "agentapi": {"title": "the thread's title, metadata and parent", "parent": "the thread's title, metadata and parent"},
    "envelope": {"title": "the thread's title, metadata and parent", "parent": "the thread's title, metadata and parent", "vendor's ids": "why the model stopped, and its id",
                 "why it stopped": "why the model stopped, and its id", "tokens thought": "tokens of caches and of reasoning", "tokens of caches": "tokens of caches and of reasoning"},
    "uap": {"title": None, "parent": None},  # the whole tree is in it
}


def weft(*args):
    done = subprocess.run([WEFT, *args], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return done.stdout, done.stderr


def write(name, text):
    with open(f"{HERE}/{name}", "w") as f:
        f.write(text)


def has(text, word):
    if isinstance(word, tuple):
        return any(has(text, w) for w in word)
    return (str(word) if isinstance(word, int) else json.dumps(word, ensure_ascii=False)[1:-1]) in text


def export(thread, dialect):
    told = weft("export", thread, "--as", dialect, "-o", f"{dialect}.json")[1]
    with open(f"{HERE}/{dialect}.json") as f:
        return json.dumps(json.load(f), ensure_ascii=False), told


def test_a_run_is_exported_whole():
    global FORK
    for name, content in FILES.items():
        write(name, json.dumps(content))
    write("weft.yaml", CONFIG)
    weft("run", "clocks", "what time", "--title", "All about noon")
    thread = weft("threads")[0].split()[0]
    FORK = json.loads(weft("fork", thread, "--json")[0])["thread"]
    wrong = []
    for dialect in DIALECTS:
        whole, told = export(thread, dialect)
        forked, of_fork = export(FORK, dialect)
        for fact, words in FACTS.items():
            lost = LOST.get(dialect, {})
            if fact == "parent":
                found = thread[len("thread_"):] in forked.replace("-", "")
                told = of_fork
            else:
                found = all(has(whole, w) for w in words)
            if found and fact in lost and lost[fact]:
                wrong.append(f"{dialect} has {fact}: the table is out of date")
            if not found and fact not in lost:
                wrong.append(f"{dialect} has no {fact}")
            if not found and lost.get(fact) and lost[fact] not in told:
                wrong.append(f"{dialect} lost {fact} and does not say so: {lost[fact]!r}")
    assert not wrong, "\n".join(wrong)


def test_an_export_is_valid_and_returns():
    """Strictly valid; and read again, it is written as the same."""
    for dialect in DIALECTS:
        weft("validate", "--strict", "--as", dialect, f"{dialect}.json")
        if dialect != "uap":
            weft("convert", "--from", dialect, "--to", dialect, "--verify", f"{dialect}.json")


def test_a_session_keeps_it_in_another_store():
    thread = weft("threads")[0].split()[0]
    weft("export", thread, "--as", "uap", "-o", "first.json")
    other = weft("import", "first.json", "--store", f"sqlite:{HERE}/other.db")[0].split()[-1]
    weft("export", other, "--as", "uap", "--store", f"sqlite:{HERE}/other.db", "-o", "again.json")

    def messages(name):
        with open(f"{HERE}/{name}") as f:
            return [m for n in json.load(f)["threadTree"]["nodes"] for m in n["thread"]["messages"]]
    assert messages("first.json") == messages("again.json")


try:
    main(globals())
finally:
    shutil.rmtree(HERE, ignore_errors=True)
