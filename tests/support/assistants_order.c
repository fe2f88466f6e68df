/* support/assistants_order.c — the rules of the clients of the Assistants API, apart from the encoder. */
#include "support/assistants_order.h"

#include <stdio.h>

#include "json/read.h"
#include "json/value.h"

void assistants_order_init(struct assistants_order *c)
{
    *c = (struct assistants_order){.memory = WB_ARENA(16u << 20), .scratch = WB_ARENA(256u << 20)};
}

void assistants_order_done(struct assistants_order *c)
{
    wb_vec_done(&c->made);
    wb_arena_done(&c->memory);
    wb_arena_done(&c->scratch);
}

static bool wrong(struct assistants_order *c, const char *why, struct upp_str what)
{
    if (!c->wrong[0])
        (void)snprintf(c->wrong, sizeof c->wrong, "%.250s: %.*s", why, WB_MIN((int)what.n, 120), what.p ? what.p : "");
    return false;
}

static struct upp_str text_of(yyjson_val *v, const char *name)
{
    yyjson_val *m = v && yyjson_is_obj(v) ? yyjson_obj_get(v, name) : NULL;
    return m && yyjson_is_str(m) ? wj_text(m) : (struct upp_str){NULL, 0};
}

static yyjson_val *at(yyjson_val *v, const char *name)
{
    return v && yyjson_is_obj(v) ? yyjson_obj_get(v, name) : NULL;
}

static const char *const run_members[] = {
    "id",           "object",          "created_at", "assistant_id",        "thread_id",
    "status",       "started_at",      "expires_at", "cancelled_at",        "failed_at",
    "completed_at", "last_error",      "model",      "required_action",     "incomplete_details",
    "instructions", "tools",           "metadata",   "truncation_strategy", "max_completion_tokens",
    "usage",        "temperature",     "top_p",      "max_prompt_tokens",   "parallel_tool_calls",
    "tool_choice",  "response_format", NULL};
static const char *const message_members[] = {"id",
                                              "object",
                                              "created_at",
                                              "thread_id",
                                              "role",
                                              "status",
                                              "incomplete_at",
                                              "completed_at",
                                              "content",
                                              "run_id",
                                              "assistant_id",
                                              "attachments",
                                              "metadata",
                                              "incomplete_details",
                                              NULL};
static const char *const step_members[] = {
    "id",        "object",       "created_at",   "run_id",       "assistant_id", "thread_id", "type",       "status",
    "failed_at", "step_details", "cancelled_at", "completed_at", "expired_at",   "usage",     "last_error", "metadata",
    NULL};
static const char *const delta_members[] = {"id", "object", "delta", NULL};

static bool has_members(struct assistants_order *c, yyjson_val *v, const char *object, const char *const *members)
{
    size_t n = 0;
    if (!wb_str_eq(text_of(v, "object"), wb_cstr(object)))
        return wrong(c, "not of this kind", wb_cstr(object));
    for (; members[n]; n++)
        if (!at(v, members[n]))
            return wrong(c, "missing", wb_cstr(members[n]));
    return yyjson_obj_size(v) == n ? true : wrong(c, "a member too much", wb_cstr(object));
}

/* "thread.run.created" says "queued"; other events say the status in their last word. */
static bool has_status(struct assistants_order *c, yyjson_val *v, const char *word, const char *created)
{
    struct upp_str want = wb_str_eq(wb_cstr(word), UPP_STR("created")) ? wb_cstr(created) : wb_cstr(word);
    return wb_str_eq(text_of(v, "status"), want) ? true : wrong(c, "the status is not that of the event", want);
}

static bool is_new(struct assistants_order *c, struct upp_str id, struct upp_str *ret)
{
    for (size_t i = 0; i < c->made.n; i++)
        if (wb_str_eq(c->made.p[i], id))
            return wrong(c, "rule 4: made twice", id);
    *ret = wb_arena_dup(&c->memory, id);
    if (!id.n || !ret->p || !wb_vec_push(&c->made, *ret, 1 << 20))
        return wrong(c, id.n ? "out of memory" : "no id", id);
    return true;
}

