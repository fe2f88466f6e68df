/* Every store, one suite: what log/store.h promises. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hooks.h"
#include "stores/check.h"
#include "stores/memory/memory.h"
#include "support/stores.h"

#define S (t->s)
#define O (t->s->ops)

static bool is(struct upp_str s, const char *want)
{
    return wb_str_eq(s, wb_cstr(want));
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

WEFT_SUSPENDS static int rows_are_kept(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_node node = test_node(7);
    struct wl_rows rows;
    struct wl_owner o = ALICE;
    TRY(COMMIT(S, o, NULL, err, ADD_NODE(&node)));

    /* Of all shapes: no entries, several, empty texts, no texts, any bytes, a run. */
    struct wl_row in[] = {
        test_row(7, wl_pos(0, 0), 0, "first"),
        test_row(7, wl_pos(0, 1), 2, ""),
        test_row(7, wl_pos(2, 0), 1, "third"),
    };
    in[1].tape = (struct upp_str){"\0\1\2", 3};
    in[2].run = test_uuid(99);
    in[2].format = 3;
    in[2].body = (struct upp_str){NULL, 0};
    TRY(COMMIT(S, o, NULL, err, ADD_ROW(&in[0])));
    TRY(COMMIT(S, o, NULL, err, ADD_ROW(&in[1]), ADD_ROW(&in[2])));

    TRY(wl_store_rows(S, &o, &(struct wl_range){.node = 7, .to = UINT64_MAX}, &a, &rows, err));
    FAIL_UNLESS(rows.n == 3 && !rows.more);
    for (size_t i = 0; i < 3; i++) {
        const struct wl_row *x = &rows.p[i];
        FAIL_UNLESS(x->node == 7 && x->pos == in[i].pos && x->n_entries == in[i].n_entries);
        FAIL_UNLESS(x->format == in[i].format && wb_uuid_eq(x->run, in[i].run));
        FAIL_UNLESS(wb_str_eq(x->body, in[i].body) && !x->body.p == !in[i].body.p);
        FAIL_UNLESS(wb_str_eq(x->tape, in[i].tape) && !x->tape.p == !in[i].tape.p);
    }
    FAIL_UNLESS(S->count.commits == 3 && S->count.rows == 3 && S->count.bytes == 8);
    return 0;
}

TEST(store_rows_are_kept)
{
    CHECK(test_each_store(rows_are_kept, NULL));
}

WEFT_SUSPENDS static int rows_follow_each_other(struct test_store *t, struct upp_err *err)
{
    struct wl_owner o = ALICE;
    size_t conflict;
    TRY(test_fill(S, o, 7, 3, err));
    static const struct {
        uint64_t pos;
        uint32_t n;
        int want;
    } cases[] = {
        {0, 1, -UPP_EBUSY},                 /* taken */
        {2 << 16, 1, -UPP_EBUSY},           /* taken, the last */
        {(uint64_t)4 << 16, 1, -UPP_EBUSY}, /* a gap */
        {((uint64_t)3 << 16) + 1, 1, -UPP_EBUSY},
        {(uint64_t)1 << 48, 1, -UPP_EINVALID},
        {(uint64_t)3 << 16, UINT32_MAX, -UPP_ELIMIT},
        {((uint64_t)3 << 16) + WL_SUBS - 1, 0, -UPP_ELIMIT},
        {(uint64_t)3 << 16, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wl_row row = test_row(7, cases[i].pos, cases[i].n, "x");
        struct upp_err e = {0};
        int r = COMMIT(S, o, &conflict, &e, ADD_ROW(&row));
        test_note("case %zu: %d %s", i, r, e.msg);
        FAIL_UNLESS(r == cases[i].want);
        FAIL_UNLESS(r != -UPP_EBUSY || conflict == 0);
    }
    /* A node nobody made, and one of another tenant. */
    struct wl_row row = test_row(8, 0, 1, "x");
    FAIL_UNLESS(COMMIT(S, o, NULL, err, ADD_ROW(&row)) == -UPP_ENOTFOUND);
    row = test_row(7, wl_pos(4, 0), 1, "x");
    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, ADD_ROW(&row)) == -UPP_ENOTFOUND);
    /* The first row of a node stands at its beginning. */
    struct wl_node node = test_node(9);
    TRY(COMMIT(S, o, NULL, err, ADD_NODE(&node)));
    row = test_row(9, wl_pos(1, 0), 1, "x");
    FAIL_UNLESS(COMMIT(S, o, NULL, err, ADD_ROW(&row)) == -UPP_EBUSY);
    return 0;
}

TEST(store_rows_follow_each_other)
{
    CHECK(test_each_store(rows_follow_each_other, NULL));
}

