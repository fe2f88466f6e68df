/* run/tools.c — runs the calls of a message: takes results from the journal, runs what is missing, waits for the rest.
 *
 * C2 before the first tool of a group starts; C3 when one ends and others have not; the last result is committed with
 * the row that ends the step, so that a round costs one commit less.
 */
#include <stdatomic.h>

#include "base/crash.h"
#include "base/hooks.h"
#include "fiber/worker.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/step.h"
#include "run/tools.h"
#include "run/run.h"

enum { PARALLEL = 16, ARGUMENT_BYTES = 64 << 20 };

/* ---- Order ---------------------------------------------------------------------------------------------------------
 *
 * Repeatedly collects all calls whose `after` is done; if one of them is sequential each becomes a group of its own,
 * else they are one group. When nothing can be collected, names in `after` that have no call are ignored; and when that
 * does not help (a cycle) the rest is collected as it is.
 */

enum { NOW = WR_CALLS + 1, NOT_YET }; /* instead of a group */

static bool names(const struct wr_tool *tool, struct upp_str name)
{
    for (size_t i = 0; tool && i < tool->n_after; i++)
        if (wb_str_eq(tool->after[i], name))
            return true;
    return false;
}

/* Do all calls of that name have a group? `absent`: the result if there are none. */
static bool placed(const struct wr_round *round, struct upp_str name, bool absent)
{
    bool found = false;
    for (size_t i = 0; i < round->n; i++)
        if (wb_str_eq(round->jobs[i].part->name, name)) {
            if (round->jobs[i].group >= NOW)
                return false;
            found = true;
        }
    return found || absent;
}

static bool may_come(const struct wr_round *round, const struct wr_job *j, bool absent)
{
    for (size_t i = 0; j->tool && i < j->tool->n_after; i++)
        if (!placed(round, j->tool->after[i], absent))
            return false;
    return true;
}

enum how { STRICT, WITHOUT_ABSENT, ALL };

static size_t collect(struct wr_round *round, enum how how)
{
    size_t n = 0;
    for (size_t i = 0; i < round->n; i++) {
        struct wr_job *j = &round->jobs[i];
        if (j->group == NOT_YET && (how == ALL || may_come(round, j, how == WITHOUT_ABSENT))) {
            j->group = NOW;
            n++;
        }
    }
    return n;
}

/* Gives each job its group: groups run one after the other, the jobs of one concurrently. */
static void order(struct wr_round *round)
{
    bool any = false;
    for (size_t i = 0; i < round->n; i++) {
        const struct wr_tool *tool = round->jobs[i].tool;
        any |= tool && (tool->n_after || tool->sequential);
        round->jobs[i].group = NOT_YET;
    }
    round->n_groups = 0;
    for (size_t left = round->n; left;) {
        size_t n = 0;
        for (enum how how = STRICT; !n; how++)
            n = collect(round, any ? how : ALL);
        left -= n;
        bool alone = false;
        for (size_t i = 0; i < round->n; i++)
            alone |= round->jobs[i].group == NOW && round->jobs[i].tool && round->jobs[i].tool->sequential;
        for (size_t i = 0; i < round->n; i++)
            if (round->jobs[i].group == NOW)
                round->jobs[i].group = alone ? round->n_groups++ : round->n_groups;
        round->n_groups += !alone;
    }
}

/* Must it wait for a call of an earlier group that has not ended? */
static bool held_up(const struct wr_job *j)
{
    const struct wr_round *round = j->round;
    for (size_t i = 0; i < round->n; i++) {
        const struct wr_job *other = &round->jobs[i];
        if (other->group >= j->group || other->call->state == WR_CALL_ENDED)
            continue;
        bool alone = (j->tool && j->tool->sequential) || (other->tool && other->tool->sequential);
        if (names(j->tool, other->part->name) || (alone && other->waits == WR_WAITS_OUTSIDE))
            return true;
    }
    return false;
}

