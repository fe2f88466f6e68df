/* Commits that fail for a while: what was accepted ends, what was refused is not remembered, and whoever reads, cancels
 * or changes a run meanwhile gets what is in the store. */
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "run/engine_state.h"
#include "support/race_rig.h"

/* ---- Which commits fail ------------------------------------------------------------------------------------------ */

static const struct wm_run *row_of(const struct wl_commit *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->changes[i].kind == WL_SET_RUN)
            return c->changes[i].run;
    return NULL;
}

static bool has(const struct wl_commit *c, enum wl_change_kind kind)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->changes[i].kind == kind)
            return true;
    return false;
}

static bool starts_a_queued_run(const struct wl_commit *c)
{
    const struct wm_run *row = row_of(c);
    return row && row->status == WM_RUNNING && has(c, WL_HOLD_NODE);
}

static bool ends_a_root(const struct wl_commit *c)
{
    const struct wm_run *row = row_of(c);
    return row && !row->depth && wm_status_ended(row->status);
}

static bool is_a_row_only(const struct wl_commit *c)
{
    return c->n == 1 && c->changes[0].kind == WL_ADD_ROW;
}

/* As on a full disk: only what cancels or ends a run is taken. */
static bool is_too_much(const struct wl_commit *c)
{
    const struct wm_run *row = row_of(c);
    return !row || (!row->cancel && !wm_status_ended(row->status));
}

static unsigned n_commits;

static bool every_third(const struct wl_commit *c)
{
    return !has(c, WL_ADD_RUN) && ++n_commits % 3 == 0;
}

/* ---- Starts ------------------------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int queued_run_starts(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wr_started s, queued;
    struct wm_event ev;
    struct wm_run row;
    uint64_t last = 0;
    int r;
    TRY(place_start(p, &s, err));
    TRY(place_start_on(p, s.thread, WR_ENQUEUE, &queued, err));
    TRY(wr_reader_open(p->rig.engine, &rig_owner, queued.run, NULL, &rd, err));
    p->lazy.which = starts_a_queued_run;
    p->lazy.refuse = 3;
    while ((r = place_next(p, rd, false, &last, &ev, err)) > 0)
        ;
    TRY(r); /* it was queued all the time: nobody is told of the attempts */
    FAIL_UNLESS(p->lazy.refused == 3 && last > 1);
    TRY(place_stored(p, queued.run, &row, err));
    FAIL_UNLESS(row.status == WM_COMPLETED && p->rig.engine->failed_runs.n == 0);
    return 0;
}

TEST(failed_first_commit_of_a_queued_run_is_tried_again)
{
    PLAYS(.script = SLOWLY, .act = queued_run_starts);
}

static WEFT_SUSPENDS int refused_starts(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    for (int i = 0; i < 8; i++) {
        p->lazy.refuse = 1;
        int r = place_start(p, &s, err);
        FAIL_UNLESS(r == -UPP_ESTORE);
    }
    TRY(weft_sleep_ms(10, err));
    FAIL_UNLESS(p->rig.engine->failed_runs.n == 0 && wr_engine_working(p->rig.engine) == 0);
    return 0;
}

TEST(failed_starts_are_not_remembered)
{
    PLAYS(.act = refused_starts);
}

/* ---- Ending a failed run from outside -------------------------------------------------------- */

/* Reads until the run has failed; *from is the last event. */
static WEFT_SUSPENDS int read_until_it_fails(struct place *p, struct wb_uuid run, struct wr_from *from,
                                             struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wm_event ev;
    uint64_t last = 0;
    int r;
    *from = (struct wr_from){0};
    TRY(wr_reader_open(p->rig.engine, &rig_owner, run, NULL, &rd, err));
    while ((r = place_next(p, rd, false, &last, &ev, err)) > 0) {
        *from = (struct wr_from){.epoch = ev.from->epoch, .number = ev.number};
        p->lazy.full = ev.kind == WM_DELTA;
    }
    FAIL_UNLESS(r == -UPP_ESTORE && from->number > 5);
    p->lazy.full = false;
    return 0;
}

