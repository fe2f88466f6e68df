/* model/tree_read.c — ThreadTreeJSON: reads the nodes, and checks that they are one tree. */
#include "base/err.h"
#include "json/read.h"
#include "model/names.h"
#include "model/session_get.h"

static const uint32_t NONE = UINT32_MAX;

struct tree {
    struct wm_getting *d;
    struct wm_tree_doc *doc;
    yyjson_val **values;   /* of each node */
    yyjson_val **parents;  /* its parentId; NULL: none */
    yyjson_val **children; /* its list of children */
    yyjson_val **lengths;  /* its uap.branchPoint; NULL: none */
    bool *named;           /* its parent lists it as a child */
    struct wm_names ids;
};

static void read_thread(struct wm_getting *d, yyjson_val *v, struct upp_str created, struct upp_str updated,
                        struct wm_tree_node *node)
{
    enum { ID, MESSAGES, CREATED, UPDATED, N };
    static const struct wm_member table[] = {
        [ID] = {UPP_STR_INIT("id"), WM_ID, 0},
        [MESSAGES] = {UPP_STR_INIT("messages"), WM_ARR, 0},
        [CREATED] = {UPP_STR_INIT("createdAt"), WM_TIME, WM_MAY_MISS},
        [UPDATED] = {UPP_STR_INIT("updatedAt"), WM_TIME, WM_MAY_MISS},
    };
    struct wm_thread_json *t = &node->thread;
    yyjson_val *m[N];
    if (!wm_getting_members(d, v, table, N, m))
        return;
    size_t n = unsafe_yyjson_get_len(m[MESSAGES]);
    if (n > WM_SESSION_MESSAGES) {
        wm_getting_fail(d, m[MESSAGES], UPP_ELIMIT, "expected at most %d messages, found %zu", WM_SESSION_MESSAGES, n);
        return;
    }
    t->id = wj_text(m[ID]);
    t->created = m[CREATED] ? wj_text(m[CREATED]) : created;
    t->updated = m[UPDATED] ? wj_text(m[UPDATED]) : updated;
    node->untimed = !m[CREATED] && !m[UPDATED];
    t->n = n;
    if (!d->read || d->nested)
        d->failed = wm_messages_read(d->a, d->root, m[MESSAGES], &t->messages, &t->n, d->err);
}

static void read_node(struct tree *t, size_t i, struct upp_str created, struct upp_str updated)
{
    enum { ID, PARENT, NAME, THREAD, CHILDREN, METADATA, N };
    static const struct wm_member table[] = {
        [ID] = {UPP_STR_INIT("id"), WM_ID, 0},
        [PARENT] = {UPP_STR_INIT("parentId"), WM_ID, WM_MAY_MISS | WM_MAY_BE_NULL},
        [NAME] = {UPP_STR_INIT("name"), WM_STR, WM_MAY_MISS | WM_MAY_BE_NULL},
        [THREAD] = {UPP_STR_INIT("thread"), WM_OBJ, 0},
        [CHILDREN] = {UPP_STR_INIT("children"), WM_ARR, 0},
        [METADATA] = {UPP_STR_INIT("metadata"), WM_OBJ, WM_MAY_MISS},
    };
    static const struct upp_str keys[] = {UPP_STR_INIT("uap.branchPoint"), UPP_STR_INIT("uap.branchEvents")};
    struct wm_tree_node *node = &t->doc->nodes[i];
    yyjson_val *m[N], *found[WB_LEN(keys)] = {0};
    uint32_t at;
    if (!wm_getting_members(t->d, t->values[i], table, N, m))
        return;
    int r = wm_names_add(&t->ids, wj_text(m[ID]), &at, t->d->err);
    if (r < 0)
        t->d->failed = r;
    else if (r == 0)
        wm_getting_fail(t->d, m[ID], UPP_EINVALID, "node %u has this id too", at);
    read_thread(t->d, m[THREAD], created, updated, node);
    node->id = wj_text(m[ID]);
    node->name = wm_getting_text(m[NAME]);
    node->metadata = wm_getting_map(t->d, m[METADATA], keys, WB_LEN(keys), found);
    node->parent = NONE;
    t->lengths[i] = found[0];
    node->branch_events = wm_getting_length(t->d, found[1], WM_SESSION_MESSAGES);
    t->parents[i] = m[PARENT];
    t->children[i] = m[CHILDREN];
}

