#!/bin/sh
# The examples, on the scripted model. usage: test_examples.sh SOURCE-ROOT ASK TOOLS   (TAP)
set -u
root=$1 ask=$2 tools=$3
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
tap_end
