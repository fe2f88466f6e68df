/* cli/chat/table.h — a table of markdown, as lines that fit the terminal. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

/* Text for a terminal: characters with a style and a width, cut into lines.
 *
 * Widths are those of wcwidth, so they follow LC_CTYPE, which must be a UTF-8 locale for wide characters to be right.
 */

enum cli_style {
    CLI_STYLE_BOLD = 1 << 0,
    CLI_STYLE_ITALIC = 1 << 1,
    CLI_STYLE_CODE = 1 << 2,
    CLI_STYLE_STRUCK = 1 << 3,
    CLI_STYLE_UNDERLINE = 1 << 4,
    CLI_STYLE_HEADING = 1 << 5,
    CLI_STYLE_FAINT = 1 << 6,
};

struct cli_glyph {
    uint32_t c; /* '\n': a line ends here */
    uint8_t style, width;
};

enum { CLI_CELLS_MAX = 4 << 20 };

struct cli_cells {
    WB_VEC(struct cli_glyph) list;
    bool failed; /* sticky: no memory, or too many */
};
void cli_cells_done(struct cli_cells *t);

/* Adds text without terminal control sequences. A tab is a blank. */
void cli_cells_add(struct cli_cells *t, struct upp_str text, unsigned style);

unsigned cli_cells_width(const struct cli_glyph *p, size_t n);

/* The line that begins at `from`: up to which cell, at most `width` columns, and where the next one begins. Breaks at
 * blanks, after wide characters, and in words that are longer than a line. `hard`: anywhere, and keeps blanks. */
size_t cli_cells_line(const struct cli_cells *t, size_t from, size_t to, unsigned width, bool hard, size_t *next);

/* Writes the cells; with styles if `styled`, which are off afterwards. */
void cli_cells_put(struct wb_buf *out, const struct cli_glyph *p, size_t n, bool styled);

/* The same for a text. */
void cli_styled_put(struct wb_buf *out, struct upp_str text, unsigned style, bool styled);

enum { CLI_TABLE_COLUMNS = 64, CLI_TABLE_FIELDS = 64 << 10 };

enum cli_align { CLI_LEFT, CLI_CENTRE, CLI_RIGHT };

/* A field of the table: cells of a text. */
struct cli_field {
    size_t from, to;
    enum cli_align align;
};

struct cli_table {
    WB_VEC(struct cli_field) fields; /* row by row, `columns` each */
    unsigned columns;                /* those beyond CLI_TABLE_COLUMNS are left out */
    unsigned heads;                  /* rows of the head */
    bool failed;
};
void cli_table_done(struct cli_table *t);

struct cli_table_out {
    struct wb_buf *out;
    unsigned width;
    bool styled, utf8;
    void (*prefix)(void *arg); /* writes what stands before each line */
    void *arg;
};

/* Columns get narrower, the widest first, until the table fits; their texts are wrapped. */
void cli_table_put(const struct cli_table *t, const struct cli_cells *text, const struct cli_table_out *o);