WEFT_SUSPENDS static int ranges(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_owner o = ALICE;
    TRY(test_fill(S, o, 7, 20, err)); /* "row 0" to "row 19": 5 and 6 bytes */
    TRY(test_fill(S, o, 8, 3, err));
    static const struct {
        uint32_t from, to;
        bool backwards;
        size_t rows, bytes, n;
        uint32_t first;
        bool more;
    } cases[] = {
        {0, 20, false, 0, 0, 20, 0, false},   {0, 1000, true, 0, 0, 20, 19, false}, {5, 10, false, 0, 0, 5, 5, false},
        {5, 10, true, 0, 0, 5, 9, false},     {5, 10, false, 4, 0, 4, 5, true},     {5, 10, true, 4, 0, 4, 9, true},
        {5, 10, false, 5, 0, 5, 5, false},    {10, 5, false, 0, 0, 0, 0, false},    {30, 40, false, 0, 0, 0, 0, false},
        {5, 5, false, 0, 0, 0, 0, false},     {0, 20, false, 0, 1, 1, 0, true},     {0, 20, true, 0, 1, 1, 19, true},
        {0, 20, false, 0, 15, 3, 0, true},    {0, 20, true, 0, 17, 2, 19, true},    {0, 20, true, 0, 18, 3, 19, true},
        {17, 20, false, 9, 18, 3, 17, false}, {17, 20, false, 9, 17, 2, 17, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wl_range r = {.node = 7,
                             .from = wl_pos(cases[i].from, 0),
                             .to = wl_pos(cases[i].to, 0),
                             .backwards = cases[i].backwards,
                             .max_rows = cases[i].rows,
                             .max_bytes = cases[i].bytes};
        struct wl_rows x;
        TRY(wl_store_rows(S, &o, &r, &a, &x, err));
        test_note("case %zu: %zu rows, more %d", i, x.n, x.more);
        FAIL_UNLESS(x.n == cases[i].n && x.more == cases[i].more);
        for (size_t k = 0; k < x.n; k++) {
            char want[32];
            uint32_t at = cases[i].first + (cases[i].backwards ? (uint32_t)-k : (uint32_t)k);
            (void)snprintf(want, sizeof want, "row %u", at);
            FAIL_UNLESS(x.p[k].pos == wl_pos(at, 0) && is(x.p[k].body, want));
        }
    }
    struct wl_rows x;
    TRY(wl_store_rows(S, &EVE, &(struct wl_range){.node = 7, .to = UINT64_MAX}, &a, &x, err));
    FAIL_UNLESS(x.n == 0 && !x.more);
    TRY(wl_store_rows(S, &o, &(struct wl_range){.node = 99, .to = UINT64_MAX}, &a, &x, err));
    FAIL_UNLESS(x.n == 0 && !x.more);
    /* What does not fit the arena is a failure, not a short answer. */
    UPP_CLEANUP(wb_arena_done) struct wb_arena small = WB_ARENA(256);
    FAIL_UNLESS(wl_store_rows(S, &o, &(struct wl_range){.node = 7, .to = UINT64_MAX}, &small, &x, err) < 0);
    return 0;
}

TEST(store_ranges_both_ways_with_limits)
{
    CHECK(test_each_store(ranges, NULL));
}

/* ---- Nodes ----------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int nodes(struct test_store *t, struct upp_err *err)
{
    struct wl_owner o = ALICE;
    struct wl_node in = {.key = UINT64_C(0xfedcba9876543210),
                         .id = test_uuid(1),
                         .tree = test_uuid(2),
                         .parent = UINT64_C(0x8000000000000001),
                         .parent_length = 4000000000,
                         .created_ms = 1700000000123};
    struct wl_node x;
    size_t conflict;
    TRY(COMMIT(S, o, NULL, err, ADD_NODE(&in)));
    TRY(wl_get_node(S, &o, in.key, &x, err));
    FAIL_UNLESS(x.key == in.key && wb_uuid_eq(x.id, in.id) && wb_uuid_eq(x.tree, in.tree) && x.parent == in.parent);
    FAIL_UNLESS(x.parent_length == in.parent_length && x.created_ms == in.created_ms && wb_uuid_is_nil(x.holder));
    FAIL_UNLESS(wl_get_node(S, &EVE, in.key, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_node(S, &o, 5, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, o, &conflict, err, ADD_NODE(&in)) == -UPP_EBUSY && conflict == 0);
    struct wl_node zero = test_node(0);
    FAIL_UNLESS(COMMIT(S, o, NULL, err, ADD_NODE(&zero)) == -UPP_EINVALID);

    struct wb_uuid one = test_uuid(11), two = test_uuid(12);
    TRY(COMMIT(S, o, NULL, err, HOLD(in.key, WB_UUID_NIL, one)));
    FAIL_UNLESS(COMMIT(S, o, &conflict, err, HOLD(in.key, WB_UUID_NIL, two)) == -UPP_EBUSY && conflict == 0);
    TRY(wl_get_node(S, &o, in.key, &x, err));
    FAIL_UNLESS(wb_uuid_eq(x.holder, one));
    TRY(COMMIT(S, o, NULL, err, HOLD(in.key, one, two)));
    TRY(COMMIT(S, o, NULL, err, HOLD(in.key, two, WB_UUID_NIL)));
    TRY(wl_get_node(S, &o, in.key, &x, err));
    FAIL_UNLESS(wb_uuid_is_nil(x.holder));
    FAIL_UNLESS(COMMIT(S, o, NULL, err, HOLD(5, WB_UUID_NIL, one)) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, HOLD(in.key, WB_UUID_NIL, one)) == -UPP_ENOTFOUND);
    return 0;
}

TEST(store_nodes_are_made_once_and_held_by_one)
{
    CHECK(test_each_store(nodes, NULL));
}

/* ---- Threads --------------------------------------------------------------------------------------- */

static bool same_thread(const struct wl_thread *x, const struct wl_thread *y)
{
    return wb_uuid_eq(x->id, y->id) && wb_uuid_eq(x->tree, y->tree) && wb_uuid_eq(x->parent, y->parent) &&
           wb_str_eq(x->owner.tenant, y->owner.tenant) && wb_str_eq(x->owner.user, y->owner.user) &&
           x->head == y->head && x->kind == y->kind && x->version == y->version && x->queued == y->queued &&
           wb_str_eq(x->title, y->title) && !x->title.p == !y->title.p && wb_str_eq(x->metadata, y->metadata) &&
           !x->metadata.p == !y->metadata.p && x->created_ms == y->created_ms && x->updated_ms == y->updated_ms;
}

WEFT_SUSPENDS static int threads(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_thread in = {.id = test_uuid(1),
                           .tree = test_uuid(2),
                           .owner = ALICE,
                           .head = UINT64_C(0xfedcba9876543210),
                           .kind = WL_MAIN,
                           .version = 1,
                           .queued = 3,
                           .title = UPP_STR("gr\xc3\xbc\xc3\x9f dich"),
                           .created_ms = 1700000000000,
                           .updated_ms = 1700000000001};
    struct wl_thread x;
    size_t conflict;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_THREAD(&in)));
    TRY(wl_get_thread(S, &ALICE, in.id, &a, &x, err));
    FAIL_UNLESS(same_thread(&x, &in));
    FAIL_UNLESS(wl_get_thread(S, &EVE, in.id, &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_thread(S, &ALICE, test_uuid(5), &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, ADD_THREAD(&in)) == -UPP_EBUSY && conflict == 0);

    /* What may change does, and what may not does not. */
    struct wl_thread to = {.id = in.id,
                           .tree = test_uuid(77),
                           .parent = test_uuid(78),
                           .owner = EVE,
                           .head = 9,
                           .kind = WL_SUB,
                           .version = 1,
                           .queued = 4,
                           .metadata = UPP_STR("{}"),
                           .created_ms = 5,
                           .updated_ms = 1700000000009};
    TRY(COMMIT(S, ALICE, NULL, err, SET_THREAD(&to)));
    TRY(wl_get_thread(S, &ALICE, in.id, &a, &x, err));
    struct wl_thread want = in;
    want.head = 9;
    want.version = 2;
    want.queued = 4;
    want.title = (struct upp_str){NULL, 0};
    want.metadata = UPP_STR("{}");
    want.updated_ms = to.updated_ms;
    FAIL_UNLESS(same_thread(&x, &want));
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, SET_THREAD(&to)) == -UPP_EBUSY && conflict == 0);
    to.version = 2;
    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, SET_THREAD(&to)) == -UPP_ENOTFOUND);
    to.id = test_uuid(6);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, SET_THREAD(&to)) == -UPP_ENOTFOUND);
    return 0;
}

