#include "support/sim/sim.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "base/random.h"
#include "fiber/loop.h"
#include "support/fibers.h"

static int on_sim(uint64_t seed, weft_fn *fn, void *arg, uint64_t *trace, struct upp_err *err)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    TRY(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed), &w, err));
    int r = weft_loop_run(weft__sim_loop(w, 0), "test", fn, arg, err);
    if (trace)
        *trace = weft__sim_trace(w);
    return r;
}

/* ---- Time ---- */

static int sleeps_a_year(void *arg, struct upp_err *err)
{
    (void)arg;
    uint64_t mono = WB_CALL(mono_ns)();
    int64_t wall = WB_CALL(wall_ns)();
    uint64_t year = UINT64_C(365) * 24 * 3600 * 1000;
    TRY(weft_sleep_ms(year, err));
    uint64_t passed = WB_CALL(mono_ns)() - mono;
    FAIL_UNLESS(passed >= year * 1000000 && passed < (year + 1) * 1000000);
    FAIL_UNLESS(WB_CALL(wall_ns)() - wall == (int64_t)passed);
    return 0;
}

TEST(sim_time_is_virtual)
{
    struct upp_err err;
    uint64_t before = WB_CALL(mono_ns)();
    CHECK_INT(on_sim(1, sleeps_a_year, NULL, NULL, &err), 0);
    CHECK(WB_CALL(mono_ns)() - before < UINT64_C(10000000000)); /* the table is back */
}

static int looks_at_the_wall(void *arg, struct upp_err *err)
{
    (void)arg;
    struct weft_loop *l = weft_loop_current();
    int64_t wall = weft__loop_wall_ms(l);
    uint64_t now = l->now;
    FAIL_UNLESS(wall == wb_wall_ms());
    l->now = now + 999999;
    l->wall_ms -= 7; /* would a look put it right? */
    FAIL_UNLESS(weft__loop_wall_ms(l) == wall - 7);
    l->now = now + 1000000;
    FAIL_UNLESS(weft__loop_wall_ms(l) == wall);
    TRY(weft_sleep_ms(5000, err));
    FAIL_UNLESS(weft__loop_wall_ms(l) >= wall + 5000 && weft__loop_wall_ms(l) == wb_wall_ms());
    return 0;
}

TEST(sim_a_look_at_the_wall_clock_is_good_for_a_millisecond)
{
    struct upp_err err;
    CHECK_INT(on_sim(1, looks_at_the_wall, NULL, NULL, &err), 0);
}

/* ---- Order ---- */

struct letters {
    char text[64];
    size_t n;
};

struct letter {
    struct letters *all;
    char c;
};

static int writes(void *arg, struct upp_err *err)
{
    struct letter *l = arg;
    for (int i = 0; i < 3; i++) {
        l->all->text[l->all->n++] = l->c;
        TRY(weft_yield(err));
    }
    return 0;
}

static int shuffles(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct letter l[8];
    for (int i = 0; i < 8; i++) {
        l[i] = (struct letter){arg, (char)('a' + i)};
        TRY(weft_scope_spawn(&s, "writer", writes, &l[i], NULL, err));
    }
    return weft_scope_join(&s, err);
}

TEST(sim_seed_decides_the_order)
{
    enum { SEEDS = 20 };
    struct letters first[SEEDS];
    uint64_t trace[SEEDS];
    struct upp_err err;
    for (int i = 0; i < SEEDS; i++) {
        struct letters again = {.n = 0};
        uint64_t trace_again = 0;
        first[i].n = 0;
        test_note("seed %d", i);
        CHECK_INT(on_sim((uint64_t)i, shuffles, &first[i], &trace[i], &err), 0);
        CHECK_INT(on_sim((uint64_t)i, shuffles, &again, &trace_again, &err), 0);
        CHECK_STR(((struct upp_str){again.text, again.n}), ((struct upp_str){first[i].text, first[i].n}));
        CHECK(trace[i] == trace_again);
        for (int k = 0; k < i; k++)
            CHECK(trace[k] != trace[i] && memcmp(first[k].text, first[i].text, 24) != 0);
    }
}

