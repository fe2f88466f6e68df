/* cli/terminal.h — output for a terminal: untrusted text, and a progress bar. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdio.h>
#include <upp/base.h>

/* Prints text without terminal control sequences: control characters other than line ends and tabs become '?'. Each
 * line but the first begins with `indent` blanks. */
void cli_print_text(FILE *out, struct upp_str text, unsigned indent);

struct cli_progress {
    FILE    *out; /* NULL: no bar */
    size_t   all, done;
    unsigned shown; /* thousandths; UINT_MAX: no bar is drawn */
};

/* For `all` items; drawn if standard error is a terminal and there is more than one. */
void cli_progress_begin(struct cli_progress *p, size_t all);
void cli_progress_step(struct cli_progress *p); /* one more is done */

/* Removes the bar: before other output to standard error, and at the end. The next step draws it again. */
void cli_progress_hide(struct cli_progress *p);

#endif
