/* dialects/agentapi/build.c — builds a message of the Agent API from the frames of a stream. */
#include "dialects/agentapi/decode.h"

#include <math.h>

#include "base/err.h"
#include "dialects/core/lift.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"

void wd_aap_building_done(struct wd_aap_building *b)
{
    for (size_t i = 0; i < b->contents.n; i++)
        wb_buf_done(&b->contents.p[i].content);
    wb_vec_done(&b->contents);
}

/* ---- Merging --------------------------------------------------------------------------------------------- */

static void merge_values(struct wj_writer *w, yyjson_val *was, yyjson_val *more);

static void merge_texts(struct wj_writer *w, struct upp_str was, struct upp_str more)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf both = WB_BUF(WD_AAP_TEXT);
    wb_buf_add(&both, was);
    wb_buf_add(&both, more);
    if (both.failed)
        wj_writer_fail(w, wb_buf_check(&both, w->err));
    wj_write_str(w, both.n ? wb_buf_str(&both) : UPP_STR(""));
}

static void merge_objects(struct wj_writer *w, yyjson_val *was, yyjson_val *more)
{
    yyjson_val *key, *v, *other;
    size_t i, n;
    wj_write_open(w, '{');
    yyjson_obj_foreach(was, i, n, key, v)
    {
        wj_write_name(w, wj_text(key));
        other = yyjson_obj_getn(more, wj_text(key).p, wj_text(key).n);
        if (other)
            merge_values(w, v, other);
        else
            wj_write_value(w, v);
    }
    yyjson_obj_foreach(more, i, n, key, v)
    {
        if (yyjson_obj_getn(was, wj_text(key).p, wj_text(key).n))
            continue;
        wj_put_member(w, key);
    }
    wj_write_close(w, '}');
}

/* Recursive: as deep as the values that were read. */
static void merge_values(struct wj_writer *w, yyjson_val *was, yyjson_val *more)
{
    if (yyjson_is_null(more))
        wj_write_value(w, was);
    else if (yyjson_is_str(was) && yyjson_is_str(more))
        merge_texts(w, wj_text(was), wj_text(more));
    else if (yyjson_is_arr(was) && yyjson_is_arr(more)) {
        yyjson_val *v;
        size_t i, n;
        wj_write_open(w, '[');
        yyjson_arr_foreach(was, i, n, v) wj_write_value(w, v);
        yyjson_arr_foreach(more, i, n, v) wj_write_value(w, v);
        wj_write_close(w, ']');
    } else if (yyjson_is_raw(was) && yyjson_is_raw(more)) {
        int64_t x, y, sum;
        double f, g;
        if (wj_num_i64(wj_text(was), &x) && wj_num_i64(wj_text(more), &y) && !__builtin_add_overflow(x, y, &sum))
            wj_write_i64(w, sum);
        else if (wj_num_f64(wj_text(was), &f) && wj_num_f64(wj_text(more), &g) && isfinite(f + g))
            wj_write_f64(w, f + g);
        else
            wj_write_value(w, more);
    } else if (yyjson_is_obj(was) && yyjson_is_obj(more))
        merge_objects(w, was, more);
    else
        wj_write_value(w, more);
}

/* ---- Contents -------------------------------------------------------------------------------------------- */

/* Members that are not payload: they belong to the frame, or are written again. */
static bool is_frames(struct upp_str name)
{
    static const struct upp_str names[] = {
        UPP_STR_INIT("sequence_number"), UPP_STR_INIT("object"), UPP_STR_INIT("status"),
        UPP_STR_INIT("error"),           UPP_STR_INIT("type"),   UPP_STR_INIT("index"),
        UPP_STR_INIT("delta"),           UPP_STR_INIT("msg_id")};
    size_t i = 0;
    while (i < WB_LEN(names) && !wb_str_eq(names[i], name))
        i++;
    return i < WB_LEN(names);
}