/* What a client that comes back gets: that what it had is void, in the epoch after it, and then the end. */
static WEFT_SUSPENDS int read_the_rest(struct place *p, struct wb_uuid run, const struct wr_from *from, uint8_t status,
                                       struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wm_event ev;
    uint64_t last = 0;
    unsigned voids = 0, ends = 0;
    int r;
    TRY(wr_reader_open(p->rig.engine, &rig_owner, run, from, &rd, err));
    while ((r = place_next(p, rd, false, &last, &ev, err)) > 0) {
        if (wr_reader_received(rd, &ev))
            continue;
        FAIL_UNLESS(ev.from->epoch == from->epoch + 1);
        voids += ev.kind == WM_VOID && ev.voided.unseen;
        ends += ev.kind == WM_RUN && ev.run.status == status;
    }
    TRY(r);
    test_note("%u voids, %u ends", voids, ends);
    FAIL_UNLESS(voids == 1 && ends == 1);
    return 0;
}

static WEFT_SUSPENDS int fail_a_run(struct place *p, struct wr_started *s, struct wr_from *from, struct upp_err *err)
{
    TRY(place_start(p, s, err));
    TRY(read_until_it_fails(p, s->run, from, err));
    FAIL_UNLESS(p->rig.engine->failed_runs.n == 1);
    return 0;
}

static WEFT_SUSPENDS int cancel_it(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wr_from from;
    struct wm_run row;
    uint8_t status;
    TRY(fail_a_run(p, &s, &from, err));
    p->lazy.refuse = 1;
    FAIL_UNLESS(wr_cancel(p->rig.engine, &rig_owner, s.run, err) == -UPP_ESTORE);
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(!row.cancel && row.status == WM_RUNNING);
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.cancel); /* what is acknowledged is stored */
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED && p->rig.engine->failed_runs.n == 0);
    return read_the_rest(p, s.run, &from, WM_CANCELED, err);
}

