/* support/dialect.c — scripts of events through a stream encoder. */
#include "support/dialect.h"

#include <inttypes.h>
#include <string.h>

#include "base/hooks.h"
#include "support/test.h"

void dialect_init(struct dialect *d)
{
    *d = (struct dialect){0};
    events_init(&d->events);
    wd_frames_init(&d->frames);
}

void dialect_done(struct dialect *d)
{
    events_done(&d->events);
    wd_frames_done(&d->frames);
    wb_vec_done(&d->upto);
}

int dialect_play(struct dialect *d, const char *script)
{
    return events_play(&d->events, wb_cstr(script), &d->err);
}

static unsigned pick_seeded(void *arg, unsigned n) /* splitmix64 */
{
    uint64_t *s = arg, z = (*s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

int dialect_invent(struct dialect *d, uint64_t seed)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf script = WB_BUF(1 << 20);
    events_invent(&script, pick_seeded, &seed);
    int r = wb_buf_check(&script, &d->err);
    return r < 0 ? r : events_play(&d->events, wb_buf_str(&script), &d->err);
}

int dialect_encode(struct dialect *d, const struct wd_stream_ops *ops, const struct wd_stream_opts *opts)
{
    wd_frames_clear(&d->frames);
    d->upto.n = 0;
    void *state = wb_alloc(ops->state_size);
    if (!state)
        return upp_fail(&d->err, UPP_ENOMEM, "out of memory");
    memset(state, 0, ops->state_size);
    int r = ops->begin(state, opts, &d->err);
    for (size_t i = 0; r == 0 && i < d->events.list.n; i++) {
        size_t before = d->frames.list.n;
        r = ops->event(state, &d->events.list.p[i], &d->frames, &d->err);
        if (r < 0)
            d->frames.list.n = before; /* the frames of a failed event are none */
        else if (!wb_vec_push(&d->upto, d->frames.list.n, EVENTS_MAX))
            r = upp_fail(&d->err, UPP_ENOMEM, "out of memory");
    }
    if (ops->done)
        ops->done(state);
    wb_free(state);
    return r;
}

static struct upp_str frame_at(const struct dialect *d, size_t i)
{
    return wb_str(d->frames.text.p + d->frames.list.p[i].from, d->frames.list.p[i].n);
}

bool dialect_golden(const struct wd_stream_ops *ops, const char *script, const struct wd_stream_opts *opts,
                    const char *path)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 20);
    size_t from = 0, at = 0;
    dialect_init(&d);
    while (at < events_n_scripts && !wb_str_eq(wb_cstr(events_scripts[at].name), wb_cstr(script)))
        at++;
    if (!EXPECT(at < events_n_scripts) || !EXPECT(dialect_play(&d, events_scripts[at].text) == 0) ||
        !EXPECT(dialect_encode(&d, ops, opts) == 0))
        return false;
    for (size_t i = 0; i < d.upto.n; from = d.upto.p[i++])
        for (size_t k = from; k < d.upto.p[i]; k++) {
            const char *name = d.frames.list.p[k].name;
            wb_buf_addf(&b, "%" PRIu64 " %s%s", d.events.list.p[i].number, name ? name : "", name ? " " : "");
            wb_buf_add(&b, frame_at(&d, k));
            wb_buf_addc(&b, '\n');
        }
    return EXPECT(wb_buf_check(&b, NULL) == 0) && test_golden(path, wb_buf_str(&b));
}

/* A reader that joins after k events: an encoder from the start, whose frames of those are dropped one by one. */
static bool joins(const struct dialect *d, const struct wd_stream_ops *ops, const struct wd_stream_opts *opts, size_t k)
{
    struct wd_frames f;
    struct upp_err err;
    bool same = true;
    size_t seen = k ? d->upto.p[k - 1] : 0;
    void *state = wb_alloc(ops->state_size);
    if (!EXPECT(state))
        return false;
    memset(state, 0, ops->state_size);
    wd_frames_init(&f);
    int r = ops->begin(state, opts, &err);
    for (size_t i = 0; r == 0 && i < d->events.list.n; i++) {
        wd_frames_clear(&f);
        r = ops->event(state, &d->events.list.p[i], &f, &err);
        for (size_t j = 0; r == 0 && i >= k && j < f.list.n; j++, seen++)
            same = same && seen < d->frames.list.n &&
                   wb_str_eq(wb_cstr(d->frames.list.p[seen].name), wb_cstr(f.list.p[j].name)) &&
                   wb_str_eq(frame_at(d, seen), wb_str(f.text.p + f.list.p[j].from, f.list.p[j].n));
    }
    ops->done(state);
    wb_free(state);
    wd_frames_done(&f);
    return EXPECT(r == 0) && EXPECT(same && seen == d->frames.list.n);
}

