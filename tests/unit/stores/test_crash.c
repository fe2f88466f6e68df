/* Power losses under the SQLite store: on a simulated loop and a disk that drops, keeps and tears what was not synced.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "support/sim/sim.h"
#include "stores/sqlite/sqlite.h"
#include "support/disk.h"
#include "support/stores.h"

enum { WRITERS = 4, COMMITS = 24, BODY = 3000 };

/* What the writers know. Each appends to two nodes at once, so that a half commit shows. */
struct ledger {
    struct disk *disk;
    struct weft__sim *sim;
    struct wl_store *s;
    uint32_t given[WRITERS], acked[WRITERS]; /* commits */
    uint32_t durable[WRITERS];               /* that nothing may lose any more */
    uint64_t crash_in;
    bool early, opened; /* early: power may go while the store is opened */
    unsigned refused_after;
};

struct writer {
    struct ledger *l;
    unsigned k;
};

static uint64_t node_a(unsigned k)
{
    return 100 + k;
}

static uint64_t node_b(unsigned k)
{
    return UINT64_C(0x8000000000000000) + k;
}

/* A text that follows from its place. */
static struct upp_str body_of(char *to, unsigned k, uint32_t i)
{
    size_t n = 20 + (k * 7919u + i * 104729u) % (BODY - 20);
    memset(to, (int)('a' + (i + k) % 26), n);
    (void)snprintf(to, 20, "%u:%u", k, i);
    return wb_str(to, n);
}

WEFT_SUSPENDS static int write_one(struct ledger *l, unsigned k, struct upp_err *err)
{
    char text[BODY];
    uint32_t i = l->given[k], before[WRITERS];
    struct wl_row a = test_row(node_a(k), wl_pos(i, 0), 1, ""), b = test_row(node_b(k), wl_pos(i, 0), 1, "");
    struct wl_change changes[] = {ADD_ROW(&a), ADD_ROW(&b)};
    struct wl_commit c = {
        .owner = ALICE, .changes = changes, .n = 2, .flags = weft__sim_below(l->sim, 3) ? WL_SYNCED : 0};
    a.body = body_of(text, k, i);
    b.body = wb_str(a.body.p, 20);
    memcpy(before, l->acked, sizeof before);
    l->given[k]++;
    TRY(wl_store_commit(l->s, &c, err));
    l->acked[k] = i + 1;
    if (c.flags & WL_SYNCED) {
        l->durable[k] = i + 1;
        for (unsigned j = 0; j < WRITERS; j++) /* what was acknowledged before this one was given is never lost alone */
            l->durable[j] = l->durable[j] > before[j] ? l->durable[j] : before[j];
    }
    return 0;
}

/* One that cannot be: it must fail alone, whatever it shares a transaction with. */
WEFT_SUSPENDS static int write_wrong(struct ledger *l, unsigned k, struct upp_err *err)
{
    struct wl_row a = test_row(node_a(k), wl_pos(l->given[k], 0), 1, "wrong"),
                  b = test_row(node_b(k), wl_pos(l->given[k] + 7, 0), 1, "wrong");
    struct wl_change changes[] = {ADD_ROW(&a), ADD_ROW(&b)};
    struct wl_commit c = {.owner = ALICE, .changes = changes, .n = 2, .flags = WL_SYNCED};
    int r = wl_store_commit(l->s, &c, err);
    FAIL_UNLESS(r < 0);
    return r == -UPP_EBUSY ? 0 : r;
}

WEFT_SUSPENDS static int writer(void *arg, struct upp_err *err)
{
    struct writer *w = arg;
    struct ledger *l = w->l;
    int r = 0;
    for (uint32_t i = 0; i < COMMITS && r >= 0; i++) {
        r = weft__sim_below(l->sim, 8) ? write_one(l, w->k, err) : write_wrong(l, w->k, err);
        if (r >= 0 && weft__sim_below(l->sim, 4) == 0)
            r = weft_sleep_ms(weft__sim_below(l->sim, 700), err);
    }
    return r == -UPP_EBUG ? r : 0; /* power is lost: that is no failure of the test */
}

/* How many rows a node has, each the right one in its place. */
WEFT_SUSPENDS static int count_rows(struct ledger *l, uint64_t node, unsigned k, bool whole, uint32_t *ret,
                                    struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
    struct wl_rows rows;
    struct wl_range r = {.node = node, .to = UINT64_MAX, .max_rows = 10000, .max_bytes = 8 << 20};
    TRY(wl_store_rows(l->s, &ALICE, &r, &a, &rows, err));
    FAIL_UNLESS(!rows.more);
    for (uint32_t i = 0; i < rows.n; i++) {
        char text[BODY];
        struct upp_str want = body_of(text, k, i);
        FAIL_UNLESS(rows.p[i].pos == wl_pos(i, 0));
        FAIL_UNLESS(wb_str_eq(rows.p[i].body, whole ? want : wb_str(want.p, 20)));
    }
    *ret = (uint32_t)rows.n;
    return 0;
}

