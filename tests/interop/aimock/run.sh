#!/bin/sh
# run.sh BUILD_DIR: libupp against the npm package `@copilotkit/aimock`, a stand-in for the vendors that others wrote; and
# the types of the vendors' own clients as judges of the requests that libupp writes.
# Needs Node >= 22 (scripts/setup node). The packages are installed here, in the pinned versions, when they are missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../../support/tap.sh"
if ! folder=$("$here/../../../scripts/node-path" 2>"$tap/log"); then
    verdict 1 'there is a Node >= 22'
    tap_end
fi
PATH=$folder:$PATH

# installed: the pinned versions are there.
installed() {
    node -e 'const pkg = (p) => JSON.parse(require("fs").readFileSync(p));
        process.exit(Object.entries(pkg("package.json").dependencies).every(([name, version]) =>
          version.endsWith(pkg(`node_modules/${name}/package.json`).version)) ? 0 : 1)' 2>/dev/null
}
install() {
    cd "$here" || return 1
    installed || npm install --no-package-lock --no-audit --no-fund --ignore-scripts && installed
}

# judge WHAT COMMAND...: the command's lines "ok or bad, TAB, title, TAB, what was wrong" as results.
judge() {
    what=$1
    shift
    "$@" >"$tap/results" 2>"$tap/errors"
    status=$?
    cp "$tap/errors" "$tap/log"
    verdict $status "$what were checked"
    while IFS='	' read -r result title wrong; do
        printf '%s\n' "$wrong" >"$tap/log"
        test "$result" = ok
        verdict $? "$title"
    done <"$tap/results"
}

(install) >"$tap/log" 2>&1
verdict $? 'aimock and the clients of the vendors are installed'
mkdir "$tap/bodies"
judge 'calls' node "$here/check.mjs" "$1/tests/aimock_client" "$tap/bodies"
judge 'request bodies' node "$here/types.mjs" "$tap/bodies" "$here/../../talk"
tap_end
