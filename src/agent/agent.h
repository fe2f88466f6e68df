/* agent/agent.h — the internals of agents: the options as given, and the engine's form, compiled when it is first
 * needed. */
#pragma once

#include "agent/home.h"
#include "agent/provider.h"
#include "base/arena.h"
#include "base/uuid.h"

/* A model created for an agent, shared with the agents derived from it. */
struct wa_model {
    struct upp_model *model;
    unsigned refs;
};

struct wa_def;
struct wa_made;

struct weft_agent {
    struct wa_home *home;
    struct wb_link link;              /* in the home's list */
    struct weft_agent *next[WA_KEYS]; /* in the chains of the indexes that have it */
    struct wa_def *def;               /* NULL: not compiled yet */
    struct wa_made *made;             /* tools created by weft_agent_to_tool */
    const struct upp_model *model;
    struct wa_model *owned; /* NULL: the model is the caller's */
    const char *params, *system, *structure, *name, *description;
    struct weft_strategy execution;
    struct weft_tools tools;
    const struct weft_middleware *middleware;
    const struct weft_hooks *hooks;
    const struct upp_tool_strategy *tool_strategy;
    const struct weft_rights *rights;
    const struct weft_handoff *handoff;
    uint32_t n_middleware, n_handoff;
    bool check_structure;
    bool queued;   /* in the current batch of compilation */
    bool found;    /* it is in the index of ids: its id was given, or is needed */
    uint8_t id_is; /* enum wa_id */
    union {
        uint64_t number; /* its number among all agents ever created: its id, until the text is needed */
        struct wb_uuid given;
        char text[WB_UUID_TEXT + 1];
    } id;
};

enum wa_id { WA_ID_NUMBER = 0, WA_ID_GIVEN, WA_ID_TEXT };

struct upp_str wa_agent_id(const struct weft_agent *a); /* NUL-terminated */

/* The name by which runs refer to it: its name, otherwise its id. */
struct upp_str wa_agent_name(const struct weft_agent *a);

/* The engine's form of an agent. Immutable; freed with the agent. */
struct wa_def {
    struct wr_agent_def pub;
    struct wb_arena arena; /* owns this struct and all that belongs to it, except the schemas */
    struct wr_tool *tools;
};

/* Compiles the agent at the first call, together with all its sub-agents. */
int wa_agent_def(struct weft_agent *a, const struct wr_agent_def **ret, struct upp_err *err) UPP_MUST_CHECK;
void wa_def_free(struct wa_def *d); /* accepts NULL */

/* Checks that json is an object and trims it; json NULL: *ret is empty. */
int wa_object(const char *what, const char *json, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The tools of a C program's agent as a provider: functions, other agents, tools of its client. Who lists them owns the
 * schemas. */
struct wa_functions {
    struct wa_provider provider;
    const struct weft_agent *agent;
};
extern const struct wa_provider_ops wa_functions_ops;

/* The agent that a tool of a program is; NULL: none. */
const struct weft_agent *wa_tool_agent(const struct upp_tool *t);

void wa_tool_done(const struct wr_tool *t); /* frees its schema */

int wa_handoff_make(struct wb_arena *arena, const struct weft_agent *to_whom, struct wr_tool *to,
                    struct upp_err *err) UPP_MUST_CHECK;
void wa_made_free(struct wa_made *m); /* frees a whole list */

/* The input of a run, in the engine's form. */
struct wa_run_input {
    struct upp_input in;
    const struct upp_message *input; /* NULL: the model continues the history */
    const struct upp_message *const *history;
    size_t n_history;
    const struct upp_message **list; /* the memory of history; NULL: none */
    struct upp_part text;
    struct upp_message of_text, of_parts;
    struct wb_arena memory; /* of wa_run_input_own's copies */
};

/* Refers to *to itself and to the caller's input: neither may move. */
int wa_run_input_take(struct wa_run_input *to, const struct upp_input *given, struct upp_err *err) UPP_MUST_CHECK;
/* Copies everything that it refers to, except `thread` and `wait`, so that the caller's input may be freed. */
int wa_run_input_own(struct wa_run_input *q, struct upp_err *err) UPP_MUST_CHECK;
void wa_run_input_done(struct wa_run_input *q);

/* The engine of a run, and its thread in the engine's store (that of a session). */
struct wa_where {
    struct wr_engine *engine;
    struct wb_uuid thread;
    const struct wr_watch *watch;
};

/* where NULL: on the engine without a store. here: the calling fiber was created for this run (struct wr_start). */
WEFT_SUSPENDS int wa_start(struct weft_agent *a, const struct wa_where *where, const struct wa_run_input *q, bool here,
                           struct wr_started *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Negative if the caller's wait table says stop, otherwise 0. */
int wa_stopped(const struct upp_wait *w, struct upp_err *err) UPP_MUST_CHECK;

/* The interval for polling wa_stopped; 0: no need to poll. */
uint64_t wa_poll_ms(const struct upp_wait *w);

/* Waits for the end of a run. If the caller is cancelled or its deadline passes, cancels the run and waits until it has
 * ended. */
WEFT_SUSPENDS int wa_join(struct wr_engine *e, const struct wr_started *s, const struct upp_wait *w,
                          struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Cancels the run and waits for its end, even if the caller is cancelled meanwhile. */
WEFT_SUSPENDS int wa_stop(struct wr_engine *e, const struct wr_started *s, struct upp_turn **ret,
                          struct upp_err *err) UPP_MUST_CHECK;
