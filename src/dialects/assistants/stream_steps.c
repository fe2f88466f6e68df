/* dialects/assistants/stream_steps.c — steps of a run of the Assistants API, one at a time, and the calls in them. */
#include <inttypes.h>

#include "base/err.h"
#include "dialects/assistants/stream.h"
#include "dialects/core/open_message.h"
#include "json/read.h"
#include "json/value.h"
#include "model/id.h"

static void step_frame(struct asst_stream *s, struct wd_out *o, const char *event)
{
    s->step.calls = s->calls.p;
    s->step.n_calls = s->calls.n;
    wd_frame_open(o, UPP_STR(""));
    asst_step_write(&o->w, &s->step);
    asst_frame(o, event, UPP_STR(""));
    s->step_sent = true;
}

void asst_step_end(struct asst_stream *s, struct wd_out *o, const char *status, const char *why)
{
    static const char *const events[][2] = {
        {"completed", "thread.run.step.completed"},
        {"cancelled", "thread.run.step.cancelled"},
        {"failed", "thread.run.step.failed"},
        {"expired", "thread.run.step.expired"},
    };
    if (!s->has_step)
        return;
    s->step.status = status;
    s->step.error = why;
    s->step.ended_ms = s->now;
    for (size_t i = 0; i < WB_LEN(events); i++)
        if (wb_str_eq(wb_cstr(status), wb_cstr(events[i][0])))
            step_frame(s, o, events[i][1]);
    s->has_step = false;
    s->step_over = false;
    s->calls.n = 0;
    wb_arena_reset(&s->of_step);
}

void asst_step_leave(struct asst_stream *s, struct wd_out *o)
{
    asst_step_end(s, o, s->step_over ? "completed" : "cancelled", NULL);
}

struct wb_uuid asst_step_id(struct wb_uuid entry, uint16_t part)
{
    return wm_id_within(entry, WM_NOUN_STEP, part);
}

void asst_step_begin(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid id,
                     struct wb_uuid message)
{
    asst_to_in_progress(s, ev, o);
    asst_message_leave(s, o);
    asst_step_leave(s, o);
    s->step = (struct asst_step){.id = id,
                                 .thread = s->run.thread,
                                 .run = s->run.id,
                                 .message = message,
                                 .assistant = wb_arena_dup(&s->of_step, ev->from->agent),
                                 .status = "in_progress",
                                 .created_ms = s->now};
    if (wb_arena_check(&s->of_step, o->w.err) < 0)
        wj_writer_fail(&o->w, s->of_step.failed);
    s->has_step = true;
    step_frame(s, o, "thread.run.step.created");
    step_frame(s, o, "thread.run.step.in_progress");
}

void asst_to_calls(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid id)
{
    asst_message_leave(s, o);
    if (!s->has_step)
        asst_step_begin(s, ev, o, id, (struct wb_uuid){0});
    else if (!s->step_sent)
        step_frame(s, o, "thread.run.step.in_progress");
}

/* The id of a step of calls that no message made: tools that run without a model, and calls of children. */
static struct wb_uuid other_step(struct asst_stream *s, const struct wm_event *ev)
{
    uint16_t part = (uint16_t)(ASST_PART_OTHERS + s->others++ % (WM_PARTS - ASST_PART_OTHERS));
    return wm_id_uuid(
        (struct wm_id){.node = ev->from->node, .index = ev->from->input, .noun = WM_NOUN_STEP, .part = part});
}

struct asst_call *asst_find_call(struct asst_stream *s, struct upp_str id)
{
    for (size_t i = 0; s->has_step && i < s->calls.n; i++)
        if (wb_str_eq(s->calls.p[i].id, id))
            return &s->calls.p[i];
    return NULL;
}

struct asst_call *asst_add_call(struct asst_stream *s, struct wd_out *o, struct upp_str id, struct upp_str name,
                                struct upp_str arguments)
{
    struct asst_call c = {.id = wb_arena_dup(&s->of_step, id.p ? id : UPP_STR("")),
                          .name = wb_arena_dup(&s->of_step, name.p ? name : UPP_STR("")),
                          .arguments = wb_arena_dup(&s->of_step, arguments.n ? arguments : UPP_STR("{}"))};
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
    wj_put_open(&o->w, "delta", '{');
    wj_put_open(&o->w, "step_details", '{');
    wd_str(o, "type", UPP_STR("tool_calls"));
    wj_put_open(&o->w, "tool_calls", '[');
    wj_write_open(&o->w, '{');
    wj_put_u64(&o->w, "index", s->calls.n - 1);
    asst_call_members(&o->w, &c, true);
    asst_frame(o, "thread.run.step.delta", UPP_STR("}]}}}"));
    return &s->calls.p[s->calls.n - 1];
}

struct asst_call *asst_need_call(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_str id,
                                 struct upp_str name, struct upp_str arguments)
{
    struct asst_call *c = asst_find_call(s, id);
    if (c)
        return c;
    asst_message_leave(s, o);
    if (s->has_message) {
        wj_writer_fail(&o->w, upp_fail(o->w.err, UPP_EBUG, "event %" PRIu64 ": call '%.*s' while a message is open",
                                       ev->number, UPP_FMT(id)));
        return NULL;
    }
    asst_to_calls(s, ev, o, s->has_step ? s->step.id : other_step(s, ev));
    return asst_add_call(s, o, id, name, arguments);
}

/* An output is a string: the text of a JSON string, any other JSON as it is. */
static void set_output(struct asst_stream *s, struct wd_out *o, struct asst_call *c, const struct wm_event *ev)
{
    const struct wj_read_opts opts = {.size = sizeof opts, .max_bytes = WD_FRAMES_TEXT, .depth = WJ_DEPTH_MAX};
    struct upp_str text = ev->tool_ended.result.p ? ev->tool_ended.result : UPP_STR("null");
    struct upp_err err;
    yyjson_val *v;
    int r = wj_read(&s->scratch, text, &opts, &v, &err);
    if (r == 0 && yyjson_is_str(v))
        text = wj_text(v);
    else
        c->json = r == 0;
    c->output = wb_arena_dup(&s->of_step, text);
    c->is_error = ev->tool_ended.outcome != WM_DONE;
    wb_arena_reset(&s->scratch);
    if (r == -UPP_ENOMEM && o->w.err)
        *o->w.err = err;
    if (r == -UPP_ENOMEM)
        wj_writer_fail(&o->w, r);
    else if (!c->output.p)
        wj_writer_fail(&o->w, wb_arena_check(&s->of_step, o->w.err));
}

void asst_tool_started(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    (void)asst_need_call(s, ev, o, ev->call.id, ev->call.name, ev->tool_started.arguments);
}

void asst_tool_ended(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    struct asst_call *c = asst_find_call(s, ev->call.id);
    if (!c && ev->from->depth > 0)
        return;
    if (!c)
        c = asst_need_call(s, ev, o, ev->call.id, ev->call.name, wb_cstr(NULL));
    if (!c || c->output.p)
        return;
    set_output(s, o, c, ev);
    c->unknown = ev->tool_ended.outcome == WM_STOPPED || ev->tool_ended.outcome == WM_UNKNOWN;
    for (size_t i = 0; i < s->calls.n; i++) {
        if (!s->calls.p[i].output.p)
            return;
        s->step_over |= s->calls.p[i].unknown;
    }
    if (!s->step_over) /* else the step ends as its run does, if that is what comes next */
        asst_step_end(s, o, "completed", NULL);
}
