/* What the SQLite store promises beyond the suite of all stores: sharing, failing disks, its lock, its file. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hooks.h"
#include "support/sim/sim.h"
#include "stores/sqlite/store.h"
#include "support/disk.h"
#include "support/stores.h"

static const char *db_path(void)
{
    static char path[600];
    (void)snprintf(path, sizeof path, "%s/weft.db", test_folder());
    return path;
}

WEFT_SUSPENDS static int open_db(struct wl_store **ret, struct upp_err *err)
{
    return ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path()), ret, err);
}

/* ---- Sharing --------------------------------------------------------------------------------------- */

enum { MANY = 64 };

struct many {
    struct wl_store *s;
    unsigned ok, refused;
};

struct one {
    struct many *all;
    uint64_t node;
    bool wrong;
};

WEFT_SUSPENDS static int append_one(void *arg, struct upp_err *err)
{
    struct one *x = arg;
    struct wl_row a = test_row(x->node, 0, 1, "one"), b = test_row(x->node, wl_pos(x->wrong ? 5 : 1, 0), 1, "two");
    struct wl_node n = test_node(x->node);
    int r = COMMIT(x->all->s, ALICE, NULL, err, ADD_NODE(&n), ADD_ROW(&a), ADD_ROW(&b));
    __atomic_fetch_add(r == 0 ? &x->all->ok : &x->all->refused, r == 0 || r == -UPP_EBUSY, __ATOMIC_RELAXED);
    return r == -UPP_EBUSY && x->wrong ? 0 : r;
}

/* Every third is wrong in its last change. Two rows of the others, nothing of these. */
WEFT_SUSPENDS static int append_many(struct many *m, uint64_t from, struct upp_err *err)
{
    struct one x[MANY]; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    for (unsigned i = 0; i < MANY; i++) {
        x[i] = (struct one){m, from + i, i % 3 == 0};
        TRY(weft_scope_spawn(&all, "append", append_one, &x[i], NULL, err));
    }
    TRY(weft_scope_join(&all, err));
    for (unsigned i = 0; i < MANY; i++) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 16);
        struct wl_rows rows;
        TRY(wl_store_rows(m->s, &ALICE, &(struct wl_range){.node = x[i].node, .to = UINT64_MAX}, &a, &rows, err));
        FAIL_UNLESS(rows.n == (x[i].wrong ? 0 : 2));
    }
    return 0;
}

WEFT_SUSPENDS static int share(void *arg, struct upp_err *err)
{
    struct many *m = arg; /* the leader waits for company, and all come in the same turn of the loop */
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path(), .group_ms = 1), &m->s, err));
    uint64_t before = m->s->count.transactions;
    int r = append_many(m, 1, err);
    uint64_t shared = m->s->count.transactions - before, syncs = m->s->count.syncs;
    m->s->ops->close(m->s);
    TRY(r);
    test_note("%llu transactions, %llu syncs", (unsigned long long)shared, (unsigned long long)syncs);
    FAIL_UNLESS(shared == 1);
    return 0;
}

TEST(store_sqlite_fibers_share_a_transaction)
{
    struct many m = {0};
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(share, &m, &err), 0);
    CHECK(m.ok == MANY - 22 && m.refused == 22);
}

WEFT_SUSPENDS static int on_loop_0(void *arg, struct upp_err *err)
{
    return append_many(arg, 1, err);
}

WEFT_SUSPENDS static int on_loop_1(void *arg, struct upp_err *err)
{
    return append_many(arg, 1000, err);
}

struct remote {
    struct weft_loop *to;
    struct many *m;
    weft_fn *fn;
    int result;
};

WEFT_SUSPENDS static int call_remote(void *arg, struct upp_err *err)
{
    struct remote *x = arg;
    TRY(weft_loop_call(x->to, "append", x->fn, x->m, NULL, &x->result, err));
    return x->result;
}