static WEFT_SUSPENDS int interrupt_it(struct place *p, struct upp_err *err)
{
    struct wr_started s, next;
    struct wr_from from;
    uint8_t status;
    TRY(fail_a_run(p, &s, &from, err));
    TRY(place_start_on(p, s.thread, WR_INTERRUPT, &next, err));
    TRY(read_the_rest(p, s.run, &from, WM_CANCELED, err));
    TRY(place_await(p, next.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return rig_well_formed(p->inner, &rig_owner, s.thread, err);
}

static WEFT_SUSPENDS int roll_it_back(struct place *p, struct upp_err *err)
{
    struct wr_started s, next;
    struct wr_from from;
    uint8_t status;
    TRY(fail_a_run(p, &s, &from, err));
    TRY(place_start_on(p, s.thread, WR_ROLLBACK, &next, err));
    TRY(read_the_rest(p, s.run, &from, WM_CANCELED, err));
    TRY(place_await(p, next.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

static WEFT_SUSPENDS int delete_its_thread(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_started s;
    struct wr_from from;
    struct wl_thread t;
    TRY(fail_a_run(p, &s, &from, err));
    TRY(wl_get_thread(p->inner, &rig_owner, s.thread, &a, &t, err));
    p->lazy.no_ends = true;
    FAIL_UNLESS(wr_thread_delete(p->rig.engine, &rig_owner, &t, NULL, err) == -UPP_ESTORE);
    p->lazy.no_ends = false;
    TRY(wr_thread_delete(p->rig.engine, &rig_owner, &t, NULL, err));
    FAIL_UNLESS(wl_get_thread(p->inner, &rig_owner, s.thread, &a, &t, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(p->rig.engine->failed_runs.n == 0);
    return 0;
}

/* The cancel is stored, its end is not, and then the disk is full: that takes the end. */
static WEFT_SUSPENDS int end_on_a_full_disk(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wr_from from;
    struct wm_run row;
    TRY(fail_a_run(p, &s, &from, err));
    p->lazy.no_ends = true;
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(weft_sleep_ms(100, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.cancel && row.status == WM_RUNNING);
    p->lazy.no_ends = false;
    p->lazy.which = is_too_much;
    p->lazy.refuse = 1000;
    TRY(weft_sleep_ms(60000, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_CANCELED && p->rig.engine->failed_runs.n == 0);
    return 0;
}

/* Other runs have taken all room: one that only ends needs none. */
static WEFT_SUSPENDS int cancel_without_room(struct place *p, struct upp_err *err)
{
    struct wr_started s, other;
    struct wr_from from;
    uint8_t status;
    TRY(fail_a_run(p, &s, &from, err));
    TRY(place_start(p, &other, err));
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(place_await(p, s.run, &status, err));
    TRY(read_the_rest(p, s.run, &from, WM_CANCELED, err));
    TRY(place_await(p, other.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

TEST(failed_run_is_cancelled_in_a_new_epoch)
{
    PLAYS(.script = SLOWLY, .act = cancel_it);
}

TEST(failed_run_is_interrupted_in_a_new_epoch)
{
    PLAYS(.script = SLOWLY, .act = interrupt_it);
}

TEST(failed_run_is_rolled_back_in_a_new_epoch)
{
    PLAYS(.script = SLOWLY, .act = roll_it_back);
}

TEST(failed_run_is_deleted_with_its_thread)
{
    PLAYS(.script = SLOWLY, .act = delete_its_thread);
}

TEST(failed_run_whose_cancel_is_stored_ends_on_a_full_disk)
{
    PLAYS(.script = SLOWLY, .act = end_on_a_full_disk);
}

TEST(failed_run_is_cancelled_when_there_is_no_room)
{
    PLAYS(.script = SLOWLY, .max_runs = 1, .act = cancel_without_room);
}

/* Its recovery fails, while a reader keeps the tree in memory: there is one new epoch, not one per attempt. */
static WEFT_SUSPENDS int recover_at_the_fourth_try(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wr_started s;
    struct wr_from from;
    uint8_t status;
    TRY(fail_a_run(p, &s, &from, err));
    TRY(wr_reader_open(p->rig.engine, &rig_owner, s.run, &from, &rd, err));
    p->lazy.refuse = 3;
    TRY(weft_sleep_ms(30000, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED && p->lazy.refuse == 0);
    return read_the_rest(p, s.run, &from, WM_COMPLETED, err);
}

TEST(failed_recoveries_begin_no_epoch)
{
    PLAYS(.script = SLOWLY, .act = recover_at_the_fourth_try);
}

/* A call on another fiber. */
struct change {
    struct place *p;
    struct wb_uuid run;
    bool cancel;
    const struct wr_answer *answer; /* NULL: it changes the metadata, or cancels */
    int r;
};

static WEFT_SUSPENDS int change_main(void *arg, struct upp_err *err)
{
    struct change *c = arg;
    struct wr_engine *e = c->p->rig.engine;
    if (c->answer)
        c->r = wr_answer(e, &rig_owner, c->run, c->answer, 1, err);
    else if (c->cancel)
        c->r = wr_cancel(e, &rig_owner, c->run, err);
    else
        c->r = wr_set_metadata(e, &rig_owner, c->run, UPP_STR("{\"of\":\"another another another\"}"), err);
    return 0;
}

/* ---- Waiting runs ------------------------------------------------------------------------------------------------ */

static void ignore_wake(void *arg)
{
    (void)arg;
}

/* Answers with an idempotency key of which another request was first: the run waits on. With another one, the key is
 * stored in the commit of the answer, and has the time of its record. */
static WEFT_SUSPENDS int answer_with_keys(struct place *p, struct wb_uuid run, const struct wr_answer *answer,
                                          struct upp_err *err)
{
    const unsigned char body[32] = {1};
    struct wl_store *s = p->rig.engine->store;
    const struct wl_key used = {
        .route = UPP_STR("r"), .key = UPP_STR("used"), .object = {{7}}, .created_ms = wb_wall_ms()};
    const struct wl_change changes[] = {{.kind = WL_ADD_KEY, .key = &used}};
    struct wl_commit commit = {.owner = rig_owner, .changes = changes, .n = 1};
    struct wr_author by = {.route = used.route, .key = used.key, .body = body};
    struct wl_key stored;
    uint8_t status;
    TRY(wl_store_commit(s, &commit, err));
    FAIL_UNLESS(wr_answer_by(p->rig.engine, &rig_owner, run, answer, 1, &by, err) == -UPP_EBUSY);
    TRY(place_await(p, run, &status, err));
    FAIL_UNLESS(status == WM_WAITING && p->rig.engine->failed_runs.n == 0);
    by.key = UPP_STR("fresh");
    FAIL_UNLESS(wl_get_key(s, &rig_owner, by.route, by.key, &stored, NULL) == -UPP_ENOTFOUND);
    TRY(wr_answer_by(p->rig.engine, &rig_owner, run, answer, 1, &by, err));
    TRY(wl_get_key(s, &rig_owner, by.route, by.key, &stored, err));
    FAIL_UNLESS(wb_uuid_eq(stored.object, run) && memcmp(stored.body, body, sizeof body) == 0 && stored.created_ms);
    return 0;
}

static WEFT_SUSPENDS int refuse_an_answer(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    const struct wr_answer answer = {.call = UPP_STR("c1"), .result = UPP_STR("1")};
    struct wr_started s;
    struct wm_event ev;
    struct tally tally;
    uint8_t status;
    int r;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(wr_reader_open(p->rig.engine, &rig_owner, s.run, NULL, &rd, err));
    while ((r = wr_reader_try(rd, false, &ev, ignore_wake, NULL, err)) > 0)
        ;
    FAIL_UNLESS(r == -UPP_EBUSY);
    p->lazy.refuse = 1;
    FAIL_UNLESS(wr_answer(p->rig.engine, &rig_owner, s.run, &answer, 1, err) == -UPP_ESTORE);
    FAIL_UNLESS(wr_reader_try(rd, false, &ev, ignore_wake, NULL, err) == -UPP_EBUSY); /* it still waits */
    p->lazy.refuse = 1;
    FAIL_UNLESS(wr_cancel(p->rig.engine, &rig_owner, s.run, err) == -UPP_ESTORE);
    TRY(weft_sleep_ms(5000, err));
    FAIL_UNLESS(wr_reader_try(rd, false, &ev, ignore_wake, NULL, err) == -UPP_EBUSY);
    TRY(place_read(p, s.run, &tally, err));
    FAIL_UNLESS(tally.status == WM_WAITING && p->rig.engine->failed_runs.n == 0);
    TRY(answer_with_keys(p, s.run, &answer, err));
    TRY(place_await(p, s.run, &status, err));
    while ((r = wr_reader_try(rd, false, &ev, ignore_wake, NULL, err)) > 0)
        ;
    FAIL_UNLESS(r == 0 && status == WM_COMPLETED);
    return 0;
}

TEST(failed_answer_leaves_a_run_that_waits)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "pick")) "," REPLY(TEXT("well"))), .wait_ms = 600000,
          .act = refuse_an_answer);
}

/* The answer cannot be written while a cancel waits for the commit lock: what is cancelled is the run that waits. */
static WEFT_SUSPENDS int cancel_in_a_refused_answer(struct place *p, struct upp_err *err)
{
    const struct wr_answer answer = {.call = UPP_STR("c1"), .result = UPP_STR("1")};
    struct wr_started s;
    struct change c; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wm_run row;
    uint8_t status;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    p->lazy.before_commit_ms = 50;
    p->lazy.refuse = 1;
    c = (struct change){.p = p, .run = s.run, .answer = &answer};
    TRY(weft_scope_spawn(&all, "change", change_main, &c, NULL, err));
    TRY(weft_sleep_ms(20, err));
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(weft_scope_join(&all, err));
    FAIL_UNLESS(c.r == -UPP_ESTORE);
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_CANCELED);
    p->lazy.before_commit_ms = 0;
    return 0;
}

static WEFT_SUSPENDS int cancel_in_refused_answers(struct place *p, struct upp_err *err)
{
    for (int i = 0; i < 8; i++) /* which fiber the failure wakes first is the simulated loop's choice */
        TRY(cancel_in_a_refused_answer(p, err));
    return 0;
}

TEST(failed_answer_leaves_a_run_that_can_be_cancelled)
{
    PLAYS(.script = "{\"replies\":[" REPLY(CALL("c1", "pick")) "],\"again\":true}", .wait_ms = 600000,
          .act = cancel_in_refused_answers);
}

/* It failed before it waited: then nobody is told so any more. */
static WEFT_SUSPENDS int wait_after_all(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct tally tally;
    uint8_t status;
    p->lazy.which = is_a_row_only;
    p->lazy.refuse = 1;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(10000, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(p->lazy.refused == 1 && status == WM_WAITING && p->rig.engine->failed_runs.n == 0);
    TRY(place_read(p, s.run, &tally, err));
    FAIL_UNLESS(tally.status == WM_WAITING && tally.voids == 1);
    return 0;
}

TEST(failed_run_that_waits_has_not_failed)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "note")) "," REPLY(CALL("c2", "pick"))), .wait_ms = 600000,
          .act = wait_after_all);
}

/* The cancel is stored and the sub-agent has ended, and then the root's end fails. */
static WEFT_SUSPENDS int end_half_of_a_tree(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    uint8_t status;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    p->lazy.which = ends_a_root;
    p->lazy.refuse = 1;
    FAIL_UNLESS(wr_cancel(p->rig.engine, &rig_owner, s.run, err) == -UPP_ESTORE);
    TRY(weft_sleep_ms(10000, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_CANCELED && p->lazy.refused == 1);
    return 0;
}

TEST(failed_end_of_a_waiting_tree_is_tried_again)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "ask_picker"))), .picker = SCRIPT(REPLY(CALL("c2", "pick"))),
          .wait_ms = 600000, .act = end_half_of_a_tree);
}

