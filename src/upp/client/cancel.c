/* upp/client/cancel.c — ends a thread's waits from another thread, or from a signal handler. */
#include <errno.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hooks.h"
#include "upp/client/waits.h"

/* The descriptor is never read: once fired it stays readable for everyone who polls it. */
struct upp_cancel {
    int fd;
    atomic_bool fired;
    struct upp_wait wait;
};

static int fail_canceled(struct upp_err *err)
{
    return upp_fail(err, UPP_ECANCELED, "cancelled");
}

static int wait_sleep(void *arg, uint64_t ms, struct upp_err *err)
{
    const struct upp_cancel *c = arg;
    if (upp_cancel_fired(c))
        return fail_canceled(err);
    int r = upp__poll(-1, c->fd, ms);
    return r < 0 ? wb_fail_sys(err, r, UPP_EBUG, "sleeping") : r ? fail_canceled(err) : 0;
}

static int wait_readable(void *arg, int fd, uint64_t ms, struct upp_err *err)
{
    const struct upp_cancel *c = arg;
    if (upp_cancel_fired(c))
        return fail_canceled(err);
    int r = upp__poll(fd, c->fd, ms);
    if (r < 0)
        return wb_fail_sys(err, r, UPP_EBUG, "waiting for descriptor %d", fd);
    return r == 2 ? fail_canceled(err) : r;
}

static int wait_stopped(void *arg, struct upp_err *err)
{
    return upp_cancel_fired(arg) ? fail_canceled(err) : 0;
}

int upp_cancel_new(struct upp_cancel **ret, struct upp_err *err)
{
    struct upp_cancel *c = wb_calloc(1, sizeof *c);
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for a cancel");
    c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->fd < 0) {
        int r = -errno;
        wb_free(c);
        return wb_fail_sys(err, r, UPP_ELIMIT, "no descriptor for a cancel");
    }
    atomic_init(&c->fired, false);
    c->wait = (struct upp_wait){
        .size = sizeof c->wait, .arg = c, .sleep_ms = wait_sleep, .readable = wait_readable, .stopped = wait_stopped};
    *ret = c;
    return 0;
}

void upp_cancel_free(struct upp_cancel *c)
{
    if (!c)
        return;
    (void)close(c->fd);
    wb_free(c);
}

void upp_cancel_freep(struct upp_cancel **c)
{
    upp_cancel_free(*c);
}

/* Async-signal-safe: a lock-free store, and write; restores errno for the interrupted code. */
void upp_cancel_fire(struct upp_cancel *c)
{
    static const uint64_t one = 1;
    int saved = errno;
    if (!atomic_exchange(&c->fired, true))
        (void)!write(c->fd, &one, sizeof one); /* an empty counter has room */
    errno = saved;
}

bool upp_cancel_fired(const struct upp_cancel *c)
{
    return atomic_load(&c->fired);
}

const struct upp_wait *upp_cancel_wait(struct upp_cancel *c)
{
    return &c->wait;
}
