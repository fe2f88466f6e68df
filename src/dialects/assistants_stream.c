/* dialects/assistants_stream.c — the events `thread.*` of the Assistants API.
 *
 * The strictest client gives up on a stream in which two messages or two steps are open at once, one is made twice, or
 * something is said of one that is not open (docs/dialects/assistants.md has the rules). They hold by construction: a
 * message stands within its own step, and a step is opened and ended by the functions of "Steps" alone.
 *
 * A model may say text and calls in any order and at the same time. Text is shown as it comes; calls are shown when
 * their message is in the log, all of them in one step that ends with their outcomes. So a call that was taken back was
 * never seen.
 */
#include <inttypes.h>

#include "dialects/assistants.h"
#include "dialects/calls.h"
#include "dialects/frame.h"
#include "dialects/open.h"
#include "json/read.h"
#include "json/value.h"
#include "model/id.h"

enum {
    SCRATCH_MAX = 512 << 20, /* json/read.h: 13 bytes for one */
    STEP_MAX    = 256 << 20, /* texts of the calls of one step */
    AGENT_MAX   = 1 << 16,   /* a name */
};

enum stage {
    NEW,    /* nothing was sent */
    GOES,   /* the run was said to be in progress, or queued */
    PAUSED, /* [DONE] was sent because the run waits for the client's tools */
    ENDED,
};

/* Parts of the ids of steps (model/id.h): of a message, of its calls; from there on of calls that no message made. */
enum { PART_MESSAGE = 1, PART_CALLS, PART_OTHERS };

struct assistants {
    uint8_t          stage;
    bool             queued;    /* that was said since the last pause */
    bool             canceling; /* was asked for */
    bool             aside;     /* the message that is said is scaffolding */
    uint32_t         others;    /* steps of calls that no message made */
    int64_t          now;       /* time of the last record */
    struct wm_run    run;       /* as the stream knows it */
    struct wb_buf    agent;     /* its name: run.agent */
    struct wb_buf    error;     /* run.error */
    struct wd_open   open;      /* the message that is said */
    struct wb_arena  scratch;
    bool             has_message; /* one is open */
    uint32_t         n_content;   /* parts of it that were shown */
    struct wb_uuid   message;
    int64_t          message_ms;
    bool             has_step;
    bool             step_told; /* since the last pause */
    struct asst_step step;
    struct upp_usage usage;         /* of the step */
    struct wb_arena  of_step;       /* its texts */
    WB_VEC(struct asst_call) calls; /* of the step */
};

/* ---- Frames ------------------------------------------------------------------------------------------------------ */

/* Ends the frame that is open. */
static void frame(struct wd_out *o, const char *event, struct upp_str tail)
{
    size_t n = o->to->list.n;
    wd_frame_close(o, tail);
    if (o->to->list.n > n)
        o->to->list.p[n].name = event;
}

static void run_frame(struct assistants *s, const struct wm_event *ev, struct wd_out *o, const char *event)
{
    wd_frame_open(o, UPP_STR(""));
    int r = asst_run_write(&o->w, &s->scratch, &s->run, ev->pending, ev->n_pending, o->w.err);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    wb_arena_reset(&s->scratch);
    frame(o, event, UPP_STR(""));
}

static void done(struct assistants *s, struct wd_out *o, uint8_t stage)
{
    wd_frame_open(o, UPP_STR("[DONE]"));
    frame(o, "done", UPP_STR(""));
    s->stage = stage;
}

/* The run as it was before this event, or would be: only its status is told. */
static void run_was(struct assistants *s, const struct wm_event *ev, struct wd_out *o, uint8_t status,
                    const char *event)
{
    const struct wm_event none = {.number = ev->number};
    uint8_t               is   = s->run.status;
    s->run.status              = status;
    run_frame(s, &none, o, event);
    s->run.status = is;
}

/* ---- The run begins ---------------------------------------------------------------------------------------------- */

static void keep(struct wd_out *o, struct wb_buf *to, struct upp_str text)
{
    wb_buf_clear(to);
    wb_buf_add(to, text.p ? text : UPP_STR(""));
    if (to->failed)
        wj_writer_fail(&o->w, wb_buf_check(to, o->w.err));
}

