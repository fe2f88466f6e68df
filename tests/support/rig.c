#include "support/rig.h"

#include <stdio.h>
#include <string.h>
#include <upp/provider.h>

#include "base/hooks.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_json.h"
#include "support/fibers.h"

const struct wl_owner rig_owner = {.tenant = UPP_STR_INIT("local"), .user = UPP_STR_INIT("")};

/* ---- Tools --------------------------------------------------------------------------------------------------- */

/* arg of a tool is a pointer to the rig in use: tests run one at a time. */
static struct rig *rig_now;

static uint8_t delivery_of(struct upp_str name)
{
    for (size_t i = 0; i < rig_n_tools; i++)
        if (wb_str_eq(rig_tools[i].spec.name, name))
            return rig_tools[i].delivery;
    return WEFT_AT_MOST_ONCE;
}

static struct rig_ran *ledger_begin(struct upp_call *call)
{
    if (rig_now && rig_now->dead && *rig_now->dead)
        return NULL;
    if (rig_now && rig_now->checker)
        checker_ran(rig_now->checker, call, delivery_of(call->name));
    struct rig_ledger *l = rig_now ? rig_now->ledger : NULL;
    if (!l || l->n == RIG_LEDGER)
        return NULL;
    struct rig_ran *ran = &l->ran[l->n++];
    snprintf(ran->tool, sizeof ran->tool, "%.*s", UPP_FMT(call->name));
    snprintf(ran->key, sizeof ran->key, "%.*s", UPP_FMT(weft_call_key(call)));
    ran->ended = false;
    return ran;
}

static int64_t number_of(struct upp_call *call, const char *name)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    yyjson_val *v;
    int64_t n = 0;
    if (wj_read(&a, call->arguments, NULL, &v, NULL) < 0)
        return 0;
    v = yyjson_obj_get(v, name);
    return v && wb_str_i64(wj_text(v), &n) ? n : 0;
}

static WEFT_SUSPENDS int add(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    char text[32];
    (void)ledger_begin(call);
    int n = snprintf(text, sizeof text, "%lld", (long long)(number_of(call, "a") + number_of(call, "b")));
    return upp_value_json(ret, wb_str(text, (size_t)n), err);
}

static WEFT_SUSPENDS int note(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct rig_ran *ran = ledger_begin(call);
    int r = weft_sleep_ms(3, err);
    if (ran)
        ran->ended = r >= 0;
    return r < 0 ? r : upp_value_text(ret, UPP_STR("noted"), err);
}

static WEFT_SUSPENDS int fails(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)ledger_begin(call);
    (void)ret;
    return upp_fail(err, UPP_EREFUSED, "this tool always fails");
}

static WEFT_SUSPENDS int slow(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct rig_ran *ran = ledger_begin(call);
    int r = weft_sleep_ms(rig_now && rig_now->slow_ms ? rig_now->slow_ms : 1000, err);
    if (ran)
        ran->ended = r >= 0;
    return r < 0 ? r : upp_value_text(ret, UPP_STR("slowly"), err);
}

static WEFT_SUSPENDS int big(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)ledger_begin(call);
    static char text[4096];
    memset(text, 'x', sizeof text);
    return upp_value_text(ret, wb_str(text, sizeof text), err);
}

/* A system event, with the arguments as its data. */
static WEFT_SUSPENDS int tells(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct weft_system_event ev = {.type = UPP_STR("agent.note"), .data = call->arguments};
    (void)ledger_begin(call);
    int r = weft_run_event(weft_call_run(call), &ev, err);
    return r < 0 ? r : upp_value_text(ret, UPP_STR("told"), err);
}

/* On a worker: the ledgers are the loop's. */
static int block(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    return upp_value_text(ret, UPP_STR("blocked"), err);
}

static int ask_later(struct upp_call *call, struct upp_err *err)
{
    (void)call, (void)err;
    return WEFT_PENDING;
}

static const struct upp_str after_note[] = {UPP_STR_INIT("note"), UPP_STR_INIT("pick")};

#define SPEC(name_, text_)                                                                                             \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .description = UPP_STR_INIT(text_),                                               \
        .parameters = UPP_STR_INIT("{\"type\":\"object\"}")                                                            \
    }

