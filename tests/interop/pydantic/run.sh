#!/bin/sh
# run.sh BUILD_DIR: the real Pydantic AI loads what is written here, and what it dumps is read. 2.33.0 is the version whose
# form is written: it must dump our bytes. The newer one writes more; it must load ours, and its own must come back.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
build=$1

# check_version VERSION [bytes]
check_version() {
    prefix="$1: "
    use_python "$here/requirements-$1.txt"
    shift
    judge 'all things' "$python" "$here/check.py" "$build/tests/pydantic_convert" "$here/../../golden" "$@"
}

check_version 2.33.0 bytes
check_version 2.66.0
tap_end
