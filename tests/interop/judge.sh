# judge.sh — results of programs that judge what Weft wrote, as TAP; run.sh of interop tests set `here` and source it.
# shellcheck shell=sh
. "$here/../../support/tap.sh"

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
