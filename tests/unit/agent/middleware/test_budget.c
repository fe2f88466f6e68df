/* budget(): a run that has used up what it may ends with what it has. */
#include <string.h>

#include "support/bed.h"

static WEFT_SUSPENDS int run_it(struct bed *b, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wr_run_info look;
    TRY(bed_run(b, "go on", false, err));
    TRY(wr_get(b->place.rig.engine, &rig_owner, b->run, &a, &look, err));
    FAIL_UNLESS(look.run.status == WM_COMPLETED);
    bed_say(b, "cycles %zu executions %zu tokens %llu\n", b->turn->n_cycles, b->turn->n_executions,
            (unsigned long long)(b->turn->usage.input + b->turn->usage.output));
    return rig_well_formed(b->place.rig.store, &rig_owner, b->thread, err);
}

/* What the run's metadata says when it completes. */
static WEFT_SUSPENDS int complete(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    static const char name[] = "\"budgetExceeded\":\"";
    const char *at = run->state.metadata.p ? strstr(run->state.metadata.p, name) : NULL;
    (void)turn;
    (void)err;
    at = at ? at + strlen(name) : "\"";
    bed_say(arg, "over %.*s\n", (int)strcspn(at, "\""), at);
    return 0;
}

#define ROUND(id) "{\"parts\":[" CALL(id, "add") "],\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}"
#define ROUNDS    SCRIPT(ROUND("c1") "," ROUND("c2") "," ROUND("c3") "," ROUND("c4") "," REPLY(TEXT("done")))

#define LIMITS(bed, ...)                                                                                               \
    const struct weft_middleware list_[] = {weft_budget(__VA_ARGS__)};                                                 \
    (bed)->list = list_;                                                                                               \
    (bed)->n = 1;                                                                                                      \
    (bed)->place.hooks = (struct weft_hooks)                                                                           \
    {                                                                                                                  \
        .arg = (bed), .on_complete = complete                                                                          \
    }

/* covers: UAP-10.4/8 */
TEST(budget_of_steps)
{
    struct bed b = {.act = run_it, .place.script = ROUNDS};
    LIMITS(&b, .max_steps = 2);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("over max_steps\ncycles 2 executions 2 tokens 30\n"));
}

/* As many as it may have, and no more wanted: nothing was exceeded. */
TEST(budget_that_is_just_enough)
{
    struct bed b = {.act = run_it, .place.script = ROUNDS};
    LIMITS(&b, .max_steps = 5, .max_tokens = 60);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("over \ncycles 5 executions 4 tokens 60\n"));
}

/* covers: UAP-10.4/8 */
TEST(budget_of_tokens)
{
    struct bed b = {.act = run_it, .place.script = ROUNDS};
    LIMITS(&b, .max_tokens = 31);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("over max_tokens\ncycles 3 executions 3 tokens 45\n"));
}

/* covers: UAP-10.4/8 */
TEST(budget_of_money)
{
    struct bed b = {.act = run_it, .place.script = ROUNDS};
    LIMITS(&b, .max_cost = 0.00003, .input_price = 1, .output_price = 2); /* 20 millionths a round */
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("over max_cost\ncycles 2 executions 2 tokens 30\n"));
}

#define CACHED(id)                                                                                                     \
    "{\"parts\":[" CALL(id, "add") "],\"usage\":{\"input_tokens\":10,\"cache_read_tokens\":8,\"output_tokens\":5}}"

/* Cached tokens are a part of the input, and are paid once: 2 + 8 / 4 + 10 millionths a round. */
TEST(budget_of_money_with_a_cache)
{
    struct bed b = {.act = run_it,
                    .place.script = SCRIPT(CACHED("c1") "," CACHED("c2") "," CACHED("c3") "," CACHED("c4"))};
    LIMITS(&b, .max_cost = 0.00003, .input_price = 1, .output_price = 2, .cache_read_price = 0.25);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("over max_cost\ncycles 3 executions 3 tokens 45\n"));
}

/* Without a price of its own a cached token costs as much as another. */
TEST(budget_of_money_with_a_cache_of_no_price)
{
    struct bed b = {.act = run_it,
                    .place.script = SCRIPT(CACHED("c1") "," CACHED("c2") "," CACHED("c3") "," CACHED("c4"))};
    LIMITS(&b, .max_cost = 0.00003, .input_price = 1, .output_price = 2);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("over max_cost\ncycles 2 executions 2 tokens 30\n"));
}

