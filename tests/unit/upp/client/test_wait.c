#include <upp/wait.h>

#include "base/str.h"
#include "support/test.h"

static int counts(void *arg, uint64_t ms, struct upp_err *err)
{
    uint64_t *sum = arg;
    *sum += ms;
    return *sum > 100 ? upp_fail(err, UPP_ECANCELED, "enough") : 0;
}

TEST(upp_wait_goes_through_the_table)
{
    uint64_t sum = 0;
    struct upp_err err = {0};
    struct upp_wait w = {.size = sizeof w, .arg = &sum, .sleep_ms = counts};
    CHECK_INT(upp_wait_ms(&w, 60, &err), 0);
    CHECK_INT(upp_wait_ms(&w, 0, &err), 0);
    CHECK_INT(sum, 60);
    CHECK_INT(upp_wait_ms(&w, UINT64_MAX / 2, &err), -UPP_ECANCELED);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("enough"));
}

TEST(upp_wait_without_a_table_blocks_the_thread)
{
    struct upp_wait empty = {.size = sizeof empty};
    struct upp_err err = {0};
    CHECK_INT(upp_wait_ms(NULL, 0, &err), 0);
    CHECK_INT(upp_wait_ms(&empty, 1, &err), 0);
    CHECK_INT(upp_wait_ms(NULL, UINT64_MAX, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("nobody sleeps for 18446744073709551615 ms"));
}
