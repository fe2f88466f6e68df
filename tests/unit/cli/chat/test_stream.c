/* Markdown in pieces: what is on the screen in the end. */
#include "cli/chat/stream.h"

#include <locale.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "support/test.h"

enum { W = 40, H = 400, VIEW = 12 };

/* Its rows, of which the last VIEW can still be reached. Styles are ignored. */
struct terminal {
    uint32_t cell[H][W];
    unsigned row, column, top;
    bool wrong; /* it was told something that it does not know, or went out of its view */
};

static void erase_down(struct terminal *t)
{
    for (unsigned c = t->column; c < W; c++)
        t->cell[t->row][c] = 0;
    for (unsigned r = t->row + 1; r < H; r++)
        memset(t->cell[r], 0, sizeof t->cell[r]);
}

static size_t control(struct terminal *t, struct upp_str s, size_t at)
{
    unsigned n = 0;
    size_t i = at + 2;
    t->wrong |= s.n < at + 3 || s.p[at + 1] != '[';
    for (; i < s.n && ((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == ';'); i++)
        n = s.p[i] == ';' ? 0 : n * 10 + (unsigned)(s.p[i] - '0');
    if (i < s.n && s.p[i] == 'A') {
        t->wrong |= n > t->row - t->top;
        t->row -= n > t->row ? t->row : n;
    } else if (i < s.n && s.p[i] == 'J')
        erase_down(t);
    else
        t->wrong |= i >= s.n || s.p[i] != 'm';
    return i + 1 - at;
}

static void show(struct terminal *t, struct upp_str s)
{
    for (size_t at = 0, n; at < s.n; at += n) {
        uint32_t c;
        n = 1;
        if (s.p[at] == '\033') {
            n = control(t, s, at);
        } else if (s.p[at] == '\r')
            t->column = 0;
        else if (s.p[at] == '\n') {
            t->column = 0;
            t->wrong |= ++t->row >= H;
            t->row = t->row >= H ? H - 1 : t->row;
            t->top = t->row >= t->top + VIEW ? t->row - VIEW + 1 : t->top;
        } else if ((n = wb_utf8_decode(s, at, &c)) && t->column < W) {
            t->cell[t->row][t->column] = c;
            t->column += c >= 0x1100 && c < 0x2190 ? 1 : c >= 0x2e80 && c < 0xa000 ? 2 : 1;
        } else {
            t->wrong = true;
            n = n ? n : 1;
        }
    }
}

static const char sample[] =
    "Intro, long enough to be wrapped into more than one row of this terminal:\n- one\n- two is long, too, and goes "
    "on\n  - nested\n- three\n\n1. first\n\n2. second\n\n2. third\n\n# Heading\nText right after "
    "it\n```python\ncode\n\n- no "
    "item\n```\n\n| a | b |\n|---|---|\n| 1 | \xe6\xbc\xa2\xe5\xad\x97 |\n| 2 | two |\n\n> quote\n> more\n\n* item\n\n "
    " its "
    "paragraph\n\nafter\n\n***\n\nSetext\n------\n\n~~~\nopen to the end \xe6\xbc\xa2\n";

static int play(const char *text, size_t n, uint64_t seed, struct terminal *t, struct upp_err *err)
{
    struct cli_screen screen;
    struct cli_stream s;
    struct cli_markdown_opts o = {.width = W - 1, .utf8 = true};
    int r = 0;
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    memset(t, 0, sizeof *t);
    cli_screen_init(&screen, W - 1, VIEW);
    cli_stream_init(&s, &screen, &o);
    for (size_t at = 0, len; r >= 0 && at < n; at += len) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        len = seed < 2 ? n : 1 + (seed >> 33) % 9;
        len = len > n - at ? n - at : len;
        while (at + len < n && ((unsigned char)text[at + len] & 0xc0) == 0x80)
            len++;
        r = cli_stream_add(&s, wb_str(text + at, len), err);
        show(t, wb_buf_str(&screen.out));
        wb_buf_clear(&screen.out);
    }
    if (r >= 0)
        r = cli_stream_end(&s, err);
    show(t, wb_buf_str(&screen.out));
    cli_stream_done(&s);
    cli_screen_done(&screen);
    return r;
}

static void as_text(const struct terminal *t, struct wb_buf *out)
{
    char bytes[4];
    for (unsigned r = 0; r < t->row; r++) {
        for (unsigned c = 0; c < W; c++)
            if (t->cell[r][c])
                wb_buf_add(out, wb_str(bytes, wb_utf8_encode(t->cell[r][c], bytes)));
        wb_buf_addc(out, '\n');
    }
}

/* However the text is cut, the screen is the same in the end. */
TEST(stream_of_any_pieces_gives_the_same_screen)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    struct terminal *whole = malloc(sizeof *whole), *t = malloc(sizeof *t);
    uint64_t times = test_times("WEFT_CUTS", 400);
    CHECK(whole && t);
    int r = play(sample, sizeof sample - 1, 7, whole, NULL);
    for (uint64_t i = 0; r >= 0 && i < times; i++) {
        r = play(sample, sizeof sample - 1, i * 977 + 1, t, NULL);
        if (r >= 0 && (memcmp(whole->cell, t->cell, sizeof t->cell) != 0 || t->wrong)) {
            test_note("seed %llu", (unsigned long long)i);
            CHECK(!t->wrong);
            CHECK(false);
        }
    }
    as_text(whole, &out);
    free(whole);
    free(t);
    if (r == -UPP_ENOMEM || out.failed)
        return;
    CHECK_INT(r, 0);
    CHECK_GOLDEN("cli/stream.txt", wb_buf_str(&out));
}

/* A block longer than any is cut, and memory does not grow with it. */
TEST(stream_of_a_block_without_end)
{
    struct cli_screen screen;
    struct cli_stream s;
    struct cli_markdown_opts o = {.width = 79, .utf8 = true};
    int r = 0;
    cli_screen_init(&screen, 79, 24);
    cli_stream_init(&s, &screen, &o);
    for (unsigned i = 0; r >= 0 && i < 320; i++) {
        char piece[2 << 10];
        memset(piece, i % 2 ? 'x' : 'y', sizeof piece);
        r = cli_stream_add(&s, wb_str(piece, sizeof piece), NULL);
        wb_buf_clear(&screen.out);
        if (r >= 0 && s.block.n > CLI_BLOCK_MAX) {
            CHECK(false);
        }
    }
    if (r >= 0)
        r = cli_stream_end(&s, NULL);
    cli_stream_done(&s);
    cli_screen_done(&screen);
    CHECK(r == 0 || r == -UPP_ENOMEM);
}
