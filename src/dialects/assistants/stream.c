/* dialects/assistants/stream.c — the events `thread.*` of the Assistants API: those of the run, and the table of
 * functions. Steps and messages: stream.h.
 */
#include <inttypes.h>

#include "base/err.h"
#include "dialects/assistants/stream.h"

enum {
    SCRATCH_MAX = 512 << 20, /* json/read.h: up to 13 bytes of memory per byte of JSON */
    STEP_MAX = 256 << 20,    /* texts of the calls of one step */
    AGENT_MAX = 1 << 16,     /* a name */
};

static void run_frame(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, const char *event)
{
    wd_frame_open(o, UPP_STR(""));
    int r = asst_run_write(&o->w, &s->scratch, &s->run, ev->run.pending, ev->run.n_pending, o->w.err);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    wb_arena_reset(&s->scratch);
    asst_frame(o, event, UPP_STR(""));
}

static void done(struct asst_stream *s, struct wd_out *o, uint8_t stage)
{
    wd_frame_open(o, UPP_STR("[DONE]"));
    asst_frame(o, "done", UPP_STR(""));
    s->stage = stage;
}

/* Sends the run with a status other than its own, and without pending calls. */
static void run_status_frame(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, uint8_t status,
                             const char *event)
{
    const struct wm_event none = {.number = ev->number};
    uint8_t is = s->run.status;
    s->run.status = status;
    run_frame(s, &none, o, event);
    s->run.status = is;
}

static void set_text(struct wd_out *o, struct wb_buf *to, struct upp_str text)
{
    wb_buf_clear(to);
    wb_buf_add(to, text.p ? text : UPP_STR(""));
    if (to->failed)
        wj_writer_fail(&o->w, wb_buf_check(to, o->w.err));
}

static void to_created(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->stage != ASST_NEW)
        return;
    s->run.id = ev->from->root;
    set_text(o, &s->agent, ev->from->agent);
    s->run.agent = wb_buf_str(&s->agent);
    if (!s->run.created_ms)
        s->run.created_ms = s->now;
    run_status_frame(s, ev, o, WM_QUEUED, "thread.run.created");
    s->stage = ASST_ACTIVE;
}

static void to_queued(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    to_created(s, ev, o);
    if (!s->queued)
        run_status_frame(s, ev, o, WM_QUEUED, "thread.run.queued");
    s->queued = true;
}

void asst_to_in_progress(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->run.started_ms)
        return;
    to_queued(s, ev, o);
    s->run.started_ms = s->now;
    run_status_frame(s, ev, o, WM_RUNNING, "thread.run.in_progress");
}

static void run_waits(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    for (size_t i = 0; i < ev->run.n_pending; i++)
        if (!ev->run.pending[i].approval)
            (void)asst_need_call(s, ev, o, ev->run.pending[i].call, ev->run.pending[i].name,
                                 ev->run.pending[i].arguments);
    s->run.expires_ms = ev->run.waits_ms ? ev->time_ms + (int64_t)ev->run.waits_ms : 0;
    run_frame(s, ev, o, "thread.run.requires_action");
    done(s, o, ASST_PAUSED);
    s->queued = false;
    s->step_sent = false;
}

/* How messages, steps and the run end. */
static const struct ending {
    uint8_t status;
    const char *step, *run, *why;
} endings[] = {
    {WM_COMPLETED, "cancelled", "thread.run.completed", NULL},
    {WM_CANCELED, "cancelled", "thread.run.cancelled", NULL},
    {WM_FAILED, "failed", "thread.run.failed", "the run failed"},
    {WM_EXPIRED, "expired", "thread.run.expired", NULL},
};

static void run_ends(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct ending *e = endings;
    for (size_t i = 0; i < WB_LEN(endings); i++)
        if (endings[i].status == ev->run.status)
            e = &endings[i];
    asst_message_discard(s, o, asst_why_incomplete(ev->run.status), e->step, e->why);
    if (ev->run.status == WM_COMPLETED)
        asst_step_leave(s, o);
    asst_step_end(s, o, e->step, e->why);
    if (ev->run.status == WM_CANCELED && !s->canceling)
        run_status_frame(s, ev, o, WM_CANCELING, "thread.run.cancelling");
    set_text(o, &s->error, ev->run.error);
    s->run.error = wb_buf_str(&s->error);
    s->run.ended_ms = ev->time_ms;
    s->run.usage = ev->run.usage;
    run_frame(s, ev, o, wm_is_incomplete(ev->run.status, ev->run.error) ? "thread.run.incomplete" : e->run);
    done(s, o, ASST_ENDED);
}

