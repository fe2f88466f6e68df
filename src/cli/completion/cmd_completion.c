/* cli/cmd_completion.c — weft completion SHELL: writes the script of a shell, from the tables of the commands (cli.h),
 * and lists agents for it. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "cli/setup.h"
#include "cli/terminal.h"
#include "dialects/core/document.h"
#include "cli/cli.h"

/* The words that an option takes, or the argument of a command, one after the other; NULL: no more. */
static const char *value_word(uint8_t is, const char *const *words, size_t i)
{
    const struct wd_document_ops *ops = is == CLI_DIALECT ? wd_document_at(i) : NULL;
    return is == CLI_DIALECT ? ops ? ops->name : NULL : is == CLI_CHOICE && words ? words[i] : NULL;
}

/* A text between single quotes of a shell, with a backslash before each character of `special`. */
static void print_quoted(const char *text, const char *special)
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

/* ---- Bash ----- */

static const char bash_begin[] =
    "# bash completion of weft: made by `weft completion bash`.\n"
    "_weft_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\"); }\n"
    "_weft_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
    "_weft_agents() { _weft_words \"$(\"${COMP_WORDS[0]}\" completion agents 2>/dev/null)\"; }\n"
    "\n"
    "_weft() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options=--help words= takes= i n=0\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == = ]]; then cur=\n" /* `--as=x` is three words to bash */
    "    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "    if ((COMP_CWORD == 1)); then\n";

static const char bash_end[] =
    "    if [[ $cur == -* ]]; then _weft_words \"$options\"; return; fi\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do [[ ${COMP_WORDS[i]} == -* ]] || n=$((n + 1)); done\n"
    "    if ((n == 0)) && [[ $words ]]; then _weft_words \"$words\"; return; fi\n"
    "    case $takes in\n"
    "    file) _weft_files -f ;;\n"
    "    folder) _weft_files -d ;;\n"
    "    agent) ((n)) || _weft_agents ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _weft weft\n";

static void bash_words(uint8_t is, const char *const *words)
{
    const char *word;
    for (size_t i = 0; (word = value_word(is, words, i)); i++)
        (void)printf("%s%s", i ? " " : "", word);
}

static void bash_value(const struct cli_option *o)
{
    (void)printf("        %s) ", o->name);
    if (o->is == CLI_FILE)
        (void)printf("_weft_files -f; ");
    else if (o->is == CLI_FOLDER)
        (void)printf("_weft_files -d; ");
    else if (o->is == CLI_AGENT)
        (void)printf("_weft_agents; ");
    else if (o->is != CLI_TEXT) {
        (void)printf("_weft_words '");
        bash_words(o->is, o->words);
        (void)printf("'; ");
    }
    (void)printf("return ;;\n");
}

static void bash_command(const struct cli_command *c)
{
    (void)printf("    %s)\n        case $prev in\n", c->name);
    for (size_t i = 0; i < c->n_options; i++)
        if (c->options[i].value)
            bash_value(&c->options[i]);
    (void)printf("        esac\n        options='");
    for (size_t i = 0; i < c->n_options; i++)
        (void)printf("%s ", c->options[i].name);
    for (size_t i = 0; i < cli_n_common_options; i++)
        (void)printf("%s%s", i ? " " : "", cli_common_options[i].name);
    (void)printf("' words='");
    bash_words(CLI_CHOICE, c->words);
    (void)printf("' takes=%s ;;\n", c->takes == CLI_FILE     ? "file"
                                    : c->takes == CLI_FOLDER ? "folder"
                                    : c->takes == CLI_AGENT  ? "agent"
                                                             : "");
}

static void write_bash(void)
{
    (void)printf("%s        _weft_words '", bash_begin);
    for (size_t i = 0; i < cli_n_commands; i++)
        (void)printf("%s ", cli_commands[i]->name);
    (void)printf("--help --version'\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n    help)");
    (void)printf(" words='");
    for (size_t i = 0; i < cli_n_commands; i++)
        (void)printf("%s%s", i ? " " : "", cli_commands[i]->name);
    (void)printf("' options='--json --help --no-color' ;;\n");
    for (size_t i = 0; i < cli_n_commands; i++)
        bash_command(cli_commands[i]);
    (void)printf("    esac\n%s", bash_end);
}

/* ---- Zsh ----- */

static void zsh_action(uint8_t is, const char *const *words)
{
    const char *word;
    if (is == CLI_FILE)
        (void)printf("_files");
    else if (is == CLI_FOLDER)
        (void)printf("_files -/");
    else if (is == CLI_AGENT)
        (void)printf("_weft_agents");
    else if (!value_word(is, words, 0))
        (void)printf(" ");
    else {
        (void)printf("(");
        for (size_t i = 0; (word = value_word(is, words, i)); i++)
            (void)printf("%s%s", i ? " " : "", word);
        (void)printf(")");
    }
}

