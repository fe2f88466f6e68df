/* cli/cli.h — the commands: one row in main.c and one file each. */
#pragma once

#include <stddef.h>
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

/* An option of a command. The parser, help, man pages and completions all use this row. */
struct cli_option {
    const char *name;         /* "--config" */
    const char *value;        /* its value in the help, as in "FILE"; NULL: it has none */
    const char *wants;        /* describes its value in messages, as in "a file" */
    const char *help;         /* one sentence without its stop */
    size_t at;                /* of the member that cli_parse sets: a const char *, or a bool if it has no value */
    uint8_t is;               /* enum cli_value */
    const char *const *words; /* CLI_CHOICE: ends with NULL */
};

/* `--name VALUE` or `--name=VALUE`; the last one counts. `member` of `type`, a const char *, points to the value. */
#define CLI_VALUE(name, value, wants, type, member, help)                                                              \
    CLI_VALUE_OF(name, value, wants, type, member, CLI_TEXT, NULL, help)
#define CLI_VALUE_OF(name, value, wants, type, member, is, words, help)                                                \
    {                                                                                                                  \
        name, value, wants, help, _Generic(((type *)0)->member, const char * : offsetof(type, member)), is, words      \
    }
/* Sets `member` of `type`, a bool. */
#define CLI_FLAG(name, type, member, help)                                                                             \
    {                                                                                                                  \
        name, NULL, NULL, help, _Generic(((type *)0)->member, bool : offsetof(type, member)), CLI_TEXT, NULL           \
    }

struct cli_command {
    const char *name;
    const char *usage;                                                 /* what follows "weft NAME" */
    const char *summary;                                               /* one line for `weft help` */
    const char *help;                                                  /* the rest of `weft help NAME` */
    int (*run)(const struct cli_command *self, int argc, char **argv); /* argv[0] is the command's name */

    const struct cli_option *options;
    size_t n_options;
    const char *examples;     /* lines to be typed, each with its line end; behind # what they do */
    const char *const *words; /* of its first argument: ends with NULL; NULL: no fixed ones */
    uint8_t takes;            /* enum cli_value: its other arguments */

    /* Of the copy that `run` is called with: how it is called this time. */
    bool json;  /* with --json: errors are JSON, too */
    bool quiet; /* with --quiet: no bars, no notes */
};

#define CLI_OPTIONS(table) .options = (table), .n_options = sizeof(table) / sizeof *(table)

/* Whose threads and runs: --tenant and --user (NULL: `local`, and no user). */
struct cli_as {
    const char *tenant, *user;
};

/* The store that a command works on, and for whom. */
struct cli_source {
    const char *config, *store; /* NULL: the default one; the configuration's */
    struct cli_as as;
};

/* Options that many commands have. */
#define CLI_CONFIG_OPTION(type, member)                                                                                \
    CLI_VALUE_OF("--config", "FILE", "a file", type, member, CLI_FILE, NULL,                                           \
                 "the configuration (default: WEFT_CONFIG, else ./weft.yaml)")
#define CLI_AS_OPTIONS(type, member)                                                                                   \
    CLI_VALUE("--tenant", "T", "a tenant", type, member.tenant, "whose threads and runs (default: local)"),            \
        CLI_VALUE("--user", "U", "a user", type, member.user, "the user within the tenant (default: none)")
/* `member` is a struct cli_source. */
#define CLI_STORE_OPTIONS(type, member)                                                                                \
    CLI_CONFIG_OPTION(type, member.config), CLI_VALUE("--store", "URL", "sqlite:PATH", type, member.store,             \
                                                      "sqlite:PATH, instead of the configuration's store")
#define CLI_SOURCE_OPTIONS(type, member) CLI_AS_OPTIONS(type, member.as), CLI_STORE_OPTIONS(type, member)

/* All commands, in the order of `weft help`: main.c. */
extern const struct cli_command *const cli_commands[];
extern const size_t cli_n_commands;

/* Options of every command: --help, --no-color, --quiet. */
extern const struct cli_option cli_common_options[];
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

/* The option of this name, as `--name` or `--name=value`; NULL: the command has none. */
const struct cli_option *cli_option_find(const struct cli_command *self, const char *arg);

/* Sets members of *to, the struct of the command's options. Words are arguments without a leading '-', a lone "-", and
 * everything after "--": exactly n_words of them, described by `wants`. 0, or CLI_USAGE after a message: an unknown
 * option, a missing value, too few or too many words. */
int cli_parse(const struct cli_command *self, int argc, char **argv, void *to, const char **words, size_t n_words,
              const char *wants);

/* The same for at most `max` words; their number goes to *n_words. `words` may be argv itself. */
int cli_parse_some(const struct cli_command *self, int argc, char **argv, void *to, const char **words, size_t max,
                   size_t *n_words);

/* Finds one of some words; the list ends with NULL. CLI_USAGE after a message that lists them and suggests one:
 * "WHAT is one of a, b, not 'x'". given NULL: "wants WHAT: a, b". */
int cli_word(const struct cli_command *self, const char *what, const char *given, const char *const *words,
             size_t *ret);
