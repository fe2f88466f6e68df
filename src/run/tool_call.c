/* run/tool_call.c — one call of a tool, from the message to its result (docs/tools.md has the table). */
#include <upp/schema.h>

#include "base/crash.h"
#include "base/err.h"
#include "base/mask_stream.h"
#include "base/utf8.h"
#include "base/vec_add.h"
#include "fiber/loop.h"
#include "json/read.h"
#include "json/schema.h"
#include "json/value.h"
#include "json/write.h"
#include "model/limits.h"
#include "run/journal.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/step.h"
#include "run/tools.h"
#include "run/run.h"

enum {
    TOOL_MS = 600000,
    TOOL_BYTES = 1 << 20,
    LEAST = 4096, /* bytes of a result that are never cut */
    ESCAPED = 6,  /* bytes of JSON for one byte of text, at most */
};
_Static_assert(ESCAPED *TOOL_BYTES + LEAST * WR_CALLS < WM_RESULTS_MAX,
               "the longest result of one tool is not cut again");

struct upp_str wr_json_text(struct wr_run *run, struct upp_str text)
{
    struct wb_buf b = WB_BUF(8 * text.n + 16);
    struct wj_writer w;
    wj_writer_init(&w, &b, NULL);
    wj_write_str(&w, text.p ? text : UPP_STR(""));
    struct upp_str s = wj_writer_check(&w) < 0 ? (struct upp_str){0} : wb_arena_dup(&run->memory, wb_buf_str(&b));
    wb_buf_done(&b);
    return s;
}

/* The beginning of a text with a mark, as JSON. */
static struct upp_str cut_text(struct wr_run *run, struct wb_arena *a, struct upp_str text, size_t max)
{
    struct upp_str parts[] = {wb_str(text.p, wb_utf8_cut(text, WB_MIN(text.n, max))),
                              UPP_STR(" [cut: the results of this message are too long together]")};
    return wr_json_text(run, wb_arena_join(a, parts, WB_LEN(parts)));
}

int wr_result_fit(struct wr_run *run, struct upp_str *json, struct upp_err *err)
{
    size_t used = 0;
    for (size_t i = 0; i < run->journal.calls.n; i++) {
        const struct wr_call *c = run->journal.calls.p[i];
        if (c->state == WR_CALL_ENDED && !c->on_path)
            used += c->result.n;
    }
    if (json->n <= LEAST || (used <= WM_RESULTS_MAX && json->n <= WM_RESULTS_MAX - used))
        return 0;
    size_t room = used + LEAST < WM_RESULTS_MAX ? WM_RESULTS_MAX - used : LEAST;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WR_RUN_MEMORY);
    yyjson_val *v;
    int r = wj_read(&a, *json, UPP_OPTS(wj_read_opts, .max_bytes = json->n, .depth = WJ_MAX_DEPTH), &v, err);
    if (r < 0)
        return r;
    struct upp_str text = yyjson_is_str(v) ? wj_text(v) : *json;
    *json = cut_text(run, &a, text, room / 2);
    if (json->n > room)
        *json = cut_text(run, &a, text, room / ESCAPED);
    r = wb_arena_check(&a, err);
    return r < 0 || json->p ? r : upp_fail(err, UPP_ENOMEM, "no memory for the result of a tool");
}

struct upp_str wr_call_arguments(const struct wr_job *j)
{
    struct upp_str text = j->call->arguments.p ? j->call->arguments : j->part->text;
    return wb_str_trim(text).n ? text : UPP_STR("{}");
}

static struct wr_active_call *doing_of(const struct upp_call *call)
{
    union {
        const struct upp_call *in;
        struct upp_call *out;
    } u = {.in = call};
    return WB_OUTER(u.out, struct wr_active_call, call.pub);
}

struct weft_run *weft_call_run(const struct upp_call *call)
{
    struct wr_run *run = doing_of(call)->run;
    return run ? &run->pub : NULL;
}

