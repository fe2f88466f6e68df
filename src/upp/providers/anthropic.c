/* upp/providers/anthropic.c — Anthropic Messages: a request as POST /v1/messages.
 *
 * What is particular to it:
 *  - max_tokens is required. The default is 4096, plus the thinking budget.
 *  - Roles are user and assistant. Results of tools are blocks of the user message that follows the calls, and come
 *    first in it: consecutive messages of one role are merged.
 *  - Blank texts are refused everywhere: they are omitted.
 *  - Output of the model is sent back unchanged (metadata.anthropic.raw) if it is more than texts and calls.
 */
#include "upp/providers/anthropic.h"

#include "base/str.h"

enum { MAX_TOKENS = 4096 };

/* ---- Small things ----------------------------------------------------------------------------------------------- */

static bool is_blank(struct upp_str s)
{
    return !wb_str_trim(s).n;
}

/* Ids of other vendors may contain anything; here they are [A-Za-z0-9_-]. The mapping is pure, so that calls and
 * results still match; a hash keeps different ids apart. */
static struct upp_str fit_id(struct upp__body *b, struct upp_str id)
{
    bool fits = id.n > 0;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        hash = (hash ^ (unsigned char)c) * 16777619u;
        fits &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    }
    return fits ? id : wb_arena_printf(b->arena, "call_%08x_%zu", hash, id.n);
}

/* ---- Blocks ----------------------------------------------------------------------------------------------------- */

/* Members that we write; all others in metadata.anthropic are copied to the object: cache_control, citations, context,
 * strict ... */
static const char *const ours[] = {"type", "text", "source",      "title",        "tool_use_id", "content", "is_error",
                                   "id",   "name", "description", "input_schema", "input",       NULL};

/* `mark`: cache_control of the whole message, for its last block. */
static void put_metadata(struct upp__body *b, struct upp_str metadata, yyjson_val *mark)
{
    yyjson_val *own = upp__look_own(b, metadata);
    upp__put_rest(b, own, ours);
    if (mark && !upp__get(own, "cache_control"))
        wj_put_value(&b->w, "cache_control", mark);
}

static const char user[] = "user", assistant[] = "assistant";

static void finish(struct upp__body *b)
{
    if (!b->role)
        return;
    b->role = NULL;
    wj_write_close(&b->w, ']');
    wj_write_close(&b->w, '}');
}

/* A block of this role follows: consecutive messages of one role are one on the wire. */
static void begin(struct upp__body *b, const char *role)
{
    if (b->role == role)
        return;
    finish(b);
    b->role = role;
    wj_write_open(&b->w, '{');
    upp__put(b, "role", wb_cstr(role));
    wj_put_open(&b->w, "content", '[');
}

/* The members of an image or a document that is not refused. */
static void put_media(struct upp__body *b, uint8_t kind, const struct upp_media *m)
{
    struct upp_err why = {0};
    int r = upp__anthropic_write_media(&b->w, kind, m, &why);
    if (r == -UPP_EINVALID)
        upp__refuse(b, why.msg);
    else if (r < 0)
        wj_writer_fail(&b->w, upp_fail(b->err, (enum upp_code) - r, "%s", why.msg));
}

/* ---- Results of tools ------------------------------------------------------------------------------------------- */

static void put_shown(struct upp__body *b, yyjson_val *blocks)
{
    size_t i, n;
    yyjson_val *item;
    wj_put_open(&b->w, "content", '[');
    yyjson_arr_foreach(blocks, i, n, item)
    {
        struct upp__block s;
        const char *why = NULL;
        if (upp__block_read(item, &s) && s.media.source == UPP_SOURCE_TEXT)
            s.kind = UPP_PART_DOCUMENT; /* here a text that is a document can be said as one */
        if (s.kind != UPP_PART_TEXT)
            why = upp__anthropic_refuses(s.kind, &s.media);
        if (s.kind == UPP_PART_TEXT && is_blank(s.text))
            continue;
        upp__put_typed(b, s.kind == UPP_PART_TEXT || why ? "text" : s.kind == UPP_PART_IMAGE ? "image" : "document");
        if (why) { /* the tool has run: the model had better know that there was something */
            upp__put(b, "text", upp__left_out(b, s.kind, why));
        } else if (s.kind == UPP_PART_TEXT)
            upp__put(b, "text", s.text);
        else
            put_media(b, s.kind, &s.media);
        wj_write_close(&b->w, '}');
    }
    wj_write_close(&b->w, ']');
}

