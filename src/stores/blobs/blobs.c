/* stores/blobs/blobs.c — cuts long values out of commits, stores them as blobs, and puts them back into rows that
 * are read.
 *
 * The pieces of new values are written first, in commits of their own that wait for no sync: commits become durable in
 * order, so no piece is missing if the row is there. The row's commit names the blobs it needs with WL_ADD_REF. If the
 * sweep removed an unreferenced blob in between, its pieces are written again.
 */
#include "stores/blobs/blobs.h"

#include "base/hooks.h"
#include "base/str.h"
#include "fiber/fiber.h"
#include "stores/blobs/cut.h"
#include "stores/check.h"

enum {
    TRIES = 8,           /* of a commit, against concurrent sweeps */
    BATCH = 16,          /* pieces per commit */
    ON_WORKER = 1 << 20, /* bytes per commit above which cutting and hashing would block the loop too long */
    LOOK_BACK = 64,      /* earlier values of a row that are compared to find a repeated one */
    PIECE_ARENA = 4 << 20,
    SWEEP_BATCH = 256,
};

/* ---- Writing ------------------------------------------------------------------------------------------- */

/* A commit with its rows cut: the changes, each row followed by its references. */
struct cutting {
    const struct wl_commit *from;
    struct wb_arena a;
    struct wl_change *changes;
    size_t *origin;      /* of each change: its index in `from`; or ... */
    struct ws_cut **cut; /* ... the value that it refers to */
    size_t n;
    size_t room; /* left for references */
};

static bool is_row(const struct wl_change *c)
{
    return c->kind == WL_ADD_ROW || c->kind == WL_SET_ROW;
}

static bool is_long(const struct wl_row *row)
{
    return row->body.n + row->tape.n >= WS_BLOB_MIN;
}

static int add_refs(struct cutting *x, struct ws_cut_row *row, struct upp_err *err)
{
    for (size_t i = 0; i < row->n; i++) {
        if (row->p[i].repeated)
            continue;
        struct wl_ref *ref = wb_new(&x->a, struct wl_ref);
        if (!ref)
            return wb_arena_check(&x->a, err);
        *ref = (struct wl_ref){.blob = row->p[i].key, .node = row->row.node, .pos = row->row.pos};
        x->changes[x->n] = (struct wl_change){.kind = WL_ADD_REF, .ref = ref};
        x->origin[x->n] = x->n ? x->origin[x->n - 1] : 0;
        x->cut[x->n] = &row->p[i];
        x->n++;
    }
    x->room -= row->keys;
    return 0;
}

static int cut_change(struct cutting *x, size_t i, struct upp_err *err)
{
    const struct wl_change *c = &x->from->changes[i];
    x->origin[x->n] = i;
    x->changes[x->n++] = *c;
    if (!is_row(c) || !is_long(c->row))
        return 0;
    struct ws_cut_row *row = wb_new(&x->a, struct ws_cut_row);
    if (!row)
        return wb_arena_check(&x->a, err);
    int r = ws_cut(c->row, WS_BLOB_MIN, x->room, &x->a, row, err);
    if (r < 0)
        return upp_wrap(err, r, "change %zu", i);
    x->changes[x->n - 1].row = &row->row;
    return add_refs(x, row, err);
}

/* May run on a worker. */
static int cut_all(void *arg, struct upp_err *err)
{
    struct cutting *x = arg;
    int r = 0;
    x->changes = wb_new_n(&x->a, struct wl_change, WL_CHANGES);
    x->origin = wb_new_n(&x->a, size_t, WL_CHANGES);
    x->cut = wb_new_n(&x->a, struct ws_cut *, WL_CHANGES);
    x->room = WL_CHANGES - x->from->n;
    if (!x->changes || !x->origin || !x->cut)
        return wb_arena_check(&x->a, err);
    for (size_t i = 0; r >= 0 && i < x->from->n; i++)
        r = cut_change(x, i, err);
    return r;
}

static WEFT_SUSPENDS int cut_somewhere(struct cutting *x, size_t bytes, struct upp_err *err)
{
    if (bytes < ON_WORKER || !weft_fiber_self())
        return cut_all(x, err);
    WEFT__SHIELD_FOREVER; /* the worker uses memory of the commit */
    int ret = 0;
    int r = weft_work(cut_all, x, NULL, &ret, err);
    return r < 0 ? r : ret;
}

