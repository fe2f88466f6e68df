/* support/lazy.h — a store around a store that takes its time exactly where a test says so.
 *
 * support/failing_store.h lingers anywhere, from a seed: it finds races. This one is for those that are known: a call
 * is held up at one place, the other fibers go on, and what is given out then is old. All times are zero at first.
 */
#pragma once

#include "log/store.h"

struct lazy {
    struct wl_store store; /* first: give this to the engine */
    struct wl_store *inner;
    unsigned before_commit_ms, after_commit_ms;
    unsigned thread_ms, live_ms; /* after the thread, or the list, was read */
    unsigned rows_once_ms;       /* after rows were read, the next time only */
    size_t page;                 /* how many runs a list has at most; 0: as many as are asked for */
    unsigned bad_read_in;        /* the n-th read from now on fails, once, for a reason that passes; 0: none */
    unsigned bad_after_commit;   /* after each commit so many reads fail */
    unsigned bad_reads;          /* so many reads fail from now on */
    uint64_t bad_before;         /* rows of nodes before this position cannot be read; 0: all can */
    bool full;                   /* commits fail, and change nothing */
    unsigned refuse;             /* the next ones do, so many ... */
    bool (*which)(const struct wl_commit *c); /* ... of such; NULL: of any */
    bool untrue;                              /* those are written, and fail all the same */
    bool sticks;                              /* all that come after one of them fail too (full) */
    bool no_ends;                             /* those that end a run do */
    uint64_t refused;                         /* how many did */
};

void lazy_open(struct lazy *l, struct wl_store *inner); /* whose owner stays the caller */
