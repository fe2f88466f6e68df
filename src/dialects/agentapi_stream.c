/* dialects/agentapi_stream.c — a run as the stream of an Agent API response.
 *
 * One writer in a line: a message is finished before the next one begins. The part of what a model says that is next in
 * order is sent as it comes; parts that are said beside it wait until it is closed, or until the whole is there. A run
 * that waits has answered: its response is completed, and another one begins when it goes on. docs/dialects/agentapi.md
 * has the order.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/err.h"
#include "dialects/agentapi.h"
#include "dialects/calls.h"
#include "dialects/frame.h"
#include "dialects/open.h"
#include "json/read.h"
#include "json/value.h"

enum {
    SCRATCH_MAX = 512 << 20, /* json/read.h: 13 bytes for one */
};

enum stage { NEW, STARTED, PAUSED, ENDED };
enum aside { SAID, THOUGHT, HIDDEN };

/* The message that is being sent. */
struct live {
    bool               open;
    bool               tool; /* its content is a call: snapshots, not pieces */
    uint8_t            kind; /* enum wd_aap_kind */
    bool               client;
    enum wd_aap_status status;
    size_t             part, told; /* told: bytes of the arguments in the last snapshot */
    struct upp_str     id, call, name, agent;
    const char        *type;
    struct wb_arena    texts; /* of the four above */
    struct wb_buf      said;
};

struct aap {
    bool                  bare; /* no message is ever "created" */
    const struct upp_str *client;
    size_t                n_client;
    struct upp_str        session;
    uint8_t               stage, aside;
    uint64_t              sequence, responses, messages; /* how many there were; their ids follow from it */
    int64_t               created_ms;
    struct wb_uuid        run;
    struct wd_open        open;
    size_t                next;       /* the first part of what is said that was not sent */
    size_t                mark, made; /* length of the output, and calls, when that began */
    struct live           live;
    struct wd_calls       calls; /* that were sent and have no outcome */
    struct wb_buf         output;
    struct wb_arena       scratch;
    struct wb_buf         text;
};

/* ---- Frames ---------------------------------------------------------------------------------------------- */

static void null(struct wd_out *o, const char *name)
{
    wj_write_name(&o->w, wb_cstr(name));
    wj_write_null(&o->w);
}

static void base(struct aap *s, struct wd_out *o, const char *object, enum wd_aap_status status, bool error)
{
    wd_frame_open(o, UPP_STR("{"));
    wd_u64(o, "sequence_number", s->sequence++);
    wd_str(o, "object", wb_cstr(object));
    wd_str(o, "status", wb_cstr(wd_aap_status_word(status)));
    if (!error)
        null(o, "error");
}

static uint64_t hash_of(struct wb_uuid u)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < sizeof u.b; i++)
        h = (h ^ u.b[i]) * 0x100000001b3;
    return h;
}

/* ---- Contents -------------------------------------------------------------------------------------------- */

static void content_head(struct wd_out *o, const struct live *m, const char *type, bool delta)
{
    wd_str(o, "type", wb_cstr(type));
    wd_u64(o, "index", 0);
    wd_bool(o, "delta", delta);
    wd_str(o, "msg_id", m->id);
}

static void put_url(struct wd_out *o, const char *name, const struct upp_media *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(WD_FRAMES_TEXT);
    if (m->source == UPP_SOURCE_URL) {
        wd_str(o, name, m->data);
        return;
    }
    wb_buf_add(&url, UPP_STR("data:"));
    wb_buf_add(&url, m->mime.n ? m->mime
                               : m->source == UPP_SOURCE_TEXT
                         ? UPP_STR("text/plain")
                         : UPP_STR("application/octet-stream"));
    wb_buf_add(&url, UPP_STR(";base64,"));
    if (m->source == UPP_SOURCE_TEXT)
        wb_base64_add(&url, m->data, WB_BASE64);
    else
        wb_buf_add(&url, m->data);
    if (url.failed)
        wj_writer_fail(&o->w, wb_buf_check(&url, o->w.err));
    wd_str(o, name, wb_buf_str(&url));
}

