#!/bin/sh
# A tool: reads {"city": "..."} from standard input and prints JSON. Put a real service here, for example with curl.
city=$(sed -n 's/.*"city" *: *"\([^"\\]*\)".*/\1/p')
if [ -z "$city" ]; then
    echo "no city in the arguments" >&2
    exit 1
fi
printf '{"city":"%s","celsius":18,"conditions":"partly cloudy"}\n' "$city"
