/* dialects/uap/stream.c — AgentStreamEvents of UAP 12.2, one JSON object per frame.
 *
 * Steps are UAP events; model output and tool execution are UPP events. docs/dialects/uap.md has the table. `uap` has
 * the event types of the specification alone, `weft` also the three of ours. Model output is in stream_message.c.
 */
#include <inttypes.h>

#include "base/err.h"
#include "dialects/uap/stream.h"
#include "dialects/core/dialect.h"
#include "json/read.h"
#include "model/upp_json.h"

enum { SCRATCH_MAX = 512 << 20 }; /* the JSON parser takes 13 bytes per byte (json/read.h) */

/* ---- The two kinds of frames ----------------------------------------------------------------------------- */

/* Members of a child's event. */
static void put_child(struct wd_out *o, const struct wm_event *ev)
{
    wj_put_u64(&o->w, "depth", ev->from->depth);
    if (!o->caller || wb_uuid_is_nil(o->caller->run))
        return;
    wd_uuid(o, "parentAgentId", o->caller->agent);
    wd_uuid(o, "parentTurnId", o->caller->run);
}

static void begin_event(struct wd_out *o, const struct wm_event *ev, const char *type, bool with_run)
{
    wd_frame_open(o, UPP_STR("{\"source\":\"uap\",\"uap\":{"));
    wd_str(o, "type", wb_cstr(type));
    wj_put_u64(&o->w, "step", ev->step);
    wd_uuid(o, "agentId", ev->from->agent_id);
    wj_put_open(&o->w, "data", '{');
    if (with_run || ev->from->depth > 0)
        wd_uuid(o, "runId", ev->from->run);
    if (ev->from->depth > 0)
        put_child(o, ev);
}

void uap_begin_in_step(struct wd_out *o, const struct uap_run *v, const struct wm_event *ev, const char *type)
{
    begin_event(o, ev, type, false);
    if (v->plan_step.n && v->step == ev->step)
        wd_str(o, "planStepId", wb_buf_str(&v->plan_step));
}

void uap_end(struct wd_out *o)
{
    wd_frame_close(o, UPP_STR("}}}"));
}

void uap_upp_begin(struct wd_out *o, const struct wm_event *ev, struct upp_str type, size_t index)
{
    wd_frame_open(o, UPP_STR("{\"source\":\"upp\","));
    if (ev->from->depth > 0) {
        wd_uuid(o, "agentId", ev->from->agent_id);
        wd_uuid(o, "runId", ev->from->run);
        put_child(o, ev);
    }
    if (o->aside.n)
        wd_str(o, "aside", o->aside);
    wj_put_open(&o->w, "upp", '{');
    wd_str(o, "type", type);
    wj_put_u64(&o->w, "index", index);
    wj_put_open(&o->w, "delta", '{');
}

void uap_upp_end(struct wd_out *o)
{
    wd_frame_close(o, UPP_STR("}}}"));
}

void uap_upp_empty(struct wd_out *o, const struct wm_event *ev, struct upp_str type, size_t index)
{
    uap_upp_begin(o, ev, type, index);
    uap_upp_end(o);
}

/* ---- Tools, steps, the run ------------------------------------------------------------------------------- */

static void tool_started(struct uap_run *v, const struct wm_event *ev, struct wd_out *o)
{
    uap_upp_begin(o, ev, UPP_STR("tool_execution_start"), uap_call_index(v, ev->call.id));
    wd_str(o, "toolCallId", ev->call.id);
    wd_str(o, "toolName", ev->call.name);
    wj_put_u64(&o->w, "timestamp", (uint64_t)ev->time_ms);
    uap_upp_end(o);
}

static void tool_ended(struct uap *u, struct uap_run *v, const struct wm_event *ev, struct wd_out *o)
{
    uap_upp_begin(o, ev, UPP_STR("tool_execution_end"), uap_call_index(v, ev->call.id));
    wd_str(o, "toolCallId", ev->call.id);
    wd_str(o, "toolName", ev->call.name);
    wj_write_name(&o->w, UPP_STR("result"));
    wd_json_or_str(o, &u->scratch, ev->tool_ended.result);
    wj_put_bool(&o->w, "isError", ev->tool_ended.outcome != WM_DONE);
    wj_put_u64(&o->w, "timestamp", (uint64_t)ev->time_ms);
    uap_upp_end(o);
}

