/* base/mask.c — the table of what is masked, and how a text is searched for it.
 *
 * A filter of 65,536 bits says of eight bytes whether something hidden may begin with them, so that a text with nothing
 * in it costs one look a byte, however much is hidden.
 */
#include "base/mask.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/err.h"
#include "base/hooks.h"
#include "base/list.h"
#include "base/mask_forms.h"
#include "base/secret.h"
#include "base/utf8.h"

enum {
    SHORT = 4,     /* what is shorter is no secret */
    WHOLE = 8,     /* and what is shorter than this is looked for as a word */
    PIECES = 16,   /* from here on pieces of WHOLE bytes are looked for */
    FORMED = 1536, /* longer ones are looked for as they are, in no other form */
    FORMS = 12,
    NODES = 1 << 20, /* of the automaton: bytes of all that is looked for in what models and tools say */
    ROOM = 36, /* bytes of all forms for a byte of the text: 1, 3 and 3 in addresses, 6, 6 and 6 in JSON, 6 x 4/3 */
};

struct wb_hidden {
    struct wb_link link;
    struct wb_secret *pages; /* in which this lies */
    bool word, pieces;
    bool spoken; /* is masked in what models and tools say */
    size_t n, n_spoken;
    struct upp_str forms[FORMS];
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct wb_link hidden = {&hidden, &hidden};
static atomic_size_t count, spoken;
static size_t spoken_bytes;
static struct wb_masks *masks; /* of all that is spoken; NULL: not made yet */
static uint64_t filter[1024];

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
        bool plain =
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
        uint32_t c = (unsigned char)s.p[i];
        const char *named;
        size_t n = c >= 0x80 && ascii ? wb_utf8_decode(s, i, &c) : 1;
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
        size_t at = bit / 8 - before;
        unsigned v = (unsigned char)s.p[at] << 8 | (at + 1 < s.n ? (unsigned char)s.p[at + 1] : 0);
        v = v >> (10 - bit % 8) & 63;
        *to++ = v < 62 ? letters[v] : last[v - 62];
    }
    return to;
}

