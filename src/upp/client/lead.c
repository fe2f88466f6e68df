/* upp/client/lead.c — one waiter leads, the others park. */
#include "upp/client/lead.h"

#include "base/clock.h"
#include "upp/client/waits.h"

void upp__crowd_init(struct upp__waiters *c)
{
    wb_list_init(&c->parked);
}

static void wake(struct upp__waiter *w)
{
    if (wb_linked(&w->link))
        w->wait->wake(w->wait->arg, &w->place);
}

void upp__waiters_notify(struct upp__waiter *w)
{
    w->news = true;
    wake(w);
}

/* If nobody leads, wakes the first parked waiter to lead. */
static void hand_on(struct upp__waiters *c)
{
    if (c->leader || c->successor || wb_list_empty(&c->parked))
        return;
    c->successor = wb_item(c->parked.next, struct upp__waiter, link);
    wake(c->successor);
}

static uint64_t until(uint64_t at, uint64_t now)
{
    return at == UPP_FOREVER ? UPP_FOREVER : at > now ? at - now : 0;
}

static int lead(struct upp__waiters *c, struct upp__waiter *me, int fd, uint64_t at, struct upp_err *err)
{
    uint64_t due = c->due(c->arg);
    c->leader = me;
    int r = upp_wait_readable(me->wait, fd, until(due < at ? due : at, wb_mono_ms()), err);
    c->leader = NULL;
    return r < 0 ? r : c->drive(c->arg, err);
}

static int park(struct upp__waiters *c, struct upp__waiter *me, uint64_t at, struct upp_err *err)
{
    wb_list_push(&c->parked, &me->link);
    int r = me->wait->park(me->wait->arg, &me->place, until(at, wb_mono_ms()), err);
    wb_unlink(&me->link);
    if (c->successor == me)
        c->successor = NULL;
    return r;
}

static int wait_for_news(struct upp__waiters *c, struct upp__waiter *me, int fd, uint64_t at, struct upp_err *err)
{
    bool can_park = UPP__CAN(me->wait, wake) && UPP__CAN(me->wait, park);
    while (!me->news) {
        if (at != UPP_FOREVER && wb_mono_ms() >= at)
            return 0;
        if (c->leader && !can_park) /* two threads, or a table that can park and one that cannot */
            return upp_fail(err, UPP_EBUG, "two wait on one thread by a table that cannot park");
        int r = c->leader ? park(c, me, at, err) : lead(c, me, fd, at, err);
        if (r < 0)
            return r;
    }
    me->news = false;
    return 1;
}

int upp__waiters_wait(struct upp__waiters *c, struct upp__waiter *me, int fd, uint64_t until_ms, struct upp_err *err)
{
    int r = wait_for_news(c, me, fd, until_ms, err);
    hand_on(c);
    return r;
}
