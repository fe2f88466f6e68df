/* model/session.h — sessions as documents: UAP's SessionJSON, ThreadTreeJSON and CheckpointJSON.
 *
 * Plain structs between the JSON and the owner of a session: trees in memory, the log, an import. Reading checks
 * everything before anything is built: every referenced id exists, parents and children agree, there are no cycles and
 * no duplicate ids, depth and size have limits. Writing uses the seed's fields in the seed's order; optional maps as
 * {}.
 *
 * Our own keys in metadata maps: "uap.branchPoint" of a node (how many messages of its parent it sees; absent: all),
 * "uap.branchEvents" (how many system events after the last of these it sees; absent: all), "uap.threadLength" of a
 * checkpoint (how many messages of its node precede its run's input; absent: all). Reading removes them and writing
 * adds them, so that the map is otherwise the user's, token for token. A value that is not a number, or larger than the
 * number of messages, is refused. "uap.own" of a checkpoint may be any value.
 *
 * Accepted: a name and a parentId that are null or absent; metadata (but not state.metadata) and subAgentStates that
 * are absent; threads without times, which get the session's (none in a tree alone); reasoning, plan and tool that are
 * null or absent. Times need a zone. Duplicate members of the seed are refused; members unknown to the seed are
 * dropped, as in messages (model/upp_json.h; there the first of two counts). Maps keep their duplicate members.
 */
#pragma once

#include "model/upp_json.h"

#define WM_SESSION_VERSION "1.0.0"

enum {
    WM_SESSION_BYTES = 256 << 20,
    WM_SESSION_NODES = 1 << 16,
    WM_SESSION_DEPTH = 4096, /* nodes on a path */
    WM_SESSION_CHECKPOINTS = 1 << 20,
    WM_SESSION_NESTED = 8,         /* sessions within sessions */
    WM_SESSION_MESSAGES = 1 << 24, /* of one thread */
    WM_SESSION_PLAN = 1 << 16,     /* steps of one plan */
    WM_SESSION_JSON = 192,         /* nesting of arrays and objects: WJ_MAX_DEPTH inside a message, plus ours */
};

#define WM_ALL_MESSAGES UINT32_MAX

struct wm_tree_node {
    struct upp_str id, name; /* name: empty: none */
    uint32_t parent;         /* index in the list; UINT32_MAX: the root */
    uint32_t branch;         /* uap.branchPoint, or WM_ALL_MESSAGES */
    uint32_t branch_events;  /* uap.branchEvents, or WM_ALL_MESSAGES */
    uint32_t *children;      /* indexes, in the order of the document */
    size_t n_children;
    struct wm_thread_json thread;
    bool untimed;            /* the document's thread has no times: writing omits them too */
    struct upp_str metadata; /* JSON object, without our keys; empty: absent */
};

struct wm_tree_doc {
    struct wm_tree_node *nodes;
    size_t n;
    uint32_t root, current;
};

struct wm_session;

struct wm_sub_session {
    struct upp_str call; /* id of the call that asked the sub-agent */
    struct wm_session *session;
};

struct wm_checkpoint {
    struct upp_str id, time; /* time as text */
    uint32_t step;
    uint32_t node;   /* index in the tree */
    uint32_t length; /* uap.threadLength, or WM_ALL_MESSAGES */
    uint32_t state_step;
    struct upp_message *messages;
    size_t n_messages;
    struct upp_str state_metadata; /* JSON object */
    struct upp_str *reasoning;
    size_t n_reasoning;
    bool has_reasoning;
    struct upp_str plan; /* JSON list of PlanSteps, checked; empty: none */
    struct upp_str own;  /* "uap.own" of the checkpoint's metadata: the strategy's own value; empty: none */

    struct wm_sub_session *subs;
    size_t n_subs;
    struct upp_str metadata; /* JSON object, without our keys; empty: absent */
};

struct wm_session {
    struct upp_str id, agent_id, created, updated;
    struct wm_tree_doc tree;
    struct wm_checkpoint *checkpoints;
    size_t n_checkpoints;
    struct upp_str metadata; /* JSON object; empty: absent */
};

WB_EXPORT_BEGIN

/* Parses and checks all of `json`. -UPP_EINVALID: err has the pointer and the reason; also for a version other than
 * 1.0.x (UAP-13.6c). -UPP_ELIMIT: too long, too deep or too much; with the pointer if the document could be parsed. All
 * results are in the arena. */
int wm_session_read(struct wb_arena *a, struct upp_str json, struct wm_session *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* Would wm_session_read accept this value? It comes from wj_read, with the same limits; the caller has already read and
 * checked the messages of its own tree (not those in checkpoints). Pointers in err are relative to root. */
int wm_session_check(struct wb_arena *a, yyjson_val *root, struct upp_err *err) UPP_MUST_CHECK;

int wm_tree_read(struct wb_arena *a, struct upp_str json, struct wm_tree_doc *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Failures are reported by wj_writer_check. */
void wm_session_write(struct wj_writer *w, const struct wm_session *s);
void wm_tree_write(struct wj_writer *w, const struct wm_tree_doc *t);

WB_EXPORT_END
