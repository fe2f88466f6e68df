/* run/control.c — from outside into a run: look, cancel, answer, wait, expire. */
#include "base/clock.h"
#include "base/crash.h"
#include "base/log.h"
#include "json/read.h"
#include "run/internal.h"

/* ---- Trees from the store -------------------------------------------------------------------------------- */

/* The number after the last committed event of a run that has not ended, and of its children that may have gone on
 * after it. */
struct tail {
    struct wl_store       *store;
    const struct wl_owner *owner;
    uint64_t               next;
    uint32_t               epoch;
    unsigned               depth;
};

static WEFT_SUSPENDS int tail_of(struct tail *t, uint64_t node, uint64_t first, struct upp_err *err);

static WEFT_SUSPENDS int tail_children(struct tail *t, const struct wm_row *row, struct upp_err *err)
{
    for (size_t i = 0; i < row->n_records; i++) {
        const struct wm_event *ev = &row->records[i];
        if (ev->kind != WM_TOOL_STARTED || !ev->child_node)
            continue;
        int r = tail_of(t, ev->child_node, 0, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static WEFT_SUSPENDS int tail_row(struct tail *t, struct wb_arena *a, const struct wl_row *stored, bool *stop,
                                  struct upp_err *err)
{
    struct wm_row row;
    uint64_t      n = 0;
    int           r = wm_row_read(a, stored->format, stored->body, stored->tape, &row, err);
    if (r >= 0)
        r = wm_row_events(&row, &n, err);
    if (r < 0)
        return r;
    if (row.event) {
        t->next  = WB_MAX(t->next, row.event + n);
        t->epoch = WB_MAX(t->epoch, row.epoch);
    }
    for (size_t i = 0; i < row.n_records; i++)
        *stop |= row.records[i].kind == WM_STEP_END;
    return tail_children(t, &row, err);
}

static WEFT_SUSPENDS int tail_of(struct tail *t, uint64_t node, uint64_t first, struct upp_err *err)
{
    if (t->depth > 64)
        return upp_fail(err, UPP_ESTORE, "runs are nested too deeply");
    t->depth++;
    bool stop = false;
    int  r    = 0;
    for (uint64_t to = UINT64_MAX >> 1; r >= 0 && !stop;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WR_RUN_MEMORY);
        struct wl_range range = {.node = node, .from = first, .to = to, .backwards = true, .max_rows = 16};
        struct wl_rows  rows  = {0};
        r                     = t->store->ops->rows(t->store, t->owner, &range, &a, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n && !stop; i++) {
            r  = tail_row(t, &a, &rows.p[i], &stop, err);
            to = rows.p[i].pos;
        }
        if (!rows.more)
            break;
    }
    t->depth--;
    return r;
}

/* Whoever else wants the tree meanwhile waits for us, so what is read here stays true: all that is written of a tree
 * goes through it. */
static WEFT_SUSPENDS int tree_fill(struct wr_tree *t, struct upp_err *err)
{
    struct wl_store                          *s    = t->engine->store;
    WB_CLEANUP(wb_arena_done) struct wb_arena a    = WB_ARENA(64u << 20);
    struct tail                               tail = {.store = s, .owner = &t->owner, .next = 1, .epoch = 1};
    struct wm_run                             root;
    int                                       r = s->ops->run(s, &t->owner, t->root, &a, &root, err);
    if (r >= 0 && !wm_status_ended(root.status) && root.status != WM_QUEUED)
        r = tail_of(&tail, root.node, root.first, err);
    if (r < 0)
        return r;
    t->next    = tail.next;
    t->epoch   = tail.epoch;
    t->status  = root.status;
    t->resumed = root.status != WM_QUEUED;
    return 0;
}

/* A tree that somebody else reads from the store. */
static WEFT_SUSPENDS int tree_await(struct wr_tree *t, struct upp_err *err)
{
    int r = 0;
    while (r >= 0 && t->loading)
        r = weft_cond_wait(&t->changed, err);
    return r >= 0 && t->unread ? upp_fail(err, (enum upp_code) - t->unread, "the run could not be read") : r;
}

int wr_tree_get(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *root, struct wr_tree **ret,
                struct upp_err *err)
{
    struct wr_tree *t = wr_tree_find(e, root->id);
    int             r = 0;
    if (t) {
        t->refs++;
        r = tree_await(t, err);
    } else {
        r = wr_tree_new(e, o, root->id, &t, err);
        if (r < 0)
            return r;
        t->loading = true;
        r          = tree_fill(t, err);
        t->loading = false;
        t->unread  = r < 0 ? r : 0;
        t->failed  = wr_troubled(e, root->id); /* a reader is told so, instead of waiting for the next try */
        wr_tree_wake(t);
    }
    if (r < 0)
        wr_tree_unref(t);
    else
        *ret = t;
    return r;
}

int wr_tree_own(struct wr_tree *t, const struct wm_run *row, struct wr_run **ret, struct upp_err *err)
{
    while (t->run) {
        int r = weft_cond_wait(&t->changed, err);
        if (r < 0)
            return r;
    }
    struct wr_run *run;
    int            r = wr_run_new(t->engine, t, NULL, row, &run, err);
    if (r < 0)
        return r;
    t->failed = 0;
    t->run    = run;
    *ret      = run;
    return 0;
}

/* ---- Looking ------------------------------------------------------------------------------------------------ */

/* What a waiting run waits for: in the last row of its node. */
static WEFT_SUSPENDS int read_pending(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *run,
                                      struct wb_arena *a, struct wr_look *ret, struct upp_err *err)
{
    struct wl_range range = {
        .node = run->node, .from = run->first, .to = UINT64_MAX >> 1, .backwards = true, .max_rows = 1};
    struct wl_rows rows;
    struct wm_row  row;
    int            r = e->store->ops->rows(e->store, o, &range, a, &rows, err);
    if (r >= 0 && !rows.n)
        r = upp_fail(err, UPP_ESTORE, "a run that waits has no rows");
    if (r >= 0)
        r = wm_row_read(a, rows.p[0].format, rows.p[0].body, rows.p[0].tape, &row, err);
    for (size_t i = 0; r >= 0 && i < row.n_records; i++)
        if (row.records[i].kind == WM_RUN) {
            ret->pending   = row.records[i].pending;
            ret->n_pending = row.records[i].n_pending;
        }
    return r;
}

int wr_get(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a, struct wr_look *ret,
           struct upp_err *err)
{
    if (!e->store) {
        struct wr_tree *t = wr_tree_find(e, id);
        if (!t)
            return upp_fail(err, UPP_ENOTFOUND, "no such run");
        *ret = (struct wr_look){.run = {.id = id, .root = id, .status = t->status, .epoch = t->epoch}};
        return 0;
    }
    *ret  = (struct wr_look){0};
    int r = e->store->ops->run(e->store, o, id, a, &ret->run, err);
    return r < 0 || ret->run.status != WM_WAITING ? r : read_pending(e, o, &ret->run, a, ret, err);
}

/* The root of a run, whichever of its tree was named. */
static WEFT_SUSPENDS int get_root(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                                  struct wm_run *ret, struct upp_err *err)
{
    int r = e->store->ops->run(e->store, o, id, a, ret, err);
    if (r >= 0 && !wb_uuid_eq(ret->root, id))
        r = e->store->ops->run(e->store, o, ret->root, a, ret, err);
    return r;
}

/* ---- Ending from outside -------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int set_row(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                 struct upp_err *err)
{
    struct wl_change change = {.kind = WL_SET_RUN, .run = row};
    struct wl_commit c      = {.owner = *o, .changes = &change, .n = 1, .flags = WL_SYNCED};
    wb_crashpoint("cancel.before");
    int r = e->store->ops->commit(e->store, &c, err);
    wb_crashpoint("cancel.after");
    return r;
}

/* The end of a tree that waits is many commits where it has children: the request is durable before the first. */
static WEFT_SUSPENDS int note_cancel(struct wr_run *run, bool noted, struct upp_err *err)
{
    bool children = false;
    for (size_t i = 0; i < run->calls.n; i++)
        children |= run->calls.p[i]->state == WR_CALL_STARTED && run->calls.p[i]->child_node;
    if (!run->row.cancel || noted || !children)
        return 0;
    int r = set_row(run->engine, &run->tree->owner, &run->row, err);
    run->row.version += r >= 0;
    return r;
}

int wr_end_idle(struct wr_tree *t, const struct wm_run *row, int result, const struct upp_err *why, struct upp_err *err)
{
    struct wr_run *run;
    int            r = wr_tree_own(t, row, &run, err);
    if (r < 0)
        return r;
    struct wr_engine *e      = run->engine;
    struct wb_uuid    thread = run->row.thread;
    struct wm_run     now;
    run->changing = true;
    r             = e->store->ops->run(e->store, &t->owner, row->id, &run->memory, &now, err);
    if (r >= 0 && now.version != row->version)
        r = upp_fail(err, UPP_EBUSY, "somebody else was first");
    if (r >= 0)
        r = wr_load(run, err);
    if (r >= 0)
        r = note_cancel(run, now.cancel, err);
    if (r >= 0)
        r = wr_finish(run, result, why, err);
    wr_tree_disown(run);
    weft_cond_broadcast(&e->moved);
    return r < 0 || t->heirs ? r : wr_start_next(e, &t->owner, thread, err);
}

/* C5: the request to cancel is durable before the fiber is told. */
static WEFT_SUSPENDS int cancel_working(struct wr_tree *t, struct upp_err *err)
{
    int r = 0;
    wr_lane_take(t);
    struct wr_run *run = t->run;
    if (!run || run->changing || !t->fiber)
        r = -UPP_EBUSY; /* it is about to end or to wait: look again then */
    else if (!run->row.cancel) {
        struct wm_run row = run->row;
        row.cancel        = true;
        r                 = t->engine->store ? set_row(t->engine, &t->owner, &row, err) : 0;
        if (r >= 0 && t->run == run) { /* it may have left meanwhile, when the store failed it */
            run->row.cancel = true;
            run->row.version += t->engine->store != NULL;
        }
    }
    wr_lane_leave(t);
    if (r >= 0 && t->fiber)
        weft_fiber_cancel(t->fiber);
    return r;
}

static WEFT_SUSPENDS int cancel_queued(struct wr_engine *e, const struct wl_owner *o, struct wm_run *row,
                                       struct upp_err *err)
{
    row->status   = WM_CANCELED;
    row->ended_ms = wb_wall_ms();
    row->queue    = 0;
    int r         = set_row(e, o, row, err);
    if (r < 0)
        return r;
    struct wr_tree *t = wr_tree_find(e, row->id);
    if (t) { /* somebody waits for it */
        t->status = row->status;
        wr_tree_wake(t);
    }
    weft_cond_broadcast(&e->moved);
    return r;
}

static const char *status_word(uint8_t status)
{
    switch (status) {
    case WM_COMPLETED:
        return "completed";
    case WM_FAILED:
        return "failed";
    case WM_EXPIRED:
        return "expired";
    default:
        return "cancelled";
    }
}

static WEFT_SUSPENDS int try_cancel(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id,
                                    struct wb_arena *a, struct upp_err *err)
{
    struct wm_run row;
    int           r = get_root(e, o, id, a, &row, err);
    if (r < 0)
        return r;
    if (row.status == WM_CANCELED)
        return 0;
    if (wm_status_ended(row.status))
        return upp_fail(err, UPP_EREFUSED, "Cannot cancel run with status '%s'.", status_word(row.status));
    if (row.status == WM_QUEUED)
        return cancel_queued(e, o, &row, err);
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    r                                            = wr_tree_get(e, o, &row, &t, err);
    if (r < 0)
        return r;
    if (t->run && t->fiber)
        r = cancel_working(t, err);
    else if (!t->run && !t->fiber) {
        row.cancel         = true;
        struct upp_err why = {0};
        return wr_end_idle(t, &row, upp_fail(&why, UPP_ECANCELED, "cancelled"), &why, err);
    } else
        r = -UPP_EBUSY;
    if (r == -UPP_EBUSY) {
        int w = t->run ? weft_cond_wait(&t->changed, err) : weft_yield(err);
        return w < 0 ? w : -UPP_EBUSY;
    }
    return r;
}

static WEFT_SUSPENDS int cancel_alone(struct wr_engine *e, struct wb_uuid id, struct upp_err *err)
{
    for (;;) {
        struct wr_tree *t = wr_tree_find(e, id);
        if (!t || !t->run)
            return upp_fail(err, UPP_ENOTFOUND, "no such run works");
        int r = cancel_working(t, err);
        if (r != -UPP_EBUSY)
            return r;
        r = weft_yield(err); /* its fiber has not begun, or is about to leave */
        if (r < 0)
            return r;
    }
}

int wr_cancel(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct upp_err *err)
{
    if (!e->store)
        return cancel_alone(e, id, err);
    for (unsigned tries = 0;; tries++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        int                                       r = try_cancel(e, o, id, &a, err);
        if (r != -UPP_EBUSY || tries >= 4 * WR_RETRIES)
            return r;
    }
}

/* ---- Answering ------------------------------------------------------------------------------------------------- */

/* The answers of one request, and what is left open. */
struct answering {
    struct wr_run          *root;
    const struct wr_answer *answers;
    size_t                  n;
};

static const struct wr_answer *answer_for(const struct answering *a, const struct wm_pending *p)
{
    for (size_t i = 0; i < a->n; i++)
        if (wb_str_eq(a->answers[i].call, p->call))
            return &a->answers[i];
    return NULL;
}

static int check_answers(const struct answering *a, struct upp_err *err)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct wm_pending *found = NULL;
        for (size_t k = 0; k < a->root->pending.n; k++)
            if (wb_str_eq(a->root->pending.p[k].call, a->answers[i].call))
                found = &a->root->pending.p[k];
        if (!found)
            return upp_fail(err, UPP_EINVALID, "call '%.*s' is not open", UPP_FMT(a->answers[i].call));
        struct wj_syntax syntax;
        if (a->answers[i].result.p && wj_syntax(a->answers[i].result, WJ_MAX_DEPTH, &syntax, NULL) < 0)
            return upp_fail(err, UPP_EINVALID, "the result of call '%.*s' is no JSON", UPP_FMT(a->answers[i].call));
        if (found->approval != !a->answers[i].result.p)
            return upp_fail(err, UPP_EINVALID, "call '%.*s' waits for %s", UPP_FMT(a->answers[i].call),
                            found->approval ? "an approval" : "a result");
        for (size_t k = 0; k < i; k++)
            if (wb_str_eq(a->answers[k].call, a->answers[i].call))
                return upp_fail(err, UPP_EINVALID, "call '%.*s' is answered twice", UPP_FMT(a->answers[i].call));
    }
    return a->n ? 0 : upp_fail(err, UPP_EINVALID, "there are no answers");
}

