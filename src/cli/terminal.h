/* cli/terminal.h — what only a terminal minds: text of others, and a bar that says how far a command is. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdio.h>
#include <upp/base.h>

/* Prints text in which nothing is a command to a terminal: control characters other than line ends and tabs become
 * '?'. Each line but the first begins with `indent` blanks. */
void cli_print_text(FILE *out, struct upp_str text, unsigned indent);

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
