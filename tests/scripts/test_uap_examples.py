#!/usr/bin/env python3
"""The examples of UAP-1.0 in C, and the page that shows them (TAP).

usage: test_uap_examples.py SOURCE-ROOT UNIT EXAMPLE...

Each program says exactly what stands in examples/uap/NAME.out (times aside), and nothing on standard error. In docs/uap.md
each C block is a piece of the program that is named above it, each text block what that program says, every program is
shown, and what the tables name as a test is one. The tables have every name of the specification and every feature of its
conformance levels, and each C name that they have is in tests/headers/uap_names.c, which is compiled in C and in C++.
"""
import re
import subprocess
import sys
from pathlib import Path

# What each program shows.
# covers: UAP-3.2 (imports)
# covers: UAP-2.1/1, UAP-4.2/1, UAP-4.3a/1/2, UAP-4.4/2 (agent)
# covers: UAP-4.6 (structure)
# covers: UAP-5.2/1 (loop)
# covers: UAP-5.3a/1, UAP-5.3b/1 (agent_react, react)
# covers: UAP-5.4a/1, UAP-5.4c/1 (plan)
# covers: UAP-5.1/1, UAP-5.5/5 (custom, lifecycle)
# covers: UAP-6.1a/3/5, UAP-6.2/2 (session_usage, session_persistence, complete, migrated)
# covers: UAP-13.1/2, UAP-13.7/1 (session_json)
# covers: UAP-7.1a/1, UAP-7.2/2, UAP-7.3 (tree_usage, history_traversal)
# covers: UAP-4.3c, UAP-8.1, UAP-8.2/3 (sub_agent)
# covers: UAP-8.3/1/2, UAP-4.7 (inherit)
# covers: UAP-8.4/1 (family)
# covers: UAP-9.1, UAP-9.2a/1/2, UAP-9.2b/1/2 (ask, query, ask_and_query, session_query)
# covers: UAP-10.1/1, UAP-10.2/1/3 (order)
# covers: UAP-10.3/1 (logging)
# covers: UAP-10.4/1/8 (built_in)
# covers: UAP-10.5/1/2 (timing)
# covers: UAP-5.3b/2, UAP-11.1/1, UAP-11.4/1 (hooks)
# covers: UAP-11.6/3 (stop)
# covers: UAP-11.5 (on_error)
# covers: UAP-4.3b/1, UAP-12.1/1, UAP-12.2/3, UAP-12.5a (stream)
# covers: UAP-12.1/2, UAP-12.5b/2, UAP-12.5c/4 (filter)

root, unit, programs = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
folder, page = root / "examples/uap", (root / "docs/uap.md").read_text()
TIME = re.compile(r"\b\d+(\.\d+)?m?s\b")
count, bad = 0, 0


def check(holds, title, why=""):
    global count, bad
    count += 1
    print(("ok" if holds else "not ok"), count, "-", title)
    if not holds:
        bad = 1
        print("".join(f"# {line}\n" for line in str(why).splitlines()[:40]), end="")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    return done.stdout, done.stderr, done.returncode


said = {}
for program in programs:
    name = Path(program).name.removeprefix("uap_")
    want = (folder / f"{name}.out").read_text()
    out, err, status = run([program])
    said[name] = out
    check(status == 0 and not err and TIME.sub("TIME", out) == TIME.sub("TIME", want), f"{name} says what it should",
          f"status {status}\n{err}{out}")

check({p.stem for p in folder.glob("*.c")} == set(said), "every program was run", sorted(said))
check({p.stem for p in folder.glob("*.out")} == set(said), "and all that is expected was said")

# ---- The page
shown, name = set(), None
for place, language, block in re.findall(r"(?:\(\.\./examples/uap/(\w+)\.c\)|^```(\w*)\n(.*?)^```$)", page, re.M | re.S):
    if place:
        name = place
    elif language in ("c", "text"):
        source = (folder / f"{name}.c").read_text() if language == "c" else TIME.sub("TIME", said.get(name, ""))
        piece = block if language == "c" else TIME.sub("TIME", block)
        check(f"\n{piece}" in f"\n{source}", f"a block of docs/uap.md is of {name}", block)
        shown.add((name, language))
for name in sorted(said):
    check({(name, "c"), (name, "text")} <= shown, f"docs/uap.md shows {name} and what it says")

units = set(run([unit, "--list"])[0].split())
tests = set()
for row in re.findall(r"^\|.*\|$", page, re.M):
    tests.update(re.findall(r"`(\w+)`", row.rstrip("|").rsplit("|", 1)[1]))
check(len(tests) > 30, "docs/uap.md names tests", tests)
check(tests <= units | set(said), "and there are all of them", sorted(tests - units - set(said)))

# ---- The tables are complete
# covers: UAP-14.3/1
NAMES = """agent session ask query loop react plan logging ThreadTree ThreadNode Session Checkpoint
AgentOptions Agent ToToolOptions ExecutionStrategy ExecutionContext ExecutionState LoopOptions ReactOptions PlanOptions PlanStep
StepResult SessionOptions PersistenceAdapter QueryResult Middleware MiddlewareContext LoggingOptions AgentStrategy
AgentStreamResult AgentStreamEvent UAPEvent UAPEventType SessionJSON ThreadTreeJSON ThreadNodeJSON CheckpointJSON
ExecutionStateJSON PlanStepJSON llm LLMInstance LLMOptions ProviderConfig ModelReference Message UserMessage AssistantMessage
ToolResultMessage ContentBlock TextBlock ImageBlock Turn TokenUsage Tool ToolCall ToolResult ToolExecution ToolUseStrategy
StreamResult StreamEvent StreamEventType UPPError ErrorCode Thread ThreadJSON id model tools system run stream toTool
threadTree checkpoints currentCheckpoint fork restore save toJSON fromJSON root current nodes branch checkout merge history
parentId thread name metadata children turn threadId continue before after onError stopCondition onStepStart onStepEnd
onReason onAct onObserve onComplete abort source uap upp""".split()
tables = page[page.index("## Every name"):page.index("## Conformance levels")]
rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*\|$", tables, re.M)]
left = set(re.findall(r"\w+", " ".join(row[0] for row in rows)))
check(set(NAMES) <= left, "the tables have every name of the specification", sorted(set(NAMES) - left))
in_c = set(re.findall(r"\b(?:upp|weft|UPP|WEFT)_\w+", " ".join(row[1] for row in rows)))
named = (root / "tests/headers/uap_names.c").read_text()
check(len(in_c) > 100, "and C names", sorted(in_c))
check(all(re.search(rf"\b{name}\b", named) for name in in_c), "which a program in C and C++ uses",
      sorted(name for name in in_c if not re.search(rf"\b{name}\b", named)))
check(all(len(row) == 3 and row[2] for row in rows), "each with what shows it", [row for row in rows if len(row) != 3])

# covers: UAP-15.1
levels = re.findall(r"^\| (\d: [\w ]+) \| (.*?) \| `", page[page.index("## Conformance levels"):], re.M)
wanted = [tuple(row.split("\t")[:2]) for row in (root / "tests/conformance/levels.tsv").read_text().splitlines()[1:]]
check(levels == wanted, "the conformance levels have all their features", set(levels) ^ set(wanted))

print(f"1..{count}")
sys.exit(bad)