static int put_answer(struct wr_run *run, const struct wm_pending *p, const struct wr_answer *answer,
                      struct upp_err *err)
{
    struct wr_call *c = wr_call_add(run, p->call, err);
    if (!c)
        return -UPP_ENOMEM;
    if (c->state == WR_CALL_ENDED) /* a request before this one came so far, and died */
        return 0;
    if (p->approval && answer->approved) {
        run->draft.state = true;
        if (!wb_vec_push(&run->approved, p->call, WR_CALLS))
            return upp_fail(err, UPP_ENOMEM, "no memory for an answer");
        return 0;
    }
    (void)wr_now(run);
    struct wm_event *ev = wr_draft_record(run, WM_TOOL_ENDED, err);
    if (!ev)
        return -UPP_ENOMEM;
    ev->call    = p->call;
    ev->name    = p->name;
    ev->outcome = p->approval ? WM_DENIED : answer->is_error ? WM_ERROR : WM_DONE;
    ev->text    = p->approval ? UPP_STR("\"Tool execution denied by approval handler\"")
                              : wb_arena_dup(&run->memory, answer->result);
    c->state   = WR_CALL_ENDED;
    c->outcome = ev->outcome;
    c->result  = ev->text;
    c->order   = run->n_ended++;
    return wb_arena_check(&run->memory, err);
}