WEFT_SUSPENDS static int from_two_loops(void *arg, struct upp_err *err)
{
    struct weft_group *g = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct many m = {0};
    TRY(open_db(&m.s, err));
    struct remote x[2] = {{weft_group_loop(g, 0), &m, on_loop_0, 0}, {weft_group_loop(g, 1), &m, on_loop_1, 0}};
    int r = 0;
    for (int i = 0; i < 2 && r >= 0; i++)
        r = weft_scope_spawn(&all, "remote", call_remote, &x[i], NULL, err);
    if (r >= 0)
        r = weft_scope_join(&all, err);
    weft_scope_close(&all);
    m.s->ops->close(m.s);
    TRY(r);
    FAIL_UNLESS(m.ok == 2 * (MANY - 22) && m.refused == 2 * 22);
    return 0;
}

TEST_WITH(store_sqlite_loops_share_a_store, .no_torture = "a failed call leaves fibers of another loop at work with "
                                                          "the store that this one closes")
{
    UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
    struct upp_err err = {0};
    CHECK_INT(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 2), &g, &err), 0);
    CHECK_INT(test_on_loop(from_two_loops, g, &err), 0);
}

/* Close waits for those who came before, and refuses those who come after. */
WEFT_SUSPENDS static int close_with_waiters(void *arg, struct upp_err *err)
{
    struct many m = {0}; /* both outlive the scope */
    struct one x[MANY];
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    (void)arg;
    TRY(open_db(&m.s, err));
    int r = 0;
    for (unsigned i = 0; i < MANY && r >= 0; i++) {
        x[i] = (struct one){&m, 1 + i, false};
        r = weft_scope_spawn(&all, "append", append_one, &x[i], NULL, err);
    }
    if (r >= 0)
        r = weft_yield(err); /* all have given their commit now */
    m.s->ops->close(m.s);
    TRY(r);
    TRY(weft_scope_join(&all, err));
    FAIL_UNLESS(m.ok == MANY);
    return 0;
}

TEST(store_sqlite_closes_with_waiters)
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(close_with_waiters, NULL, &err), 0);
}

/* ---- Without waiting for a sync -------------------------------------------------------------------- */

struct async {
    struct disk *d;
    bool crash_early;
};

WEFT_SUSPENDS static int write_async(void *arg, struct upp_err *err)
{
    struct async *x = arg;
    struct wl_store *s;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "a.db", .vfs = disk_name(x->d)), &s, err));
    struct wl_node node = test_node(7);
    struct wl_change c = ADD_NODE(&node);
    uint64_t syncs = disk_syncs(x->d);
    int r = wl_store_commit(s, &(struct wl_commit){.owner = ALICE, .changes = &c, .n = 1}, err);
    EXPECT(r < 0 || disk_syncs(x->d) <= syncs + 1); /* perhaps the header of a new log, not the commit */
    syncs = disk_syncs(x->d);
    if (r >= 0 && !x->crash_early)
        r = weft_sleep_ms(1100, err);
    EXPECT(r < 0 || x->crash_early || disk_syncs(x->d) == syncs + 1);
    disk_crash(x->d);
    s->ops->close(s);
    return r;
}

WEFT_SUSPENDS static int read_async(void *arg, struct upp_err *err)
{
    struct async *x = arg;
    struct wl_store *s;
    struct wl_node n;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "a.db", .vfs = disk_name(x->d)), &s, err));
    int r = wl_get_node(s, &ALICE, 7, &n, err);
    s->ops->close(s);
    return r;
}

static int in_sim(uint64_t seed, weft_fn *fn, void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed), &w, err);
    return r < 0 ? r : weft_loop_run(weft__sim_loop(w, 0), "program", fn, arg, err);
}

TEST_WITH(store_sqlite_async_is_on_disk_after_a_second, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct async x = {disk_new(seed), false};
        test_note("seed %llu", (unsigned long long)seed);
        bool ok = EXPECT(in_sim(seed, write_async, &x, &err) == 0) && EXPECT(in_sim(seed, read_async, &x, &err) == 0);
        disk_free(x.d);
        CHECK(ok);
    }
}

/* ---- Syncs are the hook table's --------------------------------------------------------------------- */

static struct {
    struct upp_hooks before;
    _Atomic unsigned n;
} synced;