static void make_forms(struct wb_hidden *h, struct upp_str s, char *to)
{
    to = add_form(h, to, put_text(to, s));
    h->n_spoken = 1;
    if (s.n > FORMED)
        return;
    to = add_form(h, to, put_address(to, s, "0123456789ABCDEF"));
    to = add_form(h, to, put_address(to, s, "0123456789abcdef"));
    to = add_form(h, to, put_json(to, s, false, false));
    to = add_form(h, to, put_json(to, s, true, false));
    to = add_form(h, to, put_json(to, s, false, true));
    h->n_spoken = h->n; /* base64 of a secret is what somebody made of it */
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

/* ---- The automaton of what is masked in what models and tools say ---------------------------- */

static struct wb_masks *masks_unref(struct wb_masks *m)
{
    if (m && --m->refs == 0) {
        (void)wb_secret_free(m->pages);
        wb_free(m);
    }
    return NULL;
}

static uint32_t child_of(const struct wb_masks *m, uint32_t at, uint8_t byte)
{
    uint32_t next = m->nodes[at].child;
    while (next && m->nodes[next].byte != byte)
        next = m->nodes[next].sibling;
    return next;
}

static void add_to_tree(struct wb_masks *m, uint32_t *n, struct upp_str form)
{
    uint32_t at = 0;
    m->first[(unsigned char)form.p[0]] = true;
    for (size_t i = 0; i < form.n; i++) {
        uint8_t byte = (uint8_t)form.p[i];
        uint32_t next = child_of(m, at, byte);
        if (!next) {
            next = (*n)++;
            m->nodes[next] = (struct wb_mask_node){
                .sibling = m->nodes[at].child, .depth = (uint32_t)i + 1, .least = (uint32_t)form.n, .byte = byte};
            m->nodes[at].child = next;
        }
        m->nodes[next].least = WB_MIN(m->nodes[next].least, (uint32_t)form.n);
        at = next;
    }
    m->nodes[at].found = (uint32_t)form.n;
}

/* By depth: a node's fail is less deep. `order` has room for all nodes. */
static void add_fails(struct wb_masks *m, uint32_t n, uint32_t *order)
{
    uint32_t end = 1;
    order[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = order[i];
        for (uint32_t child = m->nodes[at].child; child; child = m->nodes[child].sibling) {
            struct wb_mask_node *c = &m->nodes[child];
            uint32_t fail = at ? m->nodes[at].fail : 0, next = 0;
            order[end++] = child;
            while (at && !(next = child_of(m, fail, c->byte)) && fail)
                fail = m->nodes[fail].fail;
            c->fail = next;
            c->found = WB_MAX(c->found, m->nodes[next].found);
        }
    }
}

static int make_masks(struct upp_err *err)
{
    char *into;
    uint32_t n = 1;
    struct wb_masks *m = wb_calloc(1, sizeof *m);
    if (!m)
        return upp_fail(err, UPP_ENOMEM, "no memory to mask secrets");
    int r = wb_secret_pages((spoken_bytes + 1) * (sizeof *m->nodes + sizeof(uint32_t)), &m->pages, &into, err);
    if (r < 0) {
        wb_free(m);
        return r;
    }
    m->refs = 1;
    m->nodes = (void *)into;
    wb_list_each (l, &hidden) {
        const struct wb_hidden *h = wb_item(l, struct wb_hidden, link);
        for (size_t k = 0; h->spoken && k < h->n_spoken; k++)
            add_to_tree(m, &n, h->forms[k]);
    }
    add_fails(m, n, (void *)(m->nodes + spoken_bytes + 1));
    masks = m;
    return 0;
}

int wb_masks_take(struct wb_masks **ret, struct upp_err *err)
{
    int r = 0;
    *ret = NULL;
    if (!atomic_load_explicit(&spoken, memory_order_relaxed))
        return 0;
    (void)pthread_rwlock_wrlock(&lock);
    if (!masks && atomic_load(&spoken))
        r = make_masks(err);
    if (r >= 0 && masks) {
        masks->refs++;
        *ret = masks;
    }
    (void)pthread_rwlock_unlock(&lock);
    return r;
}

void wb_masks_give(struct wb_masks *m)
{
    if (!m)
        return;
    (void)pthread_rwlock_wrlock(&lock);
    (void)masks_unref(m);
    (void)pthread_rwlock_unlock(&lock);
}

/* With the lock: what is spoken has changed by h. */
static void count_spoken(const struct wb_hidden *h, bool more)
{
    if (!h->spoken)
        return;
    for (size_t k = 0; k < h->n_spoken; k++)
        spoken_bytes = more ? spoken_bytes + h->forms[k].n : spoken_bytes - h->forms[k].n;
    (void)(more ? atomic_fetch_add(&spoken, 1) : atomic_fetch_sub(&spoken, 1));
    masks = masks_unref(masks);
}

/* ---- Hiding ------------------------------------------------------------------------------------------------------ */

static int hide(struct upp_str text, bool in_errors, struct wb_hidden **ret, struct upp_err *err)
{
    struct wb_secret *pages;
    char *into;
    *ret = NULL;
    if (text.n < SHORT)
        return 0;
    size_t most = WB_SECRET_MAX - sizeof(struct wb_hidden);
    text = wb_str_sub(text, 0, most);
    int r = wb_secret_room(sizeof(struct wb_hidden) + (text.n > FORMED ? text.n : text.n * ROOM), &pages, &into, err);
    if (r < 0)
        return r;
    struct wb_hidden *h = (void *)into;
    h->pages = pages;
    h->word = text.n < WHOLE;
    h->pieces = text.n >= PIECES && !memchr(text.p, ' ', text.n) && wb_str_find(text, UPP_STR("://"), 0) == SIZE_MAX;
    make_forms(h, text, into + sizeof *h);
    h->spoken = !in_errors && text.n >= PIECES;
    (void)pthread_rwlock_wrlock(&lock); /* these locks fail only for nonsense */
    size_t bytes = 0;
    for (size_t k = 0; h->spoken && k < h->n_spoken; k++)
        bytes += h->forms[k].n;
    bool room = spoken_bytes + bytes <= NODES;
    if (room) {
        wb_list_push(&hidden, &h->link);
        note_forms(h);
        count_spoken(h, true);
        (void)atomic_fetch_add(&count, 1);
        *ret = h;
    }
    (void)pthread_rwlock_unlock(&lock);
    if (room)
        return 0;
    (void)wb_secret_free(pages);
    return upp_fail(err, UPP_ELIMIT, "all secrets together are longer than %d bytes", NODES);
}

int wb_hide(struct upp_str text, struct wb_hidden **ret, struct upp_err *err)
{
    return hide(text, false, ret, err);
}

int wb_hide_in_errors(struct upp_str text, struct wb_hidden **ret, struct upp_err *err)
{
    return hide(text, true, ret, err);
}

struct wb_hidden *wb_unhide(struct wb_hidden *h)
{
    if (!h)
        return NULL;
    (void)pthread_rwlock_wrlock(&lock);
    wb_unlink(&h->link);
    count_spoken(h, false);
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
    size_t n = common(rest, form);
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
    bool any = n != 0;
    while (any && at < s.n && to < size) {
        size_t run = WB_MIN(next - at, size - to);
        memcpy(out + to, s.p + at, run);
        to += run;
        if (n && size - to >= 3) {
            memcpy(out + to, "***", 3);
            to += 3;
        } else if (n)
            break;
        at = next + n;
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
    bool any = false;
    size_t n;
    for (size_t at = 0; at < s.n;) {
        size_t next = find(s, at, &n);
        wb_buf_add(b, wb_str_sub(s, at, next - at));
        if (n && json && cuts_escape(s, next + n))
            n--;
        if (next < s.n)
            wb_buf_add(b, UPP_STR("***"));
        any = any || next < s.n;
        at = next + WB_MAX(n, (size_t)(next < s.n));
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
    char *texts[] = {err->msg, err->cause, err->where};
    static const size_t sizes[] = {sizeof err->msg, sizeof err->cause, sizeof err->where};
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        char out[sizeof err->msg];
        struct upp_str s = wb_mask(wb_cstr(texts[i]), out, sizes[i] - 1);
        if (s.p == texts[i])
            continue;
        memcpy(texts[i], s.p, s.n);
        texts[i][s.n] = 0;
    }
}
