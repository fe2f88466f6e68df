/* agent/run.c — one run of an agent, from its input to its turn. */
#include "agent/agent.h"

#include "base/hooks.h"
#include "base/opts.h"
#include "fiber/fiber.h"
#include "fiber/loop.h"
#include "model/upp_json.h"

enum { POLL_MS = 20, MESSAGES = 1 << 20 };

static struct upp_message user_message(const struct upp_part *parts, size_t n)
{
    union { /* parts of a message are mutable; these are only copied */
        const struct upp_part *in;
        struct upp_part *out;
    } u = {.in = parts};
    return (struct upp_message){.role = UPP_ROLE_USER, .parts = u.out, .n_parts = n};
}

/* Accepts users, models and tools: only the agent itself has a system prompt (UAP 16.5). */
static int add_all(struct wa_run_input *q, const struct upp_message *list, size_t n, struct upp_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].role < UPP_ROLE_USER || list[i].role > UPP_ROLE_TOOL)
            return upp_fail(err, UPP_EINVALID, "message %zu has the role %d, which there is not", q->n_history,
                            list[i].role);
        q->list[q->n_history++] = &list[i];
    }
    return 0;
}

int wa_run_input_take(struct wa_run_input *q, const struct upp_input *given, struct upp_err *err)
{
    wb_opts(&q->in, sizeof q->in, given);
    const struct upp_input *in = &q->in;
    size_t n = in->n_history;
    const struct upp_message *list = in->history, *last = NULL;
    q->list = NULL;
    q->input = NULL;
    q->n_history = 0;
    q->memory = (struct wb_arena)WB_ARENA(1u << 30);
    if (in->thread)
        list = upp_thread_messages(in->thread, &n);
    if (n > MESSAGES || in->n_messages > MESSAGES)
        return upp_fail(err, UPP_ELIMIT, "more than %d messages", MESSAGES);
    if (n + in->n_messages + in->n_parts) {
        q->list = wb_alloc((n + in->n_messages + 2) * sizeof *q->list);
        if (!q->list)
            return upp_fail(err, UPP_ENOMEM, "no memory for the history of a run");
        q->of_parts = user_message(in->parts, in->n_parts);
        int r = add_all(q, list, n, err);
        if (r >= 0)
            r = add_all(q, in->messages, in->n_messages, err);
        if (r >= 0)
            r = add_all(q, &q->of_parts, in->n_parts > 0, err);
        if (r < 0)
            return r;
        last = q->n_history > n ? q->list[q->n_history - 1] : NULL;
    }
    if (in->text.p) {
        q->text = (struct upp_part){.kind = UPP_PART_TEXT, .text = in->text};
        q->of_text = user_message(&q->text, 1);
        q->input = &q->of_text;
    } else if (last && last->role == UPP_ROLE_USER) {
        q->input = last;
        q->n_history--;
    }
    q->history = q->list;
    return q->input || q->n_history ? 0
                                    : upp_fail(err, UPP_EINVALID, "there is nothing to ask: no history and no input");
}

static int copy_message(struct wa_run_input *q, const struct upp_message **m, struct upp_err *err)
{
    struct upp_message *copy = wb_new(&q->memory, struct upp_message);
    int r = copy ? wm_message_copy(&q->memory, *m, copy, err) : wb_arena_check(&q->memory, err);
    if (r >= 0)
        *m = copy;
    return r;
}

int wa_run_input_own(struct wa_run_input *q, struct upp_err *err)
{
    int r = q->input ? copy_message(q, &q->input, err) : 0;
    for (size_t i = 0; r >= 0 && i < q->n_history; i++)
        r = copy_message(q, &q->list[i], err);
    return r;
}

void wa_run_input_done(struct wa_run_input *q)
{
    wb_free(q->list);
    wb_arena_done(&q->memory);
    q->list = NULL;
}

/* A cancelled caller starts nothing. */
static int may_start(const struct wa_run_input *q, struct upp_err *err)
{
    int r = weft__pending(weft__self("wa_start"));
    return r < 0 ? weft__cut_short(err, r, "an agent") : wa_stopped(q->in.wait, err);
}

