#!/bin/sh
# run.sh BUILD_DIR: what operators read, judged by others: /metrics by the parser of Prometheus' Python client,
# /openapi.json by openapi-spec-validator, its examples and the server's responses by jsonschema. They are installed into a
# folder of the build when they are missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../python.sh"
judge_with_python "$1/tests/ops" "$1/weft"
tap_end
