/* run/path.h — loads the path of a run from the log: history, input, own messages, tool grants. */
#pragma once

#include "run/run.h"

WEFT_SUSPENDS int wr_path_load(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Loads it again, for the agent that was just handed the thread. */
WEFT_SUSPENDS int wr_path_reload(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* The end of a run's path: as many entries of the log as the run needs, read backwards.
 *
 * A model receives what is behind the newest summary, or what the memory of its agent (def.h, struct wr_window) or the
 * truncation that its request asked for (settings/settings.h) leaves.
 * Tool grants of all entries before hold too: the state of each run has those of the path before it (run/event.h), so
 * that the newest one found there is enough. A path without one is read whole; the run that does it is the next one's.
 */

/* Entries that are read first; then twice as many, and so on. Shorter paths carry no grants. */
enum { WR_TAIL_FIRST = 64 };

struct wr_tail {
    struct wl_line **lines; /* in path order */
    size_t n;
    uint32_t from;           /* position of the first of them on the path */
    uint32_t own;            /* position of the run's first entry */
    struct wl_line *summary; /* the newest one of an earlier run; NULL: none ... */
    uint32_t through;        /* ... and the first position that it does not cover */
    struct upp_str grants;   /* of all entries before `granted`; empty: not known, and all entries are there */
    uint32_t granted;
};

/* What a document says was asked by another agent: nobody vouches for it, and no message list shows it, so that no
 * model receives it, either. */
static inline bool wr_is_imported_prompt(const struct wm_entry *e)
{
    return e->origin == WM_ORIGIN_IMPORT && wm_is_prompt(e);
}

/* Does this run's model receive the entry? */
bool wr_is_received(const struct wr_run *run, const struct wl_line *line);

/* In the run's memory. */
WEFT_SUSPENDS int wr_tail_read(struct wr_run *run, struct wr_tail *ret, struct upp_err *err) UPP_MUST_CHECK;
