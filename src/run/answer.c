/* run/answer.c — answers to the pending calls of a waiting run: committed together, then the run resumes. */
#include "base/clock.h"
#include "base/crash.h"
#include "base/mask_stream.h"
#include "base/vec_add.h"
#include "json/read.h"
#include "json/syntax.h"
#include "json/write.h"
#include "run/engine_state.h"
#include "run/journal.h"
#include "run/step.h"

/* The answers of one request, and the root whose calls are pending. */
struct answering {
    struct wr_run *root;
    const struct wr_answer *answers;
    size_t n;
    const struct wr_author *by; /* NULL: nobody knows */
    struct wm_event *now;       /* the record of what waits after them */
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
        for (size_t k = 0; k < a->root->journal.pending.n; k++)
            if (wb_str_eq(a->root->journal.pending.p[k].call, a->answers[i].call))
                found = &a->root->journal.pending.p[k];
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

int wr_denial(struct wb_arena *a, struct upp_str reason, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20);
    struct wj_writer w;
    struct upp_str text = UPP_STR("Tool execution denied by approval handler");
    if (reason.n)
        text = wb_arena_printf(a, "%.*s: %.*s", UPP_FMT(text), UPP_FMT(reason));
    wj_writer_init(&w, &out, err);
    wj_write_str(&w, text);
    int r = wj_writer_check(&w);
    *ret = wb_arena_dup(a, wb_buf_str(&out));
    return r < 0 ? r : wb_arena_check(a, err);
}

static int put_answer(struct wr_run *run, const struct wm_pending *p, const struct wr_answer *answer,
                      struct upp_err *err)
{
    struct wr_call *c;
    int r = wr_call_add(run, p->call, &c, err);
    (void)wr_now(run); /* the wait ends */
    if (r < 0)
        return r;
    if (c->state == WR_CALL_ENDED) /* an earlier request came this far before the process died */
        return 0;
    if (p->approval && answer->approved) {
        if (c->approved) /* the same */
            return 0;
        struct wm_event *ev = wr_draft_record(run, WM_APPROVED, err);
        if (!ev)
            return wr_draft_failed(run, err);
        ev->call = (struct wm_call_event){.id = p->call, .name = p->name};
        c->approved = true;
        return 0;
    }
    struct upp_str text = wb_arena_dup(&run->memory, answer->result);
    r = p->approval ? wr_denial(&run->memory, answer->reason, &text, err) : 0;
    if (r >= 0 && text.n)
        r = wb_masks_value(&run->memory, &text, err);
    if (r >= 0)
        r = wr_result_fit(run, &text, err);
    if (r < 0)
        return r;
    struct wm_event *ev = wr_draft_record(run, WM_TOOL_ENDED, err);
    if (!ev)
        return wr_draft_failed(run, err);
    ev->call.id = p->call;
    ev->call.name = p->name;
    ev->tool_ended.outcome = p->approval ? WM_DENIED : answer->is_error ? WM_ERROR : WM_DONE;
    ev->tool_ended.result = text;
    c->state = WR_CALL_ENDED;
    c->outcome = ev->tool_ended.outcome;
    c->result = ev->tool_ended.result;
    c->order = run->step.n_ended++;
    return wb_arena_check(&run->memory, err);
}

