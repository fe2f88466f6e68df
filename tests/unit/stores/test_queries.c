/* The statements of the SQLite store: how SQLite finds their rows, and that it reads no others. No stopwatch. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "log/change.h"
#include "stores/sqlite/store.h"
#include "support/stores.h"

#define F UINT32_C(0x40112233)

/* From the end, up to the first row that has a tenant. */
static bool may_scan(int statement, const char *detail)
{
    return statement == WS_LOG_END && strcmp(detail, "SCAN log") == 0;
}

static bool plan_is_good(sqlite3 *db, int statement)
{
    sqlite3_stmt *st = NULL;
    bool good = true;
    char *sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", ws_statements[statement]);
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        good = false;
    while (good && sqlite3_step(st) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(st, 3);
        bool whole = strncmp(detail, "SCAN ", 5) == 0 && strncmp(detail, "SCAN (", 6) != 0 &&
                     strcmp(detail, "SCAN CONSTANT ROW") != 0 && strcmp(detail, "SCAN x") != 0; /* of subqueries */
        if (!whole || may_scan(statement, detail))
            continue;
        (void)fprintf(stderr, "# %s: %s\n", ws_statements[statement], detail);
        good = false;
    }
    (void)sqlite3_finalize(st);
    sqlite3_free(sql);
    return good;
}

static WEFT_SUSPENDS int plans(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    bool good = true;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = arg, .reserve_kib = UINT32_MAX), &s, err));
    for (int i = 0; i < WS_STATEMENTS; i++)
        good = plan_is_good(ws_sqlite(s)->writer.db, i) && good;
    s->ops->close(s);
    FAIL_UNLESS(good);
    return 0;
}

TEST_WITH(queries_scan_no_table, .no_torture = "about plans")
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/plans.db", test_folder());
    CHECK(test_on_loop(plans, path, NULL) >= 0);
}

static struct wl_thread thread_of(uint32_t family, uint64_t n)
{
    return (struct wl_thread){.id = test_family_uuid(family, n),
                              .tree = test_family_uuid(family, 1),
                              .head = test_family_node(family, 1).key,
                              .kind = WL_MAIN,
                              .version = 1,
                              .updated_ms = (int64_t)n};
}

/* Threads of other families, before and after ours, and older. */
static WEFT_SUSPENDS int add_others(struct wl_store *s, uint32_t n, struct upp_err *err)
{
    enum { EACH = 256 };
    static struct wl_thread threads[EACH];
    static struct wl_node nodes[EACH];
    static struct wl_change changes[2 * EACH]; /* not kept over another wait */
    for (uint32_t at = 0; at < n; at += EACH) {
        for (uint32_t i = 0; i < EACH; i++) {
            uint32_t family = i & 1 ? F - 1 - at - i : F + 1 + at + i;
            threads[i] = thread_of(family, 1);
            nodes[i] = test_family_node(family, 1);
            changes[2 * i] = (struct wl_change)ADD_NODE(&nodes[i]);
            changes[2 * i + 1] = (struct wl_change)ADD_THREAD(&threads[i]);
        }
        TRY(test_commit(s, ALICE, changes, WB_LEN(changes), NULL, err));
    }
    return 0;
}

/* The steps of SQLite's machine, of each statement, since this was asked last; of the readers, none of which works. */
static void take_steps(struct wl_store *s, long to[WS_STATEMENTS])
{
    memset(to, 0, sizeof(long) * WS_STATEMENTS);
    wb_list_each (l, &ws_sqlite(s)->readers) {
        struct ws_conn *c = wb_item(l, struct ws_conn, link);
        for (int i = 0; i < WS_STATEMENTS; i++)
            if (c->st[i])
                to[i] += sqlite3_stmt_status(c->st[i], SQLITE_STMTSTATUS_VM_STEP, 1);
    }
}