/* RUN/STEP/CALL: the same when the call is run again. Written on first use. */
static void write_key(struct wr_run *run, struct upp_str call, struct upp_str *key, char *to)
{
    char digits[10];
    size_t d = 0, n = WB_UUID_TEXT;
    uint32_t v = run->pub.state.step + 1;
    wb_uuid_text(run->row.id, to);
    to[n++] = '/';
    do
        digits[d++] = (char)('0' + v % 10);
    while (v /= 10);
    while (d)
        to[n++] = digits[--d];
    to[n++] = '/';
    memcpy(to + n, call.p, call.n);
    *key = wb_str(to, n + call.n);
}

struct upp_str weft_call_key(const struct upp_call *call)
{
    struct wr_active_call *d = doing_of(call);
    if (d->key_room)
        write_key(d->run, call->id, &d->key, WB_TAKE(d->key_room));
    return d->key;
}

/* ---- How a call ends -------------------------------------------------------------------------------------------- */

static uint8_t approval_of(const struct wr_call *c)
{
    if (c->outcome == WM_DENIED)
        return UPP_APPROVED_NO;
    return c->begun ? UPP_APPROVED_YES : UPP_APPROVED_UNASKED;
}

int wr_call_count(struct wr_job *j, struct upp_err *err)
{
    static const struct upp_str denied = UPP_STR_INIT("\"Tool execution denied\"");
    struct wr_call *c = j->call;
    if (c->counted)
        return 0;
    c->counted = true;
    return wr_execution_add(j->round->run,
                            &(struct upp_execution){.id = c->id,
                                                    .name = j->part->name,
                                                    .arguments = wr_call_arguments(j),
                                                    .result = c->outcome == WM_DENIED ? denied : c->result,
                                                    .is_error = c->outcome != WM_DONE,
                                                    .approved = approval_of(c),
                                                    .duration_ms = c->ms},
                            err);
}

/* Puts the result into the journal and the draft. */
static int end_call(struct wr_job *j, uint8_t outcome, struct upp_str json, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    struct wr_call *c = j->call;
    int r = json.n ? wb_masks_value(&run->memory, &json, err) : 0;
    if (r >= 0)
        r = wr_result_fit(run, &json, err);
    if (r < 0)
        return r;
    (void)wr_now(run);
    struct wm_event *ev = json.p ? wr_draft_record(run, WM_TOOL_ENDED, err) : NULL;
    if (!ev)
        return wr_draft_failed(run, err);
    ev->call.id = c->id;
    ev->call.name = j->part->name;
    ev->tool_ended.result = json;
    ev->tool_ended.outcome = outcome;
    ev->tool_ended.ms = c->ms;
    c->state = WR_CALL_ENDED;
    c->outcome = outcome;
    c->result = json;
    j->ready = false;
    j->round->left--;
    r = wr_child_usage_add(run, c, ev, err);
    return r < 0 ? r : wr_call_count(j, err);
}

static int end_text(struct wr_job *j, uint8_t outcome, struct upp_str text, struct upp_err *err)
{
    return end_call(j, outcome, wr_json_text(j->round->run, text), err);
}

/* Hooks are called one at a time, also those of calls that end while another one's hook is suspended. */
static WEFT_SUSPENDS int hook_take(struct wr_round *round, struct upp_err *err)
{
    while (round->hooking) {
        int r = weft_cond_wait(&round->hooked, err);
        if (r < 0)
            return r;
    }
    round->hooking = true;
    return 0;
}

static void hook_leave(struct wr_round *round)
{
    round->hooking = false;
    weft_cond_signal(&round->hooked);
}

/* Something around the call failed: the model receives `text`, on_error `why`. A failure of on_error ends the run; the
 * result stays. */
static WEFT_SUSPENDS int end_reported(struct wr_job *j, uint8_t outcome, struct upp_str text, const struct upp_err *why,
                                      struct upp_err *err)
{
    const struct upp_tool_strategy *h = j->round->hooks;
    int r = end_text(j, outcome, text, err);
    if (r >= 0 && h->on_error)
        r = hook_take(j->round, err);
    if (r < 0 || !h->on_error)
        return r;
    r = h->on_error(h->arg, &j->doing.call.pub, why, err);
    hook_leave(j->round);
    return r;
}

