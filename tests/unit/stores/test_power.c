/* Power is lost at thousands of places while the SQLite store works: what it holds then is a history up to some commit,
 * whole, and no shorter than what it has promised. The disk drops, keeps, tears and reorders what was not synced.
 *
 * `WEFT_POWER_CUTS` says at how many places (make check-ci: 200, make check-long: 5,000).
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/sim/sim.h"
#include "stores/sqlite/sqlite.h"
#include "support/disk.h"
#include "support/stores.h"
#include "support/work.h"

enum { WRITERS = 3, COMMITS = 25, LIVES = 8 /* of one disk */ };

struct power {
    struct disk *disk;
    struct weft__sim *sim;
    struct wl_store *s;
    struct work work;
    uint64_t next;    /* number of the commit to come */
    uint64_t acked;   /* number of the last one that was */
    uint64_t durable; /* number of the last one that nothing may lose any more */
    uint64_t cut_in;
    bool early; /* power may go while the store is opened */
    bool old;   /* the file began as one of version 1 */
    char why[256];
};

/* What must not be: said, so that whoever expects it can look. */
static int wrong(struct power *p, const char *why)
{
    (void)snprintf(p->why, sizeof p->why, "%s", why);
    return -UPP_EBUG;
}

WEFT_SUSPENDS static int commit_next(struct power *p, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_commit c;
    uint64_t n = p->next++;
    int want;
    TRY(work_step(&p->work, n, &a, &c, &want, err));
    c.flags = weft__sim_below(p->sim, 2) ? WL_SYNCED : 0;
    int r = wl_store_commit(p->s, &c, err); /* given in the order of the numbers: nothing waits before */
    if (r == -UPP_ESTORE)
        return r; /* power is gone */
    if (r != want)
        return wrong(p, "a commit had another result than in the model");
    if (r >= 0)
        p->acked = WB_MAX(p->acked, n);
    if (r >= 0 && c.flags & WL_SYNCED)
        p->durable = WB_MAX(p->durable, n);
    return 0;
}

/* A commit of nothing, synced: all that was acknowledged before it is on disk. Where a torn sector may hold anything,
 * the next write can still take the end of the log along: SQLite fills the sector up only where it syncs itself. The
 * files of all systems we run on say that they are not like that (SQLITE_IOCAP_POWERSAFE_OVERWRITE). */
WEFT_SUSPENDS static int flush(struct power *p, struct upp_err *err)
{
    struct wl_commit c = {.owner = work_owner, .flags = WL_SYNCED};
    uint64_t before = p->acked;
    TRY(wl_store_commit(p->s, &c, err));
    if (disk_powersafe(p->disk))
        p->durable = WB_MAX(p->durable, before);
    return 0;
}

WEFT_SUSPENDS static int writer(void *arg, struct upp_err *err)
{
    struct power *p = arg;
    int r = 0;
    for (unsigned i = 0; i < COMMITS && r >= 0; i++) {
        r = weft__sim_below(p->sim, 5) ? commit_next(p, err) : flush(p, err);
        if (r >= 0 && weft__sim_below(p->sim, 6) == 0)
            r = weft_sleep_ms(weft__sim_below(p->sim, 700), err);
    }
    return r == -UPP_ESTORE ? 0 : r;
}

/* What the search does beside it: follows the log, and writes what it has learned. */
WEFT_SUSPENDS static int learn(struct power *p, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_index_entry words[8];
    struct wl_followed *rows;
    uint64_t upto, end;
    size_t n;
    TRY(wl_get_index_progress(p->s, &upto, &end, err));
    TRY(wl_store_follow(p->s, upto, 8, 1 << 20, &a, &rows, &n, err));
    struct wl_index_update l = {
        .list = words, .from = upto, .upto = n ? rows[n - 1].number : upto, .changes = n ? rows[0].changes : 0};
    for (size_t i = 0; i < n; i++)
        if (rows[i].row.n_entries)
            words[l.n++] = (struct wl_index_entry){.tenant = rows[i].tenant,
                                                   .node = rows[i].row.node,
                                                   .index = wl_pos_index(rows[i].row.pos),
                                                   .time_ms = 1,
                                                   .text = wb_str(rows[i].row.body.p, WB_MIN(rows[i].row.body.n, 100))};
    struct wl_change change = {.kind = WL_INDEX_ADD, .learned = &l};
    struct wl_commit c = {.owner = work_owner, .changes = &change, .n = 1};
    int r = n ? wl_store_commit(p->s, &c, err) : 0;
    return r == -UPP_EBUSY ? 0 : r;
}

