/* thread/tree_json.c — thread trees as ThreadTreeJSON. */
#include "thread/tree.h"
#include "base/buf.h"
#include "base/err.h"
#include "upp/client/threads.h"

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
