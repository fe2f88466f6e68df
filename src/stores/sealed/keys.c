/* stores/sealed/keys.c — tenants' keys: wrapped by the master key, cached, rotated, erased. */
#include "stores/sealed/keys.h"

#include <stdlib.h>

#include "base/hooks.h"
#include "base/random.h"
#include "stores/check.h"

/* ---- Lock ------------------------------------------------------------------------------------------ */

void ws_sealed_lock(struct ws_sealed *s)
{
    if (pthread_mutex_lock(&s->lock))
        abort();
}

void ws_sealed_unlock(struct ws_sealed *s)
{
    if (pthread_mutex_unlock(&s->lock))
        abort();
}

/* ---- Records of tenants ---------------------------------------------------------------------------- */

enum { ERASED = 0, ALIVE = 1, RECORD_HEAD = 1 + sizeof(struct ws_master_id) };

struct ws_keyed {
    struct ws_entry entry;
    struct upp_str name;
    struct wb_secret *keys; /* struct ws_seal_keys; NULL: the key was erased */
    struct ws_seal *idle;
    unsigned n_idle, out;
    bool gone; /* removed from the table: freed with its last seal */
};

static struct ws_seal_context tenant_context(struct upp_str tenant, const struct ws_master_id *id)
{
    struct ws_seal_context at = {.kind = WS_AT_TENANT, .n = sizeof id->b, .name = tenant};
    memcpy(at.bytes, id->b, sizeof id->b);
    return at;
}

static int wrap(const struct ws_mastering *m, struct upp_str tenant, const unsigned char *key, struct wb_arena *a,
                struct wl_value *ret, struct upp_err *err)
{
    char head[RECORD_HEAD] = {ALIVE};
    struct ws_seal_context at = tenant_context(tenant, &m->id);
    struct upp_str part = wb_str((const char *)key, WS_SEAL_KEY);
    struct ws_seal *seal;
    int r = ws_master_seal(ws_master_at(m), &seal, err);
    if (r < 0)
        return r;
    memcpy(head + 1, m->id.b, sizeof m->id.b);
    *ret = (struct wl_value){.space = UPP_STR(WS_SEALED_TENANTS), .name = tenant};
    r = ws_seal_put(seal, &at, wb_str(head, sizeof head), &part, 1, a, &ret->bytes, err);
    (void)ws_seal_free(seal);
    return r;
}

static int erased(struct upp_str tenant, struct upp_err *err)
{
    return upp_fail(err, UPP_EREFUSED, "the key of tenant '%.*s' was erased", UPP_FMT(tenant));
}

/* Copies the master key with this id, because it may be replaced meanwhile. */
static bool copy_master(struct ws_sealed *s, struct ws_master_id id, struct ws_master *ret)
{
    ws_sealed_lock(s);
    const struct ws_mastering *m = s->other.secret && ws_master_same(s->other.id, id) ? &s->other : &s->now;
    bool is = ws_master_same(m->id, id);
    if (is)
        *ret = *ws_master_at(m);
    ws_sealed_unlock(s);
    return is;
}

/* Decrypts the record in place. */
static int unwrap(struct ws_sealed *s, struct upp_str tenant, struct upp_str record, unsigned char *ret,
                  struct upp_err *err)
{
    struct ws_master_id id;
    struct ws_master master;
    struct upp_str key;
    struct ws_seal *seal;
    if (record.n == 1 && record.p[0] == ERASED)
        return erased(tenant, err);
    if (record.n < RECORD_HEAD || record.p[0] != ALIVE)
        return upp_fail(err, UPP_ESTORE, "the record of the key of tenant '%.*s' is damaged", UPP_FMT(tenant));
    memcpy(id.b, record.p + 1, sizeof id.b);
    if (!copy_master(s, id, &master))
        return upp_fail(err, UPP_EREFUSED, "the key of tenant '%.*s' is kept with another master key", UPP_FMT(tenant));
    struct ws_seal_context at = tenant_context(tenant, &id);
    int r = ws_master_seal(&master, &seal, err);
    ws_master_wipe(&master);
    if (r < 0)
        return r;
    struct upp_str text = wb_str_sub(record, RECORD_HEAD, SIZE_MAX);
    r = ws_seal_get(seal, &at, text, &key, 1, err);
    (void)ws_seal_free(seal);
    if (r >= 0 && key.n != WS_SEAL_KEY)
        r = upp_fail(err, UPP_ESTORE, "it has %zu bytes", key.n);
    if (r < 0)
        return upp_wrap(err, r, "the key of tenant '%.*s'", UPP_FMT(tenant));
    memcpy(ret, key.p, WS_SEAL_KEY);
    explicit_bzero((char *)(uintptr_t)text.p, text.n);
    return 0;
}

