/* session/tree.c — the tree of a session in memory, beside the log.
 *
 * It is read when somebody asks for it. Runs write the log, and the tree is told what is new; programs change the tree,
 * and the log is told when the session next runs or saves: branches, messages behind those that the log has, another
 * current node, metadata. What the log has cannot be taken away.
 */
#include "session/session.h"

#include "thread/commits.h"
#include "thread/tree.h"
#include "base/clock.h"
#include "base/hooks.h"

/* A node's place in the log: `data` of its weft_node. */
struct kept {
    struct wl_node node;
    uint32_t       length;         /* entries that were read */
    uint32_t       metadata, next; /* which of the node's metadata the log has, and which is being put there */
    WB_VEC(uint32_t) entry_of;     /* by message: its index in the node; also of those that are being put */
};

struct wa_session_tree {
    struct weft_tree *tree;
    bool              busy;   /* it is being read or stored */
    WB_VEC(uint64_t) queries; /* nodes that have more in the log */
};

static void kept_free(struct kept *k)
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
        kept_free(WB_TAKE(n->data));
    weft_tree_free(t->tree);
    wb_vec_done(&t->queries);
    wb_free(t);
}

static int no_memory(struct upp_err *err)
{
    return upp_fail(err, UPP_ENOMEM, "no memory for the tree of a session");
}

static int keep(struct weft_node *n, const struct wl_node *node, struct upp_err *err)
{
    struct kept *k = wb_calloc(1, sizeof *k);
    if (!k)
        return no_memory(err);
    k->node     = *node;
    k->metadata = k->next = n->metadata_set;
    n->data               = k;
    return 0;
}

static int note_messages(struct kept *k, const struct wa_doc_node *from, struct upp_err *err)
{
    for (size_t i = 0; i < from->n_messages; i++)
        if (!wb_vec_push(&k->entry_of, from->entry_of[i], UINT32_MAX))
            return no_memory(err);
    k->length = from->length;
    return 0;
}

/* ---- Out of the log -------------------------------------------------------------------------------------- */

/* Where the session stands: at the end of a node, or where a restore has put it. */
static void place(struct weft_tree *t, struct weft_node *n, const struct wl_thread *thread)
{
    const struct kept *k      = n->data;
    uint32_t           length = 0;
    while (length < k->entry_of.n && k->entry_of.p[length] + 1 < thread->at)
        length++;
    weft__tree_position(t, n, thread->at ? length : WM_ALL_MESSAGES);
}

static WEFT_SUSPENDS int read_all(struct weft_session *s, struct wa_session_tree *t, struct upp_err *err)
{
    struct wb_arena     a = WB_ARENA(4ull * WM_SESSION_BYTES);
    struct wa_doc_node *nodes;
    struct wm_tree_doc  doc;
    struct wl_thread    thread;
    int                 r = wa_session_thread(s, &a, &thread, err);
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
        r                   = keep(n, &nodes[i].node, err);
        if (r >= 0)
            r = note_messages(n->data, &nodes[i], err);
        n->logged = nodes[i].n_messages;
    }
    if (r >= 0)
        place(t->tree, t->tree->current, &thread);
    return r;
}

static struct weft_node *find(struct weft_tree *t, uint64_t key)
{
    for (struct weft_node *n = NULL; (n = weft_tree_next(t, n));)
        if (n->data && ((const struct kept *)n->data)->node.key == key)
            return n;
    return NULL;
}

/* A branch that a run has made. */
static WEFT_SUSPENDS int add_node(struct weft_session *s, struct weft_tree *t, uint64_t key, struct weft_node **ret,
                                  struct upp_err *err)
{
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wl_node   node;
    char             id[WB_UUID_TEXT + 1];
    int              r = wl_get_node(store, &wa_owner, key, &node, err);
    if (r < 0)
        return r;
    struct weft_node *parent = find(t, node.parent);
    if (!parent)
        return upp_fail(err, UPP_ESTORE, "a node of session %.*s has no parent", UPP_FMT(s->id));
    const struct kept *k      = parent->data;
    size_t             length = 0;
    while (length < k->entry_of.n && k->entry_of.p[length] < node.parent_length)
        length++;
    r = weft__tree_branch(t, parent, length, wb_uuid_text(node.id, id), (struct upp_str){0}, ret, err);
    return r < 0 ? r : keep(*ret, &node, err);
}

