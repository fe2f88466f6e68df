/* support/rig.h — an engine with agents, tools and a store, for tests.
 *
 * Agents run on scripts. The tools write what they do into a ledger that the engine knows nothing about, so that a test
 * can compare what happened in the world with what the log says.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "run/engine.h"
#include "support/checker.h"

enum { RIG_AGENTS = 4, RIG_LEDGER = 4096 };

/* One line of the ledger: a tool ran. */
struct rig_ran {
    char tool[24], key[160];
    bool ended;
};

struct rig_ledger {
    struct rig_ran ran[RIG_LEDGER];
    size_t n;
};

struct rig {
    struct wl_store *store; /* NULL: none; not the rig's */
    struct wr_engine *engine;
    struct wr_agent_def agents[RIG_AGENTS];
    struct upp_model *models[RIG_AGENTS];
    size_t n;
    struct rig_ledger *ledger; /* outside of the world that crashes; may be NULL */
    struct checker *checker;   /* told of everything that runs; may be NULL */
    const bool *dead;          /* the process has "died": nothing runs any more; may be NULL */
    unsigned slow_ms;
};

/* The tools every agent has: add (pure), note (at most once), again (idempotent), fails, slow, big, pick (the
 * client's), danger (asks for approval), pass_on (hands over to the agent "helper"), ask_helper (the agent "helper"),
 * ask_picker (the agent "picker"), then (after note and pick), alone (sequential), block (on a worker), maybe (a
 * function asks for approval), tells (appends a system event with its arguments). */
extern const struct wr_tool rig_tools[];
extern const size_t rig_n_tools;

/* An agent on a script. Before rig_open. */
int rig_agent(struct rig *rig, const char *name, const char *script, struct upp_err *err);
int rig_open(struct rig *rig, struct weft_loop *loop, const struct wr_engine_opts *opts, struct upp_err *err);
WEFT_SUSPENDS void rig_close(struct rig *rig); /* engine and models, not the store */
void rig_done(struct rig *rig);                /* the models, after the engine is gone */

extern const struct wl_owner rig_owner;

/* Starts a run with a text; thread NULL: a new one. */
WEFT_SUSPENDS int rig_start(struct rig *rig, const char *agent, const char *text, const struct wb_uuid *thread,
                            struct wr_started *ret, struct upp_err *err);

/* One event as a short line. */
void rig_event_text(struct wb_buf *out, const struct wm_event *ev);

/* Reads a run until it ends or waits: its events as lines. */
WEFT_SUSPENDS int rig_read(struct rig *rig, struct wb_uuid run, struct wb_buf *out, struct upp_err *err);

/* The whole history of a thread, as lines. */
WEFT_SUSPENDS int rig_history(struct rig *rig, struct wb_uuid thread, struct wb_buf *out, struct upp_err *err);

/* Is every call on the path of this thread followed by exactly one result before anything else is said? Are its entries
 * in order of time? 0, or -UPP_EBUG with a sentence. */
WEFT_SUSPENDS int rig_well_formed(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                  struct upp_err *err);
