/* upp/providers/openai_responses.c — requests of OpenAI's Responses API.
 *
 *  - The input is a list of items. What the model said goes back as the items that it said it in, all of a turn or none
 *    of it: reasoning without the item that followed it is refused, and so is the item without its reasoning.
 *  - Nothing is stored at OpenAI unless params say so: store is false, and reasoning comes encrypted to be sent back.
 *  - Calls and results are paired by call_id; `id` is the item's own.
 */
#include "upp/providers/openai_responses.h"

#include "upp/providers/openai.h"

/* ---- Content of users and of results ---------------------------------------------------------------------------- */

static void put_text(struct upp__body *b, struct upp_str text)
{
    upp__put_typed(b, "input_text");
    upp__put(b, "text", text);
}

static void put_image(struct upp__body *b, const struct upp_part *p)
{
    static const char *const names[] = {"detail", NULL};
    yyjson_val *own = upp__look_own(b, p->metadata);
    upp__put_typed(b, "input_image");
    upp__put(b, "image_url", upp__openai_url(b, p->media));
    upp__put_some(b, own, names);
    if (!upp__get(own, "detail")) /* unlike all else that is optional, it is not left out */
        upp__put(b, "detail", UPP_STR("auto"));
}

static void put_document(struct upp__body *b, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    struct upp_str mime, data;
    if (m->source == UPP_SOURCE_TEXT) {
        put_text(b, m->data);
        return;
    }
    upp__put_typed(b, "input_file");
    if (m->source == UPP_SOURCE_URL && !upp__media_bytes(m, &mime, &data)) {
        upp__put(b, "file_url", m->data);
        return;
    }
    upp__put(b, "filename", upp__openai_file_name(m));
    upp__put(b, "file_data", upp__openai_url(b, m));
}

/* Why a part cannot be sent; NULL: it can. */
static const char *refused(const struct upp_part *p)
{
    if (p->kind == UPP_PART_TEXT)
        return NULL;
    if (!p->media || (p->kind != UPP_PART_IMAGE && p->kind != UPP_PART_DOCUMENT))
        return "the Responses API has no such content";
    return p->kind == UPP_PART_IMAGE && p->media->source != UPP_SOURCE_URL && !p->media->mime.n
               ? "an image needs its mime type"
               : NULL;
}

static void put_content(struct upp__body *b, const struct upp_part *p, bool last)
{
    const char *why = refused(p);
    if (why) {
        upp__refuse(b, why);
        return;
    }
    if (p->kind == UPP_PART_TEXT)
        put_text(b, p->text);
    else if (p->kind == UPP_PART_IMAGE)
        put_image(b, p);
    else
        put_document(b, p);
    upp__openai_marks(b, p, last);
    wj_write_close(&b->w, '}');
}

static void put_shown(struct upp__body *b, const struct upp_part *p)
{
    const char *why = refused(p);
    struct upp_part out = {.kind = UPP_PART_TEXT};
    if (why)
        out.text = upp__left_out(b, p->kind, why);
    if (upp__openai_is_said(p))
        put_content(b, why ? &out : p, false);
}

static void put_results(struct upp__body *b, const struct upp_message *m)
{
    for (b->part = 0; b->part < m->n_parts; b->part++) {
        if (m->parts[b->part].kind != UPP_PART_RESULT)
            continue;
        struct upp__openai_shown s = upp__openai_shown(b, m);
        upp__put_typed(b, "function_call_output");
        upp__put(b, "call_id", m->parts[b->part].id);
        if (s.media) {
            wj_put_open(&b->w, "output", '[');
            for (size_t i = 0; i < s.n; i++)
                put_shown(b, &s.parts[i]);
            wj_write_close(&b->w, ']');
        } else
            upp__put(b, "output", upp__openai_join(b, s.parts, s.n, UPP_PART_TEXT, UPP_STR("\n\n")));
        wj_write_close(&b->w, '}');
    }
}

/* ---- What the model said ---------------------------------------------------------------------------------------- */

/* The next text (not empty) or call of a message. */
static const struct upp_part *next_said(const struct upp_message *m, const struct upp_part *p, uint8_t kind)
{
    do
        p = upp_part_next(m, p, 1u << kind);
    while (p && kind == UPP_PART_TEXT && !p->text.n);
    return p;
}

