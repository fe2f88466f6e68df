/* server/ops/ops.c — opens the logs, the metrics and the telemetry of a server, and connects them to it. */
#include "server/ops/ops.h"

#include "base/clock.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "base/opts.h"

static const struct sv_route rows[] = {
    {SV_GET, "/health", sv_get_health, 1, SV_ROUTE_ALWAYS | SV_ROUTE_OPEN},
    {SV_GET, "/version", sv_get_version, 1, SV_ROUTE_ALWAYS | SV_ROUTE_OPERATOR},
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
