/* cli/completion/completion.h — scripts that complete what is typed, one for each shell, from the tables of the
 * commands (cli.h). They are written to standard output. */
#pragma once

#include "cli/cli.h"

void cli_complete_bash(void);
void cli_complete_zsh(void);
void cli_complete_fish(void);

/* The words that an option takes, or the argument of a command, one after the other; NULL: no more. */
const char *cli_value_word(uint8_t is, const char *const *words, size_t i);

/* Prints a text between single quotes of a shell, with a backslash before each character of `special`. */
void cli_quote(const char *text, const char *special);