static void put_result(struct upp__body *b, const struct upp_part *p, yyjson_val *mark)
{
    yyjson_val *value = upp__look(b, p->text);
    struct upp_str text = upp__is_blocks(value) ? (struct upp_str){0} : upp__result_text(b->arena, p->text);
    begin(b, user);
    upp__put_typed(b, "tool_result");
    upp__put(b, "tool_use_id", fit_id(b, p->id));
    if (!text.p)
        put_shown(b, value);
    else if (!is_blank(text) || p->is_error) /* an error has to say something */
        upp__put(b, "content", is_blank(text) ? UPP_STR("the tool failed") : text);
    if (p->is_error)
        wj_put_bool(&b->w, "is_error", true);
    put_metadata(b, p->metadata, mark);
    wj_write_close(&b->w, '}');
}

/* ---- Messages --------------------------------------------------------------------------------------------------- */

static bool is_said(const struct upp_part *p, unsigned kinds)
{
    return kinds >> p->kind & 1 && (p->kind != UPP_PART_TEXT || !is_blank(p->text));
}

/* The parts of these kinds of a user's message or of results. */
static void put_user(struct upp__body *b, size_t at, unsigned kinds)
{
    const struct upp_message *m = b->req->messages[at];
    size_t last = m->n_parts;
    while (last > 0 && !is_said(&m->parts[last - 1], kinds))
        last--;
    yyjson_val *mark = last ? upp__get(upp__look_own(b, m->metadata), "cache_control") : NULL;
    b->message = at;
    for (size_t i = 0; i < last; i++) {
        const struct upp_part *p = &m->parts[i];
        const char *why = NULL;
        b->part = i;
        if (!is_said(p, kinds))
            continue;
        if (p->kind == UPP_PART_RESULT) {
            put_result(b, p, i + 1 == last ? mark : NULL);
            continue;
        }
        if (p->kind != UPP_PART_TEXT && (!p->media || (why = upp__anthropic_refuses(p->kind, p->media)))) {
            upp__refuse(b, why ? why : "this is nothing that a user says");
            return;
        }
        begin(b, user);
        upp__put_typed(b, p->kind == UPP_PART_TEXT ? "text" : p->kind == UPP_PART_IMAGE ? "image" : "document");
        if (p->kind == UPP_PART_TEXT)
            upp__put(b, "text", p->text);
        else
            put_media(b, p->kind, p->media);
        put_metadata(b, p->metadata, i + 1 == last ? mark : NULL);
        wj_write_close(&b->w, '}');
    }
}

/* Is what was kept still what the message says? Its texts and calls are compared, each kind in its order: UPP's JSON
 * has them apart. */
static const struct upp_part *next_text(const struct upp_message *m, const struct upp_part *p)
{
    do
        p = upp_part_next(m, p, 1u << UPP_PART_TEXT);
    while (p && !p->text.n);
    return p;
}

static bool is_raw_of(struct upp__body *b, yyjson_val *raw, const struct upp_message *m)
{
    const struct upp_part *text = next_text(m, NULL), *call = upp_part_next(m, NULL, UPP_PARTS_CALLS);
    size_t i, n;
    yyjson_val *block;
    if (!yyjson_arr_size(raw))
        return false;
    yyjson_arr_foreach(raw, i, n, block)
    {
        struct upp_str type = upp__get_str(block, "type"), said = upp__get_str(block, "text");
        if (wb_str_eq(type, UPP_STR("tool_use"))) {
            if (!call || !wb_str_eq(upp__get_str(block, "id"), call->id) ||
                !upp__is_kept_call(b, call, upp__get_str(block, "name"), upp__get(block, "input")))
                return false;
            call = upp_part_next(m, call, UPP_PARTS_CALLS);
        } else if (wb_str_eq(type, UPP_STR("text")) && said.n) {
            if (!text || !wb_str_eq(said, text->text))
                return false;
            text = next_text(m, text);
        }
    }
    return !text && !call;
}