/* Answers for one child, in a row of its own node. */
static WEFT_SUSPENDS int answer_child(struct answering *a, struct wb_uuid id, struct upp_err *err)
{
    struct wr_run   *root = a->root;
    struct wl_store *s    = root->engine->store;
    struct wm_run    row;
    int              r = s->ops->run(s, &root->tree->owner, id, &root->memory, &row, err);
    if (r < 0)
        return r;
    if (wm_status_ended(row.status)) /* the end of the tree had begun when the process died */
        return upp_fail(err, UPP_EINVALID, "the agent that waited for it has ended");
    WB_CLEANUP(wr_run_freep) struct wr_run *run    = NULL;
    struct wr_below                         counts = root->below; /* it is counted when it goes on */
    r                                              = wr_run_new(root->engine, root->tree, root, &row, &run, err);
    if (r >= 0)
        r = wr_load(run, err);
    root->below = counts;
    for (size_t i = 0; r >= 0 && i < root->pending.n; i++) {
        const struct wm_pending *p      = &root->pending.p[i];
        const struct wr_answer  *answer = wb_uuid_eq(p->run, id) ? answer_for(a, p) : NULL;
        if (answer)
            r = put_answer(run, p, answer, err);
    }
    return r < 0 || wr_draft_empty(run) ? r : wr_flush(run, NULL, err);
}

