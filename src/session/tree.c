/* session/tree.c — the tree of a session in memory.
 *
 * It is read on request. Runs write to the log, and their new messages are then read into the tree. Programs change the
 * tree, and the next run or save writes that to the log: branches, messages after those in the log, the current node,
 * metadata. What is in the log cannot be removed.
 */
#include "session/session.h"

#include "thread/commits.h"
#include "thread/tree.h"
#include "base/clock.h"
#include "base/hooks.h"

/* A node as the log has it: `data` of its weft_node. */
struct log_node {
    struct wl_node node;
    uint32_t length;           /* entries that were read */
    uint32_t metadata, next;   /* version of the metadata in the log, and in the pending commit */
    WB_VEC(uint32_t) entry_of; /* by message: the index of its entry in the node; includes pending messages */
};

struct wa_session_tree {
    struct weft_tree *tree;
    bool busy;                /* it is being read or written */
    WB_VEC(uint64_t) queries; /* nodes with new messages in the log */
};

static void log_node_free(struct log_node *k)
{
    if (!k)
        return;
    wb_vec_done(&k->entry_of);
    wb_free(k);
}

void wa_session_tree_free(struct wa_session_tree *t)
{
    if (!t)
        return;
    for (struct weft_node *n = NULL; t->tree && (n = weft_tree_next(t->tree, n));)
        log_node_free(WB_TAKE(n->data));
    weft_tree_free(t->tree);
    wb_vec_done(&t->queries);
    wb_free(t);
}

static int no_memory(struct upp_err *err)
{
    return upp_fail(err, UPP_ENOMEM, "no memory for the tree of a session");
}

static int attach(struct weft_node *n, const struct wl_node *node, struct upp_err *err)
{
    struct log_node *k = wb_calloc(1, sizeof *k);
    if (!k)
        return no_memory(err);
    k->node = *node;
    k->metadata = k->next = n->metadata_set;
    n->data = k;
    return 0;
}

static int note_messages(struct log_node *k, const struct wa_doc_node *from, struct upp_err *err)
{
    for (size_t i = 0; i < from->n_messages; i++)
        if (!wb_vec_push(&k->entry_of, from->entry_of[i], UINT32_MAX))
            return no_memory(err);
    k->length = from->length;
    return 0;
}

/* ---- Reading from the log -------------------------------------------------------------------------------- */

/* Sets the session's position: the end of a node, or a restored position. */
static void set_position(struct weft_tree *t, struct weft_node *n, const struct wl_thread *thread)
{
    const struct log_node *k = n->data;
    uint32_t length = 0;
    while (length < k->entry_of.n && k->entry_of.p[length] + 1 < thread->at)
        length++;
    weft__tree_position(t, n, thread->at ? length : WM_ALL_MESSAGES);
}

static WEFT_SUSPENDS int read_all(struct weft_session *s, struct wa_session_tree *t, struct upp_err *err)
{
    struct wb_arena a = WB_ARENA(4ull * WM_SESSION_BYTES);
    struct wa_doc_node *nodes;
    struct wm_tree_doc doc;
    struct wl_thread thread;
    int r = wa_session_thread(s, &a, &thread, err);
    if (r >= 0)
        r = wa_tree_doc(wr_engine_store(s->home->kept), &wa_owner, &thread, &a, &doc, &nodes, err);
    if (r < 0) {
        wb_arena_done(&a);
        return r;
    }
    r = weft__tree_from(&a, &doc, &t->tree, err);
    if (r < 0)
        return r;
    memcpy(t->tree->family, thread.tree.b, sizeof t->tree->family);
    for (size_t i = 0; r >= 0 && i < doc.n; i++) {
        struct weft_node *n = t->tree->nodes.p[i];
        r = attach(n, &nodes[i].node, err);
        if (r >= 0)
            r = note_messages(n->data, &nodes[i], err);
        n->logged = nodes[i].n_messages;
    }
    if (r >= 0)
        set_position(t->tree, t->tree->current, &thread);
    return r;
}