/* ---- Groups ----------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int work(void *arg, struct upp_err *err)
{
    struct wr_round *round = arg;
    int r = 0;
    while (r >= 0 && round->next < round->n && !round->failed) {
        struct wr_job *j = &round->jobs[round->next++];
        if (j->ready && j->group == round->group)
            r = wr_call_run(j, err);
    }
    if (r < 0 && !round->failed) {
        round->failed = r;
        if (err && round->err && err != round->err)
            *round->err = *err;
    }
    return r;
}

static WEFT_SUSPENDS int run_group(struct wr_round *round, size_t busy, uint32_t parallel, struct upp_err *err)
{
    round->next = 0;
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

/* Prepares the calls of a group in order, and commits the start of those that may run. */
static WEFT_SUSPENDS int start_group(struct wr_round *round, size_t *busy, struct upp_err *err)
{
    *busy = 0;
    for (size_t i = 0; i < round->n; i++) {
        struct wr_job *j = &round->jobs[i];
        if (j->group != round->group || held_up(j))
            continue;
        int r = wr_call_prepare(j, err);
        if (r < 0)
            return r;
        *busy += j->ready;
    }
    if (!*busy || wr_draft_empty(round->run))
        return 0;
    wb_crashpoint("c2.before");
    int r = wr_flush(round->run, NULL, err); /* C2; a wait has a row of its own */
    wb_crashpoint("c2.after");
    return r;
}

static WEFT_SUSPENDS int run_groups(struct wr_round *round, uint32_t parallel, struct upp_err *err)
{
    int r = 0;
    for (round->group = 0; r >= 0 && round->left && round->group < round->n_groups; round->group++) {
        size_t busy;
        r = start_group(round, &busy, err);
        if (r >= 0 && busy)
            r = run_group(round, busy, parallel, err);
    }
    return r;
}

/* ---- The round -------------------------------------------------------------------------------------------------- */

/* A revoked tool is as unknown as one that never existed. */
const struct wr_tool *wr_tool_find(const struct wr_run *run, struct upp_str name)
{
    for (size_t i = 0; i < run->def->n_tools; i++)
        if (wb_str_eq(run->def->tools[i].spec.name, name))
            return wr_offers(run, &run->def->tools[i]) ? &run->def->tools[i] : NULL;
    return NULL;
}

/* Counts calls that ended before a restart, in the order in which they did. */
static int count_ended(struct wr_round *round, struct upp_err *err)
{
    for (;;) {
        struct wr_job *first = NULL;
        for (size_t i = 0; i < round->n; i++) {
            struct wr_job *j = &round->jobs[i];
            if (j->call->state == WR_CALL_ENDED && !j->call->counted && (!first || j->call->order < first->call->order))
                first = j;
        }
        if (!first)
            break;
        int r = wr_call_count(first, err);
        if (r >= 0 && first->tool && first->tool->kind == WR_TOOL_HANDOFF && first->call->outcome == WM_DONE)
            r = wr_handoff_again(round->run, first->tool, wr_call_arguments(first), err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < round->n; i++)
        round->left -= round->jobs[i].call->state == WR_CALL_ENDED;
    return 0;
}

static int open_round(struct wr_round *round, const struct weft_reply *reply, struct upp_err *err)
{
    struct wr_run *run = round->run;
    round->jobs = wb_new_n(&run->memory, struct wr_job, reply->n_calls);
    if (!round->jobs)
        return wb_arena_check(&run->memory, err);
    for (const struct upp_part *p = NULL; (p = upp_part_next(reply->message, p, UPP_PARTS_CALLS));) {
        if (p->cut)
            continue;
        struct wr_job *j = &round->jobs[round->n];
        j->round = round;
        j->part = p;
        j->tool = wr_tool_find(run, p->name);
        int r = wr_call_add(run, p->id, &j->call, err);
        if (r < 0)
            return r;
        j->doing.call.scratch = wr_arena_take(&run->engine->pools, ARGUMENT_BYTES);
        round->n++;
    }
    round->left = round->n;
    order(round);
    return count_ended(round, err);
}

static void close_round(struct wr_round *round)
{
    for (size_t i = 0; i < round->n; i++)
        wr_arena_give(&round->run->engine->pools, &round->jobs[i].doing.call.scratch);
}

/* Adds the message of results: references for the log, the results themselves for the model. */
static int observe(struct wr_round *round, const struct weft_reply *reply, struct upp_err *err)
{
    struct wr_run *run = round->run;
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    struct upp_part *parts = wb_new_n(&run->memory, struct upp_part, round->n);
    struct upp_str *refs = wb_new_n(&run->memory, struct upp_str, round->n);
    struct wm_entry *entry = m && parts && refs ? wr_draft_entry(run, err) : NULL;
    if (!entry)
        return wr_draft_failed(run, err);
    for (size_t i = 0; i < round->n; i++) {
        struct wr_call *c = round->jobs[i].call;
        refs[i] = c->id;
        parts[i] = (struct upp_part){.kind = UPP_PART_RESULT,
                                     .is_error = c->outcome != WM_DONE,
                                     .id = c->id,
                                     .name = round->jobs[i].part->name,
                                     .text = c->result};
        c->on_path = true;
    }
    for (size_t i = 0; i < run->journal.replies.n; i++)
        run->journal.replies.p[i]->answered |= run->journal.replies.p[i]->reply.message == reply->message;
    entry->message.role = UPP_ROLE_TOOL;
    entry->refs = refs;
    entry->n_refs = round->n;
    *m = entry->message;
    m->parts = parts;
    m->n_parts = round->n;
    run->step.dirty = true;
    int r = wr_mine_add(run, m, err);
    const struct weft_hooks *h = run->pub.hooks;
    if (r >= 0 && h && h->on_observe)
        r = h->on_observe(h->arg, &run->pub, run->pub.state.step + 1, m, err);
    return r;
}

static bool all_on_path(struct wr_run *run, const struct weft_reply *reply)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(reply->message, p, UPP_PARTS_CALLS));) {
        const struct wr_call *c = p->cut ? NULL : wr_call_find(run, p->id);
        if (!p->cut && (!c || !c->on_path))
            return false;
    }
    return true;
}

