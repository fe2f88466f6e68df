/* server/keys/table.c — the table of keys: finds them, admits runs within their limits, and stores changes. Records
 * are values of the tenant WRT_TENANT: one space for the keys, one for what they have used. */
#include "server/keys/table.h"

#include "base/clock.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/vec.h"
#include "log/log.h"
#include "runtime/runtime.h"
#include "server/keys/limits.h"
#include "server/keys/stored.h"

#define KEYS_SPACE "api-keys"
#define USE_SPACE  "api-key-use"

enum {
    PAGE = 256,
    SAVE_MS = 1000,  /* between two commits of what was used */
    USED_MS = 60000, /* the time of the last request is stored to a minute */
    RUNS_MS = 1000,  /* Retry-After while other runs work */
    RECORD_MAX = 16 << 10,
    FLUSH_BATCH = WL_CHANGES / (1 + SV_USAGE_VALUES),
};

struct sv_keys {
    struct wl_store *store;
    struct wr_engine *engine;     /* NULL: none */
    WB_VEC(struct sv_key *) list; /* ordered by id */
    size_t usable;
    bool required;
    struct wr_quota quota;
    struct sv_elsewhere elsewhere;
    struct weft_scope saver; /* the fiber that stores what was used */
    struct weft_cond used;
    bool unsaved;
    bool failing; /* it was not stored the last time, and the log says so */
    struct sv_stored stored;
    struct sv_tenant_usages tenants; /* without keys */
    uint16_t series;                 /* keys and tenants that were used */
};

static const struct wl_owner ours = {.tenant = UPP_STR_INIT(WRT_TENANT)};

/* ---- The list -------------------------------------------------------------------------------- */

