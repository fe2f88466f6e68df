#!/bin/sh
# run.sh BUILD_DIR: libupp against the npm package `@copilotkit/aimock`, a stand-in for the vendors that others wrote; and
# the types of the vendors' own clients as judges of the requests that libupp writes.
# Needs Node >= 22 (scripts/setup node).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_npm
mkdir "$tap/bodies"
judge 'calls' node "$here/check.mjs" "$1/tests/aimock_client" "$tap/bodies"
judge 'request bodies' node "$here/types.mjs" "$tap/bodies" "$here/../../talk"
tap_end
