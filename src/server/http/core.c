/* server/http/core.c — calls the handler of a request on the loop where its thread is at home, and wakes the streams
 * there. */
#include "server/http/core.h"

#include "base/hooks.h"
#include "base/log.h"
#include "run/engine.h"
#include "server/http/server.h"
#include "server/http/stream.h"

/* A request on its way to another loop: on the heap, because the other side may still use it when the caller has
 * stopped waiting. */
struct visit {
    struct sv_core *core;
    struct sv_exchange *x;
    sv_handler *handler;
    struct weft_cond dropped;
    bool gone; /* the other side has ended, or never began */
};

WEFT_SUSPENDS static int visits(void *arg, struct upp_err *err)
{
    struct visit *v = arg;
    v->x->core = v->core;
    return v->handler(v->x, err);
}

static void drop_visit(void *arg)
{
    struct visit *v = arg;
    v->gone = true;
    weft_cond_broadcast(&v->dropped);
}

WEFT_SUSPENDS int sv_core_run(struct sv_core *core, struct sv_exchange *x, sv_handler *handler, struct upp_err *err)
{
    if (core->loop == weft_loop_current()) {
        x->core = core;
        return handler(x, err);
    }
    struct sv_core *own = x->core;
    struct visit *v = wb_calloc(1, sizeof *v);
    int result = 0;
    if (!v)
        return upp_fail(err, UPP_ENOMEM, "no memory for a request");
    *v = (struct visit){.core = core, .x = x, .handler = handler};
    int r = weft_loop_call(core->loop, "request", visits, v, drop_visit, &result, err);
    while (r < 0 && !v->gone) { /* it was cancelled, and so is the other side, which still has the exchange */
        WEFT_SHIELD(WEFT_SHIELD_MAX_MS);
        if (weft_cond_wait(&v->dropped, NULL) < 0)
            continue; /* the shield is over: another one */
    }
    x->core = own;
    wb_free(v);
    return r < 0 ? r : result;
}

int sv_core_thread_id(const struct sv_server *server, struct wb_uuid *ret, struct upp_err *err)
{
    int r = wb_uuid_new(ret, err);
    if (r < 0)
        return r;
    const uint32_t n = server->n_cores, first = wr_home(*ret, n);
    uint32_t home = first;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t other = (first + i) % n;
        if (wr_engine_working(server->cores[other].engine) < wr_engine_working(server->cores[home].engine))
            home = other;
    }
    return home == first ? 0 : wr_engine_thread_id(server->cores[home].engine, ret, err);
}

static void wake_streams(struct sv_core *core)
{
    wb_list_each (l, &core->streams)
        sv_stream_wake(wb_item(l, struct sv_stream, link));
}

static void wake_here(void *arg)
{
    struct sv_core *core = arg;
    wake_streams(core);
    atomic_fetch_sub(&core->waking, 1); /* the last touch: the core may be freed now */
}

void sv_core_wake(struct sv_core *core)
{
    struct upp_err err;
    if (core->loop == weft_loop_current()) {
        wake_streams(core);
        return;
    }
    atomic_fetch_add(&core->waking, 1);
    if (weft_loop_post(core->loop, wake_here, core, &err) < 0) { /* they look again at their next event or ping */
        atomic_fetch_sub(&core->waking, 1);
        wb_log(WB_WARN, "streams of a busy loop are not told", WB_LERR(&err));
    }
}

WEFT_SUSPENDS void sv_core_settle(struct sv_core *core)
{
    while (atomic_load(&core->waking)) {
        WEFT_SHIELD(WEFT_SHIELD_MAX_MS);
        if (weft_sleep_ms(1, NULL) < 0)
            continue; /* no memory for a timer, or the shield is over */
    }
}