/* ---- The cache of keys ----------------------------------------------------------------------------- */

static bool same_tenant(const void *e, const void *key)
{
    return wb_str_eq(((const struct ws_keyed *)e)->name, *(const struct upp_str *)key);
}

static void free_keyed(struct ws_keyed *k)
{
    for (struct ws_seal *x; (x = k->idle);) {
        k->idle = x->next;
        (void)ws_seal_free(x);
    }
    (void)wb_secret_free(k->keys);
    wb_free(k);
}

static void evict(struct ws_sealed *s, struct ws_keyed *k)
{
    ws_table_remove(&s->keyed, &k->entry);
    k->gone = true;
    if (!k->out)
        free_keyed(k);
}

/* Makes room by evicting tenants that are not in use. */
static void evict_idle(struct ws_sealed *s)
{
    for (size_t i = 0; i < s->keyed.cap; i++) {
        struct ws_keyed *k = (struct ws_keyed *)s->keyed.slot[i];
        if (k && !k->out) {
            evict(s, k);
            i--; /* another entry may have moved to this slot */
        }
    }
}

static struct ws_keyed *find_keyed(struct ws_sealed *s, struct upp_str tenant)
{
    return ws_table_find(&s->keyed, ws_hash(s->seed, tenant.p, tenant.n), same_tenant, &tenant);
}

/* Adds a tenant's key to the table, unless another caller has, or a tenant was forgotten since it was read. `key` NULL:
 * it was erased. */
static int add_keyed(struct ws_sealed *s, struct upp_str tenant, const unsigned char *key, uint64_t forgotten,
                     struct upp_err *err)
{
    struct ws_seal_keys keys;
    struct ws_keyed *k = wb_calloc(1, sizeof *k + tenant.n);
    int r = k ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for a tenant's key");
    if (r >= 0 && key) {
        r = ws_seal_derive(key, tenant, &keys, err);
        if (r >= 0)
            r = wb_secret_new(wb_str((const char *)&keys, sizeof keys), &k->keys, err);
        explicit_bzero(&keys, sizeof keys);
    }
    if (r < 0) {
        wb_free(k);
        return r;
    }
    k->name = wb_str(memcpy(k + 1, tenant.p, tenant.n), tenant.n);
    k->entry.hash = ws_hash(s->seed, tenant.p, tenant.n);
    ws_sealed_lock(s);
    if (s->keyed.n >= WS_KEYED_MAX)
        evict_idle(s);
    bool there = s->forgotten != forgotten || find_keyed(s, tenant);
    if (!there && !ws_table_room(&s->keyed))
        r = upp_fail(err, UPP_ENOMEM, "no memory for a tenant's key");
    if (r >= 0 && !there)
        ws_table_add(&s->keyed, &k->entry);
    ws_sealed_unlock(s);
    if (r < 0 || there)
        free_keyed(k);
    return r;
}

/* 1: taken; 0: the tenant is not cached. */
static int take_cached(struct ws_sealed *s, struct upp_str tenant, struct ws_seal **ret, struct upp_err *err)
{
    struct ws_seal_keys keys;
    ws_sealed_lock(s);
    struct ws_keyed *k = find_keyed(s, tenant);
    struct ws_seal *x = k ? k->idle : NULL;
    if (x) {
        k->idle = x->next;
        k->n_idle--;
    }
    bool dead = k && !k->keys;
    if (k && !dead) {
        k->out++;
        if (!x)
            memcpy(&keys, wb_secret_reveal(k->keys).p, sizeof keys);
    }
    ws_sealed_unlock(s);
    if (!k || dead)
        return dead ? erased(tenant, err) : 0;
    if (!x) {
        int r = ws_seal_new(&keys, &x, err);
        explicit_bzero(&keys, sizeof keys);
        if (r < 0) {
            ws_sealed_lock(s);
            k->out--;
            if (k->gone && !k->out)
                free_keyed(k);
            ws_sealed_unlock(s);
            return r;
        }
        x->of = k;
    }
    *ret = x;
    return 1;
}

