/* Every store: values by name, tenants, blobs in pieces and who refers to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "stores/check.h"
#include "model/id.h"
#include "support/stores.h"

#define S (t->s)
#define O (t->s->ops)

static bool is(struct upp_str s, const char *want)
{
    return want ? s.p && wb_str_eq(s, wb_cstr(want)) : !s.p;
}

static struct wl_blob_key key_of(unsigned char n)
{
    return (struct wl_blob_key){{n, 0, 0xff}};
}

static char large[WL_PIECE]; /* of zeros */

static struct wl_piece piece_of(unsigned char key, uint32_t number, const char *bytes)
{
    if (!bytes)
        return (struct wl_piece){.key = key_of(key), .number = number, .bytes = {large, sizeof large}};
    return (struct wl_piece){.key = key_of(key), .number = number, .last = true, .bytes = wb_cstr(bytes)};
}

/* ---- Values ---------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int values(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_value in[] = {
        {UPP_STR("s"), UPP_STR("b"), UPP_STR("two")},
        {UPP_STR("s"), UPP_STR("a"), UPP_STR("one")},
        {UPP_STR("r"), UPP_STR("z"), UPP_STR("another space")},
        {UPP_STR("s"), UPP_STR("c\xff"), {NULL, 0}},
        {UPP_STR("sa"), UPP_STR("a"), UPP_STR("a longer space")},
    };
    struct upp_str x;
    struct wl_value *p;
    size_t n;
    for (size_t i = 0; i < WB_LEN(in); i++)
        TRY(COMMIT(S, ALICE, NULL, err, PUT_VALUE(&in[i])));
    struct wl_value foreign = {UPP_STR("s"), UPP_STR("a"), UPP_STR("eve's")};
    TRY(COMMIT(S, EVE, NULL, err, PUT_VALUE(&foreign)));
    TRY(wl_get_value(S, &BOB, UPP_STR("s"), UPP_STR("a"), &a, &x, err)); /* of the tenant, whatever user */
    FAIL_UNLESS(is(x, "one"));
    TRY(wl_get_value(S, &EVE, UPP_STR("s"), UPP_STR("a"), &a, &x, err));
    FAIL_UNLESS(is(x, "eve's"));
    TRY(wl_get_value(S, &ALICE, UPP_STR("s"), UPP_STR("c\xff"), &a, &x, err));
    FAIL_UNLESS(is(x, NULL));
    FAIL_UNLESS(wl_get_value(S, &ALICE, UPP_STR("s"), UPP_STR("d"), &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_value(S, &ALICE, UPP_STR(""), UPP_STR("a"), &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_value(S, &OWNER("nobody", ""), UPP_STR("s"), UPP_STR("a"), &a, &x, err) == -UPP_ENOTFOUND);

    /* A list, by name, in pages. */
    static const char *const names[] = {"a", "b", "c\xff"};
    struct upp_str after = {NULL, 0};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        TRY(wl_list_values(S, &ALICE, UPP_STR("s"), after, 1, &a, &p, &n, err));
        FAIL_UNLESS(n == 1 && is(p[0].name, names[i]) && is(p[0].space, "s"));
        after = p[0].name;
    }
    TRY(wl_list_values(S, &ALICE, UPP_STR("s"), after, 9, &a, &p, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(wl_list_values(S, &ALICE, UPP_STR("s"), UPP_STR("aa"), 9, &a, &p, &n,
                       err)); /* behind a name that is not there */
    FAIL_UNLESS(n == 2 && is(p[0].bytes, "two") && is(p[1].bytes, NULL));

    /* Put again, dropped, dropped again. */
    in[1].bytes = UPP_STR("");
    TRY(COMMIT(S, ALICE, NULL, err, PUT_VALUE(&in[1]), DROP_VALUE(&in[0]), DROP_VALUE(&in[0])));
    TRY(wl_list_values(S, &ALICE, UPP_STR("s"), UPP_STR(""), 9, &a, &p, &n, err));
    FAIL_UNLESS(n == 2 && is(p[0].bytes, "") && is(p[1].name, "c\xff"));
    TRY(wl_get_value(S, &EVE, UPP_STR("s"), UPP_STR("a"), &a, &x, err));
    FAIL_UNLESS(is(x, "eve's"));

    struct wl_value bad = {UPP_STR("s"), UPP_STR(""), UPP_STR("")};
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, PUT_VALUE(&bad)) == -UPP_EINVALID);
    bad.name = (struct upp_str){large, WS_NAME_MAX + 1};
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, PUT_VALUE(&bad)) == -UPP_ELIMIT);
    bad.name = UPP_STR("n");
    bad.space = (struct upp_str){large, WS_NAME_MAX + 1};
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_VALUE(&bad)) == -UPP_ELIMIT);
    bad.space = UPP_STR("s");
    bad.bytes.p = large;
    bad.bytes.n = WS_VALUE_MAX + 1;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, PUT_VALUE(&bad)) == -UPP_ELIMIT);
    return 0;
}

