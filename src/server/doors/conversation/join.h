/* server/doors/conversation/join.h — a request that was sent before: its run is joined, and no second one starts.
 *
 * A request is known by its Idempotency-Key. Without one it is known by its conversation (conversation.h), but only if
 * the client says that it repeats itself: the same question twice may as well be meant, by one who wants two answers.
 * OpenAI's clients say it with x-stainless-retry-count. Results of tools say it themselves: they are for one run.
 */
#pragma once

#include "server/doors/conversation/messages.h"
#include "server/doors/run_stream.h"

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
WEFT_SUSPENDS int sv_join_messages(struct sv_exchange *x, struct upp_str agent, const struct sv_chat_messages *m,
                                   struct sv_joining *ret, struct upp_err *err) UPP_MUST_CHECK;

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
