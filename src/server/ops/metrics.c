/* server/ops/metrics.c — the registry of a loop's series, and the text that Prometheus reads. */
#include "server/ops/metrics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/str.h"

/* ---- Families ---------------------------------------------------------------------------------------------------- */

enum kind { COUNTER, GAUGE, HISTOGRAM };

static const struct family {
    const char *name;
    enum kind kind;
    bool nanoseconds; /* written as seconds; so are histograms */
    const char *labels[SV_LABELS];
    const char *help;
} families[SV_METRICS_N] = {
    [SV_HTTP_REQUESTS] = {"weft_http_requests_total",
                          COUNTER,
                          false,
                          {"method", "route", "status"},
                          "HTTP requests that were answered."},
    [SV_HTTP_DURATION] =
        {"weft_http_request_duration_seconds",
         HISTOGRAM,
         true,
         {"route"},
         "From the first byte of a request to the last byte of its response; a stream counts to its end."},
    [SV_HTTP_BYTES] =
        {"weft_http_response_bytes_total", COUNTER, false, {NULL}, "Bytes of HTTP responses, heads included."},
    [SV_HTTP_CONNECTIONS] = {"weft_http_connections", GAUGE, false, {NULL}, "Open connections."},
    [SV_HTTP_STREAMS] = {"weft_http_streams", GAUGE, false, {NULL}, "Open event streams."},
    [SV_HTTP_HELD] =
        {"weft_http_held_bytes", GAUGE, false, {NULL}, "Bodies of requests and of responses that are not sent yet."},
    [SV_RUNS] = {"weft_runs", GAUGE, false, {"state"}, "Runs that have not ended, child runs included."},
    [SV_RUNS_CUT] = {"weft_runs_cut", GAUGE, false, {NULL}, "1: there may be more runs than weft_runs counts."},
    [SV_RUNS_TOTAL] =
        {"weft_runs_total", COUNTER, false, {"agent", "outcome"}, "Runs that have ended, child runs included."},
    [SV_RUN_DURATION] = {"weft_run_duration_seconds",
                         HISTOGRAM,
                         true,
                         {"agent"},
                         "From the start of a run to its end, waits included."},
    [SV_MODEL_REQUESTS] =
        {"weft_model_requests_total", COUNTER, false, {"model", "outcome"}, "Requests to models, each attempt."},
    [SV_MODEL_DURATION] = {"weft_model_request_duration_seconds",
                           HISTOGRAM,
                           true,
                           {"model"},
                           "Duration of requests to models, to the end of the answer."},
    [SV_MODEL_TOKENS] = {"weft_model_tokens_total",
                         COUNTER,
                         false,
                         {"model", "kind"},
                         "Tokens as reported by models; reasoning is part of output."},
    [SV_TOOL_CALLS] =
        {"weft_tool_calls_total", COUNTER, false, {"tool", "outcome"}, "Calls of tools that the server ran."},
    [SV_TOOL_DURATION] = {"weft_tool_duration_seconds",
                          HISTOGRAM,
                          true,
                          {"tool"},
                          "Duration of the calls of tools that the server ran."},
    [SV_MODELS_DOWN] = {"weft_models_down",
                        GAUGE,
                        false,
                        {NULL},
                        "Models that cannot be reached, for which queued runs wait; on each loop."},
    [SV_STORE_STATE] = {"weft_store_state", GAUGE, false, {"state"}, "1 for the state that the store is in."},
    [SV_STORE_COMMITS] = {"weft_store_commits_total", COUNTER, false, {NULL}, "Commits of the store."},
    [SV_STORE_TRANSACTIONS] = {"weft_store_transactions_total",
                               COUNTER,
                               false,
                               {NULL},
                               "Transactions of the store: several commits may share one."},
    [SV_STORE_SYNCS] = {"weft_store_syncs_total", COUNTER, false, {NULL}, "Syncs of the store's write-ahead log."},
    [SV_STORE_BYTES] = {"weft_store_written_bytes_total", COUNTER, false, {NULL}, "Bytes of what was committed."},
    [SV_STORE_FILES] = {"weft_store_file_bytes", GAUGE, false, {"file"}, "Sizes of the store's files."},
    [SV_STORE_COMMIT_DURATION] = {"weft_store_commit_duration_seconds",
                                  HISTOGRAM,
                                  true,
                                  {NULL},
                                  "Duration of the commits of runs, with their sync."},
    [SV_SWEEP_DAMAGED] = {"weft_sweep_damaged_runs_total",
                          COUNTER,
                          false,
                          {NULL},
                          "Runs that the sweep passed over, because they cannot be read."},
    [SV_SWEEP_FAILING] = {"weft_sweep_failing", GAUGE, false, {NULL}, "1: the last sweep failed, and is tried again."},
    [SV_KEY_REQUESTS] =
        {"weft_key_requests_total", COUNTER, false, {"tenant", "key"}, "Requests with an API key that were let in."},
    [SV_KEY_RUNS] = {"weft_key_runs_total", COUNTER, false, {"tenant", "key"}, "Runs of clients that have ended."},
    [SV_KEY_TOKENS] = {"weft_key_tokens_total",
                       COUNTER,
                       false,
                       {"tenant", "key", "kind"},
                       "Tokens of runs that have ended; cache_read and cache_write are part of input."},
    [SV_TLS_EXPIRES] = {"weft_tls_certificate_expires_seconds",
                        GAUGE,
                        false,
                        {NULL},
                        "When the certificate that new connections get expires, since 1970."},
    [SV_LOG_LOST] = {"weft_log_lines_lost_total",
                     COUNTER,
                     false,
                     {NULL},
                     "Log lines that could not be written, or were dropped because the ring was full."},
    [SV_TELEMETRY_SENT] = {"weft_telemetry_sent_total", COUNTER, false, {NULL}, "Spans that the collector has taken."},
    [SV_TELEMETRY_DROPPED] = {"weft_telemetry_dropped_total",
                              COUNTER,
                              false,
                              {NULL},
                              "Spans that were not sent: the queue was full, or the collector could not take them."},
    [SV_DROPPED] = {"weft_metrics_dropped_total",
                    COUNTER,
                    false,
                    {NULL},
                    "Events that are not in these metrics, for lack of memory."},
    [SV_BUILD_INFO] = {"weft_build_info",
                       GAUGE,
                       false,
                       {"version", "commit"},
                       "1, with the version of the program; commit is - if it was not built from a Git repository."},
    [SV_PROCESS_CPU] = {"process_cpu_seconds_total", COUNTER, true, {NULL}, "User and system CPU time."},
    [SV_PROCESS_MEMORY] = {"process_resident_memory_bytes", GAUGE, false, {NULL}, "Resident memory."},
    [SV_PROCESS_VIRTUAL] = {"process_virtual_memory_bytes", GAUGE, false, {NULL}, "Virtual memory."},
    [SV_PROCESS_FDS] = {"process_open_fds", GAUGE, false, {NULL}, "Open file descriptors."},
    [SV_PROCESS_MAX_FDS] = {"process_max_fds", GAUGE, false, {NULL}, "The limit of open file descriptors."},
    [SV_PROCESS_START] = {"process_start_time_seconds", GAUGE, true, {NULL}, "When the process started, since 1970."},
};

