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
 * A node has a libupp thread, which is empty at first. The node inherits its parent's messages up to the branch point;
 * later messages of the parent are not visible from it. A tree needs neither a session nor a store. A session's tree
 * has the same type; the session's next run or save writes its changes to the log.
 */
#pragma once

#include <upp/thread.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_tree;
struct weft_node;

enum {
    WEFT_TREE_NODES = 1 << 16, /* at most in one tree; more are -UPP_ELIMIT */
    WEFT_TREE_DEPTH = 4096,    /* at most on one path */
};

UPP_API int weft_tree_new(struct weft_tree **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_tree_free(struct weft_tree *t); /* accepts NULL */
UPP_API void weft_tree_freep(struct weft_tree **t);

UPP_API struct weft_node *weft_tree_root(struct weft_tree *t);
UPP_API struct weft_node *weft_tree_current(struct weft_tree *t);
UPP_API struct weft_node *weft_tree_node(struct weft_tree *t, struct upp_str id);            /* NULL: not found */
UPP_API struct weft_node *weft_tree_next(struct weft_tree *t, const struct weft_node *prev); /* in creation order; prev
                                                                                              * NULL: the first */
UPP_API size_t weft_tree_count(const struct weft_tree *t);

/* Adds an empty child at the current end of a node and does not check it out; *ret is its id, valid as long as the
 * tree. name may be NULL. -UPP_ENOTFOUND: no such node. */
UPP_API int weft_tree_branch(struct weft_tree *t, struct upp_str from, const char *name, struct upp_str *ret,
                             struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_tree_checkout(struct weft_tree *t, struct upp_str node, struct upp_err *err) UPP_MUST_CHECK;

/* Appends to the target, in order, the messages of the source's path that the target's path lacks. Messages are
 * compared by id; one without an id never equals another. If the source is the target or one of its ancestors, nothing
 * happens. All or nothing. -UPP_ENOTFOUND. */
UPP_API int weft_tree_merge(struct weft_tree *t, struct upp_str source, struct upp_str target,
                            struct upp_err *err) UPP_MUST_CHECK;

/* The messages from the root to the current node. Borrowed until the tree or one of its threads changes. */
UPP_API int weft_tree_history(struct weft_tree *t, const struct upp_message **ret, size_t *n,
                              struct upp_err *err) UPP_MUST_CHECK;

/* ThreadTreeJSON; free *ret with upp_text_free. from_json validates the whole document before it creates anything:
 * -UPP_EINVALID with a JSON pointer. */
UPP_API int weft_tree_to_json(struct weft_tree *t, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_tree_from_json(struct upp_str json, struct weft_tree **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Nodes; results are valid as long as the tree. */

UPP_API struct upp_str weft_node_id(const struct weft_node *n);
UPP_API struct weft_node *weft_node_parent(const struct weft_node *n); /* NULL: the root */
UPP_API struct upp_thread *weft_node_thread(struct weft_node *n);
UPP_API struct upp_str weft_node_name(const struct weft_node *n);     /* empty: none */
UPP_API struct upp_str weft_node_metadata(const struct weft_node *n); /* JSON object; until it is set again */
UPP_API int weft_node_set_metadata(struct weft_node *n, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
UPP_API size_t weft_node_branch_point(const struct weft_node *n); /* how many messages of its parent it sees */
UPP_API struct weft_node *weft_node_child(const struct weft_node *n, size_t i); /* NULL after the last */

#ifdef __cplusplus
}
#endif
