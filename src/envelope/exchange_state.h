/* envelope/exchange_state.h — inside envelope/: the state of an exchange.
 *
 * A chain is one message to be answered: the request, the same request sent to fallbacks, and the reflections on its
 * replies. It ends with one result. The first chain is the ingress; each next action that is picked up is another.
 */
#pragma once

#include "envelope/exchange.h"

enum {
    WE_MAX_REQUESTS = 1 << 16, /* of one exchange */
    WE_MAX_TRIED = 1 + WE_MAX_TARGETS + WE_MAX_FALLBACKS,
};

enum { WE_PLANNED, WE_SENT, WE_REPLIED };

struct we_node { /* a request */
    struct we_chain *chain;
    struct we_node *next;   /* in the order they were planned */
    struct we_node *before; /* whose reply it follows within the chain; NULL: none */
    uint8_t kind, state;
    bool reflects, same_model;
    struct upp_str agent, why;
    const struct we_rule *rule;
    struct we_envelope request, reply;
};

struct we_chain {
    struct we_chain *next;
    const struct we_envelope *producer; /* of the action; NULL: the ingress */
    const struct we_envelope *asked;    /* what the producer answered; NULL: none */
    yyjson_val *action;
    uint32_t depth, reflections;
    bool done, spawned, exhausted, unreflected, same_model;
    const struct we_envelope *first;    /* its original request */
    const struct we_envelope *best;     /* the best reply so far; NULL: none, or only failures */
    const struct we_envelope *failed;   /* the last failure */
    struct upp_str tried[WE_MAX_TRIED]; /* agents, of the request or of the present reflection */
    size_t n_tried;
};

struct we_exchange {
    struct wb_arena *a;
    const struct we_host *host;
    const struct we_limits *limits;
    const struct we_envelope *ingress;
    struct we_chain *chains, *last_chain;
    struct we_node *nodes, *last_node;
    size_t n_nodes, planned, waiting;
    uint32_t actions; /* picked up */
    uint64_t input_tokens, output_tokens;
    bool stopped, unrouted;  /* actions were left: by a limit, without a route */
    bool cut;                /* it was ended from outside */
    bool cut_reply;          /* an agent was, before it was done */
    struct upp_err no_route; /* of the ingress; code 0: it has one */
};

/* Writes the request of a planned node, with a new id. exchange_ask.c */
int we_ask_write(struct we_exchange *x, struct we_node *n, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The agent for a request, or for a reflection on `doubted`, that was not tried yet. 0; -UPP_ENOTFOUND: none.
 * exchange_ask.c */
int we_pick(struct we_exchange *x, struct we_node *n, const struct we_envelope *e, struct upp_err *err) UPP_MUST_CHECK;
int we_pick_reflector(struct we_exchange *x, struct we_node *n, const struct we_envelope *doubted,
                      struct upp_str writer, struct upp_err *err) UPP_MUST_CHECK;

/* For replay, which has read its envelopes already. exchange.c
 * The planned request that this one of the log is; NULL: the rules do not send it. */
struct we_node *we_planned(const struct we_exchange *x, const struct we_envelope *e);
/* As we_exchange_sent; *ret: its node. */
int we_take_sent(struct we_exchange *x, struct upp_str agent, const struct we_envelope *e, struct we_node **ret,
                 struct upp_err *err) UPP_MUST_CHECK;
/* n->reply is set: plans what follows. */
int we_take_reply_of(struct we_exchange *x, struct we_node *n, struct upp_err *err) UPP_MUST_CHECK;
