/* The store that keeps large values once, in front of each store. */
#include "stores/blobs/blobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hooks.h"
#include "support/sim/sim.h"
#include "stores/check.h"
#include "stores/memory/memory.h"
#include "support/stores.h"

#define S (t->s)
#define O (t->s->ops)

enum { KIB = 1 << 10, HOUR = 3600000 };

/* Blobs right in front of a store that keeps rows as they are: what is below them can be looked at. */
static bool over_plain(const struct test_store *t)
{
    return strncmp(t->kind, "blobs-", 6) == 0 && !t->s->inner->inner;
}

/* JSON with strings of these lengths (0: ends), each of one letter; the arena's. */
static struct upp_str json(struct wb_arena *a, const char *letters, const size_t *lengths)
{
    size_t total = 2, n = 0;
    for (; lengths[n]; n++)
        total += lengths[n] + 3;
    char *p = wb_arena_alloc(a, total, 1), *to = p;
    if (!p)
        return (struct upp_str){0};
    *to++ = '[';
    for (size_t i = 0; i < n; i++) {
        *to++ = '"';
        memset(to, letters[i], lengths[i]);
        to += lengths[i];
        *to++ = '"';
        *to++ = i + 1 < n ? ',' : ']';
    }
    return wb_str(p, (size_t)(to - p));
}
#define JSON(a, letters, ...) json((a), (letters), (const size_t[]){__VA_ARGS__, 0})

static WEFT_SUSPENDS int one_row(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint64_t pos,
                                 struct wb_arena *a, struct wl_row *ret, struct upp_err *err)
{
    struct wl_rows rows;
    TRY(wl_store_rows(s, o, &(struct wl_range){.node = node, .from = pos, .to = pos + 1}, a, &rows, err));
    FAIL_UNLESS(rows.n == 1);
    *ret = rows.p[0];
    return 0;
}

static WEFT_SUSPENDS int reads_as(struct wl_store *s, const struct wl_row *want, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(600 << 20);
    struct wl_row x;
    TRY(one_row(s, &ALICE, want->node, want->pos, &a, &x, err));
    FAIL_UNLESS(wb_str_eq(x.body, want->body) && !x.body.p == !want->body.p);
    FAIL_UNLESS(wb_str_eq(x.tape, want->tape) && !x.tape.p == !want->tape.p);
    FAIL_UNLESS(x.format == want->format && x.n_entries == want->n_entries && x.pos == want->pos);
    return 0;
}

/* ---- What is stored, and what comes back ----------------------------------------------------------------- */

static WEFT_SUSPENDS int once(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_node node = test_node(7), other = test_node(8);
    struct wl_row x;
    if (!over_plain(t))
        return 0;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&node), ADD_NODE(&other)));

    struct wl_row row[] = {
        test_row(7, wl_pos(0, 0), 1, ""), test_row(7, wl_pos(1, 0), 1, ""), test_row(7, wl_pos(2, 0), 1, ""),
        test_row(8, wl_pos(0, 0), 1, ""), test_row(8, wl_pos(1, 0), 0, ""), test_row(8, wl_pos(1, 1), 0, ""),
    };
    row[0].body = JSON(&a, "ab", 16 * KIB - 1, 100);       /* long, with nothing in it that is */
    row[1].body = JSON(&a, "aba", 16 * KIB, 5, 300 * KIB); /* two, one of them in two pieces */
    row[2].body = JSON(&a, "aaa", 16 * KIB, 16 * KIB, 300 * KIB);
    row[3].body = JSON(&a, "aaz", 300 * KIB, 16 * KIB, 1);
    row[3].tape = row[1].body;
    row[4].body = (struct upp_str){0};
    row[4].tape = JSON(&a, "t", 40 * KIB);
    row[5].body = JSON(&a, "q", 256 * KIB);
    TRY(wb_arena_check(&a, err));
    for (size_t i = 0; i < WB_LEN(row); i++) {
        TRY(COMMIT(S, ALICE, NULL, err, ADD_ROW(&row[i])));
        TRY(reads_as(S, &row[i], err));
    }
    for (size_t i = 0; i < WB_LEN(row); i++) {
        TRY(one_row(S->inner, &ALICE, row[i].node, row[i].pos, &a, &x, err));
        FAIL_UNLESS((x.format & WL_FORMAT_CUT) == (i ? WL_FORMAT_CUT : 0));
        FAIL_UNLESS(i ? x.body.n < 300 && !x.tape.p : wb_str_eq(x.body, row[0].body));
    }
    /* What went into the store below is each value once: 16 and 300 KiB of a, the tapes, q; and the first row. */
    uint64_t bytes = S->inner->count.bytes, values = 16 * KIB + 300 * KIB + row[3].tape.n + row[4].tape.n + 256 * KIB;
    FAIL_UNLESS(bytes > values + row[0].body.n && bytes < values + row[0].body.n + 2 * KIB);
    FAIL_UNLESS(S->count.rows == 6 && S->count.commits == 7);

    /* Another tenant has its own. */
    struct wl_node theirs = test_node(7);
    struct wl_row foreign = row[1];
    foreign.pos = 0;
    TRY(COMMIT(S, EVE, NULL, err, ADD_NODE(&theirs), ADD_ROW(&foreign)));
    FAIL_UNLESS(S->inner->count.bytes > bytes + 316 * KIB);
    return 0;
}