static void put_media(struct wd_out *o, const struct live *m, const struct upp_part *p)
{
    bool url = p->media->source == UPP_SOURCE_URL;
    switch (p->kind) {
    case UPP_PART_IMAGE:
        content_head(o, m, "image", false);
        put_url(o, "image_url", p->media);
        return;
    case UPP_PART_VIDEO:
        content_head(o, m, "video", false);
        put_url(o, "video_url", p->media);
        return;
    case UPP_PART_AUDIO:
        content_head(o, m, "audio", false);
        put_url(o, "data", p->media);
        return;
    default:
        content_head(o, m, "file", false);
        put_url(o, url ? "file_url" : "file_data", p->media);
        if (p->media->title.p)
            wd_str(o, "filename", p->media->title);
    }
}

/* {"call_id","name","arguments"}, or with "output". */
static void put_tool(struct wd_out *o, const struct live *m, struct upp_str text)
{
    content_head(o, m, "data", false);
    wd_object(o, "data");
    wd_str(o, "call_id", m->call);
    wd_str(o, "name", m->name);
    wd_str(o, m->kind == WD_AAP_OUTPUT ? "output" : "arguments", text);
    wd_end(o, '}');
}

/* All of the message's one content but for its beginning. */
static void put_content(struct wd_out *o, const struct live *m, const struct upp_part *media)
{
    if (media)
        put_media(o, m, media);
    else if (m->kind == WD_AAP_CALL || m->kind == WD_AAP_OUTPUT)
        put_tool(o, m, wb_buf_str(&m->said));
    else if (m->kind == WD_AAP_IS_EVENT || m->kind == WD_AAP_OTHER) {
        content_head(o, m, "data", false);
        wj_write_name(&o->w, UPP_STR("data"));
        wj_write_raw(&o->w, m->said.p, m->said.n);
    } else {
        content_head(o, m, "text", false);
        wd_str(o, "text", wb_buf_str(&m->said));
    }
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static const char *role_of(const struct live *m)
{
    return m->kind == WD_AAP_OUTPUT ? "tool" : m->kind == WD_AAP_IS_EVENT ? "system" : "assistant";
}

static void message_frame(struct aap *s, struct wd_out *o, enum wd_aap_status status, bool whole,
                          const struct upp_part *media)
{
    struct live *m = &s->live;
    if (m->status != WD_AAP_UNKNOWN && !wd_aap_may_follow(m->status, status))
        wj_writer_fail(&o->w, upp_fail(o->w.err, UPP_EBUG, "a message is %s after it was %s",
                                       wd_aap_status_word(status), wd_aap_status_word(m->status)));
    m->status = status;
    base(s, o, "message", status, false);
    wd_str(o, "id", m->id);
    wd_str(o, "type", wb_cstr(m->type));
    wd_str(o, "role", wb_cstr(role_of(m)));
    if (whole) {
        wd_array(o, "content");
        wj_write_open(&o->w, '{');
        null(o, "sequence_number");
        wd_str(o, "object", UPP_STR("content"));
        wd_str(o, "status", wb_cstr(wd_aap_status_word(status)));
        null(o, "error");
        put_content(o, m, media);
        wd_end(o, '}');
        wd_end(o, ']');
    } else
        null(o, "content");
    null(o, "code");
    null(o, "message");
    null(o, "usage");
    wd_object(o, "metadata");
    wd_object(o, "weft");
    wd_str(o, "agent", m->agent);
    wd_end(o, '}');
    wd_end(o, '}');
    wd_frame_close(o, UPP_STR("}"));
}

static const char *type_of(enum wd_aap_kind kind, bool client)
{
    switch (kind) {
    case WD_AAP_REASONING:
        return "reasoning";
    case WD_AAP_CALL:
        return client ? "function_call" : "plugin_call";
    case WD_AAP_OUTPUT:
        return client ? "function_call_output" : "plugin_call_output";
    case WD_AAP_IS_EVENT:
        return WD_AAP_EVENT;
    case WD_AAP_OTHER:
        return "mcp_approval_request";
    default:
        return "message";
    }
}

static bool is_clients(const struct aap *s, struct upp_str name)
{
    for (size_t i = 0; i < s->n_client; i++)
        if (wb_str_eq(s->client[i], name))
            return true;
    return false;
}

static void to_started(struct aap *s, const struct wm_event *ev, struct wd_out *o);

/* A message begins; none is open. It is part k of what is said. */
static void live_open(struct aap *s, const struct wm_event *ev, struct wd_out *o, enum wd_aap_kind kind, size_t k,
                      struct upp_str call, struct upp_str name, bool client)
{
    char         text[WB_UUID_TEXT + 1];
    struct live *m = &s->live;
    to_started(s, ev, o);
    (void)wb_uuid_text(wb_uuid_v8(hash_of(s->run), ++s->messages), text);
    wb_arena_reset(&m->texts);
    wb_buf_clear(&m->said);
    m->open   = true;
    m->kind   = (uint8_t)kind;
    m->tool   = kind == WD_AAP_CALL;
    m->client = client || is_clients(s, name);
    m->type   = type_of(kind, m->client);
    m->status = WD_AAP_UNKNOWN;
    m->part   = k;
    m->told   = 0;
    m->id     = wb_arena_printf(&m->texts, "msg_%s", text);
    m->call   = wb_arena_dup(&m->texts, call.p ? call : UPP_STR(""));
    m->name   = wb_arena_dup(&m->texts, name.p ? name : UPP_STR(""));
    m->agent  = wb_arena_dup(&m->texts, ev->from->agent.p ? ev->from->agent : UPP_STR("agent"));
    int r     = wb_arena_check(&m->texts, o->w.err);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    if (!s->bare)
        message_frame(s, o, WD_AAP_CREATED, false, NULL);
    message_frame(s, o, WD_AAP_IN_PROGRESS, false, NULL);
}

static void content_frame(struct aap *s, struct wd_out *o, enum wd_aap_status status, const struct upp_part *media)
{
    base(s, o, "content", status, false);
    put_content(o, &s->live, media);
    wd_frame_close(o, UPP_STR("}"));
}

/* The content whole, and the message; it is remembered for the response. */
static void live_close(struct aap *s, struct wd_out *o, enum wd_aap_status status, const struct upp_part *media)
{
    struct live *m = &s->live;
    if (!m->open)
        return;
    content_frame(s, o, status, media);
    message_frame(s, o, status, true, media);
    m->open              = false;
    struct upp_str frame = wb_str_sub(wb_buf_str(o->w.out), o->from, SIZE_MAX);
    size_t         at    = wb_str_find(frame, UPP_STR(","), 0);
    if (o->w.out->failed || o->w.failed || at >= frame.n)
        return;
    wb_buf_add(&s->output, s->output.n ? UPP_STR(",{\"sequence_number\":null") : UPP_STR("{\"sequence_number\":null"));
    wb_buf_add(&s->output, wb_str_sub(frame, at, SIZE_MAX));
    if (s->output.failed)
        wj_writer_fail(&o->w, wb_buf_check(&s->output, o->w.err));
}

/* More of its text. A call is told as far as it has come, each time it has doubled. */
static void live_add(struct aap *s, struct wd_out *o, struct upp_str text)
{
    struct live *m = &s->live;
    wb_buf_add(&m->said, text);
    if (m->said.failed) {
        wj_writer_fail(&o->w, wb_buf_check(&m->said, o->w.err));
        return;
    }
    if (m->tool) {
        if (m->said.n < 2 * m->told || !m->said.n)
            return;
        m->told = m->said.n;
        content_frame(s, o, WD_AAP_IN_PROGRESS, NULL);
        return;
    }
    base(s, o, "content", WD_AAP_IN_PROGRESS, false);
    content_head(o, m, "text", true);
    wd_str(o, "text", text);
    wd_frame_close(o, UPP_STR("}"));
}

/* All of a message at once. */
static void whole(struct aap *s, const struct wm_event *ev, struct wd_out *o, enum wd_aap_kind kind, size_t k,
                  struct upp_str call, struct upp_str name, struct upp_str text, bool client, enum wd_aap_status status)
{
    live_open(s, ev, o, kind, k, call, name, client);
    wb_buf_add(&s->live.said, text);
    if (s->live.said.failed)
        wj_writer_fail(&o->w, wb_buf_check(&s->live.said, o->w.err));
    live_close(s, o, status, NULL);
}

/* ---- Responses ------------------------------------------------------------------------------------------- */

static void put_error(struct aap *s, struct wd_out *o, const struct wm_event *ev)
{
    const char *word = ev->status == WM_EXPIRED ? "the run has expired" : "the run failed";
    yyjson_val *v    = NULL;
    wb_arena_reset(&s->scratch);
    int r = ev->text.n ? wj_read(&s->scratch, ev->text, NULL, &v, NULL) : 0;
    if (r == -UPP_ENOMEM)
        wj_writer_fail(&o->w, upp_fail(o->w.err, UPP_ENOMEM, "out of memory"));
    yyjson_val *code = yyjson_obj_get(v, "code"), *message = yyjson_obj_get(v, "message");
    wd_object(o, "error");
    wd_str(o, "code",
           code && yyjson_is_str(code) ? wj_text(code)
                                       : ev->status == WM_EXPIRED
               ? UPP_STR("TIMEOUT")
               : UPP_STR("AGENT_ERROR"));
    wd_str(o, "message", message && yyjson_is_str(message) ? wj_text(message) : wb_cstr(word));
    wd_end(o, '}');
    wb_arena_reset(&s->scratch);
}

static void put_usage(struct wd_out *o, const struct upp_usage *u)
{
    wd_object(o, "usage");
    wd_u64(o, "input_tokens", u->input);
    wd_u64(o, "output_tokens", u->output);
    wd_u64(o, "total_tokens", u->input + u->output);
    wd_u64(o, "cache_read_tokens", u->cache_read);
    wd_u64(o, "cache_write_tokens", u->cache_write);
    wd_end(o, '}');
}

static uint64_t seconds(int64_t ms)
{
    return ms > 0 ? (uint64_t)ms / 1000 : 0;
}

static void response_frame(struct aap *s, struct wd_out *o, enum wd_aap_status status, const struct wm_event *ev)
{
    char text[WB_UUID_TEXT + 1], id[WB_UUID_TEXT + 16];
    bool final = status >= WD_AAP_COMPLETED, failed = status == WD_AAP_FAILED;
    base(s, o, "response", status, failed);
    if (failed)
        put_error(s, o, ev);
    (void)wb_uuid_text(s->responses > 1 ? wb_uuid_v8(~hash_of(s->run), s->responses) : s->run, text);
    (void)snprintf(id, sizeof id, "response_%s", text);
    wd_str(o, "id", wb_cstr(id));
    wd_u64(o, "created_at", seconds(s->created_ms));
    if (final && ev->time_ms)
        wd_u64(o, "completed_at", seconds(ev->time_ms));
    else
        null(o, "completed_at");
    if (final) {
        wd_array(o, "output");
        wj_write_raw(&o->w, s->output.p, s->output.n);
        wd_end(o, ']');
    } else
        null(o, "output");
    if (final && wm_status_ended(ev->status))
        put_usage(o, &ev->usage);
    else
        null(o, "usage");
    if (s->session.p)
        wd_str(o, "session_id", s->session);
    else
        null(o, "session_id");
    wd_frame_close(o, UPP_STR("}"));
}

static void to_started(struct aap *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->stage == STARTED || s->stage == ENDED)
        return;
    s->stage    = STARTED;
    s->sequence = 0;
    s->responses++;
    s->run = ev->from->depth == 0 ? ev->from->run : ev->from->root;
    if (s->responses > 1 || !s->created_ms)
        s->created_ms = ev->time_ms ? ev->time_ms : s->created_ms;
    wb_buf_clear(&s->output);
    response_frame(s, o, WD_AAP_CREATED, ev);
    response_frame(s, o, WD_AAP_IN_PROGRESS, ev);
}

