#!/bin/sh
# run.sh BUILD_DIR: the real Pydantic AI loads what is written here, and what it dumps is read. 2.33.0 is the version whose
# form is written: it must dump our bytes. The newer one writes more; it must load ours, and its own must come back.
# Each version is installed into a folder of the build when it is missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../../support/tap.sh"

# install VERSION FOLDER
install() {
    "$2/bin/python" -c "import sys; from importlib.metadata import version; sys.exit(version('pydantic-ai-slim') != '$1')" 2>/dev/null && return
    rm -rf "$2"
    python3 -m venv "$2" && "$2/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements-$1.txt"
}

# judge VERSION [bytes]
judge() {
    version=$1
    folder=$build/tests/pydantic-ai/$version
    (install "$version" "$folder") >"$tap/log" 2>&1
    verdict $? "Pydantic AI $version is there"
    shift
    PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" "$here/check.py" "$build/tests/pydantic_convert" "$here/../../golden" "$@" \
        >"$tap/results" 2>"$tap/log"
    verdict $? "$version: all was checked"
    while IFS='	' read -r result title wrong; do
        printf '%s\n' "$wrong" >"$tap/log"
        test "$result" = ok
        verdict $? "$version: $title"
    done <"$tap/results"
}

build=$1
judge 2.33.0 bytes
judge 2.66.0
tap_end
