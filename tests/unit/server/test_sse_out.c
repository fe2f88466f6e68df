#include "server/http/stream.h"

#include "base/defs.h"
#include "base/random.h"
#include "server/sse_parse.h"
#include "support/test.h"

TEST(sse_out_bytes)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4096);
    sv_sse_frame(&b, NULL, UPP_STR("{\"a\":1}"), NULL);
    sv_sse_frame(&b, "text_delta", UPP_STR("x"), &(struct sv_sse_id){3, 18446744073709551615u, 4294967295u});
    sv_sse_frame(&b, "a.b-C9", UPP_STR(""), &(struct sv_sse_id){0, 0, 0});
    sv_sse_ping(&b);
    sv_sse_goodbye(&b);
    sv_sse_revoked(&b);
    CHECK_STR(wb_buf_str(&b), UPP_STR("data: {\"a\":1}\n\n"
                                      "id: 3-18446744073709551615.4294967295\nevent: text_delta\ndata: x\n\n"
                                      "id: 0-0\nevent: a.b-C9\ndata: \n\n"
                                      ": ping\n\n"
                                      ": the server stops; come back with Last-Event-ID\n\n"
                                      ": the key was revoked\n\n"));
}

TEST(sse_out_names_are_words)
{
    static const char *const bad[] = {
        "",    "a b",      "a\nb",          "a\rdata: x",
        "a:b", "\xc3\xa9", "a\xe2\x80\xa8", "0123456789012345678901234567890123456789012345678901234567890123x"};
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4096);
        sv_sse_frame(&b, bad[i], UPP_STR("x"), NULL);
        ALWAYS(b.n == 0);
        CHECK_INT(wb_buf_check(&b, NULL), -UPP_EBUG);
    }
}

/* ---- What is read back is what was sent ---- */

struct want {
    struct upp_str *data;
    size_t n, at, wrong;
};

static void looks(void *arg, const struct sse_event *ev)
{
    struct want *w = arg;
    w->wrong += w->at >= w->n || !wb_str_eq(ev->data, w->data[w->at]) || !wb_str_eq(ev->name, UPP_STR("delta"));
    w->at++;
}

TEST(sse_out_hostile_data_is_read_back)
{
    static const struct {
        struct upp_str in, out;
    } cases[] = {
        {UPP_STR_INIT("plain"), UPP_STR_INIT("plain")},
        {UPP_STR_INIT(""), UPP_STR_INIT("")},
        {UPP_STR_INIT(" leading"), UPP_STR_INIT(" leading")},
        {UPP_STR_INIT("\n"), UPP_STR_INIT(" ")},
        {UPP_STR_INIT("a\n\ndata: evil\n\n"), UPP_STR_INIT("a  data: evil  ")},
        {UPP_STR_INIT("a\r\rid: 9\r\r"), UPP_STR_INIT("a  id: 9  ")},
        {UPP_STR_INIT("a\r\nevent: x\r\n\r\n"), UPP_STR_INIT("a  event: x    ")},
        {UPP_STR_INIT("\"\xe2\x80\xa8\xe2\x80\xa9\""), UPP_STR_INIT("\"\\u2028\\u2029\"")},
        {UPP_STR_INIT("\xe2\x80\xaa\xe2\x80"), UPP_STR_INIT("\xe2\x80\xaa\xe2\x80")},
        {UPP_STR_INIT("\xe2"), UPP_STR_INIT("\xe2")},
        {UPP_STR_INIT("a\0b"), UPP_STR_INIT("a\0b")},
        {UPP_STR_INIT("\xef\xbb\xbf"), UPP_STR_INIT("\xef\xbb\xbf")},
        {UPP_STR_INIT(": ping"), UPP_STR_INIT(": ping")},
        {UPP_STR_INIT("[DONE]"), UPP_STR_INIT("[DONE]")},
        {UPP_STR_INIT("\x0b\x0c\x85"), UPP_STR_INIT("\x0b\x0c\x85")}, /* line ends elsewhere, not here */
    };
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_str data[WB_LEN(cases)];
    struct want w = {data, WB_LEN(cases), 0, 0};
    struct sse_parser p;
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        data[i] = cases[i].out;
        sv_sse_frame(&b, "delta", cases[i].in, &(struct sv_sse_id){1, i, 2});
        sv_sse_ping(&b);
    }
    CHECK(wb_buf_check(&b, NULL) == 0);
    CHECK(sse_parse(wb_buf_str(&b), &p, looks, &w));
    CHECK_INT(p.events, WB_LEN(cases));
    CHECK_INT(p.comments, WB_LEN(cases));
    CHECK_INT(w.wrong, 0);
}

static void counts(void *arg, const struct sse_event *ev)
{
    *(size_t *)arg += memchr(ev->data.p, '\n', ev->data.n) == NULL;
}

/* Random bytes from an alphabet of trouble. */
TEST(sse_out_ten_thousand_payloads)
{
    static const char alphabet[] = "\n\r\n\r: \xe2\x80\xa8\xa9"
                                   "dataevnid\0{}";
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(8u << 20);
    size_t good = 0;
    struct sse_parser p;
    for (unsigned i = 0; i < 10000; i++) {
        unsigned char raw[40];
        char text[40];
        CHECK(wb_random(raw, sizeof raw, NULL) == 0);
        for (size_t k = 0; k < sizeof raw; k++)
            text[k] = alphabet[raw[k] % (sizeof alphabet - 1)];
        sv_sse_frame(&b, raw[0] & 1 ? "x" : NULL, wb_str(text, raw[1] % sizeof text), NULL);
    }
    CHECK(wb_buf_check(&b, NULL) == 0);
    CHECK(sse_parse(wb_buf_str(&b), &p, counts, &good));
    CHECK_INT(p.events, 10000);
    CHECK_INT(good, 10000);
}

TEST(sse_out_ids_are_read)
{
    struct sv_sse_id id = {0};
    static const char *const bad[] = {"",      "-",       "1",
                                      "1-",    "-1",      "1-2-3",
                                      "a-1",   "1-a",     "+1-1",
                                      "1--1",  " 1-1",    "4294967296-1",
                                      "01-1",  "1-00",    "1-18446744073709551616",
                                      "1-2.",  "1-2.0",   "1-2.01",
                                      ".1-2",  "1.1-2",   "1-.1",
                                      "1-2.x", "1-2.3.4", "1-2.4294967296"};
    CHECK(sv_sse_id_parse(UPP_STR("4294967295-18446744073709551615"), &id));
    CHECK(id.epoch == UINT32_MAX && id.number == UINT64_MAX && id.part == 0);
    CHECK(sv_sse_id_parse(UPP_STR("4294967295-18446744073709551615.4294967295"), &id));
    CHECK(id.epoch == UINT32_MAX && id.number == UINT64_MAX && id.part == UINT32_MAX);
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        test_note("'%s'", bad[i]);
        CHECK(!sv_sse_id_parse(wb_cstr(bad[i]), &id));
    }
}
