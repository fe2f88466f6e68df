/* cli/terminal.h — output for a terminal: untrusted text. */
#pragma once

#include <stdio.h>
#include <upp/base.h>

#include "base/buf.h"

/* The character of an untrusted text at byte `at`, and the number of its bytes. '?' is in the place of what a terminal
 * might obey or reorder: control characters other than line ends and tabs, controls of direction, and bytes that are no
 * UTF-8. */
size_t cli_safe_char(struct upp_str text, size_t at, uint32_t *ret);

/* Prints text without terminal control sequences: see cli_safe_char. Each line but the first
 * begins with `indent` blanks. */
void cli_print_text(FILE *out, struct upp_str text, unsigned indent);

/* May this be coloured? Not if NO_COLOR is set, TERM is dumb, or it is no terminal. */
bool cli_colours(FILE *out);

/* The width of the terminal that this goes to; 0: it is none. */
unsigned cli_columns(FILE *out);

/* How many of its columns are left, at least a few; 0 if it is no terminal. */
unsigned cli_columns_left(unsigned columns, unsigned used);

/* Prints text on the current line: white space and control characters become one blank. At most `max` columns (0: any
 * number); if it is longer, it ends with "...". Returns the number of columns: one per character. */
unsigned cli_print_line(FILE *out, struct upp_str text, unsigned max);

/* How many columns that would be. */
unsigned cli_line_columns(struct upp_str text, unsigned max);

/* Untrusted text for somebody who decides about it. */

/* Adds untrusted JSON text, or the inside of a string of it, so that all of it can be seen.
 * What draws nothing, moves what is drawn or looks like a blank is written as <U+202E>, several blanks as <400 blanks>;
 * bytes that are no text as <0xff>. indent: a line ends after each \n of a string, and the next one begins with so many
 * blanks; 0: all on one line. */
void cli_reveal(struct wb_buf *out, struct upp_str text, unsigned indent);
