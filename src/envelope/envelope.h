/* envelope/envelope.h — one envelope: read and checked, with the members that routing needs; and those that Weft
 * writes.
 *
 * Pure: no I/O, no clock, no randomness. Ids and times come from the caller. Everything lives in the caller's arena.
 */
#pragma once

#include "dialects/core/document.h"
#include "dialects/envelope/envelope.h"

enum {
    WE_MAX_BYTES = 4 << 20,   /* of one envelope */
    WE_MAX_ID = 1024,         /* bytes of a trace.id that is routed: it is the id of a call */
    WE_MAX_DEPTH = 100,       /* levels of nesting */
    WE_MAX_PARENTS = 1024,    /* in trace.parents that we write: of a longer chain, the last ones */
    WE_MAX_TAGS = 64,         /* in trace.tags that we write */
    WE_MAX_CONTEXT = 64 << 10 /* bytes of inputs.context that we write */
};

#define WE_MEMORY           ((size_t)256 << 20)       /* of the arena of an exchange */
#define WE_DEFAULT_SCORE    0.5                       /* of an agent without one of its own */
#define WE_UNSTATED         "not stated by the model" /* the rationale of a default score */
#define WE_ORCHESTRATOR     "orchestrator"            /* agent.id of what the router writes */
#define WE_SAME_MODEL       "reflect:same-model"      /* tags */
#define WE_EXHAUSTED        "reflect:exhausted"
#define WE_NOT_REFLECTED    "reflect:failed" /* nobody could reflect on it */
#define WE_FALLBACK         "route:fallback" /* of a request that another agent failed to answer */
#define WE_ACTIONS_UNROUTED "actions:no-route"
#define WE_CUT              "budget:limit"  /* a limit ended the exchange, or the agent, too early */
#define WE_ACTIONS_STOPPED  "actions:limit" /* next_actions were left because of a limit */

/* The ten intents, as in the specification; WE_INTENTS: how many. */
enum we_intent {
    WE_PLAN,
    WE_DECOMPOSE,
    WE_EXECUTE,
    WE_ROUTE,
    WE_RETRIEVE,
    WE_ANALYZE,
    WE_SUMMARIZE,
    WE_REFLECT,
    WE_FINALIZE,
    WE_TOOL_CALL,
    WE_INTENTS
};

static inline struct upp_str we_intent_name(int intent)
{
    return wd_envelope_intents.list[intent];
}

enum { WE_UNKNOWN = -1, WE_MAX_INTENT = 64 /* bytes of an unknown one */ };

/* WE_UNKNOWN: none of the ten. */
int we_intent_find(struct upp_str name);

struct we_envelope {
    struct upp_str json; /* its text, exactly */
    yyjson_val *root;

    struct upp_str role, intent_name, task, timestamp;
    int intent;                                 /* enum we_intent; WE_UNKNOWN: none of the ten */
    struct upp_str agent_id, agent_name, model; /* NULL: none */
    struct upp_str context;                     /* NULL: none */
    yyjson_val *parameters, *resources;         /* NULL: none */
    struct upp_str type, text;                  /* of the content; text NULL: none */
    yyjson_val *content, *data;                 /* data NULL: none */
    yyjson_val *artifacts, *actions;            /* of the outputs; NULL: none */
    struct upp_str id;                          /* NULL: none */
    yyjson_val *parents, *tags;                 /* NULL: none */
    double score;
    bool has_score, default_score; /* default: the model has not stated it */
    bool has_cost;
    uint64_t input_tokens, output_tokens;
};

/* Reads and checks the text of an envelope; it is copied. -UPP_EINVALID: not JSON, or an envelope with problems: all of
 * them are in *problems, which may be NULL (wd_problems_done frees it); err has the first. -UPP_ELIMIT: too large, too
 * deep. -UPP_ENOMEM. */
int we_read(struct wb_arena *a, struct upp_str text, struct wd_problems *problems, struct we_envelope *ret,
            struct upp_err *err) UPP_MUST_CHECK;

/* The same of an envelope that was let in: its intent may be any text of at most WE_MAX_INTENT bytes. */
int we_read_any(struct wb_arena *a, struct upp_str text, struct wd_problems *problems, struct we_envelope *ret,
                struct upp_err *err) UPP_MUST_CHECK;

static inline bool we_is_error(const struct we_envelope *e)
{
    return wb_str_eq(e->type, UPP_STR("error"));
}

/* A result that must not be executed again (ruling 10): its content is a tool_result, its intent a call. */
static inline bool we_is_result(const struct we_envelope *e)
{
    return wb_str_eq(e->type, UPP_STR("tool_result")) && (e->intent == WE_TOOL_CALL || e->intent == WE_EXECUTE);
}

/* May the score of this reply send it to reflect (rulings 7 to 9, ENV-14)? */
bool we_is_doubted(const struct we_envelope *e, double doubt);

/* A handshake: role system, and its content announces what it supports. */
bool we_is_handshake(const struct we_envelope *e);

/* code and retryable of an error envelope; false: it has none. */
bool we_error_code(const struct we_envelope *e, struct upp_str *code, bool *retryable);

bool we_has_tag(const struct we_envelope *e, struct upp_str tag);

