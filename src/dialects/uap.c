/* dialects/uap.c — AgentStreamEvents of UAP 12.2, one JSON object a frame.
 *
 * Steps are events of UAP, what a model says and what tools do are events of UPP. docs/dialects/uap.md has the table
 * and the extensions. Each run of the tree has a voice of its own: what it is saying, and the calls of what it said
 * last.
 */
#include <inttypes.h>

#include "base/hooks.h"
#include "dialects/frame.h"
#include "dialects/open.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_json.h"

enum {
    CALLS_MAX   = 4096,      /* of one message */
    VOICES_MAX  = 256,       /* child runs that speak at the same time */
    PHASE_MAX   = 1 << 16,   /* name of a phase */
    SCRATCH_MAX = 512 << 20, /* json/read.h: 13 bytes for one */
};

struct voice {
    struct wb_uuid run;
    struct wd_open open;
    struct wb_buf  aside;         /* the phase of the open message, where it is scaffolding */
    struct wb_buf  plan_step;     /* the step of a plan that the current step is */
    uint32_t       step;          /* that began last */
    WB_VEC(struct upp_str) calls; /* ids, for their positions; in `ids` */
    struct wb_arena ids;
};

struct uap {
    bool         children;
    struct voice root;
    WB_VEC(struct voice *) others;
    struct wb_arena scratch;
};

/* ---- Voices ---------------------------------------------------------------------------------------------- */

static void voice_init(struct voice *v, struct wb_uuid run)
{
    *v = (struct voice){
        .run = run, .aside = WB_BUF(PHASE_MAX), .plan_step = WB_BUF(PHASE_MAX), .ids = WB_ARENA(16 << 20)};
    wd_open_init(&v->open);
}

static void voice_done(struct voice *v)
{
    wd_open_done(&v->open);
    wb_buf_done(&v->aside);
    wb_buf_done(&v->plan_step);
    wb_vec_done(&v->calls);
    wb_arena_done(&v->ids);
}

static int voice_of(struct uap *u, const struct wm_event *ev, struct voice **ret, struct upp_err *err)
{
    if (ev->from->depth == 0) {
        *ret = &u->root;
        return 0;
    }
    for (size_t i = 0; i < u->others.n; i++)
        if (wb_uuid_eq(u->others.p[i]->run, ev->from->run)) {
            *ret = u->others.p[i];
            return 0;
        }
    if (u->others.n == VOICES_MAX)
        return upp_fail(err, UPP_ELIMIT, "event %" PRIu64 ": more than %d child runs speak at once", ev->number,
                        VOICES_MAX);
    struct voice *v = wb_alloc(sizeof *v);
    if (!v || !wb_vec_push(&u->others, v, VOICES_MAX)) {
        wb_free(v);
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    }
    voice_init(v, ev->from->run);
    *ret = v;
    return 0;
}

static void voice_drop(struct uap *u, struct voice *v)
{
    for (size_t i = 0; i < u->others.n; i++)
        if (u->others.p[i] == v) {
            voice_done(v);
            wb_free(v);
            u->others.p[i] = u->others.p[--u->others.n];
            return;
        }
}

static int remember_call(struct voice *v, struct upp_str id, struct upp_err *err)
{
    struct upp_str copy = wb_arena_dup(&v->ids, id.p ? id : UPP_STR(""));
    if (!copy.p)
        return wb_arena_check(&v->ids, err);
    if (wb_vec_push(&v->calls, copy, CALLS_MAX))
        return 0;
    return v->calls.n >= CALLS_MAX ? upp_fail(err, UPP_ELIMIT, "a message has at most %d calls", CALLS_MAX)
                                   : upp_fail(err, UPP_ENOMEM, "out of memory");
}

/* Position among the calls of the message; 0 for one that no message made. */
static size_t call_index(const struct voice *v, struct upp_str id)
{
    for (size_t i = 0; i < v->calls.n; i++)
        if (wb_str_eq(v->calls.p[i], id))
            return i;
    return 0;
}

/* ---- The two sorts of frames ----------------------------------------------------------------------------- */

/* {"source":"uap","uap":{...,"data":{ ; ended by uap_end. */
static void uap_begin(struct wd_out *o, const struct wm_event *ev, const char *type, bool whose)
{
    wd_frame_open(o, UPP_STR("{\"source\":\"uap\",\"uap\":{"));
    wd_str(o, "type", wb_cstr(type));
    wd_u64(o, "step", ev->step);
    wd_uuid(o, "agentId", ev->from->agent_id);
    wd_object(o, "data");
    if (whose || ev->from->depth > 0)
        wd_uuid(o, "runId", ev->from->run);
    if (ev->from->depth > 0)
        wd_u64(o, "depth", ev->from->depth);
}

