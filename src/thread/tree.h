/* thread/tree.h — the internals of thread trees, for tree.c, and sessions that store a tree in the log.
 *
 * Nothing here knows sessions or stores: `logged` and `data` of a node belong to the session, and are 0 without one.
 */
#pragma once

#include <weft/tree.h>

#include "base/arena.h"
#include "base/vec.h"
#include "model/names.h"
#include "model/session.h"

struct weft_node {
    struct weft_tree *tree;
    struct weft_node *parent;
    struct upp_thread *thread;
    struct upp_str id, name; /* in the tree's arena */
    struct upp_str metadata; /* JSON object; NULL: {} */
    char *metadata_own;      /* its memory if it was set; NULL: it is in the arena */
    uint32_t metadata_set;   /* number of changes, to compare with what the log has */
    WB_VEC(struct weft_node *) children;
    uint32_t index;  /* index in the tree's list of nodes */
    uint32_t depth;  /* 1: the root */
    uint32_t branch; /* messages of its parent that it sees */
    bool whole;      /* it was read without a branch point: it sees all that its parent had then */

    size_t logged; /* number of its messages that are in the log */
    void *data;    /* the session's, which frees it */
};

struct weft_tree {
    struct wb_arena arena; /* owns nodes, ids, names, and the document that was read */
    WB_VEC(struct weft_node *) nodes;
    struct wm_names ids; /* to indices of nodes */
    struct weft_node *root, *current;
    uint32_t current_length; /* messages of the current node that are visible; WM_ALL_MESSAGES: all */
    unsigned char family[4]; /* the first bytes of its node ids */
    WB_VEC(struct upp_message) history;
};

/* Makes a tree from a document, all of which is in *a. Takes over *a, also on failure. */
int weft__tree_from(struct wb_arena *a, const struct wm_tree_doc *doc, struct weft_tree **ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* Adds a child that sees the first `length` messages of `from`. Without an id it gets a new one. */
int weft__tree_branch(struct weft_tree *t, struct weft_node *from, size_t length, struct upp_str id,
                      struct upp_str name, struct weft_node **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Sets the current node. Until the next checkout only its first `length` messages are visible (WM_ALL_MESSAGES: all),
 * and a branch from it begins there. */
void weft__tree_position(struct weft_tree *t, struct weft_node *n, uint32_t length);
