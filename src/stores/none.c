/* stores/none.c — what a store cannot do (yet): refusals in the shape of its functions. */
#include "stores/none.h"

int ws_no_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q, struct wb_arena *a,
                 struct wl_hit **ret, size_t *n, struct upp_err *err)
{
    (void)s, (void)o, (void)q, (void)a, (void)ret, (void)n;
    return upp_fail(err, UPP_EREFUSED, "this store keeps no words");
}
