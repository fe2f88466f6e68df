#!/bin/sh
# The driver finds what was planted: failure, leak, crash, hang, half-made state. usage: run.sh PLANTED   (TAP)
set -u
planted=$1
. "$(dirname "$0")/../support/tap.sh"

passes() { check "$* passes" "$planted" "$@"; }
finds() { # finds PATTERN ARGUMENT...: the run fails and its report has the line
    pattern=$1
    shift
    refused "$* fails" "$planted" "$@"
    said "and reports $pattern" "$pattern"
}

passes clean
passes --torture clean
said "two allocations are four fault points" '^# 4 fault points'
passes --torture=1 --kinds=1 clean
said "of two kinds, one is one fault point" '^# 1 fault points'
finds 'planted.c:[0-9]+: 1 \+ 1 is 2, not 3' fails_always
finds 'allocation 1 of 77 bytes was not freed' leaks_always
finds '1 descriptors were not closed' leaks_a_descriptor
passes leaks_when_the_second_allocation_fails
finds 'allocation 1 of 10 bytes was not freed  \[torture: call 2 of memory\]' --torture leaks_when_the_second_allocation_fails
passes crashes_when_memory_is_short
finds 'died in test crashes_when_memory_is_short  \[torture: call 1 of memory\]' --torture crashes_when_memory_is_short
passes hides_nothing_but_breaks_its_promise
finds 'n == 0 \|\| n == 6  \[torture: call 3 of file EIO\]' --torture hides_nothing_but_breaks_its_promise
finds 'it hung' hangs
finds 'golden/never/written.json' has_no_golden_file
finds 'golden/harness/text .*differs at byte 5' differs_from_its_golden_file
passes is_its_golden_file
mkdir -p "$tap/tests/golden"
check "a golden file is written" env WEFT_TESTS="$tap/tests" WEFT_GOLDEN=write "$planted" has_no_golden_file
check "and is there" env WEFT_TESTS="$tap/tests" "$planted" has_no_golden_file
finds 'no test is called that' nothing_is_called_this
passes --part=1/2 clean
finds 'no test is called that' --part=2/2 clean
finds 'usage: unit' --part=3/2 clean
if [ -n "${PLANTED_ASAN:-}" ]; then
    finds 'heap-buffer-overflow' runs_over_a_buffer
fi
tap_end
