/* upp/providers/openai_chat.c — requests of OpenAI's Chat Completions, and of all who speak it.
 *
 *  - A turn of the model is one message: its texts are one `content`, its calls are `tool_calls`.
 *  - Each result is a message of its own, and holds text alone: images of results follow in a message of the user,
 * after the last result in a row.
 *  - Reasoning goes back only where the server wants it (the habits of upp/adapter.h).
 */
#include "upp/providers/openai_chat.h"

#include "upp/providers/openai.h"

/* ---- Content of users ------------------------------------------------------------------------------------------- */

static void put_part(struct upp__openai *o, const char *type)
{
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "type", wb_cstr(type));
}

static void put_text(struct upp__openai *o, struct upp_str text)
{
    put_part(o, "text");
    upp__openai_str(o, "text", text);
}

static void put_image(struct upp__openai *o, const struct upp_part *p)
{
    static const char *const names[] = {"detail", NULL};
    const struct upp_media  *m       = p->media;
    put_part(o, "image_url");
    upp__openai_name(o, "image_url");
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "url", m->source == UPP_SOURCE_URL ? m->data : upp__openai_data_url(o, m));
    upp__openai_members(o, upp__openai_metadata(o, p->metadata), names);
    wj_write_close(&o->w, '}');
}

static void put_document(struct upp__openai *o, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    if (m->source == UPP_SOURCE_TEXT) {
        put_text(o, m->data);
        return;
    }
    put_part(o, "file");
    upp__openai_name(o, "file");
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "filename", upp__openai_file_name(m));
    upp__openai_str(o, "file_data", upp__openai_data_url(o, m));
    wj_write_close(&o->w, '}');
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

static void put_audio(struct upp__openai *o, const struct upp_part *p)
{
    put_part(o, "input_audio");
    upp__openai_name(o, "input_audio");
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "data", p->media->data);
    upp__openai_str(o, "format", wb_cstr(audio_format(p->media)));
    wj_write_close(&o->w, '}');
}

/* Why a part cannot be said; NULL: it can. */
static const char *refused(const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    if (p->kind == UPP_PART_TEXT)
        return NULL;
    if (p->kind == UPP_PART_IMAGE && m)
        return m->source != UPP_SOURCE_URL && !m->mime.n ? "an image needs its mime type" : NULL;
    if (p->kind == UPP_PART_DOCUMENT && m)
        return m->source == UPP_SOURCE_URL ? "Chat Completions takes no documents by address: give their bytes" : NULL;
    if (p->kind == UPP_PART_AUDIO && m)
        return audio_format(m) ? NULL : "Chat Completions takes audio as WAV or MP3";
    return "Chat Completions has no such content";
}

/* One part; `last` of its message. */
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
    else if (p->kind == UPP_PART_DOCUMENT)
        put_document(o, p);
    else
        put_audio(o, p);
    upp__openai_marks(o, p, last);
    wj_write_close(&o->w, '}');
}

static void put_role(struct upp__openai *o, const char *role)
{
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "role", wb_cstr(role));
}

/* Texts that are empty say nothing. The number of parts that are left, and which is the last. */
static size_t count_said(const struct upp_message *m, size_t *last)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].kind != UPP_PART_TEXT || m->parts[i].text.n) {
            n++;
            *last = i;
        }
    return n;
}

static void put_user(struct upp__openai *o, const struct upp_message *m)
{
    size_t last = 0, n = count_said(m, &last);
    put_role(o, "user");
    if (n == 0 || (n == 1 && m->parts[last].kind == UPP_PART_TEXT && !m->parts[last].metadata.n &&
                   !upp__openai_metadata(o, m->metadata)))
        upp__openai_str(o, "content", n ? m->parts[last].text : UPP_STR(""));
    else {
        upp__openai_name(o, "content");
        wj_write_open(&o->w, '[');
        for (size_t i = 0; i < m->n_parts; i++)
            if (m->parts[i].kind != UPP_PART_TEXT || m->parts[i].text.n)
                put_content(o, &m->parts[i], i == last);
        wj_write_close(&o->w, ']');
    }
    wj_write_close(&o->w, '}');
}

/* ---- What the model said ---------------------------------------------------------------------------------------- */

static void put_calls(struct upp__openai *o, const struct upp_message *m)
{
    const struct upp_part *p = NULL;
    upp__openai_name(o, "tool_calls");
    wj_write_open(&o->w, '[');
    while ((p = upp_part_next(m, p, UPP_PARTS_CALLS))) {
        if (!upp__openai_is_said(o, p))
            continue;
        wj_write_open(&o->w, '{');
        upp__openai_str(o, "id", p->id);
        upp__openai_str(o, "type", UPP_STR("function"));
        upp__openai_name(o, "function");
        wj_write_open(&o->w, '{');
        upp__openai_str(o, "name", p->name);
        upp__openai_str(o, "arguments", upp__openai_arguments(o, p->text));
        wj_write_close(&o->w, '}');
        wj_write_close(&o->w, '}');
    }
    wj_write_close(&o->w, ']');
}

