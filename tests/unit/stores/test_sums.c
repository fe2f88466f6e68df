/* Rows of a SQLite file that were changed behind its back: each is named, none is given out, all others go on. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "log/change.h"
#include "stores/sqlite/sqlite.h"
#include "stores/sqlite/sum.h"
#include "support/stores.h"

enum { A = 0xa1, B = 0xb2 };
static const int64_t KNOWN = 195918233;

static const struct wl_blob_key blob_key = {{7}};

static const char *db_path(void)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/weft.db", test_folder());
    return path;
}

WEFT_SUSPENDS static int open_db(struct wl_store **ret, struct upp_err *err)
{
    return ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path(), .reserve_kib = UINT32_MAX), ret, err);
}

/* One of everything, and a second node and thread that stay as they are. */
WEFT_SUSPENDS static int fill(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    struct wl_node a = test_node(A), b = test_node(B);
    a.name = UPP_STR("branch");
    struct wl_thread t = {
        .id = test_uuid(1), .tree = a.id, .head = A, .kind = WL_MAIN, .version = 1, .title = UPP_STR("title")};
    struct wl_thread u = {.id = test_uuid(2), .tree = b.id, .head = B, .kind = WL_MAIN, .version = 1};
    struct wm_run run = {
        .id = test_uuid(3), .root = test_uuid(3), .thread = t.id, .node = A, .version = 1, .agent = UPP_STR("agent")};
    struct wl_alias alias = {.kind = WL_ALIAS_THREAD, .text = UPP_STR("nick"), .object = t.id};
    struct wl_key key = {.route = UPP_STR("route"), .key = UPP_STR("key"), .object = t.id, .created_ms = wb_wall_ms()};
    struct wl_value v = {UPP_STR("space"), UPP_STR("name"), UPP_STR("bytes")};
    struct wl_piece p = {.key = blob_key, .last = true, .bytes = UPP_STR("piece")};
    (void)arg;
    TRY(open_db(&s, err));
    int r = COMMIT(s, ALICE, NULL, err, ADD_NODE(&a), ADD_NODE(&b), ADD_THREAD(&t), ADD_THREAD(&u), ADD_RUN(&run),
                   ADD_ALIAS(&alias), ADD_KEY(&key), PUT_VALUE(&v), ADD_PIECE(&p));
    for (uint32_t i = 0; r >= 0 && i < 3; i++) {
        char text[16];
        struct wl_row x = test_row(A, wl_pos(i, 0), 1, ""), y = test_row(B, wl_pos(i, 0), 1, "");
        x.body = y.body = wb_str(text, (size_t)snprintf(text, sizeof text, "{\"text\":%u}", i));
        r = COMMIT(s, ALICE, NULL, err, ADD_ROW(&x), ADD_ROW(&y));
    }
    s->ops->close(s);
    return r;
}

/* ---- Reading --------------------------------------------------------------------------------------------- */

typedef int ask_fn(struct wl_store *s, struct wb_arena *a, struct upp_err *err);

WEFT_SUSPENDS static int ask_rows(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_rows rows;
    return wl_store_rows(s, &ALICE, &(struct wl_range){.node = A, .to = UINT64_MAX}, a, &rows, err);
}

WEFT_SUSPENDS static int ask_rows_back(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_rows rows;
    return wl_store_rows(s, &ALICE, &(struct wl_range){.node = A, .to = UINT64_MAX, .backwards = true}, a, &rows, err);
}

WEFT_SUSPENDS static int ask_append(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_row row = test_row(A, wl_pos(3, 0), 1, "");
    (void)a;
    return COMMIT(s, ALICE, NULL, err, ADD_ROW(&row));
}

WEFT_SUSPENDS static int ask_set_row(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_row row = test_row(A, wl_pos(1, 0), 1, "new");
    (void)a;
    return COMMIT(s, ALICE, NULL, err, SET_ROW(&row));
}

WEFT_SUSPENDS static int ask_node(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_node n;
    (void)a;
    return wl_get_node(s, &ALICE, A, &n, err);
}