static struct wl_piece piece_of(const struct ws_cut *c, uint32_t number)
{
    size_t at = (size_t)number * WL_PIECE, n = WB_MIN(c->bytes.n - at, (size_t)WL_PIECE);
    return (struct wl_piece){
        .key = c->key, .number = number, .last = at + n == c->bytes.n, .bytes = wb_str(c->bytes.p + at, n)};
}

static uint32_t pieces_of(size_t bytes)
{
    return bytes ? (uint32_t)((bytes - 1) / WL_PIECE + 1) : 1;
}

/* Is the whole blob stored? It is if its last piece is. */
static WEFT_SUSPENDS int exists(struct wl_store *inner, const struct wl_owner *o, const struct ws_cut *c,
                                struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(PIECE_ARENA);
    struct wl_piece last;
    int r = wl_get_piece(inner, o, &c->key, pieces_of(c->bytes.n) - 1, &a, &last, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

struct pieces {
    struct wl_store *inner;
    const struct wl_owner *o;
    struct wl_piece piece[BATCH];
    struct wl_change change[BATCH];
    size_t n;
};

static WEFT_SUSPENDS int flush(struct pieces *p, struct upp_err *err)
{
    struct wl_commit c = {.owner = *p->o, .changes = p->change, .n = p->n};
    if (!p->n)
        return 0;
    p->n = 0;
    int r = wl_store_commit(p->inner, &c, err);
    return r == -UPP_EBUSY ? 0 : r; /* the sweep removed a part: adding the reference will fail and report it */
}

static WEFT_SUSPENDS int put_value(struct pieces *p, const struct ws_cut *c, struct upp_err *err)
{
    int r = exists(p->inner, p->o, c, err);
    if (r != 0)
        return r < 0 ? r : 0;
    for (uint32_t i = 0, n = pieces_of(c->bytes.n); r >= 0 && i < n; i++) {
        p->piece[p->n] = piece_of(c, i);
        p->change[p->n] = (struct wl_change){.kind = WL_ADD_PIECE, .piece = &p->piece[p->n]};
        if (++p->n == BATCH)
            r = flush(p, err);
    }
    return r;
}

/* All values that are not stored yet. */
static WEFT_SUSPENDS int put_values(struct wl_store *inner, const struct cutting *x, struct upp_err *err)
{
    struct pieces p = {.inner = inner, .o = &x->from->owner};
    int r = 0;
    for (size_t i = 0; r >= 0 && i < x->n; i++)
        if (x->cut[i])
            r = put_value(&p, x->cut[i], err);
    return r < 0 ? r : flush(&p, err);
}

static WEFT_SUSPENDS int commit_cut(struct wl_store *inner, struct wl_commit *c, size_t bytes, struct upp_err *err)
{
    struct cutting x = {.from = c, .a = WB_ARENA(2 * bytes + (1u << 20))};
    int r = cut_somewhere(&x, bytes, err);
    if (r >= 0)
        r = put_values(inner, &x, err);
    for (int tries = 0; r >= 0; tries++) {
        struct wl_commit cut = {.owner = c->owner, .changes = x.changes, .n = x.n, .flags = c->flags};
        r = wl_store_commit(inner, &cut, err);
        if (r != -UPP_EBUSY || cut.conflict >= x.n)
            break;
        c->conflict = x.origin[cut.conflict];
        if (!x.cut[cut.conflict])
            break;
        r = tries < TRIES ? put_values(inner, &x, err)
                          : upp_fail(err, UPP_ESTORE, "a blob was swept away %d times while it was written", TRIES);
    }
    wb_arena_done(&x.a);
    return r;
}

static WEFT_SUSPENDS int commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    size_t bytes = 0;
    int r = 0;
    bool any = false;
    for (size_t i = 0; i < c->n; i++) {
        if (!is_row(&c->changes[i]))
            continue;
        any |= is_long(c->changes[i].row);
        if (c->changes[i].row->format & WL_FORMAT_CUT)
            return upp_fail(err, UPP_EINVALID, "change %zu: no format: %u", i, c->changes[i].row->format);
    }
    bytes = ws_commit_bytes(c);
    if (any) /* errors must refer to the changes as the caller passed them */
        r = ws_check_commit(c, err);
    if (r >= 0)
        r = any ? commit_cut(s->inner, c, bytes, err) : wl_store_commit(s->inner, c, err);
    if (r >= 0) {
        ws_count_commit(s, c, bytes);
        if (s->watch)
            s->watch->committed(s->watch->arg, c);
    }
    return r;
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

struct filling {
    struct wl_store *inner;
    const struct wl_owner *o;
    struct wb_arena *a;
    struct wb_arena piece;
};

static int bad_blob(struct upp_err *err, const struct wl_row *row, const char *why)
{
    return upp_fail(err, UPP_ESTORE, "node %016llx: the row at %u.%u refers to a blob that %s",
                    (unsigned long long)row->node, wl_pos_index(row->pos), (unsigned)(row->pos & (WL_SUBS - 1)), why);
}

static WEFT_SUSPENDS int read_blob(struct filling *f, const struct wl_row *row, const struct ws_cut *c, char *to,
                                   struct upp_err *err)
{
    size_t done = 0;
    for (uint32_t i = 0, n = pieces_of(c->bytes.n); i < n; i++) {
        struct wl_piece p;
        int r = wl_get_piece(f->inner, f->o, &c->key, i, &f->piece, &p, err);
        if (r < 0)
            return r == -UPP_ENOTFOUND ? bad_blob(err, row, "is not there") : r;
        if (p.bytes.n > c->bytes.n - done || p.last != (i + 1 == n))
            return bad_blob(err, row, "has another length");
        if (p.bytes.n)
            memcpy(to + done, p.bytes.p, p.bytes.n);
        done += p.bytes.n;
        wb_arena_reset(&f->piece);
    }
    return done == c->bytes.n ? 0 : bad_blob(err, row, "has another length");
}

/* The same value earlier in the row; NULL: none nearby. */
static const struct ws_cut *same_before(const struct ws_cut_row *x, size_t i)
{
    for (size_t k = i; k-- > 0 && i - k <= LOOK_BACK;)
        if (x->p[k].bytes.n == x->p[i].bytes.n && memcmp(x->p[k].key.b, x->p[i].key.b, sizeof x->p[i].key.b) == 0)
            return &x->p[k];
    return NULL;
}

static WEFT_SUSPENDS int fill_value(struct filling *f, struct ws_cut_row *x, size_t i, char *to, struct upp_err *err)
{
    const struct ws_cut *before = same_before(x, i);
    x->p[i].bytes.p = to;
    if (!before)
        return read_blob(f, &x->row, &x->p[i], to, err);
    memcpy(to, before->bytes.p, before->bytes.n);
    return 0;
}

static WEFT_SUSPENDS int fill(struct filling *f, struct wl_row *row, struct upp_err *err)
{
    struct ws_cut_row x;
    if (!(row->format & WL_FORMAT_CUT))
        return 0;
    int r = ws_cut_read(row, f->a, &x, err);
    if (r < 0)
        return r;
    const bool tape = x.flags & WS_CUT_TAPE;
    const size_t in = x.n - tape, of_tape = tape ? x.p[in].bytes.n : 0;
    char *body = wb_arena_alloc(f->a, (size_t)x.whole + of_tape + 2, 1), *to = body;
    if (!body)
        return wb_arena_check(f->a, err);
    size_t done = 0; /* bytes of the rest that are copied */
    for (size_t i = 0; r >= 0 && i <= in; i++) {
        size_t upto = i < in ? x.p[i].at : x.whole, some = upto - (size_t)(to - body);
        memcpy(to, x.rest.p + done, some);
        done += some;
        to += some;
        if (i < in) {
            r = fill_value(f, &x, i, to, err);
            to += x.p[i].bytes.n;
        }
    }
    *to++ = 0; /* arena texts are NUL-terminated */
    if (r >= 0 && tape)
        r = fill_value(f, &x, in, to, err);
    if (r < 0)
        return r;
    to[of_tape] = 0;
    row->format &= ~WL_FORMAT_CUT;
    row->body = x.flags & WS_CUT_NO_BODY ? (struct upp_str){0} : wb_str(body, x.whole);
    if (tape)
        row->tape = wb_str(to, of_tape);
    return 0;
}

/* max_bytes limits the size of the restored rows. */
static WEFT_SUSPENDS int rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range,
                              struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    struct filling f = {.inner = s->inner, .o = o, .a = a, .piece = WB_ARENA(PIECE_ARENA)};
    size_t max = ws_range(range).max_bytes, bytes = 0;
    int r = wl_store_rows(s->inner, o, range, a, ret, err);
    for (size_t i = 0; r >= 0 && i < ret->n; i++) {
        bytes += ws_cut_size(&ret->p[i]);
        if (bytes > max && i) {
            ret->n = i;
            ret->more = true;
            break;
        }
        r = fill(&f, &ret->p[i], err);
    }
    wb_arena_done(&f.piece);
    return r;
}

static WEFT_SUSPENDS int follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                struct wb_arena *a, struct wl_followed **ret, size_t *n, struct upp_err *err)
{
    struct filling f = {.inner = s->inner, .a = a, .piece = WB_ARENA(PIECE_ARENA)};
    size_t max = ws_range(&(struct wl_range){.max_bytes = max_bytes}).max_bytes, bytes = 0;
    int r = wl_store_follow(s->inner, after, max_rows, max_bytes, a, ret, n, err);
    for (size_t i = 0; r >= 0 && i < *n; i++) {
        struct wl_followed *x = &(*ret)[i];
        struct wl_owner owner = {.tenant = x->tenant};
        bytes += ws_cut_size(&x->row);
        if (bytes > max && i) {
            *n = i;
            break;
        }
        f.o = &owner;
        r = fill(&f, &x->row, err);
    }
    wb_arena_done(&f.piece);
    return r;
}

