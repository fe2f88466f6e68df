/* run/delete.c — threads that go while something runs on them: it is cancelled first, and waited for. */
#include "log/change.h"
#include "run/internal.h"

enum { LIVE = 64 }; /* runs of a thread that are ended at a time */

/* Those that wait in the queue first: else each would begin when the one before it ends. 1: there was one. */
static WEFT_SUSPENDS int end_runs(struct wr_engine *e, const struct wl_owner *o, const struct wl_thread *t,
                                  struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wm_run                            *runs;
    size_t                                    n;
    uint8_t                                   status;
    int r = wl_list_runs(e->store, o, t->id, true, LIVE, &a, &runs, &n, err);
    for (size_t i = n; r >= 0 && i-- > 0;) {
        r = wr_cancel(e, o, runs[i].root, err);
        if (r >= 0 || r == -UPP_EREFUSED) /* it ended by itself */
            r = wr_wait(e, o, runs[i].root, &status, err);
        if (r == -UPP_ENOTFOUND)
            r = 0;
    }
    return r < 0 ? r : n > 0;
}

/* Of the thread and all below it. */
static WEFT_SUSPENDS int end_all(struct wr_engine *e, const struct wl_owner *o, const struct wl_thread *t,
                                 struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WR_RUN_MEMORY);
    struct wl_thread                         *list;
    size_t                                    n, others;
    int                                       r = wl_thread_family(e->store, o, t, &a, &list, &n, &others, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = end_runs(e, o, &list[i], err);
    return r;
}

int wr_thread_delete(struct wr_engine *e, const struct wl_owner *o, const struct wl_thread *t, struct wr_erase *erase,
                     struct upp_err *err)
{
    int r = -UPP_EBUSY;
    if (!e->store)
        return upp_fail(err, UPP_ENOTFOUND, "there is no store");
    for (unsigned tries = 0; r == -UPP_EBUSY && tries < WR_RETRIES; tries++) {
        r = end_all(e, o, t, err);
        if (r >= 0 && erase)
            r = wl_tree_erase(e->store, o, t, erase->memory, &erase->lost, &erase->n, err);
        else if (r >= 0)
            r = wl_thread_delete(e->store, o, t, err);
        if (r == -UPP_EBUSY && erase)
            break; /* another thread's, perhaps: it is not ours to end */
    }
    return r;
}
