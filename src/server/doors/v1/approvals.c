/* server/doors/v1/approvals.c — GET /v1/approvals, an extension: the calls of the owner's runs that wait for an answer
 * from outside, over all threads.
 *
 * The run that was created first comes first, its calls in their own order. An item's id is that of its run and its
 * call together, because the ids of calls are the model's: only a run tells two of them apart.
 */
#include <stdio.h>

#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

#define PREFIX "appr_"
enum {
    RUNS = 16,           /* that are read at a time */
    RUNS_MAX = 1024,     /* that one list reads */
    RUN_BYTES = 80 << 20 /* of one run and its calls */
};

struct list {
    struct sv_exchange *x;
    struct wj_writer w;
    uint64_t limit, n;
    bool more;
    bool tools, approvals;     /* which kinds are listed */
    struct wb_uuid run;        /* only the calls of this run; all zero: of all */
    struct wb_uuid after;      /* the run of the last item of the page before; all zero: none */
    struct upp_str after_call; /* its call; empty: the run's last one */
    struct wb_buf first, last; /* ids */
};

static int read_kind(struct list *l, struct upp_err *err)
{
    struct upp_str kind = UPP_STR("approval");
    int r = sv_query(l->x, UPP_STR("kind"), &kind, err);
    bool any = wb_str_eq(kind, UPP_STR("any"));
    l->tools = any || wb_str_eq(kind, UPP_STR("tool"));
    l->approvals = any || wb_str_eq(kind, UPP_STR("approval"));
    if (r >= 0 && !l->tools && !l->approvals)
        return upp_fail(err, UPP_EINVALID, "kind is approval, tool or any");
    return r;
}

/* "appr_RUN_CALL", or a run's id. */
static bool parse_after(struct upp_str text, struct list *l)
{
    if (!wb_str_starts(text, UPP_STR(PREFIX)))
        return wl_id_parse(text, UPP_STR("run_"), &l->after);
    struct upp_str rest = wb_str_sub(text, sizeof PREFIX - 1, SIZE_MAX);
    if (rest.n < WB_UUID_HEX + 1 || rest.p[WB_UUID_HEX] != '_')
        return false;
    l->after_call = wb_str_sub(rest, WB_UUID_HEX + 1, SIZE_MAX);
    return wl_id_parse(wb_str_sub(rest, 0, WB_UUID_HEX), UPP_STR("run_"), &l->after);
}

static int read_list(struct list *l, struct upp_err *err)
{
    struct upp_str text;
    int r = sv_read_limit(l->x, &l->limit, NULL, err);
    if (r >= 0)
        r = read_kind(l, err);
    if (r >= 0)
        r = sv_query(l->x, UPP_STR("order"), &text, err);
    if (r > 0 && !wb_str_eq(text, UPP_STR("asc")))
        return upp_fail(err, UPP_EINVALID, "what waits is listed with order asc alone: the oldest first");
    if (r >= 0)
        r = sv_query(l->x, UPP_STR("run"), &text, err);
    if (r > 0)
        r = sv_run_id(text, &l->run, err);
    if (r >= 0)
        r = sv_query(l->x, UPP_STR("after"), &text, err);
    if (r > 0 && !parse_after(text, l))
        return upp_fail(err, UPP_EINVALID, "'after' names nothing that waits: '%.*s'", UPP_FMT(text));
    return r < 0 ? r : 0;
}

/* The agent that made the call: the run's, or that of a child. */
WEFT_SUSPENDS static int agent_of(struct list *l, const struct wr_run_info *look, const struct wm_pending *p,
                                  struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct wm_run child;
    *ret = look->run.agent;
    if (wb_uuid_eq(p->run, look->run.id))
        return 0;
    int r = wl_get_run(l->x->server->opts.store, &l->x->owner, p->run, a, &child, err);
    if (r >= 0)
        *ret = child.agent;
    return r;
}

/* What the tool does, for the person who decides. */
static struct upp_str describe(struct list *l, struct upp_str agent, struct upp_str tool)
{
    const struct wr_agent_def *def = wr_agent(l->x->core->engine, agent);
    for (size_t i = 0; def && i < def->n_tools; i++)
        if (wb_str_eq(def->tools[i].spec.name, tool))
            return def->tools[i].spec.description;
    return (struct upp_str){NULL, 0};
}

static void write_item(struct list *l, const struct wr_run_info *look, const struct wm_pending *p, struct upp_str agent)
{
    struct wj_writer *w = &l->w;
    struct upp_str description = describe(l, agent, p->name);
    char hex[WB_UUID_HEX + 1], event[48];
    (void)wb_uuid_hex(look->run.id, hex);
    wb_buf_clear(&l->last);
    wb_buf_addf(&l->last, PREFIX "%s_%.*s", hex, UPP_FMT(p->call));
    if (!l->first.n)
        wb_buf_add(&l->first, wb_buf_str(&l->last));
    wj_write_open(w, '{');
    wj_put_str(w, "id", wb_buf_str(&l->last));
    wj_put_str(w, "object", UPP_STR("approval"));
    wj_put_str(w, "kind", wb_cstr(asst_pending_kind(p)));
    asst_put_id(w, "run_id", "run_", look->run.id);
    asst_put_id(w, "thread_id", "thread_", look->run.thread);
    wj_put_str_or_empty(w, "assistant_id", agent);
    wj_put_str_or_empty(w, "call_id", p->call);
    wj_put_open(w, "function", '{');
    asst_function_members(w, p->name, p->arguments);
    wj_write_close(w, '}');
    wj_put_str(w, "description", description.n ? description : (struct upp_str){NULL, 0});
    asst_put_seconds(w, "created_at", p->since_ms);
    asst_put_seconds(w, "expires_at", look->run.expires_ms);
    (void)snprintf(event, sizeof event, "%u-%llu", look->epoch, (unsigned long long)look->last);
    if (look->last)
        wj_put_str(w, "last_event_id", wb_cstr(event));
    else
        wj_put_null(w, "last_event_id");
    wj_write_close(w, '}');
}

