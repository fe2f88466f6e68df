#include "support/hooks.h"

#include <stdio.h>

#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"

static struct wb_buf *lines_of(void *arg)
{
    struct heard *h = arg;
    if (!h->lines.max)
        h->lines = (struct wb_buf)WB_BUF(1u << 20);
    return &h->lines;
}

/* " [one:completed two:pending] at two" */
static void add_plan(struct heard *h, struct weft_run *run)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    yyjson_val *v = NULL;
    if (!h->plan)
        return;
    wb_buf_addf(&h->lines, " [");
    if (run->state.plan.n && wj_read(&a, run->state.plan, NULL, &v, NULL) >= 0)
        for (size_t i = 0; i < yyjson_arr_size(v); i++) {
            yyjson_val *step = yyjson_arr_get(v, i);
            wb_buf_addf(&h->lines, "%s%.*s:%.*s", i ? " " : "", UPP_FMT(wj_text(yyjson_obj_get(step, "id"))),
                        UPP_FMT(wj_text(yyjson_obj_get(step, "status"))));
        }
    wb_buf_addc(&h->lines, ']');
    if (run->state.metadata.n && wj_read(&a, run->state.metadata, NULL, &v, NULL) >= 0 &&
        (v = yyjson_obj_get(v, "planStepId")))
        wb_buf_addf(&h->lines, " at %.*s", UPP_FMT(wj_text(v)));
}

static void add_turn(struct wb_buf *out, const struct upp_turn *t)
{
    static const char *const roles[] = {"?", "user", "assistant", "tool"};
    for (size_t i = 0; i < t->n_messages; i++)
        wb_buf_addf(out, " %s", roles[t->messages[i].role]);
    wb_buf_addf(out, "; %llu+%llu in %zu cycles, %zu executions", (unsigned long long)t->usage.input,
                (unsigned long long)t->usage.output, t->n_cycles, t->n_executions);
}

static int check(struct wb_buf *out, struct upp_err *err)
{
    wb_buf_addc(out, '\n');
    return wb_buf_check(out, err);
}

static int on_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    struct wb_buf *out = lines_of(arg);
    wb_buf_addf(out, "start %u", step);
    add_plan(arg, run);
    return check(out, err);
}

static int on_reason(void *arg, struct weft_run *run, uint32_t step, struct upp_str reasoning, struct upp_err *err)
{
    struct wb_buf *out = lines_of(arg);
    (void)run;
    wb_buf_addf(out, "reason %u: %.*s", step, UPP_FMT(reasoning));
    return check(out, err);
}

static int on_act(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls, struct upp_err *err)
{
    struct wb_buf *out = lines_of(arg);
    (void)run;
    wb_buf_addf(out, "act %u:", step);
    for (const struct upp_part *p = NULL; (p = upp_part_next(calls, p, UPP_PARTS_CALLS));)
        wb_buf_addf(out, " %.*s", UPP_FMT(p->name));
    return check(out, err);
}

static int on_observe(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *results,
                      struct upp_err *err)
{
    struct wb_buf *out = lines_of(arg);
    (void)run;
    wb_buf_addf(out, "observe %u:", step);
    for (const struct upp_part *p = NULL; (p = upp_part_next(results, p, UPP_PARTS_RESULTS));)
        wb_buf_addf(out, " %.*s", UPP_FMT(p->text));
    return check(out, err);
}

static int on_end(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                  struct upp_err *err)
{
    struct wb_buf *out = lines_of(arg);
    wb_buf_addf(out, "end %u:", step);
    add_turn(out, result->turn);
    add_plan(arg, run);
    return check(out, err);
}

static int on_complete(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    struct wb_buf *out = lines_of(arg);
    (void)run;
    wb_buf_addf(out, "complete:");
    add_turn(out, turn);
    wb_buf_addf(out, "; %s", upp_turn_text(turn));
    return check(out, err);
}

static int on_error(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                    struct upp_err *err)
{
    struct wb_buf *out = lines_of(arg);
    (void)run, (void)ret;
    wb_buf_addf(out, "error %s: %s", upp_code_name(why->code), why->msg);
    return check(out, err);
}