/* ---- What a model says ----------------------------------------------------------------------------------- */

static uint8_t aside_of(bool aside, struct upp_str phase)
{
    return !aside ? SAID : wb_str_eq(phase, UPP_STR("reason")) ? THOUGHT : HIDDEN;
}

static bool is_sent(const struct aap *s, uint8_t kind)
{
    return s->aside == SAID || (s->aside == THOUGHT && kind != UPP_PART_CALL);
}

static enum wd_aap_kind kind_of(const struct aap *s, uint8_t kind)
{
    return kind == UPP_PART_CALL                                                          ? WD_AAP_CALL
           : kind == UPP_PART_REASONING || (s->aside == THOUGHT && kind == UPP_PART_TEXT) ? WD_AAP_REASONING
                                                                                          : WD_AAP_MESSAGE;
}

static void remember(struct aap *s, struct wd_out *o, struct upp_str id, struct upp_str name, bool client)
{
    struct wd_call *c = wd_calls_add(&s->calls, id.p ? id : UPP_STR(""), name, o->w.err);
    if (!c)
        wj_writer_fail(&o->w, o->w.err && o->w.err->code ? -o->w.err->code : -UPP_ENOMEM);
    else
        c->state = client;
}

static int message_open(struct aap *s, const struct wm_event *ev, struct upp_err *err)
{
    int r = wd_open_begin(&s->open, ev, err);
    if (r < 0)
        return r;
    s->aside = aside_of(ev->aside, ev->name);
    s->next  = 0;
    s->mark  = s->stage == STARTED ? s->output.n : 0;
    s->made  = s->calls.list.n;
    return 0;
}

