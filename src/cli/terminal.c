/* cli/terminal.c — prints untrusted text without its control characters or reveals them; width and colours. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/terminal.h"
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

/* Draws nothing, or a blank, or changes how its neighbours are drawn. Default_Ignorable_Code_Point of Unicode 15 and
 * White_Space, without the blank; and what no property names: blanks of braille, hieroglyphs and notes, and U+FFFC,
 * which stands for something else. */
static bool is_unseen(uint32_t c)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {{0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
                  {0x115f, 0x1160},   {0x1680, 0x1680},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},
                  {0x2028, 0x202f},   {0x205f, 0x206f},   {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},
                  {0xd800, 0xdfff},   {0xe000, 0xf8ff},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
                  {0xfff0, 0xfffc},   {0x13430, 0x13442}, {0x1bca0, 0x1bca3}, {0x1d159, 0x1d159}, {0x1d173, 0x1d17a},
                  {0xe0000, 0x10ffff}};
    for (size_t i = 0; i < WB_LEN(ranges); i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    return false;
}

void cli_reveal(struct wb_buf *out, struct upp_str text, unsigned indent)
{
    for (size_t at = 0, n; at < text.n; at += n) {
        uint32_t c;
        n = wb_wtf8_decode(text, at, &c);
        if (!n) {
            n = 1;
            wb_buf_addf(out, "<0x%02x>", (unsigned char)text.p[at]);
        } else if (c == ' ') {
            while (at + n < text.n && text.p[at + n] == ' ')
                n++;
            if (n > 1)
                wb_buf_addf(out, "<%zu blanks>", n);
            else
                wb_buf_addc(out, ' ');
        } else if (is_unseen(c))
            wb_buf_addf(out, "<U+%04X>", c);
        else if (c == '\\' && at + 1 < text.n) {
            n = (unsigned char)text.p[at + 1] < 0x80 ? 2 : 1;
            wb_buf_add(out, wb_str_sub(text, at, n));
            if (indent && n == 2 && text.p[at + 1] == 'n')
                wb_buf_addf(out, "\n%*s", (int)indent, "");
        } else
            wb_buf_add(out, wb_str_sub(text, at, n));
    }
}
