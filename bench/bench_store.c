/* bench_store — the SQLite store beside bare SQLite with the same rows: one after the other, 64 at once, tails, forks.
 *
 * The floor is what nobody can beat with this library: prepared inserts of the same bytes into a table with one unique
 * index, 64 rows to a transaction where 64 sessions share one. Both sides sync; time is real time, because waiting for
 * the disk is the cost. Files lie in the folder that is named (default: the one it runs in).
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <weft/fiber.h>

#include "base/clock.h"
#include "model/id.h"
#include "stores/sealed/sealed.h"
#include "stores/sqlite/sqlite.h"

enum { BODY = 1500, TAPE = 100, SESSIONS = 64, ROUNDS = 9, STEPS = 40 };

static char body[BODY], tape[TAPE];
static const char *folder = ".";

static const struct wl_owner owner = {{"bench", 5}, {"u", 1}};

static uint64_t mixed(uint64_t z) /* the finish of splitmix64: ids are random, and neighbours far apart */
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static struct wb_uuid id_of(uint64_t n)
{
    struct wb_uuid u;
    uint64_t h = mixed(n * 0x9e3779b97f4a7c15u), g = mixed(h);
    memcpy(u.b, &h, 8);
    memcpy(u.b + 8, &g, 8);
    return u;
}

static uint64_t key_of(uint64_t n)
{
    return (n + 1) * 0x9e3779b97f4a7c15u;
}

static void must(int r, const struct upp_err *err)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "bench_store: %s (%s)\n", err->msg, err->where);
    exit(1);
}

static const char *path_of(const char *name)
{
    static char path[600];
    (void)snprintf(path, sizeof path, "%s/bench-%s.db", folder, name);
    return path;
}

static void remove_all(const char *name)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".lock", ".sock", "-full_disk_reserve"};
    for (size_t i = 0; i < 5; i++) {
        char path[700];
        (void)snprintf(path, sizeof path, "%s%s", path_of(name), ends[i]);
        (void)unlink(path);
    }
}

static double size_of(const char *name)
{
    struct stat st;
    return stat(path_of(name), &st) == 0 ? (double)st.st_size : 0;
}

/* ---- The floor ------------------------------------------------------------------------------------- */

static sqlite3 *floor_db;
static sqlite3_stmt *floor_st[4];
static uint64_t floor_n;

_Noreturn static void floor_failed(void)
{
    (void)fprintf(stderr, "bench_store: %s\n", sqlite3_errmsg(floor_db));
    exit(1);
}

static void floor_sql(const char *text)
{
    if (sqlite3_exec(floor_db, text, NULL, NULL, NULL) != SQLITE_OK)
        floor_failed();
}

static void floor_new(void)
{
    remove_all("floor");
    (void)sqlite3_open_v2(path_of("floor"), &floor_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                          NULL);
    floor_sql("PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA cache_size=-65536;"
              "PRAGMA wal_autocheckpoint=4096");
}

static void floor_prepare(const char *const *text, int n)
{
    for (int i = 0; i < n; i++)
        if (sqlite3_prepare_v3(floor_db, text[i], -1, SQLITE_PREPARE_PERSISTENT, &floor_st[i], NULL) != SQLITE_OK)
            floor_failed();
}

static void floor_open(void)
{
    static const char *const text[] = {"BEGIN IMMEDIATE", "COMMIT",
                                       "INSERT INTO log(node, pos, body, tape) VALUES(?,?,?,?)"};
    floor_new();
    floor_sql("PRAGMA synchronous=FULL; CREATE TABLE log(id INTEGER PRIMARY KEY, node, pos, body, tape);"
              "CREATE UNIQUE INDEX log_at ON log(node, pos)");
    floor_prepare(text, 3);
}

static void floor_close(void)
{
    for (int i = 0; i < 4; i++) {
        (void)sqlite3_finalize(floor_st[i]);
        floor_st[i] = NULL;
    }
    (void)sqlite3_close(floor_db);
}

