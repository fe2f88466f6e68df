/* model/session.h — sessions as documents: UAP's SessionJSON, ThreadTreeJSON and CheckpointJSON.
 *
 * Plain data between the JSON and whoever has a session: trees in memory, the log, an import. Reading checks everything
 * before anything is built: every id that is referred to is there, parents and children agree, nothing goes round, no
 * id comes twice, depth and size have limits. Written with the seed's fields, in the seed's order; optional maps as {}.
 *
 * Keys of ours stand in the metadata maps: "uap.branchPoint" of a node (messages of its parent that it sees; absent:
 * all of them), "uap.branchEvents" (system events behind the last of these that it sees; absent: all),
 * "uap.threadLength" of a checkpoint (messages of its node before its run's input; absent: all of them). They are taken
 * out when read and put in when written, so that the map is otherwise the user's, token for token. One that says more
 * messages than there are is refused, as is one that is no number. "uap.own" of a checkpoint may be any value.
 *
 * Accepted: a name and a parentId that are null or absent; metadata (but not state.metadata) and subAgentStates that
 * are absent; threads without times, which then have the session's (a tree's alone has none); reasoning, plan and tool
 * that are null or absent. Times need a zone. A member of the seed's that comes twice in one object is refused; members
 * that the seed has not are dropped, as in messages (model/upp_json.h; there the first of two counts). Maps are kept
 * with what comes twice in them.
 */
#ifndef WM_SESSION_H
#define WM_SESSION_H

#include "model/upp_json.h"

#define WM_SESSION_VERSION "1.0.0"

enum {
    WM_SESSION_BYTES       = 256 << 20,
    WM_SESSION_NODES       = 1 << 16,
    WM_SESSION_DEPTH       = 4096, /* nodes on a path */
    WM_SESSION_CHECKPOINTS = 1 << 20,
    WM_SESSION_NESTED      = 8,       /* sessions within sessions */
    WM_SESSION_MESSAGES    = 1 << 24, /* of one thread */
    WM_SESSION_PLAN        = 1 << 16, /* steps of one plan */
    WM_SESSION_JSON        = 192, /* levels of arrays and objects: WJ_MAX_DEPTH for what is in a message, and ours */
};

#define WM_ALL_MESSAGES UINT32_MAX

struct wm_tree_node {
    struct upp_str        id, name;      /* name: no text: none */
    uint32_t              parent;        /* its place in the list; UINT32_MAX: the root */
    uint32_t              branch;        /* uap.branchPoint, or WM_ALL_MESSAGES */
    uint32_t              branch_events; /* uap.branchEvents, or WM_ALL_MESSAGES */
    uint32_t             *children;      /* places, in the order in which the document names them */
    size_t                n_children;
    struct wm_thread_json thread;
    bool                  untimed;  /* the document's thread has no times: they are left out again */
    struct upp_str        metadata; /* JSON object, without our keys; no text: absent */
};

struct wm_tree_doc {
    struct wm_tree_node *nodes;
    size_t               n;
    uint32_t             root, current;
};

struct wm_session;

struct wm_sub_session {
    struct upp_str     call; /* of the agent that asked it */
    struct wm_session *session;
};

struct wm_checkpoint {
    struct upp_str      id, time; /* time as text */
    uint32_t            step;
    uint32_t            node;   /* its place in the tree */
    uint32_t            length; /* uap.threadLength, or WM_ALL_MESSAGES */
    uint32_t            state_step;
    struct upp_message *messages;
    size_t              n_messages;
    struct upp_str      state_metadata; /* JSON object */
    struct upp_str     *reasoning;
    size_t              n_reasoning;
    bool                has_reasoning;
    struct upp_str      plan; /* JSON list of PlanSteps, checked; no text: none */
    struct upp_str      own;  /* "uap.own" of the checkpoint's metadata: the strategy's own value; no text: none */

    struct wm_sub_session *subs;
    size_t                 n_subs;
    struct upp_str         metadata; /* JSON object, without our keys; no text: absent */
};

struct wm_session {
    struct upp_str        id, agent_id, created, updated;
    struct wm_tree_doc    tree;
    struct wm_checkpoint *checkpoints;
    size_t                n_checkpoints;
    struct upp_str        metadata; /* JSON object; no text: absent */
};

WB_EXPORT_BEGIN

/* -UPP_EINVALID: err has the pointer and the reason; also for a version that is not 1.0.x (UAP-13.6c). -UPP_ELIMIT: it
 * is too long, too deep or too much; with the pointer too where there is a document. All lies in the arena. `json` is
 * parsed and checked whole. */
int wm_session_read(struct wb_arena *a, struct upp_str json, struct wm_session *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* Would wm_session_read take this value? It comes from wj_read, with the same limits, and the messages of its own tree
 * (not those in checkpoints) have been read and are good. Pointers in err begin at root. */
int wm_session_check(struct wb_arena *a, yyjson_val *root, struct upp_err *err) UPP_MUST_CHECK;

int wm_tree_read(struct wb_arena *a, struct upp_str json, struct wm_tree_doc *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Errors by wj_writer_check. */
void wm_session_write(struct wj_writer *w, const struct wm_session *s);
void wm_tree_write(struct wj_writer *w, const struct wm_tree_doc *t);

WB_EXPORT_END

#endif