/* Is this a round that waited and is resumed? Its hook was called before. */
static bool is_known(struct wr_run *run, const struct weft_reply *reply)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(reply->message, p, UPP_PARTS_CALLS));)
        if (!p->cut && wr_call_find(run, p->id))
            return true;
    return false;
}

static WEFT_SUSPENDS int run_round(struct wr_round *round, const struct weft_reply *reply, uint32_t parallel,
                                   struct upp_err *err)
{
    struct wr_run *run = round->run;
    const struct weft_hooks *h = run->pub.hooks;
    int r = 0;
    run->journal.pending.n = 0;
    if (h && h->on_act && !is_known(run, reply))
        r = h->on_act(h->arg, &run->pub, run->pub.state.step + 1, reply->message, err);
    if (r >= 0)
        r = open_round(round, reply, err);
    if (r >= 0)
        r = run_groups(round, parallel, err);
    close_round(round);
    if (r < 0)
        return r;
    return round->left ? wr_wait_for(run, err) : observe(round, reply, err);
}

int weft_run_tools(struct weft_run *pub, const char *phase, const struct weft_reply *reply,
                   const struct weft_tools_opts *opts, struct upp_err *err)
{
    static const struct upp_tool_strategy none = {0};
    (void)phase; /* calls are identified by their ids, which are unique on a path */
    struct wr_run *run = wr_of(pub);
    if (!reply->n_calls || all_on_path(run, reply))
        return 0;
    if (reply->n_calls > WR_CALLS)
        return upp_fail(err, UPP_ELIMIT, "the model asked for more than %d tools at once", WR_CALLS);
    const struct upp_tool_strategy *hooks = run->def->tool_strategy;
    struct wr_round round = {.run = run, .hooks = hooks ? hooks : &none, .err = err};
    return run_round(&round, reply, opts && opts->parallel ? opts->parallel : PARALLEL, err);
}

/* ---- On workers ----------------------------------------------------------------------------------------------------
 *
 * Blocking tools run on worker threads.
 *
 * Everything a worker uses is one object on the heap. A separate fiber waits for the worker, so that the call's fiber
 * can wait for that fiber twice: until a cancel or timeout, and then for 10 s more. While that fiber waits the object
 * is ours; when it gives up, the worker owns the object and frees it.
 */

struct worker_call {
    struct wr_active_call doing; /* its texts follow the struct */
    struct upp_tool tool;
    struct upp_value value;
    struct upp_cancel *stop; /* ends the worker's waits */
    atomic_bool begun;
};

