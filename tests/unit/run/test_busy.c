/* Second inputs on a busy thread, idempotency keys and runs that nobody answers: alone, and in races of many clients
 * from seeds, on a store that lets others come between. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "support/sim/sim.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/failing_store.h"
#include "support/rig.h"

enum { CLIENTS = 8, EACH = 2 };

/* ---- A place for it -------------------------------------------------------------------------- */

struct place {
    uint64_t seed;
    const char *script; /* of "main" */
    uint64_t wait_ms;
    int (*act)(struct place *p, struct upp_err *err);
    struct weft__sim *sim;
    struct wl_store *inner;
    struct frail frail;
    struct rig rig;
    struct checker check;
    struct wb_uuid thread;
    size_t acked, refused, joined;
};

#define SLOW_TEXT                                                                                                      \
    "{\"replies\":[{\"parts\":[{\"text\":\"one two three four\"}],\"delta_bytes\":4,\"delay_ms\":10}],\"at_end\":"     \
    "\"restart\"}"
#define SLOW_TOOLS                                                                                                     \
    "{\"replies\":[{\"parts\":[{\"text\":\"so\"},{\"tool_call\":{\"name\":\"note\"}},{\"tool_call\":{\"name\":"        \
    "\"slow\"}}]},{\"parts\":[{\"text\":\"well\"}]}],\"at_end\":\"restart\"}"
#define PICKS                                                                                                          \
    "{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"pick\"}}]},{\"parts\":[{\"text\":\"well\"}]}],\"at_end\":"   \
    "\"restart\"}"

static WEFT_SUSPENDS int open_rig(struct place *p, struct upp_err *err)
{
    frail_open(&p->frail, p->inner, p->sim);
    p->frail.slow_ms = p->seed % 4 == 0 ? 0 : 3;
    p->rig = (struct rig){.store = &p->frail.store, .checker = &p->check, .dead = &p->frail.dead, .slow_ms = 200};
    TRY(rig_agent(&p->rig, "main", p->script, err));
    TRY(rig_agent(&p->rig, "picker", PICKS, err));
    return rig_open(&p->rig, weft_loop_current(),
                    UPP_OPTS(wr_engine_opts, .tool_wait_ms = p->wait_ms ? p->wait_ms : 600000), err);
}

/* All has come to an end, and holds. */
static WEFT_SUSPENDS int settle(struct place *p, struct upp_err *err)
{
    for (size_t i = 0; i < p->check.starts.n; i++) {
        uint8_t status;
        TRY(wr_wait(p->rig.engine, &rig_owner, p->check.starts.p[i].run, &status, err));
    }
    return checker_check(&p->check, p->inner, true, err);
}

static WEFT_SUSPENDS int place_main(void *arg, struct upp_err *err)
{
    struct place *p = arg;
    WEFT_DEADLINE(600000); /* where nothing can be started any more, somebody tries again for ever */
    TRY(ws_memory_open(&p->inner, err));
    int r = open_rig(p, err);
    if (r >= 0)
        r = p->act(p, err);
    rig_close(&p->rig);
    p->inner->ops->close(p->inner);
    return r;
}

static bool plays(struct place *p)
{
    struct upp_err err = {0};
    if (!p->script)
        p->script = SLOW_TEXT;
    checker_init(&p->check, rig_owner);
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = p->seed), &p->sim, &err);
    if (r >= 0)
        r = weft_loop_run(weft__sim_loop(p->sim, 0), "place", place_main, p, &err);
    weft__sim_close(p->sim);
    checker_done(&p->check);
    test_note("seed %llu: %s", (unsigned long long)p->seed, err.msg);
    return EXPECT(r == 0);
}
#define PLAYS(...) CHECK(plays(&(struct place){__VA_ARGS__}))

static WEFT_SUSPENDS int start(struct place *p, const char *text, uint8_t mode, struct wr_started *ret,
                               struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_cstr(text)};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {
        .owner = rig_owner, .agent = UPP_STR("main"), .input = &input, .thread = p->thread, .on_busy = mode};
    TRY(wr_start(p->rig.engine, &what, ret, err));
    p->thread = ret->thread;
    p->acked++;
    return checker_acked_start(&p->check, &(struct checker_start){ret->run, ret->thread, wb_cstr(text), {0}, true});
}

