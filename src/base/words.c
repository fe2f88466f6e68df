/* base/words.c — splits a text into words, and finds the known word that a misspelled one is nearest to. */
#include "base/words.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/utf8.h"

enum kind { BETWEEN, LETTER, ALONE };

/* From each of them on, up to the next. Letters with their marks stand below U+2000, most of what has no blanks above.
 */
static const struct {
    uint32_t from;
    enum kind is;
} kinds[] = {
    {0x00, BETWEEN},    {'0', LETTER},    {'9' + 1, BETWEEN}, {'A', LETTER},   {'Z' + 1, BETWEEN}, {'a', LETTER},
    {'z' + 1, BETWEEN}, {0xc0, LETTER},   {0xe00, ALONE},     {0xf00, LETTER}, {0x1000, ALONE},    {0x10a0, LETTER},
    {0x1780, ALONE},    {0x1800, LETTER}, {0x2000, BETWEEN},  {0x2070, ALONE}, {0x3000, BETWEEN},  {0x3005, ALONE},
    {0x3008, BETWEEN},  {0x3021, ALONE},  {0xff00, BETWEEN},  {0xff10, ALONE},
};

static enum kind kind_of(uint32_t c)
{
    size_t low = 0, high = WB_LEN(kinds);
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (kinds[middle].from <= c)
            low = middle;
        else
            high = middle;
    }
    return kinds[low].is;
}

/* The kind of what is there; a byte that belongs to nothing stands between words. */
static enum kind look(struct upp_str s, size_t at, size_t *n)
{
    uint32_t c;
    *n = wb_wtf8_decode(s, at, &c);
    if (*n)
        return kind_of(c);
    *n = 1;
    return BETWEEN;
}

bool wb_word_next(struct upp_str s, size_t *at, struct upp_str *ret)
{
    size_t n, from;
    enum kind is = BETWEEN;
    for (from = *at; from < s.n; from += n)
        if ((is = look(s, from, &n)) != BETWEEN)
            break;
    if (is == BETWEEN) {
        *at = s.n;
        return false;
    }
    size_t end = from + n;
    while (is == LETTER && end < s.n && look(s, end, &n) == LETTER)
        end += n;
    *at = end;
    *ret = wb_str_sub(s, from, end - from);
    return true;
}

bool wb_word_ends(struct upp_str s, size_t at)
{
    enum { LONGEST = 4 };
    size_t n, from = at;
    if (at == 0 || at >= s.n)
        return true;
    do
        from--;
    while (from && at - from < LONGEST && ((unsigned char)s.p[from] & 0xc0) == 0x80);
    return look(s, from, &n) != LETTER || look(s, at, &n) != LETTER;
}

enum { GUESS_MAX = 32, SHORT = 3 /* with two slips such a word is another one */ };

/* The edit distance. Two neighbours in the wrong order are one slip. */
static unsigned distance(struct upp_str a, struct upp_str b)
{
    unsigned rows[3][GUESS_MAX + 1], *above = rows[0], *row = rows[1], *next = rows[2];
    for (size_t j = 0; j <= b.n; j++)
        above[j] = row[j] = (unsigned)j;
    for (size_t i = 0; i < a.n; i++) {
        next[0] = (unsigned)i + 1;
        for (size_t j = 0; j < b.n; j++) {
            unsigned change = row[j] + (a.p[i] != b.p[j]), other = WB_MIN(next[j], row[j + 1]) + 1;
            next[j + 1] = WB_MIN(change, other);
            if (i && j && a.p[i] == b.p[j - 1] && a.p[i - 1] == b.p[j])
                next[j + 1] = WB_MIN(next[j + 1], above[j - 1] + 1);
        }
        unsigned *free = above;
        above = row;
        row = next;
        next = free;
    }
    return row[b.n];
}

void wb_guess(struct wb_guess *g, struct upp_str wrong, struct upp_str right)
{
    if (wrong.n > GUESS_MAX || right.n > GUESS_MAX)
        return;
    unsigned d = distance(wrong, right);
    if (d > (right.n > SHORT ? 2u : 1u) || d >= right.n || (g->text[0] && d >= g->distance))
        return;
    g->distance = d;
    (void)snprintf(g->text, sizeof g->text, "; did you mean '%.*s'?", UPP_FMT(right));
}

const char *wb_guessed(const struct wb_guess *g)
{
    return g->text;
}