static WEFT_SUSPENDS void close_it(struct wl_store *s)
{
    s->inner->ops->close(s->inner);
    wb_free(s);
}

/* ---- Several reads in one call ------------------------------------------------------------------------- */

static const struct wl_store_ops ops;

struct together {
    wl_reading_fn *fn;
    void *arg;
};

/* Reads need only the inner store. */
static int in_front(struct wl_store *inner, void *arg, struct upp_err *err)
{
    const struct together *t = arg;
    struct wl_store s = {.ops = &ops, .inner = inner};
    return t->fn(&s, t->arg, err);
}

static WEFT_SUSPENDS int at_once(struct wl_store *s, wl_reading_fn *fn, void *arg, struct upp_err *err)
{
    struct together t = {fn, arg};
    return wl_store_at_once(s->inner, in_front, &t, err);
}

static const struct wl_store_ops ops = {
    .size = sizeof ops,
    .name = "blobs",
    .commit = commit,
    .rows = rows,
    .follow = follow,
    .at_once = at_once,
    .close = close_it,
};

WEFT_SUSPENDS int ws_blobs_open(struct wl_store *inner, struct wl_store **ret, struct upp_err *err)
{
    struct wl_store *s = wb_calloc(1, sizeof *s);
    if (!s) {
        inner->ops->close(inner);
        return upp_fail(err, UPP_ENOMEM, "no memory for a store");
    }
    s->ops = &ops;
    s->inner = inner;
    *ret = s;
    return 0;
}

