/* log/delete.c — deletes threads: the pointer, those of its sub-threads, and leaves a note of what they pointed to.
 *
 * The notes (values of the space "deleted", by thread id) lead the sweep to what no thread reaches any more. Pointer
 * and note change in one commit. If there are more sub-threads than fit into one commit, they go first and the thread
 * last: until then it exists, and deleting it can be repeated.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "base/hooks.h"
#include "base/vec.h"
#include "json/write.h"
#include "log/change.h"
#include "log/forget.h"
#include "log/staged.h"
#include "log/lines.h"
#include "log/pages.h"

enum {
    TRIES = 16,
    EACH = WL_CHANGES / 4, /* threads deleted per commit: each is at most four changes */
    NOTES = 16 << 10,      /* bytes of a note, at most */
};

struct family {
    WB_VEC(struct wl_thread) all; /* of the family */
    WB_VEC(bool) in;
};

static void family_done(struct family *b)
{
    wb_vec_done(&b->all);
    wb_vec_done(&b->in);
}

/* Without their texts, which may be megabytes each. */
static WEFT_SUSPENDS int read_family(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                     struct family *b, struct upp_err *err)
{
    WB_CLEANUP(wl_pages_done)
    struct wl_pages p = WL_PAGES(s, .what = WL_LIST_FAMILY_THREADS, .owner = o, .number = wl_family(t->tree));
    int r;
    while ((r = wl_pages_next(&p, err)) > 0) {
        const struct wl_thread *list = p.list.p;
        for (size_t i = 0; i < p.list.n; i++) {
            struct wl_thread one = list[i];
            one.owner = *o;
            one.title = one.metadata = (struct upp_str){NULL, 0};
            if (!wb_vec_push(&b->all, one, WL_FAMILY) || !wb_vec_push(&b->in, wb_uuid_eq(one.id, t->id), WL_FAMILY))
                return upp_fail(err, UPP_ENOMEM, "no memory for a family of more than %zu threads", b->in.n);
        }
    }
    return r;
}

static const bool *find_in(const struct family *b, struct wb_uuid id)
{
    size_t lo = 0, hi = b->all.n; /* they are ordered by id */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = memcmp(b->all.p[mid].id.b, id.b, sizeof id.b);
        if (c == 0)
            return &b->in.p[mid];
        *(c < 0 ? &lo : &hi) = c < 0 ? mid + 1 : mid;
    }
    return NULL;
}

/* Transitive closure over parents: at most as many rounds as threads are nested. */
static size_t close_over(struct family *b)
{
    size_t n = 0;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < b->all.n; i++) {
            const bool *parent = b->in.p[i] || b->all.p[i].kind != WL_SUB ? NULL : find_in(b, b->all.p[i].parent);
            if (parent && *parent)
                b->in.p[i] = more = true;
        }
    }
    for (size_t i = 0; i < b->all.n; i++)
        n += b->in.p[i];
    return n;
}

WEFT_SUSPENDS int wl_thread_family(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   struct wb_arena *a, struct wl_thread **ret, size_t *n, size_t *others,
                                   struct upp_err *err)
{
    WB_CLEANUP(family_done) struct family b = {0};
    int r = read_family(s, o, t, &b, err);
    if (r < 0)
        return r;
    size_t found = close_over(&b), at = found, back = found;
    struct wl_thread *list = wb_new_n(a, struct wl_thread, b.all.n + 1);
    if (!list)
        return wb_arena_check(a, err);
    if (!found || !find_in(&b, t->id))
        return upp_fail(err, UPP_ENOTFOUND, "there is no such thread any more");
    for (size_t i = 0; i < b.all.n; i++)
        if (!b.in.p[i])
            list[at++] = b.all.p[i];
        else if (wb_uuid_eq(b.all.p[i].id, t->id))
            list[0] = b.all.p[i];
        else
            list[--back] = b.all.p[i];
    *ret = list;
    *n = found;
    *others = at - found;
    return 0;
}

struct deleting {
    struct wl_store *s;
    const struct wl_owner *o;
    bool forgets; /* no audit, and the sweep need not wait */
    struct wb_arena a;
    struct wl_change list[WL_CHANGES];
    size_t n;
    struct upp_err *err;
};

/* {"tree": ID, "head": KEY, "time": MS, "user": TEXT} */
int wl_deleted_note(const struct wl_owner *o, const struct wl_thread *t, int64_t time_ms, struct wb_arena *a,
                    struct wl_value *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(NOTES);
    struct wj_writer w;
    char id[WB_UUID_TEXT + 1];
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "tree", wb_uuid_text(t->tree, id));
    wj_put_u64(&w, "head", t->head);
    wj_put_i64(&w, "time", time_ms);
    wj_put_str(&w, "user", o->user);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    ret->space = UPP_STR(WL_DELETED);
    ret->name = wb_arena_dup(a, wb_uuid_text(t->id, id));
    ret->bytes = wb_arena_dup(a, wb_buf_str(&b));
    return r < 0 ? r : wb_arena_check(a, err);
}

