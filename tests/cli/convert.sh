#!/bin/sh
# weft convert and validate, from outside. usage: convert.sh WEFT   (TAP)
set -u
weft=$(realpath "$1")
golden=$(realpath "$(dirname "$0")/../golden")
. "$(dirname "$0")/../support/tap.sh"
cd "$tap" || exit 1

# gives TITLE STATUS COMMAND...: ok when it ends so and prints what stands on standard input; standard error is in $tap/log.
gives() {
    title=$1 status=$2
    shift 2
    cat >want
    "$@" >got 2>log </dev/null
    [ $? = "$status" ] && diff -u want got >>log
    verdict $? "$title"
}

# as_valid STATUS DIALECT FILE: what was written is valid and it ended with 0, or it is not and it ended with 1.
as_valid() {
    "$weft" validate --as "$2" "$3" >/dev/null 2>&1
    [ $? = "$1" ]
}

misuse() { # misuse PATTERN ARGUMENT...
    pattern=$1
    shift
    "$weft" "$@" >log 2>&1 </dev/null
    [ $? = 2 ] && grep -Eq -- "$pattern" log
    verdict $? "weft $* is wrong usage"
}

# same TITLE A B: two files of one JSON value mean the same.
same() {
    python3 -c 'import json, sys; a, b = (json.load(open(f)) for f in sys.argv[1:]); sys.exit(a != b)' "$2" "$3" >log 2>&1
    verdict $? "$1"
}