/* What its node says since it was last read. */
static WEFT_SUSPENDS int read_on(struct weft_session *s, struct weft_node *n, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a    = WB_ARENA(4ull * WM_SESSION_BYTES);
    struct kept                              *k    = n->data;
    struct wa_doc_node                        more = {.node = k->node, .length = k->length};
    size_t                                    had;
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

/* A node's messages, of one that may not be in the tree yet. */
static WEFT_SUSPENDS int read_node(struct weft_session *s, uint64_t key, struct weft_node **ret, struct upp_err *err)
{
    struct weft_tree *t = s->tree->tree;
    int               r = 0;
    *ret                = find(t, key);
    if (!*ret)
        r = add_node(s, t, key, ret, err);
    return r < 0 ? r : read_on(s, *ret, err);
}

static WEFT_SUSPENDS int read_queries(struct weft_session *s, struct upp_err *err)
{
    struct wa_session_tree *t = s->tree;
    struct weft_node       *n;
    int                     r = 0;
    while (r >= 0 && t->queries.n) {
        r = read_node(s, t->queries.p[t->queries.n - 1], &n, err);
        t->queries.n -= r >= 0;
    }
    return r;
}

static WEFT_SUSPENDS int read_head(struct weft_session *s, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_thread                          thread;
    struct weft_node                         *head;
    int                                       r = wa_session_thread(s, &a, &thread, err);
    if (r >= 0)
        r = read_node(s, thread.head, &head, err);
    if (r >= 0)
        place(s->tree->tree, head, &thread);
    return r;
}

/* Queries may end meanwhile: they leave their nodes for whoever works on the tree. */
static WEFT_SUSPENDS int alone(struct weft_session *s,
                               WEFT_SUSPENDS int (*work)(struct weft_session *, struct upp_err *), struct upp_err *err)
{
    s->tree->busy = true;
    int r         = read_queries(s, err);
    if (r >= 0)
        r = work(s, err);
    if (r >= 0)
        r = read_queries(s, err);
    s->tree->busy = false;
    return r;
}

int wa_session_tree_read(struct weft_session *s, struct upp_err *err)
{
    return alone(s, read_head, err);
}

static WEFT_SUSPENDS int nothing(struct weft_session *s, struct upp_err *err)
{
    (void)s, (void)err;
    return 0;
}

int wa_session_tree_query(struct weft_session *s, uint64_t node, struct upp_err *err)
{
    if (!wb_vec_push(&s->tree->queries, node, WEFT_TREE_NODES))
        return no_memory(err);
    return s->tree->busy ? 0 : alone(s, nothing, err);
}

/* ---- Into the log ----------------------------------------------------------------------------------------
 *
 * Branches that the log has not come first, and are seen with the last commit alone (log/staged.h). Nodes that it has
 * follow: where they take more than one commit, each is changed whole. The thread comes last.
 */

struct storing {
    struct weft_session *session;
    struct weft_tree    *tree;
    struct wa_put        put;
    struct wl_thread     thread;
    struct wb_arena      memory;
    struct wl_end       *ends;  /* by place of the node: after what is put */
    bool                *ended; /* which of them are known */
    size_t               known; /* nodes that the log has: the others were made later */
    size_t               noted; /* of them, those that are as the log has them */
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

/* Behind what the node has in memory, although the log may not have it yet. */
static WEFT_SUSPENDS int find_end(struct storing *x, const struct weft_node *n, struct upp_err *err)
{
    const struct kept *k = n->data;
    if (x->ended[n->index])
        return 0;
    int r              = k ? wl_node_end(x->put.store, &wa_owner, k->node.key, &x->ends[n->index], err) : 0;
    x->ended[n->index] = r >= 0;
    return r;
}

/* In entries: all of the parent where the branch sees all its messages. */
static WEFT_SUSPENDS int branch_length(struct storing *x, const struct weft_node *n, uint32_t *ret, struct upp_err *err)
{
    const struct kept *k = n->parent->data;
    size_t             had;
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
    if (n->parent->index < x->known)
        all += (uint32_t)added(n->parent); /* they come after the branches */
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
    struct kept   *k    = n->data;
    struct wl_end *end  = &x->ends[n->index];
    uint32_t       from = end->length;
    int            r    = wa_put_messages(&x->put, k->node.key, end, list, count, err);
    for (; r >= 0 && from < end->length; from++)
        if (!wb_vec_push(&k->entry_of, from, UINT32_MAX))
            return no_memory(err);
    return r;
}

static WEFT_SUSPENDS int put_branch(struct storing *x, struct weft_node *n, struct upp_err *err)
{
    struct wb_uuid            id;
    uint32_t                  length;
    const struct kept        *parent = n->parent->data;
    size_t                    had;
    const struct upp_message *list = upp_thread_messages(n->thread, &had);
    int64_t                   now  = wb_wall_ms();
    int                       r    = check_id(n, &id, err);
    if (r >= 0)
        r = branch_length(x, n, &length, err);
    if (r < 0)
        return r;
    struct wl_node node = {.key           = wm_key(id),
                           .id            = id,
                           .tree          = x->thread.tree,
                           .parent        = parent->node.key,
                           .parent_length = length,
                           .created_ms    = WB_MAX(now, parent->node.created_ms),
                           .name          = n->name,
                           .metadata      = n->metadata};
    r                   = wa_put_node(&x->put, &node, err);
    if (r >= 0)
        r = keep(n, &node, err);
    x->ended[n->index] = true;
    return r < 0 ? r : put_messages(x, n, list, had, err);
}

static WEFT_SUSPENDS int put_branches(struct storing *x, struct upp_err *err)
{
    size_t    n    = x->tree->nodes.n - x->known;
    uint64_t *keys = wb_new_n(&x->memory, uint64_t, n);
    int       r    = wb_arena_check(&x->memory, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct wb_uuid id;
        r = check_id(x->tree->nodes.p[x->known + i], &id, err);
        if (r >= 0)
            keys[i] = wm_key(id);
    }
    x->put.staged   = keys;
    x->put.n_staged = n;
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = put_branch(x, x->tree->nodes.p[x->known + i], err);
    return r;
}

/* What is put of these nodes is in the log: the tree knows it. */
static void note(struct storing *x, size_t from, size_t upto)
{
    for (size_t i = from; i < upto; i++) {
        struct weft_node *n = x->tree->nodes.p[i];
        struct kept      *k = n->data;
        n->logged           = k->entry_of.n;
        k->length           = x->ended[i] ? x->ends[i].length : k->length;
        k->metadata         = k->next;
    }
}

static int put_metadata(struct storing *x, const struct weft_node *n, struct upp_err *err)
{
    struct kept    *k    = n->data;
    struct wl_node *node = wb_new(&x->memory, struct wl_node);
    if (!node)
        return wb_arena_check(&x->memory, err);
    k->next        = n->metadata_set;
    *node          = k->node;
    node->name     = n->name;
    node->metadata = n->metadata;
    return wa_put_add(&x->put, (struct wl_change){.kind = WL_SET_NODE, .node = node}, err);
}

/* One that the log has. */
static WEFT_SUSPENDS int put_node(struct storing *x, struct weft_node *n, struct upp_err *err)
{
    size_t                    had;
    const struct upp_message *list = upp_thread_messages(n->thread, &had);
    const struct kept        *k    = n->data;
    bool                      said = k->metadata != n->metadata_set;
    if (had < n->logged)
        return upp_fail(err, UPP_EINVALID, "messages of session %.*s were taken out of its log",
                        UPP_FMT(x->session->id));
    if (!said && had == n->logged)
        return 0;
    size_t needs = 2 + wa_put_rows(had - n->logged);
    int    r     = wa_put_room(&x->put, needs, 0, err);
    if (r > 0) {
        note(x, x->noted, n->index);
        x->noted = n->index;
    }
    x->put.whole = needs <= WA_PUT_CHANGES;
    if (r >= 0 && said)
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

/* Is the session elsewhere than the log says? */
static bool moved(const struct weft_tree *t, const struct wl_thread *thread)
{
    const struct kept *k = t->current->data;
    return !k || k->node.key != thread->head || (thread->at && t->current_length == WM_ALL_MESSAGES);
}

/* What did not come into the log after all. */
static void forget(struct storing *x)
{
    for (size_t i = x->noted; i < x->known; i++) {
        const struct weft_node *n = x->tree->nodes.p[i];
        struct kept            *k = n->data;
        k->entry_of.n             = n->logged;
        k->next                   = k->metadata;
    }
    for (size_t i = x->known; i < x->tree->nodes.n; i++)
        kept_free(WB_TAKE(x->tree->nodes.p[i]->data));
}

static bool changed(const struct weft_tree *t, const struct wl_thread *thread)
{
    for (size_t i = 0; i < t->nodes.n; i++) {
        const struct weft_node *n = t->nodes.p[i];
        size_t                  had;
        (void)upp_thread_messages(n->thread, &had);
        if (!n->data || had != n->logged || ((const struct kept *)n->data)->metadata != n->metadata_set)
            return true;
    }
    return moved(t, thread);
}

static WEFT_SUSPENDS int put_all(struct storing *x, struct upp_err *err)
{
    struct weft_tree *t = x->tree;
    while (x->known < t->nodes.n && t->nodes.p[x->known]->data)
        x->known++;
    x->ends  = wb_new_n(&x->memory, struct wl_end, t->nodes.n);
    x->ended = wb_new_n(&x->memory, bool, t->nodes.n);
    int r    = wb_arena_check(&x->memory, err);
    if (r >= 0)
        r = wl_staged_clear(x->put.store, &wa_owner, &x->thread, err);
    if (r >= 0)
        r = put_branches(x, err);
    for (size_t i = 0; r >= 0 && i < x->known; i++)
        r = put_node(x, t->nodes.p[i], err);
    if (r < 0)
        return r;
    if (moved(t, &x->thread)) {
        x->put.moved   = true;
        x->thread.head = ((const struct kept *)t->current->data)->node.key;
        x->thread.at   = 0;
    }
    return wa_put_commit(&x->put, err);
}

static WEFT_SUSPENDS int store(struct weft_session *s, struct upp_err *err)
{
    struct weft_tree                       *t = s->tree->tree;
    WB_CLEANUP(storing_done) struct storing x = {.session = s, .tree = t, .memory = WB_ARENA(64u << 20)};
    wa_put_init(&x.put, wr_engine_store(s->home->kept), &wa_owner);
    int r = wa_session_thread(s, &x.memory, &x.thread, err);
    if (r < 0 || !changed(t, &x.thread))
        return r;
    x.put.thread = &x.thread;
    r            = put_all(&x, err);
    wa_session_stale(s);
    if (r < 0) {
        forget(&x);
        return r;
    }
    note(&x, x.noted, t->nodes.n);
    return 0;
}

int wa_session_tree_store(struct weft_session *s, struct upp_err *err)
{
    return alone(s, store, err);
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
    WB_CLEANUP(wb_arena_done) struct wb_arena a    = WB_ARENA(64u << 20);
    struct forking                           *f    = arg;
    struct upp_str                            from = wb_arena_dup(&a, f->from); /* it may be of what is freed now */
    int                                       r    = wb_arena_check(&a, err);
    if (r >= 0)
        r = open_tree(s, NULL, err);
    if (r >= 0)
        r = weft_tree_branch(s->tree->tree, from, NULL, &f->id, err);
    return r < 0 ? r : wa_session_tree_store(s, err);
}

int weft_session_fork(struct weft_session *s, struct upp_str node, struct upp_str *ret, struct upp_err *err)
{
    struct forking f = {.from = node};
    int            r = wa_session_change(s, "weft_session_fork", fork_node, &f, err);
    if (r >= 0)
        *ret = f.id;
    return r;
}
