/* dialects/ui.c — the UI message stream that useChat reads, for majors 5, 6 and 7 of its client.
 *
 * The client enforces an order (docs/dialects/ui.md): what is not open cannot go on, what is not known has no outcome.
 * It holds here by construction: `start`, `start-step`, `finish-step` and the end are written by the functions of
 * "Stages" alone, a block is opened and closed by those of "Blocks", a call by those of "Calls"; everything else asks
 * for the stage it needs.
 *
 * One step of the client is one message of the model and its outcomes, so that a reset takes back one attempt and
 * nothing else. Calls of child runs are shown only when they wait for somebody; other events of children only by
 * option.
 */
#include "dialects/ui.h"

#include <inttypes.h>
#include <stdio.h>
#include <upp/model.h>

#include "model/id.h"
#include "model/upp_json.h"

enum { SCRATCH_MAX = 512 << 20 }; /* json/read.h: 13 bytes for one */

/* States of a call. One with an outcome is forgotten. */
enum { CALL_NEW, CALL_STREAMING, CALL_READY, CALL_BAD };

static void end_blocks(struct ui *u, struct wd_out *o, const char *why);

static void simple(struct wd_out *o, struct upp_str chunk)
{
    wd_frame_open(o, chunk);
    wd_frame_close(o, UPP_STR(""));
}

/* The engine broke the contract of events: no stream can show this. */
static void bug(struct wd_out *o, const struct wm_event *ev, const char *what, struct upp_str call)
{
    wj_writer_fail(&o->w,
                   upp_fail(o->w.err, UPP_EBUG, "event %" PRIu64 ": %s: call '%.*s'", ev->number, what, UPP_FMT(call)));
}

/* ---- Stages ---------------------------------------------------------------------------------------------- */

static void to_started(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    if (u->stage != UI_NEW && u->stage != UI_PAUSED)
        return;
    if (ev->from->depth == 0)
        u->turn = wm_id_uuid((struct wm_id){.node = ev->from->node, .index = ev->from->input, .noun = WM_NOUN_TURN});
    ui_chunk(o, "start");
    wd_uuid(o, "messageId", u->turn);
    wd_frame_close(o, UPP_STR("}"));
    u->stage = UI_STARTED;
}

static void to_step(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    to_started(u, ev, o);
    if (u->stage != UI_STARTED)
        return;
    simple(o, UPP_STR("{\"type\":\"start-step\"}"));
    u->stage   = UI_STEP;
    u->settled = false;
    u->voided  = false;
}

static void leave_step(struct ui *u, struct wd_out *o, const char *why)
{
    if (u->stage != UI_STEP)
        return;
    end_blocks(u, o, why);
    simple(o, UPP_STR("{\"type\":\"finish-step\"}"));
    u->stage = UI_STARTED;
}

/* A step in which nothing is settled: the open one, or another. */
static void to_fresh_step(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    if (u->settled)
        leave_step(u, o, "cut off");
    to_step(u, ev, o);
}

static void done(struct ui *u, struct wd_out *o, uint8_t stage)
{
    simple(o, UPP_STR("[DONE]"));
    u->stage = stage;
}

/* ---- Blocks --------------------------------------------------------------------------------------------------------
 */

/* Ids of blocks are those of the parts. */
static struct upp_str part_id(struct wb_uuid entry, size_t index, char out[64])
{
    struct wm_id id;
    if (wm_id_parse(entry, &id)) {
        id.noun = WM_NOUN_PART;
        id.part = (uint16_t)index;
        return wb_uuid_text(wm_id_uuid(id), out);
    }
    (void)wb_uuid_text(entry, out);
    int n = snprintf(out + WB_UUID_TEXT, 64 - WB_UUID_TEXT, ".%zu", index);
    return wb_str(out, WB_UUID_TEXT + (size_t)n);
}

