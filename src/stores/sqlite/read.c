/* stores/sqlite/read.c — reading: on a worker, with a connection of a small pool. */
#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "fiber/fiber.h"
#include "stores/sqlite/reading.h"
#include "stores/sqlite/sum.h"

#include <string.h>

/* ---- The pool -------------------------------------------------------------------------------------- */

static int borrow(struct ws_sqlite *s, struct ws_conn **ret, struct upp_err *err)
{
    ws_sqlite_lock(s);
    while (wb_list_empty(&s->readers) && s->n_readers == WS_READERS)
        (void)pthread_cond_wait(&s->idle, &s->lock);
    struct wb_link *l = wb_list_pop(&s->readers);
    s->n_readers += !l;
    ws_sqlite_unlock(s);
    if (l) {
        *ret = wb_item(l, struct ws_conn, link);
        return 0;
    }
    struct ws_conn *c = wb_calloc(1, sizeof *c);
    int             r = c ? ws_conn_open(s, WS_READER, c, err) : upp_fail(err, UPP_ENOMEM, "no memory for a reader");
    if (r >= 0)
        r = ws_conn_prepare(s, WS_READER, c, err);
    if (r >= 0) {
        *ret = c;
        return 0;
    }
    if (c)
        ws_conn_close(c);
    wb_free(c);
    ws_sqlite_lock(s);
    s->n_readers--;
    (void)pthread_cond_broadcast(&s->idle);
    ws_sqlite_unlock(s);
    return r;
}

static void give_back(struct ws_sqlite *s, struct ws_conn *c)
{
    ws_sqlite_lock(s);
    wb_list_push(&s->readers, &c->link);
    (void)pthread_cond_broadcast(&s->idle);
    ws_sqlite_unlock(s);
}

void ws_readers_close(struct ws_sqlite *s)
{
    for (struct wb_link *l; (l = wb_list_pop(&s->readers));) {
        struct ws_conn *c = wb_item(l, struct ws_conn, link);
        ws_conn_close(c);
        wb_free(c);
    }
}

static int read_job(void *arg, struct upp_err *err)
{
    struct ws_reading *x = arg;
    struct ws_conn    *c;
    int                r = borrow(x->s, &c, err);
    if (r < 0)
        return r;
    r = x->fn(x, c, err);
    give_back(x->s, c);
    return r;
}

/* Of the jobs that may wait for workers only so many are reads, however many readers there are: commits, and all else
 * that blocks, must find room. */
enum { READS = 256, READ_WAIT_MS = 1, READ_WAITS = 60000 };

WEFT_SUSPENDS int ws_ask(struct ws_reading *x, struct upp_err *err)
{
    int result = 0;
    WEFT__SHIELD_FOREVER;
    for (unsigned waits = 0; atomic_fetch_add(&x->s->reads, 1) >= READS; waits++) {
        (void)atomic_fetch_sub(&x->s->reads, 1);
        int r = waits < READ_WAITS ? weft_sleep_ms(READ_WAIT_MS, err)
                                   : wb_fail_full(err, "%d reads are under way, the limit", READS);
        if (r < 0)
            return r;
    }
    int r = weft_work(read_job, x, NULL, &result, err);
    (void)atomic_fetch_sub(&x->s->reads, 1);
    return r < 0 ? r : result;
}

/* ---- Several reads at once --------------------------------------------------------------------------- */

/* A store that answers on the worker it is on, from the connection it has: rows, nodes, threads, aliases and pieces. */
struct view {
    struct wl_store   store; /* first */
    struct ws_sqlite *s;
    struct ws_conn   *c;
};
static const struct wl_store_ops view_ops;

WEFT_SUSPENDS int ws_answer(struct wl_store *s, struct ws_reading *x, struct upp_err *err)
{
    if (s->ops != &view_ops) {
        x->s = ws_sqlite(s);
        return ws_ask(x, err);
    }
    const struct view *v = (const struct view *)(const void *)s;
    x->s                 = v->s;
    return x->fn(x, v->c, err);
}