static int part_open(struct aap *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    bool            media = ev->part_kind >= UPP_PART_IMAGE && ev->part_kind <= UPP_PART_BINARY;
    int             r     = wd_open_part(&s->open, ev, &p, err);
    if (r < 0 || media || s->live.open || ev->part != s->next || !is_sent(s, ev->part_kind))
        return r;
    live_open(s, ev, o, kind_of(s, ev->part_kind), ev->part, ev->call, ev->name, false);
    if (s->live.tool)
        content_frame(s, o, WD_AAP_IN_PROGRESS, NULL);
    return 0;
}

static int delta(struct aap *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&s->open, ev, &p, err);
    if (r >= 0 && s->live.open && s->live.part == ev->part)
        live_add(s, o, ev->text);
    return r;
}

static int part_close(struct aap *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&s->open, ev, &p, err);
    if (r < 0)
        return r;
    p->state = WD_CLOSED;
    if (!s->live.open || s->live.part != ev->part)
        return 0;
    if (s->live.tool)
        remember(s, o, s->live.call, s->live.name, s->live.client);
    live_close(s, o, WD_AAP_COMPLETED, NULL);
    s->next++;
    return 0;
}

/* A part that was not sent as it came. */
static void rest(struct aap *s, const struct wm_event *ev, struct wd_out *o, size_t i, const struct upp_part *p)
{
    enum wd_aap_status status = p->cut ? WD_AAP_INCOMPLETE : WD_AAP_COMPLETED;
    if (!is_sent(s, p->kind) || p->kind == UPP_PART_RESULT)
        return;
    if (p->media) {
        live_open(s, ev, o, WD_AAP_MESSAGE, i, (struct upp_str){0}, (struct upp_str){0}, false);
        live_close(s, o, status, p);
        return;
    }
    whole(s, ev, o, kind_of(s, p->kind), i, p->id, p->name, p->text, false, status);
    if (p->kind == UPP_PART_CALL && !p->cut)
        remember(s, o, p->id, p->name, s->live.client);
}

