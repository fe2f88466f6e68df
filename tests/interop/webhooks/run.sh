#!/bin/sh
# run.sh BUILD_DIR: the tests of webhooks, with every signature also verified by the Python package standardwebhooks.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if ! python=$("$here/../../../scripts/packages" python "$here/../requirements.txt"); then
    printf '1..1\nnot ok 1 - the packages are there\n'
    exit 1
fi
WEFT_STANDARDWEBHOOKS=1 PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/../../server/webhooks.py" "$1/weft"
