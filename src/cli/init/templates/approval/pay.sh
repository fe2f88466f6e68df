#!/bin/sh
# A tool: reads {"to": "...", "euros": N} from standard input, writes it to payments.txt and prints JSON.
arguments=$(cat)
to=$(printf '%s\n' "$arguments" | sed -n 's/.*"to" *: *"\([^"\\]*\)".*/\1/p')
euros=$(printf '%s\n' "$arguments" | sed -n 's/.*"euros" *: *\([0-9.]*\).*/\1/p')
if [ -z "$to" ] || [ -z "$euros" ]; then
    echo "nobody to pay, or no amount" >&2
    exit 1
fi
printf '%s euros to %s\n' "$euros" "$to" >>payments.txt
printf '{"paid":%s,"to":"%s"}\n' "$euros" "$to"
