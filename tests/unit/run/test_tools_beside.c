/* Tools that block: on workers, at the same time, and what a cancel makes of them. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <upp/wait.h>

#include "base/defs.h"
#include "support/round.h"

#define SCRIPT ROUND_SCRIPT
#define REPLY  ROUND_REPLY
#define TEXT   ROUND_TEXT
#define CALL   ROUND_CALL

static const char one[] = SCRIPT(REPLY(CALL("c1", "f", "{\"x\":1}")) "," REPLY(TEXT("done")));
static const char two[] =
    SCRIPT(REPLY(CALL("c1", "f", "{\"x\":1}") "," CALL("c2", "f", "{\"x\":2}")) "," REPLY(TEXT("done")));

static int echo(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    int64_t x;
    if (weft_loop_current() || weft_call_run(call) || !weft_call_key(call).n)
        return upp_fail(err, UPP_EBUG, "this is no worker");
    TRY(upp_call_arg_i64(call, "x", &x, err));
    if (x == 3)
        return upp_fail(err, UPP_EREFUSED, "three is too many");
    return upp_value_json(ret, call->arguments, err);
}

static const struct wr_tool echoes[] = {{.spec = ROUND_SPEC("f"), .base = {.run = echo, .blocking = true}}};

static void echoed(bool real)
{
    UPP_CLEANUP(round_done) struct round own = {.script = two, .tools = echoes, .n_tools = 1, .real = real};
    struct upp_err err = {0};
    CHECK_INT(round_play(&own, &err), 0);
    CHECK_INT(own.result, 0);
    CHECK_INT(own.turn->n_executions, 2);
    CHECK_STR(own.turn->messages[2].parts[0].text, UPP_STR("{\"x\":1}"));
    CHECK_STR(own.turn->messages[2].parts[1].text, UPP_STR("{\"x\":2}"));
}

TEST(beside_runs_on_workers)
{
    echoed(false);
}

TEST(beside_runs_on_real_workers)
{
    echoed(true);
}

TEST(beside_failure_is_told)
{
    struct upp_err err = {0};
    UPP_CLEANUP(round_done)
    struct round run = {
        .script = SCRIPT(REPLY(CALL("c1", "f", "{\"x\":3}")) "," REPLY(TEXT("done"))), .tools = echoes, .n_tools = 1};
    CHECK_INT(round_play(&run, &err), 0);
    CHECK_INT(run.result, 0);
    CHECK_STR(run.turn->messages[2].parts[0].text, UPP_STR("\"three is too many\""));
    CHECK_INT(run.turn->executions[0].approved, UPP_APPROVED_YES);
}

/* ---- At the same time ------------------------------------------------------------------------ */

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t all;
    int here;
};

/* Nobody leaves before both are there. */
static int meet(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct meeting *m = call->arg;
    (void)ret;
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    int r = 0;
    (void)pthread_mutex_lock(&m->lock);
    m->here++;
    (void)pthread_cond_broadcast(&m->all);
    while (m->here < 2 && r == 0)
        r = pthread_cond_timedwait(&m->all, &m->lock, &until);
    (void)pthread_mutex_unlock(&m->lock);
    return r ? upp_fail(err, UPP_ETIMEOUT, "nobody came") : 0;
}

/* covers: UAP-2.6/1 */
TEST_WITH(beside_each_other, .no_torture = "a worker that cannot be started leaves the other waiting")
{
    struct meeting m = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    const struct wr_tool tools[] = {{.spec = ROUND_SPEC("f"), .base = {.run = meet, .blocking = true, .arg = &m}}};
    struct upp_err err = {0};
    UPP_CLEANUP(round_done) struct round run = {.script = two, .tools = tools, .n_tools = 1, .real = true};
    CHECK_INT(round_play(&run, &err), 0);
    CHECK_INT(run.result, 0);
    CHECK(!run.turn->executions[0].is_error && !run.turn->executions[1].is_error);
}

/* ---- Not all workers ------------------------------------------------------------------------- */

struct held {
    atomic_int begun;
    atomic_bool let_go;
};

static int hold(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct held *h = call->arg;
    atomic_fetch_add(&h->begun, 1);
    while (!atomic_load(&h->let_go))
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return upp_value_text(ret, UPP_STR("held"), err);
}

