/* fuzz/fuzz_anthropic.c — whatever Anthropic sends: fuzz/adapter.h says what holds. */
#include "fuzz/adapter.h"

FUZZ(anthropic)
{
    fuzz_adapter(&upp__anthropic, in);
}
