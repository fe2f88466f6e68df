#include "server/keys/table.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "log/change.h"
#include "server/keys/stored.h"
#include "stores/blobs/blobs.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/sim/sim.h"
#include "support/test.h"

static const struct sv_key_spec ci = {
    .name = UPP_STR_INIT("ci"), .tenant = UPP_STR_INIT("acme"), .scopes = SV_SCOPE_RUN};

static const struct sv_key_owner all = {0}, acme = {.tenant = UPP_STR_INIT("acme")},
                                 t7 = {.tenant = UPP_STR_INIT("t7")}, t8 = {.tenant = UPP_STR_INIT("t8")};

WEFT_SUSPENDS static int changes(struct wl_store *s, struct upp_err *err)
{
    char first[SV_KEY_TEXT + 1], second[SV_KEY_TEXT + 1];
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    const struct sv_key *k, *other;
    struct sv_key_spec spec = ci;
    TRY(sv_keys_open(s, NULL, &t, err));
    FAIL_UNLESS(!sv_keys_usable(t) && !sv_keys_required(t) && !sv_keys_next(t, NULL));
    TRY(sv_keys_add(t, &ci, first, &k, err));
    FAIL_UNLESS(sv_keys_find(t, wb_cstr(first)) == k && sv_keys_usable(t) && sv_keys_required(t));
    FAIL_UNLESS(sv_keys_add(t, &ci, second, &other, err) == -UPP_EBUSY); /* the name is taken ... */
    spec.tenant = UPP_STR("other");
    TRY(sv_keys_add(t, &spec, second, &other, err));                               /* ... in this tenant */
    FAIL_UNLESS(sv_keys_revoke(t, &all, UPP_STR("ci"), &k, err) == -UPP_EINVALID); /* which one? */
    FAIL_UNLESS(sv_keys_revoke(t, &acme, wb_cstr(other->id), &k, err) == -UPP_ENOTFOUND);
    TRY(sv_keys_revoke(t, &acme, UPP_STR("ci"), &k, err));
    FAIL_UNLESS(k->revoked_ms && !sv_keys_find(t, wb_cstr(first)) && sv_keys_find(t, wb_cstr(second)) == other);
    FAIL_UNLESS(sv_keys_revoke(t, &all, wb_cstr(k->id), &k, err) == -UPP_EREFUSED); /* once */
    FAIL_UNLESS(strstr(err->msg, "is revoked already"));
    FAIL_UNLESS(sv_keys_revoke(t, &acme, UPP_STR("ci"), &k, err) == -UPP_EREFUSED);
    TRY(sv_keys_add(t, &ci, first, &k, err)); /* the name of a revoked one is free */
    TRY(sv_keys_revoke(t, &all, wb_cstr(k->id), &k, err));
    TRY(sv_keys_revoke(t, &all, wb_cstr(other->id), &k, err));
    FAIL_UNLESS(!sv_keys_usable(t) && sv_keys_required(t)); /* nobody is let in because the last key is gone */
    sv_keys_close(WB_TAKE(t));
    TRY(sv_keys_open(s, NULL, &t, err));
    size_t n = 0;
    for (k = NULL; (k = sv_keys_next(t, k)); n++)
        FAIL_UNLESS(k->revoked_ms);
    FAIL_UNLESS(n == 3 && !sv_keys_usable(t) && sv_keys_required(t)); /* nor after a restart */
    return 0;
}