/* The last of trace.parents; NULL: none. */
struct upp_str we_parent(const struct we_envelope *e);

/* The lineage of an envelope that is written. */
struct we_trace {
    struct upp_str id;
    const struct upp_str *parents;
    size_t n_parents;
    size_t above; /* further ones, that are left out in the log: dialects/envelope/chains.h */
    const struct upp_str *tags;
    size_t n_tags;
    uint64_t input_tokens, output_tokens;
    bool has_cost;
};

/* An envelope to write, in the order of the specification. Empty texts and NULL values are omitted. */
struct we_draft {
    struct upp_str role, agent_id, agent_name, model;
    int64_t now_ms;
    struct upp_str intent, task;
    struct upp_str context;
    yyjson_val *resources, *parameters;
    struct upp_str not_parameter; /* a member of parameters that is left out */
    struct upp_str type, text;
    yyjson_val *data;
    struct upp_str data_json; /* instead of data */
    bool has_score;
    double score;
    struct upp_str rationale;
    const struct upp_str *risks;
    size_t n_risks;
    struct we_trace trace;
    bool bare; /* neither of the two additions below */
};

/* A summary is added where a content other than text has none (ENV-16); an envelope of an agent or a tool without a
 * score gets the default one (ENV-14). */
int we_write(struct wb_arena *a, const struct we_draft *d, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The trace.parents of an answer to `request`: its parents and its id, or its id alone (direct). */
int we_chain(struct wb_arena *a, const struct we_envelope *request, bool direct, const struct upp_str **ret, size_t *n,
             struct upp_err *err) UPP_MUST_CHECK;

/* The same envelope with another trace.id (NULL: unchanged), other parents (NULL: unchanged) and further tags. All else
 * stays token for token. */
int we_retrace(struct wb_arena *a, const struct we_envelope *e, struct upp_str id, const struct upp_str *parents,
               size_t n_parents, const struct upp_str *tags, size_t n_tags, struct upp_str *ret,
               struct upp_err *err) UPP_MUST_CHECK;

/* An error as an envelope (ruling 11): role system, the request's intent and task, score 0, parents of an answer to it.
 * request may be NULL. problems: of an invalid envelope, listed in data.problems; NULL: none. */
struct we_error {
    const struct we_envelope *request;
    const char *code; /* "no_route", or the spelling of an error code */
    struct upp_str text;
    bool retryable, direct;
    const struct wd_problems *problems;
    struct upp_str id;
    size_t above; /* of struct we_trace */
    int64_t now_ms;
    bool has_cost;
    uint64_t input_tokens, output_tokens;
};
int we_write_error(struct wb_arena *a, const struct we_error *e, struct upp_str *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* What this server announces (ENV-8). */
struct we_announcement {
    uint64_t max_tokens;
    struct upp_str agent_id, agent_name; /* empty: the orchestrator */
    struct we_trace trace;
    int64_t now_ms;
};
int we_write_handshake(struct wb_arena *a, const struct we_announcement *h, struct upp_str *ret,
                       struct upp_err *err) UPP_MUST_CHECK;

/* What a handshake announces: the content types as bits in the order of wd_envelope_contents, and max_tokens (0: none).
 */
struct we_peer {
    uint32_t types;
    uint64_t max_tokens;
};
bool we_peer_read(const struct we_envelope *handshake, struct we_peer *ret);

/* May this envelope be sent to it? Its content's type is announced, and its parameters ask for no more tokens. Else
 * false and a sentence in *why. */
bool we_peer_takes(const struct we_peer *p, const struct we_envelope *e, const char **why);

/* Inside envelope/: an envelope with some members replaced, all others token for token; and the
 * members that several writers write. */

struct we_edit {
    /* trace */
    struct upp_str id;             /* NULL: as it is */
    const struct upp_str *parents; /* NULL: as they are */
    size_t n_parents;
    size_t above;               /* that are left out in the log: dialects/envelope/chains.h */
    const struct upp_str *tags; /* further ones; those that it has are not repeated */
    size_t n_tags;
    bool has_cost; /* where the envelope has none */
    uint64_t input_tokens, output_tokens;

    /* Members that a reply must have; used where it has none. `complete`: also the protocol is forced. */
    bool complete;
    struct upp_str agent_id, agent_name, model, role, intent, task;
    bool foreign; /* `agent` is what the envelope says; otherwise what is above, whatever it says */
    int64_t now_ms;
    double score;                /* the default one */
    const struct upp_str *risks; /* added to those that it has */
    size_t n_risks;
};

int we_edit(struct wb_arena *a, yyjson_val *root, const struct we_edit *edit, struct upp_str *ret,
            struct upp_err *err) UPP_MUST_CHECK;

void we_put_time(struct wj_writer *w, int64_t now_ms);
void we_put_parents(struct wj_writer *w, const struct upp_str *list, size_t n, size_t above);
void we_put_cost(struct wj_writer *w, uint64_t input, uint64_t output);
void we_put_agent(struct wj_writer *w, struct upp_str id, struct upp_str name, struct upp_str model);
void we_put_confidence(struct wj_writer *w, double score, struct upp_str rationale, const struct upp_str *risks,
                       size_t n_risks);
