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

static void put_part(struct upp__openai *o, const char *type)
{
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "type", wb_cstr(type));
}

static void put_text(struct upp__openai *o, struct upp_str text)
{
    put_part(o, "input_text");
    upp__openai_str(o, "text", text);
}

static void put_image(struct upp__openai *o, const struct upp_part *p)
{
    static const char *const names[] = {"detail", NULL};
    const struct upp_media  *m       = p->media;
    put_part(o, "input_image");
    upp__openai_str(o, "image_url", m->source == UPP_SOURCE_URL ? m->data : upp__openai_data_url(o, m));
    upp__openai_members(o, upp__openai_metadata(o, p->metadata), names);
}

static void put_document(struct upp__openai *o, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    if (m->source == UPP_SOURCE_TEXT) {
        put_text(o, m->data);
        return;
    }
    put_part(o, "input_file");
    if (m->source == UPP_SOURCE_URL) {
        upp__openai_str(o, "file_url", m->data);
        return;
    }
    upp__openai_str(o, "filename", upp__openai_file_name(m));
    upp__openai_str(o, "file_data", upp__openai_data_url(o, m));
}

/* Why a part cannot be said; NULL: it can. */
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

static void put_content(struct upp__openai *o, const struct upp_part *p, bool last)
{
    const char *why = refused(p);
    if (why) {
        upp__openai_refuse(o, p, why);
        return;
    }
    if (p->kind == UPP_PART_TEXT)
        put_text(o, p->text);
    else if (p->kind == UPP_PART_IMAGE)
        put_image(o, p);
    else
        put_document(o, p);
    upp__openai_marks(o, p, last);
    wj_write_close(&o->w, '}');
}

static bool is_said(const struct upp_part *p)
{
    return p->kind != UPP_PART_TEXT || p->text.n; /* an empty text says nothing */
}

static void put_role(struct upp__openai *o, const char *role)
{
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "role", wb_cstr(role));
    upp__openai_name(o, "content");
}

static void put_user(struct upp__openai *o, const struct upp_message *m)
{
    size_t n = 0, last = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        if (is_said(&m->parts[i])) {
            n++;
            last = i;
        }
    put_role(o, "user");
    if (n == 0 || (n == 1 && m->parts[last].kind == UPP_PART_TEXT && !m->parts[last].metadata.n &&
                   !upp__openai_metadata(o, m->metadata)))
        upp__write_text(&o->w, n ? m->parts[last].text : UPP_STR(""));
    else {
        wj_write_open(&o->w, '[');
        for (size_t i = 0; i < m->n_parts; i++)
            if (is_said(&m->parts[i]))
                put_content(o, &m->parts[i], i == last);
        wj_write_close(&o->w, ']');
    }
    wj_write_close(&o->w, '}');
}

static void put_shown(struct upp__openai *o, size_t result, const struct upp_part *p)
{
    const char     *why = refused(p);
    struct upp_part out = {.kind = UPP_PART_TEXT};
    if (why)
        out.text = upp__openai_left_out(o, result, p, why);
    if (is_said(p))
        put_content(o, why ? &out : p, false);
}

