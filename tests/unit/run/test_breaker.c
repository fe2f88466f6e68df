/* A provider that cannot be reached: queued runs wait for it, and what is known of it is bounded. */
#include <string.h>
#include <upp/provider.h>

#include "base/clock.h"
#include "base/defs.h"
#include "run/breaker.h"
#include "support/race_rig.h"

#define DOWN     "{\"when\":{\"contains\":\"down\"},\"error\":{\"code\":\"NETWORK_ERROR\"}}"
#define HANGS    "{\"when\":{\"contains\":\"hang\"},\"delay_ms\":3600000,\"parts\":[" TEXT("Too late") "]}"
#define WAITS    "{\"when\":{\"contains\":\"wait\"},\"parts\":[" CALL("c", "pick") "]}"
#define SPEAKS   REPLY(TEXT("Here I am"))
#define SCRIPTED SCRIPT(HANGS "," WAITS "," DOWN "," DOWN "," DOWN "," DOWN "," SPEAKS) /* four: retries too */

enum { MANY = 20 };

/* So many runs on threads of their own fail, or succeed. */
static WEFT_SUSPENDS int runs(struct place *p, const char *text, unsigned n, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    for (unsigned i = 0; i < n; i++) {
        TRY(rig_start(&p->rig, "main", text, NULL, &s, err));
        TRY(place_await(p, s.run, &status, err));
    }
    return 0;
}

/* Runs that are queued with this text, each on a thread that was held for so long, while the model is down. */
static WEFT_SUSPENDS int queue_runs_behind(struct place *p, const char *text, struct wr_started *queued, unsigned n,
                                           uint64_t held_ms, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_cstr(text)};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct upp_err why = {.http = 503};
    static struct wr_started holder[MANY];
    uint8_t status;
    for (unsigned i = 0; i < n; i++) {
        TRY(rig_start(&p->rig, "main", "wait", NULL, &holder[i], err));
        TRY(place_await(p, holder[i].run, &status, err));
        FAIL_UNLESS(status == WM_WAITING);
        TRY(wr_start(p->rig.engine,
                     &(struct wr_start){.owner = rig_owner,
                                        .thread = holder[i].thread,
                                        .agent = UPP_STR("main"),
                                        .input = &input,
                                        .on_busy = WR_ENQUEUE},
                     &queued[i], err));
        FAIL_UNLESS(queued[i].queued);
    }
    TRY(weft_sleep_ms(held_ms, err));
    for (int i = 0; i < WR_BREAKER_FAILURES; i++)
        wr_breaker_note(p->rig.engine, p->rig.models[0], -UPP_EPROVIDER, &why);
    for (unsigned i = 0; i < n; i++)
        TRY(wr_stop(p->rig.engine, &rig_owner, holder[i].run, err));
    return 0;
}

static WEFT_SUSPENDS int queue_runs(struct place *p, const char *text, struct wr_started *queued, unsigned n,
                                    struct upp_err *err)
{
    return queue_runs_behind(p, text, queued, n, 1, err);
}

static WEFT_SUSPENDS int status_of(struct place *p, struct wb_uuid run, uint8_t *ret, struct upp_err *err)
{
    struct wm_run row;
    TRY(place_stored(p, run, &row, err));
    *ret = row.status;
    return 0;
}

static WEFT_SUSPENDS int waits_and_tries(struct place *p, struct upp_err *err)
{
    struct wr_started queued;
    uint8_t status;
    TRY(queue_runs(p, "again", &queued, 1, err));
    FAIL_UNLESS(wr_engine_models_down(p->rig.engine) == 1);
    TRY(weft_sleep_ms(500, err));
    TRY(status_of(p, queued.run, &status, err));
    FAIL_UNLESS(status == WM_QUEUED);
    TRY(place_await(p, queued.run, &status, err)); /* it is the one that tries */
    FAIL_UNLESS(status == WM_COMPLETED && wr_engine_models_down(p->rig.engine) == 0);
    return 0;
}

TEST(breaker_holds_a_queued_run_until_its_model_answers)
{
    PLAYS(.script = SCRIPTED, .act = waits_and_tries);
}

static WEFT_SUSPENDS int many_wait(struct place *p, struct upp_err *err)
{
    static struct wr_started queued[MANY];
    uint8_t status;
    unsigned n = 0;
    TRY(queue_runs(p, "down", queued, MANY, err));
    TRY(weft_sleep_ms(600000, err)); /* ten minutes: some have tried */
    for (int i = 0; i < MANY; i++) {
        TRY(status_of(p, queued[i].run, &status, err));
        FAIL_UNLESS(status == WM_QUEUED || status == WM_FAILED);
        n += status == WM_FAILED;
    }
    FAIL_UNLESS(n >= 5 && n <= 16 && wr_engine_models_down(p->rig.engine) == 1); /* 1 + 2 + 4 ... + 60 + 60 ... */
    TRY(runs(p, "hello", 1, err)); /* somebody else finds out that it is back */
    FAIL_UNLESS(wr_engine_models_down(p->rig.engine) == 0);
    for (int i = 0; i < MANY; i++)
        TRY(place_await(p, queued[i].run, &status, err));
    return 0;
}

TEST(breaker_lets_one_queued_run_try_at_a_time)
{
    PLAYS(.script = SCRIPTED, .act = many_wait);
}

static WEFT_SUSPENDS int waits_long_enough(struct place *p, struct upp_err *err)
{
    struct wr_started queued[3];
    uint8_t status;
    TRY(queue_runs(p, "down", queued, 3, err));
    for (int i = 0; i < 3; i++) {
        WEFT_DEADLINE(2u * 60 * 60 * 1000);
        TRY(wr_wait(p->rig.engine, &rig_owner, queued[i].run, &status, err));
        FAIL_UNLESS(status == WM_FAILED);
    }
    return 0;
}

