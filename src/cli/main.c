/* cli/main.c — weft: finds the command and runs it.
 *
 * Output goes to standard output, everything else to standard error. Exit codes: 0 success, 1 failure, 2 usage error,
 * 3 a run was cut short by a limit, 130 interrupted.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/crash.h"
#include "base/defs.h"
#include "cli/cli.h"
#include "runtime/config_read.h"
#include "runtime/global.h"

static int print_version(const struct cli_command *self, int argc, char **argv)
{
    if (argc == 1)
        (void)printf("weft %s\n", upp_version());
    else if (argc == 2 && strcmp(argv[1], "--json") == 0) /* digits and dots: nothing to escape */
        (void)printf("{\"name\":\"weft\",\"version\":\"%s\"}\n", upp_version());
    else
        return cli_misuse(self, "does not take '%s'", argv[argc - 1]);
    return CLI_GOOD;
}

static const struct cli_command version = {
    .name    = "version",
    .usage   = "[--json]",
    .summary = "prints the version",
    .help    = "Prints the version, as text or as a JSON object.",
    .run     = print_version,
};

static int print_help(const struct cli_command *self, int argc, char **argv);

static const struct cli_command help_command = {
    .name    = "help",
    .usage   = "[COMMAND]",
    .summary = "this page, or one command's",
    .help    = "Lists the commands, or says what one of them does. `weft COMMAND --help` is the same.",
    .run     = print_help,
};

static const struct cli_command *const commands[] = {
    &cli_serve,  &cli_run,        &cli_threads, &cli_show,     &cli_tree,     &cli_fork,   &cli_restore,
    &cli_export, &cli_import,     &cli_convert, &cli_validate, &cli_route,    &cli_replay, &cli_lineage,
    &cli_runs,   &cli_approvals,  &cli_approve, &cli_deny,     &cli_answer,   &cli_cancel, &cli_config,
    &cli_keys,   &cli_encryption, &cli_doctor,  &version,      &help_command,
};

static void usage(FILE *out)
{
    (void)fprintf(out, "usage: weft COMMAND [ARGUMENT...]\n\n");
    for (size_t i = 0; i < WB_LEN(commands); i++)
        (void)fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    (void)fprintf(out, "\n`weft help COMMAND` tells more.\n");
}

static const struct cli_command *find(const char *name)
{
    for (size_t i = 0; i < WB_LEN(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    struct wc_guess guess = {0};
    for (size_t i = 0; i < WB_LEN(commands); i++)
        wc_guess(&guess, wb_cstr(name), wb_cstr(commands[i]->name));
    (void)fprintf(stderr, "weft: there is no command '%s'%s\n", name,
                  wc_guessed(&guess)[0] ? wc_guessed(&guess) : "; `weft help` lists them");
    return CLI_USAGE;
}

static int help(const char *name)
{
    if (!name) {
        usage(stdout);
        return CLI_GOOD;
    }
    const struct cli_command *c = find(name);
    if (!c)
        return unknown(name);
    (void)printf("usage: weft %s%s%s\n\n%s\n", c->name, c->usage[0] ? " " : "", c->usage, c->help);
    return CLI_GOOD;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int print_help(const struct cli_command *self, int argc, char **argv)
{
    if (argc <= 2)
        return help(argc > 1 ? (asks_for_help(argv[1]) ? self->name : argv[1]) : NULL);
    (void)fprintf(stderr, "weft help: takes one command, not '%s' too\n", argv[2]);
    return CLI_USAGE;
}

int cli_misuse(const struct cli_command *self, const char *fmt, ...)
{
    va_list args;
    (void)fprintf(stderr, "weft %s: ", self->name);
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fprintf(stderr, "\nusage: weft %s%s%s\n", self->name, self->usage[0] ? " " : "", self->usage);
    return CLI_USAGE;
}

int cli_fail(const struct cli_command *self, const struct upp_err *err)
{
    (void)fprintf(stderr, "weft %s: %s%s%s\n", self->name, err->where, err->where[0] ? ": " : "", err->msg);
    return CLI_FAILED;
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

int main(int argc, char **argv)
{
    struct upp_err err = {0};

    if (argc < 2) {
        usage(stderr);
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0)
        name = "version";
    if (strcmp(name, "help") == 0 || asks_for_help(name))
        return flushed(print_help(&help_command, argc - 1, argv + 1));

    const struct cli_command *c = find(name);
    if (!c)
        return unknown(name);
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (asks_for_help(argv[i]))
            return flushed(help(c->name));
    hide_memory();
    (void)signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit makes the write fail, like a full disk */
    if (weft_global_init(NULL, &err) < 0 || wb_crash_arm(getenv("WEFT_CRASHPOINT"), &err) < 0)
        return cli_fail(c, &err);
    return flushed(c->run(c, argc - 1, argv + 1));
}
