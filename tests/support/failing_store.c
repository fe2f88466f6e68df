#include "support/failing_store.h"

#include "fiber/fiber.h"

static struct frail *frail_of(struct wl_store *s)
{
    return (struct frail *)(void *)s;
}

static WEFT_SUSPENDS void linger(struct frail *f)
{
    WEFT__SHIELD_FOREVER;
    uint64_t ms = f->slow_ms ? weft__sim_below(f->sim, f->slow_ms + 1) : 0;
    int r = ms ? weft_sleep_ms(ms, NULL) : 0;
    (void)r;
}

static int gone(struct frail *f, struct upp_err *err)
{
    return f->dead ? upp_fail(err, UPP_ESTORE, "the process is dead") : 0;
}

static WEFT_SUSPENDS int before(struct frail *f, struct upp_err *err)
{
    if (!f->dead)
        linger(f);
    return gone(f, err);
}

static WEFT_SUSPENDS int after(struct frail *f, int r, struct upp_err *err)
{
    if (!f->dead)
        linger(f);
    if (r == -UPP_ESTORE && !f->dead)
        frail_kill(f); /* the disk under it was lost */
    return f->dead ? gone(f, err) : r;
}

static WEFT_SUSPENDS int fr_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct frail *f = frail_of(s);
    int r = before(f, err);
    if (r < 0)
        return r;
    f->commits++;
    bool last = f->dies_in && --f->dies_in == 0;
    if (last && !f->applies)
        frail_kill(f);
    r = gone(f, err);
    if (r >= 0)
        r = wl_store_commit(f->inner, c, err);
    if (last)
        frail_kill(f);
    return after(f, r, err);
}

#define PASS(name, params, ...)                                                                                        \
    static WEFT_SUSPENDS int fr_##name params                                                                          \
    {                                                                                                                  \
        struct frail *f = frail_of(s);                                                                                 \
        int r = before(f, err);                                                                                        \
        if (r >= 0)                                                                                                    \
            r = after(f, f->inner->ops->name(f->inner, __VA_ARGS__), err);                                             \
        return r;                                                                                                      \
    }

PASS(rows,
     (struct wl_store * s, const struct wl_owner *o, const struct wl_range *range, struct wb_arena *a,
      struct wl_rows *ret, struct upp_err *err),
     o, range, a, ret, err)
PASS(get, (struct wl_store * s, const struct wl_ask *ask, struct wb_arena *a, void *ret, struct upp_err *err), ask, a,
     ret, err)
PASS(list,
     (struct wl_store * s, const struct wl_ask *ask, struct wb_arena *a, struct wl_list *ret, struct upp_err *err), ask,
     a, ret, err)
PASS(follow,
     (struct wl_store * s, uint64_t from, size_t max_rows, size_t max_bytes, struct wb_arena *a,
      struct wl_followed **ret, size_t *n, struct upp_err *err),
     from, max_rows, max_bytes, a, ret, n, err)

static WEFT_SUSPENDS void fr_close(struct wl_store *s)
{
    (void)s; /* the inner one is the test's */
}

static const struct wl_store_ops ops = {
    .size = sizeof ops,
    .name = "frail",
    .commit = fr_commit,
    .rows = fr_rows,
    .get = fr_get,
    .list = fr_list,
    .follow = fr_follow,
    .close = fr_close,
};

void frail_open(struct frail *f, struct wl_store *inner, struct weft__sim *sim)
{
    *f = (struct frail){.store.ops = &ops, .inner = inner, .sim = sim};
}

void frail_kill(struct frail *f)
{
    f->dead = true;
    weft_cond_broadcast(&f->died);
}
