/* stores/sqlite/salvage.c — copies a damaged database, reads its tables around the damage, and repairs what is left. */
#include "stores/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "stores/sqlite/page.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

enum { BLOCK = 4096, CHUNK = 256 * BLOCK, PROBES = 256, LOSSES = 256, PATHS = 1100 };

enum list { NODES, THREADS, LOST, HOLES, LISTS };

struct ws_salvage {
    char copy[PATHS], made[PATHS];
    struct ws_vfs files; /* of the new database, whose pages have checksums; of the old one rows alone are judged */
    sqlite3 *in, *out;
    sqlite3_stmt *lists[LISTS];
    struct ws_salvage_loss losses[LOSSES];
    size_t n_losses;
    unsigned probes;
    int64_t row; /* the log had this row; 0: unknown */
    bool summed; /* its rows have checksums */
};

static int failed(struct ws_salvage *s, struct upp_err *err)
{
    return upp_fail(err, UPP_ESTORE, "the new database: %s", sqlite3_errmsg(s->out));
}

/* `once`: records one reason per table; otherwise every distinct reason. */
static void add_loss(struct ws_salvage *s, const char *table, const char *why, bool once)
{
    for (size_t i = 0; i < s->n_losses; i++)
        if (strcmp(s->losses[i].table, table) == 0 && (once || strcmp(s->losses[i].why, why) == 0))
            return;
    if (s->n_losses == LOSSES)
        return;
    struct ws_salvage_loss *l = &s->losses[s->n_losses++];
    l->table = table;
    (void)snprintf(l->why, sizeof l->why, "%s", s->n_losses == LOSSES ? "and more, which are not listed" : why);
}

static void lose(struct ws_salvage *s, const char *table, const char *why)
{
    add_loss(s, table, why, true);
}

/* The arguments of a call, for a worker: SQLite needs a larger stack than a fiber has. */
struct call {
    struct ws_salvage *s;
    const char *path, *folder;
    enum list list;
    const struct ws_salvage_item *of;
    struct wb_arena *a;
    struct ws_salvage_item *ret;
    struct ws_salvage **made;
};

WEFT_SUSPENDS static int on_worker(weft_fn *fn, struct call *c, struct upp_err *err)
{
    int result = 0;
    if (!weft_fiber_self())
        return fn(c, err);
    int r = weft_work(fn, c, NULL, &result, err);
    return r < 0 ? r : result;
}

/* ---- The copy ---------------------------------------------------------------------------------------------- */

/* Block by block where larger reads fail: unreadable blocks become zeros. */
static int copy_blocks(struct ws_salvage *s, int from, int to, int64_t at, char *p, struct upp_err *err)
{
    for (int64_t k = 0; k < CHUNK; k += BLOCK) {
        int64_t n = WB_CALL(pread)(from, p, BLOCK, at + k);
        if (n == 0)
            return 0;
        if (n < 0) {
            lose(s, "file", "the disk does not give all of it");
            memset(p, 0, BLOCK);
            n = BLOCK;
        }
        int r = wb_fd_write(to, wb_str(p, (size_t)n));
        if (r < 0)
            return wb_fail_sys(err, r, UPP_ESTORE, "cannot write the copy");
    }
    return 0;
}

static int copy_fd(struct ws_salvage *s, int from, int to, char *p, struct upp_err *err)
{
    for (int64_t at = 0;;) {
        int64_t n = WB_CALL(pread)(from, p, CHUNK, at);
        if (n == 0)
            return 0;
        int r = n > 0 ? wb_fd_write(to, wb_str(p, (size_t)n)) : copy_blocks(s, from, to, at, p, err);
        if (r < 0)
            return n > 0 ? wb_fail_sys(err, r, UPP_ESTORE, "cannot write the copy") : r;
        at += n > 0 ? n : CHUNK;
        if (at > INT64_C(1) << 50)
            return upp_fail(err, UPP_ELIMIT, "the file has no end");
    }
}