bool dialect_pure(const struct wd_stream_ops *ops, const char *script, const struct wd_stream_opts *opts)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    dialect_init(&d);
    if (!EXPECT(dialect_play(&d, script) == 0) || !EXPECT(dialect_encode(&d, ops, opts) == 0))
        return false;
    for (size_t k = 0; k <= d.events.list.n; k++) {
        test_note("joins after %zu", k);
        if (!joins(&d, ops, opts, k))
            return false;
    }
    return true;
}

static struct wd_stream_opts opts_of(const struct dialect_rules *x, uint64_t n)
{
    return x->opts ? x->opts(n) : (struct wd_stream_opts){.size = sizeof(struct wd_stream_opts)};
}

static bool encodes_in_order(const struct dialect_rules *x, struct dialect *d, uint64_t n)
{
    const struct wd_stream_opts opts = opts_of(x, n);
    return EXPECT(dialect_encode(d, x->ops, &opts) == 0) && x->in_order(&d->frames, &opts, true);
}

/* The n-th that is asked. */
static bool plays_in_order(const struct dialect_rules *x, const char *script, uint64_t n)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    dialect_init(&d);
    test_note("%s", script);
    return EXPECT(dialect_play(&d, script) == 0) && encodes_in_order(x, &d, n);
}

enum { WAYS = 6 }; /* to ask, at least: so many times each script is played */

bool dialect_scripts_in_order(const struct dialect_rules *x)
{
    bool ok = true;
    for (size_t i = 0; i < events_n_scripts; i++)
        for (uint64_t n = 0; ok && n < WAYS; n++)
            ok = plays_in_order(x, events_scripts[i].text, n);
    return ok;
}

static bool cut_in_order(const struct dialect_rules *x, const char *text, size_t n, uint64_t nth)
{
    static const char *const ends[] = {"run cancelled", "run failed broken", "run expired", "run completed"};
    bool ok = true;
    for (size_t k = 0; ok && k < WB_LEN(ends); k++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 16);
        wb_buf_addf(&b, "%.*s\n%s", (int)n, text, ends[k]);
        wb_buf_addc(&b, 0);
        ok = EXPECT(wb_buf_check(&b, NULL) == 0) && plays_in_order(x, b.p, nth + k);
    }
    return ok;
}

bool dialect_ends_in_order(const struct dialect_rules *x)
{
    bool ok = true;
    for (size_t i = 0; i < events_n_scripts; i++) {
        const char *text = events_scripts[i].text;
        for (const char *at = text; ok && (at = strchr(at, '\n')); at++)
            ok = cut_in_order(x, text, (size_t)(at - text), i);
    }
    return ok;
}

bool dialect_invented_in_order(const struct dialect_rules *x)
{
    uint64_t seeds = test_times("WEFT_SEEDS", 2000);
    bool ok = true;
    for (uint64_t seed = 1; ok && seed <= seeds; seed++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        test_note("seed %" PRIu64, seed);
        ok = EXPECT(dialect_invent(&d, seed) == 0);
        for (uint64_t n = 0; ok && n < WAYS / 2; n++)
            ok = encodes_in_order(x, &d, seed + n);
    }
    return ok;
}

bool dialect_scripts_pure(const struct dialect_rules *x)
{
    bool ok = true;
    for (size_t i = 0; ok && i < events_n_scripts; i++) {
        const struct wd_stream_opts opts = opts_of(x, i);
        ok = dialect_pure(x->ops, events_scripts[i].text, &opts);
    }
    return ok;
}

bool dialect_names_bugs(const struct dialect_rules *x)
{
    const char *const bad[] = {
        "run running\nopen\nopen",
        "run running\nopen\npart text\nclose 0\n+ 0 late",
        "run running\nopen\npart text\nclose 0\nclose 0",
        "run running\npart text",
        "run completed\nstep",
        x->also_bad,
    };
    bool ok = true;
    for (size_t i = 0; ok && i < WB_LEN(bad) && bad[i]; i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        const struct wd_stream_opts opts = opts_of(x, i);
        dialect_init(&d);
        test_note("%s", bad[i]);
        ok = EXPECT(dialect_play(&d, bad[i]) == 0) && EXPECT(dialect_encode(&d, x->ops, &opts) == -UPP_EBUG) &&
             EXPECT(strstr(d.err.msg, "event ") != NULL) && x->in_order(&d.frames, &opts, false);
    }
    return ok;
}
