/* thread/position.h — finds positions in a thread's tree by checkpoint, message or node id, and moves threads there.
 *
 * Works on a store alone, like session_doc.h. Starts no run and removes nothing from the log.
 */
#pragma once

#include "thread/session_doc.h"
#include "thread/commits.h"

struct wa_position {
    uint64_t node;
    uint32_t length; /* entries of the node before the position */
};

/* Finds the position of a checkpoint, in any branch of the thread's tree. An imported checkpoint may carry its own
 * messages: if its node has them too, the position is in that node; otherwise they become a new branch, which is added
 * to *put. -UPP_ENOTFOUND. */
WEFT_SUSPENDS int wa_checkpoint_find(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                     struct upp_str id, struct wa_put *put, struct wa_position *ret,
                                     struct upp_err *err) UPP_MUST_CHECK;

/* Finds the position before a message (msg_HEX, UUID) of the thread's tree, or after it and the results of its calls.
 * 0: the tree has no such message. */
WEFT_SUSPENDS int wa_message_find(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                  struct upp_str text, bool before, struct wa_position *ret,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* Creates a thread in the same tree, after a message (msg_HEX, UUID) or a checkpoint of it; NULL: at the thread's
 * current position. -UPP_ENOTFOUND: there is neither. */
WEFT_SUSPENDS int wa_thread_fork(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                 struct upp_str at, struct wb_arena *a, struct wl_thread *ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Moves the thread to a checkpoint: the next message branches off there. Changes *t. -UPP_EBUSY: a run of the thread
 * has not ended, err names it. -UPP_ENOTFOUND. */
WEFT_SUSPENDS int wa_thread_restore(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                    struct upp_str checkpoint, struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* The same for any position of the thread's tree. Calls before it whose results come after it are closed on a branch.
 */
WEFT_SUSPENDS int wa_thread_move(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                 const struct wa_position *to, struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* The key of a node of the thread's tree, by its UUID or by its id in the imported document. -UPP_ENOTFOUND. */
WEFT_SUSPENDS int wa_node_find(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                               struct upp_str id, uint64_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Moves the thread to the end of a node (as in wa_node_find): the next message goes there.
 * Changes *t and fails like wa_thread_restore. */
WEFT_SUSPENDS int wa_thread_checkout(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                     struct upp_str node, struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* Moves the thread to a position of its tree: the next message branches off there. Changes *t and fails like
 * wa_thread_restore. */
WEFT_SUSPENDS int wa_thread_move(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                 const struct wa_position *to, struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* Puts messages in place of the repair that closes calls left open by an imported document; `at` comes from
 * wa_open_imported. They go on a branch from that point, which becomes the thread's head. -UPP_EBUSY: the thread was
 * changed meanwhile. */
WEFT_SUSPENDS int wa_thread_answer(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, uint32_t at,
                                   const struct upp_message *list, size_t n, struct upp_err *err) UPP_MUST_CHECK;
