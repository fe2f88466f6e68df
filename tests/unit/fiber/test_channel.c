#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "support/fibers.h"

TEST(channel_try_forms)
{
    UPP_CLEANUP(weft_channel_freep) struct weft_channel *c = NULL;
    struct upp_err err;
    int v = 0;
    CHECK_INT(weft_channel_new(0, 4, &c, &err), -UPP_EINVALID);
    CHECK_INT(weft_channel_new(4, 0, &c, &err), -UPP_EINVALID);
    CHECK_INT(weft_channel_new(1 << 20, 65, &c, &err), -UPP_ELIMIT);
    CHECK_INT(weft_channel_new(SIZE_MAX, SIZE_MAX, &c, &err), -UPP_ELIMIT);
    CHECK(weft_channel_new(2, sizeof v, &c, &err) == 0);
    CHECK_INT(weft_channel_try_recv(c, &v, &err), -UPP_EBUSY);
    for (int i = 0; i < 7; i++) {
        CHECK(weft_channel_try_send(c, &(int){i}, &err) == 0 && weft_channel_try_send(c, &(int){i + 100}, &err) == 0);
        CHECK_INT(weft_channel_try_send(c, &v, &err), -UPP_EBUSY);
        CHECK_INT(weft_channel_count(c), 2);
        CHECK(weft_channel_try_recv(c, &v, &err) == 1 && v == i);
        CHECK(weft_channel_try_recv(c, &v, &err) == 1 && v == i + 100);
    }
    CHECK(weft_channel_try_send(c, &(int){9}, &err) == 0);
    weft_channel_close(c);
    CHECK_INT(weft_channel_try_send(c, &v, &err), -UPP_EREFUSED);
    CHECK(weft_channel_try_recv(c, &v, &err) == 1 && v == 9);
    CHECK_INT(weft_channel_try_recv(c, &v, &err), 0);
}

struct flow {
    struct weft_channel *c;
    int n, sum, max;
};

static int producer(void *arg, struct upp_err *err)
{
    struct flow *f = arg;
    for (int i = 1; i <= f->n; i++)
        TRY(weft_channel_send(f->c, &i, err));
    return 0;
}

static int consumer(void *arg, struct upp_err *err)
{
    struct flow *f = arg;
    int v, r;
    while ((r = weft_channel_recv(f->c, &v, err)) == 1) {
        f->sum += v;
        if ((int)weft_channel_count(f->c) > f->max)
            f->max = (int)weft_channel_count(f->c);
    }
    return r;
}

static int flows(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope makers = {0}, takers = {0};
    struct flow *f = arg;
    for (int i = 0; i < 2; i++)
        TRY(weft_scope_spawn(&takers, "consumer", consumer, f, NULL, err));
    for (int i = 0; i < 3; i++)
        TRY(weft_scope_spawn(&makers, "producer", producer, f, NULL, err));
    TRY(weft_scope_join(&makers, err));
    weft_channel_close(f->c);
    return weft_scope_join(&takers, err);
}

TEST(channel_carries_everything_once)
{
    UPP_CLEANUP(weft_channel_freep) struct weft_channel *c = NULL;
    struct upp_err err;
    CHECK(weft_channel_new(4, sizeof(int), &c, &err) == 0);
    struct flow f = {.c = c, .n = 100};
    CHECK_INT(test_on_loop(flows, &f, &err), 0);
    CHECK_INT(f.sum, 3 * 5050);
    CHECK(f.max <= 4);
}

static int cancelled_sender(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    struct flow *flow = arg;
    TRY(weft_scope_spawn(&s, "producer", producer, flow, &f, err));
    TRY(weft_yield(err));
    weft_fiber_cancel(f);
    FAIL_UNLESS(weft_fiber_join(f, err) == -UPP_ECANCELED);
    FAIL_UNLESS(weft_channel_count(flow->c) == 2); /* what it could not send is not in */
    int v;
    FAIL_UNLESS(weft_channel_recv(flow->c, &v, err) == 1 && v == 1);
    WEFT_DEADLINE(2);
    FAIL_UNLESS(weft_channel_recv(flow->c, &v, err) == 1 && v == 2);
    FAIL_UNLESS(weft_channel_recv(flow->c, &v, err) == -UPP_ETIMEOUT);
    return 0;
}

TEST(channel_waits_can_be_cut_short)
{
    UPP_CLEANUP(weft_channel_freep) struct weft_channel *c = NULL;
    struct upp_err err;
    CHECK(weft_channel_new(2, sizeof(int), &c, &err) == 0);
    struct flow f = {.c = c, .n = 100};
    CHECK_INT(test_on_loop(cancelled_sender, &f, &err), 0);
}

static int frees_it(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct flow f = {.n = 1};
    (void)arg;
    TRY(weft_channel_new(1, sizeof(int), &f.c, err));
    TRY(weft_scope_spawn(&s, "consumer", consumer, &f, NULL, err));
    TRY(weft_yield(err));
    weft_channel_free(f.c);
    return 0;
}

static void run_frees_it(void)
{
    (void)test_on_loop(frees_it, NULL, NULL);
}

TEST_WITH(channel_freed_under_a_waiter_aborts, .no_torture = "it aborts in a forked child")
{
    char text[2048];
    int status = test_in_child(run_frees_it, text, sizeof text);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(text, "a channel is freed while fiber 'consumer' waits on it"));
}

static int waits_on(void *arg, struct upp_err *err)
{
    int item;
    return weft_channel_recv(arg, &item, err);
}

/* Closing has woken the waiter, but it is still inside. */
static int frees_too_soon(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct weft_channel *c = NULL;
    (void)arg;
    TRY(weft_channel_new(1, sizeof(int), &c, err));
    TRY(weft_scope_spawn(&s, "waiter", waits_on, c, NULL, err));
    TRY(weft_yield(err));
    weft_channel_close(c);
    weft_channel_free(c);
    return 0;
}

static void free_too_soon(void)
{
    (void)test_on_loop(frees_too_soon, NULL, NULL);
}

TEST_WITH(channel_freed_before_the_woken_have_left_aborts, .no_torture = "it aborts in a forked child")
{
    char text[2048];
    int status = test_in_child(free_too_soon, text, sizeof text);
    test_note("%s", text);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strncmp(text, "weft: a channel is freed while", 30) == 0);
}
