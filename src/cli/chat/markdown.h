/* cli/chat/markdown.h — markdown as lines for a terminal: headings, lists, quotes, code, tables.
 *
 * A pure function of the text and the options. HTML is text. Links show where they lead; there are no hidden targets.
 */
#pragma once

#include "base/buf.h"

struct cli_markdown_opts {
    unsigned width;  /* columns of a line */
    bool styled;     /* bold, colours; without, code stands in backticks and headings after '#' */
    bool utf8;       /* lines and bullets of Unicode; else of ASCII */
    unsigned number; /* of the first item of a numbered list; 0: as the text says */
};

/* Adds the text as lines. */
int cli_markdown(struct upp_str text, const struct cli_markdown_opts *opts, struct wb_buf *out,
                 struct upp_err *err) UPP_MUST_CHECK;

/* One line of a code block. */
int cli_markdown_code(struct upp_str line, const struct cli_markdown_opts *opts, struct wb_buf *out,
                      struct upp_err *err) UPP_MUST_CHECK;
