#!/bin/sh
# What the command tells: logs beside texts, limits, mistakes, empty stores. usage: messages.sh WEFT   (TAP)
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

is() { # is TITLE GOT WANTED
    printf 'got %s, wanted %s\n' "$2" "$3" >"$tap/log"
    [ "$2" = "$3" ]
    verdict $? "$1"
}

field() { # field NAME: a text member of the one JSON object on standard output
    sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' "$tap/1"
}

mkdir "$tap/store"
cd "$tap/store" || exit 1
cat >weft.yaml <<'END'
store: sqlite:told.db
log: {level: error, format: json}
models:
  x: {provider: scripted, script: x.json}
  y: {provider: scripted, script: y.json}
  echo: {provider: scripted, echo: true}
  rounds: {provider: scripted, script: rounds.json}
  circle: {provider: scripted, script: circle.json}
  plan: {provider: scripted, script: plan.json}
  wait: {provider: scripted, script: wait.json}
  again: {provider: scripted, script: again.json}
tools:
  nap: {description: d, parameters: {type: object}, command: [sleep, "20"], timeout_ms: 1500}
  quick: {description: d, parameters: {type: object}, command: [echo, "1"]}
  short: {description: d, parameters: {type: object}, command: [sleep, "20"], limits: {seconds: 1}}
agents:
  x: {model: x}
  y: {model: y}
  echo: {model: echo}
  logs: {model: rounds, tools: [quick], middleware: [{logging: {level: debug}}]}
  loud: {model: echo, middleware: [{logging: {level: debug, include_messages: true}}]}
  naps: {model: wait, tools: [nap, short]}
  budget: {model: rounds, tools: [quick], middleware: [{budget: {max_steps: 2}}]}
  tokens: {model: rounds, tools: [quick], middleware: [{budget: {max_tokens: 10}}]}
  enough: {model: x, middleware: [{budget: {max_steps: 1, max_tokens: 1}}]}
  react: {model: again, tools: [quick], strategy: {react: {max_steps: 2}}}
  circle: {model: circle, strategy: plan}
  planned: {model: plan, strategy: plan, middleware: [{budget: {max_steps: 3}}]}
  planned_less: {model: plan, strategy: plan, middleware: [{budget: {max_steps: 2}}]}
END
echo '{"replies": [{"parts": [{"text": "x0"}], "usage": {"input_tokens": 5, "output_tokens": 5}}, {"parts": [{"text": "x1"}]}]}' >x.json
echo '{"replies": [{"parts": [{"text": "y0"}]}, {"parts": [{"text": "y1"}]}, {"parts": [{"text": "y2"}]}]}' >y.json
echo '{"replies": [{"parts": [{"text": "round"}, {"tool_call": {"name": "quick"}}], "usage": {"input_tokens": 6, "output_tokens": 1}},
  {"parts": [{"text": "and"}, {"tool_call": {"name": "quick"}}], "usage": {"input_tokens": 6, "output_tokens": 1}},
  {"parts": [{"text": "done"}]}]}' >rounds.json
echo '{"replies": [{"parts": [{"text": "again"}, {"tool_call": {"name": "quick"}}]}]}' >again.json
echo '{"replies": [{"data": {"steps": [{"id": "a", "description": "d", "tool": "", "dependsOn": ["c"]},
  {"id": "first", "description": "d", "tool": "", "dependsOn": []},
  {"id": "b", "description": "d", "tool": "", "dependsOn": ["a", "first"]},
  {"id": "c", "description": "d", "tool": "", "dependsOn": ["b"]}]}}]}' >circle.json
echo '{"replies": [{"data": {"steps": [{"id": "a", "description": "d", "tool": "", "dependsOn": []},
  {"id": "b", "description": "d", "tool": "", "dependsOn": ["a"]}]}}, {"parts": [{"text": "one"}]}, {"parts": [{"text": "two"}]}]}' >plan.json
echo '{"replies": [{"when": {"contains": "nap"}, "parts": [{"tool_call": {"name": "nap"}}]},
  {"when": {"contains": "short"}, "parts": [{"tool_call": {"name": "short"}}]}, {"parts": [{"text": "ok"}]}]}' >wait.json

