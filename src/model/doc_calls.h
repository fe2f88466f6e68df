/* model/doc_calls.h — the calls of a document, and what became of them.
 *
 * Nothing of it is stored: it follows from the messages alone. An answer belongs to the call of its id that is open; a
 * call without one is pending, in whatever turn the answer would come. What a request says again to a call that was not
 * as it should be (a retry) is an answer too.
 */
#ifndef WM_DOC_CALLS_H
#define WM_DOC_CALLS_H

#include "model/doc.h"
#include "model/event.h"

enum wm_call_state { WM_CALL_PENDING = 1, WM_CALL_REJECTED, WM_CALL_COMPLETED };

struct wm_doc_call {
    const struct upp_part *call, *answer; /* answer: NULL while it is pending */
    uint32_t               entry;         /* that made it */
    uint8_t                state;         /* enum wm_call_state */
};

struct wm_doc_calls {
    WB_VEC(struct wm_doc_call) list; /* in the order in which they were made */
};

/* Metadata of a result, in the spelling of documents that tell more of it than that it is an error. */
static inline struct upp_str wm_result_metadata(uint8_t outcome)
{
    static const struct upp_str invalid = UPP_STR_INIT("{\"pydantic_ai\":{\"status\":\"validation_error\"}}");
    return outcome == WM_INVALID ? invalid : (struct upp_str){0};
}

WB_EXPORT_BEGIN

/* All calls among the first `upto` entries, with the answers among them. The list begins all zero. */
int  wm_doc_calls_find(struct wm_doc_calls *c, const struct wm_doc *d, uint32_t upto,
                       struct upp_err *err) UPP_MUST_CHECK;
void wm_doc_calls_done(struct wm_doc_calls *c);

/* How many of those that a turn made are pending. */
size_t wm_doc_pending(const struct wm_doc_calls *c, const struct wm_doc_turn *turn);

WB_EXPORT_END

#endif
