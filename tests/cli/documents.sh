#!/bin/sh
# weft export and import, from outside: owning the store, and through a server. usage: documents.sh WEFT   (TAP)
set -u
weft=$(realpath "$1")
. "$(dirname "$0")/../support/tap.sh"
cat >"$tap/weft.yaml" <<'EOT'
server: {listen: "127.0.0.1:0"}
store: sqlite:documents.db
log: {level: error}
models:
  echo: {provider: scripted, echo: true}
agents:
  echo: {model: echo}
EOT
WEFT_CONFIG=$tap/weft.yaml
export WEFT_CONFIG
other=sqlite:$tap/other.db

field() { # field NAME: a text member of the JSON object on standard input
    sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'
}

# reads FILE EXPRESSION: what of the JSON in it (d) a program sees.
reads() {
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), json.dumps(d)[:2000]' "$1" "$2" >"$tap/log" 2>&1
    verdict $? "$2"
}

cat >"$tap/make.py" <<'EOT'
"""SessionJSON with a call that waits, or of many nodes: make.py NODES"""
import json, sys
at = "2024-01-15T10:30:00.000Z"
say = lambda id, text: {"id": id, "type": "user", "content": [{"type": "text", "text": text}], "timestamp": at}
ask = {"id": "a", "type": "assistant", "content": [{"type": "text", "text": "I ask."}], "timestamp": at,
       "toolCalls": [{"toolCallId": "c1", "toolName": "rm", "arguments": {"all": True}}]}
n = int(sys.argv[1])
parent = lambda i: None if i == 0 else "n0" if i < n - n * 2 // 5 else f"n{i - 1}" # the last of them below each other
nodes = [{"id": f"n{i}", "parentId": parent(i), "thread": {"id": f"t{i}", "messages": [say(f"m{i}", f"words of {i}")]},
          "name": "first" if i == 0 else None, "metadata": {"uap.branchPoint": 1} if i else {}, "children": []} for i in range(n)]
for node in nodes[1:]:
    nodes[int(node["parentId"][1:])]["children"].append(node["id"])
if n == 1:
    nodes[0]["thread"]["messages"].append(ask)
cp = {"id": "cp", "sessionId": "made", "timestamp": at, "step": 3, "threadId": "n0", "state": {"step": 3, "messages": [], "metadata": {},
      "plan": [{"id": "1", "description": "rm", "dependsOn": [], "status": "pending"}]}, "subAgentStates": {}, "metadata": {"k": 1}}
json.dump({"version": "1.0.0", "id": "made", "agentId": "somebody", "threadTree": {"rootId": "n0", "currentId": f"n{n - 1}", "nodes": nodes},
           "checkpoints": [cp], "metadata": {"task": "X"}, "createdAt": at, "updatedAt": at}, sys.stdout)
EOT
python3 "$tap/make.py" 1 >"$tap/made.json"
nodes=10000
grep -q __asan_init "$weft" && nodes=2000 # a sanitizer maps and unmaps memory for each of them
python3 "$tap/make.py" "$nodes" >"$tap/large.json"

misuse() { # misuse PATTERN ARGUMENT...
    pattern=$1
    shift
    "$weft" "$@" >"$tap/log" 2>&1
    [ $? = 2 ] && grep -Eq -- "$pattern" "$tap/log"
    verdict $? "weft $* is wrong usage"
}
misuse '^weft export: wants the id of a thread' export --as uap
misuse '^weft export: wants --as and a dialect' export x
misuse "^weft export: --as: there is no dialect 'nonsense'" export x --as nonsense
misuse '^weft export: --view is for pydantic: uap has one view for all agents' export x --as uap --view a
misuse '^weft export: --view is for pydantic: ui has one view for all agents' export x --as ui --view a
misuse '^weft convert: --view is for pydantic: ui has one view for all agents' convert --to ui --view a
misuse '^weft export: -o wants a file' export x --as uap -o
misuse '^weft import: wants a file, or - for standard input' import
misuse "^weft import: --from: there is no dialect 'morse'" import x --as morse
misuse '^weft import: --on-conflict is one of copy, not' import x --on-conflict replace
for c in export import; do
    check "weft $c --help" "$weft" $c --help
    said 'explains it' "^usage: weft $c "
