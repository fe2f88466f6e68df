/* upp/client/retry.c — whether to retry, and when.
 *
 * The strategies are those of UPP, with two decisions of ours about the server's own instructions (Retry-After):
 *  1. After x-should-retry: false no strategy retries.
 *  2. EXPONENTIAL and LINEAR wait at least as long as Retry-After demands, up to retry_after_max_ms: an earlier retry
 *     gets the same answer and wastes an attempt. TOKEN_BUCKET uses only its bucket; RETRY_AFTER the server's value, or
 *     else base_delay_ms.
 */
#include <math.h>
#include <pthread.h>
#include <upp/provider.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/random.h"

struct upp_retry {
    struct upp_retry_opts o; /* defaults filled in */

    pthread_mutex_t lock; /* of the bucket */
    double tokens;
    uint64_t filled_ns; /* when the tokens were last counted */
};

/* Upper limit of every delay: 24.8 days. */
enum { LONGEST_MS = INT32_MAX };

/* The errors that each strategy retries; bits of enum upp_code. */
#define BIT(code) (UINT32_C(1) << (code))
static const struct {
    uint32_t codes;
    uint64_t base_delay_ms;
} strategies[] = {
    [UPP_RETRY_NONE] = {0, 0},
    [UPP_RETRY_EXPONENTIAL] = {BIT(UPP_ERATE) | BIT(UPP_ENET) | BIT(UPP_ETIMEOUT) | BIT(UPP_EPROVIDER), 1000},
    [UPP_RETRY_LINEAR] = {BIT(UPP_ERATE) | BIT(UPP_ENET) | BIT(UPP_ETIMEOUT) | BIT(UPP_EPROVIDER), 1000},
    [UPP_RETRY_TOKEN_BUCKET] = {BIT(UPP_ERATE), 0},
    [UPP_RETRY_RETRY_AFTER] = {BIT(UPP_ERATE), 5000},
    [UPP_RETRY_CUSTOM] = {UINT32_MAX, 0},
};

static void fill_in(struct upp_retry_opts *o)
{
    if (!o->max_attempts)
        o->max_attempts = 3;
    if (!o->base_delay_ms)
        o->base_delay_ms = strategies[o->kind].base_delay_ms;
    if (!o->max_delay_ms)
        o->max_delay_ms = 30000;
    if (o->max_tokens == 0)
        o->max_tokens = 10;
    if (o->refill_per_second == 0)
        o->refill_per_second = 1;
    if (!o->retry_after_max_ms)
        o->retry_after_max_ms = 3600000;
}

int upp_retry_new(const struct upp_retry_opts *opts, struct upp_retry **ret, struct upp_err *err)
{
    if (opts->kind >= WB_LEN(strategies))
        return upp_fail(err, UPP_EINVALID, "retry: there is no strategy %u", opts->kind);
    if (opts->kind == UPP_RETRY_CUSTOM && !opts->on_failure)
        return upp_fail(err, UPP_EINVALID, "retry: a strategy of one's own needs on_failure");
    if (!isfinite(opts->max_tokens) || opts->max_tokens < 0)
        return upp_fail(err, UPP_EINVALID, "retry: max_tokens is %g, which is no number of tokens", opts->max_tokens);
    if (!isfinite(opts->refill_per_second) || opts->refill_per_second < 0)
        return upp_fail(err, UPP_EINVALID, "retry: refill_per_second is %g, which is no rate", opts->refill_per_second);
    struct upp_retry *r = wb_calloc(1, sizeof *r);
    if (!r)
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    r->o = *opts;
    fill_in(&r->o);
    r->tokens = r->o.max_tokens;
    r->filled_ns = wb_mono_ns();
    if (pthread_mutex_init(&r->lock, NULL)) {
        wb_free(r);
        return upp_fail(err, UPP_ENOMEM, "retry: no mutex");
    }
    *ret = r;
    return 0;
}

void upp_retry_free(struct upp_retry *r)
{
    if (!r)
        return;
    (void)pthread_mutex_destroy(&r->lock);
    wb_free(r);
}

/* Whole milliseconds, rounded up, of any number. */
static uint64_t up(double ms)
{
    if (!(ms < LONGEST_MS))
        return LONGEST_MS;
    uint64_t whole = (uint64_t)ms;
    return whole + ((double)whole < ms);
}

