/* stores/none.h — what a store cannot do: refusals (-UPP_EREFUSED) in the shape of its functions. */
#ifndef WS_NONE_H
#define WS_NONE_H

#include "log/store.h"

int ws_no_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q, struct wb_arena *a,
                 struct wl_hit **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;

#endif
