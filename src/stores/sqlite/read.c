/* stores/sqlite/read.c — reads: on a worker, with a connection from a small pool. */
#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "fiber/loop.h"
#include "model/id.h"
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
    int r = c ? ws_conn_open(s, WS_READER, c, err) : upp_fail(err, UPP_ENOMEM, "no memory for a reader");
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

static void return_conn(struct ws_sqlite *s, struct ws_conn *c)
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
    struct ws_conn *c;
    int r = borrow(x->s, &c, err);
    if (r < 0)
        return r;
    r = x->fn(x, c, err);
    return_conn(x->s, c);
    return r;
}

/* ---- Waiting for a turn ------------------------------------------------------------------------------ */

/* Limits how many of the jobs that wait for workers are reads, however many readers there are: commits, and all other
 * blocking jobs, must find room. `reads` counts those that read and those that wait: who finds it full waits, and each
 * that leaves a full one gives its turn to the first that waits, or leaves it for the one that is about to. */
struct turn {
    struct wb_link link;
    struct weft__msg msg;
    struct weft_fiber *fiber;
    struct weft_loop *loop;
    bool has; /* read only by its own loop */
};

static void take_turn(struct weft__msg *m)
{
    struct turn *t = WB_OUTER(m, struct turn, msg);
    t->loop->owed--;
    t->has = true;
    weft__wake(t->fiber, 0);
}

WEFT_SUSPENDS static void wait_for_turn(struct ws_sqlite *s)
{
    struct weft_fiber *f = weft__self("read");
    struct turn t = {.msg.take = take_turn, .fiber = f, .loop = f->loop};
    ws_sqlite_lock(s);
    t.has = s->read_turns > 0;
    if (t.has)
        s->read_turns--;
    else {
        t.loop->owed++;
        wb_list_push(&s->waiting_reads, &t.link);
    }
    ws_sqlite_unlock(s);
    while (!t.has)
        (void)weft__park(f, "a turn to read", WEFT__NEVER, 0);
}

static void leave_turn(struct ws_sqlite *s)
{
    ws_sqlite_lock(s);
    struct wb_link *l = wb_list_pop(&s->waiting_reads);
    s->read_turns += !l;
    ws_sqlite_unlock(s);
    if (l) {
        struct turn *t = wb_item(l, struct turn, link);
        weft__loop_send(t->loop, &t->msg);
    }
}

WEFT_SUSPENDS int ws_ask(struct ws_reading *x, struct upp_err *err)
{
    int result = 0;
    WEFT__SHIELD_FOREVER;
    if (atomic_fetch_add(&x->s->reads, 1) >= WS_READS)
        wait_for_turn(x->s);
    struct wb_arena *a = x->a, lent;
    if (a) {
        lent = wb_arena_lend(a);
        x->a = &lent;
    }
    int r = weft_work(read_job, x, NULL, &result, err);
    if (a) {
        wb_arena_give_back(a, &lent);
        x->a = a;
    }
    if (atomic_fetch_sub(&x->s->reads, 1) > WS_READS)
        leave_turn(x->s);
    return r < 0 ? r : result;
}

/* ---- Several reads in one call ----------------------------------------------------------------------- */

/* A store that reads on the current worker, with the connection it has. */
struct view {
    struct wl_store store; /* must be first */
    struct ws_sqlite *s;
    struct ws_conn *c;
};
static const struct wl_store_ops view_ops;

/* Executes the read on a worker, or right here if the store is a view on a worker (read.c). Sets x->s. */
WEFT_SUSPENDS static int execute_read(struct wl_store *s, struct ws_reading *x, struct upp_err *err)
{
    if (s->ops != &view_ops) {
        x->s = ws_sqlite(s);
        return ws_ask(x, err);
    }
    const struct view *v = (const struct view *)(const void *)s;
    x->s = v->s;
    return x->fn(x, v->c, err);
}

struct together {
    wl_reading_fn *fn;
    void *arg;
};

static int read_together(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    const struct together *t = x->ret;
    struct view v = {.store.ops = &view_ops, .s = x->s, .c = c};
    return t->fn(&v.store, t->arg, err);
}

WEFT_SUSPENDS static int sq_at_once(struct wl_store *s, wl_reading_fn *fn, void *arg, struct upp_err *err)
{
    struct together t = {fn, arg};
    struct ws_reading x = {.s = ws_sqlite(s), .fn = read_together, .ret = &t};
    return ws_ask(&x, err);
}

