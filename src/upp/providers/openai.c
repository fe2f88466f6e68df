/* upp/providers/openai.c — requests: what Chat Completions and Responses write alike. */
#include "upp/providers/openai.h"

#include <stdio.h>

#include "base/err.h"
#include "base/utf8.h"

/* ---- The body --------------------------------------------------------------------------------------------------- */

void upp__openai_name(struct upp__openai *o, const char *name)
{
    wj_write_name(&o->w, wb_cstr(name));
}

void upp__openai_str(struct upp__openai *o, const char *name, struct upp_str text)
{
    upp__openai_name(o, name);
    upp__write_text(&o->w, text);
}

void upp__openai_true(struct upp__openai *o, const char *name)
{
    upp__openai_name(o, name);
    wj_write_bool(&o->w, true);
}

/* Nothing but a host: "https://api.openai.com". */
static bool is_host(struct upp_str url)
{
    size_t         at   = wb_str_find(url, UPP_STR("://"), 0);
    struct upp_str rest = wb_str_sub(url, at == SIZE_MAX ? 0 : at + 3, SIZE_MAX);
    rest.n              = WB_MIN(rest.n, wb_str_find(rest, UPP_STR("?"), 0));
    while (rest.n && rest.p[rest.n - 1] == '/')
        rest.n--;
    return wb_str_find(rest, UPP_STR("/"), 0) == SIZE_MAX;
}

static void put_address(struct upp__openai *o, struct upp_str tail, struct upp_str key)
{
    struct upp_str path = is_host(o->v->base_url) ? wb_arena_printf(o->a, "/v1%.*s", UPP_FMT(tail)) : tail;
    o->out->url         = upp__endpoint(o->a, o->v->base_url, path);
    if (key.p && wb_str_eq(o->v->auth, UPP_STR("api-key"))) /* Azure */
        upp__header(o->out, "api-key", key);
    else if (key.p)
        upp__header(o->out, "authorization", wb_arena_printf(o->a, "Bearer %.*s", UPP_FMT(key)));
    upp__header(o->out, "content-type", UPP_STR("application/json"));
}

int upp__openai_begin(struct upp__openai *o, struct upp_str tail, struct upp_str key, struct upp_err *err)
{
    o->a = o->out->arena;
    wj_writer_init(&o->w, &o->out->body, err);
    if (o->req->params.n) {
        int r = wj_read(o->a, o->req->params, NULL, &o->params, err);
        if (r < 0)
            return upp_wrap(err, r, "params");
        if (!yyjson_is_obj(o->params))
            return upp_fail(err, UPP_EINVALID, "params is a JSON object");
    }
    put_address(o, tail, key);
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "model", o->v->model);
    return 0;
}

static bool stands_in(const char *const *names, struct upp_str name)
{
    for (; *names; names++)
        if (wb_str_eq(wb_cstr(*names), name))
            return true;
    return false;
}

int upp__openai_end(struct upp__openai *o, const char *const *taken)
{
    yyjson_val     *key;
    yyjson_obj_iter it = yyjson_obj_iter_with(o->params);
    while ((key = yyjson_obj_iter_next(&it)))
        if (!stands_in(taken, wj_text(key))) {
            wj_write_name(&o->w, wj_text(key));
            wj_write_value(&o->w, yyjson_obj_iter_get_val(key));
        }
    wj_write_close(&o->w, '}');
    int r = wj_writer_check(&o->w);
    return r < 0 ? r : wb_arena_check(o->a, o->w.err);
}

/* ---- Metadata --------------------------------------------------------------------------------------------------- */

/* JSON that may be none: NULL. But what there is no memory for is not none. */
static yyjson_val *look(struct upp__openai *o, struct upp_str json)
{
    struct upp_err why = {0};
    yyjson_val    *v   = NULL;
    int            r   = json.n ? wj_read(o->a, json, NULL, &v, &why) : -UPP_EINVALID;
    if (r == -UPP_ENOMEM && !o->w.failed) {
        if (o->w.err)
            *o->w.err = why;
        wj_writer_fail(&o->w, r);
    }
    return r < 0 ? NULL : v;
}

