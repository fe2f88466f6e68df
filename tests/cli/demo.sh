#!/bin/sh
# The demo is ThreadProtocol's example thread: two agents, a tool, a handoff by mention. usage: demo.sh WEFT   (TAP)
# covers: TP-62/6
set -u
weft=$(realpath "$1")
demo=$(CDPATH='' cd -- "$(dirname -- "$0")/../../demo" && pwd)
. "$(dirname "$0")/../support/tap.sh"
WEFT_CONFIG=$demo/weft.yaml
export WEFT_CONFIG
store=sqlite:$tap/demo.db

check 'the demo is good' "$weft" config check
said 'it says so' 'weft.yaml: good: 6 agents, 6 models, 3 tools$'

# The entries without what is different each time: ids, times, which reply of a script it was.
entries() {
    "$weft" show "$1" --json --store "$store" |
        sed -E 's/"(id|run|timestamp|origin)":"[^"]*",?//g; s/"metadata":\{"scripted":\{"reply":[0-9]+,"script":"[0-9a-f]{16}"\}\},//; s/,\}/}/g'
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

check 'a run of the weather agent' "$weft" run weather "What's the weather like in Tokyo?" \
    --title 'Multi-agent weather discussion' --store "$store"
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

# As a document it is the specification's own, but for ids, times and which models they are: each member that the
# example has is there with its value, and what is there besides is what a live run knows.
check 'as a ThreadProtocol document' "$weft" export "$thread" --as thread --store "$store" -o "$tap/thread.json"
python3 - "$tap/thread.json" "$(dirname "$0")/../golden/thread/weather.json" >"$tap/log" 2>&1 <<'EOF'
import json, re, sys

ours, theirs = (json.load(open(path)) for path in sys.argv[1:])
wrong = []
ids = {}     # of the example: ours
models = {}  # the model and the provider that an agent of the example has: ours
live = []    # what a live run knows and the example does not say: of its responses alone
uuid = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

def same(at, want, have):
    if isinstance(want, dict) and isinstance(have, dict):
        for k, v in want.items():
            if k not in have:
                wrong.append(f"{at}/{k} is missing")
            elif k.endswith("_at") or k == "timestamp":
                if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", have[k]):
                    wrong.append(f"{at}/{k} is no time: {have[k]}")
            elif k == "thread_id":
                if not uuid.fullmatch(have[k]):
                    wrong.append(f"{at}/{k} is no UUID of version 4: {have[k]}")
            else:
                same(f"{at}/{k}", v, have[k])
        extra = {k: have[k] for k in have.keys() - want.keys() - {"x_weft"}}
        if have.get("message_type") == "response":
            live.append({k: extra.pop(k, have.get(k)) for k in ("usage", "finish_reason", "provider_name")})
        for k in extra:
            wrong.append(f"{at}/{k} is not in the example")
        for k in have.get("x_weft", {}).keys() - {"run", "model"}:
            wrong.append(f"{at}/x_weft/{k} is unknown")
    elif isinstance(want, list) and isinstance(have, list) and len(want) == len(have):
        for i, (a, b) in enumerate(zip(want, have)):
            same(f"{at}/{i}", a, b)
    elif (want if not isinstance(want, str) else ids.get(want, models.get(want, want))) != have:
        wrong.append(f"{at} is {have!r}, and not {want!r}")

for (k, a), (l, b) in zip(theirs["agents"].items(), ours["agents"].items()):
    ids[k] = l
    models[a["model_name"]] = b.get("model_name")
    models[a["provider_name"]] = b.get("provider_name")
    if not uuid.fullmatch(l):
        wrong.append(f"{l} is no UUID of version 4")
ours["agents"] = dict(zip(theirs["agents"], ours["agents"].values()))
# Ours is the sum of input and output, of which what was thought is a part (TP-22); the example adds that once more.
usage = theirs["turns"][2]["total_usage"]
usage["total_tokens"] -= usage["thinking_tokens"]
same("", theirs, ours)
def reply(i, o, finish, **more):
    return {"usage": {"input_tokens": i, "output_tokens": o, **more, "total_tokens": i + o}, "finish_reason": finish, "provider_name": "scripted"}
if live != [reply(50, 20, "tool_call"), reply(70, 25, "stop"), reply(150, 35, "stop", thinking_tokens=20)]:
    wrong.append(f"of the responses it says {live}")
if [models[m] for m in ("gpt-4", "openai", "claude-3-opus", "anthropic")] != ["weather-demo", "scripted", "travel-demo", "scripted"]:
    wrong.append(f"the models are {models}")
if wrong:
    sys.exit("\n".join(wrong) + "\n" + json.dumps(ours, indent=1))
EOF
verdict $? 'it is the specification'"'"'s, with every member'
check 'and valid, strictly' "$weft" validate --strict "$tap/thread.json"
for dialect in pydantic ui aitp assistants agentapi envelope upp uap; do
    "$weft" export "$thread" --as $dialect --store "$store" -o "$tap/$dialect.json" 2>"$tap/log"
    verdict $? "as $dialect"
    check 'valid, strictly' "$weft" validate --strict --as $dialect "$tap/$dialect.json"
done

# Agents are named as the configuration has them, and shown by their titles.
check 'as the other agent sees it' "$weft" export "$thread" --as pydantic --view travel --store "$store" -o "$tap/view.json"
grep -q '"content":"{agent:Weather Assistant}: The weather in Tokyo' "$tap/view.json" && ! grep -q '{agent:Travel' "$tap/view.json"
verdict $? 'the first one'"'"'s words are the Weather Assistant'"'"'s'

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

check 'another city' "$weft" run weather 'How is the weather in "São Paulo"?' --store "$store"
said 'is the one that was asked for' '^Let me check the current weather in "São Paulo"\.$'
said 'also in the end' '^The weather in "São Paulo" is currently 18.*C and partly cloudy\.'
thread=$("$weft" threads --store "$store" | head -n 1 | cut -d' ' -f1)
check 'and the tool was asked for it' "$weft" show "$thread" --store "$store"
said 'as JSON' '-> get_weather \{"city":"\\"São Paulo\\"","units":"celsius"\}'
check 'on its thread the travel agent has its own answers' "$weft" run travel 'What shall I pack?' --thread "$thread" --store "$store"
said 'each once more' '^An umbrella is never wrong\.$'

check 'the other agent alone' "$weft" run travel 'What shall I pack?' --store "$store"
said 'has an answer' '^An umbrella is never wrong\.$'
tap_end
