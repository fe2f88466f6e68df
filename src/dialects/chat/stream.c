/* dialects/chat/stream.c — a run as an answer of OpenAI's Chat Completions API: chunks, or one completion.
 *
 * This API has one message per answer. The texts of all messages of a run follow each other, separated by an empty
 * line; tools that the server runs are not shown, calls of the client's tools end the answer. With `whole` nothing is
 * sent before the end, then one frame: the completion, or an error.
 *
 * A void takes output back. That is possible only with `whole`: a client that has received chunks keeps them, and gets
 * the next attempt after an empty line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <upp/model.h>

#include "base/err.h"
#include "dialects/chat/chat.h"
#include "dialects/core/failure.h"
#include "dialects/core/frame.h"
#include "dialects/core/open_message.h"
#include "dialects/core/usage.h"
#include "json/read.h"
#include "json/value.h"

enum {
    SCRATCH_MAX = 64 << 20,
    HEAD_MAX = 1 << 16,
    METADATA_MAX = 1 << 20,
    ID_MAX = sizeof "chatcmpl-" + WB_UUID_HEX + sizeof "-4294967295",
};

struct chat {
    struct wd_chat_opts opts;
    bool begun;       /* the answer has its first chunk */
    bool paused;      /* the client has to act */
    bool separated;   /* text was sent, and another message begins: an empty line is due */
    bool aside;       /* the open message is scaffolding */
    uint8_t stop;     /* of the last message */
    uint32_t segment; /* answers so far: each wait for the client ends one */
    size_t kept[2];   /* whole: lengths of text and reasoning at the last record */
    int64_t created_ms;
    struct wb_uuid run;

    struct upp_usage usage; /* of this answer */
    struct wb_buf agent;
    struct wb_buf metadata;        /* JSON; empty: {} */
    struct wb_buf asked;           /* the name that the request asked for; empty: the agent's */
    struct wb_buf text, reasoning; /* whole */
    struct wd_open open;
    struct wb_arena scratch;
};

/* ---- Frames ------------------------------------------------------------------------------------------------------ */

static void head(struct chat *s, struct wd_out *o, const char *object)
{
    char id[ID_MAX], hex[WB_UUID_HEX + 1];
    (void)wb_uuid_hex(s->run, hex);
    int n = snprintf(id, sizeof id, "chatcmpl-%s", hex);
    if (s->segment)
        n += snprintf(id + n, sizeof id - (size_t)n, "-%" PRIu32, s->segment + 1);
    wd_frame_open(o, UPP_STR("{"));
    wd_str(o, "id", wb_str(id, (size_t)n));
    wd_str(o, "object", wb_cstr(object));
    wj_put_i64(&o->w, "created", s->created_ms / 1000);
    wd_str(o, "model", s->asked.n ? wb_buf_str(&s->asked) : wb_buf_str(&s->agent));
}

/* Opens a chunk up to its delta, an open object. */
static void chunk(struct chat *s, struct wd_out *o)
{
    head(s, o, "chat.completion.chunk");
    wj_put_open(&o->w, "choices", '[');
    wj_write_open(&o->w, '{');
    wj_put_u64(&o->w, "index", 0);
    wj_put_open(&o->w, "delta", '{');
}

static void chunk_end(struct wd_out *o, const char *finish)
{
    wd_end(o, '}');
    wj_write_name(&o->w, UPP_STR("finish_reason"));
    wj_write_str(&o->w, wb_cstr(finish));
    wd_end(o, '}');
    wd_end(o, ']');
    wd_frame_close(o, UPP_STR("}"));
}

static void put_usage(struct wd_out *o, const struct upp_usage *u)
{
    static const struct wd_usage_member members[] = {
        {.name = "prompt_tokens", .at = WD_USAGE_OF(input)},
        {.name = "completion_tokens", .at = WD_USAGE_OF(output)},
        {.name = "total_tokens", .at = WD_USAGE_TOTAL},
        {.name = "cached_tokens", .at = WD_USAGE_OF(cache_read), .within = "prompt_tokens_details"},
        {.name = "reasoning_tokens", .at = WD_USAGE_OF(reasoning), .within = "completion_tokens_details"},
        {0},
    };
    wj_write_name(&o->w, UPP_STR("usage"));
    wd_usage_write(&o->w, members, u);
}