/* Takes a token, even one that is not there yet: later callers then wait longer. */
static uint64_t take_token(struct upp_retry *r)
{
    double per_second = r->o.refill_per_second;
    (void)pthread_mutex_lock(&r->lock);
    uint64_t now = wb_mono_ns();
    if (now > r->filled_ns) {
        r->tokens = WB_MIN(r->o.max_tokens, r->tokens + (double)(now - r->filled_ns) / 1e9 * per_second);
        r->filled_ns = now;
    }
    double had = r->tokens;
    r->tokens -= 1;
    (void)pthread_mutex_unlock(&r->lock);
    return had >= 1 ? 0 : up((1 - had) * 1000 / per_second);
}

static void fill_up(struct upp_retry *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->tokens = r->o.max_tokens;
    r->filled_ns = wb_mono_ns();
    (void)pthread_mutex_unlock(&r->lock);
}

/* From 0.5 to just below 1.5. Without random numbers: 1. Simultaneous retries are better than none. */
static double jitter(void)
{
    uint64_t v;
    if (wb_random(&v, sizeof v, NULL) < 0)
        return 1;
    return 0.5 + (double)(v >> 12) * 0x1p-52; /* one bit less than would fit, or it would round to 1.5 */
}

static uint64_t exponential(const struct upp_retry_opts *o, unsigned attempt)
{
    uint64_t ms = WB_MIN(o->base_delay_ms, o->max_delay_ms);
    for (unsigned i = 1; i < attempt && ms < o->max_delay_ms; i++)
        ms = ms > o->max_delay_ms / 2 ? o->max_delay_ms : ms * 2;
    if (o->no_jitter)
        return WB_MIN(ms, (uint64_t)LONGEST_MS);
    double spread = (double)ms * jitter(); /* after the cap, as in UPP */
    return spread < LONGEST_MS ? (uint64_t)spread : LONGEST_MS;
}

static uint64_t delay(const struct upp_retry_opts *o, uint64_t server_ms, unsigned attempt)
{
    uint64_t own;
    switch (o->kind) {
    case UPP_RETRY_EXPONENTIAL:
        own = exponential(o, attempt);
        return WB_MAX(own, server_ms);
    case UPP_RETRY_LINEAR:
        return WB_MAX(up((double)o->base_delay_ms * attempt), server_ms);
    case UPP_RETRY_TOKEN_BUCKET:
        return up(2 * 1000 / o->refill_per_second);
    default: /* RETRY_AFTER */
        return server_ms ? server_ms : WB_MIN(o->base_delay_ms, (uint64_t)LONGEST_MS);
    }
}

uint64_t upp_retry_before(struct upp_retry *r)
{
    if (r && r->o.kind == UPP_RETRY_TOKEN_BUCKET)
        return take_token(r);
    return r && r->o.kind == UPP_RETRY_CUSTOM && r->o.before ? r->o.before(r->o.arg) : 0;
}

int upp_retry_failed(struct upp_retry *r, const struct upp_err *why, unsigned attempt, uint64_t *ms)
{
    if (!r || why->retry_after_ms == UINT64_MAX)
        return 0;
    if (r->o.kind == UPP_RETRY_CUSTOM) /* only the function limits the attempts */
        return r->o.on_failure(r->o.arg, why, attempt, ms) > 0;
    if (why->code <= 0 || why->code > 31 || !(strategies[r->o.kind].codes & BIT(why->code)) ||
        attempt > r->o.max_attempts)
        return 0;
    uint64_t most = WB_MIN(r->o.retry_after_max_ms, (uint64_t)LONGEST_MS);
    *ms = delay(&r->o, WB_MIN(why->retry_after_ms, most), attempt ? attempt : 1);
    return 1;
}

void upp_retry_succeeded(struct upp_retry *r)
{
    if (!r)
        return;
    if (r->o.kind == UPP_RETRY_TOKEN_BUCKET)
        fill_up(r);
    else if (r->o.kind == UPP_RETRY_CUSTOM && r->o.succeeded)
        r->o.succeeded(r->o.arg);
}