/* The same for what belongs to a step: one of a plan is named. A system event may stand between two. */
static void step_begin(struct wd_out *o, const struct voice *v, const struct wm_event *ev, const char *type)
{
    uap_begin(o, ev, type, false);
    if (v->plan_step.n && v->step == ev->step)
        wd_str(o, "planStepId", wb_buf_str(&v->plan_step));
}

static void uap_end(struct wd_out *o)
{
    wd_frame_close(o, UPP_STR("}}}"));
}

/* {"source":"upp","upp":{"type":...,"index":...,"delta":{ ; ended by upp_end. A child, and scaffolding, is named
 * outside of the event, which stays as it is (UAP 12.5-1). */
static void upp_begin(struct wd_out *o, const struct wm_event *ev, struct upp_str type, size_t index)
{
    wd_frame_open(o, UPP_STR("{\"source\":\"upp\","));
    if (ev->from->depth > 0) {
        wd_uuid(o, "agentId", ev->from->agent_id);
        wd_uuid(o, "runId", ev->from->run);
        wd_u64(o, "depth", ev->from->depth);
    }
    if (o->aside.n)
        wd_str(o, "aside", o->aside);
    wd_object(o, "upp");
    wd_str(o, "type", type);
    wd_u64(o, "index", index);
    wd_object(o, "delta");
}

static void upp_end(struct wd_out *o)
{
    wd_frame_close(o, UPP_STR("}}}"));
}

static void upp_empty(struct wd_out *o, const struct wm_event *ev, struct upp_str type, size_t index)
{
    upp_begin(o, ev, type, index);
    upp_end(o);
}

/* ---- What a model says --------------------------------------------------------------------------------------------
 */

static struct upp_str delta_type(uint8_t kind)
{
    switch (kind) {
    case UPP_PART_TEXT:
        return UPP_STR("text_delta");
    case UPP_PART_REASONING:
        return UPP_STR("reasoning_delta");
    case UPP_PART_CALL:
        return UPP_STR("tool_call_delta");
    case UPP_PART_IMAGE:
        return UPP_STR("image_delta");
    case UPP_PART_AUDIO:
        return UPP_STR("audio_delta");
    case UPP_PART_VIDEO:
        return UPP_STR("video_delta");
    default: /* documents and other files have none */
        return wb_cstr(NULL);
    }
}

static bool is_media(uint8_t kind)
{
    return kind >= UPP_PART_IMAGE && kind <= UPP_PART_BINARY;
}

/* A delta up to its text. */
static void delta_begin(struct wd_out *o, const struct wm_event *ev, size_t index, uint8_t kind, struct upp_str call,
                        struct upp_str name)
{
    upp_begin(o, ev, delta_type(kind), index);
    if (kind == UPP_PART_CALL) {
        wd_str(o, "toolCallId", call);
        wd_str(o, "toolName", name);
        wj_write_name(&o->w, UPP_STR("argumentsJson"));
    } else
        wj_write_name(&o->w, is_media(kind) ? UPP_STR("data") : UPP_STR("text"));
}

static void whole_delta(struct wd_out *o, const struct wm_event *ev, size_t index, uint8_t kind, struct upp_str call,
                        struct upp_str name, struct upp_str text)
{
    delta_begin(o, ev, index, kind, call, name);
    wj_write_str(&o->w, text.p ? text : UPP_STR(""));
    upp_end(o);
}

/* A medium, whole: its bytes where they are here, an empty block where they are elsewhere. */
static void whole_media(struct wd_out *o, const struct wm_event *ev, size_t index, uint8_t kind,
                        const struct upp_media *media)
{
    if (media && (media->source == UPP_SOURCE_BASE64 || media->source == UPP_SOURCE_BYTES) && delta_type(kind).p)
        whole_delta(o, ev, index, kind, wb_cstr(NULL), wb_cstr(NULL), media->data);
}

static int part_open(struct voice *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_part(&v->open, ev, &p, err);
    if (r < 0)
        return r;
    if (is_media(ev->part_kind) && !ev->media)
        return 0; /* comes with its message */
    p->shown = true;
    upp_empty(o, ev, UPP_STR("content_block_start"), ev->part);
    if (is_media(ev->part_kind)) {
        whole_media(o, ev, ev->part, ev->part_kind, ev->media);
        return 0;
    }
    if (!delta_type(ev->part_kind).p)
        return 0;
    delta_begin(o, ev, ev->part, ev->part_kind, ev->call, ev->name);
    return wd_open_head(&v->open, p, o, err);
}

