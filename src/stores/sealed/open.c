/* stores/sealed/open.c — reading: what comes out is opened where it is, in the caller's arena.
 *
 * A tenant that has no key has nothing: what is looked up by a keyed name is not found, and a text of it cannot be
 * there. What cannot be opened is an error that says which thing it was, never a text.
 */
#include "stores/check.h"
#include "stores/sealed/store.h"

#define INNER(s) (ws_sealed(s)->inner)

/* ---- Things ---------------------------------------------------------------------------------------- */

static int no_key(struct upp_err *err)
{
    return upp_fail(err, UPP_ESTORE, "its tenant has no key");
}

static int open_row(struct ws_seal *x, struct wl_row *row, struct upp_err *err)
{
    struct ws_place at = ws_row_place(row);
    struct upp_str  parts[2];
    int             r = row->tape.p ? upp_fail(err, UPP_ESTORE, "there is more than was sealed") : 0;
    if (r >= 0)
        r = x ? ws_seal_get(x, &at, row->body, parts, 2, err) : no_key(err);
    if (r < 0)
        return upp_wrap(err, r, "node %016llx, row %u.%u cannot be opened", (unsigned long long)row->node,
                        wl_pos_index(row->pos), (unsigned)(row->pos & (WL_SUBS - 1)));
    row->body = parts[0];
    row->tape = parts[1];
    return 0;
}

static int not_opened(struct upp_err *err, int r, const char *what, const struct wb_uuid *id)
{
    char text[WB_UUID_TEXT + 1];
    return upp_wrap(err, r, "%s %s cannot be opened", what, wb_uuid_text(*id, text).p);
}

static int open_thread(struct ws_seal *x, struct wl_thread *t, struct upp_err *err)
{
    struct ws_place at = ws_id_place(WS_AT_THREAD, &t->id);
    struct upp_str  parts[2];
    int             r = t->title.p ? upp_fail(err, UPP_ESTORE, "there is more than was sealed") : 0;
    if (r >= 0)
        r = x ? ws_seal_get(x, &at, t->metadata, parts, 2, err) : no_key(err);
    if (r < 0)
        return not_opened(err, r, "thread", &t->id);
    t->title    = parts[0];
    t->metadata = parts[1];
    return 0;
}

static int open_run(struct ws_seal *x, struct wm_run *run, struct upp_err *err)
{
    struct ws_place at = ws_id_place(WS_AT_RUN, &run->id), call = ws_id_place(WS_AT_CALL, &run->id);
    struct upp_str  parts[3];
    int             r = run->agent.n || run->error.p ? upp_fail(err, UPP_ESTORE, "there is more than was sealed") : 0;
    if (r >= 0)
        r = x ? ws_seal_get(x, &at, run->options, parts, 3, err) : no_key(err);
    if (r >= 0 && run->call.p)
        r = ws_seal_get(x, &call, run->call, &run->call, 1, err);
    if (r < 0)
        return not_opened(err, r, "run", &run->id);
    run->agent   = parts[0];
    run->options = parts[1];
    run->error   = parts[2];
    return 0;
}

static int open_node(struct ws_seal *x, struct wl_node *n, struct upp_err *err)
{
    struct ws_place at = ws_node_place(WS_AT_NODE, n->key), origin = ws_node_place(WS_AT_ORIGIN, n->key);
    struct upp_str  parts[2] = {{NULL, 0}};
    int             r        = n->name.p ? upp_fail(err, UPP_ESTORE, "there is more than was sealed") : 0;
    if (r >= 0 && !x && (n->metadata.p || n->origin.p))
        r = no_key(err);
    if (r >= 0 && n->metadata.p)
        r = ws_seal_get(x, &at, n->metadata, parts, 2, err);
    if (r >= 0 && n->origin.p)
        r = ws_seal_get(x, &origin, n->origin, &n->origin, 1, err);
    if (r < 0)
        return upp_wrap(err, r, "node %016llx cannot be opened", (unsigned long long)n->key);
    n->name     = parts[0];
    n->metadata = parts[1];
    return 0;
}

