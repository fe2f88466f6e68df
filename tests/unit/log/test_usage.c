/* What was used on a day: records, order, retention. */
#include "log/usage.h"

#include "log/change.h"
#include "support/said.h"

static const struct wl_owner own = {.tenant = UPP_STR_INIT(WL_OWN_TENANT)};

static WEFT_SUSPENDS int put(struct wl_store *s, const struct wl_usage *u, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_value v;
    TRY(wl_usage_value(&a, u, &v, err));
    TRY(COMMIT(s, own, NULL, err, PUT_VALUE(&v)));
    return 0;
}

static WEFT_SUSPENDS int days(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_usage *list, one;
    struct upp_str last;
    size_t n;
    for (int64_t day = 20000; day < 20010; day++) {
        TRY(put(st->s, &(struct wl_usage){.day = day, .tenant = UPP_STR("acme"), .runs = 1, .input = 5}, err));
        TRY(put(st->s,
                &(struct wl_usage){.day = day,
                                   .tenant = UPP_STR("acme"),
                                   .user = UPP_STR("ann"),
                                   .key = UPP_STR("0123456789abcdef"),
                                   .key_name = UPP_STR("ci"),
                                   .requests = 2,
                                   .cache_read = 3},
                err));
    }
    TRY(wl_usage_list(st->s, 20008, (struct upp_str){0}, 3, &a, &list, &n, &last, err));
    FAIL_UNLESS(n == 3 && list[0].day == 20008 && wb_str_eq(list[0].key_name, UPP_STR("ci")) && last.n);
    FAIL_UNLESS(list[0].requests == 2 && list[0].cache_read == 3 && wb_str_eq(list[0].user, UPP_STR("ann")));
    FAIL_UNLESS(!list[1].key.n && list[1].runs == 1 && list[1].input == 5 && list[2].day == 20009);
    TRY(wl_usage_list(st->s, 20008, last, 3, &a, &list, &n, &last, err));
    FAIL_UNLESS(n == 1 && list[0].day == 20009 && !last.n);
    TRY(wl_usage_get(st->s, 20001, UPP_STR("acme"), UPP_STR(""), &a, &one, err));
    FAIL_UNLESS(one.runs == 1 && one.day == 20001);
    FAIL_UNLESS(wl_usage_get(st->s, 20001, UPP_STR("other"), UPP_STR(""), &a, &one, err) == -UPP_ENOTFOUND);
    TRY(wl_usage_sweep(st->s, 20009, 10, &n, err));
    FAIL_UNLESS(n == 10);
    TRY(wl_usage_sweep(st->s, 20009, 10, &n, err));
    FAIL_UNLESS(n == 8);
    TRY(wl_usage_sweep(st->s, 20009, 10, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(wl_usage_list(st->s, 0, (struct upp_str){0}, 100, &a, &list, &n, &last, err));
    FAIL_UNLESS(n == 2);
    return 0;
}

TEST(log_usage_is_listed_by_day)
{
    CHECK(test_each_store(days, NULL));
}
