/* server/doors/conversation/join.c — finds the run of a request that was sent before, and joins it. */
#include "server/doors/conversation/join.h"

#include "base/clock.h"
#include "log/log.h"
#include "server/doors/conversation/conversation.h"
#include "server/http/server.h"

enum { RECENT_MS = 60000 }; /* a client that repeats itself does so at once, or after seconds */

bool sv_join_repeated(const struct sv_exchange *x)
{
    size_t n;
    uint64_t count = 0;
    struct upp_str text = sv_http_header(x->request, UPP_STR("x-stainless-retry-count"), &n);
    return n == 1 && wb_str_u64(text, &count) && count > 0;
}

int sv_join_key(struct sv_exchange *x, const struct wr_start *start, struct sv_joining *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_key used;
    *ret = (struct sv_joining){0};
    int r = start->key.n ? wl_get_key(s, &x->owner, start->route, start->key, &used, err) : -UPP_ENOTFOUND;
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    if (memcmp(used.body, start->body, sizeof used.body) != 0)
        return upp_fail(err, UPP_EREFUSED, "the idempotency key was used with another request");
    ret->started_ms = used.created_ms;
    r = wl_get_run(s, &x->owner, used.object, &x->arena, &ret->run, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

bool sv_join_recent(const struct wm_run *run)
{
    return !wm_status_ended(run->status) ||
           (run->status == WM_COMPLETED && wb_wall_ms() - run->ended_ms < (int64_t)RECENT_MS);
}

int sv_join_messages(struct sv_exchange *x, struct upp_str agent, const struct sv_chat_messages *m,
                     struct sv_joining *ret, struct upp_err *err)
{
    *ret = (struct sv_joining){.results = m->next < m->list.n && m->list.p[m->next].message.role == UPP_ROLE_TOOL};
    if (!m->list.n || (!ret->results && !sv_join_repeated(x)))
        return 0;
    int r = sv_chat_recall(x, agent, m, &ret->run, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    return sv_join_recent(&ret->run);
}

/* The waits before an event of the run. */
struct waits {
    struct wr_from last, before; /* the last one, and the one before it */
    bool now;                    /* the last event is one */
};

static void pass(struct waits *w, const struct wm_event *ev)
{
    w->now = ev->status == WM_WAITING;
    if (!w->now)
        return;
    w->before = w->last;
    w->last = (struct wr_from){ev->from->epoch, ev->number, 0};
}

int sv_join_from(struct sv_exchange *x, const struct sv_joining *j, struct sv_run_stream *ret, struct upp_err *err)
{
    struct wr_reader *reader = NULL;
    struct waits waits = {0};
    struct wm_event ev;
    ret->from = (struct wr_from){0};
    ret->segment = j->started_ms != 0;
    if (!j->results && j->started_ms <= j->run.created_ms)
        return 0; /* it is the request that began the run: nothing is read to find that */
    int r = wr_reader_open(x->core->engine, &x->owner, j->run.id, &ret->from, &reader, err);
    while (r >= 0 && (r = wr_reader_try(reader, true, &ev, NULL, NULL, err)) > 0) {
        if (ev.from->depth || ev.kind != WM_RUN)
            continue;
        if (j->started_ms && ev.time_ms > j->started_ms) /* after the record of the request's own commit */
            break;
        pass(&waits, &ev);
    }
    wr_reader_close(reader);
    ret->from = waits.now ? waits.before : waits.last;
    return r == -UPP_EBUSY ? 0 : r < 0 ? r : 0;
}

int sv_join_go(struct sv_exchange *x, const struct sv_joining *j, sv_handler *answer, struct upp_err *err)
{
    return sv_run_at_home(x, j->run.id, answer, err);
}

int sv_join_other(struct sv_exchange *x, const struct wr_start *start, struct wb_uuid run, struct sv_joining *j,
                  sv_handler *answer, struct upp_err *err)
{
    struct sv_joining keyed;
    int r = sv_join_key(x, start, &keyed, err);
    if (r < 0)
        return r;
    if (r > 0)
        *j = keyed;
    else
        j->run.id = run;
    return sv_join_go(x, j, answer, err);
}

int sv_join_failed(struct sv_exchange *x, int r, const struct wr_start *start, struct sv_joining *j, sv_handler *answer,
                   struct upp_err *err)
{
    if (r >= 0 || x->done || x->reply.sent || !sv_key_is_used(x, start))
        return r;
    return sv_join_other(x, start, WB_UUID_NIL, j, answer, err);
}
