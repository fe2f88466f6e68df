/* Every store: what is changed in place, what is deleted, families; and that a commit that fails undoes all of it. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "model/id.h"
#include "stores/check.h"
#include "support/stores.h"

#define S (t->s)
#define O (t->s->ops)

static bool is(struct upp_str s, const char *want)
{
    return want ? s.p && wb_str_eq(s, wb_cstr(want)) : !s.p;
}

#define F UINT32_C(0x80112233) /* its keys are negative where numbers have a sign */

static struct wl_thread thread_of(uint32_t family, uint64_t n)
{
    return (struct wl_thread){.id = test_family_uuid(family, n),
                              .tree = test_family_uuid(family, 1),
                              .head = test_family_node(family, 1).key,
                              .kind = WL_MAIN,
                              .version = 1,
                              .updated_ms = (int64_t)n};
}

/* ---- Columns that came later ----------------------------------------------------------------------- */

WEFT_SUSPENDS static int columns(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_thread in = thread_of(F, 1), x;
    struct wm_run run = {.id = test_uuid(1), .thread = in.id, .version = 1, .status = WM_COMPLETED}, got;
    in.at = 1;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_THREAD(&in), ADD_RUN(&run)));
    TRY(wl_get_thread(S, &ALICE, in.id, &a, &x, err));
    FAIL_UNLESS(x.at == 1 && wl_thread_length(&x, 7) == 0);
    x.at = UINT32_MAX;
    TRY(COMMIT(S, ALICE, NULL, err, SET_THREAD(&x)));
    TRY(wl_get_thread(S, &ALICE, in.id, &a, &x, err));
    FAIL_UNLESS(x.at == UINT32_MAX && wl_thread_length(&x, 7) == 7);
    x.at = 0;
    TRY(COMMIT(S, ALICE, NULL, err, SET_THREAD(&x)));
    TRY(wl_get_thread(S, &ALICE, in.id, &a, &x, err));
    FAIL_UNLESS(x.at == 0 && wl_thread_length(&x, 7) == 7);
    run.swept = true;
    TRY(wl_get_run(S, &ALICE, run.id, &a, &got, err));
    FAIL_UNLESS(!got.swept);
    TRY(COMMIT(S, ALICE, NULL, err, SET_RUN(&run)));
    TRY(wl_get_run(S, &ALICE, run.id, &a, &got, err));
    FAIL_UNLESS(got.swept);
    return 0;
}

TEST(store_keeps_places_and_what_was_swept)
{
    CHECK(test_each_store(columns, NULL));
}

/* ---- Families -------------------------------------------------------------------------------------- */

/* Puts the nodes and threads of a family into one line: "1 2 s9 | 1", in the order in which they come, in pages. */
WEFT_SUSPENDS static int family_text(struct test_store *t, struct wl_owner o, uint32_t family, size_t page,
                                     struct wb_buf *out, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_node *nodes;
    struct wl_thread *threads;
    size_t n = 1;
    struct wb_uuid from = WB_UUID_NIL;
    wb_buf_clear(out);
    for (unsigned i = 0; n && i < 100; i++) {
        TRY(wl_list_family_nodes(S, &o, family, from, page, &a, &nodes, &n, err));
        FAIL_UNLESS(n <= page);
        for (size_t k = 0; k < n; k++) {
            FAIL_UNLESS(nodes[k].key == wm_key(nodes[k].id));
            wb_buf_addf(out, "%s%x%02x ", wl_family(nodes[k].id) == family ? "" : "s", nodes[k].id.b[4],
                        nodes[k].id.b[5]);
            from = nodes[k].id;
        }
    }
    wb_buf_addf(out, "|");
    from = WB_UUID_NIL;
    n = 1;
    for (unsigned i = 0; n && i < 100; i++) {
        TRY(wl_list_family_threads(S, &o, family, from, page, &a, &threads, &n, err));
        for (size_t k = 0; k < n; k++) {
            wb_buf_addf(out, " %s%x%02x", wl_family(threads[k].id) == family ? "" : "s", threads[k].id.b[4],
                        threads[k].id.b[5]);
            from = threads[k].id;
        }
    }
    return wb_buf_check(out, err);
}