static WEFT_SUSPENDS int answer_children(struct answering *a, struct upp_err *err)
{
    struct wr_run *root = a->root;
    for (size_t i = 0; i < root->pending.n; i++) {
        const struct wm_pending *p     = &root->pending.p[i];
        bool                     first = !wb_uuid_eq(p->run, root->row.id) && answer_for(a, p);
        for (size_t k = 0; first && k < i; k++)
            first = !wb_uuid_eq(root->pending.p[k].run, p->run) || !answer_for(a, &root->pending.p[k]);
        if (!first)
            continue;
        int r = answer_child(a, p->run, err);
        wb_crashpoint("answer.child");
        if (r < 0)
            return r;
    }
    return 0;
}

/* The root's own answers, and what is open then. */
static int answer_root(struct answering *a, struct upp_err *err)
{
    struct wr_run *run = a->root;
    size_t         n   = 0;
    for (size_t i = 0; i < run->pending.n; i++) {
        struct wm_pending      *p      = &run->pending.p[i];
        const struct wr_answer *answer = answer_for(a, p);
        if (!answer)
            run->pending.p[n++] = *p;
        else if (wb_uuid_eq(p->run, run->row.id)) {
            int r = put_answer(run, p, answer, err);
            if (r < 0)
                return r;
        }
    }
    run->pending.n      = n;
    struct wm_event *ev = wr_draft_record(run, WM_RUN, err);
    if (!ev)
        return -UPP_ENOMEM;
    ev->status    = n ? WM_WAITING : WM_RUNNING;
    ev->n_pending = n;
    if (!n)
        return 0;
    struct wm_pending *copy = wb_new_n(&run->memory, struct wm_pending, n);
    if (!copy)
        return wb_arena_check(&run->memory, err);
    memcpy(copy, run->pending.p, n * sizeof *copy);
    ev->pending = copy;
    return 0;
}

