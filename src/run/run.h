/* run/run.h — one execution of a strategy; it exists while a fiber works on it. */
#pragma once

#include <yyjson.h>

#include "base/vec.h"
#include "run/engine.h"
#include "run/tree.h"

enum {
    WR_RUN_MEMORY = 512 << 20, /* of one run: history and output */
    WR_CALLS = 128,            /* tool calls of one message */
    WR_STEP_CALLS = 1024,      /* of one step, and calls that it waits for, those of sub-agents too */
    WR_RETRIES = 64,           /* after a conflict with another commit */
    WR_END_MS = 10000,         /* the end of a run is shielded for this long */
};

/* The row that a run has not committed yet. */
enum {
    WR_VOID_BYTES = 1 << 20, /* of a void attempt's output: more is not stored for readers */
};

struct wr_open;
struct wr_run;

/* Texts live in the run's memory. */
struct wr_draft {
    WB_VEC(struct wm_entry) entries;
    WB_VEC(struct wm_event) records;
    struct wr_open *open; /* its message is the first entry, and its tape goes with the row */
    bool lost;            /* `open` is a void attempt, not an entry; the first record is VOID */
    size_t observed;      /* records already reported to middleware */
    bool state;           /* write the run's state */
    bool voids;           /* the row begins a new epoch: what readers saw since the last row is void */
    bool must_sync;
    uint64_t turn; /* counts flushes, to see whether another flush committed the content */
};

/* Changes that one flush commits together with the row. */
enum { WR_MORE = 10 };
struct wr_more {
    const struct wl_change *changes; /* at most WR_MORE */
    size_t n;
};
#define WR_MORE_OF(array) ((struct wr_more){(array), WB_LEN(array)})

struct wr_call;
struct wr_journal_reply;
struct wr_settings;

/* Usage of the runs below one. */
struct wr_below {
    struct upp_usage usage;
    uint32_t steps, messages; /* messages between agents, of runs that have not ended; not stored */
};

/* Lengths of a run's lists at some time. */
struct wr_mark {
    size_t messages, executions, cycles;
};

/* A requested handoff, until the end of its step. */
struct wr_handoff_request {
    struct upp_str to, reason, message; /* to: empty: none */
};

/* Who wrote the messages of a run before index `until`. */
struct wr_speaker {
    size_t until;
    struct upp_str who;
};

/* A system event of a branch, and after how many of its messages it came. */
struct wr_noted {
    struct upp_str json;
    size_t after;
};

/* The effect of a tool.grant or tool.revoke. */
struct wr_grant {
    struct upp_str tool, agent; /* agent: empty: any */
    uint32_t step;              /* it holds after this many steps of this run */
    bool given;
};

struct wr_run {
    struct weft_run pub; /* first: strategies hold a pointer to it */
    struct wr_run *next_free;
    struct wr_engine *engine;
    struct wr_tree *tree;
    struct wr_run *parent;

    const struct wr_agent_def *def;  /* NULL: the agent is not defined any more */
    const struct wr_agent_def *held; /* the same, as wr_engine_opts.agent gave it */
    struct wr_settings *settings;    /* of the request that began it; NULL: none */
    const struct upp_model *model;   /* its own, or that of its parent; NULL: neither has one */
    const struct upp_err *unfit;     /* why its settings cannot be honoured (then def is NULL); NULL: they can */
    struct upp_str params;           /* that belong to the model */
    struct upp_str system;           /* system prompt; empty: none */
    struct upp_str traceparent;      /* of a root, from its options; empty: none */
    bool names_calls;                /* of a root, from its options (WR_CALL_IDS) */
    uint32_t max_agent_messages;     /* of a root, from its options; 0: no limit */
    const struct weft_rights *given; /* rights from the parent's tool entry; NULL: no further limits */
    yyjson_val *only_tools;          /* of its options: names of tools; NULL: no further limits */
    bool readonly;                   /* of its options: no tool that is not declared pure */

    struct wm_run row;
    struct wr_source *source;
    struct wl_end end; /* of its node */
    char id_text[WB_UUID_TEXT + 1];
    int64_t time_ms;        /* of the newest entry on the path */
    size_t n_history;       /* messages of the path before the input */
    uint32_t unread;        /* entries at the beginning of the path that were not read */
    struct upp_str carried; /* grants of the path before the run, for its state (run/path.c); empty: none */
    struct upp_str data;    /* the structured answer; empty: none */
    struct upp_turn *turn;  /* its final turn, if somebody needs it; NULL: none yet */
    bool has_files;         /* some message of its path refers to an uploaded file */
    bool loaded;            /* history and journal are loaded */
    bool branch;            /* run/branch.c: its journal outlives its one step, for its adoption */
    bool whole;             /* an ended branch: load the journal of all its steps */

    /* The branch whose hook is being called: what the hook adds goes to the branch. NULL: none. */
    struct wr_run *hook_branch;

