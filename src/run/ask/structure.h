/* run/ask/structure.h — structured responses: do they fit their schema, and what does the model hear if not? */
#pragma once

#include <upp/model.h>

#include "base/arena.h"

/* 1: `data` fits. 0: it does not; *why, in the arena, lists the places and reasons. */
int wr_structure_fits(struct wb_arena *a, struct upp_str schema, struct upp_str data, struct upp_str *why,
                      struct upp_err *err) UPP_MUST_CHECK;

/* Adds the response, and what is wrong with it, to the messages of the request. They live in the arena. */
int wr_structure_correct(struct wb_arena *a, const struct upp_message *response, struct upp_str why,
                         struct upp_request *request, struct upp_err *err) UPP_MUST_CHECK;
