/* server/keys/limits.c — parses limits, fills token buckets, and passes starts and ends of runs on to the loop that
 * counts them. */
#include "server/keys/limits.h"

#include <stddef.h>
#include <stdio.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/str.h"
#include "server/keys/key.h"

static const struct row {
    struct upp_str name, per;
    size_t at;
    uint64_t max;
} rows[] = {
    {UPP_STR_INIT("requests"), UPP_STR_INIT("/m"), offsetof(struct sv_limits, requests), SV_REQUESTS_MAX},
    {UPP_STR_INIT("runs"), UPP_STR_INIT(""), offsetof(struct sv_limits, runs), SV_LIMIT_MAX},
    {UPP_STR_INIT("tokens"), UPP_STR_INIT("/d"), offsetof(struct sv_limits, tokens), SV_LIMIT_MAX},
    {UPP_STR_INIT("bytes"), UPP_STR_INIT(""), offsetof(struct sv_limits, bytes), SV_LIMIT_MAX},
};

static const struct {
    struct upp_str name;
    uint64_t bytes;
} units[] = {
    {UPP_STR_INIT("KiB"), UINT64_C(1) << 10},
    {UPP_STR_INIT("MiB"), UINT64_C(1) << 20},
    {UPP_STR_INIT("GiB"), UINT64_C(1) << 30},
    {UPP_STR_INIT("TiB"), UINT64_C(1) << 40},
    {UPP_STR_INIT("kB"), 1000},
    {UPP_STR_INIT("MB"), 1000000},
    {UPP_STR_INIT("GB"), 1000000000},
    {UPP_STR_INIT("TB"), UINT64_C(1000000000000)},
};

#define UNITS "or with a unit: kB, MB, GB, TB, KiB, MiB, GiB, TiB"

static bool has_units(const struct row *r)
{
    return r->at == offsetof(struct sv_limits, bytes);
}

static uint64_t *field(struct sv_limits *l, const struct row *r)
{
    return (uint64_t *)(void *)((char *)l + r->at);
}

