/* server/doors/v1/tree.c — GET /v1/threads/{t}/tree and .../checkpoints, extensions: the branches of a conversation,
 * and the checkpoints that it can be restored to. */
#include "server/doors/v1/tree.h"

#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

static void node_id(struct wj_writer *w, const char *key, const struct wa_tree_summary *l, uint32_t node)
{
    char id[WB_UUID_TEXT + 1];
    wj_put_str(w, key, node < l->n ? wb_uuid_text(l->nodes[node].node.id, id) : (struct upp_str){NULL, 0});
}

static void seconds(struct wj_writer *w, const char *key, int64_t ms)
{
    wj_put_i64(w, key, ms / 1000);
}

static struct upp_str role_name(uint8_t role)
{
    return role == UPP_ROLE_USER        ? UPP_STR("user")
           : role == UPP_ROLE_ASSISTANT ? UPP_STR("assistant")
           : role == UPP_ROLE_TOOL      ? UPP_STR("tool")
                                        : (struct upp_str){NULL, 0};
}

static void write_checkpoint(struct wj_writer *w, const struct wl_thread *t, const struct wa_tree_summary *l,
                             const struct wa_summary_checkpoint *cp)
{
    wj_write_open(w, '{');
    wj_put_str(w, "id", cp->id);
    wj_put_str(w, "object", UPP_STR("thread.checkpoint"));
    seconds(w, "created_at", cp->time_ms);
    asst_put_id(w, "thread_id", "thread_", t->id);
    node_id(w, "node_id", l, cp->node);
    wj_put_u64(w, "step", cp->step);
    wj_put_u64(w, "messages", cp->messages);
    wj_put_bool(w, "imported", cp->imported);
    wj_write_close(w, '}');
}

static void write_node(struct wj_writer *w, const struct wl_thread *t, const struct wa_tree_summary *l,
                       const struct wa_summary_node *n)
{
    struct upp_str metadata = n->node.metadata.n ? n->node.metadata : UPP_STR("{}");
    wj_write_open(w, '{');
    node_id(w, "id", l, (uint32_t)(n - l->nodes));
    node_id(w, "parent_id", l, n->parent);
    wj_put_u64(w, "branch_point", n->branch);
    wj_put_u64(w, "branch_entries", n->node.parent_length);
    wj_put_str(w, "name", n->node.name);
    seconds(w, "created_at", n->node.created_ms);
    wj_put_u64(w, "messages", n->messages);
    wj_put_str(w, "role", role_name(n->role));
    wj_put_str(w, "text", n->words);
    wj_put_bool(w, "imported", n->node.origin.p != NULL);
    wj_put_str(w, "foreign_id", n->foreign);
    wj_put_raw(w, "metadata", metadata.p, metadata.n);
    wj_put_open(w, "checkpoints", '[');
    for (size_t i = 0; i < n->n_checkpoints; i++)
        write_checkpoint(w, t, l, &n->checkpoints[i]);
    wj_write_close(w, ']');
    wj_put_open(w, "threads", '[');
    for (size_t i = 0; i < n->n_threads; i++) {
        wj_write_open(w, '{');
        asst_put_id(w, "id", "thread_", n->threads[i].id);
        wj_put_u64(w, "messages", n->threads[i].messages);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

void sv_write_tree(struct wj_writer *w, const struct wl_thread *t, const struct wa_tree_summary *l)
{
    wj_write_open(w, '{');
    wj_put_str(w, "object", UPP_STR("thread.tree"));
    asst_put_id(w, "thread_id", "thread_", t->id);
    node_id(w, "root_id", l, l->root);
    node_id(w, "current_id", l, l->current);
    wj_put_u64(w, "current_messages", l->messages);
    wj_put_bool(w, "put_back", l->put_back);
    wj_put_open(w, "nodes", '[');
    for (size_t i = 0; i < l->n; i++)
        write_node(w, t, l, &l->nodes[i]);
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

WEFT_SUSPENDS static int look(struct sv_exchange *x, struct wl_thread *t, struct wa_tree_summary *ret,
                              struct upp_err *err)
{
    int r = sv_find_thread(x, t, err);
    return r < 0 ? r : wa_tree_summarise(x->server->opts.store, &x->owner, t, &x->arena, ret, err);
}

WEFT_SUSPENDS int sv_get_tree(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct wa_tree_summary l;
    struct wj_writer w;
    int r = look(x, &t, &l, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_write_tree(&w, &t, &l);
    return sv_finish(x, &w);
}

struct list {
    uint64_t limit;
    bool ascending;
    struct upp_str after; /* empty: from the beginning */
};

/* The i-th in the requested order. */
static const struct wa_summary_checkpoint *at(const struct wa_tree_summary *l, const struct list *list, size_t i)
{
    return l->checkpoints[list->ascending ? i : l->n_checkpoints - 1 - i];
}

WEFT_SUSPENDS int sv_list_checkpoints(struct sv_exchange *x, struct upp_err *err)
{
    struct list list = {0};
    struct wl_thread t;
    struct wa_tree_summary l = {0};
    size_t first = 0;
    struct wj_writer w;
    int r = sv_read_limit(x, &list.limit, &list.ascending, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("after"), &list.after, err);
    if (r >= 0)
        r = look(x, &t, &l, err);
    if (r < 0)
        return r;
    if (list.after.p) {
        while (first < l.n_checkpoints && !wb_str_eq(at(&l, &list, first)->id, list.after))
            first++;
        if (first++ == l.n_checkpoints)
            return upp_fail(err, UPP_EINVALID, "'after' names no checkpoint of this thread: '%.*s'",
                            UPP_FMT(list.after));
    }
    size_t end = WB_MIN(l.n_checkpoints, first + (size_t)list.limit);
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = first; i < end; i++)
        write_checkpoint(&w, &t, &l, at(&l, &list, i));
    wj_write_close(&w, ']');
    wj_put_str(&w, "first_id", end > first ? at(&l, &list, first)->id : (struct upp_str){NULL, 0});
    wj_put_str(&w, "last_id", end > first ? at(&l, &list, end - 1)->id : (struct upp_str){NULL, 0});
    wj_put_bool(&w, "has_more", end < l.n_checkpoints);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
