/* cli/cmd_tree.c — weft tree THREAD: the branches of a conversation. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "cli/thread_word.h"
#include "cli/tree_view.h"
#include "cli/store_reader.h"
#include "server/doors/v1/tree.h"

struct looking {
    struct cli_as as;
    const char *id;
    bool json;
    struct cli_drawing how;
};

static int print_json(const struct wl_thread *t, const struct wa_tree_summary *l, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 30);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    sv_write_tree(&w, t, l);
    int r = wj_writer_check(&w);
    if (r >= 0) {
        (void)fwrite(out.p, 1, out.n, stdout);
        (void)putchar('\n');
    }
    return r;
}

WEFT_SUSPENDS static int look(struct cli_reader *rd, struct upp_err *err)
{
    struct looking *x = rd->arg;
    struct wl_thread t;
    struct wa_tree_summary l;
    cli_read_as(rd, &x->as);
    int r = cli_thread_find(rd, x->id, &t, err);
    if (r >= 0)
        r = wa_tree_summarise(rd->store, &rd->owner, &t, &rd->arena, &l, err);
    if (r < 0)
        return r;
    return x->json ? print_json(&t, &l, err) : cli_draw_tree(stdout, &t, &l, &x->how, err);
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct looking x = {.how = {.utf8 = cli_draws_utf8(stdout), .coloured = cli_colours(stdout)}};
    const char *file = NULL, *store = NULL;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         CLI_AS(&x.as),
                                         {"--checkpoints", NULL, NULL, &x.how.checkpoints},
                                         {"--json", NULL, NULL, &x.json}};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), &x.id, 1, "the id of a thread");
    if (bad)
        return bad;
    return cli_read_store(self, file, store, false, look, &x);
}

static const struct cli_about about_tree[] = {
    {"--checkpoints", NULL, "one line per checkpoint, with the id for `weft restore` and `weft fork --at`", CLI_TEXT,
     NULL},
    {"--json", NULL, "one object, as GET /v1/threads/THREAD/tree returns it", CLI_TEXT, NULL},
    CLI_ABOUT_AS,
    CLI_ABOUT_CONFIG,
    CLI_ABOUT_STORE,
};

const struct cli_command cli_tree = {
    .name = "tree",
    .usage = "THREAD [--checkpoints] [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "the branches of a thread",
    .help =
        "Prints one line per node of the thread's tree, below its parent: after how many of the parent's messages it\n"
        "branched off, its name, its number of messages, one dot per checkpoint, its first words, other threads that\n"
        "end there. * marks the thread's current position, where the next message is appended.\n"
        "The database can be read while a server uses it.",
    .run = run,
    CLI_OPTIONS(about_tree),
    .examples = "weft tree THREAD --checkpoints\n",
};
