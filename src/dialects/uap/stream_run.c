/* dialects/uap/stream_run.c — the state of each run in UAP's stream: its calls, and the call that started it. */
#include <inttypes.h>

#include "base/err.h"
#include "base/hooks.h"
#include "dialects/uap/stream.h"

enum {
    CALLS_MAX = 4096,    /* of one message */
    RUNS_MAX = 256,      /* child runs with output at the same time */
    PHASE_MAX = 1 << 16, /* name of a phase */

    CALLERS_MAX = 1 << 16, /* open calls of agents without output, on all levels; each level has up to CALLS_MAX */
};

void uap_run_init(struct uap_run *v, struct wb_uuid run)
{
    *v = (struct uap_run){
        .run = run, .aside = WB_BUF(PHASE_MAX), .plan_step = WB_BUF(PHASE_MAX), .ids = WB_ARENA(16 << 20)};
    wd_open_init(&v->open);
}

void uap_run_done(struct uap_run *v)
{
    wd_open_done(&v->open);
    wb_buf_done(&v->aside);
    wb_buf_done(&v->plan_step);
    wb_vec_done(&v->calls);
    wb_arena_done(&v->ids);
}

int uap_caller_begin(struct uap *u, const struct wm_event *ev, struct upp_err *err)
{
    struct uap_caller c = {ev->tool_started.child, ev->from->agent_id, ev->from->run, wb_str_hash(ev->call.id)};
    if (wb_vec_push(&u->callers, c, CALLERS_MAX))
        return 0;
    return u->callers.n >= CALLERS_MAX ? upp_fail(err, UPP_ELIMIT, "more than %d calls of agents are open", CALLERS_MAX)
                                       : upp_fail(err, UPP_ENOMEM, "out of memory");
}

void uap_caller_end(struct uap *u, const struct wm_event *ev)
{
    uint64_t call = u->callers.n ? wb_str_hash(ev->call.id) : 0;
    for (size_t i = 0; i < u->callers.n; i++)
        if (u->callers.p[i].call == call && wb_uuid_eq(u->callers.p[i].run, ev->from->run)) {
            u->callers.p[i] = u->callers.p[--u->callers.n];
            return;
        }
}

/* Called at the child's first event. */
static struct uap_caller take_caller(struct uap *u, struct wb_uuid child)
{
    for (size_t i = 0; i < u->callers.n; i++)
        if (wb_uuid_eq(u->callers.p[i].child, child)) {
            struct uap_caller found = u->callers.p[i];
            u->callers.p[i] = u->callers.p[--u->callers.n];
            return found;
        }
    return (struct uap_caller){0};
}

int uap_run_of_child(struct uap *u, const struct wm_event *ev, struct uap_run **ret, struct upp_err *err)
{
    for (size_t i = 0; i < u->others.n; i++)
        if (wb_uuid_eq(u->others.p[i]->run, ev->from->run)) {
            *ret = u->others.p[i];
            return 0;
        }
    if (u->others.n == RUNS_MAX)
        return upp_fail(err, UPP_ELIMIT, "event %" PRIu64 ": more than %d child runs speak at once", ev->number,
                        RUNS_MAX);
    struct uap_run *v = wb_alloc(sizeof *v);
    if (!v || !wb_vec_push(&u->others, v, RUNS_MAX)) {
        wb_free(v);
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    }
    uap_run_init(v, ev->from->run);
    v->caller = take_caller(u, v->run);
    *ret = v;
    return 0;
}

void uap_run_drop(struct uap *u, struct uap_run *v)
{
    for (size_t i = 0; i < u->others.n; i++)
        if (u->others.p[i] == v) {
            uap_run_done(v);
            wb_free(v);
            u->others.p[i] = u->others.p[--u->others.n];
            return;
        }
}

int uap_remember_call(struct uap_run *v, struct upp_str id, struct upp_err *err)
{
    struct upp_str copy = wb_arena_dup(&v->ids, id.p ? id : UPP_STR(""));
    if (!copy.p)
        return wb_arena_check(&v->ids, err);
    if (wb_vec_push(&v->calls, copy, CALLS_MAX))
        return 0;
    return v->calls.n >= CALLS_MAX ? upp_fail(err, UPP_ELIMIT, "a message has at most %d calls", CALLS_MAX)
                                   : upp_fail(err, UPP_ENOMEM, "out of memory");
}

size_t uap_call_index(const struct uap_run *v, struct upp_str id)
{
    for (size_t i = 0; i < v->calls.n; i++)
        if (wb_str_eq(v->calls.p[i], id))
            return i;
    return 0;
}
