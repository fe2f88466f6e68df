#include "fiber/fiber.h"
#include "support/fibers.h"

struct room {
    struct weft_cond c;
    int woken[3], n;
};

struct guest {
    struct room *room;
    int i;
};

static int waits(void *arg, struct upp_err *err)
{
    struct guest *g = arg;
    int r = weft_cond_wait(&g->room->c, err);
    if (r == 0)
        g->room->woken[g->room->n++] = g->i;
    return r;
}

static int signals(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {.flags = WEFT_SCOPE_ISOLATED};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    struct room *room = arg;
    struct guest g[3] = {{room, 0}, {room, 1}, {room, 2}};
    weft_cond_signal(&room->c); /* nobody: nothing is kept */
    for (int i = 0; i < 3; i++)
        TRY(weft_scope_spawn(&s, "guest", waits, &g[i], i == 1 ? &f : NULL, err));
    TRY(weft_yield(err));
    /* The second is cancelled in the same turn in which two signals are given: they go to the first and third. */
    weft_fiber_cancel(f);
    weft_cond_signal(&room->c);
    weft_cond_signal(&room->c);
    weft_cond_broadcast(&room->c);
    TRY(weft_scope_join(&s, err));
    FAIL_UNLESS(room->n == 2 && room->woken[0] == 0 && room->woken[1] == 2);
    return 0;
}

TEST(cond_signal_is_never_lost_to_the_cancelled)
{
    struct room room = {.n = 0};
    struct upp_err err;
    CHECK_INT(test_on_loop(signals, &room, &err), 0);
}

/* Signalled first, cancelled before it ran: the wait counts as done, the next one is cancelled. */
static int twice(void *arg, struct upp_err *err)
{
    struct room *room = arg;
    int r = weft_cond_wait(&room->c, err);
    room->woken[0] = r;
    room->woken[1] = weft_cond_wait(&room->c, err);
    return 0;
}

static int signal_then_cancel(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    struct room *room = arg;
    TRY(weft_scope_spawn(&s, "twice", twice, room, &f, err));
    TRY(weft_yield(err));
    weft_cond_signal(&room->c);
    weft_fiber_cancel(f);
    TRY(weft_scope_join(&s, err));
    FAIL_UNLESS(room->woken[0] == 0 && room->woken[1] == -UPP_ECANCELED);
    return 0;
}

TEST(cond_signal_before_cancel_counts)
{
    struct room room = {.n = 0};
    struct upp_err err;
    CHECK_INT(test_on_loop(signal_then_cancel, &room, &err), 0);
}
