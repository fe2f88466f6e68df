/* run/turn.c — a run's output as it is seen from outside: messages, turns, ids. */
#include "model/file_url.h"
#include "model/upp_json.h"
#include "run/engine_state.h"
#include "run/journal.h"
#include "run/step.h"
#include "run/run.h"

int wr_path_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err)
{
    if (!wb_vec_push(&run->path, m, UINT32_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for the path");
    run->has_files = run->has_files || wm_message_has_file(m);
    return 0;
}

int wr_mine_note(struct wr_run *run, const struct upp_message *m, struct upp_err *err)
{
    if (!wb_vec_push(&run->mine, m, UINT32_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for the messages of a run");
    return 0;
}

int wr_mine_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err)
{
    int r = wr_mine_note(run, m, err);
    return r < 0 ? r : wr_path_add(run, m, err);
}

int wr_reasoned(struct wr_run *run, const struct upp_message *m, struct upp_err *err)
{
    struct upp_str text = wm_message_text(&run->memory, m);
    int r = wb_arena_check(&run->memory, err);
    if (r >= 0 && !wb_vec_push(&run->reasoning, text, UINT32_MAX))
        r = upp_fail(err, UPP_ENOMEM, "no memory for reasoning");
    return r;
}

const struct upp_message *const *weft_run_history(struct weft_run *pub, size_t *n)
{
    struct wr_run *run = wr_of(pub);
    *n = run->n_history;
    return run->path.p;
}

const struct upp_message *const *weft_run_messages(struct weft_run *pub, size_t *n)
{
    struct wr_run *run = wr_of(pub);
    *n = run->mine.n;
    return run->mine.p;
}

const struct upp_str *weft_run_reasoning(struct weft_run *pub, size_t *n)
{
    struct wr_run *run = wr_of(pub);
    *n = run->reasoning.n;
    return run->reasoning.p;
}

struct upp_str weft_run_id(struct weft_run *pub)
{
    struct wr_run *run = wr_of(pub);
    return wb_uuid_text(run->row.id, run->id_text);
}

struct upp_str weft_run_agent_id(struct weft_run *pub)
{
    struct wr_run *run = wr_of(pub);
    return run->def ? run->def->id : UPP_STR("");
}

int wr_execution_add(struct wr_run *run, const struct upp_execution *e, struct upp_err *err)
{
    if (!wb_vec_push(&run->executions, *e, UINT32_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for an execution");
    return 0;
}

static int count_cycle(struct wr_run *run, const struct upp_usage *u, struct upp_err *err)
{
    wm_usage_add(&run->step.usage, u);
    wm_usage_add(&run->pub.state.usage, u);
    run->pub.state.cycles++;
    if (!wb_vec_push(&run->cycles, *u, UINT32_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for the usage of a call");
    return 0;
}

int wr_cycle_add(struct wr_run *run, const struct upp_usage *u, struct upp_err *err)
{
    wr_usage_add_above(run, u, 0);
    return count_cycle(run, u, err);
}

int wr_cycle_adopt(struct wr_run *run, const struct upp_usage *u, struct upp_err *err)
{
    wr_usage_sub_below(run, u);
    return count_cycle(run, u, err);
}

int wr_child_usage_add(struct wr_run *run, const struct wr_call *call, struct wm_event *ended, struct upp_err *err)
{
    ended->tool_ended.usage = (struct upp_usage){0};
    ended->tool_ended.model_calls = call->n_cycles;
    wr_agent_messages_adopt(run, call->messages);
    for (size_t i = 0; i < call->n_cycles; i++) {
        wm_usage_add(&ended->tool_ended.usage, &call->cycles[i]);
        int r = wr_cycle_adopt(run, &call->cycles[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Finds the call of a result in the messages before it. */
static const struct upp_part *call_of(const struct wr_run *run, size_t before, struct upp_str id)
{
    for (size_t i = before; i-- > 0;)
        for (const struct upp_part *p = NULL; (p = upp_part_next(run->mine.p[i], p, UPP_PARTS_CALLS));)
            if (wb_str_eq(p->id, id))
                return p;
    return NULL;
}

/* The usage of each earlier cycle is in records that are not read for this: only the sum is right. */
static int restore_cycles(struct wr_run *run, struct upp_err *err)
{
    const struct upp_usage *all = &run->pub.state.usage, *now = &run->step.usage;
    struct upp_usage before = {.input = all->input - now->input,
                               .output = all->output - now->output,
                               .cache_read = all->cache_read - now->cache_read,
                               .cache_write = all->cache_write - now->cache_write,
                               .reasoning = all->reasoning - now->reasoning};
    size_t step = run->journal.replies.n + run->step.below; /* cycles of the current step */
    size_t n = run->pub.state.cycles - WB_MIN(step, run->pub.state.cycles);
    struct upp_usage rest = *now; /* the children's part of it */
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok = ok && wb_vec_push(&run->cycles, i ? (struct upp_usage){0} : before, UINT32_MAX);
    for (size_t i = 0; i < run->journal.replies.n; i++) {
        const struct upp_usage *u = &run->journal.replies.p[i]->reply.usage;
        rest.input -= u->input;
        rest.output -= u->output;
        rest.cache_read -= u->cache_read;
        rest.cache_write -= u->cache_write;
        rest.reasoning -= u->reasoning;
        ok = ok && wb_vec_push(&run->cycles, *u, UINT32_MAX);
    }
    for (size_t i = 0; i < run->step.below; i++)
        ok = ok && wb_vec_push(&run->cycles, i ? (struct upp_usage){0} : rest, UINT32_MAX);
    run->step.from.cycles = n;
    return ok ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for the usage of calls");
}

/* Restores the executions of a recovered run from its messages. What only records have (durations, approvals) is added
 * in run/journal.c. */
int wr_turn_restore(struct wr_run *run, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; i < run->mine.n; i++) {
        const struct upp_message *m = run->mine.p[i];
        for (size_t k = 0; r >= 0 && k < m->n_parts; k++) {
            const struct upp_part *p = &m->parts[k];
            const struct upp_part *call = p->kind == UPP_PART_RESULT ? call_of(run, i, p->id) : NULL;
            struct upp_execution e = {.id = p->id, .name = p->name, .arguments = UPP_STR("{}"), .result = p->text};
            e.is_error = p->is_error;
            if (call)
                e.arguments = call->text;
            if (p->kind == UPP_PART_RESULT)
                r = wr_execution_add(run, &e, err);
        }
        if (i < run->step.from.messages)
            run->step.from.executions = run->executions.n;
    }
    return r < 0 ? r : restore_cycles(run, err);
}

struct wr_mark wr_mark_now(const struct wr_run *run)
{
    return (struct wr_mark){run->mine.n, run->executions.n, run->cycles.n};
}

static const struct upp_str aborted = UPP_STR_INIT("\"uap\":{\"aborted\":true}");

/* Adds {"uap":{"aborted":true}} to the metadata. */
static struct upp_str mark_aborted(struct wb_arena *a, struct upp_str metadata)
{
    struct upp_str rest = metadata.n ? wb_str_trim(wb_str_sub(wb_str_trim(metadata), 1, SIZE_MAX)) : UPP_STR("}");
    return wb_arena_printf(a, "{%.*s%s%.*s", UPP_FMT(aborted), rest.n > 1 ? "," : "", UPP_FMT(rest));
}

/* The run's output since then; the lists are the run's own or in its memory. */
static int gather(struct wr_run *run, struct wr_mark from, bool abort, struct upp_message **messages,
                  struct upp_turn *ret, struct upp_err *err)
{
    size_t n = run->mine.n - from.messages;
    struct upp_message *list = wb_arena_alloc(&run->memory, (n + 1) * sizeof *list, _Alignof(struct upp_message));
    struct upp_usage sum = {0};
    if (!list)
        return wb_arena_check(&run->memory, err);
    for (size_t i = 0; i < n; i++)
        list[i] = *run->mine.p[from.messages + i];
    for (size_t i = from.cycles; i < run->cycles.n; i++)
        wm_usage_add(&sum, &run->cycles.p[i]);
    if (abort && (!n || list[n - 1].role != UPP_ROLE_ASSISTANT))
        list[n++] = (struct upp_message){.role = UPP_ROLE_ASSISTANT, .interrupted = true};
    if (abort)
        list[n - 1].metadata = mark_aborted(&run->memory, list[n - 1].metadata);
    *messages = list;
    *ret = (struct upp_turn){.messages = list,
                             .n_messages = n,
                             .executions = run->executions.n ? run->executions.p + from.executions : NULL,
                             .n_executions = run->executions.n - from.executions,
                             .usage = sum,
                             .cycles = run->cycles.n ? run->cycles.p + from.cycles : NULL,
                             .n_cycles = run->cycles.n - from.cycles,
                             .data = run->data};
    return wb_arena_check(&run->memory, err);
}

int wr_turn(struct wr_run *run, struct wr_mark from, bool abort, struct upp_turn **ret, struct upp_err *err)
{
    struct upp_message *list;
    struct upp_turn t;
    int r = gather(run, from, abort, &list, &t, err);
    return r < 0 ? r : upp_turn_copy(&t, ret, err);
}

/* A copy of a list in the run's memory; NULL: it is empty, or no memory. */
static const void *copy_list(struct wr_run *run, const void *list, size_t n, size_t item)
{
    void *to = n ? wb_arena_alloc(&run->memory, n * item, _Alignof(max_align_t)) : NULL;
    return to ? memcpy(to, list, n * item) : NULL;
}

int wr_turn_last(struct wr_run *run, struct upp_turn **ret, struct upp_err *err)
{
    struct upp_message *list;
    struct upp_turn t;
    if (run->engine->store || run->memory.used > WR_POOL_BYTES)
        return wr_turn(run, (struct wr_mark){0}, false, ret, err);
    int r = gather(run, (struct wr_mark){0}, false, &list, &t, err);
    if (r < 0)
        return r;
    t.executions = copy_list(run, t.executions, t.n_executions, sizeof *t.executions);
    t.cycles = copy_list(run, t.cycles, t.n_cycles, sizeof *t.cycles);
    r = wb_arena_check(&run->memory, err);
    return r < 0 ? r : upp__turn_take(&run->memory, list, &t, ret, err);
}

/* For the caller that started the run. */

bool wr_has_result(const struct wr_tree *t)
{
    return t->outcome->set || !t->run;
}

int wr_join(struct wr_tree *t, struct upp_turn **ret, struct upp_err *err)
{
    struct wr_outcome *o = t->outcome;
    int r = 0;
    *ret = NULL;
    while (r >= 0 && !wr_has_result(t))
        r = weft_cond_wait(&t->changed, err);
    if (r < 0)
        return r;
    int failed = wr_failed_run_error(t->engine, t->root); /* somebody may have tried to recover it since */
    failed = failed ? failed : t->refused;
    if (!o->set)
        return upp_fail(err, failed ? (enum upp_code) - failed : UPP_ECANCELED, "the run did not come to an end");
    *ret = WB_TAKE(o->turn);
    if (o->result < 0 && err)
        *err = o->why;
    return o->result;
}

void wr_tree_release(struct wr_tree *t)
{
    if (t)
        wr_tree_unref(t);
}
