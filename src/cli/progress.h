/* cli/progress.h — a bar on standard error for long work: how much is done, how fast, and how long the rest takes.
 *
 *     cli_progress_begin(&p, self, "threads", n);      // 0: nobody knows how many
 *     for (...) { ...; cli_progress_add(&p, 1); }
 *     cli_progress_end(&p);                            // also after a failure
 *
 * It is drawn only if standard error is a terminal, and not with --json or --quiet; otherwise a step is one comparison.
 * Before anything else is printed, on standard output too, cli_progress_hide removes it; the next step draws it again.
 * Lines of the log do that by themselves. A zeroed struct is a bar that is not drawn.
 */
#pragma once

#include <stdio.h>

#include "cli/cli.h"

struct cli_progress {
    FILE *out;        /* NULL: no bar */
    const char *what; /* NULL: bytes */
    uint64_t all, done;
    unsigned shown; /* thousandths; UINT_MAX: no bar is on the terminal */
    uint64_t began_ms, drawn_ms;
};

/* For `all` things ("files"; NULL: bytes). Of one alone there is no bar. */
void cli_progress_begin(struct cli_progress *p, const struct cli_command *self, const char *what, uint64_t all);
void cli_progress_hide(struct cli_progress *p);
void cli_progress_end(struct cli_progress *p);

/* So many are done now. Draws if the bar looks different; use those below. */
void cli_progress_draw(struct cli_progress *p, uint64_t done);

static inline void cli_progress_to(struct cli_progress *p, uint64_t done)
{
    if (p->out)
        cli_progress_draw(p, done);
}

static inline void cli_progress_add(struct cli_progress *p, uint64_t more)
{
    if (p->out)
        cli_progress_draw(p, p->done + more);
}
