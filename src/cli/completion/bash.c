/* cli/completion/bash.c — writes the completion script for bash. It needs nothing but bash 4. */
#include <stdio.h>

#include "cli/completion/completion.h"

static const char beginning[] =
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

static const char end[] =
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

static void print_words(uint8_t is, const char *const *words)
{
    const char *word;
    for (size_t i = 0; (word = cli_value_word(is, words, i)); i++)
        (void)printf("%s%s", i ? " " : "", word);
}

static void print_value(const struct cli_option *o)
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
        print_words(o->is, o->words);
        (void)printf("'; ");
    }
    (void)printf("return ;;\n");
}

static void print_command(const struct cli_command *c)
{
    (void)printf("    %s)\n        case $prev in\n", c->name);
    for (size_t i = 0; i < c->n_options; i++)
        if (c->options[i].value)
            print_value(&c->options[i]);
    (void)printf("        esac\n        options='");
    for (size_t i = 0; i < c->n_options; i++)
        (void)printf("%s ", c->options[i].name);
    for (size_t i = 0; i < cli_n_common_options; i++)
        (void)printf("%s%s", i ? " " : "", cli_common_options[i].name);
    (void)printf("' words='");
    print_words(CLI_CHOICE, c->words);
    (void)printf("' takes=%s ;;\n", c->takes == CLI_FILE     ? "file"
                                    : c->takes == CLI_FOLDER ? "folder"
                                    : c->takes == CLI_AGENT  ? "agent"
                                                             : "");
}

void cli_complete_bash(void)
{
    (void)printf("%s        _weft_words '", beginning);
    for (size_t i = 0; i < cli_n_commands; i++)
        (void)printf("%s ", cli_commands[i]->name);
    (void)printf("--help --version'\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n    help)");
    (void)printf(" words='");
    for (size_t i = 0; i < cli_n_commands; i++)
        (void)printf("%s%s", i ? " " : "", cli_commands[i]->name);
    (void)printf("' options='--json --help --no-color' ;;\n");
    for (size_t i = 0; i < cli_n_commands; i++)
        print_command(cli_commands[i]);
    (void)printf("    esac\n%s", end);
}
