/* server/http/settings.h — what a reload replaces: one object, which nobody changes once it is made.
 *
 * A request takes the server's current settings with its first byte and holds them to the end of its response, so it
 * never sees half of a reload, on whichever loop it is handled. Settings are taken and dropped on the server's loop.
 */
#pragma once

#include "base/arena.h"
#include "server/http/client.h"
#include "server/http/origin.h"

struct sv_server_opts;

/* Other names of agents, for clients (runtime/config.h). */
struct wc_alias;
struct sv_names {
    const struct wc_alias *p;
    size_t n;
};

/* The agent that a name stands for: names as they are first, then patterns in their order. Empty: none. */
struct upp_str sv_name_find(const struct sv_names *names, struct upp_str name);

struct sv_settings {
    struct sv_allowed allowed;
    struct sv_proxies proxies;
    uint8_t on_busy;
    uint32_t ai_sdk;
    bool no_instructions;
    bool heartbeats;
    struct sv_names names; /* by which clients may ask for agents */
    size_t refs;
    struct wb_arena arena; /* its lists */
};

/* Copies what the options say. The listeners are the server's. */
int sv_settings_new(const struct sv_server_opts *from, const struct sv_listener *listeners, size_t n_listeners,
                    struct sv_settings **ret, struct upp_err *err) UPP_MUST_CHECK;

struct sv_settings *sv_settings_ref(struct sv_settings *s);
void sv_settings_unref(struct sv_settings *s); /* accepts NULL */
