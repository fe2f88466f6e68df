#!/bin/sh
# run.sh BUILD_DIR: the Python, JavaScript and JSX of README.md and docs/ run, with the packages openai (npm and Python), standardwebhooks
# and those of examples/useChat. Needs Node >= 22, Chromium and python3 with venv and pip (scripts/setup node browser python).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
folder=$1/tests/docs-clients
(. "$here/../venv.sh" && install "$folder") >"$tap/log" 2>&1
verdict $? 'openai and standardwebhooks for Python are there'
install "$here/../page" 'Playwright is'
install "$here/../../../examples/useChat" 'the packages of useChat are'
install "$here/../openai" 'openai for npm is'
mkdir "$tap/modules"
ln -s "$here/../openai/node_modules/openai-7" "$tap/modules/openai"
PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" "$here/clients.py" "$here/../../.." "$1/weft" "$folder/bin/python" "$(command -v node)" "$tap/modules" >"$tap/log" 2>&1
verdict $? 'the Python and the JavaScript of the pages run'
judge 'the components of the pages' node "$here/usechat.mjs" "$1/weft"
tap_end