# ---- Before any run --------------------------------------------------------------------------------------------------
run 0 threads
says 2 '^weft threads: no threads yet$'
is 'nothing on standard output' "$(cat "$tap/1")" ''
run 0 threads --json
run 1 show thread_00000000000000000000000000000001
says 2 '^weft show: .*told.db: there is no database here yet'
run 1 threads --store sqlite:x.json/told.db
says 2 '^weft threads: .*/told.db: it cannot be opened: Not a directory$'
if [ "$(id -u)" != 0 ]; then
    : >mine.db && chmod 0 mine.db
    run 1 threads --store sqlite:mine.db
    says 2 '^weft threads: .*mine.db: it cannot be opened: Permission denied$'
fi
run 0 doctor
says 1 "^ok    store     .*/store is writable"
says 1 '^ok    database  .*told.db: there is no database here yet'

# ---- Words that are nearly right -------------------------------------------------------------------------------------
run 2 verison
says 2 "^weft: there is no command 'verison'; did you mean 'version'\\?$"
run 2 something
says 2 "^weft: there is no command 'something'; .weft help. lists them$"
run 2 run echo hello --jsno
says 2 "^weft run: does not take '--jsno'; did you mean '--json'\\?$"
run 2 run echo ''
says 2 '^weft run: wants a text that says something$'
run 2 run echo ' '
printf '\n' | "$weft" run echo - >"$tap/log" 2>&1
is 'an empty standard input too' $? 2
run 0 threads
says 2 '^weft threads: no threads yet$'
run 1 run ehco hello
says 2 "^weft run: no agent 'ehco'; did you mean 'echo'\\?$"

# ---- Two scripts on one thread ---------------------------------------------------------------------------------------
run 0 run x hello --json
thread=$(field thread)
is 'the first script' "$(field text)" x0
for want in y0 y1; do
    run 0 run y hello --thread "$thread" --json
    is "the second one begins at its own beginning, and goes on: $want" "$(field text)" $want
done
run 0 run x hello --thread "$thread" --json
is 'and the first goes on where it was' "$(field text)" x1

# ---- The thread that changed last ------------------------------------------------------------------------------------
sed 's/naps: .*/naps: {model: wait, tools: [nap]}/' weft.yaml >slow.yaml
"$weft" run naps nap --config slow.yaml --json >"$tap/slow" 2>&1 &
slow=$!
sleep 0.5
run 0 run echo quick --json
quick=$(field thread)
wait $slow
slow=$(sed -n 's/.*"thread":"\([^"]*\)".*/\1/p' "$tap/slow")
is 'a run that ends later has changed its thread later' "$("$weft" threads | head -n 2 | cut -d' ' -f1 | tr '\n' ' ')" "$slow $quick "
updated() { "$weft" threads | sed -n "s/^$1  \\([^ ]*\\) .*/\\1/p"; }
last=$("$weft" show "$slow" | sed -n 's/^assistant.*  \(20.*\)$/\1/p' | tail -n 1)
[ "$(updated "$slow")" = "$last" ] || [ "$(updated "$slow")" \> "$last" ]
verdict $? 'with its last message'

# ---- Limits ----------------------------------------------------------------------------------------------------------
run 0 run naps nap --events
says 1 'tool_execution_end toolName="nap".* result="the program did not end within 1.5 seconds and was ended" isError=true'
run 0 run naps short --events
says 1 'tool_execution_end toolName="short".* result="the program did not end within 1 seconds and was ended" isError=true'

for case in budget:max_steps tokens:max_tokens react:max_steps planned_less:max_steps; do
    agent=${case%:*} limit=${case#*:}
    run 3 run "$agent" hello
    says 2 "^weft run: run_[0-9a-f]{32} is incomplete: it has reached $limit$"
    run 3 run "$agent" hello --json
    says 1 "\"status\":\"incomplete\",.*\"incomplete\":\\{\"reason\":\"$limit\"\\},"
    thread=$(field thread)
    "$weft" export "$thread" --as uap >"$tap/log"
    case $agent in
    react) said 'its state says so' '"maxStepsReached":true' ;;
    *) said 'its state says so' "\"budgetExceeded\":\"$limit\"" ;;
    esac