    unsigned asking;  /* model calls in progress: other entries come after their messages */
    unsigned voids;   /* void attempts since the last message */
    uint32_t attempt; /* at the current index of the node */

    /* Its next commit changes its row, or it is about to be freed: a cancel waits for that. Set with the commit lock
     * held, or before the run can be found. So a run that is changed from outside with the lock held does not end. */
    bool changing;

    size_t replaced; /* bytes of its memory with options before and after changes of its metadata
                        (run/settings/metadata.c) */

    uint8_t gate; /* enum wr_gate */
    struct weft_cond at_gate;

    struct {
        bool open;           /* its start is on a tape that is committed or streaming */
        bool dirty;          /* it has messages or results */
        bool start_reported; /* on_step_start was called since the run was loaded */
        uint32_t n_ended;    /* ended calls in the journal */
        struct upp_usage usage;
        uint32_t below;      /* model calls of the step's children, from the journal */
        struct wr_mark from; /* lengths of the lists when the step began */
        uint32_t n_adopted;  /* a branch's events that the current step has */
    } step;

    struct {
        struct wr_handoff_request passing;
        struct upp_str becomes; /* the agent for the next state; empty: unchanged */
        uint32_t n;             /* handoffs in this run so far */
        bool turn_begins;       /* the first turn of the next agent begins */
    } handoff;

    struct {
        struct upp_str request; /* its metadata; NULL: `before` has not run */
        void *slot;
        size_t n_remembered;             /* messages of the path between history and input */
        const struct upp_message *input; /* replaces the input; NULL: the user's own */
        uint32_t input_position;         /* of the input, on the log's path */
    } middleware;

    struct {
        struct wr_below below;        /* steps of all runs below it, and usage of those that have not ended ... */
        struct wr_below below_before; /* ... as stored in the state */
        uint64_t worked_ms;           /* before it was recovered */
        uint64_t began_ns;            /* when it began to work, by the loop's clock; 0: it does not work */
        uint32_t messages;            /* between agents: its own, and those of children that have ended */
        const char *over;             /* the limit that ended it; NULL: none */
        bool done;                    /* it has nothing more to do: reaching a limit now cuts nothing short */
    } budget;

    /* A run in the free list keeps the memory of what follows. */
    struct wb_arena memory;
    WB_VEC(const struct upp_message *) path;
    WB_VEC(const struct upp_message *) mine; /* the input and the messages after it, without scaffolding */
    WB_VEC(uint32_t) positions; /* of the history, on the log's path; UINT32_MAX: none. Empty: there is no log */
    WB_VEC(struct upp_str) held_events; /* events held back while a message is streaming */
    WB_VEC(struct upp_str) reasoning;
    WB_VEC(struct wr_grant) grants; /* in order */
    WB_VEC(struct wr_noted) noted;  /* of a branch, for its adoption */
    WB_VEC(struct wr_speaker) speakers;
    WB_VEC(struct upp_execution) executions;
    WB_VEC(struct upp_usage) cycles;
    struct { /* of the current step */
        WB_VEC(struct wr_journal_reply *) replies;
        WB_VEC(struct upp_str) prompted; /* phases whose prompt is on the path */
        WB_VEC(struct wr_call *) calls;
        WB_VEC(struct wm_pending) pending; /* of this run and its children, when it begins to wait */
    } journal;
    struct wr_ids ids; /* of calls on its path */
    struct wr_draft draft;
};
enum wr_gate { WR_SHUT = 0, WR_GO, WR_STOP };

static inline struct wr_run *wr_of(struct weft_run *run)
{
    return (struct wr_run *)(void *)run;
}

int wr_run_new(struct wr_engine *e, struct wr_tree *t, struct wr_run *parent, const struct wm_run *row,
               struct wr_run **ret, struct upp_err *err) UPP_MUST_CHECK;
void wr_run_free(struct wr_run *run);
void wr_run_freep(struct wr_run **run);

/* The run fails with this error when it works, without its agent. It can still be cancelled. */
int wr_run_unfit(struct wr_run *run, const struct upp_err *why, struct upp_err *err) UPP_MUST_CHECK;

/* Makes the run that agent's from here on. -UPP_ENOTFOUND. */
int wr_become(struct wr_run *run, struct upp_str agent, struct upp_err *err) UPP_MUST_CHECK;

/* The current agent if it is not the one the run began with; else empty. */
struct upp_str wr_agent_now(const struct wr_run *run);

/* The traceparent of the request that started the run's tree; empty: none. */
struct upp_str wr_traceparent(const struct wr_run *run);

/* Do the ids of calls in the run's tree say where the call is in the log? */
bool wr_names_calls(const struct wr_run *run);

/* A text as a JSON string in the run's memory; NULL: no memory. */
struct upp_str wr_json_text(struct wr_run *run, struct upp_str text);

/* Cuts a result, with a mark, that would make those of its message longer than WM_RESULTS_MAX. */
int wr_result_fit(struct wr_run *run, struct upp_str *json, struct upp_err *err) UPP_MUST_CHECK;