/* What deleting a thread, each hit of a search, and the lists of a tree read. */
static WEFT_SUSPENDS int read_ours(struct wl_store *s, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    const struct wb_uuid none = {{0}};
    struct wl_thread x, *threads;
    struct wl_node *nodes;
    size_t n;
    TRY(wl_get_thread(s, &ALICE, test_family_uuid(F, 1), &a, &x, err));
    TRY(wl_list_family_threads(s, &ALICE, F, none, 64, &a, &threads, &n, err));
    FAIL_UNLESS(n == 3);
    TRY(wl_list_family_threads(s, &ALICE, F, threads[1].id, 64, &a, &threads, &n, err));
    FAIL_UNLESS(n == 1 && wb_uuid_eq(threads[0].id, test_family_uuid(F, 3)));
    TRY(wl_list_family_nodes(s, &ALICE, F, none, 64, &a, &nodes, &n, err));
    FAIL_UNLESS(n == 1);
    TRY(wl_list_threads(s, &ALICE, none, 3, &a, &threads, &n, err));
    FAIL_UNLESS(n == 3);
    return 0;
}

static WEFT_SUSPENDS int reads(void *arg, struct upp_err *err)
{
    enum { OTHERS = 2048, MORE = 64 /* deeper trees of pages take some more steps */ };
    static long alone[WS_STATEMENTS], among[WS_STATEMENTS];
    struct wl_store *s;
    struct wl_node node = test_family_node(F, 1);
    int r = 0;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = arg, .reserve_kib = UINT32_MAX), &s, err));
    struct wl_thread own[] = {thread_of(F, 1), thread_of(F, 2), thread_of(F, 3)};
    r = COMMIT(s, ALICE, NULL, err, ADD_NODE(&node), ADD_THREAD(&own[0]), ADD_THREAD(&own[1]), ADD_THREAD(&own[2]));
    if (r >= 0)
        r = read_ours(s, err);
    take_steps(s, alone);
    if (r >= 0)
        r = add_others(s, OTHERS, err);
    if (r >= 0)
        r = read_ours(s, err);
    take_steps(s, among);
    for (int i = 0; r >= 0 && i < WS_STATEMENTS; i++)
        if (among[i] > alone[i] + MORE)
            r = upp_fail(err, UPP_EBUG, "%ld steps instead of %ld: %.120s", among[i], alone[i], ws_statements[i]);
    s->ops->close(s);
    return r;
}

TEST_WITH(queries_do_not_read_other_threads, .no_torture = "about what is read")
{
    char path[512];
    struct upp_err err = {0};
    (void)snprintf(path, sizeof path, "%s/reads.db", test_folder());
    int r = test_on_loop(reads, path, &err);
    test_note("%s", err.msg);
    CHECK(r >= 0);
}

/* Ended runs of Alice's tenant, with ids from `from` on. */
static WEFT_SUSPENDS int add_runs(struct wl_store *s, uint64_t from, uint32_t n, int64_t created_ms,
                                  struct upp_err *err)
{
    enum { EACH = 256 };
    static struct wm_run runs[EACH];
    static struct wl_change changes[EACH]; /* not kept over another wait */
    for (uint32_t at = 0, k; at < n; at += k) {
        k = WB_MIN(n - at, (uint32_t)EACH);
        for (uint32_t i = 0; i < k; i++) {
            runs[i] = (struct wm_run){.id = test_uuid(from + at + i),
                                      .root = test_uuid(from + at + i),
                                      .thread = test_uuid(from + at + i),
                                      .version = 1,
                                      .status = WM_COMPLETED,
                                      .created_ms = created_ms};
            changes[i] = (struct wl_change)ADD_RUN(&runs[i]);
        }
        TRY(test_commit(s, ALICE, changes, k, NULL, err));
    }
    return 0;
}

