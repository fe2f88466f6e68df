/* server/doors/run_stream.c — streams a run: a cursor of the engine, an encoder, and frames. */
#include "server/doors/run_stream.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "dialects/core/failure.h"
#include "run/engine.h"
#include "server/doors/start.h"
#include "server/http/conn.h"
#include "server/http/error.h"
#include "server/http/server.h"
#include "server/http/stream.h"

struct feed {
    struct wr_reader *reader;
    const struct wd_stream_ops *ops;
    void *state;
    bool begun, to_wait;
    bool segment, over; /* ends at its first wait; which was there */
    bool empty;         /* the client has received nothing, and there was nothing so far */
    struct sv_exchange *x;
    struct wb_uuid run;
    struct wb_uuid unstored;     /* thread that is erased at the end; all zero: none */
    uint64_t drop;               /* frames that the client has */
    struct sv_preamble preamble; /* until it is sent */
    struct wd_frames frames;
};

static int unknown(struct upp_str as, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf names = WB_BUF(1024);
    const struct wd_stream_ops *ops;
    struct wb_guess guess = {0};
    for (size_t i = 0; (ops = wd_stream_at(i)); i++) {
        wb_buf_addf(&names, "%s%s", i ? ", " : "", ops->name);
        wb_guess(&guess, as, wb_cstr(ops->name));
    }
    return upp_fail(err, UPP_EINVALID, "there is no stream as '%.*s' (%.*s)%s", UPP_FMT(as),
                    UPP_FMT(wb_buf_str(&names)), wb_guessed(&guess));
}

static int read_options(struct sv_exchange *x, struct sv_run_stream *ret, struct upp_err *err)
{
    const struct wd_stream_option *o = ret->ops->options;
    struct upp_str text;
    int r = sv_query(x, UPP_STR("children"), &text, err);
    if (r > 0)
        ret->opts.children = wb_str_eq(text, UPP_STR("true")) || wb_str_eq(text, UPP_STR("1"));
    for (; r >= 0 && o && o->name; o++) {
        r = sv_query(x, wb_cstr(o->name), &text, err);
        if (r > 0)
            r = o->set(ret->opts.own, text, err);
    }
    return r < 0 ? r : 0;
}

int sv_run_stream_read(struct sv_exchange *x, const char *as, struct sv_run_stream *ret, struct upp_err *err)
{
    const struct sv_door *door = x->conn->match.door;
    struct upp_str name = wb_cstr(as ? as : door->stream);
    *ret = (struct sv_run_stream){.opts.size = sizeof ret->opts};
    int r = sv_query(x, UPP_STR("as"), &name, err);
    if (r < 0)
        return r;
    ret->ops = wd_stream_find(name);
    if (!ret->ops)
        return unknown(name, err);
    ret->opts.own = wb_arena_zero(&x->arena, WB_MAX(ret->ops->own_size, 1), _Alignof(max_align_t));
    return ret->opts.own ? read_options(x, ret, err) : wb_arena_check(&x->arena, err);
}

int sv_run_stream_from(struct sv_exchange *x, struct sv_run_stream *ret, struct upp_err *err)
{
    size_t n;
    struct sv_sse_id id;
    uint64_t first;
    struct upp_str text = sv_http_header(x->request, UPP_STR("last-event-id"), &n);
    if (n && text.n) {
        if (n > 1 || !sv_sse_id_parse(text, &id))
            return upp_fail(err, UPP_EINVALID, "a Last-Event-ID is EPOCH-NUMBER.PART or EPOCH-NUMBER");
        ret->from = (struct wr_from){id.epoch, id.number, id.part};
        return 0;
    }
    int r = sv_query(x, UPP_STR("from"), &text, err);
    if (r <= 0)
        return r;
    if (!wb_str_u64(text, &first) || first == 0)
        return upp_fail(err, UPP_EINVALID, "from is the number of an event, from 1 on");
    ret->from.number = first - 1; /* in the current epoch */
    return 0;
}

