/* log/pages.h — a list of a store, read to its end.
 *
 *     WB_CLEANUP(wl_pages_done) struct wl_pages p = WL_PAGES(s, .what = WL_LIST_RUNS, .owner = o, .id = thread);
 *     while ((r = wl_pages_next(&p, err)) > 0)
 *         ... p.list.n of them at p.list.p
 *
 * A store limits how many objects, and how many bytes of values, it returns at once. So a caller that asks for a list
 * and does not continue gets a part of it and cannot see that.
 */
#pragma once

#include "log/store.h"

enum { WL_PAGE_BYTES = 1 << 30 /* of one page, at most: if it is more, fewer objects are read at once */ };

struct wl_pages {
    struct wl_store *store;
    struct wl_ask ask;   /* continues after the page that was read; max: objects of a page, 0: WL_PAGE */
    struct wl_list list; /* the page, until the next call */
    struct wb_arena a;   /* holds the page only */
    bool end;
    char name[WL_PAGE_NAME];
};

#define WL_PAGES(s, ...)                                                                                               \
    {                                                                                                                  \
        .store = (s), .ask = {__VA_ARGS__}, .a = WB_ARENA(WL_PAGE_BYTES)                                               \
    }

/* 1: p->list has at least one object. 0: there are no more. */
WEFT_SUSPENDS int wl_pages_next(struct wl_pages *p, struct upp_err *err) UPP_MUST_CHECK;
void wl_pages_done(struct wl_pages *p);
