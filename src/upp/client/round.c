/* upp/client/round.c — a round of tools: every call of a message, from its start to its result (docs/llm.md has the
 * table).
 *
 * The caller that pulls events runs hooks, approvals and tools that do not block, one at a time; blocking tools run in
 * parallel. Results are in the order of the calls, executions in the order in which they ended.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/mask_stream.h"
#include "json/write.h"
#include "upp/client/talk.h"

/* Phases: announce every call; run hooks and approvals for each; run the approved ones. */
enum { ANNOUNCE, PREPARE, RUN, COLLECT, DONE };

/* No event: continue. */
enum { NEXT = 2 };

static struct wb_arena *arena_of(struct upp_stream *s)
{
    return &s->making.turn->arena;
}

/* ---- Ending a call ---------------------------------------------------------------------------------------------- */

static struct upp_str json_text(struct upp_stream *s, struct upp_str text, struct upp_err *err)
{
    if (upp_value_text(&s->value, text, err) < 0)
        return (struct upp_str){0};
    return wb_arena_dup(arena_of(s), upp_value_get(&s->value));
}

/* Ends a call. `result` goes to the model, `logged` into the execution record; they are usually the same. */
static int end_call(struct upp_stream *s, struct upp__job *j, struct upp_str result, struct upp_str logged,
                    bool is_error, struct upp_err *err)
{
    if (!result.p || !logged.p) {
        int r = wb_arena_check(arena_of(s), err);
        return r < 0 ? r : upp_fail(err, UPP_ENOMEM, "no memory for the result of a tool");
    }
    int r = wb_masks_value(arena_of(s), &result, err);
    if (r >= 0)
        r = wb_masks_value(arena_of(s), &logged, err);
    if (r < 0)
        return r;
    j->ended = true;
    j->result = result;
    j->is_error = is_error;
    struct upp_execution e = {.id = j->part->id,
                              .name = j->part->name,
                              .arguments = j->call.pub.arguments,
                              .result = logged,
                              .is_error = is_error,
                              .approved = j->approved,
                              .duration_ms = j->ms};
    return upp__making_execution(&s->making, &e, err);
}

static int end_text(struct upp_stream *s, struct upp__job *j, struct upp_str text, struct upp_err *err)
{
    struct upp_str json = json_text(s, text, err);
    return end_call(s, j, json, json, true, err);
}

/* The call failed: the model receives the error as its result, and on_error is called. If on_error fails, the turn
 * fails. A cancelled turn ends here. */
static int end_failed(struct upp_stream *s, struct upp__job *j, const struct upp_err *why, struct upp_err *err)
{
    const struct upp_tool_strategy *h = &s->llm->strategy;
    int r = upp__stream_check(s, err);
    if (r >= 0 && h->on_error)
        r = h->on_error(h->arg, &j->call.pub, why, err);
    return r < 0 ? r : end_text(s, j, wb_cstr(why->msg[0] ? why->msg : upp_code_text(why->code)), err);
}

static int skipped(struct upp_stream *s, struct upp__job *j, const char *text, struct upp_err *err)
{
    struct upp_err why = {0};
    (void)upp_fail(&why, UPP_EREFUSED, "%s", text);
    return end_failed(s, j, &why, err);
}

static void start_event(struct upp_stream *s, const struct upp__job *j, struct upp_event *ret)
{
    *ret = (struct upp_event){.type = UPP_TOOL_EXECUTION_START,
                              .index = (uint32_t)(j - s->round.jobs),
                              .id = j->part->id,
                              .name = j->part->name,
                              .time_ms = upp__making_now(&s->making)};
}

static int end_event(struct upp_stream *s, const struct upp__job *j, struct upp_event *ret)
{
    if (s->quiet)
        return NEXT;
    start_event(s, j, ret);
    ret->type = UPP_TOOL_EXECUTION_END;
    ret->result = j->result;
    ret->is_error = j->is_error;
    return 1;
}

/* ---- Before it runs --------------------------------------------------------------------------------------------- */

static const struct upp_tool *find_tool(const struct upp_llm *llm, struct upp_str name)
{
    for (size_t i = 0; i < llm->n_tools; i++)
        if (wb_str_eq(llm->specs[i].name, name))
            return &llm->tools[i];
    return NULL;
}

