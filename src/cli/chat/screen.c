/* cli/chat/screen.c — writes final lines once, and redraws the changing rows below them only where they differ. */
#include "cli/chat/screen.h"

#include "cli/chat/table.h"

enum { ROWS_MAX = 16, LOOK_BACK = 16 << 10 /* bytes of a long text that are laid out: the end of it is shown */ };

void cli_screen_init(struct cli_screen *s, unsigned width, unsigned height)
{
    *s = (struct cli_screen){.width = width,
                             .height = height,
                             .out = WB_BUF(CLI_SCREEN_MAX),
                             .shown = WB_BUF(1 << 20),
                             .next = WB_BUF(1 << 20)};
}

void cli_screen_done(struct cli_screen *s)
{
    wb_buf_done(&s->out);
    wb_buf_done(&s->shown);
    wb_buf_done(&s->next);
}

void cli_screen_resize(struct cli_screen *s, unsigned width, unsigned height)
{
    struct upp_str rest = wb_buf_str(&s->shown), row;
    bool same = s->width == width;
    s->width = width;
    s->height = height;
    if (same || !s->rows)
        return;
    s->rows = 0;
    while (wb_str_split(&rest, '\n', &row)) {
        struct cli_cells cells = {0};
        cli_cells_add(&cells, row, 0);
        unsigned used = cli_cells_width(cells.list.p, cells.list.n);
        s->rows += used ? (used + width) / (width + 1) : 1; /* a terminal fills its last column */
        cli_cells_done(&cells);
    }
    wb_buf_addc(&s->shown, '\n'); /* laid out for another width: what comes next is not appended to it */
}

/* A new row goes to s->next; true: it is not the first one. */
struct row {
    size_t from, to;
};

/* Lays the text out in s->next, and returns the number of rows. */
static unsigned lay_out(struct cli_screen *s, const struct cli_cells *text)
{
    struct row rows[ROWS_MAX];
    unsigned most = s->height > 2 ? s->height - 1 : 1, n = 0, first;
    most = most > ROWS_MAX ? ROWS_MAX : most;
    for (size_t at = 0; at < text->list.n; n++) {
        size_t from = at;
        rows[n % most] = (struct row){from, cli_cells_line(text, at, text->list.n, s->width, true, &at)};
    }
    first = n > most ? n - most : 0;
    for (unsigned i = first; i < n; i++) {
        const struct row *r = &rows[i % most];
        if (i > first)
            wb_buf_addc(&s->next, '\n');
        cli_cells_put(&s->next, text->list.p + r->from, r->to - r->from, false);
    }
    return n - first;
}

static void erase(struct cli_screen *s)
{
    if (!s->rows)
        return;
    wb_buf_addc(&s->out, '\r');
    if (s->rows > 1)
        wb_buf_addf(&s->out, "\033[%uA", s->rows - 1);
    wb_buf_add(&s->out, UPP_STR("\033[J"));
    wb_buf_clear(&s->shown);
    s->rows = 0;
}

void cli_screen_live(struct cli_screen *s, struct upp_str text)
{
    struct cli_cells cells = {0};
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    if (text.n > LOOK_BACK) {
        size_t from = text.n - LOOK_BACK;
        while (from < text.n && ((unsigned char)text.p[from] & 0xc0) == 0x80)
            from++;
        text = wb_str_sub(text, from, SIZE_MAX);
    }
    cli_cells_add(&cells, text, 0);
    wb_buf_clear(&s->next);
    unsigned rows = lay_out(s, &cells);
    struct upp_str next = wb_buf_str(&s->next), shown = wb_buf_str(&s->shown);
    if (cells.failed)
        s->out.failed = -UPP_ENOMEM;
    if (s->rows && wb_str_starts(next, shown))
        wb_buf_add(&s->out, wb_str_sub(next, shown.n, SIZE_MAX));
    else {
        erase(s);
        wb_buf_add(&s->out, next);
    }
    s->rows = rows;
    struct wb_buf was = s->shown;
    s->shown = s->next;
    s->next = was;
    cli_cells_done(&cells);
}

struct wb_buf *cli_screen_final(struct cli_screen *s)
{
    erase(s);
    return &s->out;
}

int cli_screen_check(const struct cli_screen *s, struct upp_err *err)
{
    int r = wb_buf_check(&s->out, err);
    if (r >= 0)
        r = wb_buf_check(&s->shown, err);
    return r;
}
