/* server/doors/audit/routes.h — /v1/audit: what administrators have done to the store. */
#ifndef SV_DOOR_AUDIT_H
#define SV_DOOR_AUDIT_H

#include "server/http/door.h"

extern const struct sv_door sv_door_audit;

#endif