static int copy_file(struct ws_salvage *s, const char *from, const char *to, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int in = WB_CALL(open)(from, O_RDONLY | O_CLOEXEC, 0);
    WB_CLEANUP(wb_fd_close) int out = -1;
    if (in < 0) {
        int r = wb_fail_sys(err, in, in == -ENOENT ? UPP_ENOTFOUND : UPP_ESTORE, "cannot open");
        wb_err_where(err, wb_cstr(from));
        return r;
    }
    out = WB_CALL(open)(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char *p = out < 0 ? NULL : wb_alloc(CHUNK);
    int r = out < 0 ? wb_fail_sys(err, out, UPP_ESTORE, "cannot make the copy")
            : !p    ? upp_fail(err, UPP_ENOMEM, "no memory for a copy")
                    : copy_fd(s, in, out, p, err);
    if (r < 0)
        wb_err_where(err, wb_cstr(to));
    wb_free(p);
    return r;
}

/* A WAL that does not hold what it must is not left to SQLite, which would stop at the first bad frame. */
static int apply_wal(struct ws_salvage *s, const char *from, const struct ws_promise_look *x, struct upp_err *err)
{
    struct ws_wal_hint hint = {.frames = x->needed, .checkpointed = x->checkpointed};
    struct ws_wal_applied done;
    if (x->known && (x->record.salt == x->wal.head.salt || !x->wal.head.whole)) {
        hint.salt = x->record.salt;
        hint.head = x->record.head;
    }
    int r = ws_wal_apply(from, s->copy, &hint, &done, err);
    if (r >= 0 && done.lost) {
        char why[sizeof s->losses[0].why];
        (void)snprintf(why, sizeof why, "%u of %u pages cannot be read", done.lost, done.frames);
        lose(s, "write-ahead log", why);
    }
    return r;
}

static bool was_copied_in_use(const char *copy)
{
    sqlite3 *db = NULL;
    bool marked = sqlite3_open_v2(copy, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
                  ws_loss_is_marked(db);
    (void)sqlite3_close_v2(db);
    return marked;
}

/* What is known to be lost of it, whatever its frames are. */
static void note_lost_wal(struct ws_salvage *s, const struct ws_promise_look *x)
{
    char why[sizeof s->losses[0].why];
    (void)snprintf(why, sizeof why, "%.*s", (int)sizeof why - 1, x->why);
    if (x->bad && x->database)
        lose(s, "file", why);
    else if (x->bad && !x->known)
        lose(s, "write-ahead log", "it is of another database");
    else if (ws_promise_is_new_here(x) && was_copied_in_use(s->copy))
        lose(s, "write-ahead log", WS_LOSS_COPIED);
}

/* The WAL: if all its frames are good, SQLite reads it itself. */
static int copy_wal(struct ws_salvage *s, const char *path, int lock, struct upp_err *err)
{
    char from[PATHS], to[PATHS + 8];
    struct ws_promise_look *x = wb_calloc(1, sizeof *x);
    int r = x ? ws_promise_look(path, lock, x, err) : upp_fail(err, UPP_ENOMEM, "no memory for the write-ahead log");
    (void)snprintf(from, sizeof from, "%s-wal", path);
    (void)snprintf(to, sizeof to, "%s-wal", s->copy);
    if (r >= 0)
        s->row = x->row;
    if (r >= 0)
        note_lost_wal(s, x);
    bool theirs = r >= 0 && x->bad && !x->known && !x->database;
    if (r >= 0 && !theirs && (x->bad ? x->needed : !x->known && x->wal.frames < x->wal.there))
        r = apply_wal(s, from, x, err);
    else if (r >= 0 && !theirs && !x->aside && x->wal.exists && (!x->bad || x->database))
        r = copy_file(s, from, to, err);
    wb_free(x);
    return r;
}

static int copy_both(struct ws_salvage *s, const char *path, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int lock = -1;
    struct ws_owner_info who;
    if (ws_lock_read(path, &who, NULL) >= 0)
        return upp_fail(err, UPP_EBUSY, "process %d has %s open: stop it first", who.pid, path);
    int r = copy_file(s, path, s->copy, err);
    struct stat size;
    if (r >= 0 && stat(s->copy, &size) == 0 && size.st_size < BLOCK) /* SQLite takes an empty file for a new database */
        lose(s, "file", "it is shorter than a page");
    if (r >= 0)
        r = ws_lock_open_unowned(path, &lock, err);
    return r < 0 ? r : copy_wal(s, path, lock, err);
}

/* ---- Opening ----------------------------------------------------------------------------------------------- */

/* Opens the copy as a store, which checkpoints its WAL and migrates the tables. If that fails, we take what is
 * there. */
WEFT_SUSPENDS static void recover_copy(const char *path)
{
    struct wl_store *s = NULL;
    if (ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path, .reserve_kib = UINT32_MAX, .unchecked = true), &s,
                       NULL) >= 0)
        ws_sqlite_close(s);
}

WEFT_SUSPENDS static int make_new(struct ws_salvage *s, struct upp_err *err)
{
    struct wl_store *store;
    int r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = s->made, .reserve_kib = UINT32_MAX), &store, err);
    if (r < 0)
        return r;
    ws_sqlite_close(store);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    r = ws_vfs_init(&s->files, NULL, err);
    if (r < 0)
        return r;
    if (sqlite3_open_v2(s->made, &s->out, flags, s->files.name) != SQLITE_OK || ws_sum_functions(s->out) != SQLITE_OK ||
        sqlite3_exec(s->out,
                     "PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;"
                     "CREATE TEMP TABLE known(tenant, node, pos, id, PRIMARY KEY(tenant, node, pos)) WITHOUT ROWID;"
                     "CREATE INDEX temp.known_id ON known(id);"
                     "CREATE TEMP TABLE named(tenant, user, id, PRIMARY KEY(tenant, id)) WITHOUT ROWID;"
                     "CREATE TEMP TABLE holes(tenant, node, pos, why, PRIMARY KEY(tenant, node)) WITHOUT ROWID;",
                     NULL, NULL, NULL) != SQLITE_OK)
        return failed(s, err);
    return 0;
}

