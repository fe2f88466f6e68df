/* base/hooks.c — the hook table in force, and the operating system's own hooks. */
#include "base/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void *sys_map(size_t n, size_t guard)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (guard ? MAP_NORESERVE | MAP_STACK : 0);
    char *p = mmap(NULL, guard + n, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (guard && mprotect(p, guard, PROT_NONE) != 0) { /* ENOMEM: a guard is a map of its own, and those are counted */
        (void)munmap(p, guard + n);
        return NULL;
    }
    return p + guard;
}

static void sys_unmap(void *p, size_t n, size_t guard)
{
    (void)munmap((char *)p - guard, guard + n); /* fails only for what was never mapped */
}

static uint64_t sys_mono_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int64_t sys_wall_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
}

/* clang-format off */

/* The system's calls, with -errno in place of errno: a fiber may be elsewhere when errno is read. */
static int     done(int r)      { return r < 0 ? -errno : r; }
static int64_t moved(ssize_t r) { return r < 0 ? -errno : r; }

static int64_t sys_random(void *p, size_t n)                                 { return moved(getrandom(p, n, 0)); }
static int     sys_open(const char *path, int flags, unsigned mode)          { return done(open(path, flags | O_CLOEXEC, mode)); }
static int     sys_close(int fd)                                             { return done(close(fd)); }
static int64_t sys_read(int fd, void *p, size_t n)                           { return moved(read(fd, p, n)); }
static int64_t sys_write(int fd, const void *p, size_t n)                    { return moved(write(fd, p, n)); }
static int64_t sys_pread(int fd, void *p, size_t n, int64_t off)             { return moved(pread(fd, p, n, off)); }
static int64_t sys_pwrite(int fd, const void *p, size_t n, int64_t off)      { return moved(pwrite(fd, p, n, off)); }
static int     sys_truncate(int fd, int64_t n)                               { return done(ftruncate(fd, n)); }
static int     sys_sync(int fd)                                              { return done(fdatasync(fd)); }
static int     sys_rename(const char *from, const char *to)                  { return done(rename(from, to)); }
static int     sys_unlink(const char *path)                                  { return done(unlink(path)); }
static int     sys_mkdir(const char *path, unsigned mode)                    { return done(mkdir(path, mode)); }
static int     sys_connect(int fd, const struct sockaddr *a, unsigned len)   { return done(connect(fd, a, len)); }
static int     sys_bind(int fd, const struct sockaddr *a, unsigned len)      { return done(bind(fd, a, len)); }
static int     sys_listen(int fd, int backlog)                               { return done(listen(fd, backlog)); }
static int64_t sys_recv(int fd, void *p, size_t n)                           { return moved(recv(fd, p, n, 0)); }
static int64_t sys_send(int fd, const void *p, size_t n)                     { return moved(send(fd, p, n, MSG_NOSIGNAL)); }

/* clang-format on */

