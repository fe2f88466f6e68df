/* support/fibers.h — running a test's functions as fibers.
 *
 * In a fiber use FAIL_UNLESS instead of CHECK: it records the failure and leaves by the return value, so that
 * cleanups run and scopes are joined.
 */
#pragma once

#include <weft/fiber.h>

#include "support/test.h"

/* Opens a loop, runs fn as its fiber, closes the loop. */
int test_on_loop(weft_fn *fn, void *arg, struct upp_err *err);

#define FAIL_UNLESS(cond)                                                                                              \
    do {                                                                                                               \
        if (!EXPECT(cond))                                                                                             \
            return -UPP_EBUG;                                                                                          \
    } while (0)

/* For calls that fault injection makes fail: passes the failure on. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int try_ = (call);                                                                                             \
        if (try_ < 0)                                                                                                  \
            return try_;                                                                                               \
    } while (0)

/* A pipe or socket pair, non-blocking, both ends counted by the hook table's account. Closed by test_closep. */
int test_socketpair(int fds[2]);
void test_closep(int *fd);

size_t test_descriptors(void); /* how many this process has; of use where they are compared */

/* Runs fn in a child process and gives what it wrote to standard error and how it ended (waitpid's form). */
int test_in_child(void (*fn)(void), char *text, size_t size);

/* Under valgrind some things of the system are not as they are: posix_spawn does not tell that a program cannot start,
 * faults are reported differently. */
bool test_on_valgrind(void);