/* The user's texts on the path of the thread, in order. */
static WEFT_SUSPENDS int history(struct place *p, struct wb_buf *out, struct upp_err *err)
{
    struct rig direct = {.store = p->inner};
    return rig_history(&direct, p->thread, out, err);
}

static size_t times(const struct wb_buf *b, const char *text)
{
    size_t n = 0;
    for (size_t at = 0; (at = wb_str_find(wb_buf_str(b), wb_cstr(text), at)) != SIZE_MAX; at++)
        n++;
    return n;
}

/* ---- One at a time --------------------------------------------------------------------------- */

static WEFT_SUSPENDS int rejects(struct place *p, struct upp_err *err)
{
    struct wr_started one, two;
    struct upp_err why = {0};
    char id[WB_UUID_HEX + 1];
    TRY(start(p, "first", WR_REJECT, &one, err));
    FAIL_UNLESS(start(p, "second", 0, &two, &why) == -UPP_EBUSY);
    wb_uuid_hex(one.run, id);
    FAIL_UNLESS(strstr(why.msg, id)); /* it names the run */
    TRY(settle(p, err));
    TRY(start(p, "second", WR_REJECT, &two, err));
    return settle(p, err);
}

TEST(busy_rejects)
{
    PLAYS(.seed = 4, .act = rejects);
}

/* Who answers what a thread ended with, and was not alone, has answered nothing. */
static WEFT_SUSPENDS int gone_on(struct place *p, struct upp_err *err)
{
    struct wr_started one, two;
    struct wl_thread t;
    struct wl_end end;
    struct upp_err why = {0};
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("instead")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    TRY(start(p, "first", WR_REJECT, &one, err));
    TRY(settle(p, err));
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    TRY(wl_get_thread(p->inner, &rig_owner, p->thread, &a, &t, err));
    TRY(wl_node_end(p->inner, &rig_owner, t.head, &end, err));
    struct wr_start what = {.owner = rig_owner, .agent = UPP_STR("main"), .input = &input, .thread = p->thread};
    what.head = t.head;
    what.at = end.length - 1;
    FAIL_UNLESS(wr_start(p->rig.engine, &what, &two, &why) == -UPP_EREFUSED && strstr(why.msg, "gone on"));
    what.head = t.head + 1;
    what.at = end.length;
    FAIL_UNLESS(wr_start(p->rig.engine, &what, &two, &why) == -UPP_EREFUSED);
    what.head = t.head;
    TRY(wr_start(p->rig.engine, &what, &two, err)); /* in the place of the answer */
    uint8_t status;
    TRY(wr_wait(p->rig.engine, &rig_owner, two.run, &status, err));
    TRY(wl_get_thread(p->inner, &rig_owner, p->thread, &a, &t, err));
    FAIL_UNLESS(status == WM_COMPLETED && t.head != what.head && !t.at);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    TRY(history(p, &out, err));
    FAIL_UNLESS(times(&out, "first") == 1 && times(&out, "instead") == 1 && times(&out, "one two three four") == 1);
    return 0;
}

TEST(busy_takes_the_place_of_the_last_entry)
{
    PLAYS(.seed = 4, .act = gone_on);
}

static WEFT_SUSPENDS int enqueues(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wr_started one;
    struct upp_err why = {0};
    char text[32];
    TRY(start(p, "input 00", WR_REJECT, &one, err));
    for (int i = 1; i <= 16; i++) {
        snprintf(text, sizeof text, "input %02d", i);
        TRY(start(p, text, WR_ENQUEUE, &one, err));
        FAIL_UNLESS(one.queued);
    }
    FAIL_UNLESS(start(p, "too many", WR_ENQUEUE, &one, &why) == -UPP_ELIMIT && why.retry_after_ms);
    FAIL_UNLESS(strstr(why.msg, "full"));
    TRY(settle(p, err));
    TRY(history(p, &out, err));
    size_t at = 0;
    for (int i = 0; i <= 16; i++) { /* in the order in which they came */
        snprintf(text, sizeof text, "input %02d", i);
        at = wb_str_find(wb_buf_str(&out), wb_cstr(text), at);
        FAIL_UNLESS(at != SIZE_MAX);
    }
    return wb_buf_check(&out, err);
}

