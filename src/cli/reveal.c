/* cli/reveal.c — writes out characters of untrusted text that nobody would see. */
#include "cli/reveal.h"

#include "base/utf8.h"

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