static struct weft_node *find_node(struct weft_tree *t, uint64_t key)
{
    for (struct weft_node *n = NULL; (n = weft_tree_next(t, n));)
        if (n->data && ((const struct log_node *)n->data)->node.key == key)
            return n;
    return NULL;
}

/* Adds a branch that a run created. */
static WEFT_SUSPENDS int add_node(struct weft_session *s, struct weft_tree *t, uint64_t key, struct weft_node **ret,
                                  struct upp_err *err)
{
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wl_node node;
    char id[WB_UUID_TEXT + 1];
    int r = wl_get_node(store, &wa_owner, key, &node, err);
    if (r < 0)
        return r;
    struct weft_node *parent = find_node(t, node.parent);
    if (!parent)
        return upp_fail(err, UPP_ESTORE, "a node of session %.*s has no parent", UPP_FMT(s->id));
    const struct log_node *k = parent->data;
    size_t length = 0;
    while (length < k->entry_of.n && k->entry_of.p[length] < node.parent_length)
        length++;
    r = weft__tree_branch(t, parent, length, wb_uuid_text(node.id, id), (struct upp_str){0}, ret, err);
    return r < 0 ? r : attach(*ret, &node, err);
}

/* Reads the messages that the log has got since the last read. */
static WEFT_SUSPENDS int read_new(struct weft_session *s, struct weft_node *n, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4ull * WM_SESSION_BYTES);
    struct log_node *k = n->data;
    struct wa_doc_node more = {.node = k->node, .length = k->length};
    size_t had;
    (void)upp_thread_messages(n->thread, &had);
    if (had != n->logged)
        return upp_fail(err, UPP_EINVALID, "the tree of session %.*s was changed while a run worked", UPP_FMT(s->id));
    int r = wa_node_read(wr_engine_store(s->home->kept), &wa_owner, &more, &a, err);
    if (r >= 0 && more.n_messages)
        r = upp_thread_push(n->thread, more.messages, more.n_messages, err);
    if (r >= 0)
        r = note_messages(k, &more, err);
    n->logged += r >= 0 ? more.n_messages : 0;
    return r;
}

/* Reads a node's new messages; adds the node if it is not in the tree yet. */
static WEFT_SUSPENDS int read_node(struct weft_session *s, uint64_t key, struct weft_node **ret, struct upp_err *err)
{
    struct weft_tree *t = s->tree->tree;
    int r = 0;
    *ret = find_node(t, key);
    if (!*ret)
        r = add_node(s, t, key, ret, err);
    return r < 0 ? r : read_new(s, *ret, err);
}

static WEFT_SUSPENDS int read_queries(struct weft_session *s, struct upp_err *err)
{
    struct wa_session_tree *t = s->tree;
    struct weft_node *n;
    int r = 0;
    while (r >= 0 && t->queries.n) {
        r = read_node(s, t->queries.p[t->queries.n - 1], &n, err);
        t->queries.n -= r >= 0;
    }
    return r;
}

static WEFT_SUSPENDS int read_head(struct weft_session *s, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_thread thread;
    struct weft_node *head;
    int r = wa_session_thread(s, &a, &thread, err);
    if (r >= 0)
        r = read_node(s, thread.head, &head, err);
    if (r >= 0)
        set_position(s->tree->tree, head, &thread);
    return r;
}

/* Queries may end during the work: they leave their nodes to whoever works on the tree. */
static WEFT_SUSPENDS int with_tree(struct weft_session *s,
                                   WEFT_SUSPENDS int (*work)(struct weft_session *, struct upp_err *),
                                   struct upp_err *err)
{
    s->tree->busy = true;
    int r = read_queries(s, err);
    if (r >= 0)
        r = work(s, err);
    if (r >= 0)
        r = read_queries(s, err);
    s->tree->busy = false;
    return r;
}

int wa_session_tree_read(struct weft_session *s, struct upp_err *err)
{
    return with_tree(s, read_head, err);
}

static WEFT_SUSPENDS int no_work(struct weft_session *s, struct upp_err *err)
{
    (void)s, (void)err;
    return 0;
}