static int payload_of(yyjson_val *content, struct wb_buf *to, struct upp_err *err)
{
    struct wj_writer w;
    yyjson_val *key, *v;
    size_t i, n;
    wj_writer_init(&w, to, err);
    wj_write_open(&w, '{');
    yyjson_obj_foreach(content, i, n, key, v)
    {
        if (is_frames(wj_text(key)))
            continue;
        wj_put_member(&w, key);
    }
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

static void swap(struct wb_buf *a, struct wb_buf *b)
{
    struct wb_buf c = *a;
    *a = *b;
    *b = c;
}

static int merge_payload(struct wd_aap_built *c, yyjson_val *content, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wb_buf_done) struct wb_buf more = WB_BUF(WD_AAP_MERGED), both = WB_BUF(WD_AAP_MERGED);
    struct wj_writer w;
    yyjson_val *was = NULL, *now = NULL;
    int r = payload_of(content, &more, err);
    if (r >= 0)
        r = wj_read(&scratch, c->content.n ? wb_buf_str(&c->content) : UPP_STR("{}"), NULL, &was, err);
    if (r >= 0)
        r = wj_read(&scratch, wb_buf_str(&more), NULL, &now, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &both, err);
    merge_values(&w, was, now);
    r = wj_writer_check(&w);
    if (r >= 0)
        swap(&c->content, &both);
    return r;
}

static struct upp_str text_of(yyjson_val *content)
{
    struct upp_str text = wj_text_at(content, "text");
    return text.p ? text : wj_text_at(content, "refusal");
}

/* Replaces the content, unless it is a text and the frame has none. */
static int replace(struct wd_aap_built *c, yyjson_val *content, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf now = WB_BUF(WD_AAP_TEXT);
    struct upp_str text = text_of(content);
    if (c->text && !text.p)
        return 0;
    if (c->text)
        wb_buf_add(&now, text);
    int r = c->text ? wb_buf_check(&now, err) : payload_of(content, &now, err);
    if (r >= 0)
        swap(&c->content, &now);
    return r;
}

/* ---- Operations ------------------------------------------------------------------------------------------ */

static int check_content(const struct wd_aap_building *b, size_t index, yyjson_val *content, struct upp_err *err)
{
    const struct wd_aap_built *c = index < b->contents.n ? &b->contents.p[index] : NULL;
    struct upp_str type = wj_text_at(content, "type");
    char quoted[WJ_QUOTED];
    if (b->status >= WD_AAP_COMPLETED)
        return upp_fail(err, UPP_EINVALID, "a content of message %s, which is over",
                        wj_quote(b->id, quoted, sizeof quoted));
    if (index > b->contents.n)
        return upp_fail(err, UPP_EINVALID, "content %zu of a message that has %zu", index, b->contents.n);
    if (c && c->over)
        return upp_fail(err, UPP_EINVALID, "content %zu goes on after its end", index);
    if (content && !type.n)
        return upp_fail(err, UPP_EINVALID, "content %zu has no type", index);
    if (c && content && !wb_str_eq(c->type, type))
        return upp_fail(err, UPP_EINVALID, "content %zu is of type %s now, and was of another", index,
                        wj_quote(type, quoted, sizeof quoted));
    if (!c && !content)
        return upp_fail(err, UPP_EINVALID, "content %zu was never begun", index);
    return 0;
}

/* The content at this index; a new one if it is the next index. */
static int content_at(struct wd_aap_building *b, size_t index, yyjson_val *content, struct wd_aap_built **ret,
                      struct upp_err *err)
{
    int r = check_content(b, index, content, err);
    if (r < 0)
        return r;
    if (index == b->contents.n) {
        struct wd_aap_built c = {.content = WB_BUF(WD_AAP_TEXT), .status = WD_AAP_IN_PROGRESS};
        c.type = wb_arena_dup(b->a, wj_text_at(content, "type"));
        c.text = wb_str_eq(c.type, UPP_STR("text")) || wb_str_eq(c.type, UPP_STR("refusal"));
        if (!c.type.p)
            return wb_arena_check(b->a, err);
        if (!wb_vec_push(&b->contents, c, (size_t)WD_AAP_CONTENTS))
            return b->contents.n < WD_AAP_CONTENTS
                       ? upp_fail(err, UPP_ENOMEM, "no memory for a content")
                       : upp_fail(err, UPP_ELIMIT, "a message of more than %d contents", WD_AAP_CONTENTS);
    }
    *ret = &b->contents.p[index];
    return 0;
}

