/* Outgoing HTTP against a server that does what a script says. */
#include <upp/http.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/defs.h"
#include "support/calls.h"
#include "support/fault.h"
#include "support/faults.h"
#include "support/test.h"

#define SEND(text)                                                                                                     \
    {                                                                                                                  \
        .act = FAULTS_SEND, .bytes = UPP_STR_INIT(text)                                                                \
    }
#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

static const struct faults_step hello[] = {SEND(OK_HEAD "Content-Length: 5\r\nX-Name: Value \r\n\r\nhello")};
static const struct faults_step hang[] = {{.act = FAULTS_HANG}};

/* ---- Calls that go well ------------------------------------------------------------------------------------------ */

TEST(outgoing_posts_and_reads_the_answer)
{
    FAULTS_SERVER(s, FAULTS_REPLY(hello));
    const struct upp_header headers[] = {{UPP_STR("X-Api-Key"), UPP_STR("k3y")},
                                         {UPP_STR("Content-Type"), UPP_STR("application/json")},
                                         {UPP_STR("X-Empty"), UPP_STR("")}};
    struct upp_http_request req = {
        .url = wb_cstr(faults_url(s, "/v1/x?y=z")), .headers = headers, .n_headers = 3, .body = UPP_STR("{\"a\":1}")};
    struct upp_err err = {0};
    struct faults_seen seen;
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    CHECK_INT(call_http(h, &req, NULL, &got, &err), 0);
    CHECK_INT(got.status, 200);
    CHECK_STR(wb_buf_str(&got.body), UPP_STR("hello"));
    CHECK_STR(wb_cstr(got.type), UPP_STR("text/plain"));
    CHECK(faults_request(s, 0, &seen));
    CHECK(wb_str_starts(seen.head, UPP_STR("POST /v1/x?y=z HTTP/1.1\r\n")));
    CHECK(faults_has_header(seen.head, "x-api-key: k3y"));
    CHECK(faults_has_header(seen.head, "x-empty:"));
    CHECK(faults_has_header(seen.head, "content-type: application/json"));
    CHECK(faults_has_header(seen.head, "user-agent: libupp/" UPP_VERSION));
    CHECK(faults_has_header(seen.head, "accept-encoding: gzip, deflate"));
    CHECK(wb_str_find(seen.head, UPP_STR("Expect"), 0) == SIZE_MAX);
    CHECK(wb_str_find(seen.head, UPP_STR("Cookie"), 0) == SIZE_MAX);
    CHECK_STR(seen.body, UPP_STR("{\"a\":1}"));
}

/* In no block that is freed, libcurl's own among them. Lines of different lengths: none grows. */
TEST(outgoing_headers_are_wiped)
{
    FAULTS_SERVER(s, FAULTS_REPLY(hello));
    static char pad[3000];
    const struct upp_header headers[] = {{UPP_STR("x-a"), UPP_STR("b")},
                                         {UPP_STR("authorization"), UPP_STR("Bearer sk-one-that-nobody-may-find")},
                                         {UPP_STR("x-long"), wb_str(pad, sizeof pad)}};
    struct upp_http_request req = {
        .url = wb_cstr(faults_url(s, "/")), .headers = headers, .n_headers = 3, .body = UPP_STR("{}")};
    struct upp_err err = {0};
    struct faults_seen seen;
    memset(pad, 'x', sizeof pad);
    fault_watch("sk-one-that-nobody-may-find");
    for (unsigned i = 0; i < 2; i++) { /* on a connection of its own, and on one that is used again */
        CALLED(got);
        HTTP(h);
        CHECK_INT(upp_http_new(NULL, &h, &err), 0);
        int r = call_http(h, &req, NULL, &got, &err);
        if (r == 0)
            r = call_http(h, &req, NULL, &got, &err);
        ALWAYS(fault_watched() == 0);
        CHECK_INT(r, 0);
    }
    ALWAYS(fault_watched() == 0);
    CHECK(faults_request(s, 0, &seen));
    CHECK(faults_has_header(seen.head, "authorization: Bearer sk-one-that-nobody-may-find"));
}

TEST(outgoing_methods)
{
    FAULTS_SERVER(s, FAULTS_REPLY(hello));
    static const struct {
        struct upp_str method, body;
        const char *line;
    } cases[] = {
        {{0}, {0}, "GET / "},
        {{0}, UPP_STR_INIT(""), "POST / "},
        {UPP_STR_INIT("POST"), {0}, "POST / "},
        {UPP_STR_INIT("PUT"), UPP_STR_INIT("x"), "PUT / "},
        {UPP_STR_INIT("DELETE"), {0}, "DELETE / "},
        {UPP_STR_INIT("GET"), {0}, "GET / "},
        {UPP_STR_INIT("GET"), UPP_STR_INIT("x"), "GET / "},
    };
    struct upp_err err = {0};
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_http_request q = {
            .method = cases[i].method, .url = wb_cstr(faults_url(s, "/")), .body = cases[i].body};
        struct faults_seen seen;
        CALLED(got);
        CHECK_INT(call_http(h, &q, NULL, &got, &err), 0);
        CHECK(faults_request(s, (unsigned)i, &seen));
        test_note("%s", cases[i].line);
        CHECK(wb_str_starts(seen.head, wb_cstr(cases[i].line)));
        CHECK(wb_str_eq(seen.body, cases[i].body));
    }
    CHECK_INT(faults_connections(s), 1);
}

