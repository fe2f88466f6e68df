#!/bin/sh
# run.sh: the JSON Schema and the TypeScript types of envelopes (docs/schemas), as `ajv` and `tsc` take them: every golden
# envelope is good, and of broken.json what the validator refuses is refused, and nothing else.
# Needs Node >= 22 (scripts/setup node).
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_npm
judge 'envelopes against the schema' node "$here/schema.mjs"
judge 'envelopes against the types' node "$here/types.mjs"
tap_end
