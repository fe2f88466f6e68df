#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <upp/wait.h>

#include "base/str.h"
#include "support/calls.h"
#include "support/faults.h"
#include "support/test.h"

TEST(cancel_is_sticky_and_ends_every_wait)
{
    UPP_CLEANUP(upp_cancel_freep) struct upp_cancel *c = NULL;
    struct upp_err err = {0};
    CHECK_INT(upp_cancel_new(&c, &err), 0);
    const struct upp_wait *w = upp_cancel_wait(c);
    CHECK(!upp_cancel_fired(c));
    CHECK_INT(upp_wait_stopped(w, &err), 0);
    CHECK_INT(upp_wait_ms(w, 1, &err), 0);
    CHECK_INT(upp_wait_readable(w, -1, 1, &err), 0);
    upp_cancel_fire(c);
    upp_cancel_fire(c);
    for (int i = 0; i < 2; i++) {
        CHECK(upp_cancel_fired(c));
        CHECK_INT(upp_wait_stopped(w, &err), -UPP_ECANCELED);
        CHECK_INT(upp_wait_ms(w, UPP_FOREVER, &err), -UPP_ECANCELED);
        CHECK_INT(upp_wait_readable(w, 0, UPP_FOREVER, &err), -UPP_ECANCELED);
    }
    CHECK_STR(wb_cstr(err.msg), UPP_STR("cancelled"));
}

TEST(cancel_without_a_descriptor_is_an_error)
{
    struct upp_cancel *c = NULL;
    struct upp_err err = {0};
    struct rlimit was, none;
    CHECK(getrlimit(RLIMIT_NOFILE, &was) == 0);
    none = was;
    none.rlim_cur = 3;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    int r = upp_cancel_new(&c, &err);
    (void)setrlimit(RLIMIT_NOFILE, &was);
    CHECK_INT(r, -UPP_ELIMIT);
    CHECK(!c);
}

TEST(cancel_readable_tells_the_descriptor_from_the_time)
{
    int fd = eventfd(1, EFD_CLOEXEC);
    struct upp_err err = {0};
    CHECK(fd >= 0);
    int there = upp_wait_readable(NULL, fd, 1000, &err), forever = upp_wait_readable(NULL, fd, UPP_FOREVER, &err);
    (void)!read(fd, &(uint64_t){0}, 8);
    int gone = upp_wait_readable(NULL, fd, 1, &err);
    (void)close(fd);
    CHECK_INT(there, 1);
    CHECK_INT(forever, 1);
    CHECK_INT(gone, 0);
    CHECK_INT(upp_wait_stopped(NULL, &err), 0);
}

/* A table of an older program ends earlier: what stands behind its end is not looked at. */
TEST(cancel_old_tables_are_shorter)
{
    static const struct upp_wait old = {.size = offsetof(struct upp_wait, readable),
                                        .stopped = (int (*)(void *, struct upp_err *))(uintptr_t)1};
    CHECK_INT(upp_wait_stopped(&old, NULL), 0);
    CHECK_INT(upp_wait_readable(&old, -1, 0, NULL), 0);
}

static const struct faults_step hang[] = {{.act = FAULTS_HANG}};

static void *fire_when_asked(void *arg)
{
    void **both = arg;
    struct faults *f = both[0];
    while (!faults_requests(f)) /* the request is there: the caller waits for its answer, or is about to */
        (void)usleep(100);
    upp_cancel_fire(both[1]);
    return NULL;
}

TEST_WITH(cancel_stops_a_call_from_another_thread, .no_torture = "the other thread waits for the request")
{
    FAULTS_SERVER(s, FAULTS_REPLY(hang));
    UPP_CLEANUP(upp_cancel_freep) struct upp_cancel *c = NULL;
    struct upp_err err = {0};
    pthread_t t;
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_cancel_new(&c, &err), 0);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    void *both[] = {s, c};
    CHECK(pthread_create(&t, NULL, fire_when_asked, both) == 0);
    int r = call_url(h, faults_url(s, "/"), upp_cancel_wait(c), &got, &err);
    (void)pthread_join(t, NULL);
    CHECK_INT(r, -UPP_ECANCELED);
    CHECK_INT(call_url(h, faults_url(s, "/"), upp_cancel_wait(c), &got, &err), -UPP_ECANCELED);
    CHECK_INT(faults_requests(s), 1); /* told before: nothing is sent */
}

static struct upp_cancel *signalled;

static void on_timer(int sig)
{
    (void)sig;
    upp_cancel_fire(signalled);
}

TEST_WITH(cancel_stops_a_call_from_a_signal_handler, .no_torture = "a timer fires once")
{
    FAULTS_SERVER(s, FAULTS_REPLY(hang));
    UPP_CLEANUP(upp_cancel_freep) struct upp_cancel *c = NULL;
    struct upp_err err = {0};
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_cancel_new(&c, &err), 0);
    CHECK_INT(upp_http_new(NULL, &h, &err), 0);
    signalled = c;
    (void)signal(SIGPROF, on_timer);
    timer_t timer;
    struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
    (void)timer_settime(timer, 0, &(struct itimerspec){.it_value.tv_nsec = 20000000}, NULL);
    int r = call_url(h, faults_url(s, "/"), upp_cancel_wait(c), &got, &err);
    (void)timer_delete(timer);
    (void)signal(SIGPROF, SIG_DFL);
    CHECK_INT(r, -UPP_ECANCELED);
}
