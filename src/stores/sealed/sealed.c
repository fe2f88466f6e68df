/* stores/sealed/sealed.c — commits: texts are sealed on their way in.
 *
 * A commit is copied with its texts sealed and passed on. Texts of one object are sealed together: body and tape of a
 * row are stored in its body, title and metadata of a thread in its metadata, and so on. Changes of our own come after
 * the caller's, so that the index of a conflict stays right.
 *
 * A blob may be renamed after its pieces were sealed. So a piece records under which name it was sealed, and a value
 * records that two names are one blob's: nobody can forge that, because values are sealed too.
 */
#include "stores/sealed/store.h"

#include <stddef.h>

#include "base/hooks.h"
#include "base/random.h"
#include "stores/check.h"

/* ---- Contexts -------------------------------------------------------------------------------------- */

static void context_add(struct ws_seal_context *at, const void *p, size_t n)
{
    memcpy(at->bytes + at->n, p, n);
    at->n += n;
}

static struct ws_seal_context context_of(const struct ws_kind *k, const void *thing, unsigned group)
{
    struct ws_seal_context at = {.kind = 0};
    if (k == &ws_rows) {
        const struct wl_row *row = thing;
        at.kind = WS_AT_ROW;
        context_add(&at, &row->node, sizeof row->node);
        context_add(&at, &row->pos, sizeof row->pos);
        context_add(&at, &row->format, sizeof row->format);
    } else if (k == &ws_nodes) {
        at.kind = group == 1 ? WS_AT_NODE : WS_AT_ORIGIN;
        context_add(&at, &((const struct wl_node *)thing)->key, sizeof(uint64_t));
    } else if (k == &ws_threads) {
        at.kind = WS_AT_THREAD;
        context_add(&at, &((const struct wl_thread *)thing)->id, sizeof(struct wb_uuid));
    } else if (k->columns == ws_runs.columns) { /* also in lists with more behind the run */
        at.kind = group == 1 ? WS_AT_RUN : WS_AT_CALL;
        context_add(&at, &((const struct wm_run *)thing)->id, sizeof(struct wb_uuid));
    } else {
        const struct wl_value *v = thing;
        at = (struct ws_seal_context){.kind = WS_AT_VALUE, .space = v->space, .name = v->name};
    }
    return at;
}

struct ws_sealed_texts ws_sealed_texts(const struct ws_kind *k, void *thing, unsigned group)
{
    struct ws_sealed_texts x = {.at = context_of(k, thing, group)};
    for (size_t i = 0; i < k->n; i++) {
        const struct ws_column *c = &k->columns[i];
        if (c->seal != group)
            continue;
        x.part[x.n++] = ws_text(c, thing);
        if (c->home) {
            x.home = ws_text(c, thing);
            x.optional = c->optional;
        }
    }
    return x;
}

struct ws_seal_context ws_piece_context(const struct wl_blob_key *sealed_as, uint32_t number, bool last)
{
    struct ws_seal_context at = {.kind = WS_AT_PIECE};
    context_add(&at, sealed_as->b, sizeof sealed_as->b);
    context_add(&at, &number, sizeof number);
    context_add(&at, &(unsigned char){last}, 1);
    return at;
}

/* ---- Names ----------------------------------------------------------------------------------------- */

int ws_hide_alias(struct ws_seal *x, uint8_t kind, struct upp_str text, unsigned char ret[32], struct upp_err *err)
{
    struct upp_str parts[] = {wb_str((const char *)&kind, 1), text};
    return ws_seal_name(x, WS_NAME_ALIAS, parts, 2, ret, err);
}

int ws_hide_key(struct ws_seal *x, const struct wl_key *k, struct ws_hidden_key *ret, struct upp_err *err)
{
    struct upp_str parts[] = {k->route, k->key, wb_str((const char *)&k->created_ms, sizeof k->created_ms)};
    int r = ws_seal_name(x, WS_NAME_ROUTE, parts, 1, ret->route, err);
    if (r >= 0)
        r = ws_seal_name(x, WS_NAME_KEY, parts, 2, ret->key, err);
    if (r >= 0)
        r = ws_seal_name(x, WS_NAME_BODY, parts, 3, ret->mask, err);
    return r;
}

/* ---- Changes --------------------------------------------------------------------------------------- */

struct sealing {
    struct ws_sealed *s;
    struct ws_seal *x;
    struct wb_arena a;
    const struct wl_owner *owner;
    struct wl_change *c;
    size_t n; /* including ours */
};

static struct upp_str bytes32(struct wb_arena *a, const unsigned char *p)
{
    return wb_arena_dup(a, wb_str((const char *)p, 32));
}