static void to_created(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->stage != NEW)
        return;
    s->run.id = ev->from->root;
    keep(o, &s->agent, ev->from->agent);
    s->run.agent = wb_buf_str(&s->agent);
    if (!s->run.created_ms)
        s->run.created_ms = s->now;
    run_was(s, ev, o, WM_QUEUED, "thread.run.created");
    s->stage = GOES;
}

static void to_queued(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    to_created(s, ev, o);
    if (!s->queued)
        run_was(s, ev, o, WM_QUEUED, "thread.run.queued");
    s->queued = true;
}

/* Steps and messages come only after this. */
static void to_going(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->run.started_ms)
        return;
    to_queued(s, ev, o);
    s->run.started_ms = s->now;
    run_was(s, ev, o, WM_RUNNING, "thread.run.in_progress");
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static void step_frame(struct assistants *s, struct wd_out *o, const char *event)
{
    s->step.calls   = s->calls.p;
    s->step.n_calls = s->calls.n;
    wd_frame_open(o, UPP_STR(""));
    asst_step_write(&o->w, &s->step);
    frame(o, event, UPP_STR(""));
    s->step_told = true;
}

static void step_end(struct assistants *s, struct wd_out *o, const char *status, const char *why)
{
    static const char *const events[][2] = {
        {"completed", "thread.run.step.completed"},
        {"cancelled", "thread.run.step.cancelled"},
        {"failed", "thread.run.step.failed"},
        {"expired", "thread.run.step.expired"},
    };
    if (!s->has_step)
        return;
    s->step.status   = status;
    s->step.error    = why;
    s->step.ended_ms = s->now;
    for (size_t i = 0; i < WB_LEN(events); i++)
        if (wb_str_eq(wb_cstr(status), wb_cstr(events[i][0])))
            step_frame(s, o, events[i][1]);
    s->has_step = false;
    s->calls.n  = 0;
    wb_arena_reset(&s->of_step);
}

/* Calls whose outcomes nobody waits for any more. */
static void step_leave(struct assistants *s, struct wd_out *o)
{
    step_end(s, o, "cancelled", NULL);
}

static struct wb_uuid step_id(struct wb_uuid entry, uint16_t part)
{
    struct wm_id id;
    if (!wm_id_parse(entry, &id))
        return entry;
    id.noun = WM_NOUN_STEP;
    id.part = part;
    return wm_id_uuid(id);
}

static void step_begin(struct assistants *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid id,
                       struct wb_uuid message)
{
    to_going(s, ev, o);
    step_leave(s, o);
    s->step = (struct asst_step){.id         = id,
                                 .thread     = s->run.thread,
                                 .run        = s->run.id,
                                 .message    = message,
                                 .assistant  = wb_arena_dup(&s->of_step, ev->from->agent),
                                 .status     = "in_progress",
                                 .created_ms = s->now};
    if (wb_arena_check(&s->of_step, o->w.err) < 0)
        wj_writer_fail(&o->w, s->of_step.failed);
    s->has_step = true;
    step_frame(s, o, "thread.run.step.created");
    step_frame(s, o, "thread.run.step.in_progress");
}

/* A step of calls is open, and this segment of the stream has heard of it. */
static void to_calls(struct assistants *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid id)
{
    if (!s->has_step)
        step_begin(s, ev, o, id, (struct wb_uuid){0});
    else if (!s->step_told)
        step_frame(s, o, "thread.run.step.in_progress");
}

