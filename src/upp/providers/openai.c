/* upp/providers/openai.c — requests: what Chat Completions and Responses write alike. */
#include "upp/providers/openai.h"

#include "base/utf8.h"

/* Nothing but a host: "https://api.openai.com". */
static bool is_host(struct upp_str url)
{
    size_t at = wb_str_find(url, UPP_STR("://"), 0);
    struct upp_str rest = wb_str_sub(url, at == SIZE_MAX ? 0 : at + 3, SIZE_MAX);
    rest.n = WB_MIN(rest.n, wb_str_find(rest, UPP_STR("?"), 0));
    while (rest.n && rest.p[rest.n - 1] == '/')
        rest.n--;
    return wb_str_find(rest, UPP_STR("/"), 0) == SIZE_MAX;
}

int upp__openai_begin(struct upp__body *b, struct upp__outgoing *out, struct upp_str tail, const char *messages,
                      struct upp_str key)
{
    const struct upp__vendor *v = b->vendor;
    int r = upp__body_init(b, v, b->req, out, messages, b->err);
    if (r == 0)
        r = upp__put_key(out, v, key, "bearer", "api-key", b->err); /* the second is Azure's */
    if (r < 0)
        return r;
    if (is_host(v->base_url))
        tail = wb_arena_printf(b->arena, "/v1%.*s", UPP_FMT(tail));
    out->url = upp__endpoint(b->arena, v->base_url, tail);
    upp__header(out, "content-type", UPP_STR("application/json"));
    wj_write_open(&b->w, '{');
    if (!upp__get(b->params, "model"))
        upp__put(b, "model", v->model);
    return 0;
}

void upp__openai_marks(struct upp__body *b, const struct upp_part *p, bool last)
{
    static const char *const names[] = {"prompt_cache_breakpoint", "cache_control", NULL}; /* OpenAI's, OpenRouter's */
    const struct upp_message *m = b->req->messages[b->message];
    upp__put_some(b, upp__look_own(b, p->metadata), names);
    if (last)
        upp__put_some(b, upp__look_own(b, m->metadata), names);
}

void upp__openai_user(struct upp__body *b, const struct upp_message *m,
                      void (*put)(struct upp__body *b, const struct upp_part *p, bool last))
{
    size_t n = 0, last = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        if (upp__openai_is_said(&m->parts[i])) {
            n++;
            last = i;
        }
    wj_write_open(&b->w, '{');
    upp__put(b, "role", UPP_STR("user"));
    if (n == 0 || (n == 1 && m->parts[last].kind == UPP_PART_TEXT && !m->parts[last].metadata.n &&
                   !upp__look_own(b, m->metadata)))
        upp__put(b, "content", n ? m->parts[last].text : UPP_STR(""));
    else {
        wj_put_open(&b->w, "content", '[');
        for (b->part = 0; b->part < m->n_parts; b->part++)
            if (upp__openai_is_said(&m->parts[b->part]))
                put(b, &m->parts[b->part], b->part == last);
        wj_write_close(&b->w, ']');
    }
    wj_write_close(&b->w, '}');
}

struct upp_str upp__openai_url(struct upp__body *b, const struct upp_media *m)
{
    struct upp_str mime = {0}, data = {0};
    (void)upp__media_bytes(m, &mime, &data);
    return data.p ? wb_arena_printf(b->arena, "data:%.*s;base64,%.*s", UPP_FMT(mime), UPP_FMT(data)) : m->data;
}

struct upp_str upp__openai_file_name(const struct upp_media *m)
{
    return m->title.n ? m->title : UPP_STR("document.pdf");
}

