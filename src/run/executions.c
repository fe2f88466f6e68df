/* run/executions.c — what a run that was taken up did in its earlier steps: how each call came out, by the records.
 *
 * Messages have results and nothing more. With what arguments a tool was started, whether anybody said no, how long it
 * took and in which order calls ended is in the rows of the run, which are read once for it.
 */
#include "run/internal.h"

static const struct upp_str denied = UPP_STR_INIT("\"Tool execution denied\"");

struct reading {
    struct wr_run *run;
    size_t         n_ended; /* executions in their place: they come first */
};

static struct upp_execution *find(struct reading *in, struct upp_str call)
{
    for (size_t i = in->n_ended; i < in->run->executions.n; i++)
        if (wb_str_eq(in->run->executions.p[i].id, call))
            return &in->run->executions.p[i];
    return NULL;
}

static void started(struct reading *in, struct upp_execution *e, struct upp_str arguments)
{
    if (wb_str_trim(arguments).n)
        e->arguments = wb_arena_dup(&in->run->memory, arguments);
    e->approved = UPP_APPROVED_YES;
}

/* It comes after those that ended before it. */
static void ended(struct reading *in, struct upp_execution *e, const struct wm_event *ev)
{
    struct upp_execution it = *e;
    it.duration_ms          = ev->ms;
    if (ev->outcome == WM_DENIED) {
        it.approved = UPP_APPROVED_NO;
        it.result   = denied;
    }
    struct upp_execution *to = &in->run->executions.p[in->n_ended++];
    memmove(to + 1, to, (size_t)(e - to) * sizeof *to);
    *to = it;
}

static void take_record(struct reading *in, const struct wm_event *ev)
{
    struct upp_execution *e = NULL;
    if (ev->kind == WM_TOOL_STARTED || ev->kind == WM_TOOL_ENDED)
        e = find(in, ev->call);
    if (e && ev->kind == WM_TOOL_STARTED)
        started(in, e, ev->text);
    else if (e)
        ended(in, e, ev);
    for (size_t i = 0; ev->kind == WM_RUN && i < ev->n_pending; i++) {
        const struct wm_pending *p = &ev->pending[i];
        e                          = wb_uuid_eq(p->run, in->run->row.id) ? find(in, p->call) : NULL;
        if (!e)
            continue;
        started(in, e, p->arguments);
        if (p->approval)
            e->approved = UPP_APPROVED_UNASKED; /* its start says more */
    }
}

static WEFT_SUSPENDS int read_some(struct reading *in, struct wl_range *range, bool *more, struct upp_err *err)
{
    struct wr_run                            *run = in->run;
    struct wl_store                          *s   = run->engine->store;
    WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(WR_RUN_MEMORY);
    struct wl_rows                            rows;
    int                                       r = s->ops->rows(s, &run->tree->owner, range, &a, &rows, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < rows.n; i++) {
        struct wm_row row;
        r = wm_row_read(&a, rows.p[i].format, rows.p[i].body, rows.p[i].tape, &row, err);
        if (r < 0)
            return r;
        for (size_t k = 0; k < row.n_records; k++)
            take_record(in, &row.records[k]);
        range->from = rows.p[i].pos + 1;
    }
    *more = rows.more && rows.n;
    return wb_arena_check(&run->memory, err);
}

int wr_executions_read(struct wr_run *run, struct upp_err *err)
{
    struct reading  in    = {.run = run};
    struct wl_range range = {.node = run->row.node, .from = run->row.first, .to = UINT64_MAX >> 1, .max_rows = 64};
    int             r     = 0;
    for (bool more = run->executions.n > 0; r >= 0 && more;)
        r = read_some(&in, &range, &more, err);
    return r;
}
