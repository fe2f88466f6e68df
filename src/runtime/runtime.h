/* runtime/runtime.h — a configuration at work: its store, its agents, an engine on a loop.
 *
 *     struct wrt_location at;
 *     r = wrt_location_of(config, NULL, &at, &err);
 *     r = wrt_runtime_open(loop, config, &at, &rt, &err);       // on a fiber
 *     r = wrt_runtime_recover(rt, &n, &err);                    // runs that were cut short go on
 *     ...                                                       // rt->engine, rt->store
 *     wrt_runtime_close(rt);                                    // and so do those that still work, at the next start
 *
 * An agent without an id in the file gets one when a store first sees its name; the store keeps it as an alias.
 */
#ifndef WRT_RUNTIME_H
#define WRT_RUNTIME_H

#include "run/engine.h"
#include "runtime/config.h"

/* Whose aliases the ids of the configuration's agents are: a tenant that no key has. */
#define WRT_TENANT "weft"

enum { WRT_PATH_MAX = 1024 };

/* Where a store is. */
struct wrt_location {
    uint8_t kind;               /* enum wc_store */
    char    path[WRT_PATH_MAX]; /* SQLite: the file */
    /* The master key as text, for a file that is encrypted; NULL: what WEFT_ENCRYPTION_KEY says or, where that is not
     * set, the configuration's key_file. Borrowed until the store is open. Without a configuration it is the only one.
     */
    const char *key;
    bool        accept_loss; /* SQLite: without what is missing of an unclean stop (ws_sqlite_opts) */
    uint8_t     index;       /* enum wl_index: what the search is to have */
};

/* What `url` says ("memory:", "sqlite:PATH" from the current folder), or where that is NULL the configuration (NULL:
 * in memory).
 * -UPP_EINVALID. */
int wrt_location_of(const struct wc_config *c, const char *url, struct wrt_location *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* What a place and a configuration (NULL: none) say of it. */
WEFT_SUSPENDS int wrt_store_open(const struct wc_config *c, const struct wrt_location *at, struct wl_store **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The one that keeps the bytes: what stands in front of it taken away. */
struct wl_store *wrt_store_base(struct wl_store *s);

/* The same for a store that is open already, which it takes over: with the key that the place or the configuration has
 * in front of it (stores/sealed/sealed.h). -UPP_EREFUSED: it is the wrong one, one is missing, or there is one and the
 * store is not encrypted. */
WEFT_SUSPENDS int wrt_store_seal(const struct wc_config *c, const struct wrt_location *at, struct wl_store *inner,
                                 struct wl_store **ret, struct upp_err *err) UPP_MUST_CHECK;

/* What stands in front of a store that keeps files, which it takes over: the key, and blobs. */
WEFT_SUSPENDS int wrt_store_dress(const struct wc_config *c, const struct wrt_location *at, struct wl_store *inner,
                                  struct wl_store **ret, struct upp_err *err) UPP_MUST_CHECK;

struct wrt_runtime {
    const struct wc_config *config;
    struct wl_store        *store;
    struct wr_engine       *engine;
    struct wr_agent_def    *agents; /* the configuration's, each with its id */
    struct wb_arena         arena;
    struct weft_scope       beside; /* of the fiber that opened it */
};

/* Opens the store, which it then owns, and the engine; nothing runs yet. The configuration must outlive it.
 * -UPP_EBUSY: another process owns the store (stores/sqlite/lock.h says who). */
WEFT_SUSPENDS int wrt_runtime_open(struct weft_loop *loop, const struct wc_config *c, const struct wrt_location *at,
                                   struct wrt_runtime **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Takes up what had not ended. Once, before anything is started. */
WEFT_SUSPENDS int wrt_runtime_recover(struct wrt_runtime *rt, size_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* From now on, until it is closed (by the same fiber), the search follows the log and the sweep takes away what
 * is old: for servers. */
int wrt_runtime_follow(struct wrt_runtime *rt, struct upp_err *err) UPP_MUST_CHECK;
int wrt__sweeper_start(struct wrt_runtime *rt, struct upp_err *err) UPP_MUST_CHECK; /* of it: the sweep alone */

/* One sweep over all tenants, by the retention of the configuration (NULL: none). *ret: what was erased. */
struct wl_swept;
WEFT_SUSPENDS int wrt_sweep(struct wl_store *s, const struct wc_config *c, struct wl_swept *ret,
                            struct upp_err *err) UPP_MUST_CHECK;

WEFT_SUSPENDS void wrt_runtime_close(struct wrt_runtime *rt); /* accepts NULL */
WEFT_SUSPENDS void wrt_runtime_closep(struct wrt_runtime **rt);

/* By name, or by id in any spelling (UUID, asst_HEX); empty: the default agent. NULL: none. */
const struct wr_agent_def *wrt_agent(const struct wrt_runtime *rt, struct upp_str name);

/* The socket at which the owner of the store does work for others; empty: none. */
const char *wrt_socket(const struct wrt_runtime *rt);

#endif