/* The id of a step of calls that no message made: tools that are run without a model, and calls of children. */
static struct wb_uuid other_step(struct assistants *s, const struct wm_event *ev)
{
    uint16_t part = (uint16_t)(PART_OTHERS + s->others++ % (WM_PARTS - PART_OTHERS));
    return wm_id_uuid(
        (struct wm_id){.node = ev->from->node, .index = ev->from->input, .noun = WM_NOUN_STEP, .part = part});
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static struct asst_call *find_call(struct assistants *s, struct upp_str id)
{
    for (size_t i = 0; s->has_step && i < s->calls.n; i++)
        if (wb_str_eq(s->calls.p[i].id, id))
            return &s->calls.p[i];
    return NULL;
}

/* Of the step that is open. NULL: the writer has failed. */
static struct asst_call *add_call(struct assistants *s, struct wd_out *o, struct upp_str id, struct upp_str name,
                                  struct upp_str arguments)
{
    struct asst_call c = {
        .id                      = wb_arena_dup(&s->of_step, id.p ? id : UPP_STR("")),
                           .name = wb_arena_dup(&s->of_step, name.p ? name : UPP_STR("")),
                                                .arguments =
                                                    wb_arena_dup(&s->of_step, arguments.n ? arguments : UPP_STR("{}"))};
    int r = wb_arena_check(&s->of_step, o->w.err);
    if (r == 0 && s->calls.n >= WD_CALLS_MAX)
        r = upp_fail(o->w.err, UPP_ELIMIT, "a step has at most %d calls", WD_CALLS_MAX);
    else if (r == 0 && !wb_vec_push(&s->calls, c, WD_CALLS_MAX))
        r = upp_fail(o->w.err, UPP_ENOMEM, "out of memory");
    if (r < 0) {
        wj_writer_fail(&o->w, r);
        return NULL;
    }
    wd_frame_open(o, UPP_STR("{"));
    wj_write_name(&o->w, UPP_STR("id"));
    asst_id(&o->w, "step_", s->step.id);
    wd_str(o, "object", UPP_STR("thread.run.step.delta"));
    wd_object(o, "delta");
    wd_object(o, "step_details");
    wd_str(o, "type", UPP_STR("tool_calls"));
    wd_array(o, "tool_calls");
    wj_write_open(&o->w, '{');
    wd_u64(o, "index", s->calls.n - 1);
    asst_call_members(&o->w, &c, true);
    frame(o, "thread.run.step.delta", UPP_STR("}]}}}"));
    return &s->calls.p[s->calls.n - 1];
}

/* A call that no message of this run made is shown as well. */
static struct asst_call *need_call(struct assistants *s, const struct wm_event *ev, struct wd_out *o, struct upp_str id,
                                   struct upp_str name, struct upp_str arguments)
{
    struct asst_call *c = find_call(s, id);
    if (c)
        return c;
    if (s->has_message) {
        wj_writer_fail(&o->w, upp_fail(o->w.err, UPP_EBUG, "event %" PRIu64 ": call '%.*s' while a message is open",
                                       ev->number, UPP_FMT(id)));
        return NULL;
    }
    to_calls(s, ev, o, s->has_step ? s->step.id : other_step(s, ev));
    return add_call(s, o, id, name, arguments);
}

/* What a call came to is a text: that of a JSON string, any other JSON as it is. */
static void set_output(struct assistants *s, struct wd_out *o, struct asst_call *c, const struct wm_event *ev)
{
    const struct wj_read_opts opts = {.size = sizeof opts, .max_bytes = WD_FRAMES_TEXT, .depth = WJ_DEPTH_MAX};
    struct upp_str            text = ev->text.p ? ev->text : UPP_STR("null");
    struct upp_err err;
    yyjson_val    *v;
    int            r = wj_read(&s->scratch, text, &opts, &v, &err);
    if (r == 0 && yyjson_is_str(v))
        text = wj_text(v);
    else
        c->json = r == 0;
    c->output   = wb_arena_dup(&s->of_step, text);
    c->is_error = ev->outcome != WM_DONE;
    wb_arena_reset(&s->scratch);
    if (r == -UPP_ENOMEM && o->w.err)
        *o->w.err = err;
    if (r == -UPP_ENOMEM)
        wj_writer_fail(&o->w, r);
    else if (!c->output.p)
        wj_writer_fail(&o->w, wb_arena_check(&s->of_step, o->w.err));
}

static void tool_started(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    (void)need_call(s, ev, o, ev->call, ev->name, ev->text);
}

static void tool_ended(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    struct asst_call *c = find_call(s, ev->call);
    if (!c && ev->from->depth > 0)
        return;
    if (!c)
        c = need_call(s, ev, o, ev->call, ev->name, wb_cstr(NULL));
    if (!c || c->output.p)
        return;
    set_output(s, o, c, ev);
    for (size_t i = 0; i < s->calls.n; i++)
        if (!s->calls.p[i].output.p)
            return;
    step_end(s, o, "completed", NULL);
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

static void message_frame(struct assistants *s, struct wd_out *o, const char *status, const char *reason,
                          const struct upp_message *content, const char *event)
{
    bool                completed = wb_str_eq(wb_cstr(status), UPP_STR("completed"));
    struct asst_message m         = {.id            = s->message,
                                     .thread        = s->run.thread,
                                     .run           = s->run.id,
                                     .assistant     = s->step.assistant,
                                     .said          = true,
                                     .created_ms    = s->message_ms,
                                     .completed_ms  = completed ? s->now : 0,
                                     .incomplete_ms = reason ? s->now : 0,
                                     .status        = status,
                                     .reason        = reason,
                                     .content       = content};
    wd_frame_open(o, UPP_STR(""));
    asst_message_write(&o->w, &m);
    frame(o, event, UPP_STR(""));
}

static void message_begin(struct assistants *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid entry)
{
    if (s->has_message)
        return;
    step_begin(s, ev, o, step_id(entry, PART_MESSAGE), entry);
    s->has_message = true;
    s->message     = entry;
    s->message_ms  = s->now;
    s->n_content   = 0;
    message_frame(s, o, "in_progress", NULL, NULL, "thread.message.created");
    message_frame(s, o, "in_progress", NULL, NULL, "thread.message.in_progress");
}

static void message_end(struct assistants *s, struct wd_out *o, const char *reason, const struct upp_message *content)
{
    s->has_message = false;
    if (reason)
        message_frame(s, o, "incomplete", reason, content, "thread.message.incomplete");
    else
        message_frame(s, o, "completed", NULL, content, "thread.message.completed");
}

/* {"id":...,"delta":{"content":[{"index":I, ; the frame ends with "}]}}". */
static void delta_begin(struct assistants *s, struct wd_out *o)
{
    wd_frame_open(o, UPP_STR("{"));
    wj_write_name(&o->w, UPP_STR("id"));
    asst_id(&o->w, "msg_", s->message);
    wd_str(o, "object", UPP_STR("thread.message.delta"));
    wd_object(o, "delta");
    wd_array(o, "content");
    wj_write_open(&o->w, '{');
    wd_u64(o, "index", s->n_content++);
}

static void say(struct assistants *s, struct wd_out *o, struct wd_part *p, struct upp_str text)
{
    p->said = true;
    wd_frame_open(o, wd_open_head_of(&s->open, p));
    wj_write_str(&o->w, text);
    frame(o, "thread.message.delta", UPP_STR(",\"annotations\":[]}}]}}"));
}

/* Parts before this one that have said nothing yet are heard of: a list has no gaps. */
static void no_gap(struct assistants *s, struct wd_out *o, size_t before)
{
    for (size_t i = 0; i < before && i < s->open.parts.n; i++) {
        struct wd_part *p = &s->open.parts.p[i];
        if (p->n_head && !p->said)
            say(s, o, p, UPP_STR(""));
    }
}

static void whole_part(struct assistants *s, struct wd_out *o, size_t index, const struct upp_part *p)
{
    no_gap(s, o, index);
    delta_begin(s, o);
    asst_part_members(&o->w, p);
    frame(o, "thread.message.delta", UPP_STR("}]}}"));
}

static int part_open(struct assistants *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_part(&s->open, ev, &p, err);
    if (r < 0 || s->aside || !asst_part_is_shown(ev->part_kind, ev->media))
        return r;
    p->shown = true;
    message_begin(s, ev, o, s->open.entry);
    if (ev->part_kind != UPP_PART_TEXT) {
        struct upp_part part = {.kind = ev->part_kind, .media = ev->media};
        whole_part(s, o, ev->part, &part);
        return 0;
    }
    /* What stands before the text of each of its deltas: written once, in the buffer at hand. */
    delta_begin(s, o);
    wd_str(o, "type", UPP_STR("text"));
    wd_object(o, "text");
    wj_write_name(&o->w, UPP_STR("value"));
    struct wb_buf *b = o->w.out;
    r                = wd_open_head(&s->open, p, wb_str(b->p + o->from, b->failed ? 0 : b->n - o->from), err);
    b->n             = b->failed ? b->n : o->from;
    return r;
}

static int delta(struct assistants *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&s->open, ev, &p, err);
    if (WB_UNLIKELY(r < 0 || !p->n_head || !ev->text.n))
        return r;
    if (WB_UNLIKELY(!p->said))
        no_gap(s, o, ev->part);
    say(s, o, p, ev->text);
    return 0;
}

static int part_close(struct assistants *s, const struct wm_event *ev, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&s->open, ev, &p, err);
    if (r == 0)
        p->state = WD_CLOSED;
    return r;
}

