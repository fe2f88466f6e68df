/* thread/tree.c — thread trees: branching conversations, in memory only. */
#include "thread/tree.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/uuid.h"
#include "base/vec_add.h"
#include "json/read.h"
#include "json/value.h"
#include "upp/client/threads.h"
#include "base/buf.h"

_Static_assert((int)WEFT_TREE_NODES == (int)WM_SESSION_NODES && (int)WEFT_TREE_DEPTH == (int)WM_SESSION_DEPTH,
               "what can be made can be written and read");

/* ---- Creating and freeing ------------------------------------------------------------------------- */

static void node_done(struct weft_node *n)
{
    upp_thread_free(n->thread);
    wb_vec_done(&n->children);
    wb_free(n->metadata_own);
}

void weft_tree_free(struct weft_tree *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->nodes.n; i++)
        node_done(t->nodes.p[i]);
    wb_vec_done(&t->nodes);
    wb_vec_done(&t->history);
    wm_names_done(&t->ids);
    wb_arena_done(&t->arena);
    wb_free(t);
}

void weft_tree_freep(struct weft_tree **t)
{
    weft_tree_free(*t);
}

/* A new id with the tree's common prefix. */
static int new_id(struct weft_tree *t, struct upp_str *ret, struct upp_err *err)
{
    struct wb_uuid u;
    char text[WB_UUID_TEXT + 1];
    int r = wb_uuid_new(&u, err);
    if (r < 0)
        return r;
    if (t->nodes.n)
        memcpy(u.b, t->family, sizeof t->family);
    else
        memcpy(t->family, u.b, sizeof t->family);
    *ret = wb_arena_dup(&t->arena, wb_uuid_text(u, text));
    return wb_arena_check(&t->arena, err);
}

/* Adds the node to the tree and to its parent's children, or changes nothing. */
static int add_node(struct weft_tree *t, struct weft_node *n, struct upp_err *err)
{
    char quoted[WJ_QUOTED];
    if (n->parent && !wb_vec_room(&n->parent->children, WEFT_TREE_NODES))
        return wb_vec_full(n->parent->children.n, WEFT_TREE_NODES, "children of a node", err);
    if (!wb_vec_room(&t->nodes, WEFT_TREE_NODES))
        return wb_vec_full(t->nodes.n, WEFT_TREE_NODES, "nodes in a tree", err);
    int r = wm_names_add(&t->ids, n->id, &n->index, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "there is a node %s already", wj_quote(n->id, quoted, sizeof quoted));
    if (r < 0)
        return r;
    t->nodes.p[t->nodes.n++] = n;
    if (n->parent)
        n->parent->children.p[n->parent->children.n++] = n;
    return 0;
}

static struct weft_node *new_node(struct weft_tree *t, struct weft_node *parent)
{
    struct weft_node *n = wb_new(&t->arena, struct weft_node);
    if (n)
        *n = (struct weft_node){.tree = t, .parent = parent, .depth = parent ? parent->depth + 1 : 1};
    return n;
}

/* The thread borrows its id from the tree's arena, so that an empty thread costs little. */
static int make_node(struct weft_tree *t, struct weft_node *parent, struct upp_str id, struct upp_str name,
                     struct weft_node **ret, struct upp_err *err)
{
    struct wm_thread_json empty = {0};
    char text[WB_UUID_TEXT + 1];
    struct wb_uuid thread;
    struct weft_node *n = new_node(t, parent);
    if (!n)
        return wb_arena_check(&t->arena, err);
    n->name = wb_arena_dup(&t->arena, name);
    n->id = wb_arena_dup(&t->arena, id);
    int r = id.p ? 0 : new_id(t, &n->id, err);
    if (r >= 0)
        r = wb_uuid_new(&thread, err);
    if (r < 0)
        return r;
    empty.id = wb_arena_dup(&t->arena, wb_uuid_text(thread, text));
    r = wb_arena_check(&t->arena, err);
    if (r >= 0)
        r = upp__thread_lend(&empty, &n->thread, err);
    if (r >= 0)
        r = add_node(t, n, err);
    if (r < 0) {
        node_done(n);
        return r;
    }
    *ret = n;
    return 0;
}