WEFT_SUSPENDS static int ask_hold(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    (void)a;
    return COMMIT(s, ALICE, NULL, err, HOLD(A, WB_UUID_NIL, test_uuid(3)));
}

WEFT_SUSPENDS static int ask_nodes(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_node *p;
    size_t n;
    return wl_list_family_nodes(s, &ALICE, A >> 8 >> 24, WB_UUID_NIL, 9, a, &p, &n, err);
}

WEFT_SUSPENDS static int ask_set_node(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_node n = test_node(A);
    (void)a;
    n.name = UPP_STR("another");
    return COMMIT(s, ALICE, NULL, err, SET_NODE(&n));
}

WEFT_SUSPENDS static int ask_thread(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_thread t;
    return wl_get_thread(s, &ALICE, test_uuid(1), a, &t, err);
}

WEFT_SUSPENDS static int ask_threads(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_thread *p;
    size_t n;
    return wl_list_threads(s, &ALICE, WB_UUID_NIL, 9, a, &p, &n, err);
}

WEFT_SUSPENDS static int ask_set_thread(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_thread t = {.id = test_uuid(1), .head = A, .version = 1};
    (void)a;
    return COMMIT(s, ALICE, NULL, err, SET_THREAD(&t));
}

WEFT_SUSPENDS static int ask_run(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wm_run run;
    return wl_get_run(s, &ALICE, test_uuid(3), a, &run, err);
}

WEFT_SUSPENDS static int ask_runs(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wm_run *p;
    size_t n;
    return wl_list_runs(s, &ALICE, test_uuid(1), false, 9, a, &p, &n, err);
}

WEFT_SUSPENDS static int ask_live(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_live_run *p;
    size_t n;
    return wl_list_live(s, WB_UUID_NIL, 9, a, &p, &n, err);
}

WEFT_SUSPENDS static int ask_set_run(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wm_run run = {.id = test_uuid(3), .version = 1};
    (void)a;
    return COMMIT(s, ALICE, NULL, err, SET_RUN(&run));
}

WEFT_SUSPENDS static int ask_alias(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wb_uuid id;
    (void)a;
    return wl_get_alias(s, &ALICE, WL_ALIAS_THREAD, UPP_STR("nick"), &id, err);
}

WEFT_SUSPENDS static int ask_key(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_key k;
    (void)a;
    return wl_get_key(s, &ALICE, UPP_STR("route"), UPP_STR("key"), &k, err);
}

WEFT_SUSPENDS static int ask_value(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct upp_str x;
    return wl_get_value(s, &ALICE, UPP_STR("space"), UPP_STR("name"), a, &x, err);
}

WEFT_SUSPENDS static int ask_values(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_value *p;
    size_t n;
    return wl_list_values(s, &ALICE, UPP_STR("space"), UPP_STR(""), 9, a, &p, &n, err);
}

WEFT_SUSPENDS static int ask_piece(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_piece p;
    return wl_get_piece(s, &ALICE, &blob_key, 0, a, &p, err);
}

WEFT_SUSPENDS static int ask_ref(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_ref x = {.blob = blob_key, .node = A};
    (void)a;
    return COMMIT(s, ALICE, NULL, err, ADD_REF(&x));
}

WEFT_SUSPENDS static int ask_loose(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_blob_key *p;
    size_t n;
    return wl_list_unreferenced_blobs(s, &ALICE, false, INT64_MAX, 9, a, &p, &n, err);
}

WEFT_SUSPENDS static int ask_tenants(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct upp_str *p;
    size_t n;
    return wl_list_tenants(s, UPP_STR(""), 9, a, &p, &n, err);
}

WEFT_SUSPENDS static int ask_learned(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    uint64_t upto, end;
    (void)a;
    return wl_get_index_progress(s, &upto, &end, err);
}

/* ---- What is changed --------------------------------------------------------------------------------------- */

#define FIRST " WHERE node = 0xa1 AND pos = 0"

