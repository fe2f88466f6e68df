/* cli/progress.h — a bar on standard error for work of many parts, with its rate and the time that is left; nothing if
 * that is no terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdio.h>
#include <upp/base.h>

struct cli_progress {
    FILE    *out; /* NULL: no bar */
    size_t   all, done;
    unsigned shown; /* thousandths; UINT_MAX: no bar is drawn */
    uint64_t began_ms;
};

/* For `all` items; drawn if standard error is a terminal and there is more than one. */
void cli_progress_begin(struct cli_progress *p, size_t all);
void cli_progress_step(struct cli_progress *p); /* one more is done */

/* Removes the bar: before other output to standard error, and at the end. The next step draws it again. */
void cli_progress_hide(struct cli_progress *p);

#endif
