/* An input replaces the run that holds its thread: one commit, so that a request that is refused has ended nothing, and
 * one that is accepted begins whatever fails afterwards. */
#include <string.h>

#include "base/defs.h"
#include "support/race_rig.h"

#define PICKS SCRIPT(REPLY(CALL("c1", "pick")) "," REPLY(TEXT("well")))
#define ASKS  SCRIPT(REPLY(CALL("c1", "ask_picker")) "," REPLY(TEXT("well")))

static uint8_t on_busy; /* 0: wr_start.ends, from after the question, with a message before the input */
static bool waited;     /* the run that was replaced */

static WEFT_SUSPENDS int take_over(struct place *p, const struct wr_started *one, struct wr_started *ret,
                                   struct upp_err *err)
{
    struct upp_part parts[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("instead")},
                               {.kind = UPP_PART_TEXT, .text = UPP_STR("besides")}};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &parts[0], .n_parts = 1};
    struct wm_entry before = {.kind = WM_ENTRY_MESSAGE,
                              .origin = WM_ORIGIN_CLIENT,
                              .audience = WM_AUDIENCE_ALL,
                              .message = {.role = UPP_ROLE_USER, .parts = &parts[1], .n_parts = 1}};
    struct wr_start what = {.owner = rig_owner,
                            .thread = one->thread,
                            .agent = UPP_STR("main"),
                            .input = &input,
                            .on_busy = on_busy ? on_busy : WR_REJECT};
    if (!on_busy) {
        what.ends = one->run;
        what.node = one->row.node;
        what.length = 1;
        what.before = &before;
        what.n_before = 1;
    }
    struct wm_run row;
    waited = place_stored(p, one->run, &row, err) >= 0 && row.status == WM_WAITING;
    return wr_start(p->rig.engine, &what, ret, err);
}

static WEFT_SUSPENDS int count_runs(struct place *p, struct wb_uuid thread, size_t *n, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_run *runs;
    return wl_list_runs(p->inner, &rig_owner, thread, false, 16, &a, &runs, n, err);
}

/* Until the run has ended or waits, also if it fails in between. */
static WEFT_SUSPENDS int rest(struct place *p, struct wb_uuid run, struct wm_run *ret, struct upp_err *err)
{
    for (int i = 0; i < 600; i++) {
        TRY(place_stored(p, run, ret, err));
        if (ret->status == WM_WAITING || wm_status_ended(ret->status))
            return 0;
        TRY(weft_sleep_ms(1000, err));
    }
    return upp_fail(err, UPP_EBUG, "the run neither ends nor waits: %d", ret->status);
}

static size_t times(const struct wb_buf *b, const char *text)
{
    size_t n = 0;
    for (size_t at = 0; (at = wb_str_find(wb_buf_str(b), wb_cstr(text), at)) != SIZE_MAX; at++)
        n++;
    return n;
}

static WEFT_SUSPENDS int says(struct place *p, struct wb_uuid thread, const char *text, size_t n, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct rig direct = {.store = p->inner};
    TRY(rig_history(&direct, thread, &out, err));
    test_note("%.*s", (int)out.n, out.p);
    FAIL_UNLESS(times(&out, text) == n);
    return 0;
}

/* The one has ended, the other goes on where it was to begin. */
static WEFT_SUSPENDS int has_taken_over(struct place *p, const struct wr_started *one, const struct wr_started *two,
                                        struct upp_err *err)
{
    struct wm_run row;
    TRY(rest(p, two->run, &row, err));
    bool waits = row.status == WM_WAITING;
    FAIL_UNLESS(waits || row.status == WM_COMPLETED);
    TRY(rest(p, one->run, &row, err));
    FAIL_UNLESS(row.status == WM_CANCELED);
    TRY(says(p, one->thread, "instead", 1, err));
    TRY(says(p, one->thread, "besides", on_busy ? 0 : 1, err));
    TRY(says(p, one->thread, "hello", on_busy == WR_ROLLBACK ? 0 : 1, err));
    TRY(says(p, one->thread, "repair", waited && on_busy == WR_INTERRUPT, err));
    TRY(says(p, one->thread, "\"type\":\"rollback\"", on_busy == WR_ROLLBACK, err));
    return waits ? 0 : rig_well_formed(p->inner, &rig_owner, one->thread, err);
}

static unsigned until_then;

static bool is_next(const struct wl_commit *c)
{
    (void)c;
    return --until_then == 0;
}

static WEFT_SUSPENDS int changed_nothing(struct place *p, const struct wr_started *one, struct upp_err *err)
{
    struct wm_run row;
    size_t n;
    TRY(place_stored(p, one->run, &row, err));
    FAIL_UNLESS(!row.cancel && (row.status == WM_RUNNING || row.status == WM_WAITING));
    TRY(count_runs(p, one->thread, &n, err));
    FAIL_UNLESS(n == 1);
    TRY(says(p, one->thread, "instead", 0, err));
    TRY(rest(p, one->run, &row, err));
    FAIL_UNLESS(row.status == WM_COMPLETED || row.status == WM_WAITING);
    return 0;
}

/* *more: a commit was refused, and there may be others after it. */
static WEFT_SUSPENDS int refuse_one(struct place *p, unsigned number, bool *more, struct upp_err *err)
{
    struct wr_started one, two;
    struct upp_err why = {0};
    TRY(place_start(p, &one, err));
    TRY(weft_sleep_ms(200, err)); /* it waits, or works */
    until_then = number;
    p->lazy.which = is_next;
    p->lazy.refuse = 1;
    int r = take_over(p, &one, &two, &why);
    if (r >= 0) {
        TRY(has_taken_over(p, &one, &two, err));
    } else {
        FAIL_UNLESS(r == -UPP_ESTORE && number == 1); /* its own, which is the first */
        TRY(changed_nothing(p, &one, err));
    }
    *more = !p->lazy.refuse;
    p->lazy.refuse = 0;
    return 0;
}

