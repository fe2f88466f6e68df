#!/bin/sh
# The command, from outside. usage: run.sh WEFT   (TAP)
set -u
weft=$1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
n=0 bad=0

# run EXIT ARGUMENT...: runs weft, keeps its output in $out/1 and $out/2, checks the exit code.
run() {
    wanted=$1
    shift
    "$weft" "$@" >"$out/1" 2>"$out/2"
    got=$?
    n=$((n + 1))
    if [ "$got" = "$wanted" ]; then
        echo "ok $n - weft $* exits $wanted"
    else
        echo "not ok $n - weft $* exits $wanted, not $got"
        sed 's/^/# /' "$out/1" "$out/2"
        bad=1
    fi
}

# says FILE PATTERN: what the last run wrote to standard output (1) or error (2) has a line like it.
says() {
    n=$((n + 1))
    if grep -Eq -- "$2" "$out/$1"; then
        echo "ok $n - it says $2"
    else
        echo "not ok $n - it says $2"
        sed 's/^/# /' "$out/$1"
        bad=1
    fi
}

silent() { # silent FILE
    n=$((n + 1))
    if [ -s "$out/$1" ]; then echo "not ok $n - nothing on $1"; bad=1; else echo "ok $n - nothing on $1"; fi
}

run 2
says 2 '^usage: weft COMMAND'
silent 1
run 0 help
says 1 '^  doctor '
silent 2
run 0 help doctor
says 1 '^usage: weft doctor \[--store FOLDER\]'
run 0 doctor --help
says 1 '^usage: weft doctor'
run 2 help nothing
says 2 "^weft: there is no command 'nothing'"
run 2 nothing
says 2 "^weft: there is no command 'nothing'"

run 0 version
says 1 '^weft [0-9]+\.[0-9]+\.[0-9]+$'
run 0 --version
says 1 '^weft '
run 0 version --json
says 1 '^\{"name":"weft","version":"[0-9.]+"\}$'
run 2 version --what
says 2 "^weft version: does not take '--what'"

run 0 doctor --store "$out"
for library in yyjson libuv libcurl llhttp openssl sqlite libpq libfyaml libedit md4c; do
    says 1 "^ok    $library +([0-9]+\.|not in this build)"
done
says 1 '^ok    store +.* is writable'
says 1 '^ok    clock +20[0-9-]+T'
says 1 '^(ok|warn)  +files +[0-9]+ open files'
says 1 '^(ok|warn)  +maps +[0-9]+ maps'
run 0 doctor --json --store "$out"
says 1 '^\{"version":"[0-9.]+","state":"(ok|warn)","checks":\[\{"name":"yyjson","state":"ok",'
run 1 doctor --store "$out/nowhere"
says 1 '^bad   store +cannot write in .*/nowhere: '
run 2 doctor --what
says 2 "^weft doctor: does not take '--what'"
if [ -e /dev/full ]; then
    n=$((n + 1))
    if "$weft" version >/dev/full 2>"$out/2"; then
        echo "not ok $n - a full disk is noticed"
        bad=1
    else
        echo "ok $n - a full disk is noticed"
    fi
    says 2 '^weft: standard output: '
fi
echo "1..$n"
exit $bad
