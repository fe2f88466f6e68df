/* server/front.h — a store in front of the server's, which belongs to one request and changes its commits.
 *
 * What the log and thread/ commit knows no requests: so a key, or the members of a moved thread, are added to the
 * commit on its way. Such a store has a commit of its own; the rest is these functions, which ask the store behind
 * (s->inner). It has no close: the request ends, not the store.
 */
#pragma once

#include "log/store.h"

WEFT_SUSPENDS int sv_front_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *r,
                                struct wb_arena *a, struct wl_rows *ret, struct upp_err *err);
WEFT_SUSPENDS int sv_front_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret,
                               struct upp_err *err);
WEFT_SUSPENDS int sv_front_list(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, struct wl_list *ret,
                                struct upp_err *err);
WEFT_SUSPENDS int sv_front_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                  struct wb_arena *a, struct wl_followed **ret, size_t *n, struct upp_err *err);
WEFT_SUSPENDS int sv_front_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                  struct wb_arena *a, struct wl_hit **ret, size_t *n, struct upp_err *err);
WEFT_SUSPENDS int sv_front_at_once(struct wl_store *s, wl_reading_fn *fn, void *arg, struct upp_err *err);
