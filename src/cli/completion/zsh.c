/* cli/completion/zsh.c — writes the completion script for zsh. */
#include <stdio.h>
#include <string.h>

#include "cli/completion/completion.h"

static void print_action(uint8_t is, const char *const *words)
{
    const char *word;
    if (is == CLI_FILE)
        (void)printf("_files");
    else if (is == CLI_FOLDER)
        (void)printf("_files -/");
    else if (is == CLI_AGENT)
        (void)printf("_weft_agents");
    else if (!cli_value_word(is, words, 0))
        (void)printf(" ");
    else {
        (void)printf("(");
        for (size_t i = 0; (word = cli_value_word(is, words, i)); i++)
            (void)printf("%s%s", i ? " " : "", word);
        (void)printf(")");
    }
}

static void print_option(const struct cli_option *o)
{
    char spec[512];
    size_t n = strlen(o->name);
    (void)printf(" \\\n            ");
    (void)snprintf(spec, sizeof spec, "%s", o->help);
    (void)printf("'%s%s['", o->name, o->value ? n == 2 ? "+" : "=" : "");
    cli_quote(spec, "[]:\\");
    (void)printf("']");
    if (o->value) {
        (void)printf(":%s:", o->value);
        print_action(o->is, o->words);
    }
    (void)printf("'");
}

static void print_command(const struct cli_command *c)
{
    (void)printf("    %s)\n        _arguments -S", c->name);
    for (size_t i = 0; i < c->n_options; i++)
        print_option(&c->options[i]);
    for (size_t i = 0; i < cli_n_common_options; i++)
        print_option(&cli_common_options[i]);
    if (c->words) {
        (void)printf(" \\\n            '1: :");
        print_action(CLI_CHOICE, c->words);
        (void)printf("'");
    }
    if (c->takes == CLI_AGENT)
        (void)printf(" \\\n            '1: :_weft_agents'");
    (void)printf(" \\\n            '*: :"); /* without it nothing is completed behind an argument */
    print_action(c->takes == CLI_AGENT ? CLI_TEXT : c->takes, NULL);
    (void)printf("'");
    (void)printf(" ;;\n");
}

void cli_complete_zsh(void)
{
    (void)printf("#compdef weft\n# zsh completion of weft: made by `weft completion zsh`.\n"
                 "_weft_agents() { local -a agents; agents=(${(f)\"$(weft completion agents 2>/dev/null)\"}); "
                 "compadd -a agents }\n\n"
                 "_weft() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        (void)printf("        '%s:'", cli_commands[i]->name);
        cli_quote(cli_commands[i]->summary, ":\\");
        (void)printf("\n");
    }
    (void)printf(
        "    )\n    if ((CURRENT == 2)); then _describe -t commands command commands; return; fi\n"
        "    shift words; ((CURRENT--))\n    case $words[1] in\n"
        "    help)\n        _describe -t commands command commands; _arguments '--json[all commands with "
        "their options, as one JSON object]' '--help[says what the command does]' '--no-color[no colours]' ;;\n");
    for (size_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i]->name, "help") != 0)
            print_command(cli_commands[i]);
    (void)printf("    esac\n}\n\n"
                 "if [[ $funcstack[1] == _weft ]]; then _weft \"$@\"; else compdef _weft weft; fi\n");
}
