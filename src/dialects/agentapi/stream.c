/* dialects/agentapi/stream.c — a run as the stream of an Agent API response.
 *
 * Messages are strictly sequential: one is finished before the next begins. The next part of the model's message is
 * sent as it arrives; parts that arrive concurrently wait until it is closed, or until the message is complete. When a
 * run waits, its response is completed, and another one begins when the run resumes. docs/dialects/agentapi.md has the
 * order.
 */
#include "dialects/agentapi/stream.h"

#include <inttypes.h>

#include "base/err.h"
#include "json/read.h"
#include "json/value.h"

enum { SCRATCH_MAX = 512 << 20 }; /* json/read.h: up to 13 bytes of memory per byte of JSON */

enum aside { VISIBLE, REASONING, HIDDEN };

/* ---- Model output ---------------------------------------------------------------------------------------- */

static uint8_t aside_of(bool aside, struct upp_str phase)
{
    return !aside ? VISIBLE : wb_str_eq(phase, UPP_STR("reason")) ? REASONING : HIDDEN;
}

static bool is_sent(const struct wd_aap_stream *s, uint8_t kind)
{
    return s->aside == VISIBLE || (s->aside == REASONING && kind != UPP_PART_CALL);
}

static enum wd_aap_kind kind_of(const struct wd_aap_stream *s, uint8_t kind)
{
    return kind == UPP_PART_CALL                                                            ? WD_AAP_CALL
           : kind == UPP_PART_REASONING || (s->aside == REASONING && kind == UPP_PART_TEXT) ? WD_AAP_REASONING
                                                                                            : WD_AAP_MESSAGE;
}

/* A text of this label that outlives the stream: usually that of a tool of the agent. */
static struct upp_str label_of(struct wd_aap_stream *s, struct upp_str server)
{
    for (size_t i = 0; i < s->n_mcp; i++)
        if (wb_str_eq(s->mcp[i].server, server))
            return s->mcp[i].server;
    return wb_arena_dup(&s->memory, server);
}

static void remember(struct wd_aap_stream *s, struct wd_out *o, const struct wd_aap_about *about)
{
    struct wd_call *c = wd_calls_add(&s->calls, about->call.p ? about->call : UPP_STR(""), about->name, o->w.err);
    if (!c)
        wj_writer_fail(&o->w, o->w.err && o->w.err->code ? -o->w.err->code : -UPP_ENOMEM);
    else
        c->state = about->of.source;
    if (c && about->of.server.p)
        c->label = label_of(s, about->of.server);
}

/* Its texts are valid until the next scratch read. */
static struct wd_aap_about about_call(struct wd_aap_stream *s, struct wd_out *o, struct upp_str call,
                                      struct upp_str name, struct upp_str metadata)
{
    struct wd_aap_about about = {.call = call, .name = name};
    wb_arena_reset(&s->scratch);
    int r = wm_call_source_read(&s->scratch, metadata, &about.of, o->w.err);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    return about;
}

static int message_open(struct wd_aap_stream *s, const struct wm_event *ev, struct upp_err *err)
{
    int r = wd_open_begin(&s->open, ev, err);
    if (r < 0)
        return r;
    s->aside = aside_of(ev->message_open.aside, ev->message_open.phase);
    s->next = 0;
    s->n_output = s->stage == WD_AAP_STARTED ? s->output.n : 0;
    s->n_calls = s->calls.list.n;
    return 0;
}

static int part_open(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    bool media = ev->part.kind >= UPP_PART_IMAGE && ev->part.kind <= UPP_PART_BINARY;
    int r = wd_open_part(&s->open, ev, &p, err);
    if (r < 0 || media || s->live.open || ev->part.index != s->next || !is_sent(s, ev->part.kind))
        return r;
    struct wd_aap_about about = about_call(s, o, ev->part.call, ev->part.name, ev->part.metadata);
    wd_aap_live_open(s, ev, o, kind_of(s, ev->part.kind), ev->part.index, &about);
    if (s->live.tool)
        wd_aap_content_frame(s, o, WD_AAP_IN_PROGRESS, NULL);
    return 0;
}

static int delta(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&s->open, ev, &p, err);
    if (r >= 0 && s->live.open && s->live.part == ev->part.index)
        wd_aap_live_add(s, o, ev->part.text);
    return r;
}

