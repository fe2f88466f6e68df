#!/bin/sh
# The examples, on the scripted model. usage: test_examples.sh SOURCE-ROOT ASK TOOLS AGENT MUX SESSION STREAM QUERY TEAM   (TAP)
set -u
root=$1 ask=$2 tools=$3 agent=$4 mux=$5 session=$(realpath "$6") stream=$7 query=$8 team=$9
. "$root/tests/support/tap.sh"
unset UPP_MODEL
check "ask answers" "$ask"
said "with what the script says" '^It is four\.$'
check "ask takes a question" env UPP_MODEL=scripted:'{"echo":true}' "$ask" 'say this'
said "and its echo comes back" '^say this$'
refused "ask tells a provider that is none" env UPP_MODEL=nobody:x "$ask"
said "by its name" 'nobody'
refused "ask tells what fails" env UPP_MODEL=scripted:'{"replies":[{"error":{"code":"RATE_LIMITED","message":"slow down"}}]}' "$ask"
said "with code and words" '^RATE_LIMITED: slow down$'
check "tools runs its tools" "$tools"
said "gives the weather" '^get_weather: "18 degrees in Tokyo"$'
said "and is refused what needs approval" '^remember: "Tool execution denied"$'
said "and answers" '^18 degrees in Tokyo'
lines=$(wc -l <"$root/examples/ask.c")
check "ask.c has fewer than 40 lines" test "$lines" -lt 40
check "agent runs" "$agent"
said "and answers" '^18 degrees in Tokyo\.$'
check "agent takes a question" env UPP_MODEL=scripted:'{"echo":true}' "$agent" 'say this'
said "and its echo comes back" '^say this$'
refused "agent tells a provider that is none" env UPP_MODEL=nobody:x "$agent"
said "by its name" 'nobody'
check "mux routes an envelope" "$mux"
said "reflects on what is doubted" '^to reflect on: .*"text":"Perhaps by bus\."'
said "and answers" '^answer: .*"text":"Take the train\."'
check "session streams an answer" sh -c "cd '$tap' && '$session' 'say this'"
said "word for word" '^say this$'
said "and stores it" '^\(1 answers so far\)$'
check "session goes on after the program" sh -c "cd '$tap' && '$session' 'and this'"
said "with what was stored" '^\(2 answers so far\)$'
check "stream shows steps" "$stream"
said "with calls" '^\[step 1\] Let me look\. \(list_files\)$'
said "and text" '^\[step 2\] There is one file\.$'
said "and the sum" '^17 tokens$'
check "query goes on" "$query"
said "with an answer" '^Three functions\.$'
said "and another" '^The second one\.$'
said "on one thread" '^4 messages in thread'
check "team asks two at the same time" "$team"
said "both answer" '^south: [0-9]+ ms$'
said "and the lead does" '^Nothing, north and south\.$'
tap_end
