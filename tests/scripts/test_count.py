#!/usr/bin/env python3
"""scripts/count: each figure and list, on a small tree and on objects as meson names them."""
import shutil
import subprocess

from tap import Tree, case, check, check_in, main, script

BLOCK = "".join(f"    call({n});\n" for n in range(9))
FILES = {
    "src/base/a.c": f'#include "base/a.h"\n\nint a_used(void)\n{{\n{BLOCK}}}\n\nstatic int\nlong_one(int x,\n    int y)\n{{\n{BLOCK * 2}}}\n',
    "src/base/a.h": "int a_used(void);\n",
    "src/server/doors/shared.c": '#include "server/doors/one/one.h"\n',
    "src/server/doors/doors.c": '#include "server/doors/one/one.h"\n',
    "src/server/doors/one/one.h": "",
    "src/server/doors/one/routes.c": '#include "server/doors/one/one.h"\n#include "server/doors/objects/find.h"\n',
    "src/server/doors/two/routes.c": '#include "base/a.h"\n#include "server/doors/one/one.h"\n',
    **{f"src/full/{n}.c": "" for n in range(46)},
    **{f"src/fits/{n}.c": "" for n in range(45)},
}
OBJECTS = {
    "src/liba.p/base_a.c.o": "int a_alone(void){return 1;} int a_tested(void){return 2;} int a_used(void){return 3;} int upp_public(void){return 4;}",
    "src/liba.p/base_b.c.o": "int a_used(void); int b(void){return a_used();}",
    "src/weft.p/cli_main.c.o": "int b(void); int main(void){return b();}",
    "tests/unit.p/unit_base_test_a.c.o": "int a_tested(void), a_used(void); int test(void){return a_tested() + a_used();}",
}


def count(tree, *args):
    code, out, err = script("count", str(tree), *args)
    check((code, err), (0, ""))
    return out


def row(out, title):
    return next(line.split()[-1] for line in out.splitlines() if line.startswith(title))


@case
def figures():
    with Tree(FILES) as tree:
        out = count(tree)
    check(row(out, "lines"), str(sum(text.count("\n") for path, text in FILES.items())))
    check(row(out, "files"), str(len(FILES)))
    check(row(out, "functions"), "2")
    check_in("    23 lines  src/base/a.c:16: long_one\n", out)


@case
def doors_that_include_doors():
    with Tree(FILES) as tree:
        out = count(tree)
    check(row(out, "includes between doors"), "2")
    check_in("src/server/doors/shared.c:1: server/doors/one/one.h\n", out)
    check_in("src/server/doors/two/routes.c:2: server/doors/one/one.h\n", out)


@case
def folders_that_are_full():
    with Tree(FILES) as tree:
        out = count(tree)
    check(row(out, "folders of more than 45 files"), "1")
    check_in("  src/full: 46\n", out)


@case
def blocks_that_stand_twice():
    with Tree(FILES) as tree:
        out = count(tree)
    check_in("src/base/a.c:20 and src/base/a.c:29: 9 lines\n", out)
    seven = "".join(f"    call({n});\n\n" for n in range(7))
    with Tree({"src/a.c": "\n" + seven, "src/b.c": "#if 1\n" + seven, "src/c.c": seven * 2}) as tree:
        check(row(count(tree), "duplicates of 8 lines"), "0")
    with Tree({"src/a.c": seven + "one\n", "src/b.c": seven + "  one\n"}) as tree:
        check_in("src/a.c:1 and src/b.c:1: 8 lines\n", count(tree))


@case
def externs_that_nobody_shares():
    if not shutil.which("cc") or not shutil.which("nm"):
        return "no compiler"
    with Tree({"src/base/a.c": "", "include/upp/a.h": "int upp_public(void);\n"}) as tree:
        for path, text in OBJECTS.items():
            (tree / "build" / path).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cc", "-xc", "-c", "-", "-o", tree / "build" / path], input=text, encoding="utf-8", check=True)
        out = count(tree, "--build", str(tree / "build"))
    check(row(out, "externs of one file"), "1")
    check(row(out, "externs only for tests"), "1")
    check_in("  src/base_a.c: a_alone\n", out)
    check_in("  src/base_a.c: a_tested\n", out)


@case
def refuses_what_is_no_tree():
    with Tree({"src/a.c": ""}) as tree:
        code, _, err = script("count", str(tree / "src"))
        check((code, err), (1, f"count: {tree / 'src'}: it has no folder src\n"))
        code, _, err = script("count", str(tree), "--build", str(tree / "none"))
        check((code, err), (1, f"count: {tree / 'none'}: no such folder\n"))
        code, _, err = script("count", str(tree), "--build", str(tree / "src"))
        check((code, err), (1, f"count: {tree / 'src'}: no objects of src there: build the tree first\n"))


main()
