/* stores/none.c — what a store cannot do (yet): refusals in the shape of its functions. */
#include "stores/none.h"

static int refused(struct upp_err *err, const char *what)
{
    return upp_fail(err, UPP_EREFUSED, "this store keeps no %s", what);
}

int ws_no_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes, struct wb_arena *a,
                 struct wl_followed **ret, size_t *n, struct upp_err *err)
{
    (void)s, (void)after, (void)max_rows, (void)max_bytes, (void)a, (void)ret, (void)n;
    return refused(err, "words");
}

int ws_no_learned(struct wl_store *s, uint64_t *upto, uint64_t *end, struct upp_err *err)
{
    (void)s, (void)upto, (void)end;
    return refused(err, "words");
}

int ws_no_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q, struct wb_arena *a,
                 struct wl_hit **ret, size_t *n, struct upp_err *err)
{
    (void)s, (void)o, (void)q, (void)a, (void)ret, (void)n;
    return refused(err, "words");
}
