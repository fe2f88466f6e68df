#!/bin/sh
# run.sh BUILD_DIR: what the assistants dialect sends, of scripts and of real runs of `weft serve`, read by the real client, the npm package `openai`, in its majors 4, 5, 6 and 7.
# Needs Node >= 22 (scripts/setup node).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_npm
streams=$1/tests/assistants_streams
weft=$1/weft

mkdir "$tap/streams"
for name in $("$streams" --list); do
    "$streams" "$name" >"$tap/streams/$name.sse" 2>"$tap/log" || verdict 1 "assistants_streams $name"
done
for major in 4 5 6 7; do
    judge "openai $major: streams" node "$here/check.mjs" "$major" "$tap/streams"
    mkdir "$tap/server$major"
    judge "openai $major: runs" node "$here/live.mjs" "$major" "$weft" "$tap/server$major"
    mkdir "$tap/crud$major"
    judge "openai $major: objects" node "$here/crud.mjs" "$major" "$weft" "$tap/crud$major"
    mkdir "$tap/files$major"
    judge "openai $major: files" node "$here/files.mjs" "$major" "$weft" "$tap/files$major"
    mkdir "$tap/models$major"
    judge "openai $major: agents as models" node "$here/models.mjs" "$major" "$weft" "$tap/models$major"
    no_reports "openai $major" "$tap/server$major/log" "$tap/crud$major/log" "$tap/files$major/log" "$tap/models$major/log"
    mkdir "$tap/runs$major"
    judge "openai $major: all that runs can do" node "$here/runs.mjs" "$major" "$weft" "$tap/runs$major"
done

. "$here/../examples.sh"
mkdir -p "$tap/modules"
ln -s "$packages/openai-7" "$tap/modules/openai"
in_modules() { ln -sfn "$tap/modules" node_modules && node "$1"; }
examples "$(CDPATH='' cd -- "$(dirname -- "$weft")" && pwd)/weft" 'openai 7' in_modules tutor.mjs weather.mjs

# The newest one once more, over TLS.
mkdir "$tap/tls"
{ "$1/tests/certificate" "$tap/tls" server &&
    sed -e "s#script: script.json#script: $here/../ai/script.json#" \
        -e 's#listen: "127.0.0.1:0"#&, tls: {certificate: server.pem, key: server.key}#' "$here/../ai/weft.yaml" >"$tap/tls/weft.yaml"; } 2>"$tap/log"
verdict $? 'a certificate was made'
judge "openai $major over TLS: runs" env NODE_EXTRA_CA_CERTS="$tap/tls/ca-server.pem" WEFT_CONFIG="$tap/tls/weft.yaml" \
    node "$here/live.mjs" "$major" "$weft" "$tap/tls"
tap_end
