/* cli/chat/line_editor.h — lines that a person types, with editing and a history; or lines of a pipe.
 *
 * A fiber of its own reads keys, so that the loop goes on while somebody types. What is typed during an answer is read
 * afterwards.
 */
#pragma once

#include <weft/fiber.h>

#include "base/buf.h"

enum { CLI_LINE_MAX = 1 << 20, CLI_HISTORY_MAX = 1000 };

struct cli_line_editor;

/* Before the loop runs: libedit reads the description of the terminal, for which a fiber's stack is too small. Without
 * a terminal it reads plain lines. */
int cli_line_editor_open(struct cli_line_editor **ret, struct upp_err *err) UPP_MUST_CHECK;
void cli_line_editor_close(struct cli_line_editor *e); /* accepts NULL */

/* On the loop, once. */
int cli_line_editor_start(struct cli_line_editor *e, struct weft_scope *fibers, struct upp_err *err) UPP_MUST_CHECK;

/* After the fibers have ended. */
void cli_line_editor_stop(struct cli_line_editor *e);

bool cli_line_editor_is_terminal(const struct cli_line_editor *e);

/* Ctrl-C, while a line is read. False: none is read. */
bool cli_line_editor_interrupt(struct cli_line_editor *e);

/* The terminal has another size. False: no line is read, and the next one has it anyway. */
bool cli_line_editor_resize(struct cli_line_editor *e);

enum cli_line { CLI_LINE_END = 0, CLI_LINE_READ = 1, CLI_LINE_INTERRUPTED = 2 };

/* The next line, without its end. `text`, if not NULL, is typed already (Ctrl-V quotes a
 * line end in it). A pasted text may have several lines. `history`: it is kept there. A line that ends
 * with a backslash goes on in the next one. -UPP_ELIMIT: it is too long. */
WEFT_SUSPENDS int cli_line_editor_read(struct cli_line_editor *e, const char *prompt, const char *text, bool history,
                                       struct wb_buf *ret, struct upp_err *err) UPP_MUST_CHECK;
