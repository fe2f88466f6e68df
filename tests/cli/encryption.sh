#!/bin/sh
# Encryption and its keys, from outside: real runs with words planted in all they say. usage: encryption.sh WEFT   (TAP)
# covers: UAP-16.2/1/2/3
set -u
umask 077 # a key that others can read is refused
weft=$(realpath "$1")
. "$(dirname "$0")/../support/tap.sh"
cat >"$tap/weft.yaml" <<'EOF'
store: sqlite:sealed.db
encryption: {key_file: master.key}
log: {level: error}
models:
  calls: {provider: scripted, script: calls.json}
  fails: {provider: scripted, script: fails.json}
tools:
  XYtoolname: {command: [sh, -c, 'cat >/dev/null; echo XYtoolresult'], delivery: pure, parameters: {type: object}}
agents:
  XYagent: {model: calls, tools: [XYtoolname]}
  XYfailing: {model: fails}
EOF
grep -v '^encryption' "$tap/weft.yaml" | sed 's/sealed.db/plain.db/' >"$tap/plain.yaml"
cat >"$tap/calls.json" <<'EOF'
{"replies": [
  {"parts": [{"text": "XYthought"}, {"tool_call": {"id": "XYcallid", "name": "XYtoolname", "arguments": {"a": "XYargument"}}}]},
  {"parts": [{"text": "XYanswer"}]}]}
EOF
echo '{"replies": [{"error": {"code": "AUTHENTICATION_FAILED", "message": "XYerror"}}]}' >"$tap/fails.json"
words='XYquestion XYthought XYcallid XYtoolname XYargument XYtoolresult XYanswer XYerror XYagent XYfailing'
unset WEFT_ENCRYPTION_KEY
WEFT_CONFIG=$tap/weft.yaml
export WEFT_CONFIG

# holds DATABASE WORD: in any of its files, as it is, in hex or (wherever it begins) in base64.
holds() {
    for form in "$2" "$(printf %s "$2" | od -An -v -tx1 | tr -d ' \n')" \
        "$(printf %s "$2" | head -c 6 | base64)" "$(printf %s "$2" | tail -c +2 | head -c 6 | base64)" \
        "$(printf %s "$2" | tail -c +3 | head -c 6 | base64)"; do
        LC_ALL=C grep -qaF -e "$form" "$tap/$1"* && return 0
    done
    return 1
}

refused 'without its key file a store is not opened' "$weft" run XYagent XYquestion
check 'encryption new-key' sh -c "'$weft' encryption new-key >'$tap/master.key'"
[ "$(grep -cE '^[0-9a-f]{64}$' "$tap/master.key")" = 1 ]
verdict $? 'is 64 hex digits'
for config in weft plain; do
    check "a run ($config)" "$weft" run XYagent XYquestion --config "$tap/$config.yaml"
    said 'answers' 'XYanswer$'
    refused "and one that fails ($config)" "$weft" run XYfailing XYquestion --config "$tap/$config.yaml"
done
for word in $words; do
    ! holds sealed.db "$word"
    verdict $? "$word is nowhere in the encrypted files"
    holds plain.db "$word"
    verdict $? "and is in the plain ones"
done
thread=$("$weft" threads | tail -n 1 | cut -d' ' -f1)
check 'with the key it is read' "$weft" show "$thread" --json
said 'as it was' 'XYtoolresult'

"$weft" encryption new-key >"$tap/other.key"
WEFT_ENCRYPTION_KEY=$(cat "$tap/other.key")
export WEFT_ENCRYPTION_KEY
refused 'with another key it is not' "$weft" threads
said 'and says so' 'sealed\.db: the store is encrypted with another key'
refused 'nor for writing' "$weft" run XYagent XYquestion
said 'and says so' 'the store is encrypted with another key'
refused 'a plain store is not taken with a key' "$weft" run XYagent XYquestion --config "$tap/plain.yaml"
said 'and says how to get there' 'not encrypted: export them without the key, and import them into a new store'
WEFT_ENCRYPTION_KEY='XYnokey'
refused 'what is no key is refused' "$weft" threads
! grep -q XYnokey "$tap/log"
verdict $? 'and not shown'
unset WEFT_ENCRYPTION_KEY
refused 'nor is it read without one' "$weft" threads --config "$tap/plain.yaml" --store "sqlite:$tap/sealed.db"
said 'and says what is missing' 'the store is encrypted, and no key is given \(encryption\.key_file, or WEFT_ENCRYPTION_KEY\)'
refused 'nor written' "$weft" run XYagent XYquestion --config "$tap/plain.yaml" --store "sqlite:$tap/sealed.db"
check 'a plain one is still read' "$weft" threads --config "$tap/plain.yaml"

check 'encryption rotate' "$weft" encryption rotate --to "$tap/other.key"
refused 'the old key opens it no more' "$weft" threads
cp "$tap/other.key" "$tap/master.key"
check 'the new one does' "$weft" show "$thread" --json
said 'and all is there' 'XYtoolresult'
refused 'to the same key it does not go' "$weft" encryption rotate --to "$tap/other.key"
refused 'a plain store has no key to change' "$weft" encryption rotate --to "$tap/other.key" --config "$tap/plain.yaml"
said 'and says so' 'the store is not encrypted'
refused 'a tenant that is not there is not forgotten' "$weft" encryption forget locl
said 'and says so' "the store has no tenant 'locl'"
refused 'forget wants a tenant' "$weft" encryption forget
refused 'and no file' "$weft" encryption forget local --to "$tap/other.key"
refused 'nor is one of a plain store' "$weft" encryption forget local --config "$tap/plain.yaml"
said 'and says so' 'the store is not encrypted'
check 'nothing has happened to it' "$weft" show "$thread" --json
check 'encryption forget' "$weft" encryption forget local
said 'says what it has done' 'key of tenant local is erased'
refused 'nobody reads it any more' "$weft" show "$thread"
said 'and is told why' "the key of tenant 'local' was erased"
refused 'nor adds to it' "$weft" run XYagent XYquestion
refused 'it is forgotten once' "$weft" encryption forget local
"$weft" audit --json >"$tap/log" 2>&1
said 'the audit has who forgot it' '"action":"encryption.forget","target":"local","outcome":"done","actor":\{"type":"local","uid":[0-9]+\},"tenant":"local"'
said 'and what was refused' '"action":"encryption.forget","target":"locl","outcome":"failed".*no tenant .locl.'
said 'and the new master key' '"action":"encryption.rotate","target":"[^"]*","outcome":"done"'
refused 'an encrypted store has no words to learn anew' "$weft" doctor --rebuild-search
said 'and says so' 'keeps no words'
check 'a plain one has' "$weft" doctor --rebuild-search --config "$tap/plain.yaml"
said 'and says how many rows' 'knows [1-9][0-9]* rows of the log again'
refused 'rebuilding goes alone' "$weft" doctor --rebuild-search --ready
refused 'encryption wants a word' "$weft" encryption
refused 'rotate wants a file' "$weft" encryption rotate
check 'the old spelling works' "$weft" keys new
said 'and says the new one' '`weft keys new` is now `weft encryption new-key`'
grep -qE '^[0-9a-f]{64}$' "$tap/log"
verdict $? 'and prints a key'
refused 'so does keys rotate' "$weft" keys rotate --to "$tap/other.key" --config "$tap/plain.yaml"
said 'and says the new one' '`weft keys rotate` is now `weft encryption rotate`'
refused 'so does keys forget' "$weft" keys forget nobody
said 'and says the new one' '`weft keys forget` is now `weft encryption forget`'
tap_end
