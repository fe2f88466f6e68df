/* server/ops/telemetry_span.c — writes a span as OTLP's JSON, and derives the ids of spans. */
#include "server/ops/telemetry_span.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/random.h"
#include "base/utf8.h"
#include "json/write.h"

static void add_attribute(struct sv_span *s, struct sv_attribute a)
{
    if (s->n < SV_SPAN_ATTRIBUTES)
        s->attributes[s->n++] = a;
}

void sv_span_text(struct sv_span *s, const char *key, struct upp_str text)
{
    if (text.n)
        add_attribute(s, (struct sv_attribute){.key = key, .text = text});
}

void sv_span_number(struct sv_span *s, const char *key, uint64_t number)
{
    add_attribute(s, (struct sv_attribute){.key = key, .number = number});
}

void sv_span_list(struct sv_span *s, const char *key, struct upp_str only)
{
    if (only.n)
        add_attribute(s, (struct sv_attribute){.key = key, .text = only, .list = true});
}

static struct upp_str shorten(struct upp_str s)
{
    return wb_str_sub(s, 0, wb_utf8_cut(s, SV_SPAN_TEXT));
}

static void put_string_value(struct wj_writer *w, struct upp_str s)
{
    wj_write_open(w, '{');
    wj_put_str(w, "stringValue", shorten(s));
    wj_write_close(w, '}');
}

/* 64-bit numbers are strings: a reader in JavaScript has no others. */
static void put_number(struct wj_writer *w, const char *name, uint64_t n)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%" PRIu64, n);
    wj_put_str(w, name, wb_str(text, (size_t)len));
}

static void put_span_id(struct wj_writer *w, const char *name, uint64_t id)
{
    char text[17];
    (void)snprintf(text, sizeof text, "%016" PRIx64, id);
    wj_put_str(w, name, wb_str(text, 16));
}

static void put_attribute(struct wj_writer *w, const struct sv_attribute *a)
{
    wj_write_open(w, '{');
    wj_put_str(w, "key", wb_cstr(a->key));
    wj_write_name(w, UPP_STR("value"));
    if (a->list) {
        wj_write_head(w, UPP_STR("{\"arrayValue\":{\"values\":["));
        put_string_value(w, a->text);
        wj_write_close(w, ']');
        wj_write_close(w, '}');
        wj_write_close(w, '}');
    } else if (a->text.p) {
        put_string_value(w, a->text);
    } else {
        wj_write_open(w, '{');
        put_number(w, "intValue", a->number);
        wj_write_close(w, '}');
    }
    wj_write_close(w, '}');
}

static void put_name(struct wj_writer *w, const struct sv_span *s)
{
    char text[2 * SV_SPAN_TEXT + 2];
    struct upp_str operation = shorten(s->operation), subject = shorten(s->subject);
    int n = snprintf(text, sizeof text, "%.*s%s%.*s", UPP_FMT(operation), subject.n ? " " : "", UPP_FMT(subject));
    wj_put_str(w, "name", wb_str(text, (size_t)n));
}

int sv_span_write(const struct sv_span *s, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "traceId", wb_str(s->trace, 32));
    put_span_id(&w, "spanId", s->id);
    if (s->parent)
        put_span_id(&w, "parentSpanId", s->parent);
    put_name(&w, s);
    wj_put_u64(&w, "kind", s->kind);
    put_number(&w, "startTimeUnixNano", s->start_ns);
    put_number(&w, "endTimeUnixNano", s->end_ns);
    wj_put_open(&w, "attributes", '[');
    for (size_t i = 0; i < s->n; i++)
        put_attribute(&w, &s->attributes[i]);
    wj_write_close(&w, ']');
    if (s->link[0]) {
        wj_put_open(&w, "links", '[');
        wj_write_open(&w, '{');
        wj_put_str(&w, "traceId", wb_str(s->link, 32));
        put_span_id(&w, "spanId", s->linked);
        wj_write_close(&w, '}');
        wj_write_close(&w, ']');
    }
    if (s->failed) { /* 2: an error. Its text is left out: a provider's may repeat what a user said */
        wj_put_open(&w, "status", '{');
        wj_put_u64(&w, "code", 2);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

void sv_span_begin_batch(struct wb_buf *out)
{
    wb_buf_add(out, UPP_STR("{\"resourceSpans\":[{\"resource\":{\"attributes\":["
                            "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"weft\"}},"
                            "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"" UPP_VERSION "\"}}]},"
                            "\"scopeSpans\":[{\"scope\":{\"name\":\"weft\",\"version\":\"" UPP_VERSION "\"},"
                            "\"spans\":["));
}

void sv_span_end_batch(struct wb_buf *out)
{
    wb_buf_add(out, UPP_STR("]}]}]}"));
}

enum { OF_RUN = 1, OF_REQUEST, OF_CALL };

static uint64_t derive(uint64_t what, struct wb_uuid run, struct upp_str text)
{
    uint64_t bytes = wb_str_hash(wb_str((const char *)run.b, sizeof run.b));
    uint64_t id = wb_mix(bytes + wb_mix(wb_str_hash(text) + what));
    return id ? id : 1;
}

uint64_t sv_span_of_run(struct wb_uuid run)
{
    return derive(OF_RUN, run, UPP_STR(""));
}

uint64_t sv_span_of_request(struct wb_uuid run)
{
    return derive(OF_REQUEST, run, UPP_STR(""));
}

uint64_t sv_span_of_call(struct wb_uuid run, struct upp_str call)
{
    return derive(OF_CALL, run, call);
}

uint64_t sv_span_random(void)
{
    uint64_t id;
    if (wb_random(&id, sizeof id, NULL) < 0)
        return 0;
    return id ? id : 1;
}

uint64_t sv_span_parse(struct upp_str digits)
{
    uint64_t id = 0;
    if (digits.n != 16)
        return 0;
    for (size_t i = 0; i < digits.n; i++) {
        char c = digits.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return 0;
        id = id << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return id;
}
