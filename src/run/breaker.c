/* run/breaker.c — the circuit breakers of an engine's models: counts failures, and lets one run at a time try. */
#include "run/breaker.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "upp/providers/vendors.h"

enum { FIRST_MS = 1000, MOST_MS = 60000, BREAKERS = 64 };

static struct wr_breaker *find_breaker(struct wr_engine *e, const struct upp_model *model)
{
    struct upp_str provider = wb_cstr(model->ops->provider);
    uint64_t host = wb_str_hash(upp__base_url_of(model));
    for (size_t i = 0; i < e->breakers.n; i++) {
        struct wr_breaker *b = &e->breakers.p[i];
        if (b->host == host && wb_str_eq(model->name, wb_cstr(b->model)) && wb_str_eq(provider, wb_cstr(b->provider)))
            return b;
    }
    return NULL;
}

/* Is it a failure that says something about the provider, and not about this request? */
static bool counts(int result, const struct upp_err *why)
{
    switch (-result) {
    case UPP_ENET:
    case UPP_ETIMEOUT:
    case UPP_ERATE:
        return true;
    case UPP_EPROVIDER:
        return why->http == 0 || why->http >= 500;
    default:
        return false;
    }
}

static void remove_breaker(struct wr_engine *e, struct wr_breaker *b)
{
    e->down -= b->failures >= WR_BREAKER_FAILURES;
    *b = e->breakers.p[--e->breakers.n];
}

/* Models that a reload has removed never answer: the one that failed longest ago makes room. */
static void make_room(struct wr_engine *e)
{
    struct wr_breaker *oldest = e->breakers.p;
    for (size_t i = 1; i < e->breakers.n; i++)
        if (e->breakers.p[i].failed_ms < oldest->failed_ms)
            oldest = &e->breakers.p[i];
    remove_breaker(e, oldest);
}

/* NULL: no memory, or a name that is too long: queued runs on it do not wait. */
static struct wr_breaker *add_breaker(struct wr_engine *e, const struct upp_model *model)
{
    struct wr_breaker new = {0};
    if (model->name.n >= sizeof new.model || strlen(model->ops->provider) >= sizeof new.provider)
        return NULL;
    memcpy(new.model, model->name.p, model->name.n);
    strcpy(new.provider, model->ops->provider);
    new.host = wb_str_hash(upp__base_url_of(model));
    if (e->breakers.n == BREAKERS)
        make_room(e);
    return wb_vec_push(&e->breakers, new, BREAKERS) ? &e->breakers.p[e->breakers.n - 1] : NULL;
}

static void note_failure(struct wr_engine *e, struct wr_breaker *b, const struct upp_err *why)
{
    b->failed_ms = wb_wall_ms();
    if (++b->failures < WR_BREAKER_FAILURES)
        return;
    if (b->failures == WR_BREAKER_FAILURES) {
        e->down++;
        b->wait_ms = FIRST_MS;
        wb_log(WB_WARN, "a model cannot be reached: queued runs on it wait", WB_LZ("model", b->model), WB_LERR(why));
    }
    b->next_ms = b->failed_ms + b->wait_ms;
}

static void succeeded(struct wr_engine *e, struct wr_breaker *b)
{
    if (b->failures >= WR_BREAKER_FAILURES) {
        wb_log(WB_INFO, "a model answers again", WB_LZ("model", b->model));
        wr_supervise_at(e, wb_wall_ms());
    }
    remove_breaker(e, b);
}

void wr_breaker_note(struct wr_engine *e, const struct upp_model *model, int result, const struct upp_err *why)
{
    if (result >= 0 && !e->breakers.n)
        return;
    struct wr_breaker *b = find_breaker(e, model);
    if (result >= 0 && b)
        succeeded(e, b);
    else if (result < 0 && counts(result, why) && (b || (b = add_breaker(e, model))))
        note_failure(e, b, why);
}

bool wr_breaker_lets(struct wr_engine *e, const struct upp_model *model, int64_t since_ms)
{
    int64_t now = wb_wall_ms();
    uint64_t most = e->opts.provider_wait_ms;
    struct wr_breaker *b = e->breakers.n && model ? find_breaker(e, model) : NULL;
    if (!b || b->failures < WR_BREAKER_FAILURES)
        return true;
    if (most != UINT64_MAX && (now < since_ms || (uint64_t)(now - since_ms) >= most))
        return true;
    if (now < b->next_ms && b->next_ms - now <= b->wait_ms) { /* else the clock was set back */
        wr_supervise_at(e, b->next_ms);
        return false;
    }
    b->wait_ms = WB_MIN(2 * b->wait_ms, (int64_t)MOST_MS); /* also if this one hears nothing for long */
    b->next_ms = now + b->wait_ms;
    wr_supervise_at(e, b->next_ms);
    return true;
}
