/* stores/sqlite/hooks.c — SQLite's memory and file calls through the hook table.
 *
 * SQLite asks for the size of a block, so each block is preceded by it. File calls are replaced in SQLite's own table
 * of system calls, which covers opening, reading, writing, truncating and unlinking; it has no entry for fsync, which
 * vfs.c handles.
 */
#include "stores/sqlite/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "base/defs.h"
#include "base/hooks.h"

struct wb_library weft__sqlite_library(void)
{
    return wb_library("sqlite", SQLITE_VERSION, sqlite3_libversion());
}

union header {
    size_t n;
    max_align_t align;
};

static void *mem_alloc(int n)
{
    union header *h = wb_alloc(sizeof *h + (size_t)n);
    if (!h)
        return NULL;
    h->n = (size_t)n;
    return h + 1;
}

static void mem_free(void *p)
{
    if (p)
        wb_free((union header *)p - 1);
}

static void *mem_resize(void *p, int n)
{
    union header *h = wb_realloc((union header *)p - 1, sizeof *h + (size_t)n);
    if (!h)
        return NULL;
    h->n = (size_t)n;
    return h + 1;
}

static int mem_size(void *p)
{
    return p ? (int)((union header *)p - 1)->n : 0;
}

static int mem_round(int n)
{
    return (n + 7) & ~7;
}

static int mem_start(void *unused)
{
    (void)unused;
    return SQLITE_OK;
}

static void mem_end(void *unused)
{
    (void)unused;
}

/* Files: SQLite expects -1 and errno. */

static int to_errno(int r)
{
    if (r >= 0)
        return r;
    errno = -r;
    return -1;
}

static ssize_t to_errno_size(int64_t r)
{
    if (r >= 0)
        return (ssize_t)r;
    errno = (int)-r;
    return -1;
}

static _Thread_local int last_opened = -1; /* a call into SQLite begins and ends on one thread */

static int file_open(const char *path, int flags, int mode)
{
    last_opened = WB_CALL(open)(path, flags, (unsigned)mode);
    return to_errno(last_opened);
}

int weft__sqlite_opened(void)
{
    int fd = last_opened;
    last_opened = -1;
    return fd;
}

static int file_close(int fd)
{
    return to_errno(WB_CALL(close)(fd));
}

static ssize_t file_read(int fd, void *p, size_t n)
{
    return to_errno_size(WB_CALL(read)(fd, p, n));
}

static ssize_t file_write(int fd, const void *p, size_t n)
{
    return to_errno_size(WB_CALL(write)(fd, p, n));
}

static ssize_t file_pread(int fd, void *p, size_t n, off_t off)
{
    return to_errno_size(WB_CALL(pread)(fd, p, n, off));
}

static ssize_t file_pwrite(int fd, const void *p, size_t n, off_t off)
{
    return to_errno_size(WB_CALL(pwrite)(fd, p, n, off));
}

static int file_truncate(int fd, off_t n)
{
    return to_errno(WB_CALL(truncate)(fd, n));
}

static int file_unlink(const char *path)
{
    return to_errno(WB_CALL(unlink)(path));
}

static const struct {
    const char *name;
    sqlite3_syscall_ptr call;
} calls[] = {
    {"open", (sqlite3_syscall_ptr)file_open},          {"close", (sqlite3_syscall_ptr)file_close},
    {"read", (sqlite3_syscall_ptr)file_read},          {"write", (sqlite3_syscall_ptr)file_write},
    {"pread", (sqlite3_syscall_ptr)file_pread},        {"pwrite", (sqlite3_syscall_ptr)file_pwrite},
    {"pread64", (sqlite3_syscall_ptr)file_pread},      {"pwrite64", (sqlite3_syscall_ptr)file_pwrite},
    {"ftruncate", (sqlite3_syscall_ptr)file_truncate}, {"unlink", (sqlite3_syscall_ptr)file_unlink},
};

int weft__sqlite_use_hooks(struct upp_err *err)
{
    static const sqlite3_mem_methods memory = {mem_alloc, mem_free,  mem_resize, mem_size,
                                               mem_round, mem_start, mem_end,    NULL};

    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) != SQLITE_OK)
        return upp_fail(err, UPP_EBUSY, "SQLite is already in use: give it the hooks first");
    sqlite3_vfs *vfs = sqlite3_initialize() == SQLITE_OK ? sqlite3_vfs_find("unix") : NULL;
    if (!vfs || vfs->iVersion < 3)
        return upp_fail(err, UPP_ESTORE, "SQLite does not start");
    for (size_t i = 0; i < WB_LEN(calls); i++) {
        int r = vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call);
        if (r != SQLITE_OK && r != SQLITE_NOTFOUND) /* some builds lack some entries */
            return upp_fail(err, UPP_ESTORE, "SQLite does not take our '%s'", calls[i].name);
    }
    return 0;
}
