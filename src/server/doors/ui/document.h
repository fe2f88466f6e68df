/* server/doors/ui/document.h — a thread as the messages of a chat. */
#pragma once

#include "log/log.h"
#include "run/engine.h"
#include "server/http/route.h"

/* Responds with the thread as UI messages, with the ids that streams have. `pending`: the calls of its
 * run that wait. An answer is partial while its run works, not while it waits for the client. */
struct sv_ui_document_opts {
    unsigned target; /* version of the AI SDK; 0: the default */
    const struct wm_pending *pending;
    size_t n_pending;
    bool works;
};
WEFT_SUSPENDS int sv_ui_document(struct sv_exchange *x, const struct wl_thread *t,
                                 const struct sv_ui_document_opts *opts, struct upp_err *err) UPP_MUST_CHECK;
