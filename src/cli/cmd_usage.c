/* cli/cmd_usage.c — weft usage: tokens, runs and requests by key, tenant and day. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/change.h"
#include "cli/table.h"
#include "json/value.h"

struct listing {
    const char *days, *tenant, *key;
    bool json;
    uint64_t n;

    struct cli_table table;
};

enum { PATH_MAX_BYTES = 32 << 10 };

static const struct cli_column columns[] = {
    {.title = "DAY", .width = 10},
    {.title = "TENANT", .width = 8},
    {.title = "KEY", .width = 12},
    {.title = "REQUESTS", .width = 8, .right = true},
    {.title = "RUNS", .width = 6, .right = true},
    {.title = "INPUT", .width = 10, .right = true},
    {.title = "OUTPUT", .width = 10, .right = true},
    {.title = "CACHED", .width = 10, .right = true, .may_go = true},
};

static struct upp_str number_at(yyjson_val *row, const char *name)
{
    yyjson_val *n = yyjson_obj_get(row, name);
    return n && yyjson_is_raw(n) ? wj_text(n) : UPP_STR("-");
}

static void print_line(struct cli_table *to, yyjson_val *row, struct wb_arena *a)
{
    struct upp_str tenant = wj_text_at(row, "tenant"), user = wj_text_at(row, "user"),
                   key = wj_text_at(row, "key_name");
    cli_table_row(
        to, (struct cli_cell[]){
                {wj_text_at(row, "day"), CLI_PLAIN, 0},
                {wb_arena_printf(a, "%.*s%s%.*s", UPP_FMT(tenant), user.n ? "/" : "", UPP_FMT(user)), CLI_PLAIN, 0},
                {key.n ? key : UPP_STR("-"), CLI_CYAN, 0},
                {number_at(row, "requests"), CLI_PLAIN, 0},
                {number_at(row, "runs"), CLI_PLAIN, 0},
                {number_at(row, "input_tokens"), CLI_PLAIN, 0},
                {number_at(row, "output_tokens"), CLI_PLAIN, 0},
                {number_at(row, "cache_read_tokens"), CLI_DIM, 0}});
}

WEFT_SUSPENDS static int list_usage(struct cli_change *p, struct upp_err *err)
{
    struct listing *l = p->arg;
    struct upp_str next = {NULL, 0};
    yyjson_val *page, *row;
    size_t i, max;
    do {
        WB_CLEANUP(wb_buf_done) struct wb_buf path = WB_BUF(PATH_MAX_BYTES);
        wb_buf_add(&path, UPP_STR("/v1/usage?limit=100"));
        cli_query_add(&path, "days", wb_cstr(l->days));
        cli_query_add(&path, "tenant", wb_cstr(l->tenant));
        cli_query_add(&path, "key", wb_cstr(l->key));
        cli_query_add(&path, "after", next);
        wb_arena_reset(&p->arena);
        struct cli_request q = {.method = "GET", .path = wb_buf_str(&path)};
        int r = wb_buf_check(&path, err);
        if (r >= 0)
            r = cli_owner_call(&p->door, &q, &p->arena, &page, err);
        if (r < 0)
            return r;
        yyjson_arr_foreach(yyjson_obj_get(page, "data"), i, max, row)
        {
            l->n++;
            if (!l->json)
                print_line(&l->table, row, &p->arena);
            else if ((r = cli_print_json(row, err)) < 0)
                return r;
        }
        next = wj_text_at(page, "next");
    } while (next.n);
    return 0;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct listing l = {0};
    struct upp_err err = {0};
    const char *file = NULL, *store = NULL;
    const struct cli_option options[] = {{"--days", "a number", &l.days, NULL},
                                         {"--tenant", "a tenant", &l.tenant, NULL},
                                         {"--key", "the id or the name of a key", &l.key, NULL},
                                         {"--json", NULL, NULL, &l.json},
                                         {"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL}};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), NULL, 0, NULL);
    if (bad)
        return bad;
    cli_table_begin(&l.table, columns, WB_LEN(columns));
    int r = cli_change_store(self, file, store, true, list_usage, &l);
    if (cli_table_end(&l.table, &err) < 0 && r == CLI_GOOD)
        r = cli_fail(self, &err);
    if (r == CLI_GOOD && !l.n) /* not on standard output, which lists only usage */
        cli_note(self, "nothing was used on these days");
    return r;
}

static const struct cli_about about_usage[] = {
    {"--days", "N", "today (UTC) and the N - 1 days before it (default: 7)", CLI_TEXT, NULL},
    {"--tenant", "T", "only of this tenant", CLI_TEXT, NULL},
    {"--key", "K", "only of this API key: its id or its name", CLI_TEXT, NULL},
    {"--json", NULL, "one object per line, as GET /v1/usage has them", CLI_TEXT, NULL},
    CLI_ABOUT_CONFIG,
    CLI_ABOUT_STORE,
};

const struct cli_command cli_usage = {
    .name = "usage",
    .usage = "[--days N] [--tenant T] [--key K] [--json] [--config FILE] [--store URL]",
    .summary = "tokens, runs and requests by API key, tenant and day",
    .help =
        "Prints one line per day, tenant and API key, the oldest day first: requests, runs that have ended, tokens\n"
        "of input, of output and read from a cache. KEY is - for runs without an API key, whose requests are not\n"
        "counted. Days are kept for retention.usage_days.",
    .run = run,
    CLI_OPTIONS(about_usage),
    .examples = "weft usage\n"
                "weft usage --days 30 --tenant acme --json\n",
};