static void put_frame(struct sv_stream *st, const struct wd_frames *frames, size_t i, const struct sv_sse_id *id)
{
    const struct wd_frame *frame = &frames->list.p[i];
    struct upp_str data = wb_str_sub(wb_buf_str(&frames->text), frame->from, frame->n);
    if (!st->lines) {
        sv_sse_frame(&st->out, frame->name, data, st->apart ? NULL : id);
        sv_stream_cut(st);
        return;
    }
    wb_buf_add(&st->out, data);
    wb_buf_addc(&st->out, '\n');
}

/* Heartbeats have no id: Last-Event-ID stays that of the run's last event. */
static int beat(void *arg, struct sv_stream *st, struct upp_err *err)
{
    struct feed *f = arg;
    wd_frames_clear(&f->frames);
    int r = f->ops->beat(f->state, &f->frames, err);
    for (size_t i = 0; r >= 0 && i < f->frames.list.n; i++)
        put_frame(st, &f->frames, i, NULL);
    return r < 0 ? r : f->frames.list.n > 0;
}

static int encode(struct feed *f, struct sv_stream *st, const struct wm_event *ev, size_t received, struct upp_err *err)
{
    f->empty = false;
    wd_frames_clear(&f->frames);
    int r = f->ops->event(f->state, ev, &f->frames, err);
    if (r < 0)
        return r;
    for (size_t i = received; i < f->frames.list.n; i++) {
        if (f->drop) {
            f->drop--;
            continue;
        }
        put_frame(st, &f->frames, i, &(struct sv_sse_id){ev->from->epoch, ev->number, (uint32_t)i + 1});
    }
    return 0;
}

/* A run that was cancelled while it was queued has no events, but a client of this dialect waits for its last state. */
WEFT_SUSPENDS static int end_stream(struct feed *f, struct sv_stream *st, struct upp_err *err)
{
    struct wr_run_info look;
    if (!f->empty || !f->ops->of_the_run)
        return SV_PULL_END;
    int r = wr_get(f->x->core->engine, &f->x->owner, f->run, &f->x->arena, &look, err);
    if (r < 0 || !wm_status_ended(look.run.status))
        return r < 0 ? r : SV_PULL_END;
    const struct wm_source from = {.run = f->run, .root = f->run, .agent = look.run.agent, .epoch = look.run.epoch};
    const struct wm_event last = {
        .kind = WM_RUN, .number = 1, .run.status = look.run.status, .time_ms = look.run.ended_ms, .from = &from};
    r = encode(f, st, &last, 0, err);
    return r < 0 ? r : SV_PULL_END;
}

/* Does a stream end when the run waits? */
static bool ends_at_wait(const struct feed *f)
{
    return f->to_wait && (!f->ops->paused || f->ops->paused(f->state));
}

/* Does the segment end with an event that the client does not have? */
static bool ends_segment(const struct feed *f, const struct wm_event *ev)
{
    return f->segment && ev->kind == WM_RUN && !ev->from->depth && ev->run.status == WM_WAITING &&
           !wr_reader_received(f->reader, ev) && ends_at_wait(f);
}

/* Before the last frames are sent: a client that has them finds nothing any more. */
WEFT_SUSPENDS static void erase_unstored(struct feed *f)
{
    if (!wb_uuid_is_nil(f->unstored))
        wr_unstored_end(f->x->server->opts.store, &f->x->owner, f->unstored);
    f->unstored = WB_UUID_NIL;
}

static bool ends_the_run(const struct wm_event *ev)
{
    return ev->kind == WM_RUN && !ev->from->depth && wm_status_ended(ev->run.status);
}

