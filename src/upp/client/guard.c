/* upp/client/guard.c — a wait table around another one: every wait ends at the turn's deadline, and when the stream is
 * aborted.
 *
 * Used by several threads at once (running tools): only the flag changes.
 */
#include "base/clock.h"
#include "upp/client/talk.h"

static int too_late(const struct upp__guard *g, struct upp_err *err)
{
    return upp_fail(err, UPP_ETIMEOUT, "the turn took longer than %llu ms", (unsigned long long)g->turn_ms);
}

int upp__guard_check(struct upp__guard *g, struct upp_err *err)
{
    if (atomic_load_explicit(&g->aborted, memory_order_relaxed))
        return upp_fail(err, UPP_ECANCELED, "Stream cancelled");
    if (!g->ours && g->inner && g->inner->stopped) {
        int r = g->inner->stopped(g->inner->arg, err);
        if (r < 0)
            return r;
    }
    return g->until_ms != UPP_FOREVER && wb_mono_ms() >= g->until_ms ? too_late(g, err) : 0;
}

static int check(void *arg, struct upp_err *err)
{
    return upp__guard_check(arg, err);
}

/* ms, limited by the deadline. */
static uint64_t within(const struct upp__guard *g, uint64_t ms)
{
    uint64_t now = g->until_ms == UPP_FOREVER ? 0 : wb_mono_ms();
    return now >= g->until_ms ? 0 : WB_MIN(ms, g->until_ms - now);
}

/* The result of a wait of the inner table; an abort and the deadline get their own errors. */
static int waited(struct upp__guard *g, int r, struct upp_err *err)
{
    int stop = r == 0 || r == -UPP_ECANCELED ? upp__guard_check(g, err) : 0;
    return stop < 0 ? stop : r;
}

static int sleep_guarded(void *arg, uint64_t ms, struct upp_err *err)
{
    struct upp__guard *g = arg;
    int r = upp__guard_check(g, err);
    return r < 0 ? r : waited(g, upp_wait_ms(g->inner, within(g, ms), err), err);
}

static int readable_guarded(void *arg, int fd, uint64_t ms, struct upp_err *err)
{
    struct upp__guard *g = arg;
    int r = upp__guard_check(g, err);
    return r < 0 ? r : waited(g, upp_wait_readable(g->inner, fd, within(g, ms), err), err);
}

static int park_guarded(void *arg, struct upp_place *p, uint64_t ms, struct upp_err *err)
{
    struct upp__guard *g = arg;
    int r = upp__guard_check(g, err);
    return r < 0 ? r : waited(g, g->inner->park(g->inner->arg, p, within(g, ms), err), err);
}

static void wake_inner(void *arg, struct upp_place *p)
{
    struct upp__guard *g = arg;
    g->inner->wake(g->inner->arg, p);
}

static int team_open(void *arg, size_t n, void (*work)(void *ctx, size_t i), void *ctx, struct upp_team **ret,
                     struct upp_err *err)
{
    struct upp__guard *g = arg;
    return g->inner->team_open(g->inner->arg, n, work, ctx, ret, err);
}

static int team_next(void *arg, struct upp_team *t, size_t *ret, struct upp_err *err)
{
    struct upp__guard *g = arg;
    return g->inner->team_next(g->inner->arg, t, ret, err);
}

static void team_close(void *arg, struct upp_team *t)
{
    struct upp__guard *g = arg;
    g->inner->team_close(g->inner->arg, t);
}

void upp__guard_init(struct upp__guard *g, const struct upp_wait *inner, uint64_t turn_ms)
{
    g->inner = inner;
    g->ours = false;
    g->turn_ms = turn_ms;
    g->until_ms = turn_ms ? wb_mono_ms() + WB_MIN(turn_ms, (uint64_t)INT64_MAX / 2) : UPP_FOREVER;
    g->table = (struct upp_wait){
        .size = sizeof g->table, .arg = g, .sleep_ms = sleep_guarded, .readable = readable_guarded, .stopped = check};
    atomic_init(&g->aborted, false);
    if (!inner)
        return;
    g->table.http = inner->http;
    if (inner->park) {
        g->table.park = park_guarded;
        g->table.wake = wake_inner;
    }
    if (inner->team_open) {
        g->table.team_open = team_open;
        g->table.team_next = team_next;
        g->table.team_close = team_close;
    }
}
