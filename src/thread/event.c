/* thread/event.c — what the documents of a thread have more of than a message: system events with the texts and agent
 * ids that the log only refers to, and the mark of a reasoning part. */
#include "thread/doc.h"
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

enum { METADATA_BYTES = 64 << 20, DEPTH = 64 };

/* A vendor's raw output, item by item. */
struct raw {
    yyjson_val *list;
    size_t next;
};

/* What a vendor says of one piece of reasoning. */
struct mark {
    struct upp_str id, signature;
};

static struct upp_str text_at(yyjson_val *v, const char *name)
{
    return wj_text_of(yyjson_obj_get(v, name));
}

/* Anthropic: {"type":"redacted_thinking","data"}. Pydantic AI calls such a part by its type, and its data a signature.
 */
static bool is_redacted(yyjson_val *item, struct upp_str text, struct mark *ret)
{
    if (text.n || !wb_str_eq(text_at(item, "type"), UPP_STR("redacted_thinking")))
        return false;
    ret->id = UPP_STR("redacted_thinking");
    ret->signature = text_at(item, "data");
    return true;
}

/* Anthropic: {"type":"thinking","thinking","signature"}. */
static bool is_thinking(yyjson_val *item, struct upp_str text, struct mark *ret)
{
    if (!wb_str_eq(text_at(item, "type"), UPP_STR("thinking")) || !wb_str_eq(text_at(item, "thinking"), text))
        return false;
    ret->signature = text_at(item, "signature");
    return true;
}

/* OpenAI: {"type":"reasoning","id","summary":[{"text"}],"encrypted_content"}; the text begins with the first summary.
 */
static bool is_reasoning(yyjson_val *item, struct upp_str text, struct mark *ret)
{
    yyjson_val *first = yyjson_arr_get_first(yyjson_obj_get(item, "summary"));
    if (!wb_str_eq(text_at(item, "type"), UPP_STR("reasoning")) || !wb_str_starts(text, text_at(first, "text")))
        return false;
    ret->id = text_at(item, "id");
    ret->signature = text_at(item, "encrypted_content");
    return true;
}

/* Google: {"text","thought":true}; the signature of thoughts is in the part that follows them, or in their own. */
static bool is_thought(yyjson_val *item, yyjson_val *next, struct upp_str text, struct mark *ret)
{
    if (!yyjson_is_true(yyjson_obj_get(item, "thought")) || !wb_str_eq(text_at(item, "text"), text))
        return false;
    ret->signature = text_at(item, "thoughtSignature");
    if (!ret->signature.n && !yyjson_is_true(yyjson_obj_get(next, "thought")))
        ret->signature = text_at(next, "thoughtSignature");
    return true;
}

/* Finds the item of a piece of reasoning behind those of the earlier ones; none leaves *ret as it is. */
static void find_mark(struct raw *raw, struct upp_str text, struct mark *ret)
{
    for (size_t i = raw->next, n = yyjson_arr_size(raw->list); i < n; i++) {
        yyjson_val *item = yyjson_arr_get(raw->list, i);
        if (is_thinking(item, text, ret) || is_redacted(item, text, ret) || is_reasoning(item, text, ret) ||
            is_thought(item, yyjson_arr_get(raw->list, i + 1), text, ret)) {
            raw->next = i + 1;
            return;
        }
    }
}

static int read_raw(struct wb_arena *a, struct upp_str metadata, struct upp_str provider, struct raw *ret,
                    struct upp_err *err)
{
    yyjson_val *v = NULL;
    int r = metadata.n
                ? wj_read(a, metadata, UPP_OPTS(wj_read_opts, .max_bytes = METADATA_BYTES, .depth = DEPTH), &v, err)
                : 0;
    ret->list = v ? yyjson_obj_get(yyjson_obj_getn(v, provider.p, provider.n), "raw") : NULL;
    return r;
}

static int write_mark(struct wb_arena *a, struct upp_str provider, const struct mark *mark, struct upp_str *ret,
                      struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(METADATA_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "pydantic_ai", '{');
    if (mark->id.n)
        wj_put_str(&w, "id", mark->id);
    if (mark->signature.n)
        wj_put_str(&w, "signature", mark->signature);
    wj_put_str(&w, "provider_name", provider);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

int wa_reasoning_mark(struct wb_arena *a, struct upp_str provider, struct upp_message *m, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena own = WB_ARENA(4ull * METADATA_BYTES);
    struct raw raw = {0};
    bool is_read = false;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < m->n_parts; i++) {
        struct upp_part *p = &m->parts[i];
        struct mark mark = {0};
        if (p->kind != UPP_PART_REASONING || p->metadata.n)
            continue;
        if (!is_read)
            r = read_raw(&own, m->metadata, provider, &raw, err);
        is_read = true;
        if (r < 0)
            return r;
        find_mark(&raw, p->text, &mark);
        r = write_mark(a, provider, &mark, &p->metadata, err);
    }
    return r;
}
