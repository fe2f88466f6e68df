#!/bin/sh
# A command tool that must not run twice by accident: it books (a file in this folder would be a database elsewhere).
# Reads {"city": "...", "nights": 2, "euros": 180} from standard input and prints JSON.
arguments=$(cat)
city=$(printf '%s\n' "$arguments" | sed -n 's/.*"city" *: *"\([^"\\]*\)".*/\1/p')
[ -n "$city" ] || {
    echo "no city in the arguments" >&2
    exit 1
}
# The key of the call is the same if it is ever repeated, so the booking number is too.
number=$(printf '%s' "$city${WEFT_CALL_KEY:-}" | cksum | cut -d ' ' -f 1)
printf '{"booking":"B-%s","city":"%s"}\n' "$number" "$city"