static void step_start(struct uap_run *v, const struct wm_event *ev, struct wd_out *o)
{
    v->step = ev->step;
    wb_buf_clear(&v->plan_step);
    wb_buf_add(&v->plan_step, ev->step_start.plan_step.p ? ev->step_start.plan_step : UPP_STR(""));
    if (v->plan_step.failed)
        wj_writer_fail(&o->w, wb_buf_check(&v->plan_step, o->w.err));
    uap_begin_in_step(o, v, ev, "step_start");
    wj_put_u64(&o->w, "stepNumber", ev->step);
    wd_uuid(o, "stepId", ev->step_start.id);
    uap_end(o);
}

static void step_end(struct uap *u, const struct uap_run *v, const struct wm_event *ev, struct wd_out *o)
{
    if (ev->step_end.results)
        uap_observation(u, v, ev, ev->step_end.results, o);
    uap_begin_in_step(o, v, ev, "step_end");
    wj_put_u64(&o->w, "stepNumber", ev->step);
    wm_usage_put(&o->w, &ev->step_end.usage);
    uap_end(o);
}

static void run(struct uap *u, const struct wm_event *ev, struct wd_out *o)
{
    begin_event(o, ev, "run", true);
    bool cut = wm_is_incomplete(ev->run.status, ev->run.error);
    wd_str(o, "status", cut ? UPP_STR("incomplete") : wb_cstr(wd_status_word(ev->run.status)));
    if (ev->run.error.p) {
        wj_write_name(&o->w, cut ? UPP_STR("incomplete") : UPP_STR("error"));
        wd_json_or_str(o, &u->scratch, ev->run.error);
    }
    if (ev->run.n_pending) {
        wj_put_open(&o->w, "pending", '[');
        for (size_t i = 0; i < ev->run.n_pending; i++) {
            const struct wm_pending *p = &ev->run.pending[i];
            wj_write_open(&o->w, '{');
            if (wm_uap_call(&o->w, &u->scratch, &wd_json_opts, p->call, p->name, p->arguments))
                /* What is decided on, byte for byte: readers of `arguments` may lose digits of its numbers. */
                wj_put_str(&o->w, "argumentsJson", p->arguments.n ? p->arguments : UPP_STR("{}"));
            wj_put_bool(&o->w, "approval", p->approval);
            wd_end(o, '}');
        }
        wd_end(o, ']');
    }
    if (wm_status_ended(ev->run.status)) {
        wm_usage_put(&o->w, &ev->run.usage);
    }
    uap_end(o);
}

/* The entry holds {"type":...,"data":...,"source":...,"targets":[...]}. */
static void system_event(struct uap *u, const struct uap_run *v, const struct wm_event *ev, struct wd_out *o)
{
    yyjson_val *event;
    int r = ev->system.entry ? wj_read(&u->scratch, ev->system.entry->data, NULL, &event, o->w.err) : -UPP_EBUG;
    if (r < 0) {
        wj_writer_fail(&o->w, upp_fail(o->w.err, -r, "event %" PRIu64 " has no system event", ev->number));
        return;
    }
    uap_begin_in_step(o, v, ev, "system_event");
    wj_put_value(&o->w, "eventType", yyjson_obj_get(event, "type"));
    wj_put_value(&o->w, "eventData", yyjson_obj_get(event, "data"));
    wj_put_value(&o->w, "sourceAgent", yyjson_obj_get(event, "source"));
    wj_put_value(&o->w, "targetAgents", yyjson_obj_get(event, "targets"));
    uap_end(o);
    wb_arena_reset(&u->scratch);
}

/* Drops the open messages of all runs of the tree: their output is void. */
static void attempt_void(struct uap *u, const struct wm_event *ev, struct wd_out *o)
{
    wd_open_end(&u->root.open);
    for (size_t i = 0; i < u->others.n; i++)
        wd_open_end(&u->others.p[i]->open);
    if (!u->own_types)
        return;
    begin_event(o, ev, "attempt_void", false);
    wj_put_u64(&o->w, "last", ev->voided.last);
    uap_end(o);
}

/* ---- The table ------------------------------------------------------------------------------------------- */

static int uap_start(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct uap *u = state;
    (void)err;
    *u = (struct uap){.children = opts && opts->children, .scratch = WB_ARENA(SCRATCH_MAX)};
    uap_run_init(&u->root, (struct wb_uuid){0});
    return 0;
}

static int weft_start(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct uap *u = state;
    int r = uap_start(state, opts, err);
    u->own_types = true;
    return r;
}

