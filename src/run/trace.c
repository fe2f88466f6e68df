/* run/trace.c — the call tree of a run, from the rows of the log: callers, inputs, times, usage, and what it waited
 * for.
 *
 * Everything is of the log, so a trace is the same after a restart. The log has no record of the moment in which a
 * model is asked: its span begins where the run's record before it ended, and its message has the time of the first
 * output.
 *
 * The row of an ended run has its total usage, with all runs below it. Its own usage is that minus the totals of its
 * children, so the parts add up to the whole. For a run that has not ended, the usage of its messages is added up.
 *
 * Steps of a plan that run at the same time are child runs, which the run adopts: it writes their messages and calls
 * into its own node again (run/branch.c). These copies are not work, and have the time of their adoption. They are left
 * out: what a branch did is in its own run.
 */
#include "base/utf8.h"
#include "json/write.h"
#include "model/upp_json.h"
#include "run/engine_state.h"
#include "run/step.h"
#include "run/run.h"

enum { CALLS = 4096, SPANS = 1 << 16, INPUT_BYTES = 1 << 20 }; /* runs and spans of a trace; bytes of a run's input */

enum span_kind { MODEL, TOOL, AGENT, BRANCH, WAIT };

/* What a run did, or waited for. */
struct span {
    uint8_t kind, outcome; /* outcome: enum wm_outcome; 0: not ended, or not a call */
    bool voided;           /* the attempt of a model that broke off */
    uint32_t step;
    struct upp_str name, agent, call, provider, plan_step;
    struct wb_uuid child;              /* AGENT, BRANCH */
    int64_t started, output, ended_ms; /* 0: not yet, or unknown */
    struct upp_usage usage;
    double cost; /* < 0: no price is known */
    struct span *next;
};

struct traced {
    struct wm_run run;
    struct upp_str agent_id, input;
    struct upp_usage own, total;
    bool branch, adopted;          /* a branch; its run has adopted it */
    const struct traced *adopting; /* the branch whose copies are being read; NULL: none */
    int64_t clock;                 /* of the last record that was read */
    struct upp_str speaker;        /* the agent of the rows, after handoffs */
    struct upp_str plan_step;      /* of the last message; of a branch: its own; empty: none */
    double cost, all_costs;
    struct span *spans, *last_span;
    const struct weft_budget *prices; /* NULL: none are known */
    struct traced *parent, *next;     /* next: of the same parent */
    struct traced *first, *last;      /* children, in the order of their calls */
};

struct tracing {
    struct wr_engine *engine;
    const struct wl_owner *owner;
    struct wb_arena memory;
    size_t n, n_spans;
};

/* ---- Spans ------------------------------------------------------------------------------------------------------- */

/* The step of a plan to which a message of this phase belongs: "step:ID", later rounds "2/step:ID". Empty: none. */
static struct upp_str plan_step_of(struct upp_str phase)
{
    size_t n = 0;
    while (n < phase.n && phase.p[n] >= '0' && phase.p[n] <= '9')
        n++;
    if (n && n < phase.n && phase.p[n] == '/')
        phase = wb_str_sub(phase, n + 1, SIZE_MAX);
    return wm_plan_step(phase);
}

static struct span *add_span(struct tracing *t, struct traced *of, enum span_kind kind, uint32_t step)
{
    struct span *s = t->n_spans < SPANS ? wb_new(&t->memory, struct span) : NULL;
    t->n_spans++;
    if (!s)
        return NULL;
    *s = (struct span){.kind = (uint8_t)kind,
                       .step = step,
                       .agent = of->speaker,
                       .call = UPP_STR(""),
                       .plan_step = of->plan_step,
                       .cost = -1};
    if (of->last_span)
        of->last_span->next = s;
    else
        of->spans = s;
    of->last_span = s;
    return s;
}

static void add_model(struct tracing *t, struct traced *of, const struct wm_event *ev, const struct wm_entry *message)
{
    struct span *s = add_span(t, of, MODEL, ev->step);
    if (!s)
        return;
    s->started = of->clock;
    s->ended_ms = ev->time_ms;
    s->voided = ev->kind == WM_VOID;
    if (!s->voided) {
        s->name = ev->message.model;
        s->provider = ev->message.provider;
        s->usage = ev->message.usage;
    }
    if (message && message->message.time_ms >= s->started && message->message.time_ms <= s->ended_ms)
        s->output = message->message.time_ms;
    if (of->prices && !s->voided) {
        s->cost = wr_cost(of->prices, &s->usage);
        of->cost += s->cost;
    }
}

