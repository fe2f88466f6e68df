/* run/trace.c — the call tree of a run, from the rows of the log: callers, inputs, times and usage.
 *
 * The row of an ended run has its total usage, with all runs below it. Its own usage is that minus the totals of its
 * children, so the parts add up to the whole. For a run that has not ended, the usage of its messages is added up.
 */
#include "json/write.h"
#include "model/upp_json.h"
#include "run/engine_state.h"
#include "run/turn.h"

enum { CALLS = 4096, INPUT_BYTES = 1 << 20 }; /* runs of one trace; bytes of one run's input */

struct traced {
    struct wm_run    run;
    struct upp_str   agent_id, input;
    struct upp_usage own, total;
    bool             adopted;       /* a branch that its run has adopted */
    struct traced   *parent, *next; /* next: of the same parent */
    struct traced   *first, *last;  /* children, in the order of their calls */
};

struct tracing {
    struct wr_engine      *engine;
    const struct wl_owner *owner;
    struct wb_arena        memory;
    size_t                 n;
};

static WEFT_SUSPENDS int trace_run(struct tracing *t, struct wb_uuid id, struct traced *parent, struct traced **ret,
                                   struct upp_err *err);

static WEFT_SUSPENDS int trace_child(struct tracing *t, struct traced *of, struct wb_uuid id, struct upp_err *err)
{
    struct traced *child;
    int            r = trace_run(t, id, of, &child, err);
    if (r == -UPP_ENOTFOUND)
        return 0; /* announced, but not created yet */
    if (r < 0)
        return r;
    if (of->last)
        of->last->next = child;
    else
        of->first = child;
    of->last = child;
    return 0;
}

static void note_adopted(struct traced *of, struct upp_str call)
{
    for (struct traced *c = of->first; c; c = c->next)
        c->adopted |= wb_str_eq(c->run.call, call);
}

static WEFT_SUSPENDS int trace_row(struct tracing *t, struct traced *of, const struct wl_row *stored,
                                   struct upp_err *err)
{
    struct wm_row row;
    int           r = wm_row_read(&t->memory, stored->format, stored->body, stored->tape, &row, err);
    for (size_t i = 0; r >= 0 && i < row.n_entries; i++)
        if (!of->input.p && row.entries[i].message.role == UPP_ROLE_USER && row.entries[i].kind == WM_ENTRY_MESSAGE &&
            row.entries[i].audience == WM_AUDIENCE_ALL)
            of->input = wb_str_sub(wm_message_text(&t->memory, &row.entries[i].message), 0, INPUT_BYTES);
    for (size_t i = 0; r >= 0 && i < row.n_records; i++) {
        const struct wm_event *ev = &row.records[i];
        if (ev->kind == WM_MESSAGE)
            wm_usage_add(&of->own, &ev->usage);
        if (ev->kind == WM_TOOL_STARTED && ev->child_node)
            r = trace_child(t, of, ev->child, err);
        if (ev->kind == WM_TOOL_ENDED && wm_is_branch(ev)) {
            wm_usage_add(&of->own, &ev->usage);
            note_adopted(of, ev->call);
        }
    }
    return r < 0 ? r : wb_arena_check(&t->memory, err);
}

