/* Spans as JSON, their ids, and the queue before a collector that takes, refuses, fails or hangs. */
#include "server/ops/telemetry.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "server/ops/telemetry_span.h"
#include "server/talk.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

/* ---- A span ---- */

TEST(telemetry_span_is_otlp_json)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(SV_SPAN_MAX);
    struct upp_err err = {0};
    struct sv_span span = {.trace = TRACE,
                           .id = 0x0f067aa0ba902b7,
                           .parent = 1,
                           .link = TRACE,
                           .linked = UINT64_MAX,
                           .kind = SV_SPAN_CLIENT,
                           .operation = UPP_STR("chat"),
                           .subject = UPP_STR("m\"1"),
                           .start_ns = 1,
                           .end_ns = UINT64_MAX,
                           .failed = true};
    sv_span_text(&span, "a", UPP_STR("x"));
    sv_span_text(&span, "none", UPP_STR(""));
    sv_span_number(&span, "n", 9007199254740993);
    sv_span_list(&span, "l", UPP_STR("stop"));
    CHECK_INT(sv_span_write(&span, &b, &err), 0);
    CHECK_STR(wb_buf_str(&b),
              UPP_STR("{\"traceId\":\"" TRACE
                      "\",\"spanId\":\"00f067aa0ba902b7\",\"parentSpanId\":\"0000000000000001\","
                      "\"name\":\"chat m\\\"1\",\"kind\":3,\"startTimeUnixNano\":\"1\","
                      "\"endTimeUnixNano\":\"18446744073709551615\",\"attributes\":["
                      "{\"key\":\"a\",\"value\":{\"stringValue\":\"x\"}},"
                      "{\"key\":\"n\",\"value\":{\"intValue\":\"9007199254740993\"}},"
                      "{\"key\":\"l\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"stop\"}]}}}],"
                      "\"links\":[{\"traceId\":\"" TRACE "\",\"spanId\":\"ffffffffffffffff\"}],"
                      "\"status\":{\"code\":2}}"));
}

TEST(telemetry_span_has_limits)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(SV_SPAN_MAX);
    struct upp_err err = {0};
    struct sv_span span = {.trace = TRACE, .id = 1, .operation = UPP_STR("x")};
    char text[SV_SPAN_TEXT + 2];
    memset(text, 'a', sizeof text);
    memcpy(text + SV_SPAN_TEXT - 1, "\xc3\xa9", 2); /* cut between characters */
    for (size_t i = 0; i < 2 * (size_t)SV_SPAN_ATTRIBUTES; i++)
        sv_span_text(&span, "k", wb_str(text, sizeof text));
    CHECK_INT(span.n, SV_SPAN_ATTRIBUTES);
    span.subject = wb_str(text, sizeof text);
    CHECK_INT(sv_span_write(&span, &b, &err), 0);
    CHECK(wb_str_find(wb_buf_str(&b), wb_str(text, SV_SPAN_TEXT - 1), 0) != SIZE_MAX);
    CHECK(wb_str_find(wb_buf_str(&b), UPP_STR("\xc3"), 0) == SIZE_MAX);
}

TEST(telemetry_ids_follow_from_the_run)
{
    struct wb_uuid a = {{1, 2, 3}}, b = {{1, 2, 4}};
    uint64_t ids[] = {sv_span_of_run(a),
                      sv_span_of_run(b),
                      sv_span_of_request(a),
                      sv_span_of_call(a, UPP_STR("c1")),
                      sv_span_of_call(a, UPP_STR("c2")),
                      sv_span_of_call(b, UPP_STR("c1")),
                      sv_span_of_call(a, UPP_STR(""))};
    for (size_t i = 0; i < WB_LEN(ids); i++)
        for (size_t j = 0; j < i; j++)
            CHECK(ids[i] && ids[i] != ids[j]);
    CHECK(sv_span_of_run(a) == ids[0] && sv_span_of_call(a, UPP_STR("c1")) == ids[3]);
    CHECK(sv_span_parse(UPP_STR("00f067aa0ba902b7")) == 0xf067aa0ba902b7);
    CHECK(!sv_span_parse(UPP_STR("00F067aa0ba902b7")) && !sv_span_parse(UPP_STR("0f067aa0ba902b7")));
}