static const struct row *find_limit(struct upp_str name)
{
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (wb_str_eq(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static bool without_end(struct upp_str *s, struct upp_str end)
{
    if (!end.n || !wb_str_ends(*s, end))
        return false;
    *s = wb_str_sub(*s, 0, s->n - end.n);
    return true;
}

/* "600/m", "10GiB": the number, not more than the row's maximum. */
static bool amount(const struct row *r, struct upp_str text, uint64_t *ret)
{
    uint64_t unit = 1, n;
    (void)without_end(&text, r->per);
    for (size_t i = 0; has_units(r) && unit == 1 && i < WB_LEN(units); i++)
        if (without_end(&text, units[i].name))
            unit = units[i].bytes;
    if (!wb_str_u64(text, &n) || n == 0 || n > r->max / unit)
        return false;
    *ret = n * unit;
    return true;
}

int sv_limits_parse(struct upp_str text, struct sv_limits *ret, struct upp_err *err)
{
    struct sv_limits l = {0};
    struct upp_str rest = text, part;
    while (text.n && wb_str_split(&rest, ',', &part)) {
        size_t equals = wb_str_find(part, UPP_STR("="), 0);
        const struct row *r = equals == SIZE_MAX ? NULL : find_limit(wb_str_sub(part, 0, equals));
        if (!r)
            return upp_fail(err, UPP_EINVALID,
                            "'%.*s' is not a limit: requests=N/m, runs=N, tokens=N/d, bytes=N (" UNITS ")",
                            UPP_FMT(part));
        if (*field(&l, r))
            return upp_fail(err, UPP_EINVALID, "the limit '%.*s' is given twice", UPP_FMT(r->name));
        if (!amount(r, wb_str_sub(part, equals + 1, SIZE_MAX), field(&l, r)))
            return upp_fail(err, UPP_EINVALID, "'%.*s': %.*s=N%.*s, with N from 1 to %llu%s", UPP_FMT(part),
                            UPP_FMT(r->name), UPP_FMT(r->per), (unsigned long long)r->max,
                            has_units(r) ? " bytes (" UNITS ")" : "");
    }
    *ret = l;
    return 0;
}

void sv_limits_write(const struct sv_limits *l, struct wb_buf *out)
{
    struct sv_limits copy = *l;
    bool any = false;
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        uint64_t n = *field(&copy, &rows[i]);
        if (!n)
            continue;
        wb_buf_addf(out, "%s%.*s=%llu%.*s", any ? "," : "", UPP_FMT(rows[i].name), (unsigned long long)n,
                    UPP_FMT(rows[i].per));
        any = true;
    }
}

struct sv_limits sv_limits_both(const struct sv_limits *a, const struct sv_limits *b)
{
    struct sv_limits ret = *a, other = *b;
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        uint64_t *n = field(&ret, &rows[i]), m = *field(&other, &rows[i]);
        if (m && (!*n || m < *n))
            *n = m;
    }
    return ret;
}

enum { ONE = 60000 }; /* of a bucket: what a request costs. A millisecond gives back as much as `per_minute` */

static uint64_t used_at(const struct sv_bucket *b, uint64_t per_minute, uint64_t now_ms)
{
    uint64_t passed = now_ms > b->at_ms ? now_ms - b->at_ms : 0;
    return passed >= ONE || passed * per_minute >= b->used ? 0 : b->used - passed * per_minute;
}

uint64_t sv_bucket_take(struct sv_bucket *b, uint64_t per_minute, uint64_t now_ms)
{
    uint64_t used = used_at(b, per_minute, now_ms), max = ONE * per_minute;
    if (used + ONE > max)
        return (used + ONE - max + per_minute - 1) / per_minute;
    *b = (struct sv_bucket){used + ONE, now_ms};
    return 0;
}

uint64_t sv_bucket_left(const struct sv_bucket *b, uint64_t per_minute, uint64_t now_ms)
{
    return (ONE * per_minute - used_at(b, per_minute, now_ms)) / ONE;
}

uint64_t sv_bucket_reset_ms(const struct sv_bucket *b, uint64_t per_minute, uint64_t now_ms)
{
    return (used_at(b, per_minute, now_ms) + per_minute - 1) / per_minute;
}

struct upp_str sv_duration(uint64_t ms, char out[SV_DURATION])
{
    unsigned long long s = (ms + 999) / 1000, m = s / 60, h = m / 60;
    if (ms < 1000)
        (void)snprintf(out, SV_DURATION, "%llums", (unsigned long long)ms);
    else if (h)
        (void)snprintf(out, SV_DURATION, "%lluh%llum%llus", h, m % 60, s % 60);
    else if (m)
        (void)snprintf(out, SV_DURATION, "%llum%llus", m, s % 60);
    else
        (void)snprintf(out, SV_DURATION, "%llus", s);
    return wb_cstr(out);
}

struct message {
    const struct wr_quota *here;
    char id[SV_KEY_ID + 1];
    char tenant[SV_TENANT_NAME + 1]; /* of an end */
    bool used;                       /* there is a usage */
    struct upp_usage usage;
};

static struct message *message(const struct sv_elsewhere *e, struct upp_str id)
{
    struct message *m = id.n <= SV_KEY_ID ? wb_calloc(1, sizeof *m) : NULL;
    if (m) {
        m->here = e->here;
        if (id.n)
            memcpy(m->id, id.p, id.n);
    }
    return m;
}

WEFT_SUSPENDS static int admit_here(void *arg, struct upp_err *err)
{
    const struct message *m = arg;
    return m->here->admit(m->here->arg, wb_cstr(m->id), err);
}

WEFT_SUSPENDS static int admit(void *arg, struct upp_str id, struct upp_err *err)
{
    const struct sv_elsewhere *e = arg;
    struct message *m = message(e, id);
    int result = 0;
    if (!m)
        return upp_fail(err, UPP_ENOMEM, "no memory for a start");
    WEFT_SHIELD(WEFT_SHIELD_MAX_MS); /* a start that was counted must know it */
    int r = weft_loop_call(e->loop, "api key", admit_here, m, wb_free, &result, err);
    if (r < 0)
        return r;
    wb_free(m);
    return result;
}

static void leave_here(void *arg)
{
    struct message *m = arg;
    m->here->leave(m->here->arg, wb_cstr(m->tenant), wb_cstr(m->id), m->used ? &m->usage : NULL);
    wb_free(m);
}

static void leave(void *arg, struct upp_str tenant, struct upp_str id, const struct upp_usage *usage)
{
    const struct sv_elsewhere *e = arg;
    struct message *m = message(e, id);
    struct upp_err err = {.code = UPP_ENOMEM, .msg = "no memory"};
    if (m)
        (void)snprintf(m->tenant, sizeof m->tenant, "%.*s", UPP_FMT(tenant));
    if (m && usage) {
        m->used = true;
        m->usage = *usage;
    }
    if (m && weft_loop_post(e->loop, leave_here, m, &err) >= 0)
        return;
    wb_free(m);
    wb_log(WB_ERROR, "the end of a run is not counted for its API key", WB_LS("key", id), WB_LERR(&err));
}

void sv_elsewhere_init(struct sv_elsewhere *e, const struct wr_quota *here, struct weft_loop *loop)
{
    *e = (struct sv_elsewhere){.quota = {.arg = e, .admit = admit, .leave = leave}, .here = here, .loop = loop};
}