TEST(store_values_by_name)
{
    CHECK(test_each_store(values, NULL));
}

/* What a tenant has stored: every text once, nothing of others; an encrypted store counts a little more. */
WEFT_SUSPENDS static int bytes(struct test_store *t, struct upp_err *err)
{
    static char text[3 * 1000];
    struct wl_value v = {UPP_STR("s"), UPP_STR("a"), wb_str(text, 1000)};
    struct wl_row row = {
        .node = wm_key(test_uuid(1)), .n_entries = 1, .body = wb_str(text, 2000), .tape = wb_str(text, 3000)};
    struct wl_node node = {.key = row.node, .id = test_uuid(1), .tree = test_uuid(1)};
    struct wl_piece piece = {.last = true, .bytes = wb_str(text, 500)};
    uint64_t before = 0, n = 0, most = 5 * 200;
    TRY(wl_get_bytes(S, &ALICE, &before, err));
    FAIL_UNLESS(before == 0);
    TRY(COMMIT(S, ALICE, NULL, err, PUT_VALUE(&v), ADD_NODE(&node), ADD_ROW(&row),
               {.kind = WL_ADD_PIECE, .piece = &piece}));
    TRY(COMMIT(S, EVE, NULL, err, PUT_VALUE(&v)));
    TRY(wl_get_bytes(S, &BOB, &n, err)); /* of the tenant, whatever user */
    test_note("%s: %llu", t->kind, (unsigned long long)n);
    FAIL_UNLESS(n >= 6500 && n < 6500 + most);
    TRY(COMMIT(S, ALICE, NULL, err, DROP_VALUE(&v)));
    TRY(wl_get_bytes(S, &ALICE, &n, err));
    FAIL_UNLESS(n >= 5500 && n < 5500 + most);
    TRY(wl_get_bytes(S, &EVE, &n, err));
    FAIL_UNLESS(n >= 1000 && n < 1000 + most);
    return 0;
}

TEST(store_counts_the_bytes_of_a_tenant)
{
    CHECK(test_each_store(bytes, NULL));
}

WEFT_SUSPENDS static int tenants(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    static const char *const in[] = {"m", "z", "a", "mm"}, *const want[] = {"a", "m", "mm", "z"};
    struct upp_str *p, after = {NULL, 0};
    size_t n;
    struct wl_value v = {UPP_STR("s"), UPP_STR("a"), UPP_STR("1")};
    for (size_t i = 0; i < WB_LEN(in); i++)
        TRY(COMMIT(S, ((struct wl_owner){wb_cstr(in[i]), UPP_STR("")}), NULL, err, PUT_VALUE(&v)));
    for (size_t i = 0; i < WB_LEN(want); i++) {
        TRY(wl_list_tenants(S, after, 1, &a, &p, &n, err));
        FAIL_UNLESS(n == 1 && is(p[0], want[i]));
        after = p[0];
    }
    TRY(wl_list_tenants(S, after, 9, &a, &p, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(wl_list_tenants(S, UPP_STR("b"), 9, &a, &p, &n, err));
    FAIL_UNLESS(n == 3);
    return 0;
}

TEST(store_lists_tenants)
{
    CHECK(test_each_store(tenants, NULL));
}

/* ---- Blobs ----------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int blobs(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_piece x, p[] = {piece_of(1, 0, NULL), piece_of(1, 1, NULL), piece_of(1, 2, "end")};
    struct wl_piece late = piece_of(1, 3, "more"), empty = piece_of(2, 0, "");
    struct wl_blob_key k = key_of(1);
    size_t conflict;
    FAIL_UNLESS(COMMIT(S, ALICE, &conflict, err, ADD_PIECE(&p[1])) == -UPP_EBUSY && conflict == 0);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&p[0])));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&p[2])) == -UPP_EBUSY);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&p[0]), ADD_PIECE(&p[1])));
    FAIL_UNLESS(wl_get_piece(S, &ALICE, &k, 0, &a, &x, err) == -UPP_ENOTFOUND); /* it is not whole */
    TRY(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&p[2])));
    for (uint32_t i = 0; i < 3; i++) {
        TRY(wl_get_piece(S, &BOB, &k, i, &a, &x, err));
        FAIL_UNLESS(x.number == i && x.last == (i == 2) && wb_str_eq(x.bytes, p[i].bytes));
        FAIL_UNLESS(memcmp(x.key.b, k.b, sizeof k.b) == 0);
    }
    FAIL_UNLESS(wl_get_piece(S, &ALICE, &k, 3, &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_piece(S, &ALICE, &k, UINT32_MAX, &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_piece(S, &EVE, &k, 0, &a, &x, err) == -UPP_ENOTFOUND);
    TRY(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&p[2]), ADD_PIECE(&p[0]), ADD_PIECE(&empty)));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&late)) == -UPP_EINVALID);
    TRY(wl_get_piece(S, &ALICE, &empty.key, 0, &a, &x, err));
    FAIL_UNLESS(x.last && x.bytes.n == 0);

    struct wl_piece bad = piece_of(3, 0, "short");
    bad.last = false;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&bad)) == -UPP_EINVALID);
    bad.last = true;
    bad.bytes.n = WL_PIECE + 1;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&bad)) == -UPP_EINVALID);
    bad = piece_of(3, WS_PIECES_MAX, "x");
    bad.number = WS_PIECES_MAX;
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&bad)) == -UPP_ELIMIT);

    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, DROP_BLOB(&k)) == -UPP_ENOTFOUND);
    TRY(COMMIT(S, ALICE, NULL, err, DROP_BLOB(&k)));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_BLOB(&k)) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_get_piece(S, &ALICE, &k, 0, &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&p[1])) == -UPP_EBUSY); /* from the beginning, then */
    TRY(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&p[0]), ADD_PIECE(&p[1]), ADD_PIECE(&p[2])));
    return 0;
}

