/* thread/replies.h — what the records of the log tell about a model's replies: model, provider, why it stopped, usage.
 */
#pragma once

#include "log/log.h"
#include "model/doc.h"
#include "model/event.h"
#include "model/row.h"

/* Which entry of its row the record of a message is about. */
static inline size_t wa_reply_entry(const struct wm_row *row, const struct wm_event *ev)
{
    return (size_t)(ev->message.entry - row->entries);
}

/* Of the record of a message. *ret: in the arena. */
int wa_reply_of(struct wb_arena *a, const struct wm_event *ev, const struct wm_reply_info **ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* Of the `n` entries of a node from `first` on: *ret has n pointers; NULL: no model said it, or nothing is known. */
WEFT_SUSPENDS int wa_replies_read(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t first, size_t n,
                                  struct wb_arena *a, const struct wm_reply_info ***ret,
                                  struct upp_err *err) UPP_MUST_CHECK;
