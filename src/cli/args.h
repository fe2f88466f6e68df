/* cli/args.h — what stands behind the name of a command: options in any order, and words.
 *
 *     const struct cli_option options[] = {{"--config", "a file", &config, NULL}, {"--json", NULL, NULL, &json}};
 *     int bad = cli_parse(self, argc, argv, options, WB_LEN(options), words, 2, &n_words);
 *     if (bad)
 *         return bad;
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli/cli.h"

struct cli_option {
    const char  *name;  /* "--config" */
    const char  *wants; /* what its value is, for messages; NULL: it has none */
    const char **value; /* `--name VALUE` or `--name=VALUE`; the last one counts */
    bool        *flag;
};

/* Words are all that does not begin with '-', a lone "-", and all behind "--". 0, or CLI_USAGE when it was said what is
 * wrong: an unknown option, a value that is missing, more words than max. */
int cli_parse(const struct cli_command *self, int argc, char **argv, const struct cli_option *options, size_t n,
              const char **words, size_t max, size_t *n_words);

#endif
