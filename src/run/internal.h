/* run/internal.h — what the files of the engine share.
 *
 * A *tree* is a root run with its children: one event sequence, one commit at a time (its lane), the readers. A *run*
 * is one execution of a strategy; it exists while a fiber works on it. A *draft* is the row that a run has not
 * committed yet. An *open message* is what a model is saying right now: readers see it grow before it is committed.
 *
 * Invariants
 *  1. Events are numbered in the order of commits. A root's open message has the numbers that follow the last commit,
 * and while it is open nothing else of its tree is committed with events. A child's message is numbered when it is
 *     committed: children may speak at the same time, and the sequence has no gaps.
 *  2. What is delivered as a record is in the store. What is not committed is lost with the process, and only that.
 *  3. Everything of an engine happens on its one loop; only the lane is held across a wait.
 */
#ifndef WR_INTERNAL_H
#define WR_INTERNAL_H

#include "base/list.h"
#include "base/vec.h"
#include "fiber/fiber.h"
#include "run/engine.h"
#include "upp/client/call.h"

enum {
    WR_KEPT_ROWS   = 64,        /* committed rows a tree keeps for readers that follow, while there is a store */
    WR_KEPT_BYTES  = 1 << 20,   /* and at most so much of them */
    WR_LOST_BYTES  = 1 << 20,   /* of what an attempt said that is void: more of it is not kept for readers */
    WR_KEPT_ALONE  = 64 << 20,  /* without a store: what the slowest reader may be behind */
    WR_RUN_MEMORY  = 512 << 20, /* of one run: history and what was said */
    WR_CALLS       = 128,       /* tool calls of one message */
    WR_PARTS       = 1024,      /* parts of one message */
    WR_RETRIES     = 64,        /* when somebody else was first */
    WR_END_MS      = 10000,     /* the end of a run is shielded for so long */
    WR_YIELD_BYTES = 16 << 10,  /* readers get a turn after so much was said without a wait */
    WR_YIELD_PARTS = 64,        /* and after so many deltas */
};

/* ---- Trees ------------------------------------------------------------------------------------------- */

/* A committed row as it was written, for readers. */
struct wr_kept {
    struct wb_link   link;
    struct upp_str   body, tape;
    struct wr_from   at;     /* epoch and number of its first event */
    uint64_t         events; /* how many it has */
    uint32_t         index;  /* of its first entry in its node */
    struct wr_faces *face;
};

/* Who speaks: shared by the events of one run. Lives as long as the tree. */
struct wr_faces {
    struct wr_faces *next;
    struct wm_source from; /* epoch is not used: each row has its own */
};

struct wr_open;

/* Hashes of call ids. One that is not in it is free; one that is may be. */
struct wr_ids {
    uint64_t *slots;
    size_t    n, size; /* a power of two, or 0 */
};
bool wr_ids_have(const struct wr_ids *ids, struct upp_str id);
int  wr_ids_add(struct wr_ids *ids, struct upp_str id, struct upp_err *err) UPP_MUST_CHECK;
void wr_ids_clear(struct wr_ids *ids); /* keeps its room */
void wr_ids_done(struct wr_ids *ids);

struct wr_tree {
    struct wr_tree   *spare; /* the next one of the engine's spare ones */
    struct wr_engine *engine;
    struct wb_link    link; /* in the engine's table */
    unsigned          refs;
    struct wb_uuid    root;
    struct wl_owner   owner; /* texts in memory */
    struct wb_arena   memory;
    struct wr_faces  *faces;
    struct wr_ids     ids; /* call ids of the runs of the tree that worked here: answers are routed by them */

    uint32_t epoch;
    uint64_t next;   /* number of the next event to be committed: all before are */
    uint8_t  status; /* of the root, as committed */
    int      failed; /* the store failed it: it goes on when an engine recovers it */

    bool     resumed; /* from the store: not all call ids of its children are in `ids` */
    bool     loading; /* somebody reads epoch and next from the store: wait for `changed` */
    int      unread;  /* and that failed */
    unsigned heirs;   /* inputs that wait for its end to take its place: the queue comes after them */

    bool             locked; /* the lane */
    struct weft_cond lane;

    struct wb_link   kept; /* the newest committed rows, without a gap, up to `next` */
    size_t           n_kept, kept_bytes;
    struct wr_open  *open; /* on the air; NULL: nothing */
    struct wb_link   readers;
    size_t           asleep;  /* readers that have had everything and want to be told of more */
    uint64_t         news;    /* counts wakes: has anything happened since? */
    struct weft_cond changed; /* for wr_wait */

