/* cli/cmd_usage.c — weft usage: tokens, runs and requests by key, tenant and day. */
#include "base/defs.h"
#include "cli/list.h"
#include "json/value.h"

struct usage_list {
    struct cli_list list;
    struct cli_source from;
    const char *days, *tenant, *key;
};

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

static void usage_cells(void *item, struct wb_arena *a, struct cli_cell *ret)
{
    yyjson_val *row = item;
    struct upp_str tenant = wj_text_at(row, "tenant"), user = wj_text_at(row, "user"),
                   key = wj_text_at(row, "key_name");
    ret[0].text = wj_text_at(row, "day");
    ret[1].text = wb_arena_printf(a, "%.*s%s%.*s", UPP_FMT(tenant), user.n ? "/" : "", UPP_FMT(user));
    ret[2] = (struct cli_cell){key.n ? key : UPP_STR("-"), CLI_CYAN, 0};
    ret[3].text = number_at(row, "requests");
    ret[4].text = number_at(row, "runs");
    ret[5].text = number_at(row, "input_tokens");
    ret[6].text = number_at(row, "output_tokens");
    ret[7] = (struct cli_cell){number_at(row, "cache_read_tokens"), CLI_DIM, 0};
}

static const struct cli_list_kind usage = {.none = "nothing was used on these days",
                                           .columns = columns,
                                           .n_columns = WB_LEN(columns),
                                           .all = true,
                                           .cells = usage_cells};

WEFT_SUSPENDS static int list_usage(struct cli_client *p, struct upp_err *err)
{
    struct usage_list *l = p->arg;
    cli_query_add(&p->path, "days", wb_cstr(l->days));
    cli_query_add(&p->path, "tenant", wb_cstr(l->tenant));
    cli_query_add(&p->path, "key", wb_cstr(l->key));
    return cli_list_pages(&l->list, p, "/v1/usage", wb_buf_str(&p->path), err);
}

static int run_usage(const struct cli_command *self, int argc, char **argv)
{
    struct usage_list l = {0};
    int bad = cli_parse(self, argc, argv, &l, NULL, 0, NULL);
    if (!bad)
        bad = cli_list_begin(&l.list, self, &usage);
    return bad ? bad : cli_list_end(&l.list, cli_client_run(self, &l.from, true, list_usage, &l));
}

static const struct cli_option usage_options[] = {
    CLI_VALUE("--days", "N", "a number", struct usage_list, days,
              "today (UTC) and the N - 1 days before it (default: 7)"),
    CLI_VALUE("--tenant", "T", "a tenant", struct usage_list, tenant, "only of this tenant"),
    CLI_VALUE("--key", "K", "the id or the name of a key", struct usage_list, key,
              "only of this API key: its id or its name"),
    CLI_FLAG("--json", struct usage_list, list.json, "one object per line, as GET /v1/usage has them"),
    CLI_STORE_OPTIONS(struct usage_list, from),
};

const struct cli_command cli_usage = {
    .name = "usage",
    .usage = "[--days N] [--tenant T] [--key K] [--json] [--config FILE] [--store URL]",
    .summary = "tokens, runs and requests by API key, tenant and day",
    .help =
        "Prints one line per day, tenant and API key, the oldest day first: requests, runs that have ended, tokens\n"
        "of input, of output and read from a cache. KEY is - for runs without an API key, whose requests are not\n"
        "counted. Days are kept for retention.usage_days.",
    .run = run_usage,
    CLI_OPTIONS(usage_options),
    .examples = "weft usage\n"
                "weft usage --days 30 --tenant acme --json\n",
};
