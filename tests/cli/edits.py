#!/usr/bin/env python3
"""Documents of every dialect, edited, come back token for token: written in their own dialect, and by way of a thread.

Single edits of a small plain document (tests/fixtures/documents), and one to three edits by chance of that one and of
the golden ones. What weft refuses, and says where, is counted; all else that is not the document again is a failure.

usage: edits.py WEFT   (TAP)
WEFT_EDITS=N: about so many documents of each dialect and kind (5000); `all`: every single edit, and 20000 by chance.
WEFT_EDITS_SEED=N: other ones.
"""
import concurrent.futures
import copy
import glob
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

WEFT = os.path.abspath(sys.argv[1])
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HERE = tempfile.mkdtemp(prefix="weft-edits-")
SEED = int(os.environ.get("WEFT_EDITS_SEED", "6"))
ALL = os.environ.get("WEFT_EDITS") == "all"
COUNT = 20000 if ALL else int(os.environ.get("WEFT_EDITS", "5000"))
FLOOR = 0.9  # so many of them come back: 98 of 100 where most are refused
BATCH = 5000  # documents for one process of weft


# ---- JSON that is spelled as it was read: the order of members, doubled ones, numbers

class Number(str):
    """As it is spelled."""


class Object(list):
    """Members, each a name and a value."""


def parse(text):
    return json.loads(text, parse_int=Number, parse_float=Number, object_pairs_hook=Object)