static bool names_all(yyjson_val *required, yyjson_val *properties)
{
    yyjson_val *name, *item;
    yyjson_obj_iter it = yyjson_obj_iter_with(properties);
    while ((name = yyjson_obj_iter_next(&it))) {
        yyjson_arr_iter list = yyjson_arr_iter_with(required);
        bool found = false;
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

void upp__openai_schema(struct upp__body *b)
{
    yyjson_val *schema = NULL;
    struct upp_err why = {0};
    int r = wj_read(b->arena, b->req->structure, NULL, &schema, &why);
    if (r < 0 || !yyjson_is_obj(schema)) {
        wj_writer_fail(&b->w, upp_fail(b->err, r < 0 ? (enum upp_code) - r : UPP_EINVALID, "structure: %s",
                                       r < 0 ? why.msg : "a JSON Schema is an object"));
        return;
    }
    bool strict = is_strict(schema);
    upp__put(b, "name", UPP_STR("json_response"));
    wj_put_open(&b->w, "schema", '{');
    upp__put_all(b, schema);
    if (strict && !upp__get(schema, "additionalProperties"))
        wj_put_bool(&b->w, "additionalProperties", false);
    wj_write_close(&b->w, '}');
    wj_put_bool(&b->w, "strict", strict);
}

struct upp_str upp__openai_arguments(struct upp__body *b, struct upp_str arguments)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(UPP__JSON);
    struct wj_writer w;
    if (yyjson_is_obj(upp__look(b, arguments)))
        return arguments;
    wj_writer_init(&w, &out, b->err);
    upp__write_arguments(&w, b->arena, arguments);
    int r = wj_writer_check(&w);
    if (r < 0)
        wj_writer_fail(&b->w, r);
    return wb_arena_dup(b->arena, wb_buf_str(&out));
}

/* Media in a message of results belong to the result before them; those before all of them, to the first. So a result
 * has what stands from *from up to *to besides itself. */
static void span_of(const struct upp_message *m, size_t result, size_t *from, size_t *to)
{
    const struct upp_part *first = upp_part_next(m, NULL, UPP_PARTS_RESULTS);
    const struct upp_part *next = upp_part_next(m, &m->parts[result], UPP_PARTS_RESULTS);
    *from = first == &m->parts[result] ? 0 : result;
    *to = next ? (size_t)(next - m->parts) : m->n_parts;
}

/* The blocks of a result, if it is an array of them and of nothing else; else its text. */
static void show_result(struct upp__body *b, struct upp_str result, yyjson_val *blocks, struct upp__openai_shown *ret)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(blocks);
    struct upp__block block;
    yyjson_val *item;
    if (!blocks)
        ret->parts[ret->n++] = (struct upp_part){.kind = UPP_PART_TEXT, .text = upp__result_text(b->arena, result)};
    while ((item = yyjson_arr_iter_next(&it)) && upp__block_read(item, &block)) {
        struct upp_media *m = wb_new(b->arena, struct upp_media);
        if (!m)
            return;
        *m = block.media;
        ret->parts[ret->n++] =
            (struct upp_part){.kind = block.kind, .text = block.text, .media = block.kind == UPP_PART_TEXT ? NULL : m};
    }
}

struct upp__openai_shown upp__openai_shown(struct upp__body *b, const struct upp_message *m)
{
    struct upp__openai_shown ret = {0};
    struct upp_str result = m->parts[b->part].text;
    yyjson_val *blocks = wb_str_starts(wb_str_trim(result), UPP_STR("[")) ? upp__look(b, result) : NULL;
    size_t from, to;
    if (!upp__is_blocks(blocks))
        blocks = NULL;
    span_of(m, b->part, &from, &to);
    ret.parts = wb_new_n(b->arena, struct upp_part, (blocks ? yyjson_arr_size(blocks) : 1) + (to - from));
    if (!ret.parts)
        return ret;
    show_result(b, result, blocks, &ret);
    for (size_t i = from; i < to; i++)
        if (i != b->part)
            ret.parts[ret.n++] = m->parts[i];
    for (size_t i = 0; i < ret.n; i++)
        ret.media |= ret.parts[i].kind != UPP_PART_TEXT;
    return ret;
}

struct upp_str upp__openai_join(struct upp__body *body, const struct upp_part *parts, size_t n, uint8_t kind,
                                struct upp_str between)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(UPP__JSON);
    const struct upp_part *only = NULL;
    size_t said = 0;
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
    int r = wb_buf_check(&b, body->err);
    if (r < 0)
        wj_writer_fail(&body->w, r);
    return wb_arena_dup(body->arena, wb_buf_str(&b));
}

bool upp__openai_is_own(struct upp__body *b, const struct upp_message *m)
{
    return upp__get(upp__look_own(b, m->metadata), "stopReason") != NULL;
}

void upp__openai_lose(struct upp__body *b, const struct upp_message *m, bool reasoning)
{
    for (b->part = 0; b->part < m->n_parts; b->part++) {
        const struct upp_part *p = &m->parts[b->part];
        if (p->kind == UPP_PART_REASONING && reasoning)
            upp__lose(b, "reasoning", "this API takes back no reasoning but its own, as it came");
        else if (p->media)
            upp__lose(b, upp__kind_name(p->kind), "this API takes no media in what the model said");
        else if (p->kind == UPP_PART_CALL && !upp__is_said_call(b, p))
            upp__lose_call(b);
    }
}