#define COPY(g, T, from)                                                                                               \
    __extension__({                                                                                                    \
        T *copy_ = wb_new(&(g)->a, T);                                                                                 \
        if (copy_)                                                                                                     \
            *copy_ = *(from);                                                                                          \
        copy_;                                                                                                         \
    })

static int seal_texts(struct sealing *g, struct ws_sealed_texts *t, struct upp_err *err)
{
    struct upp_str parts[WS_SEAL_PARTS];
    bool any = false;
    for (size_t i = 0; i < t->n; i++) {
        parts[i] = *t->part[i];
        *t->part[i] = (struct upp_str){NULL, 0};
        any = any || parts[i].p;
    }
    return t->optional && !any ? 0 : ws_seal_put(g->x, &t->at, UPP_STR(""), parts, t->n, &g->a, t->home, err);
}

/* A copy of the object with its texts sealed; *ret receives its address. */
static int seal_thing(struct sealing *g, const struct ws_kind *k, const void *thing, void *ret, struct upp_err *err)
{
    void *copy = wb_arena_alloc(&g->a, k->size, _Alignof(max_align_t));
    int r = copy ? 0 : wb_arena_check(&g->a, err);
    if (r < 0)
        return r;
    memcpy(copy, thing, k->size);
    memcpy(ret, &copy, sizeof copy);
    for (unsigned group = 1; r >= 0 && group <= k->groups; group++) {
        struct ws_sealed_texts t = ws_sealed_texts(k, copy, group);
        r = seal_texts(g, &t, err);
    }
    return r;
}

/* The call id never changes, so it is not sealed again. */
static int seal_run(struct sealing *g, struct wl_change *c, struct upp_err *err)
{
    struct wm_run run = *c->run;
    if (c->kind == WL_SET_RUN)
        run.call = (struct upp_str){NULL, 0};
    return seal_thing(g, &ws_runs, &run, &c->run, err);
}

static int seal_alias(struct sealing *g, struct wl_change *c, struct upp_err *err)
{
    unsigned char sum[32];
    struct wl_alias *alias = COPY(g, struct wl_alias, c->alias);
    int r = ws_hide_alias(g->x, c->alias->kind, c->alias->text, sum, err);
    if (r >= 0 && alias) {
        alias->text = bytes32(&g->a, sum);
        c->alias = alias;
    }
    return r < 0 ? r : wb_arena_check(&g->a, err);
}

static int seal_key(struct sealing *g, struct wl_change *c, struct upp_err *err)
{
    struct ws_hidden_key h;
    struct wl_key *key = COPY(g, struct wl_key, c->key);
    int r = ws_hide_key(g->x, c->key, &h, err);
    if (r >= 0 && key) {
        key->route = bytes32(&g->a, h.route);
        key->key = bytes32(&g->a, h.key);
        for (size_t i = 0; i < sizeof key->body; i++)
            key->body[i] ^= h.mask[i];
        c->key = key;
    }
    return r < 0 ? r : wb_arena_check(&g->a, err);
}

static int check_space(struct upp_str space, struct upp_err *err)
{
    return wb_str_eq(space, UPP_STR(WS_SEALED_BLOBS))
               ? upp_fail(err, UPP_EINVALID, "no space of values can be called '%s'", WS_SEALED_BLOBS)
               : 0;
}

static int hide_blob(struct sealing *g, const struct wl_blob_key *key, const struct wl_blob_key **ret,
                     struct upp_err *err)
{
    struct wl_blob_key *k = wb_new(&g->a, struct wl_blob_key);
    *ret = k;
    return k ? ws_seal_blob(g->x, key, k, err) : wb_arena_check(&g->a, err);
}

static int seal_piece(struct sealing *g, struct wl_change *c, struct upp_err *err)
{
    struct wl_piece *p = COPY(g, struct wl_piece, c->piece);
    int r = p ? ws_seal_blob(g->x, &c->piece->key, &p->key, err) : wb_arena_check(&g->a, err);
    if (r < 0)
        return r;
    struct ws_seal_context at = ws_piece_context(&p->key, p->number, p->last);
    struct upp_str part = {p->bytes.p ? p->bytes.p : "", p->bytes.n};
    c->piece = p;
    return ws_seal_put(g->x, &at, wb_str((const char *)p->key.b, sizeof p->key.b), &part, 1, &g->a, &p->bytes, err);
}

static int seal_ref(struct sealing *g, struct wl_change *c, struct upp_err *err)
{
    struct wl_ref *ref = COPY(g, struct wl_ref, c->ref);
    int r = ref ? ws_seal_blob(g->x, &c->ref->blob, &ref->blob, err) : wb_arena_check(&g->a, err);
    c->ref = ref;
    return r;
}

