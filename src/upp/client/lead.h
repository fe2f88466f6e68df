/* upp/client/lead.h — many waiters for one descriptor: one leads and drives, the others park until they are woken.
 *
 * All are on one thread. The leader waits for the descriptor through its own table and does the work for everybody
 * (`drive`), which marks waiters that have news and wakes them. A waiter that leaves wakes another one that can lead.
 * On a thread without fibers nobody parks: every waiter leads.
 *
 * Invariants
 *  1. While anybody is parked, somebody leads or has been woken to lead.
 *  2. drive is never called recursively.
 */
#pragma once

#include <upp/wait.h>

#include "base/list.h"

struct upp__waiter {
    const struct upp_wait *wait; /* NULL: block the thread */
    struct upp_place place;
    struct wb_link link; /* in the list of parked waiters */
    bool news;           /* what it waits for may have happened */
};

struct upp__waiters {
    struct upp__waiter *leader;    /* waits for the descriptor */
    struct upp__waiter *successor; /* woken to lead, but has not run yet */
    struct wb_link parked;
    void *arg;

    /* The time (wb_mono_ms) at which the leader has to drive even if the descriptor is not readable; UPP_FOREVER:
     * never. */
    uint64_t (*due)(void *arg);
    int (*drive)(void *arg, struct upp_err *err);
};

void upp__crowd_init(struct upp__waiters *c);

/* Waits until `me` has news (and clears it): 1; or until `until_ms` (wb_mono_ms): 0. -UPP_ECANCELED, -UPP_ETIMEOUT, and
 * the failures of `drive`. */
int upp__waiters_wait(struct upp__waiters *c, struct upp__waiter *me, int fd, uint64_t until_ms, struct upp_err *err);

/* Marks a waiter as having news, and wakes it. */
void upp__waiters_notify(struct upp__waiter *w);
