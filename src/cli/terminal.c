/* cli/terminal.c — see terminal.h. */
#include "cli/terminal.h"

#include <limits.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/defs.h"

enum { USUAL_COLUMNS = 80, FEW_COLUMNS = 20 };

void cli_print_text(FILE *out, struct upp_str text, unsigned indent)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c    = (unsigned char)text.p[i];
        bool          high = c == 0xc2 && i + 1 < text.n && ((unsigned char)text.p[i + 1] & 0xe0) == 0x80;
        if (high || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
            (void)putc('?', out);
            i += high; /* U+0080 to U+009F are control characters too */
            continue;
        }
        (void)putc(c, out);
        if (c == '\n')
            (void)fprintf(out, "%*s", (int)indent, "");
    }
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
    unsigned char c = (unsigned char)text.p[at];
    size_t        n = 1;
    while (at + n < text.n && n < 4 && ((unsigned char)text.p[at + n] & 0xc0) == 0x80)
        n++;
    *blank = c <= 0x20 || c == 0x7f || (c == 0xc2 && n == 2 && (unsigned char)text.p[at + 1] < 0xa0);
    return n;
}

/* Counts the columns of the text up to one more than max, or prints at most max of them. */
static unsigned scan_line(FILE *out, struct upp_str text, unsigned max)
{
    unsigned columns = 0;
    bool     blank, wants = false;
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
