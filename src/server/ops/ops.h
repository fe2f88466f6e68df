/* server/ops/ops.h — what operators look at: the access log, the run log, metrics, health, the API description.
 *
 *     r = sv_ops_open(UPP_OPTS(sv_ops_opts, .store = s), &ops, &err);
 *     r = sv_ops_watch(ops, engine, &err);        // each engine, before anything runs
 *     r = sv_server_open(loop, UPP_OPTS(sv_server_opts, .monitor = &ops->http, .ops = &ops->door, ...), ...);
 *     ...
 *     sv_ops_close(ops);                  // after server and engine
 *
 * It watches one server on its loop, and engines on any loop: each has a registry of its own.
 */
#pragma once

#include "run/engine.h"
#include "server/http/route.h"
#include "server/http/server.h"
#include "server/ops/metrics.h"
#include "server/ops/telemetry.h"

struct sv_ops_opts {
    uint32_t size;
    struct wl_store *store; /* NULL: none */
    bool no_access_log;
    bool open_metrics; /* /metrics needs no key */

    struct sv_telemetry *telemetry; /* gets the spans; NULL: none */
};

enum { SV_OPS_ROUTES = 9 };

struct sv_ops {
    struct sv_ops_opts opts;
    struct sv_monitor http; /* for sv_server_opts */
    struct sv_route rows[SV_OPS_ROUTES];
    struct sv_door door;        /* for sv_server_opts */
    struct sv_metrics *metrics; /* of the server */

    struct sv_ops_engine {
        struct wr_engine *engine;
        struct wr_monitor monitor;
        struct sv_metrics *metrics;

        struct sv_telemetry *telemetry; /* that of the options */
    } engines[SV_CORES];
    uint32_t n_engines;

    int64_t started_ms; /* wall time */
};

int sv_ops_open(const struct sv_ops_opts *opts, struct sv_ops **ret, struct upp_err *err) UPP_MUST_CHECK;
int sv_ops_watch(struct sv_ops *ops, struct wr_engine *engine, struct upp_err *err) UPP_MUST_CHECK;
/* Takes over what may change: no_access_log, open_metrics. */
void sv_ops_reconfigure(struct sv_ops *ops, bool no_access_log, bool open_metrics);
void sv_ops_close(struct sv_ops *ops); /* accepts NULL */
void sv_ops_closep(struct sv_ops **ops);

/* ---- Between the files of this folder ---- */

void sv_ops_answered(void *ops, const struct sv_exchange *x); /* monitor.c */

struct sv_ops *sv_ops_of(const struct sv_exchange *x);

WEFT_SUSPENDS int sv_get_metrics(struct sv_exchange *x, struct upp_err *err);
int sv_get_openapi(struct sv_exchange *x, struct upp_err *err);
int sv_get_docs(struct sv_exchange *x, struct upp_err *err);
int sv_get_docs_file(struct sv_exchange *x, struct upp_err *err);
int sv_get_page(struct sv_exchange *x, struct upp_err *err);
int sv_get_page_file(struct sv_exchange *x, struct upp_err *err);

/* ---- The OpenAPI 3.1 document ----
 *
 * The route tables say which routes there are; openapi.json, which is inside the program, says what each of them means.
 * A unit test (openapi_describes_every_route) fails if a route has no description, or a description no route.
 */

/* Writes the document for these doors (ends with NULL). keys: the server has API keys. -UPP_EBUG: a route has no
 * description; the message names it. */
int sv_openapi_write(const struct sv_door *const *doors, bool keys, struct wb_buf *out,
                     struct upp_err *err) UPP_MUST_CHECK;

/* -UPP_EBUG: a description has no route; the message names it. */
int sv_openapi_check(const struct sv_door *const *doors, struct upp_err *err) UPP_MUST_CHECK;
