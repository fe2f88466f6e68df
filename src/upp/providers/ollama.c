/* upp/providers/ollama.c — Ollama: a request as POST /api/chat, and what comes back as the events of a step.
 *
 * What is particular to it:
 *  - It streams by default: `stream` is always sent.
 *  - A message is one text; several are joined by line feeds. Images stand beside it, as bare base64.
 *  - Arguments of calls are objects. Results name their tool; ids go along where the server gave them.
 *  - Reasoning is sent back unchanged, in a member next to the text: there is no order to preserve, and nothing is
 *    stored except which ids are ours (metadata.ollama.minted).
 *  - Sampling and num_predict stand in params.options; at the top level they are ignored.
 *  - A line of the answer is an object with new text and new reasoning, and with complete calls. The one that is `done`
 *    has the usage; no line has an id.
 */
#include "base/str.h"
#include "upp/providers/body.h"
#include "upp/providers/call_id.h"

enum { MAX_TEXT = 256 << 20 }; /* of one message */

struct body {
    struct upp__body b;
    yyjson_val *own_ids; /* metadata.ollama.minted of the newest message of the model */
    struct wb_buf text;  /* of the message being written */
};

/* ---- Text and images ------------------------------------------------------------------------- */

static void add_text(struct body *o, struct upp_str text)
{
    if (!text.n)
        return;
    if (o->text.n)
        wb_buf_addc(&o->text, '\n');
    wb_buf_add(&o->text, text);
}

static void begin_message(struct body *o, const char *role)
{
    o->text.max = MAX_TEXT;
    wb_buf_clear(&o->text);
    wj_write_open(&o->b.w, '{');
    upp__put(&o->b, "role", wb_cstr(role));
}

static void put_text(struct body *o, const char *name)
{
    if (o->text.failed)
        wj_writer_fail(&o->b.w, wb_buf_check(&o->text, o->b.err));
    upp__put(&o->b, name, wb_buf_str(&o->text));
}

static bool is_text_document(const struct upp_part *p)
{
    return p->kind == UPP_PART_DOCUMENT && p->media && p->media->source == UPP_SOURCE_TEXT;
}

/* Why this cannot be sent as an image; NULL: it can. */
static const char *image_of(uint8_t kind, const struct upp_media *m, struct upp_str *base64)
{
    struct upp_str mime;
    *base64 = (struct upp_str){0};
    if (kind != UPP_PART_IMAGE)
        return "Ollama takes texts and images only";
    if (!m || (!upp__media_bytes(m, &mime, base64) && m->source == UPP_SOURCE_URL))
        return "Ollama takes images as data, not by their address";
    return base64->n ? NULL : "there is nothing in it";
}

static const char *result_refused(const struct upp__block *block)
{
    struct upp_str base64;
    return image_of(block->kind, &block->media, &base64);
}

/* The first opens their list. */
static void put_image(struct body *o, bool *any, struct upp_str base64)
{
    if (!*any)
        wj_put_open(&o->b.w, "images", '[');
    *any = true;
    upp__write_text(&o->b.w, base64);
}

/* Of a user's message. */
static void put_images(struct body *o, const struct upp_message *m)
{
    bool any = false;
    for (o->b.part = 0; o->b.part < m->n_parts; o->b.part++) {
        const struct upp_part *p = &m->parts[o->b.part];
        struct upp_str base64 = {0};
        if (p->kind < UPP_PART_IMAGE || p->kind > UPP_PART_BINARY || is_text_document(p))
            continue;
        const char *why = image_of(p->kind, p->media, &base64);
        if (why)
            upp__refuse(&o->b, why);
        put_image(o, &any, base64);
    }
    if (any)
        wj_write_close(&o->b.w, ']');
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void put_system(struct body *o)
{
    begin_message(o, "system");
    upp__put(&o->b, "content", o->b.req->system);
    wj_write_close(&o->b.w, '}');
}

static void put_user(struct body *o, const struct upp_message *m)
{
    begin_message(o, "user");
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_TEXT)
            add_text(o, m->parts[i].text);
        else if (is_text_document(&m->parts[i]))
            add_text(o, m->parts[i].media->data);
    put_text(o, "content");
    put_images(o, m);
    wj_write_close(&o->b.w, '}');
}