/* Upper limits: of a request that reads a little to a run that thinks for minutes. */
static const struct {
    uint64_t ns;
    const char *text;
} buckets[SV_BUCKETS] = {
    {500000, "0.0005"},  {1000000, "0.001"},    {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"},
    {25000000, "0.025"}, {50000000, "0.05"},    {100000000, "0.1"},  {250000000, "0.25"}, {500000000, "0.5"},
    {1000000000, "1"},   {2500000000, "2.5"},   {5000000000, "5"},   {10000000000, "10"}, {30000000000, "30"},
    {60000000000, "60"}, {300000000000, "300"},
};

static unsigned labels_of(enum sv_metric which)
{
    unsigned n = 0;
    while (n < SV_LABELS && families[which].labels[n])
        n++;
    return n;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static uint64_t get(const _Atomic uint64_t *n)
{
    return atomic_load_explicit(n, memory_order_relaxed);
}

/* Only the registry's loop writes: no locked instruction is needed. */
static void add(_Atomic uint64_t *n, uint64_t more)
{
    atomic_store_explicit(n, get(n) + more, memory_order_relaxed);
}

/* ---- Registries -------------------------------------------------------------------------------------------------- */

struct sv_metrics *sv_metrics_new(void)
{
    return wb_calloc(1, sizeof(struct sv_metrics));
}

void sv_metrics_free(struct sv_metrics *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < WB_LEN(m->slots); i++)
        wb_free(atomic_load_explicit(&m->slots[i], memory_order_relaxed));
    wb_free(m);
}

void sv_metrics_freep(struct sv_metrics **m)
{
    sv_metrics_free(*m);
}

static uint64_t hash_of(enum sv_metric which, const struct upp_str *labels, unsigned n)
{
    uint64_t h = (uint64_t)which * 0x9e3779b97f4a7c15;
    for (unsigned i = 0; i < n; i++)
        h = (h ^ wb_str_hash(labels[i])) * 0x9e3779b97f4a7c15;
    return h ^ h >> 32;
}

static bool is_series(const struct sv_series *s, uint64_t hash, enum sv_metric which, const struct upp_str *labels,
                      unsigned n)
{
    if (s->hash != hash || s->metric != which)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!wb_str_eq(s->labels[i], labels[i]))
            return false;
    return true;
}

