/* cli/chat/stream.c — finds where a block of growing markdown ends, and renders it then. */
#include "cli/chat/stream.h"

#include "base/utf8.h"

void cli_stream_init(struct cli_stream *s, struct cli_screen *screen, const struct cli_markdown_opts *opts)
{
    *s = (struct cli_stream){.screen = screen, .opts = *opts, .block = WB_BUF(CLI_BLOCK_MAX + 8)};
}

void cli_stream_done(struct cli_stream *s)
{
    wb_buf_done(&s->block);
}

void cli_stream_drop(struct cli_stream *s)
{
    wb_buf_clear(&s->block);
    s->line = 0;
    s->kind = CLI_BLOCK_TEXT;
    s->blank = s->any = s->items = false;
    s->number = 0;
}

static struct upp_str unindented(struct upp_str line, unsigned *indent)
{
    *indent = 0;
    while (line.n && (line.p[0] == ' ' || line.p[0] == '\t')) {
        *indent += line.p[0] == '\t' ? 4 : 1;
        line = wb_str_sub(line, 1, SIZE_MAX);
    }
    return line;
}

static size_t run_of(struct upp_str text, char c)
{
    size_t n = 0;
    while (n < text.n && text.p[n] == c)
        n++;
    return n;
}

/* Does the line open a fence, or close the open one? */
static bool is_fence(const struct cli_stream *s, struct upp_str line, bool opens, unsigned *length, char *c)
{
    unsigned indent;
    struct upp_str text = unindented(line, &indent);
    if (indent > 3 || !text.n || (text.p[0] != '`' && text.p[0] != '~'))
        return false;
    size_t n = run_of(text, text.p[0]);
    if (n < 3)
        return false;
    struct upp_str rest = wb_str_trim(wb_str_sub(text, n, SIZE_MAX));
    if (!opens)
        return text.p[0] == s->fence_char && n >= s->fence && !rest.n;
    *length = (unsigned)n;
    *c = text.p[0];
    return text.p[0] == '~' || wb_str_find(rest, UPP_STR("`"), 0) == SIZE_MAX;
}

static bool is_heading(struct upp_str line)
{
    unsigned indent;
    struct upp_str text = unindented(line, &indent);
    size_t n = run_of(text, '#');
    return indent <= 3 && n >= 1 && n <= 6 && (n == text.n || text.p[n] == ' ' || text.p[n] == '\t');
}

/* Three or more of one character, which is also a bullet. */
static bool is_rule(struct upp_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != text.p[0] && text.p[i] != ' ')
            return false;
        n += text.p[i] == text.p[0];
    }
    return n >= 3 && (text.p[0] == '-' || text.p[0] == '*' || text.p[0] == '_');
}

