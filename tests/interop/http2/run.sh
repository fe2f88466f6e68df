#!/bin/sh
# run.sh BUILD_DIR: libupp's outgoing HTTP/2 against Node's server, over TLS with a CA of the test's own.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
use_node
client=$1/tests/http2_client

"$client" certs "$tap" >"$tap/log" 2>&1
verdict $? 'certificates are made'
mkfifo "$tap/stop"
node "$here/server.mjs" "$tap" <"$tap/stop" >"$tap/told" 2>"$tap/log" &
exec 9>"$tap/stop"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    port=$(sed -n 's/^port //p' "$tap/told")
    [ -n "$port" ] && break
    sleep 0.25
done
[ -n "$port" ]
verdict $? 'the server listens'

"$client" ask "$tap" "$port" / 3 >"$tap/said" 2>"$tap/log"
[ "$(cat "$tap/said")" = '1 2 3 4 end
1 2 3 4 end
1 2 3 4 end' ]
verdict $? 'three calls, one after the other'
"$client" many "$tap" "$port" 50 >"$tap/said" 2>"$tap/log"
[ "$(cat "$tap/said")" = 'whole
50' ]
verdict $? 'fifty streams at the same time'
"$client" ask "$tap" "$port" /gone 1 >"$tap/said" 2>"$tap/log"
[ "$(cat "$tap/said")" = '1 2 3 4 NETWORK_ERROR' ]
verdict $? 'a GOAWAY in mid-answer is an error of the network'

exec 9>&-
wait
told=$(tail -n 1 "$tap/told")
echo "$told" >"$tap/log"
case $told in *'"calls":54,"versions":{"2.0":54}'*) true ;; *) false ;; esac
verdict $? 'all of it was HTTP/2'
case $told in *'"sessions":3,'*) true ;; *) false ;; esac
verdict $? 'a connection for each of the three programs'
case $told in *'"keys":{"Bearer k-1":true}'*) true ;; *) false ;; esac
verdict $? 'with the key'
tap_end
