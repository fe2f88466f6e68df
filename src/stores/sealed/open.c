/* stores/sealed/open.c — reading: texts are decrypted in place, in the caller's arena.
 *
 * A tenant without a key has no data: lookups by a keyed name find nothing, and it cannot have texts. A text that
 * cannot be decrypted is an error that names the object, never a text.
 */
#include "stores/check.h"
#include "stores/sealed/store.h"

#define INNER(s) (ws_sealed(s)->inner)

/* ---- Objects --------------------------------------------------------------------------------------- */

static int no_key(struct upp_err *err)
{
    return upp_fail(err, UPP_ESTORE, "its tenant has no key");
}

static int not_opened(struct upp_err *err, int r, const struct ws_kind *k, const void *thing)
{
    char text[WB_UUID_TEXT + 1];
    if (k == &ws_rows) {
        const struct wl_row *row = thing;
        return upp_wrap(err, r, "node %016llx, row %u.%u cannot be opened", (unsigned long long)row->node,
                        wl_pos_index(row->pos), (unsigned)(row->pos & (WL_SUBS - 1)));
    }
    if (k == &ws_nodes)
        return upp_wrap(err, r, "node %016llx cannot be opened",
                        (unsigned long long)((const struct wl_node *)thing)->key);
    if (k == &ws_values) {
        const struct wl_value *v = thing;
        return upp_wrap(err, r, "value '%.*s' of '%.*s' cannot be opened", UPP_FMT(v->name), UPP_FMT(v->space));
    }
    return k == &ws_threads
               ? upp_wrap(err, r, "thread %s cannot be opened",
                          wb_uuid_text(((const struct wl_thread *)thing)->id, text).p)
               : upp_wrap(err, r, "run %s cannot be opened", wb_uuid_text(((const struct wm_run *)thing)->id, text).p);
}

static int open_texts(struct ws_seal *x, const struct ws_sealed_texts *t, struct upp_err *err)
{
    struct upp_str parts[WS_SEAL_PARTS];
    for (size_t i = 0; i < t->n; i++)
        if (t->part[i]->p && t->part[i] != t->home)
            return upp_fail(err, UPP_ESTORE, "there is more than was sealed");
    if (t->optional && !t->home->p)
        return 0;
    int r = x ? ws_seal_get(x, &t->at, *t->home, parts, t->n, err) : no_key(err);
    for (size_t i = 0; r >= 0 && i < t->n; i++)
        *t->part[i] = parts[i];
    return r;
}

static int open_thing(struct ws_seal *x, const struct ws_kind *k, void *thing, struct upp_err *err)
{
    int r = 0;
    for (unsigned group = 1; r >= 0 && group <= k->groups; group++) {
        struct ws_sealed_texts t = ws_sealed_texts(k, thing, group);
        r = open_texts(x, &t, err);
    }
    return r < 0 ? not_opened(err, r, k, thing) : 0;
}