TEST(outgoing_bodies_end_in_three_ways_and_may_be_cut_anywhere)
{
    static const struct faults_step chunked[] = {SEND(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n"),
                                                 {.act = FAULTS_CHUNK, .bytes = UPP_STR_INIT("ab")},
                                                 {.act = FAULTS_CHUNK, .bytes = UPP_STR_INIT("c")},
                                                 {.act = FAULTS_CHUNK}},
                                    to_end[] = {SEND(OK_HEAD "\r\nabc"), {.act = FAULTS_END}},
                                    drip[] = {{.act = FAULTS_DRIP,
                                               .bytes = UPP_STR_INIT(OK_HEAD "Content-Length: 3\r\n\r\nabc")}},
                                    interim[] = {SEND("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
                                                      "Content-Type: no\r\n\r\n" OK_HEAD
                                                      "Content-Length: 3\r\n\r\nabc")};
    FAULTS_SERVER(s, FAULTS_REPLY_AT("/chunked", chunked), FAULTS_REPLY_AT("/end", to_end),
                  FAULTS_REPLY_AT("/drip", drip), FAULTS_REPLY_AT("/interim", interim));
    static const char *const paths[] = {"/chunked", "/drip", "/interim", "/end"};
    struct upp_err err = {0};
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    for (size_t i = 0; i < WB_LEN(paths); i++) {
        CALLED(got);
        test_note("%s", paths[i]);
        CHECK_INT(call_url(h, faults_url(s, paths[i]), NULL, &got, &err), 0);
        CHECK_STR(wb_buf_str(&got.body), UPP_STR("abc"));
        CHECK_STR(wb_cstr(got.type), UPP_STR("text/plain"));
    }
    CHECK_INT(faults_connections(s), 1);
}

TEST(outgoing_connections_are_used_again)
{
    FAULTS_SERVER(s, FAULTS_REPLY(hello));
    struct upp_err err = {0};
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    for (int i = 0; i < 5; i++) {
        CALLED(got);
        CHECK_INT(call_url(h, faults_url(s, "/"), NULL, &got, &err), 0);
    }
    CHECK_INT(faults_connections(s), 1);
    CHECK_INT(faults_requests(s), 5);
}

TEST(outgoing_two_calls_on_one_thread_take_turns)
{
    static const struct faults_step slow[] = {
        SEND(OK_HEAD "Content-Length: 4\r\n\r\nab"), {.act = FAULTS_HOLD}, SEND("cd")};
    FAULTS_SERVER(s, FAULTS_REPLY_AT("/slow", slow), FAULTS_REPLY(hello));
    HTTP(h); /* freed after the call */
    WB_CLEANUP(call_closep) struct upp_http_call *c = NULL;
    char url[100];
    struct upp_err err = {0};
    struct upp_http_head head;
    struct upp_str more = {0};
    CALLED(other);
    (void)snprintf(url, sizeof url, "%s", faults_url(s, "/slow"));
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    CHECK_INT(upp_http_send(h, &(struct upp_http_request){.url = wb_cstr(url)}, NULL, &c, &err), 0);
    CHECK_INT(upp_http_call_head(c, &head, &err), 0);
    CHECK_INT(call_url(h, faults_url(s, "/"), NULL, &other, &err), 0);
    CHECK_INT(upp_http_call_read(c, &more, &err), 1);
    CHECK_STR(more, UPP_STR("ab"));
    faults_release(s);
    CHECK_INT(upp_http_call_read(c, &more, &err), 1);
    CHECK_STR(more, UPP_STR("cd"));
    CHECK_INT(upp_http_call_read(c, &more, &err), 0);
    CHECK_INT(upp_http_call_read(c, &more, &err), 0);
}

TEST(outgoing_a_large_body_goes_up)
{
    FAULTS_SERVER(s, FAULTS_REPLY(hello));
    struct upp_err err = {0};
    struct faults_seen seen;
    size_t n = 3u << 20;
    char *body = calloc(1, n);
    CHECK(body);
    memset(body, 'b', n);
    struct upp_http_request req = {.url = wb_cstr(faults_url(s, "/")), .body = wb_str(body, n)};
    CALLED(got);
    HTTP(h);
    int r = upp_http_new(NULL, &h, &err);
    if (r >= 0)
        r = call_http(h, &req, NULL, &got, &err);
    bool same = r >= 0 && faults_request(s, 0, &seen) && wb_str_eq(seen.body, req.body);
    free(body);
    CHECK_INT(r, 0);
    CHECK(same);
}

/* ---- Calls that fail ------------------------------------------------------------------------- */

#define KEY "s3cr3t-key"

/* Nobody sees the key or the query. */
static bool is_clean(const struct upp_err *err)
{
    return !strstr(err->msg, KEY) && !strstr(err->cause, KEY) && !strstr(err->where, KEY) && !strstr(err->msg, "q=") &&
           !strstr(err->cause, "q=");
}

TEST(outgoing_every_failure_has_its_code)
{
    static const struct faults_step
        nothing[] = {{.act = FAULTS_END}},
        reset[] = {{.act = FAULTS_RESET}}, in_head[] = {SEND("HTTP/1.1 200 OK\r\nConte"), {.act = FAULTS_CUT}},
        in_body[] = {SEND(OK_HEAD "Content-Length: 10\r\n\r\nhalf"), {.act = FAULTS_CUT}},
        midway[] = {SEND(OK_HEAD "Content-Length: 10\r\n\r\nhalf"), {.act = FAULTS_RESET}},
        in_chunk[] = {SEND(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n8\r\nhalf"), {.act = FAULTS_CUT}},
        no_last[] = {SEND(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"), {.act = FAULTS_CUT}},
        bad_chunk[] = {SEND(OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\nhalf\r\n"), {.act = FAULTS_HANG}},
        garbage[] = {SEND("\x16\x03\x01\x02 this is no HTTP at all\r\n\r\n"), {.act = FAULTS_END}},
        html[] = {SEND("<html><body>proxy</body></html>\r\n\r\n"), {.act = FAULTS_END}},
        status[] = {SEND("HTTP/1.1 2x0 OK\r\n\r\n"), {.act = FAULTS_END}},
        coding[] = {SEND(OK_HEAD "Content-Encoding: zstd\r\nContent-Length: 4\r\n\r\nhalf")},
        no_gzip[] = {SEND(OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhalf")};
    static const struct {
        struct faults_reply reply;
        const char *name;
        int code;
    } cases[] = {
        {FAULTS_REPLY(nothing), "nothing", -UPP_ENET},   {FAULTS_REPLY(reset), "reset", -UPP_ENET},
        {FAULTS_REPLY(in_head), "in head", -UPP_ENET},   {FAULTS_REPLY(in_body), "in body", -UPP_ENET},
        {FAULTS_REPLY(midway), "midway", -UPP_ENET},     {FAULTS_REPLY(in_chunk), "in chunk", -UPP_ENET},
        {FAULTS_REPLY(no_last), "no last", -UPP_ENET},   {FAULTS_REPLY(bad_chunk), "bad chunk", -UPP_ENET},
        {FAULTS_REPLY(garbage), "garbage", -UPP_EPROTO}, {FAULTS_REPLY(html), "html", -UPP_EPROTO},
        {FAULTS_REPLY(status), "status", -UPP_EPROTO},   {FAULTS_REPLY(coding), "coding", -UPP_EPROTO},
        {FAULTS_REPLY(no_gzip), "no gzip", -UPP_EPROTO},
    };
    const struct upp_header key = {UPP_STR("x-api-key"), UPP_STR(KEY)};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        FAULTS_SERVER(s, cases[i].reply);
        struct upp_err err = {0};
        struct upp_http_request q = {
            .url = wb_cstr(faults_url(s, "/?q=" KEY)), .headers = &key, .n_headers = 1, .body = UPP_STR("x")};
        CALLED(got);
        HTTP(h);
        test_note("%s", cases[i].name);
        CHECK_INT(upp_http_new(NULL, &h, &err), 0);
        int r = call_http(h, &q, NULL, &got, &err);
        test_note("%s: %s (%s)", cases[i].name, err.msg, err.cause);
        CHECK_INT(r, cases[i].code);
        CHECK_INT(err.code, -r);
        ALWAYS(is_clean(&err));
        CHECK(strstr(err.msg, "127.0.0.1:") || r == -UPP_EPROTO);
        CHECK(got.body.n == 0 || wb_str_eq(wb_buf_str(&got.body), UPP_STR("half")));
    }
}

TEST(outgoing_what_came_before_a_failure_is_given_out)
{
    static const struct faults_step cut[] = {SEND(OK_HEAD "Content-Length: 10\r\n\r\nhalf"), {.act = FAULTS_CUT}};
    FAULTS_SERVER(s, FAULTS_REPLY(cut));
    struct upp_err err = {0};
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    CHECK_INT(call_url(h, faults_url(s, "/"), NULL, &got, &err), -UPP_ENET);
    CHECK_STR(wb_buf_str(&got.body), UPP_STR("half"));
    CHECK(err.cause[0]);
}

TEST(outgoing_nobody_there)
{
    struct upp_err err = {0};
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(UPP_OPTS(upp_http_opts, .proxy = ""), &h, NULL), 0);
    CHECK_INT(call_url(h, "http://127.0.0.1:1/", NULL, &got, &err), -UPP_ENET);
    CHECK(strstr(err.msg, "127.0.0.1:1: ") && err.cause[0]);
}

/* A label of a name has 63 letters at most: no server is asked. */
TEST_WITH(outgoing_no_such_name, .no_torture = "a lookup that is given up ends, and frees, on a thread of libcurl's")
{
    static const char url[] =
        "http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid/";
    struct upp_err err = {0};
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(UPP_OPTS(upp_http_opts, .proxy = ""), &h, NULL), 0);
    CHECK_INT(call_url(h, url, NULL, &got, &err), -UPP_ENET);
    CHECK(err.cause[0]);
}

TEST(outgoing_addresses_that_are_none)
{
    static const struct {
        const char *url, *msg;
    } cases[] = {
        {"ftp://h/x", "an address begins with https:// or http://"},
        {"file:///etc/passwd", "an address begins with https:// or http://"},
        {"gopher://h/", "an address begins with https:// or http://"},
        {"http://", "no address"},
        {"http://h:99999/", "no address"},
        {"http://[::1", "no address"},
        {"/v1/messages", "no address"},
    };
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, NULL), 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err = {0};
        CALLED(got);
        int r = call_url(h, cases[i].url, NULL, &got, &err);
        test_note("%s: %s", cases[i].url, err.msg);
        CHECK_INT(r, -UPP_EINVALID);
        CHECK(strstr(err.msg, cases[i].msg));
    }
}

/* ---- Time ------------------------------------------------------------------------------------ */

TEST(outgoing_three_limits_of_time)
{
    static const struct faults_step idle[] = {SEND(OK_HEAD "Content-Length: 10\r\n\r\nhalf"), {.act = FAULTS_HANG}},
                                    drip[] = {SEND(OK_HEAD "\r\n"),
                                              {.act = FAULTS_SEND, .bytes = UPP_STR_INIT("x"), .times = 3},
                                              {.act = FAULTS_HANG}};
    FAULTS_SERVER(s, FAULTS_REPLY_AT("/head", hang), FAULTS_REPLY_AT("/idle", idle), FAULTS_REPLY_AT("/total", drip));
    static const struct {
        const char *path;
        uint64_t head, idle, total;
        const char *msg;
    } cases[] = {
        {"/head", 30, 0, 0, "request timed out after 30ms: no answer from 127.0.0.1:"},
        {"/idle", 0, 30, 0, "request timed out after 30ms: nothing more from 127.0.0.1:"},
        {"/total", 0, 0, 30, "request timed out after 30ms: the whole call to 127.0.0.1:"},
        {"/head", 0, 0, 30, "request timed out after 30ms: the whole call to 127.0.0.1:"},
    };
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, NULL), 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_http_request q = {.url = wb_cstr(faults_url(s, cases[i].path)),
                                     .head_ms = cases[i].head,
                                     .idle_ms = cases[i].idle,
                                     .total_ms = cases[i].total};
        struct upp_err err = {0};
        CALLED(got);
        int r = call_http(h, &q, NULL, &got, &err);
        test_note("%s: %s", cases[i].path, err.msg);
        CHECK_INT(r, -UPP_ETIMEOUT);
        CHECK(wb_str_starts(wb_cstr(err.msg), wb_cstr(cases[i].msg)));
    }
}

/* The largest number is no limit, not one that has passed. */
TEST(outgoing_limits_of_time_may_be_for_ever)
{
    static const struct faults_step slow[] = {
        SEND(OK_HEAD "Content-Length: 2\r\n\r\na"), {.act = FAULTS_WAIT, .ms = 5}, SEND("b")};
    FAULTS_SERVER(s, FAULTS_REPLY(slow));
    struct upp_err err = {0};
    struct upp_http_request q = {
        .url = wb_cstr(faults_url(s, "/")), .head_ms = UPP_FOREVER, .idle_ms = UPP_FOREVER, .total_ms = UPP_FOREVER};
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    CHECK_INT(call_http(h, &q, NULL, &got, &err), 0);
    CHECK_STR(wb_buf_str(&got.body), UPP_STR("ab"));
}

TEST(outgoing_a_failure_is_said_again)
{
    FAULTS_SERVER(s, FAULTS_REPLY(hang));
    HTTP(h); /* freed after the call */
    WB_CLEANUP(call_closep) struct upp_http_call *c = NULL;
    struct upp_http_request q = {.url = wb_cstr(faults_url(s, "/")), .head_ms = 10};
    struct upp_http_head head;
    struct upp_str more;
    CHECK_INT(upp_http_new(NULL, &h, NULL), 0);
    CHECK_INT(upp_http_send(h, &q, NULL, &c, NULL), 0);
    CHECK_INT(upp_http_call_head(c, &head, NULL), -UPP_ETIMEOUT);
    CHECK_INT(upp_http_call_head(c, &head, NULL), -UPP_ETIMEOUT);
    CHECK_INT(upp_http_call_read(c, &more, NULL), -UPP_ETIMEOUT);
}

/* ---- Size ------------------------------------------------------------------------------------ */

TEST(outgoing_limits_of_size)
{
    static const struct faults_step many[] = {SEND("HTTP/1.1 200 OK\r\n"),
                                              {.act = FAULTS_SEND, .bytes = UPP_STR_INIT("a: b\r\n"), .times = 300},
                                              SEND("\r\n"),
                                              {.act = FAULTS_END}},
                                    wide[] = {SEND("HTTP/1.1 200 OK\r\nx: "),
                                              {.act = FAULTS_SEND,
                                               .bytes = UPP_STR_INIT("0123456789abcdef"),
                                               .times = 5000},
                                              SEND("\r\n\r\n"),
                                              {.act = FAULTS_END}},
                                    body[] = {
                                        SEND(OK_HEAD "\r\n"),
                                        {.act = FAULTS_SEND, .bytes = UPP_STR_INIT("0123456789abcdef"), .times = 5000},
                                        {.act = FAULTS_END}};
    FAULTS_SERVER(s, FAULTS_REPLY_AT("/many", many), FAULTS_REPLY_AT("/wide", wide), FAULTS_REPLY_AT("/body", body));
    static const struct {
        const char *path, *msg;
    } cases[] = {
        {"/many", "the answer has more than 256 headers"},
        {"/wide", "the answer's head has more than 65536 bytes"},
        {"/body", "the answer has more than 70000 bytes"},
    };
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, NULL), 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err = {0};
        struct upp_http_request q = {.url = wb_cstr(faults_url(s, cases[i].path)), .max_bytes = 70000};
        CALLED(got);
        int r = call_http(h, &q, NULL, &got, &err);
        test_note("%s: %s", cases[i].path, err.msg);
        CHECK_INT(r, -UPP_ELIMIT);
        CHECK(strstr(err.msg, cases[i].msg));
        ALWAYS(got.body.n <= 70000);
    }
}

