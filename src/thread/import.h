/* thread/import.h — a session from outside as a thread of the log.
 *
 * What comes from outside is a conversation and nothing more: it is checked whole, belongs to whoever brings it, and
 * every message of it is marked as imported. No run is made of it, so that nothing goes on, is called or approved; its
 * checkpoints are places to go back to, and what they say of a strategy's state is kept and never used. Calls in it
 * that have no result get one that says so (mend.h); those at its end are open until somebody answers them, or
 * goes on without.
 */
#ifndef WA_THREAD_IMPORT_H
#define WA_THREAD_IMPORT_H

#include "thread/session_doc.h"

/* SessionJSON. -UPP_EINVALID with a pointer: it is none, or too much. -UPP_EBUSY: a thread has this id already, by its
 * own name or as an alias; with `copy` it is imported beside that one, and the id goes on leading there. */
WEFT_SUSPENDS int wa_thread_import(struct wl_store *s, const struct wl_owner *o, struct upp_str json, bool copy,
                                   struct wb_arena *a, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* 1: this id leads to a thread of the owner's; and how that is told. */
WEFT_SUSPENDS int wa_is_taken(struct wl_store *s, const struct wl_owner *o, struct upp_str id, struct wb_arena *a,
                              struct upp_err *err) UPP_MUST_CHECK;
int               wa_taken(struct upp_str id, struct upp_err *err);

#endif