TEST(breaker_holds_no_run_for_ever)
{
    PLAYS(.script = SCRIPTED, .act = waits_long_enough);
}

/* The hour begins when their turn has come, not when they were queued. */
static WEFT_SUSPENDS int waits_from_its_turn(struct place *p, struct upp_err *err)
{
    static struct wr_started queued[MANY];
    uint8_t status;
    unsigned waiting = 0;
    TRY(queue_runs_behind(p, "down", queued, MANY, 3u * 60 * 60 * 1000, err));
    TRY(weft_sleep_ms(2u * 60 * 1000, err));
    for (int i = 0; i < MANY; i++) {
        TRY(status_of(p, queued[i].run, &status, err));
        waiting += status == WM_QUEUED;
    }
    FAIL_UNLESS(waiting >= MANY / 2);
    return 0;
}

TEST(breaker_counts_the_wait_from_the_turn_of_a_run)
{
    PLAYS(.script = SCRIPTED, .act = waits_from_its_turn);
}

static WEFT_SUSPENDS int hangs(struct place *p, struct upp_err *err)
{
    static struct wr_started queued[MANY];
    uint8_t status;
    unsigned started = 0;
    TRY(queue_runs(p, "hang", queued, MANY, err));
    TRY(weft_sleep_ms(60000, err));
    for (int i = 0; i < MANY; i++) {
        TRY(status_of(p, queued[i].run, &status, err));
        started += status != WM_QUEUED;
    }
    FAIL_UNLESS(started >= 2 && started <= 6); /* after 1, 3, 7, 15 and 31 seconds */
    for (int i = 0; i < MANY; i++)
        TRY(wr_stop(p->rig.engine, &rig_owner, queued[i].run, err));
    return 0;
}

TEST(breaker_tries_rarely_while_a_trial_hangs)
{
    PLAYS(.script = SCRIPTED, .act = hangs);
}

static WEFT_SUSPENDS int what_counts(struct place *p, struct upp_err *err)
{
    static const int others[] = {UPP_EAUTH, UPP_EINVALID, UPP_ECANCELED, UPP_ESTORE, UPP_EQUOTA};
    struct wr_engine *e = p->rig.engine;
    struct upp_model m = *p->rig.models[0];
    struct upp_err bad = {.http = 400}, none = {0};
    for (int i = 0; i < 3 * WR_BREAKER_FAILURES; i++) {
        wr_breaker_note(e, &m, -others[(size_t)i % WB_LEN(others)], &none);
        wr_breaker_note(e, &m, -UPP_EPROVIDER, &bad);
    }
    FAIL_UNLESS(e->breakers.n == 0);
    for (int i = 0; i < 3 * WR_BREAKER_FAILURES; i++) {
        wr_breaker_note(e, &m, -UPP_ENET, &none);
        if (i % (WR_BREAKER_FAILURES - 1) == 0)
            wr_breaker_note(e, &m, 0, &none);
    }
    FAIL_UNLESS(wr_engine_models_down(e) == 0); /* never five in a row */
    (void)err;
    return 0;
}

TEST(breaker_counts_failures_of_the_provider)
{
    PLAYS(.act = what_counts);
}

static WEFT_SUSPENDS int two_hosts(struct place *p, struct upp_err *err)
{
    static const char *const urls[] = {"http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"};
    struct wr_engine *e = p->rig.engine;
    struct upp_err none = {0};
    struct upp_model *m[2] = {0};
    int r = 0;
    for (size_t i = 0; r >= 0 && i < WB_LEN(m); i++)
        r = upp_model_new((struct upp_model_ref){"vllm", "m", UPP_OPTS(upp_provider_opts, .base_url = urls[i])}, &m[i],
                          err);
    for (int i = 0; r >= 0 && i < WR_BREAKER_FAILURES; i++)
        wr_breaker_note(e, m[0], -UPP_ENET, &none);
    bool first = r >= 0 && wr_breaker_lets(e, m[0], wb_wall_ms());
    bool second = r >= 0 && wr_breaker_lets(e, m[1], wb_wall_ms());
    upp_model_freep(&m[0]);
    upp_model_freep(&m[1]);
    TRY(r);
    FAIL_UNLESS(!first && second);
    return 0;
}

TEST(breaker_knows_the_address_of_a_model)
{
    PLAYS(.act = two_hosts);
}

static WEFT_SUSPENDS int many_models(struct place *p, struct upp_err *err)
{
    struct wr_engine *e = p->rig.engine;
    struct upp_model m = *p->rig.models[0];
    struct upp_err none = {0};
    char name[200];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "model-%d", i);
        m.name = wb_cstr(name);
        for (int k = 0; k < WR_BREAKER_FAILURES; k++)
            wr_breaker_note(e, &m, -UPP_ENET, &none);
        TRY(weft_sleep_ms(1, err));
    }
    FAIL_UNLESS(e->breakers.n == 64 && wr_engine_models_down(e) == 64 && !wr_breaker_lets(e, &m, wb_wall_ms()));
    memset(name, 'x', sizeof name);
    m.name = wb_str(name, sizeof name);
    for (int k = 0; k < WR_BREAKER_FAILURES; k++)
        wr_breaker_note(e, &m, -UPP_ENET, &none);
    FAIL_UNLESS(e->breakers.n == 64 && wr_breaker_lets(e, &m, wb_wall_ms())); /* too long a name: nothing waits */
    return 0;
}

TEST(breaker_remembers_so_many_models)
{
    PLAYS(.act = many_models);
}