/* ---- Deadlock ---- */

static int waits_for_ever(void *arg, struct upp_err *err)
{
    return weft_cond_wait(arg, err);
}

static int deadlocks(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct weft_cond c = {0};
    (void)arg;
    TRY(weft_scope_spawn(&s, "child", waits_for_ever, &c, NULL, err));
    return weft_scope_join(&s, err);
}

TEST(sim_deadlock_is_named)
{
    struct upp_err err;
    CHECK_INT(on_sim(7, deadlocks, NULL, NULL, &err), -UPP_EBUG);
    CHECK(strcmp(err.msg, "deadlock: test waits for the children of a scope, child waits for a condition") == 0);
}

static int hopeless(void *arg, struct upp_err *err)
{
    struct weft_cond c = {0};
    (void)arg;
    WEFT__SHIELD_FOREVER;
    return weft_cond_wait(&c, err);
}

static void run_hopeless(void)
{
    (void)on_sim(7, hopeless, NULL, NULL, NULL);
}

TEST_WITH(sim_deadlock_that_nothing_ends_aborts, .no_torture = "it aborts in a forked child")
{
    char text[2048];
    int status = test_in_child(run_hopeless, text, sizeof text);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(text, "deadlock that no cancel ends: test waits for a condition"));
}

/* ---- Random, sockets, programs ---- */

struct net {
    struct weft__sim *w;
    int fd[2];
    size_t n;
};

static int sends(void *arg, struct upp_err *err)
{
    struct net *n = arg;
    char part[1000];
    for (size_t i = 0; i < sizeof part; i++)
        part[i] = (char)i;
    for (size_t left = n->n; left; left -= WB_MIN(left, sizeof part))
        TRY(weft_send(n->fd[0], part, WB_MIN(left, sizeof part), err));
    test_closep(&n->fd[0]);
    return 0;
}

static int receives(void *arg, struct upp_err *err)
{
    struct net *n = arg;
    char part[777];
    size_t total = 0;
    int64_t r;
    while ((r = weft_recv(n->fd[1], part, sizeof part, err)) > 0)
        for (int64_t i = 0; i < r; i++, total++)
            FAIL_UNLESS(part[i] == (char)(total % 1000));
    TRY((int)r);
    FAIL_UNLESS(total == n->n);
    test_closep(&n->fd[1]);
    return 0;
}

static int talks(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct net *n = arg;
    TRY(weft__sim_pair(n->w, n->fd, err));
    TRY(weft_scope_spawn(&s, "receiver", receives, n, NULL, err));
    TRY(weft_scope_spawn(&s, "sender", sends, n, NULL, err));
    TRY(weft_scope_join(&s, err));
    FAIL_UNLESS(weft__sim_open_fds(n->w) == 0);
    return 0;
}

TEST(sim_sockets_delay_and_cut_but_lose_nothing)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
        struct upp_err err;
        CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed), &w, &err) == 0);
        struct net n = {.w = w, .n = 20000};
        CHECK_INT(weft_loop_run(weft__sim_loop(w, 0), "test", talks, &n, &err), 0);
    }
}

static int serves(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(test_closep) int fd = weft_accept(*(int *)arg, err);
    TRY(fd);
    return weft_send(fd, "hello", 5, err);
}

static int asks(void *arg, struct upp_err *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = 80};
    char c[5];
    UPP_CLEANUP(test_closep) int fd = WB_CALL(socket)(AF_INET, SOCK_STREAM, 0);
    (void)arg;
    if (fd < 0)
        return -UPP_ENOMEM;
    TRY(weft_connect(fd, (struct sockaddr *)&at, sizeof at, err));
    for (int i = 0; i < 5; i++)
        FAIL_UNLESS(weft_recv(fd, &c[i], 1, err) == 1);
    FAIL_UNLESS(memcmp(c, "hello", 5) == 0 && weft_recv(fd, c, 1, err) == 0);
    return 0;
}

