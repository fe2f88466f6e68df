/* Runs on the memory store and without a store: what is said, in which order, and what the log holds afterwards. */
#include <string.h>

#include "base/defs.h"
#include "support/sim/sim.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/rig.h"

/* ---- One rig on one simulated loop ---------------------------------------------------------------------------- */

struct scene {
    const char *script;          /* of agent "main" */
    const char *helper, *picker; /* of the agents that are tools; NULL: echo */
    int (*act)(struct rig *rig, struct wb_buf *out, struct upp_err *err);
    bool no_store;
    struct wb_buf out;
    struct weft__sim *world;
};

static void store_closep(struct wl_store **s)
{
    if (*s)
        (*s)->ops->close(*s);
}

static WEFT_SUSPENDS int play_fiber(void *arg, struct upp_err *err)
{
    struct scene *sc = arg;
    WB_CLEANUP(store_closep) struct wl_store *store = NULL;
    struct rig rig = {0};
    if (!sc->no_store)
        TRY(ws_memory_open(&store, err));
    rig.store = store;
    int r = rig_agent(&rig, "main", sc->script, err);
    if (r >= 0)
        r = rig_agent(&rig, "helper", sc->helper, err);
    if (r >= 0)
        r = rig_agent(&rig, "picker", sc->picker, err);
    if (r >= 0)
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    if (r >= 0)
        r = sc->act(&rig, &sc->out, err);
    rig_close(&rig);
    return r;
}

static int play(struct scene *sc, struct upp_err *err)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    sc->out = (struct wb_buf)WB_BUF(1u << 20);
    TRY(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 7), &w, err));
    return weft_loop_run(weft__sim_loop(w, 0), "test", play_fiber, sc, err);
}

static WEFT_SUSPENDS int says_hello(struct rig *rig, struct wb_buf *out, struct upp_err *err)
{
    struct wr_started s;
    TRY(rig_start(rig, "main", "hello", NULL, &s, err));
    return rig_read(rig, s.run, out, err);
}

/* Plays a scene and compares what came out with a golden file. */
static void plays(struct scene sc, const char *golden)
{
    struct upp_err err = {0};
    int r = play(&sc, &err);
    if (r < 0)
        test_note("%s", err.msg);
    if (EXPECT(r == 0))
        (void)EXPECT(test_golden(golden, wb_buf_str(&sc.out)));
    wb_buf_done(&sc.out);
}
#define SCENE(...) ((struct scene){__VA_ARGS__})

/* A script of these replies, and parts of them. */
#define SCRIPT(...)          "{\"replies\":[" __VA_ARGS__ "]}"
#define REPLY(...)           "{\"parts\":[" __VA_ARGS__ "]}"
#define TEXT(text)           "{\"text\":\"" text "\"}"
#define CALL(id, name, args) "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" args "}}"

TEST(run_echoes)
{
    plays(SCENE(.act = says_hello), "run/echo.txt");
}

TEST(run_without_a_store)
{
    plays(SCENE(.act = says_hello, .no_store = true), "run/echo.txt");
}

/* ---- Tools ------------------------------------------------------------------------------------------------------- */

static const char two_tools[] =
    SCRIPT("{\"parts\":[" TEXT("Let me see.") "," CALL("c1", "add", "{\"a\":1,\"b\":2}") "," CALL(
        "c2", "note", "{}") "],\"usage\":{\"input_tokens\":10,\"output_tokens\":5}},"
                            "{\"parts\":[{\"reasoning\":\"so\"}," TEXT(
                                "It is 3.") "],"
                                            "\"usage\":{\"input_tokens\":20,\"output_tokens\":6},\"delta_bytes\":4}");

static WEFT_SUSPENDS int says_only(struct rig *rig, struct wb_buf *out, struct upp_err *err)
{
    struct wr_started s;
    TRY(rig_start(rig, "main", "hello", NULL, &s, err));
    TRY(rig_read(rig, s.run, out, err));
    return rig_well_formed(rig->store, &rig_owner, s.thread, err);
}

static WEFT_SUSPENDS int says_and_shows(struct rig *rig, struct wb_buf *out, struct upp_err *err)
{
    struct wr_started s;
    TRY(rig_start(rig, "main", "hello", NULL, &s, err));
    TRY(rig_read(rig, s.run, out, err));
    TRY(rig_well_formed(rig->store, &rig_owner, s.thread, err));
    return rig_history(rig, s.thread, out, err);
}

TEST(run_two_tools)
{
    plays(SCENE(.script = two_tools, .act = says_and_shows), "run/two_tools.txt");
}