static int rare_event(struct uap *u, struct uap_run *v, const struct wm_event *ev, struct wd_out *o,
                      struct upp_err *err)
{
    switch (ev->kind) {
    case WM_RUN:
        if (u->own_types)
            run(u, ev, o);
        if (wm_status_ended(ev->run.status) && v != &u->root)
            uap_run_drop(u, v);
        return 0;
    case WM_MESSAGE:
        return uap_message(u, v, ev, o, err);
    case WM_TOOL_STARTED:
        if (!wm_is_branch(ev))
            tool_started(v, ev, o);
        return u->children && ev->tool_started.child_node ? uap_caller_begin(u, ev, err) : 0;
    case WM_TOOL_ENDED:
        uap_caller_end(u, ev);
        if (!wm_is_branch(ev))
            tool_ended(u, v, ev, o);
        return 0;
    case WM_STEP_START:
        step_start(v, ev, o);
        return 0;
    case WM_STEP_END:
        step_end(u, v, ev, o);
        return 0;
    case WM_CHECKPOINT: /* a thread cannot be restored to a child's checkpoint: the child has its own thread */
        if (ev->from->depth)
            return 0;
        uap_begin_in_step(o, v, ev, "checkpoint");
        wd_uuid(o, "checkpointId", ev->checkpoint.id);
        uap_end(o);
        return 0;
    case WM_SYSTEM:
        if (u->own_types)
            system_event(u, v, ev, o);
        return 0;
    case WM_APPROVED:
        return 0;
    case WM_VOID:
        attempt_void(u, ev, o);
        return 0;
    case WM_MESSAGE_OPEN:
        uap_upp_empty(o, ev, UPP_STR("message_start"), 0);
        return wd_open_begin(&v->open, ev, err);
    case WM_PART_OPEN:
        return uap_part_open(v, ev, o, err);
    case WM_PART_CLOSE:
        return uap_part_close(v, ev, o, err);
    default:
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " is of no kind: %u", ev->number, ev->kind);
    }
}

/* Sets the phase if the event belongs to scaffolding. */
static void set_aside(struct uap_run *v, const struct wm_event *ev, struct wd_out *o)
{
    if (ev->kind == WM_MESSAGE && ev->message.entry && ev->message.entry->audience == WM_AUDIENCE_RUN)
        o->aside = ev->message.entry->phase;
    if (ev->kind == WM_MESSAGE_OPEN) {
        wb_buf_clear(&v->aside);
        wb_buf_add(&v->aside, ev->message_open.aside ? ev->message_open.phase : UPP_STR(""));
        if (v->aside.failed)
            wj_writer_fail(&o->w, wb_buf_check(&v->aside, o->w.err));
    }
    if (ev->kind == WM_MESSAGE_OPEN || ev->kind == WM_PART_OPEN || ev->kind == WM_PART_CLOSE)
        o->aside = wb_buf_str(&v->aside);
}

static int uap_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct uap *u = state;
    struct uap_run *v = &u->root;
    struct wd_out o;
    if (ev->from->depth > 0 && !u->children)
        return 0;
    wd_out_init(&o, out, err);
    int r = ev->from->depth > 0 ? uap_run_of_child(u, ev, &v, err) : 0;
    if (r == 0 && WB_LIKELY(ev->kind == WM_DELTA))
        r = uap_delta(v, ev, &o, err);
    else if (r == 0) {
        struct uap_caller caller = v->caller; /* the event may free v */
        o.caller = &caller;
        set_aside(v, ev, &o);
        r = rare_event(u, v, ev, &o, err);
    }
    return r < 0 ? r : wd_out_check(&o);
}

static void uap_done(void *state)
{
    struct uap *u = state;
    while (u->others.n)
        uap_run_drop(u, u->others.p[0]);
    wb_vec_done(&u->others);
    wb_vec_done(&u->callers);
    uap_run_done(&u->root);
    wb_arena_done(&u->scratch);
}

const struct wd_stream_ops wd_stream_uap = {
    .name = "uap",
    .state_size = sizeof(struct uap),
    .headers = "",
    .begin = uap_start,
    .event = uap_event,
    .done = uap_done,
};

const struct wd_stream_ops wd_stream_weft = {
    .name = "weft",
    .state_size = sizeof(struct uap),
    .headers = "",
    .to_the_end = true,
    .begin = weft_start,
    .event = uap_event,
    .done = uap_done,
};