static int listens(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = 80};
    int r = asks(arg, err); /* nobody listens */
    if (r != -UPP_ENET)
        return r;
    UPP_CLEANUP(test_closep) int fd = WB_CALL(socket)(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return -UPP_ENOMEM;
    FAIL_UNLESS(WB_CALL(bind)(fd, (struct sockaddr *)&at, sizeof at) == 0 && WB_CALL(listen)(fd, 5) == 0);
    for (int i = 0; i < 3; i++) {
        TRY(weft_scope_spawn(&s, "server", serves, &fd, NULL, err));
        TRY(weft_scope_spawn(&s, "client", asks, NULL, NULL, err));
        r = weft_scope_join(&s, err);
        TRY(r);
    }
    return 0;
}

TEST(sim_connects_and_accepts)
{
    struct upp_err err;
    CHECK_INT(on_sim(3, listens, NULL, NULL, &err), 0);
}

static int is_cut(void *arg, struct upp_err *err)
{
    struct net *n = arg;
    char c;
    TRY(weft__sim_pair(n->w, n->fd, err));
    weft__sim_cut(n->w, n->fd[0]);
    FAIL_UNLESS(weft_recv(n->fd[1], &c, 1, err) == -UPP_ENET && weft_send(n->fd[0], "x", 1, err) == -UPP_ENET);
    test_closep(&n->fd[0]);
    test_closep(&n->fd[1]);
    TRY(weft__sim_pair(n->w, n->fd, err));
    test_closep(&n->fd[0]);
    FAIL_UNLESS(weft_recv(n->fd[1], &c, 1, err) == 0 && weft_send(n->fd[1], "x", 1, err) == -UPP_ENET);
    test_closep(&n->fd[1]);
    FAIL_UNLESS(weft_fd_wait(0, WEFT_READABLE, err) == -UPP_EINVALID);
    return 0;
}

TEST(sim_connections_can_be_cut)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err;
    CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 1), &w, &err) == 0);
    struct net n = {.w = w};
    CHECK_INT(weft_loop_run(weft__sim_loop(w, 0), "test", is_cut, &n, &err), 0);
}

static int runs_program(void *arg, struct upp_err *err)
{
    struct net *n = arg;
    struct upp_spawn what = {.file = "tool"};
    int status = 0;
    uint64_t start = WB_CALL(mono_ns)();
    UPP_CLEANUP(weft_process_closep) struct weft_process *p = NULL;
    TRY(weft_process_open(&what, &p, err));
    TRY(weft_process_wait(p, &status, err));
    FAIL_UNLESS(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    FAIL_UNLESS(WB_CALL(mono_ns)() - start >= UINT64_C(5000000000));
    UPP_CLEANUP(weft_process_closep) struct weft_process *q = NULL;
    TRY(weft_process_open(&what, &q, err));
    FAIL_UNLESS(weft__sim_children(n->w) == 2);
    what.file = "unknown";
    struct weft_process *u = NULL;
    int r = weft_process_open(&what, &u, err);
    FAIL_UNLESS(!u && (r == -UPP_ENOTFOUND || r == -UPP_ENOMEM));
    return 0;
} /* q is killed */

TEST(sim_programs_end_when_they_should)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err;
    CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 1), &w, &err) == 0);
    CHECK(weft__sim_program(w, "tool", 5000, 3 << 8, &err) == 0);
    struct net n = {.w = w};
    CHECK_INT(weft_loop_run(weft__sim_loop(w, 0), "test", runs_program, &n, &err), 0);
    CHECK(weft__sim_children(w) == 0 && weft__sim_open_fds(w) == 0);
}

/* A process that not even SIGKILL ends: close gives up after its 10 s and leaves it to a worker. */
static void kills_nothing(struct weft_loop *l, const struct weft__child *c)
{
    (void)l, (void)c;
}

