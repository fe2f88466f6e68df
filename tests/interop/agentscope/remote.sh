#!/bin/sh
# remote.sh BUILD_DIR: a Weft agent is an agent of the real AgentScope Runtime's own server.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_python "$here/requirements.txt"
judge 'all things' "$python" "$here/remote.py" "$1/weft"
tap_end
