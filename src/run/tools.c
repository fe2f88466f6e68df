/* run/tools.c — running the calls of a message: what the journal holds, what is missing, what must come from outside.
 *
 * C2 before the first tool starts; C3 when one ends and others still run; the last result waits for the row that ends
 * the step, so that a round costs one commit less.
 */
#include "base/crash.h"
#include "fiber/loop.h"
#include "json/write.h"
#include "run/internal.h"

enum { TOOL_MS = 600000, TOOL_BYTES = 1 << 20, ARGUMENT_BYTES = 64 << 20, PARALLEL = 16 };

struct upp_str wr_json_text(struct wr_run *run, struct upp_str text)
{
    struct wb_buf    b = WB_BUF(8 * text.n + 16);
    struct wj_writer w;
    wj_writer_init(&w, &b, NULL);
    wj_write_str(&w, text.p ? text : UPP_STR(""));
    struct upp_str s = wj_writer_check(&w) < 0 ? (struct upp_str){0} : wb_arena_dup(&run->memory, wb_buf_str(&b));
    wb_buf_done(&b);
    return s;
}

/* ---- One call ----------------------------------------------------------------------------------------------- */

struct round;

struct job {
    struct round          *round;
    const struct upp_part *part;
    const struct wr_tool  *tool; /* NULL: there is none of that name */
    struct wr_call        *call;
    bool                   waits;    /* for something outside */
    uint64_t               began_ns; /* by the loop's clock */
};

/* The calls of one message. */
struct round {
    struct wr_run  *run;
    struct job     *jobs;
    size_t          n, next, left; /* left: that have not ended */
    int             failed;
    struct upp_err *err; /* of the first failure; may be NULL */
};

static const struct wr_tool *find_tool(const struct wr_agent_def *agent, struct upp_str name)
{
    for (size_t i = 0; i < agent->n_tools; i++)
        if (wb_str_eq(agent->tools[i].spec.name, name))
            return &agent->tools[i];
    return NULL;
}

/* The result is known: into the journal and the draft. */
static int end_call(struct job *j, uint8_t outcome, struct upp_str json, uint64_t ms, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    (void)wr_now(run);
    struct wm_event *ev = json.p ? wr_draft_record(run, WM_TOOL_ENDED, err) : NULL;
    if (!ev)
        return upp_fail(err, UPP_ENOMEM, "no memory for the result of a tool");
    ev->call         = j->call->id;
    ev->name         = j->part->name;
    ev->text         = json;
    ev->outcome      = outcome;
    ev->ms           = ms;
    j->call->state   = WR_CALL_ENDED;
    j->call->outcome = outcome;
    j->call->result  = json;
    j->round->left--;
    return wr_execution_add(run,
                            &(struct upp_execution){.id          = j->call->id,
                                                    .name        = j->part->name,
                                                    .arguments   = j->part->text,
                                                    .result      = json,
                                                    .is_error    = outcome != WM_DONE,
                                                    .approved    = UPP_APPROVED_YES,
                                                    .duration_ms = ms},
                            err);
}

static int end_text(struct job *j, uint8_t outcome, struct upp_str text, struct upp_err *err)
{
    return end_call(j, outcome, wr_json_text(j->round->run, text), 0, err);
}

/* RUN/STEP/CALL: the same when the call is run again. */
static struct upp_str key_of(struct wr_run *run, struct upp_str call)
{
    char  *key = wb_arena_alloc(&run->memory, WB_UUID_TEXT + 12 + call.n + 1, 1);
    size_t n   = WB_UUID_TEXT;
    if (!key)
        return (struct upp_str){0};
    wb_uuid_text(run->row.id, key);
    key[n++] = '/';
    char     digits[10];
    size_t   d = 0;
    uint32_t v = run->pub.state.step + 1;
    do
        digits[d++] = (char)('0' + v % 10);
    while (v /= 10);
    while (d)
        key[n++] = digits[--d];
    key[n++] = '/';
    memcpy(key + n, call.p, call.n);
    return wb_str(key, n + call.n);
}

static struct upp_str arguments_of(struct upp_str text)
{
    return wb_str_trim(text).n ? text : UPP_STR("{}");
}

