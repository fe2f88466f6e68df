/* dialects/uap/stream.h — inside of UAP's stream: its voices, and its two sorts of frames.
 *
 * Each run of the tree has a voice of its own: what it is saying, and the calls of what it said last.
 */
#ifndef WD_UAP_H
#define WD_UAP_H

#include "base/vec.h"
#include "dialects/core/frame.h"
#include "dialects/core/open_message.h"

/* Who called a child. */
struct uap_caller {
    struct wb_uuid child, agent, run;
    uint64_t       call; /* hash of the call's id */
};

struct uap_voice {
    struct wb_uuid    run;
    struct uap_caller caller; /* of a child */
    struct wd_open    open;
    struct wb_buf     aside;      /* the phase of the open message, where it is scaffolding */
    struct wb_buf     plan_step;  /* the step of a plan that the current step is */
    uint32_t          step;       /* that began last */
    WB_VEC(struct upp_str) calls; /* ids, for their positions; in `ids` */
    struct wb_arena ids;
};

struct uap {
    bool             children;
    struct uap_voice root;
    WB_VEC(struct uap_voice *) others;
    WB_VEC(struct uap_caller) callers; /* of children that have not spoken yet */
    struct wb_arena scratch;
};

/* ---- Voices: stream_speaker.c --------------------------------------------------------------------------------------
 */

void uap_voice_init(struct uap_voice *v, struct wb_uuid run);
void uap_voice_done(struct uap_voice *v);

/* The voice of a child's run: made where it has none. */
int uap_voice_of_child(struct uap *u, const struct wm_event *ev, struct uap_voice **ret,
                       struct upp_err *err) UPP_MUST_CHECK;

/* A call began that is a child, and ended: until the child speaks its caller is remembered. */
int  uap_caller_begin(struct uap *u, const struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;
void uap_caller_end(struct uap *u, const struct wm_event *ev);

/* Of a child that has ended. */
void uap_voice_drop(struct uap *u, struct uap_voice *v);

int uap_remember_call(struct uap_voice *v, struct upp_str id, struct upp_err *err) UPP_MUST_CHECK;

/* Position among the calls of the message; 0 for one that no message made. */
size_t uap_call_index(const struct uap_voice *v, struct upp_str id);

/* ---- Frames --------------------------------------------------------------------------------------------------- */

/* {"source":"uap","uap":{...,"data":{ ; ended by uap_end. */
void uap_begin(struct wd_out *o, const struct wm_event *ev, const char *type, bool whose);
void uap_end(struct wd_out *o);

/* The same for what belongs to a step: one of a plan is named. A system event may stand between two. */
void uap_begin_in_step(struct wd_out *o, const struct uap_voice *v, const struct wm_event *ev, const char *type);

/* {"source":"upp","upp":{"type":...,"index":...,"delta":{ ; ended by uap_upp_end. A child, and scaffolding, is named
 * outside of the event, which stays as it is (UAP 12.5-1). */
void uap_upp_begin(struct wd_out *o, const struct wm_event *ev, struct upp_str type, size_t index);
void uap_upp_end(struct wd_out *o);
void uap_upp_empty(struct wd_out *o, const struct wm_event *ev, struct upp_str type, size_t index);

/* ---- What a model says: stream_message.c ----------------------------------------------------------------------------
 */

int uap_part_open(struct uap_voice *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
int uap_part_close(struct uap_voice *v, const struct wm_event *ev, struct wd_out *o,
                   struct upp_err *err) UPP_MUST_CHECK;

/* More of a part that is open. */
static inline void uap_say(struct uap_voice *v, const struct wd_part *p, struct wd_out *o, struct upp_str text)
{
    wd_frame_open(o, wd_open_head_of(&v->open, p));
    wj_write_str(&o->w, text);
    wd_frame_close(o, UPP_STR("}}}"));
}

/* Most events are deltas: no other is worth as much. */
static inline int uap_delta(struct uap_voice *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&v->open, ev, &p, err);
    if (WB_UNLIKELY(r < 0 || !p->n_head))
        return r;
    p->said = true;
    uap_say(v, p, o, ev->text.p ? ev->text : UPP_STR(""));
    return 0;
}

/* A message is in the log: the rest of it, then what it makes of its step. */
int  uap_message(struct uap *u, struct uap_voice *v, const struct wm_event *ev, struct wd_out *o,
                 struct upp_err *err) UPP_MUST_CHECK;
void uap_observation(struct uap *u, const struct uap_voice *v, const struct wm_event *ev, struct wd_out *o);

#endif