WEFT_SUSPENDS static int learner(void *arg, struct upp_err *err)
{
    struct power *p = arg;
    int r = 0;
    for (unsigned i = 0; i < COMMITS / 2 && r >= 0; i++) {
        r = weft_sleep_ms(weft__sim_below(p->sim, 100), err);
        if (r >= 0)
            r = learn(p, err);
    }
    return r == -UPP_ESTORE || r == -UPP_EREFUSED ? 0 : r;
}

/* The file holds the history up to a commit, and none that was acknowledged is missing. */
WEFT_SUSPENDS static int verify(struct power *p, struct upp_err *err)
{
    UPP_CLEANUP(wb_buf_done) struct wb_buf is = WB_BUF(4 << 20), must = WB_BUF(4 << 20);
    uint64_t n;
    TRY(work_number(p->s, &n, err));
    test_note("commit %llu is there, of %llu; %llu are durable", (unsigned long long)n, (unsigned long long)p->next - 1,
              (unsigned long long)p->durable);
    if (n < p->durable)
        return wrong(p, "an acknowledged commit is lost");
    if (n >= p->next)
        return wrong(p, "there is a commit that nobody gave");
    TRY(work_begin(&p->work, n, err));
    TRY(work_dump(p->s, &is, err));
    TRY(work_dump(p->work.model, &must, err));
    if (!wb_str_eq(wb_buf_str(&is), wb_buf_str(&must))) {
        test_note("it is:\n%.*s\nmust be:\n%.*s", UPP_FMT(wb_buf_str(&is)), UPP_FMT(wb_buf_str(&must)));
        return wrong(p, "it is not what the commits made");
    }
    p->next = n + 1;
    p->acked = p->durable = n;
    return 0;
}

/* The threads of the file that was migrated. */
WEFT_SUSPENDS static int verify_old(struct power *p, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_thread *threads;
    size_t n;
    TRY(wl_list_threads(p->s, &OWNER("local", ""), WB_UUID_NIL, 100, &a, &threads, &n, err));
    return n == 7 ? 0 : wrong(p, "threads of the old file are missing");
}

