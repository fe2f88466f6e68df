/* Bytes of a body, cut into events. */
#include "base/defs.h"
#include "base/str.h"
#include "support/test.h"
#include "upp/http/frames.h"

/* Events of bytes that come in pieces of `size`, each as NAME|DATA; and what failed. */
static int framed(struct upp_str bytes, uint8_t kind, size_t size, size_t max, struct wb_buf *out, struct upp_err *err)
{
    struct ww_frames f;
    struct ww_frame got;
    int r = 0;
    ww_frames_init(&f, kind, max);
    for (size_t at = 0; at < bytes.n && r >= 0; at += size) {
        r = ww_frames_feed(&f, wb_str_sub(bytes, at, size), err);
        while (r >= 0 && (r = ww_frames_next(&f, &got, err)) > 0)
            wb_buf_addf(out, "%.*s|%.*s;", UPP_FMT(got.name), UPP_FMT(got.data));
    }
    while (r >= 0 && (r = ww_frames_end(&f, &got, err)) > 0)
        wb_buf_addf(out, "%.*s|%.*s;", UPP_FMT(got.name), UPP_FMT(got.data));
    ww_frames_done(&f);
    return r < 0 ? r : wb_buf_check(out, err);
}

static const struct {
    const char *bytes, *events;
} sse[] = {
    {"data: a\n\n", "|a;"},
    {"data:a\n\ndata: b\n\n", "|a;|b;"},
    {"data:  a\n\n", "| a;"}, /* one blank goes */
    {"event: x\ndata: a\n\ndata: b\n\n", "x|a;|b;"},
    {"data: a\r\n\r\ndata: b\r\n\r\n", "|a;|b;"},
    {"data: a\r\rdata: b\r\r", "|a;|b;"},
    {"data: a\r\n\n", "|a;"},
    {"\xef\xbb\xbf"
     "data: a\n\n",
     "|a;"},
    {": a comment\n\n: OPENROUTER PROCESSING\n\ndata: a\n\n", "|a;"},
    {"data: a\n: between\ndata: b\n\n", "|a\nb;"},
    {"data: a\ndata: b\ndata\ndata: c\n\n", "|a\nb\n\nc;"},
    {"data\n\n", "|;"},
    {"data:\n\n", "|;"},
    {"id: 7\nretry: 3\nfoo: bar\n\ndata: a\n\n", "|a;"},
    {"event: ping\n\n", "ping|;"},
    {"data: a", "|a;"}, /* the end of the body closes it */
    {"data: a\n", "|a;"},
    {"data: a\r", "|a;"},
    {"event: x\ndata: a", "x|a;"},
    {"\n\n\n", ""},
    {"", ""},
    {"{\"error\":{}}\n\n", "|{\"error\":{}};"}, /* bare JSON */
    {"data: {\"a\":1}\n\n{\"error\":2}\n", "|{\"a\":1};|{\"error\":2};"},
    {"data: \xc3\xa9\xe2\x82\xac\n\n", "|\xc3\xa9\xe2\x82\xac;"},
    {"event: a\nevent: b\ndata: 1\n\n", "b|1;"},
};

TEST(frames_cut_server_sent_events)
{
    for (size_t i = 0; i < WB_LEN(sse); i++) {
        struct upp_str bytes = wb_cstr(sse[i].bytes);
        for (size_t size = 1; size <= bytes.n + 1; size++) {
            WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(4096);
            struct upp_err err = {0};
            test_note("case %zu in pieces of %zu", i, size);
            CHECK(framed(bytes, WW_SSE, size, 4096, &got, &err) == 0);
            CHECK_STR(wb_buf_str(&got), wb_cstr(sse[i].events));
        }
    }
}

static const struct {
    const char *bytes, *events;
} lines[] = {
    {"{}\n", "|{};"},
    {"{\"a\":1}\n{\"b\":2}", "|{\"a\":1};|{\"b\":2};"}, /* the last may lack its end */
    {"{}\r\n{}\r\n", "|{};|{};"},
    {"\n\n{}\n\n", "|{};"},
    {"data: no field here\n", "|data: no field here;"},
    {"", ""},
};

TEST(frames_cut_lines)
{
    for (size_t i = 0; i < WB_LEN(lines); i++) {
        struct upp_str bytes = wb_cstr(lines[i].bytes);
        for (size_t size = 1; size <= bytes.n + 1; size++) {
            WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(4096);
            struct upp_err err = {0};
            test_note("case %zu in pieces of %zu", i, size);
            CHECK(framed(bytes, WW_LINES, size, 4096, &got, &err) == 0);
            CHECK_STR(wb_buf_str(&got), wb_cstr(lines[i].events));
        }
    }
}

/* As long as the maximum, and one more: the same however it comes. */
TEST(frames_have_a_longest_event)
{
    static char bytes[4096];
    for (uint8_t kind = WW_SSE; kind <= WW_LINES; kind++)
        for (size_t size = 1; size < 300; size += 7)
            for (size_t more = 0; more < 2; more++) {
                WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(4096);
                struct upp_err err = {0};
                size_t n = 100 + more;
                memset(bytes, 'x', n);
                memcpy(bytes, "data: ", 6);
                memcpy(bytes + n, "\n\n", 2);
                size_t max = kind == WW_SSE ? 102 : 100;
                test_note("kind %u, pieces of %zu, %zu over", kind, size, more);
                int r = framed(wb_str(bytes, n + 2), kind, size, max, &got, &err);
                CHECK_INT(r, more ? -UPP_ELIMIT : 0);
            }
}

/* What is between events is no part of any, however much it is: the memory stays. */
TEST(frames_pass_over_comments_without_end)
{
    struct ww_frames f;
    struct ww_frame got;
    struct upp_err err = {0};
    int r = 0;
    ww_frames_init(&f, WW_SSE, 256);
    for (int i = 0; i < 10000 && r == 0; i++) {
        r = ww_frames_feed(&f, UPP_STR(": keep-alive, and again\n\n"), &err);
        if (r == 0)
            r = ww_frames_next(&f, &got, &err);
    }
    size_t held = f.bytes.cap;
    ww_frames_done(&f);
    CHECK_INT(r, 0);
    CHECK(held < 4096);
}

/* What was given out is good until the next call, whatever the buffer does: one event, then a piece that makes it grow.
 */
TEST(frames_give_what_they_hold)
{
    static char big[8192];
    struct ww_frames f;
    struct ww_frame got;
    struct upp_err err = {0};
    memset(big, 'y', sizeof big);
    ww_frames_init(&f, WW_SSE, 1 << 20);
    int r = ww_frames_feed(&f, UPP_STR("event: one\ndata: first\n\ndata: sec"), &err);
    bool ok = r == 0 && ww_frames_next(&f, &got, &err) == 1 && wb_str_eq(got.data, UPP_STR("first")) &&
              wb_str_eq(got.name, UPP_STR("one")) && ww_frames_next(&f, &got, &err) == 0;
    for (int i = 0; ok && i < 4; i++)
        ok = ww_frames_feed(&f, wb_str(big, sizeof big), &err) == 0 && ww_frames_next(&f, &got, &err) == 0;
    ok = ok && ww_frames_feed(&f, UPP_STR("\n\n"), &err) == 0 && ww_frames_next(&f, &got, &err) == 1 &&
         got.data.n == 3 + 4 * sizeof big && !got.name.p;
    ww_frames_done(&f);
    CHECK(ok);
}
