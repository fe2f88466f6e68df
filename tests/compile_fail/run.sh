#!/bin/sh
# What must not compile. Each file here has cases `#if WRONG == 1`, 2 ... that must be refused, and compiles without
# them, so that they are refused for the reason meant and no other; `/* says: SENTENCE */` behind a case is what the
# compiler must say. Each compiler that is there is tried: a check that one of them does not see is none.
# usage: run.sh SOURCE-ROOT CC...   (TAP)
set -u
root=$1
shift
n=0 bad=0

report() { # report PROBLEM NAME: an empty problem is none
    n=$((n + 1))
    if [ -z "$1" ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2: $1"
        printf '%s\n' "$log" | sed 's/^/# /' | head -n 30
        bad=1
    fi
}

compile() { # compile FILE WRONG
    log=$("$cc" -fsyntax-only -std=gnu17 -D_GNU_SOURCE -Wall -Werror -I"$root/src" -I"$root/include" -DWRONG="$2" \
        "$1" 2>&1)
}

for cc in "$@"; do
    if ! command -v "$cc" >/dev/null; then
        echo "# no $cc here" >&2
        continue
    fi
    for file in "$root"/tests/compile_fail/*.c; do
        name="$(basename "$file" .c), $cc"
        if compile "$file" 0; then report '' "$name"; else report 'does not compile' "$name"; fi
        for wrong in $(sed -n 's/^#e*l*if WRONG == \([0-9]*\).*/\1/p' "$file"); do
            says=$(sed -n "s|^#e*l*if WRONG == $wrong */[*] says: \(.*\) [*]/\$|\1|p" "$file")
            problem=
            if compile "$file" "$wrong"; then problem='compiles'
            elif ! printf '%s\n' "$log" | grep -qF -- "$says"; then problem="does not say '$says'"; fi
            report "$problem" "$name $wrong${says:+: $says}"
        done
    done
done
echo "1..$n"
exit $bad