static int touch(void *arg, struct upp_err *err)
{
    (void)err;
    *(bool *)arg = true;
    return 0;
}

/* As a store works: while every tool that may run hangs, and more of them wait. */
static WEFT_SUSPENDS int work_beside(struct round *round, struct upp_err *err)
{
    struct held *h = round->arg;
    struct wr_started started;
    uint8_t status;
    bool touched = false;
    TRY(rig_start(&round->rig, "main", "go", NULL, &started, err));
    round->run = started.run;
    while (atomic_load(&h->begun) < 12)
        TRY(weft_sleep_ms(1, err));
    WEFT_DEADLINE(20000); /* for one that never gets a worker */
    int r = weft_work(touch, &touched, NULL, NULL, err);
    int begun = atomic_load(&h->begun);
    atomic_store(&h->let_go, true);
    TRY(r);
    FAIL_UNLESS(touched && begun == 12);
    TRY(round_wait(round, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED && atomic_load(&h->begun) == 16);
    return 0;
}

#define FOUR(n) CALL("a" n, "f", "{}") "," CALL("b" n, "f", "{}") "," CALL("c" n, "f", "{}") "," CALL("d" n, "f", "{}")

TEST_WITH(beside_tools_leave_workers_to_the_store, .no_torture = "a worker that cannot be started leaves it waiting")
{
    struct held h = {0};
    const struct wr_tool tools[] = {{.spec = ROUND_SPEC("f"), .base = {.run = hold, .blocking = true, .arg = &h}}};
    struct upp_err err = {0};
    UPP_CLEANUP(round_done)
    struct round run = {.script =
                            SCRIPT(REPLY(FOUR("1") "," FOUR("2") "," FOUR("3") "," FOUR("4")) "," REPLY(TEXT("done"))),
                        .tools = tools,
                        .n_tools = 1,
                        .real = true,
                        .act = work_beside,
                        .arg = &h};
    CHECK_INT(round_play(&run, &err), 0);
}

/* ---- Cancel ---------------------------------------------------------------------------------- */

enum let_go { AT_A_CANCEL = 1, AT_THE_END }; /* when one that does not listen may end; 0: it listens */

struct stuck {
    atomic_int begun, stopped, ended;
    enum let_go when;
    atomic_bool let_go;
    struct wb_buf story;
    bool cancels;
};

static int hang(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct stuck *s = call->arg;
    atomic_fetch_add(&s->begun, 1);
    int r = 0;
    while (!atomic_load(&s->let_go) && r >= 0) {
        struct timespec ms = {0, 1000000};
        if (!s->when)
            r = upp_wait_ms(call->wait, 1, err);
        else
            (void)nanosleep(&ms, NULL);
    }
    atomic_fetch_add(&s->stopped, r < 0);
    r = r < 0 ? r : upp_value_text(ret, UPP_STR("done after all"), err);
    atomic_fetch_add(&s->ended, 1);
    return r;
}

static WEFT_SUSPENDS int cancel_it(struct round *round, struct upp_err *err)
{
    struct stuck *s = round->arg;
    struct wr_started started;
    uint8_t status;
    TRY(rig_start(&round->rig, "main", "go", NULL, &started, err));
    round->run = started.run;
    round->thread = started.thread;
    while (!atomic_load(&s->begun))
        TRY(weft_sleep_ms(1, err));
    if (s->cancels)
        TRY(wr_cancel(round->rig.engine, &rig_owner, round->run, err));
    if (s->when == AT_A_CANCEL)
        atomic_store(&s->let_go, true);
    TRY(round_wait(round, &status, err));
    atomic_store(&s->let_go, true);
    FAIL_UNLESS(status == (s->cancels ? WM_CANCELED : WM_COMPLETED));
    return round_story(round, &s->story, err);
}

static bool says(const struct wb_buf *story, const char *text)
{
    return wb_str_find(wb_buf_str(story), wb_cstr(text), 0) != SIZE_MAX;
}

static int hung(struct stuck *s, uint64_t timeout_ms, struct upp_err *err)
{
    const struct wr_tool tools[] = {
        {.spec = ROUND_SPEC("f"), .timeout_ms = timeout_ms, .base = {.run = hang, .blocking = true, .arg = s}}};
    struct round run = {.script = one, .tools = tools, .n_tools = 1, .real = true, .act = cancel_it, .arg = s};
    s->story = (struct wb_buf)WB_BUF(1u << 16);
    return round_play(&run, err);
}

static const char real[] = "it hangs on a real thread";

TEST_WITH(beside_cancel_is_heard, .no_torture = real)
{
    struct stuck s = {.cancels = true};
    struct upp_err err = {0};
    int r = hung(&s, 0, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = s.story;
    CHECK_INT(r, 0);
    CHECK_INT(atomic_load(&s.stopped), 1);
    CHECK(says(&b, "tool f unknown \"outcome unknown: the run was cancelled while this ran\""));
}

/* The tool's time is up; it hears of it as of a cancel, and the run goes on. */
TEST_WITH(beside_time_is_up, .no_torture = real)
{
    struct stuck s = {0};
    struct upp_err err = {0};
    int r = hung(&s, 5, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = s.story;
    CHECK_INT(r, 0);
    CHECK_INT(atomic_load(&s.stopped), 1);
    CHECK(says(&b, "tool f error"));
    CHECK(says(&b, "run completed"));
}

/* One that does not listen but comes back in time: what it did is recorded. */
TEST_WITH(beside_result_after_a_cancel_is_kept, .no_torture = real)
{
    struct stuck s = {.cancels = true, .when = AT_A_CANCEL};
    struct upp_err err = {0};
    int r = hung(&s, 0, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = s.story;
    CHECK_INT(r, 0);
    CHECK(says(&b, "tool f done \"done after all\""));
    CHECK(says(&b, "run cancelled"));
}

/* One that does not come back within ten seconds is left alone: unknown. It takes these ten seconds. */
TEST_WITH(beside_left_alone_after_ten_seconds, .no_torture = real, .seconds = 120)
{
    struct stuck s = {.cancels = true, .when = AT_THE_END};
    struct upp_err err = {0};
    int r = hung(&s, 0, &err); /* waits for the worker, who has what is on our stack */
    WB_CLEANUP(wb_buf_done) struct wb_buf b = s.story;
    CHECK_INT(r, 0);
    CHECK_INT(atomic_load(&s.ended), 1);
    CHECK(says(&b, "tool f unknown \"outcome unknown: the run was cancelled while this ran\""));
}

/* The same when its time is up, and the run goes on without it. */
TEST_WITH(beside_left_alone_when_its_time_is_up, .no_torture = real, .seconds = 120)
{
    struct stuck s = {.when = AT_THE_END};
    struct upp_err err = {0};
    int r = hung(&s, 5, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = s.story;
    CHECK_INT(r, 0);
    CHECK_INT(atomic_load(&s.ended), 1);
    CHECK(says(&b, "tool f unknown \"outcome unknown: it did not return in time\""));
    CHECK(says(&b, "run completed"));
}

/* ---- On the simulated loop, at every moment -------------------------------------------------- */

static WEFT_SUSPENDS int cancel_after(struct round *round, struct upp_err *err)
{
    uint64_t *us = round->arg;
    struct wr_started s;
    uint8_t status;
    TRY(rig_start(&round->rig, "main", "go", NULL, &s, err));
    round->run = s.run;
    round->thread = s.thread;
    TRY(weft_sleep_ms(*us, err));
    int r = wr_cancel(round->rig.engine, &rig_owner, round->run, err);
    if (r < 0 && r != -UPP_EREFUSED)
        return r;
    TRY(round_wait(round, &status, err));
    FAIL_UNLESS(wm_status_ended(status));
    return rig_well_formed(round->store, &rig_owner, round->thread, err);
}

TEST_WITH(beside_cancelled_at_many_moments, .no_torture = "many runs; others are tortured")
{
    for (uint64_t i = 0; i < 60; i++) {
        uint64_t ms = i / 6;
        struct upp_err err = {0};
        struct round run = {
            .script = two, .tools = echoes, .n_tools = 1, .act = cancel_after, .arg = &ms, .seed = i + 1};
        int r = round_play(&run, &err);
        test_note("moment %llu: %s", (unsigned long long)i, err.msg);
        CHECK_INT(r, 0);
    }
}