/* Opens n things of a tenant that stand in a row. */
static WEFT_SUSPENDS int open_all(struct wl_store *s, struct upp_str tenant, void *things, size_t n, size_t size,
                                  int (*open)(struct ws_seal *x, void *thing, struct upp_err *err), struct upp_err *err)
{
    struct ws_seal *x;
    if (!n)
        return 0;
    int r = ws_keys_take(ws_sealed(s), tenant, false, &x, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = open(x, (char *)things + i * size, err);
    ws_keys_give(ws_sealed(s), x);
    return r;
}

#define OPENER(name, type)                                                                                             \
    static int name##_any(struct ws_seal *x, void *thing, struct upp_err *err)                                         \
    {                                                                                                                  \
        return name(x, (type *)thing, err);                                                                            \
    }
OPENER(open_row, struct wl_row)
OPENER(open_thread, struct wl_thread)
OPENER(open_run, struct wm_run)
OPENER(open_node, struct wl_node)

#define OPEN_ALL(s, tenant, p, n, open, err) open_all((s), (tenant), (p), (n), sizeof *(p), open##_any, (err))

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* What sealing adds to a row, at most: so much more the inner store may give for each, and then as many rows as were
 * asked for are kept. */
enum { ROW_MORE = WS_SEAL_MORE + 2 * (4 + 1) };

WEFT_SUSPENDS int ws_open_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range,
                               struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    struct wl_range g     = ws_range(range);
    size_t          limit = g.max_bytes, bytes = 0, n = 0;
    struct wl_rows  rows;
    g.max_bytes += g.max_rows * ROW_MORE;
    int r = INNER(s)->ops->rows(INNER(s), o, &g, a, &rows, err);
    if (r >= 0)
        r = OPEN_ALL(s, o->tenant, rows.p, rows.n, open_row, err);
    if (r < 0)
        return r;
    for (; n < rows.n; n++) {
        size_t is = rows.p[n].body.n + rows.p[n].tape.n;
        if (n && is > limit - WB_MIN(bytes, limit))
            break;
        bytes += is;
    }
    *ret = (struct wl_rows){rows.p, n, rows.more || n < rows.n};
    return 0;
}

/* Those of tenants that were erased are left out. */
static WEFT_SUSPENDS int open_followed(struct wl_store *s, struct wl_followed *p, size_t *n, struct upp_err *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        struct wl_followed x = p[i];
        int                r = OPEN_ALL(s, x.tenant, &x.row, 1, open_row, err);
        if (r < 0 && r != -UPP_EREFUSED)
            return r;
        if (r >= 0)
            p[kept++] = x;
    }
    *n = kept;
    return 0;
}

WEFT_SUSPENDS int ws_open_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                 struct wb_arena *a, struct wl_followed **ret, size_t *n, struct upp_err *err)
{
    struct wl_followed *p;
    size_t              came = 1;
    *n                       = 0;
    while (came && !*n) { /* none at all is the end of the log: a page of rows that are left out is not */
        int r = INNER(s)->ops->follow(INNER(s), after, max_rows, max_bytes, a, &p, &came, err);
        if (r < 0)
            return r;
        after = came ? p[came - 1].number : after;
        *n    = came;
        r     = open_followed(s, p, n, err);
        if (r < 0)
            return r;
        *ret = p;
    }
    return 0;
}

WEFT_SUSPENDS int ws_open_learned(struct wl_store *s, uint64_t *upto, uint64_t *end, struct upp_err *err)
{
    return INNER(s)->ops->learned(INNER(s), upto, end, err);
}

/* ---- Nodes, threads, runs -------------------------------------------------------------------------- */

WEFT_SUSPENDS int ws_open_node(struct wl_store *s, const struct wl_owner *o, uint64_t key, struct wl_node *ret,
                               struct upp_err *err)
{
    return INNER(s)->ops->node(INNER(s), o, key, ret, err); /* without texts */
}

WEFT_SUSPENDS int ws_open_thread(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                                 struct wl_thread *ret, struct upp_err *err)
{
    struct wl_thread t;
    int              r = INNER(s)->ops->thread(INNER(s), o, id, a, &t, err);
    if (r >= 0)
        r = OPEN_ALL(s, o->tenant, &t, 1, open_thread, err);
    if (r >= 0)
        *ret = t;
    return r;
}

WEFT_SUSPENDS int ws_open_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                              struct wm_run *ret, struct upp_err *err)
{
    struct wm_run run;
    int           r = INNER(s)->ops->run(INNER(s), o, id, a, &run, err);
    if (r >= 0)
        r = OPEN_ALL(s, o->tenant, &run, 1, open_run, err);
    if (r >= 0)
        *ret = run;
    return r;
}

