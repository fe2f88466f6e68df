/* upp/providers/body.c — writes the parts of a request that all vendors share, and reports what a vendor does not
 * take. */
#include "upp/providers/body.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/str.h"
#include "json/compare.h"

/* ---- A body ---------------------------------------------------------------------------------- */

/* params are sent unchanged, except for what is merged with ours. */
static int check_params(const struct upp__body *b, const char *messages)
{
    yyjson_val *tools = upp__get(b->params, "tools");
    if (!yyjson_is_obj(b->params))
        return upp_fail(b->err, UPP_EINVALID, "params is a JSON object");
    if (upp__get(b->params, messages))
        return upp_fail(b->err, UPP_EINVALID, "params: '%s' are made of the request's own messages", messages);
    return !tools || yyjson_is_arr(tools) ? 0 : upp_fail(b->err, UPP_EINVALID, "params: 'tools' is an array");
}

int upp__body_init(struct upp__body *b, const struct upp__vendor *v, const struct upp_request *req,
                   struct upp__outgoing *out, const char *messages, struct upp_err *err)
{
    *b = (struct upp__body){.vendor = v, .req = req, .arena = out->arena, .err = err};
    wj_writer_init(&b->w, &out->body, err);
    if (!req->params.n)
        return 0;
    int r = wj_read(b->arena, req->params, NULL, &b->params, err);
    return r < 0 ? upp_wrap(err, r, "params") : check_params(b, messages);
}

int upp__body_check(struct upp__body *b)
{
    int r = wj_writer_check(&b->w);
    return r < 0 ? r : wb_arena_check(b->arena, b->err);
}

void upp__put(struct upp__body *b, const char *name, struct upp_str text)
{
    wj_write_name(&b->w, wb_cstr(name));
    upp__write_text(&b->w, text);
}

void upp__put_typed(struct upp__body *b, const char *type)
{
    wj_write_open(&b->w, '{');
    upp__put(b, "type", wb_cstr(type));
}

static bool stands_in(const char *const *list, const yyjson_val *name)
{
    for (; *list; list++)
        if (wj_named(name, wb_cstr(*list)))
            return true;
    return false;
}

void upp__put_all(struct upp__body *b, yyjson_val *object)
{
    static const char *const none[] = {NULL};
    upp__put_rest(b, object, none);
}

void upp__put_some(struct upp__body *b, yyjson_val *object, const char *const *names)
{
    for (; *names; names++)
        if (upp__get(object, *names))
            wj_put_value(&b->w, *names, upp__get(object, *names));
}

void upp__put_tools(struct upp__body *b, void (*put)(struct upp__body *b, const struct upp_tool_spec *t))
{
    yyjson_val *native = upp__get(b->params, "tools"), *tool;
    yyjson_arr_iter it = yyjson_arr_iter_with(native);
    if (!b->req->n_tools && !native)
        return;
    wj_put_open(&b->w, "tools", '[');
    for (size_t i = 0; i < b->req->n_tools; i++)
        put(b, &b->req->tools[i]);
    while ((tool = yyjson_arr_iter_next(&it)))
        wj_write_value(&b->w, tool);
    wj_write_close(&b->w, ']');
}

void upp__put_tool(struct upp__body *b, const struct upp_tool_spec *t, const char *schema, struct upp_str empty)
{
    upp__put(b, "name", t->name);
    if (t->description.n)
        upp__put(b, "description", t->description);
    wj_write_name(&b->w, wb_cstr(schema));
    upp__write_json(&b->w, b->arena, t->parameters.n ? t->parameters : empty);
}

void upp__put_rest(struct upp__body *b, yyjson_val *object, const char *const *taken)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    yyjson_val *name;
    while ((name = yyjson_obj_iter_next(&it)))
        if (!stands_in(taken, name))
            wj_put_member(&b->w, name);
}

yyjson_val *upp__look(struct upp__body *b, struct upp_str json)
{
    const struct wj_read_opts opts = {.size = sizeof opts, .max_bytes = UPP__JSON};
    yyjson_val *v = NULL;
    int r = json.n ? wj_read(b->arena, json, &opts, &v, NULL) : 0;
    if (r == -UPP_ENOMEM) /* else the request would be sent without it */
        wj_writer_fail(&b->w, upp_fail(b->err, UPP_ENOMEM, "no memory for a request"));
    return r < 0 ? NULL : v;
}

yyjson_val *upp__look_own(struct upp__body *b, struct upp_str metadata)
{
    return upp__get(upp__look(b, metadata), b->vendor->provider);
}

bool upp__is_said_call(const struct upp__body *b, const struct upp_part *call)
{
    if (!call->cut)
        return true;
    for (size_t i = b->message + 1; i < b->req->n_messages; i++) {
        const struct upp_part *p = NULL;
        while ((p = upp_part_next(b->req->messages[i], p, UPP_PARTS_RESULTS)))
            if (wb_str_eq(p->id, call->id))
                return true;
    }
    return false;
}

