/* agent/stream_event.h — translates events of the engine to UAP's AgentStreamEvents for C programs.
 *
 * The dialect `uap` writes the same events as JSON (dialects/uap/stream.c); a test compares the two. Most events are
 * translated by themselves. The state per run of the tree is the calls of its last message and, for a child run, its
 * task and its last text. */
#pragma once

#include <weft/agent.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "model/event.h"

/* The state of one run of the tree. */
struct wa_run_state {
    struct wb_uuid run;
    bool begun;
    struct wb_uuid parent_agent, parent_run; /* of a child: its caller */
    struct upp_str task, last;               /* of a child: its task and its last text */
    WB_VEC(struct upp_str) calls;            /* ids of the last message's calls, for their positions; in `ids` */
    struct wb_arena ids, memory;
    struct wb_buf plan_step; /* id of the plan step that the current step is */
    uint32_t step;           /* the step that began last */
};

enum { WA_MORE = 3 };

/* Which checkpoints become events: those that can be restored. */
enum wa_points { WA_POINTS_NONE, WA_POINTS_STEPS, WA_POINTS_TURN };

struct wa_translator {
    uint8_t only;
    bool children;
    bool structured;      /* structured output: text deltas are object deltas */
    uint8_t points;       /* enum wa_points */
    struct wb_uuid point; /* WA_POINTS_TURN: the last one so far, emitted when the run ends */
    uint32_t point_step;  /* 0: none */
    struct wa_run_state root;
    WB_VEC(struct wa_run_state *) others;
    struct wa_run_state *ended; /* one of `others` that has ended: freed with the next event */
    struct wb_arena scratch;    /* memory of the last event */
    struct wb_uuid agent, run, parent_agent, parent_run;
    char agent_text[WB_UUID_TEXT + 1], run_text[WB_UUID_TEXT + 1], id_text[WB_UUID_TEXT + 1];
    char parent_agent_text[WB_UUID_TEXT + 1], parent_run_text[WB_UUID_TEXT + 1];
    struct weft_event more[WA_MORE]; /* further events from the last engine event */
    uint8_t at, n_more;
};

void wa_translator_init(struct wa_translator *t, const struct weft_stream_opts *opts, bool structured, uint8_t points);
void wa_translator_done(struct wa_translator *t);

/* 1: *ret is the first event that ev translates to; wa_translate_more returns the others. 0: there is none for
 * programs. All borrow from ev. */
int wa_translate(struct wa_translator *t, const struct wm_event *ev, struct weft_event *ret,
                 struct upp_err *err) UPP_MUST_CHECK;

static inline bool wa_translate_more(struct wa_translator *t, struct weft_event *ret)
{
    if (t->at == t->n_more)
        return false;
    *ret = t->more[t->at++];
    return true;
}