/* covers: TP-52 */
TEST(blobs_are_kept_once_and_come_back_whole)
{
    CHECK(test_each_store(once, NULL));
}

static WEFT_SUSPENDS int short_rows(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_row x;
    if (!over_plain(t))
        return 0;
    struct wl_node node = test_node(7);
    struct wl_row row = test_row(7, 0, 1, ""), bad;
    row.body = JSON(&a, "a", 16 * KIB - 5);
    row.tape = UPP_STR("");
    TRY(wb_arena_check(&a, err));
    FAIL_UNLESS(row.body.n == WS_BLOB_MIN - 1);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&node), ADD_ROW(&row)));
    TRY(one_row(S->inner, &ALICE, 7, 0, &a, &x, err));
    FAIL_UNLESS(x.format == row.format && wb_str_eq(x.body, row.body) && S->inner->count.commits == 1);

    /* A format that only we may write, and a row that looks as if we had. */
    bad = test_row(7, wl_pos(1, 0), 1, "\1");
    bad.format = WL_FORMAT_CUT | 1;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_ROW(&bad)) == -UPP_EINVALID);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, SET_ROW(&bad)) == -UPP_EINVALID);
    bad.format = 1;
    bad.body = wb_str("\1\0\1\0\0\0\5\0\0\0", 10);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_ROW(&bad)));
    return reads_as(S, &bad, err);
}

TEST(blobs_leave_short_rows_alone)
{
    CHECK(test_each_store(short_rows, NULL));
}

/* Failures are said of the changes as they were given. */
static WEFT_SUSPENDS int conflicts(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_node node = test_node(7);
    struct wl_row row[] = {test_row(7, wl_pos(0, 0), 1, ""), test_row(7, wl_pos(1, 0), 1, ""), test_row(7, 0, 1, "")};
    size_t conflict;
    row[0].body = JSON(&a, "abc", 20 * KIB, 20 * KIB, 20 * KIB);
    row[1].body = JSON(&a, "de", 20 * KIB, 20 * KIB);
    row[2].body = JSON(&a, "f", 20 * KIB);
    TRY(wb_arena_check(&a, err));
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, ADD_NODE(&node), ADD_ROW(&row[0]), ADD_ROW(&row[1]),
                       ADD_ROW(&row[2])) == -UPP_EBUSY);
    FAIL_UNLESS(conflict == 3);
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, ADD_ROW(&row[0])) == -UPP_ENOTFOUND);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&node), ADD_ROW(&row[0]), ADD_ROW(&row[1])));
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, ADD_ROW(&row[1])) == -UPP_EBUSY && conflict == 0);
    TRY(reads_as(S, &row[0], err));
    TRY(reads_as(S, &row[1], err));
    row[2].pos = wl_pos(2, 0);
    row[2].body.n = WS_ROW_MAX + 1;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_ROW(&row[2])) == -UPP_ELIMIT);
    return 0;
}