TEST(store_blobs_in_pieces)
{
    CHECK(test_each_store(blobs, NULL));
}

/* ---- References, on a clock of our own -------------------------------------------------------------- */

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

/* Those that were loose before a time, as bits. */
WEFT_SUSPENDS static int loose(struct test_store *t, int64_t before, unsigned *ret, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_blob_key *p;
    size_t n;
    *ret = 0;
    TRY(wl_list_unreferenced_blobs(S, &ALICE, false, before, 9, &a, &p, &n, err));
    for (size_t i = 0; i < n; i++)
        *ret |= 1u << p[i].b[0];
    return 0;
}

WEFT_SUSPENDS static int references(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_node n = test_family_node(7, 1);
    struct wl_row rows[] = {test_row(n.key, 0, 1, "a"), test_row(n.key, wl_pos(1, 0), 1, "b")}, set = rows[1];
    struct wl_piece p[] = {piece_of(1, 0, "one"), piece_of(2, 0, "two"), piece_of(3, 0, NULL)};
    struct wl_ref ref[] = {{p[0].key, n.key, 0, {{0}}},
                           {p[0].key, n.key, wl_pos(1, 0), {{0}}},
                           {p[1].key, n.key, wl_pos(1, 0), {{0}}},
                           {p[1].key, 0, 0, test_uuid(1)},
                           {p[2].key, n.key, 0, {{0}}}};
    struct wl_blob_key *keys;
    size_t count;
    unsigned bits;
    clock_now.wall_ms = 1000;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_NODE(&n), ADD_ROW(&rows[0]), ADD_ROW(&rows[1]), ADD_PIECE(&p[0]),
               ADD_PIECE(&p[1]), ADD_PIECE(&p[2])));
    TRY(loose(t, 1001, &bits, err));
    FAIL_UNLESS(bits == 0xe); /* also the one that is not whole */
    TRY(loose(t, 1000, &bits, err));
    FAIL_UNLESS(bits == 0);
    TRY(wl_list_unreferenced_blobs(S, &ALICE, false, 1001, 2, &a, &keys, &count, err));
    FAIL_UNLESS(count == 2);
    TRY(wl_list_unreferenced_blobs(S, &EVE, false, 1001, 2, &a, &keys, &count, err));
    FAIL_UNLESS(count == 0);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_REF(&ref[4])) == -UPP_EBUSY); /* not whole */
    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, ADD_REF(&ref[0])) == -UPP_EBUSY);

    TRY(COMMIT(S, ALICE, NULL, err, ADD_REF(&ref[0]), ADD_REF(&ref[1]), ADD_REF(&ref[2]), ADD_REF(&ref[3]),
               ADD_REF(&ref[3])));
    TRY(loose(t, INT64_MAX, &bits, err));
    FAIL_UNLESS(bits == 0x8);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_BLOB(&p[0].key)) == -UPP_EBUSY);

    /* A row that is set lets go of what it referred to, alone; a node that is dropped, of all. */
    clock_now.wall_ms = 2000;
    TRY(COMMIT(S, ALICE, NULL, err, SET_ROW(&set), DROP_REF(&ref[3]), DROP_REF(&ref[3]), DROP_REF(&ref[4])));
    TRY(loose(t, 2001, &bits, err));
    FAIL_UNLESS(bits == 0xc); /* the second is loose since now; the first is held by the first row */
    TRY(loose(t, 2000, &bits, err));
    FAIL_UNLESS(bits == 0x8);
    clock_now.wall_ms = 3000;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_REF(&ref[1]), ADD_REF(&ref[2]), DROP_NODE(&n)));
    TRY(loose(t, 3000, &bits, err));
    FAIL_UNLESS(bits == 0x8);
    TRY(loose(t, 3001, &bits, err));
    FAIL_UNLESS(bits == 0xe);

    /* Who brings a piece again will want it: its time begins anew. */
    clock_now.wall_ms = 4000;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&p[0])));
    TRY(loose(t, 4000, &bits, err));
    FAIL_UNLESS(bits == 0xc);
    TRY(COMMIT(S, ALICE, NULL, err, DROP_BLOB(&p[0].key), DROP_BLOB(&p[1].key), DROP_BLOB(&p[2].key)));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, ADD_REF(&ref[3])) == -UPP_EBUSY);
    TRY(loose(t, INT64_MAX, &bits, err));
    FAIL_UNLESS(bits == 0);
    return 0;
}