/* ---- Columns --------------------------------------------------------------------------------------- */

struct upp_str ws_column_str(struct wb_arena *a, sqlite3_stmt *st, int i)
{
    if (sqlite3_column_type(st, i) == SQLITE_NULL)
        return (struct upp_str){NULL, 0};
    const char *p = sqlite3_column_blob(st, i); /* NULL means empty here */
    return wb_arena_dup(a, wb_str(p ? p : "", (size_t)sqlite3_column_bytes(st, i)));
}

void ws_read_columns(sqlite3_stmt *st, int i, const struct ws_column *c, size_t n, struct wb_arena *a, void *thing)
{
    for (const struct ws_column *end = c + n; c < end; c++, i++) {
        void *at = (char *)thing + c->at;
        switch ((enum ws_type)c->type) {
        case WS_U8:
            *(uint8_t *)at = (uint8_t)ws_column_u64(st, i);
            break;
        case WS_U16:
            *(uint16_t *)at = (uint16_t)ws_column_u64(st, i);
            break;
        case WS_U32:
            *(uint32_t *)at = (uint32_t)ws_column_u64(st, i);
            break;
        case WS_U64:
            *(uint64_t *)at = ws_column_u64(st, i);
            break;
        case WS_BOOL:
            *(bool *)at = ws_column_u64(st, i) != 0;
            break;
        case WS_ID:
        case WS_ID_OR_NONE:
            *(struct wb_uuid *)at = ws_column_id(st, i);
            break;
        case WS_HASH:
            if (sqlite3_column_bytes(st, i) == (int)sizeof(struct wl_blob_key))
                memcpy(at, sqlite3_column_blob(st, i), sizeof(struct wl_blob_key));
            break;
        case WS_TEXT:
        case WS_NAME:
            *(struct upp_str *)at = ws_column_str(a, st, i);
            break;
        }
    }
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* The number of rows is not known in advance: the array grows by doubling inside the arena. */
static struct wl_row *room_for_row(struct wb_arena *a, struct wl_rows *rows, size_t *cap)
{
    if (rows->n == *cap) {
        *cap = *cap ? *cap * 2 : 16;
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
    const struct wl_range *g = &x->range;
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = c->st[g->backwards ? WS_ROWS_BACK : WS_ROWS];
    struct wl_rows rows = {0};
    size_t cap = 0, bytes = 0;
    int r;
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
        ws_read_columns(st, 1, ws_rows.columns, ws_rows.n, x->a, row);
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
    return execute_read(s, &x, err);
}

/* ---- Objects and lists ----------------------------------------------------------------------------- */

/* How an object is read: the statement, what is bound to its parameters (one letter each, see arg), and which columns
 * of its kind the result has. */
struct how {
    enum ws_statement statement;
    const char *binds;
    uint8_t first, n; /* 0: all from `first` on */
};

static const struct how hows[WL_WHATS] = {
    [WL_GET_NODE] = {WS_NODE, "tn", 1, WS_NODE_COLUMNS - 1},
    [WL_GET_THREAD] = {WS_THREAD, "ti", 0, 0},
    [WL_GET_RUN] = {WS_RUN, "ti", 0, 0},
    [WL_GET_ALIAS] = {WS_ALIAS, "tuna", 2, 1},
    [WL_GET_KEY] = {WS_KEY, "tsax", 2, 3},
    [WL_GET_VALUE] = {WS_VALUE, "tsa", 2, 1},
    [WL_GET_PIECE] = {WS_PIECE, "tbn", 0, 0},
    [WL_GET_BYTES] = {WS_TENANT_BYTES, "t", 0, 0},
    [WL_LIST_THREADS] = {WS_THREADS, "tuTiM", 0, 0},
    [WL_LIST_RUNS] = {WS_RUNS, "tinM", 0, 0},
    [WL_LIST_RUNS_UP] = {WS_RUNS_UP, "tinM", 0, 0},
    [WL_LIST_OWN_RUNS] = {WS_OWN_RUNS, "tunM", 0, 0},
    [WL_LIST_OWN_RUNS_UP] = {WS_OWN_RUNS_UP, "tunM", 0, 0},
    [WL_LIST_WAITING] = {WS_WAITING, "tunM", 0, 0},
    [WL_LIST_RUNS_LIVE] = {WS_RUNS_LIVE, "tiM", 0, 0},
    [WL_LIST_LIVE] = {WS_LIVE, "iM", 0, 0},
    [WL_LIST_OLD_RUNS] = {WS_OLD_RUNS, "tnhM", 0, 0},
    [WL_LIST_VALUES] = {WS_VALUES, "tsaM", 1, 2},
    [WL_LIST_TENANTS] = {WS_TENANTS_BY_NAME, "aM", 0, 0},
    [WL_LIST_UNREFERENCED_BLOBS] = {WS_LOOSE, "tTnM", 0, 0},
};

/* A family ordered by id: strays before its own ids, its own, strays after them. */
static const struct how own_nodes = {WS_OWN_NODES, "tlhM", 0, 0};
static const struct how stray_nodes = {WS_STRAY_NODES, "tpqMf", 0, 0};
static const struct how own_threads = {WS_OWN_THREADS, "tiLHM", 0, 0};
static const struct how stray_threads = {WS_STRAY_THREADS, "tiLHMf", 0, 0};

static void family_bytes(uint64_t family, unsigned char out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(family >> (24 - 8 * i));
}

static struct ws_arg arg(const struct ws_reading *x, char letter)
{
    const struct wl_ask *k = &x->ask;
    switch (letter) {
    case 't':
        return WS_A(k->owner->tenant);
    case 'u':
        return WS_A(k->owner->user);
    case 'i':
        return WS_I(&k->id);
    case 'n':
        return WS_N(k->what == WL_LIST_OLD_RUNS ? WB_MIN(k->number, (uint64_t)INT64_MAX) : k->number);
    case 'r':
        return WS_I(&k->after);
    case 's':
        return WS_A(k->space);
    case 'a':
        return WS_A(k->name);
    case 'b':
        return WS_K(k->blob);
    case 'T':
        return WS_N(k->before_ms);
    case 'w':
        return WS_N(wb_wall_ms());
    case 'x':
        return WS_N(wb_wall_ms() - WS_KEY_MS);
    case 'M':
        return WS_N(x->max - x->list.n);
    case 'f':
        return WS_A(wb_str((const char *)x->family, sizeof x->family));
    case 'l':
        return WS_N(x->low);
    case 'h':
        return WS_N(x->high);
    case 'p':
        return WS_N(ws_signed_key(x->low));
    case 'q':
        return WS_N(ws_signed_key(x->high));
    case 'L':
        return WS_I(&x->first);
    default: /* 'H' */
        return WS_I(&x->last);
    }
}

static void bind(sqlite3_stmt *st, const struct ws_reading *x, const char *binds)
{
    for (int i = 1; *binds; i++, binds++)
        ws_bind_arg(st, i, arg(x, *binds));
}

static int read_piece(struct ws_reading *x, sqlite3_stmt *st, struct wl_piece *p, struct upp_err *err)
{
    *p = (struct wl_piece){.key = *x->ask.blob,
                           .number = (uint32_t)x->ask.number,
                           .last = x->ask.number + 1 == ws_column_u64(st, 3),
                           .bytes = ws_column_str(x->a, st, 1)};
    return ws_row_whole(x->s, st, "pieces", WS_PIECES_COLUMNS, err);
}

static int read_thing(struct ws_reading *x, sqlite3_stmt *st, const struct how *how, void *thing, struct upp_err *err)
{
    const struct wl_ask *k = &x->ask;
    const struct ws_kind *kind = ws_kind_of(k->what);
    if (k->what == WL_GET_PIECE)
        return read_piece(x, st, thing, err);
    memset(thing, 0, kind->size);
    ws_read_columns(st, 0, kind->columns + how->first, how->n ? how->n : kind->n - how->first, x->a, thing);
    if (kind == &ws_threads)
        ((struct wl_thread *)thing)->owner.tenant = wb_arena_dup(x->a, k->owner->tenant);
    else if (k->what == WL_GET_NODE)
        ((struct wl_node *)thing)->key = k->number;
    else if (k->what == WL_GET_KEY) {
        ((struct wl_key *)thing)->route = k->space;
        ((struct wl_key *)thing)->key = k->name;
    }
    return 0;
}

static int read_one(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    const struct how *how = &hows[x->ask.what];
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = NULL;
    union ws_object thing;
    int r = ws_conn_need(x->s, c, how->statement, &st, err);
    if (r < 0)
        return r;
    bind(st, x, how->binds);
    r = ws_step(x->s, st, err);
    if (r != 1)
        return r < 0 ? r : ws_not_found(err, &x->ask);
    r = read_thing(x, st, how, &thing, err);
    if (r >= 0 && x->a)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        memcpy(x->ret, &thing, ws_kind_of(x->ask.what)->size);
    return r;
}

WEFT_SUSPENDS static int sq_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret,
                                struct upp_err *err)
{
    struct ws_reading x = {
        .fn = ask->what == WL_GET_INDEX_PROGRESS ? ws_read_learned : read_one, .ask = *ask, .a = a, .ret = ret};
    if (ask->what == WL_GET_PIECE && ask->number >= WS_PIECES_MAX)
        return ws_not_found(err, ask);
    return execute_read(s, &x, err);
}

/* Adds the rows of one statement to the list. */
static int read_some(struct ws_reading *x, struct ws_conn *c, const struct how *how, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = NULL;
    struct wl_list *l = &x->list;
    const struct ws_kind *kind = ws_kind_of(x->ask.what);
    const int more = (int)kind->n + 1; /* after the column that verifies the checksum */
    size_t bytes = 0;
    struct upp_str space = wb_arena_dup(x->a, x->ask.space);
    int r = ws_conn_need(x->s, c, how->statement, &st, err);
    if (r < 0)
        return r;
    bind(st, x, how->binds);
    while (l->n < x->max && (r = ws_step(x->s, st, err)) == 1) {
        void *thing = (char *)l->p + l->n * kind->size;
        bytes += x->ask.what == WL_LIST_VALUES ? (size_t)sqlite3_column_bytes(st, 1) : 0;
        if (l->n && bytes > WS_VALUES_BYTES)
            break;
        r = read_thing(x, st, how, thing, err);
        if (r < 0)
            return r;
        if (x->ask.what == WL_LIST_VALUES)
            ((struct wl_value *)thing)->space = space;
        if (x->ask.what == WL_LIST_LIVE)
            ((struct wl_live_run *)thing)->owner =
                (struct wl_owner){ws_column_str(x->a, st, more), ws_column_str(x->a, st, more + 1)};
        if (x->ask.what == WL_LIST_OLD_RUNS)
            ((struct wl_old_run *)thing)->number = ws_column_u64(st, more);
        l->n++;
    }
    return r < 0 ? r : 0;
}

static int read_family_nodes(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    const struct wb_uuid after = x->ask.id;
    const uint64_t low = x->ask.number << 32, high = low | UINT32_MAX;
    const uint64_t from = wb_uuid_is_nil(after) ? 0 : wm_key(after) + 1; /* 0: overflow, past the last key */
    int r = 0;
    if (!from && !wb_uuid_is_nil(after))
        return 0;
    if (from < low) {
        x->low = from;
        x->high = low - 1;
        r = read_some(x, c, &stray_nodes, err);
    }
    if (r >= 0 && from <= high) {
        x->low = WB_MAX(from, low);
        x->high = high;
        r = read_some(x, c, &own_nodes, err);
    }
    if (r >= 0 && high != UINT64_MAX) {
        x->low = WB_MAX(from, high + 1);
        x->high = UINT64_MAX;
        r = read_some(x, c, &stray_nodes, err);
    }
    return r;
}

static int read_family_threads(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    struct wb_uuid low = {{0}}, high;
    memset(&high, 0xff, sizeof high);
    memcpy(low.b, x->family, sizeof x->family);
    memcpy(high.b, x->family, sizeof x->family);
    x->last = low;
    int r = read_some(x, c, &stray_threads, err);
    x->first = low;
    x->last = high;
    if (r >= 0)
        r = read_some(x, c, &own_threads, err);
    x->first = high;
    memset(&x->last, 0xff, sizeof x->last);
    return r < 0 ? r : read_some(x, c, &stray_threads, err);
}

/* To behind the row that ended a list of runs: it cannot be read, and must not hide those after it. */
static int pass_damaged(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = NULL;
    struct wl_list *l = &x->list;
    int r = ws_conn_need(x->s, c, WS_NEXT_RUN, &st, err);
    if (r < 0)
        return r;
    if (l->n)
        x->ask.number = WB_MAX(x->ask.number, ((struct wl_old_run *)l->p)[l->n - 1].number);
    bind(st, x, "tn");
    r = ws_step(x->s, st, err);
    if (r != 1)
        return r < 0 ? r : upp_fail(err, UPP_EBUG, "the damaged run is gone");
    x->ask.number = l->reach.past = ws_column_u64(st, 0);
    l->reach.damaged++;
    return 0;
}

/* Up to the first run that is younger. */
static int read_old_runs(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = NULL;
    int r = ws_conn_need(x->s, c, WS_YOUNGER_RUN, &st, err);
    if (r < 0)
        return r;
    bind(st, x, "nTw");
    r = ws_step(x->s, st, err);
    if (r < 0)
        return r;
    x->high = r == 1 ? ws_column_u64(st, 0) - 1 : INT64_MAX;
    x->list.reach.upto = r == 1 ? x->high : 0;
    for (;;) {
        struct upp_err why = {0};
        r = read_some(x, c, &hows[WL_LIST_OLD_RUNS], &why);
        bool passes = r == -UPP_ESTORE && strcmp(why.cause, WS_DAMAGED) == 0 && x->list.reach.damaged < x->max;
        if (r < 0 && !passes && err)
            *err = why;
        if (!passes)
            return r;
        r = pass_damaged(x, c, err);
        if (r < 0)
            return r;
    }
}

/* The update time after which the list of threads continues: that of the thread with this id. */
static int find_updated(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = c->st[WS_THREAD_UPDATED];
    x->ask.before_ms = INT64_MAX;
    if (wb_uuid_is_nil(x->ask.id))
        return 0;
    bind(st, x, "tiu");
    int r = ws_step(x->s, st, err);
    if (r != 1)
        return r < 0 ? r : ws_no_thing(err, "thread", x->ask.id);
    x->ask.before_ms = sqlite3_column_int64(st, 0);
    return 0;
}

/* The number of the run after which a list of runs continues. */
static int find_number(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(ws_resetp) sqlite3_stmt *st = NULL;
    bool down = x->ask.what == WL_LIST_RUNS || x->ask.what == WL_LIST_OWN_RUNS;
    x->ask.number = down ? INT64_MAX : 0;
    if (wb_uuid_is_nil(x->ask.after))
        return 0;
    int r = ws_conn_need(x->s, c, WS_RUN_NUMBER, &st, err);
    if (r < 0)
        return r;
    bind(st, x, "tr");
    r = ws_step(x->s, st, err);
    if (r != 1)
        return r < 0 ? r : ws_no_thing(err, "run", x->ask.after);
    x->ask.number = ws_column_u64(st, 0);
    return 0;
}

/* Where a list continues, if that is not given by a key of its own. */
static int find_start(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    switch ((int)x->ask.what) {
    case WL_LIST_THREADS:
        return find_updated(x, c, err);
    case WL_LIST_RUNS:
    case WL_LIST_RUNS_UP:
    case WL_LIST_OWN_RUNS:
    case WL_LIST_OWN_RUNS_UP:
    case WL_LIST_WAITING:
        return find_number(x, c, err);
    default:
        return 0;
    }
}

static int read_list(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    const enum wl_what what = x->ask.what;
    int r = find_start(x, c, err);
    if (r < 0)
        return r;
    family_bytes(x->ask.number, x->family);
    x->list = (struct wl_list){.p = wb_arena_alloc(x->a, x->max * ws_kind_of(what)->size, _Alignof(max_align_t))};
    r = wb_arena_check(x->a, err);
    if (r >= 0)
        r = what == WL_LIST_FAMILY_NODES     ? read_family_nodes(x, c, err)
            : what == WL_LIST_FAMILY_THREADS ? read_family_threads(x, c, err)
            : what == WL_LIST_OLD_RUNS       ? read_old_runs(x, c, err)
                                             : read_some(x, c, &hows[what], err);
    return r < 0 ? r : wb_arena_check(x->a, err);
}

WEFT_SUSPENDS static int sq_list(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, struct wl_list *ret,
                                 struct upp_err *err)
{
    struct ws_reading x = {.fn = read_list, .ask = *ask, .a = a, .max = WB_MIN(ask->max, (size_t)WS_LIST_MAX)};
    int r = execute_read(s, &x, err);
    if (r >= 0)
        *ret = x.list;
    return r;
}

static const struct wl_store_ops view_ops = {
    .size = sizeof view_ops,
    .name = "sqlite",
    .rows = sq_rows,
    .get = sq_get,
    .list = sq_list,
};

const struct wl_store_ops ws_sqlite_ops = {
    .size = sizeof ws_sqlite_ops,
    .name = "sqlite",
    .commit = ws_writer_commit,
    .rows = sq_rows,
    .get = sq_get,
    .list = sq_list,
    .follow = ws_look_follow,
    .search = ws_look_search,
    .at_once = sq_at_once,
    .close = ws_sqlite_close,
    .files = ws_sqlite_files,
};
