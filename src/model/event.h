/* model/event.h — the events of a run, in one gap-free sequence.
 *
 * Records are stored, and delivered after their commit. The other events are transient: delivered at once, stored only
 * as a tape next to the finished message (model/tape.h), and reconstructed from both with the same numbers. A dialect's
 * stream is a pure function of this sequence.
 */
#pragma once

#include <upp/message.h>

#include "base/str.h"
#include "base/uuid.h"
#include "model/entry.h"

static inline void wm_usage_add(struct upp_usage *to, const struct upp_usage *u)
{
    to->input += u->input;
    to->output += u->output;
    to->cache_read += u->cache_read;
    to->cache_write += u->cache_write;
    to->reasoning += u->reasoning;
}

enum wm_event_kind {
    /* Records. */
    WM_RUN = 1,      /* the run's state: status, error, pending calls */
    WM_MESSAGE,      /* a message is complete: entry. Of results: a round after which its step continues */
    WM_TOOL_STARTED, /* call, name, text = arguments */
    WM_TOOL_ENDED,   /* call, name, text = result (JSON), outcome, ms */
    WM_STEP_END,     /* usage of the step */
    WM_CHECKPOINT,   /* id */
    WM_VOID,         /* voids the output since the last record */
    WM_SYSTEM,       /* a system event was appended: entry */
    /* Transient, like deltas. */
    WM_STEP_START,
    WM_MESSAGE_OPEN, /* id of the future entry, role */
    WM_PART_OPEN,    /* part, its kind; call and name of a tool call, as in the two below */
    WM_DELTA,        /* part, text */
    WM_PART_CLOSE,   /* part, text = the whole text */
};

static inline bool wm_is_record(uint8_t kind)
{
    return kind < WM_STEP_START;
}

/* Does it refer to an entry of its row? */
static inline bool wm_has_entry(uint8_t kind)
{
    return kind == WM_MESSAGE || kind == WM_SYSTEM;
}

enum wm_status {
    WM_QUEUED = 1,
    WM_RUNNING,
    WM_WAITING, /* for input from outside */
    WM_CANCELING,
    WM_COMPLETED, /* this and later ones: the run has ended */
    WM_FAILED,
    WM_CANCELED,
    WM_EXPIRED,
};

static inline bool wm_status_ended(uint8_t status)
{
    return status >= WM_COMPLETED;
}

/* Completed, but cut short by a limit? `why` is the run's error, or the text of its last record. */
static inline bool wm_is_incomplete(uint8_t status, struct upp_str why)
{
    return status == WM_COMPLETED && why.n > 0;
}

/* Outcome of a tool call. */
enum wm_outcome {
    WM_DONE = 1,
    WM_ERROR,   /* the tool failed or could not be run: the result says why */
    WM_UNKNOWN, /* started; the outcome is unknown */
    WM_DENIED,
    WM_STOPPED, /* by a cancel */
    WM_INVALID, /* the arguments do not fit the tool's schema: it never ran, and the result says why */
};

/* A call that waits for an answer from outside. */
struct wm_pending {
    struct upp_str call, name, arguments;
    struct wb_uuid run; /* the run of the tree that made the call */
    bool approval;      /* true: waits for approval; false: for a result */
    int64_t since_ms;   /* when it began to wait */
};

/* Fields that many events share. */
struct wm_source {
    struct wb_uuid run, root;
    struct wb_uuid agent_id;
    struct upp_str agent;
    uint64_t node;
    uint32_t epoch;
    uint16_t depth; /* 0: the root run */
    uint32_t input; /* index of the run's input entry in its node */
};

struct wm_event {
    uint8_t kind;      /* enum wm_event_kind */
    uint8_t status;    /* RUN */
    uint8_t outcome;   /* TOOL_ENDED */
    uint8_t part_kind; /* PART_OPEN, DELTA, PART_CLOSE */
    uint8_t stop;      /* MESSAGE: enum upp_stop */
    bool aside; /* MESSAGE_OPEN: scaffolding, for its run only. VOID: the reader saw output for which there is no event
                   here */
    uint32_t step;
    uint32_t part; /* index in the message: PART_*, DELTA */
    uint64_t number;
    int64_t time_ms; /* records only; else 0 */
    const struct wm_source *from;
    struct wb_uuid id; /* MESSAGE_OPEN, MESSAGE, SYSTEM: of the entry; CHECKPOINT: its own; STEP_*: of the step */
    struct upp_str call, name; /* STEP_START: name = its step of a plan; MESSAGE of a model: name = the model, call =
                                  its provider; RUN after answers: name = who gave them, call = their API key. Empty:
                                  none */
    struct upp_str text;       /* DELTA; TOOL_STARTED: arguments; TOOL_ENDED: result; RUN: error as UPP JSON;
                                  PART_OPEN of a call: metadata, with its source (model/call_source.h) */
    uint64_t ms; /* TOOL_ENDED: duration. RUN of a root, waiting: how long it does, from time_ms; 0: for ever */
    struct upp_usage usage; /* MESSAGE, STEP_END; RUN that has ended, TOOL_ENDED of an agent tool: of the whole run,
                               sub-agents included */
    const struct upp_media *media; /* PART_OPEN of media, whole; NULL: only in its MESSAGE */
    const struct wm_entry *entry;  /* MESSAGE, SYSTEM; STEP_END: the TOOL message with the results as shown, or NULL */
    const struct wm_pending *pending; /* RUN, waiting */
    size_t n_pending;
    uint64_t last; /* VOID: number of the last record of the previous epoch. TOOL_ENDED of an agent tool: its number of
                      model calls */
    struct wb_uuid child; /* TOOL_STARTED of an agent tool: the child run ... */
    uint64_t child_node;  /* ... and its node; 0: none */
};

/* The plan step whose first message has this phase; empty: none. */
static inline struct upp_str wm_plan_step(struct upp_str phase)
{
    static const struct upp_str step = UPP_STR_INIT("step:");
    bool is = phase.n > step.n && wb_str_starts(phase, step);
    return is ? wb_str_sub(phase, step.n, SIZE_MAX) : wb_str(NULL, 0);
}

/* A parallel branch of a run starts and ends as a call without a name and without a message; `child` is the run of the
 * branch, and the text of its start the first phase of its messages. It is not a tool, and dialects do not show it. */
static inline bool wm_is_branch(const struct wm_event *ev)
{
    return !ev->name.n && ((ev->kind == WM_TOOL_STARTED && ev->child_node) ||
                           (ev->kind == WM_TOOL_ENDED && wb_str_eq(ev->text, UPP_STR("null"))));
}
