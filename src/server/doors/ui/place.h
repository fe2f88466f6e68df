/* server/doors/ui/place.h — where a message of a chat belongs in its thread. */
#pragma once

#include "server/doors/ui/request.h"

/* Where the run begins: sets start->run.node. 1: the request's message is to be submitted there; 0: an answer is made
 * anew, and its question is there. -UPP_ENOTFOUND: an edit of a message that the chat does not have. */
WEFT_SUSPENDS int sv_ui_place(struct sv_exchange *x, const struct sv_ui_request *q, struct sv_start *start,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Has the chat the message of a request that neither edits nor regenerates, with its id and its content, among its last
 * entries? 1: *run is the run that it has started. */
WEFT_SUSPENDS int sv_ui_asked(struct sv_exchange *x, const struct sv_ui_request *q, const struct upp_message *m,
                              const struct wl_thread *t, struct wb_uuid *run, struct upp_err *err) UPP_MUST_CHECK;

/* The newest run of the thread, if it is another one than that of the message: 1: *run. 0: the message is its answer,
 * or not of this chat. The message is a user's, by the client's id or ours, or an answer, by the id of its stream. */
WEFT_SUSPENDS int sv_ui_newer(struct sv_exchange *x, const struct wl_thread *t, struct upp_str message,
                              struct wb_uuid *run, struct upp_err *err) UPP_MUST_CHECK;