/* A call that takes longer is given up. */
/* covers: UAP-10.4/8 */
TEST(budget_of_time)
{
    struct bed b = {.act = run_it,
                    .place.script = SCRIPT("{\"parts\":[" CALL("c1", "slow") "]}," REPLY(TEXT("never said")))};
    LIMITS(&b, .max_time_ms = 300);
    BED_PLAYS(&b);
    CHECK(strncmp(b.text, "over max_time\n", 14) == 0);
    CHECK(strstr(b.text, "cycles 1 "));
}

TEST(budget_of_time_while_the_model_speaks)
{
    struct bed b = {.act = run_it, .place.script = SLOWLY};
    LIMITS(&b, .max_time_ms = 350);
    BED_PLAYS(&b);
    CHECK(strncmp(b.text, "over max_time\n", 14) == 0);
}

#define HELPED                                                                                                         \
    SCRIPT("{\"parts\":[" CALL("c1", "ask_helper") "],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}," ROUND(     \
        "c2") "," REPLY(TEXT("done")))

/* What a child uses counts. */
/* covers: UAP-10.4/9 */
TEST(budget_counts_agents_below)
{
    struct bed b = {.act = run_it,
                    .place.script = HELPED,
                    .place.helper = SCRIPT(
                        "{\"parts\":[" TEXT("helped") "],\"usage\":{\"input_tokens\":40,\"output_tokens\":10}}")};
    LIMITS(&b, .max_tokens = 50);
    BED_PLAYS(&b);
    CHECK(strncmp(b.text, "over max_tokens\n", 16) == 0);
    CHECK(strstr(b.text, "cycles 2 "));
}

/* And a child stops where the budget of its parent ends. */
/* covers: UAP-10.4/9 */
TEST(budget_stops_agents_below)
{
    struct bed b = {.act = run_it, .place.script = HELPED, .place.helper = ROUNDS};
    LIMITS(&b, .max_tokens = 20);
    BED_PLAYS(&b);
    CHECK(strncmp(b.text, "over max_tokens\n", 16) == 0);
    CHECK(strstr(b.text, "cycles 3 "));
}

/* Time runs out in a child: both complete. */
TEST(budget_of_time_ends_agents_below)
{
    struct bed b = {.act = run_it, .place.script = HELPED, .place.helper = SLOWLY};
    LIMITS(&b, .max_time_ms = 350);
    BED_PLAYS(&b);
    CHECK(strncmp(b.text, "over max_time\n", 14) == 0);
}

static WEFT_SUSPENDS int crash_and_go_on(struct bed *b, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(rig_start(&b->place.rig, "main", "go on", NULL, &s, err));
    TRY(weft_sleep_ms(500, err)); /* the first tool runs */
    TRY(place_restart(&b->place, &n, err));
    TRY(place_await(&b->place, s.run, &status, err));
    FAIL_UNLESS(n == 1 && status == WM_COMPLETED);
    return 0;
}

/* What was used before a crash counts after it. */
TEST(budget_survives_a_crash)
{
    struct bed b = {.act = crash_and_go_on,
                    .place.script = SCRIPT("{\"parts\":[" CALL(
                        "c1", "slow") "],\"usage\":{\"input_tokens\":50,\"output_tokens\":1}}," ROUND("c2"))};
    LIMITS(&b, .max_tokens = 50);
    BED_PLAYS(&b);
    CHECK(strncmp(b.text, "over max_tokens\n", 16) == 0);
}

/* The same check serves the rights of an agent. */
static WEFT_SUSPENDS int run_with_rights(struct bed *b, struct upp_err *err)
{
    static const struct weft_rights rights = {.budget = {.max_steps = 1}};
    b->place.rig.agents[0].rights = &rights;
    return run_it(b, err);
}

TEST(budget_of_rights)
{
    struct bed b = {.act = run_with_rights, .place.script = ROUNDS};
    LIMITS(&b, .max_steps = 3);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("over max_steps\ncycles 1 executions 1 tokens 15\n"));
}