static bool has_calls(struct upp__openai *o, const struct upp_message *m)
{
    const struct upp_part *p = NULL;
    while ((p = upp_part_next(m, p, UPP_PARTS_CALLS)))
        if (upp__openai_is_said(o, p))
            return true;
    return false;
}

/* The calls that `raw` was kept with: where they are others, the message was edited and what came before them is void.
 */
static bool has_kept_calls(const struct upp_message *m, yyjson_val *ids)
{
    yyjson_arr_iter        it = yyjson_arr_iter_with(ids);
    const struct upp_part *p  = NULL;
    yyjson_val            *id;
    while ((p = upp_part_next(m, p, UPP_PARTS_CALLS)))
        if (!(id = yyjson_arr_iter_next(&it)) || !yyjson_is_str(id) || !wb_str_eq(wj_text(id), p->id))
            return false;
    return !yyjson_arr_iter_next(&it);
}

/* Reasoning, where the server wants it back. False: it does not go. */
static bool put_reasoning(struct upp__openai *o, const struct upp_message *m, bool own, bool calls)
{
    if (!own)
        return false;
    if (o->v->habits & UPP__REASONING_DETAILS) {
        yyjson_val *raw     = upp__kept(o->a, o->v, m, "raw");
        yyjson_val *details = upp__get(raw, "reasoning_details");
        if (!details || !has_kept_calls(m, upp__get(raw, "calls")))
            return false;
        upp__openai_name(o, "reasoning_details");
        wj_write_value(&o->w, details);
        return true;
    }
    struct upp_str text = upp__openai_join(o, m->parts, m->n_parts, UPP_PART_REASONING, UPP_STR(""));
    if (!(o->v->habits & UPP__REASONING_BACK) || !calls || !text.n)
        return false;
    upp__openai_str(o, "reasoning_content", text);
    return true;
}

