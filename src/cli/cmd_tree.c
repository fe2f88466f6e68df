/* cli/cmd_tree.c — weft tree THREAD: the branches of a conversation. */
#include "base/defs.h"
#include "cli/list.h"
#include "cli/terminal.h"
#include "cli/thread_word.h"
#include "cli/tree_view.h"
#include "cli/store_reader.h"
#include "server/doors/v1/routes.h"

struct tree_request {
    struct cli_source from;
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
    return cli_line_out(stdout, &w);
}

WEFT_SUSPENDS static int print_tree(struct cli_reader *rd, struct upp_err *err)
{
    struct tree_request *x = rd->arg;
    struct wl_thread t;
    struct wa_tree_summary l;
    int r = cli_thread_find(rd, x->id, &t, err);
    if (r >= 0)
        r = wa_tree_summarise(rd->store, &rd->owner, &t, &rd->arena, &l, err);
    if (r < 0)
        return r;
    return x->json ? print_json(&t, &l, err) : cli_draw_tree(stdout, &t, &l, &x->how, err);
}

static int run_tree(const struct cli_command *self, int argc, char **argv)
{
    struct tree_request x = {.how = {.utf8 = cli_draws_utf8(stdout), .coloured = cli_colours(stdout)}};
    int bad = cli_parse(self, argc, argv, &x, &x.id, 1, "the id of a thread");
    return bad ? bad : cli_read_store(self, &x.from, false, print_tree, &x);
}

static const struct cli_option tree_options[] = {
    CLI_FLAG("--checkpoints", struct tree_request, how.checkpoints,
             "one line per checkpoint, with the id for `weft restore` and `weft fork --at`"),
    CLI_FLAG("--json", struct tree_request, json, "one object, as GET /v1/threads/THREAD/tree returns it"),
    CLI_SOURCE_OPTIONS(struct tree_request, from),
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
    .run = run_tree,
    CLI_OPTIONS(tree_options),
    .examples = "weft tree THREAD --checkpoints\n",
};