static void message(struct aap *s, const struct wm_event *ev, struct wd_out *o)
{
    if (!ev->entry || ev->entry->message.role != UPP_ROLE_ASSISTANT)
        return; /* input and results are not said by a model */
    const struct upp_message *m = &ev->entry->message;
    if (!s->open.open) {
        s->aside = aside_of(ev->entry->audience == WM_AUDIENCE_RUN, ev->entry->phase);
        s->next  = 0;
    }
    if (s->live.open) {
        bool cut = s->live.part >= m->n_parts || m->parts[s->live.part].cut;
        if (s->live.tool && !cut)
            remember(s, o, s->live.call, s->live.name, s->live.client);
        live_close(s, o, cut ? WD_AAP_INCOMPLETE : WD_AAP_COMPLETED, NULL);
        s->next++;
    }
    for (size_t i = s->next; i < m->n_parts && !o->w.failed; i++)
        rest(s, ev, o, i, &m->parts[i]);
    wd_open_end(&s->open);
}

/* What was said since is taken back: it is not in the response's output. */
static void taken_back(struct aap *s, struct wd_out *o)
{
    if (!s->open.open)
        return;
    live_close(s, o, WD_AAP_CANCELED, NULL);
    if (s->stage == STARTED && s->output.n > s->mark)
        s->output.n = s->mark;
    while (s->calls.list.n > s->made)
        wd_calls_drop(&s->calls, s->calls.list.p[s->calls.list.n - 1]);
    wd_open_end(&s->open);
}