/* Ids before names, and only keys of the user. */
WEFT_SUSPENDS static int finds(struct wl_store *s, struct upp_err *err)
{
    char text[SV_KEY_TEXT + 1], other[SV_KEY_TEXT + 1];
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    const struct sv_key *first, *second, *k;
    struct sv_key_spec spec = ci;
    const struct sv_key_owner ann = {.tenant = UPP_STR("acme"), .user = UPP_STR("ann")};
    TRY(sv_keys_open(s, NULL, &t, err));
    spec.user = UPP_STR("ann");
    TRY(sv_keys_add(t, &spec, text, &first, err));
    spec.name = UPP_STR("bobs");
    spec.user = UPP_STR("bob");
    TRY(sv_keys_add(t, &spec, other, &second, err));
    FAIL_UNLESS(sv_keys_revoke(t, &ann, UPP_STR("bobs"), &k, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(sv_keys_revoke(t, &ann, wb_cstr(second->id), &k, err) == -UPP_ENOTFOUND);
    spec.name = wb_cstr(second->id);
    FAIL_UNLESS(sv_keys_add(t, &spec, other, &k, err) == -UPP_EINVALID);
    struct sv_key *old = sv_keys_find(t, wb_cstr(text)); /* of a name that an earlier version permitted */
    struct upp_str name = old->name;
    old->name = wb_cstr(second->id);
    TRY(sv_keys_revoke(t, &all, wb_cstr(second->id), &k, err));
    FAIL_UNLESS(k == second);
    FAIL_UNLESS(sv_keys_revoke(t, &all, wb_cstr(second->id), &k, err) == -UPP_EREFUSED);
    old->name = name;
    TRY(sv_keys_revoke(t, &ann, UPP_STR("ci"), &k, err));
    FAIL_UNLESS(k == first);
    return 0;
}

/* The use of keys is not lost when the store fails for a while, nor when the table is closed while it is stored. */
static int (*real_commit)(struct wl_store *s, struct wl_commit *c, struct upp_err *err);
static int fail_use;
static bool slow_use;
static struct wl_store_ops picky; /* used also by a store that is closed after a failure */

WEFT_SUSPENDS static int picky_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    bool use =
        c->n && c->changes[0].kind == WL_PUT_VALUE && wb_str_eq(c->changes[0].value->space, UPP_STR("api-key-use"));
    if (use && fail_use > 0) {
        fail_use--;
        return upp_fail(err, UPP_ESTORE, "not now");
    }
    if (use && slow_use) {
        int r = weft_sleep_ms(60000, err);
        if (r < 0)
            return r;
    }
    return real_commit(s, c, err);
}

WEFT_SUSPENDS static int saves_use(struct wl_store *s, struct upp_err *err)
{
    struct upp_usage used = {.input = 7};
    char text[SV_KEY_TEXT + 1];
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    const struct sv_key *k;
    const struct wl_store_ops *kept = s->ops;
    real_commit = kept->commit;
    fail_use = 0;
    slow_use = false;
    picky = *kept;
    picky.commit = picky_commit;
    s->ops = &picky;
    TRY(sv_keys_open(s, NULL, &t, err));
    TRY(sv_keys_add(t, &ci, text, &k, err));
    const struct wr_quota *q = sv_keys_quota(t);
    fail_use = 2;
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), &used);
    TRY(weft_sleep_ms(1500, err));
    FAIL_UNLESS(fail_use == 1 && k->unsaved);
    TRY(weft_sleep_ms(5000, err)); /* it is tried again */
    FAIL_UNLESS(fail_use == 0 && !k->unsaved);
    slow_use = true;
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), &used);
    TRY(weft_sleep_ms(1500, err));
    FAIL_UNLESS(k->refs == 1); /* being stored: it is not forgotten */
    slow_use = false;
    sv_keys_close(WB_TAKE(t));
    TRY(sv_keys_open(s, NULL, &t, err));
    k = sv_keys_find(t, wb_cstr(text));
    FAIL_UNLESS(k && sv_key_tokens(k, wb_wall_ms()) == 14);
    sv_keys_close(WB_TAKE(t));
    s->ops = kept;
    return 0;
}

