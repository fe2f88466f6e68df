/* cli/cmd_fork.c — weft fork THREAD: a second thread that shares the history so far. */
#include "base/defs.h"
#include "cli/cli.h"
#include "cli/change.h"
#include "cli/thread_word.h"

struct forking {
    const char *thread, *at;
    bool json;

    struct cli_as as;
};

WEFT_SUSPENDS static int fork_it(struct cli_change *p, struct upp_err *err)
{
    struct forking *f = p->arg;
    yyjson_val *v;
    p->door.as = f->as;
    int r = cli_thread_path(p, f->thread, "/fork", err);
    if (r >= 0)
        r = cli_change_post(p, "at", f->at, &v, err);
    if (r < 0)
        r = cli_thread_guess(&p->door, f->thread, r, err);
    return r < 0 ? r : cli_print_thread(v, f->json, err);
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct forking f = {0};
    const char *file = NULL, *store = NULL;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         {"--at", "a message or a checkpoint", &f.at, NULL},
                                         {"--json", NULL, NULL, &f.json},
                                         CLI_AS(&f.as)};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), &f.thread, 1, "the id of a thread");
    if (bad)
        return bad;
    return cli_change_store(self, file, store, true, fork_it, &f);
}

static const struct cli_about about_fork[] = {
    {"--at", "MESSAGE|CHECKPOINT", "shares the history up to there (default: all of it)", CLI_TEXT, NULL},
    {"--json", NULL, "the new thread as one object", CLI_TEXT, NULL},
    CLI_ABOUT_AS,
    CLI_ABOUT_CONFIG,
    CLI_ABOUT_STORE,
};

const struct cli_command cli_fork = {
    .name = "fork",
    .usage = "THREAD [--at MESSAGE|CHECKPOINT] [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "creates a second thread that shares a history",
    .help =
        "Creates a thread that shares the history up to a message (including the results of its calls; `weft show`\n"
        "prints the ids) or a checkpoint (`weft tree --checkpoints`) of any branch. Prints its id. Nothing is copied.\n"
        "Later messages of one thread are not part of the other.",
    .run = run,
    CLI_OPTIONS(about_fork),
    .examples = "weft fork THREAD\n"
                "weft fork THREAD --at MESSAGE\n",
};