/* ---- Tools and the run ----------------------------------------------------------------------------------- */

static void tool_started(struct aap *s, const struct wm_event *ev, struct wd_out *o)
{
    if (wd_calls_find(&s->calls, ev->call))
        return;
    whole(s, ev, o, WD_AAP_CALL, 0, ev->call, ev->name, ev->text, false, WD_AAP_COMPLETED);
    remember(s, o, ev->call, ev->name, s->live.client);
}

static void tool_ended(struct aap *s, const struct wm_event *ev, struct wd_out *o)
{
    struct wd_call *c = wd_calls_find(&s->calls, ev->call);
    if (!c && ev->from->depth > 0)
        return;
    whole(s, ev, o, WD_AAP_OUTPUT, 0, ev->call, c && c->name.n ? c->name : ev->name,
          ev->text.n ? ev->text
                     : UPP_STR("null"), c && c->state, ev->outcome == WM_DONE ? WD_AAP_COMPLETED : WD_AAP_FAILED);
    if (c)
        wd_calls_drop(&s->calls, c);
}

static void approval(struct aap *s, const struct wm_event *ev, struct wd_out *o, const struct wm_pending *p, size_t k)
{
    struct wj_writer w;
    wb_buf_clear(&s->text);
    wj_writer_init(&w, &s->text, o->w.err);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("id"));
    wj_write_str(&w, p->call);
    wj_write_name(&w, UPP_STR("name"));
    wj_write_str(&w, p->name);
    wj_write_name(&w, UPP_STR("arguments"));
    wj_write_str(&w, p->arguments.p ? p->arguments : UPP_STR(""));
    wj_write_name(&w, UPP_STR("server_label"));
    wj_write_str(&w, ev->from->agent.p ? ev->from->agent : UPP_STR("agent"));
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    else
        whole(s, ev, o, WD_AAP_OTHER, k, (struct upp_str){0}, (struct upp_str){0}, wb_buf_str(&s->text), false,
              WD_AAP_COMPLETED);
}

/* Everybody who is asked for something is told of it; that is the answer for now. */
static void waits(struct aap *s, const struct wm_event *ev, struct wd_out *o)
{
    for (size_t i = 0; i < ev->n_pending && !o->w.failed; i++) {
        const struct wm_pending *p = &ev->pending[i];
        if (!wd_calls_find(&s->calls, p->call)) {
            whole(s, ev, o, WD_AAP_CALL, 2 * i, p->call, p->name, p->arguments, !p->approval, WD_AAP_COMPLETED);
            remember(s, o, p->call, p->name, !p->approval);
        }
        if (p->approval)
            approval(s, ev, o, p, 2 * i + 1);
    }
    response_frame(s, o, WD_AAP_COMPLETED, ev);
    s->stage = PAUSED;
}

static void run(struct aap *s, const struct wm_event *ev, struct wd_out *o)
{
    if (ev->status == WM_CANCELING || ev->status == WM_QUEUED)
        return;
    to_started(s, ev, o);
    if (ev->status == WM_WAITING)
        waits(s, ev, o);
    if (!wm_status_ended(ev->status))
        return;
    enum wd_aap_status status = ev->status == WM_COMPLETED  ? WD_AAP_COMPLETED
                                : ev->status == WM_CANCELED ? WD_AAP_CANCELED
                                                            : WD_AAP_FAILED;
    live_close(s, o, status == WD_AAP_COMPLETED ? WD_AAP_INCOMPLETE : status, NULL);
    wd_open_end(&s->open);
    response_frame(s, o, status, ev);
    s->stage = ENDED;
}