struct upp_str ws_names_name(const struct wl_blob_key *to, const struct wl_blob_key *from, char ret[WS_NAMES_NAME])
{
    memcpy(ret, to->b, sizeof to->b);
    memcpy(ret + sizeof to->b, from->b, sizeof from->b);
    return wb_str(ret, WS_NAMES_NAME);
}

/* Records that both names are one blob's. */
static int seal_name(struct sealing *g, struct wl_change *c, struct upp_err *err)
{
    struct wl_value *v = wb_new(&g->a, struct wl_value);
    char *name = wb_arena_alloc(&g->a, WS_NAMES_NAME, 1);
    int r = hide_blob(g, c->name.from, &c->name.from, err);
    if (r >= 0)
        r = hide_blob(g, c->name.to, &c->name.to, err);
    if (r < 0 || !v || !name)
        return r < 0 ? r : wb_arena_check(&g->a, err);
    *v = (struct wl_value){.space = UPP_STR(WS_SEALED_BLOBS), .name = ws_names_name(c->name.to, c->name.from, name)};
    v->bytes = UPP_STR("");
    g->c[g->n++] = (struct wl_change){.kind = WL_PUT_VALUE, .value = v};
    return seal_thing(g, &ws_values, v, &g->c[g->n - 1].value, err);
}

static int seal_change(struct sealing *g, struct wl_change *c, struct upp_err *err)
{
    int r;
    switch (c->kind) {
    case WL_ADD_ROW:
    case WL_SET_ROW:
        return seal_thing(g, &ws_rows, c->row, &c->row, err);
    case WL_ADD_NODE:
    case WL_SET_NODE:
        return seal_thing(g, &ws_nodes, c->node, &c->node, err);
    case WL_ADD_THREAD:
    case WL_SET_THREAD:
        return seal_thing(g, &ws_threads, c->thread, &c->thread, err);
    case WL_ADD_RUN:
    case WL_SET_RUN:
        return seal_run(g, c, err);
    case WL_ADD_ALIAS:
    case WL_DROP_ALIAS:
        return seal_alias(g, c, err);
    case WL_ADD_KEY:
        return seal_key(g, c, err);
    case WL_PUT_VALUE:
    case WL_DROP_VALUE:
        r = check_space(c->value->space, err);
        return r < 0 || c->kind == WL_DROP_VALUE ? r : seal_thing(g, &ws_values, c->value, &c->value, err);
    case WL_ADD_PIECE:
        return seal_piece(g, c, err);
    case WL_NAME_BLOB:
        return seal_name(g, c, err);
    case WL_ADD_REF:
    case WL_DROP_REF:
        return seal_ref(g, c, err);
    case WL_DROP_BLOB:
        return hide_blob(g, c->blob, &c->blob, err);
    case WL_HOLD_NODE:
    case WL_TOUCH_THREAD:
    case WL_DROP_THREAD:
    case WL_DROP_NODE:
    case WL_DROP_RUN:
    case WL_INDEX_COMPACT:
        return 0;
    case WL_INDEX_ADD:
        break;
    }
    return upp_fail(err, UPP_EREFUSED, "an encrypted store keeps no words");
}

/* Drops the name records of a blob with it. If some stay, they do no harm. */
static WEFT_SUSPENDS int drop_names(struct sealing *g, const struct wl_blob_key *blob, struct upp_err *err)
{
    struct wl_store *s = g->s->inner;
    struct upp_str space = UPP_STR(WS_SEALED_BLOBS), key = wb_str((const char *)blob->b, sizeof blob->b);
    struct wl_value *v;
    size_t n;
    int r = wl_list_values(s, g->owner, space, key, 8, &g->a, &v, &n, err);
    for (size_t i = 0; r >= 0 && i < n && wb_str_starts(v[i].name, key) && g->n < 2 * WL_CHANGES; i++)
        g->c[g->n++] = (struct wl_change){.kind = WL_DROP_VALUE, .value = &v[i]};
    return r;
}

static WEFT_SUSPENDS int seal_all(struct sealing *g, const struct wl_commit *c, struct upp_err *err)
{
    bool renames = false, drops = false;
    for (size_t i = 0; i < c->n; i++) {
        drops = drops || c->changes[i].kind == WL_DROP_BLOB;
        renames = renames || c->changes[i].kind == WL_NAME_BLOB;
    }
    g->n = c->n;
    g->c = wb_new_n(&g->a, struct wl_change, renames || drops ? 2 * WL_CHANGES : c->n);
    int r = g->c ? ws_keys_take(g->s, c->owner.tenant, true, &g->x, err) : wb_arena_check(&g->a, err);
    if (r < 0)
        return r;
    for (size_t i = 0; r >= 0 && i < c->n; i++) {
        g->c[i] = c->changes[i];
        r = seal_change(g, &g->c[i], err);
        if (r < 0)
            r = upp_wrap(err, r, "change %zu", i);
    }
    ws_keys_release(g->s, g->x);
    for (size_t i = 0; r >= 0 && drops && i < c->n; i++)
        if (g->c[i].kind == WL_DROP_BLOB)
            r = drop_names(g, g->c[i].blob, err);
    return r;
}

