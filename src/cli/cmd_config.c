/* cli/cmd_config.c — weft config check: prints every mistake in a configuration, with its line. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "cli/cli.h"
#include "cli/setup.h"

static const char *many(size_t n)
{
    return n == 1 ? "" : "s";
}

static int check(const struct cli_command *self, const char *path)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    WB_CLEANUP(wc_report_done) struct wc_report   report = {0};
    struct upp_err                                err    = {0};
    int r = wc_config_load(path, UPP_OPTS(wc_opts, .makers = &wc_makers), &report, &config, &err);
    cli_print_mistakes(stdout, path, &report);
    if (r < 0 && !report.errors)
        return cli_fail(self, &err);
    if (r >= 0)
        (void)printf("%s: good: %zu agent%s, %zu model%s, %zu tool%s\n", path, config->n_agents, many(config->n_agents),
                     config->n_models, many(config->n_models), config->n_tools, many(config->n_tools));
    return r < 0 ? CLI_FAILED : CLI_GOOD;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    const char             *file = NULL, *words[2];
    size_t                  n;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL}};
    int                     bad       = cli_parse_some(self, argc, argv, options, WB_LEN(options), words, 2, &n);
    if (bad)
        return bad;
    static const char *const actions[] = {"check", NULL};
    size_t                   which;
    bad = cli_word(self, "an action", n ? words[0] : NULL, actions, &which);
    if (bad)
        return bad;
    return check(self, n > 1 ? words[1] : cli_config_path(file));
}

const struct cli_command cli_config = {
    .name    = "config",
    .usage   = "check [FILE] [--config FILE]",
    .summary = "checks a configuration",
    .help =
        "Prints every mistake in the configuration as FILE:LINE:COLUMN: sentence. Exits 1 if there is one. Warnings\n"
        "are printed too; they do not count as mistakes.",
    .run = run,
};