static WEFT_SUSPENDS int end_failed(struct wr_job *j, uint8_t outcome, const struct upp_err *why, struct upp_err *err)
{
    return end_reported(j, outcome, wb_cstr(why->msg[0] ? why->msg : upp_code_text(why->code)), why, err);
}

static WEFT_SUSPENDS int refused(struct wr_job *j, uint8_t outcome, const char *text, struct upp_err *err)
{
    struct upp_err why = {0};
    (void)upp_fail(&why, UPP_EREFUSED, "%s", text);
    return end_failed(j, outcome, &why, err);
}

/* ---- Before it runs --------------------------------------------------------------------------------------------- */

/* The arguments as rules, approvals and the tool receive them. If there are none the call ends here, with those that it
 * had before. The message keeps what the model wrote. Not inlined: errors are large. */
static WEFT_SUSPENDS __attribute__((noinline)) int take(struct wr_job *j, struct upp_str before, struct upp_err *err)
{
    struct upp_str *args = &j->doing.call.pub.arguments;
    struct upp_err why;
    wb_err_init(&why);
    int r = upp__call_take(&j->doing.call, &j->round->run->memory, &why);
    if (r >= 0 && j->tool && j->tool->adapter) /* no model wrote it, and its bytes are those of an audit record */
        *args = before;
    if (r >= 0 && args->p != before.p)
        j->call->arguments = *args;
    if (r >= 0)
        return 0;
    *args = before;
    if (r == -UPP_EINVALID)
        return refused(j, WM_INVALID, why.msg, err);
    if (err)
        *err = why;
    return r;
}

/* Hooks or middleware may have replaced the arguments. */
static WEFT_SUSPENDS int take_arguments(struct wr_job *j, struct upp_str before, struct upp_err *err)
{
    struct upp_call *c = &j->doing.call.pub;
    struct wb_arena *a = &j->round->run->memory;
    if (c->arguments.p == before.p && c->arguments.n == before.n)
        return 0;
    c->arguments = wb_arena_dup(a, c->arguments);
    int r = wb_arena_check(a, err);
    if (r >= 0)
        r = take(j, before, err);
    return r;
}

static WEFT_SUSPENDS int before(struct wr_job *j, struct upp_err *err)
{
    const struct upp_tool_strategy *h = j->round->hooks;
    struct upp_call *c = &j->doing.call.pub;
    struct upp_str args = c->arguments;
    struct upp_err why;
    wb_err_init(&why);
    int r = h->on_call ? h->on_call(h->arg, c, &why) : 0;
    if (r >= 0)
        r = h->on_before ? h->on_before(h->arg, c, &why) : 1;
    if (r > 0)
        return take_arguments(j, args, err);
    c->arguments = args;
    return r < 0 ? end_failed(j, WM_ERROR, &why, err) : refused(j, WM_ERROR, "Tool execution skipped", err);
}

/* Middleware's check of the call. A call that could not be checked does not run. Not inlined: errors are large. */
static WEFT_SUSPENDS __attribute__((noinline)) int screen(struct wr_job *j, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    const struct wr_middleware *m = run->def->middleware;
    struct upp_call *c = &j->doing.call.pub;
    struct upp_str args = c->arguments;
    struct upp_err why = {0};
    if (!m || !m->call)
        return 0;
    int r = m->call(m->arg, &run->pub, c, &why);
    if (r >= 0)
        return take_arguments(j, args, err);
    c->arguments = args;
    if (r != -UPP_ENOMEM && r != -UPP_ESTORE && r != -UPP_ECANCELED)
        return end_failed(j, WM_ERROR, &why, err);
    if (err)
        *err = why;
    return r;
}

