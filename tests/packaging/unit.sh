#!/bin/sh
# The systemd unit, the default configuration and the Dockerfile, as far as they can be checked without installing.
# usage: unit.sh SOURCE-ROOT WEFT   (TAP)
set -u
root=$1 weft=$(realpath "$2")
. "$root/tests/support/tap.sh"
unit=$root/packaging/systemd/weft.service

check "the default configuration is right" "$weft" config check --config "$root/packaging/etc/weft.yaml"
if command -v systemd-analyze >/dev/null && systemd-analyze --version | awk 'NR == 1 { exit !($2 >= 250) }'; then
    sed "s|^ExecStart=/usr/bin/weft|ExecStart=$weft|" "$unit" >"$tap/weft.service" # there must be such a program
    systemd-analyze verify --man=no "$tap/weft.service" >"$tap/log" 2>&1
    verdict $? "systemd accepts the unit"
    [ ! -s "$tap/log" ]
    verdict $? "without a warning"
    check "its exposure is at most 2.0 of 10" systemd-analyze security --offline=true --no-pager --threshold=20 "$tap/weft.service"
else
    echo "# no systemd-analyze here: the unit is not verified"
fi
for path in /etc/weft/weft.yaml /etc/weft/weft.env; do
    check "the unit reads $path" grep -q "$path" "$unit"
    check "and the package has it" test -f "$root/packaging/etc/$(basename $path)"
done
check "the image runs as a user" grep -Eq '^USER 900:900$' "$root/packaging/docker/Dockerfile"
check "and checks its health with a command that exists" sh -c "'$weft' help doctor | grep -q -- --ready &&
    grep -q 'HEALTHCHECK.*\"weft\", \"doctor\", \"--ready\"' '$root/packaging/docker/Dockerfile'"
tap_end
