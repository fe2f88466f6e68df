/* cli/chat/table.h — a table of markdown, as lines that fit the terminal. */
#pragma once

#include "cli/chat/cells.h"

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