/* The state as JSON, and back. */
int wr_state_write(const struct wr_run *run, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
int wr_state_read(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* Sets totalTokens in the metadata, for hooks. */
int wr_count_tokens(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Executes a run until it ends or waits; returns the result of the strategy, hooks and middleware. */
WEFT_SUSPENDS int wr_execute(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Sets `changing`: until the end of the next flush nobody else changes the run's row. */
WEFT_SUSPENDS void wr_row_claim(struct wr_run *run);

/* Ends a run with the result of wr_execute and its error, unless it waits or is left for recovery. */
WEFT_SUSPENDS int wr_finish(struct wr_run *run, int result, const struct upp_err *why,
                            struct upp_err *err) UPP_MUST_CHECK;

/* The same, unconditionally: what is below a run that ends has to end, even if the engine has begun to close. */
WEFT_SUSPENDS int wr_end(struct wr_run *run, int result, const struct upp_err *why, struct upp_err *err) UPP_MUST_CHECK;

/* Starts the fiber of a root. It waits at its gate until the run is committed: wr_go lets it work, or end at once. The
 * caller must call wr_go; with false the run is freed. */
int wr_launch(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;
/* The same without a separate fiber: then wr_work_here works on the run, and frees it. */
int wr_launch_here(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS void wr_work_here(struct wr_run *run);
void wr_go(struct wr_run *run, bool committed);

/* Adds a result for every call that has none. */
int wr_repair(struct wr_run *run, bool canceled, struct upp_err *err) UPP_MUST_CHECK;
/* The same for a run that continues without running them. */
int wr_repair_continuing(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* ---- The draft of a row ------------------------------------------------------------------------------------------ */

struct wm_event *wr_draft_record(struct wr_run *run, uint8_t kind, struct upp_err *err); /* NULL: failed */
struct wm_entry *wr_draft_entry(struct wr_run *run, struct upp_err *err);

/* Why one of them, or what belongs to it, failed: -UPP_ELIMIT, the draft is full, or -UPP_ENOMEM. */
int wr_draft_failed(const struct wr_run *run, struct upp_err *err);
bool wr_draft_empty(const struct wr_run *run);

/* Commits the draft as one row, together with these changes. Takes the commit lock. */
WEFT_SUSPENDS int wr_flush(struct wr_run *run, const struct wr_more *more, struct upp_err *err) UPP_MUST_CHECK;

int64_t wr_now(struct wr_run *run); /* max(now, time of the newest entry) */

/* ---- The output as a turn: messages, executions, cycles and usage ------------------------------------------------ */

/* Appends a message to the path. wr_mine_add: one that is not scaffolding, to path and `mine`. */
int wr_path_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_mine_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_mine_note(struct wr_run *run, const struct upp_message *m,
                 struct upp_err *err) UPP_MUST_CHECK; /* only to `mine` */
int wr_reasoned(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;

/* Adds a complete assistant message to the draft, with a tape of one delta per part, after a flush of the draft. `used`
 * NULL: no usage. `data`: its structured answer; empty: none. */
WEFT_SUSPENDS int wr_message_add(struct wr_run *run, const struct upp_message *m, const char *phase,
                                 const struct upp_usage *used, struct upp_str data, struct upp_err *err) UPP_MUST_CHECK;
/* Adds a strategy's prompt to the path, for this run only, once per phase. */
int wr_prompt(struct wr_run *run, const struct upp_message *prompt, struct upp_str phase,
              struct upp_err *err) UPP_MUST_CHECK;

int wr_execution_add(struct wr_run *run, const struct upp_execution *e, struct upp_err *err) UPP_MUST_CHECK;
int wr_cycle_add(struct wr_run *run, const struct upp_usage *u, struct upp_err *err) UPP_MUST_CHECK;
/* The same for one of a branch or child, which counted in `below` until now. */
int wr_cycle_adopt(struct wr_run *run, const struct upp_usage *u, struct upp_err *err) UPP_MUST_CHECK;
int wr_turn_restore(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Puts a child's usage into the end record of its call; from here on it is the run's own too. */
int wr_child_usage_add(struct wr_run *run, const struct wr_call *call, struct wm_event *ended,
                       struct upp_err *err) UPP_MUST_CHECK;

struct wr_mark wr_mark_now(const struct wr_run *run);

/* The run's output since then. `abort`: it ends with an assistant message marked as aborted. */
int wr_turn(struct wr_run *run, struct wr_mark from, bool abort, struct upp_turn **ret,
            struct upp_err *err) UPP_MUST_CHECK;

/* All output, when the run has completed and is about to be freed. If the run's memory holds little else the turn takes
 * it over: then only the run's row can still be read. */
int wr_turn_last(struct wr_run *run, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

/* The message as the current agent sees it: texts of other agents begin with their name. */
int wr_message_for_agent(struct wr_run *run, const struct upp_message *m, struct upp_str who,
                         const struct upp_message **ret, struct upp_err *err) UPP_MUST_CHECK;
