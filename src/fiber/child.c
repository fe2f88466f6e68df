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

int weft__child_status(struct weft_loop *l, int pid, int *status)
{
    siginfo_t info = {0};
    (void)l;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        if (errno != EINTR)
            return -errno;
    if (info.si_pid == 0)
        return 0;
    *status = status_of(&info);
    return 1;
}

void weft__child_kill(struct weft_loop *l, int pid, bool group)
{
    (void)l;
    (void)kill(group ? -pid : pid, SIGKILL); /* ESRCH: all gone already */
}

void weft__child_reap(struct weft_loop *l, int pid)
{
    (void)l;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
