/* A database of an older version (tests/fixtures/stores) becomes one of ours: whole, or not at all. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "support/sim/sim.h"
#include "log/log.h"
#include "stores/blobs/blobs.h"
#include "stores/sqlite/sqlite.h"
#include "stores/sqlite/sum.h"
#include "support/disk.h"
#include "support/rig.h"
#include "support/stores.h"

enum { NOW = 5, ENTRIES_2 = 26 /* on the paths of threads of the fixture of version 2 */ };

/* A copy of the fixture of a version; vfs NULL: as a file. */
static bool copy_fixture(int version, const char *path, const char *vfs)
{
    char from[512], name[64];
    sqlite3 *in = NULL, *out = NULL;
    (void)snprintf(name, sizeof name, "fixtures/stores/schema-%d.db", version);
    (void)snprintf(from, sizeof from, "file:%s?mode=ro&immutable=1", test_source(name));
    bool ok = sqlite3_open_v2(from, &in, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK &&
              sqlite3_open_v2(path, &out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs) == SQLITE_OK;
    sqlite3_backup *b = ok ? sqlite3_backup_init(out, "main", in, "main") : NULL;
    ok = b && sqlite3_backup_step(b, -1) == SQLITE_DONE;
    (void)sqlite3_backup_finish(b);
    (void)sqlite3_close(in);
    (void)sqlite3_close(out);
    return ok;
}

/* The first column of the first row, or -1. */
static int64_t number(const char *path, const char *vfs, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int64_t x = -1;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, vfs) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        x = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
    return x;
}

static bool whole(const char *path, const char *vfs)
{
    return number(path, vfs, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1;
}

/* Does every row of every table have the sum that it should have? */
static bool summed(const char *path, const char *vfs)
{
    sqlite3 *db = NULL;
    bool ok = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, vfs) == SQLITE_OK;
    ok = ok && ws_sum_functions(db) == SQLITE_OK;
    for (const struct ws_summed *t = ws_summed; ok && t->table; t++) {
        char sql[1024];
        (void)snprintf(sql, sizeof sql, "SELECT count(weft_whole(sum, '%s', %s)) FROM %s", t->table, t->columns,
                       t->table);
        ok = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
        if (!ok)
            test_note("%s", sqlite3_errmsg(db));
    }
    (void)sqlite3_close(db);
    return ok;
}

/* ---- What is in it --------------------------------------------------------------------------------- */

static const struct wl_owner owner = {UPP_STR_INIT("local"), UPP_STR_INIT("")};

/* Every thread of the owner, every entry on its path. */
WEFT_SUSPENDS static int read_heads(struct wl_store *s, size_t *threads, size_t *entries, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_thread *p;
    TRY(wl_list_threads(s, &owner, WB_UUID_NIL, 100, &a, &p, threads, err));
    *entries = 0;
    for (size_t i = 0; i < *threads; i++) {
        struct wl_end end;
        struct wl_path path;
        struct wl_line *lines;
        size_t n;
        TRY(wl_node_end(s, &owner, p[i].head, &end, err));
        TRY(wl_path_open(s, &owner, p[i].head, wl_thread_length(&p[i], end.length), &a, &path, err));
        TRY(wl_path_tail(s, &owner, &path, UINT32_MAX, 1000, &a, &lines, &n, err));
        FAIL_UNLESS(n == path.length);
        *entries += n;
    }
    return 0;
}

/* The thread of a run's agent. */
WEFT_SUSPENDS static int thread_of(struct wl_store *s, const char *agent, struct wb_arena *a, struct wl_thread *ret,
                                   struct upp_err *err)
{
    struct wl_old_run *runs;
    size_t n;
    TRY(wl_list_old_runs(s, &owner, 0, INT64_MAX, 100, a, &runs, &n, err));
    FAIL_UNLESS(n == 9);
    for (size_t i = 0; i < n; i++) {
        FAIL_UNLESS(!runs[i].run.swept);
        if (wb_str_eq(runs[i].run.agent, wb_cstr(agent)))
            return wl_get_thread(s, &owner, runs[i].run.thread, a, ret, err);
    }
    FAIL_UNLESS(!"no such run");
    return 0;
}

