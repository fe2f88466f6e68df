/* upp/providers/keys.c — the keys of a model. They lie in secrets (base/secret.h): here is no copy of one. */
#include "upp/providers/keys.h"

#include <math.h>
#include <stdatomic.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/random.h"

enum {
    KEYS_MAX = 1024,
    DYNAMIC_MAX = 16 * 1024, /* what a function may give: tokens of OAuth have some KiB */
};

struct one {
    struct wb_secret *secret;
    double upto; /* WEIGHTED: the weights of all until here */
};

struct upp__keys {
    const char *env;
    bool optional;
    uint8_t kind;       /* 0: the environment */
    atomic_size_t next; /* ROUND_ROBIN */
    int (*get)(void *arg, const struct upp_wait *wait, char *into, size_t size, struct upp_err *err);
    void *arg;
    size_t n;
    struct one list[];
};

/* A key goes into a header, where a line end would begin another. */
static int check(struct upp_str key, struct upp_err *err)
{
    for (size_t i = 0; i < key.n; i++)
        if ((unsigned char)key.p[i] < 0x20 || key.p[i] == 0x7f)
            return upp_fail(err, UPP_EINVALID, "the key holds a line end or another control character");
    return 0;
}

static int check_list(const struct upp_keys *how, struct upp_err *err)
{
    if (how->kind != UPP_KEYS_ROUND_ROBIN && how->kind != UPP_KEYS_WEIGHTED)
        return upp_fail(err, UPP_EINVALID, "keys: there is no strategy %u", how->kind);
    if (!how->n)
        return upp_fail(err, UPP_EINVALID, "keys: the list is empty");
    if (how->n > KEYS_MAX)
        return upp_fail(err, UPP_ELIMIT, "keys: %zu of them are more than %d", how->n, KEYS_MAX);
    double sum = 0;
    for (size_t i = 0; how->kind == UPP_KEYS_WEIGHTED && i < how->n; i++) {
        if (!isfinite(how->list[i].weight) || how->list[i].weight <= 0)
            return upp_fail(err, UPP_EINVALID, "keys: the weight %zu is %g and not above 0", i, how->list[i].weight);
        sum += how->list[i].weight;
    }
    if (!isfinite(sum))
        return upp_fail(err, UPP_EINVALID, "keys: the weights sum up to more than any number");
    return 0;
}

void upp__keys_free(struct upp__keys *k)
{
    for (size_t i = 0; k && i < k->n; i++)
        k->list[i].secret = wb_secret_free(k->list[i].secret);
    wb_free(k);
}

WB_DEFINE_CLEANUP(struct upp__keys, upp__keys_free)

static int add(struct upp__keys *k, struct upp_str text, double weight, struct upp_err *err)
{
    int r = check(text, err);
    if (r == 0)
        r = wb_secret_new(text, &k->list[k->n].secret, err);
    if (r < 0)
        return r;
    k->list[k->n].upto = (k->n ? k->list[k->n - 1].upto : 0) + weight;
    k->n++;
    return 0;
}

int upp__keys_new(const char *api_key, const struct upp_keys *keys, const char *env, bool optional,
                  struct upp__keys **ret, struct upp_err *err)
{
    static const struct upp_keys none;
    struct upp_key only = {.text = wb_cstr(api_key ? api_key : "")};
    const struct upp_keys one = {.kind = UPP_KEYS_ROUND_ROBIN, .list = &only, .n = 1};
    const struct upp_keys *how = api_key ? &one : keys ? keys : &none;
    const bool list = how->kind && how->kind != UPP_KEYS_DYNAMIC;
    if (how->kind == UPP_KEYS_DYNAMIC && !how->get)
        return upp_fail(err, UPP_EINVALID, "keys: no function that says the key");
    int r = list ? check_list(how, err) : 0;
    if (r < 0)
        return r;
    size_t n = list ? how->n : 0;
    WB_CLEANUP(upp__keys_freep) struct upp__keys *k = wb_calloc(1, sizeof *k + n * sizeof k->list[0]);
    if (!k)
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    k->env = env;
    k->optional = optional;
    k->kind = how->kind;
    k->get = how->get;
    k->arg = how->arg;
    for (size_t i = 0; i < n; i++) {
        r = add(k, how->list[i].text, how->list[i].weight, err);
        if (r < 0)
            return n > 1 ? upp_wrap(err, r, "key %zu", i) : r;
    }
    *ret = WB_TAKE(k);
    return 0;
}

