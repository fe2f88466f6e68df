#!/bin/sh
# The demo is ThreadProtocol's example thread: two agents, a tool, a handoff by mention. usage: demo.sh WEFT   (TAP)
# covers: TP-60, TP-62
set -u
weft=$(realpath "$1")
demo=$(CDPATH='' cd -- "$(dirname -- "$0")/../../demo" && pwd)
. "$(dirname "$0")/../support/tap.sh"
WEFT_CONFIG=$demo/weft.yaml
export WEFT_CONFIG
store=sqlite:$tap/demo.db

check 'the demo is good' "$weft" config check
said 'it says so' 'weft.yaml: good: 3 agents, 3 models, 1 tools$'

# The entries without what is different each time: ids, times, which reply of a script it was.
entries() {
    "$weft" show "$1" --json --store "$store" |
        sed -E 's/"(id|run|timestamp|origin)":"[^"]*",?//g; s/"metadata":\{"scripted":\{"reply":[0-9]+\}\},//; s/,\}/}/g'
}

cat >"$tap/wanted" <<'EOF'
{"kind":"message","who":null,"step":0,"message":{"type":"user","content":[{"type":"text","text":"What's the weather like in Tokyo?"}]},"event":null}
{"kind":"message","who":"weather","step":1,"message":{"type":"assistant","content":[{"type":"text","text":"Let me check the current weather in Tokyo."}],"toolCalls":[{"toolCallId":"call_001","toolName":"get_weather","arguments":{"city":"Tokyo","units":"celsius"}}]},"event":null}
{"kind":"message","who":null,"step":1,"message":{"type":"tool_result","content":[],"results":[{"toolCallId":"call_001","result":{"temperature":18,"conditions":"partly cloudy"},"isError":false}]},"event":null}
{"kind":"message","who":"weather","step":2,"message":{"type":"assistant","content":[{"type":"text","text":"The weather in Tokyo is currently 18°C and partly cloudy. Travel Planner, what do you think?"}]},"event":null}
{"kind":"event","who":"weather","step":3,"message":null,"event":{"type":"agent.handoff","data":{"from":"weather","to":"travel","reason":"explicit_mention"},"source":"weather","targets":["travel"]}}
{"kind":"turn","who":"travel","step":3,"message":null,"event":null}
{"kind":"message","who":"travel","step":3,"message":{"type":"user","content":[{"type":"text","text":"Based on the weather, what activities would you recommend?"}]},"event":null}
{"kind":"message","who":"travel","step":3,"message":{"type":"assistant","content":[{"type":"reasoning","text":"The weather is mild and partly cloudy..."},{"type":"text","text":"Perfect weather for sightseeing! I'd recommend visiting temples and parks."}]},"event":null}
EOF

check 'a run of the weather agent' "$weft" run weather "What's the weather like in Tokyo?" --store "$store"
said 'the first agent speaks' '^The weather in Tokyo is currently 18.*C and partly cloudy. Travel Planner, what do you think\?$'
said 'and the second one' '^Perfect weather for sightseeing! I.d recommend visiting temples and parks\.$'
thread=$("$weft" threads --store "$store" | head -n 1 | cut -d' ' -f1)
entries "$thread" >"$tap/entries"
diff "$tap/wanted" "$tap/entries" >"$tap/log"
verdict $? 'its thread is the example'

# As a session it has the handoff, who spoke, and the tools' names; imported elsewhere and written again it is the same.
check 'as a session' "$weft" export "$thread" --as uap --store "$store" -o "$tap/session.json"
check 'imported into another store' "$weft" import "$tap/session.json" --store "sqlite:$tap/other.db"
"$weft" export "$(tail -n 1 "$tap/log")" --as uap --store "sqlite:$tap/other.db" -o "$tap/again.json" >"$tap/log" 2>&1
verdict $? 'and written there'
python3 - "$tap/session.json" "$tap/again.json" >"$tap/log" 2>&1 <<'END'
import json, sys
def said(file):
    [node] = json.load(open(file))["threadTree"]["nodes"]
    for m in node["thread"]["messages"]:
        weft = m.get("metadata", {}).get("weft", {})
        yield weft.get("name", weft.get("agent")), [e["said"]["type"] for e in weft.get("events", [])], m
first, again = (list(said(f)) for f in sys.argv[1:])
assert "agent.handoff" in [t for _, types, _ in first for t in types], first
assert {"weather", "travel"} <= {who for who, _, _ in first}, first
assert first == again, (first, again)
END
verdict $? 'with the event, who spoke, and all else'

# As a document it is the specification's own, but for ids, times, what is known of the agents, and names in the handoff.
check 'as a ThreadProtocol document' "$weft" export "$thread" --as thread --store "$store" -o "$tap/thread.json"
python3 - "$tap/thread.json" "$(dirname "$0")/../golden/thread/weather.json" >"$tap/log" 2>&1 <<'EOF'
import json, sys

def plain(path):
    d = json.load(open(path))
    names = {"weather": "agent_001", "travel": "agent_002"}
    ids = {k: names.get(a["agent_name"], k) for k, a in d["agents"].items()}
    def clean(x):
        if isinstance(x, list):
            return [clean(i) for i in x]
        if isinstance(x, dict):
            return {k: clean(v) for k, v in x.items() if not k.endswith("_at") and k not in (
                "x_weft", "timestamp", "usage", "model_name", "provider_name", "finish_reason", "thinking_tokens", "total_tokens")}
        return ids.get(x, names.get(x, x)) if isinstance(x, str) else x
    return clean(d["turns"])

ours, theirs = plain(sys.argv[1]), plain(sys.argv[2])
if ours != theirs:
    sys.exit(json.dumps(ours, indent=1) + "\n---\n" + json.dumps(theirs, indent=1))
EOF
verdict $? 'it is the specification'"'"'s'
check 'and valid' "$weft" validate "$tap/thread.json"

check 'for people' "$weft" show "$thread" --store "$store"
said 'an event' '^    agent.handoff \{"from":"weather","to":"travel","reason":"explicit_mention"\} -> travel$'
said 'a turn' '^turn travel  msg_'
said 'who said it' '^assistant travel  msg_'

check 'a second time on the same thread' "$weft" run weather 'And the weather now?' --thread "$thread" --store "$store" --events
said 'the handoff is an event' ' system_event eventType="agent.handoff" eventData=\{"from":"weather".* sourceAgent="weather" targetAgents=\["travel"\]$'
said 'and ends well' ' run status="completed" usage=\{"inputTokens":270,"outputTokens":80,'
entries "$thread" | sed '1,8d; s/call_[0-9a-f]*/call_001/g; s/And the weather now/What'"'"'s the weather like in Tokyo/' >"$tap/entries"
diff "$tap/wanted" "$tap/entries" >"$tap/log"
verdict $? 'and is the same again'

check 'the other agent alone' "$weft" run travel 'What shall I pack?' --store "$store"
said 'has an answer' '^An umbrella is never wrong\.$'
tap_end
