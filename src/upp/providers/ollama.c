/* upp/providers/ollama.c — Ollama: a request as POST /api/chat.
 *
 * What is particular to it:
 *  - It streams unless it is told not to: `stream` is always said.
 *  - A message is one text; several are joined by line feeds. Images stand beside it, as bare base64.
 *  - Arguments of calls are objects. Results name their tool; ids go along where the server gave them.
 *  - What the model thought goes back as it said it, beside the text: so there is no order to keep, and nothing is kept
 *    but which ids are ours (metadata.ollama.minted).
 *  - Sampling and num_predict stand in params.options; at the top level they are ignored.
 */
#include "upp/providers/ollama.h"

#include "base/str.h"
#include "upp/providers/body.h"
#include "upp/providers/mint.h"

enum { MAX_TEXT = 256 << 20 }; /* of one message */

struct body {
    struct upp__body b;
    yyjson_val      *minted; /* ids that are ours, of the newest message of the model */
    struct wb_buf    text;   /* of the message being written */
};

/* ---- Text and images
 * -------------------------------------------------------------------------------------------------- */

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

/* Images and nothing else: why this is none, or NULL. */
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
        const struct upp_part *p      = &m->parts[o->b.part];
        struct upp_str         base64 = {0};
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

/* ---- Messages
 * --------------------------------------------------------------------------------------------------------- */

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

/* Some models think aloud, in the text itself; what they thought is not for the next turn. */
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
    size_t            n = 0;
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
        if (p->id.n && !upp__is_minted(o->minted, p->id))
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
    o->minted       = upp__get(own, "minted");
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

/* Images in a result stand beside it, as they do everywhere here. */
static void put_result_images(struct body *o, yyjson_val *blocks)
{
    yyjson_arr_iter   it = yyjson_arr_iter_with(blocks);
    yyjson_val       *item;
    struct upp__block block;
    struct upp_str    base64 = {0};
    bool              any    = false;
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
        yyjson_val *value  = upp__look(b, p->text);
        bool        blocks = upp__is_blocks(value);
        begin_message(o, "tool");
        upp__put(b, "content",
                 blocks ? upp__blocks_text(b, value, result_refused) : upp__result_text(b->arena, p->text));
        if (blocks)
            put_result_images(o, value);
        upp__put(b, "tool_name", upp__tool_name(b->req, b->message, p));
        if (p->id.n && !upp__is_minted(o->minted, p->id))
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

/* ---- The rest
 * --------------------------------------------------------------------------------------------------------- */

static void put_tool(struct upp__body *b, const struct upp_tool_spec *t)
{
    static const char *const made[] = {"name", "description", "parameters", NULL};
    wj_write_open(&b->w, '{');
    upp__put(b, "type", UPP_STR("function"));
    wj_put_open(&b->w, "function", '{');
    upp__put(b, "name", t->name);
    if (t->description.n)
        upp__put(b, "description", t->description);
    wj_write_name(&b->w, UPP_STR("parameters"));
    upp__write_json(&b->w, b->arena,
                    t->parameters.n ? t->parameters : UPP_STR("{\"type\":\"object\",\"properties\":{}}"));
    upp__put_rest(b, upp__look_own(b, t->metadata), made);
    wj_write_close(&b->w, '}');
    wj_write_close(&b->w, '}');
}

static void put_body(struct body *o)
{
    static const char *const made[] = {"stream", "tools", NULL};
    struct upp__body        *b      = &o->b;
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
    int         r = upp__body_init(&o.b, v, req, out, "messages", err);
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

const struct upp__adapter upp__ollama = {
    .name     = "ollama",
    .can      = UPP_CAN_STREAM | UPP_CAN_TOOLS | UPP_CAN_STRUCTURE | UPP_CAN_IMAGES | UPP_CAN_DOCUMENTS, /* as text */
    .framing  = WW_LINES,
    .own_size = sizeof(struct upp__ollama_own),
    .write    = write_request,
    .event    = upp__ollama_event,
    .whole    = upp__ollama_whole,
    .eof      = upp__ollama_eof,
    .done     = upp__ollama_done,
    .trouble  = upp__ollama_trouble,
};