static WEFT_SUSPENDS int commit_answers(struct answering *a, bool *launched, struct upp_err *err)
{
    struct wr_run *run = a->root;
    struct wm_run  row = run->row;
    if (!run->pending.n) {
        int r = wr_launch(run, err);
        if (r < 0)
            return r;
        *launched      = true;
        row.status     = WM_RUNNING;
        row.expires_ms = 0;
    }
    struct wl_change set = {.kind = WL_SET_RUN, .run = &row};
    wb_crashpoint("answer.before");
    int r = wr_flush(run, &(struct wr_more){&set, 1}, err);
    wb_crashpoint("answer.after");
    if (r >= 0) {
        uint32_t version = row.version;
        run->row         = row;
        run->row.version = version + 1;
    }
    run->changing = false;
    if (*launched)
        wr_go(run, r >= 0);
    return r;
}

int wr_answer(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, const struct wr_answer *answers,
              size_t n, struct upp_err *err)
{
    if (!e->store)
        return upp_fail(err, UPP_EINVALID, "a run without a store cannot wait for answers");
    WB_CLEANUP(wb_arena_done) struct wb_arena  a = WB_ARENA(64u << 20);
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    struct wm_run                              row;
    struct answering                           an = {.answers = answers, .n = n};
    int                                        r  = get_root(e, o, id, &a, &row, err);
    if (r >= 0)
        r = wr_tree_get(e, o, &row, &t, err);
    if (r >= 0)
        r = wr_tree_own(t, &row, &an.root, err);
    if (r < 0)
        return r;
    bool launched     = false;
    an.root->changing = true; /* a cancel waits until it goes on, or waits again */
    r = e->store->ops->run(e->store, o, row.id, &an.root->memory, &an.root->row, err); /* as it is now */
    if (r >= 0 && (an.root->row.status != WM_WAITING || an.root->row.cancel))
        r = upp_fail(err, UPP_EINVALID, "the run does not wait for answers");
    if (r >= 0)
        r = wr_load(an.root, err);
    an.root->loaded = r >= 0;
    if (r >= 0)
        r = check_answers(&an, err);
    if (r >= 0)
        r = answer_children(&an, err);
    if (r >= 0)
        r = answer_root(&an, err);
    if (r >= 0)
        r = commit_answers(&an, &launched, err);
    if (!launched)
        wr_tree_disown(an.root);
    return r;
}

