#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hooks.h"
#include "fiber/child.h"
#include "support/fibers.h"

struct run {
    const char *script;
    int status, pid, result;
    bool session;
};

static struct upp_spawn shell(char *const argv[], bool session)
{
    return (struct upp_spawn){.file = "sh", .argv = argv, .in = -1, .out = -1, .error = -1, .own_session = session};
}

static int runs(void *arg, struct upp_err *err)
{
    struct run *run = arg;
    char script[200];
    strcpy(script, run->script);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL};
    struct upp_spawn what = shell(argv, run->session);
    UPP_CLEANUP(weft_process_closep) struct weft_process *p = NULL;
    TRY(weft_process_open(&what, &p, err));
    run->pid = weft_process_pid(p);
    TRY(weft_process_wait(p, &run->status, err));
    int again = 0;
    FAIL_UNLESS(weft_process_wait(p, &again, err) == 0 && again == run->status);
    return 0;
}

TEST(process_exit_is_seen)
{
    struct run run = {.script = "exit 7", .session = true};
    struct upp_err err;
    CHECK_INT(test_on_loop(runs, &run, &err), 0);
    CHECK(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 7);
    run.script = "kill -TERM $$";
    CHECK_INT(test_on_loop(runs, &run, &err), 0);
    CHECK(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGTERM);
    ALWAYS(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD); /* nothing is left */
}

/* The wait is cut short; close kills and reaps. */
static int times_out(void *arg, struct upp_err *err)
{
    WEFT_DEADLINE(5);
    return runs(arg, err);
}

TEST(process_close_kills_and_reaps)
{
    struct run run = {.script = "sleep 1000", .session = true};
    struct upp_err err;
    int r = test_on_loop(times_out, &run, &err);
    ALWAYS(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    CHECK_INT(r, -UPP_ETIMEOUT);
    CHECK(kill(run.pid, 0) == -1 && errno == ESRCH);
}

/* What a program leaves behind in its session is killed too, also when it has ended itself. */
static int leaves_one(void *arg, struct upp_err *err)
{
    int *pipe_end = arg;
    char script[] = "sleep 1000 & exit 0";
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL};
    struct upp_spawn what = shell(argv, true);
    UPP_CLEANUP(weft_process_closep) struct weft_process *p = NULL;
    what.out = pipe_end[1];
    TRY(weft_process_open(&what, &p, err));
    TRY(weft_process_wait(p, NULL, err));
    return 0;
}

TEST(process_close_kills_the_whole_group)
{
    int fds[2];
    struct upp_err err;
    CHECK(pipe(fds) == 0);
    int r = test_on_loop(leaves_one, fds, &err);
    (void)close(fds[1]);
    char c;
    ssize_t end = read(fds[0], &c, 1); /* returns when nobody holds the other end any more */
    (void)close(fds[0]);
    CHECK(r == 0 && end == 0);
}

static int cannot_start(void *arg, struct upp_err *err)
{
    char *const argv[] = {(char[]){"x"}, NULL};
    struct upp_spawn what = {.file = "/nonexistent/x", .argv = argv, .in = -1, .out = -1, .error = -1};
    struct weft_process *p = NULL;
    (void)arg;
    int r = weft_process_open(&what, &p, err);
    FAIL_UNLESS(!p);
    if (r != -UPP_ENOTFOUND)
        return r;
    what.file = "/etc/passwd";
    r = weft_process_open(&what, &p, err);
    FAIL_UNLESS(!p);
    return r == -UPP_EREFUSED ? 0 : r;
}

TEST(process_that_cannot_start)
{
    if (test_on_valgrind())
        return;
    struct upp_err err;
    CHECK_INT(test_on_loop(cannot_start, NULL, &err), 0);
}

/* Without pidfd a worker waits. */
static int no_pidfd(struct weft_loop *l, int pid)
{
    (void)l, (void)pid;
    return -ENOSYS;
}

static int without_pidfd(void *arg, struct upp_err *err)
{
    struct weft_loop *l = weft_loop_current();
    const struct weft__loop_ops *before = l->ops;
    struct weft__loop_ops without = *before;
    without.child_open = no_pidfd;
    l->ops = &without;
    int r = runs(arg, err);
    l->ops = before;
    return r;
}

static int without_pidfd_timed(void *arg, struct upp_err *err)
{
    WEFT_DEADLINE(5);
    return without_pidfd(arg, err);
}

TEST(process_without_pidfd)
{
    struct run run = {.script = "exit 3", .session = true};
    struct upp_err err;
    CHECK_INT(test_on_loop(without_pidfd, &run, &err), 0);
    CHECK(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 3);
    run.script = "sleep 1000";
    CHECK_INT(test_on_loop(without_pidfd_timed, &run, &err), -UPP_ETIMEOUT);
    ALWAYS(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* ---- What cannot be started, and what others reap ---- */

static int wrong_ways(void *arg, struct upp_err *err)
{
    char *const argv[] = {(char[]){"true"}, NULL};
    struct upp_spawn what = {.file = "true", .argv = argv, .in = 1, .out = -1, .error = -1};
    struct weft_process *p = NULL;
    (void)arg;
    FAIL_UNLESS(weft_process_open(&what, &p, err) == -UPP_EINVALID && !p);
    what.in = -1;
    what.dir = "/etc/passwd";
    FAIL_UNLESS(weft_process_open(&what, &p, err) == -UPP_ENOTFOUND && !p);
    FAIL_UNLESS(strcmp(err->cause, "ENOTDIR") == 0);
    return 0;
}

TEST_WITH(process_says_why_it_cannot_start, .no_torture = "process_that_cannot_start is tortured")
{
    if (test_on_valgrind())
        return;
    struct upp_err err;
    CHECK_INT(test_on_loop(wrong_ways, NULL, &err), 0);
}

TEST_WITH(process_reaped_by_others_is_said, .no_torture = "process_exit_is_seen is tortured")
{
    struct run run = {.script = "exit 7", .session = true};
    struct upp_err err;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    int r = test_on_loop(runs, &run, &err);
    (void)signal(SIGCHLD, before);
    CHECK_INT(r, -UPP_ENOTFOUND);
    CHECK(strstr(err.msg, "SIGCHLD"));
}

/* A number that is not our child's (any more) is not killed. */
TEST_WITH(process_kill_spares_strangers, .no_torture = "nothing is called that can fail")
{
    int fds[2];
    char c;
    CHECK(pipe(fds) == 0);
    pid_t child = fork();
    if (child == 0) { /* a grandchild is no child of ours */
        pid_t stranger = fork();
        if (stranger == 0) {
            (void)pause();
            _exit(0);
        }
        (void)!write(fds[1], &stranger, sizeof stranger);
        _exit(0);
    }
    pid_t stranger = -1;
    bool told = read(fds[0], &stranger, sizeof stranger) == (ssize_t)sizeof stranger;
    (void)waitpid(child, NULL, 0);
    (void)close(fds[1]);
    if (told)
        weft__child_kill(NULL, &(struct weft__child){.pid = stranger, .fd = -1});
    struct timespec moment = {0, 20000000};
    (void)nanosleep(&moment, NULL);
    int flags = fcntl(fds[0], F_SETFL, O_NONBLOCK);
    bool lives = read(fds[0], &c, 1) == -1 && errno == EAGAIN; /* it holds the other end */
    (void)close(fds[0]);
    if (told)
        (void)kill(stranger, SIGKILL);
    CHECK(told && flags == 0 && lives);
}