static int counting_sync(int fd)
{
    synced.n++;
    return synced.before.sync(fd);
}

static void hooks_back(int *unused)
{
    (void)unused;
    if (upp_global_init(&synced.before, NULL) < 0)
        abort();
}

WEFT_SUSPENDS static int count_syncs(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(open_db(&s, err));
    int r = test_fill(s, ALICE, 7, 1, err);
    for (uint32_t i = 1; r >= 0 && i < 6; i++) {
        unsigned before = synced.n;
        uint64_t counted = s->count.syncs;
        struct wl_row row = test_row(7, wl_pos(i, 0), 1, "x");
        r = COMMIT(s, ALICE, NULL, err, ADD_ROW(&row));
        EXPECT(r < 0 || (synced.n == before + 1 && s->count.syncs == counted + 1)); /* one commit, one sync */
    }
    s->ops->close(s);
    return r;
}

TEST(store_sqlite_syncs_through_the_hook_table)
{
    struct upp_err err = {0};
    synced.before = *wb_hooks();
    struct upp_hooks table = synced.before;
    table.sync = counting_sync;
    UPP_CLEANUP(hooks_back) int undo = 0;
    CHECK(upp_global_init(&table, NULL) == 0);
    CHECK_INT(test_on_loop(count_syncs, NULL, &err), 0);
    (void)undo;
}

/* ---- The log begins anew ---------------------------------------------------------------------------- */

/* Holds whoever syncs next: a checkpoint, where no commit asks for a sync. */
static struct {
    struct upp_hooks before;
    _Atomic int state;
} stall;
enum { FREE, HOLD, HELD };

static int holding_sync(int fd)
{
    int hold = HOLD;
    if (atomic_compare_exchange_strong(&stall.state, &hold, HELD))
        while (atomic_load(&stall.state) == HELD)
            (void)usleep(100);
    return stall.before.sync(fd);
}

static void held_back(int *unused)
{
    (void)unused;
    if (upp_global_init(&stall.before, NULL) < 0)
        abort();
}

WEFT_SUSPENDS static int add_unsynced(struct wl_store *s, uint32_t *at, struct upp_err *err)
{
    struct wl_row row = test_row(7, wl_pos((*at)++, 0), 1, "x");
    struct wl_change c = ADD_ROW(&row);
    return wl_store_commit(s, &(struct wl_commit){.owner = ALICE, .changes = &c, .n = 1}, err);
}

/* The state in which the checkpoint of the store is, looked at until it is that one. */
WEFT_SUSPENDS static int checkpoint_is(struct ws_sqlite *s, bool going, struct upp_err *err)
{
    for (int i = 0; i < 10000; i++) {
        ws_sqlite_lock(s);
        bool is = going ? atomic_load(&stall.state) == HELD : !s->checkpointing && !s->checkpoint_asked;
        ws_sqlite_unlock(s);
        if (is)
            return 0;
        TRY(weft_sleep_ms(1, err));
    }
    return upp_fail(err, UPP_ETIMEOUT, "the checkpoint is not %s", going ? "going on" : "over");
}

WEFT_SUSPENDS static int append_meanwhile(struct wl_store *s, struct upp_err *err)
{
    struct ws_sqlite *inside = ws_sqlite(s);
    uint32_t at = 1;
    TRY(test_fill(s, ALICE, 7, 1, err));
    atomic_store(&stall.state, HOLD);
    while (inside->wal_pages < 32)
        TRY(add_unsynced(s, &at, err));
    TRY(checkpoint_is(inside, true, err));
    for (int i = 0; i < 5; i++)
        TRY(add_unsynced(s, &at, err));
    int pages = inside->wal_pages;
    atomic_store(&stall.state, FREE);
    TRY(checkpoint_is(inside, false, err));
    TRY(add_unsynced(s, &at, err)); /* behind the others; then the writer moves the rest */
    FAIL_UNLESS(inside->wal_pages > pages);
    TRY(add_unsynced(s, &at, err));
    FAIL_UNLESS(inside->wal_pages < pages);
    return 0;
}