/* Memory of the call while 10 MiB in one line come in, and the reader does not hurry. */
static int read_slowly(struct upp_http *h, const char *url, size_t max, size_t *total, size_t *most,
                       struct upp_err *err)
{
    WB_CLEANUP(call_closep) struct upp_http_call *c = NULL;
    struct upp_http_request q = {.url = wb_cstr(url), .max_bytes = max};
    size_t before = fault_account().bytes;
    struct upp_str more;
    int r = upp_http_send(h, &q, NULL, &c, err);
    while (r >= 0 && (r = upp_http_call_read(c, &more, err)) > 0) {
        size_t now = fault_account().bytes - before;
        *total += more.n;
        *most = WB_MAX(*most, now);
    }
    return r;
}

TEST_WITH(outgoing_a_reader_that_is_slow_holds_the_sender, .seconds = 120)
{
    static const char kib[1025] = {0};
    static const struct faults_step ten[] = {
        SEND(OK_HEAD "\r\n"), {.act = FAULTS_SEND, .bytes = {kib, 1024}, .times = 10240}, {.act = FAULTS_END}};
    FAULTS_SERVER(s, FAULTS_REPLY(ten));
    struct upp_err err = {0};
    size_t total = 0, most = 0;
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    CHECK_INT(read_slowly(h, faults_url(s, "/"), 0, &total, &most, &err), 0);
    CHECK_INT(total, 10 << 20);
    ALWAYS(most < 2 << 20);
}