/* Why the arguments do not match the schema: the model gets every reason. A report is too large for a fiber's frame. */
static WEFT_SUSPENDS int report_mismatch(struct wr_job *j, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    struct upp_schema_report *report = wb_new(&run->memory, struct upp_schema_report);
    struct upp_err why = {0};
    if (!report)
        return wb_arena_check(&run->memory, err);
    int r = upp_schema_check(j->tool->schema, j->doing.call.pub.arguments, NULL, report, &why);
    if (r == -UPP_ENOMEM) {
        if (err)
            *err = why;
        return r;
    }
    if (r <= 0) /* 0: they do match; the first check had no memory */
        return r < 0 ? end_failed(j, WM_INVALID, &why, err) : 0;
    (void)upp_fail(&why, UPP_EINVALID, "the arguments do not fit: %s", report->text);
    struct upp_str text = wb_arena_printf(&run->memory, "the arguments do not fit:\n%s", report->text);
    return text.p ? end_reported(j, WM_INVALID, text, &why, err) : wb_arena_check(&run->memory, err);
}

static WEFT_SUSPENDS int check(struct wr_job *j, struct upp_err *err)
{
    struct upp__call *c = &j->doing.call;
    const struct upp_schema *schema = j->tool->schema;
    if (!schema || (upp__call_read(c, NULL) >= 0 && wj_schema_check(schema, c->args, NULL, NULL, NULL) == 0))
        return 0;
    return report_mismatch(j, err);
}

/* Adds the call to those that the run will wait for. */
static int pend(struct wr_job *j, bool approval, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    struct wm_pending p = {.call = j->call->id,
                           .name = j->part->name,
                           .arguments = j->doing.call.pub.arguments,
                           .run = run->row.id,
                           .approval = approval};
    j->waits = approval ? WR_WAITS_APPROVAL : WR_WAITS_OUTSIDE;
    return wb_vec_add(&run->journal.pending, p, (size_t)WR_STEP_CALLS, "calls that wait", err);
}

/* A function may approve, deny, or leave it to a person; the flag asks a person too. A call that a person has approved
 * is not asked about again. */
static WEFT_SUSPENDS int approve(struct wr_job *j, struct upp_err *err)
{
    struct upp_call *c = &j->doing.call.pub;
    struct upp_err why;
    if (j->call->approved)
        return 0;
    wb_err_init(&why);
    int r = j->tool->base.approval ? j->tool->base.approval(c, &why) : 1;
    if (r < 0)
        return end_failed(j, WM_ERROR, &why, err);
    int all = r ? wr_approve(j->round->run, c, &why) : 0; /* handlers of the run and its ancestors */
    if (all < 0)
        return end_failed(j, WM_ERROR, &why, err);
    if (all == 0)
        return end_text(j, WM_DENIED, UPP_STR("Tool execution denied by approval handler"), err);
    r = WB_MAX(r, all);
    return r == WEFT_PENDING || j->tool->approval ? pend(j, true, err) : 0;
}

/* What hooks, handlers and functions see of the call. */
static int open_call(struct wr_job *j, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    j->doing.run = run;
    j->doing.key_room = wb_arena_alloc(&run->memory, WB_UUID_TEXT + 12 + j->call->id.n, 1);
    j->doing.call.pub = (struct upp_call){.tool = &j->tool->base,
                                          .id = j->call->id,
                                          .name = j->part->name,
                                          .arguments = wr_call_arguments(j),
                                          .arg = j->tool->base.arg,
                                          .wait = &run->engine->wait};
    return j->doing.key_room ? 0 : wb_arena_check(&run->memory, err);
}

