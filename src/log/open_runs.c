/* log/open_runs.c — runs that have not ended, of all tenants, in pages that fit. */
#include "log/log.h"

enum { PAGE = 256 };

WEFT_SUSPENDS int wl_live_page(struct wl_store *s, struct wb_uuid after, struct wb_arena *a, struct wl_live_run **ret,
                               size_t *n, struct upp_err *err)
{
    int r = -UPP_ELIMIT;
    for (size_t max = PAGE; r == -UPP_ELIMIT && max; max /= 2) {
        wb_arena_done(a);
        r = wl_list_live(s, after, max, a, ret, n, err);
    }
    return r;
}