TEST(store_threads_change_by_compare_and_swap)
{
    CHECK(test_each_store(threads, NULL));
}

WEFT_SUSPENDS static int lists_threads(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_thread *p;
    size_t n;
    for (uint64_t i = 1; i <= 9; i++) { /* updated at 0, 1, 2, 0, 1, 2 ... */
        struct wl_thread x = {.id = test_uuid(i), .kind = WL_MAIN, .version = 1, .updated_ms = (int64_t)(i % 3)};
        TRY(COMMIT(S, i == 5 ? BOB : ALICE, NULL, err, ADD_THREAD(&x)));
    }
    TRY(wl_list_threads(S, &ALICE, WB_UUID_NIL, 100, &a, &p, &n, err));
    FAIL_UNLESS(n == 8);
    for (size_t i = 1; i < n; i++)
        FAIL_UNLESS(p[i - 1].updated_ms > p[i].updated_ms ||
                    (p[i - 1].updated_ms == p[i].updated_ms && wb_uuid_cmp(p[i - 1].id, p[i].id) > 0));
    FAIL_UNLESS(is(p[0].owner.tenant, "acme") && is(p[0].owner.user, "alice"));

    /* The same in pages. */
    struct wb_uuid after = WB_UUID_NIL;
    for (size_t i = 0; i < 8; i += 3) {
        struct wl_thread *page;
        size_t got;
        TRY(wl_list_threads(S, &ALICE, after, 3, &a, &page, &got, err));
        FAIL_UNLESS(got == (i < 6 ? 3 : 2));
        for (size_t k = 0; k < got; k++)
            FAIL_UNLESS(wb_uuid_eq(page[k].id, p[i + k].id));
        after = page[got - 1].id;
    }
    struct wl_thread *page;
    TRY(wl_list_threads(S, &ALICE, after, 3, &a, &page, &n, err));
    FAIL_UNLESS(n == 0);

    /* Whoever changes comes first. */
    struct wl_thread x = p[7];
    x.updated_ms = 50;
    TRY(COMMIT(S, ALICE, NULL, err, SET_THREAD(&x)));
    TRY(wl_list_threads(S, &ALICE, WB_UUID_NIL, 1, &a, &page, &n, err));
    FAIL_UNLESS(n == 1 && wb_uuid_eq(page[0].id, x.id));
    struct wl_thread touched = {.id = p[6].id, .updated_ms = 60}; /* by a run that appended to it */
    TRY(COMMIT(S, ALICE, NULL, err, {.kind = WL_TOUCH_THREAD, .thread = &touched}));
    TRY(wl_list_threads(S, &ALICE, WB_UUID_NIL, 2, &a, &page, &n, err));
    FAIL_UNLESS(n == 2 && wb_uuid_eq(page[0].id, touched.id) && wb_uuid_eq(page[1].id, x.id));

    TRY(wl_list_threads(S, &EVE, WB_UUID_NIL, 9, &a, &page, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(wl_list_threads(S, &BOB, WB_UUID_NIL, 9, &a, &page, &n, err));
    FAIL_UNLESS(n == 1 && wb_uuid_eq(page[0].id, test_uuid(5)));
    FAIL_UNLESS(wl_list_threads(S, &BOB, x.id, 9, &a, &page, &n, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_list_threads(S, &EVE, x.id, 9, &a, &page, &n, err) == -UPP_ENOTFOUND);
    return 0;
}

TEST(store_lists_threads_newest_first)
{
    CHECK(test_each_store(lists_threads, NULL));
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static bool same_run(const struct wm_run *x, const struct wm_run *y)
{
    return wb_uuid_eq(x->id, y->id) && wb_uuid_eq(x->root, y->root) && wb_uuid_eq(x->parent, y->parent) &&
           wb_uuid_eq(x->thread, y->thread) && x->node == y->node && x->first == y->first && x->input == y->input &&
           x->version == y->version && x->depth == y->depth && x->status == y->status &&
           x->durability == y->durability && x->cancel == y->cancel && x->epoch == y->epoch && x->queue == y->queue &&
           wb_str_eq(x->agent, y->agent) && wb_str_eq(x->call, y->call) && !x->call.p == !y->call.p &&
           wb_str_eq(x->options, y->options) && !x->options.p == !y->options.p && wb_str_eq(x->error, y->error) &&
           !x->error.p == !y->error.p && memcmp(&x->usage, &y->usage, sizeof x->usage) == 0 &&
           x->created_ms == y->created_ms && x->started_ms == y->started_ms && x->ended_ms == y->ended_ms &&
           x->expires_ms == y->expires_ms;
}

WEFT_SUSPENDS static int runs(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wm_run in = {.id = test_uuid(1),
                        .root = test_uuid(2),
                        .parent = test_uuid(3),
                        .thread = test_uuid(4),
                        .node = UINT64_C(0xfedcba9876543210),
                        .version = 1,
                        .depth = 2,
                        .status = WM_QUEUED,
                        .durability = WM_GROUP,
                        .queue = 7,
                        .agent = UPP_STR("writer"),
                        .call = UPP_STR("call_1"),
                        .created_ms = 1700000000000};
    struct wm_run x;
    size_t conflict;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_RUN(&in)));
    TRY(wl_get_run(S, &ALICE, in.id, &a, &x, err));
    FAIL_UNLESS(same_run(&x, &in));
    FAIL_UNLESS(wl_get_run(S, &EVE, in.id, &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_run(S, &ALICE, in.thread, &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, ADD_RUN(&in)) == -UPP_EBUSY && conflict == 0);

    struct wm_run to = {.id = in.id,
                        .root = test_uuid(22),
                        .thread = test_uuid(24),
                        .node = 5,
                        .first = wl_pos(3, 4),
                        .input = 3,
                        .version = 1,
                        .depth = 9,
                        .status = WM_FAILED,
                        .durability = WM_EXIT,
                        .cancel = true,
                        .epoch = 4,
                        .agent = UPP_STR("writer"),
                        .options = UPP_STR("{}"),
                        .error = UPP_STR("{\"code\":\"BUSY\"}"),
                        .usage = {1, 2, 3, UINT64_MAX, 0},
                        .created_ms = 6,
                        .started_ms = 1700000000001,
                        .ended_ms = 1700000000002,
                        .expires_ms = 1700000000003};
    struct wm_run want = to;
    want.root = in.root;
    want.parent = in.parent;
    want.thread = in.thread;
    want.depth = in.depth;
    want.call = in.call;
    want.created_ms = in.created_ms;
    want.version = 2;
    TRY(COMMIT(S, ALICE, NULL, err, SET_RUN(&to)));
    TRY(wl_get_run(S, &ALICE, in.id, &a, &x, err));
    FAIL_UNLESS(same_run(&x, &want));
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, SET_RUN(&to)) == -UPP_EBUSY && conflict == 0);
    to.version = 2;
    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, SET_RUN(&to)) == -UPP_ENOTFOUND);
    return 0;
}

