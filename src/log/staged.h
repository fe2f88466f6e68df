/* log/staged.h — branches that come into the log in several commits: nobody sees them before the last one.
 *
 * The nodes of a tree are all that its family has, whether a thread points to them or not. So the first of several
 * commits says in a value which nodes are not whole yet, and the last one takes that value away. Readers leave those
 * nodes out. What a crash leaves is dropped by whoever next puts something into the same thread.
 *
 * Each of the commits counts the thread's version up: of two that put at once one fails, and does so before a node of
 * its own is seen.
 */
#ifndef WL_STAGED_H
#define WL_STAGED_H

#include "log/log.h"

/* A value of this space under the thread's id: the keys of its nodes, parents first, 16 hex digits each. */
#define WL_STAGED "half"

/* The keys of nodes of a family that are not whole, sorted; in the arena. */
struct wl_staged {
    uint64_t *keys;
    size_t    n;
};

WEFT_SUSPENDS int wl_staged_read(struct wl_store *s, const struct wl_owner *o, uint32_t family, struct wb_arena *a,
                                 struct wl_staged *ret, struct upp_err *err) UPP_MUST_CHECK;
bool              wl_staged_has(const struct wl_staged *h, uint64_t key);

/* As it is kept. */
struct upp_str wl_staged_text(struct wb_arena *a, const uint64_t *keys, size_t n);

/* Drops what was left behind on a thread, whose version counts up where there is something. */
WEFT_SUSPENDS int wl_staged_clear(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                  struct upp_err *err) UPP_MUST_CHECK;

#endif