TEST_WITH(busy_enqueues_in_order, .no_torture = "seventeen runs; busy_rejects is tortured")
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        PLAYS(.seed = seed, .act = enqueues,
              .script = "{\"replies\":[{\"parts\":[{\"text\":\"one two three\"}],\"delta_bytes\":4,\"delay_ms\":500}],"
                        "\"at_end\":\"restart\"}");
}

static WEFT_SUSPENDS int interrupts(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wr_started one, two;
    uint8_t status;
    TRY(start(p, "first", WR_REJECT, &one, err));
    TRY(weft_sleep_ms(25, err));
    TRY(start(p, "second", WR_INTERRUPT, &two, err));
    TRY(wr_wait(p->rig.engine, &rig_owner, one.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED);
    TRY(wr_wait(p->rig.engine, &rig_owner, two.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(settle(p, err));
    TRY(history(p, &out, err));
    FAIL_UNLESS(times(&out, "first") == 1 && times(&out, "assistant (interrupted)") == 1 && times(&out, "second") == 1);
    FAIL_UNLESS(wb_str_find(wb_buf_str(&out), UPP_STR("(interrupted)"), 0) <
                wb_str_find(wb_buf_str(&out), UPP_STR("second"), 0));
    return wb_buf_check(&out, err);
}

TEST(busy_interrupts)
{
    PLAYS(.seed = 4, .act = interrupts);
}

/* What is queued waits for the one that interrupts. */
static WEFT_SUSPENDS int interrupts_before_the_queue(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wr_started one;
    TRY(start(p, "first", WR_REJECT, &one, err));
    TRY(start(p, "queued", WR_ENQUEUE, &one, err));
    TRY(start(p, "urgent", WR_INTERRUPT, &one, err));
    TRY(settle(p, err));
    TRY(history(p, &out, err));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&out), UPP_STR("urgent"), 0) <
                wb_str_find(wb_buf_str(&out), UPP_STR("queued"), 0));
    FAIL_UNLESS(times(&out, "queued") == 1);
    return wb_buf_check(&out, err);
}

TEST_WITH(busy_interrupt_goes_before_the_queue, .no_torture = "busy_interrupts is tortured")
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        PLAYS(.seed = seed, .act = interrupts_before_the_queue);
}

static WEFT_SUSPENDS int rolls_back(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20), old = WB_BUF(1u << 20);
    struct wr_started one, two;
    TRY(start(p, "before", WR_REJECT, &one, err));
    TRY(settle(p, err));
    TRY(start(p, "first", WR_REJECT, &one, err));
    TRY(weft_sleep_ms(60, err));
    TRY(start(p, "second", WR_ROLLBACK, &two, err));
    TRY(settle(p, err));
    TRY(history(p, &out, err));
    FAIL_UNLESS(times(&out, "before") == 1 && times(&out, "first") == 0 && times(&out, "second") == 1);
    FAIL_UNLESS(times(&out, "\"type\":\"rollback\"") == 1 && times(&out, "\"tools\":[\"note\",\"slow\"]") == 1);
    TRY(checker_stored(p->inner, &rig_owner, one.run, &old, err)); /* nothing was deleted */
    FAIL_UNLESS(times(&old, "TOOL_STARTED") == 2);
    return wb_buf_check(&out, err);
}

TEST(busy_rolls_back)
{
    PLAYS(.seed = 4, .script = SLOW_TOOLS, .act = rolls_back);
}

