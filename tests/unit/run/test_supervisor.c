/* Runs that nobody works on: queued ones, those that a process left behind, and those whose end could not be written.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/log.h"
#include "run/engine_state.h"
#include "support/race_rig.h"

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

struct queueing {
    struct place *p;
    struct wb_uuid thread;
    struct wr_started got;
};

static WEFT_SUSPENDS int enqueue_main(void *arg, struct upp_err *err)
{
    struct queueing *me = arg;
    return place_start_on(me->p, me->thread, WR_ENQUEUE, &me->got, err);
}

static WEFT_SUSPENDS int enqueue_together(struct place *p, struct upp_err *err)
{
    struct queueing them[3]; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wr_started s;
    uint8_t status;
    TRY(place_start(p, &s, err));
    p->lazy.before_commit_ms = p->lazy.after_commit_ms = 2;
    for (size_t i = 0; i < WB_LEN(them); i++) {
        them[i] = (struct queueing){.p = p, .thread = s.thread};
        TRY(weft_scope_spawn(&all, "client", enqueue_main, &them[i], NULL, err));
    }
    TRY(weft_scope_join(&all, err)); /* none was refused because of another */
    for (size_t i = 0; i < WB_LEN(them); i++) {
        TRY(place_await(p, them[i].got.run, &status, err));
        FAIL_UNLESS(them[i].got.queued && status == WM_COMPLETED);
    }
    return 0;
}

TEST(after_inputs_that_are_queued_together_are_all_taken)
{
    PLAYS(.script = SLOWLY, .act = enqueue_together);
}

static WEFT_SUSPENDS int interrupt_with_a_queue(struct place *p, struct upp_err *err)
{
    struct wr_started s, queued, urgent;
    struct wm_run row;
    uint8_t status;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(50, err));
    TRY(place_start_on(p, s.thread, WR_ENQUEUE, &queued, err));
    TRY(place_start_on(p, s.thread, WR_INTERRUPT, &urgent, err));
    TRY(place_stored(p, queued.run, &row, err));
    FAIL_UNLESS(row.status == WM_QUEUED);
    TRY(place_await(p, urgent.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(place_await(p, queued.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

TEST(after_input_that_interrupts_passes_the_queue)
{
    PLAYS(.script = SLOWLY, .act = interrupt_with_a_queue);
}

/* Its turn comes, and there is no room for one more run: somebody else was faster. */
static WEFT_SUSPENDS int lose_the_place(struct place *p, struct upp_err *err)
{
    struct wr_started s, queued, other;
    struct wm_run row;
    uint8_t status;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(10, err));
    TRY(place_start_on(p, s.thread, WR_ENQUEUE, &queued, err));
    p->lazy.thread_ms = 50;
    TRY(place_await(p, s.run, &status, err));
    p->lazy.thread_ms = 0;
    TRY(place_start(p, &other, err));
    TRY(weft_sleep_ms(100, err));
    TRY(place_stored(p, queued.run, &row, err));
    FAIL_UNLESS(row.status == WM_QUEUED);
    TRY(weft_sleep_ms(60000, err));
    TRY(place_stored(p, queued.run, &row, err));
    FAIL_UNLESS(row.status == WM_COMPLETED);
    return 0;
}

TEST(after_queued_run_that_finds_no_room_is_started_later)
{
    PLAYS(.script = SLOWLY, .max_runs = 1, .act = lose_the_place);
}

/* ---- After a restart --------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int restart_in_a_step(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(50, err)); /* the tool runs */
    TRY(place_restart(p, &n, err));
    TRY(place_await(p, s.run, &status, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(n == 1 && status == WM_COMPLETED);
    FAIL_UNLESS(row.usage.input == 30 && row.usage.output == 11);
    return 0;
}

TEST(after_usage_before_a_restart_counts)
{
    PLAYS(.script = SCRIPT("{\"parts\":[" CALL(
              "c1", "slow") "],\"usage\":{\"input_tokens\":10,\"output_tokens\":5}},"
                            "{\"parts\":[" TEXT("x") "],\"usage\":{\"input_tokens\":20,\"output_tokens\":6}}"),
          .act = restart_in_a_step);
}

static bool after_one_step(void *arg, struct weft_run *run)
{
    (void)arg;
    return run->state.step >= 1;
}

/* The process ends when the step has ended, and the run that shall stop there has not. */
static WEFT_SUSPENDS int restart_after_a_step(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    p->lazy.after_commit_ms = 100;
    TRY(weft_sleep_ms(150, err));
    rig_close(&p->rig);
    p->lazy.after_commit_ms = 0;
    TRY(rig_history(&(struct rig){.store = p->inner}, s.thread, &out, err));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&out), UPP_STR("tool:"), 0) != SIZE_MAX); /* so it is */
    TRY(place_open(p, err));
    TRY(wr_recover(p->rig.engine, &n, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(n == 1 && status == WM_COMPLETED);
    wb_buf_clear(&out);
    TRY(rig_history(&p->rig, s.thread, &out, err));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&out), UPP_STR("second"), 0) == SIZE_MAX);
    return 0;
}