/* ---- The first page ---------------------------------------------------------------------------------------- */

static bool open_copy(struct ws_salvage *s)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    (void)sqlite3_close_v2(s->in);
    s->in = NULL;
    return sqlite3_open_v2(s->copy, &s->in, flags, NULL) == SQLITE_OK && ws_sum_functions(s->in) == SQLITE_OK &&
           sqlite3_exec(s->in, "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; SELECT * FROM sqlite_schema;",
                        NULL, NULL, NULL) == SQLITE_OK;
}

static void put_u32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* Do the first pages have checksums? */
static bool has_sums(int fd, unsigned char *page)
{
    enum { ASKED = 16 };
    for (uint32_t i = 2; i < ASKED; i++)
        if (ws_pread(fd, page, BLOCK, (int64_t)(i - 1) * BLOCK) == BLOCK && ws_page_holds(page, i))
            return true;
    return false;
}

/* If it is gone, so is the list of tables. A file created by this version has its tables where a new one has them, so
 * the first page of a new one fits, except for the size, the list of free pages, and the bytes that pages reserve. */
static bool borrow_first_page(struct ws_salvage *s)
{
    enum { RESERVED_AT = 20, SIZE_AT = 28, FREE_AT = 32, FREE_COUNT_AT = 36 };
    static const char magic[] = "SQLite format 3";
    unsigned char *page = wb_alloc(BLOCK);
    WB_CLEANUP(wb_fd_close) int from = WB_CALL(open)(s->made, O_RDONLY | O_CLOEXEC, 0);
    WB_CLEANUP(wb_fd_close) int to = WB_CALL(open)(s->copy, O_RDWR | O_CLOEXEC, 0);
    off_t size = to < 0 ? 0 : lseek(to, 0, SEEK_END);
    bool sums = page && to >= 0 && has_sums(to, page);
    bool ok = page && from >= 0 && size >= 2 * BLOCK && size / BLOCK <= UINT32_MAX &&
              WB_CALL(pread)(from, page, BLOCK, 0) == BLOCK && memcmp(page, magic, sizeof magic) == 0;
    if (ok) {
        put_u32(page + SIZE_AT, (uint32_t)(size / BLOCK));
        put_u32(page + FREE_AT, 0);
        put_u32(page + FREE_COUNT_AT, 0);
        page[RESERVED_AT] = sums ? page[RESERVED_AT] : 0;
        ok = WB_CALL(pwrite)(to, page, BLOCK, 0) == BLOCK;
    }
    wb_free(page);
    return ok;
}

static void open_damaged(struct ws_salvage *s)
{
    if (open_copy(s))
        return;
    lose(s, "file", s->in ? sqlite3_errmsg(s->in) : "it cannot be opened");
    if (borrow_first_page(s))
        (void)open_copy(s); /* what cannot be read then is noticed table by table */
}

/* ---- Tables ------------------------------------------------------------------------------------------------ */

struct table {
    const char *name, *key;
    bool numbered;     /* its key is a single integer */
    const char *index; /* read this index of it, into a table of ours; NULL: read the table itself */
    const char *into, *columns;
    const char *only; /* condition for the rows to take; NULL: all */
};

/* Rows of the log that agree with their index come first: a damaged row may claim the position of another. */
#define AS_THE_INDEX_SAYS                                                                                              \
    "EXISTS(SELECT 1 FROM temp.known k WHERE k.id = ?1 AND k.tenant = ?2 AND k.node = ?3 AND k.pos = ?4)"

static const struct table tables[] = {
    {"tenants", "id", true, NULL, NULL, NULL, NULL},
    {"log", "tenant, node, pos", false, "log_at", "temp.known", "tenant, node, pos, id", NULL},
    {"log", "id", true, NULL, NULL, NULL, AS_THE_INDEX_SAYS},
    {"log", "id", true, NULL, NULL, NULL, NULL},
    {"nodes", "tenant, key", false, NULL, NULL, NULL, NULL},
    {"threads", "tenant, user, updated, id", false, "threads_of", "temp.named", "tenant, user, id", NULL},
    {"threads", "tenant, id", false, NULL, NULL, NULL, NULL},
    {"runs", "number", true, NULL, NULL, NULL, NULL},
    {"aliases", "tenant, user, kind, text", false, NULL, NULL, NULL, NULL},
    {"branches", "tenant, key", false, NULL, NULL, NULL, NULL},
    {"vals", "tenant, space, name", false, NULL, NULL, NULL, NULL},
    {"blobs", "number", true, NULL, NULL, NULL, NULL},
    {"pieces", "id", true, NULL, NULL, NULL, NULL},
};

