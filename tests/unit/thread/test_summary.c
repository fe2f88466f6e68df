/* The tree of a thread at a glance: what the session itself says of it. */
#include "thread/summary.h"

#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "support/agents.h"

static WEFT_SUSPENDS int say(struct weft_session *s, const char *text, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    return weft_session_run(s, wb_cstr(text), &turn, err);
}

struct seen {
    struct wb_arena arena;
    struct wa_tree_summary look;
};

static void seen_done(struct seen *x)
{
    wb_arena_done(&x->arena);
}

static WEFT_SUSPENDS int look(struct weft_session *s, void *arg, struct upp_err *err)
{
    struct seen *x = arg;
    struct wl_thread t;
    TRY(wa_session_thread(s, &x->arena, &t, err));
    return wa_tree_summarise(wr_engine_store(s->home->kept), &wa_owner, &t, &x->arena, &x->look, err);
}

/* The same checkpoints in the same order, on the same nodes. */
static WEFT_SUSPENDS int agrees(struct weft_session *s, const struct wa_tree_summary *l, struct upp_err *err)
{
    size_t n;
    TRY(weft_session_checkpoints(s, &n, err));
    test_note("%zu checkpoints, not %zu", l->n_checkpoints, n);
    FAIL_UNLESS(l->n_checkpoints == n);
    for (size_t i = 0; i < n; i++) {
        const struct wa_summary_checkpoint *seen = l->checkpoints[i];
        struct weft_checkpoint cp;
        char node[WB_UUID_TEXT + 1];
        TRY(weft_session_checkpoint(s, i, &cp, err));
        FAIL_UNLESS(wb_str_eq(cp.id, seen->id) && cp.step == seen->step && cp.time_ms == seen->time_ms);
        FAIL_UNLESS(wb_str_eq(cp.node, wb_uuid_text(l->nodes[seen->node].node.id, node)));
    }
    return 0;
}

static WEFT_SUSPENDS int looks(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL;
    UPP_CLEANUP(seen_done) struct seen x = {.arena = WB_ARENA(16u << 20)};
    struct weft_agent *a;
    struct weft_checkpoint cp;
    char id[64];
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(say(s, "one", err));
    TRY(say(s, "two", err));
    TRY(weft_session_query(s, UPP_STR("an aside"), &q, err));
    TRY(weft_session_checkpoint(s, 0, &cp, err));
    (void)snprintf(id, sizeof id, "%.*s", UPP_FMT(cp.id));
    TRY(weft_session_restore(s, wb_cstr(id), err));
    TRY(wa_session_look(s, "test", look, &x, err));
    FAIL_UNLESS(x.look.n == 2 && x.look.put_back && x.look.messages == 2 && x.look.current == x.look.root);
    TRY(say(s, "  three\nlines ", err));
    TRY(wa_session_look(s, "test", look, &x, err));
    const struct wa_summary_node *root = &x.look.nodes[x.look.root], *now = &x.look.nodes[x.look.current];
    FAIL_UNLESS(x.look.n == 3 && !x.look.put_back && root->n_children == 2 && root->messages == 4);
    FAIL_UNLESS(now->branch == 2 && now->n_threads == 1 && wb_str_eq(now->words, UPP_STR("three\nlines")));
    const struct wa_summary_node *aside = &x.look.nodes[root->children[0]]; /* of one age they come in any order */
    if (aside == now)
        aside = &x.look.nodes[root->children[1]];
    FAIL_UNLESS(aside->aside && !aside->n_checkpoints && !aside->n_threads && aside->branch == 0 &&
                aside->messages == 2);
    return agrees(s, &x.look, err);
}

TEST(thread_look_sees_what_the_session_sees)
{
    AGENTS(NULL, looks);
}
