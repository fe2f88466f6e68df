/* runtime/search_follower.c — background work of a server: updates the search index, and starts the sweeper. */
#include "base/log.h"
#include "log/search.h"
#include "runtime/runtime.h"

enum { IDLE_MS = 500, RETRY_MS = 10000 };

/* Indexes the next part. How long to wait before the next one; UINT64_MAX: there is nothing to index. */
static WEFT_SUSPENDS uint64_t follow(struct wl_store *s)
{
    struct upp_err err = {0};
    size_t n = 0;
    int r = wl_index_rows(s, &n, &err);
    if (r == -UPP_EREFUSED)
        return UINT64_MAX; /* searches read the log itself */
    if (r < 0) {
        wb_log(WB_WARN, "the search does not follow", WB_LZ("why", err.msg));
        return RETRY_MS;
    }
    return n ? 0 : IDLE_MS;
}

static WEFT_SUSPENDS int index_main(void *arg, struct upp_err *err)
{
    struct wl_store *s = arg;
    struct upp_err why = {0};
    if (wl_reindex_pending_all(s, &why) < 0) /* then the sweeper does it */
        wb_log(WB_WARN, "the search has forgotten messages", WB_LZ("why", why.msg));
    for (int r = 0; r >= 0;) {
        uint64_t ms = follow(s);
        if (ms == UINT64_MAX)
            return 0;
        r = ms ? weft_sleep_ms(ms, err) : weft_yield(err);
        if (r < 0)
            return r == -UPP_ECANCELED ? 0 : r;
    }
    return 0;
}

int wrt_runtime_follow(struct wrt_runtime *rt, struct upp_err *err)
{
    int r = weft_scope_spawn(&rt->background, "search", index_main, rt->store, NULL, err);
    return r < 0 ? r : wrt__sweeper_start(rt, err);
}
