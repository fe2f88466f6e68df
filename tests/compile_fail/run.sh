#!/bin/sh
# What must not compile. Each file here has cases `#if WRONG == 1`, 2 ... that must be refused, and compiles without
# them, so that they are refused for the reason meant and no other; `/* says: SENTENCE */` behind a case is what the
# compiler must say. Each compiler that is there is tried: a check that one of them does not see is none.
# usage: run.sh SOURCE-ROOT CC...   (TAP)
set -u
root=$1
shift
. "$root/tests/support/tap.sh"

compile() { # compile FILE WRONG
    "$cc" -fsyntax-only -std=gnu17 -D_GNU_SOURCE -Wall -Werror -I"$root/src" -I"$root/include" -DWRONG="$2" "$1"
}

for cc in "$@"; do
    if ! command -v "$cc" >/dev/null; then
        echo "# no $cc here" >&2
        continue
    fi
    for file in "$root"/tests/compile_fail/*.c; do
        name="$(basename "$file" .c), $cc"
        check "$name" compile "$file" 0
        for wrong in $(sed -n 's/^#e*l*if WRONG == \([0-9]*\).*/\1/p' "$file"); do
            says=$(sed -n "s|^#e*l*if WRONG == $wrong */[*] says: \(.*\) [*]/\$|\1|p" "$file")
            refused "$name $wrong" compile "$file" "$wrong"
            if [ -n "$says" ]; then
                grep -qF -- "$says" "$tap/log"
                verdict $? "and says: $says"
            fi
        done
    done
done
tap_end
