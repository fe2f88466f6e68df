/* runtime/search_follower.c — what happens beside the runs: the search follows the log, and blobs that nothing refers
 * to any more are swept. */
#include "base/clock.h"
#include "base/log.h"
#include "log/search.h"
#include "runtime/runtime.h"
#include "stores/blobs.h"

enum { IDLE_MS = 500, TROUBLE_MS = 10000, SWEEP_MS = 600000 };

/* How long to wait before the next stretch; UINT64_MAX: there is nothing to follow. */
static WEFT_SUSPENDS uint64_t follow(struct wl_store *s)
{
    struct upp_err err = {0};
    size_t         n   = 0;
    int            r   = wl_learn(s, &n, &err);
    if (r == -UPP_EREFUSED)
        return UINT64_MAX; /* who searches reads */
    if (r < 0) {
        wb_log(WB_WARN, "the search does not follow", WB_LZ("why", err.msg));
        return TROUBLE_MS;
    }
    return n ? 0 : IDLE_MS;
}

static WEFT_SUSPENDS void sweep(struct wl_store *s)
{
    struct upp_err err = {0};
    size_t         n   = 0;
    int            r   = ws_blobs_sweep(s, wb_wall_ms(), &n, &err);
    if (r < 0)
        wb_log(WB_WARN, "blobs were not swept", WB_LZ("why", err.msg));
    else if (n)
        wb_log(WB_DEBUG, "blobs swept", WB_LU("n", n));
}

static WEFT_SUSPENDS int beside(void *arg, struct upp_err *err)
{
    struct wl_store *s     = arg;
    bool             words = true;
    int64_t          swept = 0;
    for (int r = 0; r >= 0;) {
        uint64_t ms  = words ? follow(s) : SWEEP_MS;
        int64_t  now = wb_wall_ms();
        if (ms == UINT64_MAX) {
            words = false;
            ms    = 0;
        }
        if (now - swept >= SWEEP_MS || now < swept) {
            sweep(s);
            swept = now;
        }
        r = ms ? weft_sleep_ms(ms, err) : weft_yield(err);
        if (r < 0)
            return r == -UPP_ECANCELED ? 0 : r;
    }
    return 0;
}

int wrt_runtime_follow(struct wrt_runtime *rt, struct upp_err *err)
{
    return weft_scope_spawn(&rt->beside, "search", beside, rt->store, NULL, err);
}