WEFT_SUSPENDS static int families(struct test_store *t, struct upp_err *err)
{
    static const uint32_t all[] = {0, 1, 0x7fffffff, 0x80000000, F, UINT32_MAX};
    UPP_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 16);
    for (size_t i = 0; i < WB_LEN(all); i++) {
        for (uint64_t k = 1; k <= 3; k++) {
            struct wl_node n = test_family_node(all[i], k * 16);
            struct wl_thread x = thread_of(all[i], k * 16);
            TRY(COMMIT(S, k == 2 ? BOB : ALICE, NULL, err, ADD_NODE(&n), ADD_THREAD(&x)));
        }
    }
    /* Strays: of ids before, between and behind all others. */
    static const uint32_t of[] = {0x00000002, 0x7ffffffe, 0x80000003, 0xfffffffe};
    for (size_t i = 0; i < WB_LEN(of); i++) {
        struct wl_node n = test_family_node(of[i], i + 1);
        struct wl_thread x = thread_of(of[i], i + 1);
        n.tree = x.tree = test_family_uuid(F, 1);
        TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&n), ADD_THREAD(&x)));
    }
    for (size_t i = 0; i < WB_LEN(all); i++) {
        const char *want = all[i] == F ? "s001 s002 s003 010 020 030 s004 | s001 s002 s003 010 020 030 s004"
                                       : "010 020 030 | 010 020 030";
        for (size_t page = 1; page < 10; page += 2) {
            TRY(family_text(t, ALICE, all[i], page, &text, err));
            test_note("family %x by %zu: %.*s", all[i], page, UPP_FMT(wb_buf_str(&text)));
            FAIL_UNLESS(is(wb_buf_str(&text), want));
        }
    }
    TRY(family_text(t, ALICE, of[1], 10, &text, err)); /* by its own id, too */
    FAIL_UNLESS(is(wb_buf_str(&text), "002 | 002"));
    TRY(family_text(t, EVE, F, 10, &text, err));
    FAIL_UNLESS(is(wb_buf_str(&text), "|"));
    TRY(family_text(t, ALICE, 77, 10, &text, err));
    FAIL_UNLESS(is(wb_buf_str(&text), "|"));

    /* What changes stays in its place, and what is dropped leaves it. */
    struct wl_thread x = thread_of(0x00000002, 1);
    x.updated_ms = 99;
    TRY(COMMIT(S, ALICE, NULL, err, SET_THREAD(&x)));
    x.version = 2;
    TRY(family_text(t, ALICE, F, 3, &text, err));
    FAIL_UNLESS(is(wb_buf_str(&text), "s001 s002 s003 010 020 030 s004 | s001 s002 s003 010 020 030 s004"));
    struct wl_node n = test_family_node(0x00000002, 1), m = test_family_node(F, 32);
    TRY(COMMIT(S, ALICE, NULL, err, DROP_THREAD(&x), DROP_NODE(&n), DROP_NODE(&m)));
    TRY(family_text(t, ALICE, F, 3, &text, err));
    FAIL_UNLESS(is(wb_buf_str(&text), "s002 s003 010 030 s004 | s002 s003 010 020 030 s004"));
    return 0;
}

TEST(store_finds_families_and_their_strays)
{
    CHECK(test_each_store(families, NULL));
}