/* Walks over the texts of an item of type message; false where they are not those of the message. */
static bool same_texts(const struct upp_message *m, yyjson_val *item, const struct upp_part **at)
{
    yyjson_val *c;
    yyjson_arr_iter it = yyjson_arr_iter_with(upp__get(item, "content"));
    while ((c = yyjson_arr_iter_next(&it))) {
        struct upp_str text = upp__get_str(c, "text");
        if (!text.p)
            text = upp__get_str(c, "refusal");
        if (!text.n)
            continue;
        *at = next_said(m, *at, UPP_PART_TEXT);
        if (!*at || !wb_str_eq((*at)->text, text))
            return false;
    }
    return true;
}

/* Can it be something that a model said? A thread may come from anywhere: an item that speaks as somebody else, or one
 * without a type, which OpenAI takes for a message, does not go back as what the model said. */
static bool is_models(yyjson_val *item)
{
    struct upp_str type = upp__get_str(item, "type");
    size_t i, n;
    yyjson_val *key, *v;
    yyjson_obj_foreach(item, i, n, key, v)
    {
        bool assistant = yyjson_is_str(v) && wb_str_eq(wj_text(v), UPP_STR("assistant"));
        if (wj_named(key, UPP_STR("role")) && !assistant) /* each of them, should there be two */
            return false;
    }
    /* A content that is one text would not be compared with what the message says. */
    return type.n && (!wb_str_eq(type, UPP_STR("message")) || yyjson_is_arr(upp__get(item, "content")));
}

/* May the kept items go back? Not where the message says something else by now, nor where OpenAI has forgotten the
 * reasoning that an id stands for, nor where reasoning was all that came of the answer. */
static bool is_whole(struct upp__body *b, const struct upp_message *m, yyjson_val *raw)
{
    const struct upp_part *text = NULL, *call = NULL;
    yyjson_val *item;
    bool stored = upp__get_true(b->params, "store"), led = true;
    yyjson_arr_iter it = yyjson_arr_iter_with(raw);
    if (!yyjson_is_arr(raw))
        return false;
    while ((item = yyjson_arr_iter_next(&it))) {
        struct upp_str type = upp__get_str(item, "type");
        if (!is_models(item))
            return false;
        led = !wb_str_eq(type, UPP_STR("reasoning"));
        if (wb_str_eq(type, UPP_STR("message")) && !same_texts(m, item, &text))
            return false;
        if (!led && !stored && !upp__get_str(item, "encrypted_content").n)
            return false;
        if (!wb_str_eq(type, UPP_STR("function_call")))
            continue;
        call = next_said(m, call, UPP_PART_CALL);
        if (!call || !wb_str_eq(call->id, upp__get_str(item, "call_id")) ||
            !upp__is_kept_call(b, call, upp__get_str(item, "name"), upp__get(item, "arguments")))
            return false;
    }
    /* What follows the last one is what nobody kept. */
    return led && !next_said(m, text, UPP_PART_TEXT) && !next_said(m, call, UPP_PART_CALL);
}

static void put_call(struct upp__body *b, const struct upp_part *p)
{
    upp__put_typed(b, "function_call");
    upp__put(b, "call_id", p->id);
    upp__put(b, "name", p->name);
    upp__put(b, "arguments", upp__openai_arguments(b, p->text));
    wj_write_close(&b->w, '}');
}

static void put_assistant(struct upp__body *b, const struct upp_message *m)
{
    yyjson_val *raw = upp__get(upp__look_own(b, m->metadata), "raw"), *item;
    yyjson_arr_iter it = yyjson_arr_iter_with(raw);
    if (is_whole(b, m, raw)) {
        while ((item = yyjson_arr_iter_next(&it)))
            wj_write_value(&b->w, item);
        return;
    }
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind == UPP_PART_TEXT && p->text.n) {
            wj_write_open(&b->w, '{');
            upp__put(b, "role", UPP_STR("assistant"));
            upp__put(b, "content", p->text);
            wj_write_close(&b->w, '}');
        } else if (p->kind == UPP_PART_CALL && upp__is_said_call(b, p))
            put_call(b, p);
    }
    upp__openai_lose(b, m, true);
}

/* ---- The request ------------------------------------------------------------------------------------------------ */

/* OpenAI has the history up to previous_response_id: only later messages are sent. */
static size_t first_new(struct upp__body *b)
{
    struct upp_str before = upp__get_str(b->params, "previous_response_id");
    for (size_t i = before.n ? b->req->n_messages : 0; i-- > 0;) {
        if (wb_str_eq(upp__get_str(upp__look_own(b, b->req->messages[i]->metadata), "id"), before))
            return i + 1;
    }
    return 0;
}