void upp__refuse(struct upp__body *b, const char *sentence)
{
    char where[64];
    if (b->w.failed || b->w.out->failed)
        return;
    const struct upp_part *p = &b->req->messages[b->message]->parts[b->part];
    wj_writer_fail(&b->w, upp_fail(b->err, UPP_EINVALID, "message %zu, part %zu (%s): %s", b->message, b->part,
                                   upp__kind_name(p->kind), sentence));
    (void)snprintf(where, sizeof where, "/messages/%zu/content/%zu", b->message, b->part);
    wb_err_where(b->err, wb_cstr(where));
}

void upp__lose(struct upp__body *b, const char *what, const char *why)
{
    upp__loss(b->req, b->message, b->part, what, why);
}

void upp__lose_call(struct upp__body *b)
{
    upp__lose(b, "call", "it was cut, and nobody answered it");
}

const char *upp__kind_name(uint8_t kind)
{
    static const char *const names[] = {
        [UPP_PART_TEXT] = "text",         [UPP_PART_REASONING] = "reasoning", [UPP_PART_IMAGE] = "image",
        [UPP_PART_DOCUMENT] = "document", [UPP_PART_AUDIO] = "audio",         [UPP_PART_VIDEO] = "video",
        [UPP_PART_BINARY] = "binary",     [UPP_PART_CALL] = "call",           [UPP_PART_RESULT] = "result",
    };
    return kind < WB_LEN(names) && names[kind] ? names[kind] : "part";
}

/* "data:image/png;base64,AAAA" */
static bool data_url(struct upp_str url, struct upp_str *mime, struct upp_str *base64)
{
    if (!wb_str_starts(url, UPP_STR("data:")))
        return false;
    size_t comma = wb_str_find(url, UPP_STR(","), 0);
    if (comma == SIZE_MAX)
        return false;
    struct upp_str head = wb_str_sub(url, 5, comma - 5);
    if (!wb_str_ends(head, UPP_STR(";base64")))
        return false;
    size_t end = wb_str_find(head, UPP_STR(";"), 0);
    *mime = wb_str_sub(head, 0, end);
    *base64 = wb_str_sub(url, comma + 1, SIZE_MAX);
    return true;
}

bool upp__media_bytes(const struct upp_media *m, struct upp_str *mime, struct upp_str *base64)
{
    struct upp_str type = {0};
    if (data_url(m->data, &type, base64))
        *mime = m->mime.n ? m->mime : type;
    else if (m->source == UPP_SOURCE_BASE64 || m->source == UPP_SOURCE_BYTES) {
        *mime = m->mime;
        *base64 = m->data;
    } else
        return false;
    if (wb_str_eq_nocase(*mime, UPP_STR("image/jpg")))
        *mime = UPP_STR("image/jpeg");
    return mime->n > 0;
}

/* ---- Blocks inside of results ---------------------------------------------------------------- */

static const struct {
    const char *type;
    uint8_t kind;
} block_kinds[] = {
    {"text", UPP_PART_TEXT},   {"image", UPP_PART_IMAGE}, {"document", UPP_PART_DOCUMENT},
    {"audio", UPP_PART_AUDIO}, {"video", UPP_PART_VIDEO},
};

static const struct {
    const char *type, *member;
    uint8_t source;
} block_sources[] = {
    {"base64", "data", UPP_SOURCE_BASE64},
    {"bytes", "data", UPP_SOURCE_BYTES},
    {"url", "url", UPP_SOURCE_URL},
    {"text", "data", UPP_SOURCE_TEXT},
};

static void read_source(yyjson_val *v, struct upp_media *ret)
{
    yyjson_val *source = upp__get(v, "source");
    struct upp_str type = upp__get_str(source, "type");
    if (!source) { /* audio and video; images of MCP */
        ret->source = UPP_SOURCE_BASE64;
        ret->data = upp__get_str(v, "data");
    }
    for (size_t i = 0; i < WB_LEN(block_sources); i++)
        if (type.n && wb_str_eq(type, wb_cstr(block_sources[i].type))) {
            ret->source = block_sources[i].source;
            ret->data = upp__get_str(source, block_sources[i].member);
        }
}