struct together {
    wl_reading_fn *fn;
    void          *arg;
};

static int read_together(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    const struct together *t = x->ret;
    struct view            v = {.store.ops = &view_ops, .s = x->s, .c = c};
    return t->fn(&v.store, t->arg, err);
}

WEFT_SUSPENDS static int sq_at_once(struct wl_store *s, wl_reading_fn *fn, void *arg, struct upp_err *err)
{
    struct together   t = {fn, arg};
    struct ws_reading x = {.s = ws_sqlite(s), .fn = read_together, .ret = &t};
    return ws_ask(&x, err);
}

/* ---- Columns --------------------------------------------------------------------------------------- */

struct upp_str ws_column_str(struct wb_arena *a, sqlite3_stmt *st, int i)
{
    if (sqlite3_column_type(st, i) == SQLITE_NULL)
        return (struct upp_str){NULL, 0};
    const char *p = sqlite3_column_blob(st, i); /* NULL: empty */
    return wb_arena_dup(a, wb_str(p ? p : "", (size_t)sqlite3_column_bytes(st, i)));
}

void ws_read_thread(struct wb_arena *a, sqlite3_stmt *st, struct upp_str tenant, struct wl_thread *t)
{
    int i           = 0;
    *t              = (struct wl_thread){0};
    t->owner.tenant = wb_arena_dup(a, tenant);
    t->id           = ws_column_id(st, i++);
    t->tree         = ws_column_id(st, i++);
    t->parent       = ws_column_id(st, i++);
    t->owner.user   = ws_column_str(a, st, i++);
    t->head         = ws_column_u64(st, i++);
    t->kind         = (uint8_t)ws_column_u64(st, i++);
    t->version      = (uint32_t)ws_column_u64(st, i++);
    t->queued       = ws_column_u64(st, i++);
    t->title        = ws_column_str(a, st, i++);
    t->metadata     = ws_column_str(a, st, i++);
    t->created_ms   = sqlite3_column_int64(st, i++);
    t->updated_ms   = sqlite3_column_int64(st, i++);
    t->at           = (uint32_t)ws_column_u64(st, i++);
}

