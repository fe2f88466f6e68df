/* runtime/sweeper.c — the sweeper (log/change.h): every ten minutes by default, tenant by tenant, in the background. */
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "log/admin.h"
#include "log/change.h"
#include "log/file.h"
#include "log/usage.h"
#include "run/engine.h"
#include "runtime/runtime.h"
#include "stores/check.h"
#include "log/search.h"

enum { UNSTORED_MS = 20000, EVERY_SECONDS = 600, TENANTS = 64, PIECES = 1024 /* per tenant and round */ };

static struct wl_retention retention(const struct wc_config *c)
{
    return (struct wl_retention){.size = sizeof(struct wl_retention),
                                 .deleted_ms = c ? c->retention.deleted_days * WL_DAY_MS : 0,
                                 .journal_ms = c ? c->retention.tapes_days * WL_DAY_MS : 0,
                                 .audit_ms = c ? c->retention.audit_days * WL_DAY_MS : 0};
}

static void add(struct wl_swept *to, const struct wl_swept *n)
{
    to->nodes += n->nodes;
    to->runs += n->runs;
    to->rows += n->rows;
    to->blobs += n->blobs;
    to->threads += n->threads;
}

/* Other fibers run between two pieces. */
static WEFT_SUSPENDS int sweep_tenant(struct wl_store *s, struct upp_str tenant, const struct wl_retention *keep,
                                      struct wl_swept *sum, struct upp_err *err)
{
    const struct wl_owner o = {.tenant = tenant};
    struct wl_swept n = {.more = true};
    size_t expired;
    int r = wl_file_expire(s, &o, wb_wall_ms(), PIECES, &expired, err);
    for (unsigned i = 0; r >= 0 && n.more && i < PIECES; i++) {
        r = wl_sweep(s, &o, wb_wall_ms(), keep, &n, err);
        sum->damaged += n.damaged;
        if (r >= 0) {
            add(sum, &n);
            r = weft_yield(err);
        }
    }
    return r;
}

