/* weft/session.h — sessions (UAP 6): an agent with a conversation that is stored step by step.
 *
 *     struct weft_session *s;
 *     if (weft_session_new(coder, NULL, &s, &err) < 0 ||
 *         weft_session_run(s, UPP_STR("Create a hello world program"), &turn, &err) < 0)
 *         ...
 *     struct weft_checkpoint first;
 *     r = weft_session_checkpoint(s, 0, &first, &err);
 *     r = weft_session_restore(s, first.id, &err);                        // adds nothing
 *     r = weft_session_run(s, UPP_STR("Add logging instead"), &turn, &err); // branches there
 *
 * A session is a thread in the log of its runtime: in memory, or in the store that the runtime was opened with, where
 * it survives crashes. A checkpoint is a position in that log; it costs nothing beyond the step.
 *
 * One call at a time: while a run is active, other calls return -UPP_EINVALID, except for queries, reading checkpoints
 * and weft_session_to_json.
 */
#pragma once

#include <weft/agent.h>
#include <weft/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A store supplied by the program. Keys are "session:ID", data is SessionJSON. weft_session_save and each automatic
 * checkpoint call save. All three are required and may wait. */
struct weft_persistence {
    void *arg;
    WEFT_SUSPENDS int (*save)(void *arg, struct upp_str key, struct upp_str data, struct upp_err *err);
    /* *ret is freed with upp_text_free; 0 with NULL: not found. */
    WEFT_SUSPENDS int (*load)(void *arg, struct upp_str key, struct upp_str *ret, struct upp_err *err);
    WEFT_SUSPENDS int (*erase)(void *arg, struct upp_str key, struct upp_err *err); /* UAP: delete. Not found: 0 */
};

enum weft_interval { WEFT_EVERY_STEP = 0, WEFT_EVERY_TURN };

struct weft_session_opts {
    uint32_t size;
    bool no_checkpoints;                        /* UAP: checkpoints = false */
    uint8_t interval;                           /* enum weft_interval */
    const char *id;                             /* UUIDv4; NULL: a new one. -UPP_EBUSY: the id is taken */
    const char *metadata;                       /* JSON object; NULL: {} */
    const struct weft_persistence *persistence; /* borrowed; NULL: only the runtime's log */
};

struct weft_session;

