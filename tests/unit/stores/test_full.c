/* A full disk under the SQLite store, and under an engine: what is refused, what still works, and that it goes on. And
 * one that does not give out what it has. */
#include <stdio.h>
#include <string.h>

#include "support/sim/sim.h"
#include "log/search.h"
#include "stores/sqlite/store.h"
#include "support/disk.h"
#include "support/fibers.h"
#include "support/rig.h"
#include "support/stores.h"

struct full {
    struct disk *d;
    struct wl_store *s;
    struct rig rig;
    uint32_t rows;
};

static bool is_full(int r, const struct upp_err *err)
{
    return r == -UPP_ESTORE && strstr(err->msg, "the disk is full") && strcmp(err->cause, WL_DISK_FULL) == 0 &&
           strcmp(err->where, "full.db") == 0;
}

WEFT_SUSPENDS static int append(struct full *x, size_t n, struct upp_err *err)
{
    static char text[20000];
    struct wl_row row = test_row(7, wl_pos(x->rows, 0), 1, "");
    memset(text, 'x', sizeof text);
    row.body = wb_str(text, n);
    int r = COMMIT(x->s, ALICE, NULL, err, ADD_ROW(&row));
    x->rows += r >= 0;
    return r;
}

/* Until nothing more is taken, whatever its size. */
WEFT_SUSPENDS static int fill(struct full *x, struct upp_err *err)
{
    int r = 0;
    disk_room(x->d, 100000);
    for (unsigned i = 0; i < 1000 && r >= 0; i++)
        r = append(x, 20000, err);
    FAIL_UNLESS(is_full(r, err));
    FAIL_UNLESS(is_full(append(x, 1, err), err));
    return 0;
}

WEFT_SUSPENDS static int open_full(struct full *x, uint32_t reserve_kib, struct upp_err *err)
{
    return ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "full.db", .vfs = disk_name(x->d),
                                   .reserve_kib = reserve_kib, .wal_pages = 20),
                          &x->s, err);
}

static int play(weft_fn *fn, uint64_t seed, struct upp_err *err)
{
    static struct full x;
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    x = (struct full){.d = disk_new(seed)};
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed), &w, err);
    if (r >= 0)
        r = weft_loop_run(weft__sim_loop(w, 0), "program", fn, &x, err);
    rig_done(&x.rig);
    disk_free(x.d);
    test_note("%d: %s %s", r, err->where, err->msg);
    return r;
}

/* ---- The store ----------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int last_words(struct full *x, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_node node = test_node(7), other = test_node(8), got;
    struct wm_run run = {.id = test_uuid(3), .thread = test_uuid(4), .version = 1, .status = WM_RUNNING}, is;
    TRY(COMMIT(x->s, ALICE, NULL, err, ADD_NODE(&node), ADD_NODE(&other), ADD_RUN(&run)));
    FAIL_UNLESS(wl_store_state(x->s) == WL_WORKS);
    TRY(fill(x, err));
    FAIL_UNLESS(wl_store_state(x->s) == WL_FULL);

    TRY(wl_get_node(x->s, &ALICE, 7, &got, err)); /* reading works */
    struct wl_value v = {UPP_STR("s"), UPP_STR("n"), UPP_STR("x")};
    FAIL_UNLESS(is_full(COMMIT(x->s, ALICE, NULL, err, SET_RUN(&run)), err)); /* it goes on: no */
    FAIL_UNLESS(is_full(COMMIT(x->s, ALICE, NULL, err, DROP_NODE(&other), PUT_VALUE(&v)), err));
    run.cancel = true;
    TRY(COMMIT(x->s, ALICE, NULL, err, SET_RUN(&run)));
    run.version = 2;
    run.status = WM_CANCELED;
    struct wl_row last = test_row(7, wl_pos(x->rows, 0), 1, "cancelled");
    TRY(COMMIT(x->s, ALICE, NULL, err, ADD_ROW(&last), SET_RUN(&run)));
    x->rows++;
    TRY(COMMIT(x->s, ALICE, NULL, err, DROP_NODE(&other)));
    TRY(test_commit(x->s, ALICE, NULL, 0, NULL, err)); /* what there is is synced */
    TRY(wl_get_run(x->s, &ALICE, run.id, &a, &is, err));
    FAIL_UNLESS(is.status == WM_CANCELED && wl_store_state(x->s) == WL_FULL);

    disk_room(x->d, 1 << 20); /* too little: the reserve comes first, and something beside it */
    FAIL_UNLESS(is_full(append(x, 1, err), err));
    disk_room(x->d, 8 << 20);
    TRY(append(x, 20000, err));
    FAIL_UNLESS(wl_store_state(x->s) == WL_WORKS && disk_size(x->d, "-full_disk_reserve") == 1 << 20);
    return 0;
}