/* Old conversations are found as families: with their sub threads and all nodes. */
WEFT_SUSPENDS static int read_families(struct wl_store *s, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_thread t, *threads;
    struct wl_node *nodes;
    size_t n;
    TRY(thread_of(s, "weather", &a, &t, err));
    TRY(wl_list_family_threads(s, &owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &threads, &n, err));
    FAIL_UNLESS(n == 1 && wb_uuid_eq(threads[0].id, t.id));
    TRY(wl_list_family_nodes(s, &owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &nodes, &n, err));
    FAIL_UNLESS(n == 1 && nodes[0].key == t.head && !nodes[0].name.p);

    TRY(thread_of(s, "chief", &a, &t, err));
    TRY(wl_list_family_threads(s, &owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &threads, &n, err));
    FAIL_UNLESS(n == 2 && wb_uuid_cmp(threads[0].id, threads[1].id) < 0);
    const struct wl_thread *sub = &threads[wb_uuid_eq(threads[0].id, t.id)];
    FAIL_UNLESS(wb_uuid_eq(sub->parent, t.id));
    TRY(wl_list_family_nodes(s, &owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &nodes, &n, err));
    FAIL_UNLESS(n == 2 && nodes[0].key < nodes[1].key);
    FAIL_UNLESS((nodes[0].key == t.head) != (nodes[1].key == t.head));
    TRY(wl_list_family_nodes(s, &owner, wl_family(sub->tree), WB_UUID_NIL, 10, &a, &nodes, &n, err));
    FAIL_UNLESS(n == 1 && nodes[0].key == sub->head);
    return 0;
}

/* ---- Migrating ------------------------------------------------------------------------------------- */

static char path_of[512];

WEFT_SUSPENDS static int open_it(bool read_only, struct wl_store **ret, struct upp_err *err)
{
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path_of, .read_only = read_only), ret, err));
    return ws_blobs_open(*ret, ret, err);
}

WEFT_SUSPENDS static int look_at_it(struct wl_store *s, struct upp_err *err)
{
    size_t threads, entries;
    TRY(read_heads(s, &threads, &entries, err));
    test_note("%zu threads, %zu entries", threads, entries);
    FAIL_UNLESS(threads == 7 && entries == 21);
    return read_families(s, err);
}

/* What a conversation of before gets below it is found with it: a sub thread of its sub thread, as the engine makes
 * them, and a branch. */
WEFT_SUSPENDS static int grow(struct wl_store *s, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_thread t, *threads;
    struct wl_node head, branch, *nodes;
    size_t n;
    TRY(thread_of(s, "chief", &a, &t, err));
    TRY(wl_list_family_threads(s, &owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &threads, &n, err));
    FAIL_UNLESS(n == 2);
    const struct wb_uuid parent = threads[wb_uuid_eq(threads[0].id, t.id)].id;
    struct wl_thread sub = {.parent = parent, .kind = WL_SUB, .version = 1};
    TRY(wl_id_new(wl_family(parent), &sub.id, err));
    sub.tree = sub.id;
    sub.head = wm_key(sub.id);
    struct wl_node x = {.key = sub.head, .id = sub.id, .tree = sub.id};
    TRY(wl_get_node(s, &owner, t.head, &head, err));
    TRY(wl_branch_make(&head, 1, &branch, err));
    TRY(COMMIT(s, owner, NULL, err, ADD_THREAD(&sub), ADD_NODE(&x), ADD_NODE(&branch)));
    TRY(wl_list_family_threads(s, &owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &threads, &n, err));
    FAIL_UNLESS(n == 3);
    TRY(wl_list_family_nodes(s, &owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &nodes, &n, err));
    FAIL_UNLESS(n == 4);
    /* And is dropped with it: nothing of it is left. */
    TRY(COMMIT(s, owner, NULL, err, DROP_THREAD(&sub), DROP_NODE(&x), DROP_NODE(&branch)));
    TRY(wl_list_family_nodes(s, &owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &nodes, &n, err));
    FAIL_UNLESS(n == 2);
    return 0;
}