static int immortal(void *arg, struct upp_err *err)
{
    struct weft_loop *l = weft_loop_current();
    const struct weft__loop_ops *before = l->ops;
    struct weft__loop_ops weak = *before;
    struct upp_spawn what = {.file = "tool"};
    struct weft_process *p = NULL;
    uint64_t start = WB_CALL(mono_ns)();
    (void)arg;
    TRY(weft_process_open(&what, &p, err));
    weak.child_kill = kills_nothing;
    l->ops = &weak;
    weft_process_close(p);
    l->ops = before;
    FAIL_UNLESS(WB_CALL(mono_ns)() - start >= UINT64_C(10000000000));
    return 0;
}

TEST(sim_process_that_does_not_end_is_left_to_a_worker)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err;
    CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 1), &w, &err) == 0);
    CHECK(weft__sim_program(w, "tool", 1000000, 0, &err) == 0);
    CHECK_INT(weft_loop_run(weft__sim_loop(w, 0), "test", immortal, NULL, &err), 0);
    CHECK(weft__sim_open_fds(w) == 0);
}

TEST(sim_one_world_at_a_time)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct weft__sim *two = NULL;
    struct upp_err err;
    unsigned char a[8], b[8];
    CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 1), &w, &err) == 0);
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 2), &two, &err);
    ALWAYS(!two);
    CHECK_INT(r, -UPP_EBUSY);
    CHECK(!weft__sim_loop(w, 1));
    CHECK(WB_CALL(random)(a, 8) == 8 && WB_CALL(random)(b, 8) == 8 && memcmp(a, b, 8) != 0);
}

/* ---- Limits hold here too ---- */

static int spawns_two(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct weft_cond c = {0};
    (void)arg;
    TRY(weft_scope_spawn(&s, "one", waits_for_ever, &c, NULL, err));
    return weft_scope_spawn(&s, "two", waits_for_ever, &c, NULL, err);
}

static int nothing(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    return 0;
}

static int works(void *arg, struct upp_err *err)
{
    (void)arg;
    return weft_work(nothing, NULL, NULL, NULL, err);
}

static int works_twice(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    (void)arg;
    for (int i = 0; i < 2; i++)
        TRY(weft_scope_spawn(&s, "works", works, NULL, NULL, err));
    return weft_scope_join(&s, err);
}

TEST(sim_limits)
{
    struct upp_err err;
    for (int i = 0; i < 2; i++) {
        UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
        CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .max_jobs = 1, .loop.max_fibers = i ? 2 : 0), &w, &err) == 0);
        CHECK_INT(weft_loop_run(weft__sim_loop(w, 0), "test", i ? spawns_two : works_twice, NULL, &err), -UPP_ELIMIT);
        CHECK(weft_loop_poll(weft__sim_loop(w, 0), &err) == 0);
    }
    struct weft__sim *w = NULL;
    CHECK_INT(weft__sim_open(UPP_OPTS(weft__sim_opts, .loops = 5000), &w, &err), -UPP_ELIMIT);
}

/* ---- A thousand seeds of a program that has everything ---- */

enum { ITEMS = 12 };

struct everything {
    struct weft__sim *w;
    struct weft_loop *other;
    struct weft_channel *c;
    struct weft_cond cond;
    int sent, received, worked, dropped, called, timeouts, cancels, cleaned, begun;
};

struct item {
    struct everything *e;
    int n;
};

static struct item *item(struct everything *e, int n)
{
    struct item *i = wb_alloc(sizeof *i);
    if (i)
        *i = (struct item){e, n};
    return i;
}

static void drop(void *arg)
{
    struct item *i = arg;
    i->e->dropped++;
    wb_free(i);
}

static int work(void *arg, struct upp_err *err)
{
    struct item *i = arg;
    (void)err;
    i->n += 100;
    return weft_loop_current() ? -UPP_EBUG : 0;
}

static int remote(void *arg, struct upp_err *err)
{
    struct item *i = arg;
    FAIL_UNLESS(weft_loop_current() == i->e->other);
    TRY(weft_sleep_ms(weft__sim_below(i->e->w, 8), err));
    i->n += 1000;
    return 0;
}

