/* fiber/loop_uv.c — the loop on libuv. With uv_memory.c all that knows libuv here.
 *
 * libuv waits and tells; it decides nothing. One uv_async wakes, one uv_timer stands for the earliest of our timers,
 * one uv_poll stands for each descriptor somebody waits for. Callbacks record and mark ready.
 *
 * uv_close is asynchronous: a handle lives in a heap object that its close callback frees.
 */
#include <string.h>
#include <uv.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "fiber/child.h"
#include "fiber/loop.h"
#include "fiber/worker.h"

/* A descriptor somebody waits for: one fiber to read and one to write, or one for both. */
struct watch {
    uv_poll_t poll;
    int fd;
    struct weft_fiber *reader, *writer;
};

struct uv_kind {
    struct weft_loop loop;
    uv_loop_t uv;
    uv_async_t async;
    uv_timer_t timer;
    struct watch **watches; /* by descriptor; NULL: nobody waits */
    size_t n_watches;
    unsigned unlooked; /* turns since the kernel was asked */
};

static struct uv_kind *kind(struct weft_loop *l)
{
    return WB_OUTER(l, struct uv_kind, loop);
}

static int uv_failed(struct upp_err *err, int r, const char *what)
{
    return wb_fail_sys(err, r, UPP_EBUG, "%s", what); /* its errors are the system's */
}

static void free_watch(uv_handle_t *h)
{
    wb_free(WB_OUTER(h, struct watch, poll));
}

static void on_poll(uv_poll_t *poll, int status, int events);

/* Arms for those who still wait; without any, lets go of the descriptor. */
static int rearm(struct uv_kind *k, struct watch *w)
{
    int events = (w->reader ? UV_READABLE : 0) | (w->writer ? UV_WRITABLE : 0);
    if (events)
        return uv_poll_start(&w->poll, events, on_poll);
    k->watches[w->fd] = NULL;
    uv_close((uv_handle_t *)&w->poll, free_watch);
    return 0;
}

static void came(struct watch *w, struct weft_fiber *f, unsigned got)
{
    if (!f || !(f->fd_want & got))
        return;
    f->fd_got = f->fd_want & got;
    if (w->reader == f)
        w->reader = NULL;
    if (w->writer == f)
        w->writer = NULL;
    weft__wake(f, 0);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *w = WB_OUTER(poll, struct watch, poll);
    struct uv_kind *k = WB_OUTER(poll->loop, struct uv_kind, uv);
    unsigned got = 0;
    if (status < 0)
        got = WEFT_READABLE | WEFT_WRITABLE; /* the call that follows says what is wrong */
    if (events & UV_READABLE)
        got |= WEFT_READABLE;
    if (events & UV_WRITABLE)
        got |= WEFT_WRITABLE;
    struct weft_fiber *reader = w->reader, *writer = w->writer;
    came(w, reader, got);
    if (writer != reader)
        came(w, writer, got);
    if (rearm(k, w) < 0) { /* cannot be: it was armed with more before */
        came(w, w->reader, WEFT_READABLE);
        came(w, w->writer, WEFT_WRITABLE);
        (void)rearm(k, w);
    }
}

/* The watch of a descriptor, made when there is none. */
static int watch_of(struct uv_kind *k, int fd, struct watch **ret, struct upp_err *err)
{
    if (fd < 0)
        return upp_fail(err, UPP_EINVALID, "descriptor %d", fd);
    if ((size_t)fd >= k->n_watches) {
        size_t n = WB_MAX((size_t)fd + 1, k->n_watches * 2);
        struct watch **more = wb_realloc(k->watches, n * sizeof *more);
        if (!more)
            return upp_fail(err, UPP_ENOMEM, "no memory for %zu descriptors", n);
        memset(more + k->n_watches, 0, (n - k->n_watches) * sizeof *more);
        k->watches = more;
        k->n_watches = n;
    }
    struct watch *w = k->watches[fd];
    if (!w) {
        w = wb_calloc(1, sizeof *w);
        if (!w)
            return upp_fail(err, UPP_ENOMEM, "no memory to wait for a descriptor");
        w->fd = fd;
        int r = uv_poll_init(&k->uv, &w->poll, fd);
        if (r < 0) {
            wb_free(w);
            return upp_fail(err, r == UV_ENOMEM ? UPP_ENOMEM : UPP_EINVALID, "cannot wait for descriptor %d: %s", fd,
                            uv_strerror(r));
        }
        k->watches[fd] = w;
    }
    *ret = w;
    return 0;
}

static void uv_kind_fd_forget(struct weft_loop *l, struct weft_fiber *f)
{
    struct uv_kind *k = kind(l);
    struct watch *w = f->fd >= 0 && (size_t)f->fd < k->n_watches ? k->watches[f->fd] : NULL;
    if (!w || (w->reader != f && w->writer != f))
        return; /* it has come */
    if (w->reader == f)
        w->reader = NULL;
    if (w->writer == f)
        w->writer = NULL;
    (void)rearm(k, w); /* fewer events than before: cannot fail */
}

