/* cli/cli.h — the commands: one row in main.c and one file each. */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

#include <upp/base.h>

/* Exit codes of every command. */
enum { CLI_GOOD = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INCOMPLETE = 3 /* a run */, CLI_INTERRUPTED = 130 };

struct cli_command {
    const char *name;
    const char *usage;                                                 /* what follows "weft NAME" */
    const char *summary;                                               /* one line for `weft help` */
    const char *help;                                                  /* the rest of `weft help NAME` */
    int (*run)(const struct cli_command *self, int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct cli_command cli_answer, cli_approvals, cli_approve, cli_cancel, cli_config, cli_convert, cli_deny,
    cli_doctor, cli_encryption, cli_export, cli_fork, cli_import, cli_keys, cli_lineage, cli_replay, cli_restore,
    cli_route, cli_run, cli_runs, cli_serve, cli_show, cli_threads, cli_tree, cli_validate;

/* Prints "weft NAME: sentence" and the usage. Returns CLI_USAGE. */
int cli_misuse(const struct cli_command *self, const char *fmt, ...) UPP_PRINTF(2, 3);

/* Prints "weft NAME: sentence". Returns CLI_FAILED. */
int cli_fail(const struct cli_command *self, const struct upp_err *err);

/* ---- Arguments of a command: options in any order, and words -------------------------------- */

struct cli_option {
    const char  *name;  /* "--config" */
    const char  *wants; /* describes its value, for messages; NULL: it has none */
    const char **value; /* `--name VALUE` or `--name=VALUE`; the last one counts */
    bool        *flag;
};

/* Words are arguments without a leading '-', a lone "-", and everything after "--": exactly n_words of them, described
 * by `wants`. 0, or CLI_USAGE after a message: an unknown option, a missing value, too few or too many words. */
int cli_parse(const struct cli_command *self, int argc, char **argv, const struct cli_option *options, size_t n,
              const char **words, size_t n_words, const char *wants);

/* The same for at most `max` words; their number goes to *n_words. `words` may be argv itself. */
int cli_parse_some(const struct cli_command *self, int argc, char **argv, const struct cli_option *options, size_t n,
                   const char **words, size_t max, size_t *n_words);

/* Whose threads and runs: --tenant and --user (NULL: `local`, and no user). */
struct cli_as {
    const char *tenant, *user;
};
#define CLI_AS(as)                                                                                                     \
    {"--tenant", "a tenant", &(as)->tenant, NULL},                                                                     \
    {                                                                                                                  \
        "--user", "a user", &(as)->user, NULL                                                                          \
    }

#define CLI_AS_HELP "--tenant, --user: whose threads and runs (default: tenant local, no user)."

/* ---- Lists ------------------------------------------------------------------------------------ */

/* The value of --limit (NULL: 20 on a terminal, otherwise all); 0: all. Returns 0, or CLI_USAGE after a message. */
int cli_list_limit(const struct cli_command *self, const char *given, uint64_t *ret);

/* After a list, on standard error: that it is empty or was cut. Standard output has only what is listed. */
void cli_list_end(const struct cli_command *self, const char *noun, uint64_t n, bool more);

#endif
