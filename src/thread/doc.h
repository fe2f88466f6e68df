/* thread/doc.h — reads a thread from the log as a document of the model, for dialects to write.
 *
 * The document has the visible history from its first entry on: messages and system events, their agents, and their
 * turns. A turn whose run has not ended is partial.
 */
#pragma once

#include "log/log.h"
#include "model/doc.h"

struct wa_thread_doc_opts {
    /* Fills in the other members of an agent whose name is set; NULL: no more is known. */
    void (*agent)(void *arg, struct wm_doc_agent *agent);
    void *arg;

    /* The dialect in which the document will be written: if the thread was imported from that dialect without an id or
     * times, the document has none either. Empty: any dialect. */
    struct upp_str dialect;

    /* A turn is one message of the user, or everything that a run wrote, whoever spoke in it; their ids are those that
     * streams of the run have (dialects/ui) and that the client gave. A message that only its run may see, such as a
     * plan, is there without its parts: streams have a step for it. */
    bool by_run;
};

/* The arena owns the texts; wm_doc_done frees the lists, also after a failure. */
WEFT_SUSPENDS int wa_thread_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                const struct wa_thread_doc_opts *opts, struct wb_arena *a, struct wm_doc *ret,
                                struct upp_err *err) UPP_MUST_CHECK;