static WEFT_SUSPENDS int trace_rows(struct tracing *t, struct traced *of, struct upp_err *err)
{
    struct wl_store *s = t->engine->store;
    for (uint64_t from = of->run.first;;) {
        struct wl_range range = {.node = of->run.node, .from = from, .to = UINT64_MAX >> 1};
        struct wl_rows  rows;
        int             r = s->ops->rows(s, t->owner, &range, &t->memory, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            from = rows.p[i].pos + 1;
            if (wb_uuid_eq(rows.p[i].run, of->run.id))
                r = trace_row(t, of, &rows.p[i], err);
        }
        if (r < 0 || !rows.more || !rows.n)
            return r < 0 ? r : 0;
    }
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static struct upp_usage usage_less(const struct upp_usage *a, const struct upp_usage *b)
{
    return (struct upp_usage){.input       = less(a->input, b->input),
                              .output      = less(a->output, b->output),
                              .cache_read  = less(a->cache_read, b->cache_read),
                              .cache_write = less(a->cache_write, b->cache_write),
                              .reasoning   = less(a->reasoning, b->reasoning)};
}

static void sum_up(struct traced *of)
{
    struct upp_usage below = {0}, adopted = {0};
    for (const struct traced *c = of->first; c; c = c->next) {
        wm_usage_add(&below, &c->total);
        if (c->adopted)
            wm_usage_add(&adopted, &c->own);
    }
    if (wm_status_ended(of->run.status)) {
        of->total = of->run.usage;
        of->own   = usage_less(&of->total, &below);
    } else {
        of->own   = usage_less(&of->own, &adopted); /* usage of branches counts as their own */
        of->total = of->own;
        wm_usage_add(&of->total, &below);
    }
}

static WEFT_SUSPENDS int trace_run(struct tracing *t, struct wb_uuid id, struct traced *parent, struct traced **ret,
                                   struct upp_err *err)
{
    struct wl_store *s  = t->engine->store;
    struct traced   *of = wb_new(&t->memory, struct traced);
    if (!of)
        return wb_arena_check(&t->memory, err);
    if (++t->n > CALLS)
        return upp_fail(err, UPP_ELIMIT, "a trace has at most %d runs", CALLS);
    int r = wl_get_run(s, t->owner, id, &t->memory, &of->run, err);
    if (r < 0)
        return r;
    if (parent && of->run.depth != parent->run.depth + 1)
        return upp_fail(err, UPP_ESTORE, "a run is not below the one that asked it");
    const struct wr_agent_def *def = wr_agent(t->engine, of->run.agent);
    of->agent_id                   = def && !def->base ? wb_arena_dup(&t->memory, def->id) : UPP_STR("");
    of->parent                     = parent;
    if (of->run.status != WM_QUEUED)
        r = trace_rows(t, of, err);
    sum_up(of);
    *ret = of;
    return r;
}

/* ---- As JSON ------------------------------------------------------------------------------------------------ */

static const struct upp_str statuses[] = {
    [WM_QUEUED] = UPP_STR_INIT("queued"),       [WM_RUNNING] = UPP_STR_INIT("running"),
    [WM_WAITING] = UPP_STR_INIT("waiting"),     [WM_CANCELING] = UPP_STR_INIT("cancelling"),
    [WM_COMPLETED] = UPP_STR_INIT("completed"), [WM_FAILED] = UPP_STR_INIT("failed"),
    [WM_CANCELED] = UPP_STR_INIT("cancelled"),  [WM_EXPIRED] = UPP_STR_INIT("expired"),
};

struct upp_str wr_status_name(uint8_t status)
{
    return status < WB_LEN(statuses) && statuses[status].p ? statuses[status] : UPP_STR("");
}

static void put_id(struct wj_writer *w, const char *name, struct wb_uuid id)
{
    char text[WB_UUID_TEXT + 1];
    wj_put_str_or_empty(w, name, wb_uuid_text(id, text));
}

static void put_time(struct wj_writer *w, const char *name, int64_t ms)
{
    wj_write_name(w, wb_cstr(name));
    if (ms > 0)
        wj_write_u64(w, (uint64_t)ms);
    else
        wj_write_null(w);
}

static void put_run(struct wj_writer *w, const struct traced *of)
{
    wj_write_open(w, '{');
    put_id(w, "turnId", of->run.id);
    wj_put_str_or_empty(w, "agentId", of->agent_id);
    wj_put_str_or_empty(w, "agent", of->run.agent);
    if (of->parent) {
        put_id(w, "parentTurnId", of->parent->run.id);
        wj_put_str_or_empty(w, "parentAgentId", of->parent->agent_id);
    }
    if (of->run.depth)
        wj_put_str_or_empty(w, "toolCallId", of->run.call);
    wj_put_str_or_empty(w, "input", of->input);
    wj_put_str_or_empty(w, "status", wr_status_name(of->run.status));
    put_time(w, "started", of->run.started_ms);
    put_time(w, "ended", of->run.ended_ms);
    wm_usage_put(w, &of->own);
    wj_write_name(w, UPP_STR("totalUsage"));
    wm_usage_write(w, &of->total);
    wj_put_open(w, "children", '[');
    for (const struct traced *c = of->first; c; c = c->next)
        put_run(w, c);
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

int wr_trace(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run, struct wb_buf *out, struct upp_err *err)
{
    if (!e->store)
        return upp_fail(err, UPP_ENOTFOUND, "there is no store");
    struct tracing   t = {.engine = e, .owner = o, .memory = WB_ARENA(256u << 20)};
    struct traced   *top;
    struct wj_writer w;
    int              r = trace_run(&t, run, NULL, &top, err);
    if (r >= 0) {
        wj_writer_init(&w, out, err);
        put_run(&w, top);
        r = wj_writer_check(&w);
    }
    wb_arena_done(&t.memory);
    return r;
}
