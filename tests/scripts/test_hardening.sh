#!/bin/sh
# The release build carries its hardening. usage: test_hardening.sh FILE...   (TAP)
# Branch protection is compiled in, but not asked for here: the linker notes it only when the C library's start files have it.
set -u
n=0 bad=0
say() { # say TITLE STATUS
    n=$((n + 1))
    if [ "$2" = 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; bad=1; fi
}
has() { printf '%s\n' "$text" | grep -Eq "$1"; }

for file in "$@"; do
    name=$(basename "$file")
    text=$(readelf -W -h -l -d -n --dyn-syms "$file")
    has 'Type: +DYN';                 say "$name is position independent" $?
    has 'GNU_RELRO';                  say "$name has relro" $?
    has '(BIND_NOW|FLAGS_1.*NOW)';    say "$name binds at load" $?
    has 'GNU_STACK.* RW +0x';         say "$name has no executable stack" $?
    has '__stack_chk_fail';           say "$name has stack protectors" $?
    has '_chk@';                      say "$name is fortified" $?
    ! has 'TEXTREL';                  say "$name has no text relocations" $?
done
echo "1..$n"
exit $bad