/* The index of the first key whose id is not before `id`. */
static size_t place(const struct sv_keys *t, struct upp_str id)
{
    size_t lo = 0, hi = t->list.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (wb_str_cmp(wb_cstr(t->list.p[mid]->id), id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct sv_key *by_id(const struct sv_keys *t, struct upp_str id)
{
    size_t i = place(t, id);
    return i < t->list.n && wb_str_eq(wb_cstr(t->list.p[i]->id), id) ? t->list.p[i] : NULL;
}

static bool is_usable(const struct sv_key *k)
{
    return !k->revoked_ms && !k->pending;
}

static int insert(struct sv_keys *t, struct sv_key *k, struct upp_err *err)
{
    size_t i = place(t, wb_cstr(k->id));
    if (!k->usage.now.tenant.n) {
        k->usage.now.tenant = k->tenant;
        k->usage.now.user = k->user;
        k->usage.now.key = wb_cstr(k->id);
        k->usage.now.key_name = k->name;
        k->usage.since = k->usage.now;
    }
    if (!wb_vec_room(&t->list, SV_KEYS_MAX))
        return t->list.n < SV_KEYS_MAX ? upp_fail(err, UPP_ENOMEM, "no memory for a key")
                                       : upp_fail(err, UPP_ELIMIT, "a store has at most %d keys", SV_KEYS_MAX);
    memmove(&t->list.p[i + 1], &t->list.p[i], (t->list.n - i) * sizeof *t->list.p);
    t->list.p[i] = k;
    t->list.n++;
    return 0;
}

static void take_out(struct sv_keys *t, const struct sv_key *k)
{
    size_t i = place(t, wb_cstr(k->id));
    t->list.n--;
    memmove(&t->list.p[i], &t->list.p[i + 1], (t->list.n - i) * sizeof *t->list.p);
}

static int count_stored(struct sv_keys *t, struct sv_key *k, struct upp_err *err)
{
    return k->limits.bytes && !k->revoked_ms ? sv_stored_of(&t->stored, k->tenant, 2 * SV_KEYS_MAX, &k->stored, err)
                                             : 0;
}

bool sv_keys_usable(const struct sv_keys *t)
{
    return t && t->usable > 0;
}

bool sv_keys_required(const struct sv_keys *t)
{
    return t && t->required;
}

const struct sv_key *sv_keys_next(const struct sv_keys *t, const struct sv_key *after)
{
    size_t i = after ? place(t, wb_cstr(after->id)) + 1 : 0;
    while (i < t->list.n && t->list.p[i]->pending)
        i++;
    return i < t->list.n ? t->list.p[i] : NULL;
}

/* ---- Requests -------------------------------------------------------------------------------- */

struct sv_key *sv_keys_find(struct sv_keys *t, struct upp_str text)
{
    struct upp_str id, secret;
    struct sv_key *k = NULL;
    if (sv_key_split(text, &id, &secret))
        k = by_id(t, id);
    else
        secret = text; /* its form shows nothing: the same work */
    return sv_key_is(k, secret) && is_usable(k) ? k : NULL;
}

/* usage: has counted something. */
static void mark_unsaved(struct sv_keys *t, struct sv_usage *usage)
{
    if (!usage->series && t->series < UINT16_MAX)
        usage->series = ++t->series;
    if (!t->unsaved)
        weft_cond_signal(&t->used);
    t->unsaved = true;
}

/* what: of one; of more it has an s. */
static int fail_until(struct upp_err *err, enum upp_code code, uint64_t ms, uint64_t limit, const char *what,
                      const char *rest)
{
    int r = upp_fail(err, code, "this API key has a limit of %llu %s%s%s", (unsigned long long)limit, what,
                     limit == 1 ? "" : "s", rest);
    if (err)
        err->retry_after_ms = ms;
    return r;
}

/* A clock that is put back over midnight renews no limit: the later day goes on until it is over. But if the clock was
 * days ahead, it was wrong: then what was used counts as today's, or the limit would not be renewed for so long. */
static void follow_clock(struct sv_key *k, int64_t wall_ms)
{
    int64_t today = wall_ms / SV_DAY_MS;
    if (k->day > today + 1)
        k->day = today;
}

int sv_key_count(struct sv_keys *t, struct sv_key *k, struct upp_err *err)
{
    int64_t wall = wb_wall_ms();
    follow_clock(k, wall);
    uint64_t wait = k->limits.requests ? sv_bucket_take(&k->bucket, k->limits.requests, wb_mono_ms()) : 0;
    if (wait)
        return fail_until(err, UPP_ERATE, wait, k->limits.requests, "request", " a minute");
    if (wall - k->used_ms >= USED_MS || wall < k->used_ms) {
        k->used_ms = wall;
        k->unsaved = true;
    }
    sv_usage_request(&k->usage, wall);
    mark_unsaved(t, &k->usage);
    return 0;
}

/* ---- Runs and tokens ------------------------------------------------------------------------- */

uint64_t sv_key_tokens(const struct sv_key *k, int64_t wall_ms)
{
    return k->day >= wall_ms / SV_DAY_MS ? k->tokens : 0;
}

int sv_key_may_store(const struct sv_key *k, struct upp_err *err)
{
    if (!k->stored || !sv_stored_reached(k->stored, k->limits.bytes))
        return 0;
    return fail_until(err, UPP_EQUOTA, SV_QUOTA_MS, k->limits.bytes, "stored byte", "");
}

int sv_key_may_start(struct sv_key *k, struct upp_err *err)
{
    int64_t wall = wb_wall_ms();
    int r = sv_key_may_store(k, err);
    if (r < 0)
        return r;
    if (k->limits.runs && k->runs >= k->limits.runs)
        return fail_until(err, UPP_ERATE, RUNS_MS, k->limits.runs, "run", " at the same time");
    if (k->limits.tokens && sv_key_tokens(k, wall) >= k->limits.tokens)
        return fail_until(err, UPP_EQUOTA, SV_DAY_MS - (uint64_t)(wall % SV_DAY_MS), k->limits.tokens, "token",
                          " a day (UTC)");
    return 0;
}

static int admit(void *arg, struct upp_str id, struct upp_err *err)
{
    struct sv_key *k = by_id(arg, id);
    int r = k ? sv_key_may_start(k, err) : 0;
    if (k && r >= 0)
        k->runs++;
    return r;
}

/* Not more than SV_LIMIT_MAX, which no limit goes beyond: providers are not trusted with what they report. */
static uint64_t sum(uint64_t a, uint64_t b)
{
    return WB_MIN(WB_MIN(a, SV_LIMIT_MAX) + WB_MIN(b, SV_LIMIT_MAX), SV_LIMIT_MAX);
}

static void leave_tenant(struct sv_keys *t, struct upp_str tenant, const struct upp_usage *used)
{
    struct sv_usage *u = sv_tenant_usage(&t->tenants, tenant);
    if (!u) {
        wb_log(WB_WARN, "no memory: the usage of a run is not counted", WB_LS("tenant", tenant));
        return;
    }
    sv_usage_run(u, wb_wall_ms(), used);
    mark_unsaved(t, u);
}

static void leave(void *arg, struct upp_str tenant, struct upp_str id, const struct upp_usage *usage)
{
    struct sv_keys *t = arg;
    struct sv_key *k = by_id(t, id);
    int64_t wall = wb_wall_ms();
    if (!id.n && usage)
        leave_tenant(t, tenant, usage);
    if (!k)
        return;
    k->runs -= k->runs > 0;
    if (!usage)
        return;
    follow_clock(k, wall);
    k->tokens = sum(sv_key_tokens(k, wall), sum(usage->input, usage->output));
    k->day = WB_MAX(k->day, wall / SV_DAY_MS);
    k->unsaved = true;
    sv_usage_run(&k->usage, wall, usage);
    mark_unsaved(t, &k->usage);
}

const struct wr_quota *sv_keys_quota(struct sv_keys *t)
{
    return &t->quota;
}

const struct wr_quota *sv_keys_quota_elsewhere(struct sv_keys *t)
{
    return &t->elsewhere.quota;
}

void sv_keys_each_usage(const struct sv_keys *t, void (*fn)(void *arg, const struct sv_usage *u), void *arg)
{
    for (size_t i = 0; i < t->list.n; i++)
        if (t->list.p[i]->usage.series)
            fn(arg, &t->list.p[i]->usage);
    for (size_t i = 0; i < t->tenants.list.n; i++)
        if (t->tenants.list.p[i]->usage.series)
            fn(arg, &t->tenants.list.p[i]->usage);
}

/* ---- Storing --------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int store_record(struct sv_keys *t, const struct sv_key *k, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(RECORD_MAX);
    int r = sv_key_write(k, &json, err);
    if (r < 0)
        return r;
    struct wl_value v = {.space = UPP_STR(KEYS_SPACE), .name = wb_cstr(k->id), .bytes = wb_buf_str(&json)};
    struct wl_change change = {.kind = WL_PUT_VALUE, .value = &v};
    struct wl_commit c = {.owner = ours, .changes = &change, .n = 1, .flags = WL_SYNCED};
    return wl_store_commit(t->store, &c, err);
}

WEFT_SUSPENDS static int drop_record(struct sv_keys *t, const char *id, struct upp_err *err)
{
    struct wl_value key = {.space = UPP_STR(KEYS_SPACE), .name = wb_cstr(id)};
    struct wl_value use = {.space = UPP_STR(USE_SPACE), .name = wb_cstr(id)};
    struct wl_change changes[] = {{.kind = WL_DROP_VALUE, .value = &key}, {.kind = WL_DROP_VALUE, .value = &use}};
    struct wl_commit c = {.owner = ours, .changes = changes, .n = WB_LEN(changes), .flags = WL_SYNCED};
    return wl_store_commit(t->store, &c, err);
}

/* Up to FLUSH_BATCH keys and tenants whose use is to be stored. Keys are not forgotten meanwhile: a record of their use
 * that is stored after they were dropped would stay. */
struct batch {
    struct sv_key *keys[FLUSH_BATCH];
    struct sv_usage *usages[FLUSH_BATCH]; /* of keys, then of tenants */
    struct wl_value values[WL_CHANGES];
    struct wl_change changes[WL_CHANGES];
    size_t n_keys, n_usages, n_values;
};

static int add_usage(struct batch *b, struct sv_usage *u, struct wb_arena *a, struct upp_err *err)
{
    size_t n;
    b->usages[b->n_usages++] = u;
    int r = sv_usage_values(u, a, &b->values[b->n_values], &n, err);
    b->n_values += n;
    return r;
}

static int add_key(struct batch *b, struct sv_key *k, struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(RECORD_MAX);
    int r = sv_key_use_write(k, &json, err);
    b->keys[b->n_keys++] = k;
    k->unsaved = false; /* what is used from now on is not in it */
    k->refs++;
    if (r < 0)
        return r;
    b->values[b->n_values++] = (struct wl_value){.space = UPP_STR(USE_SPACE),
                                                 .name = wb_arena_dup(a, wb_cstr(k->id)),
                                                 .bytes = wb_arena_dup(a, wb_buf_str(&json))};
    return add_usage(b, &k->usage, a, err);
}

static int fill_batch(struct sv_keys *t, struct wb_arena *a, struct batch *b, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < t->list.n && b->n_usages < FLUSH_BATCH; i++)
        if ((t->list.p[i]->unsaved || t->list.p[i]->usage.unsaved) && !t->list.p[i]->pending)
            r = add_key(b, t->list.p[i], a, err);
    for (size_t i = 0; r >= 0 && i < t->tenants.list.n && b->n_usages < FLUSH_BATCH; i++)
        if (t->tenants.list.p[i]->usage.unsaved)
            r = add_usage(b, &t->tenants.list.p[i]->usage, a, err);
    for (size_t i = 0; i < b->n_values; i++)
        b->changes[i] = (struct wl_change){.kind = WL_PUT_VALUE, .value = &b->values[i]};
    return r < 0 ? r : wb_arena_check(a, err);
}

/* Stores the use of some keys; *more: there were more. If that fails they are still unsaved. */
WEFT_SUSPENDS static int save_some(struct sv_keys *t, bool *more, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct batch *b = wb_new(&a, struct batch);
    if (!b)
        return wb_arena_check(&a, err);
    int r = fill_batch(t, &a, b, err);
    *more = b->n_usages == FLUSH_BATCH;
    if (r >= 0 && b->n_values) {
        struct wl_commit c = {.owner = ours, .changes = b->changes, .n = b->n_values};
        r = wl_store_commit(t->store, &c, err);
    }
    for (size_t i = 0; i < b->n_keys; i++) {
        b->keys[i]->refs--;
        b->keys[i]->unsaved |= r < 0;
    }
    for (size_t i = 0; i < b->n_usages; i++)
        sv_usage_saved(b->usages[i], r);
    return r;
}

/* What could not be stored, also because the fiber was cancelled, is stored later; a store that fails is logged once.
 */
WEFT_SUSPENDS static void save(struct sv_keys *t)
{
    struct upp_err err = {0};
    bool more = true;
    int r = 0;
    t->unsaved = false;
    while (r >= 0 && more)
        r = save_some(t, &more, &err);
    t->unsaved |= r < 0;
    if (r < 0 && r != -UPP_ECANCELED && !t->failing)
        wb_log(WB_WARN, "the use of API keys is not stored: it is tried again", WB_LERR(&err));
    t->failing = r < 0 && r != -UPP_ECANCELED;
}

void sv_keys_save(struct sv_keys *t)
{
    if (t->unsaved)
        save(t);
}

WEFT_SUSPENDS static int saves(void *arg, struct upp_err *err)
{
    struct sv_keys *t = arg;
    for (;;) {
        int r = t->unsaved ? 0 : weft_cond_wait(&t->used, err);
        if (r >= 0)
            r = weft_sleep_ms(SAVE_MS, err);
        if (r < 0)
            return r;
        save(t);
    }
}

/* ---- Changes --------------------------------------------------------------------------------- */

static size_t keys_of(const struct sv_keys *t, struct upp_str tenant)
{
    size_t n = 0;
    for (size_t i = 0; i < t->list.n; i++)
        n += wb_str_eq(t->list.p[i]->tenant, tenant);
    return n;
}

/* Makes room in a full table: forgets the key that was revoked first, of this tenant if that has as many as it may.
 * 1: one was forgotten. 0: there is room. */
WEFT_SUSPENDS static int make_room(struct sv_keys *t, struct upp_str tenant, struct upp_err *err)
{
    bool full = keys_of(t, tenant) >= SV_TENANT_KEYS_MAX;
    struct sv_key *first = NULL;
    if (!full && t->list.n < SV_KEYS_MAX)
        return 0;
    for (size_t i = 0; i < t->list.n; i++) {
        struct sv_key *k = t->list.p[i];
        if (k->revoked_ms && !k->refs && (!full || wb_str_eq(k->tenant, tenant)) &&
            (!first || k->revoked_ms < first->revoked_ms))
            first = k;
    }
    if (!first)
        return upp_fail(err, UPP_ELIMIT, "a %s has at most %d keys: revoke one", full ? "tenant" : "store",
                        full ? SV_TENANT_KEYS_MAX : SV_KEYS_MAX);
    take_out(t, first);
    int r = drop_record(t, first->id, err);
    if (r < 0 && insert(t, first, NULL) >= 0)
        return r;
    sv_key_free(first);
    return r < 0 ? r : 1;
}

static int check_spec(const struct sv_keys *t, const struct sv_key_spec *spec, struct upp_err *err)
{
    int r = sv_key_name_check(spec->name, err);
    if (r >= 0)
        r = sv_tenant_check(spec->tenant, err);
    if (r >= 0 && spec->user.n)
        r = sv_user_check(spec->user, err);
    if (r >= 0 && !spec->scopes)
        r = upp_fail(err, UPP_EINVALID, "a key has at least one scope");
    for (size_t i = 0; r >= 0 && i < t->list.n; i++)
        if (!t->list.p[i]->revoked_ms && wb_str_eq(t->list.p[i]->name, spec->name) &&
            wb_str_eq(t->list.p[i]->tenant, spec->tenant))
            r = upp_fail(err, UPP_EBUSY, "tenant '%.*s' has a key '%.*s' already: revoke it, or choose another name",
                         UPP_FMT(spec->tenant), UPP_FMT(spec->name));
    return r;
}

int sv_keys_add(struct sv_keys *t, const struct sv_key_spec *spec, char text[SV_KEY_TEXT + 1],
                const struct sv_key **ret, struct upp_err *err)
{
    WB_CLEANUP(sv_key_freep) struct sv_key *k = NULL;
    int r;
    do { /* again after each key that was forgotten: others may have added some meanwhile */
        r = check_spec(t, spec, err);
        if (r >= 0)
            r = make_room(t, spec->tenant, err);
    } while (r > 0);
    if (r >= 0)
        r = sv_key_new(&k, err);
    if (r >= 0)
        r = sv_key_generate(k, text, err);
    if (r < 0)
        return r;
    k->name = wb_arena_dup(&k->arena, spec->name);
    k->tenant = wb_arena_dup(&k->arena, spec->tenant);
    k->user = wb_arena_dup(&k->arena, spec->user);
    k->scopes = spec->scopes;
    k->limits = spec->limits;
    k->created_ms = wb_wall_ms();
    k->pending = true; /* its name is taken from now on */
    r = wb_arena_check(&k->arena, err);
    if (r >= 0)
        r = count_stored(t, k, err);
    if (r >= 0)
        r = insert(t, k, err);
    if (r < 0)
        return r;
    r = store_record(t, k, err);
    if (r < 0) {
        take_out(t, k);
        return r;
    }
    k->pending = false;
    t->required = true;
    t->usable++;
    *ret = WB_TAKE(k);
    return 0;
}

bool sv_key_is_of(const struct sv_key *k, const struct sv_key_owner *of)
{
    return !k->pending && (!of->tenant.n || wb_str_eq(k->tenant, of->tenant)) &&
           (!of->user.n || wb_str_eq(k->user, of->user));
}

/* An id goes before names: no name can be in the way of it. Among the keys of a name the usable one is meant. */
static int find_named(const struct sv_keys *t, const struct sv_key_owner *of, struct upp_str word, struct sv_key **ret,
                      struct upp_err *err)
{
    struct sv_key *found = by_id(t, word), *revoked = NULL;
    if (found && !sv_key_is_of(found, of))
        found = NULL;
    for (size_t i = 0; !(found && wb_str_eq(wb_cstr(found->id), word)) && i < t->list.n; i++) {
        struct sv_key *k = t->list.p[i];
        if (!sv_key_is_of(k, of) || !wb_str_eq(k->name, word))
            continue;
        if (k->revoked_ms)
            revoked = k;
        else if (found)
            return upp_fail(err, UPP_EINVALID, "several tenants have a key '%.*s': revoke it by its id", UPP_FMT(word));
        else
            found = k;
    }
    if (!found)
        found = revoked;
    if (!found)
        return upp_fail(err, UPP_ENOTFOUND, "no key '%.*s'", UPP_FMT(word));
    if (found->revoked_ms)
        return upp_fail(err, UPP_EREFUSED, "key '%.*s' (%s) is revoked already", UPP_FMT(found->name), found->id);
    *ret = found;
    return 0;
}

int sv_keys_revoke(struct sv_keys *t, const struct sv_key_owner *of, struct upp_str id_or_name,
                   const struct sv_key **ret, struct upp_err *err)
{
    struct sv_key *k = NULL;
    int r = find_named(t, of, id_or_name, &k, err);
    if (r < 0)
        return r;
    struct sv_key revoked = *k;
    revoked.revoked_ms = wb_wall_ms();
    k->refs++; /* it is not forgotten meanwhile */
    r = store_record(t, &revoked, err);
    k->refs--;
    if (r < 0)
        return r;
    if (is_usable(k) && --t->usable == 0) /* nobody else was faster */
        wb_log(WB_WARN, "the last API key is revoked: every request over TCP is refused until `weft keys add NAME`");
    __atomic_store_n(&k->revoked_ms, revoked.revoked_ms, __ATOMIC_RELAXED); /* streams look at it, on their loops */
    *ret = k;
    return 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* A count that cannot be read is no reason not to start. */
static int load_use(struct sv_key *k, struct upp_str json, struct upp_err *err)
{
    int r = sv_key_use_read(k, json, err);
    if (r >= 0 || r == -UPP_ENOMEM)
        return r;
    wb_log(WB_WARN, "what an API key has used cannot be read: it counts from zero", WB_LZ("key", k->id), WB_LERR(err));
    return 0;
}

WEFT_SUSPENDS static int load_page(struct sv_keys *t, struct upp_str space, struct wb_arena *a, struct upp_str *after,
                                   size_t *n, struct upp_err *err)
{
    bool keys = wb_str_eq(space, UPP_STR(KEYS_SPACE));
    struct wl_value *v;
    int r = wl_list_values(t->store, &ours, space, *after, PAGE, a, &v, n, err);
    for (size_t i = 0; r >= 0 && i < *n; i++) {
        struct sv_key *k = keys ? NULL : by_id(t, v[i].name);
        *after = v[i].name;
        if (!keys) {
            r = k ? load_use(k, v[i].bytes, err) : 0;
            continue;
        }
        r = sv_key_read(v[i].bytes, &k, err);
        if (r >= 0 && ((r = count_stored(t, k, err)) < 0 || (r = insert(t, k, err)) < 0))
            sv_key_free(k);
        if (r >= 0) {
            t->required = true; /* also if it is revoked */
            t->usable += is_usable(k);
        }
        r = r < 0 ? upp_wrap(err, r, "API key %.*s", UPP_FMT(v[i].name)) : 0;
    }
    return r;
}

WEFT_SUSPENDS static int load(struct sv_keys *t, struct upp_str space, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    struct upp_str after = {0};
    int r = 0;
    for (size_t n = PAGE; r >= 0 && n == PAGE;)
        r = load_page(t, space, &a, &after, &n, err);
    return r;
}

/* What was counted today, or on a later day if the clock was put back. Of keys that were forgotten nothing goes on. */
WEFT_SUSPENDS static int load_usage(struct sv_keys *t, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    struct upp_str after = {NULL, 0};
    do {
        struct wl_usage *list;
        size_t n;
        int r = wl_usage_list(t->store, wb_wall_ms() / SV_DAY_MS, after, WL_USAGE_PAGE, &a, &list, &n, &after, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            struct sv_key *k = by_id(t, list[i].key);
            struct sv_usage *u = k ? &k->usage : list[i].key.n ? NULL : sv_tenant_usage(&t->tenants, list[i].tenant);
            if (u)
                sv_usage_take(u, &list[i]);
        }
    } while (after.n);
    return 0;
}

/* Counts the runs that have not ended. */
WEFT_SUSPENDS static int load_runs(struct sv_keys *t, struct upp_err *err)
{
    struct wb_uuid after = {{0}};
    int r = 0;
    for (size_t n = t->list.n ? 1 : 0; r >= 0 && n;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wl_live_run *runs;
        r = wl_live_page(t->store, after, &a, &runs, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            struct sv_key *k = runs[i].run.depth ? NULL : by_id(t, wr_run_key(&runs[i].run));
            if (k)
                k->runs++;
            after = runs[i].run.id;
        }
    }
    return r;
}

int sv_keys_open(struct wl_store *store, struct wr_engine *engine, struct sv_keys **ret, struct upp_err *err)
{
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = wb_calloc(1, sizeof *t);
    if (!t)
        return upp_fail(err, UPP_ENOMEM, "no memory for API keys");
    t->store = store;
    t->quota = (struct wr_quota){.arg = t, .admit = admit, .leave = leave};
    sv_elsewhere_init(&t->elsewhere, &t->quota, weft_loop_current());
    int r = sv_stored_open(&t->stored, store, err);
    if (r >= 0)
        r = load(t, UPP_STR(KEYS_SPACE), err);
    if (r >= 0)
        r = load(t, UPP_STR(USE_SPACE), err);
    if (r >= 0)
        r = load_usage(t, err);
    if (r >= 0)
        r = load_runs(t, err);
    if (r >= 0)
        r = weft_scope_spawn(&t->saver, "api keys", saves, t, NULL, err);
    if (r < 0)
        return r;
    t->engine = engine;
    if (engine)
        wr_engine_set_quota(engine, sv_keys_quota(t));
    *ret = WB_TAKE(t);
    return 0;
}

void sv_keys_close(struct sv_keys *t)
{
    if (!t)
        return;
    if (t->engine)
        wr_engine_set_quota(t->engine, NULL);
    weft_scope_close(&t->saver);
    if (t->unsaved)
        save(t);
    sv_stored_close(&t->stored);
    for (size_t i = 0; i < t->list.n; i++)
        sv_key_free(t->list.p[i]);
    wb_vec_done(&t->list);
    sv_tenant_usages_done(&t->tenants);
    wb_free(t);
}

void sv_keys_closep(struct sv_keys **t)
{
    sv_keys_close(*t);
}
