/* Trying again. */
#include <math.h>
#include <pthread.h>
#include <upp/provider.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "base/random.h"
#include "base/str.h"
#include "support/test.h"

static void freep(struct upp_retry **r)
{
    upp_retry_free(*r);
}

/* How long to wait after a failure; -1: give up. */
static int64_t failed(struct upp_retry *r, int code, unsigned attempt, uint64_t said)
{
    struct upp_err why = {.code = code, .retry_after_ms = said};
    uint64_t ms = 99;
    return upp_retry_failed(r, &why, attempt, &ms) ? (int64_t)ms : -1;
}

/* covers: UPP-10/2 */
TEST(retry_codes_of_each_strategy)
{
    static const struct {
        uint8_t kind;
        uint32_t codes;
    } cases[] = {
        {UPP_RETRY_NONE, 0},
        {UPP_RETRY_EXPONENTIAL, 1 << UPP_ERATE | 1 << UPP_ENET | 1 << UPP_ETIMEOUT | 1 << UPP_EPROVIDER},
        {UPP_RETRY_LINEAR, 1 << UPP_ERATE | 1 << UPP_ENET | 1 << UPP_ETIMEOUT | 1 << UPP_EPROVIDER},
        {UPP_RETRY_TOKEN_BUCKET, 1 << UPP_ERATE},
        {UPP_RETRY_RETRY_AFTER, 1 << UPP_ERATE},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(freep) struct upp_retry *r = NULL;
        test_note("strategy %u", cases[i].kind);
        CHECK(upp_retry_new(&(struct upp_retry_opts){.kind = cases[i].kind}, &r, NULL) == 0);
        for (int code = -1; code < 40; code++) {
            bool again = code > 0 && code < 32 && (cases[i].codes >> code & 1);
            CHECK((failed(r, code, 1, 0) >= 0) == again);
            CHECK((failed(r, code, 3, 0) >= 0) == again); /* three times */
            CHECK(failed(r, code, 4, 0) == -1);
            CHECK(failed(r, code, 1, UINT64_MAX) == -1); /* told never to */
        }
    }
}

/* covers: UPP-10/2/3 */
TEST(retry_delays_without_chance)
{
    static const struct {
        struct upp_retry_opts o;
        unsigned attempt;
        uint64_t said;
        int64_t ms;
    } cases[] = {
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true}, 1, 0, 1000},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true}, 2, 0, 2000},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true}, 3, 0, 4000},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true, .max_attempts = 200}, 6, 0, 30000},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true, .max_attempts = 200}, 100, 0, 30000},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true, .max_delay_ms = 1500}, 2, 0, 1500},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true, .base_delay_ms = 500}, 1, 0, 500},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true, .base_delay_ms = 90000}, 1, 0, 30000},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true, .max_delay_ms = UINT64_MAX, .max_attempts = UINT32_MAX},
         UINT32_MAX,
         0,
         INT32_MAX},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true}, 1, 7000, 7000}, /* the server knows better */
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true}, 3, 500, 4000},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true}, 1, 7200000, 3600000},
        {{.kind = UPP_RETRY_EXPONENTIAL, .no_jitter = true, .retry_after_max_ms = 3000}, 1, 7000, 3000},
        {{.kind = UPP_RETRY_LINEAR}, 1, 0, 1000},
        {{.kind = UPP_RETRY_LINEAR}, 3, 0, 3000},
        {{.kind = UPP_RETRY_LINEAR, .base_delay_ms = 50}, 2, 0, 100},
        {{.kind = UPP_RETRY_LINEAR, .base_delay_ms = UINT64_MAX}, 2, 0, INT32_MAX},
        {{.kind = UPP_RETRY_LINEAR}, 1, 7000, 7000},
        {{.kind = UPP_RETRY_TOKEN_BUCKET}, 1, 0, 2000},
        {{.kind = UPP_RETRY_TOKEN_BUCKET, .refill_per_second = 3}, 1, 0, 667},
        {{.kind = UPP_RETRY_TOKEN_BUCKET, .refill_per_second = 1e-300}, 1, 0, INT32_MAX},
        {{.kind = UPP_RETRY_TOKEN_BUCKET}, 1, 7000, 2000}, /* its own account */
        {{.kind = UPP_RETRY_RETRY_AFTER}, 1, 0, 5000},
        {{.kind = UPP_RETRY_RETRY_AFTER}, 1, 100, 100},
        {{.kind = UPP_RETRY_RETRY_AFTER}, 2, 7200000, 3600000},
        {{.kind = UPP_RETRY_RETRY_AFTER, .base_delay_ms = 20}, 3, 0, 20},
        {{.kind = UPP_RETRY_RETRY_AFTER, .base_delay_ms = UINT64_MAX}, 3, 0, INT32_MAX},
        {{.kind = UPP_RETRY_RETRY_AFTER, .max_attempts = 1}, 2, 0, -1},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(freep) struct upp_retry *r = NULL;
        test_note("case %zu", i);
        CHECK(upp_retry_new(&cases[i].o, &r, NULL) == 0);
        CHECK_INT(failed(r, UPP_ERATE, cases[i].attempt, cases[i].said), cases[i].ms);
        CHECK(upp_retry_before(r) == 0); /* a full bucket, or none */
    }
}

