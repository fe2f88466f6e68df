/* cli/chat/markdown.c — lays out as lines what md4c parses. */
#include "cli/chat/markdown.h"

#include <md4c.h>
#include <stdio.h>

#include "base/defs.h"
#include "base/utf8.h"
#include "cli/chat/table.h"

enum {
    DEPTH = 24, /* of lists and quotes; deeper ones are not indented further */
    SPANS = 32, /* nested styles; deeper ones change nothing */
    FEW = 12,   /* columns that text has at least, however deep it is */
    RULE = 40,  /* columns of a thematic break */
    CODE_TAB = 2,
};

enum box { BOX_LIST, BOX_ITEM, BOX_QUOTE };

struct container {
    enum box box;
    bool ordered, tight; /* of a list */
    unsigned number;     /* of a list's next item */
    char marker[16];     /* of an item ... */
    unsigned width;      /* ... and its columns */
    bool begun;          /* its first line is written */
};

struct layout {
    const struct cli_markdown_opts *o;
    struct wb_buf *out;
    struct cli_cells text; /* of the current block */
    struct cli_table table;
    struct container in[DEPTH];
    unsigned depth, too_deep;
    unsigned style, styles[SPANS], n_styles;
    size_t link;     /* where the current link's text begins */
    bool gap;        /* an empty line belongs before the next block */
    bool any;        /* there is a line already */
    size_t field;    /* where the current field of a table begins */
    unsigned column; /* fields of the current row so far */
};

/* ---- Lines ------------------------------------------------------------------------------------------------------ */

static unsigned prefix_width(const struct layout *m)
{
    unsigned width = 0;
    for (unsigned i = 0; i < m->depth; i++)
        width += m->in[i].box == BOX_QUOTE ? 2 : m->in[i].box == BOX_ITEM ? m->in[i].width : 0;
    return width;
}

static unsigned left(const struct layout *m)
{
    unsigned used = prefix_width(m);
    return m->o->width > used + FEW ? m->o->width - used : FEW;
}

/* What stands before a line: markers once, then as many blanks; the bars of quotes always. */
static void put_prefix(struct layout *m, bool empty)
{
    for (unsigned i = 0; i < m->depth; i++) {
        struct container *c = &m->in[i];
        if (c->box == BOX_QUOTE)
            cli_styled_put(m->out, wb_cstr(m->o->utf8 ? "\xe2\x94\x82 " : "> "), CLI_STYLE_FAINT, m->o->styled);
        else if (c->box == BOX_ITEM && !empty) {
            wb_buf_addf(m->out, "%s%*s", c->begun ? "" : c->marker, c->begun ? (int)c->width : 0, "");
            c->begun = true;
        }
    }
}

static void put_line(struct layout *m, size_t from, size_t to)
{
    put_prefix(m, false);
    while (to > from && m->text.list.p[to - 1].c == ' ')
        to--;
    cli_cells_put(m->out, m->text.list.p + from, to - from, m->o->styled);
    wb_buf_addc(m->out, '\n');
    m->any = true;
}

/* Before the first line of a block. */
static void separate(struct layout *m)
{
    if (m->gap && m->any) {
        put_prefix(m, true);
        wb_buf_addc(m->out, '\n');
    }
    m->gap = false;
}

/* Writes the current text as lines, and forgets it. */
static void flush(struct layout *m, bool hard)
{
    size_t n = m->text.list.n, at = 0;
    if (!n)
        return;
    separate(m);
    while (at < n) {
        size_t from = at, end = cli_cells_line(&m->text, at, n, left(m), hard, &at);
        put_line(m, from, end);
    }
    m->text.list.n = 0;
}

/* ---- Blocks ----------------------------------------------------------------------------------------------------- */

static struct container *push(struct layout *m, enum box box)
{
    if (m->depth == DEPTH) {
        m->too_deep++;
        return NULL;
    }
    struct container *c = &m->in[m->depth++];
    *c = (struct container){.box = box};
    return c;
}