/* A day, the limits of runs and tokens, and what a restart remembers. */
WEFT_SUSPENDS static int limits(struct wl_store *s, struct upp_err *err)
{
    struct upp_usage used = {.input = 60, .output = 41};
    struct sv_key_spec spec = ci;
    char text[SV_KEY_TEXT + 1];
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    const struct sv_key *added;
    spec.limits = (struct sv_limits){.requests = 2, .runs = 2, .tokens = 100};
    TRY(sv_keys_open(s, NULL, &t, err));
    TRY(sv_keys_add(t, &spec, text, &added, err));
    struct sv_key *k = sv_keys_find(t, wb_cstr(text));
    const struct wr_quota *q = sv_keys_quota(t);
    TRY(sv_key_count(t, k, err));
    TRY(sv_key_count(t, k, err));
    FAIL_UNLESS(sv_key_count(t, k, err) == -UPP_ERATE && err->retry_after_ms &&
                strstr(err->msg, "2 requests a minute"));
    TRY(q->admit(q->arg, wb_cstr(k->id), err));
    TRY(q->admit(q->arg, wb_cstr(k->id), err));
    FAIL_UNLESS(q->admit(q->arg, wb_cstr(k->id), err) == -UPP_ERATE && err->retry_after_ms);
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), NULL); /* it was not stored: no tokens */
    FAIL_UNLESS(sv_key_tokens(k, wb_wall_ms()) == 0);
    TRY(q->admit(q->arg, wb_cstr(k->id), err));
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), &used);
    FAIL_UNLESS(sv_key_tokens(k, wb_wall_ms()) == 101 && k->runs == 1);
    FAIL_UNLESS(sv_key_may_start(k, err) == -UPP_EQUOTA && err->retry_after_ms <= SV_DAY_MS);
    FAIL_UNLESS(q->admit(q->arg, wb_cstr(k->id), err) == -UPP_EQUOTA);
    k->limits.tokens = 0;
    k->limits.runs = 1;
    FAIL_UNLESS(sv_key_may_start(k, err) == -UPP_ERATE && strstr(err->msg, "a limit of 1 run at the same time"));
    FAIL_UNLESS(sv_key_tokens(k, wb_wall_ms() + SV_DAY_MS) == 0); /* tomorrow */
    k->day++; /* the clock was ahead, and was put back over midnight */
    FAIL_UNLESS(sv_key_tokens(k, wb_wall_ms()) == 101);
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), &used);
    FAIL_UNLESS(sv_key_tokens(k, wb_wall_ms()) == 202 && k->day == wb_wall_ms() / SV_DAY_MS + 1);
    k->day += 300; /* it was far ahead: from the next request on it is today's */
    FAIL_UNLESS(sv_key_count(t, k, err) == -UPP_ERATE && k->day == wb_wall_ms() / SV_DAY_MS);
    FAIL_UNLESS(sv_key_tokens(k, wb_wall_ms()) == 202 && sv_key_tokens(k, wb_wall_ms() + SV_DAY_MS) == 0);
    k->tokens = 101;
    TRY(q->admit(q->arg, UPP_STR("0000000000000000"), err)); /* a key that was forgotten limits nothing */
    q->leave(q->arg, UPP_STR("acme"), UPP_STR("0000000000000000"), &used);
    sv_keys_close(WB_TAKE(t));
    TRY(sv_keys_open(s, NULL, &t, err));
    k = sv_keys_find(t, wb_cstr(text));
    FAIL_UNLESS(k && sv_key_tokens(k, wb_wall_ms()) == 101 && k->used_ms);
    return 0;
}

/* What a provider reports may be anything, and what is stored may be damaged: neither resets a count or stops a start.
 */