const struct wr_tool rig_tools[] = {
    {.spec = SPEC("add", "adds two numbers"), .delivery = WEFT_PURE, .base = {.run = add}},
    {.spec = SPEC("note", "writes something down"), .base = {.run = note}},
    {.spec = SPEC("again", "may be done again"), .delivery = WEFT_IDEMPOTENT, .base = {.run = note}},
    {.spec = SPEC("fails", "fails"), .base = {.run = fails}},
    {.spec = SPEC("slow", "takes its time"), .base = {.run = slow}},
    {.spec = SPEC("big", "says much"), .delivery = WEFT_PURE, .base = {.run = big}, .max_result = 1000},
    {.spec = SPEC("pick", "the client picks"), .kind = WR_TOOL_CLIENT},
    {.spec = SPEC("danger", "asks first"), .approval = true, .base = {.run = note}},
    {.spec = SPEC("pass_on", "hands over"), .kind = WR_TOOL_HANDOFF, .agent = UPP_STR_INIT("helper")},
    {.spec = SPEC("ask_helper", "asks an agent"), .kind = WR_TOOL_AGENT, .agent = UPP_STR_INIT("helper")},
    {.spec = SPEC("ask_picker", "asks an agent"), .kind = WR_TOOL_AGENT, .agent = UPP_STR_INIT("picker")},
    {.spec = SPEC("then", "comes after note and pick"), .after = after_note, .n_after = 2, .base = {.run = note}},
    {.spec = SPEC("alone", "must be alone"), .sequential = true, .base = {.run = note}},
    {.spec = SPEC("block", "blocks"), .delivery = WEFT_PURE, .base = {.run = block, .blocking = true}},
    {.spec = SPEC("maybe", "asks somebody"), .base = {.run = note, .approval = ask_later}},
    {.spec = SPEC("tells", "appends a system event"), .delivery = WEFT_IDEMPOTENT, .base = {.run = tells}},
};
const size_t rig_n_tools = WB_LEN(rig_tools);

/* ---- The rig -------------------------------------------------------------------------------------------------- */

int rig_agent(struct rig *rig, const char *name, const char *script, struct upp_err *err)
{
    if (rig->n == RIG_AGENTS)
        return upp_fail(err, UPP_ELIMIT, "too many agents");
    const struct upp_retry_opts again = {.kind = UPP_RETRY_EXPONENTIAL, .max_attempts = 2, .base_delay_ms = 10};
    struct upp_model **model = &rig->models[rig->n];
    int r = upp_scripted_new(script ? wb_cstr(script) : (struct upp_str){0}, model, err);
    if (r == 0 && (r = upp_retry_new(&again, &(*model)->retry, err)) < 0) {
        upp_model_free(*model);
        *model = NULL;
    }
    if (r < 0)
        return r;
    rig->agents[rig->n] = (struct wr_agent_def){.name = wb_cstr(name),
                                                .id = UPP_STR("5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11"),
                                                .model = rig->models[rig->n],
                                                .strategy = &weft_strategy_loop,
                                                .tools = rig_tools,
                                                .n_tools = rig_n_tools};
    rig->n++;
    return 0;
}

static const struct wr_agent_def *find_agent(void *arg, struct upp_str name)
{
    struct rig *rig = arg;
    for (size_t i = 0; i < rig->n; i++)
        if (wb_str_eq(rig->agents[i].name, name))
            return &rig->agents[i];
    return NULL;
}

/* Runs may choose the models of the other agents. */
static const struct upp_model *find_model(void *arg, struct upp_str name, struct upp_str *params)
{
    const struct wr_agent_def *def = find_agent(arg, name);
    if (!def)
        return NULL;
    *params = def->params;
    return def->model;
}

static const struct wr_agent_def *agent_at(void *arg, size_t i)
{
    struct rig *rig = arg;
    return i < rig->n ? &rig->agents[i] : NULL;
}

int rig_open(struct rig *rig, struct weft_loop *loop, const struct wr_engine_opts *opts, struct upp_err *err)
{
    struct wr_engine_opts o = opts ? *opts : (struct wr_engine_opts){.size = sizeof o};
    o.store = rig->store;
    o.agent = find_agent;
    o.model = find_model;
    o.agent_at = agent_at;
    o.arg = rig;
    rig_now = rig;
    return wr_engine_open(loop, &o, &rig->engine, err);
}

