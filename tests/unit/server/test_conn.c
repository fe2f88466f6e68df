#include "server/http/conn.h"

#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/defs.h"
#include "server/talk.h"

#define HOST "Host: localhost\r\n"

static void donep(struct talk_reply *r)
{
    talk_reply_done(r);
}

/* ---- One request, many shapes: in the simulated world, where bytes come cut and late ---- */

static int shapes(struct talk *t, struct upp_err *err)
{
    static const struct {
        const char *request;
        int status;
        bool keep_alive;
        const char *body; /* NULL: an error object */
    } cases[] = {
        {"GET /empty HTTP/1.1\r\n" HOST "\r\n", 200, true, "{}"},
        {"GET /empty HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", 200, false, "{}"},
        {"GET /empty HTTP/1.0\r\n\r\n", 200, false, "{}"},
        {"GET /empty HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, true, "{}"},
        {"HEAD /empty HTTP/1.1\r\n" HOST "\r\n", 200, true, ""},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 200, true, "hello"},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 200, true, ""},
        {"POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 200, true,
         "hello"},
        {"GET /echo/a%20b/x/c?q=%21 HTTP/1.1\r\n" HOST "\r\n", 200, true, "a b c ! local"},
        {"GET /echo/a%2/x/c HTTP/1.1\r\n" HOST "\r\n", 400, true, NULL},
        {"GET /echo/a/x/c?q=1&q=2 HTTP/1.1\r\n" HOST "\r\n", 400, true, NULL},
        {"POST /small HTTP/1.1\r\n" HOST "Content-Length: 16\r\n\r\n0123456789abcdef", 200, true, "0123456789abcdef"},
        {"POST /small HTTP/1.1\r\n" HOST "Content-Length: 17\r\n\r\n0123456789abcdefg", 413, false, NULL},
        {"POST /small HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n11\r\n0123456789abcdefg\r\n0\r\n\r\n", 413,
         false, NULL},
        {"GET /none HTTP/1.1\r\n" HOST "\r\n", 404, true, NULL},
        {"POST /none HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab", 404, false, NULL},
        {"DELETE /empty HTTP/1.1\r\n" HOST "\r\n", 405, true, NULL},
        {"PROPFIND /empty HTTP/1.1\r\n" HOST "\r\n", 405, true, NULL},
        {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 404, true, NULL},
        {"GET /fail/13 HTTP/1.1\r\n" HOST "\r\n", 404, true, NULL},
        {"GET /fail/15 HTTP/1.1\r\n" HOST "\r\n", 400, true, NULL},
        {"GET /fail/20 HTTP/1.1\r\n" HOST "\r\n", 500, true, NULL},
        {"GET /livez HTTP/1.1\r\n" HOST "\r\n", 200, true, "{\"status\":\"ok\"}"},
        {"GET /readyz HTTP/1.1\r\n" HOST "\r\n", 200, true, "{\"status\":\"ok\"}"},
        {"GET /livez HTTP/1.1\r\n\r\n", 400, false, NULL},
        {"GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, false, NULL},
        {"GET http://evil.example/livez HTTP/1.1\r\n" HOST "\r\n", 421, false, NULL},
        {"GET /livez HTTP/1.1\r\n" HOST "Origin: http://localhost\r\n\r\n", 200, true, "{\"status\":\"ok\"}"},
        {"GET /livez HTTP/1.1\r\n" HOST "Origin: https://evil.example\r\n\r\n", 403, false, NULL},
        {"GET /livez HTTP/1.1\r\n" HOST "Origin: http://localhost\r\nOrigin: http://localhost\r\n\r\n", 403, false,
         NULL},
        {"nonsense\r\n\r\n", 400, false, NULL},
        {"GET / HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n", 400, false, NULL},
        {"POST /echo HTTP/1.1\r\n" HOST
         "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /empty HTTP/1.1\r\n" HOST "\r\n",
         400, false, NULL},
    };
    WB_CLEANUP(donep) struct talk_reply r;
    talk_reply_init(&r);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        test_note("%.60s", cases[i].request);
        TRY(talk_once(t, wb_cstr(cases[i].request), &r, err));
        if (!test_expect_int(r.status, cases[i].status, __FILE__, __LINE__, "status"))
            return -UPP_EBUG;
        FAIL_UNLESS(r.keep_alive == cases[i].keep_alive);
        FAIL_UNLESS(r.status != 405 || wb_str_eq(talk_header(&r, UPP_STR("allow")), UPP_STR("GET, HEAD")));
        FAIL_UNLESS(talk_header(&r, UPP_STR("x-request-id")).n == 36);
        FAIL_UNLESS(talk_header(&r, UPP_STR("date")).n == 29);
        if (cases[i].body)
            FAIL_UNLESS(wb_str_eq(wb_buf_str(&r.body), wb_cstr(cases[i].body)));
        else
            FAIL_UNLESS(wb_str_starts(wb_buf_str(&r.body), UPP_STR("{\"error\":{\"message\":")));
    }
    test_note("%s", "");
    return 0;
}