WEFT_SUSPENDS static int huge_use(struct wl_store *s, struct upp_err *err)
{
    static const struct wl_owner ours = {.tenant = UPP_STR_INIT("weft")};
    struct upp_usage most = {.input = UINT64_MAX, .output = 2}, more = {.input = 5};
    struct sv_key_spec spec = ci;
    char text[SV_KEY_TEXT + 1];
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    const struct sv_key *k;
    spec.limits.tokens = SV_LIMIT_MAX;
    TRY(sv_keys_open(s, NULL, &t, err));
    TRY(sv_keys_add(t, &spec, text, &k, err));
    const struct wr_quota *q = sv_keys_quota(t);
    for (int i = 0; i < 3; i++)
        q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), i ? &more : &most);
    FAIL_UNLESS(sv_key_tokens(k, wb_wall_ms()) == SV_LIMIT_MAX);
    FAIL_UNLESS(q->admit(q->arg, wb_cstr(k->id), err) == -UPP_EQUOTA);
    sv_keys_close(WB_TAKE(t));
    TRY(sv_keys_open(s, NULL, &t, err));
    k = sv_keys_find(t, wb_cstr(text));
    FAIL_UNLESS(k && sv_key_tokens(k, wb_wall_ms()) == SV_LIMIT_MAX);
    struct wl_value v = {.space = UPP_STR("api-key-use"), .name = wb_cstr(k->id), .bytes = UPP_STR("{\"day\":tru")};
    struct wl_change put = {.kind = WL_PUT_VALUE, .value = &v};
    struct wl_commit c = {.owner = ours, .changes = &put, .n = 1};
    TRY(wl_store_commit(s, &c, err));
    sv_keys_close(WB_TAKE(t));
    TRY(sv_keys_open(s, NULL, &t, err));
    k = sv_keys_find(t, wb_cstr(text));
    FAIL_UNLESS(k && sv_key_tokens(k, wb_wall_ms()) == 0 && !k->used_ms);
    return 0;
}

/* What the tenant stores: a count that grows at once, and is right after a while. */
WEFT_SUSPENDS static int stores_bytes(struct wl_store *s, struct upp_err *err)
{
    static char text[4096];
    struct sv_key_spec spec = ci;
    char key[SV_KEY_TEXT + 1];
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    const struct sv_key *added;
    struct wl_value v = {.space = UPP_STR("s"), .name = UPP_STR("n"), .bytes = wb_str(text, sizeof text)};
    struct wl_change put = {.kind = WL_PUT_VALUE, .value = &v}, drop = {.kind = WL_DROP_VALUE, .value = &v};
    struct wl_commit c = {.owner.tenant = UPP_STR("acme"), .changes = &put, .n = 1};
    uint64_t size = 0;
    TRY(wl_store_commit(s, &c, err));
    spec.limits.bytes = 10000;
    TRY(sv_keys_open(s, NULL, &t, err));
    TRY(sv_keys_add(t, &spec, key, &added, err));
    struct sv_key *k = sv_keys_find(t, wb_cstr(key));
    while (k->stored->bytes != sizeof text) /* what was there before */
        TRY(weft_sleep_ms(1, err));
    v.name = UPP_STR("m");
    TRY(wl_store_commit(s, &c, err));
    FAIL_UNLESS(sv_key_may_store(k, err) >= 0 && k->stored->bytes == 2 * sizeof text);
    TRY(wl_store_commit(s, &c, err)); /* the same again: counted twice, at first */
    FAIL_UNLESS(sv_key_may_store(k, err) == -UPP_EQUOTA && sv_key_may_start(k, err) == -UPP_EQUOTA &&
                err->retry_after_ms);
    TRY(wl_get_bytes(s, &c.owner, &size, err));
    FAIL_UNLESS(size == 2 * sizeof text);
    TRY(weft_sleep_ms(2 * SV_STORED_MS, err));
    FAIL_UNLESS(sv_key_may_store(k, err) >= 0 && k->stored->bytes == 2 * sizeof text);
    c.changes = &drop;
    TRY(wl_store_commit(s, &c, err));
    TRY(weft_sleep_ms(2 * SV_STORED_MS, err));
    FAIL_UNLESS(k->stored->bytes == sizeof text);
    c.owner.tenant = UPP_STR("other"); /* others do not count */
    c.changes = &put;
    TRY(wl_store_commit(s, &c, err));
    FAIL_UNLESS(k->stored->bytes == sizeof text);
    return 0;
}

