/* model/event.h — what happens in a run, in one gap-free sequence.
 *
 * Records are stored and delivered after their commit. The rest has the strength of deltas: delivered at once, stored
 * as a tape beside the finished message (model/tape.h), and made again from both with the same numbers. A stream of a
 * dialect is a pure function of this sequence.
 */
#ifndef WM_EVENT_H
#define WM_EVENT_H

#include <upp/message.h>

#include "base/str.h"
#include "base/uuid.h"
#include "model/entry.h"

enum wm_event_kind {
    /* Records. */
    WM_RUN = 1,      /* the run's state: status, error, calls it waits for */
    WM_MESSAGE,      /* a message is closed: entry. Of results: a round after which its step goes on */
    WM_TOOL_STARTED, /* call, name, text = arguments */
    WM_TOOL_ENDED,   /* call, name, text = result (JSON), outcome, ms */
    WM_STEP_END,     /* usage of the step */
    WM_CHECKPOINT,   /* id */
    WM_VOID,         /* what was said since the last record is void */
    WM_SYSTEM,       /* a system event was appended: entry */
    /* Of the strength of deltas. */
    WM_STEP_START,
    WM_MESSAGE_OPEN, /* id of the entry to come, role */
    WM_PART_OPEN,    /* part, its kind; call and name of a call, as in the two below */
    WM_DELTA,        /* part, text */
    WM_PART_CLOSE,   /* part, text = all of it */
};

static inline bool wm_is_record(uint8_t kind)
{
    return kind < WM_STEP_START;
}

/* Is it about an entry of its row? */
static inline bool wm_has_entry(uint8_t kind)
{
    return kind == WM_MESSAGE || kind == WM_SYSTEM;
}

enum wm_status {
    WM_QUEUED = 1,
    WM_RUNNING,
    WM_WAITING, /* for answers from outside */
    WM_CANCELING,
    WM_COMPLETED, /* from here on it has ended */
    WM_FAILED,
    WM_CANCELED,
    WM_EXPIRED,
};

static inline bool wm_status_ended(uint8_t status)
{
    return status >= WM_COMPLETED;
}

/* Completed, but cut short by a limit? `why` is the error of the run, or the text of its last record. */
static inline bool wm_is_incomplete(uint8_t status, struct upp_str why)
{
    return status == WM_COMPLETED && why.n > 0;
}

/* How a tool call came out. */
enum wm_outcome {
    WM_DONE = 1,
    WM_ERROR,   /* the tool said so, or could not be run: the result says why */
    WM_UNKNOWN, /* started, and nobody knows what became of it */
    WM_DENIED,
    WM_STOPPED, /* by a cancel */
    WM_INVALID, /* its arguments are not what the tool takes: it never ran, and the result says why */
};

/* A call that waits for an answer from outside. */
struct wm_pending {
    struct upp_str call, name, arguments;
    struct wb_uuid run;      /* the run of the tree whose call it is */
    bool           approval; /* may it run? else: what is its result? */
};

/* What many events have in common. */
struct wm_source {
    struct wb_uuid run, root;
    struct wb_uuid agent_id;
    struct upp_str agent;
    uint64_t       node;
    uint32_t       epoch;
    uint16_t       depth; /* 0: the root itself */
    uint32_t       input; /* index of the run's input entry in its node */
};

struct wm_event {
    uint8_t kind;      /* enum wm_event_kind */
    uint8_t status;    /* RUN */
    uint8_t outcome;   /* TOOL_ENDED */
    uint8_t part_kind; /* PART_OPEN, DELTA, PART_CLOSE */
    uint8_t stop;      /* MESSAGE: enum upp_stop */
    bool    aside; /* MESSAGE_OPEN: scaffolding, for its run alone. VOID: the reader saw some of it, no event here tells
                      what */
    uint32_t                step;
    uint32_t                part; /* index in the message: PART_*, DELTA */
    uint64_t                number;
    int64_t                 time_ms; /* records only; else 0 */
    const struct wm_source *from;
    struct wb_uuid id; /* MESSAGE_OPEN, MESSAGE, SYSTEM: of the entry; CHECKPOINT: its own; STEP_*: of the step */
    struct upp_str call, name;      /* STEP_START: name = the step of a plan that it is; MESSAGE that a model said:
                                     * name = the model, call = its provider. No text: none */
    struct upp_str   text;          /* DELTA; TOOL_STARTED: arguments; TOOL_ENDED: result; RUN: error as UPP JSON */
    uint64_t         ms;            /* TOOL_ENDED: how long it took */
    struct upp_usage usage;         /* MESSAGE, STEP_END; RUN that has ended, TOOL_ENDED of an agent tool: of the
                                     * whole run with all below it */
    const struct upp_media  *media; /* PART_OPEN of a medium, whole; NULL: it is seen only in its MESSAGE */
    const struct wm_entry   *entry; /* MESSAGE, SYSTEM; and TOOL message of a STEP_END: the results as shown, or NULL */
    const struct wm_pending *pending; /* RUN, waiting */
    size_t                   n_pending;
    uint64_t                 last; /* VOID: the number of the last record of the epoch before.
                                    * TOOL_ENDED of an agent tool: how many calls of models it took */
    struct wb_uuid child;          /* TOOL_STARTED of an agent tool: the child run ... */
    uint64_t       child_node;     /* ... and the node it holds; 0: none */
};

/* The step of a plan whose first message has this phase; no text: none. */
static inline struct upp_str wm_plan_step(struct upp_str phase)
{
    static const struct upp_str step = UPP_STR_INIT("step:");
    bool                        is   = phase.n > step.n && wb_str_starts(phase, step);
    return is ? wb_str_sub(phase, step.n, SIZE_MAX) : wb_str(NULL, 0);
}

/* Work that a run does beside other work begins and ends as a call without a name, of no message: `child` is the run
 * that does it. It is no tool, and dialects do not show it. */
static inline bool wm_is_branch(const struct wm_event *ev)
{
    return !ev->name.n && ((ev->kind == WM_TOOL_STARTED && ev->child_node) ||
                           (ev->kind == WM_TOOL_ENDED && wb_str_eq(ev->text, UPP_STR("null"))));
}

#endif
