/* server/ops/metrics_page.c — GET /metrics: the registries of the loops, and the gauges of this moment. */
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/defs.h"
#include "base/file.h"
#include "base/log.h"
#include "commit.h"
#include "log/change.h"
#include "log/log.h"
#include "server/http/tls.h"
#include "server/keys/table.h"
#include "server/ops/ops.h"

enum { LIVE_MAX = 10000 /* runs that one page counts */ };

static uint64_t count_files(void)
{
    uint64_t n = 0;
    DIR *all = opendir("/proc/self/fd");
    if (!all)
        return 0;
    while (readdir(all))
        n++;
    (void)closedir(all);
    return n > 3 ? n - 3 : 0; /* "." and "..", and its own */
}

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

static void set_process(struct sv_metrics *m, int64_t started_ms)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(4096);
    unsigned long long virtual, resident;
    struct rusage used;
    struct rlimit files;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (wb_file_read("/proc/self/statm", &text, NULL) >= 0) {
        wb_buf_addc(&text, 0);
        if (!text.failed && sscanf(text.p, "%llu %llu", &virtual, &resident) == 2) {
            sv_metrics_set(m, SV_PROCESS_VIRTUAL, NULL, virtual * page);
            sv_metrics_set(m, SV_PROCESS_MEMORY, NULL, resident * page);
        }
    }
    if (getrusage(RUSAGE_SELF, &used) == 0)
        sv_metrics_set(m, SV_PROCESS_CPU, NULL, ns_of(used.ru_utime) + ns_of(used.ru_stime));
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        sv_metrics_set(m, SV_PROCESS_MAX_FDS, NULL, files.rlim_cur);
    sv_metrics_set(m, SV_PROCESS_FDS, NULL, count_files());
    sv_metrics_set(m, SV_PROCESS_START, NULL, (uint64_t)started_ms * 1000000);
}

static void set_server(struct sv_metrics *m, const struct sv_server *s)
{
    uint64_t streams = 0, down = 0;
    for (uint32_t i = 0; i < s->n_cores; i++) {
        streams += atomic_load_explicit(&s->cores[i].n_streams, memory_order_relaxed);
        down += s->cores[i].engine ? wr_engine_models_down(s->cores[i].engine) : 0;
    }
    sv_metrics_set(m, SV_HTTP_CONNECTIONS, NULL, s->n_conns);
    sv_metrics_set(m, SV_HTTP_STREAMS, NULL, streams);
    sv_metrics_set(m, SV_HTTP_HELD, NULL, s->held);
    sv_metrics_set(m, SV_MODELS_DOWN, NULL, down);
    if (s->tls)
        sv_metrics_set(m, SV_TLS_EXPIRES, NULL, (uint64_t)WB_MAX(sv_tls_expires(s->tls), (int64_t)0));
    sv_metrics_set(m, SV_LOG_LOST, NULL, wb_log_lost());
    sv_metrics_set(m, SV_BUILD_INFO, (const struct upp_str[]){UPP_STR(UPP_VERSION), UPP_STR(WEFT_COMMIT)}, 1);
}

/* Later keys and tenants are one series: who is among the first has its series to the end, so that counters only grow.
 */
static void add_usage(void *arg, const struct sv_usage *u)
{
    static const struct upp_str other = UPP_STR_INIT("other"), none = UPP_STR_INIT("-");
    struct sv_metrics *m = arg;
    bool own = u->series <= SV_USAGE_SERIES;
    struct upp_str labels[SV_LABELS] = {own ? u->since.tenant : other, other, {NULL, 0}};
    const struct {
        struct upp_str kind;
        uint64_t n;
    } tokens[] = {{UPP_STR("input"), u->since.input},
                  {UPP_STR("output"), u->since.output},
                  {UPP_STR("cache_read"), u->since.cache_read},
                  {UPP_STR("cache_write"), u->since.cache_write}};
    if (own)
        labels[1] = u->since.key.n ? u->since.key_name : none;
    sv_metrics_add(m, SV_KEY_REQUESTS, labels, u->since.requests);
    sv_metrics_add(m, SV_KEY_RUNS, labels, u->since.runs);
    for (size_t i = 0; i < WB_LEN(tokens); i++) {
        labels[2] = tokens[i].kind;
        sv_metrics_add(m, SV_KEY_TOKENS, labels, tokens[i].n);
    }
}