TEST(blobs_name_the_change_that_failed)
{
    CHECK(test_each_store(conflicts, NULL));
}

/* Lists give whole rows, and their limit is one on whole rows. */
static WEFT_SUSPENDS int ranges(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64 << 20);
    struct wl_node node = test_node(7);
    struct wl_rows rows;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&node)));
    for (uint32_t i = 0; i < 8; i++) {
        struct wl_row row = test_row(7, wl_pos(i, 0), 1, "");
        row.body = JSON(&a, "a", 100 * KIB);
        TRY(wb_arena_check(&a, err));
        TRY(COMMIT(S, ALICE, NULL, err, ADD_ROW(&row)));
    }
    for (size_t max = 1; max < 900 * KIB; max += 50 * KIB) {
        struct wl_range range = {.node = 7, .to = UINT64_MAX, .max_bytes = max};
        size_t want = WB_MIN(WB_MAX(max / (100 * KIB + 4), (size_t)1), (size_t)8);
        TRY(wl_store_rows(S, &ALICE, &range, &a, &rows, err));
        test_note("%zu bytes: %zu rows, more %d", max, rows.n, rows.more);
        FAIL_UNLESS(rows.n == want && rows.more == (want < 8));
        for (size_t i = 0; i < rows.n; i++)
            FAIL_UNLESS(rows.p[i].body.n == 100 * KIB + 4);
    }
    /* What is not given out takes no room. */
    UPP_CLEANUP(wb_arena_done) struct wb_arena small = WB_ARENA(190 * KIB);
    struct wl_range range = {.node = 7, .to = UINT64_MAX, .max_bytes = 120 * KIB};
    TRY(wl_store_rows(S, &ALICE, &range, &small, &rows, err));
    FAIL_UNLESS(rows.n == 1 && rows.more);
    struct wl_followed *p;
    size_t n;
    UPP_CLEANUP(wb_arena_done) struct wb_arena other = WB_ARENA(220 * KIB);
    TRY(wl_store_follow(S, 0, 256, 120 * KIB, &other, &p, &n, err));
    FAIL_UNLESS(n == 1 && p[0].row.body.n == 100 * KIB + 4 && !(p[0].row.format & WL_FORMAT_CUT));
    return 0;
}

TEST(blobs_count_whole_rows_in_a_range)
{
    CHECK(test_each_store(ranges, NULL));
}

/* More values than a commit can refer to: the rest stays in the row. */
static WEFT_SUSPENDS int many(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64 << 20);
    struct wl_node node = test_node(7);
    enum { N = 600, EACH = 16 * KIB };
    char *p = wb_arena_alloc(&a, N * (EACH + 3) + 2, 1), *to = p;
    TRY(wb_arena_check(&a, err));
    *to++ = '[';
    for (unsigned i = 0; i < N; i++) {
        *to++ = '"';
        memset(to, 'x', EACH);
        char number[16];
        memcpy(to, number, (size_t)snprintf(number, sizeof number, "%u", i));
        to += EACH;
        *to++ = '"';
        *to++ = i + 1 < N ? ',' : ']';
    }
    struct wl_row row = test_row(7, 0, 1, ""), x;
    row.body = wb_str(p, (size_t)(to - p));
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&node), ADD_ROW(&row)));
    TRY(reads_as(S, &row, err));
    if (over_plain(t)) {
        TRY(one_row(S->inner, &ALICE, 7, 0, &a, &x, err));
        test_note("%zu bytes", x.body.n);
        FAIL_UNLESS(x.body.n > (N - 510) * EACH && x.body.n < (N - 507) * EACH);
    }
    return 0;
}

TEST_WITH(blobs_of_a_commit_are_limited, .no_torture = "the same calls as with few, 500 times")
{
    CHECK(test_each_store(many, NULL));
}

/* ---- Sets, drops, sweeps: on a clock of our own ----------------------------------------------------------- */

static struct {
    struct upp_hooks before;
    int64_t wall_ms;
} clock_now;

static int64_t wall_ns(void)
{
    return clock_now.wall_ms * 1000000;
}

static void clock_back(int *unused)
{
    (void)unused;
    if (upp_global_init(&clock_now.before, NULL) < 0)
        abort();
}