int wa_session_tree_query(struct weft_session *s, uint64_t node, struct upp_err *err)
{
    if (!wb_vec_push(&s->tree->queries, node, WEFT_TREE_NODES))
        return no_memory(err);
    return s->tree->busy ? 0 : with_tree(s, no_work, err);
}

/* ---- Writing to the log ------------------------------------------------------------------------------------
 *
 * New branches come first, and become visible with the last commit (log/staged.h). Existing nodes follow: if they need
 * more than one commit, each node is changed atomically. The thread's row comes last.
 */

struct storing {
    struct weft_session *session;
    struct weft_tree *tree;
    struct wa_put put;
    struct wl_thread thread;
    struct wb_arena memory;
    struct wl_end *ends; /* by node index: the end after the pending changes */
    bool *has_end;       /* which of them are set */
    size_t n_logged;     /* number of nodes in the log; the others are newer */
    size_t n_committed;  /* of them, those whose changes are committed */
};

static void storing_done(struct storing *x)
{
    wa_put_done(&x->put);
    wb_arena_done(&x->memory);
}

static size_t added(const struct weft_node *n)
{
    size_t had;
    (void)upp_thread_messages(n->thread, &had);
    return had - WB_MIN(had, n->logged);
}

/* The end of the node, including pending changes. */
static WEFT_SUSPENDS int find_end(struct storing *x, const struct weft_node *n, struct upp_err *err)
{
    const struct log_node *k = n->data;
    if (x->has_end[n->index])
        return 0;
    int r = k ? wl_node_end(x->put.store, &wa_owner, k->node.key, &x->ends[n->index], err) : 0;
    x->has_end[n->index] = r >= 0;
    return r;
}

/* The branch point in entries: all of the parent if the branch sees all its messages. */
static WEFT_SUSPENDS int branch_length(struct storing *x, const struct weft_node *n, uint32_t *ret, struct upp_err *err)
{
    const struct log_node *k = n->parent->data;
    size_t had;
    (void)upp_thread_messages(n->parent->thread, &had);
    *ret = 0;
    if (!n->branch)
        return 0;
    if (n->branch < had && n->branch <= k->entry_of.n) {
        *ret = k->entry_of.p[n->branch - 1] + 1;
        return 0;
    }
    int r = find_end(x, n->parent, err);
    if (r < 0)
        return r;
    uint32_t all = x->ends[n->parent->index].length;
    if (n->parent->index < x->n_logged)
        all += (uint32_t)added(n->parent); /* they are written after the branches */
    *ret = n->branch >= had ? all : all - (uint32_t)(had - n->branch);
    return 0;
}

static int check_id(const struct weft_node *n, struct wb_uuid *ret, struct upp_err *err)
{
    return wb_uuid_parse(n->id, ret) ? 0 : upp_fail(err, UPP_EINVALID, "the id of a branch is no UUID");
}

static WEFT_SUSPENDS int put_messages(struct storing *x, struct weft_node *n, const struct upp_message *list,
                                      size_t count, struct upp_err *err)
{
    struct log_node *k = n->data;
    struct wl_end *end = &x->ends[n->index];
    uint32_t from = end->length;
    int r = wa_put_messages(&x->put, k->node.key, end, list, count, err);
    for (; r >= 0 && from < end->length; from++)
        if (!wb_vec_push(&k->entry_of, from, UINT32_MAX))
            return no_memory(err);
    return r;
}

static WEFT_SUSPENDS int put_branch(struct storing *x, struct weft_node *n, struct upp_err *err)
{
    struct wb_uuid id;
    uint32_t length;
    const struct log_node *parent = n->parent->data;
    size_t had;
    const struct upp_message *list = upp_thread_messages(n->thread, &had);
    int64_t now = wb_wall_ms();
    int r = check_id(n, &id, err);
    if (r >= 0)
        r = branch_length(x, n, &length, err);
    if (r < 0)
        return r;
    struct wl_node node = {.key = wm_key(id),
                           .id = id,
                           .tree = x->thread.tree,
                           .parent = parent->node.key,
                           .parent_length = length,
                           .created_ms = WB_MAX(now, parent->node.created_ms),
                           .name = n->name,
                           .metadata = n->metadata};
    r = wa_put_node(&x->put, &node, err);
    if (r >= 0)
        r = attach(n, &node, err);
    x->has_end[n->index] = true;
    return r < 0 ? r : put_messages(x, n, list, had, err);
}

