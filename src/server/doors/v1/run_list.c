/* server/doors/v1/run_list.c — GET /v1/threads/{t}/runs: the runs of a thread, in the order of their creation. */
#include "base/defs.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/v1/objects.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

enum { HANDFUL = 8, RUN_BYTES = 80 << 20 /* a run may have megabytes of options */ };

struct page {
    uint64_t limit;
    bool ascending;
    bool up;                   /* it is read oldest first */
    bool backwards;            /* it is read from `before` on: written the other way round */
    struct wb_uuid start, end; /* read after `start` and, if both parameters are there, until `end` */
    struct wb_uuid *runs;      /* limit + 1 at most */
    size_t n;
};

/* The run of this thread that a parameter names. 1; 0: the parameter is absent. */
WEFT_SUSPENDS static int read_cursor(struct sv_exchange *x, const struct wl_thread *t, struct upp_str name,
                                     struct wb_uuid *ret, struct upp_err *err)
{
    struct upp_str text;
    struct wm_run run;
    int r = sv_query(x, name, &text, err);
    if (r <= 0)
        return r;
    if (wl_id_parse(text, UPP_STR("run_"), ret)) {
        r = wl_get_run(x->server->opts.store, &x->owner, *ret, &x->arena, &run, err);
        if (r >= 0 && wb_uuid_eq(run.thread, t->id))
            return 1;
        if (r < 0 && r != -UPP_ENOTFOUND)
            return r;
    }
    return upp_fail(err, UPP_EINVALID, "'%.*s' names no run of this thread: '%.*s'", UPP_FMT(name), UPP_FMT(text));
}

WEFT_SUSPENDS static int read_page(struct sv_exchange *x, const struct wl_thread *t, struct page *ret,
                                   struct upp_err *err)
{
    struct wb_uuid after = {{0}}, before = {{0}};
    *ret = (struct page){0};
    int r = sv_read_limit(x, &ret->limit, &ret->ascending, err);
    if (r < 0)
        return r;
    int has_after = read_cursor(x, t, UPP_STR("after"), &after, err);
    int has_before = has_after < 0 ? 0 : read_cursor(x, t, UPP_STR("before"), &before, err);
    if (has_after < 0 || has_before < 0)
        return has_after < 0 ? has_after : has_before;
    ret->backwards = has_before > 0 && has_after == 0; /* those nearest to the cursor */
    ret->up = ret->ascending != ret->backwards;
    ret->start = ret->backwards ? before : after;
    ret->end = ret->backwards ? after : before;
    return 0;
}

/* Reads only their ids: they are written one by one. */
WEFT_SUSPENDS static int fill(struct sv_exchange *x, const struct wl_thread *t, struct page *p, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    enum wl_what what = p->up ? WL_LIST_RUNS_UP : WL_LIST_RUNS;
    p->runs = wb_new_n(&x->arena, struct wb_uuid, p->limit + 1);
    int r = wb_arena_check(&x->arena, err);
    for (size_t n = HANDFUL; r >= 0 && n == HANDFUL && p->n <= p->limit;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(HANDFUL * (size_t)RUN_BYTES);
        struct wm_run *runs;
        r = wl_list_runs_after(s, what, &x->owner, t->id, p->start, HANDFUL, &a, &runs, &n, err);
        for (size_t i = 0; r >= 0 && i < n && p->n <= p->limit; i++) {
            if (wb_uuid_eq(runs[i].id, p->end))
                return 0;
            p->start = p->runs[p->n++] = runs[i].id;
        }
    }
    return r;
}

WEFT_SUSPENDS static int write_one(struct sv_exchange *x, struct wj_writer *w, struct wb_uuid run, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(RUN_BYTES);
    struct wr_run_info look;
    int r = wr_get(x->core->engine, &x->owner, run, &a, &look, err);
    return r < 0 ? r : sv_write_run(w, &a, &look, err);
}

WEFT_SUSPENDS int sv_list_runs(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct page p;
    struct wj_writer w;
    int r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = read_page(x, &t, &p, err);
    if (r >= 0)
        r = fill(x, &t, &p, err);
    if (r < 0)
        return r;
    size_t n = WB_MIN(p.n, (size_t)p.limit);
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = write_one(x, &w, p.runs[p.backwards ? n - 1 - i : i], err);
    if (r < 0)
        return r;
    struct wb_uuid first = n ? p.runs[p.backwards ? n - 1 : 0] : WB_UUID_NIL;
    struct wb_uuid last = n ? p.runs[p.backwards ? 0 : n - 1] : WB_UUID_NIL;
    sv_list_end(&w, "run_", first, last, p.n > p.limit);
    return sv_finish(x, &w);
}
