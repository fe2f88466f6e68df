/* dialects/responses/stream.c — encodes a run's events as the events `response.*` of OpenAI's Responses API.
 *
 * Items open in the order in which their output begins, and each has an index of its own. What a void takes back ends
 * as an incomplete item that the final response does not contain.
 */
#include <inttypes.h>
#include <upp/model.h>

#include "base/err.h"
#include "dialects/responses/response.h"
#include "model/id.h"

enum {
    SCRATCH_MAX = 512 << 20,
    CALLS_MAX = 256 << 20,
    AGENT_MAX = 1 << 16,
};

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* Opens an event: an object with its type and number. False: there are none. */
static bool event_open(struct resp_stream *s, struct wd_out *o, const char *type)
{
    if (s->whole)
        return false;
    wd_frame_open(o, UPP_STR("{"));
    wd_str(o, "type", wb_cstr(type));
    wj_put_u64(&o->w, "sequence_number", s->sequence++);
    return true;
}

static void event_close(struct wd_out *o, const char *type)
{
    size_t n = o->to->list.n;
    wd_frame_close(o, UPP_STR("}"));
    if (o->to->list.n > n)
        o->to->list.p[n].name = type;
}

static void response_event(struct resp_stream *s, struct wd_out *o, const char *type, const char *status)
{
    if (!event_open(s, o, type))
        return;
    wj_write_name(&o->w, UPP_STR("response"));
    resp_write(s, &o->w, status);
    event_close(o, type);
}

static void begin(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    if (s->begun)
        return;
    s->begun = true;
    if (!s->agent.n) {
        s->run = ev->from->root;
        wb_buf_add(&s->agent, ev->from->agent);
        if (s->agent.failed)
            wj_writer_fail(&o->w, wb_buf_check(&s->agent, o->w.err));
        if (!s->created_ms)
            s->created_ms = s->now;
    }
    response_event(s, o, "response.created", "in_progress");
    response_event(s, o, "response.in_progress", "in_progress");
}

/* An item as an event; the writer is called once more to keep a finished one. */
typedef void item_writer(struct wj_writer *w, const void *item);

static void item_event(struct resp_stream *s, struct wd_out *o, const char *type, uint32_t output, item_writer *write,
                       const void *item)
{
    if (!event_open(s, o, type))
        return;
    wj_put_u64(&o->w, "output_index", output);
    wj_write_name(&o->w, UPP_STR("item"));
    write(&o->w, item);
    event_close(o, type);
}

static void keep(struct resp_stream *s, struct wd_out *o, item_writer *write, const void *item)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(WD_FRAMES_TEXT);
    struct wj_writer w;
    wj_writer_init(&w, &json, o->w.err);
    write(&w, item);
    int r = wj_writer_check(&w);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    else
        resp_keep(s, o, wb_buf_str(&json));
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

struct message {
    struct wb_uuid id;
    const struct upp_message *m;
    const char *status;
};

static void write_message(struct wj_writer *w, const void *item)
{
    const struct message *m = item;
    resp_message_item(w, m->id, m->m, m->status);
}

struct reasoning {
    struct wb_uuid id;
    struct upp_str text;
};

static void write_reasoning(struct wj_writer *w, const void *item)
{
    const struct reasoning *x = item;
    resp_reasoning_item(w, x->id, x->text);
}

/* The members that all events about a part have. */
static void put_place(struct wd_out *o, const char *prefix, struct wb_uuid id, const struct resp_part *p,
                      const char *index)
{
    resp_put_id(&o->w, "item_id", prefix, id);
    wj_put_u64(&o->w, "output_index", p->output);
    wj_put_u64(&o->w, index, p->content);
}

static void text_event(struct resp_stream *s, struct wd_out *o, const char *type, const struct resp_part *p,
                       const char *member, struct upp_str text)
{
    if (!event_open(s, o, type))
        return;
    put_place(o, "msg_", s->message, p, "content_index");
    wd_str(o, member, text.p ? text : UPP_STR(""));
    wj_put_raw(&o->w, "logprobs", "[]", 2);
    event_close(o, type);
}

