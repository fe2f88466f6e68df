/* fiber/loop.c — what every kind of loop has: the thread's loop, the inbox, turns, opening and closing. */
#include "fiber/loop.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "fiber/worker.h"

enum { MAX_FIBERS = 30000, MAX_INBOX = 16384, MAX_STACK = 64 << 20 };

/* ---- The loop of a thread ------------------------------------------------------------------------------ */

/* initial-exec: one load in a shared library too, and safe to read in a signal handler. */
static _Thread_local struct weft_loop *here __attribute__((tls_model("initial-exec")));

__attribute__((noinline)) struct weft_loop *weft__loop(void)
{
    struct weft_loop *l = here;
    __asm__ volatile("" : "+r"(l)); /* not a pure function: it is asked again after every switch */
    return l;
}

__attribute__((noinline)) struct weft_loop *weft__loop_enter(struct weft_loop *l)
{
    struct weft_loop *before = here;
    here = l;
    if (before)
        atomic_store_explicit(&before->driven, false, memory_order_relaxed);
    if (l)
        atomic_store_explicit(&l->driven, true, memory_order_relaxed);
    __asm__ volatile("" : : : "memory");
    return before;
}

struct weft_loop *weft_loop_current(void)
{
    return weft__loop();
}

/* ---- Time ---------------------------------------------------------------------------------------------- */

uint64_t weft__loop_clock(struct weft_loop *l)
{
    return l->now = WB_CALL(mono_ns)();
}

uint64_t weft__loop_after(struct weft_loop *l, uint64_t ms)
{
    uint64_t ns, at;
    if (__builtin_mul_overflow(ms, UINT64_C(1000000), &ns) || __builtin_add_overflow(weft__loop_clock(l), ns, &at))
        return WEFT__NEVER;
    return at;
}

int64_t weft__loop_wall_ms(struct weft_loop *l)
{
    if (l->now >= l->wall_until) {
        l->wall_ms = wb_wall_ms();
        l->wall_until = l->now + 1000000;
    }
    return l->wall_ms;
}

/* ---- The inbox ------------------------------------------------------------------------------------------ */

static void lock(struct weft_loop *l)
{
    if (pthread_mutex_lock(&l->lock))
        abort();
}

static void unlock(struct weft_loop *l)
{
    if (pthread_mutex_unlock(&l->lock))
        abort();
}

/* Sets what a turn looks at after it was woken, and wakes. A wake may do nothing because another is pending (libuv
 * looks at its flag first, in no order): either we see that flag cleared, or the turn that cleared it sees ours. The
 * fence stands against the sequentially consistent loads in weft__loop_has_mail and weft__loop_serve. */