    struct wr_run     *run; /* the root's, while a fiber works on it */
    struct weft_fiber *fiber;

    struct wr_outcome *outcome; /* somebody waits for it in wr_join; NULL: nobody */
};

/* What a run came to, for whoever started it. */
struct wr_outcome {
    bool                   told;
    int                    result;
    struct upp_turn       *turn; /* NULL: nothing was said */
    const struct wr_watch *watch;
    struct upp_err         why;
};

/* The caller waits for the turn: the tree stays until wr_leave. Before the run goes; and then the tree, or NULL. */
int             wr_want_turn(struct wr_run *run, const struct wr_watch *watch, struct upp_err *err) UPP_MUST_CHECK;
struct wr_tree *wr_wanted(struct wr_run *run);

struct wr_tree *wr_tree_find(struct wr_engine *e, struct wb_uuid root); /* live; borrowed; NULL: none */
int             wr_tree_new(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid root, struct wr_tree **ret,
                            struct upp_err *err) UPP_MUST_CHECK;
/* The live tree or one made from the store. Referenced. */
WEFT_SUSPENDS int wr_tree_get(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *root,
                              struct wr_tree **ret, struct upp_err *err) UPP_MUST_CHECK;
void              wr_tree_unref(struct wr_tree *t);
void              wr_tree_unrefp(struct wr_tree **t);