/* A fork of a thread on which a run is under way is free, and becomes busy by its own runs alone. */
static WEFT_SUSPENDS int forks(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_started one, two;
    struct wl_thread t, fork;
    struct upp_err why = {0};
    TRY(start(p, "shared", WR_REJECT, &one, err));
    TRY(settle(p, err));
    TRY(start(p, "first", WR_REJECT, &one, err));
    TRY(wl_get_thread(p->inner, &rig_owner, p->thread, &a, &t, err));
    TRY(wl_fork(p->inner, &t, t.head, 2, &a, &fork, err));
    p->thread = fork.id;
    TRY(start(p, "second", WR_REJECT, &two, err));
    FAIL_UNLESS(start(p, "third", WR_REJECT, &two, &why) == -UPP_EBUSY);
    p->thread = t.id;
    FAIL_UNLESS(start(p, "third", WR_REJECT, &one, &why) == -UPP_EBUSY);
    TRY(settle(p, err));
    TRY(history(p, &out, err));
    FAIL_UNLESS(times(&out, "shared") == 1 && times(&out, "first") == 1 && times(&out, "second") == 0);
    wb_buf_clear(&out);
    p->thread = fork.id;
    TRY(history(p, &out, err));
    FAIL_UNLESS(times(&out, "shared") == 1 && times(&out, "first") == 0 && times(&out, "second") == 1);
    return wb_buf_check(&out, err);
}

TEST(busy_forks_are_free)
{
    PLAYS(.seed = 4, .act = forks);
}

/* Puts the thread back: so many entries of its head count. */
static WEFT_SUSPENDS int put_back(struct place *p, uint32_t keep, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    for (unsigned tries = 0;; tries++) { /* a run changes it, too */
        struct wl_thread t;
        TRY(wl_get_thread(p->inner, &rig_owner, p->thread, &a, &t, err));
        t.at = keep + 1;
        struct wl_change set = {.kind = WL_SET_THREAD, .thread = &t};
        struct wl_commit c = {.owner = rig_owner, .changes = &set, .n = 1, .flags = WL_SYNCED};
        int r = wl_store_commit(p->inner, &c, err);
        if (r != -UPP_EBUSY || tries == 8)
            return r;
    }
}

/* However the next run comes, it begins where the thread was put back to, and the thread is then at its end. */
static WEFT_SUSPENDS int restores(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_started one;
    struct wl_thread t;
    TRY(start(p, "kept", WR_REJECT, &one, err));
    TRY(settle(p, err));
    TRY(start(p, "left", WR_REJECT, &one, err));
    TRY(settle(p, err));
    TRY(put_back(p, 2, err));
    TRY(start(p, "anew", WR_REJECT, &one, err)); /* at once */
    TRY(settle(p, err));
    TRY(history(p, &out, err));
    FAIL_UNLESS(times(&out, "kept") == 1 && times(&out, "left") == 0 && times(&out, "anew") == 1);
    TRY(wl_get_thread(p->inner, &rig_owner, p->thread, &a, &t, err));
    FAIL_UNLESS(t.at == 0);

    TRY(start(p, "busy", WR_REJECT, &one, err)); /* from the queue */
    TRY(start(p, "queued", WR_ENQUEUE, &one, err));
    TRY(put_back(p, 2, err));
    TRY(settle(p, err));
    wb_buf_clear(&out);
    TRY(history(p, &out, err));
    FAIL_UNLESS(times(&out, "kept") == 1 && times(&out, "anew") == 1 && times(&out, "busy") == 0);
    FAIL_UNLESS(times(&out, "queued") == 1);

    TRY(start(p, "cut", WR_REJECT, &one, err)); /* in the place of another */
    TRY(put_back(p, 2, err));
    TRY(start(p, "urgent", p->seed % 2 ? WR_INTERRUPT : WR_ROLLBACK, &one, err));
    TRY(settle(p, err));
    wb_buf_clear(&out);
    TRY(history(p, &out, err));
    FAIL_UNLESS(times(&out, "queued") == 1 && times(&out, "cut") == 0 && times(&out, "urgent") == 1);
    TRY(wl_get_thread(p->inner, &rig_owner, p->thread, &a, &t, err));
    FAIL_UNLESS(t.at == 0);
    return wb_buf_check(&out, err);
}

TEST_WITH(busy_begins_where_the_thread_was_put_back, .no_torture = "eight runs; busy_rejects is tortured")
{
    for (uint64_t seed = 1; seed <= 8; seed++)
        PLAYS(.seed = seed, .act = restores);
}

/* ---- Races ----------------------------------------------------------------------------------- */

struct one_of {
    struct place *p;
    unsigned k;
    uint8_t mode;
    uint64_t begun[EACH], over[EACH];
    bool ok[EACH], queued[EACH];
};