/* "text-start" and its like. */
static void block(struct wd_out *o, struct wb_uuid entry, size_t index, uint8_t kind, const char *what)
{
    char id[64], type[32];
    (void)snprintf(type, sizeof type, "%s-%s", kind == UPP_PART_TEXT ? "text" : "reasoning", what);
    ui_chunk(o, type);
    wd_str(o, "id", part_id(entry, index, id));
}

static bool is_block(uint8_t kind)
{
    return kind == UPP_PART_TEXT || kind == UPP_PART_REASONING;
}

static void end_block(struct ui *u, struct wd_out *o, size_t index)
{
    struct wd_part *p = &u->open.parts.p[index];
    p->state          = WD_CLOSED;
    if (is_block(p->kind) && p->shown) {
        block(o, u->open.entry, index, p->kind, "end");
        wd_frame_close(o, UPP_STR("}"));
    }
}

/* Bytes since o->from become the head of a part: they stand before each of its deltas. */
static int keep_head(struct ui *u, struct wd_out *o, struct wd_part *p, struct upp_err *err)
{
    struct wb_buf *b = o->w.out;
    int            r = wd_open_head(&u->open, p, wb_str(b->p + o->from, b->failed ? 0 : b->n - o->from), err);
    if (!b->failed)
        b->n = o->from;
    return r;
}

/* ---- Calls ----------------------------------------------------------------------------------------------- */

static struct wd_call *add_call(struct ui *u, struct wd_out *o, struct upp_str id, struct upp_str name)
{
    struct wd_call *c = wd_calls_add(&u->calls, id, name, o->w.err);
    if (!c)
        wj_writer_fail(&o->w, u->calls.list.n == WD_CALLS_MAX ? -UPP_ELIMIT : -UPP_ENOMEM);
    return c;
}

static void call_streams(struct wd_call *c, struct wd_out *o)
{
    ui_chunk(o, "tool-input-start");
    wd_str(o, "toolCallId", c->id);
    wd_str(o, "toolName", c->name);
    wd_frame_close(o, UPP_STR("}"));
    c->state = CALL_STREAMING;
}

/* Its input cannot be used. 5 has a word for it only in its later versions: there the call fails at once. */
static void call_bad(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str input, const char *why)
{
    if (u->target == 5) {
        if (c->state == CALL_NEW)
            call_streams(c, o);
        ui_chunk(o, "tool-output-error");
        wd_str(o, "toolCallId", c->id);
    } else {
        ui_chunk(o, "tool-input-error");
        wd_str(o, "toolCallId", c->id);
        wd_str(o, "toolName", c->name);
        wd_str(o, "input", input);
    }
    wd_str(o, "errorText", wb_cstr(why));
    wd_frame_close(o, UPP_STR("}"));
    c->state = CALL_BAD;
}

/* The whole input is there. */
static void call_ready(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str arguments)
{
    struct wb_buf *b = o->w.out;
    if (c->state == CALL_NEW && u->voided)
        call_streams(c, o); /* begins it anew, where the step has one of this id that failed */
    ui_chunk(o, "tool-input-available");
    wd_str(o, "toolCallId", c->id);
    wd_str(o, "toolName", c->name);
    if (ui_value(u, o, "input", arguments.n ? arguments : UPP_STR("{}"))) {
        wd_frame_close(o, UPP_STR("}"));
        c->state = CALL_READY;
        return;
    }
    if (!b->failed)
        b->n = o->from; /* take the frame back */
    call_bad(u, o, c, arguments, "the arguments are not JSON");
}

static void call_fails(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str json, const char *otherwise)
{
    ui_chunk(o, "tool-output-error");
    wd_str(o, "toolCallId", c->id);
    ui_error_text(u, o, json, otherwise);
    wd_frame_close(o, UPP_STR("}"));
    wd_calls_drop(&u->calls, c);
}

/* What somebody said who was asked. Only 7 is told: the client of 6 knows what its own user said, and no other. */
static void call_answered(const struct ui *u, struct wd_out *o, struct wd_call *c, bool approved)
{
    if (!c->asked || c->answered || u->target < 7)
        return;
    ui_chunk(o, "tool-approval-response");
    wd_str(o, "approvalId", c->id);
    wd_bool(o, "approved", approved);
    wd_frame_close(o, UPP_STR("}"));
    c->answered = true;
}

