/* stores/sqlite/batch.c — the commits of a batch in one transaction, each with its own result.
 *
 * Nearly all commits succeed, so a transaction is first tried without savepoints. If a commit fails after it has
 * changed something, the transaction is rolled back and repeated with one savepoint per commit.
 *
 * Invariant: after any sync of any file has failed, no commit is acknowledged.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "base/err.h"
#include "base/log.h"
#include "stores/sqlite/store.h"

#include <string.h>

/* ---- A transaction --------------------------------------------------------------------------------- */

int ws_batch_hook(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct ws_sqlite *s = arg;
    (void)db, (void)name;
    s->appended = true;
    if (pages < s->wal_pages)
        s->wal_requested = 0; /* the WAL was restarted */
    s->wal_pages = pages;
    return SQLITE_OK;
}

int ws_poisoned(struct ws_sqlite *s, struct upp_err *err)
{
    if (!atomic_load(&s->vfs.sync_failed) && !s->broken)
        return 0;
    atomic_store(&s->store.state, WL_FAILED);
    if (atomic_load(&s->vfs.gone))
        return ws_sqlite_gone(s, err);
    int r = upp_fail(err, UPP_ESTORE, "%s: nothing is written any more until the store is opened again",
                     s->broken ? "a transaction could not be ended" : "a sync failed");
    wb_err_where(err, wb_cstr(s->path));
    return r;
}