# On a terminal: standard error alone, in $tap/log.
terminal() {
    TERM=xterm python3 - "$@" <<'END'
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
seen = b""
while True:
    try:
        piece = os.read(ours, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
open("log", "wb").write(seen.replace(b"\r", b"\n"))
sys.exit(child.wait())
END
}

# ---- Usage

misuse '^weft convert: wants --to and a dialect' convert
misuse "^weft convert: --to: there is no dialect 'x[?]y'; there are: thread, pydantic" convert --to "$(printf 'x\033y')"
misuse "^weft convert: --from: there is no dialect 'tread'; there are: thread, pydantic" convert --from tread --to thread
misuse '^weft convert: takes one file, or --out and a folder' convert --to thread a b
misuse '^weft convert: --out wants files' convert --to thread --out d
misuse '^weft convert: takes --lines or --out, not both' convert --to thread --out d --lines a
misuse "^weft convert: '-' has no name for a file in --out" convert --to thread --out d a -
misuse "^weft convert: 'd/' has no name" convert --to thread --out d d/
misuse "^weft convert: '(x|y)/a' and '(x|y)/a' would be one file" convert --to thread --out d x/a b y/a
misuse '^weft convert: --now wants a time: ' convert --to thread --now yesterday
misuse '^weft convert: --seed wants a whole number' convert --to thread --seed x
misuse '^weft convert: --target wants a version' convert --to thread --target 0
misuse "^weft convert: does not take '--bad'" convert --bad
misuse '^weft validate: wants files, or - for standard input' validate
misuse "^weft validate: --as: there is no dialect 'x'; there are: thread" validate --as x a
check 'convert has help' "$weft" convert --help
said 'that tells of losses' 'lost: POINTER: WHAT: WHY'
check 'validate has help' "$weft" help validate
said 'that tells its lines' 'FILE: POINTER: RULE: sentence'

# ---- One document

for file in "$golden"/pydantic/*.json; do
    "$weft" convert --to thread --verify "$file" >thread.json 2>log
    as_valid $? thread thread.json && ! grep -q ': lost: ' log
    verdict $? "$(basename "$file") as a thread, without a loss"
    "$weft" convert --from thread --to pydantic --verify - <thread.json >back.json 2>log
    as_valid $? pydantic back.json
    verdict $? 'and back'
    same 'is what it was' "$file" back.json
done
for file in "$golden"/thread/*.json; do
    check "$(basename "$file") as Pydantic AI's messages" "$weft" convert --to pydantic --verify "$file"
    "$weft" convert --to thread --verify <"$file" >back.json 2>log
    as_valid $? thread back.json && ! grep -q ': lost: ' log
    verdict $? 'and in its own dialect, without a loss'
    same 'is what it was' "$file" back.json
done

[ "$(wc -l <thread.json)" = 1 ]
verdict $? 'a document is one line'
"$weft" convert --to thread "$golden/pydantic/v0.0.14.json" >one.json
"$weft" convert --to thread - <"$golden/pydantic/v0.0.14.json" >two.json
cmp one.json two.json >log 2>&1
verdict $? 'the same bytes give the same bytes'
echo '[{"parts":[{"content":"hello","part_kind":"user-prompt"}],"kind":"request"}]' >timeless.json
"$weft" convert --to thread timeless.json >log
said 'a time that nobody has said is the first one' '"1970-01-01T00:00:00(.000)?Z"'
"$weft" convert --to thread --seed=7 --now 2026-01-02T03:04:05Z timeless.json >log
said 'or the one that is asked for' '"2026-01-02T03:04:05(.000)?Z"'

# ---- Losses

cat >beside.json <<'END'
{"version": "2.0.0", "thread_id": "t", "created_at": "2026-01-01T00:00:00Z",
 "updated_at": "2026-01-01T00:00:00Z", "agents": {}, "turns": [], "x_a": 1, "x_b\u001b": {"y": [2]}}
END
gives 'what is lost is told' 0 "$weft" convert --to pydantic beside.json <<'END'
[]
END
said 'with place and reason' '^beside.json: lost: /x_a: the number 1: only its own dialect has a place for it$'
said 'and without control characters' '^beside.json: lost: /x_b : an object: '
gives 'or reported' 0 "$weft" convert --to pydantic --report beside.json <<'END'
[]
END
python3 -c 'import json; assert [set(json.loads(l)) for l in open("log")][:2] == [{"pointer", "what", "why"}] * 2' 2>>log
verdict $? 'as lines of JSON'
python3 -c 'import json
d = json.load(open("beside.json"))
d.update({f"x_{i}": i for i in range(30)})
json.dump(d, open("more.json", "w"))'
check 'of many losses' "$weft" convert --to pydantic more.json
[ "$(grep -c ': lost: /' log)" = 20 ] && grep -Eq '^more.json: lost: and [0-9]+ more, which --report tells$' log
verdict $? 'a person is told some'
check 'and --report' "$weft" convert --to pydantic more.json --report
[ "$(grep -c '"why"' log)" -ge 32 ]
verdict $? 'has them all'

# ---- System prompts
# covers: TP-9/1/3/4, TP-37/1/2/3/4

old=$golden/pydantic/v0.0.14.json
"$weft" convert --to thread "$old" >got 2>log
[ $? = 0 ] && ! [ -s log ] && grep -q 'be brief' got
verdict $? 'a prompt is carried in a place of its own'
python3 -c 'import json
assert "be brief" not in json.dumps([t.get("parts") or t.get("messages") and [m["parts"] for m in t["messages"]]
                                     for t in json.load(open("got"))["turns"]])' 2>>log
verdict $? 'and never among the parts'
"$weft" convert --to thread --pure "$old" >got 2>log
[ $? = 0 ] && ! grep -q 'be brief' got
verdict $? 'and left out of a pure thread'
said 'which is told' '^.*/v0.0.14.json: lost: /0/parts/0: an object: '
for prompt in 'be kind' 'be wild'; do
    cat >weft.yaml <<END
models: {m: {provider: scripted, echo: true}}
agents: {weather: {model: m, system: "$prompt"}}
END
    cat >plain.json <<'END'
{"version": "2.0.0", "thread_id": "t", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
 "agents": {"a1": {"agent_id": "a1", "agent_name": "Weather", "config_ref": "weather",
                   "created_at": "2026-01-01T00:00:00Z"}},
 "turns": [{"turn_type": "user", "submitted_at": "2026-01-01T00:00:00Z",
            "parts": [{"part_kind": "user-prompt", "content": "hello"}]}]}
END
    "$weft" convert --to pydantic --view a1 --config weft.yaml plain.json >got 2>log
    python3 -c 'import json, sys
parts = [[p["part_kind"], p["content"]] for m in json.load(open("got")) for p in m["parts"]]
assert parts == [["system-prompt", sys.argv[1]], ["user-prompt", "hello"]], parts' "$prompt" 2>>log
    verdict $? "the viewing agent's prompt is the one it has now"
    "$weft" convert --to thread --config weft.yaml plain.json >"thread of $prompt"
done
cmp 'thread of be kind' 'thread of be wild' >log 2>&1
verdict $? 'and nothing of it is in the thread'
"$weft" convert --to pydantic --view a1 --config weft.yaml --no-system plain.json >log 2>&1
! grep -q 'system-prompt' log
verdict $? 'nor anywhere with --no-system'
sed 's/weather/agent/' weft.yaml >agent.yaml
"$weft" convert --to thread "$old" | "$weft" convert --to pydantic --view agent --config agent.yaml >back.json
same 'messages that had a prompt have their own again, and no other' "$old" back.json
echo '[{"parts":[{"content":"be still","part_kind":"system-prompt"}],"kind":"request"},
       {"parts":[{"content":"hello","part_kind":"user-prompt"}],"kind":"request"}]' >alone.json
