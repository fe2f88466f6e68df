/* agent/stream_event.h — from events of the engine to UAP's AgentStreamEvents, as a C program sees them.
 *
 * The dialect `uap` writes the same ones as JSON (dialects/uap/stream.c); that both agree is a test. What the engine's
 * events say by themselves is told at once; remembered is, for each run of the tree, which calls its last message made,
 * and of a child what it was asked and what it said last. */
#ifndef WA_STREAM_EVENT_H
#define WA_STREAM_EVENT_H

#include <weft/agent.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "model/event.h"

/* A run that speaks. */
struct wa_voice {
    struct wb_uuid run;
    bool           begun;
    struct wb_uuid parent_agent, parent_run; /* of a child: who called it */
    struct upp_str task, last;               /* of a child */
    WB_VEC(struct upp_str) calls;            /* ids, for their positions; in `ids` */
    struct wb_arena ids, memory;
    struct wb_buf   plan_step; /* the step of a plan that the current step is */
    uint32_t        step;      /* that began last */
};

enum { WA_MORE = 3 };

/* Which checkpoints are told: those that can be restored. */
enum wa_points { WA_POINTS_NONE, WA_POINTS_STEPS, WA_POINTS_TURN };

struct wa_telling {
    uint8_t         only;
    bool            children;
    bool            structured; /* the answer is data: its text is that of an object */
    uint8_t         points;     /* enum wa_points */
    struct wb_uuid  point;      /* WA_POINTS_TURN: the last one so far; it is told when the run ends */
    uint32_t        point_step; /* 0: there is none */
    struct wa_voice root;
    WB_VEC(struct wa_voice *) others;
    struct wa_voice  *gone;    /* of those, one whose end was told last */
    struct wb_arena   scratch; /* of the last event */
    struct wb_uuid    agent, run, parent_agent, parent_run;
    char              agent_text[WB_UUID_TEXT + 1], run_text[WB_UUID_TEXT + 1], id_text[WB_UUID_TEXT + 1];
    char              parent_agent_text[WB_UUID_TEXT + 1], parent_run_text[WB_UUID_TEXT + 1];
    struct weft_event more[WA_MORE]; /* that came with the last one */
    uint8_t           at, n_more;
};

void wa_telling_init(struct wa_telling *t, const struct weft_stream_opts *opts, bool structured, uint8_t points);
void wa_telling_done(struct wa_telling *t);

/* 1: *ret is the first of what the event says; those after it come by wa_tell_more. 0: it says nothing to a program.
 * All borrow from ev. */
int wa_tell(struct wa_telling *t, const struct wm_event *ev, struct weft_event *ret,
            struct upp_err *err) UPP_MUST_CHECK;

static inline bool wa_tell_more(struct wa_telling *t, struct weft_event *ret)
{
    if (t->at == t->n_more)
        return false;
    *ret = t->more[t->at++];
    return true;
}

#endif
