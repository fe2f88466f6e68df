/* cli/cmd_fork.c — weft fork THREAD: a second thread that shares what was said so far. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/args.h"
#include "cli/change.h"

struct forking {
    const char *thread, *at;
    bool        json;
};

WEFT_SUSPENDS static int fork_it(struct cli_posting *p, struct upp_err *err)
{
    struct forking *f = p->arg;
    struct upp_str  id;
    yyjson_val     *v;
    int             r = cli_thread_path(p, f->thread, "/fork", err);
    if (r >= 0)
        r = cli_post_member(p, "at", f->at, &v, err);
    if (r >= 0)
        r = cli_answer_text(v, "id", &id, err);
    if (r >= 0) /* digits and letters: nothing to escape */
        (void)printf(f->json ? "{\"thread\":\"%.*s\"}\n" : "%.*s\n", UPP_FMT(id));
    return r;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct forking          f    = {0};
    const char             *file = NULL, *store = NULL;
    size_t                  n;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         {"--at", "a message or a checkpoint", &f.at, NULL},
                                         {"--json", NULL, NULL, &f.json}};
    int                     bad       = cli_parse(self, argc, argv, options, WB_LEN(options), &f.thread, 1, &n);
    if (bad)
        return bad;
    if (n < 1)
        return cli_misuse(self, "wants the id of a thread");
    return cli_post_store(self, file, store, true, fork_it, &f);
}

const struct cli_command cli_fork = {
    .name    = "fork",
    .usage   = "THREAD [--at MESSAGE|CHECKPOINT] [--json] [--config FILE] [--store URL]",
    .summary = "a second thread from a place of the first",
    .help =
        "Makes a thread that has all that was said up to a message (with it and the results of its calls; `weft show`\n"
        "has the ids) or a checkpoint (`weft tree --checkpoints`) of any branch; without --at, all. Prints its id.\n"
        "Nothing is copied, and neither sees what the other says from then on.",
    .run = run,
};
