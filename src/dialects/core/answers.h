/* dialects/core/answers.h — finds the result of a call, for dialects that write the two as one object. */
#pragma once

#include "dialects/core/document.h"

enum { WD_RESULT_DISTANCE = 4096 }; /* maximum number of entries between a call and its result */

/* The first result of a call in entry `at`, searched up to the next call with the same id. NULL: none. */
const struct upp_part *wd_result_of(const struct wm_doc *d, uint32_t at, struct upp_str id);

/* The call that a result in entry `at` answers; NULL: none. */
const struct upp_part *wd_call_of(const struct wm_doc *d, uint32_t at, struct upp_str id);

/* Reports the entry's results that no call receives: the call is missing, or has a result already. They are not
 * written. */
void wd_lose_unmatched_results(struct wd_lowering *l, uint32_t entry);
