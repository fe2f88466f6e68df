/* cli/runs/cmd_approvals.c — weft approvals: lists what waits for an answer, the oldest run first. */
#include "base/defs.h"
#include "cli/list.h"
#include "cli/run_view.h"
#include "cli/input.h"
#include "json/number.h"
#include "json/value.h"

struct approval_list {
    struct cli_list list;
    struct cli_source from;
};

static struct upp_str time_of(yyjson_val *seconds, struct wb_arena *a)
{
    int64_t s;
    return yyjson_is_raw(seconds) && wj_num_i64(wj_text(seconds), &s) ? cli_time_text(s * 1000, a) : UPP_STR("never");
}

static const struct cli_column columns[] = {
    {.title = "RUN"},
    {.title = "CALL"},
    {.title = "KIND", .width = 8},
    {.title = "EXPIRES", .width = 24, .may_go = true},
    {.title = "AGENT"},
    {.title = "CALLS"},
};

static void approval_cells(void *row, struct wb_arena *a, struct cli_cell *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf shown = WB_BUF(CLI_MAX_BODY);
    yyjson_val *item = row;
    cli_waiting_call(&shown, item);
    ret[0].text = wj_text_at(item, "run_id");
    ret[1] = (struct cli_cell){wj_text_at(item, "call_id"), CLI_CYAN, 0};
    ret[2] = (struct cli_cell){wj_text_at(item, "kind"), CLI_YELLOW, 0};
    ret[3] = (struct cli_cell){time_of(yyjson_obj_get(item, "expires_at"), a), CLI_DIM, 0};
    ret[4].text = wj_text_at(item, "assistant_id");
    ret[5].text = shown.failed ? UPP_STR("(too long to be shown)") : wb_arena_dup(a, wb_buf_str(&shown));
}

/* What somebody decides about is seen to its end. */
static const struct cli_list_kind approvals = {.none = "nothing waits for an answer",
                                               .columns = columns,
                                               .n_columns = WB_LEN(columns),
                                               .all = true,
                                               .uncut = true,
                                               .cells = approval_cells};

WEFT_SUSPENDS static int list_approvals(struct cli_client *p, struct upp_err *err)
{
    struct approval_list *l = p->arg;
    return cli_list_pages(&l->list, p, "/v1/approvals", UPP_STR("&kind=any"), err);
}

static int run_approvals(const struct cli_command *self, int argc, char **argv)
{
    struct approval_list l = {0};
    int bad = cli_parse(self, argc, argv, &l, NULL, 0, NULL);
    if (!bad)
        bad = cli_list_begin(&l.list, self, &approvals);
    return bad ? bad : cli_list_end(&l.list, cli_client_run(self, &l.from, true, list_approvals, &l));
}

static const struct cli_option approvals_options[] = {
    CLI_FLAG("--json", struct approval_list, list.json, "one object per line, as GET /v1/approvals has them"),
    CLI_SOURCE_OPTIONS(struct approval_list, from),
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
    .run = run_approvals,
    CLI_OPTIONS(approvals_options),
    .examples = "weft approvals\n",
};
