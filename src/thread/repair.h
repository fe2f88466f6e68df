/* thread/repair.h — repairs calls without results, in imported documents and at positions in the middle of a tool
 * round.
 *
 * Providers reject a conversation in which a call has no result right after it. Runs ensure that themselves. For a
 * document, or a position between a call and its results, the functions here add error results, "outcome unknown".
 */
#pragma once

#include "thread/session_doc.h"

/* Open calls: the calls of `of` that have no result in `results`. */
struct wa_open {
    const struct upp_message *of; /* NULL: none */
    const struct upp_message *results[16];
    size_t n_results;
};

bool wa_is_open(const struct wa_open *o);

/* Updates *o for the next message of the conversation, which must outlive *o. */
void wa_open_follow(struct wa_open *o, const struct upp_message *m);

/* 1: *ret has results for all open calls, and *o is reset. 0: no call was open. */
int wa_open_close(struct wb_arena *a, struct wa_open *o, struct upp_message *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Repairs a list of consecutive messages. `open` is the state before the first one on entry, and after the last one on
 * return. If another message follows a call before its results, error results are inserted; with `close` also after the
 * last message, so that nothing stays open. map (n + 1 numbers): for each old number of messages, the new number. If
 * nothing was missing, the list is unchanged and map is NULL. */
struct wa_mended {
    struct upp_message *list;
    size_t n;
    uint32_t *map;
};
int wa_repair_list(struct wb_arena *a, struct upp_message *list, size_t n, struct wa_open *open, bool close,
                   struct wa_mended *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Repairs all nodes of a document, along their paths; calls at the ends of nodes may stay open. Branch points and
 * checkpoints that counted all messages of a node count the new ones. 1: the current node ends with open calls, and
 * *closing closes them (wa_session_put). */
int wa_repair_session(struct wb_arena *a, struct wm_session *doc, struct upp_message *closing,
                      struct upp_err *err) UPP_MUST_CHECK;

/* The calls that are open at a position of the log. */
WEFT_SUSPENDS int wa_open_at(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t length,
                             struct wb_arena *a, struct wa_open *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Calls that an imported document left open at the end of a thread. The repair that closes them is the thread's last
 * entry, and is not shown. 1: `ret` has the calls, and *at is the 1-based number of that entry in the head node. 0:
 * none. */
WEFT_SUSPENDS int wa_open_imported(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   struct wb_arena *a, struct wa_open *ret, uint32_t *at,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Results that a run already has while it waits for others: they are not a message yet, and their calls are not open.
 * They are in rows after the last entry of its node, which has `length` entries. 1: there are some. */
WEFT_SUSPENDS int wa_results_waiting(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t length,
                                     struct wb_arena *a, struct upp_message *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Checks that `calls` names every open call once, and no other. -UPP_EINVALID names the first violation. */
int wa_open_check(const struct wa_open *o, const struct upp_str *calls, size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* The next open call after `after`; NULL: the first one. Returns NULL at the end. */
const struct upp_part *wa_open_next(const struct wa_open *o, const struct upp_part *after);
