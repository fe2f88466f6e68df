#!/usr/bin/env python3
"""bench/instructions --stories: what passes, fails and is skipped, with a valgrind that says what it is told."""
import json
import os
import subprocess
import sys

from tap import PYTHON, ROOT, Tree, case, check, check_in, main

# Every process costs a million and so many instructions for each repetition.
VALGRIND = """#!/bin/sh
out=${2#--callgrind-out-file=}
for times; do :; done
printf 'ob=(1) /x/weft\\n1 %s\\nob=(2) /x/libuv.so.1\\n1 %s\\n' $((1000000 + times * COST)) $((times * $$)) >"$out"
exit CODE
"""
DEPENDENCIES = [{"name": n, "version": "1.2"} for n in ("libllhttp", "sqlite3", "yyjson")]


class Build(Tree):
    """A build folder, and a valgrind by which everything costs the same."""

    def __init__(self, cost=1000, code=0, compiler="GCC: (Debian 12.2.0-14) 12.2.0"):
        super().__init__({"bin/valgrind": VALGRIND.replace("COST", str(cost)).replace("CODE", str(code)),
                          "bench/bench_doors": f"\x7fELF\0{compiler}\0",
                          "meson-info/intro-dependencies.json": json.dumps(DEPENDENCIES),
                          "meson-info/intro-buildoptions.json": json.dumps([{"name": "buildtype", "value": "release"}])})
        os.chmod(f"{self.name}/bin/valgrind", 0o755)

    def run(self, file, *args, valgrind=True):
        """-> (exit code, [line of standard output], standard error)"""
        path = f"{self.name}/bin:/usr/bin:/bin" if valgrind else f"{self.name}/none"
        p = subprocess.run([*PYTHON, ROOT / "bench/instructions", f"{self.name}/bench", "--stories", file, *args],
                           capture_output=True, text=True, env={"PATH": path})
        return p.returncode, p.stdout.splitlines(), p.stderr


def compared(cost, edit=lambda text: text, words=("delta",), **build):
    """Numbers written at 1,000 instructions and edited, compared at `cost`."""
    with Tree({}) as folder:
        file = folder / "numbers.tsv"
        first = Build()
        check(first.run(file, "--write"), (0, [], ""))
        file.write_text(edit(file.read_text()))
        return Build(cost, **build).run(file, *words)


@case
def the_same_number_passes():
    code, out, err = compared(1000)
    check((code, err), (0, ""))
    check(out, ["1..2", "ok 1 - delta: 1,000 instructions, 1,000 in the file: +0.0%",
                "ok 2 - agent delta: 1,000 instructions, 1,000 in the file: +0.0%"])


@case
def three_percent_pass():
    check(compared(1030)[0], 0)
    check(compared(970)[0], 0)


@case
def more_fails_and_says_what_to_do():
    code, out, _ = compared(1031)
    check(code, 1)
    check(out[1], "not ok 1 - delta: 1,031 instructions, 1,000 in the file: +3.1%")
    check_in("bench/instructions ", out[-1])
    check_in("numbers.tsv --write", out[-1])


@case
def less_fails_too():
    code, out, _ = compared(969)
    check(code, 1)
    check(out[1], "not ok 1 - delta: 969 instructions, 1,000 in the file: -3.1%")
    check_in("--write", out[-1])


@case
def every_story_is_compared():
    code, out, _ = compared(1000, words=())
    check((code, out[0], len(out)), (0, f"1..{len(out) - 1}", len(out)))
    for name in ("run", "delta", "page", "convert", "step", "chat completions", "responses", "assistants", "uap", "api/chat",
                 "process", "aitp", "envelope"):
        check_in(name, "\n".join(out))


@case
def another_compiler_is_skipped_by_name():
    code, out, _ = compared(2000, compiler="GCC: (Debian 14.2.0-19) 14.2.0")
    check(code, 0)
    check(out[1], "ok 1 - delta # SKIP compiler gcc 14.2.0, in the file gcc 12.2.0")


@case
def other_libraries_are_skipped_by_name():
    code, out, _ = compared(2000, lambda text: text.replace("yyjson 1.2", "yyjson 1.1"))
    check(code, 0)
    check_in("# SKIP libraries ", out[1])
    check_in("yyjson 1.1", out[1])


@case
def without_valgrind_it_is_skipped():
    with Tree({}) as folder:
        code, out, _ = Build().run(folder / "none.tsv", "delta", valgrind=False)
    check((code, out[1]), (0, "ok 1 - delta # SKIP valgrind is not installed"))


@case
def a_story_without_a_row_fails():
    code, out, _ = compared(1000, lambda text: text.replace("agent delta\t1000\n", ""))
    check((code, out[2]), (1, "not ok 2 - agent delta: 1,000 instructions, and the file has no such row"))


@case
def a_row_without_a_story_fails():
    code, out, _ = compared(1000, lambda text: text + "gone\t5\n")
    check((code, out[0], out[1]), (1, "1..3", "not ok 3 - gone: a row of the file without a story"))


@case
def a_program_that_fails_is_named():
    code, out, _ = compared(1000, code=3)
    check(code, 1)
    check_in("bench_run delta 60000: exit 3", out[1])


@case
def writing_some_keeps_the_others():
    with Tree({}) as folder:
        file = folder / "numbers.tsv"
        Build().run(file, "--write")
        Build(2000).run(file, "agent delta", "--write")
        text = file.read_text()
    check_in("agent delta\t2000\n", text)
    check_in("\ndelta\t1000\n", text)


@case
def numbers_of_two_compilers_are_not_mixed():
    with Tree({}) as folder:
        file = folder / "numbers.tsv"
        Build().run(file, "--write")
        code, _, err = Build(2000, compiler="GCC: (Debian 14.2.0-19) 14.2.0").run(file, "delta", "--write")
        text = file.read_text()
    check((code, "2000" in text), (1, False))
    check_in("write all of them", err)


@case
def a_failure_writes_nothing():
    with Tree({"numbers.tsv": "delta\t7\n"}) as folder:
        code, _, err = Build(code=3).run(folder / "numbers.tsv", "--write")
        check((code, (folder / "numbers.tsv").read_text()), (1, "delta\t7\n"))
        check_in("exit 3", err)


if __name__ == "__main__":
    main()