static void call_outcome(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    struct wd_call *c = wd_calls_find(&u->calls, ev->call);
    if (!c)
        return; /* of a child, and nobody was asked for it */
    if (c->state == CALL_STREAMING) {
        bug(o, ev, "an outcome before the input", ev->call);
        return;
    }
    to_started(u, ev, o);
    if (ev->outcome == WM_DENIED || ev->outcome == WM_DONE)
        call_answered(u, o, c, ev->outcome == WM_DONE);
    if (ev->outcome == WM_DENIED && c->asked && u->target >= 6) {
        ui_chunk(o, "tool-output-denied"); /* the client wants an approval in the call that is denied */
        wd_str(o, "toolCallId", c->id);
        wd_frame_close(o, UPP_STR("}"));
        wd_calls_drop(&u->calls, c);
    } else if (ev->outcome == WM_DONE) {
        ui_chunk(o, "tool-output-available");
        wd_str(o, "toolCallId", c->id);
        if (!ui_value(u, o, "output", ev->text))
            wd_str(o, "output", ev->text);
        wd_frame_close(o, UPP_STR("}"));
        wd_calls_drop(&u->calls, c);
    } else
        call_fails(u, o, c, ev->text, ev->outcome == WM_DENIED ? "denied" : "failed");
}

/* No call is left without an outcome when nothing more can come. */
static void fail_calls(struct ui *u, struct wd_out *o, const char *why)
{
    while (u->calls.list.n && !o->w.out->failed) {
        struct wd_call *c = u->calls.list.p[0];
        if (c->state == CALL_BAD)
            wd_calls_drop(&u->calls, c);
        else
            call_fails(u, o, c, wb_cstr(NULL), why);
    }
}

/* Ends what is open of the message: blocks, and calls whose input was not finished. */
static void end_blocks(struct ui *u, struct wd_out *o, const char *why)
{
    for (size_t i = 0; u->open.open && i < u->open.parts.n; i++)
        if (u->open.parts.p[i].state == WD_OPEN)
            end_block(u, o, i);
    wd_open_end(&u->open);
    for (size_t i = 0; i < u->calls.list.n; i++)
        if (u->calls.list.p[i]->state == CALL_STREAMING)
            call_bad(u, o, u->calls.list.p[i], UPP_STR(""), why);
}

/* ---- What a model says ----------------------------------------------------------------------------------- */

static uint8_t aside_of(bool aside, struct upp_str phase)
{
    return !aside ? UI_SAID : wb_str_eq(phase, UPP_STR("reason")) ? UI_THOUGHT : UI_HIDDEN;
}

/* As what a part is shown. */
static uint8_t shown_as(const struct ui *u, uint8_t kind)
{
    return u->aside == UI_THOUGHT && kind == UPP_PART_TEXT ? UPP_PART_REASONING : kind;
}

/* Is it shown at all? Calls of scaffolding are seen when their tools are run, if ever. */
static bool is_shown(const struct ui *u, uint8_t kind)
{
    return u->aside == UI_SAID || (u->aside == UI_THOUGHT && kind != UPP_PART_CALL);
}

static int message_open(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    bool open = u->open.open; /* then it is refused */
    if (!open)
        u->aside = aside_of(ev->aside, ev->name);
    if (!open && u->aside != UI_HIDDEN)
        to_fresh_step(u, ev, o);
    return wd_open_begin(&u->open, ev, err);
}