/* ---- Branches -------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int one_node(struct test_store *t, struct wl_owner o, struct wb_arena *a, struct wl_node *ret,
                                  struct upp_err *err)
{
    struct wl_node *p;
    size_t n;
    TRY(wl_list_family_nodes(S, &o, F, WB_UUID_NIL, 1, a, &p, &n, err));
    FAIL_UNLESS(n == 1);
    *ret = p[0];
    return 0;
}

WEFT_SUSPENDS static int branches(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_node in = test_family_node(F, 1), x;
    in.name = UPP_STR("main");
    in.origin = UPP_STR("{\"id\":7}");
    in.parent_length = 5;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&in)));
    TRY(one_node(t, ALICE, &a, &x, err));
    FAIL_UNLESS(is(x.name, "main") && is(x.metadata, NULL) && is(x.origin, "{\"id\":7}") && x.parent_length == 5);
    TRY(wl_get_node(S, &ALICE, in.key, &x, err));
    FAIL_UNLESS(!x.name.p && !x.metadata.p && !x.origin.p);

    /* Name and metadata change; all else, and where it came from, does not. */
    struct wl_node to = {.key = in.key, .metadata = UPP_STR("{\"a\":1}"), .origin = UPP_STR("no"), .parent_length = 9};
    TRY(COMMIT(S, ALICE, NULL, err, SET_NODE(&to)));
    TRY(one_node(t, ALICE, &a, &x, err));
    FAIL_UNLESS(is(x.name, NULL) && is(x.metadata, "{\"a\":1}") && is(x.origin, "{\"id\":7}") && x.parent_length == 5);
    to.metadata = (struct upp_str){NULL, 0};
    to.name = UPP_STR("");
    TRY(COMMIT(S, ALICE, NULL, err, SET_NODE(&to)));
    TRY(one_node(t, ALICE, &a, &x, err));
    FAIL_UNLESS(is(x.name, "") && is(x.metadata, NULL));

    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, SET_NODE(&to)) == -UPP_ENOTFOUND);
    to.key++;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, SET_NODE(&to)) == -UPP_ENOTFOUND);
    to.key = 0;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, SET_NODE(&to)) == -UPP_EINVALID);
    to.key = in.key;
    to.name.n = WS_TEXT_MAX + 1;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, SET_NODE(&to)) == -UPP_ELIMIT);

    /* A node that had no texts gets some; a dropped one leaves none behind. */
    struct wl_node plain = test_family_node(F, 0), named = {.key = plain.key, .name = UPP_STR("late")};
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&plain), SET_NODE(&named)));
    TRY(one_node(t, ALICE, &a, &x, err));
    FAIL_UNLESS(is(x.name, "late"));
    TRY(COMMIT(S, ALICE, NULL, err, DROP_NODE(&plain), ADD_NODE(&plain)));
    TRY(one_node(t, ALICE, &a, &x, err));
    FAIL_UNLESS(x.key == plain.key && is(x.name, NULL));
    return 0;
}

TEST(store_branches_have_names)
{
    CHECK(test_each_store(branches, NULL));
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

WEFT_SUSPENDS static int sets_rows(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_node n = test_family_node(F, 1);
    struct wl_rows rows;
    struct wl_row in[] = {test_row(n.key, 0, 2, "first"), test_row(n.key, wl_pos(2, 0), 0, "second")};
    in[0].run = test_uuid(4);
    in[0].tape = UPP_STR("tape");
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&n), ADD_ROW(&in[0]), ADD_ROW(&in[1])));
    struct wl_row to = test_row(n.key, 0, 77, "another text"); /* that is longer */
    to.format = 9;
    to.run = test_uuid(5);
    TRY(COMMIT(S, ALICE, NULL, err, SET_ROW(&to)));
    TRY(wl_store_rows(S, &ALICE, &(struct wl_range){.node = n.key, .to = UINT64_MAX}, &a, &rows, err));
    FAIL_UNLESS(rows.n == 2 && rows.p[0].n_entries == 2 && wb_uuid_eq(rows.p[0].run, test_uuid(4)));
    FAIL_UNLESS(is(rows.p[0].body, "another text") && is(rows.p[0].tape, NULL) && rows.p[0].format == 9);
    FAIL_UNLESS(is(rows.p[1].body, "second"));

    static const uint64_t nowhere[] = {1, (uint64_t)1 << 16, ((uint64_t)2 << 16) + 1};
    for (size_t i = 0; i < WB_LEN(nowhere); i++) {
        to.pos = nowhere[i];
        FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, SET_ROW(&to)) == -UPP_ENOTFOUND);
    }
    to.pos = 0;
    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, SET_ROW(&to)) == -UPP_ENOTFOUND);
    to.body.n = (size_t)WS_ROW_MAX + 1;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, SET_ROW(&to)) == -UPP_ELIMIT);

    /* The end of the node is where it was. */
    struct wl_row next = test_row(n.key, wl_pos(2, 1), 1, "next");
    TRY(COMMIT(S, ALICE, NULL, err, ADD_ROW(&next)));
    return 0;
}