done
refused 'a file that is not there' "$weft" import "$tap/none.json"
said 'is named' '^weft import: .*none.json'
[ -e "$tap/documents.db" ]
[ $? = 1 ]
verdict $? 'and makes no database'

commands() { # commands ID: of the document that is imported
    t=$("$weft" run echo one --json | field thread)
    "$weft" run echo two --thread "$t" >/dev/null
    cp=$("$weft" tree "$t" --checkpoints | sed -nE 's/^ *\. ([0-9a-f-]{36})  .*/\1/p' | head -n 1)
    "$weft" restore "$t" "$cp" >/dev/null
    "$weft" run echo three --thread "$t" >/dev/null
    check 'export' "$weft" export "$t" --as uap -o "$tap/out.json"
    ! [ -s "$tap/log" ]
    verdict $? 'into a file says nothing'
    reads "$tap/out.json" 'd["version"] == "1.0.0" and len(d["threadTree"]["nodes"]) == 2 and len(d["checkpoints"]) == 3'
    reads "$tap/out.json" 'len(d["agentId"]) == 36'
    "$weft" convert --to thread "$tap/out.json" >"$tap/named.json" 2>"$tap/log"
    reads "$tap/named.json" '[a["agent_name"] for a in d["agents"].values()] == ["echo"]'
    check 'and nothing but itself' "$weft" convert --to uap --verify "$tap/out.json"
    "$weft" export "$t" --as uap | cmp - "$tap/out.json" >"$tap/log" 2>&1
    verdict $? 'standard output gets the same'
    for d in thread pydantic ui aitp assistants agentapi envelope upp; do
        "$weft" export "$t" --as $d -o "$tap/$d.json" 2>"$tap/log"
        verdict $? "export as $d"
        check 'is valid' "$weft" validate --as $d "$tap/$d.json"
        check 'and nothing but itself' "$weft" convert --to $d --verify "$tap/$d.json"
        grep -q '"three"' "$tap/$d.json" && ! grep -q '"two"' "$tap/$d.json"
        verdict $? 'and has the history of the thread'
        i=$("$weft" import "$tap/$d.json" --on-conflict copy 2>"$tap/log")
        verdict $? 'it can be imported'
        "$weft" export "$i" --as $d 2>"$tap/log" | cmp - "$tap/$d.json" >>"$tap/log" 2>&1
        verdict $? 'and comes out as it went in'
    done
    "$weft" export "$t" --as log >"$tap/lines.json"
    verdict $? 'export as log'
    python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
said = [e for e in lines if e["kind"] == "message"]
assert [e["at"] for e in lines] == list(range(len(lines)))
assert [e["message"]["content"][0]["text"] for e in said] == ["one", "one", "three", "three"], lines
assert all(e["time"][-1] == "Z" and e["origin"] in ("client", "run") for e in lines), lines
assert [e["who"] for e in said if e["message"]["type"] == "assistant"] == ["echo", "echo"], lines' "$tap/lines.json" >"$tap/log" 2>&1
    verdict $? 'is every entry in order, with who and when'
    refused 'what is here already' "$weft" import "$tap/out.json"
    said 'is refused by its name' "^weft import: .*/out.json: there is a thread '[0-9a-f-]{36}' already: on_conflict=copy .*--on-conflict copy"
    check 'or imported beside it' "$weft" import "$tap/out.json" --on-conflict copy --json
    said 'as a thread of its own' '^\{"thread":"thread_[0-9a-f]{32}"\}$'
    copy=$(field thread <"$tap/log")
    [ "$copy" != "$t" ]
    verdict $? 'with another id'
    "$weft" tree "$copy" >"$tap/log"
    said 'it is drawn as imported' '^root  4 messages, imported  \.\.  "one"$'
    said 'with its branches' '^`- \* at 2  2 messages, imported  \.  "three"$'
    "$weft" show "$copy" --json >"$tap/log"
    said 'its entries too' '"kind":"message","origin":"import"'
    check 'it goes on' "$weft" run echo four --thread "$copy"
    "$weft" export "$copy" --as uap -o "$tap/again.json"
    reads "$tap/again.json" 'd["threadTree"]["nodes"][0]["thread"]["messages"] == json.load(open(sys.argv[1].replace("again", "out")))["threadTree"]["nodes"][0]["thread"]["messages"]'

    sed "s/\"made\"/\"$1\"/g" "$tap/made.json" >"$tap/in.json"
    "$weft" import - <"$tap/in.json" >"$tap/log" 2>&1
    verdict $? 'a document from standard input'
    said 'has an id of ours' '^thread_[0-9a-f]{32}$'
    made=$(cat "$tap/log")
    check 'its own id leads to it' "$weft" show "$1"
    said 'which is said' "^$made  3 entries"
    said 'a call that waited has no result' '<- error: .*outcome unknown'
    check 'it is a conversation and nothing more' "$weft" run echo 'what now?' --thread "$1"
    said 'that goes on' '^what now[?]$'
    check 'its checkpoint' "$weft" restore "$1" cp
    said 'is a place' '^thread_[0-9a-f]{32} stands at entry [0-9]+, in node '
    check 'a second time' "$weft" import "$tap/in.json" --on-conflict copy

    for broken in 's/"1.0.0"/"3.0.0"/ /version expected.version' 's/"currentId":."n0"/"currentId":"n9"/ /threadTree/currentId there.is.no.node' \
        's/"threadId":."n0"/"threadId":"n7"/ /checkpoints/0/threadId there.is.no.node'; do
        set -- $broken "$1"
        sed "$1" "$tap/made.json" | sed 's/"made"/"broken"/g' >"$tap/bad.json"
        refused "a document that is broken at $2" "$weft" import "$tap/bad.json"
        said 'and it is said where' "^weft import: .*/bad.json: $2: .*$3"
        shift 3
    done
    echo '{"version": "1.0.0", ' >"$tap/bad.json"
    refused 'half a document' "$weft" import "$tap/bad.json"
    : >"$tap/bad.json"
    refused 'an empty one' "$weft" import "$tap/bad.json"
    said 'is said to be so' '^weft import: the document is empty'
    refused 'nothing of it is there' "$weft" show broken
    refused 'an unknown thread' "$weft" export nobody --as uap
    said 'is not exported' "^weft export: there is no thread 'nobody'"
    refused 'a folder that is not there' "$weft" export "$t" --as uap -o "$tap/none/x.json"
    said 'is named' '^weft export: .*none/x.json'
}

