/* dialects/assistants/stream.h — inside of the Assistants API's stream: its state, its steps and its messages.
 *
 * The strictest client gives up on a stream in which two messages or two steps are open at once, one is made twice, or
 * something is said of one that is not open (docs/dialects/assistants.md has the rules). They hold by construction: a
 * message stands within its own step, and a step is opened and ended by the functions of stream_steps.c alone.
 */
#ifndef WD_ASSISTANTS_STREAM_H
#define WD_ASSISTANTS_STREAM_H

#include "base/vec.h"
#include "dialects/assistants/objects.h"
#include "dialects/core/frame.h"
#include "dialects/core/open_message.h"
#include "model/event.h"

enum asst_stage {
    ASST_NEW,    /* nothing was sent */
    ASST_GOES,   /* the run was said to be in progress, or queued */
    ASST_PAUSED, /* [DONE] was sent because the run waits for the client's tools */
    ASST_ENDED,
};

struct asst_stream {
    uint8_t          stage;
    bool             queued;    /* that was said since the last pause */
    bool             canceling; /* was asked for */
    bool             aside;     /* the message that is said is scaffolding */
    uint32_t         others;    /* steps of calls that no message made */
    int64_t          now;       /* time of the last record */
    struct wm_run    run;       /* as the stream knows it */
    struct wb_buf    agent;     /* its name: run.agent */
    struct wb_buf    error;     /* run.error */
    struct wd_open   open;      /* the message that is said */
    struct wb_arena  scratch;
    bool             has_message; /* one is open */
    uint32_t         n_content;   /* parts of it that were shown */
    struct wb_uuid   message;
    int64_t          message_ms;
    bool             has_step;
    bool             step_told; /* since the last pause */
    struct asst_step step;
    struct upp_usage usage;         /* of the step */
    struct wb_arena  of_step;       /* its texts */
    WB_VEC(struct asst_call) calls; /* of the step */
};

/* Ends the frame that is open. */
static inline void asst_frame(struct wd_out *o, const char *event, struct upp_str tail)
{
    size_t n = o->to->list.n;
    wd_frame_close(o, tail);
    if (o->to->list.n > n)
        o->to->list.p[n].name = event;
}

/* The run is said to be in progress: steps and messages come only after this. */
void asst_to_going(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o);

/* ---- Steps, and the calls in them: stream_steps.c --------------------------------------------------------- */

/* Parts of the ids of steps (model/id.h): of a message, of its calls; from there on of calls that no message made. */
enum { ASST_PART_MESSAGE = 1, ASST_PART_CALLS, ASST_PART_OTHERS };

struct wb_uuid asst_step_id(struct wb_uuid entry, uint16_t part);

/* The one that is open is left. `message`: zeros for a step of calls. */
void asst_step_begin(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid id,
                     struct wb_uuid message);

/* Where one is open. why: of one that failed; NULL: none. */
void asst_step_end(struct asst_stream *s, struct wd_out *o, const char *status, const char *why);

/* The same for calls whose outcomes nobody waits for any more. */
void asst_step_leave(struct asst_stream *s, struct wd_out *o);

/* A step of calls is open, and this segment of the stream has heard of it. */
void asst_to_calls(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct wb_uuid id);

/* Of the step that is open. NULL: it has none of that id; the writer has failed. */
struct asst_call *asst_find_call(struct asst_stream *s, struct upp_str id);
struct asst_call *asst_add_call(struct asst_stream *s, struct wd_out *o, struct upp_str id, struct upp_str name,
                                struct upp_str arguments);

/* Found, or added: a call that no message of this run made is shown as well. */
struct asst_call *asst_need_call(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_str id,
                                 struct upp_str name, struct upp_str arguments);

void asst_tool_started(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o);
void asst_tool_ended(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o);

/* ---- Messages: stream_messages.c ------------------------------------------------------------------------------ */

int asst_message_open(struct asst_stream *s, const struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;
int asst_part_open(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o,
                   struct upp_err *err) UPP_MUST_CHECK;
int asst_part_close(struct asst_stream *s, const struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;

/* More of a part that is open. */
static inline void asst_say(struct asst_stream *s, struct wd_out *o, struct wd_part *p, struct upp_str text)
{
    p->said = true;
    wd_frame_open(o, wd_open_head_of(&s->open, p));
    wj_write_str(&o->w, text);
    asst_frame(o, "thread.message.delta", UPP_STR(",\"annotations\":[]}}]}}"));
}

/* Parts before this one that have said nothing yet are heard of: a list has no gaps. */
void asst_no_gap(struct asst_stream *s, struct wd_out *o, size_t before);

/* Most events are deltas: no other is worth as much. */
static inline int asst_delta(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int             r = wd_open_find(&s->open, ev, &p, err);
    if (WB_UNLIKELY(r < 0 || !p->n_head || !ev->text.n))
        return r;
    if (WB_UNLIKELY(!p->said))
        asst_no_gap(s, o, ev->part);
    asst_say(s, o, p, ev->text);
    return 0;
}

/* A message is in the log. */
void asst_message_event(struct asst_stream *s, const struct wm_event *ev, struct wd_out *o);

/* What was shown of it is not in the log: its content is nothing, and what comes next is another message. */
void asst_message_lost(struct asst_stream *s, struct wd_out *o, const char *reason, const char *status,
                       const char *why);

#endif