static void begin(struct chat *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->begun)
        return;
    s->begun = true;
    if (!s->agent.n) {
        s->run = ev->from->root;
        wb_buf_add(&s->agent, ev->from->agent);
        if (s->agent.failed)
            wj_writer_fail(&o->w, wb_buf_check(&s->agent, o->w.err));
        if (!s->created_ms)
            s->created_ms = ev->time_ms;
    }
    if (s->opts.whole)
        return;
    chunk(s, o);
    wd_str(o, "role", UPP_STR("assistant"));
    wd_str(o, "content", UPP_STR(""));
    chunk_end(o, NULL);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static void add(struct chat *s, struct wd_out *o, bool reasoning, struct upp_str text)
{
    if (!text.n)
        return;
    if (s->opts.whole) {
        struct wb_buf *to = reasoning ? &s->reasoning : &s->text;
        wb_buf_add(to, text);
        if (to->failed)
            wj_writer_fail(&o->w, wb_buf_check(to, o->w.err));
        return;
    }
    chunk(s, o);
    wd_str(o, reasoning ? "reasoning_content" : "content", text);
    chunk_end(o, NULL);
}

static void say(struct chat *s, const struct wm_event *ev, struct wd_out *o, uint8_t kind, struct upp_str text)
{
    begin(s, ev, o);
    if (kind == UPP_PART_TEXT && s->separated) {
        s->separated = false;
        add(s, o, false, UPP_STR("\n\n"));
    }
    add(s, o, kind == UPP_PART_REASONING, text);
}

static bool shown(uint8_t kind)
{
    return kind == UPP_PART_TEXT || kind == UPP_PART_REASONING;
}

static int message_open(struct chat *s, const struct wm_event *ev, struct upp_err *err)
{
    if (!s->open.open)
        s->aside = ev->message_open.aside;
    return wd_open_begin(&s->open, ev, err);
}

static int part_open(struct chat *s, const struct wm_event *ev, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_part(&s->open, ev, &p, err);
    if (r >= 0)
        p->shown = !s->aside && shown(ev->part.kind);
    return r;
}

static int delta(struct chat *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&s->open, ev, &p, err);
    if (r >= 0 && p->shown) {
        p->said = true;
        say(s, ev, o, p->kind, ev->part.text);
    }
    return r;
}

/* The message is complete: its parts that were not streamed follow. */
static void message(struct chat *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_message *m = ev->message.entry ? &ev->message.entry->message : NULL;
    bool said = false;
    if (!m || m->role != UPP_ROLE_ASSISTANT)
        return;
    for (size_t i = 0; ev->message.entry->audience != WM_AUDIENCE_RUN && i < m->n_parts; i++) {
        const struct wd_part *streamed = wd_open_at(&s->open, i);
        if (!shown(m->parts[i].kind))
            continue;
        if (!streamed || !streamed->shown)
            say(s, ev, o, m->parts[i].kind, m->parts[i].text);
        said = said || (m->parts[i].kind == UPP_PART_TEXT && m->parts[i].text.n);
    }
    s->separated = s->separated || said;
    s->stop = ev->message.stop;
    s->kept[0] = s->text.n;
    s->kept[1] = s->reasoning.n;
    wd_open_end(&s->open);
}

static void discard(struct chat *s)
{
    for (size_t i = 0; i < s->open.parts.n; i++)
        s->separated =
            s->separated || (s->open.parts.p[i].said && s->open.parts.p[i].kind == UPP_PART_TEXT && !s->opts.whole);
    if (s->opts.whole) {
        s->text.n = s->kept[0];
        s->reasoning.n = s->kept[1];
    }
    wd_open_end(&s->open);
}

/* ---- The end of an answer ---------------------------------------------------------------------------------------- */

static void put_calls(struct wd_out *o, const struct wm_event *ev, bool indexed)
{
    size_t n = 0;
    wj_put_open(&o->w, "tool_calls", '[');
    for (size_t i = 0; i < ev->run.n_pending; i++) {
        const struct wm_pending *p = &ev->run.pending[i];
        if (p->approval)
            continue;
        wj_write_open(&o->w, '{');
        if (indexed)
            wj_put_u64(&o->w, "index", n);
        n++;
        wd_str(o, "id", p->call);
        wd_str(o, "type", UPP_STR("function"));
        wj_put_open(&o->w, "function", '{');
        wd_str(o, "name", p->name);
        wd_str(o, "arguments", p->arguments.n ? p->arguments : UPP_STR("{}"));
        wd_end(o, '}');
        wd_end(o, '}');
    }
    wd_end(o, ']');
}