/* Opens an array of n objects of a tenant. */
static WEFT_SUSPENDS int open_all(struct wl_store *s, struct upp_str tenant, const struct ws_kind *k, void *things,
                                  size_t n, struct upp_err *err)
{
    struct ws_seal *x;
    if (!n)
        return 0;
    int r = ws_keys_take(ws_sealed(s), tenant, false, &x, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = open_thing(x, k, (char *)things + i * k->size, err);
    ws_keys_release(ws_sealed(s), x);
    return r;
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* What sealing adds to a row, at most: the inner store may return this much more for each row, and then the rows beyond
 * the requested limit are dropped. */
enum { ROW_MORE = WS_SEAL_MORE + 2 * (4 + 1) };

WEFT_SUSPENDS int ws_open_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range,
                               struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    struct wl_range g = ws_range(range);
    size_t limit = g.max_bytes, bytes = 0, n = 0;
    struct wl_rows rows;
    g.max_bytes += g.max_rows * ROW_MORE;
    int r = wl_store_rows(INNER(s), o, &g, a, &rows, err);
    if (r >= 0)
        r = open_all(s, o->tenant, &ws_rows, rows.p, rows.n, err);
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

/* Rows of erased tenants are left out. */
static WEFT_SUSPENDS int open_followed(struct wl_store *s, struct wl_followed *p, size_t *n, struct upp_err *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        struct wl_followed x = p[i];
        int r = open_all(s, x.tenant, &ws_rows, &x.row, 1, err);
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
    size_t came = 1;
    *n = 0;
    while (came && !*n) { /* an empty page means the end of the log: skip pages of which all rows are left out */
        int r = wl_store_follow(INNER(s), after, max_rows, max_bytes, a, &p, &came, err);
        if (r < 0)
            return r;
        after = came ? p[came - 1].number : after;
        *n = came;
        r = open_followed(s, p, n, err);
        if (r < 0)
            return r;
        *ret = p;
    }
    return 0;
}

/* ---- Runs of all tenants, and tenants -------------------------------------------------------------- */

/* Runs of erased tenants are left out. */
static WEFT_SUSPENDS int open_live(struct wl_store *s, struct wl_list *l, struct upp_err *err)
{
    struct wl_live_run *runs = l->p;
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++) {
        int r = open_all(s, runs[i].owner.tenant, &ws_runs, &runs[i].run, 1, err);
        if (r < 0 && r != -UPP_EREFUSED)
            return r;
        if (r >= 0)
            runs[kept++] = runs[i];
    }
    l->n = kept;
    return 0;
}

/* A short list means that it is the last one: so list further to replace what was left out. */
static WEFT_SUSPENDS int list_live(struct wl_store *s, struct wl_ask k, struct wb_arena *a, struct wl_list *ret,
                                   struct upp_err *err)
{
    const size_t max = WB_MIN(k.max, (size_t)WS_LIST_MAX);
    struct wl_live_run *runs = wb_new_n(a, struct wl_live_run, max);
    *ret = (struct wl_list){.p = runs};
    int r = wb_arena_check(a, err);
    while (r >= 0 && ret->n < max) {
        struct wl_list l;
        k.max = max - ret->n;
        r = wl_store_list(INNER(s), &k, a, &l, err);
        if (r < 0 || !l.n)
            break;
        k.id = ((struct wl_live_run *)l.p)[l.n - 1].run.id;
        bool at_end = l.n < k.max;
        r = open_live(s, &l, err);
        if (r < 0)
            break;
        memcpy(runs + ret->n, l.p, l.n * sizeof *runs);
        ret->n += l.n;
        if (at_end)
            break;
    }
    return r;
}

/* 1: list it. Not the internal tenant, and none that was erased. */
static WEFT_SUSPENDS int is_tenant(struct wl_store *s, struct upp_str name, struct upp_err *err)
{
    if (wb_str_eq(name, UPP_STR(WS_SEALED_TENANT)))
        return 0;
    int r = ws_keys_erased(ws_sealed(s), name, err);
    return r < 0 ? r : !r;
}

static WEFT_SUSPENDS int list_tenants(struct wl_store *s, struct wl_ask k, struct wb_arena *a, struct wl_list *ret,
                                      struct upp_err *err)
{
    const size_t max = WB_MIN(k.max, (size_t)WS_LIST_MAX);
    struct upp_str *all = wb_new_n(a, struct upp_str, max);
    size_t came = max;
    int r = wb_arena_check(a, err);
    *ret = (struct wl_list){.p = all};
    while (r >= 0 && ret->n < max && came) {
        struct upp_str *p;
        r = wl_list_tenants(INNER(s), k.name, max - ret->n, a, &p, &came, err);
        for (size_t i = 0; r >= 0 && i < came; i++) {
            k.name = p[i];
            r = is_tenant(s, p[i], err);
            if (r == 1)
                all[ret->n++] = p[i];
        }
    }
    return r < 0 ? r : 0;
}

/* ---- Names ----------------------------------------------------------------------------------------- */

static int no_alias(struct upp_err *err, struct upp_str text)
{
    return upp_fail(err, UPP_ENOTFOUND, "there is no alias '%.*s'", UPP_FMT(text));
}

static WEFT_SUSPENDS int get_alias(struct wl_store *s, struct wl_ask k, struct wl_alias *ret, struct upp_err *err)
{
    unsigned char sum[32];
    struct upp_str text = k.name;
    struct ws_seal *x;
    int r = ws_keys_take(ws_sealed(s), k.owner->tenant, false, &x, err);
    if (r >= 0 && !x)
        return no_alias(err, text);
    if (r >= 0)
        r = ws_hide_alias(x, (uint8_t)k.number, text, sum, err);
    ws_keys_release(ws_sealed(s), x);
    k.name = wb_str((const char *)sum, sizeof sum);
    if (r >= 0)
        r = wl_store_get(INNER(s), &k, NULL, ret, err);
    return r == -UPP_ENOTFOUND ? no_alias(err, text) : r;
}

static WEFT_SUSPENDS int get_key(struct wl_store *s, const struct wl_ask *ask, struct wl_key *ret, struct upp_err *err)
{
    const struct wl_owner *o = ask->owner;
    struct wl_key k = {.route = ask->space, .key = ask->name}, found;
    struct ws_hidden_key h;
    struct ws_seal *x;
    int r = ws_keys_take(ws_sealed(s), o->tenant, false, &x, err);
    if (r >= 0 && !x)
        return ws_not_found(err, ask);
    if (r >= 0)
        r = ws_hide_key(x, &k, &h, err);
    ws_keys_release(ws_sealed(s), x);
    if (r >= 0)
        r = wl_get_key(INNER(s), o, wb_str((const char *)h.route, 32), wb_str((const char *)h.key, 32), &found, err);
    if (r >= 0)
        r = ws_keys_take(ws_sealed(s), o->tenant, false, &x, err);
    if (r < 0)
        return r;
    k.object = found.object;
    k.created_ms = found.created_ms;
    r = x ? ws_hide_key(x, &k, &h, err) : no_key(err);
    ws_keys_release(ws_sealed(s), x);
    for (size_t i = 0; r >= 0 && i < sizeof k.body; i++)
        k.body[i] = found.body[i] ^ h.mask[i];
    if (r >= 0)
        *ret = k;
    return r;
}

/* ---- Blobs ----------------------------------------------------------------------------------------- */

/* A piece sealed under another name than the blob's: there must be a sealed value that says that both are one blob. */
static WEFT_SUSPENDS int is_named(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *to,
                                  const struct wl_blob_key *from, struct wb_arena *a, struct upp_err *err)
{
    char name[WS_NAMES_NAME];
    struct upp_str bytes;
    int r = wl_get_value(s, o, UPP_STR(WS_SEALED_BLOBS), ws_names_name(to, from, name), a, &bytes, err);
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ESTORE, "it is another blob's") : r;
}