TEST(store_runs_change_by_compare_and_swap)
{
    CHECK(test_each_store(runs, NULL));
}

static struct wm_run plain_run(uint64_t id, uint64_t thread)
{
    return (struct wm_run){.id = test_uuid(id),
                           .root = test_uuid(id),
                           .thread = test_uuid(thread),
                           .version = 1,
                           .status = WM_QUEUED,
                           .durability = WM_SYNC,
                           .agent = UPP_STR("a"),
                           .created_ms = 1};
}

WEFT_SUSPENDS static int lists_runs(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wm_run *p;
    struct wl_live_run *every;
    size_t n;
    for (uint64_t i = 1; i <= 6; i++) { /* 3 and 6 are another thread's; all in the same millisecond */
        struct wm_run run = plain_run(i, i % 3 ? 100 : 200);
        TRY(COMMIT(S, ALICE, NULL, err, ADD_RUN(&run)));
    }
    struct wm_run evil = plain_run(50, 100);
    TRY(COMMIT(S, EVE, NULL, err, ADD_RUN(&evil)));
    struct wm_run end = plain_run(2, 100);
    end.status = WM_COMPLETED;
    TRY(COMMIT(S, ALICE, NULL, err, SET_RUN(&end)));

    static const uint64_t newest[] = {5, 4, 2, 1}, live[] = {1, 4, 5};
    TRY(wl_list_runs(S, &ALICE, test_uuid(100), false, 100, &a, &p, &n, err));
    FAIL_UNLESS(n == 4);
    for (size_t i = 0; i < n; i++)
        FAIL_UNLESS(wb_uuid_eq(p[i].id, test_uuid(newest[i])));
    TRY(wl_list_runs(S, &ALICE, test_uuid(100), true, 100, &a, &p, &n, err));
    FAIL_UNLESS(n == 3);
    for (size_t i = 0; i < n; i++)
        FAIL_UNLESS(wb_uuid_eq(p[i].id, test_uuid(live[i])));
    TRY(wl_list_runs(S, &ALICE, test_uuid(100), true, 2, &a, &p, &n, err));
    FAIL_UNLESS(n == 2 && wb_uuid_eq(p[1].id, test_uuid(4)));
    TRY(wl_list_runs(S, &EVE, test_uuid(200), false, 9, &a, &p, &n, err));
    FAIL_UNLESS(n == 0);

    /* All tenants' live ones, in pages, in the order of their ids. */
    struct wb_uuid after = WB_UUID_NIL;
    size_t all = 0, evils = 0;
    do {
        TRY(wl_list_live(S, after, 2, &a, &every, &n, err));
        for (size_t i = 0; i < n; i++, all++) {
            FAIL_UNLESS(wb_uuid_cmp(after, every[i].run.id) < 0);
            after = every[i].run.id;
            bool evl = wb_uuid_eq(after, test_uuid(50));
            evils += evl;
            FAIL_UNLESS(is(every[i].owner.tenant, evl ? "evil" : "acme") && is(every[i].owner.user, "alice"));
            FAIL_UNLESS(!wb_uuid_eq(after, test_uuid(2)));
        }
    } while (n == 2);
    FAIL_UNLESS(all == 6 && evils == 1);
    return 0;
}

