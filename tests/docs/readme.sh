#!/bin/sh
# README's first agent: its shell block, pasted into an empty folder, runs. usage: readme.sh SOURCE-ROOT WEFT   (TAP)
set -u
root=$1
PATH=$(dirname "$(realpath "$2")"):$PATH
export PATH
. "$root/tests/support/tap.sh"
unset WEFT_CONFIG

# blocks PAGE HEADING: the lines of its ```sh blocks.
blocks() {
    awk -v heading="$2" '/^## / { under = $0 == "## " heading } /^```/ { on = under && $0 == "```sh"; next } on' "$1"
}

blocks "$root/README.md" 'A first agent' >"$tap/pasted"
check 'there is something to paste' test -s "$tap/pasted"
mkdir "$tap/empty"
paste_it() { (cd "$tap/empty" && sh -eu "$tap/pasted"); }
check 'it runs as pasted' paste_it
said 'its configuration is good' '^weft.yaml: good: 1 agent, 1 model, 1 tool$'
said 'it answers' '^It is mild in Tokyo\.$'
said 'its thread is listed' '^thread_[0-9a-f]{32}  20'
said 'and shown' '-> get_weather \{"city":"Tokyo"\}$'
said 'with what the tool said' '<- get_weather \{"celsius":18\}$'
tap_end
