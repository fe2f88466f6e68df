#!/bin/sh
# run.sh BUILD_DIR: what operators read, judged by others: /metrics by the parser of Prometheus' Python client,
# /openapi.json by openapi-spec-validator, its examples and the server's responses by jsonschema.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_python "$here/../requirements.txt"
judge 'all things' "$python" "$here/check.py" "$1/weft"
tap_end