/* The index of the node whose id is v. */
static uint32_t find_node(struct tree *t, yyjson_val *v)
{
    char quoted[WJ_QUOTED];
    uint32_t at = wm_names_find(&t->ids, wj_text(v));
    if (at == NONE)
        wm_getting_fail(t->d, v, UPP_EINVALID, "there is no node %s", wj_quote(wj_text(v), quoted, sizeof quoted));
    return at;
}

static void link_parent(struct tree *t, uint32_t i)
{
    struct wm_tree_node *node = &t->doc->nodes[i];
    bool root = i == t->doc->root;
    if (root && t->parents[i])
        wm_getting_fail(t->d, t->parents[i], UPP_EINVALID, "the root has a parent");
    else if (!root && !t->parents[i])
        wm_getting_fail(t->d, t->values[i], UPP_EINVALID, "it has no parentId, and is not the root");
    else if (!root)
        node->parent = find_node(t, t->parents[i]);
}

static void link_children(struct tree *t, uint32_t i)
{
    struct wm_tree_node *node = &t->doc->nodes[i];
    yyjson_val *item = unsafe_yyjson_get_first(t->children[i]);
    size_t n = unsafe_yyjson_get_len(t->children[i]);
    if (n > t->doc->n) {
        wm_getting_fail(t->d, t->children[i], UPP_EINVALID, "more children than nodes");
        return;
    }
    node->children = n ? wb_new_n(t->d->a, uint32_t, n) : NULL;
    if (n && !node->children)
        (void)wm_doc_out_of_memory(t->d);
    for (; node->n_children < n && !t->d->failed; item = unsafe_yyjson_get_next(item)) {
        if (!yyjson_is_str(item)) {
            wm_getting_refuse(t->d, item, "a string: the id of a node");
            return;
        }
        uint32_t child = find_node(t, item);
        if (t->d->failed)
            return;
        if (t->doc->nodes[child].parent != i)
            wm_getting_fail(t->d, item, UPP_EINVALID, "the parentId of node %u is another", child);
        else if (t->named[child])
            wm_getting_fail(t->d, item, UPP_EINVALID, "this child is named twice");
        t->named[child] = true;
        node->children[node->n_children++] = child;
    }
}

static void check_branch(struct tree *t, uint32_t i)
{
    struct wm_tree_node *node = &t->doc->nodes[i];
    if (node->parent == NONE && t->lengths[i])
        wm_getting_fail(t->d, t->lengths[i], UPP_EINVALID, "the root branches off nothing");
    else
        node->branch =
            wm_getting_length(t->d, t->lengths[i], node->parent == NONE ? 0 : t->doc->nodes[node->parent].thread.n);
    if (node->parent != NONE && !t->named[i])
        wm_getting_fail(t->d, t->parents[i], UPP_EINVALID, "this parent does not name it among its children");
}

/* Checks that every path ends at the root and is not too long. Visits each node twice: on the way up to a node of known
 * depth, and on the way back. */
static void check_paths(struct tree *t)
{
    const uint32_t open = UINT32_MAX; /* on the current way up */
    uint32_t *depth = wb_new_n(t->d->a, uint32_t, t->doc->n), *path = wb_new_n(t->d->a, uint32_t, t->doc->n);
    if (!depth || !path) {
        (void)wm_doc_out_of_memory(t->d);
        return;
    }
    depth[t->doc->root] = 1;
    for (uint32_t i = 0; i < t->doc->n; i++) {
        size_t n = 0;
        uint32_t at = i;
        for (; depth[at] == 0; at = t->doc->nodes[at].parent) {
            depth[at] = open;
            path[n++] = at;
        }
        if (depth[at] == open) {
            wm_getting_fail(t->d, t->parents[i], UPP_EINVALID, "its parents go round and never come to the root");
            return;
        }
        for (uint32_t deep = depth[at]; n; n--) {
            depth[path[n - 1]] = ++deep;
            if (deep > WM_SESSION_DEPTH) {
                wm_getting_fail(t->d, t->values[path[n - 1]], UPP_ELIMIT,
                                "expected at most %d nodes from the root to one", WM_SESSION_DEPTH);
                return;
            }
        }
    }
}

