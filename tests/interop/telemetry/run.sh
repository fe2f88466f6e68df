#!/bin/sh
# run.sh BUILD_DIR: the spans that the server sends, judged by others: decoded by the protocol buffers of OTLP, their attributes
# compared with the semantic conventions of OpenTelemetry.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_python "$here/../requirements.txt"
judge 'all things' "$python" "$here/check.py" "$1/weft"
tap_end
