#!/bin/sh
# `make deb`: the packages, what lintian says of them, and what is in them. Minutes, because it compiles everything.
# tests/packaging/fresh.sh installs them.
# usage: deb.sh SOURCE-ROOT   (TAP)
set -u
root=$1
. "$root/tests/support/tap.sh"
debs=$root/build-deb
if ! command -v dh >/dev/null || ! command -v lintian >/dev/null; then
    echo '1..0 # SKIP needs debhelper and lintian: scripts/setup build deb lintian'
    exit 0
fi

unpack() { dpkg-deb -x "$debs/$1"_*.deb "$tap/root"; }
depends() { dpkg-deb -f "$debs/$1"_*.deb Depends; }
check "make deb" make -C "$root" deb
for package in weft libupp0 libweft0 libweft-dev; do
    check "there is $package" unpack "$package"
done
check "lintian finds no error and no warning" lintian --fail-on error,warning --allow-root "$debs"/*.changes
check "weft depends on libraries" depends weft
said "by what dpkg-shlibdeps found" 'libsqlite3-0 \(>= [0-9.]+\)'
check "libweft0 depends on libupp0" depends libweft0
said "of exactly its version" 'libupp0 \(= [^)]+\)'
check "configuration files are conffiles" dpkg-deb -I "$debs"/weft_*.deb conffiles
said "the configuration" '^/etc/weft/weft.yaml$'
said "and the environment" '^/etc/weft/weft.env$'
check "the command runs" env LD_LIBRARY_PATH="$tap/root/usr/lib/weft" "$tap/root/usr/bin/weft" version
check "it looks for the reaper where it is installed" sh -c "strings -a '$tap/root/usr/bin/weft' | grep '^/usr/libexec/weft'"
check "and it is there" test -x "$tap/root/usr/libexec/weft/weft-reaper"
refused "the service is not started or enabled at installation" sh -c "dpkg-deb -I '$debs'/weft_*.deb postinst | grep -E 'deb-systemd-invoke start|systemctl enable'"
export PKG_CONFIG_SYSROOT_DIR="$tap/root" PKG_CONFIG_LIBDIR
PKG_CONFIG_LIBDIR=$(dirname "$(find "$tap/root" -name weft.pc)")
check "pkg-config needs nothing but the -dev package" pkg-config --cflags --libs weft upp
compile() { cc -std=gnu11 -Wall -Werror -o "$tap/use" "$root/tests/headers/use.c" $(pkg-config --cflags --libs weft); }
check "a program builds against it" compile
lib=$(dirname "$PKG_CONFIG_LIBDIR")
check "and runs" env LD_LIBRARY_PATH="$lib:$lib/weft" "$tap/use"
tap_end
