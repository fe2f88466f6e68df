/* upp/providers/openai_chat.c — requests of OpenAI's Chat Completions, and of all who speak it.
 *
 *  - A turn of the model is one message: its texts are one `content`, its calls are `tool_calls`.
 *  - Each result is a separate message with text only: images of results follow in a user message after the last of
 *    consecutive results.
 *  - Reasoning is sent back only if the server requires it (enum upp__habit in upp/providers/adapter.h).
 */
#include "upp/providers/openai_chat.h"

#include "upp/providers/openai.h"

/* ---- Content of users ------------------------------------------------------------------------------------------- */

static void put_text(struct upp__body *b, struct upp_str text)
{
    upp__put_typed(b, "text");
    upp__put(b, "text", text);
}

static void put_image(struct upp__body *b, const struct upp_part *p)
{
    static const char *const names[] = {"detail", NULL};
    const struct upp_media *m = p->media;
    upp__put_typed(b, "image_url");
    wj_put_open(&b->w, "image_url", '{');
    upp__put(b, "url", upp__openai_url(b, m));
    upp__put_some(b, upp__look_own(b, p->metadata), names);
    wj_write_close(&b->w, '}');
}

static void put_document(struct upp__body *b, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    if (m->source == UPP_SOURCE_TEXT) {
        put_text(b, m->data);
        return;
    }
    upp__put_typed(b, "file");
    wj_put_open(&b->w, "file", '{');
    upp__put(b, "filename", upp__openai_file_name(m));
    upp__put(b, "file_data", upp__openai_url(b, m));
    wj_write_close(&b->w, '}');
}

/* "wav", "mp3"; NULL: another one. */
static const char *audio_format(const struct upp_media *m)
{
    static const char *const formats[][2] = {{"audio/wav", "wav"},
                                             {"audio/x-wav", "wav"},
                                             {"audio/wave", "wav"},
                                             {"audio/mpeg", "mp3"},
                                             {"audio/mp3", "mp3"}};
    for (size_t i = 0; i < WB_LEN(formats) && m->source != UPP_SOURCE_URL; i++)
        if (wb_str_eq_nocase(m->mime, wb_cstr(formats[i][0])))
            return formats[i][1];
    return NULL;
}

static void put_audio(struct upp__body *b, const struct upp_part *p)
{
    upp__put_typed(b, "input_audio");
    wj_put_open(&b->w, "input_audio", '{');
    upp__put(b, "data", p->media->data);
    upp__put(b, "format", wb_cstr(audio_format(p->media)));
    wj_write_close(&b->w, '}');
}

/* Why a part cannot be sent; NULL: it can. */
static const char *refused(const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    struct upp_str mime, data;
    if (p->kind == UPP_PART_TEXT)
        return NULL;
    if (p->kind == UPP_PART_IMAGE && m)
        return m->source != UPP_SOURCE_URL && !m->mime.n ? "an image needs its mime type" : NULL;
    if (p->kind == UPP_PART_DOCUMENT && m)
        return m->source != UPP_SOURCE_URL || upp__media_bytes(m, &mime, &data)
                   ? NULL
                   : "Chat Completions takes no documents by address: give their bytes";
    if (p->kind == UPP_PART_AUDIO && m)
        return audio_format(m) ? NULL : "Chat Completions takes audio as WAV or MP3";
    return "Chat Completions has no such content";
}

/* One part; `last` of its message. */
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
    else if (p->kind == UPP_PART_DOCUMENT)
        put_document(b, p);
    else
        put_audio(b, p);
    upp__openai_marks(b, p, last);
    wj_write_close(&b->w, '}');
}

static void put_role(struct upp__body *b, const char *role)
{
    wj_write_open(&b->w, '{');
    upp__put(b, "role", wb_cstr(role));
}

/* ---- Output of the model ---------------------------------------------------------------------------------------- */

static void put_calls(struct upp__body *b, const struct upp_message *m)
{
    const struct upp_part *p = NULL;
    wj_put_open(&b->w, "tool_calls", '[');
    while ((p = upp_part_next(m, p, UPP_PARTS_CALLS))) {
        if (!upp__is_said_call(b, p))
            continue;
        wj_write_open(&b->w, '{');
        upp__put(b, "id", p->id);
        upp__put(b, "type", UPP_STR("function"));
        wj_put_open(&b->w, "function", '{');
        upp__put(b, "name", p->name);
        upp__put(b, "arguments", upp__openai_arguments(b, p->text));
        wj_write_close(&b->w, '}');
        wj_write_close(&b->w, '}');
    }
    wj_write_close(&b->w, ']');
}

