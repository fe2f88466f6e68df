#!/bin/sh
# A command tool that must not run twice by accident: it books (a file in this folder would be a database elsewhere).
# Reads {"city": "...", "nights": 2, "euros_per_night": 90} from standard input and prints JSON.
arguments=$(sed 's/\\"//g')
city=$(printf '%s\n' "$arguments" | sed -n 's/.*"city" *: *"\([^"\\]*\)".*/\1/p')
nights=$(printf '%s\n' "$arguments" | sed -n 's/.*"nights" *: *\([0-9]*\).*/\1/p')
if [ -z "$city" ] || [ -z "$nights" ]; then
    echo "no city or no nights in the arguments" >&2
    exit 1
fi
# The key of the call is the same if it is ever repeated, so the booking number is too.
number=$(printf '%s' "$city${WEFT_CALL_KEY:-}" | cksum | cut -d ' ' -f 1)
printf '{"booking":"B-%s","city":"%s","nights":%s}\n' "$number" "$city" "$nights"
