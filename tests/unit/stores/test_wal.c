/* Reading a write-ahead log: how far SQLite goes, what stands behind a bad frame, and what a lock file promises of it.
 */
#include "stores/sqlite/wal.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "stores/sqlite/lock.h"
#include "stores/sqlite/promise.h"
#include "support/test.h"

enum { ROWS = 40 };

static char db[512], wal[520], copy[520];

/* A table of one column, one row a transaction, all of them in the log. The folder is empty again before each. */
static bool make(void)
{
    sqlite3 *c = NULL;
    (void)snprintf(db, sizeof db, "%s/a.db", test_folder());
    (void)snprintf(wal, sizeof wal, "%s-wal", db);
    (void)snprintf(copy, sizeof copy, "%s.copy", db);
    (void)unlink(db);
    (void)unlink(wal);
    bool ok = sqlite3_open(db, &c) == SQLITE_OK &&
              sqlite3_exec(c,
                           "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
                           "CREATE TABLE t(a); PRAGMA wal_checkpoint(TRUNCATE);",
                           NULL, NULL, NULL) == SQLITE_OK;
    for (int i = 0; ok && i < ROWS; i++)
        ok = sqlite3_exec(c, "INSERT INTO t VALUES(zeroblob(1500))", NULL, NULL, NULL) == SQLITE_OK;
    if (c)
        (void)sqlite3_db_config(c, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return sqlite3_close(c) == SQLITE_OK && ok;
}

static bool flip(int64_t at)
{
    unsigned char b = 0;
    int fd = open(wal, O_RDWR | O_CLOEXEC);
    bool ok = fd >= 0 && pread(fd, &b, 1, at) == 1;
    b ^= 0x10;
    ok = ok && pwrite(fd, &b, 1, at) == 1;
    return fd >= 0 && close(fd) == 0 && ok;
}

static int64_t frame(uint32_t n)
{
    return WS_WAL_HEAD + (int64_t)(n - 1) * WS_FRAME;
}

static bool copy_db(void)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 24);
    return wb_file_read(db, &b, NULL) >= 0 && wb_file_write(copy, wb_buf_str(&b), 0600, NULL) >= 0;
}

/* How many rows the copy has; -1: it is damaged. */
static int rows(void)
{
    sqlite3 *c = NULL;
    sqlite3_stmt *st = NULL;
    int n = -1;
    if (sqlite3_open(copy, &c) == SQLITE_OK &&
        sqlite3_prepare_v2(c, "SELECT count(*) FROM t, pragma_quick_check WHERE quick_check = 'ok'", -1, &st, NULL) ==
            SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int(st, 0);
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(c);
    return n;
}

TEST(wal_is_read_as_far_as_sqlite_goes)
{
    struct ws_wal_state whole, s;
    struct upp_err err = {0};
    CHECK(make());
    CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &whole, &err), 0);
    CHECK(whole.exists && whole.head.whole && whole.transactions == ROWS && whole.frames == whole.there);
    CHECK_INT(ws_wal_scan(wal, whole.frames, whole.sum, &s, &err), 0);
    CHECK(s.holds);
    CHECK_INT(ws_wal_scan(wal, whole.frames, (struct ws_sum){1, 2}, &s, &err), 0);
    CHECK(!s.holds && s.frames == whole.frames);
    /* Cut anywhere in its last frame it ends before the last transaction. */
    CHECK(truncate(wal, frame(whole.frames) + 100) == 0);
    CHECK_INT(ws_wal_scan(wal, whole.frames, whole.sum, &s, &err), 0);
    CHECK(!s.holds && s.transactions == ROWS - 1 && s.frames < whole.frames);
    /* A byte of each part of a frame. */
    for (int at = 0; at < WS_FRAME; at += at < WS_FRAME_HEAD ? 1 : 500) {
        CHECK(flip(frame(20) + at));
        CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &s, &err), 0);
        CHECK(s.head.whole && s.frames < 20);
        CHECK(flip(frame(20) + at));
    }
    for (int at = 0; at < WS_WAL_HEAD; at++) {
        CHECK(flip(at));
        CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &s, &err), 0);
        CHECK(!s.head.whole && !s.frames && s.there);
        CHECK(flip(at));
    }
    CHECK(truncate(wal, 10) == 0);
    CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &s, &err), 0);
    CHECK(s.exists && !s.head.whole && !s.there);
    CHECK(unlink(wal) == 0);
    CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &s, &err), 0);
    CHECK(!s.exists);
}