TEST(store_rows_change_in_place)
{
    CHECK(test_each_store(sets_rows, NULL));
}

/* ---- Deleting -------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int drops_nodes(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_node root = test_family_node(F, 1), child = test_family_node(F, 2), x;
    struct wl_node stray = test_family_node(3, 3);
    struct wl_row row = test_row(root.key, 0, 1, "text"), late = test_row(root.key, wl_pos(1, 0), 1, "late");
    struct wl_rows rows;
    struct wb_uuid run = test_uuid(5);
    size_t conflict;
    child.parent = stray.parent = root.key;
    stray.tree = root.tree;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&root), ADD_ROW(&row), ADD_NODE(&child), ADD_NODE(&stray),
               HOLD(child.key, WB_UUID_NIL, run)));
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, DROP_NODE(&root)) == -UPP_EBUSY && conflict == 0);
    FAIL_UNLESS(strstr(err->msg, "stands on it"));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_NODE(&child)) == -UPP_EBUSY && strstr(err->msg, "holds it"));
    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, DROP_NODE(&stray)) == -UPP_ENOTFOUND);
    TRY(COMMIT(S, ALICE, NULL, err, HOLD(child.key, run, WB_UUID_NIL), DROP_NODE(&child)));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_NODE(&root)) == -UPP_EBUSY); /* the stray */
    TRY(COMMIT(S, ALICE, NULL, err, DROP_NODE(&stray), DROP_NODE(&root)));
    FAIL_UNLESS(wl_get_node(S, &ALICE, root.key, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_NODE(&root)) == -UPP_ENOTFOUND);
    TRY(wl_store_rows(S, &ALICE, &(struct wl_range){.node = root.key, .to = UINT64_MAX}, &a, &rows, err));
    FAIL_UNLESS(rows.n == 0);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_ROW(&late)) == -UPP_ENOTFOUND);

    /* The key is free again, and its log begins at the beginning; what is undone is as it was. */
    struct wl_node missing = {.key = 99};
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&root), ADD_ROW(&row)));
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, DROP_NODE(&root), ADD_NODE(&root), DROP_NODE(&missing)) ==
                -UPP_ENOTFOUND);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_ROW(&late)));
    TRY(COMMIT(S, ALICE, NULL, err, DROP_NODE(&root), ADD_NODE(&root), ADD_ROW(&row), ADD_ROW(&late)));
    return 0;
}

TEST(store_drops_nodes_that_nothing_needs)
{
    CHECK(test_each_store(drops_nodes, NULL));
}

