/* support/decode/assistants.c — reading a stream of the Assistants API.
 *
 * The events are put together to the objects they are about, and these are read as a document (lift.c):
 * there is one place that knows what they mean.
 */
#include "support/decode/assistants.h"

#include "base/err.h"
#include "dialects/assistants/doc.h"
#include "dialects/core/lift.h"
#include "json/read.h"
#include "json/value.h"

enum { SCRATCH = 0x7fffffff };

void wd_asst_decoder_init(struct wd_asst_decoder *d, struct wm_doc *doc, struct wb_arena *a, struct upp_str agent)
{
    *d = (struct wd_asst_decoder){.doc = doc, .a = a, .scratch = WB_ARENA(SCRATCH), .agent = agent};
}

static void forget(struct wd_asst_decoder *d)
{
    for (size_t i = 0; i < d->objects.n; i++) {
        struct wd_asst_object *o = &d->objects.p[i];
        for (size_t k = 0; k < o->pieces.n; k++)
            wb_buf_done(&o->pieces.p[k].text);
        wb_vec_done(&o->pieces);
    }
    d->objects.n = 0;
}

void wd_asst_decoder_done(struct wd_asst_decoder *d)
{
    forget(d);
    wb_vec_done(&d->objects);
    wb_arena_done(&d->scratch);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* The newest message. */
static struct upp_str newest(const struct wd_asst_decoder *d)
{
    for (size_t i = d->objects.n; i-- > 0;)
        if (d->objects.p[i].kind == 'm')
            return d->objects.p[i].id;
    return (struct upp_str){0};
}

/* The object of this id, made where there is none; *ret NULL: it has no id. */
static int object_of(struct wd_asst_decoder *d, char kind, yyjson_val *v, struct wd_asst_object **ret,
                     struct upp_err *err)
{
    struct upp_str id = wj_text_at(v, "id");
    struct wd_asst_object o = {.kind = kind, .after = kind == 's' ? newest(d) : (struct upp_str){0}};
    *ret = NULL;
    if (!id.p)
        return 0;
    for (size_t i = d->objects.n; i-- > 0 && !*ret;)
        if (d->objects.p[i].kind == kind && wb_str_eq(d->objects.p[i].id, id))
            *ret = &d->objects.p[i];
    if (*ret)
        return 0;
    o.id = wb_arena_dup(d->a, id);
    if (!o.id.p)
        return wb_arena_check(d->a, err);
    if (!wb_vec_push(&d->objects, o, (size_t)WD_ASST_OBJECTS))
        return d->objects.n < WD_ASST_OBJECTS
                   ? upp_fail(err, UPP_ENOMEM, "out of memory")
                   : upp_fail(err, UPP_ELIMIT, "a stream of more than %d objects", WD_ASST_OBJECTS);
    *ret = &d->objects.p[d->objects.n - 1];
    return 0;
}

/* The piece at the index of an item of a delta; *ret NULL: it has none that can be used. */
static int piece_of(struct wd_asst_object *o, yyjson_val *item, size_t otherwise, struct wd_asst_piece **ret,
                    struct upp_err *err)
{
    yyjson_val *index = yyjson_obj_get(item, "index");
    uint64_t at = otherwise;
    *ret = NULL;
    if (!yyjson_is_obj(item) || (index && !(yyjson_is_raw(index) && wb_str_u64(wj_text(index), &at))))
        return 0;
    if (at >= WD_ASST_PIECES)
        return upp_fail(err, UPP_ELIMIT, "more than %d parts or calls", WD_ASST_PIECES);
    while (o->pieces.n <= at) {
        struct wd_asst_piece p = {.text = WB_BUF(WD_ASST_EVENT)};
        if (!wb_vec_push(&o->pieces, p, (size_t)WD_ASST_PIECES))
            return upp_fail(err, UPP_ENOMEM, "out of memory");
    }
    *ret = &o->pieces.p[at];
    (*ret)->there = true;
    return 0;
}

/* ---- Deltas ------------------------------------------------------------------------------------------------------ */

static int keep(struct wd_asst_decoder *d, struct upp_str text, struct upp_str *ret, struct upp_err *err)
{
    if (text.p)
        *ret = wb_arena_dup(d->a, text);
    return wb_arena_check(d->a, err);
}

static int part_delta(struct wd_asst_object *o, yyjson_val *item, size_t i, struct upp_err *err)
{
    struct wd_asst_piece *p;
    int r = piece_of(o, item, i, &p, err);
    struct upp_str type = wj_text_at(item, "type");
    if (r < 0 || !p)
        return r;
    if (wb_str_eq(type, UPP_STR("image_url"))) {
        p->image = true;
        wb_buf_clear(&p->text);
        wb_buf_add(&p->text, wj_text_at(yyjson_obj_get(item, "image_url"), "url"));
    } else if (!p->image)
        wb_buf_add(&p->text, wj_text_at(yyjson_obj_get(item, "text"), "value"));
    return wb_buf_check(&p->text, err);
}

static int call_delta(struct wd_asst_decoder *d, struct wd_asst_object *o, yyjson_val *item, size_t i,
                      struct upp_err *err)
{
    struct wd_asst_piece *p;
    yyjson_val *function = yyjson_obj_get(item, "function");
    int r = piece_of(o, item, i, &p, err);
    if (r < 0 || !p)
        return r;
    wb_buf_add(&p->text, wj_text_at(function, "arguments"));
    r = wb_buf_check(&p->text, err);
    if (r >= 0)
        r = keep(d, wj_text_at(item, "id"), &p->id, err);
    if (r >= 0)
        r = keep(d, wj_text_at(function, "name"), &p->name, err);
    return r < 0 ? r : keep(d, wj_text_at(function, "output"), &p->output, err);
}

static int delta_of(struct wd_asst_decoder *d, struct wd_asst_object *o, yyjson_val *v, struct upp_err *err)
{
    yyjson_val *delta = yyjson_obj_get(v, "delta"), *item;
    yyjson_val *list = o->kind == 'm' ? yyjson_obj_get(delta, "content")
                                      : yyjson_obj_get(yyjson_obj_get(delta, "step_details"), "tool_calls");
    size_t i, n;
    if (!yyjson_is_arr(list))
        return 0;
    yyjson_arr_foreach(list, i, n, item)
    {
        int r = o->kind == 'm' ? part_delta(o, item, i, err) : call_delta(d, o, item, i, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* All of an object: read again, into memory that stays. */
static int whole_of(struct wd_asst_decoder *d, struct wd_asst_object *o, yyjson_val *v, struct upp_err *err)
{
    struct upp_str text = {0};
    int r = wj_value_text(&d->scratch, v, &text, err);
    return r < 0 ? r : wj_read(d->a, text, UPP_OPTS(wj_read_opts, .max_bytes = WD_ASST_EVENT), &o->last, err);
}

static bool is_end(struct upp_str word)
{
    static const char *const words[] = {"completed", "incomplete", "failed", "cancelled", "expired"};
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (wb_str_eq(word, wb_cstr(words[i])))
            return true;
    return false;
}

static int object_event(struct wd_asst_decoder *d, char kind, struct upp_str word, yyjson_val *v, struct upp_err *err)
{
    struct wd_asst_object *o;
    int r = object_of(d, kind, v, &o, err);
    if (r < 0 || !o) {
        d->skipped += r == 0;
        return r;
    }
    if (kind == 'r')
        r = keep(d, wj_text_at(v, "status"), &d->status, err);
    if (r < 0)
        return r;
    if (wb_str_eq(word, UPP_STR("delta")))
        return kind == 'r' || o->ended ? 0 : delta_of(d, o, v, err);
    o->ended = is_end(word);
    return whole_of(d, o, v, err);
}

static int event_of(struct wd_asst_decoder *d, struct upp_str name, yyjson_val *v, struct upp_err *err)
{
    static const struct {
        struct upp_str prefix;
        char kind;
    } kinds[] = {{UPP_STR_INIT("thread.run.step."), 's'},
                 {UPP_STR_INIT("thread.run."), 'r'},
                 {UPP_STR_INIT("thread.message."), 'm'}};
    for (size_t i = 0; i < WB_LEN(kinds); i++)
        if (wb_str_starts(name, kinds[i].prefix))
            return object_event(d, kinds[i].kind, wb_str_sub(name, kinds[i].prefix.n, SIZE_MAX), v, err);
    if (wb_str_eq(name, UPP_STR("error"))) {
        yyjson_val *inner = yyjson_obj_get(v, "error");
        return keep(d, wj_text_at(inner ? inner : v, "message"), &d->error, err);
    }
    d->skipped++;
    return 0;
}

int wd_asst_decode(struct wd_asst_decoder *d, struct upp_str name, struct upp_str data, int64_t now_ms,
                   struct upp_err *err)
{
    yyjson_val *v;
    if (wb_str_eq(data, UPP_STR("[DONE]")))
        return 0;
    d->now_ms = now_ms;
    wb_arena_reset(&d->scratch);
    int r = wj_read(&d->scratch, data, UPP_OPTS(wj_read_opts, .max_bytes = WD_ASST_EVENT), &v, err);
    if (r < 0)
        return r;
    if (!name.n) {
        name = wj_text_at(v, "event");
        v = yyjson_obj_get(v, "data");
    }
    if (!yyjson_is_obj(v))
        return upp_fail(err, UPP_EINVALID, "the data of an event are an object");
    d->events++;
    r = event_of(d, name, v, err);
    return r < 0 ? r : wb_arena_check(d->a, err);
}

/* ---- The document ------------------------------------------------------------------------------------------------ */

static void put_str(struct wj_writer *w, const char *name, struct upp_str text)
{
    wj_write_name(w, wb_cstr(name));
    wj_write_str(w, text);
}

/* The members of what came last, but for those that are made here. */
static void put_members(struct wj_writer *w, const struct wd_asst_object *o, const char *but, const char *and_but)
{
    yyjson_val *key, *v;
    size_t i, n;
    put_str(w, "id", o->id);
    if (!o->last)
        return;
    yyjson_obj_foreach(o->last, i, n, key, v)
    {
        if (wj_named(key, UPP_STR("id")) || wj_named(key, wb_cstr(but)) || wj_named(key, wb_cstr(and_but)))
            continue;
        wj_write_name(w, wj_text(key));
        wj_write_value(w, v);
    }
}

static bool has_items(yyjson_val *list)
{
    return yyjson_is_arr(list) && yyjson_arr_size(list) > 0;
}

static void put_message(struct wj_writer *w, const struct wd_asst_object *o)
{
    yyjson_val *content = yyjson_obj_get(o->last, "content"), *status = yyjson_obj_get(o->last, "status");
    put_members(w, o, "content", "status");
    if (!wj_text_at(o->last, "role").p)
        put_str(w, "role", UPP_STR("assistant"));
    if (o->ended && status)
        put_str(w, "status", wj_text_at(o->last, "status"));
    else
        put_str(w, "status", UPP_STR("incomplete"));
    wj_write_name(w, UPP_STR("content"));
    if (content && (o->ended || has_items(content) || yyjson_is_str(content))) {
        wj_write_value(w, content);
        return;
    }
    wj_write_open(w, '[');
    for (size_t i = 0; i < o->pieces.n; i++) {
        const struct wd_asst_piece *p = &o->pieces.p[i];
        if (!p->there)
            continue;
        wj_write_open(w, '{');
        put_str(w, "type", p->image ? UPP_STR("image_url") : UPP_STR("text"));
        wj_write_name(w, p->image ? UPP_STR("image_url") : UPP_STR("text"));
        if (p->image) {
            wj_write_open(w, '{');
            put_str(w, "url", wb_buf_str(&p->text));
            wj_write_close(w, '}');
        } else
            wj_write_str(w, wb_buf_str(&p->text));
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

static void put_calls(struct wj_writer *w, const struct wd_asst_object *o)
{
    wj_write_open(w, '[');
    for (size_t i = 0; i < o->pieces.n; i++) {
        const struct wd_asst_piece *p = &o->pieces.p[i];
        if (!p->there)
            continue;
        wj_write_open(w, '{');
        if (p->id.p)
            put_str(w, "id", p->id);
        wj_write_name(w, UPP_STR("function"));
        wj_write_open(w, '{');
        put_str(w, "name", p->name.p ? p->name : UPP_STR(""));
        put_str(w, "arguments", wb_buf_str(&p->text));
        put_str(w, "output", p->output);
        wj_write_close(w, '}');
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

/* Where it stands is known better here than its time tells. */
static void put_step(struct wj_writer *w, const struct wd_asst_object *o)
{
    static const char *const kept[] = {"name", "errors", "json"};
    yyjson_val *details = yyjson_obj_get(o->last, "step_details"), *calls = yyjson_obj_get(details, "tool_calls");
    yyjson_val *weft = yyjson_obj_get(yyjson_obj_get(o->last, "metadata"), "weft");
    put_members(w, o, "step_details", "metadata");
    wj_write_name(w, UPP_STR("metadata"));
    wj_write_open(w, '{');
    wj_write_name(w, UPP_STR("weft"));
    wj_write_open(w, '{');
    for (size_t i = 0; i < WB_LEN(kept); i++) {
        yyjson_val *v = yyjson_obj_get(weft, kept[i]);
        if (!v)
            continue;
        wj_write_name(w, wb_cstr(kept[i]));
        wj_write_value(w, v);
    }
    put_str(w, "after", o->after);
    wj_write_close(w, '}');
    wj_write_close(w, '}');
    wj_write_name(w, UPP_STR("step_details"));
    if (details && (!o->pieces.n || has_items(calls))) {
        wj_write_value(w, details);
        return;
    }
    wj_write_open(w, '{');
    wj_write_name(w, UPP_STR("tool_calls"));
    put_calls(w, o);
    wj_write_close(w, '}');
}

static void put_list(struct wj_writer *w, const struct wd_asst_decoder *d, const char *name, char kind)
{
    wj_write_name(w, wb_cstr(name));
    wj_write_open(w, '[');
    for (size_t i = 0; i < d->objects.n; i++) {
        const struct wd_asst_object *o = &d->objects.p[i];
        if (o->kind != kind)
            continue;
        wj_write_open(w, '{');
        if (kind == 'm')
            put_message(w, o);
        else if (kind == 's')
            put_step(w, o);
        else
            put_members(w, o, "", "");
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

static struct upp_str new_id(void *arg, struct wb_arena *a, const char *prefix)
{
    struct wd_asst_decoder *d = arg;
    return wb_arena_printf(a, "%s%032llx", prefix, (unsigned long long)++d->ids);
}

static int read_all(struct wd_asst_decoder *d, struct wb_buf *text, struct upp_err *err)
{
    struct wj_writer w;
    struct wd_lifting l = {.a = d->a, .doc = d->doc, .agent = d->agent, .now_ms = d->now_ms, .id = new_id, .arg = d};
    wj_writer_init(&w, text, err);
    wj_write_open(&w, '{');
    put_str(&w, "object", UPP_STR("thread"));
    put_list(&w, d, "messages", 'm');
    put_list(&w, d, "runs", 'r');
    put_list(&w, d, "steps", 's');
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r >= 0)
        r = wj_read(d->a, wb_buf_str(text), UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH),
                    &l.root, err);
    if (r >= 0)
        r = wd_asst_lift_stream(&l, l.root, err);
    wb_vec_done(&l.anchors);
    return r;
}

int wd_asst_decode_end(struct wd_asst_decoder *d, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(WD_DOC_BYTES);
    int r = d->objects.n ? read_all(d, &text, err) : 0;
    forget(d);
    return r;
}
