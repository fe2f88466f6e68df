/* base/mask.c — see mask.h.
 *
 * A filter of 65,536 bits says of eight bytes whether something hidden may begin with them, so that a text with nothing
 * in it costs one look a byte, however much is hidden.
 */
#include "base/mask.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/err.h"
#include "base/list.h"
#include "base/secret.h"
#include "base/utf8.h"

enum {
    SHORT  = 4,    /* what is shorter is no secret */
    WHOLE  = 8,    /* and what is shorter than this is looked for as a word */
    PIECES = 16,   /* from here on pieces of WHOLE bytes are looked for */
    FORMED = 1536, /* longer ones are looked for as they are, in no other form */
    FORMS  = 12,
    ROOM   = 36, /* bytes of all forms for a byte of the text: 1, 3 and 3 in addresses, 6, 6 and 6 in JSON, 6 x 4/3 */
};

struct wb_hidden {
    struct wb_link    link;
    struct wb_secret *pages; /* in which this lies */
    bool              word, pieces;
    size_t            n;
    struct upp_str    forms[FORMS];
};

static pthread_rwlock_t lock   = PTHREAD_RWLOCK_INITIALIZER;
static struct wb_link   hidden = {&hidden, &hidden};
static atomic_size_t    count;
static uint64_t         filter[1024];

/* ---- The filter -------------------------------------------------------------------------------------------------- */

static unsigned bit_of(const char *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return (unsigned)(((v + n) * UINT64_C(0x9e3779b97f4a7c15)) >> 48);
}

static void note(const char *p, size_t n)
{
    unsigned bit = bit_of(p, n);
    filter[bit / 64] |= UINT64_C(1) << bit % 64;
}

static bool may_begin(struct upp_str s, size_t i)
{
    unsigned eight = s.n - i >= WHOLE ? bit_of(s.p + i, WHOLE) : 0, four = bit_of(s.p + i, SHORT);
    return (s.n - i >= WHOLE && filter[eight / 64] >> eight % 64 & 1) || filter[four / 64] >> four % 64 & 1;
}

/* ---- Forms ------------------------------------------------------------------------------------------------------- */

/* [from, to) is a form, unless it is one already or too short to be looked for: where the next may begin. */
static char *add_form(struct wb_hidden *h, char *from, char *to)
{
    struct upp_str form = wb_str(from, (size_t)(to - from));
    if (h->n && form.n < WHOLE)
        return from;
    for (size_t i = 0; i < h->n; i++)
        if (wb_str_eq(h->forms[i], form))
            return from;
    h->forms[h->n++] = form;
    return to;
}

static char *put_text(char *to, struct upp_str s)
{
    memcpy(to, s.p, s.n);
    return to + s.n;
}

static char *put_address(char *to, struct upp_str s, const char digits[static 17])
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool          plain =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && strchr("-._~", c));
        if (!plain) {
            *to++ = '%';
            *to++ = digits[c >> 4];
        }
        *to++ = plain ? (char)c : digits[c & 15];
    }
    return to;
}

static char *put_unit(char *to, uint32_t unit)
{
    char text[8];
    (void)snprintf(text, sizeof text, "\\u%04x", unit & 0xffff);
    return put_text(to, wb_str(text, 6));
}

/* slash: / is written \/. ascii: nothing beyond it stands for itself. */
static char *put_json(char *to, struct upp_str s, bool slash, bool ascii)
{
    static const char control[] = "\b\f\n\r\t", names[] = "bfnrt";
    for (size_t i = 0; i < s.n;) {
        uint32_t    c = (unsigned char)s.p[i];
        const char *named;
        size_t      n = c >= 0x80 && ascii ? wb_utf8_decode(s, i, &c) : 1;
        if (c == '"' || c == '\\' || (c == '/' && slash)) {
            *to++ = '\\';
            *to++ = (char)c;
        } else if (c && c < ' ' && (named = strchr(control, (int)c))) {
            *to++ = '\\';
            *to++ = names[named - control];
        } else if (c < ' ' || n > 1) {
            if (c > 0xffff)
                to = put_unit(to, 0xd7c0 + (c >> 10));
            to = put_unit(to, c > 0xffff ? 0xdc00 + (c & 0x3ff) : c);
        } else
            *to++ = (char)c;
        i += n ? n : 1;
    }
    return to;
}