static void put_raw(struct upp__body *b, yyjson_val *raw)
{
    size_t i, n;
    yyjson_val *block;
    yyjson_arr_foreach(raw, i, n, block)
    {
        struct upp_str type = upp__get_str(block, "type");
        if (wb_str_eq(type, UPP_STR("text")) && is_blank(upp__get_str(block, "text")))
            continue;
        if (wb_str_eq(type, UPP_STR("thinking")) && !upp__get(block, "signature")) { /* a secret in it was masked */
            upp__lose(b, "reasoning", "it does not have Anthropic's signature");
            continue;
        }
        begin(b, assistant);
        wj_write_value(&b->w, block);
    }
}

/* A text of the model. The last thing in a request must not end in blanks. */
static void put_text(struct upp__body *b, struct upp_str text, bool last)
{
    while (last && wb_str_trim(wb_str_sub(text, text.n - 1, 1)).n == 0)
        text.n--;
    upp__put_typed(b, "text");
    upp__put(b, "text", text);
}

static void put_call(struct upp__body *b, const struct upp_part *p)
{
    upp__put_typed(b, "tool_use");
    upp__put(b, "id", fit_id(b, p->id));
    upp__put(b, "name", p->name);
    wj_write_name(&b->w, UPP_STR("input"));
    upp__write_arguments(&b->w, b->arena, p->text);
}

static void put_assistant(struct upp__body *b, size_t at)
{
    const struct upp_message *m = b->req->messages[at];
    yyjson_val *raw = upp__get(upp__look_own(b, m->metadata), "raw");
    b->message = at;
    if (is_raw_of(b, raw, m)) {
        put_raw(b, raw);
        return;
    }
    size_t last = m->n_parts;
    while (last > 0 && !is_said(&m->parts[last - 1], ~0u))
        last--;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        b->part = i;
        if (p->kind != UPP_PART_TEXT && p->kind != UPP_PART_CALL) {
            upp__lose(b, upp__kind_name(p->kind),
                      p->kind == UPP_PART_REASONING ? "it does not have Anthropic's signature"
                                                    : "Anthropic takes this from users alone");
            continue;
        }
        if (p->kind == UPP_PART_CALL && !upp__is_said_call(b, p)) {
            upp__lose_call(b);
            continue;
        }
        if (!is_said(p, ~0u))
            continue;
        begin(b, assistant);
        if (p->kind == UPP_PART_TEXT)
            put_text(b, p->text, at + 1 == b->req->n_messages && i + 1 == last);
        else
            put_call(b, p);
        put_metadata(b, p->metadata, NULL);
        wj_write_close(&b->w, '}');
    }
}

/* Between two answers of the model all results come first. */
static void put_messages(struct upp__body *b)
{
    const struct upp_request *req = b->req;
    wj_put_open(&b->w, "messages", '[');
    for (size_t at = 0, end; at < req->n_messages; at = end) {
        end = at;
        while (end < req->n_messages && req->messages[end]->role != UPP_ROLE_ASSISTANT)
            put_user(b, end++, UPP_PARTS_RESULTS);
        for (size_t i = at; i < end; i++)
            put_user(b, i, UPP_PARTS_CONTENT);
        if (end < req->n_messages)
            put_assistant(b, end++);
    }
    finish(b);
    wj_write_close(&b->w, ']');
}

/* ---- The body --------------------------------------------------------------------------------------------------- */

static void put_tool(struct upp__body *b, const struct upp_tool_spec *t)
{
    wj_write_open(&b->w, '{');
    upp__put_tool(b, t, "input_schema", UPP_STR("{\"type\":\"object\"}"));
    put_metadata(b, t->metadata, NULL);
    wj_write_close(&b->w, '}');
}

