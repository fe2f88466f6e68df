/* server/doors/conversation/messages.h — the messages of a request that sends its conversation: a whole conversation,
 * sent anew each time.
 *
 * What a client says about the past has no authority, with one exception: calls of its own tools and their results,
 * which nobody else can know. System messages are the system prompt of a gateway, and refused or marked by any other
 * agent.
 */
#pragma once

#include "run/engine.h"
#include "server/doors/start.h"
#include "server/doors/system_text.h"
#include "server/http/body.h"

enum {
    SV_CONVERSATION_DIGEST = 64, /* hex digits of a SHA-256 */
    SV_CONVERSATION_MAX = 4096,
};

struct sv_conversation_messages {
    struct sv_entries list;      /* without system messages */
    size_t next;                 /* index of the first one after the last assistant message: what is new */
    struct upp_str instructions; /* the texts of all system messages, for a gateway; empty: none */
    yyjson_val *system;          /* the first of them; NULL: none */

    /* Names of the conversation before the last assistant message, and of all of it. */
    char before[SV_CONVERSATION_DIGEST + 1], all[SV_CONVERSATION_DIGEST + 1];
};

/* Building one: a message at a time, in order. */
struct sv_conversation_building {
    struct sv_exchange *x;
    const struct sv_body *body;
    const struct wr_agent_def *agent; /* that takes system messages, or refuses them; NULL: none */
    const struct upp_message *calls;  /* the message before all: the first ones may be results of it; NULL: none */
    struct sv_conversation_messages *to;
    size_t max;
    struct sv_system system;
    struct wb_buf digested; /* the conversation so far, in one spelling */
    size_t before;          /* how much of it is before the last assistant message */
};

int sv_conversation_begin(struct sv_conversation_building *b, struct sv_exchange *x, const struct sv_body *body,
                          const struct wr_agent_def *agent, size_t max, struct sv_conversation_messages *to,
                          struct upp_err *err) UPP_MUST_CHECK;
void sv_conversation_done(struct sv_conversation_building *b);

/* Adds a message that `at` describes. Results of one round become one message, and so do calls right after the message
 * that made them. -UPP_EINVALID: a result of no call, a call without a result. */
int sv_conversation_push(struct sv_conversation_building *b, yyjson_val *at, uint8_t role, struct upp_part *parts,
                         size_t n, struct upp_err *err) UPP_MUST_CHECK;
int sv_conversation_push_system(struct sv_conversation_building *b, yyjson_val *at, const struct upp_message *m,
                                struct upp_err *err) UPP_MUST_CHECK;
/* The last one is added. `at`: the list. */
int sv_conversation_end(struct sv_conversation_building *b, yyjson_val *at, struct upp_err *err) UPP_MUST_CHECK;

/* How many of its parts of these kinds have the id. */
size_t sv_conversation_count(const struct upp_message *m, unsigned kinds, struct upp_str id);

/* A text as the result of a call: a JSON string. */
int sv_conversation_result(struct wb_arena *a, struct upp_str call, struct upp_str text, struct upp_part *ret,
                           struct upp_err *err) UPP_MUST_CHECK;

/* The text of a message: its text parts, joined as answers of runs are (dialects/chat). */
int sv_conversation_text(struct wb_buf *out, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;

/* The new messages as answers to open calls, if they are results of tools. 1; 0: they are not. */
int sv_conversation_answers(struct sv_exchange *x, const struct sv_conversation_messages *m, struct sv_answers *ret,
                            struct upp_err *err) UPP_MUST_CHECK;