/* Some models write their reasoning into the text; it is not sent back. */
static struct upp_str without_thoughts(struct upp_str text)
{
    struct upp_str end = UPP_STR("</think>");
    if (!wb_str_starts(wb_str_trim(text), UPP_STR("<think>")))
        return text;
    size_t at = wb_str_find(text, end, 0);
    return at == SIZE_MAX ? text : wb_str_trim(wb_str_sub(text, at + end.n, SIZE_MAX));
}

static void put_calls(struct body *o, const struct upp_message *m)
{
    struct upp__body *b = &o->b;
    size_t n = 0;
    for (b->part = 0; b->part < m->n_parts; b->part++) {
        const struct upp_part *p = &m->parts[b->part];
        if (p->kind != UPP_PART_CALL)
            continue;
        if (!upp__is_said_call(b, p)) {
            upp__lose_call(b);
            continue;
        }
        if (n == 0)
            wj_put_open(&b->w, "tool_calls", '[');
        wj_write_open(&b->w, '{');
        if (p->id.n && !upp__call_id_listed(o->own_ids, p->id))
            upp__put(b, "id", p->id);
        wj_put_open(&b->w, "function", '{');
        wj_put_u64(&b->w, "index", n++);
        upp__put(b, "name", p->name);
        wj_write_name(&b->w, UPP_STR("arguments"));
        upp__write_arguments(&b->w, b->arena, p->text);
        wj_write_close(&b->w, '}');
        wj_write_close(&b->w, '}');
    }
    if (n)
        wj_write_close(&b->w, ']');
}

static void put_assistant(struct body *o, const struct upp_message *m)
{
    yyjson_val *own = upp__look_own(&o->b, m->metadata);
    o->own_ids = upp__get(own, "minted");
    begin_message(o, "assistant");
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_TEXT)
            add_text(o, without_thoughts(m->parts[i].text));
    put_text(o, "content");
    wb_buf_clear(&o->text);
    for (o->b.part = 0; o->b.part < m->n_parts; o->b.part++) {
        const struct upp_part *p = &m->parts[o->b.part];
        if (p->kind == UPP_PART_REASONING && own)
            add_text(o, p->text);
        else if (p->kind != UPP_PART_TEXT && p->kind != UPP_PART_CALL)
            upp__lose(&o->b, upp__kind_name(p->kind),
                      p->kind == UPP_PART_REASONING ? "another vendor's model thought it"
                                                    : "Ollama takes back texts, thoughts and calls only");
    }
    if (o->text.n)
        put_text(o, "thinking");
    put_calls(o, m);
    wj_write_close(&o->b.w, '}');
}

/* Images of a result go into `images`, as everywhere in this API. */
static void put_result_images(struct body *o, yyjson_val *blocks)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(blocks);
    yyjson_val *item;
    struct upp__block block;
    struct upp_str base64 = {0};
    bool any = false;
    while ((item = yyjson_arr_iter_next(&it))) {
        if (!upp__block_read(item, &block) || block.kind == UPP_PART_TEXT)
            continue;
        if (!image_of(block.kind, &block.media, &base64)) /* else the text says so */
            put_image(o, &any, base64);
    }
    if (any)
        wj_write_close(&o->b.w, ']');
}

static void put_results(struct body *o, const struct upp_message *m)
{
    struct upp__body *b = &o->b;
    for (b->part = 0; b->part < m->n_parts; b->part++) {
        const struct upp_part *p = &m->parts[b->part];
        if (p->kind != UPP_PART_RESULT)
            continue;
        yyjson_val *value = upp__look(b, p->text);
        bool blocks = upp__is_blocks(value);
        begin_message(o, "tool");
        upp__put(b, "content",
                 blocks ? upp__blocks_text(b, value, result_refused) : upp__result_text(b->arena, p->text));
        if (blocks)
            put_result_images(o, value);
        upp__put(b, "tool_name", upp__tool_name(b->req, b->message, p));
        if (p->id.n && !upp__call_id_listed(o->own_ids, p->id))
            upp__put(b, "tool_call_id", p->id);
        wj_write_close(&b->w, '}');
    }
}