yyjson_val *upp__openai_metadata(struct upp__openai *o, struct upp_str metadata)
{
    return upp__get(look(o, metadata), o->v->provider);
}

void upp__openai_members(struct upp__openai *o, yyjson_val *from, const char *const *names)
{
    for (; *names; names++) {
        yyjson_val *v = upp__get(from, *names);
        if (v) {
            upp__openai_name(o, *names);
            wj_write_value(&o->w, v);
        }
    }
}

void upp__openai_marks(struct upp__openai *o, const struct upp_part *p, bool last)
{
    static const char *const  names[] = {"prompt_cache_breakpoint", "cache_control", NULL}; /* OpenAI's, OpenRouter's */
    const struct upp_message *m       = o->req->messages[o->message];
    upp__openai_members(o, upp__openai_metadata(o, p->metadata), names);
    if (last)
        upp__openai_members(o, upp__openai_metadata(o, m->metadata), names);
}

/* ---- Parts ------------------------------------------------------------------------------------------------------ */

static const char *const kinds[] = {
    [UPP_PART_TEXT] = "text",         [UPP_PART_REASONING] = "reasoning", [UPP_PART_IMAGE] = "image",
    [UPP_PART_DOCUMENT] = "document", [UPP_PART_AUDIO] = "audio",         [UPP_PART_VIDEO] = "video",
    [UPP_PART_BINARY] = "binary",     [UPP_PART_CALL] = "call",           [UPP_PART_RESULT] = "result",
};

void upp__openai_refuse(struct upp__openai *o, const struct upp_part *p, const char *why)
{
    const struct upp_message *m = o->req->messages[o->message];
    char                      where[64];
    if (o->w.failed || o->w.out->failed)
        return;
    size_t at = p >= m->parts && p < m->parts + m->n_parts ? (size_t)(p - m->parts) : 0;
    wj_writer_fail(&o->w, upp_fail(o->w.err, UPP_EINVALID, "message %zu, part %zu (%s): %s", o->message, at,
                                   p->kind < WB_LEN(kinds) && kinds[p->kind] ? kinds[p->kind] : "unknown", why));
    (void)snprintf(where, sizeof where, "/messages/%zu/content/%zu", o->message, at);
    wb_err_where(o->w.err, wb_cstr(where));
}

struct upp_str upp__openai_left_out(struct upp__openai *o, size_t result, const struct upp_part *p, const char *why)
{
    upp__loss(o->req, o->message, result, kinds[p->kind], why);
    return wb_arena_printf(o->a, "[%s left out: %s]", kinds[p->kind], why);
}

struct upp_str upp__openai_data_url(struct upp__openai *o, const struct upp_media *m)
{
    struct upp_str mime = wb_str_eq_nocase(m->mime, UPP_STR("image/jpg")) ? UPP_STR("image/jpeg") : m->mime;
    return wb_arena_printf(o->a, "data:%.*s;base64,%.*s", UPP_FMT(mime), UPP_FMT(m->data));
}

struct upp_str upp__openai_file_name(const struct upp_media *m)
{
    return m->title.n ? m->title : UPP_STR("document.pdf");
}

/* ---- Schemas and tools ------------------------------------------------------------------------------------------ */

static bool names_all(yyjson_val *required, yyjson_val *properties)
{
    yyjson_val     *name, *item;
    yyjson_obj_iter it = yyjson_obj_iter_with(properties);
    while ((name = yyjson_obj_iter_next(&it))) {
        yyjson_arr_iter list  = yyjson_arr_iter_with(required);
        bool            found = false;
        while (!found && (item = yyjson_arr_iter_next(&list)))
            found = yyjson_is_str(item) && wb_str_eq(wj_text(item), wj_text(name));
        if (!found)
            return false;
    }
    return true;
}

/* Strict schemas name every property as required and allow no others, at every level; the others get a 400 where they
 * are said to be strict. The outermost object may leave the second to us. */
static bool is_strict(yyjson_val *schema)
{
    yyjson_val *end = unsafe_yyjson_get_next(schema);
    for (yyjson_val *v = schema; v < end; v++) {
        yyjson_val *properties = yyjson_is_obj(v) ? upp__get(v, "properties") : NULL;
        if (!yyjson_is_obj(v) || (!properties && !wb_str_eq(upp__get_str(v, "type"), UPP_STR("object"))))
            continue;
        yyjson_val *more = upp__get(v, "additionalProperties");
        if (!(more ? yyjson_is_false(more) : v == schema) || !names_all(upp__get(v, "required"), properties))
            return false;
    }
    return true;
}

