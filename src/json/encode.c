/* json/encode.c — structs to JSON. */
#include "json/encode.h"

#include "json/decode.h"
#include "json/keys.h"
#include "json/pointer.h"

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

/* ---- Members -------------------------------------------------------------------------------------- */

bool wj_slot_filled(const struct wj_field *f, const void *slot)
{
    void *p[2];
    switch ((enum wj_has)f->kind->has) {
    case WJ_HAS_POINTER:
        memcpy(p, slot, sizeof p[0]);
        return p[0];
    case WJ_HAS_EITHER:
        memcpy(p, slot, sizeof p);
        return p[0] || p[1];
    default:
        return true;
    }
}

/* One object while it is written. */
struct writing {
    struct wj_encoder     *e;
    const struct wj_shape *s;
    const struct wj_node  *node;
    uint64_t               seen, null;
    bool                   fresh; /* not read by this shape */
};

static inline bool filled(const struct writing *w, unsigned i)
{
    const struct wj_field *f   = &w->s->fields[i];
    uint64_t               bit = (uint64_t)1 << i;
    switch ((enum wj_has)f->kind->has) {
    case WJ_HAS_BIT:
        return (w->seen & bit & ~w->null) || (w->fresh && (f->flags & F_REQUIRED));
    case WJ_HAS_CONST:
        return w->fresh || (w->seen & bit);
    default:
        return wj_slot_filled(f, (const char *)w->node + f->off);
    }
}

/* The name of a row, quotes and colon included, and the comma before it. It stands inside ,"name": (WJ_NAME_). */
static inline void put_name(struct wj_encoder *e, const struct wj_field *f)
{
    struct wb_buf *b = e->w.out;
    size_t         n = f->name.n + 4, skip = !e->w.comma;
    if (WB_LIKELY(b->cap - b->n >= n && !b->failed) || wb_buf_reserve(b, n)) {
        memcpy(b->p + b->n, f->name.p - 2 + skip, n - skip);
        b->n += n - skip;
        e->w.comma = false;
    }
}

/* v: the member as it was read, when its spelling may matter. */
static inline void put_row(struct writing *w, const struct wj_field *f, yyjson_val *v)
{
    const void *slot = (const char *)w->node + f->off;
    put_name(w->e, f);
    if (v && f->kind->same(f, v, slot))
        wj_write_value(&w->e->w, v);
    else
        f->kind->put(w->e, f, slot);
}

/* Writes the member that row i speaks of, where it has one: by row i itself, or by another row of the canonical name.
 * Returns the bits of all rows of the group. */
static uint64_t put_member(struct writing *w, struct wj_level *level, unsigned i, yyjson_val *v)
{
    const struct wj_field *f     = &w->s->fields[i];
    unsigned               first = wj_group_first(w->s, i);
    uint64_t               bits  = wj_bits(first, wj_group_end(w->s, i));
    unsigned               pick  = i;
    if (!filled(w, i))
        for (pick = first, v = NULL; !filled(w, pick); pick++)
            if (!(w->s->fields[pick].flags & F_OR)) {
                pick = WJ_ROWS;
                break;
            }
    level->row = f;
    if (pick < WJ_ROWS) {
        level->row = &w->s->fields[pick];
        put_row(w, level->row, v);
    } else if ((w->null & bits) && (f->flags & F_NULLABLE)) {
        put_name(w->e, f);
        wj_write_null(&w->e->w);
    } else if ((w->s->fields[first].flags & F_REQUIRED) && (w->fresh || (w->seen & bits)))
        missing(w->e, &w->s->fields[first]);
    return bits;
}

/* In the order of the document. Returns the rows that are done. */
static uint64_t put_as_read(struct writing *w, struct wj_level *level)
{
    uint64_t       done = 0;
    size_t         n    = unsafe_yyjson_get_len(w->node->from);
    yyjson_val    *name = unsafe_yyjson_get_first(w->node->from);
    const uint8_t *rows = w->node->rows;
    for (size_t i = 0; i < n && !w->e->w.out->failed; i++, name = unsafe_yyjson_get_next(name + 1)) {
        if (rows[i] == WJ_EXTRA) {
            wj_write_name(&w->e->w, wj_text(name));
            wj_write_value(&w->e->w, name + 1);
        } else {
            done |= put_member(w, level, rows[i] & WJ_ROW, (rows[i] & WJ_ROW_SPELLED) ? name + 1 : NULL);
            if (WB_UNLIKELY(w->e->w.failed))
                wj_encode_place(w->e);
        }
    }
    return done;
}

void wj_encode_object(struct wj_encoder *e, const struct wj_shape *s, const struct wj_node *node)
{
    struct wj_level level = {.up = e->at, .row = s->fields};
    struct writing  w     = {.e = e, .s = s, .node = node, .fresh = true};
    uint64_t        done  = 0;
    if (e->depth == WJ_SHAPE_DEPTH) { /* a circle, or a tree nobody could read back */
        wj_writer_fail(&e->w, upp_fail(e->w.err, UPP_ELIMIT, "shapes nested deeper than %d levels", WJ_SHAPE_DEPTH));
        wj_encode_place(e);
        return;
    }
    e->depth++;
    e->at = &level;
    wj_write_open(&e->w, '{');
    if (node->shape == s) {
        w.seen  = node->seen;
        w.null  = node->null;
        w.fresh = !node->from;
        if (node->rows)
            done = put_as_read(&w, &level);
    }
    for (unsigned i = 0; i < s->n; i++) {
        const struct wj_field *f = &s->fields[i];
        if (done >> i & 1)
            continue;
        if (WB_LIKELY(!(f->flags & (F_OR | F_ALIAS)) && filled(&w, i))) {
            level.row = f;
            put_row(&w, f, NULL);
        } else if (!(f->flags & F_ALIAS))
            done |= put_member(&w, &level, i, NULL);
        if (WB_UNLIKELY(e->w.failed)) {
            wj_encode_place(e);
            break;
        }
    }
    wj_write_close(&e->w, '}');
    e->at = level.up;
    e->depth--;
}

int wj_encode(const struct wj_shape *s, const struct wj_node *node, struct wb_buf *out, struct upp_err *err)
{
    struct wj_encoder e = {0};
    wj_writer_init(&e.w, out, err);
    wj_encode_object(&e, s, node);
    return wj_writer_check(&e.w);
}