/* The caller does something else for a while: what comes meanwhile is driven by another call. */
TEST(outgoing_a_call_that_nobody_reads_is_paused)
{
    static const char kib[1025] = {0};
    static const struct faults_step ten[] = {
        SEND(OK_HEAD "\r\n"), {.act = FAULTS_SEND, .bytes = {kib, 1024}, .times = 4096}, {.act = FAULTS_END}};
    FAULTS_SERVER(s, FAULTS_REPLY_AT("/ten", ten), FAULTS_REPLY(hello));
    HTTP(h); /* freed after the call */
    WB_CLEANUP(call_closep) struct upp_http_call *c = NULL;
    struct upp_err err = {0};
    char url[100];
    struct upp_str more;
    size_t total = 0;
    int r;
    (void)snprintf(url, sizeof url, "%s", faults_url(s, "/ten"));
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    size_t before = fault_account().bytes;
    CHECK_INT(upp_http_send(h, &(struct upp_http_request){.url = wb_cstr(url)}, NULL, &c, &err), 0);
    for (int i = 0; i < 200; i++) {
        CALLED(got);
        CHECK_INT(call_url(h, faults_url(s, "/"), NULL, &got, &err), 0);
    }
    ALWAYS(fault_account().bytes - before < 1 << 20);
    while ((r = upp_http_call_read(c, &more, &err)) > 0)
        total += more.n;
    CHECK_INT(r, 0);
    CHECK_INT(total, 4 << 20);
}

