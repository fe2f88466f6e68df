/* remote/agentapi.c — an agent behind an Agent API server: requests (docs/remote.md).
 *
 * A request has the messages that the server has not seen (remote.h), our tools as the client's, and the agent's
 * params.
 */
#include "remote/remote.h"

#include "base/defs.h"
#include "base/err.h"
#include "dialects/core/data_url.h"
#include "upp/providers/body.h"

enum { URL_BYTES = 64 << 20 };

struct body {
    struct upp__body b;
    struct rm_session session;
    size_t turn; /* the last message of the user */
};

static void put_text(struct upp__body *b, struct upp_str text)
{
    upp__put_typed(b, "text");
    upp__put(b, "text", text);
    wj_write_close(&b->w, '}');
}

static void put_url(struct upp__body *b, const char *name, const struct upp_media *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(URL_BYTES);
    int r = m->source == UPP_SOURCE_URL ? 0 : wd_data_url(m, wd_media_type(m), &url, b->err);
    if (r < 0)
        wj_writer_fail(&b->w, r);
    upp__put(b, name, m->source == UPP_SOURCE_URL ? m->data : wb_buf_str(&url));
}

static void put_media(struct upp__body *b, const struct upp_part *p)
{
    static const struct {
        uint8_t kind;
        const char *type, *member;
    } kinds[] = {{UPP_PART_IMAGE, "image", "image_url"},
                 {UPP_PART_AUDIO, "audio", "data"},
                 {UPP_PART_VIDEO, "video", "video_url"}};
    for (size_t i = 0; i < WB_LEN(kinds); i++)
        if (kinds[i].kind == p->kind) {
            upp__put_typed(b, kinds[i].type);
            put_url(b, kinds[i].member, p->media);
            wj_write_close(&b->w, '}');
            return;
        }
    upp__put_typed(b, "file");
    put_url(b, p->media->source == UPP_SOURCE_URL ? "file_url" : "file_data", p->media);
    if (p->media->title.n)
        upp__put(b, "filename", p->media->title);
    wj_write_close(&b->w, '}');
}

static bool is_content(const struct upp_part *p)
{
    return p->kind == UPP_PART_TEXT || (p->kind >= UPP_PART_IMAGE && p->kind <= UPP_PART_BINARY && p->media);
}

static void begin_message(struct body *o, const char *type, const char *role, bool first)
{
    wj_write_open(&o->b.w, '{');
    if (first && o->session.id.n)
        upp__put(&o->b, "id", rm_message_id(o->b.arena, &o->session, o->b.message));
    upp__put(&o->b, "type", wb_cstr(type));
    upp__put(&o->b, "role", wb_cstr(role));
    wj_put_open(&o->b.w, "content", '[');
}

static void end_message(struct body *o)
{
    wj_write_close(&o->b.w, ']');
    wj_write_close(&o->b.w, '}');
}

/* A call or a result: a message of its own. */
static void put_tool(struct body *o, const struct upp_part *p, bool first)
{
    struct upp__body *b = &o->b;
    bool call = p->kind == UPP_PART_CALL;
    begin_message(o, call ? "function_call" : "function_call_output", call ? "assistant" : "tool", first);
    upp__put_typed(b, "data");
    wj_put_open(&b->w, "data", '{');
    upp__put(b, "call_id", p->id);
    upp__put(b, "name", call ? p->name : upp__tool_name(b->req, b->message, p));
    upp__put(b, call ? "arguments" : "output", call && !p->text.n ? UPP_STR("{}") : p->text);
    wj_write_close(&b->w, '}');
    wj_write_close(&b->w, '}');
    end_message(o);
}

static void put_contents(struct body *o, const struct upp_message *m, bool first)
{
    struct upp__body *b = &o->b;
    begin_message(o, "message", m->role == UPP_ROLE_USER ? "user" : "assistant", first);
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_TEXT)
            put_text(b, m->parts[i].text);
        else if (is_content(&m->parts[i]))
            put_media(b, &m->parts[i]);
    end_message(o);
}

static void put_message(struct body *o, const struct upp_message *m)
{
    struct upp__body *b = &o->b;
    bool any = m->role == UPP_ROLE_USER;
    bool first = true;
    for (size_t i = 0; i < m->n_parts; i++)
        any |= is_content(&m->parts[i]);
    if (any)
        put_contents(o, m, first), first = false;
    for (b->part = 0; b->part < m->n_parts; b->part++) {
        const struct upp_part *p = &m->parts[b->part];
        if (p->kind == UPP_PART_REASONING)
            upp__lose(b, "reasoning", "another server's agent is not told what was thought here");
        else if (p->kind == UPP_PART_CALL && !upp__is_said_call(b, p))
            upp__lose_call(b);
        else if ((p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT) && b->message < o->turn)
            upp__lose(b, upp__kind_name(p->kind), "the server has not made these calls");
        else if (p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT)
            put_tool(o, p, first), first = false;
    }
}

