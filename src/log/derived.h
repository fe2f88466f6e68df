/* log/derived.h — erases data derived from a message, elsewhere in its tree.
 *
 * Derived data is: summaries that replace the message, and what middleware made of histories that contain it, in its
 * node and on every branch behind it; what the run that wrote it (and the runs that did its parallel work) sent to the
 * model in addition, and the plan and other texts in that run's state. What a model wrote about the message in its own
 * words is not reached: it cannot be located.
 */
#pragma once

#include "log/change.h"

struct wl_derived {
    struct wm_id at;     /* the message */
    uint64_t pos;        /* of its row */
    uint32_t path_index; /* position on its path */
    struct wb_uuid run;  /* the run that wrote it; all zero: none */
    struct wm_erased mark;
};

/* Erases the derived data, a batch of rows per commit; each commit records this in an event after the node's last row.
 * If it is interrupted, the message still exists and deleting it again repeats this. -UPP_EBUSY: a run holds one of the
 * nodes. */
WEFT_SUSPENDS int wl__derived_erase(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    const struct wl_derived *d, struct upp_err *err) UPP_MUST_CHECK;

/* erase.c: erases the content of the thread's tree and of its sub-threads' trees; the threads stay. For threads of
 * sub-agents. */
WEFT_SUSPENDS int wl__tree_erase_content(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                         struct upp_err *err) UPP_MUST_CHECK;