static void floor_run(int i)
{
    if (sqlite3_step(floor_st[i]) != SQLITE_DONE)
        floor_failed();
    (void)sqlite3_reset(floor_st[i]);
}

static void floor_append(unsigned rows, unsigned together)
{
    for (unsigned i = 0; i < rows; i += together) {
        floor_run(0);
        for (unsigned k = 0; k < together; k++, floor_n++) {
            (void)sqlite3_bind_int64(floor_st[2], 1, (sqlite3_int64)key_of(k));
            (void)sqlite3_bind_int64(floor_st[2], 2, (sqlite3_int64)(floor_n << 16));
            (void)sqlite3_bind_blob(floor_st[2], 3, body, BODY, SQLITE_STATIC);
            (void)sqlite3_bind_blob(floor_st[2], 4, tape, TAPE, SQLITE_STATIC);
            floor_run(2);
        }
        floor_run(1);
    }
}

/* Of the family of the tree that is forked. */
static struct wb_uuid kin_of(unsigned n)
{
    struct wb_uuid id = id_of(n), tree = id_of(7);
    memcpy(id.b, tree.b, 4);
    return id;
}

/* A fork: its row in a table like ours, a transaction for each `together` of them, not synced. */
static void floor_fork_open(void)
{
    static const char *const text[] = {"BEGIN IMMEDIATE", "COMMIT",
                                       ("INSERT INTO threads VALUES(1, ?1, ?2, NULL, 'u', ?3, 1, 1, 0, NULL, NULL,"
                                        " ?4, ?4, 1001)")};
    floor_new();
    floor_sql("PRAGMA synchronous=NORMAL;"
              "CREATE TABLE threads(tenant, id, tree, parent, user, head, kind, version, queued, title, metadata,"
              " created, updated, at, PRIMARY KEY(tenant, id)) WITHOUT ROWID;"
              "CREATE INDEX threads_of ON threads(tenant, user, updated, id)");
    floor_prepare(text, 3);
}

static void floor_fork(unsigned i)
{
    struct wb_uuid thread = kin_of(500000 + i), tree = id_of(7);
    sqlite3_int64 now = wb_wall_ms();
    sqlite3_stmt *t = floor_st[2];
    (void)sqlite3_bind_blob(t, 1, thread.b, sizeof thread.b, SQLITE_STATIC);
    (void)sqlite3_bind_blob(t, 2, tree.b, sizeof tree.b, SQLITE_STATIC);
    (void)sqlite3_bind_int64(t, 3, (sqlite3_int64)key_of(3));
    (void)sqlite3_bind_int64(t, 4, now);
    floor_run(2);
}

static void floor_forks(unsigned from, unsigned n, unsigned together)
{
    for (unsigned i = 0; i < n; i += together) {
        floor_run(0);
        for (unsigned k = 0; k < together; k++)
            floor_fork(from + i + k);
        floor_run(1);
    }
}

/* ---- The product ----------------------------------------------------------------------------------- */

static struct wl_store *store;
static uint32_t next[SESSIONS];

struct session {
    unsigned k, rows;
};

WEFT_SUSPENDS static int append(unsigned k, struct upp_err *err)
{
    struct wl_row row = {.node = key_of(k),
                         .pos = wl_pos(next[k]++, 0),
                         .n_entries = 1,
                         .format = 1,
                         .run = id_of(k),
                         .body = {body, BODY},
                         .tape = {tape, TAPE}};
    struct wl_change c = {.kind = WL_ADD_ROW, .row = &row};
    return wl_store_commit(store, &(struct wl_commit){.owner = owner, .changes = &c, .n = 1, .flags = WL_SYNCED}, err);
}

WEFT_SUSPENDS static int session(void *arg, struct upp_err *err)
{
    const struct session *x = arg;
    int r = 0;
    for (unsigned i = 0; i < x->rows && r >= 0; i++)
        r = append(x->k, err);
    return r;
}

