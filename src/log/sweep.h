/* log/sweep.h — internals of the sweep, shared by its two files. */
#pragma once

#include "log/change.h"

struct wl__sweeping {
    struct wl_store *s;
    const struct wl_owner *o;
    int64_t now_ms;
    struct wl_retention retention; /* defaults filled in */
    struct wl_swept *ret;
    bool no_words; /* the store has no search index */
    struct upp_err *err;
    struct upp_err damage; /* the first that was passed over of what each sweep meets again */
};

/* A deleted thread, from its note. */
struct wl__gone {
    struct wb_uuid thread, tree;
    uint64_t head;
    int64_t time_ms;
};

/* Readable notes after a name. 1: there are more. *last: the name to continue after. */
WEFT_SUSPENDS int wl__gone_list(struct wl__sweeping *x, struct upp_str after, size_t max, struct wb_arena *a,
                                struct wl__gone **ret, size_t *n, struct upp_str *last) UPP_MUST_CHECK;

/* Removes what only this thread led to, its runs, and the note. */
WEFT_SUSPENDS int wl__sweep_thread(struct wl__sweeping *x, const struct wl__gone *gone) UPP_MUST_CHECK;

/* 1: the changes conflict with the store's present state. */
WEFT_SUSPENDS int wl__sweep_commit(struct wl__sweeping *x, const struct wl_change *list, size_t n) UPP_MUST_CHECK;