static int delta(struct voice *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&v->open, ev, &p, err);
    if (WB_UNLIKELY(r < 0 || !p->n_head))
        return r;
    p->said = true;
    wd_frame_open(o, wd_open_head_of(&v->open, p));
    wj_write_str(&o->w, ev->text.p ? ev->text : UPP_STR(""));
    wd_frame_close(o, UPP_STR("}}}"));
    return 0;
}

/* A call without arguments is heard of, too: libupp's stream says it so. */
static void silent_call(struct voice *v, const struct wd_part *p, struct wd_out *o)
{
    if (p->kind != UPP_PART_CALL || p->said || !p->n_head)
        return;
    wd_frame_open(o, wd_open_head_of(&v->open, p));
    wj_write_str(&o->w, UPP_STR(""));
    wd_frame_close(o, UPP_STR("}}}"));
}

static int part_close(struct voice *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&v->open, ev, &p, err);
    if (r < 0)
        return r;
    p->state = WD_CLOSED;
    silent_call(v, p, o);
    if (p->shown)
        upp_empty(o, ev, UPP_STR("content_block_stop"), ev->part);
    return 0;
}

/* A part that no event told of: the tape is gone, or it is a medium. */
static void whole_part(struct wd_out *o, const struct wm_event *ev, size_t index, const struct upp_part *p)
{
    upp_empty(o, ev, UPP_STR("content_block_start"), index);
    if (is_media(p->kind))
        whole_media(o, ev, index, p->kind, p->media);
    else if (delta_type(p->kind).p)
        whole_delta(o, ev, index, p->kind, p->id, p->name, p->text);
    upp_empty(o, ev, UPP_STR("content_block_stop"), index);
}

/* ---- What was said -------------------------------------------------------------------------------------------------
 */

static void tool_call(struct uap *u, struct wd_out *o, struct upp_str id, struct upp_str name, struct upp_str arguments)
{
    wd_str(o, "toolCallId", id);
    wd_str(o, "toolName", name);
    wj_write_name(&o->w, UPP_STR("arguments"));
    if (arguments.n == 0)
        wj_write_raw(&o->w, "{}", 2);
    else if (!wd_json(o, &u->scratch, arguments)) { /* UPP wants an object; the text is kept beside it */
        wj_write_raw(&o->w, "{}", 2);
        wd_str(o, "argumentsJson", arguments);
    }
}

static int action(struct uap *u, struct voice *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    const struct upp_message *m   = &ev->entry->message;
    bool                      any = false;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind != UPP_PART_CALL)
            continue;
        int r = remember_call(v, p->id, err);
        if (r < 0)
            return r;
        if (p->cut || o->aside.n)
            continue; /* it cannot be run */
        if (!any) {
            step_begin(o, v, ev, "action");
            wd_array(o, "toolCalls");
            any = true;
        }
        wj_write_open(&o->w, '{');
        tool_call(u, o, p->id, p->name, p->text);
        wd_end(o, '}');
    }
    if (any) {
        wd_end(o, ']');
        uap_end(o);
    }
    return 0;
}

/* What was thought before acting. */
static void reasoning(struct uap *u, const struct voice *v, const struct wm_event *ev, struct wd_out *o)
{
    if (!wb_str_eq(ev->entry->phase, UPP_STR("reason")))
        return;
    struct upp_str text = wm_message_text(&u->scratch, &ev->entry->message);
    if (wb_arena_check(&u->scratch, o->w.err) < 0)
        wj_writer_fail(&o->w, -UPP_ENOMEM);
    step_begin(o, v, ev, "reasoning");
    wd_str(o, "text", text.p ? text : UPP_STR(""));
    uap_end(o);
    wb_arena_reset(&u->scratch);
}

static void observation(struct uap *u, const struct voice *v, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_message *m = &ev->entry->message;
    step_begin(o, v, ev, "observation");
    wd_array(o, "results");
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind != UPP_PART_RESULT)
            continue;
        wj_write_open(&o->w, '{');
        wd_str(o, "toolCallId", p->id);
        wj_write_name(&o->w, UPP_STR("result"));
        wd_json_or_str(o, &u->scratch, p->text);
        wd_bool(o, "isError", p->is_error);
        wd_end(o, '}');
    }
    wd_end(o, ']');
    uap_end(o);
}

