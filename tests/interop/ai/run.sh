#!/bin/sh
# run.sh BUILD_DIR: what the ui dialect sends, of scripts and of real runs of `weft serve`, and the documents it writes, read by the real client, the
# npm package `ai`, in its majors 5, 6 and 7.
# Needs Node >= 22 (scripts/setup node).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_npm
streams=$1/tests/ui_streams
weft=$1/weft
golden=$here/../../golden

for major in 5 6 7; do
    mkdir "$tap/$major" "$tap/server$major"
    for name in $("$streams" --list); do
        "$streams" "$major" "$name" >"$tap/$major/$name.sse" 2>"$tap/log" || verdict 1 "ui_streams $major $name"
    done
    judge "ai $major: streams" node "$here/check.mjs" "$major" "$tap/$major"
    mkdir "$tap/documents$major"
    for file in "$golden"/thread/*.json "$golden"/pydantic/*.json "$golden"/ui/documents/simple.json; do
        name=$(basename "$(dirname "$file")")-$(basename "$file")
        "$weft" convert --to ui --target "$major" "$file" >"$tap/documents$major/$name" 2>"$tap/log"
        [ -s "$tap/documents$major/$name" ] || verdict 1 "convert $file" # what is not valid ends with 1, and is judged below
    done
    if [ "$major" = 7 ]; then
        mkdir "$tap/documents7/ours"
        for file in "$golden"/ui/documents/*.json "$here"/documents/*.json; do
            name=$(basename "$file")
            cp "$file" "$tap/documents7/ours/$name"
            if "$weft" validate --as ui "$file" >/dev/null 2>&1; then : >"$tap/documents7/ours/$name.valid"; fi
        done
    fi
    judge "ai $major: documents" node "$here/documents.mjs" "$major" "$tap/documents$major"
    judge "ai $major: runs" node "$here/live.mjs" "$major" "$weft" "$tap/server$major"
    judge "ai $major: the door" node "$here/door.mjs" "$major" "$weft" "$tap/server$major"
    no_reports "ai $major" "$tap/server$major/log"
done
tap_end
