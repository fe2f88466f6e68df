/* log/derived.h — what was made of a message elsewhere in its tree, for when the message is erased.
 *
 * That is: summaries that stand for it, and what middleware made of histories that have it, in its node and on every
 * branch behind it; what its own run (and those that did parallel work of it) told the model beside it, and the plan
 * and other texts in that run's state. What a model said of it in words of its own is not looked for: nobody knows
 * where that is.
 */
#ifndef WL_DERIVED_H
#define WL_DERIVED_H

#include "log/change.h"

struct wl_derived {
    struct wm_id     at;    /* the message */
    uint64_t         pos;   /* of its row */
    uint32_t         place; /* on its path */
    struct wb_uuid   run;   /* that wrote it; all zero: none */
    struct wm_erased mark;
};

/* Erases it, some rows with each commit, which says so in an event behind the node's last row. Whatever dies in
 * between, the message is still there: it is done again with that. -UPP_EBUSY: a run holds one of the nodes. */
WEFT_SUSPENDS int wl__derived_erase(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    const struct wl_derived *d, struct upp_err *err) UPP_MUST_CHECK;

/* erase.c: all that the tree of a thread and those below it say, the threads stay. For what a sub agent was asked. */
WEFT_SUSPENDS int wl__tree_silence(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   struct upp_err *err) UPP_MUST_CHECK;

#endif
