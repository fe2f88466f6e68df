/* runtime/runtime.h — a configuration in operation: its store, its agents, an engine on a loop.
 *
 *     struct wrt_location at;
 *     r = wrt_location_of(config, NULL, &at, &err);
 *     r = wrt_runtime_open(loop, config, &at, &rt, &err);       // on a fiber
 *     r = wrt_runtime_recover(rt, &n, &err);                    // resumes interrupted runs
 *     ...                                                       // rt->engine, rt->store
 *     wrt_runtime_close(rt);                                    // the next start resumes runs that are still working
 *
 * An agent without an id in the file gets one when a store first sees its name; the store records it as an alias.
 */
#pragma once

#include <weft/runtime.h>

#include "envelope/run/router.h"
#include "log/change.h"
#include "run/engine.h"
#include "runtime/config.h"
#include "stores/driver.h"
#include "base/library.h"

#define WRT_TENANT WL_OWN_TENANT

enum { WRT_PATH_MAX = 1024 };

/* Where a store is. */
struct wrt_location {
    const struct ws_driver *driver;
    char path[WRT_PATH_MAX]; /* of a durable one */
    /* The master key of an encrypted file, as text; NULL: that of WEFT_ENCRYPTION_KEY or, if that is not set, of the
     * configuration's key_file. Borrowed until the store is open. Without a configuration it is the only key. */
    const char *key;
    bool accept_loss; /* opens without what an unclean stop lost */
    uint8_t index;    /* enum wl_index: the search index to have */
};

/* The location that `url` names ("memory:", "sqlite:PATH" relative to the current folder); NULL: the configuration's
 * (NULL: in memory). -UPP_EINVALID. */
