#!/bin/sh
# Strategies, middleware and checked arguments of weft.yaml, from outside. usage: agents.sh WEFT   (TAP)
set -u
weft=$(realpath "$1")
. "$(dirname "$0")/../support/tap.sh"
cat >"$tap/weft.yaml" <<'EOF'
store: sqlite:agents.db
log: {level: error}
models:
  react: {provider: scripted, script: react.json}
  plan: {provider: scripted, script: plan.json}
  echo: {provider: scripted, echo: true}
tools:
  t: {command: [cat], delivery: pure, parameters: {type: object, required: [x]}}
  free: {command: [cat], delivery: pure, parameters: {type: object, required: [x]}, check: false}
agents:
  react: {model: react, strategy: {react: {max_steps: 3, observation_format: json}}, tools: [t, free]}
  plan: {model: plan, strategy: plan}
  guarded:
    model: echo
    middleware:
      - guardrails:
          input: [{name: bombs, action: reject, pattern: 'bombs?'}]
          output: [{action: rewrite, pattern: 'sk-[a-z]+', instead: '***'}]
EOF
cat >"$tap/react.json" <<'EOF'
{"replies": [
  {"parts": [{"text": "I must call t."}]},
  {"parts": [{"tool_call": {"id": "c1", "name": "t", "arguments": {"y": 1}}},
             {"tool_call": {"id": "c2", "name": "free", "arguments": {"y": 2}}}]},
  {"parts": [{"text": "Now I know."}]},
  {"parts": [{"text": "The answer."}]}]}
EOF
cat >"$tap/plan.json" <<'EOF'
{"replies": [
  {"parts": [{"text": "{\"steps\":[{\"id\":\"1\",\"description\":\"do it\",\"dependsOn\":[]}]}"}]},
  {"parts": [{"text": "Done it."}]}]}
EOF
WEFT_CONFIG=$tap/weft.yaml
export WEFT_CONFIG

show_last() { "$weft" show "$("$weft" threads | head -n 1 | cut -d' ' -f1)" "$@"; }

check 'react' "$weft" run react hello
[ "$(cat "$tap/log")" = 'The answer.' ]
verdict $? 'says its answer, and not what it thought'
check 'its thread' show_last --json
said 'arguments are checked' '"toolCallId":"c1","result":".*/x: missing.*","isError":true'
said 'unless they are not' '"toolCallId":"c2","result":\{"y":2\},"isError":false'
! grep -q 'I must\|Now I\|"type":"user".*Observ' "$tap/log"
verdict $? 'has no scaffolding'
check 'its events' "$weft" run react hello --events --json
said 'have the reasoning' '^\{"source":"uap","uap":\{"type":"reasoning","step":1,.*"data":\{"text":"I must call t\."\}\}\}$'
said 'and what was said aside' '^\{"source":"upp","aside":"reason","upp":\{"type":"text_delta",'

check 'plan' "$weft" run plan hello
[ "$(cat "$tap/log")" = 'Done it.' ]
verdict $? 'says its answer, and not its plan'
check 'its thread' show_last
! grep -q 'steps' "$tap/log"
verdict $? 'has no plan in it'

check 'guardrails' "$weft" run guarded 'my key is sk-abc'
said 'rewrite' '^my key is \*\*\*$'
refused 'and reject' "$weft" run guarded 'about bombs'
said 'with a reason' "rejected by guardrail 'bombs'"
tap_end