static void zsh_option(const struct cli_option *o)
{
    char spec[512];
    size_t n = strlen(o->name);
    (void)printf(" \\\n            ");
    (void)snprintf(spec, sizeof spec, "%s", o->help);
    (void)printf("'%s%s['", o->name, o->value ? n == 2 ? "+" : "=" : "");
    print_quoted(spec, "[]:\\");
    (void)printf("']");
    if (o->value) {
        (void)printf(":%s:", o->value);
        zsh_action(o->is, o->words);
    }
    (void)printf("'");
}

static void zsh_command(const struct cli_command *c)
{
    (void)printf("    %s)\n        _arguments -S", c->name);
    for (size_t i = 0; i < c->n_options; i++)
        zsh_option(&c->options[i]);
    for (size_t i = 0; i < cli_n_common_options; i++)
        zsh_option(&cli_common_options[i]);
    if (c->words) {
        (void)printf(" \\\n            '1: :");
        zsh_action(CLI_CHOICE, c->words);
        (void)printf("'");
    }
    if (c->takes == CLI_AGENT)
        (void)printf(" \\\n            '1: :_weft_agents'");
    (void)printf(" \\\n            '*: :"); /* without it nothing is completed behind an argument */
    zsh_action(c->takes == CLI_AGENT ? CLI_TEXT : c->takes, NULL);
    (void)printf("'");
    (void)printf(" ;;\n");
}

static void write_zsh(void)
{
    (void)printf("#compdef weft\n# zsh completion of weft: made by `weft completion zsh`.\n"
                 "_weft_agents() { local -a agents; agents=(${(f)\"$(weft completion agents 2>/dev/null)\"}); "
                 "compadd -a agents }\n\n"
                 "_weft() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        (void)printf("        '%s:'", cli_commands[i]->name);
        print_quoted(cli_commands[i]->summary, ":\\");
        (void)printf("\n");
    }
    (void)printf(
        "    )\n    if ((CURRENT == 2)); then _describe -t commands command commands; return; fi\n"
        "    shift words; ((CURRENT--))\n    case $words[1] in\n"
        "    help)\n        _describe -t commands command commands; _arguments '--json[all commands with "
        "their options, as one JSON object]' '--help[says what the command does]' '--no-color[no colours]' ;;\n");
    for (size_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i]->name, "help") != 0)
            zsh_command(cli_commands[i]);
    (void)printf("    esac\n}\n\n"
                 "if [[ $funcstack[1] == _weft ]]; then _weft \"$@\"; else compdef _weft weft; fi\n");
}

/* ---- Fish ----- */

static void fish_values(uint8_t is, const char *const *words)
{
    const char *word;
    if (is == CLI_FILE)
        (void)printf(" -F");
    else if (is == CLI_FOLDER)
        (void)printf(" -a '(__fish_complete_directories)'");
    else if (is == CLI_AGENT)
        (void)printf(" -a '(weft completion agents 2>/dev/null)'");
    else if (value_word(is, words, 0)) {
        (void)printf(" -a '");
        for (size_t i = 0; (word = value_word(is, words, i)); i++)
            (void)printf("%s%s", i ? " " : "", word);
        (void)printf("'");
    }
}

static void fish_option(const char *where, const struct cli_option *o)
{
    bool shortly = o->name[1] != '-';
    (void)printf("complete -c weft%s %s %s", where, shortly ? "-s" : "-l", o->name + (shortly ? 1 : 2));
    if (o->value) {
        (void)printf(o->is == CLI_FILE ? " -r" : " -x");
        fish_values(o->is, o->words);
    }
    (void)printf(" -d ");
    print_quoted(o->help, "\\");
    (void)printf("\n");
}

static void fish_command(const struct cli_command *c)
{
    char where[96];
    (void)snprintf(where, sizeof where, " -n '__fish_seen_subcommand_from %s'", c->name);
    for (size_t i = 0; i < c->n_options; i++)
        fish_option(where, &c->options[i]);
    if (c->words) {
        (void)printf("complete -c weft%s", where);
        fish_values(CLI_CHOICE, c->words);
        (void)printf("\n");
    }
    if (c->takes) {
        (void)printf("complete -c weft%s", where);
        fish_values(c->takes, NULL);
        (void)printf("\n");
    }
}

static void write_fish(void)
{
    (void)printf("# fish completion of weft: made by `weft completion fish`.\ncomplete -c weft -f\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        (void)printf("complete -c weft -n __fish_use_subcommand -a %s -d ", cli_commands[i]->name);
        print_quoted(cli_commands[i]->summary, "\\");
        (void)printf("\ncomplete -c weft -n '__fish_seen_subcommand_from help' -a %s\n", cli_commands[i]->name);
    }
    for (size_t i = 0; i < cli_n_common_options; i++)
        fish_option("", &cli_common_options[i]);
    for (size_t i = 0; i < cli_n_commands; i++)
        fish_command(cli_commands[i]);
}

/* ---- The command ----- */

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
    static void (*const scripts[])(void) = {write_bash, write_zsh, write_fish};
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