static int message(struct uap *u, struct voice *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    if (ev->entry && ev->entry->message.role == UPP_ROLE_TOOL)
        return observation(u, v, ev, o), 0;
    if (!ev->entry || ev->entry->message.role != UPP_ROLE_ASSISTANT)
        return 0; /* the input is not said by a model */
    const struct upp_message *m = &ev->entry->message;
    if (!v->open.open)
        upp_empty(o, ev, UPP_STR("message_start"), 0);
    for (size_t i = 0; i < WB_MAX(m->n_parts, v->open.parts.n); i++) {
        struct wd_part *p = wd_open_at(&v->open, i);
        if (p && p->shown) {
            if (p->state != WD_OPEN)
                continue;
            silent_call(v, p, o);
            upp_empty(o, ev, UPP_STR("content_block_stop"), i);
        } else if (i < m->n_parts)
            whole_part(o, ev, i, &m->parts[i]);
    }
    upp_empty(o, ev, UPP_STR("message_stop"), 0);
    wd_open_end(&v->open);
    v->calls.n = 0;
    wb_arena_reset(&v->ids);
    reasoning(u, v, ev, o);
    return action(u, v, ev, o, err);
}

/* ---- Tools, steps, the run ------------------------------------------------------------------------------- */

static void tool_started(struct voice *v, const struct wm_event *ev, struct wd_out *o)
{
    upp_begin(o, ev, UPP_STR("tool_execution_start"), call_index(v, ev->call));
    wd_str(o, "toolCallId", ev->call);
    wd_str(o, "toolName", ev->name);
    wd_u64(o, "timestamp", (uint64_t)ev->time_ms);
    upp_end(o);
}

static void tool_ended(struct uap *u, struct voice *v, const struct wm_event *ev, struct wd_out *o)
{
    upp_begin(o, ev, UPP_STR("tool_execution_end"), call_index(v, ev->call));
    wd_str(o, "toolCallId", ev->call);
    wd_str(o, "toolName", ev->name);
    wj_write_name(&o->w, UPP_STR("result"));
    wd_json_or_str(o, &u->scratch, ev->text);
    wd_bool(o, "isError", ev->outcome != WM_DONE);
    wd_u64(o, "timestamp", (uint64_t)ev->time_ms);
    upp_end(o);
}

static void step_start(struct voice *v, const struct wm_event *ev, struct wd_out *o)
{
    v->step = ev->step;
    wb_buf_clear(&v->plan_step);
    wb_buf_add(&v->plan_step, ev->name.p ? ev->name : UPP_STR(""));
    if (v->plan_step.failed)
        wj_writer_fail(&o->w, wb_buf_check(&v->plan_step, o->w.err));
    step_begin(o, v, ev, "step_start");
    wd_u64(o, "stepNumber", ev->step);
    wd_uuid(o, "stepId", ev->id);
    uap_end(o);
}

static void step_end(struct uap *u, const struct voice *v, const struct wm_event *ev, struct wd_out *o)
{
    if (ev->entry)
        observation(u, v, ev, o);
    step_begin(o, v, ev, "step_end");
    wd_u64(o, "stepNumber", ev->step);
    wj_write_name(&o->w, UPP_STR("usage"));
    wm_usage_write(&o->w, &ev->usage);
    uap_end(o);
}

static void run(struct uap *u, const struct wm_event *ev, struct wd_out *o)
{
    uap_begin(o, ev, "run", true);
    wd_str(o, "status", wb_cstr(wd_status_word(ev->status)));
    if (ev->text.p) {
        wj_write_name(&o->w, UPP_STR("error"));
        wd_json_or_str(o, &u->scratch, ev->text);
    }
    if (ev->n_pending) {
        wd_array(o, "pending");
        for (size_t i = 0; i < ev->n_pending; i++) {
            const struct wm_pending *p = &ev->pending[i];
            wj_write_open(&o->w, '{');
            tool_call(u, o, p->call, p->name, p->arguments);
            wd_bool(o, "approval", p->approval);
            wd_end(o, '}');
        }
        wd_end(o, ']');
    }
    if (wm_status_ended(ev->status)) {
        wj_write_name(&o->w, UPP_STR("usage"));
        wm_usage_write(&o->w, &ev->usage);
    }
    uap_end(o);
}

static void optional(struct wd_out *o, const char *name, yyjson_val *v)
{
    if (!v)
        return;
    wj_write_name(&o->w, wb_cstr(name));
    wj_write_value(&o->w, v);
}

/* The entry holds {"type":...,"data":...,"source":...,"targets":[...]}. */
static void system_event(struct uap *u, const struct voice *v, const struct wm_event *ev, struct wd_out *o)
{
    yyjson_val *said;
    int         r = ev->entry ? wj_read(&u->scratch, ev->entry->data, NULL, &said, o->w.err) : -UPP_EBUG;
    if (r < 0) {
        wj_writer_fail(&o->w, upp_fail(o->w.err, -r, "event %" PRIu64 " has no system event", ev->number));
        return;
    }
    step_begin(o, v, ev, "system_event");
    optional(o, "eventType", yyjson_obj_get(said, "type"));
    optional(o, "eventData", yyjson_obj_get(said, "data"));
    optional(o, "sourceAgent", yyjson_obj_get(said, "source"));
    optional(o, "targetAgents", yyjson_obj_get(said, "targets"));
    uap_end(o);
    wb_arena_reset(&u->scratch);
}

