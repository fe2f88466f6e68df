/* run/execution.c — executes a run and ends it: completed, failed, cancelled; with the repairs that keep its thread
 * well-formed. */
#include "base/clock.h"
#include "base/crash.h"
#include "base/err.h"
#include "base/log.h"
#include "fiber/loop.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_json.h"
#include "run/journal.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/middleware.h"
#include "run/settings/settings.h"
#include "run/start.h"
#include "run/step.h"
#include "run/run.h"

static WEFT_SUSPENDS int work_on(struct wr_run *run, struct upp_err *err)
{
    if (run->unfit) {
        if (err)
            *err = *run->unfit;
        return -run->unfit->code;
    }
    if (!run->def)
        return upp_fail(err, UPP_ENOTFOUND, "agent '%.*s' is not defined any more", UPP_FMT(run->row.agent));
    if (run->row.cancel)
        return upp_fail(err, UPP_ECANCELED, "cancelled");
    /* Resumed between two steps: had the hook `stop` ended it? */
    bool between = run->pub.state.step && !run->step.dirty && !run->journal.replies.n && !run->journal.calls.n;
    int r = between && !run->handoff.turn_begins ? wr_should_stop(run, true, err) : 0;
    run->handoff.turn_begins = false;
    if (r)
        return r < 0 ? r : 0;
    const struct weft_strategy *s = run->def->strategy;
    bool stream = s->stream && !wb_list_empty(&run->tree->readers);
    uint64_t left = wr_budget_ms(run);
    if (left == UINT64_MAX)
        return stream ? s->stream(&run->pub, err) : s->execute(&run->pub, err);
    WEFT_DEADLINE(left);
    return stream ? s->stream(&run->pub, err) : s->execute(&run->pub, err);
}

int wr_execute(struct wr_run *run, struct upp_err *err)
{
    run->budget.began_ns = weft__loop_clock(run->engine->loop);
    int r;
    do {
        r = run->def && !run->row.cancel ? wr_before(run, err) : 0;
        if (r < 0)
            return wr_conclude_not_started(run, r, err);
        r = work_on(run, err);
    } while (r >= 0 && (r = wr_handoff(run, err)) > 0);
    return run->def ? wr_conclude(run, r, err) : r;
}

/* ---- Repairs ---------------------------------------------------------------------------------------------- */

/* The substitute for a result that will never come. */
static struct upp_str substitute_result(const struct wr_call *c, bool canceled, bool goes_on, uint8_t *outcome)
{
    if (c && c->state == WR_CALL_STARTED) {
        *outcome = WM_UNKNOWN;
        return canceled ? UPP_STR("outcome unknown: the run was cancelled while this ran")
                        : UPP_STR("outcome unknown: the run ended while this ran");
    }
    *outcome = WM_STOPPED;
    if (goes_on)
        return UPP_STR("not run: the agent went on without it");
    return canceled ? UPP_STR("not run: the run was cancelled") : UPP_STR("not run: the run ended before");
}

static int repair_call(struct wr_run *run, const struct upp_part *p, bool canceled, bool goes_on, struct upp_err *err)
{
    struct wr_call *c;
    int r = wr_call_add(run, p->id, &c, err);
    if (r < 0)
        return r;
    c->name = p->name;
    if (c->state == WR_CALL_ENDED)
        return 0;
    uint8_t outcome;
    struct upp_str json = wr_json_text(run, substitute_result(c, canceled, goes_on, &outcome));
    struct wm_event *ev = json.p ? wr_draft_record(run, WM_TOOL_ENDED, err) : NULL;
    if (!ev)
        return wr_draft_failed(run, err);
    ev->call.id = p->id;
    ev->call.name = p->name;
    ev->tool_ended.result = json;
    ev->tool_ended.outcome = outcome;
    c->state = WR_CALL_ENDED;
    c->outcome = outcome;
    c->result = json;
    return wr_child_usage_add(run, c, ev, err);
}

/* The run continues: its model receives the repair too. */
static int add_repair_to_path(struct wr_run *run, const struct wm_entry *e, struct upp_err *err)
{
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    struct upp_part *parts = wb_new_n(&run->memory, struct upp_part, e->n_refs);
    if (!m || !parts)
        return wb_arena_check(&run->memory, err);
    for (size_t i = 0; i < e->n_refs; i++) {
        struct wr_call *c = wr_call_find(run, e->refs[i]);
        parts[i] = (struct upp_part){.kind = UPP_PART_RESULT,
                                     .is_error = c->outcome != WM_DONE,
                                     .id = c->id,
                                     .name = c->name,
                                     .text = c->result};
        c->on_path = true;
    }
    *m = e->message;
    m->parts = parts;
    m->n_parts = e->n_refs;
    return wr_mine_add(run, m, err);
}

