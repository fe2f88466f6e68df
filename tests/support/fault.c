/* support/fault.c — counts calls through the hook table and fails the Nth. Its own memory comes from malloc, not
 * from the table it wraps. */
#include "support/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upp/hooks.h>

#include "base/hooks.h"

/* Live blocks by address: open addressing, tombstones never needed because removal shifts back. */
struct block {
    void *p;
    size_t n;
    uint64_t serial;
};

enum {
    MAX_FDS = 65536,
    SPOIL_MAX = 1 << 20, /* of a block: what nobody has ever written costs no memory, and shall not begin to */
    SPOILT = 0xdb,
};

static struct {
    pthread_mutex_t lock;
    struct upp_hooks below;
    struct block *blocks;
    size_t cap, live, bytes;
    uint64_t serial;
    size_t fds;
    unsigned char open[MAX_FDS];
    unsigned long calls[FAULT_CLASSES], fired, at;
    enum fault_class armed;
    int error;
    bool on, sticky;
    const char *watch; /* NULL: nothing is watched for */
    uint64_t watch_from;
    size_t watched;
} F = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void)
{
    if (pthread_mutex_lock(&F.lock))
        abort();
}

static void unlock(void)
{
    if (pthread_mutex_unlock(&F.lock))
        abort();
}

static size_t slot_of(const void *p)
{
    return (size_t)(((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u) & (F.cap - 1);
}

static void put(struct block b)
{
    size_t i = slot_of(b.p);
    while (F.blocks[i].p)
        i = (i + 1) & (F.cap - 1);
    F.blocks[i] = b;
}

static void remember(void *p, size_t n)
{
    if (F.live * 2 >= F.cap) {
        size_t old_cap = F.cap;
        struct block *old = F.blocks;
        F.cap = old_cap ? old_cap * 2 : 1024;
        F.blocks = calloc(F.cap, sizeof *F.blocks);
        if (!F.blocks)
            abort();
        for (size_t i = 0; i < old_cap; i++)
            if (old[i].p)
                put(old[i]);
        free(old);
    }
    put((struct block){p, n, ++F.serial});
    F.live++;
    F.bytes += n;
}

/* Blocks that were made before the watch began may have bytes that nobody has written. */
static void look_into(const struct block *b)
{
    if (F.watch && b->serial > F.watch_from && memmem(b->p, b->n, F.watch, strlen(F.watch)))
        F.watched++;
}

/* So that there is nothing of somebody else's in it, and valgrind has nothing to say. */
static void clear_from(void *p, size_t from, size_t n)
{
    if (F.watch && n > from)
        memset((char *)p + from, 0, n - from);
}

/* How large it was; 0: it is not known. */
static size_t forget(const void *p)
{
    if (!F.cap)
        return 0;
    size_t i = slot_of(p);
    while (F.blocks[i].p != p) {
        if (!F.blocks[i].p)
            return 0; /* made before we were installed */
        i = (i + 1) & (F.cap - 1);
    }
    size_t n = F.blocks[i].n;
    look_into(&F.blocks[i]);
    F.bytes -= n;
    F.live--;
    F.blocks[i].p = NULL;
    for (size_t j = (i + 1) & (F.cap - 1); F.blocks[j].p; j = (j + 1) & (F.cap - 1)) {
        struct block b = F.blocks[j];
        F.blocks[j].p = NULL;
        put(b);
    }
    return n;
}

/* 0: go on. Else the errno to fail with, or FAULT_SHORT. */
static int verdict(enum fault_class c)
{
    lock();
    unsigned long n = ++F.calls[c];
    bool fail = F.on && c == F.armed && (F.sticky ? n >= F.at : n == F.at);
    F.fired += fail;
    int error = fail ? F.error : 0;
    unlock();
    return error;
}

static void *f_alloc(size_t n)
{
    if (verdict(FAULT_MEMORY))
        return NULL;
    void *p = F.below.alloc(n);
    if (p) {
        lock();
        clear_from(p, 0, n);
        remember(p, n);
        unlock();
    }
    return p;
}

/* What was freed is overwritten, so that whoever still looks at it finds nonsense, without a sanitizer too. */
static void spoil(void *p, size_t n)
{
    memset(p, SPOILT, n < SPOIL_MAX ? n : SPOIL_MAX);
}

/* A block that grows always moves. */
static void *resized(void *p, size_t before, size_t n)
{
    if (!before || before > SPOIL_MAX)
        return F.below.resize(p, n);
    void *grown = F.below.alloc(n);
    if (grown) {
        memcpy(grown, p, before < n ? before : n);
        spoil(p, before);
        F.below.release(p);
    }
    return grown;
}

static void *f_resize(void *p, size_t n)
{
    if (verdict(FAULT_MEMORY))
        return NULL;
    /* Forgotten first: once released by realloc, another thread may get the same address. */
    lock();
    size_t before = forget(p);
    unlock();
    void *grown = resized(p, before, n);
    lock();
    if (grown && before)
        clear_from(grown, before, n);
    if (grown)
        remember(grown, n);
    else if (before)
        remember(p, before);
    unlock();
    return grown;
}

static void f_release(void *p)
{
    lock();
    size_t n = forget(p);
    unlock();
    spoil(p, n);
    F.below.release(p);
}

static void *f_map(size_t n, size_t guard)
{
    if (verdict(FAULT_MEMORY))
        return NULL;
    void *p = F.below.map(n, guard);
    if (p) {
        lock();
        remember(p, n);
        unlock();
    }
    return p;
}

static void f_unmap(void *p, size_t n, size_t guard)
{
    lock();
    forget(p);
    unlock();
    F.below.unmap(p, n, guard);
}

static int opened(int fd)
{
    if (fd >= 0 && fd < MAX_FDS) {
        lock();
        F.fds += !F.open[fd];
        F.open[fd] = 1;
        unlock();
    }
    return fd;
}

static int64_t moved(enum fault_class c, size_t *n)
{
    int e = verdict(c);
    if (e == FAULT_SHORT) {
        *n = *n > 1 ? *n / 2 : *n;
        return 0;
    }
    return -e;
}

static int64_t f_random(void *p, size_t n)
{
    int64_t r = moved(FAULT_RANDOM, &n);
    return r ? r : F.below.random(p, n);
}

/* A call that moves no bytes: FAULT_SHORT leaves it alone. */
static int plain(enum fault_class c)
{
    int e = verdict(c);
    return e > 0 ? -e : 0;
}

static int f_open(const char *path, int flags, unsigned mode)
{
    int r = plain(FAULT_FILE);
    return r ? r : opened(F.below.open(path, flags, mode));
}

static int f_close(int fd)
{
    /* Never made to fail before it closed: on Linux the descriptor is gone whatever close says. */
    if (fd >= 0 && fd < MAX_FDS) {
        lock();
        F.fds -= F.open[fd];
        F.open[fd] = 0;
        unlock();
    }
    return F.below.close(fd);
}

static int64_t f_read(int fd, void *p, size_t n)
{
    int64_t r = moved(FAULT_FILE, &n);
    return r ? r : F.below.read(fd, p, n);
}

static int64_t f_write(int fd, const void *p, size_t n)
{
    int64_t r = moved(FAULT_FILE, &n);
    return r ? r : F.below.write(fd, p, n);
}

static int64_t f_pread(int fd, void *p, size_t n, int64_t off)
{
    int64_t r = moved(FAULT_FILE, &n);
    return r ? r : F.below.pread(fd, p, n, off);
}

static int64_t f_pwrite(int fd, const void *p, size_t n, int64_t off)
{
    int64_t r = moved(FAULT_FILE, &n);
    return r ? r : F.below.pwrite(fd, p, n, off);
}

static int f_truncate(int fd, int64_t n)
{
    int r = plain(FAULT_FILE);
    return r ? r : F.below.truncate(fd, n);
}

static int f_sync(int fd)
{
    int r = plain(FAULT_FILE);
    return r ? r : F.below.sync(fd);
}

static int f_rename(const char *from, const char *to)
{
    int r = plain(FAULT_FILE);
    return r ? r : F.below.rename(from, to);
}

static int f_unlink(const char *path)
{
    int r = plain(FAULT_FILE);
    return r ? r : F.below.unlink(path);
}

static int f_mkdir(const char *path, unsigned mode)
{
    int r = plain(FAULT_FILE);
    return r ? r : F.below.mkdir(path, mode);
}

static int f_socket(int domain, int type, int protocol)
{
    int r = plain(FAULT_SOCKET);
    return r ? r : opened(F.below.socket(domain, type, protocol));
}

static int f_connect(int fd, const struct sockaddr *addr, unsigned len)
{
    int r = plain(FAULT_SOCKET);
    return r ? r : F.below.connect(fd, addr, len);
}

static int f_bind(int fd, const struct sockaddr *addr, unsigned len)
{
    int r = plain(FAULT_SOCKET);
    return r ? r : F.below.bind(fd, addr, len);
}

static int f_listen(int fd, int backlog)
{
    int r = plain(FAULT_SOCKET);
    return r ? r : F.below.listen(fd, backlog);
}

static int f_accept(int fd)
{
    int r = plain(FAULT_SOCKET);
    return r ? r : opened(F.below.accept(fd));
}

static int64_t f_recv(int fd, void *p, size_t n)
{
    int64_t r = moved(FAULT_SOCKET, &n);
    return r ? r : F.below.recv(fd, p, n);
}

static int64_t f_send(int fd, const void *p, size_t n)
{
    int64_t r = moved(FAULT_SOCKET, &n);
    return r ? r : F.below.send(fd, p, n);
}

static int f_spawn(const struct upp_spawn *what)
{
    int r = plain(FAULT_SPAWN);
    return r ? r : F.below.spawn(what);
}

static int f_pipe(int fds[2], int ours)
{
    int r = plain(FAULT_FILE);
    if (r == 0)
        r = F.below.pipe(fds, ours);
    if (r == 0) {
        (void)opened(fds[0]);
        (void)opened(fds[1]);
    }
    return r;
}

void fault_install(void)
{
    static const struct upp_hooks table = {
        .size = sizeof table,
        .alloc = f_alloc,
        .resize = f_resize,
        .release = f_release,
        .map = f_map,
        .unmap = f_unmap,
        .random = f_random,
        .open = f_open,
        .close = f_close,
        .read = f_read,
        .write = f_write,
        .pread = f_pread,
        .pwrite = f_pwrite,
        .truncate = f_truncate,
        .sync = f_sync,
        .rename = f_rename,
        .unlink = f_unlink,
        .mkdir = f_mkdir,
        .socket = f_socket,
        .connect = f_connect,
        .bind = f_bind,
        .listen = f_listen,
        .accept = f_accept,
        .recv = f_recv,
        .send = f_send,
        .spawn = f_spawn,
        .pipe = f_pipe,
    };
    F.below = *wb_hooks();
    if (upp_global_init(&table, NULL) < 0)
        abort();
}

void fault_at(enum fault_class c, unsigned long n, int error, bool sticky)
{
    lock();
    memset(F.calls, 0, sizeof F.calls);
    F.fired = 0;
    F.on = true;
    F.armed = c;
    F.at = n;
    F.error = error;
    F.sticky = sticky;
    unlock();
}

void fault_off(void)
{
    lock();
    F.on = false;
    F.watch = NULL;
    unlock();
}

unsigned long fault_calls(enum fault_class c)
{
    lock();
    unsigned long n = F.calls[c];
    unlock();
    return n;
}

unsigned long fault_fired(void)
{
    lock();
    unsigned long n = F.fired;
    unlock();
    return n;
}

void fault_watch(const char *text)
{
    lock();
    F.watch = text;
    F.watch_from = F.serial;
    F.watched = 0;
    unlock();
}

size_t fault_watched(void)
{
    lock();
    size_t n = F.watched;
    unlock();
    return n;
}

struct fault_account fault_account(void)
{
    lock();
    struct fault_account a = {F.serial, F.live, F.bytes, F.fds};
    unlock();
    return a;
}

bool fault_balanced(struct fault_account since, char *text, size_t size)
{
    lock();
    size_t n = 0, count = 0;
    for (size_t i = 0; i < F.cap; i++)
        if (F.blocks[i].p && F.blocks[i].serial > since.serial && ++count <= 3 && n < size)
            n += (size_t)snprintf(text + n, size - n, "%sallocation %llu of %zu bytes was not freed", n ? "; " : "",
                                  (unsigned long long)(F.blocks[i].serial - since.serial), F.blocks[i].n);
    if (count > 3 && n < size)
        n += (size_t)snprintf(text + n, size - n, "; and %zu more", count - 3);
    if (F.fds > since.fds && n < size)
        (void)snprintf(text + n, size - n, "%s%zu descriptors were not closed", n ? "; " : "", F.fds - since.fds);
    bool ok = count == 0 && F.fds <= since.fds;
    unlock();
    return ok;
}