/* Days of usage before retention.usage_days. */
static WEFT_SUSPENDS int sweep_usage(struct wl_store *s, const struct wc_config *c, struct upp_err *err)
{
    uint32_t days = c && c->retention.usage_days ? c->retention.usage_days : WL_USAGE_DAYS;
    int64_t first = wb_wall_ms() / WL_DAY_MS - days + 1;
    size_t n = WL_USAGE_PAGE;
    for (unsigned i = 0; n == WL_USAGE_PAGE && i < PIECES; i++) {
        int r = wl_usage_sweep(s, first, WL_USAGE_PAGE, &n, err);
        if (r < 0)
            return r;
        r = weft_yield(err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The audit of the store: rows older than retention.audit_days. */
static WEFT_SUSPENDS int sweep_admin(struct wl_store *s, const struct wl_retention *keep, struct upp_err *err)
{
    int64_t age_ms = keep->audit_ms ? keep->audit_ms : WL_AUDIT_DAYS * WL_DAY_MS;
    size_t n = WL_ADMIN_PAGE;
    for (unsigned i = 0; n == WL_ADMIN_PAGE && i < PIECES; i++) {
        int r = wl_admin_sweep(s, wb_wall_ms() - age_ms, WL_ADMIN_PAGE, &n, err);
        if (r < 0)
            return r;
        r = weft_yield(err);
        if (r < 0)
            return r;
    }
    return 0;
}

int wrt_sweep(struct wl_store *s, const struct wc_config *c, struct wl_swept *ret, struct upp_err *err)
{
    const struct wl_retention keep = retention(c);
    char name[WS_NAME_MAX];
    struct upp_str after = {0};
    int r = 0, failed = 0;
    *ret = (struct wl_swept){0};
    for (size_t n = TENANTS; r >= 0 && n == TENANTS;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_str *list;
        r = wl_list_tenants(s, after, TENANTS, &a, &list, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            r = sweep_tenant(s, list[i], &keep, ret, failed < 0 ? NULL : err);
            if (r < 0 && r != -UPP_ECANCELED) { /* sweep the other tenants nevertheless */
                failed = failed < 0 ? failed : r;
                r = 0;
            }
        }
        if (r >= 0 && n) {
            if (list[n - 1].n > sizeof name)
                return upp_fail(err, UPP_EBUG, "a tenant's name of %zu bytes", list[n - 1].n);
            memcpy(name, list[n - 1].p, list[n - 1].n);
            after = wb_str(name, list[n - 1].n);
        }
    }
    if (r >= 0) {
        r = sweep_admin(s, &keep, failed < 0 ? NULL : err);
        if (r >= 0)
            r = sweep_usage(s, c, failed < 0 ? NULL : err);
        if (r < 0 && r != -UPP_ECANCELED) {
            failed = failed < 0 ? failed : r;
            r = 0;
        }
    }
    bool more = true;
    for (unsigned i = 0; r >= 0 && more && i < PIECES; i++) {
        r = wl_index_compact(s, &more, failed < 0 ? NULL : err);
        if (r >= 0)
            r = weft_yield(err);
    }
    return r < 0 ? r : failed;
}

/* Large texts that were erased. Other fibers run between two pieces; the next round goes on with what is left. */
static WEFT_SUSPENDS int sweep_erased(struct wl_store *s, const struct wl_owner *o, struct upp_err *err)
{
    bool more = true;
    for (unsigned i = 0; more && i < PIECES; i++) {
        int r = wl_sweep_erased(s, o, wb_wall_ms(), &more, err);
        if (r >= 0 && more)
            r = weft_yield(err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Threads of requests that said `store: false`, and large texts that were erased, of all tenants. */
static WEFT_SUSPENDS int sweep_unstored(struct wl_store *s, struct upp_err *err)
{
    char name[WS_NAME_MAX];
    struct upp_str after = {0};
    int r = 0, failed = 0;
    for (size_t n = TENANTS; r >= 0 && n == TENANTS;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_str *list;
        size_t erased;
        r = wl_list_tenants(s, after, TENANTS, &a, &list, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            const struct wl_owner o = {.tenant = list[i]};
            r = wr_unstored_sweep(s, &o, &erased, failed < 0 ? NULL : err);
            if (r >= 0)
                r = sweep_erased(s, &o, failed < 0 ? NULL : err);
            if (r < 0 && r != -UPP_ECANCELED) { /* those of the other tenants nevertheless */
                failed = failed < 0 ? failed : r;
                r = 0;
            }
        }
        if (r < 0 || !n || list[n - 1].n > sizeof name)
            break;
        memcpy(name, list[n - 1].p, list[n - 1].n);
        after = wb_str(name, list[n - 1].n);
    }
    return r < 0 ? r : failed;
}

static WEFT_SUSPENDS int unstored_main(void *arg, struct upp_err *err)
{
    struct wrt_runtime *rt = arg;
    for (uint64_t pause = 1000;; pause = WB_MIN(2 * pause, UNSTORED_MS)) { /* runs that a crash cut off end soon */
        struct upp_err why = {0};
        int r = sweep_unstored(rt->store, &why);
        if (r < 0 && r != -UPP_ECANCELED)
            wb_log(WB_WARN, "what is not to be stored could not be erased; it is tried again", WB_LZ("why", why.msg));
        if (r == -UPP_ECANCELED || weft_sleep_ms(pause, err) < 0)
            return 0;
    }
}

/* With jitter, so that servers started together do not sweep at the same time. */
static uint64_t pause_ms(const struct wc_config *c)
{
    uint64_t ms = 1000 * (uint64_t)(c && c->retention.every_seconds ? c->retention.every_seconds : EVERY_SECONDS);
    uint32_t any = 0;
    if (wb_random(&any, sizeof any, NULL) < 0)
        return ms;
    return ms - ms / 10 + any % (ms / 5 + 1);
}

static WEFT_SUSPENDS int sweep_main(void *arg, struct upp_err *err)
{
    struct wrt_runtime *rt = arg;
    for (int r = 0; r >= 0;) {
        struct wl_swept n;
        struct upp_err why = {0};
        r = weft_sleep_ms(pause_ms(rt->config), err);
        if (r < 0)
            return r == -UPP_ECANCELED ? 0 : r;
        (void)wrt__drop_unused(rt, WRT_IDLE_MS);
        r = wrt_sweep(rt->store, rt->config, &n, &why);
        if (r == -UPP_ECANCELED)
            return 0;
        (void)atomic_fetch_add(&rt->sweep.damaged, n.damaged);
        atomic_store(&rt->sweep.failing, r < 0);
        if (r < 0)
            wb_log(WB_WARN, "the sweep failed; it is tried again", WB_LZ("why", why.msg));
        else if (n.threads || n.nodes || n.runs || n.rows || n.blobs)
            wb_log(WB_INFO, "swept", WB_LU("threads", n.threads), WB_LU("nodes", n.nodes), WB_LU("runs", n.runs),
                   WB_LU("rows", n.rows), WB_LU("blobs", n.blobs));
        r = 0;
    }
    return 0;
}

static int start_sweeper(struct wrt_runtime *rt, struct upp_err *err)
{
    int r = weft_scope_spawn(&rt->background, "unstored", unstored_main, rt, NULL, err);
    return r < 0 ? r : weft_scope_spawn(&rt->background, "sweeper", sweep_main, rt, NULL, err);
}

enum { IDLE_MS = 500, RETRY_MS = 10000 };

/* Indexes the next part. How long to wait before the next one; UINT64_MAX: there is nothing to index. */
static WEFT_SUSPENDS uint64_t follow(struct wl_store *s)
{
    struct upp_err err = {0};
    size_t n = 0;
    int r = wl_index_rows(s, &n, &err);
    if (r == -UPP_EREFUSED)
        return UINT64_MAX; /* searches read the log itself */
    if (r < 0) {
        wb_log(WB_WARN, "the search does not follow", WB_LZ("why", err.msg));
        return RETRY_MS;
    }
    return n ? 0 : IDLE_MS;
}

static WEFT_SUSPENDS int index_main(void *arg, struct upp_err *err)
{
    struct wl_store *s = arg;
    struct upp_err why = {0};
    if (wl_reindex_pending_all(s, &why) < 0) /* then the sweeper does it */
        wb_log(WB_WARN, "the search has forgotten messages", WB_LZ("why", why.msg));
    for (int r = 0; r >= 0;) {
        uint64_t ms = follow(s);
        if (ms == UINT64_MAX)
            return 0;
        r = ms ? weft_sleep_ms(ms, err) : weft_yield(err);
        if (r < 0)
            return r == -UPP_ECANCELED ? 0 : r;
    }
    return 0;
}

int wrt_runtime_follow(struct wrt_runtime *rt, struct upp_err *err)
{
    int r = weft_scope_spawn(&rt->background, "search", index_main, rt->store, NULL, err);
    return r < 0 ? r : start_sweeper(rt, err);
}
