/* bench/bench_dialects.c — what one frame of a live stream costs: a delta of a dozen bytes, as models send them. By
 * what it takes to write the same frames as SSE.
 */
#include "bench.h"
#include "dialects/core/dialect.h"
#include "model/id.h"
#include "server/http/stream.h"

enum {
    BATCH = 64,    /* frames between two looks of the writer */
    ANSWER = 2048, /* deltas of one: then another begins, as encoders keep what was said */
    ROUND = 10 * ANSWER
};

static struct wd_frames frames, all; /* of a batch; of an answer */
static uint8_t part_kind;
static struct wm_event event;
static void *state;

static const struct wd_stream_ops *ops;

static void give(uint8_t kind, const char *text)
{
    memset(&event.run, 0, sizeof event - offsetof(struct wm_event, run));
    event.kind = kind;
    if (kind == WM_RUN)
        event.run.status = WM_RUNNING;
    else if (kind == WM_MESSAGE_OPEN)
        event.message_open.id = wm_id_uuid((struct wm_id){.node = 0x5eed, .index = 1, .noun = WM_NOUN_ENTRY});
    else if (kind != WM_STEP_START)
        event.part = (struct wm_part_event){.kind = part_kind,
                                            .call = UPP_STR("call_0123456789abcdef"),
                                            .name = UPP_STR("search"),
                                            .text = wb_cstr(text)};
    event.number++;
    if (ops->event(state, &event, &frames, NULL) < 0)
        abort();
}

static void begin(void)
{
    static struct wm_source from = {.node = 0x5eed};
    const struct wd_stream_opts opts = {.size = sizeof opts,
                                        .thread = wm_id_uuid((struct wm_id){.node = 0x5eed, .index = 2}),
                                        .created_ms = 1767225600000};

    event = (struct wm_event){.from = &from, .step = 1};
    state = calloc(1, ops->state_size);
    if (!state || ops->begin(state, &opts, NULL) < 0)
        abort();
    wd_frames_clear(&frames);
    give(WM_RUN, NULL);
    give(WM_STEP_START, NULL);
    give(WM_MESSAGE_OPEN, NULL);
    give(WM_PART_OPEN, NULL);
    event.kind = WM_DELTA;
    event.part.text = UPP_STR(" of the world");
}

static void end(void)
{
    if (ops->done)
        ops->done(state);
    free(state);
}

static void keep(void)
{
    for (size_t i = 0; i < frames.list.n; i++) {
        struct wd_frame f = frames.list.p[i];
        f.from += all.text.n;
        if (!wb_vec_push(&all.list, f, (size_t)2 * ANSWER))
            abort();
    }
    wb_buf_add(&all.text, wb_buf_str(&frames.text));
}

static void answer(bool keeping)
{
    begin();
    for (unsigned i = 0; i < ANSWER; i++) {
        if (i % BATCH == 0) {
            if (keeping)
                keep();
            wd_frames_clear(&frames);
        }
        event.number++;
        if (ops->event(state, &event, &frames, NULL) < 0)
            abort();
    }
    if (keeping)
        keep();
    end();
}

static void deltas(unsigned times)
{
    for (unsigned i = 0; i < times; i += ANSWER)
        answer(false);
}

/* The frames of as many answers. */
static void sse(unsigned times)
{
    static struct wb_buf out = WB_BUF(1 << 20);
    for (unsigned i = 0; i < times; i += ANSWER)
        for (size_t k = 0; k < all.list.n; k++) {
            const struct wd_frame *f = &all.list.p[k];
            if (k % BATCH == 0)
                wb_buf_clear(&out);
            sv_sse_frame(&out, f->name, wb_str(all.text.p + f->from, f->n), NULL);
        }
    bench_keep(out.p);
}

int main(void)
{
    wd_frames_init(&frames);
    wd_frames_init(&all);
    for (size_t i = 0; (ops = wd_stream_at(i)); i++)
        for (int call = 0; call < 2; call++) {
            char name[64];
            part_kind = call ? UPP_PART_CALL : UPP_PART_TEXT;
            wd_frames_clear(&all);
            answer(true);
            (void)snprintf(name, sizeof name, "%s %s delta", ops->name, call ? "call" : "text");
            /* Calls that are told when they are whole make no frames meanwhile: there is nothing to measure them by. */
            BENCH(.name = name, .product = deltas, .floor = all.list.n > BATCH ? sse : NULL, .times = ROUND,
                  .goal_ns = 60, .goal_ratio = all.list.n > BATCH ? 1.3 : 0);
            (void)fflush(stdout);
        }
    wd_frames_done(&all);
    wd_frames_done(&frames);
    return 0;
}
