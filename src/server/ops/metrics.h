/* server/ops/metrics.h — counters, gauges and histograms, written in Prometheus' text format.
 *
 *     const struct upp_str labels[] = {agent, UPP_STR("completed")};
 *     sv_metrics_add(m, SV_RUNS_TOTAL, labels, 1);
 *
 * A registry belongs to one loop, which alone changes it; any thread may read it. Numbers are stored and read as
 * relaxed atomics, without a locked instruction, and a series is published whole and never moves. A page is the sum of
 * all loops' registries (sv_metrics_merge) and of gauges that are read at that moment.
 *
 * Invariants
 *  1. A family has at most SV_SERIES_EACH series; what would be one more is counted with the labels `other`. So memory
 *     is bounded, whatever the labels are.
 *  2. Nothing here fails its caller: without memory an event is not counted, which weft_metrics_dropped_total counts.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"

enum sv_metric {
    SV_HTTP_REQUESTS, /* method, route, status */
    SV_HTTP_DURATION, /* route */
    SV_HTTP_BYTES,
    SV_HTTP_CONNECTIONS,
    SV_HTTP_STREAMS,
    SV_HTTP_HELD,
    SV_RUNS, /* state */
    SV_RUNS_CUT,
    SV_RUNS_TOTAL,     /* agent, outcome */
    SV_RUN_DURATION,   /* agent */
    SV_MODEL_REQUESTS, /* model, outcome */
    SV_MODEL_DURATION, /* model */
    SV_MODEL_TOKENS,   /* model, kind */
    SV_TOOL_CALLS,     /* tool, outcome */
    SV_TOOL_DURATION,  /* tool */
    SV_MODELS_DOWN,
    SV_STORE_STATE, /* state */
    SV_STORE_COMMITS,
    SV_STORE_TRANSACTIONS,
    SV_STORE_SYNCS,
    SV_STORE_BYTES,
    SV_STORE_FILES, /* file */
    SV_STORE_COMMIT_DURATION,
    SV_SWEEP_DAMAGED,
    SV_SWEEP_FAILING,
    SV_KEY_REQUESTS, /* tenant, key */
    SV_KEY_RUNS,     /* tenant, key */
    SV_KEY_TOKENS,   /* tenant, key, kind */
    SV_TLS_EXPIRES,
    SV_LOG_LOST,
    SV_TELEMETRY_SENT,
    SV_TELEMETRY_DROPPED,
    SV_DROPPED,
    SV_BUILD_INFO, /* version, commit */
    SV_PROCESS_CPU,
    SV_PROCESS_MEMORY,
    SV_PROCESS_VIRTUAL,
    SV_PROCESS_FDS,
    SV_PROCESS_MAX_FDS,
    SV_PROCESS_START,
    SV_METRICS_N,
};

enum {
    SV_LABELS = 3,        /* of a series, at most */
    SV_BUCKETS = 17,      /* of a histogram, without the infinite one */
    SV_SERIES_EACH = 512, /* of a family, at most */
    SV_SERIES = 2048,     /* of a registry, at most */
};

struct sv_series {
    uint64_t hash;
    uint8_t metric; /* enum sv_metric */
    struct upp_str labels[SV_LABELS];
    _Atomic uint64_t value;     /* of a histogram: how many were observed */
    _Atomic uint64_t sum;       /* of a histogram: nanoseconds */
    _Atomic uint64_t buckets[]; /* of a histogram: SV_BUCKETS numbers, each without those below it */
};

struct sv_metrics {
    _Atomic(struct sv_series *) slots[2 * SV_SERIES];
    uint32_t n, each[SV_METRICS_N];
    _Atomic uint64_t dropped;
};

struct sv_metrics *sv_metrics_new(void); /* NULL: no memory */
void sv_metrics_free(struct sv_metrics *m);
void sv_metrics_freep(struct sv_metrics **m);

/* As many labels as the family has; NULL: it has none. */
void sv_metrics_add(struct sv_metrics *m, enum sv_metric which, const struct upp_str *labels, uint64_t n);
void sv_metrics_set(struct sv_metrics *m, enum sv_metric which, const struct upp_str *labels, uint64_t n);
void sv_metrics_observe(struct sv_metrics *m, enum sv_metric which, const struct upp_str *labels, uint64_t ns);

/* Adds all series of `from`, which another loop may be changing. */
void sv_metrics_merge(struct sv_metrics *into, const struct sv_metrics *from);

/* The text format 0.0.4: every family with HELP and TYPE, its series sorted by their labels. */
void sv_metrics_write(const struct sv_metrics *m, struct wb_buf *out);
