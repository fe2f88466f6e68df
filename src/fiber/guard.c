/* fiber/guard.c — deadlines, shields and pins: what a fiber changes about its own waits.
 *
 * A guard keeps the values it replaced and the fiber holds the values in force, so that nothing points to the guard.
 */
#include "base/defs.h"
#include "fiber/loop.h"

static void end(struct weft_fiber *f, unsigned depth, const char *what)
{
    if (WB_UNLIKELY(f != weft_fiber_self() || f->guards != depth))
        weft__die("fiber '%s' ends a %s out of order", f->name, what);
    f->guards--;
}

struct weft_deadline weft_deadline_begin(uint64_t ms)
{
    struct weft_fiber *f = weft_fiber_self();
    if (!f)
        return (struct weft_deadline){0};
    struct weft_deadline d = {.fiber = f, .saved = f->deadline, .depth = ++f->guards};
    uint64_t at = weft__loop_after(f->loop, ms);
    f->deadline = WB_MIN(f->deadline, at);
    return d;
}

void weft_deadline_end(struct weft_deadline *d)
{
    struct weft_fiber *f = d->fiber;
    if (!f)
        return;
    end(f, d->depth, "deadline");
    f->deadline = d->saved;
    d->fiber = NULL;
}

static struct weft_shield shield(uint64_t limit)
{
    struct weft_fiber *f = weft_fiber_self();
    if (!f)
        return (struct weft_shield){0};
    struct weft_shield s = {.fiber = f,
                            .saved_deadline = f->deadline,
                            .saved_limit = f->limit,
                            .saved_masked = f->masked,
                            .depth = ++f->guards};
    f->deadline = f->limit = limit;
    f->masked = true;
    return s;
}

struct weft_shield weft_shield_begin(uint64_t ms)
{
    struct weft_fiber *f = weft_fiber_self();
    if (!f)
        return (struct weft_shield){0};
    ms = ms == 0 ? WEFT_SHIELD_MAX_MS : WB_MIN(ms, (uint64_t)WEFT_SHIELD_MAX_MS);
    /* The limit of a shield around this one holds; a deadline between the two does not. */
    uint64_t at = weft__loop_after(f->loop, ms);
    return shield(WB_MIN(f->limit, at));
}

struct weft_shield weft__shield_forever(void)
{
    return shield(WEFT__NEVER);
}

void weft_shield_end(struct weft_shield *s)
{
    struct weft_fiber *f = s->fiber;
    if (!f)
        return;
    end(f, s->depth, "shield");
    f->deadline = s->saved_deadline;
    f->limit = s->saved_limit;
    f->masked = s->saved_masked;
    s->fiber = NULL;
}

void weft_pin(void)
{
    struct weft_fiber *f = weft_fiber_self();
    if (f)
        f->pins++;
}

void weft_unpin(void)
{
    struct weft_fiber *f = weft_fiber_self();
    if (f && f->pins-- == 0)
        weft__die("fiber '%s' is unpinned more often than pinned", f->name);
}