void rig_close(struct rig *rig)
{
    wr_engine_close(rig->engine);
    rig->engine = NULL;
    rig_done(rig);
}

void rig_done(struct rig *rig)
{
    for (size_t i = 0; i < rig->n; i++)
        upp_model_free(rig->models[i]);
    rig->n = 0;
    if (rig_now == rig)
        rig_now = NULL;
}

int rig_start(struct rig *rig, const char *agent, const char *text, const struct wb_uuid *thread,
              struct wr_started *ret, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_cstr(text)};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = rig_owner, .agent = wb_cstr(agent), .input = &input};
    if (thread)
        what.thread = *thread;
    return wr_start(rig->engine, &what, ret, err);
}

/* ---- Events as text --------------------------------------------------------------------------------------------- */

static const char *const statuses[] = {"?",         "queued", "running",   "waiting", "canceling",
                                       "completed", "failed", "cancelled", "expired"};
static const char *const outcomes[] = {"?", "done", "error", "unknown", "denied", "stopped", "invalid"};

static void event_body(struct wb_buf *out, const struct wm_event *ev)
{
    switch (ev->kind) {
    case WM_RUN:
        wb_buf_addf(out, "run %s", statuses[ev->run.status]);
        for (size_t i = 0; i < ev->run.n_pending; i++)
            wb_buf_addf(out, " %s:%.*s", ev->run.pending[i].approval ? "approve" : "answer",
                        UPP_FMT(ev->run.pending[i].name));
        if (ev->run.error.p)
            wb_buf_addf(out, " %.*s", UPP_FMT(ev->run.error));
        break;
    case WM_MESSAGE:
        wb_buf_addf(out, "message parts=%zu in=%llu out=%llu%s", ev->message.entry->message.n_parts,
                    (unsigned long long)ev->message.usage.input, (unsigned long long)ev->message.usage.output,
                    ev->message.entry->message.interrupted ? " interrupted" : "");
        break;
    case WM_TOOL_STARTED:
        wb_buf_addf(out, "tool %.*s started %.*s", UPP_FMT(ev->call.name), UPP_FMT(ev->tool_started.arguments));
        break;
    case WM_TOOL_ENDED:
        wb_buf_addf(out, "tool %.*s %s %.*s", UPP_FMT(ev->call.name), outcomes[ev->tool_ended.outcome],
                    UPP_FMT(ev->tool_ended.result));
        break;
    case WM_STEP_END:
        wb_buf_addf(out, "step end results=%zu",
                    ev->step_end.results ? ev->step_end.results->message.n_parts : (size_t)0);
        break;
    case WM_CHECKPOINT:
        wb_buf_addf(out, "checkpoint");
        break;
    case WM_VOID:
        wb_buf_addf(out, "void last=%llu", (unsigned long long)ev->voided.last);
        break;
    case WM_SYSTEM:
        wb_buf_addf(out, "system %.*s", UPP_FMT(ev->system.entry->data));
        break;
    case WM_APPROVED:
        wb_buf_addf(out, "approved %.*s", UPP_FMT(ev->call.name));
        break;
    case WM_STEP_START:
        wb_buf_addf(out, "step start");
        break;
    case WM_MESSAGE_OPEN:
        wb_buf_addf(out, "open");
        break;
    case WM_PART_OPEN:
        wb_buf_addf(out, "part %u kind=%u %.*s", ev->part.index, ev->part.kind, UPP_FMT(ev->part.name));
        break;
    case WM_DELTA:
        wb_buf_addf(out, "delta %u '%.*s'", ev->part.index, UPP_FMT(ev->part.text));
        break;
    case WM_PART_CLOSE:
        wb_buf_addf(out, "close %u", ev->part.index);
        break;
    default:
        wb_buf_addf(out, "?");
    }
}

void rig_event_text(struct wb_buf *out, const struct wm_event *ev)
{
    wb_buf_addf(out, "%u-%llu ", ev->from->epoch, (unsigned long long)ev->number);
    for (unsigned i = 0; i < ev->from->depth; i++)
        wb_buf_addf(out, "> ");
    wb_buf_addf(out, "s%u ", ev->step);
    event_body(out, ev);
    wb_buf_addc(out, '\n');
}