static void put_results(struct upp__openai *o, const struct upp_message *m)
{
    for (size_t k = 0; k < m->n_parts; k++) {
        if (m->parts[k].kind != UPP_PART_RESULT)
            continue;
        struct upp__openai_shown s = upp__openai_shown(o, m, k);
        put_part(o, "function_call_output");
        upp__openai_str(o, "call_id", m->parts[k].id);
        upp__openai_name(o, "output");
        if (s.media) {
            wj_write_open(&o->w, '[');
            for (size_t i = 0; i < s.n; i++)
                put_shown(o, k, &s.parts[i]);
            wj_write_close(&o->w, ']');
        } else
            upp__write_text(&o->w, upp__openai_join(o, s.parts, s.n, UPP_PART_TEXT, UPP_STR("\n\n")));
        wj_write_close(&o->w, '}');
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
    yyjson_val     *c;
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

/* May the kept items go back? Not where the message says something else by now, nor where OpenAI has forgotten the
 * reasoning that an id stands for, nor where reasoning was all that came of the answer. */
static bool is_whole(struct upp__openai *o, const struct upp_message *m, yyjson_val *raw)
{
    const struct upp_part *text = NULL, *call = NULL;
    yyjson_val            *item;
    bool                   stored = upp__get_true(o->params, "store"), led = true;
    yyjson_arr_iter        it = yyjson_arr_iter_with(raw);
    if (!yyjson_is_arr(raw))
        return false;
    while ((item = yyjson_arr_iter_next(&it))) {
        struct upp_str type = upp__get_str(item, "type");
        led                 = !wb_str_eq(type, UPP_STR("reasoning"));
        if (wb_str_eq(type, UPP_STR("message")) && !same_texts(m, item, &text))
            return false;
        if (!led && !stored && !upp__get_str(item, "encrypted_content").n)
            return false;
        if (!wb_str_eq(type, UPP_STR("function_call")))
            continue;
        call = next_said(m, call, UPP_PART_CALL);
        if (!call || !wb_str_eq(call->id, upp__get_str(item, "call_id")))
            return false;
    }
    /* What follows the last one is what nobody kept. */
    return led && !next_said(m, text, UPP_PART_TEXT) && !next_said(m, call, UPP_PART_CALL);
}

static void put_call(struct upp__openai *o, const struct upp_part *p)
{
    put_part(o, "function_call");
    upp__openai_str(o, "call_id", p->id);
    upp__openai_str(o, "name", p->name);
    upp__openai_str(o, "arguments", upp__openai_arguments(o, p->text));
    wj_write_close(&o->w, '}');
}

static void put_assistant(struct upp__openai *o, const struct upp_message *m)
{
    yyjson_val     *raw = upp__kept(o->a, o->v, m, "raw"), *item;
    yyjson_arr_iter it  = yyjson_arr_iter_with(raw);
    if (is_whole(o, m, raw)) {
        while ((item = yyjson_arr_iter_next(&it)))
            wj_write_value(&o->w, item);
        return;
    }
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind == UPP_PART_TEXT && p->text.n) {
            put_role(o, "assistant");
            upp__write_text(&o->w, p->text);
            wj_write_close(&o->w, '}');
        } else if (p->kind == UPP_PART_CALL && upp__openai_is_said(o, p))
            put_call(o, p);
    }
    upp__openai_lose(o, m, true);
}

/* ---- The request ------------------------------------------------------------------------------------------------ */

/* OpenAI knows what was said up to previous_response_id: only what came after it is sent. */
static size_t first_new(struct upp__openai *o)
{
    struct upp_str before = upp__get_str(o->params, "previous_response_id");
    for (size_t i = before.n ? o->req->n_messages : 0; i-- > 0;) {
        yyjson_val *id = upp__kept(o->a, o->v, o->req->messages[i], "id");
        if (yyjson_is_str(id) && wb_str_eq(wj_text(id), before))
            return i + 1;
    }
    return 0;
}

static void put_input(struct upp__openai *o)
{
    upp__openai_name(o, "input");
    wj_write_open(&o->w, '[');
    for (o->message = first_new(o); o->message < o->req->n_messages; o->message++) {
        const struct upp_message *m = o->req->messages[o->message];
        if (m->role == UPP_ROLE_USER)
            put_user(o, m);
        else if (m->role == UPP_ROLE_ASSISTANT)
            put_assistant(o, m);
        else
            put_results(o, m);
    }
    wj_write_close(&o->w, ']');
}

