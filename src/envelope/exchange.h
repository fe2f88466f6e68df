/* envelope/exchange.h — one request and everything that follows from it: replies, fallbacks, reflections, next actions.
 *
 * A state machine without I/O. The router model, the mux of C programs and replay feed it with what was sent and
 * replied and ask it what to send next:
 *
 *     we_exchange_new(a, &host, &limits, &ingress, &x, err);
 *     for each request and reply of the log:   we_exchange_sent(...); we_exchange_reply(...);
 *     while (we_exchange_next(x, asks, max, &n, err) >= 0 && n)
 *         send them, and we_exchange_reply(...) for each
 *     we_exchange_answer(x, &text, err);
 *
 * Fed with the same log, it asks for the same requests in the same order. Ids are made only for requests that the log
 * does not have.
 */
#pragma once

#include "envelope/adapter.h"
#include "envelope/routes.h"

enum { WE_MAX_REFLECTIONS = 16, WE_MAX_DEPTH_OF_ACTIONS = 64, WE_MAX_COUNT = 4096, WE_MAX_FAN_OUT = 256 };

struct we_limits {
    double doubt;         /* a score below sends a reply to reflect; 0: none is sent */
    uint32_t reflections; /* per original message */
    bool direct_parents;
    bool strict;            /* of prompts */
    bool unknown_reflects;  /* what comes in may have an unknown intent, and goes to reflect */
    bool doubtful_reflects; /* what comes in with a score below `doubt` goes to reflect */
    struct {
        bool on;
        uint32_t depth, count, fan_out;
        uint64_t max_tokens; /* of all replies: beyond it no action is picked up; 0: no limit */
    } actions;
};
#define WE_LIMITS_DEFAULT                                                                                              \
    {                                                                                                                  \
        .doubt = 0.5, .reflections = 2, .actions = {.depth = 4, .count = 32, .fan_out = 8 }                            \
    }

struct we_host {
    const struct we_routes *routes;
    /* The name of the model that an agent has; NULL text: there is no such agent. */
    struct upp_str (*model_of)(void *arg, struct upp_str agent);
    /* A new trace.id, in the arena. */
    int (*new_id)(void *arg, struct wb_arena *a, struct upp_str *ret, struct upp_err *err);
    int64_t (*now_ms)(void *arg);
    void *arg;
};

/* Reads what comes in: with limits->unknown_reflects as we_read_any, else as we_read. */
int we_read_ingress(struct wb_arena *a, struct upp_str text, const struct we_limits *limits,
                    struct wd_problems *problems, struct we_envelope *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The two calls below never block, and host and limits must outlive the exchange. The ingress is borrowed too. */
struct we_exchange;
int we_exchange_new(struct wb_arena *a, const struct we_host *host, const struct we_limits *limits,
                    const struct we_envelope *ingress, struct we_exchange **ret, struct upp_err *err) UPP_MUST_CHECK;

/* A request that the log has. 0: it is what the rules ask for. 1: they would not send it, or to another agent; it is
 * taken nevertheless. Only requests whose parents' replies are there already: in the order of the log. */
int we_exchange_sent(struct we_exchange *x, struct upp_str agent, struct upp_str envelope,
                     struct upp_err *err) UPP_MUST_CHECK;

/* The reply to a request, by the request's trace.id. -UPP_ENOTFOUND: there is no such request, or it has its reply. A
 * text that is no envelope counts as a failure of the agent. */
int we_exchange_reply(struct we_exchange *x, struct upp_str request, struct upp_str envelope,
                      struct upp_err *err) UPP_MUST_CHECK;

enum we_kind { WE_ASK_FIRST, WE_ASK_FALLBACK, WE_ASK_REFLECTION, WE_ASK_ACTION, WE_ASK_OTHER /* of the log alone */ };

struct we_ask {
    struct upp_str id, agent;
    struct upp_str envelope;    /* its text: what the agent is sent */
    uint8_t kind;               /* enum we_kind */
    const struct we_rule *rule; /* NULL: none */
    struct upp_str why;
};

/* What to send now: these are independent of each other, and count as sent. n == 0 with nothing unanswered: it has
 * ended. Returns 0. */
int we_exchange_next(struct we_exchange *x, struct we_ask *asks, size_t max, size_t *n,
                     struct upp_err *err) UPP_MUST_CHECK;

/* How many requests are without a reply. */
size_t we_exchange_waiting(const struct we_exchange *x);

/* The envelope that answers: may be called at any time, and is then the best so far. Without any reply it is an error
 * envelope (no_route, or that nothing was answered). */
int we_exchange_answer(struct we_exchange *x, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same when something outside ends the exchange before it has ended. 1: something was left to do, also by an agent
 * whose reply says so, and the answer has the tag WE_CUT; 0: nothing was. */
int we_exchange_cut(struct we_exchange *x, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Tokens of all replies. */
void we_exchange_cost(const struct we_exchange *x, uint64_t *input, uint64_t *output);

/* The request with this trace.id as it was read; NULL: none. For those who write its reply (we_take_reply). */
const struct we_envelope *we_exchange_request(const struct we_exchange *x, struct upp_str id);
