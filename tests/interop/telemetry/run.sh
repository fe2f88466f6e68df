#!/bin/sh
# run.sh BUILD_DIR: the spans that the server sends, judged by others: decoded by the protocol buffers of OTLP, their attributes
# compared with the semantic conventions of OpenTelemetry. The packages are installed into a folder of the build when they
# are missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../python.sh"
judge_with_python "$1/tests/telemetry" "$1/weft"
tap_end
