/* Races of the engine that were found by looking: cancels, readers and children. Each is played at the moment that
 * matters, on a store that is held up there. (Those that nobody thought of are looked for from seeds, in
 * tests/unit/run/test_sim.c and tests/unit/run/test_busy.c.) */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "stores/sqlite/sqlite.h"
#include "support/race_rig.h"

/* ---- Cancelling -------------------------------------------------------------------------------------------------- */

/* At any moment of its life: it was in time and the run is cancelled, or it came too late and the run is complete. */
static WEFT_SUSPENDS int cancel_at_any_time(struct place *p, struct upp_err *err)
{
    unsigned canceled = 0, completed = 0;
    p->lazy.before_commit_ms = p->lazy.after_commit_ms = 10;
    for (unsigned ms = 0; ms < 120; ms += 5) {
        struct wr_started s;
        uint8_t status;
        TRY(place_start(p, &s, err));
        TRY(weft_sleep_ms(ms, err));
        int r = wr_cancel(p->rig.engine, &rig_owner, s.run, NULL);
        TRY(place_await(p, s.run, &status, err));
        test_note("cancelled after %u ms: %d, status %u", ms, r, status);
        FAIL_UNLESS(r == 0 ? status == WM_CANCELED : r == -UPP_EREFUSED && status == WM_COMPLETED);
        canceled += r == 0;
        completed += r < 0;
    }
    FAIL_UNLESS(canceled && completed); /* both sides of the moment were seen */
    return 0;
}

TEST_WITH(race_cancel_against_the_end, .no_torture = "many runs; run_cancelled_while_it_speaks is tortured")
{
    PLAYS(.script = SCRIPT(SLOW_REPLY(10, TEXT("One two three"))), .act = cancel_at_any_time);
}

static WEFT_SUSPENDS int cancel_at_once(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    TRY(place_start(p, &s, err));
    uint64_t begun = wb_mono_ms();
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED && wb_mono_ms() - begun < 100);
    return 0;
}

TEST(race_cancel_does_not_wait_for_the_message)
{
    PLAYS(.script = SCRIPT(SLOW_REPLY(1000, TEN_WORDS)), .act = cancel_at_once);
}

static WEFT_SUSPENDS int cancel_alone(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wr_started s;
    struct wm_event ev;
    uint64_t last = 0;
    uint8_t status = 0;
    int r;
    TRY(place_start(p, &s, err));
    TRY(wr_reader_open(p->rig.engine, &rig_owner, s.run, NULL, &rd, err));
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err)); /* its fiber has not begun */
    while ((r = place_next(p, rd, true, &last, &ev, err)) > 0)
        status = ev.kind == WM_RUN ? ev.run.status : status;
    TRY(r);
    FAIL_UNLESS(status == WM_CANCELED);
    return 0;
}

TEST(race_cancel_before_a_run_without_a_store_has_begun)
{
    PLAYS(.script = SLOWLY, .act = cancel_alone, .no_store = true);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* More rows come than are kept in memory, and all of them stand in the node of the child. */
static WEFT_SUSPENDS int sleepy_reader(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wr_started s;
    struct wm_event ev;
    uint64_t last = 0;
    bool slept = false;
    unsigned tools = 0;
    int r;
    TRY(place_start(p, &s, err));
    TRY(wr_reader_open(p->rig.engine, &rig_owner, s.run, NULL, &rd, err));
    while ((r = place_next(p, rd, true, &last, &ev, err)) > 0) {
        tools += ev.kind == WM_TOOL_ENDED;
        if (ev.kind == WM_TOOL_STARTED && !slept) {
            slept = true;
            TRY(weft_sleep_ms(60000, err));
        }
    }
    TRY(r);
    FAIL_UNLESS(tools == 81);
    return 0;
}

#define CALLS_4(a)  CALL(a "1", "note") "," CALL(a "2", "note") "," CALL(a "3", "note") "," CALL(a "4", "note")
#define CALLS_16(a) CALLS_4(a "a") "," CALLS_4(a "b") "," CALLS_4(a "c") "," CALLS_4(a "d")
#define CALLS_80    CALLS_16("a") "," CALLS_16("b") "," CALLS_16("c") "," CALLS_16("d") "," CALLS_16("e")

TEST(race_reader_far_behind_a_child_misses_nothing)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("m1", "ask_helper")) "," REPLY(TEXT("ok"))),
          .helper = SCRIPT(REPLY(CALLS_80) "," REPLY(TEXT("done"))), .act = sleepy_reader);
}