static WEFT_SUSPENDS int refuse_each(struct place *p, struct upp_err *err)
{
    bool more = true;
    for (unsigned number = 1; more; number++) {
        FAIL_UNLESS(number < 32);
        TRY(refuse_one(p, number, &more, err));
    }
    return 0;
}

static const char *const sweep = "a sweep of failing commits; the others are tortured";

TEST_WITH(takeover_that_is_refused_ends_nothing, .no_torture = sweep)
{
    static const uint8_t modes[] = {0, WR_INTERRUPT, WR_ROLLBACK};
    for (size_t i = 0; i < WB_LEN(modes); i++) {
        on_busy = modes[i];
        PLAYS(.script = PICKS, .act = refuse_each);
        PLAYS(.script = ASKS, .picker = PICKS, .act = refuse_each);
        if (on_busy)
            PLAYS(.script = SLOWLY, .act = refuse_each);
    }
}

/* The process ends after each commit. */

static WEFT_SUSPENDS int end_after_one(struct place *p, unsigned number, bool *more, struct upp_err *err)
{
    struct wr_started one, two;
    struct upp_err why = {0};
    struct wm_run row;
    size_t n, recovered;
    TRY(place_start(p, &one, err));
    TRY(weft_sleep_ms(200, err));
    until_then = number;
    p->lazy.which = is_next;
    p->lazy.sticks = true;
    p->lazy.refuse = 1;
    int r = take_over(p, &one, &two, &why);
    *more = p->lazy.full;
    p->lazy.sticks = p->lazy.full = false;
    p->lazy.refuse = 0;
    TRY(place_restart(p, &recovered, err));
    TRY(count_runs(p, one.thread, &n, err));
    FAIL_UNLESS(n == 2 || r < 0); /* what is acknowledged is there */
    if (n == 1)
        return changed_nothing(p, &one, err);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_run *runs;
    TRY(wl_list_runs(p->inner, &rig_owner, one.thread, false, 16, &a, &runs, &n, err));
    two.run = runs[0].id;
    TRY(place_stored(p, one.run, &row, err));
    FAIL_UNLESS(row.cancel || row.status == WM_CANCELED);
    return has_taken_over(p, &one, &two, err);
}

static WEFT_SUSPENDS int end_after_each(struct place *p, struct upp_err *err)
{
    bool more = true;
    for (unsigned number = 1; more; number++) {
        FAIL_UNLESS(number < 32);
        TRY(end_after_one(p, number, &more, err));
    }
    return 0;
}

TEST_WITH(takeover_is_whole_or_none_after_a_crash, .no_torture = sweep)
{
    static const uint8_t modes[] = {0, WR_INTERRUPT, WR_ROLLBACK};
    for (size_t i = 0; i < WB_LEN(modes); i++) {
        on_busy = modes[i];
        PLAYS(.script = PICKS, .act = end_after_each);
        PLAYS(.script = ASKS, .picker = PICKS, .act = end_after_each);
        if (on_busy)
            PLAYS(.script = SLOWLY, .act = end_after_each);
    }
}

static WEFT_SUSPENDS int ends_what_waits(struct place *p, struct upp_err *err)
{
    struct wr_started one, two;
    TRY(place_start(p, &one, err));
    TRY(weft_sleep_ms(200, err));
    on_busy = 0;
    TRY(take_over(p, &one, &two, err));
    return has_taken_over(p, &one, &two, err);
}

TEST(takeover_begins_where_it_was_asked_for)
{
    PLAYS(.script = PICKS, .act = ends_what_waits);
}

/* One that works is not ended by who meant another, nor one that is read, or that nobody could read yet. */
static WEFT_SUSPENDS int ends_what_is_left(struct place *p, struct upp_err *err)
{
    struct wr_started one, two;
    struct wr_reader *rd = NULL;
    struct wm_event ev;
    struct wm_run row;
    struct upp_err why = {0};
    uint64_t last = 0;
    on_busy = 0;
    TRY(place_start(p, &one, err));
    TRY(weft_sleep_ms(200, err));
    FAIL_UNLESS(take_over(p, &one, &two, &why) == -UPP_EBUSY);
    TRY(wr_reader_open(p->rig.engine, &rig_owner, one.run, NULL, &rd, err));
    int r = place_next(p, rd, true, &last, &ev, err);
    if (r > 0)
        r = take_over(p, &one, &two, &why);
    wr_reader_close(rd);
    FAIL_UNLESS(r == -UPP_EBUSY);
    struct wr_started other = one;
    other.run.b[0] ^= 1;
    FAIL_UNLESS(take_over(p, &other, &two, &why) == -UPP_EBUSY);
    TRY(place_stored(p, one.run, &row, err));
    FAIL_UNLESS(!row.cancel && row.status == WM_RUNNING);
    TRY(take_over(p, &one, &two, err));
    FAIL_UNLESS(!two.queued && two.row.status == WM_RUNNING && two.row.started_ms);
    return has_taken_over(p, &one, &two, err);
}

TEST(takeover_of_a_run_that_works_is_of_one_that_is_left)
{
    PLAYS(.script = SLOWLY, .act = ends_what_is_left);
}
