#!/bin/sh
# Databases of every version (tests/fixtures/stores) are read, and gone on with. usage: stores.sh WEFT   (TAP)
set -u
weft=$(realpath "$1")
here=$(realpath "$(dirname "$0")/../fixtures/stores")
. "$(dirname "$0")/../support/tap.sh"
cat >"$tap/weft.yaml" <<'YAML'
log: {level: error}
models: {echo: {provider: scripted, echo: true}}
agents: {echo: {model: echo}}
YAML
export WEFT_CONFIG="$tap/weft.yaml"
unset WEFT_ENCRYPTION_KEY

# threads FILE TEXT: the ids of those that say it, newest first; also such as wait.
threads() {
    for t in $("$weft" threads --store "sqlite:$tap/$1" | cut -d' ' -f1); do
        "$weft" show "$t" --store "sqlite:$tap/$1" | grep -qF -e "$2" && echo "$t"
    done
}

# has FILE TEXT N: so many threads say it.
has() {
    [ "$(threads "$1" "$2" | tee "$tap/log" | wc -l)" = "$3" ]
    verdict $? "$1: '$2' is said in $3 threads"
}

for kind in schema-2 schema-2-sealed schema-3 schema-3-sealed; do
    db=$kind.db
    cp "$here/$db" "$tap/$db"
    unset WEFT_ENCRYPTION_KEY
    [ "$kind" = "${kind%-sealed}" ] || export WEFT_ENCRYPTION_KEY=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
    # Reading does not change versions (tests/unit/stores/test_migrate.c has the rest).
    refused "$kind is not only read" "$weft" threads --store "sqlite:$tap/$db"
    check 'it becomes the present one' "$weft" run echo 'newest' --store "sqlite:$tap/$db"
    has $db 'the first' 3
    has $db 'the second, otherwise' 2
    has $db 'It is 18 degrees.' 1
    has $db 'Done.' 1
    has $db 'May I?' 1
    has $db 'large xxxxxxxx' 1
    main=$(threads $db 'the second, otherwise' | tail -n 1)
    copy=$(threads $db 'the second, otherwise' | head -n 1)
    check "$kind: the tree of the one that was put back" "$weft" tree "$main" --store "sqlite:$tap/$db"
    said 'has its branches' '^thread_[0-9a-f]{32}  2 nodes, 6 messages, 3 checkpoints$'
    check 'and that of the one that was imported' "$weft" tree "$copy" --store "sqlite:$tap/$db"
    said 'too' '^root  4 messages, imported  \.\.  "the first"$'
    check 'a text in pieces is whole' sh -c "'$weft' show '$(threads $db 'large xxx')' --json --store 'sqlite:$tap/$db' | grep -Eq '\"large x{17000}\"'"
    check 'it goes on' "$weft" run echo 'newer' --thread "$main" --store "sqlite:$tap/$db"
    first=$("$weft" tree "$main" --json --store "sqlite:$tap/$db" | sed 's/.*"checkpoints":\[{"id":"\([^"]*\)".*/\1/')
    check 'and back' "$weft" restore "$main" "$first" --store "sqlite:$tap/$db"
    check 'and out' "$weft" export "$main" --as uap --store "sqlite:$tap/$db"
    said 'with all of it' 'newer'
    check 'doctor says that its pages have no checksums' "$weft" doctor --store "sqlite:$tap/$db"
    said 'and what gives them some' '^warn  pages .*no checksums: .weft doctor --rewrite'
    check 'which it does' "$weft" doctor --rewrite --store "sqlite:$tap/$db"
    check 'and says' "$weft" doctor --store "sqlite:$tap/$db"
    said 'that they have' '^ok    pages  *[0-9]* pages have their checksums$'
    has $db 'the first' 3
    has $db 'large xxxxxxxx' 1
    check 'it still goes on' "$weft" run echo 'newest of all' --thread "$main" --store "sqlite:$tap/$db"
done
refused 'without its key the encrypted one is not read' env -u WEFT_ENCRYPTION_KEY "$weft" threads --store "sqlite:$tap/schema-3-sealed.db"
unset WEFT_ENCRYPTION_KEY

# One of version 1 too.
cp "$here/schema-1.db" "$tap/schema-1.db"
refused 'version 1 is not only read' "$weft" threads --store "sqlite:$tap/schema-1.db"
check 'it becomes the present one' "$weft" run echo 'newer' --store "sqlite:$tap/schema-1.db"
has schema-1.db 'the third' 1
has schema-1.db 'It is 18 degrees.' 1
tap_end
