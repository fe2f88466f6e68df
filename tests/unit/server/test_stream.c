#include "server/http/stream.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "server/sse_parse.h"
#include "server/talk.h"

#define HOST "Host: localhost\r\n"

static void donep(struct talk_reply *r)
{
    talk_reply_done(r);
}

struct seen {
    size_t n, wrong;
};

static void sees(void *arg, const struct sse_event *ev)
{
    struct seen *s = arg;
    char id[32];
    s->n++;
    (void)snprintf(id, sizeof id, "1-%zu.1", s->n);
    s->wrong += !wb_str_eq(ev->data, UPP_STR("0123456789")) || !wb_str_eq(ev->name, UPP_STR("tick")) ||
                !wb_str_eq(ev->id, wb_cstr(id));
}

static int streams(struct talk *t, struct upp_err *err)
{
    static const struct {
        const char *request;
        bool keep_alive, chunked;
    } cases[] = {
        {"GET /stream HTTP/1.1\r\n" HOST "\r\n", true, true},
        {"GET /stream HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", false, true},
        {"GET /stream HTTP/1.0\r\n\r\n", false, false},
        {"GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false, false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(donep) struct talk_reply r;
        struct seen s = {0, 0};
        struct sse_parser p;
        talk_reply_init(&r);
        test_note("%s", cases[i].request);
        TRY(talk_once(t, wb_cstr(cases[i].request), &r, err));
        FAIL_UNLESS(r.status == 200 && r.keep_alive == cases[i].keep_alive && r.chunked == cases[i].chunked);
        FAIL_UNLESS(wb_str_eq(talk_header(&r, UPP_STR("content-type")), UPP_STR("text/event-stream")));
        FAIL_UNLESS(wb_str_eq(talk_header(&r, UPP_STR("cache-control")), UPP_STR("no-store, no-transform")));
        FAIL_UNLESS(wb_str_eq(talk_header(&r, UPP_STR("x-test")), UPP_STR("yes")));
        FAIL_UNLESS(sse_parse(wb_buf_str(&r.body), &p, sees, &s));
        FAIL_UNLESS(s.n == t->limit && s.wrong == 0);
    }
    WB_CLEANUP(donep) struct talk_reply r;
    talk_reply_init(&r);
    TRY(talk_once(t, UPP_STR("HEAD /stream HTTP/1.1\r\n" HOST "\r\n"), &r, err));
    FAIL_UNLESS(r.status == 200 && r.chunked && t->streams == 0);
    test_note("%s", "");
    return 0;
}

TEST(stream_is_read_back)
{
    for (uint64_t seed = 0; seed <= 3; seed++) {
        struct upp_err err = {0};
        struct talk t = {.client = streams, .simulated = seed > 0, .seed = seed, .limit = 500};
        int r = talk_run(&t, &err);
        test_note("seed %d: %s", (int)seed, err.msg);
        CHECK_INT(r, 0);
    }
}

/* A stream that fails before it began has a status of its own, and the connection goes on; later it ends with it. */
static int fails_early(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    static const char first[] = "GET /stream/1 HTTP/1.1\r\n" HOST "\r\n";
    static const char third[] = "GET /stream/3 HTTP/1.1\r\n" HOST "\r\n";
    talk_reply_init(&r);
    TRY(talk_connect(t, 0, &fd, err));
    for (int i = 0; i < 2; i++) {
        TRY(weft_send(fd, first, sizeof first - 1, err));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == 500 && r.keep_alive && !r.chunked && !talk_header(&r, UPP_STR("x-test")).n);
        FAIL_UNLESS(wb_str_find(wb_buf_str(&r.body), UPP_STR("\"store_error\""), 0) != SIZE_MAX);
    }
    TRY(weft_send(fd, third, sizeof third - 1, err));
    wb_buf_clear(&r.body);
    int64_t n = talk_read_end(fd, &r, err);
    TRY((int)n);
    test_note("%.*s", UPP_FMT(wb_buf_str(&r.body)));
    FAIL_UNLESS(wb_str_starts(wb_buf_str(&r.body), UPP_STR("HTTP/1.1 200 OK\r\n")));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&r.body), UPP_STR("\r\n0\r\n\r\n"), 0) == SIZE_MAX);
    return 0;
}

TEST(stream_that_fails_at_once_says_so_with_a_status)
{
    struct upp_err err = {0};
    struct talk t = {.client = fails_early, .simulated = true, .seed = 7};
    CHECK_INT(talk_run(&t, &err), 0);
}

static void counts(void *arg, const struct sse_event *ev)
{
    ++*(size_t *)arg;
    (void)ev;
}

/* A connection goes on after a stream that ended; nothing happens for long: pings. */
static int pings(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    static const char get[] = "GET /stream HTTP/1.1\r\n" HOST "\r\n";
    static const char quiet[] = "GET /quiet HTTP/1.1\r\n" HOST "\r\n";
    talk_reply_init(&r);
    TRY(talk_connect(t, 0, &fd, err));
    for (int i = 0; i < 2; i++) {
        TRY(weft_send(fd, get, sizeof get - 1, err));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == 200);
    }
    TRY(weft_send(fd, quiet, sizeof quiet - 1, err));
    TRY(weft_sleep_ms(61000, err));
    FAIL_UNLESS(t->streams == 1);
    sv_server_stop(t->server);
    TRY(talk_read(fd, &r, false, err)); /* it ends well: with a last chunk */
    struct sse_parser p;
    size_t n = 0;
    FAIL_UNLESS(sse_parse(wb_buf_str(&r.body), &p, counts, &n));
    FAIL_UNLESS(n == 1 && p.comments == 5); /* four pings and a goodbye */
    int64_t left = talk_read_end(fd, &r, err);
    TRY((int)left);
    FAIL_UNLESS(left == 0 && t->streams == 0);
    return 0;
}

TEST(stream_pings_and_says_goodbye)
{
    struct upp_err err = {0};
    struct talk t = {.client = pings, .simulated = true, .seed = 5, .limit = 3};
    int r = talk_run(&t, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* A reader that takes nothing is cut after 30 s and has cost little; one that left is noticed. */
static int gone(struct talk *t, struct upp_err *err)
{
    static const char get[] = "GET /stream HTTP/1.1\r\n" HOST "\r\n", quiet[] = "GET /quiet HTTP/1.1\r\n" HOST "\r\n";
    UPP_CLEANUP(test_closep) int fd = -1, other = -1;
    TRY(talk_connect(t, 0, &fd, err));
    TRY(weft_send(fd, get, sizeof get - 1, err));
    TRY(weft_sleep_ms(29000, err));
    FAIL_UNLESS(t->streams == 1);
    TRY(weft_sleep_ms(2000, err));
    FAIL_UNLESS(t->streams == 0 && t->server->n_conns == 0);

    TRY(talk_connect(t, 0, &other, err));
    TRY(weft_send(other, quiet, sizeof quiet - 1, err));
    TRY(weft_sleep_ms(1000, err));
    FAIL_UNLESS(t->streams == 1);
    test_closep(&other);
    TRY(weft_sleep_ms(16000, err));
    FAIL_UNLESS(t->streams == 0 && t->server->n_conns == 0);
    return 0;
}

TEST(stream_readers_that_do_not_read)
{
    struct upp_err err = {0};
    struct talk t = {.client = gone, .simulated = true, .seed = 6};
    int r = talk_run(&t, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}
