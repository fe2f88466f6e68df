#include "server/http/http.h"

#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "support/test.h"

#define HOST "Host: localhost\r\n"

static void freep(struct sv_http *h)
{
    sv_http_done(h);
}

/* Feeds in pieces cut at `cut`, then at `cut` again from there: what came of it. */
static enum sv_http_state feed(struct sv_http *h, struct upp_str in, size_t cut, size_t *used)
{
    enum sv_http_state state = SV_HTTP_MORE;
    *used = 0;
    for (size_t at = 0; at < in.n && state == SV_HTTP_MORE;) {
        size_t n, part;
        n = cut && cut < in.n - at ? cut : in.n - at;
        /* memory of its own for each piece, so that ASan sees a pointer kept across pieces */
        char *copy = wb_alloc(n);
        if (!copy)
            return SV_HTTP_REFUSED;
        memcpy(copy, in.p + at, n);
        state = sv_http_feed(h, wb_str(copy, n), &part);
        wb_free(copy);
        *used += part;
        at += n;
    }
    return state;
}

struct bad {
    const char *what;
    int status; /* 0: it is a request; -1: it is not at its end */
    const char *bytes;
    size_t n;
};
#define CASE(what_, status_, text)                                                                                     \
    {                                                                                                                  \
        what_, status_, text, sizeof(text) - 1                                                                         \
    }