static int part_close(struct wd_aap_stream *s, const struct wm_event *ev, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&s->open, ev, &p, err);
    if (r < 0)
        return r;
    p->state = WD_CLOSED;
    if (s->live.open && s->live.part == ev->part.index)
        s->live.closes = true; /* a run that is cancelled closes its part first, and then says so */
    return 0;
}

/* Sends the closing frames that waited for this event. */
static void settle(struct wd_aap_stream *s, struct wd_out *o)
{
    if (!s->live.open || !s->live.closes)
        return;
    if (s->live.tool && !s->live.cut)
        remember(s, o, &(struct wd_aap_about){s->live.call, s->live.name, s->live.of});
    wd_aap_live_close(s, o, s->live.cut ? WD_AAP_INCOMPLETE : WD_AAP_COMPLETED, NULL);
    s->next++;
}

/* Events that close an open message in their own way. */
static bool settles(const struct wm_event *ev)
{
    return ev->from->depth == 0 &&
           (ev->kind == WM_MESSAGE || ev->kind == WM_VOID || (ev->kind == WM_RUN && wm_status_ended(ev->run.status)));
}

/* Sends a part that was not streamed. */
static void send_part(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, size_t i,
                      const struct upp_part *p)
{
    enum wd_aap_status status = p->cut ? WD_AAP_INCOMPLETE : WD_AAP_COMPLETED;
    if (!is_sent(s, p->kind) || p->kind == UPP_PART_RESULT)
        return;
    if (p->media) {
        wd_aap_live_open(s, ev, o, WD_AAP_MESSAGE, i, &(struct wd_aap_about){0});
        wd_aap_live_close(s, o, status, p);
        return;
    }
    struct wd_aap_about about = about_call(s, o, p->id, p->name, p->metadata);
    wd_aap_whole(s, ev, o, kind_of(s, p->kind), i, &about, p->text, status);
    if (p->kind == UPP_PART_CALL && !p->cut)
        remember(s, o, &about);
}

static void message(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    if (!ev->message.entry || ev->message.entry->message.role != UPP_ROLE_ASSISTANT)
        return; /* only assistant messages are model output */
    const struct upp_message *m = &ev->message.entry->message;
    if (!s->open.open) {
        s->aside = aside_of(ev->message.entry->audience == WM_AUDIENCE_RUN, ev->message.entry->phase);
        s->next = 0;
    }
    if (s->live.open) {
        s->live.cut = s->live.part >= m->n_parts || m->parts[s->live.part].cut;
        s->live.closes = true;
        if (!s->live.cut || s->live.part + 1 < m->n_parts)
            settle(s, o);
    }
    for (size_t i = s->next; !s->live.open && i < m->n_parts && !o->w.failed; i++)
        send_part(s, ev, o, i, &m->parts[i]);
    wd_open_end(&s->open);
}

/* Removes the voided attempt from the response's output. */
static void attempt_void(struct wd_aap_stream *s, struct wd_out *o)
{
    if (!s->open.open)
        return;
    wd_aap_live_close(s, o, WD_AAP_CANCELED, NULL);
    if (s->stage == WD_AAP_STARTED && s->output.n > s->n_output)
        s->output.n = s->n_output;
    while (s->calls.list.n > s->n_calls)
        wd_calls_drop(&s->calls, s->calls.list.p[s->calls.list.n - 1]);
    wd_open_end(&s->open);
}

/* ---- Tools and the run ----------------------------------------------------------------------------------- */

static void tool_started(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    if (wd_calls_find(&s->calls, ev->call.id))
        return;
    struct wd_aap_about about = {.call = ev->call.id, .name = ev->call.name};
    wd_aap_whole(s, ev, o, WD_AAP_CALL, 0, &about, ev->tool_started.arguments, WD_AAP_COMPLETED);
    remember(s, o, &about);
}

static void tool_ended(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    struct wd_call *c = wd_calls_find(&s->calls, ev->call.id);
    if (!c && ev->from->depth > 0)
        return;
    struct wd_aap_about about = {.call = ev->call.id,
                                 .name = c && c->name.n ? c->name : ev->call.name,
                                 .of.source = c ? c->state : WM_TOOL_PLUGIN};
    wd_aap_whole(s, ev, o, WD_AAP_OUTPUT, 0, &about, ev->tool_ended.result.n ? ev->tool_ended.result : UPP_STR("null"),
                 ev->tool_ended.outcome == WM_DONE ? WD_AAP_COMPLETED : WD_AAP_FAILED);
    if (c)
        wd_calls_drop(&s->calls, c);
}

