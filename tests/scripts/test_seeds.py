#!/usr/bin/env python3
"""tests/fuzz/seed.py: the corpora that are kept are those that it writes."""
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import ROOT, case, check, main

KEPT = ROOT / "tests" / "fuzz" / "corpus"


def seed(folder):
    """Every file that seed.py writes into this folder. -> {path below it: bytes}"""
    p = subprocess.run([sys.executable, ROOT / "tests" / "fuzz" / "seed.py", folder], capture_output=True, encoding="utf-8")
    check((p.returncode, p.stdout, p.stderr), (0, "", ""), "seed.py")
    return {f.relative_to(folder): f.read_bytes() for f in Path(folder).rglob("*") if f.is_file()}


@case
def corpora_are_as_seed_writes_them():
    with tempfile.TemporaryDirectory() as folder:
        made = seed(folder)
    lacking = sorted(str(path) for path in made if not (KEPT / path).is_file())
    differing = sorted(str(path) for path, data in made.items()
                       if (KEPT / path).is_file() and (KEPT / path).read_bytes() != data)
    check(lacking, [], "not in tests/fuzz/corpus (run tests/fuzz/seed.py, and commit what it writes)")
    check(differing, [], "different in tests/fuzz/corpus (run tests/fuzz/seed.py, and commit what it writes)")


@case
def every_talk_with_a_fuzzer_is_in_its_corpus():
    with tempfile.TemporaryDirectory() as folder:
        made = {str(path) for path in seed(folder)}
    for vendor in ["anthropic", "google", "ollama", "openai_chat", "openai_responses"]:
        answered = [t for t in (ROOT / "tests" / "talk" / vendor).glob("*.talk")
                    if b"\n>> answers 200\n" in t.read_bytes()]
        check(len(answered) > 10, True, f"talks of {vendor} that are answered")
        check([t.stem for t in answered if f"{vendor}/{t.stem}" not in made], [], f"talks of {vendor} without a seed")


if __name__ == "__main__":
    main()
