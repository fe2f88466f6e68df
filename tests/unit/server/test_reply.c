#include "server/http/reply.h"

#include "base/defs.h"
#include "support/sim/sim.h"
#include "support/test.h"

static void donep(struct sv_reply *r)
{
    sv_reply_done(r);
}

TEST(reply_head)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL; /* for its clock */
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4096);
    struct sv_date date = {0};
    CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 1), &w, NULL) == 0);
    sv_head_write(&b,
                  &(struct sv_head){.status = 404,
                                    .type = "application/json",
                                    .length = 7,
                                    .keep_alive = true,
                                    .minor = 1,
                                    .request_id = UPP_STR("req_1"),
                                    .headers = UPP_STR("A: b\r\n")},
                  &date);
    CHECK_STR(wb_buf_str(&b),
              UPP_STR("HTTP/1.1 404 Not Found\r\nDate: Tue, 14 Nov 2023 22:13:21 GMT\r\n"
                      "Content-Type: application/json\r\nContent-Length: 7\r\nx-request-id: req_1\r\n"
                      "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nA: b\r\n\r\n"));
    wb_buf_clear(&b);
    sv_head_write(&b, &(struct sv_head){.status = 200, .length = SV_LENGTH_CHUNKED, .minor = 0, .keep_alive = true},
                  &date);
    CHECK(wb_str_find(wb_buf_str(&b), UPP_STR("Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n"), 0) !=
          SIZE_MAX);
    wb_buf_clear(&b);
    sv_head_write(&b, &(struct sv_head){.status = 299, .length = SV_LENGTH_CLOSE, .minor = 1}, &date);
    CHECK(wb_str_find(wb_buf_str(&b), UPP_STR("Connection: close\r\n"), 0) != SIZE_MAX);
    CHECK(wb_str_find(wb_buf_str(&b), UPP_STR("Length"), 0) == SIZE_MAX);
    CHECK(wb_str_starts(wb_buf_str(&b), UPP_STR("HTTP/1.1 299 Other\r\n")));
}

TEST(reply_headers_cannot_be_smuggled_in)
{
    static const struct {
        const char *name;
        struct upp_str value;
        bool ok;
    } cases[] = {
        {"X-A", UPP_STR_INIT("b"), true},      {"X", UPP_STR_INIT(""), true},
        {"X", UPP_STR_INIT("\xc3\xa9"), true}, {"X", UPP_STR_INIT("a\r\nSet-Cookie: b"), false},
        {"X", UPP_STR_INIT("a\nb"), false},    {"X", UPP_STR_INIT("a\rb"), false},
        {"X", UPP_STR_INIT("a\0b"), false},    {"X\r\nY", UPP_STR_INIT("a"), false},
        {"X:", UPP_STR_INIT("a"), false},      {"", UPP_STR_INIT("a"), false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(donep) struct sv_reply r;
        sv_reply_init(&r);
        test_note("case %zu", i);
        sv_reply_header(&r, cases[i].name, cases[i].value);
        int checked = wb_buf_check(&r.headers, NULL);
        CHECK(cases[i].ok ? checked == 0 : checked < 0);
    }
}
