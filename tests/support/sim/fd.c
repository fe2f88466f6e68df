/* support/sim/fd.c — simulated descriptors: streams, listeners, and signals that something has ended.
 *
 * Bytes that are sent lie in the receiver's buffer at once, but are seen only when a delivery makes them visible, in
 * pieces and after delays drawn from the seed. So a delivery needs no memory.
 *
 * Invariant: whatever changes what a descriptor is ready for calls poke; poke wakes who waits for it.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "support/sim/world.h"

enum {
    WIRE_MAX = 64 * 1024,
    DELAY_NS = 2000000,
    BACKLOG = 128,
    ADDRESS_MAX = 128,
    MAX_FDS = 65536,
};

enum what { SOCKET, CONNECTING, STREAM, LISTENER, SIGNAL };

struct weft__sim_fd {
    struct weft__sim *world;
    int fd;
    enum what what;
    struct weft_fiber *reader, *writer;
    struct weft__timer event;              /* a delivery, or a look at who is ready */
    struct weft__sim_fd *peer;             /* of a stream; NULL: it is closed */
    struct wb_buf in;                      /* sent to us */
    size_t visible;                        /* of it, from the front */
    bool fin, ended, reset;                /* the peer closed; that has arrived; the connection is cut */
    struct weft__sim_fd *waiting[BACKLOG]; /* of a listener */
    size_t n_waiting;
    unsigned char address[ADDRESS_MAX];
    size_t n_address;
};

bool weft__sim_fd_is(const struct weft__sim *w, int fd)
{
    return fd >= WEFT__SIM_FD && (size_t)(fd - WEFT__SIM_FD) < w->n_fds && w->fds[fd - WEFT__SIM_FD];
}

static struct weft__sim_fd *find(const struct weft__sim *w, int fd)
{
    return weft__sim_fd_is(w, fd) ? w->fds[fd - WEFT__SIM_FD] : NULL;
}

/* ---- Readiness --------------------------------------------------------------------------------------------- */

static unsigned ready(const struct weft__sim_fd *f)
{
    switch (f->what) {
    case SOCKET:
        return WEFT_READABLE | WEFT_WRITABLE; /* a call on it fails */
    case CONNECTING:
        return 0;
    case LISTENER:
        return f->n_waiting ? WEFT_READABLE : 0;
    case SIGNAL:
        return f->ended ? WEFT_READABLE : 0;
    case STREAM:
        break;
    }
    if (f->reset)
        return WEFT_READABLE | WEFT_WRITABLE;
    return (f->visible || f->ended ? WEFT_READABLE : 0) | (!f->peer || f->peer->in.n < WIRE_MAX ? WEFT_WRITABLE : 0);
}

static void wake_if(struct weft__sim_fd *f, struct weft_fiber *who, unsigned got)
{
    if (!who || !(who->fd_want & got))
        return;
    if (f->reader == who)
        f->reader = NULL;
    if (f->writer == who)
        f->writer = NULL;
    who->fd_got = who->fd_want & got;
    weft__sim_wake(who);
}

static void poke(struct weft__sim_fd *f)
{
    unsigned got = ready(f);
    struct weft_fiber *reader = f->reader, *writer = f->writer;
    wake_if(f, reader, got);
    if (writer != reader)
        wake_if(f, writer, got);
}

static void event(struct weft__timer *t)
{
    struct weft__sim_fd *f = WB_OUTER(t, struct weft__sim_fd, event);
    struct weft__sim *w = f->world;
    if (f->what == STREAM && f->visible < f->in.n) {
        f->visible += 1 + weft__sim_below(w, f->in.n - f->visible);
        weft__sim_note(w, "delivery", (uint64_t)(f->fd - WEFT__SIM_FD), f->visible);
    } else if (f->what == STREAM && f->fin)
        f->ended = true;
    else if (f->what == CONNECTING) { /* there is a listener, and a peer for it to accept */
        f->what = STREAM;
    }
    if (f->what == STREAM && (f->visible < f->in.n || (f->fin && !f->ended)))
        weft__sim_soon(w, &f->event, DELAY_NS);
    poke(f);
}

int weft__sim_fd_watch(struct weft_loop *l, struct weft_fiber *f, struct upp_err *err)
{
    struct weft__sim *w = weft__sim_now();
    struct weft__sim_fd *s = find(w, f->fd);
    (void)l;
    if (!s)
        return upp_fail(err, UPP_EINVALID, "descriptor %d is not of this world", f->fd);
    if ((f->fd_want & WEFT_READABLE && s->reader) || (f->fd_want & WEFT_WRITABLE && s->writer))
        return upp_fail(err, UPP_EBUSY, "another fiber waits for descriptor %d", f->fd);
    if (f->fd_want & WEFT_READABLE)
        s->reader = f;
    if (f->fd_want & WEFT_WRITABLE)
        s->writer = f;
    if (ready(s) & f->fd_want)
        weft__sim_soon(w, &s->event, 1); /* the fiber does not wait yet */
    return 0;
}