static void put_messages(struct body *o)
{
    struct upp__body *b = &o->b;
    wj_put_open(&b->w, "messages", '[');
    if (b->req->system.n)
        put_system(o);
    for (b->message = 0; b->message < b->req->n_messages; b->message++) {
        const struct upp_message *m = b->req->messages[b->message];
        if (m->role == UPP_ROLE_USER)
            put_user(o, m);
        else if (m->role == UPP_ROLE_ASSISTANT)
            put_assistant(o, m);
        else
            put_results(o, m);
    }
    wj_write_close(&b->w, ']');
}

/* ---- The rest -------------------------------------------------------------------------------- */

static void put_tool(struct upp__body *b, const struct upp_tool_spec *t)
{
    static const char *const made[] = {"name", "description", "parameters", NULL};
    wj_write_open(&b->w, '{');
    upp__put(b, "type", UPP_STR("function"));
    wj_put_open(&b->w, "function", '{');
    upp__put_tool(b, t, "parameters", UPP__NO_PARAMETERS);
    upp__put_rest(b, upp__look_own(b, t->metadata), made);
    wj_write_close(&b->w, '}');
    wj_write_close(&b->w, '}');
}

static void put_body(struct body *o)
{
    static const char *const made[] = {"stream", "tools", NULL};
    struct upp__body *b = &o->b;
    wj_write_open(&b->w, '{');
    if (!upp__get(b->params, "model"))
        upp__put(b, "model", b->vendor->model);
    put_messages(o);
    wj_put_bool(&b->w, "stream", !b->req->whole);
    upp__put_tools(b, put_tool);
    if (b->req->structure.p && !upp__get(b->params, "format")) {
        wj_write_name(&b->w, UPP_STR("format"));
        upp__write_json(&b->w, b->arena, b->req->structure);
    }
    upp__put_rest(b, b->params, made);
    wj_write_close(&b->w, '}');
}

static int write_request(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                         struct upp__outgoing *out, struct upp_err *err)
{
    struct body o = {0};
    int r = upp__body_init(&o.b, v, req, out, "messages", err);
    upp__header(out, "content-type", UPP_STR("application/json"));
    if (r == 0)
        r = upp__put_key(out, v, key.n ? key : (struct upp_str){0}, "bearer", NULL, err);
    if (r < 0)
        return r;
    out->url = upp__endpoint(out->arena, v->base_url, UPP_STR("/api/chat"));
    put_body(&o);
    wb_buf_done(&o.text);
    return upp__body_check(&o.b);
}

/* ---- Answers ---------------------------------------------------------------------------------------------------- */

/* A step being read. */
struct own {
    struct upp_str model;
};

/* An object; some servers send it as a string, as OpenAI does. */
static struct upp_str arguments_of(struct upp__reader *r, yyjson_val *arguments)
{
    if (!arguments || yyjson_is_null(arguments))
        return UPP_STR("{}");
    if (!yyjson_is_str(arguments))
        return upp__json_text(&r->scratch, arguments);
    return wb_str_trim(wj_text(arguments)).n ? wj_text(arguments) : UPP_STR("{}");
}

static int say_call(struct upp__reader *r, yyjson_val *call, struct upp_err *err)
{
    yyjson_val *function = upp__get(call, "function");
    struct upp_str id = upp__get_str(call, "id");
    if (!function)
        return 0;
    int e = id.n ? 0 : upp__call_id_new(r, &id, err);
    if (e < 0)
        return e;
    uint32_t part = upp__say_part(r, UPP_PART_CALL, id, upp__get_str(function, "name"));
    upp__say_delta(r, part, arguments_of(r, upp__get(function, "arguments")));
    upp__say_close(r, part);
    return 0;
}

/* ---- The end --------------------------------------------------------------------------------- */

static const char *const counts[] = {"total_duration",       "load_duration", "prompt_eval_count",
                                     "prompt_eval_duration", "eval_count",    "eval_duration"};

static struct upp_str make_metadata(struct upp__reader *r, const struct own *o, yyjson_val *v)
{
    struct upp__metadata m;
    struct upp_str stop = upp__get_str(v, "done_reason");
    upp__metadata_begin(&m);
    upp__metadata_str(&m, "model", o->model);
    upp__metadata_str(&m, "stopReason", stop.n ? stop : (struct upp_str){0});
    wj_write_name(&m.w, UPP_STR("usage"));
    wj_write_open(&m.w, '{');
    for (size_t i = 0; i < WB_LEN(counts); i++)
        upp__metadata_value(&m, counts[i], upp__get(v, counts[i])); /* what is zero is left out */
    wj_write_close(&m.w, '}');
    upp__metadata_list(&m, "minted", &r->own_ids);
    return upp__metadata_end(&m, r);
}