struct reading {
    struct place *p;
    struct wb_uuid run;
    bool slow_start, ended;
    unsigned results; /* that it was told of */
};

/* Reads on while the run waits, until it ends. */
static WEFT_SUSPENDS int reader_main(void *arg, struct upp_err *err)
{
    struct reading *me = arg;
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wm_event ev;
    uint64_t last = 0;
    int r;
    if (me->slow_start)
        me->p->lazy.rows_once_ms = 500;
    TRY(wr_reader_open(me->p->rig.engine, &rig_owner, me->run, NULL, &rd, err));
    while ((r = place_next(me->p, rd, false, &last, &ev, err)) > 0) {
        me->results += ev.kind == WM_TOOL_ENDED;
        if (ev.kind == WM_RUN && ev.run.status == WM_WAITING && !me->slow_start)
            me->p->lazy.rows_once_ms = 50; /* the look for what comes next */
    }
    me->ended = r == 0;
    return r;
}

static WEFT_SUSPENDS int wake_while_reading(struct place *p, struct upp_err *err)
{
    struct reading me = {.p = p}; /* outlives the scope, which waits for its reader */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wr_started s;
    uint8_t status;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    me.run = s.run;
    TRY(weft_scope_spawn(&all, "reader", reader_main, &me, NULL, err));
    TRY(weft_sleep_ms(20, err)); /* it has found nothing, and does not know yet */
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(weft_scope_join(&all, err));
    FAIL_UNLESS(me.ended);
    return 0;
}

TEST(race_reader_hears_what_happens_while_it_reads)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "pick"))), .act = wake_while_reading);
}

/* A reader brings the tree of a waiting run back while the run goes on: what it read first is old then. */
static WEFT_SUSPENDS int answer_while_opening(struct place *p, struct upp_err *err)
{
    static const struct wr_answer one = {.call = UPP_STR_INIT("c1"), .result = UPP_STR_INIT("1")};
    static const struct wr_answer two = {.call = UPP_STR_INIT("c2"), .result = UPP_STR_INIT("2")};
    struct reading me = {.p = p, .slow_start = true}; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wr_started s;
    uint8_t status;
    struct tally tally;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    me.run = s.run;
    TRY(weft_scope_spawn(&all, "reader", reader_main, &me, NULL, err));
    TRY(weft_sleep_ms(20, err));
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run, &one, 1, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(weft_sleep_ms(1000, err));
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run, &two, 1, err));
    TRY(weft_scope_join(&all, err));
    TRY(place_read(p, s.run, &tally, err)); /* from the store alone: no number is there twice */
    FAIL_UNLESS(me.ended && me.results == 2 && tally.results == 2 && tally.status == WM_COMPLETED && tally.ends == 1);
    return 0;
}

TEST(race_reader_opens_while_a_run_goes_on)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "pick")) "," REPLY(CALL("c2", "pick")) "," REPLY(TEXT("ok"))),
          .act = answer_while_opening);
}

/* The memory of a tree is limited: what a reader needs of it is made once. */
static WEFT_SUSPENDS int reconnects(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(10, err));
    for (unsigned i = 0; i < 2000; i++) {
        struct wr_reader *rd;
        TRY(wr_reader_open(p->rig.engine, &rig_owner, s.run, NULL, &rd, err));
        wr_reader_close(rd);
    }
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

