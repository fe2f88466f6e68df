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

/* What an event says besides, per kind: the member of struct wm_event with its name. */
enum wm_event_kind {
    /* Records. */
    WM_RUN = 1,      /* run: the run's state */
    WM_MESSAGE,      /* message: one is complete. Of results: a round after which its step continues */
    WM_TOOL_STARTED, /* call, tool_started */
    WM_TOOL_ENDED,   /* call, tool_ended */
    WM_STEP_END,     /* step_end */
    WM_CHECKPOINT,   /* checkpoint */
    WM_VOID,         /* voided: the output since the last record is void */
    WM_SYSTEM,       /* system: a system event was appended */
    WM_APPROVED,     /* call: somebody allowed it. A denial is its WM_TOOL_ENDED */
    /* Transient, like deltas. */
    WM_STEP_START,   /* step_start */
    WM_MESSAGE_OPEN, /* message_open */
    WM_PART_OPEN,    /* part, without its text */
    WM_DELTA,        /* part, text: what is new */
    WM_PART_CLOSE,   /* part, text: the whole text */
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

/* The status of a run from here on. */
struct wm_run_event {
    uint8_t status;             /* enum wm_status */
    struct upp_str error;       /* UPP JSON; of a completed one why it was cut short. Empty: none */
    struct upp_str answered_by; /* after answers: who gave them, and their API key. Empty: none */
    struct upp_str api_key;
    struct upp_usage usage; /* ended: of the whole run, sub-agents included */
    uint64_t waits_ms;      /* a root that waits: how long it does, from time_ms; 0: for ever */
    const struct wm_pending *pending;
    size_t n_pending;
};

/* An entry was added. A message has these three members, too: `message` is the one to ask if either may be meant. */
struct wm_system_event {
    struct wb_uuid id; /* of the entry */
    const struct wm_entry *entry;
    uint32_t index; /* of the entry in a draft, which has no `entry` yet */
};

struct wm_message_event {
    struct wb_uuid id;
    const struct wm_entry *entry;
    uint32_t index;
    uint8_t stop; /* of a model, as all that follows: enum upp_stop */
    struct upp_str model, provider;
    struct upp_usage usage;
};

struct wm_call_event {
    struct upp_str id, name;
};

struct wm_tool_started {
    struct upp_str arguments;
    struct wb_uuid child; /* an agent tool: the child run ... */
    uint64_t child_node;  /* ... and its node; 0: none */
};

struct wm_tool_ended {
    struct upp_str result; /* JSON */
    uint8_t outcome;       /* enum wm_outcome */
    uint64_t ms;
    struct upp_usage usage; /* an agent tool: of the whole child run, sub-agents included ... */
    uint64_t model_calls;   /* ... and how many model calls it made */
};

struct wm_step_end {
    struct wb_uuid id;
    struct upp_usage usage;
    const struct wm_entry *results; /* the TOOL message with the results as shown, or NULL */
};

struct wm_checkpoint_event {
    struct wb_uuid id;
};

struct wm_void_event {
    uint64_t last; /* number of the last record of the previous epoch */
    bool unseen;   /* the reader saw output for which there is no event here */
};

struct wm_step_start {
    struct wb_uuid id;
    struct upp_str plan_step; /* empty: none */
};

struct wm_message_open {
    struct wb_uuid id; /* of the future entry */
    struct upp_str phase;
    bool aside; /* scaffolding, for its run only */
};

struct wm_part_event {
    uint32_t index;            /* in the message */
    uint8_t kind;              /* enum upp_part_kind */
    struct upp_str call, name; /* of a tool call */
    struct upp_str text;
    struct upp_str metadata;       /* PART_OPEN of a call, with its source (model/call_source.h) */
    const struct upp_media *media; /* PART_OPEN of media, whole; NULL: only in its MESSAGE */
};

struct wm_event {
    uint8_t kind; /* enum wm_event_kind */
    uint32_t step;
    uint64_t number;
    int64_t time_ms; /* records only; else 0 */
    const struct wm_source *from;
    union {
        struct wm_run_event run;
        struct wm_message_event message;
        struct wm_system_event system;
        struct {
            struct wm_call_event call;
            union {
                struct wm_tool_started tool_started;
                struct wm_tool_ended tool_ended;
            };
        };
        struct wm_step_end step_end;
        struct wm_checkpoint_event checkpoint;
        struct wm_void_event voided;
        struct wm_step_start step_start;
        struct wm_message_open message_open;
        struct wm_part_event part;
    };
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
    if (ev->kind == WM_TOOL_STARTED)
        return !ev->call.name.n && ev->tool_started.child_node;
    return ev->kind == WM_TOOL_ENDED && !ev->call.name.n && wb_str_eq(ev->tool_ended.result, UPP_STR("null"));
}