static bool apply(uint32_t frames, const struct ws_wal_state *known, struct ws_wal_applied *ret)
{
    struct ws_wal_hint hint = {.frames = frames};
    if (known) {
        hint.salt = known->head.salt;
        hint.head = known->head.sum;
    }
    return copy_db() && ws_wal_apply(wal, copy, &hint, ret, NULL) >= 0;
}

TEST(wal_behind_a_bad_frame_is_read)
{
    struct ws_wal_state s;
    struct ws_wal_applied a;
    CHECK(make());
    CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &s, NULL), 0);
    CHECK(apply(s.frames, &s, &a));
    CHECK(!a.bad && !a.lost && a.frames == s.frames);
    CHECK_INT(rows(), ROWS);
    /* A page that is written again later: nothing is lost. */
    CHECK(flip(frame(2) + 3000));
    CHECK(apply(s.frames, &s, &a));
    CHECK(a.bad == 1 && a.lost == 0);
    CHECK_INT(rows(), ROWS);
    /* Only what a frame says of itself: its salt, or its checksum. */
    CHECK(flip(frame(2) + 3000) && flip(frame(5) + 9) && flip(frame(9) + 18));
    CHECK(apply(s.frames, &s, &a));
    CHECK(a.bad == 0 && a.lost == 0);
    CHECK_INT(rows(), ROWS);
    /* The header. */
    CHECK(flip(frame(5) + 9) && flip(frame(9) + 18) && flip(3));
    CHECK(apply(s.frames, &s, &a));
    CHECK(a.lost == 0);
    CHECK_INT(rows(), ROWS);
    CHECK(flip(3));
    /* Nobody knows how many there were. */
    CHECK(flip(frame(2) + 3000));
    CHECK(apply(0, NULL, &a));
    CHECK(a.bad == 1 && a.lost == 0);
    CHECK_INT(rows(), ROWS);
    CHECK(flip(frame(2) + 3000));
    /* The last of a page. */
    CHECK(flip(frame(s.frames) + 3000));
    CHECK(apply(s.frames, &s, &a));
    CHECK(a.bad == 1 && a.lost == 1);
    CHECK(flip(frame(s.frames) + 3000));
    /* Cut short: up to the last transaction that is there. */
    CHECK(truncate(wal, frame(s.frames)) == 0);
    CHECK(apply(s.frames, &s, &a));
    CHECK(a.lost >= 1 && a.frames == s.frames);
    CHECK_INT(rows(), ROWS - 1);
    CHECK(unlink(wal) == 0);
    CHECK(apply(s.frames, &s, &a));
    CHECK(a.lost == s.frames && a.bad == s.frames);
}

TEST(wal_of_zeros_is_no_frame)
{
    static const char zeros[WS_WAL_HEAD + 10 * WS_FRAME];
    struct ws_wal_state s;
    struct ws_wal_applied a;
    CHECK(make());
    CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &s, NULL), 0);
    CHECK_INT(wb_file_write(wal, wb_str(zeros, sizeof zeros), 0600, NULL), 0);
    CHECK(apply(10, &s, &a));
    CHECK(a.lost == 10);
    CHECK(apply(0, NULL, &a));
    CHECK(a.bad == 0 && a.frames == 0);
}

/* ---- What is promised ---------------------------------------------------------------------------------------- */

