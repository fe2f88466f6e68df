/* stores/sqlite/grams.c — hashes the trigrams or the words of a text, and writes them as the words of FTS5. */
#include "stores/sqlite/grams.h"

#include <string.h>

#include "base/hooks.h"
#include "base/words.h"

enum { BITS = 16, NUMBERS = 1 << BITS, WORDS_MAX = (WS_GRAM_WORD + 1) * NUMBERS };

static size_t next_char(struct upp_str s, size_t at)
{
    do
        at++;
    while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80);
    return at < s.n ? at : s.n;
}

static uint32_t number_of(const char *p, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 0x9e3779b97f4a7c15u;
    return (uint32_t)((h ^ h >> 32) * 0xbf58476d1ce4e5b9u >> (64 - BITS));
}

/* The three characters (or the word) at *at: true, with their number; *at advances to the next. */
static bool take(struct upp_str s, bool words, size_t *at, uint32_t *ret)
{
    size_t end = *at;
    struct upp_str word;
    if (words) {
        if (!wb_word_next(s, at, &word))
            return false;
        *ret = number_of(word.p, word.n);
        return true;
    }
    for (int i = 0; i < WS_GRAM; i++) {
        if (end >= s.n)
            return false;
        end = next_char(s, end);
    }
    *ret = number_of(s.p + *at, end - *at);
    *at = next_char(s, *at);
    return true;
}

/* Differences between consecutive numbers, as varints: seven bits per byte, lowest first; the highest bit: more
 * follow. */
static void put_distance(struct wb_buf *out, uint32_t d)
{
    for (; d >= 0x80; d >>= 7)
        wb_buf_addc(out, (char)(d | 0x80));
    wb_buf_addc(out, (char)d);
}

void ws_grams_of(struct upp_str text, bool words, struct wb_buf *out)
{
    uint64_t *set = wb_calloc(NUMBERS / 64, sizeof *set);
    uint32_t x, before = 0;
    if (!set) {
        out->failed = -UPP_ENOMEM;
        return;
    }
    for (size_t at = 0; take(text, words, &at, &x);)
        set[x / 64] |= UINT64_C(1) << x % 64;
    for (uint32_t i = 0; i < NUMBERS / 64; i++)
        for (uint64_t bits = set[i]; bits; bits &= bits - 1) {
            x = i * 64 + (uint32_t)__builtin_ctzll(bits) + 1;
            put_distance(out, x - before);
            before = x;
        }
    wb_free(set);
}

static void put_word(struct wb_buf *out, uint32_t x)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
    for (int i = WS_GRAM_WORD - 1; i >= 0; i--)
        wb_buf_addc(out, digits[x >> 5 * i & 31]);
    wb_buf_addc(out, ' ');
}

size_t ws_grams_words(struct upp_str text, bool words, size_t most, struct wb_buf *out)
{
    size_t n = 0;
    uint32_t x;
    for (size_t at = 0; n < most && take(text, words, &at, &x); n++)
        put_word(out, x);
    return n;
}

static void words_of_set(sqlite3_context *c, int n, sqlite3_value **v)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WORDS_MAX + 1);
    const unsigned char *p = sqlite3_value_blob(v[0]);
    const int all = sqlite3_value_bytes(v[0]);
    uint32_t x = 0, d = 0;
    int shift = 0;
    (void)n;
    for (int i = 0; p && i < all && shift < 28; i++) {
        d |= (uint32_t)(p[i] & 0x7f) << shift;
        shift += 7;
        if (p[i] & 0x80)
            continue;
        x += d;
        if (!x || x > NUMBERS)
            break;
        put_word(&out, x - 1);
        d = 0;
        shift = 0;
    }
    if (wb_buf_check(&out, NULL) < 0)
        sqlite3_result_error_nomem(c);
    else
        sqlite3_result_text64(c, out.n ? out.p : "", out.n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

int ws_grams_functions(sqlite3 *db)
{
    return sqlite3_create_function_v2(db, "weft_grams", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                      words_of_set, NULL, NULL, NULL);
}
