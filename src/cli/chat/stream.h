/* cli/chat/stream.h — markdown that arrives in pieces, shown block by block.
 *
 * A block is rendered when it is complete: a paragraph, a heading, a table, an item of a list; a line of fenced code.
 * Until then its text is shown as it is. Where the text was cut into pieces makes no difference to what is shown in the
 * end.
 */
#pragma once

#include "cli/chat/markdown.h"
#include "cli/chat/screen.h"

enum { CLI_BLOCK_MAX = 256 << 10 /* bytes of a block; a longer one is cut */ };

struct cli_stream {
    struct cli_screen *screen;
    struct cli_markdown_opts opts;
    struct wb_buf block; /* whole lines of the current block, then the current line */
    size_t line;         /* where the current line begins */
    enum { CLI_BLOCK_TEXT, CLI_BLOCK_ITEM, CLI_BLOCK_FENCE } kind;
    unsigned fence; /* length of the open fence, and its character */
    char fence_char;
    bool blank;      /* the last line was empty */
    bool loose;      /* the line before the block was empty */
    bool any, items; /* something was rendered; it was an item of a list */
    unsigned number; /* of the next item; 0: the list has no numbers */
};
void cli_stream_init(struct cli_stream *s, struct cli_screen *screen, const struct cli_markdown_opts *opts);
void cli_stream_done(struct cli_stream *s);

int cli_stream_add(struct cli_stream *s, struct upp_str piece, struct upp_err *err) UPP_MUST_CHECK;

/* The text is complete: renders the rest. The stream is ready for another text. */
int cli_stream_end(struct cli_stream *s, struct upp_err *err) UPP_MUST_CHECK;

/* Forgets what is not rendered yet. */
void cli_stream_drop(struct cli_stream *s);
