#!/bin/sh
# run.sh: the JSON Schema and the TypeScript types of envelopes (docs/schemas), as `ajv` and `tsc` take them: every golden
# envelope is good, and of broken.json what the validator refuses is refused, and nothing else.
# Needs Node >= 22 (scripts/setup node). The packages are installed here, in the pinned versions, when they are missing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"

install "$here" 'ajv and typescript are'
judge 'envelopes against the schema' node "$here/schema.mjs"
judge 'envelopes against the types' node "$here/types.mjs"
tap_end
