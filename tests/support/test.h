/* support/test.h — how tests are written here.
 *
 *     TEST(str_splits_at_separators)
 *     {
 *         WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64);
 *         CHECK(wb_buf_check(&b, NULL) == 0);
 *     }
 *
 * Every test is also a torture test: it is run again with the 1st, 2nd, 3rd ... call through the hook table
 * failing (support/fault.h). So a test frees what it holds by cleanup attributes, CHECK *returns* from the test
 * instead of jumping out of it, and a CHECK that fails while a fault was injected is expected. What must hold even
 * then (a file is old or new, never half; *ret untouched after a failure) is written as ALWAYS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upp/base.h>

struct test {
    const char *name, *file;
    void (*body)(void);
    const char *no_torture; /* why faults make no sense here; NULL: they do */
    unsigned seconds;       /* hang limit of one run; 0: 60 */
    const void *arg;        /* for bodies that stand for several tests: test_running()->arg */
    struct test *next;
};

void test_register(struct test *t);
const struct test *test_running(void);
bool test_brief(void); /* torture in which not every call fails once: what is alike may take turns */

#define TEST(name_) TEST_WITH(name_, .no_torture = NULL)

/* With settings: TEST_WITH(fibers_10000, .no_torture = "reason", .seconds = 120). */
#define TEST_WITH(name_, ...)                                                                                          \
    static void test_##name_(void);                                                                                    \
    __attribute__((constructor)) static void register_##name_(void)                                                    \
    {                                                                                                                  \
        static struct test t = {.name = #name_, .file = __FILE__, .body = test_##name_, __VA_ARGS__};                  \
        test_register(&t);                                                                                             \
    }                                                                                                                  \
    static void test_##name_(void)

/* Records a failure; false when cond is. The form for helpers: `if (!EXPECT(n == 3)) return -1;`. */
#define EXPECT(cond) test_expect(!!(cond), false, __FILE__, __LINE__, #cond)

/* In a TEST: on failure record it and return. */
#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        if (!EXPECT(cond))                                                                                             \
            return;                                                                                                    \
    } while (0)

/* Must hold even while faults are injected. */
#define ALWAYS(cond)                                                                                                   \
    do {                                                                                                               \
        if (!test_expect(!!(cond), true, __FILE__, __LINE__, #cond))                                                   \
            return;                                                                                                    \
    } while (0)

/* Text and integers, both shown when they differ. */
#define CHECK_STR(got, want)                                                                                           \
    do {                                                                                                               \
        if (!test_expect_str((got), (want), __FILE__, __LINE__, #got))                                                 \
            return;                                                                                                    \
    } while (0)
#define CHECK_INT(got, want)                                                                                           \
    do {                                                                                                               \
        if (!test_expect_int((long long)(got), (long long)(want), __FILE__, __LINE__, #got))                           \
            return;                                                                                                    \
    } while (0)

bool test_expect(bool ok, bool always, const char *file, int line, const char *what);
bool test_expect_str(struct upp_str got, struct upp_str want, const char *file, int line, const char *what);
bool test_expect_int(long long got, long long want, const char *file, int line, const char *what);

/* Adds a line to the next failure report: which case of a table, which seed. */
void test_note(const char *fmt, ...) UPP_PRINTF(1, 2);

/* True once something failed in the running test: for helpers that return nothing. */
bool test_failed(void);

/* A whole number from the environment; `otherwise` where it is not set. */
uint64_t test_number(const char *name, uint64_t otherwise);

/* A sweep does one of so many of its steps: 1 in the release build, which does all. A sanitizer or valgrind makes each
 * step eight times as slow: WEFT_SHARE (32; 8 in check-long). */
uint64_t test_share(void);

/* How often a sweep over seeds, cuts or sizes repeats: `plain` times, that share of it, or what the environment says.
 */
uint64_t test_times(const char *name, uint64_t plain);

/* A path below tests/ of the source tree, and a folder of the running test's own that is emptied before it. */
const char *test_source(const char *path);
const char *test_folder(void);

/* The whole of a file below tests/ (freed by the caller with free), or NULL. */
char *test_read(const char *path, size_t *n);

/* Compares with the golden file tests/golden/PATH; WEFT_GOLDEN=write writes it instead. */
bool test_golden(const char *path, struct upp_str got);
#define CHECK_GOLDEN(path, got) CHECK(test_golden((path), (got)))