WEFT_SUSPENDS static int drops_threads(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_thread one = thread_of(F, 1), two = thread_of(F, 2), x, *p;
    struct wl_alias names[] = {
        {WL_ALIAS_THREAD, UPP_STR("one"), one.id},
        {WL_ALIAS_THREAD, UPP_STR("uno"), one.id},
        {WL_ALIAS_THREAD, UPP_STR("two"), two.id},
    };
    struct wb_uuid id;
    size_t n, conflict;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_THREAD(&one), ADD_THREAD(&two), ADD_ALIAS(&names[0]), ADD_ALIAS(&names[2])));
    TRY(COMMIT(S, BOB, NULL, err, ADD_ALIAS(&names[1])));
    TRY(COMMIT(S, EVE, NULL, err, ADD_ALIAS(&names[0])));
    one.version = 2;
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, DROP_THREAD(&one)) == -UPP_EBUSY && conflict == 0);
    one.version = 1;
    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, DROP_THREAD(&one)) == -UPP_ENOTFOUND);
    TRY(COMMIT(S, ALICE, NULL, err, DROP_THREAD(&one)));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_THREAD(&one)) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_thread(S, &ALICE, one.id, &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_alias(S, &ALICE, WL_ALIAS_THREAD, UPP_STR("one"), &id, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_alias(S, &BOB, WL_ALIAS_THREAD, UPP_STR("uno"), &id, err) == -UPP_ENOTFOUND);
    TRY(wl_get_alias(S, &ALICE, WL_ALIAS_THREAD, UPP_STR("two"), &id, err));
    TRY(wl_get_alias(S, &EVE, WL_ALIAS_THREAD, UPP_STR("one"), &id, err));
    TRY(wl_list_threads(S, &ALICE, WB_UUID_NIL, 9, &a, &p, &n, err));
    FAIL_UNLESS(n == 1 && wb_uuid_eq(p[0].id, two.id));

    /* Aliases alone; one that is not there is no change. */
    struct wl_alias another = {WL_ALIAS_RUN, UPP_STR("two"), two.id};
    TRY(COMMIT(S, ALICE, NULL, err, DROP_ALIAS(&another), DROP_ALIAS(&names[1])));
    TRY(COMMIT(S, BOB, NULL, err, DROP_ALIAS(&names[2])));
    TRY(COMMIT(S, EVE, NULL, err, DROP_ALIAS(&names[2])));
    TRY(wl_get_alias(S, &ALICE, WL_ALIAS_THREAD, UPP_STR("two"), &id, err));
    TRY(COMMIT(S, ALICE, NULL, err, DROP_ALIAS(&names[2])));
    FAIL_UNLESS(wl_get_alias(S, &ALICE, WL_ALIAS_THREAD, UPP_STR("two"), &id, err) == -UPP_ENOTFOUND);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_ALIAS(&names[2])));
    return 0;
}

TEST(store_drops_threads_with_their_aliases)
{
    CHECK(test_each_store(drops_threads, NULL));
}

WEFT_SUSPENDS static int drops_runs(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wm_run x, *p, runs[5];
    struct wl_old_run *old;
    uint64_t after = 0;
    size_t n;
    for (size_t i = 0; i < WB_LEN(runs); i++) {
        runs[i] = (struct wm_run){.id = test_uuid(i + 1),
                                  .thread = test_uuid(100),
                                  .version = 1,
                                  .status = i == 1 ? WM_RUNNING : WM_COMPLETED,
                                  .created_ms = i == 2 ? INT64_MAX - 1 : (int64_t)i + 1};
        TRY(COMMIT(S, i == 3 ? BOB : ALICE, NULL, err, ADD_RUN(&runs[i])));
    }
    struct wm_run foreign = runs[0];
    TRY(COMMIT(S, EVE, NULL, err, ADD_RUN(&foreign)));
    /* In pages: all but the fifth, which is too young. The third is from the future, and ends no list. */
    for (size_t i = 0; i < 4; i++) {
        TRY(wl_list_old_runs(S, &ALICE, after, 5, 1, &a, &old, &n, err));
        FAIL_UNLESS(n == 1 && wb_uuid_eq(old[0].run.id, runs[i].id) && old[0].number > after);
        after = old[0].number;
    }
    TRY(wl_list_old_runs(S, &ALICE, after, 5, 9, &a, &old, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(wl_list_old_runs(S, &ALICE, UINT64_MAX, 5, 9, &a, &old, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(wl_list_old_runs(S, &EVE, 0, 6, 9, &a, &old, &n, err));
    FAIL_UNLESS(n == 1);
    TRY(wl_list_old_runs(S, &EVE, 0, 5, 9, &a, &old, &n, err));
    FAIL_UNLESS(n == 0); /* it is behind Alice's fifth, which is younger than that */
    TRY(wl_list_old_runs(S, &OWNER("nobody", ""), 0, 5, 9, &a, &old, &n, err));
    FAIL_UNLESS(n == 0);

    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_RUN(&runs[1])) == -UPP_EBUSY && strstr(err->msg, "not ended"));
    TRY(COMMIT(S, ALICE, NULL, err, DROP_RUN(&runs[0]), DROP_RUN(&runs[4])));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_RUN(&runs[0])) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_run(S, &ALICE, runs[0].id, &a, &x, err) == -UPP_ENOTFOUND);
    TRY(wl_get_run(S, &EVE, runs[0].id, &a, &x, err));
    TRY(wl_list_runs(S, &ALICE, test_uuid(100), false, 9, &a, &p, &n, err));
    FAIL_UNLESS(n == 3 && wb_uuid_eq(p[0].id, runs[3].id) && wb_uuid_eq(p[2].id, runs[1].id));
    TRY(COMMIT(S, ALICE, NULL, err, ADD_RUN(&runs[0])));
    TRY(wl_list_runs(S, &ALICE, test_uuid(100), false, 9, &a, &p, &n, err));
    FAIL_UNLESS(n == 4 && wb_uuid_eq(p[0].id, runs[0].id));
    return 0;
}

