#!/bin/sh
# remote.sh BUILD_DIR: a Weft agent is an agent of the real AgentScope Runtime's own server. It is installed into a folder of the
# build, with all that it needs, when it is missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../../support/tap.sh"
build=$1
folder=$build/tests/agentscope-server

install() {
    "$folder/bin/python" -c "import sys; from importlib.metadata import version; sys.exit(version('agentscope-runtime') != '1.1.5')" 2>/dev/null && return
    rm -rf "$folder"
    python3 -m venv "$folder" &&
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
}

(install) >"$tap/log" 2>&1
verdict $? "the server of AgentScope Runtime 1.1.5 is there"
PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" "$here/remote.py" "$build/weft" >"$tap/results" 2>"$tap/log"
verdict $? "all was checked"
while IFS='	' read -r result title wrong; do
    printf '%s\n' "$wrong" >"$tap/log"
    test "$result" = ok
    verdict $? "$title"
done <"$tap/results"
tap_end