WEFT_SUSPENDS static int migrate(void *arg, struct upp_err *err)
{
    struct wl_store *s = NULL;
    (void)arg;
    FAIL_UNLESS(open_it(true, &s, err) == -UPP_EREFUSED && strstr(err->msg, "older weft"));
    TRY(open_it(false, &s, err));
    int r = look_at_it(s, err);
    if (r >= 0)
        r = grow(s, err);
    s->ops->close(s);
    TRY(r);
    TRY(open_it(true, &s, err)); /* and again, now that it is ours */
    r = look_at_it(s, err);
    s->ops->close(s);
    return r;
}

TEST(store_migrates_from_version_1)
{
    struct upp_err err = {0};
    (void)snprintf(path_of, sizeof path_of, "%s/old.db", test_folder());
    CHECK(copy_fixture(1, path_of, NULL));
    CHECK_INT(number(path_of, NULL, "SELECT value FROM meta WHERE name = 'schema'"), 1);
    int r = test_on_loop(migrate, NULL, &err);
    test_note("%d: %s", r, err.msg);
    CHECK(r >= 0);
    CHECK_INT(number(path_of, NULL, "SELECT value FROM meta WHERE name = 'schema'"), NOW);
    CHECK_INT(number(path_of, NULL, "SELECT value FROM meta WHERE name = 'min_reader'"), 5);
    CHECK_INT(number(path_of, NULL, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'kin%'"), 0);
    CHECK(whole(path_of, NULL) && summed(path_of, NULL));
}

WEFT_SUSPENDS static int migrate_2(void *arg, struct upp_err *err)
{
    struct wl_store *s = NULL;
    size_t threads, entries;
    (void)arg;
    FAIL_UNLESS(open_it(true, &s, err) == -UPP_EREFUSED && strstr(err->msg, "older weft"));
    for (int i = 0; i < 2; i++) { /* and again, now that it is ours */
        TRY(open_it(i == 1, &s, err));
        int r = read_heads(s, &threads, &entries, err);
        s->ops->close(s);
        TRY(r);
        test_note("%zu threads, %zu entries", threads, entries);
        FAIL_UNLESS(threads == 8 && entries == ENTRIES_2);
    }
    return 0;
}

TEST(store_migrates_from_version_2)
{
    struct upp_err err = {0};
    (void)snprintf(path_of, sizeof path_of, "%s/old.db", test_folder());
    CHECK(copy_fixture(2, path_of, NULL));
    CHECK_INT(number(path_of, NULL, "SELECT value FROM meta WHERE name = 'schema'"), 2);
    int r = test_on_loop(migrate_2, NULL, &err);
    test_note("%d: %s", r, err.msg);
    CHECK(r >= 0);
    CHECK_INT(number(path_of, NULL, "SELECT value FROM meta WHERE name = 'schema'"), NOW);
    CHECK(whole(path_of, NULL) && summed(path_of, NULL));
}

TEST(store_migrates_from_version_4)
{
    struct upp_err err = {0};
    (void)snprintf(path_of, sizeof path_of, "%s/old.db", test_folder());
    CHECK(copy_fixture(4, path_of, NULL));
    CHECK_INT(number(path_of, NULL, "SELECT value FROM meta WHERE name = 'schema'"), 4);
    int r = test_on_loop(migrate_2, NULL, &err); /* it has the same threads */
    test_note("%d: %s", r, err.msg);
    CHECK(r >= 0);
    CHECK_INT(number(path_of, NULL, "SELECT value FROM meta WHERE name = 'schema'"), NOW);
    CHECK_INT(number(path_of, NULL, "SELECT count(*) FROM runs WHERE engine IS NULL"), 8);
    CHECK(whole(path_of, NULL) && summed(path_of, NULL));
}

/* Both ways lead to the same tables. */
WEFT_SUSPENDS static int make_new(void *arg, struct upp_err *err)
{
    struct wl_store *s = NULL;
    (void)arg;
    TRY(open_it(false, &s, err));
    s->ops->close(s);
    return 0;
}

TEST(store_migrates_to_the_tables_of_a_new_file)
{
    struct upp_err err = {0};
    char old[512];
    (void)snprintf(path_of, sizeof path_of, "%s/old.db", test_folder());
    CHECK(copy_fixture(1, path_of, NULL));
    CHECK_INT(test_on_loop(make_new, NULL, &err), 0);
    (void)snprintf(path_of, sizeof path_of, "%s/new.db", test_folder());
    CHECK_INT(test_on_loop(make_new, NULL, &err), 0);
    (void)snprintf(old, sizeof old, "%s/old.db", test_folder());
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    char attach[600];
    (void)snprintf(attach, sizeof attach, "ATTACH '%s' AS other", old);
    bool ok = sqlite3_open_v2(path_of, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
              sqlite3_exec(db, attach, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(db,
                                 "SELECT (SELECT count(*) FROM main.sqlite_schema), (SELECT count(*) FROM (SELECT type,"
                                 " name, tbl_name, sql FROM main.sqlite_schema INTERSECT SELECT type, name, tbl_name,"
                                 " sql FROM other.sqlite_schema)), (SELECT count(*) FROM other.sqlite_schema)",
                                 -1, &st, NULL) == SQLITE_OK &&
              sqlite3_step(st) == SQLITE_ROW;
    int64_t n[3] = {0};
    for (int i = 0; ok && i < 3; i++)
        n[i] = sqlite3_column_int64(st, i);
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
    CHECK(ok);
    test_note("%lld, %lld, %lld", (long long)n[0], (long long)n[1], (long long)n[2]);
    CHECK(n[0] > 20 && n[0] == n[1] && n[1] == n[2]);
}

/* ---- Runs that were under way ---------------------------------------------------------------------- */

WEFT_SUSPENDS static int recover(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct rig *rig = arg;
    struct wl_thread t;
    struct wm_run *runs;
    struct wl_live_run *live = NULL;
    size_t n = 0;
    TRY(open_it(false, &rig->store, err));
    int r = rig_open(rig, weft_loop_current(), NULL, err);
    if (r >= 0)
        r = wr_recover(rig->engine, &n, err);
    test_note("recovered %zu", n);
    for (unsigned i = 0; r >= 0 && i < 1000; i++) { /* until the one that was cut off has ended */
        r = thread_of(rig->store, "asking", &a, &t, err);
        if (r >= 0)
            r = wl_list_runs(rig->store, &owner, t.id, true, 9, &a, &runs, &n, err);
        if (r < 0 || n != 1)
            break;
        r = wl_list_live(rig->store, WB_UUID_NIL, 9, &a, &live, &n, err);
        if (r < 0 || n == 1)
            break;
        r = weft_sleep_ms(5, err);
        wb_arena_reset(&a);
    }
    for (size_t i = 0; r >= 0 && i < n; i++)
        test_note("live: %.*s, status %d", UPP_FMT(live[i].run.agent), live[i].run.status);
    bool waits = r >= 0 && n == 1 && live[0].run.status == WM_WAITING;
    rig_close(rig);
    rig->store->ops->close(rig->store);
    TRY(r);
    FAIL_UNLESS(waits); /* the one that waits for a person still does, and nothing else lives */
    return 0;
}

/* The day the fixture was made, a minute later: the person has ten to answer. */
static struct upp_hooks hooks_before;

static int64_t wall_ns(void)
{
    return INT64_C(1794756430000) * 1000000;
}

static void clock_back(int *unused)
{
    (void)unused;
    if (upp_global_init(&hooks_before, NULL) < 0)
        abort();
}

TEST_WITH(store_recovers_runs_of_version_1, .no_torture = "the engine's tests do that; this one is about the file")
{
    struct rig rig = {0};
    struct upp_err err = {0};
    (void)snprintf(path_of, sizeof path_of, "%s/old.db", test_folder());
    CHECK(copy_fixture(1, path_of, NULL));
    static const char again[] = "{\"replies\":[{\"parts\":[{\"text\":\"again\"}]}],\"at_end\":\"restart\"}";
    CHECK_INT(rig_agent(&rig, "slow", again, &err), 0);
    CHECK_INT(rig_agent(&rig, "asking", again, &err), 0);
    hooks_before = *wb_hooks();
    struct upp_hooks table = hooks_before;
    table.wall_ns = wall_ns;
    UPP_CLEANUP(clock_back) int undo = 0;
    CHECK(upp_global_init(&table, NULL) == 0);
    (void)undo;
    int r = test_on_loop(recover, &rig, &err);
    rig_done(&rig);
    test_note("%d: %s", r, err.msg);
    CHECK(r >= 0);
    CHECK(whole(path_of, NULL));
}

/* ---- Power is lost --------------------------------------------------------------------------------- */

struct cut {
    int version; /* of the fixture */
    struct disk *disk;
    uint64_t at; /* power goes in the middle of this write, truncation or sync; 0: never */
    bool opened;
};

WEFT_SUSPENDS static int cut_off(void *arg, struct upp_err *err)
{
    struct cut *c = arg;
    struct wl_store *s = NULL;
    size_t threads, entries;
    disk_crash_after(c->disk, c->at);
    int r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "weft.db", .vfs = disk_name(c->disk)), &s, err);
    if (r >= 0)
        r = ws_blobs_open(s, &s, err);
    c->opened = r >= 0;
    if (r < 0)
        return c->at ? 0 : r;
    if (!c->at) { /* everything is there */
        r = read_heads(s, &threads, &entries, err);
        if (r >= 0 && (threads != (c->version == 1 ? 7 : 8) || entries != (c->version == 1 ? 21 : ENTRIES_2)))
            r = upp_fail(err, UPP_EBUG, "%zu threads, %zu entries", threads, entries);
        if (r >= 0 && c->version == 1)
            r = read_families(s, err);
    }
    s->ops->close(s);
    return r;
}

static bool life(struct cut *c, uint64_t seed)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err = {0};
    if (!EXPECT(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed), &w, &err) == 0))
        return false;
    int r = weft_loop_run(weft__sim_loop(w, 0), "life", cut_off, c, &err);
    test_note("power at %llu: %d %s", (unsigned long long)c->at, r, err.msg);
    return EXPECT(r >= 0);
}

