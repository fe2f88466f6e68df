/* cli/cmd_fork.c — weft fork THREAD: a second thread that shares the history so far. */
#include "base/defs.h"
#include "cli/cli.h"
#include "cli/store_client.h"
#include "cli/thread_word.h"

struct fork_request {
    struct cli_source from;
    const char *thread, *at; /* at NULL: its end */
    bool json;
};

WEFT_SUSPENDS static int fork_thread(struct cli_client *p, struct upp_err *err)
{
    struct fork_request *f = p->arg;
    yyjson_val *v;
    int r = cli_thread_path(p, f->thread, "/fork", err);
    if (r >= 0)
        r = cli_client_post(p, "at", f->at, &v, err);
    if (r < 0)
        r = cli_thread_guess(&p->door, f->thread, r, err);
    return r < 0 ? r : cli_print_thread(v, f->json, err);
}

static int run_fork(const struct cli_command *self, int argc, char **argv)
{
    struct fork_request f = {0};
    int bad = cli_parse(self, argc, argv, &f, &f.thread, 1, "the id of a thread");
    return bad ? bad : cli_client_run(self, &f.from, true, fork_thread, &f);
}

static const struct cli_option fork_options[] = {
    CLI_VALUE("--at", "MESSAGE|CHECKPOINT", "a message or a checkpoint", struct fork_request, at,
              "shares the history up to there (default: all of it)"),
    CLI_FLAG("--json", struct fork_request, json, "the new thread as one object"),
    CLI_SOURCE_OPTIONS(struct fork_request, from),
};

const struct cli_command cli_fork = {
    .name = "fork",
    .usage = "THREAD [--at MESSAGE|CHECKPOINT] [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "creates a second thread that shares a history",
    .help =
        "Creates a thread that shares the history up to a message (including the results of its calls; `weft show`\n"
        "prints the ids) or a checkpoint (`weft tree --checkpoints`) of any branch. Prints its id. Nothing is copied.\n"
        "Later messages of one thread are not part of the other.",
    .run = run_fork,
    CLI_OPTIONS(fork_options),
    .examples = "weft fork THREAD\n"
                "weft fork THREAD --at MESSAGE\n",
};
