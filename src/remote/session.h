/* remote/session.h — which conversation on the server a call continues, and what of the history it has not seen.
 *
 * Each answer has a note in its metadata.PROTOCOL: the conversation's id on the server, and a hash of the history that
 * the server had then. The notes are stored and exported with the messages; nothing else is remembered. A call
 * continues from the newest answer
 *  1. whose note is of this agent on this branch (upp_request.session): a fork has another id, and so has a thread
 *     that was set back;
 *  2. whose history is the same as it was: nothing in it was edited or deleted;
 *  3. after which no answer was interrupted: of that the server knows more than we do.
 * Then only the messages after it are sent. Without such an answer the call begins a new conversation, with the
 * whole history.
 */
#pragma once

#include <upp/model.h>

#include "base/arena.h"
#include "json/value.h"

struct rm_session {
    size_t from;       /* the first message that the server has not seen */
    struct upp_str id; /* ours: of a new conversation, if there is no note. Empty: the request has none */
    yyjson_val *note;  /* metadata.PROTOCOL of the answer that it continues; NULL: a new conversation */
    uint64_t seen;     /* hash of what the server will have seen with this call */
};

/* All in `a`. -UPP_ENOMEM. */
int rm_session_find(struct wb_arena *a, const char *protocol, const struct upp_request *req, struct rm_session *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* The id of message i of the request on the server: the same on every attempt. */
struct upp_str rm_message_id(struct wb_arena *a, const struct rm_session *s, size_t i);

enum { RM_SEEN = 16 }; /* digits of a hash in a note */
struct upp_str rm_seen_text(uint64_t seen, char out[RM_SEEN + 1]);