static void pop(struct layout *m)
{
    if (m->too_deep)
        m->too_deep--;
    else
        m->depth--;
}

static void enter_list(struct layout *m, bool ordered, bool tight, unsigned start)
{
    flush(m, false); /* the text of a tight item before a list in it */
    bool outer = m->depth == 0;
    struct container *c = push(m, BOX_LIST);
    if (!outer && tight)
        m->gap = false;
    if (c)
        *c = (struct container){.box = BOX_LIST,
                                .ordered = ordered,
                                .tight = tight,
                                .number = outer && m->o->number ? m->o->number : start};
}

static void enter_item(struct layout *m, const MD_BLOCK_LI_DETAIL *d)
{
    struct container *list = m->depth && !m->too_deep ? &m->in[m->depth - 1] : NULL;
    struct container *c = push(m, BOX_ITEM);
    if (list && list->tight && list->begun)
        m->gap = false;
    if (!c || !list)
        return;
    if (d->is_task)
        (void)snprintf(c->marker, sizeof c->marker, "[%c] ", d->task_mark == ' ' ? ' ' : 'x');
    else if (list->ordered)
        (void)snprintf(c->marker, sizeof c->marker, "%u. ", list->number++);
    else
        (void)snprintf(c->marker, sizeof c->marker, "%s ", m->o->utf8 ? "\xe2\x80\xa2" : "-");
    c->width = (unsigned)wb_utf8_count(wb_cstr(c->marker));
    list->begun = true;
}

/* An item without any text has a line too. */
static void leave_item(struct layout *m)
{
    flush(m, false);
    if (!m->too_deep && !m->in[m->depth - 1].begun) {
        separate(m);
        put_line(m, 0, 0);
    }
    pop(m);
}

static void put_rule(struct layout *m)
{
    separate(m);
    put_prefix(m, false);
    for (unsigned i = 0; i < WB_MIN(left(m), (unsigned)RULE); i++)
        wb_buf_add(m->out, wb_cstr(m->o->utf8 ? "\xe2\x94\x80" : "-"));
    wb_buf_addc(m->out, '\n');
    m->any = m->gap = true;
}

/* Code is not filled: a line that is too long goes on in the next one. */
static void flush_code(struct layout *m)
{
    if (m->text.list.n && m->text.list.p[m->text.list.n - 1].c == '\n')
        m->text.list.n--;
    struct container *c = push(m, BOX_ITEM);
    if (c) {
        (void)snprintf(c->marker, sizeof c->marker, "%*s", CODE_TAB, "");
        c->width = CODE_TAB;
    }
    flush(m, true);
    pop(m);
    m->gap = true;
}

static void table_prefix(void *arg)
{
    put_prefix(arg, false);
}

static void flush_table(struct layout *m)
{
    struct cli_table_out o = {
        .out = m->out, .width = left(m), .styled = m->o->styled, .utf8 = m->o->utf8, .prefix = table_prefix, .arg = m};
    separate(m);
    cli_table_put(&m->table, &m->text, &o);
    m->text.list.n = 0;
    m->table.fields.n = 0;
    m->table.columns = m->table.heads = 0;
    m->any = m->gap = true;
}

/* The columns of the head are those of the table; further ones of a row are left out. */
static void leave_field(struct layout *m, const MD_BLOCK_TD_DETAIL *d)
{
    struct cli_field f = {.from = m->field,
                          .to = m->text.list.n,
                          .align = d->align == MD_ALIGN_CENTER  ? CLI_CENTRE
                                   : d->align == MD_ALIGN_RIGHT ? CLI_RIGHT
                                                                : CLI_LEFT};
    if (m->column++ < CLI_TABLE_COLUMNS && !wb_vec_push(&m->table.fields, f, CLI_TABLE_FIELDS))
        m->table.failed = true;
}

