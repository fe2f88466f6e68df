/* cli/cmd_restore.c — weft restore THREAD CHECKPOINT: moves a thread back to a checkpoint. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/cli.h"
#include "cli/change.h"
#include "cli/thread_word.h"
#include "json/write.h"

struct restoring {
    const char *words[2]; /* thread, checkpoint */
    bool json;

    struct cli_as as;
};

static int print_place(yyjson_val *v, bool json, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct upp_str thread, node;
    yyjson_val *entries = yyjson_obj_get(v, "entries");
    int r = json ? wj_write(v, &out, err) : 0;
    if (json && r >= 0)
        (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&out)));
    if (json)
        return r;
    r = cli_answer_text(v, "thread_id", &thread, err);
    if (r >= 0)
        r = cli_answer_text(v, "node_id", &node, err);
    if (r >= 0 && (!entries || wj_write(entries, &out, NULL) < 0))
        r = upp_fail(err, UPP_EPROTO, "the owner of the store answers without 'entries'");
    if (r >= 0)
        (void)printf("%.*s stands at entry %.*s, in node %.*s: what is said next branches there\n", UPP_FMT(thread),
                     UPP_FMT(wb_buf_str(&out)), UPP_FMT(node));
    return r;
}

WEFT_SUSPENDS static int restore(struct cli_change *p, struct upp_err *err)
{
    struct restoring *x = p->arg;
    yyjson_val *v;
    p->door.as = x->as;
    int r = cli_thread_path(p, x->words[0], "/restore", err);
    if (r >= 0)
        r = cli_change_post(p, "checkpoint_id", x->words[1], &v, err);
    return r < 0 ? cli_thread_guess(&p->door, x->words[0], r, err) : print_place(v, x->json, err);
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct restoring x = {0};
    const char *file = NULL, *store = NULL;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         {"--json", NULL, NULL, &x.json},
                                         CLI_AS(&x.as)};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), x.words, WB_LEN(x.words),
                        "a thread and a checkpoint of it");
    if (bad)
        return bad;
    return cli_change_store(self, file, store, true, restore, &x);
}

static const struct cli_about about_restore[] = {
    {"--json", NULL, "where the thread stands, as one object", CLI_TEXT, NULL},
    CLI_ABOUT_AS,
    CLI_ABOUT_CONFIG,
    CLI_ABOUT_STORE,
};

const struct cli_command cli_restore = {
    .name = "restore",
    .usage = "THREAD CHECKPOINT [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "sets a thread back to a checkpoint",
    .help =
        "Sets the thread back to the checkpoint (`weft tree THREAD --checkpoints` lists them). Nothing is deleted:\n"
        "later messages stay on their branch, and the next message starts a new one. Fails while a run of the thread\n"
        "has not ended: `weft cancel RUN` first.",
    .run = run,
    CLI_OPTIONS(about_restore),
    .examples = "weft restore THREAD CHECKPOINT\n",
};
