/* A library for LD_PRELOAD: while the file named by BAD_SYNC is there, every sync fails. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int sync_or_not(const char *name, int fd)
{
    const char *file = getenv("BAD_SYNC");
    if (file && access(file, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    int (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, name);
    return real(fd);
}

__attribute__((visibility("default"))) int fsync(int fd);
__attribute__((visibility("default"))) int fdatasync(int fd);

int fsync(int fd)
{
    return sync_or_not("fsync", fd);
}

int fdatasync(int fd)
{
    return sync_or_not("fdatasync", fd);
}