void ws_read_run(struct wb_arena *a, sqlite3_stmt *st, struct wm_run *x)
{
    int i                = 0;
    *x                   = (struct wm_run){0};
    x->id                = ws_column_id(st, i++);
    x->root              = ws_column_id(st, i++);
    x->parent            = ws_column_id(st, i++);
    x->thread            = ws_column_id(st, i++);
    x->node              = ws_column_u64(st, i++);
    x->first             = ws_column_u64(st, i++);
    x->input             = (uint32_t)ws_column_u64(st, i++);
    x->version           = (uint32_t)ws_column_u64(st, i++);
    x->depth             = (uint16_t)ws_column_u64(st, i++);
    x->status            = (uint8_t)ws_column_u64(st, i++);
    x->durability        = (uint8_t)ws_column_u64(st, i++);
    x->cancel            = ws_column_u64(st, i++) != 0;
    x->epoch             = (uint32_t)ws_column_u64(st, i++);
    x->queue             = ws_column_u64(st, i++);
    x->agent             = ws_column_str(a, st, i++);
    x->call              = ws_column_str(a, st, i++);
    x->options           = ws_column_str(a, st, i++);
    x->error             = ws_column_str(a, st, i++);
    x->usage.input       = ws_column_u64(st, i++);
    x->usage.output      = ws_column_u64(st, i++);
    x->usage.cache_read  = ws_column_u64(st, i++);
    x->usage.cache_write = ws_column_u64(st, i++);
    x->created_ms        = sqlite3_column_int64(st, i++);
    x->started_ms        = sqlite3_column_int64(st, i++);
    x->ended_ms          = sqlite3_column_int64(st, i++);
    x->expires_ms        = sqlite3_column_int64(st, i++);
    x->swept             = ws_column_u64(st, i++) != 0;
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* Rows are counted only when they come: the array grows by doubling inside the arena. */
static struct wl_row *room_for_row(struct wb_arena *a, struct wl_rows *rows, size_t *cap)
{
    if (rows->n == *cap) {
        *cap             = *cap ? *cap * 2 : 16;
        struct wl_row *p = wb_new_n(a, struct wl_row, *cap);
        if (!p)
            return NULL;
        if (rows->n)
            memcpy(p, rows->p, rows->n * sizeof *p);
        rows->p = p;
    }
    return &rows->p[rows->n];
}

static int read_rows(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    const struct wl_range              *g    = &x->range;
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st   = c->st[g->backwards ? WS_ROWS_BACK : WS_ROWS];
    struct wl_rows                      rows = {0};
    size_t                              cap = 0, bytes = 0;
    int                                 r;
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_u64(st, 2, g->node);
    ws_bind_u64(st, 3, g->from);
    ws_bind_u64(st, 4, g->to);
    ws_bind_u64(st, 5, g->max_rows + 1);
    while ((r = ws_step(x->s, st, err)) == 1) {
        size_t is = (size_t)sqlite3_column_bytes(st, 6) + (size_t)sqlite3_column_bytes(st, 7);
        if (rows.n == g->max_rows || (rows.n && is > g->max_bytes - WB_MIN(bytes, g->max_bytes))) {
            rows.more = true;
            break;
        }
        struct wl_row *row = room_for_row(x->a, &rows, &cap);
        if (!row || (r = ws_row_whole(x->s, st, "log", WS_LOG_COLUMNS, err)) < 0)
            break;
        *row = (struct wl_row){.node      = g->node,
                               .pos       = ws_column_u64(st, 2),
                               .n_entries = (uint32_t)ws_column_u64(st, 3),
                               .run       = ws_column_id(st, 4),
                               .format    = (uint32_t)ws_column_u64(st, 5),
                               .body      = ws_column_str(x->a, st, 6),
                               .tape      = ws_column_str(x->a, st, 7)};
        rows.n++;
        bytes += is;
    }
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_rows *)x->ret = rows;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int sq_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *r,
                                 struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    struct ws_reading x = {.fn = read_rows, .o = o, .a = a, .ret = ret, .range = ws_range(r)};
    return ws_answer(s, &x, err);
}

/* ---- One thing ------------------------------------------------------------------------------------- */

static int read_node(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = c->st[WS_NODE];
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_u64(st, 2, x->key);
    int r = ws_step(x->s, st, err);
    if (r == 1)
        *(struct wl_node *)x->ret = (struct wl_node){.key           = x->key,
                                                     .id            = ws_column_id(st, 0),
                                                     .tree          = ws_column_id(st, 1),
                                                     .parent        = ws_column_u64(st, 2),
                                                     .parent_length = (uint32_t)ws_column_u64(st, 3),
                                                     .holder        = ws_column_id(st, 4),
                                                     .created_ms    = sqlite3_column_int64(st, 5)};
    return r < 0 ? r : r == 1 ? 0 : ws_no_node(err, x->key);
}

WEFT_SUSPENDS static int sq_node(struct wl_store *s, const struct wl_owner *o, uint64_t key, struct wl_node *ret,
                                 struct upp_err *err)
{
    struct ws_reading x = {.fn = read_node, .o = o, .ret = ret, .key = key};
    return ws_answer(s, &x, err);
}

static int read_one_thread(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = c->st[WS_THREAD];
    struct wl_thread                    t;
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_id(st, 2, &x->id);
    int r = ws_step(x->s, st, err);
    if (r != 1)
        return r < 0 ? r : ws_no_thing(err, "thread", x->id);
    ws_read_thread(x->a, st, x->o->tenant, &t);
    r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_thread *)x->ret = t;
    return r;
}

WEFT_SUSPENDS static int sq_thread(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                                   struct wl_thread *ret, struct upp_err *err)
{
    struct ws_reading x = {.fn = read_one_thread, .o = o, .a = a, .ret = ret, .id = id};
    return ws_answer(s, &x, err);
}

