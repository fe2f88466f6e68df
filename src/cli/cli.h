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
    cli_keys, cli_restore, cli_run, cli_serve, cli_show, cli_threads, cli_tree, cli_validate;

/* "weft NAME: sentence", a hint at the usage, CLI_USAGE. */
int cli_misuse(const struct cli_command *self, const char *fmt, ...) UPP_PRINTF(2, 3);

/* "weft NAME: sentence", CLI_FAILED. */
int cli_fail(const struct cli_command *self, const struct upp_err *err);

/* ---- What stands behind the name of a command: options in any order, and words -------------------------------- */

struct cli_option {
    const char  *name;  /* "--config" */
    const char  *wants; /* what its value is, for messages; NULL: it has none */
    const char **value; /* `--name VALUE` or `--name=VALUE`; the last one counts */
    bool        *flag;
};

/* Words are all that does not begin with '-', a lone "-", and all behind "--": exactly n_words of them, and `wants` says
 * what they are. 0, or CLI_USAGE when it was said what is wrong: an unknown option, a value that is missing, a word too
 * few or too many. */
int cli_parse(const struct cli_command *self, int argc, char **argv, const struct cli_option *options, size_t n,
              const char **words, size_t n_words, const char *wants);

/* The same for at most `max` words; *n_words says how many there are. `words` may be argv itself. */
int cli_parse_some(const struct cli_command *self, int argc, char **argv, const struct cli_option *options, size_t n,
                   const char **words, size_t max, size_t *n_words);

#endif
