/* cli/cli.h — the commands: one row in main.c and one file each. */
#pragma once

#include <upp/base.h>

/* Exit codes of every command. */
enum { CLI_GOOD = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INCOMPLETE = 3 /* a run */, CLI_INTERRUPTED = 130 };

/* What the value of an option, or a word of a command, is: completions offer it. */
enum cli_value {
    CLI_TEXT = 0, /* anything */
    CLI_FILE,
    CLI_FOLDER,
    CLI_AGENT,   /* of the configuration */
    CLI_DIALECT, /* of documents */
    CLI_CHOICE,  /* one of `words` */
};

/* An option as people read of it: help, man pages and completions are made from these. cli_parse takes no option that
 * is not listed. */
struct cli_about {
    const char *name;         /* "--config" */
    const char *value;        /* its value, as in "FILE"; NULL: it has none */
    const char *help;         /* one sentence without its stop */
    uint8_t is;               /* enum cli_value */
    const char *const *words; /* CLI_CHOICE: ends with NULL */
};

struct cli_command {
    const char *name;
    const char *usage;                                                 /* what follows "weft NAME" */
    const char *summary;                                               /* one line for `weft help` */
    const char *help;                                                  /* the rest of `weft help NAME` */
    int (*run)(const struct cli_command *self, int argc, char **argv); /* argv[0] is the command's name */

    const struct cli_about *options;
    size_t n_options;
    const char *examples;     /* lines to be typed, each with its line end; behind # what they do */
    const char *const *words; /* of its first argument: ends with NULL; NULL: no fixed ones */
    uint8_t takes;            /* enum cli_value: its other arguments */

    /* Of the copy that `run` is called with: how it is called this time. */
    bool json;  /* with --json: errors are JSON, too */
    bool quiet; /* with --quiet: no bars, no notes */
};

#define CLI_OPTIONS(table) .options = (table), .n_options = sizeof(table) / sizeof *(table)

/* Options that many commands have. */
#define CLI_ABOUT_CONFIG                                                                                               \
    {                                                                                                                  \
        "--config", "FILE", "the configuration (default: WEFT_CONFIG, else ./weft.yaml)", CLI_FILE, NULL               \
    }
#define CLI_ABOUT_STORE                                                                                                \
    {                                                                                                                  \
        "--store", "URL", "sqlite:PATH, instead of the configuration's store", CLI_TEXT, NULL                          \
    }
#define CLI_ABOUT_LIMIT                                                                                                \
    {                                                                                                                  \
        "--limit", "N", "at most N; 0: all. Default: 20 on a terminal, otherwise all", CLI_TEXT, NULL                  \
    }
#define CLI_ABOUT_AS                                                                                                   \
    {"--tenant", "T", "whose threads and runs (default: local)", CLI_TEXT, NULL},                                      \
    {                                                                                                                  \
        "--user", "U", "the user within the tenant (default: none)", CLI_TEXT, NULL                                    \
    }

/* All commands, in the order of `weft help`: main.c. */
extern const struct cli_command *const cli_commands[];
extern const size_t cli_n_commands;

/* Options of every command: --help, --no-color, --quiet. */
extern const struct cli_about cli_common_options[];
extern const size_t cli_n_common_options;

/* Prints the help of a command; of all, as lines or as one JSON object. */
void cli_help(const struct cli_command *c);
void cli_help_all(void);
int cli_help_json(struct upp_err *err) UPP_MUST_CHECK;

extern const struct cli_command cli_answer, cli_approvals, cli_approve, cli_audit, cli_backup, cli_cancel, cli_chat,
    cli_completion, cli_config, cli_convert, cli_deny, cli_doctor, cli_encryption, cli_export, cli_fork, cli_import,
    cli_init, cli_keys, cli_lineage, cli_replay, cli_restore, cli_route, cli_run, cli_runs, cli_serve, cli_show,
    cli_threads, cli_tree, cli_usage, cli_validate;

/* Errors, on standard error: "weft NAME: sentence"; with --json one object per line. */

/* Prints it, and without --json the usage. Returns CLI_USAGE. */
int cli_misuse(const struct cli_command *self, const char *fmt, ...) UPP_PRINTF(2, 3);

/* Prints it. Returns CLI_FAILED. */
int cli_fail(const struct cli_command *self, const struct upp_err *err);

/* One that is about a file, or a line of it. */
struct cli_error {
    const char *code; /* upp_code_name, or USAGE */
    const char *file; /* NULL: none */
    uint64_t line;    /* 0: none */
    const char *where;
    struct upp_str message;
};
void cli_error_print(const struct cli_command *self, const struct cli_error *e);

/* "weft NAME: sentence", of what is no error; not with --quiet. */
void cli_note(const struct cli_command *self, const char *fmt, ...) UPP_PRINTF(2, 3);

/* Arguments of a command: options in any order, and words. */

struct cli_option {
    const char *name;   /* "--config" */
    const char *wants;  /* describes its value, for messages; NULL: it has none */
    const char **value; /* `--name VALUE` or `--name=VALUE`; the last one counts */
    bool *flag;
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

/* Finds one of some words; the list ends with NULL. CLI_USAGE after a message that lists them and suggests one:
 * "WHAT is one of a, b, not 'x'". given NULL: "wants WHAT: a, b". */
int cli_word(const struct cli_command *self, const char *what, const char *given, const char *const *words,
             size_t *ret);

/* The value of --limit (NULL: 20 on a terminal, otherwise all); 0: all. Returns 0, or CLI_USAGE after a message. */
int cli_list_limit(const struct cli_command *self, const char *given, uint64_t *ret);

/* After a list, on standard error: that it is empty or was cut. Standard output has only what is listed. */
void cli_list_end(const struct cli_command *self, const char *noun, uint64_t n, bool more);
