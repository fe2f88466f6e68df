/* server/ops/ops.c — opens the logs, the metrics and the telemetry of a server, and connects them to it; GET /health
 * and GET /version. */
#include "server/ops/ops.h"

#include "base/clock.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "commit.h"
#include "json/write.h"
#include "server/libraries.h"

static void put_store(struct wj_writer *w, const struct wl_store *store)
{
    static const char *const states[] = {
        [WL_WORKS] = "ok", [WL_FULL] = "disk_full", [WL_FAILING] = "failing", [WL_FAILED] = "failed"};
    const struct wl_store *base = store;
    while (base->inner)
        base = base->inner;
    wj_put_open(w, "store", '{');
    wj_put_str(w, "name", wb_cstr(base->ops->name));
    wj_put_str(w, "status", wb_cstr(states[wl_store_state(store)]));
    wj_write_close(w, '}');
}

/* The status is that of /readyz, by the same rules. */
static int get_health(struct sv_exchange *x, struct upp_err *err)
{
    const struct sv_ops *ops = sv_ops_of(x);
    const char *status = sv_server_status(x->server);
    int64_t up = (wb_wall_ms() - ops->started_ms) / 1000;
    struct wj_writer w;
    uint64_t runs = 0;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "status", wb_cstr(status));
    wj_put_str(&w, "version", UPP_STR(UPP_VERSION));
    wj_put_i64(&w, "uptime_seconds", WB_MAX(up, 0));
    if (ops->opts.store)
        put_store(&w, ops->opts.store);
    wj_put_u64(&w, "loops", x->server->n_cores);
    wj_put_u64(&w, "connections", x->server->n_conns);
    for (uint32_t i = 0; i < ops->n_engines; i++)
        runs += wr_engine_working(ops->engines[i].engine);
    wj_put_u64(&w, "runs", runs);
    wj_write_close(&w, '}');
    x->reply.status = strcmp(status, "ok") == 0 ? 200 : 503;
    return wj_writer_check(&w);
}

static int get_version(struct sv_exchange *x, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "version", UPP_STR(UPP_VERSION));
    struct upp_str commit = UPP_STR(WEFT_COMMIT); /* "-": not built from a Git repository */
    wj_put_str(&w, "commit", commit.n > 1 ? commit : (struct upp_str){NULL, 0});
    wj_put_open(&w, "libraries", '[');
    for (size_t i = 0; i < WB_LEN(sv_libraries); i++) {
        struct wb_library l = sv_libraries[i]();
        if (!l.built)
            continue;
        wj_write_open(&w, '{');
        wj_put_str(&w, "name", wb_cstr(l.name));
        wj_put_str(&w, "version", wb_cstr(l.running[0] ? l.running : l.built));
        wj_put_str(&w, "built_with", wb_cstr(l.built));
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    x->reply.status = 200;
    return wj_writer_check(&w);
}

static const struct sv_route rows[] = {
    {SV_GET, "/health", get_health, 1, SV_ROUTE_ALWAYS | SV_ROUTE_OPEN},
    {SV_GET, "/version", get_version, 1, SV_ROUTE_ALWAYS | SV_ROUTE_OPERATOR},
    {SV_GET, "/metrics", sv_get_metrics, 1, SV_ROUTE_ALWAYS | SV_ROUTE_OPERATOR | SV_ROUTE_LARGE},
    {SV_GET, "/openapi.json", sv_get_openapi, 1, SV_ROUTE_OPEN},
    {SV_GET, "/docs", sv_get_docs, 1, SV_ROUTE_OPEN},
    {SV_GET, "/docs/{file}", sv_get_docs_file, 1, SV_ROUTE_OPEN},
    {SV_GET, "/", sv_get_page, 1, SV_ROUTE_OPEN},
    {SV_GET, "/page/{module}", sv_get_page_file, 1, SV_ROUTE_OPEN},
};
_Static_assert(WB_LEN(rows) <= SV_OPS_ROUTES, "struct sv_ops has room for all of them");

void sv_ops_reconfigure(struct sv_ops *ops, bool no_access_log, bool open_metrics)
{
    ops->opts.no_access_log = no_access_log;
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (rows[i].handler == sv_get_metrics)
            ops->rows[i].flags = rows[i].flags | (open_metrics ? SV_ROUTE_OPEN : 0);
}

int sv_ops_open(const struct sv_ops_opts *opts, struct sv_ops **ret, struct upp_err *err)
{
    UPP_CLEANUP(sv_ops_closep) struct sv_ops *ops = wb_calloc(1, sizeof *ops);
    if (ops)
        ops->metrics = sv_metrics_new();
    if (!ops || !ops->metrics)
        return upp_fail(err, UPP_ENOMEM, "no memory for metrics");
    wb_opts(&ops->opts, sizeof ops->opts, opts);
    ops->started_ms = wb_wall_ms();
    ops->http = (struct sv_monitor){ops, sv_ops_answered};
    memcpy(ops->rows, rows, sizeof rows);
    sv_ops_reconfigure(ops, ops->opts.no_access_log, ops->opts.open_metrics);
    ops->door = (struct sv_door){.name = "ops", .prefix = "", .routes = ops->rows, .n_routes = WB_LEN(rows)};
    *ret = WB_TAKE(ops);
    return 0;
}

void sv_ops_close(struct sv_ops *ops)
{
    if (!ops)
        return;
    for (uint32_t i = 0; i < ops->n_engines; i++)
        sv_metrics_free(ops->engines[i].metrics);
    sv_metrics_free(ops->metrics);
    wb_free(ops);
}

void sv_ops_closep(struct sv_ops **ops)
{
    sv_ops_close(*ops);
}

struct sv_ops *sv_ops_of(const struct sv_exchange *x)
{
    return x->server->opts.monitor->arg;
}
