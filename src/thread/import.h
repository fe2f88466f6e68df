/* thread/import.h — imports a session document as a thread of the log.
 *
 * An imported document is a conversation and nothing more. It is validated completely, belongs to the importing owner,
 * and every message is marked as imported. No run is created, so nothing continues, is called or approved. Its
 * checkpoints can be restored as conversation; the strategy state in them is stored and never used. Calls without a
 * result get an error result (mend.h); those at its end stay open until a run answers them or continues without
 * answers.
 */
#pragma once

#include "thread/session_doc.h"

/* Imports SessionJSON. -UPP_EINVALID with a pointer: it is invalid, or exceeds a limit. -UPP_EBUSY: a thread has this
 * id already, as its own id or as an alias; with `copy` the document is imported all the same, and the id still leads
 * to the other thread. */
WEFT_SUSPENDS int wa_thread_import(struct wl_store *s, const struct wl_owner *o, struct upp_str json, bool copy,
                                   struct wb_arena *a, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* 1: the owner has a thread with this id or alias. wa_fail_taken returns that as an error. */
WEFT_SUSPENDS int wa_is_taken(struct wl_store *s, const struct wl_owner *o, struct upp_str id, struct wb_arena *a,
                              struct upp_err *err) UPP_MUST_CHECK;
int wa_fail_taken(struct upp_str id, struct upp_err *err);