static void approval(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, const struct wm_pending *p,
                     size_t k)
{
    struct wj_writer w;
    wb_buf_clear(&s->text);
    wj_writer_init(&w, &s->text, o->w.err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", p->call);
    wj_put_str(&w, "name", p->name);
    wj_put_str_or_empty(&w, "arguments", p->arguments);
    const struct wd_call *c = wd_calls_find(&s->calls, p->call);
    wj_put_str(&w, "server_label", c && c->label.p ? c->label : ev->from->agent.p ? ev->from->agent : UPP_STR("agent"));
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    else
        wd_aap_whole(s, ev, o, WD_AAP_OTHER, k, &(struct wd_aap_about){0}, wb_buf_str(&s->text), WD_AAP_COMPLETED);
}

/* Sends every pending call and approval; then the response is complete for now. */
static void run_waits(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    for (size_t i = 0; i < ev->run.n_pending && !o->w.failed; i++) {
        const struct wm_pending *p = &ev->run.pending[i];
        if (!wd_calls_find(&s->calls, p->call)) {
            struct wd_aap_about about = {
                .call = p->call, .name = p->name, .of.source = p->approval ? WM_TOOL_PLUGIN : WM_TOOL_CLIENT};
            wd_aap_whole(s, ev, o, WD_AAP_CALL, 2 * i, &about, p->arguments, WD_AAP_COMPLETED);
            remember(s, o, &about);
        }
        if (p->approval)
            approval(s, ev, o, p, 2 * i + 1);
    }
    wd_aap_response_frame(s, o, WD_AAP_COMPLETED, ev);
    s->stage = WD_AAP_PAUSED;
}

/* A policy (a guardrail) has refused the run's input, before anything came of it. */
static bool is_rejected(const struct wm_event *ev)
{
    return ev->kind == WM_RUN && ev->run.status == WM_FAILED && ev->from->depth == 0 &&
           wb_str_find(ev->run.error, UPP_STR("\"CONTENT_FILTERED\""), 0) != SIZE_MAX;
}

static void run(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    if (ev->run.status == WM_CANCELING || ev->run.status == WM_QUEUED)
        return;
    wd_aap_to_started(s, ev, o);
    bool rejected = s->fresh && is_rejected(ev);
    if (!rejected && ev->run.status != WM_RUNNING)
        wd_aap_progress(s, ev, o);
    if (ev->run.status == WM_WAITING)
        run_waits(s, ev, o);
    if (!wm_status_ended(ev->run.status))
        return;
    enum wd_aap_status status = ev->run.status == WM_COMPLETED  ? WD_AAP_COMPLETED
                                : ev->run.status == WM_CANCELED ? WD_AAP_CANCELED
                                : rejected                      ? WD_AAP_REJECTED
                                                                : WD_AAP_FAILED;
    wd_aap_live_close(s, o, status == WD_AAP_COMPLETED ? WD_AAP_INCOMPLETE : status, NULL);
    wd_open_end(&s->open);
    wd_aap_response_frame(s, o, status, ev);
    s->stage = WD_AAP_ENDED;
}

static void system_event(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    struct wd_frames text = {.text = WB_BUF(WD_FRAMES_TEXT)};
    struct wd_out t;
    if (!ev->system.entry)
        return;
    wd_out_init(&t, &text, o->w.err);
    wd_json_or_str(&t, &s->scratch, ev->system.entry->data);
    int r = wd_out_check(&t);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    else
        wd_aap_whole(s, ev, o, WD_AAP_IS_EVENT, 0, &(struct wd_aap_about){0}, wb_buf_str(&text.text), WD_AAP_COMPLETED);
    wd_frames_done(&text);
}

/* ---- The table ------------------------------------------------------------------------------------------- */

/* What the request said about its response is stored with the run: {"agentapi": {"session_id", "id"}}. */
static int read_options(struct wd_aap_stream *s, const struct wd_stream_opts *opts, struct upp_err *err)
{
    yyjson_val *v = NULL;
    s->created_ms = opts->created_ms;
    if (!wb_uuid_is_nil(opts->thread)) { /* any spelling of a thread is a session */
        char hex[WB_UUID_HEX + 1];
        s->session = wb_arena_printf(&s->memory, "thread_%.*s", UPP_FMT(wb_uuid_hex(opts->thread, hex)));
    }
    int r = opts->options.n ? wj_read(&s->memory, opts->options, NULL, &v, err) : 0;
    if (r < 0)
        return r;
    yyjson_val *ours = yyjson_obj_get(v, "agentapi");
    struct upp_str session = wj_text_at(ours, "session_id");
    s->id = wj_text_at(ours, "id");
    if (session.n)
        s->session = session;
    return wb_arena_check(&s->memory, err);
}

static int aap_begin(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct wd_aap_stream *s = state;
    *s = (struct wd_aap_stream){.scratch = WB_ARENA(SCRATCH_MAX),
                                .memory = WB_ARENA(SCRATCH_MAX),
                                .output = WB_BUF(WD_FRAMES_TEXT),
                                .text = WB_BUF(WD_FRAMES_TEXT),
                                .live = {.texts = WB_ARENA(SCRATCH_MAX), .content = WB_BUF(WD_FRAMES_TEXT)}};
    if (opts) {
        const struct wd_agentapi_opts *own = opts->own;
        s->bare = own && own->uncreated;
        s->mcp = opts->tools;
        s->n_mcp = opts->n_tools;
    }
    wd_open_init(&s->open);
    int r = opts ? read_options(s, opts, err) : 0;
    if (r < 0)
        wb_arena_done(&s->memory);
    return r;
}

static int rare_event(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
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
        attempt_void(s, o);
        return 0;
    case WM_MESSAGE_OPEN:
        return message_open(s, ev, err);
    case WM_PART_OPEN:
        return part_open(s, ev, o, err);
    case WM_PART_CLOSE:
        return part_close(s, ev, err);
    case WM_STEP_START:
    case WM_STEP_END:
    case WM_CHECKPOINT:
    case WM_APPROVED:
        return 0;
    default:
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " is of no kind: %u", ev->number, ev->kind);
    }
}

