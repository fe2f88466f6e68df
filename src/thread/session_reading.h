/* thread/session_reading.h — a session while it is read: session_doc.c and session_points.c. */
#ifndef WA_SESSION_READING_H
#define WA_SESSION_READING_H

#include "thread/session_doc.h"
#include "base/vec.h"

/* How far a node was read. */
struct wa_progress {
    uint64_t key;
    uint64_t from;           /* position of the row to read next */
    size_t   settled;        /* of its checkpoints, those of rows before that */
    size_t   room, thinking; /* for messages and thoughts, in the lists of its node */
    WB_VEC(struct wm_checkpoint) checkpoints;
};

struct wa_reading {
    struct wl_store          *store;
    const struct wl_owner    *owner;
    const struct wl_thread   *thread;
    const struct wa_doc_opts *opts;
    struct wb_arena          *to;
    struct wb_arena           scratch;
    struct wa_doc_node       *nodes;
    size_t                    n_nodes;
    WB_VEC(struct wa_progress) progress; /* by node */
    WB_VEC(struct wm_sub_session) subs;  /* of the run that is read */
    struct wm_run         run;           /* whose rows are read; its id is all zero: of none */
    uint64_t              run_from;      /* position of its first row */
    bool                  ended, completed;
    size_t                first;    /* of its checkpoints, among those of the node */
    struct wm_checkpoint *imported; /* that came with a document; NULL: not looked for yet */
    size_t                n_imported;
    bool                  aside; /* it is a query's: its checkpoints are not the session's */
    bool                  anew;  /* something that was read is not as it was */
};

/* Into ret, whose tree is there already. */
WEFT_SUSPENDS int wa_read_checkpoints(struct wa_reading *x, struct wm_session *ret, struct upp_err *err) UPP_MUST_CHECK;

struct upp_str wa_time_text(struct wb_arena *a, int64_t ms);
struct upp_str wa_uuid_text(struct wb_arena *a, struct wb_uuid id);

#endif
