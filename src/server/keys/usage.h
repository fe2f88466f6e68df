/* server/keys/usage.h — counts what each API key, and each tenant without one, uses on a day; log/usage.h stores it.
 *
 * Belongs to the loop of the table of keys, which stores what has changed together with what limits a key. A clock that
 * is put back over midnight goes on with the later day; if it was days ahead, what was counted becomes today's, as the
 * limits have it.
 */
#pragma once

#include "base/vec.h"
#include "log/usage.h"
#include "model/run.h"

enum {
    SV_USAGE_TENANTS = 1000, /* without keys, counted one by one; others are counted as "*" */
    SV_USAGE_SERIES = 100,   /* keys and tenants with metrics of their own */
    SV_USAGE_VALUES = 2,     /* of one, in a commit */
};

struct sv_usage {
    struct wl_usage now;   /* of now.day (0: nothing was counted yet); its texts are of its owner */
    struct wl_usage past;  /* of a day that is over, to be stored once more; day 0: none */
    struct wl_usage since; /* since the process began, for metrics: `day` is not set */
    int64_t saving;        /* the day of `past` in the commit under way */
    bool unsaved;
    uint16_t series; /* place in the order of first use, from 1 on; 0: not used yet */
};

/* One request. One run that has ended with this usage. */
void sv_usage_request(struct sv_usage *u, int64_t wall_ms);
void sv_usage_run(struct sv_usage *u, int64_t wall_ms, const struct upp_usage *used);

/* What it has used, as values of the store in the arena: *n of them. It is saved when they are (sv_usage_saved). */
int sv_usage_values(struct sv_usage *u, struct wb_arena *a, struct wl_value ret[SV_USAGE_VALUES], size_t *n,
                    struct upp_err *err) UPP_MUST_CHECK;
void sv_usage_saved(struct sv_usage *u, int r);

/* Takes over what was stored of this day. */
void sv_usage_take(struct sv_usage *u, const struct wl_usage *stored);

struct sv_tenant_usage {
    struct sv_usage usage;
    char name[]; /* ends with NUL */
};

struct sv_tenant_usages {
    WB_VEC(struct sv_tenant_usage *) list; /* ordered by name */
};

/* That of a tenant, which exists from now on; NULL: no memory. */
struct sv_usage *sv_tenant_usage(struct sv_tenant_usages *t, struct upp_str tenant);
void sv_tenant_usages_done(struct sv_tenant_usages *t);
