#!/usr/bin/env python3
"""scripts/conformance: every rule on small trees, every failing exit, and the real tree's own files."""
import re

from tap import ROOT, Tree, case, check, check_in, main, script, write

MARK = "covers" + ":"       # in two pieces, or this file would carry marks itself
REQUIREMENTS = "tests/conformance/requirements.tsv"
STATES = "tests/conformance/milestones"
LEVELS = "tests/conformance/levels.tsv"
PAGE = "docs/conformance.md"

ROWS = ["id\tmilestone\tpromise",
        "TP-1\tdocuments\tOne a|b.",
        "TP-2\tdocuments\tTwo.",
        "UAP-5.3b\tagents\tThree.",
        "UAP-16.2\tsessions\tFour.",
        "UAP-16.2b\tlater\tFive.",
        "UPP-13\tproviders\tSix."]
OPEN = "open: ground spine providers agents sessions documents later\n"
SOME_DONE = "done: ground, documents\nopen: spine providers agents sessions later\nnote: A note.\n"


def tree(files=(), rows=ROWS, states=OPEN):
    return Tree({REQUIREMENTS: "\n".join(rows) + "\n", STATES: states, **dict(files)})


def row_of(root, ident):
    """The cells of an id's row on the page."""
    for line in (root / PAGE).read_text().splitlines():
        if line.startswith(f"| {ident} |"):
            return [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
    raise AssertionError(f"{ident} has no row")


def tests_of(path, text, ident="TP-1"):
    """What the page names as the tests of an id, given one test file."""
    with tree({path: text}) as root:
        code, _, err = script("conformance", "--root", root)
        check((code, err), (0, ""))
        return row_of(root, ident)[3]


def refused(message, **kind):
    """The tree is refused with exactly this message, and no page is written."""
    with tree(**kind) as root:
        code, _, err = script("conformance", "--root", root)
        check((code, err), (1, message + "\n"))
        check((root / PAGE).exists(), False, "page written")


@case
def mark_before_a_test():
    check(tests_of("tests/unit/test_a.c", f"/* {MARK} TP-1 */\nTEST(one)\n{{\n}}\nTEST(two)\n{{\n}}\n"),
          "[one](../tests/unit/test_a.c)")


@case
def mark_some_lines_before_a_test():
    text = f"/* Why.\n * {MARK} TP-1\n */\nstatic const int rows[] = {{\n    1,\n}};\n\nTEST(one)\n{{\n}}\n"
    check(tests_of("tests/unit/test_a.c", text), "[one](../tests/unit/test_a.c)")


@case
def mark_inside_a_test():
    text = f"TEST(one)\n{{\n    f();\n    g();    // {MARK} TP-1\n}}\n\nTEST(two)\n{{\n}}\n"
    check(tests_of("tests/unit/test_a.c", text), "[one](../tests/unit/test_a.c)")


@case
def mark_after_a_test_on_one_line():
    text = f"TEST(one) {{ f(); }}\n/* {MARK} TP-1 */\nTEST(two) {{ g(); }}\n"
    check(tests_of("tests/unit/test_a.c", text), "[two](../tests/unit/test_a.c)")


@case
def mark_behind_prose():
    for mark in (f"/* Why it is so. {MARK} TP-1 */", f"/* Why\n * it is so. {MARK} TP-1 */", f"int x; // why. {MARK} TP-1"):
        check(tests_of("tests/unit/test_a.c", f"{mark}\nTEST(one)\n{{\n}}\n"), "[one](../tests/unit/test_a.c)")
    for text in (f"/* What it {MARK} nothing */\nTEST(one)\n", f'TEST(one)\n{{\n    f("{MARK} TP-1");\n}}\n'):
        with tree({"tests/t.c": text}) as root:
            check(script("conformance", "--root", root)[0], 0, text)
            check(row_of(root, "TP-1")[4], "open", text)


@case
def mark_in_c_without_a_test_names_the_line():
    text = f"/* {MARK} TP-1 */\nint LLVMFuzzerTestOneInput(void)\n{{\n}}\nTEST(other)\n{{\n}}\n"
    check(tests_of("tests/fuzz/fuzz_a.c", text), "[tests/fuzz/fuzz_a.c:1](../tests/fuzz/fuzz_a.c#L1)")


@case
def marks_in_scripts_name_the_line():
    for path, text in (("tests/cli/run.sh", f"set -e\n# {MARK} TP-1\n"),
                       ("tests/x.py", f'"""\n{MARK} TP-1\n"""\n'),
                       ("tests/interop/a.mjs", f"\n// {MARK} TP-1 as the client sees it\n"),
                       ("tests/cli/show", f"#!/bin/sh\n# {MARK} TP-1\n")):
        check(tests_of(path, text), f"[{path}:2](../{path}#L2)")


@case
def marks_in_talk_files_name_their_test():
    path = "tests/talk/groq/a_stream.talk"
    link = f"[talk_groq_a_stream](../{path})"
    for text in (f"# {MARK} TP-1. A stream.\nprovider groq\n", f"# A stream. trap 3. {MARK} TP-1 trap 4\n",
                 f"# A stream,\n# cut. {MARK} TP-1\nprovider groq\n>> request\n{{}}\n"):
        check(tests_of(path, text), link, text)


@case
def what_vendors_say_is_no_mark():
    text = f"# A stream.\nprovider groq\n>> answers 200\n\n# {MARK} TP-1\n"
    with tree({"tests/talk/groq/a.talk": text}) as root:
        check(script("conformance", "--root", root)[0], 0)
        check(row_of(root, "TP-1")[4], "open")


@case
def lists_of_ids():
    for rest in ("TP-1, UAP-5.3b */", "TP-1 UAP-5.3b*/", "TP-1,UAP-5.3b. And prose with TP-2 */", "TP-1, UAP-5.3b, re-run */"):
        with tree({"tests/t.c": f"/* {MARK} {rest}\nTEST(one)\n"}) as root:
            check(script("conformance", "--root", root)[0], 0, rest)
            check([row_of(root, i)[4] for i in ("TP-1", "TP-2", "UAP-5.3b")], ["shown", "open", "shown"], rest)


@case
def several_tests_of_one_id():
    files = {"tests/b.c": f"/* {MARK} TP-1 */\n/* {MARK} TP-1 */\nTEST(two)\n", "tests/a.sh": f"# {MARK} TP-1\n"}
    with tree(files) as root:
        script("conformance", "--root", root)
        check(row_of(root, "TP-1")[3], "[tests/a.sh:1](../tests/a.sh#L1), [two](../tests/b.c)")


@case
def other_files_carry_no_marks():
    text = f"# {MARK} TP-1\n"
    files = {p: text for p in ("tests/golden/a.json", "tests/data", "tests/node_modules/a.js", "tests/.cache/a.js", "src/a.c")}
    with tree(files) as root:
        check(script("conformance", "--root", root)[0], 0)
        check(row_of(root, "TP-1")[4], "open")


@case
def page_and_summary():
    with tree({"tests/t.c": f"/* {MARK} TP-1, TP-2, UPP-13 */\nTEST(one)\n"}, states=SOME_DONE) as root:
        code, out, err = script("conformance", "--root", root)
        check((code, err), (0, ""))
        check(out.splitlines()[:4], ["ground (done): 0 ids, 0 shown, 0 partly, 0 open, 0 missing",
                                     "spine (open): 0 ids, 0 shown, 0 partly, 0 open, 0 missing",
                                     "providers (open): 1 ids, 1 shown, 0 partly, 0 open, 0 missing",
                                     "agents (open): 1 ids, 0 shown, 0 partly, 1 open, 0 missing"])
        page = (root / PAGE).read_text()
        check_in("make conformance", page)
        check_in("| documents | done | 2 | 2 | 0 | 0 | 0 | 0 | 0 |\n", page)
        check_in("## UAP 1.0, agents (UAP)\n", page)
        check("(ENV)" in page, False, "empty table")
        check(page.endswith("- A note.\n"), True, "notes last")
        check(row_of(root, "TP-1"), ["TP-1", "One a\\|b.", "documents", "[one](../tests/t.c)", "shown"])
        check(row_of(root, "UAP-16.2b"), ["UAP-16.2b", "Five.", "later", "", "open"])


@case
def same_tree_same_bytes():
    with tree({"tests/t.c": f"/* {MARK} TP-1 */\nTEST(one)\n"}) as root:
        script("conformance", "--root", root)
        first = (root / PAGE).read_bytes()
        script("conformance", "--root", root)
        check((root / PAGE).read_bytes(), first)


@case
def done_id_without_a_test_fails():
    with tree({"tests/t.c": f"/* {MARK} TP-1 */\nTEST(one)\n"}, states=SOME_DONE) as root:
        code, out, err = script("conformance", "--root", root)
        check((code, err), (1, f"{REQUIREMENTS}:3: TP-2 has no test though documents is done\n"))
        check_in("documents (done): 2 ids, 1 shown, 0 partly, 0 open, 1 missing\n", out)
        check(row_of(root, "TP-2")[4], "MISSING")
        check(row_of(root, "UAP-5.3b")[4], "open")


CLAUSES = ROWS[:4] + ["UAP-5.3b/1\t-\tFirst.", "UAP-5.3b/2\t-\tSecond.", "UAP-5.3b/3\t-\tThird."] + ROWS[4:]
AGENTS_DONE = OPEN.replace(" agents", "") + "done: agents\n"


@case
def an_id_is_shown_when_all_its_clauses_are():
    for marks, states in (("UAP-5.3b/1, UAP-5.3b/2 UAP-5.3b/3.", ["shown"] * 4),
                          ("UAP-5.3b/3/1/2 */", ["shown"] * 4),
                          ("UAP-5.3b/1/3*/", ["partly", "shown", "open", "shown"]),
                          ("UAP-5.3b/2, TP-1 */", ["partly", "open", "shown", "open"]),
                          ("TP-1 */", ["open", "open", "open", "open"])):
        with tree({"tests/t.c": f"/* {MARK} {marks}\nTEST(one)\n"}, rows=CLAUSES) as root:
            code, _, err = script("conformance", "--root", root)
            check((code, err), (0, ""), marks)
            check([row_of(root, i)[4] for i in ("UAP-5.3b", "UAP-5.3b/1", "UAP-5.3b/2", "UAP-5.3b/3")], states, marks)


@case
def a_partly_shown_id_of_a_done_milestone_is_counted_and_named():
    files = {"tests/t.c": f"/* {MARK} UAP-5.3b/2 */\nTEST(one)\n",
             LEVELS: "level\tfeature\tids\n1\tBoth\tUAP-5.3b, TP-1\n1\tOne\tUAP-5.3b\n"}
    with tree(files, rows=CLAUSES, states=AGENTS_DONE) as root:
        code, out, err = script("conformance", "--root", root)
        check((code, err), (0, ""))
        check_in("agents (done): 1 ids, 0 shown, 1 partly, 0 open, 0 missing\n", out)
        page = (root / PAGE).read_text()
        check_in("| agents | done | 1 | 0 | 1 | 0 | 0 | 3 | 1 |\n", page)
        check_in("\nOf done milestones 1 ids are shown partly: UAP-5.3b.\n", page)
        check_in("| 1 | Both | UAP-5.3b, TP-1 | open |\n| 1 | One | UAP-5.3b | partly |\n", page)
        check(row_of(root, "UAP-5.3b"), ["UAP-5.3b", "Three.", "agents", "", "partly"])
        check(row_of(root, "UAP-5.3b/2"), ["UAP-5.3b/2", "Second.", "", "[one](../tests/t.c)", "shown"])


@case
def an_id_of_a_done_milestone_without_any_clause_shown_fails():
    with tree(rows=CLAUSES, states=AGENTS_DONE) as root:
        code, _, err = script("conformance", "--root", root)
        check((code, err), (1, f"{REQUIREMENTS}:4: UAP-5.3b has no test though agents is done\n"))
        check([row_of(root, i)[4] for i in ("UAP-5.3b", "UAP-5.3b/1")], ["MISSING", "open"])


@case
def marks_of_clauses_are_exact():
    for rest, reason in (("UAP-5.3b */", "covers UAP-5.3b, which has 3 clauses: name those that are shown, as in UAP-5.3b/1"),
                         ("UAP-5.3b/ */", "covers UAP-5.3b, which has 3 clauses: name those that are shown, as in UAP-5.3b/1"),
                         ("UAP-5.3b/4 */", "covers unknown id UAP-5.3b/4"),
                         ("UAP-5.3b/1/9 */", "covers unknown id UAP-5.3b/9"),
                         ("UAP-5.3b/1-2 */", "covers unknown id UAP-5.3b/1-2"),
                         ("TP-1/1 */", "covers unknown id TP-1/1")):
        refused(f"tests/t.c:1: {reason}", files={"tests/t.c": f"/* {MARK} {rest}\nTEST(one)\n"}, rows=CLAUSES)


@case
def malformed_clauses_are_refused():
    for row, reason in (("UPP-13/1\tlater\tText.", "UPP-13/1 is a clause: its milestone is that of UPP-13, and is written -"),
                        ("UPP-13/2\t-\tText.", "UPP-13/2 is clause 1 of UPP-13"),
                        ("UPP-14/1\t-\tText.", "UPP-14/1 stands without a row UPP-14"),
                        ("UPP-14\t-\tText.", "unknown milestone '-' (one of ground, spine, providers, agents, sessions, "
                                            "documents, later)"),
                        ("UPP-13/01\t-\tText.", "'UPP-13/01' is not an id with one of the prefixes TP, AITP, AAP, ENV, UAP, UPP")):
        refused(f"{REQUIREMENTS}:8: {reason}", rows=ROWS + [row])
    refused(f"{REQUIREMENTS}:7: UPP-13 has one clause: it is that clause", rows=ROWS + ["UPP-13/1\t-\tText."])
    refused(f"{LEVELS}:2: unknown id UAP-5.3b/1", files={LEVELS: "level\tfeature\tids\n1\tx\tUAP-5.3b/1\n"}, rows=CLAUSES)


@case
def check_accepts_the_written_page():
    with tree() as root:
        script("conformance", "--root", root)
        check(script("conformance", "--check", "--root", root)[0], 0)


@case
def check_refuses_an_old_or_absent_page_and_writes_nothing():
    stale = f"{PAGE}:1: not up to date; run 'make conformance'\n"
    with tree() as root:
        check(script("conformance", "--check", "--root", root)[::2], (1, stale))
        check((root / PAGE).exists(), False, "page written")
        script("conformance", "--root", root)
        before = (root / PAGE).read_bytes()
        write(root, "tests/t.c", f"/* {MARK} TP-1 */\nTEST(one)\n")
        check(script("conformance", "--check", "--root", root)[::2], (1, stale))
        check((root / PAGE).read_bytes(), before, "page")


@case
def check_still_names_missing_ids():
    with tree(states=SOME_DONE) as root:
        script("conformance", "--root", root)
        code, _, err = script("conformance", "--check", "--root", root)
        check((code, len(err.splitlines())), (1, 2))


@case
def wrong_marks_are_refused():
    for rest, reason in (("TP-1, TP-99 */", "covers unknown id TP-99"),
                         ("UAP-5.3bc */", "covers unknown id UAP-5.3bc"),
                         ("UPP-13-f */", "covers unknown id UPP-13-f"),
                         ("XX-1 */", "covers unknown id XX-1"),
                         ("tp-1 */", f"{MARK} names no id"),
                         ("*/", f"{MARK} names no id"),
                         ("TP-1,", f"the list ends in a comma; begin the next line with {MARK} again")):
        refused(f"tests/t.c:2: {reason}", files={"tests/t.c": f"\n/* {MARK} {rest}\nTEST(one)\n"})


@case
def all_wrong_marks_are_named():
    refused("tests/a.sh:1: covers unknown id TP-8\ntests/b.sh:1: covers unknown id TP-9",
            files={"tests/b.sh": f"# {MARK} TP-9\n", "tests/a.sh": f"# {MARK} TP-8\n"})


@case
def malformed_requirements_are_refused():
    shape = "a row is id<TAB>milestone<TAB>promise, none of them empty"
    prefixes = "TP, AITP, AAP, ENV, UAP, UPP"
    for row, reason in (("UPP-13\tlater\tAgain.", "UPP-13 stands already in line 7"),
                        ("UPP-14\tsoon\tText.", "unknown milestone 'soon' (one of ground, spine, providers, "
                                                "agents, sessions, documents, later)"),
                        ("UPP-14\tlater", shape),
                        ("UPP-14\tlater\ta\tb", shape),
                        ("UPP-14\tlater\t ", shape),
                        ("", shape),
                        ("XX-1\tlater\tText.", f"'XX-1' is not an id with one of the prefixes {prefixes}"),
                        ("UPP-x\tlater\tText.", f"'UPP-x' is not an id with one of the prefixes {prefixes}"),
                        ("UPP-2\tlater\tText.", "UPP-2 belongs before UPP-13")):
        refused(f"{REQUIREMENTS}:8: {reason}", rows=ROWS + [row])
    refused(f"{REQUIREMENTS}:1: the header row must be id<TAB>milestone<TAB>promise", rows=ROWS[1:])


@case
def order_is_natural():
    ids = ["TP-2", "TP-10", "AITP-1", "AAP-1", "ENV-1", "UAP-2.6", "UAP-2.10", "UAP-10.1", "UAP-10.1a", "UPP-1"]
    with tree(rows=ROWS[:1] + [f"{i}\tlater\tText." for i in ids]) as root:
        check(script("conformance", "--root", root)[0], 0)


@case
def malformed_milestones_are_refused():
    for states, reason in ((OPEN + "done: soon\n", "2: unknown milestone 'soon'"),
                           (OPEN + "done: agents\n", "2: 'agents' is named twice"),
                           (OPEN.replace(" spine", ""), "1: 'spine' is neither done nor open"),
                           ("# fine\n\n" + OPEN + "agents\n", "4: a line begins with 'done:', 'open:', 'note:' or '#'")):
        refused(f"{STATES}:{reason}", states=states)


@case
def levels_say_what_their_ids_say():
    levels = "level\tfeature\tids\n1: Core\tDocuments\tTP-1\n1: Core\tBoth\tTP-1, UAP-5.3b\n2: More\tThree\tUAP-5.3b, TP-2\n"
    with tree({LEVELS: levels, "tests/unit/test_a.c": f"/* {MARK} TP-1 */\nTEST(one)\n{{\n}}\n"}, states=SOME_DONE) as root:
        check(script("conformance", "--root", root)[0], 1)      # TP-2 is missing
        page = (root / PAGE).read_text()
        check_in("| 1: Core | Documents | TP-1 | shown |\n| 1: Core | Both | TP-1, UAP-5.3b | open |\n"
                 "| 2: More | Three | UAP-5.3b, TP-2 | MISSING |\n", page)


@case
def malformed_levels_are_refused():
    for text, reason in (("level\tids\n", "1: the header row must be level<TAB>feature<TAB>ids"),
                         ("level\tfeature\tids\n1\tTP-1\n", "2: a row is level<TAB>feature<TAB>ids, none of them empty"),
                         ("level\tfeature\tids\n1\tx\tTP-1, TP-9\n", "2: unknown id TP-9")):
        refused(f"{LEVELS}:{reason}", files={LEVELS: text})


@case
def absent_files_are_refused():
    with tree() as root:
        (root / STATES).unlink()
        code, _, err = script("conformance", "--root", root)
        check(code, 1)
        check_in(f"{STATES}:1: cannot be read: ", err)


@case
def the_real_files_are_well_formed():
    real = {p: (ROOT / p).read_text(encoding="utf-8") for p in (REQUIREMENTS, STATES, LEVELS)}
    with Tree(real) as root:        # without the tests, so ids of done milestones are missing and nothing else is wrong
        _, _, err = script("conformance", "--root", root)
        check([line for line in err.splitlines() if not line.endswith(" is done")], [], "problems")
    long = [row for row in real[REQUIREMENTS].splitlines() if len(row.split("\t")[2]) > 110]
    check(long, [], "promises over 110 characters")


if __name__ == "__main__":
    main()