static struct weft_tree *make_tree(struct wb_arena *a, struct upp_err *err)
{
    struct weft_tree *t = wb_calloc(1, sizeof *t);
    if (!t) {
        (void)upp_fail(err, UPP_ENOMEM, "no memory for a tree");
        return NULL;
    }
    t->arena = *a;
    t->current_length = WM_ALL_MESSAGES;
    return t;
}

int weft_tree_new(struct weft_tree **ret, struct upp_err *err)
{
    struct wb_arena a = WB_ARENA(1u << 30);
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = make_tree(&a, err);
    if (!t)
        return -UPP_ENOMEM;
    int r = make_node(t, NULL, (struct upp_str){0}, (struct upp_str){0}, &t->root, err);
    if (r < 0)
        return r;
    t->current = t->root;
    *ret = WB_TAKE(t);
    return 0;
}

/* ---- From a document ------------------------------------------------------------------------------ */

/* Nodes may come before their parents: first all are created, then linked. */
static int read_nodes(struct weft_tree *t, const struct wm_tree_doc *doc, struct upp_err *err)
{
    for (size_t i = 0; i < doc->n; i++) {
        const struct wm_tree_node *from = &doc->nodes[i];
        struct weft_node *n = new_node(t, NULL);
        if (!n)
            return wb_arena_check(&t->arena, err);
        n->id = from->id;
        n->name = from->name;
        n->metadata = from->metadata;
        int r = upp__thread_lend(&from->thread, &n->thread, err);
        if (r >= 0)
            r = add_node(t, n, err);
        if (r < 0) {
            node_done(n);
            return r;
        }
    }
    return 0;
}

static int read_children(struct weft_tree *t, const struct wm_tree_doc *doc, size_t i, struct upp_err *err)
{
    const struct wm_tree_node *from = &doc->nodes[i];
    struct weft_node *parent = t->nodes.p[i];
    for (size_t k = 0; k < from->n_children; k++) {
        uint32_t index = from->children[k];
        struct weft_node *child = t->nodes.p[index];
        child->parent = parent;
        child->whole = doc->nodes[index].branch == WM_ALL_MESSAGES;
        child->branch = child->whole ? (uint32_t)from->thread.n : doc->nodes[index].branch;
        if (!wb_vec_push(&parent->children, child, WEFT_TREE_NODES))
            return upp_fail(err, UPP_ENOMEM, "no memory for a node");
    }
    return 0;
}

/* Sets the depths, breadth first. The reader has checked the limit. */
static int set_depths(struct weft_tree *t, struct upp_err *err)
{
    struct weft_node **list = wb_calloc(t->nodes.n, sizeof(struct weft_node *));
    size_t n = 0;
    if (!list)
        return upp_fail(err, UPP_ENOMEM, "no memory for a tree");
    list[n++] = t->root;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < list[i]->children.n; k++) {
            list[n] = list[i]->children.p[k];
            list[n]->depth = list[i]->depth + 1;
            n++;
        }
    wb_free(list);
    return 0;
}

static int set_family(struct weft_tree *t, struct upp_err *err)
{
    struct wb_uuid u;
    if (!wb_uuid_parse(t->root->id, &u)) {
        int r = wb_uuid_new(&u, err); /* the root's id is another implementation's */
        if (r < 0)
            return r;
    }
    memcpy(t->family, u.b, sizeof t->family);
    return 0;
}

int weft__tree_from(struct wb_arena *a, const struct wm_tree_doc *doc, struct weft_tree **ret, struct upp_err *err)
{
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = make_tree(a, err);
    if (!t) {
        wb_arena_done(a);
        return -UPP_ENOMEM;
    }
    *a = (struct wb_arena){.max = a->max};
    int r = read_nodes(t, doc, err);
    for (size_t i = 0; i < doc->n && r >= 0; i++)
        r = read_children(t, doc, i, err);
    if (r < 0)
        return r;
    t->root = t->nodes.p[doc->root];
    t->current = t->nodes.p[doc->current];
    r = set_depths(t, err);
    if (r >= 0)
        r = set_family(t, err);
    if (r < 0)
        return r;
    *ret = WB_TAKE(t);
    return 0;
}

