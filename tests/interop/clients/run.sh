#!/bin/sh
# run.sh BUILD_DIR PROGRAM: a library that other people write agents with, as its users use it, with `weft serve` as its model.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
build=$(CDPATH='' cd -- "$1" && pwd)
server=$tap/server
mkdir "$server"
case $2 in
*-js)
    use_npm
    judge "$2" node "$here/${2%-js}.mjs" "$build/weft" "$server"
    ;;
*)
    use_python "$here/requirements-$2.txt"
    judge "$2" "$python" -W ignore "$here/$2.py" "$build/weft" "$server"
    ;;
esac
no_reports "$2" "$server/log"
tap_end
