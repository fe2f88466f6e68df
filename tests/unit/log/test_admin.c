/* The audit of the store: rows in order, whatever the clock does; two steps; retention; what is damaged. */
#include "log/admin.h"

#include "base/clock.h"
#include "log/change.h"
#include "support/said.h"

#define DAY WL_DAY_MS

static const struct wl_owner own = {.tenant = UPP_STR_INIT(WL_OWN_TENANT)};

static struct wl_admin row_of(const char *action)
{
    return (struct wl_admin){.actor = WL_ADMIN_KEY,
                             .uid = -1,
                             .key = UPP_STR("0123456789abcdef"),
                             .key_name = UPP_STR("ci"),
                             .tenant = UPP_STR("acme"),
                             .action = wb_cstr(action),
                             .target = UPP_STR("key 'x'")};
}

static WEFT_SUSPENDS int two_steps(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_admin row = row_of("key.create"), *list;
    struct upp_err why = {.code = UPP_EBUSY, .msg = "the name is taken"};
    size_t n;
    TRY(wl_admin_begin(st->s, &row, err));
    TRY(wl_admin_list(st->s, (struct upp_str){0}, 10, &a, &list, &n, err));
    FAIL_UNLESS(n == 1 && list[0].outcome == WL_ADMIN_STARTED && wb_str_eq(list[0].action, UPP_STR("key.create")));
    wl_admin_end(st->s, &row, -UPP_EBUSY, &why);
    row = row_of("key.revoke");
    TRY(wl_admin_begin(st->s, &row, err));
    wl_admin_end(st->s, &row, 0, NULL);
    TRY(wl_admin_list(st->s, (struct upp_str){0}, 10, &a, &list, &n, err));
    FAIL_UNLESS(n == 2 && wb_str_eq(list[0].action, UPP_STR("key.revoke")) && list[0].outcome == WL_ADMIN_DONE);
    FAIL_UNLESS(list[1].outcome == WL_ADMIN_FAILED && wb_str_eq(list[1].error, UPP_STR("BUSY: the name is taken")));
    FAIL_UNLESS(wb_str_eq(list[1].key_name, UPP_STR("ci")) && wb_str_eq(list[1].tenant, UPP_STR("acme")));
    TRY(wl_admin_list(st->s, wb_cstr(list[0].id), 10, &a, &list, &n, err));
    FAIL_UNLESS(n == 1 && list[0].outcome == WL_ADMIN_FAILED);
    return 0;
}

TEST(log_admin_rows_have_two_steps)
{
    CHECK(test_each_store(two_steps, NULL));
}

/* A row that would be older than the newest follows it; one that is days ahead is not followed. */
static WEFT_SUSPENDS int ordered(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_admin *list;
    size_t n;
    for (unsigned i = 0; i < 3; i++) {
        struct wl_admin row = row_of(i == 0 ? "a" : i == 1 ? "b" : "c");
        if (i == 1) { /* as if the clock had been an hour ahead */
            char name[WL_ADMIN_ID + 1];
            wl_admin_before(wb_wall_ms() + 3600000, name);
            struct wl_value v = {.space = UPP_STR("admin"),
                                 .name = wb_cstr(name),
                                 .bytes = UPP_STR("{\"time_ms\":5,\"actor\":\"signal\",\"outcome\":\"done\",\"uid\":-1,"
                                                  "\"action\":\"ahead\"}")};
            TRY(COMMIT(st->s, own, NULL, err, PUT_VALUE(&v)));
        }
        TRY(wl_admin_begin(st->s, &row, err));
    }
    TRY(wl_admin_list(st->s, (struct upp_str){0}, 10, &a, &list, &n, err));
    FAIL_UNLESS(n == 4);
    FAIL_UNLESS(wb_str_eq(list[0].action, UPP_STR("c")) && wb_str_eq(list[1].action, UPP_STR("b")));
    FAIL_UNLESS(wb_str_eq(list[2].action, UPP_STR("ahead")) && wb_str_eq(list[3].action, UPP_STR("a")));
    return 0;
}

TEST(log_admin_rows_stay_in_order)
{
    CHECK(test_each_store(ordered, NULL));
}

/* Texts have a limit, cut where a character ends; a damaged row hides no other. */
static WEFT_SUSPENDS int bounded(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    static char text[2 * WL_ADMIN_TEXT];
    struct wl_admin row = row_of("thread.erase"), *list;
    size_t n;
    text[0] = 'x'; /* so that the limit is in the middle of a character */
    for (size_t i = 1; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    row.target = wb_str(text, sizeof text - 1);
    TRY(wl_admin_begin(st->s, &row, err));
    TRY(wl_admin_list(st->s, (struct upp_str){0}, 10, &a, &list, &n, err));
    FAIL_UNLESS(n == 1 && list[0].target.n == WL_ADMIN_TEXT - 1);
    struct wl_value v = {.space = UPP_STR("admin"), .name = wb_cstr(row.id), .bytes = UPP_STR("{\"time_ms\":tr")};
    TRY(COMMIT(st->s, own, NULL, err, PUT_VALUE(&v)));
    row = row_of("next");
    TRY(wl_admin_begin(st->s, &row, err));
    TRY(wl_admin_list(st->s, (struct upp_str){0}, 10, &a, &list, &n, err));
    FAIL_UNLESS(n == 2 && wb_str_eq(list[1].action, UPP_STR("unreadable")) && list[1].time_ms > 0);
    return 0;
}

TEST(log_admin_rows_are_bounded)
{
    CHECK(test_each_store(bounded, NULL));
}

static WEFT_SUSPENDS int swept(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_admin *list;
    int64_t now = wb_wall_ms();
    size_t n;
    for (int64_t i = 0; i < 300; i++) { /* two pages, a day apart */
        char name[WL_ADMIN_ID + 1];
        wl_admin_before(now - i * DAY, name);
        struct wl_value v = {.space = UPP_STR("admin"), .name = wb_cstr(name), .bytes = UPP_STR("{}")};
        TRY(COMMIT(st->s, own, NULL, err, PUT_VALUE(&v)));
    }
    TRY(wl_admin_sweep(st->s, now - 290 * DAY, WL_ADMIN_PAGE, &n, err));
    FAIL_UNLESS(n == 9);
    TRY(wl_admin_sweep(st->s, now - 2 * DAY, WL_ADMIN_PAGE, &n, err));
    FAIL_UNLESS(n == WL_ADMIN_PAGE);
    TRY(wl_admin_sweep(st->s, now - 2 * DAY, WL_ADMIN_PAGE, &n, err));
    FAIL_UNLESS(n == 300 - 9 - WL_ADMIN_PAGE - 3);
    TRY(wl_admin_list(st->s, (struct upp_str){0}, 100, &a, &list, &n, err));
    FAIL_UNLESS(n == 3);
    return 0;
}

TEST_WITH(log_admin_rows_go_with_time, .no_torture = "hundreds of commits")
{
    CHECK(test_each_store(swept, NULL));
}