/* ---- Accessors ------------------------------------------------------------------------------------ */

struct weft_node *weft_tree_root(struct weft_tree *t)
{
    return t->root;
}

struct weft_node *weft_tree_current(struct weft_tree *t)
{
    return t->current;
}

struct weft_node *weft_tree_node(struct weft_tree *t, struct upp_str id)
{
    uint32_t at = wm_names_find(&t->ids, id);
    return at == UINT32_MAX ? NULL : t->nodes.p[at];
}

struct weft_node *weft_tree_next(struct weft_tree *t, const struct weft_node *prev)
{
    size_t at = prev ? (size_t)prev->index + 1 : 0;
    return at < t->nodes.n ? t->nodes.p[at] : NULL;
}

size_t weft_tree_count(const struct weft_tree *t)
{
    return t->nodes.n;
}

struct upp_str weft_node_id(const struct weft_node *n)
{
    return n->id;
}

struct weft_node *weft_node_parent(const struct weft_node *n)
{
    return n->parent;
}

struct upp_thread *weft_node_thread(struct weft_node *n)
{
    return n->thread;
}

struct upp_str weft_node_name(const struct weft_node *n)
{
    return n->name;
}

struct upp_str weft_node_metadata(const struct weft_node *n)
{
    return n->metadata.p ? n->metadata : UPP_STR("{}");
}

/* The program may have removed messages since. */
size_t weft_node_branch_point(const struct weft_node *n)
{
    size_t all = 0;
    if (n->parent)
        (void)upp_thread_messages(n->parent->thread, &all);
    return WB_MIN(all, (size_t)n->branch);
}

struct weft_node *weft_node_child(const struct weft_node *n, size_t i)
{
    return i < n->children.n ? n->children.p[i] : NULL;
}

/* ---- Changing ------------------------------------------------------------------------------------- */

static struct weft_node *need_node(struct weft_tree *t, struct upp_str id, struct upp_err *err)
{
    char quoted[WJ_QUOTED];
    struct weft_node *n = weft_tree_node(t, id.p ? id : UPP_STR(""));
    if (!n)
        (void)upp_fail(err, UPP_ENOTFOUND, "there is no node %s", wj_quote(id, quoted, sizeof quoted));
    return n;
}

int weft__tree_branch(struct weft_tree *t, struct weft_node *from, size_t length, struct upp_str id,
                      struct upp_str name, struct weft_node **ret, struct upp_err *err)
{
    struct weft_node *n;
    if (t->nodes.n >= WEFT_TREE_NODES)
        return upp_fail(err, UPP_ELIMIT, "a tree has at most %d nodes", WEFT_TREE_NODES);
    if (from->depth >= WEFT_TREE_DEPTH)
        return upp_fail(err, UPP_ELIMIT, "a tree has at most %d nodes from its root to one", WEFT_TREE_DEPTH);
    int r = make_node(t, from, id, name, &n, err);
    if (r < 0)
        return r;
    n->branch = (uint32_t)length; /* fits: a thread has far fewer messages */
    *ret = n;
    return 0;
}

/* The number of visible messages of a node: a restored node ends at the restored position. */
static size_t length_of(const struct weft_tree *t, const struct weft_node *n)
{
    size_t all;
    (void)upp_thread_messages(n->thread, &all);
    return n == t->current ? WB_MIN(all, (size_t)t->current_length) : all;
}

int weft_tree_branch(struct weft_tree *t, struct upp_str from, const char *name, struct upp_str *ret,
                     struct upp_err *err)
{
    struct weft_node *parent = need_node(t, from, err), *n = NULL;
    if (!parent)
        return -UPP_ENOTFOUND;
    int r = weft__tree_branch(t, parent, length_of(t, parent), (struct upp_str){0}, wb_cstr(name), &n, err);
    if (r >= 0)
        *ret = n->id;
    return r;
}

void weft__tree_position(struct weft_tree *t, struct weft_node *n, uint32_t length)
{
    t->current = n;
    t->current_length = length;
}

