/* server/doors/objects/find.h — the thread or the run that a request names, and where it is at home. */
#pragma once

#include "log/log.h"
#include "server/http/route.h"

/* The thread that {t} names. */
WEFT_SUSPENDS int sv_find_thread(struct sv_exchange *x, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, if the client may change it. -UPP_EREFUSED: its actor has left. */
WEFT_SUSPENDS int sv_find_thread_to_change(struct sv_exchange *x, struct wl_thread *ret,
                                           struct upp_err *err) UPP_MUST_CHECK;

/* A run's id in any spelling. -UPP_ENOTFOUND. */
int sv_run_id(struct upp_str text, struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, if it is a run of the client's tenant and user. */
WEFT_SUSPENDS int sv_find_run(struct sv_exchange *x, struct upp_str text, struct wb_uuid *ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Responds that the object with this id is deleted. */
int sv_answer_deleted(struct sv_exchange *x, struct upp_str id, const char *object, struct upp_err *err) UPP_MUST_CHECK;

/* The home of a request about a thread or a run (struct sv_door). */
WEFT_SUSPENDS int sv_home_of_path(struct sv_exchange *x, uint32_t *ret, struct upp_err *err) UPP_MUST_CHECK;