int rig_read(struct rig *rig, struct wb_uuid run, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wm_event ev;
    int r = wr_reader_open(rig->engine, &rig_owner, run, NULL, &rd, err);
    if (r < 0)
        return r;
    while ((r = wr_reader_next(rd, true, &ev, err)) > 0)
        rig_event_text(out, &ev);
    return r < 0 ? r : wb_buf_check(out, err);
}

/* ---- Histories ------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int lines_of(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                  struct wb_arena *a, struct wl_line **lines, size_t *n, struct upp_err *err)
{
    struct wl_thread t;
    struct wl_end end;
    struct wl_path path;
    TRY(wl_get_thread(s, o, thread, a, &t, err));
    TRY(wl_node_end(s, o, t.head, &end, err));
    TRY(wl_path_open(s, o, t.head, end.length, a, &path, err));
    return wl_path_tail(s, o, &path, path.length, path.length, a, lines, n, err);
}

static void line_text(struct wb_buf *out, const struct wl_line *line)
{
    static const char *const roles[] = {"?", "user", "assistant", "tool"};
    const struct wm_entry *e = &line->entry;
    if (e->kind == WM_ENTRY_EVENT) {
        wb_buf_addf(out, "event %.*s\n", UPP_FMT(e->data));
        return;
    }
    if (e->kind == WM_ENTRY_TURN) {
        wb_buf_addf(out, "turn of %.*s\n", UPP_FMT(e->who));
        return;
    }
    wb_buf_addf(out, "%s%s%s:", e->kind == WM_ENTRY_REPAIR ? "repair " : "", roles[e->message.role],
                e->message.interrupted ? " (interrupted)" : "");
    for (size_t i = 0; i < e->message.n_parts; i++) {
        const struct upp_part *p = &e->message.parts[i];
        wb_buf_addf(out, " %s%.*s%s%.*s", p->cut ? "cut " : "", UPP_FMT(p->name), p->name.n ? "=" : "",
                    UPP_FMT(p->text));
    }
    wb_buf_addc(out, '\n');
}

int rig_history(struct rig *rig, struct wb_uuid thread, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_line *lines;
    size_t n;
    TRY(lines_of(rig->store, &rig_owner, thread, &a, &lines, &n, err));
    for (size_t i = 0; i < n; i++)
        line_text(out, &lines[i]);
    return wb_buf_check(out, err);
}

/* The results of one message of calls: the next message, all of them, each once. */
static int pairs(const struct upp_message *calls, const struct upp_message *results, struct upp_err *err)
{
    size_t n = 0, have = 0;
    for (const struct upp_part *c = NULL; (c = upp_part_next(calls, c, UPP_PARTS_CALLS));) {
        if (c->cut)
            continue;
        n++;
        size_t found = 0;
        for (const struct upp_part *p = NULL; results && (p = upp_part_next(results, p, UPP_PARTS_RESULTS));)
            found += wb_str_eq(p->id, c->id);
        if (found != 1)
            return upp_fail(err, UPP_EBUG, "call '%.*s' has %zu results", UPP_FMT(c->id), found);
    }
    for (const struct upp_part *p = NULL; n && (p = upp_part_next(results, p, UPP_PARTS_RESULTS));)
        have++;
    return have == n || !n ? 0 : upp_fail(err, UPP_EBUG, "%zu results for %zu calls", have, n);
}

int rig_well_formed(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_line *lines;
    size_t n, m = 0;
    TRY(lines_of(s, o, thread, &a, &lines, &n, err));
    for (size_t i = 0; i < n; i++) /* only messages */
        if (lines[i].entry.kind == WM_ENTRY_MESSAGE || lines[i].entry.kind == WM_ENTRY_REPAIR)
            lines[m++] = lines[i];
    for (size_t i = 0; i < m; i++) {
        const struct upp_message *msg = &lines[i].entry.message;
        const struct upp_message *next = i + 1 < m ? &lines[i + 1].entry.message : NULL;
        if (msg->role == UPP_ROLE_ASSISTANT)
            TRY(pairs(msg, next, err));
        if (msg->role == UPP_ROLE_TOOL && (!i || lines[i - 1].entry.message.role != UPP_ROLE_ASSISTANT))
            return upp_fail(err, UPP_EBUG, "results without calls at %zu", i);
        if (next && next->time_ms < msg->time_ms)
            return upp_fail(err, UPP_EBUG, "entry %zu is older than the one before", i + 1);
    }
    return 0;
}
