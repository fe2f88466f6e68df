/* fiber/child.c — pidfd, waitid and kill. No SIGCHLD handler: the signals of the program are not ours. */
#include "fiber/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int weft__child_open(struct weft_loop *l, int pid)
{
    (void)l;
#ifdef SYS_pidfd_open
    long fd = syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
    return fd < 0 ? -errno : (int)fd;
#else
    (void)pid;
    return -ENOSYS;
#endif
}

/* The status in waitpid's form from what waitid says. */
static int status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (info->si_status & 0xff) << 8;
    return (info->si_status & 0x7f) | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

/* By the descriptor where there is one: a number may be another child's by now, if somebody else reaps. */
static int wait_for(const struct weft__child *c, siginfo_t *info, int flags)
{
    enum { BY_PIDFD = 3 }; /* P_PIDFD, which older headers lack */
    int r;
    do {
        *info = (siginfo_t){0};
        r = waitid(c->fd >= 0 ? (idtype_t)BY_PIDFD : P_PID, (id_t)(c->fd >= 0 ? c->fd : c->pid), info, flags);
        /* Linux before 5.4 does not know it; and libuv makes descriptors non-blocking, so that it says EAGAIN for one
         * that is still ours instead of waiting. */
        if (r != 0 && (errno == EINVAL || errno == EAGAIN) && c->fd >= 0)
            r = waitid(P_PID, (id_t)c->pid, info, flags);
    } while (r != 0 && errno == EINTR);
    return r == 0 ? 0 : -errno;
}

int weft__child_status(struct weft_loop *l, const struct weft__child *c, int *status)
{
    siginfo_t info;
    (void)l;
    int r = wait_for(c, &info, WEXITED | WNOHANG | WNOWAIT);
    if (r < 0 || info.si_pid == 0)
        return r;
    *status = status_of(&info);
    return 1;
}

/* While it is not reaped its number is nobody else's. Once somebody else has reaped it nobody can say whose it is. */
void weft__child_kill(struct weft_loop *l, const struct weft__child *c)
{
    int status;
    if (weft__child_status(l, c, &status) < 0)
        return;
#ifdef SYS_pidfd_send_signal
    if (!c->group && c->fd >= 0 && syscall(SYS_pidfd_send_signal, c->fd, SIGKILL, NULL, 0) == 0)
        return;
#endif
    (void)kill(c->group ? -c->pid : c->pid, SIGKILL); /* ESRCH: all gone already */
}

void weft__child_reap(struct weft_loop *l, const struct weft__child *c)
{
    siginfo_t info;
    (void)l;
    (void)wait_for(c, &info, WEXITED); /* ECHILD: somebody was quicker */
}
