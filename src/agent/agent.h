/* agent/agent.h — the agent from the inside: its options as given, and what the engine runs, made when it is first
 * needed. */
#ifndef WA_AGENT_H
#define WA_AGENT_H

#include "agent/home.h"
#include "base/arena.h"
#include "base/uuid.h"

/* A model that was made for an agent, and for those derived from it. */
struct wa_model {
    struct upp_model *model;
    unsigned          refs;
};

struct wa_def;
struct wa_made;

struct weft_agent {
    struct wa_home                 *home;
    struct wb_link                  link;          /* among all of the home */
    struct weft_agent              *next[WA_KEYS]; /* in chains, where it can be found by that key */
    struct wa_def                  *def;           /* NULL: not compiled yet */
    struct wa_made                 *made;          /* tools of weft_agent_to_tool */
    const struct upp_model         *model;
    struct wa_model                *owned; /* NULL: the model is the caller's */
    const char                     *params, *system, *structure, *name, *description;
    struct weft_strategy            execution;
    struct weft_tools               tools;
    const struct weft_middleware   *middleware;
    const struct weft_hooks        *hooks;
    const struct upp_tool_strategy *tool_strategy;
    const struct weft_rights       *rights;
    const struct weft_handoff      *handoff;
    uint32_t                        n_middleware, n_handoff;
    bool                            queued; /* to be compiled */
    bool                            found;  /* by its id: when it was given, or is needed */
    uint8_t                         id_is;  /* enum wa_id */
    union {
        uint64_t       number; /* among all agents that the home ever had: its id, until somebody wants to see it */
        struct wb_uuid given;
        char           text[WB_UUID_TEXT + 1];
    } id;
};

enum wa_id { WA_ID_NUMBER = 0, WA_ID_GIVEN, WA_ID_TEXT };

struct upp_str wa_agent_id(const struct weft_agent *a); /* ends with NUL */

/* By which runs refer to it: its name, or its id. */
struct upp_str wa_agent_name(const struct weft_agent *a);

/* ---- Definitions (agent/def.c) ---------------------------------------------------------------------------- */

/* What the engine runs. Nothing in it changes; it is freed with the agent. */
struct wa_def {
    struct wr_agent_def pub;
    struct wb_arena     arena; /* it lies in it, and all that belongs to it but the schemas */
    struct wr_tool     *tools;
};

/* Compiled at the first call, together with all agents below it. */
int  wa_agent_def(struct weft_agent *a, const struct wr_agent_def **ret, struct upp_err *err) UPP_MUST_CHECK;
void wa_def_free(struct wa_def *d); /* NULL is fine */

/* JSON of an object, without blanks around it; NULL: no text. */
int wa_object(const char *what, const char *json, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Tools (agent/tool/tools.c) ---------------------------------------------------------------------------------- */

/* Into `to`; what it needs lies in the arena, but for to->schema. *below: the agent that it is, or NULL. */
int  wa_tool_make(struct wb_arena *arena, const struct weft_agent *a, const struct upp_tool *from, struct wr_tool *to,
                  const struct weft_agent **below, struct upp_err *err) UPP_MUST_CHECK;
int  wa_handoff_make(struct wb_arena *arena, const struct weft_agent *to_whom, struct wr_tool *to,
                     struct upp_err *err) UPP_MUST_CHECK;
void wa_made_free(struct wa_made *m); /* all of a list */

/* ---- Running (agent/run.c) ----------------------------------------------------------------------------------- */

/* What is asked, as the engine takes it. */
struct wa_asked {
    struct upp_input                 in;
    const struct upp_message        *input; /* NULL: the history ends with what shall be answered */
    const struct upp_message *const *history;
    size_t                           n_history;
    const struct upp_message       **list; /* what history points to; NULL: nothing was allocated */
    struct upp_part                  text;
    struct upp_message               of_text, of_parts;
    struct wb_arena                  memory; /* of a copy */
};

/* Points into `to`, and to what the caller gave: neither may move. */
int wa_asked_take(struct wa_asked *to, const struct upp_input *given, struct upp_err *err) UPP_MUST_CHECK;
/* From now on what it points to is its own: for whoever may free what the caller gave. `thread` and `wait` are not. */
int  wa_asked_own(struct wa_asked *q, struct upp_err *err) UPP_MUST_CHECK;
void wa_asked_done(struct wa_asked *q);

/* On which engine, and which thread of its store: that of a session. */
struct wa_where {
    struct wr_engine      *engine;
    struct wb_uuid         thread;
    const struct wr_watch *watch;
};

/* where NULL: on the engine without a store. here: the calling fiber was made for this run (struct wr_start). */
WEFT_SUSPENDS int wa_start(struct weft_agent *a, const struct wa_where *where, const struct wa_asked *q, bool here,
                           struct wr_started *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Was the caller told to stop, by its own table? */
int wa_stopped(const struct upp_wait *w, struct upp_err *err) UPP_MUST_CHECK;

/* How long to wait before looking at that again; 0: there is nothing to look at. */
uint64_t wa_look_ms(const struct upp_wait *w);

/* Waits for the end of a run. When the caller is cancelled, or its time is up, so is the run; nothing is left of it
 * when this returns. */
WEFT_SUSPENDS int wa_join(struct wr_engine *e, const struct wr_started *s, const struct upp_wait *w,
                          struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Cancels it and waits for its end, whatever the caller was told meanwhile. */
WEFT_SUSPENDS int wa_stop(struct wr_engine *e, const struct wr_started *s, struct upp_turn **ret,
                          struct upp_err *err) UPP_MUST_CHECK;

#endif