int ws_checkpoint(struct ws_sqlite *s, struct ws_conn *c, int mode)
{
    int frames = -1;
    if (!ws_vfs_watch(&s->vfs, true))
        return SQLITE_IOERR_FSYNC;
    uint32_t tag = ws_promise_checkpoint_begin(&s->promise);
    int rc = sqlite3_wal_checkpoint_v2(c->db, "main", mode, NULL, &frames);
    if (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        ws_promise_checkpoint_end(&s->promise, tag, rc == SQLITE_OK ? frames : -1);
    else
        ws_promise_checkpoint_failed(&s->promise);
    if (rc == SQLITE_OK || rc == SQLITE_FULL)
        atomic_store(&s->no_room, rc == SQLITE_FULL);
    return rc;
}

static int statement(struct ws_sqlite *s, enum ws_statement i, struct upp_err *err)
{
    int r = ws_step(s, s->writer.st[i], err);
    return r == WS_CONSTRAINT ? ws_sqlite_fail(s, s->writer.db, SQLITE_CONSTRAINT, "a transaction", err) : r;
}

static void roll_back(struct ws_sqlite *s)
{
    if (!sqlite3_get_autocommit(s->writer.db)) /* otherwise SQLite has rolled back itself */
        (void)statement(s, WS_ROLLBACK, NULL);
    s->broken = s->broken || !sqlite3_get_autocommit(s->writer.db);
    ws_change_forget_all(s);
    ws_index_undone(s);
}

/* A failure caused by the caller, or by a damaged row that only this commit needs: it does not affect the other
 * commits. */
static bool own_fault(const struct ws_item *x)
{
    return x->result == -UPP_EBUSY || x->result == -UPP_ENOTFOUND || x->result == -UPP_EINVALID ||
           x->result == -UPP_ELIMIT || (x->result == -UPP_ESTORE && strcmp(x->err.cause, WS_DAMAGED) == 0);
}

/* One commit within its own savepoint. */
static int apply_saved(struct ws_sqlite *s, struct ws_item *x, struct upp_err *err)
{
    size_t done;
    int64_t row = s->row;
    int r = statement(s, WS_SAVE, err);
    if (r < 0)
        return r;
    x->result = ws_change_apply(s, x->c, &done, &x->err);
    if (x->result < 0 && !own_fault(x)) {
        if (err)
            *err = x->err;
        return x->result;
    }
    if (x->result < 0) {
        ws_change_forget(s, x->c);
        s->row = row;
        r = statement(s, WS_SAVE_UNDO, err);
    }
    return r < 0 ? r : statement(s, WS_SAVE_END, err);
}

enum { AGAIN = 1 };

/* 0: each has its result. AGAIN: one failed after it had changed something. <0: the transaction failed. */
static int apply_all(struct ws_sqlite *s, struct wb_link *batch, bool saved, struct upp_err *err)
{
    wb_list_each (l, batch) {
        struct ws_item *x = wb_item(l, struct ws_item, link);
        size_t done;
        if (saved) {
            int r = apply_saved(s, x, err);
            if (r < 0)
                return r;
            continue;
        }
        x->result = ws_change_apply(s, x->c, &done, &x->err);
        if (x->result < 0 && !own_fault(x)) {
            if (err)
                *err = x->err;
            return x->result;
        }
        if (x->result < 0 && done)
            return AGAIN;
        wb_crashpoint("store.applied");
    }
    return 0;
}

/* The durability of the next transaction: FULL syncs before anybody can read it, NORMAL does not sync. */
static int set_synchronous(struct ws_sqlite *s, bool full, struct upp_err *err)
{
    if (s->full == full)
        return 0;
    int r = ws_conn_exec(s, &s->writer, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", err);
    if (r >= 0)
        s->full = full;
    return r;
}

static bool wants_sync(struct wb_link *batch)
{
    bool sync = false;
    wb_list_each (l, batch)
        sync = sync || wb_item(l, struct ws_item, link)->c->flags & WL_SYNCED;
    return sync;
}

int ws_batch_sync(struct ws_sqlite *s, struct upp_err *err)
{
    sqlite3_file *wal = NULL;
    int rc;
    if (!s->unsynced)
        return 0;
    rc = sqlite3_file_control(s->writer.db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    if (rc == SQLITE_OK && wal && wal->pMethods)
        rc = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
    if (rc != SQLITE_OK)
        return ws_sqlite_fail(s, s->writer.db, rc, "the log", err);
    s->unsynced = false;
    ws_promise_synced(&s->promise);
    return 0;
}

static int commit(struct ws_sqlite *s, struct upp_err *err)
{
    int r = statement(s, WS_COMMIT, err);
    /* Only FTS5 still reads pages here: it writes what it has collected. */
    return r < 0 && (sqlite3_errcode(s->writer.db) & 0xff) == SQLITE_CORRUPT ? ws_index_damaged(s, "a commit", err) : r;
}

static int try_batch(struct ws_sqlite *s, struct wb_link *batch, bool saved, struct upp_err *err)
{
    bool sync = wants_sync(batch);
    int64_t row = s->row;
    int r = set_synchronous(s, sync, err);
    if (r >= 0)
        r = statement(s, WS_BEGIN, err);
    if (r >= 0 && s->failing)
        r = ws_tables_touch(s, err); /* an empty commit too shows whether they still fail */
    if (r >= 0)
        r = apply_all(s, batch, saved, err);
    s->appended = false;
    wb_crashpoint("store.commit.before");
    if (r == 0)
        r = commit(s, err);
    wb_crashpoint("store.commit.after");
    if (r != 0) {
        s->row = row;
        roll_back(s);
        return r;
    }
    ws_index_done(s);
    if (s->appended)
        s->unsynced = !sync; /* a sync covers everything written before it */
    else if (sync)
        r = ws_batch_sync(s, err); /* what is acknowledged may be in an earlier transaction */
    if (r >= 0) {                  /* nothing is acknowledged that is in a file which nobody can open any more */
        (void)ws_vfs_watch(&s->vfs, true);
        r = ws_poisoned(s, err);
    }
    if (r >= 0 && s->appended)
        ws_promise_acknowledge(&s->promise, s->row, sync);
    return r;
}

/* ---- A full disk ----------------------------------------------------------------------------------- */

static bool is_full(int r, const struct upp_err *err)
{
    return r < 0 && strcmp(err->cause, WL_DISK_FULL) == 0;
}

static bool log_now(uint64_t *logged_ms)
{
    enum { SELDOM_MS = 60000 };
    uint64_t now = wb_mono_ms(), before = *logged_ms;
    *logged_ms = now ? now : 1;
    return !before || now - before >= SELDOM_MS;
}

static void show_state(struct ws_sqlite *s)
{
    if (ws_poisoned(s, NULL) >= 0)
        atomic_store(&s->store.state, s->disk_full ? WL_FULL : s->failing ? WL_FAILING : WL_WORKS);
    (void)ws_poisoned(s, NULL); /* the checkpointer may have said so between the two */
}

static void set_full(struct ws_sqlite *s, bool full)
{
    if (full) {
        if (log_now(&s->logged_full_ms))
            wb_log(WB_ERROR, "the disk is full: nothing new is stored until there is room", WB_LZ("path", s->path));
        ws_reserve_release(s);
    } else
        atomic_store(&s->no_room, false); /* until the next checkpoint */
    s->disk_full = full;
    show_state(s);
}

/* Commits fail, for another reason that may pass, until one is written. A lock of another program that a loop has met
 * is waited for by a worker. */
static void note_failing(struct ws_sqlite *s, int r, const struct upp_err *err)
{
    bool passing = r < 0 && wl_may_pass(err) && !is_full(r, err);
    if (passing && !(s->on_loop && strcmp(err->cause, WL_LOCKED) == 0)) {
        s->failing = true;
        if (log_now(&s->logged_failing_ms))
            wb_log(WB_ERROR, "commits fail: nothing is stored until the disk works again", WB_LERR(err));
    } else if (r >= 0 && s->appended)
        s->failing = false;
    show_state(s);
}

/* Moves the commits that must wait for room from `batch` to `refused`. */
static void split_refused(struct ws_sqlite *s, struct wb_link *batch, struct wb_link *refused)
{
    wb_list_each (l, batch) {
        struct ws_item *x = wb_item(l, struct ws_item, link);
        if (ws_allowed_when_full(x->c))
            continue;
        wb_unlink(l);
        x->result = ws_disk_full(s, &x->err);
        wb_list_push(refused, l);
    }
}

/* If damage of the search index made commits of others fail, they are repeated without it. */
static int try_without_index(struct ws_sqlite *s, struct wb_link *batch, bool saved, struct upp_err *err)
{
    bool known = wl_store_index_state(&s->store) == WL_INDEX_DAMAGED;
    int r = try_batch(s, batch, saved, err);
    if (r >= 0 || known || strcmp(err->cause, WL_INDEX_IS_DAMAGED) != 0 ||
        ws_is_index_work(wb_item(batch->next, struct ws_item, link)->c))
        return r;
    return try_batch(s, batch, saved, err);
}

static int try_both(struct ws_sqlite *s, struct wb_link *batch, struct upp_err *err)
{
    int r = wb_list_empty(batch) ? 0 : try_without_index(s, batch, false, err);
    return r == AGAIN ? try_without_index(s, batch, true, err) : r;
}

/* What fills the disk may be the WAL: its pages are moved into the database, and the file is emptied. Waits for readers
 * of old pages, but not long; after a failure it is not tried again at once. */
static bool empty_wal(struct ws_sqlite *s)
{
    enum { PAUSE_MS = 1000, BUSY_MS = 500 };
    if (s->on_loop || !s->wal_pages || wb_mono_ms() < s->empty_at_ms)
        return false;
    (void)sqlite3_busy_timeout(s->writer.db, BUSY_MS);
    int rc = ws_checkpoint(s, &s->writer, SQLITE_CHECKPOINT_TRUNCATE);
    (void)sqlite3_busy_timeout(s->writer.db, WS_BUSY_MS);
    s->empty_at_ms = rc == SQLITE_OK ? 0 : wb_mono_ms() + PAUSE_MS;
    if (rc != SQLITE_OK)
        return false;
    ws_promise_checkpointed(&s->promise);
    s->wal_pages = s->wal_requested = 0;
    s->emptied = true;
    return true;
}

static bool has_room(struct ws_sqlite *s)
{
    if (atomic_load(&s->no_room))
        (void)empty_wal(s);
    return ws_reserve_fill(s) || (empty_wal(s) && ws_reserve_fill(s));
}

/* One transaction; if the disk is full, only of the commits that are allowed then. */
static int write_what_fits(struct ws_sqlite *s, struct wb_link *batch, struct wb_link *refused, struct upp_err *err)
{
    if (atomic_load(&s->no_room) && !s->disk_full && !s->on_loop)
        set_full(s, true);
    if (s->disk_full && has_room(s))
        set_full(s, false);
    if (s->disk_full)
        split_refused(s, batch, refused);
    int r = try_both(s, batch, err);
    for (bool emptied = false; is_full(r, err) && !s->disk_full && !s->on_loop; emptied = true) {
        set_full(s, true);
        if (!emptied && has_room(s))
            set_full(s, false);
        else
            split_refused(s, batch, refused);
        r = try_both(s, batch, err);
    }
    return r;
}

static bool are_several(const struct wb_link *batch)
{
    return !wb_list_empty(batch) && batch->next->next != batch;
}

/* If one commit meets a damaged page, SQLite refuses the rest of the transaction: then each gets one of its own. */
static int write_each(struct ws_sqlite *s, struct wb_link *batch, struct wb_link *refused)
{
    struct wb_link done;
    wb_list_init(&done);
    while (!wb_list_empty(batch)) {
        struct wb_link one, *l = wb_list_pop(batch);
        struct ws_item *x = wb_item(l, struct ws_item, link);
        wb_list_init(&one);
        wb_list_push(&one, l);
        x->err = (struct upp_err){0};
        int r = write_what_fits(s, &one, refused, &x->err);
        if (wb_list_empty(&one)) /* refused */
            continue;
        if (r < 0)
            x->result = r;
        wb_unlink(l);
        wb_list_push(&done, l);
    }
    while (!wb_list_empty(&done))
        wb_list_push(batch, wb_list_pop(&done));
    return 0;
}

void ws_batch_write(struct ws_sqlite *s, struct wb_link *batch, struct upp_err *err)
{
    struct wb_link refused;
    wb_list_init(&refused);
    s->now_ms = wb_wall_ms();
    s->appended = false;
    ws_promise_watch(&s->promise, s->now_ms);
    int r = ws_poisoned(s, err);
    if (r >= 0)
        r = write_what_fits(s, batch, &refused, err);
    if (r < 0 && strcmp(err->cause, WS_DAMAGED_PAGE) == 0 && are_several(batch))
        r = write_each(s, batch, &refused);
    note_failing(s, r, err);
    ws_rows_changed_end(s);
    wb_list_each (l, batch) {
        struct ws_item *x = wb_item(l, struct ws_item, link);
        if (r < 0) {
            x->result = r;
            x->err = *err;
        } else if (x->result >= 0) {
            ws_count_commit(&s->store, x->c, x->bytes);
        }
    }
    while (!wb_list_empty(&refused))
        wb_list_push(batch, wb_list_pop(&refused));
    (void)__atomic_fetch_add(&s->store.count.transactions, r >= 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->store.count.syncs, atomic_load(&s->vfs.wal_syncs), __ATOMIC_RELAXED);
}