int wa_start(struct weft_agent *a, const struct wa_where *where, const struct wa_run_input *q, bool here,
             struct wr_started *ret, struct upp_err *err)
{
    const struct wr_agent_def *def;
    int r = may_start(q, err);
    if (r >= 0)
        r = wa_agent_def(a, &def, err);
    if (r < 0)
        return r;
    struct wr_start what = {.owner = wa_owner,
                            .agent = def->name,
                            .input = q->input,
                            .history = q->history,
                            .n_history = q->n_history,
                            .wants_turn = true,
                            .here = here};
    if (where) {
        what.thread = where->thread;
        what.watch = where->watch;
    }
    return wr_start(where ? where->engine : a->home->engine, &what, ret, err);
}

/* 0 for a fiber's table (`park`): every wait of a fiber reports cancellation anyway. */
uint64_t wa_poll_ms(const struct upp_wait *w)
{
    return w && w->size > offsetof(struct upp_wait, stopped) && w->stopped && !w->park ? POLL_MS : 0;
}

int wa_stopped(const struct upp_wait *w, struct upp_err *err)
{
    return wa_poll_ms(w) ? w->stopped(w->arg, err) : 0;
}

int wa_stop(struct wr_engine *e, const struct wr_started *s, struct upp_turn **ret, struct upp_err *err)
{
    WEFT__SHIELD_FOREVER;
    int r = wr_cancel(e, &wa_owner, s->run, NULL);
    (void)r; /* a run that has already ended cannot be cancelled */
    return wr_join(s->tree, ret, err);
}

/* Waits at most ms, if the caller's table has to be polled. */
static WEFT_SUSPENDS int join_for(const struct wr_started *s, uint64_t ms, struct upp_turn **ret, struct upp_err *err)
{
    if (!ms)
        return wr_join(s->tree, ret, err);
    WEFT_DEADLINE(ms);
    return wr_join(s->tree, ret, err);
}

int wa_join(struct wr_engine *e, const struct wr_started *s, const struct upp_wait *w, struct upp_turn **ret,
            struct upp_err *err)
{
    uint64_t poll_ms = wa_poll_ms(w);
    int r = 0;
    while (r >= 0 || (r == -UPP_ETIMEOUT && poll_ms && weft__pending(weft_fiber_self()) == 0)) {
        r = wa_stopped(w, err);
        if (r < 0)
            break;
        r = join_for(s, poll_ms, ret, err);
        if (wr_has_result(s->tree))
            return r;
    }
    int ended = wa_stop(e, s, ret, NULL);
    return ended >= 0 ? 0 : r; /* it completed before the cancel; otherwise the reason for stopping */
}

struct running {
    struct weft_agent *agent;
    struct wa_run_input asked;
    struct upp_turn *turn;
    bool alone; /* on a fiber created for it */
};

static WEFT_SUSPENDS int run_agent(void *arg, struct upp_err *err)
{
    struct running *r = arg;
    struct wr_started started;
    bool here = r->alone && !wa_poll_ms(r->asked.in.wait); /* nothing to poll meanwhile */
    int result = wa_start(r->agent, NULL, &r->asked, here, &started, err);
    if (result < 0)
        return result;
    result = here ? wr_join(started.tree, &r->turn, err) /* it has already ended */
                  : wa_join(r->agent->home->engine, &started, r->asked.in.wait, &r->turn, err);
    wr_tree_release(started.tree);
    return result;
}

int weft_agent_run_with(struct weft_agent *a, const struct upp_input *in, struct upp_turn **ret, struct upp_err *err)
{
    struct running r;
    r.agent = a;
    r.turn = NULL;
    r.alone = !weft_loop_current();
    *ret = NULL;
    int result = wa_run_input_take(&r.asked, in, err);
    if (result >= 0)
        result = wa_home_do(a->home, "weft_agent_run", run_agent, &r, err);
    wa_run_input_done(&r.asked);
    *ret = r.turn;
    return result;
}

int weft_agent_run(struct weft_agent *a, struct upp_str text, struct upp_turn **ret, struct upp_err *err)
{
    return weft_agent_run_with(a, UPP_OPTS(upp_input, .text = text), ret, err);
}