def spell(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Object):
        return "{" + ",".join(f"{spell(name)}:{spell(v)}" for name, v in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spell, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def containers(value):
    """Every object and list, from the outside in."""
    if isinstance(value, list):
        yield value
        for item in value:
            yield from containers(item[1] if isinstance(value, Object) else item)


# ---- Edits: each gives all that a container's items can become by one at the i-th

def removed(items, i, words):
    yield items[:i] + items[i + 1:]


def doubled(items, i, words):
    yield items[:i] + [items[i]] + items[i:]


def moved(items, i, words):
    rest = items[:i] + items[i + 1:]
    for k in range(len(items)):
        if k != i:
            yield rest[:k] + [items[i]] + rest[k:]


def renamed(items, i, words):
    if isinstance(items, Object):
        for name in words.names:
            yield items[:i] + [(name, items[i][1])] + items[i + 1:]


def with_value(items, i, value):
    return items[:i] + [(items[i][0], value) if isinstance(items, Object) else value] + items[i + 1:]


def spoiled(items, i, words):
    for value in AWKWARD:
        yield with_value(items, i, value)


def replaced(items, i, words):
    for value in words.values:
        yield with_value(items, i, value)


def exchanged(items, i, words):
    """With what a member of this name is elsewhere, however large."""
    if isinstance(items, Object):
        for value in words.of_name.get(items[i][0], []):
            yield with_value(items, i, value)


def added(items, i, words):
    for item in words.members if isinstance(items, Object) else words.values:
        yield items[:i] + [item] + items[i:]


NUMBERS = ("0", "1", "-1", "1.0", "1e2", "18446744073709551616")
AWKWARD = [None, True, False, "", "x", [], Object(), *map(Number, NUMBERS)]
FEW = (removed, doubled, moved, spoiled)
MANY = (renamed, replaced, exchanged, added)


class Words:
    """What documents of a dialect are made of: names of members, and values."""

    def __init__(self, documents):
        documents = copy.deepcopy(documents)  # nothing that is edited is put into itself
        seen = [m for d in documents for c in containers(d) if isinstance(c, Object) for m in c]
        small = {spell(v): v for _, v in seen}
        self.values = [v for text, v in small.items() if len(text) < 120]
        self.names = sorted({name for name, _ in seen})
        self.of_name = {n: list({spell(v): v for name, v in seen if name == n}.values()) for n in self.names}
        self.members = [(name, v) for name in self.names for v in ("x", None)]


def places(document):
    """Where there is something to edit, and what can be done there; behind the last item one can be added."""
    for items in containers(document):
        for i in range(len(items)):
            yield items, i, FEW + MANY
        yield items, len(items), (added,)


def single_edits(small, golden, r):
    """Every one; or the few, and so much of the many, evenly, that there are as many as are wanted."""
    words = Words([small, *golden])
    sizes = {edit: 0 for edit in FEW + MANY}
    for items, i, edits in places(small):
        for edit in edits:
            sizes[edit] += sum(1 for _ in edit(items, i, words))
    few, many = (sum(sizes[edit] for edit in edits) for edits in (FEW, MANY))
    share = 1 if ALL else (COUNT - few) / many
    for items, i, edits in list(places(small)):
        was = copy.copy(items)
        for edit in edits:
            for now in edit(was, i, words):
                if edit in FEW or r.random() < share:
                    items[:] = now
                    yield spell(small)
        items[:] = was


def chance_edits(small, golden, r):
    """One to three, half of them of the small document, which differs least from what is plain."""
    words = Words([small, *golden])
    for _ in range(COUNT):
        document = copy.deepcopy(r.choice((small, r.choice(golden))))
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            items, i, edits = r.choice(list(places(document)))
            ways = list(r.choice(edits)(items, i, words))
            if ways:
                items[:] = copy.deepcopy(r.choice(ways))
        yield spell(document)


def read(path):
    with open(path) as f:
        return parse(f.read())


def small_document(dialect):
    return f"{TESTS}/fixtures/documents/{dialect}.json"


def golden_documents(dialect):
    folder = f"{TESTS}/golden/{dialect}"
    return sorted(glob.glob(f"{folder}/*.json") + glob.glob(f"{folder}/documents/*.json"))


# ---- What weft makes of them

def weft(*args, **more):
    return subprocess.run([WEFT, *args], capture_output=True, text=True, timeout=600, **more)


def dialects():
    """All that there are, by what is said of one that there is not."""
    return re.search("there are: (.*)", weft("convert", "--to", "?").stderr)[1].split(", ")


class Failure(Exception):
    """What no document may do, and one that does it."""

    def __init__(self, what, document):
        super().__init__(what)
        self.document = document


class Refused(str):
    """Why."""


def attempt(documents, *args):
    """What each document became, or a Refused; and what is wrong with an outcome that is neither."""
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        with open(f"{folder}/in", "w") as f:
            f.writelines(f"{d}\n" for d in documents)
        p = weft("convert", *args, "--lines", "in", cwd=folder)
    refused, invalid = {}, False
    for line in p.stderr.split("\n")[:-1]:
        told = re.match(r"(weft convert: )?in:([0-9]+): (.+)", line)  # without the name it is a loss, or a warning
        if not told:
            return [], f"says '{line}'"
        if told[1]:
            refused[int(told[2])] = Refused(told[3])
        invalid |= told[3].startswith("written: ")  # and was written all the same
    written = p.stdout.split("\n")[:-1]
    if p.returncode != (1 if refused or invalid else 0) or len(written) + len(refused) != len(documents):
        return [], f"exit {p.returncode}: {len(written)} written and {len(refused)} refused of {len(documents)}"
    rest = iter(written)
    return [refused[n] if n in refused else next(rest) for n in range(1, len(documents) + 1)], None


def convert(source, target, documents, *options):
    args = ("--from", source, "--to", target, *options)
    results, wrong = attempt(documents, *args)
    if not wrong:
        return results
    while len(documents) > 1:
        half = documents[:len(documents) // 2]
        documents = half if attempt(half, *args)[1] else documents[len(half):]
    raise Failure(f"weft convert {' '.join(args)}: {wrong}", documents[0])


def difference(document, result):
    if isinstance(result, Refused):
        return result
    at = max(0, len(os.path.commonprefix([document, result])) - 40)
    return f"'{document[at:at + 120]}' became '{result[at:at + 120]}'"


def compare(title, documents, results):
    """Every result is its document, token for token."""
    wrong = [(len(d), d, r) for d, r in zip(documents, results)
             if isinstance(r, Refused) or r != d and spell(parse(r)) != d]
    if wrong:
        _, document, result = min(wrong)
        raise Failure(f"{title}, {len(wrong)} of {len(documents)} are not what they were; the smallest: "
                      + difference(document, result), document)


def come_back(dialect, documents):
    """How many; all but those that are refused when they are read."""
    own = convert(dialect, dialect, documents, "--verify")
    kept = [(d, r) for d, r in zip(documents, own) if not isinstance(r, Refused) or "written back as" in r]
    documents, own = map(list, zip(*kept)) if kept else ([], [])
    compare("written back", documents, own)
    threads = convert(dialect, "thread", documents)
    for d, r in zip(documents, threads):
        if isinstance(r, Refused):
            raise Failure(f"as a thread it is refused: {r}", d)
    compare("by way of a thread", documents, convert("thread", dialect, threads))
    return len(documents)


# ---- Tests

def test_small_documents(names):
    """They are plain: what weft itself writes of the one thread."""
    thread = spell(read(small_document("thread")))
    for name in names:
        compare(f"{name}.json", [spell(read(small_document(name)))], convert("thread", name, [thread]))
    return f"{len(names)} of them"


def test_edits(dialect, edits):
    r = random.Random(f"{SEED} {dialect} {edits.__name__}")
    golden = [read(path) for path in golden_documents(dialect)]
    documents = list(dict.fromkeys(edits(read(small_document(dialect)), golden, r)))
    back = sum(come_back(dialect, documents[at:at + BATCH]) for at in range(0, len(documents), BATCH))
    told = f"{len(documents)} tried, {len(documents) - back} refused, {back} came back"
    if back < FLOOR * len(documents):
        raise Failure(f"{told}: too few", documents[0])
    return told


def outcome(title, test, *args):
    """Whether it is well, and what is to be said of it."""
    try:
        return True, [test(*args)]
    except Failure as e:
        path = f"{HERE}/{title.replace(' ', '-')}.json"
        with open(path, "w") as f:
            f.write(f"{e.document}\n")
        return False, [str(e), f"WEFT_EDITS_SEED={SEED} WEFT_EDITS={'all' if ALL else COUNT}", f"{path}:", e.document]


def main():
    names, results = dialects(), []
    tests = [("small documents", test_small_documents, names)]
    tests += [(f"{edits.__name__.replace('_', ' ')} of {name}", test_edits, name, edits)
              for name in names for edits in (single_edits, chance_edits)]
    with concurrent.futures.ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork")) as pool:
        for (title, *_), done in zip(tests, [pool.submit(outcome, *t) for t in tests]):
            good, told = done.result()
            results.append(good)
            print(f"{'ok' if good else 'not ok'} {len(results)} - {title}")
            for line in told:
                print(f"# {line}", flush=True)
    print(f"1..{len(results)}")
    if all(results):
        shutil.rmtree(HERE)
    return 0 if all(results) else 1


sys.exit(main())