static bool has_calls(struct upp__body *b, const struct upp_message *m)
{
    const struct upp_part *p = NULL;
    while ((p = upp_part_next(m, p, UPP_PARTS_CALLS)))
        if (upp__is_said_call(b, p))
            return true;
    return false;
}

/* Are these the calls that `raw` was stored with? If not, the message was edited and `raw` is void. */
static bool has_kept_calls(const struct upp_message *m, yyjson_val *ids)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(ids);
    const struct upp_part *p = NULL;
    yyjson_val *id;
    while ((p = upp_part_next(m, p, UPP_PARTS_CALLS)))
        if (!(id = yyjson_arr_iter_next(&it)) || !yyjson_is_str(id) || !wb_str_eq(wj_text(id), p->id))
            return false;
    return !yyjson_arr_iter_next(&it);
}

/* Reasoning, if the server requires it. False: it is not sent. */
static bool put_reasoning(struct upp__body *b, const struct upp_message *m, bool own, bool calls)
{
    if (!own)
        return false;
    if (b->vendor->habits & UPP__REASONING_DETAILS) {
        yyjson_val *raw = upp__get(upp__look_own(b, m->metadata), "raw");
        yyjson_val *details = upp__get(raw, "reasoning_details");
        if (!details || !has_kept_calls(m, upp__get(raw, "calls")))
            return false;
        wj_put_value(&b->w, "reasoning_details", details);
        return true;
    }
    struct upp_str text = upp__openai_join(b, m->parts, m->n_parts, UPP_PART_REASONING, UPP_STR(""));
    if (!(b->vendor->habits & UPP__REASONING_BACK) || !calls || !text.n)
        return false;
    upp__put(b, "reasoning_content", text);
    return true;
}

