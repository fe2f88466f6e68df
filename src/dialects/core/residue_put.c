/* dialects/core/residue_put.c — applies residue to the text that its dialect has just written.
 *
 * Splits only the objects and lists of the text that the residue mentions, and parses only what must be hashed.
 * Everything before the first change stays in place.
 *
 * Recurses once per level of the residue, which is at most twice WD_DOC_DEPTH deep.
 */
#include "base/err.h"
#include "dialects/core/document.h"
#include "dialects/core/residue.h"
#include "json/read.h"
#include "json/value.h"

struct applier {
    struct wj_writer w; /* to the temporary buffer */
    struct wb_arena *a;
    const struct wj_extents *within;
    size_t dropped;
    size_t stays; /* how many bytes of the text are unchanged */
};

static void put_node(struct applier *a, yyjson_val *node, struct upp_str fresh);

static yyjson_val *read_text(struct applier *a, struct upp_str json, unsigned depth)
{
    yyjson_val *v = NULL;
    int r = wj_read(a->a, json, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = depth), &v, a->w.err);
    if (r < 0)
        wj_writer_fail(&a->w, r);
    return v;
}

static void put_text(struct applier *a, struct upp_str json)
{
    wj_write_raw(&a->w, json.p, json.n);
}

/* A member or an item. */
struct element {
    struct upp_str name, value;
};

struct elements {
    struct element *p;
    size_t n, cap;
};

static bool add_element(struct applier *a, struct elements *to, struct element one)
{
    if (to->n == to->cap) {
        size_t cap = to->cap ? 2 * to->cap : 16;
        struct element *more = wb_new_n(a->a, struct element, cap);
        if (!more) {
            wj_writer_fail(&a->w, wb_arena_check(a->a, a->w.err));
            return false;
        }
        if (to->n)
            memcpy(more, to->p, to->n * sizeof *more);
        to->p = more;
        to->cap = cap;
    }
    to->p[to->n++] = one;
    return true;
}

/* Unescapes a name; most have no escapes. */
static struct upp_str name_of(struct applier *a, struct upp_str written)
{
    if (!written.n || !memchr(written.p, '\\', written.n))
        return written;
    yyjson_val *v = read_text(a, wb_str(written.p - 1, written.n + 2), 1);
    return v && yyjson_is_str(v) ? wj_text(v) : written;
}

static struct elements split(struct applier *a, struct upp_str text, char bracket)
{
    struct elements all = {0};
    struct element one;
    struct wj_scan s;
    wj_scan_init(&s, text, bracket, a->within);
    while (wj_scan_next(&s, &one.name, &one.value)) {
        one.name = name_of(a, one.name);
        if (!add_element(a, &all, one))
            break;
    }
    if (s.bad)
        wj_writer_fail(&a->w, upp_fail(a->w.err, UPP_EINVALID, "an object that was written is no JSON"));
    return all;
}

/* The last member of that name, which is the one that counts. */
static struct element *member(const struct elements *in, struct upp_str name)
{
    for (size_t i = in->n; i--;)
        if (wb_str_eq(in->p[i].name, name))
            return &in->p[i];
    return NULL;
}

/* The tag of a node that is a list: "l", "k", "o", "a" or "d"; 0: none. */
static char letter(yyjson_val *node)
{
    if (!yyjson_is_arr(node) || !unsafe_yyjson_get_len(node))
        return 0;
    yyjson_val *first = unsafe_yyjson_get_first(node);
    return yyjson_is_str(first) && unsafe_yyjson_get_len(first) == 1 ? first->uni.str[0] : 0;
}

static bool has_hash(struct applier *a, yyjson_val *hash, struct upp_str fresh)
{
    uint64_t n = 0;
    if (!hash || !unsafe_yyjson_is_raw(hash) || !wb_str_u64(wj_text(hash), &n) || !n != !fresh.p)
        return false;
    yyjson_val *v = fresh.p ? read_text(a, fresh, WD_DOC_DEPTH) : NULL;
    return !fresh.p || (v && n == wd_residue_hash(v));
}

/* Is anything written for the node if the dialect writes this? (NULL: nothing.) */
static bool stays(struct applier *a, yyjson_val *node, struct upp_str fresh)
{
    char c = letter(node);
    return fresh.p || (c == 'l' && yyjson_arr_get(node, 1)) ||
           (c == 'k' && has_hash(a, yyjson_arr_get(node, 2), fresh));
}

/* Members that are new since the document was read. */
static void put_new(struct applier *a, yyjson_val *nodes, yyjson_val *absent, const struct elements *in)
{
    for (size_t i = 0; i < in->n && !a->w.failed; i++) {
        struct upp_str name = in->p[i].name;
        if (wd_residue_member(nodes, name))
            continue;
        yyjson_val *hash = absent ? wd_residue_member(absent, name) : NULL;
        if (hash && has_hash(a, hash, in->p[i].value))
            continue;
        wj_write_name(&a->w, name);
        put_text(a, in->p[i].value);
    }
}

static void put_member(struct applier *a, yyjson_val *key, size_t behind, const struct elements *in)
{
    const struct element *one = member(in, wj_text(key));
    struct upp_str value = one ? one->value : (struct upp_str){0};
    if (one && letter(key + 1) == 'l' && wd_residue_comes_again(key, behind))
        value = (struct upp_str){0}; /* a duplicate that does not count */
    if (!stays(a, key + 1, value)) {
        a->dropped += !unsafe_yyjson_is_raw(key + 1);
        return;
    }
    wj_write_name(&a->w, wj_text(key));
    put_node(a, key + 1, value);
}

