/* support/sim/hooks.c — the hook table of a simulated world: its time, its chance, its sockets, its programs.
 *
 * Hooks are called without a context, so the world in force is a global: the only one here, and only while a test has
 * a world open. Memory and files stay with the table before; descriptors that are not the world's do too.
 */
#include <errno.h>
#include <string.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/random.h"
#include "support/sim/world.h"

static struct weft__sim *in_force;

struct weft__sim *weft__sim_now(void)
{
    return in_force;
}

static uint64_t mono_ns(void)
{
    return in_force->now;
}

static int64_t wall_ns(void)
{
    return INT64_C(1700000000000000000) + (int64_t)in_force->now;
}

static int64_t random_bytes(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)p)[i] = (unsigned char)weft__sim_below(in_force, 256);
    return (int64_t)n;
}

static bool ours(int fd)
{
    return weft__sim_fd_is(in_force, fd);
}

static int sim_close(int fd)
{
    return ours(fd) ? weft__sim_close_fd(in_force, fd) : in_force->before.close(fd);
}

static int64_t sim_read(int fd, void *p, size_t n)
{
    return ours(fd) ? weft__sim_recv(in_force, fd, p, n) : in_force->before.read(fd, p, n);
}

static int64_t sim_write(int fd, const void *p, size_t n)
{
    return ours(fd) ? weft__sim_send(in_force, fd, p, n) : in_force->before.write(fd, p, n);
}

static int sim_socket(int domain, int type, int protocol)
{
    (void)domain, (void)type, (void)protocol;
    return weft__sim_socket(in_force);
}

static int sim_connect(int fd, const struct sockaddr *addr, unsigned len)
{
    return weft__sim_connect(in_force, fd, addr, len);
}

static int sim_bind(int fd, const struct sockaddr *addr, unsigned len)
{
    return weft__sim_bind(in_force, fd, addr, len);
}

static int sim_listen(int fd, int backlog)
{
    (void)backlog;
    return weft__sim_listen(in_force, fd);
}

static int sim_accept(int fd)
{
    return weft__sim_accept(in_force, fd);
}

static int64_t sim_recv(int fd, void *p, size_t n)
{
    return weft__sim_recv(in_force, fd, p, n);
}

static int64_t sim_send(int fd, const void *p, size_t n)
{
    return weft__sim_send(in_force, fd, p, n);
}

static int sim_spawn(const struct upp_spawn *what)
{
    return weft__sim_spawn(in_force, what);
}

static int sim_pipe(int fds[2], int ours)
{
    (void)ours; /* nobody blocks here */
    return weft__sim_pair(in_force, fds, NULL) < 0 ? -ENOMEM : 0;
}

int weft__sim_hooks_install(struct weft__sim *w, struct upp_err *err)
{
    if (in_force)
        return upp_fail(err, UPP_EBUSY, "another simulated world is open");
    w->before = *wb_hooks();
    struct upp_hooks table = w->before;
    table.mono_ns = mono_ns;
    table.wall_ns = wall_ns;
    table.random = random_bytes;
    table.close = sim_close;
    table.read = sim_read;
    table.write = sim_write;
    table.socket = sim_socket;
    table.connect = sim_connect;
    table.bind = sim_bind;
    table.listen = sim_listen;
    table.accept = sim_accept;
    table.recv = sim_recv;
    table.send = sim_send;
    table.spawn = sim_spawn;
    table.pipe = sim_pipe;
    int r = upp_global_init(&table, err);
    if (r >= 0) {
        in_force = w;
        wb_random_forget(); /* what is left of the real batch is not the seed's */
    }
    return r;
}

void weft__sim_hooks_remove(struct weft__sim *w)
{
    if (upp_global_init(&w->before, NULL) < 0)
        weft__die("the hook table cannot be put back");
    in_force = NULL;
    wb_random_forget(); /* and the seed's is not random */
}
