#!/bin/sh
# The driver finds what was planted: failure, leak, crash, hang, half-made state. usage: run.sh PLANTED   (TAP)
set -u
planted=$1
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
n=0 bad=0

# finds PATTERN ARGUMENT...: the run fails and its report has the line.
finds() {
    pattern=$1
    shift
    n=$((n + 1))
    if "$planted" "$@" >"$out" 2>&1; then
        echo "not ok $n - $* fails"
        bad=1
    elif ! grep -Eq -- "$pattern" "$out"; then
        echo "not ok $n - $* reports $pattern"
        sed 's/^/# /' "$out"
        bad=1
    else
        echo "ok $n - $* reports $pattern"
    fi
}
passes() {
    n=$((n + 1))
    if "$planted" "$@" >"$out" 2>&1; then echo "ok $n - $* passes"; else echo "not ok $n - $* passes"; sed 's/^/# /' "$out"; bad=1; fi
}

passes clean
passes --torture clean
n=$((n + 1))
if grep -q '^# 4 fault points' "$out"; then echo "ok $n - two allocations are four fault points"; else echo "not ok $n"; sed 's/^/# /' "$out"; bad=1; fi
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
finds 'no test is called that' nothing_is_called_this
if "$planted" --list | grep -q clean && [ -n "${PLANTED_ASAN:-}" ]; then
    finds 'heap-buffer-overflow' runs_over_a_buffer
fi
echo "1..$n"
exit $bad