/* The columns that both databases have, as a list. */
static int columns_of(struct ws_salvage *s, const struct table *t, struct wb_buf *list, struct upp_err *err)
{
    sqlite3_stmt *ours = NULL, *theirs = NULL;
    if (t->columns) {
        wb_buf_add(list, wb_cstr(t->columns));
        return wb_buf_check(list, err);
    }
    int rc = sqlite3_prepare_v2(s->out, "SELECT name FROM pragma_table_info(?)", -1, &ours, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(s->in, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", -1, &theirs, NULL);
    if (rc == SQLITE_OK) {
        (void)sqlite3_bind_text(ours, 1, t->name, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(theirs, 1, t->name, -1, SQLITE_STATIC);
        while (sqlite3_step(ours) == SQLITE_ROW) {
            const char *name = (const char *)sqlite3_column_text(ours, 0);
            (void)sqlite3_reset(theirs);
            (void)sqlite3_bind_text(theirs, 2, name, -1, SQLITE_TRANSIENT);
            if (name && sqlite3_step(theirs) == SQLITE_ROW)
                wb_buf_addf(list, "%s%s", list->n ? ", " : "", name);
        }
    }
    (void)sqlite3_finalize(ours);
    (void)sqlite3_finalize(theirs);
    return wb_buf_check(list, err);
}

/* Does any table have checksums? Then a table without them has lost them. */
static bool is_summed(struct ws_salvage *s)
{
    sqlite3_stmt *st = NULL;
    bool any = false;
    (void)sqlite3_prepare_v2(s->in, "SELECT 1 FROM pragma_table_info(?) WHERE name = 'sum'", -1, &st, NULL);
    for (const struct ws_summed *t = ws_summed; st && !any && t->table; t++) {
        (void)sqlite3_bind_text(st, 1, t->table, -1, SQLITE_STATIC);
        any = sqlite3_step(st) == SQLITE_ROW;
        (void)sqlite3_reset(st);
    }
    (void)sqlite3_finalize(st);
    return any;
}

/* The last column read from a table: NULL, or what is wrong with the row. */
static void add_check(struct ws_salvage *s, const struct table *t, struct wb_buf *sql)
{
    const struct ws_summed *of = ws_summed;
    while (of->table && strcmp(of->table, t->name) != 0)
        of++;
    if (s->summed && !t->index && of->table)
        wb_buf_addf(sql, ", weft_damage(sum, '%s', %s)", of->table, of->columns);
    else
        wb_buf_add(sql, UPP_STR(", NULL"));
}

struct scan {
    const struct table *t;
    struct upp_str columns;
    sqlite3_stmt *put;
    int64_t first, last; /* the keys seen so far; of numbered tables */
    bool met;            /* any key */
    const char *why;     /* why it did not reach the end */
};

static int prepare_put(struct ws_salvage *s, struct scan *x, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf sql = WB_BUF(8192);
    size_t n = 1;
    for (size_t i = 0; i < x->columns.n; i++)
        n += x->columns.p[i] == ',';
    wb_buf_addf(&sql, "INSERT OR IGNORE INTO %s(%.*s) SELECT ?1", x->t->into ? x->t->into : x->t->name,
                UPP_FMT(x->columns));
    for (size_t i = 1; i < n; i++)
        wb_buf_addf(&sql, ", ?%zu", i + 1);
    wb_buf_addf(&sql, " WHERE %s", x->t->only ? x->t->only : "1");
    int r = wb_buf_check(&sql, err);
    if (r >= 0 && sqlite3_prepare_v2(s->out, sql.p, (int)sql.n, &x->put, NULL) != SQLITE_OK)
        r = failed(s, err);
    return r;
}

/* Inserts the row just read into the new database; a row with a wrong checksum is lost. */
static int put_row(struct ws_salvage *s, const struct scan *x, sqlite3_stmt *st)
{
    const int n = sqlite3_column_count(st) - 1;
    const char *why = (const char *)sqlite3_column_text(st, n);
    if (why) {
        add_loss(s, x->t->name, why, false);
        return SQLITE_OK;
    }
    for (int i = 0; i < n; i++)
        (void)sqlite3_bind_value(x->put, i + 1, sqlite3_column_value(st, i));
    int rc = sqlite3_step(x->put);
    (void)sqlite3_reset(x->put);
    return rc == SQLITE_DONE ? SQLITE_OK : SQLITE_ABORT;
}

/* Takes rows between two keys (numbered tables; otherwise all), ascending or descending, until the end or the first
 * unreadable row. The key of a numbered table is its first column. */
static int take_rows(struct ws_salvage *s, struct scan *x, int64_t from, int64_t to, bool down, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf sql = WB_BUF(8192), key = WB_BUF(256);
    sqlite3_stmt *st = NULL;
    for (const char *p = x->t->key; *p; p++) { /* every column of the key in that direction */
        if (*p == ',' && down)
            wb_buf_add(&key, UPP_STR(" DESC"));
        wb_buf_add(&key, wb_str(p, 1));
    }
    wb_buf_addf(&sql, "SELECT %.*s", UPP_FMT(x->columns));
    add_check(s, x->t, &sql);
    wb_buf_addf(&sql, " FROM %s %s%s", x->t->name, x->t->index ? "INDEXED BY " : "NOT INDEXED",
                x->t->index ? x->t->index : "");
    if (x->t->numbered)
        wb_buf_addf(&sql, " WHERE %s BETWEEN %lld AND %lld", x->t->key, (long long)from, (long long)to);
    wb_buf_addf(&sql, " ORDER BY %.*s%s", UPP_FMT(wb_buf_str(&key)), down ? " DESC" : "");
    int r = wb_buf_check(&sql, err);
    if (r < 0)
        return r;
    int rc = sqlite3_prepare_v2(s->in, sql.p, (int)sql.n, &st, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        rc = put_row(s, x, st);
        if (rc == SQLITE_ABORT) {
            r = failed(s, err);
            break;
        }
        int64_t k = sqlite3_column_int64(st, 0);
        x->first = x->met ? WB_MIN(x->first, k) : k;
        x->last = x->met ? WB_MAX(x->last, k) : k;
        x->met = true;
    }
    x->why = rc == SQLITE_DONE ? NULL : r < 0 ? "" : sqlite3_errmsg(s->in);
    if (x->why && r >= 0)
        lose(s, x->t->index ? "" : x->t->name, x->why);
    (void)sqlite3_finalize(st);
    return r;
}

/* Skips the damage by bisection: from the middle in both directions, recursively. */
static int take_around(struct ws_salvage *s, struct scan *x, int64_t from, int64_t to, struct upp_err *err)
{
    if (from > to || s->probes >= PROBES)
        return 0;
    s->probes++;
    int64_t mid = from + (to - from) / 2;
    struct scan up = *x, down = *x;
    up.met = down.met = false;
    int r = take_rows(s, &up, mid, to, false, err);
    if (r >= 0)
        r = take_rows(s, &down, from, mid - 1, true, err);
    if (r >= 0 && up.why && (up.met || to > mid))
        r = take_around(s, x, up.met ? up.last + 1 : mid + 1, to, err);
    if (r >= 0 && down.why && (down.met || mid - 1 > from))
        r = take_around(s, x, from, down.met ? down.first - 1 : mid - 2, err);
    return r;
}

static int take_table(struct ws_salvage *s, const struct table *t, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf list = WB_BUF(4096);
    struct scan x = {.t = t}, down;
    int r = columns_of(s, t, &list, err);
    if (r < 0)
        return r;
    if (!list.n) {
        lose(s, t->name, "the list of the tables cannot be read");
        return 0;
    }
    x.columns = wb_buf_str(&list);
    r = prepare_put(s, &x, err);
    if (r >= 0)
        r = take_rows(s, &x, INT64_MIN, INT64_MAX, false, err);
    down = x;
    down.met = false;
    if (r >= 0 && x.why) {
        int64_t above = x.met ? x.last + 1 : INT64_MIN;
        r = take_rows(s, &down, above, INT64_MAX, true, err);
        if (r >= 0 && t->numbered && down.why && down.met)
            r = take_around(s, &x, x.met ? above : 1, down.first - 1, err);
    }
    s->probes = 0;
    (void)sqlite3_finalize(x.put);
    return r;
}

/* ---- Row by row -------------------------------------------------------------------------------------------- */

/* Rows that are known to have existed and are missing are looked up by key: on a partly damaged page this still finds
 * the others. */
static const struct {
    const char *missing; /* selects the keys */
    const char *table, *where;
} singles[] = {
    /* clang-format off */
    {"SELECT id FROM temp.known k"
     " WHERE NOT EXISTS(SELECT 1 FROM log l WHERE l.tenant = k.tenant AND l.node = k.node AND l.pos = k.pos)",
     "log", "id = ?"},
    {"SELECT tenant, id FROM temp.named k"
     " WHERE NOT EXISTS(SELECT 1 FROM threads t WHERE t.tenant = k.tenant AND t.id = k.id)",
     "threads", "tenant = ? AND id = ?"},
    {"SELECT DISTINCT tenant, node FROM log l"
     " WHERE NOT EXISTS(SELECT 1 FROM nodes n WHERE n.tenant = l.tenant AND n.key = l.node)",
     "nodes", "tenant = ? AND key = ?"},
    {"SELECT tenant, head FROM threads t"
     " WHERE NOT EXISTS(SELECT 1 FROM nodes n WHERE n.tenant = t.tenant AND n.key = t.head)",
     "nodes", "tenant = ? AND key = ?"},
    {"SELECT tenant, key FROM nodes n"
     " WHERE NOT EXISTS(SELECT 1 FROM branches b WHERE b.tenant = n.tenant AND b.key = n.key)",
     "branches", "tenant = ? AND key = ?"},
    {"SELECT DISTINCT tenant, run FROM log l"
     " WHERE run IS NOT NULL AND NOT EXISTS(SELECT 1 FROM runs r WHERE r.tenant = l.tenant AND r.id = l.run)",
     "runs", "tenant = ? AND id = ?"},
    /* clang-format on */
};

static int take_singles(struct ws_salvage *s, size_t i, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf list = WB_BUF(4096), sql = WB_BUF(8192);
    const struct table t = {.name = singles[i].table};
    struct scan x = {.t = &t};
    sqlite3_stmt *missing = NULL, *get = NULL;
    int r = columns_of(s, &t, &list, err);
    if (r < 0 || !list.n)
        return r;
    static const struct upp_str number = UPP_STR_INIT("number, "); /* of a run: may be taken; any will do */
    x.columns = wb_buf_str(&list);
    if (wb_str_starts(x.columns, number))
        x.columns = wb_str_sub(x.columns, number.n, SIZE_MAX);
    wb_buf_addf(&sql, "SELECT %.*s", UPP_FMT(x.columns));
    add_check(s, &t, &sql);
    wb_buf_addf(&sql, " FROM %s WHERE %s", t.name, singles[i].where);
    r = wb_buf_check(&sql, err);
    if (r >= 0)
        r = prepare_put(s, &x, err);
    if (r >= 0 && sqlite3_prepare_v2(s->out, singles[i].missing, -1, &missing, NULL) != SQLITE_OK)
        r = failed(s, err);
    bool asks = r >= 0 && sqlite3_prepare_v2(s->in, sql.p, (int)sql.n, &get, NULL) == SQLITE_OK;
    while (asks && sqlite3_step(missing) == SQLITE_ROW) {
        for (int k = 0; k < sqlite3_column_count(missing); k++)
            (void)sqlite3_bind_value(get, k + 1, sqlite3_column_value(missing, k));
        if (sqlite3_step(get) == SQLITE_ROW)
            (void)put_row(s, &x, get);
        (void)sqlite3_reset(get);
    }
    (void)sqlite3_finalize(missing);
    (void)sqlite3_finalize(get);
    (void)sqlite3_finalize(x.put);
    return r;
}

/* ---- Repairing --------------------------------------------------------------------------------------------- */

static bool is_hurt(const struct ws_salvage *s, const char *table)
{
    for (size_t i = 0; i < s->n_losses; i++)
        if (strcmp(s->losses[i].table, table) == 0)
            return true;
    return false;
}

/* Checks for the newest row that is known to have been on disk. */
static int ask_row(struct ws_salvage *s, struct upp_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(s->out, "SELECT ifnull(max(id), 0) FROM log", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    int64_t last = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    (void)sqlite3_finalize(st);
    char why[sizeof s->losses[0].why];
    (void)snprintf(why, sizeof why, "the rows %lld to %lld of the log are missing", (long long)last + 1,
                   (long long)s->row);
    if (rc == SQLITE_ROW && last < s->row)
        lose(s, "write-ahead log", why);
    return rc == SQLITE_ROW ? 0 : failed(s, err);
}

/* Finds what rows do not show: a row that vanished without a trace, a wrong index, unreachable pages. */
static void check_file(struct ws_salvage *s)
{
    char first[160], why[200];
    int rc = ws_integrity_check(s->in, first, sizeof first);
    (void)snprintf(why, sizeof why, "integrity_check: %s", rc == SQLITE_OK ? first : sqlite3_errmsg(s->in));
    if (rc != SQLITE_OK || first[0])
        lose(s, "file", why);
}

static int salvage(struct ws_salvage *s, struct upp_err *err)
{
    s->summed = is_summed(s);
    int r = sqlite3_exec(s->out, "BEGIN", NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(s, err);
    for (size_t i = 0; r >= 0 && i < WB_LEN(tables); i++)
        r = take_table(s, &tables[i], err);
    for (size_t i = 0; r >= 0 && s->n_losses && i < WB_LEN(singles); i++)
        r = take_singles(s, i, err);
    bool index = r >= 0 && is_hurt(s, "log") && !is_hurt(s, "");
    if (index && sqlite3_exec(s->out, ws_believe_index_sql.p, NULL, NULL, NULL) != SQLITE_OK)
        r = failed(s, err);
    if (r >= 0 && (sqlite3_exec(s->out, ws_repair_sql.p, NULL, NULL, NULL) != SQLITE_OK ||
                   sqlite3_exec(s->out, ws_strays_sql.p, NULL, NULL, NULL) != SQLITE_OK ||
                   ws_sum_all(s->out) != SQLITE_OK || sqlite3_exec(s->out, "COMMIT", NULL, NULL, NULL) != SQLITE_OK))
        r = failed(s, err);
    if (r >= 0 && s->row)
        r = ask_row(s, err);
    if (r >= 0 && !ws_salvage_loss(s, 0))
        check_file(s);
    return r;
}

static void remove_one(const char *path)
{
    static const char *const with[] = {"", "-wal", "-shm", "-journal", ".lock", ".sock"};
    char name[PATHS + 16];
    for (size_t i = 0; i < WB_LEN(with) && path[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, with[i]);
        (void)WB_CALL(unlink)(name);
    }
}

void ws_salvage_close(struct ws_salvage *s)
{
    if (!s)
        return;
    for (int i = 0; i < LISTS; i++)
        (void)sqlite3_finalize(s->lists[i]);
    (void)sqlite3_close_v2(s->in);
    (void)sqlite3_close_v2(s->out);
    ws_vfs_done(&s->files);
    remove_one(s->copy);
    remove_one(s->made);
    wb_free(s);
}

void ws_salvage_closep(struct ws_salvage **s)
{
    ws_salvage_close(*s);
}

WEFT_SUSPENDS static int open_here(void *arg, struct upp_err *err)
{
    struct call *c = arg;
    WB_CLEANUP(ws_salvage_closep) struct ws_salvage *s = wb_calloc(1, sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory");
    if (strlen(c->folder) + 32 > PATHS || strlen(c->path) + 8 > PATHS)
        return upp_fail(err, UPP_EINVALID, "the name of the folder is too long");
    (void)snprintf(s->copy, sizeof s->copy, "%s/.salvage-copy.db", c->folder);
    (void)snprintf(s->made, sizeof s->made, "%s/.salvage.db", c->folder);
    remove_one(s->copy); /* of an earlier attempt that was interrupted */
    remove_one(s->made);
    int r = copy_both(s, c->path, err);
    if (r >= 0) {
        recover_copy(s->copy);
        r = make_new(s, err);
    }
    if (r >= 0) {
        open_damaged(s);
        r = salvage(s, err);
    }
    if (r < 0)
        return r;
    *c->made = WB_TAKE(s);
    return 0;
}

int ws_sqlite_salvage(const char *path, const char *folder, struct ws_salvage **ret, struct upp_err *err)
{
    return on_worker(open_here, &(struct call){.path = path, .folder = folder, .made = ret}, err);
}

/* ---- Results ----------------------------------------------------------------------------------------------- */

const char *ws_salvage_path(const struct ws_salvage *s)
{
    return s->made;
}

const struct ws_salvage_loss *ws_salvage_loss(const struct ws_salvage *s, size_t i)
{
    for (size_t k = 0; k < s->n_losses; k++)
        if (s->losses[k].table[0] && i-- == 0) /* a damaged index is no loss */
            return &s->losses[k];
    return NULL;
}

/* Columns: tenant, user, id, node, pos, why. */
static const char *const questions[LISTS] = {
    /* clang-format off */
    [NODES] =
        "SELECT t.name, x'', NULL, n.key, 0, NULL"
        " FROM nodes n JOIN tenants t ON t.id = n.tenant",
    [THREADS] =
        "SELECT t.name, h.user, h.id, 0, 0, NULL"
        " FROM threads h JOIN tenants t ON t.id = h.tenant"
        " WHERE h.kind = 1",
    [LOST] =
        "SELECT ifnull(t.name, x''), k.user, k.id, 0, 0, NULL"
        " FROM temp.named k LEFT JOIN tenants t ON t.id = k.tenant"
        " WHERE NOT EXISTS(SELECT 1 FROM threads h WHERE h.tenant = k.tenant AND h.id = k.id)",
    [HOLES] =
        "SELECT t.name, x'', NULL, o.node, o.pos, o.why"
        " FROM temp.holes o JOIN tenants t ON t.id = o.tenant"
        "  LEFT JOIN nodes n ON n.tenant = o.tenant AND n.key = o.node"
        " WHERE t.name = ?1"
        "  AND (substr(n.tree, 1, 4) = substr(?2, 1, 4)"
        "   OR printf('%08X', o.node >> 32 & 0xffffffff) = hex(substr(?2, 1, 4))"
        "   OR n.tree = (SELECT tree FROM threads h WHERE h.tenant = o.tenant AND h.id = ?2))",
    /* clang-format on */
};

static struct upp_str column(struct wb_arena *a, sqlite3_stmt *st, int i)
{
    const void *p = sqlite3_column_blob(st, i);
    return wb_arena_dup(a, wb_str(p ? p : "", (size_t)sqlite3_column_bytes(st, i)));
}

static int next(void *arg, struct upp_err *err)
{
    const struct call *c = arg;
    struct ws_salvage *s = c->s;
    const struct ws_salvage_item *of = c->of;
    struct wb_arena *a = c->a;
    if (!s->lists[c->list] && sqlite3_prepare_v2(s->out, questions[c->list], -1, &s->lists[c->list], NULL) != SQLITE_OK)
        return failed(s, err);
    sqlite3_stmt *st = s->lists[c->list];
    if (of && !sqlite3_stmt_busy(st)) {
        (void)sqlite3_bind_blob64(st, 1, of->owner.tenant.p, of->owner.tenant.n, SQLITE_TRANSIENT);
        (void)sqlite3_bind_blob64(st, 2, of->thread.b, sizeof of->thread.b, SQLITE_TRANSIENT);
    }
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        *c->ret = (struct ws_salvage_item){.owner = {column(a, st, 0), column(a, st, 1)},
                                           .thread = ws_column_id(st, 2),
                                           .node = (uint64_t)sqlite3_column_int64(st, 3),
                                           .pos = (uint64_t)sqlite3_column_int64(st, 4)};
        c->ret->why = column(a, st, 5);
        int r = wb_arena_check(a, err);
        return r < 0 ? r : 1;
    }
    (void)sqlite3_reset(st);
    return rc == SQLITE_DONE ? 0 : failed(s, err);
}

int ws_salvage_nodes(struct ws_salvage *s, struct wb_arena *a, struct ws_salvage_item *ret, struct upp_err *err)
{
    return on_worker(next, &(struct call){.s = s, .list = NODES, .of = NULL, .a = a, .ret = ret}, err);
}

int ws_salvage_threads(struct ws_salvage *s, struct wb_arena *a, struct ws_salvage_item *ret, struct upp_err *err)
{
    return on_worker(next, &(struct call){.s = s, .list = THREADS, .of = NULL, .a = a, .ret = ret}, err);
}

int ws_salvage_lost(struct ws_salvage *s, struct wb_arena *a, struct ws_salvage_item *ret, struct upp_err *err)
{
    return on_worker(next, &(struct call){.s = s, .list = LOST, .of = NULL, .a = a, .ret = ret}, err);
}

int ws_salvage_holes(struct ws_salvage *s, const struct ws_salvage_item *of, struct wb_arena *a,
                     struct ws_salvage_item *ret, struct upp_err *err)
{
    return on_worker(next, &(struct call){.s = s, .list = HOLES, .of = of, .a = a, .ret = ret}, err);
}

static int cut_here(void *arg, struct upp_err *err)
{
    static const char *const sql[] = {
        "INSERT OR REPLACE INTO temp.holes SELECT id, ?2, ?3, ?4 FROM tenants WHERE name = ?1",
        "DELETE FROM log WHERE tenant = (SELECT id FROM tenants WHERE name = ?1) AND node = ?2 AND pos >= ?3",
    };
    const struct call *c = arg;
    const struct ws_salvage_item *x = c->of;
    for (size_t i = 0; i < WB_LEN(sql); i++) {
        sqlite3_stmt *st = NULL;
        int rc = sqlite3_prepare_v2(c->s->out, sql[i], -1, &st, NULL);
        if (rc == SQLITE_OK) {
            ws_bind_name(st, 1, x->owner.tenant);
            ws_bind_u64(st, 2, x->node);
            ws_bind_u64(st, 3, x->pos);
            if (i == 0)
                (void)sqlite3_bind_text64(st, 4, x->why.p, x->why.n, SQLITE_STATIC, SQLITE_UTF8);
            rc = sqlite3_step(st);
        }
        (void)sqlite3_finalize(st);
        if (rc != SQLITE_DONE)
            return failed(c->s, err);
    }
    return 0;
}

int ws_salvage_cut(struct ws_salvage *s, struct upp_str tenant, uint64_t node, uint64_t pos, struct upp_str why,
                   struct upp_err *err)
{
    struct ws_salvage_item x = {.owner.tenant = tenant, .node = node, .pos = pos, .why = why};
    return on_worker(cut_here, &(struct call){.s = s, .of = &x}, err);
}
