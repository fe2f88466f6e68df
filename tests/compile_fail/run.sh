#!/bin/sh
# What must not compile: JSON rows and uses of the wrong C type (bad.txt, bad_uses.txt, each refused with our own
# sentence), and the cases `#if WRONG == 1`, 2 ... of the files here, which compile without them.
# Each compiler that is there is tried: a check that one of them does not see is no check.
# usage: run.sh SOURCE-ROOT CC...   (TAP)
set -u
root=$1
shift
here=$root/tests/compile_fail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

report() { # report OK NAME
    n=$((n + 1))
    if [ "$1" = yes ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/# /' "$tmp/log" | head -20
        failed=1
    fi
}

compile() { # compile FILE [OPTION...]: quietly, into the log
    file=$1
    shift
    "$cc" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        -I"$root/include" -I"$root/src" -I"$here" "$@" "$file" >"$tmp/log" 2>&1
}

refuses() { # refuses FILE SENTENCE NAME
    if compile "$1"; then
        echo "it compiled" >"$tmp/log"
        report no "$3"
    elif grep -qF -- "$2" "$tmp/log"; then report yes "$3"; else report no "$3"; fi
}

trim() { printf '%s' "$1" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//'; }

for cc in "$@"; do
    command -v "$cc" >/dev/null 2>&1 || { echo "# $cc is not here"; continue; }
    for file in "$here"/*.c; do
        name=$(basename "$file")
        if compile "$file" -DWRONG=0; then report yes "$cc compiles $name"; else report no "$cc compiles $name"; fi
        for wrong in $(sed -n 's/^#e*l*if WRONG == //p' "$file"); do
            if compile "$file" -DWRONG="$wrong"; then report no "$cc refuses $name $wrong"; else report yes "$cc refuses $name $wrong"; fi
        done
    done

    while IFS='|' read -r row sentence; do
        case $row in '#'* | '') continue ;; esac
        row=$(trim "$row")
        printf '#include "rows.h"\nconst struct wj_field bad[] = {%s};\n' "$row" >"$tmp/bad.c"
        refuses "$tmp/bad.c" "$(trim "$sentence")" "$cc refuses $row"
    done <"$here/bad.txt"

    while IFS='|' read -r kind code sentence; do
        case $kind in '#'* | '') continue ;; esac
        if [ "$(trim "$kind")" = file ]; then
            printf '#include "rows.h"\n%s\n' "$code" >"$tmp/bad.c"
        else
            printf '#include "rows.h"\nint f(struct wb_arena *a, yyjson_val *v, struct wb_buf *b);\n' >"$tmp/bad.c"
            printf 'int f(struct wb_arena *a, yyjson_val *v, struct wb_buf *b)\n{\n    (void)a, (void)v, (void)b;\n%s\n}\n' "$code" >>"$tmp/bad.c"
        fi
        refuses "$tmp/bad.c" "$(trim "$sentence")" "$cc refuses:$code"
    done <"$here/bad_uses.txt"
done
echo "1..$n"
exit $failed
