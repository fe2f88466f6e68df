/* cli/chat/commands.h — what the commands of the chat share. */
#pragma once

#include "cli/chat/chat.h"

/* "/v1/threads/THREAD" + rest, in c->arena. -UPP_EINVALID: nothing was said yet. */
int cli_chat_path(struct cli_chat *c, const char *rest, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* /tree and /switch. */
WEFT_SUSPENDS int cli_chat_tree(struct cli_chat *c, struct upp_str rest, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int cli_chat_switch(struct cli_chat *c, struct upp_str to, struct upp_err *err) UPP_MUST_CHECK;

/* /agent and /model: without a name they list what there is. */
WEFT_SUSPENDS int cli_chat_set_agent(struct cli_chat *c, struct upp_str name, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int cli_chat_set_model(struct cli_chat *c, struct upp_str name, struct upp_err *err) UPP_MUST_CHECK;

/* The agent of the thread's last run; none: *ret stays. */
WEFT_SUSPENDS int cli_chat_thread_agent(struct cli_chat *c, struct wb_buf *ret, struct upp_err *err) UPP_MUST_CHECK;

/* /new and /threads. */
int cli_chat_new(struct cli_chat *c, struct upp_str rest, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int cli_chat_threads(struct cli_chat *c, struct upp_str rest, struct upp_err *err) UPP_MUST_CHECK;

/* Goes to a thread, and to the agent of its last run. */
WEFT_SUSPENDS int cli_chat_enter(struct cli_chat *c, struct upp_str thread, struct upp_err *err) UPP_MUST_CHECK;
