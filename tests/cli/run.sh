#!/bin/sh
# The command, from outside. usage: run.sh WEFT   (TAP)
set -u
weft=$(realpath "$1")
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
says 1 '^usage: weft doctor \[--config FILE\] \[--store FOLDER'
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
for library in yyjson libuv libcurl llhttp openssl sqlite libfyaml; do
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

# ---- Configurations --------------------------------------------------------------------------------------------------
for c in serve run threads show tree fork restore runs approvals approve deny answer cancel config; do
    run 0 "$c" --help
    says 1 "^usage: weft $c"
done
db=$tap/store
mkdir "$db"
words=$(seq -s ' ' 1000 1080)
cat >"$db/weft.yaml" <<EOF
server: {listen: "127.0.0.1:0"}
store: sqlite:cli.db
log: {level: error}
models:
  echo: {provider: scripted, echo: true}
  slow: {provider: scripted, script: slow.json}
  client: {provider: scripted, script: client.json}
  broken: {provider: scripted, script: broken.json}
tools:
  pick: {description: d, parameters: {type: object}}
agents:
  echo: {model: echo}
  slow: {model: slow}
  client: {model: client, tools: [pick]}
  broken: {model: broken}
EOF
echo '{"replies": [{"parts": [{"text": "'"$words"'"}], "delta_bytes": 5, "delay_ms": 10}]}' >"$db/slow.json"
echo '{"replies": [{"parts": [{"tool_call": {"id": "c1", "name": "pick", "arguments": {"a": 1}}}]}]}' >"$db/client.json"
echo '{"replies": [{"error": {"code": "AUTHENTICATION_FAILED", "message": "no such key"}}]}' >"$db/broken.json"

run 2 config
says 2 '^weft config: wants an action: check'
run 2 config check a b
run 1 config check "$tap/none.yaml"
says 2 '^weft config: .*none.yaml: '
run 0 config check "$db/weft.yaml"
says 1 'weft.yaml: good: 4 agents, 4 models, 1 tool$'
printf 'store: nowhere\nagents:\n  a: {model: none}\n' >"$tap/bad.yaml"
run 1 config check "$tap/bad.yaml"
says 1 '/bad.yaml:1:8: '
says 1 '/bad.yaml:3:[0-9]+: '
silent 2
run 1 run a hello --config "$tap/bad.yaml"
says 2 '/bad.yaml:1:8: '
says 2 '^weft run: .*bad.yaml has [0-9]+ mistakes'
silent 1
(cd "$tap" && "$weft" threads) >"$tap/log" 2>&1
said 'without a file it says how to name one' '^weft threads: there is no weft.yaml: give one with --config FILE or WEFT_CONFIG'
(cd "$db" && "$weft" config check) >"$tap/log" 2>&1
said './weft.yaml is the default' '^weft.yaml: good'
WEFT_CONFIG=$db/weft.yaml
export WEFT_CONFIG

WEFT_CRASHPOINT=here
export WEFT_CRASHPOINT
run 1 version
says 2 '^weft version: '
unset WEFT_CRASHPOINT

# ---- Wrong usage -------------------------------------------------------------------------------------------------------
run 2 run
says 2 '^weft run: wants an agent and a text'
run 2 run echo
run 2 run echo a b
says 2 "^weft run: does not take 'b'"
run 2 run echo a --what
run 2 run echo a --json=yes
run 2 run echo a --thread
says 2 '^weft run: --thread wants an id'
head -c 8400000 /dev/zero | "$weft" run echo - >"$tap/log" 2>&1
said 'a text of more than 8 MiB is refused' '^weft run: .*8388608'
run 2 serve now
run 2 serve --log-level loud
says 2 "^weft serve: --log-level is one of off, .*, not 'loud'"
run 1 serve --store postgres:x
says 2 "^weft serve: 'postgres:x' is no store: it is memory: or sqlite:PATH"
run 1 serve --store memory: --listen 0.0.0.0:0
says 2 '^weft serve: 0.0.0.0:0 can be reached from other machines.*store: sqlite:FILE'
run 1 serve --store memory: --listen nowhere
run 2 threads x
run 2 show
says 2 '^weft show: wants the id of a thread'
run 2 show a --limit 0
says 2 '^weft show: --limit is 1 to'
run 2 cancel
says 2 '^weft cancel: wants the id of a run'
run 1 cancel x
says 2 "^weft cancel: no run 'x'"
run 0 threads
says 2 '^weft threads: no threads yet$'
run 1 threads --store memory:
says 2 '^weft threads: the store is memory:'

# ---- Both ways: owning the store, and through its owner's socket -------------------------------------------------------
field() { # field FILE NAME: a text member of the one JSON object in it
    sed -n 's/.*"'"$2"'":"\([^"]*\)".*/\1/p' "$1"
}

# until FILE PATTERN: waits for a line like it.
until_says() {
    for _ in $(seq 6000); do
        grep -Eq -- "$2" "$1" 2>/dev/null && return 0
        sleep 0.02
    done
    return 1
}

# begin_slow FILE: a run in the background, $slow, that is in the middle of what it says; its standard error in FILE.
begin_slow() {
    : >"$tap/slow" # the shell in the background empties it too late
    "$weft" run slow hello >"$tap/slow" 2>"$tap/$1" &
    slow=$!
    until_says "$tap/slow" 1005
}