static const struct bad cases[] = {
    CASE("plain", 0, "GET / HTTP/1.1\r\n" HOST "\r\n"),
    CASE("1.0 without a host", 0, "GET / HTTP/1.0\r\n\r\n"),
    CASE("empty line before", 0, "\r\nGET / HTTP/1.1\r\n" HOST "\r\n"),
    CASE("body", 0, "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"),
    CASE("chunks", 0, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
    CASE("chunk extension", 0,
         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n"),
    CASE("trailers", 0,
         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nHost: evil\r\n\r\n"),
    CASE("absolute target", 0, "GET http://localhost:1/x HTTP/1.1\r\n" HOST "\r\n"),
    CASE("an upgrade that is not taken", 0,
         "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n"),
    CASE("values are trimmed", 0, "GET / HTTP/1.1\r\n" HOST "X:  \t y \t \r\n\r\n"),
    CASE("an empty value", 0, "GET / HTTP/1.1\r\n" HOST "X:\r\n\r\n"),
    CASE("Content-Length 0", 0, "POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n"),
    CASE("cut in the head", -1, "GET / HTTP/1.1\r\n" HOST),
    CASE("cut in the body", -1, "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nab"),
    /* What two readers could understand differently. */
    CASE("CL and TE", 400,
         "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    CASE("TE and CL", 400,
         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"),
    CASE("two lengths", 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    CASE("two equal lengths", 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
    CASE("a list of lengths", 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 3, 3\r\n\r\nabc"),
    CASE("+CL", 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\nabc"),
    CASE("-CL", 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: -3\r\n\r\nabc"),
    CASE("0x CL", 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x3\r\n\r\nabc"),
    CASE("CL too large to count", 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551616\r\n\r\nabc"),
    CASE("CL with a blank inside", 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 3 3\r\n\r\nabc"),
    CASE("empty CL", 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: \r\n\r\n"),
    CASE("xchunked", 501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    CASE("chunked, chunked", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    CASE("gzip, chunked", 501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    CASE("chunked, identity", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    CASE("two TE", 400,
         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    CASE("TE in 1.0", 400, "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    CASE("TE with a tab", 400,
         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\x0b"
         "chunked\r\n\r\n0\r\n\r\n"),
    CASE("two blanks after the method", 400, "GET  / HTTP/1.1\r\n" HOST "\r\n"),
    CASE("two blanks after the target", 400, "GET /  HTTP/1.1\r\n" HOST "\r\n"),
    CASE("a blank at the end of the request line", 400, "GET / HTTP/1.1 \r\n" HOST "\r\n"),
    CASE("bare LF in the request line", 400, "GET / HTTP/1.1\nHost: localhost\r\n\r\n"),
    CASE("bare LF after a header", 400, "GET / HTTP/1.1\r\nHost: localhost\n\r\n"),
    CASE("bare LF at the end", 400, "GET / HTTP/1.1\r\n" HOST "\n"),
    CASE("bare CR in a value", 400, "GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n"),
    CASE("obs-fold", 400, "GET / HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n"),
    CASE("NUL in a value", 400, "GET / HTTP/1.1\r\n" HOST "X: a\0b\r\n\r\n"),
    CASE("NUL in a name", 400, "GET / HTTP/1.1\r\n" HOST "X\0: a\r\n\r\n"),
    CASE("NUL in the target", 400, "GET /\0 HTTP/1.1\r\n" HOST "\r\n"),
    CASE("blank before the colon", 400, "GET / HTTP/1.1\r\n" HOST "X : a\r\n\r\n"),
    CASE("no name", 400, "GET / HTTP/1.1\r\n" HOST ": a\r\n\r\n"),
    CASE("no colon", 400, "GET / HTTP/1.1\r\n" HOST "X\r\n\r\n"),
    CASE("no target", 400, "GET HTTP/1.1\r\n" HOST "\r\n"),
    CASE("no host", 400, "GET / HTTP/1.1\r\n\r\n"),
    CASE("two hosts", 400, "GET / HTTP/1.1\r\n" HOST "Host: evil\r\n\r\n"),
    CASE("a fragment", 400, "GET /#x HTTP/1.1\r\n" HOST "\r\n"),
    CASE("not a path", 400, "GET x HTTP/1.1\r\n" HOST "\r\n"),
    CASE("an absolute target without a host", 400, "GET http:///x HTTP/1.1\r\n" HOST "\r\n"),
    CASE("no method we know", 400, "FOO / HTTP/1.1\r\n" HOST "\r\n"),
    CASE("a proxy's request", 501, "CONNECT localhost:1 HTTP/1.1\r\n" HOST "\r\n"),
    CASE("0.9", 505, "GET / HTTP/0.9\r\n\r\n"),
    CASE("2.0", 505, "GET / HTTP/2.0\r\n" HOST "\r\n"),
    CASE("1.2", 505, "GET / HTTP/1.2\r\n" HOST "\r\n"),
    CASE("the preface of HTTP/2", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    CASE("TLS", 400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    CASE("another Expect", 417, "POST / HTTP/1.1\r\n" HOST "Expect: wonders\r\nContent-Length: 1\r\n\r\n"),
    CASE("as long as a body can be", -1, "POST / HTTP/1.1\r\n" HOST "Content-Length: 16777216\r\n\r\n"),
    CASE("body too long", 413, "POST / HTTP/1.1\r\n" HOST "Content-Length: 16777217\r\n\r\n"),
    /* Chunks. */
    CASE("a chunk that is too long", 413, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1000001\r\n"),
    CASE("a chunk as long as a body can be", -1,
         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1000000\r\n"),
    CASE("a chunk that is too long after another", 413,
         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nfffffe\r\n"),
    CASE("no size", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n\r\n"),
    CASE("size of another alphabet", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3g\r\nabc\r\n"),
    CASE("negative size", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n"),
    CASE("0x size", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n"),
    CASE("size too large to count", 400,
         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n"),
    CASE("longer than its size", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n"),
    CASE("bare LF after a size", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n"),
    CASE("bare LF after a chunk", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n"),
    CASE("blank after a size", 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n"),
};

/* Whole, byte by byte, and cut at every place. */
TEST(http_is_strict_wherever_it_is_cut)
{
    WB_CLEANUP(freep) struct sv_http h;
    sv_http_init(&h, NULL);
    for (size_t i = 0; i < WB_LEN(cases); i++)
        for (size_t cut = 0; cut <= cases[i].n; cut++) {
            size_t used;
            enum sv_http_state state = feed(&h, wb_str(cases[i].bytes, cases[i].n), cut, &used);
            test_note("case: %s, cut at %zu", cases[i].what, cut);
            CHECK_INT(state, cases[i].status == 0    ? SV_HTTP_DONE
                             : cases[i].status == -1 ? SV_HTTP_MORE
                                                     : SV_HTTP_REFUSED);
            if (cases[i].status > 0) {
                CHECK_INT(h.status, cases[i].status);
                CHECK(h.why && *h.why);
            }
            if (!cases[i].status)
                CHECK_INT(used, cases[i].n);
            sv_http_reset(&h);
        }
    test_note("%s", "");
}

/* The way a test writes down what a request said. */
static void describe(const struct sv_http *h, char *out, size_t size)
{
    size_t n =
        (size_t)snprintf(out, size, "%s %.*s q=%.*s h=%.*s 1.%u %s[", sv_method_name(h->method), UPP_FMT(h->path),
                         UPP_FMT(h->query), UPP_FMT(h->host), h->minor, h->keep_alive ? "keep " : "");
    for (size_t i = 0; i < sv_http_headers(h) && n < size; i++) {
        struct upp_str name, value;
        sv_http_header_at(h, i, &name, &value);
        n += (size_t)snprintf(out + n, size - n, "%.*s=%.*s;", UPP_FMT(name), UPP_FMT(value));
    }
    if (n < size)
        (void)snprintf(out + n, size - n, "] %.*s", UPP_FMT(wb_buf_str(&h->body)));
}

TEST(http_requests_follow_each_other_at_every_cut)
{
    static const char in[] = "POST /a%20b?x=1&y HTTP/1.1\r\nHost: localhost:80\r\ncontent-length: 5\r\nX: \r\n\r\nhello"
                             "GET http://127.0.0.1/abs?q HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n"
                             "\r\n"
                             "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
                             "2\r\nab\r\n00c;x\r\n0123456789ab\r\n0\r\nX-Trailer: no\r\n\r\n"
                             "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    static const char *const want[] = {
        "POST /a%20b q=x=1&y h=localhost:80 1.1 keep [Host=localhost:80;content-length=5;X=;] hello",
        "GET /abs q=q h=127.0.0.1 1.1 [Host=other;Connection=close;] ",
        "PUT /c q= h=h 1.1 keep [Host=h;Transfer-Encoding=Chunked;] ab0123456789ab",
        "GET / q= h= 1.0 keep [Connection=keep-alive;] ",
    };
    WB_CLEANUP(freep) struct sv_http h;
    sv_http_init(&h, NULL);
    for (size_t cut = 0; cut < sizeof in; cut++) {
        struct upp_str rest = wb_str(in, sizeof in - 1);
        for (size_t i = 0; i < WB_LEN(want); i++) {
            char got[400];
            size_t used;
            sv_http_reset(&h);
            CHECK_INT(feed(&h, rest, cut, &used), SV_HTTP_DONE);
            describe(&h, got, sizeof got);
            CHECK_STR(wb_cstr(got), wb_cstr(want[i]));
            CHECK_INT(feed(&h, UPP_STR("GET"), 0, &(size_t){0}), SV_HTTP_DONE); /* takes no more */
            rest = wb_str_sub(rest, used, SIZE_MAX);
        }
        CHECK_INT(rest.n, 0);
    }
}

TEST(http_expects)
{
    WB_CLEANUP(freep) struct sv_http h;
    size_t used;
    sv_http_init(&h, NULL);
    CHECK_INT(
        feed(&h, UPP_STR("POST / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n"), 0, &used),
        SV_HTTP_MORE);
    CHECK(h.head_done && h.expects);
    CHECK_INT(feed(&h, UPP_STR("a"), 0, &used), SV_HTTP_MORE);
    CHECK(!h.expects);
    CHECK_INT(feed(&h, UPP_STR("b"), 0, &used), SV_HTTP_DONE);

    static const char *const nothing[] = {
        "POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
    };
    for (size_t i = 0; i < WB_LEN(nothing); i++) {
        sv_http_reset(&h);
        (void)feed(&h, wb_cstr(nothing[i]), 0, &used);
        CHECK(h.head_done && !h.expects);
    }
}

/* ---- Limits: the last that is taken, and the first that is not ---- */

static void repeat(struct wb_buf *b, const char *text, size_t times)
{
    while (times--)
        wb_buf_add(b, wb_cstr(text));
}

static int takes_64_kib(struct sv_http *h)
{
    h->max_body = 64 << 10;
    return 0;
}

static int refused_with(struct upp_str in, size_t cut, enum sv_http_state *state)
{
    WB_CLEANUP(freep) struct sv_http h;
    size_t used;
    sv_http_init(&h, takes_64_kib);
    *state = feed(&h, in, cut, &used);
    return h.status;
}

static void check_limit(const char *before, const char *unit, size_t times, const char *after, int status)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
    enum sv_http_state state;
    wb_buf_add(&b, wb_cstr(before));
    repeat(&b, unit, times);
    wb_buf_add(&b, wb_cstr(after));
    CHECK(wb_buf_check(&b, NULL) == 0);
    static const size_t cuts[] = {0, 1000};
    for (size_t i = 0; i < WB_LEN(cuts); i++) {
        test_note("%zu times '%.20s', cut at %zu", times, unit, cuts[i]);
        CHECK_INT(refused_with(wb_buf_str(&b), cuts[i], &state), status);
        CHECK_INT(state, status ? SV_HTTP_REFUSED : SV_HTTP_DONE);
    }
    test_note("%s", "");
}

TEST(http_limits)
{
    check_limit("GET /", "x", SV_MAX_URL - 1, " HTTP/1.1\r\n" HOST "\r\n", 0);
    check_limit("GET /", "x", SV_MAX_URL, " HTTP/1.1\r\n" HOST "\r\n", 414);
    /* Host: localhost is 17 of them, X 5. */
    check_limit("GET / HTTP/1.1\r\n" HOST "X: ", "x", SV_MAX_HEAD - 17 - 5, "\r\n\r\n", 0);
    check_limit("GET / HTTP/1.1\r\n" HOST "X: ", "x", SV_MAX_HEAD - 17, "\r\n\r\n", 431);
    check_limit("GET / HTTP/1.1\r\n" HOST "X: ", "x", 64 << 10, "\r\n\r\n", 431);
    check_limit("GET / HTTP/1.1\r\n" HOST, "X:y\r\n", SV_MAX_HEADERS - 1, "\r\n", 0);
    check_limit("GET / HTTP/1.1\r\n" HOST, "X:y\r\n", SV_MAX_HEADERS, "\r\n", 431);
    check_limit("", "\r\n", 64 << 10, "GET / HTTP/1.1\r\n" HOST "\r\n", 431);
}

TEST(http_limits_of_bodies)
{
#define CHUNKED "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
    check_limit("POST / HTTP/1.1\r\n" HOST "Content-Length: 65536\r\n\r\n", "x", 65536, "", 0);
    check_limit("POST / HTTP/1.1\r\n" HOST "Content-Length: 65537\r\n\r\n", "x", 65537, "", 413);
    check_limit(CHUNKED, "10\r\n0123456789abcdef\r\n", 65536 / 16, "0\r\n\r\n", 0);
    check_limit(CHUNKED, "10\r\n0123456789abcdef\r\n", 65536 / 16 + 1, "0\r\n\r\n", 413);
    /* Bytes that are no body. */
    check_limit(CHUNKED, "1\r\nx\r\n", 20000, "0\r\n\r\n", 0);
    check_limit(CHUNKED, "1;abcdefghijklmnop\r\nx\r\n", 20000, "0\r\n\r\n", 400);
    check_limit(CHUNKED "1;", "a", 200000, "\r\nx\r\n0\r\n\r\n", 400);
    check_limit(CHUNKED, "0", 200000, "1\r\nx\r\n0\r\n\r\n", 400);
    check_limit(CHUNKED "0\r\n", "X: y\r\n", 20000, "\r\n", 431); /* trailers */
}

static int takes_four(struct sv_http *h)
{
    h->max_body = 4;
    if (wb_str_eq(h->path, UPP_STR("/no"))) {
        h->why = "no";
        return 403;
    }
    return 0;
}

TEST(http_asks_when_the_head_is_there)
{
    WB_CLEANUP(freep) struct sv_http h;
    size_t used;
    sv_http_init(&h, takes_four);
    CHECK_INT(feed(&h, UPP_STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nabcd"), 0, &used), SV_HTTP_DONE);
    sv_http_reset(&h);
    CHECK_INT(feed(&h, UPP_STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"), 0, &used), SV_HTTP_REFUSED);
    CHECK_INT(h.status, 413);
    sv_http_reset(&h);
    CHECK_INT(
        feed(&h, UPP_STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"), 0, &used),
        SV_HTTP_REFUSED);
    CHECK_INT(h.status, 413);
    sv_http_reset(&h);
    CHECK_INT(feed(&h, UPP_STR("GET /no HTTP/1.1\r\n" HOST "\r\n"), 0, &used), SV_HTTP_REFUSED);
    CHECK_INT(h.status, 403);
    CHECK_STR(wb_cstr(h.why), UPP_STR("no"));
}
