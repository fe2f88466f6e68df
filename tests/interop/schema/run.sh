#!/bin/sh
# run.sh BUILD_DIR: the checker of JSON Schema over the public test suite, drafts 7 and 2020-12. left-out says which cases
# do not count, and why.
# The suite comes inside of the source package of `jsonschema` for Python (the suite's own npm package fetches it from a
# repository when it is installed).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
packages source jsonschema==4.26.0
(cd "$packages/json/tests" && find draft7 draft2020-12 -name '*.json' -not -path '*/format/*' | LC_ALL=C sort | xargs "$1/tests/schema_cases") \
    >"$tap/cases" 2>"$tap/log"
verdict $? 'all its files were read'
judge 'the cases' python3 "$here/judge.py" "$here/left-out" "$tap/cases"
tap_end