static const struct {
    const char *sql, *name;
    ask_fn *ask[4];
} cases[] = {
    {"UPDATE log SET body = CAST('{\"text\":9}' AS BLOB) WHERE node = 0xa1 AND pos = 65536",
     "a row of log, node 00000000000000a1, position 1.0: its checksum is wrong",
     {ask_rows, ask_rows_back, ask_set_row}},
    {"UPDATE log SET tape = x''" FIRST, "position 0.0", {ask_rows}},
    {"UPDATE log SET run = randomblob(16)" FIRST, "position 0.0", {ask_rows}},
    {"UPDATE log SET format = format + 1" FIRST, "position 0.0", {ask_rows}},
    {"UPDATE log SET sum = NULL" FIRST, "position 0.0", {ask_rows}},
    {"UPDATE log SET sum = sum + 1" FIRST, "position 0.0", {ask_rows}},
    {"UPDATE log SET n = 2 WHERE node = 0xa1 AND pos = 131072", "position 2.0", {ask_rows, ask_append}},
    /* A row in another's place, as a page that came back from an older time. */
    {"UPDATE log SET body = (SELECT x.body FROM log x WHERE x.node = 0xa1 AND x.pos = 65536), sum = (SELECT x.sum FROM"
     " log x WHERE x.node = 0xa1 AND x.pos = 65536)" FIRST,
     "position 0.0",
     {ask_rows}},
    {"UPDATE nodes SET parent = 0xb2 WHERE key = 0xa1",
     "a row of nodes, node 00000000000000a1",
     {ask_node, ask_hold, ask_nodes}},
    {"UPDATE nodes SET holder = randomblob(16) WHERE key = 0xa1", "a row of nodes", {ask_node, ask_hold}},
    {"UPDATE branches SET name = CAST('brunch' AS BLOB)",
     "a row of branches, node 00000000000000a1",
     {ask_nodes, ask_set_node}},
    {"UPDATE threads SET title = CAST('tithe' AS BLOB) WHERE head = 0xa1",
     "a row of threads, thread ",
     {ask_thread, ask_threads, ask_set_thread}},
    {"UPDATE threads SET version = 7 WHERE head = 0xa1", "a row of threads", {ask_thread, ask_set_thread}},
    {"UPDATE runs SET agent = CAST('aged' AS BLOB)", "a row of runs, run ", {ask_run, ask_runs, ask_live, ask_set_run}},
    {"UPDATE runs SET version = 2", "a row of runs, run ", {ask_run, ask_set_run}},
    {"UPDATE aliases SET object = randomblob(16)", "a row of aliases, alias 'nick'", {ask_alias}},
    {"UPDATE keys SET object = randomblob(16)", "a row of keys, route 'route', key 'key'", {ask_key}},
    {"UPDATE vals SET bytes = CAST('bites' AS BLOB)",
     "a row of vals, space 'space', name 'name'",
     {ask_value, ask_values}},
    {"UPDATE pieces SET bytes = CAST('peace' AS BLOB)", "a row of pieces, blob 1, piece 0", {ask_piece}},
    {"UPDATE blobs SET pieces = 2", "a row of blobs, key 0700", {ask_piece, ask_ref, ask_loose}},
    {"UPDATE tenants SET name = CAST('acne' AS BLOB); UPDATE tenants SET name = CAST('acme' AS BLOB), sum = sum - 1",
     "a row of tenants, number 1, name 'acme'",
     {ask_tenants, ask_rows, ask_thread}},
    {"UPDATE meta SET value = 3 WHERE name = 'learned'", "a row of meta, name 'learned'", {ask_learned}},
};

