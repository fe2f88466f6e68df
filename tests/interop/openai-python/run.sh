#!/bin/sh
# run.sh BUILD_DIR: the Python package `openai` against `weft serve`, with nothing changed but base URL and key. It is installed
# into a folder of the build when it is missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../../support/tap.sh"
build=$1
folder=$build/tests/openai-python

installed() {
    "$folder/bin/python" - "$here/requirements.txt" <<'END_OF_PYTHON'
import sys
from importlib.metadata import version
sys.exit(any(version(name) != pinned for name, pinned in (line.strip().split("==") for line in open(sys.argv[1]))))
END_OF_PYTHON
}

install() {
    installed 2>/dev/null && return
    rm -rf "$folder"
    python3 -m venv "$folder" &&
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
}

(install) >"$tap/log" 2>&1
verdict $? 'the pinned package is there'
PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" "$here/check.py" "$build/weft" >"$tap/results" 2>"$tap/log"
verdict $? 'all was checked'
while IFS='	' read -r result title wrong; do
    printf '%s\n' "$wrong" >"$tap/log"
    test "$result" = ok
    verdict $? "$title"
done <"$tap/results"
tap_end
