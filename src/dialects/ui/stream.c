/* dialects/ui/stream.c — the UI message stream that useChat reads, for majors 5, 6 and 7 of its client.
 *
 * The client enforces an order (docs/dialects/ui.md): a delta needs an open block, an outcome needs a known call.
 * The code guarantees it by construction: only the functions under "Stages" write `start`, `start-step`,
 * `finish-step` and the end; only stream_blocks.c opens and closes blocks; only stream_calls.c writes calls; all other
 * functions first move to the stage they need.
 *
 * One step of the client is one message of the model and the outcomes of its calls, so a reset removes exactly one
 * attempt. Calls of child runs are sent only if they wait for the client; other events of children only with the
 * option `children`.
 */
#include "dialects/ui/stream.h"

#include <inttypes.h>
#include <upp/model.h>

#include "dialects/ui/doc.h"
#include "model/id.h"
#include "model/upp_json.h"

enum { SCRATCH_MAX = 512 << 20 }; /* json/read.h: up to 13 bytes of memory per byte of JSON */

void ui_simple(struct wd_out *o, struct upp_str chunk)
{
    wd_frame_open(o, chunk);
    wd_frame_close(o, UPP_STR(""));
}

void ui_bug(struct wd_out *o, const struct wm_event *ev, const char *what, struct upp_str call)
{
    wj_writer_fail(&o->w,
                   upp_fail(o->w.err, UPP_EBUG, "event %" PRIu64 ": %s: call '%.*s'", ev->number, what, UPP_FMT(call)));
}

/* ---- Stages ---------------------------------------------------------------------------------------------- */

/* Whose message it is: the run's agent, also when another one goes on. As in documents (lower.c). */
static void put_about(const struct ui *u, const struct wm_source *from, struct wd_out *o)
{
    struct upp_str title = u->title_of ? u->title_of(u->arg, from->agent) : (struct upp_str){NULL, 0};
    wj_put_open(&o->w, "messageMetadata", '{');
    wj_put_open(&o->w, "weft", '{');
    wd_str(o, "agent", from->agent);
    if (title.n && !wb_str_eq(title, from->agent))
        wd_str(o, "name", title);
    wd_uuid(o, "run", from->root);
    wd_end(o, '}');
    wd_end(o, '}');
}

void ui_to_started(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    if (u->stage != UI_NEW && u->stage != UI_PAUSED)
        return;
    if (ev->from->depth == 0)
        u->turn = wm_id_uuid((struct wm_id){.node = ev->from->node, .index = ev->from->input, .noun = WM_NOUN_TURN});
    ui_chunk(o, "start");
    wd_uuid(o, "messageId", u->turn);
    if (u->stage == UI_NEW && ev->from->depth == 0)
        put_about(u, ev->from, o);
    wd_frame_close(o, UPP_STR("}"));
    u->stage = UI_STARTED;
}

static void to_step(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    ui_to_started(u, ev, o);
    if (u->stage != UI_STARTED)
        return;
    ui_simple(o, UPP_STR("{\"type\":\"start-step\"}"));
    wd_calls_done(&u->over);
    u->stage = UI_STEP;
    u->no_reset = false;
    u->voided = false;
}

static void leave_step(struct ui *u, struct wd_out *o, const char *why)
{
    if (u->stage != UI_STEP)
        return;
    ui_end_blocks(u, o, why);
    ui_simple(o, UPP_STR("{\"type\":\"finish-step\"}"));
    u->stage = UI_STARTED;
}

void ui_to_fresh_step(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    if (u->no_reset)
        leave_step(u, o, "cut off");
    to_step(u, ev, o);
}

/* A step for a call that no model made. Clients know a call by its id in a step: if one with this id has ended there,
 * it is another step. */
static void to_step_of(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_str call)
{
    if (wd_calls_find(&u->over, call))
        leave_step(u, o, "cut off");
    to_step(u, ev, o);
}

static void done(struct ui *u, struct wd_out *o, uint8_t stage)
{
    ui_simple(o, UPP_STR("[DONE]"));
    u->stage = stage;
}

/* ---- The run --------------------------------------------------------------------------------------------- */

static const char *finish_reason(uint8_t stop)
{
    static const char *const words[] = {
        [UPP_STOP_END] = "stop",         [UPP_STOP_LENGTH] = "length",
        [UPP_STOP_TOOLS] = "tool-calls", [UPP_STOP_FILTER] = "content-filter",
        [UPP_STOP_ERROR] = "error",
    };
    return stop < WB_LEN(words) && words[stop] ? words[stop] : "other";
}

