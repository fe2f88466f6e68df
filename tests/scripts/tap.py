"""A TAP harness for tests of scripts: @case marks a test, check() compares, main() runs them all.

A case that cannot run here returns the reason, and counts as skipped.
One case by name: python3 tests/scripts/test_tally.py NAME
"""
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = [sys.executable, "-S"]  # for scripts of the standard library alone: packages of the machine cost most of a start
cases = []


def case(function):
    cases.append(function)
    return function


def check(got, want, what="value"):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def check_in(part, whole):
    if part not in whole:
        raise AssertionError(f"{part!r} is not in {whole!r}")


def script(name, *args):
    """Runs scripts/NAME. -> (exit code, standard output, standard error)"""
    p = subprocess.run([*PYTHON, ROOT / "scripts" / name, *args], capture_output=True, encoding="utf-8")
    return p.returncode, p.stdout, p.stderr


class Tree(tempfile.TemporaryDirectory):
    """A temporary folder with files in it: with Tree({path: text}) as root."""

    def __init__(self, files):
        super().__init__()
        for path, text in files.items():
            write(self.name, path, text)

    def __enter__(self):
        return Path(super().__enter__())


def write(root, path, text):
    target = Path(root, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def main():
    chosen = [c for c in cases if len(sys.argv) < 2 or c.__name__ in sys.argv[1:]]
    if not chosen:
        sys.exit(f"no test is called {' or '.join(sys.argv[1:])}")
    print(f"1..{len(chosen)}")
    failed = False
    for n, run in enumerate(chosen, 1):
        try:
            skipped = run()
            print(f"ok {n} - {run.__name__}" + (f" # SKIP {skipped}" if skipped else ""))
        except Exception:
            failed = True
            print(f"not ok {n} - {run.__name__}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
    sys.exit(failed)