WEFT_SUSPENDS int ws_open_threads(struct wl_store *s, const struct wl_owner *o, struct wb_uuid after, size_t max,
                                  struct wb_arena *a, struct wl_thread **ret, size_t *n, struct upp_err *err)
{
    int r = INNER(s)->ops->threads(INNER(s), o, after, max, a, ret, n, err);
    return r < 0 ? r : OPEN_ALL(s, o->tenant, *ret, *n, open_thread, err);
}

WEFT_SUSPENDS int ws_open_runs(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread, bool live_only,
                               size_t max, struct wb_arena *a, struct wm_run **ret, size_t *n, struct upp_err *err)
{
    int r = INNER(s)->ops->runs(INNER(s), o, thread, live_only, max, a, ret, n, err);
    return r < 0 ? r : OPEN_ALL(s, o->tenant, *ret, *n, open_run, err);
}

/* Those of tenants that were erased are left out. */
static WEFT_SUSPENDS int open_live(struct wl_store *s, struct wm_run *runs, struct wl_owner *owners, size_t *n,
                                   struct upp_err *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        int r = OPEN_ALL(s, owners[i].tenant, &runs[i], 1, open_run, err);
        if (r < 0 && r != -UPP_EREFUSED)
            return r;
        if (r < 0)
            continue;
        runs[kept]     = runs[i];
        owners[kept++] = owners[i];
    }
    *n = kept;
    return 0;
}

/* Fewer than were asked for are the last ones, so what is left out is made up for. */
WEFT_SUSPENDS int ws_open_live(struct wl_store *s, struct wb_uuid after, size_t max, struct wb_arena *a,
                               struct wm_run **runs, struct wl_owner **owners, size_t *n, struct upp_err *err)
{
    max                     = WB_MIN(max, (size_t)WS_LIST_MAX);
    struct wm_run   *all    = wb_new_n(a, struct wm_run, max);
    struct wl_owner *all_of = wb_new_n(a, struct wl_owner, max);
    size_t           came   = max;
    int              r      = wb_arena_check(a, err);
    *n                      = 0;
    while (r >= 0 && *n < max && came) {
        struct wm_run   *p;
        struct wl_owner *of;
        size_t           wanted = max - *n;
        r                       = INNER(s)->ops->live(INNER(s), after, wanted, a, &p, &of, &came, err);
        if (r < 0 || !came)
            break;
        after         = p[came - 1].id;
        size_t kept   = came;
        bool   at_end = came < wanted;
        r             = open_live(s, p, of, &kept, err);
        if (r < 0)
            break;
        memcpy(all + *n, p, kept * sizeof *p);
        memcpy(all_of + *n, of, kept * sizeof *of);
        *n += kept;
        if (at_end)
            break;
    }
    *runs   = all;
    *owners = all_of;
    return r;
}

WEFT_SUSPENDS int ws_open_family_nodes(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                       struct wb_uuid after, size_t max, struct wb_arena *a, struct wl_node **ret,
                                       size_t *n, struct upp_err *err)
{
    int r = INNER(s)->ops->family_nodes(INNER(s), o, family, after, max, a, ret, n, err);
    return r < 0 ? r : OPEN_ALL(s, o->tenant, *ret, *n, open_node, err);
}

WEFT_SUSPENDS int ws_open_family_threads(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                         struct wb_uuid after, size_t max, struct wb_arena *a, struct wl_thread **ret,
                                         size_t *n, struct upp_err *err)
{
    int r = INNER(s)->ops->family_threads(INNER(s), o, family, after, max, a, ret, n, err);
    return r < 0 ? r : OPEN_ALL(s, o->tenant, *ret, *n, open_thread, err);
}

WEFT_SUSPENDS int ws_open_old_runs(struct wl_store *s, const struct wl_owner *o, uint64_t after, int64_t before_ms,
                                   size_t max, struct wb_arena *a, struct wm_run **ret, uint64_t **numbers, size_t *n,
                                   struct upp_err *err)
{
    int r = INNER(s)->ops->old_runs(INNER(s), o, after, before_ms, max, a, ret, numbers, n, err);
    return r < 0 ? r : OPEN_ALL(s, o->tenant, *ret, *n, open_run, err);
}