void upp__openai_schema(struct upp__openai *o)
{
    yyjson_val    *schema = NULL, *key;
    struct upp_err why    = {0};
    int            r      = wj_read(o->a, o->req->structure, NULL, &schema, &why);
    if (r < 0 || !yyjson_is_obj(schema)) {
        wj_writer_fail(&o->w, upp_fail(o->w.err, r < 0 ? (enum upp_code) - r : UPP_EINVALID, "structure: %s",
                                       r < 0 ? why.msg : "a JSON Schema is an object"));
        return;
    }
    bool strict = is_strict(schema);
    upp__openai_str(o, "name", UPP_STR("json_response"));
    upp__openai_name(o, "schema");
    wj_write_open(&o->w, '{');
    yyjson_obj_iter it = yyjson_obj_iter_with(schema);
    while ((key = yyjson_obj_iter_next(&it))) {
        wj_write_name(&o->w, wj_text(key));
        wj_write_value(&o->w, yyjson_obj_iter_get_val(key));
    }
    if (strict && !upp__get(schema, "additionalProperties")) {
        upp__openai_name(o, "additionalProperties");
        wj_write_bool(&o->w, false);
    }
    wj_write_close(&o->w, '}');
    upp__openai_name(o, "strict");
    wj_write_bool(&o->w, strict);
}

void upp__openai_parameters(struct upp__openai *o, const struct upp_tool_spec *t)
{
    upp__openai_name(o, "parameters");
    upp__write_json(&o->w, o->a, t->parameters.n ? t->parameters : UPP_STR("{\"type\":\"object\",\"properties\":{}}"));
}

bool upp__openai_has_tools(const struct upp__openai *o)
{
    return o->req->n_tools || yyjson_is_arr(upp__get(o->params, "tools"));
}

void upp__openai_native_tools(struct upp__openai *o)
{
    yyjson_val     *tool;
    yyjson_arr_iter it = yyjson_arr_iter_with(upp__get(o->params, "tools"));
    while ((tool = yyjson_arr_iter_next(&it)))
        wj_write_value(&o->w, tool);
}

/* ---- Calls and results ------------------------------------------------------------------------------------------ */

struct upp_str upp__openai_arguments(struct upp__openai *o, struct upp_str arguments)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
    struct wj_writer                      w;
    if (yyjson_is_obj(look(o, arguments)))
        return arguments;
    wj_writer_init(&w, &b, o->w.err);
    upp__write_arguments(&w, o->a, arguments);
    int r = wj_writer_check(&w);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    return wb_arena_dup(o->a, wb_buf_str(&b));
}

bool upp__openai_is_said(struct upp__openai *o, const struct upp_part *call)
{
    if (!call->cut)
        return true;
    for (size_t i = o->message + 1; i < o->req->n_messages; i++) {
        const struct upp_part *p = NULL;
        while ((p = upp_part_next(o->req->messages[i], p, UPP_PARTS_RESULTS)))
            if (wb_str_eq(p->id, call->id))
                return true;
    }
    return false;
}

/* A content block as UPP writes it. False: this is none. */
static bool read_block(struct wb_arena *a, yyjson_val *v, struct upp_part *ret)
{
    struct upp_str type = upp__get_str(v, "type");
    yyjson_val    *from = upp__get(v, "source");
    *ret                = (struct upp_part){.text = upp__get_str(v, "text")};
    for (uint8_t k = UPP_PART_TEXT; k <= UPP_PART_VIDEO; k++)
        if (k != UPP_PART_REASONING && wb_str_eq(type, wb_cstr(kinds[k])))
            ret->kind = k;
    if (ret->kind == UPP_PART_TEXT || !ret->kind)
        return ret->kind && ret->text.p;
    struct upp_media *m   = wb_new(a, struct upp_media);
    struct upp_str    how = upp__get_str(from, "type");
    if (!m)
        return false;
    ret->media = m;
    m->mime    = upp__get_str(v, "mimeType");
    m->title   = upp__get_str(v, "title");
    m->source  = wb_str_eq(how, UPP_STR("url")) ? UPP_SOURCE_URL
                                                : wb_str_eq(how, UPP_STR("text")) ? UPP_SOURCE_TEXT : UPP_SOURCE_BASE64;
    m->data    = upp__get_str(from ? from : v, m->source == UPP_SOURCE_URL ? "url" : "data");
    return m->data.p;
}

