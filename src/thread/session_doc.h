/* thread/session_doc.h — a session out of the log, as a document; and a document into the log.
 *
 * Works on a store alone: for sessions of programs, and for whoever exports and imports threads. */
#ifndef WA_SESSION_DOC_H
#define WA_SESSION_DOC_H

#include "log/change.h"
#include "model/id.h"
#include "model/session.h"

/* What a run thought before an entry of its node (UAP: state.reasoning). */
struct wa_thought {
    uint32_t       index;
    struct wb_uuid run;
    struct upp_str text;
};

struct wa_doc_opts;

/* One node of a thread's tree, with what of it is messages. */
struct wa_doc_node {
    struct wl_node      node;
    uint32_t            parent; /* its place in the list; UINT32_MAX: the root */
    uint32_t            length; /* entries that were read, without a repair at the end that is not shown yet */
    struct upp_message *messages;
    uint32_t           *entry_of; /* by message: its index in the node */
    size_t              n_messages;
    struct wa_thought  *thoughts;
    size_t              n_thoughts;
    uint32_t           *event_of; /* indices of the system events that everybody sees */
    size_t              n_events;
    bool                has_events; /* among what was read last */

    /* What the log knows beside is said in the messages' metadata (thread/session_known.h); NULL: it is not. */
    const struct wa_doc_opts *known;
    const struct upp_message *asked;  /* known: the assistant's last before what is read; NULL: none */
    struct wl_line           *before; /* known: the entries before the first message */
    size_t                    n_before;
};

/* How many of its messages stand among its first `length` entries. */
size_t wa_messages_before(const struct wa_doc_node *node, uint32_t length);

/* How many of its events stand from an index on, before another. */
size_t wa_events_between(const struct wa_doc_node *node, uint32_t from, uint32_t to);

/* How much of it is wanted. */
struct wa_doc_opts {
    bool           no_checkpoints;
    bool           every_turn;  /* of each turn the last checkpoint alone */
    bool           latest_only; /* the last checkpoint alone: for what is nested */
    unsigned       nested;      /* how deep it stands in another */
    struct upp_str agent_id;    /* no text: as the log has it */
    /* The id of an agent, by name; NULL or no text: unknown. */
    struct upp_str (*id_of)(void *arg, struct upp_str agent);
    void *arg;
};

/* The nodes of a tree in the order in which they were made, without their messages. */
WEFT_SUSPENDS int wa_tree_nodes(struct wl_store *s, const struct wl_owner *o, struct wb_uuid tree, struct wb_arena *a,
                                struct wa_doc_node **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;

/* Its messages that everybody sees, from the entry node->length on, in place of those it had. */
WEFT_SUSPENDS int wa_node_read(struct wl_store *s, const struct wl_owner *o, struct wa_doc_node *node,
                               struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* ThreadTreeJSON as data, and its nodes with their messages. */
WEFT_SUSPENDS int wa_tree_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                              struct wb_arena *a, struct wm_tree_doc *ret, struct wa_doc_node **nodes,
                              struct upp_err *err) UPP_MUST_CHECK;

/* SessionJSON as data. */
WEFT_SUSPENDS int wa_session_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                 const struct wa_doc_opts *opts, struct wb_arena *a, struct wm_session *ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The same, kept in memory and read on: what was read once is not read again. *ret is good until the next call. The
 * options are the same every time. */
struct wa_doc;
struct wa_doc    *wa_doc_new(void); /* NULL: no memory */
void              wa_doc_free(struct wa_doc *d);
WEFT_SUSPENDS int wa_doc_read(struct wa_doc *d, struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                              const struct wa_doc_opts *opts, struct wm_session *ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Where the checkpoints are that came with a document: a value of this space under the thread's id. A line of numbers
 * (uap.threadLength of each), then SessionJSON without the messages of its nodes. */
#define WA_IMPORTED WL_IMPORTED

/* A document as a new thread: ids are minted, those of the document are kept beside them; an alias leads from the
 * document's id to it (where that is taken: -UPP_EBUSY, or with `anyway` none does). Nothing runs, nothing waits.
 * `closing`: results for the calls that are open behind the current node; NULL: none. No document shows them as long as
 * nothing follows them, and whoever answers the calls does so in their place (wa_open_imported). */
WEFT_SUSPENDS int wa_session_put(struct wl_store *s, const struct wl_owner *o, const struct wm_session *doc,
                                 const struct upp_message *closing, bool anyway, struct wb_arena *a,
                                 struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