WEFT_SUSPENDS static int log_anew(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path(), .wal_pages = 32, .flush_ms = 600000), &s, err));
    int r = append_meanwhile(s, err);
    atomic_store(&stall.state, FREE);
    s->ops->close(s);
    return r;
}

/* Commits that come while the log is moved do not make it longer for ever. */
TEST_WITH(store_sqlite_log_begins_anew_under_load, .no_torture = "it replaces the table that injects the faults")
{
    struct upp_err err = {0};
    stall.before = *wb_hooks();
    struct upp_hooks table = stall.before;
    table.sync = holding_sync;
    UPP_CLEANUP(held_back) int undo = 0;
    CHECK(upp_global_init(&table, NULL) == 0);
    CHECK_INT(test_on_loop(log_anew, NULL, &err), 0);
    (void)undo;
}

/* ---- Failing disks --------------------------------------------------------------------------------- */

struct failing {
    struct disk *d;
    uint64_t fail_at;
    uint32_t acked;
    bool failed;
};

/* Appends until a sync fails; after that nothing is acknowledged. */
WEFT_SUSPENDS static int write_until_sync_fails(void *arg, struct upp_err *err)
{
    struct failing *x = arg;
    struct wl_store *s;
    disk_fail_sync(x->d, x->fail_at);
    int r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "f.db", .vfs = disk_name(x->d), .wal_pages = 8), &s, err);
    if (r < 0) {
        x->failed = true;
        return 0;
    }
    struct wl_node node = test_node(7);
    r = COMMIT(s, ALICE, NULL, err, ADD_NODE(&node));
    for (uint32_t i = 0; i < 40; i++) {
        struct wl_row row = test_row(7, wl_pos(x->acked, 0), 1, "row");
        r = COMMIT(s, ALICE, NULL, err, ADD_ROW(&row));
        if (r < 0 && r != -UPP_ENOTFOUND) {
            x->failed = true;
            EXPECT(r == -UPP_ESTORE);
        }
        if (r >= 0) {
            EXPECT(!x->failed); /* never again */
            x->acked++;
        }
        if (weft_sleep_ms(1, NULL) < 0)
            break;
    }
    struct wl_node n;
    EXPECT(x->acked == 0 || wl_get_node(s, &ALICE, 7, &n, err) == 0); /* reading goes on */
    disk_crash(x->d);
    s->ops->close(s);
    return 0;
}

WEFT_SUSPENDS static int count_after(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 16);
    struct failing *x = arg;
    struct wl_store *s;
    struct wl_rows rows;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "f.db", .vfs = disk_name(x->d)), &s, err));
    int r = wl_store_rows(s, &ALICE, &(struct wl_range){.node = 7, .to = UINT64_MAX}, &a, &rows, err);
    if (r >= 0)
        EXPECT(rows.n >= x->acked);
    s->ops->close(s);
    return r;
}

TEST_WITH(store_sqlite_acknowledges_nothing_after_a_failed_sync, .no_torture = "the disk is the test's own")
{
    for (uint64_t n = 1; n <= 30; n++) {
        struct upp_err err = {0};
        struct failing x = {.d = disk_new(n), .fail_at = n};
        test_note("the %llu. sync fails", (unsigned long long)n);
        bool ok = EXPECT(in_sim(n, write_until_sync_fails, &x, &err) == 0) && EXPECT(x.failed) &&
                  EXPECT(in_sim(n, count_after, &x, &err) == 0);
        disk_free(x.d);
        CHECK(ok && !test_failed());
    }
}

