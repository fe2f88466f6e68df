/* dialects/envelope/stream.c — a run of the router as a stream of envelopes, each once, in the order of their arrival:
 * requests when they are sent, replies when they come. The last frame, with the name "answer", is the envelope that
 * answers; with `whole` it is the only one, without a name. A run that fails is answered by an error envelope, and so
 * is one that waits for somebody outside, with the name "waiting".
 *
 * A client that has announced what it takes (ENV-8) gets nothing else: content of another type becomes its text, and an
 * envelope that cost more output than its max_tokens becomes an error.
 */
#include "dialects/envelope/envelope.h"
#include "base/iso8601.h"
#include "dialects/core/frame.h"
#include "dialects/envelope/chains.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"

enum { SCRATCH_MAX = 128 << 20, KEPT_MAX = 16 << 20 };

struct stream {
    struct wd_envelope_opts opts;
    struct wb_arena scratch; /* of one event */
    struct wb_buf answer;    /* the newest text of the router */
    struct wm_names sent;    /* ids of the envelopes so far, in `kept` */
    struct wb_arena kept;
    struct wd_chains chains;
};

static bool takes_type(const struct wd_envelope_opts *o, struct upp_str type)
{
    for (unsigned i = 0; o->types && wd_envelope_contents.list[i].p; i++)
        if (wb_str_eq(wd_envelope_contents.list[i], type))
            return o->types >> i & 1;
    return true;
}

static uint64_t output_of(yyjson_val *v)
{
    yyjson_val *n = yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(v, "trace"), "cost"), "output_tokens");
    uint64_t ret = 0;
    return n && yyjson_is_raw(n) && wj_num_u64(wj_text(n), &ret) ? ret : 0;
}

static void put_error(struct wd_out *o, struct upp_str code, struct upp_str message, bool retryable)
{
    wj_write_open(&o->w, '{');
    wj_put_str(&o->w, "type", UPP_STR("error"));
    wj_put_str(&o->w, "text", message);
    wj_put_open(&o->w, "data", '{');
    wj_put_str(&o->w, "code", code);
    wj_put_bool(&o->w, "retryable", retryable);
    wj_write_close(&o->w, '}');
    wj_write_close(&o->w, '}');
}

/* An envelope with more tokens than the client takes: an error in its place, with its trace. */
static void put_too_large(struct wd_out *o, yyjson_val *v)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    yyjson_val *key;
    wj_write_open(&o->w, '{');
    while ((key = yyjson_obj_iter_next(&it)))
        if (wj_named(key, UPP_STR("content"))) {
            wj_write_name(&o->w, UPP_STR("content"));
            put_error(o, UPP_STR("max_tokens"), UPP_STR("the reply has more tokens than the client takes"), false);
        } else if (!wj_named(key, UPP_STR("outputs")))
            wj_put_member(&o->w, key);
    wj_write_close(&o->w, '}');
}

/* The envelope as this client takes it. */
static void put_envelope(struct stream *s, struct wd_out *o, yyjson_val *v)
{
    wd_frame_open(o, UPP_STR(""));
    if (s->opts.max_tokens && output_of(v) > s->opts.max_tokens)
        put_too_large(o, v);
    else if (!takes_type(&s->opts, wj_text_at(yyjson_obj_get(v, "content"), "type")))
        wd_envelope_put_as_text(&o->w, &s->scratch, v);
    else
        wj_write_value(&o->w, v);
    wd_frame_close(o, UPP_STR(""));
}

static void name_last(struct wd_out *o, const char *name)
{
    if (o->to->list.n)
        o->to->list.p[o->to->list.n - 1].name = name;
}

/* 1: it was not sent before. */
static int is_new(struct stream *s, yyjson_val *v, struct upp_err *err)
{
    struct upp_str id = wb_arena_dup(&s->kept, wd_envelope_id(v));
    uint32_t number;
    int r = wb_arena_check(&s->kept, err);
    return r < 0 ? r : id.n ? wm_names_add(&s->sent, id, &number, err) : 1;
}

/* A request or a reply. */
static int put_recorded(struct stream *s, struct wd_out *o, const struct wm_event *ev, struct upp_err *err)
{
    bool asks = ev->kind == WM_TOOL_STARTED;
    if (s->opts.whole && !asks) /* only the answer is wanted, and the parents of its request */
        return 0;
    yyjson_val *v = wd_envelope_recorded(&s->scratch, asks ? ev->tool_started.arguments : ev->tool_ended.result);
    int r = wb_arena_check(&s->scratch, err);
    if (r >= 0 && v)
        r = asks ? wd_chains_add(&s->chains, v, err) : wd_chains_restore(&s->chains, &s->scratch, v, &v, err);
    if (r >= 0 && v && !s->opts.whole)
        r = is_new(s, v, err);
    if (r > 0 && v && !s->opts.whole)
        put_envelope(s, o, v);
    return r < 0 ? r : 0;
}

