/* cli/reveal.h — untrusted text for somebody who decides about it. */
#pragma once

#include "base/buf.h"

/* Adds untrusted JSON text, or the inside of a string of it, so that all of it can be seen.
 * What draws nothing, moves what is drawn or looks like a blank is written as <U+202E>, several blanks as <400 blanks>;
 * bytes that are no text as <0xff>. indent: a line ends after each \n of a string, and the next one begins with so many
 * blanks; 0: all on one line. */
void cli_reveal(struct wb_buf *out, struct upp_str text, unsigned indent);