TEST(run_two_tools_without_a_store)
{
    plays(SCENE(.script = two_tools, .act = says_hello, .no_store = true), "run/two_tools_no_store.txt");
}

TEST(run_tools_that_fail)
{
    plays(SCENE(.script = SCRIPT(REPLY(CALL("c1", "fails", "{}") "," CALL("c2", "nobody", "{}") "," CALL(
                    "c3", "add", "\"no json\"") "," CALL("c4", "big", "{}")) "," REPLY(TEXT("Sorry."))),
                .act = says_and_shows),
          "run/failing_tools.txt");
}

TEST(run_more_rounds_than_allowed)
{
    plays(SCENE(.script = SCRIPT(REPLY("{\"tool_call\":{\"name\":\"add\"}}")), .act = says_only), "run/rounds.txt");
}

/* ---- Failures of the model ------------------------------------------------------------------- */

TEST(run_retries_before_output)
{
    plays(SCENE(.script = SCRIPT("{\"error\":{\"code\":\"RATE_LIMITED\",\"status\":429,\"retry_after_ms\":10}}," REPLY(
                    TEXT("At last."))),
                .act = says_and_shows),
          "run/retried.txt");
}

#define BREAKS(text, after)                                                                                            \
    "{\"parts\":[" TEXT(text) "],\"delta_bytes\":3,\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":" after "}}"

/* covers: UPP-10/4 */
TEST(run_voids_after_output)
{
    plays(SCENE(.script = SCRIPT(BREAKS("As I was saying", "2") "," REPLY(TEXT("Once more."))), .act = says_and_shows),
          "run/void.txt");
}

TEST(run_keeps_the_last_attempt)
{
    plays(SCENE(.script = SCRIPT(BREAKS("One more thing", "1") "," BREAKS("Two more things",
                                                                          "2") "," BREAKS("Three more things", "3")),
                .act = says_and_shows),
          "run/last_attempt.txt");
}