UPP_API WEFT_SUSPENDS int weft_session_new(struct weft_agent *a, const struct weft_session_opts *opts,
                                           struct weft_session **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Opens an existing session: from the runtime's store, else from opts->persistence. -UPP_ENOTFOUND. */
UPP_API WEFT_SUSPENDS int weft_session_open(struct weft_agent *a, struct upp_str id,
                                            const struct weft_session_opts *opts, struct weft_session **ret,
                                            struct upp_err *err) UPP_MUST_CHECK;

/* Frees the handle; the log keeps the session. Call it before the runtime is closed. Accepts NULL. */
UPP_API void weft_session_close(struct weft_session *s);
UPP_API void weft_session_closep(struct weft_session **s);

/* Removes the session from the log (docs/sessions.md) and from opts->persistence. The handle remains to be closed. */
UPP_API WEFT_SUSPENDS int weft_session_erase(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;

UPP_API struct upp_str weft_session_id(const struct weft_session *s); /* all three: valid as long as the session */
UPP_API struct weft_agent *weft_session_agent(const struct weft_session *s);
UPP_API struct upp_str weft_session_metadata(const struct weft_session *s); /* JSON object */

/* The session's tree, read from the log on the first call; belongs to the session. */
UPP_API WEFT_SUSPENDS int weft_session_tree(struct weft_session *s, struct weft_tree **ret,
                                            struct upp_err *err) UPP_MUST_CHECK;

/* Running: like weft_agent_run_with and weft_agent_stream, with the session's history. */

UPP_API WEFT_SUSPENDS int weft_session_run(struct weft_session *s, struct upp_str text, struct upp_turn **ret,
                                           struct upp_err *err) UPP_MUST_CHECK;
/* in->history and in->thread must be empty, else -UPP_EINVALID. */
UPP_API WEFT_SUSPENDS int weft_session_run_with(struct weft_session *s, const struct upp_input *in,
                                                struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_session_stream(struct weft_session *s, const struct upp_input *in, const struct weft_stream_opts *opts,
                                struct weft_stream **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Continues a run that the end of its process interrupted, from its last checkpoint; completed work is not repeated.
 * Until then other runs of the session fail with -UPP_EBUSY; weft_session_restore ends the interrupted run instead.
 * -UPP_ENOTFOUND: no run was interrupted. */
UPP_API WEFT_SUSPENDS int weft_session_resume(struct weft_session *s, struct upp_turn **ret,
                                              struct upp_err *err) UPP_MUST_CHECK;

/* Queries: UAP's query(), outside the conversation. */

/* Like weft_query, also while a run of the session is active. Its thread is a node of the session's tree that sees no
 * other node; it is stored with the session and is part of its JSON. The session's position does not change. Free the
 * results before the session is closed. */
UPP_API WEFT_SUSPENDS int weft_session_query(struct weft_session *s, struct upp_str text,
                                             struct weft_query_result **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Finds a query of the session by its thread's id, for weft_query_continue: the result has the thread and no turn. An
 * interrupted run of it is ended. -UPP_ENOTFOUND. */
UPP_API WEFT_SUSPENDS int weft_session_query_open(struct weft_session *s, struct upp_str thread,
                                                  struct weft_query_result **ret, struct upp_err *err) UPP_MUST_CHECK;

/* UAP's Checkpoint. Valid until the next call on the session, which may take its members as arguments. */
struct weft_checkpoint {
    struct upp_str id, session_id;
    int64_t time_ms;
    uint32_t step;
    struct upp_str node; /* UAP: threadId */
    struct weft_state state;
    const struct upp_message *messages; /* UAP: state.messages: those of the run so far, input first */
    size_t n_messages;
    const struct upp_str *reasoning;
    size_t n_reasoning;
    struct upp_str subagents; /* JSON: call id -> SessionJSON */
    struct upp_str metadata;  /* JSON */
};

/* The number of checkpoints; the i-th, in order of creation, so the latest is the last. */
UPP_API WEFT_SUSPENDS int weft_session_checkpoints(struct weft_session *s, size_t *ret,
                                                   struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int weft_session_checkpoint(struct weft_session *s, size_t i, struct weft_checkpoint *ret,
                                                  struct upp_err *err) UPP_MUST_CHECK; /* -UPP_ENOTFOUND */

/* Moves the session back to the checkpoint. Nothing is added to the tree before the next run, which branches there;
 * later checkpoints and their branch stay. */
UPP_API WEFT_SUSPENDS int weft_session_restore(struct weft_session *s, struct upp_str checkpoint,
                                               struct upp_err *err) UPP_MUST_CHECK;

/* Adds a branch at the end of a node and does not check it out; *ret is its id, valid as long as the session. */
UPP_API WEFT_SUSPENDS int weft_session_fork(struct weft_session *s, struct upp_str node, struct upp_str *ret,
                                            struct upp_err *err) UPP_MUST_CHECK;

/* Writes changes of the tree to the log, and the whole session to opts->persistence. */
UPP_API WEFT_SUSPENDS int weft_session_save(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;

/* Free *ret with upp_text_free. */
UPP_API WEFT_SUSPENDS int weft_session_to_json(struct weft_session *s, struct upp_str *ret,
                                               struct upp_err *err) UPP_MUST_CHECK;

/* Validates the whole document before it creates anything: -UPP_EINVALID with a JSON pointer. Ids stay the same;
 * opts->id and opts->metadata must be NULL. To answer calls that are open at its end, start a run whose new messages
 * begin with their results. */
UPP_API WEFT_SUSPENDS int weft_session_from_json(struct weft_agent *a, struct upp_str json,
                                                 const struct weft_session_opts *opts, struct weft_session **ret,
                                                 struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
