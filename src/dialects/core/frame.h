/* dialects/core/frame.h — how encoders write frames.
 *
 *     wd_frame_open(&o, UPP_STR("{\"type\":\"start-step\""));
 *     wd_frame_close(&o, UPP_STR("}"));
 *     ...
 *     return wd_out_check(&o);
 *
 * Failures are sticky, as in buffers: after the first one nothing more is added, and one check at the end of the event
 * suffices.
 */
#pragma once

#include "base/arena.h"
#include "dialects/core/dialect.h"
#include "json/write.h"
#include "model/uap_json.h"

struct wd_out {
    struct wd_frames *to;
    struct wj_writer w;
    size_t from;          /* start of the open frame */
    struct upp_str aside; /* uap: the phase, if the output is scaffolding; empty: it is not */

    const struct uap_caller *caller; /* uap: if it is a child's event, the child's caller; NULL: none */
};

static inline void wd_out_init(struct wd_out *o, struct wd_frames *to, struct upp_err *err)
{
    o->to = to;
    o->w = (struct wj_writer){.out = &to->text, .err = err};
    o->from = 0;
    o->aside = (struct upp_str){0};
    o->caller = NULL;
}

int wd_out_check(struct wd_out *o) UPP_MUST_CHECK;

/* Adds valid JSON in the middle of a frame, without a comma before it. */
static inline void wd_add(struct wd_out *o, struct upp_str s)
{
    if (wj_room(&o->w, s.n)) {
        wj_copy(o->w.out->p + o->w.out->n, s.p, s.n);
        o->w.out->n += s.n;
    }
}

/* Begins a frame with `head`. The next name or value gets no comma; call wd_more if `head` ends with a value. */
static inline void wd_frame_open(struct wd_out *o, struct upp_str head)
{
    o->from = o->w.out->n;
    o->w.comma = false;
    wd_add(o, head);
}

/* A comma is due. */
static inline void wd_more(struct wd_out *o)
{
    o->w.comma = true;
}

void wd_frame_push(struct wd_out *o); /* slow path of wd_frame_close */

static inline void wd_frame_close(struct wd_out *o, struct upp_str tail)
{
    wd_add(o, tail);
    struct wd_frames *f = o->to;
    if (WB_LIKELY(f->list.n < f->list.cap && f->list.n < WD_FRAMES_MAX && !f->text.failed))
        f->list.p[f->list.n++] = (struct wd_frame){NULL, o->from, f->text.n - o->from};
    else
        wd_frame_push(o);
}

/* Members of the open object. */
void wd_str(struct wd_out *o, const char *name, struct upp_str value);
void wd_uuid(struct wd_out *o, const char *name, struct wb_uuid value);
static inline void wd_end(struct wd_out *o, char bracket)
{
    wj_write_close(&o->w, bracket);
}

/* "running": the name of an enum wm_status in these dialects. */
const char *wd_status_word(uint8_t status);

/* For reading JSON texts inside events: as long as all frames, and the maximum depth. */
extern const struct wj_read_opts wd_json_opts;

static inline bool wd_json(struct wd_out *o, struct wb_arena *scratch, struct upp_str text) /* see wm_json_write */
{
    return wm_json_write(&o->w, scratch, &wd_json_opts, text);
}

/* The same; invalid JSON is written as a string, NULL as null. */
void wd_json_or_str(struct wd_out *o, struct wb_arena *scratch, struct upp_str text);
