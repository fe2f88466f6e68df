/* cli/progress.h — how far a command is with many things: a bar on a terminal, nothing anywhere else. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdio.h>
#include <upp/base.h>

struct cli_progress {
    FILE    *out; /* NULL: nothing is shown */
    size_t   all, done;
    unsigned shown; /* thousandths; UINT_MAX: no bar is there */
};

/* For `all` things; shown where standard error is a terminal and there is more than one. */
void cli_progress_begin(struct cli_progress *p, size_t all);
void cli_progress_step(struct cli_progress *p); /* one more is done */

/* Takes the bar away: before anything else is written to standard error, and in the end. It comes back by itself. */
void cli_progress_hide(struct cli_progress *p);

#endif