/* Commits the answers for one child, in a row of its own node. */
static WEFT_SUSPENDS int answer_child(struct answering *a, struct wb_uuid id, struct upp_err *err)
{
    struct wr_run *root = a->root;
    struct wl_store *s = root->engine->store;
    struct wm_run row;
    int r = wl_get_run(s, &root->tree->owner, id, &root->memory, &row, err);
    if (r < 0)
        return r;
    if (wm_status_ended(row.status)) /* the tree was being ended when the process died */
        return upp_fail(err, UPP_EINVALID, "the agent that waited for it has ended");
    WB_CLEANUP(wr_run_freep) struct wr_run *run = NULL;
    struct wr_below counts = root->budget.below; /* its usage is counted when it resumes */
    r = wr_run_new(root->engine, root->tree, root, &row, &run, err);
    if (r >= 0)
        r = wr_load(run, err);
    root->budget.below = counts;
    for (size_t i = 0; r >= 0 && i < root->journal.pending.n; i++) {
        const struct wm_pending *p = &root->journal.pending.p[i];
        const struct wr_answer *answer = wb_uuid_eq(p->run, id) ? answer_for(a, p) : NULL;
        if (answer)
            r = put_answer(run, p, answer, err);
    }
    return r < 0 || wr_draft_empty(run) ? r : wr_flush(run, NULL, err);
}

static WEFT_SUSPENDS int answer_children(struct answering *a, struct upp_err *err)
{
    struct wr_run *root = a->root;
    for (size_t i = 0; i < root->journal.pending.n; i++) {
        const struct wm_pending *p = &root->journal.pending.p[i];
        bool first = !wb_uuid_eq(p->run, root->row.id) && answer_for(a, p);
        for (size_t k = 0; first && k < i; k++)
            first = !wb_uuid_eq(root->journal.pending.p[k].run, p->run) || !answer_for(a, &root->journal.pending.p[k]);
        if (!first)
            continue;
        int r = answer_child(a, p->run, err);
        wb_crashpoint("answer.child");
        if (r < 0)
            return r;
    }
    return 0;
}

/* Drafts the root's own answers, and a record of what is still pending. */
static int answer_root(struct answering *a, struct upp_err *err)
{
    struct wr_run *run = a->root;
    size_t n = 0;
    (void)wr_now(run); /* also if only a run below was answered */
    for (size_t i = 0; i < run->journal.pending.n; i++) {
        struct wm_pending *p = &run->journal.pending.p[i];
        const struct wr_answer *answer = answer_for(a, p);
        if (!answer)
            run->journal.pending.p[n++] = *p;
        else if (wb_uuid_eq(p->run, run->row.id)) {
            int r = put_answer(run, p, answer, err);
            if (r < 0)
                return r;
        }
    }
    run->journal.pending.n = n;
    struct wm_event *ev = wr_draft_record(run, WM_RUN, err);
    if (!ev)
        return wr_draft_failed(run, err);
    a->now = ev;
    ev->run.status = n ? WM_WAITING : WM_RUNNING;
    ev->run.n_pending = n;
    if (a->by) {
        ev->run.answered_by = wb_arena_dup(&run->memory, a->by->who);
        ev->run.api_key = wb_arena_dup(&run->memory, a->by->api_key);
    }
    if (!n)
        return wb_arena_check(&run->memory, err);
    struct wm_pending *copy = wb_new_n(&run->memory, struct wm_pending, n);
    if (!copy)
        return wb_arena_check(&run->memory, err);
    memcpy(copy, run->journal.pending.p, n * sizeof *copy);
    ev->run.pending = copy;
    return 0;
}

/* The run goes on with other options. They are committed with the answers. */
static int set_options(struct wr_run *run, struct upp_str options, struct upp_err *err)
{
    struct upp_str agent = run->held && !run->held->base ? run->held->name : run->row.agent;
    run->row.options = wb_arena_dup(&run->memory, options);
    int r = wb_arena_check(&run->memory, err);
    return r < 0 ? r : wr_become(run, agent, err);
}

/* The changes of the run beside its row: the name that it takes, and the key of the request. */
struct naming {
    struct wl_alias alias;
    struct wl_key key;
};

