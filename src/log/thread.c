/* log/thread.c — threads: pointers into trees, with names. */
#include "base/clock.h"
#include "base/crash.h"
#include "base/defs.h"
#include "json/read.h"
#include "log/lines.h"

enum { METADATA_MAX = 1 << 20, METADATA_ARENA = 16 << 20 };

static int check_metadata(struct upp_str metadata, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(METADATA_ARENA);
    yyjson_val *v;
    if (!metadata.p)
        return 0;
    int r = wj_read(&a, metadata, UPP_OPTS(wj_read_opts, .max_bytes = METADATA_MAX), &v, err);
    if (r == 0 && !yyjson_is_obj(v))
        r = upp_fail(err, UPP_EINVALID, "expected an object");
    return r < 0 ? upp_wrap(err, r, "metadata of a thread") : 0;
}

int64_t wl_list_time(struct wl_store *s, int64_t now_ms)
{
    if (!s)
        return now_ms;
    while (s->inner)
        s = s->inner;
    int64_t last = atomic_load(&s->listed_ms), next;
    uint64_t mono = wb_mono_ms();
    do { /* two threads may both add the same time: they are ahead by it, and in order */
        uint64_t at = atomic_load(&s->listed_at);
        int64_t passed = at && mono > at ? (int64_t)((mono - at) / 2) : 0;
        next = WB_MAX(now_ms, last + passed);
    } while (!atomic_compare_exchange_weak(&s->listed_ms, &last, next));
    if (next != last)
        atomic_store(&s->listed_at, mono);
    return next;
}

int wl_thread_make(struct wl_store *s, const struct wl_owner *o, const struct wl_thread_opts *opts,
                   struct wl_new_thread *ret, struct upp_err *err)
{
    static const struct wl_thread_opts none = {.size = sizeof none};
    struct wb_uuid ids[3]; /* thread, tree, node */
    int r = 0;
    if (!opts)
        opts = &none;
    if (opts->title.n > WL_TITLE_MAX)
        return upp_fail(err, UPP_EINVALID, "the title of a thread has at most %d bytes, this one %zu", WL_TITLE_MAX,
                        opts->title.n);
    r = check_metadata(opts->metadata, err);
    bool below = !wb_uuid_is_nil(opts->parent), given = !wb_uuid_is_nil(opts->id);
    ids[0] = opts->id;
    if (r >= 0 && !given)
        r = below ? wl_id_new(wl_family(opts->parent), &ids[0], err) : wb_uuid_new(&ids[0], err);
    for (size_t i = 1; r >= 0 && i < WB_LEN(ids); i++)
        r = wl_id_new(wl_family(ids[0]), &ids[i], err);
    if (r < 0)
        return r;
    int64_t now = wb_wall_ms();
    *ret = (struct wl_new_thread){
        .thread = {.id = ids[0],
                   .tree = ids[1],
                   .parent = opts->parent,
                   .owner = *o,
                   .head = wm_key(ids[2]),
                   .kind = below && !opts->child ? WL_SUB : WL_MAIN,
                   .version = 1,
                   .title = opts->title,
                   .metadata = opts->metadata,
                   .created_ms = now,
                   .updated_ms = wl_list_time(s, now)},
        .root = {.key = wm_key(ids[2]), .id = ids[2], .tree = ids[1], .created_ms = now},
        .alias = {.kind = WL_ALIAS_THREAD, .text = opts->alias, .object = ids[0]},
    };
    ret->changes[ret->n++] = (struct wl_change){.kind = WL_ADD_NODE, .node = &ret->root};
    ret->changes[ret->n++] = (struct wl_change){.kind = WL_ADD_THREAD, .thread = &ret->thread};
    if (opts->alias.p)
        ret->changes[ret->n++] = (struct wl_change){.kind = WL_ADD_ALIAS, .alias = &ret->alias};
    return 0;
}

