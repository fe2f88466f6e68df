/* fuzz/fuzz_google.c — whatever Google sends: fuzz/adapter.h says what holds. */
#include "fuzz/adapter.h"

FUZZ(google)
{
    fuzz_adapter(&upp__google, in);
}