void weft__sim_fd_forget(struct weft_loop *l, struct weft_fiber *f)
{
    struct weft__sim_fd *s = find(weft__sim_now(), f->fd);
    (void)l;
    if (s && s->reader == f)
        s->reader = NULL;
    if (s && s->writer == f)
        s->writer = NULL;
}

/* ---- Making and closing ------------------------------------------------------------------------------------- */

static int make(struct weft__sim *w, enum what what, struct weft__sim_fd **ret)
{
    size_t i = 0;
    while (i < w->n_fds && w->fds[i])
        i++;
    if (i == MAX_FDS)
        return -EMFILE;
    if (i == w->cap_fds) {
        size_t cap = i ? i * 2 : 16;
        struct weft__sim_fd **more = wb_realloc(w->fds, cap * sizeof *more);
        if (!more)
            return -ENOMEM;
        w->fds = more;
        w->cap_fds = cap;
    }
    struct weft__sim_fd *f = wb_calloc(1, sizeof *f);
    if (!f)
        return -ENOMEM;
    if (weft__timers_reserve(&w->events, NULL) < 0) {
        wb_free(f);
        return -ENOMEM;
    }
    f->world = w;
    f->fd = WEFT__SIM_FD + (int)i;
    f->what = what;
    f->in = (struct wb_buf)WB_BUF(WIRE_MAX);
    f->event.fire = event;
    w->fds[i] = f;
    if (i == w->n_fds)
        w->n_fds++;
    *ret = f;
    return f->fd;
}

static void destroy(struct weft__sim_fd *f)
{
    struct weft__sim *w = f->world;
    if (f->reader || f->writer)
        weft__die("descriptor %d is closed while fiber '%s' waits for it", f->fd,
                  (f->reader ? f->reader : f->writer)->name);
    w->fds[f->fd - WEFT__SIM_FD] = NULL;
    weft__timer_remove(&w->events, &f->event);
    weft__timers_unreserve(&w->events);
    wb_buf_done(&f->in);
    wb_free(f);
}

int weft__sim_close_fd(struct weft__sim *w, int fd)
{
    struct weft__sim_fd *f = find(w, fd);
    if (!f)
        return -EBADF;
    if (f->peer) {
        f->peer->peer = NULL;
        f->peer->fin = true;
        weft__sim_soon(w, &f->peer->event, DELAY_NS);
        poke(f->peer);
    }
    while (f->n_waiting) /* closing one takes it out of the backlog, below */
        (void)weft__sim_close_fd(w, f->waiting[f->n_waiting - 1]->fd);
    for (size_t i = 0; i < w->n_fds; i++) /* nobody's backlog holds it */
        if (w->fds[i] && w->fds[i] != f)
            for (size_t k = 0; k < w->fds[i]->n_waiting; k++)
                if (w->fds[i]->waiting[k] == f)
                    w->fds[i]->waiting[k] = w->fds[i]->waiting[--w->fds[i]->n_waiting];
    destroy(f);
    return 0;
}

void weft__sim_fds_done(struct weft__sim *w)
{
    for (size_t i = 0; i < w->n_fds; i++)
        if (w->fds[i])
            destroy(w->fds[i]);
    wb_free(w->fds);
}

size_t weft__sim_open_fds(const struct weft__sim *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_fds; i++)
        n += w->fds[i] != NULL;
    return n;
}

static void join(struct weft__sim_fd *a, struct weft__sim_fd *b)
{
    a->peer = b;
    b->peer = a;
}

int weft__sim_pair(struct weft__sim *w, int fds[2], struct upp_err *err)
{
    struct weft__sim_fd *a, *b;
    if (make(w, STREAM, &a) < 0)
        return upp_fail(err, UPP_ENOMEM, "no memory for a socket");
    if (make(w, STREAM, &b) < 0) {
        destroy(a);
        return upp_fail(err, UPP_ENOMEM, "no memory for a socket");
    }
    join(a, b);
    fds[0] = a->fd;
    fds[1] = b->fd;
    return 0;
}

void weft__sim_cut(struct weft__sim *w, int fd)
{
    struct weft__sim_fd *f = find(w, fd);
    if (!f || !f->peer)
        return;
    f->reset = f->peer->reset = true;
    poke(f);
    poke(f->peer);
}