static int produces(void *arg, struct upp_err *err)
{
    struct everything *e = arg;
    for (int n = 1; n <= ITEMS; n++) {
        struct item *i = item(e, n);
        int ret;
        if (!i)
            return -UPP_ENOMEM;
        WEFT_DEADLINE(10);
        int r = n % 2 ? weft_work(work, i, drop, &ret, err)
                      : weft_loop_call(e->other, "remote", remote, i, drop, &ret, err);
        if (r == -UPP_ETIMEOUT) {
            e->timeouts++;
            continue;
        }
        TRY(r);
        bool right = i->n == n + (n % 2 ? 100 : 1000);
        wb_free(i);
        TRY(ret);
        FAIL_UNLESS(right);
        e->worked += n % 2;
        e->called += !(n % 2);
        WEFT_SHIELD(0);
        TRY(weft_channel_send(e->c, &n, err));
        e->sent++;
    }
    return 0;
}

static int consumes(void *arg, struct upp_err *err)
{
    struct everything *e = arg;
    int n, r;
    while ((r = weft_channel_recv(e->c, &n, err)) == 1) {
        e->received++;
        weft_cond_broadcast(&e->cond);
    }
    return r;
}

static int unwinds(void *arg, struct upp_err *err)
{
    struct everything *e = arg;
    e->begun++;
    int r = 0;
    while (r == 0)
        r = weft_cond_wait(&e->cond, err);
    WEFT_SHIELD(1000);
    TRY(weft_sleep_ms(3, NULL));
    e->cleaned++;
    return r;
}

struct three {
    struct weft_fiber *f[3];
};

static void unref_three(struct three *t)
{
    for (int i = 0; i < 3; i++)
        weft_fiber_unref(t->f[i]);
}

static int everything(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope makers = {.flags = WEFT_SCOPE_ISOLATED}, takers = {0};
    UPP_CLEANUP(weft_scope_close) struct weft_scope others = {.flags = WEFT_SCOPE_ISOLATED};
    struct everything *e = arg;
    UPP_CLEANUP(unref_three) struct three hands = {{NULL}};
    for (int i = 0; i < 2; i++)
        TRY(weft_scope_spawn(&takers, "consumer", consumes, e, NULL, err));
    for (int i = 0; i < 4; i++)
        TRY(weft_scope_spawn(&others, "unwinds", unwinds, e, NULL, err));
    for (int i = 0; i < 3; i++)
        TRY(weft_scope_spawn(&makers, "producer", produces, e, &hands.f[i], err));
    TRY(weft_sleep_ms(weft__sim_below(e->w, 100), err));
    weft_fiber_cancel(hands.f[0]); /* at some moment of its life */
    for (int i = 0; i < 3; i++) {
        int r = weft_fiber_join(hands.f[i], err);
        e->cancels += r == -UPP_ECANCELED;
        FAIL_UNLESS(r == 0 || (i == 0 && r == -UPP_ECANCELED));
    }
    weft_channel_close(e->c);
    TRY(weft_scope_join(&takers, err));
    weft_scope_close(&others);
    FAIL_UNLESS(e->sent == e->received && e->cleaned == e->begun);
    return 0;
}

static int one_seed(uint64_t seed, struct everything *e, uint64_t *trace, struct upp_err *err)
{
    UPP_CLEANUP(weft_channel_freep) struct weft_channel *c = NULL;
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    TRY(weft_channel_new(3, sizeof(int), &c, err));
    TRY(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed, .loops = 2), &w, err));
    *e = (struct everything){.w = w, .other = weft__sim_loop(w, 1), .c = c};
    int r = weft_loop_run(weft__sim_loop(w, 0), "everything", everything, e, err);
    *trace = weft__sim_trace(w);
    return r;
}

