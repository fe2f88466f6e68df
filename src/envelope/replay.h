/* envelope/replay.h — a recorded log of envelopes through the rules once more: what they would send, beside what was
 * sent.
 *
 * Replies come from the recording. Envelopes are given in the order of the log, one after the other; those of several
 * exchanges may be mixed. What an exchange needs is freed when it ends or when WE_REPLAY_OPEN newer ones have begun, so
 * memory does not grow with the log.
 */
#pragma once

#include <weft/fiber.h>

#include "envelope/exchange.h"

enum { WE_REPLAY_OPEN = 64 /* exchanges that are kept open */ };

enum we_difference_kind {
    WE_DIFFERENT_ROUTE,  /* the rules choose another agent */
    WE_DIFFERENT_NEW,    /* the rules send a request that was not sent */
    WE_DIFFERENT_UNSENT, /* they do not send one that was */
    WE_DIFFERENT_ORDER,  /* they send it, after others */
    WE_DIFFERENT_PROMPT, /* the agent gets another one */
    WE_DIFFERENT_REPLY,  /* the agent that runs anew answers something else */
    WE_DIFFERENT_COST,   /* tokens of the exchange */
};

struct we_difference {
    uint8_t kind;                      /* enum we_difference_kind */
    uint64_t exchange;                 /* its number in the log, from 1 */
    struct upp_str ingress, id;        /* the envelope that began it; the request, empty for COST and NEW */
    struct upp_str intent, task;       /* of the request; empty for COST */
    struct upp_str recorded, replayed; /* agents, prompts, texts or tokens; empty: nothing */
    struct upp_str why;                /* a sentence; empty: none */
};

struct we_replayed {
    uint64_t envelopes, exchanges, requests, differences;
    uint64_t repeated;   /* envelopes that the log has twice */
    uint64_t unanswered; /* requests without a reply */
    uint64_t recorded_tokens, replayed_tokens;
};

struct we_replay_opts {
    const struct we_routes *routes;
    const struct we_adapters *adapters;
    const struct we_limits *limits;
    struct upp_str (*model_of)(void *arg, struct upp_str agent); /* NULL text: there is no such agent */
    int (*differs)(void *arg, const struct we_difference *d, struct upp_err *err);

    /* Runs this agent anew: its reply to the request, as an envelope with the id of the recorded one. Empty: none. */
    struct upp_str live;
    WEFT_SUSPENDS int (*ask)(void *arg, const struct we_envelope *request, const struct we_envelope *recorded,
                             struct wb_arena *a, struct upp_str *ret, struct upp_err *err);
    void *arg;
};

/* The options must outlive it. */
struct we_replay;
int we_replay_new(const struct we_replay_opts *opts, struct we_replay **ret, struct upp_err *err) UPP_MUST_CHECK;

/* The next envelope of the log. -UPP_EINVALID: it is none, and was skipped; the caller may continue. */
WEFT_SUSPENDS int we_replay_add(struct we_replay *p, struct upp_str envelope, struct upp_err *err) UPP_MUST_CHECK;

/* The end of the log. */
int we_replay_end(struct we_replay *p, struct we_replayed *ret, struct upp_err *err) UPP_MUST_CHECK;
void we_replay_free(struct we_replay *p); /* accepts NULL */
void we_replay_freep(struct we_replay **p);

struct upp_str we_difference_name(int kind); /* "route", "new", ... */