static bool change(const char *sql)
{
    sqlite3 *db = NULL;
    bool ok = test_db_open(db_path(), &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_total_changes(db) > 0;
    if (!ok)
        test_note("%s: %s", sql, sqlite3_errmsg(db));
    test_db_close(db);
    return ok;
}

WEFT_SUSPENDS static int others(struct wl_store *s, struct wb_arena *a, struct upp_err *err)
{
    struct wl_rows rows;
    struct wl_node n;
    struct wl_thread t;
    struct wl_row row = test_row(B, wl_pos(3, 0), 1, "");
    TRY(wl_store_rows(s, &ALICE, &(struct wl_range){.node = B, .to = UINT64_MAX}, a, &rows, err));
    FAIL_UNLESS(rows.n == 3);
    TRY(wl_get_node(s, &ALICE, B, &n, err));
    TRY(wl_get_thread(s, &ALICE, test_uuid(2), a, &t, err));
    TRY(COMMIT(s, ALICE, NULL, err, ADD_ROW(&row)));
    return 0;
}

WEFT_SUSPENDS static int ask_all(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    const size_t i = *(const size_t *)arg;
    struct wl_store *s;
    int r = 0;
    TRY(open_db(&s, err));
    for (size_t k = 0; r >= 0 && k < 4 && cases[i].ask[k]; k++) {
        struct upp_err e = {0};
        int q = cases[i].ask[k](s, &a, &e);
        test_note("%s, %zu: %d %s", cases[i].sql, k, q, e.msg);
        if (q != -UPP_ESTORE || !strstr(e.msg, cases[i].name) || !strstr(e.where, "weft.db"))
            r = upp_fail(err, UPP_EBUG, "case %zu, %zu: %d %s", i, k, q, e.msg);
    }
    if (r >= 0 && !strstr(cases[i].sql, "tenants"))
        r = others(s, &a, err);
    s->ops->close(s);
    return r;
}

static bool put_file(const struct wb_buf *whole)
{
    FILE *f = fopen(db_path(), "wb");
    return f && fwrite(whole->p, 1, whole->n, f) == whole->n && fclose(f) == 0;
}

TEST_WITH(store_names_every_damaged_row, .no_torture = "the file is changed from outside", .seconds = 120)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf whole = WB_BUF(64 << 20);
    struct upp_err err = {0};
    CHECK(test_on_loop(fill, NULL, &err) == 0);
    CHECK(wb_file_read(db_path(), &whole, &err) >= 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        CHECK(put_file(&whole));
        CHECK(change(cases[i].sql));
        int r = test_on_loop(ask_all, &i, &err);
        test_note("%s", err.msg);
        CHECK(r == 0);
    }
}

/* ---- Neighbours ------------------------------------------------------------------------------------------- */

struct pair {
    struct wl_store *s;
    int result[2];
    struct upp_err err[2];
};

WEFT_SUSPENDS static int one_of(void *arg, struct upp_err *err)
{
    struct pair *p = arg;
    struct wl_row row = test_row(B, wl_pos(3, 0), 1, "");
    (void)err;
    p->result[1] = COMMIT(p->s, ALICE, NULL, &p->err[1], ADD_ROW(&row));
    return 0;
}

WEFT_SUSPENDS static int together(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct pair *p = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    TRY(open_db(&p->s, err));
    struct wl_value v = {UPP_STR("space"), UPP_STR("other"), UPP_STR("x")};
    struct wl_thread t = {.id = test_uuid(1), .head = A, .version = 1};
    struct wl_change both[2] = {PUT_VALUE(&v), SET_THREAD(&t)}; /* the first one is undone with the second */
    int r = weft_scope_spawn(&all, "the other", one_of, p, NULL, err);
    p->result[0] = test_commit(p->s, ALICE, both, 2, NULL, &p->err[0]);
    if (r >= 0)
        r = weft_scope_join(&all, err);
    struct upp_str x;
    if (r >= 0 && wl_get_value(p->s, &ALICE, v.space, v.name, &a, &x, NULL) != -UPP_ENOTFOUND)
        r = upp_fail(err, UPP_EBUG, "half of a commit is there");
    p->s->ops->close(p->s);
    return r;
}

TEST_WITH(store_commits_beside_a_damaged_row, .no_torture = "the file is changed from outside")
{
    struct upp_err err = {0};
    struct pair p = {0};
    CHECK(test_on_loop(fill, NULL, &err) == 0);
    CHECK(change("UPDATE threads SET metadata = x'00' WHERE head = 0xa1"));
    CHECK(test_on_loop(together, &p, &err) == 0);
    test_note("%d %s, %d %s", p.result[0], p.err[0].msg, p.result[1], p.err[1].msg);
    CHECK(p.result[0] == -UPP_ESTORE && strstr(p.err[0].msg, "a row of threads"));
    CHECK(p.result[1] == 0);
}

