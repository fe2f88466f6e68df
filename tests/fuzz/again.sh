#!/bin/sh
# again.sh FUZZER CORPUS RUNS [OPTION...]: fuzzing that is the same each time: one seed, a number of inputs, the corpus in the order
# of its names (folders list theirs as they like), and nothing written to it.
fuzzer=$1 corpus=$2 runs=$3
shift 3
list=$(mktemp "${TMPDIR:-/tmp}/weft-fuzz.XXXXXX") || exit 1
trap 'rm -f "$list"' EXIT
find "$corpus" -type f | LC_ALL=C sort | paste -s -d , | tr -d '\n' >"$list"
fixed='' # addresses too: coverage depends on them where code compares or hashes pointers
if setarch -R true 2>/dev/null; then fixed='setarch -R'; else echo "addresses are random here: setarch -R is refused"; fi
$fixed "$fuzzer" -seed=1 -runs="$runs" -max_len=4096 -seed_inputs="@$list" "$@"
