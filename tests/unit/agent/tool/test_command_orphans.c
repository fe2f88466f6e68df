/* Whatever a tool does, nothing of it is left. Processes are found by the key in their environment. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/command.h"
#include "support/paths.h"

/* Three ways to fork, a few levels deep, every process deaf to all signals that can be ignored; 40 of them stay. */
static const char tree[] = "script='trap \"\" TERM INT HUP QUIT USR1\n"
                           "if [ \"$1\" -gt 0 ]; then n=$(($1 - 1))\n"
                           "setsid sh -c \"$script\" sh $n </dev/null >/dev/null 2>&1 &\n"
                           "(setsid sh -c \"$script\" sh $n &)\n"
                           "(nohup sh -c \"$script\" sh $n >/dev/null 2>&1 &)\n"
                           "fi\n"
                           "while :; do sleep 1000; done'\n"
                           "export script; sh -c \"$script\" sh 3";
enum { TREE = 2 * 40 }; /* each with its sleep */

static bool nothing_left(const char *key)
{
    return test_processes(key) == 0 && waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

WEFT_SUSPENDS static int one(void *arg, struct upp_err *err)
{
    struct command_case *c = arg;
    int r = test_command(c, err);
    if (r == 0)
        wa_command_end_done(&c->end);
    return r;
}

TEST_WITH(orphans_none_after_a_normal_end, .seconds = 120)
{
    static const char *const scripts[] = {
        "sleep 1000 & exit 0",
        "(setsid sleep 1000 &) ; (setsid sh -c 'sleep 1000 & sleep 1000' &) ; exit 0",
        "nohup sleep 1000 >/dev/null 2>&1 & (trap '' TERM; sleep 1000) & exit 3",
        "(setsid sleep 1000 >/dev/null 2>&1 </dev/null &) ; kill -9 $$",
    };
    char key[80];
    for (size_t i = 0; i < WB_LEN(scripts); i++) {
        struct upp_err err;
        struct command_case c = {.script = scripts[i], .key = test_key(key, sizeof key)};
        int r = test_on_loop(one, &c, &err);
        ALWAYS(nothing_left(key));
        CHECK_INT(r, 0);
    }
}

/* ---- A tree of them, ended in every way ---- */

struct canceled {
    struct command_case *c;
    struct weft_fiber *fiber;
    unsigned processes;
};

WEFT_SUSPENDS static int cancel_it(void *arg, struct upp_err *err)
{
    struct canceled *x = arg;
    while (test_processes(x->c->key) < x->processes && !weft_fiber_ended(x->fiber))
        TRY(weft_sleep_ms(5, err));
    weft_fiber_cancel(x->fiber);
    return 0;
}

WEFT_SUSPENDS static int run_and_cancel(void *arg, struct upp_err *err)
{
    struct canceled *x = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {.flags = WEFT_SCOPE_ISOLATED};
    int r = weft_scope_spawn(&scope, "tool", one, x->c, &x->fiber, err);
    if (r == 0)
        r = weft_scope_spawn(&scope, "cancel", cancel_it, x, NULL, err);
    if (r == 0)
        r = weft_fiber_join(x->fiber, err);
    weft_scope_close(&scope);
    weft_fiber_unref(x->fiber);
    return r;
}

TEST_WITH(orphans_none_after_a_cancel, .no_torture = "command_is_ended_when_time_is_up is tortured")
{
    char key[80];
    struct upp_err err;
    struct command_case c = {.script = tree, .key = test_key(key, sizeof key)};
    struct canceled x = {.c = &c, .processes = TREE};
    int r = test_on_loop(run_and_cancel, &x, &err);
    CHECK(nothing_left(key));
    CHECK_INT(r, -UPP_ECANCELED);
}

TEST_WITH(orphans_none_after_a_timeout_or_a_flood, .no_torture = "command_is_ended_when_time_is_up is tortured")
{
    char key[80], flood[1024];
    struct upp_err err;
    struct command_case c = {.script = tree, .key = test_key(key, sizeof key), .opts = {.seconds = 1}};
    CHECK_INT(test_on_loop(one, &c, &err), -UPP_ETIMEOUT);
    CHECK(nothing_left(key));
    (void)snprintf(flood, sizeof flood, "%s & exec yes", tree);
    c = (struct command_case){.script = flood, .key = test_key(key, sizeof key), .opts = {.output_kb = 16 * 1024}};
    CHECK_INT(test_on_loop(one, &c, &err), 0);
    CHECK(nothing_left(key));
}

/* Time is up at any moment: before it is started, while it starts, while it forks. */
struct moment {
    struct command_case *c;
    uint64_t ms;
};

WEFT_SUSPENDS static int until_then(void *arg, struct upp_err *err)
{
    struct moment *m = arg;
    WEFT_DEADLINE(m->ms);
    return one(m->c, err);
}

TEST_WITH(orphans_none_whenever_it_is_ended, .no_torture = "command_is_ended_when_time_is_up is tortured")
{
    char key[80];
    for (uint64_t ms = 0; ms <= 40; ms++) {
        struct upp_err err;
        struct command_case c = {.script = tree, .key = test_key(key, sizeof key)};
        struct moment m = {&c, ms};
        CHECK_INT(test_on_loop(until_then, &m, &err), -UPP_ETIMEOUT);
        CHECK(nothing_left(key));
    }
}

/* It is never the same process for long: each forks and exits at once. */
TEST_WITH(orphans_none_of_a_process_that_runs_away, .no_torture = "command_is_ended_when_time_is_up is tortured")
{
    char key[80];
    struct upp_err err;
    struct command_case c = {.script = "perl -e 'use POSIX; while (1) { POSIX::setsid(); fork and exit }' & exit 0",
                             .key = test_key(key, sizeof key)};
    CHECK_INT(test_on_loop(one, &c, &err), 0);
    CHECK(nothing_left(key));
}

/* 2^9 processes that are all deaf and all in sessions of their own. */
TEST_WITH(orphans_none_of_many, .no_torture = "command_is_ended_when_time_is_up is tortured")
{
    char key[80];
    struct upp_err err;
    struct command_case c = {.script = "exec perl -e 'use POSIX; $SIG{TERM} = \"IGNORE\"; "
                                       "for (1 .. 9) { fork or POSIX::setsid() } sleep 1000 while 1'",
                             .key = test_key(key, sizeof key),
                             .opts = {.processes = 1024}};
    struct canceled x = {.c = &c, .processes = 512};
    int r = test_on_loop(run_and_cancel, &x, &err);
    CHECK(nothing_left(key));
    CHECK_INT(r, -UPP_ECANCELED);
}

TEST_WITH(orphans_none_after_200_calls, .no_torture = "orphans_none_after_a_normal_end is tortured")
{
    char key[80];
    (void)test_key(key, sizeof key);
    for (int i = 0; i < 200; i++) {
        struct upp_err err;
        struct command_case c = {.script = "(setsid sleep 1000 &) ; exit 0", .key = key};
        CHECK_INT(test_on_loop(one, &c, &err), 0);
        CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    }
    CHECK(nothing_left(key));
}

/* ---- Somebody is killed ---- */

TEST_WITH(orphans_none_when_we_are_killed, .no_torture = "the process that is tortured is killed")
{
    char key[80];
    (void)test_key(key, sizeof key);
    pid_t child = fork();
    if (child == 0) {
        struct upp_err err;
        struct command_case c = {.script = tree, .key = key};
        _exit(test_on_loop(one, &c, &err) == 0);
    }
    while (test_processes(key) < TREE)
        (void)usleep(2000);
    (void)kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    test_until_gone(key);
    CHECK(nothing_left(key));
}

/* The inner and the outer one; the other does the work. */
TEST_WITH(orphans_none_when_a_reaper_is_killed, .no_torture = "nothing is left to fail")
{
    static const char *const scripts[] = {
        "(setsid sleep 1000 &) ; kill -9 $PPID; while :; do :; done",
        "(setsid sleep 1000 &) ; set -- $(cat /proc/$PPID/stat); kill -9 $4; while :; do :; done",
    };
    for (size_t i = 0; i < WB_LEN(scripts); i++) {
        char key[80];
        struct upp_err err;
        struct command_case c = {.script = scripts[i], .key = test_key(key, sizeof key)};
        CHECK_INT(test_on_loop(one, &c, &err), 0);
        CHECK(WIFSIGNALED(c.end.status) && WTERMSIG(c.end.status) == SIGKILL);
        CHECK(nothing_left(key));
    }
}

TEST_WITH(orphans_none_when_a_reaper_is_told_to_end, .no_torture = "nothing is left to fail")
{
    char key[80];
    struct upp_err err;
    struct command_case c = {.script = "(setsid sleep 1000 &) ; kill -TERM $PPID; sleep 1000",
                             .key = test_key(key, sizeof key)};
    CHECK_INT(test_on_loop(one, &c, &err), 0);
    CHECK(nothing_left(key));
}

/* Closing a process kills it; the inner reaper lives on for as long as it must. */
WEFT_SUSPENDS static int start_and_close(void *arg, struct upp_err *err)
{
    char parent[24], variable[120];
    (void)snprintf(parent, sizeof parent, "%ld", (long)getpid());
    (void)snprintf(variable, sizeof variable, "WEFT_CALL_KEY=%s", (const char *)arg);
    char script[sizeof tree];
    memcpy(script, tree, sizeof tree);
    char *const argv[] = {(char[]){"x"},       parent,         (char[]){"0"}, (char[]){"0"}, (char[]){"0"},
                          (char[]){"/bin/sh"}, (char[]){"-c"}, script,        NULL};
    char *const envp[] = {variable, (char[]){"PATH=/usr/bin:/bin"}, NULL};
    struct upp_spawn what = {
        .file = test_reaper, .argv = argv, .envp = envp, .in = -1, .out = -1, .error = -1, .own_session = true};
    UPP_CLEANUP(weft_process_closep) struct weft_process *p = NULL;
    TRY(weft_process_open(&what, &p, err));
    while (test_processes(arg) < TREE)
        TRY(weft_sleep_ms(2, err));
    return 0;
}

TEST_WITH(orphans_none_when_the_process_is_closed, .no_torture = "it waits for a number of processes")
{
    char key[80];
    struct upp_err err;
    CHECK_INT(test_on_loop(start_and_close, (void *)(uintptr_t)test_key(key, sizeof key), &err), 0);
    test_until_gone(key);
    CHECK(nothing_left(key));
}
