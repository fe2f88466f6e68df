/* dialects/core/frame.c — frames, and the members in them; the stream encoders by name. */
#include "dialects/core/frame.h"

#include "dialects/core/dialect.h"
#include "json/read.h"
#include "model/limits.h"

/* A dialect may write results as JSON in a string: of each byte two, and the rest of the frames. */
_Static_assert(2 * WM_RESULTS_MAX + (4 << 20) <= WD_FRAMES_TEXT, "the results of a message fit into its frames");

void wd_frames_init(struct wd_frames *f)
{
    *f = (struct wd_frames){.text = WB_BUF(WD_FRAMES_TEXT)};
}

void wd_frames_clear(struct wd_frames *f)
{
    wb_buf_clear(&f->text);
    f->list.n = 0;
}

void wd_frames_done(struct wd_frames *f)
{
    wb_buf_done(&f->text);
    wb_vec_done(&f->list);
}

int wd_out_check(struct wd_out *o)
{
    return wj_writer_check(&o->w);
}

void wd_frame_push(struct wd_out *o)
{
    struct wd_frames *f = o->to;
    struct wd_frame frame;
    if (f->text.failed)
        return;
    frame = (struct wd_frame){NULL, o->from, f->text.n - o->from};
    if (wb_vec_push(&f->list, frame, WD_FRAMES_MAX))
        return;
    if (f->list.n >= WD_FRAMES_MAX)
        wj_writer_fail(&o->w, upp_fail(o->w.err, UPP_ELIMIT, "more than %d frames at once", WD_FRAMES_MAX));
    else
        wj_writer_fail(&o->w, upp_fail(o->w.err, UPP_ENOMEM, "out of memory"));
}

void wd_str(struct wd_out *o, const char *name, struct upp_str value)
{
    wj_put_str_or_empty(&o->w, name, value);
}

void wd_uuid(struct wd_out *o, const char *name, struct wb_uuid value)
{
    char text[WB_UUID_TEXT + 1];
    wd_str(o, name, wb_uuid_text(value, text));
}

const char *wd_status_word(uint8_t status)
{
    static const char *const words[] = {
        [WM_QUEUED] = "queued",        [WM_RUNNING] = "running",     [WM_WAITING] = "waiting",
        [WM_CANCELING] = "cancelling", [WM_COMPLETED] = "completed", [WM_FAILED] = "failed",
        [WM_CANCELED] = "cancelled",   [WM_EXPIRED] = "expired",
    };
    return status < WB_LEN(words) && words[status] ? words[status] : "unknown";
}

const struct wj_read_opts wd_json_opts = {
    .size = sizeof wd_json_opts, .max_bytes = WD_FRAMES_TEXT, .depth = WJ_DEPTH_MAX};

void wd_json_or_str(struct wd_out *o, struct wb_arena *scratch, struct upp_str text)
{
    if (!wd_json(o, scratch, text))
        wj_write_str(&o->w, text);
}

/* clang-format off */
static const struct wd_stream_ops *const streams[] = {
    &wd_stream_uap,
    &wd_stream_weft,
    &wd_stream_ui,
    &wd_stream_agentapi,
    &wd_stream_assistants,
    &wd_stream_upp,
    &wd_stream_chat,
    &wd_stream_responses,
    &wd_stream_envelope,
};
/* clang-format on */

const struct wd_stream_ops *wd_stream_at(size_t i)
{
    return i < WB_LEN(streams) ? streams[i] : NULL;
}

const struct wd_stream_ops *wd_stream_find(struct upp_str name)
{
    for (size_t i = 0; i < WB_LEN(streams); i++)
        if (wb_str_eq(name, wb_cstr(streams[i]->name)))
            return streams[i];
    return NULL;
}
