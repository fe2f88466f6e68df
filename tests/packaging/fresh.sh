#!/bin/sh
# Installs the packages on a machine to throw away, uses them, upgrades and removes them. As root, on a minimal Debian of
# the same version. Nothing runs it automatically.
# usage: fresh.sh FOLDER-OF-DEBS   (TAP)
set -u
debs=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/tap.sh"
export DEBIAN_FRONTEND=noninteractive
url=http://127.0.0.1:8787

apt_install() { apt-get install -q -y --no-install-recommends "$@"; }
deb() { echo "$debs/$1"_*.deb; }
as_weft="setpriv --reuid=weft --regid=weft --clear-groups env -i PATH=$PATH" # each replaces itself: $! is the last one's
wait_for() { # SECONDS COMMAND...
    left=$(($1 * 10))
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.1
    done
}

check "the package lists are read" apt-get update -q
check "apt installs the server" apt_install "$(deb weft)"
check "weft version" weft version
said "names its version" '^weft [0-9]'
check "no library is missing" sh -c '! ldd /usr/bin/weft | grep "not found"'
check "the user exists" id weft
check "its folder is private" sh -c '[ "$(stat -c "%U %a" /var/lib/weft)" = "weft 700" ]'
check "the default configuration is right" weft config check --config /etc/weft/weft.yaml
check "keys are for root alone" sh -c '[ "$(stat -c "%U %a" /etc/weft/weft.env)" = "root 600" ]'
check "there is a man page" test -s /usr/share/man/man1/weft.1.gz
check "there is one for each command" test -s /usr/share/man/man1/weft-run.1.gz
for f in bash-completion/completions/weft zsh/vendor-completions/_weft fish/vendor_completions.d/weft.fish; do
    check "there is $f" test -s "/usr/share/$f"
done
refused "the service is not enabled" test -e /etc/systemd/system/multi-user.target.wants/weft.service

check "curl, a compiler and pkg-config for the rest" apt_install curl gcc libc6-dev pkg-config util-linux
$as_weft weft serve --config /etc/weft/weft.yaml >"$tap/out" 2>"$tap/err" &
server=$!
check "weft serve starts as the user" wait_for 30 curl -fs $url/readyz
check "weft doctor --ready" $as_weft weft doctor --ready --config /etc/weft/weft.yaml
check "an agent runs" $as_weft weft run echo hello --config /etc/weft/weft.yaml
said "and answers" '^hello$'
check "doctor finds nothing bad" $as_weft weft doctor --config /etc/weft/weft.yaml
kill $server
wait $server
verdict $? "SIGTERM stops it, and it exits 0"

check "apt installs the libraries" apt_install "$(deb libupp0)" "$(deb libweft0)" "$(deb libweft-dev)"
compile() { cc -std=gnu11 -Wall -Werror -o "$tap/use" "$here/../headers/use.c" $(pkg-config --cflags --libs weft); }
check "a program builds with pkg-config" compile
check "and runs" "$tap/use"
said "and says so" '^weft [0-9.]*: in: hello$'

check "it can be installed again" apt_install --reinstall "$(deb weft)"
check "and removed" apt-get remove -q -y weft
check "which leaves the configuration" test -e /etc/weft/weft.yaml
check "purging" apt-get purge -q -y weft
refused "removes the configuration" test -e /etc/weft/weft.yaml
check "and leaves the data" test -s /var/lib/weft/weft.db
tap_end