int weft_tree_checkout(struct weft_tree *t, struct upp_str node, struct upp_err *err)
{
    struct weft_node *n = need_node(t, node, err);
    if (!n)
        return -UPP_ENOTFOUND;
    weft__tree_position(t, n, WM_ALL_MESSAGES);
    return 0;
}

int weft_node_set_metadata(struct weft_node *n, struct upp_str json, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA((size_t)16 * WJ_MAX_BYTES);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WJ_MAX_BYTES + 64);
    yyjson_val *v;
    int r = wj_read(&a, json, NULL, &v, err);
    if (r >= 0 && !yyjson_is_obj(v))
        r = upp_fail(err, UPP_EINVALID, "metadata: expected an object");
    if (r >= 0 && yyjson_obj_get(v, "uap.branchPoint"))
        r = upp_fail(err, UPP_EINVALID, "metadata: 'uap.branchPoint' is the tree's own");
    if (r >= 0)
        r = wj_write(v, &b, err);
    if (r < 0 || wb_str_eq(n->metadata, wb_buf_str(&b)))
        return r;
    char *own = wb_alloc(b.n);
    if (!own)
        return upp_fail(err, UPP_ENOMEM, "no memory for metadata");
    memcpy(own, b.p, b.n);
    wb_free(n->metadata_own);
    n->metadata_own = own;
    n->metadata = wb_str(own, b.n);
    n->metadata_set++;
    return 0;
}

/* ---- Paths ---------------------------------------------------------------------------------------- */

/* The messages from the root to a node, of which the first `length` count; of each ancestor those before the branch.
 * Walks up twice: to count, and to fill the list from its end. If one node has all of them, returns that node's own
 * list. */
static int path_of(struct weft_tree *t, const struct weft_node *to, size_t length, const struct upp_message **ret,
                   size_t *n, struct upp_err *err)
{
    const struct upp_message *list = NULL;
    size_t total = 0, parts = 0, take = length, all;
    for (const struct weft_node *at = to; at; take = weft_node_branch_point(at), at = at->parent)
        if (take) {
            list = upp_thread_messages(at->thread, &all);
            total += take;
            parts++;
        }
    if (parts > 1) {
        if (total > t->history.cap) {
            struct upp_message *grown = wb_calloc(total, sizeof *grown);
            if (!grown)
                return upp_fail(err, UPP_ENOMEM, "no memory for %zu messages", total);
            wb_vec_done(&t->history);
            t->history.p = grown;
            t->history.cap = total;
        }
        size_t end = total;
        take = length;
        for (const struct weft_node *at = to; at; take = weft_node_branch_point(at), at = at->parent)
            if (take) {
                end -= take;
                memcpy(&t->history.p[end], upp_thread_messages(at->thread, &all), take * sizeof *list);
            }
        t->history.n = total;
        list = t->history.p;
    }
    *ret = list;
    *n = total;
    return 0;
}

int weft_tree_history(struct weft_tree *t, const struct upp_message **ret, size_t *n, struct upp_err *err)
{
    return path_of(t, t->current, length_of(t, t->current), ret, n, err);
}

/* ---- Merging -------------------------------------------------------------------------------------- */

static bool is_ancestor(const struct weft_node *ancestor, const struct weft_node *n)
{
    while (n && n != ancestor)
        n = n->parent;
    return n;
}

static int add_ids(struct wm_names *ids, const struct upp_message *list, size_t n, struct upp_err *err)
{
    uint32_t at;
    int r = 0;
    for (size_t i = 0; i < n && r >= 0; i++)
        if (list[i].id.n)
            r = wm_names_add(ids, list[i].id, &at, err);
    return r;
}

/* Moves the new messages to the beginning of the list. A message without an id never equals another. */
static int drop_known(struct wm_names *ids, struct upp_message *list, size_t *n, struct upp_err *err)
{
    size_t n_new = 0;
    uint32_t at;
    for (size_t i = 0; i < *n; i++) {
        int r = list[i].id.n ? wm_names_add(ids, list[i].id, &at, err) : 1;
        if (r < 0)
            return r;
        if (r > 0)
            list[n_new++] = list[i];
    }
    *n = n_new;
    return 0;
}