static int sys_socket(int domain, int type, int protocol)
{
    return done(socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}

static int sys_accept(int fd)
{
    return done(accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

/* Moves a descriptor above 2: a program may have been started without some of those. */
static int above_2(int fd)
{
    if (fd > 2)
        return fd;
    int moved_to = fcntl(fd, F_DUPFD_CLOEXEC, 3), r = done(moved_to);
    (void)close(fd);
    return r;
}

static int sys_pipe(int fds[2], int ours)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    int r = 0;
    ends[0] = above_2(ends[0]);
    ends[1] = above_2(ends[1]);
    if (ends[0] < 0 || ends[1] < 0)
        r = ends[0] < 0 ? ends[0] : ends[1];
    else if (fcntl(ends[ours], F_SETFL, O_NONBLOCK) != 0) /* its other flags say only which end it is */
        r = -errno;
    for (int i = 0; i < 2; i++)
        if (r == 0)
            fds[i] = ends[i];
        else if (ends[i] >= 0)
            (void)close(ends[i]);
    return r;
}

static int put_fd(posix_spawn_file_actions_t *acts, int fd, int as)
{
    if (fd >= 0 && fd <= 2 && fd != as)
        return EINVAL; /* an earlier dup2 may have taken its place */
    if (fd < 0)
        return posix_spawn_file_actions_addopen(acts, as, "/dev/null", O_RDWR, 0);
    return posix_spawn_file_actions_adddup2(acts, fd, as); /* also clears close-on-exec when fd == as */
}

static int sys_spawn(const struct upp_spawn *what)
{
    static char *const nothing[] = {NULL};
    posix_spawn_file_actions_t acts;
    posix_spawnattr_t attr;
    sigset_t none, all;
    pid_t pid = -1;

    int r = posix_spawn_file_actions_init(&acts);
    if (r)
        return -r;
    r = posix_spawnattr_init(&attr);
    if (r) {
        (void)posix_spawn_file_actions_destroy(&acts);
        return -r;
    }
    /* The child starts with no signal blocked and none ignored, whatever the program around us did. */
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (what->own_session)
        flags |= POSIX_SPAWN_SETSID;
    if (!r)
        r = posix_spawnattr_setsigmask(&attr, &none);
    if (!r)
        r = posix_spawnattr_setsigdefault(&attr, &all);
    if (!r)
        r = posix_spawnattr_setflags(&attr, (short)flags);
    if (!r && what->dir)
        r = posix_spawn_file_actions_addchdir_np(&acts, what->dir);
    if (!r)
        r = put_fd(&acts, what->in, 0);
    if (!r)
        r = put_fd(&acts, what->out, 1);
    if (!r)
        r = put_fd(&acts, what->error, 2);
    if (!r) /* ours are close-on-exec; those that libraries open behind our back may not be: libcurl's wake-up pair */
        r = posix_spawn_file_actions_addclosefrom_np(&acts, 3);
    if (!r)
        r = posix_spawnp(&pid, what->file, &acts, &attr, what->argv, what->envp ? what->envp : nothing);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&acts);
    return r ? -r : pid;
}

/* clang-format off */
#define SYS_HOOKS                                                                                   \
    {                                                                                               \
        .size = sizeof(struct upp_hooks),                                                           \
        .alloc = malloc, .resize = realloc, .release = free,                                        \
        .map = sys_map, .unmap = sys_unmap,                                                         \
        .mono_ns = sys_mono_ns, .wall_ns = sys_wall_ns, .random = sys_random,                       \
        .open = sys_open, .close = sys_close, .read = sys_read, .write = sys_write,                 \
        .pread = sys_pread, .pwrite = sys_pwrite, .truncate = sys_truncate, .sync = sys_sync,       \
        .rename = sys_rename, .unlink = sys_unlink, .mkdir = sys_mkdir,                             \
        .socket = sys_socket, .connect = sys_connect, .bind = sys_bind, .listen = sys_listen,       \
        .accept = sys_accept, .recv = sys_recv, .send = sys_send,                                   \
        .spawn = sys_spawn, .pipe = sys_pipe,                                                       \
    }
/* clang-format on */

/* With the log, what the libraries have of mutable globals. The program sets it once, before anything else runs. */
static struct upp_hooks active = SYS_HOOKS;

const struct upp_hooks *wb_hooks(void)
{
    return &active;
}

int upp_global_init(const struct upp_hooks *hooks, struct upp_err *err)
{
    static const struct upp_hooks system = SYS_HOOKS;

    if (!hooks) {
        active = system;
        return 0;
    }
    if (hooks->size < offsetof(struct upp_hooks, mono_ns) || hooks->size > sizeof *hooks)
        return upp_fail(err, UPP_EINVALID, "the hook table has size %u, this library knows %zu", hooks->size,
                        sizeof *hooks);
    if (!hooks->alloc != !hooks->resize || !hooks->alloc != !hooks->release)
        return upp_fail(err, UPP_EINVALID, "alloc, resize and release come together or not at all");
    if (!hooks->map != !hooks->unmap)
        return upp_fail(err, UPP_EINVALID, "map and unmap come together or not at all");

    /* Every member after `size` is a function pointer: a NULL one keeps the system's. */
    struct upp_hooks next = system;
    for (size_t at = offsetof(struct upp_hooks, alloc); at + sizeof(void (*)(void)) <= hooks->size;
         at += sizeof(void (*)(void))) {
        void (*given)(void);
        memcpy(&given, (const char *)hooks + at, sizeof given);
        if (given)
            memcpy((char *)&next + at, &given, sizeof given);
    }
    active = next;
    return 0;
}

void *wb_alloc(size_t n)
{
    return active.alloc(n ? n : 1);
}

void *wb_calloc(size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n))
        return NULL;
    void *p = wb_alloc(n);
    if (p)
        memset(p, 0, n);
    return p;
}

void *wb_realloc(void *p, size_t n)
{
    return p ? active.resize(p, n ? n : 1) : wb_alloc(n);
}

void wb_free(void *p)
{
    if (p)
        active.release(p);
}
