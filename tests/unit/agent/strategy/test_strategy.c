/* Strategies are interchangeable, and anybody can write one. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "support/hooks.h"
#include "support/race_rig.h"

/* UAP's example of a custom strategy. */

static WEFT_SUSPENDS int custom_execute(struct weft_run *run, struct upp_err *err)
{
    const struct weft_reply *reply;
    return weft_run_ask(run, "generate", NULL, &reply, err);
}
static const struct weft_strategy custom = {.name = "custom", .execute = custom_execute};

static WEFT_SUSPENDS int completes(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(rig_read(&p->rig, s.run, &out, err)); /* to stream it is to look on */
    FAIL_UNLESS(wb_str_find(wb_buf_str(&out), UPP_STR("s1 delta 0 'hi'"), 0) != SIZE_MAX);
    FAIL_UNLESS(wb_str_find(wb_buf_str(&out), UPP_STR("s1 checkpoint"), 0) != SIZE_MAX);
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return heard_is(h,
                    "start 1\nend 1: user assistant; 0+0 in 1 cycles, 0 executions\nstop 1 0\n"
                    "complete: user assistant; 0+0 in 1 cycles, 0 executions; hi\n",
                    err);
}

/* covers: UAP-5.1/1, UAP-5.5/1/2/5, UAP-11.6/1 */
TEST(strategy_of_ones_own)
{
    WB_CLEANUP(heard_done) struct heard h = {0};
    PLAYS(.script = SCRIPT(REPLY(TEXT("hi"))), .strategy = &custom, .hooks = heard_hooks(&h), .act = completes);
}

static unsigned stopped;

/* It sees that it was told to stop. */
static WEFT_SUSPENDS int until_stopped(struct weft_run *run, struct upp_err *err)
{
    int r = upp_wait_ms(run->signal, 3600000, err);
    stopped += r == -UPP_ECANCELED && upp_wait_stopped(run->signal, err) == -UPP_ECANCELED;
    return r;
}
static const struct weft_strategy patient = {.name = "patient", .execute = until_stopped};

static WEFT_SUSPENDS int is_told(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    stopped = 0;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(10, err));
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED && stopped == 1);
    return 0;
}

/* covers: UAP-5.1/5 */
TEST(strategy_has_a_signal)
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("hi"))), .strategy = &patient, .act = is_told);
}

/* It is cancelled as any other, and says what it had said. */
static WEFT_SUSPENDS int is_canceled(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(250, err));
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED);
    return 0;
}

/* covers: UAP-5.1/2, UAP-5.5/3 */
TEST(strategy_of_ones_own_is_cancelled)
{
    PLAYS(.script = SLOWLY, .strategy = &custom, .act = is_canceled);
}

/* One that leaves calls alone and asks again: they have results before the model hears more. */
static WEFT_SUSPENDS int careless_execute(struct weft_run *run, struct upp_err *err)
{
    const struct weft_reply *reply;
    TRY(weft_run_ask(run, "first", NULL, &reply, err));
    return weft_run_ask(run, "second", NULL, &reply, err);
}
static const struct weft_strategy careless = {.name = "careless", .execute = careless_execute};

static WEFT_SUSPENDS int is_mended(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf log = WB_BUF(1u << 20);
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(rig_history(&p->rig, s.thread, &log, err));
    FAIL_UNLESS(wb_str_eq(
        wb_buf_str(&log),
        UPP_STR("user: hello\nassistant: note={}\nrepair tool: note=\"not run: the agent went on without it\"\n"
                "assistant: so\n")));
    return rig_well_formed(p->inner, &rig_owner, s.thread, err);
}

TEST(strategy_that_does_not_run_its_calls)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("c1", "note")) "," REPLY(TEXT("so"))), .strategy = &careless, .act = is_mended);
}

/* The same agent by every strategy. */

/* A model that writes down what it is given, and says a plan of one step. */
struct listening {
    struct wb_buf heard;
    size_t calls;
};

static int listen_open(struct upp_step *s, struct upp_err *err)
{
    struct listening *l = s->model->state;
    const struct upp_request *r = s->request;
    wb_buf_clear(&l->heard); /* the last call is the one that acts */
    wb_buf_addf(&l->heard, "%.*s|%.*s|", UPP_FMT(r->system), UPP_FMT(r->params));
    for (size_t i = 0; i < r->n_tools; i++)
        wb_buf_addf(&l->heard, "%.*s:%.*s:%.*s;", UPP_FMT(r->tools[i].name), UPP_FMT(r->tools[i].description),
                    UPP_FMT(r->tools[i].parameters));
    l->calls++;
    return wb_buf_check(&l->heard, err);
}

static int listen_next(struct upp_step *s, struct upp_step_event *ev, struct upp_err *err)
{
    static const struct upp_step_event said[] = {
        {.kind = UPP_STEP_PART_OPEN, .part_kind = UPP_PART_TEXT},
        {.kind = UPP_STEP_DELTA, .text = UPP_STR_INIT("{\"steps\":[{\"id\":\"a\",\"description\":\"d\"}]}")},
        {.kind = UPP_STEP_PART_CLOSE},
        {.kind = UPP_STEP_END, .stop = UPP_STOP_END}};
    uint32_t *i = upp_step_state(s);
    (void)err;
    *ev = said[(*i)++];
    return 1;
}

static const struct upp_model_ops listens = {.size = sizeof listens,
                                             .provider = "listening",
                                             .step_size = sizeof(uint32_t),
                                             .open = listen_open,
                                             .next = listen_next};

struct comparing {
    struct listening first, now;
    size_t n;
};

static void comparing_done(struct comparing *c)
{
    wb_buf_done(&c->first.heard);
    wb_buf_done(&c->now.heard);
}

static WEFT_SUSPENDS int compare(struct place *p, struct upp_err *err)
{
    struct comparing *c = p->hooks.arg;
    struct listening *l = c->n ? &c->now : &c->first;
    const struct upp_model model = {.ops = &listens, .name = UPP_STR("m"), .state = l};
    struct wr_started s;
    wb_buf_done(&l->heard);
    *l = (struct listening){.heard = WB_BUF(1u << 16)};
    p->rig.agents[0].model = &model;
    p->rig.agents[0].system = UPP_STR("You are kind.");
    p->rig.agents[0].params = UPP_STR("{\"temperature\":0.5}");
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    static const size_t calls[] = {1, 2, 2, 1};
    FAIL_UNLESS(l->calls == calls[c->n]);
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&l->heard), wb_buf_str(&c->first.heard)));
    FAIL_UNLESS(wb_str_starts(wb_buf_str(&l->heard), UPP_STR("You are kind.|{\"temperature\":0.5}|add:adds two")));
    return 0;
}

/* covers: UAP-2.2/1 */
TEST(strategy_does_not_change_what_the_model_is_given)
{
    static const struct weft_strategy *const all[] = {&weft_strategy_loop, &weft_strategy_react, &weft_strategy_plan,
                                                      &custom};
    WB_CLEANUP(comparing_done) struct comparing c = {0};
    for (c.n = 0; c.n < WB_LEN(all); c.n++)
        PLAYS(.strategy = all[c.n], .hooks = {.arg = &c}, .act = compare);
}
