#include "support/frail.h"

#include "fiber/fiber.h"

static struct frail *frail_of(struct wl_store *s)
{
    return (struct frail *)(void *)s;
}

static WEFT_SUSPENDS void linger(struct frail *f)
{
    WEFT__SHIELD_FOREVER;
    uint64_t ms = f->slow_ms ? weft__sim_below(f->sim, f->slow_ms + 1) : 0;
    int      r  = ms ? weft_sleep_ms(ms, NULL) : 0;
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
    int           r = before(f, err);
    if (r < 0)
        return r;
    f->commits++;
    bool last = f->dies_in && --f->dies_in == 0;
    if (last && !f->applies)
        frail_kill(f);
    r = gone(f, err);
    if (r >= 0)
        r = f->inner->ops->commit(f->inner, c, err);
    if (last)
        frail_kill(f);
    return after(f, r, err);
}

#define PASS(name, params, ...)                                                                                        \
    static WEFT_SUSPENDS int fr_##name params                                                                          \
    {                                                                                                                  \
        struct frail *f = frail_of(s);                                                                                 \
        int           r = before(f, err);                                                                              \
        if (r >= 0)                                                                                                    \
            r = after(f, f->inner->ops->name(f->inner, __VA_ARGS__), err);                                             \
        return r;                                                                                                      \
    }

PASS(rows,
     (struct wl_store * s, const struct wl_owner *o, const struct wl_range *range, struct wb_arena *a,
      struct wl_rows *ret, struct upp_err *err),
     o, range, a, ret, err)
PASS(node, (struct wl_store * s, const struct wl_owner *o, uint64_t key, struct wl_node *ret, struct upp_err *err), o,
     key, ret, err)
PASS(thread,
     (struct wl_store * s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a, struct wl_thread *ret,
      struct upp_err *err),
     o, id, a, ret, err)
PASS(run,
     (struct wl_store * s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a, struct wm_run *ret,
      struct upp_err *err),
     o, id, a, ret, err)
PASS(alias,
     (struct wl_store * s, const struct wl_owner *o, uint8_t kind, struct upp_str text, struct wb_uuid *ret,
      struct upp_err *err),
     o, kind, text, ret, err)
PASS(key,
     (struct wl_store * s, const struct wl_owner *o, struct upp_str route, struct upp_str key, struct wl_key *ret,
      struct upp_err *err),
     o, route, key, ret, err)
PASS(threads,
     (struct wl_store * s, const struct wl_owner *o, struct wb_uuid from, size_t max, struct wb_arena *a,
      struct wl_thread **ret, size_t *n, struct upp_err *err),
     o, from, max, a, ret, n, err)
PASS(runs,
     (struct wl_store * s, const struct wl_owner *o, struct wb_uuid thread, bool live_only, size_t max,
      struct wb_arena *a, struct wm_run **ret, size_t *n, struct upp_err *err),
     o, thread, live_only, max, a, ret, n, err)
PASS(live,
     (struct wl_store * s, struct wb_uuid from, size_t max, struct wb_arena *a, struct wm_run **runs,
      struct wl_owner **owners, size_t *n, struct upp_err *err),
     from, max, a, runs, owners, n, err)

PASS(value,
     (struct wl_store * s, const struct wl_owner *o, struct upp_str space, struct upp_str name, struct wb_arena *a,
      struct upp_str *ret, struct upp_err *err),
     o, space, name, a, ret, err)
PASS(values,
     (struct wl_store * s, const struct wl_owner *o, struct upp_str space, struct upp_str from, size_t max,
      struct wb_arena *a, struct wl_value **ret, size_t *n, struct upp_err *err),
     o, space, from, max, a, ret, n, err)
PASS(tenants,
     (struct wl_store * s, struct upp_str from, size_t max, struct wb_arena *a, struct upp_str **ret, size_t *n,
      struct upp_err *err),
     from, max, a, ret, n, err)
PASS(family_nodes,
     (struct wl_store * s, const struct wl_owner *o, uint32_t family, struct wb_uuid from, size_t max,
      struct wb_arena *a, struct wl_node **ret, size_t *n, struct upp_err *err),
     o, family, from, max, a, ret, n, err)
PASS(family_threads,
     (struct wl_store * s, const struct wl_owner *o, uint32_t family, struct wb_uuid from, size_t max,
      struct wb_arena *a, struct wl_thread **ret, size_t *n, struct upp_err *err),
     o, family, from, max, a, ret, n, err)
PASS(loose_blobs,
     (struct wl_store * s, const struct wl_owner *o, int64_t before_ms, size_t max, struct wb_arena *a,
      struct wl_blob_key **ret, size_t *n, struct upp_err *err),
     o, before_ms, max, a, ret, n, err)
PASS(old_runs,
     (struct wl_store * s, const struct wl_owner *o, uint64_t from, int64_t before_ms, size_t max, struct wb_arena *a,
      struct wm_run **ret, uint64_t **numbers, size_t *n, struct upp_err *err),
     o, from, before_ms, max, a, ret, numbers, n, err)
PASS(follow,
     (struct wl_store * s, uint64_t from, size_t max_rows, size_t max_bytes, struct wb_arena *a,
      struct wl_followed **ret, size_t *n, struct upp_err *err),
     from, max_rows, max_bytes, a, ret, n, err)
PASS(learned, (struct wl_store * s, uint64_t *upto, uint64_t *end, struct upp_err *err), upto, end, err)

static WEFT_SUSPENDS void fr_close(struct wl_store *s)
{
    (void)s; /* the inner one is the test's */
}

static const struct wl_store_ops ops = {
    .size           = sizeof ops,
    .name           = "frail",
    .commit         = fr_commit,
    .rows           = fr_rows,
    .node           = fr_node,
    .thread         = fr_thread,
    .run            = fr_run,
    .alias          = fr_alias,
    .key            = fr_key,
    .threads        = fr_threads,
    .runs           = fr_runs,
    .live           = fr_live,
    .value          = fr_value,
    .values         = fr_values,
    .tenants        = fr_tenants,
    .family_nodes   = fr_family_nodes,
    .family_threads = fr_family_threads,
    .loose_blobs    = fr_loose_blobs,
    .old_runs       = fr_old_runs,
    .follow         = fr_follow,
    .learned        = fr_learned,
    .close          = fr_close,
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