static void set_store(struct sv_metrics *m, const struct wl_store *store)
{
    static const struct upp_str states[] = {[WL_WORKS] = UPP_STR_INIT("ok"),
                                            [WL_FULL] = UPP_STR_INIT("disk_full"),
                                            [WL_FAILING] = UPP_STR_INIT("failing"),
                                            [WL_FAILED] = UPP_STR_INIT("failed")};
    enum wl_state state = wl_store_state(store);
    for (size_t i = 0; i < WB_LEN(states); i++)
        sv_metrics_set(m, SV_STORE_STATE, &states[i], i == state);
    while (store->inner) /* what is in front counts the same commits again */
        store = store->inner;
    sv_metrics_set(m, SV_STORE_COMMITS, NULL, __atomic_load_n(&store->count.commits, __ATOMIC_RELAXED));
    sv_metrics_set(m, SV_STORE_TRANSACTIONS, NULL, __atomic_load_n(&store->count.transactions, __ATOMIC_RELAXED));
    sv_metrics_set(m, SV_STORE_SYNCS, NULL, __atomic_load_n(&store->count.syncs, __ATOMIC_RELAXED));
    sv_metrics_set(m, SV_STORE_BYTES, NULL, __atomic_load_n(&store->count.bytes, __ATOMIC_RELAXED));
    struct wl_files files;
    if (wl_store_files(store, &files)) {
        sv_metrics_set(m, SV_STORE_FILES, (const struct upp_str[]){UPP_STR("database")}, files.database);
        sv_metrics_set(m, SV_STORE_FILES, (const struct upp_str[]){UPP_STR("wal")}, files.wal);
    }
}

static void set_sweep(struct sv_metrics *m, const struct wl_sweep_state *sweep)
{
    sv_metrics_set(m, SV_SWEEP_DAMAGED, NULL, atomic_load(&sweep->damaged));
    sv_metrics_set(m, SV_SWEEP_FAILING, NULL, atomic_load(&sweep->failing));
}

/* Counted in the store: a counter in memory would be wrong after a restart. */
WEFT_SUSPENDS static int set_runs(struct sv_metrics *m, struct wl_store *store, struct upp_err *err)
{
    static const uint8_t live[] = {WM_QUEUED, WM_RUNNING, WM_WAITING, WM_CANCELING};
    struct wb_uuid after = {{0}};
    for (size_t i = 0; i < WB_LEN(live); i++) {
        struct upp_str name = wr_status_name(live[i]);
        sv_metrics_set(m, SV_RUNS, &name, 0);
    }
    sv_metrics_set(m, SV_RUNS_CUT, NULL, 0);
    for (size_t all = 0, n = 1; n; all += n) {
        if (all >= LIVE_MAX) {
            sv_metrics_set(m, SV_RUNS_CUT, NULL, 1);
            return 0;
        }
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wl_live_run *runs;
        int r = wl_live_page(store, after, &a, &runs, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            struct upp_str name = wr_status_name(runs[i].run.status);
            sv_metrics_add(m, SV_RUNS, &name, 1);
        }
        if (n)
            after = runs[n - 1].run.id;
    }
    return 0;
}

static void set_telemetry(struct sv_metrics *m, const struct sv_telemetry *t)
{
    struct sv_telemetry_counts c = sv_telemetry_counts(t);
    sv_metrics_set(m, SV_TELEMETRY_SENT, NULL, c.sent);
    sv_metrics_set(m, SV_TELEMETRY_DROPPED, NULL, c.dropped);
}

WEFT_SUSPENDS int sv_get_metrics(struct sv_exchange *x, struct upp_err *err)
{
    const struct sv_ops *ops = sv_ops_of(x);
    WB_CLEANUP(sv_metrics_freep) struct sv_metrics *all = sv_metrics_new();
    if (!all)
        return upp_fail(err, UPP_ENOMEM, "no memory for metrics");
    int r = ops->opts.store ? set_runs(all, ops->opts.store, err) : 0;
    if (r < 0)
        return r;
    sv_metrics_merge(all, ops->metrics);
    for (uint32_t i = 0; i < ops->n_engines; i++)
        sv_metrics_merge(all, ops->engines[i].metrics);
    set_server(all, x->server);
    if (x->server->opts.keys)
        sv_keys_each_usage(x->server->opts.keys, add_usage, all);
    if (ops->opts.store)
        set_store(all, ops->opts.store);
    if (x->server->opts.sweep)
        set_sweep(all, x->server->opts.sweep);
    if (ops->opts.telemetry)
        set_telemetry(all, ops->opts.telemetry);
    set_process(all, ops->started_ms);
    sv_metrics_set(all, SV_DROPPED, NULL, atomic_load_explicit(&all->dropped, memory_order_relaxed));
    sv_metrics_write(all, &x->reply.body);
    x->reply.type = "text/plain; version=0.0.4; charset=utf-8";
    x->reply.status = 200;
    return 0;
}
