/* thread/doc.h — reads a thread from the log as a document of the model, for dialects to write.
 *
 * The document has the visible history from its first entry on: messages and system events, their agents, and their
 * turns. A turn whose run has not ended is partial.
 */
#pragma once

#include "log/log.h"
#include "model/doc.h"
#include "base/arena.h"
#include "model/entry.h"

struct wa_thread_doc_opts {
    /* Fills in the other members of an agent whose name is set; NULL: no more is known. */
    void (*agent)(void *arg, struct wm_doc_agent *agent);
    void *arg;

    /* The dialect in which the document will be written: if the thread was imported from that dialect without an id or
     * times, the document has none either. Empty: any dialect. */
    struct upp_str dialect;

    /* A turn is one message of the user, or everything that a run wrote, whoever spoke in it; their ids are those that
     * streams of the run have (dialects/ui) and that the client gave. A message that only its run may see, such as a
     * plan, is there without its parts: streams have a step for it. */
    bool by_run;
};

/* The arena owns the texts; wm_doc_done frees the lists, also after a failure. */
WEFT_SUSPENDS int wa_thread_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                const struct wa_thread_doc_opts *opts, struct wb_arena *a, struct wm_doc *ret,
                                struct upp_err *err) UPP_MUST_CHECK;

/* Whose reasoning it is, and with which signature a vendor takes it back: in the metadata of
 * parts, where dialects look (dialects/pai/pai.h). */

/* Marks reasoning parts without metadata with the provider of the message, and with the ids and signatures that its
 * output had (metadata.PROVIDER.raw). The parts are changed in place. */
int wa_reasoning_mark(struct wb_arena *a, struct upp_str provider, struct upp_message *m,
                      struct upp_err *err) UPP_MUST_CHECK;

/* A system event of the log as a document has it: self-contained, and with agents by id.
 *
 * The log stores no text twice: a prompt.enriched event refers to the entries with the two texts, and a document gets
 * the texts themselves. The log names agents as the configuration does; a document uses the ids of its agent list.
 */

struct wa_event_doc {
    const struct wl_line *lines; /* the path */
    size_t n;
    int (*id_of)(void *arg, struct upp_str agent, struct upp_str *ret, struct upp_err *err);
    void *arg;
};

/* Replaces *data, an object {"type","data","source","targets"}, with its form for documents, in the arena. */
int wa_event_doc(const struct wa_event_doc *of, struct wb_arena *a, struct upp_str *data,
                 struct upp_err *err) UPP_MUST_CHECK;
