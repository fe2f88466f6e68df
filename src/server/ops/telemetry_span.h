/* server/ops/telemetry_span.h — a span as OTLP/HTTP writes it in JSON, and the ids of spans.
 *
 * Ids of runs, of the requests that start them and of tool calls follow from the run: nothing has to be stored for a
 * run to keep its trace over a restart. https://opentelemetry.io/docs/specs/otlp: ids are hex, 64-bit numbers are
 * strings.
 *
 * A span holds names, ids, numbers and times, and never what somebody or a model wrote.
 */
#pragma once

#include "base/buf.h"
#include "base/uuid.h"

enum sv_span_kind { SV_SPAN_INTERNAL = 1, SV_SPAN_SERVER, SV_SPAN_CLIENT };

enum {
    SV_SPAN_ATTRIBUTES = 16,
    SV_SPAN_TEXT = 256,     /* bytes of one text; more are cut */
    SV_SPAN_MAX = 16 << 10, /* bytes of a span in JSON */
};

struct sv_attribute {
    const char *key;
    struct upp_str text; /* NULL: a number */
    uint64_t number;
    bool list; /* a list of this one text */
};

struct sv_span {
    char trace[33]; /* 32 hex digits */
    uint64_t id, parent /* 0: none */;
    char link[33]; /* trace of another span; empty: none */
    uint64_t linked;
    uint8_t kind;                      /* enum sv_span_kind */
    struct upp_str operation, subject; /* its name is both */
    uint64_t start_ns, end_ns;         /* since 1970 */
    bool failed;
    struct sv_attribute attributes[SV_SPAN_ATTRIBUTES];
    size_t n;
};

/* A text that is NULL or empty is left out. */
void sv_span_text(struct sv_span *s, const char *key, struct upp_str text);
void sv_span_number(struct sv_span *s, const char *key, uint64_t number);
void sv_span_list(struct sv_span *s, const char *key, struct upp_str only);

int sv_span_write(const struct sv_span *s, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* What comes before and after the spans of a batch, which commas separate. */
void sv_span_begin_batch(struct wb_buf *out);
void sv_span_end_batch(struct wb_buf *out);

/* ---- Ids: never 0 ---- */

uint64_t sv_span_of_run(struct wb_uuid run);
uint64_t sv_span_of_request(struct wb_uuid run); /* that started it, without a traceparent */
uint64_t sv_span_of_call(struct wb_uuid run, struct upp_str call);
uint64_t sv_span_random(void);                 /* 0: there is no randomness */
uint64_t sv_span_parse(struct upp_str digits); /* 16 hex digits; 0: not */
