/* upp/wait.c — waiting through the caller's table, or by blocking the thread. */
#include <errno.h>
#include <time.h>
#include <upp/wait.h>

#include "base/err.h"

/* A signal that was handled does not shorten the sleep. */
static int thread_sleep(uint64_t ms, struct upp_err *err)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    int             r;
    while ((r = clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left)) == EINTR)
        ;
    return r ? wb_fail_sys(err, -r, UPP_EBUG, "sleeping") : 0;
}

int upp_wait_ms(const struct upp_wait *w, uint64_t ms, struct upp_err *err)
{
    if (w && w->sleep_ms)
        return w->sleep_ms(w->arg, ms, err);
    if (ms / 1000 > INT32_MAX) /* 68 years */
        return upp_fail(err, UPP_EINVALID, "nobody sleeps for %llu ms", (unsigned long long)ms);
    return ms ? thread_sleep(ms, err) : 0;
}