/* ---- Waiting ------------------------------------------------------------------------------------------------------
 */

/* Until something changes in a tree that works, or is queued. */
static WEFT_SUSPENDS int wait_tree(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                   struct upp_err *err)
{
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t    = NULL;
    struct wm_run                              root = {.id = row->root};
    int                                        r    = wr_tree_get(e, o, &root, &t, err);
    if (r >= 0 && (t->run || t->status == WM_QUEUED))
        r = weft_cond_wait(&t->changed, err);
    return r;
}

int wr_wait(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, uint8_t *status, struct upp_err *err)
{
    for (;;) {
        struct wr_tree *t = wr_tree_find(e, id);
        int             r = 0;
        if (t && t->run) {
            t->refs++;
            r = weft_cond_wait(&t->changed, err);
            if (r >= 0 && !e->store && wm_status_ended(t->status)) {
                *status = t->status;
                wr_tree_unref(t);
                return 0;
            }
            wr_tree_unref(t);
            if (r < 0)
                return r;
            continue;
        }
        if (!e->store)
            return upp_fail(err, UPP_ENOTFOUND, "no such run works");
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wm_run                             row;
        r = e->store->ops->run(e->store, o, id, &a, &row, err);
        if (r < 0)
            return r;
        t = wr_tree_find(e, row.root);
        if (row.status != WM_QUEUED && !(t && t->run)) {
            *status = row.status;
            return 0;
        }
        r = wait_tree(e, o, &row, err);
        if (r < 0)
            return r;
    }
}