TEST(store_drops_runs_that_have_ended)
{
    CHECK(test_each_store(drops_runs, NULL));
}

/* ---- All or nothing -------------------------------------------------------------------------------- */

/* All that a reader sees, as text. */
WEFT_SUSPENDS static int dump(struct test_store *t, struct wb_buf *out, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_node *nodes;
    struct wl_thread *threads;
    struct wl_old_run *runs;
    struct wl_value *values;
    struct wl_blob_key *loose;
    struct wl_rows rows;
    struct wb_uuid id;
    size_t n;
    wb_buf_clear(out);
    TRY(wl_list_family_nodes(S, &ALICE, F, WB_UUID_NIL, 100, &a, &nodes, &n, err));
    for (size_t i = 0; i < n; i++) {
        wb_buf_addf(out, "node %llx %.*s %.*s\n", (unsigned long long)nodes[i].key, UPP_FMT(nodes[i].name),
                    UPP_FMT(nodes[i].origin));
        TRY(wl_store_rows(S, &ALICE, &(struct wl_range){.node = nodes[i].key, .to = UINT64_MAX}, &a, &rows, err));
        for (size_t k = 0; k < rows.n; k++)
            wb_buf_addf(out, " row %llx %.*s\n", (unsigned long long)rows.p[k].pos, UPP_FMT(rows.p[k].body));
    }
    TRY(wl_list_family_threads(S, &ALICE, F, WB_UUID_NIL, 100, &a, &threads, &n, err));
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "thread %x %u %u\n", threads[i].id.b[5], threads[i].version, threads[i].at);
    TRY(wl_list_threads(S, &ALICE, WB_UUID_NIL, 100, &a, &threads, &n, err));
    wb_buf_addf(out, "listed %zu\n", n);
    TRY(wl_list_old_runs(S, &ALICE, 0, INT64_MAX, 100, &a, &runs, &n, err));
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "run %x %d\n", runs[i].run.id.b[15], runs[i].run.status);
    static const char *const names[] = {"one", "two"};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        int r = wl_get_alias(S, &ALICE, WL_ALIAS_THREAD, wb_cstr(names[i]), &id, err);
        FAIL_UNLESS(r >= 0 || r == -UPP_ENOTFOUND);
        wb_buf_addf(out, "alias %s %d\n", names[i], r < 0 ? 0 : id.b[5]);
    }
    TRY(wl_list_values(S, &ALICE, UPP_STR("s"), UPP_STR(""), 100, &a, &values, &n, err));
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "value %.*s %.*s\n", UPP_FMT(values[i].name), UPP_FMT(values[i].bytes));
    for (unsigned char k = 1; k < 8; k++) {
        struct wl_piece piece;
        int r = wl_get_piece(S, &ALICE, &(struct wl_blob_key){{k}}, 0, &a, &piece, err);
        FAIL_UNLESS(r >= 0 || r == -UPP_ENOTFOUND);
        if (r >= 0)
            wb_buf_addf(out, "blob %d %.*s\n", k, UPP_FMT(piece.bytes));
    }
    TRY(wl_list_unreferenced_blobs(S, &ALICE, false, INT64_MAX, 100, &a, &loose, &n, err));
    unsigned bits = 0; /* in the order of time, which may be the same */
    for (size_t i = 0; i < n; i++)
        bits |= 1u << loose[i].b[0];
    wb_buf_addf(out, "loose %x\n", bits);
    return wb_buf_check(out, err);
}

