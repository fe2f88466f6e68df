/* cli/print.h — text of others on a terminal. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <stdio.h>
#include <upp/base.h>

/* Prints text in which nothing is a command to a terminal: control characters other than line ends and tabs become
 * '?'. Each line but the first begins with `indent` blanks. */
void cli_print_text(FILE *out, struct upp_str text, unsigned indent);

#endif