static bool stop(void *arg, struct weft_run *run)
{
    struct heard *h = arg;
    struct wb_buf *out = lines_of(arg);
    struct upp_str name = UPP_STR("\"totalTokens\":"), rest = {0};
    size_t at = wb_str_find(run->state.metadata, name, 0);
    uint64_t n_tokens = 0;
    if (at != SIZE_MAX)
        rest = wb_str_sub(run->state.metadata, at + name.n, SIZE_MAX);
    for (size_t i = 0; i < rest.n && rest.p[i] >= '0' && rest.p[i] <= '9'; i++)
        n_tokens = n_tokens * 10 + (uint64_t)(rest.p[i] - '0');
    if (h->metadata)
        wb_buf_addf(out, "stop %u %.*s\n", run->state.step, UPP_FMT(run->state.metadata));
    else
        wb_buf_addf(out, "stop %u %llu\n", run->state.step, (unsigned long long)n_tokens);
    return h->stop_at && run->state.step >= h->stop_at;
}

struct weft_hooks heard_hooks(struct heard *h)
{
    return (struct weft_hooks){.arg = h,
                               .on_step_start = on_start,
                               .on_reason = on_reason,
                               .on_act = on_act,
                               .on_observe = on_observe,
                               .on_step_end = on_end,
                               .on_complete = on_complete,
                               .on_error = on_error,
                               .stop = stop};
}

void heard_done(struct heard *h)
{
    wb_buf_done(&h->lines);
}

int heard_end(struct place *p, const struct wr_started *s, uint8_t status, struct upp_err *err)
{
    uint8_t now;
    WEFT_DEADLINE(600000);
    if (p->no_store) { /* nobody knows it any more when it has ended */
        while (wr_engine_counts(p->rig.engine).ended == 0)
            TRY(weft_sleep_ms(1, err));
        return 0;
    }
    TRY(place_await(p, s->run, &now, err));
    if (now == status)
        return 0;
    return upp_fail(err, UPP_EBUG, "it ended with status %u", now);
}

int heard_is(const struct heard *h, const char *want, struct upp_err *err)
{
    if (wb_str_eq(wb_buf_str(&h->lines), wb_cstr(want)))
        return 0;
    printf("# heard:\n%.*s# wanted:\n%s", UPP_FMT(wb_buf_str(&h->lines)), want);
    return upp_fail(err, UPP_EBUG, "something else was heard");
}

int heard_ends(const struct heard *h, const char *want, struct upp_err *err)
{
    struct upp_str all = wb_buf_str(&h->lines), end = wb_cstr(want);
    if (all.n >= end.n && wb_str_eq(wb_str_sub(all, all.n - end.n, SIZE_MAX), end))
        return 0;
    return heard_is(h, want, err);
}

int observed_is(struct place *p, struct wb_uuid run, const char *want, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wm_event ev;
    int r = wr_reader_open(p->rig.engine, &rig_owner, run, NULL, &rd, err);
    while (r >= 0 && (r = wr_reader_next(rd, true, &ev, err)) > 0) {
        const struct wm_entry *e = ev.kind == WM_MESSAGE    ? ev.message.entry
                                   : ev.kind == WM_STEP_END ? ev.step_end.results
                                                            : NULL;
        if (ev.from->depth || !e || e->message.role != UPP_ROLE_TOOL)
            continue;
        wb_buf_addf(&out, "%u:", ev.step);
        for (size_t i = 0; i < e->message.n_parts; i++)
            wb_buf_addf(&out, "%.*s=%.*s ", UPP_FMT(e->message.parts[i].id), UPP_FMT(e->message.parts[i].text));
        wb_buf_addf(&out, "; ");
    }
    if (r >= 0)
        r = wb_buf_check(&out, err);
    if (r < 0 || wb_str_eq(wb_buf_str(&out), wb_cstr(want)))
        return r;
    printf("# observed: %.*s\n", UPP_FMT(wb_buf_str(&out)));
    return upp_fail(err, UPP_EBUG, "something else was observed");
}
