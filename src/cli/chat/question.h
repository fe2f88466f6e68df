/* cli/chat/question.h — what an agent asks in a structured message, in a frame that Weft's own questions do not have.
 */
#pragma once

#include "cli/chat/view.h"

enum { CLI_QUESTION_MAX = 100000 /* bytes of a structured message, as in the page */ };

/* Shows the text of an agent in a frame that says who asks, if it is a structured message that asks. 1: it is shown; 0:
 * it is any other text. */
int cli_chat_question(struct cli_chat_view *v, struct upp_str asker, struct upp_str text,
                      struct upp_err *err) UPP_MUST_CHECK;
