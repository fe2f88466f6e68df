/* thread/commits.h — writes many changes to the log in as few commits as possible. */
#pragma once

#include "thread/session_doc.h"
#include "base/vec.h"
#include "log/staged.h"

struct wa_put {
    struct wl_store *store;
    const struct wl_owner *owner;
    struct wb_arena memory; /* of the pending changes */
    struct wb_buf body;
    struct wm_entry *entries; /* of the row being written */
    size_t bytes;
    bool whole;      /* the next changes must fit in one commit: otherwise -UPP_ELIMIT */
    size_t conflict; /* after -UPP_EBUSY: index of the change in conflict; otherwise SIZE_MAX */
    WB_VEC(struct wl_change) changes;

    /* Messages of this author are written as those of the other one; empty: as they are. */
    struct upp_str author, written_as;

    const struct wl_thread *new_thread; /* a new thread, created by the last commit; NULL: none */

    /* An existing thread to write to (log/staged.h); NULL: none. */
    struct wl_thread *thread;
    bool moved;             /* the last commit also writes the thread's row */
    const uint64_t *staged; /* keys of the nodes that stay invisible until the last commit, parents first */
    size_t n_staged;
    bool begun; /* several commits are needed, and the first was made */
};

void wa_put_init(struct wa_put *p, struct wl_store *s, const struct wl_owner *o);
void wa_put_done(struct wa_put *p);

int wa_put_add(struct wa_put *p, struct wl_change c, struct upp_err *err) UPP_MUST_CHECK;

/* Ensures room for so many changes. 1: they did not fit, so the pending ones were committed. */
WEFT_SUSPENDS int wa_put_room(struct wa_put *p, size_t changes, size_t bytes, struct upp_err *err) UPP_MUST_CHECK;
size_t wa_put_rows(size_t messages);      /* changes needed for so many messages */
enum { WA_PUT_CHANGES = WL_CHANGES - 8 }; /* per commit, without those of the thread itself */

/* Copies *node. */
WEFT_SUSPENDS int wa_put_node(struct wa_put *p, const struct wl_node *node, struct upp_err *err) UPP_MUST_CHECK;

/* Appends a row to the node and advances *end. */
WEFT_SUSPENDS int wa_put_row(struct wa_put *p, uint64_t node, struct wl_end *end, const struct wm_row *row,
                             struct upp_err *err) UPP_MUST_CHECK;

/* Appends messages to the node, as imported entries (of no run), and advances *end. */
WEFT_SUSPENDS int wa_put_messages(struct wa_put *p, uint64_t node, struct wl_end *end, const struct upp_message *list,
                                  size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* The same, and stores metadata.weft of the messages (thread/session_extras.h) as entries and authors; `before`: events
 * before the first message, may be NULL. */
struct wa_extras;
WEFT_SUSPENDS int wa_put_known(struct wa_put *p, uint64_t node, struct wl_end *end, const struct wa_extras *before,
                               const struct upp_message *list, size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* Makes the last commit. */
WEFT_SUSPENDS int wa_put_commit(struct wa_put *p, struct upp_err *err) UPP_MUST_CHECK;

/* After a commit that failed with r: 1 if another thread has taken the alias of the new one since it was made, else r.
 */
int wa_put_lost_name(const struct wa_put *p, int r) UPP_MUST_CHECK;
