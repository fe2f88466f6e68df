/* thread/position.h — places in the tree of a thread, by what names them, and threads that go there.
 *
 * Works on a store alone, as session_doc.h does. Nothing is started, and nothing that was said is lost.
 */
#ifndef WA_THREAD_PLACE_H
#define WA_THREAD_PLACE_H

#include "thread/session_doc.h"
#include "thread/commits.h"

struct wa_position {
    uint64_t node;
    uint32_t length; /* entries of it that count */
};

/* Where a checkpoint of this name is, in any branch of the thread's tree. One that came with a document has messages:
 * where its node has them too it is a place all the same; else they become a branch, which is then in *put.
 * -UPP_ENOTFOUND. */
WEFT_SUSPENDS int wa_checkpoint_find(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                     struct upp_str id, struct wa_put *put, struct wa_position *ret,
                                     struct upp_err *err) UPP_MUST_CHECK;

/* A new thread in the same tree, behind a message (msg_HEX, UUID) or a checkpoint of it; no text: where the thread
 * stands now. -UPP_ENOTFOUND: neither. */
WEFT_SUSPENDS int wa_thread_fork(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                 struct upp_str at, struct wb_arena *a, struct wl_thread *ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The thread stands where the checkpoint is: what comes next branches there. It changes *t.
 * -UPP_EBUSY: a run of it has not ended, and err says which. -UPP_ENOTFOUND. */
WEFT_SUSPENDS int wa_thread_restore(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                    struct upp_str checkpoint, struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* The thread stands at the end of this node (its UUID, or its id in the document with which it came): what comes next
 * goes there. Likewise. */
WEFT_SUSPENDS int wa_thread_checkout(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                     struct upp_str node, struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* Messages in the place of what closed calls that came open with a document: `at` is wa_open_imported's. They stand on
 * a branch from there, which is the thread's head from now on. -UPP_EBUSY: somebody else has changed the thread. */
WEFT_SUSPENDS int wa_thread_answer(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, uint32_t at,
                                   const struct upp_message *list, size_t n, struct upp_err *err) UPP_MUST_CHECK;

#endif
