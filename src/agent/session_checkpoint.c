/* agent/session_checkpoint.c — checkpoints: looking at them, and going back to one. */
#include "agent/session.h"

#include "agent/session_put.h"
#include "base/iso8601.h"

/* ---- Looking --------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int read(struct weft_session *s, void *arg, struct upp_err *err)
{
    (void)arg;
    return wa_session_read(s, err);
}

int weft_session_checkpoints(struct weft_session *s, size_t *ret, struct upp_err *err)
{
    int r = s->has_doc ? 0 : wa_session_look(s, "weft_session_checkpoints", read, NULL, err);
    *ret  = r < 0 ? 0 : s->doc.n_checkpoints;
    return r;
}

static int64_t moment(struct upp_str text)
{
    struct wb_time t;
    return wb_time_parse(text, &t, NULL) < 0 ? 0 : wb_time_ms(&t);
}

/* Call id -> SessionJSON. */
static int write_subs(struct weft_session *s, const struct wm_checkpoint *cp, struct upp_str *ret, struct upp_err *err)
{
    struct wj_writer w;
    wb_buf_done(&s->subagents); /* a failure is over, too */
    s->subagents = (struct wb_buf)WB_BUF(WM_SESSION_BYTES);
    wj_writer_init(&w, &s->subagents, err);
    wj_write_open(&w, '{');
    for (size_t i = 0; i < cp->n_subs; i++) {
        wj_write_name(&w, cp->subs[i].call);
        wm_session_write(&w, cp->subs[i].session);
    }
    wj_write_close(&w, '}');
    *ret = wb_buf_str(&s->subagents);
    return wj_writer_check(&w);
}

int weft_session_checkpoint(struct weft_session *s, size_t i, struct weft_checkpoint *ret, struct upp_err *err)
{
    size_t n;
    int    r = weft_session_checkpoints(s, &n, err);
    if (r >= 0 && i >= n)
        r = upp_fail(err, UPP_ENOTFOUND, "session %.*s has %zu checkpoints", UPP_FMT(s->id), n);
    if (r < 0)
        return r;
    const struct wm_checkpoint *cp = &s->doc.checkpoints[i];
    *ret                           = (struct weft_checkpoint){
                                  .id                    = cp->id,
                                  .session_id            = s->id,
                                  .time_ms               = moment(cp->time),
                                  .step                  = cp->step,
                                  .node                  = s->doc.tree.nodes[cp->node].id,
                                  .state                 = {.step = cp->state_step,
                                                            .metadata =
                      cp->state_metadata.p ? cp->state_metadata : UPP_STR("{}"), .plan = cp->plan, .own = cp->own},
                                            .messages    = cp->messages,
                                            .n_messages  = cp->n_messages,
                                            .reasoning   = cp->reasoning,
                                            .n_reasoning = cp->n_reasoning,
                                            .metadata    = cp->metadata.p ? cp->metadata
                                                                          : UPP_STR("{}"),
                              };
    return write_subs(s, cp, &ret->subagents, err);
}

/* ---- Going back ------------------------------------------------------------------------------------------ */

struct going {
    struct upp_str              id;
    const struct wm_checkpoint *checkpoint;
    uint64_t                    node;
    uint32_t                    length; /* entries of it */
};

static int find(const struct weft_session *s, struct going *g, struct upp_err *err)
{
    for (size_t i = 0; i < s->doc.n_checkpoints; i++)
        if (wb_str_eq(s->doc.checkpoints[i].id, g->id)) {
            g->checkpoint = &s->doc.checkpoints[i];
            return 0;
        }
    return upp_fail(err, UPP_ENOTFOUND, "session %.*s has no checkpoint '%.*s'", UPP_FMT(s->id), UPP_FMT(g->id));
}