/* With so many bytes before it that are not ours: those characters that tell of ours alone. */
static char *put_base64(char *to, struct upp_str s, size_t before, const char *last)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (size_t bit = (before * 8 + 5) / 6 * 6; bit + 6 <= (before + s.n) * 8; bit += 6) {
        size_t   at = bit / 8 - before;
        unsigned v  = (unsigned char)s.p[at] << 8 | (at + 1 < s.n ? (unsigned char)s.p[at + 1] : 0);
        v           = v >> (10 - bit % 8) & 63;
        *to++       = v < 62 ? letters[v] : last[v - 62];
    }
    return to;
}

static void make_forms(struct wb_hidden *h, struct upp_str s, char *to)
{
    to = add_form(h, to, put_text(to, s));
    if (s.n > FORMED)
        return;
    to = add_form(h, to, put_address(to, s, "0123456789ABCDEF"));
    to = add_form(h, to, put_address(to, s, "0123456789abcdef"));
    to = add_form(h, to, put_json(to, s, false, false));
    to = add_form(h, to, put_json(to, s, true, false));
    to = add_form(h, to, put_json(to, s, false, true));
    for (size_t before = 0; before < 3; before++) {
        to = add_form(h, to, put_base64(to, s, before, "+/"));
        to = add_form(h, to, put_base64(to, s, before, "-_"));
    }
}

static void note_forms(const struct wb_hidden *h)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct upp_str f = h->forms[i];
        for (size_t k = 0; k + WHOLE <= f.n && (k == 0 || h->pieces); k++)
            note(f.p + k, WHOLE);
        if (f.n < WHOLE)
            note(f.p, SHORT);
    }
}

int wb_hide(struct upp_str text, struct wb_hidden **ret, struct upp_err *err)
{
    struct wb_secret *pages;
    char             *into;
    *ret = NULL;
    if (text.n < SHORT)
        return 0;
    size_t most = WB_SECRET_MAX - sizeof(struct wb_hidden);
    text        = wb_str_sub(text, 0, most);
    int r = wb_secret_room(sizeof(struct wb_hidden) + (text.n > FORMED ? text.n : text.n * ROOM), &pages, &into, err);
    if (r < 0)
        return r;
    struct wb_hidden *h = (void *)into;
    h->pages            = pages;
    h->word             = text.n < WHOLE;
    h->pieces = text.n >= PIECES && !memchr(text.p, ' ', text.n) && wb_str_find(text, UPP_STR("://"), 0) == SIZE_MAX;
    make_forms(h, text, into + sizeof *h);
    (void)pthread_rwlock_wrlock(&lock); /* these locks fail only for nonsense */
    wb_list_push(&hidden, &h->link);
    note_forms(h);
    (void)pthread_rwlock_unlock(&lock);
    (void)atomic_fetch_add(&count, 1);
    *ret = h;
    return 0;
}