WEFT_SUSPENDS static int fill_disk(void *arg, struct upp_err *err)
{
    struct disk *d = arg;
    struct wl_store *s;
    static char big[20000];
    memset(big, 'x', sizeof big - 1);
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "full.db", .vfs = disk_name(d)), &s, err));
    struct wl_node node = test_node(7), got;
    int r = COMMIT(s, ALICE, NULL, err, ADD_NODE(&node));
    disk_room(d, 100000);
    uint32_t n = 0;
    for (; r >= 0 && n < 100; n += r >= 0) {
        struct wl_row row = test_row(7, wl_pos(n, 0), 1, big);
        r = COMMIT(s, ALICE, NULL, err, ADD_ROW(&row));
    }
    bool full = EXPECT(r == -UPP_ESTORE && strstr(err->msg, "the disk is full"));
    r = wl_get_node(s, &ALICE, 7, &got, err); /* reading goes on */
    disk_room(d, UINT64_MAX);
    for (uint32_t i = 0; full && r >= 0 && i < 5; i++) {
        struct wl_row row = test_row(7, wl_pos(n + i, 0), 1, big);
        r = COMMIT(s, ALICE, NULL, err, ADD_ROW(&row));
    }
    s->ops->close(s);
    return full ? r : -UPP_EBUG;
}

TEST_WITH(store_sqlite_goes_on_when_a_full_disk_has_room_again, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    struct disk *d = disk_new(1);
    int r = in_sim(1, fill_disk, d, &err);
    disk_free(d);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* ---- Its page cache --------------------------------------------------------------------------------- */

struct cache {
    uint32_t kib;           /* as the option has it */
    int64_t writer, reader; /* as SQLite has it: negative, in KiB */
};

WEFT_SUSPENDS static int read_cache(void *arg, struct upp_err *err)
{
    struct cache *x = arg;
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 16);
    struct wl_store *store;
    struct wl_rows rows;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path(), .cache_kib = x->kib), &store, err));
    struct ws_sqlite *s = ws_sqlite(store);
    int r = ws_conn_number(s, &s->writer, "PRAGMA cache_size", &x->writer, err);
    if (r >= 0) /* opens the reader that is looked at next */
        r = wl_store_rows(store, &ALICE, &(struct wl_range){.node = 1, .to = UINT64_MAX}, &a, &rows, err);
    if (r >= 0) {
        EXPECT(!wb_list_empty(&s->readers));
        r = ws_conn_number(s, WB_OUTER(s->readers.next, struct ws_conn, link), "PRAGMA cache_size", &x->reader, err);
    }
    store->ops->close(store);
    return r;
}

TEST(store_sqlite_has_the_page_cache_of_its_option)
{
    static const struct cache cases[] = {
        {0, -(16 << 10), -(2 << 10)}, {1 << 10, -1024, -128}, {64 << 10, -(64 << 10), -(8 << 10)}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct cache x = {.kib = cases[i].kib};
        struct upp_err err = {0};
        CHECK_INT(test_on_loop(read_cache, &x, &err), 0);
        CHECK_INT(x.writer, cases[i].writer);
        CHECK_INT(x.reader, cases[i].reader);
    }
}

/* ---- The lock -------------------------------------------------------------------------------------- */

TEST(store_sqlite_has_one_owner)
{
    struct wl_store *s = NULL, *second = NULL, *reader = NULL;
    struct upp_err err = {0};
    struct ws_owner_info who = {0};
    struct stat st;
    char want[700];
    CHECK_INT(open_db(&s, &err), 0); /* outside of any fiber: it blocks */
    int r1 = open_db(&second, &err), r2 = ws_lock_read(db_path(), &who, NULL);
    bool private = stat(db_path(), &st) == 0 && (st.st_mode & 0777) == 0600;
    int r3 = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path(), .read_only = true), &reader, NULL);
    char socket[108];
    (void)snprintf(socket, sizeof socket, "%s", ws_sqlite_socket(s));
    if (r3 >= 0)
        reader->ops->close(reader);
    if (r1 >= 0)
        second->ops->close(second);
    s->ops->close(s);
    ALWAYS(r1 < 0);
    CHECK_INT(r1, -UPP_EBUSY);
    CHECK_INT(r2, 0);
    CHECK_INT(r3, 0);
    CHECK(private);
    CHECK_INT(who.pid, getpid());
    (void)snprintf(want, sizeof want, "%s.sock", db_path());
    CHECK_STR(wb_cstr(who.socket), wb_cstr(want));
    CHECK_STR(wb_cstr(socket), wb_cstr(want));
    CHECK_INT(ws_lock_read(db_path(), &who, NULL), -UPP_ENOTFOUND);
}