WEFT_SUSPENDS static int has_last_words(void *arg, struct upp_err *err)
{
    struct full *x = arg;
    TRY(open_full(x, 0, err));
    int r = last_words(x, err);
    x->s->ops->close(x->s);
    return r;
}

TEST_WITH(full_disk_takes_last_words, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    for (uint64_t seed = 1; seed <= 10; seed++)
        CHECK_INT(play(has_last_words, seed, &err), 0);
}

/* Many at once, of which some have the last word: each gets its own answer. */
struct many {
    struct full *x;
    unsigned i;
    int r;
};

WEFT_SUSPENDS static int one_of_many(void *arg, struct upp_err *err)
{
    struct many *m = arg;
    struct wm_run run = {.id = test_uuid(100 + m->i), .thread = test_uuid(4), .version = 1, .status = WM_COMPLETED};
    struct wl_value v = {UPP_STR("s"), UPP_STR("n"), UPP_STR("x")};
    m->r =
        m->i % 2 ? COMMIT(m->x->s, ALICE, NULL, err, SET_RUN(&run)) : COMMIT(m->x->s, ALICE, NULL, err, PUT_VALUE(&v));
    return 0;
}

WEFT_SUSPENDS static int many_at_once(struct full *x, struct upp_err *err)
{
    enum { MANY = 16 };
    struct many m[MANY];
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wl_node node = test_node(7);
    TRY(COMMIT(x->s, ALICE, NULL, err, ADD_NODE(&node)));
    for (unsigned i = 0; i < MANY; i++) {
        struct wm_run run = {.id = test_uuid(100 + i), .thread = test_uuid(4), .version = 1, .status = WM_RUNNING};
        TRY(COMMIT(x->s, ALICE, NULL, err, ADD_RUN(&run)));
    }
    TRY(fill(x, err));
    for (unsigned i = 0; i < MANY; i++) {
        m[i] = (struct many){x, i, 0};
        TRY(weft_scope_spawn(&all, "one", one_of_many, &m[i], NULL, err));
    }
    TRY(weft_scope_join(&all, err));
    for (unsigned i = 0; i < MANY; i++) {
        test_note("commit %u: %d", i, m[i].r);
        FAIL_UNLESS(m[i].r == (i % 2 ? 0 : -UPP_ESTORE));
    }
    return 0;
}

WEFT_SUSPENDS static int has_many(void *arg, struct upp_err *err)
{
    struct full *x = arg;
    TRY(open_full(x, 0, err));
    int r = many_at_once(x, err);
    x->s->ops->close(x->s);
    return r;
}

TEST_WITH(full_disk_answers_each_of_many, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    for (uint64_t seed = 1; seed <= 10; seed++)
        CHECK_INT(play(has_many, seed, &err), 0);
}

/* Opened while it is full, with nothing in reserve: it reads, refuses all else, and goes on when there is room. */
WEFT_SUSPENDS static int open_on_full(void *arg, struct upp_err *err)
{
    struct full *x = arg;
    struct wl_node node = test_node(7), got;
    TRY(open_full(x, UINT32_MAX, err));
    int r = COMMIT(x->s, ALICE, NULL, err, ADD_NODE(&node));
    disk_room(x->d, 100000);
    for (unsigned i = 0; r >= 0 && i < 1000; i++)
        r = append(x, 20000, err);
    x->s->ops->close(x->s);
    FAIL_UNLESS(is_full(r, err));
    FAIL_UNLESS(disk_size(x->d, "-full_disk_reserve") == 0);
    disk_room(x->d, 0);
    TRY(open_full(x, 0, err));
    r = wl_get_node(x->s, &ALICE, 7, &got, err);
    for (unsigned i = 0; r >= 0 && i < 50; i++) /* the log was moved, and may have some room */
        r = append(x, 20000, err);
    bool full = EXPECT(is_full(r, err));
    disk_room(x->d, 8 << 20);
    r = append(x, 1, err);
    x->s->ops->close(x->s);
    return full ? r : -UPP_EBUG;
}