static WEFT_SUSPENDS int open_piece(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *stored,
                                    struct wb_arena *a, struct wl_piece *p, struct upp_err *err)
{
    struct wl_blob_key from;
    struct ws_seal *x;
    if (p->bytes.n < sizeof from.b)
        return upp_fail(err, UPP_ESTORE, "it is too short");
    memcpy(from.b, p->bytes.p, sizeof from.b);
    int r = memcmp(from.b, stored->b, sizeof from.b) ? is_named(s, o, stored, &from, a, err) : 0;
    if (r >= 0)
        r = ws_keys_take(ws_sealed(s), o->tenant, false, &x, err);
    if (r < 0)
        return r;
    struct ws_seal_context at = ws_piece_context(&from, p->number, p->last);
    r = x ? ws_seal_get(x, &at, wb_str_sub(p->bytes, sizeof from.b, SIZE_MAX), &p->bytes, 1, err) : no_key(err);
    ws_keys_release(ws_sealed(s), x);
    return r;
}

static WEFT_SUSPENDS int get_piece(struct wl_store *s, const struct wl_ask *k, struct wb_arena *a, struct wl_piece *ret,
                                   struct upp_err *err)
{
    struct wl_blob_key stored;
    struct wl_piece p;
    struct ws_seal *x;
    int r = ws_keys_take(ws_sealed(s), k->owner->tenant, false, &x, err);
    if (r >= 0 && !x)
        return ws_not_found(err, k);
    if (r >= 0)
        r = ws_seal_blob(x, k->blob, &stored, err);
    ws_keys_release(ws_sealed(s), x);
    if (r >= 0)
        r = wl_get_piece(INNER(s), k->owner, &stored, (uint32_t)k->number, a, &p, err);
    if (r < 0)
        return r;
    r = open_piece(s, k->owner, &stored, a, &p, err);
    if (r < 0)
        return upp_wrap(err, r, "piece %u of a blob cannot be opened", (unsigned)k->number);
    p.key = *k->blob;
    *ret = p;
    return 0;
}