/* ---- The queue ---- */

static struct sv_span numbered(uint64_t i)
{
    return (struct sv_span){.trace = TRACE, .id = i, .operation = UPP_STR("test"), .kind = SV_SPAN_INTERNAL};
}

static void add(struct sv_telemetry *t, uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++) {
        struct sv_span s = numbered(i);
        sv_telemetry_add(t, &s);
    }
}

TEST(telemetry_queue_drops_what_is_too_much)
{
    UPP_CLEANUP(sv_telemetry_closep) struct sv_telemetry *t = NULL;
    struct upp_err err = {0};
    struct wc_telemetry config = {.otlp = UPP_STR("http://127.0.0.1:9")};
    CHECK_INT(sv_telemetry_open(UPP_OPTS(sv_telemetry_opts, .config = &config, .max_queue = 4), &t, &err), 0);
    add(t, 6);
    struct sv_telemetry_counts c = sv_telemetry_counts(t);
    ALWAYS(c.queued + c.dropped == 6 && c.queued <= 4);
    CHECK_INT(c.dropped, 2);
}

/* ---- A collector ---- */

struct collection {
    uint64_t spans;
    int status; /* of the first `failures` answers */
    unsigned failures;
    const char *after, *body;
    struct sv_telemetry_opts opts;
    uint64_t sent, dropped, tries; /* what there is at the end */
    bool flush;                    /* without the fiber */
    bool hangs;
    unsigned requests; /* so far */
    size_t received;   /* spans */
};

static WEFT_SUSPENDS int collects(struct sv_exchange *x, struct upp_err *err)
{
    struct talk *t = x->server->opts.app;
    struct collection *c = t->arg;
    struct upp_str body = wb_buf_str(&x->request->body);
    c->requests++;
    if (c->hangs)
        return weft_sleep_ms(3000, err);
    bool ok = c->requests > c->failures;
    x->reply.status = ok ? 200 : c->status;
    for (size_t at = 0; ok && (at = wb_str_find(body, UPP_STR("\"traceId\""), at)) != SIZE_MAX; at++)
        c->received++;
    if (!ok && c->after)
        sv_reply_header(&x->reply, "retry-after", wb_cstr(c->after));
    wb_buf_add(&x->reply.body, c->body && ok ? wb_cstr(c->body) : UPP_STR("{}"));
    return 0;
}

static const struct sv_route rows[] = {{SV_POST, "/v1/traces", collects, 0, 0}};
static const struct sv_door door = {.name = "otlp", .prefix = "/", .routes = rows, .n_routes = 1};
static const struct sv_door *const doors[] = {&door, NULL};

static WEFT_SUSPENDS int reports(struct talk *t, struct upp_err *err)
{
    struct collection *c = t->arg;
    UPP_CLEANUP(sv_telemetry_closep) struct sv_telemetry *s = NULL;
    UPP_CLEANUP(weft_scope_close) struct weft_scope fibers = {.flags = WEFT_SCOPE_ISOLATED};
    struct wc_telemetry config = {.otlp = wb_cstr(sv_server_url(t->server, 0))};
    struct sv_telemetry_opts opts = c->opts;
    struct sv_telemetry_counts count;
    opts.size = sizeof opts;
    opts.config = &config;
    TRY(sv_telemetry_open(&opts, &s, err));
    add(s, c->spans);
    uint64_t since = wb_mono_ms();
    if (c->flush)
        sv_telemetry_flush(s);
    else
        TRY(weft_scope_spawn(&fibers, "telemetry", sv_telemetry_main, s, NULL, err));
    while (count = sv_telemetry_counts(s), count.sent + count.dropped < c->spans) {
        FAIL_UNLESS(wb_mono_ms() - since < 4000);
        TRY(weft_sleep_ms(5, err));
    }
    FAIL_UNLESS(!c->hangs || wb_mono_ms() - since < 2000);
    test_note("sent %d dropped %d requests %u", (int)count.sent, (int)count.dropped, c->requests);
    FAIL_UNLESS(count.queued == 0 && count.sent == c->sent && count.dropped == c->dropped);
    FAIL_UNLESS(c->hangs || (c->requests == c->tries && c->received >= c->sent));
    return 0;
}