TEST(conn_answers)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct talk t = {.client = shapes, .simulated = true, .seed = seed};
        struct upp_err err = {0};
        int r = talk_run(&t, &err);
        test_note("seed %d: %s", (int)seed, err.msg);
        CHECK_INT(r, 0);
    }
}

TEST(conn_answers_on_sockets)
{
    struct talk t = {.client = shapes};
    struct upp_err err = {0};
    int r = talk_run(&t, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* ---- Many requests on one connection ---- */

/* All at once: they are answered one by one, in their order. */
static int pipelines(struct talk *t, struct upp_err *err)
{
    static const char first[] = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n";
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(1u << 20);
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    talk_reply_init(&r);
    for (int i = 0; i < 100; i++) {
        wb_buf_addf(&all, "%s%03d", first, i);
        if (i % 10 == 0)
            wb_buf_add(&all, UPP_STR("HEAD /empty HTTP/1.1\r\n" HOST "\r\nGET /none HTTP/1.1\r\n" HOST "\r\n"));
    }
    wb_buf_add(&all,
               UPP_STR("GET /empty HTTP/1.1\r\n" HOST "Connection: close\r\n\r\nGET /empty HTTP/1.1\r\n" HOST "\r\n"));
    TRY(wb_buf_check(&all, err));
    TRY(talk_connect(t, 0, &fd, err));
    TRY(weft_send(fd, all.p, all.n, err));
    for (int i = 0; i < 100; i++) {
        char want[16];
        (void)snprintf(want, sizeof want, "%03d", i);
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == 200 && wb_str_eq(wb_buf_str(&r.body), wb_cstr(want)));
        if (i % 10 == 0) {
            TRY(talk_read(fd, &r, true, err));
            FAIL_UNLESS(r.status == 200 && wb_str_eq(talk_header(&r, UPP_STR("content-length")), UPP_STR("2")));
            TRY(talk_read(fd, &r, false, err));
            FAIL_UNLESS(r.status == 404);
        }
    }
    TRY(talk_read(fd, &r, false, err));
    FAIL_UNLESS(r.status == 200 && !r.keep_alive);
    int64_t n = talk_read_end(fd, &r, err); /* what came behind the last one is not answered */
    TRY((int)n);
    FAIL_UNLESS(n == 0);
    FAIL_UNLESS(t->server->count.requests == 121);
    return 0;
}

TEST(conn_pipelines)
{
    struct upp_err err = {0};
    for (uint64_t seed = 0; seed <= 3; seed++) {
        struct talk t = {.client = pipelines, .simulated = seed > 0, .seed = seed};
        int r = talk_run(&t, &err);
        test_note("seed %d: %s", (int)seed, err.msg);
        CHECK_INT(r, 0);
    }
}

/* Cut at every place, with a pause in between in which the first part is read. */
static int cuts(struct talk *t, struct upp_err *err)
{
    static const char in[] =
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab"
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ncd\r\n0\r\n\r\n";
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    talk_reply_init(&r);
    TRY(talk_connect(t, 0, &fd, err));
    for (size_t cut = 1; cut < sizeof in - 1; cut++) {
        TRY(weft_send(fd, in, cut, err));
        TRY(weft_sleep_ms(100, err));
        TRY(weft_send(fd, in + cut, sizeof in - 1 - cut, err));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == 200 && wb_str_eq(wb_buf_str(&r.body), UPP_STR("ab")));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == 200 && wb_str_eq(wb_buf_str(&r.body), UPP_STR("cd")));
    }
    return 0;
}

TEST(conn_requests_cut_anywhere)
{
    struct talk t = {.client = cuts, .simulated = true, .seed = 7};
    struct upp_err err = {0};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* ---- Bodies ---- */

static int expects(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    static const char head[] = "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    static const char no[] = "POST /small HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 99\r\n\r\n";
    talk_reply_init(&r);
    TRY(talk_connect(t, 0, &fd, err));
    for (int i = 0; i < 2; i++) {
        TRY(weft_send(fd, head, sizeof head - 1, err));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == 100);
        TRY(weft_send(fd, "ab", 2, err));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == 200 && wb_str_eq(wb_buf_str(&r.body), UPP_STR("ab")));
    }
    TRY(weft_send(fd, no, sizeof no - 1, err)); /* refused before the body is asked for */
    TRY(talk_read(fd, &r, false, err));
    FAIL_UNLESS(r.status == 413 && !r.keep_alive);
    return 0;
}

