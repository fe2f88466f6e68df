#!/bin/sh
# What a live run left in the log comes out whole: ids, models, prompts that were changed, forks; and what is wrong with
# a document is told. usage: exports.sh WEFT   (TAP)
# covers: TP-5, TP-6/2/3/4, TP-7/3, TP-50, TP-61, UAP-3.4/2, AAP-6, AITP-8/4, AITP-9/1
set -u
weft=$(realpath "$1")
. "$(dirname "$0")/../support/tap.sh"
cat >"$tap/script.json" <<'EOF'
{"name": "model-of-today", "replies": [
  {"id": "resp_1", "parts": [{"reasoning": "hm"}, {"text": "It is 18 degrees."}],
   "usage": {"input_tokens": 9, "output_tokens": 5, "reasoning_tokens": 2}},
  {"id": "resp_2", "parts": [{"text": "And now 19."}], "usage": {"input_tokens": 9, "output_tokens": 5}}],
 "at_end": "restart"}
EOF
cat >"$tap/weft.yaml" <<'EOF'
models:
  script: {provider: scripted, script: script.json}
agents:
  weather:
    title: Weather Assistant
    model: script
    middleware:
      - guardrails:
          input: [{action: rewrite, pattern: '^weather tokyo$', instead: 'Please provide current weather information for Tokyo, Japan.'}]
EOF
cd "$tap" || exit 1
store=sqlite:$tap/exports.db
python() { python3 - "$@" >"$tap/log" 2>&1; }

# A prompt that was changed on its way: both texts, once each.
check 'a run' "$weft" run weather 'weather tokyo' --title 'About Tokyo' --store "$store"
thread=$("$weft" threads --store "$store" | head -n 1 | cut -d' ' -f1)
"$weft" export "$thread" --as thread --store "$store" -o thread.json 2>log
verdict $? 'as a thread'
python thread.json <<'EOF'
import json, sys
d = json.load(open(sys.argv[1]))
user, agent = d["turns"]
assert user["parts"] == [{"part_kind": "user-prompt", "content": "weather tokyo"}], user
event, answer = agent["messages"]
assert event["message_type"] == "system" and event["event_type"] == "prompt.enriched", event
assert event["event_data"] == {"original": "weather tokyo",
                               "enriched": "Please provide current weather information for Tokyo, Japan."}, event
assert {k: answer.get(k) for k in ("model_name", "provider_name", "provider_response_id")} == {
    "model_name": "model-of-today", "provider_name": "scripted", "provider_response_id": "resp_1"}, answer
assert answer["parts"][0] == {"part_kind": "thinking", "content": "hm", "provider_name": "scripted"}, answer
assert answer["usage"] == {"input_tokens": 9, "output_tokens": 5, "thinking_tokens": 2, "total_tokens": 14}, answer
(a,) = d["agents"].values()
assert (a["agent_name"], a["model_name"], a["provider_name"]) == ("Weather Assistant", "model-of-today", "scripted"), a
assert "parent_thread_id" not in d and d["title"] == "About Tokyo", d
EOF
verdict $? 'has both prompts, its model, the vendor'"'"'s id and whose thought it is'
check 'it is read again' "$weft" convert --from thread --to thread --verify thread.json

