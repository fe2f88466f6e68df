/* cli/main.c — weft: finds the command and runs it.
 *
 * Output goes to standard output, everything else to standard error. Exit codes: 0 success, 1 failure, 2 usage error,
 * 3 a run was cut short by a limit, 130 interrupted.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/crash.h"
#include "base/defs.h"
#include "cli/cli.h"
#include "base/words.h"
#include "runtime/runtime.h"

struct basic_options {
    bool json;
};

static int print_version(const struct cli_command *self, int argc, char **argv)
{
    struct basic_options o = {0};
    int bad = cli_parse(self, argc, argv, &o, NULL, 0, NULL);
    if (bad)
        return bad;
    (void)printf(o.json ? "{\"name\":\"weft\",\"version\":\"%s\"}\n" : "weft %s\n",
                 upp_version()); /* digits and dots: nothing to escape */
    return CLI_GOOD;
}

static const struct cli_option version_options[] = {
    CLI_FLAG("--json", struct basic_options, json, "one object: name, version"),
};

static const struct cli_command version = {
    .name = "version",
    .usage = "[--json]",
    .summary = "prints the version",
    .help = "Prints the version.",
    .run = print_version,
    CLI_OPTIONS(version_options),
    .examples = "weft version\n",
};

static int print_help(const struct cli_command *self, int argc, char **argv);

static const struct cli_option help_options[] = {
    CLI_FLAG("--json", struct basic_options, json, "all commands with their options, as one JSON object"),
};

static const struct cli_command help_command = {
    .name = "help",
    .usage = "[COMMAND]",
    .summary = "this page, or one command's",
    .help = "Lists the commands, or says what one of them does. `weft COMMAND --help` is the same.",
    .run = print_help,
    CLI_OPTIONS(help_options),
    .examples = "weft help run\n",
};

const struct cli_command *const cli_commands[] = {
    &cli_init,   &cli_serve,      &cli_run,    &cli_chat,      &cli_threads, &cli_show,       &cli_tree,
    &cli_fork,   &cli_restore,    &cli_export, &cli_import,    &cli_convert, &cli_validate,   &cli_lineage,
    &cli_replay, &cli_route,      &cli_runs,   &cli_approvals, &cli_approve, &cli_deny,       &cli_answer,
    &cli_cancel, &cli_config,     &cli_keys,   &cli_audit,     &cli_usage,   &cli_encryption, &cli_backup,
    &cli_doctor, &cli_completion, &version,    &help_command,
};
const size_t cli_n_commands = WB_LEN(cli_commands);

/* NULL: there is none of that name. */
static const struct cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    struct wb_guess guess = {0};
    for (size_t i = 0; i < cli_n_commands; i++)
        wb_guess(&guess, wb_cstr(name), wb_cstr(cli_commands[i]->name));
    (void)fprintf(stderr, "weft: there is no command '%s'%s\n", name,
                  wb_guessed(&guess)[0] ? wb_guessed(&guess) : "; `weft help` lists them");
    return CLI_USAGE;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int print_help(const struct cli_command *self, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    struct upp_err err = {0};
    if (argc > 2) {
        (void)fprintf(stderr, "weft help: takes one command, not '%s' too\n", argv[2]);
        return CLI_USAGE;
    }
    if (!name)
        cli_help_all();
    else if (strcmp(name, "--json") == 0)
        return cli_help_json(&err) < 0 ? cli_fail(self, &err) : CLI_GOOD;
    else if (asks_for_help(name))
        cli_help(self);
    else if (find_command(name))
        cli_help(find_command(name));
    else
        return unknown(name);
    return CLI_GOOD;
}

/* The command fails if its output cannot be written, for example to a full disk. */
static int flushed(int r)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return r;
    perror("weft: standard output");
    return CLI_FAILED;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* During a call to a vendor its key is also in buffers of libraries: it must not get into a core file, and no other
 * process of the same user, such as a tool, may read our memory or /proc/PID/environ, or attach to us. The leak check
 * of sanitizers attaches to its own process: sanitized builds stay dumpable. */
static void hide_memory(void)
{
    if (getenv("WEFT_CORE"))
        return;
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* lowering a limit cannot fail */
#ifndef SANITIZED
    (void)prctl(PR_SET_DUMPABLE, 0); /* nor can this */
#endif
}

/* Every command takes --no-color and --quiet. The first means what the variable means: where colours are chosen, only
 * that is asked. */
static int take_common(int argc, char **argv, bool *quiet)
{
    int n = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            while (i < argc)
                argv[n++] = argv[i++];
        } else if (strcmp(argv[i], "--no-color") == 0)
            (void)setenv("NO_COLOR", "1", 1); /* without memory there are colours */
        else if (strcmp(argv[i], "--quiet") == 0)
            *quiet = true;
        else
            argv[n++] = argv[i];
    }
    argv[WB_MIN(n, argc)] = NULL;
    return WB_MIN(n, argc);
}

/* Is there --json among the arguments, before any of them is understood? Mistakes in them are told as JSON, too. */
static bool wants_json(const struct cli_command *c, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const struct cli_option *o = cli_option_find(c, argv[i]);
        if (o && !o->value && strcmp(o->name, "--json") == 0)
            return true;
        if (o && o->value && !strchr(argv[i], '='))
            i++; /* its value, whatever that looks like */
    }
    return false;
}

int main(int argc, char **argv)
{
    struct upp_err err = {0};
    bool quiet = false;

    argc = take_common(argc, argv, &quiet);
    if (argc < 2) {
        (void)fprintf(stderr, "usage: weft COMMAND [ARGUMENT...]\n\n`weft help` lists the commands.\n");
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0)
        name = "version";
    if (strcmp(name, "help") == 0 || asks_for_help(name))
        return flushed(print_help(&help_command, argc - 1, argv + 1));

    const struct cli_command *c = find_command(name);
    if (!c)
        return unknown(name);
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (asks_for_help(argv[i]))
            return flushed((cli_help(c), CLI_GOOD));
    struct cli_command called = *c; /* as it is called this time */
    called.json = wants_json(c, argc - 1, argv + 1);
    called.quiet = quiet;
    hide_memory();
    (void)signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit makes the write fail, like a full disk */
    if (weft_global_init(NULL, &err) < 0 || wb_crash_arm(getenv("WEFT_CRASHPOINT"), &err) < 0)
        return cli_fail(&called, &err);
    return flushed(c->run(&called, argc - 1, argv + 1));
}
