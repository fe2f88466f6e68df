/* cli/completion/fish.c — writes the completion script for fish. */
#include <stdio.h>
#include <string.h>

#include "cli/completion/completion.h"

static void print_values(uint8_t is, const char *const *words)
{
    const char *word;
    if (is == CLI_FILE)
        (void)printf(" -F");
    else if (is == CLI_FOLDER)
        (void)printf(" -a '(__fish_complete_directories)'");
    else if (is == CLI_AGENT)
        (void)printf(" -a '(weft completion agents 2>/dev/null)'");
    else if (cli_value_word(is, words, 0)) {
        (void)printf(" -a '");
        for (size_t i = 0; (word = cli_value_word(is, words, i)); i++)
            (void)printf("%s%s", i ? " " : "", word);
        (void)printf("'");
    }
}

static void print_option(const char *where, const struct cli_option *o)
{
    bool shortly = o->name[1] != '-';
    (void)printf("complete -c weft%s %s %s", where, shortly ? "-s" : "-l", o->name + (shortly ? 1 : 2));
    if (o->value) {
        (void)printf(o->is == CLI_FILE ? " -r" : " -x");
        print_values(o->is, o->words);
    }
    (void)printf(" -d ");
    cli_quote(o->help, "\\");
    (void)printf("\n");
}

static void print_command(const struct cli_command *c)
{
    char where[96];
    (void)snprintf(where, sizeof where, " -n '__fish_seen_subcommand_from %s'", c->name);
    for (size_t i = 0; i < c->n_options; i++)
        print_option(where, &c->options[i]);
    if (c->words) {
        (void)printf("complete -c weft%s", where);
        print_values(CLI_CHOICE, c->words);
        (void)printf("\n");
    }
    if (c->takes) {
        (void)printf("complete -c weft%s", where);
        print_values(c->takes, NULL);
        (void)printf("\n");
    }
}

void cli_complete_fish(void)
{
    (void)printf("# fish completion of weft: made by `weft completion fish`.\ncomplete -c weft -f\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        (void)printf("complete -c weft -n __fish_use_subcommand -a %s -d ", cli_commands[i]->name);
        cli_quote(cli_commands[i]->summary, "\\");
        (void)printf("\ncomplete -c weft -n '__fish_seen_subcommand_from help' -a %s\n", cli_commands[i]->name);
    }
    for (size_t i = 0; i < cli_n_common_options; i++)
        print_option("", &cli_common_options[i]);
    for (size_t i = 0; i < cli_n_commands; i++)
        print_command(cli_commands[i]);
}