TEST(run_fails_for_good)
{
    plays(SCENE(.script = SCRIPT("{\"error\":{\"code\":\"AUTHENTICATION_FAILED\",\"status\":401}}"),
                .act = says_and_shows),
          "run/failed.txt");
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int answers(struct rig *rig, struct wb_buf *out, struct upp_err *err)
{
    struct wr_started s;
    struct wr_answer bad = {.call = UPP_STR("c9"), .result = UPP_STR("1")};
    struct wr_answer kind = {.call = UPP_STR("c1"), .approved = true};
    struct wr_answer good = {.call = UPP_STR("c1"), .result = UPP_STR("{\"date\":\"2026-01-02\"}")};
    TRY(rig_start(rig, "main", "hello", NULL, &s, err));
    TRY(rig_read(rig, s.run, out, err));
    wb_buf_addf(out, "-- waits\n");
    FAIL_UNLESS(wr_engine_counts(rig->engine).working == 0); /* no fiber, no memory */
    FAIL_UNLESS(wr_answer(rig->engine, &rig_owner, s.run, &bad, 1, NULL) < 0);
    FAIL_UNLESS(wr_answer(rig->engine, &rig_owner, s.run, &kind, 1, NULL) < 0);
    TRY(wr_answer(rig->engine, &rig_owner, s.run, &good, 1, err));
    uint8_t status;
    TRY(wr_wait(rig->engine, &rig_owner, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(rig_read(rig, s.run, out, err));
    FAIL_UNLESS(wr_answer(rig->engine, &rig_owner, s.run, &good, 1, NULL) == -UPP_EINVALID);
    TRY(rig_well_formed(rig->store, &rig_owner, s.thread, err));
    return rig_history(rig, s.thread, out, err);
}

TEST(run_waits_for_the_client)
{
    plays(SCENE(.script = SCRIPT(REPLY(CALL("c1", "pick", "{}") "," CALL("c2", "add", "{\"a\":2,\"b\":2}")) "," REPLY(
                    TEXT("Fine."))),
                .act = answers),
          "run/client_tool.txt");
}

static WEFT_SUSPENDS int approves(struct rig *rig, struct wb_buf *out, struct upp_err *err)
{
    struct wr_started s;
    struct wr_answer no = {.call = UPP_STR("c1")}, yes = {.call = UPP_STR("c2"), .approved = true};
    TRY(rig_start(rig, "main", "hello", NULL, &s, err));
    TRY(rig_read(rig, s.run, out, err));
    TRY(wr_answer(rig->engine, &rig_owner, s.run, &no, 1, err));
    struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_run_info look;
    int r = wr_get(rig->engine, &rig_owner, s.run, &a, &look, err);
    size_t n = r < 0 ? 0 : look.n_pending;
    wb_arena_done(&a);
    TRY(r);
    FAIL_UNLESS(n == 1);
    TRY(wr_answer(rig->engine, &rig_owner, s.run, &yes, 1, err));
    uint8_t status;
    TRY(wr_wait(rig->engine, &rig_owner, s.run, &status, err));
    TRY(rig_read(rig, s.run, out, err));
    TRY(rig_well_formed(rig->store, &rig_owner, s.thread, err));
    return rig_history(rig, s.thread, out, err);
}

TEST(run_asks_for_approval)
{
    plays(SCENE(.script =
                    SCRIPT(REPLY(CALL("c1", "danger", "{}") "," CALL("c2", "danger", "{}")) "," REPLY(TEXT("Done."))),
                .act = approves),
          "run/approval.txt");
}

/* ---- Cancel ---------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int cancels(struct rig *rig, struct wb_buf *out, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    TRY(rig_start(rig, "main", "hello", NULL, &s, err));
    TRY(weft_sleep_ms(35, err));
    TRY(wr_cancel(rig->engine, &rig_owner, s.run, err));
    TRY(wr_cancel(rig->engine, &rig_owner, s.run, err)); /* idempotent */
    TRY(wr_wait(rig->engine, &rig_owner, s.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED);
    TRY(wr_cancel(rig->engine, &rig_owner, s.run, err));
    TRY(rig_read(rig, s.run, out, err));
    TRY(rig_well_formed(rig->store, &rig_owner, s.thread, err));
    return rig_history(rig, s.thread, out, err);
}

TEST(run_cancelled_while_it_speaks)
{
    plays(SCENE(.script = SCRIPT("{\"parts\":[" TEXT("One two three four five") "],\"delta_bytes\":4,\"delay_ms\":10}"),
                .act = cancels),
          "run/cancel_text.txt");
}

TEST(run_cancelled_while_tools_run)
{
    plays(SCENE(.script = SCRIPT(REPLY(CALL("c1", "slow", "{}") "," CALL("c2", "add", "{}"))), .act = cancels),
          "run/cancel_tools.txt");
}

TEST(run_cancelled_while_it_waits)
{
    plays(SCENE(.script = SCRIPT(REPLY(CALL("c1", "pick", "{}"))), .act = cancels), "run/cancel_waiting.txt");
}

static WEFT_SUSPENDS int cancels_late(struct rig *rig, struct wb_buf *out, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    TRY(rig_start(rig, "main", "hello", NULL, &s, err));
    TRY(wr_wait(rig->engine, &rig_owner, s.run, &status, err));
    struct upp_err why = {0};
    FAIL_UNLESS(wr_cancel(rig->engine, &rig_owner, s.run, &why) == -UPP_EREFUSED);
    wb_buf_addf(out, "%s\n", why.msg);
    FAIL_UNLESS(wr_cancel(rig->engine, &rig_owner, s.thread, NULL) == -UPP_ENOTFOUND);
    return wb_buf_check(out, err);
}

TEST(run_that_ended_is_not_cancelled)
{
    plays(SCENE(.act = cancels_late), "run/cancel_late.txt");
}

/* ---- Children -------------------------------------------------------------------------------- */

TEST(run_asks_another_agent)
{
    plays(SCENE(.script = SCRIPT(REPLY(CALL("c1", "ask_helper", "{\"task\":\"think\"}") "," CALL(
                    "c2", "ask_helper", "{\"x\":1}")) "," REPLY(TEXT("They said so."))),
                .helper = SCRIPT(REPLY(CALL("h1", "add", "{\"a\":4,\"b\":5}")) "," REPLY(TEXT("nine"))),
                .act = says_and_shows),
          "run/child.txt");
}

TEST(run_waits_through_a_child)
{
    plays(SCENE(.script = SCRIPT(REPLY(CALL("m1", "ask_picker", "{\"task\":\"pick one\"}")) "," REPLY(TEXT("Thanks."))),
                .picker = SCRIPT(REPLY(CALL("c1", "pick", "{}")) "," REPLY(TEXT("picked"))), .act = answers),
          "run/child_waits.txt");
}

TEST(run_cancelled_with_a_child)
{
    plays(SCENE(.script = SCRIPT(REPLY(CALL("m1", "ask_helper", "{}"))),
                .helper = SCRIPT(REPLY(CALL("h1", "slow", "{}"))), .act = cancels),
          "run/child_cancelled.txt");
}
