/* server/front.c — passes the calls that such a store does not change on to the store behind it. */
#include "server/front.h"

int sv_front_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *r, struct wb_arena *a,
                  struct wl_rows *ret, struct upp_err *err)
{
    return s->inner->ops->rows(s->inner, o, r, a, ret, err);
}

int sv_front_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret, struct upp_err *err)
{
    return s->inner->ops->get(s->inner, ask, a, ret, err);
}

int sv_front_list(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, struct wl_list *ret,
                  struct upp_err *err)
{
    return s->inner->ops->list(s->inner, ask, a, ret, err);
}

int sv_front_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes, struct wb_arena *a,
                    struct wl_followed **ret, size_t *n, struct upp_err *err)
{
    return s->inner->ops->follow(s->inner, after, max_rows, max_bytes, a, ret, n, err);
}

int sv_front_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q, struct wb_arena *a,
                    struct wl_hit **ret, size_t *n, struct upp_err *err)
{
    return s->inner->ops->search(s->inner, o, q, a, ret, n, err);
}

int sv_front_at_once(struct wl_store *s, wl_reading_fn *fn, void *arg, struct upp_err *err)
{
    return s->inner->ops->at_once ? s->inner->ops->at_once(s->inner, fn, arg, err) : fn(s, arg, err);
}