static struct sv_series *new_series(uint64_t hash, enum sv_metric which, const struct upp_str *labels, unsigned n)
{
    size_t texts = 0, numbers = families[which].kind == HISTOGRAM ? SV_BUCKETS : 0;
    for (unsigned i = 0; i < n; i++)
        texts += labels[i].n;
    struct sv_series *s = wb_calloc(1, sizeof *s + numbers * sizeof s->buckets[0] + texts);
    if (!s)
        return NULL;
    char *to = (char *)(s + 1) + numbers * sizeof s->buckets[0]; /* behind the buckets */
    s->hash = hash;
    s->metric = (uint8_t)which;
    for (unsigned i = 0; i < n; i++) {
        if (labels[i].n)
            memcpy(to, labels[i].p, labels[i].n);
        s->labels[i] = wb_str(to, labels[i].n);
        to += labels[i].n;
    }
    return s;
}

/* The series with these labels, or a free slot for it. The table is never more than half full. */
static _Atomic(struct sv_series *) *find_slot(struct sv_metrics *m, uint64_t hash, enum sv_metric which,
                                              const struct upp_str *labels, unsigned n)
{
    for (size_t i = hash % WB_LEN(m->slots);; i = (i + 1) % WB_LEN(m->slots)) {
        const struct sv_series *s = atomic_load_explicit(&m->slots[i], memory_order_relaxed);
        if (!s || is_series(s, hash, which, labels, n))
            return &m->slots[i];
    }
}

static struct sv_series *series_of(struct sv_metrics *m, enum sv_metric which, const struct upp_str *labels)
{
    static const struct upp_str others[SV_LABELS] = {UPP_STR_INIT("other"), UPP_STR_INIT("other"),
                                                     UPP_STR_INIT("other")};
    unsigned n = labels_of(which);
    uint64_t hash = hash_of(which, labels, n);
    _Atomic(struct sv_series *) *slot = find_slot(m, hash, which, labels, n);
    struct sv_series *s = atomic_load_explicit(slot, memory_order_relaxed);
    if (s)
        return s;
    if (n && m->each[which] >= SV_SERIES_EACH - 1) { /* the last one is for all others */
        labels = others;
        hash = hash_of(which, labels, n);
        slot = find_slot(m, hash, which, labels, n);
        s = atomic_load_explicit(slot, memory_order_relaxed);
    }
    if (!s && m->n < SV_SERIES)
        s = new_series(hash, which, labels, n);
    if (!s) {
        add(&m->dropped, 1);
        return NULL;
    }
    if (!atomic_load_explicit(slot, memory_order_relaxed)) {
        m->n++;
        m->each[which]++;
        atomic_store_explicit(slot, s, memory_order_release);
    }
    return s;
}

void sv_metrics_add(struct sv_metrics *m, enum sv_metric which, const struct upp_str *labels, uint64_t n)
{
    struct sv_series *s = series_of(m, which, labels);
    if (s)
        add(&s->value, n);
}

void sv_metrics_set(struct sv_metrics *m, enum sv_metric which, const struct upp_str *labels, uint64_t n)
{
    struct sv_series *s = series_of(m, which, labels);
    if (s)
        atomic_store_explicit(&s->value, n, memory_order_relaxed);
}

void sv_metrics_observe(struct sv_metrics *m, enum sv_metric which, const struct upp_str *labels, uint64_t ns)
{
    struct sv_series *s = series_of(m, which, labels);
    if (!s)
        return;
    add(&s->value, 1);
    add(&s->sum, ns);
    for (size_t i = 0; i < SV_BUCKETS; i++)
        if (ns <= buckets[i].ns) {
            add(&s->buckets[i], 1);
            return;
        }
}

