/* thread/event.h — a system event of the log as a document has it: whole, and with agents by their ids.
 *
 * The log stores no text twice: prompt.enriched names the entries of both texts, and here they stand in it. An event
 * speaks of agents by the names of the configuration; a document by the ids of its list.
 */
#ifndef WA_THREAD_EVENT_H
#define WA_THREAD_EVENT_H

#include "log/log.h"

struct wa_event_doc {
    const struct wl_line *lines; /* the path */
    size_t                n;
    int (*id_of)(void *arg, struct upp_str agent, struct upp_str *ret, struct upp_err *err);
    void *arg;
};

/* {"type","data","source","targets"}: *data becomes the document's, in the arena. */
int wa_event_doc(const struct wa_event_doc *of, struct wb_arena *a, struct upp_str *data,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Metadata of a part that says whose thought it is, as ThreadProtocol and Pydantic AI want it said. */
int wa_thought_by(struct wb_arena *a, struct upp_str provider, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
