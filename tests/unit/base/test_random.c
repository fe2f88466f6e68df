#include "base/random.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hooks.h"
#include "support/fault.h"
#include "support/test.h"

/* Distinct by far more than chance: 64-bit numbers of two runs of n, none of which may be in both. */
static bool overlap(const uint64_t *a, const uint64_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (a[i] == b[k])
                return true;
    return false;
}

TEST(random_fills_every_size)
{
    static unsigned char p[6000], seen[6000];
    struct upp_err err;
    memset(seen, 0, sizeof seen);
    wb_random_forget();
    static const size_t sizes[] = {0, 1, 15, 16, 511, 512, 513, 4096, sizeof p - 2};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int round = 0; round < 12; round++) { /* 12 times nothing in the same byte: once in 10^28 */
            memset(p, 0, sizeof p);
            CHECK(wb_random(p + 1, sizes[i], &err) == 0);
            CHECK(p[0] == 0 && p[sizes[i] + 1] == 0);
            for (size_t k = 0; k < sizes[i]; k++)
                seen[k] |= p[k + 1];
        }
    for (size_t k = 0; k < sizeof p - 2; k++)
        CHECK(seen[k]);
}

TEST(random_asks_the_system_once_a_batch)
{
    uint64_t v;
    struct upp_err err;
    wb_random_forget();
    unsigned long before = fault_calls(FAULT_RANDOM);
    for (int i = 0; i < 512; i++)
        CHECK(wb_random(&v, sizeof v, &err) == 0);
    CHECK_INT(fault_calls(FAULT_RANDOM) - before, 1);
    CHECK(wb_random(&v, sizeof v, &err) == 0);
    CHECK_INT(fault_calls(FAULT_RANDOM) - before, 2);
}

static int turn;
static int64_t bad_random(void *p, size_t n)
{
    static const int64_t answers[] = {-EINTR, 1, -EINTR, 7, 0};
    int64_t r = answers[turn++ % 5];
    if (r > 0)
        memset(p, turn, (size_t)r < n ? (size_t)r : n);
    return r;
}

static int64_t too_much(void *p, size_t n)
{
    (void)p;
    return (int64_t)n + 1;
}

TEST_WITH(random_takes_no_nonsense_from_a_hook, .no_torture = "it replaces the table that injects the faults")
{
    struct upp_hooks before = *wb_hooks(), mine = before;
    struct upp_err err;
    uint64_t v = 0;
    mine.random = bad_random;
    int set = upp_global_init(&mine, &err);
    wb_random_forget();
    int r = wb_random(&v, sizeof v, &err); /* 1 and 7 bytes, then none: the batch is not full */
    mine.random = too_much;
    int again = upp_global_init(&mine, &err);
    int s = wb_random(&v, sizeof v, &err);
    int back = upp_global_init(&before, &err);
    CHECK(set == 0 && again == 0 && back == 0);
    CHECK_INT(r, -UPP_EREFUSED);
    CHECK_INT(s, -UPP_EREFUSED);
    CHECK(v == 0 && wb_random(&v, sizeof v, &err) == 0);
}

TEST(random_child_does_not_repeat_its_parent)
{
    uint64_t mine[64], its[64];
    struct upp_err err;
    int fds[2], status = -1;
    CHECK(wb_random(mine, 8, &err) == 0); /* a batch is in stock */
    CHECK(pipe(fds) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool ok = true;
        fault_off(); /* a fault in the child would not be seen in the account of the parent */
        for (size_t i = 0; i < 64; i++)
            ok = ok && wb_random(&its[i], 8, &err) == 0;
        _exit(ok && write(fds[1], its, sizeof its) == (ssize_t)sizeof its ? 0 : 1);
    }
    bool ok = true;
    for (size_t i = 0; i < 64; i++)
        ok = ok && wb_random(&mine[i], 8, &err) == 0;
    (void)close(fds[1]);
    ssize_t got = pid > 0 ? read(fds[0], its, sizeof its) : -1;
    (void)close(fds[0]);
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(ok && status == 0 && got == (ssize_t)sizeof its);
    ALWAYS(!overlap(mine, its, 64));
}

static void *draw(void *to)
{
    for (size_t i = 0; i < 64; i++)
        if (!EXPECT(wb_random((uint64_t *)to + i, 8, NULL) == 0))
            break;
    return NULL;
}

TEST(random_threads_have_their_own)
{
    uint64_t a[64] = {0}, b[64] = {0};
    pthread_t t;
    CHECK(pthread_create(&t, NULL, draw, a) == 0);
    (void)draw(b);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK(!test_failed());
    ALWAYS(!overlap(a, b, 64));
}