static void leave_row(struct layout *m)
{
    if (!m->table.columns)
        m->table.columns = WB_MIN(m->column, (unsigned)CLI_TABLE_COLUMNS);
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct layout *m = arg;
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush(m, false);
        separate(m);
        (void)push(m, BOX_QUOTE);
        break;
    case MD_BLOCK_UL:
        enter_list(m, false, ((MD_BLOCK_UL_DETAIL *)detail)->is_tight, 0);
        break;
    case MD_BLOCK_OL:
        enter_list(m, true, ((MD_BLOCK_OL_DETAIL *)detail)->is_tight, ((MD_BLOCK_OL_DETAIL *)detail)->start);
        break;
    case MD_BLOCK_LI:
        enter_item(m, detail);
        break;
    case MD_BLOCK_H:
        flush(m, false);
        m->style =
            CLI_STYLE_BOLD | CLI_STYLE_HEADING | (((MD_BLOCK_H_DETAIL *)detail)->level == 1 ? CLI_STYLE_UNDERLINE : 0u);
        if (!m->o->styled)
            cli_cells_add(&m->text, wb_str_sub(UPP_STR("###### "), 6 - ((MD_BLOCK_H_DETAIL *)detail)->level, 7), 0);
        break;
    case MD_BLOCK_P:
        flush(m, false);
        break;
    case MD_BLOCK_CODE:
        flush(m, false);
        m->style = CLI_STYLE_CODE;
        break;
    case MD_BLOCK_TR:
        m->column = 0;
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        m->field = m->text.list.n;
        m->style = type == MD_BLOCK_TH ? CLI_STYLE_BOLD : 0;
        break;
    default:
        break;
    }
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct layout *m = arg;
    m->n_styles = 0;
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush(m, false);
        pop(m);
        m->gap = true;
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        pop(m);
        m->gap = m->depth == 0 || m->in[m->depth - 1].box != BOX_ITEM || m->gap;
        break;
    case MD_BLOCK_LI:
        leave_item(m);
        break;
    case MD_BLOCK_HR:
        put_rule(m);
        break;
    case MD_BLOCK_P:
    case MD_BLOCK_H:
        flush(m, false);
        m->gap = true;
        break;
    case MD_BLOCK_CODE:
        flush_code(m);
        break;
    case MD_BLOCK_THEAD:
        m->table.heads = 1;
        break;
    case MD_BLOCK_TR:
        leave_row(m);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        leave_field(m, detail);
        break;
    case MD_BLOCK_TABLE:
        flush_table(m);
        break;
    default:
        break;
    }
    m->style = 0;
    return m->text.failed || m->table.failed || m->out->failed;
}

/* ---- Spans ------------------------------------------------------------------------------------------------------ */

static unsigned span_style(MD_SPANTYPE type)
{
    return type == MD_SPAN_EM       ? CLI_STYLE_ITALIC
           : type == MD_SPAN_STRONG ? CLI_STYLE_BOLD
           : type == MD_SPAN_CODE   ? CLI_STYLE_CODE
           : type == MD_SPAN_DEL    ? CLI_STYLE_STRUCK
           : type == MD_SPAN_A      ? CLI_STYLE_UNDERLINE
                                    : 0;
}

static void add_tick(struct layout *m, MD_SPANTYPE type)
{
    if (type == MD_SPAN_CODE && !m->o->styled)
        cli_cells_add(&m->text, UPP_STR("`"), m->style);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct layout *m = arg;
    (void)detail;
    if (m->n_styles < SPANS)
        m->styles[m->n_styles] = m->style;
    m->n_styles++;
    m->style |= span_style(type);
    if (type == MD_SPAN_A)
        m->link = m->text.list.n;
    add_tick(m, type);
    return 0;
}

/* Is the text of the link where it leads? */
static bool says_target(const struct layout *m, struct upp_str target)
{
    size_t at = 0;
    if (wb_str_starts(target, UPP_STR("mailto:")))
        target = wb_str_sub(target, 7, SIZE_MAX);
    for (size_t i = m->link; i < m->text.list.n; i++) {
        uint32_t c = 0;
        size_t n = wb_utf8_decode(target, at, &c);
        if (!n || c != m->text.list.p[i].c)
            return false;
        at += n;
    }
    return at == target.n;
}

