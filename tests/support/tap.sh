# support/tap.sh — TAP from shell tests. Source it, then:
#
#   check TITLE COMMAND...     ok when the command succeeds; what it wrote is in $tap/log, shown when it fails
#   refused TITLE COMMAND...   ok when it fails
#   said TITLE PATTERN         ok when the last command wrote a line like it
#   verdict STATUS TITLE       any other way to judge; $tap/log is shown when STATUS is not 0
#   tap_end                    the plan, and the exit
#
# $tap is a folder of the test's own, removed at the end.
tap=$(mktemp -d) || exit 1
trap 'rm -rf "$tap"' EXIT
tap_n=0 tap_bad=0
: >"$tap/log"

verdict() {
    tap_n=$((tap_n + 1))
    tap_title=$(printf '%s' "$2" | LC_ALL=C tr -c '[:print:]' '?') # it may quote anything, and is one line
    if [ "$1" = 0 ]; then
        echo "ok $tap_n - $tap_title"
    else
        echo "not ok $tap_n - $tap_title"
        sed 's/^/# /' "$tap/log" | head -n 40 | LC_ALL=C tr -c '[:print:]\n' '?'
        tap_bad=1
    fi
}

check() {
    tap_title=$1
    shift
    "$@" >"$tap/log" 2>&1
    verdict $? "$tap_title"
}

refused() {
    tap_title=$1
    shift
    ! "$@" >"$tap/log" 2>&1
    verdict $? "$tap_title"
}

said() {
    grep -Eq -- "$2" "$tap/log"
    verdict $? "$1"
}

tap_end() {
    echo "1..$tap_n"
    exit $tap_bad
}