static void part_event(struct resp_stream *s, struct wd_out *o, const char *type, const struct resp_part *p,
                       struct upp_str text)
{
    if (!event_open(s, o, type))
        return;
    put_place(o, "msg_", s->message, p, "content_index");
    wj_write_name(&o->w, UPP_STR("part"));
    resp_text_part(&o->w, text);
    event_close(o, type);
}

static void summary_event(struct resp_stream *s, struct wd_out *o, const char *type, struct wb_uuid id,
                          const struct resp_part *p, const char *member, struct upp_str text)
{
    if (!event_open(s, o, type))
        return;
    put_place(o, "rs_", id, p, "summary_index");
    wd_str(o, member, text.p ? text : UPP_STR(""));
    event_close(o, type);
}

static void summary_part_event(struct resp_stream *s, struct wd_out *o, const char *type, struct wb_uuid id,
                               const struct resp_part *p, struct upp_str text)
{
    if (!event_open(s, o, type))
        return;
    put_place(o, "rs_", id, p, "summary_index");
    wj_put_open(&o->w, "part", '{');
    wd_str(o, "type", UPP_STR("summary_text"));
    wd_str(o, "text", text.p ? text : UPP_STR(""));
    wd_end(o, '}');
    event_close(o, type);
}

static void text_begins(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid entry,
                        struct resp_part *p)
{
    begin(s, ev, o);
    if (!s->has_item) {
        s->has_item = true;
        s->message = entry;
        s->item = s->n_output++;
        s->n_content = 0;
        item_event(s, o, "response.output_item.added", s->item, write_message,
                   &(struct message){entry, NULL, "in_progress"});
    }
    *p = (struct resp_part){s->item, s->n_content++};
    part_event(s, o, "response.content_part.added", p, UPP_STR(""));
}

static void text_ends(struct resp_stream *s, struct wd_out *o, const struct resp_part *p, struct upp_str text)
{
    text_event(s, o, "response.output_text.done", p, "text", text);
    part_event(s, o, "response.content_part.done", p, text);
}

static void reasoning_begins(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid id,
                             struct resp_part *p)
{
    begin(s, ev, o);
    *p = (struct resp_part){s->n_output++, 0};
    item_event(s, o, "response.output_item.added", p->output, write_reasoning, &(struct reasoning){id, {NULL, 0}});
    summary_part_event(s, o, "response.reasoning_summary_part.added", id, p, UPP_STR(""));
}

static void reasoning_ends(struct resp_stream *s, struct wd_out *o, struct wb_uuid id, const struct resp_part *p,
                           struct upp_str text, bool whole)
{
    struct reasoning item = {id, text};
    summary_event(s, o, "response.reasoning_summary_text.done", id, p, "text", text);
    summary_part_event(s, o, "response.reasoning_summary_part.done", id, p, text);
    item_event(s, o, "response.output_item.done", p->output, write_reasoning, &item);
    if (whole)
        keep(s, o, write_reasoning, &item);
}

static bool shown(uint8_t kind)
{
    return kind == UPP_PART_TEXT || kind == UPP_PART_REASONING;
}

static int message_open(struct resp_stream *s, const struct wm_event *ev, struct upp_err *err)
{
    if (!s->open.open)
        s->aside = ev->message_open.aside;
    s->parts.n = 0;
    return wd_open_begin(&s->open, ev, err);
}

static int part_open(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_part(&s->open, ev, &p, err);
    if (r < 0)
        return r;
    while (s->parts.n <= ev->part.index)
        if (!wb_vec_push(&s->parts, (struct resp_part){0}, WM_PARTS))
            return upp_fail(err, UPP_ENOMEM, "out of memory");
    p->shown = !s->aside && shown(ev->part.kind);
    if (p->shown && ev->part.kind == UPP_PART_TEXT)
        text_begins(s, ev, o, s->open.entry, &s->parts.p[ev->part.index]);
    else if (p->shown)
        reasoning_begins(s, ev, o, wm_id_within(s->open.entry, WM_NOUN_PART, ev->part.index),
                         &s->parts.p[ev->part.index]);
    return 0;
}