static WEFT_SUSPENDS int racer(void *arg, struct upp_err *err)
{
    struct one_of *me = arg;
    char text[32];
    for (unsigned i = 0; i < EACH; i++) {
        struct wr_started s;
        struct upp_err why = {0};
        uint8_t mode = me->mode ? me->mode : (uint8_t)(1 + weft__sim_below(me->p->sim, 4));
        TRY(weft_sleep_ms(weft__sim_below(me->p->sim, 30), err));
        snprintf(text, sizeof text, "input %u.%u;", me->k, i);
        me->begun[i] = wb_mono_ms();
        int r = start(me->p, text, mode, &s, &why);
        me->over[i] = wb_mono_ms();
        me->ok[i] = r >= 0;
        me->queued[i] = r >= 0 && s.queued;
        if ((r == -UPP_EBUSY && mode == WR_REJECT) || ((r == -UPP_EBUSY || r == -UPP_ELIMIT) && mode == WR_ENQUEUE))
            me->p->refused++;
        else if (r < 0) {
            if (err)
                *err = why;
            return r;
        }
    }
    return 0;
}

static size_t place_of(const struct wb_buf *out, unsigned k, unsigned i)
{
    char text[32];
    snprintf(text, sizeof text, "input %u.%u;", k, i);
    return wb_str_find(wb_buf_str(out), wb_cstr(text), 0);
}

/* What was acknowledged before another one was asked for stands before it: all of them in one line, unless rolled
 * back. What is queued may be passed by one that interrupts. */
static int in_order(const struct one_of *all, const struct wb_buf *out, bool all_there)
{
    for (unsigned a = 0; a < CLIENTS * EACH; a++)
        for (unsigned b = 0; b < CLIENTS * EACH; b++) {
            const struct one_of *x = &all[a / EACH], *y = &all[b / EACH];
            size_t at = place_of(out, x->k, a % EACH), bt = place_of(out, y->k, b % EACH);
            FAIL_UNLESS(!all_there || (at != SIZE_MAX) == x->ok[a % EACH]);
            FAIL_UNLESS(x->ok[a % EACH] || at == SIZE_MAX);
            if (at != SIZE_MAX && bt != SIZE_MAX && x->over[a % EACH] < y->begun[b % EACH] &&
                (!x->queued[a % EACH] || y->queued[b % EACH]))
                FAIL_UNLESS(at < bt);
        }
    return 0;
}

static WEFT_SUSPENDS int race(struct place *p, uint8_t mode, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct one_of them[CLIENTS]; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wr_started s;
    TRY(start(p, "the first", WR_REJECT, &s, err));
    for (unsigned i = 0; i < CLIENTS; i++) {
        them[i] = (struct one_of){.p = p, .k = i, .mode = mode};
        TRY(weft_scope_spawn(&all, "client", racer, &them[i], NULL, err));
    }
    TRY(weft_scope_join(&all, err));
    TRY(settle(p, err));
    TRY(history(p, &out, err));
    return in_order(them, &out, mode == WR_REJECT || mode == WR_ENQUEUE || mode == WR_INTERRUPT);
}

static WEFT_SUSPENDS int race_reject(struct place *p, struct upp_err *err)
{
    return race(p, WR_REJECT, err);
}
static WEFT_SUSPENDS int race_enqueue(struct place *p, struct upp_err *err)
{
    TRY(race(p, WR_ENQUEUE, err));
    FAIL_UNLESS(p->acked + p->refused == 1 + CLIENTS * EACH);
    return 0;
}
static WEFT_SUSPENDS int race_interrupt(struct place *p, struct upp_err *err)
{
    TRY(race(p, WR_INTERRUPT, err));
    FAIL_UNLESS(p->acked == 1 + CLIENTS * EACH);
    return 0;
}
static WEFT_SUSPENDS int race_rollback(struct place *p, struct upp_err *err)
{
    TRY(race(p, WR_ROLLBACK, err));
    FAIL_UNLESS(p->acked == 1 + CLIENTS * EACH);
    return 0;
}
static WEFT_SUSPENDS int race_mixed(struct place *p, struct upp_err *err)
{
    return race(p, 0, err);
}

static const char *const raced = "races from many seeds; the modes are tortured one by one";

TEST_WITH(busy_races_reject, .no_torture = raced)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        PLAYS(.seed = seed, .act = race_reject);
}

