/* Rows that are cut: what is found, how it is written, what is refused. */
#include "stores/blobs/cut.h"

#include <string.h>

#include "support/stores.h"

/* The row as it was, put together from its cuts. */
static bool same_again(const struct wl_row *row, const struct ws_cut_row *cut, struct wb_arena *a)
{
    struct ws_cut_row x;
    struct upp_err err = {0};
    char whole[512];
    size_t n = 0, done = 0;
    if (ws_cut_read(&cut->row, a, &x, &err) < 0)
        return false;
    size_t in = x.n - !!(x.flags & WS_CUT_TAPE);
    for (size_t i = 0; i <= in; i++) {
        size_t some = (i < in ? x.p[i].at : x.whole) - n;
        memcpy(whole + n, x.rest.p + done, some);
        done += some;
        n += some;
        if (i < in) {
            memcpy(whole + n, cut->p[i].bytes.p, x.p[i].bytes.n);
            n += x.p[i].bytes.n;
        }
    }
    for (size_t i = 0; i < x.n; i++)
        if (memcmp(x.p[i].key.b, cut->p[i].key.b, 32) != 0 || x.p[i].bytes.n != cut->p[i].bytes.n)
            return false;
    return wb_str_eq(wb_str(whole, n), row->body);
}

/* covers: TP-52 */
TEST(blob_cut_finds_strings)
{
    static const struct {
        const char *body, *tape;
        size_t max, n, keys;
        const char *first;
    } cases[] = {
        {"{\"a\":\"0123456789\"}", "", 9, 1, 1, "0123456789"},
        {"{\"a\":\"01234567\"}", "", 9, 1, 1, "01234567"},
        {"{\"a\":\"0123456\"}", "", 9, 0, 0, NULL},
        {"{\"a\":\"\\\"\\\"\\\"\\\"\"}", "", 9, 1, 1, "\\\"\\\"\\\"\\\""},
        {"{\"a\":\"123456\\\\\",\"b\":\"x\"}", "", 9, 1, 1, "123456\\\\"},
        {"[\"aaaaaaaa\",\"bbbbbbbb\",\"aaaaaaaa\"]", "", 9, 3, 2, "aaaaaaaa"},
        {"[\"aaaaaaaa\",\"bbbbbbbb\",\"aaaaaaaa\"]", "", 1, 2, 1, "aaaaaaaa"},
        {"[\"aaaaaaaa\"]", "", 0, 0, 0, NULL},
        {"\"aaaaaaaa\"\"bbbbbbbb\"", "", 9, 2, 2, "aaaaaaaa"},
        {"{\"a long name\":1}", "", 9, 1, 1, "a long name"},
        {"\"it has no end", "", 9, 0, 0, NULL},
        {"\"it has no end\\\"", "", 9, 0, 0, NULL},
        {"no string at all", "", 9, 0, 0, NULL},
        {"", "", 9, 0, 0, NULL},
        {"\"", "", 9, 0, 0, NULL},
        {"x", "a tape of its own", 9, 1, 1, "a tape of its own"},
        {"", "a tape of its own", 9, 1, 1, "a tape of its own"},
        {"[\"aaaaaaaa\"]", "aaaaaaaa", 9, 2, 1, "aaaaaaaa"},
        {"[\"aaaaaaaa\"]", "aaaaaaab", 9, 2, 2, "aaaaaaaa"},
        {"[\"aaaaaaaa\"]", "aaaaaaab", 1, 1, 1, "aaaaaaaa"},
        {"[\"aaaaaaaa\"]", "short", 9, 1, 1, "aaaaaaaa"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        struct wl_row row = test_row(7, 0, 1, cases[i].body);
        struct ws_cut_row x;
        struct upp_err err = {0};
        row.tape = wb_cstr(cases[i].tape);
        test_note("case %zu", i);
        CHECK(ws_cut(&row, 8, cases[i].max, &a, &x, &err) == 0);
        CHECK_INT(x.n, cases[i].n);
        CHECK_INT(x.keys, cases[i].keys);
        CHECK(!x.n == !(x.row.format & WL_FORMAT_CUT));
        if (!x.n) {
            CHECK(wb_str_eq(x.row.body, row.body) && wb_str_eq(x.row.tape, row.tape));
            continue;
        }
        CHECK_STR(x.p[0].bytes, wb_cstr(cases[i].first));
        CHECK(same_again(&row, &x, &a));
    }
}

TEST(blob_cut_leaves_rows_of_which_much_would_stay)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(32 << 20);
    struct upp_err err = {0};
    struct wl_row row = test_row(7, 0, 1, "");
    struct ws_cut_row x;
    for (size_t n = WS_CUT_REST - 1; n <= WS_CUT_REST + 1; n++) { /* blanks, and "aaaaaaaa" */
        char *p = wb_arena_alloc(&a, n + 8, 1);
        CHECK(p != NULL);
        memset(p, ' ', n + 8);
        memcpy(p, "\"aaaaaaaa\"", 10);
        row.body = wb_str(p, n + 8);
        CHECK(ws_cut(&row, 8, 9, &a, &x, &err) == 0);
        CHECK(x.n == (n <= WS_CUT_REST) && x.keys == x.n && ws_cut_size(&x.row) == n + 8);
    }
}

TEST(blob_cut_refuses_what_is_no_list)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct upp_err err = {0};
    struct wl_row row = test_row(7, 0, 1, "[\"aaaaaaaa\",\"bbbbbbbb\"] and more"), x;
    struct ws_cut_row cut, back;
    char bytes[256];
    row.tape = UPP_STR("cccccccc");
    CHECK(ws_cut(&row, 8, 9, &a, &cut, &err) == 0);
    CHECK(cut.n == 3 && cut.row.body.n < sizeof bytes && !cut.row.tape.p);
    x = cut.row;
    for (size_t n = 0; n < cut.row.body.n; n++) { /* cut short anywhere */
        x.body.n = n;
        CHECK_INT(ws_cut_read(&x, &a, &back, &err), -UPP_ESTORE);
    }
    /* Any bit another: refused, or read as a list that adds up. */
    memcpy(bytes, cut.row.body.p, cut.row.body.n);
    x.body = wb_str(bytes, cut.row.body.n);
    for (size_t at = 0; at < 10 + 3 * 40; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[at] = (char)(bytes[at] ^ (1 << bit));
            int r = ws_cut_read(&x, &a, &back, &err);
            CHECK(r == -UPP_ESTORE || (r == 0 && (at == 1 || at >= 10)));
            bytes[at] = (char)(bytes[at] ^ (1 << bit));
        }
    }
    CHECK(ws_cut_read(&x, &a, &back, &err) == 0);
}
