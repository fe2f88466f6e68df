/* session/stream.c — a run as a stream that the program pulls.
 *
 * The run starts with the first pull and works on the runtime's loop. The pulling fiber or thread takes the events from
 * the run's reader. Only waiting, for the run or for the store, needs a fiber: events that are already there are
 * returned without one.
 *
 * Invariants
 * 1. Borrowed texts of an event stay valid until the next pull: a thread takes its event while nobody drives the loop.
 * 2. Other threads touch only `aborted` and `refs`; the message that wakes a pull holds a reference.
 */
#include <stdatomic.h>

#include "agent/agent.h"
#include "session/session.h"
#include "agent/stream_event.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "fiber/loop.h"

enum { NEW, OPEN, OVER };

struct weft_stream {
    struct weft__msg wake;
    _Atomic unsigned refs;
    _Atomic bool aborted;
    uint8_t phase;
    bool has_more;         /* the reader has more */
    struct weft_cond cond; /* signalled when the reader has more, and by an abort */
    struct weft_agent *agent;
    struct wa_home *home;
    struct weft_session *session; /* NULL: none */
    struct wa_where where;        /* the session's run, otherwise the engine without a store */
    struct wa_run_input asked;
    struct wr_started started;
    struct wr_reader *reader;
    struct wa_translator translator;
    struct upp_turn *turn; /* set at the end; NULL: no output */
    int result;
    struct upp_err why;
};

static bool is_aborted(const struct weft_stream *s)
{
    return atomic_load_explicit(&s->aborted, memory_order_relaxed);
}

static void unref(struct weft_stream *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
        wb_free(s);
}

static void take_wake(struct weft__msg *m)
{
    struct weft_stream *s = WB_OUTER(m, struct weft_stream, wake);
    weft_cond_signal(&s->cond);
    unref(s);
}

static void release(struct weft_stream *s)
{
    wa_translator_done(&s->translator);
    wa_run_input_done(&s->asked);
    upp_turn_free(s->turn);
    unref(s);
}

/* Without a session there is nothing to restore. */
static uint8_t points_of(const struct weft_session *s)
{
    return !s || s->no_checkpoints ? WA_POINTS_NONE : s->every_turn ? WA_POINTS_TURN : WA_POINTS_STEPS;
}

