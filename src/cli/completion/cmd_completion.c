/* cli/completion/cmd_completion.c — weft completion SHELL: writes the script of a shell, and lists agents for it. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "cli/completion/completion.h"
#include "cli/setup.h"
#include "cli/terminal.h"
#include "dialects/core/document.h"

const char *cli_value_word(uint8_t is, const char *const *words, size_t i)
{
    const struct wd_document_ops *ops = is == CLI_DIALECT ? wd_document_at(i) : NULL;
    return is == CLI_DIALECT ? ops ? ops->name : NULL : is == CLI_CHOICE && words ? words[i] : NULL;
}

void cli_quote(const char *text, const char *special)
{
    (void)putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            (void)printf("'\\'");
        else if (strchr(special, *text))
            (void)putchar('\\');
        (void)putchar(*text);
    }
    (void)putchar('\'');
}

/* For the scripts: the names of the agents, one per line. Where there is no configuration there are none. */
static void print_agents(const char *file)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    struct upp_err err = {0};
    if (cli_config_quietly(file, CLI_NEEDS_TEXT, &report, &config, &err) < 0)
        return;
    for (size_t i = 0; i < config->n_agents; i++) {
        cli_print_text(stdout, config->agents[i].def.name, 0);
        (void)putchar('\n');
    }
}

static const char *const shells[] = {"bash", "zsh", "fish", "agents", NULL};

struct completion_options {
    const char *config;
};

static int run_completion(const struct cli_command *self, int argc, char **argv)
{
    static void (*const scripts[])(void) = {cli_complete_bash, cli_complete_zsh, cli_complete_fish};
    struct completion_options o = {0};
    const char *shell = NULL;
    size_t n, which;
    int bad = cli_parse_some(self, argc, argv, &o, &shell, 1, &n);
    if (!bad)
        bad = cli_word(self, "a shell", shell, shells, &which);
    if (bad)
        return bad;
    if (which < WB_LEN(scripts))
        scripts[which]();
    else
        print_agents(o.config);
    return CLI_GOOD;
}

static const struct cli_option completion_options[] = {
    CLI_CONFIG_OPTION(struct completion_options, config),
};

const struct cli_command cli_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish | agents [--config FILE]",
    .summary = "prints the completions of a shell",
    .help =
        "Prints a script that completes commands, options and their values in bash, zsh or fish. `make install` and\n"
        "the packages install all three. agents prints the names of the configuration's agents, for these scripts.",
    .run = run_completion,
    CLI_OPTIONS(completion_options),
    .examples = "source <(weft completion bash)\n"
                "weft completion zsh >~/.zfunc/_weft\n"
                "weft completion fish >~/.config/fish/completions/weft.fish\n",
    .words = shells,
};
