/* server/doors/conversation/conversation.h — the thread that a chat request continues.
 *
 * A chat client sends the whole conversation each time and no id. The conversation is its own name: the digest of a
 * request's messages is an alias of its run. A later request whose messages are those, the answer, and more continues
 * the run's thread; on a new branch if the thread went on without it. A conversation that is edited or unknown becomes
 * a new thread, whose calls and results are what the client says: shown to the model, never answers to open calls.
 *
 * Conversations may be the same up to the calls that a client has to answer. So the ids of these runs' calls are
 * positions in the log (WR_CALL_IDS): each leads to its run, which must have begun, or gone on, with the messages of
 * the request.
 */
#pragma once

#include "server/doors/conversation/messages.h"
#include "server/doors/run_stream.h"

struct sv_conversation_place {
    struct wl_thread thread; /* id all zero: none, it is a new conversation */
    struct wb_uuid waits;    /* the run that waits for the results in the request; all zero: none */
    bool made;               /* the thread was made for the run before (SV_MADE_THREAD) */
    uint64_t node;       /* what follows belongs here in its tree, on a fork if the thread ends elsewhere or is ... */
    uint32_t length;     /* ... busy (wr_start.forks); node 0: at the thread's end */
    struct wb_uuid ends; /* the run that waited there, and ends as another agent goes on; all zero: none */
    bool named;          /* the request has its id: what does not fit there is refused, never a new thread */
    const struct upp_message *calls; /* the place is right after them: they do not wait any more, and the request ... */
    const struct upp_message *results; /* ... has results for them; those that the log has; NULL: none */
};

/* Finds where the new messages belong, or the answers of a request that has no messages for them (approvals). Nothing
 * is stored before the run starts. */
WEFT_SUSPENDS int sv_conversation_find_place(struct sv_exchange *x, struct upp_str agent,
                                             const struct sv_conversation_messages *m, const struct sv_answers *answers,
                                             struct sv_conversation_place *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The place of a request that says `store: false`: a thread of its own, which is noted (run/unstored.c), or a run that
 * waits on such a thread. For other places -UPP_EINVALID if the request names them. Before the place is used. */
WEFT_SUSPENDS int sv_conversation_unstored(struct sv_exchange *x, struct sv_conversation_place *place,
                                           struct sv_start *s, struct upp_err *err) UPP_MUST_CHECK;

/* Erases the thread of such a request, if its run has ended. If that fails it is tried again later. */
WEFT_SUSPENDS void sv_conversation_erase(struct sv_exchange *x, const struct sv_start *s);

/* The entry of the log that the id of a call leads to (WR_CALL_IDS), and which part of it. False: to none. */
bool sv_call_entry(struct upp_str call, struct wb_uuid *entry, uint32_t *part);

/* Where what follows a run belongs: its thread, or a fork of it if that went on without it. Waits if the run does. */
WEFT_SUSPENDS int sv_conversation_after(struct sv_exchange *x, const struct wm_run *run,
                                        struct sv_conversation_place *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same for a run that has ended, and a request with the result of a call of a client's tool that it has made: the
 * place is after that call, on a fork. A call of anything else, or of another run: nothing changes. */
WEFT_SUSPENDS int sv_conversation_after_call(struct sv_exchange *x, const struct wm_run *run, struct upp_str call,
                                             struct sv_conversation_place *place, struct upp_err *err) UPP_MUST_CHECK;

/* Another agent than that of the run that waits is asked, with the output of this call of a client's tool: a run of
 * that agent continues after the call, and the one that waits ends with its start. 1; 0: the run that waits goes on
 * itself, as it waits for more than outputs of that message's calls, or nothing of it is stored. */
WEFT_SUSPENDS int sv_conversation_take_over(struct sv_exchange *x, struct upp_str call,
                                            struct sv_conversation_place *place, struct upp_err *err) UPP_MUST_CHECK;

/* Adds the results that the log has to those of the client: a message of calls has all of its results after it. */
int sv_conversation_add_results(struct wb_arena *a, const struct sv_conversation_place *place,
                                struct sv_conversation_messages *m, struct upp_err *err) UPP_MUST_CHECK;

/* Starts a run at a place, or lets the one that waits there continue with the answers in *s. The digest of the messages
 * becomes an alias of the run. To be called where the thread is at home. `from`: what the client has of the run
 * already.
 */
WEFT_SUSPENDS int sv_conversation_start(struct sv_exchange *x, const struct sv_conversation_place *place,
                                        const struct sv_conversation_messages *m, struct sv_start *s,
                                        struct wr_from *from, struct wb_uuid *run, struct upp_err *err) UPP_MUST_CHECK;

/* A request that was sent before: its run is joined, and no second one starts.
 *
 * A request is known by its Idempotency-Key. Without one it is known by its conversation (conversation.h), but only if
 * the client says that it repeats itself: the same question twice may as well be meant, by one who wants two answers.
 * OpenAI's clients say it with x-stainless-retry-count. Results of tools say it themselves: they are for one run.
 */

/* A run that is to be joined, on the loop where it is at home. */
struct sv_joining {
    struct wm_run run;
    bool results;       /* the request continued the run with results: its answer begins there */
    int64_t started_ms; /* when the request started or answered the run, with a key; 0: not told */
};

/* Does the client say that it has sent the request before? */
bool sv_join_repeated(const struct sv_exchange *x);

/* The run of a request before this one: with the same Idempotency-Key, or with the same messages. 1; 0: none. */
WEFT_SUSPENDS int sv_join_key(struct sv_exchange *x, const struct wr_start *start, struct sv_joining *ret,
                              struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int sv_join_messages(struct sv_exchange *x, struct upp_str agent,
                                   const struct sv_conversation_messages *m, struct sv_joining *ret,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Is the run's answer that to a request which is repeated, and not to one of another day? It is still at work, or was
 * completed less than a minute ago. */
bool sv_join_recent(const struct wm_run *run);

/* Where the answer to this request begins and, known by a key, ends. To be called where the run is at home. */
WEFT_SUSPENDS int sv_join_from(struct sv_exchange *x, const struct sv_joining *j, struct sv_run_stream *ret,
                               struct upp_err *err) UPP_MUST_CHECK;

/* Continues with `answer` on the loop where the run is at home. */
WEFT_SUSPENDS int sv_join_go(struct sv_exchange *x, const struct sv_joining *j, sv_handler *answer,
                             struct upp_err *err) UPP_MUST_CHECK;

/* Another request with the same key, or of the same conversation, was first with *run: continues as sv_join_go. */
WEFT_SUSPENDS int sv_join_other(struct sv_exchange *x, const struct wr_start *start, struct wb_uuid run,
                                struct sv_joining *j, sv_handler *answer, struct upp_err *err) UPP_MUST_CHECK;

/* After a request: one that failed because the same one was first, with its key, joins that. Otherwise `r`. */
WEFT_SUSPENDS int sv_join_failed(struct sv_exchange *x, int r, const struct wr_start *start, struct sv_joining *j,
                                 sv_handler *answer, struct upp_err *err) UPP_MUST_CHECK;
