/* server/threads_v1.c — GET /v1/threads, an extension: the owner's threads, those that changed last first.
 *
 * The envelope and `limit` and `after` are those of every list; there is one order, because the store has one.
 */
#include "base/defs.h"
#include "server/objects.h"
#include "server/routes_v1.h"
#include "server/server.h"

enum { LIMIT = 20, LIMIT_MAX = 100 };

struct list {
    uint64_t          limit;
    struct wb_uuid    after;
    struct wl_thread *found; /* limit + 1 of them */
    size_t            n;
};

static int read_list(struct sv_exchange *x, struct list *ret, struct upp_err *err)
{
    static const struct wb_uuid none;
    struct upp_str              text;
    *ret  = (struct list){.limit = LIMIT};
    int r = sv_query(x, UPP_STR("limit"), &text, err);
    if (r > 0 && (!wb_str_u64(text, &ret->limit) || ret->limit < 1 || ret->limit > LIMIT_MAX))
        return upp_fail(err, UPP_EINVALID, "limit is 1 to %d", LIMIT_MAX);
    if (r >= 0)
        r = sv_query(x, UPP_STR("order"), &text, err);
    if (r > 0 && !wb_str_eq(text, UPP_STR("desc")))
        return upp_fail(err, UPP_EINVALID, "threads are listed with order desc alone");
    if (r >= 0)
        r = sv_query(x, UPP_STR("before"), &text, err);
    if (r > 0)
        return upp_fail(err, UPP_EINVALID, "threads are listed from the newest on: there is after, and no before");
    if (r >= 0)
        r = sv_query(x, UPP_STR("after"), &text, err);
    if (r > 0 && (!wl_id_parse(text, UPP_STR("thread_"), &ret->after) || wb_uuid_eq(ret->after, none)))
        return upp_fail(err, UPP_EINVALID, "'after' names no thread: '%.*s'", UPP_FMT(text));
    return r < 0 ? r : 0;
}

/* Threads of child runs are not listed: more is read until there are enough of the others. */
WEFT_SUSPENDS static int fill(struct sv_exchange *x, struct list *l, struct upp_err *err)
{
    struct wl_store *s     = x->server->opts.store;
    struct wb_uuid   after = l->after;
    l->found               = wb_new_n(&x->arena, struct wl_thread, l->limit + 1);
    if (!l->found)
        return wb_arena_check(&x->arena, err);
    for (size_t got = LIMIT_MAX; got == LIMIT_MAX && l->n <= l->limit;) {
        struct wl_thread *t;
        int               r = s->ops->threads(s, &x->owner, after, LIMIT_MAX, &x->arena, &t, &got, err);
        if (r < 0)
            return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_EINVALID, "'after' names no thread of yours") : r;
        for (size_t i = 0; i < got && l->n <= l->limit; i++)
            if (t[i].kind == WL_MAIN)
                l->found[l->n++] = t[i];
        if (got)
            after = t[got - 1].id;
    }
    return 0;
}

WEFT_SUSPENDS int sv_list_threads(struct sv_exchange *x, struct upp_err *err)
{
    static const struct wb_uuid none;
    struct list                 l;
    struct wj_writer            w;
    int                         r = read_list(x, &l, err);
    if (r >= 0)
        r = fill(x, &l, err);
    if (r < 0)
        return r;
    size_t n = WB_MIN(l.n, (size_t)l.limit);
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("object"));
    wj_write_str(&w, UPP_STR("list"));
    wj_write_name(&w, UPP_STR("data"));
    wj_write_open(&w, '[');
    for (size_t i = 0; i < n; i++)
        sv_write_thread(&w, &l.found[i]);
    wj_write_close(&w, ']');
    wj_write_name(&w, UPP_STR("first_id"));
    sv_write_id(&w, "thread_", n ? l.found[0].id : none);
    wj_write_name(&w, UPP_STR("last_id"));
    sv_write_id(&w, "thread_", n ? l.found[n - 1].id : none);
    wj_write_name(&w, UPP_STR("has_more"));
    wj_write_bool(&w, l.n > l.limit);
    wj_write_close(&w, '}');
    x->reply.status = 200;
    return wj_writer_check(&w);
}
