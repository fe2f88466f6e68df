/* server/doors/v1/tree.c — GET /v1/threads/{t}/tree and .../checkpoints, extensions: the branches of a conversation,
 * and the checkpoints that it can be restored to. POST .../fork, .../restore and .../checkout move a thread to another
 * position of its tree, or create one there: they start no run and delete no messages. */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "server/doors/keyed.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/objects/thread.h"
#include "server/doors/v1/routes.h"
#include "server/http/body.h"
#include "server/http/server.h"
#include "server/members/members.h"
#include "thread/position.h"

static void put_node_id(struct wj_writer *w, const char *key, const struct wa_tree_summary *l, uint32_t node)
{
    char id[WB_UUID_TEXT + 1];
    wj_put_str(w, key, node < l->n ? wb_uuid_text(l->nodes[node].node.id, id) : (struct upp_str){NULL, 0});
}

static void put_seconds(struct wj_writer *w, const char *key, int64_t ms)
{
    wj_put_i64(w, key, ms / 1000);
}

static void write_checkpoint(struct wj_writer *w, const struct wl_thread *t, const struct wa_tree_summary *l,
                             const struct wa_summary_checkpoint *cp)
{
    wj_write_open(w, '{');
    wj_put_str(w, "id", cp->id);
    wj_put_str(w, "object", UPP_STR("thread.checkpoint"));
    put_seconds(w, "created_at", cp->time_ms);
    asst_put_id(w, "thread_id", "thread_", t->id);
    put_node_id(w, "node_id", l, cp->node);
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
    put_node_id(w, "id", l, (uint32_t)(n - l->nodes));
    put_node_id(w, "parent_id", l, n->parent);
    wj_put_u64(w, "branch_point", n->branch);
    wj_put_u64(w, "branch_entries", n->node.parent_length);
    wj_put_str(w, "name", n->node.name);
    put_seconds(w, "created_at", n->node.created_ms);
    wj_put_u64(w, "messages", n->messages);
    wj_put_str(w, "role", sv_role_name(n->role));
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
    put_node_id(w, "root_id", l, l->root);
    put_node_id(w, "current_id", l, l->current);
    wj_put_u64(w, "current_messages", l->messages);
    wj_put_bool(w, "put_back", l->put_back);
    wj_put_open(w, "nodes", '[');
    for (size_t i = 0; i < l->n; i++)
        write_node(w, t, l, &l->nodes[i]);
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

WEFT_SUSPENDS static int summarise_tree(struct sv_exchange *x, struct wl_thread *t, struct wa_tree_summary *ret,
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
    int r = summarise_tree(x, &t, &l, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_write_tree(&w, &t, &l);
    return sv_finish(x, &w);
}

struct checkpoint_list {
    uint64_t limit;
    bool ascending;
    struct upp_str after; /* empty: from the beginning */
};

/* The i-th in the requested order. */
static const struct wa_summary_checkpoint *checkpoint_at(const struct wa_tree_summary *l,
                                                         const struct checkpoint_list *list, size_t i)
{
    return l->checkpoints[list->ascending ? i : l->n_checkpoints - 1 - i];
}

WEFT_SUSPENDS int sv_list_checkpoints(struct sv_exchange *x, struct upp_err *err)
{
    const struct upp_str none = {NULL, 0};
    struct checkpoint_list list = {0};
    struct wl_thread t;
    struct wa_tree_summary l = {0};
    size_t first = 0;
    struct wj_writer w;
    int r = sv_read_limit(x, &list.limit, &list.ascending, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("after"), &list.after, err);
    if (r >= 0)
        r = summarise_tree(x, &t, &l, err);
    if (r < 0)
        return r;
    if (list.after.p) {
        while (first < l.n_checkpoints && !wb_str_eq(checkpoint_at(&l, &list, first)->id, list.after))
            first++;
        if (first++ == l.n_checkpoints)
            return upp_fail(err, UPP_EINVALID, "'after' names no checkpoint of this thread: '%.*s'",
                            UPP_FMT(list.after));
    }
    size_t end = WB_MIN(l.n_checkpoints, first + (size_t)list.limit);
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = first; i < end; i++)
        write_checkpoint(&w, &t, &l, checkpoint_at(&l, &list, i));
    sv_list_end_text(&w, end > first ? checkpoint_at(&l, &list, first)->id : none,
                     end > first ? checkpoint_at(&l, &list, end - 1)->id : none, end < l.n_checkpoints);
    return sv_finish(x, &w);
}

/* The thread, and the one member that the body of these routes has: *which is its index in `known`. 0: there
 * is none. */
WEFT_SUSPENDS static int read_request(struct sv_exchange *x, const char *const *known, struct wl_thread *t,
                                      size_t *which, struct upp_str *ret, struct upp_err *err)
{
    struct sv_body b;
    int found = 0;
    *ret = (struct upp_str){NULL, 0};
    int r = sv_find_thread_to_change(x, t, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    for (size_t i = 0; r >= 0 && known[i]; i++) {
        struct upp_str text;
        r = sv_body_str(&b, b.root, wb_cstr(known[i]), &text, err);
        if (r <= 0)
            continue;
        if (found++)
            return sv_body_wrong(&b, sv_member(b.root, wb_cstr(known[i])), err, "'%s' or '%s', not both", known[*which],
                                 known[i]);
        *which = i;
        *ret = text;
    }
    return r < 0 ? r : found;
}

/* Responds with the thread's current position. */
WEFT_SUSPENDS static int answer_place(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_node node;
    struct wl_path path;
    struct wj_writer w;
    char id[WB_UUID_TEXT + 1];
    int r = wl_get_node(s, &x->owner, t->head, &node, err);
    if (r >= 0)
        r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "object", UPP_STR("thread.place"));
    asst_put_id(&w, "thread_id", "thread_", t->id);
    wj_put_str(&w, "node_id", wb_uuid_text(node.id, id));
    wj_put_u64(&w, "entries", path.length);
    wj_put_bool(&w, "put_back", t->at != 0);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_fork_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t, fork;
    static const char *const known[] = {"at", NULL};
    struct upp_str at;
    size_t which;
    struct sv_members_move m;
    struct sv_keyed k;
    int r = sv_keyed_begin(x, SV_MAKES_THREAD, &k, err);
    if (r == 0) {
        struct wl_store *s = sv_members_move_begin(x, &k.store, &t, &m);
        r = read_request(x, known, &t, &which, &at, err);
        if (r >= 0)
            r = wa_thread_fork(s, &x->owner, &t, at, &x->arena, &fork, err);
        if (r >= 0 && m.metadata.p)
            fork.metadata = m.metadata;
    }
    r = sv_keyed_thread(&k, r, &fork, err);
    return r < 0 ? r : sv_answer_thread(x, &fork, err);
}

/* Where a thread can be set back to. */
enum { CHECKPOINT, BEFORE, AFTER };
static const char *const places[] = {[CHECKPOINT] = "checkpoint_id", [BEFORE] = "before", [AFTER] = "after", NULL};

WEFT_SUSPENDS static int move_to_message(struct sv_exchange *x, struct wl_store *s, struct wl_thread *t,
                                         struct upp_str id, bool before, struct upp_err *err)
{
    struct wa_position to;
    int r = wa_message_find(s, &x->owner, t, id, before, &to, err);
    if (r == 0)
        return upp_fail(err, UPP_ENOTFOUND, "the thread's tree has no message '%.*s'", UPP_FMT(id));
    return r < 0 ? r : wa_thread_move(s, &x->owner, t, &to, &x->arena, err);
}

WEFT_SUSPENDS int sv_restore_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct upp_str id;
    size_t which;
    struct sv_members_move m;
    struct wl_store *s = sv_members_move_begin(x, x->server->opts.store, NULL, &m);
    int r = read_request(x, places, &t, &which, &id, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "the place to go back to is missing: checkpoint_id, before or after");
    if (r >= 0)
        r = which == CHECKPOINT ? wa_thread_restore(s, &x->owner, &t, id, &x->arena, err)
                                : move_to_message(x, s, &t, id, which == BEFORE, err);
    return r < 0 ? r : answer_place(x, &t, err);
}

WEFT_SUSPENDS int sv_checkout_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    static const char *const known[] = {"node_id", NULL};
    struct upp_str id;
    size_t which;
    struct sv_members_move m;
    struct wl_store *s = sv_members_move_begin(x, x->server->opts.store, NULL, &m);
    int r = read_request(x, known, &t, &which, &id, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "node_id names the node to go to, and is missing");
    if (r >= 0)
        r = wa_thread_checkout(s, &x->owner, &t, id, &x->arena, err);
    return r < 0 ? r : answer_place(x, &t, err);
}
