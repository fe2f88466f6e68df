/* fuzz/libfuzzer.c — one target as a libFuzzer program. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

struct fuzz_target *fuzz_targets;

_Noreturn void fuzz_broken(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_targets->run((struct upp_str){(const char *)data, size});
    return 0;
}
