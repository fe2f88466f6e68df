/* run/unstored.h — threads that leave nothing behind: of requests that said `store: false`.
 *
 * Such a thread exists as long as a run on it works or waits. It is noted before its run starts, so that it is erased
 * after a crash too: by whoever has read the run to its end, and otherwise by a sweep, within a minute.
 */
#pragma once

#include "log/store.h"

WEFT_SUSPENDS int wr_unstored_note(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Is the thread one of them? 1; 0. */
WEFT_SUSPENDS int wr_is_unstored(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The same for whoever has read the run to its end: a failure is logged, and the sweep tries again. */
WEFT_SUSPENDS void wr_unstored_end(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread);

/* Those of a tenant whose runs have ended. *n: so many. */
WEFT_SUSPENDS int wr_unstored_sweep(struct wl_store *s, const struct wl_owner *o, size_t *n,
                                    struct upp_err *err) UPP_MUST_CHECK;
