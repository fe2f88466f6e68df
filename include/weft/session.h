/* weft/session.h — sessions (UAP 6): an agent with a conversation that is kept, step by step.
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
 * A session is a thread of the log of its runtime: in memory, or in the store that the runtime was opened with, where
 * it survives whatever ends the process. A checkpoint is a place in that log and costs nothing beyond the step.
 *
 * One call at a time: a second one while a run works is -UPP_EINVALID.
 */
#ifndef WEFT_SESSION_H
#define WEFT_SESSION_H

#include <weft/agent.h>
#include <weft/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A store of the program's own. Keys are "session:ID"; data is SessionJSON. Called when a session is saved: by
 * weft_session_save, and after each automatic checkpoint. All may wait. */
struct weft_persistence {
    void *arg;
    WEFT_SUSPENDS int (*save)(void *arg, struct upp_str key, struct upp_str data, struct upp_err *err);
    /* *ret is freed by upp_text_free; no text with 0: there is none. */
    WEFT_SUSPENDS int (*load)(void *arg, struct upp_str key, struct upp_str *ret, struct upp_err *err);
    WEFT_SUSPENDS int (*erase)(void *arg, struct upp_str key, struct upp_err *err); /* UAP: delete. None there: 0 */
};

enum weft_interval { WEFT_EVERY_STEP = 0, WEFT_EVERY_TURN };

struct weft_session_opts {
    uint32_t                       size;
    bool                           no_checkpoints; /* UAP: checkpoints = false */
    uint8_t                        interval;       /* enum weft_interval */
    const char                    *id;             /* UUIDv4; NULL: a new one. -UPP_EBUSY: there is one already */
    const char                    *metadata;       /* JSON object; NULL: {} */
    const struct weft_persistence *persistence;    /* borrowed; NULL: the runtime's log alone */
};

struct weft_session;

UPP_API WEFT_SUSPENDS int weft_session_new(struct weft_agent *a, const struct weft_session_opts *opts,
                                           struct weft_session **ret, struct upp_err *err) UPP_MUST_CHECK;

/* One that is there already: in the runtime's store, else what opts->persistence has saved under its id.
 * -UPP_ENOTFOUND. */
UPP_API WEFT_SUSPENDS int weft_session_open(struct weft_agent *a, struct upp_str id,
                                            const struct weft_session_opts *opts, struct weft_session **ret,
                                            struct upp_err *err) UPP_MUST_CHECK;

/* Lets go of it; what is in the log stays there. Before the runtime closes. NULL is fine. */
UPP_API void weft_session_close(struct weft_session *s);
UPP_API void weft_session_closep(struct weft_session **s);