static WEFT_SUSPENDS int put_branches(struct storing *x, struct upp_err *err)
{
    size_t n = x->tree->nodes.n - x->n_logged;
    uint64_t *keys = wb_new_n(&x->memory, uint64_t, n);
    int r = wb_arena_check(&x->memory, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct wb_uuid id;
        r = check_id(x->tree->nodes.p[x->n_logged + i], &id, err);
        if (r >= 0)
            keys[i] = wm_key(id);
    }
    x->put.staged = keys;
    x->put.n_staged = n;
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = put_branch(x, x->tree->nodes.p[x->n_logged + i], err);
    return r;
}

/* Marks what was written of these nodes as being in the log. */
static void mark_logged(struct storing *x, size_t from, size_t upto)
{
    for (size_t i = from; i < upto; i++) {
        struct weft_node *n = x->tree->nodes.p[i];
        struct log_node *k = n->data;
        n->logged = k->entry_of.n;
        k->length = x->has_end[i] ? x->ends[i].length : k->length;
        k->metadata = k->next;
    }
}

static int put_metadata(struct storing *x, const struct weft_node *n, struct upp_err *err)
{
    struct log_node *k = n->data;
    struct wl_node *node = wb_new(&x->memory, struct wl_node);
    if (!node)
        return wb_arena_check(&x->memory, err);
    k->next = n->metadata_set;
    *node = k->node;
    node->name = n->name;
    node->metadata = n->metadata;
    return wa_put_add(&x->put, (struct wl_change){.kind = WL_SET_NODE, .node = node}, err);
}

/* Writes the changes of a node that is in the log. */
static WEFT_SUSPENDS int put_node(struct storing *x, struct weft_node *n, struct upp_err *err)
{
    size_t had;
    const struct upp_message *list = upp_thread_messages(n->thread, &had);
    const struct log_node *k = n->data;
    bool metadata_changed = k->metadata != n->metadata_set;
    if (had < n->logged)
        return upp_fail(err, UPP_EINVALID, "messages of session %.*s were taken out of its log",
                        UPP_FMT(x->session->id));
    if (!metadata_changed && had == n->logged)
        return 0;
    size_t needs = 2 + wa_put_rows(had - n->logged);
    int r = wa_put_room(&x->put, needs, 0, err);
    if (r > 0) {
        mark_logged(x, x->n_committed, n->index);
        x->n_committed = n->index;
    }
    x->put.whole = needs <= WA_PUT_CHANGES;
    if (r >= 0 && metadata_changed)
        r = put_metadata(x, n, err);
    if (r >= 0 && had > n->logged)
        r = find_end(x, n, err);
    if (r >= 0 && had > n->logged)
        r = wa_put_add(&x->put, (struct wl_change){.kind = WL_HOLD_NODE, .hold = {.node = k->node.key}}, err);
    if (r >= 0)
        r = put_messages(x, n, list + n->logged, had - n->logged, err);
    x->put.whole = false;
    return r;
}

/* True if the session's position differs from the log's. */
static bool moved(const struct weft_tree *t, const struct wl_thread *thread)
{
    const struct log_node *k = t->current->data;
    return !k || k->node.key != thread->head || (thread->at && t->current_length == WM_ALL_MESSAGES);
}

/* Forgets what was not committed. */
static void roll_back(struct storing *x)
{
    for (size_t i = x->n_committed; i < x->n_logged; i++) {
        const struct weft_node *n = x->tree->nodes.p[i];
        struct log_node *k = n->data;
        k->entry_of.n = n->logged;
        k->next = k->metadata;
    }
    for (size_t i = x->n_logged; i < x->tree->nodes.n; i++)
        log_node_free(WB_TAKE(x->tree->nodes.p[i]->data));
}