/* A user of the same tenant has none of its runs: what the lists of his read, in both orders. */
static WEFT_SUSPENDS int list_steps(struct wl_store *s, long *ret, struct upp_err *err)
{
    static long steps[WS_STATEMENTS];
    const struct wl_owner bob = {ALICE.tenant, UPP_STR("bob")};
    const struct wb_uuid none = {{0}};
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wm_run *runs;
    size_t n;
    take_steps(s, steps);
    TRY(wl_list_runs_after(s, WL_LIST_OWN_RUNS, &bob, none, none, 10, &a, &runs, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(wl_list_runs_after(s, WL_LIST_OWN_RUNS_UP, &bob, none, none, 10, &a, &runs, &n, err));
    FAIL_UNLESS(n == 0);
    take_steps(s, steps);
    *ret = 0;
    for (int i = 0; i < WS_STATEMENTS; i++)
        *ret += steps[i];
    return 0;
}

static WEFT_SUSPENDS int lists(void *arg, struct upp_err *err)
{
    enum { MANY = 4096, MORE = 64 /* deeper trees of pages take some more steps */ };
    struct wl_store *s;
    long few = 0, many = 0;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = arg, .reserve_kib = UINT32_MAX), &s, err));
    int r = add_runs(s, 1, 1, 1, err);
    if (r >= 0)
        r = list_steps(s, &few, err);
    if (r >= 0)
        r = add_runs(s, 2, MANY, 1, err);
    if (r >= 0)
        r = list_steps(s, &many, err);
    s->ops->close(s);
    test_note("%ld steps, with %d runs of others %ld", few, MANY, many);
    return r < 0 || many <= few + MORE ? r : upp_fail(err, UPP_EBUG, "%ld steps instead of %ld", many, few);
}

TEST_WITH(queries_of_an_owners_runs_read_no_others, .no_torture = "about what is read")
{
    char path[512];
    struct upp_err err = {0};
    (void)snprintf(path, sizeof path, "%s/lists.db", test_folder());
    int r = test_on_loop(lists, path, &err);
    test_note("%s", err.msg);
    CHECK(r >= 0);
}

/* What one sweep of Eve's tenant, which has no runs, reads of those of others. */
static WEFT_SUSPENDS int sweep_steps(struct wl_store *s, long *ret, struct upp_err *err)
{
    static long steps[WS_STATEMENTS];
    struct wl_swept n;
    take_steps(s, steps);
    TRY(wl_sweep(s, &EVE, 40 * WL_DAY_MS, NULL, &n, err));
    take_steps(s, steps);
    *ret = 0;
    for (int i = 0; i < WS_STATEMENTS; i++)
        *ret += steps[i];
    return 0;
}

static WEFT_SUSPENDS int sweep(struct wl_store *s, struct upp_err *err)
{
    enum { MANY = 8192, MORE = 64 /* deeper trees of pages take some more steps */ };
    struct wl_value other = {UPP_STR("space"), UPP_STR("name"), UPP_STR("x")};
    long alone, old, again, young;
    TRY(COMMIT(s, EVE, NULL, err, PUT_VALUE(&other)));
    TRY(sweep_steps(s, &alone, err));
    TRY(add_runs(s, 1, MANY, 1, err));
    TRY(add_runs(s, MANY + 1, 1, 20 * WL_DAY_MS, err));
    TRY(sweep_steps(s, &old, err));
    TRY(sweep_steps(s, &again, err));
    TRY(add_runs(s, 2 * MANY, MANY, 20 * WL_DAY_MS, err));
    TRY(sweep_steps(s, &young, err));
    test_note("%ld steps, with %d old runs of others %ld, again %ld, with as many younger ones %ld", alone, MANY, old,
              again, young);
    FAIL_UNLESS(old > MANY && again <= alone + MORE && young <= again + MORE);
    return 0;
}

static WEFT_SUSPENDS int sweeps(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = arg, .reserve_kib = UINT32_MAX), &s, err));
    int r = sweep(s, err);
    s->ops->close(s);
    return r;
}

TEST_WITH(queries_of_a_sweep_read_no_runs_of_others, .no_torture = "about what is read")
{
    char path[512];
    struct upp_err err = {0};
    (void)snprintf(path, sizeof path, "%s/sweeps.db", test_folder());
    int r = test_on_loop(sweeps, path, &err);
    test_note("%s", err.msg);
    CHECK(r >= 0);
}
