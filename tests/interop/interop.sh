# interop.sh — what the run.sh of interop tests share; they set `here`, their own folder, and source it.
# Packages are installed once for all clones on this machine (scripts/packages). Where they are missing, the test is over.
# shellcheck shell=sh
. "$here/../../support/tap.sh"
prefix=''
scripts=$(CDPATH='' cd -- "$here/../../../scripts" && pwd)

# packages KIND LIST...: $packages is what scripts/packages prints.
packages() {
    packages=$("$scripts/packages" "$@" 2>"$tap/log")
    status=$?
    verdict $status "${prefix}the packages of $1 are there"
    [ $status = 0 ] || tap_end
}

# use_node: Node >= 22 is in PATH.
use_node() {
    folder=$("$scripts/node-path" 2>"$tap/log") || {
        verdict 1 'there is a Node >= 22'
        tap_end
    }
    PATH=$folder:$PATH
}

# use_npm: Node is in PATH, and the programs below tests/interop can import what tests/interop/package.json has.
use_npm() {
    use_node
    packages npm "$here/../package.json"
    # Renamed, because two tests may do this at the same time.
    { ln -s "$packages" "$here/../node_modules.$$" && mv -fT "$here/../node_modules.$$" "$here/../node_modules"; } 2>"$tap/log"
    verdict $? 'tests/interop/node_modules leads to them'
}

# use_python FILE...: $python has what these requirements files pin.
use_python() {
    packages python "$@"
    python=$packages
    PYTHONDONTWRITEBYTECODE=1
    export PYTHONDONTWRITEBYTECODE
}

# judge WHAT COMMAND...: the command's lines "ok or bad, TAB, title, TAB, what was wrong" as results, with $prefix before the titles.
judge() {
    what=$1
    shift
    "$@" >"$tap/results" 2>"$tap/errors"
    status=$?
    cp "$tap/errors" "$tap/log"
    verdict $status "$prefix$what were checked"
    while IFS='	' read -r result title wrong; do
        printf '%s\n' "$wrong" >"$tap/log"
        test "$result" = ok
        verdict $? "$prefix$title"
    done <"$tap/results"
}

# no_reports WHAT LOG...: these logs of servers have no report of a sanitizer.
no_reports() {
    what=$1
    shift
    cat "$@" >"$tap/log" 2>/dev/null
    ! grep -q 'ERROR: \|runtime error:' "$tap/log"
    verdict $? "$what: the server has nothing to report"
}
