/* support/fibers.c — runs a test's function as a fiber, or in a child process. */
#include "support/fibers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef WEFT_VALGRIND
#include <valgrind/valgrind.h>
#endif

#include "base/hooks.h"

int test_on_loop(weft_fn *fn, void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    int r = weft_loop_open(NULL, &l, err);
    return r < 0 ? r : weft_loop_run(l, "test", fn, arg, err);
}

/* By way of a listener: accept and socket are hooks, socketpair is not. */
int test_socketpair(int fds[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;
    int r, one = -1, two = -1, listener = WB_CALL(socket)(AF_INET, SOCK_STREAM, 0);
    if (listener < 0)
        return listener;
    r = WB_CALL(bind)(listener, (struct sockaddr *)&a, sizeof a);
    if (r == 0)
        r = WB_CALL(listen)(listener, 1);
    if (r == 0 && getsockname(listener, (struct sockaddr *)&a, &len) != 0)
        r = -errno;
    if (r == 0)
        r = one = WB_CALL(socket)(AF_INET, SOCK_STREAM, 0);
    if (r >= 0)
        do
            r = WB_CALL(connect)(one, (struct sockaddr *)&a, sizeof a);
        while (r == -EINTR);
    if (r == -EINPROGRESS || r == 0)
        do
            r = two = WB_CALL(accept)(listener);
        while (r == -EAGAIN || r == -EINTR);
    (void)WB_CALL(close)(listener);
    if (r < 0) {
        if (one >= 0)
            (void)WB_CALL(close)(one);
        return r;
    }
    fds[0] = one;
    fds[1] = two;
    return 0;
}

void test_closep(int *fd)
{
    if (*fd >= 0)
        (void)WB_CALL(close)(*fd);
    *fd = -1;
}

size_t test_descriptors(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n;
}

int test_in_child(void (*fn)(void), char *text, size_t size)
{
    int fds[2], status = -1;
    size_t n = 0;
    if (pipe(fds) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL);
        (void)signal(SIGSEGV, SIG_DFL);
        (void)dup2(fds[1], 2);
        fn();
        _exit(0);
    }
    (void)close(fds[1]);
    for (ssize_t got; n + 1 < size && (got = read(fds[0], text + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = 0;
    (void)close(fds[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status;
}

bool test_on_valgrind(void)
{
#ifdef WEFT_VALGRIND
    return RUNNING_ON_VALGRIND;
#else
    return false;
#endif
}
