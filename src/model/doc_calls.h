/* model/doc_calls.h — the tool calls of a document, and their results.
 *
 * Derived from the messages; nothing of it is stored. An answer belongs to the open call with its id; a call without an
 * answer is pending, whichever turn the answer will be in. A retry prompt for a faulty call is an answer too.
 */
#pragma once

#include "model/doc.h"
#include "model/event.h"

enum wm_call_state { WM_CALL_PENDING = 1, WM_CALL_REJECTED, WM_CALL_COMPLETED };

struct wm_doc_call {
    const struct upp_part *call, *answer; /* answer: NULL while pending */
    uint32_t entry;                       /* that made the call */
    uint8_t state;                        /* enum wm_call_state */
};

struct wm_doc_calls {
    WB_VEC(struct wm_doc_call) list; /* in the order of the calls */
};

/* Metadata of a result, for dialects whose documents have more detail than the error flag. */
static inline struct upp_str wm_result_metadata(uint8_t outcome)
{
    static const struct upp_str invalid = UPP_STR_INIT("{\"pydantic_ai\":{\"status\":\"validation_error\"}}");
    return outcome == WM_INVALID ? invalid : (struct upp_str){0};
}

WB_EXPORT_BEGIN

/* Finds all calls in the first `upto` entries, with their answers there. The list starts all zero. */
int wm_doc_calls_find(struct wm_doc_calls *c, const struct wm_doc *d, uint32_t upto,
                      struct upp_err *err) UPP_MUST_CHECK;
void wm_doc_calls_done(struct wm_doc_calls *c);

/* How many calls of a turn are pending. */
size_t wm_doc_pending(const struct wm_doc_calls *c, const struct wm_doc_turn *turn);

WB_EXPORT_END
