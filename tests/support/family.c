#include "support/family.h"

#include <stddef.h>
#include <string.h>

#include "base/defs.h"
#include "fiber/loop.h"
#include "stores/memory/memory.h"

/* Tests run one at a time. */
static struct family *family_now;
static struct upp_model_ops spying;
static const struct upp_model_ops *spied;

static struct upp_str newest_text(const struct upp_request *q)
{
    for (size_t i = q->n_messages; i-- > 0;)
        for (size_t k = 0; q->messages[i]->role == UPP_ROLE_USER && k < q->messages[i]->n_parts; k++)
            if (q->messages[i]->parts[k].kind == UPP_PART_TEXT)
                return q->messages[i]->parts[k].text;
    return UPP_STR("");
}

static int spy(struct upp_step *s, struct upp_err *err)
{
    struct family *f = family_now;
    const struct upp_request *q = s->request;
    const char *who = "?";
    for (size_t i = 0; i < f->n; i++)
        if (f->rig.models[i] == s->model)
            who = f->members[i].name;
    wb_buf_addf(&f->asked, "%s params=%.*s asked=%.*s tools=", who, UPP_FMT(q->params), UPP_FMT(newest_text(q)));
    for (size_t i = 0; i < q->n_tools; i++)
        wb_buf_addf(&f->asked, "%s%.*s", i ? "," : "", UPP_FMT(q->tools[i].name));
    wb_buf_addc(&f->asked, '\n');
    int r = wb_buf_check(&f->asked, err);
    return r < 0 ? r : spied->open(s, err);
}

static int open_rig(struct family *f, struct upp_err *err)
{
    f->rig = (struct rig){.store = f->store ? &f->lazy.store : NULL, .checker = &f->checker};
    family_now = f;
    for (size_t i = 0; i < f->n; i++) {
        const struct family_member *m = &f->members[i];
        TRY(rig_agent(&f->rig, m->name, m->script, err));
        struct wr_agent_def *def = &f->rig.agents[i];
        spied = f->rig.models[i]->ops;
        spying = *spied;
        spying.open = spy;
        f->rig.models[i]->ops = &spying;
        if (m->tools) {
            def->tools = m->tools;
            def->n_tools = m->n_tools;
        }
        def->base = m->base;
        def->check_structure = m->check_structure;
        if (m->no_model)
            def->model = NULL;
        if (m->params)
            def->params = wb_cstr(m->params);
        def->handoffs = m->handoff;
        def->n_handoffs = m->handoff != NULL;
        def->rights = m->rights;
        def->hooks = m->hooks;
        if (m->strategy)
            def->strategy = m->strategy;
    }
    return rig_open(&f->rig, weft_loop_current(), UPP_OPTS(wr_engine_opts, .max_depth = f->max_depth), err);
}

static WEFT_SUSPENDS int play_fiber(void *arg, struct upp_err *err)
{
    struct family *f = arg;
    if (!f->no_store) {
        TRY(ws_memory_open(&f->store, err));
        lazy_open(&f->lazy, f->store);
        f->lazy.before_commit_ms = f->lazy.after_commit_ms = f->commit_ms;
    }
    int r = open_rig(f, err);
    if (r >= 0)
        r = f->act ? f->act(f, err) : family_turn(f, err);
    if (f->rig.engine)
        rig_close(&f->rig);
    rig_done(&f->rig);
    weft__loop_on_suspend(weft_loop_current(), NULL, NULL);
    if (r >= 0 && f->store && !f->unchecked)
        r = checker_check(&f->checker, f->store, false, err);
    if (f->store)
        f->store->ops->close(f->store);
    return r;
}

static int on_sim(struct family *f, struct upp_err *err)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    TRY(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = f->seed ? f->seed : 7), &w, err));
    TRY(weft__sim_program(w, "true", 3, 0, err));
    int r = weft_loop_run(weft__sim_loop(w, 0), "family", play_fiber, f, err);
    FAIL_UNLESS(weft__sim_children(w) == 0 && weft__sim_open_fds(w) == 0);
    return r;
}

int family_play(struct family *f, struct upp_err *err)
{
    memset(&f->rig, 0, sizeof *f - offsetof(struct family, rig));
    f->asked = (struct wb_buf)WB_BUF(1u << 20);
    checker_init(&f->checker, rig_owner);
    int r = f->real ? test_on_loop(play_fiber, f, err) : on_sim(f, err);
    if (r < 0)
        test_note("%s", err->msg);
    return r;
}

void family_donep(struct family **f)
{
    family_done(*f);
}

void family_done(struct family *f)
{
    upp_turn_free(f->turn);
    f->turn = NULL;
    wb_buf_done(&f->asked);
    checker_done(&f->checker);
}

int family_start(struct family *f, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("go")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {
        .owner = rig_owner, .agent = wb_cstr(f->members[0].name), .input = &input, .wants_turn = true};
    what.options = wb_cstr(f->options);
    if (f->on_suspend)
        weft__loop_on_suspend(weft_loop_current(), f->on_suspend, f->arg);
    return wr_start(f->rig.engine, &what, &f->started, err);
}

int family_join(struct family *f, struct upp_err *err)
{
    WEFT_DEADLINE(600000);
    f->result = wr_join(f->started.tree, &f->turn, &f->why);
    wr_tree_release(f->started.tree);
    (void)err;
    return 0;
}

int family_turn(struct family *f, struct upp_err *err)
{
    TRY(family_start(f, err));
    return family_join(f, err);
}

int family_wait(struct family *f, uint8_t *status, struct upp_err *err)
{
    WEFT_DEADLINE(600000);
    return wr_wait(f->rig.engine, &rig_owner, f->started.run, status, err);
}

int family_pending(struct family *f, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wr_run_info look;
    TRY(wr_get(f->rig.engine, &rig_owner, f->started.run, &a, &look, err));
    for (size_t i = 0; i < look.n_pending; i++)
        wb_buf_addf(out, "%s%s:%.*s", i ? " " : "", look.pending[i].approval ? "approve" : "answer",
                    UPP_FMT(look.pending[i].call));
    return wb_buf_check(out, err);
}

int family_restart(struct family *f, struct upp_err *err)
{
    size_t n;
    rig_close(&f->rig);
    TRY(open_rig(f, err));
    return wr_recover(f->rig.engine, &n, err);
}

int family_story(struct family *f, struct wb_buf *out, struct upp_err *err)
{
    TRY(rig_well_formed(f->store, &rig_owner, f->started.thread, err));
    return rig_history(&f->rig, f->started.thread, out, err);
}
