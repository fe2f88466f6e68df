/* remote/remote.h — agents behind other servers, as models (docs/remote.md).
 *
 * The server has an agent with its own memory, tools and model; to us it is a model that remembers. So everything that
 * holds for calls of models holds for it: retries before the first output, cancelling, limits, streaming, recovery.
 */
#pragma once

#include <upp/model.h>
#include <upp/provider.h>

#include "upp/providers/adapter.h"
#include "base/arena.h"
#include "json/value.h"
#include "dialects/agentapi/decode.h"

/* "agentapi", "aitp", "envelopes"; ends with NULL. */
extern const char *const rm_protocols[];

/* A model of the agent at opts->base_url. `name` is the name it has here. `actor`: who calls it, of protocols with
 * actors, {"id": ..., "capabilities": [...]}; empty: "user". */
int rm_model_new(const char *protocol, const char *name, const struct upp_provider_opts *opts, struct upp_str actor,
                 struct upp_model **ret, struct upp_err *err) UPP_MUST_CHECK;

extern const struct upp__adapter rm_agentapi, rm_aitp, rm_envelopes;

/* Which conversation on the server a call continues, and what of the history it has not seen.
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

/* The two halves of the Agent API adapter. */

#define RM_AGENTAPI "agentapi"

/* How much of a content was passed on. */
struct rm_passed {
    uint32_t part; /* 1 + its index; 0: not opened yet */
    size_t n;
    uint64_t hash; /* of those bytes: what was passed on cannot be changed */
    uint8_t kind;
    bool closed;
};

/* Of one message; wd_aap_building.tag - 1 is its index. */
struct rm_passing {
    WB_VEC(struct rm_passed) contents;
    bool any, found;
};

/* A response being read. */
struct rm_response {
    bool ready; /* the decoder is initialised */
    struct wd_aap_decoder decoder;
    WB_VEC(struct rm_passing) messages;
};

int rm_agentapi_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);
int rm_agentapi_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err);
void rm_agentapi_done(struct upp__reader *r);
void rm_agentapi_error(yyjson_val *v, struct upp__provider_error *t);