static void finish(struct wd_out *o, const struct wm_event *ev, const char *reason)
{
    ui_chunk(o, "finish");
    wd_str(o, "finishReason", wb_cstr(reason));
    if (wm_status_ended(ev->run.status)) {
        wj_put_open(&o->w, "messageMetadata", '{');
        wm_usage_put(&o->w, &ev->run.usage);
        if (wm_is_incomplete(ev->run.status, ev->run.error)) {
            wj_put_raw(&o->w, "incomplete", ev->run.error.p, ev->run.error.n); /* written by the engine: one line */
        }
        wd_end(o, '}');
    }
    wd_frame_close(o, UPP_STR("}"));
}

/* Sends a call that waits for the client, also one of a child. */
static void ask(struct ui *u, const struct wm_event *ev, struct wd_out *o, const struct wm_pending *p)
{
    struct wd_call *c = wd_calls_find(&u->calls, p->call);
    if (p->approval && u->target < 6)
        return;
    if (!c) {
        to_step_of(u, ev, o, p->call);
        c = ui_call_add(u, o, p->call, p->name);
        if (!c)
            return;
        ui_call_ready(u, o, c, p->arguments);
        u->no_reset = true;
    }
    if (p->approval && !c->asked && c->state == UI_CALL_READY) {
        ui_chunk(o, "tool-approval-request");
        wd_str(o, "approvalId", c->id);
        wd_str(o, "toolCallId", c->id);
        wd_frame_close(o, UPP_STR("}"));
        c->asked = true;
    }
}

/* Version 5 has no approvals: the metadata names the pending ones, and the stream continues. */
static void put_pending(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    ui_chunk(o, "message-metadata");
    wj_put_open(&o->w, "messageMetadata", '{');
    wj_put_open(&o->w, "weft_pending", '[');
    u->pending_sent = false;
    for (size_t i = 0; i < ev->run.n_pending; i++)
        if (ev->run.pending[i].approval) {
            wj_write_open(&o->w, '{');
            wd_str(o, "toolCallId", ev->run.pending[i].call);
            wd_str(o, "toolName", ev->run.pending[i].name);
            wd_end(o, '}');
            u->pending_sent = true;
        }
    wd_end(o, ']');
    wd_end(o, '}');
    wd_frame_close(o, UPP_STR("}"));
}

static void waits(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    bool approvals = false, results = false;
    for (size_t i = 0; i < ev->run.n_pending; i++) {
        ask(u, ev, o, &ev->run.pending[i]);
        approvals |= ev->run.pending[i].approval;
        results |= !ev->run.pending[i].approval;
    }
    if (u->target < 6 && approvals)
        put_pending(u, ev, o);
    if (u->target < 6 && approvals && !results)
        return;
    leave_step(u, o, "cut off");
    finish(o, ev, "tool-calls");
    done(u, o, UI_PAUSED);
}

static void run(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    if (ev->run.status == WM_CANCELING)
        return;
    ui_to_started(u, ev, o);
    if (u->pending_sent && ev->run.n_pending == 0)
        put_pending(u, ev, o); /* none is pending any more */
    if (ev->run.status == WM_WAITING)
        waits(u, ev, o);
    if (!wm_status_ended(ev->run.status))
        return;
    const char *why = ev->run.status == WM_CANCELED  ? "cancelled"
                      : ev->run.status == WM_EXPIRED ? "the run has expired"
                                                     : "the run has ended";
    ui_end_blocks(u, o, why);
    ui_calls_fail(u, o, why);
    leave_step(u, o, why);
    if (ev->run.status == WM_CANCELED)
        ui_simple(o, UPP_STR("{\"type\":\"abort\"}"));
    else if (ev->run.status == WM_COMPLETED)
        finish(o, ev, finish_reason(u->stop));
    else {
        /* useChat stops reading at `error`: everything else must come before it. */
        ui_chunk(o, "error");
        ui_error_message(u, o, ev->run.error, ev->run.status == WM_EXPIRED ? "the run has expired" : "the run failed");
        wd_frame_close(o, UPP_STR("}"));
        finish(o, ev, "error");
    }
    done(u, o, UI_ENDED);
}

/* Also sends a tool call that no model made. */
static void tool_started(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    struct wd_call *c = wd_calls_find(&u->calls, ev->call.id);
    if (c) {
        if (c->asked)
            ui_to_started(u, ev, o);
        ui_call_answered(u, o, c, true);
        return;
    }
    if (u->open.open) {
        ui_bug(o, ev, "started while a message is open", ev->call.id);
        return;
    }
    to_step_of(u, ev, o, ev->call.id);
    c = ui_call_add(u, o, ev->call.id, ev->call.name);
    if (c)
        ui_call_ready(u, o, c, ev->tool_started.arguments);
    u->no_reset = true;
}