static size_t n_keys(const struct sv_keys *t)
{
    size_t n = 0;
    for (const struct sv_key *k = NULL; (k = sv_keys_next(t, k));)
        n++;
    return n;
}

/* A full table: revoked keys make room, usable ones do not. */
WEFT_SUSPENDS static int fills(struct wl_store *s, struct upp_err *err)
{
    char name[24], text[SV_KEY_TEXT + 1];
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    const struct sv_key *k;
    struct sv_key_spec spec = ci;
    TRY(sv_keys_open(s, NULL, &t, err));
    for (size_t i = 0; i < SV_KEYS_MAX; i++) {
        (void)snprintf(name, sizeof name, "t%zu", i);
        spec.tenant = wb_cstr(name);
        TRY(sv_keys_add(t, &spec, text, &k, err));
    }
    spec.tenant = UPP_STR("more");
    FAIL_UNLESS(sv_keys_add(t, &spec, text, &k, err) == -UPP_ELIMIT);
    TRY(sv_keys_revoke(t, &t7, UPP_STR("ci"), &k, err));
    TRY(sv_keys_add(t, &spec, text, &k, err));
    spec.tenant = UPP_STR("evenmore");
    FAIL_UNLESS(sv_keys_add(t, &spec, text, &k, err) == -UPP_ELIMIT);
    TRY(sv_keys_revoke(t, &t8, UPP_STR("ci"), &k, err));
    spec.name = UPP_STR("not a name");
    FAIL_UNLESS(sv_keys_add(t, &spec, text, &k, err) == -UPP_EINVALID &&
                n_keys(t) == SV_KEYS_MAX); /* none was forgotten */
    return 0;
}

/* The same for one tenant. */
WEFT_SUSPENDS static int fills_tenant(struct wl_store *s, struct upp_err *err)
{
    char name[24], text[SV_KEY_TEXT + 1];
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    const struct sv_key *k;
    struct sv_key_spec spec = ci;
    TRY(sv_keys_open(s, NULL, &t, err));
    for (size_t i = 0; i < SV_TENANT_KEYS_MAX; i++) {
        (void)snprintf(name, sizeof name, "k%zu", i);
        spec.name = wb_cstr(name);
        TRY(sv_keys_add(t, &spec, text, &k, err));
    }
    spec.name = UPP_STR("more");
    FAIL_UNLESS(sv_keys_add(t, &spec, text, &k, err) == -UPP_ELIMIT && strstr(err->msg, "a tenant has at most 1000"));
    spec.tenant = UPP_STR("t7");
    TRY(sv_keys_add(t, &spec, text, &k, err)); /* others have room */
    TRY(sv_keys_revoke(t, &t7, UPP_STR("more"), &k, err));
    spec.tenant = ci.tenant;
    FAIL_UNLESS(sv_keys_add(t, &spec, text, &k, err) == -UPP_ELIMIT); /* which is not ours */
    TRY(sv_keys_revoke(t, &acme, UPP_STR("k3"), &k, err));
    TRY(sv_keys_add(t, &spec, text, &k, err));
    FAIL_UNLESS(n_keys(t) == SV_TENANT_KEYS_MAX + 1);
    return 0;
}

struct acting {
    int (*fn)(struct wl_store *s, struct upp_err *err);
};

/* With blobs, which count what a tenant stores. */
WEFT_SUSPENDS static int act(void *arg, struct upp_err *err)
{
    struct acting *x = arg;
    struct wl_store *memory, *s;
    int r = ws_memory_open(&memory, err);
    if (r < 0)
        return r;
    r = ws_blobs_open(memory, &s, err); /* closes it, also on failure */
    if (r < 0)
        return r;
    r = x->fn(s, err);
    s->ops->close(s);
    return r;
}

struct seen {
    size_t n;
    struct wl_usage last;
};

