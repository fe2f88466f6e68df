/* dialects/agentapi/stream_frames.c — frames of an Agent API stream: sequential messages, and the response around
 * them.
 */
#include <stdio.h>

#include "base/err.h"
#include "dialects/agentapi/stream.h"
#include "json/read.h"
#include "json/value.h"

/* ---- Frames ---------------------------------------------------------------------------------------------- */

/* Begins a frame: its number. */
static const uint64_t *next_frame(struct wd_aap_stream *s, struct wd_out *o)
{
    wd_frame_open(o, UPP_STR(""));
    s->number = s->sequence++;
    return &s->number;
}

static uint64_t hash_of(struct wb_uuid u)
{
    return wb_str_hash(wb_str((const char *)u.b, sizeof u.b));
}

/* ---- Contents -------------------------------------------------------------------------------------------- */

/* The message's only content. */
static void put_content(struct wd_out *o, const uint64_t *number, const struct wd_aap_live *m,
                        enum wd_aap_status status, const struct upp_part *media)
{
    struct wd_aap_payload c = {.kind = m->kind,
                               .status = status,
                               .message = m->id,
                               .text = wb_buf_str(&m->content),
                               .call = m->call,
                               .name = m->name,
                               .media = media};
    if (m->kind == WD_AAP_CALL)
        c.server = m->of.server;
    wd_aap_write_content(&o->w, number, &c);
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static const char *role_of(const struct wd_aap_live *m)
{
    return m->kind == WD_AAP_OUTPUT ? "tool" : m->kind == WD_AAP_IS_EVENT ? "system" : "assistant";
}

static void message_frame(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status, bool whole,
                          const struct upp_part *media)
{
    struct wd_aap_live *m = &s->live;
    if (m->status != WD_AAP_UNKNOWN && !wd_aap_may_follow(m->status, status))
        wj_writer_fail(&o->w, upp_fail(o->w.err, UPP_EBUG, "a message is %s after it was %s",
                                       wd_aap_status_word(status), wd_aap_status_word(m->status)));
    m->status = status;
    wd_aap_write_message(&o->w, next_frame(s, o), status, m->id, m->type, role_of(m));
    if (whole) {
        wj_put_open(&o->w, "content", '[');
        put_content(o, NULL, m, status, media);
        wd_end(o, ']');
    } else
        wj_put_null(&o->w, "content");
    wj_put_null(&o->w, "code");
    wj_put_null(&o->w, "message");
    wj_put_null(&o->w, "usage");
    wj_put_open(&o->w, "metadata", '{');
    wj_put_open(&o->w, "weft", '{');
    wd_str(o, "agent", m->agent);
    wd_end(o, '}');
    wd_end(o, '}');
    wd_frame_close(o, UPP_STR("}"));
}

void wd_aap_heartbeat(struct wd_aap_stream *s, struct wd_out *o)
{
    char text[WB_UUID_TEXT + 1], id[WB_UUID_TEXT + 8];
    struct wb_uuid u = wb_uuid_v4(~hash_of(s->run), s->sequence);
    (void)snprintf(id, sizeof id, "msg_%.*s", UPP_FMT(wb_uuid_text(u, text)));
    wd_aap_write_message(&o->w, next_frame(s, o), WD_AAP_COMPLETED, wb_cstr(id), "heartbeat", "assistant");
    wj_put_open(&o->w, "content", '[');
    wd_end(o, ']');
    wj_put_null(&o->w, "code");
    wj_put_null(&o->w, "message");
    wj_put_null(&o->w, "usage");
    wj_put_null(&o->w, "metadata");
    wd_frame_close(o, UPP_STR("}"));
}

static struct upp_str delta_head_of(struct wd_aap_live *m)
{
    const struct upp_str texts[] = {
        UPP_STR(",\"object\":\"content\",\"status\":\"in_progress\",\"error\":null,\"type\":\"text\",\"index\":0,"
                "\"delta\":true,\"msg_id\":\""),
        m->id, UPP_STR("\",\"text\":")};
    return wb_arena_join(&m->texts, texts, WB_LEN(texts));
}

void wd_aap_live_open(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, enum wd_aap_kind kind,
                      size_t k, const struct wd_aap_about *about)
{
    char text[WB_UUID_TEXT + 1];
    struct wd_aap_live *m = &s->live;
    wd_aap_to_started(s, ev, o);
    wd_aap_progress(s, ev, o);
    /* With the epoch: output of a dead process that cannot be counted any more gets other ids. */
    uint64_t nth = ((uint64_t)(WB_MAX(ev->from->epoch, 1u) - 1) << 32) + ++s->messages;
    struct upp_str id[] = {UPP_STR("msg_"), wb_uuid_text(wb_uuid_v4(hash_of(s->run), nth), text)};
    wb_arena_reset(&m->texts);
    wb_buf_clear(&m->content);
    m->open = true;
    m->closes = false;
    m->cut = false;
    m->kind = (uint8_t)kind;
    m->tool = kind == WD_AAP_CALL;
    m->of.source = about->of.source;
    m->of.server = wb_arena_dup(&m->texts, about->of.server);
    m->type = wd_aap_type(kind, about->of.source);
    m->status = WD_AAP_UNKNOWN;
    m->part = k;
    m->sent = 0;
    m->id = wb_arena_join(&m->texts, id, WB_LEN(id));
    m->delta_head = delta_head_of(m);
    m->call = wb_arena_dup(&m->texts, about->call.p ? about->call : UPP_STR(""));
    m->name = wb_arena_dup(&m->texts, about->name.p ? about->name : UPP_STR(""));
    m->agent = wb_arena_dup(&m->texts, ev->from->agent.p ? ev->from->agent : UPP_STR("agent"));
    int r = wb_arena_check(&m->texts, o->w.err);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    if (!s->bare)
        message_frame(s, o, WD_AAP_CREATED, false, NULL);
    message_frame(s, o, WD_AAP_IN_PROGRESS, false, NULL);
}

void wd_aap_content_frame(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status,
                          const struct upp_part *media)
{
    put_content(o, next_frame(s, o), &s->live, status, media);
    wd_frame_close(o, UPP_STR(""));
}

void wd_aap_live_close(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status,
                       const struct upp_part *media)
{
    struct wd_aap_live *m = &s->live;
    if (!m->open)
        return;
    wd_aap_content_frame(s, o, status, media);
    message_frame(s, o, status, true, media);
    m->open = false;
    struct upp_str frame = wb_str_sub(wb_buf_str(o->w.out), o->from, SIZE_MAX);
    size_t at = wb_str_find(frame, UPP_STR(","), 0);
    if (o->w.out->failed || o->w.failed || at >= frame.n)
        return;
    wb_buf_add(&s->output, s->output.n ? UPP_STR(",{\"sequence_number\":null") : UPP_STR("{\"sequence_number\":null"));
    wb_buf_add(&s->output, wb_str_sub(frame, at, SIZE_MAX));
    if (s->output.failed)
        wj_writer_fail(&o->w, wb_buf_check(&s->output, o->w.err));
}

void wd_aap_live_add(struct wd_aap_stream *s, struct wd_out *o, struct upp_str text)
{
    struct wd_aap_live *m = &s->live;
    wb_buf_add(&m->content, text);
    if (m->content.failed) {
        wj_writer_fail(&o->w, wb_buf_check(&m->content, o->w.err));
        return;
    }
    if (m->tool) {
        if (m->content.n < 2 * m->sent || !m->content.n)
            return;
        m->sent = m->content.n;
        wd_aap_content_frame(s, o, WD_AAP_IN_PROGRESS, NULL);
        return;
    }
    wd_frame_open(o, UPP_STR("{\"sequence_number\":"));
    wj_write_u64(&o->w, s->sequence++);
    wd_add(o, m->delta_head);
    o->w.comma = false;
    wj_write_str(&o->w, text.p ? text : UPP_STR(""));
    wd_frame_close(o, UPP_STR("}"));
}

void wd_aap_whole(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, enum wd_aap_kind kind, size_t k,
                  const struct wd_aap_about *about, struct upp_str text, enum wd_aap_status status)
{
    wd_aap_live_open(s, ev, o, kind, k, about);
    wb_buf_add(&s->live.content, text);
    if (s->live.content.failed)
        wj_writer_fail(&o->w, wb_buf_check(&s->live.content, o->w.err));
    wd_aap_live_close(s, o, status, NULL);
}

/* ---- Responses ------------------------------------------------------------------------------------------- */

static void put_error(struct wd_aap_stream *s, struct wd_out *o, const struct wm_event *ev)
{
    const char *word = ev->run.status == WM_EXPIRED ? "the run has expired" : "the run failed";
    yyjson_val *v = NULL;
    wb_arena_reset(&s->scratch);
    int r = ev->run.error.n ? wj_read(&s->scratch, ev->run.error, NULL, &v, NULL) : 0;
    if (r == -UPP_ENOMEM)
        wj_writer_fail(&o->w, upp_fail(o->w.err, UPP_ENOMEM, "out of memory"));
    yyjson_val *code = yyjson_obj_get(v, "code"), *message = yyjson_obj_get(v, "message");
    wj_put_open(&o->w, "error", '{');
    wd_str(o, "code",
           code && yyjson_is_str(code)    ? wj_text(code)
           : ev->run.status == WM_EXPIRED ? UPP_STR("TIMEOUT")
                                          : UPP_STR("AGENT_ERROR"));
    wd_str(o, "message", message && yyjson_is_str(message) ? wj_text(message) : wb_cstr(word));
    wd_end(o, '}');
    wb_arena_reset(&s->scratch);
}

static void put_usage(struct wd_out *o, const struct upp_usage *u)
{
    static const struct wd_usage_member members[] = {
        {.name = "input_tokens", .at = WD_USAGE_OF(input)},
        {.name = "output_tokens", .at = WD_USAGE_OF(output)},
        {.name = "total_tokens", .at = WD_USAGE_TOTAL},
        {.name = "cache_read_tokens", .at = WD_USAGE_OF(cache_read)},
        {.name = "cache_write_tokens", .at = WD_USAGE_OF(cache_write)},
        {0},
    };
    wj_write_name(&o->w, UPP_STR("usage"));
    wd_usage_write(&o->w, members, u);
}

static uint64_t seconds(int64_t ms)
{
    return ms > 0 ? (uint64_t)ms / 1000 : 0;
}

struct wb_uuid wd_aap_response_uuid(struct wb_uuid run, uint64_t number)
{
    uint64_t after = number ? number - 1 : 0;
    run.b[15] ^= (unsigned char)after;
    run.b[14] ^= (unsigned char)(after >> 8);
    return run;
}

void wd_aap_response_frame(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status,
                           const struct wm_event *ev)
{
    char text[WB_UUID_TEXT + 1], id[WB_UUID_TEXT + 16];
    bool final = status >= WD_AAP_COMPLETED, failed = status == WD_AAP_FAILED || status == WD_AAP_REJECTED;
    wd_aap_write_open(&o->w, next_frame(s, o), "response", status);
    if (failed)
        put_error(s, o, ev);
    else
        wj_put_null(&o->w, "error");
    (void)wb_uuid_text(wd_aap_response_uuid(s->run, s->responses), text);
    (void)snprintf(id, sizeof id, "response_%s", text);
    wd_str(o, "id", s->id.n && s->responses == 1 ? s->id : wb_cstr(id));
    wj_put_u64(&o->w, "created_at", seconds(s->created_ms));
    if (final && ev->time_ms)
        wj_put_u64(&o->w, "completed_at", seconds(ev->time_ms));
    else
        wj_put_null(&o->w, "completed_at");
    if (final) {
        wj_put_open(&o->w, "output", '[');
        wj_write_raw(&o->w, s->output.p, s->output.n);
        wd_end(o, ']');
    } else
        wj_put_null(&o->w, "output");
    if (final && wm_status_ended(ev->run.status))
        put_usage(o, &ev->run.usage);
    else
        wj_put_null(&o->w, "usage");
    if (s->session.p)
        wd_str(o, "session_id", s->session);
    else
        wj_put_null(&o->w, "session_id");
    wd_frame_close(o, UPP_STR("}"));
}

void wd_aap_to_started(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->stage == WD_AAP_STARTED || s->stage == WD_AAP_ENDED)
        return;
    s->stage = WD_AAP_STARTED;
    s->sequence = 0;
    s->responses++;
    s->run = ev->from->depth == 0 ? ev->from->run : ev->from->root;
    if (s->responses > 1 || !s->created_ms)
        s->created_ms = ev->time_ms ? ev->time_ms : s->created_ms;
    wb_buf_clear(&s->output);
    wd_aap_response_frame(s, o, WD_AAP_CREATED, ev);
    s->fresh = true;
}