# A fork says where it comes from, in the dialects that have a place for it.
check 'a second run' "$weft" run weather 'and now?' --thread "$thread" --store "$store"
first=$("$weft" show "$thread" --json --store "$store" | python3 -c '
import json, sys
print([e["id"] for e in map(json.loads, sys.stdin) if e["message"] and e["message"]["type"] == "assistant"][0])')
fork=$("$weft" fork "$thread" --at "$first" --json --store "$store" | python3 -c '
import json, sys
print(json.load(sys.stdin)["thread"])')
for written in no yes; do
    "$weft" export "$fork" --as thread --store "$store" -o fork.json 2>log
    verdict $? "the fork as a thread, written to: $written"
    "$weft" export "$fork" --as aitp --store "$store" -o fork.aitp 2>log
    verdict $? 'and as AITP'
    python fork.json fork.aitp "$thread" <<'EOF'
import json, sys
d, aitp, parent = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), sys.argv[3].replace("thread_", "")
plain = lambda s: s.replace("-", "")
assert plain(d["parent_thread_id"]) == plain(parent), d
assert d["branch_point"] == 3, d["branch_point"] # what was said, the event, and the answer
assert plain(aitp["metadata"]["parent_id"]) == plain(parent), aitp["metadata"]
EOF
    verdict $? 'they name the thread and the place'
    check 'valid' "$weft" validate --strict fork.json
    check 'the fork goes on' "$weft" run weather 'and there?' --thread "$fork" --store "$store"
done
"$weft" export "$thread" --as aitp --store "$store" -o whole.aitp 2>log
python whole.aitp <<'EOF'
import json, sys
assert json.load(open(sys.argv[1]))["metadata"]["parent_id"] is None
EOF
verdict $? 'what was not forked has no parent'

# Every id that is made has the form of a random UUID; those of version 8, as they once were, lead to the same.
for dialect in thread agentapi uap ui; do
    "$weft" export "$thread" --as $dialect --store "$store" -o ids.json 2>log
    python ids.json <<'EOF'
import re, sys
ids = re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", open(sys.argv[1]).read())
odd = [i for i in ids if not re.fullmatch(r".{14}4.{4}[89ab].*", i)]
assert ids and not odd, odd
EOF
    verdict $? "ids of $dialect"
done
"$weft" run weather 'once more' --events --json --store "$store" >events.json
python events.json <<'EOF'
import re, sys
ids = re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", open(sys.argv[1]).read())
odd = [i for i in ids if not re.fullmatch(r".{14}4.{4}[89ab].*", i)]
assert len(set(ids)) == 4 and not odd, ids # of the run, its agent, its step and the checkpoint
EOF
verdict $? 'ids of events'
old=$(python3 - "$first" <<'EOF'
import sys, uuid
bits = uuid.UUID(sys.argv[1].replace("msg_", "")).int
free = (bits >> 80) << 74 | (bits >> 64 & 0xfff) << 62 | bits & (1 << 62) - 1
noun, attempt, part = free >> 23 & 7, free >> 17 & 63, free >> 3 & 16383
free = (free >> 26) << 26 | noun << 20 | attempt << 14 | part
print(uuid.UUID(int=(free >> 74) << 80 | 8 << 76 | (free >> 62 & 0xfff) << 64 | 2 << 62 | free & (1 << 62) - 1))
EOF
)
check "an id of version 8 still leads there: $old" "$weft" fork "$thread" --at "$old" --store "$store"

# What came with an id of its own goes out by one of the Agent API, and comes back with its own.
echo '[{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}, {"id": "m2", "role": "assistant", "parts": [{"type": "text", "text": "ho"}]}]' >ui.json
check 'a thread of another' "$weft" import ui.json --as ui --store "$store"
other=$("$weft" threads --store "$store" | head -n 1 | cut -d' ' -f1)
"$weft" export "$other" --as agentapi --store "$store" -o other.agentapi 2>log
verdict $? 'as agentapi'
check 'is valid' "$weft" validate --strict --as agentapi other.agentapi
"$weft" convert --from agentapi --to ui other.agentapi 2>log | tr -d ' ' >back.json
check 'and comes back' grep -q '"id":"m1".*"id":"m2"' back.json

# What is wrong with a document.
cat >null.json <<'EOF'
{"version": "2.0.0", "thread_id": "t", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:09Z",
 "agents": {"a": {"agent_id": "a", "agent_name": "A", "created_at": "2026-01-01T00:00:00Z"}},
 "turns": [{"turn_type": "user", "submitted_at": "2026-01-01T00:00:00Z", "parts": [{"part_kind": "user-prompt",
             "content": ["look", {"kind": "image-url", "url": "http://x.example/y.png"}]}]},
           {"turn_type": "agent", "agent_id": "a", "started_at": "2026-01-01T00:00:01Z", "completed_at": "2026-01-01T00:00:02Z",
            "messages": [{"message_type": "response", "timestamp": "2026-01-01T00:00:01Z", "agent_id": "a",
              "parts": [{"part_kind": "tool-call", "tool_name": null, "tool_call_id": "c", "args": {}}]}]}]}
EOF
refused 'a call without a name' "$weft" validate null.json
said 'is told' '/turns/1/messages/0/parts/0/tool_name: TP-6: '
said 'and an image without an identifier' '/turns/0/parts/0/content/1: TP-7: warning: '
schema=https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json
decides() {
    cat <<EOF
{"id": "t", "metadata": {"parent_id": null, "actors": [{"id": "u", "capabilities": [{"schema": "$schema"}]}, {"id": "a", "capabilities": [{"schema": "$schema"}]}]}, "messages": [
 {"created_at": 1, "thread_id": "t", "role": "user", "metadata": {"actor": "u"}, "content": ["hello"]},
 {"created_at": 2, "thread_id": "t", "role": "assistant", "metadata": {"actor": "a"}, "content": ["{\"\$schema\":\"$schema\",\"request_decision\":{\"id\":\"r\",\"title\":\"?\",\"options\":[{\"id\":\"x\"}]}}"]},
 {"created_at": 3, "thread_id": "t", "role": "$2", "metadata": {"actor": "$1"}, "content": ["{\"\$schema\":\"$schema\",\"decision\":{\"request_decision_id\":\"r\",\"options\":[{\"id\":\"x\"}]}}"]}]}
EOF
}
decides u user >other.json
check 'who was asked decides' "$weft" validate --as aitp other.json
decides a assistant >self.json
refused 'who asks does not' "$weft" validate --as aitp self.json
said 'and is told' '/messages/2/content/0.*: AITP-8: .*whoever asks'
tap_end
