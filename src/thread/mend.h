/* thread/mend.h — calls without results: what comes from outside, or is cut off in the middle, is well-formed
 * before anything is said after it.
 *
 * Vendors refuse a conversation in which a call has no result right after it. Runs see to that themselves. A document,
 * or a place between a call and its results, is mended here: the calls get results that say that nobody knows.
 */
#ifndef WA_THREAD_MEND_H
#define WA_THREAD_MEND_H

#include "thread/session_doc.h"

/* Calls that have no result yet: those of `of` for which none of `results` has one. */
struct wa_open {
    const struct upp_message *of; /* NULL: none */
    const struct upp_message *results[16];
    size_t                    n_results;
};

bool wa_is_open(const struct wa_open *o);

/* A message was said, which stays where it is. */
void wa_open_follow(struct wa_open *o, const struct upp_message *m);

/* 1: *ret is a message of results for what is open, which then nothing is any more. 0: nothing was. */
int wa_open_close(struct wb_arena *a, struct wa_open *o, struct upp_message *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Messages that follow each other. `open` goes in as it is before the first of them, and out as it is behind the last.
 * Where something else follows a call before its results, these are put in; with `close` also behind the last message,
 * and then nothing is open any more. map (n + 1 numbers): how many there are now for each number of them there were.
 * Where nothing was missing the list is the same, and map is NULL. */
struct wa_mended {
    struct upp_message *list;
    size_t              n;
    uint32_t           *map;
};
int wa_mend_list(struct wb_arena *a, struct upp_message *list, size_t n, struct wa_open *open, bool close,
                 struct wa_mended *ret, struct upp_err *err) UPP_MUST_CHECK;

/* All nodes of a document, along their paths; they may be open at their ends. Branches and checkpoints that counted all
 * messages of a node count those that are there. 1: so is the current one, and *closing closes it (wa_session_put). */
int wa_mend_session(struct wb_arena *a, struct wm_session *doc, struct upp_message *closing,
                    struct upp_err *err) UPP_MUST_CHECK;

/* What is open at a place of the log. */
WEFT_SUSPENDS int wa_open_at(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t length,
                             struct wb_arena *a, struct wa_open *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Calls that came open with a document, at the end of a thread: what closed them there is its last entry, and is shown
 * to nobody. 1: `ret` has them, and *at is the number of that entry in the head. 0: there are none. */
WEFT_SUSPENDS int wa_open_imported(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   struct wb_arena *a, struct wa_open *ret, uint32_t *at,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Results that came to a run while others are waited for: they are no message yet, and their calls are not open. They
 * stand in rows behind the last entry of its node, which has `length`. 1: there are some. */
WEFT_SUSPENDS int wa_results_waiting(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t length,
                                     struct wb_arena *a, struct upp_message *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Do these answer every open call, once, and nothing else? -UPP_EINVALID names one that they do not. */
int wa_open_check(const struct wa_open *o, const struct upp_str *calls, size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* The next call that has no result, behind `after`; NULL: from the first one on, and no more. */
const struct upp_part *wa_open_next(const struct wa_open *o, const struct upp_part *after);

#endif