TEST(store_lists_runs_as_they_came)
{
    CHECK(test_each_store(lists_runs, NULL));
}

/* ---- Aliases and keys ------------------------------------------------------------------------------ */

WEFT_SUSPENDS static int aliases(struct test_store *t, struct upp_err *err)
{
    struct wl_alias in = {.kind = WL_ALIAS_THREAD, .text = UPP_STR("t-1"), .object = test_uuid(1)};
    struct wb_uuid x;
    size_t conflict;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_ALIAS(&in)));
    TRY(wl_get_alias(S, &ALICE, WL_ALIAS_THREAD, UPP_STR("t-1"), &x, err));
    FAIL_UNLESS(wb_uuid_eq(x, in.object));
    TRY(COMMIT(S, ALICE, NULL, err, ADD_ALIAS(&in))); /* the same: no change */
    FAIL_UNLESS(wl_get_alias(S, &ALICE, WL_ALIAS_RUN, UPP_STR("t-1"), &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_alias(S, &ALICE, WL_ALIAS_THREAD, UPP_STR("t-"), &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_alias(S, &BOB, WL_ALIAS_THREAD, UPP_STR("t-1"), &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_alias(S, &EVE, WL_ALIAS_THREAD, UPP_STR("t-1"), &x, err) == -UPP_ENOTFOUND);
    in.object = test_uuid(2);
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, ADD_ALIAS(&in)) == -UPP_EBUSY && conflict == 0);
    TRY(COMMIT(S, BOB, NULL, err, ADD_ALIAS(&in)));
    TRY(wl_get_alias(S, &BOB, WL_ALIAS_THREAD, UPP_STR("t-1"), &x, err));
    FAIL_UNLESS(wb_uuid_eq(x, test_uuid(2)));
    TRY(wl_get_alias(S, &ALICE, WL_ALIAS_THREAD, UPP_STR("t-1"), &x, err));
    FAIL_UNLESS(wb_uuid_eq(x, test_uuid(1)));
    return 0;
}

TEST(store_aliases_are_taken_once)
{
    CHECK(test_each_store(aliases, NULL));
}

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

WEFT_SUSPENDS static int keys(struct test_store *t, struct upp_err *err)
{
    clock_now.wall_ms = 1700000000000;
    struct wl_key in = {.route = UPP_STR("POST /v1/threads"),
                        .key = UPP_STR("k"),
                        .body = {1, 2, 3},
                        .object = test_uuid(1),
                        .created_ms = clock_now.wall_ms};
    struct wl_key x, again = in;
    size_t conflict;
    again.object = test_uuid(2);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_KEY(&in)));
    TRY(wl_get_key(S, &ALICE, in.route, in.key, &x, err));
    FAIL_UNLESS(wb_str_eq(x.route, in.route) && wb_str_eq(x.key, in.key) && memcmp(x.body, in.body, 32) == 0);
    FAIL_UNLESS(wb_uuid_eq(x.object, in.object) && x.created_ms == in.created_ms);
    FAIL_UNLESS(wl_get_key(S, &EVE, in.route, in.key, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_key(S, &ALICE, UPP_STR("POST /v1/thread"), in.key, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_key(S, &ALICE, in.route, UPP_STR("l"), &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, ADD_KEY(&again)) == -UPP_EBUSY && conflict == 0);

    clock_now.wall_ms += 86400000 - 1;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_KEY(&again)) == -UPP_EBUSY);
    TRY(wl_get_key(S, &ALICE, in.route, in.key, &x, err));
    clock_now.wall_ms++;
    FAIL_UNLESS(wl_get_key(S, &ALICE, in.route, in.key, &x, err) == -UPP_ENOTFOUND);
    again.created_ms = clock_now.wall_ms;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_KEY(&again)));
    TRY(wl_get_key(S, &ALICE, in.route, in.key, &x, err));
    FAIL_UNLESS(wb_uuid_eq(x.object, test_uuid(2)));

    /* Expired ones are swept by those that come; what has not expired is not. */
    for (int i = 0; i < 300; i++) {
        char name[16];
        struct wl_key k = again;
        k.key = wb_str(name, (size_t)snprintf(name, sizeof name, "k%d", i));
        k.created_ms = clock_now.wall_ms += i == 100 ? 86400000 : 0;
        TRY(COMMIT(S, ALICE, NULL, err, ADD_KEY(&k)));
    }
    TRY(wl_get_key(S, &ALICE, in.route, UPP_STR("k100"), &x, err));
    TRY(wl_get_key(S, &ALICE, in.route, UPP_STR("k299"), &x, err));
    FAIL_UNLESS(wl_get_key(S, &ALICE, in.route, UPP_STR("k99"), &x, err) == -UPP_ENOTFOUND);
    return 0;
}