TEST_WITH(store_sqlite_lock_dies_with_its_process, .no_torture = "the owner is another process")
{
    int ready[2];
    char c;
    CHECK(pipe(ready) == 0);
    (void)db_path(); /* the folder is this process's */
    pid_t pid = fork();
    if (pid == 0) {
        struct ws_lock l;
        (void)!write(ready[1], ws_lock_take(db_path(), &l, NULL) == 0 ? "y" : "n", 1);
        for (;;)
            (void)pause();
    }
    bool held = read(ready[0], &c, 1) == 1 && c == 'y';
    struct ws_lock l = {.fd = -1};
    struct ws_owner_info who = {0};
    int r1 = ws_lock_take(db_path(), &l, NULL), r2 = ws_lock_read(db_path(), &who, NULL);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    int r3 = ws_lock_take(db_path(), &l, NULL);
    ws_lock_release(&l);
    (void)close(ready[0]);
    (void)close(ready[1]);
    CHECK(held);
    CHECK_INT(r1, -UPP_EBUSY);
    CHECK(r2 == 0 && who.pid == pid);
    CHECK_INT(r3, 0);
}

TEST(store_sqlite_socket_paths_fit)
{
    char path[300], got[108];
    struct upp_err err = {0};
    memset(path, 'a', sizeof path);
    path[102] = 0;
    CHECK_INT(ws_lock_socket(path, got, &err), 0);
    CHECK(strlen(got) == 107 && strcmp(got + 102, ".sock") == 0);
    memcpy(path, "/tmp/", 5);
    path[102] = 'a';
    path[103] = 0;
    CHECK_INT(ws_lock_socket(path, got, &err), 0);
    CHECK(strncmp(got, "/tmp/.weft-", 11) == 0 && strlen(got) == 24);
    path[290] = 0;
    memset(path + 100, 'b', 190);
    path[280] = '/';
    CHECK_INT(ws_lock_socket(path, got, &err), -UPP_EINVALID);
    CHECK(err.where[0]);
}

/* ---- Files that are not ours ----------------------------------------------------------------------- */

static bool sql(const char *text)
{
    sqlite3 *db = NULL;
    bool ok = test_db_open(db_path(), &db) == SQLITE_OK && sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK;
    test_db_close(db);
    return ok;
}

static int try_open(struct upp_err *err)
{
    struct wl_store *s = NULL;
    int r = open_db(&s, err);
    if (r >= 0)
        s->ops->close(s);
    return r;
}

TEST(store_sqlite_refuses_files_that_are_not_ours)
{
    struct upp_err err = {0};
    static const struct {
        const char *sql, *why;
        int want;
    } cases[] = {
        {"UPDATE meta SET value = 99 WHERE name = 'schema'", "", 0}, /* newer, but we can read it */
        {"UPDATE meta SET value = 98 WHERE name = 'min_reader'", "newer weft", -UPP_EREFUSED},
        {"DELETE FROM meta", "does not say", -UPP_EREFUSED},
        {"PRAGMA application_id = 5", "another program", -UPP_EREFUSED},
    };
    CHECK_INT(try_open(&err), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(sql(cases[i].sql));
        int r = try_open(&err);
        test_note("case %zu: %s", i, err.msg);
        CHECK_INT(r, cases[i].want);
        CHECK(r >= 0 || (strstr(err.msg, cases[i].why) && strstr(err.where, "weft.db")));
    }
}

/* Cut off anywhere it is refused, or (a file without a byte; SQLite takes one of a single byte for that) new. */
TEST(store_sqlite_refuses_a_truncated_file)
{
    struct upp_err err = {0};
    CHECK_INT(try_open(&err), 0);
    static const int sizes[] = {50000, 8192, 4096, 3000, 100, 17};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CHECK(truncate(db_path(), sizes[i]) == 0);
        int r = try_open(&err);
        test_note("%d bytes: %d %s", sizes[i], r, err.msg);
        CHECK(r == -UPP_ESTORE || r == -UPP_EREFUSED);
    }
    CHECK(truncate(db_path(), 0) == 0);
    CHECK_INT(try_open(&err), 0);
}
