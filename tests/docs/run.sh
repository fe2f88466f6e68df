#!/bin/sh
# The C in README.md and docs/*.md: a block that begins with #include is a whole file and must compile.
# usage: run.sh SOURCE-ROOT CC UNIT   (TAP)
set -u
root=$1 cc=$2 unit=$3
. "$root/tests/support/tap.sh"

for page in "$root"/README.md "$root"/docs/*.md; do
    awk -v out="$tap/$(basename "$page" .md)" '
        /^```/ { if (file) close(file); file = ""; first = $0 == "```c"; next }
        first && /^#include/ { file = sprintf("%s-%d.c", out, NR) }
        { first = 0; if (file) print > file }' "$page"
done
for file in "$tap"/*.c; do
    check "$(basename "$file" .c)" "$cc" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function \
        -I"$root/src" -I"$root/include" -I"$root/tests" -fsyntax-only "$file"
done
# Commands that name a unit test name one that exists.
"$unit" --list >"$tap/names"
for name in $(sed -n 's|.*tests/unit \([a-z0-9_][a-z0-9_]*\)`.*|\1|p' "$root"/docs/*.md "$root"/README.md); do
    check "there is a test called $name" grep -qx "$name" "$tap/names"
done
tap_end
