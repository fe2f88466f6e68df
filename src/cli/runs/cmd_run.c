/* cli/runs/cmd_run.c — weft run AGENT TEXT: starts one run and prints its output. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/cli.h"
#include "cli/runs/follow.h"
#include "cli/thread_word.h"

enum { INPUT_MAX = 8 << 20 };

struct run_command {
    struct cli_source from;
    const char *thread, *title; /* NULL: a new one; none */
    bool events, json;
    struct upp_str agent, text;
    struct wb_buf thread_path; /* percent-encoded; empty: a new one */
    struct cli_follow f;
    char key[WB_UUID_TEXT + 1];
};

WEFT_SUSPENDS static int start_run(struct cli_follow *f, struct upp_err *err)
{
    struct run_command *c = f->arg;
    int r = cli_start_run(f,
                          &(struct cli_start){.thread = wb_buf_str(&c->thread_path),
                                              .title = wb_cstr(c->title),
                                              .agent = c->agent,
                                              .text = c->text,
                                              .key = wb_cstr(c->key)},
                          err);
    return r < 0 && c->thread ? cli_thread_guess(&f->door, c->thread, r, err) : r;
}

static void run_command_done(struct run_command *c)
{
    cli_follow_done(&c->f);
    wb_buf_done(&c->thread_path);
}

static int run_run(const struct cli_command *self, int argc, char **argv)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf in = WB_BUF(INPUT_MAX);
    WB_CLEANUP(run_command_done)
    struct run_command c = {.thread_path = WB_BUF(4096)};
    const char *words[2];
    struct upp_err err = {0};
    static const uint8_t show[2][2] = {{CLI_SHOW_TEXT, CLI_SHOW_OBJECT}, {CLI_SHOW_LINES, CLI_SHOW_EVENTS}};
    struct wb_uuid key;
    cli_follow_init(&c.f, CLI_SHOW_TEXT, self->name);
    c.f.start = start_run;
    c.f.cancels = true;
    c.f.arg = &c;
    int bad = cli_parse(self, argc, argv, &c, words, 2, "an agent and a text");
    if (bad)
        return bad;
    c.f.shown.how = show[c.events][c.json];
    c.agent = wb_cstr(words[0]);
    if (c.thread && c.title)
        return cli_misuse(self, "--title is of a new thread, and --thread names one that is there");
    cli_path_add(&c.thread_path, wb_cstr(c.thread)); /* the owner accepts every spelling of an id */
    if (wb_buf_check(&c.thread_path, &err) < 0 || cli_follow_text(words[1], &in, &c.text, &err) < 0 ||
        wb_uuid_new(&key, &err) < 0)
        return cli_fail(self, &err);
    if (!wb_str_trim(c.text).n)
        return cli_misuse(self, "wants a text that says something");
    (void)wb_uuid_text(key, c.key);
    return cli_follow(self, &c.f, &c.from, false);
}

static const struct cli_option run_options[] = {
    CLI_VALUE("--thread", "ID", "an id", struct run_command, thread, "continues this thread (default: a new one)"),
    CLI_VALUE("--title", "TITLE", "a text", struct run_command, title, "title of the new thread"),
    CLI_FLAG("--events", struct run_command, events,
             "one line per event; with --json the events as JSON (UAP's AgentStreamEvents), one per line"),
    CLI_FLAG("--json", struct run_command, json,
             "one JSON object at the end: run, thread, status, text, incomplete, usage, error, pending"),
    CLI_AS_OPTIONS(struct run_command, from.as),
    CLI_CONFIG_OPTION(struct run_command, from.config),
    CLI_VALUE("--store", "URL", "memory: or sqlite:PATH", struct run_command, from.store,
              "memory: or sqlite:PATH, instead of the configuration's store"),
};

const struct cli_command cli_run = {
    .name = "run",
    .usage = "AGENT TEXT [--thread ID | --title TITLE] [--events] [--json] [--tenant T] [--user U]\n"
             "                [--config FILE] [--store URL]",
    .summary = "runs an agent once and prints its answer",
    .help =
        "Gives TEXT (-: standard input) to AGENT and prints the answer as it is generated.\n"
        "If a server owns the store, the server executes the run. Ctrl-C cancels the run; a second one exits at once.\n"
        "Exits 0 if the run completed; 1 if it failed, was cancelled by somebody else or waits for answers (standard\n"
        "error says for which, and how to answer); 3 if a limit cut it short (a budget or max_steps; standard error\n"
        "says which); 130 if it was interrupted.",
    .run = run_run,
    CLI_OPTIONS(run_options),
    .examples = "weft run weather \"What's the weather like in Oslo?\"\n"
                "weft run weather - <question.txt --json\n"
                "weft run weather \"And tomorrow?\" --thread ID\n",
    .takes = CLI_AGENT,
};
