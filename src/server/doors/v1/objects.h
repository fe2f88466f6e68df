/* server/doors/v1/objects.h — messages and runs as objects of the Assistants API, with all keys: null if empty. */
#pragma once

#include "json/write.h"
#include "log/log.h"
#include "run/engine.h"

/* why: the reason if it was cut short (asst_why_incomplete). */
int sv_write_message(struct wj_writer *w, struct wb_arena *a, struct wb_uuid thread, const struct wl_line *line,
                     const char *why, struct upp_err *err) UPP_MUST_CHECK;

/* Of server/doors/v1/entries.c: is it listed as an entry of the log, and such an entry; `node` is the id of its node.
 */
bool sv_is_entry(const struct wl_line *line);
void sv_write_entry(struct wj_writer *w, struct wb_uuid node, const struct wl_line *line);

int sv_write_run(struct wj_writer *w, struct wb_arena *a, const struct wr_run_info *look,
                 struct upp_err *err) UPP_MUST_CHECK;

/* "queued", "in_progress" ...: clients know these eight words and poll forever on any other. */
const char *sv_run_status(const struct wr_run_info *look);
