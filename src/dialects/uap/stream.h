/* dialects/uap/stream.h — internals of UAP's stream: the state of each run, and the two kinds of frames.
 *
 * Each run of the tree has its own state: the message that is streaming, and the calls of the last message.
 */
#pragma once

#include "base/vec.h"
#include "dialects/core/frame.h"
#include "dialects/core/open_message.h"

/* The caller of a child run. */
struct uap_caller {
    struct wb_uuid child, agent, run;
    uint64_t call; /* hash of the call's id */
};

struct uap_run {
    struct wb_uuid run;
    struct uap_caller caller; /* if it is a child */
    struct wd_open open;
    struct wb_buf aside;          /* the phase of the open message, if it is scaffolding */
    struct wb_buf plan_step;      /* the plan step that the current step executes */
    uint32_t step;                /* the last one that began */
    WB_VEC(struct upp_str) calls; /* call ids, for their positions; allocated in `ids` */
    struct wb_arena ids;
};

struct uap {
    bool children;
    bool own_types; /* events of types that UAP does not have: run, system_event, attempt_void */
    struct uap_run root;
    WB_VEC(struct uap_run *) others;
    WB_VEC(struct uap_caller) callers; /* of children without events yet */
    struct wb_arena scratch;
};

/* Runs: stream_speaker.c. */

void uap_run_init(struct uap_run *v, struct wb_uuid run);
void uap_run_done(struct uap_run *v);

/* Finds or creates the state of a child run. */
int uap_run_of_child(struct uap *u, const struct wm_event *ev, struct uap_run **ret,
                     struct upp_err *err) UPP_MUST_CHECK;

/* A call of an agent began or ended: the caller is remembered until the child's first event. */
int uap_caller_begin(struct uap *u, const struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;
void uap_caller_end(struct uap *u, const struct wm_event *ev);

/* Frees the state of a child that has ended. */
void uap_run_drop(struct uap *u, struct uap_run *v);

int uap_remember_call(struct uap_run *v, struct upp_str id, struct upp_err *err) UPP_MUST_CHECK;

/* Position among the calls of the message; 0 if no message made the call. */
size_t uap_call_index(const struct uap_run *v, struct upp_str id);

/* {"source":"uap","uap":{...,"data":{ ; ended by uap_end. */
void uap_end(struct wd_out *o);

/* The same for an event of a step, which names the plan's step. A system event may come between two steps. */
void uap_begin_in_step(struct wd_out *o, const struct uap_run *v, const struct wm_event *ev, const char *type);

/* {"source":"upp","upp":{"type":...,"index":...,"delta":{ ; ended by uap_upp_end. Members for a child or scaffolding
 * are outside of the UPP event, which stays as it is (UAP 12.5-1). */
void uap_upp_begin(struct wd_out *o, const struct wm_event *ev, struct upp_str type, size_t index);
void uap_upp_end(struct wd_out *o);
void uap_upp_empty(struct wd_out *o, const struct wm_event *ev, struct upp_str type, size_t index);

/* Model output: stream_message.c. */

int uap_part_open(struct uap_run *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
int uap_part_close(struct uap_run *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;

/* Writes a delta of an open part. */
static inline void uap_put_delta(struct uap_run *v, const struct wd_part *p, struct wd_out *o, struct upp_str text)
{
    wd_frame_open(o, wd_open_head_of(&v->open, p));
    wj_write_str(&o->w, text);
    wd_frame_close(o, UPP_STR("}}}"));
}

/* Inline: most events are deltas. */
static inline int uap_delta(struct uap_run *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&v->open, ev, &p, err);
    if (WB_UNLIKELY(r < 0 || !p->n_head))
        return r;
    p->said = true;
    uap_put_delta(v, p, o, ev->part.text.p ? ev->part.text : UPP_STR(""));
    return 0;
}

/* A message was committed: writes the rest of it, then the event of its step. */
int uap_message(struct uap *u, struct uap_run *v, const struct wm_event *ev, struct wd_out *o,
                struct upp_err *err) UPP_MUST_CHECK;
void uap_observation(struct uap *u, const struct uap_run *v, const struct wm_event *ev, const struct wm_entry *results,
                     struct wd_out *o);