/* ---- Names ----------------------------------------------------------------------------------------- */

WEFT_SUSPENDS int ws_open_alias(struct wl_store *s, const struct wl_owner *o, uint8_t kind, struct upp_str text,
                                struct wb_uuid *ret, struct upp_err *err)
{
    unsigned char   sum[32];
    struct ws_seal *x;
    int             r = ws_keys_take(ws_sealed(s), o->tenant, false, &x, err);
    if (r >= 0 && !x)
        return upp_fail(err, UPP_ENOTFOUND, "there is no alias '%.*s'", UPP_FMT(text));
    if (r >= 0)
        r = ws_hide_alias(x, kind, text, sum, err);
    ws_keys_give(ws_sealed(s), x);
    if (r >= 0)
        r = INNER(s)->ops->alias(INNER(s), o, kind, wb_str((const char *)sum, sizeof sum), ret, err);
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ENOTFOUND, "there is no alias '%.*s'", UPP_FMT(text)) : r;
}

WEFT_SUSPENDS int ws_open_key(struct wl_store *s, const struct wl_owner *o, struct upp_str route, struct upp_str key,
                              struct wl_key *ret, struct upp_err *err)
{
    struct wl_key        k = {.route = route, .key = key}, found;
    struct ws_hidden_key h;
    struct ws_seal      *x;
    int                  r = ws_keys_take(ws_sealed(s), o->tenant, false, &x, err);
    if (r >= 0 && !x)
        return upp_fail(err, UPP_ENOTFOUND, "the idempotency key was not used");
    if (r >= 0)
        r = ws_hide_key(x, &k, &h, err);
    ws_keys_give(ws_sealed(s), x);
    if (r >= 0)
        r = INNER(s)->ops->key(INNER(s), o, wb_str((const char *)h.route, 32), wb_str((const char *)h.key, 32), &found,
                               err);
    if (r >= 0)
        r = ws_keys_take(ws_sealed(s), o->tenant, false, &x, err);
    if (r < 0)
        return r;
    k.object     = found.object;
    k.created_ms = found.created_ms;
    r            = x ? ws_hide_key(x, &k, &h, err) : no_key(err);
    ws_keys_give(ws_sealed(s), x);
    for (size_t i = 0; r >= 0 && i < sizeof k.body; i++)
        k.body[i] = found.body[i] ^ h.mask[i];
    if (r >= 0)
        *ret = k;
    return r;
}

/* ---- Values and tenants ---------------------------------------------------------------------------- */

static int open_value(struct ws_seal *x, struct wl_value *v, struct upp_err *err)
{
    struct ws_place at = ws_value_place(v->space, v->name);
    int             r  = x ? ws_seal_get(x, &at, v->bytes, &v->bytes, 1, err) : no_key(err);
    return r < 0 ? upp_wrap(err, r, "value '%.*s' of '%.*s' cannot be opened", UPP_FMT(v->name), UPP_FMT(v->space)) : 0;
}
OPENER(open_value, struct wl_value)

WEFT_SUSPENDS int ws_open_value(struct wl_store *s, const struct wl_owner *o, struct upp_str space, struct upp_str name,
                                struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct wl_value v = {.space = space, .name = name};
    int             r = INNER(s)->ops->value(INNER(s), o, space, name, a, &v.bytes, err);
    if (r >= 0)
        r = OPEN_ALL(s, o->tenant, &v, 1, open_value, err);
    if (r >= 0)
        *ret = v.bytes;
    return r;
}

WEFT_SUSPENDS int ws_open_values(struct wl_store *s, const struct wl_owner *o, struct upp_str space,
                                 struct upp_str after, size_t max, struct wb_arena *a, struct wl_value **ret, size_t *n,
                                 struct upp_err *err)
{
    int r = INNER(s)->ops->values(INNER(s), o, space, after, max, a, ret, n, err);
    return r < 0 ? r : OPEN_ALL(s, o->tenant, *ret, *n, open_value, err);
}

/* 1: to be listed. Not the one that is ours, and none that was erased. */
static WEFT_SUSPENDS int is_tenant(struct wl_store *s, struct upp_str name, struct upp_err *err)
{
    if (wb_str_eq(name, UPP_STR(WS_SEALED_TENANT)))
        return 0;
    int r = ws_keys_erased(ws_sealed(s), name, err);
    return r < 0 ? r : !r;
}

