/* server/doors/run_stream.c — see run_stream.h: a cursor of the engine, an encoder, and frames. */
#include "server/doors/run_stream.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "server/http/conn.h"
#include "server/http/server.h"
#include "server/http/stream.h"

struct feed {
    struct wr_reader           *reader;
    const struct wd_stream_ops *ops;
    void                       *state;
    bool                        begun, to_wait;
    struct wd_frames            frames;
};

static int unknown(struct upp_str as, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf names = WB_BUF(1024);
    const struct wd_stream_ops           *ops;
    for (size_t i = 0; (ops = wd_stream_at(i)); i++)
        wb_buf_addf(&names, "%s%s", i ? ", " : "", ops->name);
    return upp_fail(err, UPP_EINVALID, "there is no stream as '%.*s' (%.*s)", UPP_FMT(as), UPP_FMT(wb_buf_str(&names)));
}

static int read_options(struct sv_exchange *x, struct sv_run_stream *ret, struct upp_err *err)
{
    const struct wd_stream_option *o = ret->ops->options;
    struct upp_str                 text;
    int                            r = sv_query(x, UPP_STR("children"), &text, err);
    if (r > 0)
        ret->opts.children = wb_str_eq(text, UPP_STR("true")) || wb_str_eq(text, UPP_STR("1"));
    for (; r >= 0 && o && o->name; o++) {
        r = sv_query(x, wb_cstr(o->name), &text, err);
        if (r > 0)
            r = o->set(&ret->opts, text, err);
    }
    return r < 0 ? r : 0;
}

int sv_run_stream_read(struct sv_exchange *x, const char *as, struct sv_run_stream *ret, struct upp_err *err)
{
    const struct sv_door *door = x->conn->match.door;
    struct upp_str        name = wb_cstr(as ? as : door->stream);
    *ret                       = (struct sv_run_stream){.opts.size = sizeof ret->opts};
    int r                      = sv_query(x, UPP_STR("as"), &name, err);
    if (r < 0)
        return r;
    ret->ops = wd_stream_find(name);
    return ret->ops ? read_options(x, ret, err) : unknown(name, err);
}

int sv_run_stream_from(struct sv_exchange *x, struct sv_run_stream *ret, struct upp_err *err)
{
    size_t           n;
    struct sv_sse_id id;
    uint64_t         first;
    struct upp_str   text = sv_http_header(x->request, UPP_STR("last-event-id"), &n);
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

/* One event: its frames, each with its id. Frames that the client has already only feed the encoder. */
WEFT_SUSPENDS static int pull(void *arg, struct sv_stream *st, struct upp_err *err)
{
    struct feed    *f = arg;
    struct wm_event ev;
    bool            to_wait = f->to_wait && (!f->ops->paused || f->ops->paused(f->state));
    int             r       = wr_reader_try(f->reader, to_wait, &ev, sv_stream_wake, st, err);
    if (r == -UPP_EBUSY)
        return SV_PULL_LATER;
    if (r <= 0)
        return r < 0 ? r : SV_PULL_END;
    wd_frames_clear(&f->frames);
    r = f->ops->event(f->state, &ev, &f->frames, err);
    if (r < 0)
        return r;
    for (size_t i = wr_reader_received(f->reader, &ev); i < f->frames.list.n; i++) {
        const struct wd_frame *frame = &f->frames.list.p[i];
        sv_sse_frame(&st->out, frame->name, wb_str_sub(wb_buf_str(&f->frames.text), frame->from, frame->n),
                     &(struct sv_sse_id){ev.from->epoch, ev.number, (uint32_t)i + 1});
    }
    return SV_PULL_MORE;
}

static void feed_done(struct feed *f)
{
    if (f->begun && f->ops->done)
        f->ops->done(f->state);
    wr_reader_close(f->reader);
    wd_frames_done(&f->frames);
    wb_free(f->state);
}

/* What the dialect needs to know about the run and no event contains. */
WEFT_SUSPENDS static int look_up(struct sv_exchange *x, struct wb_uuid run, struct wd_stream_opts *opts,
                                 struct upp_err *err)
{
    struct wr_run_info look;
    int                r = wr_get(x->core->engine, &x->owner, run, &x->arena, &look, err);
    if (r < 0)
        return r;
    opts->thread     = look.run.thread;
    opts->created_ms = look.run.created_ms;
    opts->options    = look.run.options;
    return 0;
}

WEFT_SUSPENDS static int feed_open(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s, struct feed *f,
                                   struct upp_err *err)
{
    *f     = (struct feed){.ops = s->ops, .to_wait = s->to_wait};
    x->run = run;
    wd_frames_init(&f->frames);
    int r = f->ops->of_the_run ? look_up(x, run, &s->opts, err) : 0;
    if (r < 0)
        return r;
    f->state = wb_calloc(1, WB_MAX(f->ops->state_size, 1));
    r        = f->state ? wr_reader_open(x->core->engine, &x->owner, run, &s->from, &f->reader, err)
                        : upp_fail(err, UPP_ENOMEM, "no memory for a stream");
    if (r >= 0)
        r = f->ops->begin(f->state, &s->opts, err);
    f->begun = r >= 0;
    return r;
}

WEFT_SUSPENDS int sv_run_stream(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s, struct upp_err *err)
{
    struct feed f;
    int         r = feed_open(x, run, s, &f, err);
    if (r >= 0)
        r = sv_stream_run(x, f.ops->headers, pull, &f, err);
    feed_done(&f);
    return r;
}

static void no_wake(void *arg)
{
    (void)arg;
}

WEFT_SUSPENDS static int next_event(struct feed *f, bool now, struct wm_event *ev, struct upp_err *err)
{
    bool to_wait = f->to_wait && (!f->ops->paused || f->ops->paused(f->state));
    return now ? wr_reader_try(f->reader, to_wait, ev, no_wake, NULL, err)
               : wr_reader_next(f->reader, to_wait, ev, err);
}

static int put_frame(struct sv_exchange *x, const struct feed *f, const struct wd_frame *frame, struct upp_err *err)
{
    x->reply.status = frame->name ? 500 : 200;
    if (frame->name) /* the run has tried what it may, and another request would be another run */
        sv_reply_header(&x->reply, "x-should-retry", UPP_STR("false"));
    wb_buf_add(&x->reply.body, wb_str_sub(wb_buf_str(&f->frames.text), frame->from, frame->n));
    int r = wb_buf_check(&x->reply.body, err);
    return r < 0 ? r : 1;
}

/* The frame that the client does not have. */
WEFT_SUSPENDS static int read_frame(struct sv_exchange *x, struct feed *f, const struct sv_run_stream *s,
                                    struct upp_err *err)
{
    struct wm_event ev;
    for (uint32_t skip = s->skip;;) {
        int r = next_event(f, s->now, &ev, err);
        if (r == -UPP_EBUSY && s->now)
            return 0;
        if (r <= 0)
            return r < 0 ? r : upp_fail(err, UPP_ENOTFOUND, "the run has no such answer");
        wd_frames_clear(&f->frames);
        r = f->ops->event(f->state, &ev, &f->frames, err);
        if (r < 0)
            return r;
        for (size_t i = wr_reader_received(f->reader, &ev); i < f->frames.list.n; i++)
            if (!skip--)
                return put_frame(x, f, &f->frames.list.p[i], err);
    }
}

WEFT_SUSPENDS int sv_run_answer(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s, struct upp_err *err)
{
    struct feed f;
    int         r = feed_open(x, run, s, &f, err);
    if (r >= 0)
        r = read_frame(x, &f, s, err);
    feed_done(&f);
    return r;
}