static bool changed(const struct weft_tree *t, const struct wl_thread *thread)
{
    for (size_t i = 0; i < t->nodes.n; i++) {
        const struct weft_node *n = t->nodes.p[i];
        size_t had;
        (void)upp_thread_messages(n->thread, &had);
        if (!n->data || had != n->logged || ((const struct log_node *)n->data)->metadata != n->metadata_set)
            return true;
    }
    return moved(t, thread);
}

static WEFT_SUSPENDS int put_all(struct storing *x, struct upp_err *err)
{
    struct weft_tree *t = x->tree;
    while (x->n_logged < t->nodes.n && t->nodes.p[x->n_logged]->data)
        x->n_logged++;
    x->ends = wb_new_n(&x->memory, struct wl_end, t->nodes.n);
    x->has_end = wb_new_n(&x->memory, bool, t->nodes.n);
    int r = wb_arena_check(&x->memory, err);
    if (r >= 0)
        r = wl_staged_clear(x->put.store, &wa_owner, &x->thread, err);
    if (r >= 0)
        r = put_branches(x, err);
    for (size_t i = 0; r >= 0 && i < x->n_logged; i++)
        r = put_node(x, t->nodes.p[i], err);
    if (r < 0)
        return r;
    if (moved(t, &x->thread)) {
        x->put.moved = true;
        x->thread.head = ((const struct log_node *)t->current->data)->node.key;
        x->thread.at = 0;
    }
    return wa_put_commit(&x->put, err);
}

static WEFT_SUSPENDS int store(struct weft_session *s, struct upp_err *err)
{
    struct weft_tree *t = s->tree->tree;
    WB_CLEANUP(storing_done) struct storing x = {.session = s, .tree = t, .memory = WB_ARENA(64u << 20)};
    wa_put_init(&x.put, wr_engine_store(s->home->kept), &wa_owner);
    int r = wa_session_thread(s, &x.memory, &x.thread, err);
    if (r < 0 || !changed(t, &x.thread))
        return r;
    x.put.thread = &x.thread;
    r = put_all(&x, err);
    wa_session_stale(s);
    if (r < 0) {
        roll_back(&x);
        return r;
    }
    mark_logged(&x, x.n_committed, t->nodes.n);
    return 0;
}

int wa_session_tree_store(struct weft_session *s, struct upp_err *err)
{
    return with_tree(s, store, err);
}

/* ---- For programs ---------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int open_tree(struct weft_session *s, void *arg, struct upp_err *err)
{
    (void)arg;
    int r = wa_session_flush(s, err);
    if (r < 0 || s->tree)
        return r;
    struct wa_session_tree *t = wb_calloc(1, sizeof *t);
    if (!t)
        return no_memory(err);
    r = read_all(s, t, err);
    if (r < 0)
        wa_session_tree_free(t);
    else
        s->tree = t;
    return r;
}

int weft_session_tree(struct weft_session *s, struct weft_tree **ret, struct upp_err *err)
{
    int r = s->tree ? 0 : wa_session_change(s, "weft_session_tree", open_tree, NULL, err);
    if (r >= 0)
        *ret = s->tree->tree;
    return r;
}

struct forking {
    struct upp_str from, id;
};

static WEFT_SUSPENDS int fork_node(struct weft_session *s, void *arg, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct forking *f = arg;
    struct upp_str from = wb_arena_dup(&a, f->from); /* it may point into what is freed now */
    int r = wb_arena_check(&a, err);
    if (r >= 0)
        r = open_tree(s, NULL, err);
    if (r >= 0)
        r = weft_tree_branch(s->tree->tree, from, NULL, &f->id, err);
    return r < 0 ? r : wa_session_tree_store(s, err);
}

int weft_session_fork(struct weft_session *s, struct upp_str node, struct upp_str *ret, struct upp_err *err)
{
    struct forking f = {.from = node};
    int r = wa_session_change(s, "weft_session_fork", fork_node, &f, err);
    if (r >= 0)
        *ret = f.id;
    return r;
}