/* Adds one result for every call of the message that has none. */
static int repair_message(struct wr_run *run, const struct wr_journal_reply *journaled, bool canceled, bool goes_on,
                          struct upp_err *err)
{
    size_t n = 0;
    struct upp_str *refs = wb_new_n(&run->memory, struct upp_str, journaled->reply.n_calls);
    if (!refs)
        return wb_arena_check(&run->memory, err);
    for (const struct upp_part *p = NULL; (p = upp_part_next(journaled->reply.message, p, UPP_PARTS_CALLS));) {
        const struct wr_call *c = p->cut ? NULL : wr_call_find(run, p->id);
        if (p->cut || (c && c->on_path))
            continue;
        int r = repair_call(run, p, canceled, goes_on, err);
        if (r < 0)
            return r;
        refs[n++] = p->id;
    }
    struct wm_entry *e = n ? wr_draft_entry(run, err) : NULL;
    if (!n)
        return 0;
    if (!e)
        return wr_draft_failed(run, err);
    e->kind = WM_ENTRY_REPAIR;
    e->message.role = UPP_ROLE_TOOL;
    e->refs = refs;
    e->n_refs = n;
    return goes_on ? add_repair_to_path(run, e, err) : 0;
}

static int repair(struct wr_run *run, bool canceled, bool goes_on, struct upp_err *err)
{
    int r = 0;
    if (!run->journal.replies.n)
        return 0;
    for (size_t i = 0; r >= 0 && i < run->journal.replies.n; i++)
        r = run->journal.replies.p[i]->reply.n_calls && !run->journal.replies.p[i]->answered
                ? repair_message(run, run->journal.replies.p[i], canceled, goes_on, err)
                : 0;
    return r;
}