WEFT_SUSPENDS static int sessions(unsigned n, unsigned rows, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct session x[SESSIONS];
    int r = 0;
    for (unsigned k = 0; k < n && r >= 0; k++) {
        x[k] = (struct session){k, rows};
        r = weft_scope_spawn(&all, "session", session, &x[k], NULL, err);
    }
    return r < 0 ? r : weft_scope_join(&all, err);
}

WEFT_SUSPENDS static int add_nodes(struct upp_err *err)
{
    int r = 0;
    for (unsigned k = 0; k < SESSIONS && r >= 0; k++) {
        struct wl_node n = {.key = key_of(k), .id = id_of(k), .tree = id_of(k), .created_ms = wb_wall_ms()};
        struct wl_change c = {.kind = WL_ADD_NODE, .node = &n};
        r = wl_store_commit(store, &(struct wl_commit){.owner = owner, .changes = &c, .n = 1, .flags = WL_SYNCED}, err);
    }
    return r;
}

/* ---- Rows of the table ----------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof v[0], by_value);
    return v[ROUNDS / 2];
}

static void print(const char *name, double *product, double *floor, double *ratio, double goal)
{
    double r = median(ratio);
    (void)printf("%-28s %9.0f /s   floor %9.0f /s   ratio %5.2f  goal >= %.2f  %s\n", name, 1e9 / median(product),
                 1e9 / median(floor), r, goal, r >= goal ? "ok" : "MISSED");
}

WEFT_SUSPENDS static int appends(const char *name, unsigned n, unsigned rows, double goal, struct upp_err *err)
{
    double product[ROUNDS], floor[ROUNDS], ratio[ROUNDS];
    int r = sessions(n, rows, err); /* warm */
    floor_append(n * rows, n);
    for (int i = 0; i < ROUNDS && r >= 0; i++) {
        uint64_t a = wb_mono_ns();
        floor_append(n * rows, n);
        uint64_t b = wb_mono_ns();
        r = sessions(n, rows, err);
        product[i] = (double)(wb_mono_ns() - b) / (n * rows);
        floor[i] = (double)(b - a) / (n * rows);
        ratio[i] = floor[i] / product[i];
    }
    if (r >= 0)
        print(name, product, floor, ratio, goal);
    return r;
}

/* The last 50 rows of a short and of a long node. */
WEFT_SUSPENDS static int tails(struct upp_err *err)
{
    static const uint32_t sizes[] = {100, 100000};
    double took[2][ROUNDS], ratio[ROUNDS];
    int r = 0;
    for (int which = 0; which < 2 && r >= 0; which++) {
        struct wl_node n = {.key = key_of(1000u + (unsigned)which), .id = id_of(1), .tree = id_of(1)};
        struct wl_change made = {.kind = WL_ADD_NODE, .node = &n};
        r = wl_store_commit(store, &(struct wl_commit){.owner = owner, .changes = &made, .n = 1}, err);
        for (uint32_t at = 0; at < sizes[which] && r >= 0;) {
            static struct wl_row rows[500];
            static struct wl_change c[500];
            size_t k = 0;
            for (; k < 500 && at < sizes[which]; k++, at++) {
                rows[k] = (struct wl_row){
                    .node = n.key, .pos = wl_pos(at, 0), .n_entries = 1, .format = 1, .body = {body, 300}};
                c[k] = (struct wl_change){.kind = WL_ADD_ROW, .row = &rows[k]};
            }
            r = wl_store_commit(store, &(struct wl_commit){.owner = owner, .changes = c, .n = k}, err);
        }
    }
    for (int i = 0; i < ROUNDS && r >= 0; i++) {
        for (int which = 0; which < 2 && r >= 0; which++) {
            uint64_t from = wb_mono_ns();
            for (int k = 0; k < 200 && r >= 0; k++) {
                struct wb_arena a = WB_ARENA(1 << 20);
                struct wl_rows rows;
                r = wl_store_rows(
                    store, &owner,
                    &(struct wl_range){
                        .node = key_of(1000u + (unsigned)which), .to = UINT64_MAX, .backwards = true, .max_rows = 50},
                    &a, &rows, err);
                wb_arena_done(&a);
            }
            took[which][i] = (double)(wb_mono_ns() - from) / 200;
        }
        ratio[i] = took[1][i] / took[0][i];
    }
    if (r >= 0) {
        double x = median(ratio);
        (void)printf("%-28s %9.1f us   of 100    %9.1f us   ratio %5.2f  goal <= 1.30  %s\n", "tail of 50 at 100,000",
                     median(took[1]) / 1000, median(took[0]) / 1000, x, x <= 1.3 ? "ok" : "MISSED");
    }
    return r;
}