/* Each change, then one that fails: nothing has happened. All of them: everything has. */
WEFT_SUSPENDS static int undoes(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_buf_done) struct wb_buf before = WB_BUF(1 << 16), after = WB_BUF(1 << 16);
    struct wl_node root = test_family_node(F, 1), leaf = test_family_node(F, 2), missing = {.key = 99};
    struct wl_node named = {.key = root.key, .name = UPP_STR("new")}, other = test_family_node(F, 3);
    struct wl_thread one = thread_of(F, 1), two = thread_of(F, 2);
    struct wl_row row = test_row(root.key, 0, 1, "old"),
                  rows[2] = {test_row(leaf.key, 0, 1, "a"), test_row(leaf.key, wl_pos(1, 0), 1, "b")};
    struct wl_row new = test_row(root.key, 0, 1, "new");
    struct wl_alias names[] = {{WL_ALIAS_THREAD, UPP_STR("one"), one.id}, {WL_ALIAS_THREAD, UPP_STR("two"), two.id}};
    struct wl_value v[] = {{UPP_STR("s"), UPP_STR("a"), UPP_STR("1")},
                           {UPP_STR("s"), UPP_STR("b"), UPP_STR("2")},
                           {UPP_STR("s"), UPP_STR("c"), UPP_STR("3")}};
    struct wl_value anew = {UPP_STR("s"), UPP_STR("a"), UPP_STR("other")};
    static struct wl_piece p[6]; /* frames are limited */
    static struct wl_ref ref[4];
    static struct wl_thread set;
    static struct wm_run run, more;
    run.id = test_uuid(5);
    run.thread = one.id;
    run.version = 1;
    run.status = WM_COMPLETED;
    more = run;
    more.id = test_uuid(6);
    set = two;
    set.at = 4;
    for (unsigned char i = 0; i < 6; i++)
        p[i] = (struct wl_piece){.key = {{(unsigned char)(i + 1)}}, .last = true, .bytes = UPP_STR("piece")};
    ref[0] = (struct wl_ref){.blob = p[0].key, .node = root.key};
    ref[1] = (struct wl_ref){.blob = p[1].key, .node = leaf.key};
    ref[2] = (struct wl_ref){.blob = p[1].key, .id = test_uuid(9)};
    ref[3] = (struct wl_ref){.blob = p[2].key, .id = test_uuid(9)};
    leaf.parent = root.key;
    leaf.origin = UPP_STR("far");
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&root), ADD_NODE(&leaf), ADD_ROW(&row), ADD_ROW(&rows[0]),
               ADD_ROW(&rows[1]), ADD_THREAD(&one), ADD_THREAD(&two), ADD_ALIAS(&names[0]), ADD_ALIAS(&names[1]),
               ADD_RUN(&run), PUT_VALUE(&v[0]), PUT_VALUE(&v[1]), ADD_PIECE(&p[0]), ADD_PIECE(&p[1]), ADD_PIECE(&p[2]),
               ADD_PIECE(&p[3]), ADD_REF(&ref[0]), ADD_REF(&ref[1]), ADD_REF(&ref[2])));
    TRY(dump(t, &before, err));
    const struct wl_change changes[] = {
        SET_NODE(&named),      SET_ROW(&new),        DROP_NODE(&leaf),
        ADD_NODE(&other),      DROP_THREAD(&one),    SET_THREAD(&set),
        DROP_ALIAS(&names[1]), DROP_RUN(&run),       ADD_RUN(&more),
        PUT_VALUE(&anew),      DROP_VALUE(&v[1]),    PUT_VALUE(&v[2]),
        ADD_PIECE(&p[4]),      ADD_PIECE(&p[3]),     ADD_REF(&ref[3]),
        DROP_REF(&ref[2]),     DROP_BLOB(&p[1].key), NAME_BLOB(&p[3].key, &p[5].key),
        DROP_BLOB(&p[4].key),  ADD_ALIAS(&names[0]), NAME_BLOB(&p[5].key, &p[2].key),
    };
    const size_t n = WB_LEN(changes);
    static struct wl_change fails[WB_LEN(changes) + 1];
    for (size_t k = 1; k <= n; k++) {
        memcpy(fails, changes, k * sizeof fails[0]);
        fails[k] = (struct wl_change)DROP_NODE(&missing);
        size_t conflict = 0;
        int r = test_commit(S, ALICE, fails, k + 1, &conflict, err);
        test_note("%zu changes: %d %s", k, r, err->msg);
        FAIL_UNLESS(r == -UPP_ENOTFOUND);
        TRY(dump(t, &after, err));
        test_note("%zu changes:\n%.*sbefore:\n%.*s", k, UPP_FMT(wb_buf_str(&after)), UPP_FMT(wb_buf_str(&before)));
        FAIL_UNLESS(wb_str_eq(wb_buf_str(&after), wb_buf_str(&before)));
    }
    TRY(test_commit(S, ALICE, changes, n, NULL, err));
    TRY(dump(t, &after, err));
    test_note("%.*s", UPP_FMT(wb_buf_str(&after)));
    FAIL_UNLESS(is(wb_buf_str(&after), "node 8011223300010000 new \n"
                                       " row 0 new\n"
                                       "node 8011223300030000  \n"
                                       "thread 2 2 4\n"
                                       "listed 1\n"
                                       "run 6 5\n"
                                       "alias one 1\n"
                                       "alias two 0\n"
                                       "value a other\n"
                                       "value c 3\n"
                                       "blob 1 piece\n"
                                       "blob 3 piece\n"
                                       "loose 2\n"));
    return 0;
}

