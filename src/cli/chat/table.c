/* cli/chat/table.c — distributes the terminal's width over a table's columns, and wraps its cells. */
#include <wchar.h>

#include "cli/chat/table.h"
#include "base/defs.h"
#include "base/utf8.h"
#include "cli/terminal.h"

enum { BETWEEN = 3 /* columns between two fields */, NARROW = 3 };

void cli_table_done(struct cli_table *t)
{
    wb_vec_done(&t->fields);
}

static size_t rows(const struct cli_table *t)
{
    return t->columns ? t->fields.n / t->columns : 0;
}

/* The width of a field that is not wrapped: that of its longest line. */
static unsigned natural(const struct cli_cells *text, const struct cli_field *f)
{
    unsigned most = 0;
    for (size_t at = f->from; at < f->to;) {
        size_t from = at, end = cli_cells_line(text, at, f->to, UINT16_MAX, false, &at);
        unsigned width = cli_cells_width(text->list.p + from, end - from);
        most = WB_MAX(most, width);
    }
    return most;
}

static void fit(const struct cli_table *t, const struct cli_cells *text, unsigned width, unsigned *widths)
{
    unsigned all = BETWEEN * (t->columns - 1);
    for (unsigned c = 0; c < t->columns; c++) {
        widths[c] = 1;
        for (size_t r = 0; r < rows(t); r++) {
            unsigned w = natural(text, &t->fields.p[r * t->columns + c]);
            widths[c] = WB_MAX(widths[c], w);
        }
        all += widths[c];
    }
    while (all > width) {
        unsigned widest = 0;
        for (unsigned c = 1; c < t->columns; c++)
            if (widths[c] > widths[widest])
                widest = c;
        if (widths[widest] <= NARROW)
            return; /* the terminal is too narrow for it */
        widths[widest]--;
        all--;
    }
}

static void put_blanks(struct wb_buf *out, unsigned n)
{
    wb_buf_addf(out, "%*s", (int)n, "");
}

/* One line of a field, in its column. */
static void put_piece(const struct cli_table_out *o, const struct cli_glyph *p, size_t n, enum cli_align align,
                      unsigned width, bool last)
{
    unsigned used = cli_cells_width(p, n), free = used < width ? width - used : 0;
    unsigned before = align == CLI_RIGHT ? free : align == CLI_CENTRE ? free / 2 : 0;
    put_blanks(o->out, before);
    cli_cells_put(o->out, p, n, o->styled);
    if (!last)
        put_blanks(o->out, free - before);
}

static void put_row(const struct cli_table *t, const struct cli_cells *text, const struct cli_table_out *o, size_t row,
                    const unsigned *widths)
{
    size_t at[CLI_TABLE_COLUMNS];
    const struct cli_field *f = &t->fields.p[row * t->columns];
    bool more = true;
    for (unsigned c = 0; c < t->columns; c++)
        at[c] = f[c].from;
    while (more) {
        more = false;
        o->prefix(o->arg);
        for (unsigned c = 0; c < t->columns; c++) {
            size_t from = at[c], end = from;
            if (from < f[c].to)
                end = cli_cells_line(text, from, f[c].to, widths[c], false, &at[c]);
            more |= at[c] < f[c].to;
            put_piece(o, text->list.p + from, end - from, f[c].align, widths[c], c + 1 == t->columns);
            if (c + 1 < t->columns)
                cli_styled_put(o->out, wb_cstr(o->utf8 ? " \xe2\x94\x82 " : " | "), CLI_STYLE_FAINT, o->styled);
        }
        wb_buf_addc(o->out, '\n');
    }
}

static void put_line(const struct cli_table *t, const struct cli_table_out *o, const unsigned *widths)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(64 << 10);
    for (unsigned c = 0; c < t->columns; c++) {
        for (unsigned i = 0; i < widths[c]; i++)
            wb_buf_add(&line, wb_cstr(o->utf8 ? "\xe2\x94\x80" : "-"));
        if (c + 1 < t->columns)
            wb_buf_add(&line, wb_cstr(o->utf8 ? "\xe2\x94\x80\xe2\x94\xbc\xe2\x94\x80" : "-+-"));
    }
    if (line.failed)
        o->out->failed = line.failed;
    o->prefix(o->arg);
    cli_styled_put(o->out, wb_buf_str(&line), CLI_STYLE_FAINT, o->styled);
    wb_buf_addc(o->out, '\n');
}

void cli_table_put(const struct cli_table *t, const struct cli_cells *text, const struct cli_table_out *o)
{
    unsigned widths[CLI_TABLE_COLUMNS];
    if (!rows(t))
        return;
    fit(t, text, o->width, widths);
    for (size_t r = 0; r < rows(t); r++) {
        if (r && r == t->heads)
            put_line(t, o, widths);
        put_row(t, text, o, r, widths);
    }
}

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