/* What a person has to approve: this API has no way to ask for it. */
static void put_approvals(struct chat *s, struct wd_out *o, const struct wm_event *ev)
{
    char id[4 + WB_UUID_HEX + 1], hex[WB_UUID_HEX + 1];
    (void)wb_uuid_hex(s->run, hex);
    (void)snprintf(id, sizeof id, "run_%s", hex);
    wj_put_open(&o->w, "weft", '{');
    wd_str(o, "run", wb_cstr(id));
    wj_put_open(&o->w, "approvals", '[');
    for (size_t i = 0; i < ev->run.n_pending; i++) {
        if (!ev->run.pending[i].approval)
            continue;
        wj_write_open(&o->w, '{');
        wd_str(o, "id", ev->run.pending[i].call);
        wd_str(o, "name", ev->run.pending[i].name);
        wd_str(o, "arguments", ev->run.pending[i].arguments);
        wd_end(o, '}');
    }
    wd_end(o, ']');
    wd_end(o, '}');
}

static bool asks(const struct wm_event *ev, bool approval)
{
    for (size_t i = 0; i < ev->run.n_pending; i++)
        if (ev->run.pending[i].approval == approval)
            return true;
    return false;
}

static void completion(struct chat *s, const struct wm_event *ev, struct wd_out *o, const char *finish)
{
    bool calls = asks(ev, false);
    head(s, o, "chat.completion");
    wj_put_open(&o->w, "choices", '[');
    wj_write_open(&o->w, '{');
    wj_put_u64(&o->w, "index", 0);
    wj_put_open(&o->w, "message", '{');
    wd_str(o, "role", UPP_STR("assistant"));
    wj_put_str(&o->w, "content", calls && !s->text.n ? (struct upp_str){NULL, 0} : wb_buf_str(&s->text));
    wj_put_null(&o->w, "refusal");
    if (s->reasoning.n)
        wd_str(o, "reasoning_content", wb_buf_str(&s->reasoning));
    if (calls)
        put_calls(o, ev, false);
    wd_end(o, '}');
    wj_put_null(&o->w, "logprobs");
    wd_str(o, "finish_reason", wb_cstr(finish));
    wd_end(o, '}');
    wd_end(o, ']');
    put_usage(o, &s->usage);
    if (s->opts.metadata) {
        struct upp_str metadata = s->metadata.n ? wb_buf_str(&s->metadata) : UPP_STR("{}");
        wj_put_raw(&o->w, "metadata", metadata.p, metadata.n);
    }
    if (asks(ev, true))
        put_approvals(s, o, ev);
    wd_frame_close(o, UPP_STR("}"));
}

static void answer_ends(struct chat *s, const struct wm_event *ev, struct wd_out *o, const char *finish)
{
    begin(s, ev, o);
    if (s->opts.whole)
        completion(s, ev, o, finish);
    else {
        if (asks(ev, false)) {
            chunk(s, o);
            put_calls(o, ev, true);
            chunk_end(o, NULL);
        }
        chunk(s, o);
        chunk_end(o, finish);
        if (s->opts.usage) {
            head(s, o, "chat.completion.chunk");
            wj_put_open(&o->w, "choices", '[');
            wd_end(o, ']');
            put_usage(o, &s->usage);
            wd_frame_close(o, UPP_STR("}"));
        }
        wd_frame_open(o, UPP_STR("[DONE]"));
        wd_frame_close(o, UPP_STR(""));
    }
}

static void waits(struct chat *s, const struct wm_event *ev, struct wd_out *o)
{
    if (asks(ev, false) || s->opts.whole) {
        answer_ends(s, ev, o, asks(ev, false) ? "tool_calls" : "stop");
        s->paused = true;
        s->begun = false;
        s->separated = false;
        s->usage = (struct upp_usage){0};
        s->text.n = s->reasoning.n = 0;
        s->kept[0] = s->kept[1] = 0;
        s->segment++;
        return;
    }
    begin(s, ev, o); /* the stream goes on after the approval */
    head(s, o, "chat.completion.chunk");
    wj_put_open(&o->w, "choices", '[');
    wd_end(o, ']');
    put_approvals(s, o, ev);
    wd_frame_close(o, UPP_STR("}"));
}

static const char *finish_of(const struct chat *s, const struct wm_event *ev)
{
    if (wm_is_incomplete(ev->run.status, ev->run.error) || s->stop == UPP_STOP_LENGTH)
        return "length";
    return s->stop == UPP_STOP_FILTER ? "content_filter" : "stop";
}

