#!/bin/sh
# test_moved: `make` and `make install` in a tree that was moved after it was built, in TAP. The tree is a small one with
# the Makefile and the scripts of this one; scripts/setup, which installs packages, is a stand-in.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
. "$root/tests/support/tap.sh"

mkdir -p "$tap/one/scripts"
cp "$root/Makefile" "$tap/one"
cp "$root/scripts/build" "$root/scripts/cache" "$root/scripts/install" "$tap/one/scripts"
printf '#!/bin/sh\n' >"$tap/one/scripts/setup"
chmod +x "$tap/one/scripts/setup"
printf "project('small', 'c')\nexecutable('small', 'small.c', install: true)\n" >"$tap/one/meson.build"
printf 'int main(void)\n{\n    return 0;\n}\n' >"$tap/one/small.c"

check 'it is built' make -C "$tap/one" all
before=$(ls -i "$tap/one/build/build.ninja")
check 'and built again' make -C "$tap/one" all
[ "$(ls -i "$tap/one/build/build.ninja")" = "$before" ]
verdict $? 'without beginning anew'
mv "$tap/one" "$tap/two"
printf 'int main(void)\n{\n    return 7;\n}\n' >"$tap/two/small.c"
check 'it is moved, and installed' make -C "$tap/two" install PREFIX="$tap/there"
"$tap/there/bin/small"
[ $? = 7 ]
verdict $? 'what is there is what the tree has now'
check 'also into DESTDIR' make -C "$tap/two" install PREFIX=/usr DESTDIR="$tap/dest"
check 'there' test -x "$tap/dest/usr/bin/small"
tap_end