/* WEFT_SEEDS sets how many; the default is the thousand of its name. */
TEST_WITH(sim_thousand_seeds, .no_torture = "a thousand runs; sim_one_seed_of_everything is tortured", .seconds = 1800)
{
    struct everything all = {.w = NULL};
    struct upp_err err;
    uint64_t last = 0;
    uint64_t seeds = test_number("WEFT_SEEDS", 1000);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct everything e, again;
        uint64_t trace = 0, trace_again = 0;
        test_note("seed %llu", (unsigned long long)seed);
        CHECK_INT(one_seed(seed, &e, &trace, &err), 0);
        CHECK(e.sent + e.timeouts <= 3 * ITEMS && e.sent + e.timeouts >= 2 * ITEMS);
        CHECK(trace != last);
        last = trace;
        if (seed % 10 == 0) {
            CHECK_INT(one_seed(seed, &again, &trace_again, &err), 0);
            CHECK(trace == trace_again && e.sent == again.sent && e.dropped == again.dropped);
        }
        all.timeouts += e.timeouts;
        all.cancels += e.cancels;
        all.dropped += e.dropped;
        all.worked += e.worked;
        all.called += e.called;
    }
    test_note("over all seeds");
    CHECK(all.timeouts > 100 && all.cancels > 100 && all.dropped > 100 && all.worked > 1000 && all.called > 1000);
}

TEST(sim_one_seed_of_everything)
{
    struct everything e;
    struct upp_err err;
    uint64_t trace;
    CHECK_INT(one_seed(4, &e, &trace, &err), 0);
}

/* ---- The trace in words ---- */

struct words {
    char text[4096];
    size_t n;
};

static void tell(void *arg, const char *line)
{
    struct words *w = arg;
    if (w->n < sizeof w->text)
        w->n += (size_t)snprintf(w->text + w->n, sizeof w->text - w->n, "%s\n", line);
}

static int naps(void *arg, struct upp_err *err)
{
    (void)arg;
    return weft_sleep_ms(1, err);
}

TEST(sim_trace_can_be_read)
{
    static struct words words;
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err;
    words.n = 0;
    CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 1, .trace = tell, .arg = &words), &w, &err) == 0);
    CHECK_INT(weft_loop_run(weft__sim_loop(w, 0), "sleeper", naps, NULL, &err), 0);
    test_note("%s", words.text);
    CHECK(strncmp(words.text, "0 us sleeper 1 0\n", 17) == 0 && strstr(words.text, " us serves 0 0\n"));
    CHECK_INT(weft_loop_run(weft__sim_loop(w, 0), "stuck", deadlocks, NULL, &err), -UPP_EBUG);
    CHECK(strstr(words.text, "\ndeadlock\nstuck waits for the children of a scope, child waits for a condition\n"));
}

/* ---- Nothing comes in from outside, and nothing gets out ---- */

TEST(sim_random_is_the_seeds)
{
    struct upp_err err;
    uint64_t n[2] = {0, 1}, outside;
    CHECK(wb_random(&outside, sizeof outside, &err) == 0); /* leaves a batch behind */
    for (int i = 0; i < 2; i++) {
        UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
        CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 42), &w, &err) == 0);
        CHECK(wb_random(&n[i], sizeof n[i], &err) == 0);
    }
    CHECK(n[0] == n[1]);
    CHECK(wb_random(&n[1], sizeof n[1], &err) == 0);
    uint64_t next;
    {
        UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
        CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 42), &w, &err) == 0);
        CHECK(wb_random(&next, sizeof next, &err) == 0 && wb_random(&next, sizeof next, &err) == 0);
    }
    CHECK(n[1] != next); /* what came after the world was not the rest of its batch */
}

TEST(sim_listener_closes_its_whole_backlog)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = 7};
    CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 1), &w, &err) == 0);
    int listener = WB_CALL(socket)(AF_INET, SOCK_STREAM, 0), clients[3];
    CHECK(listener >= 0 && WB_CALL(bind)(listener, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(WB_CALL(listen)(listener, 5) == 0);
    for (int i = 0; i < 3; i++) {
        clients[i] = WB_CALL(socket)(AF_INET, SOCK_STREAM, 0);
        CHECK(clients[i] >= 0 && WB_CALL(connect)(clients[i], (struct sockaddr *)&at, sizeof at) < 0);
    }
    CHECK(WB_CALL(close)(listener) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(WB_CALL(close)(clients[i]) == 0);
    CHECK_INT(weft__sim_open_fds(w), 0);
}
