/* server/ops/health.c — GET /health and GET /version. */
#include "base/clock.h"
#include "base/defs.h"
#include "commit.h"
#include "json/write.h"
#include "server/libraries.h"
#include "server/ops/ops.h"

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
int sv_get_health(struct sv_exchange *x, struct upp_err *err)
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

int sv_get_version(struct sv_exchange *x, struct upp_err *err)
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
