/* cli/chat/screen.h — what is final, and below it a few rows that are still changing.
 *
 * Final text is written once and scrolls away. The rows below it are redrawn only where they differ: text that grows at
 * its end is only appended. Output is collected in `out`, so that one write shows a change at once.
 */
#pragma once

#include "base/buf.h"

enum { CLI_SCREEN_MAX = 16 << 20 };

struct cli_screen {
    unsigned width, height;
    struct wb_buf out;   /* to be written to the terminal */
    struct wb_buf shown; /* the changing rows, as they were written */
    struct wb_buf next;
    unsigned rows; /* of them */
};
void cli_screen_init(struct cli_screen *s, unsigned width, unsigned height);
void cli_screen_done(struct cli_screen *s);

/* The terminal has another size: it has wrapped the changing rows anew. */
void cli_screen_resize(struct cli_screen *s, unsigned width, unsigned height);

/* Shows text, which is not trusted, as the changing rows; of more than fit, the last ones. Empty: none. */
void cli_screen_live(struct cli_screen *s, struct upp_str text);

/* Removes the changing rows. Final text is then added to s->out, as whole lines. */
struct wb_buf *cli_screen_final(struct cli_screen *s);

/* 0, or why something could not be shown. */
int cli_screen_check(const struct cli_screen *s, struct upp_err *err) UPP_MUST_CHECK;