/* 1: an id is taken. */
WEFT_SUSPENDS static int try_new(struct wl_store *s, const struct wl_owner *o, const struct wl_thread_opts *opts,
                                 struct wm_entry *entries, size_t n, struct wb_arena *a, struct wl_thread *ret,
                                 struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(WM_ROW_MAX);
    struct wl_new_thread made;
    struct wl_row row;
    struct wl_change changes[WB_LEN(made.changes) + 1];
    int r = wl_thread_make(s, o, opts, &made, err);
    if (r >= 0 && n)
        r = wl_row_of(entries, n, made.root.key, &(struct wl_end){0}, made.thread.created_ms, &body, &row, err);
    if (r < 0)
        return r;
    memcpy(changes, made.changes, made.n * sizeof *changes);
    if (n)
        changes[made.n] = (struct wl_change){.kind = WL_ADD_ROW, .row = &row};
    struct wl_thread t = made.thread; /* the caller's texts may not outlive this call */
    t.title = wb_arena_dup(a, t.title);
    t.metadata = wb_arena_dup(a, t.metadata);
    t.owner = (struct wl_owner){wb_arena_dup(a, o->tenant), wb_arena_dup(a, o->user)};
    if ((r = wb_arena_check(a, err)) < 0) /* before the commit: what is stored can also be returned */
        return r;
    struct wl_commit c = {.owner = *o, .changes = changes, .n = made.n + (n > 0), .flags = WL_SYNCED};
    if (n)
        wb_crashpoint("thread.before");
    r = wl_store_commit(s, &c, err);
    if (n)
        wb_crashpoint("thread.after");
    if (r == -UPP_EBUSY && changes[c.conflict].kind == WL_ADD_ALIAS)
        return upp_fail(err, UPP_EBUSY, "thread '%.*s' exists already", UPP_FMT(made.alias.text));
    if (r < 0)
        return r == -UPP_EBUSY ? 1 : r;
    *ret = t;
    return 0;
}

WEFT_SUSPENDS int wl_thread_new_with(struct wl_store *s, const struct wl_owner *o, const struct wl_thread_opts *opts,
                                     struct wm_entry *entries, size_t n, struct wb_arena *a, struct wl_thread *ret,
                                     struct upp_err *err)
{
    for (unsigned i = 0; i < WL_ID_TRIES; i++) {
        int r = try_new(s, o, opts, entries, n, a, ret, err);
        if (r <= 0)
            return r;
    }
    return upp_fail(err, UPP_EBUSY, "%d ids in a row were taken", WL_ID_TRIES);
}

WEFT_SUSPENDS int wl_thread_new(struct wl_store *s, const struct wl_owner *o, const struct wl_thread_opts *opts,
                                struct wb_arena *a, struct wl_thread *ret, struct upp_err *err)
{
    return wl_thread_new_with(s, o, opts, NULL, 0, a, ret, err);
}

WEFT_SUSPENDS int wl_thread_set(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                struct upp_str metadata, struct upp_err *err)
{
    struct wl_thread now = *t;
    const struct wl_change change = {.kind = WL_SET_THREAD, .thread = &now};
    struct wl_commit c = {.owner = *o, .changes = &change, .n = 1, .flags = WL_SYNCED};
    int r = check_metadata(metadata, err);
    if (r < 0)
        return r;
    now.metadata = metadata;
    now.updated_ms = WB_MAX(wl_list_time(s, wb_wall_ms()), t->updated_ms);
    r = wl_store_commit(s, &c, err);
    if (r < 0)
        return r == -UPP_EBUSY ? 1 : r;
    *t = now;
    t->version++;
    return 0;
}

/* Checks the tenant and the user. */
WEFT_SUSPENDS static int get(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                             struct wl_thread *ret, struct upp_err *err)
{
    struct wl_thread t;
    int r = wl_get_thread(s, o, id, a, &t, err);
    if (r < 0)
        return r;
    if (!wb_str_eq(t.owner.user, o->user))
        return -UPP_ENOTFOUND;
    *ret = t;
    return 0;
}

WEFT_SUSPENDS int wl_thread_find(struct wl_store *s, const struct wl_owner *o, struct upp_str id, struct wb_arena *a,
                                 struct wl_thread *ret, struct upp_err *err)
{
    struct wb_uuid u;
    int r = -UPP_ENOTFOUND;
    if (wl_id_parse(id, UPP_STR("thread_"), &u))
        r = get(s, o, u, a, ret, err);
    if (r == -UPP_ENOTFOUND) {
        r = wl_get_alias(s, o, WL_ALIAS_THREAD, id, &u, err);
        if (r >= 0)
            r = get(s, o, u, a, ret, err);
    }
    /* The same message for both: a thread of another owner is as unknown as none. */
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ENOTFOUND, "there is no thread '%.*s'", UPP_FMT(id)) : r;
}

WEFT_SUSPENDS int wl_thread_busy(struct wl_store *s, const struct wl_thread *t, const struct wl_node *head,
                                 struct wb_uuid *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__LARGE);
    struct wm_run run;
    *ret = head->holder;
    if (!t->at || wb_uuid_is_nil(head->holder)) /* appends would go to the head: any run there blocks them */
        return 0;
    int r = wl_get_run(s, &t->owner, head->holder, &a, &run, err);
    if (r >= 0 && !wb_uuid_eq(run.thread, t->id))
        *ret = WB_UUID_NIL;
    return r;
}