/* The call that has begun and not ended; NULL: its start was swept, or it never began. */
static struct span *open_span(const struct traced *of, struct upp_str call)
{
    struct span *s = of->spans;
    while (s && (s->ended_ms || s->kind == MODEL || s->kind == WAIT || !wb_str_eq(s->call, call)))
        s = s->next;
    return s;
}

static struct span *add_call(struct tracing *t, struct traced *of, enum span_kind kind, const struct wm_event *ev)
{
    struct span *s = add_span(t, of, kind, ev->step);
    if (s) {
        s->name = ev->call.name;
        s->call = ev->call.id;
    }
    return s;
}

static void begin_call(struct tracing *t, struct traced *of, const struct wm_event *ev)
{
    struct span *s = add_call(t, of, wm_is_branch(ev) ? BRANCH : ev->tool_started.child_node ? AGENT : TOOL, ev);
    if (!s)
        return;
    s->started = ev->time_ms;
    if (ev->tool_started.child_node)
        s->child = ev->tool_started.child;
    if (s->kind == BRANCH)
        s->name = s->plan_step = plan_step_of(ev->tool_started.arguments);
}

static void end_call(struct tracing *t, struct traced *of, const struct wm_event *ev)
{
    struct span *s = open_span(of, ev->call.id);
    if (!s)
        s = add_call(t, of, TOOL, ev);
    if (!s)
        return;
    s->outcome = ev->tool_ended.outcome;
    s->ended_ms = ev->time_ms;
    if (!s->started)
        s->started = ev->time_ms - (int64_t)WB_MIN(ev->tool_ended.ms, (uint64_t)ev->time_ms);
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */

/* The branch of which a message is the copy; NULL: of none. A later step may have the id of an adopted one. */
static const struct traced *copied_from(const struct traced *of, const struct wm_entry *message)
{
    struct upp_str step = plan_step_of(message->phase);
    const struct traced *c = of->first;
    while (c && (!c->branch || c->adopted || !step.n || !wb_str_eq(c->plan_step, step)))
        c = c->next;
    return c;
}

/* Its work ended before it was adopted. */
static void end_branch(struct traced *of, const struct wm_event *ev)
{
    struct span *s = open_span(of, ev->call.id);
    struct traced *c = of->first;
    while (c && !wb_str_eq(c->run.call, ev->call.id))
        c = c->next;
    if (c)
        c->adopted = true;
    of->adopting = NULL;
    if (!s)
        return;
    s->outcome = ev->tool_ended.outcome;
    s->ended_ms = c && c->run.ended_ms ? c->run.ended_ms : ev->time_ms;
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

/* A wait lasts from one record of the run's state to the next. */
static void note_state(struct tracing *t, struct traced *of, const struct wm_event *ev)
{
    struct span *s = of->spans;
    while (s && (s->kind != WAIT || s->ended_ms))
        s = s->next;
    if (s && ev->run.status != WM_WAITING)
        s->ended_ms = ev->time_ms;
    if (s || ev->run.status != WM_WAITING)
        return;
    s = add_span(t, of, WAIT, ev->step);
    if (!s)
        return;
    s->started = ev->time_ms;
    if (ev->run.n_pending) {
        s->name = ev->run.pending[0].name;
        s->call = ev->run.pending[0].call;
    }
}

static void note_message(struct tracing *t, struct traced *of, const struct wm_event *ev)
{
    if (!ev->message.entry || ev->message.entry->message.role != UPP_ROLE_ASSISTANT)
        return;
    of->adopting = copied_from(of, ev->message.entry);
    if (of->adopting)
        return;
    of->plan_step = plan_step_of(ev->message.entry->phase);
    wm_usage_add(&of->own, &ev->message.usage);
    add_model(t, of, ev, ev->message.entry);
}

/* Records are in their order, though clocks of two processors, or one that was set, may say otherwise. */
static void note_record(struct tracing *t, struct traced *of, const struct wm_row *row, const struct wm_event *record)
{
    struct wm_event in_order = *record, *ev = &in_order;
    ev->time_ms = WB_MAX(of->clock, record->time_ms);
    switch (ev->kind) {
    case WM_MESSAGE:
        note_message(t, of, ev);
        break;
    case WM_VOID:
        add_model(t, of, ev, row->lost);
        break;
    case WM_TOOL_STARTED:
        if (!of->adopting || wm_is_branch(ev))
            begin_call(t, of, ev);
        break;
    case WM_TOOL_ENDED:
        if (wm_is_branch(ev))
            end_branch(of, ev);
        else if (!of->adopting)
            end_call(t, of, ev);
        break;
    case WM_STEP_END:
        if (!of->branch)
            of->plan_step = UPP_STR("");
        break;
    case WM_RUN:
        note_state(t, of, ev);
        break;
    default:
        break;
    }
    of->clock = ev->time_ms;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* `call`: the record that announced it; NULL: none. */
static WEFT_SUSPENDS int trace_run(struct tracing *t, struct wb_uuid id, struct traced *parent,
                                   const struct wm_event *call, struct traced **ret, struct upp_err *err);

static WEFT_SUSPENDS int trace_child(struct tracing *t, struct traced *of, const struct wm_event *call,
                                     struct upp_err *err)
{
    struct traced *child;
    int r = trace_run(t, call->tool_started.child, of, call, &child, err);
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

/* A branch has no input of its own, but the prompt of its step. That names the step, too, where the announcement is of
 * before it did. */
static void note_input(struct tracing *t, struct traced *of, const struct wm_entry *e)
{
    if (of->branch && !of->plan_step.n)
        of->plan_step = plan_step_of(e->phase);
    if (!of->input.p && e->message.role == UPP_ROLE_USER && e->kind == WM_ENTRY_MESSAGE &&
        (of->branch || e->audience == WM_AUDIENCE_ALL))
        of->input = wm_message_text(&t->memory, &e->message);
}

static WEFT_SUSPENDS int trace_row(struct tracing *t, struct traced *of, const struct wl_row *stored,
                                   struct upp_err *err)
{
    struct wm_row row;
    int r = wm_row_read(&t->memory, stored->format, stored->body, stored->tape, &row, err);
    for (size_t i = 0; r >= 0 && i < row.n_entries; i++)
        note_input(t, of, &row.entries[i]);
    if (r >= 0 && row.agent.n)
        of->speaker = row.agent;
    for (size_t i = 0; r >= 0 && i < row.n_records; i++) {
        const struct wm_event *ev = &row.records[i];
        note_record(t, of, &row, ev);
        if (ev->kind == WM_TOOL_STARTED && ev->tool_started.child_node)
            r = trace_child(t, of, ev, err);
    }
    if (r >= 0 && t->n_spans > SPANS)
        return upp_fail(err, UPP_ELIMIT, "a trace has at most %d spans", SPANS);
    return r < 0 ? r : wb_arena_check(&t->memory, err);
}

static WEFT_SUSPENDS int trace_rows(struct tracing *t, struct traced *of, struct upp_err *err)
{
    struct wl_store *s = t->engine->store;
    for (uint64_t from = of->run.first;;) {
        struct wl_range range = {.node = of->run.node, .from = from, .to = UINT64_MAX >> 1};
        struct wl_rows rows;
        int r = wl_store_rows(s, t->owner, &range, &t->memory, &rows, err);
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
    return (struct upp_usage){.input = less(a->input, b->input),
                              .output = less(a->output, b->output),
                              .cache_read = less(a->cache_read, b->cache_read),
                              .cache_write = less(a->cache_write, b->cache_write),
                              .reasoning = less(a->reasoning, b->reasoning)};
}

static void sum_up(struct traced *of)
{
    struct upp_usage below = {0};
    of->all_costs = of->cost;
    for (const struct traced *c = of->first; c; c = c->next) {
        of->all_costs += c->all_costs;
        of->clock = WB_MAX(of->clock, c->run.ended_ms);
        wm_usage_add(&below, &c->total);
    }
    if (wm_status_ended(of->run.status)) {
        of->total = of->run.usage;
        of->own = usage_less(&of->total, &below);
        of->run.ended_ms = WB_MAX(of->run.ended_ms, of->clock);
    } else {
        of->total = of->own;
        wm_usage_add(&of->total, &below);
    }
}

static WEFT_SUSPENDS int trace_run(struct tracing *t, struct wb_uuid id, struct traced *parent,
                                   const struct wm_event *call, struct traced **ret, struct upp_err *err)
{
    struct wl_store *s = t->engine->store;
    struct traced *of = wb_new(&t->memory, struct traced);
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
    of->agent_id = def && !def->base ? wb_arena_dup(&t->memory, def->id) : UPP_STR("");
    of->parent = parent;
    of->run.started_ms = WB_MAX(of->run.started_ms, parent ? parent->run.started_ms : 0);
    of->clock = of->run.started_ms;
    of->speaker = of->run.agent;
    of->branch = call && wm_is_branch(call);
    of->plan_step = of->branch ? plan_step_of(call->tool_started.arguments) : UPP_STR("");
    of->prices = def ? wr_prices(def) : NULL;
    if (!of->prices && parent)
        of->prices = parent->prices; /* a budget is also that of the runs below */
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

static void put_cost(struct wj_writer *w, const char *name, double cost)
{
    wj_write_name(w, wb_cstr(name));
    if (cost >= 0)
        wj_write_f64(w, cost);
    else
        wj_write_null(w);
}

static struct upp_str result_of(const struct span *s)
{
    static const struct upp_str outcomes[] = {
        [WM_DONE] = UPP_STR_INIT("done"),       [WM_ERROR] = UPP_STR_INIT("error"),
        [WM_UNKNOWN] = UPP_STR_INIT("unknown"), [WM_DENIED] = UPP_STR_INIT("denied"),
        [WM_STOPPED] = UPP_STR_INIT("stopped"), [WM_INVALID] = UPP_STR_INIT("invalid"),
    };
    if (s->voided)
        return UPP_STR("void");
    return s->outcome < WB_LEN(outcomes) && s->outcome ? outcomes[s->outcome]
           : s->ended_ms                               ? UPP_STR("done")
                                                       : (struct upp_str){NULL, 0};
}

static void put_span(struct wj_writer *w, const struct span *s)
{
    static const char *const kinds[] = {
        [MODEL] = "model", [TOOL] = "tool", [AGENT] = "agent", [BRANCH] = "branch", [WAIT] = "wait"};
    wj_write_open(w, '{');
    wj_put_str(w, "kind", wb_cstr(kinds[s->kind]));
    wj_put_str_or_empty(w, "name", s->name);
    wj_put_str_or_empty(w, "agent", s->agent);
    wj_put_u64(w, "step", s->step);
    if (s->plan_step.n)
        wj_put_str(w, "planStepId", s->plan_step);
    put_time(w, "started", s->started);
    put_time(w, "ended", s->ended_ms);
    wj_put_str(w, "outcome", result_of(s));
    if (s->kind == MODEL) {
        wj_put_str_or_empty(w, "provider", s->provider);
        put_time(w, "firstOutput", s->output);
        wm_usage_put(w, &s->usage);
        put_cost(w, "cost", s->cost);
    } else
        wj_put_str_or_empty(w, "toolCallId", s->call);
    if (s->kind == AGENT || s->kind == BRANCH)
        put_id(w, "childTurnId", s->child);
    wj_write_close(w, '}');
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
    if (of->branch)
        wj_put_str_or_empty(w, "planStepId", of->plan_step);
    wj_put_str_or_empty(w, "input", wb_str_sub(of->input, 0, wb_utf8_cut(of->input, INPUT_BYTES)));
    if (of->input.n > INPUT_BYTES)
        wj_put_bool(w, "inputCut", true);
    wj_put_str_or_empty(w, "status", wr_status_name(of->run.status));
    put_time(w, "started", of->run.started_ms);
    put_time(w, "ended", of->run.ended_ms);
    wm_usage_put(w, &of->own);
    wj_write_name(w, UPP_STR("totalUsage"));
    wm_usage_write(w, &of->total);
    put_cost(w, "cost", of->prices ? of->cost : -1);
    put_cost(w, "totalCost", of->prices || of->all_costs > 0 ? of->all_costs : -1);
    wj_write_name(w, UPP_STR("error"));
    if (of->run.error.n)
        wj_write_raw(w, of->run.error.p, of->run.error.n);
    else
        wj_write_null(w);
    wj_put_open(w, "spans", '[');
    for (const struct span *s = of->spans; s; s = s->next)
        put_span(w, s);
    wj_write_close(w, ']');
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
    struct tracing t = {.engine = e, .owner = o, .memory = WB_ARENA(256u << 20)};
    struct traced *top;
    struct wj_writer w;
    int r = trace_run(&t, run, NULL, NULL, &top, err);
    if (r >= 0) {
        wj_writer_init(&w, out, err);
        put_run(&w, top);
        r = wj_writer_check(&w);
    }
    wb_arena_done(&t.memory);
    return r;
}