/* covers: UPP-10/2 */
TEST(retry_jitter_stays_in_its_bounds)
{
    WB_CLEANUP(freep) struct upp_retry *r = NULL;
    int64_t least = INT64_MAX, most = 0;
    CHECK(upp_retry_new(&(struct upp_retry_opts){.kind = UPP_RETRY_EXPONENTIAL}, &r, NULL) == 0);
    for (int i = 0; i < 4000; i++) {
        int64_t ms = failed(r, UPP_ENET, 1, 0);
        ALWAYS(ms >= 500 && ms < 1500);
        ALWAYS(failed(r, UPP_ERATE, 1, 1000) >= 1000); /* never sooner than the server said */
        least = WB_MIN(least, ms);
        most = WB_MAX(most, ms);
    }
    CHECK(least < 700 && most > 1300); /* not once in 10^300 runs */
}

/* ---- With a clock and chance of our own ------------------------------------------------------ */

static uint64_t fake_ns;
static uint64_t fake_mono(void)
{
    return fake_ns;
}

static unsigned char fake_byte;
static int64_t fake_random(void *p, size_t n)
{
    memset(p, fake_byte, n);
    return (int64_t)n;
}

static int64_t no_random(void *p, size_t n)
{
    (void)p, (void)n;
    return -5;
}

TEST_WITH(retry_jitter_by_the_hook, .no_torture = "it replaces the table that injects the faults")
{
    WB_CLEANUP(freep) struct upp_retry *r = NULL;
    struct upp_hooks before = *wb_hooks(), mine = before;
    int64_t got[4];
    CHECK(upp_retry_new(&(struct upp_retry_opts){.kind = UPP_RETRY_EXPONENTIAL}, &r, NULL) == 0);
    mine.random = fake_random;
    int set = upp_global_init(&mine, NULL);
    fake_byte = 0;
    wb_random_forget();
    got[0] = failed(r, UPP_ERATE, 1, 0);
    got[1] = failed(r, UPP_ERATE, 3, 0);
    fake_byte = 0xff;
    wb_random_forget();
    got[2] = failed(r, UPP_ERATE, 1, 0);
    mine.random = no_random;
    int again = upp_global_init(&mine, NULL);
    wb_random_forget();
    got[3] = failed(r, UPP_ERATE, 1, 0);
    int back = upp_global_init(&before, NULL);
    wb_random_forget();
    CHECK(set == 0 && again == 0 && back == 0);
    CHECK_INT(got[0], 500);
    CHECK_INT(got[1], 2000);
    CHECK_INT(got[2], 1499);
    CHECK_INT(got[3], 1000); /* no chance, no jitter */
}

/* covers: UPP-10/2 */
TEST_WITH(retry_bucket_by_the_clock, .no_torture = "it replaces the table that injects the faults")
{
    WB_CLEANUP(freep) struct upp_retry *r = NULL;
    struct upp_hooks before = *wb_hooks(), mine = before;
    uint64_t got[16];
    size_t n = 0;
    mine.mono_ns = fake_mono;
    fake_ns = 1000;
    int set = upp_global_init(&mine, NULL);
    struct upp_retry_opts o = {.kind = UPP_RETRY_TOKEN_BUCKET, .max_tokens = 3, .refill_per_second = 2};
    int r0 = upp_retry_new(&o, &r, NULL);
    for (int i = 0; i < 5; i++)
        got[n++] = upp_retry_before(r); /* 0 0 0, then reserved: 500, 1000 */
    fake_ns += 500000000;               /* one more token: -2 + 1 */
    got[n++] = upp_retry_before(r);
    fake_ns -= 500000000; /* a clock that goes back gives nothing */
    got[n++] = upp_retry_before(r);
    upp_retry_succeeded(r);
    for (int i = 0; i < 4; i++)
        got[n++] = upp_retry_before(r); /* full again: 0 0 0 500 */
    fake_ns += UINT64_C(1000000000000); /* no fuller than full */
    for (int i = 0; i < 4; i++)
        got[n++] = upp_retry_before(r);
    int back = upp_global_init(&before, NULL);
    CHECK(set == 0 && r0 == 0 && back == 0);
    static const uint64_t want[] = {0, 0, 0, 500, 1000, 1000, 1500, 0, 0, 0, 500, 0, 0, 0, 500};
    CHECK_INT(n, WB_LEN(want));
    for (size_t i = 0; i < n; i++) {
        test_note("%zu", i);
        CHECK_INT(got[i], want[i]);
    }
}