struct wb_hidden *wb_unhide(struct wb_hidden *h)
{
    if (!h)
        return NULL;
    (void)pthread_rwlock_wrlock(&lock);
    wb_unlink(&h->link);
    if (atomic_fetch_sub(&count, 1) == 1)
        memset(filter, 0, sizeof filter); /* else it may say yes too often, which costs time alone */
    (void)pthread_rwlock_unlock(&lock);
    (void)wb_secret_free(h->pages);
    return NULL;
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static bool is_word_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

static size_t common(struct upp_str a, struct upp_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

/* How many bytes of s from i on are of this form. */
static size_t of_form(const struct wb_hidden *h, struct upp_str form, struct upp_str s, size_t i)
{
    struct upp_str rest = wb_str_sub(s, i, SIZE_MAX);
    size_t         n    = common(rest, form);
    if (h->word)
        return n == form.n && !(i && is_word_byte(s.p[i - 1])) && !(n < rest.n && is_word_byte(rest.p[n])) ? n : 0;
    for (size_t at = 1; h->pieces && at + WHOLE <= form.n; at++)
        n = WB_MAX(n, common(rest, wb_str_sub(form, at, SIZE_MAX)));
    if (h->pieces)
        return n >= WHOLE ? n : 0;
    return n == form.n || (n == rest.n && n >= WHOLE) ? n : 0; /* the whole, or as much as the text has room for */
}

static size_t of_any(struct upp_str s, size_t i)
{
    size_t most = 0;
    wb_list_each (l, &hidden) {
        const struct wb_hidden *h = wb_item(l, struct wb_hidden, link);
        for (size_t k = 0; k < h->n; k++)
            most = WB_MAX(most, of_form(h, h->forms[k], s, i));
    }
    return most;
}

/* The next place from `at` on where something hidden stands, and *n bytes of it; the end of s: there is none. */
static size_t find(struct upp_str s, size_t at, size_t *n)
{
    *n = 0;
    for (; at + SHORT <= s.n; at++)
        if (may_begin(s, at) && (*n = of_any(s, at)))
            return at;
    return s.n;
}

/* ---- Masking ----------------------------------------------------------------------------------------------------- */

struct upp_str wb_mask(struct upp_str s, char *out, size_t size)
{
    size_t n, to = 0;
    if (!atomic_load_explicit(&count, memory_order_relaxed) || !s.n)
        return s;
    (void)pthread_rwlock_rdlock(&lock);
    size_t at = 0, next = find(s, 0, &n);
    bool   any = n != 0;
    while (any && at < s.n && to < size) {
        size_t run = WB_MIN(next - at, size - to);
        memcpy(out + to, s.p + at, run);
        to += run;
        if (n && size - to >= 3) {
            memcpy(out + to, "***", 3);
            to += 3;
        } else if (n)
            break;
        at   = next + n;
        next = find(s, at, &n);
    }
    (void)pthread_rwlock_unlock(&lock);
    return any ? wb_str(out, to) : s;
}

/* Ends inside of an escape: after a backslash that begins one. */
static bool cuts_escape(struct upp_str s, size_t end)
{
    size_t n = 0;
    while (n < end && s.p[end - 1 - n] == '\\')
        n++;
    return n % 2;
}

static bool add_masked(struct wb_buf *b, struct upp_str s, bool json)
{
    bool   any = false;
    size_t n;
    for (size_t at = 0; at < s.n;) {
        size_t next = find(s, at, &n);
        wb_buf_add(b, wb_str_sub(s, at, next - at));
        if (n && json && cuts_escape(s, next + n))
            n--;
        if (next < s.n)
            wb_buf_add(b, UPP_STR("***"));
        any = any || next < s.n;
        at  = next + WB_MAX(n, (size_t)(next < s.n));
    }
    return any;
}

/* The end of the string that begins at `at`, behind its quote. */
static size_t string_end(struct upp_str s, size_t at)
{
    while (at < s.n && s.p[at] != '"')
        at += s.p[at] == '\\' ? 2 : 1;
    return WB_MIN(at, s.n);
}

bool wb_mask_add(struct wb_buf *b, struct upp_str s, bool json)
{
    bool any = false;
    if (!atomic_load_explicit(&count, memory_order_relaxed)) {
        wb_buf_add(b, s);
        return false;
    }
    (void)pthread_rwlock_rdlock(&lock);
    if (!json)
        any = add_masked(b, s, false);
    for (size_t at = 0; json && at < s.n;) {
        size_t quote = wb_str_find(s, UPP_STR("\""), at);
        size_t from = quote == SIZE_MAX ? s.n : quote + 1, end = string_end(s, from);
        wb_buf_add(b, wb_str_sub(s, at, from - at));
        any = add_masked(b, wb_str_sub(s, from, end - from), true) || any;
        wb_buf_add(b, wb_str_sub(s, end, end < s.n));
        at = end + 1;
    }
    (void)pthread_rwlock_unlock(&lock);
    return any;
}

void wb_mask_err(struct upp_err *err)
{
    if (!err)
        return;
    char               *texts[] = {err->msg, err->cause, err->where};
    static const size_t sizes[] = {sizeof err->msg, sizeof err->cause, sizeof err->where};
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        char           out[sizeof err->msg];
        struct upp_str s = wb_mask(wb_cstr(texts[i]), out, sizes[i] - 1);
        if (s.p == texts[i])
            continue;
        memcpy(texts[i], s.p, s.n);
        texts[i][s.n] = 0;
    }
}