static int part_open(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    struct wd_call *c;
    int             r = wd_open_part(&u->open, ev, &p, err);
    if (r < 0 || !is_shown(u, ev->part_kind))
        return r;
    p->kind = shown_as(u, ev->part_kind);
    if (is_block(p->kind)) {
        block(o, u->open.entry, ev->part, p->kind, "start");
        wd_frame_close(o, UPP_STR("}"));
        block(o, u->open.entry, ev->part, p->kind, "delta");
        wj_write_name(&o->w, UPP_STR("delta"));
    } else if (ev->part_kind == UPP_PART_CALL && (c = add_call(u, o, ev->call, ev->name))) {
        if (c->state != CALL_NEW)
            bug(o, ev, "made twice", ev->call);
        call_streams(c, o);
        ui_chunk(o, "tool-input-delta");
        wd_str(o, "toolCallId", ev->call);
        wj_write_name(&o->w, UPP_STR("inputTextDelta"));
    } else {
        p->shown = ev->media != NULL;
        if (ev->media)
            ui_file(u, o, ev->media);
        return 0;
    }
    p->shown = true;
    return keep_head(u, o, p, err);
}

static int delta(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&u->open, ev, &p, err);
    if (WB_UNLIKELY(r < 0 || !p->n_head))
        return r;
    wd_frame_open(o, wd_open_head_of(&u->open, p));
    wj_write_str(&o->w, ev->text.p ? ev->text : UPP_STR(""));
    wd_frame_close(o, UPP_STR("}"));
    return 0;
}

static int part_close(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&u->open, ev, &p, err);
    if (r == 0)
        end_block(u, o, ev->part);
    return r;
}

/* A part that no event told of: the tape is gone, or it is a medium. */
static void whole_part(struct ui *u, const struct wm_event *ev, struct wd_out *o, size_t index,
                       const struct upp_part *p)
{
    uint8_t kind = shown_as(u, p->kind);
    if (is_block(kind)) {
        block(o, ev->id, index, kind, "start");
        wd_frame_close(o, UPP_STR("}"));
        block(o, ev->id, index, kind, "delta");
        wd_str(o, "delta", p->text);
        wd_frame_close(o, UPP_STR("}"));
        block(o, ev->id, index, kind, "end");
        wd_frame_close(o, UPP_STR("}"));
    } else if (p->media)
        ui_file(u, o, p->media);
}

/* Calls last: the client may act at once on one that is there. */
static void message_calls(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_message *m = &ev->entry->message;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        struct wd_call        *c = p->kind == UPP_PART_CALL ? add_call(u, o, p->id, p->name) : NULL;
        if (c && c->state > CALL_STREAMING)
            bug(o, ev, "made twice", p->id);
        else if (c && p->cut)
            call_bad(u, o, c, p->text, "cut off");
        else if (c)
            call_ready(u, o, c, p->text);
    }
}

static void message(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    if (!ev->entry || ev->entry->message.role != UPP_ROLE_ASSISTANT)
        return; /* input and results are not said by a model */
    const struct upp_message *m = &ev->entry->message;
    if (!u->open.open)
        u->aside = aside_of(ev->entry->audience == WM_AUDIENCE_RUN, ev->entry->phase);
    if (u->aside == UI_HIDDEN) {
        wd_open_end(&u->open);
        return;
    }
    if (!u->open.open)
        to_fresh_step(u, ev, o);
    for (size_t i = 0; i < WB_MAX(m->n_parts, u->open.parts.n); i++) {
        struct wd_part *p = wd_open_at(&u->open, i);
        if (p && p->shown) {
            if (p->state == WD_OPEN)
                end_block(u, o, i);
        } else if (i < m->n_parts)
            whole_part(u, ev, o, i, &m->parts[i]);
    }
    if (u->aside == UI_SAID) {
        message_calls(u, ev, o);
        u->stop = ev->stop;
    }
    end_blocks(u, o, "cut off");
    u->settled = true;
}