TEST_WITH(busy_races_enqueue, .no_torture = raced)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        PLAYS(.seed = seed, .act = race_enqueue);
}

TEST_WITH(busy_races_interrupt, .no_torture = raced)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        PLAYS(.seed = seed, .act = race_interrupt);
}

TEST_WITH(busy_races_rollback, .no_torture = raced)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        PLAYS(.seed = seed, .act = race_rollback, .script = seed % 2 ? SLOW_TOOLS : SLOW_TEXT);
}

TEST_WITH(busy_races_of_all_modes, .no_torture = raced)
{
    for (uint64_t seed = 1; seed <= 100; seed++)
        PLAYS(.seed = seed, .act = race_mixed, .script = seed % 2 ? SLOW_TOOLS : SLOW_TEXT);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int start_key(struct place *p, const char *body, struct wb_uuid thread, uint8_t mode,
                                   struct wr_started *ret, struct upp_err *err)
{
    unsigned char hash[32] = {0};
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_cstr(body)};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = rig_owner,
                            .agent = UPP_STR("main"),
                            .input = &input,
                            .thread = thread,
                            .route = UPP_STR("POST /runs"),
                            .key = UPP_STR("once"),
                            .body = hash,
                            .on_busy = mode};
    memcpy(hash, body, strnlen(body, sizeof hash));
    int r = wr_start(p->rig.engine, &what, ret, err);
    if (r < 0)
        return r;
    p->acked++;
    p->joined += ret->joined;
    return checker_acked_start(&p->check,
                               &(struct checker_start){ret->run, ret->thread, wb_cstr(body), UPP_STR("once"), true});
}

/* So a repetition need not read the run to find what was before the request: nothing. */
static WEFT_SUSPENDS int key_has_the_time_of_its_run(struct place *p, const struct wr_started *one, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_run row;
    struct wl_key key;
    TRY(wl_get_run(p->inner, &rig_owner, one->run, &a, &row, err));
    TRY(wl_get_key(p->inner, &rig_owner, UPP_STR("POST /runs"), UPP_STR("once"), &key, err));
    FAIL_UNLESS(key.created_ms == row.created_ms);
    return 0;
}

static WEFT_SUSPENDS int keys(struct place *p, struct upp_err *err)
{
    struct wr_started one, two;
    TRY(start_key(p, "body", WB_UUID_NIL, WR_REJECT, &one, err));
    TRY(start_key(p, "body", WB_UUID_NIL, WR_REJECT, &two, err));
    FAIL_UNLESS(two.joined && !one.joined && wb_uuid_eq(one.run, two.run) && wb_uuid_eq(one.thread, two.thread));
    FAIL_UNLESS(start_key(p, "other", WB_UUID_NIL, WR_REJECT, &two, NULL) == -UPP_EREFUSED);
    TRY(key_has_the_time_of_its_run(p, &one, err));
    TRY(settle(p, err));
    TRY(start_key(p, "body", WB_UUID_NIL, WR_REJECT, &two, err)); /* also when it has ended */
    FAIL_UNLESS(two.joined && wb_uuid_eq(one.run, two.run));
    return 0;
}

TEST(busy_keys_join)
{
    PLAYS(.seed = 4, .act = keys);
    PLAYS(.seed = 5, .act = keys); /* on a store that takes its time */
}

static WEFT_SUSPENDS int key_racer(void *arg, struct upp_err *err)
{
    struct one_of *me = arg;
    struct wr_started s;
    TRY(weft_sleep_ms(weft__sim_below(me->p->sim, 6), err));
    return start_key(me->p, "body", me->p->thread, me->mode, &s, err);
}

static WEFT_SUSPENDS int race_keys(struct place *p, struct upp_err *err)
{
    struct one_of them[CLIENTS]; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    struct wr_started s;
    uint8_t mode = (uint8_t)(1 + p->seed % 4);
    if (p->seed % 3) /* on a thread that exists, else on a new one */
        TRY(start(p, "before", WR_REJECT, &s, err));
    if (p->seed % 3 == 1) /* and is idle, else busy */
        TRY(settle(p, err));
    if (p->seed % 3 == 2)
        mode = (uint8_t)(WR_ENQUEUE + p->seed % 3);
    for (unsigned i = 0; i < CLIENTS; i++) {
        them[i] = (struct one_of){.p = p, .k = i, .mode = mode};
        TRY(weft_scope_spawn(&all, "client", key_racer, &them[i], NULL, err));
    }
    TRY(weft_scope_join(&all, err));
    FAIL_UNLESS(p->joined == CLIENTS - 1); /* one made it */
    return settle(p, err);                 /* and all were told the same */
}

