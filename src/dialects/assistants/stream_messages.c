/* dialects/assistants/stream_messages.c — model output as messages of the Assistants API.
 *
 * A model may produce text and calls in any order, and concurrently. Text is streamed; calls are sent when their
 * message is committed, all in one step that ends with their outcomes. So the client never sees a voided call.
 */
#include "dialects/assistants/stream.h"
#include "model/upp_json.h"

static void message_frame(struct asst_stream *s, struct wd_out *o, const char *status, const char *reason,
                          const struct upp_message *content, const char *event)
{
    bool completed = wb_str_eq(wb_cstr(status), UPP_STR("completed"));
    struct asst_message m = {.id = s->message,
                             .thread = s->run.thread,
                             .run = s->run.id,
                             .assistant = s->step.assistant,
                             .from_assistant = true,
                             .created_ms = s->message_ms,
                             .completed_ms = completed ? s->now : 0,
                             .incomplete_ms = reason ? s->now : 0,
                             .status = status,
                             .reason = reason,
                             .content = content};
    wd_frame_open(o, UPP_STR(""));
    asst_message_write(&o->w, &m);
    asst_frame(o, event, UPP_STR(""));
}

static void message_begin(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid entry)
{
    asst_message_leave(s, o);
    if (s->has_message)
        return;
    asst_step_begin(s, ev, o, asst_step_id(entry, ASST_PART_MESSAGE), entry);
    s->has_message = true;
    s->message = entry;
    s->message_ms = s->now;
    s->n_content = 0;
    message_frame(s, o, "in_progress", NULL, NULL, "thread.message.created");
    message_frame(s, o, "in_progress", NULL, NULL, "thread.message.in_progress");
}

static void message_end(struct asst_stream *s, struct wd_out *o, const char *reason, const struct upp_message *content)
{
    s->has_message = false;
    if (reason)
        message_frame(s, o, "incomplete", reason, content, "thread.message.incomplete");
    else
        message_frame(s, o, "completed", NULL, content, "thread.message.completed");
}

/* {"id":...,"delta":{"content":[{"index":I, ; the frame ends with "}]}}". */
static void delta_begin(struct asst_stream *s, struct wd_out *o)
{
    wd_frame_open(o, UPP_STR("{"));
    wj_write_name(&o->w, UPP_STR("id"));
    asst_id(&o->w, "msg_", s->message);
    wd_str(o, "object", UPP_STR("thread.message.delta"));
    wj_put_open(&o->w, "delta", '{');
    wj_put_open(&o->w, "content", '[');
    wj_write_open(&o->w, '{');
    wj_put_u64(&o->w, "index", s->n_content++);
}

void asst_fill_gaps(struct asst_stream *s, struct wd_out *o, size_t before)
{
    for (size_t i = 0; i < before && i < s->open.parts.n; i++) {
        struct wd_part *p = &s->open.parts.p[i];
        if (p->n_head && !p->said)
            asst_add_text(s, o, p, UPP_STR(""));
    }
}

static void whole_part(struct asst_stream *s, struct wd_out *o, size_t index, const struct upp_part *p)
{
    asst_fill_gaps(s, o, index);
    delta_begin(s, o);
    asst_part_members(&o->w, p);
    asst_frame(o, "thread.message.delta", UPP_STR("}]}}"));
}

int asst_message_open(struct asst_stream *s, const struct wm_event *ev, struct upp_err *err)
{
    if (!s->open.open)
        s->aside = ev->message_open.aside;
    return wd_open_begin(&s->open, ev, err);
}

int asst_part_open(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_part(&s->open, ev, &p, err);
    if (r < 0 || s->aside || !asst_part_is_shown(ev->part.kind, ev->part.media))
        return r;
    p->shown = true;
    message_begin(s, ev, o, s->open.entry);
    if (ev->part.kind != UPP_PART_TEXT) {
        struct upp_part part = {.kind = ev->part.kind, .media = ev->part.media};
        whole_part(s, o, ev->part.index, &part);
        return 0;
    }
    delta_begin(s, o);
    wd_str(o, "type", UPP_STR("text"));
    wj_put_open(&o->w, "text", '{');
    wj_write_name(&o->w, UPP_STR("value"));
    return wd_open_head(&s->open, p, o, err);
}

int asst_part_close(struct asst_stream *s, const struct wm_event *ev, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&s->open, ev, &p, err);
    if (r == 0)
        p->state = WD_CLOSED;
    return r;
}

/* Sends the calls of a committed message in one step. A call that was cut is never run. */
static void message_calls(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_message *m = &ev->message.entry->message;
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS));)
        if (!p->cut && !asst_find_call(s, p->id)) {
            asst_to_calls(s, ev, o, asst_step_id(ev->message.id, ASST_PART_CALLS));
            (void)asst_add_call(s, o, p->id, p->name, p->text);
        }
}

/* A message that was cut short stays open: whether its run was cancelled or failed is the next that the run says. */
static void hold_message(struct asst_stream *s, struct wd_out *o, const struct upp_message *m)
{
    int r = wm_message_copy(&s->of_step, m, &s->content, o->w.err);
    s->cut = r >= 0;
    if (r < 0)
        wj_writer_fail(&o->w, r);
}

/* Sends the rest of the message. True: the message was sent, and its step has the usage. */
static bool send_message(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_message *m = &ev->message.entry->message;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        const struct wd_part *streamed = wd_open_at(&s->open, i);
        if (!asst_part_is_shown(p->kind, p->media) || (streamed && streamed->shown))
            continue;
        message_begin(s, ev, o, ev->message.id);
        whole_part(s, o, s->open.parts.n, p);
    }
    if (!s->has_message)
        return false;
    s->step.usage = &s->usage;
    if (m->interrupted) {
        hold_message(s, o, m);
        return true;
    }
    message_end(s, o, NULL, m);
    asst_step_end(s, o, "completed", NULL);
    return true;
}

void asst_message_event(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_usage *unsent = &s->usage;
    if (!ev->message.entry || ev->message.entry->message.role != UPP_ROLE_ASSISTANT)
        return; /* only assistant messages are model output */
    if (ev->message.entry->audience != WM_AUDIENCE_RUN) {
        asst_message_leave(s, o);
        s->usage = ev->message.usage;
        if (!send_message(s, ev, o))
            asst_step_leave(s, o);
        else
            unsent = NULL;
        message_calls(s, ev, o);
        if (s->has_step && !s->cut)
            s->step.usage = unsent;
    }
    wd_open_end(&s->open);
}

void asst_message_discard(struct asst_stream *s, struct wd_out *o, const char *reason, const char *status,
                          const char *why)
{
    if (s->has_message) {
        message_end(s, o, reason, s->cut ? &s->content : NULL);
        asst_step_end(s, o, status, why);
    }
    s->cut = false;
    wd_open_end(&s->open);
}
