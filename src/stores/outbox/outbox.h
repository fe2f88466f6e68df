/* stores/outbox/outbox.h — a store that records which runs have ended or wait, in the commit that says so.
 *
 * It is in front of any other store. A commit that ends a run, or makes it wait, also gets a value of the space
 * "outbox": both are stored or neither is. So whoever delivers these messages and removes a value only after its
 * delivery delivers each at least once, whatever is killed in between. Runs of sub-agents are part of their root's run
 * and make none.
 */
#pragma once

#include "log/store.h"

enum ws_due_kind { WS_DUE_END = 0, WS_DUE_WAIT, WS_DUE_KINDS };

struct ws_due {
    struct upp_str tenant;
    struct wb_uuid run;
    uint32_t version; /* of the run's row: a run may wait several times */
    uint8_t kind;     /* enum ws_due_kind */
    int64_t created_ms;
};

/* Takes ownership of the inner store, also on failure. kinds: 1 << enum ws_due_kind, of what is recorded. */
WEFT_SUSPENDS int ws_outbox_open(struct wl_store *inner, unsigned kinds, struct wl_store **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* From now on calls `due` after each commit that recorded something; it must not suspend. NULL: nobody. */
void ws_outbox_listen(struct wl_store *s, void (*due)(void *arg, const struct ws_due *d), void *arg);

/* The name of a message: "RUN-VERSION". */
enum { WS_DUE_NAME = 48 };
struct upp_str ws_due_name(const struct ws_due *d, char buf[WS_DUE_NAME]);

/* Of a tenant, ordered by name, after the message with this name (empty: from the start). Values that nobody can read
 * are left out; *last is the name of the last value, empty: there are no more. */
WEFT_SUSPENDS int ws_outbox_list(struct wl_store *s, struct upp_str tenant, struct upp_str after, size_t max,
                                 struct wb_arena *a, struct ws_due **ret, size_t *n, struct upp_str *last,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Is it still to be delivered? 1, 0, or an error. */
WEFT_SUSPENDS int ws_outbox_has(struct wl_store *s, const struct ws_due *d, struct upp_err *err) UPP_MUST_CHECK;

/* It was delivered, or given up. Not synced: it may be delivered once more. */
WEFT_SUSPENDS int ws_outbox_remove(struct wl_store *s, const struct ws_due *d, struct upp_err *err) UPP_MUST_CHECK;