static struct wr_doing *doing_of(const struct upp_call *call)
{
    union {
        const struct upp_call *in;
        struct upp_call       *out;
    } u = {.in = call};
    return WB_OUTER(u.out, struct wr_doing, call.pub);
}

struct weft_run *weft_call_run(const struct upp_call *call)
{
    return &doing_of(call)->run->pub;
}

struct upp_str weft_call_key(const struct upp_call *call)
{
    return doing_of(call)->key;
}

static WEFT_SUSPENDS int call_function(struct job *j, struct upp_value *value, struct upp_err *err)
{
    struct wr_run  *run  = j->round->run;
    struct wr_doing call = {.run  = run,
                            .key  = key_of(run, j->call->id),
                            .call = {.pub     = {.tool      = &j->tool->base,
                                                 .id        = j->call->id,
                                                 .name      = j->part->name,
                                                 .arguments = arguments_of(j->part->text),
                                                 .arg       = j->tool->base.arg,
                                                 .wait      = &run->engine->wait},
                                     .scratch = WB_ARENA(ARGUMENT_BYTES)}};
    if (!call.key.p)
        return wb_arena_check(&run->memory, err);
    WEFT_DEADLINE(j->tool->timeout_ms ? j->tool->timeout_ms : TOOL_MS); /* looks at the clock */
    j->began_ns = run->engine->loop->now;
    int r       = j->tool->base.run(&call.call.pub, value, err);
    wb_arena_done(&call.call.scratch);
    return r;
}

/* What a tool that failed says to the model. */
static int failed_text(struct upp_value *value, const struct upp_err *why, struct upp_err *err)
{
    upp_value_error(value);
    return upp_value_text(value, wb_cstr(why->msg[0] ? why->msg : upp_code_text(why->code)), err);
}

static WEFT_SUSPENDS int run_job(struct job *j, struct upp_err *err)
{
    struct wr_run    *run   = j->round->run;
    struct upp_value  value = UPP__VALUE;
    struct upp_err    why   = {0};
    struct weft_loop *l     = run->engine->loop;
    value.max               = j->tool->max_result ? j->tool->max_result : TOOL_BYTES;
    j->began_ns             = l->now;
    wb_crashpoint("tool.start");
    int r = j->tool->kind == WR_TOOL_AGENT ? wr_child(run, j->call, j->tool, j->part->text, &value, &why)
                                           : call_function(j, &value, &why);
    wb_crashpoint("tool.end");
    if (r == -UPP_EWAIT && j->tool->kind == WR_TOOL_AGENT) {
        j->waits = true;
        upp__value_done(&value);
        return 0;
    }
    bool stopped = (r == -UPP_ECANCELED && weft_fiber_canceled()) || r == -UPP_ESTORE;
    if (r < 0 && !stopped) {
        r = failed_text(&value, &why, err);
    } else if (r < 0 && err)
        *err = why;
    if (r >= 0) {
        struct upp_str json = wb_arena_dup(&run->memory, upp_value_get(&value));
        uint64_t       ms   = (weft__loop_clock(l) - j->began_ns) / 1000000;
        r                   = end_call(j, value.is_error ? WM_ERROR : WM_DONE, json, ms, err);
    }
    upp__value_done(&value);
    /* C3, unless it is the last: that one goes with the end of the step. */
    if (r >= 0 && j->round->left) {
        r = wr_flush(run, NULL, err);
        wb_crashpoint("c3.after");
    }
    return r;
}

static WEFT_SUSPENDS int work(void *arg, struct upp_err *err)
{
    struct round *round = arg;
    int           r     = 0;
    while (r >= 0 && round->next < round->n && !round->failed) {
        struct job *j = &round->jobs[round->next++];
        if (j->call->state != WR_CALL_STARTED || !j->call->here)
            continue;
        r = run_job(j, err);
    }
    if (r < 0 && !round->failed) {
        round->failed = r;
        if (err && round->err && err != round->err)
            *round->err = *err;
    }
    return r;
}

/* ---- The round ------------------------------------------------------------------------------------------------ */

static const struct upp_str lost = UPP_STR_INIT("outcome unknown: the server stopped while this ran");