static int delta(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&s->open, ev, &p, err);
    if (r < 0 || !p->shown)
        return r;
    const struct resp_part *place = &s->parts.p[ev->part.index];
    if (p->kind == UPP_PART_TEXT)
        text_event(s, o, "response.output_text.delta", place, "delta", ev->part.text);
    else
        summary_event(s, o, "response.reasoning_summary_text.delta",
                      wm_id_within(s->open.entry, WM_NOUN_PART, ev->part.index), place, "delta", ev->part.text);
    return 0;
}

static int part_close(struct resp_stream *s, const struct wm_event *ev, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&s->open, ev, &p, err);
    if (r >= 0)
        p->state = WD_CLOSED;
    return r;
}

/* The message is complete: what was not streamed follows, and its items end. */
static void message(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_message *m = ev->message.entry ? &ev->message.entry->message : NULL;
    if (!m || m->role != UPP_ROLE_ASSISTANT)
        return;
    for (size_t i = 0; ev->message.entry->audience != WM_AUDIENCE_RUN && i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        const struct wd_part *streamed = wd_open_at(&s->open, i);
        struct resp_part place = streamed && streamed->shown ? s->parts.p[i] : (struct resp_part){0};
        bool late = !streamed || !streamed->shown;
        if (!shown(p->kind) || (late && !p->text.n))
            continue;
        if (p->kind == UPP_PART_TEXT) {
            if (late)
                text_begins(s, ev, o, ev->message.id, &place);
            if (late)
                text_event(s, o, "response.output_text.delta", &place, "delta", p->text);
            text_ends(s, o, &place, p->text);
        } else {
            struct wb_uuid id = wm_id_within(ev->message.id, WM_NOUN_PART, (uint32_t)i);
            if (late)
                reasoning_begins(s, ev, o, id, &place);
            reasoning_ends(s, o, id, &place, p->text, true);
        }
    }
    if (s->has_item) {
        struct message item = {s->message, m, m->interrupted ? "incomplete" : "completed"};
        item_event(s, o, "response.output_item.done", s->item, write_message, &item);
        keep(s, o, write_message, &item);
    }
    s->has_item = false;
    s->stop = ev->message.stop;
    s->kept = s->items.n;
    wd_open_end(&s->open);
}

/* What was streamed of the open message is taken back. */
static void discard(struct resp_stream *s, struct wd_out *o)
{
    for (size_t i = 0; i < s->open.parts.n && i < s->parts.n; i++)
        if (s->open.parts.p[i].shown && s->open.parts.p[i].kind == UPP_PART_REASONING)
            reasoning_ends(s, o, wm_id_within(s->open.entry, WM_NOUN_PART, (uint32_t)i), &s->parts.p[i], UPP_STR(""),
                           false);
    if (s->has_item)
        item_event(s, o, "response.output_item.done", s->item, write_message,
                   &(struct message){s->message, NULL, "incomplete"});
    s->has_item = false;
    s->items.n = s->kept;
    wd_open_end(&s->open);
}

/* ---- Tools of the server ----------------------------------------------------------------------------------------- */

struct tool {
    const struct resp_call *call;
    const struct wm_event *ended;
};

static void write_tool(struct wj_writer *w, const void *item)
{
    const struct tool *t = item;
    resp_tool_item(w, t->call, t->ended);
}

static void tool_event(struct resp_stream *s, struct wd_out *o, const char *type, const struct resp_call *c)
{
    if (!event_open(s, o, type))
        return;
    resp_put_call_id(&o->w, "item_id", "mcp_", c->id);
    wj_put_u64(&o->w, "output_index", c->output);
    event_close(o, type);
}