static WEFT_SUSPENDS int sweeps(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_node node = test_node(7);
    struct wl_row row[] = {test_row(7, wl_pos(0, 0), 1, ""), test_row(7, wl_pos(1, 0), 1, "")}, set = row[0];
    size_t n;
    if (!over_plain(t))
        return 0;
    clock_now.wall_ms = 1000;
    row[0].body = JSON(&a, "ab", 20 * KIB, 20 * KIB);
    row[1].body = JSON(&a, "bc", 20 * KIB, 20 * KIB);
    set.body = JSON(&a, "dc", 20 * KIB, 20 * KIB);
    TRY(wb_arena_check(&a, err));
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&node), ADD_ROW(&row[0]), ADD_ROW(&row[1])));
    TRY(COMMIT(S, EVE, NULL, err, ADD_NODE(&node), ADD_ROW(&row[0])));
    TRY(ws_blobs_sweep(S, 1000 + 9 * HOUR, &n, err));
    FAIL_UNLESS(n == 0);

    clock_now.wall_ms = 2000; /* a is let go, d comes, b is still needed by the other row */
    TRY(COMMIT(S, ALICE, NULL, err, SET_ROW(&set)));
    TRY(reads_as(S, &set, err));
    TRY(ws_blobs_sweep(S, 2000 + HOUR, &n, err));
    FAIL_UNLESS(n == 0); /* not yet for an hour */
    TRY(ws_blobs_sweep(S, 2001 + HOUR, &n, err));
    FAIL_UNLESS(n == 1);
    TRY(ws_blobs_sweep(S, 2001 + HOUR, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(reads_as(S, &set, err));
    TRY(reads_as(S, &row[1], err));

    /* a again, after it went; and a short row in place of a long one. */
    set.body = JSON(&a, "aa", 20 * KIB, 20 * KIB);
    TRY(wb_arena_check(&a, err));
    TRY(COMMIT(S, ALICE, NULL, err, SET_ROW(&set)));
    TRY(reads_as(S, &set, err));
    set.body = UPP_STR("{}");
    clock_now.wall_ms = 3000;
    TRY(COMMIT(S, ALICE, NULL, err, SET_ROW(&set)));
    TRY(reads_as(S, &set, err));
    TRY(COMMIT(S, ALICE, NULL, err, DROP_NODE(&node)));
    TRY(ws_blobs_sweep(S, 3001 + HOUR, &n, err));
    FAIL_UNLESS(n == 4); /* a, b, c, d; of the other tenant nothing */
    row[0].pos = 0;
    UPP_CLEANUP(wb_arena_done) struct wb_arena b = WB_ARENA(4 << 20);
    struct wl_row x;
    TRY(one_row(S, &EVE, 7, 0, &b, &x, err));
    FAIL_UNLESS(wb_str_eq(x.body, row[0].body));
    return 0;
}

TEST(blobs_are_swept_when_nothing_refers_to_them)
{
    clock_now.before = *wb_hooks();
    struct upp_hooks table = clock_now.before;
    table.wall_ns = wall_ns;
    UPP_CLEANUP(clock_back) int undo = 0;
    CHECK(upp_global_init(&table, NULL) == 0);
    CHECK(test_each_store(sweeps, NULL));
    (void)undo;
}

/* ---- A store below that does as a test says ---------------------------------------------------------------- */

struct meddler {
    struct wl_store store;    /* first */
    struct weft__sim *sim;    /* each call takes a while; NULL: none does */
    unsigned calls, fails_at; /* the n-th call fails; 0: none */
    unsigned sweeps;          /* what is loose goes before each of so many commits with references */
};

static WEFT_SUSPENDS int meddle(struct wl_store *s, struct upp_err *err)
{
    struct meddler *m = (struct meddler *)(void *)s;
    if (m->sim)
        TRY(weft_sleep_ms(weft__sim_below(m->sim, 3), err));
    return ++m->calls == m->fails_at ? upp_fail(err, UPP_ESTORE, "call %u fails", m->calls) : 0;
}

static WEFT_SUSPENDS int md_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct meddler *m = (struct meddler *)(void *)s;
    TRY(meddle(s, err));
    for (size_t i = 0; i < c->n && m->sweeps; i++)
        if (c->changes[i].kind == WL_ADD_REF) {
            size_t n;
            m->sweeps--;
            TRY(ws_blobs_sweep(s->inner, INT64_MAX, &n, err));
            break;
        }
    return wl_store_commit(s->inner, c, err);
}