/* ---- The list of failed runs ----------------------------------------------------------------- */

/* Only every third commit fails, again and again: each execution comes closer to the end. */
static WEFT_SUSPENDS int go_on_a_little(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    struct tally tally;
    n_commits = 0;
    p->lazy.which = every_third;
    p->lazy.refuse = 1000;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(600000, err));
    TRY(place_stored(p, s.run, &row, err));
    test_note("status %u, %llu refused", row.status, (unsigned long long)p->lazy.refused);
    FAIL_UNLESS(row.status == WM_COMPLETED && p->lazy.refused > 10);
    TRY(place_read(p, s.run, &tally, err));
    FAIL_UNLESS(tally.ends == 1);
    return rig_well_formed(p->inner, &rig_owner, s.thread, err);
}

#define ROUND(id) REPLY(CALL(id, "again")) ","

TEST(failed_run_that_goes_on_is_not_given_up)
{
    PLAYS(.script = SCRIPT(ROUND("c1") ROUND("c2") ROUND("c3") ROUND("c4") ROUND("c5") ROUND("c6") ROUND("c7")
                               ROUND("c8") REPLY(TEXT("done"))),
          .act = go_on_a_little);
}

/* The end was written, although the store said otherwise. */
static WEFT_SUSPENDS int end_without_a_word(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    p->lazy.which = ends_a_root;
    p->lazy.refuse = 1;
    p->lazy.untrue = true;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(100, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_COMPLETED && p->rig.engine->failed_runs.n == 1);
    TRY(weft_sleep_ms(10000, err));
    FAIL_UNLESS(p->rig.engine->failed_runs.n == 0);
    return 0;
}

