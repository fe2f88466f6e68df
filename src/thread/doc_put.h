/* thread/doc_put.h — a document of any dialect as a thread of the log.
 *
 * What comes from outside is a conversation and nothing more (import.h). Calls without a result get one that
 * says so, in repairs that are written into no document. What the document's dialect said beyond the model, and what
 * the log has no place for, lies beside the entries: it follows forks, comes back when the thread is written as a
 * document (doc.h), and goes with the entries it is about.
 */
#ifndef WA_DOC_PUT_H
#define WA_DOC_PUT_H

#include "log/log.h"
#include "model/doc.h"

enum {
    WA_SIDECAR_MAX = 1 << 20, /* bytes of what one object said beyond the model */
};

/* The entries are divided into turns. An alias leads from the document's id to the thread: -UPP_EBUSY where that is
 * taken, by its own name or as an alias; with `copy` it is put beside that one, and the id goes on leading there. */
WEFT_SUSPENDS int wa_doc_put(struct wl_store *s, const struct wl_owner *o, const struct wm_doc *doc, bool copy,
                             struct wb_arena *a, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