static int merge(struct weft_tree *t, struct weft_node *source, struct weft_node *target, struct wm_names *ids,
                 struct upp_err *err)
{
    const struct upp_message *path;
    size_t n, length;
    (void)upp_thread_messages(target->thread, &length);
    int r = path_of(t, target, length, &path, &n, err);
    if (r >= 0)
        r = add_ids(ids, path, n, err);
    (void)upp_thread_messages(source->thread, &length);
    if (r >= 0)
        r = path_of(t, source, length, &path, &n, err);
    if (r < 0 || n == 0)
        return r;
    struct upp_message *list = wb_calloc(n, sizeof *list);
    if (!list)
        return upp_fail(err, UPP_ENOMEM, "no memory for %zu messages", n);
    memcpy(list, path, n * sizeof *list);
    r = drop_known(ids, list, &n, err);
    if (r >= 0 && n)
        r = upp_thread_push(target->thread, list, n, err);
    wb_free(list);
    return r;
}

int weft_tree_merge(struct weft_tree *t, struct upp_str source, struct upp_str target, struct upp_err *err)
{
    struct weft_node *from = need_node(t, source, err), *to = from ? need_node(t, target, err) : NULL;
    struct wm_names ids = {0};
    if (!to)
        return -UPP_ENOTFOUND;
    if (is_ancestor(from, to))
        return 0;
    int r = merge(t, from, to, &ids, err);
    wm_names_done(&ids);
    return r < 0 ? r : 0;
}

/* ---- ThreadTreeJSON ---------------------------------------------------------------------------------------------- */

/* The tree as a document: in the arena, and valid until the tree changes. */
static int make_view(struct weft_tree *t, struct wb_arena *a, struct wm_tree_doc *ret, struct upp_err *err)
{
    struct wm_tree_node *nodes = wb_new_n(a, struct wm_tree_node, t->nodes.n);
    struct upp__times *times = wb_new_n(a, struct upp__times, t->nodes.n);
    uint32_t *index = wb_new_n(a, uint32_t, t->nodes.n);
    if (!nodes || !times || !index)
        return wb_arena_check(a, err);
    for (size_t i = 0; i < t->nodes.n; i++) {
        const struct weft_node *n = t->nodes.p[i];
        struct wm_tree_node *node = &nodes[i];
        size_t all = 0, branch = weft_node_branch_point(n);
        if (n->parent)
            (void)upp_thread_messages(n->parent->thread, &all);
        *node = (struct wm_tree_node){.id = n->id,
                                      .branch_events = WM_ALL_MESSAGES,
                                      .name = n->name,
                                      .metadata = n->metadata,
                                      .parent = n->parent ? n->parent->index : UINT32_MAX,
                                      .branch = WM_ALL_MESSAGES,
                                      .children = index};
        /* A node that was read without a branch point is written without one while that means the same. */
        if (n->parent && (!n->whole || branch != all))
            node->branch = (uint32_t)branch;
        for (; node->n_children < n->children.n; node->n_children++)
            *index++ = n->children.p[node->n_children]->index;
        upp__thread_view(n->thread, &times[i], &node->thread);
    }
    *ret = (struct wm_tree_doc){nodes, t->nodes.n, t->root->index, t->current->index};
    return 0;
}

int weft_tree_to_json(struct weft_tree *t, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF((size_t)WM_SESSION_BYTES + 64);
    struct wm_tree_doc doc;
    struct wj_writer w;
    int r = make_view(t, &a, &doc, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &b, err);
    wm_tree_write(&w, &doc);
    wb_buf_addc(&b, 0);
    r = wj_writer_check(&w);
    if (r < 0)
        return r;
    *ret = wb_str(b.p, b.n - 1);
    b = (struct wb_buf){.max = b.max};
    return 0;
}

int weft_tree_from_json(struct upp_str json, struct weft_tree **ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA((size_t)16 * WM_SESSION_BYTES);
    struct wm_tree_doc doc;
    int r = wm_tree_read(&a, json, &doc, err);
    return r < 0 ? r : weft__tree_from(&a, &doc, ret, err);
}