/* As the store tells it, frame by frame; `upto` of them are acknowledged. */
static bool promise(int lock, uint32_t upto, struct ws_promise *p)
{
    static unsigned char head[WS_WAL_HEAD];
    struct ws_promise_look look = {0};
    struct stat st;
    int fd = open(wal, O_RDONLY | O_CLOEXEC);
    ws_promise_open(p, db, lock, &look);
    bool ok = fd >= 0 && p->map && stat(db, &st) == 0 && pread(fd, head, WS_WAL_HEAD, 0) == WS_WAL_HEAD;
    if (ok) {
        ws_promise_is(p, (uint64_t)st.st_ino, 0);
        ws_promise_write(p, head, WS_WAL_HEAD, 0);
    }
    for (uint32_t i = 1; ok && i <= upto; i++) {
        ok = pread(fd, head, WS_FRAME_HEAD, frame(i)) == WS_FRAME_HEAD;
        ws_promise_write(p, head, WS_FRAME_HEAD, frame(i));
        if (ok && ws_frame_head(head).size)
            ws_promise_acknowledge(p, i, false);
    }
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

static int look(int lock, struct ws_promise_look *x)
{
    return ws_promise_look(db, lock, x, NULL);
}

static bool checkpoint(void)
{
    sqlite3 *c = NULL;
    bool ok = sqlite3_open(db, &c) == SQLITE_OK &&
              sqlite3_exec(c, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) == SQLITE_OK;
    return sqlite3_close(c) == SQLITE_OK && ok;
}

TEST(promise_is_kept_by_a_log_that_holds_it)
{
    static struct ws_promise_look x;
    struct ws_promise p = {0};
    struct ws_lock l = {.fd = -1};
    struct ws_wal_state s = {0};
    CHECK(make());
    CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &s, NULL), 0);
    CHECK_INT(ws_lock_take(db, &l, NULL), 0);
    bool ok = promise(l.fd, s.frames, &p);
    /* The process dies here: nothing more is written. */
    int r1 = ok ? look(l.fd, &x) : 0;
    bool kept = x.known && x.same_boot && !x.bad && x.needed == s.frames && x.record.transactions == ROWS;
    int r2 = ok && flip(frame(s.frames) + 30) ? look(l.fd, &x) : 0;
    bool last = x.bad && x.needed == s.frames && !x.aside && strstr(x.why, "is damaged") != NULL;
    bool back = ok && flip(frame(s.frames) + 30);
    /* Somebody else has moved it into the database. */
    bool moved = ok && checkpoint();
    int r3 = moved ? look(l.fd, &x) : 0;
    bool fine = !x.bad;
    /* It begins anew, and the process dies before a frame is there; or before the header is. */
    static const unsigned char head[WS_WAL_HEAD] = {1};
    ws_promise_write(&p, head, WS_WAL_HEAD, 0);
    int r4 = look(l.fd, &x);
    bool anew = !x.bad && !x.needed;
    ws_promise_close(&p, false);
    ws_lock_release(&l);
    CHECK(ok && back && moved);
    CHECK(r1 == 0 && r2 == 0 && r3 == 0 && r4 == 0);
    CHECK(kept);
    CHECK(last);
    CHECK(fine);
    CHECK(anew);
}

