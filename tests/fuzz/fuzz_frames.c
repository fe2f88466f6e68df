/* fuzz/fuzz_frames.c — the events of a stream are the same however its bytes come.
 *
 * The first byte says which framing and, with the second, where the bytes are cut; the rest is the stream. */
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "upp/http/frames.h"

enum { MAX_EVENT = 200 };

static int framed(struct upp_str bytes, uint8_t kind, size_t size, struct wb_buf *out)
{
    struct ww_frames f;
    struct ww_frame got;
    struct upp_err err = {0};
    int r = 0;
    ww_frames_init(&f, kind, MAX_EVENT);
    for (size_t at = 0; at < bytes.n && r >= 0; at += size) {
        r = ww_frames_feed(&f, wb_str_sub(bytes, at, size), &err);
        while (r >= 0 && (r = ww_frames_next(&f, &got, &err)) > 0)
            wb_buf_addf(out, "%zu%zu%.*s%.*s", got.name.n, got.data.n, UPP_FMT(got.name), UPP_FMT(got.data));
    }
    while (r >= 0 && (r = ww_frames_end(&f, &got, &err)) > 0)
        wb_buf_addf(out, "%zu%zu%.*s%.*s", got.name.n, got.data.n, UPP_FMT(got.name), UPP_FMT(got.data));
    REQUIRE(r == 0 || r == -UPP_ELIMIT);
    REQUIRE_SHOWN(err.msg);
    ww_frames_done(&f);
    return r;
}

FUZZ(frames)
{
    struct wb_buf whole = WB_BUF(1 << 22), cut = WB_BUF(1 << 22);
    if (in.n < 2 || in.n > WW_PIECE)
        return;
    uint8_t kind = in.p[0] & 1 ? WW_LINES : WW_SSE;
    size_t size = 1 + (unsigned char)in.p[1] % 64;
    struct upp_str bytes = wb_str_sub(in, 2, SIZE_MAX);
    int r = framed(bytes, kind, bytes.n + 1, &whole);
    REQUIRE(framed(bytes, kind, size, &cut) == r);
    /* Too long an event is seen at its end or before it: what came before that is the same. */
    REQUIRE(r < 0 || wb_str_eq(wb_buf_str(&whole), wb_buf_str(&cut)));
    wb_buf_done(&whole);
    wb_buf_done(&cut);
}
