/* fuzz/adapter.h — what holds of every adapter, whatever a vendor sends.
 *
 * The first byte says how it comes: 'w', in one piece; else as a stream, from a server with the habits that its upper
 * bits say. The second is where the stream is cut in two; if it is odd, a structure was asked for.
 *  1. The events keep the invariants of upp/model.h, and their texts are WTF-8.
 *  2. How the bytes are cut changes nothing.
 *  3. What was read can be sent back: the next request is written, and is JSON.
 *  4. A failure has a code and says why.
 */
#pragma once

#include "base/defs.h"
#include "fuzz/fuzz.h"
#include "support/reader.h"

enum { FUZZ_PARTS = 64 };

/* What was said so far, as a message. */
struct fuzz_said {
    struct wb_arena arena;
    struct upp_part parts[FUZZ_PARTS];
    struct upp_media media[FUZZ_PARTS];
    bool closed[FUZZ_PARTS];
    size_t n, unclosed, events;
    bool ended;
    struct upp_str metadata;
    uint64_t hash; /* of all but ids by chance and where texts are cut */
};

static inline void fuzz_mix(struct fuzz_said *s, struct upp_str text)
{
    for (size_t i = 0; i < text.n; i++)
        s->hash = (s->hash ^ (unsigned char)text.p[i]) * 0x100000001b3;
    s->hash = s->hash * 31 + text.n;
}

static inline void fuzz_part(struct fuzz_said *s, const struct upp_step_event *ev)
{
    REQUIRE(ev->part_kind >= UPP_PART_TEXT && ev->part_kind <= UPP_PART_CALL);
    REQUIRE(ev->part_kind != UPP_PART_CALL || ev->id.n);
    REQUIRE(wb_wtf8_valid(ev->id, NULL) && wb_wtf8_valid(ev->name, NULL));
    s->unclosed++;
    s->hash = s->hash * 31 + ev->part_kind;
    fuzz_mix(s, ev->name);
    if (s->n < FUZZ_PARTS) {
        struct upp_part *p = &s->parts[s->n];
        *p = (struct upp_part){.kind = ev->part_kind,
                               .id = wb_arena_dup(&s->arena, ev->id),
                               .name = wb_arena_dup(&s->arena, ev->name),
                               .text = UPP_STR("")};
        if (ev->media) {
            REQUIRE(wb_wtf8_valid(ev->media->data, NULL) && wb_wtf8_valid(ev->media->mime, NULL));
            s->media[s->n] = (struct upp_media){.source = ev->media->source,
                                                .data = wb_arena_dup(&s->arena, ev->media->data),
                                                .mime = wb_arena_dup(&s->arena, ev->media->mime)};
            p->media = &s->media[s->n];
            fuzz_mix(s, ev->media->data);
        }
    }
    s->n++;
}

static inline void fuzz_delta(struct fuzz_said *s, const struct upp_step_event *ev)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64 << 20);
    REQUIRE(ev->text.n && wb_wtf8_valid(ev->text, NULL));
    fuzz_mix(s, ev->text);
    if (ev->part >= FUZZ_PARTS)
        return;
    wb_buf_add(&b, s->parts[ev->part].text);
    wb_wtf8_add(&b, ev->text);
    s->parts[ev->part].text = wb_arena_dup(&s->arena, wb_buf_str(&b));
}

static inline void fuzz_event(struct fuzz_said *s, const struct upp_step_event *ev)
{
    REQUIRE(!s->ended);
    switch (ev->kind) {
    case UPP_STEP_OPEN:
        REQUIRE(!s->events);
        break;
    case UPP_STEP_PART_OPEN:
        REQUIRE(ev->part == s->n);
        fuzz_part(s, ev);
        break;
    case UPP_STEP_DELTA:
        REQUIRE(ev->part < s->n && (ev->part >= FUZZ_PARTS || !s->closed[ev->part]));
        fuzz_delta(s, ev);
        break;
    case UPP_STEP_PART_CLOSE:
        REQUIRE(ev->part < s->n && s->unclosed-- > 0);
        if (ev->part < FUZZ_PARTS) {
            REQUIRE(!s->closed[ev->part]);
            s->closed[ev->part] = true;
        }
        break;
    default:
        REQUIRE(ev->kind == UPP_STEP_END && !s->unclosed && ev->stop);
        s->ended = true;
        s->metadata = wb_arena_dup(&s->arena, ev->metadata);
        s->hash = s->hash * 31 + ev->stop + ev->usage.input + ev->usage.output;
    }
    s->events++;
}

static inline void fuzz_take(struct fuzz_said *s, struct reading *g)
{
    for (; g->r.at < g->r.queue.n; g->r.at++)
        fuzz_event(s, &g->r.queue.p[g->r.at]);
    reading_taken(g);
}