static WEFT_SUSPENDS int open_blobs(struct wl_store *s, struct upp_str tenant, struct wl_blob_key *p, size_t n,
                                    struct upp_err *err)
{
    struct ws_seal *x;
    if (!n)
        return 0;
    int r = ws_keys_take(ws_sealed(s), tenant, false, &x, err);
    if (r >= 0 && !x)
        r = no_key(err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct wl_blob_key stored = p[i];
        r = ws_seal_unblob(x, &stored, &p[i], err);
    }
    ws_keys_release(ws_sealed(s), x);
    return r;
}

/* ---- get and list ---------------------------------------------------------------------------------- */

WEFT_SUSPENDS int ws_open_get(struct wl_store *s, const struct wl_ask *k, struct wb_arena *a, void *ret,
                              struct upp_err *err)
{
    union {
        struct wl_thread thread;
        struct wm_run run;
        struct wl_value value;
    } x;
    switch ((int)k->what) {
    case WL_GET_NODE: /* without texts */
    case WL_GET_INDEX_PROGRESS:
    case WL_GET_BYTES:
        return wl_store_get(INNER(s), k, a, ret, err);
    case WL_GET_ALIAS:
        return get_alias(s, *k, ret, err);
    case WL_GET_KEY:
        return get_key(s, k, ret, err);
    case WL_GET_PIECE:
        return get_piece(s, k, a, ret, err);
    default:
        break;
    }
    const struct ws_kind *kind = ws_kind_of(k->what);
    int r = wl_store_get(INNER(s), k, a, &x, err);
    if (r >= 0 && kind == &ws_values) {
        x.value.space = k->space;
        x.value.name = k->name;
    }
    if (r >= 0)
        r = open_all(s, k->owner->tenant, kind, &x, 1, err);
    if (r >= 0)
        memcpy(ret, &x, kind->size);
    return r;
}

WEFT_SUSPENDS int ws_open_list(struct wl_store *s, const struct wl_ask *k, struct wb_arena *a, struct wl_list *ret,
                               struct upp_err *err)
{
    if (k->what == WL_LIST_LIVE)
        return list_live(s, *k, a, ret, err);
    if (k->what == WL_LIST_TENANTS)
        return list_tenants(s, *k, a, ret, err);
    int r = wl_store_list(INNER(s), k, a, ret, err);
    if (r >= 0)
        r = k->what == WL_LIST_UNREFERENCED_BLOBS
                ? open_blobs(s, k->owner->tenant, ret->p, ret->n, err)
                : open_all(s, k->owner->tenant, ws_kind_of(k->what), ret->p, ret->n, err);
    return r;
}
