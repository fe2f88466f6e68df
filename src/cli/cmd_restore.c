/* cli/cmd_restore.c — weft restore THREAD CHECKPOINT: moves a thread back to a checkpoint. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/list.h"
#include "cli/thread_word.h"

struct restore_request {
    struct cli_source from;
    const char *words[2]; /* thread, checkpoint */
    bool json;
};

static int print_position(yyjson_val *v, bool json, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct upp_str thread, node;
    yyjson_val *entries = yyjson_obj_get(v, "entries");
    if (json)
        return cli_print_json(v, err);
    int r = cli_answer_text(v, "thread_id", &thread, err);
    if (r >= 0)
        r = cli_answer_text(v, "node_id", &node, err);
    if (r < 0)
        return r;
    if (!entries || wj_write(entries, &out, NULL) < 0)
        return upp_fail(err, UPP_EPROTO, "the owner of the store answers without 'entries'");
    (void)printf("%.*s stands at entry %.*s, in node %.*s: what is said next branches there\n", UPP_FMT(thread),
                 UPP_FMT(wb_buf_str(&out)), UPP_FMT(node));
    return 0;
}

WEFT_SUSPENDS static int restore_thread(struct cli_client *p, struct upp_err *err)
{
    struct restore_request *x = p->arg;
    yyjson_val *v;
    int r = cli_thread_path(p, x->words[0], "/restore", err);
    if (r >= 0)
        r = cli_client_post(p, "checkpoint_id", x->words[1], &v, err);
    return r < 0 ? cli_thread_guess(&p->door, x->words[0], r, err) : print_position(v, x->json, err);
}

static int run_restore(const struct cli_command *self, int argc, char **argv)
{
    struct restore_request x = {0};
    int bad = cli_parse(self, argc, argv, &x, x.words, WB_LEN(x.words), "a thread and a checkpoint of it");
    return bad ? bad : cli_client_run(self, &x.from, true, restore_thread, &x);
}

static const struct cli_option restore_options[] = {
    CLI_FLAG("--json", struct restore_request, json, "where the thread stands, as one object"),
    CLI_SOURCE_OPTIONS(struct restore_request, from),
};

const struct cli_command cli_restore = {
    .name = "restore",
    .usage = "THREAD CHECKPOINT [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "sets a thread back to a checkpoint",
    .help =
        "Sets the thread back to the checkpoint (`weft tree THREAD --checkpoints` lists them). Nothing is deleted:\n"
        "later messages stay on their branch, and the next message starts a new one. Fails while a run of the thread\n"
        "has not ended: `weft cancel RUN` first.",
    .run = run_restore,
    CLI_OPTIONS(restore_options),
    .examples = "weft restore THREAD CHECKPOINT\n",
};
