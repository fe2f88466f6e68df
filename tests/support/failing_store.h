/* support/failing_store.h — a store around a store: slow, and dead when a test says so.
 *
 * Every call takes a little of the simulated time, before and after the real one, so that others come between. Once it
 * is dead every call fails, also those that are under way: a commit that was written then and not acknowledged is one
 * whose outcome nobody knows.
 */
#pragma once

#include "support/sim/sim.h"
#include "log/store.h"

struct frail {
    struct wl_store store; /* first: give this to the engine */
    struct wl_store *inner;
    struct weft__sim *sim;
    unsigned slow_ms; /* at most, each way; 0: none */
    bool dead;
    uint64_t dies_in; /* with its n-th commit from now on; 0: never */
    bool applies;     /* that one is written */
    struct weft_cond died;
    uint64_t commits;
};

void frail_open(struct frail *f, struct wl_store *inner, struct weft__sim *sim);
void frail_kill(struct frail *f);