static void put_assistant(struct upp__body *b, const struct upp_message *m)
{
    /* A text that calls had split becomes one text again; texts of other vendors were separate blocks. */
    bool own = upp__openai_is_own(b, m), calls = has_calls(b, m);
    struct upp_str text = upp__openai_join(b, m->parts, m->n_parts, UPP_PART_TEXT, own ? UPP_STR("") : UPP_STR("\n\n"));
    put_role(b, "assistant");
    wj_write_name(&b->w, UPP_STR("content"));
    if (calls && !text.n)
        wj_write_null(&b->w);
    else
        upp__write_text(&b->w, text);
    bool reasoning = put_reasoning(b, m, own, calls);
    if (calls)
        put_calls(b, m);
    wj_write_close(&b->w, '}');
    upp__openai_lose(b, m, !reasoning);
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

static void put_result(struct upp__body *b, const struct upp_message *m)
{
    struct upp__openai_shown s = upp__openai_shown(b, m);
    struct upp_str text = upp__openai_join(b, s.parts, s.n, UPP_PART_TEXT, UPP_STR("\n\n"));
    put_role(b, "tool");
    upp__put(b, "tool_call_id", m->parts[b->part].id);
    upp__put(b, "content", text.n || !s.media ? text : UPP_STR("The result follows in the next user message."));
    wj_write_close(&b->w, '}');
}

/* Media of a result, in a user message that the first of them opens. */
static void put_media(struct upp__body *b, const struct upp_message *m)
{
    struct upp__openai_shown s = upp__openai_shown(b, m);
    if (!s.media)
        return;
    if (!b->role) {
        b->role = "user";
        put_role(b, b->role);
        wj_put_open(&b->w, "content", '[');
    }
    put_text(b, wb_arena_printf(b->arena, "Result of the call %.*s:", UPP_FMT(m->parts[b->part].id)));
    wj_write_close(&b->w, '}');
    for (size_t i = 0; i < s.n; i++) {
        const char *why = refused(&s.parts[i]);
        struct upp_part out = {.kind = UPP_PART_TEXT};
        if (why)
            out.text = upp__left_out(b, s.parts[i].kind, why);
        if (s.parts[i].kind != UPP_PART_TEXT)
            put_content(b, why ? &out : &s.parts[i], false);
    }
}

static void each_result(struct upp__body *b, size_t from, size_t to,
                        void (*put)(struct upp__body *b, const struct upp_message *m))
{
    for (b->message = from; b->message < to; b->message++) {
        const struct upp_message *m = b->req->messages[b->message];
        for (b->part = 0; b->part < m->n_parts; b->part++)
            if (m->parts[b->part].kind == UPP_PART_RESULT)
                put(b, m);
    }
}

/* Consecutive messages of results, then their media. */
static void put_results(struct upp__body *b, size_t from, size_t to)
{
    each_result(b, from, to, put_result);
    each_result(b, from, to, put_media);
    if (b->role) {
        wj_write_close(&b->w, ']');
        wj_write_close(&b->w, '}');
    }
    b->role = NULL;
}

/* ---- The request ------------------------------------------------------------------------------------------------ */

static void put_messages(struct upp__body *b)
{
    const struct upp_request *req = b->req;
    wj_put_open(&b->w, "messages", '[');
    if (req->system.p) {
        put_role(b, b->vendor->habits & UPP__DEVELOPER_ROLE ? "developer" : "system");
        upp__put(b, "content", req->system);
        wj_write_close(&b->w, '}');
    }
    for (size_t i = 0, next; i < req->n_messages; i = next) {
        const struct upp_message *m = req->messages[i];
        next = i + 1;
        b->message = i;
        if (m->role == UPP_ROLE_USER)
            upp__openai_user(b, m, put_content);
        else if (m->role == UPP_ROLE_ASSISTANT)
            put_assistant(b, m);
        else {
            while (next < req->n_messages && req->messages[next]->role == UPP_ROLE_TOOL)
                next++;
            put_results(b, i, next);
        }
    }
    wj_write_close(&b->w, ']');
}

static void put_tool(struct upp__body *b, const struct upp_tool_spec *t)
{
    static const char *const inside[] = {"strict", NULL}, *const beside[] = {"cache_control", NULL};
    yyjson_val *metadata = upp__look_own(b, t->metadata);
    wj_write_open(&b->w, '{');
    upp__put(b, "type", UPP_STR("function"));
    wj_put_open(&b->w, "function", '{');
    upp__put_tool(b, t, "parameters", UPP__NO_PARAMETERS);
    upp__put_some(b, metadata, inside);
    wj_write_close(&b->w, '}');
    upp__put_some(b, metadata, beside);
    wj_write_close(&b->w, '}');
}

static void put_structure(struct upp__body *b)
{
    if (!b->req->structure.p || upp__get(b->params, "response_format"))
        return;
    wj_put_open(&b->w, "response_format", '{');
    upp__put(b, "type", UPP_STR("json_schema"));
    wj_put_open(&b->w, "json_schema", '{');
    upp__openai_schema(b);
    wj_write_close(&b->w, '}');
    wj_write_close(&b->w, '}');
}

static void put_stream(struct upp__body *b)
{
    if (b->req->whole)
        return;
    wj_put_bool(&b->w, "stream", true);
    if (b->vendor->habits & UPP__NO_STREAM_USAGE || upp__get(b->params, "stream_options"))
        return;
    wj_put_open(&b->w, "stream_options", '{');
    wj_put_bool(&b->w, "include_usage", true);
    wj_write_close(&b->w, '}');
}

static int chat_write(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                      struct upp__outgoing *out, struct upp_err *err)
{
    static const char *const made[] = {"tools", "stream", NULL};
    struct upp__body b = {.vendor = v, .req = req, .err = err};
    int r = upp__openai_begin(&b, out, UPP_STR("/chat/completions"), "messages", key);
    if (r < 0)
        return r;
    put_messages(&b);
    upp__put_tools(&b, put_tool);
    put_structure(&b);
    put_stream(&b);
    upp__put_rest(&b, b.params, made);
    wj_write_close(&b.w, '}');
    return upp__body_check(&b);
}

const struct upp__adapter upp__openai_chat = {
    .name = "openai_chat",
    .can = UPP_CAN_STREAM | UPP_CAN_TOOLS | UPP_CAN_STRUCTURE | UPP_CAN_IMAGES | UPP_CAN_DOCUMENTS | UPP_CAN_AUDIO,
    .framing = WW_SSE,
    .own_size = sizeof(struct upp__chat),
    .write = chat_write,
    .event = upp__chat_event,
    .whole = upp__chat_whole,
    .eof = upp__chat_eof,
    .done = upp__chat_done,
    .error = upp__openai_error_body,
};