"$weft" convert --to thread alone.json --agent agent >thread.json
grep -q be.still thread.json && "$weft" convert --to pydantic --view agent --config agent.yaml <thread.json >back.json 2>log
same 'also where it stood alone' alone.json back.json
refused 'a configuration that is wrong is a failure' "$weft" convert --to pydantic --config plain.json plain.json
refused 'and an agent that is not there' "$weft" convert --to pydantic --view nobody plain.json
said 'as is said, with those that are' "^weft convert: plain.json: the thread has no agent 'nobody'; there is: Weather$"
cat >titled.yaml <<'EOT'
models: {m: {provider: scripted, echo: true}}
agents: {travel: {model: m, title: The travel agent, system: be far}, other: {model: m}}
EOT
"$weft" convert --to thread --agent 'The travel agent' alone.json >titled.json 2>log
check 'an agent with a title is found by its name' "$weft" convert --to pydantic --view travel --config titled.yaml titled.json
refused 'not without the configuration' "$weft" convert --to pydantic --view travel titled.json
said 'but by its title' "no agent 'travel'; there is: The travel agent$"
refused 'nor another one' "$weft" convert --to pydantic --view other --config titled.yaml titled.json

# ---- What goes wrong

printf '{"turns": [\n 1,]}' >bad.json
gives 'bad JSON is a failure' 1 "$weft" convert --to thread bad.json </dev/null
said 'with its place' '^weft convert: bad.json: line 2, column 4 \(byte [0-9]+\): '
echo '{"nobody": 1}' >nobody.json
gives 'so is what no dialect knows' 1 "$weft" convert --to thread nobody.json </dev/null
said 'as is said' '^weft convert: nobody.json: no dialect knows this document: name one$'
refused 'and a document of another dialect' "$weft" convert --from thread --to thread "$golden/pydantic/current.json"
refused 'and a file that is not there' "$weft" convert --to thread none.json
said 'which is named' '^weft convert: none.json: cannot open it: no such file or directory$'
refused 'and a folder' "$weft" convert --to thread .
said 'as is said' '^weft convert: [.]: cannot read it: is a directory$'
refused 'and nothing at all' "$weft" convert --to thread /dev/null
python3 -c 'print("[" * 100000 + "]" * 100000)' >deep.json
refused 'and what is too deep' "$weft" convert --from thread --to thread deep.json
said 'with its place' '^weft convert: deep.json: line 1, column 193 .*: .*192'
truncate -s 268435457 large.json
refused 'and what is too large' "$weft" convert --to thread large.json
said 'as is said' '^weft convert: large.json: larger than 268435456 bytes$'
rm large.json
"$weft" convert --to thread beside.json >/dev/full 2>log
[ $? = 1 ] && grep -q 'standard output' log
verdict $? 'a full disk is a failure'

# ---- A log