TEST(after_hook_that_said_stop_is_heard_after_a_restart)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "add")) "," REPLY(TEXT("second"))), .hooks.stop = after_one_step,
          .act = restart_after_a_step);
}

static bool other_is_alive;

static bool is_alive(void *arg, struct wb_uuid engine)
{
    (void)arg;
    return other_is_alive && !wb_uuid_is_nil(engine);
}

static WEFT_SUSPENDS int works_on_it(struct place *p, struct wb_uuid run, struct wb_uuid engine, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_run row;
    TRY(wl_get_run(p->inner, &rig_owner, run, &a, &row, err));
    FAIL_UNLESS(wb_uuid_eq(row.engine, engine));
    return 0;
}

static WEFT_SUSPENDS int claim_of_the_dead(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(50, err));
    struct wb_uuid first = wr_engine_id(p->rig.engine);
    TRY(works_on_it(p, s.run, first, err));
    rig_close(&p->rig);
    other_is_alive = true;
    TRY(place_open(p, err));
    FAIL_UNLESS(!wb_uuid_eq(wr_engine_id(p->rig.engine), first));
    TRY(wr_recover(p->rig.engine, &n, err));
    TRY(weft_sleep_ms(5000, err)); /* nor does the supervisor touch it */
    FAIL_UNLESS(n == 0 && wr_engine_counts(p->rig.engine).recovered == 0);
    TRY(works_on_it(p, s.run, first, err));
    other_is_alive = false;
    TRY(weft_sleep_ms(120000, err)); /* but then it does, within a minute */
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED && wr_engine_counts(p->rig.engine).recovered == 1);
    return works_on_it(p, s.run, wr_engine_id(p->rig.engine), err);
}

TEST(recovery_claims_the_runs_of_engines_that_are_gone)
{
    PLAYS(.script = SLOWLY, .is_alive = is_alive, .act = claim_of_the_dead);
}

/* As after a crash between the end of a run and the start of the next one: two are queued, and nobody holds the thread.
 * The first in the queue is the last in the list. */
static WEFT_SUSPENDS int end_by_hand(struct place *p, struct wb_uuid holder, struct wb_uuid one, struct wb_uuid two,
                                     struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_store *s = p->inner;
    struct wm_run row, queued[2];
    TRY(wl_get_run(s, &rig_owner, holder, &a, &row, err));
    TRY(wl_get_run(s, &rig_owner, one, &a, &queued[0], err));
    TRY(wl_get_run(s, &rig_owner, two, &a, &queued[1], err));
    bool in_order = memcmp(one.b, two.b, sizeof one.b) < 0;
    queued[0].queue = in_order ? 2 : 1;
    queued[1].queue = in_order ? 1 : 2;
    row.status = WM_COMPLETED;
    struct wl_change ch[4] = {{.kind = WL_SET_RUN, .run = &row},
                              {.kind = WL_HOLD_NODE, .hold = {row.node, row.id, {{0}}}},
                              {.kind = WL_SET_RUN, .run = &queued[0]},
                              {.kind = WL_SET_RUN, .run = &queued[1]}};
    struct wl_commit c = {.owner = rig_owner, .changes = ch, .n = WB_LEN(ch), .flags = WL_SYNCED};
    return wl_store_commit(s, &c, err);
}

