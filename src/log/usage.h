/* log/usage.h — what each API key, and each tenant without one, has used on a day (UTC).
 *
 * One value of Weft's own tenant for each of them and day. Its name begins with the day, so that a list is ordered by
 * day and what retention drops comes first. server/keys/table.c counts and writes them.
 */
#pragma once

#include "log/store.h"

enum {
    WL_USAGE_DAYS = 400, /* are kept by default */
    WL_USAGE_PAGE = 256,
    WL_USAGE_NAME = 256, /* bytes of a name, at most: a day, and a key or a tenant */
    WL_DAY_TEXT = sizeof "2026-11-19",
};

struct wl_usage {
    int64_t day;                                                /* since 1970 */
    struct upp_str tenant, user;                                /* user: of the key; empty: none */
    struct upp_str key, key_name;                               /* key: its id; empty: without one */
    uint64_t requests, runs;                                    /* runs that have ended; requests: with a key only */
    uint64_t input, output, cache_read, cache_write, reasoning; /* tokens */
};

/* The value of it, for a commit of the tenant WL_OWN_TENANT, in the arena. */
int wl_usage_value(struct wb_arena *a, const struct wl_usage *u, struct wl_value *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Up to `max` of them (at most WL_USAGE_PAGE) from a day on, or after the one that this name belongs to (empty: from
 * the first); *last: the name to continue after, in the arena; empty: there are no more. What cannot be read is left
 * out. */
WEFT_SUSPENDS int wl_usage_list(struct wl_store *s, int64_t from_day, struct upp_str after, size_t max,
                                struct wb_arena *a, struct wl_usage **ret, size_t *n, struct upp_str *last,
                                struct upp_err *err) UPP_MUST_CHECK;

/* That of one day. key empty: of the tenant without a key. -UPP_ENOTFOUND. */
WEFT_SUSPENDS int wl_usage_get(struct wl_store *s, int64_t day, struct upp_str tenant, struct upp_str key,
                               struct wb_arena *a, struct wl_usage *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Drops those of days before this one, at most `max`; *n: how many. */
WEFT_SUSPENDS int wl_usage_sweep(struct wl_store *s, int64_t before_day, size_t max, size_t *n,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* "2026-11-19" */
struct upp_str wl_day_text(int64_t day, char out[WL_DAY_TEXT]);
