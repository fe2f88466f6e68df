/* fiber/fiber.c — making, resuming, parking, waking, cancelling and joining fibers. */
#include "fiber/fiber.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/log.h"
#include "fiber/loop.h"

enum { SPARE = 1024 }; /* structs kept for the next fibers */

_Noreturn void weft__die(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)fputs("weft: ", stderr);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    abort();
}

/* ---- Life ------------------------------------------------------------------------------------------ */

/* The first and last thing on every fiber's stack. */
static void entry(void)
{
    struct weft_loop *l = weft__loop();
    struct weft_fiber *f = l->current;
    weft__context_arrived(&l->home);

    f->result = f->fn(f->arg, &f->err);
    f->state = WEFT__DONE;
    weft__context_leave(&f->ctx, &l->home); /* a fiber stays on its loop: l is still right */
}

static void on_timer(struct weft__timer *t)
{
    struct weft_fiber *f = WB_OUTER(t, struct weft_fiber, timer);
    weft__wake(f, f->on_timer);
}

/* A struct with everything in it that stays from one use to the next. */
static struct weft_fiber *new_struct(struct weft_loop *l, struct upp_err *err)
{
    struct weft_fiber *f = wb_calloc(1, sizeof *f);
    if (!f) {
        (void)upp_fail(err, UPP_ENOMEM, "no memory for a fiber");
        return NULL;
    }
    if (weft__timers_reserve(&l->timers, err) < 0) {
        wb_free(f);
        return NULL;
    }
    f->loop = l;
    f->timer.fire = on_timer;
    return f;
}

static void free_struct(struct weft_loop *l, struct weft_fiber *f)
{
    weft__timers_unreserve(&l->timers);
    wb_free(f);
}

static void keep_struct(struct weft_loop *l, struct weft_fiber *f)
{
    if (l->n_spare >= SPARE) {
        free_struct(l, f);
        return;
    }
    wb_list_push(&l->spare_fibers, &f->run);
    l->n_spare++;
}

static struct weft_fiber *take_struct(struct weft_loop *l, struct upp_err *err)
{
    if (wb_list_empty(&l->spare_fibers))
        return new_struct(l, err);
    struct wb_link *last = l->spare_fibers.prev; /* the one used last is the one in the cache */
    wb_unlink(last);
    l->n_spare--;
    return wb_item(last, struct weft_fiber, run);
}

void weft__fibers_done(struct weft_loop *l)
{
    wb_list_each (link, &l->spare_fibers) {
        wb_unlink(link);
        free_struct(l, wb_item(link, struct weft_fiber, run));
    }
    l->n_spare = 0;
}

int weft__fiber_new(struct weft_loop *l, struct weft__scope *scope, const char *name, weft_fn *fn, void *arg,
                    struct weft_fiber **ret, struct upp_err *err)
{
    if (l->live >= l->max_fibers)
        return wb_fail_full(err, "the loop has %zu fibers, its limit", l->live);
    struct weft_fiber *f = take_struct(l, err);
    if (!f)
        return -UPP_ENOMEM;
    f->stack = weft__stack_take(&l->stacks, err);
    if (!f->stack) {
        keep_struct(l, f);
        return -UPP_ENOMEM;
    }
    weft__context_make(&f->ctx, f->stack->low, f->stack->size, entry);

    f->state = WEFT__NEW;
    f->canceled = f->masked = false;
    f->pins = f->guards = 0;
    f->refs = 1;
    f->wake = 0;
    f->deadline = f->limit = WEFT__NEVER;
    f->name = name ? name : "unnamed";
    f->waits_for = "its first run";
    f->id = ++l->last_id;
    f->fn = fn;
    f->arg = arg;
    f->scope = scope;
    f->on_end = NULL;
    f->log = NULL;
    f->err.code = 0; /* upp_fail clears the rest; whoever fails without it gets the code's sentence */
    wb_list_push(&l->fibers, &f->all);
    wb_list_push(&l->ready, &f->run);
    l->live++;
    *ret = f;
    return 0;
}

