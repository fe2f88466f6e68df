/* log/node.c — the end of a node's log, and new branches of it. */
#include "base/clock.h"
#include "log/lines.h"

/* The time of a stored row. */
static int row_time(const struct wl_row *row, struct wb_arena *a, int64_t *ret, struct upp_err *err)
{
    struct wm_row parsed;
    int r = wm_row_read_entries(a, row->format, row->body, &parsed, err);
    if (r < 0)
        return upp_wrap(err, r, "node %016llx, its last row", (unsigned long long)row->node);
    *ret = parsed.time_ms;
    return 0;
}

/* The time of the entry before an empty node: at the branch point of the node, or of one of its ancestors. */
WEFT_SUSPENDS static int time_before(struct wl_store *s, const struct wl_owner *o, uint64_t key, struct wb_arena *a,
                                     int64_t *ret, struct upp_err *err)
{
    for (unsigned i = 0; i < WL_PATH_READ; i++) {
        struct wl_node node;
        struct wl_row row;
        int r = wl_get_node(s, o, key, &node, err);
        if (r < 0)
            return r;
        if (!node.parent)
            return 0; /* the root of a tree: no entry before it */
        wb_arena_reset(a);
        if (node.parent_length) {
            r = wl__last_row(s, o, node.parent, wl__pos_end(node.parent_length), a, &row, err);
            return r > 0 ? row_time(&row, a, ret, err) : r;
        }
        key = node.parent;
    }
    return upp_fail(err, UPP_ESTORE, "node %016llx has no root within %d nodes", (unsigned long long)key, WL_PATH_READ);
}

WEFT_SUSPENDS int wl_node_end(struct wl_store *s, const struct wl_owner *o, uint64_t node, struct wl_end *ret,
                              struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(WL__LARGE);
    struct wl_end end = {0};
    struct wl_row row;
    int r = wl__last_row(s, o, node, UINT64_MAX, &scratch, &row, err);
    if (r > 0) {
        end.pos = wl_pos_next(row.pos, row.n_entries);
        end.length = wl_pos_index(end.pos);
        r = row_time(&row, &scratch, &end.time_ms, err);
    } else if (r == 0)
        r = time_before(s, o, node, &scratch, &end.time_ms, err); /* also checks that the node exists */
    if (r < 0)
        return r;
    *ret = end;
    return 0;
}

int wl_branch_make(const struct wl_node *under, uint32_t length, struct wl_node *ret, struct upp_err *err)
{
    struct wl_node x = {.tree = under->tree, .parent = under->key, .parent_length = length, .created_ms = wb_wall_ms()};
    int r = wl_id_new(wl_family(under->tree), &x.id, err);
    if (r < 0)
        return r;
    /* None of its entries would be on the path: make it a sibling, not a child. Otherwise branches of branches would
     * form chains. (The parent has entries on the path or is a root: the same was done for it.) */
    if (length == 0 && under->parent) {
        x.parent = under->parent;
        x.parent_length = under->parent_length;
    }
    x.key = wm_key(x.id);
    *ret = x;
    return 0;
}

/* Climbing from a new node. */
struct climb {
    const struct wl_owner *o;
    uint64_t parent; /* of the node that was reached last; 0: it is the root */
    unsigned nodes;  /* so far, the new one included */
};

WEFT_SUSPENDS static int climb(struct wl_store *s, void *arg, struct upp_err *err)
{
    struct climb *x = arg;
    while (x->parent && x->nodes <= WL_PATH_NODES) {
        struct wl_node node;
        int r = wl_get_node(s, x->o, x->parent, &node, err);
        if (r < 0)
            return r;
        x->parent = node.parent;
        x->nodes++;
    }
    return 0;
}

WEFT_SUSPENDS int wl_branch(struct wl_store *s, const struct wl_owner *o, const struct wl_node *under, uint32_t length,
                            struct wl_node *ret, struct upp_err *err)
{
    struct wl_node x;
    int r = wl_branch_make(under, length, &x, err);
    if (r < 0)
        return r;
    /* Most branches are made from a root, which has been read; of the others each node above is read. */
    struct climb above = {.o = o, .parent = under->parent, .nodes = x.parent == under->key ? 2 : 1};
    if (above.parent)
        r = wl_store_at_once(s, climb, &above, err);
    if (r < 0)
        return r;
    if (above.nodes > WL_PATH_NODES)
        return upp_fail(err, UPP_ELIMIT,
                        "this conversation was edited, regenerated or set back %d times in one line, which is the "
                        "most: export the thread and import it as a copy, which begins anew",
                        WL_PATH_NODES - 1);
    *ret = x;
    return 0;
}
