/* server/keys/usage.c — counts requests, runs and tokens of a day by key and by tenant. */
#include "server/keys/usage.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "log/change.h"
#include "server/keys/limits.h"

/* Not more than SV_LIMIT_MAX: providers are not trusted with what they report. */
static void add(uint64_t *n, uint64_t more)
{
    *n = WB_MIN(WB_MIN(*n, SV_LIMIT_MAX) + WB_MIN(more, SV_LIMIT_MAX), SV_LIMIT_MAX);
}

/* Of whom it is, with nothing used. */
static struct wl_usage empty(const struct wl_usage *of, int64_t day)
{
    return (struct wl_usage){
        .day = day, .tenant = of->tenant, .user = of->user, .key = of->key, .key_name = of->key_name};
}

static void follow_clock(struct sv_usage *u, int64_t wall_ms)
{
    int64_t today = wall_ms / WL_DAY_MS;
    if (u->now.day > today + 1) { /* the clock was wrong: the row of that day is emptied */
        u->past = empty(&u->now, u->now.day);
        u->now.day = today;
    } else if (u->now.day < today) {
        if (u->now.day) /* saved or not: a commit with it may be under way, and fail */
            u->past = u->now;
        u->now = empty(&u->now, today);
    }
}

static void add_run(struct wl_usage *to, const struct upp_usage *used)
{
    add(&to->runs, 1);
    add(&to->input, used->input);
    add(&to->output, used->output);
    add(&to->cache_read, used->cache_read);
    add(&to->cache_write, used->cache_write);
    add(&to->reasoning, used->reasoning);
}

void sv_usage_request(struct sv_usage *u, int64_t wall_ms)
{
    follow_clock(u, wall_ms);
    add(&u->now.requests, 1);
    add(&u->since.requests, 1);
    u->unsaved = true;
}

void sv_usage_run(struct sv_usage *u, int64_t wall_ms, const struct upp_usage *used)
{
    follow_clock(u, wall_ms);
    add_run(&u->now, used);
    add_run(&u->since, used);
    u->unsaved = true;
}

int sv_usage_values(struct sv_usage *u, struct wb_arena *a, struct wl_value ret[SV_USAGE_VALUES], size_t *n,
                    struct upp_err *err)
{
    *n = 0;
    if (!u->unsaved)
        return 0;
    u->saving = u->past.day;
    int r = u->past.day ? wl_usage_value(a, &u->past, &ret[(*n)++], err) : 0;
    if (r >= 0)
        r = wl_usage_value(a, &u->now, &ret[(*n)++], err);
    u->unsaved = false; /* what is used from now on is not in it */
    return r;
}

void sv_usage_saved(struct sv_usage *u, int r)
{
    u->unsaved |= r < 0;
    if (r >= 0 && u->past.day == u->saving) /* else midnight came during the commit */
        u->past.day = 0;
}

void sv_usage_take(struct sv_usage *u, const struct wl_usage *stored)
{
    if (stored->day < u->now.day)
        return;
    u->now = empty(&u->now, stored->day);
    u->now.requests = stored->requests;
    u->now.runs = stored->runs;
    u->now.input = stored->input;
    u->now.output = stored->output;
    u->now.cache_read = stored->cache_read;
    u->now.cache_write = stored->cache_write;
    u->now.reasoning = stored->reasoning;
}

static size_t place(const struct sv_tenant_usages *t, struct upp_str tenant)
{
    size_t lo = 0, hi = t->list.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (wb_str_cmp(wb_cstr(t->list.p[mid]->name), tenant) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct sv_usage *sv_tenant_usage(struct sv_tenant_usages *t, struct upp_str tenant)
{
    size_t i = place(t, tenant);
    if (i < t->list.n && wb_str_eq(wb_cstr(t->list.p[i]->name), tenant))
        return &t->list.p[i]->usage;
    if (t->list.n >= SV_USAGE_TENANTS && !wb_str_eq(tenant, UPP_STR("*")))
        return sv_tenant_usage(t, UPP_STR("*"));
    struct sv_tenant_usage *new = wb_calloc(1, sizeof *new + tenant.n + 1);
    if (!new || !wb_vec_room(&t->list, SV_USAGE_TENANTS + 1)) {
        wb_free(new);
        return NULL;
    }
    memcpy(new->name, tenant.p, tenant.n);
    new->usage.now.tenant = new->usage.since.tenant = wb_str(new->name, tenant.n);
    memmove(&t->list.p[i + 1], &t->list.p[i], (t->list.n - i) * sizeof *t->list.p);
    t->list.p[i] = new;
    t->list.n++;
    return &new->usage;
}

void sv_tenant_usages_done(struct sv_tenant_usages *t)
{
    for (size_t i = 0; i < t->list.n; i++)
        wb_free(t->list.p[i]);
    wb_vec_done(&t->list);
}