/* ---- Names ----------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int names(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_piece one = piece_of(1, 0, "text"), two = piece_of(2, 0, "text"), x;
    struct wl_piece half = piece_of(3, 0, NULL), other = piece_of(4, 0, "other");
    struct wl_ref ref = {.blob = two.key, .id = test_uuid(1)};
    unsigned bits;
    clock_now.wall_ms = 1000;
    TRY(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&one), ADD_PIECE(&half)));
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, NAME_BLOB(&two.key, &one.key)) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, EVE, NULL, err, NAME_BLOB(&one.key, &two.key)) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, NAME_BLOB(&half.key, &two.key)) == -UPP_EBUSY);
    clock_now.wall_ms = 2000;
    TRY(COMMIT(S, ALICE, NULL, err, NAME_BLOB(&one.key, &two.key), ADD_REF(&ref)));
    TRY(wl_get_piece(S, &ALICE, &two.key, 0, &a, &x, err));
    FAIL_UNLESS(is(x.bytes, "text"));
    FAIL_UNLESS(wl_get_piece(S, &ALICE, &one.key, 0, &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, NAME_BLOB(&two.key, &one.key)) == -UPP_EBUSY);

    /* Where there is one already the new one goes, and who referred to the old one still has it. */
    TRY(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&one), NAME_BLOB(&one.key, &two.key)));
    FAIL_UNLESS(wl_get_piece(S, &ALICE, &one.key, 0, &a, &x, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(COMMIT(S, ALICE, NULL, err, DROP_BLOB(&two.key)) == -UPP_EBUSY);
    /* One that was only begun makes room; the same name is no change. */
    TRY(COMMIT(S, ALICE, NULL, err, ADD_PIECE(&other), NAME_BLOB(&other.key, &half.key),
               NAME_BLOB(&half.key, &half.key)));
    TRY(wl_get_piece(S, &ALICE, &half.key, 0, &a, &x, err));
    FAIL_UNLESS(is(x.bytes, "other") && x.last);
    TRY(loose(t, 2000, &bits, err));
    FAIL_UNLESS(bits == 0);
    TRY(loose(t, 2001, &bits, err));
    FAIL_UNLESS(bits == 0x8);
    return 0;
}

static void with_a_clock(WEFT_SUSPENDS int (*fn)(struct test_store *t, struct upp_err *err))
{
    clock_now.before = *wb_hooks();
    struct upp_hooks table = clock_now.before;
    table.wall_ns = wall_ns;
    UPP_CLEANUP(clock_back) int undo = 0;
    CHECK(upp_global_init(&table, NULL) == 0);
    CHECK(test_each_store(fn, NULL));
    (void)undo;
}

TEST(store_blobs_are_kept_while_something_refers_to_them)
{
    with_a_clock(references);
}

TEST(store_blobs_get_names)
{
    with_a_clock(names);
}