/* Its stack is no longer in use (or was never): tells everybody who is interested. */
static void ended(struct weft_loop *l, struct weft_fiber *f)
{
    if (WB_UNLIKELY(f->pins || f->guards))
        weft__die("fiber '%s' ended with %u pins and %u guards open", f->name, f->pins, f->guards);
    f->state = WEFT__DONE;
    if (f->result < 0 && f->err.code != -f->result)
        (void)upp_fail(&f->err, (enum upp_code) - f->result, "%s", upp_code_text(f->result));
    weft__context_done(&f->ctx);
    weft__stack_release(&l->stacks, f->stack);
    f->stack = NULL;
    wb_unlink(&f->all);
    l->live--;
    while (weft__queue_wake(&f->joiners, 0))
        ;
    if (f->scope)
        weft__scope_child_ended(f->scope, f);
    if (f->on_end)
        f->on_end(f);
    weft_fiber_unref(f);
}

void weft_fiber_unref(struct weft_fiber *f)
{
    if (f && --f->refs == 0)
        keep_struct(f->loop, f);
}

void weft_fiber_unrefp(struct weft_fiber **f)
{
    weft_fiber_unref(*f);
}

void weft__fiber_resume(struct weft_loop *l, struct weft_fiber *f)
{
    if (WB_UNLIKELY(f->state > WEFT__READY || l->current))
        weft__die("fiber '%s' is resumed while it is not ready", f->name);
    f->state = WEFT__RUNNING;
    l->current = f;
    weft__loop_works_for(l, f);
    struct wb_log_ctx *loops_log = wb_log_ctx_swap(f->log); /* the log context belongs to the fiber */
    (void)weft__context_switch(&l->home, &f->ctx, f->wake);
    f->log = wb_log_ctx_swap(loops_log);
    l->current = NULL;
    weft__loop_rests(l);
    if (f->state == WEFT__DONE)
        ended(l, f);
}

void weft__fibers_run(struct weft_loop *l)
{
    struct wb_link now, *link;
    wb_list_init(&now);
    wb_list_splice(&now, &l->ready); /* who becomes ready from here on runs in the next turn */
    while ((link = wb_list_pop(&now)))
        weft__fiber_resume(l, wb_item(link, struct weft_fiber, run));
}

/* ---- Waiting ---------------------------------------------------------------------------------------- */

static inline struct weft_fiber *running(void)
{
    struct weft_loop *l = weft__loop();
    return l ? l->current : NULL;
}

struct weft_fiber *weft_fiber_self(void)
{
    return running();
}

struct weft_fiber *weft__caller(const char *function, struct upp_err *err)
{
    struct weft_fiber *f = running();
    if (WB_UNLIKELY(!f))
        (void)(upp_fail(err, UPP_EINVALID, "%s is called by fibers alone", function) < 0);
    return f;
}

struct weft_fiber *weft__self(const char *caller)
{
    struct weft_fiber *f = running();
    if (WB_UNLIKELY(!f))
        weft__die("%s is called outside of a fiber", caller);
    return f;
}

int weft__pending(const struct weft_fiber *f)
{
    if (weft__canceled(f))
        return -UPP_ECANCELED;
    return WB_UNLIKELY(f->deadline <= f->loop->now) ? -UPP_ETIMEOUT : 0;
}

static void no_pins(const struct weft_fiber *f, const char *waits_for)
{
    if (WB_UNLIKELY(f->pins))
        weft__die("fiber '%s' is pinned and would wait for %s", f->name, waits_for);
}

WEFT_SUSPENDS int weft__park(struct weft_fiber *f, const char *waits_for, uint64_t until, int on_timer_)
{
    struct weft_loop *l = f->loop;
    no_pins(f, waits_for);
    int r = weft__pending(f);
    if (r < 0) {
        weft__queue_remove(f);
        return r;
    }
    f->state = WEFT__WAITING;
    f->waits_for = waits_for;
    f->on_timer = on_timer_;
    if (f->deadline < until) {
        until = f->deadline;
        f->on_timer = -UPP_ETIMEOUT;
    }
    if (until != WEFT__NEVER)
        weft__timer_add(&l->timers, &f->timer, until);
    if (WB_UNLIKELY(l->on_suspend))
        l->on_suspend(l->on_suspend_arg, f);
    r = weft__context_switch(&f->ctx, &l->home, 0);
    /* Cancelled between the timeout and now: cancel wins. */
    return r == -UPP_ETIMEOUT && f->canceled && !f->masked ? -UPP_ECANCELED : r;
}

