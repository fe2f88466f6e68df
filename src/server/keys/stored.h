/* server/keys/stored.h — how much tenants have stored, for those whose keys have a limit.
 *
 * A count is read from the store once, in the background, and from then on grows with every commit. What is replaced,
 * dropped or stored once for several rows (blobs) makes it too large: it is read again after such a commit, and when it
 * has reached a limit; at most once in SV_STORED_MS. So no request waits for it, and the cost of a request does not
 * grow with what is stored.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "log/store.h"

enum { SV_STORED_MS = 10000 };

struct sv_stored;

/* One tenant's count. Lives as long as the table. */
struct sv_tenant_stored {
    struct sv_stored *of;
    struct upp_str name;
    _Atomic uint64_t bytes;
    _Atomic bool stale; /* to be read again */
};

struct sv_stored {
    struct wl_store *store;
    struct wl_watch watch;
    struct weft_loop *loop;                 /* of the fiber */
    pthread_mutex_t lock;                   /* of the list: commits come from every loop */
    WB_VEC(struct sv_tenant_stored *) list; /* ordered by name */
    struct weft_scope scope;                /* the fiber that reads counts */
    struct weft_cond wanted;
};

/* Watches the store (stores/blobs; another is only counted when it is read). Belongs to the fiber that opens it. */
int sv_stored_open(struct sv_stored *s, struct wl_store *store, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS void sv_stored_close(struct sv_stored *s); /* accepts a zeroed struct */

/* The count of a tenant, which exists from now on. At most `max` tenants. */
int sv_stored_of(struct sv_stored *s, struct upp_str tenant, size_t max, struct sv_tenant_stored **ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Has it stored so many bytes? */
bool sv_stored_reached(struct sv_tenant_stored *t, uint64_t limit);