static inline int fuzz_stream(struct fuzz_said *s, struct reading *g, struct upp_str in, size_t cut,
                              struct upp_err *err)
{
    struct ww_frames f;
    struct ww_frame frame;
    struct upp_str pieces[] = {wb_str_sub(in, 0, cut), wb_str_sub(in, cut, SIZE_MAX)};
    int r = 0;
    ww_frames_init(&f, g->vendor.adapter->framing, 1 << 20);
    for (size_t i = 0; i < 2 && r >= 0; i++)
        while (r >= 0 && pieces[i].n) {
            struct upp_str now = wb_str_sub(pieces[i], 0, WW_PIECE);
            pieces[i] = wb_str_sub(pieces[i], now.n, SIZE_MAX);
            r = ww_frames_feed(&f, now, err);
            while (r >= 0 && (r = ww_frames_next(&f, &frame, err)) > 0) {
                r = g->vendor.adapter->event(&g->r, &frame, err);
                fuzz_take(s, g);
            }
        }
    while (r >= 0 && (r = ww_frames_end(&f, &frame, err)) > 0) {
        r = g->vendor.adapter->event(&g->r, &frame, err);
        fuzz_take(s, g);
    }
    if (r >= 0 && !g->r.ended)
        r = upp__eof(&g->r, err);
    fuzz_take(s, g);
    ww_frames_done(&f);
    return r;
}

/* The next request, with this answer in it. */
static inline void fuzz_send_back(const struct fuzz_said *s, const struct upp__vendor *v)
{
    static const struct upp_str result = UPP_STR_INIT("[{\"type\":\"text\",\"text\":\"ok\"}]");
    static struct upp_part parts[FUZZ_PARTS], results[FUZZ_PARTS]; /* frames are small */
    struct upp_message m = {.role = UPP_ROLE_ASSISTANT, .parts = parts, .n_parts = s->n, .metadata = s->metadata};
    struct upp_message t = {.role = UPP_ROLE_TOOL, .parts = results};
    const struct upp_message *list[] = {&m, &t};
    struct upp_request req = {.messages = list, .n_messages = 2};
    struct writing *w = calloc(1, sizeof *w);
    struct upp_err err = {0};
    yyjson_val *body;
    REQUIRE(w);
    memcpy(parts, s->parts, s->n * sizeof parts[0]);
    for (size_t i = 0; i < s->n; i++)
        if (parts[i].kind == UPP_PART_CALL)
            results[t.n_parts++] = (struct upp_part){.kind = UPP_PART_RESULT, .id = parts[i].id, .text = result};
    REQUIRE(writing_write(w, v, &req, &err) == 0);
    REQUIRE(wj_read(&w->arena, wb_buf_str(&w->out.body), NULL, &body, NULL) == 0);
    writing_done(w);
    free(w);
}

static inline uint64_t fuzz_once(const struct upp__adapter *adapter, struct upp_str how, struct upp_str in, size_t cut)
{
    struct reading g;
    struct fuzz_said *s = calloc(1, sizeof *s);
    struct upp_err err = {0};
    bool whole = how.p[0] == 'w';
    REQUIRE(s && reading_init(&g, adapter, "gemini-3-pro"));
    s->arena = (struct wb_arena)WB_ARENA(256 << 20);
    g.vendor.habits = (unsigned char)how.p[0] >> 1;
    if (how.p[1] & 1)
        g.request.structure = UPP_STR("{}");
    int r = whole ? adapter->whole(&g.r, in, &err) : fuzz_stream(s, &g, in, cut, &err);
    fuzz_take(s, &g);
    REQUIRE(r < 0 ? err.code == -r && r != -UPP_EBUG && r != -UPP_ENOMEM : s->ended);
    if (r < 0)
        REQUIRE_SHOWN(err.msg);
    else if (s->n <= FUZZ_PARTS)
        fuzz_send_back(s, &g.vendor);
    uint64_t hash = r < 0 ? s->hash + (unsigned)-r : s->hash;
    reading_done(&g);
    wb_arena_done(&s->arena);
    free(s);
    return hash;
}

static inline void fuzz_adapter(const struct upp__adapter *adapter, struct upp_str in)
{
    struct wb_arena a = WB_ARENA(64 << 20);
    struct upp__provider_error t = {.status = 500};
    struct upp_err err;
    if (in.n < 2)
        return;
    struct upp_str how = wb_str_sub(in, 0, 2), body = wb_str_sub(in, 2, SIZE_MAX);
    uint64_t first = fuzz_once(adapter, how, body, 0);
    REQUIRE(in.p[0] == 'w' || fuzz_once(adapter, how, body, (unsigned char)in.p[1]) == first);
    upp__provider_error_read(adapter, &a, body, &t);
    REQUIRE(upp__provider_fail(&t, (struct upp_str){0}, &err) < 0);
    REQUIRE_SHOWN(err.msg);
    wb_arena_done(&a);
}