static void put_input(struct upp__body *b)
{
    wj_put_open(&b->w, "input", '[');
    for (b->message = first_new(b); b->message < b->req->n_messages; b->message++) {
        const struct upp_message *m = b->req->messages[b->message];
        if (m->role == UPP_ROLE_USER)
            upp__openai_user(b, m, put_content);
        else if (m->role == UPP_ROLE_ASSISTANT)
            put_assistant(b, m);
        else
            put_results(b, m);
    }
    wj_write_close(&b->w, ']');
}

/* Flat, unlike in Chat Completions. Tools are strict by default, so `strict` is always sent. */
static void put_tool(struct upp__body *b, const struct upp_tool_spec *t)
{
    yyjson_val *metadata = upp__look_own(b, t->metadata);
    upp__put_typed(b, "function");
    upp__put_tool(b, t, "parameters", UPP__NO_PARAMETERS);
    if (!upp__get(metadata, "strict"))
        wj_put_bool(&b->w, "strict", false);
    upp__put_all(b, metadata);
    wj_write_close(&b->w, '}');
}

/* text.format, merged with `text` of params. */
static void put_structure(struct upp__body *b)
{
    yyjson_val *text = upp__get(b->params, "text");
    if (!b->req->structure.p && !text)
        return;
    wj_write_name(&b->w, UPP_STR("text"));
    if (!b->req->structure.p || (text && !yyjson_is_obj(text))) {
        wj_write_value(&b->w, text);
        return;
    }
    wj_write_open(&b->w, '{');
    if (!upp__get(text, "format")) {
        wj_write_name(&b->w, UPP_STR("format"));
        upp__put_typed(b, "json_schema");
        upp__openai_schema(b);
        wj_write_close(&b->w, '}');
    }
    upp__put_all(b, text);
    wj_write_close(&b->w, '}');
}

/* Models without reasoning refuse requests for encrypted reasoning with a 400. Unknown models are assumed to reason. */
static bool reasons(struct upp_str model)
{
    static const char *const heads[] = {"gpt-3.5", "gpt-4", "chatgpt-", "gpt-5-chat"};
    if (wb_str_starts(model, UPP_STR("ft:"))) /* ft:gpt-4o-mini:acme::1 */
        model = wb_str_sub(model, 3, SIZE_MAX);
    for (size_t i = 0; i < WB_LEN(heads); i++)
        if (wb_str_starts(model, wb_cstr(heads[i])))
            return false;
    return true;
}

static void put_state(struct upp__body *b)
{
    if (!upp__get(b->params, "store"))
        wj_put_bool(&b->w, "store", false);
    if (upp__get(b->params, "include") || upp__get_true(b->params, "store") || !reasons(b->vendor->model))
        return;
    wj_put_open(&b->w, "include", '[');
    wj_write_str(&b->w, UPP_STR("reasoning.encrypted_content"));
    wj_write_close(&b->w, ']');
}

static int responses_write(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                           struct upp__outgoing *out, struct upp_err *err)
{
    static const char *const made[] = {"tools", "text", "stream", NULL};
    struct upp__body b = {.vendor = v, .req = req, .err = err};
    int r = upp__openai_begin(&b, out, UPP_STR("/responses"), "input", key);
    if (r < 0)
        return r;
    if (req->system.p && !upp__get(b.params, "instructions"))
        upp__put(&b, "instructions", req->system);
    put_input(&b);
    upp__put_tools(&b, put_tool);
    put_structure(&b);
    put_state(&b);
    if (!req->whole)
        wj_put_bool(&b.w, "stream", true);
    upp__put_rest(&b, b.params, made);
    wj_write_close(&b.w, '}');
    return upp__body_check(&b);
}

const struct upp__adapter upp__openai_responses = {
    .name = "openai_responses",
    .can = UPP_CAN_STREAM | UPP_CAN_TOOLS | UPP_CAN_STRUCTURE | UPP_CAN_IMAGES | UPP_CAN_DOCUMENTS,
    .framing = WW_SSE,
    .own_size = sizeof(struct upp__responses),
    .write = responses_write,
    .event = upp__responses_event,
    .whole = upp__responses_whole,
    .last = "response.completed",
    .done = upp__responses_done,
    .error = upp__openai_error_body,
};