static void failed(struct chat *s, const struct wm_event *ev, struct wd_out *o)
{
    struct wd_failure f;
    wd_failure_read(&s->scratch, ev->run.status, ev->run.error, &f);
    wd_frame_open(o, UPP_STR("{"));
    wj_put_open(&o->w, "error", '{');
    wd_str(o, "message", f.message);
    wd_str(o, "type", wb_cstr(f.type));
    wj_put_null(&o->w, "param");
    wd_str(o, "code", f.code);
    wd_end(o, '}');
    wd_frame_close(o, UPP_STR("}"));
    if (s->opts.whole && o->to->list.n)
        o->to->list.p[o->to->list.n - 1].name = "error";
    wb_arena_reset(&s->scratch);
}

static void run(struct chat *s, const struct wm_event *ev, struct wd_out *o)
{
    if (ev->run.status == WM_RUNNING) {
        s->paused = false;
        begin(s, ev, o);
    } else if (ev->run.status == WM_WAITING)
        waits(s, ev, o);
    else if (ev->run.status == WM_COMPLETED)
        answer_ends(s, ev, o, finish_of(s, ev));
    else if (wm_status_ended(ev->run.status))
        failed(s, ev, o);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* The name that the request asked for, if it is not the agent's; and the metadata, if it is shown. */
static int read_options(struct chat *s, struct upp_str options, struct upp_err *err)
{
    yyjson_val *v = NULL, *metadata;
    bool asked = wb_str_find(options, UPP_STR(WD_OPTION_ASKED), 0) < options.n;
    int r = 0;
    if (!asked && !(s->opts.metadata && options.n))
        return 0;
    if (wj_read(&s->scratch, options, NULL, &v, NULL) >= 0)
        wb_buf_add(&s->asked, wj_text_at(v, WD_OPTION_ASKED));
    metadata = yyjson_obj_get(v, "metadata");
    if (s->opts.metadata && yyjson_is_obj(metadata))
        r = wj_write(metadata, &s->metadata, err);
    wb_arena_reset(&s->scratch);
    return r < 0 ? r : wb_buf_check(&s->asked, err);
}

static int chat_begin(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct chat *s = state;
    *s = (struct chat){.agent = WB_BUF(HEAD_MAX),
                       .asked = WB_BUF(HEAD_MAX),
                       .metadata = WB_BUF(METADATA_MAX),
                       .text = WB_BUF(WD_FRAMES_TEXT / 2),
                       .reasoning = WB_BUF(WD_FRAMES_TEXT / 4),
                       .scratch = WB_ARENA(SCRATCH_MAX)};
    if (opts)
        s->created_ms = opts->created_ms;
    if (opts && opts->own)
        s->opts = *(const struct wd_chat_opts *)opts->own;
    wd_open_init(&s->open);
    return opts ? read_options(s, opts->options, err) : 0;
}

static int chat_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct chat *s = state;
    struct wd_out o;
    int r = 0;
    if (ev->kind == WM_MESSAGE)
        wm_usage_add(&s->usage, &ev->message.usage);
    if (ev->from->depth > 0)
        return 0;
    wd_out_init(&o, out, err);
    switch (ev->kind) {
    case WM_DELTA:
        r = delta(s, ev, &o, err);
        break;
    case WM_RUN:
        run(s, ev, &o);
        break;
    case WM_MESSAGE:
        message(s, ev, &o);
        break;
    case WM_VOID:
        discard(s);
        break;
    case WM_MESSAGE_OPEN:
        r = message_open(s, ev, err);
        break;
    case WM_PART_OPEN:
        r = part_open(s, ev, err);
        break;
    default: /* this API has no equivalent of the others */
        break;
    }
    return r < 0 ? r : wd_out_check(&o);
}

static bool chat_paused(const void *state)
{
    return ((const struct chat *)state)->paused;
}

static void chat_done(void *state)
{
    struct chat *s = state;
    wd_open_done(&s->open);
    wb_buf_done(&s->agent);
    wb_buf_done(&s->asked);
    wb_buf_done(&s->metadata);
    wb_buf_done(&s->text);
    wb_buf_done(&s->reasoning);
    wb_arena_done(&s->scratch);
}

static int set_usage(void *own, struct upp_str value, struct upp_err *err)
{
    struct wd_chat_opts *opts = own;
    (void)err;
    opts->usage = wb_str_eq(value, UPP_STR("true")) || wb_str_eq(value, UPP_STR("1"));
    return 0;
}

static const struct wd_stream_option options[] = {{"usage", set_usage}, {NULL, NULL}};

const struct wd_stream_ops wd_stream_chat = {
    .name = "chat",
    .state_size = sizeof(struct chat),
    .own_size = sizeof(struct wd_chat_opts),
    .headers = "",
    .of_the_run = true,
    .options = options,
    .begin = chat_begin,
    .event = chat_event,
    .paused = chat_paused,
    .done = chat_done,
};
