/* cli/runs/decide.h — what somebody who decides about a waiting call is shown and asked. */
#pragma once

#include <weft/fiber.h>
#include <yyjson.h>

#include "base/buf.h"

enum { CLI_DECISION_MAX = 4096 /* bytes of an answer */ };

/* Adds the tool and all of the arguments of an item of GET /v1/approvals, as cli_reveal does. */
void cli_waiting_call(struct wb_buf *out, yyjson_val *item);

/* Can somebody be asked? Standard input and standard error are terminals. */
bool cli_can_ask(void);

/* Asks on standard error and reads one line, trimmed. Keys that were pressed before the question are no answer to it:
 * nobody had seen it. The end of the input is an empty line. */
WEFT_SUSPENDS int cli_ask_person(const char *question, struct wb_buf *ret, struct upp_err *err) UPP_MUST_CHECK;