WEFT_SUSPENDS static int verify(struct ledger *l, struct upp_err *err)
{
    for (unsigned k = 0; k < WRITERS; k++) {
        uint32_t a, b;
        TRY(count_rows(l, node_a(k), k, true, &a, err));
        TRY(count_rows(l, node_b(k), k, false, &b, err));
        test_note("writer %u: %u and %u rows, %u durable, %u given", k, a, b, l->durable[k], l->given[k]);
        FAIL_UNLESS(a == b);
        FAIL_UNLESS(a >= l->durable[k] && a <= l->given[k]);
        l->given[k] = l->acked[k] = l->durable[k] = a;
    }
    return 0;
}

WEFT_SUSPENDS static int make_nodes(struct ledger *l, struct upp_err *err)
{
    struct wl_node n;
    for (unsigned k = 0; k < 2 * WRITERS; k++) {
        struct wl_node node = test_node(k % 2 ? node_b(k / 2) : node_a(k / 2));
        if (wl_get_node(l->s, &ALICE, node.key, &n, err) == -UPP_ENOTFOUND)
            TRY(COMMIT(l->s, ALICE, NULL, err, ADD_NODE(&node)));
    }
    return 0;
}

WEFT_SUSPENDS static int session(struct ledger *l, struct upp_err *err)
{
    struct writer w[WRITERS]; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {.flags = WEFT_SCOPE_ISOLATED};
    int r = make_nodes(l, err);
    if (r >= 0)
        r = verify(l, err);
    if (r < 0)
        return r == -UPP_EBUG || !l->early ? r : 0;
    disk_crash_after(l->disk, l->crash_in);
    for (unsigned k = 0; k < WRITERS && r >= 0; k++) {
        w[k] = (struct writer){l, k};
        r = weft_scope_spawn(&all, "writer", writer, &w[k], NULL, err);
    }
    return r < 0 ? r : weft_scope_join(&all, err);
}

WEFT_SUSPENDS static int life(void *arg, struct upp_err *err)
{
    struct ledger *l = arg;
    if (l->early)
        disk_crash_after(l->disk, 1 + weft__sim_below(l->sim, 60));
    int r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "weft.db", .vfs = disk_name(l->disk),
                                    .wal_pages = 1 + (uint32_t)weft__sim_below(l->sim, 100)),
                           &l->s, err);
    if (r < 0)
        return l->early ? 0 : r;
    r = session(l, err);
    l->s->ops->close(l->s);
    return r;
}

static bool intact(struct disk *d)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    bool ok = sqlite3_open_v2("weft.db", &db, SQLITE_OPEN_READWRITE, disk_name(d)) == SQLITE_OK &&
              sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL) == SQLITE_OK &&
              sqlite3_step(st) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(st, 0), "ok") == 0;
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
    return ok;
}

/* Lives of one disk, one after the other, each ended by a loss of power. */
static bool lives(uint64_t seed, unsigned n)
{
    struct ledger l = {.disk = disk_new(seed)};
    bool ok = true;
    for (unsigned i = 0; i < n && ok; i++) {
        UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
        struct upp_err err = {0};
        ok = EXPECT(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed * 1000 + i), &w, &err) == 0);
        if (!ok)
            break;
        l.sim = w;
        l.s = NULL;
        l.crash_in = 1 + weft__sim_below(w, 400);
        l.early = i + 1 < n && weft__sim_below(w, 4) == 0;
        int r = weft_loop_run(weft__sim_loop(w, 0), "life", life, &l, &err);
        test_note("seed %llu, life %u: %d %s", (unsigned long long)seed, i, r, err.msg);
        ok = EXPECT(r >= 0);
        disk_crash(l.disk);
        ok = ok && (i == 0 || EXPECT(intact(l.disk)));
    }
    disk_free(l.disk);
    return ok;
}

TEST_WITH(store_survives_loss_of_power, .no_torture = "the disk is the test's own, and fails by itself", .seconds = 300)
{
    uint64_t seeds = test_times("WEFT_SEEDS", 250);
    for (uint64_t seed = 1; seed <= seeds; seed++)
        CHECK(lives(seed, 8));
}