enum { FORKS = 320 * SESSIONS };

static double cpu_us(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static unsigned fork_flags; /* without WL_SYNCED: what a fork costs besides the disk */

/* What wl_fork stores. */
WEFT_SUSPENDS static int fork_one(unsigned i, struct upp_err *err)
{
    int64_t now = wb_wall_ms();
    struct wl_thread t = {.id = kin_of(500000 + i),
                          .tree = id_of(7),
                          .head = key_of(3),
                          .at = 1001,
                          .kind = WL_MAIN,
                          .version = 1,
                          .created_ms = now,
                          .updated_ms = now};
    struct wl_change c = {.kind = WL_ADD_THREAD, .thread = &t};
    return wl_store_commit(store, &(struct wl_commit){.owner = owner, .changes = &c, .n = 1, .flags = fork_flags}, err);
}

struct forker {
    unsigned from, to;
};

WEFT_SUSPENDS static int forker(void *arg, struct upp_err *err)
{
    const struct forker *x = arg;
    int r = 0;
    for (unsigned i = x->from; i < x->to && r >= 0; i++)
        r = fork_one(i, err);
    return r;
}

/* As many as `count`, by so many sessions at a time. */
WEFT_SUSPENDS static int fork_all(unsigned n, unsigned from, unsigned count, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct forker x[SESSIONS];
    int r = 0;
    for (unsigned k = 0; k < n && r >= 0; k++) {
        x[k] = (struct forker){from + count / n * k, from + count / n * (k + 1)};
        r = weft_scope_spawn(&all, "forker", forker, &x[k], NULL, err);
    }
    return r < 0 ? r : weft_scope_join(&all, err);
}

/* FORKS of them in turns with the floor. The floor is of this thread alone; the product is all that the process used
 * besides: what waits for a sync, or for others, is written by a worker, and moved into the database by another. */
WEFT_SUSPENDS static int forks(const char *name, unsigned n, unsigned from, struct upp_err *err)
{
    enum { TURNS = 10, EACH = FORKS / TURNS };
    double used = cpu_us(CLOCK_PROCESS_CPUTIME_ID), low = 0;
    int r = 0;
    for (unsigned i = 0; i < TURNS && r >= 0; i++) {
        double at = cpu_us(CLOCK_THREAD_CPUTIME_ID);
        floor_forks(from + i * EACH, EACH, n);
        low += cpu_us(CLOCK_THREAD_CPUTIME_ID) - at;
        r = fork_all(n, from + i * EACH, EACH, err);
    }
    used = (cpu_us(CLOCK_PROCESS_CPUTIME_ID) - used - low) / FORKS;
    low /= FORKS;
    if (r >= 0)
        (void)printf("%-28s %9.1f us of CPU  floor %6.1f  ratio %5.2f  %s\n", name, used, low, used / low,
                     fork_flags   ? "(no goal: the disk counts)"
                     : used <= 25 ? "goal <= 25 us  ok"
                                  : "goal <= 25 us  MISSED");
    return r;
}

WEFT_SUSPENDS static int open_new(struct upp_err *err)
{
    remove_all("weft");
    return ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path_of("weft")), &store, err);
}

