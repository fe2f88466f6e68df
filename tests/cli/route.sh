#!/bin/sh
# weft route, from outside. usage: route.sh WEFT   (TAP)
set -u
weft=$(realpath "$1")
. "$(dirname "$0")/../support/tap.sh"
golden=$(realpath "$(dirname "$0")/../golden/envelope")
cat >"$tap/weft.yaml" <<'EOT'
log: {level: error}
models:
  gpt-5: {provider: scripted, echo: true}
  claude: {provider: scripted, echo: true}
  gemini: {provider: scripted, echo: true}
agents:
  planner: {model: gpt-5}
  writer: {model: claude}
  runner: {model: gemini}
EOT
{
    cat "$tap/weft.yaml"
    echo 'routes: [{intent: plan, when: {confidence: {below: 0.8}}, to: writer}, {intent: plan, to: planner}]'
} >"$tap/rules.yaml"
WEFT_CONFIG=$tap/weft.yaml
export WEFT_CONFIG

# covers: ENV-4/1
check "the planner's example goes to the agent of GPT" "$weft" route "$golden/planner.json"
said "which is all that is printed" '^planner$'
check "the decomposer's to that of Claude" "$weft" route "$golden/decomposer.json"
said "by default" '^writer$'
check "the explanation" "$weft" route --explain "$golden/planner.json"
said "has every rule" '^rule 3 \(default\): execute, retrieve, tool.call -> runner$'
said "why one does not fit" '^    does not fit: the intent is plan$'
said "and why one does" '^    fits: taken$'
said "the agent" '^agent: planner \(by the rule of its intent\)$'
said "and its adapter" '^model: gpt-5, adapter: gpt5$'
check "rules of the file" "$weft" route --config "$tap/rules.yaml" "$golden/planner.json"
said "have conditions" '^writer$'
refused "an intent without a rule" "$weft" route --config "$tap/rules.yaml" "$golden/decomposer.json"
said "is refused" '^weft route: no rule fits the intent decompose, and there is none for reflect$'
echo '{"protocol":"x","role":"user"}' >"$tap/bad.json"
refused "an envelope with problems" "$weft" route "$tap/bad.json"
said "is refused with all of them" 'ENV-1.6: member .content. is missing'
refused "a file that is not there" "$weft" route "$tap/nothing.json"
refused "no file" "$weft" route
said "is wrong usage" 'usage: weft route'

# An agent of a log that runs anew, without a server. A variable that both configurations name is read twice.
mkdir "$tap/live"
cat >"$tap/live/weft.yaml" <<'EOT'
log: {level: error}
store: sqlite:live.db
models: {quick: {provider: scripted, echo: true}}
agents: {planner: {model: quick, system: "${REPLAY_KEY}"}}
routes: [{intent: plan, to: planner}, {intent: reflect, to: planner}]
EOT
cat >"$tap/live/log.jsonl" <<'EOT'
{"protocol":"multiagent-1.0","role":"user","timestamp":"2025-10-10T12:40:00Z","intent":"plan","task":"Track prices","content":{"type":"text","text":"Daily"},"trace":{"id":"m1"}}
{"protocol":"multiagent-1.0","role":"agent","timestamp":"2025-10-10T12:40:01Z","agent":{"id":"planner","name":"planner","model":"quick"},"intent":"plan","task":"Track prices","content":{"type":"text","text":"recorded"},"trace":{"id":"m2","parents":["m1"]}}
EOT
REPLAY_KEY=sk-x
export REPLAY_KEY
replay() { (cd "$tap/live" && "$weft" replay log.jsonl --config weft.yaml "$@"); }
refused "a reply that is another one now" replay --live planner
said "is a difference" '^  reply m1 plan Track prices$'
said "with what was recorded" '^    - recorded$'
said "and the log is read to its end" '^2 envelopes, 1 exchange, 1 request: [12] differences?$'
refused "the same with rules" replay --live planner --rules weft.yaml
said "of another file" '^  reply m1 plan Track prices$'
check "what has run" "$weft" threads --config "$tap/live/weft.yaml" --store "sqlite:$tap/live/live.db"
said "is in the store" 'thread_'
tap_end
