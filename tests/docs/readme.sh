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
said 'it answers' '^I looked at the clock\.$'
said 'its thread is shown' '^thread_[0-9a-f]{32}  4 entries$'
said 'with the call' '-> clock \{\}$'
said 'and what the tool said' '<- clock "'
tap_end
