/* json/encode.c — structs to JSON. */
#include "json/encode.h"

#include "json/pointer.h"
#include "json/value.h"

/* ---- Failures ------------------------------------------------------------------------------------- */

static void add_level(struct wj_pointer *t, const struct wj_level *at)
{
    if (at->up)
        add_level(t, at->up);
    if (!at->row)
        wj_pointer_index(t, at->index);
    else
        wj_pointer_name(t, at->row->name);
}

__attribute__((noinline, cold)) void wj_encode_place(struct wj_encoder *e)
{
    if (e->placed || !e->w.failed)
        return;
    e->placed = true;
    if (e->w.err && e->at) {
        struct wj_pointer t;
        wj_pointer_init(&t, e->w.err->where, sizeof e->w.err->where);
        add_level(&t, e->at);
        if (e->w.bad && e->value)
            wj_pointer_find(&t, e->value, e->w.bad);
    }
}

__attribute__((noinline, cold)) static void missing(struct wj_encoder *e, const struct wj_field *f)
{
    wj_writer_fail(&e->w, upp_fail(e->w.err, UPP_EINVALID, "member '%.*s' is missing", UPP_FMT(f->name)));
    if (e->w.err && e->at && e->at->up) { /* the pointer of the object, as when decoding */
        struct wj_pointer t;
        wj_pointer_init(&t, e->w.err->where, sizeof e->w.err->where);
        add_level(&t, e->at->up);
    }
    e->placed = true;
}

bool wj_encode_enter(struct wj_encoder *e)
{
    if (WB_UNLIKELY(e->depth == WJ_SHAPE_DEPTH)) { /* a circle, or a tree nobody could read back */
        wj_writer_fail(&e->w, upp_fail(e->w.err, UPP_ELIMIT, "nested deeper than %d levels", WJ_SHAPE_DEPTH));
        wj_encode_place(e);
        return false;
    }
    e->depth++;
    return true;
}

/* ---- Members -------------------------------------------------------------------------------------- */

/* One object while it is written. */
struct writing {
    struct wj_encoder     *e;
    const struct wj_shape *s;
    const struct wj_node  *node;
    uint64_t               seen, null;
    bool                   fresh; /* not read by this shape */
    struct wj_level        level;
};

static inline bool filled(const struct writing *w, const struct wj_field *f, unsigned i)
{
    if (f->kind->has == WJ_HAS_BIT)
        return ((w->seen & ~w->null) >> i & 1) || (w->fresh && (f->flags & F_REQUIRED));
    if (f->kind->has == WJ_HAS_CONST)
        return w->fresh || (w->seen >> i & 1);
    return wj_slot_filled(f, (const char *)w->node + f->off);
}

/* The name of a row, quotes and colon included, and the comma before it. It stands inside ,"name": (WJ_NAME_). */
static inline void put_name(struct wj_encoder *e, const struct wj_field *f)
{
    if (WB_UNLIKELY(e->w.match))
        wj_write_plain_name(&e->w, f->name.p, f->name.n);
    else if (WB_LIKELY(wj_room(&e->w, f->name.n + 4))) {
        struct wb_buf *b    = e->w.out;
        size_t         skip = !e->w.comma;
        wj_copy(b->p + b->n, f->name.p - 2 + skip, f->name.n + 4 - skip);
        b->n += f->name.n + 4 - skip;
        e->w.comma = false;
    }
}

/* v: the member as it was read, when its spelling may matter. */
static inline void put_row(struct writing *w, const struct wj_field *f, yyjson_val *v)
{
    const void *slot = (const char *)w->node + f->off;
    put_name(w->e, f);
    if (f->kind == &wj_kind_str) /* most members are: it saves a call */
        wj_write_str(&w->e->w, *(const struct upp_str *)slot);
    else if (v && f->kind->same(f, v, slot))
        wj_write_value(&w->e->w, v);
    else
        f->kind->put(w->e, f, slot);
}

