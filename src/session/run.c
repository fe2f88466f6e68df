/* session/run.c — runs of a session: their history and their messages are in the log. */
#include "session/session.h"
#include "thread/commits.h"
#include "thread/repair.h"
#include "thread/position.h"
#include "base/opts.h"
#include "fiber/loop.h"

int wa_session_input(const struct upp_input *in, struct upp_err *err)
{
    struct upp_input given;
    wb_opts(&given, sizeof given, in);
    return given.n_history || given.thread ? upp_fail(err, UPP_EINVALID, "a session has its own history") : 0;
}

/* Called after each step except the last one, which ends with the run. */
static WEFT_SUSPENDS int stepped(void *arg, struct weft_run *run, struct upp_err *err)
{
    struct weft_session *s = arg;
    (void)run;
    return s->no_checkpoints || s->every_turn ? 0 : wa_session_persist(s, err);
}

/* The call ids of the results at the beginning of the new messages; n: their number. */
static int calls_of(const struct wa_run_input *asked, struct wb_arena *a, struct upp_str **ret, size_t *n,
                    struct upp_err *err)
{
    size_t lead = 0, most = 0;
    for (; lead < asked->n_history && asked->history[lead]->role == UPP_ROLE_TOOL; lead++)
        most += asked->history[lead]->n_parts;
    *n = 0;
    *ret = wb_new_n(a, struct upp_str, most);
    if (most && !*ret)
        return wb_arena_check(a, err);
    for (size_t i = 0; i < lead; i++)
        for (const struct upp_part *p = NULL; (p = upp_part_next(asked->history[i], p, UPP_PARTS_RESULTS));)
            (*ret)[(*n)++] = p->id;
    return 0;
}

/* Answers calls that an imported document left open. 0: the new messages are no such answers. */
static WEFT_SUSPENDS int answer(struct weft_session *s, const struct wa_run_input *asked, struct wl_thread *t,
                                struct wb_arena *a, struct upp_err *err)
{
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wa_open open;
    struct upp_str *calls;
    size_t n;
    uint32_t at;
    int r = calls_of(asked, a, &calls, &n, err);
    if (r < 0 || !n)
        return r;
    r = wa_open_imported(store, &wa_owner, t, a, &open, &at, err);
    if (r <= 0)
        return r;
    struct upp_message *list = wb_new_n(a, struct upp_message, asked->n_history);
    r = list ? wa_open_check(&open, calls, n, err) : wb_arena_check(a, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < asked->n_history; i++)
        list[i] = *asked->history[i];
    r = wa_thread_answer(store, &wa_owner, t, at, list, asked->n_history, err);
    return r < 0 ? r : 1;
}

/* Appends the messages before the run's input. */
static WEFT_SUSPENDS int append(struct weft_session *s, const struct wa_run_input *asked, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wl_thread t;
    uint32_t index;
    if (!asked->n_history)
        return 0;
    int r = wa_session_thread(s, &a, &t, err);
    if (r >= 0)
        r = answer(s, asked, &t, &a, err);
    if (r != 0)
        return r < 0 ? r : 0;
    struct wm_entry *entries = wb_new_n(&a, struct wm_entry, asked->n_history);
    r = wb_arena_check(&a, err);
    for (size_t i = 0; r >= 0 && i < asked->n_history; i++)
        entries[i] = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                                       .origin = WM_ORIGIN_IMPORT,
                                       .audience = WM_AUDIENCE_ALL,
                                       .message = *asked->history[i]};
    return r < 0 ? r : wl_append(store, &wa_owner, &t, entries, asked->n_history, &index, err);
}

int wa_session_begin(struct weft_session *s, struct wa_run_input *asked, struct wa_where *ret, struct upp_err *err)
{
    if (s->running)
        return upp_fail(err, UPP_EINVALID, "session %.*s is busy with another run", UPP_FMT(s->id));
    s->running = true;
    int r = wa_session_flush(s, err);
    if (r >= 0)
        r = append(s, asked, err);
    if (r < 0) {
        s->running = false;
        return r;
    }
    asked->n_history = 0;
    s->watch = (struct wr_watch){.arg = s, .stepped = stepped};
    *ret = (struct wa_where){.engine = s->home->kept, .thread = s->thread, .watch = &s->watch};
    return 0;
}

int wa_session_end(struct weft_session *s, int result, struct upp_err *err)
{
    struct upp_err why = {0};
    s->running = false;
    wa_session_stale(s);
    int r = s->tree ? wa_session_tree_read(s, &why) : 0;
    if (r >= 0 && !s->no_checkpoints)
        r = wa_session_persist(s, &why);
    if (result < 0 || r >= 0)
        return result;
    if (err)
        *err = why;
    return r;
}

static WEFT_SUSPENDS int resume(struct weft_session *s, void *arg, struct upp_err *err)
{
    struct upp_turn **turn = arg;
    struct wr_started started;
    const struct wr_agent_def *def; /* compiled, so that the run finds it by name */
    s->watch = (struct wr_watch){.arg = s, .stepped = stepped};
    s->running = true;
    int r = wa_agent_def(s->agent, &def, err);
    if (r >= 0 && !wa_session_stored(s))
        r = upp_fail(err, UPP_ENOTFOUND, "no run of the session was cut short");
    if (r >= 0)
        r = wr_resume(s->home->kept, &wa_owner, s->thread, &s->watch, &started, err);
    if (r >= 0) {
        r = wa_join(s->home->kept, &started, NULL, turn, err);
        wr_tree_release(started.tree);
    }
    return wa_session_end(s, r, err);
}

int weft_session_resume(struct weft_session *s, struct upp_turn **ret, struct upp_err *err)
{
    *ret = NULL;
    return wa_session_change(s, "weft_session_resume", resume, ret, err);
}

struct running {
    struct wa_run_input asked;
    struct upp_turn *turn;
};

static WEFT_SUSPENDS int run_turn(struct weft_session *s, void *arg, struct upp_err *err)
{
    struct running *r = arg;
    struct wa_where where;
    struct wr_started started;
    int result = wa_session_begin(s, &r->asked, &where, err);
    if (result < 0)
        return result;
    result = wa_start(s->agent, &where, &r->asked, false, &started, err);
    if (result < 0)
        return wa_session_end(s, result, err);
    result = wa_join(where.engine, &started, r->asked.in.wait, &r->turn, err);
    wr_tree_release(started.tree);
    return wa_session_end(s, result, err);
}

int weft_session_run_with(struct weft_session *s, const struct upp_input *in, struct upp_turn **ret,
                          struct upp_err *err)
{
    struct running r = {0};
    *ret = NULL;
    int result = wa_session_input(in, err);
    if (result >= 0)
        result = wa_run_input_take(&r.asked, in, err);
    if (result >= 0)
        result = wa_run_input_own(&r.asked, err); /* it may point into the session, which is about to change */
    if (result >= 0)
        result = wa_session_change(s, "weft_session_run", run_turn, &r, err);
    wa_run_input_done(&r.asked);
    *ret = r.turn;
    return result;
}

int weft_session_run(struct weft_session *s, struct upp_str text, struct upp_turn **ret, struct upp_err *err)
{
    return weft_session_run_with(s, UPP_OPTS(upp_input, .text = text), ret, err);
}
