/* dialects/core/answers.h — which result answers which call, for dialects that write the two as one. */
#ifndef WD_ANSWERS_H
#define WD_ANSWERS_H

#include "dialects/core/document.h"

enum { WD_FAR = 4096 }; /* entries between a call and its result, at most */

/* The first answer to a call of entry `at`, up to where the id is called again. NULL: none. */
const struct upp_part *wd_answer_of(const struct wm_doc *d, uint32_t at, struct upp_str id);

/* Tells of the results of an entry that answer no call, or one that was answered before: nobody writes them. */
void wd_lose_answers(struct wd_lowering *l, uint32_t entry);

#endif
