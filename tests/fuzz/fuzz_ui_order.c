/* Any bytes choose a valid run (support/events.h), and its streams for all three majors are in order; the same bytes as
 * a script of events, valid or not, never give a frame that is out of order: the encoder refuses the event instead. */
#include "dialects/ui/doc.h"
#include "base/hooks.h"
#include "fuzz/fuzz.h"
#include "support/events.h"
#include "support/ui_order.h"

#include "dialects/core/dialect.h"
#include "json/read.h"

struct bytes {
    struct upp_str left;
};

static unsigned pick_byte(void *arg, unsigned n)
{
    struct bytes *b = arg;
    if (b->left.n == 0)
        return n - 1; /* which ends what is being made up */
    unsigned char c = (unsigned char)*b->left.p;
    b->left = wb_str_sub(b->left, 1, b->left.n);
    return c % n;
}

/* Through one encoder and the checker, event by event. */
static void encode(const struct events *e, unsigned target, bool valid)
{
    struct wd_frames f;
    struct ui_order c;
    struct upp_err err = {0};
    bool ended = false;
    int r = 0;
    void *state = wb_alloc(wd_stream_ui.state_size);
    REQUIRE(state);
    memset(state, 0, wd_stream_ui.state_size);
    wd_frames_init(&f);
    ui_order_init(&c, target);
    REQUIRE(wd_stream_ui.begin(state, UPP_OPTS(wd_stream_opts, .own = &(struct wd_ui_opts){target}, .children = true),
                               &err) == 0);
    for (size_t i = 0; r == 0 && i < e->list.n; i++) {
        const struct wm_event *ev = &e->list.p[i];
        wd_frames_clear(&f);
        r = wd_stream_ui.event(state, ev, &f, &err);
        REQUIRE(r == 0 || (!valid && (r == -UPP_EBUG || r == -UPP_EINVALID || r == -UPP_ELIMIT)));
        for (size_t k = 0; r == 0 && k < f.list.n; k++)
            REQUIRE(ui_order_frame(&c, wb_str(f.text.p + f.list.p[k].from, f.list.p[k].n)));
        ended = ended || (ev->kind == WM_RUN && ev->from->depth == 0 && wm_status_ended(ev->run.status));
    }
    REQUIRE(r < 0 || ui_order_end(&c, ended));
    REQUIRE_SHOWN(err.msg);
    wd_stream_ui.done(state);
    wb_free(state);
    wd_frames_done(&f);
    ui_order_done(&c);
}

/* uap has no order of its own to break: every frame is one line of JSON. */
static void encode_uap(const struct events *e, bool valid)
{
    struct wd_frames f;
    struct wb_arena a = WB_ARENA(64u << 20);
    struct upp_err err = {0};
    yyjson_val *v = NULL;
    int r = 0;
    void *state = wb_alloc(wd_stream_weft.state_size);
    REQUIRE(state);
    memset(state, 0, wd_stream_weft.state_size);
    wd_frames_init(&f);
    REQUIRE(wd_stream_weft.begin(state, UPP_OPTS(wd_stream_opts, .children = true), &err) == 0);
    for (size_t i = 0; r == 0 && i < e->list.n; i++) {
        wd_frames_clear(&f);
        r = wd_stream_weft.event(state, &e->list.p[i], &f, &err);
        REQUIRE(r == 0 || (!valid && (r == -UPP_EBUG || r == -UPP_EINVALID || r == -UPP_ELIMIT)));
        for (size_t k = 0; r == 0 && k < f.list.n; k++) {
            struct upp_str frame = wb_str(f.text.p + f.list.p[k].from, f.list.p[k].n);
            REQUIRE(!memchr(frame.p, '\n', frame.n));
            REQUIRE(wj_read(&a, frame, UPP_OPTS(wj_read_opts, .depth = WJ_DEPTH_MAX), &v, &err) == 0);
            wb_arena_reset(&a);
        }
    }
    wd_stream_weft.done(state);
    wb_free(state);
    wd_frames_done(&f);
    wb_arena_done(&a);
}

FUZZ(ui_order)
{
    struct bytes b = {in};
    struct wb_buf script = WB_BUF(1 << 20);
    struct upp_err err;
    for (int valid = 0; valid < 2; valid++) {
        struct events e;
        events_init(&e);
        if (valid)
            events_invent(&script, pick_byte, &b);
        else
            wb_buf_add(&script, in);
        int r = events_play(&e, wb_buf_str(&script), &err);
        REQUIRE(r == 0 || !valid);
        for (unsigned target = 5; target <= 7; target++)
            encode(&e, target, valid);
        encode_uap(&e, valid);
        events_done(&e);
        wb_buf_done(&script);
    }
}
