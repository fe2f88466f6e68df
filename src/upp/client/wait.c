/* upp/client/wait.c — waiting through the caller's table, or by blocking the thread. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "upp/client/waits.h"

/* Longer than any wait (68 years): more is a mistake, and could overflow the system's types. */
enum { MAX_SECONDS = INT32_MAX };

/* Handled signals do not shorten the sleep. */
static int thread_sleep(uint64_t ms, struct upp_err *err)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    int r;
    while ((r = clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left)) == EINTR)
        ;
    return r ? wb_fail_sys(err, -r, UPP_EBUG, "sleeping") : 0;
}

int upp_wait_ms(const struct upp_wait *w, uint64_t ms, struct upp_err *err)
{
    if (UPP__CAN(w, sleep_ms))
        return w->sleep_ms(w->arg, ms, err);
    if (ms / 1000 > MAX_SECONDS)
        return upp_fail(err, UPP_EINVALID, "nobody sleeps for %llu ms", (unsigned long long)ms);
    return ms ? thread_sleep(ms, err) : 0;
}

int upp__poll(int fd, int stop, uint64_t ms)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
    bool forever = ms / 1000 > MAX_SECONDS;
    uint64_t from = wb_mono_ms(), gone = 0;
    for (;;) {
        uint64_t left = forever ? INT_MAX : WB_MIN(ms - gone, (uint64_t)INT_MAX);
        int r = poll(fds, 2, (int)left);
        if (r > 0) /* also for an error on the descriptor: the following call reports it */
            return fds[1].revents ? 2 : 1;
        if (r < 0 && errno != EINTR)
            return -errno;
        gone = wb_mono_ms() - from;
        if (!forever && gone >= ms)
            return 0;
    }
}

int upp_wait_readable(const struct upp_wait *w, int fd, uint64_t ms, struct upp_err *err)
{
    if (UPP__CAN(w, readable))
        return w->readable(w->arg, fd, ms, err);
    int r = upp__poll(fd, -1, ms);
    return r < 0 ? wb_fail_sys(err, r, UPP_EBUG, "waiting for descriptor %d", fd) : r;
}

int upp_wait_stopped(const struct upp_wait *w, struct upp_err *err)
{
    return UPP__CAN(w, stopped) ? w->stopped(w->arg, err) : 0;
}