static WEFT_SUSPENDS int recover_page_by_page(struct place *p, struct upp_err *err)
{
    struct wr_started s, queued[2];
    struct tally tally;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(50, err));
    for (size_t i = 0; i < WB_LEN(queued); i++)
        TRY(place_start_on(p, s.thread, WR_ENQUEUE, &queued[i], err));
    rig_close(&p->rig);
    TRY(end_by_hand(p, s.run, queued[0].run, queued[1].run, err));
    p->lazy.page = 1; /* the second page has what was started because of the first */
    TRY(place_open(p, err));
    uint64_t begun = wb_mono_ms();
    TRY(wr_recover(p->rig.engine, &n, err));
    FAIL_UNLESS(wr_engine_counts(p->rig.engine).recovered == 0 && wb_mono_ms() == begun); /* nor waits for its end */
    for (size_t i = 0; i < WB_LEN(queued); i++) {
        TRY(place_await(p, queued[i].run, &status, err));
        TRY(place_read(p, queued[i].run, &tally, err));
        FAIL_UNLESS(status == WM_COMPLETED && tally.voids == 0 && tally.ends == 1);
    }
    return 0;
}

TEST(after_recovery_leaves_alone_what_it_has_started)
{
    PLAYS(.script = SLOWLY, .act = recover_page_by_page);
}

/* Only so many runs work at the same time: the others come when there is room. */
static WEFT_SUSPENDS int recover_too_many(struct place *p, struct upp_err *err)
{
    struct wr_started them[5];
    struct wm_run row;
    struct tally tally;
    size_t n;
    for (size_t i = 0; i < WB_LEN(them); i++)
        TRY(place_start(p, &them[i], err));
    TRY(weft_sleep_ms(50, err));
    p->max_runs = 2;
    TRY(place_restart(p, &n, err));
    FAIL_UNLESS(n == 2 && wr_engine_counts(p->rig.engine).working == 2);
    TRY(weft_sleep_ms(300000, err));
    for (size_t i = 0; i < WB_LEN(them); i++) {
        TRY(place_stored(p, them[i].run, &row, err));
        TRY(place_read(p, them[i].run, &tally, err));
        FAIL_UNLESS(row.status == WM_COMPLETED && tally.voids == 1 && tally.ends == 1);
    }
    return 0;
}

TEST(after_runs_beyond_the_limit_are_recovered_later)
{
    PLAYS(.script = SLOWLY, .act = recover_too_many);
}

/* ---- Runs that nobody works on ----------------------------------------------------------------------------------- */

/* The disk is full when the run has completed. */
static int fill_the_disk(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    struct lazy *l = arg;
    (void)run, (void)turn;
    (void)err;
    l->full = l->refused == 0;
    return 0;
}

static WEFT_SUSPENDS int end_later(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    struct tally tally;
    uint8_t status;
    p->hooks.arg = &p->lazy;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_RUNNING && p->lazy.refused == 1); /* nobody works on it, and it has not ended */
    TRY(weft_sleep_ms(30000, err));
    FAIL_UNLESS(p->lazy.refused > 1); /* it was tried again, to no avail */
    p->lazy.full = false;
    TRY(weft_sleep_ms(120000, err));
    TRY(place_stored(p, s.run, &row, err));
    TRY(place_read(p, s.run, &tally, err));
    FAIL_UNLESS(row.status == WM_COMPLETED && tally.ends == 1);
    TRY(rig_well_formed(p->inner, &rig_owner, s.thread, err));
    TRY(place_start_on(p, s.thread, WR_REJECT, &s, err)); /* the thread is free */
    return place_await(p, s.run, &status, err);
}

TEST(after_run_whose_end_cannot_be_written_ends_later)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "note")) "," REPLY(TEXT("ok"))), .hooks.on_complete = fill_the_disk,
          .act = end_later);
}