static int play(struct collection *c)
{
    struct upp_err err = {0};
    struct talk t = {.client = reports, .arg = c, .opts = {.doors = doors}};
    return talk_run(&t, &err);
}

TEST(telemetry_delivers)
{
    struct collection c = {.spans = 3, .sent = 3, .tries = 1, .opts = {.delay_ms = 10, .first_ms = 5}};
    CHECK_INT(play(&c), 0);
}

#define PLAIN .no_torture = "telemetry_delivers is"

TEST_WITH(telemetry_sends_batches, PLAIN)
{
    struct collection c = {.spans = 10, .sent = 10, .tries = 3, .opts = {.delay_ms = 10, .max_batch = 4}};
    CHECK_INT(play(&c), 0);
}

TEST_WITH(telemetry_tries_again, PLAIN)
{
    static const int statuses[] = {429, 502, 503, 504};
    for (size_t i = 0; i < WB_LEN(statuses); i++) {
        struct collection c = {.spans = 3,
                               .sent = 3,
                               .status = statuses[i],
                               .failures = 2,
                               .tries = 3,
                               .opts = {.delay_ms = 10, .first_ms = 5}};
        CHECK_INT(play(&c), 0);
    }
}

TEST_WITH(telemetry_gives_up_a_batch, PLAIN)
{
    struct collection c = {.spans = 5, /* two batches */
                           .sent = 2,
                           .dropped = 3,
                           .status = 503,
                           .failures = 3,
                           .tries = 4,
                           .opts = {.delay_ms = 10, .first_ms = 5, .max_tries = 3, .max_batch = 3}};
    CHECK_INT(play(&c), 0);
}

TEST_WITH(telemetry_does_not_repeat_what_is_refused, PLAIN)
{
    static const int statuses[] = {400, 401, 404, 413, 500, 501};
    for (size_t i = 0; i < WB_LEN(statuses); i++) {
        struct collection c = {.spans = 3,
                               .dropped = 3,
                               .status = statuses[i],
                               .failures = 1,
                               .tries = 1,
                               .opts = {.delay_ms = 10, .first_ms = 5}};
        CHECK_INT(play(&c), 0);
    }
}

TEST_WITH(telemetry_counts_what_a_collector_rejects, PLAIN)
{
    static const struct {
        const char *body;
        uint64_t rejected;
    } cases[] = {{"{\"partialSuccess\":{\"rejectedSpans\":\"2\"}}", 2},
                 {"{\"partialSuccess\":{\"rejectedSpans\":2}}", 2},
                 {"{\"partialSuccess\":{\"rejectedSpans\":99}}", 3},
                 {"{\"partialSuccess\":{\"rejectedSpans\":-1}}", 0},
                 {"{\"partialSuccess\":{}}", 0},
                 {"{\"partialSuccess\":7}", 0},
                 {"[]", 0},
                 {"not json", 0}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct collection c = {.spans = 3,
                               .sent = 3 - cases[i].rejected,
                               .dropped = cases[i].rejected,
                               .body = cases[i].body,
                               .tries = 1,
                               .opts = {.delay_ms = 10}};
        test_note("%s", cases[i].body);
        CHECK_INT(play(&c), 0);
    }
}

TEST_WITH(telemetry_flushes, PLAIN)
{
    struct collection c = {.spans = 5, .sent = 5, .flush = true, .tries = 2, .opts = {.max_batch = 3}};
    CHECK_INT(play(&c), 0);
}

TEST_WITH(telemetry_flush_has_a_limit, PLAIN)
{
    struct collection c = {.spans = 5, .dropped = 5, .flush = true, .hangs = true, .opts = {.flush_ms = 100}};
    CHECK_INT(play(&c), 0);
}
