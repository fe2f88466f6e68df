/* cli/chat/cells.c — measures styled text with wcwidth, cuts it into lines, and writes it with escape sequences. */
#include "cli/chat/cells.h"

#include <wchar.h>

#include "base/utf8.h"
#include "cli/terminal.h"

void cli_cells_done(struct cli_cells *t)
{
    wb_vec_done(&t->list);
    t->failed = false;
}

static uint8_t width_of(uint32_t c)
{
    int w = c < 0x7f ? c >= 0x20 : wcwidth((wchar_t)c);
    return w < 0 ? 1 : (uint8_t)w;
}

void cli_cells_add(struct cli_cells *t, struct upp_str text, unsigned style)
{
    for (size_t at = 0; at < text.n && !t->failed;) {
        uint32_t c;
        at += cli_safe_char(text, at, &c);
        if (c == '\t')
            c = ' ';
        struct cli_glyph cell = {.c = c, .style = (uint8_t)style, .width = c == '\n' ? 0 : width_of(c)};
        t->failed = !wb_vec_push(&t->list, cell, CLI_CELLS_MAX);
    }
}

unsigned cli_cells_width(const struct cli_glyph *p, size_t n)
{
    unsigned width = 0;
    for (size_t i = 0; i < n; i++)
        width += p[i].width;
    return width;
}

size_t cli_cells_line(const struct cli_cells *t, size_t from, size_t to, unsigned width, bool hard, size_t *next)
{
    const struct cli_glyph *p = t->list.p;
    unsigned used = 0;
    size_t i, best = from, best_next = from;
    for (i = from; i < to; i++) {
        if (p[i].c == '\n') {
            *next = i + 1;
            return i;
        }
        if (i > from && used + p[i].width > width && !(p[i].c == ' ' && !hard))
            break;
        used += p[i].width;
        if (p[i].c == ' ' && !hard && used <= width + 1) {
            best = i;
            best_next = i + 1;
        } else if (p[i].width == 2 && !hard)
            best = best_next = i + 1;
    }
    if (i == to || hard || best_next <= from) {
        *next = i;
        return i;
    }
    while (best_next < to && p[best_next].c == ' ')
        best_next++;
    *next = best_next;
    return best;
}

static void put_style(struct wb_buf *out, unsigned style)
{
    static const struct {
        unsigned bit;
        const char *code;
    } codes[] = {{CLI_STYLE_BOLD, ";1"},      {CLI_STYLE_FAINT, ";2"},  {CLI_STYLE_ITALIC, ";3"},
                 {CLI_STYLE_UNDERLINE, ";4"}, {CLI_STYLE_STRUCK, ";9"}, {CLI_STYLE_CODE, ";33"},
                 {CLI_STYLE_HEADING, ";36"}};
    wb_buf_add(out, UPP_STR("\033[0"));
    for (size_t i = 0; i < WB_LEN(codes); i++)
        if (style & codes[i].bit)
            wb_buf_add(out, wb_cstr(codes[i].code));
    wb_buf_addc(out, 'm');
}

void cli_cells_put(struct wb_buf *out, const struct cli_glyph *p, size_t n, bool styled)
{
    unsigned now = 0;
    char bytes[4];
    for (size_t i = 0; i < n; i++) {
        if (styled && p[i].style != now)
            put_style(out, now = p[i].style);
        wb_buf_add(out, wb_str(bytes, wb_utf8_encode(p[i].c, bytes)));
    }
    if (now)
        put_style(out, 0);
}

void cli_styled_put(struct wb_buf *out, struct upp_str text, unsigned style, bool styled)
{
    if (styled && style)
        put_style(out, style);
    wb_buf_add(out, text);
    if (styled && style)
        put_style(out, 0);
}