/* ---- Compression ----------------------------------------------------------------------------- */

#define GZIP_HEAD "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"

TEST(outgoing_gzip_is_read)
{
    static char blanks[200001];
    memset(blanks, 'g', sizeof blanks - 1);
    struct upp_str packed = faults_gzip(wb_str(blanks, sizeof blanks - 1));
    const struct faults_step steps[] = {SEND(GZIP_HEAD), {.act = FAULTS_SEND, .bytes = packed}, {.act = FAULTS_END}};
    {
        FAULTS_SERVER(s, FAULTS_REPLY(steps));
        struct upp_err err = {0};
        CALLED(got);
        HTTP(h);
        int r = upp_http_new(NULL, &h, &err);
        if (r >= 0)
            r = call_url(h, faults_url(s, "/"), NULL, &got, &err);
        (void)(EXPECT(r == 0) && EXPECT(got.body.n == sizeof blanks - 1) &&
               EXPECT(memcmp(got.body.p, blanks, got.body.n) == 0));
    }
    free((char *)(uintptr_t)packed.p);
}

/* 64 MiB in 415 KB: stopped by the ratio, long before the limit. 900 KB is below what is looked at. */
TEST_WITH(outgoing_a_compression_bomb_is_stopped, .seconds = 120)
{
    static const struct {
        size_t n, max;
        int code;
        size_t least, most; /* bytes read */
    } cases[] = {
        {64u << 20, 0, -UPP_ELIMIT, 0, 3u << 20},
        {900000, 0, 0, 899000, 901000},
        {900000, 100000, -UPP_ELIMIT, 0, 100000},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_str packed = faults_bomb(cases[i].n);
        const struct faults_step steps[] = {
            SEND(GZIP_HEAD), {.act = FAULTS_SEND, .bytes = packed}, {.act = FAULTS_END}};
        struct upp_err err = {0};
        size_t total = 0, most = 0;
        int r;
        {
            FAULTS_SERVER(s, FAULTS_REPLY(steps));
            HTTP(h);
            r = upp_http_new(NULL, &h, &err);
            if (r >= 0)
                r = read_slowly(h, faults_url(s, "/"), cases[i].max, &total, &most, &err);
        }
        free((char *)(uintptr_t)packed.p);
        test_note("case %zu: %zu bytes, at most %zu held: %s", i, total, most, err.msg);
        CHECK_INT(r, cases[i].code);
        CHECK(total >= cases[i].least && total <= cases[i].most);
        ALWAYS(most < 5u << 20);
    }
}