int wrt_location_of(const struct wc_config *c, const char *url, struct wrt_location *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* Opens the store at a location, with the settings of a configuration (NULL: none). */
WEFT_SUSPENDS int wrt_store_open(const struct wc_config *c, const struct wrt_location *at, struct wl_store **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The innermost store, behind encryption and blobs. */
struct wl_store *wrt_store_base(struct wl_store *s);

/* Puts encryption and blobs in front of a store that stores files; takes ownership of it. */
WEFT_SUSPENDS int wrt_store_dress(const struct wc_config *c, const struct wrt_location *at, struct wl_store *inner,
                                  struct wl_store **ret, struct upp_err *err) UPP_MUST_CHECK;

/* A configuration that a reload has read, shared by the generations of its agents. */
struct wrt_owned {
    struct wc_config *config;
    size_t users;
};
void wrt__owned_unref(struct wrt_owned *o); /* accepts NULL */

/* A list that a tool provider gave, shared by the generations that have its tools. */
struct wrt_tool_list {
    struct wb_arena arena;
    struct wr_tool *tools;
    size_t n, users;
};

enum wrt_provider_state { WRT_LISTING, WRT_READY, WRT_UNAVAILABLE };

/* A tool provider whose list is not fixed, followed by a fiber of the runtime (runtime/providers.c). */
struct wrt_provider {
    struct wrt_runtime *rt;
    struct wa_provider *provider;
    struct wrt_tool_list *list; /* NULL: none yet, or it is unavailable */
    uint8_t state;              /* enum wrt_provider_state */
    struct upp_err why;         /* it is not WRT_READY; no code: it has not listed yet */
    bool changed;               /* its list is to be read again */
    struct weft_cond wake;
};

/* The agents of a configuration, each with its id. A reload makes a new generation; the old one stays until no run uses
 * it any more. */
struct wrt_generation {
    const struct wc_config *config;
    struct wrt_owned *owned;      /* the same, if a reload has read it; NULL: it is the caller's */
    struct wrt_tool_list **lists; /* of the runtime's providers; NULL: none */
    size_t n_lists;
    struct wr_agent_def *agents;
    struct weft_strategy base_strategy;
    struct we_router *router; /* the agent that routes envelopes */
    struct wr_agent_def base; /* of stored assistants, whose settings are in the options of their runs */
    struct wb_arena arena;
    _Atomic size_t runs; /* that use a definition of it, on any loop */
    int64_t retired_ms;  /* when it was replaced, by the monotonic clock */
    struct wrt_generation *older;
};

struct wrt_runtime {
    const struct wc_config *config;          /* the current one */
    const struct wc_config *start;           /* the one that it was opened with */
    _Atomic(struct wrt_generation *) agents; /* likewise; older ones behind it */
    struct wl_store *store;
    const struct ws_driver *driver; /* of the store */
    struct wl_store *outbox;        /* the same, if it records messages for webhooks (stores/outbox); NULL: not */
    struct wr_engine *engine;       /* of the loop that opened the runtime */
    struct weft_group *group;       /* the other loops; NULL: none */
    struct wr_engine **others;      /* their engines */
    uint32_t n_others;
    struct wrt_provider *providers;
    size_t n_providers;
    struct weft_scope background; /* background fibers; belongs to the fiber that opened the runtime */
    struct wl_sweep_state sweep;  /* of its sweeper */
};

/* Opens the store, which it then owns, and the engine; nothing runs yet. The configuration must outlive it.
 * -UPP_EBUSY: another process owns the store (its driver says who). */
WEFT_SUSPENDS int wrt_runtime_open(struct weft_loop *loop, const struct wc_config *c, const struct wrt_location *at,
                                   struct wrt_runtime **ret, struct upp_err *err) UPP_MUST_CHECK;

/* For servers: runs work on n loops in all, each with an engine of its own (run/engine.h). Call it once, before runs
 * are recovered. The runtime's own loop is one of them. 0: one for each processor, at most WRT_LOOPS. */
enum { WRT_LOOPS = 16 };
WEFT_SUSPENDS int wrt_runtime_spread(struct wrt_runtime *rt, uint32_t n, struct upp_err *err) UPP_MUST_CHECK;

/* Recovers runs that had not ended. Call once, before anything is started. */
WEFT_SUSPENDS int wrt_runtime_recover(struct wrt_runtime *rt, size_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* For servers: until the runtime is closed (by the same fiber), keeps the search index up to date and runs the
 * sweeper. */
int wrt_runtime_follow(struct wrt_runtime *rt, struct upp_err *err) UPP_MUST_CHECK;

/* Sweeps all tenants once, by the retention of the configuration (NULL: none). *ret: what was erased. */
WEFT_SUSPENDS int wrt_sweep(struct wl_store *s, const struct wc_config *c, struct wl_swept *ret,
                            struct upp_err *err) UPP_MUST_CHECK;

/* Replaces agents, models, tools and what else can change while it runs by those of the configuration's file (runtime/
 * reload.c). Running steps end with what they began with. A file with a mistake changes nothing: -UPP_EINVALID, and
 * *report has the mistakes. */
struct wc_report;
WEFT_SUSPENDS int wrt_reload(struct wrt_runtime *rt, struct wc_report *report, struct upp_err *err) UPP_MUST_CHECK;

/* Makes the agents of a configuration, with the tools that providers have now, the current ones. `owned` NULL: the
 * configuration is the caller's. -UPP_EBUSY: too many older ones are in use. */
WEFT_SUSPENDS int wrt__generation_next(struct wrt_runtime *rt, struct wrt_owned *owned, const struct wc_config *c,
                                       struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wrt__generation_new(struct wrt_runtime *rt, struct wrt_owned *owned, const struct wc_config *c,
                                      struct wrt_generation **ret, struct upp_err *err) UPP_MUST_CHECK;
void wrt__generation_free(struct wrt_generation *g); /* accepts NULL */

/* Follows the providers of the configuration; stops when the background of the runtime is closed. */
int wrt__providers_open(struct wrt_runtime *rt, struct upp_err *err) UPP_MUST_CHECK;
void wrt__providers_close(struct wrt_runtime *rt);

/* For a new generation: the lists as they are now; an agent's tools of them; an old one's lists. */
int wrt__lists_take(const struct wrt_runtime *rt, struct wrt_generation *g, struct upp_err *err) UPP_MUST_CHECK;
int wrt__add_tools(const struct wrt_runtime *rt, struct wrt_generation *g, const struct wc_agent *a,
                   struct wr_agent_def *def, struct upp_err *err) UPP_MUST_CHECK;
void wrt__lists_unref(struct wrt_tool_list **lists, size_t n);

/* Frees old generations that no run uses, and that were replaced more than idle_ms ago: requests that have looked up an
 * agent are over by then. How many are left. */
size_t wrt__drop_unused(struct wrt_runtime *rt, int64_t idle_ms);
enum { WRT_IDLE_MS = 60000 };

/* Closes the engines: runs stop where they are. Until the runtime is closed, the store stays open. */
WEFT_SUSPENDS void wrt_runtime_stop(struct wrt_runtime *rt);
WEFT_SUSPENDS void wrt_runtime_close(struct wrt_runtime *rt); /* accepts NULL */
WEFT_SUSPENDS void wrt_runtime_closep(struct wrt_runtime **rt);

/* By name, or by id in any spelling (UUID, asst_HEX); empty: the default agent. NULL: none. */
const struct wr_agent_def *wrt_agent(const struct wrt_runtime *rt, struct upp_str name);

/* The id of an agent that has none in the configuration: made of its name and of a random id that the store has once,
 * so that a name that goes leaves nothing behind; or as an older store has recorded it for the name. -UPP_ENOTFOUND:
 * the store has no random id yet, and `makes` is false. */
WEFT_SUSPENDS int wrt_agent_id(struct wl_store *s, struct upp_str name, bool makes, struct wb_uuid *ret,
                               struct upp_err *err) UPP_MUST_CHECK;

/* The socket at which the owner of the store serves other processes; empty: none. */
const char *wrt_socket(const struct wrt_runtime *rt);

/* The process-wide part of starting up. */

/* Makes libuv, SQLite and libcurl use the current hook table. */
int weft__libraries_use_hooks(struct upp_err *err) UPP_MUST_CHECK;

struct wb_library weft__yaml_library(void);