TEST(conn_says_continue)
{
    struct talk t = {.client = expects, .simulated = true, .seed = 3};
    struct upp_err err = {0};
    CHECK_INT(talk_run(&t, &err), 0);
}

struct upload {
    size_t n;
    bool chunked;
    int status;
};

WEFT_SUSPENDS static int send_body(int fd, const struct upload *u, struct upp_err *err)
{
    static char part[16384]; /* too large for a frame */
    char size[16];
    memset(part, 'x', sizeof part);
    for (size_t left = u->n; left;) {
        size_t n = WB_MIN(left, sizeof part);
        if (u->chunked)
            TRY(weft_send(fd, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", n), err));
        TRY(weft_send(fd, part, n, err));
        if (u->chunked)
            TRY(weft_send(fd, "\r\n", 2, err));
        left -= n;
    }
    return u->chunked ? weft_send(fd, "0\r\n\r\n", 5, err) : 0;
}

/* The client sends all of it before it looks for an answer: the refusal must not be lost by a reset. */
static int uploads(struct talk *t, struct upp_err *err)
{
    static const struct upload all[] = {{2u << 20, false, 200},
                                        {2u << 20, true, 200},
                                        {16u << 20, false, 200},
                                        {17u << 20, false, 413},
                                        {17u << 20, true, 413}};
    for (size_t i = 0; i < WB_LEN(all); i++) {
        WB_CLEANUP(donep) struct talk_reply r;
        UPP_CLEANUP(test_closep) int fd = -1;
        char head[128];
        talk_reply_init(&r);
        test_note("upload %zu", i);
        int n =
            all[i].chunked
                ? snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n")
                : snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n", all[i].n);
        TRY(talk_connect(t, 0, &fd, err));
        TRY(weft_send(fd, head, (size_t)n, err));
        TRY(send_body(fd, &all[i], err));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == all[i].status);
        FAIL_UNLESS(r.status != 200 || r.body.n == all[i].n);
    }
    return 0;
}

TEST_WITH(conn_large_bodies, .no_torture = "megabytes; the small ones go the same way")
{
    struct talk t = {.client = uploads, .patience_ms = 60000};
    struct upp_err err = {0};
    int r = talk_run(&t, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* ---- Clients that are slow, and clients that go ---- */

/* How long it took until the server had answered and closed (or only closed: status 0), when a byte comes every `every`
 * ms. A simulated socket has no shutdown, so that closing takes two seconds more than the answer. */
static int trickles(struct talk *t, const char *at_once, const char *text, uint64_t every, int status, uint64_t least,
                    uint64_t most, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    talk_reply_init(&r);
    TRY(talk_connect(t, 0, &fd, err));
    uint64_t begin = wb_mono_ms();
    TRY(weft_send(fd, at_once, strlen(at_once), err));
    for (size_t i = 0; text[i]; i++) {
        if (weft_send(fd, text + i, 1, NULL) < 0)
            break;
        WEFT_DEADLINE(every);
        int got = weft_fd_wait(fd, WEFT_READABLE, NULL);
        if (got >= 0)
            break;
    }
    int64_t n = talk_read_end(fd, &r, err);
    TRY((int)n);
    uint64_t took = wb_mono_ms() - begin;
    test_note("%.40s: %d ms", text, (int)took);
    FAIL_UNLESS(took >= least && took <= most);
    if (status == 0)
        FAIL_UNLESS(n == 0);
    else {
        char want[32];
        (void)snprintf(want, sizeof want, "HTTP/1.1 %d ", status);
        FAIL_UNLESS(wb_str_starts(wb_buf_str(&r.body), wb_cstr(want)));
    }
    test_note("%s", "");
    return 0;
}

static int slow_ones(struct talk *t, struct upp_err *err)
{
    static const char post[] = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99\r\n\r\n";
    /* Nothing at all; a head that never ends; nothing but empty lines; a head that comes just in time; a body that
     * stops; one that crawls. */
    TRY(trickles(t, "", "", 1, 0, 9900, 12500, err));
    TRY(trickles(t, "GET /empty HTTP/1.1\r\n" HOST "X: ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 500, 408, 9900, 12500,
                 err));
    TRY(trickles(t, "", "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n", 500, 408, 9900, 12500,
                 err));
    TRY(trickles(t, "", "GET /empty HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", 100, 200, 5000, 9000, err));
    TRY(trickles(t, post, "ab", 1, 408, 29900, 32500, err));
    TRY(trickles(t, post, "abcdefghijklmnopqrst", 20000, 408, 299000, 303000, err));
    return 0;
}

TEST(conn_does_not_wait_for_ever)
{
    struct talk t = {.client = slow_ones, .simulated = true, .seed = 11};
    struct upp_err err = {0};
    t.opts.header_ms = 10000;
    int r = talk_run(&t, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* An idle connection is closed after a while, without a word. */
static int idles(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    talk_reply_init(&r);
    TRY(talk_connect(t, 0, &fd, err));
    for (int i = 0; i < 2; i++) {
        static const char get[] = "GET /empty HTTP/1.1\r\n" HOST "\r\n";
        TRY(weft_send(fd, get, sizeof get - 1, err));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == 200);
        if (i == 0)
            TRY(weft_sleep_ms(70000, err));
    }
    uint64_t begin = wb_mono_ms();
    int64_t n = talk_read_end(fd, &r, err);
    TRY((int)n);
    FAIL_UNLESS(n == 0 && wb_mono_ms() - begin >= 74000 && wb_mono_ms() - begin < 76000);
    return 0;
}

TEST(conn_idle_ones_are_closed)
{
    struct talk t = {.client = idles, .simulated = true, .seed = 13};
    struct upp_err err = {0};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* A client that has said all it wants to say closes its half: it is answered. One that is cut in the middle is told. */
static int half_closes(struct talk *t, struct upp_err *err)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab", 200},
        {"GET /slow HTTP/1.1\r\n" HOST "\r\n", 200},
        {"GET /stream HTTP/1.1\r\n" HOST "\r\n", 200},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nab", 400},
        {"GET /emp", 400},
    };
    t->limit = 100;
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(donep) struct talk_reply r;
        UPP_CLEANUP(test_closep) int fd = -1;
        talk_reply_init(&r);
        TRY(talk_connect(t, 0, &fd, err));
        TRY(weft_send(fd, cases[i].request, strlen(cases[i].request), err));
        FAIL_UNLESS(shutdown(fd, SHUT_WR) == 0);
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == cases[i].status);
        int64_t n = talk_read_end(fd, &r, err);
        TRY((int)n);
        FAIL_UNLESS(n == 0);
    }
    return 0;
}

TEST(conn_half_close_is_no_disconnect)
{
    struct talk t = {.client = half_closes};
    struct upp_err err = {0};
    int r = talk_run(&t, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* A client that leaves while its request is worked on: the handler ends as if nothing had been. */
static int leaves(struct talk *t, struct upp_err *err)
{
    static const char get[] = "GET /slow HTTP/1.1\r\n" HOST "\r\n";
    int fd = -1;
    TRY(talk_connect(t, 0, &fd, err));
    int r = weft_send(fd, get, sizeof get - 1, err);
    if (r >= 0)
        r = weft_sleep_ms(100, err);
    test_closep(&fd);
    TRY(r);
    TRY(weft_sleep_ms(2000, err));
    FAIL_UNLESS(t->server->count.requests == 1 && t->server->count.answers_5xx == 0);
    FAIL_UNLESS(t->server->n_conns == 0);
    return 0;
}

TEST(conn_disconnect_cancels_nothing)
{
    struct talk t = {.client = leaves, .simulated = true, .seed = 17};
    struct upp_err err = {0};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* A reader that takes nothing of a large answer is cut after 30 s. */
static int stalls(struct talk *t, struct upp_err *err)
{
    static const char get[] = "GET /big HTTP/1.1\r\n" HOST "\r\n";
    UPP_CLEANUP(test_closep) int fd = -1;
    TRY(talk_connect(t, 0, &fd, err));
    TRY(weft_send(fd, get, sizeof get - 1, err));
    TRY(weft_sleep_ms(29000, err));
    FAIL_UNLESS(t->server->n_conns == 1);
    TRY(weft_sleep_ms(2000, err));
    FAIL_UNLESS(t->server->n_conns == 0);
    return 0;
}

TEST(conn_stalled_readers_are_cut)
{
    struct talk t = {.client = stalls, .simulated = true, .seed = 19};
    struct upp_err err = {0};
    CHECK_INT(talk_run(&t, &err), 0);
}
