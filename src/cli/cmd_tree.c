/* cli/cmd_tree.c — weft tree, fork, restore: the branches of a thread. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/list.h"
#include "cli/terminal.h"
#include "cli/thread_word.h"
#include "cli/tree_view.h"
#include "cli/store_reader.h"
#include "server/doors/v1/routes.h"
#include "cli/cli.h"
#include "cli/store_client.h"

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
