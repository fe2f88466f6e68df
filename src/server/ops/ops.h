/* server/ops/ops.h — what operators look at: the access log, the run log, metrics, health, the API description.
 *
 *     r = sv_ops_open(UPP_OPTS(sv_ops_opts, .engine = e, .store = s), &ops, &err);
 *     r = sv_server_open(loop, UPP_OPTS(sv_server_opts, .monitor = &ops->http, .ops = &ops->door, ...), ...);
 *     ...
 *     sv_ops_close(ops);                  // after server and engine
 *
 * It watches one engine and one server, on their loop.
 */
#ifndef SV_OPS_H
#define SV_OPS_H

#include "run/engine.h"
#include "server/http/door.h"
#include "server/http/server.h"
#include "server/ops/metrics.h"

struct sv_ops_opts {
    uint32_t          size;
    struct wr_engine *engine; /* its monitor is set; NULL: none */
    struct wl_store  *store;  /* NULL: none */
    bool              no_access_log;
    bool              open_metrics; /* /metrics needs no key */
};

enum { SV_OPS_ROUTES = 7 };

struct sv_ops {
    struct sv_ops_opts opts;
    struct sv_monitor  http; /* for sv_server_opts */
    struct wr_monitor  runs; /* the engine's */
    struct sv_route    rows[SV_OPS_ROUTES];
    struct sv_door     door; /* for sv_server_opts */
    struct sv_metrics *metrics;
    int64_t            started_ms; /* wall time */
};

int  sv_ops_open(const struct sv_ops_opts *opts, struct sv_ops **ret, struct upp_err *err) UPP_MUST_CHECK;
void sv_ops_close(struct sv_ops *ops); /* accepts NULL */
void sv_ops_closep(struct sv_ops **ops);

/* ---- Between the files of this folder ---- */

void sv_ops_answered(void *ops, const struct sv_exchange *x); /* access.c */
void sv_ops_watch_runs(struct sv_ops *ops);                   /* runs.c: fills ops->runs */

struct sv_ops *sv_ops_of(const struct sv_exchange *x);

/* Handlers. */
int               sv_get_health(struct sv_exchange *x, struct upp_err *err);
int               sv_get_version(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_metrics(struct sv_exchange *x, struct upp_err *err);
int               sv_get_openapi(struct sv_exchange *x, struct upp_err *err);
int               sv_get_docs(struct sv_exchange *x, struct upp_err *err);
int               sv_get_docs_file(struct sv_exchange *x, struct upp_err *err);

#endif