static int weighted(const struct upp__keys *k, size_t *ret, struct upp_err *err)
{
    uint64_t v;
    int r = wb_random(&v, sizeof v, err);
    if (r < 0)
        return r;
    double at = (double)(v >> 11) * 0x1p-53 * k->list[k->n - 1].upto;
    size_t i = 0;
    while (i + 1 < k->n && k->list[i].upto < at)
        i++;
    *ret = i;
    return 0;
}

static int dynamic(const struct upp__keys *k, const struct upp_wait *wait, struct upp__key *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL;
    char *into;
    struct upp_err why = {0};
    int r = wb_secret_room(DYNAMIC_MAX, &s, &into, err);
    if (r < 0)
        return r;
    r = k->get(k->arg, wait, into, DYNAMIC_MAX, &why);
    if (r < 0) {
        if (err)
            *err = why;
        return upp_wrap(err, r, "the function that says the key");
    }
    if (r > DYNAMIC_MAX)
        return upp_fail(err, UPP_ELIMIT, "the function that says the key says one of %d bytes, more than %d", r,
                        DYNAMIC_MAX);
    wb_secret_end(s, (size_t)r);
    r = check(wb_secret_reveal(s), err);
    if (r < 0)
        return r;
    *ret = (struct upp__key){.text = wb_secret_reveal(s), .own = s};
    s = NULL;
    return 0;
}

static int from_environment(const struct upp__keys *k, struct upp__key *ret, struct upp_err *err)
{
    struct wb_secret *s = NULL;
    int r = k->env ? wb_secret_env(k->env, &s, err) : -UPP_ENOTFOUND;
    if (r == 0) {
        r = check(wb_secret_reveal(s), err);
        if (r < 0) {
            wb_secret_free(s);
            wb_err_where(err, wb_cstr(k->env));
            return r;
        }
        *ret = (struct upp__key){.text = wb_secret_reveal(s), .own = s};
        return 0;
    }
    if (r != -UPP_ENOTFOUND && r != -UPP_EINVALID) /* the latter: it is empty, which is how shells say not set */
        return r;
    if (k->optional) {
        *ret = (struct upp__key){0};
        return 0;
    }
    if (!k->env)
        return upp_fail(err, UPP_EAUTH, "no API key was given");
    r = upp_fail(err, UPP_EAUTH, "no API key: none was given, and the environment variable %s is not set", k->env);
    wb_err_where(err, wb_cstr(k->env));
    return r;
}

int upp__keys_take(struct upp__keys *k, const struct upp_wait *wait, struct upp__key *ret, struct upp_err *err)
{
    size_t i;
    int r;
    switch (k->kind) {
    case UPP_KEYS_ROUND_ROBIN:
        i = atomic_fetch_add_explicit(&k->next, 1, memory_order_relaxed) % k->n;
        break;
    case UPP_KEYS_WEIGHTED:
        r = weighted(k, &i, err);
        if (r < 0)
            return r;
        break;
    case UPP_KEYS_DYNAMIC:
        return dynamic(k, wait, ret, err);
    default:
        return from_environment(k, ret, err);
    }
    *ret = (struct upp__key){.text = wb_secret_reveal(k->list[i].secret)};
    return 0;
}

void upp__key_done(struct upp__key *key)
{
    key->own = wb_secret_free(key->own);
    key->text = (struct upp_str){0};
}
