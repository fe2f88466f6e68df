/* envelope/edit.c — writes an envelope with some members replaced. Members keep their order; those that are added
 * stand where the specification has them, as far as the others are in its order. */
#include "envelope/envelope.h"

#include "dialects/envelope/chains.h"
#include "dialects/envelope/write.h"
#include "json/value.h"

enum { USUAL = 2048 }; /* bytes of most envelopes */

static inline bool is(yyjson_val *key, const char *name)
{
    return wj_named(key, wb_cstr(name));
}

static bool has(yyjson_val *tags, struct upp_str tag)
{
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(tags, i, n, v)
    {
        if (wb_str_eq(wj_text_of(v), tag))
            return true;
    }
    return false;
}

/* Those that it has all stay; beyond WE_MAX_TAGS none is added. */
static void put_tags(struct wj_writer *w, yyjson_val *tags, const struct we_edit *e)
{
    yyjson_val *v;
    size_t i, n, have = yyjson_is_arr(tags) ? yyjson_arr_size(tags) : 0;
    wj_put_open(w, "tags", '[');
    yyjson_arr_foreach(tags, i, n, v) wj_write_value(w, v);
    for (size_t k = 0; k < e->n_tags && have < WE_MAX_TAGS; k++)
        if (!has(tags, e->tags[k])) {
            wj_write_str(w, e->tags[k]);
            have++;
        }
    wj_write_close(w, ']');
}

static void put_trace_member(struct wj_writer *w, const struct we_edit *e, yyjson_val *key, yyjson_val *value)
{
    if (is(key, "parents") && e->parents)
        we_put_parents(w, e->parents, e->n_parents, e->above);
    else if (is(key, WD_ENVELOPE_ABOVE) && e->complete)
        return; /* ours alone */
    else if (is(key, "id") && e->id.n)
        wj_put_str(w, "id", e->id);
    else if (is(key, "tags"))
        put_tags(w, value, e);
    else
        wj_put_member(w, key);
}

static void put_trace(struct wj_writer *w, const struct we_edit *e, yyjson_val *trace)
{
    yyjson_val *key, *value;
    size_t i, n;
    wj_put_open(w, "trace", '{');
    if (e->parents && !yyjson_obj_get(trace, "parents"))
        we_put_parents(w, e->parents, e->n_parents, e->above);
    if (e->id.n && !yyjson_obj_get(trace, "id") && !yyjson_obj_get(trace, "parents"))
        wj_put_str(w, "id", e->id);
    if (yyjson_is_obj(trace))
        yyjson_obj_foreach(trace, i, n, key, value)
        {
            put_trace_member(w, e, key, value);
            if (is(key, "parents") && e->id.n && !yyjson_obj_get(trace, "id"))
                wj_put_str(w, "id", e->id);
        }
    if (e->n_tags && !yyjson_obj_get(trace, "tags"))
        put_tags(w, NULL, e);
    if (e->has_cost && !yyjson_obj_get(trace, "cost"))
        we_put_cost(w, e->input_tokens, e->output_tokens);
    wj_write_close(w, '}');
}

static bool changes_trace(const struct we_edit *e)
{
    return e->id.n || e->parents || e->n_tags || e->has_cost;
}

static void put_risks(struct wj_writer *w, const struct we_edit *e, yyjson_val *risks)
{
    yyjson_val *v;
    size_t i, n;
    wj_put_open(w, "risks", '[');
    if (yyjson_is_arr(risks))
        yyjson_arr_foreach(risks, i, n, v) wj_write_value(w, v);
    for (size_t k = 0; k < e->n_risks; k++)
        wj_write_str(w, e->risks[k]);
    wj_write_close(w, ']');
}

/* The model's own score, with risks that it does not know of. */
static void put_confidence(struct wj_writer *w, const struct we_edit *e, yyjson_val *confidence)
{
    yyjson_val *key, *value;
    size_t i, n;
    if (!yyjson_is_obj(confidence)) {
        wj_put_value(w, "confidence", confidence);
        return;
    }
    wj_put_open(w, "confidence", '{');
    yyjson_obj_foreach(confidence, i, n, key, value)
    {
        if (is(key, "risks") && e->n_risks)
            put_risks(w, e, value);
        else
            wj_put_member(w, key);
    }
    if (e->n_risks && !yyjson_obj_get(confidence, "risks"))
        put_risks(w, e, NULL);
    wj_write_close(w, '}');
}

