/* run/run.h — one execution of a strategy; it exists while a fiber works on it. */
#ifndef WR_RUN_H
#define WR_RUN_H

#include "run/draft.h"
#include "run/tree.h"

enum {
    WR_RUN_MEMORY = 512 << 20, /* of one run: history and what was said */
    WR_CALLS      = 128,       /* tool calls of one message */
    WR_RETRIES    = 64,        /* when somebody else was first */
    WR_END_MS     = 10000,     /* the end of a run is shielded for so long */
};

struct wr_call;
struct wr_journal_reply;

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

    struct wm_run     row;
    struct wr_source *source;
    struct wl_end     end; /* of its node */
    char              id_text[WB_UUID_TEXT + 1];
    int64_t           time_ms;   /* of the newest entry on the path */
    size_t            n_history; /* of the path: what came before the input */
    struct upp_str    data;      /* the structured answer; no text: none */
    struct upp_turn  *turn;      /* that it ends with, where somebody wants it; NULL: none yet */
    bool              loaded;    /* history and journal are there */
    bool              branch;    /* run/branch.c: its journal outlives its one step, for whoever adopts it */
    bool              whole;     /* a branch that is to be adopted: its journal is that of all its steps */
    struct wr_run *beside; /* a branch one of whose hooks is told now: what the hook adds is the branch's; NULL: none */

    unsigned asking;  /* messages under way: what is to be an entry comes after them */
    unsigned voids;   /* since the last message: attempts that were lost */
    uint32_t attempt; /* at the current index */

    bool changing;         /* its row is about to change with its next commit: a cancel comes after that. It is
                            * set with the lane held, or before anybody can find the run */
    uint8_t          gate; /* enum wr_gate */
    struct weft_cond at_gate;

    struct {
        bool             open;    /* its start is on a tape that was committed or is on the air */
        bool             dirty;   /* something was said or done in it */
        bool             told;    /* to on_step_start, in this life */
        uint32_t         n_ended; /* calls whose end the journal has */
        struct upp_usage usage;
        uint32_t         below;     /* calls of models by children of the step that the journal has */
        struct wr_mark   from;      /* what belonged to the steps before the current one */
        uint32_t         n_adopted; /* events of a branch that the current step has */
    } step;

    struct {
        struct wr_passing passing;
        struct upp_str    becomes;     /* the agent that its next state names; no text: the one it has */
        uint32_t          n;           /* so many were there in this run */
        bool              turn_begins; /* of an agent to whom it was passed */
    } handoff;

    struct {
        struct upp_str            request; /* its metadata; no text: its `before` has not been done */
        void                     *slot;
        size_t                    n_remembered; /* of the path: after the history, before the input */
        const struct upp_message *told;         /* in the place of the input; NULL: the user's own */
        uint32_t                  input_place;  /* of the log's path: the input */
    } middleware;

    struct {
        struct wr_below below;        /* steps of all runs below it, and what those that have not ended used ... */
        struct wr_below below_before; /* ... and in steps that have ended */
        uint64_t        worked_ms;    /* before it was taken up */
        uint64_t        began_ns;     /* by the loop's clock: it works since; 0: it does not */
        const char     *over;         /* the limit that ended it; NULL: none */
        bool            done;         /* it has no more to do: a limit that it reaches now cuts nothing short */
    } budget;

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
    struct { /* of the current step */
        WB_VEC(struct wr_journal_reply *) said;
        WB_VEC(struct upp_str) prompted; /* phases whose prompt is on the path */
        WB_VEC(struct wr_call *) calls;
        WB_VEC(struct upp_str) approved;
        WB_VEC(struct wm_pending) pending; /* of this run and its children, when it comes to wait */
    } journal;
    struct wr_ids   ids; /* on its path */
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

/* The run is that agent's from here on. -UPP_ENOTFOUND. */
int wr_become(struct wr_run *run, struct upp_str agent, struct upp_err *err) UPP_MUST_CHECK;

/* The agent now, where it is not the one the run began with; no text: it is. */
struct upp_str wr_agent_now(const struct wr_run *run);

/* A text as a JSON string in the run's memory; no text: no memory. */
struct upp_str wr_json_text(struct wr_run *run, struct upp_str text);

/* The state as JSON, and back. */
int wr_state_write(const struct wr_run *run, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
int wr_state_read(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* totalTokens in the metadata, for hooks. */
int wr_count_tokens(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* ---- At work --------------------------------------------------------------------------------------------- */

/* Works on a run until it ends or waits; its result is that of the strategy. */
WEFT_SUSPENDS int wr_execute(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* From here to the end of the next flush nobody else changes the run's row. */
WEFT_SUSPENDS void wr_row_claim(struct wr_run *run);

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

/* Every call of what was said has a result. */
int wr_repair(struct wr_run *run, bool canceled, struct upp_err *err) UPP_MUST_CHECK;
/* The same for a run that goes on without having run them. */
int wr_mend(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

#endif