/* 7 can take a step back; 5 and 6 can only end what was begun, and the next attempt begins anew beside it. */
static void attempt_void(struct ui *u, struct wd_out *o)
{
    if (!u->open.open)
        return; /* nothing of it was sent, or a child said it */
    if (u->aside == UI_HIDDEN)
        wd_open_end(&u->open);
    else if (u->target < 7) {
        end_blocks(u, o, "taken back");
        u->voided = true;
    } else {
        simple(o, UPP_STR("{\"type\":\"reset-step\"}"));
        wd_open_end(&u->open);
    }
    for (size_t i = u->calls.list.n; i-- > 0;)
        if (u->calls.list.p[i]->state == CALL_STREAMING || u->calls.list.p[i]->state == CALL_BAD)
            wd_calls_drop(&u->calls, u->calls.list.p[i]);
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
    if (wm_status_ended(ev->status)) {
        wd_object(o, "messageMetadata");
        wj_write_name(&o->w, UPP_STR("usage"));
        wm_usage_write(&o->w, &ev->usage);
        wd_end(o, '}');
    }
    wd_frame_close(o, UPP_STR("}"));
}

/* A call for which somebody is asked is shown, also one of a child. */
static void ask(struct ui *u, const struct wm_event *ev, struct wd_out *o, const struct wm_pending *p)
{
    struct wd_call *c = wd_calls_find(&u->calls, p->call);
    if (p->approval && u->target < 6)
        return;
    if (!c) {
        to_step(u, ev, o);
        c = add_call(u, o, p->call, p->name);
        if (!c)
            return;
        call_ready(u, o, c, p->arguments);
        u->settled = true;
    }
    if (p->approval && !c->asked && c->state == CALL_READY) {
        ui_chunk(o, "tool-approval-request");
        wd_str(o, "approvalId", c->id);
        wd_str(o, "toolCallId", c->id);
        wd_frame_close(o, UPP_STR("}"));
        c->asked = true;
    }
}

/* 5 knows no approvals: it is told in the metadata what the run waits for, and goes on listening. */
static void tell_approvals(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    ui_chunk(o, "message-metadata");
    wd_object(o, "messageMetadata");
    wd_array(o, "weft_pending");
    u->told = false;
    for (size_t i = 0; i < ev->n_pending; i++)
        if (ev->pending[i].approval) {
            wj_write_open(&o->w, '{');
            wd_str(o, "toolCallId", ev->pending[i].call);
            wd_str(o, "toolName", ev->pending[i].name);
            wd_end(o, '}');
            u->told = true;
        }
    wd_end(o, ']');
    wd_end(o, '}');
    wd_frame_close(o, UPP_STR("}"));
}

static void waits(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    bool approvals = false, results = false;
    for (size_t i = 0; i < ev->n_pending; i++) {
        ask(u, ev, o, &ev->pending[i]);
        approvals |= ev->pending[i].approval;
        results |= !ev->pending[i].approval;
    }
    if (u->target < 6 && approvals)
        tell_approvals(u, ev, o);
    if (u->target < 6 && approvals && !results)
        return;
    leave_step(u, o, "cut off");
    finish(o, ev, "tool-calls");
    done(u, o, UI_PAUSED);
}

static void run(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    if (ev->status == WM_CANCELING)
        return;
    to_started(u, ev, o);
    if (u->told && ev->n_pending == 0)
        tell_approvals(u, ev, o); /* nothing any more */
    if (ev->status == WM_WAITING)
        waits(u, ev, o);
    if (!wm_status_ended(ev->status))
        return;
    const char *why = ev->status == WM_CANCELED  ? "cancelled"
                      : ev->status == WM_EXPIRED ? "the run has expired"
                                                 : "the run has ended";
    end_blocks(u, o, why);
    fail_calls(u, o, why);
    leave_step(u, o, why);
    if (ev->status == WM_CANCELED)
        simple(o, UPP_STR("{\"type\":\"abort\"}"));
    else if (ev->status == WM_COMPLETED)
        finish(o, ev, finish_reason(u->stop));
    else {
        /* useChat reads no further than the error: all that it should have came before. */
        ui_chunk(o, "error");
        ui_error_message(u, o, ev->text, ev->status == WM_EXPIRED ? "the run has expired" : "the run failed");
        wd_frame_close(o, UPP_STR("}"));
        finish(o, ev, "error");
    }
    done(u, o, UI_ENDED);
}

