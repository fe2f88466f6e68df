#!/bin/sh
# run.sh BUILD_DIR: the tests of webhooks, with every signature also verified by the Python package standardwebhooks, in
# the pinned version, which is installed into a folder of the build when it is missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
pinned=1.0.1
folder=$1/tests/standardwebhooks/$pinned
if ! "$folder/bin/python" -c 'import standardwebhooks' 2>/dev/null; then
    rm -rf "$folder"
    { python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "standardwebhooks==$pinned"; } >&2 || {
        printf '1..1\nnot ok 1 - standardwebhooks %s is installed\n' "$pinned"
        exit 1
    }
fi
WEFT_STANDARDWEBHOOKS=1 PYTHONDONTWRITEBYTECODE=1 exec "$folder/bin/python" "$here/../../server/webhooks.py" "$1/weft"
