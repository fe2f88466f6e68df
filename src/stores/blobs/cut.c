/* stores/blobs/cut.c — finds the long values of a body, and writes and reads the list of what was cut out. */
#include "stores/blobs/cut.h"

#include <openssl/evp.h>

#include "base/str.h"
#include "stores/check.h"

enum { VERSION = 1, HEAD = 10, ITEM = 40 };

int ws_sha256(struct upp_str bytes, struct wl_blob_key *ret, struct upp_err *err)
{
    unsigned len = sizeof ret->b;
    if (EVP_Digest(bytes.p, bytes.n, ret->b, &len, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    return 0;
}

/* The quote that ends the string starting at p; NULL: none. */
static const char *string_end(const char *p, const char *end)
{
    for (const char *at = p; (at = memchr(at, '"', (size_t)(end - at))) != NULL; at++) {
        size_t escapes = 0;
        while (at - escapes > p && at[-1 - (ptrdiff_t)escapes] == '\\')
            escapes++;
        if (escapes % 2 == 0)
            return at;
    }
    return NULL;
}

/* The next string of `min` bytes or more at or after *at, which is advanced past it. */
static bool next_long(struct upp_str body, size_t min, size_t *at, struct upp_str *ret)
{
    if (!body.n)
        return false;
    const char *end = body.p + body.n, *p = body.p + *at;
    while (p < end && (p = memchr(p, '"', (size_t)(end - p))) != NULL) {
        const char *quote = string_end(p + 1, end);
        if (!quote)
            return false;
        *ret = wb_str(p + 1, (size_t)(quote - p - 1));
        p = quote + 1;
        if (ret->n >= min) {
            *at = (size_t)(p - body.p);
            return true;
        }
    }
    return false;
}

struct cutting {
    struct ws_cut_row *row;
    size_t max_keys;
    const char *body;
    size_t *keys; /* indexes of the cuts with a new key */
    struct wb_arena *a;
    size_t cap;
};

/* Grows in the arena: copies the array. */
static bool room(struct cutting *c)
{
    struct ws_cut_row *x = c->row;
    if (x->n < c->cap)
        return true;
    size_t cap = c->cap ? c->cap * 2 : 8;
    struct ws_cut *p = wb_new_n(c->a, struct ws_cut, cap);
    if (!p)
        return false;
    if (x->n)
        memcpy(p, x->p, x->n * sizeof *p);
    x->p = p;
    c->cap = cap;
    return true;
}

static int add_cut(struct cutting *c, struct upp_str bytes, bool tape, struct upp_err *err)
{
    struct ws_cut_row *x = c->row;
    struct ws_cut cut = {.at = tape ? 0 : (uint32_t)(bytes.p - c->body), .bytes = bytes};
    int r = ws_sha256(bytes, &cut.key, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < x->keys && !cut.repeated; i++)
        cut.repeated = memcmp(x->p[c->keys[i]].key.b, cut.key.b, sizeof cut.key.b) == 0;
    if (!cut.repeated && x->keys == c->max_keys)
        return 0;
    if (!room(c))
        return wb_arena_check(c->a, err);
    if (!cut.repeated)
        c->keys[x->keys++] = x->n;
    x->p[x->n++] = cut;
    x->flags |= tape ? WS_CUT_TAPE : 0;
    return 1;
}

static char *put_32(char *to, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        *to++ = (char)(n >> 8 * i);
    return to;
}

static uint32_t get_32(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Bytes of the body that are not cut. */
static size_t rest_of(const struct ws_cut_row *x)
{
    size_t n = x->row.body.n;
    for (size_t i = 0, in = x->n - !!(x->flags & WS_CUT_TAPE); i < in; i++)
        n -= x->p[i].bytes.n;
    return n;
}

static int write_list(struct ws_cut_row *x, struct wb_arena *a, struct upp_err *err)
{
    struct upp_str body = x->row.body;
    size_t in = x->n - !!(x->flags & WS_CUT_TAPE), total = HEAD + ITEM * x->n + rest_of(x), done = 0;
    char *start = wb_arena_alloc(a, total, 1), *to = start;
    if (!start)
        return wb_arena_check(a, err);
    *to++ = VERSION;
    *to++ = (char)x->flags;
    to = put_32(put_32(to, (uint32_t)x->n), x->whole);
    for (size_t i = 0; i < x->n; i++) {
        to = put_32(put_32(to, x->p[i].at), (uint32_t)x->p[i].bytes.n);
        memcpy(to, x->p[i].key.b, sizeof x->p[i].key.b);
        to += sizeof x->p[i].key.b;
    }
    for (size_t i = 0; i <= in && body.p; i++) {
        size_t upto = i < in ? x->p[i].at : body.n;
        memcpy(to, body.p + done, upto - done);
        to += upto - done;
        done = upto + (i < in ? x->p[i].bytes.n : 0);
    }
    x->row.body = wb_str(start, total);
    x->row.format |= WL_FORMAT_CUT;
    if (x->flags & WS_CUT_TAPE)
        x->row.tape = (struct upp_str){0};
    return 0;
}

int ws_cut(const struct wl_row *row, size_t min, size_t max_keys, struct wb_arena *a, struct ws_cut_row *ret,
           struct upp_err *err)
{
    *ret = (struct ws_cut_row){.row = *row, .whole = (uint32_t)row->body.n};
    struct cutting c = {.row = ret, .max_keys = max_keys, .body = row->body.p, .a = a};
    struct upp_str bytes;
    size_t at = 0;
    int r = 0;
    if (!max_keys)
        return 0;
    c.keys = wb_new_n(a, size_t, max_keys);
    if (!c.keys)
        return wb_arena_check(a, err);
    while (r >= 0 && next_long(row->body, min, &at, &bytes))
        r = add_cut(&c, bytes, false, err);
    if (r >= 0 && row->tape.n >= min)
        r = add_cut(&c, row->tape, true, err);
    if (r < 0 || !ret->n)
        return r < 0 ? r : 0;
    if (rest_of(ret) > WS_CUT_REST) {
        *ret = (struct ws_cut_row){.row = *row, .whole = (uint32_t)row->body.n};
        return 0;
    }
    ret->flags |= row->body.p ? 0 : WS_CUT_NO_BODY;
    return write_list(ret, a, err);
}

static int broken(struct upp_err *err, const struct wl_row *row, const char *why)
{
    return upp_fail(err, UPP_ESTORE, "node %016llx: the row at %u.%u is cut, and %s", (unsigned long long)row->node,
                    wl_pos_index(row->pos), (unsigned)(row->pos & (WL_SUBS - 1)), why);
}

static bool read_item(const char *p, uint64_t *done, uint32_t whole, bool tape, struct ws_cut *ret)
{
    *ret = (struct ws_cut){.at = get_32(p), .bytes = {NULL, get_32(p + 4)}};
    memcpy(ret->key.b, p + 8, sizeof ret->key.b);
    if (tape)
        return ret->at == 0 && ret->bytes.n <= WS_ROW_MAX;
    if (ret->at < *done || ret->at > whole || ret->bytes.n > whole - ret->at)
        return false;
    *done = (uint64_t)ret->at + ret->bytes.n;
    return true;
}

size_t ws_cut_size(const struct wl_row *row)
{
    struct upp_str b = row->body;
    if (!(row->format & WL_FORMAT_CUT) || b.n < HEAD)
        return b.n + row->tape.n;
    size_t n = get_32(b.p + 2), tape = 0;
    if (b.p[1] & WS_CUT_TAPE && n && n <= (b.n - HEAD) / ITEM)
        tape = get_32(b.p + HEAD + ITEM * (n - 1) + 4);
    return (size_t)get_32(b.p + 6) + tape + row->tape.n;
}

int ws_cut_read(const struct wl_row *row, struct wb_arena *a, struct ws_cut_row *ret, struct upp_err *err)
{
    struct upp_str body = row->body;
    *ret = (struct ws_cut_row){.row = *row};
    if (body.n < HEAD || body.p[0] != VERSION)
        return broken(err, row, "has no list");
    ret->flags = (unsigned char)body.p[1];
    ret->n = get_32(body.p + 2);
    ret->whole = get_32(body.p + 6);
    if (!ret->n || ret->n > (body.n - HEAD) / ITEM || ret->whole > WS_ROW_MAX)
        return broken(err, row, "its list is longer than the row");
    ret->p = wb_new_n(a, struct ws_cut, ret->n);
    if (!ret->p)
        return wb_arena_check(a, err);
    uint64_t done = 0, cut = 0;
    for (size_t i = 0; i < ret->n; i++) {
        bool tape = i + 1 == ret->n && ret->flags & WS_CUT_TAPE;
        if (!read_item(body.p + HEAD + ITEM * i, &done, ret->whole, tape, &ret->p[i]))
            return broken(err, row, "its list has no order");
        cut += tape ? 0 : ret->p[i].bytes.n;
    }
    ret->rest = wb_str(body.p + HEAD + ITEM * ret->n, body.n - HEAD - ITEM * ret->n);
    if (ret->rest.n + cut != ret->whole)
        return broken(err, row, "its parts do not add up");
    return 0;
}
