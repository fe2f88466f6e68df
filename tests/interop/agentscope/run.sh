#!/bin/sh
# run.sh BUILD_DIR WEFT: the schemas of the real AgentScope Runtime load what is written here, and its client talks to the
# server. They are installed into a folder of the build when they are missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../../support/tap.sh"
build=$1 weft=$2
folder=$build/tests/agentscope

install() {
    "$folder/bin/python" -c "import sys, httpx, requests; from importlib.metadata import version; sys.exit(version('agentscope-runtime') != '1.1.5')" 2>/dev/null && return
    rm -rf "$folder"
    python3 -m venv "$folder" &&
        grep -v '^agentscope' "$here/requirements.txt" >"$folder/needs.txt" &&
        grep '^agentscope' "$here/requirements.txt" >"$folder/alone.txt" &&
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$folder/needs.txt" &&
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$folder/alone.txt"
}

(install) >"$tap/log" 2>&1
verdict $? "AgentScope Runtime 1.1.5 is there"
PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" "$here/check.py" "$build/tests/pydantic_convert" "$here/../../golden" >"$tap/results" 2>"$tap/log"
verdict $? "all was checked"
while IFS='	' read -r result title wrong; do
    printf '%s\n' "$wrong" >"$tap/log"
    test "$result" = ok
    verdict $? "$title"
done <"$tap/results"
PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" "$here/door.py" "$weft" >"$tap/results" 2>"$tap/log"
verdict $? "its client has talked to the server"
while IFS='	' read -r result title wrong; do
    printf '%s\n' "$wrong" >"$tap/log"
    test "$result" = ok
    verdict $? "$title"
done <"$tap/results"
tap_end
