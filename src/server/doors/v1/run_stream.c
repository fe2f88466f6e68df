/* server/doors/v1/run_stream.c — the events of a run as a stream in a dialect: a cursor of the engine, an encoder, and
 * frames. */
#include "base/defs.h"
#include "base/hooks.h"
#include "dialects/core/dialect.h"
#include "server/doors/v1/routes.h"
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

static int choose(struct sv_exchange *x, const struct wd_stream_ops **ret, struct wd_stream_opts *opts,
                  struct upp_err *err)
{
    struct upp_str as = UPP_STR("uap"), text;
    int            r  = sv_query(x, UPP_STR("as"), &as, err);
    if (r < 0)
        return r;
    *ret = wd_stream_find(as);
    if (!*ret)
        return unknown(as, err);
    *opts = (struct wd_stream_opts){.size = sizeof *opts};
    r     = sv_query(x, UPP_STR("target"), &text, err);
    if (r > 0) {
        uint64_t n;
        if (!wb_str_u64(text, &n) || n < 5 || n > 7)
            return upp_fail(err, UPP_EINVALID, "target is 5, 6 or 7");
        opts->target = (unsigned)n;
    }
    if (r >= 0)
        r = sv_query(x, UPP_STR("children"), &text, err);
    if (r > 0)
        opts->children = wb_str_eq(text, UPP_STR("true")) || wb_str_eq(text, UPP_STR("1"));
    return r < 0 ? r : 0;
}

int sv_stream_check(struct sv_exchange *x, struct upp_err *err)
{
    const struct wd_stream_ops *ops;
    struct wd_stream_opts       opts;
    return choose(x, &ops, &opts, err);
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
    int                r = wr_get(x->server->opts.engine, &x->owner, run, &x->arena, &look, err);
    if (r < 0)
        return r;
    opts->thread     = look.run.thread;
    opts->created_ms = look.run.created_ms;
    opts->options    = look.run.options;
    return 0;
}

WEFT_SUSPENDS int sv_stream_events(struct sv_exchange *x, struct wb_uuid run, const struct wr_from *from, bool to_wait,
                                   struct upp_err *err)
{
    struct feed           f = {.to_wait = to_wait};
    struct wd_stream_opts opts;
    int                   r = choose(x, &f.ops, &opts, err);
    if (r == 0 && f.ops->of_the_run)
        r = look_up(x, run, &opts, err);
    if (r < 0)
        return r;
    wd_frames_init(&f.frames);
    f.state = wb_calloc(1, WB_MAX(f.ops->state_size, 1));
    r       = f.state ? wr_reader_open(x->server->opts.engine, &x->owner, run, from, &f.reader, err)
                      : upp_fail(err, UPP_ENOMEM, "no memory for a stream");
    if (r >= 0)
        r = f.ops->begin(f.state, &opts, err);
    if (r >= 0) {
        f.begun = true;
        r       = sv_stream_run(x, f.ops->headers, pull, &f, err);
    }
    feed_done(&f);
    return r;
}
