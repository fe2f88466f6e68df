/* server/doors/ui/ui.h — /api/chat: the chat of the AI SDK (useChat, DefaultChatTransport).
 *
 * A chat is a thread; its id is the client's, or that of any thread. An edited message and an answer made anew are
 * branches of it.
 */
#pragma once

#include "log/log.h"
#include "run/engine.h"
#include "server/doors/start.h"
#include "server/http/body.h"
#include "server/http/route.h"

extern const struct sv_door sv_door_ui;

/* A request: what is new in it, and where it belongs.
 *
 * The client sends all messages of the chat, or the last one. Only the last one is read: a user's message, or the
 * assistant message with outputs and approvals added. Its position is given by the id of the assistant message
 * before it, which is ours. */

struct sv_ui_request {
    struct sv_body body;
    struct upp_str chat;       /* id of the chat */
    yyjson_val *list;          /* all messages; NULL: the request has the last one alone */
    size_t n_system;           /* how many of the messages are a client's system messages */
    yyjson_val *last;          /* the last message; NULL: none, and regenerate */
    struct upp_str before;     /* id of the assistant message before it; NULL: none */
    struct upp_str message_id; /* of the message that is edited or made anew; NULL: none */
    struct upp_str last_id;    /* of the last message; NULL: none */
    bool question;             /* the last message is a user's */
    bool regenerate;
    bool continues; /* the last message is an assistant's: outputs and approvals */
};

int sv_ui_read(struct sv_exchange *x, struct sv_ui_request *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The last message as an entry: texts and files. */
WEFT_SUSPENDS int sv_ui_entry(struct sv_exchange *x, const struct sv_ui_request *q, struct wm_entry *ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* The system messages of the request (server/doors/system_text.h): *text of all for a gateway, otherwise entries of
 * those after the last answer. Those that the agent does not take are refused, wherever they are. */
WEFT_SUSPENDS int sv_ui_system(struct sv_exchange *x, const struct sv_ui_request *q, const struct wr_agent_def *agent,
                               struct upp_str *text, struct sv_entries *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Has the message the id of the run's answer? */
bool sv_ui_is_answer(struct upp_str message, const struct wm_run *run);

/* The outputs and approvals in the last message for calls that are pending. -UPP_EINVALID: none; -UPP_EREFUSED: an
 * output for a call that needs an approval. */
int sv_ui_answers(struct sv_exchange *x, const struct sv_ui_request *q, const struct wr_run_info *run,
                  struct sv_answers *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Where a message belongs in its thread. */

/* Where the run begins: sets start->run.node. 1: the request's message is to be submitted there; 0: an answer is made
 * anew, and its question is there. -UPP_ENOTFOUND: an edit of a message that the chat does not have. */
WEFT_SUSPENDS int sv_ui_place(struct sv_exchange *x, const struct sv_ui_request *q, struct sv_start *start,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Has the chat the message of a request that neither edits nor regenerates, with its id and its content, among its last
 * entries? 1: *run is the run that it has started. */
WEFT_SUSPENDS int sv_ui_asked(struct sv_exchange *x, const struct sv_ui_request *q, const struct upp_message *m,
                              const struct wl_thread *t, struct wb_uuid *run, struct upp_err *err) UPP_MUST_CHECK;

/* The newest run of the thread, if it is another one than that of the message: 1: *run. 0: the message is its answer,
 * or not of this chat. The message is a user's, by the client's id or ours, or an answer, by the id of its stream. */
WEFT_SUSPENDS int sv_ui_newer(struct sv_exchange *x, const struct wl_thread *t, struct upp_str message,
                              struct wb_uuid *run, struct upp_err *err) UPP_MUST_CHECK;