/* `top`: the whole text, whose first members may stay in place. */
static void put_object(struct applier *a, yyjson_val *nodes, yyjson_val *absent, struct upp_str fresh, bool top)
{
    struct elements in = split(a, fresh, '{');
    yyjson_val *key = unsafe_yyjson_get_first(nodes);
    size_t n = unsafe_yyjson_get_len(nodes), i = 0;
    for (; top && n && i < in.n && unsafe_yyjson_is_raw(key + 1) && member(&in, wj_text(key)) == &in.p[i]; i++, n--)
        key = unsafe_yyjson_get_next(key + 1);
    if (i) {
        a->stays = (size_t)(in.p[i - 1].value.p + in.p[i - 1].value.n - fresh.p);
        a->w.comma = true;
    } else
        wj_write_open(&a->w, '{');
    for (; n && !a->w.failed; n--, key = unsafe_yyjson_get_next(key + 1))
        put_member(a, key, n - 1, &in);
    put_new(a, nodes, absent, &in);
    wj_write_close(&a->w, '}');
}

static void put_list(struct applier *a, yyjson_val *list, struct upp_str fresh)
{
    struct elements in = split(a, fresh, '[');
    size_t n = unsafe_yyjson_get_len(list) - 1, at = 0, expected = 0;
    yyjson_val *nodes = unsafe_yyjson_get_next(unsafe_yyjson_get_first(list)), *node = nodes;
    for (size_t i = 0; i < n; i++, node = unsafe_yyjson_get_next(node))
        expected += letter(node) != 'l';
    bool same = expected == in.n; /* otherwise items cannot be matched to nodes */
    a->dropped += !same;
    wj_write_open(&a->w, '[');
    node = nodes;
    for (size_t i = 0; i < n && !a->w.failed; i++, node = unsafe_yyjson_get_next(node)) {
        struct upp_str none = {0};
        if (letter(node) == 'l') {
            if (stays(a, node, none))
                put_node(a, node, none);
            continue;
        }
        if (at == in.n)
            continue;
        struct upp_str next = in.p[at++].value;
        if (!same || (letter(node) == 'd' && !has_hash(a, yyjson_arr_get(node, 1), next)))
            put_text(a, next);
        else if (letter(node) != 'd')
            put_node(a, node, next);
    }
    while (at < in.n)
        put_text(a, in.p[at++].value);
    wj_write_close(&a->w, ']');
}

static bool begins(struct upp_str text, char bracket)
{
    return text.n && text.p[0] == bracket;
}

/* Is the node an object? Returns its members' nodes, and the members that it lacks. */
static bool is_object(yyjson_val *node, yyjson_val **nodes, yyjson_val **absent)
{
    bool lacks = letter(node) == 'o';
    *nodes = lacks ? yyjson_arr_get(node, 1) : node;
    *absent = lacks ? yyjson_arr_get(node, 2) : NULL;
    return yyjson_is_obj(*nodes) && (!lacks || yyjson_is_obj(*absent));
}

static void put_node(struct applier *a, yyjson_val *node, struct upp_str fresh)
{
    char c = letter(node);
    yyjson_val *value = c ? yyjson_arr_get(node, 1) : NULL, *nodes, *absent;
    if (c == 'l' && value && !fresh.p)
        wj_write_value(&a->w, value);
    else if (c == 'l' && value) { /* the dialect wrote nothing here when the document was read, and does now */
        a->dropped += !unsafe_yyjson_is_null(value);
        put_text(a, fresh);
    } else if (c == 'k' && value) {
        if (has_hash(a, yyjson_arr_get(node, 2), fresh))
            wj_write_value(&a->w, yyjson_arr_get(node, 1));
        else {
            put_text(a, fresh);
            a->dropped++;
        }
    } else if (begins(fresh, '{') && is_object(node, &nodes, &absent))
        put_object(a, nodes, absent, fresh, false);
    else if (c == 'a' && begins(fresh, '['))
        put_list(a, node, fresh);
    else {
        a->dropped += !unsafe_yyjson_is_raw(node);
        put_text(a, fresh);
    }
}

int wd_residue_put(const struct wd_residue_put *p, struct wb_buf *out, size_t from, size_t *dropped,
                   struct upp_err *err)
{
    struct upp_str fresh = wb_str_sub(wb_buf_str(out), from, SIZE_MAX);
    struct applier a = {.a = p->scratch, .within = p->within};
    yyjson_val *nodes, *absent;
    wb_buf_clear(p->temp);
    wj_writer_init(&a.w, p->temp, err);
    yyjson_val *node = read_text(&a, p->residue, 2 * WD_DOC_DEPTH);
    if (node && (letter(node) == 'l' || !fresh.n)) /* a whole object is never left over: not our residue */
        return upp_fail(err, UPP_EINVALID, "residue that is not about its object");
    if (node && begins(fresh, '{') && is_object(node, &nodes, &absent))
        put_object(&a, nodes, absent, fresh, true);
    else if (node)
        put_node(&a, node, fresh);
    int r = wj_writer_check(&a.w);
    if (r < 0)
        return r;
    out->n = from + a.stays;
    wb_buf_add(out, wb_buf_str(p->temp));
    *dropped += a.dropped;
    return wb_buf_check(out, err);
}
