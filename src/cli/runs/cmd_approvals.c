/* cli/runs/cmd_approvals.c — weft approvals: lists what waits for an answer, the oldest run first. */
#include <stdio.h>

#include "base/defs.h"
#include "base/iso8601.h"
#include "cli/change.h"
#include "cli/runs/decide.h"
#include "cli/table.h"
#include "json/number.h"
#include "json/value.h"
#include "json/write.h"

struct listing {
    bool json;
    size_t n;

    struct cli_as as;
    struct cli_table table;
};

static int print_json(yyjson_val *item, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(CLI_MAX_BODY);
    int r = wj_write(item, &out, err);
    if (r >= 0)
        (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&out)));
    return r;
}

static struct upp_str time_of(yyjson_val *seconds, char text[WB_TIME_TEXT])
{
    int64_t s;
    if (!yyjson_is_raw(seconds) || !wj_num_i64(wj_text(seconds), &s))
        return UPP_STR("never");
    struct wb_time t = wb_time_from_ms(s * 1000);
    (void)wb_time_upp(&t, text);
    return wb_cstr(text);
}

static const struct cli_column columns[] = {
    {.title = "RUN"},
    {.title = "CALL"},
    {.title = "KIND", .width = 8},
    {.title = "EXPIRES", .width = 24, .may_go = true},
    {.title = "AGENT"},
    {.title = "CALLS"},
};

static void print_line(struct cli_table *to, yyjson_val *item, struct wb_arena *a)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf shown = WB_BUF(CLI_MAX_BODY);
    char time[WB_TIME_TEXT];
    cli_waiting_call(&shown, item);
    struct upp_str call = shown.failed ? UPP_STR("(too long to be shown)") : wb_arena_dup(a, wb_buf_str(&shown));
    cli_table_row(to, (struct cli_cell[]){{wj_text_at(item, "run_id"), CLI_PLAIN, 0},
                                          {wj_text_at(item, "call_id"), CLI_CYAN, 0},
                                          {wj_text_at(item, "kind"), CLI_YELLOW, 0},
                                          {time_of(yyjson_obj_get(item, "expires_at"), time), CLI_DIM, 0},
                                          {wj_text_at(item, "assistant_id"), CLI_PLAIN, 0},
                                          {call, CLI_PLAIN, 0}});
}

WEFT_SUSPENDS static int list_all(struct cli_change *p, struct upp_err *err)
{
    struct listing *l = p->arg;
    yyjson_val *page, *item;
    size_t i, max;
    p->door.as = l->as;
    wb_buf_add(&p->path, UPP_STR("/v1/approvals?kind=any&limit=100"));
    for (;;) {
        struct cli_request q = {.method = "GET", .path = wb_buf_str(&p->path)};
        int r = wb_buf_check(&p->path, err);
        if (r >= 0)
            r = cli_owner_call(&p->door, &q, &p->arena, &page, err);
        if (r < 0)
            return r;
        yyjson_arr_foreach(yyjson_obj_get(page, "data"), i, max, item)
        {
            l->n++;
            if (!l->json)
                print_line(&l->table, item, &p->arena);
            else if ((r = print_json(item, err)) < 0)
                return r;
        }
        if (!yyjson_is_true(yyjson_obj_get(page, "has_more")))
            return 0;
        wb_buf_clear(&p->path);
        wb_buf_add(&p->path, UPP_STR("/v1/approvals?kind=any&limit=100&after="));
        cli_path_add(&p->path, wj_text_at(page, "last_id"));
        wb_arena_reset(&p->arena);
    }
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct listing l = {0};
    const char *file = NULL, *store = NULL;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         {"--json", NULL, NULL, &l.json},
                                         CLI_AS(&l.as)};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), NULL, 0, NULL);
    if (bad)
        return bad;
    struct upp_err err = {0};
    cli_table_begin(&l.table, columns, WB_LEN(columns));
    l.table.terminal = 0; /* nothing is cut there: what somebody decides about is seen to its end */
    int r = cli_change_store(self, file, store, true, list_all, &l);
    if (cli_table_end(&l.table, &err) < 0 && r == CLI_GOOD)
        r = cli_fail(self, &err);
    if (r == CLI_GOOD && !l.n) /* not on standard output, which lists only what waits */
        cli_note(self, "nothing waits for an answer");
    return r;
}

static const struct cli_about about_approvals[] = {
    {"--json", NULL, "one object per line, as GET /v1/approvals has them", CLI_TEXT, NULL},
    CLI_ABOUT_AS,
    CLI_ABOUT_CONFIG,
    CLI_ABOUT_STORE,
};

const struct cli_command cli_approvals = {
    .name = "approvals",
    .usage = "[--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "lists what waits for an answer",
    .help = "Prints one line per call that waits, the oldest run first: run, call, kind (approval, or tool: a client's "
            "tool),\n"
            "when it expires, agent, tool and arguments, as the tool receives them: invisible characters are code\n"
            "points (<U+202E>), several blanks are <400 blanks>.\n"
            "Answer with `weft approve RUN CALL`, `weft deny RUN CALL` or `weft answer RUN CALL TEXT`.",
    .run = run,
    CLI_OPTIONS(about_approvals),
    .examples = "weft approvals\n",
};
