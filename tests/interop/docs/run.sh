#!/bin/sh
# run.sh BUILD_DIR: the Python, JavaScript and JSX of README.md and docs/ run, with the packages openai (npm and Python), standardwebhooks
# and those of examples/useChat. Needs Node >= 22, Chromium and python3 with venv and pip (scripts/setup node browser python).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_python "$here/../requirements.txt"
use_npm
mkdir "$tap/modules"
ln -s "$packages/openai-7" "$tap/modules/openai"
"$python" "$here/clients.py" "$here/../../.." "$1/weft" "$python" "$(command -v node)" "$tap/modules" >"$tap/log" 2>&1
verdict $? 'the Python and the JavaScript of the pages run'
packages npm "$here/../../../examples/useChat/package.json"
judge 'the components of the pages' node "$here/usechat.mjs" "$1/weft" "$packages"
tap_end
