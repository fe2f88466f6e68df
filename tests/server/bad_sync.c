/* A library for LD_PRELOAD: while the file named by BAD_SYNC is there, every sync fails; BAD_WRITE: every write at an
 * offset, as those to a database are. */
#undef _FILE_OFFSET_BITS /* it would make one symbol of pwrite and pwrite64 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int is_bad(const char *variable)
{
    const char *file = getenv(variable);
    if (!file || access(file, F_OK) != 0)
        return 0;
    errno = EIO;
    return 1;
}

static int sync_or_not(const char *name, int fd)
{
    if (is_bad("BAD_SYNC"))
        return -1;
    int (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, name);
    return real(fd);
}

static ssize_t write_or_not(const char *name, int fd, const void *p, size_t n, off_t at)
{
    if (is_bad("BAD_WRITE"))
        return -1;
    ssize_t (*real)(int, const void *, size_t, off_t);
    *(void **)&real = dlsym(RTLD_NEXT, name);
    return real(fd, p, n, at);
}

__attribute__((visibility("default"))) int     fsync(int fd);
__attribute__((visibility("default"))) int     fdatasync(int fd);
__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *p, size_t n, off_t at);
__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *p, size_t n, off_t at);

int fsync(int fd)
{
    return sync_or_not("fsync", fd);
}

int fdatasync(int fd)
{
    return sync_or_not("fdatasync", fd);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return write_or_not("pwrite", fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at)
{
    return write_or_not("pwrite64", fd, p, n, at);
}