/* The root of a run, whichever of its tree was named; out of the store. */
WEFT_SUSPENDS int wr_get_root(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                              struct wm_run *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Waits until nobody works on the tree, and makes the root's run for the caller, who gives it to wr_launch or frees it.
 */
WEFT_SUSPENDS int wr_tree_own(struct wr_tree *t, const struct wm_run *row, struct wr_run **ret,
                              struct upp_err *err) UPP_MUST_CHECK;
void              wr_tree_disown(struct wr_run *run); /* frees it and lets the next one in */

WEFT_SUSPENDS void wr_lane_take(struct wr_tree *t); /* shielded: a commit is never cancelled */
void               wr_lane_leave(struct wr_tree *t);

/* The face of a run, made when first needed. NULL: no memory. */
struct wr_faces *wr_tree_face(struct wr_tree *t, const struct wm_run *run, struct upp_str agent_id);

void wr_tree_wake(struct wr_tree *t);    /* readers and waiters: there is something new */
void wr_readers_wake(struct wr_tree *t); /* readers alone: more was said */

/* ---- Runs ---------------------------------------------------------------------------------------------- */

/* The text of a part that may grow. */
struct wr_text {
    size_t cap;   /* 0: it has no memory yet */
    bool   block; /* of its own; else it lies in the arena */
    bool   closed;
    bool   holds; /* the first half of a surrogate pair: */
    char   half[3];
};

/* A message that a model is saying. */
struct wr_open {
    struct wr_open  *spare;
    struct wr_faces *face;
    struct wb_arena *memory;
    struct wm_entry  entry;
    struct wm_tape   tape;
    struct wr_text  *texts; /* of each part */
    size_t           n, room;
    uint32_t         index, step;
    uint64_t         number; /* of its first event, when it is on the air */
    uint32_t         epoch;  /* of all of them */
    size_t           bytes;
};
/* Names, media and small texts are copied into the arena, which outlives it. */
int  wr_open_new(struct wr_engine *e, struct wb_arena *a, struct wr_open **ret, struct upp_err *err) UPP_MUST_CHECK;
void wr_open_free(struct wr_engine *e, struct wr_open *o); /* with all texts; NULL is fine */
int  wr_open_part(struct wr_open *o, const struct upp_step_event *ev, struct upp_err *err) UPP_MUST_CHECK;
int  wr_open_delta(struct wr_open *o, uint32_t part, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;
int  wr_open_close(struct wr_open *o, uint32_t part, struct upp_str metadata, struct upp_err *err) UPP_MUST_CHECK;
/* Closes what is open and marks calls as cut: nothing more will be said. */
int wr_open_cut(struct wr_open *o, struct upp_err *err) UPP_MUST_CHECK;
/* Gives the message with all its texts to the arena. */
int wr_open_take(struct wr_open *o, struct wm_entry *ret, struct upp_err *err) UPP_MUST_CHECK;

/* What the journal of the current step holds. */
struct wr_said {
    struct upp_str    phase;
    struct weft_reply reply;
    bool              answered; /* every call of it has a result on the path */
};
enum wr_call_state { WR_CALL_STARTED = 1, WR_CALL_ENDED };
struct wr_call {
    struct upp_str id, name;
    uint8_t        state;
    uint8_t        outcome;
    bool           asked;   /* hooks were, and what they made of the arguments is in the log */
    bool           begun;   /* it was started, or given to the client */
    bool           counted; /* it is among the run's executions */
    bool           shown;   /* its result is on the path */
    bool           branch;  /* no call at all (run/branch.c) */
    uint32_t       order;   /* in which it ended, of those that the journal has */
    uint64_t       ms;
    struct upp_str arguments; /* that it was started with; no text: those of the message */
    struct upp_str result;
    struct wb_uuid child;
    uint64_t       child_node;

    struct upp_usage *cycles; /* of a child that has ended: what it and all below it used, call by call */
    size_t            n_cycles;
};

/* The row that is not committed yet. Texts live in the run's memory. */
struct wr_draft {
    WB_VEC(struct wm_entry) entries;
    WB_VEC(struct wm_event) records;
    struct wr_open *open;     /* whose message is the first entry: its tape goes with the row */
    bool            lost;     /* it is none: it was taken back, and the first record is VOID */
    size_t          observed; /* records that middleware has been told of */
    bool            state;    /* write the run's state */
    bool            must_sync;
    uint64_t        turn; /* counts flushes: whose content went with which */
};

/* Changes beside the row, for one flush. */
enum { WR_MORE = 8 };
struct wr_more {
    const struct wl_change *changes; /* at most WR_MORE */
    size_t                  n;
};
#define WR_MORE_OF(array) ((struct wr_more){(array), WB_LEN(array)})

/* What was used by runs below one. */
struct wr_below {
    struct upp_usage usage;
    uint32_t         steps;
};

/* How much of a run's messages, executions and cycles there was at some time. */
struct wr_mark {
    size_t messages, executions, cycles;
};

/* A handoff that waits for the end of its step. */
struct wr_passing {
    struct upp_str to, reason, message; /* to: no text: none */
};

/* Whose the messages of a run are up to there. */
struct wr_speaker {
    size_t         until;
    struct upp_str who;
};

/* A system event of a branch: it comes after so many of its messages. */
struct wr_noted {
    struct upp_str json;
    size_t         after;
};

/* What a tool.grant or tool.revoke said. */
struct wr_grant {
    struct upp_str tool, agent; /* agent: no text: any */
    uint32_t       step;        /* of this run: it holds when so many have ended */
    bool           given;
};

struct wr_run {
    struct weft_run   pub; /* first: strategies hold a pointer to it */
    struct wr_run    *spare;
    struct wr_engine *engine;
    struct wr_tree   *tree;
    struct wr_run    *parent;

    const struct wr_agent_def *def;    /* NULL: there is no such agent any more */
    const struct upp_model    *model;  /* its own, or that of its parent; NULL: neither has one */
    struct upp_str             params; /* that go with it */
    struct upp_str             system; /* what it is told to be; no text: nothing */
    const struct weft_rights  *given;  /* by the tool of its parent that it is; NULL: nothing less than its parent's */

    struct wm_run             row;
    struct wr_faces          *face;
    struct wl_end             end;        /* of its node */
    bool                      step_open;  /* its start is on a tape that was committed or is on the air */
    bool                      step_dirty; /* something was said or done in it */
    bool                      step_told;  /* to on_step_start, in this life */
    uint32_t                  n_ended;    /* calls whose end the journal has */
    unsigned                  voids;      /* since the last message: attempts that were lost */
    uint32_t                  attempt;    /* at the current index */
    struct upp_usage          step_usage;
    uint32_t                  step_below;  /* calls of models by children of the step that the journal has */
    struct wr_mark            step_from;   /* what belonged to the steps before the current one */
    size_t                    n_history;   /* of the path: what came before the input */
    struct upp_str            data;        /* the structured answer; no text: none */
    bool                      turn_begins; /* of an agent to whom it was passed */
    struct wr_passing         passing;
    struct upp_str            becomes;      /* the agent that its next state names; no text: the one it has */
    uint32_t                  handoffs;     /* so many were there in this run */
    struct upp_turn          *turn;         /* that it ends with, where somebody wants it; NULL: none yet */
    struct upp_str            request;      /* metadata of middleware; no text: its `before` has not been done */
    void                     *slot;         /* of middleware */
    size_t                    n_remembered; /* of the path: after the history, before the input */
    const struct upp_message *told;         /* in the place of the input; NULL: the user's own */
    uint32_t                  input_place;  /* of the log's path: the input */
    unsigned                  asking;       /* messages under way: what is to be an entry comes after them */
    struct wr_below           below; /* steps of all runs below it, and what those that have not ended used ... */
    struct wr_below           below_before; /* ... and in steps that have ended */
    uint64_t                  worked_ms;    /* before it was taken up */
    uint64_t                  began_ns;     /* by the loop's clock: it works since; 0: it does not */
    const char               *over;         /* the limit that ended it; NULL: none */
    bool                      done;         /* it has no more to do: a limit that it reaches now cuts nothing short */
    char                      id_text[WB_UUID_TEXT + 1];
    int64_t                   time_ms;   /* of the newest entry on the path */
    bool                      loaded;    /* history and journal are there */
    bool                      branch;    /* run/branch.c: its journal outlives its one step, for whoever adopts it */
    bool                      whole;     /* a branch that is to be adopted: its journal is that of all its steps */
    uint32_t                  n_adopted; /* events of a branch that the current step has */
    struct wr_run *beside; /* a branch one of whose hooks is told now: what the hook adds is the branch's; NULL: none */
    bool           changing; /* its row is about to change with its next commit: a cancel comes after that. It is
                              * set with the lane held, or before anybody can find the run */
    uint8_t          gate;   /* enum wr_gate */
    struct weft_cond at_gate;

    /* A spare one keeps the memory of what follows. */
    struct wb_arena memory;
    WB_VEC(const struct upp_message *) path;
    WB_VEC(const struct upp_message *) mine; /* the input and what came of it, without scaffolding */
    WB_VEC(uint32_t) places;      /* of the history, in the log's path; UINT32_MAX: none. Empty: there is no log */
    WB_VEC(struct upp_str) later; /* events that came while a message was being said */
    WB_VEC(struct upp_str) reasoning;
    WB_VEC(struct wr_grant) grants; /* in order */
    WB_VEC(struct wr_noted) noted;  /* of a branch, for whoever adopts it */
    WB_VEC(struct wr_speaker) speakers;
    WB_VEC(struct upp_execution) executions;
    WB_VEC(struct upp_usage) cycles;
    WB_VEC(struct wr_said *) said;
    WB_VEC(struct upp_str) prompted; /* phases of this step whose prompt is on the path */
    WB_VEC(struct wr_call *) calls;
    WB_VEC(struct upp_str) approved;
    WB_VEC(struct wm_pending) pending; /* of this run and its children, when it comes to wait */
    struct wr_ids   ids;               /* on its path */
    struct wr_draft draft;
};
enum wr_gate { WR_SHUT = 0, WR_GO, WR_STOP };

static inline struct wr_run *wr_of(struct weft_run *run)
{
    return (struct wr_run *)(void *)run;
}

int  wr_run_new(struct wr_engine *e, struct wr_tree *t, struct wr_run *parent, const struct wm_run *row,
                struct wr_run **ret, struct upp_err *err) UPP_MUST_CHECK;
void wr_run_free(struct wr_run *run);
void wr_run_freep(struct wr_run **run);

int wr_instruct(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK; /* its system text */

/* Fills in history and journal from the store. `fresh`: it has just begun, and its input is at hand. */
WEFT_SUSPENDS int wr_load(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* The state as JSON, and back. */
int wr_state_write(const struct wr_run *run, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
int wr_state_read(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* totalTokens in the metadata, for hooks. */
int wr_count_tokens(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Works on a run until it ends or waits; its result is that of the strategy. */
WEFT_SUSPENDS int wr_execute(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* From here to the end of the next flush nobody else changes the run's row. */
WEFT_SUSPENDS void wr_row_claim(struct wr_run *run);

/* Records and state of the end of a step, into the draft. */
int wr_step_close(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* The run comes to wait for what is in run->pending: C5, or with the last C3. Returns -UPP_EWAIT when it is committed.
 */
WEFT_SUSPENDS int wr_wait_for(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* A text as a JSON string in the run's memory; no text: no memory. */
struct upp_str wr_json_text(struct wr_run *run, struct upp_str text);

/* The end of a run that did not end well, or its completion. Takes the result of wr_execute and its error. */
WEFT_SUSPENDS int wr_finish(struct wr_run *run, int result, const struct upp_err *why,
                            struct upp_err *err) UPP_MUST_CHECK;

/* The same, and nothing stops it any more: what is below a run that ends has to end, though the engine began to close
 * meanwhile. */
WEFT_SUSPENDS int wr_end(struct wr_run *run, int result, const struct upp_err *why, struct upp_err *err) UPP_MUST_CHECK;

/* Makes the fiber of a root. It waits at its gate until the run is committed: wr_go lets it work, or end at once.
 * Whoever launched must call wr_go; with false the run is freed. */
int wr_launch(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;
/* The same without a fiber of its own: afterwards wr_work_here works on it, and frees it. */
int                wr_launch_here(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS void wr_work_here(struct wr_run *run);
void               wr_go(struct wr_run *run, bool committed);

/* After the end of a run: the next one that waits in the queue of its thread. */
WEFT_SUSPENDS int wr_start_next(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread,
                                struct upp_err *err) UPP_MUST_CHECK;

/* ---- Drafts --------------------------------------------------------------------------------------------- */

struct wm_event *wr_draft_record(struct wr_run *run, uint8_t kind, struct upp_err *err); /* NULL: failed */
struct wm_entry *wr_draft_entry(struct wr_run *run, struct upp_err *err);
bool             wr_draft_empty(const struct wr_run *run);

/* Commits the draft as one row, with these other changes. Takes the lane. */
WEFT_SUSPENDS int wr_flush(struct wr_run *run, const struct wr_more *more, struct upp_err *err) UPP_MUST_CHECK;

/* A path grows by one message; by one that is no scaffolding. */
int wr_path_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_mine_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_mine_note(struct wr_run *run, const struct upp_message *m,
                 struct upp_err *err) UPP_MUST_CHECK; /* not the path */
int wr_reasoned(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;

/* A message of the assistant that no model says now: into the draft, with a tape of one delta a part. What the draft
 * has is flushed before. `used` NULL: nothing. `data`: its structured answer; no text: none. */
WEFT_SUSPENDS int wr_say(struct wr_run *run, const struct upp_message *m, const char *phase,
                         const struct upp_usage *used, struct upp_str data, struct upp_err *err) UPP_MUST_CHECK;
/* A prompt of the strategy: on the path for this run alone, once for a phase. */
int wr_prompt(struct wr_run *run, const struct upp_message *prompt, struct upp_str phase,
              struct upp_err *err) UPP_MUST_CHECK;

/* ---- Turns ---------------------------------------------------------------------------------------------- */

int wr_execution_add(struct wr_run *run, const struct upp_execution *e, struct upp_err *err) UPP_MUST_CHECK;
int wr_cycle_add(struct wr_run *run, const struct upp_usage *u, struct upp_err *err) UPP_MUST_CHECK;
/* The same for one that a branch made, which counts below the run until then. */
int  wr_cycle_adopt(struct wr_run *run, const struct upp_usage *u, struct upp_err *err) UPP_MUST_CHECK;
int  wr_turn_restore(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;
void wr_usage_add(struct upp_usage *to, const struct upp_usage *u);

/* With the record of the end of a call that was a child: what it used is the run's too from here on. */
int wr_spent(struct wr_run *run, const struct wr_call *call, struct wm_event *ended,
             struct upp_err *err) UPP_MUST_CHECK;

/* Executions of a run that was taken up, as its records have them. */
WEFT_SUSPENDS int wr_executions_read(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

struct wr_mark wr_mark_now(const struct wr_run *run);

/* What the run brought since then. `abort`: it ends with an assistant message that says so. */
int wr_turn(struct wr_run *run, struct wr_mark from, bool abort, struct upp_turn **ret,
            struct upp_err *err) UPP_MUST_CHECK;

/* All that it brought, when it has ended well and is about to be freed. Where the run's memory holds little else the
 * turn takes it: from then on nothing of the run can be read but its row. */
int wr_turn_last(struct wr_run *run, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

/* 1: it is enough: the hook `stop` says so, the thread was passed on, or a budget is used up. `goes_on`: it would begin
 * one more step. */
WEFT_SUSPENDS int wr_enough(struct wr_run *run, bool goes_on, struct upp_err *err) UPP_MUST_CHECK;

/* The current step ends with what is in the draft. */
WEFT_SUSPENDS int wr_last_step(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* on_step_end. */
WEFT_SUSPENDS int wr_step_hook(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* What becomes of the strategy's result by hooks and middleware: 0, or why the run fails. */
WEFT_SUSPENDS int wr_conclude(struct wr_run *run, int result, struct upp_err *err) UPP_MUST_CHECK;

/* The same for a run whose strategy did not begin: middleware's before failed. */
WEFT_SUSPENDS int wr_not_begun(struct wr_run *run, int result, struct upp_err *err) UPP_MUST_CHECK;

/* Every call of what was said has a result. */
int wr_repair(struct wr_run *run, bool canceled, struct upp_err *err) UPP_MUST_CHECK;
/* The same for a run that goes on without having run them. */
int wr_mend(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

int64_t wr_now(struct wr_run *run); /* max(now, the time of the entry before) */

/* The journal. */
struct wr_call *wr_call_find(struct wr_run *run, struct upp_str id);
struct wr_call *wr_call_add(struct wr_run *run, struct upp_str id, struct upp_err *err);

/* ---- Around ------------------------------------------------------------------------------------------------- */

/* Middleware's before, once: what it changed is committed. */
WEFT_SUSPENDS int wr_before(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Tells middleware of the draft's records that it has not heard of; that a step begins. */
void               wr_observe_records(struct wr_run *run);
static inline void wr_observe(struct wr_run *run)
{
    if (run->def && run->def->around)
        wr_observe_records(run);
}
void wr_observe_step(struct wr_run *run);

/* Is nothing heard of what a model says before middleware has seen it whole? */
static inline bool wr_screened(const struct wr_run *run)
{
    return run->def->around && run->def->around->screen;
}

/* An entry by which middleware changed what the model is told: not in its own place on the path. */
bool wr_is_context(const struct wm_entry *e);

/* The newest summary that an earlier run made: where it stands, and the first line that it does not stand for. */
struct wr_summary {
    size_t at, through;
};
bool wr_summary_before(struct wr_run *run, const struct wl_line *lines, size_t n, struct wr_summary *ret);

/* Changes the path as middleware did before the run was taken up. */
int wr_context_restore(struct wr_run *run, const struct wl_line *lines, size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Budgets ------------------------------------------------------------------------------------------------ */

/* Adds what a run has used to all above it. */
void wr_used(struct wr_run *run, const struct upp_usage *u, uint32_t steps);
void wr_used_restore(struct wr_run *run);
/* A child has ended: what it used is in the run's own state from now on. */
void wr_used_up(struct wr_run *run, const struct upp_usage *u);

/* 1: it is over a limit of its own or of one above it; its metadata says so. `goes_on`: it wants one more step. */
int wr_budget(struct wr_run *run, bool goes_on, struct upp_err *err) UPP_MUST_CHECK;

/* How long it may still work; UINT64_MAX: no limit. How long it has worked. */
uint64_t wr_budget_ms(const struct wr_run *run);
uint64_t wr_worked_ms(const struct wr_run *run);

/* 1: the strategy failed because a limit is reached: that is no failure. */
int wr_out_of_budget(struct wr_run *run, int result, struct upp_err *err) UPP_MUST_CHECK;

/* ---- System events, handoffs, grants ------------------------------------------------------------------------- */

/* An event entry and its record, into the draft. `json` as wr_event_write makes it. */
int wr_event_add(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
int wr_event_write(struct wr_run *run, const struct weft_system_event *ev, struct upp_str *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* A branch keeps it in mind. */
int wr_event_note(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* Those that have waited for the end of a message. */
int wr_events_due(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Takes note of an event on the path. step: of this run, 0: of another. */
int  wr_grant_note(struct wr_run *run, struct upp_str json, uint32_t step, struct upp_err *err) UPP_MUST_CHECK;
bool wr_granted(const struct wr_run *run, const struct wr_tool *tool); /* wr_offers, where there are grants */
/* May the model call it in this step? */
static inline bool wr_offers(const struct wr_run *run, const struct wr_tool *tool)
{
    return run->grants.n ? wr_granted(run, tool) : !tool->withheld;
}

/* The agent now, where it is not the one the run began with; no text: it is. */
struct upp_str wr_agent_now(const struct wr_run *run);

/* The run is that agent's from here on. -UPP_ENOTFOUND. */
int wr_become(struct wr_run *run, struct upp_str agent, struct upp_err *err) UPP_MUST_CHECK;

/* A call of a handoff tool: asks for it, and says so. */
int wr_handoff_call(struct wr_run *run, const struct wr_tool *tool, struct upp_call *call, struct upp_value *ret,
                    struct upp_err *err) UPP_MUST_CHECK;
/* The journal says that it was called. */
int wr_handoff_again(struct wr_run *run, const struct wr_tool *tool, struct upp_str arguments,
                     struct upp_err *err) UPP_MUST_CHECK;

/* 1: the strategy has ended, and another agent goes on. */
WEFT_SUSPENDS int wr_handoff(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* As the agent that works now sees it: what others said begins with their name. */
int wr_as_seen(struct wr_run *run, const struct upp_message *m, struct upp_str who, const struct upp_message **ret,
               struct upp_err *err) UPP_MUST_CHECK;

/* History and messages anew, for an agent that has just come. */
WEFT_SUSPENDS int wr_path_anew(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Tools and children ------------------------------------------------------------------------------------ */

/* A call under way, behind the struct upp_call that its function sees. */
struct wr_doing {
    struct upp__call call;
    struct wr_run   *run;
    struct upp_str   key;      /* weft_call_key has it */
    char            *key_room; /* where it comes to stand; NULL: it does */
};

/* Runs the child of a call, new or begun before; its last words are the result. -UPP_EWAIT: it waits. */
WEFT_SUSPENDS int wr_child(struct wr_run *parent, struct wr_call *call, const struct wr_tool *tool,
                           struct upp_str arguments, struct upp_value *ret, struct upp_err *err) UPP_MUST_CHECK;
int               wr_child_mint(const struct wr_run *run, struct wr_call *call, struct upp_err *err) UPP_MUST_CHECK;

/* A child run that was found in the store goes on; what it waits for is what its parent waits for. */
WEFT_SUSPENDS int wr_child_go_on(struct wr_run *child, struct upp_err *err) UPP_MUST_CHECK;
int wr_child_pending(struct wr_run *parent, const struct wr_run *child, struct upp_err *err) UPP_MUST_CHECK;

/* Takes note of what a child that has ended used, for wr_spent. */
int wr_child_spent(struct wr_run *parent, struct wr_call *call, const struct wr_run *child,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Branches (run/branch.c): calls of no message that have not ended. They may outlive the step that began them. */
static inline bool wr_is_open_branch(const struct wr_call *c)
{
    return c->state == WR_CALL_STARTED && c->branch;
}
struct wr_call *wr_branch_call(struct wr_run *run, struct wb_uuid id, struct upp_err *err); /* NULL: failed */

/* One that ends with its run: what of its usage was adopted in the current step is counted already. */
void wr_branch_left(const struct wr_run *run, struct wr_call *c);

/* Ends the children of open calls, before their parent is ended by a cancel. */
WEFT_SUSPENDS int wr_children_end(struct wr_run *run, int result, const struct upp_err *why,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* ---- Rights -------------------------------------------------------------------------------------------------- */

/* Is there anybody from here to the root who has rights? */
static inline bool wr_bound(const struct wr_run *run)
{
    while (run && !run->given && !(run->def && run->def->rights))
        run = run->parent;
    return run != NULL;
}

/* Is it in no list of what is denied, and in each list of what is allowed, from here to the root? */
bool wr_allowed(const struct wr_run *run, const struct wr_tool *tool);

/* May the model have this call made? -UPP_EREFUSED: not allowed. -UPP_ELIMIT: too deep. */
int wr_may_call(const struct wr_run *run, const struct wr_tool *tool, struct upp_err *err) UPP_MUST_CHECK;

/* Asks the handlers of this run and of all above it, the nearest first: 1, 0, WEFT_PENDING (nobody said no), <0. */
WEFT_SUSPENDS int wr_approve(struct wr_run *run, struct upp_call *call, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Engine -------------------------------------------------------------------------------------------------- */

enum { WR_BUCKETS = 1024 };

/* What runs are made of is used again, with the memory it has: at most so many of each, none of them large. */
enum { WR_SPARES = 64, WR_SPARE_BYTES = 64 << 10, WR_SPARE_CALLS = 16 };
struct wr_spares {
    struct wr_tree  *trees;
    struct wr_run   *runs;
    struct wr_open  *opens;
    struct wb_arena  arenas[WR_SPARE_CALLS]; /* empty, each with one chunk: for the arguments of calls */
    struct upp_value values[WR_SPARE_CALLS]; /* for what they give back */
    struct upp__room room;                   /* for a call of a model */
    unsigned         n_trees, n_runs, n_opens, n_arenas, n_values;
};
void            wr_spares_done(struct wr_spares *s);
struct wb_arena wr_arena_take(struct wr_spares *s, size_t max);
void            wr_arena_give(struct wr_spares *s, struct wb_arena *a);
void            wr_value_take(struct wr_spares *s, struct upp_value *ret);
void            wr_value_give(struct wr_spares *s, struct upp_value *v);
void            wr_open_done(struct wr_open *o); /* a spare one */

/* A run that was left before its end, because the store did not take what it had to write. */
struct wr_trouble {
    struct wb_uuid run;
    int            failed;  /* how it failed the last time */
    unsigned       tries;   /* how often it worked and could not be ended */
    int64_t        wait_ms; /* the last time */
    int64_t        at_ms;   /* when it is taken up again; INT64_MAX: at the next start */
};

struct wr_engine {
    struct weft_loop     *loop;
    struct wr_engine_opts opts;
    struct wl_store      *store;
    struct upp_http      *http; /* connections of this loop, and the table by which its models wait */
    struct upp_wait       wait;
    struct weft_scope     scope;
    bool                  closing;
    size_t                working;
    struct wb_link        trees[WR_BUCKETS];
    struct wr_counts      counts;
    struct weft_cond      moved;      /* a run has ended, begun to wait, or left the queue */
    int64_t               look_at_ms; /* when to look after runs that nobody works on; INT64_MAX: never */
    int64_t               look_ms;    /* how long to wait after a failure */
    struct weft_cond      look;
    bool                  looking; /* the fiber that does it lives */
    WB_VEC(struct wr_trouble) troubled;
    struct wr_spares spares;
    struct wb_uuid   last_id; /* of the agent whose text stands here: most runs have the same one */
    char             last_id_text[WB_UUID_TEXT];
};

/* Sees to it that runs nobody works on are looked at then (src/run/after.c); 0: not because of this. */
void wr_look_at(struct wr_engine *e, int64_t ms);
void wr_look_soon(struct wr_engine *e);

/* A root was left before its end: it is taken up again, later each time. worked: it had been taken up, and its work was
 * for nothing; after so many times it is left for the next start. */
void wr_trouble(struct wr_tree *t, bool worked);
void wr_trouble_over(struct wr_engine *e, struct wb_uuid run);   /* it has ended */
int  wr_troubled(const struct wr_engine *e, struct wb_uuid run); /* how it failed; 0: it is well */

/* Goes on with a run that is said to work, when nobody does. */
WEFT_SUSPENDS int wr_take_up(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                             struct upp_err *err) UPP_MUST_CHECK;

/* A run that nobody works on is ended by whoever comes. */
WEFT_SUSPENDS int wr_end_idle(struct wr_tree *t, const struct wm_run *row, int result, const struct upp_err *why,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Frees rows that no reader and no limit asks for any more. */
void wr_kept_trim(struct wr_tree *t);

/* Ids of steps that have begun, by run: a step ends in another row than the one that began it. */
struct wr_begun {
    struct wb_uuid run, step;
};

struct wr_reader {
    struct wr_tree *tree;
    struct wb_link  link;
    struct wr_from  from;
    uint64_t        next;  /* number of the next event to be given out */
    uint64_t        aired; /* events from there on that were given out, and are void since */
    void (*wake)(void *arg);
    void             *arg;
    struct weft_cond  cond;
    struct wr_stored *stored; /* the way through the store, when it reads there */

    struct wm_row    row; /* whose events are given out, from `memory` */
    struct wm_expand expand;
    struct wm_source from_row, from_lost;
    struct wb_arena  memory;
    struct wr_open  *open; /* or those of this open message */
    bool             has_row;
    bool             ended, waiting;
    bool             asleep; /* counted in the tree */
    struct wm_run    run;

    WB_VEC(struct wm_event *) results; /* of the current step of the root, for the message that refers to them */
    struct wb_arena kept_results;
    WB_VEC(struct wr_begun) begun;
};

/* The open message that readers may be reading is gone: committed, or void, and then its numbers come again. */
void wr_readers_leave(struct wr_tree *t, const struct wr_open *o, bool is_void);

#endif