/* How many of a run's calls were on the pages before. Of a call that was answered since, nobody knows which ones came
 * after it: all that still wait are listed, which is better than to leave one out. */
static size_t passed(const struct list *l, const struct wr_run_info *look)
{
    if (!wb_uuid_eq(look->run.id, l->after))
        return 0;
    for (size_t i = 0; i < look->n_pending; i++)
        if (wb_str_eq(look->pending[i].call, l->after_call))
            return i + 1;
    return l->after_call.n ? 0 : look->n_pending;
}

WEFT_SUSPENDS static int write_run(struct list *l, struct wb_uuid run, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(RUN_BYTES);
    struct wr_run_info look;
    struct upp_str agent;
    int r = wr_get(l->x->core->engine, &l->x->owner, run, &a, &look, err);
    if (r == -UPP_ENOTFOUND)
        return 0; /* deleted meanwhile */
    for (size_t i = r < 0 ? SIZE_MAX : passed(l, &look); r >= 0 && i < look.n_pending && !l->more; i++) {
        const struct wm_pending *p = &look.pending[i];
        if (!(p->approval ? l->approvals : l->tools))
            continue;
        l->more = l->n == l->limit;
        if (l->more)
            break;
        r = agent_of(l, &look, p, &a, &agent, err);
        if (r >= 0)
            write_item(l, &look, p, agent);
        l->n++;
    }
    return r;
}

/* The calls of a run that the request names, by any run of its tree. -UPP_ENOTFOUND also if it is another user's. */
WEFT_SUSPENDS static int write_named(struct list *l, struct wb_uuid id, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(RUN_BYTES);
    struct wl_store *s = l->x->server->opts.store;
    struct wm_run run;
    struct wl_thread t;
    int r = wl_get_run(s, &l->x->owner, id, &a, &run, err);
    if (r >= 0 && !wb_uuid_eq(run.root, id))
        r = wl_get_run(s, &l->x->owner, run.root, &a, &run, err);
    if (r >= 0)
        r = wl_get_thread(s, &l->x->owner, run.thread, &a, &t, err);
    if (r >= 0 && !wb_str_eq(t.owner.user, l->x->owner.user))
        r = upp_fail(err, UPP_ENOTFOUND, "no such run");
    return r < 0 ? r : write_run(l, run.id, err);
}

/* The list has read enough: its client continues after this run. */
static int stop_after(struct list *l, struct wb_uuid run, struct upp_err *err)
{
    char hex[WB_UUID_HEX + 1];
    (void)wb_uuid_hex(run, hex);
    wb_buf_clear(&l->last);
    wb_buf_addf(&l->last, "run_%s", hex);
    l->more = true;
    return wb_buf_check(&l->last, err);
}

WEFT_SUSPENDS static int write_all(struct list *l, struct upp_err *err)
{
    struct wl_store *s = l->x->server->opts.store;
    struct wb_uuid at = l->after;
    int r = wb_uuid_is_nil(at) ? 0 : write_named(l, at, err);
    if (r == -UPP_ENOTFOUND)
        return upp_fail(err, UPP_EINVALID, "'after' names no run of yours");
    for (size_t n = RUNS, read = 0; r >= 0 && n == RUNS && !l->more; read += n) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(RUN_BYTES);
        struct wm_run *runs;
        if (read >= RUNS_MAX)
            return stop_after(l, at, err);
        r = wl_list_runs_after(s, WL_LIST_WAITING, &l->x->owner, WB_UUID_NIL, at, RUNS, &a, &runs, &n, err);
        for (size_t i = 0; r >= 0 && i < n && !l->more; i++) {
            at = runs[i].id;
            r = write_run(l, at, err);
        }
    }
    return r;
}

static void list_done(struct list *l)
{
    wb_buf_done(&l->first);
    wb_buf_done(&l->last);
}

WEFT_SUSPENDS int sv_list_approvals(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(list_done) struct list l = {.x = x, .first = WB_BUF(1u << 20), .last = WB_BUF(1u << 20)};
    int r = read_list(&l, err);
    if (r < 0)
        return r;
    wj_writer_init(&l.w, &x->reply.body, err);
    sv_list_begin(&l.w);
    r = wb_uuid_is_nil(l.run) ? write_all(&l, err) : write_named(&l, l.run, err);
    if (r >= 0)
        r = wb_buf_check(&l.first, err);
    if (r >= 0)
        r = wb_buf_check(&l.last, err);
    if (r < 0)
        return r;
    sv_list_end_text(&l.w, wb_buf_str(&l.first), wb_buf_str(&l.last), l.more);
    return sv_finish(x, &l.w);
}