static int read_one_run(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = c->st[WS_RUN];
    struct wm_run                       run;
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_id(st, 2, &x->id);
    int r = ws_step(x->s, st, err);
    if (r != 1)
        return r < 0 ? r : ws_no_thing(err, "run", x->id);
    ws_read_run(x->a, st, &run);
    r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wm_run *)x->ret = run;
    return r;
}

WEFT_SUSPENDS static int sq_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                                struct wm_run *ret, struct upp_err *err)
{
    struct ws_reading x = {.s = ws_sqlite(s), .fn = read_one_run, .o = o, .a = a, .ret = ret, .id = id};
    return ws_ask(&x, err);
}

static int read_alias(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = c->st[WS_ALIAS];
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_name(st, 2, x->o->user);
    ws_bind_u64(st, 3, x->key);
    ws_bind_name(st, 4, x->text);
    int r = ws_step(x->s, st, err);
    if (r == 1)
        *(struct wb_uuid *)x->ret = ws_column_id(st, 0);
    return r < 0 ? r : r == 1 ? 0 : upp_fail(err, UPP_ENOTFOUND, "nothing is called '%.*s'", UPP_FMT(x->text));
}

WEFT_SUSPENDS static int sq_alias(struct wl_store *s, const struct wl_owner *o, uint8_t kind, struct upp_str text,
                                  struct wb_uuid *ret, struct upp_err *err)
{
    struct ws_reading x = {.fn = read_alias, .o = o, .ret = ret, .key = kind, .text = text};
    return ws_answer(s, &x, err);
}

static int read_key(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = c->st[WS_KEY];
    struct wl_key                       k  = {.route = x->text, .key = x->more};
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_name(st, 2, x->text);
    ws_bind_name(st, 3, x->more);
    ws_bind_u64(st, 4, (uint64_t)(wb_wall_ms() - WS_KEY_MS));
    int r = ws_step(x->s, st, err);
    if (r != 1)
        return r < 0 ? r : upp_fail(err, UPP_ENOTFOUND, "the idempotency key was not used");
    const void *body = sqlite3_column_blob(st, 0);
    if (body && sqlite3_column_bytes(st, 0) == (int)sizeof k.body)
        memcpy(k.body, body, sizeof k.body);
    k.object                 = ws_column_id(st, 1);
    k.created_ms             = sqlite3_column_int64(st, 2);
    *(struct wl_key *)x->ret = k;
    return 0;
}

WEFT_SUSPENDS static int sq_key(struct wl_store *s, const struct wl_owner *o, struct upp_str route, struct upp_str key,
                                struct wl_key *ret, struct upp_err *err)
{
    struct ws_reading x = {.s = ws_sqlite(s), .fn = read_key, .o = o, .ret = ret, .text = route, .more = key};
    return ws_ask(&x, err);
}

/* ---- Lists ----------------------------------------------------------------------------------------- */

