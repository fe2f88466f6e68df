/* support/envelopes.h — for tests of envelopes: the built-in adapters, an exchange between agents that a table
 * describes. */
#pragma once

#include "envelope/exchange.h"
#include "runtime/config.h"

enum { ENVELOPES_ROOM = 64 << 20 };

/* A configuration with these agents and sections; its models are scripted and called as their agents' models. */
int envelopes_config(const char *yaml, struct wc_config **ret, struct upp_err *err);

/* Its agents as the world of an exchange: ids "id-1", "id-2" ..., and a clock that stands still. */
struct envelopes_world {
    struct we_host host;
    struct wc_config *config;
    unsigned ids;
};
void envelopes_world(struct envelopes_world *w, struct wc_config *config);

/* An envelope with the members that must be there and `more`: ",\"trace\":{...}". */
const char *envelopes_text(struct wb_arena *a, const char *role, const char *intent, const char *more);
int envelopes_read(struct wb_arena *a, const char *text, struct we_envelope *ret);
