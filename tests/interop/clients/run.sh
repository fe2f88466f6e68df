#!/bin/sh
# run.sh BUILD_DIR LIBRARY: a library that other people write agents with, as its users use it, with `weft serve` as its model.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
build=$(CDPATH='' cd -- "$1" && pwd)
use_python "$here/requirements-$2.txt"
judge "$2" "$python" -W ignore "$here/$2.py" "$build/weft" "$tap"
no_reports "$2" "$tap/log"
tap_end
