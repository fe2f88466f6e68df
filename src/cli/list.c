/* cli/list.c — prints lists, as tables or as lines of JSON, and asks the store's owner for them page by page. */
#include "cli/list.h"

#include <unistd.h>

#include "base/defs.h"
#include "json/value.h"

enum { LINES = 20, PAGE = 100, PATH_MAX_BYTES = 32 << 10, LINE_MAX_BYTES = 64 << 20 };

int cli_list_begin(struct cli_list *l, const struct cli_command *self, const struct cli_list_kind *kind)
{
    l->self = self;
    l->kind = kind;
    l->limit = isatty(1) == 1 && !kind->all ? LINES : 0;
    if (l->limit_text && !wb_str_u64(wb_cstr(l->limit_text), &l->limit))
        return cli_misuse(self, "--limit is a whole number; 0: all");
    cli_table_begin(&l->table, kind->columns, kind->n_columns);
    if (kind->uncut)
        l->table.terminal = 0;
    return 0;
}

bool cli_list_full(struct cli_list *l)
{
    l->more = l->limit && l->n == l->limit;
    return l->more;
}

static int print_members(const struct cli_list *l, void *row, struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(LINE_MAX_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    l->kind->members(row, a, &w);
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w);
}

int cli_list_row(struct cli_list *l, void *row, struct wb_arena *a, struct upp_err *err)
{
    struct cli_cell cells[CLI_TABLE_COLUMNS] = {0};
    l->n++;
    if (l->json)
        return l->kind->members ? print_members(l, row, a, err) : cli_print_json(row, err);
    l->kind->cells(row, a, cells);
    cli_table_row(&l->table, cells);
    return 0;
}

/* Where the next page begins; empty: there is none. */
static struct upp_str next_page(yyjson_val *page)
{
    struct upp_str next = wj_text_at(page, "next");
    return next.n || !yyjson_is_true(yyjson_obj_get(page, "has_more")) ? next : wj_text_at(page, "last_id");
}

WEFT_SUSPENDS int cli_list_pages(struct cli_list *l, struct cli_client *p, const char *path, struct upp_str query,
                                 struct upp_err *err)
{
    struct upp_str next = {NULL, 0};
    yyjson_val *page, *row;
    size_t i, max;
    do {
        uint64_t left = l->limit ? WB_MIN(l->limit - l->n, (uint64_t)PAGE) : PAGE;
        WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(PATH_MAX_BYTES);
        wb_buf_addf(&url, "%s?limit=%llu%.*s", path, (unsigned long long)left, UPP_FMT(query));
        cli_query_add(&url, "after", next);
        wb_arena_reset(&p->arena);
        int r = wb_buf_check(&url, err);
        if (r < 0)
            return r;
        struct cli_request q = {.method = "GET", .path = wb_buf_str(&url)};
        r = cli_owner_call(&p->door, &q, &p->arena, &page, err);
        if (r < 0)
            return r;
        yyjson_arr_foreach(yyjson_obj_get(page, "data"), i, max, row)
        {
            r = cli_list_row(l, row, &p->arena, err);
            if (r < 0)
                return r;
        }
        next = next_page(page);
    } while (next.n && !cli_list_full(l));
    return 0;
}

int cli_list_end(struct cli_list *l, int code)
{
    struct upp_err err = {0};
    if (cli_table_end(&l->table, &err) < 0 && code == CLI_GOOD)
        code = cli_fail(l->self, &err);
    if (code != CLI_GOOD)
        return code;
    (void)fflush(stdout);
    if (l->more)
        cli_note(l->self, "there are more; --limit 0 lists all");
    else if (!l->n && l->kind->none)
        cli_note(l->self, "%s", l->kind->none);
    else if (!l->n)
        cli_note(l->self, "no %ss yet", l->kind->noun);
    return code;
}

int cli_print_json(yyjson_val *v, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(LINE_MAX_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_value(&w, v);
    return cli_line_out(stdout, &w);
}

int cli_line_out(FILE *out, struct wj_writer *w)
{
    int r = wj_writer_check(w);
    if (r < 0)
        return r;
    (void)fwrite(w->out->p, 1, w->out->n, out);
    (void)putc('\n', out);
    return 0;
}