static WEFT_SUSPENDS int md_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range,
                                 struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    TRY(meddle(s, err));
    return wl_store_rows(s->inner, o, range, a, ret, err);
}

static WEFT_SUSPENDS int md_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret,
                                struct upp_err *err)
{
    TRY(meddle(s, err));
    return wl_store_get(s->inner, ask, a, ret, err);
}

static WEFT_SUSPENDS void md_close(struct wl_store *s)
{
    (void)s; /* the test's */
}

static const struct wl_store_ops meddler_ops = {
    .size = sizeof meddler_ops,
    .name = "meddler",
    .commit = md_commit,
    .rows = md_rows,
    .get = md_get,
    .close = md_close,
};

static WEFT_SUSPENDS void closep(struct wl_store **s)
{
    if (*s)
        (*s)->ops->close(*s);
}

/* memory <- meddler <- blobs */
static WEFT_SUSPENDS int build(struct meddler *m, struct wl_store **below, struct wl_store **top, struct upp_err *err)
{
    TRY(ws_memory_open(below, err));
    m->store = (struct wl_store){.ops = &meddler_ops, .inner = *below};
    return ws_blobs_open(&m->store, top, err);
}

/* Each call below fails in turn: the row is there whole or not at all, and the next try brings it. */
static WEFT_SUSPENDS int every_call_fails(void *arg, struct upp_err *err)
{
    (void)arg;
    for (unsigned at = 1;; at++) {
        struct meddler m = {0}; /* before what is closed through it */
        UPP_CLEANUP(closep) struct wl_store *below = NULL;
        UPP_CLEANUP(closep) struct wl_store *top = NULL;
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
        struct wl_node node = test_node(7);
        struct wl_row row = test_row(7, 0, 1, "");
        struct wl_rows rows;
        TRY(build(&m, &below, &top, err));
        row.body = JSON(&a, "abc", 20 * KIB, 600 * KIB, 20 * KIB);
        TRY(wb_arena_check(&a, err));
        TRY(COMMIT(top, ALICE, NULL, err, ADD_NODE(&node)));
        m.fails_at = m.calls + at;
        int r = COMMIT(top, ALICE, NULL, err, ADD_ROW(&row));
        FAIL_UNLESS(r == 0 || r == -UPP_ESTORE || r == -UPP_ENOMEM);
        if (r >= 0) {
            FAIL_UNLESS(at > 4);
            m.fails_at = m.calls + 2; /* a piece while reading */
            FAIL_UNLESS(reads_as(top, &row, err) < 0);
            return reads_as(top, &row, err);
        }
        TRY(wl_store_rows(below, &ALICE, &(struct wl_range){.node = 7, .to = UINT64_MAX}, &a, &rows, err));
        FAIL_UNLESS(rows.n == 0);
        TRY(COMMIT(top, ALICE, NULL, err, ADD_ROW(&row)));
        TRY(reads_as(top, &row, err));
    }
}

TEST(blobs_survive_each_failure_below)
{
    struct upp_err err = {0};
    CHECK(test_on_loop(every_call_fails, NULL, &err) == 0);
}