TEST(failed_run_leaves_the_list_when_it_has_ended_after_all)
{
    PLAYS(.act = end_without_a_word);
}

/* ---- Commits of others, from the row of a run that fails meanwhile --------------------------- */

#define OPTIONS(word) "{\"metadata\":{\"of\":\"" word " " word " " word " " word "\"}}"

static WEFT_SUSPENDS int start_with(struct place *p, const char *options, struct wr_started *ret, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("go")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = rig_owner, .agent = UPP_STR("main"), .input = &input, .options = wb_cstr(options)};
    return wr_start(p->rig.engine, &what, ret, err);
}

/* A commit takes 50 ms. That of the first result fails while the other one waits for the commit lock. Then the run ends
 * with its second tool, and a new one gets what it leaves, while the other one's commit is under way. */
static WEFT_SUSPENDS int change_while_it_fails(struct place *p, bool cancel, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_started s, other;
    struct change c; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wm_run row;
    uint8_t status;
    p->rig.slow_ms = 500;
    p->lazy.before_commit_ms = 50;
    TRY(start_with(p, OPTIONS("one"), &s, err));
    TRY(weft_sleep_ms(75, err));
    p->lazy.refuse = 1;
    c = (struct change){.p = p, .run = s.run, .cancel = cancel};
    TRY(weft_scope_spawn(&all, "change", change_main, &c, NULL, err));
    TRY(weft_sleep_ms(30, err));
    FAIL_UNLESS(p->lazy.refused == 1);
    TRY(start_with(p, OPTIONS("two"), &other, err));
    TRY(weft_scope_join(&all, err));
    TRY(c.r);
    TRY(weft_sleep_ms(10000, err));
    TRY(place_await(p, s.run, &status, err));
    TRY(wl_get_run(p->inner, &rig_owner, s.run, &a, &row, err));
    test_note("%u: %.*s", row.status, UPP_FMT(row.options));
    FAIL_UNLESS(row.status == (cancel ? WM_CANCELED : WM_COMPLETED));
    FAIL_UNLESS(wb_str_find(row.options, cancel ? UPP_STR("one one one one") : UPP_STR("another another another"), 0) !=
                SIZE_MAX);
    TRY(wl_get_run(p->inner, &rig_owner, other.run, &a, &row, err));
    FAIL_UNLESS(wb_str_find(row.options, UPP_STR("two two two two"), 0) != SIZE_MAX);
    return 0;
}

