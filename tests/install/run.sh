#!/bin/sh
# `make install` gives what a program needs: libraries, headers, pkg-config files, man page, command.
# usage: run.sh BUILD-FOLDER CC   (TAP)
set -u
build=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
n=0 bad=0

check() { # check TITLE COMMAND...
    title=$1
    shift
    n=$((n + 1))
    if "$@" >"$root/log" 2>&1; then
        echo "ok $n - $title"
    else
        echo "not ok $n - $title"
        sed 's/^/# /' "$root/log"
        bad=1
    fi
}
said() { # said TITLE PATTERN: a line of what the last command wrote
    mv "$root/log" "$root/last"
    check "$1" grep -q -- "$2" "$root/last"
}
refuses() { ! "$@"; }

check "installs into DESTDIR" env DESTDIR="$root/dest" meson install -C "$build" --no-rebuild --quiet
prefix=$root/dest$(meson introspect "$build" --buildoptions |
    python3 -c 'import json,sys; print([o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"][0])')
pc=$(find "$prefix" -name weft.pc -exec dirname {} \;)
lib=$(dirname "$pc")
export PKG_CONFIG_PATH="$pc" PKG_CONFIG_SYSROOT_DIR="$root/dest" LD_LIBRARY_PATH="$lib"
for f in bin/weft include/upp/upp.h include/weft/weft.h share/man/man1/weft.1; do
    check "there is $f" test -f "$prefix/$f"
done
check "both have pkg-config files" pkg-config --exists upp weft
check "a program builds against them" sh -c "'$cc' -o '$root/use' '$here/../headers/use.c' \$(pkg-config --cflags --libs weft upp)"
check "and runs" "$root/use"
said "and says so" '^weft 0.1.0: in: hello$'
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$here/../../README.md" >"$root/readme.c"
check "the README's program builds" sh -c "'$cc' -std=gnu11 -o '$root/readme' '$root/readme.c' \$(pkg-config --cflags --libs weft upp)"
check "and runs" "$root/readme"
said "and says what it should" '^fibers$'
check "the installed command runs" "$prefix/bin/weft" version

# Private symbols carry the exact version: libweft must not load with another libupp.
check "private symbols are versioned" sh -c "readelf --dyn-syms -W '$lib/libupp.so' | grep -q ' wb_alloc@@UPP_PRIVATE_0.1.0'"
check "public symbols are versioned" sh -c "readelf --dyn-syms -W '$lib/libupp.so' | grep -q ' upp_fail@@UPP_0'"
check "libweft keeps its insides" refuses sh -c "readelf --dyn-syms -W '$lib/libweft.so' | grep -q 'DEFAULT *[0-9]* weft__'"
mkdir "$root/other"
printf 'UPP_0 { global: upp_*; local: *; };\nUPP_PRIVATE_9.9.9 { global: wb_*; wj_*; upp__*; };\n' >"$root/other/map"
# The same symbols under another version: taken from the list of the real one.
readelf --dyn-syms -W "$lib/libupp.so" | awk '$4 == "FUNC" && $7 != "UND" { sub(/@.*/, "", $8); print "void " $8 "(void); void " $8 "(void) {}" }' \
    >"$root/other/upp.c"
check "another libupp can be made" "$cc" -w -shared -fPIC -fno-builtin -Wl,-soname,libupp.so.0 -Wl,--version-script="$root/other/map" \
    -o "$root/other/libupp.so.0" "$root/other/upp.c"
check "and is refused at load" refuses env LD_LIBRARY_PATH="$root/other:$lib" "$root/use"
said "with the version in the message" 'UPP_PRIVATE_0.1.0'
echo "1..$n"
exit $bad