/* ---- Elsewhere ------------------------------------------------------------------------------- */

TEST(outgoing_redirects_of_a_get_leave_the_credentials_behind)
{
    FAULTS_SERVER(target, FAULTS_REPLY(hello));
    char to[200], chain[200];
    const struct upp_header headers[] = {{UPP_STR("x-api-key"), UPP_STR(KEY)},
                                         {UPP_STR("Authorization"), UPP_STR("Bearer " KEY)},
                                         {UPP_STR("Accept"), UPP_STR("text/plain")}};
    struct upp_err err = {0};
    struct faults_seen seen;
    (void)snprintf(to, sizeof to, "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 3\r\n\r\nbye",
                   faults_url(target, "/there?t=1"));
    (void)snprintf(chain, sizeof chain, "HTTP/1.1 301 Moved\r\nLocation: ../b\r\nContent-Length: 0\r\n\r\n");
    const struct faults_step first[] = {{.act = FAULTS_SEND, .bytes = wb_cstr(chain)}};
    const struct faults_step second[] = {{.act = FAULTS_SEND, .bytes = wb_cstr(to)}};
    FAULTS_SERVER(s, FAULTS_REPLY_AT("/a/", first), FAULTS_REPLY_AT("/b", second));
    struct upp_http_request q = {.url = wb_cstr(faults_url(s, "/a/a")), .headers = headers, .n_headers = 3};
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    CHECK_INT(call_http(h, &q, NULL, &got, &err), 0);
    CHECK_STR(wb_buf_str(&got.body), UPP_STR("hello"));
    CHECK(faults_request(s, 1, &seen)); /* the same host: the key goes along */
    CHECK(wb_str_starts(seen.head, UPP_STR("GET /b ")) && faults_has_header(seen.head, "x-api-key: " KEY));
    CHECK(faults_request(target, 0, &seen));
    CHECK(wb_str_starts(seen.head, UPP_STR("GET /there?t=1 ")));
    ALWAYS(wb_str_find(seen.head, UPP_STR(KEY), 0) == SIZE_MAX);
    CHECK(faults_has_header(seen.head, "accept: text/plain"));
}