/* Started before and not ended: nobody knows, unless it is a child or may be run again. */
static int take_up(struct job *j, struct upp_err *err)
{
    if (j->tool->kind == WR_TOOL_AGENT || j->tool->delivery != WEFT_AT_MOST_ONCE) {
        j->call->here = true;
        return 0;
    }
    return end_text(j, WM_UNKNOWN, lost, err);
}

static bool approved(const struct wr_run *run, struct upp_str call)
{
    for (size_t i = 0; i < run->approved.n; i++)
        if (wb_str_eq(run->approved.p[i], call))
            return true;
    return false;
}

static int pend(struct job *j, bool approval, struct upp_err *err)
{
    struct wr_run    *run = j->round->run;
    struct wm_pending p   = {.call      = j->call->id,
                             .name      = j->part->name,
                             .arguments = j->part->text,
                             .run       = run->row.id,
                             .approval  = approval};
    j->waits              = true;
    if (!wb_vec_push(&run->pending, p, 8 * WR_CALLS))
        return upp_fail(err, UPP_ENOMEM, "no memory for a call that waits");
    return 0;
}

static int begin(struct job *j, struct upp_err *err)
{
    struct wr_run   *run = j->round->run;
    struct wm_event *ev  = wr_draft_record(run, WM_TOOL_STARTED, err);
    if (!ev)
        return -UPP_ENOMEM;
    if (j->tool->kind == WR_TOOL_AGENT) {
        int r = wr_child_mint(j->call, err);
        if (r < 0)
            return r;
    }
    ev->call       = j->call->id;
    ev->name       = j->part->name;
    ev->text       = j->part->text;
    ev->child      = j->call->child;
    ev->child_node = j->call->child_node;
    run->draft.must_sync |= j->tool->delivery == WEFT_AT_MOST_ONCE;
    j->call->state = WR_CALL_STARTED;
    j->call->here  = true;
    return 0;
}

/* What becomes of one call: known, unknown, run now, or asked outside. */
static int plan(struct job *j, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    j->call            = wr_call_add(run, j->part->id, err);
    if (!j->call)
        return -UPP_ENOMEM;
    j->tool = find_tool(run->def, j->part->name);
    if (j->call->state == WR_CALL_ENDED) { /* answered, or before a restart */
        j->round->left--;
        return wr_execution_add(
            run,
            &(struct upp_execution){.id        = j->call->id,
                                    .name      = j->part->name,
                                    .arguments = j->part->text,
                                    .result    = j->call->result,
                                    .is_error  = j->call->outcome != WM_DONE,
                                    .approved  = j->call->outcome == WM_DENIED ? UPP_APPROVED_NO : UPP_APPROVED_YES},
            err);
    }
    if (!j->tool) {
        struct upp_str text = wb_arena_printf(&run->memory, "Tool '%.*s' not found", UPP_FMT(j->part->name));
        return text.p ? end_text(j, WM_ERROR, text, err) : wb_arena_check(&run->memory, err);
    }
    if (!upp__arguments_ok(j->part->text))
        return end_text(j, WM_ERROR, UPP_STR("the arguments are not a JSON object"), err);
    if (j->call->state == WR_CALL_STARTED)
        return take_up(j, err);
    if (j->tool->approval && !approved(run, j->call->id))
        return pend(j, true, err);
    return j->tool->kind == WR_TOOL_CLIENT ? pend(j, false, err) : begin(j, err);
}

