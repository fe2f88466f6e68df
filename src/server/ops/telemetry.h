/* server/ops/telemetry.h — traces for OpenTelemetry: spans of requests, runs, model calls and tool calls, sent to a
 * collector by OTLP over HTTP, in JSON.
 *
 *     r = sv_telemetry_open(UPP_OPTS(sv_telemetry_opts, .config = &config->telemetry), &t, &err);
 *     r = sv_ops_open(UPP_OPTS(sv_ops_opts, .telemetry = t, ...), &ops, &err);
 *     r = weft_scope_spawn(&scope, "telemetry", sv_telemetry_main, t, NULL, &err);
 *     ...
 *     weft_scope_close(&scope);
 *     sv_telemetry_flush(t);                    // nothing reports any more
 *     sv_telemetry_close(t);
 *
 * It belongs to the loop that opens it; what happens is reported from any loop.
 *
 * Invariants
 *  1. Reporting never suspends and never fails its caller: a span that finds the queue full, or no memory, is dropped
 *     and counted.
 *  2. Queue and batch are bounded, whatever the collector does. A span leaves the queue when the collector has taken
 *     it, or when it is given up.
 *  3. Nothing that somebody or a model wrote is in a span (telemetry_span.h).
 */
#pragma once

#include "run/engine.h"
#include "runtime/config.h"
#include "server/http/route.h"

struct sv_telemetry;

struct sv_telemetry_opts {
    uint32_t size;
    const struct wc_telemetry *config; /* the caller's */
    uint32_t max_queue;                /* spans; 0: 2048 */
    uint32_t max_batch;                /* spans of one request; 0: 512 */
    uint64_t delay_ms;                 /* until a batch that is not full is sent; 0: 2000 */
    uint64_t answer_ms;                /* 0: 10000 */
    uint64_t first_ms;                 /* pause after the first failure of a batch, then twice that; 0: 1000 */
    unsigned max_tries;                /* of a batch; 0: 4 */
    uint64_t flush_ms;                 /* of sv_telemetry_flush; 0: 2000 */
    uint64_t silence_ms;               /* between two log lines about dropped spans; 0: 60000 */
};

struct sv_telemetry_counts {
    uint64_t sent, dropped;
    size_t queued;
};

int sv_telemetry_open(const struct sv_telemetry_opts *opts, struct sv_telemetry **ret,
                      struct upp_err *err) UPP_MUST_CHECK;
void sv_telemetry_close(struct sv_telemetry *t); /* accepts NULL; its fiber has ended */
void sv_telemetry_closep(struct sv_telemetry **t);

struct sv_telemetry_counts sv_telemetry_counts(const struct sv_telemetry *t);

/* A fiber: sends what is reported, until it is cancelled. */
WEFT_SUSPENDS int sv_telemetry_main(void *t, struct upp_err *err);

/* Sends what is in the queue, for at most flush_ms; the rest is dropped and counted. After the fiber has ended.
 * Accepts NULL. */
WEFT_SUSPENDS void sv_telemetry_flush(struct sv_telemetry *t);

/* ---- What happens: telemetry_notes.c ---- */

void sv_telemetry_run(struct sv_telemetry *t, const struct wr_run_note *note);
void sv_telemetry_model(struct sv_telemetry *t, const struct wr_model_note *note);
void sv_telemetry_tool(struct sv_telemetry *t, const struct wr_tool_note *note);
void sv_telemetry_request(struct sv_telemetry *t, const struct sv_exchange *x);

/* ---- Between the files of this folder ---- */

struct sv_span;
struct sv_telemetry_runs; /* telemetry_notes.c: what is known of recent runs */

struct sv_telemetry_runs *sv_telemetry_runs_new(void);       /* NULL: no memory */
void sv_telemetry_runs_free(struct sv_telemetry_runs *runs); /* accepts NULL */
struct sv_telemetry_runs *sv_telemetry_runs_of(const struct sv_telemetry *t);
void sv_telemetry_add(struct sv_telemetry *t, const struct sv_span *span);