void ws_keys_release(struct ws_sealed *s, struct ws_seal *x)
{
    if (!x)
        return;
    struct ws_keyed *k = x->of;
    ws_sealed_lock(s);
    bool cache = !k->gone && k->n_idle < WS_KEYED_SEALS;
    if (cache) {
        x->next = k->idle;
        k->idle = x;
        k->n_idle++;
    }
    k->out--;
    if (k->gone && !k->out)
        free_keyed(k);
    ws_sealed_unlock(s);
    if (!cache)
        (void)ws_seal_free(x);
}

/* ---- Loading and creating -------------------------------------------------------------------------- */

/* Loads the key from the store into the table: 1, or 0 if the tenant has none. */
static WEFT_SUSPENDS int load(struct ws_sealed *s, struct upp_str tenant, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct upp_str record;
    unsigned char key[WS_SEAL_KEY];
    ws_sealed_lock(s);
    uint64_t forgotten = s->forgotten;
    ws_sealed_unlock(s);
    int r = wl_get_value(s->inner, &ws_keys_owner, UPP_STR(WS_SEALED_TENANTS), tenant, &a, &record, err);
    if (r == -UPP_ENOTFOUND)
        return 0;
    if (r < 0)
        return r;
    bool dead = record.n == 1 && record.p[0] == ERASED;
    r = dead ? 0 : unwrap(s, tenant, record, key, err);
    if (r >= 0)
        r = add_keyed(s, tenant, dead ? NULL : key, forgotten, err);
    explicit_bzero(key, sizeof key);
    return r < 0 ? r : 1;
}