/* Calls of a message that is in the log, in one step. One that was cut is never run. */
static void message_calls(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_message *m = &ev->entry->message;
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS));)
        if (!p->cut && !find_call(s, p->id)) {
            to_calls(s, ev, o, step_id(ev->id, PART_CALLS));
            (void)add_call(s, o, p->id, p->name, p->text);
        }
}

static const char *why_cut(const struct assistants *s, const struct wm_event *ev)
{
    if (!ev->entry->message.interrupted)
        return NULL;
    return s->canceling ? "run_cancelled" : "run_failed";
}

/* Was anything of it shown? Then its step has the usage. */
static bool message_shown(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_message *m = &ev->entry->message;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p    = &m->parts[i];
        const struct wd_part  *told = wd_open_at(&s->open, i);
        if (!asst_part_is_shown(p->kind, p->media) || (told && told->shown))
            continue;
        message_begin(s, ev, o, ev->id);
        whole_part(s, o, s->open.parts.n, p);
    }
    if (!s->has_message)
        return false;
    const char *why = why_cut(s, ev);
    message_end(s, o, why, m);
    s->step.usage = &s->usage;
    step_end(s, o, why ? s->canceling ? "cancelled" : "failed" : "completed",
             why && !s->canceling ? "what was said is not whole" : NULL);
    return true;
}

