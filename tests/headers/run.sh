#!/bin/sh
# Every public header compiles alone, as strict C11 and as C++17, with every warning an error.
# usage: run.sh INCLUDE-FOLDER CC CXX   (TAP)
set -u
include=$1 cc=$2 cxx=$3
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
n=0 bad=0

check() { # check NAME COMMAND...
    title=$1
    shift
    n=$((n + 1))
    if "$@" >"$out/log" 2>&1; then
        echo "ok $n - $title"
    else
        echo "not ok $n - $title"
        sed 's/^/# /' "$out/log"
        bad=1
    fi
}

for header in "$include"/upp/*.h "$include"/weft/*.h; do
    name=${header#"$include"/}
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$name" "$name" >"$out/t.c"
    cp "$out/t.c" "$out/t.cc"
    check "$name as C11" "$cc" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wstrict-prototypes -Werror \
        -I"$include" -fsyntax-only "$out/t.c"
    check "$name as C++17" "$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wundef -Werror \
        -I"$include" -fsyntax-only "$out/t.cc"
done
cp "$(dirname "$0")/use.c" "$out/use.cc"
check "a program in C11" "$cc" -std=gnu11 -Wall -Wextra -Werror -I"$include" -fsyntax-only "$(dirname "$0")/use.c"
check "the same program in C++17" "$cxx" -std=c++17 -Wall -Wextra -Werror -I"$include" -fsyntax-only "$out/use.cc"
echo "1..$n"
exit $bad