TEST(store_keys_count_for_24_hours)
{
    clock_now.before = *wb_hooks();
    struct upp_hooks table = clock_now.before;
    table.wall_ns = wall_ns;
    UPP_CLEANUP(clock_back) int undo = 0;
    CHECK(upp_global_init(&table, NULL) == 0);
    CHECK(test_each_store(keys, NULL));
    (void)undo;
}

/* ---- All or nothing -------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int all_or_nothing(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_owner o = ALICE;
    TRY(test_fill(S, o, 7, 2, err));
    struct wl_thread thread = {.id = test_uuid(1), .kind = WL_MAIN, .version = 1, .updated_ms = 5};
    struct wm_run run = plain_run(1, 1);
    TRY(COMMIT(S, o, NULL, err, ADD_THREAD(&thread), ADD_RUN(&run)));

    struct wl_node node = test_node(8);
    struct wl_row old = test_row(7, wl_pos(2, 0), 1, "x"), first = test_row(8, 0, 1, "y"),
                  second = test_row(8, wl_pos(1, 0), 1, "z"), bad = test_row(7, 0, 1, "taken");
    struct wl_thread t2 = {.id = test_uuid(2), .kind = WL_MAIN, .version = 1}, t1 = thread;
    struct wm_run r2 = plain_run(2, 1), r1 = run;
    struct wl_alias alias = {.kind = WL_ALIAS_RUN, .text = UPP_STR("r"), .object = test_uuid(2)};
    struct wl_key key = {.route = UPP_STR("r"), .key = UPP_STR("k"), .created_ms = wb_wall_ms()};
    t1.updated_ms = 9;
    r1.status = WM_COMPLETED;
    const struct wl_change changes[] = {
        ADD_ROW(&old),     ADD_NODE(&node), ADD_ROW(&first),
        ADD_ROW(&second),  ADD_THREAD(&t2), SET_THREAD(&t1),
        ADD_RUN(&r2),      SET_RUN(&r1),    HOLD(7, WB_UUID_NIL, test_uuid(1)),
        ADD_ALIAS(&alias), ADD_KEY(&key),   ADD_ROW(&bad),
    };
    enum { N = sizeof changes / sizeof changes[0] };
    size_t conflict;
    FAIL_UNLESS(test_commit(S, o, changes, N, &conflict, err) == -UPP_EBUSY && conflict == N - 1);

    struct wl_rows rows;
    struct wl_node n;
    struct wl_thread th, *ths;
    struct wm_run ru, *rus;
    struct wl_live_run *live;
    struct wb_uuid id;
    struct wl_key k;
    size_t count;
    TRY(wl_store_rows(S, &o, &(struct wl_range){.node = 7, .to = UINT64_MAX}, &a, &rows, err));
    FAIL_UNLESS(rows.n == 2);
    TRY(wl_store_rows(S, &o, &(struct wl_range){.node = 8, .to = UINT64_MAX}, &a, &rows, err));
    FAIL_UNLESS(rows.n == 0);
    FAIL_UNLESS(wl_get_node(S, &o, 8, &n, err) == -UPP_ENOTFOUND);
    TRY(wl_get_node(S, &o, 7, &n, err));
    FAIL_UNLESS(wb_uuid_is_nil(n.holder));
    FAIL_UNLESS(wl_get_thread(S, &o, t2.id, &a, &th, err) == -UPP_ENOTFOUND);
    TRY(wl_get_thread(S, &o, t1.id, &a, &th, err));
    FAIL_UNLESS(th.version == 1 && th.updated_ms == 5);
    TRY(wl_list_threads(S, &o, WB_UUID_NIL, 9, &a, &ths, &count, err));
    FAIL_UNLESS(count == 1 && ths[0].updated_ms == 5);
    FAIL_UNLESS(wl_get_run(S, &o, r2.id, &a, &ru, err) == -UPP_ENOTFOUND);
    TRY(wl_get_run(S, &o, r1.id, &a, &ru, err));
    FAIL_UNLESS(ru.version == 1 && ru.status == WM_QUEUED);
    TRY(wl_list_runs(S, &o, test_uuid(1), false, 9, &a, &rus, &count, err));
    FAIL_UNLESS(count == 1);
    TRY(wl_list_live(S, WB_UUID_NIL, 9, &a, &live, &count, err));
    FAIL_UNLESS(count == 1);
    FAIL_UNLESS(wl_get_alias(S, &o, WL_ALIAS_RUN, UPP_STR("r"), &id, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_key(S, &o, UPP_STR("r"), UPP_STR("k"), &k, err) == -UPP_ENOTFOUND);

    /* Without the last one all of it happens, each change seeing those before it. */
    TRY(test_commit(S, o, changes, N - 1, NULL, err));
    TRY(wl_store_rows(S, &o, &(struct wl_range){.node = 8, .to = UINT64_MAX}, &a, &rows, err));
    FAIL_UNLESS(rows.n == 2 && is(rows.p[1].body, "z"));
    TRY(wl_list_live(S, WB_UUID_NIL, 9, &a, &live, &count, err));
    FAIL_UNLESS(count == 1 && wb_uuid_eq(live[0].run.id, test_uuid(2)));
    return 0;
}

