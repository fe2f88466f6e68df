/* fiber/cond.c — conditions. */
#include "fiber/fiber.h"

WEFT_SUSPENDS int weft_cond_wait(struct weft_cond *c, struct upp_err *err)
{
    static const char what[] = "a condition";
    struct weft_fiber *f = weft__caller("weft_cond_wait", err);
    if (!f)
        return -UPP_EINVALID;
    weft__queue_push(c, f);
    int r = weft__park(f, what, WEFT__NEVER, 0);
    return r < 0 ? weft__cut_short(err, r, what) : 0;
}

void weft_cond_signal(struct weft_cond *c)
{
    if (c->first)
        (void)weft__queue_wake(c, 0);
}

void weft_cond_broadcast(struct weft_cond *c)
{
    while (c->first)
        (void)weft__queue_wake(c, 0);
}
