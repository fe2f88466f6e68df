/* agent/strategy/plan_read.c — parses a model's plan, and reads and writes plans in the state of a run. */
#include <string.h>

#include "agent/strategy/plan.h"
#include "base/err.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

/* All members are required and none is null: the common subset of the providers' strict schemas. */
const struct upp_str wa_plan_schema = UPP_STR_INIT(
    "{\"type\":\"object\",\"properties\":{\"steps\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"id\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"},"
    "\"tool\":{\"type\":\"string\",\"description\":\"the tool to use; empty: none\"},"
    "\"dependsOn\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"
    "\"required\":[\"id\",\"description\",\"tool\",\"dependsOn\"],\"additionalProperties\":false}}},"
    "\"required\":[\"steps\"],\"additionalProperties\":false}");

static const char *const statuses[] = {
    [WA_PENDING] = "pending", [WA_IN_PROGRESS] = "in_progress", [WA_COMPLETED] = "completed", [WA_FAILED] = "failed"};

struct upp_str wa_plan_find(struct upp_str text)
{
    size_t from = 0, to = text.n;
    while (from < text.n && text.p[from] != '{')
        from++;
    while (to > from && text.p[to - 1] != '}')
        to--;
    return to > from ? wb_str(text.p + from, to - from) : (struct upp_str){0};
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

struct reading {
    struct wb_arena *a;
    const struct wa_plan_reading *how;
    struct wa_step *steps; /* the completed ones, then the new ones in the model's order */
    yyjson_val **deps;     /* `dependsOn` of each new step */
    size_t n, n_done;
    struct upp_err *err;
};

static int invalid(struct reading *r, const char *fmt, ...) UPP_PRINTF(2, 3);
static int invalid(struct reading *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int x = wb_vfail(r->err, UPP_EPROTO, fmt, args);
    va_end(args);
    return upp_wrap(r->err, x, "the plan makes no sense");
}

static size_t find_step(const struct reading *r, struct upp_str id)
{
    for (size_t i = 0; i < r->n; i++)
        if (wb_str_eq(r->steps[i].id, id))
            return i;
    return SIZE_MAX;
}

static bool known_tool(const struct wa_plan_reading *how, struct upp_str name)
{
    for (size_t i = 0; i < how->n_tools; i++)
        if (wb_str_eq(how->tools[i].spec.name, name))
            return true;
    return false;
}

static int read_step(struct reading *r, yyjson_val *v, size_t index)
{
    struct wa_step step = {.id = wj_text_of(yyjson_obj_get(v, "id"))};
    yyjson_val *tool = yyjson_obj_get(v, "tool"), *deps = yyjson_obj_get(v, "dependsOn");
    step.description = wj_text_of(yyjson_obj_get(v, "description"));
    step.tool = wj_text_of(tool);
    if (!step.id.n || step.id.n > WA_ID_BYTES || memchr(step.id.p, 0, step.id.n))
        return invalid(r, "step %zu has no id, or one that is no short text", index + 1);
    if (!step.description.p)
        return invalid(r, "step '%.*s' has no description", UPP_FMT(step.id));
    if (tool && !yyjson_is_str(tool) && !yyjson_is_null(tool))
        return invalid(r, "the tool of step '%.*s' is no text", UPP_FMT(step.id));
    if (deps && !yyjson_is_arr(deps) && !yyjson_is_null(deps))
        return invalid(r, "dependsOn of step '%.*s' is no list", UPP_FMT(step.id));
    if (step.tool.n && !known_tool(r->how, step.tool))
        return invalid(r, "step '%.*s' uses the tool '%.*s', which there is not", UPP_FMT(step.id), UPP_FMT(step.tool));
    size_t same = find_step(r, step.id);
    if (same < r->n_done)
        return 0; /* completed already: not repeated */
    if (same != SIZE_MAX)
        return invalid(r, "two steps have the id '%.*s'", UPP_FMT(step.id));
    r->deps[r->n] = yyjson_is_arr(deps) ? deps : NULL;
    r->steps[r->n++] = step;
    return 0;
}

static int read_deps(struct reading *r, size_t i)
{
    struct wa_step *step = &r->steps[i];
    size_t n = yyjson_arr_size(r->deps[i]);
    step->after = n ? wb_new_n(r->a, uint32_t, n) : NULL;
    if (n && !step->after)
        return wb_arena_check(r->a, r->err);
    for (size_t k = 0; k < n; k++) {
        struct upp_str id = wj_text_of(yyjson_arr_get(r->deps[i], k));
        size_t on = id.p ? find_step(r, id) : SIZE_MAX;
        if (on == SIZE_MAX)
            return invalid(r, "step '%.*s' depends on '%.*s', which there is not", UPP_FMT(step->id), UPP_FMT(id));
        step->after[step->n_after++] = (uint32_t)on;
    }
    return 0;
}

/* The first unsorted step that depends on no unsorted one. */
static size_t next_of(const struct reading *r, const uint32_t *index)
{
    for (size_t i = 0; i < r->n; i++) {
        bool ready = index[i] == UINT32_MAX;
        for (uint32_t k = 0; ready && k < r->steps[i].n_after; k++)
            ready = index[r->steps[i].after[k]] != UINT32_MAX;
        if (ready)
            return i;
    }
    return SIZE_MAX;
}

/* An unsorted step that this one depends on: in a cycle each has one. */
static size_t waits_for(const struct reading *r, const uint32_t *index, size_t i)
{
    for (uint32_t k = 0; k < r->steps[i].n_after; k++)
        if (index[r->steps[i].after[k]] == UINT32_MAX)
            return r->steps[i].after[k];
    return i;
}

/* Reports a cycle: following dependencies long enough from any unsorted step leads into one. */
static int report_cycle(struct reading *r, const uint32_t *index)
{
    struct wj_list list = {0};
    size_t first = 0;
    while (index[first] != UINT32_MAX)
        first++;
    for (size_t n = 0; n < r->n; n++)
        first = waits_for(r, index, first);
    size_t i = first;
    do {
        wj_list_add(&list, " -> ", "'", r->steps[i].id);
        i = waits_for(r, index, i);
    } while (i != first);
    wj_list_add(&list, " -> ", "'", r->steps[first].id);
    return invalid(r, "its steps depend on each other in a circle: %s", list.p);
}

/* Sorts topologically, in the model's order where possible. */
static int sort(struct reading *r, struct wa_plan *ret)
{
    uint32_t *index = wb_new_n(r->a, uint32_t, r->n + 1);
    ret->steps = wb_new_n(r->a, struct wa_step, r->n + 1);
    ret->n = 0;
    if (!index || !ret->steps)
        return wb_arena_check(r->a, r->err);
    for (size_t i = 0; i < r->n; i++)
        index[i] = i < r->n_done ? (uint32_t)i : UINT32_MAX;
    for (; ret->n < r->n_done; ret->n++)
        ret->steps[ret->n] = r->steps[ret->n];
    while (ret->n < r->n) {
        size_t i = next_of(r, index);
        if (i == SIZE_MAX)
            return report_cycle(r, index);
        ret->steps[ret->n] = r->steps[i];
        for (uint32_t k = 0; k < ret->steps[ret->n].n_after; k++)
            ret->steps[ret->n].after[k] = index[ret->steps[ret->n].after[k]];
        index[i] = (uint32_t)ret->n++;
    }
    return 0;
}

/* Completed steps come first, and their dependencies no longer matter. */
static int copy_completed(struct reading *r, size_t n_new)
{
    const struct wa_plan *done = r->how->done;
    size_t n = (done ? done->n : 0) + n_new + 1;
    r->steps = wb_new_n(r->a, struct wa_step, n);
    r->deps = wb_new_n(r->a, yyjson_val *, n);
    if (!r->steps || !r->deps)
        return wb_arena_check(r->a, r->err);
    for (size_t i = 0; done && i < done->n; i++)
        if (done->steps[i].status == WA_COMPLETED) {
            r->steps[r->n] = done->steps[i];
            r->steps[r->n++].n_after = 0;
        }
    r->n_done = r->n;
    return 0;
}

int wa_plan_read(struct wb_arena *a, struct upp_str json, const struct wa_plan_reading *how, struct wa_plan *ret,
                 bool *cut, struct upp_err *err)
{
    struct reading r = {.a = a, .how = how, .err = err};
    yyjson_val *v = NULL, *list;
    *ret = (struct wa_plan){0};
    *cut = false;
    int read_result = json.n ? wj_read(a, json, NULL, &v, err) : -UPP_EINVALID;
    if (read_result == -UPP_ENOMEM)
        return read_result;
    list = read_result < 0 ? NULL : yyjson_obj_get(v, "steps");
    if (!yyjson_is_arr(list))
        return invalid(&r, "it has no list 'steps'");
    size_t n = yyjson_arr_size(list);
    if (n > WA_PLAN_STEPS)
        return invalid(&r, "it has %zu steps, more than %d", n, WA_PLAN_STEPS);
    int x = copy_completed(&r, n);
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item)
    {
        if (x >= 0)
            x = read_step(&r, item, i);
    }
    for (i = r.n_done; x >= 0 && i < r.n; i++)
        x = read_deps(&r, i);
    if (x >= 0 && r.n == 0) /* an empty plan: the response itself is the step */
        r.steps[r.n++] = (struct wa_step){.id = UPP_STR("answer"), .description = UPP_STR("Give the final answer.")};
    if (x >= 0)
        x = sort(&r, ret);
    if (x >= 0 && ret->n - r.n_done > how->max) {
        ret->n = r.n_done + how->max;
        *cut = true;
    }
    return x;
}

