#!/bin/sh
# The C in README.md and docs/*.md: a block that begins with #include is a whole file and must compile.
# usage: run.sh SOURCE-ROOT CC   (TAP)
set -u
root=$1 cc=$2
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
n=0 bad=0

for page in "$root"/README.md "$root"/docs/*.md; do
    awk -v out="$out/$(basename "$page" .md)" '
        /^```/ { if (file) close(file); file = ""; first = $0 == "```c"; next }
        first && /^#include/ { file = sprintf("%s-%d.c", out, NR) }
        { first = 0; if (file) print > file }' "$page"
done
for file in "$out"/*.c; do
    [ -e "$file" ] || break
    n=$((n + 1))
    if "$cc" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -I"$root/src" -I"$root/include" \
        -I"$root/tests" -fsyntax-only "$file" 2>"$out/log"; then
        echo "ok $n - $(basename "$file" .c)"
    else
        echo "not ok $n - $(basename "$file" .c)"
        sed 's/^/# /' "$out/log"
        bad=1
    fi
done
echo "1..$n"
exit $bad
