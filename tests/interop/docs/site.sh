#!/bin/sh
# site.sh BUILD_DIR: `make docs` builds the site; its links and anchors lead somewhere, it loads nothing from other hosts, and its search works
# in Chromium without a server. Needs Node >= 22, Chromium and python3 with venv and pip (scripts/setup node browser python).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
site=$1/tests/docs-site
use_npm
"$here/../../../scripts/docs" "$site" >"$tap/log" 2>&1
verdict $? 'the site is built, without a warning'
judge 'the files of the site' python3 "$here/links.py" "$here/../../.." "$site/html"
judge 'the pages of the site' node "$here/look.mjs" "$site/html"
tap_end
