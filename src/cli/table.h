/* cli/table.h — lists for people: aligned columns with a head and colours on a terminal, plain lines otherwise.
 *
 *     cli_table_begin(&t, columns, WB_LEN(columns));
 *     cli_table_row(&t, (struct cli_cell[]){{id}, {state, CLI_GREEN}, {title}});
 *     r = cli_table_end(&t, &err);
 *
 * On a terminal rows are kept until the end (or CLI_TABLE_ROWS of them), because the widest cell makes the column. If
 * the terminal is too narrow, columns that may go are left out, the last one first; then the last column is cut.
 * Otherwise a row is printed at once, with the fixed widths of the columns. Cells are shown on one line, without
 * control characters.
 */
#pragma once

#include <stdio.h>

#include "base/arena.h"
#include "cli/terminal.h"

enum { CLI_TABLE_COLUMNS = 10, CLI_TABLE_ROWS = 1000 };

enum cli_colour { CLI_PLAIN = 0, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_CYAN };

struct cli_column {
    const char *title;
    unsigned width; /* where the output is no terminal: at least so wide */
    bool right;     /* numbers */
    bool may_go;
};

struct cli_cell {
    struct upp_str text;
    uint8_t colour; /* enum cli_colour */
    unsigned cut;   /* where the output is no terminal: at most so wide; 0: any width */
};

struct cli_table {
    const struct cli_column *columns;
    size_t n_columns;
    unsigned terminal; /* its width; 0: none */
    bool coloured, begun;
    struct wb_arena arena;
    struct cli_cell **rows;
    size_t n;
};

/* Turns a colour on, and off again (CLI_PLAIN), if `coloured`. */
void cli_colour(FILE *out, bool coloured, enum cli_colour colour);

/* As UPP writes times. */
struct upp_str cli_time_text(int64_t ms, struct wb_arena *a);

void cli_table_begin(struct cli_table *t, const struct cli_column *columns, size_t n);
void cli_table_row(struct cli_table *t, const struct cli_cell *cells);

/* Prints what is left and frees the table; also after a failure. */
int cli_table_end(struct cli_table *t, struct upp_err *err) UPP_MUST_CHECK;
