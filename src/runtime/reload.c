/* runtime/reload.c — reads the configuration's file again while the runtime works.
 *
 * New runs, and later steps of a thread, get the new agents. A run keeps the definition with which its current agent
 * began; the generation it belongs to is freed when no run uses it any more. What a running process cannot change (the
 * address, the store, encryption, durability) stays as it is and is named in the log.
 */
#include "base/clock.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "base/log.h"
#include "runtime/runtime.h"

enum { MAX_GENERATIONS = 64 };

struct reading {
    const struct wc_config *previous;
    struct wc_config *config;
    struct wc_report report;
    char path[WRT_PATH_MAX];
};

static void reading_free(void *arg)
{
    struct reading *x = arg;
    wc_config_free(x->config);
    wc_report_done(&x->report);
    wb_free(x);
}

static int read_file(void *arg, struct upp_err *err)
{
    struct reading *x = arg;
    return wc_config_load(x->path,
                          UPP_OPTS(wc_opts, .makers = x->previous->makers, .providers = x->previous->providers,
                                   .n_providers = x->previous->n_providers, .previous = x->previous),
                          &x->report, &x->config, err);
}

WEFT_SUSPENDS static int read_again(struct wrt_runtime *rt, struct wc_report *report, struct wc_config **ret,
                                    struct upp_err *err)
{
    struct upp_str path = rt->config->file;
    struct reading *x = wb_calloc(1, sizeof *x);
    int result;
    if (!x || path.n >= sizeof x->path) {
        wb_free(x);
        return upp_fail(err, x ? UPP_ELIMIT : UPP_ENOMEM, "no memory to read the configuration again");
    }
    x->previous = rt->config;
    memcpy(x->path, path.p, path.n);
    int r;
    {
        WEFT_SHIELD(WEFT_SHIELD_MAX_MS); /* the job reads the current configuration, which must not go away meanwhile */
        r = weft_work(read_file, x, reading_free, &result, err);
    }
    if (r < 0)
        return r;
    *report = x->report;
    x->report = (struct wc_report){0};
    *ret = WB_TAKE(x->config);
    reading_free(x);
    return result;
}

size_t wrt__drop_unused(struct wrt_runtime *rt, int64_t idle_ms)
{
    struct wrt_generation *newest = rt->agents;
    size_t n = 0;
    for (struct wrt_generation **at = &newest->older; *at;) {
        struct wrt_generation *g = *at;
        if (g->runs || (int64_t)wb_mono_ms() - g->retired_ms < idle_ms) {
            at = &g->older;
            n++;
            continue;
        }
        *at = g->older;
        wrt__generation_free(g);
    }
    return n;
}

static bool differs(const struct wc_webhook *a, const struct wc_webhook *b)
{
    return !wb_str_eq(a->url, b->url) || !wb_str_eq(a->secret, b->secret);
}

static bool other(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) != 0 : a != b;
}

static bool telemetry_differs(const struct wc_telemetry *a, const struct wc_telemetry *b)
{
    if (!wb_str_eq(a->otlp, b->otlp) || a->n_headers != b->n_headers)
        return true;
    for (size_t i = 0; i < a->n_headers; i++)
        if (!wb_str_eq(a->headers[i].name, b->headers[i].name) || !wb_str_eq(a->headers[i].value, b->headers[i].value))
            return true;
    return false;
}

/* What this process started with, not what an earlier reload has read: a second reload says it again. */
static void log_restart(const struct wc_config *old, const struct wc_config *new)
{
    const struct {
        const char *what;
        bool changed;
    } fixed[] = {
        {"server.listen", !wb_str_eq(old->host, new->host) || old->port != new->port},
        {"store", old->store != new->store || !wb_str_eq(old->store_path, new->store_path)},
        {"store_cache_mb", old->store_cache_mb != new->store_cache_mb},
        {"encryption", !wb_str_eq(old->key_file, new->key_file)},
        {"search", old->index != new->index},
        {"durability", old->durability != new->durability},
        {"server.tls",
         other(old->server.certificate, new->server.certificate) || other(old->server.key, new->server.key)},
        {"server.loops", old->loops != new->loops},
        {"webhooks", differs(&old->on_end, &new->on_end) || differs(&old->on_wait, &new->on_wait)},
        {"telemetry", telemetry_differs(&old->telemetry, &new->telemetry)},
        {"waits", memcmp(&old->waits, &new->waits, sizeof old->waits) != 0},
    };
    for (size_t i = 0; i < WB_LEN(fixed); i++)
        if (fixed[i].changed)
            wb_log(WB_WARN, "this change needs a restart", WB_LZ("key", fixed[i].what));
}

int wrt__generation_next(struct wrt_runtime *rt, struct wrt_owned *owned, const struct wc_config *c,
                         struct upp_err *err)
{
    struct wrt_generation *new;
    if (wrt__drop_unused(rt, WRT_IDLE_MS) >= MAX_GENERATIONS)
        return upp_fail(
            err, UPP_EBUSY,
            "%d earlier configurations are still in use: try again in a minute, or when their runs have ended",
            MAX_GENERATIONS);
    int r = wrt__generation_new(rt, owned, c, &new, err);
    if (r < 0)
        return r;
    new->older = rt->agents;
    new->older->retired_ms = (int64_t)wb_mono_ms();
    rt->agents = new;
    return 0;
}

WEFT_SUSPENDS int wrt_reload(struct wrt_runtime *rt, struct wc_report *report, struct upp_err *err)
{
    struct wc_config *config = NULL;
    int r = read_again(rt, report, &config, err);
    if (r < 0)
        return r;
    struct wrt_owned *owned = wb_calloc(1, sizeof *owned);
    if (!owned) {
        wc_config_free(config);
        return upp_fail(err, UPP_ENOMEM, "no memory for a configuration");
    }
    *owned = (struct wrt_owned){.config = config, .users = 1};
    r = wrt__generation_next(rt, owned, config, err);
    wrt__owned_unref(owned);
    if (r < 0)
        return r;
    log_restart(rt->start, config);
    rt->config = config;
    return 0;
}