static int plan_all(struct round *round, const struct weft_reply *reply, struct upp_err *err)
{
    round->jobs = wb_new_n(&round->run->memory, struct job, reply->n_calls);
    if (!round->jobs)
        return wb_arena_check(&round->run->memory, err);
    round->left = reply->n_calls;
    for (const struct upp_part *p = NULL; (p = upp_part_next(reply->message, p, UPP_PARTS_CALLS));) {
        if (p->cut)
            continue;
        struct job *j = &round->jobs[round->n++];
        j->round      = round;
        j->part       = p;
        int r         = plan(j, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static WEFT_SUSPENDS int run_all(struct round *round, uint32_t parallel, struct upp_err *err)
{
    size_t busy = 0;
    for (size_t i = 0; i < round->n; i++)
        busy += round->jobs[i].call->state == WR_CALL_STARTED && round->jobs[i].call->here;
    if (!busy)
        return 0;
    if (busy == 1)
        return work(round, err);
    WB_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
    for (size_t i = 0; i < WB_MIN(busy, parallel); i++) {
        int r = weft_scope_spawn(&scope, "tools", work, round, NULL, err);
        if (r < 0 && i == 0)
            return r;
        if (r < 0)
            break; /* fewer at a time */
    }
    int r = weft_scope_join(&scope, NULL);
    if (round->failed)
        return round->failed; /* err says why */
    round->err = NULL;        /* what fails while the scope is closed is not the reason */
    return r < 0 ? upp_fail(err, (enum upp_code) - r, "%s while tools ran", upp_code_text(r)) : 0;
}

/* The message of results: references for the log, the results themselves for the model. */
static int observe(struct round *round, struct upp_err *err)
{
    struct wr_run      *run   = round->run;
    struct upp_message *m     = wb_new(&run->memory, struct upp_message);
    struct upp_part    *parts = wb_new_n(&run->memory, struct upp_part, round->n);
    struct upp_str     *refs  = wb_new_n(&run->memory, struct upp_str, round->n);
    struct wm_entry    *entry = m && parts && refs ? wr_draft_entry(run, err) : NULL;
    if (!entry)
        return upp_fail(err, UPP_ENOMEM, "no memory for the results");
    for (size_t i = 0; i < round->n; i++) {
        struct wr_call *c = round->jobs[i].call;
        refs[i]           = c->id;
        parts[i]          = (struct upp_part){.kind     = UPP_PART_RESULT,
                                              .is_error = c->outcome != WM_DONE,
                                              .id       = c->id,
                                              .name     = round->jobs[i].part->name,
                                              .text     = c->result};
        c->shown          = true;
    }
    entry->message.role        = UPP_ROLE_TOOL;
    entry->refs                = refs;
    entry->n_refs              = round->n;
    *m                         = entry->message;
    m->parts                   = parts;
    m->n_parts                 = round->n;
    run->step_dirty            = true;
    int                      r = wr_mine_add(run, m, err);
    const struct weft_hooks *h = run->pub.hooks;
    if (r >= 0 && h && h->on_observe)
        r = h->on_observe(h->arg, &run->pub, run->pub.state.step + 1, m, err);
    return r;
}

static bool all_shown(struct wr_run *run, const struct weft_reply *reply)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(reply->message, p, UPP_PARTS_CALLS));) {
        const struct wr_call *c = p->cut ? NULL : wr_call_find(run, p->id);
        if (!p->cut && (!c || !c->shown))
            return false;
    }
    return true;
}

static WEFT_SUSPENDS int run_round(struct round *round, const struct weft_reply *reply, uint32_t parallel,
                                   struct upp_err *err)
{
    struct wr_run           *run = round->run;
    const struct weft_hooks *h   = run->pub.hooks;
    int                      r   = 0;
    run->pending.n               = 0;
    if (h && h->on_act)
        r = h->on_act(h->arg, &run->pub, run->pub.state.step + 1, reply->message, err);
    if (r >= 0)
        r = plan_all(round, reply, err);
    if (r >= 0 && round->left && !wr_draft_empty(run)) {
        wb_crashpoint("c2.before");
        r = run->pending.n == round->left ? 0 : wr_flush(run, NULL, err); /* C2; a wait has a row of its own */
        wb_crashpoint("c2.after");
    }
    if (r >= 0)
        r = run_all(round, parallel, err);
    if (r < 0)
        return r;
    return round->left ? wr_wait_for(run, err) : observe(round, err);
}

int weft_run_tools(struct weft_run *pub, const char *phase, const struct weft_reply *reply,
                   const struct weft_tools_opts *opts, struct upp_err *err)
{
    (void)phase; /* calls are told apart by their ids, which are unique on a path */
    struct wr_run *run = wr_of(pub);
    if (!reply->n_calls || all_shown(run, reply))
        return 0;
    if (reply->n_calls > WR_CALLS)
        return upp_fail(err, UPP_ELIMIT, "the model asked for more than %d tools at once", WR_CALLS);
    struct round round = {.run = run, .err = err};
    return run_round(&round, reply, opts && opts->parallel ? opts->parallel : PARALLEL, err);
}
