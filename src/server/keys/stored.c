/* server/keys/stored.c — counts the bytes of tenants with every commit, and reads them again in the background. */
#include "server/keys/stored.h"

#include <stdlib.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/log.h"

enum { LONG = 1 << 10 }; /* texts of a thread that is set: worth counting again */

static size_t place(const struct sv_stored *s, struct upp_str name)
{
    size_t lo = 0, hi = s->list.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (wb_str_cmp(s->list.p[mid]->name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void lock(struct sv_stored *s)
{
    if (pthread_mutex_lock(&s->lock))
        abort();
}

static void unlock(struct sv_stored *s)
{
    if (pthread_mutex_unlock(&s->lock))
        abort();
}

/* A count lives as long as the table. */
static struct sv_tenant_stored *find_tenant(struct sv_stored *s, struct upp_str name)
{
    lock(s);
    size_t i = place(s, name);
    struct sv_tenant_stored *t = i < s->list.n && wb_str_eq(s->list.p[i]->name, name) ? s->list.p[i] : NULL;
    unlock(s);
    return t;
}

/* What the change adds; *stale: it also takes something away. */
static size_t added(const struct wl_change *x, bool *stale)
{
    switch ((int)x->kind) {
    case WL_SET_ROW:
        *stale = true;
        return x->row->body.n + x->row->tape.n;
    case WL_ADD_ROW:
        return x->row->body.n + x->row->tape.n;
    case WL_ADD_THREAD:
        return x->thread->title.n + x->thread->metadata.n;
    case WL_SET_THREAD:
        *stale |= x->thread->title.n + x->thread->metadata.n > LONG;
        return 0;
    case WL_ADD_RUN:
        return x->run->options.n;
    case WL_PUT_VALUE:
        *stale = true;
        return x->value->bytes.n;
    case WL_ADD_PIECE:
        return x->piece->bytes.n;
    case WL_DROP_THREAD:
    case WL_DROP_NODE:
    case WL_DROP_RUN:
    case WL_DROP_VALUE:
    case WL_DROP_BLOB:
        *stale = true;
        return 0;
    default:
        return 0;
    }
}

static void wake(void *arg)
{
    struct sv_stored *s = arg;
    weft_cond_signal(&s->wanted);
}

static void read_again(struct sv_tenant_stored *t)
{
    struct sv_stored *s = t->of;
    if (atomic_exchange(&t->stale, true))
        return;
    if (s->loop == weft_loop_current())
        wake(s);
    else if (weft_loop_post(s->loop, wake, s, NULL) < 0)
        t->stale = false; /* the loop is busy: the next change tells it */
}

static void committed(void *arg, const struct wl_commit *c)
{
    struct sv_stored *s = arg;
    struct sv_tenant_stored *t = find_tenant(s, c->owner.tenant);
    bool stale = false;
    uint64_t more = 0;
    for (size_t i = 0; t && i < c->n; i++)
        more += added(&c->changes[i], &stale);
    if (more)
        atomic_fetch_add(&t->bytes, more);
    if (stale)
        read_again(t);
}

bool sv_stored_reached(struct sv_tenant_stored *t, uint64_t limit)
{
    if (t->bytes < limit)
        return false;
    read_again(t);
    return true;
}

static bool read_next(const struct sv_stored *s, struct sv_tenant_stored **ret)
{
    for (size_t i = 0; i < s->list.n; i++)
        if (s->list.p[i]->stale) {
            *ret = s->list.p[i];
            return true;
        }
    return false;
}

/* What is committed during the reading may be counted twice, until it is read again. */
WEFT_SUSPENDS static void read_one(struct sv_stored *s, struct sv_tenant_stored *t)
{
    struct wl_owner o = {.tenant = t->name};
    struct upp_err err = {0};
    uint64_t begun = t->bytes, bytes;
    t->stale = false;
    if (wl_get_bytes(s->store, &o, &bytes, &err) >= 0)
        atomic_fetch_add(&t->bytes, bytes - begun); /* and what came meanwhile */
    else
        wb_log(WB_WARN, "what a tenant has stored is not counted", WB_LS("tenant", t->name), WB_LERR(&err));
}

WEFT_SUSPENDS static int reads(void *arg, struct upp_err *err)
{
    struct sv_stored *s = arg;
    for (;;) {
        struct sv_tenant_stored *t;
        int r = 0;
        bool any = false;
        for (; r >= 0 && read_next(s, &t); any = true) {
            read_one(s, t);
            r = weft_yield(err);
        }
        if (r >= 0)
            r = any ? weft_sleep_ms(SV_STORED_MS, err) : weft_cond_wait(&s->wanted, err);
        if (r < 0)
            return r;
    }
}

int sv_stored_of(struct sv_stored *s, struct upp_str tenant, size_t max, struct sv_tenant_stored **ret,
                 struct upp_err *err)
{
    struct sv_tenant_stored *t = find_tenant(s, tenant);
    if (!t) {
        lock(s);
        bool room = wb_vec_room(&s->list, max);
        unlock(s);
        t = room ? wb_calloc(1, sizeof *t + tenant.n + 1) : NULL;
        if (!t)
            return upp_fail(err, UPP_ENOMEM, "no memory for the count of a tenant");
        memcpy(t + 1, tenant.p, tenant.n);
        t->name = wb_str((const char *)(t + 1), tenant.n);
        t->of = s;
        t->stale = true;
        lock(s);
        size_t at = place(s, tenant);
        memmove(&s->list.p[at + 1], &s->list.p[at], (s->list.n - at) * sizeof *s->list.p);
        s->list.p[at] = t;
        s->list.n++;
        unlock(s);
        weft_cond_signal(&s->wanted);
    }
    *ret = t;
    return 0;
}

int sv_stored_open(struct sv_stored *s, struct wl_store *store, struct upp_err *err)
{
    if (pthread_mutex_init(&s->lock, NULL))
        return upp_fail(err, UPP_ENOMEM, "no memory for a lock");
    s->loop = weft_loop_current();
    s->store = store;
    s->watch = (struct wl_watch){.arg = s, .committed = committed};
    store->watch = &s->watch;
    return weft_scope_spawn(&s->scope, "stored bytes", reads, s, NULL, err);
}

void sv_stored_close(struct sv_stored *s)
{
    weft_scope_close(&s->scope);
    if (!s->store)
        return;
    s->store->watch = NULL;
    for (size_t i = 0; i < s->list.n; i++)
        wb_free(s->list.p[i]);
    wb_vec_done(&s->list);
    (void)pthread_mutex_destroy(&s->lock); /* nobody has it */
}
