/* Small commits that wait for no sync: a loop that has nothing else to do writes them itself, and never waits. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hooks.h"
#include "fiber/loop.h"
#include "stores/sqlite/store.h"
#include "support/stores.h"

static const char *db_path(void)
{
    static char path[600];
    (void)snprintf(path, sizeof path, "%s/weft.db", test_folder());
    return path;
}

/* ---- Who writes, and who syncs ---------------------------------------------------------------------- */

static struct {
    struct upp_hooks before;
    pthread_t loop;
    _Atomic unsigned here, elsewhere, synced_here;
    _Atomic unsigned nameless; /* writes by the loop of which its watchdog could not say whose they are */
    _Atomic unsigned slow_us;  /* so long takes the next write */
} seen;

static int64_t seeing_pwrite(int fd, const void *p, size_t n, int64_t off)
{
    if (pthread_equal(pthread_self(), seen.loop)) {
        seen.here++;
        seen.nameless += !weft__loop() || !atomic_load(&weft__loop()->running);
    } else
        seen.elsewhere++;
    unsigned us = atomic_exchange(&seen.slow_us, 0);
    if (us)
        (void)usleep(us);
    return seen.before.pwrite(fd, p, n, off);
}

static int seeing_sync(int fd)
{
    if (pthread_equal(pthread_self(), seen.loop))
        seen.synced_here++;
    return seen.before.sync(fd);
}

static void hooks_back(int *unused)
{
    (void)unused;
    if (upp_global_init(&seen.before, NULL) < 0)
        abort();
}

struct fixture {
    struct wl_store *s;
    uint32_t at; /* where the next row of node 7 stands */
    WEFT_SUSPENDS int (*fn)(struct fixture *x, struct upp_err *err);
    uint32_t wal_pages;
    bool patient; /* a slow disk counts */
};

/* What a worker did is over. */
WEFT_SUSPENDS static int quiet(struct fixture *x, struct upp_err *err)
{
    struct ws_sqlite *s = ws_sqlite(x->s);
    for (int i = 0; i < 10000; i++) {
        ws_sqlite_lock(s);
        bool is = !s->writing && !s->checkpoint_asked;
        ws_sqlite_unlock(s);
        if (is) {
            seen.here = seen.elsewhere = 0;
            return 0;
        }
        TRY(weft_sleep_ms(1, err));
    }
    return upp_fail(err, UPP_ETIMEOUT, "the writer is not idle");
}

WEFT_SUSPENDS static int on_new_store(void *arg, struct upp_err *err)
{
    struct fixture *x = arg;
    seen.loop = pthread_self();
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path(), .wal_pages = x->wal_pages, .flush_ms = 600000),
                       &x->s, err));
    int r = test_fill(x->s, ALICE, 7, 1, err);
    x->at = 1;
    if (r >= 0)
        r = quiet(x, err);
    if (r >= 0)
        r = x->fn(x, err);
    x->s->ops->close(x->s);
    return r;
}

static int with_store(WEFT_SUSPENDS int (*fn)(struct fixture *x, struct upp_err *err), uint32_t wal_pages,
                      struct upp_err *err)
{
    struct fixture x = {.fn = fn, .wal_pages = wal_pages};
    seen.before = *wb_hooks();
    struct upp_hooks table = seen.before;
    table.pwrite = seeing_pwrite;
    table.sync = seeing_sync;
    UPP_CLEANUP(hooks_back) int undo = 0;
    seen.synced_here = seen.slow_us = seen.nameless = 0;
    if (upp_global_init(&table, NULL) < 0)
        abort();
    int r = test_on_loop(on_new_store, &x, err);
    (void)undo;
    return r;
}

/* ---- Commits ----------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int add(struct fixture *x, const char *body, unsigned flags, struct upp_err *err)
{
    struct wl_row row = test_row(7, wl_pos(x->at, 0), 1, body);
    struct wl_change c = ADD_ROW(&row);
    int r = wl_store_commit(x->s, &(struct wl_commit){.owner = ALICE, .changes = &c, .n = 1, .flags = flags}, err);
    x->at += r >= 0;
    return r;
}

WEFT_SUSPENDS static int rows_are(struct fixture *x, size_t n, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_rows rows;
    TRY(wl_store_rows(x->s, &ALICE, &(struct wl_range){.node = 7, .to = UINT64_MAX}, &a, &rows, err));
    FAIL_UNLESS(rows.n == n);
    return 0;
}

WEFT_SUSPENDS static int alone(struct fixture *x, struct upp_err *err)
{
    for (int i = 0; i < 20; i++) {
        seen.here = 0;
        TRY(add(x, "alone", 0, err));
        FAIL_UNLESS(seen.here > 0);
    }
    uint32_t at = x->at;
    x->at = 5; /* taken */
    int r = add(x, "again", 0, err);
    FAIL_UNLESS(r < 0);
    if (r != -UPP_EBUSY)
        return r;
    x->at = at;
    seen.here = 0;
    TRY(add(x, "and on", 0, err));
    FAIL_UNLESS(seen.here > 0);
    return rows_are(x, 22, err);
}

