/* agent/home.h — what agents need from their runtime: a loop, an engine, and each other.
 *
 * The first member of struct weft_runtime, so that a pointer to one is a pointer to the other. */
#pragma once

#include "base/list.h"
#include "run/engine.h"

enum { WA_AGENTS = 1 << 20 }; /* per runtime */

/* The keys by which agents are found. */
enum wa_key { WA_BY_ID = 0, WA_BY_NAME, WA_KEYS };

/* A hash table of agents by one key; the chains link the agents themselves. */
struct wa_index {
    struct weft_agent **chains;
    size_t n, size; /* size: a power of two, or 0 */
};

struct wa_home {
    struct weft_loop *loop;
    struct wr_engine *engine;
    struct wb_link all; /* agents */
    size_t n;
    struct wb_uuid ids; /* from which the ids of agents are derived */
    uint64_t made;      /* number of agents ever created */
    struct wa_index agents[WA_KEYS];
    struct weft_agent *last; /* whose definition was looked up last: a run repeats the lookup */

    /* The engine with the store of sessions; NULL until it is needed, when `keep` opens it. */
    struct wr_engine *kept;
    WEFT_SUSPENDS int (*keep)(struct wa_home *h, struct upp_err *err);
};

static inline struct wa_home *wa_home_of(struct weft_runtime *rt)
{
    return (struct wa_home *)(void *)rt;
}

extern const struct wl_owner wa_owner; /* of all runs of C programs */

/* By name or id; NULL: none. */
struct weft_agent *wa_home_find(const struct wa_home *h, struct upp_str name);

/* For the engine: the definition of an agent; NULL: unknown. */
const struct wr_agent_def *wa_home_def(void *home, struct upp_str name);

/* -UPP_EINVALID names the id or name that is taken. An agent with neither a given id nor a name is not indexed before
 * wa_home_index: most are never looked up. */
int wa_home_add(struct wa_home *h, struct weft_agent *a, bool given_id, struct upp_err *err) UPP_MUST_CHECK;
int wa_home_index(struct wa_home *h, struct weft_agent *a, struct upp_err *err) UPP_MUST_CHECK;
void wa_home_remove(struct wa_home *h, struct weft_agent *a);
void wa_home_done(struct wa_home *h); /* frees all agents */

/* Opens h->kept if necessary. On a fiber. */
static inline WEFT_SUSPENDS int wa_home_keep(struct wa_home *h, struct upp_err *err)
{
    return h->kept ? 0 : h->keep(h, err);
}

/* Runs fn on a fiber of the loop: on the calling fiber, or otherwise on a new one while the calling thread drives the
 * loop until fn returns. */
WEFT_SUSPENDS int wa_home_do(struct wa_home *h, const char *name, weft_fn *fn, void *arg,
                             struct upp_err *err) UPP_MUST_CHECK;