misuse '^weft convert: takes --lines or --log, not both' convert --to thread --log --lines a
python3 -c 'import json, sys
for e in json.load(open(sys.argv[1])): print(json.dumps(e), "\n")' "$golden/envelope/exchange.json" >envelopes.jsonl
"$weft" convert --to thread --log --verify envelopes.jsonl >one.json 2>log
"$weft" convert --to envelope one.json >back.json 2>>log
same 'a log of envelopes is one thread, and comes back' back.json "$golden/envelope/exchange.json"
"$weft" convert --to ui --log envelopes.jsonl 2>log >/dev/null
said 'what is lost says its place in the log' '^envelopes.jsonl: lost: /2/confidence: '

cat >stream.jsonl <<'END'
{"id":"response_123","object":"response","status":"created"}
{"id":"msg_abc","object":"message","type":"assistant","status":"created"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":"This","object":"content","msg_id":"msg_abc"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":" image shows...","object":"content","msg_id":"msg_abc"}
{"status":"completed","type":"text","index":0,"delta":false,"text":"This image shows...","object":"content","msg_id":"msg_abc"}
{"id":"msg_abc","status":"completed","object":"message"}
{"id":"response_123","status":"completed","object":"response"}
END
cat >other.jsonl <<'END'
{"status":"created","id":"response_1","object":"response"}
{"status":"created","id":"msg_1","object":"message","type":"assistant"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":"Hello","object":"content"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":", ","object":"content"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":"world","object":"content"}
{"status":"completed","type":"text","index":0,"delta":false,"text":"Hello, world!","object":"content"}
{"status":"completed","id":"msg_1","object":"message"}
{"status":"completed","id":"response_1","object":"response"}
END
sed 's/^/data: /; s/$/\n/' stream.jsonl >stream.sse
for file in stream.jsonl stream.sse; do
    check "a stream of the Agent API is the response it makes up: $file" "$weft" convert --log --from agentapi --to thread $file
    grep -q '"This image shows..."' log
    verdict $? 'with what it said'
done
check 'and so is the other one of the specification, of its own accord' "$weft" convert --log --to thread other.jsonl
grep -q '"Hello, world!"' log
verdict $? 'with what that said'
echo '{"status":"created","id":"response_1","object":"response"}' >nothing.jsonl
gives 'one that says nothing is an error' 1 "$weft" convert --log --from agentapi --to thread nothing.jsonl </dev/null
said 'that says so' '^weft convert: nothing.jsonl: nothing in its lines was understood as '
gives 'and so is an empty log' 1 "$weft" convert --log --from agentapi --to thread - </dev/null
sed 3q stream.jsonl | sed '3s/{/{x/' >broken.jsonl
gives 'a line that is none' 1 "$weft" convert --log --from agentapi --to thread broken.jsonl </dev/null
said 'is told by its number' '^weft convert: broken.jsonl: .*line 3'

# ---- Nothing is lost in silence, and what is written is valid

"$weft" convert --to upp "$golden/thread/enrichment.json" >there.json 2>log
"$weft" convert --from upp --to thread there.json 2>>log | python3 -c 'import json, sys
turns = json.load(sys.stdin)["turns"]
assert turns[1]["started_at"] == "2025-01-15T10:00:01Z" and turns[1]["messages"][0]["event_type"] == "prompt.enriched"' 2>>log
verdict $? 'an event that begins a turn is in its turn again'
"$weft" convert --to pydantic --report "$golden/envelope/decomposer.json" >/dev/null 2>log
said 'JSON that becomes a text is told' '"pointer":"(/0)?/content(/type|/data)?"'
cat >args.json <<'END'
[{"parts":[{"part_kind":"user-prompt","content":"hi","timestamp":"2026-01-01T00:00:00Z"}],"kind":"request"},
 {"parts":[{"part_kind":"tool-call","tool_name":"f","args":"\"raw\"","tool_call_id":"c"}],"kind":"response","timestamp":"2026-01-01T00:00:01Z"}]
END
"$weft" convert --to ui args.json >there.json 2>log
"$weft" convert --from ui --to pydantic there.json 2>/dev/null | grep -q '"args":"\\"raw\\""' || grep -q ': lost: /1/parts/0/args: ' log
verdict $? 'arguments that are a text come back or are told'
echo '[{"parts":[{"part_kind":"user-prompt","content":[{"kind":"uploaded-file","file_id":"file-1","provider_name":"openai"}],"timestamp":"2026-01-01T00:00:00Z"}],"kind":"request"}]' >uploaded.json
"$weft" convert --to ui uploaded.json >there.json 2>log
python3 -c 'import json
[m] = json.load(open("there.json"))
assert [p["url"] for p in m["parts"] if p["type"] == "file"] == ["file-1"]' 2>>log
verdict $? 'a message that is only an uploaded file is a file'
"$weft" convert --to thread uploaded.json >there.json 2>log && [ "$(grep -o 'file-1' there.json | wc -l)" -ge 1 ]
verdict $? 'in a thread too'
"$weft" convert --from thread --to pydantic there.json >back.json 2>log
same 'and comes back as it was' uploaded.json back.json
echo '[{"parts":[{"part_kind":"user-prompt","content":[{"kind":"binary","data":"*!","media_type":"image/png"}],"timestamp":"2026-01-01T00:00:00Z"}],"kind":"request"}]' >base64.json
"$weft" convert --to thread base64.json >there.json 2>log
[ $? = 1 ] && ! "$weft" validate there.json >/dev/null 2>&1
verdict $? 'what is written and not valid is an error'
said 'that says where' '^base64.json: written: /turns/0/.*: TP-7: '
"$weft" convert --to thread --report base64.json >/dev/null 2>log
said 'also as JSON' '"rule":"TP-7".*"written":true'
python3 - "$weft" "$golden" >log 2>&1 <<'END'
# Golden documents and others with a mistake, from each dialect to each: convert tells what validate would refuse.
import copy, glob, json, random, re, subprocess, sys
weft, golden = sys.argv[1:]
dialects = "thread pydantic ui agentapi aitp assistants envelope upp uap".split()
chance = random.Random(17)
def places(value):
    for key in range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ():
        yield value, key
        yield from places(value[key])
def mistaken(document):
    document = copy.deepcopy(document)
    within, key = chance.choice(list(places(document)) or [([0], 0)])
    within[key] = chance.choice([None, "*!", -1, [], {}, "2026-99-99T00:00:00Z", [{"kind": "binary", "data": "*"}]])
    return document
sanitized = b"__asan_init" in open(weft, "rb").read()  # then each dialect with three others: the release build has all
failed = 0
for source in dialects:
    files = glob.glob(f"{golden}/{source}/documents/*.json") or glob.glob(f"{golden}/{source}/*.json")
    documents = [json.load(open(f)) for f in sorted(files)]
    documents += [mistaken(chance.choice(documents)) for _ in range(8)]
    lines = "".join(json.dumps(d) + "\n" for d in documents)
    for i, target in enumerate(dialects):
        if sanitized and (i + dialects.index(source)) % 3:
            continue
        p = subprocess.run([weft, "convert", "--from", source, "--to", target, "--lines"], input=lines, capture_output=True, text=True)
        refused = {int(n) for n in re.findall(r"(?m)^weft convert: -:(\d+): ", p.stderr)}
        told = {int(n) for n in re.findall(r"(?m)^-:(\d+): written: ", p.stderr)}
        written = [n for n in range(1, len(documents) + 1) if n not in refused]
        assert len(p.stdout.splitlines()) == len(written), p.stderr
        v = subprocess.run([weft, "validate", "--as", target, "--lines", "-"], input=p.stdout, capture_output=True, text=True)
        wrong = {written[int(n) - 1] for n, rest in re.findall(r"(?m)^-:(\d+): (.*)", v.stdout) if not re.match(r"([^ ]*: )?[^ ]+: warning: ", rest)}
        if wrong != told or p.returncode != (1 if refused or told else 0):
            failed += 1
            print(source, target, p.returncode, sorted(wrong ^ told), v.stdout[:300], v.stderr[:200])
sys.exit(failed > 0)
END
verdict $? 'whatever is converted to whatever, what is not valid is told'
"$weft" convert --to envelope "$golden/envelope/executor.json" 2>log >/dev/null
! grep -q lost log
verdict $? 'what comes back is not told to be lost'

# ---- Lines

line=$(tr -d '\n' <beside.json)
other='[{"parts":[{"content":"hello","part_kind":"user-prompt"}],"kind":"request"}]'
printf '%s\n\n%s\n{"nobody":1}\n[1,\n  \r\n%s' "$line" "$other" "$line" >log.jsonl
"$weft" convert --to thread --lines --verify log.jsonl >got 2>log
[ $? = 1 ] && [ "$(wc -l <got)" = 3 ]
verdict $? 'each line is a document'
said 'one that is wrong is told with its number' '^weft convert: log.jsonl:4: no dialect knows'
said 'and so is the next' '^weft convert: log.jsonl:5: line 1, column [0-9]+ '
[ "$(wc -l <log)" = 2 ]
verdict $? 'and nothing else'
sed -n 1p got | "$weft" convert --to thread beside.json | cmp -s - got
sed -n 1p got >one.json
same 'the first is whole' one.json beside.json
sed -n 3p got >one.json
same 'the last too, without a line end' one.json beside.json
"$weft" convert --to pydantic --lines --report <log.jsonl >/dev/null 2>log
said 'losses say their line' '^\{"file":"-","line":1,"pointer":"/x_a","what":"the number 1",'
(
    printf '%s\n' "$line"
    head -c 268435457 /dev/zero | tr '\0' ' '
    printf '\n%s\n' "$line"
) | "$weft" convert --to thread --lines - >got 2>log
[ $? = 1 ] && [ "$(wc -l <got)" = 2 ] && grep -q '^weft convert: -:2: longer than 268435456 bytes$' log
verdict $? 'a line that is too long is stepped over'
python3 - "$weft" >log 2>&1 <<'END'
import json, subprocess, sys
sizes = [n + d for n in (0, 65536, 131072) for d in (-100, -99, -98, -97, -3, -2, -1, 0, 1) if n + d >= 0] + [300000, 1]
sent = b"".join(json.dumps([{"parts": [{"content": "x" * n, "part_kind": "user-prompt"}], "kind": "request"}],
                           separators=(",", ":")).encode() + b"\n" for n in sizes)
said = subprocess.run([sys.argv[1], "convert", "--to", "pydantic", "--lines"], input=sent, stdout=subprocess.PIPE, check=True)
assert said.stdout == sent
END
verdict $? 'lines of every length come whole'
yes "$other" | (
    timeout 120 "$weft" convert --to thread --lines
    echo "it ended with $?" >log
) | head -n 1 >/dev/null
said 'when nobody reads any more it ends' '^it ended with (1|141)$'
python3 - "$weft" "$line" >log 2>&1 <<'END'
import subprocess, sys
weft, line = sys.argv[1], sys.argv[2].encode() + b"\n"
child = subprocess.Popen([weft, "convert", "--to", "thread", "--lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for _ in range(3):  # each comes out before the next goes in
    child.stdin.write(line)
    child.stdin.flush()
    assert child.stdout.readline().startswith(b"{")
child.stdin.close()
assert child.stdout.read() == b"" and child.wait() == 0
END
verdict $? 'a line comes out before the next one is there'
python3 - "$weft" "$line" >log 2>&1 <<'END'
import os, resource, subprocess, sys
weft, line = sys.argv[1], sys.argv[2].encode() + b"\n"
os.environ["ASAN_OPTIONS"] = "detect_leaks=0:quarantine_size_mb=1"
def most(n):  # the most memory that n lines need
    child = subprocess.Popen([weft, "convert", "--to", "pydantic", "--lines", "--agent", "a"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child.communicate(line * n)
    assert child.returncode == 0
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
few = most(100)
many = most(30000)  # 7 MB of text, and several times as much in memory, were they held
print(few, many)
assert many < few + 5000
END
verdict $? 'and of a long log no more is held than a line'

# ---- Many files

mkdir in
cp "$golden/pydantic/example-1.json" in/1.json
for i in $(seq 2 1000); do ln in/1.json "in/$i.json"; done
rm in/500.json
cp bad.json in/500.json
"$weft" convert --to thread --out made in/*.json none.json >got 2>log
[ $? = 1 ] && ! [ -s got ] && [ "$(find made -type f | wc -l)" = 999 ]
verdict $? 'each file is made in the folder'
said 'one that is wrong is named' '^weft convert: in/500.json: line 2, column 4'
said 'and one that is not there' '^weft convert: none.json: cannot open it'
[ "$(wc -l <log)" = 2 ]
verdict $? 'without a bar where there is no terminal'
"$weft" convert --to pydantic made/77.json >back.json 2>log
same 'each is what it should be' back.json "$golden/pydantic/example-1.json"
rm -r made
terminal "$weft" convert --to thread --out made in/*.json
# After a second it also says how fast it is.
[ $? = 1 ] && grep -Eq '^\[[.]*\] 0 of 1000 files' log && grep -Eq '^\[#+\] 1000 of 1000 files' log
verdict $? 'with a bar on a terminal'
sed 's/\x1b\[K//' log | grep -q '^weft convert: in/500.json: line 2'
verdict $? 'that makes room for what is said'
cp in/1.json keep.json
refused 'no file is replaced by what is made of it' "$weft" convert --to thread --out . keep.json in/2.json
said 'as is said' '^weft convert: keep.json: would be replaced'
cmp keep.json in/1.json >log 2>&1 && [ -e 2.json ]
verdict $? 'and the rest is made'
refused 'a folder that cannot be made is a failure' "$weft" convert --to thread --out none/made in/1.json
said 'as is said' '^weft convert: none/made: cannot make the folder'
refused 'a file in its place too' "$weft" convert --to thread --out keep.json in/1.json
said 'as is said' '^weft convert: in/1.json: keep.json/1.json: cannot make a file beside it: not a directory'

# ---- Validating
# covers: TP-45/1/2/3

check 'good documents' "$weft" validate "$golden"/pydantic/example-*.json "$golden"/pydantic/current.json "$golden"/thread/weather.json
[ -s log ]
[ $? = 1 ]
verdict $? 'are not spoken of'
check 'a warning is no error' "$weft" validate "$golden/thread/enrichment.json"
said 'and is marked' '/enrichment.json: TP-13: warning: member .version. is missing'
refused 'but with --strict it is' "$weft" validate --strict "$golden/thread/enrichment.json"
cat >wrong.json <<'END'
{"version": "2.0.0", "thread_id": "t", "created_at": "2026-01-01T00:00:00Z",
 "updated_at": "2026-01-01T00:00:00Z", "agents": {}, "turns": [{"turn_type": 5}, 7]}
END
refused 'each problem is told' "$weft" validate wrong.json
said 'with pointer, rule and sentence' '^wrong.json: /turns/0[^ ]*: TP-[0-9]+: .'
said 'all of them' '^wrong.json: /turns/1: TP-[0-9]+: .'
refused 'or as JSON' "$weft" validate --json --as thread wrong.json bad.json
python3 -c 'import json
lines = [json.loads(l) for l in open("log")]
assert all(set(l) == {"file", "pointer", "rule", "severity", "sentence"} for l in lines), lines
assert {l["file"] for l in lines} == {"wrong.json", "bad.json"} and lines[-1]["rule"] == "document", lines' 2>>log
verdict $? 'a line a problem'
refused 'what is no document' "$weft" validate nobody.json bad.json none.json deep.json beside.json
said 'is told' '^nobody.json: document: no dialect knows this document'
said 'bad JSON too' '^bad.json: document: line 2, column 4'
said 'and depth' '^deep.json: document: line 1, column 193'
said 'and what cannot be read' '^weft validate: none.json: cannot open it'
refused 'of lines' "$weft" validate --lines log.jsonl wrong.json
said 'each with its number' '^log.jsonl:4: document: no dialect knows'
said 'also of the next file' '^wrong.json:1: document: '
"$weft" validate --lines --json - <log.jsonl >got 2>log
[ $? = 1 ] && grep -q '^{"file":"-","line":4,"pointer":"","rule":"document","severity":"error","sentence":' got
verdict $? 'and as JSON'
tap_end
