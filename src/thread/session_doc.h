/* thread/session_doc.h — reads a session from the log as a document, and writes a document to the log.
 *
 * Works on a store alone: for sessions of programs, and for exporting and importing threads. */
#pragma once

#include "log/change.h"
#include "model/id.h"
#include "model/session.h"

/* A run's reasoning before an entry of its node (UAP: state.reasoning). */
struct wa_thought {
    uint32_t index;
    struct wb_uuid run;
    struct upp_str text;
};

struct wa_doc_opts;

/* One node of a thread's tree, with its messages. */
struct wa_doc_node {
    struct wl_node node;
    uint32_t parent; /* index in the list; UINT32_MAX: this is the root */
    uint32_t length; /* entries that were read, without a repair at the end that is not shown yet */
    struct upp_message *messages;
    uint32_t *entry_of; /* by message: the index of its entry in the node */
    size_t n_messages;
    struct wa_thought *thoughts;
    size_t n_thoughts;
    uint32_t *event_of; /* indices of the visible system events */
    size_t n_events;
    bool has_events; /* among the entries of the last read */

    /* Options for metadata.weft of the messages (thread/session_extras.h); NULL: do not add it. */
    const struct wa_doc_opts *known;
    const struct upp_message *caller; /* with `known`: the last assistant message before; NULL: none */
    struct wl_line *before;           /* with `known`: the entries before the first message */
    size_t n_before;
};

/* The number of its messages among its first `length` entries. */
size_t wa_messages_before(const struct wa_doc_node *node, uint32_t length);

/* The number of its visible events with from <= index < to. */
size_t wa_events_between(const struct wa_doc_node *node, uint32_t from, uint32_t to);

/* What to read. */
struct wa_doc_opts {
    bool no_checkpoints;
    bool every_turn;         /* only the last checkpoint of each turn */
    bool latest_only;        /* only the last checkpoint, for nested sessions */
    unsigned nested;         /* depth of nesting in other sessions */
    struct upp_str agent_id; /* NULL: as in the log */
    /* The id of an agent, by name. NULL, or returns an empty string: unknown. */
    struct upp_str (*id_of)(void *arg, struct upp_str agent);
    struct upp_str (*title_of)(void *arg, struct upp_str agent); /* for people; likewise */
    void *arg;
    bool whole; /* metadata.weft also has what the log's records know: models, usage, texts that events refer to */
};

/* Lists the nodes of a tree in order of creation, without their messages. */
WEFT_SUSPENDS int wa_tree_nodes(struct wl_store *s, const struct wl_owner *o, struct wb_uuid tree, struct wb_arena *a,
                                struct wa_doc_node **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;

/* Reads the node's visible messages from entry node->length on; they replace those in *node. */
WEFT_SUSPENDS int wa_node_read(struct wl_store *s, const struct wl_owner *o, struct wa_doc_node *node,
                               struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* Reads ThreadTreeJSON as data, and its nodes with their messages. */
WEFT_SUSPENDS int wa_tree_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                              struct wb_arena *a, struct wm_tree_doc *ret, struct wa_doc_node **nodes,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Reads SessionJSON as data. */
WEFT_SUSPENDS int wa_session_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                 const struct wa_doc_opts *opts, struct wb_arena *a, struct wm_session *ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The same, cached: each call reads only what is new. *ret is valid until the next call. The options must not change
 * between calls. */
struct wa_doc;
struct wa_doc *wa_doc_new(void); /* NULL: out of memory */
void wa_doc_free(struct wa_doc *d);
WEFT_SUSPENDS int wa_doc_read(struct wa_doc *d, struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                              const struct wa_doc_opts *opts, struct wm_session *ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* The space of values for imported checkpoints, by thread id. A value is a line of numbers (uap.threadLength of each),
 * then SessionJSON without the messages of its nodes. */
#define WA_IMPORTED WL_IMPORTED

/* Writes a document as a new thread. It gets new ids; those of the document are stored with the nodes, and its id
 * becomes an alias (if that is taken: -UPP_EBUSY, or no alias with `anyway`). No run is created. `closing`: results for
 * the calls that are open at the end of the current node; NULL: none. No document shows them while nothing follows
 * them, and answers to the calls replace them (wa_open_imported). `agent`: who goes on with the session, as the log
 * calls it: what the document's agent wrote under its id (it has no name) is this one's. Empty: nobody does. */
WEFT_SUSPENDS int wa_session_put(struct wl_store *s, const struct wl_owner *o, const struct wm_session *doc,
                                 struct upp_str agent, const struct upp_message *closing, bool anyway,
                                 struct wb_arena *a, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;
