/* thread/doc_put.h — imports a document of any dialect as a thread of the log.
 *
 * An imported document is a conversation and nothing more (below). Calls without a result get one in repair entries,
 * which no document shows. Residue of the document's dialect, and everything else that the log has no field for, is
 * stored as sidecars of the entries: forks share it, exports (doc.h) write it again, and it is deleted with its
 * entries.
 */
#pragma once

#include "log/log.h"
#include "model/doc.h"
#include "thread/session_doc.h"

enum {
    WA_SIDECAR_MAX = 1 << 20, /* bytes of residue of one object */
};

/* The entries are divided into turns. The document's id becomes an alias of the thread: -UPP_EBUSY if it is taken, as a
 * thread's own id or as an alias; with `copy` the document is imported all the same, and the id still leads to the
 * other thread. */
WEFT_SUSPENDS int wa_doc_put(struct wl_store *s, const struct wl_owner *o, const struct wm_doc *doc, bool copy,
                             struct wb_arena *a, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Imports a session document as a thread of the log.
 *
 * An imported document is a conversation and nothing more. It is validated completely, belongs to the importing owner,
 * and every message is marked as imported. No run is created, so nothing continues, is called or approved. Its
 * checkpoints can be restored as conversation; the strategy state in them is stored and never used. Calls without a
 * result get an error result (mend.h); those at its end stay open until a run answers them or continues without
 * answers.
 */

/* Imports SessionJSON. -UPP_EINVALID with a pointer: it is invalid, or exceeds a limit. -UPP_EBUSY: a thread has this
 * id already, as its own id or as an alias; with `copy` the document is imported all the same, and the id still leads
 * to the other thread. */
WEFT_SUSPENDS int wa_thread_import(struct wl_store *s, const struct wl_owner *o, struct upp_str json, bool copy,
                                   struct wb_arena *a, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;
