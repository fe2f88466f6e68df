/* thread/event.h — a system event of the log as a document has it: self-contained, and with agents by id.
 *
 * The log stores no text twice: a prompt.enriched event refers to the entries with the two texts, and a document gets
 * the texts themselves. The log names agents as the configuration does; a document uses the ids of its agent list.
 */
#pragma once

#include "log/log.h"

struct wa_event_doc {
    const struct wl_line *lines; /* the path */
    size_t n;
    int (*id_of)(void *arg, struct upp_str agent, struct upp_str *ret, struct upp_err *err);
    void *arg;
};

/* Replaces *data, an object {"type","data","source","targets"}, with its form for documents, in the arena. */
int wa_event_doc(const struct wa_event_doc *of, struct wb_arena *a, struct upp_str *data,
                 struct upp_err *err) UPP_MUST_CHECK;
