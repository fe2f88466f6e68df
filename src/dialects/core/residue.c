/* dialects/core/residue.c — computes residue by comparison.
 *
 * Recurses once per level that differs; values are at most WD_DOC_DEPTH deep.
 */
#include "dialects/core/residue.h"

#include "base/err.h"
#include "json/value.h"

enum { MEMBERS = 64 }; /* of an object that is compared by member: a larger one that differs is stored whole */

/* ---- Values ---------------------------------------------------------------------------------------------- */

static bool is_container(yyjson_val *v)
{
    return unsafe_yyjson_is_ctn(v);
}

static bool has_text(yyjson_val *v) /* a string or a number */
{
    uint8_t type = unsafe_yyjson_get_type(v);
    return type == YYJSON_TYPE_STR || type == YYJSON_TYPE_RAW;
}

/* Equal token for token? yyjson stores the content of a container right after it, in order: no recursion. */
static bool same_tokens(yyjson_val *a, yyjson_val *b)
{
    size_t n = wj_size(a);
    if (wj_size(b) != n)
        return false;
    for (; n; n--, a++, b++) {
        uint8_t type = unsafe_yyjson_get_type(a);
        if (type != unsafe_yyjson_get_type(b) || unsafe_yyjson_get_len(a) != unsafe_yyjson_get_len(b) ||
            (type == YYJSON_TYPE_BOOL && unsafe_yyjson_get_subtype(a) != unsafe_yyjson_get_subtype(b)))
            return false;
        if (has_text(a) && a->uni.str != b->uni.str && memcmp(a->uni.str, b->uni.str, unsafe_yyjson_get_len(a)) != 0)
            return false;
    }
    return true;
}

uint64_t wd_residue_hash(yyjson_val *v)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t n = wj_size(v); n; n--, v++) {
        size_t len = unsafe_yyjson_get_len(v);
        h = (h ^ unsafe_yyjson_get_type(v) ^ (uint64_t)unsafe_yyjson_is_true(v) << 3 ^ len << 4) * 0x100000001b3;
        for (size_t i = 0; has_text(v) && i < len; i++)
            h = (h ^ (uint8_t)v->uni.str[i]) * 0x100000001b3;
    }
    h = (h ^ h >> 52) & 0xfffffffffffff;
    return h ? h : 1;
}

