#!/bin/sh
# weft tree, fork and restore, from outside: owning the store, and through a server. usage: tree.sh WEFT   (TAP)
set -u
weft=$(realpath "$1")
. "$(dirname "$0")/../support/tap.sh"
cat >"$tap/weft.yaml" <<'EOT'
server: {listen: "127.0.0.1:0"}
store: sqlite:tree.db
log: {level: error}
models:
  echo: {provider: scripted, echo: true}
  client: {provider: scripted, script: client.json}
tools:
  pick: {description: d, parameters: {type: object}}
agents:
  echo: {model: echo}
  client: {model: client, tools: [pick]}
EOT
echo '{"replies": [{"parts": [{"tool_call": {"id": "c1", "name": "pick"}}]}]}' >"$tap/client.json"
WEFT_CONFIG=$tap/weft.yaml
export WEFT_CONFIG

field() { # field NAME: a text member of the JSON object on standard input
    sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'
}

# Ids by their names: $t is THREAD, the others are OTHER, UUID and TIME.
scrub() {
    sed -E "s/$t/THREAD/g; s/thread_[0-9a-f]{32}/OTHER/g; s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UUID/g
            s/20[0-9-]+T[0-9:.]+Z/TIME/g; s/\r//"
}

# gives TITLE COMMAND...: ok when it succeeds and prints what stands on standard input.
gives() {
    title=$1
    shift
    cat >"$tap/want"
    "$@" 2>"$tap/err" | scrub >"$tap/got"
    diff -u "$tap/want" "$tap/got" >"$tap/log" && ! [ -s "$tap/err" ]
    verdict $? "$title"
    [ -s "$tap/err" ] && sed 's/^/# /' "$tap/err"
}

# On a terminal.
terminal() {
    NO_COLOR=1 python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@" </dev/null
}

checkpoint() { # checkpoint THREAD N: the id of its N-th
    "$weft" tree "$1" --checkpoints | sed -nE 's/^[| ]*\. ([0-9a-f-]{36})  .*/\1/p' | sed -n "$2p"
}