static int call_begin(struct wr_job *j, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    (void)wr_now(run);
    struct wm_event *ev = wr_draft_record(run, WM_TOOL_STARTED, err);
    if (!ev)
        return wr_draft_failed(run, err);
    if (j->tool->kind == WR_TOOL_AGENT) {
        int r = wr_child_new_id(run, j->call, err);
        if (r < 0)
            return r;
        wr_agent_message(run);
    }
    ev->call.id = j->call->id;
    ev->call.name = j->part->name;
    ev->tool_started.arguments = j->doing.call.pub.arguments;
    ev->tool_started.child = j->call->child;
    ev->tool_started.child_node = j->call->child_node;
    run->draft.must_sync |= j->tool->delivery == WEFT_AT_MOST_ONCE && j->tool->kind != WR_TOOL_HANDOFF;
    j->call->state = WR_CALL_STARTED;
    j->call->begun = true;
    j->ready = true;
    return 0;
}

static const struct upp_str outcome_unknown = UPP_STR_INIT("outcome unknown: the server stopped while this ran");

/* Started before a restart and not ended: the outcome is unknown, unless it is a child or may be run again. */
static int resume_call(struct wr_job *j, struct upp_err *err)
{
    if (j->tool->kind == WR_TOOL_FUNCTION && j->tool->delivery == WEFT_AT_MOST_ONCE)
        return end_text(j, WM_UNKNOWN, outcome_unknown, err);
    j->ready = true;
    return 0;
}

/* Hooks, middleware, schema, approval: each may end the call. */
static WEFT_SUSPENDS int run_checks(struct wr_job *j, struct upp_err *err)
{
    int r = 0;
    if (!j->call->asked) {
        const struct upp_tool_strategy *h = j->round->hooks;
        r = h->on_call || h->on_before ? before(j, err) : 0;
        if (r >= 0 && j->call->state != WR_CALL_ENDED)
            r = screen(j, err);
        if (r >= 0 && j->call->state != WR_CALL_ENDED)
            r = check(j, err);
    }
    bool asks = j->tool->base.approval || j->tool->approval || wr_has_rights(j->round->run);
    if (r >= 0 && asks && j->call->state != WR_CALL_ENDED)
        r = approve(j, err);
    return r;
}

/* Not inlined: an error and a report of the schema are too large for one frame. */
static WEFT_SUSPENDS __attribute__((noinline)) int check_rights(struct wr_job *j, struct upp_err *err)
{
    struct upp_err why;
    wb_err_init(&why);
    return wr_may_call(j->round->run, j->tool, &why) < 0 ? end_failed(j, WM_ERROR, &why, err) : 0;
}

