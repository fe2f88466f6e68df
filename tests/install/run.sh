#!/bin/sh
# `make install` gives what a program needs: libraries, headers, pkg-config files, man page, command.
# usage: run.sh BUILD-FOLDER CC   (TAP)
set -u
build=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/tap.sh"

check "installs into DESTDIR" env DESTDIR="$tap/dest" meson install -C "$build" --no-rebuild --quiet
prefix=$tap/dest$(meson introspect "$build" --buildoptions |
    python3 -c 'import json,sys; print([o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"][0])')
pc=$(find "$prefix" -name weft.pc -exec dirname {} \;)
lib=$(dirname "$pc")
export PKG_CONFIG_PATH="$pc" PKG_CONFIG_SYSROOT_DIR="$tap/dest" LD_LIBRARY_PATH="$lib"
# covers: ENV-17/3
for f in bin/weft include/upp/upp.h include/weft/weft.h share/man/man1/weft.1 share/weft/schemas/envelope.schema.json share/weft/schemas/envelope.d.ts share/weft/adapters/claude.yaml libexec/weft/weft-reaper; do
    check "there is $f" test -f "$prefix/$f"
done
# covers: UAP-2.1/2
check "both have pkg-config files" pkg-config --exists upp weft

compile() { "$cc" -std=gnu11 -Wall -Werror -o "$1" "$2" $(pkg-config --cflags --libs weft upp); }
check "a program builds against them" compile "$tap/use" "$here/../headers/use.c"
check "and runs" "$tap/use"
said "and says so" '^weft 0.1.0: in: hello$'
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$here/../../README.md" >"$tap/readme.c"
check "the README's program builds" compile "$tap/readme" "$tap/readme.c"
refused "and runs, but for the key" env -u ANTHROPIC_API_KEY "$tap/readme"
said "which it asks for" 'ANTHROPIC_API_KEY'
check "the installed command runs" "$prefix/bin/weft" version
refused "and needs none of our libraries" sh -c "ldd '$prefix/bin/weft' | grep -E 'lib(upp|weft)'"

# Private symbols carry the exact version: libweft must not load with another libupp.
symbols() { readelf --dyn-syms -W "$lib/$1"; }
check "libupp's symbols can be read" symbols libupp.so
said "the private ones are versioned" ' wb_alloc@@UPP_PRIVATE_0.1.0$'
said "the public ones too" ' upp_fail@@UPP_0$'
check "libweft's can too" symbols libweft.so
refused "it keeps its insides" grep -E 'DEFAULT +[0-9]+ weft__' "$tap/log"
mkdir "$tap/other"
printf 'UPP_0 { global: upp_*; local: *; };\nUPP_PRIVATE_9.9.9 { global: wb_*; wj_*; upp__*; };\n' >"$tap/other/map"
symbols libupp.so | awk '$4 == "FUNC" && $7 != "UND" { sub(/@.*/, "", $8); print "void " $8 "(void); void " $8 "(void) {}" }' \
    >"$tap/other/upp.c"
check "another libupp can be made" "$cc" -w -shared -fPIC -fno-builtin -Wl,-soname,libupp.so.0 \
    -Wl,--version-script="$tap/other/map" -o "$tap/other/libupp.so.0" "$tap/other/upp.c"
refused "and is refused at load" env LD_LIBRARY_PATH="$tap/other:$lib" "$tap/use"
said "with the version in the message" 'UPP_PRIVATE_0.1.0'
tap_end