static WEFT_SUSPENDS int cancel_while_it_fails(struct place *p, struct upp_err *err)
{
    return change_while_it_fails(p, true, err);
}

static WEFT_SUSPENDS int set_while_it_fails(struct place *p, struct upp_err *err)
{
    return change_while_it_fails(p, false, err);
}

#define NOTES SCRIPT(REPLY(CALL("c1", "note") "," CALL("c2", "slow")) "," REPLY(TEXT("ok")))

TEST(failed_run_stays_while_its_cancel_is_written)
{
    PLAYS(.script = NOTES, .act = cancel_while_it_fails);
}

TEST(failed_run_stays_while_its_metadata_is_written)
{
    PLAYS(.script = NOTES, .act = set_while_it_fails);
}

/* The commit of a cancel fails while another cancel waits for the commit lock. */
static WEFT_SUSPENDS int cancel_twice(struct place *p, struct upp_err *err)
{
    uint8_t status;
    struct wr_started s;
    struct wr_from from;
    struct change c; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wm_run row;
    TRY(fail_a_run(p, &s, &from, err));
    p->lazy.before_commit_ms = 50;
    p->lazy.refuse = 1;
    c = (struct change){.p = p, .run = s.run, .cancel = true};
    TRY(weft_scope_spawn(&all, "change", change_main, &c, NULL, err));
    TRY(weft_sleep_ms(20, err));
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.cancel || row.status == WM_CANCELED);
    TRY(weft_scope_join(&all, err));
    FAIL_UNLESS(c.r == -UPP_ESTORE);
    p->lazy.before_commit_ms = 0;
    return place_await(p, s.run, &status, err);
}