int weft__sim_signal_fd(struct weft__sim *w)
{
    struct weft__sim_fd *f;
    return make(w, SIGNAL, &f);
}

void weft__sim_signal(struct weft__sim *w, int fd)
{
    struct weft__sim_fd *f = find(w, fd);
    if (f) {
        f->ended = true;
        poke(f);
    }
}

/* ---- Calls ---------------------------------------------------------------------------------------------------- */

int weft__sim_socket(struct weft__sim *w)
{
    struct weft__sim_fd *f;
    return make(w, SOCKET, &f);
}

int weft__sim_bind(struct weft__sim *w, int fd, const void *address, size_t n)
{
    struct weft__sim_fd *f = find(w, fd);
    if (!f)
        return -EBADF;
    if (n > sizeof f->address || f->what != SOCKET)
        return -EINVAL;
    memcpy(f->address, address, n);
    f->n_address = n;
    return 0;
}

int weft__sim_listen(struct weft__sim *w, int fd)
{
    struct weft__sim_fd *f = find(w, fd);
    if (!f)
        return -EBADF;
    if (f->what != SOCKET || !f->n_address)
        return -EINVAL;
    f->what = LISTENER;
    return 0;
}

static struct weft__sim_fd *listener_at(const struct weft__sim *w, const void *address, size_t n)
{
    for (size_t i = 0; i < w->n_fds; i++) {
        struct weft__sim_fd *f = w->fds[i];
        if (f && f->what == LISTENER && f->n_address == n && memcmp(f->address, address, n) == 0)
            return f;
    }
    return NULL;
}

int weft__sim_connect(struct weft__sim *w, int fd, const void *address, size_t n)
{
    struct weft__sim_fd *f = find(w, fd), *other;
    if (!f)
        return -EBADF;
    if (f->what == CONNECTING)
        return -EALREADY;
    if (f->what != SOCKET)
        return f->what == STREAM ? -EISCONN : -EINVAL;
    struct weft__sim_fd *to = listener_at(w, address, n);
    if (!to || to->n_waiting == BACKLOG)
        return -ECONNREFUSED;
    int r = make(w, STREAM, &other);
    if (r < 0)
        return r;
    join(f, other);
    to->waiting[to->n_waiting++] = other;
    poke(to);
    f->what = CONNECTING;
    weft__sim_soon(w, &f->event, DELAY_NS);
    return -EINPROGRESS;
}

int weft__sim_accept(struct weft__sim *w, int fd)
{
    struct weft__sim_fd *f = find(w, fd);
    if (!f)
        return -EBADF;
    if (f->what != LISTENER)
        return -EINVAL;
    if (!f->n_waiting)
        return -EAGAIN;
    int got = f->waiting[0]->fd;
    memmove(f->waiting, f->waiting + 1, --f->n_waiting * sizeof f->waiting[0]);
    return got;
}

/* Part of n, often all of it. */
static size_t cut(struct weft__sim *w, size_t n)
{
    return weft__sim_below(w, 2) ? n : 1 + weft__sim_below(w, n);
}

int64_t weft__sim_recv(struct weft__sim *w, int fd, void *p, size_t n)
{
    struct weft__sim_fd *f = find(w, fd);
    if (!f)
        return -EBADF;
    if (f->what != STREAM)
        return f->what == CONNECTING ? -EAGAIN : -ENOTCONN;
    if (f->reset)
        return -ECONNRESET;
    if (!f->visible || !n)
        return f->ended || !n ? 0 : -EAGAIN;
    n = cut(w, WB_MIN(n, f->visible));
    memcpy(p, f->in.p, n);
    wb_buf_drop(&f->in, n);
    f->visible -= n;
    if (f->peer)
        poke(f->peer); /* it has room again */
    return (int64_t)n;
}

int64_t weft__sim_send(struct weft__sim *w, int fd, const void *p, size_t n)
{
    struct weft__sim_fd *f = find(w, fd);
    if (!f)
        return -EBADF;
    if (f->what != STREAM)
        return f->what == CONNECTING ? -EAGAIN : -ENOTCONN;
    if (f->reset)
        return -ECONNRESET;
    struct weft__sim_fd *to = f->peer;
    if (!to)
        return -EPIPE;
    if (!n)
        return 0;
    size_t room = WIRE_MAX - to->in.n;
    if (!room)
        return -EAGAIN;
    n = cut(w, WB_MIN(n, room));
    wb_buf_add(&to->in, (struct upp_str){p, n});
    if (wb_buf_check(&to->in, NULL) < 0) {
        to->in.failed = 0; /* nothing was added, and the next attempt may find memory */
        return -ENOMEM;
    }
    weft__sim_soon(w, &to->event, DELAY_NS);
    return (int64_t)n;
}
