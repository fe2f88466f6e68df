#include "support/lazy.h"

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
    if (l->full || (l->no_ends && ends_a_run(c))) {
        l->refused++;
        return upp_fail(err, UPP_ESTORE, "the disk is full");
    }
    int r = l->inner->ops->commit(l->inner, c, err);
    nap(l->after_commit_ms);
    return r;
}

static WEFT_SUSPENDS int lz_live(struct wl_store *s, struct wb_uuid from, size_t max, struct wb_arena *a,
                                 struct wm_run **runs, struct wl_owner **owners, size_t *n, struct upp_err *err)
{
    struct lazy *l = lazy_of(s);
    int          r = l->inner->ops->live(l->inner, from, l->page ? WB_MIN(max, l->page) : max, a, runs, owners, n, err);
    nap(l->live_ms);
    return r;
}

static WEFT_SUSPENDS int lz_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range,
                                 struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    struct lazy *l  = lazy_of(s);
    int          r  = l->inner->ops->rows(l->inner, o, range, a, ret, err);
    unsigned     ms = l->rows_once_ms;
    l->rows_once_ms = 0;
    nap(ms);
    return r;
}

#define PASS(name, ms, params, ...)                                                                                    \
    static WEFT_SUSPENDS int lz_##name params                                                                          \
    {                                                                                                                  \
        struct lazy *l = lazy_of(s);                                                                                   \
        int          r = l->inner->ops->name(l->inner, __VA_ARGS__);                                                   \
        nap(ms);                                                                                                       \
        return r;                                                                                                      \
    }

PASS(node, 0, (struct wl_store * s, const struct wl_owner *o, uint64_t key, struct wl_node *ret, struct upp_err *err),
     o, key, ret, err)
PASS(thread, l->thread_ms,
     (struct wl_store * s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a, struct wl_thread *ret,
      struct upp_err *err),
     o, id, a, ret, err)
PASS(run, 0,
     (struct wl_store * s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a, struct wm_run *ret,
      struct upp_err *err),
     o, id, a, ret, err)
PASS(alias, 0,
     (struct wl_store * s, const struct wl_owner *o, uint8_t kind, struct upp_str text, struct wb_uuid *ret,
      struct upp_err *err),
     o, kind, text, ret, err)
PASS(key, 0,
     (struct wl_store * s, const struct wl_owner *o, struct upp_str route, struct upp_str key, struct wl_key *ret,
      struct upp_err *err),
     o, route, key, ret, err)
PASS(threads, 0,
     (struct wl_store * s, const struct wl_owner *o, struct wb_uuid from, size_t max, struct wb_arena *a,
      struct wl_thread **ret, size_t *n, struct upp_err *err),
     o, from, max, a, ret, n, err)
PASS(runs, 0,
     (struct wl_store * s, const struct wl_owner *o, struct wb_uuid thread, bool live_only, size_t max,
      struct wb_arena *a, struct wm_run **ret, size_t *n, struct upp_err *err),
     o, thread, live_only, max, a, ret, n, err)
PASS(family_nodes, 0,
     (struct wl_store * s, const struct wl_owner *o, uint32_t family, struct wb_uuid after, size_t max,
      struct wb_arena *a, struct wl_node **ret, size_t *n, struct upp_err *err),
     o, family, after, max, a, ret, n, err)
PASS(family_threads, 0,
     (struct wl_store * s, const struct wl_owner *o, uint32_t family, struct wb_uuid after, size_t max,
      struct wb_arena *a, struct wl_thread **ret, size_t *n, struct upp_err *err),
     o, family, after, max, a, ret, n, err)
PASS(value, 0,
     (struct wl_store * s, const struct wl_owner *o, struct upp_str space, struct upp_str name, struct wb_arena *a,
      struct upp_str *ret, struct upp_err *err),
     o, space, name, a, ret, err)
PASS(values, 0,
     (struct wl_store * s, const struct wl_owner *o, struct upp_str space, struct upp_str after, size_t max,
      struct wb_arena *a, struct wl_value **ret, size_t *n, struct upp_err *err),
     o, space, after, max, a, ret, n, err)
PASS(follow, 0,
     (struct wl_store * s, uint64_t from, size_t max_rows, size_t max_bytes, struct wb_arena *a,
      struct wl_followed **ret, size_t *n, struct upp_err *err),
     from, max_rows, max_bytes, a, ret, n, err)
PASS(learned, 0, (struct wl_store * s, uint64_t *upto, uint64_t *end, struct upp_err *err), upto, end, err)

static WEFT_SUSPENDS void lz_close(struct wl_store *s)
{
    (void)s; /* the inner one is the test's */
}

static const struct wl_store_ops ops = {
    .size           = sizeof ops,
    .name           = "lazy",
    .commit         = lz_commit,
    .rows           = lz_rows,
    .node           = lz_node,
    .thread         = lz_thread,
    .run            = lz_run,
    .alias          = lz_alias,
    .key            = lz_key,
    .threads        = lz_threads,
    .runs           = lz_runs,
    .live           = lz_live,
    .family_nodes   = lz_family_nodes,
    .family_threads = lz_family_threads,
    .value          = lz_value,
    .values         = lz_values,
    .follow         = lz_follow,
    .learned        = lz_learned,
    .close          = lz_close,
};

void lazy_open(struct lazy *l, struct wl_store *inner)
{
    *l = (struct lazy){.store.ops = &ops, .inner = inner};
}