/* Items of a list of deltas have an index, without a gap. */
static bool indexes(struct assistants_order *c, yyjson_val *list, size_t *n)
{
    size_t i, max;
    yyjson_val *item;
    if (!list || !yyjson_is_arr(list))
        return wrong(c, "rule 6: no list", UPP_STR(""));
    yyjson_arr_foreach(list, i, max, item)
    {
        yyjson_val *index = at(item, "index");
        uint64_t k;
        if (!index || !yyjson_is_raw(index) || !wb_str_u64(wj_text(index), &k) || k > *n)
            return wrong(c, "rule 6: index", UPP_STR(""));
        *n = WB_MAX(*n, (size_t)k + 1);
    }
    return true;
}

static bool message_frame(struct assistants_order *c, const char *word, yyjson_val *v)
{
    struct upp_str id = text_of(v, "id");
    if (wb_str_eq(wb_cstr(word), UPP_STR("delta"))) {
        if (!c->message.p || !wb_str_eq(c->message, id))
            return wrong(c, "rule 1: delta of a message that is not open", id);
        return has_members(c, v, "thread.message.delta", delta_members) &&
               indexes(c, at(at(v, "delta"), "content"), &c->n_content);
    }
    if (!has_members(c, v, "thread.message", message_members) || !has_status(c, v, word, "in_progress"))
        return false;
    if (wb_str_eq(wb_cstr(word), UPP_STR("created"))) {
        c->n_content = 0;
        if (c->message.p)
            return wrong(c, "rule 2: a second message", id);
        return c->step.p && !c->calls ? is_new(c, id, &c->message) : wrong(c, "rule 7: no step of it", id);
    }
    if (!c->message.p || !wb_str_eq(c->message, id))
        return wrong(c, "rule 5: a message that is not open", id);
    if (!wb_str_eq(wb_cstr(word), UPP_STR("in_progress")))
        c->message = (struct upp_str){NULL, 0};
    return true;
}

/* Every call of a step that is completed has an output. */
static bool has_outputs(struct assistants_order *c, yyjson_val *v)
{
    yyjson_val *list = at(at(v, "step_details"), "tool_calls"), *call;
    size_t i, max;
    if (!list || !yyjson_is_arr(list))
        return true;
    yyjson_arr_foreach(list, i, max, call)
    {
        if (!text_of(at(call, "function"), "output").p)
            return wrong(c, "rule 8: completed without an output", text_of(call, "id"));
    }
    return true;
}

static bool step_delta(struct assistants_order *c, yyjson_val *v, struct upp_str id)
{
    if (!c->step.p || !wb_str_eq(c->step, id) || !c->known)
        return wrong(c, "rule 1: delta of a step that is not open", id);
    if (at(at(v, "delta"), "id"))
        return wrong(c, "rule 6: an id in a delta", id);
    return has_members(c, v, "thread.run.step.delta", delta_members) &&
           indexes(c, at(at(at(v, "delta"), "step_details"), "tool_calls"), &c->n_calls);
}

static bool step_frame(struct assistants_order *c, const char *word, yyjson_val *v)
{
    struct upp_str id = text_of(v, "id");
    if (wb_str_eq(wb_cstr(word), UPP_STR("delta")))
        return step_delta(c, v, id);
    if (!has_members(c, v, "thread.run.step", step_members) || !has_status(c, v, word, "in_progress"))
        return false;
    if (!wb_str_eq(text_of(v, "type"), text_of(at(v, "step_details"), "type")))
        return wrong(c, "two types", id);
    if (wb_str_eq(wb_cstr(word), UPP_STR("created"))) {
        if (c->step.p)
            return wrong(c, "rule 3: a second step", id);
        c->calls = wb_str_eq(text_of(v, "type"), UPP_STR("tool_calls"));
        c->known = true;
        c->n_calls = 0;
        return is_new(c, id, &c->step);
    }
    if (!c->step.p || !wb_str_eq(c->step, id))
        return wrong(c, "rule 5: a step that is not open", id);
    c->known = true;
    if (wb_str_eq(wb_cstr(word), UPP_STR("in_progress")))
        return true;
    c->step = (struct upp_str){NULL, 0};
    if (c->message.p)
        return wrong(c, "rule 7: its message is open", id);
    return !wb_str_eq(wb_cstr(word), UPP_STR("completed")) || has_outputs(c, v);
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && !wb_str_eq(wb_cstr(*words), wb_cstr(word)))
        words++;
    return *words != NULL;
}

