/* cli/log_view.h — the whole log of a thread, an entry a line: for whoever wants to know who said what, and when. */
#ifndef CLI_LOGGED_H
#define CLI_LOGGED_H

#include "base/buf.h"
#include "cli/store_reader.h"
#include "log/log.h"

/* Adds a line of JSON for each entry of the thread's path, in order: also those that only a run or a model sees, and
 * the places of those that were deleted. */
WEFT_SUSPENDS int cli_logged(struct cli_reading *rd, const struct wl_thread *t, struct wb_buf *out,
                             struct upp_err *err) UPP_MUST_CHECK;

#endif
