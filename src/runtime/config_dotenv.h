/* runtime/config_dotenv.h — the file .env beside a configuration: variables for those that the environment lacks.
 *
 * A line is NAME=VALUE; `export ` may stand before it, a comment (#) behind it or alone. A value in single quotes is
 * taken as it is, one in double quotes knows \n \t \" \\ and \$; without quotes it ends before blanks. Nothing is
 * expanded and nothing continues on the next line. Of a name that is there twice the last one counts.
 */
#pragma once

#include "base/buf.h"

enum { WC_DOTENV_MAX = 64 << 10 };

/* Values are secrets: the memory is wiped at the end. */
struct wc_dotenv {
    struct wb_buf text; /* NAME, NUL, VALUE, NUL, ... */
    bool exposed;       /* others can read the file */
};

/* Reads a text. 0, or -UPP_EINVALID with the line in *line; the sentence quotes nothing of it. */
int wc_dotenv_parse(struct wc_dotenv *d, struct upp_str text, unsigned *line, struct upp_err *err) UPP_MUST_CHECK;

/* NULL: it has none of that name. */
const char *wc_dotenv_get(const struct wc_dotenv *d, const char *name);

void wc_dotenv_done(struct wc_dotenv *d);