/* Once away from the host that they were meant for they do not come back: not when the other host points to itself, and
 * not when it points home. */
TEST(outgoing_redirects_leave_the_credentials_behind_for_good)
{
    static const struct faults_step again[] = {SEND("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")};
    char away[200], back[200];
    const struct upp_header headers[] = {{UPP_STR("Authorization"), UPP_STR("Bearer " KEY)}};
    struct upp_err err = {0};
    struct faults_seen seen;
    struct faults_step leave = {.act = FAULTS_SEND, .bytes = {away, 0}};
    struct faults_step home = {.act = FAULTS_SEND, .bytes = {back, 0}};
    FAULTS_SERVER(other, FAULTS_REPLY_AT("/a", again), {.steps = &home, .n = 1, .path = "/b"});
    FAULTS_SERVER(s, {.steps = &leave, .n = 1, .path = "/start"}, FAULTS_REPLY(hello));
    leave.bytes.n = (size_t)snprintf(
        away, sizeof away, "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", faults_url(other, "/a"));
    home.bytes.n = (size_t)snprintf(
        back, sizeof back, "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", faults_url(s, "/home"));
    struct upp_http_request q = {.url = wb_cstr(faults_url(s, "/start")), .headers = headers, .n_headers = 1};
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    CHECK_INT(call_http(h, &q, NULL, &got, &err), 0);
    CHECK_STR(wb_buf_str(&got.body), UPP_STR("hello"));
    for (unsigned i = 0; i < 2; i++) {
        CHECK(faults_request(other, i, &seen));
        ALWAYS(wb_str_find(seen.head, UPP_STR(KEY), 0) == SIZE_MAX);
    }
    CHECK(faults_request(s, 1, &seen));
    CHECK(wb_str_starts(seen.head, UPP_STR("GET /home ")));
    ALWAYS(wb_str_find(seen.head, UPP_STR(KEY), 0) == SIZE_MAX);
}