TEST(store_commits_all_or_nothing)
{
    CHECK(test_each_store(all_or_nothing, NULL));
}

/* Runs in pages: of a thread in both directions, of an owner, and those that wait. */
WEFT_SUSPENDS static int is_list(struct test_store *t, struct wl_ask ask, const uint64_t *want, size_t n_want,
                                 struct upp_err *err)
{
    size_t got = 0, n;
    for (ask.max = 2;;) { /* pages of two */
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct wm_run *p;
        TRY(wl_list_runs_after(S, ask.what, ask.owner, ask.id, ask.after, ask.max, &a, &p, &n, err));
        for (size_t i = 0; i < n; i++, got++) {
            FAIL_UNLESS(got < n_want && wb_uuid_eq(p[i].id, test_uuid(want[got])));
            ask.after = p[i].id;
        }
        if (n < ask.max)
            break;
    }
    FAIL_UNLESS(got == n_want);
    return 0;
}
#define IS_LIST(what_, owner_, thread_, ...)                                                                           \
    TRY(is_list(t, (struct wl_ask){.what = (what_), .owner = &(owner_), .id = test_uuid(thread_)},                     \
                (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), err))

WEFT_SUSPENDS static int pages_of_runs(struct test_store *t, struct upp_err *err)
{
    static const struct {
        uint64_t id, thread;
        uint8_t status;
        uint16_t depth;
        bool bobs;
    } runs[] = {
        {90, 1, WM_WAITING, 0, false},  {20, 1, WM_COMPLETED, 0, false}, {70, 2, WM_WAITING, 0, false},
        {30, 1, WM_RUNNING, 0, false},  {10, 3, WM_WAITING, 1, false},   {60, 2, WM_WAITING, 0, true},
        {50, 1, WM_COMPLETED, 0, true}, {40, 1, WM_WAITING, 0, false},
    };
    for (size_t i = 0; i < WB_LEN(runs); i++) {
        struct wm_run run = plain_run(runs[i].id, runs[i].thread);
        run.status = runs[i].status;
        run.depth = runs[i].depth;
        struct wl_owner o = runs[i].bobs ? BOB : ALICE;
        TRY(COMMIT(S, o, NULL, err, ADD_RUN(&run)));
    }
    IS_LIST(WL_LIST_RUNS, ALICE, 1, 40, 50, 30, 20, 90);
    IS_LIST(WL_LIST_RUNS_UP, ALICE, 1, 90, 20, 30, 50, 40);
    IS_LIST(WL_LIST_OWN_RUNS, ALICE, 0, 40, 30, 70, 20, 90); /* neither children nor Bob's */
    IS_LIST(WL_LIST_OWN_RUNS, BOB, 0, 50, 60);
    IS_LIST(WL_LIST_OWN_RUNS_UP, ALICE, 0, 90, 20, 70, 30, 40);
    IS_LIST(WL_LIST_OWN_RUNS_UP, BOB, 0, 60, 50);
    IS_LIST(WL_LIST_WAITING, ALICE, 0, 90, 70, 40);
    IS_LIST(WL_LIST_WAITING, BOB, 0, 60);

    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_run *p, run;
    size_t n;
    static const enum wl_what whats[] = {WL_LIST_RUNS, WL_LIST_RUNS_UP, WL_LIST_OWN_RUNS, WL_LIST_OWN_RUNS_UP,
                                         WL_LIST_WAITING};
    for (size_t i = 0; i < WB_LEN(whats); i++) {
        int r = wl_list_runs_after(S, whats[i], &ALICE, test_uuid(1), test_uuid(99), 2, &a, &p, &n, err);
        FAIL_UNLESS(r == -UPP_ENOTFOUND);
        TRY(wl_list_runs_after(S, whats[i], &EVE, test_uuid(1), WB_UUID_NIL, 2, &a, &p, &n, err));
        FAIL_UNLESS(n == 0);
    }
    TRY(wl_get_run(S, &ALICE, test_uuid(70), &a, &run, err)); /* one that waits no more */
    run.status = WM_RUNNING;
    TRY(COMMIT(S, ALICE, NULL, err, SET_RUN(&run)));
    IS_LIST(WL_LIST_WAITING, ALICE, 0, 90, 40);
    return 0;
}

TEST(store_lists_runs_in_pages)
{
    CHECK(test_each_store(pages_of_runs, NULL));
}

WEFT_SUSPENDS static int limits(struct test_store *t, struct upp_err *err)
{
    static struct wl_change many[WL_CHANGES + 1];
    struct wl_node node = test_node(7);
    for (size_t i = 0; i < WL_CHANGES + 1; i++)
        many[i] = (struct wl_change){.kind = WL_HOLD_NODE, .hold = {7, WB_UUID_NIL, WB_UUID_NIL}};
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&node)));
    FAIL_UNLESS(test_commit(S, ALICE, many, WL_CHANGES + 1, NULL, err) == -UPP_ELIMIT);
    TRY(test_commit(S, ALICE, many, WL_CHANGES, NULL, err));
    TRY(test_commit(S, ALICE, many, 0, NULL, err));

    static const char name[WS_NAME_MAX + 1] = "long";
    struct wl_owner big = {{name, WS_NAME_MAX + 1}, {NULL, 0}}, nobody = {{NULL, 0}, {"x", 1}};
    FAIL_UNLESS(test_commit(S, big, many, 1, NULL, err) == -UPP_ELIMIT);
    FAIL_UNLESS(test_commit(S, nobody, many, 1, NULL, err) == -UPP_EINVALID);
    struct wl_alias alias = {.kind = 1, .text = {name, WS_NAME_MAX + 1}};
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_ALIAS(&alias)) == -UPP_ELIMIT);
    alias.text.n--;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_ALIAS(&alias)));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, {.kind = (enum wl_change_kind)77}) == -UPP_EINVALID);
    return 0;
}

