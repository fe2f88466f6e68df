/* envelope/routes.h — rules that say which agent gets an envelope.
 *
 * The first rule whose intents and conditions fit is taken. Intent route goes to inputs.parameters.target, else to the
 * agent of plan; an intent without a fitting rule goes to reflect; without one there is no route (ENV-4). Among
 * weighted targets the envelope's id decides, so the choice is the same on replay.
 */
#pragma once

#include "envelope/envelope.h"

enum {
    WE_MAX_RULES = 256,
    WE_MAX_TARGETS = 64,
    WE_MAX_FALLBACKS = 16,
    WE_MAX_CONDITIONS = 16,
    WE_MAX_WEIGHT = 1000000
};

struct we_target {
    struct upp_str agent;
    uint32_t weight; /* 1 and more */
};

struct we_when {          /* all that are set must hold */
    struct upp_str role;  /* empty: any */
    struct upp_str agent; /* glob on agent.id; empty: any */
    struct upp_str type;  /* of the content; empty: any */
    struct upp_str *tags; /* all of them */
    size_t n_tags;
    bool has_below, has_above; /* confidence.score: an envelope without one does not fit */
    double below, above;
    bool has_cost; /* trace.cost: the sum of its tokens is above */
    uint64_t cost_above;
};

struct we_rule {
    uint32_t intents; /* bits 1 << enum we_intent */
    struct we_when when;
    bool conditional; /* `when` has a condition */
    struct we_target *targets;
    size_t n_targets;
    struct upp_str *fallbacks; /* agents to ask, in this order, when the one before failed */
    size_t n_fallbacks;
    uint32_t line; /* in weft.yaml; 0: a default rule */
};

struct we_routes {
    const struct we_rule *rules;
    size_t n;
    const struct upp_str *agents; /* all that may be named as parameters.target; NULL: those of the rules */
    size_t n_agents;
};

struct we_choice {
    const struct we_rule *rule; /* NULL: parameters.target */
    size_t number;              /* of the rule, from 0 */
    struct upp_str agent;
    struct upp_str why; /* one sentence */
};

/* 0; -UPP_ENOTFOUND: no route, err has the sentence. id: instead of the envelope's, for the choice by weight (NULL: the
 * envelope's). */
int we_route(struct wb_arena *a, const struct we_routes *routes, const struct we_envelope *e, struct upp_str id,
             struct we_choice *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Writes each rule and why it did or did not fit, and the choice, as lines of text. Returns as we_route. */
int we_explain(const struct we_routes *routes, const struct we_envelope *e, struct wb_buf *out,
               struct upp_err *err) UPP_MUST_CHECK;

/* Inside envelope/: whether a rule fits, and why not. */

enum we_unfit {
    WE_FITS,
    WE_UNFIT_INTENT,
    WE_UNFIT_ROLE,
    WE_UNFIT_AGENT,
    WE_UNFIT_TYPE,
    WE_UNFIT_TAGS,
    WE_UNFIT_NO_SCORE,
    WE_UNFIT_SCORE,
    WE_UNFIT_COST,
};
