/* fiber/process.c — waiting for programs, and leaving none behind.
 *
 * The end of a process is seen without reaping it, so that its number stays taken until close has killed what is
 * left of its group: a stranger that got the same number cannot be hit. A program that ignores SIGCHLD, or waits for
 * any child, takes the number away from us: then the status is lost and nothing is killed.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/hooks.h"
#include "fiber/loop.h"
#include "fiber/worker.h"

struct weft_process {
    struct weft_loop *loop;
    struct weft__child child; /* without an fd a worker waits */
    bool ended;
    int status;
};

int weft_process_open(const struct upp_spawn *what, struct weft_process **ret, struct upp_err *err)
{
    const struct weft_fiber *f = weft__caller("weft_process_open", err);
    if (!f)
        return -UPP_EINVALID;
    struct weft_loop *l = f->loop;
    struct weft_process *p = wb_alloc(sizeof *p);
    if (!p)
        return upp_fail(err, UPP_ENOMEM, "no memory for a process");
    int pid;
    do
        pid = WB_CALL(spawn)(what);
    while (pid == -EINTR);
    if (pid < 0) {
        wb_free(p);
        return wb_fail_sys(err, pid, UPP_EREFUSED, "cannot start '%s'", what->file);
    }
    *p = (struct weft_process){.loop = l, .child = {pid, l->ops->child_open(l, pid), what->own_session}};
    *ret = p;
    return 0;
}

int weft_process_pid(const struct weft_process *p)
{
    return p->child.pid;
}

/* For systems without pidfd, and when descriptors have run out: a thread waits. */
static int wait_blocking(void *arg, struct upp_err *err)
{
    const int *pid = arg;
    siginfo_t info;
    (void)err;
    while (waitid(P_PID, (id_t)*pid, &info, WEXITED | WNOWAIT) != 0)
        if (errno != EINTR)
            return 0; /* who looks at the status next finds out */
    return 0;
}

static int reap_blocking(void *arg, struct upp_err *err)
{
    const int *pid = arg;
    (void)err;
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

/* Runs fn(&pid) on a worker, with a pid of its own. */
WEFT_SUSPENDS static int on_worker(weft_fn *fn, int pid, struct upp_err *err)
{
    int *arg = wb_alloc(sizeof *arg), ran;
    if (!arg)
        return upp_fail(err, UPP_ENOMEM, "no memory to wait for a process");
    *arg = pid;
    int r = weft_work(fn, arg, wb_free, &ran, err);
    if (r < 0)
        return r;
    wb_free(arg);
    return ran;
}

WEFT_SUSPENDS int weft_process_wait(struct weft_process *p, int *status, struct upp_err *err)
{
    struct weft_loop *l = p->loop;
    const struct weft_fiber *f = weft__caller("weft_process_wait", err);
    if (!f)
        return -UPP_EINVALID;
    int r = weft__pending(f);
    if (r < 0)
        return weft__cut_short(err, r, "a process");
    while (!p->ended) {
        r = l->ops->child_status(l, &p->child, &p->status);
        if (r == -ECHILD)
            return upp_fail(
                err, UPP_ENOTFOUND,
                "process %d is gone and its status lost: the program ignores SIGCHLD or waits for any child",
                p->child.pid);
        if (r < 0)
            return wb_fail_sys(err, r, UPP_EBUG, "process %d cannot be waited for", p->child.pid);
        if (r == 1) {
            p->ended = true;
            break;
        }
        r = p->child.fd >= 0 ? weft_fd_wait(p->child.fd, WEFT_READABLE, err)
                             : on_worker(wait_blocking, p->child.pid, err);
        if (r < 0)
            return r;
    }
    if (status)
        *status = p->status;
    return 0;
}

/* A thread that waits for what not even SIGKILL ends soon. */
static int reap_later(struct weft_process *p)
{
    int *arg = wb_alloc(sizeof *arg);
    if (!arg)
        return -UPP_ENOMEM;
    *arg = p->child.pid;
    int r = weft__work_alone(p->loop, reap_blocking, arg, wb_free, NULL);
    if (r < 0)
        wb_free(arg);
    return r;
}

WEFT_SUSPENDS void weft_process_close(struct weft_process *p)
{
    if (!p)
        return;
    struct weft_loop *l = p->loop;
    int r = 0;
    l->ops->child_kill(l, &p->child);
    if (weft_fiber_self()) {
        WEFT_SHIELD(0);
        r = weft_process_wait(p, NULL, NULL);
    }
    if (r != -UPP_ETIMEOUT)
        l->ops->child_reap(l, &p->child); /* has ended, or was killed just now: at most a short wait */
    else
        (void)reap_later(p); /* without a worker it stays a zombie: better than a loop that stands still */
    if (p->child.fd >= 0)
        (void)WB_CALL(close)(p->child.fd);
    wb_free(p);
}

WEFT_SUSPENDS void weft_process_closep(struct weft_process **p)
{
    weft_process_close(*p);
}