TEST(store_here_alone)
{
    struct upp_err err = {0};
    CHECK_INT(with_store(alone, 0, &err), 0);
    CHECK(seen.synced_here == 0 && seen.nameless == 0);
}

/* ---- Not here ---------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int was_elsewhere(struct fixture *x, struct upp_err *err)
{
    FAIL_UNLESS(seen.here == 0 && seen.elsewhere > 0);
    return quiet(x, err);
}

static const char *long_body(void)
{
    static char text[17 << 10];
    memset(text, 'x', sizeof text - 1);
    text[0] = text[sizeof text - 2] = '"';
    return text;
}

WEFT_SUSPENDS static int heavy(struct fixture *x, struct upp_err *err)
{
    TRY(add(x, "synced", WL_SYNCED, err));
    TRY(was_elsewhere(x, err));
    TRY(add(x, long_body(), 0, err));
    TRY(was_elsewhere(x, err));

    struct wl_row row[9];
    struct wl_change many[9];
    for (uint32_t i = 0; i < 9; i++) {
        row[i] = test_row(7, wl_pos(x->at + i, 0), 1, "one of many");
        many[i] = (struct wl_change)ADD_ROW(&row[i]);
    }
    TRY(wl_store_commit(x->s, &(struct wl_commit){.owner = ALICE, .changes = many, .n = 9}, err));
    TRY(was_elsewhere(x, err));

    x->at += 9;
    for (uint32_t i = 0; i < 8; i++)
        row[i] = test_row(7, wl_pos(x->at + i, 0), 1, "one of eight");
    ws_sqlite(x->s)->here_again = 0;
    TRY(wl_store_commit(x->s, &(struct wl_commit){.owner = ALICE, .changes = many, .n = 8}, err));
    FAIL_UNLESS(seen.here > 0);
    TRY(quiet(x, err));

    struct wl_row set = test_row(7, wl_pos(1, 0), 1, "set"); /* what the search knows of it is looked for */
    struct wl_change c = SET_ROW(&set);
    TRY(wl_store_commit(x->s, &(struct wl_commit){.owner = ALICE, .changes = &c, .n = 1}, err));
    TRY(was_elsewhere(x, err));

    x->at += 8;
    TRY(add(x, "small", 0, err));
    FAIL_UNLESS(seen.here > 0);
    return rows_are(x, 21, err);
}

TEST(store_here_only_what_is_small)
{
    struct upp_err err = {0};
    CHECK_INT(with_store(heavy, 0, &err), 0);
    CHECK(seen.synced_here == 0);
}

struct adder {
    struct fixture *x;
    uint64_t node;
};

WEFT_SUSPENDS static int add_node(void *arg, struct upp_err *err)
{
    struct adder *a = arg;
    struct wl_node n = test_node(a->node);
    struct wl_change c = ADD_NODE(&n);
    return wl_store_commit(a->x->s, &(struct wl_commit){.owner = ALICE, .changes = &c, .n = 1}, err);
}

WEFT_SUSPENDS static int together(struct fixture *x, struct upp_err *err)
{
    struct adder a[2] = {{x, 20}, {x, 21}};
    UPP_CLEANUP(weft_scope_close) struct weft_scope both = {0};
    uint64_t from = x->s->count.transactions;
    for (int i = 0; i < 2; i++)
        TRY(weft_scope_spawn(&both, "adder", add_node, &a[i], NULL, err));
    TRY(weft_scope_join(&both, err));
    FAIL_UNLESS(x->s->count.transactions == from + 1);
    return was_elsewhere(x, err);
}

TEST(store_here_not_what_comes_together)
{
    struct upp_err err = {0};
    CHECK_INT(with_store(together, 0, &err), 0);
}

WEFT_SUSPENDS static int always_ready(void *arg, struct upp_err *err)
{
    (void)arg;
    for (;;)
        TRY(weft_yield(err));
}

WEFT_SUSPENDS static int busy_loop(struct fixture *x, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope other = {0};
    TRY(weft_scope_spawn(&other, "always ready", always_ready, NULL, NULL, err));
    TRY(add(x, "while others run", 0, err));
    return was_elsewhere(x, err);
}

TEST(store_here_not_on_a_busy_loop)
{
    struct upp_err err = {0};
    CHECK_INT(with_store(busy_loop, 0, &err), 0);
}

/* ---- It never waits ----------------------------------------------------------------------------------- */

/* Beginning the log anew syncs: that is a worker's, each time. */
WEFT_SUSPENDS static int log_begins_anew(struct fixture *x, struct upp_err *err)
{
    struct ws_sqlite *s = ws_sqlite(x->s);
    unsigned anew = 0, here = 0;
    int pages = s->wal_pages;
    for (int i = 0; i < 5000 && (anew < 5 || here <= 20); i++) {
        seen.here = 0;
        TRY(add(x, "one more", 0, err));
        here += seen.here > 0;
        anew += s->wal_pages < pages;
        pages = s->wal_pages;
        if (i % 16 == 0)
            TRY(quiet(x, err));
    }
    test_note("anew %u times, %u of %u written by the loop", anew, here, x->at);
    FAIL_UNLESS(anew >= 5 && here > 20 && seen.synced_here == 0);
    return 0;
}

