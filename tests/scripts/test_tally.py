#!/usr/bin/env python3
"""scripts/tally: counts, names, exits, on files as meson writes them and on a real `meson test`."""
import json
import shutil
import subprocess

from tap import Tree, case, check, check_in, main, script

TAP = """
  <testsuite name="p.p:unit / str" tests="4" errors="0" failures="1" skipped="1" time="0.1">
    <testcase name="1 - a" classname="p.p:unit / str" />
    <testcase name="2 - b" classname="p.p:unit / str"><failure /></testcase>
    <testcase name="3 - c" classname="p.p:unit / str"><skipped /><system-out>why</system-out></testcase>
    <testcase name="4 - d" classname="p.p:unit / str" />
    <system-out>1..4</system-out>
  </testsuite>"""
PLAIN = """
  <testsuite name="p" tests="3" errors="1" failures="0" skipped="0" time="0.1">
    <testcase name="p / good" classname="p" time="0.1" />
    <testcase name="p / hard" classname="p" time="0.1"><error>why</error><system-err>x</system-err></testcase>
    <testcase name="p / slow" classname="p" time="1.0" />
  </testsuite>"""
GOOD = '<testsuite name="p.p / t"><testcase name="1 - a" /><testcase name="2 - b" /></testsuite>'


def junit(*suites):
    return f"<?xml version='1.0' encoding='utf-8'?>\n<testsuites tests='0'>{''.join(suites)}</testsuites>"


def log(*results):
    return "".join(json.dumps({"name": name, "result": result, "stdout": "a\u2028b"}, ensure_ascii=False) + "\n"
                   for name, result in results)


def tally(files, *names):
    """-> (exit code, [line])"""
    with Tree(files) as root:
        code, out, err = script("tally", *(root / n for n in names or ["a.junit.xml"]))
        check(err, "")
        return code, out.replace(f"{root}/", "").splitlines()


@case
def all_passed():
    check(tally({"a.junit.xml": junit(GOOD)}), (0, ["2 passed, 0 failed"]))


@case
def failures_errors_and_skips_are_counted():
    check(tally({"a.junit.xml": junit(TAP, PLAIN)}),
          (1, ["FAILED p.p:unit / str: 2 - b", "FAILED p: p / hard", "4 passed, 2 failed, 1 skipped"]))


@case
def skips_alone_do_not_fail():
    check(tally({"a.junit.xml": junit('<testsuite name="p"><testcase name="x"><skipped/></testcase></testsuite>')}),
          (0, ["0 passed, 0 failed, 1 skipped"]))


@case
def several_files_are_summed():
    check(tally({"a.junit.xml": junit(GOOD), "b.junit.xml": junit(TAP)}, "a.junit.xml", "b.junit.xml"),
          (1, ["FAILED p.p:unit / str: 2 - b", "4 passed, 1 failed, 1 skipped"]))


@case
def a_test_run_twice_counts_twice():
    check(tally({"a.junit.xml": junit(GOOD.replace("2 - b", "1 - a"))}), (0, ["2 passed, 0 failed"]))


@case
def a_suite_may_be_the_root():
    check(tally({"a.junit.xml": GOOD}), (0, ["2 passed, 0 failed"]))


@case
def no_tests_fail():
    for text in (junit(), junit('<testsuite name="p" tests="0"/>')):
        check(tally({"a.junit.xml": text}), (1, ["no tests found", "0 passed, 0 failed"]))


@case
def unreadable_files_fail():
    code, out = tally({"a.junit.xml": junit(GOOD), "b.junit.xml": "<oops"}, "a.junit.xml", "b.junit.xml", "c.junit.xml")
    check((code, len(out), out[-1]), (1, 3, "2 passed, 0 failed"))
    check_in("b.junit.xml: cannot be read: ", out[0])
    check_in("c.junit.xml: cannot be read: ", out[1])
    for text in ("{", "[]", "{}"):
        code, out = tally({"a.junit.xml": junit(GOOD), "a.json": text})
        check((code, out[-1]), (1, "0 passed, 0 failed"), text)


@case
def no_file_is_wrong_usage():
    check(script("tally")[0], 1)


@case
def a_program_that_failed_behind_its_cases_is_found():
    for result in ("ERROR", "TIMEOUT", "INTERRUPT", "FAIL"):
        check(tally({"a.junit.xml": junit(GOOD), "a.json": log(("p / other", "OK"), ("p / t", result))}),
              (1, [f"FAILED p / t: the program itself ({result.lower()})", "2 passed, 1 failed"]))


@case
def a_timeout_written_as_passed_is_found():
    check(tally({"a.junit.xml": junit(PLAIN), "a.json": log(("p / slow", "TIMEOUT"), ("p / hard", "ERROR"))}),
          (1, ["FAILED p: p / hard", "FAILED p: p / slow", "1 passed, 2 failed"]))


@case
def a_failure_in_both_files_counts_once():
    check(tally({"a.junit.xml": junit(TAP), "a.json": log(("p:unit / str", "FAIL"))})[1][-1], "2 passed, 1 failed, 1 skipped")


@case
def good_results_add_nothing():
    results = log(("p / t", "OK"), ("p / u", "SKIP"), ("p / v", "EXPECTEDFAIL"))
    check(tally({"a.junit.xml": junit(GOOD), "a.json": results}), (0, ["2 passed, 0 failed"]))


@case
def a_real_meson_run():
    if not shutil.which("meson") or not shutil.which("ninja"):
        return "meson or ninja is not here"
    tests = {"good": "echo 1..2; echo ok 1 - a; echo ok 2 - b",
             "bad": "echo 1..3; echo ok 1 - a; echo not ok 2 - b; echo ok 3 - c \\# SKIP why",
             "leak": "echo 1..1; echo ok 1 - a; exit 23",
             "short": "echo 1..3; echo ok 1 - a",
             "crash": "echo 1..2; echo ok 1 - a; kill -SEGV $$"}
    rows = [f"test('{n}', sh, args: ['-c', '{c}'], protocol: 'tap')" for n, c in tests.items()]
    rows += [f"test('{n}', sh, args: ['-c', '{c}'], timeout: 1)"
             for n, c in {"plain": "true", "broken": "false", "skipped": "exit 77", "hangs": "exec sleep 30"}.items()]
    with Tree({"meson.build": "project('p')\nsh = find_program('sh')\n" + "\n".join(rows) + "\n"}) as root:
        for command in (["setup", root / "b", root], ["test", "-C", root / "b", "--no-rebuild"]):
            subprocess.run(["meson", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        code, out, err = script("tally", root / "b/meson-logs/testlog.junit.xml")
    check((code, err, out.splitlines()[-1]), (1, "", "7 passed, 6 failed, 2 skipped"))
    for name in ("bad: 2 - b", "leak: the program itself", "short: the program itself", "crash: the program itself",
                 "broken", "hangs"):
        check_in(name, out)


if __name__ == "__main__":
    main()
