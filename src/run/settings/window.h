/* run/settings/window.h — how much of a conversation a model call gets. The log does not change.
 *
 * Tokens are estimated: a quarter of the bytes, 4 more per message, 1000 per media part (docs/middleware.md). A list
 * begins with a user message, so no result is without its call; the newest input and what follows it always stay.
 */
#pragma once

#include <upp/model.h>

struct wr_run;

uint64_t wr_message_tokens(const struct upp_message *m);
uint64_t wr_frame_tokens(const struct upp_request *q); /* of all but the messages */

/* Is it a message for OpenAI's API, which has calls and results in steps? */
bool wr_window_counts(const struct upp_message *m);

/* Keeps at most this many messages up to and including the newest input; 0: all. As in OpenAI's API, results, and
 * messages that only call tools, do not count. */
void wr_window_last(const struct wr_run *run, struct upp_request *q, uint64_t last);

/* Omits messages from the front until the request fits. False: even the input alone does not. */
bool wr_window_fit(const struct wr_run *run, struct upp_request *q, uint64_t room);