/* stop, load, unload, and nothing from older servers: the answer has ended. There is no word for calls. */
static uint8_t stop_of(struct upp_str reason)
{
    return wb_str_eq(reason, UPP_STR("length")) ? UPP_STOP_LENGTH : UPP_STOP_END;
}

static void finish(struct upp__reader *r, struct own *o, yyjson_val *v)
{
    struct upp_usage usage = {.input = upp__get_u64(v, "prompt_eval_count"), .output = upp__get_u64(v, "eval_count")};
    upp__say_end(r, stop_of(upp__get_str(v, "done_reason")), &usage, make_metadata(r, o, v));
}

/* ---- For the adapter ------------------------------------------------------------------------- */

/* An error is a string; proxies also send objects. */
static void read_error(yyjson_val *v, struct upp__provider_error *t)
{
    yyjson_val *error = upp__get(v, "error"), *code = upp__get(error, "code");
    if (!error)
        return;
    if (yyjson_is_str(error))
        t->message = wj_text(error);
    else if (upp__get_str(error, "message").n)
        t->message = upp__get_str(error, "message");
    t->type = upp__get_str(error, "type");
    t->code = yyjson_is_raw(code) ? wj_text(code) : upp__str(code);
}

static int read_message(struct upp__reader *r, yyjson_val *message, struct upp_err *err)
{
    enum { CONTENT, THINKING, CALLS, COUNT };
    static const struct upp_str names[COUNT] = {UPP_STR_INIT("content"), UPP_STR_INIT("thinking"),
                                                UPP_STR_INIT("tool_calls")};
    yyjson_val *m[COUNT], *call;
    int e = 0;
    upp__pick(message, names, COUNT, m);
    upp__say_text(r, UPP_PART_REASONING, upp__str(m[THINKING]));
    upp__say_text(r, UPP_PART_TEXT, upp__str(m[CONTENT]));
    yyjson_arr_iter it = yyjson_arr_iter_with(m[CALLS]);
    while (e >= 0 && (call = yyjson_arr_iter_next(&it)))
        e = say_call(r, call, err);
    return e;
}

static int read_object(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    enum { MESSAGE, DONE, MODEL, ERROR, COUNT };
    static const struct upp_str names[COUNT] = {UPP_STR_INIT("message"), UPP_STR_INIT("done"), UPP_STR_INIT("model"),
                                                UPP_STR_INIT("error")};
    struct own *o = r->own;
    yyjson_val *m[COUNT];
    upp__pick(v, names, COUNT, m);
    if (m[ERROR])
        return upp__fail_inside(r, v, err);
    upp__say_open(r, (struct upp_str){0});
    if (!o->model.p)
        o->model = wb_arena_dup(&r->keep, upp__str(m[MODEL]));
    int e = read_message(r, m[MESSAGE], err);
    if (e < 0)
        return e;
    if (yyjson_is_true(m[DONE]))
        finish(r, o, v);
    return upp__check(r, err);
}

static int read_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err)
{
    yyjson_val *v;
    if (r->ended || !wb_str_trim(f->data).n)
        return 0;
    int e = upp__parse(r, f->data, &v, err);
    return e < 0 ? e : read_object(r, v, err);
}

static int read_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    yyjson_val *v;
    int e = upp__parse(r, body, &v, err);
    if (e < 0)
        return e;
    if (!upp__get(v, "message") && !upp__get(v, "error"))
        return upp_fail(err, UPP_EPROTO, "the answer holds no message");
    e = read_object(r, v, err);
    if (e < 0 || r->ended)
        return e;
    finish(r, r->own, v); /* complete, with or without `done` */
    return upp__check(r, err);
}

const struct upp__adapter upp__ollama = {
    .name = "ollama",
    .can = UPP_CAN_STREAM | UPP_CAN_TOOLS | UPP_CAN_STRUCTURE | UPP_CAN_IMAGES | UPP_CAN_DOCUMENTS, /* as text */
    .framing = WW_LINES,
    .own_size = sizeof(struct own),
    .write = write_request,
    .event = read_event,
    .whole = read_whole,
    .last = "a line that is done",
    .error = read_error,
};