static void set_and_order(_Atomic bool *flag)
{
    atomic_store_explicit(flag, true, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

static void put(struct weft_loop *l, struct weft__msg *m)
{
    bool first = wb_list_empty(&l->inbox);
    wb_list_push(&l->inbox, &m->link);
    set_and_order(&l->mail);
    /* Under the lock: once the message can be taken, the loop is not touched any more. Whoever drives the loop needs no
     * waking: a turn looks for mail before it waits. */
    if (first && weft__loop() != l)
        l->ops->wake(l);
}

void weft__loop_send(struct weft_loop *l, struct weft__msg *m)
{
    lock(l);
    put(l, m);
    unlock(l);
}

void weft__loop_send_all(struct weft_loop *l, struct wb_link *msgs)
{
    lock(l);
    for (struct wb_link *link; (link = wb_list_pop(msgs));)
        put(l, wb_item(link, struct weft__msg, link));
    unlock(l);
}

int weft__loop_request(struct weft_loop *l, struct weft__msg *m, struct upp_err *err)
{
    lock(l);
    bool full = l->posted >= l->max_posted;
    if (!full) {
        l->posted++;
        put(l, m);
    }
    unlock(l);
    return full ? wb_fail_full(err, "the inbox of the loop holds %zu messages, its limit", l->max_posted) : 0;
}

void weft__loop_request_taken(struct weft_loop *l)
{
    lock(l);
    l->posted--;
    unlock(l);
}

bool weft__loop_has_mail(struct weft_loop *l)
{
    return atomic_load_explicit(&l->mail, memory_order_seq_cst);
}

static void take_each(struct wb_link *msgs)
{
    for (struct wb_link *link; (link = wb_list_pop(msgs));) {
        struct weft__msg *m = wb_item(link, struct weft__msg, link);
        m->take(m);
    }
}

void weft__loop_take_mail(struct weft_loop *l)
{
    struct wb_link mail;
    wb_list_init(&mail);
    lock(l);
    wb_list_splice(&mail, &l->inbox);
    atomic_store_explicit(&l->mail, false, memory_order_relaxed);
    unlock(l);
    take_each(&mail);
}

void weft__loop_send_later(struct weft_loop *l, struct weft__msg *m)
{
    wb_list_push(&l->later, &m->link);
}

bool weft__loop_take_later(struct weft_loop *l)
{
    struct wb_link now; /* what they send for later is for later */
    bool some = !wb_list_empty(&l->later);
    wb_list_init(&now);
    wb_list_splice(&now, &l->later);
    take_each(&now);
    return some;
}

struct post {
    struct weft__msg msg;
    struct weft_loop *loop;
    void (*fn)(void *arg);
    void *arg;
};

static void take_post(struct weft__msg *m)
{
    struct post *p = WB_OUTER(m, struct post, msg);
    weft__loop_request_taken(p->loop);
    p->fn(p->arg);
    wb_free(p);
}

int weft_loop_post(struct weft_loop *loop, void (*fn)(void *arg), void *arg, struct upp_err *err)
{
    struct post *p = wb_alloc(sizeof *p);
    if (!p)
        return upp_fail(err, UPP_ENOMEM, "no memory for a message");
    *p = (struct post){.msg.take = take_post, .loop = loop, .fn = fn, .arg = arg};
    int r = weft__loop_request(loop, &p->msg, err);
    if (r < 0)
        wb_free(p);
    return r;
}

/* ---- Turns ---------------------------------------------------------------------------------------------- */

void weft__loop_serve(struct weft_loop *l)
{
    (void)weft__timers_fire(&l->timers, l->now);
    if (weft__loop_has_mail(l))
        weft__loop_take_mail(l);
    (void)weft__loop_take_later(l);
    if (atomic_load_explicit(&l->cancel, memory_order_seq_cst)) {
        atomic_store_explicit(&l->cancel, false, memory_order_relaxed);
        if (l->root)
            weft_fiber_cancel(l->root);
        wb_list_each (link, &l->background.children)
            weft_fiber_cancel(wb_item(link, struct weft_fiber, sibling));
    }
}

void weft_loop_cancel(struct weft_loop *loop)
{
    set_and_order(&loop->cancel);
    loop->ops->wake(loop);
}

/* The loop is this thread's until leave(). */
static int enter(struct weft_loop *l, struct upp_err *err)
{
    if (weft__loop())
        return upp_fail(err, UPP_EINVALID, "this thread already drives a loop");
    (void)weft__loop_enter(l);
    (void)weft__loop_clock(l);
    return 0;
}

int weft_loop_poll(struct weft_loop *loop, struct upp_err *err)
{
    int r = enter(loop, err);
    if (r < 0)
        return r;
    r = loop->ops->turn(loop, false, err);
    (void)weft__loop_enter(NULL);
    return r < 0 ? r : loop->live > 0;
}

int weft_loop_run(struct weft_loop *loop, const char *name, weft_fn *fn, void *arg, struct upp_err *err)
{
    struct weft_fiber *f;
    int r = enter(loop, err);
    if (r < 0)
        return r;
    r = weft__fiber_new(loop, NULL, name, fn, arg, &f, err);
    if (r < 0) {
        (void)weft__loop_enter(NULL);
        return r;
    }
    f->refs++;
    loop->root = f;
    int outer = 0; /* what the loop itself has to say: the simulator found a deadlock */
    while (f->state != WEFT__DONE) {
        r = loop->ops->turn(loop, true, err);
        if (r < 0)
            outer = r; /* it has cancelled everybody: go on until the fiber has unwound */
    }
    loop->root = NULL;
    r = f->result;
    if (r < 0 && !outer && err)
        *err = f->err;
    weft_fiber_unref(f);
    (void)weft__loop_enter(NULL);
    return outer ? outer : r;
}

static int closing(struct upp_err *err)
{
    return upp_fail(err, UPP_EREFUSED, "the loop is being closed");
}

int weft__loop_spawn(struct weft_loop *loop, const char *name, weft_fn *fn, void *arg, struct weft_fiber **ret,
                     struct upp_err *err)
{
    if (loop->closing)
        return closing(err);
    struct weft_fiber *f;
    int r = weft__fiber_new(loop, &loop->background, name, fn, arg, &f, err);
    if (r < 0)
        return r;
    wb_list_push(&loop->background.children, &f->sibling);
    loop->background.live++;
    *ret = f;
    return 0;
}

int weft_loop_spawn(struct weft_loop *loop, const char *name, weft_fn *fn, void *arg, struct upp_err *err)
{
    struct weft_fiber *f;
    const struct weft_loop *mine = weft__loop();
    if (mine != loop && (mine || atomic_load_explicit(&loop->driven, memory_order_relaxed)))
        return upp_fail(err, UPP_EINVALID, "weft_loop_spawn: fiber '%s' is spawned from outside of its loop",
                        name ? name : "unnamed");
    if (loop->background.canceled) /* nobody would cancel it any more, and it would be waited for */
        return closing(err);
    return weft__loop_spawn(loop, name, fn, arg, &f, err);
}

/* ---- Opening and closing --------------------------------------------------------------------------------- */

int weft__loop_init(struct weft_loop *l, const struct weft__loop_ops *ops, const struct weft_loop_opts *opts,
                    struct upp_err *err)
{
    struct weft_loop_opts o;
    wb_opts(&o, sizeof o, opts);
    if (o.stack_size > MAX_STACK)
        return upp_fail(err, UPP_EINVALID, "a stack of %zu bytes is over %d MiB", o.stack_size, MAX_STACK >> 20);
    *l = (struct weft_loop){
        .ops = ops,
        .max_fibers = o.max_fibers ? o.max_fibers : MAX_FIBERS,
        .max_posted = o.max_inbox ? o.max_inbox : MAX_INBOX,
        .workers = o.workers,
    };
    if (pthread_mutex_init(&l->lock, NULL))
        return upp_fail(err, UPP_ENOMEM, "no memory for a lock");
    wb_list_init(&l->ready);
    wb_list_init(&l->fibers);
    wb_list_init(&l->spare_fibers);
    wb_list_init(&l->inbox);
    wb_list_init(&l->later);
    weft__stacks_init(&l->stacks, o.stack_size);
    weft__scope_init(&l->background, l, true);
    return 0;
}

void weft__loop_empty(struct weft_loop *l)
{
    l->closing = true;
    weft__scope_cancel(&l->background);
    while (l->live || l->owed || weft__loop_has_mail(l))
        (void)l->ops->turn(l, l->live || l->owed, NULL);
}

void weft__loop_done(struct weft_loop *l)
{
    if (l->own_workers)
        weft_workers_close(l->workers);
    weft__fibers_done(l);
    weft__scopes_done(l);
    weft__stacks_done(&l->stacks);
    weft__timers_done(&l->timers);
    (void)pthread_mutex_destroy(&l->lock);
}

void weft_loop_close(struct weft_loop *loop)
{
    if (!loop)
        return;
    struct weft_loop *outer = weft__loop(); /* of the fiber that closes another one */
    if (outer == loop)
        weft__die("a loop is closed by a fiber of its own");
    (void)weft__loop_enter(loop);
    (void)weft__loop_clock(loop);
    if (outer) /* its thread is here: nobody else may drive it */
        atomic_store_explicit(&outer->driven, true, memory_order_relaxed);
    weft__loop_empty(loop);
    (void)weft__loop_enter(outer);
    loop->ops->close(loop);
}

void weft_loop_closep(struct weft_loop **loop)
{
    weft_loop_close(*loop);
}

void weft__loop_on_suspend(struct weft_loop *l, void (*fn)(void *arg, struct weft_fiber *f), void *arg)
{
    l->on_suspend = fn;
    l->on_suspend_arg = arg;
}