/* The arguments as the tool receives them. If there are none the call ends here, with those that it had before. Not
 * inlined: errors are large. */
static __attribute__((noinline)) int take(struct upp_stream *s, struct upp__job *j, struct upp_str before,
                                          struct upp_err *err)
{
    struct upp_err why;
    wb_err_init(&why);
    int r = upp__call_take(&j->call, arena_of(s), &why);
    if (r >= 0)
        return 0;
    j->call.pub.arguments = before;
    if (r == -UPP_EINVALID)
        return skipped(s, j, why.msg, err);
    if (err)
        *err = why;
    return r;
}

/* Ends a call that cannot run. */
static int refuse(struct upp_stream *s, struct upp__job *j, struct upp_err *err)
{
    if (!j->call.pub.tool) {
        struct upp_str text = wb_arena_printf(arena_of(s), "Tool '%.*s' not found", UPP_FMT(j->part->name));
        return text.p ? end_text(s, j, text, err) : wb_arena_check(arena_of(s), err);
    }
    return take(s, j, j->call.pub.arguments, err);
}

/* Makes arguments that on_before replaced canonical, too. 0: the call has ended. */
static int take_arguments(struct upp_stream *s, struct upp__job *j, struct upp_str before, struct upp_err *err)
{
    struct upp_call *c = &j->call.pub;
    if (c->arguments.p == before.p && c->arguments.n == before.n)
        return 1;
    c->arguments = wb_arena_dup(arena_of(s), c->arguments);
    int r = wb_arena_check(arena_of(s), err);
    if (r >= 0)
        r = take(s, j, before, err);
    return r < 0 ? r : !j->ended;
}

/* 1: continue. 0: the call has ended. */
static int before(struct upp_stream *s, struct upp__job *j, struct upp_err *why, struct upp_err *err)
{
    const struct upp_tool_strategy *h = &s->llm->strategy;
    struct upp_call *c = &j->call.pub;
    struct upp_str args = c->arguments;
    int r = h->on_call ? h->on_call(h->arg, c, why) : 0;
    if (r >= 0)
        r = h->on_before ? h->on_before(h->arg, c, why) : 1;
    if (r < 0) {
        c->arguments = args;
        return end_failed(s, j, why, err);
    }
    if (r == 0) {
        c->arguments = args;
        return skipped(s, j, "Tool execution skipped", err);
    }
    return take_arguments(s, j, args, err);
}

static int approve(struct upp_stream *s, struct upp__job *j, struct upp_err *why, struct upp_err *err)
{
    struct upp_call *c = &j->call.pub;
    int r = c->tool->approval ? c->tool->approval(c, why) : 1;
    if (r < 0)
        return end_failed(s, j, why, err);
    if (r > 0) {
        j->approved = UPP_APPROVED_YES;
        j->ready = true;
        return 0;
    }
    j->approved = UPP_APPROVED_NO;
    struct upp_str result = json_text(s, UPP_STR("Tool execution denied by approval handler"), err);
    struct upp_str logged = json_text(s, UPP_STR("Tool execution denied"), err);
    return end_call(s, j, result, logged, true, err);
}