TEST_WITH(store_undoes_whatever_it_changed, .seconds = 120)
{
    CHECK(test_each_store(undoes, NULL));
}

/* ---- Numbers of rows ------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int drops_the_newest(struct test_store *t, struct upp_err *err)
{
    struct wl_node n = test_family_node(F, 1), m = test_family_node(F, 2);
    struct wl_row a = test_row(n.key, 0, 1, "a"), b = test_row(m.key, 0, 1, "b");
    if (!t->path)
        return 0; /* it has no numbers yet */
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&n), ADD_NODE(&m), ADD_ROW(&a), ADD_ROW(&b)));
    for (int i = 0; i < 3; i++) /* each time the row that was the newest goes */
        TRY(COMMIT(S, ALICE, NULL, err, DROP_NODE(&m), ADD_NODE(&m), ADD_ROW(&b)));
    TRY(COMMIT(S, ALICE, NULL, err, DROP_NODE(&m)));
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    bool good = sqlite3_open_v2(t->path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
                sqlite3_prepare_v2(db, "SELECT max(id), count(*) FROM log", -1, &st, NULL) == SQLITE_OK &&
                sqlite3_step(st) == SQLITE_ROW;
    int64_t newest = good ? sqlite3_column_int64(st, 0) : 0, rows = good ? sqlite3_column_int64(st, 1) : 0;
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
    test_note("newest %lld of %lld rows", (long long)newest, (long long)rows);
    FAIL_UNLESS(good && newest == 5 && rows == 2); /* 1, 2, 3, 4, 5: WB_UUID_NIL was given twice */
    return 0;
}

TEST(store_gives_no_number_of_a_row_twice)
{
    CHECK(test_each_store(drops_the_newest, NULL));
}