/* One event: its frames, each with its id. Frames that the client has already only feed the encoder. */
WEFT_SUSPENDS static int pull(void *arg, struct sv_stream *st, struct upp_err *err)
{
    struct feed *f = arg;
    struct wm_event ev;
    if (f->preamble.name) {
        sv_sse_frame(&st->out, f->preamble.name, f->preamble.data, NULL);
        f->preamble.name = NULL;
    }
    if (f->over)
        return SV_PULL_END;
    int r = wr_reader_try(f->reader, ends_at_wait(f), &ev, sv_stream_wake, st, err);
    if (r == -UPP_EBUSY)
        return SV_PULL_LATER;
    if (r == 0)
        erase_unstored(f);
    if (r <= 0)
        return r < 0 ? r : end_stream(f, st, err);
    r = encode(f, st, &ev, wr_reader_received(f->reader, &ev), err);
    f->over = r >= 0 && ends_segment(f, &ev);
    if (r >= 0 && ends_the_run(&ev)) /* not one pull later: long frames may have been sent by then */
        erase_unstored(f);
    return r < 0 ? r : SV_PULL_MORE;
}

static void feed_done(struct feed *f)
{
    if (f->begun && f->ops->done)
        f->ops->done(f->state);
    wr_reader_close(f->reader);
    wd_frames_done(&f->frames);
    wb_free(f->state);
}

static struct upp_str agent_title(void *arg, struct upp_str agent)
{
    const struct wr_agent_def *def = wr_agent(arg, agent);
    return def && !def->base ? def->title : (struct upp_str){NULL, 0};
}

/* Tools of MCP servers that the agent has. */
static int mcp_tools(struct sv_exchange *x, struct upp_str agent, struct wd_stream_opts *ret, struct upp_err *err)
{
    const struct wr_agent_def *def = wr_agent(x->core->engine, agent);
    struct wd_tool *list = def && def->n_tools ? wb_new_n(&x->arena, struct wd_tool, def->n_tools) : NULL;
    ret->n_tools = 0;
    for (size_t i = 0; list && i < def->n_tools; i++) {
        const struct wr_tool *t = &def->tools[i];
        if (t->kind == WR_TOOL_CLIENT || t->source != WR_SOURCE_MCP)
            continue;
        list[ret->n_tools++] = (struct wd_tool){.name = wb_arena_dup(&x->arena, t->spec.name),
                                                .server = wb_arena_dup(&x->arena, t->server),
                                                .description = wb_arena_dup(&x->arena, t->spec.description),
                                                .parameters = wb_arena_dup(&x->arena, t->spec.parameters)};
    }
    ret->tools = list;
    return wb_arena_check(&x->arena, err);
}

/* Looks up what the dialect needs to know about the run and no event contains. The texts are in the exchange's arena.
 */
WEFT_SUSPENDS static int look_up_run(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s,
                                     struct upp_err *err)
{
    struct wr_run_info look;
    int r = sv_look_at_run(x, run, &look, err);
    if (r < 0)
        return r;
    s->opts.thread = look.run.thread;
    s->opts.created_ms = look.run.created_ms;
    s->opts.options = look.run.options;
    return mcp_tools(x, look.run.agent, &s->opts, err);
}

WEFT_SUSPENDS static int feed_begin(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s, struct feed *f,
                                    struct upp_err *err)
{
    *f = (struct feed){.ops = s->ops,
                       .to_wait = s->to_wait,
                       .segment = s->segment,
                       .preamble = s->preamble,
                       .empty = !s->from.number,
                       .x = x,
                       .run = run,
                       .drop = s->drop};
    x->run = run;
    wd_frames_init(&f->frames);
    s->opts.title_of = agent_title;
    s->opts.arg = x->core->engine;
    int r = f->ops->of_the_run ? look_up_run(x, run, s, err) : 0;
    if (r < 0)
        return r;
    if (s->unstored)
        f->unstored = s->opts.thread;
    f->state = wb_calloc(1, WB_MAX(f->ops->state_size, 1));
    r = f->state ? wr_reader_open(x->core->engine, &x->owner, run, &s->from, &f->reader, err)
                 : upp_fail(err, UPP_ENOMEM, "no memory for a stream");
    if (r >= 0)
        r = f->ops->begin(f->state, &s->opts, err);
    f->begun = r >= 0;
    return r;
}