/* ---- The table ------------------------------------------------------------------------------------------- */

int wd_ui_set_target(void *own, struct upp_str value, struct upp_err *err)
{
    struct wd_ui_opts *opts = own;
    uint64_t n;
    if (!wb_str_u64(value, &n) || n < 5 || n > 7)
        return upp_fail(err, UPP_EINVALID, "target is 5, 6 or 7");
    opts->target = (unsigned)n;
    return 0;
}

static const struct wd_stream_option ui_options[] = {{"target", wd_ui_set_target}, {NULL, NULL}};

static int ui_begin(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct ui *u = state;
    const struct wd_ui_opts *own = opts ? opts->own : NULL;
    unsigned target = own && own->target ? own->target : WD_UI_TARGET;
    if (target < 5 || target > 7)
        return upp_fail(err, UPP_EINVALID, "ui: the target is 5, 6 or 7, not %u", target);
    *u = (struct ui){.target = (uint8_t)target,
                     .children = opts && opts->children,
                     .title_of = opts ? opts->title_of : NULL,
                     .arg = opts ? opts->arg : NULL,
                     .scratch = WB_ARENA(SCRATCH_MAX),
                     .text = WB_BUF(WD_FRAMES_TEXT)};
    wd_open_init(&u->open);
    return 0;
}

static int rare_event(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    switch (ev->kind) {
    case WM_RUN:
        run(u, ev, o);
        return 0;
    case WM_MESSAGE:
        ui_message(u, ev, o);
        return 0;
    case WM_TOOL_STARTED:
        tool_started(u, ev, o);
        return 0;
    case WM_TOOL_ENDED:
        ui_call_outcome(u, ev, o);
        return 0;
    case WM_STEP_START:
        ui_to_fresh_step(u, ev, o);
        return 0;
    case WM_STEP_END:
        leave_step(u, o, "cut off");
        return 0;
    case WM_CHECKPOINT:
    case WM_APPROVED:
        return 0;
    case WM_SYSTEM:
        ui_to_started(u, ev, o);
        ui_system(u, o, ev);
        u->no_reset = true; /* a reset of the step must not remove the event */
        return 0;
    case WM_VOID:
        ui_attempt_void(u, ev, o);
        return 0;
    case WM_MESSAGE_OPEN:
        return ui_message_open(u, ev, o, err);
    case WM_PART_OPEN:
        return ui_part_open(u, ev, o, err);
    case WM_PART_CLOSE:
        return ui_part_close(u, ev, o, err);
    default:
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " is of no kind: %u", ev->number, ev->kind);
    }
}

static int ui_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct ui *u = state;
    struct wd_out o;
    int r = 0;
    wd_out_init(&o, out, err);
    if (WB_UNLIKELY(u->stage == UI_ENDED && ev->from->depth == 0))
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " comes after the end of the run", ev->number);
    if (wm_is_branch(ev))
        return 0;
    if (ev->from->depth > 0) {
        if (ev->kind == WM_TOOL_ENDED)
            ui_call_outcome(u, ev, &o);
        else if (ev->kind == WM_TOOL_STARTED && wd_calls_find(&u->calls, ev->call.id))
            tool_started(u, ev, &o);
        if (u->children && (u->stage == UI_STARTED || u->stage == UI_STEP))
            ui_child(&o, ev);
    } else
        r = WB_LIKELY(ev->kind == WM_DELTA) ? ui_delta(u, ev, &o, err) : rare_event(u, ev, &o, err);
    return r < 0 ? r : wd_out_check(&o);
}

/* With version 5 the stream continues while an approval is pending. */
static bool ui_paused(const void *state)
{
    const struct ui *u = state;
    return u->stage == UI_PAUSED || !u->pending_sent;
}

static void ui_done(void *state)
{
    struct ui *u = state;
    wd_open_done(&u->open);
    wd_calls_done(&u->calls);
    wd_calls_done(&u->over);
    wb_arena_done(&u->scratch);
    wb_buf_done(&u->text);
}

const struct wd_stream_ops wd_stream_ui = {
    .name = "ui",
    .state_size = sizeof(struct ui),
    .own_size = sizeof(struct wd_ui_opts),
    .headers = "x-vercel-ai-ui-message-stream: v1\r\n",
    .options = ui_options,
    .begin = ui_begin,
    .event = ui_event,
    .paused = ui_paused,
    .done = ui_done,
};
