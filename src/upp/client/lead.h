/* upp/client/lead.h — many wait for one descriptor: one of them leads and drives, the others park until they are woken.
 *
 * All are on one thread. The leader waits for the descriptor by its own table and does what has to be done there for
 * everybody (`drive`), which marks those that have news and wakes them. Whoever leaves wakes another that may lead. On
 * a thread without fibers nobody parks: whoever waits leads.
 *
 * Invariants
 *  1. While anybody is parked, somebody leads or has been woken to lead.
 *  2. drive is never called from inside of itself.
 */
#ifndef UPP_LEAD_H
#define UPP_LEAD_H

#include <upp/wait.h>

#include "base/list.h"

struct upp__waiter {
    const struct upp_wait *wait; /* NULL: the thread */
    struct upp_place       place;
    struct wb_link         link; /* among the parked */
    bool                   news; /* look again at what you wait for */
};

struct upp__crowd {
    struct upp__waiter *leader; /* waits for the descriptor */
    struct upp__waiter *heir;   /* was woken to lead, and has not run yet */
    struct wb_link      parked;
    void               *arg;

    /* When the leader has to drive though nothing came, by wb_mono_ms; UPP_FOREVER: never. */
    uint64_t (*due)(void *arg);
    int (*drive)(void *arg, struct upp_err *err);
};

void upp__crowd_init(struct upp__crowd *c);

/* Waits until `me` has news (and takes it): 1; or until `until_ms` by wb_mono_ms: 0. -UPP_ECANCELED, -UPP_ETIMEOUT and
 * what driving fails with. */
int upp__crowd_wait(struct upp__crowd *c, struct upp__waiter *me, int fd, uint64_t until_ms, struct upp_err *err);

/* There is something for it. */
void upp__crowd_tell(struct upp__waiter *w);

#endif