/* What any run of the tree has said since the last record is void. */
static void attempt_void(struct uap *u, const struct wm_event *ev, struct wd_out *o)
{
    wd_open_end(&u->root.open);
    for (size_t i = 0; i < u->others.n; i++)
        wd_open_end(&u->others.p[i]->open);
    uap_begin(o, ev, "attempt_void", false);
    wd_u64(o, "last", ev->last);
    uap_end(o);
}

/* ---- The table ------------------------------------------------------------------------------------------- */

static int uap_start(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct uap *u = state;
    (void)err;
    *u = (struct uap){.children = opts && opts->children, .scratch = WB_ARENA(SCRATCH_MAX)};
    voice_init(&u->root, (struct wb_uuid){0});
    return 0;
}

static int rare_event(struct uap *u, struct voice *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    switch (ev->kind) {
    case WM_RUN:
        run(u, ev, o);
        if (wm_status_ended(ev->status) && v != &u->root)
            voice_drop(u, v);
        return 0;
    case WM_MESSAGE:
        return message(u, v, ev, o, err);
    case WM_TOOL_STARTED:
        if (!wm_is_branch(ev))
            tool_started(v, ev, o);
        return 0;
    case WM_TOOL_ENDED:
        if (!wm_is_branch(ev))
            tool_ended(u, v, ev, o);
        return 0;
    case WM_STEP_START:
        step_start(v, ev, o);
        return 0;
    case WM_STEP_END:
        step_end(u, v, ev, o);
        return 0;
    case WM_CHECKPOINT:
        step_begin(o, v, ev, "checkpoint");
        wd_uuid(o, "checkpointId", ev->id);
        uap_end(o);
        return 0;
    case WM_SYSTEM:
        system_event(u, v, ev, o);
        return 0;
    case WM_VOID:
        attempt_void(u, ev, o);
        return 0;
    case WM_MESSAGE_OPEN:
        upp_empty(o, ev, UPP_STR("message_start"), 0);
        return wd_open_begin(&v->open, ev, err);
    case WM_PART_OPEN:
        return part_open(v, ev, o, err);
    case WM_PART_CLOSE:
        return part_close(v, ev, o, err);
    default:
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " is of no kind: %u", ev->number, ev->kind);
    }
}

/* Is what the event is about scaffolding? */
static void set_aside(struct voice *v, const struct wm_event *ev, struct wd_out *o)
{
    if (ev->kind == WM_MESSAGE && ev->entry && ev->entry->audience == WM_AUDIENCE_RUN)
        o->aside = ev->entry->phase;
    if (ev->kind == WM_MESSAGE_OPEN) {
        wb_buf_clear(&v->aside);
        wb_buf_add(&v->aside, ev->aside ? ev->name : UPP_STR(""));
        if (v->aside.failed)
            wj_writer_fail(&o->w, wb_buf_check(&v->aside, o->w.err));
    }
    if (ev->kind == WM_MESSAGE_OPEN || ev->kind == WM_PART_OPEN || ev->kind == WM_PART_CLOSE)
        o->aside = wb_buf_str(&v->aside);
}

static int uap_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct uap   *u = state;
    struct voice *v = &u->root;
    struct wd_out o;
    if (ev->from->depth > 0 && !u->children)
        return 0;
    wd_out_init(&o, out, err);
    int r = voice_of(u, ev, &v, err);
    if (r == 0 && WB_LIKELY(ev->kind == WM_DELTA))
        r = delta(v, ev, &o, err);
    else if (r == 0) {
        set_aside(v, ev, &o);
        r = rare_event(u, v, ev, &o, err);
    }
    return r < 0 ? r : wd_out_check(&o);
}

static void uap_done(void *state)
{
    struct uap *u = state;
    while (u->others.n)
        voice_drop(u, u->others.p[0]);
    wb_vec_done(&u->others);
    voice_done(&u->root);
    wb_arena_done(&u->scratch);
}

const struct wd_stream_ops wd_stream_uap = {
    .name       = "uap",
    .state_size = sizeof(struct uap),
    .headers    = "",
    .begin      = uap_start,
    .event      = uap_event,
    .done       = uap_done,
};
