#include "server/ops/webhook.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/defs.h"
#include "server/talk.h"
#include "stores/outbox/outbox.h"

/* The example of the specification of Standard Webhooks. */
TEST(webhook_signature)
{
    WB_CLEANUP(wb_secret_freep) struct wb_secret *key = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(256);
    struct upp_err err = {0};
    CHECK_INT(wc_webhook_key(UPP_STR("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), &key, &err), 0);
    CHECK_INT(wb_secret_reveal(key).n, 24);
    CHECK_INT(sv_webhook_sign(wb_secret_reveal(key), UPP_STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                              UPP_STR("{\"test\": 2432232314}"), &b, &err),
              0);
    CHECK_STR(wb_buf_str(&b), UPP_STR("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
}

TEST(webhook_keys)
{
    static const struct {
        const char *secret;
        int want;
    } cases[] = {
        {"sixteen bytes or", 0},           {"fifteen bytes..", -UPP_EINVALID}, {"", -UPP_EINVALID},
        {"whsec_", -UPP_EINVALID},         {"whsec_****", -UPP_EINVALID},      {"whsec_c2l4dGVlbiBieXRlcyBvcg==", 0},
        {"whsec_c2hvcnQ=", -UPP_EINVALID},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_secret_freep) struct wb_secret *key = NULL;
        struct upp_err err = {0};
        test_note("%s", cases[i].secret);
        CHECK_INT(wc_webhook_key(wb_cstr(cases[i].secret), &key, &err), cases[i].want);
        CHECK(cases[i].want < 0 || wb_str_eq(wb_secret_reveal(key), UPP_STR("sixteen bytes or")));
    }
}

/* ---- Delivering to the test's own server ---- */

struct delivery {
    const char *path;        /* /echo answers 200, /none 404 */
    unsigned runs, failures; /* failures: with more it is hopeless, because of a fault that stays */
    struct sv_webhook_opts opts;
    bool (*over)(const struct sv_webhook_counts *c, unsigned runs);
};

WEFT_SUSPENDS static int run_once(struct wrt_runtime *rt, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hello")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = {.tenant = UPP_STR("local")}, .agent = UPP_STR("a"), .input = &input};
    struct wr_started run;
    uint8_t status;
    TRY(wr_start(rt->engine, &what, &run, err));
    TRY(wr_wait(rt->engine, &what.owner, run.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

/* With a hook on the test's own server. */
WEFT_SUSPENDS static int open_runtime(const struct talk *t, const char *path, struct wc_config **c,
                                      struct wrt_runtime **rt, struct upp_err *err)
{
    struct wrt_location at = {.driver = &ws_memory_driver};
    char yaml[512];
    (void)snprintf(yaml, sizeof yaml,
                   "webhooks: {on_end: {url: '%s%s', secret: sixteen bytes or}}\n"
                   "models: {echo: {provider: scripted, echo: true}}\nagents: {a: {model: echo}}\n",
                   sv_server_url(t->server, 0), path);
    TRY(wc_config_parse("weft.yaml", wb_cstr(yaml), UPP_OPTS(wc_opts, .makers = &wc_makers), NULL, c, err));
    return wrt_runtime_open(weft_loop_current(), *c, &at, rt, err);
}

WEFT_SUSPENDS static int delivers(struct talk *t, struct upp_err *err)
{
    const struct delivery *d = t->arg;
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    UPP_CLEANUP(wrt_runtime_closep) struct wrt_runtime *rt = NULL;
    UPP_CLEANUP(sv_webhooks_closep) struct sv_webhooks *h = NULL;
    UPP_CLEANUP(weft_scope_close) struct weft_scope fibers = {.flags = WEFT_SCOPE_ISOLATED};
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct sv_webhook_opts opts = d->opts;
    struct ws_due *list;
    struct upp_str last;
    size_t n;
    TRY(open_runtime(t, d->path, &c, &rt, err));
    for (unsigned i = 0; i < d->runs; i++)
        TRY(run_once(rt, err)); /* before anybody listens: they are read from the store */
    opts.size = sizeof opts;
    opts.runtime = rt;
    TRY(sv_webhooks_open(&opts, &h, err));
    TRY(weft_scope_spawn(&fibers, "webhooks", sv_webhooks_main, h, NULL, err));
    TRY(run_once(rt, err)); /* and this one is heard of */
    uint64_t since = wb_mono_ms();
    for (struct sv_webhook_counts count; count = sv_webhooks_counts(h), !d->over(&count, d->runs + 1);) {
        FAIL_UNLESS(count.queued <= (d->opts.max_queue ? d->opts.max_queue : SIZE_MAX));
        FAIL_UNLESS(wb_mono_ms() - since < 4000 && count.failures < d->failures);
        TRY(weft_sleep_ms(5, err));
    }
    TRY(ws_outbox_list(rt->outbox, UPP_STR("local"), UPP_STR(""), 100, &a, &list, &n, &last, err));
    FAIL_UNLESS(n == 0);
    return 0;
}

static bool all_delivered(const struct sv_webhook_counts *c, unsigned runs)
{
    return c->delivered == runs && !c->queued;
}

static bool all_given_up(const struct sv_webhook_counts *c, unsigned runs)
{
    return c->given_up == runs && !c->delivered && c->failures >= runs && !c->queued;
}

static bool all_given_up_soon(const struct sv_webhook_counts *c, unsigned runs)
{
    return c->given_up == runs && !c->delivered && !c->queued;
}

static int play(struct delivery *d)
{
    struct upp_err err = {0};
    struct talk t = {.client = delivers, .arg = d};
    return talk_run(&t, &err);
}

TEST(webhook_delivers)
{
    struct delivery d = {"/echo", 1, 12, {.first_ms = 10, .answer_ms = 200}, all_delivered};
    CHECK_INT(play(&d), 0);
}

TEST_WITH(webhook_queue_has_a_limit, .no_torture = "webhook_delivers is")
{
    struct delivery d = {"/echo", 9, 12, {.first_ms = 10, .max_queue = 2, .max_sending = 1}, all_delivered};
    CHECK_INT(play(&d), 0);
}

TEST_WITH(webhook_gives_up, .no_torture = "webhook_delivers is")
{
    struct delivery d = {"/none", 2, 1000, {.first_ms = 10, .most_ms = 20, .give_up_ms = 100}, all_given_up};
    CHECK_INT(play(&d), 0);
}

/* 31 messages: eight are tried at once, then the hook is down and is tried for all of them, seldom. */
TEST_WITH(webhook_that_is_down_is_left_alone, .no_torture = "webhook_delivers is")
{
    char path[16];
    struct delivery d = {path, 30, 25, {.first_ms = 50, .most_ms = 1000, .give_up_ms = 300}, all_given_up_soon};
    (void)snprintf(path, sizeof path, "/fail/%d", UPP_EBUG);
    CHECK_INT(play(&d), 0);
}

static bool at_once_given_up(const struct sv_webhook_counts *c, unsigned runs)
{
    return c->given_up == runs && c->failures == runs && !c->delivered && !c->queued;
}

TEST_WITH(webhook_body_has_a_limit, .no_torture = "webhook_delivers is")
{
    struct delivery d = {"/echo", 2, 1000, {.first_ms = 10, .max_body = 512}, all_delivered}; /* without what is long */
    CHECK_INT(play(&d), 0);
    d.opts.max_body = 100; /* nothing fits */
    d.over = at_once_given_up;
    CHECK_INT(play(&d), 0);
}

/* ---- A scan that sees a message before the commit that recorded it returns ---- */

struct late {
    struct wl_store_ops ops; /* of the store, but for the commit */
    WEFT_SUSPENDS int (*commit)(struct wl_store *s, struct wl_commit *c, struct upp_err *err);
    struct sv_webhooks *hooks;
    const char *path; /* /echo: it returns when the message was delivered; /none: after the first failure */
    WEFT_SUSPENDS int (*test)(struct talk *t, struct wrt_runtime *rt, struct upp_err *err);
    WEFT_SUSPENDS int (*get)(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret,
                             struct upp_err *err);
    bool stored, removing;
    unsigned refused;    /* so many removals fail */
    unsigned unreadable; /* and so many reads */
};

WEFT_SUSPENDS static int late_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret,
                                  struct upp_err *err)
{
    struct late *l = WB_OUTER((uintptr_t)s->ops, struct late, ops);
    if (l->unreadable && l->unreadable--)
        return upp_fail(err, UPP_ESTORE, "it cannot be read");
    return l->get ? l->get(s, ask, a, ret, err) : wl_store_get(s->inner, ask, a, ret, err);
}

WEFT_SUSPENDS static int late_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct late *l = WB_OUTER((uintptr_t)s->ops, struct late, ops);
    struct sv_webhook_counts n;
    if (c->n == 1 && c->changes[0].kind == WL_DROP_VALUE) {
        l->removing = true;
        TRY(weft_sleep_ms(20, err));
        if (l->refused && l->refused--)
            return upp_fail(err, UPP_ESTORE, "it cannot be removed");
    }
    TRY(l->commit(s, c, err));
    if (!l->hooks || c->n < 2 || c->changes[c->n - 1].kind != WL_PUT_VALUE)
        return 0;
    l->stored = true;
    while (n = sv_webhooks_counts(l->hooks), !n.failures && (!n.delivered || n.queued))
        TRY(weft_sleep_ms(5, err));
    return 0;
}

WEFT_SUSPENDS static int runs_once(void *rt, struct upp_err *err)
{
    return run_once(rt, err);
}

WEFT_SUSPENDS static int is_late(struct talk *t, struct wrt_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(sv_webhooks_closep) struct sv_webhooks *h = NULL;
    UPP_CLEANUP(weft_scope_close) struct weft_scope fibers = {.flags = WEFT_SCOPE_ISOLATED}, runs = {0};
    struct late *l = t->arg;
    TRY(sv_webhooks_open(UPP_OPTS(sv_webhook_opts, .runtime = rt), &h, err));
    l->hooks = h;
    TRY(weft_scope_spawn(&runs, "run", runs_once, rt, NULL, err));
    while (!l->stored)
        TRY(weft_sleep_ms(5, err));
    TRY(weft_scope_spawn(&fibers, "webhooks", sv_webhooks_main, h, NULL, err)); /* which scans first */
    TRY(weft_scope_join(&runs, err));
    struct sv_webhook_counts n = sv_webhooks_counts(h);
    if (strcmp(l->path, "/none") == 0) {
        FAIL_UNLESS(n.queued == 1 && n.delivered == 0);
        return 0;
    }
    while (n = sv_webhooks_counts(h), n.queued)
        TRY(weft_sleep_ms(5, err));
    FAIL_UNLESS(n.delivered == 1);
    return 0;
}

WEFT_SUSPENDS static int late(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    UPP_CLEANUP(wrt_runtime_closep) struct wrt_runtime *rt = NULL;
    struct late *l = t->arg;
    TRY(open_runtime(t, l->path, &c, &rt, err));
    struct wl_store *s = rt->outbox->inner;
    const struct wl_store_ops *ops = s->ops;
    l->ops = *ops;
    l->ops.commit = late_commit;
    l->ops.get = late_get;
    l->commit = ops->commit;
    l->get = ops->get;
    s->ops = &l->ops;
    int r = l->test(t, rt, err);
    s->ops = ops;
    return r;
}

TEST_WITH(webhook_is_told_late, .no_torture = "webhook_delivers is")
{
    static const char *const paths[] = {"/none", "/echo"};
    for (size_t i = 0; i < WB_LEN(paths); i++) {
        struct upp_err err = {0};
        struct late l = {.path = paths[i], .test = is_late};
        struct talk t = {.client = late, .arg = &l};
        test_note("%s", paths[i]);
        CHECK_INT(talk_run(&t, &err), 0);
    }
}

/* A stop waits until what was delivered is removed, or it would be delivered again after the next start. */
WEFT_SUSPENDS static int stops(struct talk *t, struct wrt_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(sv_webhooks_closep) struct sv_webhooks *h = NULL;
    UPP_CLEANUP(weft_scope_close) struct weft_scope fibers = {.flags = WEFT_SCOPE_ISOLATED};
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct late *l = t->arg;
    struct ws_due *list;
    struct upp_str last;
    size_t n;
    TRY(run_once(rt, err));
    TRY(sv_webhooks_open(UPP_OPTS(sv_webhook_opts, .runtime = rt), &h, err));
    TRY(weft_scope_spawn(&fibers, "webhooks", sv_webhooks_main, h, NULL, err));
    while (!l->removing)
        TRY(weft_sleep_ms(1, err));
    weft_scope_close(&fibers);
    TRY(ws_outbox_list(rt->outbox, UPP_STR("local"), UPP_STR(""), 100, &a, &list, &n, &last, err));
    FAIL_UNLESS(n == 0 && sv_webhooks_counts(h).delivered == 1);
    return 0;
}

TEST_WITH(webhook_stops_after_the_removal, .no_torture = "webhook_delivers is")
{
    struct upp_err err = {0};
    struct late l = {.path = "/echo", .test = stops};
    struct talk t = {.client = late, .arg = &l};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* A removal that fails is tried again, and the message is not sent again. */
WEFT_SUSPENDS static int removes_later(struct talk *t, struct wrt_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(sv_webhooks_closep) struct sv_webhooks *h = NULL;
    UPP_CLEANUP(weft_scope_close) struct weft_scope fibers = {.flags = WEFT_SCOPE_ISOLATED};
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct late *l = t->arg;
    struct sv_webhook_counts count;
    struct ws_due *list;
    struct upp_str last;
    size_t n;
    TRY(run_once(rt, err));
    TRY(sv_webhooks_open(UPP_OPTS(sv_webhook_opts, .runtime = rt, .first_ms = 10), &h, err));
    TRY(weft_scope_spawn(&fibers, "webhooks", sv_webhooks_main, h, NULL, err));
    while (count = sv_webhooks_counts(h), !count.delivered || count.queued)
        TRY(weft_sleep_ms(1, err));
    TRY(ws_outbox_list(rt->outbox, UPP_STR("local"), UPP_STR(""), 100, &a, &list, &n, &last, err));
    FAIL_UNLESS(n == 0 && count.delivered == 1 && count.failures == 0 && l->refused == 0);
    return 0;
}

TEST_WITH(webhook_that_cannot_be_removed_is_removed_later, .no_torture = "webhook_delivers is")
{
    struct upp_err err = {0};
    struct late l = {.path = "/echo", .test = removes_later, .refused = 3};
    struct talk t = {.client = late, .arg = &l};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* Reads that fail are no attempts: with them the hook's pause would be years. */
WEFT_SUSPENDS static int reads_later(struct talk *t, struct wrt_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(sv_webhooks_closep) struct sv_webhooks *h = NULL;
    UPP_CLEANUP(weft_scope_close) struct weft_scope fibers = {.flags = WEFT_SCOPE_ISOLATED};
    struct late *l = t->arg;
    struct sv_webhook_counts count;
    TRY(run_once(rt, err));
    TRY(sv_webhooks_open(UPP_OPTS(sv_webhook_opts, .runtime = rt, .first_ms = 1, .most_ms = UINT64_MAX / 2), &h, err));
    l->unreadable = 48;
    TRY(weft_scope_spawn(&fibers, "webhooks", sv_webhooks_main, h, NULL, err));
    while (count = sv_webhooks_counts(h), !count.delivered || count.queued)
        TRY(weft_sleep_ms(1, err));
    FAIL_UNLESS(count.delivered == 1 && count.failures == 48 && l->unreadable == 0);
    return 0;
}

TEST_WITH(webhook_that_cannot_be_read_is_read_soon, .no_torture = "webhook_delivers is")
{
    struct upp_err err = {0};
    struct late l = {.path = "/echo", .test = reads_later};
    struct talk t = {.client = late, .arg = &l};
    CHECK_INT(talk_run(&t, &err), 0);
}
