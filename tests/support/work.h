/* support/work.h — what a store has to do in a life, drawn from a seed: threads, rows, forks, restores, runs, values,
 * blobs, names; changed, dropped, and sometimes wrong.
 *
 * The n-th commit follows from the seed and from what the commits before it left, which a store in memory (the model)
 * knows. So the history up to any commit can be made again: what a disk holds is compared with the history up to the
 * number that stands in it. Every commit writes its own number, as a value.
 */
#pragma once

#include "base/buf.h"
#include "log/store.h"

struct work {
    uint64_t seed;
    struct wl_store *model;
    uint64_t random; /* of the commit that is made */
};

extern const struct wl_owner work_owner;

/* A new model: the history up to and with commit number `upto`. The one of before is closed. */
WEFT_SUSPENDS int work_begin(struct work *w, uint64_t upto, struct upp_err *err);
void work_end(struct work *w);

/* Commit number n (from 1), whose predecessor was the last one. It lies in the arena. */
WEFT_SUSPENDS int work_commit(struct work *w, uint64_t n, struct wb_arena *a, struct wl_commit *ret,
                              struct upp_err *err);
/* Makes and does it in the model. <0: no such history; else *result is what the store must say. */
WEFT_SUSPENDS int work_step(struct work *w, uint64_t n, struct wb_arena *a, struct wl_commit *ret, int *result,
                            struct upp_err *err);

/* The number of the last commit that a store holds; 0: none. */
WEFT_SUSPENDS int work_number(struct wl_store *s, uint64_t *ret, struct upp_err *err);

/* All that a reader sees, as text. */
WEFT_SUSPENDS int work_dump(struct wl_store *s, struct wb_buf *out, struct upp_err *err);
