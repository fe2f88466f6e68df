#!/bin/sh
# The command, from outside. usage: run.sh WEFT   (TAP)
set -u
weft=$1
. "$(dirname "$0")/../support/tap.sh"

# run EXIT ARGUMENT...: runs weft and checks the exit code; its output stays in $tap/1 and $tap/2.
run() {
    wanted=$1
    shift
    "$weft" "$@" >"$tap/1" 2>"$tap/2"
    got=$?
    cat "$tap/1" "$tap/2" >"$tap/log"
    [ "$got" = "$wanted" ]
    verdict $? "weft $* exits $wanted"
}

# says FILE PATTERN: what the last run wrote to standard output (1) or error (2) has a line like it.
says() {
    cp "$tap/$1" "$tap/log"
    said "it says $2" "$2"
}

silent() { # silent FILE
    ! [ -s "$tap/$1" ]
    verdict $? "nothing on $1"
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

run 0 doctor --store "$tap"
for library in yyjson libuv libcurl llhttp openssl sqlite libpq libfyaml libedit md4c; do
    says 1 "^ok    $library +([0-9]+\.|not in this build)"
done
says 1 '^ok    store +.* is writable'
says 1 '^ok    clock +20[0-9-]+T'
says 1 '^(ok|warn)  +files +[0-9]+ open files'
says 1 '^(ok|warn)  +maps +[0-9]+ maps'
run 0 doctor --json --store "$tap"
says 1 '^\{"version":"[0-9.]+","state":"(ok|warn)","checks":\[\{"name":"yyjson","state":"ok",'
run 1 doctor --store "$tap/nowhere"
says 1 '^bad   store +cannot write in .*/nowhere: '
run 2 doctor --store
says 2 '^weft doctor: --store wants a folder'
run 2 doctor --store ''
says 2 '^weft doctor: --store wants a folder'
run 0 doctor --json --help
says 1 '^usage: weft doctor'
run 2 help version doctor
says 2 "^weft help: takes one command, not 'doctor' too"
odd=$(printf '%s/a\nok    fake \033[1m\377' "$tap")
mkdir -p "$odd"
run 0 doctor --store "$odd"
says 1 'a\?ok    fake \?\[1m.* is writable'
run 0 doctor --json --store "$odd"
says 1 '"name":"store","state":"ok"'
for i in 1 2 3 4 5 6 7 8; do
    "$weft" doctor --store "$tap" >"$tap/doctor.$i" &
done
wait
! grep -h '^bad' "$tap"/doctor.* >"$tap/log"
verdict $? "eight doctors at once find nothing"
find "$tap" -name '.weft-doctor*' >"$tap/log"
! [ -s "$tap/log" ]
verdict $? "and leave nothing"
run 2 doctor --what
says 2 "^weft doctor: does not take '--what'"
if [ -e /dev/full ]; then
    ! "$weft" version >/dev/full 2>"$tap/2"
    verdict $? "a full disk is noticed"
    says 2 '^weft: standard output: '
fi
tap_end
