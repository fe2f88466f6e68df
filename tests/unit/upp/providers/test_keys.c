/* Keys of models. */
#include "upp/providers/keys.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/random.h"
#include "base/str.h"
#include "support/test.h"

#define ENV "WEFT_TEST_KEY"

static void freep(struct upp__keys **k)
{
    upp__keys_free(*k);
}

static const struct upp_key three[] = {
    {UPP_STR_INIT("one"), 1},
    {UPP_STR_INIT("two"), 2},
    {UPP_STR_INIT("three"), 1},
};

static int constant(void *arg, const struct upp_wait *wait, char *into, size_t size, struct upp_err *err)
{
    (void)wait, (void)err;
    size_t n = strlen(arg);
    if (n <= size)
        memcpy(into, arg, n);
    return (int)n;
}

/* covers: UPP-10/1 */
TEST(keys_order_of_places)
{
    static char said[] = "said";
    const struct upp_keys list = {.kind = UPP_KEYS_ROUND_ROBIN, .list = three, .n = 3};
    const struct upp_keys dynamic = {.kind = UPP_KEYS_DYNAMIC, .get = constant, .arg = said};
    const struct upp_keys none = {0};
    const struct {
        const char *api_key;
        const struct upp_keys *keys;
        const char *want;
    } cases[] = {
        {"given", &list, "given"}, {"", &list, ""},          {"", &dynamic, ""},        {"", NULL, ""},
        {NULL, &list, "one"},      {NULL, &dynamic, "said"}, {NULL, &none, "from env"}, {NULL, NULL, "from env"},
    };
    CHECK(setenv(ENV, "from env", 1) == 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(freep) struct upp__keys *k = NULL;
        struct upp__key key = {0};
        test_note("case %zu", i);
        CHECK(upp__keys_new(cases[i].api_key, cases[i].keys, ENV, false, &k, NULL) == 0);
        int r = upp__keys_take(k, NULL, &key, NULL);
        ALWAYS(r == 0 || !key.own);
        bool same = wb_str_eq(key.text, wb_cstr(cases[i].want)) && (r < 0 || key.text.p);
        upp__key_done(&key);
        CHECK(r == 0 && same);
        CHECK(!key.text.p && !key.own);
    }
    CHECK(unsetenv(ENV) == 0);
}