static int prepare(struct upp_stream *s, struct upp__job *j, struct upp_err *err)
{
    const struct upp_tool_strategy *h = &s->llm->strategy;
    if (!h->on_call && !h->on_before && !j->call.pub.tool->approval) {
        j->approved = UPP_APPROVED_YES;
        j->ready = true;
        return 0;
    }
    struct upp_err why = {0};
    int r = before(s, j, &why, err);
    if (r > 0 && !j->ended)
        r = approve(s, j, &why, err);
    return r < 0 ? r : upp__stream_check(s, err);
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

static void job_run(struct upp__job *j)
{
    uint64_t from = wb_mono_ns();
    j->r = j->call.pub.tool->run(&j->call.pub, j->value, j->why);
    j->ms = (wb_mono_ns() - from) / 1000000;
}

/* Runs one tool of the team; those that have not started when the turn is cancelled never do. */
static void run_in_team(void *ctx, size_t i)
{
    struct upp_stream *s = ctx;
    struct upp__job *j = &s->round.jobs[s->round.team_jobs[i]];
    j->r = upp__stream_check(s, j->why);
    if (j->r >= 0)
        job_run(j);
}

/* The tool has returned: calls on_after and stores the result. */
static int job_finish(struct upp_stream *s, struct upp__job *j, struct upp_err *err)
{
    const struct upp_tool_strategy *h = &s->llm->strategy;
    int r = upp__stream_check(s, err);
    if (r < 0)
        return r;
    if (j->r >= 0 && h->on_after)
        j->r = h->on_after(h->arg, &j->call.pub, j->value, j->why);
    if (j->r < 0)
        return end_failed(s, j, j->why, err);
    struct upp_str json = wb_arena_dup(arena_of(s), upp_value_get(j->value));
    return end_call(s, j, json, json, j->value->is_error, err);
}

static int run_here(struct upp_stream *s, struct upp__job *j, struct upp_err *err)
{
    struct upp_err why;
    int r = upp__stream_check(s, err); /* the consumer may have taken its time since the last event */
    if (r < 0)
        return r;
    why.code = 0;
    why.msg[0] = 0;
    s->value.set = s->value.is_error = false;
    j->value = &s->value;
    j->why = &why;
    job_run(j);
    r = job_finish(s, j, err);
    j->value = NULL;
    j->why = NULL;
    return r;
}

/* ---- The team --------------------------------------------------------------------------------------------------- */

static int alloc_results(struct upp_stream *s, struct upp_err *err)
{
    struct upp__round *round = &s->round;
    for (size_t i = 0; i < round->n_team; i++) {
        struct upp__job *j = &round->jobs[round->team_jobs[i]];
        j->why = wb_new(arena_of(s), struct upp_err);
        j->value = wb_new(arena_of(s), struct upp_value);
        if (!j->why || !j->value)
            return wb_arena_check(arena_of(s), err);
        *j->value = (struct upp_value)UPP__VALUE;
    }
    return 0;
}

/* Starts the blocking tools in parallel. A single one needs no thread, unless the caller's table has its own team. */
static int open_team(struct upp_stream *s, struct upp_err *err)
{
    struct upp__round *round = &s->round;
    const struct upp_wait *w = s->wait && s->wait->team_open ? s->wait : NULL;
    size_t ready = 0, blocking = 0;
    for (size_t i = 0; i < round->n; i++) {
        ready += round->jobs[i].ready;
        blocking += round->jobs[i].ready && round->jobs[i].call.pub.tool->blocking;
    }
    if (!blocking || (ready == 1 && !w))
        return 0;
    round->team_jobs = wb_new_n(arena_of(s), size_t, blocking);
    if (!round->team_jobs)
        return wb_arena_check(arena_of(s), err);
    for (size_t i = 0; i < round->n; i++)
        if (round->jobs[i].ready && round->jobs[i].call.pub.tool->blocking)
            round->team_jobs[round->n_team++] = i;
    int r = alloc_results(s, err);
    if (r < 0) {
        round->n_team = 0;
        return r;
    }
    r = w ? w->team_open(w->arg, blocking, run_in_team, s, &round->team, err)
          : upp__team_open(blocking, UPP__TEAM, run_in_team, s, &round->team, err);
    if (r < 0) { /* then sequentially, unless the turn is over */
        round->n_team = 0;
        return r == -UPP_ECANCELED ? r : 0;
    }
    for (size_t i = 0; i < blocking; i++)
        round->jobs[round->team_jobs[i]].ready = false;
    return 0;
}

static void close_team(struct upp_stream *s)
{
    struct upp__round *round = &s->round;
    if (!round->team)
        return;
    if (s->wait && s->wait->team_open)
        s->wait->team_close(s->wait->arg, round->team);
    else
        upp__team_close(round->team);
    round->team = NULL;
}

static int collect(struct upp_stream *s, struct upp_event *ret, struct upp_err *err)
{
    struct upp__round *round = &s->round;
    size_t i;
    if (!round->team) {
        round->phase = DONE;
        return NEXT;
    }
    int r = s->wait && s->wait->team_open ? s->wait->team_next(s->wait->arg, round->team, &i, err)
                                          : upp__team_next(round->team, &i);
    if (r < 0)
        return r;
    if (r == 0) {
        close_team(s);
        return NEXT;
    }
    struct upp__job *j = &round->jobs[round->team_jobs[i]];
    r = job_finish(s, j, err);
    return r < 0 ? r : end_event(s, j, ret);
}

/* ---- The round -------------------------------------------------------------------------------------------------- */

int upp__round_begin(struct upp_stream *s, struct upp_err *err)
{
    const struct upp_message *answer = s->making.path[s->making.n_path - 1];
    size_t n = 0;
    for (const struct upp_part *p = NULL; (p = upp_part_next(answer, p, UPP_PARTS_CALLS));)
        n++;
    if (n > UPP__CALLS)
        return upp_fail(err, UPP_ELIMIT, "the model asked for more than %d tools at once", UPP__CALLS);
    s->round = (struct upp__round){.jobs = wb_new_n(arena_of(s), struct upp__job, n)};
    if (!s->round.jobs)
        return wb_arena_check(arena_of(s), err);
    for (const struct upp_part *p = NULL; (p = upp_part_next(answer, p, UPP_PARTS_CALLS));) {
        struct upp__job *j = &s->round.jobs[s->round.n++];
        const struct upp_tool *tool = find_tool(s->llm, p->name);
        j->part = p;
        j->call = (struct upp__call){.pub = {.tool = tool,
                                             .id = p->id,
                                             .name = p->name,
                                             .arguments = wb_str_trim(p->text).n ? p->text : UPP_STR("{}"),
                                             .arg = tool ? tool->arg : NULL,
                                             .wait = s->wait},
                                     .scratch = WB_ARENA((size_t)64 << 20)};
    }
    return upp__stream_check(s, err);
}

/* Adds the message of results, in the order of the calls. */
static int add_results(struct upp_stream *s, struct upp_err *err)
{
    struct upp__round *round = &s->round;
    struct upp_message *m = wb_new(arena_of(s), struct upp_message);
    struct upp_part *parts = wb_new_n(arena_of(s), struct upp_part, round->n);
    if (!m || !parts)
        return wb_arena_check(arena_of(s), err);
    for (size_t i = 0; i < round->n; i++)
        parts[i] = (struct upp_part){.kind = UPP_PART_RESULT,
                                     .is_error = round->jobs[i].is_error,
                                     .id = round->jobs[i].part->id,
                                     .name = round->jobs[i].part->name,
                                     .text = round->jobs[i].result};
    *m = (struct upp_message){.role = UPP_ROLE_TOOL, .parts = parts, .n_parts = round->n};
    upp__round_close(s);
    return upp__making_add(&s->making, m, err);
}

/* Handles one call in the phases before COLLECT: NEXT, 1 with an event, or a failure. */
static int one_call(struct upp_stream *s, struct upp__job *j, struct upp_event *ret, struct upp_err *err)
{
    struct upp__round *round = &s->round;
    bool ended = j->ended;
    int r = 0;
    if (round->phase == ANNOUNCE) {
        r = refuse(s, j, err);
        if (r < 0 || s->quiet)
            return r < 0 ? r : NEXT;
        start_event(s, j, ret);
        if (j->ended) /* ended already: its end event follows */
            (void)end_event(s, j, &s->queue[s->n_queue++]);
        return 1;
    }
    if (round->phase == PREPARE)
        r = ended ? 0 : prepare(s, j, err);
    else if (j->ready)
        r = run_here(s, j, err);
    if (r < 0)
        return r;
    return j->ended && !ended ? end_event(s, j, ret) : NEXT;
}

int upp__round_next(struct upp_stream *s, struct upp_event *ret, struct upp_err *err)
{
    struct upp__round *round = &s->round;
    int r = NEXT;
    while (r == NEXT && round->phase != DONE) {
        if (round->phase == COLLECT) {
            r = collect(s, ret, err);
            continue;
        }
        if (round->at < round->n) {
            r = one_call(s, &round->jobs[round->at++], ret, err);
            continue;
        }
        round->at = 0;
        round->phase++;
        int bad = round->phase == RUN ? open_team(s, err) : 0;
        if (bad < 0)
            return bad;
    }
    if (r != NEXT)
        return r;
    return add_results(s, err);
}

void upp__round_close(struct upp_stream *s)
{
    struct upp__round *round = &s->round;
    close_team(s);
    for (size_t i = 0; i < round->n_team; i++)
        if (round->jobs[round->team_jobs[i]].value)
            upp__value_done(round->jobs[round->team_jobs[i]].value);
    for (size_t i = 0; i < round->n; i++)
        wb_arena_done(&round->jobs[i].call.scratch);
    *round = (struct upp__round){0};
}