/* The sweep comes between the pieces and the row. */
static WEFT_SUSPENDS int swept_between(void *arg, struct upp_err *err)
{
    (void)arg;
    struct meddler m = {0}; /* before what is closed through it */
    UPP_CLEANUP(closep) struct wl_store *below = NULL;
    UPP_CLEANUP(closep) struct wl_store *top = NULL;
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_node node = test_node(7);
    struct wl_row row = test_row(7, 0, 1, "");
    TRY(build(&m, &below, &top, err));
    row.body = JSON(&a, "abc", 20 * KIB, 600 * KIB, 20 * KIB);
    TRY(wb_arena_check(&a, err));
    m.sweeps = 1;
    TRY(COMMIT(top, ALICE, NULL, err, ADD_NODE(&node), ADD_ROW(&row)));
    TRY(reads_as(top, &row, err));
    m.sweeps = 1000; /* and again, for ever */
    row.pos = wl_pos(1, 0);
    row.body = JSON(&a, "d", 20 * KIB);
    TRY(wb_arena_check(&a, err));
    FAIL_UNLESS(COMMIT(top, ALICE, NULL, err, ADD_ROW(&row)) == -UPP_ESTORE);
    m.sweeps = 0;
    TRY(COMMIT(top, ALICE, NULL, err, ADD_ROW(&row)));
    return reads_as(top, &row, err);
}

TEST(blobs_are_written_again_when_the_sweep_took_them)
{
    struct upp_err err = {0};
    CHECK(test_on_loop(swept_between, NULL, &err) == 0);
}

/* ---- Races on a simulated loop ------------------------------------------------------------------------------ */

enum { WRITERS = 4, ROUNDS = 25 };

struct race {
    struct weft__sim *sim;
    struct meddler m;
    struct wl_store *below, *top;
    unsigned writing, next;
    size_t swept;
};

/* Rows with values that the others write too, set again and again, so that they come and go. */
static WEFT_SUSPENDS int racing(struct race *x, struct upp_err *err)
{
    struct wl_node node = test_node(++x->next);
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64 << 20);
    TRY(COMMIT(x->top, ALICE, NULL, err, ADD_NODE(&node)));
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct wl_row row = test_row(node.key, 0, 1, "");
        char letters[2] = {(char)('a' + weft__sim_below(x->sim, 3)), (char)('a' + weft__sim_below(x->sim, 3))};
        wb_arena_reset(&a);
        row.body = JSON(&a, letters, 20 * KIB, 300 * KIB);
        TRY(wb_arena_check(&a, err));
        TRY(i ? COMMIT(x->top, ALICE, NULL, err, SET_ROW(&row)) : COMMIT(x->top, ALICE, NULL, err, ADD_ROW(&row)));
        TRY(reads_as(x->top, &row, err));
    }
    return 0;
}

static WEFT_SUSPENDS int racer(void *arg, struct upp_err *err)
{
    struct race *x = arg;
    int r = racing(x, err);
    x->writing--;
    return r;
}

static WEFT_SUSPENDS int race(void *arg, struct upp_err *err)
{
    struct race *x = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
    for (unsigned i = 0; i < WRITERS; i++) {
        TRY(weft_scope_spawn(&scope, "racer", racer, x, NULL, err));
        x->writing++;
    }
    while (x->writing) {
        size_t n = 0;
        TRY(ws_blobs_sweep(&x->m.store, INT64_MAX, &n, err)); /* what is loose goes at once */
        x->swept += n;
        TRY(weft_sleep_ms(1 + weft__sim_below(x->sim, 10), err));
    }
    return weft_scope_join(&scope, err);
}

static WEFT_SUSPENDS int one_race(void *arg, struct upp_err *err)
{
    struct race *x = arg;
    int r = build(&x->m, &x->below, &x->top, err);
    if (r >= 0)
        r = race(x, err);
    closep(&x->top);
    closep(&x->below);
    return r;
}

TEST_WITH(blobs_race_the_sweep, .no_torture = "its faults are those of blobs_survive_each_failure_below")
{
    const uint64_t seeds = test_times("WEFT_SEEDS", 40);
    uint64_t swept = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        UPP_CLEANUP(weft__sim_closep) struct weft__sim *sim = NULL;
        struct upp_err err = {0};
        struct race x = {0};
        CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed), &sim, &err) == 0);
        x.sim = x.m.sim = sim;
        int r = weft_loop_run(weft__sim_loop(sim, 0), "race", one_race, &x, &err);
        test_note("seed %llu: %d %s", (unsigned long long)seed, r, err.msg);
        CHECK(r == 0);
        swept += x.swept;
    }
    CHECK(swept > 2 * seeds); /* it did come between */
}

/* ---- Many rows ---------------------------------------------------------------------------------------------- */

