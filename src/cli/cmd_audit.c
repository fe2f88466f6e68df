/* cli/cmd_audit.c — weft audit: what administrators have done to the store, the newest first. */
#include "base/defs.h"
#include "cli/list.h"
#include "cli/terminal.h"
#include "json/value.h"

struct audit_list {
    struct cli_list list;
    struct cli_source from;
    const char *since, *until, *tenant, *actor;
};

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

static void action_cells(void *item, struct wb_arena *a, struct cli_cell *ret)
{
    yyjson_val *row = item;
    struct upp_str outcome = wj_text_at(row, "outcome"), tenant = wj_text_at(row, "tenant"),
                   user = wj_text_at(row, "user");
    ret[0] = (struct cli_cell){wj_text_at(row, "time"), CLI_DIM, 0};
    ret[1] = (struct cli_cell){who_of(row, a), CLI_CYAN, 0};
    ret[2].text = wj_text_at(row, "action");
    ret[3] = (struct cli_cell){outcome, wb_str_eq(outcome, UPP_STR("done")) ? CLI_PLAIN : CLI_RED, 0};
    ret[4].text =
        wb_arena_printf(a, "%.*s%s%.*s", UPP_FMT(tenant.n ? tenant : UPP_STR("-")), user.n ? "/" : "", UPP_FMT(user));
    ret[5].text = target_of(row, a);
}

static const struct cli_list_kind actions = {
    .noun = "action", .columns = columns, .n_columns = WB_LEN(columns), .cells = action_cells};

WEFT_SUSPENDS static int list_actions(struct cli_client *p, struct upp_err *err)
{
    struct audit_list *l = p->arg;
    cli_query_add(&p->path, "since", wb_cstr(l->since));
    cli_query_add(&p->path, "until", wb_cstr(l->until));
    cli_query_add(&p->path, "tenant", wb_cstr(l->tenant));
    cli_query_add(&p->path, "actor", wb_cstr(l->actor));
    return cli_list_pages(&l->list, p, "/v1/audit", wb_buf_str(&p->path), err);
}

static int run_audit(const struct cli_command *self, int argc, char **argv)
{
    struct audit_list l = {0};
    int bad = cli_parse(self, argc, argv, &l, NULL, 0, NULL);
    if (!bad)
        bad = cli_list_begin(&l.list, self, &actions);
    return bad ? bad : cli_list_end(&l.list, cli_client_run(self, &l.from, true, list_actions, &l));
}

static const struct cli_option audit_options[] = {
    CLI_VALUE("--since", "TIME", "a time", struct audit_list, since,
              "from this time on: RFC 3339, a date, or seconds since 1970"),
    CLI_VALUE("--until", "TIME", "a time", struct audit_list, until, "before this time"),
    CLI_VALUE("--tenant", "T", "a tenant", struct audit_list, tenant, "only actions for this tenant"),
    CLI_VALUE("--actor", "WHO", "a key, a user, local or signal", struct audit_list, actor,
              "only actions of this API key (id or name) or user, of local commands (local), or of signals"),
    CLI_LIMIT_OPTION(struct audit_list, list),
    CLI_FLAG("--json", struct audit_list, list.json, "one object per line, as GET /v1/audit has them"),
    CLI_STORE_OPTIONS(struct audit_list, from),
};

const struct cli_command cli_audit = {
    .name = "audit",
    .usage = "[--since TIME] [--until TIME] [--tenant T] [--actor WHO] [--limit N] [--json] [--config FILE]\n"
             "                  [--store URL]",
    .summary = "what administrators have done: keys, reloads, exports, erasures, backups",
    .help = "Prints one line per action, the newest first: when, who (an API key, the uid of a local command, or a\n"
            "signal), what, its outcome (done, failed; started: it did not come to its end), for which tenant, and\n"
            "on what. Rows are dropped after retention.audit_days.",
    .run = run_audit,
    CLI_OPTIONS(audit_options),
    .examples = "weft audit --since 2026-11-01\n"
                "weft audit --actor ci --json\n",
};
