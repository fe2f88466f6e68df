#!/bin/sh
# run.sh BUILD_DIR: what the ui dialect sends, of scripts and of real runs of `weft serve`, read by the real client, the
# npm package `ai`, in its majors 5, 6 and 7.
# Needs Node >= 22 (scripts/setup node). The packages are installed here, in the pinned versions, when they are missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../../support/tap.sh"
streams=$1/tests/ui_streams
weft=$1/weft
if ! folder=$("$here/../../../scripts/node-path" 2>"$tap/log"); then
    verdict 1 'there is a Node >= 22'
    tap_end
fi
PATH=$folder:$PATH

# installed MAJOR: the pinned version is there.
installed() {
    node -e 'const pkg = (p) => JSON.parse(require("fs").readFileSync(p));
        process.exit(pkg("package.json").dependencies.ai === pkg("node_modules/ai/package.json").version ? 0 : 1)' 2>/dev/null
}
install() {
    cd "$here/$1" || return 1
    installed || npm install --no-package-lock --no-audit --no-fund --ignore-scripts && installed
}

# judge MAJOR WHAT COMMAND...: the command's lines "ok or bad, TAB, title, TAB, what was wrong" as results.
judge() {
    what="ai $1: $2"
    shift 2
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

for major in 5 6 7; do
    (install "$major") >"$tap/log" 2>&1
    verdict $? "ai $major is installed"
    mkdir "$tap/$major" "$tap/server$major"
    for name in $("$streams" --list); do
        "$streams" "$major" "$name" >"$tap/$major/$name.sse" 2>"$tap/log" || verdict 1 "ui_streams $major $name"
    done
    judge "$major" streams node "$here/check.mjs" "$major" "$tap/$major"
    judge "$major" runs node "$here/live.mjs" "$major" "$weft" "$tap/server$major"
    cp "$tap/server$major/log" "$tap/log"
    ! grep -q 'ERROR: \|runtime error:' "$tap/log" # of sanitizers
    verdict $? "ai $major: the server has nothing to report"
done
tap_end