static void message(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_usage *untold = &s->usage;
    if (!ev->entry || ev->entry->message.role != UPP_ROLE_ASSISTANT)
        return; /* the input and the results of tools are not said by a model */
    if (ev->entry->audience != WM_AUDIENCE_RUN) {
        s->usage = ev->usage;
        if (!message_shown(s, ev, o))
            step_leave(s, o);
        else
            untold = NULL;
        message_calls(s, ev, o);
        if (s->has_step)
            s->step.usage = untold;
    }
    wd_open_end(&s->open);
}

/* What was shown of it is not in the log: its content is nothing, and what comes next is another message. */
static void message_lost(struct assistants *s, struct wd_out *o, const char *reason, const char *status,
                         const char *why)
{
    if (s->has_message) {
        message_end(s, o, reason, NULL);
        step_end(s, o, status, why);
    }
    wd_open_end(&s->open);
}

/* ---- The run ----------------------------------------------------------------------------------------------------- */

static void waits(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    if (!asst_asks_client(ev->pending, ev->n_pending)) {
        run_frame(s, ev, o, "thread.run.in_progress"); /* metadata.weft_pending has the calls */
        return;
    }
    for (size_t i = 0; i < ev->n_pending; i++)
        (void)need_call(s, ev, o, ev->pending[i].call, ev->pending[i].name, ev->pending[i].arguments);
    run_frame(s, ev, o, "thread.run.requires_action");
    done(s, o, PAUSED);
    s->queued    = false;
    s->step_told = false;
}

/* How messages, steps and the run end. */
static const struct ending {
    uint8_t     status;
    const char *message, *step, *run, *why;
} endings[] = {
    {WM_COMPLETED, "run_cancelled", "cancelled", "thread.run.completed", NULL},
    {WM_CANCELED, "run_cancelled", "cancelled", "thread.run.cancelled", NULL},
    {WM_FAILED, "run_failed", "failed", "thread.run.failed", "the run failed"},
    {WM_EXPIRED, "run_expired", "expired", "thread.run.expired", NULL},
};

static void ends(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct ending *e = endings;
    for (size_t i = 0; i < WB_LEN(endings); i++)
        if (endings[i].status == ev->status)
            e = &endings[i];
    message_lost(s, o, e->message, e->step, e->why);
    step_end(s, o, e->step, e->why);
    keep(o, &s->error, ev->text);
    s->run.error    = wb_buf_str(&s->error);
    s->run.ended_ms = ev->time_ms;
    s->run.usage    = ev->usage;
    run_frame(s, ev, o, e->run);
    done(s, o, ENDED);
}