static void check_tree(struct tree *t, yyjson_val *root, yyjson_val *current)
{
    t->doc->root = find_node(t, root);
    t->doc->current = t->d->failed ? 0 : find_node(t, current);
    for (uint32_t i = 0; i < t->doc->n && !t->d->failed; i++)
        link_parent(t, i);
    for (uint32_t i = 0; i < t->doc->n && !t->d->failed; i++)
        link_children(t, i);
    for (uint32_t i = 0; i < t->doc->n && !t->d->failed; i++)
        check_branch(t, i);
    if (!t->d->failed)
        check_paths(t);
}

static void read_nodes(struct tree *t, yyjson_val *list, struct upp_str created, struct upp_str updated)
{
    size_t n = unsafe_yyjson_get_len(list);
    yyjson_val *at = unsafe_yyjson_get_first(list);
    if (n > WM_SESSION_NODES) {
        wm_getting_fail(t->d, list, UPP_ELIMIT, "expected at most %d nodes, found %zu", WM_SESSION_NODES, n);
        return;
    }
    t->doc->nodes = wb_new_n(t->d->a, struct wm_tree_node, n + 1);
    t->values = wb_new_n(t->d->a, yyjson_val *, 4 * (n + 1));
    t->named = wb_new_n(t->d->a, bool, n + 1);
    if (!t->doc->nodes || !t->values || !t->named) {
        (void)wm_doc_out_of_memory(t->d);
        return;
    }
    t->parents = t->values + (n + 1);
    t->children = t->parents + (n + 1);
    t->lengths = t->children + (n + 1);
    for (; t->doc->n < n && !t->d->failed; at = unsafe_yyjson_get_next(at)) {
        t->values[t->doc->n] = at;
        read_node(t, t->doc->n, created, updated);
        t->doc->n++;
    }
}

void wm_getting_tree(struct wm_getting *d, yyjson_val *v, struct upp_str created, struct upp_str updated,
                     struct wm_tree_doc *ret)
{
    enum { ROOT, CURRENT, NODES, N };
    static const struct wm_member table[] = {
        [ROOT] = {UPP_STR_INIT("rootId"), WM_ID, 0},
        [CURRENT] = {UPP_STR_INIT("currentId"), WM_ID, 0},
        [NODES] = {UPP_STR_INIT("nodes"), WM_ARR, 0},
    };
    struct tree t = {.d = d, .doc = ret};
    yyjson_val *m[N];
    *ret = (struct wm_tree_doc){0};
    if (!wm_getting_members(d, v, table, N, m))
        return;
    read_nodes(&t, m[NODES], created, updated);
    if (!d->failed)
        check_tree(&t, m[ROOT], m[CURRENT]);
    wm_names_done(&t.ids);
}

int wm_tree_read(struct wb_arena *a, struct upp_str json, struct wm_tree_doc *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf scratch = WB_BUF((size_t)WM_SESSION_BYTES + 64);
    struct wm_getting d = {.a = a, .scratch = &scratch, .err = err};
    struct wm_tree_doc tree;
    int r =
        wj_read(a, json, UPP_OPTS(wj_read_opts, .max_bytes = WM_SESSION_BYTES, .depth = WM_SESSION_JSON), &d.root, err);
    if (r < 0)
        return r;
    wm_getting_tree(&d, d.root, (struct upp_str){0}, (struct upp_str){0}, &tree);
    if (d.failed)
        return d.failed;
    *ret = tree;
    return 0;
}
