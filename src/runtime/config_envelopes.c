/* runtime/config_envelopes.c — `envelopes`: how envelopes are exchanged. */
#include "runtime/config_read.h"

enum { ANNOUNCED = 16000 }; /* max_tokens of the specification's handshake */

static void read_parents(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const words[] = {"chain", "direct", NULL};
    struct we_limits *l = into;
    unsigned which;
    if (wc_word(r, n, "parents", words, &which))
        l->direct_parents = which == 1;
}

/* Whether a word is the one that sends something to reflect; it is among two. */
static bool reflects(struct wc_reader *r, const struct wc_node *n, const char *what, const char *otherwise)
{
    const char *const words[] = {otherwise, "reflect", NULL};
    unsigned which;
    return wc_word(r, n, what, words, &which) && which == 1;
}

static void read_unknown(struct wc_reader *r, const struct wc_node *n, void *into)
{
    ((struct we_limits *)into)->unknown_reflects = reflects(r, n, "unknown_intent", "refuse");
}

static void read_doubtful(struct wc_reader *r, const struct wc_node *n, void *into)
{
    ((struct we_limits *)into)->doubtful_reflects = reflects(r, n, "doubtful", "route");
}

static void read_actions(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_TRUTH, "enabled", struct we_limits, actions.on, 0, 0),
        WC_MEMBER(WC_U32, "depth", struct we_limits, actions.depth, 1, WE_MAX_DEPTH_OF_ACTIONS),
        WC_MEMBER(WC_U32, "count", struct we_limits, actions.count, 1, WE_MAX_COUNT),
        WC_MEMBER(WC_U32, "fan_out", struct we_limits, actions.fan_out, 1, WE_MAX_FAN_OUT),
        WC_MEMBER(WC_U64, "max_tokens", struct we_limits, actions.max_tokens, 1, UINT64_MAX / 2),
    };
    wc_map(r, n, "actions", keys, WB_LEN(keys), into);
}

static void add_score(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, void *into)
{
    struct wc_envelopes *e = into;
    struct wc_score *s = &e->scores[e->n_scores];
    struct wc_guess guess = {0};
    if (!r->describe && !wc_find_agent(r, key->text, &guess))
        (void)wc_no_such(r, key, "agent", &guess);
    else if (wc_decimal(r, value, "a confidence", 0, 1, &s->score)) {
        s->agent = key->text;
        e->n_scores++;
    }
}

static void read_confidence(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_envelopes *e = &r->config->envelopes;
    (void)into;
    e->scores = wb_new_n(&r->config->arena, struct wc_score, n->n + 1);
    if (e->scores)
        wc_named(r, n, "confidence", add_score, e);
}

static void read_announce(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_U64, "max_tokens", struct wc_envelopes, announced_tokens, 1, UINT64_MAX / 2)};
    (void)into;
    wc_map(r, n, "announce", keys, WB_LEN(keys), &r->config->envelopes);
}

static void read_budget(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)into;
    wc_read_limits(r, n, &r->config->envelopes.budget);
}

void wc_read_envelopes(struct wc_reader *r, const struct wc_node *n)
{
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_F64, "doubt", struct we_limits, doubt, 0, 1),
        WC_MEMBER(WC_U32, "reflections", struct we_limits, reflections, 0, WE_MAX_REFLECTIONS),
        {.name = "parents", .read = read_parents},
        WC_MEMBER(WC_TRUTH, "strict", struct we_limits, strict, 0, 0),
        {.name = "unknown_intent", .read = read_unknown},
        {.name = "doubtful", .read = read_doubtful},
        {.name = "confidence", .read = read_confidence},
        {.name = "actions", .read = read_actions},
        {.name = "announce", .read = read_announce},
        {.name = "budget", .read = read_budget},
    };
    struct wc_envelopes *e = &r->config->envelopes;
    e->limits = (struct we_limits)WE_LIMITS_DEFAULT;
    e->announced_tokens = ANNOUNCED;
    if (n)
        wc_map(r, n, "envelopes", keys, WB_LEN(keys), &e->limits);
}

double wc_agent_score(const struct wc_config *c, struct upp_str agent)
{
    for (size_t i = 0; i < c->envelopes.n_scores; i++)
        if (wb_str_eq(c->envelopes.scores[i].agent, agent))
            return c->envelopes.scores[i].score;
    return WE_DEFAULT_SCORE;
}