static int open_stream(struct weft_agent *a, struct weft_session *session, const struct upp_input *in,
                       const struct weft_stream_opts *opts, struct weft_stream **ret, struct upp_err *err)
{
    struct weft_stream_opts o;
    wb_opts(&o, sizeof o, opts);
    if (o.only > WEFT_SOURCE_UPP)
        return upp_fail(err, UPP_EINVALID, "a stream of the unknown source %u", o.only);
    if (a->model && a->model->can && !(a->model->can & UPP_CAN_STREAM))
        return upp_fail(err, UPP_EINVALID, "model '%.*s' does not support streaming", UPP_FMT(a->model->name));
    struct weft_stream *s = wb_calloc(1, sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory for a stream");
    s->wake.take = take_wake;
    s->agent = a;
    s->home = a->home;
    s->session = session;
    s->where = (struct wa_where){.engine = a->home->engine};
    atomic_init(&s->refs, 1);
    wa_translator_init(&s->translator, &o, a->structure != NULL, points_of(session));
    int r = wa_run_input_take(&s->asked, in, err);
    if (r >= 0 && session) /* the session, and with it the input, may change before the first pull */
        r = wa_run_input_own(&s->asked, err);
    if (r < 0) {
        release(s);
        return r;
    }
    *ret = s;
    return 0;
}

int weft_agent_stream(struct weft_agent *a, const struct upp_input *in, const struct weft_stream_opts *opts,
                      struct weft_stream **ret, struct upp_err *err)
{
    return open_stream(a, NULL, in, opts, ret, err);
}

int weft_session_stream(struct weft_session *s, const struct upp_input *in, const struct weft_stream_opts *opts,
                        struct weft_stream **ret, struct upp_err *err)
{
    int r = wa_session_input(in, err);
    return r < 0 ? r : open_stream(s->agent, s, in, opts, ret, err);
}

/* Opens the reader on the fiber before that can be suspended, so that no event is missed. */
static WEFT_SUSPENDS int start(void *arg, struct upp_err *err)
{
    struct weft_stream *s = arg;
    int r = s->session ? wa_session_begin(s->session, &s->asked, &s->where, err) : 0;
    if (r < 0)
        return r;
    r = wa_start(s->agent, &s->where, &s->asked, false, &s->started, err);
    if (r >= 0) {
        r = wr_reader_open(s->where.engine, &wa_owner, s->started.run, NULL, &s->reader, err);
        if (r < 0) {
            int stopped = wa_stop(s->where.engine, &s->started, &s->turn, NULL);
            (void)stopped; /* err has the reason */
            wr_tree_release(s->started.tree);
        }
    }
    if (r < 0)
        return s->session ? wa_session_end(s->session, r, err) : r;
    s->phase = OPEN;
    return 0;
}

static WEFT_SUSPENDS int join(void *arg, struct upp_err *err)
{
    struct weft_stream *s = arg;
    int r = wa_join(s->where.engine, &s->started, s->asked.in.wait, &s->turn, err);
    return s->session ? wa_session_end(s->session, r, err) : r;
}

static WEFT_SUSPENDS int stop(void *arg, struct upp_err *err)
{
    struct weft_stream *s = arg;
    int r = wa_stop(s->where.engine, &s->started, &s->turn, err);
    return s->session ? wa_session_end(s->session, r, err) : r;
}

/* Ends the stream with `result`, and s->why if that is a failure. */
static int end_stream(struct weft_stream *s, int result, struct upp_err *err)
{
    if (s->phase == OPEN) {
        wr_reader_close(WB_TAKE(s->reader));
        wr_tree_release(WB_TAKE(s->started.tree));
    }
    s->phase = OVER;
    s->result = result;
    if (result < 0 && err)
        *err = s->why;
    return result;
}

/* Stops the run; its partial turn is retained. */
static WEFT_SUSPENDS int give_up(struct weft_stream *s, int result, struct upp_err *err)
{
    int r = wa_home_do(s->home, "weft_stream_abort", stop, s, NULL);
    (void)r; /* the reason for giving up counts */
    return end_stream(s, result, err);
}

void weft_stream_abort(struct weft_stream *s)
{
    if (atomic_exchange_explicit(&s->aborted, true, memory_order_relaxed))
        return;
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    weft__loop_send(s->home->loop, &s->wake);
}

void weft_stream_close(struct weft_stream *s)
{
    if (!s)
        return;
    if (s->phase == OPEN)
        (void)(give_up(s, -UPP_ECANCELED, NULL) < 0);
    release(s);
}

void weft_stream_closep(struct weft_stream **s)
{
    weft_stream_close(*s);
}

static void more(void *arg)
{
    struct weft_stream *s = arg;
    s->has_more = true;
    weft_cond_signal(&s->cond);
}

static WEFT_SUSPENDS int wait_for(struct weft_stream *s, uint64_t ms, struct upp_err *err)
{
    if (!ms)
        return weft_cond_wait(&s->cond, err);
    WEFT_DEADLINE(ms);
    return weft_cond_wait(&s->cond, err);
}

/* Waits until the reader may have more. 0: the run has ended. */
static WEFT_SUSPENDS int await(void *arg, struct upp_err *err)
{
    struct weft_stream *s = arg;
    uint64_t poll_ms = wa_poll_ms(s->asked.in.wait);
    int r = wr_reader_behind(s->reader) ? wr_reader_load(s->reader, true, more, s, err) : -UPP_EBUSY;
    if (r != -UPP_EBUSY)
        return r;
    while (!s->has_more && !is_aborted(s)) {
        r = wa_stopped(s->asked.in.wait, err);
        if (r >= 0)
            r = wait_for(s, poll_ms, err);
        if (r < 0 && !(r == -UPP_ETIMEOUT && poll_ms && weft__pending(weft_fiber_self()) == 0))
            return r;
    }
    return 1;
}

/* Takes the next event. 1: *ev is set. 0: the run has ended. */
static WEFT_SUSPENDS int pull(struct weft_stream *s, struct wm_event *ev, struct upp_err *err)
{
    for (;;) {
        if (is_aborted(s))
            return upp_fail(err, UPP_ECANCELED, "aborted");
        s->has_more = false;
        int r = wr_reader_try(s->reader, true, ev, more, s, err);
        if (r == -UPP_EBUSY)
            r = wa_home_do(s->home, "weft_stream_next", await, s, err);
        else
            return r;
        if (r <= 0)
            return r;
    }
}

int weft_stream_next(struct weft_stream *s, struct weft_event *ret, struct upp_err *err)
{
    struct wm_event ev;
    int r = 0;
    if (wa_translate_more(&s->translator, ret))
        return 1;
    if (s->phase == NEW) {
        r = is_aborted(s) ? upp_fail(&s->why, UPP_ECANCELED, "aborted")
                          : wa_home_do(s->home, "weft_stream_next", start, s, &s->why);
        if (r < 0)
            return end_stream(s, r, err);
    }
    if (s->phase == OVER) {
        if (s->result < 0 && err)
            *err = s->why;
        return s->result;
    }
    while ((r = pull(s, &ev, &s->why)) > 0) {
        r = wa_translate(&s->translator, &ev, ret, &s->why);
        if (r != 0)
            break;
    }
    if (r > 0)
        return 1;
    if (r < 0)
        return give_up(s, r, err);
    r = wa_home_do(s->home, "weft_stream_next", join, s, &s->why);
    return end_stream(s, r, err);
}

int weft_stream_turn(struct weft_stream *s, const struct upp_turn **ret, struct upp_err *err)
{
    struct weft_event ev;
    int r;
    while ((r = weft_stream_next(s, &ev, err)) > 0)
        ;
    *ret = s->turn;
    return r == -UPP_ECANCELED && s->turn && is_aborted(s) ? 0 : r;
}
