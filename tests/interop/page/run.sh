#!/bin/sh
# run.sh BUILD_DIR [CHECK...]: the web page in Chromium, with Playwright and axe-core: all checks, or these (long for long.mjs).
# Needs Node >= 22 and Chromium (scripts/setup node browser).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
build=$1
shift
[ $# -gt 0 ] || set -- check views decide long
use_npm
for name; do
    judge "the page's $name" node "$here/$name.mjs" "$build/weft"
done
tap_end