static int read_threads(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *after = c->st[WS_THREAD_UPDATED], *st = c->st[WS_THREADS];
    int64_t                             updated = INT64_MAX;
    int                                 r;
    if (!ws_none(x->id)) {
        ws_bind_name(after, 1, x->o->tenant);
        ws_bind_id(after, 2, &x->id);
        ws_bind_name(after, 3, x->o->user);
        r = ws_step(x->s, after, err);
        if (r != 1)
            return r < 0 ? r : ws_no_thing(err, "thread", x->id);
        updated = sqlite3_column_int64(after, 0);
    }
    struct wl_thread *p = wb_new_n(x->a, struct wl_thread, x->max);
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_name(st, 2, x->o->user);
    ws_bind_u64(st, 3, (uint64_t)updated);
    ws_bind_id(st, 4, &x->id);
    ws_bind_u64(st, 5, x->max);
    r = 0;
    while (p && x->n < x->max && (r = ws_step(x->s, st, err)) == 1)
        ws_read_thread(x->a, st, x->o->tenant, &p[x->n++]);
    (void)sqlite3_reset(st);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_thread **)x->ret = p;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int sq_threads(struct wl_store *s, const struct wl_owner *o, struct wb_uuid after, size_t max,
                                    struct wb_arena *a, struct wl_thread **ret, size_t *n, struct upp_err *err)
{
    struct ws_reading x = {.fn  = read_threads,
                           .o   = o,
                           .a   = a,
                           .ret = ret,
                           .id  = after,
                           .max = WB_MIN(max, (size_t)WS_LIST_MAX)};
    int               r = ws_answer(s, &x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}

static int read_runs(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = c->st[x->live ? WS_RUNS_LIVE : WS_RUNS];
    struct wm_run                      *p  = wb_new_n(x->a, struct wm_run, x->max);
    int                                 r  = 0;
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_id(st, 2, &x->id);
    ws_bind_u64(st, 3, x->max);
    while (p && x->n < x->max && (r = ws_step(x->s, st, err)) == 1)
        ws_read_run(x->a, st, &p[x->n++]);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wm_run **)x->ret = p;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int sq_runs(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread, bool live_only,
                                 size_t max, struct wb_arena *a, struct wm_run **ret, size_t *n, struct upp_err *err)
{
    struct ws_reading x = {.s    = ws_sqlite(s),
                           .fn   = read_runs,
                           .o    = o,
                           .a    = a,
                           .ret  = ret,
                           .id   = thread,
                           .live = live_only,
                           .max  = WB_MIN(max, (size_t)WS_LIST_MAX)};
    int               r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}

static int read_live(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = c->st[WS_LIVE];
    struct wm_run                      *p  = wb_new_n(x->a, struct wm_run, x->max);
    int                                 r  = 0;
    x->owners                              = wb_new_n(x->a, struct wl_owner, x->max);
    ws_bind_id(st, 1, &x->id);
    ws_bind_u64(st, 2, x->max);
    while (p && x->owners && x->n < x->max && (r = ws_step(x->s, st, err)) == 1) {
        ws_read_run(x->a, st, &p[x->n]);
        x->owners[x->n].tenant = ws_column_str(x->a, st, WS_RUN_COLUMNS);
        x->owners[x->n].user   = ws_column_str(x->a, st, WS_RUN_COLUMNS + 1);
        x->n++;
    }
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wm_run **)x->ret = p;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int sq_live(struct wl_store *s, struct wb_uuid after, size_t max, struct wb_arena *a,
                                 struct wm_run **runs, struct wl_owner **owners, size_t *n, struct upp_err *err)
{
    struct ws_reading x = {
        .s = ws_sqlite(s), .fn = read_live, .a = a, .ret = runs, .id = after, .max = WB_MIN(max, (size_t)WS_LIST_MAX)};
    int r = ws_ask(&x, err);
    if (r >= 0) {
        *n      = x.n;
        *owners = x.owners;
    }
    return r;
}

static const struct wl_store_ops view_ops = {
    .size    = sizeof view_ops,
    .name    = "sqlite",
    .rows    = sq_rows,
    .node    = sq_node,
    .thread  = sq_thread,
    .threads = sq_threads,
    .alias   = sq_alias,
    .piece   = ws_look_piece,
};

const struct wl_store_ops ws_sqlite_ops = {
    .size    = sizeof ws_sqlite_ops,
    .name    = "sqlite",
    .commit  = ws_writer_commit,
    .rows    = sq_rows,
    .node    = sq_node,
    .thread  = sq_thread,
    .run     = sq_run,
    .alias   = sq_alias,
    .key     = sq_key,
    .threads = sq_threads,
    .runs    = sq_runs,
    .live    = sq_live,

    .family_nodes   = ws_look_family_nodes,
    .family_threads = ws_look_family_threads,
    .value          = ws_look_value,
    .values         = ws_look_values,
    .tenants        = ws_look_tenants,
    .piece          = ws_look_piece,
    .loose_blobs    = ws_look_loose_blobs,
    .old_runs       = ws_look_old_runs,

    .follow  = ws_look_follow,
    .learned = ws_look_learned,
    .search  = ws_look_search,
    .at_once = sq_at_once,
    .close   = ws_sqlite_close,
};