TEST_WITH(race_reconnects_cost_a_run_nothing,
          .no_torture = "thousands of readers; one of them is tortured in run_echoes")
{
    char name[1001];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    PLAYS(.name = name,
          .script = SCRIPT(REPLY(CALL("m1", "slow")) "," REPLY(CALL("m2", "ask_helper")) "," REPLY(TEXT("ok"))),
          .act = reconnects);
}

static WEFT_SUSPENDS int late_reader_alone(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wr_reader *rd = NULL;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(100, err)); /* its first rows were for nobody */
    FAIL_UNLESS(wr_reader_open(p->rig.engine, &rig_owner, s.run, NULL, &rd, NULL) == -UPP_ENOTFOUND);
    return 0;
}

TEST(race_reader_that_comes_too_late_without_a_store_is_told)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "slow")) "," REPLY(TEXT("ok"))), .act = late_reader_alone,
          .no_store = true);
}

/* ---- Children ---------------------------------------------------------------------------------------------------- */

/* Two children of one agent, whose model numbers its calls from the start: an answer is for one of them. */
static WEFT_SUSPENDS int answer_one_sibling(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_started s;
    struct wr_run_info look;
    uint8_t status;
    TRY(place_start(p, &s, err));
    for (size_t open = 2; open; open--) {
        TRY(place_await(p, s.run, &status, err));
        TRY(wr_get(p->rig.engine, &rig_owner, s.run, &a, &look, err));
        FAIL_UNLESS(status == WM_WAITING && look.n_pending == open);
        struct wr_answer one = {.call = look.pending[0].call, .result = UPP_STR("1")};
        TRY(wr_answer(p->rig.engine, &rig_owner, s.run, &one, 1, err));
    }
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

TEST(race_siblings_with_the_same_ids_are_answered_one_by_one)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("m1", "ask_picker") "," CALL("m2", "ask_picker")) "," REPLY(TEXT("ok"))),
          .picker = SCRIPT(REPLY(CALL("c1", "pick")) "," REPLY(TEXT("picked"))), .act = answer_one_sibling);
}

static WEFT_SUSPENDS int wait_for_a_child(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_started s;
    struct wl_live_run *runs;
    size_t n;
    struct wb_uuid child = {{0}};
    uint8_t status;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(50, err));
    TRY(wl_list_live(p->inner, WB_UUID_NIL, 10, &a, &runs, &n, err));
    for (size_t i = 0; i < n; i++)
        if (runs[i].run.depth)
            child = runs[i].run.id;
    TRY(place_await(p, child, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

TEST(race_wait_for_a_child_ends)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("m1", "ask_helper")) "," REPLY(TEXT("ok"))),
          .helper = SCRIPT(REPLY(CALL("h1", "slow")) "," REPLY(TEXT("x"))), .act = wait_for_a_child);
}

/* ---- Messages that are void -------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int asks_with_a_prompt(struct weft_run *run, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("think")};
    struct upp_message prompt = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct weft_reply *reply;
    return weft_run_ask(run, "reason", UPP_OPTS(weft_ask_opts, .prompt = &prompt), &reply, err);
}
static const struct weft_strategy prompting = {.name = "prompting", .execute = asks_with_a_prompt};

static WEFT_SUSPENDS int say_it_twice(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wr_started s;
    struct wm_event ev;
    struct wb_uuid ids[2] = {{{0}}};
    size_t n = 0;
    uint64_t last = 0;
    int r;
    TRY(place_start(p, &s, err));
    TRY(wr_reader_open(p->rig.engine, &rig_owner, s.run, NULL, &rd, err));
    while ((r = wr_reader_next(rd, true, &ev, err)) > 0) {
        if (ev.kind == WM_VOID)
            last = ev.voided.last;
        if (ev.kind == WM_MESSAGE_OPEN && n < WB_LEN(ids))
            ids[n++] = ev.message_open.id;
    }
    TRY(r);
    FAIL_UNLESS(n == 2 && last && !wb_uuid_eq(ids[0], ids[1]));
    return 0;
}

/* The prompt goes with the row of the void: what is said then stands at the same place, and is another message. */
TEST(race_message_after_a_void_one_has_its_own_id)
{
    PLAYS(.strategy = &prompting,
          .script = SCRIPT("{\"parts\":[" TEXT("As I was") "],\"delta_bytes\":3,\"delay_ms\":10,"
                                                           "\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":2}}," REPLY(
                                                               TEXT("Once more."))),
          .act = say_it_twice);
}

