/* server/doors/responses/responses.h — /v1/responses: an agent as a model of OpenAI's Responses API.
 *
 * A response is a segment of a run, and a conversation is a thread. previous_response_id continues after that response,
 * on a new branch if the thread went on without it.
 */
#pragma once

#include "json/write.h"
#include "log/log.h"
#include "model/id.h"
#include "model/run.h"
#include "server/doors/conversation/conversation.h"
#include "server/doors/conversation/messages.h"
#include "server/http/route.h"

extern const struct sv_door sv_door_responses;

/* /v1/conversations: threads in the words of the Responses API. */

extern const struct sv_door sv_door_conversations;

/* The thread that the id of a conversation names: "conv_..." or any name that a thread has. One of another owner and
 * none at all get the same answer. */
WEFT_SUSPENDS int sv_conversation_find(struct sv_exchange *x, struct upp_str id, struct wl_thread *ret,
                                       struct upp_err *err) UPP_MUST_CHECK;

/* Members that would change the answer, and that runs do not have. */
int sv_responses_refuse(const struct sv_body *b, struct upp_err *err) UPP_MUST_CHECK;

/* The options of the run. `instructions` are added to the agent's prompt. model: `model` is an
 * option, not the agent. */
int sv_responses_options(struct sv_exchange *x, const struct sv_body *b, struct upp_str agent, bool model,
                         struct upp_str previous, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Responses that were created: reading, cancelling, their input, deleting. */

/* The run of a response, and which segment of it (0: the first) it is; x->thread is its thread. */
WEFT_SUSPENDS int sv_response_find(struct sv_exchange *x, struct upp_str id, struct wm_run *run, uint32_t *segment,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Responds with a response that has not ended. */
WEFT_SUSPENDS int sv_response_unfinished(struct sv_exchange *x, struct wb_uuid id, uint32_t segment,
                                         struct upp_err *err) UPP_MUST_CHECK;

WEFT_SUSPENDS int sv_response_get(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_response_cancel(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_response_input(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_response_delete(struct sv_exchange *x, struct upp_err *err);

/* `input` of a request: a text, or a list of items. */

struct sv_items {
    struct sv_conversation_messages messages;
    struct sv_answers answers; /* outputs and approvals for calls of a run that waits */
};

/* Reads `name` ("input", "items"). At a place where a run waits, outputs and approvals are for its calls; otherwise an
 * output needs its call before it, in the list or at the place (NULL: none). Items that a client sends back and that
 * only the server knows (reasoning, its own calls) are skipped. An item_reference is the item of that id, of any thread
 * of the client. */
WEFT_SUSPENDS int sv_items_read(struct sv_exchange *x, const struct sv_body *b, const char *name,
                                const struct wr_agent_def *agent, const struct sv_conversation_place *place,
                                struct sv_items *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The call that the first output of `input` is for; empty: there is none. */
struct upp_str sv_items_first_output(const struct sv_body *b);

/* Entries of the log as items.
 *
 * An item is a message's text, one reasoning part, one call or one result of the log. Its id contains the place, so
 * that a page can begin after any item. */

/* An item: of a message all its content, otherwise one part. */
struct sv_item {
    const struct wl_line *line;
    uint32_t part;
};

struct sv_item_page {
    uint64_t limit;
    bool up;
    uint32_t lo, hi;       /* positions on the path that are left */
    struct wm_id after;    /* node 0: from the beginning */
    struct sv_item *found; /* limit + 1 */
    size_t n;
};

/* Does the part belong to the item of its message? */
bool sv_item_is_content(const struct upp_part *p);

/* The parts of an entry that begin an item, in order; at most `max`. */
size_t sv_items_of(const struct wl_line *line, uint32_t *parts, size_t max);

void sv_item_put(struct wj_writer *w, const struct sv_item *i);
bool sv_item_parse(struct upp_str id, struct wm_id *ret);

/* Adds the items of an entry to a page that has room for them. */
int sv_item_take(struct sv_exchange *x, struct sv_item_page *p, const struct wl_line *line,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Responds with a list. */
int sv_items_write(struct sv_exchange *x, const struct sv_item *items, size_t n, bool more,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Responds with the page of the items of a path that the request asks for (`limit`, `order`, `after`). */
WEFT_SUSPENDS int sv_items_list(struct sv_exchange *x, const struct wl_path *path, struct upp_err *err) UPP_MUST_CHECK;