static void see(void *arg, const struct sv_usage *u)
{
    struct seen *to = arg;
    to->n++;
    to->last = u->now;
}

/* The rows of the store: how many, and that of a key (empty: of tenant acme without one) of a day. */
WEFT_SUSPENDS static int usage_of(struct wl_store *s, int64_t day, const char *key, struct wl_usage *ret,
                                  struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    return wl_usage_get(s, day, UPP_STR("acme"), wb_cstr(key), &a, ret, err);
}

/* What is counted by key, tenant and day; over midnight; back over midnight; after a crash. */
WEFT_SUSPENDS static int counts_days(struct wl_store *s, struct upp_err *err)
{
    struct upp_usage used = {.input = 60, .output = 41, .cache_read = 50, .cache_write = 3, .reasoning = 7};
    char text[SV_KEY_TEXT + 1];
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    const struct sv_key *added;
    struct wl_usage u;
    struct seen seen = {0};
    TRY(sv_keys_open(s, NULL, &t, err));
    TRY(sv_keys_add(t, &ci, text, &added, err));
    struct sv_key *k = sv_keys_find(t, wb_cstr(text));
    const struct wr_quota *q = sv_keys_quota(t);
    int64_t today = wb_wall_ms() / SV_DAY_MS;
    sv_keys_each_usage(t, see, &seen);
    FAIL_UNLESS(seen.n == 0);
    TRY(sv_key_count(t, k, err));
    TRY(sv_key_count(t, k, err));
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), &used);
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), NULL); /* it was not stored */
    q->leave(q->arg, UPP_STR("acme"), UPP_STR(""), &used);   /* without a key */
    q->leave(q->arg, UPP_STR("acme"), UPP_STR(""), &used);
    TRY(weft_sleep_ms(2500, err)); /* no close: what kill -9 leaves */
    TRY(usage_of(s, today, k->id, &u, err));
    FAIL_UNLESS(u.requests == 2 && u.runs == 1 && u.input == 60 && u.output == 41 && u.cache_read == 50 &&
                u.cache_write == 3 && u.reasoning == 7);
    TRY(usage_of(s, today, "", &u, err));
    FAIL_UNLESS(u.requests == 0 && u.runs == 2 && u.input == 120);
    sv_keys_each_usage(t, see, &seen);
    FAIL_UNLESS(seen.n == 2);
    sv_keys_close(WB_TAKE(t));
    TRY(sv_keys_open(s, NULL, &t, err)); /* a restart goes on with the day */
    q = sv_keys_quota(t);
    k = sv_keys_find(t, wb_cstr(text));
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), &used);
    q->leave(q->arg, UPP_STR("acme"), UPP_STR(""), &used);
    k->usage.now.day++; /* the clock was ahead, and was put back over midnight: the later day goes on */
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), &used);
    sv_keys_save(t);
    TRY(usage_of(s, today + 1, k->id, &u, err));
    FAIL_UNLESS(u.requests == 2 && u.runs == 3 && u.input == 180);
    TRY(usage_of(s, today, "", &u, err));
    FAIL_UNLESS(u.runs == 3);
    k->usage.now.day += 300; /* it was far ahead: what was counted is today's */
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), &used);
    sv_keys_save(t);
    TRY(usage_of(s, today + 301, k->id, &u, err));
    FAIL_UNLESS(u.runs == 0 && u.input == 0);
    TRY(usage_of(s, today, k->id, &u, err));
    FAIL_UNLESS(u.runs == 4 && u.input == 240);
    k->usage.now.day -= 2; /* that is: two midnights pass, the first with something that is not stored yet */
    k->usage.unsaved = true;
    q->leave(q->arg, UPP_STR("acme"), wb_cstr(k->id), &used);
    sv_keys_save(t);
    TRY(usage_of(s, today - 2, k->id, &u, err));
    FAIL_UNLESS(u.runs == 4);
    TRY(usage_of(s, today, k->id, &u, err));
    FAIL_UNLESS(u.runs == 1 && u.input == 60);
    return 0;
}