/* output_config of params, and the structure if they have no format. */
static void put_output(struct upp__body *b)
{
    yyjson_val *said = upp__get(b->params, "output_config");
    if (!said && !b->req->structure.p)
        return;
    wj_put_open(&b->w, "output_config", '{');
    upp__put_all(b, said);
    if (b->req->structure.p && !upp__get(said, "format")) {
        wj_put_open(&b->w, "format", '{');
        upp__put(b, "type", UPP_STR("json_schema"));
        wj_write_name(&b->w, UPP_STR("schema"));
        upp__write_json(&b->w, b->arena, b->req->structure);
        wj_write_close(&b->w, '}');
    }
    wj_write_close(&b->w, '}');
}

/* Code execution continues in the container of the newest answer. */
static void put_container(struct upp__body *b)
{
    for (size_t i = b->req->n_messages; i-- > 0;) {
        if (b->req->messages[i]->role != UPP_ROLE_ASSISTANT)
            continue;
        struct upp_str id = upp__get_str(upp__get(upp__look_own(b, b->req->messages[i]->metadata), "container"), "id");
        if (id.n)
            upp__put(b, "container", id);
        return;
    }
}

static void put_body(struct upp__body *b)
{
    static const char *const made[] = {"stream", "tools", "output_config", NULL};
    wj_write_open(&b->w, '{');
    if (!upp__get(b->params, "model"))
        upp__put(b, "model", b->vendor->model);
    if (!upp__get(b->params, "max_tokens")) {
        uint64_t budget = upp__get_u64(upp__get(b->params, "thinking"), "budget_tokens");
        wj_put_u64(&b->w, "max_tokens", MAX_TOKENS + WB_MIN(budget, UINT32_MAX));
    }
    if (!is_blank(b->req->system) && !upp__get(b->params, "system"))
        upp__put(b, "system", b->req->system);
    put_messages(b);
    upp__put_tools(b, put_tool);
    put_output(b);
    if (!upp__get(b->params, "container"))
        put_container(b);
    if (!b->req->whole)
        wj_put_bool(&b->w, "stream", true);
    upp__put_rest(b, b->params, made);
    wj_write_close(&b->w, '}');
}

/* The API version, a date, decides how the key is sent. */
static int put_headers(const struct upp__vendor *v, struct upp_str key, struct upp__outgoing *out, struct upp_err *err)
{
    struct upp_str version = v->api_version.n ? v->api_version : UPP_STR("2023-06-01");
    bool bearer = wb_str_cmp(version, UPP_STR("2026-10-21")) >= 0;
    upp__header(out, "content-type", UPP_STR("application/json"));
    upp__header(out, "anthropic-version", version);
    return upp__put_key(out, v, key, bearer ? "bearer" : "x-api-key", bearer ? "x-api-key" : "bearer", err);
}

static int write_request(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                         struct upp__outgoing *out, struct upp_err *err)
{
    struct upp__body b;
    int r = upp__body_init(&b, v, req, out, "messages", err);
    if (r == 0)
        r = put_headers(v, key, out, err);
    if (r < 0)
        return r;
    yyjson_val *output = upp__get(b.params, "output_config");
    if (output && !yyjson_is_obj(output))
        return upp_fail(err, UPP_EINVALID, "params: 'output_config' is an object");
    out->url = upp__endpoint(out->arena, v->base_url, UPP_STR("/v1/messages"));
    put_body(&b);
    return upp__body_check(&b);
}

const struct upp__adapter upp__anthropic = {
    .name = "anthropic",
    .can = UPP_CAN_STREAM | UPP_CAN_TOOLS | UPP_CAN_STRUCTURE | UPP_CAN_IMAGES | UPP_CAN_DOCUMENTS,
    .framing = WW_SSE,
    .own_size = sizeof(struct upp__anthropic_own),
    .write = write_request,
    .event = upp__anthropic_event,
    .whole = upp__anthropic_whole,
    .last = "message_stop",
    .done = upp__anthropic_done,
    .error = upp__anthropic_error,
};
