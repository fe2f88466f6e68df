/* fiber/await.c — waiting for time and for descriptors. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "fiber/loop.h"

WEFT_SUSPENDS int weft_sleep_ms(uint64_t ms, struct upp_err *err)
{
    static const char what[] = "time to pass";
    struct weft_fiber *f = weft__caller("weft_sleep_ms", err);
    if (!f)
        return -UPP_EINVALID;
    int r = weft__park(f, what, weft__loop_after(f->loop, ms), 0);
    return r < 0 ? weft__cut_short(err, r, what) : 0;
}

WEFT_SUSPENDS int weft_fd_wait(int fd, unsigned want, struct upp_err *err)
{
    static const char what[] = "a descriptor";
    struct weft_fiber *f = weft__caller("weft_fd_wait", err);
    if (!f)
        return -UPP_EINVALID;
    int r = weft__pending(f);
    if (r < 0)
        return weft__cut_short(err, r, what);
    if (!want || (want & ~(unsigned)(WEFT_READABLE | WEFT_WRITABLE)))
        return upp_fail(err, UPP_EINVALID, "a descriptor is waited for to be readable or writable");
    f->fd = fd;
    f->fd_want = want;
    f->fd_got = 0;
    r = f->loop->ops->fd_watch(f->loop, f, err);
    if (r < 0)
        return r;
    r = weft__park(f, what, WEFT__NEVER, 0);
    if (r < 0) {
        f->loop->ops->fd_forget(f->loop, f);
        return weft__cut_short(err, r, what);
    }
    return (int)f->fd_got;
}

/* After a call returned -errno: 0 to call again (it has waited where needed), < 0 when it failed. */
WEFT_SUSPENDS static int again(int64_t r, int fd, unsigned want, const char *call, struct upp_err *err)
{
    if (r == -EINTR)
        return 0;
    if (r != -EAGAIN && r != -EWOULDBLOCK)
        return wb_fail_sys(err, (int)r, UPP_ENET, "%s", call);
    int waited = weft_fd_wait(fd, want, err);
    return waited < 0 ? waited : 0;
}

/* Every call is a place where cancel is seen, also when the kernel has an answer at once. */
static int begin(const char *call, struct upp_err *err)
{
    const struct weft_fiber *f = weft_fiber_self();
    if (!f)
        return upp_fail(err, UPP_EINVALID, "weft_%s is called by fibers alone", call);
    int r = weft__pending(f);
    return r < 0 ? weft__cut_short(err, r, "a descriptor") : 0;
}

/* The hook is passed on as a member of the table, so that each of these is one line. */
WEFT_SUSPENDS static int64_t get(int64_t (*hook)(int fd, void *p, size_t n), const char *call, int fd, void *p,
                                 size_t n, struct upp_err *err)
{
    int64_t r = begin(call, err);
    if (r < 0)
        return r;
    while ((r = hook(fd, p, n)) < 0) {
        int a = again(r, fd, WEFT_READABLE, call, err);
        if (a < 0)
            return a;
    }
    return r;
}

WEFT_SUSPENDS static int put(int64_t (*hook)(int fd, const void *p, size_t n), const char *call, int fd, const void *p,
                             size_t n, struct upp_err *err)
{
    int r = begin(call, err);
    if (r < 0)
        return r;
    for (const char *at = p; n;) {
        int64_t moved = hook(fd, at, n);
        if (moved == 0)
            return wb_fail_sys(err, -EIO, UPP_ENET, "%s", call); /* nothing moved and nothing wrong: not for ever */
        if (moved > 0) {
            at += moved;
            n -= (size_t)moved;
            continue;
        }
        r = again(moved, fd, WEFT_WRITABLE, call, err);
        if (r < 0)
            return r;
    }
    return 0;
}

WEFT_SUSPENDS int64_t weft_recv(int fd, void *p, size_t n, struct upp_err *err)
{
    return get(WB_CALL(recv), "recv", fd, p, n, err);
}

WEFT_SUSPENDS int64_t weft_read(int fd, void *p, size_t n, struct upp_err *err)
{
    return get(WB_CALL(read), "read", fd, p, n, err);
}

WEFT_SUSPENDS int weft_send(int fd, const void *p, size_t n, struct upp_err *err)
{
    return put(WB_CALL(send), "send", fd, p, n, err);
}

/* What MSG_NOSIGNAL is for send: the SIGPIPE of a pipe without a reader stays blocked on this thread and is taken
 * away again. One that was pending before can only be where it was blocked before, and stays. */
static int64_t write_without_signal(int fd, const void *p, size_t n)
{
    sigset_t sigpipe, before, pending;
    static const struct timespec now = {0, 0};
    (void)sigemptyset(&sigpipe);
    (void)sigaddset(&sigpipe, SIGPIPE);
    int masked = pthread_sigmask(SIG_BLOCK, &sigpipe, &before); /* fails only for nonsense */
    bool blocked = masked == 0 && sigismember(&before, SIGPIPE) == 1;
    bool theirs = blocked && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;

    int64_t r = WB_CALL(write)(fd, p, n);
    if (r == -EPIPE && !theirs)
        while (sigtimedwait(&sigpipe, NULL, &now) < 0 && errno == EINTR)
            ;
    if (!blocked)
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

WEFT_SUSPENDS int weft_write(int fd, const void *p, size_t n, struct upp_err *err)
{
    return put(write_without_signal, "write", fd, p, n, err);
}

WEFT_SUSPENDS int weft_connect(int fd, const struct sockaddr *addr, unsigned len, struct upp_err *err)
{
    int r = begin("connect", err);
    if (r < 0)
        return r;
    for (;;) {
        /* Called again after a wait, connect says how it went. After EINTR the attempt goes on by itself. */
        r = WB_CALL(connect)(fd, addr, len);
        if (r == 0 || r == -EISCONN)
            return 0;
        if (r == -EAGAIN) /* not begun: the backlog of a local socket is full, and nothing tells when it is not */
            r = weft_sleep_ms(10, err);
        else
            r = again(r == -EINPROGRESS || r == -EALREADY ? -EAGAIN : r, fd, WEFT_WRITABLE, "connect", err);
        if (r < 0)
            return r;
    }
}

WEFT_SUSPENDS int weft_accept(int fd, struct upp_err *err)
{
    int r = begin("accept", err);
    if (r < 0)
        return r;
    while ((r = WB_CALL(accept)(fd)) < 0) {
        if (r == -ECONNABORTED) /* it left the queue before we came */
            continue;
        r = again(r, fd, WEFT_READABLE, "accept", err);
        if (r < 0)
            return r;
    }
    return r;
}
