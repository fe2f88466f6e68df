/* thread/tree.h — the inside of thread trees: for tree.c, tree_json.c, and the sessions that keep a tree in a log.
 *
 * Nothing here knows of sessions or stores: `logged` and `data` of a node are theirs, and stay 0 without one.
 */
#ifndef WA_TREE_H
#define WA_TREE_H

#include <weft/tree.h>

#include "base/arena.h"
#include "base/vec.h"
#include "model/names.h"
#include "model/session.h"

struct weft_node {
    struct weft_tree  *tree;
    struct weft_node  *parent;
    struct upp_thread *thread;
    struct upp_str     id, name;     /* in the tree's arena */
    struct upp_str     metadata;     /* JSON object; no text: {} */
    char              *metadata_own; /* where it was set; NULL: it lies in the arena */
    uint32_t           metadata_set; /* counts the changes: is that of the log still the same? */
    WB_VEC(struct weft_node *) children;
    uint32_t place;  /* among the nodes of the tree */
    uint32_t depth;  /* 1: the root */
    uint32_t branch; /* messages of its parent that it sees */
    bool     whole;  /* it was read without a branch point: all that its parent had then */

    size_t logged; /* of its messages, those that are in the log */
    void  *data;   /* the session's; freed by it */
};

struct weft_tree {
    struct wb_arena arena; /* nodes, ids, names, and what was read */
    WB_VEC(struct weft_node *) nodes;
    struct wm_names   ids; /* by the place of their nodes */
    struct weft_node *root, *current;
    uint32_t          current_length; /* messages of the current node that count; WM_ALL_MESSAGES: all */
    unsigned char     family[4];      /* how the ids of its nodes begin */
    WB_VEC(struct upp_message) history;
};

/* A tree of what was read. *a is taken over, also when it fails; all of doc lies in it. */
int weft__tree_from(struct wb_arena *a, const struct wm_tree_doc *doc, struct weft_tree **ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* What it has, as it is written: in the arena, and borrowed until the tree is changed. */
int weft__tree_view(struct weft_tree *t, struct wb_arena *a, struct wm_tree_doc *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* A child that sees the first `length` messages of `from`. Its id is minted where none is given. */
int weft__tree_branch(struct weft_tree *t, struct weft_node *from, size_t length, struct upp_str id,
                      struct upp_str name, struct weft_node **ret, struct upp_err *err) UPP_MUST_CHECK;

/* The current node, of which only the first `length` messages count (WM_ALL_MESSAGES: all) until the next checkout: a
 * branch from it begins there. */
void weft__tree_position(struct weft_tree *t, struct weft_node *n, uint32_t length);

#endif