static void system_event(struct aap *s, const struct wm_event *ev, struct wd_out *o)
{
    struct wd_frames text = {.text = WB_BUF(WD_FRAMES_TEXT)};
    struct wd_out    t;
    if (!ev->entry)
        return;
    wd_out_init(&t, &text, o->w.err);
    wd_json_or_str(&t, &s->scratch, ev->entry->data);
    int r = wd_out_check(&t);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    else
        whole(s, ev, o, WD_AAP_IS_EVENT, 0, (struct upp_str){0}, (struct upp_str){0}, wb_buf_str(&text.text), false,
              WD_AAP_COMPLETED);
    wd_frames_done(&text);
}

/* ---- The table ------------------------------------------------------------------------------------------- */

static int aap_begin(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct aap *s = state;
    (void)err;
    *s = (struct aap){.scratch = WB_ARENA(SCRATCH_MAX),
                      .output  = WB_BUF(WD_FRAMES_TEXT),
                      .text    = WB_BUF(WD_FRAMES_TEXT),
                      .live    = {.texts = WB_ARENA(SCRATCH_MAX), .said = WB_BUF(WD_FRAMES_TEXT)}};
    if (opts) {
        s->bare     = opts->uncreated;
        s->session  = opts->session;
        s->client   = opts->client_tools;
        s->n_client = opts->n_client_tools;
    }
    wd_open_init(&s->open);
    return 0;
}

static int rare_event(struct aap *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    switch (ev->kind) {
    case WM_RUN:
        run(s, ev, o);
        return 0;
    case WM_MESSAGE:
        message(s, ev, o);
        return 0;
    case WM_TOOL_STARTED:
        tool_started(s, ev, o);
        return 0;
    case WM_TOOL_ENDED:
        tool_ended(s, ev, o);
        return 0;
    case WM_SYSTEM:
        system_event(s, ev, o);
        return 0;
    case WM_VOID:
        taken_back(s, o);
        return 0;
    case WM_MESSAGE_OPEN:
        return message_open(s, ev, err);
    case WM_PART_OPEN:
        return part_open(s, ev, o, err);
    case WM_PART_CLOSE:
        return part_close(s, ev, o, err);
    case WM_STEP_START:
    case WM_STEP_END:
    case WM_CHECKPOINT:
        return 0;
    default:
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " is of no kind: %u", ev->number, ev->kind);
    }
}

/* A child's calls are told of where somebody outside is asked for them, and then what came of them. */
static int aap_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct aap   *s = state;
    struct wd_out o;
    int           r = 0;
    wd_out_init(&o, out, err);
    if (s->stage == ENDED && ev->from->depth == 0)
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " comes after the end of the run", ev->number);
    if (wm_is_branch(ev))
        return 0;
    if (!s->created_ms)
        s->created_ms = ev->time_ms;
    if (ev->from->depth == 0)
        r = WB_LIKELY(ev->kind == WM_DELTA) ? delta(s, ev, &o, err) : rare_event(s, ev, &o, err);
    else if (ev->kind == WM_TOOL_ENDED && s->stage != ENDED)
        tool_ended(s, ev, &o);
    return r < 0 ? r : wd_out_check(&o);
}

static bool aap_paused(const void *state)
{
    const struct aap *s = state;
    return s->stage == PAUSED;
}

static void aap_done(void *state)
{
    struct aap *s = state;
    wd_open_done(&s->open);
    wd_calls_done(&s->calls);
    wb_buf_done(&s->output);
    wb_buf_done(&s->text);
    wb_buf_done(&s->live.said);
    wb_arena_done(&s->live.texts);
    wb_arena_done(&s->scratch);
}

const struct wd_stream_ops wd_stream_agentapi = {
    .name       = "agentapi",
    .state_size = sizeof(struct aap),
    .headers    = "",
    .begin      = aap_begin,
    .event      = aap_event,
    .paused     = aap_paused,
    .done       = aap_done,
};