/* By SQLite's own word, and ours: nothing is known to the search that is not in the log, and its index fits. */
static bool intact(struct disk *d)
{
    static const char *const questions[] = {
        "SELECT count(*) = 1 AND min(integrity_check) = 'ok' FROM pragma_integrity_check",
        ("SELECT NOT EXISTS(SELECT 1 FROM words w WHERE NOT EXISTS(SELECT 1 FROM log l WHERE l.tenant = w.tenant AND"
         " l.node = w.node AND l.pos >> 16 = w.entry AND l.n))"),
        "SELECT NOT EXISTS(SELECT 1 FROM refs r WHERE NOT EXISTS(SELECT 1 FROM blobs b WHERE b.number = r.blob))",
        "SELECT NOT EXISTS(SELECT 1 FROM blobs b WHERE refs <> (SELECT count(*) FROM refs r WHERE r.blob = b.number))",
    };
    sqlite3 *db = NULL;
    bool ok = sqlite3_open_v2("weft.db", &db, SQLITE_OPEN_READWRITE, disk_name(d)) == SQLITE_OK;
    for (size_t i = 0; ok && i < WB_LEN(questions); i++) {
        sqlite3_stmt *st = NULL;
        ok = sqlite3_prepare_v2(db, questions[i], -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW &&
             sqlite3_column_int(st, 0) == 1;
        test_note("%s: %s", questions[i], ok ? "yes" : sqlite3_errmsg(db));
        (void)sqlite3_finalize(st);
    }
    ok = ok && sqlite3_exec(db, "INSERT INTO words_text(words_text, rank) VALUES('integrity-check', 1)", NULL, NULL,
                            NULL) == SQLITE_OK;
    (void)sqlite3_close(db);
    return ok;
}

WEFT_SUSPENDS static int work_until_cut(struct power *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {.flags = WEFT_SCOPE_ISOLATED};
    disk_crash_after(p->disk, p->cut_in);
    for (unsigned k = 0; k < WRITERS; k++)
        TRY(weft_scope_spawn(&all, "writer", writer, p, NULL, err));
    TRY(weft_scope_spawn(&all, "learner", learner, p, NULL, err));
    TRY(weft_scope_join(&all, err));
    return p->why[0] ? -UPP_EBUG : 0;
}

WEFT_SUSPENDS static int life(void *arg, struct upp_err *err)
{
    struct power *p = arg;
    if (p->early)
        disk_crash_after(p->disk, 1 + weft__sim_below(p->sim, 60));
    int r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "weft.db", .vfs = disk_name(p->disk),
                                    .wal_pages = 1 + (uint32_t)weft__sim_below(p->sim, 60)),
                           &p->s, err);
    if (r < 0)
        return p->early ? 0 : r;
    r = verify(p, err);
    if (r >= 0 && p->old)
        r = verify_old(p, err);
    if (r == -UPP_ESTORE && p->early)
        r = 0; /* power went while it looked */
    else if (r >= 0)
        r = work_until_cut(p, err);
    p->s->ops->close(p->s);
    return r;
}

/* One life, ended by a loss of power. */
static int live(struct power *p, uint64_t seed, unsigned i)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err = {0};
    if (weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed * 1000 + i), &w, &err) < 0)
        return wrong(p, "no world");
    p->sim = w;
    p->s = NULL;
    p->cut_in = 1 + weft__sim_below(w, 500);
    p->early = i + 1 < LIVES && weft__sim_below(w, 4) == 0;
    int r = weft_loop_run(weft__sim_loop(w, 0), "life", life, p, &err);
    test_note("seed %llu, life %u: %d %s%s", (unsigned long long)seed, i, r, err.msg, p->why);
    disk_crash(p->disk);
    work_end(&p->work);
    return r;
}

/* At most n lives of one disk; *cuts counts them. <0: something is not as it must be. */
static int lives(uint64_t seed, uint64_t n, bool lies, uint64_t *cuts)
{
    static struct power p;
    p = (struct power){.disk = disk_new(seed), .work.seed = seed, .next = 1, .old = seed % 4 == 0};
    int r = 0;
    if (p.old) {
        size_t bytes;
        char *file = test_read("fixtures/stores/schema-1.db", &bytes);
        if (!file)
            abort();
        disk_put(p.disk, "weft.db", file, bytes);
        free(file);
    }
    disk_lie(p.disk, lies);
    for (unsigned i = 0; i < LIVES && i < n && r >= 0; i++, ++*cuts) {
        r = live(&p, seed, i);
        if (r >= 0 && (i || p.old) && p.next > 1 && !intact(p.disk))
            r = wrong(&p, "it is not intact");
    }
    disk_free(p.disk);
    return r;
}

TEST_WITH(store_power_is_lost_anywhere, .no_torture = "the disk is the test's own, and fails by itself",
          .seconds = 3600)
{
    uint64_t all = test_times("WEFT_POWER_CUTS", 24), cuts = 0;
    for (uint64_t seed = 1; cuts < all; seed++)
        CHECK(lives(seed, all - cuts, false, &cuts) >= 0);
}

/* The test can fail: a disk whose syncs do nothing is found out, nearly each time. */
TEST_WITH(store_power_finds_a_disk_that_lies, .no_torture = "the disk is the test's own, and fails by itself")
{
    unsigned found = 0;
    uint64_t cuts = 0;
    for (uint64_t seed = 1; seed <= 12; seed++)
        found += lives(seed, LIVES, true, &cuts) < 0;
    test_note("%u of 12 disks were found out", found);
    CHECK(found >= 10);
}
