/* dialects/upp/stream.c — UPP StreamEvents as its proxy sends them: one {"type","index","delta"} per frame, then
 * [DONE].
 *
 * They are the UPP events inside UAP's stream (dialects/uap/stream.c), without UAP's own: the steps of a run follow
 * each other as cycles do. A run that fails or is cancelled ends with {"error": MESSAGE} and no [DONE].
 */
#include "base/hooks.h"
#include "dialects/core/frame.h"
#include "dialects/core/dialect.h"
#include "dialects/core/lift.h"
#include "json/read.h"

enum { SCRATCH_MAX = 64 << 20 };

struct upp {
    void *uap; /* state of the UAP encoder */
    struct wd_frames frames;
    struct wb_arena scratch;
};

static void upp_done(void *state)
{
    struct upp *u = state;
    if (u->uap)
        wd_stream_weft.done(u->uap);
    wb_free(u->uap);
    wd_frames_done(&u->frames);
    wb_arena_done(&u->scratch);
}

static int upp_start(void *state, const struct wd_stream_opts *opts, struct upp_err *err)
{
    struct upp *u = state;
    (void)opts; /* UPP has no child events */
    *u = (struct upp){.scratch = WB_ARENA(SCRATCH_MAX)};
    wd_frames_init(&u->frames);
    u->uap = wb_alloc(wd_stream_weft.state_size);
    if (!u->uap)
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    memset(u->uap, 0, wd_stream_weft.state_size);
    return wd_stream_weft.begin(u->uap, NULL, err);
}

/* The error's message, or the run's status. */
static void error_end(struct upp *u, const struct wm_event *ev, struct wd_out *o)
{
    yyjson_val *v = NULL;
    struct upp_str message = {0};
    if (ev->run.error.n && wj_read(&u->scratch, ev->run.error, NULL, &v, NULL) >= 0)
        message = wj_text_at(v, "message");
    if (wb_arena_check(&u->scratch, o->w.err) < 0)
        wj_writer_fail(&o->w, -UPP_ENOMEM);
    wd_frame_open(o, UPP_STR("{"));
    wd_str(o, "error",
           message.p ? message : wb_arena_printf(&u->scratch, "the run is %s", wd_status_word(ev->run.status)));
    wd_frame_close(o, UPP_STR("}"));
    wb_arena_reset(&u->scratch);
}

static void run(struct upp *u, const struct wm_event *ev, struct wd_out *o)
{
    if (!wm_status_ended(ev->run.status))
        return;
    if (ev->run.status != WM_COMPLETED) {
        error_end(u, ev, o);
        return;
    }
    wd_frame_open(o, UPP_STR("[DONE]"));
    wd_frame_close(o, UPP_STR(""));
}

/* Copies the UPP events among the frames. Scaffolding has other members before "upp", and is skipped. */
static void copy(struct upp *u, struct wd_out *o)
{
    static const struct upp_str head = UPP_STR_INIT("{\"source\":\"upp\",\"upp\":");
    for (size_t i = 0; i < u->frames.list.n; i++) {
        const struct wd_frame *f = &u->frames.list.p[i];
        struct upp_str text = wb_str(u->frames.text.p + f->from, f->n);
        if (!wb_str_starts(text, head))
            continue;
        wd_frame_open(o, wb_str_sub(text, head.n, text.n - head.n - 1));
        wd_frame_close(o, UPP_STR(""));
    }
}

static int upp_event(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err)
{
    struct upp *u = state;
    struct wd_out o;
    if (ev->from->depth > 0)
        return 0;
    wd_out_init(&o, out, err);
    if (ev->kind == WM_RUN) {
        run(u, ev, &o);
        return wd_out_check(&o);
    }
    wd_frames_clear(&u->frames);
    int r = wd_stream_weft.event(u->uap, ev, &u->frames, err);
    if (r < 0)
        return r;
    copy(u, &o);
    return wd_out_check(&o);
}

const struct wd_stream_ops wd_stream_upp = {
    .name = "upp",
    .state_size = sizeof(struct upp),
    .headers = "",
    .begin = upp_start,
    .event = upp_event,
    .done = upp_done,
};