/* Ends the calls of branches (run/branch.c), which are in no message. Their runs have ended before. */
static __attribute__((noinline)) int repair_branches(struct wr_run *run, struct upp_err *err)
{
    for (size_t i = 0; i < run->journal.calls.n; i++) {
        struct wr_call *c = run->journal.calls.p[i];
        if (!wr_is_open_branch(c))
            continue;
        struct wm_event *ev = wr_draft_record(run, WM_TOOL_ENDED, err);
        if (!ev)
            return wr_draft_failed(run, err);
        ev->call.id = c->id;
        ev->tool_ended.result = UPP_STR("null");
        ev->tool_ended.outcome = WM_STOPPED;
        c->state = WR_CALL_ENDED;
        int r = wr_child_usage_add(run, c, ev, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int wr_repair(struct wr_run *run, bool canceled, struct upp_err *err)
{
    if (run->branch && !run->step.dirty)
        return 0; /* its step has ended, with its repairs */
    int r = repair(run, canceled, false, err);
    return r < 0 || !run->journal.calls.n ? r : repair_branches(run, err);
}

int wr_repair_continuing(struct wr_run *run, struct upp_err *err)
{
    return repair(run, false, true, err);
}

/* ---- The end ---------------------------------------------------------------------------------------------- */

static struct upp_str error_json(struct wr_run *run, const struct upp_err *why)
{
    struct wb_buf b = WB_BUF(8192);
    struct wj_writer w;
    wj_writer_init(&w, &b, NULL);
    wm_err_write(&w, why);
    struct upp_str s = wj_writer_check(&w) < 0 ? (struct upp_str){0} : wb_arena_dup(&run->memory, wb_buf_str(&b));
    wb_buf_done(&b);
    return s;
}

/* The limit that cut the run short; NULL: none, it had nothing more to do. ReAct notes its limit in the metadata. */
static const char *limit_of(struct wr_run *run)
{
    yyjson_val *v = NULL, *reached;
    const char *limit = run->budget.over && !run->budget.done ? run->budget.over : wr_settings_limit(run);
    if (limit)
        return limit;
    struct upp_str metadata = run->pub.state.metadata;
    if (wb_str_find(metadata, UPP_STR("maxStepsReached"), 0) == SIZE_MAX ||
        wj_read(&run->memory, metadata, NULL, &v, NULL) < 0)
        return NULL;
    reached = yyjson_obj_get(v, "maxStepsReached");
    return reached && yyjson_is_true(reached) ? "max_steps" : NULL;
}

static int last_records(struct wr_run *run, uint8_t status, const struct upp_err *why, struct upp_err *err)
{
    int r = wr_repair(run, status == WM_CANCELED, err);
    struct wm_event *ev = r >= 0 ? wr_draft_record(run, WM_RUN, err) : NULL;
    if (!ev)
        return r < 0 ? r : wr_draft_failed(run, err);
    ev->run.status = status;
    ev->step = run->pub.state.step;
    ev->run.usage = run->pub.state.usage;
    run->draft.state |= run->handoff.passing.to.n > 0; /* of a branch: its run hands over */
    if (status == WM_FAILED || status == WM_EXPIRED) {
        ev->run.error = error_json(run, why);
        if (!ev->run.error.p)
            return upp_fail(err, UPP_ENOMEM, "no memory for an error");
        run->row.error = ev->run.error;
    }
    const char *limit = status == WM_COMPLETED ? limit_of(run) : NULL;
    if (limit) {
        ev->run.error = wb_arena_printf(&run->memory, "{\"reason\":\"%s\"}", limit);
        if (!ev->run.error.p)
            return wb_arena_check(&run->memory, err);
        run->row.error = ev->run.error;
    }
    return 0;
}

static WEFT_SUSPENDS int end_run(struct wr_run *run, uint8_t status, const struct upp_err *why, struct upp_err *err)
{
    (void)wr_now(run);
    int r = last_records(run, status, why, err);
    if (r < 0)
        return r;
    struct wm_run row = run->row;
    row.status = status;
    row.epoch = run->tree->epoch;
    row.usage = run->pub.state.usage;
    row.ended_ms = run->time_ms;
    row.expires_ms = 0;
    struct wl_thread thread = {.id = row.thread, .updated_ms = wl_list_time(run->engine->store, run->time_ms)};
    struct wl_change last[] = {{.kind = WL_SET_RUN, .run = &row},
                               {.kind = WL_HOLD_NODE, .hold = {run->row.node, run->row.id, {{0}}}},
                               {.kind = WL_TOUCH_THREAD, .thread = &thread}};
    wb_crashpoint("end.before");
    r = wr_flush(run, &(struct wr_more){last, row.depth ? 2 : 3}, err); /* threads of children are not listed */
    wb_crashpoint("end.after");
    run->changing = false;
    if (r >= 0) {
        run->row.status = row.status;
        run->row.epoch = row.epoch;
        run->row.usage = row.usage;
        run->row.ended_ms = row.ended_ms;
        run->row.expires_ms = row.expires_ms;
        run->row.version++;
        run->engine->counts.ended++;
        wr_note_run(run, WR_RUN_ENDED, status == WM_FAILED || status == WM_EXPIRED ? why : NULL);
        if (!run->row.depth)
            wr_quota_leave(run->engine, &run->tree->owner, wr_run_key(&run->row), &run->row.usage);
        if (!run->row.depth)
            wr_failed_run_over(run->engine, run->row.id);
    }
    return r;
}

static uint8_t status_of(const struct wr_run *run, int result)
{
    if (run->row.cancel || result == -UPP_ECANCELED)
        return WM_CANCELED;
    if (result == -UPP_ETIMEOUT && run->row.status == WM_WAITING)
        return WM_EXPIRED;
    return result >= 0 ? WM_COMPLETED : WM_FAILED;
}

/* Gives the turn, or what there is of it, to the caller of wr_join. */
static void deliver_turn(struct wr_run *run, int result, const struct upp_err *why)
{
    struct wr_outcome *o = run->row.depth ? NULL : run->tree->outcome;
    if (!o || o->set)
        return;
    o->set = true;
    o->result = result;
    if (result < 0)
        o->why = *why;
    bool begun = run->mine.n > (run->pub.input != NULL);
    int r = 0;
    o->turn = WB_TAKE(run->turn);
    if (!o->turn && result >= 0)
        r = wr_turn_last(run, &o->turn, &o->why);
    else if (!o->turn && begun)
        r = wr_turn(run, (struct wr_mark){0}, result == -UPP_ECANCELED, &o->turn, &o->why);
    if (r < 0)
        o->result = r;
}

int wr_end(struct wr_run *run, int result, const struct upp_err *why, struct upp_err *err)
{
    WEFT_SHIELD(WR_END_MS);
    wr_row_claim(run); /* an earlier cancel counts; a later one finds a run that has ended */
    uint8_t status = status_of(run, result);
    int r = 0;
    if (status != WM_COMPLETED && (r = wr_children_end(run, result, why, err)) < 0)
        return r;
    r = end_run(run, status, why, err);
    if (r >= 0)
        deliver_turn(run, status == WM_CANCELED ? -UPP_ECANCELED : result, why);
    return r;
}

int wr_finish(struct wr_run *run, int result, const struct upp_err *why, struct upp_err *err)
{
    if (result < 0 && run->engine->store && !run->tree->refused && wl_may_pass(why)) {
        run->tree->refused = result; /* what could not be read for now is no result */
        if (err)
            *err = *why;
        return result;
    }
    /* A wait is committed already. When the engine closes, or the store failed, recovery continues from the log. */
    if (run->engine->closing && result < 0 && !run->draft.open && !wr_draft_empty(run) && !run->tree->refused)
        return wr_flush(run, NULL, err); /* known results, but no partial message */
    if (result == -UPP_EWAIT)
        deliver_turn(run, result, why);
    if (result == -UPP_EWAIT || run->tree->refused || (run->engine->closing && result < 0))
        return 0;
    return wr_end(run, result, why, err);
}

/* ---- Fibers of roots ----------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int work(struct wr_run *run, struct upp_err *err)
{
    struct upp_err why;
    wb_err_init(&why);
    int r = run->loaded ? 0 : wr_load(run, &why);
    run->loaded = r >= 0;
    if (r >= 0)
        r = wr_execute(run, &why);
    return wr_finish(run, r, &why, err);
}

static WEFT_SUSPENDS void run_gone(struct wr_run *run)
{
    struct wr_tree *t = run->tree;
    wr_row_claim(run); /* a cancel that is being written reads this row */
    t->run = NULL;
    run->engine->working--;
    wr_run_free(run);
}

void wr_tree_disown(struct wr_run *run)
{
    struct wr_tree *t = run->tree;
    t->refs++;
    t->run = NULL;
    wr_run_free(run);
    wr_tree_wake(t);
    wr_tree_unref(t);
}

static WEFT_SUSPENDS int root_main(void *arg, struct upp_err *err)
{
    struct wr_run *run = arg;
    struct wr_tree *t = run->tree;
    struct wr_engine *e = run->engine;
    t->refs++;
    t->fiber = weft_fiber_self();
    weft_cond_broadcast(&t->changed); /* now it can be cancelled */
    while (run->gate == WR_SHUT) {
        struct weft_shield shield = weft__shield_forever();
        int r = weft_cond_wait(&run->at_gate, NULL);
        weft_shield_end(&shield);
        (void)r; /* shielded: whoever launched it opens the gate */
    }
    int r = 0;
    struct wb_uuid thread = run->row.thread;
    bool go = run->gate == WR_GO;
    if (go) {
        r = work(run, err);
        if (r < 0) {
            t->refused = r;
            wb_log(WB_WARN, "a run could not be ended", WB_LERR(err));
        }
        if (t->refused)
            wr_failed_run(run, t->refused, true);
    }
    bool ended = go && !t->refused && wm_status_ended(t->status);
    run_gone(run);
    if (ended && e->store && !e->closing) {
        WEFT_SHIELD(WR_END_MS);
        wr_start_next_or_later(e, &t->owner, thread);
    }
    t->fiber = NULL;
    wr_tree_wake(t);
    weft_cond_broadcast(&e->moved);
    wr_tree_unref(t);
    return r;
}

static int may_work(const struct wr_run *run, struct upp_err *err)
{
    const struct wr_engine *e = run->engine;
    if (e->closing)
        return upp_fail(err, UPP_EREFUSED, "the engine is closing");
    if (e->working >= e->opts.max_runs && !run->row.cancel) /* one that was cancelled only ends */
        return wb_fail_full(err, "%u runs work already", e->opts.max_runs);
    return 0;
}

static void mark_working(struct wr_run *run)
{
    run->engine->working++;
    run->tree->run = run;
}

int wr_launch(struct wr_run *run, struct upp_err *err)
{
    struct wr_engine *e = run->engine;
    int r = may_work(run, err);
    if (r >= 0)
        r = weft_scope_spawn(&e->scope, "run", root_main, run, NULL, err);
    if (r < 0)
        return r;
    mark_working(run);
    return 0;
}

int wr_launch_here(struct wr_run *run, struct upp_err *err)
{
    int r = may_work(run, err);
    if (r < 0)
        return r;
    mark_working(run);
    run->gate = WR_GO;
    return 0;
}

void wr_work_here(struct wr_run *run)
{
    struct upp_err err;
    int r = root_main(run, &err);
    (void)r; /* the tree has the error */
}

void wr_go(struct wr_run *run, bool committed)
{
    run->gate = committed ? WR_GO : WR_STOP;
    weft_cond_signal(&run->at_gate);
}
