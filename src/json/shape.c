/* json/shape.c — objects made by hand, what is left over, and whether a table is sound. */
#include "json/shape.h"

void *wj_new(struct wb_arena *a, const struct wj_shape *s)
{
    struct wj_node *node = wb_arena_zero(a, s->size, _Alignof(max_align_t));
    if (node)
        node->shape = s;
    return node;
}

/* The rows at an offset are one group, but for members without a slot. The first of them, or the number of rows. */
static unsigned row_at(const struct wj_node *node, size_t off)
{
    const struct wj_shape *s = node->shape;
    unsigned               i = 0;
    while (s && i < s->n && (s->fields[i].off != off || s->fields[i].kind->has == WJ_HAS_CONST))
        i++;
    return i;
}

void wj_mark(struct wj_node *node, size_t off, bool there)
{
    unsigned i = row_at(node, off);
    if (!node->shape || i == node->shape->n)
        return;
    uint64_t bits = 0, bit = (uint64_t)1 << i;
    for (unsigned k = wj_group_first(node->shape, i), end = wj_group_end(node->shape, i); k < end; k++)
        if (node->shape->fields[k].off == off)
            bits |= (uint64_t)1 << k;
    node->null &= ~bits;
    if (there)
        node->seen |= node->seen & bits ? 0 : bit; /* read under an alias: stays so */
    else
        node->seen &= ~bits;
}

bool wj_marked(const struct wj_node *node, size_t off)
{
    unsigned i = row_at(node, off);
    if (!node->shape || i == node->shape->n)
        return false;
    for (unsigned k = wj_group_first(node->shape, i), end = wj_group_end(node->shape, i); k < end; k++)
        if (node->shape->fields[k].off == off && (node->seen & ~node->null) >> k & 1)
            return true;
    return false;
}

bool wj_was_null(const struct wj_node *node, size_t off)
{
    unsigned i = row_at(node, off);
    if (!node->shape || i == node->shape->n)
        return false;
    return node->null & wj_bits(wj_group_first(node->shape, i), wj_group_end(node->shape, i));
}

yyjson_val *wj_extra(const struct wj_node *node, struct wj_extras *at)
{
    if (!node->from || !node->rows)
        return NULL;
    size_t      n    = unsafe_yyjson_get_len(node->from);
    yyjson_val *name = at->i ? at->next : unsafe_yyjson_get_first(node->from), *found = NULL;
    for (; at->i < n && !found; at->i++) {
        if (node->rows[at->i] == WJ_EXTRA)
            found = name;
        name = unsafe_yyjson_get_next(name + 1);
    }
    at->next = name;
    return found;
}

/* Would this text need an escape? Rows are written by one copy. */
static bool plain(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || (unsigned char)s.p[i] >= 0x7f || s.p[i] == '"' || s.p[i] == '\\')
            return false;
    return true;
}

static bool can_be_empty(const struct wj_field *alts)
{
    for (;; alts++) {
        if (alts->kind->has != WJ_HAS_POINTER && alts->kind->has != WJ_HAS_EITHER)
            return false;
        if (!(alts->flags & F_OR))
            return true;
    }
}

const char *wj_shape_wrong(const struct wj_shape *s)
{
    if (s->n == 0 || s->n > WJ_ROWS)
        return "a shape has 1 to 64 rows";
    for (unsigned i = 0; i < s->n; i++) {
        const struct wj_field *f = &s->fields[i];
        if (!plain(f->name))
            return "a name needs an escape";
        if (f->kind->has != WJ_HAS_CONST && (f->off < sizeof(struct wj_node) || f->off + f->kind->size > s->size))
            return "a row is of another struct";
        if ((f->flags & F_OR) && (i + 1 == s->n || !wb_str_eq(f->name, f[1].name)))
            return "F_OR without a next row of the same name";
        if ((f->flags & (F_OR | F_ALIAS)) == (F_OR | F_ALIAS) && !(f[1].flags & F_ALIAS))
            return "F_OR from an alias to what is none";
        if (i == 0 && (f->flags & F_ALIAS))
            return "F_ALIAS without a row before it";
        if ((f->flags & F_NULL_ITEMS) && f->kind != &wj_kind_arr)
            return "F_NULL_ITEMS on what is no array";
        if ((f->flags & F_NULL_ITEMS) && !can_be_empty(((const struct wj_item *)f->arg)->alts))
            return "F_NULL_ITEMS on items that cannot be empty";
        if ((f->flags & F_OPEN) && f->kind != &wj_kind_enum)
            return "F_OPEN on what is no enum";
        for (unsigned k = 0; k < i; k++)
            if (wb_str_eq(f->name, s->fields[k].name) && !(s->fields[i - 1].flags & F_OR))
                return "two rows of one name without F_OR";
    }
    return NULL;
}