/* The n-th read of a run fails, and later ones do not: that is no result of the run. */
static WEFT_SUSPENDS int read_later(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    struct tally tally;
    uint8_t status;
    unsigned failed = 0;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    for (unsigned n = 1; n <= 8; n++) {
        p->lazy.refused = 0;
        TRY(place_start_on(p, s.thread, WR_REJECT, &s, err));
        p->lazy.bad_read_in = n; /* the run has not read yet */
        TRY(place_await(p, s.run, &status, err));
        p->lazy.bad_read_in = 0;
        failed += p->lazy.refused > 0;
        TRY(weft_sleep_ms(30000, err));
        TRY(place_stored(p, s.run, &row, err));
        TRY(place_read(p, s.run, &tally, err));
        FAIL_UNLESS(row.status == WM_COMPLETED && tally.ends == 1);
    }
    test_note("%u of 8", failed);
    FAIL_UNLESS(failed > 0);
    return rig_well_formed(p->inner, &rig_owner, s.thread, err);
}

TEST(after_run_whose_history_cannot_be_read_reads_it_later)
{
    PLAYS(.script = "{\"replies\":[{\"parts\":[" TEXT("ok") "]}],\"again\":true}", .act = read_later);
}

/* ---- Runs that cannot be ended --------------------------------------------------------------- */

static unsigned executions;

static int count_executions(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    (void)arg, (void)run, (void)turn;
    (void)err;
    executions++;
    return 0;
}

/* Whoever waits for the turn is told, and does not wait for the next try. */
static WEFT_SUSPENDS int join_in_vain(struct place *p, struct wr_started *s, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hello")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = rig_owner, .agent = UPP_STR("main"), .input = &input, .wants_turn = true};
    struct upp_turn *turn = NULL;
    uint64_t begun = wb_mono_ms();
    TRY(wr_start(p->rig.engine, &what, s, err));
    int r = wr_join(s->tree, &turn, err);
    upp_turn_free(turn);
    wr_tree_release(s->tree);
    FAIL_UNLESS(r == -UPP_ESTORE && wb_mono_ms() - begun < 1000);
    return 0;
}

/* A reader of a run that nobody works on, and that cannot be ended, has what there is and is told. */
static WEFT_SUSPENDS int read_in_vain(struct place *p, struct wb_uuid run, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    uint64_t begun = wb_mono_ms();
    int r = rig_read(&p->rig, run, &out, err);
    FAIL_UNLESS(r == -UPP_ESTORE && wb_mono_ms() - begun < 100);
    FAIL_UNLESS(out.n > 0);
    return 0;
}

static WEFT_SUSPENDS int never_ends(struct place *p, struct upp_err *err)
{
    static const unsigned times[] = {500, 1500, 3500, 7500, 15500}; /* between tries */
    struct wr_started s;
    struct wm_run row;
    uint8_t status;
    uint64_t begun;
    executions = 0;
    p->lazy.no_ends = true;
    TRY(join_in_vain(p, &s, err));
    begun = wb_mono_ms();
    for (size_t i = 0; i < WB_LEN(times); i++) {
        TRY(weft_sleep_ms(times[i] - (wb_mono_ms() - begun), err));
        test_note("after %u ms: %llu", times[i], (unsigned long long)p->lazy.refused);
        FAIL_UNLESS(p->lazy.refused == i + 1);
        TRY(read_in_vain(p, s.run, err));
        TRY(wr_wait(p->rig.engine, &rig_owner, s.run, &status, err));
        FAIL_UNLESS(status == WM_RUNNING);
    }
    TRY(weft_sleep_ms(7200000, err));
    FAIL_UNLESS(p->lazy.refused > 100 && executions == 10); /* enough: from then on only its end is tried */
    TRY(read_in_vain(p, s.run, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_RUNNING);
    return 0;
}

static WEFT_SUSPENDS int fails_at_last(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_live_run *live;
    struct tally tally;
    uint8_t status;
    size_t n;
    TRY(never_ends(p, err));
    TRY(wl_list_live(p->inner, WB_UUID_NIL, 2, &a, &live, &n, err));
    FAIL_UNLESS(n == 1);
    p->lazy.no_ends = false;
    TRY(weft_sleep_ms(60000, err));
    TRY(place_await(p, live[0].run.id, &status, err));
    TRY(place_read(p, live[0].run.id, &tally, err));
    FAIL_UNLESS(executions == 10 && status == WM_FAILED && tally.ends == 1 && tally.status == WM_FAILED);
    return rig_well_formed(p->inner, &rig_owner, live[0].run.thread, err);
}

TEST(after_run_that_cannot_end_fails_when_it_can)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "note")) "," REPLY(TEXT("ok"))), .hooks.on_complete = count_executions,
          .act = fails_at_last);
}

