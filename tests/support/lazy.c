#include "support/lazy.h"

#include <string.h>
#include <weft/fiber.h>

#include "base/defs.h"
#include "fiber/fiber.h"

static struct lazy *lazy_of(struct wl_store *s)
{
    return (struct lazy *)(void *)s;
}

static WEFT_SUSPENDS void nap(unsigned ms)
{
    WEFT__SHIELD_FOREVER;
    int r = ms ? weft_sleep_ms(ms, NULL) : 0;
    (void)r;
}

static bool ends_a_run(const struct wl_commit *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->changes[i].kind == WL_SET_RUN && wm_status_ended(c->changes[i].run->status))
            return true;
    return false;
}

static WEFT_SUSPENDS int lz_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct lazy *l = lazy_of(s);
    nap(l->before_commit_ms);
    bool one = l->refuse && (!l->which || l->which(c));
    if (one)
        l->refuse--;
    l->full |= one && l->sticks;
    bool fails = one || l->full || (l->no_ends && ends_a_run(c));
    int r = fails && !l->untrue ? 0 : wl_store_commit(l->inner, c, err);
    if (fails) {
        l->refused++;
        return upp_fail(err, UPP_ESTORE, "the disk is full");
    }
    if (r >= 0 && c->n)
        l->bad_reads = l->bad_after_commit;
    nap(l->after_commit_ms);
    return r;
}

static int unreadable(struct upp_err *err)
{
    int r = upp_fail(err, UPP_ESTORE, "the disk failed");
    if (err)
        memcpy(err->cause, WL_IO, sizeof WL_IO);
    return r;
}

static int read_fails(struct lazy *l, struct upp_err *err)
{
    bool fails = l->bad_reads > 0 || l->bad_read_in == 1;
    l->bad_reads -= l->bad_reads > 0;
    l->bad_read_in -= l->bad_read_in > 0;
    if (!fails)
        return 0;
    l->refused++;
    return unreadable(err);
}

static WEFT_SUSPENDS int lz_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret,
                                struct upp_err *err)
{
    struct lazy *l = lazy_of(s);
    int r = read_fails(l, err);
    if (r >= 0)
        r = wl_store_get(l->inner, ask, a, ret, err);
    nap(ask->what == WL_GET_THREAD ? l->thread_ms : 0);
    return r;
}

static WEFT_SUSPENDS int lz_list(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, struct wl_list *ret,
                                 struct upp_err *err)
{
    struct lazy *l = lazy_of(s);
    struct wl_ask some = *ask;
    if (some.what == WL_LIST_LIVE && l->page)
        some.max = WB_MIN(some.max, l->page);
    int r = read_fails(l, err);
    if (r >= 0)
        r = wl_store_list(l->inner, &some, a, ret, err);
    nap(some.what == WL_LIST_LIVE ? l->live_ms : 0);
    return r;
}

static WEFT_SUSPENDS int lz_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range,
                                 struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    struct lazy *l = lazy_of(s);
    int r = read_fails(l, err);
    unsigned ms = l->rows_once_ms;
    if (r >= 0)
        r = wl_store_rows(l->inner, o, range, a, ret, err);
    for (size_t i = 0; r >= 0 && i < ret->n; i++)
        if (ret->p[i].pos < l->bad_before) {
            l->refused++;
            r = unreadable(err);
        }
    l->rows_once_ms = 0;
    nap(ms);
    return r;
}

static WEFT_SUSPENDS int lz_follow(struct wl_store *s, uint64_t from, size_t max_rows, size_t max_bytes,
                                   struct wb_arena *a, struct wl_followed **ret, size_t *n, struct upp_err *err)
{
    struct wl_store *inner = lazy_of(s)->inner;
    return wl_store_follow(inner, from, max_rows, max_bytes, a, ret, n, err);
}

static WEFT_SUSPENDS void lz_close(struct wl_store *s)
{
    (void)s; /* the inner one is the test's */
}

static const struct wl_store_ops ops = {
    .size = sizeof ops,
    .name = "lazy",
    .commit = lz_commit,
    .rows = lz_rows,
    .get = lz_get,
    .list = lz_list,
    .follow = lz_follow,
    .close = lz_close,
};

void lazy_open(struct lazy *l, struct wl_store *inner)
{
    *l = (struct lazy){.store.ops = &ops, .inner = inner};
}