TEST(store_limits)
{
    CHECK(test_each_store(limits, NULL));
}

/* ---- The memory store's own ------------------------------------------------------------------------ */

static bool is_full_memory(const struct wl_store *s, int r, const struct upp_err *err)
{
    return r == -UPP_ESTORE && wl_may_pass(err) && strcmp(err->cause, WL_DISK_FULL) == 0 &&
           strstr(err->msg, "the memory store is full") && wl_store_state(s) == WL_FULL;
}

/* As a disk: a run can end, what is deleted makes room, and the store says when there is some. */
static WEFT_SUSPENDS int fill_memory(struct wl_store *s, struct upp_err *err)
{
    struct wm_run run = plain_run(1, 1);
    struct wl_node node = test_node(1);
    struct upp_err why = {0};
    uint64_t i = 1;
    int r = 0;
    TRY(COMMIT(s, ALICE, NULL, err, ADD_RUN(&run)));
    for (; i < 1000 && r >= 0; i++) {
        node = test_node(i);
        r = COMMIT(s, ALICE, NULL, &why, ADD_NODE(&node));
        FAIL_UNLESS(r < 0 || wl_store_state(s) == WL_WORKS);
    }
    if (r == -UPP_ENOMEM)
        return r;
    FAIL_UNLESS(is_full_memory(s, r, &why) && i > 10);
    run.status = WM_COMPLETED;
    run.agent = UPP_STR("an agent whose name takes more room than a node has left");
    TRY(COMMIT(s, ALICE, NULL, err, SET_RUN(&run)));
    FAIL_UNLESS(wl_store_state(s) == WL_FULL);
    for (uint64_t k = 1; k < 5; k++) {
        node = test_node(k);
        TRY(COMMIT(s, ALICE, NULL, err, DROP_NODE(&node)));
    }
    FAIL_UNLESS(wl_store_state(s) == WL_WORKS);
    return COMMIT(s, ALICE, NULL, err, ADD_NODE(&node));
}

TEST(store_memory_that_is_full_is_a_full_disk)
{
    struct wl_store *s = NULL;
    struct upp_err err = {0};
    CHECK_INT(ws_memory_open(&s, &err), 0);
    ws_memory_limit(s, 16384);
    int r = fill_memory(s, &err);
    s->ops->close(s);
    CHECK_INT(r, 0);
}

/* ---- A store in front of another ---- */

static WEFT_SUSPENDS int front_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range,
                                    struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    (void)s, (void)o, (void)range, (void)a, (void)ret;
    return upp_fail(err, UPP_EREFUSED, "rows of the store in front");
}

static int read_row(struct wl_store *s, void *arg, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_rows rows;
    *(struct wl_store **)arg = s;
    return wl_store_rows(s, &ALICE, &(struct wl_range){.node = 7, .to = UINT64_MAX}, &a, &rows, err);
}

/* Without a method it has the inner store's, however many are between them; but nobody reads past reads of its own. */
WEFT_SUSPENDS static int fronts(struct test_store *t, struct upp_err *err)
{
    static const struct wl_store_ops none = {.size = sizeof none},
                                     own_rows = {.size = sizeof own_rows, .rows = front_rows};
    struct wl_store front = {.ops = &none, .inner = S}, outer = {.ops = &none, .inner = &front}, *asked = NULL;
    struct wl_store reads = {.ops = &own_rows, .inner = S}, before = {.ops = &none, .inner = &reads};
    struct wl_node node = test_node(7), found;
    TRY(COMMIT(&outer, ALICE, NULL, err, ADD_NODE(&node)));
    TRY(wl_get_node(&outer, &ALICE, 7, &found, err));
    TRY(wl_store_at_once(&outer, read_row, &asked, err));
    FAIL_UNLESS(asked != NULL);
    FAIL_UNLESS(wl_store_at_once(&before, read_row, &asked, err) == -UPP_EREFUSED && asked == &before);
    *err = (struct upp_err){0};
    return 0;
}

TEST(store_in_front_has_what_the_inner_one_does)
{
    CHECK(test_each_store(fronts, NULL));
}

/* ---- More reads than workers may have ---- */

enum { MANY_READS = 600 }; /* WS_READS and more, all asked for before the first is answered */

static WEFT_SUSPENDS int read_once(void *arg, struct upp_err *err)
{
    struct wl_node found;
    return wl_get_node(arg, &ALICE, 7, &found, err);
}

WEFT_SUSPENDS static int many_reads(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
    struct wl_node node = test_node(7);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&node)));
    for (unsigned i = 0; i < MANY_READS; i++)
        TRY(weft_scope_spawn(&scope, "read", read_once, S, NULL, err));
    return weft_scope_join(&scope, err);
}

TEST_WITH(store_reads_wait_for_their_turn, .no_torture = "six hundred fibers, each with the same calls")
{
    CHECK(test_each_store(many_reads, NULL));
}