/* An array of blocks and nothing else: how many of them; else 0. */
static size_t read_blocks(struct upp__openai *o, struct upp_str result, struct upp_part **ret)
{
    yyjson_val *v = wb_str_starts(wb_str_trim(result), UPP_STR("[")) ? look(o, result) : NULL, *item;
    size_t      n = 0;
    if (!yyjson_arr_size(v))
        return 0;
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    *ret               = wb_new_n(o->a, struct upp_part, yyjson_arr_size(v));
    while (*ret && (item = yyjson_arr_iter_next(&it)))
        if (!read_block(o->a, item, &(*ret)[n++]))
            return 0;
    return n;
}

/* Media in a message of results belong to the result before them, or to the first one. */
static size_t owner(const struct upp_message *m, size_t medium)
{
    for (size_t i = medium; i-- > 0;)
        if (m->parts[i].kind == UPP_PART_RESULT)
            return i;
    for (size_t i = medium; i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_RESULT)
            return i;
    return SIZE_MAX;
}

struct upp__openai_shown upp__openai_shown(struct upp__openai *o, const struct upp_message *m, size_t part)
{
    struct upp__openai_shown ret    = {0};
    struct upp_part         *blocks = NULL, text = {.kind = UPP_PART_TEXT};
    size_t                   n = read_blocks(o, m->parts[part].text, &blocks);
    if (!n) {
        text.text = upp__result_text(o->a, m->parts[part].text);
        blocks    = &text;
        n         = 1;
    }
    ret.parts = wb_new_n(o->a, struct upp_part, n + m->n_parts);
    if (!ret.parts)
        return ret;
    for (; ret.n < n; ret.n++)
        ret.parts[ret.n] = blocks[ret.n];
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].kind != UPP_PART_RESULT && owner(m, i) == part)
            ret.parts[ret.n++] = m->parts[i];
    for (size_t i = 0; i < ret.n; i++)
        ret.media |= ret.parts[i].kind != UPP_PART_TEXT;
    return ret;
}

struct upp_str upp__openai_join(struct upp__openai *o, const struct upp_part *parts, size_t n, uint8_t kind,
                                struct upp_str between)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b    = WB_BUF(64u << 20);
    const struct upp_part                *only = NULL;
    size_t                                said = 0;
    for (size_t i = 0; i < n; i++)
        if (parts[i].kind == kind && parts[i].text.n && said++ == 0)
            only = &parts[i];
    if (said <= 1)
        return only ? only->text : UPP_STR("");
    for (size_t i = 0; i < n; i++)
        if (parts[i].kind == kind && parts[i].text.n) {
            if (b.n)
                wb_buf_add(&b, between);
            wb_wtf8_add(&b, parts[i].text);
        }
    int r = wb_buf_check(&b, o->w.err);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    return wb_arena_dup(o->a, wb_buf_str(&b));
}

/* ---- The past --------------------------------------------------------------------------------------------------- */

bool upp__openai_is_own(struct upp__openai *o, const struct upp_message *m)
{
    return upp__kept(o->a, o->v, m, "stopReason") != NULL;
}

void upp__openai_lose(struct upp__openai *o, const struct upp_message *m, bool reasoning)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind == UPP_PART_REASONING && reasoning)
            upp__loss(o->req, o->message, i, "reasoning", "this API takes back no reasoning but its own, as it came");
        else if (p->media)
            upp__loss(o->req, o->message, i, kinds[p->kind], "this API takes no media in what the model said");
        else if (p->kind == UPP_PART_CALL && !upp__openai_is_said(o, p))
            upp__loss(o->req, o->message, i, "call", "it was cut, and nobody answered it");
    }
}
