#!/bin/sh
# run.sh BUILD_DIR: examples/useChat, a page on @ai-sdk/react, in Chromium. Needs Node >= 22 and Chromium (scripts/setup node browser).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
page=$here/../../../examples/useChat
use_node
packages npm "$page/package.json"
cp "$page/package.json" "$page/index.html" "$page/page.jsx" "$tap/"
ln -s "$packages" "$tap/node_modules"
(cd "$tap" && npm run build) >"$tap/log" 2>&1
verdict $? 'the page is built'
judge 'the page' python3 "$here/check.py" "$1/weft" "$tap"
tap_end
