/* fiber/call.c — running a function on another loop and waiting for it.
 *
 * A call is a heap object that travels: `start` to the other loop, `done` home again. One reference is for that round
 * trip, one more for a `stop` under way. Fields are written by the side that has the object; `callee` is the other
 * side's, `caller` is home's.
 */
#include <stdlib.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "fiber/loop.h"

struct call {
    struct weft__msg start, stop, done;
    _Atomic unsigned refs;
    struct weft_loop *home, *to; /* home NULL: a thread without a loop waits, below */
    struct weft_fiber *caller, *callee;
    const char *name;
    weft_fn *fn;
    void *arg;
    void (*drop)(void *arg);
    bool ran, back; /* back: `done` has been taken */
    int result;
    struct upp_err err;

    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over;
};

static void unref(struct call *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (!c->home) {
        (void)pthread_cond_destroy(&c->over);
        (void)pthread_mutex_destroy(&c->lock);
    }
    wb_free(c);
}

static void drop(struct call *c)
{
    if (c->drop)
        c->drop(c->arg);
}

static void send_home(struct call *c, int result, const struct upp_err *err)
{
    c->result = result;
    if (result < 0)
        c->err = *err;
    c->callee = NULL;
    if (c->home) {
        weft__loop_send(c->home, &c->done);
        return;
    }
    if (pthread_mutex_lock(&c->lock))
        abort();
    c->is_over = true;
    (void)pthread_cond_signal(&c->over);
    if (pthread_mutex_unlock(&c->lock))
        abort();
    unref(c);
}

WEFT_SUSPENDS static int callee(void *arg, struct upp_err *err)
{
    struct call *c = arg;
    c->ran = true;
    return c->fn(c->arg, err);
}

static void callee_ended(struct weft_fiber *f)
{
    send_home(f->arg, f->result, &f->err);
}

static void take_start(struct weft__msg *m)
{
    struct call *c = WB_OUTER(m, struct call, start);
    struct upp_err err;
    weft__loop_request_taken(c->to);
    int r = weft__loop_spawn(c->to, c->name, callee, c, &c->callee, &err);
    if (r < 0) {
        send_home(c, r, &err);
        return;
    }
    c->callee->on_end = callee_ended;
}

static void take_stop(struct weft__msg *m)
{
    struct call *c = WB_OUTER(m, struct call, stop);
    if (c->callee)
        weft_fiber_cancel(c->callee);
    unref(c);
}

static void take_done(struct weft__msg *m)
{
    struct call *c = WB_OUTER(m, struct call, done);
    c->home->owed--;
    c->back = true;
    if (c->caller) {
        weft__wake(c->caller, 0); /* or it was cancelled a moment ago, and finds it back */
        return;
    }
    drop(c);
    unref(c);
}

/* After its end, on the caller's side. */
static int outcome(struct call *c, int *ret, struct upp_err *err)
{
    int r = 0;
    if (c->result < 0 && err)
        *err = c->err;
    if (!c->ran) {
        r = c->result;
        drop(c);
    } else if (ret)
        *ret = c->result;
    unref(c);
    return r;
}

/* From a thread that drives no loop. */
static int call_blocking(struct call *c, int *ret, struct upp_err *err)
{
    c->refs = 2; /* the other side gives up its own when it is over */
    if (pthread_mutex_init(&c->lock, NULL) || pthread_cond_init(&c->over, NULL))
        abort(); /* neither allocates on the systems we know */
    int r = weft__loop_request(c->to, &c->start, err);
    if (r < 0) {
        drop(c);
        unref(c);
        unref(c);
        return r;
    }
    if (pthread_mutex_lock(&c->lock))
        abort();
    while (!c->is_over)
        (void)pthread_cond_wait(&c->over, &c->lock);
    if (pthread_mutex_unlock(&c->lock))
        abort();
    return outcome(c, ret, err);
}

WEFT_SUSPENDS static int call_suspending(struct call *c, int *ret, struct upp_err *err)
{
    static const char what[] = "another loop";
    struct weft_fiber *f = weft__self("weft_loop_call");
    c->home = f->loop;
    c->caller = f;
    int r = weft__pending(f);
    if (r < 0)
        r = weft__cut_short(err, r, what);
    else
        r = weft__loop_request(c->to, &c->start, err);
    if (r < 0) {
        drop(c);
        unref(c);
        return r;
    }
    c->home->owed++;
    r = weft__park(f, what, WEFT__NEVER, 0);
    if (r < 0) {
        if (c->back) {
            drop(c);
            unref(c);
        } else {
            c->caller = NULL;
            (void)atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
            weft__loop_send(c->to, &c->stop);
        }
        return weft__cut_short(err, r, what);
    }
    return outcome(c, ret, err);
}

WEFT_SUSPENDS int weft_loop_call(struct weft_loop *to, const char *name, weft_fn *fn, void *arg,
                                 void (*drop_)(void *arg), int *ret, struct upp_err *err)
{
    struct call *c = wb_alloc(sizeof *c);
    if (!c) {
        if (drop_)
            drop_(arg);
        return upp_fail(err, UPP_ENOMEM, "no memory for a call");
    }
    *c = (struct call){.start.take = take_start,
                       .stop.take = take_stop,
                       .done.take = take_done,
                       .refs = 1,
                       .to = to,
                       .name = name,
                       .fn = fn,
                       .arg = arg,
                       .drop = drop_};
    return weft__loop() ? call_suspending(c, ret, err) : call_blocking(c, ret, err);
}