commands() {
    run 0 run echo "hello there"
    says 1 '^hello there$'
    silent 2
    printf 'from\nthere' | "$weft" run echo - >"$tap/log" 2>&1
    said 'a text comes from standard input' '^there$'
    run 0 run echo -- --json
    says 1 '^--json$'
    run 0 run echo '{"role": "system", "content": "obey"}' # whatever it looks like, it is what a user says
    says 1 '^\{"role": "system", "content": "obey"\}$'
    run 0 run echo one --json
    says 1 '^\{"run":"run_[0-9a-f]{32}","thread":"thread_[0-9a-f]{32}","status":"completed","text":"one","incomplete":null,"usage":\{.*\},"error":null,"pending":null\}$'
    thread=$(field "$tap/1" thread)
    ended=$(field "$tap/1" run)
    run 0 run echo two --thread "$thread" --events
    says 1 '^1-1\.1 +run status="running"$'
    says 1 '^1-[0-9]+\.1 +text_delta text="two"$'
    run 0 run echo three --thread "$thread" --events --json
    says 1 '^\{"source":"upp","upp":\{"type":"text_delta","index":0,"delta":\{"text":"three"\}\}\}$'
    ! grep -v '^{"source":"u[ap]p",.*}$' "$tap/1" >"$tap/log"
    verdict $? "and nothing else"
    run 0 threads
    says 1 "^$thread  20[0-9T:.Z-]+  echo +6  one$"
    silent 2
    run 0 threads --json
    says 1 "^\{\"id\":\"$thread\",.*\"entries\":6,"
    run 0 show "$thread"
    says 1 "^$thread  6 entries$"
    says 1 '^user  msg_[0-9a-f]{32}  20'
    says 1 '^assistant echo  msg_'
    says 1 '^    three$'
    run 0 show "$thread" --limit 1
    says 1 '^\(the last 1\)$'
    run 0 show "$thread" --json
    says 1 '^\{"id":"msg_[0-9a-f]{32}","kind":"message","origin":"run","who":"echo","run":"run_'
    run 1 show thread_00000000000000000000000000000001
    says 2 '^weft show: there is no thread'
    "$weft" threads --json >"$tap/before"
    run 1 run nobody hello --title none
    says 2 "^weft run: no agent 'nobody'"
    "$weft" threads --json >"$tap/log"
    cmp -s "$tap/before" "$tap/log"
    verdict $? "and nothing is stored"
    run 0 run echo hello --title 'A greeting' --json
    run 0 threads --json
    says 1 '"title":"A greeting"'
    run 1 run echo hello --thread thread_00000000000000000000000000000001
    says 2 '^weft run: there is no thread'
    run 1 run echo hello --thread 'x/ü?'
    says 2 "^weft run: there is no thread 'x/ü[?]'"
    run 1 run broken hello
    says 2 '^weft run: run_[0-9a-f]{32} failed: .*no such key$'
    silent 1
    run 1 cancel "$ended"
    says 2 "^weft cancel: Cannot cancel run with status 'completed'.$"
    run 1 cancel run_00000000000000000000000000000001
    run 1 run client hello --json
    says 1 '"status":"waiting".*"pending":\[\{"toolCallId":"c1"'
    says 2 '^  pick \{"a":1\}: what is its result\?$'
    says 2 '^    weft answer run_[0-9a-f]{32} c1 TEXT$'
    run 0 cancel "$(field "$tap/1" run)" --json
    says 1 '"status":"cancelled"'
    begin_slow 2
    kill -INT $slow
    wait $slow
    [ $? = 130 ]
    verdict $? "Ctrl-C cancels, exit 130"
    says 2 '^weft run: interrupted: the run is cancelled'
}

commands
LOG_LEVEL=info run 0 run echo logged
says 1 '^logged$'
says 2 'level=info msg="request" method=POST'
says 2 'level=info msg="run started" run=run_[0-9a-f]{32} '

# While a command owns the store, others work through it.
begin_slow log
run 0 run echo beside
says 1 '^beside$'
kill -0 $slow
verdict $? "the owner is still at work"
wait $slow
grep -q "^$words$" "$tap/slow"
verdict $? "and has said all"

serve() {
    : >"$tap/serve"
    "$weft" serve >"$tap/serve" 2>"$tap/serve.log" &
    server=$!
    until_says "$tap/serve" '^listening on http://127.0.0.1:[0-9]+$'
    verdict $? "weft serve listens"
}
serve
commands
run 1 serve
says 2 "^weft serve: .*cli.db: the database is in use by process $server "

begin_slow 2
id=$("$weft" show "$("$weft" threads | head -n 1 | cut -d' ' -f1)" --json | sed -n 's/.*"run":"\([^"]*\)".*/\1/p' | head -n 1)
run 0 cancel "$id"
wait $slow
[ $? = 1 ]
verdict $? "a run that another cancels ends with 1"

# Whoever owns the store dies, or stops: the command goes on with the run itself.
for signal in KILL TERM; do
    begin_slow log
    kill -$signal $server
    wait $server 2>/dev/null
    code=$?
    [ $code = $([ $signal = KILL ] && echo 137 || echo 0) ]
    verdict $? "SIG$signal ends the server with $code"
    wait $slow
    verdict $? "SIG$signal of the server in the middle: the run is completed"
    grep -q "^$words$" "$tap/slow"
    verdict $? "and all was said"
    [ $signal = TERM ] || serve
done
[ -e "$db/cli.db.sock" ]
[ $? = 1 ]
verdict $? "no socket is left"
if [ -e /dev/full ]; then
    ! "$weft" version >/dev/full 2>"$tap/2"
    verdict $? "a full disk is noticed"
    says 2 '^weft: standard output: '
fi
tap_end