/* An error envelope of the router. Its id is the run's: the same whenever the stream is read. */
static void put_failure(const struct wm_event *ev, struct wd_out *o, struct upp_str code, struct upp_str message,
                        const char *name)
{
    char text[WB_TIME_TEXT], id[WB_UUID_TEXT + 1];
    struct wb_time t = wb_time_from_ms(ev->time_ms);
    struct upp_str time = wb_time_pydantic(&t, text);
    wd_frame_open(o, UPP_STR("{\"protocol\":\"" WD_ENVELOPE_PROTOCOL "\",\"role\":\"system\",\"agent\":{\"id\":"
                             "\"orchestrator\",\"name\":\"Mux\",\"model\":\"n/a\"}"));
    wd_more(o);
    wj_put_str(&o->w, "timestamp", time.p ? time : UPP_STR("1970-01-01T00:00:00Z"));
    wj_put_str(&o->w, "intent", UPP_STR("route"));
    wj_put_str(&o->w, "task", UPP_STR("Answer an envelope"));
    wj_write_name(&o->w, UPP_STR("content"));
    put_error(o, code, message, ev->run.status == WM_WAITING);
    wj_put_open(&o->w, "confidence", '{');
    wj_put_num(&o->w, "score", UPP_STR("0"));
    wj_write_close(&o->w, '}');
    wj_put_open(&o->w, "trace", '{');
    wj_put_str(&o->w, "id", wb_uuid_text(ev->from->root, id));
    wj_write_close(&o->w, '}');
    wd_frame_close(o, UPP_STR("}"));
    name_last(o, name);
}

static const char *failed_name(const struct stream *s)
{
    return s->opts.whole ? "error" : "answer";
}

static int put_answer(struct stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    yyjson_val *v = wd_envelope_recorded(&s->scratch, wb_buf_str(&s->answer));
    if (!v) {
        put_failure(ev, o, UPP_STR("no_answer"), UPP_STR("the run has not answered with an envelope"), failed_name(s));
        return 0;
    }
    int r = wd_chains_restore(&s->chains, &s->scratch, v, &v, err);
    if (r < 0)
        return r;
    put_envelope(s, o, v);
    name_last(o, s->opts.whole ? NULL : "answer");
    return 0;
}

static void run_failed(struct stream *s, const struct wm_event *ev, struct wd_out *o)
{
    yyjson_val *v = NULL;
    struct upp_str message = {0}, code = {0};
    if (ev->run.error.n && wj_read(&s->scratch, ev->run.error, NULL, &v, NULL) >= 0) {
        message = wj_text_at(v, "message");
        code = wj_text_at(v, "code");
    }
    if (!message.p)
        message = wb_arena_printf(&s->scratch, "the run is %s", wd_status_word(ev->run.status));
    put_failure(ev, o, code.p ? code : wb_cstr(wd_status_word(ev->run.status)), message, failed_name(s));
}

static int run(struct stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    if (ev->run.status == WM_WAITING && !s->opts.over)
        put_failure(ev, o, UPP_STR("input_required"),
                    UPP_STR("an agent waits for a result or an approval: answer its run, and send the envelope again"),
                    s->opts.whole ? NULL : "waiting");
    else if (ev->run.status == WM_COMPLETED)
        return put_answer(s, ev, o, err);
    else if (wm_status_ended(ev->run.status))
        run_failed(s, ev, o);
    return 0;
}

static int message(struct stream *s, const struct wm_event *ev, struct upp_err *err)
{
    const struct upp_message *m = ev->message.entry ? &ev->message.entry->message : NULL;
    if (!m || m->role != UPP_ROLE_ASSISTANT || ev->message.entry->audience == WM_AUDIENCE_RUN)
        return 0;
    wb_buf_clear(&s->answer);
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_TEXT)
            wb_buf_add(&s->answer, m->parts[i].text);
    return wb_buf_check(&s->answer, err);
}

static int envelope_begin(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct stream *s = state;
    (void)err;
    *s = (struct stream){
        .scratch = WB_ARENA(SCRATCH_MAX), .answer = WB_BUF(WD_FRAMES_TEXT / 2), .kept = WB_ARENA(KEPT_MAX)};
    if (opts && opts->own)
        s->opts = *(const struct wd_envelope_opts *)opts->own;
    return 0;
}

static int envelope_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct stream *s = state;
    struct wd_out o;
    int r = 0;
    if (ev->from->depth > 0)
        return 0;
    wd_out_init(&o, out, err);
    if (ev->kind == WM_TOOL_STARTED || ev->kind == WM_TOOL_ENDED)
        r = put_recorded(s, &o, ev, err);
    else if (ev->kind == WM_MESSAGE)
        r = message(s, ev, err);
    else if (ev->kind == WM_RUN)
        r = run(s, ev, &o, err);
    if (r >= 0)
        r = wb_arena_check(&s->scratch, err);
    wb_arena_reset(&s->scratch);
    return r < 0 ? r : wd_out_check(&o);
}

static void envelope_done(void *state)
{
    struct stream *s = state;
    wb_arena_done(&s->scratch);
    wb_buf_done(&s->answer);
    wm_names_done(&s->sent);
    wb_arena_done(&s->kept);
    wd_chains_done(&s->chains);
}

const struct wd_stream_ops wd_stream_envelope = {
    .name = "envelope",
    .state_size = sizeof(struct stream),
    .own_size = sizeof(struct wd_envelope_opts),
    .headers = "",
    .begin = envelope_begin,
    .event = envelope_event,
    .done = envelope_done,
};
