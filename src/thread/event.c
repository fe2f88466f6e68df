/* thread/event.c — writes a system event with the texts and the agent ids that the log only refers to. */
#include "thread/event.h"

#include "base/err.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/id.h"
#include "model/upp_json.h"

enum { EVENT_BYTES = 64 << 20 };

struct rendering {
    const struct wa_event_doc *of;
    struct wb_arena *a;
    struct wj_writer w;
    bool enriched, handoff;
};

static bool is(struct upp_str text, const char *word)
{
    return wb_str_eq(text, wb_cstr(word));
}

/* Writes the agent's id; a value that is not a string is written as it is. */
static void put_agent(struct rendering *t, yyjson_val *v)
{
    struct upp_str id;
    if (!yyjson_is_str(v)) {
        wj_write_value(&t->w, v);
        return;
    }
    int r = t->of->id_of(t->of->arg, wj_text(v), &id, t->w.err);
    if (r < 0)
        wj_writer_fail(&t->w, r);
    else
        wj_write_str(&t->w, id);
}

/* The line that {"entry": ID} refers to; NULL: none on this path. */
static const struct wl_line *line_of(const struct rendering *t, yyjson_val *v)
{
    struct wb_uuid u;
    struct wm_id id;
    v = yyjson_is_obj(v) ? yyjson_obj_get(v, "entry") : NULL;
    if (!yyjson_is_str(v) || !wb_uuid_parse(wj_text(v), &u) || !wm_id_parse(u, &id))
        return NULL;
    for (size_t i = 0; i < t->of->n; i++)
        if (t->of->lines[i].node == id.node && t->of->lines[i].index == id.index)
            return &t->of->lines[i];
    return NULL;
}

static void put_member(struct rendering *t, struct upp_str name, yyjson_val *v)
{
    bool text = t->enriched && (is(name, "original") || is(name, "enriched"));
    bool agent = t->handoff && (is(name, "from") || is(name, "to"));
    const struct wl_line *line = text ? line_of(t, v) : NULL;
    wj_write_name(&t->w, name);
    if (agent)
        put_agent(t, v);
    else if (!line)
        wj_write_value(&t->w, v);
    else {
        struct upp_str content = wm_message_text(t->a, &line->entry.message);
        wj_write_str(&t->w, content.p ? content : UPP_STR(""));
    }
}

static void put_data(struct rendering *t, yyjson_val *v)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    yyjson_val *name;
    if (!yyjson_is_obj(v) || (!t->enriched && !t->handoff)) {
        wj_write_value(&t->w, v);
        return;
    }
    wj_write_open(&t->w, '{');
    while ((name = yyjson_obj_iter_next(&it)))
        put_member(t, wj_text(name), yyjson_obj_iter_get_val(name));
    wj_write_close(&t->w, '}');
}

static void put_targets(struct rendering *t, yyjson_val *v)
{
    yyjson_val *one;
    size_t i, n;
    if (!yyjson_is_arr(v)) {
        wj_write_value(&t->w, v);
        return;
    }
    wj_write_open(&t->w, '[');
    yyjson_arr_foreach(v, i, n, one)
    {
        put_agent(t, one);
    }
    wj_write_close(&t->w, ']');
}

static void put_event(struct rendering *t, yyjson_val *v)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    yyjson_val *name;
    wj_write_open(&t->w, '{');
    while ((name = yyjson_obj_iter_next(&it))) {
        struct upp_str key = wj_text(name);
        yyjson_val *value = yyjson_obj_iter_get_val(name);
        wj_write_name(&t->w, key);
        if (is(key, "data"))
            put_data(t, value);
        else if (is(key, "source"))
            put_agent(t, value);
        else if (is(key, "targets"))
            put_targets(t, value);
        else
            wj_write_value(&t->w, value);
    }
    wj_write_close(&t->w, '}');
}

int wa_event_doc(const struct wa_event_doc *of, struct wb_arena *a, struct upp_str *data, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(EVENT_BYTES);
    struct rendering t = {.of = of, .a = a};
    yyjson_val *v = NULL;
    if (!data->n)
        return 0;
    int r = wj_read(a, *data, UPP_OPTS(wj_read_opts, .max_bytes = EVENT_BYTES), &v, err);
    if (r < 0 || !yyjson_is_obj(v))
        return r;
    yyjson_val *type = yyjson_obj_get(v, "type");
    if (yyjson_is_str(type)) {
        t.enriched = is(wj_text(type), "prompt.enriched");
        t.handoff = is(wj_text(type), "agent.handoff");
    }
    wj_writer_init(&t.w, &b, err);
    put_event(&t, v);
    return wj_writer_text(&t.w, a, data);
}
