/* server/doors/aitp/routes.h — AITP threads over HTTP (AITP-T01), on the same threads as the Assistants API. */
#pragma once

#include "server/http/route.h"
#include "server/members/members.h"

extern const struct sv_door sv_door_aitp;
extern const struct sv_door sv_door_agents; /* the cards */

/* Handlers of server/doors/aitp/actors.c. */
WEFT_SUSPENDS int sv_aitp_list_actors(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_aitp_add_actor(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_aitp_remove_actor(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_aitp_list_capabilities(struct sv_exchange *x, struct upp_err *err);

/* Handler of server/doors/aitp/requests.c. */
WEFT_SUSPENDS int sv_aitp_list_requests(struct sv_exchange *x, struct upp_err *err);

/* Handler of server/doors/aitp/subthread.c. */
WEFT_SUSPENDS int sv_aitp_make_subthread(struct sv_exchange *x, struct upp_err *err);

/* Handler of server/doors/aitp/audit.c. */
WEFT_SUSPENDS int sv_aitp_audit(struct sv_exchange *x, struct upp_err *err);