int wd_aap_add_delta_content(struct wd_aap_building *b, size_t index, yyjson_val *content, struct upp_err *err)
{
    struct wd_aap_built *c;
    int r = content_at(b, index, content, &c, err);
    if (r < 0)
        return r;
    if (!c->text)
        return merge_payload(c, content, err);
    wb_buf_add(&c->content, text_of(content));
    return wb_buf_check(&c->content, err);
}

int wd_aap_replace_content(struct wd_aap_building *b, size_t index, yyjson_val *content, struct upp_err *err)
{
    struct wd_aap_built *c;
    int r = content_at(b, index, content, &c, err);
    return r < 0 ? r : replace(c, content, err);
}

int wd_aap_content_completed(struct wd_aap_building *b, size_t index, yyjson_val *content, struct upp_err *err)
{
    struct wd_aap_built *c;
    int r = content_at(b, index, content, &c, err);
    if (r >= 0 && content)
        r = replace(c, content, err);
    if (r < 0)
        return r;
    enum wd_aap_status now = wd_aap_status(wj_text_at(content, "status"));
    c->status = now >= WD_AAP_COMPLETED ? now : WD_AAP_COMPLETED;
    c->over = true;
    return 0;
}

int wd_aap_add_content(struct wd_aap_building *b, yyjson_val *content, struct upp_err *err)
{
    return wd_aap_content_completed(b, b->contents.n, content, err);
}

int wd_aap_set_contents(struct wd_aap_building *b, yyjson_val *list, struct upp_err *err)
{
    yyjson_val *v;
    size_t i, n;
    int r = 0;
    for (i = 0; i < b->contents.n; i++)
        wb_buf_done(&b->contents.p[i].content);
    b->contents.n = 0;
    yyjson_arr_foreach(list, i, n, v)
    {
        if (r >= 0 && wj_text_at(v, "type").n)
            r = wd_aap_add_content(b, v, err);
    }
    return r;
}

void wd_aap_building_end(struct wd_aap_building *b, enum wd_aap_status now)
{
    b->status = now;
    for (size_t i = 0; now >= WD_AAP_COMPLETED && i < b->contents.n; i++)
        if (!b->contents.p[i].over) {
            b->contents.p[i].over = true;
            b->contents.p[i].status = now;
        }
}

/* ---- Writing --------------------------------------------------------------------------------------------- */

static void put_json(struct wj_writer *w, const char *name, struct upp_str json)
{
    if (!json.n)
        return;
    wj_put_raw(w, name, json.p, json.n);
}

static void put_content(struct wj_writer *w, const struct wd_aap_built *c)
{
    wj_write_open(w, '{');
    wj_put_text(w, "object", UPP_STR("content"));
    wj_put_text(w, "status", wb_cstr(wd_aap_status_word(c->status)));
    wj_put_text(w, "type", c->type);
    if (c->text)
        wj_put_text(w, wb_str_eq(c->type, UPP_STR("text")) ? "text" : "refusal",
                    c->content.n ? wb_buf_str(&c->content) : UPP_STR(""));
    else if (c->content.n > 2) {
        wb_buf_addc(w->out, ',');
        wb_buf_add(w->out, wb_str_sub(wb_buf_str(&c->content), 1, c->content.n - 2));
    }
    wj_write_close(w, '}');
}

void wd_aap_built_write(struct wj_writer *w, const struct wd_aap_building *b)
{
    wj_write_open(w, '{');
    wj_put_text(w, "object", UPP_STR("message"));
    wj_put_text(w, "status", b->word.p ? b->word : wb_cstr(wd_aap_status_word(b->status)));
    put_json(w, "error", b->error);
    wj_put_text(w, "id", b->id);
    wj_put_text(w, "type", b->type);
    wj_put_text(w, "role", b->role);
    wj_put_open(w, "content", '[');
    for (size_t i = 0; i < b->contents.n; i++)
        put_content(w, &b->contents.p[i]);
    wj_write_close(w, ']');
    wj_put_text(w, "code", b->code);
    wj_put_text(w, "message", b->message);
    put_json(w, "usage", b->usage);
    put_json(w, "metadata", b->metadata);
    wj_write_close(w, '}');
}
