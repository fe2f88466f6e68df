/* bench/bench_dialects.c — what one frame of a live stream costs: a delta of a dozen bytes, as models send them. */
#include "bench.h"
#include "dialects/dialect.h"
#include "model/id.h"

enum { BATCH = 64 }; /* frames between two looks of the writer */

static struct wd_frames frames;
static struct wm_event  event;
static void            *state;

static const struct wd_stream_ops *ops;

static void give(uint8_t kind, const char *text)
{
    event.kind = kind;
    event.text = wb_cstr(text);
    event.number++;
    if (ops->event(state, &event, &frames, NULL) < 0)
        abort();
}

static void begin(const struct wd_stream_ops *which, uint8_t part_kind)
{
    static struct wm_source from = {.node = 0x5eed};
    event      = (struct wm_event){.from = &from, .step = 1, .part_kind = part_kind, .status = WM_RUNNING};
    event.id   = wm_id_uuid((struct wm_id){.node = 0x5eed, .index = 1, .noun = WM_NOUN_ENTRY});
    event.call = UPP_STR("call_0123456789abcdef");
    event.name = UPP_STR("search");
    ops        = which;
    state      = calloc(1, ops->state_size);
    wd_frames_init(&frames);
    if (!state || ops->begin(state, NULL, NULL) < 0)
        abort();
    give(WM_RUN, NULL);
    give(WM_STEP_START, NULL);
    give(WM_MESSAGE_OPEN, NULL);
    give(WM_PART_OPEN, NULL);
    event.kind = WM_DELTA;
}

static void end(void)
{
    ops->done(state);
    free(state);
    wd_frames_done(&frames);
}

static void deltas(unsigned times)
{
    event.text = UPP_STR(" of the world");
    for (unsigned i = 0; i < times; i++) {
        if (i % BATCH == 0)
            wd_frames_clear(&frames);
        event.number++;
        if (ops->event(state, &event, &frames, NULL) < 0)
            abort();
    }
}

/* The bytes of one frame, copied. */
static void copies(unsigned times)
{
    static char     to[BATCH * 256];
    struct wd_frame f         = frames.list.p[0];
    const char *volatile from = frames.text.p + f.from;
    for (unsigned i = 0; i < times; i++) {
        memcpy(to + i % BATCH * 256, from, f.n < 256 ? f.n : 256);
        __asm__ volatile("" ::: "memory");
    }
}

int main(void)
{
    static const struct {
        const char                 *name;
        const struct wd_stream_ops *ops;
        uint8_t                     kind;
    } rows[] = {
        {"uap text delta", &wd_stream_uap, UPP_PART_TEXT},
        {"uap call delta", &wd_stream_uap, UPP_PART_CALL},
        {"ui text delta", &wd_stream_ui, UPP_PART_TEXT},
        {"ui call delta", &wd_stream_ui, UPP_PART_CALL},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        begin(rows[i].ops, rows[i].kind);
        deltas(1);
        BENCH(.name = rows[i].name, .product = deltas, .floor = copies, .times = 200000, .goal_ns = 60);
        end();
    }
    return 0;
}
