/* server/doors/responses/stored.h — responses that were created: reading, cancelling, their input, deleting. */
#pragma once

#include "model/run.h"
#include "server/http/route.h"

/* The run of a response, and which segment of it (0: the first) it is; x->thread is its thread. */
WEFT_SUSPENDS int sv_response_find(struct sv_exchange *x, struct upp_str id, struct wm_run *run, uint32_t *segment,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Responds with a response that has not ended. */
WEFT_SUSPENDS int sv_response_unfinished(struct sv_exchange *x, struct wb_uuid id, uint32_t segment,
                                         struct upp_err *err) UPP_MUST_CHECK;

WEFT_SUSPENDS int sv_response_get(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_response_cancel(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_response_input(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_response_delete(struct sv_exchange *x, struct upp_err *err);
