/* cli/cli.h — the commands: one row a command in main.c, one file each. */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

#include <upp/base.h>

/* Exit codes of every command. */
enum { CLI_GOOD = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INCOMPLETE = 3 /* a run */, CLI_INTERRUPTED = 130 };

struct cli_command {
    const char *name;
    const char *usage;                                                 /* what follows "weft NAME" */
    const char *summary;                                               /* a line for `weft help` */
    const char *help;                                                  /* the rest of `weft help NAME` */
    int (*run)(const struct cli_command *self, int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct cli_command cli_cancel, cli_config, cli_convert, cli_doctor, cli_export, cli_fork, cli_import,
    cli_keys, cli_restore, cli_run, cli_serve, cli_show, cli_threads, cli_tree, cli_validate, cli_version;

/* "weft NAME: sentence", a hint at the usage, CLI_USAGE. */
int cli_misuse(const struct cli_command *self, const char *fmt, ...) UPP_PRINTF(2, 3);

/* "weft NAME: sentence", CLI_FAILED. */
int cli_fail(const struct cli_command *self, const struct upp_err *err);

#endif