/* ---- In the state ---------------------------------------------------------------------------------------------- */

static void write_step(struct wj_writer *w, const struct wa_plan *p, const struct wa_step *s)
{
    wj_write_open(w, '{');
    wj_put_str(w, "id", s->id);
    wj_put_str(w, "description", s->description);
    if (s->tool.n)
        wj_put_str(w, "tool", s->tool);
    wj_put_open(w, "dependsOn", '[');
    for (uint32_t k = 0; k < s->n_after; k++)
        wj_write_str(w, p->steps[s->after[k]].id);
    wj_write_close(w, ']');
    wj_put_str(w, "status", wb_cstr(statuses[s->status]));
    wj_write_close(w, '}');
}

int wa_plan_write(const struct wa_plan *p, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '[');
    for (size_t i = 0; i < p->n; i++)
        write_step(&w, p, &p->steps[i]);
    wj_write_close(&w, ']');
    return wj_writer_check(&w);
}

static int load_step(struct wb_arena *a, struct wa_plan *p, yyjson_val *v, struct upp_err *err)
{
    struct wa_step *s = &p->steps[p->n];
    yyjson_val *deps = yyjson_obj_get(v, "dependsOn");
    struct upp_str status = wj_text_of(yyjson_obj_get(v, "status"));
    size_t n = yyjson_arr_size(deps);
    *s = (struct wa_step){.id = wj_text_of(yyjson_obj_get(v, "id"))};
    s->description = wj_text_of(yyjson_obj_get(v, "description"));
    s->tool = wj_text_of(yyjson_obj_get(v, "tool"));
    s->after = n ? wb_new_n(a, uint32_t, n) : NULL;
    if (n && !s->after)
        return wb_arena_check(a, err);
    for (size_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < p->n; i++)
            if (wb_str_eq(p->steps[i].id, wj_text_of(yyjson_arr_get(deps, k))))
                s->after[s->n_after++] = i;
    for (uint8_t i = 0; i < WB_LEN(statuses); i++)
        if (wb_str_eq(status, wb_cstr(statuses[i])))
            s->status = i;
    p->n++;
    return 0;
}

int wa_plan_load(struct wb_arena *a, struct upp_str json, struct wa_plan *ret, struct upp_err *err)
{
    yyjson_val *v, *item;
    size_t i, max;
    *ret = (struct wa_plan){0};
    int r = json.n ? wj_read(a, json, NULL, &v, err) : 0;
    if (r < 0 || !json.n)
        return r;
    if (!yyjson_is_arr(v))
        return upp_fail(err, UPP_ESTORE, "the plan of the run is no list");
    ret->steps = wb_new_n(a, struct wa_step, yyjson_arr_size(v) + 1);
    if (!ret->steps)
        return wb_arena_check(a, err);
    yyjson_arr_foreach(v, i, max, item)
    {
        if (r >= 0)
            r = load_step(a, ret, item, err);
    }
    return r;
}

enum { PLAN_BYTES = 16 << 20 };

int wa_plan_store(struct weft_run *run, const struct wa_plan *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(PLAN_BYTES);
    int r = wa_plan_write(p, &b, err);
    return r < 0 ? r : weft_run_set_plan(run, wb_buf_str(&b), err);
}