TEST(keys_none_names_the_variable)
{
    WB_CLEANUP(freep) struct upp__keys *k = NULL, *free_ = NULL, *nowhere = NULL;
    struct upp__key key = {0};
    struct upp_err err;
    CHECK(unsetenv(ENV) == 0);
    CHECK(upp__keys_new(NULL, NULL, ENV, false, &k, &err) == 0);
    CHECK(upp__keys_new(NULL, NULL, ENV, true, &free_, &err) == 0);
    CHECK(upp__keys_new(NULL, NULL, NULL, false, &nowhere, &err) == 0);
    for (int i = 0; i < 2; i++) { /* not set, and set to nothing */
        CHECK_INT(upp__keys_take(k, NULL, &key, &err), -UPP_EAUTH);
        CHECK_STR(wb_cstr(err.msg),
                  UPP_STR("no API key: none was given, and the environment variable WEFT_TEST_KEY is not set"));
        CHECK_STR(wb_cstr(err.where), UPP_STR(ENV));
        CHECK(upp__keys_take(free_, NULL, &key, &err) == 0);
        CHECK(!key.text.p && !key.own);
        CHECK_INT(upp__keys_take(nowhere, NULL, &key, &err), -UPP_EAUTH);
        CHECK_STR(wb_cstr(err.msg), UPP_STR("no API key was given"));
        CHECK(setenv(ENV, "", 1) == 0);
    }
    CHECK(setenv(ENV, "later", 1) == 0); /* looked at when it is taken */
    CHECK(upp__keys_take(k, NULL, &key, &err) == 0);
    bool same = wb_str_eq(key.text, UPP_STR("later"));
    upp__key_done(&key);
    CHECK(same);
    CHECK(setenv(ENV, "sk\r\nx-evil: 1", 1) == 0);
    CHECK_INT(upp__keys_take(k, NULL, &key, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the key holds a line end or another control character"));
    CHECK_STR(wb_cstr(err.where), UPP_STR(ENV));
    CHECK(unsetenv(ENV) == 0);
}

/* covers: UPP-10/1 */
TEST(keys_in_turn)
{
    WB_CLEANUP(freep) struct upp__keys *k = NULL;
    const struct upp_keys how = {.kind = UPP_KEYS_ROUND_ROBIN, .list = three, .n = 3};
    CHECK(upp__keys_new(NULL, &how, ENV, false, &k, NULL) == 0);
    for (size_t i = 0; i < 7; i++) {
        struct upp__key key;
        CHECK(upp__keys_take(k, NULL, &key, NULL) == 0);
        CHECK_STR(key.text, three[i % 3].text);
        CHECK(!key.own && key.text.p != three[i % 3].text.p); /* a copy */
        upp__key_done(&key);
    }
}

struct taker {
    struct upp__keys *keys;
    unsigned seen[3];
};

static void *take_many(void *arg)
{
    struct taker *t = arg;
    for (int i = 0; i < 3000; i++) {
        struct upp__key key;
        if (!EXPECT(upp__keys_take(t->keys, NULL, &key, NULL) == 0))
            break;
        for (size_t n = 0; n < 3; n++)
            t->seen[n] += wb_str_eq(key.text, three[n].text);
        upp__key_done(&key);
    }
    return NULL;
}

TEST(keys_in_turn_of_many_threads)
{
    WB_CLEANUP(freep) struct upp__keys *k = NULL;
    const struct upp_keys how = {.kind = UPP_KEYS_ROUND_ROBIN, .list = three, .n = 3};
    CHECK(upp__keys_new(NULL, &how, ENV, false, &k, NULL) == 0);
    struct taker a = {.keys = k}, b = {.keys = k};
    pthread_t t;
    CHECK(pthread_create(&t, NULL, take_many, &a) == 0);
    (void)take_many(&b);
    CHECK(pthread_join(t, NULL) == 0);
    for (size_t n = 0; n < 3; n++)
        CHECK_INT(a.seen[n] + b.seen[n], 2000);
}

/* ---- By chance ------------------------------------------------------------------------------- */

static uint64_t fake_number;
static int64_t fake_random(void *p, size_t n)
{
    for (size_t i = 0; i + sizeof fake_number <= n; i += sizeof fake_number)
        memcpy((char *)p + i, &fake_number, sizeof fake_number);
    return (int64_t)n;
}

TEST_WITH(keys_by_weight_follow_the_hook, .no_torture = "it replaces the table that injects the faults")
{
    WB_CLEANUP(freep) struct upp__keys *k = NULL;
    const struct upp_keys how = {.kind = UPP_KEYS_WEIGHTED, .list = three, .n = 3};
    struct upp_hooks before = *wb_hooks(), mine = before;
    static const struct {
        uint64_t number;
        size_t want;
    } cases[] = {
        {0, 0},
        {UINT64_C(1) << 62, 0}, /* 0.25 of 4: the first whose sum reaches it */
        {(UINT64_C(1) << 62) + (1 << 12), 1},
        {UINT64_C(3) << 62, 1},
        {(UINT64_C(3) << 62) + (1 << 12), 2},
        {UINT64_MAX, 2},
    };
    bool same[WB_LEN(cases)];
    CHECK(upp__keys_new(NULL, &how, ENV, false, &k, NULL) == 0);
    mine.random = fake_random;
    int set = upp_global_init(&mine, NULL);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp__key key = {0};
        fake_number = cases[i].number;
        wb_random_forget();
        same[i] = upp__keys_take(k, NULL, &key, NULL) == 0 && wb_str_eq(key.text, three[cases[i].want].text);
    }
    int back = upp_global_init(&before, NULL);
    wb_random_forget();
    CHECK(set == 0 && back == 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        test_note("case %zu", i);
        CHECK(same[i]);
    }
}

/* covers: UPP-10/1 */
TEST(keys_by_weight_come_as_often)
{
    WB_CLEANUP(freep) struct upp__keys *k = NULL;
    const struct upp_keys how = {.kind = UPP_KEYS_WEIGHTED, .list = three, .n = 3};
    struct taker seen = {0};
    CHECK(upp__keys_new(NULL, &how, ENV, false, &k, NULL) == 0);
    seen.keys = k;
    (void)take_many(&seen); /* 3000: 750, 1500, 750, give or take 9 deviations */
    CHECK(!test_failed());
    CHECK(seen.seen[0] > 540 && seen.seen[0] < 960);
    CHECK(seen.seen[1] > 1250 && seen.seen[1] < 1750);
    CHECK_INT(seen.seen[0] + seen.seen[1] + seen.seen[2], 3000);
}

/* ---- From a function ------------------------------------------------------------------------- */

static int refuses(void *arg, const struct upp_wait *wait, char *into, size_t size, struct upp_err *err)
{
    (void)wait;
    memset(into, 'x', size);
    if (arg)
        return upp_fail(err, UPP_ENET, "%s", (const char *)arg);
    return -UPP_ETIMEOUT; /* and says nothing */
}

static int whole(void *arg, const struct upp_wait *wait, char *into, size_t size, struct upp_err *err)
{
    (void)err;
    memset(into, 'x', size);
    *(const struct upp_wait **)arg = wait;
    return (int)size;
}

static int too_much(void *arg, const struct upp_wait *wait, char *into, size_t size, struct upp_err *err)
{
    (void)arg, (void)wait, (void)into, (void)err;
    return (int)size + 1;
}

static int take(struct upp_keys how, const struct upp_wait *wait, size_t *n, struct upp_err *err)
{
    WB_CLEANUP(freep) struct upp__keys *k = NULL;
    struct upp__key key = {0};
    int r = upp__keys_new(NULL, &how, ENV, false, &k, err);
    if (r == 0)
        r = upp__keys_take(k, wait, &key, err);
    EXPECT(r < 0 || (key.own && key.text.p[key.text.n] == 0));
    *n = key.text.n;
    upp__key_done(&key);
    return r;
}

/* covers: UPP-10/1 */
TEST(keys_from_a_function)
{
    static const struct upp_wait wait = {.size = sizeof wait};
    static char why[] = "the vault is shut", evil[] = "a\nb", nothing[] = "";
    const struct upp_wait *seen = NULL;
    struct upp_err err;
    size_t n;
    CHECK_INT(take((struct upp_keys){.kind = UPP_KEYS_DYNAMIC, .get = whole, .arg = (void *)&seen}, &wait, &n, &err),
              0);
    CHECK(seen == &wait && n == 16384);
    CHECK_INT(take((struct upp_keys){.kind = UPP_KEYS_DYNAMIC, .get = constant, .arg = nothing}, NULL, &n, &err), 0);
    CHECK_INT(n, 0);
    CHECK_INT(take((struct upp_keys){.kind = UPP_KEYS_DYNAMIC, .get = refuses, .arg = why}, NULL, &n, &err), -UPP_ENET);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the function that says the key: the vault is shut"));
    CHECK_INT(take((struct upp_keys){.kind = UPP_KEYS_DYNAMIC, .get = refuses}, NULL, &n, &err), -UPP_ETIMEOUT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the function that says the key: timed out"));
    CHECK_INT(err.code, UPP_ETIMEOUT);
    CHECK_INT(take((struct upp_keys){.kind = UPP_KEYS_DYNAMIC, .get = refuses}, NULL, &n, NULL), -UPP_ETIMEOUT);
    CHECK_INT(take((struct upp_keys){.kind = UPP_KEYS_DYNAMIC, .get = too_much}, NULL, &n, &err), -UPP_ELIMIT);
    CHECK_INT(take((struct upp_keys){.kind = UPP_KEYS_DYNAMIC, .get = constant, .arg = evil}, NULL, &n, &err),
              -UPP_EINVALID);
}

TEST(keys_are_checked_when_given)
{
    static struct upp_key many[1025];
    static const struct upp_key light[] = {{UPP_STR_INIT("a"), 1}, {UPP_STR_INIT("b"), 0}};
    static const struct upp_key heavy[] = {{UPP_STR_INIT("a"), (double)INFINITY}};
    static const struct upp_key much[] = {{UPP_STR_INIT("a"), 1e308}, {UPP_STR_INIT("b"), 1e308}};
    static const struct upp_key evil[] = {{UPP_STR_INIT("a"), 1}, {UPP_STR_INIT("secret\n"), 1}};
    static const struct {
        struct upp_keys how;
        int code;
        const char *why;
    } cases[] = {
        {{.kind = UPP_KEYS_ROUND_ROBIN}, UPP_EINVALID, "keys: the list is empty"},
        {{.kind = UPP_KEYS_WEIGHTED}, UPP_EINVALID, "keys: the list is empty"},
        {{.kind = UPP_KEYS_DYNAMIC}, UPP_EINVALID, "keys: no function that says the key"},
        {{.kind = 4, .list = light, .n = 2}, UPP_EINVALID, "keys: there is no strategy 4"},
        {{.kind = UPP_KEYS_WEIGHTED, .list = light, .n = 2}, UPP_EINVALID, "keys: the weight 1 is 0 and not above 0"},
        {{.kind = UPP_KEYS_WEIGHTED, .list = heavy, .n = 1}, UPP_EINVALID, "keys: the weight 0 is inf and not above 0"},
        {{.kind = UPP_KEYS_WEIGHTED, .list = much, .n = 2},
         UPP_EINVALID,
         "keys: the weights sum up to more than any number"},
        {{.kind = UPP_KEYS_ROUND_ROBIN, .list = many, .n = 1025}, UPP_ELIMIT, "keys: 1025 of them are more than 1024"},
        {{.kind = UPP_KEYS_ROUND_ROBIN, .list = evil, .n = 2},
         UPP_EINVALID,
         "key 1: the key holds a line end or another control character"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp__keys *k = NULL;
        struct upp_err err;
        test_note("case %zu", i);
        CHECK_INT(upp__keys_new(NULL, &cases[i].how, ENV, false, &k, &err), -cases[i].code);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].why));
        ALWAYS(!k);
    }
    struct upp__keys *k = NULL;
    CHECK_INT(upp__keys_new("a\177", NULL, ENV, false, &k, NULL), -UPP_EINVALID);
    ALWAYS(!k);
}