/* A tool that is run without a model having asked for it is shown as well. */
static void tool_started(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    struct wd_call *c = wd_calls_find(&u->calls, ev->call);
    if (c) {
        if (c->asked)
            to_started(u, ev, o);
        call_answered(u, o, c, true);
        return;
    }
    if (u->open.open) {
        bug(o, ev, "started while a message is open", ev->call);
        return;
    }
    to_step(u, ev, o);
    c = add_call(u, o, ev->call, ev->name);
    if (c)
        call_ready(u, o, c, ev->text);
    u->settled = true;
}

/* ---- The table ------------------------------------------------------------------------------------------- */

static int ui_begin(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct ui *u      = state;
    unsigned   target = opts && opts->target ? opts->target : 6;
    if (target < 5 || target > 7)
        return upp_fail(err, UPP_EINVALID, "ui: the target is 5, 6 or 7, not %u", target);
    *u = (struct ui){.target   = (uint8_t)target,
                     .children = opts && opts->children,
                     .scratch  = WB_ARENA(SCRATCH_MAX),
                     .text     = WB_BUF(WD_FRAMES_TEXT)};
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
        message(u, ev, o);
        return 0;
    case WM_TOOL_STARTED:
        tool_started(u, ev, o);
        return 0;
    case WM_TOOL_ENDED:
        call_outcome(u, ev, o);
        return 0;
    case WM_STEP_START:
        to_fresh_step(u, ev, o);
        return 0;
    case WM_STEP_END:
        leave_step(u, o, "cut off");
        return 0;
    case WM_CHECKPOINT:
        return 0;
    case WM_SYSTEM:
        to_started(u, ev, o);
        ui_system(u, o, ev);
        u->settled = true; /* it is not taken back with a step that it stands in */
        return 0;
    case WM_VOID:
        attempt_void(u, o);
        return 0;
    case WM_MESSAGE_OPEN:
        return message_open(u, ev, o, err);
    case WM_PART_OPEN:
        return part_open(u, ev, o, err);
    case WM_PART_CLOSE:
        return part_close(u, ev, o, err);
    default:
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " is of no kind: %u", ev->number, ev->kind);
    }
}

static int ui_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct ui    *u = state;
    struct wd_out o;
    int           r = 0;
    wd_out_init(&o, out, err);
    if (WB_UNLIKELY(u->stage == UI_ENDED && ev->from->depth == 0))
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " comes after the end of the run", ev->number);
    if (wm_is_branch(ev))
        return 0;
    if (ev->from->depth > 0) {
        if (ev->kind == WM_TOOL_ENDED)
            call_outcome(u, ev, &o);
        else if (ev->kind == WM_TOOL_STARTED && wd_calls_find(&u->calls, ev->call))
            tool_started(u, ev, &o);
        if (u->children && (u->stage == UI_STARTED || u->stage == UI_STEP))
            ui_child(&o, ev);
    } else
        r = WB_LIKELY(ev->kind == WM_DELTA) ? delta(u, ev, &o, err) : rare_event(u, ev, &o, err);
    return r < 0 ? r : wd_out_check(&o);
}

/* 5 goes on while somebody is asked for an approval. */
static bool ui_paused(const void *state)
{
    const struct ui *u = state;
    return u->stage == UI_PAUSED || !u->told;
}

static void ui_done(void *state)
{
    struct ui *u = state;
    wd_open_done(&u->open);
    wd_calls_done(&u->calls);
    wb_arena_done(&u->scratch);
    wb_buf_done(&u->text);
}

const struct wd_stream_ops wd_stream_ui = {
    .name       = "ui",
    .state_size = sizeof(struct ui),
    .headers    = "x-vercel-ai-ui-message-stream: v1\r\n",
    .begin      = ui_begin,
    .event      = ui_event,
    .paused     = ui_paused,
    .done       = ui_done,
};