static bool is_first_of_server(const struct wd_aap_stream *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (wb_str_eq(s->mcp[k].server, s->mcp[i].server))
            return false;
    return true;
}

/* The tools of one MCP server, as the agent has them. */
static void list_tools(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_str server)
{
    struct wj_writer w;
    wb_buf_clear(&s->text);
    wj_writer_init(&w, &s->text, o->w.err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", server);
    wj_put_str(&w, "server_label", server);
    wj_put_open(&w, "tools", '[');
    for (size_t i = 0; i < s->n_mcp; i++) {
        const struct wd_tool *t = &s->mcp[i];
        if (!wb_str_eq(t->server, server))
            continue;
        wj_write_open(&w, '{');
        wj_put_str(&w, "name", t->name);
        wj_put_raw(&w, "input_schema", t->parameters.n ? t->parameters.p : "{}", t->parameters.n ? t->parameters.n : 2);
        if (t->description.n)
            wj_put_str(&w, "description", t->description);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    else
        wd_aap_whole(s, ev, o, WD_AAP_TOOLS, 0, &(struct wd_aap_about){0}, wb_buf_str(&s->text), WD_AAP_COMPLETED);
}

void wd_aap_progress(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    if (!s->fresh)
        return;
    s->fresh = false;
    wd_aap_response_frame(s, o, WD_AAP_IN_PROGRESS, ev);
    for (size_t i = 0; s->responses == 1 && i < s->n_mcp; i++)
        if (is_first_of_server(s, i))
            list_tools(s, ev, o, s->mcp[i].server);
}
