/* thread/session_extras.h — data of a node's messages that the log has and UPP's JSON has no member for.
 *
 * Authors, tool names of results, metadata and titles of parts, and the system events after a message are in
 * metadata.weft of that message, in the format of docs/dialects/upp.md: agent, name, parts, events; of a whole export
 * (wa_doc_opts) also title, model, provider, stop, usage. A prompt of another agent has `prompt`. Events before the
 * first message of a node are in a map that the caller chooses.
 */
#pragma once

#include "model/doc.h"
#include "thread/session_doc.h"
#include "base/vec.h"

/* What is around a message: all entries that were read, the last assistant message before it on its node, whose calls
 * name the tools of results (NULL: none), and what is known about the model's reply (NULL: nothing). */
struct wa_extras_around {
    const struct wl_line *lines;
    size_t n;
    const struct upp_message *caller;
    const struct wm_reply_info *reply;
};

/* Adds metadata.weft to the message of lines[0], with the events among the n - 1 entries after it. */
int wa_extras_message(struct wb_arena *a, const struct wa_doc_opts *opts, const struct wl_line *lines, size_t n,
                      const struct wa_extras_around *around, struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;

/* Adds the events of the lines to the map's `weft`; without events the map is unchanged. */
int wa_extras_events(struct wb_arena *a, const struct wa_doc_opts *opts, const struct wl_line *lines, size_t n,
                     struct upp_str *map, struct upp_err *err) UPP_MUST_CHECK;

/* The inverse. Members of unknown form stay in the metadata. */
struct wa_extras {
    struct wm_entry message;
    struct wm_entry *events;
    size_t n;
};
int wa_extras_take(struct wb_arena *a, const struct upp_message *m, const struct upp_message *caller,
                   struct wa_extras *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Moves the events out of a map. */
int wa_extras_take_events(struct wb_arena *a, struct upp_str *map, struct wa_extras *ret,
                          struct upp_err *err) UPP_MUST_CHECK;

/* The state of reading a session, for session_doc.c and session_points.c. */

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