TEST(outgoing_redirects_that_are_not_followed)
{
    FAULTS_SERVER(target, FAULTS_REPLY(hello));
    static const struct {
        const char *answer;
        struct upp_str body;
        const char *msg;
        int code;
    } cases[] = {
        {"307 Temporary\r\nLocation: http://elsewhere.example/x?k=" KEY, UPP_STR_INIT("x"),
         " answers 307 and points to elsewhere.example:80: only a GET is sent elsewhere", -UPP_EPROVIDER},
        {"302 Found\r\nLocation: /same", UPP_STR_INIT("x"), ": only a GET is sent elsewhere", -UPP_EPROVIDER},
        {"302 Found\r\nLocation: ftp://elsewhere.example/", {0}, "that is no address of the web", -UPP_EPROVIDER},
        {"302 Found\r\nLocation: file:///etc/passwd", {0}, "that is no address of the web", -UPP_EPROVIDER},
        {"302 Found\r\nLocation: /again", {0}, "there were too many before it", -UPP_EPROVIDER},
        {"304 Not Modified", {0}, "", 0},
        {"302 Found", UPP_STR_INIT("x"), "", 0}, /* nowhere to go: the status says it */
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        char answer[300];
        (void)snprintf(answer, sizeof answer, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", cases[i].answer);
        const struct faults_step steps[] = {{.act = FAULTS_SEND, .bytes = wb_cstr(answer)}};
        FAULTS_SERVER(s, FAULTS_REPLY(steps));
        struct upp_http_request q = {.url = wb_cstr(faults_url(s, "/")), .body = cases[i].body};
        struct upp_err err = {0};
        CALLED(got);
        HTTP(h);
        CHECK_INT(upp_http_new(NULL, &h, &err), 0);
        int r = call_http(h, &q, NULL, &got, &err);
        test_note("case %zu: %s", i, err.msg);
        CHECK_INT(r, cases[i].code);
        CHECK(strstr(err.msg, cases[i].msg));
        ALWAYS(is_clean(&err));
        if (r < 0)
            CHECK(err.http == 302 || err.http == 307);
    }
    ALWAYS(faults_requests(target) == 0);
}

/* ---- Proxies --------------------------------------------------------------------------------- */

static void unset(const char *const *name)
{
    (void)unsetenv(*name);
}

TEST(outgoing_proxies)
{
    FAULTS_SERVER(proxy, FAULTS_REPLY(hello));
    FAULTS_SERVER(s, FAULTS_REPLY(hello));
    WB_CLEANUP(unset) const char *name = "http_proxy";
    struct upp_err err = {0};
    struct faults_seen seen;
    char address[100];
    CALLED(by_variable);
    CALLED(by_option);
    CALLED(direct);
    HTTP(variable);
    HTTP(option);
    HTTP(none);
    (void)snprintf(address, sizeof address, "%s", faults_url(proxy, ""));
    CHECK_INT(upp_http_new(UPP_OPTS(upp_http_opts, .proxy = address), &option, &err), 0);
    CHECK_INT(call_url(option, "http://far.example/a", NULL, &by_option, &err), 0);
    CHECK(setenv(name, address, 1) == 0);
    CHECK_INT(upp_http_new(NULL, &variable, &err), 0);
    CHECK_INT(call_url(variable, "http://far.example/b", NULL, &by_variable, &err), 0);
    CHECK_INT(upp_http_new(UPP_OPTS(upp_http_opts, .proxy = ""), &none, &err), 0);
    CHECK_INT(call_url(none, faults_url(s, "/c"), NULL, &direct, &err), 0);
    CHECK(faults_request(proxy, 0, &seen) && wb_str_starts(seen.head, UPP_STR("GET http://far.example/a HTTP/1.1")));
    CHECK(faults_request(proxy, 1, &seen) && wb_str_starts(seen.head, UPP_STR("GET http://far.example/b HTTP/1.1")));
    CHECK_INT(faults_requests(proxy), 2);
    CHECK_INT(faults_requests(s), 1);
}

/* A caller that was compiled when there were fewer options: what lies behind those is not ours to read. */
TEST(outgoing_options_of_an_older_caller)
{
    FAULTS_SERVER(s, FAULTS_REPLY(hello));
    static const size_t sizes[] = {offsetof(struct upp_http_opts, max_connections),
                                   offsetof(struct upp_http_opts, proxy), 0};
    for (size_t i = 0; i < WB_LEN(sizes); i++) {
        struct upp_http_opts o = {.proxy = ""};
        struct upp_err err = {0};
        CALLED(got);
        HTTP(h);
        memset((char *)&o + sizes[i], 0xa5, sizeof o - sizes[i]);
        o.size = (uint32_t)sizes[i];
        CHECK_INT(upp_http_new(&o, &h, &err), 0);
        CHECK_INT(call_url(h, faults_url(s, "/"), NULL, &got, &err), 0);
    }
}

TEST(outgoing_a_proxy_that_tunnels_gets_no_headers)
{
    static const struct faults_step no[] = {SEND("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")};
    FAULTS_SERVER(proxy, FAULTS_REPLY(no));
    const struct upp_header key = {UPP_STR("x-api-key"), UPP_STR(KEY)};
    struct upp_http_request q = {
        .url = UPP_STR("https://far.example/a?q=1"), .headers = &key, .n_headers = 1, .body = UPP_STR("x")};
    struct upp_err err = {0};
    struct faults_seen seen;
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(UPP_OPTS(upp_http_opts, .proxy = faults_url(proxy, "")), &h, &err), 0);
    CHECK_INT(call_http(h, &q, NULL, &got, &err), -UPP_ENET);
    CHECK(faults_request(proxy, 0, &seen));
    CHECK(wb_str_starts(seen.head, UPP_STR("CONNECT far.example:443 HTTP/1.1\r\n")));
    ALWAYS(wb_str_find(seen.head, UPP_STR(KEY), 0) == SIZE_MAX);
    ALWAYS(is_clean(&err));
}

/* ---- What is left in the system -------------------------------------------------------------- */

/* How many; and how many of them a program that is started without care would have, too. */
static size_t open_descriptors(size_t *inherited)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        int flags = e->d_name[0] == '.' ? -1 : fcntl(atoi(e->d_name), F_GETFD);
        if (flags < 0 || atoi(e->d_name) < 3)
            continue;
        n++;
        if (inherited)
            *inherited += !(flags & FD_CLOEXEC);
    }
    if (dir)
        (void)closedir(dir);
    return n;
}

/* All but the pair by which libcurl 7.88 wakes itself up: that is why upp_hooks.spawn closes what it was not told of.
 */
TEST(outgoing_descriptors_are_close_on_exec)
{
    enum { WAKE_UP_PAIR = 2 };
    size_t before = 0, now = 0;
    size_t were = open_descriptors(&before), are;
    {
        FAULTS_SERVER(s, FAULTS_REPLY(hello));
        struct upp_err err = {0};
        CALLED(got);
        HTTP(h);
        CHECK_INT(upp_http_new(NULL, &h, &err), 0);
        CHECK_INT(call_url(h, faults_url(s, "/"), NULL, &got, &err), 0);
        are = open_descriptors(&now);
    }
    CHECK(are > were);
    CHECK(now - before <= WAKE_UP_PAIR);
    CHECK_INT(open_descriptors(NULL), were);
}

TEST(outgoing_without_descriptors_is_an_error)
{
    struct rlimit was, none;
    struct upp_err err = {0};
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &was) == 0);
    none = was;
    none.rlim_cur = 3;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    int r = call_url(h, "http://127.0.0.1:1/", NULL, &got, &err);
    (void)setrlimit(RLIMIT_NOFILE, &was);
    CHECK_INT(r, -UPP_ELIMIT);
}
