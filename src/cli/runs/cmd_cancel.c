/* cli/runs/cmd_cancel.c — weft cancel RUN.
 *
 * If no process owns the store, the run is not being executed: it is ended in its stored state, and no other run is
 * recovered.
 */
#include <stdio.h>

#include "base/defs.h"
#include "cli/change.h"
#include "cli/run_view.h"
#include "json/value.h"

struct canceling {
    const char *word;
    char run[64];
    bool json;

    struct cli_as as;
};

WEFT_SUSPENDS static int cancel(struct cli_change *p, struct upp_err *err)
{
    struct canceling *c = p->arg;
    yyjson_val *v, *status;
    p->door.as = c->as;
    wb_buf_add(&p->path, UPP_STR("/v1/runs/"));
    cli_path_add(&p->path, wb_cstr(c->word)); /* messages have it as it was typed */
    wb_buf_add(&p->path, UPP_STR("/cancel"));
    struct cli_request q = {.method = "POST", .path = wb_buf_str(&p->path)};
    int r = wb_buf_check(&p->path, err);
    if (r >= 0)
        r = cli_owner_call(&p->door, &q, &p->arena, &v, err);
    if (r < 0)
        return r;
    status = yyjson_obj_get(v, "status");
    struct upp_str word = status && yyjson_is_str(status) ? wj_text(status) : UPP_STR("cancelling");
    (void)printf(c->json ? "{\"run\":\"%s\",\"status\":\"%.*s\"}\n" : "%s %.*s\n", c->run, UPP_FMT(word));
    return 0;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct canceling c = {0};
    struct upp_err err = {0};
    const char *file = NULL, *store = NULL;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         {"--json", NULL, NULL, &c.json},
                                         CLI_AS(&c.as)};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), &c.word, 1, "the id of a run");
    if (bad)
        return bad;
    if (cli_run_id(c.word, c.run, &err) < 0)
        return cli_fail(self, &err);
    return cli_change_store(self, file, store, false, cancel, &c);
}

static const struct cli_about about_cancel[] = {
    {"--json", NULL, "the run as one object", CLI_TEXT, NULL},
    CLI_ABOUT_AS,
    CLI_ABOUT_CONFIG,
    CLI_ABOUT_STORE,
};

const struct cli_command cli_cancel = {
    .name = "cancel",
    .usage = "RUN [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "cancels a run",
    .help = "Cancels a run and prints its status: cancelling while its owner unwinds it, or cancelled. A run that has\n"
            "ended cannot be cancelled.",
    .run = run,
    CLI_OPTIONS(about_cancel),
    .examples = "weft cancel RUN\n",
};
