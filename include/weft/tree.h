/* weft/tree.h — thread trees (UAP 7): conversations that branch.
 *
 *     struct weft_tree *tree;
 *     struct upp_str alternative;
 *     r = weft_tree_new(&tree, &err);
 *     r = weft_tree_history(tree, &list, &n, &err);
 *     r = weft_agent_run_with(a, UPP_OPTS(upp_input, .history = list, .n_history = n, .text = ...), &turn, &err);
 *     r = upp_thread_append(weft_node_thread(weft_tree_current(tree)), turn, &err);
 *     r = weft_tree_branch(tree, weft_node_id(weft_tree_current(tree)), "alternative", &alternative, &err);
 *     r = weft_tree_checkout(tree, alternative, &err);
 *
 * A node has a thread of libupp's, which begins empty: what came before is its parent's, up to where the branch was
 * made. What the parent says later is not seen from the branch. A tree needs neither a session nor a store; that of a
 * session is the same type, and what is changed in it is in the log when the session next runs or saves.
 */
#ifndef WEFT_TREE_H
#define WEFT_TREE_H

#include <upp/thread.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_tree;
struct weft_node;

enum {
    WEFT_TREE_NODES = 1 << 16, /* of one tree, at most: -UPP_ELIMIT */
    WEFT_TREE_DEPTH = 4096,    /* nodes on one path */
};

UPP_API int  weft_tree_new(struct weft_tree **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_tree_free(struct weft_tree *t); /* NULL is fine */
UPP_API void weft_tree_freep(struct weft_tree **t);

UPP_API struct weft_node *weft_tree_root(struct weft_tree *t);
UPP_API struct weft_node *weft_tree_current(struct weft_tree *t);
UPP_API struct weft_node *weft_tree_node(struct weft_tree *t, struct upp_str id);            /* NULL: there is none */
UPP_API struct weft_node *weft_tree_next(struct weft_tree *t, const struct weft_node *prev); /* all, as they were made;
                                                                                              * NULL: from the first */
UPP_API size_t weft_tree_count(const struct weft_tree *t);

/* An empty child of that node, where it ends now; *ret is its id, good as long as the tree. It is not checked out. name
 * may be NULL. -UPP_ENOTFOUND: no such node. */
UPP_API int weft_tree_branch(struct weft_tree *t, struct upp_str from, const char *name, struct upp_str *ret,
                             struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_tree_checkout(struct weft_tree *t, struct upp_str node, struct upp_err *err) UPP_MUST_CHECK;

/* Appends to the target, in order, what the source's path has and the target's has not (by the ids of messages: one
 * that has none is never the same as another). The same node or one above the target: nothing happens. All or nothing.
 * -UPP_ENOTFOUND. */
UPP_API int weft_tree_merge(struct weft_tree *t, struct upp_str source, struct upp_str target,
                            struct upp_err *err) UPP_MUST_CHECK;

/* The messages from the root to the current node. Borrowed until the tree or a thread in it is changed.
 */
UPP_API int weft_tree_history(struct weft_tree *t, const struct upp_message **ret, size_t *n,
                              struct upp_err *err) UPP_MUST_CHECK;

/* ThreadTreeJSON; text is freed by upp_text_free. It is checked whole before anything is made of it: -UPP_EINVALID with
 * a pointer. */
UPP_API int weft_tree_to_json(struct weft_tree *t, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_tree_from_json(struct upp_str json, struct weft_tree **ret, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Nodes; all of it lives as long as the tree ------------------------------------------------------------ */

UPP_API struct upp_str     weft_node_id(const struct weft_node *n);
UPP_API struct weft_node  *weft_node_parent(const struct weft_node *n); /* NULL: the root */
UPP_API struct upp_thread *weft_node_thread(struct weft_node *n);
UPP_API struct upp_str     weft_node_name(const struct weft_node *n);     /* no text: none */
UPP_API struct upp_str     weft_node_metadata(const struct weft_node *n); /* JSON object */
UPP_API int    weft_node_set_metadata(struct weft_node *n, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
UPP_API size_t weft_node_branch_point(const struct weft_node *n); /* messages of its parent that it sees */
UPP_API struct weft_node *weft_node_child(const struct weft_node *n, size_t i); /* NULL: there are no more */

#ifdef __cplusplus
}
#endif
#endif
