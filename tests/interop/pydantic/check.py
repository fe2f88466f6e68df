#!/usr/bin/env python3
"""check.py CONVERT GOLDEN [bytes]: the real Pydantic AI reads what is written here, and what it writes is read.

With `bytes` its version is the one whose form is written here: it dumps exactly the bytes that it was given.
Prints lines "ok or bad, TAB, title, TAB, what was wrong".
"""
import json
import random
import subprocess
import sys
from pathlib import Path

from objects import everything, generated
from pydantic_ai.messages import ModelMessagesTypeAdapter as Messages

CONVERT, GOLDEN, EXACT = sys.argv[1], Path(sys.argv[2]), "bytes" in sys.argv[3:]
GENERATED = 300
MUTANTS = 3000


def ask(questions):
    """Answers of the C program to [(from, to, JSON text)]; to "?": validate."""
    lines = "".join(f"{a}\t{b}\t{text}\n" for a, b, text in questions)
    answers = subprocess.run([CONVERT], input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")
    assert len(answers) == len(questions) + 1, f"{len(answers) - 1} answers to {len(questions)} questions"
    return answers[:-1]


def dump(messages):
    return Messages.dump_json(messages).decode()


def compact(path):
    """The text without blanks between its tokens. No number of the goldens is a float."""
    return json.dumps(json.loads(path.read_text()), ensure_ascii=False, separators=(",", ":"))


def differ(a, b):
    if a == b:
        return ""
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return f"at {at}: {a[max(0, at - 80):at + 80]!r} instead of {b[max(0, at - 80):at + 80]!r}"


def loads(text):
    try:
        return Messages.validate_json(text), ""
    except ValueError as e:
        return None, str(e).replace("\n", " ")[:400]


def redumped(text):
    """What is wrong with a text that Pydantic AI should load (and dump again as it is)."""
    messages, wrong = loads(text)
    if wrong:
        return f"{wrong} of {text[:200]}"
    return differ(dump(messages), text) if EXACT else ""


def judge(title, wrong):
    wrong = [w for w in wrong if w]
    print("bad" if wrong else "ok", title, " | ".join(wrong[:3]).replace("\t", " ").replace("\n", " "), sep="\t")


def goldens():
    for path in sorted((GOLDEN / "pydantic").glob("*.json")):
        text = compact(path)
        [back] = ask([("pydantic", "pydantic", text)])
        wrong = [differ(back, text)]
        if path.stem.startswith(("current", "example")):
            wrong.append(redumped(back))
        else:  # what old versions wrote is not dumped as it was, and where it is not even loaded validation says so
            [said] = ask([("pydantic", "?", text)])
            wrong.append("" if (said[0] == "0") == (not loads(back)[1]) else f"{loads(back)[1]}, but {said}")
        judge(f"{path.name} comes back and is " + ("loaded" if not loads(back)[1] else "known to be refused"), wrong)
    for path in sorted((GOLDEN / "thread").glob("*.json")):
        [out] = ask([("thread", "pydantic", compact(path))])
        judge(f"thread {path.name} is loaded", [redumped(out)])


def there_and_back(title, lists):
    texts = [dump(messages) for messages in lists]
    same = ask([("pydantic", "pydantic", t) for t in texts])
    threads = ask([("pydantic", "thread", t) for t in texts])
    back = ask([("thread", "pydantic", t) for t in threads])
    pure = ask([("thread", "pydantic", strip(t)) for t in threads])
    judge(f"{title} are written back", map(differ, same, texts))
    judge(f"{title} come back through a thread", map(differ, back, texts))
    judge(f"{title} as threads without residue are loaded", map(redumped, pure))
    judge(f"{title} have no errors", (w if w[0] != "0" else "" for w in ask([("pydantic", "?", t) for t in texts])))


def strip(thread):
    """The thread as somebody else would have written it."""
    def walk(v):
        if isinstance(v, dict):
            return {k: walk(x) for k, x in v.items() if k != "x_weft"}
        return [walk(x) for x in v] if isinstance(v, list) else v
    return json.dumps(walk(json.loads(thread)), ensure_ascii=False)


VALUES = [None, True, False, 0, 1, -7, 1.5, 1e20, "", "x", "5", "text", "tool-search", "2026-02-03", "-_8=", [], ["x"], [1], {}, {"x": 1}]


def mutant(rng, text):
    """The document with one value changed, taken away or put in."""
    places = []

    def walk(v):
        for k in (v if isinstance(v, dict) else range(len(v)) if isinstance(v, list) else ()):
            places.append((v, k))
            walk(v[k])
    doc = json.loads(text)
    walk(doc)
    at, k = rng.choice(places)
    if isinstance(at, dict) and rng.random() < 0.25:
        del at[k]
    elif rng.random() < 0.2:
        other, name = rng.choice(places)
        at[k] = other[name]
    else:
        at[k] = rng.choice(VALUES)
    try:
        return json.dumps(doc)
    except ValueError:  # it has itself inside
        return text


def judged_alike(lists):
    """Where validation finds an error Pydantic AI refuses; and where 2.33 refuses there is an error, or a warning that says
    so. (Newer ones refuse values of members that validation does not know.)"""
    rng = random.Random(7)
    texts = [dump(m) for m in lists]
    mutants = [mutant(rng, rng.choice(texts)) for _ in range(MUTANTS)]
    found = ask([("pydantic", "?", m) for m in mutants])
    wrong, refused = [], 0
    for text, said in zip(mutants, found):
        why = loads(text)[1]
        refused += bool(why)
        if said[0] != "0" and not why:
            wrong.append(f"loaded, but {said}")
        if EXACT and why and said[0] == "0" and "PAI-1.7" not in said:
            wrong.append(f"no error, but {why}")
    judge(f"{MUTANTS} documents with a mistake are judged alike ({'many' if refused > MUTANTS / 5 else 'few'} refused)", wrong)
    judge("enough of them are refused", [] if MUTANTS / 5 < refused < MUTANTS else [str(refused)])


goldens()
whole = everything()
there_and_back("messages of every kind", [whole])
lists = [generated(random.Random(seed)) for seed in range(GENERATED)]
there_and_back(f"{GENERATED} generated lists", lists)
judged_alike([whole] * 5 + lists)
