/* log/forget.h — threads of which nothing is to stay: no audit says that one was there, and the next sweep takes its
 * rows.
 */
#pragma once

#include "log/store.h"

/* Like wl_tree_erase otherwise: deletes the thread, erases the content of its tree, and can be repeated after a failure
 * or a crash. -UPP_EBUSY: a run of the tree has not ended. */
WEFT_SUSPENDS int wl_tree_forget(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* delete.c: only deletes it. */
WEFT_SUSPENDS int wl__thread_forget(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    struct upp_err *err) UPP_MUST_CHECK;
