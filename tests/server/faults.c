/* A library for LD_PRELOAD that makes calls on the files of a database fail, and the wall clock fast.
 *
 * FAULTS names a file of 4 KiB that whoever steers the faults maps too (faults.py). It holds one rule. While the rule
 * is off, every call is the real one, and so is the clock while it has no speed. */
#undef _FILE_OFFSET_BITS /* it would make pread another name of pread64, and both are defined here */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { CALL_READ = 1, CALL_WRITE = 2, CALL_SYNC = 4, CALL_TRUNCATE = 8, CALL_ALLOCATE = 16 };
enum { FILE_DB = 1, FILE_WAL = 2, FILE_SHM = 4, FILE_OTHER = 8 };
enum { ACT_REFUSE = 1, ACT_SHORT = 2, ACT_TORN = 3, ACT_STALL = 4 };

struct rule {
    _Atomic uint32_t on;
    uint32_t calls, files, act, error, per_thousand, stall_ms;
    _Atomic uint32_t hits;
    uint32_t clock_speed; /* 240: since clock_start_s a minute of the wall clock takes a quarter of a second */
    int64_t clock_start_s;
};

static struct rule *rule;

#define EXPORT __attribute__((visibility("default")))

__attribute__((constructor)) static void map_rule(void)
{
    const char *path = getenv("FAULTS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED)
        rule = p;
    close(fd);
}

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

/* Which file of a database a descriptor is; 0: none. */
static uint32_t file_of(int fd)
{
    char link[32], path[1024];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = '\0';
    if (ends_with(path, ".db"))
        return FILE_DB;
    if (ends_with(path, ".db-wal"))
        return FILE_WAL;
    if (ends_with(path, ".db-shm"))
        return FILE_SHM;
    return strstr(path, ".db-") || strstr(path, ".db.") ? FILE_OTHER : 0;
}

/* The number of the call decides, so that a rule for some calls hits evenly. */
static bool is_hit(void)
{
    static _Atomic uint32_t calls;
    uint32_t n = atomic_fetch_add(&calls, 1) * 2654435761u;
    return (n >> 16) % 1000 < rule->per_thousand;
}

static void stall(void)
{
    struct timespec t = {rule->stall_ms / 1000, (long)(rule->stall_ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* What happens to a call; 0: the real one alone. */
static uint32_t act_of(uint32_t call, int fd)
{
    if (!rule || !atomic_load(&rule->on) || !(rule->calls & call))
        return 0;
    int before = errno;
    uint32_t act = rule->files & file_of(fd) && is_hit() ? rule->act : 0;
    if (act)
        atomic_fetch_add(&rule->hits, 1);
    if (act == ACT_STALL) {
        stall();
        act = 0;
    }
    errno = before;
    return act;
}

static int fail(void)
{
    errno = (int)rule->error;
    return -1;
}

#define REAL(type, name, ...)                                                                                          \
    type (*real)(__VA_ARGS__);                                                                                         \
    *(void **)&real = dlsym(RTLD_NEXT, name)

static ssize_t read_or_not(const char *name, int fd, void *p, size_t n, off_t at)
{
    if (act_of(CALL_READ, fd))
        return fail();
    REAL(ssize_t, name, int, void *, size_t, off_t);
    return real(fd, p, n, at);
}

static ssize_t write_or_not(const char *name, int fd, const void *p, size_t n, off_t at)
{
    uint32_t act = act_of(CALL_WRITE, fd);
    REAL(ssize_t, name, int, const void *, size_t, off_t);
    if (act == ACT_REFUSE)
        return fail();
    if (act && n > 1) {
        ssize_t r = real(fd, p, n / 2, at);
        return r < 0 || act == ACT_SHORT ? r : fail();
    }
    return real(fd, p, n, at);
}

static int sync_or_not(const char *name, int fd)
{
    if (act_of(CALL_SYNC, fd))
        return fail();
    REAL(int, name, int);
    return real(fd);
}

static int truncate_or_not(const char *name, int fd, off_t n)
{
    if (act_of(CALL_TRUNCATE, fd))
        return fail();
    REAL(int, name, int, off_t);
    return real(fd, n);
}

/* The 64-bit names are what programs with large files call; off_t has 64 bits here. */
EXPORT ssize_t pread(int fd, void *p, size_t n, off_t at);
EXPORT ssize_t pread64(int fd, void *p, size_t n, off_t at);
EXPORT ssize_t pwrite(int fd, const void *p, size_t n, off_t at);
EXPORT ssize_t pwrite64(int fd, const void *p, size_t n, off_t at);
EXPORT int ftruncate(int fd, off_t n);
EXPORT int ftruncate64(int fd, off_t n);
EXPORT int fsync(int fd);
EXPORT int fdatasync(int fd);
EXPORT int posix_fallocate(int fd, off_t at, off_t n);
EXPORT int posix_fallocate64(int fd, off_t at, off_t n);
EXPORT int clock_gettime(clockid_t clock, struct timespec *t);

ssize_t pread(int fd, void *p, size_t n, off_t at)
{
    return read_or_not("pread", fd, p, n, at);
}

ssize_t pread64(int fd, void *p, size_t n, off_t at)
{
    return read_or_not("pread64", fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return write_or_not("pwrite", fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at)
{
    return write_or_not("pwrite64", fd, p, n, at);
}

int ftruncate(int fd, off_t n)
{
    return truncate_or_not("ftruncate", fd, n);
}

int ftruncate64(int fd, off_t n)
{
    return truncate_or_not("ftruncate64", fd, n);
}

int fsync(int fd)
{
    return sync_or_not("fsync", fd);
}

int fdatasync(int fd)
{
    return sync_or_not("fdatasync", fd);
}

/* Returns an error number, as the real one does. */
static int allocate_or_not(const char *name, int fd, off_t at, off_t n)
{
    if (act_of(CALL_ALLOCATE, fd))
        return (int)rule->error;
    REAL(int, name, int, off_t, off_t);
    return real(fd, at, n);
}

int posix_fallocate(int fd, off_t at, off_t n)
{
    return allocate_or_not("posix_fallocate", fd, at, n);
}

int posix_fallocate64(int fd, off_t at, off_t n)
{
    return allocate_or_not("posix_fallocate64", fd, at, n);
}

static void speed_up(struct timespec *t)
{
    int64_t ns = (int64_t)t->tv_nsec * rule->clock_speed;
    t->tv_sec = rule->clock_start_s + (t->tv_sec - rule->clock_start_s) * rule->clock_speed + ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
}

/* Called too often to look for the real one each time. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    static _Atomic(int (*)(clockid_t, struct timespec *)) found;
    int (*real)(clockid_t, struct timespec *) = found;
    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
        found = real;
    }
    int r = real(clock, t);
    if (r == 0 && clock == CLOCK_REALTIME && rule && rule->clock_speed)
        speed_up(t);
    return r;
}