static int tool_started(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct resp_call c = {.id = wb_arena_dup(&s->of_calls, ev->call.id),
                          .name = wb_arena_dup(&s->of_calls, ev->call.name),
                          .arguments = wb_arena_dup(&s->of_calls, ev->tool_started.arguments)};
    int r = wb_arena_check(&s->of_calls, err);
    if (r < 0)
        return r;
    begin(s, ev, o);
    c.output = s->n_output++;
    if (!wb_vec_push(&s->calls, c, WM_PARTS))
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    item_event(s, o, "response.output_item.added", c.output, write_tool, &(struct tool){&c, NULL});
    tool_event(s, o, "response.mcp_call.in_progress", &c);
    return 0;
}

static void tool_ended(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    for (size_t i = 0; i < s->calls.n; i++) {
        struct resp_call c = s->calls.p[i];
        if (!wb_str_eq(c.id, ev->call.id))
            continue;
        struct tool item = {&c, ev};
        begin(s, ev, o);
        tool_event(s, o, ev->tool_ended.outcome == WM_DONE ? "response.mcp_call.completed" : "response.mcp_call.failed",
                   &c);
        item_event(s, o, "response.output_item.done", c.output, write_tool, &item);
        keep(s, o, write_tool, &item);
        s->kept = s->items.n;
        s->calls.p[i] = s->calls.p[--s->calls.n];
        return;
    }
}

/* ---- The run ----------------------------------------------------------------------------------------------------- */

static void write_function(struct wj_writer *w, const void *item)
{
    resp_function_item(w, item, false);
}

static void write_function_begin(struct wj_writer *w, const void *item)
{
    resp_function_item(w, item, true);
}

static void write_approval(struct wj_writer *w, const void *item)
{
    resp_approval_item(w, item);
}

static void arguments_events(struct resp_stream *s, struct wd_out *o, const struct wm_pending *p, uint32_t output)
{
    static const char *const types[] = {"response.function_call_arguments.delta",
                                        "response.function_call_arguments.done"};
    static const char *const members[] = {"delta", "arguments"};
    for (size_t i = 0; i < 2; i++) {
        if (!event_open(s, o, types[i]))
            return;
        resp_put_call_id(&o->w, "item_id", "fc_", p->call);
        wj_put_u64(&o->w, "output_index", output);
        wd_str(o, members[i], p->arguments.n ? p->arguments : UPP_STR("{}"));
        if (i)
            wd_str(o, "name", p->name);
        event_close(o, types[i]);
    }
}

static void pending_item(struct resp_stream *s, struct wd_out *o, const struct wm_pending *p)
{
    uint32_t output = s->n_output++;
    item_writer *write = p->approval ? write_approval : write_function;
    item_event(s, o, "response.output_item.added", output, p->approval ? write : write_function_begin, p);
    if (!p->approval)
        arguments_events(s, o, p, output);
    item_event(s, o, "response.output_item.done", output, write, p);
    keep(s, o, write, p);
}

static void response_ends(struct resp_stream *s, struct wd_out *o, const char *type, const char *status)
{
    if (!s->whole) {
        response_event(s, o, type, status);
        return;
    }
    wd_frame_open(o, UPP_STR(""));
    resp_write(s, &o->w, status);
    wd_frame_close(o, UPP_STR(""));
}

static void waits(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    begin(s, ev, o);
    for (size_t i = 0; i < ev->run.n_pending; i++)
        pending_item(s, o, &ev->run.pending[i]);
    response_ends(s, o, "response.completed", "completed");
    s->paused = true;
    s->begun = false;
    s->sequence = s->n_output = 0;
    s->items.n = s->kept = 0;
    s->usage = (struct upp_usage){0};
    s->segment++;
}

