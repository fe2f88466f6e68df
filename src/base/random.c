/* base/random.c — random bytes in batches.
 *
 * Invariants
 *  1. A byte of a batch is handed out once, and is zero in the batch from then on.
 *  2. A batch has bytes only while the fork handler is registered. The handler runs in the child, on its only
 *     thread, and wipes that thread's batch; the other threads' batches are memory that no one there can reach. So
 *     nothing is counted or compared when bytes are taken.
 *
 * What is left in a batch when its thread ends was never handed out, and is no secret.
 */
#include "base/random.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/err.h"
#include "base/hooks.h"

/* 4 KiB is 256 ids a system call. Whoever wants more than a part of it is not in a hurry. */
enum { BATCH = 4096, LARGEST_TAKE = BATCH / 8 };

static _Thread_local struct {
    size_t left; /* the bytes at the front that are still there */
    unsigned char bytes[BATCH];
} stock;

/* Set once, never cleared. Two threads may both register: wiping twice is harmless. */
static atomic_bool watching;

void wb_random_forget(void)
{
    explicit_bzero(&stock, sizeof stock);
}

static int watch_forks(void)
{
    if (atomic_load_explicit(&watching, memory_order_acquire))
        return 0;
    int e = pthread_atfork(NULL, NULL, wb_random_forget);
    if (e)
        return -e;
    atomic_store_explicit(&watching, true, memory_order_release);
    return 0;
}

/* 0, or a negative errno. Signals interrupt large requests, and these may come back short. */
static int fetch(unsigned char *p, size_t n)
{
    while (n) {
        int64_t r = WB_CALL(random)(p, n);
        if (r == -EINTR)
            continue;
        if (r <= 0 || (uint64_t)r > n)
            return r < 0 ? (int)r : -EIO;
        p += r;
        n -= (size_t)r;
    }
    return 0;
}

/* As explicit_bzero, but in line: the compiler may not leave the writing out, yet may do it in two stores. */
static inline void take(void *p, size_t n)
{
    stock.left -= n;
    unsigned char *from = stock.bytes + stock.left;
    memcpy(p, from, n);
    memset(from, 0, n);
    __asm__ volatile("" : : "r"(from) : "memory");
}

int wb_random(void *p, size_t n, struct upp_err *err)
{
    int r = 0;
    if (n > LARGEST_TAKE) {
        r = fetch(p, n);
    } else if (n > stock.left) {
        stock.left = 0;
        r = watch_forks();
        if (r == 0)
            r = fetch(stock.bytes, sizeof stock.bytes);
        if (r == 0)
            stock.left = sizeof stock.bytes;
    }
    if (r < 0)
        return wb_fail_sys(err, r, UPP_EREFUSED, "no random bytes");
    if (n == 16) /* an id */
        take(p, 16);
    else if (n && n <= LARGEST_TAKE)
        take(p, n);
    return 0;
}