/* The run goes on: after its start, an approval, or the answers of the client. */
static void goes_on(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->stage == PAUSED) {
        to_queued(s, ev, o);
        s->stage = GOES;
    }
    if (s->run.started_ms)
        run_frame(s, ev, o, "thread.run.in_progress");
    else
        to_going(s, ev, o);
}

static void run(struct assistants *s, const struct wm_event *ev, struct wd_out *o)
{
    s->run.status = ev->status;
    if (ev->status == WM_QUEUED) {
        to_queued(s, ev, o);
        return;
    }
    if (ev->status == WM_RUNNING) {
        goes_on(s, ev, o);
        return;
    }
    to_queued(s, ev, o);
    if (ev->status == WM_WAITING) {
        to_going(s, ev, o);
        waits(s, ev, o);
    } else if (ev->status == WM_CANCELING) {
        s->canceling = true;
        run_frame(s, ev, o, "thread.run.cancelling");
    } else
        ends(s, ev, o);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static int assistants_begin(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct assistants *s = state;
    (void)err;
    *s = (struct assistants){.agent   = WB_BUF(AGENT_MAX),
                             .error   = WB_BUF(WD_FRAMES_TEXT),
                             .scratch = WB_ARENA(SCRATCH_MAX),
                             .of_step = WB_ARENA(STEP_MAX)};
    if (opts) {
        s->run.thread     = opts->thread;
        s->run.options    = opts->options;
        s->run.created_ms = opts->created_ms;
    }
    wd_open_init(&s->open);
    return 0;
}

static int message_open(struct assistants *s, const struct wm_event *ev, struct upp_err *err)
{
    if (!s->open.open)
        s->aside = ev->aside;
    return wd_open_begin(&s->open, ev, err);
}

static int own_event(struct assistants *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    switch (ev->kind) {
    case WM_RUN:
        run(s, ev, o);
        return 0;
    case WM_MESSAGE:
        message(s, ev, o);
        return 0;
    case WM_TOOL_STARTED:
        if (!wm_is_branch(ev))
            tool_started(s, ev, o);
        return 0;
    case WM_TOOL_ENDED:
        if (!wm_is_branch(ev))
            tool_ended(s, ev, o);
        return 0;
    case WM_VOID:
        message_lost(s, o, "run_failed", "failed", "what was said is taken back");
        return 0;
    case WM_MESSAGE_OPEN:
        return message_open(s, ev, err);
    case WM_PART_OPEN:
        return part_open(s, ev, o, err);
    case WM_PART_CLOSE:
        return part_close(s, ev, err);
    case WM_STEP_START: /* steps of ours are not those of this API, which knows no events and no places either */
    case WM_STEP_END:
    case WM_CHECKPOINT:
    case WM_SYSTEM:
        return 0;
    default:
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " is of no kind: %u", ev->number, ev->kind);
    }
}

static int assistants_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct assistants *s = state;
    struct wd_out      o;
    int                r = 0;
    wd_out_init(&o, out, err);
    if (WB_UNLIKELY(s->stage == ENDED && ev->from->depth == 0))
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " comes after the end of the run", ev->number);
    if (ev->time_ms)
        s->now = ev->time_ms;
    if (ev->from->depth > 0) { /* children are not seen, but for the calls that somebody is asked for */
        if (ev->kind == WM_TOOL_ENDED && s->stage != ENDED)
            tool_ended(s, ev, &o);
    } else if (WB_LIKELY(ev->kind == WM_DELTA))
        r = delta(s, ev, &o, err);
    else
        r = own_event(s, ev, &o, err);
    return r < 0 ? r : wd_out_check(&o);
}

static bool assistants_paused(const void *state)
{
    const struct assistants *s = state;
    return s->stage == PAUSED;
}

static void assistants_done(void *state)
{
    struct assistants *s = state;
    wd_open_done(&s->open);
    wb_buf_done(&s->agent);
    wb_buf_done(&s->error);
    wb_vec_done(&s->calls);
    wb_arena_done(&s->of_step);
    wb_arena_done(&s->scratch);
}

const struct wd_stream_ops wd_stream_assistants = {
    .name       = "assistants",
    .state_size = sizeof(struct assistants),
    .headers    = "",
    .of_the_run = true,
    .begin      = assistants_begin,
    .event      = assistants_event,
    .paused     = assistants_paused,
    .done       = assistants_done,
};
