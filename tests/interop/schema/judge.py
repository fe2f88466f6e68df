#!/usr/bin/env python3
"""judge.py LEFT-OUT CASES: the lines of schema_cases without those that are left out, a result a file.

Lines of LEFT-OUT: file, group, case, reason, with tabs between; `*` is any. A line that leaves out nothing that would fail
is a failure itself: the list is never longer than it has to be.
"""
import sys
from fnmatch import fnmatchcase

left_out = [line.split("\t") for line in open(sys.argv[1], encoding="utf-8").read().splitlines() if line and line[0] != "#"]
needed = [0] * len(left_out)
files = {}
for line in open(sys.argv[2], encoding="utf-8"):
    file, group, test, result, seen = line.rstrip("\n").split("\t")
    group, test = group[1:-1], test[1:-1]
    rows = [i for i, (f, g, t, _) in enumerate(left_out)
            if fnmatchcase(file, f) and g in ("*", group) and t in ("*", test)]
    if rows:
        needed[rows[0]] += result == "bad"
        continue
    count, wrong = files.setdefault(file, [0, []])
    files[file][0] += 1
    if result == "bad":
        wrong.append(f"{group} / {test}: {seen}")
for file, (count, wrong) in files.items():
    print("bad" if wrong else "ok", f"schema suite: {file}, {count} cases", " | ".join(wrong), sep="\t")
for row, n in zip(left_out, needed):
    if len(row) != 4 or not row[3] or not n:
        print("bad", f"schema suite: the list leaves out {' / '.join(row[:3])}", "none of its cases would fail", sep="\t")
print("ok" if sum(count for count, _ in files.values()) > 500 else "bad", "schema suite: it has hundreds of cases", "", sep="\t")
