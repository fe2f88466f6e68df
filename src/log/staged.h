/* log/staged.h — staged imports: branches written in several commits that readers do not see before the last one.
 *
 * The nodes of a tree are all nodes of its family, whether a thread points to them or not. So the first of several
 * commits lists the incomplete nodes in a value, and the last one removes that value. Readers leave those nodes out.
 * The next import into the same thread drops what a crash left.
 *
 * Each of the commits increments the thread's version: of two concurrent imports one fails, before any of its nodes
 * becomes visible.
 */
#pragma once

#include "log/log.h"

/* A value of this space under the thread's id: the keys of its incomplete nodes, parents first, 16 hex digits each. */
#define WL_STAGED "half"

/* The keys of a family's incomplete nodes, sorted; in the arena. */
struct wl_staged {
    uint64_t *keys;
    size_t n;
};

WEFT_SUSPENDS int wl_staged_read(struct wl_store *s, const struct wl_owner *o, uint32_t family, struct wb_arena *a,
                                 struct wl_staged *ret, struct upp_err *err) UPP_MUST_CHECK;
bool wl_staged_has(const struct wl_staged *h, uint64_t key);

/* Encodes keys for that value. */
struct upp_str wl_staged_text(struct wb_arena *a, const uint64_t *keys, size_t n);

/* Drops the incomplete nodes of a thread; increments its version if there are any. */
WEFT_SUSPENDS int wl_staged_clear(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                  struct upp_err *err) UPP_MUST_CHECK;