/* A member without a value: null, or nothing, or a failure. `bits` are the rows that speak of it, f is one of them. */
static inline void put_empty(struct writing *w, const struct wj_field *f, uint64_t bits)
{
    if ((w->null & bits) && (f->flags & F_NULLABLE)) {
        put_name(w->e, f);
        wj_write_null(&w->e->w);
    } else if (WB_UNLIKELY(f->flags & F_REQUIRED) && (w->fresh || (w->seen & bits)))
        missing(w->e, f);
}

/* Writes the member that a group of rows [first, end) speaks of, where it has one: by row i of it, or, where that one
 * is empty, by another of the canonical name. v: the member as it was read, when its spelling may matter. */
static void put_member(struct writing *w, unsigned i, unsigned first, unsigned end, yyjson_val *v)
{
    const struct wj_field *f = &w->s->fields[i], *asked = f;
    if (!filled(w, f, i)) {
        for (v = NULL, i = first, f = &w->s->fields[i]; !filled(w, f, i); i++, f++)
            if (!(f->flags & F_OR)) {
                w->level.row = asked;
                put_empty(w, asked, wj_bits(first, end));
                return;
            }
    }
    w->level.row = f;
    put_row(w, f, v);
}

/* In the order of the document. Returns the rows that are done. */
static uint64_t put_as_read(struct writing *w)
{
    uint64_t       done = 0;
    size_t         n    = unsafe_yyjson_get_len(w->node->from);
    yyjson_val    *name = unsafe_yyjson_get_first(w->node->from);
    const uint8_t *rows = w->node->rows;
    for (size_t i = 0; i < n && !w->e->w.out->failed; i++, name = unsafe_yyjson_get_next(name + 1)) {
        if (rows[i] == WJ_EXTRA) {
            wj_put_member(&w->e->w, name);
            continue;
        }
        unsigned row = rows[i] & WJ_ROW, first = wj_group_first(w->s, row), end = wj_group_end(w->s, row);
        put_member(w, row, first, end, (rows[i] & WJ_ROW_SPELLED) ? name + 1 : NULL);
        done |= wj_bits(first, end);
        if (WB_UNLIKELY(w->e->w.failed))
            wj_encode_place(w->e);
    }
    return done;
}

void wj_encode_object(struct wj_encoder *e, const struct wj_shape *s, const struct wj_node *node)
{
    struct writing w    = {.e = e, .s = s, .node = node, .fresh = true, .level = {.up = e->at, .row = s->fields}};
    uint64_t       done = 0;
    if (!wj_encode_enter(e))
        return;
    e->at = &w.level;
    wj_write_open(&e->w, '{');
    if (node->shape == s) {
        w.seen  = node->seen;
        w.null  = node->null;
        w.fresh = !node->from;
        if (node->rows)
            done = put_as_read(&w);
    }
    const struct wj_field *f = s->fields;
    for (unsigned i = 0; i < s->n; i++, f++) {
        if ((done >> i & 1) || (f->flags & F_ALIAS))
            continue;
        w.level.row = f;
        if (WB_UNLIKELY(f->flags & F_OR)) {
            unsigned end = wj_group_end(s, i);
            put_member(&w, i, i, end, NULL);
            f += end - i - 1;
            i = end - 1;
        } else if (filled(&w, f, i))
            put_row(&w, f, NULL);
        else
            put_empty(&w, f, (uint64_t)1 << i);
        if (WB_UNLIKELY(e->w.failed)) {
            wj_encode_place(e);
            break;
        }
    }
    wj_write_close(&e->w, '}');
    e->at = w.level.up;
    e->depth--;
}

int wj_encode(const struct wj_shape *s, const struct wj_node *node, struct wb_buf *out, struct upp_err *err)
{
    struct wj_encoder e = {0};
    wj_writer_init(&e.w, out, err);
    wj_encode_object(&e, s, node);
    return wj_writer_check(&e.w);
}
