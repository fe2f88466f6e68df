/* dialects/ui/stream_calls.c — calls in a UI message stream: input, approval, outcome. */
#include "dialects/ui/stream.h"

struct wd_call *ui_call_add(struct ui *u, struct wd_out *o, struct upp_str id, struct upp_str name)
{
    struct wd_call *c = wd_calls_add(&u->calls, id, name, o->w.err);
    if (!c)
        wj_writer_fail(&o->w, u->calls.list.n == WD_CALLS_MAX ? -UPP_ELIMIT : -UPP_ENOMEM);
    return c;
}

void ui_call_streams(struct wd_call *c, struct wd_out *o)
{
    ui_chunk(o, "tool-input-start");
    wd_str(o, "toolCallId", c->id);
    wd_str(o, "toolName", c->name);
    wd_frame_close(o, UPP_STR("}"));
    c->state = UI_CALL_STREAMING;
}

/* Only later versions of 5 have `tool-input-error`: for 5 the call fails at once. */
void ui_call_bad(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str input, const char *why)
{
    if (u->target == 5) {
        if (c->state == UI_CALL_NEW)
            ui_call_streams(c, o);
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
    c->state = UI_CALL_BAD;
}

void ui_call_ready(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str arguments)
{
    struct wb_buf *b = o->w.out;
    if (c->state == UI_CALL_NEW && u->voided)
        ui_call_streams(
            c, o); /* restarts it, because the voided attempt may have left a failed call with this id in the step */
    ui_chunk(o, "tool-input-available");
    wd_str(o, "toolCallId", c->id);
    wd_str(o, "toolName", c->name);
    if (ui_value(u, o, "input", arguments.n ? arguments : UPP_STR("{}"))) {
        wd_frame_close(o, UPP_STR("}"));
        c->state = UI_CALL_READY;
        return;
    }
    if (!b->failed)
        b->n = o->from; /* remove the frame */
    ui_call_bad(u, o, c, arguments, "the arguments are not JSON");
}

static void call_fails(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str json, const char *otherwise)
{
    ui_chunk(o, "tool-output-error");
    wd_str(o, "toolCallId", c->id);
    ui_error_text(u, o, json, otherwise);
    wd_frame_close(o, UPP_STR("}"));
    wd_calls_drop(&u->calls, c);
}

/* Only for 7: a client of 6 knows its own user's answer, and has no chunk for anyone else's. */
void ui_call_answered(const struct ui *u, struct wd_out *o, struct wd_call *c, bool approved)
{
    if (!c->asked || c->answered || u->target < 7)
        return;
    ui_chunk(o, "tool-approval-response");
    wd_str(o, "approvalId", c->id);
    wj_put_bool(&o->w, "approved", approved);
    wd_frame_close(o, UPP_STR("}"));
    c->answered = true;
}

void ui_call_outcome(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    struct wd_call *c = wd_calls_find(&u->calls, ev->call.id);
    if (!c)
        return; /* a child's call that the client was not asked about */
    if (c->state == UI_CALL_STREAMING) {
        ui_bug(o, ev, "an outcome before the input", ev->call.id);
        return;
    }
    ui_to_started(u, ev, o);
    if (u->over.list.n == WD_CALLS_MAX) /* the latest are enough: an id is hardly used again after so many */
        wd_calls_drop(&u->over, u->over.list.p[0]);
    if (!wd_calls_add(&u->over, c->id, (struct upp_str){0}, o->w.err)) {
        wj_writer_fail(&o->w, -UPP_ENOMEM);
        return;
    }
    if (ev->tool_ended.outcome == WM_DENIED || ev->tool_ended.outcome == WM_DONE)
        ui_call_answered(u, o, c, ev->tool_ended.outcome == WM_DONE);
    if (ev->tool_ended.outcome == WM_DENIED && c->asked && u->target >= 6) {
        ui_chunk(o, "tool-output-denied"); /* the client requires an approval in a denied call */
        wd_str(o, "toolCallId", c->id);
        wd_frame_close(o, UPP_STR("}"));
        wd_calls_drop(&u->calls, c);
    } else if (ev->tool_ended.outcome == WM_DONE) {
        ui_chunk(o, "tool-output-available");
        wd_str(o, "toolCallId", c->id);
        if (!ui_value(u, o, "output", ev->tool_ended.result))
            wd_str(o, "output", ev->tool_ended.result);
        wd_frame_close(o, UPP_STR("}"));
        wd_calls_drop(&u->calls, c);
    } else
        call_fails(u, o, c, ev->tool_ended.result, ev->tool_ended.outcome == WM_DENIED ? "denied" : "failed");
}

void ui_calls_fail(struct ui *u, struct wd_out *o, const char *why)
{
    while (u->calls.list.n && !o->w.out->failed) {
        struct wd_call *c = u->calls.list.p[0];
        if (c->state == UI_CALL_BAD)
            wd_calls_drop(&u->calls, c);
        else
            call_fails(u, o, c, wb_cstr(NULL), why);
    }
}
