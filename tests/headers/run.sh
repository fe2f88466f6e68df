#!/bin/sh
# Every public header compiles alone, as strict C11 and as C++17, with every warning an error.
# usage: run.sh INCLUDE-FOLDER CC CXX   (TAP)
set -u
include=$1 cc=$2 cxx=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/tap.sh"

as_c() { "$cc" "$1" -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wstrict-prototypes -Werror -I"$include" -fsyntax-only "$2"; }
as_cxx() { "$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wundef -Werror -I"$include" -fsyntax-only -x c++ "$1"; }

for header in "$include"/upp/*.h "$include"/weft/*.h; do
    name=${header#"$include"/}
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$name" "$name" >"$tap/t.c"
    check "$name as C11" as_c -std=c11 "$tap/t.c"
    check "$name as C++17" as_cxx "$tap/t.c"
done
check "a program in C11" "$cc" -std=c11 -Wall -Wextra -Werror -I"$include" -fsyntax-only "$here/use.c"
check "the same program in C++17" as_cxx "$here/use.c"
# covers: UAP-14.3/2 (with tests/scripts/test_uap_examples.py, which says that every name is in it)
check "every C name of docs/uap.md in C11" "$cc" -std=c11 -Wall -Wextra -Werror -I"$include" -fsyntax-only "$here/uap_names.c"
check "and in C++17" as_cxx "$here/uap_names.c"
tap_end