/* Tenants without keys are bounded: those beyond are counted together. */
WEFT_SUSPENDS static int bounds_tenants(struct wl_store *s, struct upp_err *err)
{
    struct upp_usage used = {.input = 1};
    UPP_CLEANUP(sv_keys_closep) struct sv_keys *t = NULL;
    struct seen seen = {0};
    char name[16];
    TRY(sv_keys_open(s, NULL, &t, err));
    const struct wr_quota *q = sv_keys_quota(t);
    for (int i = 0; i < SV_USAGE_TENANTS + 5; i++) {
        (void)snprintf(name, sizeof name, "t%d", i);
        q->leave(q->arg, wb_cstr(name), UPP_STR(""), &used);
    }
    sv_keys_each_usage(t, see, &seen);
    FAIL_UNLESS(seen.n == SV_USAGE_TENANTS + 1);
    sv_keys_save(t);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_usage u;
    TRY(wl_usage_get(s, wb_wall_ms() / SV_DAY_MS, UPP_STR("*"), UPP_STR(""), &a, &u, err));
    FAIL_UNLESS(u.runs == 5 && u.input == 5);
    return 0;
}

/* In a world of virtual time. */
static void play(int (*fn)(struct wl_store *s, struct upp_err *err))
{
    struct upp_err err = {0};
    struct acting x = {fn};
    struct weft__sim *world;
    CHECK_INT(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 3), &world, &err), 0);
    int r = weft_loop_run(weft__sim_loop(world, 0), "keys", act, &x, &err);
    weft__sim_close(world);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

TEST(keys_are_added_and_revoked)
{
    play(changes);
}

TEST(keys_have_limits)
{
    play(limits);
}

TEST(keys_survive_a_use_that_is_damaged)
{
    play(huge_use);
}

TEST(keys_count_what_their_tenant_stores)
{
    play(stores_bytes);
}

TEST_WITH(keys_are_bounded, .no_torture = "ten thousand keys; the others are tortured")
{
    if (test_share() <= 8) /* else the limit of a tenant stands for it */
        play(fills);
}

TEST_WITH(keys_of_a_tenant_are_bounded, .no_torture = "a thousand keys; the others are tortured")
{
    play(fills_tenant);
}

TEST(keys_are_found_by_id_first)
{
    play(finds);
}

/* Midnight comes while a commit is under way: what the day before used stays, whether the commit fails or not. */
TEST(keys_count_usage_over_a_midnight_in_a_commit)
{
    for (int r = -UPP_ESTORE; r <= 0; r += UPP_ESTORE) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        struct sv_usage u = {.now = {.tenant = UPP_STR("t")}};
        struct wl_value values[SV_USAGE_VALUES];
        size_t n;
        struct upp_err err = {0};
        sv_usage_request(&u, 100 * WL_DAY_MS);
        CHECK(sv_usage_values(&u, &a, values, &n, &err) == 0);
        CHECK_INT(n, 1);
        if (r == 0)
            sv_usage_request(&u, 100 * WL_DAY_MS);
        sv_usage_request(&u, 101 * WL_DAY_MS);
        sv_usage_saved(&u, r);
        CHECK(u.past.day == 100 && u.past.requests == (r == 0 ? 2 : 1) && u.now.requests == 1);
        CHECK(sv_usage_values(&u, &a, values, &n, &err) == 0);
        CHECK_INT(n, 2);
        sv_usage_saved(&u, 0);
        CHECK(u.past.day == 0 && !u.unsaved);
    }
}

TEST(keys_count_usage_by_day)
{
    play(counts_days);
}

TEST_WITH(keys_count_usage_of_bounded_tenants, .no_torture = "a thousand tenants; the other is tortured")
{
    play(bounds_tenants);
}

TEST(keys_lose_no_use)
{
    play(saves_use);
}
