/* cli/list.h — what a command prints: a list, as rows of a table or with --json as one object a line; and objects.
 *
 *     bad = cli_list_begin(&l, self, &threads);       // columns, cells, members of the object
 *     while (...) r = cli_list_row(&l, &thread, &arena, &err);
 *     return cli_list_end(&l, code);
 */
#pragma once

#include "cli/cli.h"
#include "cli/store_client.h"
#include "cli/table.h"
#include "json/write.h"

/* What is listed. */
struct cli_list_kind {
    const char *noun; /* "thread" */
    const char *none; /* the note on an empty list; NULL: "no NOUNs yet" */
    const struct cli_column *columns;
    size_t n_columns;
    bool all;   /* it has no --limit */
    bool uncut; /* lines as if the output were no terminal */

    void (*cells)(void *row, struct wb_arena *a, struct cli_cell *ret);
    /* The object's members. NULL: the row is a yyjson_val, which is printed as it is. */
    void (*members)(void *row, struct wb_arena *a, struct wj_writer *w);
};

struct cli_list {
    const struct cli_command *self;
    const struct cli_list_kind *kind;
    struct cli_table table;
    uint64_t limit, n; /* limit 0: all */
    bool more;         /* there are more than the limit */

    /* Options: */
    bool json;
    const char *limit_text; /* NULL: 20 on a terminal, otherwise all */
};

/* `member` is a struct cli_list. */
#define CLI_LIMIT_OPTION(type, member)                                                                                 \
    CLI_VALUE("--limit", "N", "a number", type, member.limit_text,                                                     \
              "at most N; 0: all. Default: 20 on a terminal, otherwise all")

/* Reads the options. 0, or CLI_USAGE after a message. */
int cli_list_begin(struct cli_list *l, const struct cli_command *self, const struct cli_list_kind *kind);

/* Is there no room for another row? Then the list says at its end that there are more. */
bool cli_list_full(struct cli_list *l);

int cli_list_row(struct cli_list *l, void *row, struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* The objects of a list that the owner of the store has, page by page, up to the limit; those are its rows.
 * query: of the request, behind its first parameter ("&days=7"); may be empty. */
WEFT_SUSPENDS int cli_list_pages(struct cli_list *l, struct cli_client *p, const char *path, struct upp_str query,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Prints what is left and frees the list; then says, on standard error, that it is empty or was cut: standard output
 * has only what is listed. Returns the exit code, `code` if that is a failure. */
int cli_list_end(struct cli_list *l, int code);

/* A line of JSON on a stream: the value; what w has written into its own buffer. */
int cli_print_json(yyjson_val *v, struct upp_err *err) UPP_MUST_CHECK;
int cli_line_out(FILE *out, struct wj_writer *w) UPP_MUST_CHECK;
