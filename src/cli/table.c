/* cli/table.c — measures the rows of a list and prints them as columns. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/defs.h"
#include "base/iso8601.h"
#include "cli/terminal.h"

enum { GAP = 2, LEAST = 20 /* columns of the last cell */, ARENA = 32 << 20 };

void cli_colour(FILE *out, bool coloured, enum cli_colour colour)
{
    static const char *const codes[] = {[CLI_PLAIN] = "0",  [CLI_BOLD] = "1",    [CLI_DIM] = "2",  [CLI_RED] = "31",
                                        [CLI_GREEN] = "32", [CLI_YELLOW] = "33", [CLI_CYAN] = "36"};
    if (coloured)
        (void)fprintf(out, "\033[%sm", codes[colour]);
}

struct upp_str cli_time_text(int64_t ms, struct wb_arena *a)
{
    char text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(ms);
    (void)wb_time_upp(&t, text);
    return wb_arena_printf(a, "%s", text);
}

void cli_table_begin(struct cli_table *t, const struct cli_column *columns, size_t n)
{
    *t = (struct cli_table){.columns = columns,
                            .n_columns = n,
                            .terminal = cli_columns(stdout),
                            .coloured = cli_colours(stdout),
                            .arena = WB_ARENA(ARENA)};
}

static void blanks(unsigned n)
{
    (void)printf("%*s", (int)n, "");
}

/* A cell in a column of this width; max: it is cut there, 0: nowhere. */
static void print_cell(const struct cli_table *t, const struct cli_cell *c, bool right, unsigned width, unsigned max,
                       bool last)
{
    unsigned has = cli_line_columns(c->text, max);
    if (right && has < width)
        blanks(width - has);
    cli_colour(stdout, t->coloured && c->colour, c->colour);
    (void)cli_print_line(stdout, c->text, max);
    cli_colour(stdout, t->coloured && c->colour, CLI_PLAIN);
    if (!right && !last && has < width)
        blanks(width - has);
}

static void print_plain(const struct cli_table *t, const struct cli_cell *cells)
{
    size_t last = t->n_columns;
    while (last > 1 && !cells[last - 1].text.n)
        last--; /* no blanks at the end of a line */
    for (size_t i = 0; i < last; i++) {
        if (i)
            blanks(GAP);
        print_cell(t, &cells[i], t->columns[i].right, t->columns[i].width, cells[i].cut, i + 1 == last);
    }
    (void)putchar('\n');
}

/* How wide each column is; 0: it is left out. */
static void measure(const struct cli_table *t, unsigned *widths)
{
    unsigned all = 0;
    for (size_t i = 0; i < t->n_columns; i++) {
        widths[i] = (unsigned)strlen(t->columns[i].title);
        for (size_t k = 0; k < t->n; k++)
            widths[i] = WB_MAX(widths[i], cli_line_columns(t->rows[k][i].text, 0));
        all += widths[i] + GAP;
    }
    size_t last = t->n_columns - 1;
    for (size_t i = last;
         i-- > 0 && all - WB_MIN(widths[last], all) + WB_MIN(widths[last], (unsigned)LEAST) > t->terminal;)
        if (t->columns[i].may_go) {
            all -= widths[i] + GAP;
            widths[i] = 0;
        }
}

static void print_row(const struct cli_table *t, const struct cli_cell *cells, const unsigned *widths)
{
    unsigned used = 0;
    for (size_t i = 0; i < t->n_columns; i++) {
        bool last = i + 1 == t->n_columns;
        if (!widths[i])
            continue;
        if (used)
            blanks(GAP);
        used += used ? GAP : 0;
        print_cell(t, &cells[i], t->columns[i].right, widths[i], last ? cli_columns_left(t->terminal, used) : 0, last);
        used += widths[i];
    }
    (void)putchar('\n');
}

static void print_all(struct cli_table *t)
{
    struct cli_cell head[CLI_TABLE_COLUMNS];
    unsigned widths[CLI_TABLE_COLUMNS];
    measure(t, widths);
    for (size_t i = 0; i < t->n_columns; i++)
        head[i] = (struct cli_cell){wb_cstr(t->columns[i].title), CLI_BOLD, 0};
    if (!t->begun)
        print_row(t, head, widths);
    t->begun = true;
    for (size_t k = 0; k < t->n; k++)
        print_row(t, t->rows[k], widths);
    t->n = 0;
}

void cli_table_row(struct cli_table *t, const struct cli_cell *cells)
{
    if (!t->terminal) {
        print_plain(t, cells);
        return;
    }
    if (t->n == CLI_TABLE_ROWS) {
        print_all(t);
        wb_arena_reset(&t->arena);
        t->rows = NULL;
    }
    if (!t->rows)
        t->rows = wb_new_n(&t->arena, struct cli_cell *, CLI_TABLE_ROWS);
    struct cli_cell *row = wb_new_n(&t->arena, struct cli_cell, t->n_columns);
    for (size_t i = 0; row && i < t->n_columns; i++) {
        /* Of a long text no more than a line is ever shown: four bytes a column. */
        row[i].text = wb_arena_dup(&t->arena, wb_str_sub(cells[i].text, 0, (size_t)t->terminal * 4 + 64));
        row[i].colour = cells[i].colour;
    }
    if (t->rows && row && wb_arena_check(&t->arena, NULL) == 0)
        t->rows[t->n++] = row;
}

int cli_table_end(struct cli_table *t, struct upp_err *err)
{
    int r = wb_arena_check(&t->arena, err);
    if (t->n)
        print_all(t);
    wb_arena_done(&t->arena);
    return r;
}