static void *take_many(void *arg)
{
    struct upp_retry *r = arg;
    uintptr_t free_ = 0;
    for (int i = 0; i < 1000; i++)
        free_ += upp_retry_before(r) == 0;
    return (void *)free_;
}

/* As many go without waiting as there are tokens, however many ask at the same time. */
TEST_WITH(retry_bucket_of_many_threads, .no_torture = "it replaces the table that injects the faults")
{
    WB_CLEANUP(freep) struct upp_retry *r = NULL;
    struct upp_hooks before = *wb_hooks(), mine = before;
    pthread_t threads[4];
    size_t started = 0, sum = 0;
    mine.mono_ns = fake_mono;
    int set = upp_global_init(&mine, NULL);
    int r0 = upp_retry_new(&(struct upp_retry_opts){.kind = UPP_RETRY_TOKEN_BUCKET, .max_tokens = 777}, &r, NULL);
    while (started < 4 && pthread_create(&threads[started], NULL, take_many, r) == 0)
        started++;
    for (size_t i = 0; i < started; i++) {
        void *ret = NULL;
        (void)pthread_join(threads[i], &ret);
        sum += (uintptr_t)ret;
    }
    uint64_t last = upp_retry_before(r);
    int back = upp_global_init(&before, NULL);
    CHECK(set == 0 && r0 == 0 && back == 0 && started == 4);
    CHECK_INT(sum, 777);
    CHECK_INT(last, (4001 - 777) * 1000);
}

/* ---- One's own, none, and mistakes ----------------------------------------------------------- */

struct own {
    int failures, successes, befores;
};

static int own_failure(void *arg, const struct upp_err *why, unsigned attempt, uint64_t *ms)
{
    ((struct own *)arg)->failures++;
    *ms = attempt * 10 + (unsigned)why->code;
    return attempt < 50;
}

static uint64_t own_before(void *arg)
{
    return (uint64_t)++((struct own *)arg)->befores;
}

static void own_success(void *arg)
{
    ((struct own *)arg)->successes++;
}

TEST(retry_by_a_function)
{
    WB_CLEANUP(freep) struct upp_retry *r = NULL, *bare = NULL;
    struct own own = {0};
    struct upp_retry_opts o = {.kind = UPP_RETRY_CUSTOM,
                               .on_failure = own_failure,
                               .before = own_before,
                               .succeeded = own_success,
                               .arg = &own};
    CHECK(upp_retry_new(&o, &r, NULL) == 0);
    CHECK_INT(upp_retry_before(r), 1);
    CHECK_INT(failed(r, UPP_EINVALID, 49, 0), 490 + UPP_EINVALID);
    CHECK_INT(failed(r, UPP_EINVALID, 50, 0), -1);
    CHECK_INT(failed(r, UPP_ERATE, 1, UINT64_MAX), -1); /* not even asked */
    upp_retry_succeeded(r);
    CHECK(own.failures == 2 && own.successes == 1 && own.befores == 1);
    o.before = NULL;
    o.succeeded = NULL;
    CHECK(upp_retry_new(&o, &bare, NULL) == 0);
    CHECK_INT(upp_retry_before(bare), 0);
    upp_retry_succeeded(bare);
}

/* covers: UPP-10/2 */
TEST(retry_none_is_none)
{
    struct upp_err why = {.code = UPP_ERATE};
    uint64_t ms = 7;
    CHECK_INT(upp_retry_before(NULL), 0);
    CHECK_INT(upp_retry_failed(NULL, &why, 1, &ms), 0);
    CHECK_INT(ms, 7);
    upp_retry_succeeded(NULL);
    upp_retry_free(NULL);
}

TEST(retry_options_are_checked)
{
    static const struct {
        struct upp_retry_opts o;
        const char *why;
    } cases[] = {
        {{.kind = 6}, "retry: there is no strategy 6"},
        {{.kind = UPP_RETRY_CUSTOM}, "retry: a strategy of one's own needs on_failure"},
        {{.kind = UPP_RETRY_TOKEN_BUCKET, .max_tokens = -1}, "retry: max_tokens is -1, which is no number of tokens"},
        {{.max_tokens = (double)INFINITY}, "retry: max_tokens is inf, which is no number of tokens"},
        {{.refill_per_second = -2}, "retry: refill_per_second is -2, which is no rate"},
        {{.refill_per_second = (double)INFINITY}, "retry: refill_per_second is inf, which is no rate"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_retry *r = NULL;
        struct upp_err err;
        CHECK_INT(upp_retry_new(&cases[i].o, &r, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].why));
        ALWAYS(!r);
    }
}