static void put_input(struct body *o)
{
    struct upp__body *b = &o->b;
    wj_put_open(&b->w, "input", '[');
    if (!o->session.note && b->req->system.n) {
        begin_message(o, "message", "system", false);
        put_text(b, b->req->system);
        end_message(o);
    }
    for (size_t i = 0; i < b->req->n_messages; i++)
        if (b->req->messages[i]->role == UPP_ROLE_USER)
            o->turn = i;
    for (b->message = o->session.from; b->message < b->req->n_messages; b->message++)
        put_message(o, b->req->messages[b->message]);
    wj_write_close(&b->w, ']');
}

static void put_spec(struct upp__body *b, const struct upp_tool_spec *t)
{
    upp__put_typed(b, "function");
    wj_put_open(&b->w, "function", '{');
    upp__put_tool(b, t, "parameters", UPP__NO_PARAMETERS);
    wj_write_close(&b->w, '}');
    wj_write_close(&b->w, '}');
}

/* No user_id: servers that need one take the session for it, so that what they remember of a user does not pass from
 * one of ours to another; on a Weft server it is the user of the API key. */
static void put_session(struct upp__body *b, const struct rm_session *s)
{
    if (s->id.n)
        upp__put(b, "session_id", s->id);
}

static void put_body(struct body *o)
{
    static const char *const made[] = {"input", "stream", "session_id", "tools", NULL};
    struct upp__body *b = &o->b;
    wj_write_open(&b->w, '{');
    put_input(o);
    wj_put_bool(&b->w, "stream", true);
    put_session(b, &o->session);
    upp__put_tools(b, put_spec);
    upp__put_rest(b, b->params, made);
    wj_write_close(&b->w, '}');
}

static int put_head(const struct upp__vendor *v, struct upp_str key, struct upp__outgoing *out, struct upp_err *err)
{
    upp__header(out, "content-type", UPP_STR("application/json"));
    upp__header(out, "accept", UPP_STR("text/event-stream"));
    return upp__put_key(out, v, key.n ? key : (struct upp_str){0}, "bearer", NULL, err);
}

static int write_request(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                         struct upp__outgoing *out, struct upp_err *err)
{
    struct body o = {0};
    int r = upp__body_init(&o.b, v, req, out, "input", err);
    if (r == 0)
        r = put_head(v, key, out, err);
    if (r == 0)
        r = rm_session_find(out->arena, RM_AGENTAPI, req, &o.session, err);
    if (r < 0)
        return r;
    out->url = v->base_url;
    put_body(&o);
    return upp__body_check(&o.b);
}

/* "http://host/a/stop" of "http://host/a/process" and "http://host/a/process/stream?c". */
static struct upp_str stop_url(struct wb_arena *a, struct upp_str url)
{
    struct upp_str rest = url, path;
    (void)wb_str_split(&rest, '?', &path);
    if (wb_str_ends(path, UPP_STR("/stream")))
        path.n -= 7;
    size_t host = wb_str_find(path, UPP_STR("://"), 0) + 3, end = path.n;
    while (end > host && path.p[end - 1] != '/')
        end--;
    return end > host ? wb_arena_printf(a, "%.*sstop", (int)end, path.p)
                      : wb_arena_printf(a, "%.*s/stop", UPP_FMT(path));
}

/* The convention of agentscope-runtime, which Weft servers have too: POST /stop with the ids of the request. */
static int write_stop(const struct upp__reader *r, struct upp_str key, struct upp__outgoing *out, struct upp_err *err)
{
    const struct rm_response *own = r->own;
    struct body o = {0};
    if (own->ready && own->decoder.status >= WD_AAP_COMPLETED)
        return 0;
    int e = upp__body_init(&o.b, r->vendor, r->request, out, "input", err);
    if (e == 0)
        e = put_head(r->vendor, key, out, err);
    if (e == 0)
        e = rm_session_find(out->arena, RM_AGENTAPI, r->request, &o.session, err);
    if (e < 0)
        return e;
    out->url = stop_url(out->arena, r->vendor->base_url);
    wj_write_open(&o.b.w, '{');
    wj_put_open(&o.b.w, "input", '[');
    wj_write_close(&o.b.w, ']');
    put_session(&o.b, &o.session);
    wj_write_close(&o.b.w, '}');
    e = upp__body_check(&o.b);
    return e < 0 ? e : 1;
}

const struct upp__adapter rm_agentapi = {
    .name = RM_AGENTAPI,
    .can = UPP_CAN_ALL & ~UPP_CAN_STRUCTURE,
    .framing = WW_SSE,
    .own_size = sizeof(struct rm_response),
    .write = write_request,
    .event = rm_agentapi_event,
    .whole = rm_agentapi_whole,
    .last = "its response was over",
    .done = rm_agentapi_done,
    .stop = write_stop,
    .error = rm_agentapi_error,
};