/* A checkpoint of ours does not write pages as they are in the WAL, so that they prove nothing. */
TEST(promise_is_kept_by_a_checkpoint_of_all_of_it)
{
    static struct ws_promise_look x;
    struct ws_promise p = {0};
    struct ws_lock l = {.fd = -1};
    struct ws_wal_state s = {0};
    CHECK(make());
    CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &s, NULL), 0);
    CHECK_INT(ws_lock_take(db, &l, NULL), 0);
    bool ok = promise(l.fd, s.frames, &p) && flip(frame(20) + 100);
    ws_promise_checkpoint_end(&p, ws_promise_checkpoint_begin(&p), (int)s.frames - 1);
    bool most = ok && look(l.fd, &x) == 0 && x.bad && x.needed == s.frames;
    ws_promise_checkpoint_end(&p, ws_promise_checkpoint_begin(&p), (int)s.frames);
    bool all = ok && look(l.fd, &x) == 0 && x.bad && x.aside && !x.needed && strstr(x.why, "has all that it held");
    (void)ws_promise_checkpoint_begin(&p);
    bool some = ok && look(l.fd, &x) == 0 && x.bad && x.needed == s.frames;
    ws_promise_checkpoint_failed(&p);
    some = some && look(l.fd, &x) == 0 && x.bad && x.needed == s.frames;
    /* The writer has emptied the WAL while another checkpoint began or ended. */
    uint32_t tag = ws_promise_checkpoint_begin(&p);
    ws_promise_checkpointed(&p);
    some = some && look(l.fd, &x) == 0 && x.bad && x.needed == s.frames;
    ws_promise_checkpoint_end(&p, tag, (int)s.frames);
    bool gone = ok && unlink(wal) == 0 && look(l.fd, &x) == 0 && !x.bad;
    ws_promise_close(&p, false);
    ws_lock_release(&l);
    CHECK(ok);
    CHECK(most);
    CHECK(all);
    CHECK(some);
    CHECK(gone);
}

TEST(promise_is_missed_where_the_log_is_gone)
{
    static struct ws_promise_look x;
    struct ws_promise p = {0};
    struct ws_lock l = {.fd = -1};
    struct ws_wal_state s = {0};
    CHECK(make());
    CHECK_INT(ws_wal_scan(wal, 0, (struct ws_sum){0}, &s, NULL), 0);
    CHECK_INT(ws_lock_take(db, &l, NULL), 0);
    bool ok = promise(l.fd, s.frames, &p);
    bool gone = ok && unlink(wal) == 0 && look(l.fd, &x) == 0 && x.bad && x.needed == s.frames && !x.database;
    bool none = ok && unlink(db) == 0 && look(l.fd, &x) == 0 && x.bad && x.database && x.aside;
    /* It was closed as it should be: whoever deletes it then knows why. */
    ws_promise_none(&p);
    ws_promise_close(&p, true);
    bool clean = ok && look(l.fd, &x) == 0 && !x.bad;
    ws_lock_release(&l);
    CHECK(ok);
    CHECK(gone);
    CHECK(none);
    CHECK(clean);
}

/* Every byte of the page once. */
TEST_WITH(promise_that_is_damaged_is_none, .no_torture = "two thousand looks, each with the same calls")
{
    static struct ws_promise_look x;
    struct ws_promise p = {0};
    struct ws_lock l = {.fd = -1};
    unsigned char b;
    unsigned older = 0, none = 0;
    CHECK(make());
    CHECK_INT(ws_lock_take(db, &l, NULL), 0);
    bool ok = promise(l.fd, 12, &p);
    for (int at = 0; ok && at < 2048; at++) {
        ok = pread(l.fd, &b, 1, WS_LOCK_PAGE + at) == 1;
        b ^= 0x21;
        ok = ok && pwrite(l.fd, &b, 1, WS_LOCK_PAGE + at) == 1 && look(l.fd, &x) == 0 && !x.bad && x.known;
        older += x.record.frames < p.now.frames;
        b ^= 0x21;
        ok = ok && pwrite(l.fd, &b, 1, WS_LOCK_PAGE + at) == 1;
    }
    /* Both. */
    static const char nonsense[4096] = "weftlog1";
    ok = ok && pwrite(l.fd, nonsense, sizeof nonsense, WS_LOCK_PAGE) == sizeof nonsense && look(l.fd, &x) == 0;
    none += !x.known && !x.bad;
    ws_promise_close(&p, false);
    ws_lock_release(&l);
    CHECK(ok);
    CHECK(older > 100 && older < 1024);
    CHECK_INT(none, 1);
}