WEFT_SUSPENDS int ws_keys_erased(struct ws_sealed *s, struct upp_str tenant, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct upp_str record;
    int r = wl_get_value(s->inner, &ws_keys_owner, UPP_STR(WS_SEALED_TENANTS), tenant, &a, &record, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : record.n == 1 && record.p[0] == ERASED;
}

static int begin_making(struct ws_sealed *s, struct upp_err *err)
{
    ws_sealed_lock(s);
    bool may = !s->changing;
    s->making += may;
    ws_sealed_unlock(s);
    return may ? 0 : upp_fail(err, UPP_EBUSY, "the keys of the store are being changed");
}

static void end_making(struct ws_sealed *s)
{
    ws_sealed_lock(s);
    s->making--;
    ws_sealed_unlock(s);
}

/* Creates a key in the store; if another caller was first, its key stays. */
static WEFT_SUSPENDS int make_key(struct ws_sealed *s, struct upp_str tenant, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    unsigned char key[WS_SEAL_KEY];
    struct wl_value v;
    struct wl_alias once = {.kind = WL_ALIAS_FILE, .text = tenant};
    int r = begin_making(s, err);
    if (r < 0)
        return r;
    r = wb_random(key, sizeof key, err);
    if (r >= 0)
        r = wb_uuid_new(&once.object, err);
    if (r >= 0)
        r = wrap(s->leaving ? &s->other : &s->now, tenant, key, &a, &v, err);
    explicit_bzero(key, sizeof key);
    if (r >= 0)
        r = ws_keys_commit(s, (struct wl_change[]){{.kind = WL_ADD_ALIAS, .alias = &once}, ws_keys_put(&v)}, 2, err);
    end_making(s);
    return r == -UPP_EBUSY ? 0 : r;
}

WEFT_SUSPENDS int ws_keys_take(struct ws_sealed *s, struct upp_str tenant, bool make, struct ws_seal **ret,
                               struct upp_err *err)
{
    enum { TIMES = 8 /* that a key may be evicted from the table before it is used */ };
    *ret = NULL;
    if (wb_str_eq(tenant, ws_keys_owner.tenant))
        return upp_fail(err, UPP_EINVALID, "no tenant can be called '%s'", WS_SEALED_TENANT);
    for (int i = 0; i < TIMES; i++) {
        int r = take_cached(s, tenant, ret, err);
        if (r)
            return r < 0 ? r : 0;
        r = load(s, tenant, err);
        if (r == 0 && !make)
            return 0;
        if (r == 0)
            r = make_key(s, tenant, err);
        if (r < 0)
            return r;
    }
    return upp_fail(err, UPP_EBUSY, "the key of tenant '%.*s' cannot be had", UPP_FMT(tenant));
}

void ws_keys_close(struct ws_sealed *s)
{
    for (size_t i = 0; i < s->keyed.cap; i++)
        if (s->keyed.slot[i])
            free_keyed((struct ws_keyed *)s->keyed.slot[i]);
    ws_table_done(&s->keyed);
    ws_master_drop(&s->now);
    ws_master_drop(&s->other);
}

/* ---- Rotating and forgetting ----------------------------------------------------------------------- */

static int begin_change(struct ws_sealed *s, struct upp_err *err)
{
    ws_sealed_lock(s);
    bool may = !s->changing && !s->making;
    s->changing = s->changing || may;
    ws_sealed_unlock(s);
    return may ? 0 : upp_fail(err, UPP_EBUSY, "the keys of the store are being changed or made right now");
}

static void end_change(struct ws_sealed *s)
{
    ws_sealed_lock(s);
    s->changing = false;
    ws_sealed_unlock(s);
}

static WEFT_SUSPENDS int forget(struct ws_sealed *s, struct upp_str tenant, struct upp_err *err)
{
    struct wl_value v = {.space = UPP_STR(WS_SEALED_TENANTS), .name = tenant, .bytes = {"", 1}};
    struct wl_alias once = {.kind = WL_ALIAS_FILE, .text = tenant};
    int r = wb_uuid_new(&once.object, err);
    if (r >= 0)
        r = ws_keys_commit(s,
                           (struct wl_change[]){ws_keys_put(&v),
                                                {.kind = WL_DROP_ALIAS, .alias = &once},
                                                {.kind = WL_ADD_ALIAS, .alias = &once}},
                           3, err);
    if (r < 0)
        return r;
    ws_sealed_lock(s);
    struct ws_keyed *k = find_keyed(s, tenant);
    s->forgotten++;
    if (k)
        evict(s, k);
    ws_sealed_unlock(s);
    return 0;
}

WEFT_SUSPENDS int ws_sealed_forget(struct wl_store *store, struct upp_str tenant, struct upp_err *err)
{
    struct ws_sealed *s = ws_sealed(store);
    if (!tenant.n || wb_str_eq(tenant, ws_keys_owner.tenant))
        return upp_fail(err, UPP_EINVALID, "no tenant is named");
    int r = begin_change(s, err);
    if (r < 0)
        return r;
    r = forget(s, tenant, err);
    end_change(s);
    return r;
}

/* From now on the record of each master key holds the other key. */
static WEFT_SUSPENDS int begin_rotation(struct ws_sealed *s, const struct ws_master *to, struct ws_master_id id,
                                        struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    char name[2][17];
    struct wl_value v[2];
    struct ws_mastering next = {0};
    const struct ws_master *from = ws_master_at(&s->now);
    int r = ws_master_store(to, id, &next, err);
    if (r >= 0)
        r = ws_master_record(from, to, true, &a, name[0], &v[0], err);
    if (r >= 0)
        r = ws_master_record(to, from, false, &a, name[1], &v[1], err);
    if (r >= 0)
        r = ws_keys_commit(s, (struct wl_change[]){ws_keys_put(&v[0]), ws_keys_put(&v[1])}, 2, err);
    if (r < 0) {
        ws_master_drop(&next);
        return r;
    }
    ws_sealed_lock(s);
    s->other = next;
    s->leaving = true;
    ws_sealed_unlock(s);
    return 0;
}

/* Rewraps those of a page that are not yet wrapped with `to`. */
static WEFT_SUSPENDS int rewrap(struct ws_sealed *s, const struct ws_mastering *to, struct wl_value *v, size_t n,
                                struct wb_arena *a, struct upp_err *err)
{
    struct wl_change *c = wb_new_n(a, struct wl_change, n);
    struct wl_value *fresh = wb_new_n(a, struct wl_value, n);
    size_t count = 0;
    int r = wb_arena_check(a, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        unsigned char key[WS_SEAL_KEY];
        if (v[i].bytes.n < RECORD_HEAD || memcmp(v[i].bytes.p + 1, to->id.b, sizeof to->id.b) == 0)
            continue; /* erased, or done already */
        r = unwrap(s, v[i].name, v[i].bytes, key, err);
        if (r >= 0)
            r = wrap(to, v[i].name, key, a, &fresh[count], err);
        c[count] = ws_keys_put(&fresh[count]);
        count++;
        explicit_bzero(key, sizeof key);
    }
    return r < 0 || !count ? r : ws_keys_commit(s, c, count, err);
}

static WEFT_SUSPENDS int rewrap_all(struct ws_sealed *s, const struct ws_mastering *to, const struct ws_rotating *told,
                                    struct upp_err *err)
{
    enum { PAGE = 256 };
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    char last[WS_NAME_MAX];
    struct upp_str after = {NULL, 0};
    size_t n = PAGE;
    int r = 0;
    while (r >= 0 && n == PAGE) {
        struct wl_value *v;
        wb_arena_reset(&a);
        r = wl_list_values(s->inner, &ws_keys_owner, UPP_STR(WS_SEALED_TENANTS), after, PAGE, &a, &v, &n, err);
        if (r >= 0 && n) {
            after = wb_str(memcpy(last, v[n - 1].name.p, v[n - 1].name.n), v[n - 1].name.n);
            r = rewrap(s, to, v, n, &a, err);
        }
        if (r >= 0 && told)
            told->done(told->arg, n);
    }
    return r;
}

/* Stores the record of the new key alone and drops that of the old one: from here on only the new key opens the
 * store. */
static WEFT_SUSPENDS int end_rotation(struct ws_sealed *s, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    const struct ws_mastering *to = s->leaving ? &s->other : &s->now;
    const struct ws_mastering *from = s->leaving ? &s->now : &s->other;
    char name[2][17];
    struct wl_value v, old = {.space = UPP_STR(WS_SEALED_MASTERS), .name = ws_master_text(&from->id, name[0])};
    int r = ws_master_record(ws_master_at(to), NULL, false, &a, name[1], &v, err);
    if (r >= 0)
        r = ws_keys_commit(s, (struct wl_change[]){ws_keys_put(&v), {.kind = WL_DROP_VALUE, .value = &old}}, 2, err);
    if (r < 0)
        return r;
    ws_sealed_lock(s);
    if (s->leaving) {
        ws_master_drop(&s->now);
        s->now = s->other;
    } else
        ws_master_drop(&s->other);
    s->other = (struct ws_mastering){0};
    s->leaving = false;
    ws_sealed_unlock(s);
    return 0;
}

static WEFT_SUSPENDS int rotate(struct ws_sealed *s, const struct ws_master *to, const struct ws_rotating *told,
                                struct upp_err *err)
{
    struct ws_seal *seal;
    struct ws_master_id id;
    int r = ws_master_seal(to, &seal, err);
    if (r < 0)
        return r;
    r = ws_master_name(seal, &id, err);
    (void)ws_seal_free(seal);
    if (r < 0)
        return r;
    if (s->other.secret) { /* an earlier rotation was interrupted: this one must be the same */
        const struct ws_mastering *goal = s->leaving ? &s->other : &s->now;
        if (!ws_master_same(goal->id, id))
            return upp_fail(err, UPP_EREFUSED, "the store is on its way to another key: end that first");
    } else if (ws_master_same(s->now.id, id))
        return upp_fail(err, UPP_EINVALID, "this is the key that the store has already");
    else
        r = begin_rotation(s, to, id, err);
    if (r >= 0)
        r = rewrap_all(s, s->leaving ? &s->other : &s->now, told, err);
    return r < 0 ? r : end_rotation(s, err);
}

WEFT_SUSPENDS int ws_sealed_rotate(struct wl_store *store, const struct ws_master *to, const struct ws_rotating *told,
                                   struct upp_err *err)
{
    struct ws_sealed *s = ws_sealed(store);
    int r = begin_change(s, err);
    if (r < 0)
        return r;
    r = rotate(s, to, told, err);
    end_change(s);
    return r;
}
