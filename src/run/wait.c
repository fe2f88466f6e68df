/* run/wait.c — libupp's waits, implemented on fibers.
 *
 * A wait of libupp has its own timeout in addition to the fiber's deadline: when the timeout passes the wait is over
 * (0), and when the fiber's deadline has passed, or the fiber was cancelled, it fails.
 */
#include "run/engine.h"

#include <poll.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "fiber/fiber.h"

/* Was the fiber cancelled, or has its deadline passed? 0: neither. */
static int check_stopped(struct upp_err *err)
{
    int r = weft__pending(weft__self("a wait of libupp"));
    return r < 0 ? weft__cut_short(err, r, "libupp") : 0;
}

/* The result of a wait within our own deadline: 0 if that deadline passed. */
static int wait_result(int r, struct upp_err *err)
{
    return r >= 0 ? 1 : r == -UPP_ETIMEOUT ? check_stopped(err) : r;
}

static WEFT_SUSPENDS int wait_sleep(void *arg, uint64_t ms, struct upp_err *err)
{
    (void)arg;
    return weft_sleep_ms(ms, err);
}

static WEFT_SUSPENDS int wait_readable(void *arg, int fd, uint64_t ms, struct upp_err *err)
{
    (void)arg;
    if (ms == UPP_FOREVER) {
        int r = weft_fd_wait(fd, WEFT_READABLE, err);
        return r < 0 ? r : 1;
    }
    if (ms == 0) { /* a deadline of 0 ms would not poll at all */
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int r = check_stopped(err);
        return r < 0 ? r : poll(&p, 1, 0) > 0;
    }
    struct weft_deadline d = weft_deadline_begin(ms);
    int r = weft_fd_wait(fd, WEFT_READABLE, err);
    weft_deadline_end(&d);
    return wait_result(r, err);
}

_Static_assert(sizeof(struct weft_cond) <= sizeof(struct upp_place), "a place holds a condition");

static struct weft_cond *cond_of(struct upp_place *p)
{
    return (struct weft_cond *)(void *)p->room;
}

static WEFT_SUSPENDS int wait_park(void *arg, struct upp_place *p, uint64_t ms, struct upp_err *err)
{
    (void)arg;
    if (ms == UPP_FOREVER) {
        int r = weft_cond_wait(cond_of(p), err);
        return r < 0 ? r : 1;
    }
    struct weft_deadline d = weft_deadline_begin(ms);
    int r = weft_cond_wait(cond_of(p), err);
    weft_deadline_end(&d);
    return wait_result(r, err);
}

static void wait_wake(void *arg, struct upp_place *p)
{
    (void)arg;
    weft_cond_broadcast(cond_of(p));
}

struct member {
    struct team *team;
    size_t i;
};

struct team {
    struct weft_scope scope;
    struct weft_cond ended;
    void (*work)(void *ctx, size_t i);
    void *ctx;
    size_t n, n_ended, n_returned;
    size_t *order; /* in which they ended */
    struct member members[];
};

static struct team *team_of(struct upp_team *t)
{
    return (struct team *)(void *)t;
}

static WEFT_SUSPENDS int one(void *arg, struct upp_err *err)
{
    struct member *m = arg;
    struct team *t = m->team;
    (void)err;
    t->work(t->ctx, m->i); /* may suspend */
    t->order[t->n_ended++] = m->i;
    weft_cond_signal(&t->ended);
    return 0;
}

static WEFT_SUSPENDS void wait_team_close(void *arg, struct upp_team *pub)
{
    struct team *t = team_of(pub);
    (void)arg;
    weft_scope_close(&t->scope);
    wb_free(t->order);
    wb_free(t);
}

static WEFT_SUSPENDS int wait_team_open(void *arg, size_t n, void (*work)(void *ctx, size_t i), void *ctx,
                                        struct upp_team **ret, struct upp_err *err)
{
    if (n > (SIZE_MAX - sizeof(struct team)) / sizeof(struct member))
        return upp_fail(err, UPP_ELIMIT, "a team of %zu", n);
    struct team *t = wb_calloc(1, sizeof *t + n * sizeof t->members[0]);
    size_t *order = wb_calloc(n ? n : 1, sizeof *order);
    if (!t || !order) {
        wb_free(t);
        wb_free(order);
        return upp_fail(err, UPP_ENOMEM, "no memory for a team of %zu", n);
    }
    t->order = order;
    t->work = work;
    t->ctx = ctx;
    t->n = n;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++) {
        t->members[i] = (struct member){t, i};
        r = weft_scope_spawn(&t->scope, "team", one, &t->members[i], NULL, err);
    }
    struct upp_team *pub = (struct upp_team *)(void *)t;
    if (r < 0) {
        wait_team_close(arg, pub);
        return r;
    }
    *ret = pub;
    return 0;
}

static WEFT_SUSPENDS int wait_team_next(void *arg, struct upp_team *pub, size_t *ret, struct upp_err *err)
{
    struct team *t = team_of(pub);
    (void)arg;
    int r = check_stopped(err);
    while (r >= 0 && t->n_returned == t->n_ended) {
        if (t->n_returned == t->n)
            return 0;
        r = weft_cond_wait(&t->ended, err);
    }
    if (r < 0) {
        weft_scope_cancel(&t->scope);
        return r;
    }
    *ret = t->order[t->n_returned++];
    return 1;
}

static int wait_stopped(void *arg, struct upp_err *err)
{
    (void)arg;
    return check_stopped(err);
}

struct upp_wait wr_wait_table(struct upp_http *http)
{
    return (struct upp_wait){.size = sizeof(struct upp_wait),
                             .sleep_ms = wait_sleep,
                             .readable = wait_readable,
                             .park = wait_park,
                             .wake = wait_wake,
                             .http = http,
                             .team_open = wait_team_open,
                             .team_next = wait_team_next,
                             .team_close = wait_team_close,
                             .stopped = wait_stopped};
}