static void ends(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    wb_buf_clear(&s->error);
    wb_buf_add(&s->error, ev->run.error);
    if (s->error.failed)
        wj_writer_fail(&o->w, wb_buf_check(&s->error, o->w.err));
    begin(s, ev, o);
    discard(s, o);
    s->ended = true;
    if (ev->run.status == WM_CANCELED)
        response_ends(s, o, "response.incomplete", "cancelled");
    else if (ev->run.status != WM_COMPLETED)
        response_ends(s, o, "response.failed", "failed");
    else if (wm_is_incomplete(ev->run.status, ev->run.error) || s->stop == UPP_STOP_LENGTH ||
             s->stop == UPP_STOP_FILTER)
        response_ends(s, o, "response.incomplete", "incomplete");
    else
        response_ends(s, o, "response.completed", "completed");
}

static void run(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o)
{
    s->status = ev->run.status;
    if (ev->run.status == WM_RUNNING) {
        s->paused = false;
        begin(s, ev, o);
    } else if (ev->run.status == WM_WAITING)
        waits(s, ev, o);
    else if (wm_status_ended(ev->run.status))
        ends(s, ev, o);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static int responses_begin(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct resp_stream *s = state;
    (void)err;
    *s = (struct resp_stream){.agent = WB_BUF(AGENT_MAX),
                              .items = WB_BUF(WD_FRAMES_TEXT),
                              .error = WB_BUF(WD_FRAMES_TEXT),
                              .scratch = WB_ARENA(SCRATCH_MAX),
                              .of_calls = WB_ARENA(CALLS_MAX)};
    if (opts) {
        const struct wd_responses_opts *own = opts->own;
        s->whole = own && own->whole;
        s->thread = opts->thread;
        s->created_ms = opts->created_ms;
        s->options = opts->options;
    }
    wd_open_init(&s->open);
    return 0;
}

static int own_event(struct resp_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    switch (ev->kind) {
    case WM_DELTA:
        return delta(s, ev, o, err);
    case WM_RUN:
        run(s, ev, o);
        return 0;
    case WM_MESSAGE:
        message(s, ev, o);
        return 0;
    case WM_VOID:
        discard(s, o);
        return 0;
    case WM_MESSAGE_OPEN:
        return message_open(s, ev, err);
    case WM_PART_OPEN:
        return part_open(s, ev, o, err);
    case WM_PART_CLOSE:
        return part_close(s, ev, err);
    case WM_TOOL_STARTED:
        return wm_is_branch(ev) ? 0 : tool_started(s, ev, o, err);
    case WM_TOOL_ENDED:
        if (!wm_is_branch(ev))
            tool_ended(s, ev, o);
        return 0;
    default: /* this API has no equivalent of the others */
        return 0;
    }
}

static int responses_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct resp_stream *s = state;
    struct wd_out o;
    if (ev->time_ms)
        s->now = ev->time_ms;
    if (ev->kind == WM_MESSAGE)
        wm_usage_add(&s->usage, &ev->message.usage);
    if (ev->from->depth > 0)
        return 0;
    wd_out_init(&o, out, err);
    int r = own_event(s, ev, &o, err);
    return r < 0 ? r : wd_out_check(&o);
}

static bool responses_paused(const void *state)
{
    return ((const struct resp_stream *)state)->paused;
}

static void responses_done(void *state)
{
    struct resp_stream *s = state;
    wd_open_done(&s->open);
    wb_buf_done(&s->agent);
    wb_buf_done(&s->items);
    wb_buf_done(&s->error);
    wb_vec_done(&s->parts);
    wb_vec_done(&s->calls);
    wb_arena_done(&s->scratch);
    wb_arena_done(&s->of_calls);
}

const struct wd_stream_ops wd_stream_responses = {
    .name = "responses",
    .state_size = sizeof(struct resp_stream),
    .own_size = sizeof(struct wd_responses_opts),
    .headers = "",
    .of_the_run = true,
    .begin = responses_begin,
    .event = responses_event,
    .paused = responses_paused,
    .done = responses_done,
};
