/* cli/terminal.c — prints untrusted text without its control characters, and tells the terminal's width and colours. */
#include "cli/terminal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/defs.h"
#include "base/utf8.h"

enum { USUAL_COLUMNS = 80, FEW_COLUMNS = 20 };

/* Not printable, or able to reorder or hide what is printed: controls, line separators, directions, tags. */
static bool is_hostile(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e ||
           c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || (c >= 0xd800 && c < 0xe000) ||
           (c >= 0xe0000 && c < 0xe0080);
}

size_t cli_safe_char(struct upp_str text, size_t at, uint32_t *ret)
{
    size_t n = wb_wtf8_decode(text, at, ret);
    if (!n || is_hostile(*ret))
        *ret = '?';
    return n ? n : 1;
}

void cli_print_text(FILE *out, struct upp_str text, unsigned indent)
{
    for (size_t at = 0; at < text.n;) {
        uint32_t c;
        size_t n = cli_safe_char(text, at, &c);
        if (c == '?')
            (void)putc('?', out);
        else
            (void)fwrite(text.p + at, 1, n, out);
        if (c == '\n')
            (void)fprintf(out, "%*s", (int)indent, "");
        at += n;
    }
}

bool cli_colours(FILE *out)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(out)) == 1 && !(no && no[0]) && term && strcmp(term, "dumb") != 0;
}

unsigned cli_columns(FILE *out)
{
    struct winsize size = {0};
    if (!isatty(fileno(out)))
        return 0;
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL_COLUMNS;
}

unsigned cli_columns_left(unsigned columns, unsigned used)
{
    return !columns ? 0 : columns > used + FEW_COLUMNS ? columns - used : FEW_COLUMNS;
}

/* The bytes of the character at text.p[at]; *blank: white space or a control character. */
static size_t character(struct upp_str text, size_t at, bool *blank)
{
    uint32_t c;
    size_t n = wb_wtf8_decode(text, at, &c);
    *blank = !n || c <= ' ' || is_hostile(c);
    return n ? n : 1;
}

/* Counts the columns of the text up to one more than max, or prints at most max of them. */
static unsigned scan_line(FILE *out, struct upp_str text, unsigned max)
{
    unsigned columns = 0;
    bool blank, wants = false;
    for (size_t at = 0, n; at < text.n && columns < max; at += n) {
        n = character(text, at, &blank);
        if (blank) {
            wants = columns > 0;
            continue;
        }
        if (wants && columns + 1 >= max)
            return columns;
        if (wants && out)
            (void)putc(' ', out);
        columns += 1 + (unsigned)wants;
        wants = false;
        if (out)
            (void)fwrite(text.p + at, 1, n, out);
    }
    return columns;
}

unsigned cli_print_line(FILE *out, struct upp_str text, unsigned max)
{
    if (!max)
        return scan_line(out, text, UINT_MAX);
    if (scan_line(NULL, text, max + 2) <= max || max <= 3) /* two: a blank may stand at the border */
        return scan_line(out, text, max);
    unsigned columns = scan_line(out, text, max - 3);
    (void)fputs("...", out);
    return columns + 3;
}

unsigned cli_line_columns(struct upp_str text, unsigned max)
{
    unsigned all = scan_line(NULL, text, UINT_MAX);
    return max ? WB_MIN(all, max) : all;
}
