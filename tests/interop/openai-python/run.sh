#!/bin/sh
# run.sh BUILD_DIR: `weft serve` with the real Python client, the package `openai`: the newest of its majors 1, 2 and 3, every *.py of this folder.
# Each version is installed into a folder of the build when it is missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../../support/tap.sh"
build=$(CDPATH='' cd -- "$1" && pwd)

# install VERSION FOLDER
install() {
    "$2/bin/python" -c "import sys; from importlib.metadata import version; sys.exit(version('openai') != '$1')" 2>/dev/null && return
    rm -rf "$2"
    python3 -m venv "$2" && "$2/bin/python" -m pip install --quiet --disable-pip-version-check "openai==$1"
}

for version in 1.109.1 2.54.0 3.51.0; do
    folder=$build/tests/openai-python/$version
    (install "$version" "$folder") >"$tap/log" 2>&1
    verdict $? "openai $version is there"
    for script in "$here"/*.py; do
        name=$(basename "$script" .py)
        mkdir "$tap/$version-$name"
        PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" -W ignore "$script" "$build/weft" "$tap/$version-$name" >"$tap/results" 2>"$tap/log"
        verdict $? "$version: $name was checked"
        while IFS='	' read -r result title wrong; do
            printf '%s\n' "$wrong" >"$tap/log"
            test "$result" = ok
            verdict $? "$version: $title"
        done <"$tap/results"
        cat "$tap/$version-$name"/log "$tap/$version-$name"/*/log >"$tap/log" 2>/dev/null
        ! grep -q 'ERROR: \|runtime error:' "$tap/log" # of sanitizers
        verdict $? "$version: $name: the server has nothing to report"
    done
done
. "$here/../examples.sh"
examples "$build/weft" "$version" "$folder/bin/python -W ignore" tutor.py weather.py
tap_end