commands() {
    t=$("$weft" run echo one --json | field thread)
    gives 'a tree of one node' "$weft" tree "$t" <<'EOT'
THREAD  1 node, 2 messages, 1 checkpoint
* root  2 messages  .  "one"
EOT
    "$weft" run echo "$(printf 'two\n\tlines \033[1m')" --thread "$t" >/dev/null
    gives 'checkpoints with their ids' "$weft" tree "$t" --checkpoints <<'EOT'
THREAD  1 node, 4 messages, 2 checkpoints
* root  4 messages  "one"
   . UUID  TIME  step 1, 2 messages
   . UUID  TIME  step 1, 4 messages
EOT
    first=$(checkpoint "$t" 1)
    gives 'restore says where the thread stands' "$weft" restore "$t" "$first" <<'EOT'
THREAD stands at entry 2, in node UUID: what is said next branches there
EOT
    gives 'restore as JSON' "$weft" restore "$t" "$first" --json <<'EOT'
{"object":"thread.place","thread_id":"THREAD","node_id":"UUID","entries":2,"put_back":true}
EOT
    gives 'the tree is as it was' "$weft" tree "$t" <<'EOT'
THREAD  1 node, 4 messages, 2 checkpoints
* root  2 of 4 messages  ..  "one"
EOT
    "$weft" run echo "$(printf 'three \303\274, and quite a lot more than would fit on one line of that')" --thread "$t" >/dev/null
    check 'fork at a checkpoint' "$weft" fork "$t" --at "$first" --json
    said 'as JSON' '^\{"thread":"thread_[0-9a-f]{32}"\}$'
    fork=$(field thread <"$tap/log")
    "$weft" run echo "$(printf 'two\n\tlines \033[1m')" --thread "$fork" >/dev/null
    gives 'a tree of branches' "$weft" tree "$t" <<'EOT'
THREAD  3 nodes, 8 messages, 4 checkpoints
root  4 messages  ..  "one"
|- * at 2  2 messages  .  "three ü, and quite a lot more than would fit on ..."
`- at 2  2 messages  .  "two  lines ?[1m"  <- OTHER
EOT
    LC_ALL=C.UTF-8 gives 'with lines on a terminal' terminal "$weft" tree "$t" --checkpoints <<'EOT'
THREAD  3 nodes, 8 messages, 4 checkpoints
root  4 messages  "one"
│  • UUID  TIME  step 1, 2 messages
│  • UUID  TIME  step 1, 4 messages
├─ * at 2  2 messages  "three ü, and quite a lot more than would fit on …"
│     • UUID  TIME  step 1, 2 messages
└─ at 2  2 messages  "two  lines ?[1m"  <- OTHER
      • UUID  TIME  step 1, 2 messages
EOT
    LC_ALL=C gives 'that shows UTF-8' terminal "$weft" tree "$fork" <<'EOT'
OTHER  3 nodes, 8 messages, 4 checkpoints
root  4 messages  ..  "one"
|- at 2  2 messages  .  "three ü, and quite a lot more than would fit on ..."  <- THREAD
`- * at 2  2 messages  .  "two  lines ?[1m"
EOT
    check 'the tree as JSON' "$weft" tree "$t" --json
    said 'is one object' '^\{"object":"thread.tree","thread_id":"'"$t"'","root_id":"[0-9a-f-]{36}",.*\}$'
    python3 -c 'import json, sys; t = json.load(sys.stdin); assert [len(n["checkpoints"]) for n in t["nodes"]] == [2, 1, 1]' <"$tap/log"
    verdict $? 'that a program reads'
    message=$("$weft" show "$t" --json | field id | sed -n 2p)
    other=$("$weft" fork "$t" --at "$message")
    "$weft" show "$other" >"$tap/log"
    said 'fork at a message has it' "^$other  2 entries"
    other=$("$weft" fork "$t")
    "$weft" show "$other" >"$tap/log"
    said 'fork without a place has all' "^$other  4 entries"

    refused 'no such thread' "$weft" tree thread_00000000000000000000000000000001
    said 'is said' "^weft tree: there is no thread 'thread_0"
    refused 'no such thread to fork' "$weft" fork 'x/ü?'
    said 'is said' "^weft fork: there is no thread 'x/ü[?]'"
    refused 'no such place' "$weft" fork "$t" --at "$(checkpoint "$t" 1 | tr 0-8 1-9)"
    said 'is said' "^weft fork: the thread's tree has no message and no checkpoint '"
    refused 'no such checkpoint' "$weft" restore "$t" "$message"
    said 'is said' "^weft restore: there is no checkpoint 'msg_[0-9a-f]{32}' in the thread's tree"
    "$weft" run client hello --thread "$other" >/dev/null 2>&1
    refused 'a thread with a run that waits is not restored' "$weft" restore "$other" "$first"
    said 'and it is said which' "^weft restore: run_[0-9a-f]{32} on $other has not ended: cancel it first"
}

misuse() { # misuse PATTERN ARGUMENT...
    pattern=$1
    shift
    "$weft" "$@" >"$tap/log" 2>&1
    [ $? = 2 ] && grep -Eq -- "$pattern" "$tap/log"
    verdict $? "weft $* is wrong usage"
}
misuse '^weft tree: wants the id of a thread' tree
misuse "^weft tree: does not take 'b'" tree a b
misuse '^weft fork: wants the id of a thread' fork
misuse '^weft fork: --at wants a message or a checkpoint' fork a --at
misuse '^weft restore: wants a thread and a checkpoint of it' restore a
refused 'without a database nothing is looked at' "$weft" tree x
said 'and it is said' '^weft tree: .*tree.db'
refused 'nor is one made' "$weft" fork x
said 'and it is said' '^weft fork: there is no database .*/tree.db'
[ -e "$tap/tree.db" ]
[ $? = 1 ]
verdict $? 'and there is none'

commands

"$weft" serve >"$tap/serve" 2>"$tap/serve.log" &
server=$!
for _ in $(seq 6000); do
    grep -q '^listening' "$tap/serve" && break
    sleep 0.02
done
commands
kill "$server"
wait "$server"
verdict $? 'the server stops'
tap_end
