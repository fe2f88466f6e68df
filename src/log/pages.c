/* log/pages.c — asks for the next page of a list, behind the last object of the one before. */
#include "log/pages.h"

#include <string.h>

void wl_pages_done(struct wl_pages *p)
{
    wb_arena_done(&p->a);
}

/* The page is emptied before the next one is read: a name that it continues after is copied. */
static int continue_after_name(struct wl_pages *p, struct upp_str name, struct upp_err *err)
{
    if (name.n > sizeof p->name)
        return upp_fail(err, UPP_EBUG, "a list continues after a name of %zu bytes", name.n);
    memcpy(p->name, name.p, name.n);
    p->ask.name = wb_str(p->name, name.n);
    return 0;
}

static int continue_after(struct wl_pages *p, size_t last, struct upp_err *err)
{
    const void *all = p->list.p;
    switch ((int)p->ask.what) {
    case WL_LIST_THREADS:
    case WL_LIST_FAMILY_THREADS:
        p->ask.id = ((const struct wl_thread *)all)[last].id;
        return 0;
    case WL_LIST_FAMILY_NODES:
        p->ask.id = ((const struct wl_node *)all)[last].id;
        return 0;
    case WL_LIST_RUNS:
    case WL_LIST_RUNS_UP:
    case WL_LIST_OWN_RUNS:
    case WL_LIST_OWN_RUNS_UP:
    case WL_LIST_WAITING:
        p->ask.after = ((const struct wm_run *)all)[last].id;
        return 0;
    case WL_LIST_LIVE:
        p->ask.id = ((const struct wl_live_run *)all)[last].run.id;
        return 0;
    case WL_LIST_OLD_RUNS:
        p->ask.number = ((const struct wl_old_run *)all)[last].number;
        return 0;
    case WL_LIST_VALUES:
        return continue_after_name(p, ((const struct wl_value *)all)[last].name, err);
    case WL_LIST_TENANTS:
        return continue_after_name(p, ((const struct upp_str *)all)[last], err);
    default:
        return upp_fail(err, UPP_EBUG, "list %d has no second page", (int)p->ask.what);
    }
}

WEFT_SUSPENDS int wl_pages_next(struct wl_pages *p, struct upp_err *err)
{
    int r = -UPP_ELIMIT;
    if (p->end)
        return 0;
    if (!p->ask.max)
        p->ask.max = WL_PAGE;
    for (;;) {
        wb_arena_reset(&p->a);
        p->list = (struct wl_list){0};
        struct upp_err why = {0};
        r = wl_store_list(p->store, &p->ask, &p->a, &p->list, &why);
        if (r < 0 && err)
            *err = why;
        if (r != -UPP_ELIMIT || why.retry_after_ms || p->ask.max == 1) /* too many reads at once: no large page */
            break;
        p->ask.max = (p->ask.max + 1) / 2;
    }
    if (r < 0)
        return r;
    /* A list of values may be short because they are large. */
    p->end = !p->list.n || (p->list.n < p->ask.max && p->ask.what != WL_LIST_VALUES);
    if (!p->end)
        r = continue_after(p, p->list.n - 1, err);
    return r < 0 ? r : p->list.n > 0;
}