static int add(struct deleting *x, const struct wl_thread *t)
{
    struct wl_value *gone = wb_new_n(&x->a, struct wl_value, 3);
    int r = gone ? wl_deleted_note(x->o, t, x->forgets ? 0 : wb_wall_ms(), &x->a, &gone[0], x->err)
                 : wb_arena_check(&x->a, x->err);
    if (r < 0)
        return r;
    gone[1] = (struct wl_value){.space = UPP_STR(WL_IMPORTED), .name = gone[0].name};
    x->list[x->n++] = (struct wl_change){.kind = WL_DROP_THREAD, .thread = t};
    x->list[x->n++] = (struct wl_change){.kind = WL_PUT_VALUE, .value = &gone[0]};
    x->list[x->n++] = (struct wl_change){.kind = WL_DROP_VALUE, .value = &gone[1]};
    if (t->kind == WL_SUB || x->forgets)
        return 0;
    gone[2] = (struct wl_value){UPP_STR(WL_AUDIT), gone[0].name, gone[0].bytes};
    x->list[x->n++] = (struct wl_change){.kind = WL_PUT_VALUE, .value = &gone[2]};
    return 0;
}

static WEFT_SUSPENDS int check_idle(struct deleting *x, const struct wl_thread *t)
{
    struct wm_run *run;
    size_t n;
    int r = wl_list_runs(x->s, x->o, t->id, true, 1, &x->a, &run, &n, x->err);
    return r >= 0 && n ? upp_fail(x->err, UPP_EBUSY, "a run is under way on this thread") : r;
}

/* Drops staged imports that were never finished: nobody has seen them. 1: another writer was first. */
static WEFT_SUSPENDS int drop_staged(struct deleting *x, struct wl_thread *list, size_t n)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = wl_staged_clear(x->s, x->o, &list[i], x->err);
    return r == -UPP_EBUSY || r == -UPP_ENOTFOUND ? 1 : r;
}

/* 0: deleted. 1: another writer was first. */
static WEFT_SUSPENDS int try_once(struct deleting *x, const struct wl_thread *t)
{
    struct wl_thread *list;
    size_t n, others;
    int r = wl_thread_family(x->s, x->o, t, &x->a, &list, &n, &others, x->err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = check_idle(x, &list[i]);
    if (r >= 0)
        r = drop_staged(x, list, n);
    while (r == 0 && n) { /* from the end: sub-threads first */
        size_t some = WB_MIN(n, (size_t)EACH);
        bool own = !list[0].at; /* otherwise a run's appends leave the head, and set the thread */
        struct wl_commit c = {.owner = *x->o, .changes = x->list, .flags = WL_SYNCED};
        x->n = 0;
        if (own)
            x->list[x->n++] = (struct wl_change){.kind = WL_HOLD_NODE, .hold = {.node = list[0].head}};
        for (size_t i = 0; r >= 0 && i < some; i++)
            r = add(x, &list[n - 1 - i]);
        if (r < 0)
            return r;
        c.n = x->n;
        wb_crashpoint("delete.before");
        r = wl_store_commit(x->s, &c, x->err);
        if (r == -UPP_EBUSY && own && c.conflict == 0)
            return upp_fail(x->err, UPP_EBUSY, "a run is under way on this thread");
        if (r == -UPP_EBUSY || r == -UPP_ENOTFOUND)
            return 1;
        wb_crashpoint("delete.after");
        n -= some;
    }
    return r;
}

WEFT_SUSPENDS static int delete (struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t, bool forgets,
                                 struct upp_err *err)
{
    struct deleting *x = wb_calloc(1, sizeof *x);
    int r = x ? 1 : upp_fail(err, UPP_ENOMEM, "no memory to delete a thread");
    for (unsigned i = 0; r > 0 && i < TRIES; i++) {
        wb_arena_done(&x->a);
        *x = (struct deleting){.s = s, .o = o, .forgets = forgets, .a = WB_ARENA(WL__LARGE), .err = err};
        r = try_once(x, t);
    }
    if (x)
        wb_arena_done(&x->a);
    wb_free(x);
    return r > 0 ? upp_fail(err, UPP_EBUSY, "somebody else was first, %d times", TRIES) : r;
}

WEFT_SUSPENDS int wl_thread_delete(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   struct upp_err *err)
{
    return delete (s, o, t, false, err);
}

WEFT_SUSPENDS int wl__thread_forget(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    struct upp_err *err)
{
    return delete (s, o, t, true, err);
}
