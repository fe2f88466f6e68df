#!/bin/sh
# run.sh BUILD_DIR: the checker of JSON Schema over the public test suite, drafts 7 and 2020-12. left-out says which cases
# do not count, and why.
# The suite comes inside of the source package of `jsonschema` for Python, in the pinned version, which is unpacked into
# the build folder when it is missing (the suite's own npm package fetches it from a repository when it is installed).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../../support/tap.sh"
pinned=jsonschema-4.26.0
suite=$1/tests/json-schema-suite/$pinned/json/tests

install() {
    [ -d "$suite/draft2020-12" ] && return
    mkdir -p "$tap/package" "$1/tests/json-schema-suite" &&
        python3 -m pip download --quiet --no-deps --no-binary jsonschema --dest "$tap/package" "jsonschema==${pinned#*-}" &&
        tar -xzf "$tap/package/$pinned.tar.gz" -C "$1/tests/json-schema-suite" && [ -d "$suite/draft2020-12" ]
}

(install "$1") >"$tap/log" 2>&1
verdict $? 'the test suite is there'
(cd "$suite" && find draft7 draft2020-12 -name '*.json' -not -path '*/format/*' | LC_ALL=C sort | xargs "$1/tests/schema_cases") \
    >"$tap/cases" 2>"$tap/log"
verdict $? 'all its files were read'
python3 "$here/judge.py" "$here/left-out" "$tap/cases" >"$tap/results" 2>"$tap/log"
verdict $? 'the cases were judged'
while IFS='	' read -r result title wrong; do
    printf '%s\n' "$wrong" >"$tap/log"
    test "$result" = ok
    verdict $? "$title"
done <"$tap/results"
tap_end
