/* The state of a run, as it comes back from the store. */
#include "base/defs.h"
#include "run/journal.h"
#include "support/test.h"

static int read_state(const char *json, struct wr_run *run, struct upp_err *err)
{
    run->memory = (struct wb_arena)WB_ARENA(1u << 20);
    return wr_state_read(run, wb_cstr(json), err);
}

static void forget(struct wr_run *run)
{
    wb_vec_done(&run->journal.calls);
    wb_arena_done(&run->memory);
}

TEST(run_state_comes_back)
{
    static const char json[] =
        "{\"step\":3,\"cycles\":4,\"usage\":[1,2,3,18446744073709551615],\"metadata\":{\"a\":1.50},"
        "\"own\":[null]}";
    WB_CLEANUP(forget) struct wr_run run = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    struct upp_err err = {0};
    CHECK_INT(read_state(json, &run, &err), 0);
    CHECK(run.pub.state.step == 3 && run.pub.state.cycles == 4);
    CHECK_INT(wr_state_write(&run, &out, &err), 0);
    CHECK_STR(wb_buf_str(&out), wb_cstr(json));
}

/* An earlier version kept approvals in the state: they have records now. */
TEST(run_state_of_before_has_its_approvals)
{
    WB_CLEANUP(forget) struct wr_run run = {0};
    struct upp_err err = {0};
    CHECK_INT(read_state("{\"step\":3,\"cycles\":4,\"usage\":[1,2,3,4],\"approved\":[\"c1\",\"c2\"]}", &run, &err), 0);
    struct wr_call *one = wr_call_find(&run, UPP_STR("c1")), *two = wr_call_find(&run, UPP_STR("c2"));
    CHECK(one && one->approved && two && two->approved);
    CHECK(!wr_call_find(&run, UPP_STR("c3")));
}

TEST(run_state_that_does_not_fit_is_refused)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"step\":\"3\",\"cycles\":4,\"usage\":[1,2,3,4]}",
        "{\"step\":4294967296,\"cycles\":4,\"usage\":[1,2,3,4]}",
        "{\"step\":-1,\"cycles\":4,\"usage\":[1,2,3,4]}",
        "{\"step\":3,\"usage\":[1,2,3,4]}",
        "{\"step\":3,\"cycles\":4}",
        "{\"step\":3,\"cycles\":4,\"usage\":[1,2,3]}",
        "{\"step\":3,\"cycles\":4,\"usage\":[1,2,3,null]}",
        "{\"step\":3,\"cycles\":4,\"usage\":[1,2,3,4],\"approved\":\"c1\"}",
        "{\"step\":3,\"cycles\":4,\"usage\":[1,2,3,4],\"approved\":[1]}",
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(forget) struct wr_run run = {0};
        struct upp_err err = {0};
        test_note("%s", bad[i]);
        CHECK_INT(read_state(bad[i], &run, &err), -UPP_ESTORE);
    }
}