/* ---- Readers of a real store ------------------------------------------------------------------------------------- */

enum { CROWD = 1500 };

static WEFT_SUSPENDS int crowd_reader(void *arg, struct upp_err *err)
{
    struct reading *me = arg;
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wm_event ev;
    int r;
    TRY(wr_reader_open(me->p->rig.engine, &rig_owner, me->run, NULL, &rd, err));
    while ((r = wr_reader_next(rd, true, &ev, err)) > 0)
        ;
    return r;
}

static WEFT_SUSPENDS int crowd(struct place *p, struct upp_err *err)
{
    struct reading me = {.p = p}; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wr_started old, now;
    uint8_t status;
    TRY(place_start(p, &old, err));
    TRY(place_await(p, old.run, &status, err));
    me.run = old.run;
    TRY(place_start(p, &now, err));
    for (unsigned i = 0; i < CROWD; i++)
        TRY(weft_scope_spawn(&all, "reader", crowd_reader, &me, NULL, err));
    TRY(weft_scope_join(&all, err)); /* none of them failed */
    TRY(place_await(p, now.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

static WEFT_SUSPENDS int crowd_main(void *arg, struct upp_err *err)
{
    struct place *p = arg;
    char path[512];
    snprintf(path, sizeof path, "%s/crowd.db", test_folder());
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path), &p->inner, err));
    lazy_open(&p->lazy, p->inner);
    int r = place_open(p, err);
    if (r >= 0)
        r = crowd(p, err);
    rig_close(&p->rig);
    p->inner->ops->close(p->inner);
    return r;
}

TEST_WITH(race_crowd_of_readers_lets_a_run_work, .no_torture = "1,500 readers; the store's own tests are tortured")
{
    struct upp_err err = {0};
    struct place p = {.script = SCRIPT(REPLY(CALL("c1", "note")) "," REPLY(CALL("c2", "note")) "," REPLY(
                          CALL("c3", "note")) "," REPLY(TEXT("ok")))};
    int r = test_on_loop(crowd_main, &p, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* ---- Closing --------------------------------------------------------------------------------- */

/* A root that is cancelled while its children work; the process ends, and so does the next one, at some moment of the
 * end. Whenever that is: nobody is left who works below a run that has ended. */
static WEFT_SUSPENDS int close_while_it_ends(struct place *p, struct upp_err *err)
{
    p->lazy.before_commit_ms = 10;
    for (unsigned ms = 0; ms < 150; ms += 3) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct wr_started s;
        struct wl_live_run *runs;
        uint8_t status;
        size_t n;
        TRY(place_start(p, &s, err));
        TRY(weft_sleep_ms(300, err));
        TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
        TRY(place_restart(p, &n, err));
        TRY(weft_sleep_ms(ms, err));
        TRY(place_restart(p, &n, err));
        TRY(place_await(p, s.run, &status, err));
        TRY(wl_list_live(p->inner, WB_UUID_NIL, 16, &a, &runs, &n, err));
        test_note("closed after %u ms: status %u, %zu runs are left", ms, status, n);
        FAIL_UNLESS(status == WM_CANCELED && n == 0);
    }
    return 0;
}

TEST_WITH(race_close_while_a_tree_ends, .no_torture = "a sweep; children_sweep_* are tortured")
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "ask_helper") "," CALL("c2", "ask_helper"))),
          .helper = SCRIPT(REPLY(CALL("h1", "slow"))), .act = close_while_it_ends);
}
