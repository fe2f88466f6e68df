/* cli/log_view.h — the whole log of a thread, one line per entry. */
#pragma once

#include "base/buf.h"
#include "cli/progress.h"
#include "cli/store_reader.h"
#include "log/log.h"

/* Adds one line of JSON per entry of the thread's path, in order, including entries that only a run or a model sees and
 * deleted ones. */
WEFT_SUSPENDS int cli_log_write(struct cli_reader *rd, const struct wl_thread *t, struct cli_progress *progress,
                                struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