enum { POOL = 40 };

struct lot {
    struct wb_arena a;
    struct upp_str pool[POOL];
    uint64_t random;
};

static uint64_t below(struct lot *l, uint64_t n)
{
    l->random = l->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (l->random >> 33) % n;
}

/* Any bytes but bare quotes, backslashes in pairs. */
static bool fill_pool(struct lot *l)
{
    for (size_t i = 0; i < POOL; i++) {
        size_t n = i % 8 ? 15 * KIB + below(l, 20 * KIB) : 200 * KIB + below(l, 400 * KIB);
        char *p = wb_arena_alloc(&l->a, n, 1);
        if (!p)
            return false;
        for (size_t k = 0; k < n; k++)
            p[k] = (char)(below(l, 90) ? '#' + (int)below(l, 50) : 0x80);
        for (size_t k = 100; k + 1 < n; k += 977)
            p[k] = '\\', p[k + 1] = below(l, 2) ? '"' : '\\';
        l->pool[i] = wb_str(p, n);
    }
    return true;
}

/* The i-th row, made from its number. */
static void make_row(struct lot *l, uint32_t i, struct wb_buf *b, struct wl_row *ret)
{
    l->random = i * UINT64_C(0x9e3779b97f4a7c15) + 1;
    wb_buf_clear(b);
    wb_buf_addf(b, "{\"n\":%u", i);
    for (uint64_t n = below(l, 8) ? 0 : 1 + below(l, 4); n; n--) {
        wb_buf_addf(b, ",\"v\":\"");
        wb_buf_add(b, l->pool[below(l, POOL)]);
        wb_buf_addc(b, '"');
    }
    wb_buf_addc(b, '}');
    *ret = (struct wl_row){.node = 7, .pos = wl_pos(i, 0), .n_entries = 1, .format = 1, .body = wb_buf_str(b)};
    if (!below(l, 50))
        ret->tape = l->pool[below(l, POOL)];
}

static WEFT_SUSPENDS int lots(struct test_store *t, struct upp_err *err)
{
    struct lot *l = t->arg;
    UPP_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(8 << 20);
    struct wl_node node = test_node(7);
    uint64_t bytes = 0;
    if (!over_plain(t))
        return 0;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&node)));
    const uint32_t all = test_share() == 1 ? 10000 : 1250;
    for (uint32_t i = 0; i < all; i++) {
        struct wl_row row;
        struct wl_change c = {.kind = WL_ADD_ROW, .row = &row};
        make_row(l, i, &b, &row);
        struct wl_commit commit = {.owner = ALICE, .changes = &c, .n = 1};
        TRY(wb_buf_check(&b, err));
        TRY(wl_store_commit(S, &commit, err));
    }
    for (uint32_t i = 0; i < all;) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64 << 20);
        struct wl_rows rows;
        struct wl_range range = {.node = 7, .from = wl_pos(i, 0), .to = UINT64_MAX, .max_bytes = 4 << 20};
        TRY(wl_store_rows(S, &ALICE, &range, &a, &rows, err));
        FAIL_UNLESS(rows.n && rows.more == (i + rows.n < all));
        for (size_t k = 0; k < rows.n; k++, i++) {
            struct wl_row row;
            make_row(l, i, &b, &row);
            test_note("row %u", i);
            FAIL_UNLESS(rows.p[k].pos == row.pos && rows.p[k].format == 1);
            FAIL_UNLESS(wb_str_eq(rows.p[k].body, row.body) && wb_str_eq(rows.p[k].tape, row.tape));
            bytes += row.body.n + row.tape.n;
        }
    }
    test_note("%llu bytes, %llu below", (unsigned long long)bytes, (unsigned long long)S->inner->count.bytes);
    FAIL_UNLESS(S->inner->count.bytes < bytes / 5); /* most of it was there before */
    return 0;
}

TEST_WITH(blobs_of_ten_thousand_rows, .no_torture = "the calls of the others, very often")
{
    struct lot l = {.a = WB_ARENA(32 << 20), .random = 7};
    bool ok = fill_pool(&l) && test_each_store(lots, &l);
    wb_arena_done(&l.a);
    CHECK(ok);
}