/* ENV-16: a content other than text has a short text. */
static void put_content(struct wj_writer *w, struct wb_arena *a, yyjson_val *content)
{
    yyjson_val *key, *value, *data = yyjson_obj_get(content, "data");
    size_t i, n;
    bool due = data && !yyjson_obj_get(content, "text") && !wb_str_eq(wj_text_at(content, "type"), UPP_STR("text"));
    if (!yyjson_is_obj(content) || !due) {
        wj_put_value(w, "content", content);
        return;
    }
    wj_put_open(w, "content", '{');
    yyjson_obj_foreach(content, i, n, key, value)
    {
        if (is(key, "data"))
            wj_put_str(w, "text", wd_envelope_summary(a, data));
        wj_put_member(w, key);
    }
    wj_write_close(w, '}');
}

static void add_members(struct wj_writer *w, const struct we_edit *e, yyjson_val *root)
{
    if (!yyjson_obj_get(root, "role"))
        wj_put_str(w, "role", e->role);
    if (!yyjson_obj_get(root, "agent") && e->agent_id.n)
        we_put_agent(w, e->agent_id, e->agent_name, e->model);
    if (!yyjson_obj_get(root, "timestamp"))
        we_put_time(w, e->now_ms);
    if (!yyjson_obj_get(root, "intent"))
        wj_put_str(w, "intent", e->intent);
    if (!yyjson_obj_get(root, "task"))
        wj_put_str(w, "task", e->task);
}

static void add_confidence(struct wj_writer *w, const struct we_edit *e, yyjson_val *root, bool *done)
{
    struct upp_str role = wj_text_at(root, "role");
    bool error = wb_str_eq(wj_text_at(yyjson_obj_get(root, "content"), "type"), UPP_STR("error"));
    bool wants = !role.p || wb_str_eq(role, UPP_STR("agent")) || wb_str_eq(role, UPP_STR("tool"));
    if (*done || !e->complete || (!wants && !e->n_risks))
        return;
    *done = true;
    if (error)
        we_put_confidence(w, 0, (struct upp_str){0}, e->risks, e->n_risks);
    else
        we_put_confidence(w, e->score, UPP_STR(WE_UNSTATED), e->risks, e->n_risks);
}

/* Who answered; what else the envelope says of its agent stays. */
static void put_own_agent(struct wj_writer *w, const struct we_edit *e, yyjson_val *agent)
{
    yyjson_val *key, *value;
    size_t i, n;
    wj_put_open(w, "agent", '{');
    wj_put_str(w, "id", e->agent_id);
    wj_put_str(w, "name", e->agent_name);
    wj_put_str(w, "model", e->model);
    if (yyjson_is_obj(agent))
        yyjson_obj_foreach(agent, i, n, key, value)
        {
            if (!is(key, "id") && !is(key, "name") && !is(key, "model"))
                wj_put_member(w, key);
        }
    wj_write_close(w, '}');
}

static void put_member(struct wj_writer *w, struct wb_arena *a, const struct we_edit *e, yyjson_val *key,
                       yyjson_val *value)
{
    if (is(key, "trace") && changes_trace(e))
        put_trace(w, e, value);
    else if (e->complete && is(key, "protocol"))
        wj_put_str(w, "protocol", UPP_STR(WD_ENVELOPE_PROTOCOL));
    else if (e->complete && is(key, "agent") && e->agent_id.n && !e->foreign)
        put_own_agent(w, e, value);
    else if (e->complete && is(key, "confidence"))
        put_confidence(w, e, value);
    else if (e->complete && is(key, "content"))
        put_content(w, a, value);
    else
        wj_put_member(w, key);
}

int we_edit(struct wb_arena *a, yyjson_val *root, const struct we_edit *e, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WE_MAX_BYTES);
    struct wj_writer w;
    yyjson_val *key, *value;
    size_t i, n;
    bool rated = yyjson_obj_get(root, "confidence") != NULL;
    wj_writer_init(&w, &out, err);
    (void)wb_buf_reserve(&out, USUAL); /* sticky */
    wj_write_open(&w, '{');
    if (e->complete && !yyjson_obj_get(root, "protocol"))
        wj_put_str(&w, "protocol", UPP_STR(WD_ENVELOPE_PROTOCOL));
    yyjson_obj_foreach(root, i, n, key, value)
    {
        if (is(key, "trace"))
            add_confidence(&w, e, root, &rated);
        put_member(&w, a, e, key, value);
        if (e->complete && is(key, "protocol"))
            add_members(&w, e, root);
    }
    if (e->complete && !yyjson_obj_get(root, "protocol"))
        add_members(&w, e, root);
    add_confidence(&w, e, root, &rated);
    if (!yyjson_obj_get(root, "trace") && changes_trace(e))
        put_trace(&w, e, NULL);
    wj_write_close(&w, '}');
    int r = wb_arena_check(a, err);
    return r < 0 ? r : wj_writer_text(&w, a, ret);
}
