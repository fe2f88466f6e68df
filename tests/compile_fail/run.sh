#!/bin/sh
# What must not compile. Each file here has cases `#if WRONG == 1`, 2 ... that must be refused, and compiles without
# them, so that they are refused for the reason meant and no other.
# usage: run.sh SOURCE-ROOT CC   (TAP)
set -u
root=$1 cc=$2
n=0 bad=0

check() { # check YES|NO FILE WRONG
    n=$((n + 1))
    got=yes
    log=$("$cc" -fsyntax-only -std=gnu17 -D_GNU_SOURCE -Wall -Werror -I"$root/src" -I"$root/include" -DWRONG="$3" \
        "$2" 2>&1) || got=no
    name=$(basename "$2" .c)
    if [ $got = "$1" ]; then
        echo "ok $n - $name $3"
    else
        echo "not ok $n - $name $3 compiles: $got, not $1"
        printf '%s\n' "$log" | sed 's/^/# /'
        bad=1
    fi
}

for file in "$root"/tests/compile_fail/*.c; do
    check yes "$file" 0
    for wrong in $(sed -n 's/^#e*l*if WRONG == //p' "$file"); do
        check no "$file" "$wrong"
    done
done
echo "1..$n"
exit $bad