/* Calls `frame` for the frames of one event that the client does not have. 1: it wants no more. */
static int give_frames(struct feed *f, const struct wm_event *ev, sv_frame_fn *frame, void *arg, struct upp_err *err)
{
    wd_frames_clear(&f->frames);
    int r = f->ops->event(f->state, ev, &f->frames, err);
    for (size_t i = r < 0 ? 0 : wr_reader_received(f->reader, ev); r == 0 && i < f->frames.list.n; i++) {
        const struct wd_frame *at = &f->frames.list.p[i];
        r = frame(arg, ev, at->name, wb_str_sub(wb_buf_str(&f->frames.text), at->from, at->n), err);
    }
    return r;
}

int sv_run_encode(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s, bool whole, sv_frame_fn *frame,
                  void *arg, struct upp_err *err)
{
    struct feed f;
    struct wm_event ev;
    int r = feed_begin(x, run, s, &f, err);
    while (r == 0 && !f.over) {
        r = whole ? wr_reader_next(f.reader, ends_at_wait(&f), &ev, err)
                  : wr_reader_try(f.reader, ends_at_wait(&f), &ev, NULL, NULL, err);
        if (r <= 0)
            break;
        r = give_frames(&f, &ev, frame, arg, err);
        f.over = ends_segment(&f, &ev);
    }
    feed_done(&f);
    return r == -UPP_EBUSY && !whole ? 0 : r < 0 ? r : 0;
}

/* ---- One frame --------------------------------------------------------------------------------------------------- */

struct one {
    struct sv_exchange *x;
    uint32_t skip;
    bool found;
    bool stored; /* it is looked at: that the run has failed is no failure of the request */
};

/* A run that failed as the answer to the request that started it. 0: the frame says it. */
static int answer_failure(struct one *o, const struct wm_event *ev, bool error, struct upp_err *err)
{
    struct wd_failure f;
    if (o->stored || ev->kind != WM_RUN || !wm_status_ended(ev->run.status) || ev->run.status == WM_COMPLETED)
        return 0;
    wd_failure_read(&o->x->arena, ev->run.status, ev->run.error, &f);
    if (!f.refused && !error)
        return 0;
    const char *message = wb_arena_dup(&o->x->arena, f.message).p, *code = wb_arena_dup(&o->x->arena, f.code).p;
    if (!message || !code)
        return wb_arena_check(&o->x->arena, err);
    sv_error_refuse_as(o->x, o->x->conn->match.door, f.status, message, code, f.retry_ms);
    if (!f.refused) /* the run has tried what it may, and another request would be another run */
        sv_reply_header(&o->x->reply, "x-should-retry", UPP_STR("false"));
    return 1;
}

static int take_one(void *arg, const struct wm_event *ev, const char *name, struct upp_str frame, struct upp_err *err)
{
    struct one *o = arg;
    if (o->skip--)
        return 0;
    o->found = true;
    int r = answer_failure(o, ev, name != NULL, err);
    if (r != 0)
        return r;
    o->x->reply.status = 200;
    wb_buf_add(&o->x->reply.body, frame);
    r = wb_buf_check(&o->x->reply.body, err);
    return r < 0 ? r : 1;
}

int sv_run_answer(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s, struct upp_err *err)
{
    struct one one;
    unsigned tries = 0;
    int r;
    do {
        one = (struct one){.x = x, .skip = s->skip, .stored = s->now};
        r = sv_run_encode(x, run, s, !s->now, take_one, &one, err);
    } while (sv_try_again(x, r, err, &tries));
    if (r < 0 || one.found || s->now)
        return r < 0 ? r : one.found;
    return upp_fail(err, UPP_ENOTFOUND, "the run has no such answer");
}

WEFT_SUSPENDS int sv_run_stream(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s, struct upp_err *err)
{
    struct feed f;
    struct sv_stream_opts opts = {.headers = s->ops->headers,
                                  .lines = s->lines,
                                  .apart = s->plain,
                                  .beat = s->ops->beat && x->settings->heartbeats ? beat : NULL};
    unsigned tries = 0;
    int r;
    do {
        r = feed_begin(x, run, s, &f, err);
        if (r >= 0)
            r = sv_stream_run(x, &opts, pull, &f, err);
        feed_done(&f);
    } while (!x->reply.sent && sv_try_again(x, r, err, &tries));
    return r;
}