/* Flat, unlike in Chat Completions. A tool is strict unless it says that it is not: so this one always says. */
static void put_tool(struct upp__openai *o, const struct upp_tool_spec *t)
{
    yyjson_val     *metadata = upp__openai_metadata(o, t->metadata), *key;
    yyjson_obj_iter it       = yyjson_obj_iter_with(metadata);
    put_part(o, "function");
    upp__openai_str(o, "name", t->name);
    if (t->description.n)
        upp__openai_str(o, "description", t->description);
    upp__openai_parameters(o, t);
    if (!upp__get(metadata, "strict")) {
        upp__openai_name(o, "strict");
        wj_write_bool(&o->w, false);
    }
    while ((key = yyjson_obj_iter_next(&it))) {
        wj_write_name(&o->w, wj_text(key));
        wj_write_value(&o->w, yyjson_obj_iter_get_val(key));
    }
    wj_write_close(&o->w, '}');
}

static void put_tools(struct upp__openai *o)
{
    if (!upp__openai_has_tools(o))
        return;
    upp__openai_name(o, "tools");
    wj_write_open(&o->w, '[');
    for (size_t i = 0; i < o->req->n_tools; i++)
        put_tool(o, &o->req->tools[i]);
    upp__openai_native_tools(o);
    wj_write_close(&o->w, ']');
}

/* text.format, beside what params say of the text. */
static void put_structure(struct upp__openai *o)
{
    yyjson_val     *text = upp__get(o->params, "text"), *key;
    yyjson_obj_iter it   = yyjson_obj_iter_with(text);
    if (!o->req->structure.p && !text)
        return;
    upp__openai_name(o, "text");
    if (!o->req->structure.p || (text && !yyjson_is_obj(text))) {
        wj_write_value(&o->w, text);
        return;
    }
    wj_write_open(&o->w, '{');
    if (!upp__get(text, "format")) {
        upp__openai_name(o, "format");
        put_part(o, "json_schema");
        upp__openai_schema(o);
        wj_write_close(&o->w, '}');
    }
    while ((key = yyjson_obj_iter_next(&it))) {
        wj_write_name(&o->w, wj_text(key));
        wj_write_value(&o->w, yyjson_obj_iter_get_val(key));
    }
    wj_write_close(&o->w, '}');
}

/* Models that do not reason answer a 400 to those who ask for encrypted reasoning. What is not known does. */
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

static void put_state(struct upp__openai *o)
{
    if (!upp__get(o->params, "store")) {
        upp__openai_name(o, "store");
        wj_write_bool(&o->w, false);
    }
    if (upp__get(o->params, "include") || upp__get_true(o->params, "store") || !reasons(o->v->model))
        return;
    upp__openai_name(o, "include");
    wj_write_open(&o->w, '[');
    wj_write_str(&o->w, UPP_STR("reasoning.encrypted_content"));
    wj_write_close(&o->w, ']');
}

static int responses_write(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                           struct upp__outgoing *out, struct upp_err *err)
{
    static const char *const taken[] = {"model", "input", "tools", "text", "stream", NULL};
    struct upp__openai       o       = {.v = v, .req = req, .out = out};
    int                      r       = upp__openai_begin(&o, UPP_STR("/responses"), key, err);
    if (r < 0)
        return r;
    if (req->system.p && !upp__get(o.params, "instructions"))
        upp__openai_str(&o, "instructions", req->system);
    put_input(&o);
    put_tools(&o);
    put_structure(&o);
    put_state(&o);
    if (!req->whole)
        upp__openai_true(&o, "stream");
    return upp__openai_end(&o, taken);
}

const struct upp__adapter upp__openai_responses = {
    .name     = "openai_responses",
    .can      = UPP_CAN_STREAM | UPP_CAN_TOOLS | UPP_CAN_STRUCTURE | UPP_CAN_IMAGES | UPP_CAN_DOCUMENTS,
    .framing  = WW_SSE,
    .own_size = sizeof(struct upp__responses),
    .write    = responses_write,
    .event    = upp__responses_event,
    .whole    = upp__responses_whole,
    .eof      = upp__responses_eof,
    .done     = upp__responses_done,
    .trouble  = upp__openai_trouble,
};