static void put_assistant(struct upp__openai *o, const struct upp_message *m)
{
    /* What came as one text and was cut by calls is one text again; texts of others were blocks of their own. */
    bool           own = upp__openai_is_own(o, m), calls = has_calls(o, m);
    struct upp_str text = upp__openai_join(o, m->parts, m->n_parts, UPP_PART_TEXT, own ? UPP_STR("") : UPP_STR("\n\n"));
    put_role(o, "assistant");
    upp__openai_name(o, "content");
    if (calls && !text.n)
        wj_write_null(&o->w);
    else
        upp__write_text(&o->w, text);
    bool reasoning = put_reasoning(o, m, own, calls);
    if (calls)
        put_calls(o, m);
    wj_write_close(&o->w, '}');
    upp__openai_lose(o, m, !reasoning);
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

static void put_result(struct upp__openai *o, const struct upp_message *m, size_t part)
{
    struct upp__openai_shown s    = upp__openai_shown(o, m, part);
    struct upp_str           text = upp__openai_join(o, s.parts, s.n, UPP_PART_TEXT, UPP_STR("\n\n"));
    put_role(o, "tool");
    upp__openai_str(o, "tool_call_id", m->parts[part].id);
    upp__openai_str(o, "content", text.n || !s.media ? text : UPP_STR("The result follows in the next user message."));
    wj_write_close(&o->w, '}');
}

static bool has_media(struct upp__openai *o, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        for (size_t k = 0; k < o->req->messages[i]->n_parts; k++)
            if (o->req->messages[i]->parts[k].kind == UPP_PART_RESULT &&
                upp__openai_shown(o, o->req->messages[i], k).media)
                return true;
    return false;
}

static void put_media_of(struct upp__openai *o, const struct upp_message *m, size_t part)
{
    struct upp__openai_shown s = upp__openai_shown(o, m, part);
    if (!s.media)
        return;
    put_text(o, wb_arena_printf(o->a, "Result of the call %.*s:", UPP_FMT(m->parts[part].id)));
    wj_write_close(&o->w, '}');
    for (size_t i = 0; i < s.n; i++) {
        const char     *why = refused(&s.parts[i]);
        struct upp_part out = {.kind = UPP_PART_TEXT};
        if (why)
            out.text = upp__openai_left_out(o, part, &s.parts[i], why);
        if (s.parts[i].kind != UPP_PART_TEXT)
            put_content(o, why ? &out : &s.parts[i], false);
    }
}

/* Messages of results in a row, then what they show. */
static void put_results(struct upp__openai *o, size_t from, size_t to)
{
    for (o->message = from; o->message < to; o->message++)
        for (size_t k = 0; k < o->req->messages[o->message]->n_parts; k++)
            if (o->req->messages[o->message]->parts[k].kind == UPP_PART_RESULT)
                put_result(o, o->req->messages[o->message], k);
    if (!has_media(o, from, to))
        return;
    put_role(o, "user");
    upp__openai_name(o, "content");
    wj_write_open(&o->w, '[');
    for (o->message = from; o->message < to; o->message++)
        for (size_t k = 0; k < o->req->messages[o->message]->n_parts; k++)
            if (o->req->messages[o->message]->parts[k].kind == UPP_PART_RESULT)
                put_media_of(o, o->req->messages[o->message], k);
    wj_write_close(&o->w, ']');
    wj_write_close(&o->w, '}');
}

/* ---- The request ------------------------------------------------------------------------------------------------ */

static void put_messages(struct upp__openai *o)
{
    const struct upp_request *req = o->req;
    upp__openai_name(o, "messages");
    wj_write_open(&o->w, '[');
    if (req->system.p) {
        put_role(o, o->v->habits & UPP__DEVELOPER_ROLE ? "developer" : "system");
        upp__openai_str(o, "content", req->system);
        wj_write_close(&o->w, '}');
    }
    for (size_t i = 0, next; i < req->n_messages; i = next) {
        const struct upp_message *m = req->messages[i];
        next                        = i + 1;
        o->message                  = i;
        if (m->role == UPP_ROLE_USER)
            put_user(o, m);
        else if (m->role == UPP_ROLE_ASSISTANT)
            put_assistant(o, m);
        else {
            while (next < req->n_messages && req->messages[next]->role == UPP_ROLE_TOOL)
                next++;
            put_results(o, i, next);
        }
    }
    wj_write_close(&o->w, ']');
}

static void put_tool(struct upp__openai *o, const struct upp_tool_spec *t)
{
    static const char *const inside[] = {"strict", NULL}, *const beside[] = {"cache_control", NULL};
    yyjson_val *metadata = upp__openai_metadata(o, t->metadata);
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "type", UPP_STR("function"));
    upp__openai_name(o, "function");
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "name", t->name);
    if (t->description.n)
        upp__openai_str(o, "description", t->description);
    upp__openai_parameters(o, t);
    upp__openai_members(o, metadata, inside);
    wj_write_close(&o->w, '}');
    upp__openai_members(o, metadata, beside);
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

static void put_structure(struct upp__openai *o)
{
    if (!o->req->structure.p || upp__get(o->params, "response_format"))
        return;
    upp__openai_name(o, "response_format");
    wj_write_open(&o->w, '{');
    upp__openai_str(o, "type", UPP_STR("json_schema"));
    upp__openai_name(o, "json_schema");
    wj_write_open(&o->w, '{');
    upp__openai_schema(o);
    wj_write_close(&o->w, '}');
    wj_write_close(&o->w, '}');
}

static void put_stream(struct upp__openai *o)
{
    if (o->req->whole)
        return;
    upp__openai_true(o, "stream");
    if (o->v->habits & UPP__NO_STREAM_USAGE || upp__get(o->params, "stream_options"))
        return;
    upp__openai_name(o, "stream_options");
    wj_write_open(&o->w, '{');
    upp__openai_true(o, "include_usage");
    wj_write_close(&o->w, '}');
}

static int chat_write(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                      struct upp__outgoing *out, struct upp_err *err)
{
    static const char *const taken[] = {"model", "messages", "tools", "stream", NULL};
    struct upp__openai       o       = {.v = v, .req = req, .out = out};
    int                      r       = upp__openai_begin(&o, UPP_STR("/chat/completions"), key, err);
    if (r < 0)
        return r;
    put_messages(&o);
    put_tools(&o);
    put_structure(&o);
    put_stream(&o);
    return upp__openai_end(&o, taken);
}

const struct upp__adapter upp__openai_chat = {
    .name     = "openai_chat",
    .can      = UPP_CAN_STREAM | UPP_CAN_TOOLS | UPP_CAN_STRUCTURE | UPP_CAN_IMAGES | UPP_CAN_DOCUMENTS | UPP_CAN_AUDIO,
    .framing  = WW_SSE,
    .own_size = sizeof(struct upp__chat),
    .write    = chat_write,
    .event    = upp__chat_event,
    .whole    = upp__chat_whole,
    .eof      = upp__chat_eof,
    .done     = upp__chat_done,
    .trouble  = upp__openai_trouble,
};