static void add_target(struct layout *m, const MD_ATTRIBUTE *a)
{
    struct upp_str target = wb_str(a->text, a->size);
    if (!target.n || says_target(m, target))
        return;
    cli_cells_add(&m->text, UPP_STR(" ("), CLI_STYLE_FAINT);
    cli_cells_add(&m->text, target, CLI_STYLE_FAINT);
    cli_cells_add(&m->text, UPP_STR(")"), CLI_STYLE_FAINT);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct layout *m = arg;
    add_tick(m, type);
    if (m->n_styles && --m->n_styles < SPANS)
        m->style = m->styles[m->n_styles];
    if (type == MD_SPAN_A)
        add_target(m, &((MD_SPAN_A_DETAIL *)detail)->href);
    if (type == MD_SPAN_IMG)
        add_target(m, &((MD_SPAN_IMG_DETAIL *)detail)->src);
    return m->text.failed;
}

/* ---- Text ------------------------------------------------------------------------------------------------------- */

/* The entities that models write; others stay as they are. */
static void add_entity(struct layout *m, struct upp_str text)
{
    static const struct {
        const char *name, *is;
    } known[] = {{"&amp;", "&"},   {"&lt;", "<"},   {"&gt;", ">"},
                 {"&quot;", "\""}, {"&apos;", "'"}, {"&nbsp;", "\xc2\xa0"}};
    for (size_t i = 0; i < WB_LEN(known); i++)
        if (wb_str_eq(text, wb_cstr(known[i].name))) {
            cli_cells_add(&m->text, wb_cstr(known[i].is), m->style);
            return;
        }
    cli_cells_add(&m->text, text, m->style);
}

static int add_text(MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE n, void *arg)
{
    struct layout *m = arg;
    if (type == MD_TEXT_BR)
        cli_cells_add(&m->text, UPP_STR("\n"), 0);
    else if (type == MD_TEXT_SOFTBR)
        cli_cells_add(&m->text, UPP_STR(" "), m->style);
    else if (type == MD_TEXT_NULLCHAR)
        cli_cells_add(&m->text, UPP_STR("?"), m->style);
    else if (type == MD_TEXT_ENTITY)
        add_entity(m, wb_str(p, n));
    else
        cli_cells_add(&m->text, wb_str(p, n), m->style);
    return m->text.failed;
}

/* ---- All of it -------------------------------------------------------------------------------------------------- */

static void layout_done(struct layout *m)
{
    cli_cells_done(&m->text);
    cli_table_done(&m->table);
}

static int check(const struct layout *m, int parsed, struct upp_err *err)
{
    if (m->text.failed || m->table.failed || (parsed && !m->out->failed))
        return upp_fail(err, UPP_ENOMEM, "no memory for a block of markdown, or it is too long");
    return wb_buf_check(m->out, err);
}

int cli_markdown(struct upp_str text, const struct cli_markdown_opts *opts, struct wb_buf *out, struct upp_err *err)
{
    static const MD_PARSER parser = {.flags = MD_DIALECT_GITHUB | MD_FLAG_NOHTML,
                                     .enter_block = enter_block,
                                     .leave_block = leave_block,
                                     .enter_span = enter_span,
                                     .leave_span = leave_span,
                                     .text = add_text};
    WB_CLEANUP(layout_done) struct layout m = {.o = opts, .out = out};
    int r = md_parse(text.p, (MD_SIZE)text.n, &parser, &m);
    return check(&m, r, err);
}

int cli_markdown_code(struct upp_str line, const struct cli_markdown_opts *opts, struct wb_buf *out,
                      struct upp_err *err)
{
    WB_CLEANUP(layout_done) struct layout m = {.o = opts, .out = out};
    cli_cells_add(&m.text, line, CLI_STYLE_CODE);
    if (line.n)
        flush_code(&m);
    else
        wb_buf_addc(out, '\n');
    return check(&m, 0, err);
}