/* A child's call is sent only if it waits for the client; then its outcome is sent too. */
static int aap_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct wd_aap_stream *s = state;
    struct wd_out o;
    int r = 0;
    wd_out_init(&o, out, err);
    if (s->stage == WD_AAP_ENDED && ev->from->depth == 0)
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " comes after the end of the run", ev->number);
    if (wm_is_branch(ev))
        return 0;
    if (!s->created_ms)
        s->created_ms = ev->time_ms;
    if (WB_UNLIKELY(s->fresh) && ev->from->depth == 0 && !is_rejected(ev))
        wd_aap_progress(s, ev, &o);
    if (WB_UNLIKELY(s->live.closes) && !settles(ev))
        settle(s, &o);
    if (ev->from->depth == 0)
        r = WB_LIKELY(ev->kind == WM_DELTA) ? delta(s, ev, &o, err) : rare_event(s, ev, &o, err);
    else if (ev->kind == WM_TOOL_ENDED && s->stage != WD_AAP_ENDED)
        tool_ended(s, ev, &o);
    return r < 0 ? r : wd_out_check(&o);
}

static int aap_beat(void *state, struct wd_frames *out, struct upp_err *err)
{
    struct wd_aap_stream *s = state;
    struct wd_out o;
    if (s->stage != WD_AAP_STARTED)
        return 0;
    wd_out_init(&o, out, err);
    wd_aap_heartbeat(s, &o);
    return wd_out_check(&o);
}

static void aap_done(void *state)
{
    struct wd_aap_stream *s = state;
    wd_open_done(&s->open);
    wd_calls_done(&s->calls);
    wb_buf_done(&s->output);
    wb_buf_done(&s->text);
    wb_buf_done(&s->live.content);
    wb_arena_done(&s->live.texts);
    wb_arena_done(&s->scratch);
    wb_arena_done(&s->memory);
}

const struct wd_stream_ops wd_stream_agentapi = {
    .name = "agentapi",
    .state_size = sizeof(struct wd_aap_stream),
    .own_size = sizeof(struct wd_agentapi_opts),
    .headers = "",
    .of_the_run = true,
    .begin = aap_begin,
    .event = aap_event,
    .beat = aap_beat,
    .done = aap_done,
};