WEFT_SUSPENDS int weft_yield(struct upp_err *err)
{
    struct weft_fiber *f = weft__caller("weft_yield", err);
    if (WB_UNLIKELY(!f))
        return -UPP_EINVALID;
    struct weft_loop *l = f->loop;
    no_pins(f, "its turn");
    int r = weft__pending(f);
    if (WB_UNLIKELY(r < 0))
        return weft__cut_short(err, r, "its turn");
    f->state = WEFT__READY;
    f->wake = 0;
    wb_list_push(&l->ready, &f->run);
    if (WB_UNLIKELY(l->on_suspend))
        l->on_suspend(l->on_suspend_arg, f);
    return weft__context_switch(&f->ctx, &l->home, 0);
}

void weft__wake(struct weft_fiber *f, int result)
{
    if (f->state != WEFT__WAITING)
        return;
    struct weft_loop *l = f->loop;
    if (WB_UNLIKELY(l != weft__loop()))
        weft__die("fiber '%s' is woken from outside of its loop", f->name);
    f->state = WEFT__READY;
    f->wake = result;
    weft__queue_remove(f);
    weft__timer_remove(&l->timers, &f->timer);
    wb_list_push(&l->ready, &f->run);
}

int weft__cut_short(struct upp_err *err, int r, const char *waits_for)
{
    return upp_fail(err, (enum upp_code) - r, "%s while waiting for %s", upp_code_text(r), waits_for);
}

/* ---- Cancel and join --------------------------------------------------------------------------------- */

void weft_fiber_cancel(struct weft_fiber *f)
{
    if (f->state == WEFT__DONE || f->canceled)
        return;
    if (WB_UNLIKELY(f->loop != weft__loop()))
        weft__die("fiber '%s' is cancelled from outside of its loop", f->name);
    f->canceled = true;
    if (f->state == WEFT__NEW) {
        wb_unlink(&f->run);
        f->result = upp_fail(&f->err, UPP_ECANCELED, "cancelled before it ran");
        ended(f->loop, f);
    } else if (!f->masked)
        weft__wake(f, -UPP_ECANCELED);
}

bool weft_fiber_canceled(void)
{
    const struct weft_fiber *f = running();
    return f && weft__canceled(f);
}

uint64_t weft_fiber_id(const struct weft_fiber *f)
{
    return f->id;
}

const char *weft_fiber_name(const struct weft_fiber *f)
{
    return f->name;
}

bool weft_fiber_ended(const struct weft_fiber *f)
{
    return f->state == WEFT__DONE;
}

WEFT_SUSPENDS int weft_fiber_join(struct weft_fiber *f, struct upp_err *err)
{
    static const char what[] = "the end of a fiber";
    struct weft_fiber *self = weft__caller("weft_fiber_join", err);
    if (!self)
        return -UPP_EINVALID;
    if (self == f || self->loop != f->loop)
        return upp_fail(err, UPP_EINVALID, "fiber '%s' is joined by %s", f->name,
                        self == f ? "itself" : "a fiber of another loop");
    int r = weft__pending(self);
    if (r == 0 && f->state != WEFT__DONE) {
        weft__queue_push(&f->joiners, self);
        r = weft__park(self, what, WEFT__NEVER, 0);
    }
    if (r < 0)
        return weft__cut_short(err, r, what);
    if (f->result < 0 && err)
        *err = f->err;
    return f->result;
}

/* ---- Queues ------------------------------------------------------------------------------------------ */

void weft__queue_push(struct weft_cond *q, struct weft_fiber *f)
{
    f->queue = q;
    f->queue_prev = q->last;
    f->queue_next = NULL;
    if (q->last)
        q->last->queue_next = f;
    else
        q->first = f;
    q->last = f;
}

void weft__queue_remove(struct weft_fiber *f)
{
    struct weft_cond *q = f->queue;
    if (!q)
        return;
    if (f->queue_prev)
        f->queue_prev->queue_next = f->queue_next;
    else
        q->first = f->queue_next;
    if (f->queue_next)
        f->queue_next->queue_prev = f->queue_prev;
    else
        q->last = f->queue_prev;
    f->queue = NULL;
}

struct weft_fiber *weft__queue_wake(struct weft_cond *q, int result)
{
    struct weft_fiber *f = q->first;
    if (f)
        weft__wake(f, result);
    return f;
}
