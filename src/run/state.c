/* run/state.c — the state of a run as JSON: what a strategy needs to resume, and nothing else. */
#include <inttypes.h>
#include <stdio.h>

#include "base/vec_add.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "run/journal.h"
#include "run/step.h"

static const char STEP[] = "step";
static const char CYCLES[] = "cycles";
static const char USAGE[] = "usage";
static const char METADATA[] = "metadata";
static const char PLAN[] = "plan";
static const char OWN[] = "own";
static const char AGENT[] = "agent";
static const char HANDOFFS[] = "handoffs";
static const char PASSING[] = "passing";
static const char APPROVED[] = "approved";
static const char REQUEST[] = "request";
static const char BELOW[] = "below";
static const char MESSAGES[] = "messages";
static const char MS[] = "ms";
static const char BRANCHES[] = "branches";
static const char GRANTS[] = WM_STATE_GRANTS;

static void put_usage(struct wj_writer *w, const struct upp_usage *u)
{
    wj_write_u64(w, u->input);
    wj_write_u64(w, u->output);
    wj_write_u64(w, u->cache_read);
    wj_write_u64(w, u->cache_write);
}

/* Only what is not 0: most runs have no children and no time limit. */
static void put_used(struct wj_writer *w, const struct wr_run *run)
{
    const struct wr_below *b = &run->budget.below_before;
    if (b->steps || b->usage.input || b->usage.output || b->usage.cache_read || b->usage.cache_write) {
        wj_put_open(w, BELOW, '[');
        put_usage(w, &b->usage);
        wj_write_u64(w, b->steps);
        wj_write_close(w, ']');
    }
    if (run->budget.messages)
        wj_put_u64(w, MESSAGES, run->budget.messages);
    uint64_t ms = wr_budget_ms(run) == UINT64_MAX ? 0 : wr_worked_ms(run);
    if (ms)
        wj_put_u64(w, MS, ms);
}

static void write_handoffs(struct wj_writer *w, const struct wr_run *run)
{
    struct upp_str agent = run->handoff.becomes.n ? run->handoff.becomes : wr_agent_now(run);
    if (agent.n)
        wj_put_str(w, AGENT, agent);
    if (run->handoff.n)
        wj_put_u64(w, HANDOFFS, run->handoff.n);
    if (run->handoff.passing.to.n) {
        wj_put_open(w, PASSING, '[');
        wj_write_str(w, run->handoff.passing.to);
        wj_write_str(w, run->handoff.passing.reason);
        wj_write_str(w, run->handoff.passing.message.p ? run->handoff.passing.message : UPP_STR(""));
        wj_write_close(w, ']');
    }
}

/* The journal of a step has branches that began in it; these may have begun in an earlier one. */
static void write_branches(struct wj_writer *w, const struct wr_run *run)
{
    char text[WB_UUID_TEXT + 1];
    size_t n = 0;
    for (size_t i = 0; i < run->journal.calls.n; i++) {
        if (!wr_is_open_branch(run->journal.calls.p[i]))
            continue;
        if (!n++)
            wj_put_open(w, BRANCHES, '[');
        wj_write_str(w, wb_uuid_text(run->journal.calls.p[i]->child, text));
    }
    if (n)
        wj_write_close(w, ']');
}