/* Does an item of a list begin here, not inside another item? *number: 0 of a bullet. */
static bool is_item(struct upp_str line, unsigned *number)
{
    unsigned indent;
    uint64_t value = 0;
    size_t n = 0;
    struct upp_str text = unindented(line, &indent);
    *number = 0;
    if (indent > 1 || !text.n || is_rule(wb_str_trim(text)))
        return false;
    while (n < text.n && n < 9 && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    if (n && (n == text.n || (text.p[n] != '.' && text.p[n] != ')') || !wb_str_u64(wb_str_sub(text, 0, n), &value)))
        return false;
    if (!n && text.p[0] != '-' && text.p[0] != '*' && text.p[0] != '+')
        return false;
    *number = (unsigned)value;
    return n + 1 == text.n || text.p[n + 1] == ' ' || text.p[n + 1] == '\t';
}

/* An empty line before a block, but not between the items of a tight list. */
static struct wb_buf *begin_block(struct cli_stream *s, bool item)
{
    struct wb_buf *out = cli_screen_final(s->screen);
    if (s->any && !(item && s->items && !s->loose))
        wb_buf_addc(out, '\n');
    s->any = true;
    s->items = item;
    return out;
}

/* Items are rendered one by one: their numbers go on. */
static unsigned number_of(struct cli_stream *s, struct upp_str text)
{
    unsigned first = 0;
    if (s->kind == CLI_BLOCK_ITEM)
        (void)is_item(wb_str_sub(text, 0, wb_str_find(text, UPP_STR("\n"), 0)), &first);
    unsigned number = first && s->items && s->number ? s->number : first;
    s->number = number ? number + 1 : 0;
    return number;
}

/* Renders the first n bytes of the block, and takes them off. */
static int render(struct cli_stream *s, size_t n, struct upp_err *err)
{
    struct upp_str text = wb_str_sub(wb_buf_str(&s->block), 0, n);
    struct cli_markdown_opts opts = s->opts;
    int r = 0;
    if (wb_str_trim(text).n) {
        opts.number = number_of(s, text);
        r = cli_markdown(text, &opts, begin_block(s, s->kind == CLI_BLOCK_ITEM), err);
    }
    wb_buf_drop(&s->block, n);
    s->line -= s->line < n ? s->line : n;
    return r;
}

static int code_line(struct cli_stream *s, struct upp_str line, struct upp_err *err)
{
    return cli_markdown_code(line, &s->opts, cli_screen_final(s->screen), err);
}

/* What begins with a line, whatever was before it. */
enum begins { TEXT, ITEM, HEADING, FENCE };

static enum begins begins_with(const struct cli_stream *s, struct upp_str line)
{
    unsigned n;
    char c;
    return is_fence(s, line, true, &n, &c) ? FENCE : is_heading(line) ? HEADING : is_item(line, &n) ? ITEM : TEXT;
}

/* Does the block end before this line? */
static bool ends_before(const struct cli_stream *s, struct upp_str line, enum begins what)
{
    unsigned indent, number;
    struct upp_str text = unindented(line, &indent);
    if (s->kind == CLI_BLOCK_ITEM) /* what is indented belongs to the item */
        return what == ITEM || (indent < 2 && (s->blank || what != TEXT));
    if (what == ITEM) /* a list in the middle of a paragraph has text, and begins with 1 */
        return is_item(line, &number) && number <= 1 && text.n > 2;
    return what != TEXT;
}

/* The first line of a block is complete. */
static int begin_kind(struct cli_stream *s, struct upp_str line, enum begins what, struct upp_err *err)
{
    s->loose = s->blank;
    s->kind = what == ITEM ? CLI_BLOCK_ITEM : CLI_BLOCK_TEXT;
    if (what == HEADING)
        return render(s, s->line, err);
    if (what == FENCE) {
        (void)is_fence(s, line, true, &s->fence, &s->fence_char);
        (void)begin_block(s, false);
        wb_buf_drop(&s->block, s->line);
        s->line = 0;
        s->kind = CLI_BLOCK_FENCE;
    }
    return 0;
}

static struct upp_str last_line(const struct cli_stream *s, size_t from)
{
    struct upp_str line = wb_str_sub(wb_buf_str(&s->block), from, s->line - from - 1);
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static int end_code_line(struct cli_stream *s, struct upp_str line, struct upp_err *err)
{
    unsigned n;
    char c;
    int r = 0;
    if (is_fence(s, line, false, &n, &c))
        s->kind = CLI_BLOCK_TEXT;
    else
        r = code_line(s, line, err);
    wb_buf_drop(&s->block, s->line);
    s->line = 0;
    return r;
}

/* A line is complete: it begins at `from`, and s->line is after it. */
static int end_line(struct cli_stream *s, size_t from, struct upp_err *err)
{
    struct upp_str line = last_line(s, from);
    int r = 0;
    if (s->kind == CLI_BLOCK_FENCE)
        return end_code_line(s, line, err);
    if (!wb_str_trim(line).n) {
        s->blank = true;
        return s->kind == CLI_BLOCK_ITEM && from ? 0 : render(s, s->line, err);
    }
    enum begins what = begins_with(s, line);
    if (from && ends_before(s, line, what)) {
        r = render(s, from, err);
        from = 0;
    }
    if (r >= 0 && !from)
        r = begin_kind(s, last_line(s, 0), what, err);
    s->blank = false;
    return r;
}

/* The block is too long: what is there is rendered. */
static int cut_block(struct cli_stream *s, struct upp_err *err)
{
    struct upp_str text = wb_buf_str(&s->block);
    size_t n = text.n;
    while (n > text.n - 4 && ((unsigned char)text.p[n - 1] & 0xc0) == 0x80)
        n--;
    n = n == text.n || n <= text.n - 4 ? text.n : n - 1; /* not in the middle of a character */
    int r = 0;
    if (s->kind == CLI_BLOCK_FENCE) {
        r = code_line(s, wb_str_sub(text, 0, n), err);
        wb_buf_drop(&s->block, n);
    } else
        r = render(s, n, err);
    s->line = 0;
    return r;
}

static int show(struct cli_stream *s, struct upp_err *err)
{
    cli_screen_live(s->screen, wb_buf_str(&s->block));
    return cli_screen_check(s->screen, err);
}

int cli_stream_add(struct cli_stream *s, struct upp_str piece, struct upp_err *err)
{
    int r = 0;
    while (r >= 0 && piece.n) {
        size_t end = wb_str_find(piece, UPP_STR("\n"), 0), from = s->line;
        size_t n = end == SIZE_MAX ? piece.n : end + 1, room = CLI_BLOCK_MAX - s->block.n;
        bool cut = n > room;
        n = cut ? room : n;
        wb_buf_add(&s->block, wb_str_sub(piece, 0, n));
        piece = wb_str_sub(piece, n, SIZE_MAX);
        r = wb_buf_check(&s->block, err);
        if (r >= 0 && s->block.n && s->block.p[s->block.n - 1] == '\n') {
            s->line = s->block.n;
            r = end_line(s, from, err);
        } else if (r >= 0 && s->block.n == CLI_BLOCK_MAX)
            r = cut_block(s, err);
    }
    return r < 0 ? r : show(s, err);
}

int cli_stream_end(struct cli_stream *s, struct upp_err *err)
{
    int r = 0;
    if (s->block.n > s->line) {
        size_t from = s->line;
        wb_buf_addc(&s->block, '\n');
        s->line = s->block.n;
        r = wb_buf_check(&s->block, err);
        if (r >= 0)
            r = end_line(s, from, err);
    }
    if (r >= 0)
        r = render(s, s->block.n, err);
    (void)cli_screen_final(s->screen);
    cli_stream_drop(s);
    return r < 0 ? r : cli_screen_check(s->screen, err);
}