static WEFT_SUSPENDS int ends_after_a_restart(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_live_run *live;
    struct tally tally;
    uint8_t status;
    size_t n;
    TRY(never_ends(p, err));
    TRY(wl_list_live(p->inner, WB_UUID_NIL, 2, &a, &live, &n, err));
    FAIL_UNLESS(n == 1);
    p->lazy.no_ends = false;
    TRY(place_restart(p, &n, err));
    TRY(place_await(p, live[0].run.id, &status, err));
    FAIL_UNLESS(n == 1 && status == WM_COMPLETED);
    TRY(place_read(p, live[0].run.id, &tally, err));
    FAIL_UNLESS(tally.ends == 1 && tally.status == WM_COMPLETED);
    return rig_well_formed(p->inner, &rig_owner, live[0].run.thread, err);
}

TEST(after_run_that_cannot_end_has_another_chance_at_the_next_start)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "note")) "," REPLY(TEXT("ok"))), .hooks.on_complete = count_executions,
          .act = ends_after_a_restart);
}

/* ---- What the log says of it, and how often ---------------------------------------------------------------------- */

struct lines {
    unsigned given_up, not_ended, waits, other;
    char last[512]; /* that gave up */
};

static void hear(void *arg, enum wb_log_level level, struct upp_str line)
{
    struct lines *l = arg;
    if (wb_str_find(line, UPP_STR("a run cannot be ended: it is not executed again"), 0) != SIZE_MAX) {
        l->given_up += level == WB_ERROR;
        (void)snprintf(l->last, sizeof l->last, "%.*s", UPP_FMT(line));
    } else if (wb_str_find(line, UPP_STR("a run could not be ended"), 0) != SIZE_MAX)
        l->not_ended++;
    else if (wb_str_find(line, UPP_STR("a run waits until something is better"), 0) != SIZE_MAX)
        l->waits++;
    else
        l->other++;
}

static void listen(struct lines *l)
{
    *l = (struct lines){0};
    wb_log_setup(WB_WARN, WB_LOG_TEXT, -1);
    wb_log_to(hear, l);
}

static void stop_listening(struct lines **l)
{
    (void)l;
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    wb_log_to(NULL, NULL);
}

static WEFT_SUSPENDS int says_that_it_gives_up(struct place *p, struct upp_err *err)
{
    static struct lines l;
    WB_CLEANUP(stop_listening) struct lines *at = &l;
    struct wr_started s;
    char id[WB_UUID_TEXT + 1];
    listen(at);
    executions = 0;
    p->lazy.no_ends = true;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(7200000, err));
    FAIL_UNLESS(executions == 10 && l.not_ended == p->lazy.refused && l.given_up == 1);
    FAIL_UNLESS(strstr(l.last, wb_uuid_text(s.run, id).p) && strstr(l.last, "tries=10"));
    FAIL_UNLESS(l.waits == 0 && l.other == 0);
    return 0;
}

TEST(after_run_that_cannot_end_says_so_once)
{
    PLAYS(.hooks.on_complete = count_executions, .act = says_that_it_gives_up);
}

/* A store that takes nothing: the run is not even taken up, its model is not asked, and it is tried once a minute. */
static WEFT_SUSPENDS int once_a_minute(struct place *p, struct upp_err *err)
{
    static struct lines l;
    WB_CLEANUP(stop_listening) struct lines *at = &l;
    struct wr_started s;
    struct wm_run row;
    p->hooks.arg = &p->lazy;
    listen(at);
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(3600000, err));
    test_note("refused %llu, said %u + %u + %u", (unsigned long long)p->lazy.refused, l.not_ended, l.waits, l.other);
    FAIL_UNLESS(p->lazy.refused >= 50 && p->lazy.refused <= 70);
    FAIL_UNLESS(l.not_ended == 1 && l.waits == p->lazy.refused - 1 && l.given_up == 0);
    p->lazy.full = false;
    TRY(weft_sleep_ms(61000, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_COMPLETED);
    return 0;
}

TEST(after_store_that_takes_nothing_is_tried_once_a_minute)
{
    PLAYS(.hooks.on_complete = fill_the_disk, .act = once_a_minute);
}