int wr_call_prepare(struct wr_job *j, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    if (j->call->state == WR_CALL_ENDED)
        return 0;
    if (!j->tool) {
        struct upp_str text = wb_arena_printf(&run->memory, "Tool '%.*s' not found", UPP_FMT(j->part->name));
        return text.p ? end_text(j, WM_ERROR, text, err) : wb_arena_check(&run->memory, err);
    }
    int r = open_call(j, err);
    if (r < 0)
        return r;
    if (j->call->state == WR_CALL_STARTED)
        return resume_call(j, err);
    if (j->tool->kind == WR_TOOL_AGENT || wr_has_rights(run))
        r = check_rights(j, err);
    if (r < 0 || j->call->state == WR_CALL_ENDED)
        return r;
    r = take(j, j->doing.call.pub.arguments, err);
    if (r < 0 || j->call->state == WR_CALL_ENDED)
        return r;
    r = run_checks(j, err);
    if (r < 0 || j->call->state == WR_CALL_ENDED || j->waits)
        return r;
    if (weft_fiber_canceled())
        return upp_fail(err, UPP_ECANCELED, "cancelled");
    if (j->tool->kind == WR_TOOL_CLIENT)
        return pend(j, false, err);
    if (j->tool->kind == WR_TOOL_FUNCTION && !j->tool->base.run)
        return refused(j, WM_ERROR, "this tool has no function", err);
    return call_begin(j, err);
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int call_function(struct wr_job *j, struct upp_value *value, bool *left, struct upp_err *err)
{
    if (j->tool->kind == WR_TOOL_HANDOFF)
        return wr_handoff_call(j->round->run, j->tool, &j->doing.call.pub, value, err);
    WEFT_DEADLINE(j->tool->timeout_ms ? j->tool->timeout_ms : TOOL_MS); /* reads the clock */
    if (j->tool->base.blocking)
        return wr_call_on_worker(j, value, left, err);
    return j->tool->base.run(&j->doing.call.pub, value, err);
}

/* The tool returned a value: on_after may write another one. After a cancel the value stays as it is. */
static WEFT_SUSPENDS int after(struct wr_job *j, struct upp_value *value, struct upp_err *why)
{
    const struct upp_tool_strategy *h = j->round->hooks;
    if (!h->on_after || weft_fiber_canceled() || hook_take(j->round, NULL) < 0)
        return 0;
    int r = h->on_after(h->arg, &j->doing.call.pub, value, why);
    hook_leave(j->round);
    return r < 0 && weft_fiber_canceled() ? 0 : r;
}

/* Ends the call. One that was stopped does not end here: the end of the run records its outcome. */
static WEFT_SUSPENDS int call_finish(struct wr_job *j, int r, struct upp_value *value, struct upp_err *why,
                                     struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    bool stopped =
        (r == -UPP_ECANCELED && weft_fiber_canceled()) || (r == -UPP_ESTORE && j->tool->kind == WR_TOOL_AGENT);
    if (stopped) {
        if (err)
            *err = *why;
        return r;
    }
    if (r >= 0)
        r = after(j, value, why);
    if (r < 0)
        return end_failed(j, WM_ERROR, why, err);
    return end_call(j, value->is_error ? WM_ERROR : WM_DONE, wb_arena_dup(&run->memory, upp_value_get(value)), err);
}

/* An abandoned call: after a cancel the end of the run records it. */
static WEFT_SUSPENDS int end_abandoned(struct wr_job *j, struct upp_err *err)
{
    if (weft_fiber_canceled())
        return upp_fail(err, UPP_ECANCELED, "cancelled");
    struct upp_err why = {0};
    (void)upp_fail(&why, UPP_ETIMEOUT, "outcome unknown: it did not return in time");
    return end_failed(j, WM_UNKNOWN, &why, err);
}

int wr_call_run(struct wr_job *j, struct upp_err *err)
{
    struct wr_run *run = j->round->run;
    struct weft_loop *l = run->engine->loop;
    struct upp_value value;
    struct upp_err why;
    bool left = false;
    if (weft_fiber_canceled())
        return upp_fail(err, UPP_ECANCELED, "cancelled");
    wb_err_init(&why);
    wr_value_take(&run->engine->pools, &value);
    value.max = j->tool->max_result ? j->tool->max_result : TOOL_BYTES;
    uint64_t from = weft__loop_clock(l);
    wb_crashpoint("tool.start");
    int r = j->tool->kind == WR_TOOL_AGENT ? wr_child(run, j->call, j->tool, j->doing.call.pub.arguments, &value, &why)
                                           : call_function(j, &value, &left, &why);
    wb_crashpoint("tool.end");
    uint64_t ns = weft__loop_clock(l) - from;
    j->call->ms = ns / 1000000;
    if (r == -UPP_EWAIT && j->tool->kind == WR_TOOL_AGENT) {
        j->waits = WR_WAITS_OUTSIDE;
        r = 0;
    } else {
        r = left ? end_abandoned(j, err) : call_finish(j, r, &value, &why, err);
        const struct wr_monitor *m = run->engine->monitor;
        if (m)
            m->tool(m->arg, &(struct wr_tool_note){.of = wr_note_of(run),
                                                   .tool = j->tool->spec.name,
                                                   .call = j->call->id,
                                                   .outcome = r < 0 ? WM_STOPPED : j->call->outcome,
                                                   .ns = ns});
        /* C3, unless it is the last result: that is committed with the end of the step. */
        if (r >= 0 && j->round->left) {
            r = wr_flush(run, NULL, err);
            wb_crashpoint("c3.after");
        }
    }
    wr_value_give(&run->engine->pools, &value);
    return r;
}
