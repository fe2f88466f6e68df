#!/bin/sh
# The release build carries its hardening. usage: test_hardening.sh FILE...   (TAP)
# Branch protection is compiled in, but not asked for here: the linker notes it only when the C library's start files have it.
set -u
. "$(dirname "$0")/../support/tap.sh"

for file in "$@"; do
    name=$(basename "$file")
    check "$name can be read" readelf -W -h -l -d -n --dyn-syms "$file"
    said "$name is position independent" 'Type: +DYN'
    said "$name has relro" 'GNU_RELRO'
    said "$name binds at load" 'BIND_NOW|FLAGS_1.*NOW'
    said "$name has no executable stack" 'GNU_STACK.* RW +0x'
    said "$name has stack protectors" '__stack_chk_fail'
    said "$name is fortified" '_chk@'
    refused "$name has no text relocations" sh -c "readelf -d '$file' | grep TEXTREL"
done
tap_end
