#include "upp/http/rules.h"

#include <stdio.h>

#include "support/test.h"

static int feed(struct upp__head *h, const char *const *lines, struct upp_err *err)
{
    int r = 0;
    for (; *lines && r == 0; lines++)
        r = upp__head_line(h, wb_cstr(*lines), err);
    return r;
}

TEST(outgoing_rules_a_head_is_a_table_of_lower_case_names)
{
    static const char *const lines[] = {"HTTP/1.1 100 Continue\r\n",
                                        "X-Old: 1\r\n",
                                        "\r\n",
                                        "HTTP/1.1 200 OK\r\n",
                                        "Content-Type:  text/event-stream \r\n",
                                        "X-Empty:\r\n",
                                        "x-folded: one\r\n",
                                        " two\r\n",
                                        "\r\n",
                                        NULL};
    WB_CLEANUP(upp__head_done) struct upp__head h;
    struct upp_err err = {0};
    upp__head_init(&h);
    CHECK_INT(feed(&h, lines, &err), 1);
    CHECK_INT(h.status, 200);
    CHECK_INT(h.n, 3);
    CHECK_STR(upp__head_get(&h, UPP_STR("content-type")), UPP_STR("text/event-stream"));
    CHECK_STR(upp__head_get(&h, UPP_STR("x-empty")), UPP_STR(""));
    CHECK_STR(upp__head_get(&h, UPP_STR("x-folded")), UPP_STR("one two"));
    CHECK(!upp__head_get(&h, UPP_STR("x-old")).p);
    CHECK_INT(upp__head_line(&h, UPP_STR("trailer: later\r\n"), &err), 0);
    CHECK(!upp__head_get(&h, UPP_STR("trailer")).p);
}

TEST(outgoing_rules_heads_have_limits)
{
    static const char *const broken[][4] = {{"HTTP/1.1\r\n"},
                                            {"HTTP/2 xx\r\n"},
                                            {"HTTP/2 200\r\n", "no colon\r\n"},
                                            {"HTTP/2 200\r\n", ": none\r\n"},
                                            {"HTTP/2 200\r\n", " fold\r\n"},
                                            {"\r\n"}};
    for (size_t i = 0; i < WB_LEN(broken); i++) {
        WB_CLEANUP(upp__head_done) struct upp__head h;
        upp__head_init(&h);
        test_note("case %zu", i);
        CHECK_INT(feed(&h, broken[i], NULL), -UPP_EPROTO);
    }
    WB_CLEANUP(upp__head_done) struct upp__head many, long_one;
    struct upp_err err = {0};
    static char line[40000];
    upp__head_init(&many);
    upp__head_init(&long_one);
    for (int i = 0; i < UPP__HEAD_LINES; i++)
        CHECK_INT(upp__head_line(&many, UPP_STR("a: b"), &err), 0);
    CHECK_INT(upp__head_line(&many, UPP_STR("a: b"), &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the answer has more than 256 headers"));
    memset(line, 'x', sizeof line);
    line[1] = ':';
    CHECK_INT(upp__head_line(&long_one, wb_str(line, sizeof line), &err), 0);
    CHECK_INT(upp__head_line(&long_one, wb_str(line, sizeof line), &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the answer's head has more than 65536 bytes"));
}

TEST(outgoing_rules_nothing_in_a_request_ends_its_line)
{
    static const struct {
        const char *method, *url, *name, *value, *msg;
    } bad[] = {
        {"GET", "http://h/ x", "a", "b", "an address is empty or has a blank in it"},
        {"GET", "http://h/\r\nx", "a", "b", "an address is empty or has a blank in it"},
        {"GET", "http://h/\tx", "a", "b", "an address is empty or has a blank in it"},
        {"GET", "", "a", "b", "an address is empty or has a blank in it"},
        {"G T", "http://h/", "a", "b", "this is no method of HTTP"},
        {"GET", "http://h/", "", "b", "header 1 has a name that cannot be sent"},
        {"GET", "http://h/", "a:", "b", "header 1 has a name that cannot be sent"},
        {"GET", "http://h/", "a", "secret\r\nx: y", "the value of header 'a' has a control character in it"},
        {"GET", "http://h/", "a", "secret\nx", "the value of header 'a' has a control character in it"},
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        struct upp_header h = {wb_cstr(bad[i].name), wb_cstr(bad[i].value)};
        struct upp_http_request q = {
            .method = wb_cstr(bad[i].method), .url = wb_cstr(bad[i].url), .headers = &h, .n_headers = 1};
        struct upp_err err = {0};
        CHECK_INT(upp__http_check(&q, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(bad[i].msg));
    }
    struct upp_header nul = {UPP_STR("a"), UPP_STR("x\0y")}, good = {UPP_STR("A-b_1"), UPP_STR("\xc3\xa4 \t;")};
    struct upp_http_request q = {.url = UPP_STR("http://h/?q=%20"), .headers = &nul, .n_headers = 1};
    CHECK_INT(upp__http_check(&q, NULL), -UPP_EINVALID);
    q.headers = &good;
    CHECK_INT(upp__http_check(&q, NULL), 0);
    q.method = UPP_STR("HEAD");
    CHECK_INT(upp__http_check(&q, NULL), 0);
    q.body = UPP_STR(""); /* libcurl would send a POST */
    CHECK_INT(upp__http_check(&q, NULL), -UPP_EINVALID);
}

TEST(outgoing_rules_what_travels_and_what_is_decoded)
{
    CHECK(upp__http_travels(UPP_STR("Accept")) && upp__http_travels(UPP_STR("user-agent")));
    CHECK(!upp__http_travels(UPP_STR("x-api-key")) && !upp__http_travels(UPP_STR("Authorization")));
    CHECK(!upp__http_travels(UPP_STR("cookie")) && !upp__http_travels(UPP_STR("x-goog-api-key")));
    CHECK_INT(upp__http_coding((struct upp_str){0}, NULL), 1);
    CHECK_INT(upp__http_coding(UPP_STR("identity"), NULL), 1);
    CHECK_INT(upp__http_coding(UPP_STR("GZIP"), NULL), 0);
    CHECK_INT(upp__http_coding(UPP_STR("deflate"), NULL), 0);
    CHECK_INT(upp__http_coding(UPP_STR("zstd"), NULL), -UPP_EPROTO);
    CHECK_INT(upp__http_coding(UPP_STR("gzip, gzip"), NULL), -UPP_EPROTO);
}

TEST(outgoing_rules_a_cause_shows_no_query)
{
    struct upp_err err = {0};
    upp__http_cause(&err, "cannot: http://h/x?key=secret");
    CHECK_STR(wb_cstr(err.cause), UPP_STR("cannot: http://h/x"));
    upp__http_cause(&err, "line\nbreak\xff");
    CHECK_STR(wb_cstr(err.cause), UPP_STR("line.break."));
    upp__http_cause(NULL, "nobody asks");
}