TEST_WITH(busy_thousand_races_for_a_key, .no_torture = raced, .seconds = 120)
{
    uint64_t races = test_times("WEFT_RACES", 1000);
    for (uint64_t seed = 1; seed <= races; seed++)
        PLAYS(.seed = seed, .act = race_keys, .script = "{\"replies\":[{\"parts\":[{\"text\":\"yes\"}]}]}");
}

/* The process dies with the commit of the start, written or not; the client asks again, and there is one run. */
static WEFT_SUSPENDS int key_survives(struct place *p, struct upp_err *err)
{
    struct wr_started one, two;
    size_t n;
    p->frail.dies_in = 1 + weft__sim_below(p->sim, 3);
    p->frail.applies = weft__sim_below(p->sim, 2);
    int r = start_key(p, "body", WB_UUID_NIL, WR_REJECT, &one, NULL);
    for (int i = 0; r >= 0 && !p->frail.dead && i < 100; i++)
        TRY(weft_sleep_ms(10, err));
    rig_close(&p->rig);
    TRY(checker_check(&p->check, p->inner, false, err));
    TRY(open_rig(p, err));
    TRY(wr_recover(p->rig.engine, &n, err));
    TRY(start_key(p, "body", WB_UUID_NIL, WR_REJECT, &two, err));
    FAIL_UNLESS(r < 0 || (two.joined && wb_uuid_eq(one.run, two.run)));
    FAIL_UNLESS(start_key(p, "other", WB_UUID_NIL, WR_REJECT, &one, NULL) == -UPP_EREFUSED);
    return settle(p, err);
}

TEST_WITH(busy_keys_survive_a_crash, .no_torture = raced)
{
    for (uint64_t seed = 1; seed <= 50; seed++)
        PLAYS(.seed = seed, .act = key_survives);
}

/* ---- Nobody answers -------------------------------------------------------------------------- */

static WEFT_SUSPENDS int expires(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wr_started one, two;
    uint8_t status;
    size_t n;
    TRY(start(p, "first", WR_REJECT, &one, err));
    TRY(start(p, "second", WR_ENQUEUE, &two, err));
    TRY(wr_wait(p->rig.engine, &rig_owner, one.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    if (p->seed % 2) { /* also after a restart */
        rig_close(&p->rig);
        TRY(open_rig(p, err));
        TRY(wr_recover(p->rig.engine, &n, err));
    }
    TRY(weft_sleep_ms(p->wait_ms - 200, err));
    TRY(wr_wait(p->rig.engine, &rig_owner, one.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING); /* not before its time */
    TRY(weft_sleep_ms(400, err));
    TRY(wr_wait(p->rig.engine, &rig_owner, one.run, &status, err));
    FAIL_UNLESS(status == WM_EXPIRED);
    TRY(wr_wait(p->rig.engine, &rig_owner, two.run, &status, err)); /* the next one has its turn */
    FAIL_UNLESS(status == WM_WAITING);
    TRY(weft_sleep_ms(p->wait_ms + 400, err));
    TRY(settle(p, err));
    TRY(history(p, &out, err));
    FAIL_UNLESS(times(&out, "repair") == 2);
    return wb_buf_check(&out, err);
}

TEST_WITH(busy_waiting_runs_expire, .no_torture = raced)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        PLAYS(.seed = seed, .act = expires, .wait_ms = 5000,
              .script = "{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"pick\"}}]}],\"at_end\":\"restart\"}");
    for (uint64_t seed = 21; seed <= 40; seed++) /* through a child */
        PLAYS(.seed = seed, .act = expires, .wait_ms = 5000,
              .script =
                  "{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"ask_picker\"}}]}],\"at_end\":\"restart\"}");
}