/* ---- The arena of a commit, reused by the next one ---------------------------------------------------- */

enum { FREE_ARENA_BYTES = 64 << 10 /* a larger one is freed */ };

static struct wb_arena arena_take(struct ws_sealed *s)
{
    ws_sealed_lock(s);
    struct wb_arena a = s->free_arena;
    s->free_arena = (struct wb_arena)WB_ARENA((size_t)4 << 30);
    ws_sealed_unlock(s);
    return a;
}

/* Counts a successful commit and recycles its arena. */
static void count(struct ws_sealed *s, const struct wl_commit *c, struct wb_arena *a)
{
    struct wl_store *inner = s->inner;
    bool reuse = a->used <= FREE_ARENA_BYTES;
    if (reuse)
        wb_arena_reset(a);
    ws_sealed_lock(s);
    if (reuse && !s->free_arena.used) {
        s->free_arena = *a;
        *a = (struct wb_arena)WB_ARENA(0);
    }
    ws_count_commit(&s->store, c, ws_commit_bytes(c));
    ws_take_total(&s->store.count.transactions, &inner->count.transactions);
    ws_take_total(&s->store.count.syncs, &inner->count.syncs);
    ws_sealed_unlock(s);
}

static WEFT_SUSPENDS int sealed_commit(struct wl_store *store, struct wl_commit *c, struct upp_err *err)
{
    struct ws_sealed *s = ws_sealed(store);
    int r = ws_check_commit(c, err);
    if (r < 0)
        return r;
    if (!c->n || c->changes[0].kind == WL_INDEX_COMPACT) /* belongs to no tenant */
        return wl_store_commit(s->inner, c, err);
    struct sealing g = {.s = s, .a = arena_take(s), .owner = &c->owner};

    r = seal_all(&g, c, err);
    if (r >= 0) {
        struct wl_commit x = {.owner = c->owner, .changes = g.c, .n = g.n, .flags = c->flags | WL_SEALED};
        x.conflict = c->conflict;
        r = wl_store_commit(s->inner, &x, err);
        c->conflict = x.conflict;
    }
    if (r >= 0)
        count(s, c, &g.a);
    wb_arena_done(&g.a);
    return r;
}

/* ---- Opening and closing --------------------------------------------------------------------------- */

static WEFT_SUSPENDS void sealed_close(struct wl_store *store)
{
    struct ws_sealed *s = ws_sealed(store);
    ws_keys_close(s);
    wb_arena_done(&s->free_arena);
    s->inner->ops->close(s->inner);
    (void)pthread_mutex_destroy(&s->lock);
    wb_free(s);
}

static const struct wl_store_ops ops = {
    .size = sizeof ops,
    .name = "sealed",
    .commit = sealed_commit,
    .rows = ws_open_rows,
    .get = ws_open_get,
    .list = ws_open_list,
    .follow = ws_open_follow,
    .search = ws_no_search,
    .close = sealed_close,
};

WEFT_SUSPENDS int ws_sealed_open(struct wl_store *inner, const struct ws_master *key, struct wl_store **ret,
                                 struct upp_err *err)
{
    struct ws_sealed *s = wb_calloc(1, sizeof *s);
    int r = s ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for a store");
    if (r >= 0 && pthread_mutex_init(&s->lock, NULL))
        r = upp_fail(err, UPP_ENOMEM, "no memory for a lock");
    if (r < 0) {
        inner->ops->close(inner);
        wb_free(s);
        return r;
    }
    s->store.ops = &ops;
    s->store.inner = inner;
    s->inner = inner;
    s->free_arena = (struct wb_arena)WB_ARENA((size_t)4 << 30);
    r = wb_random(&s->seed, sizeof s->seed, err);
    if (r >= 0)
        r = ws_keys_open(s, key, err);
    if (r < 0) {
        sealed_close(&s->store);
        return r;
    }
    *ret = &s->store;
    return 0;
}

struct wl_store *ws_sealed_find(struct wl_store *s)
{
    while (s && s->ops != &ops)
        s = s->inner;
    return s;
}