done
run 3 run budget hello --events
says 1 'run status="incomplete" incomplete=\{"reason":"max_steps"\}'
run 0 run enough hello --json # it had no more to say
says 1 '"status":"completed","text":"x0","incomplete":null,'
run 0 run planned hello --json # as many steps as it may have, and no more wanted
says 1 '"status":"completed","text":"two","incomplete":null,'

run 1 run circle hello
says 2 "failed: the plan makes no sense: its steps depend on each other in a circle: '[abc]' -> '[abc]' -> '[abc]' -> '[abc]'$"

# ---- Logs ------------------------------------------------------------------------------------------------------------
run 0 run logs hello
is 'no log on standard output' "$(cat "$tap/1")" "$(printf 'round\nand\ndone')"
python3 - "$tap/2" >"$tap/log" 2>&1 <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert all(set(("time", "level", "msg")) <= set(l) for l in lines), lines
assert any(l["level"] == "info" and l["msg"].endswith("starting execution") for l in lines), lines
assert any(l["level"] == "debug" and l["msg"] == "Input" and l["text"] == "hello" for l in lines), lines
END
verdict $? 'in JSON where the log is in JSON'
sed 's/format: json/format: text/' weft.yaml >text.yaml
run 0 run logs hello --config text.yaml
says 2 '^time=[^ ]* level=info msg="Agent [0-9a-f-]* starting execution"$'
says 2 '^time=[^ ]* level=debug msg="Input" text=hello$'
"$weft" run logs hello --config text.yaml >"$tap/both" 2>&1
cp "$tap/both" "$tap/log"
grep -v '^time=' "$tap/both" >"$tap/texts"
is 'and a line of the log is no part of a line of the text' "$(cat "$tap/texts")" "$(printf 'round\nand\ndone')"
head -c 200000 /dev/zero | tr '\0' x >long # more than waits for the end of a line
"$weft" run loud - --config text.yaml <long >"$tap/both" 2>&1
is 'nor where it is long' "$(grep -c '^x*$' "$tap/both") $(grep -c '^time=[^ ]* level=debug msg="Output" text="\{0,1\}x' "$tap/both")" '1 1'

# ---- A key that is missing -------------------------------------------------------------------------------------------
printf 'models:\n  claude: {provider: anthropic, model: m}\nagents:\n  a: {model: claude}\n' >key.yaml
unset ANTHROPIC_API_KEY
run 0 config check key.yaml
says 1 "^key.yaml:2:3: warning: this model has no 'api_key', and the environment variable ANTHROPIC_API_KEY is not set$"
says 1 '^key.yaml: good'
ANTHROPIC_API_KEY=x "$weft" config check key.yaml >"$tap/log" 2>&1
is 'with the variable there is nothing to say' "$(grep -c warning "$tap/log")" 0
sed 's/model: m/model: m, api_key: "${NO_SUCH_KEY}"/' key.yaml >key2.yaml
run 1 config check key2.yaml
says 1 "^key2.yaml:2:.*: the environment variable 'NO_SUCH_KEY' is not set$"
is 'once' "$(grep -c 'is not set' "$tap/1")" 1

# ---- The store of the configuration ----------------------------------------------------------------------------------
cd /
run 0 doctor --config "$tap/store/weft.yaml"
says 1 "^ok    store     $tap/store is writable"
says 1 "^ok    database  $tap/store/told.db: can be read$"
WEFT_CONFIG=$tap/store/weft.yaml "$weft" doctor >"$tap/log" 2>&1
said 'also that of WEFT_CONFIG' "^ok    database  $tap/store/told.db: can be read$"
echo 'no database' >"$tap/store/broken.db"
run 1 doctor --store "sqlite:$tap/store/broken.db"
says 1 '^bad   database  .*broken.db: is no database'
run 1 doctor --config "$tap/none.yaml"
says 1 '^bad   database  .*none.yaml'
run 0 doctor --store "$tap"
is 'a folder alone is looked at as such' "$(grep -c database "$tap/1")" 0
tap_end