TEST_WITH(full_disk_can_be_opened, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    for (uint64_t seed = 1; seed <= 10; seed++)
        CHECK_INT(play(open_on_full, seed, &err), 0);
}

/* ---- The engine ---------------------------------------------------------------------------------------- */

#define SLOW_SCRIPT                                                                                                    \
    "{\"replies\":[{\"parts\":[{\"text\":\"One two three four five six seven eight\"}],\"delta_bytes\":4,"             \
    "\"delay_ms\":1000}],\"at_end\":\"restart\"}"

WEFT_SUSPENDS static int status_of(struct full *x, struct wb_uuid run, uint8_t *ret, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wr_run_info look;
    TRY(wr_get(x->rig.engine, &rig_owner, run, &a, &look, err));
    *ret = look.run.status;
    return 0;
}

WEFT_SUSPENDS static int engine_on_full(struct full *x, struct upp_err *err)
{
    struct wr_started one, two, three;
    uint8_t status;
    struct wl_node node = test_node(7);
    TRY(COMMIT(x->s, ALICE, NULL, err, ADD_NODE(&node)));
    TRY(rig_start(&x->rig, "slow", "hello", NULL, &one, err));
    TRY(rig_start(&x->rig, "slow", "hello", NULL, &two, err));
    TRY(fill(x, err));
    FAIL_UNLESS(is_full(rig_start(&x->rig, "slow", "hello", NULL, &three, err), err)); /* no new runs */
    TRY(wr_cancel(x->rig.engine, &rig_owner, one.run, err));
    TRY(wr_wait(x->rig.engine, &rig_owner, one.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED);
    TRY(status_of(x, one.run, &status, err)); /* and it is in the store */
    FAIL_UNLESS(status == WM_CANCELED);

    TRY(weft_sleep_ms(20000, err)); /* the other one has its answer. It ends now, or when there is room */
    disk_room(x->d, UINT64_MAX);
    TRY(weft_sleep_ms(180000, err));
    TRY(status_of(x, two.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(rig_start(&x->rig, "slow", "hello", NULL, &three, err));
    TRY(wr_wait(x->rig.engine, &rig_owner, three.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(rig_well_formed(x->s, &rig_owner, one.thread, err));
    return rig_well_formed(x->s, &rig_owner, two.thread, err);
}

WEFT_SUSPENDS static int has_engine(void *arg, struct upp_err *err)
{
    struct full *x = arg;
    TRY(open_full(x, 0, err));
    x->rig.store = x->s;
    int r = rig_agent(&x->rig, "slow", SLOW_SCRIPT, err);
    if (r >= 0)
        r = rig_open(&x->rig, weft_loop_current(), NULL, err);
    if (r >= 0)
        r = engine_on_full(x, err);
    rig_close(&x->rig);
    x->s->ops->close(x->s);
    return r;
}

TEST_WITH(full_disk_refuses_new_runs_and_cancels_old_ones, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    for (uint64_t seed = 1; seed <= 10; seed++)
        CHECK_INT(play(has_engine, seed, &err), 0);
}

/* ---- The WAL on a small disk ------------------------------------------------------------------------------ */

WEFT_SUSPENDS static int open_small(struct full *x, struct upp_err *err)
{
    struct wl_node node = test_node(7);
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "full.db", .vfs = disk_name(x->d), .reserve_kib = 64), &x->s,
                       err));
    int r = COMMIT(x->s, ALICE, NULL, err, ADD_NODE(&node));
    if (r < 0)
        x->s->ops->close(x->s);
    return r;
}

/* One value is replaced for ever: the database stays small, and the WAL alone never fills the disk. */
WEFT_SUSPENDS static int replace_one_value(void *arg, struct upp_err *err)
{
    static char text[60000];
    struct full *x = arg;
    struct wl_value v = {UPP_STR("s"), UPP_STR("n"), wb_str(text, sizeof text)};
    int r = 0;
    TRY(open_small(x, err));
    disk_room(x->d, 4 << 20);
    for (unsigned i = 0; r >= 0 && i < 1000; i++) {
        memset(text, 'a' + (int)(i % 26), sizeof text);
        r = COMMIT(x->s, ALICE, NULL, err, PUT_VALUE(&v));
        test_note("%u", i);
    }
    bool works = wl_store_state(x->s) == WL_WORKS;
    x->s->ops->close(x->s);
    TRY(r);
    FAIL_UNLESS(works);
    return 0;
}

TEST_WITH(full_disk_is_never_full_of_the_wal, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    for (uint64_t seed = 1; seed <= 3; seed++)
        CHECK_INT(play(replace_one_value, seed, &err), 0);
}

/* When nothing more fits, the WAL has gone into the database: what fills the disk is what is stored. */
WEFT_SUSPENDS static int append_all(void *arg, struct upp_err *err)
{
    enum { ROOM = 8 << 20, ONE = 20000 };
    struct full *x = arg;
    int r = 0;
    TRY(open_small(x, err));
    disk_room(x->d, ROOM);
    for (unsigned i = 0; r >= 0 && i < 1000; i++)
        r = append(x, ONE, err);
    uint64_t wal = disk_size(x->d, "-wal");
    test_note("%u rows, WAL %llu", x->rows, (unsigned long long)wal);
    x->s->ops->close(x->s);
    FAIL_UNLESS(is_full(r, err) && (uint64_t)x->rows * ONE > ROOM / 4 * 3 && wal < ROOM / 8);
    return 0;
}

TEST_WITH(full_disk_is_full_of_what_is_stored, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    for (uint64_t seed = 1; seed <= 3; seed++)
        CHECK_INT(play(append_all, seed, &err), 0);
}

/* A checkpoint had no room, but now there is some: that is found out once, not with every commit. */
WEFT_SUSPENDS static int no_room_once(void *arg, struct upp_err *err)
{
    struct full *x = arg;
    TRY(open_small(x, err));
    struct ws_sqlite *s = ws_sqlite(x->s);
    int r = 0;
    for (unsigned paused = 0; r >= 0 && paused < 2; paused++) {
        s->empty_at_ms = paused ? UINT64_MAX : 0; /* the WAL can be emptied, or cannot */
        atomic_store(&s->no_room, true);
        r = append(x, 100, err);
        if (r >= 0 && (atomic_load(&s->no_room) || wl_store_state(x->s) != WL_WORKS))
            r = upp_fail(err, UPP_EBUG, "the disk is still full");
    }
    x->s->ops->close(x->s);
    return r;
}

TEST_WITH(full_disk_with_room_again_is_noticed_once, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    CHECK_INT(play(no_room_once, 1, &err), 0);
}

/* ---- A disk that takes no writes -------------------------------------------------------------------------- */

/* The store says so, and an empty commit, without any other, shows when it is over. */
WEFT_SUSPENDS static int fail_for_a_while(struct full *x, struct upp_err *err)
{
    struct wl_node node = test_node(7), got;
    TRY(COMMIT(x->s, ALICE, NULL, err, ADD_NODE(&node)));
    for (unsigned i = 0; i < 3; i++) {
        TRY(append(x, 100, err));
        FAIL_UNLESS(wl_store_state(x->s) == WL_WORKS);
        disk_fail_writes(x->d, true);
        FAIL_UNLESS(append(x, 100, err) == -UPP_ESTORE && wl_may_pass(err));
        FAIL_UNLESS(wl_store_state(x->s) == WL_FAILING);
        FAIL_UNLESS(test_commit(x->s, ALICE, NULL, 0, NULL, err) == -UPP_ESTORE);
        FAIL_UNLESS(wl_store_state(x->s) == WL_FAILING);
        TRY(wl_get_node(x->s, &ALICE, 7, &got, err)); /* reading works */
        disk_fail_writes(x->d, false);
        TRY(test_commit(x->s, ALICE, NULL, 0, NULL, err));
        FAIL_UNLESS(wl_store_state(x->s) == WL_WORKS);
    }
    return append(x, 100, err);
}

WEFT_SUSPENDS static int has_bad_writes(void *arg, struct upp_err *err)
{
    struct full *x = arg;
    TRY(open_full(x, UINT32_MAX, err));
    int r = fail_for_a_while(x, err);
    disk_fail_writes(x->d, false);
    x->s->ops->close(x->s);
    return r;
}

TEST_WITH(bad_disk_that_takes_no_writes_is_tried_again, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    for (uint64_t seed = 1; seed <= 3; seed++)
        CHECK_INT(play(has_bad_writes, seed, &err), 0);
}

/* A damaged index that could not be dropped is still damaged. */
WEFT_SUSPENDS static int drop_index_on_bad_disk(struct full *x, struct upp_err *err)
{
    struct wl_node node = test_node(7);
    size_t rows;
    TRY(COMMIT(x->s, ALICE, NULL, err, ADD_NODE(&node)));
    atomic_store(&x->s->index_state, WL_INDEX_DAMAGED);
    disk_fail_writes(x->d, true);
    FAIL_UNLESS(wl_index_rows(x->s, &rows, err) == -UPP_ESTORE && wl_may_pass(err));
    FAIL_UNLESS(wl_store_index_state(x->s) == WL_INDEX_DAMAGED);
    disk_fail_writes(x->d, false);
    TRY(wl_index_rows(x->s, &rows, err));
    FAIL_UNLESS(wl_store_index_state(x->s) == WL_INDEX_SOUND);
    return 0;
}

WEFT_SUSPENDS static int has_damaged_index(void *arg, struct upp_err *err)
{
    struct full *x = arg;
    TRY(open_full(x, UINT32_MAX, err));
    int r = drop_index_on_bad_disk(x, err);
    disk_fail_writes(x->d, false);
    x->s->ops->close(x->s);
    return r;
}

TEST_WITH(bad_disk_keeps_a_damaged_index_damaged, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    CHECK_INT(play(has_damaged_index, 1, &err), 0);
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* The n-th read fails: so does one call, with the file's name, and nothing else. */
WEFT_SUSPENDS static int read_once(struct full *x, uint64_t n, unsigned *failures, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_rows rows;
    struct wl_range all = {.node = 7, .to = UINT64_MAX, .max_bytes = 4 << 20};
    disk_fail_read(x->d, n);
    int r = wl_store_rows(x->s, &ALICE, &all, &a, &rows, err);
    if (r < 0) {
        FAIL_UNLESS(r == -UPP_ESTORE && strstr(err->msg, "the disk failed") && strcmp(err->where, "full.db") == 0);
        FAIL_UNLESS(wl_may_pass(err) && !strstr(err->msg, "damaged"));
        ++*failures;
        r = wl_store_rows(x->s, &ALICE, &all, &a, &rows, err);
    }
    FAIL_UNLESS(r >= 0 && rows.n == x->rows);
    return wl_store_state(x->s) == WL_WORKS ? append(x, 100, err) : -UPP_EBUG;
}

WEFT_SUSPENDS static int has_bad_reads(void *arg, struct upp_err *err)
{
    struct full *x = arg;
    unsigned failures = 0;
    struct wl_node node = test_node(7);
    TRY(open_full(x, UINT32_MAX, err));
    int r = COMMIT(x->s, ALICE, NULL, err, ADD_NODE(&node));
    for (unsigned i = 0; r >= 0 && i < 20; i++)
        r = append(x, 20000, err);
    x->s->ops->close(x->s);
    for (uint64_t n = 1; r >= 0 && n < 60; n++) { /* opened each time: nothing is in memory */
        TRY(open_full(x, UINT32_MAX, err));
        r = read_once(x, n, &failures, err);
        disk_fail_read(x->d, 0);
        x->s->ops->close(x->s);
    }
    TRY(r);
    test_note("%u of 59", failures);
    FAIL_UNLESS(failures > 20);
    return 0;
}

TEST_WITH(bad_disk_fails_one_read_and_goes_on, .no_torture = "the disk is the test's own")
{
    struct upp_err err = {0};
    for (uint64_t seed = 1; seed <= 3; seed++)
        CHECK_INT(play(has_bad_reads, seed, &err), 0);
}
