/* cli/runs/cmd_cancel.c — weft cancel RUN.
 *
 * If no process owns the store, the run is not being executed: it is ended in its stored state, and no other run is
 * recovered.
 */
#include <stdio.h>

#include "base/defs.h"
#include "cli/store_client.h"
#include "cli/run_view.h"
#include "json/value.h"

struct cancel_request {
    struct cli_source from;
    const char *word; /* the run, as it was typed */
    char run[64];
    bool json;
};

WEFT_SUSPENDS static int cancel_run(struct cli_client *p, struct upp_err *err)
{
    struct cancel_request *c = p->arg;
    yyjson_val *v, *status;
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

static int run_cancel(const struct cli_command *self, int argc, char **argv)
{
    struct cancel_request c = {0};
    struct upp_err err = {0};
    int bad = cli_parse(self, argc, argv, &c, &c.word, 1, "the id of a run");
    if (bad)
        return bad;
    if (cli_run_id(c.word, c.run, &err) < 0)
        return cli_fail(self, &err);
    return cli_client_run(self, &c.from, false, cancel_run, &c);
}

static const struct cli_option cancel_options[] = {
    CLI_FLAG("--json", struct cancel_request, json, "the run as one object"),
    CLI_SOURCE_OPTIONS(struct cancel_request, from),
};

const struct cli_command cli_cancel = {
    .name = "cancel",
    .usage = "RUN [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "cancels a run",
    .help = "Cancels a run and prints its status: cancelling while its owner unwinds it, or cancelled. A run that has\n"
            "ended cannot be cancelled.",
    .run = run_cancel,
    CLI_OPTIONS(cancel_options),
    .examples = "weft cancel RUN\n",
};
