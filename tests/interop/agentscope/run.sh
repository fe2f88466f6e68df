#!/bin/sh
# run.sh BUILD_DIR WEFT: the schemas of the real AgentScope Runtime load what is written here, and its client talks to the server.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_python "$here/requirements.txt"
judge 'documents and frames' "$python" "$here/check.py" "$1/tests/pydantic_convert" "$here/../../golden"
judge 'talks of its client' "$python" "$here/door.py" "$2"
tap_end