static bool run_frame(struct assistants_order *c, const char *word, yyjson_val *v)
{
    static const char *const ends[] = {"completed", "incomplete", "failed", "cancelled", "expired", NULL};
    if (!has_members(c, v, "thread.run", run_members) || !has_status(c, v, word, "queued"))
        return false;
    bool created = wb_str_eq(wb_cstr(word), UPP_STR("created")),
         asks = at(v, "required_action") && yyjson_is_obj(at(v, "required_action"));
    if (created == c->created)
        return wrong(c, "rule 9: created", wb_cstr(word));
    c->created = true;
    c->going |= wb_str_eq(wb_cstr(word), UPP_STR("in_progress"));
    if (asks != wb_str_eq(wb_cstr(word), UPP_STR("requires_action")))
        return wrong(c, "required_action", wb_cstr(word));
    if (asks && c->message.p)
        return wrong(c, "rule 9: it waits while a message is open", wb_cstr(word));
    if (is_one_of(word, ends)) {
        c->ended = true;
        if (c->message.p || c->step.p)
            return wrong(c, "rule 9: the run ends before its step", c->step);
    }
    c->last = asks || c->ended;
    return true;
}

static bool done_frame(struct assistants_order *c, struct upp_str data)
{
    if (!wb_str_eq(data, UPP_STR("[DONE]")))
        return wrong(c, "done", data);
    if (!c->last)
        return wrong(c, "rule 9: [DONE] before the run waits or has ended", data);
    c->last = false;
    c->known = false;
    return true;
}

bool assistants_order_frame(struct assistants_order *c, const char *name, struct upp_str data)
{
    static const char *const run[] = {"created",   "queued",     "in_progress", "requires_action",
                                      "completed", "incomplete", "failed",      "cancelling",
                                      "cancelled", "expired",    NULL};
    static const char *const step[] = {"created", "in_progress", "delta",   "completed",
                                       "failed",  "cancelled",   "expired", NULL};
    static const char *const message[] = {"created", "in_progress", "delta", "completed", "incomplete", NULL};
    struct upp_err err;
    yyjson_val *v;
    if (c->wrong[0])
        return false;
    if (!name)
        return wrong(c, "no name", data);
    c->ever = true;
    if (wb_str_eq(wb_cstr(name), UPP_STR("done")))
        return done_frame(c, data);
    wb_arena_reset(&c->scratch);
    if (wj_read(&c->scratch, data, NULL, &v, &err) < 0 || !yyjson_is_obj(v))
        return wrong(c, "no JSON object", data);
    if (c->ended || c->last)
        return wrong(c, "rule 9: after the end", wb_cstr(name));
    if (strncmp(name, "thread.run.step.", 16) == 0 && is_one_of(name + 16, step))
        return c->going ? step_frame(c, name + 16, v) : wrong(c, "rule 9: before the run", wb_cstr(name));
    if (strncmp(name, "thread.message.", 15) == 0 && is_one_of(name + 15, message))
        return message_frame(c, name + 15, v);
    if (strncmp(name, "thread.run.", 11) == 0 && is_one_of(name + 11, run))
        return run_frame(c, name + 11, v);
    return wrong(c, "no such event", wb_cstr(name));
}

bool assistants_order_end(struct assistants_order *c, bool ended)
{
    if (c->wrong[0])
        return false;
    if (ended && (!c->ended || c->last))
        return wrong(c, "rule 9: no end", UPP_STR(""));
    return true;
}
