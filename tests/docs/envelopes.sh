#!/bin/sh
# The first exchange of docs/envelopes.md: its shell blocks, pasted into an empty folder, run. usage: envelopes.sh SOURCE-ROOT WEFT   (TAP)
set -u
root=$1
weft=$(realpath "$2")
PATH=$(dirname "$weft"):$PATH
export PATH
. "$root/tests/support/tap.sh"
unset WEFT_CONFIG
mkdir "$tap/empty"
cd "$tap/empty" || exit 1

awk '/^## / { under = $0 == "## A first exchange" } /^```/ { on = under && $0 == "```sh"; next } on' "$root/docs/envelopes.md" >"$tap/pasted"
check 'there is something to paste' test -s "$tap/pasted"
# The server of the test has a port of its own, and is ended at the end.
sed -n '/^weft serve &$/q;p' "$tap/pasted" >"$tap/files"
sed '1,/^weft serve &$/d' "$tap/pasted" >"$tap/commands"
check 'its files' sh -eu "$tap/files"
mkfifo "$tap/address"
weft serve --listen 127.0.0.1:0 >"$tap/address" 2>"$tap/serverlog" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server"; rm -rf "$tap"' EXIT
read -r line <"$tap/address"
sed -i "s|http://127.0.0.1:8787|${line##* }|" "$tap/commands"
check 'its commands' sh -eu "$tap/commands"
said 'another model answers' '"text":"1\) Collect URLs 2\) Scrape daily 3\) Save CSV"'
said 'the lineage begins with the envelope' '^\* m1  user, plan: Track the prices of my items \(200\+30 tokens with what follows\)$'
said 'and has the reflection' '^   `- [0-9a-f-]{36}  orchestrator, reflect: Check the answer'
said 'and the answer' '^      `- [0-9a-f-]{36}  checker, reflect: .* \(score 0\.9, 120\+18 tokens\)$'
said 'nothing differs' '^4 envelopes, 1 exchange, 2 requests: 0 differences$'
tap_end