TEST_WITH(store_here_never_syncs, .no_torture = "it is the same few calls many times")
{
    struct upp_err err = {0};
    CHECK_INT(with_store(log_begins_anew, 32, &err), 0);
}

/* A disk that made the loop wait 5 ms is not asked again by it for 500. */
WEFT_SUSPENDS static int slow_disk(struct fixture *x, struct upp_err *err)
{
    x->patient = true;
    ws_sqlite(x->s)->here_again = 0;
    seen.slow_us = 5000;
    TRY(add(x, "slow", 0, err));
    FAIL_UNLESS(seen.here > 0 && seen.slow_us == 0);
    seen.here = seen.elsewhere = 0;
    TRY(add(x, "elsewhere, then", 0, err));
    TRY(was_elsewhere(x, err));
    for (int i = 0; i < 600 && !seen.here; i++) { /* it may have taken longer than we told it to */
        TRY(weft_sleep_ms(100, err));
        TRY(add(x, "here again", 0, err));
    }
    FAIL_UNLESS(seen.here > 0);
    return 0;
}

TEST_WITH(store_here_not_on_a_slow_disk, .no_torture = "it is a matter of time")
{
    struct upp_err err = {0};
    CHECK_INT(with_store(slow_disk, 0, &err), 0);
}

struct locked {
    struct fixture *x;
    bool over;
};

WEFT_SUSPENDS static int add_locked(void *arg, struct upp_err *err)
{
    struct locked *l = arg;
    int r = add(l->x, "behind the lock", 0, err);
    l->over = true;
    return r;
}

static void close_db(sqlite3 **db)
{
    (void)sqlite3_close(*db);
}

WEFT_SUSPENDS static int locked_file(struct fixture *x, struct upp_err *err)
{
    UPP_CLEANUP(close_db) sqlite3 *db = NULL;
    struct locked l = {.x = x};
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    FAIL_UNLESS(sqlite3_open(db_path(), &db) == SQLITE_OK &&
                sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    TRY(weft_scope_spawn(&s, "adder", add_locked, &l, NULL, err));
    for (int i = 0; i < 20; i++)
        TRY(weft_sleep_ms(1, err)); /* the loop goes on */
    FAIL_UNLESS(!l.over && seen.here == 0);
    FAIL_UNLESS(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
    TRY(weft_scope_join(&s, err));
    FAIL_UNLESS(seen.here == 0 && seen.elsewhere > 0);
    return rows_are(x, 2, err);
}

TEST_WITH(store_here_not_behind_a_lock, .no_torture = "the other program is in this process, and fails first")
{
    struct upp_err err = {0};
    CHECK_INT(with_store(locked_file, 0, &err), 0);
}

/* ---- Several loops ------------------------------------------------------------------------------------ */

enum { EACH = 200 };

struct side {
    struct wl_store *s;
    uint64_t node;
};

WEFT_SUSPENDS static int add_many(void *arg, struct upp_err *err)
{
    struct side *x = arg;
    struct wl_node n = test_node(x->node);
    struct wl_change c = ADD_NODE(&n);
    TRY(wl_store_commit(x->s, &(struct wl_commit){.owner = ALICE, .changes = &c, .n = 1}, err));
    for (uint32_t i = 0; i < EACH; i++) {
        struct wl_row row = test_row(x->node, wl_pos(i, 0), 1, "x");
        c = (struct wl_change)ADD_ROW(&row);
        TRY(wl_store_commit(x->s, &(struct wl_commit){.owner = ALICE, .changes = &c, .n = 1}, err));
    }
    return 0;
}

struct call {
    struct weft_loop *to;
    struct side side;
};

WEFT_SUSPENDS static int call_side(void *arg, struct upp_err *err)
{
    struct call *x = arg;
    int result = 0;
    TRY(weft_loop_call(x->to, "side", add_many, &x->side, NULL, &result, err));
    return result;
}

WEFT_SUSPENDS static int two_loops(void *arg, struct upp_err *err)
{
    struct weft_group *g = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct wl_store *store;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path()), &store, err));
    struct call x[2] = {{weft_group_loop(g, 0), {store, 30}}, {weft_group_loop(g, 1), {store, 31}}};
    int r = 0;
    for (int i = 0; i < 2 && r >= 0; i++)
        r = weft_scope_spawn(&s, "caller", call_side, &x[i], NULL, err);
    if (r >= 0)
        r = weft_scope_join(&s, err);
    weft_scope_close(&s);
    EXPECT(r < 0 || store->count.rows == 2 * EACH);
    store->ops->close(store);
    return r;
}

TEST_WITH(store_here_on_two_loops, .no_torture = "a failed call leaves fibers of another loop at work with the store")
{
    UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
    struct upp_err err = {0};
    CHECK_INT(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 2), &g, &err), 0);
    CHECK_INT(test_on_loop(two_loops, g, &err), 0);
}