int wr_state_write(const struct wr_run *run, struct wb_buf *out, struct upp_err *err)
{
    const struct weft_state *s = &run->pub.state;
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_u64(&w, STEP, s->step);
    wj_put_u64(&w, CYCLES, s->cycles);
    wj_put_open(&w, USAGE, '[');
    put_usage(&w, &s->usage);
    if (s->usage.reasoning)
        wj_write_u64(&w, s->usage.reasoning);
    wj_write_close(&w, ']');
    if (s->metadata.p)
        wj_put_raw(&w, METADATA, s->metadata.p, s->metadata.n);
    if (s->plan.p)
        wj_put_raw(&w, PLAN, s->plan.p, s->plan.n);
    if (s->own.p)
        wj_put_raw(&w, OWN, s->own.p, s->own.n);
    write_handoffs(&w, run);
    if (run->middleware.request.p)
        wj_put_raw(&w, REQUEST, run->middleware.request.p, run->middleware.request.n);
    put_used(&w, run);
    write_branches(&w, run);
    if (run->carried.n)
        wj_put_raw(&w, GRANTS, run->carried.p, run->carried.n);
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

static int wrong(struct upp_err *err, const char *member)
{
    return upp_fail(err, UPP_ESTORE, "the state of the run has no fitting '%s'", member);
}

static bool number(yyjson_val *v, uint64_t max, uint64_t *ret)
{
    return v && unsafe_yyjson_get_type(v) == YYJSON_TYPE_RAW && wb_str_u64(wj_text(v), ret) && *ret <= max;
}

/* The text of any JSON; NULL: the value is absent. */
static int text_of(struct wb_arena *a, yyjson_val *v, struct upp_str *ret, struct upp_err *err)
{
    *ret = (struct upp_str){0};
    return wj_value_text(a, v, ret, err);
}

static int read_usage(yyjson_val *v, struct upp_usage *ret, struct upp_err *err)
{
    uint64_t *slots[] = {&ret->input, &ret->output, &ret->cache_read, &ret->cache_write};
    ret->reasoning = 0;
    for (size_t i = 0; i < WB_LEN(slots); i++)
        if (!number(yyjson_arr_get(v, i), UINT64_MAX, slots[i]))
            return wrong(err, USAGE);
    return 0;
}

static int read_used(struct wr_run *run, yyjson_val *state, struct upp_err *err)
{
    yyjson_val *below = yyjson_obj_get(state, BELOW), *ms = yyjson_obj_get(state, MS);
    yyjson_val *messages = yyjson_obj_get(state, MESSAGES);
    uint64_t steps, n = 0;
    run->budget.below_before = (struct wr_below){0};
    run->budget.worked_ms = 0;
    if (below && (read_usage(below, &run->budget.below_before.usage, err) < 0 ||
                  !number(yyjson_arr_get(below, 4), UINT32_MAX, &steps)))
        return wrong(err, BELOW);
    if (below)
        run->budget.below_before.steps = (uint32_t)steps;
    if (messages && !number(messages, UINT32_MAX, &n))
        return wrong(err, MESSAGES);
    run->budget.messages = (uint32_t)n;
    return ms && !number(ms, UINT64_MAX, &run->budget.worked_ms) ? wrong(err, MS) : 0;
}

/* Of earlier versions, which had no record of an approval. */
static int read_approved(struct wr_run *run, yyjson_val *v, struct upp_err *err)
{
    if (v && !yyjson_is_arr(v))
        return wrong(err, APPROVED);
    for (size_t i = 0, n = yyjson_arr_size(v); i < n; i++) {
        yyjson_val *id = yyjson_arr_get(v, i);
        if (!yyjson_is_str(id))
            return wrong(err, APPROVED);
        struct wr_call *c;
        int r = wr_call_add(run, wj_text(id), &c, err);
        if (r < 0)
            return r;
        c->approved = true;
    }
    return 0;
}

static int read_handoffs(struct wr_run *run, yyjson_val *state, struct upp_err *err)
{
    yyjson_val *agent = yyjson_obj_get(state, AGENT), *count = yyjson_obj_get(state, HANDOFFS);
    yyjson_val *passing = yyjson_obj_get(state, PASSING);
    uint64_t n = 0;
    struct upp_str *to[] = {&run->handoff.passing.to, &run->handoff.passing.reason, &run->handoff.passing.message};
    if (agent && !yyjson_is_str(agent))
        return wrong(err, AGENT);
    if (count && !number(count, UINT32_MAX, &n))
        return wrong(err, HANDOFFS);
    if (passing && yyjson_arr_size(passing) != WB_LEN(to))
        return wrong(err, PASSING);
    run->handoff.becomes = agent ? wj_text(agent) : (struct upp_str){0};
    run->handoff.n = (uint32_t)n;
    for (size_t i = 0; passing && i < WB_LEN(to); i++) {
        yyjson_val *v = yyjson_arr_get(passing, i);
        if (!yyjson_is_str(v))
            return wrong(err, PASSING);
        *to[i] = wj_text(v);
    }
    return 0;
}

static int read_branches(struct wr_run *run, yyjson_val *v, struct upp_err *err)
{
    struct wb_uuid id;
    if (v && !yyjson_is_arr(v))
        return wrong(err, BRANCHES);
    for (size_t i = 0, n = yyjson_arr_size(v); i < n; i++) {
        yyjson_val *text = yyjson_arr_get(v, i);
        if (!yyjson_is_str(text) || !wb_uuid_parse(wj_text(text), &id))
            return wrong(err, BRANCHES);
        if (!wr_branch_call(run, id, err))
            return upp_fail(err, UPP_ENOMEM, "no memory for the state of a run");
    }
    return 0;
}

/* An invalid state is an error: a run that restarted at its first step would do its work twice. */
int wr_state_read(struct wr_run *run, struct upp_str json, struct upp_err *err)
{
    struct weft_state *s = &run->pub.state;
    yyjson_val *v;
    uint64_t step, cycles;
    int r = wj_read(&run->memory, json, NULL, &v, err);
    if (r < 0)
        return r == -UPP_ENOMEM ? r : upp_fail(err, UPP_ESTORE, "the state of the run is no JSON");
    if (!yyjson_is_obj(v))
        return upp_fail(err, UPP_ESTORE, "the state of the run is no object");
    if (!number(yyjson_obj_get(v, STEP), UINT32_MAX, &step))
        return wrong(err, STEP);
    if (!number(yyjson_obj_get(v, CYCLES), UINT32_MAX, &cycles))
        return wrong(err, CYCLES);
    s->step = (uint32_t)step;
    s->cycles = (uint32_t)cycles;
    r = read_usage(yyjson_obj_get(v, USAGE), &s->usage, err);
    if (r >= 0 && yyjson_arr_get(yyjson_obj_get(v, USAGE), 4) &&
        !number(yyjson_arr_get(yyjson_obj_get(v, USAGE), 4), UINT64_MAX, &s->usage.reasoning))
        return wrong(err, USAGE);
    if (r >= 0)
        r = text_of(&run->memory, yyjson_obj_get(v, METADATA), &s->metadata, err);
    if (r >= 0)
        r = text_of(&run->memory, yyjson_obj_get(v, PLAN), &s->plan, err);
    if (r >= 0)
        r = text_of(&run->memory, yyjson_obj_get(v, OWN), &s->own, err);
    if (r >= 0)
        r = text_of(&run->memory, yyjson_obj_get(v, REQUEST), &run->middleware.request, err);
    if (r >= 0)
        r = read_used(run, v, err);
    if (r >= 0)
        r = read_handoffs(run, v, err);
    if (r >= 0)
        r = read_branches(run, yyjson_obj_get(v, BRANCHES), err);
    return r < 0 ? r : read_approved(run, yyjson_obj_get(v, APPROVED), err);
}

/* ---- Changing it ------------------------------------------------------------------------------------------- */

static int set(struct wr_run *run, struct upp_str json, const char *what, struct upp_str *to, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(WR_RUN_MEMORY); /* values are set often */
    yyjson_val *v;
    int r = wj_read(&scratch, json, NULL, &v, err);
    return r < 0 ? upp_wrap(err, r, "%s", what) : text_of(&run->memory, v, to, err);
}

int weft_run_set_own(struct weft_run *pub, struct upp_str json, struct upp_err *err)
{
    return set(wr_of(pub), json, "the private state", &pub->state.own, err);
}

int weft_run_set_plan(struct weft_run *pub, struct upp_str json, struct upp_err *err)
{
    return set(wr_of(pub), json, "the plan", &pub->state.plan, err);
}

enum { METADATA_BYTES = 1 << 20 };

int weft_run_set_metadata(struct weft_run *pub, struct upp_str name, struct upp_str json, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    struct wj_edit edit = {.name = name};
    struct upp_str map;
    int r = json.n ? set(run, json, "the value", &edit.json, err) : 0;
    if (r >= 0)
        r = wj_edit(&run->memory, pub->state.metadata, &edit, 1, &map, err);
    if (r >= 0 && map.n > METADATA_BYTES)
        r = upp_fail(err, UPP_ELIMIT, "the metadata of a run has at most %d bytes", METADATA_BYTES);
    if (r < 0)
        return upp_wrap(err, r, "metadata '%.*s'", UPP_FMT(name));
    pub->state.metadata = map;
    return 0;
}

int wr_count_tokens(struct wr_run *run, struct upp_err *err)
{
    const struct upp_usage *u = &run->pub.state.usage;
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, u->input + u->output);
    return weft_run_set_metadata(&run->pub, UPP_STR("totalTokens"), wb_str(digits, (size_t)n), err);
}