/* The run starts, or resumes after an approval or after the client's tool outputs. */
static void run_resumes(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->stage == ASST_PAUSED) {
        to_queued(s, ev, o);
        s->stage = ASST_ACTIVE;
    }
    if (s->run.started_ms)
        run_frame(s, ev, o, "thread.run.in_progress");
    else
        asst_to_in_progress(s, ev, o);
}

static void run(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    s->run.status = ev->run.status;
    if (!wm_status_ended(ev->run.status) && ev->run.status != WM_CANCELING) {
        asst_message_leave(s, o);
        if (s->step_over)
            asst_step_leave(s, o);
    }
    if (ev->run.status == WM_QUEUED) {
        to_queued(s, ev, o);
        return;
    }
    if (ev->run.status == WM_RUNNING) {
        run_resumes(s, ev, o);
        return;
    }
    to_queued(s, ev, o);
    if (ev->run.status == WM_WAITING) {
        asst_to_in_progress(s, ev, o);
        run_waits(s, ev, o);
    } else if (ev->run.status == WM_CANCELING) {
        s->canceling = true;
        run_frame(s, ev, o, "thread.run.cancelling");
    } else
        run_ends(s, ev, o);
}

static int assistants_begin(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct asst_stream *s = state;
    (void)err;
    *s = (struct asst_stream){.agent = WB_BUF(AGENT_MAX),
                              .error = WB_BUF(WD_FRAMES_TEXT),
                              .scratch = WB_ARENA(SCRATCH_MAX),
                              .of_step = WB_ARENA(STEP_MAX)};
    if (opts) {
        s->run.thread = opts->thread;
        s->run.options = opts->options;
        s->run.created_ms = opts->created_ms;
    }
    wd_open_init(&s->open);
    return 0;
}

static int own_event(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    switch (ev->kind) {
    case WM_RUN:
        run(s, ev, o);
        return 0;
    case WM_MESSAGE:
        asst_message_event(s, ev, o);
        return 0;
    case WM_TOOL_STARTED:
        if (!wm_is_branch(ev))
            asst_tool_started(s, ev, o);
        return 0;
    case WM_TOOL_ENDED:
        if (!wm_is_branch(ev))
            asst_tool_ended(s, ev, o);
        return 0;
    case WM_VOID:
        asst_message_discard(s, o, "run_failed", "failed", "what was said is taken back");
        return 0;
    case WM_MESSAGE_OPEN:
        return asst_message_open(s, ev, err);
    case WM_PART_OPEN:
        return asst_part_open(s, ev, o, err);
    case WM_PART_CLOSE:
        return asst_part_close(s, ev, err);
    case WM_STEP_START: /* this API has no equivalent of these five */
    case WM_STEP_END:
    case WM_CHECKPOINT:
    case WM_APPROVED:
    case WM_SYSTEM:
        return 0;
    default:
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " is of no kind: %u", ev->number, ev->kind);
    }
}

static int assistants_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct asst_stream *s = state;
    struct wd_out o;
    int r = 0;
    wd_out_init(&o, out, err);
    if (WB_UNLIKELY(s->stage == ASST_ENDED && ev->from->depth == 0))
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " comes after the end of the run", ev->number);
    if (ev->time_ms)
        s->now = ev->time_ms;
    if (ev->from->depth > 0) { /* of children, only outcomes of calls that the client saw are sent */
        if (ev->kind == WM_TOOL_ENDED && s->stage != ASST_ENDED)
            asst_tool_ended(s, ev, &o);
    } else if (WB_LIKELY(ev->kind == WM_DELTA))
        r = asst_delta(s, ev, &o, err);
    else
        r = own_event(s, ev, &o, err);
    return r < 0 ? r : wd_out_check(&o);
}

static bool assistants_paused(const void *state)
{
    const struct asst_stream *s = state;
    return s->stage == ASST_PAUSED;
}

static void assistants_done(void *state)
{
    struct asst_stream *s = state;
    wd_open_done(&s->open);
    wb_buf_done(&s->agent);
    wb_buf_done(&s->error);
    wb_vec_done(&s->calls);
    wb_arena_done(&s->of_step);
    wb_arena_done(&s->scratch);
}

const struct wd_stream_ops wd_stream_assistants = {
    .name = "assistants",
    .state_size = sizeof(struct asst_stream),
    .headers = "",
    .of_the_run = true,
    .begin = assistants_begin,
    .event = assistants_event,
    .paused = assistants_paused,
    .done = assistants_done,
};
