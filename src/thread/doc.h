/* thread/doc.h — a thread out of the log as a document of the model, for dialects to write.
 *
 * What everybody sees of its history, from its first entry on: messages and system events, the agents that said them,
 * and the turns they were said in. A turn whose run is still at work is partial.
 */
#ifndef WA_THREAD_DOC_H
#define WA_THREAD_DOC_H

#include "log/log.h"
#include "model/doc.h"

struct wa_thread_doc_opts {
    /* Fills in what is known of an agent, whose name is set; NULL: nothing is. */
    void (*agent)(void *arg, struct wm_doc_agent *agent);
    void *arg;

    /* In which it will be written: a document that came in that dialect and did not say its id or its times has none
     * when it goes out again. No text: in any. */
    struct upp_str dialect;
};

/* Texts lie in the arena, the lists are freed by wm_doc_done, also after a failure. */
WEFT_SUSPENDS int wa_thread_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                const struct wa_thread_doc_opts *opts, struct wb_arena *a, struct wm_doc *ret,
                                struct upp_err *err) UPP_MUST_CHECK;

#endif