/* Which of the two fibers that the failure wakes is first is the simulated loop's choice. */
static WEFT_SUSPENDS int cancel_twice_often(struct place *p, struct upp_err *err)
{
    for (int i = 0; i < 8; i++)
        TRY(cancel_twice(p, err));
    return 0;
}

TEST(failed_cancel_is_not_acknowledged_by_another_one)
{
    PLAYS(.script = "{\"replies\":[" SLOW_REPLY(100, TEN_WORDS) "],\"again\":true}", .act = cancel_twice_often);
}

/* Its metadata is being written when it shall be recovered. */
static WEFT_SUSPENDS int set_when_it_is_due(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wr_from from;
    uint8_t status;
    TRY(fail_a_run(p, &s, &from, err));
    TRY(weft_sleep_ms((uint64_t)(p->rig.engine->failed_runs.p[0].at_ms - wb_wall_ms() - 10), err));
    p->lazy.before_commit_ms = 100;
    TRY(wr_set_metadata(p->rig.engine, &rig_owner, s.run, UPP_STR("{\"a\":1}"), err));
    p->lazy.before_commit_ms = 0;
    TRY(weft_sleep_ms(60000, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return read_the_rest(p, s.run, &from, WM_COMPLETED, err);
}

TEST(failed_run_is_recovered_after_its_metadata_is_written)
{
    PLAYS(.script = SLOWLY, .act = set_when_it_is_due);
}

/* The failed run stays in memory until its metadata is written, and that takes longer than the pause before the next
 * attempt. */
static WEFT_SUSPENDS int set_until_it_is_due(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct change c; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    uint8_t status;
    p->rig.slow_ms = 500;
    p->lazy.before_commit_ms = 50;
    TRY(start_with(p, OPTIONS("one"), &s, err));
    TRY(weft_sleep_ms(75, err));
    p->lazy.refuse = 1;
    p->lazy.before_commit_ms = 5000; /* not of the commit that is under way */
    c = (struct change){.p = p, .run = s.run};
    TRY(weft_scope_spawn(&all, "change", change_main, &c, NULL, err));
    TRY(weft_sleep_ms(30, err));
    FAIL_UNLESS(p->lazy.refused == 1);
    TRY(weft_scope_join(&all, err));
    TRY(c.r);
    p->lazy.before_commit_ms = 0;
    TRY(weft_sleep_ms(60000, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

TEST(failed_run_that_is_due_while_its_metadata_is_written_is_recovered)
{
    PLAYS(.script = NOTES, .act = set_until_it_is_due);
}

/* The list of runs cannot be read when one is due: that is no reason to wait for a minute. */
static WEFT_SUSPENDS int read_the_list_again(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wr_from from;
    struct wm_run row;
    TRY(fail_a_run(p, &s, &from, err));
    p->lazy.refused = 0;
    p->lazy.bad_read_in = 1;
    TRY(weft_sleep_ms(20000, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(p->lazy.refused == 1 && row.status == WM_COMPLETED);
    return 0;
}

TEST(failed_run_waits_no_minute_for_a_list_that_cannot_be_read)
{
    PLAYS(.script = SLOWLY, .act = read_the_list_again);
}

/* Several engines have the store, and this one cannot read whose the run is. */
static WEFT_SUSPENDS int ask_whose_it_is(struct place *p, struct upp_err *err)
{
    struct wr_engine *e = p->rig.engine;
    struct wr_started s;
    struct wr_from from;
    TRY(fail_a_run(p, &s, &from, err));
    wr_engine_set_home(e, 2, wr_home(s.thread, 2));
    p->lazy.refused = 0;
    p->lazy.bad_read_in = 2; /* after the list */
    TRY(weft_sleep_ms((uint64_t)(e->failed_runs.p[0].at_ms - wb_wall_ms() + 10), err));
    FAIL_UNLESS(p->lazy.refused == 1 && e->failed_runs.n == 1);
    return 0;
}

TEST(failed_run_stays_in_the_list_when_nobody_knows_whose_it_is)
{
    PLAYS(.script = SLOWLY, .act = ask_whose_it_is);
}

/* Somebody has tried to recover it before its starter asks for the result. */
static WEFT_SUSPENDS int join_after_a_try(struct place *p, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hello")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = rig_owner, .agent = UPP_STR("main"), .input = &input, .wants_turn = true};
    struct wr_started s;
    struct wr_from from;
    struct upp_turn *turn = NULL;
    TRY(wr_start(p->rig.engine, &what, &s, err));
    int r = read_until_it_fails(p, s.run, &from, err);
    p->lazy.bad_read_in = 3; /* after the run's row, twice */
    int canceled = r < 0 ? r : wr_cancel(p->rig.engine, &rig_owner, s.run, err);
    int joined = r < 0 ? r : wr_join(s.tree, &turn, err);
    upp_turn_free(turn);
    wr_tree_release(s.tree);
    TRY(r);
    FAIL_UNLESS(canceled == -UPP_ESTORE && joined == -UPP_ESTORE);
    return 0;
}

TEST(failed_run_is_joined_after_its_recovery_failed)
{
    PLAYS(.script = SLOWLY, .act = join_after_a_try);
}

/* ---- A history that stays unreadable --------------------------------------------------------- */

/* The first run of a thread is its history, and the second one cannot read it. */
static WEFT_SUSPENDS int start_unreadable(struct place *p, struct wr_started *s, struct upp_err *err)
{
    uint8_t status;
    TRY(place_start(p, s, err));
    TRY(place_await(p, s->run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(place_start_on(p, s->thread, WR_REJECT, s, err));
    FAIL_UNLESS(s->row.first > 0);
    p->lazy.bad_before = s->row.first;
    TRY(weft_sleep_ms(100, err));
    FAIL_UNLESS(p->lazy.refused == 1 && p->rig.engine->failed_runs.n == 1);
    return 0;
}

static WEFT_SUSPENDS int fail_unread(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    struct wm_run row;
    TRY(start_unreadable(p, &s, err));
    TRY(weft_sleep_ms(60000, err)); /* it may be readable again */
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_RUNNING);
    TRY(weft_sleep_ms(540000, err));
    TRY(place_stored(p, s.run, &row, err));
    test_note("status %u, %llu reads", row.status, (unsigned long long)p->lazy.refused);
    FAIL_UNLESS(row.status == WM_FAILED && p->lazy.refused < 20 && p->rig.engine->failed_runs.n == 0);
    p->lazy.bad_before = 0;
    return rig_well_formed(p->inner, &rig_owner, s.thread, err);
}

static WEFT_SUSPENDS int cancel_unread(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_started s;
    struct wm_run row;
    struct wl_thread t;
    TRY(start_unreadable(p, &s, err));
    TRY(wr_stop(p->rig.engine, &rig_owner, s.run, err));
    TRY(place_stored(p, s.run, &row, err));
    FAIL_UNLESS(row.status == WM_CANCELED && p->rig.engine->failed_runs.n == 0);
    TRY(place_start_on(p, s.thread, WR_REJECT, &s, err));
    TRY(weft_sleep_ms(100, err));
    TRY(wl_get_thread(p->inner, &rig_owner, s.thread, &a, &t, err));
    return wr_thread_delete(p->rig.engine, &rig_owner, &t, NULL, err);
}

TEST(failed_run_whose_history_stays_unreadable_ends)
{
    PLAYS(.act = fail_unread);
}

TEST(failed_run_whose_history_is_unreadable_is_cancelled)
{
    PLAYS(.act = cancel_unread);
}
