/* dialects/assistants/stream.h — internals of the Assistants API's stream: its state, its steps and its messages.
 *
 * The strictest client rejects a stream in which two messages or two steps are open at once, one is created twice, or
 * an event concerns one that is not open (docs/dialects/assistants.md has the rules). The code guarantees them by
 * construction: a message is inside its own step, and only stream_steps.c opens and ends steps.
 */
#pragma once

#include "base/vec.h"
#include "dialects/assistants/objects.h"
#include "dialects/core/frame.h"
#include "dialects/core/open_message.h"
#include "model/event.h"

enum asst_stage {
    ASST_NEW,    /* nothing was sent */
    ASST_ACTIVE, /* the run was sent as queued or in progress */
    ASST_PAUSED, /* [DONE] was sent because the run waits for the client or an approval */
    ASST_ENDED,
};

struct asst_stream {
    uint8_t stage;
    bool queued;         /* `thread.run.queued` was sent since the last pause */
    bool canceling;      /* a cancellation was requested */
    bool aside;          /* the open message is scaffolding */
    uint32_t others;     /* how many steps have calls that no message made */
    int64_t now;         /* time of the last record */
    struct wm_run run;   /* as far as events tell */
    struct wb_buf agent; /* holds run.agent */
    struct wb_buf error; /* holds run.error */
    struct wd_open open; /* the message being streamed */
    struct wb_arena scratch;
    bool has_message;           /* one is open */
    uint32_t n_content;         /* how many of its parts were sent */
    bool cut;                   /* it was committed incomplete: how its run ends will tell why */
    struct upp_message content; /* then what it has; in of_step */
    struct wb_uuid message;
    int64_t message_ms;
    bool has_step;
    bool step_sent; /* the step was sent since the last pause */
    bool step_over; /* its calls have ended, some without an outcome: the run's next event ends it */
    struct asst_step step;
    struct upp_usage usage;         /* of the step */
    struct wb_arena of_step;        /* holds the step's texts */
    WB_VEC(struct asst_call) calls; /* the step's calls */
};

/* Ends the open frame. */
static inline void asst_frame(struct wd_out *o, const char *event, struct upp_str tail)
{
    size_t n = o->to->list.n;
    wd_frame_close(o, tail);
    if (o->to->list.n > n)
        o->to->list.p[n].name = event;
}

/* Sends the run as in progress: steps and messages come only after that. */
void asst_to_in_progress(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o);

/* Steps, and the calls in them: stream_steps.c. */

/* The part number in step ids (model/id.h): a message's step, the step of its calls; from there on, steps of calls
 * that no message made. */
enum { ASST_PART_MESSAGE = 1, ASST_PART_CALLS, ASST_PART_OTHERS };

struct wb_uuid asst_step_id(struct wb_uuid entry, uint16_t part);

/* Ends the open step first. `message`: zeros for a step of calls. */
void asst_step_begin(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid id,
                     struct wb_uuid message);

/* Ends the open step, if any. why: the error of a failed step; NULL: none. */
void asst_step_end(struct asst_stream *s, struct wd_out *o, const char *status, const char *why);

/* The same because the run goes on: calls whose outcomes will not come any more are cancelled. */
void asst_step_leave(struct asst_stream *s, struct wd_out *o);

/* Makes sure that a step of calls is open and was sent since the last pause. */
void asst_to_calls(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid id);

/* A call of the open step. NULL: the step has no such call; of asst_add_call: the writer has failed. */
struct asst_call *asst_find_call(struct asst_stream *s, struct upp_str id);
struct asst_call *asst_add_call(struct asst_stream *s, struct wd_out *o, struct upp_str id, struct upp_str name,
                                struct upp_str arguments);

/* Finds or adds the call: calls that no message of this run made are sent too. */
struct asst_call *asst_need_call(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_str id,
                                 struct upp_str name, struct upp_str arguments);

void asst_tool_started(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o);
void asst_tool_ended(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o);

/* Messages: stream_messages.c. */

int asst_message_open(struct asst_stream *s, const struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;
int asst_part_open(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o,
                   struct upp_err *err) UPP_MUST_CHECK;
int asst_part_close(struct asst_stream *s, const struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;

/* Sends a delta of an open part. */
static inline void asst_add_text(struct asst_stream *s, struct wd_out *o, struct wd_part *p, struct upp_str text)
{
    p->said = true;
    wd_frame_open(o, wd_open_head_of(&s->open, p));
    wj_write_str(&o->w, text);
    asst_frame(o, "thread.message.delta", UPP_STR(",\"annotations\":[]}}]}}"));
}

/* Sends an empty delta for each text before `before` that has none yet: a list must not have gaps. */
void asst_fill_gaps(struct asst_stream *s, struct wd_out *o, size_t before);

/* Inline: most events are deltas. */
static inline int asst_delta(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&s->open, ev, &p, err);
    if (WB_UNLIKELY(r < 0 || !p->n_head || !ev->part.text.n))
        return r;
    if (WB_UNLIKELY(!p->said))
        asst_fill_gaps(s, o, ev->part.index);
    asst_add_text(s, o, p, ev->part.text);
    return 0;
}

/* A message was committed. */
void asst_message_event(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o);

/* Ends the open message incomplete, and its step. If it will not be committed it has no content, and the next one has
 * another id. */
void asst_message_discard(struct asst_stream *s, struct wd_out *o, const char *reason, const char *status,
                          const char *why);

/* The run goes on after a message that was cut short. */
static inline void asst_message_leave(struct asst_stream *s, struct wd_out *o)
{
    if (WB_UNLIKELY(s->cut))
        asst_message_discard(s, o, "run_failed", "failed", "what was said is not whole");
}