/* ---- The sweep ---------------------------------------------------------------------------------------------- */

enum { OLD_RUNS = 5 };

WEFT_SUSPENDS static int add_old_runs(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    int r = 0;
    (void)arg;
    TRY(open_db(&s, err));
    for (uint32_t i = 0; r >= 0 && i < OLD_RUNS; i++) {
        struct wm_run run = {.id = test_uuid(i + 1),
                             .root = test_uuid(i + 1),
                             .thread = test_uuid(i + 1),
                             .version = 1,
                             .status = WM_COMPLETED,
                             .created_ms = 1,
                             .ended_ms = 1};
        r = COMMIT(s, ALICE, NULL, err, ADD_RUN(&run));
    }
    s->ops->close(s);
    return r;
}

/* The first, the third and the last are damaged. */
WEFT_SUSPENDS static int sweep_twice(struct wl_store *s, struct upp_err *err)
{
    struct wl_swept n = {0};
    struct wm_run run;
    TRY(wl_sweep(s, &ALICE, 40 * WL_DAY_MS, NULL, &n, err));
    FAIL_UNLESS(n.damaged == 3);
    for (uint32_t i = 1; i < OLD_RUNS; i += 2) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        TRY(wl_get_run(s, &ALICE, test_uuid(i + 1), &a, &run, err));
        FAIL_UNLESS(run.swept);
    }
    TRY(wl_sweep(s, &ALICE, 40 * WL_DAY_MS, NULL, &n, err));
    FAIL_UNLESS(n.damaged == 0); /* they are behind it */
    return 0;
}

WEFT_SUSPENDS static int sweep_damaged(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(open_db(&s, err));
    int r = sweep_twice(s, err);
    s->ops->close(s);
    return r;
}

TEST_WITH(store_sweeps_past_damaged_runs, .no_torture = "the file is changed from outside")
{
    struct upp_err err = {0};
    CHECK(test_on_loop(add_old_runs, NULL, &err) == 0);
    CHECK(change("UPDATE runs SET agent = CAST('aged' AS BLOB) WHERE number % 2 = 1"));
    int r = test_on_loop(sweep_damaged, NULL, &err);
    test_note("%s", err.msg);
    CHECK(r >= 0);
}

/* ---- What it costs ------------------------------------------------------------------------------------------ */

static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st = NULL;
    int64_t n = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return n;
}

/* A number of four bytes, and one for its type; and every bit of a text makes another. */
TEST_WITH(store_sums_are_short_and_differ, .no_torture = "it is about numbers")
{
    sqlite3 *db = NULL;
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK && ws_sum_functions(db) == SQLITE_OK);
    CHECK(number(db, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) SELECT"
                     " sum(weft_sum('log', i) BETWEEN -(1 << 31) AND (1 << 31) - 1) FROM n") == 10000);
    CHECK(number(db,
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT"
                 " count(DISTINCT weft_sum('log', zeroblob(i / 10) || CAST(char(i) AS BLOB), i % 7)) FROM n") == 1000);
    CHECK(number(db, "SELECT count(DISTINCT x) FROM (SELECT weft_sum('log', NULL) AS x UNION ALL SELECT weft_sum('log',"
                     " x'') UNION ALL SELECT weft_sum('log', '') UNION ALL SELECT weft_sum('log', 0) UNION ALL SELECT"
                     " weft_sum('log') UNION ALL SELECT weft_sum('runs', 0) UNION ALL SELECT weft_sum('log', x'00')"
                     " UNION ALL SELECT weft_sum('log', x'', x'') UNION ALL SELECT weft_sum('log', x'0000'))") == 9);
    /* The same on every machine: what is in files is read by others. */
    CHECK_INT(number(db, "SELECT weft_sum('log', 1, -2, x'', NULL, 'text', CAST('0123456789012345678901234567890123456"
                         "78901234567890' AS BLOB))"),
              KNOWN);
    (void)sqlite3_close(db);
}
