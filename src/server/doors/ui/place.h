/* server/doors/ui/place.h — where a message of a chat belongs in its thread. */
#ifndef SV_UI_PLACE_H
#define SV_UI_PLACE_H

#include "server/doors/ui/request.h"

/* Moves the thread to where the request's message belongs. 1: the message is to be submitted there; 0: an answer is
 * made anew, and its question is there. -UPP_EBUSY: a run has not ended. -UPP_ENOTFOUND: an edit of a message that the
 * chat does not have. */
WEFT_SUSPENDS int sv_ui_place(struct sv_exchange *x, const struct sv_ui_request *q, struct wl_thread *t,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Undoes it, when no run was started. */
WEFT_SUSPENDS void sv_ui_place_back(struct sv_exchange *x, const struct wl_thread *was, struct wl_thread *t);

#endif