WEFT_SUSPENDS static int all_appends(struct upp_err *err)
{
    int r = open_new(err);
    if (r >= 0)
        r = add_nodes(err);
    floor_open();
    if (r >= 0)
        r = appends("append alone", 1, STEPS, 0.8, err);
    if (r >= 0)
        r = appends("64 sessions", SESSIONS, STEPS, 0.8, err);
    if (r < 0)
        return r;
    uint64_t commits = store->count.commits, transactions = store->count.transactions, rows = store->count.rows;
    store->ops->close(store);
    floor_close();
    double each = size_of("weft") / (double)rows;
    (void)printf("%-28s %9.1f B beyond the %d of the row; bare table %.1f; goal <= 0.25 x + 300  %s\n", "bytes a row",
                 each - BODY - TAPE, BODY + TAPE, size_of("floor") / (double)floor_n - BODY - TAPE,
                 each <= 1.25 * (BODY + TAPE) + 300 ? "ok" : "MISSED");
    (void)printf("%-28s %9.1f commits\n", "a transaction holds", (double)commits / (double)transactions);
    return 0;
}

WEFT_SUSPENDS static int all_tails(struct upp_err *err)
{
    int r = open_new(err);
    if (r >= 0)
        r = tails(err);
    if (r >= 0)
        store->ops->close(store);
    return r;
}

WEFT_SUSPENDS static int all_forks(struct upp_err *err)
{
    double before = 100000; /* the empty tables */
    int r = open_new(err);
    if (r < 0)
        return r;
    floor_fork_open();
    r = forks("fork (not synced)", 1, 0, err);
    if (r >= 0)
        r = forks("fork, 64 sessions", SESSIONS, FORKS, err);
    fork_flags = WL_SYNCED;
    floor_sql("PRAGMA synchronous=FULL");
    if (r >= 0)
        r = forks("fork, synced", 1, 2 * FORKS, err);
    store->ops->close(store);
    floor_close();
    if (r >= 0) {
        double bytes = (size_of("weft") - before) / (3 * FORKS);
        (void)printf("%-28s %9.1f B   goal <= 200 B  %s\n", "bytes a fork", bytes, bytes <= 200 ? "ok" : "MISSED");
    }
    return r;
}

/* ---- For counting instructions: nothing but so many commits of a row each ---- */

struct counted {
    bool sealed;
    unsigned times;
};

WEFT_SUSPENDS static int counted(void *arg, struct upp_err *err)
{
    static const struct ws_master key = {"thirty-two bytes for a benchmark"};
    const struct counted *x = arg;
    int r = open_new(err);
    if (r >= 0 && x->sealed)
        r = ws_sealed_open(store, &key, &store, err);
    if (r < 0)
        return r;
    r = add_nodes(err);
    for (unsigned i = 0; i < x->times && r >= 0; i++)
        r = append(0, err);
    store->ops->close(store);
    remove_all("weft");
    return r;
}

/* All of them, or the one that is named: for a profiler. */
WEFT_SUSPENDS static int program(void *arg, struct upp_err *err)
{
    static const struct {
        const char *name;
        int (*fn)(struct upp_err *err);
    } parts[] = {{"appends", all_appends}, {"tails", all_tails}, {"forks", all_forks}};
    const char *only = arg;
    int r = 0;
    for (size_t i = 0; i < 3 && r >= 0; i++)
        if (!only || strcmp(only, parts[i].name) == 0)
            r = parts[i].fn(err);
    remove_all("weft");
    remove_all("floor");
    return r;
}

int main(int argc, char **argv)
{
    struct weft_loop *l = NULL;
    struct upp_err err = {0};
    struct counted x = {.times = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0};
    bool few = argc > 2 && (strcmp(argv[1], "plain") == 0 || strcmp(argv[1], "sealed") == 0);
    if (argc > 1 && !few)
        folder = argv[1];
    x.sealed = few && argv[1][0] == 's';
    memset(body, 'b', sizeof body);
    memset(tape, 't', sizeof tape);
    must(weft_loop_open(NULL, &l, &err), &err);
    if (few)
        must(weft_loop_run(l, "bench", counted, &x, &err), &err);
    else
        must(weft_loop_run(l, "bench", program, argc > 2 ? argv[2] : NULL, &err), &err);
    weft_loop_close(l);
    return 0;
}