yyjson_val *wd_residue_member(yyjson_val *obj, struct upp_str name)
{
    yyjson_val *found = NULL, *key = unsafe_yyjson_get_first(obj);
    for (size_t n = unsafe_yyjson_get_len(obj); n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (wj_named(key, name))
            found = key + 1;
    return found;
}

/* ---- Making ---------------------------------------------------------------------------------------------- */

struct making {
    struct wj_writer w;
    const struct wd_elsewhere *elsewhere;
    void (*lost)(void *arg, yyjson_val *value);
    void *arg;
};

static bool is_elsewhere(const struct making *m, const yyjson_val *v)
{
    size_t i = (size_t)(v - m->elsewhere->root);
    return m->elsewhere->bits && (m->elsewhere->bits[i / 8] >> i % 8 & 1);
}

/* The most frequent node, so it is one byte. */
static void put_same(struct making *m)
{
    wj_write_raw(&m->w, "0", 1);
}

static void put_left_over(struct making *m, yyjson_val *was)
{
    wj_write_open(&m->w, '[');
    wj_write_str(&m->w, UPP_STR("l"));
    wj_write_value(&m->w, was);
    wj_write_close(&m->w, ']');
    if (m->lost)
        m->lost(m->arg, was);
}

/* A position of the writer, to go back to. */
struct mark {
    size_t n;
    bool comma;
};

static struct mark mark_of(const struct making *m)
{
    return (struct mark){m->w.out->n, m->w.comma};
}

static void rewind_to(struct making *m, struct mark at)
{
    m->w.out->n = WB_MIN(m->w.out->n, at.n);
    m->w.comma = at.comma;
}

static bool difference(struct making *m, yyjson_val *was, yyjson_val *fresh);

bool wd_residue_comes_again(yyjson_val *key, size_t behind)
{
    yyjson_val *next = key;
    while (behind--) {
        next = unsafe_yyjson_get_next(next + 1);
        if (wj_named(next, wj_text(key)))
            return true;
    }
    return false;
}

/* Looks up members, which are mostly in the same order as those of the other object. */
struct cursor {
    yyjson_val *obj, *key, *end;
};

static struct cursor cursor_of(yyjson_val *obj)
{
    return (struct cursor){obj, unsafe_yyjson_get_first(obj), unsafe_yyjson_get_next(obj)};
}

/* A member of that name (any one of duplicates); NULL: none. */
static yyjson_val *look_up(struct cursor *r, struct upp_str name)
{
    if (r->key == r->end || !wj_named(r->key, name)) {
        yyjson_val *found = wd_residue_member(r->obj, name);
        if (!found)
            return NULL;
        r->key = found - 1;
    }
    yyjson_val *value = r->key + 1;
    r->key = unsafe_yyjson_get_next(value);
    return value;
}

static bool is_first(yyjson_val *obj, yyjson_val *key)
{
    yyjson_val *other = unsafe_yyjson_get_first(obj);
    while (!wj_named(other, wj_text(key)))
        other = unsafe_yyjson_get_next(other + 1);
    return other == key;
}

/* Has the object duplicate names? Names that differ in length, first or last byte mostly get different bits; only on
 * collision are they compared. */
static bool has_duplicates(yyjson_val *obj)
{
    yyjson_val *key = unsafe_yyjson_get_first(obj);
    uint64_t seen = 0;
    for (size_t n = unsafe_yyjson_get_len(obj); n; n--, key = unsafe_yyjson_get_next(key + 1)) {
        struct upp_str s = wj_text(key);
        uint64_t bit = s.n ? 1ull << ((s.n * 21 + (uint8_t)s.p[0] + (uint8_t)s.p[s.n - 1] * 5u) & 63) : 1;
        if ((seen & bit) && !is_first(obj, key))
            return true;
        seen |= bit;
    }
    return false;
}

/* The members of fresh that `was` lacks, one bit each: there are at most MEMBERS. */
static uint64_t lacking(yyjson_val *was, yyjson_val *fresh)
{
    struct cursor in = cursor_of(was);
    uint64_t bits = 0;
    yyjson_val *key = unsafe_yyjson_get_first(fresh);
    for (size_t i = 0; i < unsafe_yyjson_get_len(fresh); i++, key = unsafe_yyjson_get_next(key + 1))
        bits |= (uint64_t)!look_up(&in, wj_text(key)) << i;
    return bits;
}

/* Writes these members with the hashes of their values. */
static void put_absent(struct making *m, yyjson_val *fresh, uint64_t bits)
{
    yyjson_val *key = unsafe_yyjson_get_first(fresh);
    wj_write_open(&m->w, '{');
    for (; bits; bits >>= 1, key = unsafe_yyjson_get_next(key + 1))
        if (bits & 1) {
            wj_write_name(&m->w, wj_text(key));
            wj_write_u64(&m->w, wd_residue_hash(key + 1));
        }
    wj_write_close(&m->w, '}');
}

/* True: something differs, and was written. */
static bool object_difference(struct making *m, yyjson_val *was, yyjson_val *fresh)
{
    struct mark begin = mark_of(m);
    struct cursor in = cursor_of(fresh);
    size_t n = unsafe_yyjson_get_len(was);
    uint64_t lacks = lacking(was, fresh);
    bool duplicates = has_duplicates(was), differs = lacks;
    yyjson_val *key = unsafe_yyjson_get_first(was), *next = in.key;
    if (lacks) {
        wj_write_open(&m->w, '[');
        wj_write_str(&m->w, UPP_STR("o"));
    }
    wj_write_open(&m->w, '{');
    for (size_t i = 0; i < n; i++, key = unsafe_yyjson_get_next(key + 1)) {
        bool again = duplicates && wd_residue_comes_again(key, n - 1 - i);
        yyjson_val *value = look_up(&in, wj_text(key));
        wj_write_name(&m->w, wj_text(key));
        differs |= again || value != next + 1; /* true if the order is not the dialect's */
        if (value && value == next + 1)
            next = unsafe_yyjson_get_next(next + 1);
        if (again || (!value && !is_elsewhere(m, key + 1)))
            put_left_over(m, key + 1);
        else if (!value)
            put_same(m);
        differs |= again || !value || difference(m, key + 1, value);
    }
    wj_write_close(&m->w, '}');
    if (lacks) {
        put_absent(m, fresh, lacks);
        wj_write_close(&m->w, ']');
    }
    if (!differs)
        rewind_to(m, begin);
    return differs;
}

/* Objects with different type members are never two forms of the same object. */
static bool same_kind(yyjson_val *a, yyjson_val *b)
{
    static const struct upp_str tags[] = {UPP_STR_INIT("type"),      UPP_STR_INIT("kind"),
                                          UPP_STR_INIT("part_kind"), UPP_STR_INIT("message_type"),
                                          UPP_STR_INIT("turn_type"), UPP_STR_INIT("role")};
    if (unsafe_yyjson_get_type(a) != unsafe_yyjson_get_type(b))
        return false;
    for (size_t i = 0; unsafe_yyjson_is_obj(a) && i < WB_LEN(tags); i++) {
        yyjson_val *x = wd_residue_member(a, tags[i]), *y = wd_residue_member(b, tags[i]);
        if (x && y && !same_tokens(x, y))
            return false;
    }
    return true;
}

/* Is one of the next n items of the same kind? Looks only MEMBERS items ahead. */
static bool comes_later(yyjson_val *item, size_t n, yyjson_val *kind)
{
    for (n = WB_MIN(n, (size_t)MEMBERS); n; n--, item = unsafe_yyjson_get_next(item))
        if (same_kind(item, kind))
            return true;
    return false;
}

/* An item that the dialect writes and that the document lacked. */
static void put_extra(struct making *m, yyjson_val *fresh)
{
    wj_write_open(&m->w, '[');
    wj_write_str(&m->w, UPP_STR("d"));
    wj_write_u64(&m->w, wd_residue_hash(fresh));
    wj_write_close(&m->w, ']');
}

/* True: the lists differ, and the node was written. False and *whole: the items cannot be matched one by one. */
static bool list_difference(struct making *m, yyjson_val *was, yyjson_val *fresh, bool *whole)
{
    struct mark begin = mark_of(m);
    bool differs = false;
    size_t rest = unsafe_yyjson_get_len(fresh), n = unsafe_yyjson_get_len(was), own = 0;
    yyjson_val *next = unsafe_yyjson_get_first(fresh), *item = unsafe_yyjson_get_first(was);
    for (size_t i = 0; i < n; i++, item = unsafe_yyjson_get_next(item))
        own += !is_elsewhere(m, item);
    if (!own && !rest)
        return false; /* all items have their own anchors */
    bool pairs = own == rest;
    bool all = own == n; /* otherwise the dialect's items can be anywhere among the anchored ones */
    wj_write_open(&m->w, '[');
    wj_write_str(&m->w, UPP_STR("a"));
    item = unsafe_yyjson_get_first(was);
    for (size_t i = 0; i < n; i++, item = unsafe_yyjson_get_next(item)) {
        for (; all && !pairs && rest && !comes_later(item, n - i, next); rest--, next = unsafe_yyjson_get_next(next)) {
            differs = true;
            put_extra(m, next);
        }
        if (is_elsewhere(m, item)) {
            put_same(m);
        } else if (rest && (pairs || same_kind(item, next))) {
            if (difference(m, item, next))
                differs = true;
            next = unsafe_yyjson_get_next(next);
            rest--;
        } else {
            differs = true;
            put_left_over(m, item);
        }
    }
    for (; all && n && rest; rest--, next = unsafe_yyjson_get_next(next)) {
        differs = true;
        put_extra(m, next);
    }
    wj_write_close(&m->w, ']');
    *whole = rest != 0;
    if (rest || !differs)
        rewind_to(m, begin);
    return differs && !rest;
}

/* Can it be compared by member? Not if there are very many, or if the dialect itself writes duplicates. */
static bool by_members(yyjson_val *was, yyjson_val *fresh)
{
    return unsafe_yyjson_get_len(fresh) <= MEMBERS && unsafe_yyjson_get_len(was) <= MEMBERS && !has_duplicates(fresh);
}

/* Writes the node of one value. False: they are equal, and 0 was written. */
static bool difference(struct making *m, yyjson_val *was, yyjson_val *fresh)
{
    uint8_t type = unsafe_yyjson_get_type(was);
    bool whole = false;
    if (!is_elsewhere(m, was) && !same_tokens(was, fresh)) {
        if (type != unsafe_yyjson_get_type(fresh) || !is_container(was) ||
            (type == YYJSON_TYPE_OBJ && !by_members(was, fresh)))
            whole = true;
        else if (type == YYJSON_TYPE_OBJ ? object_difference(m, was, fresh) : list_difference(m, was, fresh, &whole))
            return true;
        if (whole) {
            wj_write_open(&m->w, '[');
            wj_write_str(&m->w, UPP_STR("k"));
            wj_write_value(&m->w, was);
            wj_write_u64(&m->w, fresh ? wd_residue_hash(fresh) : 0);
            wj_write_close(&m->w, ']');
            if (m->lost && !unsafe_yyjson_is_null(was))
                m->lost(m->arg, was);
            return true;
        }
    }
    put_same(m);
    return false;
}

int wd_residue_make(yyjson_val *was, yyjson_val *fresh, const struct wd_elsewhere *elsewhere, struct wb_buf *out,
                    void (*lost)(void *arg, yyjson_val *value), void *arg, struct upp_err *err)
{
    struct making m = {.elsewhere = elsewhere, .lost = lost, .arg = arg};
    size_t n = out->n;
    wj_writer_init(&m.w, out, err);
    bool differs = difference(&m, was, fresh);
    int r = wj_writer_check(&m.w);
    if (r < 0)
        return r;
    if (!differs)
        out->n = n;
    return differs;
}
