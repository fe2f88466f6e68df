/* thread/session_reading.h — the state of reading a session, for session_doc.c and session_points.c. */
#pragma once

#include "thread/session_doc.h"
#include "base/vec.h"

/* How far a node was read. */
struct wa_progress {
    uint64_t key;
    uint64_t from;                     /* position of the row to read next */
    size_t n_final;                    /* number of its checkpoints from rows before `from`: final */
    size_t message_room, thought_room; /* capacity of its node's lists of messages and thoughts */
    WB_VEC(struct wm_checkpoint) checkpoints;
};

struct wa_reading {
    struct wl_store *store;
    const struct wl_owner *owner;
    const struct wl_thread *thread;
    const struct wa_doc_opts *opts;
    struct wb_arena *to;
    struct wb_arena scratch;
    struct wa_doc_node *nodes;
    size_t n_nodes;
    WB_VEC(struct wa_progress) progress; /* by node */
    WB_VEC(struct wm_sub_session) subs;  /* sub-agents of the run that is being read */
    struct wm_run run;                   /* whose rows are being read; id all zero: none */
    uint64_t run_from;                   /* position of its first row */
    bool ended, completed;
    size_t first;                   /* index of the run's first checkpoint among those of the node */
    struct wm_checkpoint *imported; /* checkpoints of the imported document; NULL: not read yet */
    size_t n_imported;
    bool is_query; /* the run is a query's: its checkpoints are not the session's */
    bool stale;    /* something that was read has changed: read everything again */
};

/* Adds the checkpoints to ret, whose tree is complete. */
WEFT_SUSPENDS int wa_read_checkpoints(struct wa_reading *x, struct wm_session *ret, struct upp_err *err) UPP_MUST_CHECK;

struct upp_str wa_time_text(struct wb_arena *a, int64_t ms);
struct upp_str wa_uuid_text(struct wb_arena *a, struct wb_uuid id);
