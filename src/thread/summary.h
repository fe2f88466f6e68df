/* thread/summary.h — a summary of a thread's tree: its nodes, how they begin, their sizes, their checkpoints, and the
 * threads that end in them.
 *
 * Works on a store alone, like session_doc.h. Memory does not grow with the conversation, except with its longest node.
 */
#pragma once

#include "thread/session_doc.h"

enum { WA_LOOK_WORDS = 120 /* bytes of the text with which a node begins */ };

struct wa_summary_checkpoint {
    struct upp_str id; /* UUID; of an imported checkpoint the document's id */
    int64_t time_ms;
    uint32_t step;
    uint32_t node;     /* index in the list of nodes */
    uint32_t messages; /* of its node, before the checkpoint */
    bool imported;     /* it came with a document */
};

struct wa_summary_thread {
    struct wb_uuid id;
    uint64_t head;
    uint32_t at;       /* wl_thread.at */
    uint32_t messages; /* of the node that the thread sees */
    bool below;        /* a sub-thread */
};

struct wa_summary_node {
    struct wl_node node;
    uint32_t parent;        /* index in the list; UINT32_MAX: this is the root */
    uint32_t branch;        /* messages of its parent that it sees */
    uint32_t messages;      /* its own messages */
    uint8_t role;           /* of the first message; 0: there is none */
    struct upp_str words;   /* the beginning of that message */
    struct upp_str foreign; /* its id in the imported document; empty: not imported */
    uint32_t *children;     /* indices, in order of creation */
    size_t n_children;
    struct wa_summary_checkpoint *checkpoints; /* in order of creation */
    size_t n_checkpoints;
    struct wa_summary_thread *threads; /* that end in this node, with the thread itself */
    size_t n_threads;
    bool aside; /* a query's node: its steps are not checkpoints of the conversation */
};

struct wa_tree_summary {
    struct wa_summary_node *nodes; /* in order of creation: parents before their children */
    size_t n;
    uint32_t root, current;
    uint32_t messages; /* of the current node that the thread sees */
    bool put_back;     /* after a restore or a fork: the next message branches off there */

    struct wa_summary_checkpoint **checkpoints; /* of all nodes, in order of creation */
    size_t n_checkpoints;
};

/* What the first message of a conversation is shown as: its text or, of an envelope, its task. */
struct upp_str wa_opening(struct wb_arena *a, struct upp_str text);

WEFT_SUSPENDS int wa_tree_summarise(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    struct wb_arena *a, struct wa_tree_summary *ret,
                                    struct upp_err *err) UPP_MUST_CHECK;
