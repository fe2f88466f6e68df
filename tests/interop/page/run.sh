#!/bin/sh
# run.sh BUILD_DIR: the web page in Chromium, with Playwright and axe-core. Needs Node >= 22 and Chromium (scripts/setup node browser).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_npm
for check in "$here"/check.mjs "$here"/views.mjs "$here"/decide.mjs "$here"/long.mjs; do
    test -f "$check" && judge "the page's $(basename "$check" .mjs)" node "$check" "$1/weft"
done
tap_end