/* ---- The sweep ----------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int drop(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *k, size_t *n,
                              struct upp_err *err)
{
    struct wl_change x = {.kind = WL_DROP_BLOB, .blob = k};
    struct wl_commit c = {.owner = *o, .changes = &x, .n = 1};
    int r = wl_store_commit(s, &c, err);
    *n += r >= 0;
    return r == -UPP_EBUSY || r == -UPP_ENOTFOUND ? 0 : r; /* it is referenced again, or gone */
}

static WEFT_SUSPENDS int sweep_tenant(struct wl_store *s, struct upp_str tenant, int64_t before_ms, size_t *ret,
                                      struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_owner owner = {.tenant = tenant};
    for (;;) {
        struct wl_blob_key *p;
        size_t n, before = *ret;
        wb_arena_reset(&a);
        int r = wl_list_unreferenced_blobs(s, &owner, false, before_ms, SWEEP_BATCH, &a, &p, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++)
            r = drop(s, &owner, &p[i], ret, err);
        if (r < 0 || n < SWEEP_BATCH || *ret == before)
            return r;
    }
}

WEFT_SUSPENDS int ws_blobs_sweep(struct wl_store *s, int64_t now_ms, size_t *ret, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    char name[WS_NAME_MAX];
    struct upp_str after = {0}, *p;
    size_t n = 1;
    int r = 0;
    *ret = 0;
    while (r >= 0 && n) {
        wb_arena_reset(&a);
        r = wl_list_tenants(s, after, 64, &a, &p, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++)
            r = sweep_tenant(s, p[i], now_ms - WS_LOOSE_MS, ret, err);
        if (r >= 0 && n) {
            memcpy(name, p[n - 1].p, p[n - 1].n);
            after = wb_str(name, p[n - 1].n);
        }
    }
    return r;
}
