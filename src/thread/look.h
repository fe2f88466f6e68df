/* thread/look.h — the tree of a thread at a glance: its nodes, how they begin, how much they hold, the
 * checkpoints in them, and the threads that stand there.
 *
 * Works on a store alone, as session_doc.h does; what it takes does not grow with what was said, but for the longest
 * node.
 */
#ifndef WA_THREAD_LOOK_H
#define WA_THREAD_LOOK_H

#include "thread/session_doc.h"

enum {
    WA_LOOK_WORDS   = 120,     /* bytes of the words with which a node begins, at most */
    WA_LOOK_THREADS = 1 << 16, /* of one tree: no more are looked for */
};

struct wa_look_checkpoint {
    struct upp_str id; /* UUID; of an imported one what its document says */
    int64_t        time_ms;
    uint32_t       step;
    uint32_t       node;     /* its place in the list of nodes */
    uint32_t       messages; /* of its node, up to there */
    bool           imported; /* it came with a document */
};

/* A thread of the same owner whose head is this node. */
struct wa_look_thread {
    struct wb_uuid id;
    uint64_t       head;
    uint32_t       at;       /* wl_thread.at */
    uint32_t       messages; /* of the node that it has */
    bool           below;    /* a sub thread */
};

struct wa_look_node {
    struct wl_node             node;
    uint32_t                   parent;   /* its place in the list; UINT32_MAX: the root */
    uint32_t                   branch;   /* messages of its parent that it sees */
    uint32_t                   messages; /* of its own */
    uint8_t                    role;     /* of the first one; 0: there is none */
    struct upp_str             words;    /* with which that begins */
    struct upp_str             foreign;  /* its id in the document with which it came; no text: it came with none */
    uint32_t                  *children; /* places, in the order in which they were made */
    size_t                     n_children;
    struct wa_look_checkpoint *checkpoints; /* in the order in which they were made */
    size_t                     n_checkpoints;
    struct wa_look_thread     *threads; /* the thread itself among them */
    size_t                     n_threads;
    bool                       aside; /* a query beside the conversation: its steps are no checkpoints of that */
};

struct wa_look {
    struct wa_look_node *nodes; /* in the order in which they were made: parents before their children */
    size_t               n;
    uint32_t             root, current;
    uint32_t             messages; /* of the current node that the thread has */
    bool                 put_back; /* that is where a restore has put it, or a fork: what comes next branches there */

    struct wa_look_checkpoint **checkpoints; /* of all nodes, in the order in which they were made */
    size_t                      n_checkpoints;
};

WEFT_SUSPENDS int wa_thread_look(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                 struct wb_arena *a, struct wa_look *ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