static size_t add_names(const struct answering *a, struct naming *names, struct wl_change *to)
{
    const struct wr_author *by = a->by;
    size_t n = 0;
    if (by && by->alias.p) {
        names->alias = (struct wl_alias){.kind = WL_ALIAS_RUN, .text = by->alias, .object = a->root->row.id};
        to[n++] = (struct wl_change){.kind = WL_DROP_ALIAS, .alias = &names->alias};
        to[n++] = (struct wl_change){.kind = WL_ADD_ALIAS, .alias = &names->alias};
    }
    if (by && by->key.p) { /* the time of the record: a repetition finds where its answer begins */
        names->key = (struct wl_key){
            .route = by->route, .key = by->key, .object = a->root->row.id, .created_ms = a->now->time_ms};
        memcpy(names->key.body, by->body, sizeof names->key.body);
        to[n++] = (struct wl_change){.kind = WL_ADD_KEY, .key = &names->key};
    }
    return n;
}

static WEFT_SUSPENDS int commit_answers(struct answering *a, bool *launched, struct upp_err *err)
{
    struct wr_run *run = a->root;
    struct wm_run row = run->row;
    if (!run->journal.pending.n) {
        int r = wr_launch(run, err);
        if (r < 0)
            return r;
        *launched = true;
        run->tree->was_read = !wb_list_empty(&run->tree->readers);
        row.status = WM_RUNNING;
        row.engine = run->engine->id;
        row.expires_ms = 0;
    } else
        wr_set_expiry(run, &row, a->now); /* a later one, if the answered calls had the least time */
    struct naming names;
    struct wl_change changes[4] = {{.kind = WL_SET_RUN, .run = &row}};
    size_t n = 1 + add_names(a, &names, changes + 1);
    wb_crashpoint("answer.before");
    int r = wr_flush(run, &(struct wr_more){changes, n}, err);
    wb_crashpoint("answer.after");
    if (r >= 0) {
        uint32_t version = row.version;
        run->row = row;
        run->row.version = version + 1;
        if (*launched)
            wr_note_run(run, WR_RUN_RESUMED, NULL);
    }
    run->changing = *launched && r < 0; /* then it is about to be gone */
    if (*launched)
        wr_go(run, r >= 0);
    else if (r >= 0)
        wr_supervise_at(run->engine, row.expires_ms);
    return r;
}

int wr_answer(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, const struct wr_answer *answers,
              size_t n, struct upp_err *err)
{
    return wr_answer_by(e, o, id, answers, n, NULL, err);
}

int wr_answer_by(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, const struct wr_answer *answers,
                 size_t n, const struct wr_author *by, struct upp_err *err)
{
    if (!e->store)
        return upp_fail(err, UPP_EINVALID, "a run without a store cannot wait for answers");
    if (by && by->key.p && !by->body)
        return upp_fail(err, UPP_EBUG, "an idempotency key without the hash of a body");
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    struct wm_run row;
    struct answering an = {.answers = answers, .n = n, .by = by};
    int r = wr_get_root(e, o, id, &a, &row, err);
    if (r >= 0 && row.status == WM_WAITING && row.expires_ms && row.expires_ms <= wb_wall_ms()) {
        r = wr_expire(e, o, &row, err); /* nobody supervised it when its time was over, or somebody does right now */
        if (r >= 0 || r == -UPP_EBUSY)
            return upp_fail(err, UPP_EINVALID, "the time for answers is over: the run has expired");
    }
    if (r >= 0)
        r = wr_tree_get(e, o, &row, &t, err);
    if (r >= 0)
        r = wr_tree_own(t, &row, &an.root, err);
    if (r < 0)
        return r;
    bool launched = false;
    an.root->changing = true; /* a cancel waits until the run resumes or waits again */
    r = wl_get_run(e->store, o, row.id, &an.root->memory, &an.root->row, err); /* the current row */
    if (r >= 0 && (an.root->row.status != WM_WAITING || an.root->row.cancel))
        r = upp_fail(err, UPP_EINVALID, "the run does not wait for answers");
    if (r >= 0)
        r = wr_load(an.root, err);
    an.root->loaded = r >= 0;
    if (r >= 0)
        r = check_answers(&an, err);
    if (r >= 0 && by && by->options.n)
        r = set_options(an.root, by->options, err);
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