struct waiting {
    struct worker_call *it; /* NULL: the worker owns it */
    bool given;
    int result;
    struct upp_err why;
};

static void drop(void *arg)
{
    struct worker_call *b = arg;
    wb_arena_done(&b->doing.call.scratch);
    upp__value_done(&b->value);
    upp_cancel_free(b->stop);
    wb_free(b);
}

static struct upp_str copy_text(char **at, struct upp_str text)
{
    struct upp_str s = wb_str(*at, text.n);
    if (text.n)
        memcpy(*at, text.p, text.n);
    *at += text.n;
    return s;
}

static int make(const struct wr_job *j, size_t max, struct worker_call **ret, struct upp_err *err)
{
    const struct upp_call *c = &j->doing.call.pub;
    struct upp_str key = weft_call_key(c);
    struct worker_call *b = wb_alloc(sizeof *b + c->id.n + c->name.n + c->arguments.n + key.n);
    if (!b)
        return upp_fail(err, UPP_ENOMEM, "no memory for a tool that blocks");
    char *at = (char *)(b + 1);
    *b = (struct worker_call){.tool = j->tool->base, .value = UPP__VALUE};
    int r = upp_cancel_new(&b->stop, err);
    if (r < 0) {
        wb_free(b);
        return r;
    }
    b->value.max = max;
    b->doing.key = copy_text(&at, key);
    b->doing.call = (struct upp__call){.pub = {.tool = &b->tool,
                                               .id = copy_text(&at, c->id),
                                               .name = copy_text(&at, c->name),
                                               .arguments = copy_text(&at, c->arguments),
                                               .arg = c->arg,
                                               .wait = upp_cancel_wait(b->stop)},
                                       .scratch = WB_ARENA(ARGUMENT_BYTES)};
    *ret = b;
    return 0;
}

/* Runs on the worker. */
static int call_tool(void *arg, struct upp_err *err)
{
    struct worker_call *b = arg;
    atomic_store(&b->begun, true);
    return b->tool.run(&b->doing.call.pub, &b->value, err);
}

static WEFT_SUSPENDS int wait_for(void *arg, struct upp_err *err)
{
    struct waiting *w = arg;
    w->given = true;
    int r = weft__work_long(call_tool, w->it, drop, &w->result, &w->why);
    if (r < 0) {
        w->it = NULL;
        w->result = r;
    }
    (void)err;
    return 0;
}

/* After a cancel or timeout: 0 if the function still returned. After a cancel one that has not begun never does. */
static WEFT_SUSPENDS int wait_more(struct weft_scope *scope, struct waiting *w, int why)
{
    if (w->it)
        upp_cancel_fire(w->it->stop);
    if (w->it && !atomic_load(&w->it->begun) && why == -UPP_ECANCELED)
        return why;
    WEFT_SHIELD(WEFT_SHIELD_MAX_MS);
    return weft_scope_join(scope, NULL);
}

/* Takes over the value by swapping. */
static void take_value(struct worker_call *b, struct upp_value *ret)
{
    struct upp_value mine = *ret;
    *ret = b->value;
    b->value = mine;
}

int wr_call_on_worker(struct wr_job *j, struct upp_value *ret, bool *left, struct upp_err *err)
{
    struct waiting w = {0};
    WB_CLEANUP(weft_scope_close) struct weft_scope scope = {.flags = WEFT_SCOPE_ISOLATED};
    int r = make(j, ret->max, &w.it, err);
    if (r < 0)
        return r;
    r = weft_scope_spawn(&scope, "blocking tool", wait_for, &w, NULL, err);
    if (r < 0) {
        drop(w.it);
        return r;
    }
    r = weft_scope_join(&scope, err);
    *left = r < 0 && wait_more(&scope, &w, r) < 0;
    weft_scope_close(&scope); /* a fiber that still waits gives up */
    if (w.it && w.given)
        take_value(w.it, ret);
    if (w.it)
        drop(w.it);
    if (*left || (r == -UPP_ETIMEOUT && w.result < 0))
        return r; /* err says so */
    if (w.result < 0 && err)
        *err = w.why;
    return w.result;
}
