/* cli/chat/commands.h — what the commands of the chat share. */
#ifndef CLI_CHAT_COMMANDS_H
#define CLI_CHAT_COMMANDS_H

#include "cli/chat/chat.h"

/* "/v1/threads/THREAD" + rest, in c->arena. -UPP_EINVALID: nothing was said yet. */
int cli_chat_path(struct cli_chat *c, const char *rest, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* /tree and /switch. */
WEFT_SUSPENDS int cli_chat_tree(struct cli_chat *c, struct upp_str rest, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int cli_chat_switch(struct cli_chat *c, struct upp_str to, struct upp_err *err) UPP_MUST_CHECK;

#endif