bool upp__block_read(yyjson_val *v, struct upp__block *ret)
{
    struct upp_str type = upp__get_str(v, "type");
    *ret = (struct upp__block){.text = upp__get_str(v, "text")};
    for (size_t i = 0; i < WB_LEN(block_kinds); i++)
        if (type.n && wb_str_eq(type, wb_cstr(block_kinds[i].type)))
            ret->kind = block_kinds[i].kind;
    if (!ret->kind || ret->kind == UPP_PART_TEXT)
        return ret->kind && ret->text.p;
    ret->media.mime = upp__get_str(v, "mimeType");
    ret->media.title = upp__get_str(v, "title");
    read_source(v, &ret->media);
    if (ret->kind == UPP_PART_DOCUMENT && ret->media.source == UPP_SOURCE_TEXT) {
        ret->kind = UPP_PART_TEXT;
        ret->text = ret->media.data;
    }
    return ret->media.data.p;
}

bool upp__is_blocks(yyjson_val *v)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *item;
    struct upp__block block;
    while ((item = yyjson_arr_iter_next(&it)))
        if (!upp__block_read(item, &block))
            return false;
    return yyjson_arr_size(v) > 0;
}

struct upp_str upp__left_out(struct upp__body *b, uint8_t kind, const char *why)
{
    upp__lose(b, upp__kind_name(kind), why);
    return wb_arena_printf(b->arena, "[%s left out: %s]", upp__kind_name(kind), why);
}

struct upp_str upp__blocks_text(struct upp__body *b, yyjson_val *blocks,
                                const char *(*refused)(const struct upp__block *block))
{
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(UPP__JSON);
    yyjson_arr_iter it = yyjson_arr_iter_with(blocks);
    yyjson_val *item;
    struct upp__block block;
    while ((item = yyjson_arr_iter_next(&it))) {
        if (!upp__block_read(item, &block))
            continue;
        const char *why = block.kind == UPP_PART_TEXT ? NULL : refused(&block);
        if (block.kind != UPP_PART_TEXT && !why)
            continue;
        if (all.n)
            wb_buf_addc(&all, '\n');
        wb_buf_add(&all, why ? upp__left_out(b, block.kind, why) : block.text);
    }
    if (all.failed && !b->arena->failed)
        b->arena->failed = all.failed;
    return wb_arena_dup(b->arena, wb_buf_str(&all));
}

/* ---- Values as text -------------------------------------------------------------------------- */

struct upp_str upp__json_text(struct wb_arena *a, yyjson_val *v)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(UPP__JSON);
    int r = v ? wj_write(v, &b, NULL) : 0;
    if (r < 0 && !a->failed)
        a->failed = r;
    return !v || r < 0 ? (struct upp_str){0} : wb_arena_dup(a, wb_buf_str(&b));
}

/* ---- Calls stored in a vendor's own form ------------------------------------------------------------------- */

/* The message may have been edited since. Then the stored form must not be sent: the model would see a result that does
 * not belong to the arguments of the call. */
static bool same(struct upp__body *b, yyjson_val *one, yyjson_val *other)
{
    int r = wj_equal(one, other, NULL);
    if (r < 0) /* else something different would be sent */
        wj_writer_fail(&b->w, upp_fail(b->err, UPP_ENOMEM, "no memory for a request"));
    return r > 0;
}

/* Do arguments as text have this value? Empty means the empty object. */
static bool means(struct upp__body *b, struct upp_str text, yyjson_val *value)
{
    yyjson_val *said = upp__look(b, text.n ? text : UPP_STR("{}"));
    return said && same(b, said, value);
}

/* The message has the arguments of a truncated call without the last brace (upp__say_cut). */
static struct upp_str closed(struct upp__body *b, struct upp_str text)
{
    return wb_arena_printf(b->arena, "%.*s}", UPP_FMT(text));
}

static bool same_text(struct upp__body *b, struct upp_str said, struct upp_str kept)
{
    kept = wb_str_trim(kept);
    return wb_str_eq(said, kept) || wb_str_eq(closed(b, said), kept);
}

static bool same_arguments(struct upp__body *b, struct upp_str said, yyjson_val *kept)
{
    said = wb_str_trim(said);
    if (yyjson_is_str(kept)) {
        if (same_text(b, said, wj_text(kept)))
            return true;
        struct upp_str text = wb_str_trim(wj_text(kept));
        kept = upp__look(b, text.n ? text : UPP_STR("{}"));
        if (!kept)
            return false; /* not JSON: only the text can be compared */
    }
    if (!kept || yyjson_is_null(kept))
        kept = upp__look(b, UPP_STR("{}"));
    if (!kept)
        return false;
    if (means(b, said, kept) || means(b, closed(b, said), kept))
        return true;
    yyjson_val *invalid = upp__get(kept, "INVALID_JSON"); /* upp__write_arguments */
    return yyjson_is_str(invalid) && yyjson_obj_size(kept) == 1 && same_text(b, said, wj_text(invalid));
}

bool upp__is_kept_call(struct upp__body *b, const struct upp_part *call, struct upp_str name, yyjson_val *arguments)
{
    return wb_str_eq(call->name, name) && same_arguments(b, call->text, arguments);
}