/* Where so many have failed that one more is not remembered, it waits for them: and the list does not stay full of
 * those that are not stored as running. */
static WEFT_SUSPENDS int among_many(struct place *p, struct upp_err *err)
{
    struct wr_engine *e = p->rig.engine;
    struct wr_started s;
    struct wm_run row;
    for (uint64_t i = 0; i < 4096; i++)
        if (!wb_vec_push(&e->failed_runs, ((struct wr_failed_run){.run = wb_uuid_v8(7, i), .at_ms = INT64_MAX}), 4096))
            return upp_fail(err, UPP_ENOMEM, "no memory for the test");
    p->lazy.no_ends = true;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(50000, err));
    FAIL_UNLESS(p->lazy.refused == 1 && e->failed_runs.n == 4096);
    TRY(weft_sleep_ms(90000, err));
    FAIL_UNLESS(p->lazy.refused > 1 && e->failed_runs.n == 1);
    p->lazy.no_ends = false;
    TRY(weft_sleep_ms(61000, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_COMPLETED && e->failed_runs.n == 0);
    return 0;
}

TEST(after_run_that_cannot_end_among_many)
{
    PLAYS(.act = among_many);
}

/* One that was given up can be cancelled, as soon as the store takes it; and then its thread is free. */
static WEFT_SUSPENDS int cancels_what_never_ends(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    uint8_t status;
    p->lazy.no_ends = true;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(600000, err));
    FAIL_UNLESS(wr_stop(p->rig.engine, &rig_owner, s.run, err) == -UPP_ESTORE);
    p->lazy.no_ends = false;
    TRY(wr_stop(p->rig.engine, &rig_owner, s.run, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_CANCELED);
    TRY(place_start_on(p, s.thread, WR_REJECT, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

TEST(after_run_that_cannot_end_can_be_cancelled)
{
    PLAYS(.act = cancels_what_never_ends);
}

static WEFT_SUSPENDS int heals(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    p->lazy.no_ends = true;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(20000, err));
    p->lazy.no_ends = false;
    TRY(weft_sleep_ms(20000, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_COMPLETED && p->lazy.refused == 5);
    /* And the next one that has trouble begins anew. */
    p->lazy.no_ends = true;
    TRY(place_start_on(p, s.thread, WR_REJECT, &s, err));
    TRY(weft_sleep_ms(1500, err));
    FAIL_UNLESS(p->lazy.refused == 7);
    p->lazy.no_ends = false;
    TRY(weft_sleep_ms(2000, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_COMPLETED);
    return 0;
}

TEST(after_run_that_cannot_end_ends_when_it_can)
{
    PLAYS(.act = heals);
}

/* One that waits expires, and all are looked at: one works then, and one has ended when its turn comes. */
static WEFT_SUSPENDS int look_at_others(struct place *p, struct upp_err *err)
{
    struct wr_started waits, works, ends;
    struct wm_run row;
    struct tally tally;
    uint8_t status;
    TRY(rig_start(&p->rig, "picker", "hello", NULL, &waits, err));
    TRY(place_await(p, waits.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    p->lazy.live_ms = 700; /* what the list says is old */
    TRY(weft_sleep_ms(p->wait_ms - 800, err));
    TRY(place_start(p, &ends, err));
    TRY(weft_sleep_ms(700, err));
    TRY(place_start(p, &works, err));
    TRY(weft_sleep_ms(60000, err));
    TRY(place_stored(p, waits.run, &row, err));
    FAIL_UNLESS(row.status == WM_EXPIRED && wr_engine_counts(p->rig.engine).recovered == 0);
    TRY(place_read(p, ends.run, &tally, err));
    FAIL_UNLESS(tally.status == WM_COMPLETED && tally.ends == 1 && tally.voids == 0);
    TRY(place_read(p, works.run, &tally, err));
    FAIL_UNLESS(tally.status == WM_COMPLETED && tally.ends == 1 && tally.voids == 0);
    return 0;
}

TEST(after_runs_at_work_are_left_alone_when_others_are_looked_after)
{
    PLAYS(.script = SLOWLY, .picker = SCRIPT(REPLY(CALL("c1", "pick"))), .wait_ms = 5000, .act = look_at_others);
}
