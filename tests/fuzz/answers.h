/* fuzz/answers.h — any bytes as the answer of a vendor: a stream, cut somewhere, or a body. Whatever they are, what an
 * adapter says keeps the promises of upp/model.h. */
#ifndef FUZZ_ANSWERS_H
#define FUZZ_ANSWERS_H

#include <stdlib.h>

#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "json/read.h"
#include "upp/adapter.h"

enum { FUZZ_PARTS = 1 << 14 };

struct fuzz_said {
    struct upp__reader r;
    bool               open[FUZZ_PARTS], closed[FUZZ_PARTS];
    uint32_t           parts;
    uint64_t           events;
};

/* The events of the queue, in their order. */
static inline void fuzz_take(struct fuzz_said *s)
{
    for (size_t i = 0; i < s->r.queue.n; i++) {
        const struct upp_step_event *ev = &s->r.queue.p[i];
        REQUIRE(ev->kind == UPP_STEP_OPEN ? s->events == 0 : ev->kind >= UPP_STEP_PART_OPEN);
        s->events++;
        if (ev->kind == UPP_STEP_PART_OPEN) {
            REQUIRE(ev->part == s->parts && s->parts < FUZZ_PARTS);
            s->open[s->parts++] = true;
            REQUIRE(ev->part_kind != UPP_PART_CALL || ev->id.n);
        } else if (ev->kind == UPP_STEP_DELTA) {
            REQUIRE(ev->part < s->parts && s->open[ev->part] && ev->text.n && wb_wtf8_valid(ev->text, NULL));
        } else if (ev->kind == UPP_STEP_PART_CLOSE) {
            REQUIRE(ev->part < s->parts && s->open[ev->part] && !s->closed[ev->part]);
            s->open[ev->part]   = false;
            s->closed[ev->part] = true;
        } else if (ev->kind == UPP_STEP_END) {
            yyjson_val *v;
            REQUIRE(i + 1 == s->r.queue.n && s->r.ended);
            for (uint32_t k = 0; k < s->parts; k++)
                REQUIRE(s->closed[k]);
            REQUIRE(!ev->metadata.p || wj_read(&s->r.scratch, ev->metadata, NULL, &v, NULL) == 0);
        }
    }
    s->r.queue.n = 0;
}

static inline int fuzz_stream(struct fuzz_said *s, const struct upp__adapter *a, struct upp_str in, struct upp_err *err)
{
    struct ww_frames f;
    struct ww_frame  got;
    int              r = 0;
    ww_frames_init(&f, a->framing, 1 << 20);
    while (r >= 0 && in.n) {
        struct upp_str now = wb_str_sub(in, 0, 1 + in.n % 997);
        in                 = wb_str_sub(in, now.n, SIZE_MAX);
        r                  = ww_frames_feed(&f, now, err);
        while (r >= 0 && (r = ww_frames_next(&f, &got, err)) > 0) {
            wb_arena_reset(&s->r.scratch);
            r = a->event(&s->r, &got, err);
            if (r >= 0)
                fuzz_take(s);
        }
    }
    if (r >= 0 && ww_frames_end(&f, &got, err) > 0) {
        wb_arena_reset(&s->r.scratch);
        r = a->event(&s->r, &got, err);
        if (r >= 0)
            fuzz_take(s);
    }
    ww_frames_done(&f);
    return r < 0 ? r : a->eof(&s->r, err);
}

/* The first byte says whether the rest is a body or a stream, and gives the server its habits. */
static inline void fuzz_answer(const struct upp__adapter *a, struct upp_str in)
{
    static const struct upp_str schema = UPP_STR_INIT("{}");
    struct upp__vendor  v     = {.adapter = a, .provider = "fuzz", .habits = in.n ? (unsigned char)in.p[0] >> 1 : 0};
    struct upp_request  req   = {.structure = in.n && in.p[0] & 2 ? schema : (struct upp_str){0}};
    struct fuzz_said   *s     = calloc(1, sizeof *s);
    bool                whole = in.n && in.p[0] & 1;
    struct upp_err      err   = {0};
    struct wb_arena     arena = WB_ARENA(16 << 20);
    struct upp__trouble t     = {0};
    REQUIRE(s);
    in           = wb_str_sub(in, 1, SIZE_MAX);
    s->r.vendor  = &v;
    s->r.request = &req;
    s->r.keep    = (struct wb_arena)WB_ARENA(64 << 20);
    s->r.scratch = (struct wb_arena)WB_ARENA(64 << 20);
    s->r.answer  = (struct wb_buf)WB_BUF(1 << 20);
    s->r.own     = calloc(1, a->own_size);
    REQUIRE(s->r.own);
    int r = whole ? a->whole(&s->r, in, &err) : fuzz_stream(s, a, in, &err);
    if (r >= 0) {
        fuzz_take(s);
        REQUIRE(s->r.ended);
    } else {
        REQUIRE(err.code == -r);
        REQUIRE_SHOWN(err.msg);
    }
    a->trouble(&arena, in, &t);
    wb_arena_done(&arena);
    if (a->done)
        a->done(&s->r);
    wb_vec_done(&s->r.queue);
    wb_buf_done(&s->r.answer);
    wb_arena_done(&s->r.keep);
    wb_arena_done(&s->r.scratch);
    free(s->r.own);
    free(s);
}

#endif