static int uv_kind_fd_watch(struct weft_loop *l, struct weft_fiber *f, struct upp_err *err)
{
    struct uv_kind *k = kind(l);
    struct watch *w = NULL;
    int r = watch_of(k, f->fd, &w, err);
    if (r < 0)
        return r;
    if ((f->fd_want & WEFT_READABLE && w->reader) || (f->fd_want & WEFT_WRITABLE && w->writer))
        return upp_fail(err, UPP_EBUSY, "another fiber waits for descriptor %d", f->fd);
    if (f->fd_want & WEFT_READABLE)
        w->reader = f;
    if (f->fd_want & WEFT_WRITABLE)
        w->writer = f;
    r = rearm(k, w);
    if (r < 0) {
        uv_kind_fd_forget(l, f);
        return uv_failed(err, r, "uv_poll_start");
    }
    return 0;
}

static void on_async(uv_async_t *a)
{
    (void)a; /* being woken is all */
}

static void on_timer(uv_timer_t *t)
{
    (void)t;
}

static void uv_kind_wake(struct weft_loop *l)
{
    (void)uv_async_send(&kind(l)->async); /* fails only on a closed handle */
}

enum { ROUNDS = 16, UNLOOKED = 16 };

static int uv_kind_turn(struct weft_loop *l, bool block, struct upp_err *err)
{
    struct uv_kind *k = kind(l);
    (void)err;
    bool some = !wb_list_empty(&l->ready);
    weft__fibers_run(l);
    /* Asking the kernel costs more than many fibers do: those that made each other ready go on first, for a while. */
    for (unsigned i = 1; i < ROUNDS && block && !(l->root && l->root->state == WEFT__DONE); i++) {
        if (weft__loop_has_mail(l))
            weft__loop_take_mail(l);
        if (!wb_list_empty(&l->ready))
            weft__fibers_run(l);
        else if (!weft__loop_take_later(l))
            break;
    }
    /* Who drives the loop looks again before it waits, when the last fiber (or the one of weft_loop_run) has ended. */
    bool over = l->root && l->root->state == WEFT__DONE;
    if (!wb_list_empty(&l->ready) || !wb_list_empty(&l->later) || weft__loop_has_mail(l) || (some && !l->live) || over)
        block = false;
    /* What weft_loop_run ran has ended: mostly without ever waiting, and then nobody asks the kernel for it. For those
     * in the background it is asked now and then, however often the loop is run so. */
    if (over && k->unlooked < UNLOOKED) {
        k->unlooked++;
        weft__loop_serve(l);
        return 0;
    }
    k->unlooked = 0;
    if (block) {
        uint64_t now = weft__loop_clock(l), trim = weft__stacks_trim(&l->stacks, now);
        uint64_t at = WB_MIN(weft__timers_next(&l->timers), trim);
        if (at <= now)
            block = false;
        else if (at != WEFT__NEVER) {
            /* It repeats because uv_run may serve timers before it waits: the wait must still end. */
            uv_update_time(&k->uv);
            (void)uv_timer_start(&k->timer, on_timer, (at - now + 999999) / 1000000, 1);
        }
    }
    (void)uv_run(&k->uv, block ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    if (block)
        (void)uv_timer_stop(&k->timer);
    (void)weft__loop_clock(l);
    weft__loop_serve(l);
    return 0;
}

static void uv_kind_close(struct weft_loop *l)
{
    struct uv_kind *k = kind(l);
    uv_close((uv_handle_t *)&k->async, NULL);
    uv_close((uv_handle_t *)&k->timer, NULL);
    (void)uv_run(&k->uv, UV_RUN_DEFAULT);
    if (uv_loop_close(&k->uv) != 0)
        weft__die("a loop is closed while something of it is still open");
    weft__loop_done(l);
    wb_free(k->watches);
    wb_free(k);
}

static const struct weft__loop_ops ops = {
    .name = "uv",
    .turn = uv_kind_turn,
    .wake = uv_kind_wake,
    .fd_watch = uv_kind_fd_watch,
    .fd_forget = uv_kind_fd_forget,
    .job_submit = weft__workers_submit,
    .job_withdraw = weft__workers_withdraw,
    .child_open = weft__child_open,
    .child_status = weft__child_status,
    .child_kill = weft__child_kill,
    .child_reap = weft__child_reap,
    .close = uv_kind_close,
};

int weft_loop_open(const struct weft_loop_opts *opts, struct weft_loop **ret, struct upp_err *err)
{
    struct uv_kind *k = wb_calloc(1, sizeof *k);
    if (!k)
        return upp_fail(err, UPP_ENOMEM, "no memory for a loop");
    int r = weft__loop_init(&k->loop, &ops, opts, err);
    if (r < 0) {
        wb_free(k);
        return r;
    }
    r = uv_loop_init(&k->uv);
    if (r < 0) {
        weft__loop_done(&k->loop);
        wb_free(k);
        return uv_failed(err, r, "uv_loop_init");
    }
    (void)uv_timer_init(&k->uv, &k->timer); /* cannot fail */
    r = uv_async_init(&k->uv, &k->async, on_async);
    if (r < 0) {
        uv_close((uv_handle_t *)&k->timer, NULL);
        (void)uv_run(&k->uv, UV_RUN_DEFAULT);
        (void)uv_loop_close(&k->uv);
        weft__loop_done(&k->loop);
        wb_free(k);
        return uv_failed(err, r, "uv_async_init");
    }
    *ret = &k->loop;
    return 0;
}