/* Also removes it from the log, and from opts->persistence. */
UPP_API WEFT_SUSPENDS int weft_session_erase(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;

UPP_API struct upp_str     weft_session_id(const struct weft_session *s); /* all three: good as long as the session */
UPP_API struct weft_agent *weft_session_agent(const struct weft_session *s);
UPP_API struct upp_str     weft_session_metadata(const struct weft_session *s); /* JSON object */

/* Read from the log at the first call; belongs to the session. */
UPP_API WEFT_SUSPENDS int weft_session_tree(struct weft_session *s, struct weft_tree **ret,
                                            struct upp_err *err) UPP_MUST_CHECK;

/* ---- Running: as weft_agent_run_with and weft_agent_stream; what came before is the session's ---------------- */

UPP_API WEFT_SUSPENDS int weft_session_run(struct weft_session *s, struct upp_str text, struct upp_turn **ret,
                                           struct upp_err *err) UPP_MUST_CHECK;
/* in->history and in->thread must be empty: -UPP_EINVALID. */
UPP_API WEFT_SUSPENDS int weft_session_run_with(struct weft_session *s, const struct upp_input *in,
                                                struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_session_stream(struct weft_session *s, const struct upp_input *in, const struct weft_stream_opts *opts,
                                struct weft_stream **ret, struct upp_err *err) UPP_MUST_CHECK;

/* A run that the end of a process cut short goes on from its last checkpoint: what was done is not done again. Until
 * then the session refuses other runs (-UPP_EBUSY), or is restored, which ends it. -UPP_ENOTFOUND: none was cut short.
 */
UPP_API WEFT_SUSPENDS int weft_session_resume(struct weft_session *s, struct upp_turn **ret,
                                              struct upp_err *err) UPP_MUST_CHECK;

/* ---- Queries: UAP's query() beside the conversation ---------------------------------------------------------- */

/* As weft_query, also while a run of the session works. Its thread is a node of the session's tree that sees nothing of
 * the others: it is kept with the session and stands in its JSON, and the session stays where it is. Free the results
 * before the session is closed. */
UPP_API WEFT_SUSPENDS int weft_session_query(struct weft_session *s, struct upp_str text,
                                             struct weft_query_result **ret, struct upp_err *err) UPP_MUST_CHECK;

/* One that the session has, by its thread's id, to be gone on with by weft_query_continue: with its thread, without a
 * turn. One that was cut short is ended. -UPP_ENOTFOUND. */
UPP_API WEFT_SUSPENDS int weft_session_query_open(struct weft_session *s, struct upp_str thread,
                                                  struct weft_query_result **ret, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Checkpoints ------------------------------------------------------------------------------------------- */

/* UAP's Checkpoint. Good until the session's next call, which may be given what it has. */
struct weft_checkpoint {
    struct upp_str            id, session_id;
    int64_t                   time_ms;
    uint32_t                  step;
    struct upp_str            node; /* UAP: threadId */
    struct weft_state         state;
    const struct upp_message *messages; /* UAP: state.messages: those of the run so far, its input first */
    size_t                    n_messages;
    const struct upp_str     *reasoning;
    size_t                    n_reasoning;
    struct upp_str            subagents; /* JSON: call id -> SessionJSON */
    struct upp_str            metadata;  /* JSON */
};

/* How many; the i-th, in the order in which they were made; the latest has the highest number. */
UPP_API WEFT_SUSPENDS int weft_session_checkpoints(struct weft_session *s, size_t *ret,
                                                   struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int weft_session_checkpoint(struct weft_session *s, size_t i, struct weft_checkpoint *ret,
                                                  struct upp_err *err) UPP_MUST_CHECK; /* -UPP_ENOTFOUND */

/* The session is where it was then. Nothing is added to the tree before the next run, which branches there; later
 * checkpoints and the branch they stand on stay. */
UPP_API WEFT_SUSPENDS int weft_session_restore(struct weft_session *s, struct upp_str checkpoint,
                                               struct upp_err *err) UPP_MUST_CHECK;

/* A branch from the end of a node; *ret, its id, is good as long as the session. It is not checked out. */
UPP_API WEFT_SUSPENDS int weft_session_fork(struct weft_session *s, struct upp_str node, struct upp_str *ret,
                                            struct upp_err *err) UPP_MUST_CHECK;

/* What was changed in the tree goes into the log, and the whole into opts->persistence. */
UPP_API WEFT_SUSPENDS int weft_session_save(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;

/* ---- SessionJSON ------------------------------------------------------------------------------------------- */

/* Text is freed by upp_text_free. */
UPP_API WEFT_SUSPENDS int weft_session_to_json(struct weft_session *s, struct upp_str *ret,
                                               struct upp_err *err) UPP_MUST_CHECK;

/* Checked whole before anything is made of it: -UPP_EINVALID with a pointer. Ids are kept as they are; opts->id and
 * opts->metadata must be NULL. Calls that are open at its end: a run whose messages begin with results answers them. */
UPP_API WEFT_SUSPENDS int weft_session_from_json(struct weft_agent *a, struct upp_str json,
                                                 const struct weft_session_opts *opts, struct weft_session **ret,
                                                 struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