/* At the n-th write or sync. *over: it was not reached. */
static bool migrate_cut_at(int from, uint64_t n, uint64_t seed, bool *over, unsigned seen[NOW + 1])
{
    struct cut c = {.version = from, .disk = disk_new(seed), .at = n};
    bool ok = EXPECT(copy_fixture(from, "weft.db", disk_name(c.disk)));
    ok = ok && life(&c, seed);
    *over = !disk_crashed(c.disk);
    disk_crash(c.disk);
    int64_t version = ok ? number("weft.db", disk_name(c.disk), "SELECT value FROM meta WHERE name = 'schema'") : 0;
    test_note("power at %llu: version %lld", (unsigned long long)n, (long long)version);
    ok = ok && EXPECT(version == from || version == NOW) && EXPECT(version == NOW || !c.opened);
    ok = ok && EXPECT(whole("weft.db", disk_name(c.disk)));
    seen[ok ? version : 0]++;
    c.at = 0;
    ok = ok && life(&c, seed + 1) && EXPECT(whole("weft.db", disk_name(c.disk)));
    ok = ok && EXPECT(number("weft.db", disk_name(c.disk), "SELECT value FROM meta WHERE name = 'schema'") == NOW);
    ok = ok && EXPECT(summed("weft.db", disk_name(c.disk)));
    disk_free(c.disk);
    return ok;
}

TEST_WITH(store_migrates_whole_or_not_at_all, .no_torture = "the disk is the test's own, and fails by itself",
          .seconds = 300)
{
    const uint64_t seeds = test_times("WEFT_SEEDS", 3), stride = test_share() | 1;
    for (int from = 1; from < NOW; from++) {
        bool over = false;
        unsigned seen[NOW + 1] = {0};
        uint64_t n = 0;
        while (!over && n < 2000) {
            n += n ? stride : 1;
            for (uint64_t seed = 0; seed < seeds; seed++)
                CHECK(migrate_cut_at(from, n, n * 10 + seed, &over, seen));
        }
        test_note("%llu places: %u times version %d, %u times %d", (unsigned long long)n, seen[from], from, seen[NOW],
                  NOW);
        CHECK(over && seen[from] && seen[NOW]);
    }
}
