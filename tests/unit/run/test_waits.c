/* How long calls wait for their answers: a client's tool and an approval each have their time, across restarts. */
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "support/race_rig.h"

enum { HOUR_MS = 3600000 };

#define PICK   SCRIPT(REPLY(CALL("c1", "pick")) "," REPLY("{\"text\":\"well\"}"))
#define DANGER SCRIPT(REPLY(CALL("c1", "danger")) "," REPLY("{\"text\":\"well\"}"))
#define BOTH   SCRIPT(REPLY(CALL("c1", "pick") "," CALL("c2", "danger")) "," REPLY("{\"text\":\"well\"}"))

static WEFT_SUSPENDS int is_status(struct place *p, struct wb_uuid run, uint8_t want, struct upp_err *err)
{
    uint8_t status;
    TRY(place_await(p, run, &status, err));
    FAIL_UNLESS(status == want);
    return 0;
}

/* Waits, restarts in the middle, and expires when its time is over and not before, while nothing else happens. */
static WEFT_SUSPENDS int expires_in_time(struct place *p, uint64_t ms, struct upp_err *err)
{
    struct wr_started s;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(is_status(p, s.run, WM_WAITING, err));
    TRY(weft_sleep_ms(ms / 2, err));
    TRY(place_restart(p, &n, err));
    TRY(weft_sleep_ms(ms / 2 - 500, err));
    TRY(is_status(p, s.run, WM_WAITING, err));
    TRY(weft_sleep_ms(1000, err));
    return is_status(p, s.run, WM_EXPIRED, err);
}

static WEFT_SUSPENDS int tool_in_time(struct place *p, struct upp_err *err)
{
    return expires_in_time(p, p->wait_ms, err);
}

static WEFT_SUSPENDS int approval_in_time(struct place *p, struct upp_err *err)
{
    return expires_in_time(p, p->approval_ms, err);
}

TEST_WITH(waits_of_tools_and_approvals_end, .no_torture = "test_busy.c covers expiry")
{
    PLAYS(.script = PICK, .act = tool_in_time, .wait_ms = 5000, .approval_ms = 60000);
    PLAYS(.script = DANGER, .act = approval_in_time, .wait_ms = 5000, .approval_ms = 60000);
}

/* The defaults: a day for a client's tool, a week for an approval. */
static WEFT_SUSPENDS int has_default(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    int64_t hours = p->max_runs; /* the test's parameter */
    TRY(place_start(p, &s, err));
    TRY(is_status(p, s.run, WM_WAITING, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.expires_ms >= wb_wall_ms() + hours * HOUR_MS - 5000);
    FAIL_UNLESS(row.expires_ms <= wb_wall_ms() + hours * HOUR_MS);
    return 0;
}

TEST_WITH(waits_have_defaults, .no_torture = "test_busy.c covers expiry")
{
    PLAYS(.script = PICK, .act = has_default, .max_runs = 24);
    PLAYS(.script = DANGER, .act = has_default, .max_runs = 7 * 24);
    PLAYS(.script = BOTH, .act = has_default, .max_runs = 24); /* the first that ends */
}

/* Once the tool has its answer, the approval has the rest of its own time, which began with the run's wait. */
static WEFT_SUSPENDS int rest_is_longer(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run before, row;
    struct wr_run_info info;
    struct wr_answer answer = {.call = UPP_STR("c1"), .result = UPP_STR("1")};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(is_status(p, s.run, WM_WAITING, err));
    TRY(place_stored(p, s.run, &before, err));
    TRY(weft_sleep_ms(1000, err));
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run, &answer, 1, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_WAITING);
    FAIL_UNLESS(row.expires_ms - before.expires_ms == (int64_t)(p->approval_ms - p->wait_ms));
    TRY(place_restart(p, &n, err));
    TRY(wr_get(p->rig.engine, &rig_owner, s.run, &a, &info, err));
    FAIL_UNLESS(info.n_pending == 1 && info.pending[0].approval);
    FAIL_UNLESS(info.pending[0].since_ms == row.expires_ms - (int64_t)p->approval_ms);
    TRY(weft_sleep_ms(p->approval_ms - 2000, err));
    TRY(is_status(p, s.run, WM_WAITING, err));
    TRY(weft_sleep_ms(2000, err));
    return is_status(p, s.run, WM_EXPIRED, err);
}

TEST_WITH(waits_of_what_is_left, .no_torture = "test_busy.c covers expiry")
{
    PLAYS(.script = BOTH, .act = rest_is_longer, .wait_ms = 5000, .approval_ms = 60000);
}

/* An answer that comes too late is refused, also if nobody has supervised the run since. */
static WEFT_SUSPENDS int answers_late(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct upp_err why = {0};
    struct wr_answer answer = {.call = UPP_STR("c1"), .approved = true};
    TRY(place_start(p, &s, err));
    TRY(is_status(p, s.run, WM_WAITING, err));
    rig_close(&p->rig);
    TRY(weft_sleep_ms(p->approval_ms + 1, err));
    TRY(place_open(p, err)); /* and recovers nothing */
    FAIL_UNLESS(wr_answer(p->rig.engine, &rig_owner, s.run, &answer, 1, &why) == -UPP_EINVALID);
    FAIL_UNLESS(strstr(why.msg, "expired"));
    return is_status(p, s.run, WM_EXPIRED, err);
}

TEST(waits_refuse_late_answers)
{
    PLAYS(.script = DANGER, .act = answers_late, .wait_ms = 5000, .approval_ms = 6000);
}

/* The model receives the reason of a denial. */
static WEFT_SUSPENDS int denies(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_str text;
    TRY(wr_denial(&a, UPP_STR("not \"now\""), &text, err));
    FAIL_UNLESS(wb_str_eq(text, UPP_STR("\"Tool execution denied by approval handler: not \\\"now\\\"\"")));
    TRY(wr_denial(&a, UPP_STR(""), &text, err));
    FAIL_UNLESS(wb_str_eq(text, UPP_STR("\"Tool execution denied by approval handler\"")));
    struct wr_started s;
    struct wr_answer answer = {.call = UPP_STR("c1"), .reason = UPP_STR("no")};
    TRY(place_start(p, &s, err));
    TRY(is_status(p, s.run, WM_WAITING, err));
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run, &answer, 1, err));
    return is_status(p, s.run, WM_COMPLETED, err);
}

TEST(waits_end_with_the_reason_of_a_denial)
{
    PLAYS(.script = DANGER, .act = denies);
}