commands first
check 'another database' "$weft" import "$tap/out.json" --store "$other"
check 'has it' "$weft" show "$(sed -E 's/^."version":"1.0.0","id":"([^"]*)".*/\1/' "$tap/out.json")" --store "$other"
check 'a tree of thousands of nodes' "$weft" import "$tap/large.json" --store "$other"
"$weft" tree made --store "$other" >"$tap/log"
verdict $? 'is drawn'
[ "$(wc -l <"$tap/log")" = $((nodes + 1)) ] && [ "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' "$tap/log")" -lt 250 ]
verdict $? 'in lines that are not too long'
said 'its depths too' "^[|\` -]+\\($((nodes * 2 / 5 + 1)) deep\\) \\* at 1  1 message, imported  \"words of $((nodes - 1))\"\$"
"$weft" export made --as uap --store "$other" -o "$tap/large.out.json"
reads "$tap/large.out.json" "len(d['threadTree']['nodes']) == $nodes and d['threadTree']['currentId'] == 'n$((nodes - 1))'"
head -c 70000000 /dev/zero >"$tap/zeros"
refused 'more than 64 MiB' "$weft" import "$tap/zeros"
said 'is too much' '67108864'

: >"$tap/serve"
"$weft" serve >"$tap/serve" 2>"$tap/serve.log" &
server=$!
for _ in $(seq 6000); do
    grep -q '^listening' "$tap/serve" && break
    sleep 0.02
done
commands second
url=$(sed -n 's/^listening on //p' "$tap/serve")
python3 -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode() + "\n")' \
    "$url/v1/threads/$t/export?as=uap" | cmp - "$tap/out.json" >"$tap/log" 2>&1
verdict $? 'the route gives what the command gives'
for d in thread pydantic ui; do
    python3 -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode() + "\n")' \
        "$url/v1/threads/$t/export?as=$d" | cmp - "$tap/$d.json" >"$tap/log" 2>&1
    verdict $? "the same as $d"
done
kill "$server"
wait "$server"
verdict $? 'the server stops'
tap_end
