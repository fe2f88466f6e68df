/* fuzz/fuzz.h — what a fuzz target looks like.
 *
 *     FUZZ(json_read)                      // corpus: tests/fuzz/corpus/json_read/
 *     {
 *         yyjson_val *v;                   // `in` is the input: any bytes
 *         REQUIRE(...);                    // what must hold of every input, or the process ends
 *     }
 *
 * With -Dfuzzers=true (clang) each target is a libFuzzer program; always, all of them are in fuzz_replay, which runs
 * them over their corpora as an ordinary test. What a fuzzer found goes into the corpus.
 */
#pragma once

#include "base/utf8.h"

struct fuzz_target {
    const char *name;
    void (*run)(struct upp_str in);
    struct fuzz_target *next;
};

extern struct fuzz_target *fuzz_targets;

#define FUZZ(name_)                                                                                                    \
    static void fuzz_##name_(struct upp_str in);                                                                       \
    __attribute__((constructor)) static void register_##name_(void)                                                    \
    {                                                                                                                  \
        static struct fuzz_target t = {#name_, fuzz_##name_, NULL};                                                    \
        t.next = fuzz_targets;                                                                                         \
        fuzz_targets = &t;                                                                                             \
    }                                                                                                                  \
    static void fuzz_##name_(struct upp_str in)

/* What an error says is UTF-8, whatever was read. */
#define REQUIRE_SHOWN(text) REQUIRE(wb_utf8_valid(wb_cstr(text), NULL))

#define REQUIRE(cond) ((cond) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #cond))
_Noreturn void fuzz_broken(const char *file, int line, const char *what);
