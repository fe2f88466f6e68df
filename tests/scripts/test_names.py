#!/usr/bin/env python3
"""The folder of a Python test is the first in which its imports are looked for: no file there may have the name of a module of
Python's own, which another module would then receive in its place.
"""
import sys

from tap import ROOT, case, check, main


@case
def test_no_test_hides_a_module_of_python():
    own = {p for p in (ROOT / "tests").rglob("*.py") if not {"node_modules", "site-packages"} & set(p.parts)}
    check(len(own) > 50, True, "there are tests")
    check(sorted(str(p.relative_to(ROOT)) for p in own if p.stem in sys.stdlib_module_names), [])


main()
