/* cli/cmd_audit.c — weft audit: what administrators have done to the store, the newest first. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/change.h"
#include "cli/reveal.h"
#include "cli/table.h"
#include "json/value.h"

struct listing {
    const char *since, *until, *tenant, *actor;
    bool json, more;
    uint64_t limit, n; /* limit 0: all */

    struct cli_table table;
};

enum { PAGE = 100, PATH_MAX_BYTES = 32 << 10 };

static const struct cli_column columns[] = {
    {.title = "TIME", .width = 24},
    {.title = "WHO", .width = 12},
    {.title = "ACTION", .width = 18},
    {.title = "OUTCOME", .width = 7},
    {.title = "TENANT", .width = 5, .may_go = true},
    {.title = "TARGET"},
};

/* "key ci", "uid 1000", "signal" */
static struct upp_str who_of(yyjson_val *row, struct wb_arena *a)
{
    yyjson_val *actor = yyjson_obj_get(row, "actor"), *uid = yyjson_obj_get(actor, "uid");
    struct upp_str key = wj_text_at(actor, "name");
    if (key.n)
        return wb_arena_printf(a, "key %.*s", UPP_FMT(key));
    return uid && yyjson_is_raw(uid) ? wb_arena_printf(a, "uid %.*s", UPP_FMT(wj_text(uid)))
                                     : wj_text_at(actor, "type");
}

/* What was done, with what else is known of it. Clients choose names: nothing of them is invisible. */
static struct upp_str target_of(yyjson_val *row, struct wb_arena *a)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 16);
    struct upp_str detail = wj_text_at(row, "detail"), error = wj_text_at(row, "error");
    cli_reveal(&text, wj_text_at(row, "target"), 0);
    if (detail.n) {
        wb_buf_add(&text, UPP_STR("; "));
        cli_reveal(&text, detail, 0);
    }
    if (error.n) {
        wb_buf_add(&text, UPP_STR("; "));
        cli_reveal(&text, error, 0);
    }
    return text.failed ? UPP_STR("(too long to be shown)") : wb_arena_dup(a, wb_buf_str(&text));
}

static void print_line(struct cli_table *to, yyjson_val *row, struct wb_arena *a)
{
    struct upp_str outcome = wj_text_at(row, "outcome"), tenant = wj_text_at(row, "tenant"),
                   user = wj_text_at(row, "user");
    bool done = wb_str_eq(outcome, UPP_STR("done"));
    cli_table_row(to, (struct cli_cell[]){{wj_text_at(row, "time"), CLI_DIM, 0},
                                          {who_of(row, a), CLI_CYAN, 0},
                                          {wj_text_at(row, "action"), CLI_PLAIN, 0},
                                          {outcome, done ? CLI_PLAIN : CLI_RED, 0},
                                          {wb_arena_printf(a, "%.*s%s%.*s", UPP_FMT(tenant.n ? tenant : UPP_STR("-")),
                                                           user.n ? "/" : "", UPP_FMT(user)),
                                           CLI_PLAIN, 0},
                                          {target_of(row, a), CLI_PLAIN, 0}});
}

WEFT_SUSPENDS static int list_rows(struct cli_change *p, struct upp_err *err)
{
    struct listing *l = p->arg;
    struct upp_str next = {NULL, 0};
    yyjson_val *page, *row;
    size_t i, max;
    do {
        uint64_t left = l->limit ? WB_MIN(l->limit - l->n, (uint64_t)PAGE) : PAGE;
        WB_CLEANUP(wb_buf_done) struct wb_buf path = WB_BUF(PATH_MAX_BYTES);
        wb_buf_addf(&path, "/v1/audit?limit=%llu", (unsigned long long)left);
        cli_query_add(&path, "since", wb_cstr(l->since));
        cli_query_add(&path, "until", wb_cstr(l->until));
        cli_query_add(&path, "tenant", wb_cstr(l->tenant));
        cli_query_add(&path, "actor", wb_cstr(l->actor));
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
    } while (next.n && (!l->limit || l->n < l->limit));
    l->more = next.n > 0;
    return 0;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct listing l = {0};
    struct upp_err err = {0};
    const char *file = NULL, *store = NULL, *limit = NULL;
    const struct cli_option options[] = {
        {"--since", "a time", &l.since, NULL},     {"--until", "a time", &l.until, NULL},
        {"--tenant", "a tenant", &l.tenant, NULL}, {"--actor", "a key, a user, local or signal", &l.actor, NULL},
        {"--limit", "a number", &limit, NULL},     {"--json", NULL, NULL, &l.json},
        {"--config", "a file", &file, NULL},       {"--store", "sqlite:PATH", &store, NULL}};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), NULL, 0, NULL);
    if (!bad)
        bad = cli_list_limit(self, limit, &l.limit);
    if (bad)
        return bad;
    cli_table_begin(&l.table, columns, WB_LEN(columns));
    int r = cli_change_store(self, file, store, true, list_rows, &l);
    if (cli_table_end(&l.table, &err) < 0 && r == CLI_GOOD)
        r = cli_fail(self, &err);
    if (r == CLI_GOOD)
        cli_list_end(self, "action", l.n, l.more);
    return r;
}

static const struct cli_about about_audit[] = {
    {"--since", "TIME", "from this time on: RFC 3339, a date, or seconds since 1970", CLI_TEXT, NULL},
    {"--until", "TIME", "before this time", CLI_TEXT, NULL},
    {"--tenant", "T", "only actions for this tenant", CLI_TEXT, NULL},
    {"--actor", "WHO", "only actions of this API key (id or name) or user, of local commands (local), or of signals",
     CLI_TEXT, NULL},
    CLI_ABOUT_LIMIT,
    {"--json", NULL, "one object per line, as GET /v1/audit has them", CLI_TEXT, NULL},
    CLI_ABOUT_CONFIG,
    CLI_ABOUT_STORE,
};

const struct cli_command cli_audit = {
    .name = "audit",
    .usage = "[--since TIME] [--until TIME] [--tenant T] [--actor WHO] [--limit N] [--json] [--config FILE]\n"
             "                  [--store URL]",
    .summary = "what administrators have done: keys, reloads, exports, erasures, backups",
    .help = "Prints one line per action, the newest first: when, who (an API key, the uid of a local command, or a\n"
            "signal), what, its outcome (done, failed; started: it did not come to its end), for which tenant, and\n"
            "on what. Rows are dropped after retention.audit_days.",
    .run = run,
    CLI_OPTIONS(about_audit),
    .examples = "weft audit --since 2026-11-01\n"
                "weft audit --actor ci --json\n",
};