void sv_metrics_merge(struct sv_metrics *into, const struct sv_metrics *from)
{
    add(&into->dropped, get(&from->dropped));
    for (size_t i = 0; i < WB_LEN(from->slots); i++) {
        const struct sv_series *s = atomic_load_explicit(&from->slots[i], memory_order_acquire);
        struct sv_series *t = s ? series_of(into, s->metric, s->labels) : NULL;
        if (!t)
            continue;
        add(&t->value, get(&s->value));
        add(&t->sum, get(&s->sum));
        for (size_t k = 0; families[s->metric].kind == HISTOGRAM && k < SV_BUCKETS; k++)
            add(&t->buckets[k], get(&s->buckets[k]));
    }
}

/* ---- The text ---------------------------------------------------------------------------------------------------- */

static void write_value(struct wb_buf *out, struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\\' || s.p[i] == '"')
            wb_buf_addc(out, '\\');
        if (s.p[i] == '\n')
            wb_buf_add(out, UPP_STR("\\n"));
        else
            wb_buf_addc(out, s.p[i]);
    }
}

/* name_suffix{label="value",le="0.5"} */
static void write_name(struct wb_buf *out, const struct sv_series *s, const char *suffix, const char *le)
{
    const struct family *f = &families[s->metric];
    unsigned n = labels_of(s->metric);
    wb_buf_add(out, wb_cstr(f->name));
    wb_buf_add(out, wb_cstr(suffix));
    if (n || le)
        wb_buf_addc(out, '{');
    for (unsigned i = 0; i < n; i++) {
        wb_buf_addf(out, "%s%s=\"", i ? "," : "", f->labels[i]);
        write_value(out, s->labels[i]);
        wb_buf_addc(out, '"');
    }
    if (le)
        wb_buf_addf(out, "%sle=\"%s\"", n ? "," : "", le);
    if (n || le)
        wb_buf_addc(out, '}');
    wb_buf_addc(out, ' ');
}

static void write_number(struct wb_buf *out, uint64_t n, bool nanoseconds)
{
    if (nanoseconds)
        wb_buf_addf(out, "%" PRIu64 ".%09" PRIu64 "\n", n / 1000000000, n % 1000000000);
    else
        wb_buf_addf(out, "%" PRIu64 "\n", n);
}

/* The count is the sum of the buckets that were read, so that they fit together while the loop goes on counting. */
static void write_histogram(struct wb_buf *out, const struct sv_series *s)
{
    uint64_t below = 0, all;
    for (size_t i = 0; i < SV_BUCKETS; i++) {
        below += get(&s->buckets[i]);
        write_name(out, s, "_bucket", buckets[i].text);
        write_number(out, below, false);
    }
    all = WB_MAX(below, get(&s->value));
    write_name(out, s, "_bucket", "+Inf");
    write_number(out, all, false);
    write_name(out, s, "_sum", NULL);
    write_number(out, get(&s->sum), true);
    write_name(out, s, "_count", NULL);
    write_number(out, all, false);
}

static int compare(const void *a, const void *b)
{
    const struct sv_series *x = *(struct sv_series *const *)a, *y = *(struct sv_series *const *)b;
    int r = (x->metric > y->metric) - (x->metric < y->metric);
    for (unsigned i = 0; !r && i < SV_LABELS; i++)
        r = wb_str_cmp(x->labels[i], y->labels[i]);
    return r;
}

void sv_metrics_write(const struct sv_metrics *m, struct wb_buf *out)
{
    struct sv_series **list = wb_calloc(SV_SERIES + 1, sizeof *list);
    size_t n = 0;
    if (!list) {
        out->failed = out->failed ? out->failed : -UPP_ENOMEM;
        return;
    }
    for (size_t i = 0; i < WB_LEN(m->slots); i++) {
        struct sv_series *s = atomic_load_explicit(&m->slots[i], memory_order_acquire);
        if (s && n < SV_SERIES)
            list[n++] = s;
    }
    qsort(list, n, sizeof(struct sv_series *), compare);
    for (size_t i = 0; i < n; i++) {
        const struct family *f = &families[list[i]->metric];
        if (i == 0 || list[i - 1]->metric != list[i]->metric)
            wb_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name,
                        f->kind == COUNTER ? "counter"
                        : f->kind == GAUGE ? "gauge"
                                           : "histogram");
        if (f->kind == HISTOGRAM)
            write_histogram(out, list[i]);
        else {
            write_name(out, list[i], "", NULL);
            write_number(out, get(&list[i]->value), f->nanoseconds);
        }
    }
    wb_free(list);
}