int wa_session_end_runs(struct weft_session *s, struct wb_uuid thread, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a     = WB_ARENA(64u << 20);
    struct wl_store                          *store = wr_engine_store(s->home->kept);
    struct wm_run                            *runs;
    size_t                                    n;
    int r = store->ops->runs(store, &wa_owner, thread, true, 32, &a, &runs, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        uint8_t status;
        r = wr_cancel(s->home->kept, &wa_owner, runs[i].id, err);
        if (r >= 0)
            r = wr_wait(s->home->kept, &wa_owner, runs[i].id, &status, err);
        r = r == -UPP_EREFUSED ? 0 : r; /* it has just ended */
    }
    return r;
}

/* A checkpoint of ours is a place. One that came with a document has messages: where its node has them too it is a
 * place all the same; else they become a branch. */
static WEFT_SUSPENDS int find_place(struct weft_session *s, struct going *g, const struct wl_thread *t,
                                    struct wb_arena *a, struct wa_put *put, struct upp_err *err)
{
    struct wl_store            *store = wr_engine_store(s->home->kept);
    const struct wm_checkpoint *cp    = g->checkpoint;
    struct wb_uuid              id;
    struct wm_place             place;
    struct wa_doc_node         *nodes;
    size_t                      n;
    int                         r = wa_tree_nodes(store, &wa_owner, t->tree, a, &nodes, &n, err);
    if (r < 0)
        return r;
    if (wb_uuid_parse(cp->id, &id) && wm_place_parse(id, &place) && place.node == nodes[cp->node].node.key) {
        g->node   = place.node;
        g->length = place.length;
        return 0;
    }
    r = wa_node_read(store, &wa_owner, &nodes[cp->node], a, err);
    if (r < 0)
        return r;
    const struct wa_doc_node *node = &nodes[cp->node];
    size_t                    from = WB_MIN((size_t)cp->length, node->n_messages), k = 0;
    while (k < cp->n_messages && from + k < node->n_messages && cp->messages[k].id.n &&
           wb_str_eq(cp->messages[k].id, node->messages[from + k].id))
        k++;
    size_t upto = k == cp->n_messages ? from + k : from;
    g->node     = node->node.key;
    g->length   = upto ? node->entry_of[upto - 1] + 1 : 0;
    if (k == cp->n_messages)
        return 0;
    struct wl_node branch;
    struct wl_end  end = {0};
    r                  = wl_branch_make(&node->node, g->length, &branch, err);
    if (r >= 0) {
        g->node     = branch.key;
        put->half   = &g->node;
        put->n_half = 1;
        r           = wa_put_node(put, &branch, err);
    }
    if (r >= 0)
        r = wa_put_messages(put, branch.key, &end, cp->messages, cp->n_messages, err);
    g->length = end.length;
    return r;
}

static WEFT_SUSPENDS int go_back(struct weft_session *s, void *arg, struct upp_err *err)
{
    struct going                             *g = arg;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    WB_CLEANUP(wa_put_done) struct wa_put     put;
    struct wl_thread                          t;
    wa_put_init(&put, NULL, &wa_owner);
    int r = wa_session_settle(s, err);
    if (r >= 0)
        r = wa_session_read(s, err);
    if (r >= 0)
        r = find(s, g, err);
    if (r >= 0)
        r = wa_session_end_runs(s, s->thread, err);
    put.store  = wr_engine_store(s->home->kept);
    put.thread = &t;
    put.moved  = true;
    if (r >= 0)
        r = wa_session_thread(s, &a, &t, err);
    if (r >= 0)
        r = wa_half_clear(put.store, &wa_owner, &t, err);
    if (r >= 0)
        r = find_place(s, g, &t, &a, &put, err);
    if (r < 0)
        return r;
    t.head = g->node;
    t.at   = g->length + 1;
    r      = wa_put_commit(&put, err);
    wa_session_stale(s);
    return r < 0 || !s->tree ? r : wa_session_tree_read(s, err);
}

int weft_session_restore(struct weft_session *s, struct upp_str checkpoint, struct upp_err *err)
{
    struct going g = {.id = checkpoint};
    return wa_session_change(s, "weft_session_restore", go_back, &g, err);
}