WEFT_SUSPENDS int ws_open_tenants(struct wl_store *s, struct upp_str after, size_t max, struct wb_arena *a,
                                  struct upp_str **ret, size_t *n, struct upp_err *err)
{
    max                  = WB_MIN(max, (size_t)WS_LIST_MAX);
    struct upp_str *all  = wb_new_n(a, struct upp_str, max);
    int             r    = wb_arena_check(a, err);
    size_t          came = max;
    *n                   = 0;
    while (r >= 0 && *n < max && came) {
        struct upp_str *p;
        r = INNER(s)->ops->tenants(INNER(s), after, max - *n, a, &p, &came, err);
        for (size_t i = 0; r >= 0 && i < came; i++) {
            after = p[i];
            r     = is_tenant(s, p[i], err);
            if (r == 1)
                all[(*n)++] = p[i];
        }
    }
    *ret = all;
    return r < 0 ? r : 0;
}

/* ---- Blobs ----------------------------------------------------------------------------------------- */

/* A piece that was sealed under another name than the blob has: somebody with the key must have said so. */
static WEFT_SUSPENDS int is_named(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *to,
                                  const struct wl_blob_key *from, struct wb_arena *a, struct upp_err *err)
{
    char           name[WS_NAMES_NAME];
    struct upp_str bytes;
    int            r = ws_open_value(s, o, UPP_STR(WS_SEALED_BLOBS), ws_names_name(to, from, name), a, &bytes, err);
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ESTORE, "it is another blob's") : r;
}

static WEFT_SUSPENDS int open_piece(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *stored,
                                    struct wb_arena *a, struct wl_piece *p, struct upp_err *err)
{
    struct wl_blob_key from;
    struct ws_seal    *x;
    if (p->bytes.n < sizeof from.b)
        return upp_fail(err, UPP_ESTORE, "it is too short");
    memcpy(from.b, p->bytes.p, sizeof from.b);
    int r = memcmp(from.b, stored->b, sizeof from.b) ? is_named(s, o, stored, &from, a, err) : 0;
    if (r >= 0)
        r = ws_keys_take(ws_sealed(s), o->tenant, false, &x, err);
    if (r < 0)
        return r;
    struct ws_place at = ws_piece_place(&from, p->number, p->last);
    r = x ? ws_seal_get(x, &at, wb_str_sub(p->bytes, sizeof from.b, SIZE_MAX), &p->bytes, 1, err) : no_key(err);
    ws_keys_give(ws_sealed(s), x);
    return r;
}

WEFT_SUSPENDS int ws_open_piece(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *key,
                                uint32_t number, struct wb_arena *a, struct wl_piece *ret, struct upp_err *err)
{
    struct wl_blob_key stored;
    struct wl_piece    p;
    struct ws_seal    *x;
    int                r = ws_keys_take(ws_sealed(s), o->tenant, false, &x, err);
    if (r >= 0 && !x)
        return ws_no_blob(err, UPP_ENOTFOUND);
    if (r >= 0)
        r = ws_seal_blob(x, key, &stored, err);
    ws_keys_give(ws_sealed(s), x);
    if (r >= 0)
        r = INNER(s)->ops->piece(INNER(s), o, &stored, number, a, &p, err);
    if (r < 0)
        return r;
    r = open_piece(s, o, &stored, a, &p, err);
    if (r < 0)
        return upp_wrap(err, r, "piece %u of a blob cannot be opened", number);
    p.key = *key;
    *ret  = p;
    return 0;
}

static int open_blob(struct ws_seal *x, struct wl_blob_key *key, struct upp_err *err)
{
    struct wl_blob_key stored = *key;
    return x ? ws_seal_unblob(x, &stored, key, err) : no_key(err);
}
OPENER(open_blob, struct wl_blob_key)

WEFT_SUSPENDS int ws_open_loose_blobs(struct wl_store *s, const struct wl_owner *o, int64_t before_ms, size_t max,
                                      struct wb_arena *a, struct wl_blob_key **ret, size_t *n, struct upp_err *err)
{
    int r = INNER(s)->ops->loose_blobs(INNER(s), o, before_ms, max, a, ret, n, err);
    return r < 0 ? r : OPEN_ALL(s, o->tenant, *ret, *n, open_blob, err);
}
